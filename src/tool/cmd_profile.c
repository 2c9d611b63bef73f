/* opfuse profile: where the time of a run goes. */
#include <string.h>

#include "tool/tool.h"

/* The form that the file's name asks for; NULL for none. */
static const char *form_of(const char *path) { return ends_in(path, ".folded") ? "folded" : ends_in(path, ".json") ? "trace" : NULL; }

int cmd_profile(tool *t) {
    const char *formats[] = {t->json ? "json" : "text", t->output ? form_of(t->output) : NULL, NULL};
    char *texts[2] = {NULL, NULL};
    if (t->output && !formats[1]) {
        complain(t, "usage", "-o %s: a profile is written as .json (events for trace viewers) or .folded (stacks for flame graphs)", t->output);
        return EXIT_USAGE;
    }
    opened o;
    feed f = {0};
    opf_status status = model_open_bound(t, &o);
    if (status != OPF_OK) return exit_status(status);
    status = feed_first(t, &f, o.bound, t->data || t->n_inputs);
    if (status == OPF_OK) status = opf_model_profile(o.bound, f.inputs, t->warmup, t->runs, formats, texts);
    if (status == OPF_OK && texts[0]) print(texts[0]);
    if (status == OPF_OK && texts[1]) status = opf_file_save(t->context, t->output, texts[1], strlen(texts[1]));
    opf_string_free(texts[0]);
    opf_string_free(texts[1]);
    tell(t);
    feed_free(&f);
    model_close(&o);
    return exit_status(status);
}
