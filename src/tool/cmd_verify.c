/* opfuse verify: every data set of the call, one verdict. */
#include <stdlib.h>

#include "tool/tool.h"

static opf_status verify_set(tool *t, opf_model *model, const char *data_set) {
    feed f;
    char *report = NULL;
    opf_status status = feed_fill(t, &f, model, data_set);
    if (status == OPF_OK) {
        opf_verify_options options = {.all = t->all, .tolerance = t->tolerance, .rtol = t->rtol, .atol = t->atol, .expected = f.has_expected ? f.expected : NULL,
                                      .bounds = t->bounds, .bisect = t->bisect};
        status = opf_model_verify(model, f.inputs, &options, &report);
    }
    tell(t);
    if (report) {
        if (data_set) printf_out("%s\n", data_set);
        print(report);
    }
    opf_string_free(report);
    feed_free(&f);
    return status;
}

static int verify_suite(tool *t) {
    opf_suite_options options = {.exceptions = t->exceptions, .junit = t->junit, .jobs = t->jobs, .rtol = t->rtol, .atol = t->atol};
    char *report;
    opf_status status = opf_suite_verify(t->context, t->suite, &options, &report);
    tell(t);
    if (report) print(report);
    opf_string_free(report);
    return exit_status(status);
}

int cmd_verify(tool *t) {
    if (t->suite) return verify_suite(t);
    if (t->jobs || t->junit || t->exceptions) {
        complain(t, "usage", "--jobs, --junit and --exceptions belong to --suite");
        return EXIT_USAGE;
    }
    opf_model *model;
    char **folders = NULL;
    size_t count = 0;
    opf_status status = model_open(t, &model);
    if (status != OPF_OK) return exit_status(status);
    status = data_sets(t, &folders, &count);
    bool differs = false;
    for (size_t i = 0; i < count && (status == OPF_OK || status == OPF_ERROR_MISMATCH); i++) {
        status = verify_set(t, model, folders[i]);
        differs = differs || status == OPF_ERROR_MISMATCH;
    }
    data_sets_free(folders, count);
    opf_model_free(model);
    return exit_status(status == OPF_OK && differs ? OPF_ERROR_MISMATCH : status);
}
