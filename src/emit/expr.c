/* Scalar expressions as C. What C computes as ONNX asks is written with C's operators; everything else (wrapping integers,
 * division that never traps, minima with NaN, functions) by the prelude's helpers, opf_<name>_<type>.
 *
 * Integers without loads are indices and sizes: they stay far from overflow and are written plainly. */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "emit/spelling.h"

/* How tightly C binds; an operand is put in parentheses where it binds less tightly than its place asks. */
enum { LEVEL_ANY, LEVEL_SELECT, LEVEL_BITS, LEVEL_COMPARE, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY, LEVEL_PRIMARY };

typedef struct printer {
    const opf_emit_scope *scope;
    opf_text *out;
    bool index; /* what is printed says where an element lies: it stays far from overflow, loads or not */
} printer;

static void print(printer *p, const opf_expr *e, int level);
static void print_code(printer *p, const opf_expr *e);

/* ---- types ---- */

typedef struct type_row { const char *storage, *value, *suffix; } type_row;
static const type_row types[OPF_DTYPE_COUNT] = {
    [OPF_FLOAT32] = {"float", "float", "f32"},       [OPF_FLOAT64] = {"double", "double", "f64"},
    [OPF_INT8] = {"int8_t", "int8_t", "i8"},         [OPF_INT16] = {"int16_t", "int16_t", "i16"},
    [OPF_INT32] = {"int32_t", "int32_t", "i32"},     [OPF_INT64] = {"int64_t", "int64_t", "i64"},
    [OPF_UINT8] = {"uint8_t", "uint8_t", "u8"},      [OPF_UINT16] = {"uint16_t", "uint16_t", "u16"},
    [OPF_UINT32] = {"uint32_t", "uint32_t", "u32"},  [OPF_UINT64] = {"uint64_t", "uint64_t", "u64"},
    [OPF_BOOL] = {"unsigned char", "unsigned char", "u8"}, [OPF_STRING] = {"opf_string", "opf_string", "u64"},
    [OPF_FLOAT16] = {"uint16_t", "float", "f16"},    [OPF_BFLOAT16] = {"uint16_t", "float", "bf16"},
    [OPF_FLOAT8E4M3FN] = {"uint8_t", "float", "f8e4m3fn"}, [OPF_FLOAT8E4M3FNUZ] = {"uint8_t", "float", "f8e4m3fnuz"},
    [OPF_FLOAT8E5M2] = {"uint8_t", "float", "f8e5m2"},     [OPF_FLOAT8E5M2FNUZ] = {"uint8_t", "float", "f8e5m2fnuz"},
    [OPF_FLOAT8E8M0] = {"uint8_t", "float", "f8e8m0"},     [OPF_FLOAT4E2M1] = {"uint8_t", "float", "f4e2m1"},
    [OPF_INT4] = {"uint8_t", "int8_t", "i4"},              [OPF_UINT4] = {"uint8_t", "uint8_t", "u4"},
    [OPF_INT2] = {"uint8_t", "int8_t", "i2"},              [OPF_UINT2] = {"uint8_t", "uint8_t", "u2"},
};

const char *opf_emit_ctype(opf_dtype dtype) { return types[dtype].storage ? types[dtype].storage : "unsigned char"; }
const char *opf_emit_value_ctype(opf_dtype dtype) { return types[dtype].value ? types[dtype].value : "unsigned char"; }
const char *opf_emit_suffix(opf_dtype dtype) { return types[dtype].suffix ? types[dtype].suffix : "u8"; }
bool opf_emit_can_type(opf_dtype dtype) { return types[dtype].storage != NULL; }

bool opf_emit_is_narrow(opf_dtype dtype) { return opf_dtype_is_float(dtype) && opf_dtype_held(dtype) != dtype; }
static bool is_packed_integer(opf_dtype dtype) { return opf_dtype_is_packed(dtype) && opf_dtype_is_integer(dtype); }

/* ---- constants ---- */

static void print_real(opf_text *out, opf_dtype dtype, double value) {
    bool single = dtype != OPF_FLOAT64;
    if (isnan(value)) {
        opf_text_add(out, single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")");
        return;
    }
    if (isinf(value)) {
        opf_text_printf(out, "%s__builtin_inf%s()", value < 0 ? "-" : "", single ? "f" : "");
        return;
    }
    char text[40];
    for (int digits = single ? 6 : 15; digits <= (single ? 9 : 17); digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) break;
    }
    opf_text_add(out, text);
    if (!strpbrk(text, ".e")) opf_text_add(out, ".0");
    if (single) opf_text_add(out, "f");
}

/* opf_limit_6_0, opf_limit_m1e_05: digits with other signs in the place of those that no name may have. */
static const char limit_prefix[] = "opf_limit_", number_signs[] = ".-+", name_signs[] = "_mp";

static void translate(char *text, const char *from, const char *to) {
    for (; *text; text++) {
        const char *sign = strchr(from, *text);
        if (sign) *text = to[sign - from];
    }
}

static void print_limit_name(float value, opf_text *out) {
    opf_text number = {0};
    print_real(&number, OPF_FLOAT32, (double)value);
    char name[48];
    snprintf(name, sizeof name, "%s", opf_text_string(&number));
    name[strlen(name) - 1] = 0; /* the f */
    translate(name, number_signs, name_signs);
    opf_text_printf(out, "%s%s", limit_prefix, name);
    opf_text_free(&number);
}

void opf_emit_limits(const char *statements, opf_text *out) {
    size_t prefix = strlen(limit_prefix);
    opf_text locals = {0};
    for (const char *at = statements; (at = strstr(at, limit_prefix)) != NULL; at += prefix) {
        char name[48], number[48], line[160];
        size_t length = prefix;
        while (isalnum((unsigned char)at[length]) || at[length] == '_') length++;
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        snprintf(number, sizeof number, "%s", name + prefix);
        translate(number, name_signs, number_signs);
        snprintf(line, sizeof line, "    const float %s = opf_hidden_f32(%sf);\n", name, number);
        if (!strstr(opf_text_string(&locals), line)) opf_text_add(&locals, line);
    }
    opf_text_add(out, opf_text_string(&locals));
    opf_text_free(&locals);
}

static void print_integer(opf_text *out, opf_dtype dtype, int64_t value) {
    if (dtype == OPF_UINT64) {
        opf_text_printf(out, "UINT64_C(%" PRIu64 ")", (uint64_t)value);
    } else if (value == INT64_MIN) {
        opf_text_add(out, "INT64_MIN");
    } else if (dtype == OPF_UINT32) {
        opf_text_printf(out, "%" PRId64 "u", value);
    } else if (dtype == OPF_INT32 && value == INT32_MIN) {
        opf_text_add(out, "INT32_MIN");
    } else if (value > INT32_MAX || value < INT32_MIN) {
        opf_text_printf(out, "INT64_C(%" PRId64 ")", value);
    } else {
        opf_text_printf(out, "%" PRId64, value);
    }
}

static void print_constant(printer *p, const opf_expr *e, int level) {
    bool negative = e->kind == OPF_EXPR_INT ? e->integer < 0 && e->dtype != OPF_UINT64 : signbit(e->real) && !isnan(e->real);
    bool brackets = negative && level >= LEVEL_UNARY;
    if (brackets) opf_text_add(p->out, "(");
    if (e->kind == OPF_EXPR_INT) print_integer(p->out, (opf_dtype)e->dtype, e->integer);
    else print_real(p->out, (opf_dtype)e->dtype, e->real);
    if (brackets) opf_text_add(p->out, ")");
}

/* ---- operations ---- */

typedef struct op_row {
    const char *infix; /* C's operator where it means the same for floats */
    const char *name;  /* of the helper */
    int level;         /* of the infix form */
} op_row;

static const op_row ops[OPF_OP_COUNT] = {
    [OPF_OP_NEG] = {"-", "neg", LEVEL_UNARY},     [OPF_OP_ABS] = {NULL, "abs", 0},
    [OPF_OP_SIGN] = {NULL, "sign", 0},            [OPF_OP_NOT] = {"!", NULL, LEVEL_UNARY},
    [OPF_OP_BITNOT] = {"~", NULL, LEVEL_UNARY},   [OPF_OP_SQRT] = {NULL, "sqrt", 0},
    [OPF_OP_EXP] = {NULL, "exp", 0},              [OPF_OP_LOG] = {NULL, "log", 0},
    [OPF_OP_LOG1P] = {NULL, "log1p", 0},          [OPF_OP_EXPM1] = {NULL, "expm1", 0},
    [OPF_OP_ERF] = {NULL, "erf", 0},              [OPF_OP_SIN] = {NULL, "sin", 0},
    [OPF_OP_COS] = {NULL, "cos", 0},              [OPF_OP_TAN] = {NULL, "tan", 0},
    [OPF_OP_ASIN] = {NULL, "asin", 0},            [OPF_OP_ACOS] = {NULL, "acos", 0},
    [OPF_OP_ATAN] = {NULL, "atan", 0},            [OPF_OP_SINH] = {NULL, "sinh", 0},
    [OPF_OP_COSH] = {NULL, "cosh", 0},            [OPF_OP_TANH] = {NULL, "tanh", 0},
    [OPF_OP_ASINH] = {NULL, "asinh", 0},          [OPF_OP_ACOSH] = {NULL, "acosh", 0},
    [OPF_OP_ATANH] = {NULL, "atanh", 0},          [OPF_OP_FLOOR] = {NULL, "floor", 0},
    [OPF_OP_CEIL] = {NULL, "ceil", 0},            [OPF_OP_ROUND] = {NULL, "round", 0},
    [OPF_OP_TRUNC] = {NULL, "trunc", 0},          [OPF_OP_ISNAN] = {NULL, "isnan", 0},
    [OPF_OP_ISINF] = {NULL, "isinf", 0},          [OPF_OP_ADD] = {"+", "add", LEVEL_SUM},
    [OPF_OP_SUB] = {"-", "sub", LEVEL_SUM},       [OPF_OP_MUL] = {"*", "mul", LEVEL_PRODUCT},
    [OPF_OP_DIV] = {"/", "div", LEVEL_PRODUCT},   [OPF_OP_FLOORDIV] = {NULL, "floordiv", 0},
    [OPF_OP_FLOORMOD] = {NULL, "floormod", 0},    [OPF_OP_FMOD] = {NULL, "fmod", 0},
    [OPF_OP_POW] = {NULL, "pow", 0},              [OPF_OP_ATAN2] = {NULL, "atan2", 0},
    [OPF_OP_MIN] = {NULL, "min", 0},              [OPF_OP_MAX] = {NULL, "max", 0},
    [OPF_OP_LT] = {"<", NULL, LEVEL_COMPARE},     [OPF_OP_LE] = {"<=", NULL, LEVEL_COMPARE},
    [OPF_OP_GT] = {">", NULL, LEVEL_COMPARE},     [OPF_OP_GE] = {">=", NULL, LEVEL_COMPARE},
    [OPF_OP_EQ] = {"==", NULL, LEVEL_COMPARE},    [OPF_OP_NE] = {"!=", NULL, LEVEL_COMPARE},
    [OPF_OP_AND] = {"&", NULL, LEVEL_BITS},       [OPF_OP_OR] = {"|", NULL, LEVEL_BITS},
    [OPF_OP_XOR] = {"^", NULL, LEVEL_BITS},       [OPF_OP_BITAND] = {"&", NULL, LEVEL_BITS},
    [OPF_OP_BITOR] = {"|", NULL, LEVEL_BITS},     [OPF_OP_BITXOR] = {"^", NULL, LEVEL_BITS},
    [OPF_OP_SHL] = {NULL, "shl", 0},              [OPF_OP_SHR] = {NULL, "shr", 0},
    [OPF_OP_ACCUMULATE] = {"+", "add", LEVEL_SUM}, [OPF_OP_EXP_BELOW] = {NULL, "exp_below", 0},
    [OPF_OP_EXP_BESIDE] = {NULL, "exp_beside", 0}, [OPF_OP_EXP_RAISED] = {NULL, "exp_raised", 0},
};

static void open(printer *p, bool brackets) { if (brackets) opf_text_add(p->out, "("); }
static void shut(printer *p, bool brackets) { if (brackets) opf_text_add(p->out, ")"); }

static bool is_index(const printer *p, const opf_expr *e) { return e->dtype == OPF_INT64 && (p->index || !opf_expr_has_load(e)); }

static bool nonnegative(const printer *p, const opf_expr *e) {
    int64_t value;
    if (opf_is_int(e, &value)) return value >= 0;
    return p->scope && p->scope->nonnegative && p->scope->nonnegative(p->scope->data, e);
}

/* The constant of a minimum or maximum of float32, as the name of a local of the kernel that hides it from the compiler (opf_emit_limits):
 * gcc 12 compares with constants that it sees, and blends. NULL: there is none. */
static const opf_expr *limit_of(const opf_expr *e, opf_dtype of) {
    if ((e->op != OPF_OP_MIN && e->op != OPF_OP_MAX) || of != OPF_FLOAT32) return NULL;
    const opf_expr *a = e->args[0], *b = e->args[1], *limit = a->kind == OPF_EXPR_FLOAT ? a : b;
    return (a->kind == OPF_EXPR_FLOAT) != (b->kind == OPF_EXPR_FLOAT) && isfinite((float)limit->real) ? limit : NULL;
}

static void print_limit(printer *p, const opf_expr *e, const opf_expr *limit) {
    opf_text_add(p->out, e->op == OPF_OP_MIN ? "opf_at_most_f32(" : "opf_at_least_f32(");
    print_limit_name((float)limit->real, p->out);
    opf_text_add(p->out, ", ");
    print(p, e->args[limit == e->args[0]], LEVEL_ANY);
    opf_text_add(p->out, ")");
}

/* The functions take what lies within limits: outside nothing changes any more (prelude). */
static void print_exp_within(printer *p, const opf_expr *e) {
    bool beside = e->op == OPF_OP_EXP_BESIDE;
    opf_text_printf(p->out, "opf_%s_f32(", ops[e->op].name);
    if (beside) {
        opf_text_add(p->out, "opf_at_most_f32(");
        print_limit_name(89.0f, p->out);
        opf_text_add(p->out, ", ");
    }
    opf_text_add(p->out, "opf_at_least_f32(");
    print_limit_name(beside ? -86.0f : -104.6f, p->out);
    opf_text_add(p->out, ", ");
    print(p, e->args[0], LEVEL_ANY);
    opf_text_add(p->out, beside ? ")))" : "))");
}

/* Of a constant and a value, the constant goes first: then a NaN needs no test (prelude, opf_max_f32). */
static void print_call(printer *p, const opf_expr *e, opf_dtype of) {
    const opf_expr *limit = limit_of(e, opf_dtype_held(of));
    if (e->op == OPF_OP_EXP_BELOW || e->op == OPF_OP_EXP_RAISED || e->op == OPF_OP_EXP_BESIDE) {
        print_exp_within(p, e);
        return;
    }
    if (limit) {
        print_limit(p, e, limit);
        return;
    }
    bool swapped = (e->op == OPF_OP_MIN || e->op == OPF_OP_MAX) && e->args[1]->kind == OPF_EXPR_FLOAT;
    opf_text_printf(p->out, "opf_%s_%s(", ops[e->op].name, opf_emit_suffix(opf_dtype_held(of)));
    for (int i = 0; i < e->n_args; i++) {
        if (i) opf_text_add(p->out, ", ");
        print(p, e->args[swapped ? 1 - i : i], LEVEL_ANY);
    }
    opf_text_add(p->out, ")");
}

static void print_infix(printer *p, const opf_expr *e, const char *infix, int own, int level) {
    bool brackets = level > own || (own <= LEVEL_COMPARE && level > LEVEL_SELECT);
    open(p, brackets);
    /* Bit operators keep brackets around anything but operands: compilers warn of the rest, and so would readers. */
    bool chain = e->args[0]->kind == OPF_EXPR_BINARY && e->args[0]->op == e->op && own != LEVEL_COMPARE;
    print(p, e->args[0], own <= LEVEL_COMPARE && !chain ? (own == LEVEL_COMPARE ? LEVEL_SUM : LEVEL_UNARY) : own == LEVEL_BITS ? LEVEL_ANY : own);
    opf_text_printf(p->out, " %s ", infix);
    print(p, e->args[1], own == LEVEL_BITS ? LEVEL_UNARY : own == LEVEL_COMPARE ? LEVEL_SUM : own + 1);
    shut(p, brackets);
}

/* Indices: the pool keeps sums as "positive terms - negative terms" with the numbers last, which is how they are read. */
static void print_index_binary(printer *p, const opf_expr *e, int level) {
    const op_row *row = &ops[e->op];
    int64_t divisor; /* a symbol may be 0 where nothing is to be computed: only numbers are divided by plainly */
    bool division = e->op == OPF_OP_FLOORDIV || e->op == OPF_OP_FLOORMOD;
    if (division && opf_is_int(e->args[1], &divisor) && divisor > 0 && nonnegative(p, e->args[0]))
        print_infix(p, e, e->op == OPF_OP_FLOORDIV ? "/" : "%", LEVEL_PRODUCT, level);
    else if (row->level == LEVEL_SUM || e->op == OPF_OP_MUL) print_infix(p, e, row->infix, row->level, level);
    else print_call(p, e, OPF_INT64);
}

/* An operation of a narrow floating type: in float, not rounded yet. */
static void print_unrounded(printer *p, const opf_expr *e) {
    if (!ops[e->op].infix) {
        print_call(p, e, OPF_FLOAT32);
    } else if (e->n_args == 1) {
        opf_text_add(p->out, ops[e->op].infix);
        print(p, e->args[0], LEVEL_UNARY);
    } else {
        print_infix(p, e, ops[e->op].infix, ops[e->op].level, LEVEL_ANY);
    }
}

/* Bit operations on narrow types happen in int: brought back to their type. */
static void print_bits(printer *p, const opf_expr *e) {
    opf_text_printf(p->out, "(%s)", opf_emit_value_ctype((opf_dtype)e->dtype));
    if (e->n_args == 1) {
        opf_text_add(p->out, "~");
        print(p, e->args[0], LEVEL_UNARY);
    } else {
        print_infix(p, e, ops[e->op].infix, LEVEL_BITS, LEVEL_PRIMARY);
    }
}

/* Conditions on indices alone: && and ||, which C takes for what they are. */
static void print_logic(printer *p, const opf_expr *e, int level) {
    bool brackets = level > LEVEL_SELECT;
    open(p, brackets);
    for (int i = 0; i < 2; i++) {
        const opf_expr *arg = e->args[i];
        bool chain = arg->kind == OPF_EXPR_BINARY && arg->op == e->op;
        if (i) opf_text_add(p->out, e->op == OPF_OP_AND ? " && " : " || ");
        print(p, arg, chain ? LEVEL_SELECT : LEVEL_COMPARE);
    }
    shut(p, brackets);
}

/* sum + a * b in one step: opf_fma_f32(a, b, sum) */
static bool is_multiply_add(const opf_expr *e) {
    const opf_expr *term = e->op == OPF_OP_ACCUMULATE && e->dtype == OPF_FLOAT32 ? e->args[1] : NULL;
    return term && term->kind == OPF_EXPR_BINARY && term->op == OPF_OP_MUL;
}

static void print_multiply_add(printer *p, const opf_expr *e) {
    opf_text_add(p->out, "opf_fma_f32(");
    print(p, e->args[1]->args[0], LEVEL_ANY);
    opf_text_add(p->out, ", ");
    print(p, e->args[1]->args[1], LEVEL_ANY);
    opf_text_add(p->out, ", ");
    print(p, e->args[0], LEVEL_ANY);
    opf_text_add(p->out, ")");
}

/* A quotient by a constant: not by a division, which takes sixteen cycles a vector. Powers of two are left to the compiler, which multiplies. */
enum { DIVISOR_BITS = 16, DIVISOR_EXPONENT = 20 };

static bool divides_by_constant(const opf_expr *e) {
    if (e->op != OPF_OP_DIV || e->dtype != OPF_FLOAT32 || e->args[1]->kind != OPF_EXPR_FLOAT || e->args[0]->kind == OPF_EXPR_FLOAT) return false;
    int exponent;
    double significand = fabs(frexp(e->args[1]->real, &exponent));
    return isfinite(significand) && significand > 0.5 && abs(exponent) <= DIVISOR_EXPONENT;
}

/* Where its significand has few bits x * (1 / y) in two parts rounds to what x / y rounds to: opf_divide_f32(x, y, high, low), in two cycles.
 * high + low is 1 / y, high nearer to 0 than that, so that both parts of an infinity's quotient agree. Else opf_quotient_f32(x, y, 1 / y). */
static void print_division(printer *p, const opf_expr *e) {
    int exponent;
    double y = e->args[1]->real, inverse = 1 / y, bits = ldexp(frexp(y, &exponent), DIVISOR_BITS);
    bool few = bits == floor(bits);
    float high = (float)inverse;
    if (few && fabs((double)high) > fabs(inverse)) high = nextafterf(high, 0.0f);
    opf_text_printf(p->out, "%s(", few ? "opf_divide_f32" : "opf_quotient_f32");
    print(p, e->args[0], LEVEL_ANY);
    opf_text_add(p->out, ", ");
    print(p, e->args[1], LEVEL_ANY);
    opf_text_printf(p->out, ", %af", (double)high);
    if (few) opf_text_printf(p->out, ", %af", (double)(float)((1 - y * (double)high) / y)); /* the remainder is exact in double */
    opf_text_add(p->out, ")");
}

static void print_rounded(printer *p, const opf_expr *e, int level);

/* What is computed in whole bytes is brought back to the bits that the type has. */
static void print_wrapped(printer *p, const opf_expr *e) {
    opf_dtype dtype = (opf_dtype)e->dtype;
    opf_text_printf(p->out, "opf_wrap_%s(", opf_emit_suffix(dtype));
    if (e->op == OPF_OP_BITNOT || (e->op >= OPF_OP_BITAND && e->op <= OPF_OP_BITXOR)) print_bits(p, e);
    else print_call(p, e, dtype);
    opf_text_add(p->out, ")");
}

static void print_operation(printer *p, const opf_expr *e, int level) {
    opf_dtype of = (opf_dtype)e->args[0]->dtype;
    const op_row *row = &ops[e->op];
    bool real = opf_dtype_is_float(of), brackets = level > LEVEL_UNARY;
    if (opf_emit_is_narrow((opf_dtype)e->dtype)) {
        print_rounded(p, e, level);
    } else if (e->op == OPF_OP_CODE) {
        print_code(p, e->args[0]);
    } else if (is_packed_integer((opf_dtype)e->dtype)) {
        print_wrapped(p, e);
    } else if (is_multiply_add(e)) {
        print_multiply_add(p, e);
    } else if (divides_by_constant(e)) {
        print_division(p, e);
    } else if ((e->op == OPF_OP_AND || e->op == OPF_OP_OR) && !opf_expr_has_load(e)) {
        print_logic(p, e, level);
    } else if (e->op == OPF_OP_BITNOT || (e->op >= OPF_OP_BITAND && e->op <= OPF_OP_BITXOR)) {
        open(p, brackets);
        print_bits(p, e);
        shut(p, brackets);
    } else if (is_index(p, e) && e->n_args == 2 && !opf_scalar_ops[e->op].compares) {
        print_index_binary(p, e, level);
    } else if (row->infix && (real || !row->name || (is_index(p, e) && e->op == OPF_OP_NEG))) {
        if (e->n_args == 2) {
            print_infix(p, e, row->infix, row->level, level);
        } else {
            open(p, brackets);
            opf_text_add(p->out, row->infix);
            print(p, e->args[0], LEVEL_PRIMARY);
            shut(p, brackets);
        }
    } else {
        print_call(p, e, of == OPF_BOOL ? OPF_UINT8 : of);
    }
}

/* ---- narrow types ---- */

/* The code of a number cast to a narrow floating type: rounded once, from the type that the number is held in. */
static void print_cast_code(printer *p, opf_dtype to, const opf_expr *value) {
    opf_dtype from = opf_dtype_held((opf_dtype)value->dtype);
    bool real = opf_dtype_is_float(from), wide = from == OPF_FLOAT64 || (!real && opf_dtype_bits(from) > 16);
    const char *held = wide ? "f64" : "f32";
    opf_text_printf(p->out, "opf_%s_to_%s(", held, opf_emit_suffix(to));
    bool saturates = real && to == OPF_FLOAT8E5M2; /* the one such type that has infinity, which Cast never gives */
    if (saturates) opf_text_printf(p->out, "opf_finite_%s(", held);
    if (!real) opf_text_add(p->out, wide ? "(double)" : "(float)");
    print(p, value, real ? LEVEL_ANY : LEVEL_UNARY);
    opf_text_add(p->out, saturates ? "))" : ")");
}

static void print_select_code(printer *p, const opf_expr *e) {
    opf_text_add(p->out, "(");
    print(p, e->args[0], LEVEL_COMPARE);
    opf_text_add(p->out, " ? ");
    print_code(p, e->args[1]);
    opf_text_add(p->out, " : ");
    print_code(p, e->args[2]);
    opf_text_add(p->out, ")");
}

/* The bits that store a value. What is a code already is taken as it is. */
static void print_code(printer *p, const opf_expr *e) {
    opf_dtype dtype = (opf_dtype)e->dtype;
    const char *type = opf_emit_suffix(dtype);
    if (!opf_emit_is_narrow(dtype)) {
        opf_text_printf(p->out, "opf_code_%s(", type);
        print(p, e, LEVEL_ANY);
        opf_text_add(p->out, ")");
    } else if (e->kind == OPF_EXPR_FLOAT) {
        uint16_t code = 0;
        opf_dtype_store(dtype, &code, 0, e->real);
        opf_text_printf(p->out, "0x%0*x", opf_dtype_bits(dtype) / 4, code);
    } else if (e->kind == OPF_EXPR_CAST) {
        print_cast_code(p, dtype, e->args[0]);
    } else if (e->kind == OPF_EXPR_SELECT) {
        print_select_code(p, e);
    } else if (e->kind != OPF_EXPR_LOAD || !p->scope->code || !p->scope->code(p->scope->data, e, p->out)) {
        opf_text_printf(p->out, "opf_f32_to_%s(", type);
        if (e->kind == OPF_EXPR_LOAD) print(p, e, LEVEL_ANY);
        else print_unrounded(p, e);
        opf_text_add(p->out, ")");
    }
}

static bool is_short(opf_dtype dtype) { return dtype == OPF_FLOAT16 || dtype == OPF_BFLOAT16; }

/* Is `e` a number of the type already, whatever it is held in? Of such numbers the largest is one, as are their negatives. */
bool opf_emit_is_number_of(const opf_expr *e, opf_dtype dtype) {
    if (e->dtype == dtype) return true;
    if (e->kind == OPF_EXPR_FLOAT) return opf_dtype_round(dtype, e->real) == e->real;
    bool keeps = e->op == OPF_OP_MAX || e->op == OPF_OP_MIN || e->op == OPF_OP_NEG || e->op == OPF_OP_ABS;
    bool operation = (e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY) && keeps, cast = e->kind == OPF_EXPR_CAST && e->dtype == OPF_FLOAT32;
    if (!operation && !cast && e->kind != OPF_EXPR_SELECT) return false;
    for (int k = e->kind == OPF_EXPR_SELECT; k < e->n_args; k++)
        if (!opf_emit_is_number_of(e->args[k], dtype)) return false;
    return true;
}

/* To the nearest number of the type. In 16 bits: from float without a way round the code, and what is such a number as it is. */
static void print_rounded(printer *p, const opf_expr *e, int level) {
    opf_dtype dtype = (opf_dtype)e->dtype;
    bool cast = e->kind == OPF_EXPR_CAST, from_float = !cast || opf_dtype_held((opf_dtype)e->args[0]->dtype) == OPF_FLOAT32;
    bool short_type = from_float && is_short(dtype);
    if (short_type && cast && opf_emit_is_number_of(e->args[0], dtype)) {
        print(p, e->args[0], level);
        return;
    }
    opf_text_printf(p->out, short_type ? "opf_round_%s(" : "opf_%s_to_f32(", opf_emit_suffix(dtype));
    if (!short_type) print_code(p, e);
    else if (cast) print(p, e->args[0], LEVEL_ANY);
    else print_unrounded(p, e);
    opf_text_add(p->out, ")");
}

/* ---- casts ---- */

/* To 32 bits and less a number within limits goes by one instruction. Where it fits the type, it stays an int: next to elements of a byte
 * compilers work on as many elements as there are bytes in a vector, and need loops of as many. */
static bool becomes_short_integer(const opf_expr *e) {
    opf_dtype to = (opf_dtype)e->dtype;
    return e->kind == OPF_EXPR_CAST && opf_dtype_held((opf_dtype)e->args[0]->dtype) == OPF_FLOAT32 && opf_dtype_is_integer(to) && opf_dtype_bits(to) <= 32 && to != OPF_UINT32 &&
           !is_packed_integer(to) && opf_expr_fits(e->args[0], OPF_INT32);
}

const char *opf_emit_local_ctype(opf_dtype dtype, const opf_expr *e) {
    return dtype == e->dtype && becomes_short_integer(e) && opf_expr_fits(e->args[0], dtype) ? "int32_t" : opf_emit_value_ctype(dtype);
}

static void print_to_integer(printer *p, const opf_expr *e, opf_dtype from, opf_dtype to) {
    if (!becomes_short_integer(e)) opf_text_printf(p->out, "opf_%s_to_%s(", opf_emit_suffix(from), opf_emit_suffix(to));
    else if (opf_expr_fits(e->args[0], to)) opf_text_add(p->out, "opf_within_f32_to_i32(");
    else opf_text_printf(p->out, "(%s)opf_within_f32_to_i32(", opf_emit_value_ctype(to));
    print(p, e->args[0], LEVEL_ANY);
    opf_text_add(p->out, ")");
}

static void print_cast(printer *p, const opf_expr *e, int level) {
    opf_dtype to = (opf_dtype)e->dtype, from = opf_dtype_held((opf_dtype)e->args[0]->dtype);
    if (opf_emit_is_narrow(to)) {
        print_rounded(p, e, level);
        return;
    }
    if (to == from) { /* held in this type already */
        print(p, e->args[0], level);
        return;
    }
    if (is_packed_integer(to) && !opf_dtype_is_float(from)) {
        opf_text_printf(p->out, "opf_wrap_%s((%s)", opf_emit_suffix(to), opf_emit_value_ctype(to));
        print(p, e->args[0], LEVEL_UNARY);
        opf_text_add(p->out, ")");
        return;
    }
    if (opf_dtype_is_float(from) && opf_dtype_is_integer(to)) {
        print_to_integer(p, e, from, to);
        return;
    }
    bool test = to == OPF_BOOL, brackets = level > (test ? LEVEL_SELECT : LEVEL_UNARY);
    open(p, brackets);
    if (test) {
        print(p, e->args[0], LEVEL_SUM);
        opf_text_add(p->out, from == OPF_FLOAT32 ? " != 0.0f" : from == OPF_FLOAT64 ? " != 0.0" : " != 0");
    } else {
        opf_text_printf(p->out, "(%s)", opf_emit_value_ctype(to));
        print(p, e->args[0], LEVEL_UNARY);
    }
    shut(p, brackets);
}

/* ---- all kinds ---- */

static void print_select(printer *p, const opf_expr *e, int level) {
    bool brackets = level > LEVEL_ANY;
    open(p, brackets);
    bool bits = e->args[0]->kind == OPF_EXPR_BINARY && ops[e->args[0]->op].level == LEVEL_BITS; /* compilers warn without brackets */
    print(p, e->args[0], bits ? LEVEL_COMPARE : LEVEL_SELECT);
    opf_text_add(p->out, " ? ");
    print(p, e->args[1], LEVEL_SELECT);
    opf_text_add(p->out, " : ");
    print(p, e->args[2], LEVEL_ANY);
    shut(p, brackets);
}

static void print(printer *p, const opf_expr *e, int level) {
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_INT:
    case OPF_EXPR_FLOAT: print_constant(p, e, level); break;
    case OPF_EXPR_VAR: p->scope->var(p->scope->data, e->index, p->out); break;
    case OPF_EXPR_SYMBOL: opf_emit_symbol(e->symbol, p->out); break;
    case OPF_EXPR_LOAD: p->scope->load(p->scope->data, e, p->out); break;
    case OPF_EXPR_UNARY:
    case OPF_EXPR_BINARY: print_operation(p, e, level); break;
    case OPF_EXPR_SELECT: print_select(p, e, level); break;
    case OPF_EXPR_CAST: print_cast(p, e, level); break;
    }
}

void opf_emit_expr(const opf_expr *e, const opf_emit_scope *scope, opf_text *out) {
    print(&(printer){scope, out, false}, e, LEVEL_ANY);
}

void opf_emit_operand(const opf_expr *e, const opf_emit_scope *scope, opf_text *out) {
    print(&(printer){scope, out, false}, e, LEVEL_PRIMARY);
}

void opf_emit_index(const opf_expr *e, const opf_emit_scope *scope, opf_text *out) {
    print(&(printer){scope, out, true}, e, LEVEL_ANY);
}

void opf_emit_code(const opf_expr *e, const opf_emit_scope *scope, opf_text *out) { print_code(&(printer){scope, out, false}, e); }

void opf_emit_element(opf_dtype stored, const char *place, const char *offset, opf_text *out) {
    if (opf_dtype_is_packed(stored)) opf_text_printf(out, "opf_load_%s(%s, %s)", opf_emit_suffix(stored), place, offset);
    else if (opf_emit_is_narrow(stored)) opf_text_printf(out, "opf_%s_to_f32(%s[%s])", opf_emit_suffix(stored), place, offset);
    else opf_text_printf(out, "%s[%s]", place, offset);
}

void opf_emit_round(opf_dtype to, const char *number, opf_text *out) {
    const char *type = opf_emit_suffix(to);
    if (is_short(to)) opf_text_printf(out, "opf_round_%s(%s)", type, number);
    else opf_text_printf(out, "opf_%s_to_f32(opf_f32_to_%s(%s))", type, type, number);
}

void opf_emit_dim(opf_dim dim, opf_text *out) { print(&(printer){NULL, out, true}, dim, LEVEL_ANY); }
