/* opfuse build: a shared object and its header. */
#include "tool/tool.h"

int cmd_build(tool *t) {
    if (!t->output) {
        complain(t, "usage", "usage: opfuse build MODEL -o FILE.so; -o is missing");
        return EXIT_USAGE;
    }
    opf_model *model;
    opf_status status = hint_from_inputs(t);
    if (status == OPF_OK) status = model_open(t, &model);
    if (status != OPF_OK) return exit_status(status);
    status = opf_model_build(model, t->output);
    tell(t);
    opf_model_free(model);
    return exit_status(status);
}
