/* Models as files, as read. */
#include "api/model.h"
#include "onnx/onnx.h"

opf_status opf_model_save(opf_model *model, const char *path) {
    opf_module *module;
    opf_status status = opf_model_as_read(&module, model);
    if (status != OPF_OK) return status;
    opf_text bytes = {0};
    status = opf_onnx_write(module, NULL, 0, &bytes);
    if (status == OPF_OK) status = opf_file_write(path, opf_text_string(&bytes), bytes.length, model->context->diags);
    opf_text_free(&bytes);
    return status;
}
