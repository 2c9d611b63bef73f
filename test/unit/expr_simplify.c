/* Index expressions as rearranging operators make them must come out as clean affine indices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expr/expr.h"

typedef struct bench { opf_arena *arena; opf_pool *pool; opf_text text; } bench;

static int setup(void **state) {
    bench *b = calloc(1, sizeof *b);
    b->arena = opf_arena_new();
    b->pool = opf_pool_new(b->arena);
    *state = b;
    return 0;
}

static int teardown(void **state) {
    bench *b = *state;
    opf_text_free(&b->text);
    opf_arena_free(b->arena);
    free(b);
    return 0;
}

static const opf_expr *size(bench *b, const char *name) { return opf_sym(b->pool, opf_symbol_new(b->pool, name, 0, INT64_MAX, 64)); }
static const opf_expr *num(bench *b, int64_t value) { return opf_int(b->pool, value); }

static const char *show(bench *b, const opf_expr *e) {
    opf_text_clear(&b->text);
    opf_expr_print(e, NULL, &b->text);
    return opf_text_string(&b->text);
}

/* Row-major offset of `indices` in a tensor of `dims`. */
static const opf_expr *linear(bench *b, int rank, const opf_expr *const *dims, const opf_expr *const *indices) {
    const opf_expr *offset = num(b, 0);
    for (int i = 0; i < rank; i++) offset = opf_add(b->pool, opf_mul(b->pool, offset, dims[i]), indices[i]);
    return offset;
}

/* The indices of an offset, as Reshape's load makes them. */
static void split(bench *b, int rank, const opf_expr *const *dims, const opf_expr *offset, const opf_expr **indices) {
    for (int i = rank - 1; i >= 0; i--) {
        indices[i] = i ? opf_floormod(b->pool, offset, dims[i]) : offset;
        offset = opf_floordiv(b->pool, offset, dims[i]);
    }
}

static void vars(bench *b, int count, const opf_expr **out) {
    for (int i = 0; i < count; i++) out[i] = opf_var(b->pool, i);
}

#define DIMS(...) ((const opf_expr *[]){__VA_ARGS__})
#define assert_shows(b, e, text) assert_string_equal(show(b, e), text)

static void reshape_splits_and_merges_back(void **state) {
    bench *b = *state;
    const opf_expr *n = size(b, "N"), *v[4], *at[4], *back[4];
    const opf_expr *flat[] = {n, num(b, 768)}, *heads[] = {n, num(b, 12), num(b, 64)};
    vars(b, 3, v);
    /* [N,12,64] read as [N,768] */
    split(b, 2, flat, linear(b, 3, heads, v), at);
    opf_domain domain = {3, heads};
    assert_shows(b, opf_expr_simplify(b->pool, at[0], domain), "v0");
    assert_shows(b, opf_expr_simplify(b->pool, at[1], domain), "v1*64 + v2");
    /* [N,768] read as [N,12,64] and back */
    split(b, 3, heads, linear(b, 2, flat, v), at);
    domain = (opf_domain){2, flat};
    assert_shows(b, opf_expr_simplify(b->pool, at[0], domain), "v0");
    assert_shows(b, opf_expr_simplify(b->pool, at[1], domain), "floordiv(v1, 64)");
    assert_shows(b, opf_expr_simplify(b->pool, at[2], domain), "floormod(v1, 64)");
    split(b, 2, flat, linear(b, 3, heads, at), back);
    assert_ptr_equal(opf_expr_simplify(b->pool, back[0], domain), v[0]);
    assert_ptr_equal(opf_expr_simplify(b->pool, back[1], domain), v[1]);
    assert_shows(b, opf_expr_simplify(b->pool, linear(b, 3, heads, at), domain), "v0*768 + v1");
}

static void transpose_between_reshapes(void **state) {
    bench *b = *state;
    /* attention: [B,S,768] → [B,S,12,64] → [B,12,S,64]; the read index as a function of the last */
    const opf_expr *batch = size(b, "B"), *length = size(b, "S"), *v[4], *at[4];
    vars(b, 4, v);
    const opf_expr *out[] = {batch, num(b, 12), length, num(b, 64)}, *middle[] = {batch, length, num(b, 12), num(b, 64)};
    const opf_expr *in[] = {batch, length, num(b, 768)}, *swapped[] = {v[0], v[2], v[1], v[3]};
    split(b, 3, in, linear(b, 4, middle, swapped), at);
    opf_domain domain = {4, out};
    assert_shows(b, opf_expr_simplify(b->pool, at[0], domain), "v0");
    assert_shows(b, opf_expr_simplify(b->pool, at[1], domain), "v2");
    assert_shows(b, opf_expr_simplify(b->pool, at[2], domain), "v1*64 + v3");
}

static void splits_by_a_symbol(void **state) {
    bench *b = *state;
    const opf_expr *a = size(b, "A"), *s = size(b, "S"), *v[2], *at[2];
    vars(b, 2, v);
    const opf_expr *pair[] = {a, s}, *flat[] = {opf_mul(b->pool, a, s)};
    split(b, 1, flat, linear(b, 2, pair, v), at);
    assert_shows(b, opf_expr_simplify(b->pool, at[0], (opf_domain){2, pair}), "v0*S + v1");
    split(b, 2, pair, linear(b, 2, pair, v), at);
    assert_ptr_equal(opf_expr_simplify(b->pool, at[0], (opf_domain){2, pair}), v[0]);
    assert_ptr_equal(opf_expr_simplify(b->pool, at[1], (opf_domain){2, pair}), v[1]);
    split(b, 2, pair, v[0], at);
    assert_ptr_equal(opf_expr_simplify(b->pool, linear(b, 2, pair, at), (opf_domain){1, flat}), v[0]);
    /* without a domain, multiples still come out and the rest stays */
    assert_shows(b, opf_floordiv(b->pool, linear(b, 2, pair, v), s), "v0 + floordiv(v1, S)");
    assert_shows(b, opf_floormod(b->pool, linear(b, 2, pair, v), s), "floormod(v1, S)");
}

static void channel_shuffle(void **state) {
    bench *b = *state;
    /* [N,C,H,W] → [N,4,C/4,H,W] → transpose → [N,C,H,W] with C = 240 */
    const opf_expr *n = size(b, "N"), *h = size(b, "H"), *w = size(b, "W"), *v[5], *at[5], *grouped[5], *source[4];
    vars(b, 4, v);
    const opf_expr *out[] = {n, num(b, 240), h, w}, *split_dims[] = {n, num(b, 60), num(b, 4), h, w}, *in_dims[] = {n, num(b, 4), num(b, 60), h, w};
    split(b, 5, split_dims, linear(b, 4, out, v), at);
    for (int i = 0; i < 5; i++) grouped[i] = at[i == 1 ? 2 : i == 2 ? 1 : i];
    split(b, 4, out, linear(b, 5, in_dims, grouped), source);
    opf_domain domain = {4, out};
    assert_shows(b, opf_expr_simplify(b->pool, source[0], domain), "v0");
    assert_shows(b, opf_expr_simplify(b->pool, source[1], domain), "floordiv(v1, 4) + floormod(v1, 4)*60");
    assert_shows(b, opf_expr_simplify(b->pool, source[2], domain), "v2");
    assert_shows(b, opf_expr_simplify(b->pool, source[3], domain), "v3");
}

static void slices_with_steps(void **state) {
    bench *b = *state;
    const opf_expr *n = size(b, "N"), *v = opf_var(b->pool, 0);
    /* x[1::2][::3] → 6*v + 1 */
    const opf_expr *second = opf_add(b->pool, opf_mul(b->pool, v, num(b, 2)), num(b, 1));
    const opf_expr *variables[] = {opf_mul(b->pool, v, num(b, 3))};
    assert_shows(b, opf_expr_bind(b->pool, second, 1, variables), "v0*6 + 1");
    /* reversing twice */
    const opf_expr *reversed = opf_sub(b->pool, opf_sub(b->pool, n, num(b, 1)), v);
    variables[0] = reversed;
    assert_ptr_equal(opf_expr_bind(b->pool, reversed, 1, variables), v);
    /* the number of elements of a strided slice, halved twice */
    const opf_expr *half = opf_ceildiv(b->pool, n, num(b, 2));
    assert_shows(b, half, "floordiv(N + 1, 2)");
    assert_shows(b, opf_ceildiv(b->pool, half, num(b, 2)), "floordiv(N + 3, 4)");
}

static void division_by_symbolic_step(void **state) {
    bench *b = *state;
    const opf_expr *s = size(b, "s"), *n = size(b, "n"), *i = opf_var(b->pool, 0), *j = opf_var(b->pool, 1);
    const opf_expr *sum = opf_add(b->pool, opf_mul(b->pool, i, s), j), *extents[] = {n, s};
    opf_domain domain = {2, extents};
    assert_ptr_equal(opf_expr_simplify(b->pool, opf_floordiv(b->pool, sum, s), domain), i);
    assert_ptr_equal(opf_expr_simplify(b->pool, opf_floormod(b->pool, sum, s), domain), j);
    const opf_expr *t = size(b, "t"), *st = opf_mul(b->pool, s, t);
    assert_shows(b, opf_expr_simplify(b->pool, opf_floordiv(b->pool, sum, st), domain), "floordiv(v0, t)");
    assert_shows(b, opf_expr_simplify(b->pool, opf_floormod(b->pool, sum, st), domain), "floormod(v0, t)*s + v1");
}

static void division_by_sums(void **state) {
    bench *b = *state;
    /* Feature maps of symbolic size behind a strided convolution: extents (H-3)//2+1 and (W-3)//2+1. */
    const opf_expr *n = size(b, "N"), *h = size(b, "H"), *w = size(b, "W"), *v[4], *at[4], *two = num(b, 2), *one = num(b, 1);
    const opf_expr *oh = opf_add(b->pool, opf_floordiv(b->pool, opf_sub(b->pool, h, num(b, 3)), two), one);
    const opf_expr *ow = opf_add(b->pool, opf_floordiv(b->pool, opf_sub(b->pool, w, num(b, 3)), two), one);
    vars(b, 4, v);
    const opf_expr *map[] = {n, num(b, 32), oh, ow}, *groups[] = {n, num(b, 8), num(b, 4), opf_mul(b->pool, oh, ow)};
    split(b, 4, map, linear(b, 4, map, v), at);
    for (int i = 0; i < 4; i++) assert_ptr_equal(opf_expr_simplify(b->pool, at[i], (opf_domain){4, map}), v[i]);
    split(b, 4, groups, linear(b, 4, map, v), at);
    opf_domain domain = {4, map};
    assert_ptr_equal(opf_expr_simplify(b->pool, at[0], domain), v[0]);
    assert_shows(b, opf_expr_simplify(b->pool, at[1], domain), "floordiv(v1, 4)");
    assert_shows(b, opf_expr_simplify(b->pool, at[2], domain), "floormod(v1, 4)");
    assert_ptr_equal(opf_expr_simplify(b->pool, at[3], domain), opf_add(b->pool, opf_mul(b->pool, v[2], ow), v[3]));
    /* group norm: the tail of several axes as one, by a factor of the channels */
    const opf_expr *rest[] = {n, num(b, 8), opf_mul(b->pool, num(b, 4), opf_mul(b->pool, oh, ow))};
    split(b, 3, rest, linear(b, 4, map, v), at);
    assert_ptr_equal(opf_expr_simplify(b->pool, at[0], domain), v[0]);
    assert_shows(b, opf_expr_simplify(b->pool, at[1], domain), "floordiv(v1, 4)");
}

static void nested_divisions(void **state) {
    bench *b = *state;
    const opf_expr *x = opf_var(b->pool, 0), *s = size(b, "S"), *four = num(b, 4), *six = num(b, 6);
    assert_shows(b, opf_floordiv(b->pool, opf_floordiv(b->pool, x, four), six), "floordiv(v0, 24)");
    assert_shows(b, opf_floordiv(b->pool, opf_floordiv(b->pool, x, s), six), "floordiv(v0, S*6)");
    assert_shows(b, opf_floordiv(b->pool, opf_floormod(b->pool, x, num(b, 24)), six), "floormod(floordiv(v0, 6), 4)");
    assert_shows(b, opf_floormod(b->pool, opf_floormod(b->pool, x, num(b, 24)), six), "floormod(v0, 6)");
    assert_shows(b, opf_floormod(b->pool, opf_mul(b->pool, x, four), six), "floormod(v0*2, 3)*2");
    assert_shows(b, opf_floordiv(b->pool, opf_add(b->pool, opf_mul(b->pool, x, four), num(b, 3)), num(b, 8)), "floordiv(v0, 2)");
    /* three digits of a number make it again */
    const opf_expr *low = opf_floormod(b->pool, x, four), *high = opf_floordiv(b->pool, x, num(b, 24));
    const opf_expr *middle = opf_floormod(b->pool, opf_floordiv(b->pool, x, four), six);
    const opf_expr *tail = opf_add(b->pool, opf_mul(b->pool, middle, four), low);
    assert_shows(b, tail, "floormod(v0, 24)");
    assert_ptr_equal(opf_add(b->pool, opf_mul(b->pool, high, num(b, 24)), tail), x);
}

static void conditions_decided_by_ranges(void **state) {
    bench *b = *state;
    const opf_expr *h = size(b, "H"), *v = opf_var(b->pool, 0), *k = opf_var(b->pool, 1), *zero = num(b, 0);
    /* a valid convolution never reads outside: 0 <= 2*v + k < H for v < (H-3)//2+1, k < 3 */
    const opf_expr *extents[] = {opf_add(b->pool, opf_floordiv(b->pool, opf_sub(b->pool, h, num(b, 3)), num(b, 2)), num(b, 1)), num(b, 3)};
    const opf_expr *at = opf_add(b->pool, opf_mul(b->pool, v, num(b, 2)), k);
    const opf_expr *inside = opf_binary(b->pool, OPF_OP_AND, opf_binary(b->pool, OPF_OP_LE, zero, at), opf_binary(b->pool, OPF_OP_LT, at, h));
    assert_true(opf_is_value(opf_expr_simplify(b->pool, inside, (opf_domain){2, extents}), 1));
    /* a padded one may */
    const opf_expr *padded = opf_sub(b->pool, at, num(b, 1));
    const opf_expr *low = opf_expr_simplify(b->pool, opf_binary(b->pool, OPF_OP_GE, padded, zero), (opf_domain){2, extents});
    assert_shows(b, low, "1 <= v0*2 + v1");
    /* concat: which side, where the domain is one side only */
    const opf_expr *past = size(b, "past"), *one_side[] = {past}, *load = opf_load(b->pool, OPF_FLOAT32, 0, 1, &v), *other = opf_load(b->pool, OPF_FLOAT32, 1, 1, &v);
    const opf_expr *chosen = opf_select(b->pool, opf_binary(b->pool, OPF_OP_LT, v, past), load, other);
    assert_ptr_equal(opf_expr_simplify(b->pool, chosen, (opf_domain){1, one_side}), load);
    /* past may be empty where the whole is not: the first element is not known to come from it */
    const opf_expr *whole[] = {opf_add(b->pool, past, num(b, 1))};
    assert_ptr_equal(opf_expr_simplify(b->pool, chosen, (opf_domain){1, whole}), chosen);
    const opf_expr *first = opf_expr_bind(b->pool, chosen, 1, DIMS(zero));
    assert_ptr_equal(opf_expr_simplify(b->pool, first, (opf_domain){0, NULL}), first);
    assert_true(opf_expr_prove_le(b->pool, num(b, 1), past, (opf_domain){0, NULL}));
    assert_false(opf_expr_prove_le(b->pool, num(b, 2), past, (opf_domain){0, NULL}));
    /* clamping an index that is inside already */
    const opf_expr *clamp = opf_min(b->pool, opf_max(b->pool, v, zero), opf_sub(b->pool, past, num(b, 1)));
    assert_ptr_equal(opf_expr_simplify(b->pool, clamp, (opf_domain){1, one_side}), v);
}

static void equal_conditions_are_one(void **state) {
    bench *b = *state;
    const opf_expr *n = size(b, "N"), *v = opf_var(b->pool, 0), *two = num(b, 2), *one = num(b, 1);
    const opf_expr *a = opf_binary(b->pool, OPF_OP_LT, opf_mul(b->pool, v, two), opf_mul(b->pool, n, two));
    assert_ptr_equal(a, opf_binary(b->pool, OPF_OP_LT, v, n));
    assert_ptr_equal(a, opf_binary(b->pool, OPF_OP_LE, opf_add(b->pool, v, one), n));
    assert_ptr_equal(a, opf_unary(b->pool, OPF_OP_NOT, opf_binary(b->pool, OPF_OP_GE, v, n)));
    assert_shows(b, a, "v0 < N");
    assert_shows(b, opf_unary(b->pool, OPF_OP_NOT, a), "N <= v0");
    assert_shows(b, opf_binary(b->pool, OPF_OP_EQ, opf_add(b->pool, v, two), n), "N == v0 + 2");
    assert_true(opf_is_value(opf_binary(b->pool, OPF_OP_EQ, opf_mul(b->pool, v, two), opf_add(b->pool, opf_mul(b->pool, n, two), one)), 0));
}

static void affine_parts(void **state) {
    bench *b = *state;
    const opf_expr *s = size(b, "S"), *v = opf_var(b->pool, 0), *w = opf_var(b->pool, 1), *coefficient, *rest;
    const opf_expr *e = opf_add(b->pool, opf_mul(b->pool, opf_mul(b->pool, v, s), num(b, 3)), opf_floordiv(b->pool, w, num(b, 4)));
    assert_true(opf_expr_affine(b->pool, e, 0, &coefficient, &rest));
    assert_shows(b, coefficient, "S*3");
    assert_shows(b, rest, "floordiv(v1, 4)");
    assert_false(opf_expr_affine(b->pool, e, 1, &coefficient, &rest));
    assert_false(opf_expr_affine(b->pool, opf_mul(b->pool, v, v), 0, &coefficient, &rest));
    assert_true(opf_expr_affine(b->pool, s, 0, &coefficient, &rest));
    assert_true(opf_is_value(coefficient, 0));
    assert_ptr_equal(rest, s);
}

/* Limits written into a floating expression tell which integers hold it. */
static void limits_tell_what_fits(void **state) {
    bench *b = *state;
    const opf_expr *index = opf_var(b->pool, 0), *x = opf_load(b->pool, OPF_FLOAT32, 0, 1, &index);
    const opf_expr *low = opf_real(b->pool, OPF_FLOAT32, 0), *high = opf_real(b->pool, OPF_FLOAT32, 255.4), *far = opf_real(b->pool, OPF_FLOAT32, 0x1p31);
    const opf_expr *above = opf_binary(b->pool, OPF_OP_MAX, x, low), *both = opf_binary(b->pool, OPF_OP_MIN, high, above);
    assert_false(opf_expr_fits(x, OPF_INT32));
    assert_false(opf_expr_fits(above, OPF_INT32));
    assert_true(opf_expr_fits(both, OPF_UINT8));
    assert_true(opf_expr_fits(both, OPF_INT16));
    assert_false(opf_expr_fits(both, OPF_INT8));
    assert_true(opf_expr_fits(opf_unary(b->pool, OPF_OP_FLOOR, both), OPF_UINT8));
    assert_false(opf_expr_fits(opf_unary(b->pool, OPF_OP_CEIL, both), OPF_UINT8)); /* up to 256 */
    assert_false(opf_expr_fits(opf_unary(b->pool, OPF_OP_NEG, both), OPF_UINT8));
    assert_false(opf_expr_fits(opf_binary(b->pool, OPF_OP_MIN, far, above), OPF_INT32));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reshape_splits_and_merges_back, setup, teardown),
        cmocka_unit_test_setup_teardown(transpose_between_reshapes, setup, teardown),
        cmocka_unit_test_setup_teardown(splits_by_a_symbol, setup, teardown),
        cmocka_unit_test_setup_teardown(channel_shuffle, setup, teardown),
        cmocka_unit_test_setup_teardown(slices_with_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(division_by_symbolic_step, setup, teardown),
        cmocka_unit_test_setup_teardown(division_by_sums, setup, teardown),
        cmocka_unit_test_setup_teardown(nested_divisions, setup, teardown),
        cmocka_unit_test_setup_teardown(conditions_decided_by_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_conditions_are_one, setup, teardown),
        cmocka_unit_test_setup_teardown(affine_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(limits_tell_what_fits, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
