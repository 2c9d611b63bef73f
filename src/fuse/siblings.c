/* Groups that read the same values, and nothing else that is computed: one kernel with the results of both.
 *
 * Parts of one tensor (a split, heads of an attention that are cut out and turned) are the common case. Results of one shape
 * come from one nest, which reads what they share once; results of different shapes from nests one behind the other, each
 * shared by the threads: what is saved then is a start and an end of work for all threads. Only groups whose outside values
 * are the same are joined, so that none waits for what it does not need. */
#include "fuse/growth.h"
#include "fuse/rows.h"

/* Light, computed, and no view, which would have to be stored. */
static bool may_join(const opf_growth *growth, int group) {
    return growth->members[group].count > 0 && growth->light[group] && !growth->view[group] && !growth->closed[group];
}

/* What a comparison of two groups asks of each; kept while the group has these members. */
typedef struct opf_sibling_facts {
    size_t members;            /* 0: nothing is known yet */
    bool known, reduces;       /* it can be composed; a reduction is among its stages */
    OPF_VEC(const opf_value *) reads; /* computed values from outside */
    const opf_stage *result;   /* the first; of its extents */
} opf_sibling_facts;

static void compose_facts(opf_growth *growth, int number, opf_sibling_facts *facts) {
    opf_fuser *fuser = growth->fuser;
    opf_arena *scratch = opf_arena_new(), *kept = fuser->arena;
    opf_group group;
    fuser->arena = scratch;
    facts->known = opf_growth_compose(growth, number, &group) && group.results.count > 0;
    fuser->arena = kept;
    for (size_t i = 0; facts->known && i < group.stages.inputs.count; i++)
        if (!group.stages.inputs.data[i]->constant)
            OPF_PUSH(kept, &facts->reads, group.stages.inputs.data[i]);
    for (size_t s = 0; facts->known && s < group.stages.list.count; s++)
        facts->reduces = facts->reduces || group.stages.list.data[s]->combiner != OPF_COMBINE_NONE;
    if (facts->known) {
        opf_stage *result = opf_arena_copy(kept, group.stages.list.data[group.results.data[0].stage], sizeof *result);
        result->extents = opf_arena_copy(kept, result->extents, (size_t)result->n_axes * sizeof *result->extents);
        facts->result = result;
    }
    opf_arena_free(scratch);
}

static const opf_sibling_facts *facts_of(opf_growth *growth, int group) {
    opf_sibling_facts *facts = &growth->sibling_facts[group];
    if (facts->members == growth->members[group].count)
        return facts;
    *facts = (opf_sibling_facts){.members = growth->members[group].count};
    compose_facts(growth, group, facts);
    return facts;
}

/* Does `b` read every computed value that `a` reads? */
static bool reads_all_of(const opf_sibling_facts *b, const opf_sibling_facts *a) {
    for (size_t i = 0; i < a->reads.count; i++) {
        bool found = false;
        for (size_t j = 0; !found && j < b->reads.count; j++)
            found = b->reads.data[j] == a->reads.data[i];
        if (!found)
            return false;
    }
    return true;
}

/* The loops of two results are the same where their axes of more than one element are. */
static bool same_loops(const opf_stage *a, const opf_stage *b) {
    int i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a->n_axes && opf_is_value(a->extents[i], 1))
            i++;
        while (j < b->n_axes && opf_is_value(b->extents[j], 1))
            j++;
        if (i == a->n_axes || j == b->n_axes)
            return i == a->n_axes && j == b->n_axes;
        if (a->extents[i] != b->extents[j])
            return false;
    }
}

static bool read_the_same(opf_growth *growth, int number_a, int number_b) {
    const opf_sibling_facts *a = facts_of(growth, number_a), *b = facts_of(growth, number_b);
    if (!a->known || !b->known || ((a->reduces || b->reduces) && !same_loops(a->result, b->result)))
        return false;
    return reads_all_of(a, b) && reads_all_of(b, a);
}

/* Nests one behind the other share no stages: there is nothing to compute twice where nothing is reduced. */
static opf_outcome judge_siblings(opf_growth *growth, const opf_group *group, opf_arena *scratch) {
    bool reduces = false;
    for (size_t s = 0; s < group->stages.list.count; s++)
        reduces = reduces || group->stages.list.data[s]->combiner != OPF_COMBINE_NONE;
    opf_row_verdict verdict = {.fits = true};
    if (reduces)
        verdict = opf_rows_fit(group, growth->fuser->settings, growth->fuser->pool, scratch);
    return (opf_outcome){.rule = verdict.fits ? OPF_RULE_SIBLINGS : verdict.rule, .blocker = verdict.blocker, .bytes = verdict.bytes};
}

static bool try_pair(opf_growth *growth, int a, int b) {
    if (growth->members[a].count + growth->members[b].count > (size_t)growth->fuser->max_depth || opf_growth_pair_apart(growth, a, b))
        return false;
    if (opf_growth_leads(growth, a, b) || opf_growth_leads(growth, b, a))
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
static void join_readers(opf_growth *growth, const opf_value *value) {
    for (size_t i = 0; i < value->uses.count; i++) {
        int a = opf_growth_reader(growth, value, i);
        int failed = 0;
        for (size_t j = i + 1; j < value->uses.count && failed < OPF_MOST_FAILED_PAIRS && may_join(growth, a); j++) {
            int b = opf_growth_reader(growth, value, j);
            if (b != a && may_join(growth, b) && read_the_same(growth, a, b))
                failed += !try_pair(growth, a, b);
        }
    }
}

void opf_grow_siblings(opf_growth *growth) {
    growth->sibling_facts = OPF_ARRAY(growth->fuser->arena, opf_sibling_facts, growth->fuser->n_groups + 1);
    opf_growth_each_value(growth, join_readers);
}
