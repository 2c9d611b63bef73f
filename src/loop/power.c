/* Powers of what cannot be above 0, and powers beside which 1 stands. */
#include "loop/power.h"

#include <math.h>

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

const opf_expr *opf_powers_below(opf_pool *pool, const opf_group *group, const opf_stage *stage, const opf_expr *body) {
    powers p = {pool, group, stage, opf_map_new(opf_pool_arena(pool))};
    return replaced(&p, body);
}
