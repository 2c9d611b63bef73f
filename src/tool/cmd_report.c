/* opfuse report: one HTML page about a model, with its times where they are asked for. */
#include <string.h>

#include "tool/tool.h"

int cmd_report(tool *t) {
    if (!t->output) {
        complain(t, "usage", "usage: opfuse report MODEL -o FILE.html; -o is missing");
        return EXIT_USAGE;
    }
    opened o;
    feed f = {0};
    char *page = NULL;
    opf_status status = model_open_bound(t, &o);
    if (status != OPF_OK) return exit_status(status);
    if (t->profile) status = feed_first(t, &f, o.bound, t->data || t->n_inputs);
    if (status == OPF_OK) status = t->profile ? opf_model_report_profile(o.bound, f.inputs, t->warmup, t->runs, &page) : opf_model_report(o.bound, &page);
    if (page) status = opf_file_save(t->context, t->output, page, strlen(page));
    tell(t);
    opf_string_free(page);
    feed_free(&f);
    model_close(&o);
    return exit_status(status);
}
