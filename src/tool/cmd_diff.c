/* opfuse diff: two models, policies or folders of outputs, value by value. */
#include <string.h>
#include <sys/stat.h>

#include "tool/tool.h"

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The values of one side. A model's inputs are those of the call. */
static opf_status values_of(tool *t, const char *path, opf_values **out) {
    if (is_folder(path)) return opf_values_read(out, t->context, path);
    opf_model *model = NULL;
    feed f = {0};
    opf_status status = opf_model_load(&model, t->context, path);
    tell(t);
    if (status == OPF_OK) status = feed_first(t, &f, model, false);
    if (status == OPF_OK) status = opf_values_run(out, model, f.inputs);
    feed_free(&f);
    opf_model_free(model);
    return status;
}

int cmd_diff(tool *t) {
    opf_values *a = NULL, *b = NULL;
    char *report = NULL;
    if (!t->second && !t->against) {
        complain(t, "usage", "usage: opfuse diff A B: two models or folders; or one model and --against POLICY");
        return EXIT_USAGE;
    }
    opf_status status = values_of(t, t->model, &a);
    if (status == OPF_OK && t->against) status = opf_context_set(t->context, "fuse", t->against);
    if (status == OPF_OK) status = values_of(t, t->second ? t->second : t->model, &b);
    if (status == OPF_OK && a && b) status = opf_values_compare(t->context, a, b, t->rtol, t->atol, &report);
    tell(t);
    if (report) print(report);
    opf_string_free(report);
    opf_values_free(a);
    opf_values_free(b);
    return exit_status(status);
}
