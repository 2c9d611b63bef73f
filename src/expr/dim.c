/* Values of dims for given symbols. Floating parts (a Resize's scale) are computed in their own type. */
#include "expr/walk.h"

#include <stdlib.h>

typedef struct opf_dim_value {
    bool known;      /* no overflow, no division by zero on the way */
    int64_t integer;
    double real;
} opf_dim_value;

static bool checked(opf_scalar_op op, int64_t a, int64_t b, int64_t *out) {
    switch (op) {
    case OPF_OP_ADD: return !__builtin_add_overflow(a, b, out);
    case OPF_OP_SUB: return !__builtin_sub_overflow(a, b, out);
    case OPF_OP_MUL: return !__builtin_mul_overflow(a, b, out);
    case OPF_OP_NEG: return !__builtin_sub_overflow((int64_t)0, a, out);
    case OPF_OP_DIV: case OPF_OP_FLOORDIV: case OPF_OP_FLOORMOD: case OPF_OP_FMOD:
        if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
        break;
    default: break;
    }
    *out = opf_scalar_eval_int(op, OPF_INT64, a, b);
    return true;
}

static opf_dim_value operate(const opf_expr *e, opf_dim_value a, opf_dim_value b) {
    opf_dim_value out = {a.known && b.known, 0, 0};
    opf_dtype dtype = (opf_dtype)e->args[0]->dtype;
    opf_scalar_op op = (opf_scalar_op)e->op;
    if (opf_dtype_is_float(dtype)) {
        double value = opf_scalar_eval(op, a.real, b.real);
        if (e->dtype == OPF_BOOL) out.integer = value != 0;
        else out.real = opf_dtype_round((opf_dtype)e->dtype, value);
    } else if (dtype == OPF_INT64) {
        if (out.known) out.known = checked(op, a.integer, b.integer, &out.integer);
    } else out.integer = opf_scalar_eval_int(op, dtype, a.integer, b.integer);
    return out;
}

static opf_dim_value convert(const opf_expr *e, opf_dim_value a) {
    const opf_expr *from = e->args[0];
    opf_dim_value out = {a.known, a.integer, a.real};
    unsigned char bytes[8] = {0};
    if (opf_dtype_is_float((opf_dtype)e->dtype)) {
        double value = opf_dtype_is_float((opf_dtype)from->dtype) ? a.real : from->dtype == OPF_UINT64 ? (double)(uint64_t)a.integer : (double)a.integer;
        out.real = opf_dtype_cast((opf_dtype)e->dtype, value);
    } else if (opf_dtype_is_float((opf_dtype)from->dtype)) {
        opf_dtype_store((opf_dtype)e->dtype, bytes, 0, a.real);
        out.integer = opf_dtype_load_int((opf_dtype)e->dtype, bytes, 0);
    } else out.integer = opf_wrap((opf_dtype)e->dtype, a.integer);
    return out;
}

static opf_dim_value value_of(const opf_expr *e, const opf_walk *walk, const opf_dim_value *values, const int64_t *symbols) {
    opf_dim_value args[3] = {{0}};
    if (e->kind == OPF_EXPR_LOAD || e->kind == OPF_EXPR_VAR) return (opf_dim_value){0};
    for (int i = 0; i < e->n_args; i++) args[i] = values[opf_walk_find(walk, e->args[i]) - walk->entries];
    switch (e->kind) {
    case OPF_EXPR_INT: return (opf_dim_value){true, e->integer, 0};
    case OPF_EXPR_FLOAT: return (opf_dim_value){true, 0, e->real};
    case OPF_EXPR_SYMBOL: return (opf_dim_value){true, symbols ? symbols[e->symbol->index] : e->symbol->nominal, 0};
    case OPF_EXPR_UNARY: return operate(e, args[0], (opf_dim_value){true, 0, 0});
    case OPF_EXPR_BINARY: return operate(e, args[0], args[1]);
    case OPF_EXPR_SELECT: return args[0].known ? args[0].integer ? args[1] : args[2] : args[0];
    default: return convert(e, args[0]);
    }
}

static opf_dim_value evaluate(opf_dim dim, const int64_t *symbols) {
    if (dim->kind == OPF_EXPR_INT) return (opf_dim_value){true, dim->integer, 0};
    opf_walk walk;
    opf_dim_value few[64], *values = few;
    opf_walk_init(&walk);
    opf_walk_from(&walk, dim);
    if (walk.count > OPF_COUNT(few)) {
        values = malloc(walk.count * sizeof *values);
        if (!values) opf_out_of_memory();
    }
    for (size_t i = 0; i < walk.n_ordered; i++) {
        size_t at = walk.order[i];
        values[at] = value_of(walk.entries[at].e, &walk, values, symbols);
    }
    opf_dim_value result = values[opf_walk_find(&walk, dim) - walk.entries];
    if (values != few) free(values);
    opf_walk_free(&walk);
    return result;
}

bool opf_dim_eval(opf_dim dim, const int64_t *values, int64_t *out) {
    opf_dim_value value = evaluate(dim, values);
    if (value.known) *out = value.integer;
    return value.known;
}

int64_t opf_dim_nominal(opf_dim dim) {
    opf_dim_value value = evaluate(dim, NULL);
    return value.known ? value.integer : 1;
}
