/* Element-wise work behind a value that is stored anyway, a model output in mid-chain or what others read too: done in passing,
 * while the value is still in registers, as one more result of its kernel. Only work of the value's own shape that reads it
 * element for element, and that no other group stands in front of. */
#include "fuse/growth.h"

typedef struct opf_passing {
    const opf_stages *stages;
    const opf_stage *stage;
    bool points; /* each load is at the stage's own point, or of something smaller */
} opf_passing;

static bool meet_load(const opf_expr *e, void *data) {
    opf_passing *passing = data;
    if (e->kind != OPF_EXPR_LOAD)
        return true;
    int offset = passing->stage->n_axes - e->n_args;
    for (int k = 0; k < e->n_args; k++) {
        bool own = e->args[k]->kind == OPF_EXPR_VAR && e->args[k]->index == k + offset;
        passing->points = passing->points && offset >= 0 && (own || opf_is_value(e->args[k], 0));
    }
    return passing->points;
}

/* One domain, nothing reduced, everything at its own point. */
static bool is_elementwise(const opf_group *group, const opf_rule_settings *settings, opf_pool *pool) {
    const opf_stage *first = group->stages.list.data[0];
    for (size_t s = 0; s < group->stages.list.count; s++) {
        const opf_stage *stage = group->stages.list.data[s];
        opf_passing passing = {&group->stages, stage, true};
        if (stage->combiner != OPF_COMBINE_NONE || stage->n_axes != first->n_axes)
            return false;
        for (int k = 0; k < stage->n_axes; k++)
            if (stage->extents[k] != first->extents[k])
                return false;
        opf_expr_visit(pool, stage->body, meet_load, &passing);
        if (!passing.points)
            return false;
    }
    return (double)group->stages.inputs.count <= opf_threshold_of(settings, OPF_THRESHOLD_PASSING_OPERANDS);
}

/* Are the group's operand and its results of one shape? */
static bool has_shape_of(const opf_group *group, const opf_value *value) {
    const opf_stage *stage = group->stages.list.data[0];
    if (stage->n_axes != value->rank)
        return false;
    for (int k = 0; k < value->rank; k++)
        if (stage->extents[k] != value->dims[k])
            return false;
    return true;
}

/* One window or product, and element-wise work of its own shape behind it: what a further result can be added to. */
static bool takes_results(const opf_group *group) {
    const opf_stage *last = NULL;
    for (size_t s = 0; s < group->stages.list.count; s++) {
        const opf_stage *stage = group->stages.list.data[s];
        if (stage->n_reduce && last)
            return false;
        if (stage->n_reduce)
            last = stage;
        if (!last)
            continue;
        if (stage->n_axes != last->n_axes)
            return false;
        for (int k = 0; k < stage->n_axes; k++)
            if (stage->extents[k] != last->extents[k])
                return false;
    }
    return last != NULL;
}

typedef enum opf_fitting { FITS, NO_SOURCE, NOT_ALIKE } opf_fitting;

/* May the reader be a result more? NOT_ALIKE: the source could take one, but not this. */
static opf_fitting fitting(opf_growth *growth, int source, int reader, const opf_value *value) {
    opf_fuser *fuser = growth->fuser;
    if (growth->members[source].count + growth->members[reader].count > (size_t)fuser->max_depth || opf_growth_pair_apart(growth, source, reader))
        return NO_SOURCE;
    opf_growth_between(growth, source, reader);
    if (growth->set.count != 2)
        return NO_SOURCE;
    opf_arena *scratch = opf_arena_new(), *kept = fuser->arena;
    fuser->arena = scratch;
    opf_group front, behind;
    opf_fitting outcome = NO_SOURCE;
    if (opf_growth_compose(growth, source, &front) && opf_growth_compose(growth, reader, &behind) && takes_results(&front))
        outcome = is_elementwise(&behind, fuser->settings, fuser->pool) && has_shape_of(&behind, value) ? FITS : NOT_ALIKE;
    fuser->arena = kept;
    opf_arena_free(scratch);
    return outcome;
}

static bool may_pass(const opf_growth *growth, int group) {
    return growth->members[group].count && !growth->closed[group] && !growth->view[group] && !growth->fuser->copied[group].count &&
           !opf_growth_is_planned(growth, group);
}

bool opf_growth_passes_apart(opf_growth *growth, int source, int reader, const opf_value *value) {
    bool kinds = !growth->light[source] && growth->light[reader] && may_pass(growth, source) && may_pass(growth, reader);
    return kinds && fitting(growth, source, reader, value) == NOT_ALIKE;
}

static void take(opf_growth *growth, int source, int reader) {
    opf_fuser *fuser = growth->fuser;
    growth->set.count = 0;
    OPF_PUSH(fuser->arena, &growth->set, source);
    OPF_PUSH(fuser->arena, &growth->set, reader);
    opf_rule_number formed = fuser->formed[source];
    opf_growth_join(growth, opf_growth_united(growth), fuser->group_kinds[source], formed == OPF_RULE_SINGLE ? OPF_RULE_IN_PASSING : formed);
}

void opf_grow_passing(opf_growth *growth) {
    opf_fuser *fuser = growth->fuser;
    for (int i = 0; i < fuser->n_nodes; i++) {
        const opf_node *node = fuser->graph->nodes.data[i];
        for (size_t u = 0; !fuser->folded[i] && u < growth->users[i].count; u++) {
            int source = fuser->group_of[i], reader = fuser->group_of[growth->users[i].data[u]->id];
            if (source == reader || growth->light[source] || !growth->light[reader] || node->n_outputs != 1 || !node->outputs[0])
                continue;
            if (may_pass(growth, source) && may_pass(growth, reader) && fitting(growth, source, reader, node->outputs[0]) == FITS)
                take(growth, source, reader);
        }
    }
}
