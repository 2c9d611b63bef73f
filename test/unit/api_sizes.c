/* One build for all sizes: models of every family of operators whose sizes are symbols (test/data/sizes), each built once a
 * policy and run with small, odd, one-element and empty sizes, against the evaluator. Where a size cannot be, the run is refused
 * with a message, and the session lives on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/vec.h"
#include "expr/dtype.h"
#include "opfuse/opfuse.h"
#include "own_cache.h"

#define FOLDER OPF_TEST_DATA "/sizes/"

enum { MOST_SYMBOLS = 4 };

/* A model, and the least size of each symbol that it takes ("H=3", or "V=L": 1 where L is not 0); 0 where nothing is said. */
typedef struct row { const char *model, *least; } row;
static const row rows[] = {
    {"elementwise", ""}, {"broadcast", ""}, {"reduce_rows", ""}, {"reduce_columns", ""}, {"reduce_all", ""}, {"argmax", ""}, {"softmax", ""},
    {"matmul", ""}, {"matmul_batched", ""}, {"matmul_weights", ""}, {"gemm", ""}, {"matmul_integer", ""}, {"einsum", ""},
    {"conv", ""}, {"conv_strided", "H=3 W=3"}, {"conv_depthwise", ""}, {"conv_1d", ""}, {"conv_transpose", ""}, {"pool", ""}, {"pool_short", "H=2 W=2"}, {"pool_global", ""},
    {"gather", ""}, {"gather_dynamic", "V=L"}, {"concat", ""}, {"concat_inner", ""}, {"concat_parts", ""}, {"concat_in_loop", ""}, {"concat_in_branch", ""}, {"slice", ""}, {"slice_ends", ""}, {"slice_found", ""}, {"reshape", ""}, {"flatten_transpose", ""},
    {"split", ""}, {"expand_tile", ""}, {"pad", ""}, {"pad_edge", "N=1 M=1"}, {"layer_norm", ""}, {"layer_norm_rows", ""}, {"instance_norm", ""},
    {"group_norm", ""}, {"attention", ""}, {"attention_cache", ""}, {"resize", ""}, {"topk", "M=2"}, {"cumsum", ""}, {"nonzero", ""},
    {"compress", ""}, {"scatter", ""}, {"one_hot", ""}, {"lstm", ""}, {"gru", ""}, {"gru_linear", ""}, {"rnn", ""}, {"quantize", ""}, {"dynamic_quantize", ""}, {"half", ""}, {"scan", ""},
    {"loop", ""}, {"range", ""},
};

/* ---- sizes ---- */

typedef struct sizes {
    int count;
    const char *names[MOST_SYMBOLS];
    int64_t values[MOST_SYMBOLS];
} sizes;

static int find(const sizes *s, const char *name) {
    for (int k = 0; k < s->count; k++)
        if (strcmp(s->names[k], name) == 0) return k;
    return -1;
}

static sizes symbols_of(const opf_model *model) {
    sizes s = {0};
    for (size_t i = 0; i < opf_model_inputs(model); i++) {
        opf_port port = opf_model_input(model, i);
        for (int k = 0; k < port.rank; k++) {
            if (port.dims[k] >= 0 || find(&s, port.dim_names[k]) >= 0) continue;
            assert_in_range(s.count, 0, MOST_SYMBOLS - 1);
            s.names[s.count++] = port.dim_names[k];
        }
    }
    return s;
}

static bool allowed(const row *row, const sizes *s) {
    for (int k = 0; k < s->count; k++) {
        char key[16];
        snprintf(key, sizeof key, "%s=", s->names[k]);
        const char *least = strstr(row->least, key);
        if (!least) continue;
        const char *given = least + strlen(key);
        int other = find(s, given); /* a name: 1 where that size is not 0 */
        if (s->values[k] < (other < 0 ? atoi(given) : s->values[other] > 0)) return false;
    }
    return true;
}

/* ---- inputs ---- */

static opf_array made(const opf_port *port, const sizes *s, int number) {
    int64_t *dims = OPF_ARRAY(arena, int64_t, port->rank + 1), elements = 1;
    for (int k = 0; k < port->rank; k++) {
        dims[k] = port->dims[k] >= 0 ? port->dims[k] : s->values[find(s, port->dim_names[k])];
        elements *= dims[k];
    }
    opf_dtype dtype = (opf_dtype)port->dtype;
    void *data = OPF_ARRAY(arena, char, opf_dtype_bytes(dtype, (size_t)elements) + 1);
    for (int64_t k = 0; k < elements; k++) {
        int64_t mixed = (k * 7 + number * 5 + k / 11) % 29;
        if (opf_dtype_is_float(dtype)) opf_dtype_store(dtype, data, (size_t)k, (double)mixed / 16 - 0.8);
        else opf_dtype_store_int(dtype, data, (size_t)k, dtype == OPF_INT64 || dtype == OPF_BOOL ? mixed % 2 : mixed * 8);
    }
    return (opf_array){.name = port->name, .dtype = port->dtype, .rank = port->rank, .dims = dims, .data = data};
}

/* ---- one run ---- */

typedef struct subject {
    const row *row;
    const char *policy;
    opf_context *context;
    opf_model *model;
    int wrong;
} subject;

static void complain(subject *u, const sizes *s, const char *what, const char *report) {
    printf("%s %s", u->row->model, u->policy);
    for (int k = 0; k < s->count; k++) printf(" %s=%lld", s->names[k], (long long)s->values[k]);
    printf(": %s\n%s", what, report ? report : "");
    for (size_t k = 0; k < opf_context_messages(u->context); k++) printf("%s", opf_context_message(u->context, k).text);
    u->wrong++;
}

static void run_with(subject *u, const sizes *s) {
    opf_array inputs[8];
    char *report = NULL;
    for (size_t i = 0; i < opf_model_inputs(u->model); i++) {
        opf_port port = opf_model_input(u->model, i);
        inputs[i] = made(&port, s, (int)i);
    }
    opf_context_clear_messages(u->context);
    opf_status status = opf_model_verify(u->model, inputs, &(opf_verify_options){.rtol = 1e-4, .atol = 1e-5}, &report);
    bool told = opf_context_messages(u->context) > 0;
    if (allowed(u->row, s) && status != OPF_OK) complain(u, s, "does not hold", report);
    if (!allowed(u->row, s) && !(status == OPF_ERROR_INPUT && told)) complain(u, s, "is not refused", report);
    opf_string_free(report);
}

static void run_all(subject *u) {
    static const int64_t same[] = {5, 1, 2, 37, 16};
    sizes s = symbols_of(u->model);
    for (size_t v = 0; v < sizeof same / sizeof *same; v++) {
        for (int k = 0; k < s.count; k++) s.values[k] = same[v];
        run_with(u, &s);
    }
    for (int one = 0; one < s.count; one++)
        for (int64_t size = 0; size < 2; size++) {
            for (int k = 0; k < s.count; k++) s.values[k] = k == one ? size : 5 + 2 * k;
            run_with(u, &s);
        }
    for (int k = 0; k < s.count; k++) s.values[k] = 0;
    run_with(u, &s);
    for (int k = 0; k < s.count; k++) s.values[k] = 3 + 4 * k; /* and the session is still alive */
    run_with(u, &s);
}

static int run_model(const row *row, const char *policy) {
    char path[256];
    subject u = {.row = row, .policy = policy, .context = opf_context_new()};
    opf_context_set(u.context, "cache", cache);
    opf_context_set(u.context, "fuse", policy);
    snprintf(path, sizeof path, FOLDER "%s.onnx", row->model);
    if (opf_model_load(&u.model, u.context, path) != OPF_OK) complain(&u, &(sizes){0}, "cannot be read", NULL);
    else run_all(&u);
    opf_model_free(u.model);
    opf_context_free(u.context);
    return u.wrong;
}

/* state: the policy */
static void test_sizes(void **state) {
    const char *only = getenv("OPF_ONLY"); /* one model, for whoever looks for a mistake */
    int wrong = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!only || strcmp(only, rows[k].model) == 0) wrong += run_model(&rows[k], *state);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {{"best", test_sizes, NULL, NULL, "best"}, {"none", test_sizes, NULL, NULL, "none"}};
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
