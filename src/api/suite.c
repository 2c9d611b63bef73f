/* A conformance suite from end to end. */
#include "api/suite.h"

#include <stdio.h>

static opf_status verify(opf_suite *suite, char **report) {
    opf_diags *diags = suite->context->diags;
    char *scratch;
    opf_status status = opf_suite_find(suite);
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
