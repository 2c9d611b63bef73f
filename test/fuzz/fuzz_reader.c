/* libFuzzer target: any bytes are refused with a message or read as a module that holds together. */
#include <stdlib.h>

#include "onnx/onnx.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    opf_diags *diags = opf_diags_new();
    opf_module *module = NULL;
    opf_text text = {0};
    if (opf_onnx_read_memory(&module, data, size, "fuzz.onnx", diags) == OPF_OK) {
        if (opf_graph_check(module->graph, "read") != OPF_OK) abort();
        opf_graph_print(module->graph, &text);
        opf_module_free(module);
    } else if (opf_diags_errors(diags) == 0) {
        abort();
    }
    for (size_t i = 0; i < opf_diags_count(diags); i++) opf_diag_print(opf_diags_at(diags, i), &text);
    opf_text_free(&text);
    opf_diags_free(diags);
    return 0;
}
