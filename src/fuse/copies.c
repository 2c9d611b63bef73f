/* Cheap groups with several readers: computed by each reader instead of being stored for all.
 *
 * The value is then never written, and its operands are read instead of it. That pays where fewer bytes move and the work
 * that is done again takes less time than moving the bytes that are saved (docs/cost-model.md). All readers must be able to
 * take it: while one of them wants it stored, it is there for the others too. */
#include "fuse/cost.h"
#include "fuse/growth.h"
#include "fuse/prologue.h"
#include "fuse/rows.h"

typedef struct opf_copying {
    opf_growth *growth;
    int source;
    int readers[OPF_MOST_COPY_READERS], n_readers;
} opf_copying;

static bool add_reader(opf_copying *copying, int group) {
    for (int r = 0; r < copying->n_readers; r++)
        if (copying->readers[r] == group)
            return true;
    if (copying->n_readers >= (int)opf_threshold_of(copying->growth->fuser->settings, OPF_THRESHOLD_COPY_READERS))
        return false;
    copying->readers[copying->n_readers++] = group;
    return true;
}

/* The groups that read the source's results; false where they cannot take it. */
static bool find_readers(opf_copying *copying) {
    const opf_growth *growth = copying->growth;
    const opf_node_list *members = &growth->members[copying->source];
    for (size_t m = 0; m < members->count; m++) {
        const opf_node *node = members->data[m];
        for (int k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] && node->outputs[k]->is_output)
                return false;
        for (size_t u = 0; u < growth->users[node->id].count; u++) {
            int group = growth->fuser->group_of[growth->users[node->id].data[u]->id];
            if (group == copying->source)
                continue;
            if (opf_growth_pair_apart(growth, copying->source, group))
                return false;
            if (opf_growth_is_planned(growth, group) || growth->closed[group] || growth->view[group] || growth->fuser->copied[group].count || !add_reader(copying, group))
                return false;
        }
    }
    return copying->n_readers > 1;
}

/* As though the reader computed it. */
static void lend(opf_copying *copying, int reader, bool on) {
    opf_fuser *fuser = copying->growth->fuser;
    const opf_node_list *members = &copying->growth->members[copying->source];
    fuser->copied[reader].count = 0;
    for (size_t m = 0; m < members->count; m++) {
        if (on)
            OPF_PUSH(fuser->arena, &fuser->copied[reader], members->data[m]);
        fuser->is_copied[members->data[m]->id] = on;
    }
}

static bool takes(opf_copying *copying, int reader, const opf_group *source, opf_arena *scratch) {
    opf_growth *growth = copying->growth;
    opf_group group;
    if (growth->members[reader].count + growth->members[copying->source].count > (size_t)growth->fuser->max_depth)
        return false;
    if (!growth->light[reader])
        return opf_growth_compose(growth, reader, &group) && opf_prologue_fits(source, &group, growth->fuser->settings, growth->fuser->pool, scratch) == OPF_RULE_PROLOGUE;
    lend(copying, reader, true);
    bool fits = opf_growth_compose(growth, reader, &group) && opf_rows_fit(&group, growth->fuser->settings, growth->fuser->pool, scratch).fits;
    lend(copying, reader, false);
    return fits;
}

static bool pays(opf_copying *copying, const opf_group *source, double operations) {
    double written = 0, all = (double)opf_group_bytes(source, copying->growth->fuser->pool), n = copying->n_readers;
    for (size_t r = 0; r < source->results.count; r++)
        written += (double)opf_value_nominal_bytes(source->results.data[r].value);
    double saved = all + n * written - n * (all - written);
    double worth = opf_threshold_of(copying->growth->fuser->settings, OPF_THRESHOLD_COPY_PRICE);
    return saved > 0 && opf_seconds_of_work(operations * (n - 1)) < worth * opf_seconds_of_bytes(saved, all + written);
}

/* Notes the nodes whose results only their price keeps from being computed again. */
static void note_dear(opf_copying *copying) {
    const opf_node_list *members = &copying->growth->members[copying->source];
    for (size_t m = 0; m < members->count; m++)
        copying->growth->copy_dear[members->data[m]->id] = true;
}

static bool is_worth_copying(opf_copying *copying) {
    opf_growth *growth = copying->growth;
    opf_arena *scratch = opf_arena_new(), *kept = growth->fuser->arena;
    growth->fuser->arena = scratch;
    opf_group source;
    bool worth = opf_growth_compose(growth, copying->source, &source);
    opf_work_price price = {.reduces = true};
    if (worth)
        price = opf_price_of(&source, growth->fuser->pool, scratch);
    worth = !price.reduces;
    for (int r = 0; worth && r < copying->n_readers; r++)
        worth = takes(copying, copying->readers[r], &source, scratch);
    if (worth && !pays(copying, &source, price.operations)) {
        note_dear(copying);
        worth = false;
    }
    for (int r = 0; r < copying->n_readers; r++) /* lists of the scratch arena */
        growth->fuser->copied[copying->readers[r]] = (opf_node_list){0};
    growth->fuser->arena = kept;
    opf_arena_free(scratch);
    return worth;
}

/* At home with the first reader; the others compute it again. */
static void give(opf_copying *copying) {
    opf_growth *growth = copying->growth;
    opf_fuser *fuser = growth->fuser;
    opf_node_list nodes = growth->members[copying->source];
    for (int r = 1; r < copying->n_readers; r++)
        for (size_t m = 0; m < nodes.count; m++)
            OPF_PUSH(fuser->arena, &fuser->copied[copying->readers[r]], nodes.data[m]);
    for (size_t m = 0; m < nodes.count; m++)
        fuser->is_copied[nodes.data[m]->id] = true;
    for (int r = 0; r < copying->n_readers; r++)
        growth->light[copying->readers[r]] = false;
    int home = copying->readers[0];
    growth->set.count = 0;
    OPF_PUSH(fuser->arena, &growth->set, home);
    OPF_PUSH(fuser->arena, &growth->set, copying->source);
    opf_rule_number formed = fuser->formed[home];
    opf_growth_join(growth, opf_growth_united(growth), fuser->group_kinds[home], formed == OPF_RULE_SINGLE ? OPF_RULE_COPIED : formed);
    for (int r = 1; r < copying->n_readers; r++)
        if (fuser->formed[copying->readers[r]] == OPF_RULE_SINGLE)
            fuser->formed[copying->readers[r]] = OPF_RULE_COPIED;
}

/* Latest first: what is in front of a group that was copied has its readers then. */
void opf_grow_copies(opf_growth *growth) {
    for (int i = growth->fuser->n_nodes - 1; i >= 0; i--) {
        opf_copying copying = {.growth = growth, .source = growth->fuser->group_of[i]};
        int source = copying.source;
        if (growth->closed[source] || growth->view[source] || !growth->light[source])
            continue;
        if (find_readers(&copying) && is_worth_copying(&copying))
            give(&copying);
    }
}
