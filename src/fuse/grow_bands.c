/* Depth-wise convolutions and pools join the product at single points that reads them (bands.h), convolutions the pool
 * or the depth-wise convolution that reads them (pools.h): their result is never stored, only a few lines of it exist at a time. */
#include "fuse/bands.h"
#include "fuse/growth.h"
#include "fuse/pools.h"

/* `bands-cached.bytes`: what a core's own cache holds is read back at once, and lines at a time read borders again. Measured in
 * both ways: pictures of 28 x 28 lose a fifth, 14 x 14 gain nothing, 56 x 56 and 112 x 112 gain up to a sixth. */

static int last_reduction(const opf_stages *stages) {
    int last = -1;
    for (size_t s = 0; s < stages->list.count; s++)
        if (stages->list.data[s]->n_reduce)
            last = (int)s;
    return last;
}

/* Element-wise work behind the product, on its own elements: a register tile computes the whole. */
static bool ends_in_epilogue(const opf_stages *stages, int anchor) {
    const opf_stage *product = stages->list.data[anchor];
    for (size_t s = (size_t)anchor + 1; s < stages->list.count; s++) {
        const opf_stage *stage = stages->list.data[s];
        if (stage->n_axes != product->n_axes)
            return false;
        for (int k = 0; k < stage->n_axes; k++)
            if (stage->extents[k] != product->extents[k])
                return false;
    }
    return true;
}

static double bytes_of(const opf_stage *stage) {
    double elements = 1;
    int64_t size = 0;
    for (int k = 0; k < stage->n_axes && opf_is_int(stage->extents[k], &size); k++)
        elements *= (double)size;
    return elements * (double)opf_dtype_bytes(stage->dtype, 1);
}

/* `bands-expanded.bytes`: lines at the borders of bands are computed again, and a depth-wise convolution that stands with its contraction
 * does not stand with the product behind it, which would spare its own result. */
static bool pays(const opf_growth *growth, const opf_group *group, const opf_pooling *p) {
    double spared = bytes_of(group->stages.list.data[p->front]) - bytes_of(group->stages.list.data[p->pool]);
    return !p->weighted || spared >= opf_threshold_of(growth->fuser->settings, OPF_THRESHOLD_EXPANDED_BYTES);
}

static bool is_relay(const opf_growth *growth, const opf_group *group, bool *chain) {
    opf_pooling found;
    return group->results.count == 1 && group->results.data[0].value->dtype == OPF_FLOAT32 &&
           opf_pooling_find(&found, &group->stages, group->results.data[0].stage, growth->fuser->pool, chain) && pays(growth, group, &found);
}

opf_outcome opf_growth_judge_band(opf_growth *growth, const opf_group *group, opf_arena *scratch) {
    int anchor = last_reduction(&group->stages);
    if (anchor < 0) /* no result needs the sums: what is read of them was simplified away */
        return (opf_outcome){.rule = OPF_RULE_SINGLE};
    bool *chain = OPF_ARRAY(scratch, bool, group->stages.list.count + 1);
    if (is_relay(growth, group, chain))
        return (opf_outcome){.rule = OPF_RULE_POOL};
    const opf_stage *product = group->stages.list.data[anchor];
    for (size_t s = 0; s < group->stages.list.count; s++)
        chain[s] = false;
    bool fits = group->results.count == 1 && product->dtype == OPF_FLOAT32 && product->accumulator == OPF_FLOAT32 && product->combiner == OPF_COMBINE_SUM &&
                ends_in_epilogue(&group->stages, anchor) &&
                opf_band_stage(&group->stages, anchor, growth->fuser->pool, chain) >= 0;
    return (opf_outcome){.rule = fits ? OPF_RULE_BAND : OPF_RULE_SINGLE};
}

/* Bytes of the group's results. */
static int64_t bytes_between(const opf_growth *growth, int group) {
    double bytes = 0;
    for (size_t m = 0; m < growth->members[group].count; m++) {
        const opf_node *node = growth->members[group].data[m];
        for (int k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] && opf_fuser_leaves(growth->fuser, group, node->outputs[k]))
                bytes += (double)opf_value_nominal_bytes(node->outputs[k]);
    }
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

static bool try_pair(opf_growth *growth, int source, int reader) {
    opf_fuser *fuser = growth->fuser;
    if (growth->members[source].count + growth->members[reader].count > (size_t)fuser->max_depth || opf_growth_pair_apart(growth, source, reader))
        return false;
    growth->set.count = 0;
    OPF_PUSH(fuser->arena, &growth->set, reader);
    OPF_PUSH(fuser->arena, &growth->set, source);
    opf_kind kind = OPF_KIND_OPAQUE;
    opf_node_list nodes = opf_growth_united(growth);
    opf_outcome outcome = opf_growth_judge_set(growth, nodes, &kind, opf_growth_judge_band);
    if (outcome.rule == OPF_RULE_SINGLE || opf_rule_is_off(fuser->settings, outcome.rule))
        return false;
    int64_t bytes = bytes_between(growth, source);
    if ((double)bytes < opf_threshold_of(fuser->settings, OPF_THRESHOLD_BAND_BYTES)) {
        for (size_t m = 0; m < growth->members[source].count; m++)
            growth->band_bytes[growth->members[source].data[m]->id] = bytes;
        return false;
    }
    for (size_t m = 0; m < growth->members[source].count; m++)
        growth->band[growth->members[source].data[m]->id] = true;
    opf_growth_join(growth, nodes, OPF_KIND_OUT_ELEMWISE_FUSABLE, outcome.rule);
    growth->light[reader] = false;
    return true;
}

void opf_grow_bands(opf_growth *growth) {
    opf_fuser *fuser = growth->fuser;
    for (int i = 0; i < fuser->n_nodes; i++) {
        int source = fuser->group_of[i];
        if (fuser->folded[i] || growth->closed[source] || growth->light[source] || opf_growth_is_planned(growth, source))
            continue;
        int reader = opf_growth_only_user(growth, source);
        if (reader >= 0 && !growth->closed[reader] && !growth->light[reader] && !opf_growth_is_planned(growth, reader))
            try_pair(growth, source, reader);
    }
}
