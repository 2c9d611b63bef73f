/* Of an expression with operands that are off: how far it may be off, as an expression of the same operands (bound.c). */
#include "check/bounding.h"

#include <float.h>
#include <math.h>

/* What comes of an infinity is infinite however far other operands are off; unless one of these, off by ea and eb, may be anything. */
static const opf_expr *unless_infinite(opf_bounding *b, const opf_expr *e, const opf_expr *ea, const opf_expr *eb, const opf_expr *error) {
    if (!error || roundoff((opf_dtype)e->dtype) <= 0) return error;
    error = opf_select(b->pool, unary(b, OPF_OP_ISINF, e), number(b, 0), error);
    return opf_select(b->pool, unary(b, OPF_OP_ISINF, larger(b, ea, eb)), number(b, INFINITY), error);
}

/* A bound speaks of finite numbers, and the evaluator holds operands in double. Where |e| + ea is beyond float32, the program may have
 * an infinity instead; of e's own sign as long as ea is below |e|. Each operation allows for such operands. NULL: never. */
static const opf_expr *overflows(opf_bounding *b, const opf_expr *e, const opf_expr *ea) {
    bool is_input = e->kind == OPF_EXPR_LOAD && e->index < (int)b->group->stages.inputs.count;
    if (e->dtype != OPF_FLOAT32 || is_input || !opf_expr_has_load(e)) return NULL;
    const opf_expr *finite = unary(b, OPF_OP_NOT, unary(b, OPF_OP_ISINF, e));
    return opf_binary(b->pool, OPF_OP_AND, finite, opf_binary(b->pool, OPF_OP_GT, plus(b, magnitude(b, e), ea), number(b, FLT_MAX)));
}

/* Of an operation that makes something else of an infinity than of a number as large. */
const opf_expr *opf_bound_open_beyond(opf_bounding *b, const opf_expr *operand, const opf_expr *ea, const opf_expr *error) {
    const opf_expr *beyond = overflows(b, operand, ea);
    return beyond ? opf_select(b->pool, beyond, number(b, INFINITY), error ? error : number(b, 0)) : error;
}

/* Of a sum with an operand like that: infinite too, and as large as to say so, where the sum has the operand's sign (`turned`: the other).
 * Infinities of both signs give a NaN: one of them has not the sum's. */
static const opf_expr *open_sum(opf_bounding *b, const opf_expr *e, const opf_expr *operand, bool turned, const opf_expr *ea, const opf_expr *error) {
    const opf_expr *beyond = overflows(b, operand, ea), *zero = number(b, 0);
    if (!beyond) return error;
    const opf_expr *large = opf_binary(b->pool, OPF_OP_GT, plus(b, magnitude(b, e), error), number(b, FLT_MAX));
    const opf_expr *sure = ea ? opf_binary(b->pool, OPF_OP_LT, ea, magnitude(b, operand)) : NULL;
    const opf_expr *sign = opf_binary(b->pool, turned ? OPF_OP_LT : OPF_OP_GT, times(b, opf_unary(b->pool, OPF_OP_SIGN, e), operand), zero);
    const opf_expr *holds = opf_binary(b->pool, OPF_OP_AND, large, sure ? opf_binary(b->pool, OPF_OP_AND, sure, sign) : sign);
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_AND, beyond, unary(b, OPF_OP_NOT, holds)), number(b, INFINITY), error ? error : zero);
}

/* But where an operand, off by ea, may lie on an edge at which the function becomes infinite (a divisor on zero), anything may come. */
static const opf_expr *open_at(opf_bounding *b, const opf_expr *gap, const opf_expr *ea, const opf_expr *error) {
    if (!ea) return error;
    const opf_expr *zero = number(b, 0), *off = opf_binary(b->pool, OPF_OP_GT, ea, zero), *reaches = opf_binary(b->pool, OPF_OP_LE, gap, zero);
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_AND, off, reaches), number(b, INFINITY), error ? error : zero);
}

/* Of integers: right, or off by one step more than the operand. */
static const opf_expr *stepped(opf_bounding *b, const opf_expr *error) { return error ? plus(b, error, number(b, 1)) : NULL; }

/* How far x is from where a rounding to integers steps. */
static const opf_expr *from_step(opf_bounding *b, opf_scalar_op op, const opf_expr *x) {
    if (op == OPF_OP_SIGN) return unary(b, OPF_OP_ABS, x);
    const opf_expr *below = unary(b, op == OPF_OP_ROUND ? OPF_OP_FLOOR : OPF_OP_ROUND, x), *over_it = opf_binary(b->pool, OPF_OP_SUB, x, below);
    return unary(b, OPF_OP_ABS, op == OPF_OP_ROUND ? less(b, over_it, number(b, 0.5)) : over_it);
}

/* A floating number rounded to an integer, or its sign: off by a step more than its operand where that may be on either side of the
 * step, else right. `op`: how it steps. */
static const opf_expr *stepped_near(opf_bounding *b, opf_scalar_op op, const opf_expr *operand, const opf_expr *ea) {
    if (!ea) return NULL;
    const opf_expr *x = operand->dtype == OPF_FLOAT32 ? operand : opf_cast(b->pool, OPF_FLOAT32, operand);
    const opf_expr *exact = opf_binary(b->pool, OPF_OP_LE, ea, number(b, 0)); /* on the step itself, but for sure */
    const opf_expr *right = opf_binary(b->pool, OPF_OP_OR, exact, opf_binary(b->pool, OPF_OP_GT, from_step(b, op, x), ea));
    return opf_select(b->pool, right, number(b, 0), stepped(b, ea));
}

/* e^a times (e^ea - 1); where that factor is large e^(a + ea), which is more: of a mask's -3e38, off by 2e31, both are 0. */
static const opf_expr *grown_exponential(opf_bounding *b, const opf_expr *e, const opf_expr *ea) {
    const opf_expr *a = opf_cast(b->pool, OPF_FLOAT32, e->args[0]), *f = magnitude(b, e);
    const opf_expr *small = opf_binary(b->pool, OPF_OP_LT, ea, number(b, 1));
    return opf_select(b->pool, small, times(b, f, unary(b, OPF_OP_EXPM1, ea)), unary(b, OPF_OP_EXP, plus(b, a, ea)));
}

/* The error of f(a) where a is off by `ea`, without f's own rounding. */
static const opf_expr *grown(opf_bounding *b, const opf_expr *e, const opf_expr *ea) {
    const opf_expr *a = magnitude(b, e->args[0]), *f = magnitude(b, e), *one = number(b, 1);
    if (!ea) return NULL;
    switch (e->op) {
    case OPF_OP_NEG: case OPF_OP_ABS: case OPF_OP_TANH: case OPF_OP_SIN: case OPF_OP_COS: case OPF_OP_ATAN: case OPF_OP_ASINH: return ea;
    case OPF_OP_ERF: return scaled(b, 1.1284, ea);
    case OPF_OP_SQRT: return opf_binary(b->pool, OPF_OP_MIN, unary(b, OPF_OP_SQRT, ea), over(b, ea, f));
    case OPF_OP_EXP: return grown_exponential(b, e, ea);
    case OPF_OP_EXPM1: case OPF_OP_SINH: case OPF_OP_COSH: return times(b, plus(b, f, one), unary(b, OPF_OP_EXPM1, ea));
    case OPF_OP_LOG: return over_gap(b, ea, less(b, a, ea));
    case OPF_OP_LOG1P: return over_gap(b, ea, less(b, less(b, one, a), ea));
    case OPF_OP_TAN: return times(b, plus(b, one, times(b, f, f)), scaled(b, 2, ea));
    case OPF_OP_ATANH: return over_gap(b, ea, less(b, one, times(b, plus(b, a, ea), plus(b, a, ea))));
    case OPF_OP_FLOOR: case OPF_OP_CEIL: case OPF_OP_ROUND: case OPF_OP_TRUNC: case OPF_OP_SIGN: return stepped_near(b, (opf_scalar_op)e->op, e->args[0], ea);
    default: return lose(b);
    }
}

/* Functions of an infinity that are infinite, or near what they are of the largest numbers. */
static bool takes_infinities(opf_scalar_op op) {
    switch (op) {
    case OPF_OP_NEG: case OPF_OP_ABS: case OPF_OP_EXP: case OPF_OP_EXPM1: case OPF_OP_SINH: case OPF_OP_COSH: case OPF_OP_TANH: case OPF_OP_ERF: case OPF_OP_ATAN:
    case OPF_OP_FLOOR: case OPF_OP_CEIL: case OPF_OP_ROUND: case OPF_OP_TRUNC: case OPF_OP_SIGN: return true;
    default: return false;
    }
}

/* Errors of the prelude's functions in ULP of the result, rounded up (docs/numerics.md); ULP are two roundoffs. */
static double own_error(const opf_expr *e) {
    switch (e->op) {
    case OPF_OP_NEG: case OPF_OP_ABS: case OPF_OP_SIGN: case OPF_OP_FLOOR: case OPF_OP_CEIL: case OPF_OP_ROUND: case OPF_OP_TRUNC: case OPF_OP_MIN: case OPF_OP_MAX: case OPF_OP_FMOD: return 0;
    case OPF_OP_ADD: case OPF_OP_SUB: case OPF_OP_MUL: case OPF_OP_DIV: case OPF_OP_SQRT: return 1;
    default: return OPF_BOUND_FUNCTION_ERROR;
    }
}

static const opf_expr *bound_unary(opf_bounding *b, const opf_expr *e) {
    const opf_expr *ea = opf_bound_of(b, e->args[0]);
    if (e->op == OPF_OP_ISNAN || e->op == OPF_OP_ISINF) return NULL; /* rounding makes no NaN, and an overflow shows elsewhere */
    if (e->op == OPF_OP_NOT) return ea;
    if (!opf_dtype_is_float((opf_dtype)e->dtype) && e->op != OPF_OP_NEG && e->op != OPF_OP_ABS && e->op != OPF_OP_SIGN) return ea ? lose(b) : NULL;
    const opf_expr *error = unless_infinite(b, e, ea, NULL, grown(b, e, ea)), *a = ea ? magnitude(b, e->args[0]) : NULL, *one = number(b, 1);
    if (e->op == OPF_OP_LOG) error = open_at(b, ea ? less(b, a, ea) : NULL, ea, error);
    else if (e->op == OPF_OP_LOG1P || e->op == OPF_OP_ATANH) error = open_at(b, ea ? less(b, less(b, one, a), ea) : NULL, ea, error);
    if (!takes_infinities((opf_scalar_op)e->op)) error = opf_bound_open_beyond(b, e->args[0], ea, error);
    return plus(b, error, own_error(e) > 0 ? rounded(b, e, own_error(e)) : NULL);
}

/* Is x beyond float32 in the program alone, and y too, or infinite? Then both are infinite, and equal. NULL: never. */
static const opf_expr *both_infinite(opf_bounding *b, const opf_expr *x, const opf_expr *ea, const opf_expr *y, const opf_expr *eb) {
    const opf_expr *beyond = overflows(b, x, ea);
    return beyond ? opf_binary(b->pool, OPF_OP_AND, beyond, opf_binary(b->pool, OPF_OP_GT, plus(b, magnitude(b, y), eb), number(b, FLT_MAX))) : NULL;
}

/* A comparison of what may be off: as good as open where the two are that near. 1 there, as a condition's error. */
static const opf_expr *bound_comparison(opf_bounding *b, const opf_expr *e) {
    const opf_expr *ea = opf_bound_of(b, e->args[0]), *eb = opf_bound_of(b, e->args[1]), *off = plus(b, ea, eb);
    if (!off) return NULL;
    const opf_expr *x = opf_cast(b->pool, OPF_FLOAT32, e->args[0]), *y = opf_cast(b->pool, OPF_FLOAT32, e->args[1]);
    const opf_expr *near = opf_binary(b->pool, OPF_OP_LE, unary(b, OPF_OP_ABS, opf_binary(b->pool, OPF_OP_SUB, x, y)), off);
    const opf_expr *infinite[] = {both_infinite(b, e->args[0], ea, e->args[1], eb), both_infinite(b, e->args[1], eb, e->args[0], ea)};
    for (int k = 0; k < 2; k++)
        if (infinite[k]) near = opf_binary(b->pool, OPF_OP_OR, near, infinite[k]);
    return opf_select(b->pool, near, number(b, 1), number(b, 0));
}

static bool is_whole_power(const opf_expr *e) { return e->args[1]->kind == OPF_EXPR_FLOAT && e->args[1]->real >= 1 && e->args[1]->real == floor(e->args[1]->real); }

/* A whole constant exponent p: (|a| + ea)^p - |a|^p, which holds where a is 0, too. */
static const opf_expr *bound_power(opf_bounding *b, const opf_expr *e, const opf_expr *ea, const opf_expr *eb) {
    const opf_expr *a = magnitude(b, e->args[0]), *f = magnitude(b, e), *p = e->args[1], *relative = NULL;
    if (ea && is_whole_power(e)) return less(b, opf_binary(b->pool, OPF_OP_POW, plus(b, a, ea), number(b, p->real)), f);
    if (ea) relative = times(b, magnitude(b, e->args[1]), over_gap(b, ea, less(b, a, ea)));
    if (eb) relative = plus(b, relative, times(b, eb, magnitude(b, unary(b, OPF_OP_LOG, a))));
    return relative ? times(b, f, unary(b, OPF_OP_EXPM1, relative)) : NULL;
}

/* Off by how much a quotient is, without its own rounding. A divisor that is beyond float32 leaves zero in the program. */
static const opf_expr *bound_quotient(opf_bounding *b, const opf_expr *e, const opf_expr *ea, const opf_expr *eb) {
    if (!ea && !eb) return NULL;
    const opf_expr *quotient = magnitude(b, e), *gap = less(b, magnitude(b, e->args[1]), eb), *beyond = overflows(b, e->args[1], eb);
    const opf_expr *error = over_gap(b, plus(b, ea, times(b, quotient, eb)), gap);
    error = open_at(b, gap, eb, unless_infinite(b, e, ea, eb, error));
    error = beyond ? opf_select(b->pool, beyond, plus(b, quotient, error), error) : error;
    return opf_bound_open_beyond(b, e->args[0], ea, error);
}

static const opf_expr *bound_binary(opf_bounding *b, const opf_expr *e) {
    if (opf_scalar_ops[e->op].compares) return bound_comparison(b, e);
    const opf_expr *ea = opf_bound_of(b, e->args[0]), *eb = opf_bound_of(b, e->args[1]), *grown = NULL;
    const opf_expr *x = ea || eb ? magnitude(b, e->args[0]) : NULL, *y = ea || eb ? magnitude(b, e->args[1]) : NULL;
    switch (e->op) {
    case OPF_OP_ADD: case OPF_OP_SUB: grown = plus(b, ea, eb); break;
    case OPF_OP_MUL: grown = plus(b, plus(b, times(b, x, eb), times(b, y, ea)), times(b, ea, eb)); break;
    case OPF_OP_DIV: grown = bound_quotient(b, e, ea, eb); break;
    case OPF_OP_MIN: case OPF_OP_MAX: grown = larger(b, ea, eb); break;
    case OPF_OP_POW: grown = bound_power(b, e, ea, eb); break;
    case OPF_OP_AND: case OPF_OP_OR: case OPF_OP_XOR: grown = larger(b, ea, eb); break;
    default: grown = ea || eb ? lose(b) : NULL;
    }
    if (!opf_dtype_is_float((opf_dtype)e->dtype)) return e->op == OPF_OP_DIV ? stepped(b, grown) : grown;
    if (e->op != OPF_OP_DIV) grown = unless_infinite(b, e, ea, eb, grown);
    if (e->op == OPF_OP_ADD || e->op == OPF_OP_SUB) grown = open_sum(b, e, e->args[0], false, ea, open_sum(b, e, e->args[1], e->op == OPF_OP_SUB, eb, grown));
    if (e->op == OPF_OP_MUL || e->op == OPF_OP_POW) grown = opf_bound_open_beyond(b, e->args[0], ea, opf_bound_open_beyond(b, e->args[1], eb, grown));
    if (e->op == OPF_OP_POW && !is_whole_power(e)) grown = open_at(b, ea ? less(b, x, ea) : NULL, ea, grown);
    const opf_expr *own = own_error(e) > 0 ? rounded(b, e, own_error(e)) : NULL;
    bool by_remainders = e->op == OPF_OP_DIV && e->args[1]->kind == OPF_EXPR_FLOAT; /* opf_quotient_f32 below 2^-80 */
    return plus(b, grown, by_remainders ? plus(b, own, number(b, 0x1p-102)) : own);
}

/* Where the condition is open, both sides may have been taken. */
static const opf_expr *bound_select(opf_bounding *b, const opf_expr *e) {
    const opf_expr *open = opf_bound_of(b, e->args[0]), *then = opf_bound_of(b, e->args[1]), *otherwise = opf_bound_of(b, e->args[2]), *zero = number(b, 0);
    const opf_expr *chosen = then || otherwise ? opf_select(b->pool, e->args[0], then ? then : zero, otherwise ? otherwise : zero) : NULL;
    if (!open) return chosen;
    const opf_expr *x = opf_cast(b->pool, OPF_FLOAT32, e->args[1]), *y = opf_cast(b->pool, OPF_FLOAT32, e->args[2]);
    const opf_expr *apart = unary(b, OPF_OP_ABS, opf_binary(b->pool, OPF_OP_SUB, x, y));
    const opf_expr *both = plus(b, apart, larger(b, then, otherwise));
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_GT, open, zero), both, chosen ? chosen : zero);
}

/* Is e a whole number whatever its operands are, in the program as in the evaluator? */
static bool is_whole(const opf_expr *e) {
    switch (e->kind) {
    case OPF_EXPR_FLOAT: return e->real == floor(e->real);
    case OPF_EXPR_CAST: return !opf_dtype_is_float((opf_dtype)e->args[0]->dtype);
    case OPF_EXPR_UNARY: return e->op == OPF_OP_ROUND || e->op == OPF_OP_FLOOR || e->op == OPF_OP_CEIL || e->op == OPF_OP_TRUNC || e->op == OPF_OP_SIGN;
    case OPF_EXPR_BINARY: return (e->op == OPF_OP_ADD || e->op == OPF_OP_SUB || e->op == OPF_OP_MIN || e->op == OPF_OP_MAX) && is_whole(e->args[0]) && is_whole(e->args[1]);
    default: return false;
    }
}

/* How often x, rounded to an integer, goes around the type's range. */
static const opf_expr *turns(opf_bounding *b, const opf_expr *x, int64_t low, int64_t high) {
    const opf_expr *above = opf_binary(b->pool, OPF_OP_SUB, unary(b, OPF_OP_TRUNC, x), number(b, (double)low));
    return unary(b, OPF_OP_FLOOR, over(b, above, number(b, (double)(high - low) + 1)));
}

/* A floating number off by ea as an integer: one step more, or anything where it may go once more around the range. */
static const opf_expr *bound_to_integer(opf_bounding *b, const opf_expr *e, const opf_expr *ea) {
    opf_dtype to = (opf_dtype)e->dtype;
    const opf_expr *step = to != OPF_BOOL && is_whole(e->args[0]) ? ea : stepped_near(b, to == OPF_BOOL ? OPF_OP_SIGN : OPF_OP_TRUNC, e->args[0], ea);
    if (!ea || to == OPF_BOOL || opf_dtype_bits(to) > 32) return step;
    const opf_expr *x = e->args[0]->dtype == OPF_FLOAT32 ? e->args[0] : opf_cast(b->pool, OPF_FLOAT32, e->args[0]);
    int64_t low, high;
    opf_dtype_range(to, &low, &high);
    const opf_expr *least = turns(b, less(b, x, ea), low, high), *most = turns(b, plus(b, x, ea), low, high);
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_LT, least, most), number(b, (double)(high - low)), step);
}

static const opf_expr *bound_cast(opf_bounding *b, const opf_expr *e) {
    const opf_expr *ea = opf_bound_of(b, e->args[0]);
    opf_dtype from = (opf_dtype)e->args[0]->dtype, to = (opf_dtype)e->dtype;
    if (!opf_dtype_is_float(to)) return opf_dtype_is_float(from) ? bound_to_integer(b, e, ea) : ea;
    bool exact = opf_dtype_is_float(from) ? roundoff(to) <= roundoff(from) : opf_dtype_bits(from) <= 16 && roundoff(to) <= 0x1p-24;
    return opf_bound_open_beyond(b, e->args[0], ea, exact ? ea : plus(b, ea, rounded(b, e, 1)));
}

/* The row of finite numbers that the load picks from: constant, of one axis. NULL where it is none. `spread`: of its numbers. */
static const opf_tensor *row_of(const opf_bounding *b, const opf_expr *load, double *spread) {
    size_t n = b->group->stages.inputs.count;
    const opf_tensor *row = (size_t)load->index < n && load->n_args == 1 ? b->group->stages.inputs.data[load->index]->constant : NULL;
    double least = INFINITY, most = -INFINITY;
    for (int64_t k = 0; row && k < row->elements; k++) {
        double number = opf_tensor_get(row, k);
        if (!isfinite(number)) return NULL;
        least = fmin(least, number), most = fmax(most, number);
    }
    *spread = most - least;
    return row && row->elements > 0 ? row : NULL;
}

/* A number picked by an index that is off by `ei`: a neighbour, where that is one, or any other of the row. */
static const opf_expr *bound_pick(opf_bounding *b, const opf_expr *load, const opf_expr *ei) {
    double spread;
    const opf_tensor *row = row_of(b, load, &spread);
    if (!row) return lose(b);
    const opf_expr *here = opf_cast(b->pool, OPF_FLOAT32, load), *apart = NULL;
    for (int side = -1; side <= 1; side += 2) {
        const opf_expr *at = opf_add(b->pool, load->args[0], opf_int(b->pool, side));
        at = side < 0 ? opf_max(b->pool, at, opf_int(b->pool, 0)) : opf_min(b->pool, at, opf_int(b->pool, row->elements - 1));
        const opf_expr *there = opf_cast(b->pool, OPF_FLOAT32, opf_load(b->pool, (opf_dtype)load->dtype, load->index, 1, &at));
        apart = larger(b, apart, unary(b, OPF_OP_ABS, opf_binary(b->pool, OPF_OP_SUB, there, here)));
    }
    const opf_expr *next = opf_binary(b->pool, OPF_OP_LT, ei, number(b, 2)), *right = opf_binary(b->pool, OPF_OP_LE, ei, number(b, 0));
    return opf_select(b->pool, right, number(b, 0), opf_select(b->pool, next, apart, number(b, spread)));
}

static const opf_expr *bound_load(opf_bounding *b, const opf_expr *e) {
    int n = (int)b->group->stages.inputs.count;
    const opf_expr *picked = NULL;
    for (int i = 0; i < e->n_args; i++) {
        const opf_expr *ei = opf_bound_of(b, e->args[i]); /* the position itself is open */
        if (ei) picked = bound_pick(b, e, ei);
        if (b->lost) return NULL;
    }
    if (e->index < n) return plus(b, picked, b->inexact[e->index] ? rounded(b, e, anew_roundings((opf_dtype)e->dtype)) : NULL);
    int stage = b->bound_of[e->index - n];
    if (stage == -2) return lose(b);
    return stage < 0 ? NULL : opf_load(b->pool, OPF_FLOAT32, n + stage, e->n_args, e->args);
}

static const opf_expr *bound_new(opf_bounding *b, const opf_expr *e) {
    switch (e->kind) {
    case OPF_EXPR_LOAD: return bound_load(b, e);
    case OPF_EXPR_UNARY: return bound_unary(b, e);
    case OPF_EXPR_BINARY: return bound_binary(b, e);
    case OPF_EXPR_SELECT: return bound_select(b, e);
    case OPF_EXPR_CAST: return bound_cast(b, e);
    default: return NULL;
    }
}

/* Positions and sizes are, and what is decided by them; a weight that follows from a position (a third, of an interpolation) is rounded like
 * any quotient. */
static bool is_exact(const opf_expr *e) {
    if (opf_expr_has_load(e)) return false;
    return !opf_dtype_is_float((opf_dtype)e->dtype) || e->kind == OPF_EXPR_FLOAT || (e->kind == OPF_EXPR_CAST && !opf_dtype_is_float((opf_dtype)e->args[0]->dtype));
}

/* NULL: exact, or lost. */
const opf_expr *opf_bound_of(opf_bounding *b, const opf_expr *e) {
    static char exact;
    const void *known = opf_map_get(&b->known, e);
    if (known) return known == &exact ? NULL : known;
    if (e->kind == OPF_EXPR_FLOAT && b->literals_anew && e->real != floor(e->real)) return rounded(b, e, anew_roundings((opf_dtype)e->dtype));
    if (is_exact(e)) return NULL;
    const opf_expr *bound = bound_new(b, e);
    opf_map_set(&b->known, e, bound ? (void *)bound : &exact);
    return bound;
}
