/* Groups that read the same values, and nothing else that is computed: one kernel with the results of both.
 *
 * Parts of one tensor (a split, heads of an attention that are cut out and turned) are the common case. Results of one shape
 * come from one nest, which reads what they share once; results of different shapes from nests one behind the other, each
 * shared by the threads: what is saved then is a start and an end of work for all threads. Only groups whose outside values
 * are the same are joined, so that none waits for what it does not need. */
#include "fuse/growth.h"
#include "fuse/rows.h"

/* Light, computed, and no view, which would have to be stored. */
static bool may_join(const opf_growth *growth, int group)
{
    return growth->members[group].count > 0 && growth->light[group] && !growth->view[group] && !growth->closed[group];
}

static bool is_read(const opf_group *group, const opf_value *value)
{
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        if (group->stages.inputs.data[i] == value)
            return true;
    return false;
}

/* Does `b` read every computed value that `a` reads? */
static bool reads_all_of(const opf_group *b, const opf_group *a)
{
    for (size_t i = 0; i < a->stages.inputs.count; i++)
        if (!a->stages.inputs.data[i]->constant && !is_read(b, a->stages.inputs.data[i]))
            return false;
    return true;
}

static bool read_the_same(opf_growth *growth, int a, int b)
{
    opf_fuser *fuser = growth->fuser;
    opf_arena *scratch = opf_arena_new(), *kept = fuser->arena;
    fuser->arena = scratch;
    opf_group group_a, group_b;
    bool same = opf_growth_compose(growth, a, &group_a) && opf_growth_compose(growth, b, &group_b) &&
                reads_all_of(&group_a, &group_b) && reads_all_of(&group_b, &group_a);
    fuser->arena = kept;
    opf_arena_free(scratch);
    return same;
}

/* Nests one behind the other share no stages: there is nothing to compute twice where nothing is reduced. */
static opf_outcome judge_siblings(opf_growth *growth, const opf_group *group, opf_arena *scratch)
{
    bool reduces = false;
    for (size_t s = 0; s < group->stages.list.count; s++)
        reduces = reduces || group->stages.list.data[s]->combiner != OPF_COMBINE_NONE;
    opf_row_verdict verdict = {.fits = true};
    if (reduces)
        verdict = opf_rows_fit(group, growth->fuser->settings, growth->fuser->pool, scratch);
    return (opf_outcome){.rule = verdict.fits ? OPF_RULE_SIBLINGS : verdict.rule, .blocker = verdict.blocker, .bytes = verdict.bytes};
}

static bool try_pair(opf_growth *growth, int a, int b)
{
    if (growth->members[a].count + growth->members[b].count > (size_t)growth->fuser->max_depth)
        return false;
    if (!read_the_same(growth, a, b) || opf_growth_leads(growth, a, b) || opf_growth_leads(growth, b, a))
        return false;
    growth->set.count = 0;
    OPF_PUSH(growth->fuser->arena, &growth->set, a);
    OPF_PUSH(growth->fuser->arena, &growth->set, b);
    opf_node_list nodes = opf_growth_united(growth);
    opf_kind kind = OPF_KIND_OPAQUE;
    if (opf_growth_judge_set(growth, nodes, &kind, judge_siblings).rule != OPF_RULE_SIBLINGS)
        return false;
    opf_growth_join(growth, nodes, kind, OPF_RULE_SIBLINGS);
    return true;
}

/* All groups that read the value are tried with the first of them. */
static void join_readers(opf_growth *growth, const opf_value *value)
{
    for (size_t i = 0; i < value->uses.count; i++) {
        int a = opf_growth_reader(growth, value, i);
        for (size_t j = i + 1; j < value->uses.count && may_join(growth, a); j++) {
            int b = opf_growth_reader(growth, value, j);
            if (b != a && may_join(growth, b))
                try_pair(growth, a, b);
        }
    }
}

void opf_grow_siblings(opf_growth *growth) { opf_growth_each_value(growth, join_readers); }
