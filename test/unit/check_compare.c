/* The tolerance rules, ULP in each type's own steps, NaN and infinities, distributions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "check/compare.h"

static opf_arena *arena;

static int setup(void **state) {
    (void)state;
    arena = opf_arena_new();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    opf_arena_free(arena);
    return 0;
}

static opf_tensor *tensor(opf_dtype dtype, int64_t count, const double *values) {
    opf_tensor *made = opf_tensor_zeros(arena, dtype, 1, &count, NULL);
    for (int64_t i = 0; i < count; i++) opf_dtype_store(dtype, (void *)(uintptr_t)made->data, (size_t)i, values[i]);
    return made;
}
#define TENSOR(dtype, ...) tensor(dtype, (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

static const opf_tolerance exact = {OPF_TOL_ELEMENT, 0, 0};

static void elements_within_bounds(void **state) {
    (void)state;
    opf_tensor *expected = TENSOR(OPF_FLOAT64, 100, -2, 0), *got = TENSOR(OPF_FLOAT64, 100.09, -2.002, 0.00001);
    opf_comparison c = opf_compare(got, expected, (opf_tolerance){OPF_TOL_ELEMENT, 8e-4, 2e-5}, arena);
    assert_false(c.holds);
    assert_int_equal(c.differing, 2);
    assert_true(fabs(c.max_absolute - 0.09) < 1e-12);
    assert_true(fabs(c.max_relative - 0.001) < 1e-12);
    c = opf_compare(got, expected, (opf_tolerance){OPF_TOL_ELEMENT, 1e-3, 1e-4}, arena);
    assert_true(c.holds);
    assert_int_equal(c.worst, 1);
    assert_true(c.got == -2.002 && c.expected == -2);
    assert_true(c.max_expected == 100);
    assert_true(fabs(c.mean_absolute - (0.09 + 0.002 + 0.00001) / 3) < 1e-12);
}

static void rules_of_the_model_collection(void **state) {
    (void)state;
    opf_tensor *expected = TENSOR(OPF_FLOAT32, 1000, 1, 0);
    /* fp32: rtol 1e-3 and atol 1e-4 of the greatest, so 0.1 + 0.001 * |expected| */
    assert_true(opf_compare(TENSOR(OPF_FLOAT32, 1001, 1.1, 0.0999), expected, (opf_tolerance){OPF_TOL_FP32, 0, 0}, arena).holds);
    opf_comparison c = opf_compare(TENSOR(OPF_FLOAT32, 1001.2, 1.102, 0.101), expected, (opf_tolerance){OPF_TOL_FP32, 0, 0}, arena);
    assert_int_equal(c.differing, 3);
    /* fp16: atol 4e-3 of the greatest */
    assert_true(opf_compare(TENSOR(OPF_FLOAT32, 1003.9, 4.9, -3.9), expected, (opf_tolerance){OPF_TOL_FP16, 0, 0}, arena).holds);
    assert_int_equal(opf_compare(TENSOR(OPF_FLOAT32, 1004.1, 1, 0), expected, (opf_tolerance){OPF_TOL_FP16, 0, 0}, arena).differing, 1);
    /* int8: the mean error, whatever single elements do */
    assert_true(opf_compare(TENSOR(OPF_FLOAT32, 1059, 1, 0), expected, (opf_tolerance){OPF_TOL_INT8, 0, 0}, arena).holds);
    assert_false(opf_compare(TENSOR(OPF_FLOAT32, 1061, 1, 0), expected, (opf_tolerance){OPF_TOL_INT8, 0, 0}, arena).holds);
}

static void nan_and_infinity(void **state) {
    (void)state;
    opf_tensor *expected = TENSOR(OPF_FLOAT32, NAN, INFINITY, -INFINITY, 0.0);
    assert_true(opf_compare(TENSOR(OPF_FLOAT32, -NAN, INFINITY, -INFINITY, -0.0), expected, exact, arena).holds);
    opf_comparison c = opf_compare(TENSOR(OPF_FLOAT32, 1, -INFINITY, 3e38, NAN), expected, (opf_tolerance){OPF_TOL_ELEMENT, 1, 1e38}, arena);
    assert_int_equal(c.differing, 4);
    assert_true(isinf(c.max_absolute) && isinf(c.max_ulp));
    assert_false(opf_compare(TENSOR(OPF_FLOAT32, NAN, INFINITY, -INFINITY, NAN), expected, (opf_tolerance){OPF_TOL_INT8, 0, 0}, arena).holds);
}

static void steps_of_each_type(void **state) {
    (void)state;
    assert_true(opf_compare(TENSOR(OPF_FLOAT32, 1 + 0x1p-22), TENSOR(OPF_FLOAT32, 1), exact, arena).max_ulp == 2);
    assert_true(opf_compare(TENSOR(OPF_FLOAT16, 1 + 0x1p-9), TENSOR(OPF_FLOAT16, 1), exact, arena).max_ulp == 2);
    assert_true(opf_compare(TENSOR(OPF_BFLOAT16, 1 + 0x1p-6), TENSOR(OPF_BFLOAT16, 1), exact, arena).max_ulp == 2);
    assert_true(opf_compare(TENSOR(OPF_FLOAT64, 1 + 0x1p-51), TENSOR(OPF_FLOAT64, 1), exact, arena).max_ulp == 2);
    assert_true(opf_compare(TENSOR(OPF_FLOAT32, -0x1p-149), TENSOR(OPF_FLOAT32, 0x1p-149), exact, arena).max_ulp == 2); /* across zero */
    assert_true(opf_compare(TENSOR(OPF_FLOAT32, 1), TENSOR(OPF_FLOAT32, 1), exact, arena).worst == -1);
}

static void integers_and_strings_are_equal_or_not(void **state) {
    (void)state;
    opf_comparison c = opf_compare(TENSOR(OPF_INT64, 5, 7, -1), TENSOR(OPF_INT64, 5, 9, -1), (opf_tolerance){OPF_TOL_ELEMENT, 1, 100}, arena);
    assert_false(c.holds);
    assert_int_equal(c.differing, 1);
    assert_int_equal(c.worst, 1);
    assert_true(c.max_absolute == 2);
    int64_t big[] = {INT64_MAX}, next[] = {INT64_MAX - 1}, one = 1;
    c = opf_compare(opf_tensor_new(arena, OPF_INT64, 1, &one, big, NULL), opf_tensor_new(arena, OPF_INT64, 1, &one, next, NULL), exact, arena);
    assert_false(c.holds); /* one double, two integers */
    assert_false(opf_compare(TENSOR(OPF_BOOL, 1), TENSOR(OPF_BOOL, 0), exact, arena).holds);
    const char *a[] = {"x", "y"}, *b[] = {"x", "z"};
    int64_t two = 2;
    c = opf_compare(opf_tensor_new(arena, OPF_STRING, 1, &two, a, NULL), opf_tensor_new(arena, OPF_STRING, 1, &two, b, NULL), exact, arena);
    assert_int_equal(c.differing, 1);
    assert_int_equal(c.worst, 1);
    assert_true(opf_compare(opf_tensor_new(arena, OPF_STRING, 1, &two, a, NULL), opf_tensor_new(arena, OPF_STRING, 1, &two, a, NULL), exact, arena).holds);
}

static void types_must_match(void **state) {
    (void)state;
    opf_comparison c = opf_compare(TENSOR(OPF_FLOAT32, 1, 2), TENSOR(OPF_FLOAT32, 1, 2, 3), exact, arena);
    assert_false(c.holds);
    assert_string_equal(c.why, "it is float32[2] and float32[3] is expected");
    assert_string_equal(opf_compare(TENSOR(OPF_INT32, 1), TENSOR(OPF_INT64, 1), exact, arena).why, "it is int32[1] and int64[1] is expected");
    int64_t none = 0;
    assert_true(opf_compare(tensor(OPF_FLOAT32, none, NULL), tensor(OPF_FLOAT32, none, NULL), exact, arena).holds);
}

static opf_tensor *shaped(int rank, const int64_t *dims, const double *values) {
    opf_tensor *made = opf_tensor_zeros(arena, OPF_FLOAT32, rank, dims, NULL);
    for (int64_t i = 0; i < made->elements; i++) opf_dtype_store(OPF_FLOAT32, (void *)(uintptr_t)made->data, (size_t)i, values[i]);
    return made;
}

static void greatest_entries_of_distributions(void **state) {
    (void)state;
    static const int64_t rows[] = {2, 3}, image[] = {1, 3, 1, 1};
    static const double expected[] = {0.2, 0.5, 0.3, 0.34, 0.33, 0.33}, near[] = {0.2, 0.5, 0.3, 0.3, 0.35, 0.35}, other[] = {0.5, 0.2, 0.3, 0.34, 0.33, 0.33};
    opf_tolerance loose = {OPF_TOL_ELEMENT, 0, 1};
    opf_comparison c = opf_compare(shaped(2, rows, near), shaped(2, rows, expected), loose, arena);
    assert_true(c.argmax_checked && c.argmax_agrees && c.holds); /* not to be told apart within the tolerance */
    c = opf_compare(shaped(2, rows, near), shaped(2, rows, expected), (opf_tolerance){OPF_TOL_INT8, 0, 0}, arena);
    assert_true(c.argmax_checked && !c.argmax_agrees && !c.holds);
    c = opf_compare(shaped(2, rows, other), shaped(2, rows, expected), (opf_tolerance){OPF_TOL_ELEMENT, 0, 0.29}, arena);
    assert_true(c.argmax_checked && !c.argmax_agrees && !c.holds);
    c = opf_compare(shaped(4, image, expected), shaped(4, image, expected), loose, arena);
    assert_true(c.argmax_checked && c.argmax_agrees); /* the last axis with more than one element */
    static const double logits[] = {3, -1, 2, 0, 0, 1};
    assert_false(opf_compare(shaped(2, rows, logits), shaped(2, rows, logits), loose, arena).argmax_checked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(elements_within_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(rules_of_the_model_collection, setup, teardown),
        cmocka_unit_test_setup_teardown(nan_and_infinity, setup, teardown),
        cmocka_unit_test_setup_teardown(steps_of_each_type, setup, teardown),
        cmocka_unit_test_setup_teardown(integers_and_strings_are_equal_or_not, setup, teardown),
        cmocka_unit_test_setup_teardown(types_must_match, setup, teardown),
        cmocka_unit_test_setup_teardown(greatest_entries_of_distributions, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
