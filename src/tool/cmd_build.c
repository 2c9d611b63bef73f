/* opfuse build: a shared object and its header. */
#include "tool/tool.h"

int cmd_build(tool *t) {
    if (!t->output) {
        complain(t, "usage", "usage: opfuse build MODEL -o FILE.so; -o is missing");
        return EXIT_USAGE;
    }
    opened o;
    opf_status status = model_open_bound(t, &o);
    if (status != OPF_OK) return exit_status(status);
    status = opf_model_build(o.bound, t->output);
    for (size_t i = 0; status == OPF_OK && i < opf_model_inputs(o.bound); i++)
        if (opf_model_input(o.bound, i).by_value) note(t, "%s holds the value of input '%s'; no other runs", t->output, opf_model_input(o.bound, i).name);
    tell(t);
    model_close(&o);
    return exit_status(status);
}
