/* `verify --bisect` on planted faults, one for each property that it names: the operator, the property and the remedy; and in a model
 * without a fault nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "own_cache.h"
#include "planted.h"

#define MODEL OPF_TEST_DATA "/../cli/models/properties.onnx"
enum { ROWS = 16, COLUMNS = 64, COUNT = ROWS * COLUMNS, ONNX_FLOAT = 1 };

/* What the inputs are: numbers of both signs; the same past what float16 holds; with NaN in one of them; multiples of 1/8; ones, and in
 * the second a, b, -(a + b) in turns, so that the sum of a row's products is far smaller than they are. */
typedef enum filling { BOTH_SIGNS, LARGE, ONE_NAN, EIGHTHS, CANCELLING } filling;

typedef struct fault_case {
    planted_kind kind;
    const char *node;          /* NULL: no fault */
    filling filling;
    const char *operator, *property, *remedy; /* parts of the report */
} fault_case;

static float number(filling filling, int input, int k) {
    int column = k % COLUMNS;
    if (filling == CANCELLING && input == 0) return 1;
    if (filling == CANCELLING && column % 3 == 2) return -(number(CANCELLING, 1, k - 2) + number(CANCELLING, 1, k - 1));
    if (filling == CANCELLING && column == COLUMNS - 1) return 0x1p-20f;
    uint32_t drawn = ((uint32_t)k * 2u + (uint32_t)input + 1u) * 2654435761u;
    float x = (float)(drawn >> 8) / (1 << 23) * 3 - 3; /* -3 … 3 */
    if (filling == LARGE) return x * 30000;
    if (filling == CANCELLING) return x / 3;
    if (filling == ONE_NAN && input == 1 && k % 9 == 4) return NAN;
    return filling == EIGHTHS ? roundf(x * 8) / 8 : x;
}

/* The report of `verify --bisect`; to be freed. */
static char *report_of(const fault_case *c) {
    opf_context *context = opf_context_new();
    opf_model *model;
    static float data[2][COUNT];
    static const int64_t dims[] = {ROWS, COLUMNS};
    opf_array inputs[2];
    planted fault = {.node = c->node, .kind = c->kind, .arena = arena};
    assert_int_equal(opf_context_set(context, "cache", cache), OPF_OK);
    assert_int_equal(opf_context_set(context, "threads", "1"), OPF_OK);
    if (c->kind == PLANTED_REORDERED) assert_int_equal(opf_context_set(context, "accuracy", "exact"), OPF_OK);
    assert_int_equal(opf_model_load(&model, context, MODEL), OPF_OK);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < COUNT; k++) data[i][k] = number(c->filling, i, k);
        inputs[i] = (opf_array){.dtype = ONNX_FLOAT, .rank = 2, .dims = dims, .data = data[i]};
    }
    if (c->node) planted_begin(context, &fault);
    opf_verify_options options = {.rtol = -1, .atol = -1, .bisect = 1};
    char *report;
    opf_status status = opf_model_verify(model, inputs, &options, &report);
    if (status != (c->node ? OPF_ERROR_MISMATCH : OPF_OK)) fail_msg("%s in %s: status %d\n%s", planted_names[c->kind].name, c->node ? c->node : "nothing", (int)status, report);
    assert_true(!c->node || fault.done);
    opf_model_free(model);
    opf_context_free(context);
    return report;
}

/* From where somebody is named on. */
static const char *end_of(const char *report) {
    const char *at = strstr(report, "first at fault");
    return at ? at : report;
}

static void check(const fault_case *c) {
    char *report = report_of(c);
    const char *parts[] = {c->operator, c->property, c->remedy};
    for (int k = 0; k < 3; k++)
        if (!strstr(report, parts[k])) fail_msg("%s in %s: no \"%s\" in\n%s", planted_names[c->kind].name, c->node, parts[k], end_of(report));
    opf_string_free(report);
}

static void each_property_has_its_remedy(void **state) {
    (void)state;
    static const fault_case cases[] = {
        {PLANTED_REORDERED, "products", BOTH_SIGNS, "operator: products,", "property: a sum added in another order", "remedy: --wide-sums 'products' sums in float64, --accuracy=exact in the order of the axes"},
        {PLANTED_FEW_DIGITS, "energy", BOTH_SIGNS, "operator: energy", "property: a sum that loses more than any order of its terms does", "remedy: --wide-sums 'energy'"},
        {PLANTED_FEW_DIGITS, "balance", CANCELLING, "operator: balance,", "property: cancellation in a sum", "remedy: --wide-sums 'balance' sums in float64"},
        {PLANTED_HALF, "curve", LARGE, "operator: curve,", "property: overflow of a half type", "remedy: float32 in this place of the model (a Cast in front of 'curve')"},
        {PLANTED_HALF, "curve", BOTH_SIGNS, "operator: curve,", "property: rounding to a half type: the operator's numbers are those of float16", "remedy: float32 in this place of the model (a Cast in front of 'curve')"},
        {PLANTED_FEW_TERMS, "erf", BOTH_SIGNS, "operator: erf,", "property: an approximated function", "remedy: the stated errors of functions are in docs/numerics.md"},
        {PLANTED_DROPPED_NAN, "larger", ONE_NAN, "operator: larger,", "property: a rule for NaN: a maximum or minimum takes the other operand", "remedy: the rule is in docs/numerics.md; a guard in the model"},
        {PLANTED_TRUNCATED, "whole", BOTH_SIGNS, "operator: whole,", "property: rounding to an integer by truncation, in place of half to even", "remedy: --accuracy=exact computes what is rounded as the evaluator does"},
        {PLANTED_TRUNCATED, "code", BOTH_SIGNS, "operator: code,", "property: rounding to an integer by truncation, in place of half to even", "remedy: --accuracy=exact computes what is rounded as the evaluator does"},
        {PLANTED_HALVES_UP, "whole", EIGHTHS, "operator: whole,", "property: rounding to an integer with halves upwards", "remedy: --accuracy=exact"},
        {PLANTED_ROUNDED, "steps", BOTH_SIGNS, "operator: steps,", "property: rounding to an integer where the model truncates", "remedy: --accuracy=exact"},
    };
    for (size_t i = 0; i < OPF_COUNT(cases); i++) check(&cases[i]);
}

/* Only in the kernel that two operators share, so that each is right alone: the first whose value in it is beyond its bound is named. */
static void of_a_pair_one_is_named(planted_kind kind, const char *node, const char *operator, const char *property) {
    planted fault = {.node = node, .kind = kind, .joined = true, .arena = arena};
    opf_context *context = opf_context_new();
    opf_model *model;
    opf_array inputs[2];
    assert_int_equal(opf_context_set(context, "cache", cache), OPF_OK);
    assert_int_equal(opf_model_load(&model, context, MODEL), OPF_OK);
    for (size_t i = 0; i < 2; i++) assert_int_equal(opf_model_make_input(&inputs[i], model, i, NULL), OPF_OK);
    planted_begin(context, &fault);
    opf_verify_options options = {.rtol = -1, .atol = -1, .bisect = 1};
    char *report;
    assert_int_equal(opf_model_verify(model, inputs, &options, &report), OPF_ERROR_MISMATCH);
    if (!strstr(report, operator) || !strstr(report, property)) fail_msg("%s", end_of(report));
    opf_string_free(report);
    opf_model_free(model);
    opf_context_free(context);
}

static void a_fault_of_the_pair_is_traced_to_one(void **state) {
    (void)state;
    of_a_pair_one_is_named(PLANTED_FEW_DIGITS, "energy", "operator: energy; each is right alone, and in the group its value is the first beyond its bound", "property: a sum that loses more than any order");
    of_a_pair_one_is_named(PLANTED_SCALED, "squares", "operator: squares; each is right alone, and in the group its value is the first beyond its bound", "property: none of rounding");
}

static void without_a_fault_nobody_is_named(void **state) {
    (void)state;
    static const filling fillings[] = {BOTH_SIGNS, LARGE, ONE_NAN, EIGHTHS, CANCELLING};
    for (size_t i = 0; i < OPF_COUNT(fillings); i++) {
        fault_case c = {.filling = fillings[i]};
        char *report = report_of(&c);
        assert_non_null(strstr(report, "no group is at fault"));
        opf_string_free(report);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_property_has_its_remedy),
        cmocka_unit_test(a_fault_of_the_pair_is_traced_to_one),
        cmocka_unit_test(without_a_fault_nobody_is_named),
    };
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
