/* Comparisons of integers. a <= b becomes "positive terms + constant >= negative terms", so that equal conditions are one
 * expression however they were written, and reads as 0 <= h, h < H, i <= j. */
#include "expr/build.h"

/* Decides a comparison from bounds of b - a; -1: open. */
static int decide(opf_scalar_op op, opf_interval difference) {
    switch (op) {
    case OPF_OP_LE: return difference.low >= 0 ? 1 : difference.high < 0 ? 0 : -1;
    case OPF_OP_EQ: return difference.low == 0 && difference.high == 0 ? 1 : difference.low > 0 || difference.high < 0 ? 0 : -1;
    default: return -1;
    }
}

/* Divides poly >= 0 (or == 0) by what its terms have in common; false: an equation without solution. */
static bool reduce(opf_poly *poly, bool equation) {
    int64_t common = 0;
    for (int i = 0; i < poly->count; i++) common = opf_greatest_divisor(common, poly->terms[i].coefficient);
    if (common <= 1) return true;
    if (equation && poly->constant % common != 0) return false;
    for (int i = 0; i < poly->count; i++) poly->terms[i].coefficient /= common;
    poly->constant = opf_scalar_eval_int(OPF_OP_FLOORDIV, OPF_INT64, poly->constant, common);
    return true;
}

/* Positive terms of sign * poly, with a constant. */
static const opf_expr *side(opf_pool *pool, const opf_poly *poly, int sign, int64_t constant) {
    opf_poly part;
    opf_poly_init(&part, poly->dtype);
    for (int i = 0; i < poly->count; i++)
        if ((poly->terms[i].coefficient > 0) == (sign > 0)) opf_poly_add_term(&part, poly->terms[i].monomial, poly->terms[i].coefficient * sign);
    opf_poly_add_term(&part, NULL, constant);
    const opf_expr *e = opf_poly_build(pool, &part);
    opf_poly_free(&part);
    return e;
}

static const opf_expr *node(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    return opf_pool_binary(pool, op, OPF_BOOL, a, b);
}

/* poly >= 0 */
static const opf_expr *inequality(opf_pool *pool, opf_poly *poly) {
    bool positive = false, negative = false;
    for (int i = 0; i < poly->count; i++) *(poly->terms[i].coefficient > 0 ? &positive : &negative) = true;
    int64_t c = poly->constant;
    if (!negative) return node(pool, OPF_OP_LE, opf_int(pool, -c), side(pool, poly, 1, 0));
    if (positive && c == 0) return node(pool, OPF_OP_LE, side(pool, poly, -1, 0), side(pool, poly, 1, 0));
    if (!positive || c > 0) return node(pool, OPF_OP_LT, side(pool, poly, -1, 0), side(pool, poly, 1, c + 1));
    return node(pool, OPF_OP_LT, side(pool, poly, -1, -c - 1), side(pool, poly, 1, 0));
}

static const opf_expr *equation(opf_pool *pool, opf_poly *poly) {
    int sign = poly->terms[0].coefficient > 0 ? 1 : -1;
    int64_t c = poly->constant * sign;
    return node(pool, OPF_OP_EQ, side(pool, poly, sign, c > 0 ? c : 0), side(pool, poly, -sign, c < 0 ? -c : 0));
}

static bool moderate(const opf_poly *poly) {
    const int64_t limit = INT64_C(1) << 61;
    bool fits = poly->constant < limit && poly->constant > -limit;
    for (int i = 0; i < poly->count; i++) fits = fits && poly->terms[i].coefficient < limit && poly->terms[i].coefficient > -limit;
    return fits;
}

/* a <= b or a == b for sizes and indices, which do not wrap around. */
static const opf_expr *compare_sizes(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    const opf_expr *difference = opf_sub(pool, b, a), *result;
    int decided = decide(op, opf_interval_of(difference));
    if (decided >= 0) return opf_int_of(pool, OPF_BOOL, decided);
    opf_poly poly;
    opf_poly_from(&poly, difference);
    if (!moderate(&poly) || poly.count == 0) result = node(pool, op, a, b);
    else if (!reduce(&poly, op == OPF_OP_EQ)) result = opf_int_of(pool, OPF_BOOL, 0);
    else result = op == OPF_OP_EQ ? equation(pool, &poly) : inequality(pool, &poly);
    opf_poly_free(&poly);
    return result;
}

static const opf_expr *compare_data(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    if (a->dtype == OPF_UINT64) return node(pool, op, a, b);
    int decided = decide(op, opf_interval_op(OPF_OP_SUB, opf_interval_of(b), opf_interval_of(a)));
    return decided >= 0 ? opf_int_of(pool, OPF_BOOL, decided) : node(pool, op, a, b);
}

static const opf_expr *compare(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    if (a == b) return opf_int_of(pool, OPF_BOOL, 1);
    bool sizes = a->dtype == OPF_INT64 && !opf_expr_is_data(a) && !opf_expr_is_data(b);
    return sizes ? compare_sizes(pool, op, a, b) : compare_data(pool, op, a, b);
}

const opf_expr *opf_compare_integers(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    bool sizes = a->dtype == OPF_INT64 && !opf_expr_is_data(a) && !opf_expr_is_data(b);
    switch (op) {
    case OPF_OP_LE: return compare(pool, OPF_OP_LE, a, b);
    case OPF_OP_GE: return compare(pool, OPF_OP_LE, b, a);
    case OPF_OP_EQ: return compare(pool, OPF_OP_EQ, a, b);
    case OPF_OP_LT: /* for sizes a < b is a + 1 <= b; data could wrap around */
        if (sizes) return compare(pool, OPF_OP_LE, opf_add(pool, a, opf_int(pool, 1)), b);
        if (a == b) return opf_int_of(pool, OPF_BOOL, 0);
        return opf_unary(pool, OPF_OP_NOT, compare(pool, OPF_OP_LE, b, a));
    case OPF_OP_GT: return opf_compare_integers(pool, OPF_OP_LT, b, a);
    default: /* NE */
        return opf_unary(pool, OPF_OP_NOT, compare(pool, OPF_OP_EQ, a, b));
    }
}
