/* Powers of what cannot be above 0, and powers beside which 1 stands. */
#include "loop/power.h"

#include <math.h>

#include "expr/node.h"
#include "loop/scheduler.h"

typedef struct powers { opf_pool *pool; const opf_group *group; const opf_stage *stage; opf_map done; } powers;

/* The stage whose value is loaded, where that is a largest float32; else NULL. */
static const opf_stage *largest_read(const powers *p, const opf_expr *e) {
    int inputs = (int)p->group->stages.inputs.count;
    const opf_stage *stage = e->kind == OPF_EXPR_LOAD && e->index >= inputs ? p->group->stages.list.data[e->index - inputs] : NULL;
    bool fits = stage && stage->combiner == OPF_COMBINE_MAX && stage->dtype == OPF_FLOAT32 && stage->accumulator == OPF_FLOAT32;
    return fits ? stage : NULL;
}

/* What the largest is taken of, at the point where the stage is computed: its free axes where the load has them, the others by the
 * axes of the stage that the load does not mention, in turn. NULL where these have other extents, so that x might not be among them. */
static const opf_expr *candidate(const powers *p, const opf_stage *largest, const opf_expr *load) {
    const opf_expr *bind[3 * OPF_MAX_RANK];
    uint64_t taken = opf_expr_vars(load);
    int own = 0, total = p->stage->n_axes + p->stage->n_reduce;
    if (largest->n_axes + largest->n_reduce > 3 * OPF_MAX_RANK) return NULL;
    for (int k = 0; k < largest->n_axes; k++) bind[k] = load->args[k];
    for (int k = largest->n_axes; k < largest->n_axes + largest->n_reduce; k++, own++) {
        while (own < total && (taken >> own & 1)) own++;
        if (own == total || !opf_expr_prove_eq(p->pool, largest->extents[k], p->stage->extents[own])) return NULL;
        bind[k] = opf_var(p->pool, own);
    }
    return opf_expr_bind(p->pool, largest->body, largest->n_axes + largest->n_reduce, bind);
}

static bool is_below(const powers *p, const opf_expr *difference) {
    if (difference->kind != OPF_EXPR_BINARY || difference->op != OPF_OP_SUB || difference->dtype != OPF_FLOAT32) return false;
    const opf_stage *largest = largest_read(p, difference->args[1]);
    return largest && candidate(p, largest, difference->args[1]) == difference->args[0];
}

static const opf_expr *replaced(powers *p, const opf_expr *e);

static bool is_exp(const opf_expr *e) { return e->kind == OPF_EXPR_UNARY && e->op == OPF_OP_EXP && e->dtype == OPF_FLOAT32; }

/* c + e^x, c - e^x or e^x - c with |c| from 1 up. */
static const opf_expr *beside(powers *p, const opf_expr *e) {
    if (e->kind != OPF_EXPR_BINARY || (e->op != OPF_OP_ADD && e->op != OPF_OP_SUB)) return NULL;
    for (int i = 0; i < 2; i++) {
        const opf_expr *power = e->args[i], *other = e->args[1 - i], *args[2];
        if (!is_exp(power) || is_below(p, power->args[0]) || other->kind != OPF_EXPR_FLOAT || !(fabs(other->real) >= 1)) continue;
        args[i] = opf_unary(p->pool, OPF_OP_EXP_BESIDE, replaced(p, power->args[0]));
        args[1 - i] = other;
        return opf_rebuild(p->pool, e, args);
    }
    return NULL;
}

static const opf_expr *replaced_new(powers *p, const opf_expr *e) {
    const opf_expr *args[3], *sum = beside(p, e);
    if (sum) return sum;
    for (int i = 0; i < e->n_args; i++) args[i] = replaced(p, e->args[i]);
    bool below = is_exp(e) && is_below(p, e->args[0]);
    return below ? opf_unary(p->pool, OPF_OP_EXP_BELOW, args[0]) : opf_rebuild(p->pool, e, args);
}

static const opf_expr *replaced(powers *p, const opf_expr *e) {
    if (!opf_dtype_is_float((opf_dtype)e->dtype) || e->kind == OPF_EXPR_LOAD || e->n_args == 0) return e;
    const opf_expr *known = opf_map_get(&p->done, e);
    if (!known) opf_map_set(&p->done, e, (void *)(uintptr_t)(known = replaced_new(p, e)));
    return known;
}

/* ---- powers that a quotient brings down ---- */

typedef struct quotients { int power, sum; opf_map seen; } quotients; /* the tensors */

static bool is_read(const opf_expr *e, int tensor) { return e->kind == OPF_EXPR_LOAD && e->index == tensor; }

/* Does e read powers and sum in quotients power / sum alone? */
static bool only_divides(quotients *q, const opf_expr *e) {
    if (is_read(e, q->power) || is_read(e, q->sum)) return false;
    if (e->n_args == 0 || opf_map_has(&q->seen, e)) return true;
    opf_map_set(&q->seen, e, q);
    if (opf_is_op(e, OPF_OP_DIV) && is_read(e->args[0], q->power) && is_read(e->args[1], q->sum)) return true;
    for (int i = 0; i < e->n_args; i++)
        if (!only_divides(q, e->args[i])) return false;
    return true;
}

static bool is_float(const opf_stage *stage) { return stage->dtype == OPF_FLOAT32 && (stage->combiner == OPF_COMBINE_NONE || stage->accumulator == OPF_FLOAT32); }

/* The stage that sums the powers as they are; -1: there is none. */
static int sum_of(const opf_group *group, int number) {
    int inputs = (int)group->stages.inputs.count, count = (int)group->stages.list.count;
    for (int i = number + 1; i < count; i++) {
        const opf_stage *stage = group->stages.list.data[i];
        if (stage->combiner == OPF_COMBINE_SUM && is_float(stage) && is_read(stage->body, inputs + number)) return i;
    }
    return -1;
}

/* Is the stage read by its sum and by quotients with it alone, and that sum by these? Not where something is summed behind them: the division is
 * moved behind such sums (fuse/blocks.c), which could overflow. */
static bool is_only_divided(const powers *p, int number) {
    const opf_group *group = p->group;
    int inputs = (int)group->stages.inputs.count, sum = sum_of(group, number);
    if (sum < 0 || p->stage->combiner != OPF_COMBINE_NONE || !is_float(p->stage) || opf_group_is_exact(group)) return false;
    quotients q = {inputs + number, inputs + sum, opf_map_new(opf_pool_arena(p->pool))};
    for (size_t k = 0; k < group->results.count; k++)
        if (group->results.data[k].stage == number || group->results.data[k].stage == sum) return false;
    for (int i = 0; i < (int)group->stages.list.count; i++) {
        const opf_stage *stage = group->stages.list.data[i];
        if (i > sum && stage->combiner != OPF_COMBINE_NONE) return false;
        if (i != sum && !only_divides(&q, stage->body)) return false;
        if (stage->second && !only_divides(&q, stage->second)) return false;
    }
    return true;
}

const opf_expr *opf_powers_below(opf_pool *pool, const opf_group *group, int number, const opf_expr *body) {
    powers p = {pool, group, group->stages.list.data[number], opf_map_new(opf_pool_arena(pool))};
    body = replaced(&p, body);
    bool raised = opf_is_op(body, OPF_OP_EXP_BELOW) && is_only_divided(&p, number);
    return raised ? opf_unary(pool, OPF_OP_EXP_RAISED, body->args[0]) : body;
}
