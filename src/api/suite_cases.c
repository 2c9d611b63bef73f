/* What a suite holds. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/suite.h"

const opf_policy opf_suite_policies[OPF_SUITE_POLICIES] = {OPF_POLICY_NONE, OPF_POLICY_BEST};
const char *const opf_suite_policy_names[OPF_SUITE_POLICIES] = {"none", "best"};

static int by_length_and_name(const void *a, const void *b) {
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t length_x = strlen(x), length_y = strlen(y); /* test_data_set_2 before test_data_set_10 */
    return length_x != length_y ? (length_x < length_y ? -1 : 1) : strcmp(x, y);
}

static int by_name(const void *a, const void *b) { return strcmp(((const opf_suite_case *)a)->name, ((const opf_suite_case *)b)->name); }

static void find_sets(opf_suite *suite, opf_suite_case *of) {
    OPF_VEC(const char *) sets = {0};
    DIR *folder = opendir(of->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strncmp(entry->d_name, "test_data_set_", 14) == 0) OPF_PUSH(suite->arena, &sets, opf_arena_printf(suite->arena, "%s/%s", of->folder, entry->d_name));
    if (folder) closedir(folder);
    if (sets.count) qsort(sets.data, sets.count, sizeof *sets.data, by_length_and_name);
    of->sets = sets.data;
    of->n_sets = (int)sets.count;
}

static opf_status find_cases(opf_suite *suite) {
    DIR *folder = opendir(suite->folder);
    opf_place place = {suite->folder, NULL, NULL, -1};
    if (!folder) {
        opf_diag_add(suite->context->diags, OPF_ERROR, "io", place, "the folder cannot be read: %s", strerror(errno));
        return OPF_ERROR_INPUT;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        opf_suite_case found = {.name = opf_arena_string(suite->arena, entry->d_name), .folder = opf_arena_printf(suite->arena, "%s/%s", suite->folder, entry->d_name)};
        if (entry->d_name[0] == '.' || !opf_file_exists(opf_arena_printf(suite->arena, "%s/model.onnx", found.folder))) continue;
        find_sets(suite, &found);
        if (found.n_sets) OPF_PUSH(suite->arena, &suite->cases, found);
    }
    closedir(folder);
    if (!suite->cases.count) {
        opf_diag_add(suite->context->diags, OPF_ERROR, "io", place, "no folder in it holds a model.onnx and a test_data_set_*");
        return OPF_ERROR_INPUT;
    }
    qsort(suite->cases.data, suite->cases.count, sizeof *suite->cases.data, by_name);
    return OPF_OK;
}

/* ---- exceptions: a line each, the case's name and the reason; # starts a comment. The list may serve several suites. ---- */

static opf_suite_case *case_named(opf_suite *suite, const char *name, size_t length) {
    for (size_t i = 0; i < suite->cases.count; i++) {
        opf_suite_case *c = &suite->cases.data[i];
        if (strlen(c->name) == length && strncmp(c->name, name, length) == 0) return c;
    }
    return NULL;
}

static opf_status read_exception(opf_suite *suite, const char *line, size_t length, int number) {
    size_t name = 0;
    while (name < length && line[name] != ' ' && line[name] != '\t') name++;
    size_t reason = name;
    while (reason < length && (line[reason] == ' ' || line[reason] == '\t')) reason++;
    if (length == 0 || line[0] == '#') return OPF_OK;
    if (reason == length) {
        opf_diag_add(suite->context->diags, OPF_ERROR, "read", (opf_place){suite->options->exceptions, NULL, NULL, -1}, "line %d gives no reason", number);
        return OPF_ERROR_INPUT;
    }
    opf_suite_case *of = case_named(suite, line, name);
    if (of) of->exception = opf_arena_string_n(suite->arena, line + reason, length - reason);
    return OPF_OK;
}

static opf_status read_exceptions(opf_suite *suite) {
    opf_mapping file = {0};
    if (!suite->options->exceptions) return OPF_OK;
    opf_status status = opf_file_map(&file, suite->options->exceptions, suite->context->diags);
    const char *at = (const char *)file.data, *end = at + file.size;
    for (int number = 1; status == OPF_OK && at < end; number++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end) line_end = end;
        status = read_exception(suite, at, (size_t)(line_end - at), number);
        at = line_end + 1;
    }
    opf_file_unmap(&file);
    return status;
}

static void add_trial(opf_suite *suite, const opf_suite_case *of, int policy, int set) {
    opf_trial trial = {.number = (int)suite->trials.count, .of = of, .policy = policy, .set = set};
    OPF_PUSH(suite->arena, &suite->trials, trial);
}

opf_status opf_suite_find(opf_suite *suite) {
    opf_status status = find_cases(suite);
    if (status == OPF_OK) status = read_exceptions(suite);
    for (size_t i = 0; i < suite->cases.count && status == OPF_OK; i++)
        for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++)
            for (int set = 0; set < suite->cases.data[i].n_sets; set++) add_trial(suite, &suite->cases.data[i], policy, set);
    return status;
}
