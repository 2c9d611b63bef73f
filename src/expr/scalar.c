/* Scalar operations: spelling, price, and meaning on concrete values. */
#include <math.h>

#include "expr/node.h"

/* Prices in units of a float32 add, measured for vectorised loops; what calls a library function per element costs more. */
const opf_scalar_op_info opf_scalar_ops[OPF_OP_COUNT] = {
    [OPF_OP_NEG] = {"-", 1, 1, false, false},
    [OPF_OP_ABS] = {"abs", 1, 1, false, false},
    [OPF_OP_SIGN] = {"sign", 1, 2, false, false},
    [OPF_OP_NOT] = {"!", 1, 1, false, false},
    [OPF_OP_BITNOT] = {"~", 1, 1, false, false},
    [OPF_OP_SQRT] = {"sqrt", 1, 8, false, false},
    [OPF_OP_EXP] = {"exp", 1, 24, true, false},
    [OPF_OP_LOG] = {"log", 1, 28, true, false},
    [OPF_OP_LOG1P] = {"log1p", 1, 36, true, false},
    [OPF_OP_EXPM1] = {"expm1", 1, 32, true, false},
    [OPF_OP_ERF] = {"erf", 1, 34, true, false},
    [OPF_OP_SIN] = {"sin", 1, 34, true, false},
    [OPF_OP_COS] = {"cos", 1, 34, true, false},
    [OPF_OP_TAN] = {"tan", 1, 50, true, false},
    [OPF_OP_ASIN] = {"asin", 1, 40, true, false},
    [OPF_OP_ACOS] = {"acos", 1, 40, true, false},
    [OPF_OP_ATAN] = {"atan", 1, 40, true, false},
    [OPF_OP_SINH] = {"sinh", 1, 44, true, false},
    [OPF_OP_COSH] = {"cosh", 1, 40, true, false},
    [OPF_OP_TANH] = {"tanh", 1, 34, true, false},
    [OPF_OP_ASINH] = {"asinh", 1, 50, true, false},
    [OPF_OP_ACOSH] = {"acosh", 1, 50, true, false},
    [OPF_OP_ATANH] = {"atanh", 1, 50, true, false},
    [OPF_OP_FLOOR] = {"floor", 1, 1, false, false},
    [OPF_OP_CEIL] = {"ceil", 1, 1, false, false},
    [OPF_OP_ROUND] = {"round", 1, 1, false, false},
    [OPF_OP_TRUNC] = {"trunc", 1, 1, false, false},
    [OPF_OP_ISNAN] = {"isnan", 1, 1, false, true},
    [OPF_OP_ISINF] = {"isinf", 1, 1, false, true},
    [OPF_OP_EXP_BELOW] = {"exp_below", 1, 24, true, false},
    [OPF_OP_EXP_RAISED] = {"exp_raised", 1, 23, true, false},
    [OPF_OP_EXP_BESIDE] = {"exp_beside", 1, 24, true, false},
    [OPF_OP_CODE] = {"code", 1, 8, false, false},
    [OPF_OP_ADD] = {"+", 2, 1, false, false},
    [OPF_OP_SUB] = {"-", 2, 1, false, false},
    [OPF_OP_MUL] = {"*", 2, 1, false, false},
    [OPF_OP_DIV] = {"/", 2, 6, false, false},
    [OPF_OP_FLOORDIV] = {"floordiv", 2, 12, false, false},
    [OPF_OP_FLOORMOD] = {"floormod", 2, 12, false, false},
    [OPF_OP_FMOD] = {"fmod", 2, 30, true, false},
    [OPF_OP_POW] = {"pow", 2, 60, true, false},
    [OPF_OP_ATAN2] = {"atan2", 2, 46, true, false},
    [OPF_OP_MIN] = {"min", 2, 2, false, false},
    [OPF_OP_MAX] = {"max", 2, 2, false, false},
    [OPF_OP_LT] = {"<", 2, 1, false, true},
    [OPF_OP_LE] = {"<=", 2, 1, false, true},
    [OPF_OP_GT] = {">", 2, 1, false, true},
    [OPF_OP_GE] = {">=", 2, 1, false, true},
    [OPF_OP_EQ] = {"==", 2, 1, false, true},
    [OPF_OP_NE] = {"!=", 2, 1, false, true},
    [OPF_OP_AND] = {"&&", 2, 1, false, false},
    [OPF_OP_OR] = {"||", 2, 1, false, false},
    [OPF_OP_XOR] = {"^^", 2, 1, false, false},
    [OPF_OP_BITAND] = {"&", 2, 1, false, false},
    [OPF_OP_BITOR] = {"|", 2, 1, false, false},
    [OPF_OP_BITXOR] = {"^", 2, 1, false, false},
    [OPF_OP_SHL] = {"<<", 2, 1, false, false},
    [OPF_OP_SHR] = {">>", 2, 1, false, false},
    [OPF_OP_ACCUMULATE] = {"accumulate", 2, 1, false, false},
};

/* The sign of the divisor, as Python's %; x % 0 is NaN as in fmod. */
static double floor_modulo(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double least(double a, double b) { return isnan(a) || isnan(b) ? NAN : a < b || (a == b && signbit(a)) ? a : b; }
static double most(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b || (a == b && !signbit(a)) ? a : b; }

static double evaluate_unary(opf_scalar_op op, double a) {
    switch (op) {
    case OPF_OP_NEG: return -a;
    case OPF_OP_ABS: return fabs(a);
    case OPF_OP_SIGN: return isnan(a) ? a : (a > 0) - (a < 0);
    case OPF_OP_NOT: return a == 0;
    case OPF_OP_SQRT: return sqrt(a);
    case OPF_OP_EXP: case OPF_OP_EXP_BELOW: case OPF_OP_EXP_BESIDE: return exp(a);
    case OPF_OP_EXP_RAISED: return 0x1p24 * exp(a);
    case OPF_OP_LOG: return log(a);
    case OPF_OP_LOG1P: return log1p(a);
    case OPF_OP_EXPM1: return expm1(a);
    case OPF_OP_ERF: return erf(a);
    case OPF_OP_SIN: return sin(a);
    case OPF_OP_COS: return cos(a);
    case OPF_OP_TAN: return tan(a);
    case OPF_OP_ASIN: return asin(a);
    case OPF_OP_ACOS: return acos(a);
    case OPF_OP_ATAN: return atan(a);
    case OPF_OP_SINH: return sinh(a);
    case OPF_OP_COSH: return cosh(a);
    case OPF_OP_TANH: return tanh(a);
    case OPF_OP_ASINH: return asinh(a);
    case OPF_OP_ACOSH: return acosh(a);
    case OPF_OP_ATANH: return atanh(a);
    case OPF_OP_FLOOR: return floor(a);
    case OPF_OP_CEIL: return ceil(a);
    case OPF_OP_ROUND: return rint(a); /* half to even under the default rounding mode */
    case OPF_OP_TRUNC: return trunc(a);
    case OPF_OP_ISNAN: return isnan(a) != 0;
    case OPF_OP_ISINF: return isinf(a) != 0;
    default: return NAN;
    }
}

double opf_scalar_eval(opf_scalar_op op, double a, double b) {
    switch (op) {
    case OPF_OP_ADD: case OPF_OP_ACCUMULATE: return a + b;
    case OPF_OP_SUB: return a - b;
    case OPF_OP_MUL: return a * b;
    case OPF_OP_DIV: return a / b;
    case OPF_OP_FLOORDIV: return floor(a / b);
    case OPF_OP_FLOORMOD: return floor_modulo(a, b);
    case OPF_OP_FMOD: return fmod(a, b);
    case OPF_OP_POW: return pow(a, b);
    case OPF_OP_ATAN2: return atan2(a, b);
    case OPF_OP_MIN: return least(a, b);
    case OPF_OP_MAX: return most(a, b);
    case OPF_OP_LT: return a < b;
    case OPF_OP_LE: return a <= b;
    case OPF_OP_GT: return a > b;
    case OPF_OP_GE: return a >= b;
    case OPF_OP_EQ: return a == b;
    case OPF_OP_NE: return a != b;
    case OPF_OP_AND: return a != 0 && b != 0;
    case OPF_OP_OR: return a != 0 || b != 0;
    case OPF_OP_XOR: return (a != 0) != (b != 0);
    default: return evaluate_unary(op, a);
    }
}

/* ---- integers: every type is computed in 64 bits and wrapped ---- */

static int64_t wrapping_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t wrapping_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static int64_t wrapping_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static int64_t divide(bool big, int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (big) return (int64_t)((uint64_t)a / (uint64_t)b);
    return b == -1 ? wrapping_sub(0, a) : a / b;
}

static int64_t remainder_of(bool big, int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (big) return (int64_t)((uint64_t)a % (uint64_t)b);
    return b == -1 ? 0 : a % b;
}

static int64_t floor_divide(bool big, int64_t a, int64_t b) {
    int64_t quotient = divide(big, a, b), rest = remainder_of(big, a, b);
    return !big && rest != 0 && (rest < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t floor_remainder(bool big, int64_t a, int64_t b) {
    int64_t rest = remainder_of(big, a, b);
    return !big && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* By squaring; a negative exponent is the truncated reciprocal: 0 but for bases 1 and -1. */
static int64_t power(bool big, int64_t a, int64_t b) {
    if (b < 0 && !big) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    int64_t result = 1;
    for (uint64_t n = (uint64_t)b; n; n >>= 1, a = wrapping_mul(a, a))
        if (n & 1) result = wrapping_mul(result, a);
    return result;
}

static int64_t shift(opf_scalar_op op, opf_dtype dtype, int64_t a, int64_t b) {
    if (b < 0 || b >= opf_dtype_bits(dtype)) return 0;
    if (op == OPF_OP_SHL) return (int64_t)((uint64_t)a << b);
    return opf_dtype_is_signed(dtype) ? a >> b : (int64_t)((uint64_t)a >> b);
}

static int compare(bool big, int64_t a, int64_t b) {
    if (big) return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
    return (a > b) - (a < b);
}

static int64_t evaluate_integer(opf_scalar_op op, opf_dtype dtype, int64_t a, int64_t b) {
    bool big = dtype == OPF_UINT64;
    int order = compare(big, a, b);
    switch (op) {
    case OPF_OP_NEG: return wrapping_sub(0, a);
    case OPF_OP_ABS: return !big && a < 0 ? wrapping_sub(0, a) : a;
    case OPF_OP_SIGN: return big ? a != 0 : (a > 0) - (a < 0);
    case OPF_OP_NOT: return a == 0;
    case OPF_OP_BITNOT: return ~a;
    case OPF_OP_FLOOR: case OPF_OP_CEIL: case OPF_OP_ROUND: case OPF_OP_TRUNC: return a;
    case OPF_OP_ISNAN: case OPF_OP_ISINF: return 0;
    case OPF_OP_ADD: return wrapping_add(a, b);
    case OPF_OP_SUB: return wrapping_sub(a, b);
    case OPF_OP_MUL: return wrapping_mul(a, b);
    case OPF_OP_DIV: return divide(big, a, b);
    case OPF_OP_FLOORDIV: return floor_divide(big, a, b);
    case OPF_OP_FLOORMOD: return floor_remainder(big, a, b);
    case OPF_OP_FMOD: return remainder_of(big, a, b);
    case OPF_OP_POW: return power(big, a, b);
    case OPF_OP_MIN: return order <= 0 ? a : b;
    case OPF_OP_MAX: return order >= 0 ? a : b;
    case OPF_OP_LT: return order < 0;
    case OPF_OP_LE: return order <= 0;
    case OPF_OP_GT: return order > 0;
    case OPF_OP_GE: return order >= 0;
    case OPF_OP_EQ: return order == 0;
    case OPF_OP_NE: return order != 0;
    case OPF_OP_AND: return a != 0 && b != 0;
    case OPF_OP_OR: return a != 0 || b != 0;
    case OPF_OP_XOR: return (a != 0) != (b != 0);
    case OPF_OP_BITAND: return a & b;
    case OPF_OP_BITOR: return a | b;
    case OPF_OP_BITXOR: return a ^ b;
    case OPF_OP_SHL: case OPF_OP_SHR: return shift(op, dtype, a, b);
    default: return (int64_t)opf_scalar_eval(op, (double)a, (double)b);
    }
}

/* dtype is that of the operands; comparisons give 0 or 1. */
int64_t opf_scalar_eval_int(opf_scalar_op op, opf_dtype dtype, int64_t a, int64_t b) {
    int64_t value = evaluate_integer(op, dtype, a, b);
    return opf_scalar_ops[op].compares ? value : opf_wrap(dtype, value);
}
