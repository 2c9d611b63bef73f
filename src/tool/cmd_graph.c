/* opfuse graph: the model, as read or with its kernels as clusters; a picture, or an ONNX file. */
#include <stdio.h>
#include <string.h>

#include "tool/tool.h"

int cmd_graph(tool *t) {
    bool svg = t->output && ends_in(t->output, ".svg"), onnx = t->output && ends_in(t->output, ".onnx");
    if (t->before && t->after) {
        complain(t, "usage", "--before and --after exclude each other");
        return EXIT_USAGE;
    }
    if (t->output && !svg && !onnx && !ends_in(t->output, ".dot")) {
        complain(t, "usage", "-o %s: the name of a picture must end in .svg, .dot or .onnx", t->output);
        return EXIT_USAGE;
    }
    opened o;
    char *picture = NULL;
    opf_status status = model_open_bound(t, &o);
    if (status != OPF_OK) return exit_status(status);
    if (onnx) status = (t->before ? opf_model_save : opf_model_save_fused)(o.bound, t->output);
    else status = opf_model_graph(o.bound, svg ? "svg" : "dot", !t->before, &picture);
    if (picture && t->output) status = opf_file_save(t->context, t->output, picture, strlen(picture));
    else if (picture) print(picture);
    tell(t);
    opf_string_free(picture);
    model_close(&o);
    return exit_status(status);
}
