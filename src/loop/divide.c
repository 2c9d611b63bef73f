/* Divisions by what varies along fewer axes than the dividend. */
#include "loop/divide.h"

#include "loop/scheduler.h"

static bool fewer_axes(const opf_expr *divisor, const opf_expr *dividend) {
    uint64_t few = opf_expr_vars(divisor), many = opf_expr_vars(dividend);
    return (few & ~many) == 0 && few != many;
}

static const opf_stage *stage_read(const opf_group *group, const opf_expr *e) {
    int inputs = (int)group->stages.inputs.count;
    return e->kind == OPF_EXPR_LOAD && e->index >= inputs ? group->stages.list.data[e->index - inputs] : NULL;
}

/* exp(x - m), m the largest x, all of one operator? */
static bool is_softmax_power(const opf_group *group, const opf_stage *power, const opf_node *origin) {
    const opf_expr *e = power->body;
    if (power->combiner != OPF_COMBINE_NONE || power->origin != origin || e->kind != OPF_EXPR_UNARY || e->op != OPF_OP_EXP) return false;
    const opf_expr *difference = e->args[0];
    if (difference->kind != OPF_EXPR_BINARY || difference->op != OPF_OP_SUB) return false;
    const opf_stage *largest = stage_read(group, difference->args[1]);
    return largest && largest->origin == origin && largest->combiner == OPF_COMBINE_MAX;
}

static bool is_softmax_sum(const opf_group *group, const opf_stage *stage, const opf_expr *divisor) {
    const opf_stage *sum = stage_read(group, divisor);
    if (!stage->origin || !sum || sum->origin != stage->origin || sum->combiner != OPF_COMBINE_SUM) return false;
    const opf_stage *power = stage_read(group, sum->body);
    return power && is_softmax_power(group, power, stage->origin);
}

static bool is_one(const opf_expr *e) { return e->kind == OPF_EXPR_FLOAT && e->real == 1; }

typedef struct rewriting { opf_pool *pool; const opf_group *group; const opf_stage *stage; opf_map done; } rewriting;

static const opf_expr *rewritten(rewriting *r, const opf_expr *e);

static const opf_expr *rewritten_new(rewriting *r, const opf_expr *e) {
    opf_pool *pool = r->pool;
    const opf_expr *args[3];
    for (int i = 0; i < e->n_args; i++) args[i] = rewritten(r, e->args[i]);
    bool division = e->kind == OPF_EXPR_BINARY && e->op == OPF_OP_DIV && !is_one(args[0]) && fewer_axes(args[1], args[0]);
    bool root = division && args[1]->kind == OPF_EXPR_UNARY && args[1]->op == OPF_OP_SQRT;
    if (!root && !(division && is_softmax_sum(r->group, r->stage, args[1]))) return opf_rebuild(pool, e, args);
    const opf_expr *reciprocal = opf_binary(pool, OPF_OP_DIV, opf_real(pool, OPF_FLOAT32, 1), args[1]);
    return opf_binary(pool, OPF_OP_MUL, args[0], reciprocal);
}

static const opf_expr *rewritten(rewriting *r, const opf_expr *e) {
    if (e->dtype != OPF_FLOAT32 || e->kind == OPF_EXPR_LOAD || e->n_args == 0) return e;
    const opf_expr *known = opf_map_get(&r->done, e);
    if (!known) opf_map_set(&r->done, e, (void *)(uintptr_t)(known = rewritten_new(r, e)));
    return known;
}

const opf_expr *opf_divisions_out(opf_pool *pool, const opf_group *group, const opf_stage *stage, const opf_expr *body) {
    rewriting r = {pool, group, stage, opf_map_new(opf_pool_arena(pool))};
    if (opf_group_is_exact(group)) return body;
    return rewritten(&r, body);
}
