/* Groups whose contractions share an operand become one kernel (sums.c): the readers of a value are tried two by two, with all
 * groups on a way from one to the other. */
#include "fuse/growth.h"
#include "fuse/sums.h"

static bool may_join(const opf_growth *growth, int group)
{
    return growth->members[group].count > 0 && !growth->light[group] && !growth->closed[group] && growth->fuser->formed[group] != OPF_RULE_BLOCKS;
}

static opf_outcome judge_sums(opf_growth *growth, const opf_group *group, opf_arena *scratch)
{
    return (opf_outcome){.rule = opf_sums_fit(group, growth->fuser->pool, scratch)};
}

static bool set_may_join(const opf_growth *growth)
{
    size_t count = 0;
    for (size_t s = 0; s < growth->set.count; s++) {
        int group = growth->set.data[s];
        count += growth->members[group].count;
        if (growth->closed[group] || growth->fuser->formed[group] == OPF_RULE_BLOCKS)
            return false;
    }
    return count <= (size_t)growth->fuser->max_depth;
}

static bool try_pair(opf_growth *growth, int a, int b)
{
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
static void join_readers(opf_growth *growth, const opf_value *value)
{
    for (size_t i = 0; i < value->uses.count; i++) {
        for (size_t j = i + 1; j < value->uses.count; j++) {
            int a = opf_growth_reader(growth, value, i), b = opf_growth_reader(growth, value, j);
            if (a != b && may_join(growth, a) && may_join(growth, b))
                try_pair(growth, a, b);
        }
    }
}

void opf_grow_sums(opf_growth *growth) { opf_growth_each_value(growth, join_readers); }
