/* Random stages: what the interpreter over lanes gives must be what a naive evaluation of each element gives. Values are
 * small integers, so that every order of summation is exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/lanes.h"

enum { TENSORS = 3, CASES = 1500 };

typedef struct generator {
    uint64_t state;
    opf_arena *arena;
    opf_pool *pool;
    opf_operand tensors[TENSORS];
    int n_vars;
    int64_t extents[OPF_LANES_AXES];
    int64_t symbols[1];
    const opf_expr *symbol;
} generator;

static uint64_t draw(generator *g, uint64_t below) {
    g->state = g->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (g->state >> 33) % below;
}

static void make_tensor(generator *g, int index) {
    static const opf_dtype types[] = {OPF_INT64, OPF_INT8, OPF_FLOAT64};
    opf_operand *t = &g->tensors[index];
    *t = (opf_operand){.dtype = index < 2 ? OPF_FLOAT32 : types[draw(g, 3)], .rank = (int)draw(g, 4), .elements = 1};
    int64_t *dims = OPF_ARRAY(g->arena, int64_t, 4);
    for (int i = 0; i < t->rank; i++) t->elements *= dims[i] = (int64_t)draw(g, 9) + 1;
    t->dims = dims;
    bool real = opf_dtype_is_float(t->dtype);
    t->wide = draw(g, 4) == 0;
    opf_dtype stored = t->wide ? (real ? OPF_FLOAT64 : OPF_INT64) : t->dtype;
    void *data = opf_arena_alloc(g->arena, opf_dtype_bytes(stored, (size_t)t->elements));
    for (int64_t i = 0; i < t->elements; i++) opf_dtype_store_int(stored, data, (size_t)i, (int64_t)draw(g, 15) - 7);
    t->data = data;
}

/* ---- random expressions ---- */

static const opf_expr *random_index(generator *g, int depth);
static const opf_expr *random_load(generator *g, int tensor, bool guarded);

static const opf_expr *random_condition(generator *g, int depth) {
    static const opf_scalar_op comparisons[] = {OPF_OP_LT, OPF_OP_LE, OPF_OP_EQ, OPF_OP_NE, OPF_OP_GT, OPF_OP_GE};
    const opf_expr *c = opf_binary(g->pool, comparisons[draw(g, 6)], random_index(g, depth), random_index(g, depth));
    if (draw(g, 3) == 0) c = opf_binary(g->pool, draw(g, 2) ? OPF_OP_AND : OPF_OP_OR, c, random_condition(g, depth));
    return draw(g, 5) == 0 ? opf_unary(g->pool, OPF_OP_NOT, c) : c;
}

/* Anything of int64, data included now and then. */
static const opf_expr *random_index(generator *g, int depth) {
    const opf_expr *v = opf_var(g->pool, (int)draw(g, (uint64_t)g->n_vars)), *k = opf_int(g->pool, (int64_t)draw(g, 5) + 1);
    if (depth <= 0) return draw(g, 6) == 0 ? g->symbol : v;
    const opf_expr *a = random_index(g, depth - 1), *b = random_index(g, depth - 1);
    switch (draw(g, 9)) {
    case 0: return opf_add(g->pool, a, b);
    case 1: return opf_sub(g->pool, a, b);
    case 2: return opf_mul(g->pool, v, k);
    case 3: return opf_floordiv(g->pool, a, k);
    case 4: return opf_floormod(g->pool, a, k);
    case 5: return opf_min(g->pool, a, b);
    case 6: return opf_cast(g->pool, OPF_INT64, random_load(g, (int)draw(g, TENSORS), draw(g, 2)));
    case 7: return opf_select(g->pool, random_condition(g, 0), a, b);
    default: return opf_add(g->pool, opf_mul(g->pool, v, k), a);
    }
}

/* In range by clamping, or read under a condition that keeps it in range. */
static const opf_expr *random_load(generator *g, int tensor, bool guarded) {
    const opf_operand *t = &g->tensors[tensor];
    const opf_expr *indices[4], *zero = opf_int(g->pool, 0), *inside = opf_int_of(g->pool, OPF_BOOL, 1), *outside = opf_int_of(g->pool, OPF_BOOL, 0);
    for (int i = 0; i < t->rank; i++) {
        const opf_expr *at = random_index(g, guarded ? (int)draw(g, 2) : 0), *last = opf_int(g->pool, t->dims[i] - 1);
        if (guarded) {
            inside = opf_binary(g->pool, OPF_OP_AND, inside, opf_binary(g->pool, OPF_OP_LE, zero, at));
            inside = opf_binary(g->pool, OPF_OP_AND, inside, opf_binary(g->pool, OPF_OP_LE, at, last));
            outside = opf_binary(g->pool, OPF_OP_OR, outside, opf_binary(g->pool, OPF_OP_LT, at, zero));
            outside = opf_binary(g->pool, OPF_OP_OR, outside, opf_binary(g->pool, OPF_OP_LT, last, at));
        } else at = opf_max(g->pool, zero, opf_min(g->pool, at, last));
        indices[i] = at;
    }
    const opf_expr *load = opf_load(g->pool, t->dtype, tensor, t->rank, indices);
    const opf_expr *otherwise = opf_number(g->pool, t->dtype, draw(g, 2) ? 0 : 3);
    return draw(g, 2) ? opf_select(g->pool, outside, otherwise, load) : opf_select(g->pool, inside, load, otherwise);
}

/* A factor as windowed reductions have it: affine indices with an offset, 0 outside. */
static const opf_expr *random_factor(generator *g, int tensor) {
    const opf_operand *t = &g->tensors[tensor];
    const opf_expr *indices[4], *inside = opf_int_of(g->pool, OPF_BOOL, 1);
    for (int i = 0; i < t->rank; i++) {
        const opf_expr *at = opf_var(g->pool, (int)draw(g, (uint64_t)g->n_vars));
        if (draw(g, 2)) at = opf_add(g->pool, at, opf_var(g->pool, (int)draw(g, (uint64_t)g->n_vars)));
        if (draw(g, 2)) at = opf_sub(g->pool, at, opf_int(g->pool, (int64_t)draw(g, 3)));
        inside = opf_binary(g->pool, OPF_OP_AND, inside, opf_binary(g->pool, OPF_OP_LE, opf_int(g->pool, 0), at));
        inside = opf_binary(g->pool, OPF_OP_AND, inside, opf_binary(g->pool, OPF_OP_LT, at, opf_int(g->pool, t->dims[i])));
        indices[i] = at;
    }
    return opf_select(g->pool, inside, opf_load(g->pool, OPF_FLOAT32, tensor, t->rank, indices), opf_real(g->pool, OPF_FLOAT32, 0));
}

static const opf_expr *random_value(generator *g, int depth) {
    const opf_expr *a = opf_cast(g->pool, OPF_FLOAT32, random_load(g, (int)draw(g, TENSORS), draw(g, 3) > 0));
    if (depth == 0) return draw(g, 4) == 0 ? opf_cast(g->pool, OPF_FLOAT32, random_index(g, 1)) : a;
    const opf_expr *b = random_value(g, depth - 1);
    switch (draw(g, 7)) {
    case 0: return opf_binary(g->pool, OPF_OP_ADD, a, b);
    case 1: return opf_binary(g->pool, OPF_OP_SUB, a, b);
    case 2: return opf_binary(g->pool, OPF_OP_MAX, a, b);
    case 3: return opf_select(g->pool, random_condition(g, 1), a, b);
    case 4: return opf_unary(g->pool, OPF_OP_NEG, b);
    case 5: return opf_select(g->pool, opf_binary(g->pool, OPF_OP_LT, a, b), b, random_value(g, depth - 1));
    default: return opf_binary(g->pool, OPF_OP_MUL, a, b);
    }
}

/* ---- the naive evaluation ---- */

typedef union cell { int64_t integer; double real; } cell;

static cell evaluate(const generator *g, const opf_expr *e, const int64_t *vars) {
    cell out = {.integer = 0}, a, b;
    switch (e->kind) {
    case OPF_EXPR_INT: out.integer = e->integer; return out;
    case OPF_EXPR_FLOAT: out.real = e->real; return out;
    case OPF_EXPR_VAR: out.integer = vars[e->index]; return out;
    case OPF_EXPR_SYMBOL: out.integer = g->symbols[0]; return out;
    case OPF_EXPR_SELECT: return evaluate(g, e->args[evaluate(g, e->args[0], vars).integer ? 1 : 2], vars);
    case OPF_EXPR_LOAD: {
        const opf_operand *t = &g->tensors[e->index];
        int64_t at = 0;
        for (int i = 0; i < t->rank; i++) {
            int64_t index = evaluate(g, e->args[i], vars).integer;
            assert_true(index >= 0 && index < t->dims[i]);
            at = at * t->dims[i] + index;
        }
        bool real = opf_dtype_is_float(t->dtype);
        opf_dtype stored = t->wide ? (real ? OPF_FLOAT64 : OPF_INT64) : t->dtype;
        if (real) out.real = opf_dtype_load(stored, t->data, (size_t)at);
        else out.integer = opf_dtype_load_int(stored, t->data, (size_t)at);
        return out;
    }
    default: break;
    }
    a = b = evaluate(g, e->args[0], vars);
    if (e->n_args > 1) b = evaluate(g, e->args[1], vars);
    bool from_real = opf_dtype_is_float((opf_dtype)e->args[0]->dtype), to_real = opf_dtype_is_float((opf_dtype)e->dtype);
    if (e->kind == OPF_EXPR_CAST) {
        double value = from_real ? a.real : (double)a.integer;
        if (to_real) out.real = value;
        else out.integer = (int64_t)value;
    } else if (!from_real) out.integer = opf_scalar_eval_int((opf_scalar_op)e->op, (opf_dtype)e->args[0]->dtype, a.integer, b.integer);
    else if (to_real) out.real = opf_scalar_eval((opf_scalar_op)e->op, a.real, b.real);
    else out.integer = opf_scalar_eval((opf_scalar_op)e->op, a.real, b.real) != 0;
    return out;
}

static double naive_element(const generator *g, const opf_stage *stage, int64_t element) {
    int64_t vars[OPF_LANES_AXES], points = 1;
    for (int i = stage->n_axes - 1; i >= 0; i--) {
        vars[i] = element % g->extents[i];
        element /= g->extents[i];
    }
    for (int i = 0; i < stage->n_reduce; i++) points *= g->extents[stage->n_axes + i];
    double total = stage->combiner == OPF_COMBINE_MAX ? -INFINITY : 0;
    for (int64_t p = 0; p < points; p++) {
        int64_t rest = p;
        for (int i = stage->n_axes + stage->n_reduce - 1; i >= stage->n_axes; i--) {
            vars[i] = rest % g->extents[i];
            rest /= g->extents[i];
        }
        double term = evaluate(g, stage->body, vars).real;
        if (stage->n_reduce == 0) return term;
        total = stage->combiner == OPF_COMBINE_MAX ? opf_scalar_eval(OPF_OP_MAX, total, term) : total + term;
    }
    return total;
}

static void run_case(uint64_t seed) {
    generator *g = calloc(1, sizeof *g);
    g->state = seed * 104729 + 7;
    g->arena = opf_arena_new();
    g->pool = opf_pool_new(g->arena);
    g->symbol = opf_sym(g->pool, opf_symbol_new(g->pool, "N", 0, 100, 5));
    g->symbols[0] = (int64_t)draw(g, 8);
    for (int i = 0; i < TENSORS; i++) make_tensor(g, i);
    opf_stage stage = {.n_axes = (int)draw(g, 4), .n_reduce = (int)draw(g, 4), .dtype = OPF_FLOAT32, .accumulator = OPF_FLOAT32};
    g->n_vars = stage.n_axes + stage.n_reduce;
    if (g->n_vars == 0) stage.n_axes = g->n_vars = 1;
    int64_t elements = 1;
    for (int i = 0; i < g->n_vars; i++) {
        g->extents[i] = (int64_t)draw(g, i < stage.n_axes ? (draw(g, 4) ? 12 : 90) : 7) + (draw(g, 20) > 0);
        if (i < stage.n_axes) elements *= g->extents[i];
    }
    if (stage.n_reduce) stage.combiner = draw(g, 3) ? OPF_COMBINE_SUM : OPF_COMBINE_MAX;
    if (stage.n_reduce && draw(g, 2)) stage.body = opf_binary(g->pool, OPF_OP_MUL, random_factor(g, 0), random_factor(g, 1));
    else stage.body = random_value(g, (int)draw(g, 3));
    const char *why = NULL;
    opf_lanes *lanes = opf_lanes_compile(g->arena, &stage, g->tensors, g->extents, g->symbols, false, &why);
    assert_non_null(lanes);
    double *result = OPF_ARRAY(g->arena, double, elements + 1);
    opf_lanes_fault fault;
    if (!opf_lanes_run(lanes, result, &fault))
        fail_msg("case %llu: tensor %d axis %d index %lld of %lld", (unsigned long long)seed, fault.tensor, fault.axis, (long long)fault.index, (long long)fault.extent);
    for (int64_t i = 0; i < elements; i += elements > 3000 ? 17 : 1) {
        double wanted = naive_element(g, &stage, i);
        if (result[i] == wanted) continue;
        opf_text text = {0};
        opf_expr_print(stage.body, NULL, &text);
        fail_msg("case %llu, element %lld: %g for %g: %s", (unsigned long long)seed, (long long)i, result[i], wanted, opf_text_string(&text));
    }
    opf_arena_free(g->arena);
    free(g);
}

static void lanes_agree_with_a_naive_evaluation(void **state) {
    (void)state;
    const char *cases = getenv("OPF_RANDOM_CASES");
    uint64_t count = cases ? strtoull(cases, NULL, 10) : CASES;
    for (uint64_t seed = 0; seed < count; seed++) run_case(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_agree_with_a_naive_evaluation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
