/* Simplification with the domain's ranges, bottom-up over shared nodes, remembered per domain. */
#include "expr/prove.h"
#include "expr/walk.h"

enum { ROUNDS = 4, PROOF_STEPS = 400 };

static bool is_size(const opf_expr *e) { return e->dtype == OPF_INT64 && !opf_expr_is_data(e); }

static bool proves(opf_prover *prover, const opf_expr *small, const opf_expr *large, int64_t margin) {
    prover->budget = PROOF_STEPS;
    return opf_prove_natural(prover, opf_sub(prover->pool, opf_sub(prover->pool, large, small), opf_int(prover->pool, margin)));
}

static const opf_expr *refine_comparison(opf_prover *prover, const opf_expr *e) {
    const opf_expr *a = e->args[0], *b = e->args[1];
    const opf_expr *yes = opf_int_of(prover->pool, OPF_BOOL, 1), *no = opf_int_of(prover->pool, OPF_BOOL, 0);
    switch (e->op) {
    case OPF_OP_LE: return proves(prover, a, b, 0) ? yes : proves(prover, b, a, 1) ? no : e;
    case OPF_OP_LT: return proves(prover, a, b, 1) ? yes : proves(prover, b, a, 0) ? no : e;
    case OPF_OP_EQ:
    case OPF_OP_NE:
        if (proves(prover, a, b, 1) || proves(prover, b, a, 1)) return e->op == OPF_OP_EQ ? no : yes;
        if (proves(prover, a, b, 0) && proves(prover, b, a, 0)) return e->op == OPF_OP_EQ ? yes : no;
        return e;
    default: return e;
    }
}

static const opf_expr *refine_choice(opf_prover *prover, const opf_expr *e) {
    const opf_expr *a = e->args[0], *b = e->args[1];
    bool is_min = e->op == OPF_OP_MIN;
    if (proves(prover, a, b, 0)) return is_min ? a : b;
    return proves(prover, b, a, 0) ? (is_min ? b : a) : e;
}

/* e whose operands are simplified. */
static const opf_expr *refine(opf_prover *prover, const opf_expr *e) {
    bool operation = e->kind == OPF_EXPR_BINARY || e->kind == OPF_EXPR_UNARY;
    if (!operation || !is_size(e->args[0]) || (e->n_args > 1 && !is_size(e->args[1]))) return e;
    const opf_expr *zero = opf_int(prover->pool, 0);
    switch (e->op) {
    case OPF_OP_FLOORDIV:
    case OPF_OP_FLOORMOD: return opf_divide(prover->pool, prover, e->args[0], e->args[1], e->op == OPF_OP_FLOORMOD);
    case OPF_OP_DIV:
    case OPF_OP_FMOD:
        if (!proves(prover, zero, e->args[0], 0) || !proves(prover, zero, e->args[1], 0)) return e;
        return opf_divide(prover->pool, prover, e->args[0], e->args[1], e->op == OPF_OP_FMOD);
    case OPF_OP_ABS: return proves(prover, zero, e->args[0], 0) ? e->args[0] : e;
    case OPF_OP_MIN:
    case OPF_OP_MAX: return refine_choice(prover, e);
    default: return opf_scalar_ops[e->op].compares ? refine_comparison(prover, e) : e;
    }
}

/* A variable that can only be 0. */
static const opf_expr *refine_variable(opf_prover *prover, const opf_expr *e) {
    bool single = e->index < prover->facts->count && opf_is_value(prover->facts->extents[e->index], 1);
    return single ? opf_int(prover->pool, 0) : e;
}

static const opf_expr *simplify_once(opf_prover *prover, const opf_expr *e) {
    opf_map *simplified = &prover->facts->simplified;
    opf_walk walk;
    opf_walk_init(&walk);
    walk.by_atoms = true;
    walk.known = simplified;
    opf_walk_from(&walk, e);
    for (size_t i = 0; i < walk.n_ordered; i++) {
        opf_walk_entry *entry = &walk.entries[walk.order[i]];
        const opf_expr *rebuilt = opf_walk_rebuild(&walk, prover->pool, entry->e);
        entry->result = rebuilt->kind == OPF_EXPR_VAR ? refine_variable(prover, rebuilt) : refine(prover, rebuilt);
    }
    /* Noted after the walk, which must not see its own results as known. */
    for (size_t i = 0; i < walk.count; i++) opf_map_set(simplified, walk.entries[i].e, (void *)(uintptr_t)walk.entries[i].result);
    const opf_expr *result = opf_map_get(simplified, e);
    opf_walk_free(&walk);
    return result;
}

const opf_expr *opf_expr_simplify(opf_pool *pool, const opf_expr *e, opf_domain domain) {
    opf_prover prover = opf_prover_new(pool, domain, false);
    const opf_expr *known = opf_map_get(&prover.facts->simplified, e);
    /* Merging can make new quotients that simplify again; each round starts from what the last one gave. */
    const opf_expr *result = e;
    for (int round = 0; round < ROUNDS; round++) {
        const opf_expr *before = result;
        if (known && round == 0) result = known;
        else if (!opf_map_has(&prover.facts->simplified, result)) result = simplify_once(&prover, result);
        else result = opf_map_get(&prover.facts->simplified, result);
        if (result == before) break;
    }
    opf_map_set(&prover.facts->simplified, e, (void *)(uintptr_t)result);
    return result;
}
