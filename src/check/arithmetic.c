/* An operator by other arithmetic. */
#include "check/arithmetic.h"

#include <math.h>
#include <string.h>

#include "eval/eval.h"

/* ---- expressions ---- */

typedef const opf_expr *(*replacing)(opf_pool *pool, const opf_expr *e);

/* e with each sub-expression replaced, operands first; positions of loads stay. */
static const opf_expr *rewritten(opf_pool *pool, const opf_expr *e, replacing replace) {
    if (!opf_expr_has_load(e) || e->kind == OPF_EXPR_LOAD) return e;
    const opf_expr *args[3] = {NULL};
    for (int k = 0; k < e->n_args && k < 3; k++) args[k] = rewritten(pool, e->args[k], replace);
    switch (e->kind) {
    case OPF_EXPR_UNARY: e = opf_unary(pool, (opf_scalar_op)e->op, args[0]); break;
    case OPF_EXPR_BINARY: e = opf_binary(pool, (opf_scalar_op)e->op, args[0], args[1]); break;
    case OPF_EXPR_SELECT: e = opf_select(pool, args[0], args[1], args[2]); break;
    case OPF_EXPR_CAST: e = opf_cast(pool, (opf_dtype)e->dtype, args[0]); break;
    default: break;
    }
    return replace(pool, e);
}

static const opf_expr *through(opf_pool *pool, const opf_expr *e, opf_dtype narrow) {
    return e->dtype == OPF_FLOAT32 ? opf_cast(pool, OPF_FLOAT32, opf_cast(pool, narrow, e)) : e;
}

static bool is_operation(const opf_expr *e, opf_expr_kind kind, opf_scalar_op op) { return e->kind == kind && e->op == op; }

/* C's fmax and fmin, and x > y ? x : y: the operand that is a number. */
static const opf_expr *drop_nan(opf_pool *pool, const opf_expr *e) {
    if (!is_operation(e, OPF_EXPR_BINARY, OPF_OP_MAX) && !is_operation(e, OPF_EXPR_BINARY, OPF_OP_MIN)) return e;
    if (!opf_dtype_is_float((opf_dtype)e->dtype)) return e;
    const opf_expr *a = e->args[0], *b = e->args[1];
    const opf_expr *other = opf_select(pool, opf_unary(pool, OPF_OP_ISNAN, b), a, e);
    return opf_select(pool, opf_unary(pool, OPF_OP_ISNAN, a), b, other);
}

static const opf_expr *truncate(opf_pool *pool, const opf_expr *e) {
    return is_operation(e, OPF_EXPR_UNARY, OPF_OP_ROUND) ? opf_unary(pool, OPF_OP_TRUNC, e->args[0]) : e;
}

static const opf_expr *round_half_up(opf_pool *pool, const opf_expr *e) {
    if (!is_operation(e, OPF_EXPR_UNARY, OPF_OP_ROUND)) return e;
    return opf_unary(pool, OPF_OP_FLOOR, opf_binary(pool, OPF_OP_ADD, e->args[0], opf_real(pool, (opf_dtype)e->dtype, 0.5)));
}

static const opf_expr *round_to_integer(opf_pool *pool, const opf_expr *e) {
    bool whole = e->kind == OPF_EXPR_CAST && opf_dtype_is_integer((opf_dtype)e->dtype) && opf_dtype_is_float((opf_dtype)e->args[0]->dtype);
    return whole && !is_operation(e->args[0], OPF_EXPR_UNARY, OPF_OP_ROUND) ? opf_cast(pool, (opf_dtype)e->dtype, opf_unary(pool, OPF_OP_ROUND, e->args[0])) : e;
}

/* ---- ways to compute ---- */

typedef struct way {
    const char *property;
    const char *overflow;   /* the property where it makes infinities or NaN of numbers; NULL: the same */
    opf_dtype narrow;       /* results, and terms of sums, go through this type; OPF_NO_DTYPE: `replace` */
    replacing replace;
} way;

static const way ways[] = {
    {"rounding to a half type: the operator's numbers are those of float16", "overflow of a half type: the operator's numbers go through float16, which ends at 65504", OPF_FLOAT16, NULL},
    {"rounding to a half type: the operator's numbers are those of bfloat16", "overflow of a half type: the operator's numbers go through bfloat16", OPF_BFLOAT16, NULL},
    {"a rule for NaN: a maximum or minimum takes the other operand where one is NaN", NULL, OPF_NO_DTYPE, drop_nan},
    {"rounding to an integer by truncation, in place of half to even", NULL, OPF_NO_DTYPE, truncate},
    {"rounding to an integer with halves upwards, in place of half to even", NULL, OPF_NO_DTYPE, round_half_up},
    {"rounding to an integer where the model truncates", NULL, OPF_NO_DTYPE, round_to_integer},
};

static const opf_expr *body_by(const opf_suspect *s, const opf_stage *stage, const way *by) {
    if (by->narrow != OPF_NO_DTYPE) return through(s->pool, stage->body, by->narrow);
    const opf_expr *body = rewritten(s->pool, stage->body, by->replace);
    bool extreme = stage->combiner == OPF_COMBINE_MAX || stage->combiner == OPF_COMBINE_MIN;
    if (!extreme || by->replace != drop_nan || !opf_dtype_is_float((opf_dtype)body->dtype)) return body;
    const opf_expr *none = opf_real(s->pool, (opf_dtype)body->dtype, stage->combiner == OPF_COMBINE_MAX ? -INFINITY : INFINITY);
    return opf_select(s->pool, opf_unary(s->pool, OPF_OP_ISNAN, body), none, body);
}

static bool is_of(const opf_stage *stage, const char *node) { return !node || (stage->origin && opf_node_stands_for(stage->origin, node)); }

/* The group's stages with those of the operator by this way: all of them, or the last alone. False where that changes none. */
static bool stages_by(const opf_suspect *s, const way *by, bool last, opf_stages *out, opf_arena *arena) {
    const opf_stages *stages = &s->group->stages;
    bool changed = false;
    size_t from = stages->list.count;
    while (from > 0 && !is_of(stages->list.data[from - 1], s->node)) from--;
    for (size_t i = 0; i < stages->inputs.count; i++) OPF_PUSH(arena, &out->inputs, stages->inputs.data[i]);
    for (size_t i = 0; i < stages->list.count; i++) {
        opf_stage *stage = stages->list.data[i];
        if (is_of(stage, s->node) && (!last || i + 1 == from)) {
            opf_stage *other = OPF_NEW(arena, opf_stage);
            *other = *stage;
            other->body = body_by(s, stage, by);
            changed = changed || other->body != stage->body;
            stage = other;
        }
        OPF_PUSH(arena, &out->list, stage);
    }
    return changed;
}

/* ---- comparing ---- */

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool is_beyond(double a, double expected, double bound) { return !same(a, expected) && !isinf(bound) && !(fabs(a - expected) <= bound); }

/* Of the elements where the program or this way is beyond, how many has it in common; 0 where the program is right. */
static double share(const opf_suspect *s, const opf_tensor *by, bool *makes_infinities) {
    int64_t relevant = 0, explained = 0;
    for (int64_t i = 0; i < s->expected->elements; i++) {
        double got = opf_tensor_get(s->got, i), expected = opf_tensor_get(s->expected, i), bound = opf_tensor_get(s->bounds, i), other = opf_tensor_get(by, i);
        bool beyond = is_beyond(got, expected, bound);
        if (!beyond && !is_beyond(other, expected, bound)) continue;
        relevant++;
        /* eight times as near as the expected number: what other roundings behind it leave */
        explained += beyond && (same(got, other) || fabs(got - other) <= fmax(bound, fabs(got - expected) / 8));
        *makes_infinities = *makes_infinities || (isfinite(expected) && !isfinite(other));
    }
    return relevant ? (double)explained / (double)relevant : 0;
}

static opf_status try_way(const opf_suspect *s, const way *by, bool last, double *best, const char **out, opf_arena *arena) {
    opf_stages stages = {0};
    int n = (int)s->group->results.count;
    if (!stages_by(s, by, last, &stages, arena)) return OPF_OK;
    int *results = OPF_ARRAY(arena, int, n + 1);
    opf_tensor **values = OPF_ARRAY(arena, opf_tensor *, n + 1);
    for (int k = 0; k < n; k++) results[k] = k == s->result ? s->group->results.data[k].stage : -1;
    opf_status status = opf_eval_stage_list(s->group->nodes.count ? s->group->nodes.data[0] : NULL, &stages, results, n, s->inputs, s->symbols, values, arena);
    if (status != OPF_OK || !values[s->result] || values[s->result]->elements != s->expected->elements) return status;
    bool infinities = false;
    double found = share(s, values[s->result], &infinities);
    if (found <= *best) return OPF_OK;
    *best = found;
    *out = infinities && by->overflow ? by->overflow : by->property;
    return OPF_OK;
}

opf_status opf_suspect_arithmetic(const char **out, const opf_suspect *suspect, opf_arena *arena) {
    double best = 0.75; /* of the elements, at least */
    opf_status status = OPF_OK;
    *out = NULL;
    for (size_t i = 0; i < OPF_COUNT(ways) && status == OPF_OK; i++)
        for (int last = 1; last >= 0 && status == OPF_OK; last--) status = try_way(suspect, &ways[i], last, &best, out, arena);
    return status;
}

/* ---- traits ---- */

bool opf_node_stands_for(const opf_node *node, const char *name) {
    if (strcmp(node->name, name) == 0) return true;
    for (int k = 0; k < node->n_origins; k++)
        if (strcmp(node->origins[k], name) == 0) return true;
    return false;
}

static bool rounds(const opf_expr *e) {
    if (e->kind == OPF_EXPR_CAST) return opf_dtype_is_integer((opf_dtype)e->dtype) && opf_dtype_is_float((opf_dtype)e->args[0]->dtype);
    return e->kind == OPF_EXPR_UNARY && (e->op == OPF_OP_ROUND || e->op == OPF_OP_FLOOR || e->op == OPF_OP_CEIL || e->op == OPF_OP_TRUNC || e->op == OPF_OP_SIGN);
}

static void add_traits(opf_traits *traits, const opf_expr *e) {
    if (!opf_expr_has_load(e) || e->kind == OPF_EXPR_LOAD) return;
    bool operation = e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY;
    traits->approximates = traits->approximates || (operation && opf_scalar_ops[e->op].transcendental && e->op != OPF_OP_FMOD && opf_dtype_is_float((opf_dtype)e->dtype));
    traits->rounds = traits->rounds || rounds(e);
    for (int k = 0; k < e->n_args; k++) add_traits(traits, e->args[k]);
}

opf_traits opf_traits_of(const opf_group *group, const char *node) {
    opf_traits traits = {0};
    for (size_t i = 0; i < group->stages.list.count; i++) {
        const opf_stage *stage = group->stages.list.data[i];
        if (!is_of(stage, node)) continue;
        traits.sums = traits.sums || (stage->combiner == OPF_COMBINE_SUM && opf_dtype_is_float(stage->dtype));
        add_traits(&traits, stage->body);
    }
    return traits;
}
