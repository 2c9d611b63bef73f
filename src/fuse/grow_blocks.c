/* Groups with contractions become one nest in blocks of rows, where that pays (blocks_fit.c): scores, softmax and sums of an
 * attention; a contraction and the normalisation of its rows. As everywhere, a group is joined with one that reads it together
 * with all groups on the ways between. */
#include "fuse/blocks.h"
#include "fuse/growth.h"
#include "fuse/rows.h"

/* Does the node hold nothing but maps, row-wise work, and products that blocks of rows may hold? */
static bool node_may_join(const opf_fuser *fuser, const opf_node *node) {
    const opf_call *call = fuser->calls[node->id];
    for (size_t s = 0; s < call->stages.list.count; s++) {
        opf_stages alone = {.inputs = call->stages.inputs};
        alone.list.data = (opf_stage **)(uintptr_t)&call->stages.list.data[s];
        alone.list.count = 1;
        if (!opf_stages_are_light(&alone) && !opf_stage_is_product(call->stages.list.data[s], fuser->pool))
            return false;
    }
    return true;
}

bool opf_growth_may_join_blocks(const opf_growth *growth, int group) {
    if (growth->closed[group])
        return false;
    for (size_t m = 0; m < growth->members[group].count; m++)
        if (!node_may_join(growth->fuser, growth->members[group].data[m]))
            return false;
    return true;
}

opf_outcome opf_growth_judge_blocks(opf_growth *growth, const opf_group *group, opf_arena *scratch) {
    opf_block_verdict verdict = opf_blocks_fit(group, growth->fuser->settings, growth->fuser->pool, scratch);
    return (opf_outcome){.rule = verdict.rule, .blocker = verdict.blocker, .bytes = verdict.bytes};
}

opf_outcome opf_growth_try_blocks(opf_growth *growth, int source, int sink, bool do_join) {
    opf_growth_between(growth, source, sink);
    size_t count = 0;
    for (size_t s = 0; s < growth->set.count; s++) {
        int group = growth->set.data[s];
        count += growth->members[group].count;
        if (!opf_growth_may_join_blocks(growth, group))
            return (opf_outcome){.rule = OPF_RULE_NOT_BLOCKS, .blocker = growth->members[group].data[0]};
    }
    opf_outcome apart;
    if (opf_growth_apart(growth, &apart))
        return apart;
    if (count > (size_t)growth->fuser->max_depth)
        return (opf_outcome){.rule = OPF_RULE_TOO_LARGE};
    opf_node_list nodes = opf_growth_united(growth);
    opf_kind kind = OPF_KIND_OPAQUE;
    opf_outcome outcome = opf_growth_judge_set(growth, nodes, &kind, opf_growth_judge_blocks);
    if (!do_join || outcome.rule != OPF_RULE_BLOCKS)
        return outcome;
    int into = growth->set.data[0];
    opf_growth_join(growth, nodes, kind, OPF_RULE_BLOCKS);
    growth->light[into] = false;
    return outcome;
}

/* One attempt for each use that leads out of the node's group; true where a group grew. */
static bool grow_from(opf_growth *growth, const opf_node *node) {
    int source = growth->fuser->group_of[node->id];
    const opf_node_list *users = &growth->users[node->id];
    for (size_t u = 0; u < users->count; u++) {
        int sink = growth->fuser->group_of[users->data[u]->id];
        if (sink == source || (growth->light[source] && growth->light[sink]) || growth->view[source] || growth->view[sink])
            continue;
        if (opf_growth_try_blocks(growth, source, sink, true).rule == OPF_RULE_BLOCKS)
            return true;
    }
    return false;
}

void opf_grow_blocks(opf_growth *growth) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < growth->fuser->n_nodes; i++)
            while (!growth->fuser->folded[i] && grow_from(growth, growth->fuser->graph->nodes.data[i]))
                changed = true;
    }
}
