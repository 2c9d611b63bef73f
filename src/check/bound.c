/* Error bounds as stages: beside each stage of a group one that computes how far it may be off, from the same operands.
 *
 * For an expression e with operands off by at most ea, eb, and u the unit roundoff of its type:
 *   a + b   ea + eb + u|e|              a * b   |a| eb + |b| ea + ea eb + u|e|
 *   a / b   (ea + |e| eb) / (|b| - eb) + u|e|
 *           + |e| where b + eb is beyond the largest number: the program's b may be infinite
 *   f(a)    growth of f over the interval + k u|e|, k the stated error of the prelude's function in ULP
 *   sum     the terms' bounds + c(n) u times the sum of the terms' magnitudes
 * The order of a sum is a schedule's choice: any order stays below n - 1 roundings; where n is large, roundings are taken as
 * independent and 6 sqrt(n) of them as the most (Higham and Mary 2019: exceeded with a chance below 3e-8 a sum).
 * A softmax that goes by blocks of its columns multiplies what earlier blocks left by e^(old - new largest): k + 1 more roundings of
 * its powers a block. */
#include "check/bound.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "eval/eval.h"
#include "expr/node.h"
#include "loop/tile.h"

/* Beyond what normal numbers allow: a step of the denormals, and what a product of two small ones loses. */
static const double UNDERFLOW = 1.5e-44;

typedef struct bounding {
    opf_pool *pool;
    opf_arena *arena;
    const opf_group *group;
    const bool *inexact;
    const int64_t *symbols;
    opf_stages stages;         /* the group's, then those of bounds */
    int *bound_of;             /* per stage of the group: its bound's index in stages.list, -1: exact, -2: none can be stated */
    opf_map known;             /* expression → its bound; of the stage at hand */
    bool lost;                 /* no bound can be stated for the stage at hand */
    const opf_bound_schedule *schedule;
    opf_error_bound *out;
} bounding;

static const opf_expr *bound_of(bounding *b, const opf_expr *e);

/* ---- building; NULL stands for an exact zero ---- */

static const opf_expr *number(bounding *b, double value) { return opf_real(b->pool, OPF_FLOAT32, value); }

/* |e| as float32: bounds are float32 throughout, which the evaluator holds in double. */
static const opf_expr *magnitude(bounding *b, const opf_expr *e) {
    const opf_expr *real = e->dtype == OPF_FLOAT32 ? e : opf_cast(b->pool, OPF_FLOAT32, e);
    return opf_unary(b->pool, OPF_OP_ABS, real);
}

static const opf_expr *plus(bounding *b, const opf_expr *x, const opf_expr *y) { return !x ? y : !y ? x : opf_binary(b->pool, OPF_OP_ADD, x, y); }
static const opf_expr *times(bounding *b, const opf_expr *x, const opf_expr *y) { return !x || !y ? NULL : opf_binary(b->pool, OPF_OP_MUL, x, y); }
static const opf_expr *scaled(bounding *b, double factor, const opf_expr *x) { return x ? opf_binary(b->pool, OPF_OP_MUL, number(b, factor), x) : NULL; }
static const opf_expr *over(bounding *b, const opf_expr *x, const opf_expr *y) { return x ? opf_binary(b->pool, OPF_OP_DIV, x, y) : NULL; }
/* x over how far an operand is from where the function has no bound any more: there, anything may come. */
static const opf_expr *over_gap(bounding *b, const opf_expr *x, const opf_expr *gap) {
    if (!x) return NULL;
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_GT, gap, number(b, 0)), over(b, x, gap), number(b, INFINITY));
}
static const opf_expr *less(bounding *b, const opf_expr *x, const opf_expr *y) { return y ? opf_binary(b->pool, OPF_OP_SUB, x, y) : x; }
static const opf_expr *larger(bounding *b, const opf_expr *x, const opf_expr *y) { return !x ? y : !y ? x : opf_binary(b->pool, OPF_OP_MAX, x, y); }
static const opf_expr *unary(bounding *b, opf_scalar_op op, const opf_expr *x) { return opf_unary(b->pool, op, x); }

static const opf_expr *lose(bounding *b) {
    b->lost = true;
    return NULL;
}

/* Half the distance of neighbours of the type, relative; 0 for integers. */
static double roundoff(opf_dtype dtype) {
    switch (dtype) {
    case OPF_FLOAT64: return 0x1p-53;
    case OPF_FLOAT32: return 0x1p-24;
    case OPF_FLOAT16: return 0x1p-11;
    case OPF_BFLOAT16: return 0x1p-8;
    case OPF_FLOAT8E4M3FN: case OPF_FLOAT8E4M3FNUZ: return 0x1p-4;
    case OPF_FLOAT8E5M2: case OPF_FLOAT8E5M2FNUZ: return 0x1p-3;
    case OPF_FLOAT4E2M1: return 0x1p-2;
    case OPF_FLOAT8E8M0: return 0x1p-1;
    default: return 0;
    }
}

/* k roundings of the size of e; an infinity is exact, and so is a NaN: whether it may be something else, its operands' bounds say. */
static const opf_expr *rounded(bounding *b, const opf_expr *e, double k) {
    double u = roundoff((opf_dtype)e->dtype);
    if (u <= 0) return NULL;
    const opf_expr *special = opf_binary(b->pool, OPF_OP_OR, unary(b, OPF_OP_ISINF, e), unary(b, OPF_OP_ISNAN, e));
    return opf_select(b->pool, special, number(b, 0), plus(b, scaled(b, k * u, magnitude(b, e)), number(b, UNDERFLOW)));
}

/* ---- operations ---- */

/* What comes of an infinity is infinite however far other operands are off; unless one of these, off by ea and eb, may be anything. */
static const opf_expr *unless_infinite(bounding *b, const opf_expr *e, const opf_expr *ea, const opf_expr *eb, const opf_expr *error) {
    if (!error || roundoff((opf_dtype)e->dtype) <= 0) return error;
    error = opf_select(b->pool, unary(b, OPF_OP_ISINF, e), number(b, 0), error);
    return opf_select(b->pool, unary(b, OPF_OP_ISINF, larger(b, ea, eb)), number(b, INFINITY), error);
}

/* A bound speaks of finite numbers, and the evaluator holds operands in double. Where |e| + ea is beyond float32, the program may have
 * an infinity instead; of e's own sign as long as ea is below |e|. Each operation allows for such operands. NULL: never. */
static const opf_expr *overflows(bounding *b, const opf_expr *e, const opf_expr *ea) {
    bool is_input = e->kind == OPF_EXPR_LOAD && e->index < (int)b->group->stages.inputs.count;
    if (e->dtype != OPF_FLOAT32 || is_input || !opf_expr_has_load(e)) return NULL;
    const opf_expr *finite = unary(b, OPF_OP_NOT, unary(b, OPF_OP_ISINF, e));
    return opf_binary(b->pool, OPF_OP_AND, finite, opf_binary(b->pool, OPF_OP_GT, plus(b, magnitude(b, e), ea), number(b, FLT_MAX)));
}

/* Of an operation that makes something else of an infinity than of a number as large. */
static const opf_expr *open_beyond(bounding *b, const opf_expr *operand, const opf_expr *ea, const opf_expr *error) {
    const opf_expr *beyond = overflows(b, operand, ea);
    return beyond ? opf_select(b->pool, beyond, number(b, INFINITY), error ? error : number(b, 0)) : error;
}

/* Of a sum with an operand like that: infinite too, and as large as to say so, where the sum has the operand's sign (`turned`: the other).
 * Infinities of both signs give a NaN: one of them has not the sum's. */
static const opf_expr *open_sum(bounding *b, const opf_expr *e, const opf_expr *operand, bool turned, const opf_expr *ea, const opf_expr *error) {
    const opf_expr *beyond = overflows(b, operand, ea), *zero = number(b, 0);
    if (!beyond) return error;
    const opf_expr *large = opf_binary(b->pool, OPF_OP_GT, plus(b, magnitude(b, e), error), number(b, FLT_MAX));
    const opf_expr *sure = ea ? opf_binary(b->pool, OPF_OP_LT, ea, magnitude(b, operand)) : NULL;
    const opf_expr *sign = opf_binary(b->pool, turned ? OPF_OP_LT : OPF_OP_GT, times(b, opf_unary(b->pool, OPF_OP_SIGN, e), operand), zero);
    const opf_expr *holds = opf_binary(b->pool, OPF_OP_AND, large, sure ? opf_binary(b->pool, OPF_OP_AND, sure, sign) : sign);
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_AND, beyond, unary(b, OPF_OP_NOT, holds)), number(b, INFINITY), error ? error : zero);
}

/* But where an operand, off by ea, may lie on an edge at which the function becomes infinite (a divisor on zero), anything may come. */
static const opf_expr *open_at(bounding *b, const opf_expr *gap, const opf_expr *ea, const opf_expr *error) {
    if (!ea) return error;
    const opf_expr *zero = number(b, 0), *off = opf_binary(b->pool, OPF_OP_GT, ea, zero), *reaches = opf_binary(b->pool, OPF_OP_LE, gap, zero);
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_AND, off, reaches), number(b, INFINITY), error ? error : zero);
}

/* Of integers: right, or off by one step more than the operand. */
static const opf_expr *stepped(bounding *b, const opf_expr *error) { return error ? plus(b, error, number(b, 1)) : NULL; }

/* How far x is from where a rounding to integers steps. */
static const opf_expr *from_step(bounding *b, opf_scalar_op op, const opf_expr *x) {
    if (op == OPF_OP_SIGN) return unary(b, OPF_OP_ABS, x);
    const opf_expr *below = unary(b, op == OPF_OP_ROUND ? OPF_OP_FLOOR : OPF_OP_ROUND, x), *over_it = opf_binary(b->pool, OPF_OP_SUB, x, below);
    return unary(b, OPF_OP_ABS, op == OPF_OP_ROUND ? less(b, over_it, number(b, 0.5)) : over_it);
}

/* A floating number rounded to an integer, or its sign: off by a step more than its operand where that may be on either side of the
 * step, else right. `op`: how it steps. */
static const opf_expr *stepped_near(bounding *b, opf_scalar_op op, const opf_expr *operand, const opf_expr *ea) {
    if (!ea) return NULL;
    const opf_expr *x = operand->dtype == OPF_FLOAT32 ? operand : opf_cast(b->pool, OPF_FLOAT32, operand);
    const opf_expr *right = opf_binary(b->pool, OPF_OP_GT, from_step(b, op, x), ea);
    return opf_select(b->pool, right, number(b, 0), stepped(b, ea));
}

/* e^a times (e^ea - 1); where that factor is large e^(a + ea), which is more: of a mask's -3e38, off by 2e31, both are 0. */
static const opf_expr *grown_exponential(bounding *b, const opf_expr *e, const opf_expr *ea) {
    const opf_expr *a = opf_cast(b->pool, OPF_FLOAT32, e->args[0]), *f = magnitude(b, e);
    const opf_expr *small = opf_binary(b->pool, OPF_OP_LT, ea, number(b, 1));
    return opf_select(b->pool, small, times(b, f, unary(b, OPF_OP_EXPM1, ea)), unary(b, OPF_OP_EXP, plus(b, a, ea)));
}

/* The error of f(a) where a is off by `ea`, without f's own rounding. */
static const opf_expr *grown(bounding *b, const opf_expr *e, const opf_expr *ea) {
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

enum { FUNCTION_ERROR = 8 };

/* Errors of the prelude's functions in ULP of the result, rounded up (docs/numerics.md); ULP are two roundoffs. */
static double own_error(const opf_expr *e) {
    switch (e->op) {
    case OPF_OP_NEG: case OPF_OP_ABS: case OPF_OP_SIGN: case OPF_OP_FLOOR: case OPF_OP_CEIL: case OPF_OP_ROUND: case OPF_OP_TRUNC: case OPF_OP_MIN: case OPF_OP_MAX: case OPF_OP_FMOD: return 0;
    case OPF_OP_ADD: case OPF_OP_SUB: case OPF_OP_MUL: case OPF_OP_DIV: case OPF_OP_SQRT: return 1;
    default: return FUNCTION_ERROR;
    }
}

static const opf_expr *bound_unary(bounding *b, const opf_expr *e) {
    const opf_expr *ea = bound_of(b, e->args[0]);
    if (e->op == OPF_OP_ISNAN || e->op == OPF_OP_ISINF) return NULL; /* rounding makes no NaN, and an overflow shows elsewhere */
    if (e->op == OPF_OP_NOT) return ea;
    if (!opf_dtype_is_float((opf_dtype)e->dtype) && e->op != OPF_OP_NEG && e->op != OPF_OP_ABS && e->op != OPF_OP_SIGN) return ea ? lose(b) : NULL;
    const opf_expr *error = unless_infinite(b, e, ea, NULL, grown(b, e, ea)), *a = ea ? magnitude(b, e->args[0]) : NULL, *one = number(b, 1);
    if (e->op == OPF_OP_LOG) error = open_at(b, ea ? less(b, a, ea) : NULL, ea, error);
    else if (e->op == OPF_OP_LOG1P || e->op == OPF_OP_ATANH) error = open_at(b, ea ? less(b, less(b, one, a), ea) : NULL, ea, error);
    if (!takes_infinities((opf_scalar_op)e->op)) error = open_beyond(b, e->args[0], ea, error);
    return plus(b, error, own_error(e) > 0 ? rounded(b, e, own_error(e)) : NULL);
}

/* Is x beyond float32 in the program alone, and y too, or infinite? Then both are infinite, and equal. NULL: never. */
static const opf_expr *both_infinite(bounding *b, const opf_expr *x, const opf_expr *ea, const opf_expr *y, const opf_expr *eb) {
    const opf_expr *beyond = overflows(b, x, ea);
    return beyond ? opf_binary(b->pool, OPF_OP_AND, beyond, opf_binary(b->pool, OPF_OP_GT, plus(b, magnitude(b, y), eb), number(b, FLT_MAX))) : NULL;
}

/* A comparison of what may be off: as good as open where the two are that near. 1 there, as a condition's error. */
static const opf_expr *bound_comparison(bounding *b, const opf_expr *e) {
    const opf_expr *ea = bound_of(b, e->args[0]), *eb = bound_of(b, e->args[1]), *off = plus(b, ea, eb);
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
static const opf_expr *bound_power(bounding *b, const opf_expr *e, const opf_expr *ea, const opf_expr *eb) {
    const opf_expr *a = magnitude(b, e->args[0]), *f = magnitude(b, e), *p = e->args[1], *relative = NULL;
    if (ea && is_whole_power(e)) return less(b, opf_binary(b->pool, OPF_OP_POW, plus(b, a, ea), number(b, p->real)), f);
    if (ea) relative = times(b, magnitude(b, e->args[1]), over_gap(b, ea, less(b, a, ea)));
    if (eb) relative = plus(b, relative, times(b, eb, magnitude(b, unary(b, OPF_OP_LOG, a))));
    return relative ? times(b, f, unary(b, OPF_OP_EXPM1, relative)) : NULL;
}

/* Off by how much a quotient is, without its own rounding. A divisor that is beyond float32 leaves zero in the program. */
static const opf_expr *bound_quotient(bounding *b, const opf_expr *e, const opf_expr *ea, const opf_expr *eb) {
    if (!ea && !eb) return NULL;
    const opf_expr *quotient = magnitude(b, e), *gap = less(b, magnitude(b, e->args[1]), eb), *beyond = overflows(b, e->args[1], eb);
    const opf_expr *error = over_gap(b, plus(b, ea, times(b, quotient, eb)), gap);
    error = open_at(b, gap, eb, unless_infinite(b, e, ea, eb, error));
    error = beyond ? opf_select(b->pool, beyond, plus(b, quotient, error), error) : error;
    return open_beyond(b, e->args[0], ea, error);
}

static const opf_expr *bound_binary(bounding *b, const opf_expr *e) {
    if (opf_scalar_ops[e->op].compares) return bound_comparison(b, e);
    const opf_expr *ea = bound_of(b, e->args[0]), *eb = bound_of(b, e->args[1]), *grown = NULL;
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
    if (e->op == OPF_OP_MUL || e->op == OPF_OP_POW) grown = open_beyond(b, e->args[0], ea, open_beyond(b, e->args[1], eb, grown));
    if (e->op == OPF_OP_POW && !is_whole_power(e)) grown = open_at(b, ea ? less(b, x, ea) : NULL, ea, grown);
    return plus(b, grown, own_error(e) > 0 ? rounded(b, e, own_error(e)) : NULL);
}

/* Where the condition is open, both sides may have been taken. */
static const opf_expr *bound_select(bounding *b, const opf_expr *e) {
    const opf_expr *open = bound_of(b, e->args[0]), *then = bound_of(b, e->args[1]), *otherwise = bound_of(b, e->args[2]), *zero = number(b, 0);
    const opf_expr *chosen = then || otherwise ? opf_select(b->pool, e->args[0], then ? then : zero, otherwise ? otherwise : zero) : NULL;
    if (!open) return chosen;
    const opf_expr *x = opf_cast(b->pool, OPF_FLOAT32, e->args[1]), *y = opf_cast(b->pool, OPF_FLOAT32, e->args[2]);
    const opf_expr *apart = unary(b, OPF_OP_ABS, opf_binary(b->pool, OPF_OP_SUB, x, y));
    const opf_expr *both = plus(b, apart, larger(b, then, otherwise));
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_GT, open, zero), both, chosen ? chosen : zero);
}

/* How often x, rounded to an integer, goes around the type's range. */
static const opf_expr *turns(bounding *b, const opf_expr *x, int64_t low, int64_t high) {
    const opf_expr *above = opf_binary(b->pool, OPF_OP_SUB, unary(b, OPF_OP_TRUNC, x), number(b, (double)low));
    return unary(b, OPF_OP_FLOOR, over(b, above, number(b, (double)(high - low) + 1)));
}

/* A floating number off by ea as an integer: one step more, or anything where it may go once more around the range. */
static const opf_expr *bound_to_integer(bounding *b, const opf_expr *e, const opf_expr *ea) {
    opf_dtype to = (opf_dtype)e->dtype;
    const opf_expr *step = stepped_near(b, to == OPF_BOOL ? OPF_OP_SIGN : OPF_OP_TRUNC, e->args[0], ea);
    if (!ea || to == OPF_BOOL || opf_dtype_bits(to) > 32) return step;
    const opf_expr *x = e->args[0]->dtype == OPF_FLOAT32 ? e->args[0] : opf_cast(b->pool, OPF_FLOAT32, e->args[0]);
    int64_t low, high;
    opf_dtype_range(to, &low, &high);
    const opf_expr *least = turns(b, less(b, x, ea), low, high), *most = turns(b, plus(b, x, ea), low, high);
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_LT, least, most), number(b, (double)(high - low)), step);
}

static const opf_expr *bound_cast(bounding *b, const opf_expr *e) {
    const opf_expr *ea = bound_of(b, e->args[0]);
    opf_dtype from = (opf_dtype)e->args[0]->dtype, to = (opf_dtype)e->dtype;
    if (!opf_dtype_is_float(to)) return opf_dtype_is_float(from) ? bound_to_integer(b, e, ea) : ea;
    bool exact = opf_dtype_is_float(from) ? roundoff(to) <= roundoff(from) : opf_dtype_bits(from) <= 16 && roundoff(to) <= 0x1p-24;
    return open_beyond(b, e->args[0], ea, exact ? ea : plus(b, ea, rounded(b, e, 1)));
}

static const opf_expr *bound_load(bounding *b, const opf_expr *e) {
    int n = (int)b->group->stages.inputs.count;
    for (int i = 0; i < e->n_args; i++)
        if (bound_of(b, e->args[i])) return lose(b); /* the position itself is open */
    if (e->index < n) return b->inexact[e->index] ? rounded(b, e, 2) : NULL;
    int stage = b->bound_of[e->index - n];
    if (stage == -2) return lose(b);
    return stage < 0 ? NULL : opf_load(b->pool, OPF_FLOAT32, n + stage, e->n_args, e->args);
}

static const opf_expr *bound_new(bounding *b, const opf_expr *e) {
    switch (e->kind) {
    case OPF_EXPR_LOAD: return bound_load(b, e);
    case OPF_EXPR_UNARY: return bound_unary(b, e);
    case OPF_EXPR_BINARY: return bound_binary(b, e);
    case OPF_EXPR_SELECT: return bound_select(b, e);
    case OPF_EXPR_CAST: return bound_cast(b, e);
    default: return NULL;
    }
}

/* NULL: exact, or lost. */
static const opf_expr *bound_of(bounding *b, const opf_expr *e) {
    static char exact;
    const void *known = opf_map_get(&b->known, e);
    if (known) return known == &exact ? NULL : known;
    if (!opf_expr_has_load(e)) return NULL;
    const opf_expr *bound = bound_new(b, e);
    opf_map_set(&b->known, e, bound ? (void *)bound : &exact);
    return bound;
}

/* ---- stages ---- */

static double terms_of(const bounding *b, const opf_stage *stage) {
    double n = 1;
    int64_t extent;
    for (int k = stage->n_axes; k < stage->n_axes + stage->n_reduce; k++)
        if (opf_dim_eval(stage->extents[k], b->symbols, &extent)) n *= (double)extent;
    return n;
}

static int add_stage(bounding *b, const opf_stage *like, opf_combiner combiner, const opf_expr *body) {
    opf_stage *made = OPF_NEW(b->arena, opf_stage);
    *made = *like;
    made->combiner = combiner;
    made->dtype = made->accumulator = OPF_FLOAT32;
    made->body = body;
    made->second = NULL;
    made->note = NULL;
    made->name = opf_arena_printf(b->arena, "bound of %s", like->name ? like->name : "?");
    if (combiner == OPF_COMBINE_NONE) made->n_reduce = 0;
    OPF_PUSH(b->arena, &b->stages.list, made);
    return (int)b->stages.list.count - 1;
}

static const opf_expr *load_stage(bounding *b, const opf_stage *stage, int number, opf_dtype dtype) {
    const opf_expr *at[OPF_MAX_RANK];
    for (int k = 0; k < stage->n_axes; k++) at[k] = opf_var(b->pool, k);
    return opf_load(b->pool, dtype, (int)b->group->stages.inputs.count + number, stage->n_axes, at);
}

/* A sum that goes by Winograd's products: the rounding errors of a tile's largest outputs reach all of it. The largest of the map
 * stands for that of the tile. */
static int spread(bounding *b, const opf_stage *stage, int sum) {
    const opf_expr *at[OPF_MAX_RANK];
    for (int k = 0; k < stage->n_axes; k++) at[k] = opf_var(b->pool, k); /* plain axes, then the last two as reduce axes */
    const opf_expr *term = opf_load(b->pool, OPF_FLOAT32, (int)b->group->stages.inputs.count + sum, stage->n_axes, at);
    opf_stage like = *stage;
    like.n_axes = stage->n_axes - 2;
    like.n_reduce = 2;
    return add_stage(b, &like, OPF_COMBINE_MAX, term);
}

static bool visit_constant(const opf_expr *e, void *data) {
    const bounding *b = data;
    int inputs = (int)b->group->stages.inputs.count;
    return e->kind != OPF_EXPR_LOAD || e->index >= inputs || !b->group->stages.inputs.data[e->index]->constant;
}

/* What a term loses where denormal constants of a contraction are taken as zeros (loop/tile_operand.c). */
static const opf_expr *without_denormals(bounding *b, const opf_stage *stage) {
    const opf_expr *body = stage->body, *lost = NULL;
    bool product = body->kind == OPF_EXPR_BINARY && body->op == OPF_OP_MUL && stage->accumulator == OPF_FLOAT32;
    if (!product || opf_group_is_exact(b->group)) return NULL;
    for (int k = 0; k < 2; k++)
        if (!opf_expr_visit(b->pool, body->args[k], visit_constant, b)) lost = plus(b, lost, scaled(b, (double)FLT_MIN, magnitude(b, body->args[1 - k])));
    return lost;
}

/* A sum whose terms are n roundings off altogether; infinite where one of them, or their magnitudes together, may be more than a
 * float32 accumulator holds. */
static int bound_sum(bounding *b, const opf_stage *stage, const opf_expr *term) {
    double u = roundoff(stage->accumulator), n = terms_of(b, stage), roundings = n - 1 < 6 * sqrt(n) ? n - 1 : 6 * sqrt(n);
    const opf_expr *error = term;
    if (u > 0) term = plus(b, term, scaled(b, roundings * u, magnitude(b, stage->body)));
    term = plus(b, term, without_denormals(b, stage));
    if (stage->accumulator == OPF_FLOAT32) term = open_beyond(b, stage->body, error, term);
    int sum = term ? add_stage(b, stage, OPF_COMBINE_SUM, term) : -1;
    if (sum < 0 || stage->accumulator != OPF_FLOAT32 || roundings <= 0) return sum;
    const opf_expr *whole = load_stage(b, stage, sum, OPF_FLOAT32), *most = number(b, roundings * u * FLT_MAX);
    return add_stage(b, stage, OPF_COMBINE_NONE, opf_select(b->pool, opf_binary(b->pool, OPF_OP_GT, whole, most), number(b, INFINITY), whole));
}

/* A product in parts, which may leave what float32 holds though all of it does not: past its largest number anything may come; where a
 * part is lost in denormals, what follows it multiplies the loss. */
static int bound_partial_products(bounding *b, const opf_stage *stage, const opf_expr *most) {
    int large = add_stage(b, stage, OPF_COMBINE_PROD, larger(b, most, number(b, 1)));
    const opf_expr *largest = load_stage(b, stage, large, OPF_FLOAT32), *lost = scaled(b, UNDERFLOW * terms_of(b, stage), largest);
    return add_stage(b, stage, OPF_COMBINE_NONE, opf_select(b->pool, opf_binary(b->pool, OPF_OP_GT, largest, number(b, FLT_MAX)), number(b, INFINITY), lost));
}

/* |product of a| - |product of what they may be| <= product of (|a| + ea), times the sum of the shares ea / (|a| + ea). */
static int bound_product(bounding *b, const opf_stage *stage, const opf_expr *term) {
    bool partial = stage->accumulator == OPF_FLOAT32;
    if (!term) return partial ? bound_partial_products(b, stage, magnitude(b, stage->body)) : -1;
    const opf_expr *most = plus(b, magnitude(b, stage->body), term), *zero = number(b, 0);
    const opf_expr *share = opf_select(b->pool, opf_binary(b->pool, OPF_OP_GT, term, zero), over(b, term, most), zero);
    int product = add_stage(b, stage, OPF_COMBINE_PROD, most), shares = add_stage(b, stage, OPF_COMBINE_SUM, share);
    const opf_expr *grown = times(b, load_stage(b, stage, product, OPF_FLOAT32), load_stage(b, stage, shares, OPF_FLOAT32));
    const opf_expr *parts = partial ? load_stage(b, stage, bound_partial_products(b, stage, most), OPF_FLOAT32) : NULL;
    return add_stage(b, stage, OPF_COMBINE_NONE, plus(b, grown, parts));
}

/* The extreme of terms off by `term` lies between those of a - ea and of a + ea: what is far from the extreme may be off by much. */
static int bound_extreme(bounding *b, const opf_stage *stage, int index, const opf_expr *term) {
    int most = add_stage(b, stage, OPF_COMBINE_MAX, term);
    if (!opf_dtype_is_float((opf_dtype)stage->body->dtype)) return most;
    const opf_expr *a = opf_cast(b->pool, OPF_FLOAT32, stage->body);
    int low = add_stage(b, stage, stage->combiner, less(b, a, term)), high = add_stage(b, stage, stage->combiner, plus(b, a, term));
    const opf_expr *e = opf_cast(b->pool, OPF_FLOAT32, load_stage(b, stage, index, stage->dtype)), *any = load_stage(b, stage, most, OPF_FLOAT32);
    const opf_expr *below = less(b, e, load_stage(b, stage, low, OPF_FLOAT32)), *above = less(b, load_stage(b, stage, high, OPF_FLOAT32), e);
    const opf_expr *plain = opf_binary(b->pool, OPF_OP_LT, larger(b, any, magnitude(b, e)), number(b, INFINITY));
    return add_stage(b, stage, OPF_COMBINE_NONE, opf_select(b->pool, plain, opf_binary(b->pool, OPF_OP_MIN, any, larger(b, below, above)), any));
}

/* Of a reduction: the combined bounds of its terms, in stages of their own. */
static int bound_reduction(bounding *b, int number, const opf_expr *term) {
    const opf_stage *stage = b->group->stages.list.data[number];
    switch (stage->combiner) {
    case OPF_COMBINE_SUM: return bound_sum(b, stage, term);
    case OPF_COMBINE_MIN: case OPF_COMBINE_MAX: return term ? bound_extreme(b, stage, number, term) : -1;
    case OPF_COMBINE_AND: case OPF_COMBINE_OR: return term ? add_stage(b, stage, OPF_COMBINE_MAX, term) : -1;
    case OPF_COMBINE_PROD: return bound_product(b, stage, term);
    default: return term ? -2 : -1; /* which element is the extreme may be open */
    }
}

/* A narrow type is rounded to from a wider one, by the program and by the evaluator: near the middle between two numbers each takes
 * another one. In wide types the roundings on the way hold that. */
static double stored_roundings(opf_dtype dtype) { return opf_dtype_bits(dtype) <= 16 ? 2 : 1; }

/* Powers relative to the largest of blocks so far: each block behind may multiply by another power. The subtractions altogether
 * round no more than one would, for the largest only grows. */
static double rescalings(const bounding *b, int number) {
    const opf_bound_schedule *schedule = b->schedule;
    const opf_stage *stage = b->group->stages.list.data[number];
    int64_t extent;
    double most = 0;
    if (schedule->rescaled_columns == 0 || number != schedule->rescaled) return 0;
    for (int k = 0; k < stage->n_axes; k++) /* the columns are one of the axes */
        if (opf_dim_eval(stage->extents[k], b->symbols, &extent)) most = fmax(most, ceil((double)extent / (double)schedule->rescaled_columns));
    return most * (FUNCTION_ERROR + 1);
}

static void bound_stage(bounding *b, int number) {
    const opf_stage *stage = b->group->stages.list.data[number];
    b->known = opf_map_new(b->arena);
    b->lost = false;
    const opf_expr *error = bound_of(b, stage->body);
    if (b->lost || stage->n_axes > OPF_MAX_RANK) {
        b->bound_of[number] = -2;
        return;
    }
    if (stage->combiner == OPF_COMBINE_NONE) {
        /* a value that is stored in a narrower type than it was computed in; the evaluator's own rounding of each node */
        error = plus(b, error, rounded(b, load_stage(b, stage, number, stage->dtype), stored_roundings(stage->dtype) + rescalings(b, number)));
        b->bound_of[number] = error ? add_stage(b, stage, OPF_COMBINE_NONE, error) : -1;
        return;
    }
    int sum = bound_reduction(b, number, error);
    const opf_expr *own = rounded(b, load_stage(b, stage, number, stage->dtype), stage->combiner == OPF_COMBINE_PROD ? terms_of(b, stage) : stored_roundings(stage->dtype));
    if (sum == -2 || (sum == -1 && !own)) b->bound_of[number] = sum;
    else if (sum >= 0 && number == b->schedule->winograd) {
        opf_stage map = *stage;
        map.n_axes -= 2;
        const opf_expr *most = load_stage(b, &map, spread(b, stage, sum), OPF_FLOAT32);
        b->bound_of[number] = add_stage(b, stage, OPF_COMBINE_NONE, plus(b, own, most));
    } else b->bound_of[number] = add_stage(b, stage, OPF_COMBINE_NONE, plus(b, own, sum >= 0 ? load_stage(b, stage, sum, OPF_FLOAT32) : NULL));
}

/* Of a number that is stored, and compared: where an infinity may be in its place, anything may come. */
static int bound_stored(bounding *b, int number) {
    const opf_stage *stage = b->group->stages.list.data[number];
    if (stage->dtype != OPF_FLOAT32) return b->bound_of[number];
    const opf_expr *error = load_stage(b, stage, b->bound_of[number], OPF_FLOAT32);
    return add_stage(b, stage, OPF_COMBINE_NONE, open_beyond(b, load_stage(b, stage, number, OPF_FLOAT32), error, error));
}

/* ---- the group ---- */

opf_bound_schedule opf_bound_schedule_of(const opf_nest *nest) {
    return (opf_bound_schedule){nest->tile && nest->tile->winograd ? nest->tile->anchor : -1, nest->rescaled_columns, nest->rescaled};
}

opf_status opf_bound_group(opf_error_bound *out, const opf_group *group, opf_pool *pool, const opf_tensor *const *inputs, const bool *inexact,
                           const opf_bound_schedule *schedule, const int64_t *symbols, opf_arena *arena) {
    int n = (int)group->stages.list.count, n_results = (int)group->results.count;
    *out = (opf_error_bound){.errors = OPF_ARRAY(arena, opf_tensor *, n_results + 1)};
    bounding b = {.pool = pool, .arena = arena, .group = group, .inexact = inexact, .schedule = schedule, .symbols = symbols, .bound_of = OPF_ARRAY(arena, int, n + 1), .out = out};
    for (size_t i = 0; i < group->stages.inputs.count; i++) OPF_PUSH(arena, &b.stages.inputs, group->stages.inputs.data[i]);
    for (int i = 0; i < n; i++) OPF_PUSH(arena, &b.stages.list, group->stages.list.data[i]);
    for (int i = 0; i < n; i++) bound_stage(&b, i);
    int *results = OPF_ARRAY(arena, int, n_results + 1);
    for (int k = 0; k < n_results; k++) {
        int stage = group->results.data[k].stage;
        results[k] = stage < 0 ? -1 : b.bound_of[stage] >= 0 ? bound_stored(&b, stage) : -1;
        if (stage >= 0 && b.bound_of[stage] == -1) { /* exact: zeros of the stage's shape */
            int zeros = add_stage(&b, group->stages.list.data[stage], OPF_COMBINE_NONE, number(&b, 0));
            results[k] = zeros;
        }
    }
    return opf_eval_stage_list(group->nodes.count ? group->nodes.data[0] : NULL, &b.stages, results, n_results, inputs, symbols, out->errors, arena);
}
