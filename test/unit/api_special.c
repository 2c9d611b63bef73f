/* Every element-wise operator over the special values of every type that it takes, by the evaluator and by generated code
 * under `none` and `best`, against test/data/special (its make.py says what is expected and how exactly). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/model.h"
#include "eval/eval.h"
#include "own_cache.h"

#define FOLDER OPF_TEST_DATA "/special/"

/* ---- comparing ---- */

typedef struct rule { double ulps, absolute; bool signed_zero, code_only; } rule;

static rule rule_of(const char *label) {
    rule r;
    char zero[16], by[16];
    assert_int_equal(sscanf(strchr(label, ' '), " ulps=%lf abs=%lf zero=%15s by=%15s", &r.ulps, &r.absolute, zero, by), 4);
    r.code_only = strcmp(by, "code") == 0;
    r.signed_zero = strcmp(zero, "signed") == 0;
    return r;
}

static int bits_of_fraction(opf_dtype dtype) { return dtype == OPF_FLOAT64 ? 52 : dtype == OPF_FLOAT32 ? 23 : dtype == OPF_FLOAT16 ? 10 : 7; }
static int least_exponent(opf_dtype dtype) { return dtype == OPF_FLOAT64 ? -1022 : dtype == OPF_FLOAT16 ? -14 : -126; }

/* The distance between neighbours at this value. */
static double ulp(opf_dtype dtype, double value) {
    int exponent = value == 0 ? least_exponent(dtype) : ilogb(value);
    if (exponent < least_exponent(dtype)) exponent = least_exponent(dtype);
    return ldexp(1, exponent - bits_of_fraction(dtype));
}

static bool same(opf_dtype dtype, const rule *r, const void *got, const void *wanted, size_t k) {
    if (!opf_dtype_is_float(dtype)) return opf_dtype_load_int(dtype, got, k) == opf_dtype_load_int(dtype, wanted, k);
    double a = opf_dtype_load(dtype, got, k), b = opf_dtype_load(dtype, wanted, k);
    if (isnan(b)) return isnan(a);
    if (isinf(a) || isinf(b)) return a == b;
    if (a == 0 && b == 0) return !r->signed_zero || signbit(a) == signbit(b);
    return fabs(a - b) <= fmax(r->ulps * ulp(dtype, b), r->absolute);
}

static void describe(opf_text *out, opf_dtype dtype, const void *data, size_t k) {
    if (opf_dtype_is_float(dtype)) opf_text_printf(out, "%.9g", opf_dtype_load(dtype, data, k));
    else opf_text_printf(out, "%lld", opf_dtype_load_int(dtype, data, k));
}

/* One output against its expected values; the first few differences. Returns how many there are. */
static int compare(const char *type, const char *who, const char *label, opf_dtype dtype, int64_t count, const void *got, const void *wanted) {
    rule r = rule_of(label);
    int different = 0;
    if (r.code_only && strcmp(who, "evaluator") == 0) return 0;
    opf_text text = {0};
    for (int64_t k = 0; k < count; k++) {
        if (same(dtype, &r, got, wanted, (size_t)k)) continue;
        if (different++ >= 6) continue;
        opf_text_printf(&text, "  [%lld] ", (long long)k);
        describe(&text, dtype, got, (size_t)k);
        opf_text_add(&text, " for ");
        describe(&text, dtype, wanted, (size_t)k);
    }
    if (different) printf("%s %s %s: %d differ:%s\n", type, who, label, different, opf_text_string(&text));
    opf_text_free(&text);
    return different;
}

/* ---- running ---- */

typedef struct subject {
    const char *type;
    opf_context *context;
    opf_model *model;
    size_t n_inputs, n_outputs;
    opf_array inputs[8];
} subject;

static subject open_subject(const char *type, const char *policy) {
    subject s = {.type = type, .context = opf_context_new()};
    char path[256];
    assert_int_equal(opf_context_set(s.context, "cache", cache), OPF_OK);
    assert_int_equal(opf_context_set(s.context, "fuse", policy), OPF_OK);
    snprintf(path, sizeof path, FOLDER "%s.onnx", type);
    opf_status status = opf_model_load(&s.model, s.context, path);
    for (size_t k = 0; k < opf_context_messages(s.context); k++) printf("%s", opf_context_message(s.context, k).text);
    assert_int_equal(status, OPF_OK);
    s.n_inputs = opf_model_inputs(s.model);
    s.n_outputs = opf_model_outputs(s.model);
    assert_in_range(s.n_inputs, 1, OPF_COUNT(s.inputs));
    for (size_t k = 0; k < s.n_inputs; k++) {
        snprintf(path, sizeof path, FOLDER "%s_%zu.pb", type, k);
        assert_int_equal(opf_array_read(&s.inputs[k], s.context, path), OPF_OK);
    }
    return s;
}

static void close_subject(subject *s) {
    opf_model_free(s->model);
    opf_context_free(s->context);
}

static int by_code(const char *type, const char *policy) {
    subject s = open_subject(type, policy);
    opf_session *session;
    opf_array *outputs = calloc(s.n_outputs, sizeof *outputs);
    assert_int_equal(opf_session_new(&session, s.model), OPF_OK);
    assert_int_equal(opf_session_run(session, s.inputs, outputs), OPF_OK);
    int different = 0;
    for (size_t k = 0; k < s.n_outputs; k += 2)
        different += compare(type, policy, outputs[k + 1].name, (opf_dtype)outputs[k].dtype, opf_array_elements(&outputs[k]), outputs[k].data, outputs[k + 1].data);
    opf_session_free(session);
    free(outputs);
    close_subject(&s);
    return different;
}

static int by_evaluator(const char *type) {
    subject s = open_subject(type, "none");
    const opf_tensor *tensors[OPF_COUNT(s.inputs)];
    opf_module *module;
    opf_eval *eval;
    assert_int_equal(opf_model_as_read(&module, s.model), OPF_OK);
    for (size_t k = 0; k < s.n_inputs; k++) assert_int_equal(opf_array_tensor(&tensors[k], &s.inputs[k], arena, s.context->diags), OPF_OK);
    assert_int_equal(opf_eval_new(&eval, module->graph, tensors, false), OPF_OK);
    assert_int_equal(opf_eval_run(eval), OPF_OK);
    int different = 0;
    for (size_t k = 0; k < s.n_outputs; k += 2) {
        const opf_tensor *got = opf_eval_value(eval, module->graph->outputs.data[k]), *wanted = module->graph->outputs.data[k + 1]->constant;
        different += compare(type, "evaluator", module->graph->output_names.data[k + 1], got->dtype, got->elements, got->data, wanted->data);
    }
    opf_eval_free(eval);
    close_subject(&s);
    return different;
}

/* state: the type's name */
static void test_type(void **state) {
    const char *type = *state;
    int different = by_evaluator(type);
    different += by_code(type, "none");
    different += by_code(type, "best");
    assert_int_equal(different, 0);
}

#define TYPE(name) {name, test_type, NULL, NULL, name}

int main(void) {
    const struct CMUnitTest tests[] = {
        TYPE("float32"), TYPE("float64"), TYPE("float16"), TYPE("bfloat16"), TYPE("int8"),   TYPE("int16"), TYPE("int32"),
        TYPE("int64"),   TYPE("uint8"),   TYPE("uint16"),  TYPE("uint32"),   TYPE("uint64"), TYPE("bool"),
    };
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
