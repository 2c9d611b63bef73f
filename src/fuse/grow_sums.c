/* Groups whose contractions share an operand become one kernel (sums.c): the readers of a value are tried two by two, with all
 * groups on a way from one to the other. */
#include "fuse/blocks.h"
#include "fuse/growth.h"
#include "fuse/sums.h"

static bool may_join(const opf_growth *growth, int group) {
    return growth->members[group].count > 0 && !growth->light[group] && !growth->closed[group] && growth->fuser->formed[group] != OPF_RULE_BLOCKS;
}

static opf_outcome judge_sums(opf_growth *growth, const opf_group *group, opf_arena *scratch) {
    return (opf_outcome){.rule = opf_sums_fit(group, growth->fuser->pool, scratch)};
}

/* Does the group reduce nothing but by products? Another reduction beside these would be in the nest as well. */
static bool sums_alone(const opf_growth *growth, int group) {
    for (size_t m = 0; m < growth->members[group].count; m++) {
        const opf_call *call = growth->fuser->calls[growth->members[group].data[m]->id];
        for (size_t s = 0; call && s < call->stages.list.count; s++)
            if (call->stages.list.data[s]->combiner != OPF_COMBINE_NONE && !opf_stage_is_product(call->stages.list.data[s], growth->fuser->pool))
                return false;
    }
    return true;
}

static bool set_may_join(const opf_growth *growth) {
    size_t count = 0;
    for (size_t s = 0; s < growth->set.count; s++) {
        int group = growth->set.data[s];
        count += growth->members[group].count;
        if (growth->closed[group] || growth->fuser->formed[group] == OPF_RULE_BLOCKS || !sums_alone(growth, group))
            return false;
    }
    return count <= (size_t)growth->fuser->max_depth && !opf_growth_apart(growth, NULL);
}

bool opf_growth_stay_sums(opf_growth *growth, int source, int sink) {
    growth->set.count = 0;
    OPF_PUSH(growth->fuser->arena, &growth->set, sink);
    OPF_PUSH(growth->fuser->arena, &growth->set, source);
    opf_node_list nodes = opf_growth_united(growth);
    opf_kind kind = OPF_KIND_OPAQUE;
    return opf_growth_judge_set(growth, nodes, &kind, judge_sums).rule == OPF_RULE_SHARED_OPERAND;
}

static bool try_pair(opf_growth *growth, int a, int b) {
    bool turned = opf_growth_leads(growth, b, a);
    opf_growth_between(growth, turned ? b : a, turned ? a : b);
    if (!set_may_join(growth))
        return false;
    opf_node_list nodes = opf_growth_united(growth);
    opf_kind kind = OPF_KIND_OPAQUE;
    if (opf_growth_judge_set(growth, nodes, &kind, judge_sums).rule != OPF_RULE_SHARED_OPERAND)
        return false;
    int into = growth->set.data[0];
    opf_growth_join(growth, nodes, OPF_KIND_OUT_ELEMWISE_FUSABLE, OPF_RULE_SHARED_OPERAND);
    growth->light[into] = false;
    return true;
}

/* Each reader is tried with all that come behind it, until none joins it any more. */
static void join_readers(opf_growth *growth, const opf_value *value) {
    for (size_t i = 0; i < value->uses.count; i++) {
        int failed = 0;
        for (size_t j = i + 1; j < value->uses.count && failed < OPF_MOST_FAILED_PAIRS; j++) {
            int a = opf_growth_reader(growth, value, i), b = opf_growth_reader(growth, value, j);
            if (a != b && may_join(growth, a) && may_join(growth, b))
                failed += !try_pair(growth, a, b);
        }
    }
}

void opf_grow_sums(opf_growth *growth) { opf_growth_each_value(growth, join_readers); }
