/* The pool and walks at size: deep chains, wide sharing, long sums, many nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "base/clock.h"
#include "expr/expr.h"

static const opf_expr *shift_variable(opf_pool *pool, const opf_expr *leaf, void *data) {
    (void)data;
    return leaf->kind == OPF_EXPR_VAR ? opf_add(pool, leaf, opf_int(pool, 1)) : NULL;
}

static bool count_nodes(const opf_expr *e, void *data) {
    (void)e;
    ++*(int *)data;
    return true;
}

static bool stop_at_third(const opf_expr *e, void *data) {
    (void)e;
    return ++*(int *)data < 3;
}

static void equal_expressions_are_one(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_pool *pool = opf_pool_new(arena);
    const opf_expr *a = opf_var(pool, 0), *b = opf_var(pool, 1), *two = opf_int(pool, 2);
    const opf_expr *one_way = opf_mul(pool, opf_add(pool, a, b), opf_sub(pool, a, b));
    const opf_expr *other = opf_sub(pool, opf_mul(pool, a, a), opf_mul(pool, b, b));
    assert_ptr_equal(one_way, other);
    assert_ptr_equal(opf_add(pool, a, a), opf_mul(pool, two, a));
    assert_ptr_equal(opf_sub(pool, opf_add(pool, b, two), b), two);
    assert_true(opf_is_value(opf_mul(pool, a, opf_int(pool, 0)), 0));
    uint32_t count = opf_pool_count(pool);
    for (uint32_t i = 0; i < 1000; i++) opf_mul(pool, opf_add(pool, a, b), opf_sub(pool, a, b));
    assert_int_equal(opf_pool_count(pool), count);
    assert_true(opf_expr_vars(one_way) == 3);
    assert_true(opf_expr_has_var(one_way, 1));
    assert_false(opf_expr_has_var(one_way, 2));
    const opf_expr *far = opf_add(pool, opf_var(pool, 70), a);
    assert_true(opf_expr_has_var(far, 70));
    assert_false(opf_expr_has_var(far, 71));
    const opf_expr *variables[71] = {[70] = two};
    assert_ptr_equal(opf_expr_bind(pool, far, 71, variables), opf_add(pool, a, two));
    opf_arena_free(arena);
}

/* 2^60 paths, 60 nodes. */
static void shared_parts_are_visited_once(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_pool *pool = opf_pool_new(arena);
    const opf_expr *v = opf_var(pool, 0), *e = opf_load(pool, OPF_FLOAT32, 0, 1, &v);
    for (int i = 0; i < 60; i++) e = opf_binary(pool, OPF_OP_ADD, e, e);
    int count = 0;
    assert_true(opf_expr_visit(pool, e, count_nodes, &count));
    assert_int_equal(count, 62);
    count = 0;
    assert_false(opf_expr_visit(pool, e, stop_at_third, &count));
    assert_int_equal(count, 3);
    const opf_expr *mapped = opf_expr_map(pool, e, shift_variable, NULL);
    assert_ptr_not_equal(mapped, e);
    count = 0;
    opf_expr_visit(pool, mapped, count_nodes, &count);
    assert_int_equal(count, 64);
    opf_text text = {0};
    opf_expr_print(e, NULL, &text);
    assert_string_equal(opf_text_string(&text), "<float32 expression of 4294967295 nodes>");
    opf_text_free(&text);
    opf_arena_free(arena);
}

static void deep_chains_need_no_stack(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_pool *pool = opf_pool_new(arena);
    const opf_expr *v = opf_var(pool, 0), *e = opf_load(pool, OPF_FLOAT32, 0, 1, &v), *half = opf_real(pool, OPF_FLOAT32, 0.5);
    for (int i = 0; i < 300000; i++) e = opf_binary(pool, i % 2 ? OPF_OP_ADD : OPF_OP_MUL, e, half);
    const opf_expr *extents[] = {opf_int(pool, 8)};
    assert_ptr_equal(opf_expr_simplify(pool, e, (opf_domain){1, extents}), e);
    const opf_expr *zero = opf_int(pool, 0);
    assert_false(opf_expr_has_var(opf_expr_bind(pool, e, 1, &zero), 0));
    /* integers that are no polynomial */
    const opf_expr *n = opf_sym(pool, opf_symbol_new(pool, "N", 0, INT64_MAX, 8)), *d = n;
    for (int i = 0; i < 20000; i++) d = opf_add(pool, opf_floordiv(pool, opf_add(pool, d, d), opf_int(pool, 3)), opf_int(pool, 1));
    int64_t value, eight = 8;
    assert_true(opf_dim_eval(d, &eight, &value));
    assert_int_equal(value, 3);
    opf_arena_free(arena);
}

/* Sums and products beyond the limits stay right, and cost no more than their length a step. */
static void long_sums_and_products(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_pool *pool = opf_pool_new(arena);
    const opf_expr *total = opf_int(pool, 0), *power = opf_int(pool, 1), *variables[1000], *zeros[1000];
    for (int i = 0; i < 1000; i++) {
        variables[i] = opf_var(pool, i);
        zeros[i] = opf_int(pool, i);
        total = opf_add(pool, total, opf_mul(pool, variables[i], opf_int(pool, 2)));
    }
    assert_true(opf_is_value(opf_expr_bind(pool, total, 1000, zeros), 999000));
    const opf_expr *factor = opf_add(pool, variables[2], variables[3]);
    for (int i = 0; i < 50; i++) power = opf_mul(pool, power, i % 2 ? factor : variables[0]);
    const opf_expr *ones[] = {opf_int(pool, -1), opf_int(pool, 1), opf_int(pool, 1), opf_int(pool, 0)};
    assert_true(opf_is_value(opf_expr_bind(pool, power, 4, ones), -1));
    const opf_expr *extents[] = {opf_int(pool, 5), opf_int(pool, 5), opf_int(pool, 5), opf_int(pool, 5)};
    const opf_expr *simple = opf_expr_simplify(pool, power, (opf_domain){4, extents});
    assert_true(opf_is_value(opf_expr_bind(pool, simple, 4, ones), -1));
    assert_true(opf_pool_count(pool) < 400000);
    opf_arena_free(arena);
}

static void a_million_nodes(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    opf_pool *pool = opf_pool_new(arena);
    const opf_expr *v = opf_var(pool, 0), *w = opf_var(pool, 1), *extents[] = {opf_int(pool, 1 << 20), opf_int(pool, 64)};
    int64_t start = opf_clock_now();
    for (int64_t i = 1; opf_pool_count(pool) < 1000000; i++) {
        const opf_expr *offset = opf_add(pool, opf_mul(pool, v, opf_int(pool, 64)), opf_add(pool, w, opf_int(pool, i * 64)));
        const opf_expr *row = opf_expr_simplify(pool, opf_floordiv(pool, offset, opf_int(pool, 64)), (opf_domain){2, extents});
        assert_ptr_equal(row, opf_add(pool, v, opf_int(pool, i)));
    }
    double seconds = (double)(opf_clock_now() - start) * 1e-9;
    assert_true(seconds < 60); /* about one second alone on a machine; a quadratic step would take hours */
    assert_true(opf_arena_bytes(arena) < (size_t)400 << 20);
    opf_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_expressions_are_one), cmocka_unit_test(shared_parts_are_visited_once), cmocka_unit_test(deep_chains_need_no_stack),
        cmocka_unit_test(long_sums_and_products), cmocka_unit_test(a_million_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
