/* Faults planted behind everybody's back in the code of one operator, wherever it is compiled, or only where it is compiled together
 * with others, as a defect of fusion would be: neither the evaluator nor the bounds know of them. For tests of localisation. */
#ifndef TEST_PLANTED_H
#define TEST_PLANTED_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "api/session.h"

typedef enum planted_kind {
    PLANTED_SCALED, PLANTED_SHIFTED, PLANTED_SWAPPED, PLANTED_HALF, PLANTED_DROPPED_NAN, PLANTED_TRUNCATED, PLANTED_HALVES_UP, PLANTED_ROUNDED, PLANTED_FEW_TERMS, PLANTED_HALF_SUM, PLANTED_FEW_DIGITS, PLANTED_REORDERED,
    PLANTED_KINDS
} planted_kind;

/* properties: what `verify --bisect` calls it has one of these words. */
static const struct planted_name { const char *name, *properties[4]; } planted_names[PLANTED_KINDS] = {
    [PLANTED_SCALED] = {"scaled by 1 + 2^-7", {"none of rounding", "a sum", "function", "integers that differ"}},
    [PLANTED_SHIFTED] = {"shifted by 2^-5", {"none of rounding", "a sum", "function", "integers that differ"}},
    [PLANTED_SWAPPED] = {"an operation swapped", {"none of rounding", "a sum", "integers that differ"}},
    [PLANTED_HALF] = {"results in float16", {"half type"}},
    [PLANTED_DROPPED_NAN] = {"a NaN dropped", {"rule for NaN"}},
    [PLANTED_TRUNCATED] = {"truncated", {"rounding to an integer"}},
    [PLANTED_HALVES_UP] = {"rounded with halves upwards", {"rounding to an integer"}},
    [PLANTED_ROUNDED] = {"rounded where the model truncates", {"rounding to an integer"}},
    [PLANTED_FEW_TERMS] = {"a function with too few terms", {"an approximated function"}},
    [PLANTED_HALF_SUM] = {"a sum of terms in float16", {"half type", "a sum"}},
    [PLANTED_FEW_DIGITS] = {"a sum of terms with 10 digits", {"a sum", "the sum over it"}},
    [PLANTED_REORDERED] = {"a sum in another order", {"a sum added in another order"}}, /* under --accuracy=exact alone: else any order is right */
};

typedef struct planted {
    const char *node;
    planted_kind kind;
    bool joined;      /* only in groups of several nodes */
    bool done;        /* it has been planted */
    opf_arena *arena;
    OPF_VEC(struct planted_change { opf_stage *stage; const opf_expr *body; }) changed;
} planted;

/* ---- spoiling ---- */

typedef const opf_expr *(*planted_spoiling)(opf_pool *pool, const opf_expr *e);

static const opf_expr *planted_each(opf_pool *pool, const opf_expr *e, planted_spoiling spoil) {
    if (!opf_expr_has_load(e) || e->kind == OPF_EXPR_LOAD) return e;
    const opf_expr *args[3] = {NULL};
    for (int k = 0; k < e->n_args && k < 3; k++) args[k] = planted_each(pool, e->args[k], spoil);
    if (e->kind == OPF_EXPR_UNARY) e = opf_unary(pool, (opf_scalar_op)e->op, args[0]);
    if (e->kind == OPF_EXPR_BINARY) e = opf_binary(pool, (opf_scalar_op)e->op, args[0], args[1]);
    if (e->kind == OPF_EXPR_SELECT) e = opf_select(pool, args[0], args[1], args[2]);
    if (e->kind == OPF_EXPR_CAST) e = opf_cast(pool, (opf_dtype)e->dtype, args[0]);
    return spoil(pool, e);
}

static const opf_expr *planted_swapped(opf_pool *pool, const opf_expr *e) {
    if (e->kind != OPF_EXPR_BINARY) return e;
    const opf_expr *a = e->args[0], *b = e->args[1];
    if (e->op == OPF_OP_ADD) return opf_binary(pool, OPF_OP_SUB, a, b);
    if (e->op == OPF_OP_SUB) return opf_binary(pool, OPF_OP_ADD, a, b);
    if (e->op == OPF_OP_MAX) return opf_binary(pool, OPF_OP_MIN, a, b);
    if (e->op == OPF_OP_DIV) return opf_binary(pool, OPF_OP_MUL, a, b);
    return e;
}

static const opf_expr *planted_without_nan(opf_pool *pool, const opf_expr *e) {
    if (e->kind != OPF_EXPR_BINARY || (e->op != OPF_OP_MAX && e->op != OPF_OP_MIN)) return e;
    const opf_expr *a = e->args[0], *b = e->args[1];
    return opf_select(pool, opf_unary(pool, OPF_OP_ISNAN, a), b, opf_select(pool, opf_unary(pool, OPF_OP_ISNAN, b), a, e));
}

static bool planted_rounds(const opf_expr *e) { return e->kind == OPF_EXPR_UNARY && e->op == OPF_OP_ROUND; }

static const opf_expr *planted_truncated(opf_pool *pool, const opf_expr *e) { return planted_rounds(e) ? opf_unary(pool, OPF_OP_TRUNC, e->args[0]) : e; }

static const opf_expr *planted_halves_up(opf_pool *pool, const opf_expr *e) {
    if (!planted_rounds(e)) return e;
    return opf_unary(pool, OPF_OP_FLOOR, opf_binary(pool, OPF_OP_ADD, e->args[0], opf_real(pool, (opf_dtype)e->dtype, 0.5)));
}

static const opf_expr *planted_rounded(opf_pool *pool, const opf_expr *e) {
    bool truncates = e->kind == OPF_EXPR_CAST && opf_dtype_is_integer((opf_dtype)e->dtype) && opf_dtype_is_float((opf_dtype)e->args[0]->dtype);
    return truncates ? opf_cast(pool, (opf_dtype)e->dtype, opf_unary(pool, OPF_OP_ROUND, e->args[0])) : e;
}

/* e (1 + most x^2 / (1 + x^2)) */
static const opf_expr *planted_off_by(opf_pool *pool, const opf_expr *e, const opf_expr *x, double most) {
    const opf_expr *one = opf_real(pool, OPF_FLOAT32, 1), *square = opf_binary(pool, OPF_OP_MUL, x, x);
    const opf_expr *share = opf_binary(pool, OPF_OP_DIV, one, opf_binary(pool, OPF_OP_ADD, one, opf_binary(pool, OPF_OP_DIV, one, square)));
    return opf_binary(pool, OPF_OP_MUL, e, opf_binary(pool, OPF_OP_ADD, one, opf_binary(pool, OPF_OP_MUL, opf_real(pool, OPF_FLOAT32, most), share)));
}

static const opf_expr *planted_few_terms(opf_pool *pool, const opf_expr *e) {
    bool function = e->kind == OPF_EXPR_UNARY && opf_scalar_ops[e->op].transcendental && e->dtype == OPF_FLOAT32;
    return function ? planted_off_by(pool, e, e->args[0], 0x1p-13) : e;
}

static const opf_expr *planted_half(opf_pool *pool, const opf_expr *e) { return e->dtype == OPF_FLOAT32 ? opf_cast(pool, OPF_FLOAT32, opf_cast(pool, OPF_FLOAT16, e)) : e; }

/* The terms of a sum from the last to the first. */
static const opf_expr *planted_reordered(opf_pool *pool, const opf_stage *stage) {
    const opf_expr *variables[2 * OPF_MAX_RANK] = {NULL};
    for (int k = stage->n_axes; k < stage->n_axes + stage->n_reduce; k++) variables[k] = opf_sub(pool, opf_sub(pool, stage->extents[k], opf_int(pool, 1)), opf_var(pool, k));
    return opf_expr_bind(pool, stage->body, stage->n_axes + stage->n_reduce, variables);
}

/* The stage's own body where this kind of fault has no place in it. */
static const opf_expr *planted_body(opf_pool *pool, const opf_stage *stage, planted_kind kind) {
    const opf_expr *body = stage->body;
    opf_dtype dtype = (opf_dtype)body->dtype;
    bool real = opf_dtype_is_float(dtype) && opf_dtype_is_float(stage->dtype), sum = real && stage->combiner == OPF_COMBINE_SUM;
    switch (kind) {
    case PLANTED_SCALED: return real ? opf_binary(pool, OPF_OP_MUL, body, opf_real(pool, dtype, 1 + 0x1p-7)) : body;
    case PLANTED_SHIFTED: return real ? opf_binary(pool, OPF_OP_ADD, body, opf_real(pool, dtype, 0x1p-5)) : body;
    case PLANTED_SWAPPED: return real ? planted_swapped(pool, body) : body;
    case PLANTED_HALF: return stage->combiner == OPF_COMBINE_NONE ? planted_half(pool, body) : body;
    case PLANTED_HALF_SUM: return sum ? planted_half(pool, body) : body;
    case PLANTED_DROPPED_NAN: return real ? planted_each(pool, body, planted_without_nan) : body;
    case PLANTED_TRUNCATED: return planted_each(pool, body, planted_truncated);
    case PLANTED_HALVES_UP: return planted_each(pool, body, planted_halves_up);
    case PLANTED_ROUNDED: return planted_each(pool, body, planted_rounded);
    case PLANTED_FEW_TERMS: return planted_each(pool, body, planted_few_terms);
    case PLANTED_FEW_DIGITS: return sum && dtype == OPF_FLOAT32 ? planted_off_by(pool, body, body, 0x1p-10) : body;
    case PLANTED_REORDERED: return sum ? planted_reordered(pool, stage) : body;
    default: return body;
    }
}

/* ---- planting ---- */

/* An opf_context.on_fusion. */
static void planted_plant(void *data, opf_fusion *fusion) {
    planted *f = data;
    for (size_t g = 0; g < fusion->groups.count; g++) {
        opf_group *group = fusion->groups.data[g];
        if (group->step != OPF_STEP_KERNEL || (f->joined && group->nodes.count < 2)) continue;
        for (size_t s = group->stages.list.count; s-- > 0;) { /* the last stage of the operator in this group that it has a place in */
            opf_stage *stage = group->stages.list.data[s];
            bool own = stage->origin && strcmp(stage->origin->name, f->node) == 0;
            const opf_expr *body = own ? planted_body(fusion->module->pool, stage, f->kind) : stage->body;
            if (body == stage->body) continue;
            OPF_PUSH(f->arena, &f->changed, ((struct planted_change){stage, stage->body}));
            stage->body = body;
            f->done = true;
            break;
        }
    }
}

/* An opf_context.on_sources: bounds follow from what the model means. */
static void planted_put_back(void *data, opf_fusion *fusion) {
    planted *f = data;
    (void)fusion;
    while (f->changed.count) {
        struct planted_change *last = &f->changed.data[--f->changed.count];
        last->stage->body = last->body;
    }
}

/* From here on programs of the context have the fault. The compiler does not optimise them: that is not what is looked at, and takes
 * most of the time. */
static void planted_begin(opf_context *context, planted *f) {
    context->on_fusion = planted_plant;
    context->on_sources = planted_put_back;
    context->fusion_data = f;
    context->level = "-O0";
}

#endif
