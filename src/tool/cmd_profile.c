/* opfuse profile: where the time of a run goes. */
#include <string.h>

#include "tool/tool.h"

static bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

/* The form that the file's name asks for; NULL for none. */
static const char *form_of(const char *path) { return ends_in(path, ".folded") ? "folded" : ends_in(path, ".json") ? "trace" : NULL; }

static opf_status fill(tool *t, feed *f, opf_model *model) {
    char **folders;
    size_t count;
    bool quiet = t->quiet;
    opf_status status = data_sets(t, &folders, &count);
    t->quiet = quiet || t->data || t->n_inputs; /* then it has been told what was made up */
    if (status == OPF_OK) status = feed_fill(t, f, model, folders[0]);
    t->quiet = quiet;
    data_sets_free(folders, count);
    return status;
}

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
    status = fill(t, &f, o.bound);
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
