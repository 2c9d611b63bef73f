/* Scalar semantics: integers never trap, NaN spreads through min and max, halves round to even; what constructors fold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "expr/expr.h"

static void integers_never_trap(void **state) {
    (void)state;
    static const struct { opf_scalar_op op; opf_dtype dtype; int64_t a, b, result; } rows[] = {
        {OPF_OP_DIV, OPF_INT32, 7, -2, -3}, {OPF_OP_DIV, OPF_INT32, 7, 0, 0}, {OPF_OP_DIV, OPF_INT32, INT32_MIN, -1, INT32_MIN},
        {OPF_OP_DIV, OPF_INT64, INT64_MIN, -1, INT64_MIN}, {OPF_OP_DIV, OPF_UINT64, -1, 2, INT64_MAX},
        {OPF_OP_FLOORDIV, OPF_INT64, -7, 2, -4}, {OPF_OP_FLOORDIV, OPF_INT64, 7, 0, 0}, {OPF_OP_FLOORDIV, OPF_INT64, 7, -2, -4},
        {OPF_OP_FLOORMOD, OPF_INT64, -7, 3, 2}, {OPF_OP_FLOORMOD, OPF_INT64, 7, -3, -2}, {OPF_OP_FLOORMOD, OPF_INT8, -128, -1, 0},
        {OPF_OP_FLOORMOD, OPF_INT64, 5, 0, 0}, {OPF_OP_FMOD, OPF_INT64, -7, 3, -1}, {OPF_OP_FMOD, OPF_INT64, INT64_MIN, -1, 0},
        {OPF_OP_ADD, OPF_INT8, 127, 1, -128}, {OPF_OP_ADD, OPF_UINT8, 255, 1, 0}, {OPF_OP_MUL, OPF_INT64, INT64_MAX, 2, -2},
        {OPF_OP_NEG, OPF_INT8, -128, 0, -128}, {OPF_OP_ABS, OPF_INT16, -5, 0, 5}, {OPF_OP_ABS, OPF_INT8, -128, 0, -128},
        {OPF_OP_SIGN, OPF_INT32, -9, 0, -1}, {OPF_OP_SIGN, OPF_UINT64, -9, 0, 1}, {OPF_OP_BITNOT, OPF_UINT8, 15, 0, 240},
        {OPF_OP_SHL, OPF_UINT8, 1, 7, 128}, {OPF_OP_SHL, OPF_UINT8, 1, 8, 0}, {OPF_OP_SHR, OPF_INT32, -8, 1, -4}, {OPF_OP_SHR, OPF_UINT64, -1, 63, 1},
        {OPF_OP_SHR, OPF_UINT32, 8, 40, 0}, {OPF_OP_POW, OPF_INT32, 3, 4, 81}, {OPF_OP_POW, OPF_INT32, 2, 32, 0}, {OPF_OP_POW, OPF_INT64, 2, -1, 0},
        {OPF_OP_POW, OPF_INT64, -1, -3, -1}, {OPF_OP_LT, OPF_UINT64, 1, -1, 1}, {OPF_OP_LT, OPF_INT64, 1, -1, 0}, {OPF_OP_MAX, OPF_UINT64, 1, -1, -1},
        {OPF_OP_AND, OPF_BOOL, 1, 0, 0}, {OPF_OP_XOR, OPF_BOOL, 1, 1, 0}, {OPF_OP_NOT, OPF_BOOL, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t result = opf_scalar_eval_int(rows[i].op, rows[i].dtype, rows[i].a, rows[i].b);
        if (result != rows[i].result) fail_msg("row %zu (%s): %lld for %lld", i, opf_scalar_ops[rows[i].op].name, (long long)result, (long long)rows[i].result);
    }
}

static void floats_follow_the_rules(void **state) {
    (void)state;
    assert_true(isnan(opf_scalar_eval(OPF_OP_MAX, 1, NAN)));
    assert_true(isnan(opf_scalar_eval(OPF_OP_MIN, NAN, 1)));
    assert_false(signbit(opf_scalar_eval(OPF_OP_MAX, -0.0, 0.0)));
    assert_true(signbit(opf_scalar_eval(OPF_OP_MIN, 0.0, -0.0)));
    assert_true(opf_scalar_eval(OPF_OP_ROUND, 2.5, 0) == 2);
    assert_true(opf_scalar_eval(OPF_OP_ROUND, -3.5, 0) == -4);
    assert_true(isnan(opf_scalar_eval(OPF_OP_SIGN, NAN, 0)));
    assert_true(opf_scalar_eval(OPF_OP_FLOORMOD, -1, 3) == 2);
    assert_true(opf_scalar_eval(OPF_OP_FMOD, -1, 3) == -1);
    assert_true(opf_scalar_eval(OPF_OP_NE, NAN, NAN) == 1);
    assert_true(opf_scalar_eval(OPF_OP_LE, NAN, 1) == 0);
}

static void the_table_is_whole(void **state) {
    (void)state;
    for (int op = 0; op < OPF_OP_COUNT; op++) {
        assert_non_null(opf_scalar_ops[op].name);
        assert_true(opf_scalar_ops[op].arity == 1 || opf_scalar_ops[op].arity == 2);
        assert_true(opf_scalar_ops[op].flops >= 1);
        assert_int_equal(opf_scalar_ops[op].arity == 2, op >= OPF_OP_ADD);
    }
}

static const opf_expr *load(opf_pool *pool, opf_dtype dtype) { return opf_load(pool, dtype, 0, 0, NULL); }

static void constants_fold_in_their_type(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_pool *pool = opf_pool_new(arena);
    const opf_expr *third = opf_binary(pool, OPF_OP_DIV, opf_real(pool, OPF_FLOAT32, 1), opf_real(pool, OPF_FLOAT32, 3));
    assert_int_equal(third->kind, OPF_EXPR_FLOAT);
    assert_true(third->real == (double)(1.0f / 3.0f));
    assert_ptr_equal(opf_real(pool, OPF_FLOAT32, 1.0 / 3.0), third);
    assert_ptr_not_equal(opf_real(pool, OPF_FLOAT64, 1.0 / 3.0), third);
    assert_ptr_not_equal(opf_real(pool, OPF_FLOAT32, 0.0), opf_real(pool, OPF_FLOAT32, -0.0));
    assert_ptr_equal(opf_real(pool, OPF_FLOAT32, NAN), opf_real(pool, OPF_FLOAT32, -NAN));
    /* a library function's own rounding is not ours to decide */
    assert_int_equal(opf_unary(pool, OPF_OP_EXP, opf_real(pool, OPF_FLOAT32, 1))->kind, OPF_EXPR_UNARY);
    assert_true(opf_is_value(opf_binary(pool, OPF_OP_ADD, opf_int_of(pool, OPF_UINT8, 200), opf_int_of(pool, OPF_UINT8, 100)), 44));
    assert_true(opf_is_value(opf_cast(pool, OPF_INT8, opf_real(pool, OPF_FLOAT32, 200.7)), -56));
    assert_true(opf_cast(pool, OPF_FLOAT32, opf_int(pool, (1 << 24) + 1))->real == 16777216.0);
    assert_true(opf_is_value(opf_cast(pool, OPF_BOOL, opf_real(pool, OPF_FLOAT32, NAN)), 1));
    opf_arena_free(arena);
}

static void floats_are_not_rearranged(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_pool *pool = opf_pool_new(arena);
    const opf_expr *x = load(pool, OPF_FLOAT32), *zero = opf_real(pool, OPF_FLOAT32, 0), *one = opf_real(pool, OPF_FLOAT32, 1);
    assert_ptr_not_equal(opf_binary(pool, OPF_OP_ADD, x, zero), x);
    assert_ptr_not_equal(opf_binary(pool, OPF_OP_MUL, x, zero), zero);
    assert_ptr_not_equal(opf_binary(pool, OPF_OP_MUL, x, one), x);
    assert_int_equal(opf_binary(pool, OPF_OP_EQ, x, x)->kind, OPF_EXPR_BINARY); /* false for NaN */
    const opf_expr *less = opf_binary(pool, OPF_OP_LT, x, zero);
    assert_int_equal(opf_unary(pool, OPF_OP_NOT, less)->op, OPF_OP_NOT); /* not >=, because of NaN */
    assert_ptr_equal(opf_unary(pool, OPF_OP_NOT, opf_unary(pool, OPF_OP_NOT, less)), less);
    opf_arena_free(arena);
}

static void casts_collapse_where_nothing_is_lost(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_pool *pool = opf_pool_new(arena);
    const opf_expr *half = load(pool, OPF_FLOAT16), *byte = load(pool, OPF_UINT8), *number = load(pool, OPF_FLOAT32), *wide = load(pool, OPF_INT64);
    assert_ptr_equal(opf_cast(pool, OPF_FLOAT16, opf_cast(pool, OPF_FLOAT32, half)), half);
    assert_ptr_equal(opf_cast(pool, OPF_UINT8, opf_cast(pool, OPF_FLOAT32, byte)), byte);
    assert_ptr_equal(opf_cast(pool, OPF_UINT8, opf_cast(pool, OPF_INT32, byte)), byte);
    assert_ptr_not_equal(opf_cast(pool, OPF_FLOAT32, opf_cast(pool, OPF_FLOAT16, number)), number);
    assert_ptr_not_equal(opf_cast(pool, OPF_INT64, opf_cast(pool, OPF_INT32, wide)), wide);
    assert_ptr_equal(opf_cast(pool, OPF_INT8, opf_cast(pool, OPF_INT32, wide)), opf_cast(pool, OPF_INT8, wide));
    const opf_expr *size = opf_sym(pool, opf_symbol_new(pool, "N", 0, INT32_MAX, 8));
    assert_ptr_equal(opf_cast(pool, OPF_INT64, opf_cast(pool, OPF_INT32, size)), size);
    opf_arena_free(arena);
}

static void data_may_wrap_around(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_pool *pool = opf_pool_new(arena);
    const opf_expr *x = load(pool, OPF_INT64), *two = opf_int(pool, 2), *one = opf_int(pool, 1);
    const opf_expr *doubled = opf_mul(pool, x, two);
    assert_ptr_not_equal(opf_floordiv(pool, doubled, two), x);
    assert_int_equal(opf_binary(pool, OPF_OP_LT, x, opf_add(pool, x, one))->kind, OPF_EXPR_BINARY); /* false for the greatest */
    assert_ptr_equal(opf_sub(pool, opf_add(pool, x, one), one), x);
    /* constants that overflow are kept, so that a dim's value can be refused */
    const opf_expr *huge = opf_mul(pool, opf_int(pool, INT64_C(1) << 40), opf_int(pool, INT64_C(1) << 40));
    int64_t value;
    assert_false(opf_is_int(huge, NULL));
    assert_false(opf_dim_eval(huge, NULL, &value));
    assert_false(opf_dim_eval(opf_add(pool, huge, one), NULL, &value));
    opf_arena_free(arena);
}

static void dims_have_values(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_pool *pool = opf_pool_new(arena);
    const opf_expr *h = opf_sym(pool, opf_symbol_new(pool, "h.1", 0, INT64_MAX, 224));
    assert_string_equal(opf_pool_symbol(pool, 0)->name, "h_1");
    assert_string_equal(opf_symbol_new(pool, "h 1", 0, 9, 1)->name, "h_1_1");
    assert_string_equal(opf_symbol_new(pool, "1st", 0, 9, 1)->name, "_1st");
    /* a Resize's size: floor(float32(h) * 1.5) */
    const opf_expr *scaled = opf_binary(pool, OPF_OP_MUL, opf_cast(pool, OPF_FLOAT32, h), opf_real(pool, OPF_FLOAT32, 1.5));
    const opf_expr *size = opf_cast(pool, OPF_INT64, opf_unary(pool, OPF_OP_FLOOR, scaled));
    int64_t value = 0, symbols[] = {15, 0, 0};
    assert_true(opf_dim_eval(size, symbols, &value));
    assert_int_equal(value, 22);
    assert_int_equal(opf_dim_nominal(size), 336);
    symbols[0] = INT64_MAX;
    assert_false(opf_dim_eval(opf_mul(pool, h, opf_int(pool, 2)), symbols, &value));
    symbols[0] = 0;
    assert_false(opf_dim_eval(opf_floordiv(pool, opf_int(pool, 7), h), symbols, &value));
    /* an overflow on the side that is not taken does not count */
    const opf_expr *guarded = opf_select(pool, opf_binary(pool, OPF_OP_LT, h, opf_int(pool, 1)), opf_int(pool, 5), opf_floordiv(pool, opf_int(pool, 7), h));
    assert_true(opf_dim_eval(guarded, symbols, &value));
    assert_int_equal(value, 5);
    opf_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_never_trap), cmocka_unit_test(floats_follow_the_rules), cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(constants_fold_in_their_type), cmocka_unit_test(floats_are_not_rearranged),
        cmocka_unit_test(casts_collapse_where_nothing_is_lost), cmocka_unit_test(data_may_wrap_around), cmocka_unit_test(dims_have_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
