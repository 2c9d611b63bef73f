/* A float16 model rounds each result of an operator. A rounding within a loop takes ten operations, each of which waits for the one before; a chain of them keeps
 * a processor waiting whose schedulers hold no more than one or two elements' chains. Where a loop is taken apart at its roundings, a line is rounded by
 * vectors that do not wait for each other, and by the instruction that compilers make no use of. */
#include "emit/roundings.h"

const opf_expr *opf_roundings_add(opf_roundings *r, const opf_expr *cast, const opf_expr *value) {
    size_t k = 0;
    while (k < r->casts.count && r->casts.data[k] != cast) k++;
    if (k == r->casts.count) {
        OPF_PUSH(opf_pool_arena(r->pool), &r->casts, cast);
        OPF_PUSH(opf_pool_arena(r->pool), &r->values, value);
    }
    return opf_load(r->pool, OPF_FLOAT16, r->first + (int)k, 0, NULL);
}

static bool rounds(const opf_expr *e) {
    return e->kind == OPF_EXPR_CAST && e->dtype == OPF_FLOAT16 && e->args[0]->dtype == OPF_FLOAT32 && !opf_emit_is_number_of(e->args[0], OPF_FLOAT16);
}

static const opf_expr *rebuilt(opf_pool *pool, const opf_expr *e, const opf_expr *const *args) {
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_UNARY: return opf_unary(pool, (opf_scalar_op)e->op, args[0]);
    case OPF_EXPR_BINARY: return opf_binary(pool, (opf_scalar_op)e->op, args[0], args[1]);
    case OPF_EXPR_SELECT: return opf_select(pool, args[0], args[1], args[2]);
    case OPF_EXPR_CAST: return opf_cast(pool, (opf_dtype)e->dtype, args[0]);
    default: return e;
    }
}

const opf_expr *opf_roundings_take(opf_roundings *r, const opf_expr *e) {
    const opf_expr *args[3];
    if (e->kind <= OPF_EXPR_LOAD) return e;
    for (int k = 0; k < e->n_args; k++) args[k] = e->kind == OPF_EXPR_SELECT && k ? e->args[k] : opf_roundings_take(r, e->args[k]);
    if (rounds(e)) return opf_roundings_add(r, e, args[0]);
    return rebuilt(r->pool, e, args);
}
