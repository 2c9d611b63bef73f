/* Floor division and remainder of index expressions, for constant and symbolic divisors (positive, as the language
 * demands). With c the divisor:
 *
 *   (a*c + b) // c        → a + b // c                 (a*c + b) % c        → b % c
 *   b // c                → 0        0 <= b < c        b % c                → b        0 <= b < c
 *   (g*x + r) // (g*c)    → x // c   0 <= r < g        (g*x + r) % (g*c)    → g*(x % c) + r
 *   (x // a + k) // c     → (x + k*a) // (a*c)         (x % (c*b) + y) % c  → (x + y) % c
 *   (x % (c*b)) // c      → (x // c) % b
 *
 * and, where sums are put together, k*c*(n // c) + k*(n % c) → k*n and k*c*((n // c) % b) + k*(n % c) → k*(n % (c*b)). */
#include "expr/prove.h"

typedef struct opf_division {
    opf_pool *pool;
    opf_prover *prover;
    const opf_expr *divisor;
    opf_poly by;    /* the divisor */
    opf_poly whole; /* quotient found so far */
    opf_poly rest;  /* what is left to divide */
} opf_division;

static int64_t magnitude(int64_t a) { return a < 0 ? -a : a; }

/* The polynomial as one term; false where it has more. */
static bool single_term(const opf_poly *poly, opf_term *term) {
    if (poly->count == 0) return *term = (opf_term){NULL, poly->constant}, true;
    if (poly->count > 1 || poly->constant != 0) return false;
    *term = poly->terms[0];
    return true;
}

static const opf_expr *term_of(opf_pool *pool, opf_term term) {
    const opf_expr *factor = opf_int(pool, term.coefficient);
    return term.monomial ? opf_mul(pool, term.monomial, factor) : factor;
}

/* ---- taking out multiples of the divisor ---- */

static void extract_by_term(opf_division *d, opf_term by) {
    for (int i = d->rest.count - 1; i >= 0; i--) {
        opf_term term = d->rest.terms[i];
        int64_t quotient = term.coefficient / by.coefficient;
        const opf_expr *monomial;
        if (quotient == 0 || !opf_monomial_divide(d->pool, term.monomial, by.monomial, &monomial)) continue;
        opf_poly_add_term(&d->whole, monomial, quotient);
        opf_poly_add_term(&d->rest, term.monomial, -quotient * by.coefficient);
    }
    if (by.monomial) return;
    int64_t quotient = opf_scalar_eval_int(OPF_OP_FLOORDIV, OPF_INT64, d->rest.constant, by.coefficient);
    opf_poly_add_term(&d->whole, NULL, quotient);
    opf_poly_add_term(&d->rest, NULL, -quotient * by.coefficient);
}

/* Does `rest` hold at least the terms of `part`? Constants are free. */
static bool covers(const opf_poly *rest, const opf_poly *part) {
    for (int i = 0; i < part->count; i++) {
        int64_t have = opf_poly_coefficient(rest, part->terms[i].monomial), want = part->terms[i].coefficient;
        if ((have < 0) != (want < 0) || magnitude(have) < magnitude(want)) return false;
    }
    return true;
}

/* Divides by a sum: every term of rest that its leading term divides is tried as lead * quotient. */
static bool extract_by_sum(opf_division *d) {
    opf_term lead = d->by.terms[d->by.count - 1];
    for (int i = d->rest.count - 1; i >= 0; i--) {
        opf_term term = d->rest.terms[i];
        const opf_expr *monomial;
        if (term.coefficient % lead.coefficient != 0 || !opf_monomial_divide(d->pool, term.monomial, lead.monomial, &monomial)) continue;
        opf_poly quotient, part;
        opf_poly_init(&quotient, OPF_INT64);
        opf_poly_add_term(&quotient, monomial, term.coefficient / lead.coefficient);
        bool found = opf_poly_multiply(d->pool, &part, &quotient, &d->by);
        if (found) {
            found = covers(&d->rest, &part);
            if (found) {
                opf_poly_add(&d->rest, &part, -1);
                opf_poly_add(&d->whole, &quotient, 1);
            }
            opf_poly_free(&part);
        }
        opf_poly_free(&quotient);
        if (found) return true;
    }
    return false;
}

static void extract(opf_division *d) {
    opf_term by;
    if (single_term(&d->by, &by)) extract_by_term(d, by);
    else
        while (extract_by_sum(d)) {}
}

/* ---- splitting: rest = g*x + r, divisor = g*c ---- */

/* x (as x of g*x) and r of the rest for a factor g of the divisor. */
static void split_rest(opf_division *d, opf_term g, opf_poly *x, opf_poly *r) {
    opf_poly_init(x, OPF_INT64);
    opf_poly_init(r, OPF_INT64);
    for (int i = 0; i < d->rest.count; i++) {
        opf_term term = d->rest.terms[i];
        const opf_expr *monomial;
        if (term.coefficient % g.coefficient == 0 && opf_monomial_divide(d->pool, term.monomial, g.monomial, &monomial))
            opf_poly_add_term(x, monomial, term.coefficient / g.coefficient);
        else opf_poly_add_term(r, term.monomial, term.coefficient);
    }
    int64_t constant = d->rest.constant;
    int64_t quotient = g.monomial ? 0 : opf_scalar_eval_int(OPF_OP_FLOORDIV, OPF_INT64, constant, g.coefficient);
    opf_poly_add_term(x, NULL, quotient);
    opf_poly_add_term(r, NULL, constant - quotient * g.coefficient);
}

/* Is 0 <= r < g? */
static bool remains_below(opf_division *d, opf_poly *r, opf_term g) {
    if (r->count == 0 && r->constant == 0) return true;
    if (r->count == 0 && !g.monomial) return true; /* split_rest leaves 0 <= r < g */
    if (!d->prover) return false;
    return opf_prove_below(d->prover, opf_poly_build(d->pool, r), term_of(d->pool, g));
}

static const opf_expr *divide_scaled(opf_division *d, opf_term g, bool remainder) {
    opf_term by;
    const opf_expr *monomial, *result = NULL;
    opf_poly x, r;
    if (!single_term(&d->by, &by) || !opf_monomial_divide(d->pool, by.monomial, g.monomial, &monomial)) return NULL;
    split_rest(d, g, &x, &r);
    if ((x.count || x.constant) && remains_below(d, &r, g)) {
        const opf_expr *smaller = term_of(d->pool, (opf_term){monomial, by.coefficient / g.coefficient});
        result = opf_divide(d->pool, d->prover, opf_poly_build(d->pool, &x), smaller, remainder);
        if (remainder) result = opf_add(d->pool, opf_mul(d->pool, result, term_of(d->pool, g)), opf_poly_build(d->pool, &r));
    }
    opf_poly_free(&x);
    opf_poly_free(&r);
    return result;
}

/* Tries as g what each term of the rest has in common with the divisor. */
static const opf_expr *divide_by_parts(opf_division *d, bool remainder) {
    opf_term by, tried[16];
    int n_tried = 0;
    if (!single_term(&d->by, &by)) return NULL;
    for (int i = 0; i < d->rest.count && n_tried < 16; i++) {
        opf_term term = d->rest.terms[i];
        opf_term g = {opf_monomial_common(d->pool, term.monomial, by.monomial), opf_greatest_divisor(term.coefficient, by.coefficient)};
        bool known = (!g.monomial && g.coefficient == 1) || (g.monomial == by.monomial && g.coefficient == by.coefficient);
        for (int k = 0; k < n_tried; k++) known |= tried[k].monomial == g.monomial && tried[k].coefficient == g.coefficient;
        if (known) continue;
        tried[n_tried++] = g;
        const opf_expr *result = divide_scaled(d, g, remainder);
        if (result) return result;
    }
    return NULL;
}

/* What the divisor has in common with every term. */
static const opf_expr *divide_by_common(opf_division *d, bool remainder) {
    opf_term g;
    if (d->rest.count == 0 || !single_term(&d->by, &g)) return NULL;
    for (int i = 0; i < d->rest.count; i++) {
        g.coefficient = opf_greatest_divisor(g.coefficient, d->rest.terms[i].coefficient);
        g.monomial = opf_monomial_common(d->pool, g.monomial, d->rest.terms[i].monomial);
    }
    if (d->rest.constant != 0 && g.monomial) g.monomial = NULL;
    if (!g.monomial && g.coefficient == 1) return NULL;
    return divide_scaled(d, g, remainder);
}

/* Divisors that are products of sums: the domain's own extents from the innermost outward, where they are no single terms. */
static const opf_expr *divide_by_extents(opf_division *d, bool remainder) {
    if (!d->prover) return NULL;
    const opf_domain_facts *facts = d->prover->facts;
    const opf_expr *g = opf_int(d->pool, 1), *zero = opf_int(d->pool, 0);
    for (int i = facts->count - 1; i >= 0; i--) {
        if (opf_is_value(facts->extents[i], 1)) continue;
        g = opf_mul(d->pool, g, facts->extents[i]);
        if (g == d->divisor || !opf_is_op(g, OPF_OP_ADD)) continue;
        if (opf_floormod(d->pool, d->divisor, g) != zero) continue;
        const opf_expr *n = opf_poly_build(d->pool, &d->rest);
        const opf_expr *x = opf_divide(d->pool, d->prover, n, g, false), *r = opf_divide(d->pool, d->prover, n, g, true);
        if (x == zero || opf_is_op(r, OPF_OP_FLOORMOD)) continue;
        const opf_expr *result = opf_divide(d->pool, d->prover, x, opf_floordiv(d->pool, d->divisor, g), remainder);
        return remainder ? opf_add(d->pool, opf_mul(d->pool, result, g), r) : result;
    }
    return NULL;
}

/* ---- nested divisions ---- */

static bool positive_constant(const opf_expr *e) { return e->kind == OPF_EXPR_INT && e->integer > 0; }

/* b = m / c where the divisor c divides m exactly, else NULL. */
static const opf_expr *exact_quotient(opf_division *d, const opf_expr *m) {
    if (m->kind == OPF_EXPR_INT && d->divisor->kind == OPF_EXPR_INT)
        return m->integer % d->divisor->integer == 0 ? opf_int(d->pool, m->integer / d->divisor->integer) : NULL;
    if (m == d->divisor) return opf_int(d->pool, 1);
    return opf_is_value(opf_floormod(d->pool, m, d->divisor), 0) ? opf_floordiv(d->pool, m, d->divisor) : NULL;
}

static const opf_expr *divide_nested(opf_division *d) {
    if (d->rest.count != 1 || d->rest.terms[0].coefficient != 1) return NULL;
    const opf_expr *atom = d->rest.terms[0].monomial;
    if (opf_is_op(atom, OPF_OP_FLOORDIV)) {
        const opf_expr *x = atom->args[0], *a = atom->args[1];
        if (d->rest.constant != 0 && !positive_constant(a)) return NULL;
        x = opf_add(d->pool, x, opf_mul(d->pool, a, opf_int(d->pool, d->rest.constant)));
        return opf_divide(d->pool, d->prover, x, opf_mul(d->pool, a, d->divisor), false);
    }
    if (opf_is_op(atom, OPF_OP_FLOORMOD) && d->rest.constant == 0) {
        const opf_expr *quotient = exact_quotient(d, atom->args[1]);
        if (!quotient) return NULL;
        const opf_expr *x = opf_divide(d->pool, d->prover, atom->args[0], d->divisor, false);
        return opf_divide(d->pool, d->prover, x, quotient, true);
    }
    return NULL;
}

/* (k * (x % (c*b)) + y) % c → (k*x + y) % c */
static const opf_expr *unwrap_remainders(opf_division *d) {
    for (int i = 0; i < d->rest.count; i++) {
        opf_term term = d->rest.terms[i];
        if (!opf_is_op(term.monomial, OPF_OP_FLOORMOD) || !exact_quotient(d, term.monomial->args[1])) continue;
        opf_poly_add_term(&d->rest, term.monomial, -term.coefficient);
        opf_poly_add_expr(&d->rest, term.monomial->args[0], term.coefficient);
        return opf_divide(d->pool, d->prover, opf_poly_build(d->pool, &d->rest), d->divisor, true);
    }
    return NULL;
}

/* ---- the whole ---- */

/* No coefficient is so large that arithmetic on it could overflow. */
static bool moderate(const opf_poly *poly) {
    const int64_t limit = INT64_C(1) << 61;
    if (poly->constant >= limit || poly->constant <= -limit) return false;
    for (int i = 0; i < poly->count; i++)
        if (poly->terms[i].coefficient >= limit || poly->terms[i].coefficient <= -limit) return false;
    return true;
}

static const opf_expr *divide_rest(opf_division *d, bool remainder) {
    opf_pool *pool = d->pool;
    bool is_zero = d->rest.count == 0 && d->rest.constant == 0;
    if (is_zero || (d->rest.count == 0 && d->by.count == 0)) /* a constant rest is below a constant divisor by now */
        return opf_int(pool, remainder ? d->rest.constant : 0);
    const opf_expr *result = remainder ? unwrap_remainders(d) : divide_nested(d);
    if (!result) result = divide_by_common(d, remainder);
    if (result) return result;
    const opf_expr *n = opf_poly_build(pool, &d->rest);
    if (d->prover) {
        if (opf_prove_below(d->prover, n, d->divisor)) return remainder ? n : opf_int(pool, 0);
        result = divide_by_parts(d, remainder);
        if (!result) result = divide_by_extents(d, remainder);
        if (result) return result;
    }
    return opf_pool_binary(pool, remainder ? OPF_OP_FLOORMOD : OPF_OP_FLOORDIV, OPF_INT64, n, d->divisor);
}

const opf_expr *opf_divide(opf_pool *pool, opf_prover *prover, const opf_expr *n, const opf_expr *divisor, bool remainder) {
    opf_scalar_op op = remainder ? OPF_OP_FLOORMOD : OPF_OP_FLOORDIV;
    if (n->kind == OPF_EXPR_INT && divisor->kind == OPF_EXPR_INT)
        return opf_int(pool, opf_scalar_eval_int(op, OPF_INT64, n->integer, divisor->integer));
    if (opf_is_value(n, 0) || opf_is_value(divisor, 0)) return opf_int(pool, 0);
    if (opf_is_value(divisor, 1)) return remainder ? opf_int(pool, 0) : n;
    /* Data may wrap around or divide by what is not positive: left as written. */
    if (opf_expr_is_data(n) || opf_expr_is_data(divisor)) return opf_pool_binary(pool, op, OPF_INT64, n, divisor);
    opf_division d = {.pool = pool, .prover = prover, .divisor = divisor};
    opf_poly_from(&d.by, divisor);
    opf_poly_from(&d.rest, n);
    opf_poly_init(&d.whole, OPF_INT64);
    opf_term lead = d.by.count ? d.by.terms[d.by.count - 1] : (opf_term){NULL, d.by.constant};
    if (lead.coefficient < 0 || !moderate(&d.by) || !moderate(&d.rest)) {
        opf_poly_free(&d.by);
        opf_poly_free(&d.rest);
        return opf_pool_binary(pool, op, OPF_INT64, n, divisor);
    }
    extract(&d);
    const opf_expr *result = divide_rest(&d, remainder);
    if (!remainder && (d.whole.count || d.whole.constant)) {
        opf_poly_add_expr(&d.whole, result, 1);
        result = opf_poly_build(pool, &d.whole);
    }
    opf_poly_free(&d.by);
    opf_poly_free(&d.rest);
    opf_poly_free(&d.whole);
    return result;
}

const opf_expr *opf_floordiv(opf_pool *pool, const opf_expr *a, const opf_expr *b) { return opf_divide(pool, NULL, a, b, false); }
const opf_expr *opf_floormod(opf_pool *pool, const opf_expr *a, const opf_expr *b) { return opf_divide(pool, NULL, a, b, true); }

/* ---- merging ---- */

/* Replaces k*(c*quotient + m) in the sum by k*n, where the sum holds it. */
static bool replace(opf_pool *pool, opf_poly *poly, opf_term k, const opf_expr *c, const opf_expr *quotient, const opf_expr *m, const opf_expr *n) {
    opf_poly factor, out, in, scaled_out, scaled_in;
    opf_poly_init(&factor, OPF_INT64);
    opf_poly_add_term(&factor, k.monomial, k.coefficient);
    opf_poly_from(&out, opf_mul(pool, c, quotient));
    opf_poly_add_term(&out, m, 1);
    opf_poly_from(&in, n);
    bool fits = opf_poly_multiply(pool, &scaled_out, &out, &factor);
    if (fits && !opf_poly_multiply(pool, &scaled_in, &in, &factor)) opf_poly_free(&scaled_out), fits = false;
    bool held = fits && opf_poly_contains(poly, &scaled_out);
    if (held) {
        opf_poly_add(poly, &scaled_out, -1);
        opf_poly_add(poly, &scaled_in, 1);
    }
    if (fits) opf_poly_free(&scaled_out), opf_poly_free(&scaled_in);
    opf_poly_free(&factor), opf_poly_free(&out), opf_poly_free(&in);
    return held;
}

/* The remainder m = n % c stands in the sum with factor k. */
static bool merge_one(opf_pool *pool, opf_poly *poly, const opf_expr *m, opf_term k) {
    const opf_expr *n = m->args[0], *c = m->args[1];
    const opf_expr *quotient = opf_floordiv(pool, n, c);
    if (replace(pool, poly, k, c, quotient, m, n)) return true;
    const opf_expr *factors[OPF_MONOMIAL_MAX];
    for (int i = 0; i < poly->count; i++) {
        int count = opf_monomial_factors(poly->terms[i].monomial, factors);
        for (int f = 0; f < count; f++) {
            if (!opf_is_op(factors[f], OPF_OP_FLOORMOD) || factors[f]->args[0] != quotient) continue;
            const opf_expr *merged = opf_floormod(pool, n, opf_mul(pool, c, factors[f]->args[1]));
            if (replace(pool, poly, k, c, factors[f], m, merged)) return true;
        }
    }
    return false;
}

bool opf_poly_merge_divisions(opf_pool *pool, opf_poly *poly) {
    if (poly->dtype != OPF_INT64 || poly->count < 2) return false;
    for (int i = 0; i < poly->count; i++) {
        const opf_expr *factors[OPF_MONOMIAL_MAX];
        int count = opf_monomial_factors(poly->terms[i].monomial, factors);
        for (int f = 0; f < count; f++) {
            if (!opf_is_op(factors[f], OPF_OP_FLOORMOD) || opf_expr_is_data(factors[f])) continue;
            opf_term k = {NULL, poly->terms[i].coefficient};
            if (!opf_monomial_divide(pool, poly->terms[i].monomial, factors[f], &k.monomial)) continue;
            if (merge_one(pool, poly, factors[f], k)) return true;
        }
    }
    return false;
}
