/* Canonical integer polynomials: taking apart, adding, multiplying, putting together. */
#include "expr/poly.h"

#include <stdlib.h>

/* ---- storage ---- */

void opf_poly_init(opf_poly *poly, opf_dtype dtype) {
    poly->dtype = dtype;
    poly->constant = 0;
    poly->count = 0;
    poly->capacity = OPF_POLY_INLINE;
    poly->terms = poly->fixed;
}

void opf_poly_free(opf_poly *poly) {
    if (poly->terms != poly->fixed) free(poly->terms);
    poly->terms = poly->fixed;
    poly->count = 0;
}

static void reserve(opf_poly *poly, int count) {
    if (count <= poly->capacity) return;
    int capacity = poly->capacity * 2 > count ? poly->capacity * 2 : count;
    opf_term *terms = malloc((size_t)capacity * sizeof *terms);
    if (!terms) opf_out_of_memory();
    memcpy(terms, poly->terms, (size_t)poly->count * sizeof *terms);
    if (poly->terms != poly->fixed) free(poly->terms);
    poly->terms = terms;
    poly->capacity = capacity;
}

/* Coefficients are kept around zero, also in unsigned types, where they are counted modulo the type's range. */
static int64_t centred(opf_dtype dtype, int64_t value) {
    int bits = opf_dtype_bits(dtype);
    if (bits >= 64) return value;
    uint64_t low = (uint64_t)value & ((UINT64_C(1) << bits) - 1);
    if (low >> (bits - 1)) low |= ~UINT64_C(0) << bits;
    return (int64_t)low;
}

static int64_t sum(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t product(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* Reading order, of factors and of the terms of a finished sum: by first variable, what has none last; then by age. */
static uint64_t reading_key(const opf_expr *e) {
    uint64_t vars = opf_meta(e)->vars;
    return (uint64_t)(vars ? __builtin_ctzll(vars) : 64) << 32 | e->id;
}

/* ---- monomials ---- */

int opf_monomial_factors(const opf_expr *monomial, const opf_expr **factors) {
    int count = 0;
    if (!monomial) return 0;
    const opf_expr *e = monomial;
    while (opf_is_op(e, OPF_OP_MUL) && count < OPF_MONOMIAL_MAX - 1) {
        if (e->args[0]->kind == OPF_EXPR_INT || e->args[1]->kind == OPF_EXPR_INT) break;
        factors[count++] = e->args[1];
        e = e->args[0];
    }
    factors[count++] = e;
    for (int i = 0, j = count - 1; i < j; i++, j--) {
        const opf_expr *swap = factors[i];
        factors[i] = factors[j];
        factors[j] = swap;
    }
    return count;
}

static const opf_expr *chain(opf_pool *pool, const opf_expr *const *factors, int count) {
    if (count == 0) return NULL;
    const opf_expr *e = factors[0];
    for (int i = 1; i < count; i++) e = opf_pool_binary(pool, OPF_OP_MUL, (opf_dtype)e->dtype, e, factors[i]);
    return e;
}

const opf_expr *opf_monomial_from(opf_pool *pool, const opf_expr **factors, int count) {
    for (int i = 1; i < count; i++) {
        const opf_expr *factor = factors[i];
        int j = i;
        for (; j > 0 && reading_key(factors[j - 1]) > reading_key(factor); j--) factors[j] = factors[j - 1];
        factors[j] = factor;
    }
    return chain(pool, factors, count);
}

bool opf_monomial_multiply(opf_pool *pool, const opf_expr *a, const opf_expr *b, const opf_expr **out) {
    if (!a || !b) return *out = a ? a : b, true;
    const opf_expr *factors[2 * OPF_MONOMIAL_MAX];
    int count = opf_monomial_factors(a, factors);
    count += opf_monomial_factors(b, factors + count);
    if (count > OPF_MONOMIAL_MAX) return false;
    *out = opf_monomial_from(pool, factors, count);
    return true;
}

bool opf_monomial_divide(opf_pool *pool, const opf_expr *a, const opf_expr *b, const opf_expr **out) {
    const opf_expr *of_a[OPF_MONOMIAL_MAX], *of_b[OPF_MONOMIAL_MAX], *rest[OPF_MONOMIAL_MAX];
    if (!b) return *out = a, true;
    int n_a = opf_monomial_factors(a, of_a), n_b = opf_monomial_factors(b, of_b), count = 0, j = 0;
    for (int i = 0; i < n_a; i++) {
        if (j < n_b && of_a[i] == of_b[j]) j++;
        else rest[count++] = of_a[i];
    }
    if (j < n_b) return false;
    *out = chain(pool, rest, count);
    return true;
}

const opf_expr *opf_monomial_common(opf_pool *pool, const opf_expr *a, const opf_expr *b) {
    const opf_expr *of_a[OPF_MONOMIAL_MAX], *of_b[OPF_MONOMIAL_MAX], *both[OPF_MONOMIAL_MAX];
    int n_a = opf_monomial_factors(a, of_a), n_b = opf_monomial_factors(b, of_b), count = 0;
    for (int i = 0, j = 0; i < n_a && j < n_b;) {
        if (of_a[i] == of_b[j]) both[count++] = of_a[i++], j++;
        else if (reading_key(of_a[i]) < reading_key(of_b[j])) i++;
        else j++;
    }
    return chain(pool, both, count);
}

/* ---- taking apart ---- */

static bool is_sum(const opf_expr *e) { return opf_is_op(e, OPF_OP_ADD) || (opf_is_op(e, OPF_OP_SUB) && e->n_args == 2); }

bool opf_is_poly(const opf_expr *e) {
    if (!opf_dtype_is_integer((opf_dtype)e->dtype)) return false;
    return is_sum(e) || opf_is_op(e, OPF_OP_MUL) || opf_is_op(e, OPF_OP_NEG);
}

/* e = coefficient * monomial */
static opf_term term_of(const opf_expr *e) {
    if (opf_is_op(e, OPF_OP_NEG)) return (opf_term){e->args[0], -1};
    if (opf_is_op(e, OPF_OP_MUL) && e->args[1]->kind == OPF_EXPR_INT && e->args[0]->kind != OPF_EXPR_INT)
        return (opf_term){e->args[0], centred((opf_dtype)e->dtype, e->args[1]->integer)};
    return (opf_term){e, 1};
}

static void append(opf_poly *poly, const opf_expr *e, int sign) {
    if (e->kind == OPF_EXPR_INT) {
        poly->constant = sum(poly->constant, product(sign, e->integer));
        return;
    }
    opf_term term = term_of(e);
    term.coefficient = product(term.coefficient, sign);
    reserve(poly, poly->count + 1);
    poly->terms[poly->count++] = term;
}

static int by_id(const void *a, const void *b) {
    uint32_t x = ((const opf_term *)a)->monomial->id, y = ((const opf_term *)b)->monomial->id;
    return (x > y) - (x < y);
}

static void sort(opf_poly *poly, int (*order)(const void *, const void *)) {
    if (poly->count > 24) {
        qsort(poly->terms, (size_t)poly->count, sizeof *poly->terms, order);
        return;
    }
    for (int i = 1; i < poly->count; i++) {
        opf_term term = poly->terms[i];
        int j = i;
        for (; j > 0 && order(&poly->terms[j - 1], &term) > 0; j--) poly->terms[j] = poly->terms[j - 1];
        poly->terms[j] = term;
    }
}

void opf_poly_from(opf_poly *poly, const opf_expr *e) {
    const opf_expr *whole = e;
    opf_poly_init(poly, (opf_dtype)e->dtype);
    for (; is_sum(e) && poly->count <= OPF_POLY_MAX_TERMS; e = e->args[0]) append(poly, e->args[1], opf_is_op(e, OPF_OP_ADD) ? 1 : -1);
    if (is_sum(e)) { /* too long to be canonical: an atom */
        poly->constant = 0;
        poly->count = 1;
        poly->terms[0] = (opf_term){whole, 1};
        return;
    }
    append(poly, e, 1);
    poly->constant = centred(poly->dtype, poly->constant);
    sort(poly, by_id);
}

/* ---- arithmetic ---- */

static int find(const opf_poly *poly, const opf_expr *monomial) { /* index, or -1 - place */
    int low = 0, high = poly->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (poly->terms[middle].monomial->id < monomial->id) low = middle + 1;
        else high = middle;
    }
    return low < poly->count && poly->terms[low].monomial == monomial ? low : -1 - low;
}

int64_t opf_poly_coefficient(const opf_poly *poly, const opf_expr *monomial) {
    if (!monomial) return poly->constant;
    int at = find(poly, monomial);
    return at >= 0 ? poly->terms[at].coefficient : 0;
}

void opf_poly_add_term(opf_poly *poly, const opf_expr *monomial, int64_t coefficient) {
    if (!monomial) {
        poly->constant = centred(poly->dtype, sum(poly->constant, coefficient));
        return;
    }
    int at = find(poly, monomial);
    if (at < 0) {
        at = -1 - at;
        reserve(poly, poly->count + 1);
        memmove(poly->terms + at + 1, poly->terms + at, (size_t)(poly->count - at) * sizeof *poly->terms);
        poly->terms[at] = (opf_term){monomial, 0};
        poly->count++;
    }
    poly->terms[at].coefficient = centred(poly->dtype, sum(poly->terms[at].coefficient, coefficient));
    if (poly->terms[at].coefficient == 0) {
        memmove(poly->terms + at, poly->terms + at + 1, (size_t)(poly->count - at - 1) * sizeof *poly->terms);
        poly->count--;
    }
}

void opf_poly_add(opf_poly *poly, const opf_poly *other, int64_t factor) {
    opf_poly_add_term(poly, NULL, product(other->constant, factor));
    for (int i = 0; i < other->count; i++)
        opf_poly_add_term(poly, other->terms[i].monomial, product(other->terms[i].coefficient, factor));
}

void opf_poly_add_expr(opf_poly *poly, const opf_expr *e, int64_t factor) {
    opf_poly other;
    opf_poly_from(&other, e);
    opf_poly_add(poly, &other, factor);
    opf_poly_free(&other);
}

static bool multiply_into(opf_pool *pool, opf_poly *out, const opf_poly *a, opf_term by) {
    opf_poly_add_term(out, by.monomial, product(a->constant, by.coefficient));
    for (int i = 0; i < a->count; i++) {
        const opf_expr *monomial;
        if (!opf_monomial_multiply(pool, a->terms[i].monomial, by.monomial, &monomial)) return false;
        opf_poly_add_term(out, monomial, product(a->terms[i].coefficient, by.coefficient));
    }
    return out->count <= OPF_POLY_MAX_TERMS;
}

bool opf_poly_multiply(opf_pool *pool, opf_poly *out, const opf_poly *a, const opf_poly *b) {
    opf_poly_init(out, a->dtype);
    bool fits = multiply_into(pool, out, a, (opf_term){NULL, b->constant});
    for (int i = 0; fits && i < b->count; i++) fits = multiply_into(pool, out, a, b->terms[i]);
    if (!fits) opf_poly_free(out);
    return fits;
}

bool opf_poly_contains(const opf_poly *poly, const opf_poly *part) {
    if (part->constant != 0 && part->constant != poly->constant) return false;
    for (int i = 0; i < part->count; i++)
        if (opf_poly_coefficient(poly, part->terms[i].monomial) != part->terms[i].coefficient) return false;
    return true;
}

/* ---- putting together ---- */

static const opf_expr *constant_expr(opf_pool *pool, opf_dtype dtype, int64_t value) { return opf_int_of(pool, dtype, value); }

static const opf_expr *term_expr(opf_pool *pool, opf_dtype dtype, const opf_expr *monomial, int64_t coefficient) {
    if (coefficient == 1) return monomial;
    if (coefficient == -1) return opf_pool_unary(pool, OPF_OP_NEG, dtype, monomial);
    return opf_pool_binary(pool, OPF_OP_MUL, dtype, monomial, constant_expr(pool, dtype, coefficient));
}

static bool negative(const opf_term *term) { return term->coefficient < 0 && term->coefficient != INT64_MIN; }

static int by_reading(const void *a, const void *b) {
    uint64_t x = reading_key(((const opf_term *)a)->monomial), y = reading_key(((const opf_term *)b)->monomial);
    return (x > y) - (x < y);
}

static const opf_expr *build_sorted(opf_pool *pool, const opf_poly *poly) {
    opf_dtype dtype = poly->dtype;
    const opf_expr *e = NULL;
    int64_t constant = poly->constant;
    for (int i = 0; i < poly->count; i++) {
        if (negative(&poly->terms[i])) continue;
        const opf_expr *term = term_expr(pool, dtype, poly->terms[i].monomial, poly->terms[i].coefficient);
        e = e ? opf_pool_binary(pool, OPF_OP_ADD, dtype, e, term) : term;
    }
    if (!e && (constant > 0 || poly->count == 0)) {
        e = constant_expr(pool, dtype, constant);
        constant = 0;
    }
    for (int i = 0; i < poly->count; i++) {
        if (!negative(&poly->terms[i])) continue;
        const opf_term *term = &poly->terms[i];
        if (!e) e = term_expr(pool, dtype, term->monomial, term->coefficient);
        else e = opf_pool_binary(pool, OPF_OP_SUB, dtype, e, term_expr(pool, dtype, term->monomial, -term->coefficient));
    }
    if (constant == 0) return e;
    if (constant < 0 && constant != INT64_MIN) return opf_pool_binary(pool, OPF_OP_SUB, dtype, e, constant_expr(pool, dtype, -constant));
    return opf_pool_binary(pool, OPF_OP_ADD, dtype, e, constant_expr(pool, dtype, constant));
}

const opf_expr *opf_poly_build(opf_pool *pool, opf_poly *poly) {
    while (opf_poly_merge_divisions(pool, poly)) {}
    sort(poly, by_reading);
    const opf_expr *e = build_sorted(pool, poly);
    sort(poly, by_id);
    return e;
}

void opf_poly_atoms(const opf_expr *e, void (*visit)(const opf_expr *atom, void *data), void *data) {
    opf_poly poly;
    opf_poly_from(&poly, e);
    const opf_expr *factors[OPF_MONOMIAL_MAX];
    for (int i = 0; i < poly.count; i++) {
        int count = opf_monomial_factors(poly.terms[i].monomial, factors);
        for (int k = 0; k < count; k++) visit(factors[k], data);
    }
    opf_poly_free(&poly);
}
