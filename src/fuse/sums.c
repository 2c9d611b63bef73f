/* Sums of products that share an operand: queries, keys and values of one tensor, gate and up of a network.
 *
 * The register tile computes them over common rows, columns and terms from one packed copy of the operand that they share
 * (loop/tile_siblings.c, whose conditions these are). What follows each sum, or joins them, is done on a block of their values
 * while it is in the cache. */
#include "fuse/sums.h"

#include "fuse/blocks.h"

enum { MOST_SUMS = 4, FEWEST = 4, SHORT = 8 /* columns from which the second operand is read along them */ };

typedef struct opf_sums {
    const opf_group *group;
    opf_pool *pool;
    int n_inputs, n_stages;
    bool *depends; /* per stage: on a sum, itself included */
    int count, at[MOST_SUMS];
    bool failed; /* an operand holds a reduction */
} opf_sums;

static const opf_stage *stage_at(const opf_sums *sums, int s) { return sums->group->stages.list.data[s]; }

/* ---- the sums ---- */

static bool same_axes(const opf_stage *a, const opf_stage *b) {
    if (a->n_axes != b->n_axes || a->n_reduce != b->n_reduce)
        return false;
    for (int k = 0; k < a->n_axes + a->n_reduce; k++)
        if (a->extents[k] != b->extents[k])
            return false;
    return true;
}

static double nominal_points(const opf_stage *stage, int from, int to) {
    double points = 1;
    for (int k = from; k < to; k++)
        points *= (double)opf_dim_nominal(stage->extents[k]);
    return points;
}

static bool find_sums(opf_sums *sums) {
    for (int s = 0; s < sums->n_stages; s++) {
        const opf_stage *stage = stage_at(sums, s);
        if (stage->combiner == OPF_COMBINE_NONE)
            continue;
        bool product = opf_stage_is_product(stage, sums->pool) && stage->dtype == OPF_FLOAT32 && stage->body->kind == OPF_EXPR_BINARY;
        if (!product || sums->count == MOST_SUMS || (sums->count && !same_axes(stage_at(sums, sums->at[0]), stage)))
            return false;
        sums->at[sums->count++] = s;
    }
    return sums->count > 1 && nominal_points(stage_at(sums, sums->at[0]), stage_at(sums, sums->at[0])->n_axes,
                                             stage_at(sums, sums->at[0])->n_axes + stage_at(sums, sums->at[0])->n_reduce) >= FEWEST;
}

/* ---- their operands ---- */

static const opf_expr *write_in(opf_pool *pool, const opf_expr *leaf, void *data) {
    opf_sums *sums = data;
    if (leaf->kind != OPF_EXPR_LOAD || leaf->index < sums->n_inputs)
        return NULL;
    const opf_stage *stage = stage_at(sums, leaf->index - sums->n_inputs);
    if (stage->combiner != OPF_COMBINE_NONE) {
        sums->failed = true;
        return NULL;
    }
    return opf_expr_map(pool, opf_expr_bind(pool, stage->body, stage->n_axes, leaf->args), write_in, sums);
}

static const opf_expr *operand_of(opf_sums *sums, int sum, int arg) {
    const opf_stage *stage = stage_at(sums, sums->at[sum]);
    const opf_expr *e = opf_expr_map(sums->pool, stage->body->args[arg], write_in, sums);
    return opf_expr_simplify(sums->pool, e, opf_stage_domain(stage));
}

static bool reads_input(const opf_expr *e, void *data) { return !(e->kind == OPF_EXPR_LOAD && e->index == *(const int *)data); }

/* The last axis of more than one element that only `own` walks along, -1: none. */
static int last_own(const opf_stage *stage, const opf_expr *own, const opf_expr *other) {
    for (int k = stage->n_axes - 1; k >= 0; k--)
        if (!opf_is_value(stage->extents[k], 1) && opf_expr_has_var(own, k) && !opf_expr_has_var(other, k))
            return k;
    return -1;
}

/* Columns are those of the operand that is not shared, and long enough for that; it does not walk along the other's rows, if there is
 * more than one. */
static bool columns_are_own(const opf_stage *stage, const opf_expr *shared, const opf_expr *own) {
    int column = last_own(stage, own, shared), row = last_own(stage, shared, own);
    return column > row && opf_dim_nominal(stage->extents[column]) >= SHORT;
}

/* A tensor read as it is, along its last axis: packed at build time where it is constant, else read in place. */
static bool lies_well(const opf_sums *sums, const opf_stage *stage, const opf_expr *shared, const opf_expr *own) {
    if (own->kind != OPF_EXPR_LOAD || own->index >= sums->n_inputs)
        return false;
    const opf_value *value = sums->group->stages.inputs.data[own->index];
    const opf_expr *last = own->args[own->n_args - 1];
    bool in_place = last->kind == OPF_EXPR_VAR && last->index == last_own(stage, own, shared);
    return value->dtype == OPF_FLOAT32 && (value->constant || in_place);
}

/* One operand of each sum is the same; the others are as the tile wants them, all constant or none. */
static bool share_operand(opf_sums *sums) {
    const opf_stage *stage = stage_at(sums, sums->at[0]);
    const opf_expr *own[MOST_SUMS];
    for (int arg = 0; arg < 2; arg++) {
        const opf_expr *shared = operand_of(sums, 0, arg);
        bool all = true;
        for (int k = 0; all && k < sums->count; k++) {
            int same = operand_of(sums, k, 0) == shared ? 0 : operand_of(sums, k, 1) == shared ? 1 : -1;
            own[k] = same < 0 ? NULL : operand_of(sums, k, 1 - same);
            all = own[k] && columns_are_own(stage, shared, own[k]) && lies_well(sums, stage, shared, own[k]);
            for (int j = 0; all && j < k; j++) {
                const opf_value *a = sums->group->stages.inputs.data[own[j]->index], *b = sums->group->stages.inputs.data[own[k]->index];
                all = !a->constant == !b->constant && !(a->constant && a == b);
            }
            int input = all ? own[k]->index : -1;
            all = all && opf_expr_visit(sums->pool, shared, reads_input, &input);
        }
        if (all)
            return !sums->failed;
    }
    return false;
}

/* ---- what follows ---- */

typedef struct opf_dependence {
    const opf_sums *sums;
    const opf_stage *reader;
    bool found, elsewhere; /* a sum or what follows one is read; at another point than the reader's own */
} opf_dependence;

static bool meet_dependence(const opf_expr *e, void *data) {
    opf_dependence *d = data;
    int s = e->kind == OPF_EXPR_LOAD ? e->index - d->sums->n_inputs : -1;
    if (s < 0 || !d->sums->depends[s])
        return true;
    d->found = true;
    for (int k = 0; k < e->n_args; k++) {
        bool single = k < d->reader->n_axes && opf_is_value(d->reader->extents[k], 1) && opf_is_value(e->args[k], 0);
        d->elsewhere = d->elsewhere || !(single || (e->args[k]->kind == OPF_EXPR_VAR && e->args[k]->index == k));
    }
    return true;
}

/* Whatever depends on a sum has its points and reads it there; every result does. */
static bool follow_alike(opf_sums *sums) {
    const opf_stage *first = stage_at(sums, sums->at[0]);
    for (int s = 0; s < sums->n_stages; s++) {
        const opf_stage *stage = stage_at(sums, s);
        opf_dependence d = {sums, stage, false, false};
        opf_expr_visit(sums->pool, stage->body, meet_dependence, &d);
        bool sum = stage->combiner != OPF_COMBINE_NONE, alike = stage->n_axes == first->n_axes;
        for (int k = 0; alike && k < stage->n_axes; k++)
            alike = stage->extents[k] == first->extents[k];
        if (d.found && (sum || d.elsewhere || !alike))
            return false;
        sums->depends[s] = sum || d.found;
    }
    for (size_t r = 0; r < sums->group->results.count; r++)
        if (!sums->depends[sums->group->results.data[r].stage])
            return false;
    return true;
}

opf_rule_number opf_sums_fit(const opf_group *group, opf_pool *pool, opf_arena *scratch) {
    opf_sums sums = {.group = group, .pool = pool, .n_inputs = (int)group->stages.inputs.count, .n_stages = (int)group->stages.list.count};
    sums.depends = OPF_ARRAY(scratch, bool, sums.n_stages + 1);
    bool fits = find_sums(&sums) && share_operand(&sums) && follow_alike(&sums);
    return fits ? OPF_RULE_SHARED_OPERAND : OPF_RULE_ANCHOR_SINK;
}
