/* A conformance suite from end to end. */
#include "api/suite.h"

#include <stdio.h>

/* A user's own kernel is a file of its own; the programs of a batch are compiled as one. */
static opf_status refuse_kernels(const opf_suite *suite) {
    const opf_patterns *patterns = suite->context->patterns;
    for (size_t i = 0; i < patterns->list.count; i++) {
        const opf_pattern *pattern = patterns->list.data[i];
        if (pattern->action != OPF_PATTERN_BIND) continue;
        opf_diag_add(suite->context->diags, OPF_ERROR, "usage", OPF_NO_PLACE,
                     "pattern '%s' (%s) binds a kernel, and the programs of a suite are compiled together, without kernels of one's own; verify the cases one by one, each with --patterns and --data",
                     pattern->name, pattern->source);
        return OPF_ERROR_USAGE;
    }
    return OPF_OK;
}

static opf_status verify(opf_suite *suite, char **report) {
    opf_diags *diags = suite->context->diags;
    char *scratch;
    opf_status status = refuse_kernels(suite);
    if (status == OPF_OK) status = opf_suite_find(suite);
    if (status == OPF_OK) status = opf_folder_temporary(&scratch, suite->arena, diags);
    if (status != OPF_OK) return status;
    suite->scratch = scratch;
    status = opf_suite_run(suite);
    opf_folder_remove(scratch);
    if (status != OPF_OK) return status;
    opf_text text = {0};
    int failures = 0;
    opf_suite_print(suite, &text, &failures);
    *report = opf_text_take(&text);
    if (suite->options->junit) status = opf_suite_write_junit(suite, suite->options->junit);
    return status == OPF_OK && failures ? OPF_ERROR_MISMATCH : status;
}

opf_status opf_suite_verify(opf_context *context, const char *folder, const opf_suite_options *options, char **report) {
    opf_suite suite = {.context = context, .arena = opf_arena_new(), .folder = folder, .options = options};
    *report = NULL;
    opf_status status = verify(&suite, report);
    opf_arena_free(suite.arena);
    return status;
}
