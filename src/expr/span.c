/* Between which numbers a floating expression stays, as far as limits written into it tell. */
#include <math.h>

#include "expr/node.h"

typedef struct span { double low, high; } span;

static const span all_numbers = {-INFINITY, INFINITY};

static span span_of(const opf_expr *e);

/* Of a NaN either gives NaN, which no span holds. */
static span span_of_binary(const opf_expr *e) {
    span a = span_of(e->args[0]), b = span_of(e->args[1]);
    if (e->op == OPF_OP_MIN) return (span){fmin(a.low, b.low), fmin(a.high, b.high)};
    if (e->op == OPF_OP_MAX) return (span){fmax(a.low, b.low), fmax(a.high, b.high)};
    return all_numbers;
}

/* Roundings to integers keep the order of what they round. */
static span span_of_unary(const opf_expr *e) {
    span a = span_of(e->args[0]);
    switch ((opf_scalar_op)e->op) {
    case OPF_OP_FLOOR: return (span){floor(a.low), floor(a.high)};
    case OPF_OP_CEIL: return (span){ceil(a.low), ceil(a.high)};
    case OPF_OP_ROUND: return (span){nearbyint(a.low), nearbyint(a.high)};
    case OPF_OP_TRUNC: return (span){trunc(a.low), trunc(a.high)};
    default: return all_numbers;
    }
}

static span span_of(const opf_expr *e) {
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_FLOAT: return isnan(e->real) ? all_numbers : (span){e->real, e->real};
    case OPF_EXPR_UNARY: return span_of_unary(e);
    case OPF_EXPR_BINARY: return span_of_binary(e);
    default: return all_numbers;
    }
}

bool opf_expr_fits(const opf_expr *e, opf_dtype dtype) {
    span s = span_of(e);
    int64_t low, high;
    opf_dtype_range(dtype, &low, &high);
    return s.low >= (double)low && s.high < (double)high + 1;
}
