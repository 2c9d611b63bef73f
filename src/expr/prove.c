/* Proofs of e >= 0 by elimination: variables and compound atoms are replaced by the bound that makes e least, one after
 * another, until symbols alone are left; those are shifted to their least values, and then every coefficient must be
 * non-negative. Sound and incomplete. */
#include "expr/prove.h"

enum { BUDGET = 400 };
enum { PROVED = 1, UNPROVED = 2 };

opf_prover opf_prover_new(opf_pool *pool, opf_domain domain, bool sizes) {
    return (opf_prover){pool, opf_pool_domain(pool, domain), sizes, BUDGET};
}

static const opf_expr *extent_of(const opf_prover *prover, const opf_expr *variable) {
    return variable->index < prover->facts->count ? prover->facts->extents[variable->index] : NULL;
}

/* ---- numbers ---- */

static opf_interval symbol_interval(const opf_prover *prover, const opf_symbol *symbol) {
    opf_interval range = {symbol->low, symbol->high};
    bool positive = symbol->index < prover->facts->positive_count && prover->facts->positive[symbol->index];
    if (range.low == 0 && !symbol->plain && (prover->sizes || positive)) range.low = 1;
    return range;
}

static opf_interval atom_interval(opf_prover *prover, const opf_expr *e) {
    switch (e->kind) {
    case OPF_EXPR_SYMBOL: return symbol_interval(prover, e->symbol);
    case OPF_EXPR_VAR: {
        const opf_expr *extent = extent_of(prover, e);
        opf_interval range = {0, INT64_MAX};
        if (extent) range.high = opf_interval_op(OPF_OP_SUB, opf_prove_interval(prover, extent), (opf_interval){1, 1}).high;
        if (range.high < 0) range.high = 0;
        return range;
    }
    case OPF_EXPR_SELECT: {
        opf_interval a = opf_prove_interval(prover, e->args[1]), b = opf_prove_interval(prover, e->args[2]);
        return (opf_interval){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    }
    case OPF_EXPR_UNARY:
    case OPF_EXPR_BINARY: {
        if (e->dtype != OPF_INT64 || e->args[0]->dtype != OPF_INT64 || opf_expr_is_data(e)) return opf_interval_of(e);
        opf_interval a = opf_prove_interval(prover, e->args[0]);
        return opf_interval_op((opf_scalar_op)e->op, a, e->n_args > 1 ? opf_prove_interval(prover, e->args[1]) : a);
    }
    default: return opf_interval_of(e);
    }
}

opf_interval opf_prove_interval(opf_prover *prover, const opf_expr *e) {
    if (e->kind == OPF_EXPR_INT) return (opf_interval){e->integer, e->integer};
    if (prover->budget <= 0) return opf_interval_of(e);
    prover->budget--;
    if (e->dtype != OPF_INT64 || !opf_is_poly(e)) return atom_interval(prover, e);
    opf_poly poly;
    opf_poly_from(&poly, e);
    opf_interval total = {poly.constant, poly.constant};
    for (int i = 0; i < poly.count; i++) {
        const opf_expr *factors[OPF_MONOMIAL_MAX];
        int count = opf_monomial_factors(poly.terms[i].monomial, factors);
        opf_interval term = {poly.terms[i].coefficient, poly.terms[i].coefficient};
        for (int k = 0; k < count; k++)
            term = opf_interval_op(OPF_OP_MUL, term, factors[k] == e ? opf_interval_of(e) : atom_interval(prover, factors[k]));
        total = opf_interval_op(OPF_OP_ADD, total, term);
    }
    opf_poly_free(&poly);
    return total;
}

/* ---- elimination ---- */

/* The atom of e to be replaced next: compound ones with variables, then variables, then compound ones of symbols, each
 * the latest made first, since an atom is made after what it holds. NULL: symbols alone. */
static const opf_expr *next_atom(const opf_poly *poly) {
    const opf_expr *best = NULL, *factors[OPF_MONOMIAL_MAX];
    int best_class = 0;
    for (int i = 0; i < poly->count; i++) {
        int count = opf_monomial_factors(poly->terms[i].monomial, factors);
        for (int k = 0; k < count; k++) {
            const opf_expr *atom = factors[k];
            int class = atom->kind == OPF_EXPR_SYMBOL ? 0 : atom->kind == OPF_EXPR_VAR ? 2 : opf_meta(atom)->vars ? 3 : 1;
            if (class > best_class || (class == best_class && best && class && atom->id > best->id)) best = atom, best_class = class;
        }
    }
    return best;
}

/* e = k * atom + rest; false where the atom stands in a product with itself. */
static bool isolate(opf_pool *pool, const opf_poly *poly, const opf_expr *atom, const opf_expr **k, const opf_expr **rest) {
    opf_poly of_k, of_rest;
    bool linear = true;
    opf_poly_init(&of_k, poly->dtype);
    opf_poly_init(&of_rest, poly->dtype);
    opf_poly_add_term(&of_rest, NULL, poly->constant);
    for (int i = 0; i < poly->count; i++) {
        const opf_expr *others, *twice;
        if (!opf_monomial_divide(pool, poly->terms[i].monomial, atom, &others)) {
            opf_poly_add_term(&of_rest, poly->terms[i].monomial, poly->terms[i].coefficient);
            continue;
        }
        if (others && opf_monomial_divide(pool, others, atom, &twice)) linear = false;
        opf_poly_add_term(&of_k, others, poly->terms[i].coefficient);
    }
    if (linear) {
        *k = opf_poly_build(pool, &of_k);
        *rest = opf_poly_build(pool, &of_rest);
    }
    opf_poly_free(&of_k);
    opf_poly_free(&of_rest);
    return linear;
}

static int sign_of(opf_prover *prover, const opf_expr *k) { /* 1: >= 0, -1: <= 0, 0: not known */
    if (opf_prove_natural(prover, k)) return 1;
    return opf_prove_natural(prover, opf_unary(prover->pool, OPF_OP_NEG, k)) ? -1 : 0;
}

static const opf_expr *constant_bound(opf_prover *prover, const opf_expr *e, bool upper) {
    opf_interval range = opf_prove_interval(prover, e);
    int64_t bound = upper ? range.high : range.low;
    return bound == INT64_MIN || bound == INT64_MAX ? NULL : opf_int(prover->pool, bound);
}

static const opf_expr *bound_of(opf_prover *prover, const opf_expr *e, bool upper);

static const opf_expr *bound_of_pair(opf_prover *prover, const opf_expr *e, bool upper) {
    const opf_expr *a = bound_of(prover, e->args[0], upper), *b = bound_of(prover, e->args[1], upper);
    bool is_min = e->op == OPF_OP_MIN;
    if (a && b) return is_min ? opf_min(prover->pool, a, b) : opf_max(prover->pool, a, b);
    return is_min == upper ? (a ? a : b) : NULL; /* min(a, b) <= a alone; max(a, b) >= a alone */
}

/* A bound of the atom without variables, or NULL. */
static const opf_expr *bound_of_atom(opf_prover *prover, const opf_expr *e, bool upper) {
    opf_pool *pool = prover->pool;
    if (e->kind == OPF_EXPR_VAR) {
        const opf_expr *extent = extent_of(prover, e);
        if (!upper) return opf_int(pool, 0);
        return extent ? opf_sub(pool, extent, opf_int(pool, 1)) : NULL;
    }
    bool divides = opf_is_op(e, OPF_OP_FLOORDIV) || opf_is_op(e, OPF_OP_FLOORMOD);
    if (e->dtype == OPF_INT64 && divides && !opf_meta(e->args[1])->vars && !opf_expr_is_data(e)) {
        if (e->op == OPF_OP_FLOORMOD) return upper ? opf_sub(pool, e->args[1], opf_int(pool, 1)) : opf_int(pool, 0);
        const opf_expr *n = bound_of(prover, e->args[0], upper);
        const opf_expr *bound = n ? opf_floordiv(pool, n, e->args[1]) : NULL;
        return bound == e ? NULL : bound;
    }
    if (e->dtype == OPF_INT64 && (opf_is_op(e, OPF_OP_MIN) || opf_is_op(e, OPF_OP_MAX))) return bound_of_pair(prover, e, upper);
    return constant_bound(prover, e, upper);
}

/* A bound of e without variables, or NULL. */
static const opf_expr *bound_of(opf_prover *prover, const opf_expr *e, bool upper) {
    for (int round = 0; opf_meta(e)->vars; round++) {
        if (round == 64 || --prover->budget <= 0 || opf_expr_is_data(e)) return constant_bound(prover, e, upper);
        opf_poly poly;
        opf_poly_from(&poly, e);
        const opf_expr *atom = next_atom(&poly), *k, *rest;
        bool linear = isolate(prover->pool, &poly, atom, &k, &rest);
        opf_poly_free(&poly);
        int sign = linear ? sign_of(prover, k) : 0;
        const opf_expr *bound = sign ? bound_of_atom(prover, atom, (sign > 0) == upper) : NULL;
        if (!bound) return constant_bound(prover, e, upper);
        e = opf_add(prover->pool, opf_mul(prover->pool, k, bound), rest);
    }
    return e;
}

/* With c*(n // c) in [n - c + 1, n]: k * (n // c) + rest >= 0 follows from a sum without the quotient. */
static bool natural_by_relaxation(opf_prover *prover, const opf_expr *atom, const opf_expr *k, const opf_expr *rest, int sign) {
    opf_pool *pool = prover->pool;
    if (!opf_is_op(atom, OPF_OP_FLOORDIV)) return false; /* a symbol has no operands */
    const opf_expr *n = atom->args[0], *c = atom->args[1];
    if (c->kind != OPF_EXPR_INT || c->integer <= 0) return false;
    const opf_expr *bound = sign < 0 ? n : opf_sub(pool, n, opf_int(pool, c->integer - 1));
    if (opf_is_value(opf_floormod(pool, k, c), 0)) k = opf_floordiv(pool, k, c);
    else rest = opf_mul(pool, rest, c);
    return opf_prove_natural(prover, opf_add(pool, opf_mul(pool, k, bound), rest));
}

static bool natural_with(opf_prover *prover, const opf_expr *k, const opf_expr *value, const opf_expr *rest) {
    return opf_prove_natural(prover, opf_add(prover->pool, opf_mul(prover->pool, k, value), rest));
}

/* k * atom + rest >= 0, by cases and bounds of the atom. */
static bool natural_by_atom(opf_prover *prover, const opf_expr *atom, const opf_expr *k, const opf_expr *rest) {
    if (atom->kind == OPF_EXPR_SELECT && atom->dtype == OPF_INT64)
        return natural_with(prover, k, atom->args[1], rest) && natural_with(prover, k, atom->args[2], rest);
    int sign = sign_of(prover, k);
    if (sign == 0) return false;
    if (atom->dtype == OPF_INT64 && (opf_is_op(atom, OPF_OP_MIN) || opf_is_op(atom, OPF_OP_MAX))) {
        bool either = (atom->op == OPF_OP_MIN) == (sign < 0);
        bool first = natural_with(prover, k, atom->args[0], rest);
        if (first == either) return first;
        return natural_with(prover, k, atom->args[1], rest);
    }
    if (natural_by_relaxation(prover, atom, k, rest, sign)) return true;
    if (opf_is_op(atom, OPF_OP_FLOORMOD) && sign < 0 && opf_prove_natural(prover, atom->args[0]) && natural_with(prover, k, atom->args[0], rest))
        return true;
    const opf_expr *bound = bound_of_atom(prover, atom, sign < 0);
    if (bound && natural_with(prover, k, bound, rest)) return true;
    bound = atom->kind == OPF_EXPR_VAR ? NULL : constant_bound(prover, atom, sign < 0);
    return bound && natural_with(prover, k, bound, rest);
}

/* ---- symbols alone ---- */

/* Every symbol s replaced by its least value + s', s' >= 0: are all coefficients then non-negative? */
static bool natural_by_shift(opf_prover *prover, const opf_poly *poly) {
    opf_pool *pool = prover->pool;
    opf_poly total;
    bool fits = true;
    opf_poly_init(&total, poly->dtype);
    opf_poly_add_term(&total, NULL, poly->constant);
    for (int i = 0; fits && i < poly->count; i++) {
        const opf_expr *factors[OPF_MONOMIAL_MAX];
        int count = opf_monomial_factors(poly->terms[i].monomial, factors);
        opf_poly term;
        opf_poly_init(&term, poly->dtype);
        opf_poly_add_term(&term, NULL, poly->terms[i].coefficient);
        for (int k = 0; fits && k < count; k++) {
            int64_t low = symbol_interval(prover, factors[k]->symbol).low;
            opf_poly shifted, next;
            fits = low > INT64_MIN / 2;
            if (!fits) break;
            opf_poly_init(&shifted, poly->dtype);
            opf_poly_add_term(&shifted, factors[k], 1);
            opf_poly_add_term(&shifted, NULL, low);
            fits = opf_poly_multiply(pool, &next, &term, &shifted);
            if (fits) {
                opf_poly_free(&term);
                opf_poly_init(&term, poly->dtype);
                opf_poly_add(&term, &next, 1);
                opf_poly_free(&next);
            }
            opf_poly_free(&shifted);
        }
        opf_poly_add(&total, &term, 1);
        opf_poly_free(&term);
    }
    fits = fits && total.constant >= 0;
    for (int i = 0; i < total.count; i++) fits = fits && total.terms[i].coefficient >= 0;
    opf_poly_free(&total);
    return fits;
}

/* Extents are at least 1, or nothing of the domain would be evaluated. */
static bool natural_by_extents(opf_prover *prover, const opf_expr *e) {
    for (int i = 0; i < prover->facts->count; i++) {
        const opf_expr *extent = prover->facts->extents[i];
        if (extent->kind == OPF_EXPR_INT || extent->kind == OPF_EXPR_SYMBOL) continue;
        const opf_expr *slack = opf_sub(prover->pool, e, extent);
        if (slack->kind == OPF_EXPR_INT && slack->integer >= -1) return true;
        if (!opf_is_op(extent, OPF_OP_ADD) && !opf_is_op(extent, OPF_OP_SUB)) continue;
        if (!opf_is_value(opf_floormod(prover->pool, e, extent), 0)) continue;
        const opf_expr *quotient = opf_floordiv(prover->pool, e, extent);
        if (quotient != e && opf_prove_natural(prover, quotient)) return true;
    }
    return false;
}

/* ---- the whole ---- */

static bool natural(opf_prover *prover, const opf_expr *e) {
    if (opf_prove_interval(prover, e).low >= 0) return true;
    if (e->dtype != OPF_INT64 || opf_expr_is_data(e)) return false;
    if (!opf_meta(e)->vars && natural_by_extents(prover, e)) return true;
    opf_poly poly;
    opf_poly_from(&poly, e);
    const opf_expr *atom = next_atom(&poly), *k, *rest;
    bool proved;
    if (!atom) proved = natural_by_shift(prover, &poly);
    else if (atom == e && opf_is_poly(e)) proved = false;
    else proved = isolate(prover->pool, &poly, atom, &k, &rest) && natural_by_atom(prover, atom, k, rest);
    opf_poly_free(&poly);
    return proved;
}

bool opf_prove_natural(opf_prover *prover, const opf_expr *e) {
    if (e->kind == OPF_EXPR_INT) return e->integer >= 0;
    if (opf_meta(e)->low >= 0) return true;
    opf_map *proofs = &prover->facts->proofs[prover->sizes];
    uintptr_t known = (uintptr_t)opf_map_get(proofs, e);
    if (known) return known == PROVED;
    if (--prover->budget <= 0) return false;
    bool proved = natural(prover, e);
    if (proved || prover->budget > 0) opf_map_set(proofs, e, (void *)(uintptr_t)(proved ? PROVED : UNPROVED));
    return proved;
}

bool opf_prove_below(opf_prover *prover, const opf_expr *e, const opf_expr *limit) {
    const opf_expr *slack = opf_sub(prover->pool, opf_sub(prover->pool, limit, e), opf_int(prover->pool, 1));
    prover->budget = BUDGET;
    if (!opf_prove_natural(prover, slack)) return false;
    prover->budget = BUDGET;
    return opf_prove_natural(prover, e);
}

/* ---- public ---- */

bool opf_expr_prove_le(opf_pool *pool, const opf_expr *a, const opf_expr *b, opf_domain domain) {
    if (a == b) return true;
    opf_prover prover = opf_prover_new(pool, domain, true);
    return opf_prove_natural(&prover, opf_sub(pool, b, a));
}

bool opf_expr_prove_lt(opf_pool *pool, const opf_expr *a, const opf_expr *b, opf_domain domain) {
    return opf_expr_prove_le(pool, opf_add(pool, a, opf_int(pool, 1)), b, domain);
}

bool opf_expr_prove_eq(opf_pool *pool, const opf_expr *a, const opf_expr *b) {
    return a == b || opf_is_value(opf_sub(pool, a, b), 0);
}
