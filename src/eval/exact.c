/* Each operation by the prelude's function for its type, one loop each. */
#define OPF_EXACT 1
#include "eval/exact.h"

#include "opf_math.h"
#include "opf_scalar.h"

typedef union opf_cell opf_cell;

/* ---- what each operation is, for both held types ---- */

#define UNARY_OPERATIONS(X)                                                                                              \
    X(ABS, abs) X(SIGN, sign) X(SQRT, sqrt) X(EXP, exp) X(LOG, log) X(LOG1P, log1p) X(EXPM1, expm1) X(ERF, erf) X(SIN, sin) X(COS, cos) X(TAN, tan)  \
    X(ASIN, asin) X(ACOS, acos) X(ATAN, atan) X(SINH, sinh) X(COSH, cosh) X(TANH, tanh) X(ASINH, asinh) X(ACOSH, acosh) X(ATANH, atanh)              \
    X(FLOOR, floor) X(CEIL, ceil) X(ROUND, round) X(TRUNC, trunc)
#define BINARY_OPERATORS(X) X(ADD, +) X(ACCUMULATE, +) X(SUB, -) X(MUL, *) X(DIV, /)
#define BINARY_FUNCTIONS(X)                                                                                              \
    X(FLOORDIV, floordiv) X(FLOORMOD, floormod) X(FMOD, fmod) X(POW, pow) X(ATAN2, atan2) X(MIN, min) X(MAX, max)
#define COMPARISONS(X) X(LT, <) X(LE, <=) X(GT, >) X(GE, >=) X(EQ, ==) X(NE, !=)

#define UNARY_CASE(T, suffix, OP, name)                                                                                  \
    case OPF_OP_##OP:                                                                                                    \
        for (int i = 0; i < count; i++) out[i].real = (double)opf_##name##_##suffix((T)a[i].real);                       \
        break;
#define UNARY_FLOAT(OP, name) UNARY_CASE(float, f32, OP, name)
#define UNARY_DOUBLE(OP, name) UNARY_CASE(double, f64, OP, name)

#define BINARY_CASE(OP, EXPRESSION)                                                                                      \
    case OPF_OP_##OP:                                                                                                    \
        for (int i = 0; i < count; i++) out[i].real = (double)(EXPRESSION);                                              \
        break;
#define OPERATOR_FLOAT(OP, infix) BINARY_CASE(OP, (float)a[i * step_a].real infix (float)b[i * step_b].real)
#define OPERATOR_DOUBLE(OP, infix) BINARY_CASE(OP, a[i * step_a].real infix b[i * step_b].real)
#define FUNCTION_FLOAT(OP, name) BINARY_CASE(OP, opf_##name##_f32((float)a[i * step_a].real, (float)b[i * step_b].real))
#define FUNCTION_DOUBLE(OP, name) BINARY_CASE(OP, opf_##name##_f64(a[i * step_a].real, b[i * step_b].real))
#define COMPARISON(OP, infix)                                                                                            \
    case OPF_OP_##OP:                                                                                                    \
        for (int i = 0; i < count; i++) out[i].integer = a[i * step_a].real infix b[i * step_b].real;                    \
        break;

/* ---- loops ---- */

static void unary_float(opf_scalar_op op, opf_cell *out, const opf_cell *a, int count) {
    switch (op) {
        UNARY_OPERATIONS(UNARY_FLOAT)
    default: break;
    }
}

static void unary_double(opf_scalar_op op, opf_cell *out, const opf_cell *a, int count) {
    switch (op) {
        UNARY_OPERATIONS(UNARY_DOUBLE)
    default: break;
    }
}

static void binary_float(opf_scalar_op op, opf_cell *out, const opf_cell *a, int step_a, const opf_cell *b, int step_b, int count) {
    switch (op) {
        BINARY_OPERATORS(OPERATOR_FLOAT)
        BINARY_FUNCTIONS(FUNCTION_FLOAT)
    default: break;
    }
}

static void binary_double(opf_scalar_op op, opf_cell *out, const opf_cell *a, int step_a, const opf_cell *b, int step_b, int count) {
    switch (op) {
        BINARY_OPERATORS(OPERATOR_DOUBLE)
        BINARY_FUNCTIONS(FUNCTION_DOUBLE)
    default: break;
    }
}

static void compare(opf_scalar_op op, opf_cell *out, const opf_cell *a, int step_a, const opf_cell *b, int step_b, int count) {
    switch (op) {
        COMPARISONS(COMPARISON)
    default: break;
    }
}

/* Types that are held in a wider one round what it gives. */
static void round_narrow(opf_dtype dtype, opf_cell *out, int count) {
    if (opf_dtype_held(dtype) == dtype) return;
    for (int i = 0; i < count; i++) out[i].real = opf_dtype_round(dtype, out[i].real);
}

/* ---- all operations ---- */

void opf_exact_unary(opf_scalar_op op, opf_dtype dtype, opf_cell *out, const opf_cell *a, int count) {
    switch (op) {
    case OPF_OP_ISNAN: for (int i = 0; i < count; i++) out[i].integer = opf_isnan_f64(a[i].real); return;
    case OPF_OP_ISINF: for (int i = 0; i < count; i++) out[i].integer = opf_isinf_f64(a[i].real); return;
    case OPF_OP_NEG: for (int i = 0; i < count; i++) out[i].real = -a[i].real; return;
    default: break;
    }
    if (dtype == OPF_FLOAT64) unary_double(op, out, a, count);
    else unary_float(op, out, a, count);
    round_narrow(dtype, out, count);
}

void opf_exact_binary(opf_scalar_op op, opf_dtype dtype, opf_cell *out, const opf_cell *a, int step_a, const opf_cell *b, int step_b, int count) {
    if (opf_scalar_ops[op].compares) return compare(op, out, a, step_a, b, step_b, count);
    if (dtype == OPF_FLOAT64) binary_double(op, out, a, step_a, b, step_b, count);
    else binary_float(op, out, a, step_a, b, step_b, count);
    round_narrow(dtype, out, count);
}
