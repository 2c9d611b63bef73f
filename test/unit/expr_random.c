/* Random integer expressions, evaluated step by step beside their construction: what the constructors, binding and
 * simplification make must have the same value at every sampled point of the domain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "expr/expr.h"

enum { POINTS = 12, VARS = 4, SYMBOLS = 3, POOL = 16, STEPS = 16, CASES = 4000 };

typedef struct sample { const opf_expr *e; int64_t values[POINTS]; } sample;

typedef struct generator {
    uint64_t state;
    opf_pool *pool;
    const opf_symbol *symbols[SYMBOLS];
    const opf_expr *extents[VARS];
    int64_t symbol_values[POINTS][SYMBOLS], variable_values[POINTS][VARS];
    sample made[POOL + STEPS];
    int count;
} generator;

static uint64_t draw(generator *g, uint64_t below) {
    g->state = g->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (g->state >> 33) % below;
}

static const opf_expr *random_extent(generator *g) {
    const opf_expr *s = opf_sym(g->pool, g->symbols[draw(g, SYMBOLS)]), *t = opf_sym(g->pool, g->symbols[draw(g, SYMBOLS)]);
    const opf_expr *one = opf_int(g->pool, 1), *k = opf_int(g->pool, (int64_t)draw(g, 6) + 1);
    switch (draw(g, 6)) {
    case 0: return k;
    case 1: return s;
    case 2: return opf_mul(g->pool, s, k);
    case 3: return opf_mul(g->pool, s, t);
    case 4: return opf_add(g->pool, opf_floordiv(g->pool, opf_sub(g->pool, s, one), k), one);
    default: return opf_add(g->pool, s, k);
    }
}

/* Symbols and, inside the extents that they give, variables at every point. False: an extent is empty. */
static bool place_points(generator *g) {
    int64_t least = (int64_t)draw(g, 3) > 0; /* in two of three cases no size is 0, so that sizes can be divisors */
    for (int p = 0; p < POINTS; p++) {
        for (int i = 0; i < SYMBOLS; i++) g->symbol_values[p][i] = least + (int64_t)draw(g, p < 4 ? 3 : 9);
        for (int i = 0; i < VARS; i++) {
            int64_t extent;
            if (!opf_dim_eval(g->extents[i], g->symbol_values[p], &extent) || extent < 1) {
                for (int k = 0; k < SYMBOLS; k++) g->symbol_values[p][k] = (int64_t)draw(g, 6) + 1;
                if (!opf_dim_eval(g->extents[i], g->symbol_values[p], &extent) || extent < 1) return false;
                i = -1;
                continue;
            }
            g->variable_values[p][i] = draw(g, 3) == 0 ? extent - 1 : (int64_t)draw(g, (uint64_t)extent);
        }
    }
    return true;
}

static void add_sample(generator *g, const opf_expr *e, const int64_t *values) {
    g->made[g->count].e = e;
    for (int p = 0; p < POINTS; p++) g->made[g->count].values[p] = values[p];
    g->count++;
}

static void add_leaves(generator *g) {
    int64_t values[POINTS];
    g->count = 0;
    for (int i = 0; i < VARS; i++) {
        for (int p = 0; p < POINTS; p++) values[p] = g->variable_values[p][i];
        add_sample(g, opf_var(g->pool, i), values);
    }
    for (int i = 0; i < SYMBOLS; i++) {
        for (int p = 0; p < POINTS; p++) values[p] = g->symbol_values[p][i];
        add_sample(g, opf_sym(g->pool, g->symbols[i]), values);
    }
    for (int i = 0; i < VARS; i++) {
        bool known = true;
        for (int p = 0; p < POINTS; p++) known = known && opf_dim_eval(g->extents[i], g->symbol_values[p], &values[p]);
        if (known) add_sample(g, g->extents[i], values);
    }
    for (int i = 0; i < 3; i++) {
        static const int64_t constants[] = {-3, -1, 1, 2, 3, 4, 6, 8, 12, 24};
        int64_t constant = constants[draw(g, sizeof constants / sizeof *constants)];
        for (int p = 0; p < POINTS; p++) values[p] = constant;
        add_sample(g, opf_int(g->pool, constant), values);
    }
}

static bool all_positive(const sample *s) {
    bool positive = true;
    for (int p = 0; p < POINTS; p++) positive = positive && s->values[p] > 0;
    return positive;
}

static bool all_small(const int64_t *values) {
    for (int p = 0; p < POINTS; p++)
        if (values[p] > 1000000 || values[p] < -1000000) return false;
    return true;
}

static void add_step(generator *g) {
    static const opf_scalar_op operations[] = {OPF_OP_ADD, OPF_OP_ADD, OPF_OP_SUB, OPF_OP_MUL, OPF_OP_MUL, OPF_OP_FLOORDIV, OPF_OP_FLOORDIV, OPF_OP_FLOORMOD,
                                               OPF_OP_FLOORMOD, OPF_OP_MIN, OPF_OP_MAX, OPF_OP_DIV, OPF_OP_LT, OPF_OP_LE, OPF_OP_EQ, OPF_OP_NE};
    opf_scalar_op op = operations[draw(g, sizeof operations / sizeof *operations)];
    const sample *a = &g->made[draw(g, (uint64_t)g->count)], *b = &g->made[draw(g, (uint64_t)g->count)];
    const sample *c = &g->made[draw(g, (uint64_t)g->count)], *d = &g->made[draw(g, (uint64_t)g->count)];
    int64_t values[POINTS];
    if ((op == OPF_OP_FLOORDIV || op == OPF_OP_FLOORMOD || op == OPF_OP_DIV) && !all_positive(b)) return;
    bool compares = opf_scalar_ops[op].compares;
    for (int p = 0; p < POINTS; p++) {
        values[p] = opf_scalar_eval_int(op, OPF_INT64, a->values[p], b->values[p]);
        if (compares) values[p] = values[p] ? c->values[p] : d->values[p];
    }
    if (!all_small(values)) return;
    const opf_expr *e = opf_binary(g->pool, op, a->e, b->e);
    add_sample(g, compares ? opf_select(g->pool, e, c->e, d->e) : e, values);
}

static void check_value(generator *g, const opf_expr *e, const sample *s, const char *what) {
    for (int p = 0; p < POINTS; p++) {
        const opf_expr *variables[VARS], *symbols[SYMBOLS];
        int64_t value = 0;
        for (int i = 0; i < VARS; i++) variables[i] = opf_int(g->pool, g->variable_values[p][i]);
        for (int i = 0; i < SYMBOLS; i++) symbols[i] = opf_int(g->pool, g->symbol_values[p][i]);
        const opf_expr *bound = opf_expr_bind_symbols(g->pool, opf_expr_bind(g->pool, e, VARS, variables), SYMBOLS, symbols);
        if (opf_is_int(bound, &value) && value == s->values[p]) continue;
        opf_text text = {0};
        opf_text_printf(&text, "%s, point %d: %lld wanted: ", what, p, (long long)s->values[p]);
        opf_expr_print(bound, NULL, &text);
        opf_text_add(&text, " from ");
        opf_expr_print(e, NULL, &text);
        opf_text_add(&text, " made of ");
        opf_expr_print(s->e, NULL, &text);
        for (int i = 0; i < VARS; i++) {
            opf_text_printf(&text, ", v%d = %lld < ", i, (long long)g->variable_values[p][i]);
            opf_expr_print(g->extents[i], NULL, &text);
        }
        for (int i = 0; i < SYMBOLS; i++) opf_text_printf(&text, ", %s = %lld", g->symbols[i]->name, (long long)g->symbol_values[p][i]);
        fail_msg("%s", opf_text_string(&text));
    }
}

/* What is proved must hold at every point; proofs take sizes to be at least 1. */
static void check_proof(generator *g, const sample *a, const sample *b, opf_domain domain) {
    if (!opf_expr_prove_le(g->pool, a->e, b->e, domain)) return;
    for (int p = 0; p < POINTS; p++) {
        bool sized = true;
        for (int i = 0; i < SYMBOLS; i++) sized = sized && g->symbol_values[p][i] >= 1;
        if (sized && a->values[p] > b->values[p]) fail_msg("%lld <= %lld was proved", (long long)a->values[p], (long long)b->values[p]);
    }
}

static void run_case(uint64_t seed) {
    static const char *const names[SYMBOLS] = {"A", "B", "C"};
    opf_arena *arena = opf_arena_new();
    generator *g = OPF_NEW(arena, generator);
    g->state = seed * 7919 + 1;
    g->pool = opf_pool_new(arena);
    for (int i = 0; i < SYMBOLS; i++) g->symbols[i] = opf_symbol_new(g->pool, names[i], 0, INT64_MAX, 8);
    for (int i = 0; i < VARS; i++) g->extents[i] = random_extent(g);
    if (place_points(g)) {
        opf_domain domain = {VARS, g->extents};
        add_leaves(g);
        for (int i = 0; i < STEPS; i++) add_step(g);
        for (int i = 0; i < g->count; i++) {
            check_value(g, g->made[i].e, &g->made[i], "built");
            const opf_expr *simple = opf_expr_simplify(g->pool, g->made[i].e, domain);
            check_value(g, simple, &g->made[i], "simplified");
            assert_ptr_equal(opf_expr_simplify(g->pool, g->made[i].e, domain), simple);
            check_proof(g, &g->made[i], &g->made[(i * 7 + 3) % g->count], domain);
        }
    }
    opf_arena_free(arena);
}

static void values_survive(void **state) {
    (void)state;
    const char *cases = getenv("OPF_RANDOM_CASES");
    uint64_t count = cases ? strtoull(cases, NULL, 10) : CASES;
    for (uint64_t seed = 0; seed < count; seed++) run_case(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
