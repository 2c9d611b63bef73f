/* Constructors: each gives the simplest equal expression that needs no knowledge of ranges. */
#include "expr/build.h"

#include <math.h>

/* ---- leaves ---- */

const opf_expr *opf_int_of(opf_pool *pool, opf_dtype dtype, int64_t value) {
    assert(opf_dtype_is_integer(dtype) || dtype == OPF_BOOL);
    return opf_pool_node(pool, OPF_EXPR_INT, 0, dtype, (uint64_t)opf_wrap(dtype, value), 0, NULL);
}

const opf_expr *opf_int(opf_pool *pool, int64_t value) { return opf_int_of(pool, OPF_INT64, value); }

const opf_expr *opf_real(opf_pool *pool, opf_dtype dtype, double value) {
    assert(opf_dtype_is_float(dtype));
    double rounded = opf_dtype_round(dtype, value);
    if (isnan(rounded)) rounded = NAN; /* one NaN */
    uint64_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return opf_pool_node(pool, OPF_EXPR_FLOAT, 0, dtype, bits, 0, NULL);
}

const opf_expr *opf_number(opf_pool *pool, opf_dtype dtype, double value) {
    if (opf_dtype_is_float(dtype)) return opf_real(pool, dtype, value);
    unsigned char bytes[8] = {0};
    opf_dtype_store(dtype, bytes, 0, value);
    return opf_int_of(pool, dtype, opf_dtype_load_int(dtype, bytes, 0));
}

const opf_expr *opf_var(opf_pool *pool, int position) {
    assert(position >= 0);
    return opf_pool_node(pool, OPF_EXPR_VAR, 0, OPF_INT64, (uint64_t)position, 0, NULL);
}

const opf_expr *opf_sym(opf_pool *pool, const opf_symbol *symbol) {
    if (symbol->low == symbol->high) return opf_int(pool, symbol->low);
    return opf_pool_node(pool, OPF_EXPR_SYMBOL, 0, OPF_INT64, (uint64_t)(uintptr_t)symbol, 0, NULL);
}

const opf_expr *opf_load(opf_pool *pool, opf_dtype dtype, int tensor, int rank, const opf_expr *const *indices) {
    assert(rank >= 0 && rank <= UINT8_MAX && tensor >= 0);
    for (int i = 0; i < rank; i++) assert(indices[i]->dtype == OPF_INT64);
    return opf_pool_node(pool, OPF_EXPR_LOAD, 0, dtype, (uint64_t)tensor, rank, indices);
}

bool opf_is_int(const opf_expr *e, int64_t *value) {
    if (e->kind != OPF_EXPR_INT) return false;
    if (value) *value = e->integer;
    return true;
}

bool opf_is_value(const opf_expr *e, int64_t value) { return e->kind == OPF_EXPR_INT && e->integer == value; }

int64_t opf_greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static const opf_expr *truth(opf_pool *pool, bool value) { return opf_int_of(pool, OPF_BOOL, value); }
static bool is_integer(const opf_expr *e) { return opf_dtype_is_integer((opf_dtype)e->dtype); }

/* ---- unary ---- */

/* Operations whose result in double, rounded to the operands' type, is the operation's own result in that type. */
static bool folds_exactly(opf_scalar_op op) {
    switch (op) {
    case OPF_OP_NEG: case OPF_OP_ABS: case OPF_OP_SIGN: case OPF_OP_SQRT: case OPF_OP_FLOOR: case OPF_OP_CEIL: case OPF_OP_ROUND:
    case OPF_OP_TRUNC: case OPF_OP_ISNAN: case OPF_OP_ISINF: case OPF_OP_ADD: case OPF_OP_SUB: case OPF_OP_MUL: case OPF_OP_DIV:
    case OPF_OP_FMOD: case OPF_OP_MIN: case OPF_OP_MAX: case OPF_OP_LT: case OPF_OP_LE: case OPF_OP_GT: case OPF_OP_GE: case OPF_OP_EQ:
    case OPF_OP_NE: return true;
    default: return false;
    }
}

static const opf_expr *negate_integer(opf_pool *pool, const opf_expr *a) {
    opf_poly poly;
    opf_poly_init(&poly, (opf_dtype)a->dtype);
    opf_poly_add_expr(&poly, a, -1);
    const opf_expr *e = opf_poly_build(pool, &poly);
    opf_poly_free(&poly);
    return e;
}

static const opf_expr *unary_integer(opf_pool *pool, opf_scalar_op op, const opf_expr *a) {
    opf_dtype dtype = (opf_dtype)a->dtype;
    switch (op) {
    case OPF_OP_NEG: return negate_integer(pool, a);
    case OPF_OP_FLOOR: case OPF_OP_CEIL: case OPF_OP_ROUND: case OPF_OP_TRUNC: return a;
    case OPF_OP_ISNAN: case OPF_OP_ISINF: return truth(pool, false);
    case OPF_OP_ABS:
        if (dtype == OPF_UINT64 || opf_meta(a)->low >= 0) return a;
        break;
    case OPF_OP_SIGN:
        if (opf_meta(a)->low > 0) return opf_int_of(pool, dtype, 1);
        break;
    default: break;
    }
    return opf_pool_unary(pool, op, dtype, a);
}

static const opf_expr *negate_truth(opf_pool *pool, const opf_expr *a) {
    if (a->kind == OPF_EXPR_INT) return truth(pool, !a->integer);
    if (opf_is_op(a, OPF_OP_NOT)) return a->args[0];
    if (a->kind != OPF_EXPR_BINARY) return opf_pool_unary(pool, OPF_OP_NOT, OPF_BOOL, a);
    const opf_expr *x = a->args[0], *y = a->args[1];
    if (a->op == OPF_OP_EQ || a->op == OPF_OP_NE) return opf_pool_binary(pool, a->op == OPF_OP_EQ ? OPF_OP_NE : OPF_OP_EQ, OPF_BOOL, x, y);
    bool sizes = x->dtype == OPF_INT64 && !opf_expr_is_data(a);
    if (a->op == OPF_OP_LE && is_integer(x)) return sizes ? opf_compare_integers(pool, OPF_OP_LT, y, x) : opf_pool_binary(pool, OPF_OP_LT, OPF_BOOL, y, x);
    if (a->op == OPF_OP_LT && is_integer(x)) return sizes ? opf_compare_integers(pool, OPF_OP_LE, y, x) : opf_pool_binary(pool, OPF_OP_LE, OPF_BOOL, y, x);
    return opf_pool_unary(pool, OPF_OP_NOT, OPF_BOOL, a);
}

static const opf_expr *code_of(opf_pool *pool, const opf_expr *a) {
    opf_dtype dtype = (opf_dtype)a->dtype;
    unsigned char code = 0;
    assert(opf_dtype_bits(dtype) <= 8);
    if (a->kind != OPF_EXPR_INT && a->kind != OPF_EXPR_FLOAT) return opf_pool_unary(pool, OPF_OP_CODE, OPF_UINT8, a);
    if (a->kind == OPF_EXPR_INT) opf_dtype_store_int(dtype, &code, 0, a->integer);
    else opf_dtype_store(dtype, &code, 0, a->real);
    return opf_int_of(pool, OPF_UINT8, code);
}

const opf_expr *opf_unary(opf_pool *pool, opf_scalar_op op, const opf_expr *a) {
    assert(opf_scalar_ops[op].arity == 1);
    if (op == OPF_OP_CODE) return code_of(pool, a);
    if (op == OPF_OP_NOT) {
        assert(a->dtype == OPF_BOOL);
        return negate_truth(pool, a);
    }
    opf_dtype dtype = opf_scalar_ops[op].compares ? OPF_BOOL : (opf_dtype)a->dtype;
    if (a->kind == OPF_EXPR_INT && is_integer(a)) return opf_int_of(pool, dtype, opf_scalar_eval_int(op, (opf_dtype)a->dtype, a->integer, 0));
    if (is_integer(a)) return unary_integer(pool, op, a);
    if (a->kind == OPF_EXPR_FLOAT && folds_exactly(op)) return opf_number(pool, dtype, opf_scalar_eval(op, a->real, 0));
    if (op == OPF_OP_NEG && opf_is_op(a, OPF_OP_NEG)) return a->args[0];
    if (op == OPF_OP_ABS && (opf_is_op(a, OPF_OP_NEG) || opf_is_op(a, OPF_OP_ABS))) return opf_unary(pool, OPF_OP_ABS, a->args[0]);
    return opf_pool_unary(pool, op, dtype, a);
}

/* ---- integer arithmetic ---- */

/* Constants whose int64 result overflows stay unfolded, so that evaluating a dim can report it. */
static const opf_expr *fold_integers(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    opf_dtype dtype = (opf_dtype)a->dtype;
    int64_t ignored;
    bool overflows = false;
    if (op == OPF_OP_ADD) overflows = __builtin_add_overflow(a->integer, b->integer, &ignored);
    if (op == OPF_OP_SUB) overflows = __builtin_sub_overflow(a->integer, b->integer, &ignored);
    if (op == OPF_OP_MUL) overflows = __builtin_mul_overflow(a->integer, b->integer, &ignored);
    if (overflows && dtype == OPF_INT64) return opf_pool_binary(pool, op, dtype, a, b);
    return opf_int_of(pool, opf_scalar_ops[op].compares ? OPF_BOOL : dtype, opf_scalar_eval_int(op, dtype, a->integer, b->integer));
}

static const opf_expr *add_scaled(opf_pool *pool, const opf_expr *a, const opf_expr *b, int64_t factor) {
    opf_poly poly;
    opf_poly_from(&poly, a);
    opf_poly_add_expr(&poly, b, factor);
    const opf_expr *e;
    if (poly.count <= OPF_POLY_MAX_TERMS) e = opf_poly_build(pool, &poly);
    else e = opf_pool_binary(pool, factor > 0 ? OPF_OP_ADD : OPF_OP_SUB, (opf_dtype)a->dtype, a, b);
    opf_poly_free(&poly);
    return e;
}

/* A product of two factors that both hold data is left as written where one is a sum: expanding it would repeat work at run
 * time and hide the product of two operands. A size times a position that data decide is expanded: it is an index. */
static bool expands(const opf_expr *a, const opf_expr *b, const opf_poly *of_a, const opf_poly *of_b) {
    bool sums = of_a->count + (of_a->constant != 0) > 1 || of_b->count + (of_b->constant != 0) > 1;
    return !(sums && opf_expr_is_data(a) && opf_expr_is_data(b));
}

static const opf_expr *multiply_integers(opf_pool *pool, const opf_expr *a, const opf_expr *b) {
    if (opf_is_value(a, 1)) return b;
    if (opf_is_value(b, 1)) return a;
    opf_poly of_a, of_b, product;
    const opf_expr *e = NULL;
    opf_poly_from(&of_a, a);
    opf_poly_from(&of_b, b);
    if (expands(a, b, &of_a, &of_b) && opf_poly_multiply(pool, &product, &of_a, &of_b)) {
        e = opf_poly_build(pool, &product);
        opf_poly_free(&product);
    }
    opf_poly_free(&of_a);
    opf_poly_free(&of_b);
    if (e) return e;
    const opf_expr *factors[2] = {a, b};
    return opf_monomial_from(pool, factors, 2);
}

static const opf_expr *divide_integers(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    if (opf_is_value(b, 1) && op == OPF_OP_DIV) return a;
    bool sizes = a->dtype == OPF_INT64 && !opf_expr_is_data(a) && !opf_expr_is_data(b);
    if (sizes && opf_meta(a)->low >= 0 && opf_meta(b)->low >= 0) /* rounding toward zero and down agree */
        return op == OPF_OP_DIV ? opf_floordiv(pool, a, b) : opf_floormod(pool, a, b);
    return opf_pool_binary(pool, op, (opf_dtype)a->dtype, a, b);
}

/* min or max of two integers */
static const opf_expr *choose_integer(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    bool is_min = op == OPF_OP_MIN;
    if (a == b) return a;
    if (a->dtype != OPF_UINT64) {
        opf_interval x = opf_interval_of(a), y = opf_interval_of(b);
        if (a->dtype == OPF_INT64 && !opf_expr_is_data(a) && !opf_expr_is_data(b)) {
            opf_interval difference = opf_interval_of(opf_sub(pool, b, a));
            if (difference.low >= 0) return is_min ? a : b;
            if (difference.high <= 0) return is_min ? b : a;
        }
        if (x.high <= y.low) return is_min ? a : b;
        if (y.high <= x.low) return is_min ? b : a;
    }
    if (a->kind == OPF_EXPR_INT || (b->kind != OPF_EXPR_INT && a->id > b->id)) {
        const opf_expr *swap = a;
        a = b, b = swap;
    }
    if (opf_is_op(a, op) && (a->args[0] == b || a->args[1] == b)) return a;
    if (opf_is_op(b, op) && (b->args[0] == a || b->args[1] == a)) return b;
    if (b->kind == OPF_EXPR_INT && opf_is_op(a, op) && a->args[1]->kind == OPF_EXPR_INT)
        return choose_integer(pool, op, a->args[0], fold_integers(pool, op, a->args[1], b));
    return opf_pool_binary(pool, op, (opf_dtype)a->dtype, a, b);
}

static const opf_expr *binary_integer(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    if (a->kind == OPF_EXPR_INT && b->kind == OPF_EXPR_INT) return fold_integers(pool, op, a, b);
    switch (op) {
    case OPF_OP_ADD: return add_scaled(pool, a, b, 1);
    case OPF_OP_SUB: return add_scaled(pool, a, b, -1);
    case OPF_OP_MUL: return multiply_integers(pool, a, b);
    case OPF_OP_DIV:
    case OPF_OP_FMOD: return divide_integers(pool, op, a, b);
    case OPF_OP_FLOORDIV: return a->dtype == OPF_INT64 ? opf_floordiv(pool, a, b) : opf_is_value(b, 1) ? a : opf_pool_binary(pool, op, (opf_dtype)a->dtype, a, b);
    case OPF_OP_FLOORMOD: return a->dtype == OPF_INT64 ? opf_floormod(pool, a, b) : opf_pool_binary(pool, op, (opf_dtype)a->dtype, a, b);
    case OPF_OP_MIN:
    case OPF_OP_MAX: return choose_integer(pool, op, a, b);
    case OPF_OP_LT: case OPF_OP_LE: case OPF_OP_GT: case OPF_OP_GE: case OPF_OP_EQ: case OPF_OP_NE:
        return opf_compare_integers(pool, op, a, b);
    default: return opf_pool_binary(pool, op, (opf_dtype)a->dtype, a, b);
    }
}

/* ---- minima and maxima of floats ---- */

/* A number that is surely above `limit`, or as far above 0 as it, or NaN. */
static bool is_at_least(const opf_expr *e, double limit) {
    if (opf_is_op(e, OPF_OP_ABS) || opf_is_op(e, OPF_OP_EXP)) return limit <= 0;
    return opf_is_op(e, OPF_OP_MAX) && e->args[1]->kind == OPF_EXPR_FLOAT && e->args[1]->real > limit;
}

/* A limit that changes nothing goes; NaN comes through all of them. */
static const opf_expr *choose_float(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    if (a == b) return a;
    const opf_expr *limit = a->kind == OPF_EXPR_FLOAT ? a : b, *x = limit == a ? b : a;
    if (limit->kind == OPF_EXPR_FLOAT && op == OPF_OP_MAX && is_at_least(x, limit->real)) return x;
    if (limit->kind == OPF_EXPR_FLOAT && opf_is_op(x, op) && x->args[1] == limit) return x;
    return opf_pool_binary(pool, op, (opf_dtype)a->dtype, a, b);
}

/* ---- truth values ---- */

static const opf_expr *binary_truth(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    if (op == OPF_OP_NE) op = OPF_OP_XOR;
    if (op == OPF_OP_EQ) return opf_unary(pool, OPF_OP_NOT, binary_truth(pool, OPF_OP_XOR, a, b));
    if (a->kind == OPF_EXPR_INT && b->kind == OPF_EXPR_INT) return truth(pool, opf_scalar_eval_int(op, OPF_BOOL, a->integer, b->integer));
    if (a->kind == OPF_EXPR_INT) {
        const opf_expr *swap = a;
        a = b, b = swap;
    }
    bool constant = b->kind == OPF_EXPR_INT;
    switch (op) {
    case OPF_OP_AND:
        if (a == b) return a;
        if (constant) return b->integer ? a : b;
        break;
    case OPF_OP_OR:
        if (a == b) return a;
        if (constant) return b->integer ? b : a;
        break;
    case OPF_OP_XOR:
        if (a == b) return truth(pool, false);
        if (constant) return b->integer ? opf_unary(pool, OPF_OP_NOT, a) : a;
        break;
    default: break;
    }
    return opf_pool_binary(pool, op, OPF_BOOL, a, b);
}

/* ---- binary ---- */

const opf_expr *opf_binary(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b) {
    assert(opf_scalar_ops[op].arity == 2 && a->dtype == b->dtype);
    if (a->dtype == OPF_BOOL && (opf_scalar_ops[op].compares || (op >= OPF_OP_AND && op <= OPF_OP_XOR))) return binary_truth(pool, op, a, b);
    if (is_integer(a)) return binary_integer(pool, op, a, b);
    opf_dtype dtype = opf_scalar_ops[op].compares ? OPF_BOOL : (opf_dtype)a->dtype;
    if (a->kind == OPF_EXPR_FLOAT && b->kind == OPF_EXPR_FLOAT && folds_exactly(op))
        return opf_number(pool, dtype, opf_scalar_eval(op, a->real, b->real));
    if (op == OPF_OP_MIN || op == OPF_OP_MAX) return choose_float(pool, op, a, b);
    return opf_pool_binary(pool, op, dtype, a, b);
}

const opf_expr *opf_add(opf_pool *pool, const opf_expr *a, const opf_expr *b) { return opf_binary(pool, OPF_OP_ADD, a, b); }
const opf_expr *opf_sub(opf_pool *pool, const opf_expr *a, const opf_expr *b) { return opf_binary(pool, OPF_OP_SUB, a, b); }
const opf_expr *opf_mul(opf_pool *pool, const opf_expr *a, const opf_expr *b) { return opf_binary(pool, OPF_OP_MUL, a, b); }
const opf_expr *opf_min(opf_pool *pool, const opf_expr *a, const opf_expr *b) { return opf_binary(pool, OPF_OP_MIN, a, b); }
const opf_expr *opf_max(opf_pool *pool, const opf_expr *a, const opf_expr *b) { return opf_binary(pool, OPF_OP_MAX, a, b); }

const opf_expr *opf_ceildiv(opf_pool *pool, const opf_expr *a, const opf_expr *b) {
    return opf_floordiv(pool, opf_sub(pool, opf_add(pool, a, b), opf_int(pool, 1)), b);
}

const opf_expr *opf_product(opf_pool *pool, int count, const opf_expr *const *factors) {
    const opf_expr *e = opf_int(pool, 1);
    for (int i = 0; i < count; i++) e = opf_mul(pool, e, factors[i]);
    return e;
}

/* ---- select and cast ---- */

const opf_expr *opf_select(opf_pool *pool, const opf_expr *condition, const opf_expr *then, const opf_expr *otherwise) {
    assert(condition->dtype == OPF_BOOL && then->dtype == otherwise->dtype);
    if (condition->kind == OPF_EXPR_INT) return condition->integer ? then : otherwise;
    if (opf_is_op(condition, OPF_OP_NOT)) return opf_select(pool, condition->args[0], otherwise, then);
    if (then->kind == OPF_EXPR_SELECT && then->args[0] == condition) then = then->args[1];
    if (otherwise->kind == OPF_EXPR_SELECT && otherwise->args[0] == condition) otherwise = otherwise->args[2];
    if (then == otherwise) return then;
    if (then->dtype == OPF_BOOL && then->kind == OPF_EXPR_INT && otherwise->kind == OPF_EXPR_INT)
        return then->integer ? condition : opf_unary(pool, OPF_OP_NOT, condition);
    return opf_pool_node(pool, OPF_EXPR_SELECT, 0, (opf_dtype)then->dtype, 0, 3, (const opf_expr *[]){condition, then, otherwise});
}

/* Significant bits that a floating type holds exactly in integers. */
static int exact_bits(opf_dtype dtype) {
    switch (dtype) {
    case OPF_FLOAT64: return 53;
    case OPF_FLOAT32: return 24;
    case OPF_FLOAT16: return 11;
    case OPF_BFLOAT16: return 8;
    default: return 0;
    }
}

/* Does `to` hold every value of the integer (or bool) expression e? */
static bool holds_integer(const opf_expr *e, opf_dtype to) {
    if (e->dtype == OPF_UINT64 || to == OPF_UINT64) return e->dtype == to;
    opf_interval range = opf_interval_of(e);
    if (opf_dtype_is_float(to)) {
        int bits = exact_bits(to);
        return bits && range.low >= -(INT64_C(1) << bits) && range.high <= INT64_C(1) << bits;
    }
    opf_interval type;
    opf_dtype_range(to, &type.low, &type.high);
    return opf_dtype_is_integer(to) && range.low >= type.low && range.high <= type.high;
}

static bool holds_float(opf_dtype from, opf_dtype to) {
    if (from == to || to == OPF_FLOAT64) return opf_dtype_is_float(to);
    if (to == OPF_FLOAT32) return opf_dtype_is_float(from) && opf_dtype_bits(from) < 32;
    return false;
}

static const opf_expr *cast_constant(opf_pool *pool, opf_dtype dtype, const opf_expr *a) {
    if (a->kind == OPF_EXPR_FLOAT) return opf_number(pool, dtype, opf_dtype_is_float(dtype) ? opf_dtype_cast(dtype, a->real) : a->real);
    if (!opf_dtype_is_float(dtype)) return opf_int_of(pool, dtype, a->integer);
    bool big = a->dtype == OPF_UINT64;
    if (dtype == OPF_FLOAT32) return opf_real(pool, dtype, big ? (float)(uint64_t)a->integer : (float)a->integer); /* rounds once */
    return opf_real(pool, dtype, big ? (double)(uint64_t)a->integer : (double)a->integer);
}

const opf_expr *opf_cast(opf_pool *pool, opf_dtype dtype, const opf_expr *a) {
    if (a->dtype == dtype) return a;
    if (a->kind == OPF_EXPR_INT || a->kind == OPF_EXPR_FLOAT) return cast_constant(pool, dtype, a);
    if (dtype == OPF_BOOL) return opf_binary(pool, OPF_OP_NE, a, opf_number(pool, (opf_dtype)a->dtype, 0));
    if (a->kind == OPF_EXPR_CAST) {
        const opf_expr *inner = a->args[0];
        bool integer = is_integer(inner) || inner->dtype == OPF_BOOL;
        bool kept = integer ? holds_integer(inner, (opf_dtype)a->dtype) : holds_float((opf_dtype)inner->dtype, (opf_dtype)a->dtype);
        /* Wrapping twice is wrapping once where the first type is the wider. */
        bool wraps = is_integer(inner) && is_integer(a) && opf_dtype_is_integer(dtype) && opf_dtype_bits((opf_dtype)a->dtype) >= opf_dtype_bits(dtype);
        if (kept || wraps) return opf_cast(pool, dtype, inner);
    }
    return opf_pool_node(pool, OPF_EXPR_CAST, 0, dtype, 0, 1, &a);
}
