/* Small values in front of much larger work: squeeze-excite gates and what computes them, the statistics of a whole channel.
 *
 * A value of a few thousand elements costs little to compute and, as a kernel of its own, a start and an end of work for
 * all threads. Where the one group that reads it does much more than that, or little altogether, each part of its kernel
 * computes the value whole in its own scratch. */
#include "fuse/cost.h"
#include "fuse/growth.h"

enum {
    LITTLE_WORK = 1 << 17,/* operations of a kernel that one part does alone in any case */
    SMALL_SHARE = 16,     /* the value's work may be so small a share of the reader's */
    WIDER = 4             /* so many more elements the reader's results have than the value, and than its own sums: no contraction */
};

static double elements_of(const opf_stage *stage) {
    double elements = 1;
    for (int k = 0; k < stage->n_axes; k++)
        elements *= (double)opf_dim_nominal(stage->extents[k]);
    return elements;
}

static double largest_result(const opf_group *group) {
    double most = 0;
    for (size_t r = 0; r < group->results.count; r++) {
        double elements = elements_of(group->stages.list.data[group->results.data[r].stage]);
        most = elements > most ? elements : most;
    }
    return most;
}

/* A group whose results are much larger than all that it sums up is walked by plain loops, with the sums kept. */
static bool only_gates(const opf_group *reader) {
    double results = largest_result(reader);
    for (size_t s = 0; s < reader->stages.list.count; s++) {
        const opf_stage *stage = reader->stages.list.data[s];
        if (stage->combiner != OPF_COMBINE_NONE && elements_of(stage) * WIDER > results)
            return false;
    }
    return true;
}

static bool is_small(const opf_group *source, const opf_group *reader, const opf_rule_settings *settings) {
    double elements = 0;
    for (size_t r = 0; r < source->results.count; r++)
        elements += elements_of(source->stages.list.data[source->results.data[r].stage]);
    return elements <= opf_threshold_of(settings, OPF_THRESHOLD_GATE_ELEMENTS) && elements * WIDER <= largest_result(reader);
}

static opf_rule_number judge(opf_growth *growth, int source, int reader) {
    opf_fuser *fuser = growth->fuser;
    if (growth->members[source].count + growth->members[reader].count > (size_t)fuser->max_depth)
        return OPF_RULE_TOO_LARGE;
    if (opf_growth_pair_apart(growth, source, reader))
        return OPF_RULE_PATTERN_APART;
    opf_arena *scratch = opf_arena_new(), *kept = fuser->arena;
    fuser->arena = scratch;
    opf_group small, large;
    opf_rule_number rule = OPF_RULE_TOO_LARGE;
    if (opf_growth_compose(growth, source, &small) && opf_growth_compose(growth, reader, &large)) {
        double work = opf_group_flops(&small), whole = opf_group_flops(&large) + work;
        bool cheap = work * SMALL_SHARE <= whole || whole <= LITTLE_WORK;
        rule = is_small(&small, &large, fuser->settings) && only_gates(&large) && cheap ? OPF_RULE_GATE : OPF_RULE_SINGLE;
    }
    fuser->arena = kept;
    opf_arena_free(scratch);
    return rule;
}

static void take(opf_growth *growth, int source, int reader) {
    opf_fuser *fuser = growth->fuser;
    for (size_t m = 0; m < growth->members[source].count; m++)
        growth->gate[growth->members[source].data[m]->id] = true;
    growth->set.count = 0;
    OPF_PUSH(fuser->arena, &growth->set, reader);
    OPF_PUSH(fuser->arena, &growth->set, source);
    opf_rule_number formed = fuser->formed[reader];
    growth->light[reader] = false;
    opf_growth_join(growth, opf_growth_united(growth), fuser->group_kinds[reader], formed == OPF_RULE_SINGLE ? OPF_RULE_GATE : formed);
}

/* Latest nodes first: what is in front of a gate is then in front of the whole. */
void opf_grow_gates(opf_growth *growth) {
    for (int i = growth->fuser->n_nodes - 1; i >= 0; i--) {
        int source = growth->fuser->group_of[i];
        if (growth->closed[source] || growth->view[source] || growth->fuser->copied[source].count || growth->fuser->is_copied[i])
            continue;
        int reader = opf_growth_only_user(growth, source);
        if (reader >= 0 && !opf_growth_is_planned(growth, reader) && !growth->closed[reader] && !growth->view[reader] && judge(growth, source, reader) == OPF_RULE_GATE)
            take(growth, source, reader);
    }
}
