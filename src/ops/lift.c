/* Shape arithmetic back in int64. */
#include "ops/lift.h"

#include <math.h>

typedef struct lifting {
    opf_module *module;
    opf_pool *pool;
    const char *why;
} lifting;

static const opf_expr *lift(lifting *l, const opf_expr *e);

static const opf_domain no_variables = {0, NULL};

/* Records that e stays within ±limit. */
static void require_within(lifting *l, const opf_expr *e, int64_t limit) {
    const opf_expr *high = opf_int(l->pool, limit), *low = opf_int(l->pool, -limit);
    opf_module_guard(l->module, OPF_GUARD_GE, high, e, l->why);
    opf_module_guard(l->module, OPF_GUARD_GE, e, low, l->why);
}

static bool is_signed(opf_dtype dtype) { return dtype == OPF_INT32 || dtype == OPF_INT64; }

/* ---- floating expressions that are numerator / divisor, exactly ---- */

typedef struct ratio {
    const opf_expr *numerator; /* int64; NULL: the expression is no such ratio */
    int64_t divisor;           /* a power of two */
} ratio;

static const ratio no_ratio = {NULL, 1};

enum { LARGEST_FACTOR = 1 << 10 };

/* A number that is a small integer over a small power of two, such as 2 or 0.125. */
static ratio number_ratio(lifting *l, double value) {
    for (int64_t divisor = 1; divisor <= LARGEST_FACTOR; divisor *= 2) {
        double numerator = value * (double)divisor;
        if (numerator == floor(numerator) && fabs(numerator) <= LARGEST_FACTOR) return (ratio){opf_int(l->pool, (int64_t)numerator), divisor};
    }
    return no_ratio;
}

static ratio lift_ratio(lifting *l, const opf_expr *e);

static ratio product_ratio(lifting *l, ratio a, ratio b) {
    if (!a.numerator || !b.numerator || a.divisor > LARGEST_FACTOR || b.divisor > LARGEST_FACTOR) return no_ratio;
    return (ratio){opf_mul(l->pool, a.numerator, b.numerator), a.divisor * b.divisor};
}

static ratio sum_ratio(lifting *l, ratio a, ratio b, opf_scalar_op op) {
    if (!a.numerator || !b.numerator) return no_ratio;
    int64_t divisor = a.divisor > b.divisor ? a.divisor : b.divisor;
    const opf_expr *left = opf_mul(l->pool, a.numerator, opf_int(l->pool, divisor / a.divisor));
    const opf_expr *right = opf_mul(l->pool, b.numerator, opf_int(l->pool, divisor / b.divisor));
    return (ratio){opf_binary(l->pool, op, left, right), divisor};
}

/* a / b for a number b whose reciprocal is a ratio. */
static ratio quotient_ratio(lifting *l, ratio a, const opf_expr *b) {
    if (b->kind != OPF_EXPR_FLOAT || b->real == 0) return no_ratio;
    double reciprocal = 1 / b->real;
    return reciprocal * b->real == 1 ? product_ratio(l, a, number_ratio(l, reciprocal)) : no_ratio;
}

static ratio binary_ratio(lifting *l, const opf_expr *e) {
    ratio a = lift_ratio(l, e->args[0]);
    switch (e->op) {
    case OPF_OP_MUL: return product_ratio(l, a, lift_ratio(l, e->args[1]));
    case OPF_OP_ADD: case OPF_OP_SUB: return sum_ratio(l, a, lift_ratio(l, e->args[1]), (opf_scalar_op)e->op);
    case OPF_OP_DIV: return quotient_ratio(l, a, e->args[1]);
    default: return no_ratio;
    }
}

/* floor, ceil: back to a whole number. */
static ratio rounded_ratio(lifting *l, const opf_expr *e) {
    ratio a = lift_ratio(l, e->args[0]);
    const opf_expr *divisor = opf_int(l->pool, a.divisor);
    if (!a.numerator) return no_ratio;
    if (e->op == OPF_OP_FLOOR) return (ratio){opf_floordiv(l->pool, a.numerator, divisor), 1};
    if (e->op == OPF_OP_CEIL) return (ratio){opf_ceildiv(l->pool, a.numerator, divisor), 1};
    return a.divisor == 1 && (e->op == OPF_OP_ROUND || e->op == OPF_OP_TRUNC) ? a : no_ratio;
}

/* Is every whole number up to this one a number of the type? */
static int64_t exact_limit(opf_dtype dtype) {
    switch (dtype) {
    case OPF_FLOAT64: return 1ll << 53;
    case OPF_FLOAT32: return 1ll << 24;
    default: return 0;
    }
}

static ratio ratio_parts(lifting *l, const opf_expr *e) {
    switch (e->kind) {
    case OPF_EXPR_FLOAT: return number_ratio(l, e->real);
    case OPF_EXPR_BINARY: return binary_ratio(l, e);
    case OPF_EXPR_UNARY: return rounded_ratio(l, e);
    case OPF_EXPR_CAST:
        if (is_signed((opf_dtype)e->args[0]->dtype)) return (ratio){lift(l, e->args[0]), 1};
        return opf_dtype_is_float((opf_dtype)e->args[0]->dtype) ? lift_ratio(l, e->args[0]) : no_ratio;
    default: return no_ratio;
    }
}

/* A ratio is exact in its type as long as the numerator has no more bits than the type's numbers. */
static ratio lift_ratio(lifting *l, const opf_expr *e) {
    int64_t limit = exact_limit((opf_dtype)e->dtype);
    ratio found = limit ? ratio_parts(l, e) : no_ratio;
    if (found.numerator) require_within(l, found.numerator, limit);
    return found;
}

/* A cast from a floating type drops the fraction; of a ratio that is never negative, that is its floor. */
static const opf_expr *lift_from_float(lifting *l, const opf_expr *e) {
    ratio found = lift_ratio(l, e->args[0]);
    if (!found.numerator || !opf_expr_prove_le(l->pool, opf_int(l->pool, 0), found.numerator, no_variables)) return NULL;
    return opf_floordiv(l->pool, found.numerator, opf_int(l->pool, found.divisor));
}

/* ---- integers ---- */

static const opf_expr *lift_cast(lifting *l, const opf_expr *e) {
    opf_dtype from = (opf_dtype)e->args[0]->dtype;
    if (opf_dtype_is_float(from)) return lift_from_float(l, e);
    if (!is_signed(from)) return NULL;
    const opf_expr *value = lift(l, e->args[0]);
    if (e->dtype == OPF_INT32) require_within(l, value, INT32_MAX);
    return value;
}

static bool keeps_meaning(opf_scalar_op op) {
    switch (op) {
    case OPF_OP_NEG: case OPF_OP_ABS: case OPF_OP_SIGN: case OPF_OP_ADD: case OPF_OP_SUB: case OPF_OP_MUL: case OPF_OP_DIV:
    case OPF_OP_FLOORDIV: case OPF_OP_FLOORMOD: case OPF_OP_FMOD: case OPF_OP_MIN: case OPF_OP_MAX: return true;
    default: return false;
    }
}

static const opf_expr *lift_parts(lifting *l, const opf_expr *e) {
    switch (e->kind) {
    case OPF_EXPR_INT: return opf_int(l->pool, e->integer);
    case OPF_EXPR_UNARY: return keeps_meaning((opf_scalar_op)e->op) ? opf_unary(l->pool, (opf_scalar_op)e->op, lift(l, e->args[0])) : NULL;
    case OPF_EXPR_BINARY:
        if (!keeps_meaning((opf_scalar_op)e->op)) return NULL;
        return opf_binary(l->pool, (opf_scalar_op)e->op, lift(l, e->args[0]), lift(l, e->args[1]));
    case OPF_EXPR_SELECT: return opf_select(l->pool, e->args[0], lift(l, e->args[1]), lift(l, e->args[2]));
    case OPF_EXPR_CAST: return lift_cast(l, e);
    default: return NULL;
    }
}

static const opf_expr *lift(lifting *l, const opf_expr *e) {
    const opf_expr *lifted = is_signed((opf_dtype)e->dtype) ? lift_parts(l, e) : NULL;
    if (lifted) return lifted;
    return e->dtype == OPF_INT64 ? e : opf_cast(l->pool, OPF_INT64, e);
}

const opf_expr *opf_lift(opf_module *module, const opf_expr *e, const char *why) {
    lifting l = {module, module->pool, why};
    const opf_expr *lifted = lift(&l, e);
    if (e->dtype == OPF_INT32) require_within(&l, lifted, INT32_MAX);
    return lifted;
}
