/* The groups that the dynamic programme may choose from (programme.h): sets of atoms that hold all that lies between their members,
 * and that one of the forms of growth allows, asked by the same questions as growth asks. Found by growing: from each set that
 * is possible, and each group that the greedy plan has made on its way, by one atom that reads it or that it reads. */
#include <string.h>

#include "fuse/blocks.h"
#include "fuse/cost.h"
#include "fuse/programme.h"
#include "fuse/prologue.h"

/* ---- sets ---- */

const uint64_t *opf_plan_set(opf_plan_search *planner, const uint64_t *bits) {
    return (const uint64_t *)(const void *)opf_intern_n(planner->interner, (const char *)bits, (size_t)planner->n_words * sizeof *bits);
}

static uint64_t *new_bits(const opf_plan_search *planner) { return OPF_ARRAY(planner->arena, uint64_t, planner->n_words); }

/* The set's atoms by number, as groups of the growth; `head` in front. */
static void set_groups(opf_plan_search *planner, const uint64_t *atoms, int head) {
    opf_growth *growth = planner->growth;
    growth->set.count = 0;
    if (head >= 0)
        OPF_PUSH(planner->arena, &growth->set, planner->groups[head]);
    for (int a = 0; a < planner->n_atoms; a++)
        if (a != head && opf_bits_has(atoms, a))
            OPF_PUSH(planner->arena, &growth->set, planner->groups[a]);
}

static opf_plan_group *entry_of(opf_plan_search *planner, const uint64_t *bits) {
    const uint64_t *atoms = opf_plan_set(planner, bits);
    opf_plan_group *entry = opf_map_get(&planner->known, atoms);
    if (entry)
        return entry;
    uint64_t *needs = new_bits(planner);
    entry = OPF_NEW(planner->arena, opf_plan_group);
    *entry = (opf_plan_group){.atoms = atoms, .needs = needs, .first = -1};
    for (int a = 0; a < planner->n_atoms; a++) {
        if (!opf_bits_has(atoms, a))
            continue;
        entry->first = entry->first < 0 ? a : entry->first;
        entry->count++;
        opf_bits_add(needs, planner->reads[a], planner->n_words);
    }
    for (int w = 0; w < planner->n_words; w++)
        needs[w] &= ~atoms[w];
    entry->head = entry->first;
    opf_map_set(&planner->known, atoms, entry);
    return entry;
}

/* ---- what a group costs ---- */

/* A call and what belongs to it: with one thread, measured on kernels of a few elements. */
static const double SECONDS_OF_START = 0.1e-6;

double opf_plan_price(const opf_group *group, double again_bytes, opf_pool *pool) {
    double bytes = (double)opf_group_bytes(group, pool);
    return SECONDS_OF_START + opf_seconds_of_bytes(bytes, bytes) + opf_seconds_of_bytes(again_bytes, bytes);
}

/* The set as one group, in the planner's arena; false where its stages cannot be written in one another. */
static bool compose(opf_plan_search *planner, const uint64_t *atoms, opf_group *group) {
    opf_growth *growth = planner->growth;
    opf_fuser *fuser = growth->fuser;
    set_groups(planner, atoms, -1);
    opf_node_list nodes = opf_growth_united(growth);
    int number = growth->set.data[0];
    *group = (opf_group){.id = number};
    group->nodes.data = nodes.data;
    group->nodes.count = nodes.count;
    for (size_t i = 0; i < nodes.count; i++)
        fuser->group_of[nodes.data[i]->id] = number;
    bool composed = opf_compose(fuser, group) == OPF_OK;
    for (size_t s = 0; s < growth->set.count; s++)
        for (size_t m = 0; m < growth->members[growth->set.data[s]].count; m++)
            fuser->group_of[growth->members[growth->set.data[s]].data[m]->id] = growth->set.data[s];
    return composed;
}

/* Bytes that a nest in blocks of rows reads once more for each block. */
static double again_bytes(opf_plan_search *planner, const opf_plan_group *entry, const opf_group *group) {
    if (entry->rule != OPF_RULE_BLOCKS)
        return 0;
    return (double)opf_blocks_fit(group, planner->growth->fuser->settings, planner->growth->fuser->pool, planner->arena).bytes;
}

static bool costs_nothing(const opf_plan_search *planner, const opf_plan_group *entry) {
    const opf_growth *growth = planner->growth;
    int group = planner->groups[entry->first];
    bool in_place = growth->fuser->in_place[growth->members[group].data[0]->id];
    return entry->count == 1 && (growth->view[group] || in_place);
}

static void admit(opf_plan_search *planner, opf_plan_group *entry) {
    opf_group group;
    if (!compose(planner, entry->atoms, &group))
        return;
    entry->possible = true;
    entry->seconds = costs_nothing(planner, entry) ? 0 : opf_plan_price(&group, again_bytes(planner, entry, &group), planner->growth->fuser->pool);
    OPF_PUSH(planner->arena, &planner->possible, entry);
}

/* ---- the forms of growth ---- */

static bool is_on(const opf_plan_search *planner, opf_rule_number rule) { return !opf_rule_is_off(planner->growth->fuser->settings, rule); }

/* Nobody but `user` reads what the set computes. */
static bool read_only_by(const opf_plan_search *planner, const opf_plan_group *set, const opf_plan_group *user) {
    for (int a = 0; a < planner->n_atoms; a++) {
        if (!opf_bits_has(set->atoms, a))
            continue;
        const opf_node_list *members = &planner->growth->members[planner->groups[a]];
        for (size_t m = 0; m < members->count; m++)
            for (int k = 0; k < members->data[m]->n_outputs; k++)
                if (members->data[m]->outputs[k] && members->data[m]->outputs[k]->is_output)
                    return false;
        for (int w = 0; w < planner->n_words; w++)
            if (planner->readers[a][w] & ~(set->atoms[w] | user->atoms[w]))
                return false;
    }
    return true;
}

static opf_rule_number judge(opf_plan_search *planner, const opf_plan_group *entry, opf_growth_judge by, opf_kind *kind) {
    set_groups(planner, entry->atoms, -1);
    planner->n_judged++;
    return opf_growth_judge_set(planner->growth, opf_growth_united(planner->growth), kind, by).rule;
}

static bool all_blocks(const opf_plan_search *planner, const opf_plan_group *entry) {
    for (int a = 0; a < planner->n_atoms; a++)
        if (opf_bits_has(entry->atoms, a) && !planner->blocks[a])
            return false;
    return true;
}

static void try_rows(opf_plan_search *planner, opf_plan_group *entry) {
    opf_kind kind = OPF_KIND_OPAQUE;
    if (!is_on(planner, OPF_RULE_ROWS) || judge(planner, entry, opf_growth_judge_rows, &kind) != OPF_RULE_ROWS)
        return;
    entry->rule = OPF_RULE_ROWS;
    entry->kind = kind;
    entry->light = true;
    admit(planner, entry);
}

static void try_blocks(opf_plan_search *planner, opf_plan_group *entry) {
    opf_kind kind = OPF_KIND_OPAQUE;
    if (!is_on(planner, OPF_RULE_BLOCKS) || !all_blocks(planner, entry) || judge(planner, entry, opf_growth_judge_blocks, &kind) != OPF_RULE_BLOCKS)
        return;
    entry->rule = OPF_RULE_BLOCKS;
    entry->kind = kind;
    admit(planner, entry);
}

/* Light work in front of a contraction or window that alone reads it. */
static void try_prologue(opf_plan_search *planner, opf_plan_group *entry, const opf_plan_group *source, const opf_plan_group *sink) {
    opf_growth *growth = planner->growth;
    opf_group producer, user;
    planner->n_judged++;
    if (!compose(planner, source->atoms, &producer) || !compose(planner, sink->atoms, &user) ||
        opf_prologue_fits(&producer, &user, growth->fuser->settings, growth->fuser->pool, planner->arena) != OPF_RULE_PROLOGUE)
        return;
    opf_kind kind;
    if (sink->rule == OPF_RULE_BLOCKS && judge(planner, entry, opf_growth_judge_blocks, &kind) != OPF_RULE_BLOCKS)
        return;
    uint64_t *front = new_bits(planner);
    opf_bits_add(front, source->atoms, planner->n_words);
    if (sink->front)
        opf_bits_add(front, sink->front, planner->n_words);
    entry->rule = sink->rule == OPF_RULE_SINGLE ? OPF_RULE_PROLOGUE : sink->rule;
    entry->kind = sink->kind;
    entry->head = sink->head;
    entry->front = front;
    entry->band = sink->band;
    admit(planner, entry);
}

static bool is_planned(const opf_plan_group *entry) { return entry->rule == OPF_RULE_BLOCKS || entry->rule == OPF_RULE_BAND || entry->rule == OPF_RULE_POOL || entry->rule == OPF_RULE_SHARED_OPERAND; }

/* A window in front of a product at single points that alone reads it, or a contraction in front of such a pool. */
static void try_band(opf_plan_search *planner, opf_plan_group *entry, const opf_plan_group *source, const opf_plan_group *sink) {
    opf_growth *growth = planner->growth;
    opf_kind kind = OPF_KIND_OPAQUE;
    opf_group window;
    double bytes = 0;
    opf_rule_number rule = is_planned(source) || is_planned(sink) ? OPF_RULE_SINGLE : judge(planner, entry, opf_growth_judge_band, &kind);
    if (rule == OPF_RULE_SINGLE || !is_on(planner, rule) || !compose(planner, source->atoms, &window))
        return;
    for (size_t r = 0; r < window.results.count; r++)
        bytes += (double)opf_value_nominal_bytes(window.results.data[r].value);
    if (bytes < opf_threshold_of(growth->fuser->settings, OPF_THRESHOLD_BAND_BYTES))
        return;
    entry->rule = rule;
    entry->kind = OPF_KIND_OUT_ELEMWISE_FUSABLE;
    entry->head = sink->head;
    entry->front = source->front;
    entry->band = source->atoms;
    admit(planner, entry);
}

static bool is_view(const opf_plan_search *planner, const opf_plan_group *entry) { return entry->count == 1 && planner->growth->view[planner->groups[entry->first]]; }
static bool is_closed(const opf_plan_search *planner, int atom) { return planner->growth->closed[planner->groups[atom]]; }

/* May all of the set be one kernel, size and a user's patterns apart from its form? */
static bool may_be_one(opf_plan_search *planner, const opf_plan_group *entry) {
    size_t nodes = 0;
    for (int a = 0; a < planner->n_atoms; a++) {
        if (!opf_bits_has(entry->atoms, a))
            continue;
        nodes += planner->growth->members[planner->groups[a]].count;
        if (is_closed(planner, a) || nodes > (size_t)planner->growth->fuser->max_depth)
            return false;
    }
    set_groups(planner, entry->atoms, -1);
    return !opf_growth_apart(planner->growth, NULL);
}

/* `sink` reads `source`: the two, with all that lies between, as one group. */
static void consider(opf_plan_search *planner, const opf_plan_group *source, const opf_plan_group *sink) {
    int n_words = planner->n_words;
    uint64_t *whole = new_bits(planner), *ahead = new_bits(planner), *behind = new_bits(planner);
    opf_bits_add(whole, source->atoms, n_words);
    opf_bits_add(whole, sink->atoms, n_words);
    for (int a = 0; a < planner->n_atoms; a++) {
        if (!opf_bits_has(whole, a))
            continue;
        opf_bits_add(ahead, planner->before[a], n_words);
        opf_bits_add(behind, planner->behind[a], n_words);
    }
    for (int w = 0; w < n_words; w++)
        whole[w] |= ahead[w] & behind[w];
    opf_plan_group *entry = entry_of(planner, whole);
    if (entry->possible || !may_be_one(planner, entry))
        return;
    bool rows = source->light && sink->light, pair = entry->count == source->count + sink->count && !rows && read_only_by(planner, source, sink);
    if (pair && source->light && !is_view(planner, source) && is_on(planner, OPF_RULE_PROLOGUE))
        try_prologue(planner, entry, source, sink);
    if (pair && !entry->possible && !source->light && !sink->light)
        try_band(planner, entry, source, sink);
    if (entry->possible || entry->judged)
        return;
    entry->judged = true;
    bool light = true;
    for (int a = 0; a < planner->n_atoms; a++)
        light = light && (!opf_bits_has(entry->atoms, a) || planner->growth->light[planner->groups[a]]);
    if (light)
        try_rows(planner, entry);
    else if (!is_view(planner, source) && !is_view(planner, sink))
        try_blocks(planner, entry);
}

/* ---- growing ---- */

static opf_plan_group *single(opf_plan_search *planner, int atom) {
    uint64_t *bits = new_bits(planner);
    opf_bits_set(bits, atom);
    return entry_of(planner, bits);
}

static void add_single(opf_plan_search *planner, int atom) {
    opf_growth *growth = planner->growth;
    int group = planner->groups[atom];
    opf_plan_group *entry = single(planner, atom);
    entry->kind = growth->fuser->group_kinds[group];
    entry->rule = growth->fuser->formed[group];
    entry->light = growth->light[group];
    entry->judged = true;
    admit(planner, entry);
}

/* The atoms of these nodes; false where there is but one, or some are folded. */
static bool atoms_of(const opf_plan_search *planner, const opf_growth_state *base, opf_node *const *nodes, size_t n, uint64_t *bits) {
    int count = 0;
    for (size_t i = 0; i < n; i++) {
        int atom = planner->atoms[base->group_of[nodes[i]->id]];
        if (atom < 0)
            return false;
        count += !opf_bits_has(bits, atom);
        opf_bits_set(bits, atom);
    }
    return count > 1;
}

/* The groups of the greedy plan, as it has made them. */
static void add_greedy(opf_plan_search *planner, const opf_growth_state *base, const opf_growth_state *greedy) {
    for (int g = 0; g < planner->growth->fuser->n_groups; g++) {
        const opf_node_list *members = &greedy->members[g];
        uint64_t *bits = new_bits(planner);
        if (!atoms_of(planner, base, members->data, members->count, bits))
            continue;
        opf_plan_group *entry = entry_of(planner, bits);
        uint64_t *front = new_bits(planner), *band = new_bits(planner);
        for (size_t m = 0; m < members->count; m++) {
            int id = members->data[m]->id, atom = planner->atoms[base->group_of[id]];
            if (greedy->prologue[id])
                opf_bits_set(front, atom);
            if (greedy->band[id])
                opf_bits_set(band, atom);
        }
        entry->rule = greedy->formed[g];
        entry->kind = greedy->group_kinds[g];
        entry->light = greedy->light[g];
        entry->head = planner->atoms[g];
        entry->front = front;
        entry->band = band;
        entry->judged = true;
        admit(planner, entry);
    }
}

/* What the greedy plan has made on its way: sets that one atom at a time may not lead to. */
static void add_stages_of_greedy(opf_plan_search *planner, const opf_growth_state *base, const opf_growth_state *greedy) {
    const opf_trace *trace = planner->growth->fuser->fusion->trace;
    for (size_t e = base->n_events; e < greedy->n_events; e++) {
        const opf_event *event = &trace->events.data[e];
        uint64_t *bits = new_bits(planner);
        if (!atoms_of(planner, base, event->nodes, (size_t)event->n_nodes, bits))
            continue;
        opf_plan_group *entry = entry_of(planner, bits);
        bool rows = !strcmp(event->rule, opf_rules[OPF_RULE_ROWS].id), blocks = !strcmp(event->rule, opf_rules[OPF_RULE_BLOCKS].id);
        if (entry->possible || entry->judged || !(rows || blocks))
            continue;
        entry->judged = true;
        if (rows)
            try_rows(planner, entry);
        else
            try_blocks(planner, entry);
    }
}

static void grow_one(opf_plan_search *planner, const opf_plan_group *from) {
    for (int a = 0; a < planner->n_atoms; a++) {
        if (opf_bits_has(from->atoms, a) || is_closed(planner, a))
            continue;
        if (opf_bits_meet(planner->reads[a], from->atoms, planner->n_words))
            consider(planner, from, single(planner, a));
        else if (opf_bits_meet(planner->readers[a], from->atoms, planner->n_words))
            consider(planner, single(planner, a), from);
    }
}

bool opf_plan_find_groups(opf_plan_search *planner, const opf_growth_state *base, const opf_growth_state *greedy) {
    for (int a = 0; a < planner->n_atoms; a++)
        add_single(planner, a);
    add_greedy(planner, base, greedy);
    add_stages_of_greedy(planner, base, greedy);
    for (size_t i = 0; i < planner->possible.count; i++) {
        if (!is_closed(planner, planner->possible.data[i]->first))
            grow_one(planner, planner->possible.data[i]);
        if (planner->n_judged > OPF_PLAN_MOST_JUDGED)
            return false;
    }
    return true;
}
