/* What a suite came to: failures by name, a table, JUnit's XML. */
#include <stdlib.h>
#include <string.h>

#include "api/suite.h"

/* ---- verdicts ---- */

static const opf_trial *first_failure(const opf_suite *suite, const opf_suite_case *of, int policy) {
    for (size_t i = 0; i < suite->trials.count; i++) {
        const opf_trial *t = &suite->trials.data[i];
        if (t->of == of && t->policy == policy && t->code) return t;
    }
    return NULL;
}

opf_suite_verdict opf_suite_verdict_of(const opf_suite *suite, const opf_suite_case *of) {
    bool failed = false;
    for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++) failed = failed || first_failure(suite, of, policy);
    if (of->exception) return failed ? OPF_SUITE_EXCEPTED : OPF_SUITE_EXCEPTION_HOLDS;
    return failed ? OPF_SUITE_FAILED : OPF_SUITE_RIGHT;
}

/* ---- text ---- */

typedef struct row { const char *name; int count[OPF_SUITE_POLICIES]; } row;
typedef struct rows { OPF_VEC(row) list; } rows;

static void count(opf_arena *arena, rows *r, const char *name, int policy) {
    for (size_t i = 0; i < r->list.count; i++)
        if (strcmp(r->list.data[i].name, name) == 0) {
            r->list.data[i].count[policy]++;
            return;
        }
    row new_row = {.name = name};
    new_row.count[policy] = 1;
    OPF_PUSH(arena, &r->list, new_row);
}

static int by_count(const void *a, const void *b) {
    const row *x = a, *y = b;
    int n = 0;
    for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++) n += y->count[policy] - x->count[policy];
    return n ? n : strcmp(x->name, y->name);
}

static void print_rows(const rows *r, opf_text *out) {
    for (size_t i = 0; i < r->list.count; i++) {
        opf_text_printf(out, "  %-16s", r->list.data[i].name);
        for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++) opf_text_printf(out, "%8d", r->list.data[i].count[policy]);
        opf_text_add(out, "\n");
    }
}

static void print_case(const opf_suite *suite, const opf_suite_case *of, opf_text *out) {
    opf_suite_verdict verdict = opf_suite_verdict_of(suite, of);
    if (verdict == OPF_SUITE_EXCEPTION_HOLDS) opf_text_printf(out, "HOLDS   %s: it is listed as an exception (%s)\n", of->name, of->exception);
    if (verdict != OPF_SUITE_FAILED) return;
    for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++) {
        const opf_trial *t = first_failure(suite, of, policy);
        if (t) opf_text_printf(out, "FAILED  %s %s: %s: %s\n", of->name, opf_suite_policy_names[policy], t->code, t->reason);
    }
}

static void print_table(const opf_suite *suite, int counts[4], opf_text *out) {
    rows codes = {0};
    row right = {.name = "right"};
    for (size_t i = 0; i < suite->cases.count; i++)
        for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++) {
            const opf_trial *t = first_failure(suite, &suite->cases.data[i], policy);
            if (t) count(suite->arena, &codes, t->code, policy);
            else right.count[policy]++;
        }
    if (codes.list.count) qsort(codes.list.data, codes.list.count, sizeof *codes.list.data, by_count);
    opf_text_printf(out, "%zu cases: %d right, %d failed, %d known exceptions, %d exceptions that hold\n  %-16s", suite->cases.count, counts[OPF_SUITE_RIGHT],
                    counts[OPF_SUITE_FAILED], counts[OPF_SUITE_EXCEPTED], counts[OPF_SUITE_EXCEPTION_HOLDS], "");
    for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++) opf_text_printf(out, "%8s", opf_suite_policy_names[policy]);
    opf_text_add(out, "\n");
    rows first = {0};
    OPF_PUSH(suite->arena, &first.list, right);
    print_rows(&first, out);
    print_rows(&codes, out);
}

/* A case counts under each of its types. */
static void print_types(const opf_suite *suite, opf_text *out) {
    int cases[OPF_DTYPE_COUNT] = {0}, right[OPF_DTYPE_COUNT][OPF_SUITE_POLICIES] = {{0}};
    for (size_t i = 0; i < suite->cases.count; i++) {
        uint64_t types = opf_suite_types(suite, &suite->cases.data[i]);
        for (int dtype = 0; dtype < OPF_DTYPE_COUNT; dtype++) {
            if (!(types >> dtype & 1)) continue;
            cases[dtype]++;
            for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++) right[dtype][policy] += !first_failure(suite, &suite->cases.data[i], policy);
        }
    }
    opf_text_printf(out, "  %-16s%8s", "right by type", "cases");
    for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++) opf_text_printf(out, "%8s", opf_suite_policy_names[policy]);
    opf_text_add(out, "\n");
    for (int k = 1; k <= OPF_DTYPE_COUNT; k++) {
        int dtype = k % OPF_DTYPE_COUNT; /* what is no tensor comes last */
        if (!cases[dtype]) continue;
        opf_text_printf(out, "  %-16s%8d", dtype ? opf_dtype_name((opf_dtype)dtype) : "no tensor", cases[dtype]);
        for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++) opf_text_printf(out, "%8d", right[dtype][policy]);
        opf_text_add(out, "\n");
    }
}

void opf_suite_print(const opf_suite *suite, opf_text *out, int *failures) {
    int counts[4] = {0};
    for (size_t i = 0; i < suite->cases.count; i++) {
        counts[opf_suite_verdict_of(suite, &suite->cases.data[i])]++;
        print_case(suite, &suite->cases.data[i], out);
    }
    print_table(suite, counts, out);
    print_types(suite, out);
    *failures = counts[OPF_SUITE_FAILED] + counts[OPF_SUITE_EXCEPTION_HOLDS];
}

/* ---- JUnit ---- */

static void add_xml(opf_text *out, const char *text) {
    static const char *const names[128] = {['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;"};
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 128 && names[c]) opf_text_add(out, names[c]);
        else if (c >= ' ') opf_text_add_n(out, text, 1);
    }
}

static void add_case(const opf_suite *suite, const opf_suite_case *of, int policy, opf_text *out) {
    const opf_trial *failure = first_failure(suite, of, policy);
    opf_suite_verdict verdict = opf_suite_verdict_of(suite, of);
    double seconds = 0;
    for (size_t i = 0; i < suite->trials.count; i++)
        if (suite->trials.data[i].of == of && suite->trials.data[i].policy == policy) seconds += suite->trials.data[i].seconds;
    opf_text_printf(out, "  <testcase classname=\"%s\" name=\"", opf_suite_policy_names[policy]);
    add_xml(out, of->name);
    opf_text_printf(out, "\" time=\"%.6f\">", seconds);
    if (verdict == OPF_SUITE_EXCEPTED) {
        opf_text_add(out, "<skipped message=\"");
        add_xml(out, of->exception);
        opf_text_add(out, "\"/>");
    } else if (verdict != OPF_SUITE_RIGHT && (failure || verdict == OPF_SUITE_EXCEPTION_HOLDS)) {
        opf_text_printf(out, "<failure type=\"%s\" message=\"", failure ? failure->code : "exception");
        add_xml(out, failure ? failure->reason : "it is listed as an exception and holds");
        opf_text_add(out, "\"/>");
    }
    opf_text_add(out, "</testcase>\n");
}

opf_status opf_suite_write_junit(const opf_suite *suite, const char *path) {
    opf_text text = {0};
    size_t tests = suite->cases.count * OPF_SUITE_POLICIES;
    opf_text_printf(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"opfuse\" tests=\"%zu\">\n", tests);
    for (size_t i = 0; i < suite->cases.count; i++)
        for (int policy = 0; policy < OPF_SUITE_POLICIES; policy++) add_case(suite, &suite->cases.data[i], policy, &text);
    opf_text_add(&text, "</testsuite>\n");
    opf_status status = opf_file_write(path, opf_text_string(&text), text.length, suite->context->diags);
    opf_text_free(&text);
    return status;
}
