/* opfuse build: a shared object, a static library, or plain C. */
#include <stdlib.h>

#include "tool/tool.h"

int cmd_build(tool *t) {
    if (!t->output || !*t->output) {
        complain(t, "usage", "usage: opfuse build MODEL -o FILE.so|FILE.a|FOLDER/; -o is missing");
        return EXIT_USAGE;
    }
    opened o;
    feed f = {0}; /* inputs as given, for the self-test and the sizes told; none where the call gives none */
    opf_status status = model_open_bound(t, &o);
    if (status != OPF_OK) return exit_status(status);
    if (t->data || t->n_inputs) status = feed_first(t, &f, o.bound, true);
    char *report = NULL;
    opf_build_options options = {.embed_weights = t->embed_weights, .max_ram = t->max_ram, .check = t->check_groups, .targets = t->targets, .inputs = f.inputs};
    if (status == OPF_OK) status = opf_model_build_as(o.bound, t->output, &options, &report);
    for (size_t i = 0; status == OPF_OK && i < opf_model_inputs(o.bound); i++)
        if (opf_model_input(o.bound, i).by_value) note(t, "%s holds the value of input '%s'; no other runs", t->output, opf_model_input(o.bound, i).name);
    if (report) print(report);
    opf_string_free(report);
    tell(t);
    feed_free(&f);
    model_close(&o);
    return exit_status(status);
}
