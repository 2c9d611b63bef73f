/* Policy best: TVM's groups on the graph that the passes have left, then grown.
 *
 * First, groups without contractions, windows and opaque nodes are joined where the whole is one loop nest that works row by row
 * (rows.c): softmax and normalisations written out, element-wise work behind and in front of reductions, several results
 * of one shape. A group is joined with one that reads it together with all groups on the ways between, so that no cycle
 * can arise. This goes on until nothing changes.
 *
 * Then, groups that reduce nothing are joined with the one group that reads them, where that is a contraction or a pool in
 * front of which their work is cheap (prologue.c). */
#include "fuse/programme.h"
#include "fuse/prologue.h"
#include "fuse/rows.h"

/* ---- the graph of groups ---- */

static void add_once(opf_arena *arena, opf_node_list *list, opf_node *node) {
    for (size_t i = 0; i < list->count; i++)
        if (list->data[i] == node)
            return;
    OPF_PUSH(arena, list, node);
}

static void link_nodes(opf_growth *growth) {
    opf_fuser *fuser = growth->fuser;
    for (int i = 0; i < fuser->n_nodes; i++) {
        opf_node *node = fuser->graph->nodes.data[i];
        for (int k = 0; !fuser->folded[i] && k < node->n_outputs; k++)
            for (size_t u = 0; node->outputs[k] && u < node->outputs[k]->uses.count; u++) {
                opf_node *user = opf_node_within(node->outputs[k]->uses.data[u].node, fuser->graph);
                if (fuser->folded[user->id])
                    continue;
                add_once(fuser->arena, &growth->users[i], user);
                add_once(fuser->arena, &growth->producers[user->id], node);
            }
    }
}

/* ---- joining ---- */

static void number_members(opf_growth *growth, int group, int number) {
    for (size_t m = 0; m < growth->members[group].count; m++)
        growth->fuser->group_of[growth->members[group].data[m]->id] = number;
}

/* Keeps graph order. */
static void insert_node(opf_arena *arena, opf_node_list *list, opf_node *node) {
    OPF_PUSH(arena, list, node);
    for (size_t at = list->count - 1; at > 0 && list->data[at - 1]->id > node->id; at--) {
        list->data[at] = list->data[at - 1];
        list->data[at - 1] = node;
    }
}

opf_node_list opf_growth_united(opf_growth *growth) {
    opf_fuser *fuser = growth->fuser;
    opf_node_list list = {0};
    for (size_t s = 0; s < growth->set.count; s++) {
        const opf_node_list *members = &growth->members[growth->set.data[s]];
        for (size_t m = 0; m < members->count; m++)
            insert_node(fuser->arena, &list, members->data[m]);
    }
    return list;
}

static bool lists_apart(const opf_growth *growth, const int *groups, size_t n, opf_outcome *outcome) {
    const opf_matched *by = NULL;
    opf_node_list nodes = {0};
    if (!growth->fuser->club)
        return false;
    for (size_t g = 0; g < n; g++)
        for (size_t m = 0; m < growth->members[groups[g]].count; m++)
            OPF_PUSH(growth->fuser->arena, &nodes, growth->members[groups[g]].data[m]);
    bool apart = opf_matched_apart(growth->fuser, nodes.data, nodes.count, &by);
    if (apart && outcome)
        *outcome = (opf_outcome){.rule = by ? OPF_RULE_PATTERN_APART : OPF_RULE_SINGLE, .matched = by};
    return apart;
}

bool opf_growth_apart(const opf_growth *growth, opf_outcome *outcome) { return lists_apart(growth, growth->set.data, growth->set.count, outcome); }
bool opf_growth_pair_apart(const opf_growth *growth, int a, int b) { return lists_apart(growth, (const int[]){a, b}, 2, NULL); }

/* A view that a kernel would have to store: of the set's groups that are only views, one whose value leaves. */
static const opf_node *stored_view(const opf_growth *growth, const opf_group *group) {
    for (size_t r = 0; r < group->results.count; r++)
        for (size_t s = 0; s < growth->set.count; s++) {
            const opf_node *producer = group->results.data[r].value->producer;
            int view = growth->set.data[s];
            for (size_t m = 0; growth->view[view] && m < growth->members[view].count; m++)
                if (growth->members[view].data[m] == producer)
                    return producer;
        }
    return NULL;
}

static opf_outcome refused(opf_rule_number rule, const opf_node *blocker, int64_t bytes) {
    return (opf_outcome){.rule = rule, .blocker = blocker, .bytes = bytes};
}

opf_outcome opf_growth_judge_set(opf_growth *growth, opf_node_list nodes, opf_kind *kind, opf_growth_judge judge) {
    opf_fuser *fuser = growth->fuser;
    int number = growth->set.data[0];
    for (size_t s = 0; s < growth->set.count; s++)
        number_members(growth, growth->set.data[s], number);
    opf_arena *scratch = opf_arena_new(), *kept = fuser->arena;
    fuser->arena = scratch;
    opf_group group = {.id = number};
    group.nodes.data = nodes.data;
    group.nodes.count = nodes.count;
    opf_outcome outcome = {.rule = OPF_RULE_TOO_LARGE};
    if (opf_compose(fuser, &group) == OPF_OK) {
        outcome = judge(growth, &group, scratch);
        *kind = opf_stages_kind(&group.stages);
    }
    fuser->arena = kept;
    opf_arena_free(scratch);
    for (size_t s = 0; s < growth->set.count; s++)
        number_members(growth, growth->set.data[s], growth->set.data[s]);
    return outcome;
}

/* Does the union work row by row? */
opf_outcome opf_growth_judge_rows(opf_growth *growth, const opf_group *group, opf_arena *scratch) {
    const opf_node *view = stored_view(growth, group);
    if (view)
        return refused(OPF_RULE_VIEW_STAYS, view, 0);
    opf_row_verdict verdict = opf_rows_fit(group, growth->fuser->settings, growth->fuser->pool, scratch);
    return verdict.fits ? (opf_outcome){.rule = OPF_RULE_ROWS} : refused(verdict.rule, verdict.blocker, verdict.bytes);
}

void opf_growth_join(opf_growth *growth, opf_node_list nodes, opf_kind kind, opf_rule_number rule) {
    int into = growth->set.data[0];
    opf_event event = {"growth", opf_rules[rule].id, true, NULL, NULL, NULL, nodes.data, (int)nodes.count};
    OPF_PUSH(growth->fuser->arena, &growth->fuser->fusion->trace->events, event);
    growth->join_count++;
    opf_growth_reorder(growth);
    for (size_t s = 1; s < growth->set.count; s++)
        growth->members[growth->set.data[s]].count = 0;
    growth->members[into] = nodes;
    growth->view[into] = false;
    growth->fuser->group_kinds[into] = kind;
    growth->fuser->formed[into] = rule;
    number_members(growth, into, into);
}

/* Tries the two groups with all between. `do_join` false: only says what would come of it. */
static opf_outcome try_groups(opf_growth *growth, int source, int sink, bool do_join) {
    opf_growth_between(growth, source, sink);
    size_t count = 0;
    for (size_t s = 0; s < growth->set.count; s++) {
        int group = growth->set.data[s];
        count += growth->members[group].count;
        if (!growth->light[group])
            return refused(OPF_RULE_HEAVY_BETWEEN, growth->members[group].data[0], 0);
    }
    opf_outcome apart;
    if (opf_growth_apart(growth, &apart))
        return apart;
    if (count > (size_t)growth->fuser->max_depth)
        return refused(OPF_RULE_TOO_LARGE, NULL, 0);
    opf_node_list nodes = opf_growth_united(growth);
    opf_kind kind = OPF_KIND_OPAQUE;
    opf_outcome outcome = opf_growth_judge_set(growth, nodes, &kind, opf_growth_judge_rows);
    if (do_join && outcome.rule == OPF_RULE_ROWS)
        opf_growth_join(growth, nodes, kind, OPF_RULE_ROWS);
    return outcome;
}

/* The same; many uses may lead from one group to another, and until some groups are joined the answer stays the same. */
static opf_outcome try_join(opf_growth *growth, int source, int sink, bool do_join) {
    opf_latest *latest = &growth->latest[sink];
    if (latest->source == source && latest->join_count == growth->join_count && !(do_join && latest->outcome.rule == OPF_RULE_ROWS))
        return latest->outcome;
    *latest = (opf_latest){source, growth->join_count, {0}};
    latest->outcome = try_groups(growth, source, sink, do_join);
    return latest->outcome;
}

/* Two that would go against the grain may go with it together with what follows: a softmax of columns between two transposes. */
static bool join_with_next(opf_growth *growth, int source, int sink) {
    int next = opf_growth_only_user(growth, sink);
    return next >= 0 && next != source && growth->light[next] && try_groups(growth, source, next, true).rule == OPF_RULE_ROWS;
}

/* One attempt for each use that leads out of the node's group; true where a group grew. */
static bool grow_from(opf_growth *growth, const opf_node *node) {
    int source = growth->fuser->group_of[node->id];
    const opf_node_list *users = &growth->users[node->id];
    for (size_t u = 0; growth->light[source] && u < users->count; u++) {
        int sink = growth->fuser->group_of[users->data[u]->id];
        if (sink == source || !growth->light[sink])
            continue;
        opf_rule_number rule = try_join(growth, source, sink, true).rule;
        if (rule == OPF_RULE_ROWS || (rule == OPF_RULE_AGAINST_GRAIN && join_with_next(growth, source, sink)))
            return true;
    }
    return false;
}

static void grow(opf_growth *growth) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < growth->fuser->n_nodes; i++)
            while (!growth->fuser->folded[i] && grow_from(growth, growth->fuser->graph->nodes.data[i]))
                changed = true;
    }
}

/* ---- work in front of contractions and windows ---- */

void opf_growth_each_value(opf_growth *growth, void (*join)(opf_growth *growth, const opf_value *value)) {
    const opf_graph *graph = growth->fuser->graph;
    for (size_t i = 0; i < graph->inputs.count; i++)
        join(growth, graph->inputs.data[i]);
    for (int i = 0; i < growth->fuser->n_nodes; i++) {
        const opf_node *node = graph->nodes.data[i];
        for (int k = 0; k < node->n_outputs; k++)
            if (node->outputs[k])
                join(growth, node->outputs[k]);
    }
}

int opf_growth_reader(const opf_growth *growth, const opf_value *value, size_t use) {
    const opf_fuser *fuser = growth->fuser;
    return fuser->group_of[opf_node_within(value->uses.data[use].node, fuser->graph)->id];
}

int opf_growth_only_user(const opf_growth *growth, int group) {
    int user = -1;
    for (size_t m = 0; m < growth->members[group].count; m++) {
        const opf_node *node = growth->members[group].data[m];
        for (int k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] && node->outputs[k]->is_output)
                return -1;
        for (size_t u = 0; u < growth->users[node->id].count; u++) {
            int other = growth->fuser->group_of[growth->users[node->id].data[u]->id];
            if (other == group)
                continue;
            if (user >= 0 && other != user)
                return -1;
            user = other;
        }
    }
    return user;
}

bool opf_growth_compose(opf_growth *growth, int number, opf_group *group) {
    *group = (opf_group){.id = number};
    opf_node_list nodes = {0};
    for (size_t m = 0; m < growth->members[number].count; m++)
        OPF_PUSH(growth->fuser->arena, &nodes, growth->members[number].data[m]);
    for (size_t c = 0; c < growth->fuser->copied[number].count; c++)
        insert_node(growth->fuser->arena, &nodes, growth->fuser->copied[number].data[c]);
    group->nodes.data = nodes.data;
    group->nodes.count = nodes.count;
    return opf_compose(growth->fuser, group) == OPF_OK;
}

static opf_rule_number judge_prologue(opf_growth *growth, int source, int sink) {
    opf_fuser *fuser = growth->fuser;
    if (opf_growth_only_user(growth, source) != sink)
        return OPF_RULE_PROLOGUE_SHARED;
    if (opf_growth_pair_apart(growth, source, sink))
        return OPF_RULE_SINGLE;
    if (growth->members[source].count + growth->members[sink].count > (size_t)fuser->max_depth)
        return OPF_RULE_TOO_LARGE;
    opf_arena *scratch = opf_arena_new(), *kept = fuser->arena;
    fuser->arena = scratch;
    opf_group producer, user;
    opf_rule_number rule = OPF_RULE_TOO_LARGE;
    if (opf_growth_compose(growth, source, &producer) && opf_growth_compose(growth, sink, &user))
        rule = opf_prologue_fits(&producer, &user, fuser->settings, fuser->pool, scratch);
    fuser->arena = kept;
    opf_arena_free(scratch);
    if (rule == OPF_RULE_PROLOGUE && fuser->formed[sink] == OPF_RULE_BLOCKS)
        rule = opf_growth_try_blocks(growth, source, sink, false).rule == OPF_RULE_BLOCKS ? rule : OPF_RULE_NOT_BLOCKS;
    if (rule == OPF_RULE_PROLOGUE && fuser->formed[sink] == OPF_RULE_SHARED_OPERAND && !opf_growth_stay_sums(growth, source, sink))
        rule = OPF_RULE_PROLOGUE_IN_PLACE;
    return rule;
}

/* Is it a matter of prologues? Views in front cost nothing where they are. */
static bool may_be_prologue(const opf_growth *growth, int source, int sink) {
    return growth->light[source] && !growth->view[source] && !growth->light[sink] && !growth->closed[sink];
}

static void join_prologue(opf_growth *growth, int source, int sink) {
    for (size_t m = 0; m < growth->members[source].count; m++)
        growth->prologue[growth->members[source].data[m]->id] = true;
    growth->set.count = 0;
    OPF_PUSH(growth->fuser->arena, &growth->set, sink);
    OPF_PUSH(growth->fuser->arena, &growth->set, source);
    opf_rule_number formed = growth->fuser->formed[sink];
    opf_growth_join(growth, opf_growth_united(growth), growth->fuser->group_kinds[sink], formed == OPF_RULE_SINGLE ? OPF_RULE_PROLOGUE : formed);
}

/* Latest nodes first: what is in front of a prologue is then in front of the whole. */
static void take_prologues(opf_growth *growth) {
    for (int i = growth->fuser->n_nodes - 1; i >= 0; i--) {
        int source = growth->fuser->group_of[i];
        int sink = growth->fuser->folded[i] ? -1 : opf_growth_only_user(growth, source);
        if (sink >= 0 && may_be_prologue(growth, source, sink) && judge_prologue(growth, source, sink) == OPF_RULE_PROLOGUE)
            join_prologue(growth, source, sink);
    }
}

/* ---- uses ---- */

/* A model output that goes on as an index map, or into a reduction: what would be saved by one more result is told. */
static void record_passing(opf_growth *growth, int from, const opf_node *to) {
    opf_fuser *fuser = growth->fuser;
    const opf_node *node = fuser->graph->nodes.data[from];
    if (node->n_outputs != 1 || !opf_growth_passes_apart(growth, fuser->group_of[from], fuser->group_of[to->id], node->outputs[0]))
        return;
    opf_outcome outcome = {.rule = OPF_RULE_PASSING_APART, .bytes = opf_value_nominal_bytes(node->outputs[0])};
    OPF_PUSH(fuser->arena, &growth->attempts[from], (opf_attempt){to, outcome});
}

/* A contraction in front of a window that is, or could be, computed in bands. */
static bool record_expanded(opf_growth *growth, int from, const opf_node *to) {
    opf_fuser *fuser = growth->fuser;
    const opf_node *node = fuser->graph->nodes.data[from];
    int source = fuser->group_of[from];
    bool window = (growth->band[to->id] && fuser->formed[fuser->group_of[to->id]] == OPF_RULE_BAND) || growth->band_bytes[to->id] > 0;
    if (!window || node->n_outputs != 1 || growth->band_bytes[from] > 0 || opf_growth_only_user(growth, source) < 0 || fuser->group_kinds[source] != OPF_KIND_OUT_ELEMWISE_FUSABLE)
        return false;
    opf_outcome outcome = {.rule = OPF_RULE_BAND_EXPANDED, .bytes = opf_value_nominal_bytes(node->outputs[0])};
    OPF_PUSH(fuser->arena, &growth->attempts[from], (opf_attempt){to, outcome});
    return true;
}

/* Blocks of rows have the last word where they were possible and did not pay. */
static void record_blocks(opf_growth *growth, int from, const opf_node *to) {
    opf_fuser *fuser = growth->fuser;
    opf_outcome outcome = opf_growth_try_blocks(growth, fuser->group_of[from], fuser->group_of[to->id], false);
    if (outcome.rule == OPF_RULE_BLOCKS_AGAIN || outcome.rule == OPF_RULE_LONG_ROW || outcome.rule == OPF_RULE_FEW_ROWS ||
        outcome.rule == OPF_RULE_AGAINST_GRAIN)
        OPF_PUSH(fuser->arena, &growth->attempts[from], (opf_attempt){to, outcome});
    else if (fuser->outcomes[from].rule == OPF_RULE_MODEL_OUTPUT)
        record_passing(growth, from, to);
}

/* An attempt that would succeed now, after all growth: its rule is off. */
static void record(opf_growth *growth, int from, const opf_node *to, opf_outcome outcome) {
    if (outcome.rule == OPF_RULE_SINGLE)
        return; /* a pattern keeps them apart, and says so itself */
    if (opf_rules[outcome.rule].verdict == OPF_FUSED && opf_rule_is_off(growth->fuser->settings, outcome.rule))
        outcome = (opf_outcome){.rule = OPF_RULE_SWITCHED_OFF, .off = outcome.rule};
    OPF_PUSH(growth->fuser->arena, &growth->attempts[from], (opf_attempt){to, outcome});
}

/* The last word on uses that lead from group to group: what an attempt to join them comes to. */
static void record_attempts(opf_growth *growth) {
    opf_fuser *fuser = growth->fuser;
    for (int i = 0; i < fuser->n_nodes; i++) {
        for (size_t u = 0; u < growth->users[i].count; u++) {
            const opf_node *to = growth->users[i].data[u];
            int source = fuser->group_of[i], sink = fuser->group_of[to->id];
            if (fuser->is_copied[i] || fuser->is_copied[to->id])
                continue; /* settled */
            if (source != sink && growth->light[source] && growth->light[sink])
                record(growth, i, to, try_join(growth, source, sink, false));
            else if (source != sink && may_be_prologue(growth, source, sink))
                record(growth, i, to, (opf_outcome){.rule = judge_prologue(growth, source, sink)});
            else if (source != sink && !growth->view[source] && !growth->view[sink] && !record_expanded(growth, i, to))
                record_blocks(growth, i, to);
        }
    }
}

/* TVM's outcome holds for what TVM has fused and for what is no matter of rows. */
static opf_outcome outcome_of_use(opf_fuser *fuser, const opf_node *from, const opf_node *to, const opf_value *value) {
    const opf_growth *growth = fuser->policy_data;
    const opf_outcome *tvm = &fuser->outcomes[from->id];
    if (fuser->is_copied[from->id] && !fuser->is_copied[to->id])
        return (opf_outcome){.rule = OPF_RULE_COPIED};
    if (growth->gate[from->id] && !growth->gate[to->id] && fuser->group_of[from->id] == fuser->group_of[to->id])
        return (opf_outcome){.rule = OPF_RULE_GATE};
    if (growth->band[from->id] && !growth->band[to->id] && fuser->group_of[from->id] == fuser->group_of[to->id])
        return (opf_outcome){.rule = fuser->formed[fuser->group_of[from->id]] == OPF_RULE_POOL ? OPF_RULE_POOL : OPF_RULE_BAND};
    if (fuser->group_of[from->id] == fuser->group_of[to->id]) {
        if (!opf_rule_is_off(fuser->settings, OPF_RULE_IN_PASSING) && opf_fuser_leaves(fuser, fuser->group_of[from->id], value))
            return (opf_outcome){.rule = OPF_RULE_IN_PASSING};
        if (opf_rules[tvm->rule].verdict == OPF_FUSED)
            return *tvm;
        bool in_front = growth->prologue[from->id] && !growth->prologue[to->id];
        opf_rule_number formed = fuser->formed[fuser->group_of[from->id]];
        if (!in_front && (formed == OPF_RULE_BLOCKS || formed == OPF_RULE_SHARED_OPERAND))
            return (opf_outcome){.rule = formed};
        return (opf_outcome){.rule = in_front ? OPF_RULE_PROLOGUE : OPF_RULE_ROWS};
    }
    if (growth->band_bytes[from->id] && fuser->group_of[from->id] != fuser->group_of[to->id])
        return (opf_outcome){.rule = OPF_RULE_BAND_CACHED, .bytes = growth->band_bytes[from->id]};
    if (growth->joins[to->id].rule != OPF_RULE_SINGLE && fuser->group_of[from->id] != fuser->group_of[to->id]) {
        opf_outcome outcome = growth->joins[to->id];
        outcome.bytes = opf_value_nominal_bytes(value) < INT64_MAX / 2 ? 2 * opf_value_nominal_bytes(value) : INT64_MAX; /* read and written again */
        return outcome;
    }
    if (growth->copy_dear[from->id] && fuser->group_of[from->id] != fuser->group_of[to->id])
        return (opf_outcome){.rule = OPF_RULE_COPY_DEAR, .bytes = opf_value_nominal_bytes(value)};
    const opf_attempts *attempts = &growth->attempts[from->id];
    for (size_t a = 0; a < attempts->count; a++)
        if (attempts->data[a].to == to)
            return attempts->data[a].outcome;
    return *tvm;
}

/* ---- the policy ---- */

static opf_growth *new_growth(opf_fuser *fuser) {
    opf_arena *arena = fuser->arena;
    opf_growth *growth = OPF_NEW(arena, opf_growth);
    int n = fuser->n_nodes, groups = fuser->n_groups;
    *growth = (opf_growth){
        .fuser = fuser,
        .members = OPF_ARRAY(arena, opf_node_list, groups),
        .light = OPF_ARRAY(arena, bool, groups),
        .closed = OPF_ARRAY(arena, bool, groups),
        .prologue = OPF_ARRAY(arena, bool, n),
        .copy_dear = OPF_ARRAY(arena, bool, n),
        .band = OPF_ARRAY(arena, bool, n),
        .band_bytes = OPF_ARRAY(arena, int64_t, n),
        .gate = OPF_ARRAY(arena, bool, n),
        .view = OPF_ARRAY(arena, bool, groups),
        .users = OPF_ARRAY(arena, opf_node_list, n),
        .producers = OPF_ARRAY(arena, opf_node_list, n),
        .ahead = OPF_ARRAY(arena, int, groups),
        .behind = OPF_ARRAY(arena, int, groups),
        .queue = OPF_ARRAY(arena, int, groups),
        .latest = OPF_ARRAY(arena, opf_latest, groups),
        .attempts = OPF_ARRAY(arena, opf_attempts, n),
    };
    for (int g = 0; g < groups; g++)
        growth->light[g] = growth->view[g] = true, growth->latest[g].source = -1;
    for (int i = 0; i < n; i++) {
        int g = fuser->group_of[i];
        OPF_PUSH(arena, &growth->members[g], fuser->graph->nodes.data[i]);
        bool closed = opf_fusion_is_closed(fuser, i);
        growth->closed[g] = growth->closed[g] || closed;
        growth->light[g] = growth->light[g] && !closed && opf_stages_are_light(&fuser->calls[i]->stages);
        growth->view[g] = growth->view[g] && opf_fusion_is_view(fuser, i);
    }
    link_nodes(growth);
    opf_growth_order(growth);
    return growth;
}

/* Numbers of groups that are left, without gaps. */
static void compact(opf_growth *growth) {
    opf_fuser *fuser = growth->fuser;
    int count = 0;
    for (int g = 0; g < fuser->n_groups; g++) {
        if (growth->members[g].count == 0)
            continue;
        fuser->group_kinds[count] = fuser->group_kinds[g];
        fuser->formed[count] = fuser->formed[g];
        fuser->copied[count] = fuser->copied[g];
        number_members(growth, g, count++);
    }
    fuser->n_groups = count;
}

/* In which order groups grow, and by which rule. What the first list makes is the greedy plan; what follows it suits any plan. */
typedef struct opf_growth_step { opf_rule_number rule; void (*grow)(opf_growth *growth); } opf_growth_step;
static const opf_growth_step plan_steps[] = {
    {OPF_RULE_ROWS, grow},
    {OPF_RULE_PROLOGUE, take_prologues}, {OPF_RULE_BLOCKS, opf_grow_blocks},
    {OPF_RULE_PROLOGUE, take_prologues}, {OPF_RULE_SHARED_OPERAND, opf_grow_sums},
    {OPF_RULE_SINGLE, opf_grow_bands},
};
static const opf_growth_step last_steps[] = {
    {OPF_RULE_COPIED, opf_grow_copies}, {OPF_RULE_IN_PASSING, opf_grow_passing}, {OPF_RULE_GATE, opf_grow_gates}, {OPF_RULE_SIBLINGS, opf_grow_siblings},
};

static void take(opf_growth *growth, const opf_growth_step *steps, size_t n) {
    for (size_t s = 0; s < n; s++)
        if (!opf_rule_is_off(growth->fuser->settings, steps[s].rule))
            steps[s].grow(growth);
}

void opf_policy_best(opf_fuser *fuser) {
    opf_policy_tvm(fuser);
    opf_outcome *joins = OPF_ARRAY(fuser->arena, opf_outcome, fuser->n_nodes + 1);
    if (!opf_rule_is_off(fuser->settings, OPF_RULE_JOIN))
        opf_best_joins(fuser, joins);
    opf_growth *growth = new_growth(fuser);
    growth->joins = joins;
    if (!opf_rule_is_off(fuser->settings, OPF_RULE_PROLOGUE))
        opf_grow_scales(growth);
    const opf_growth_state *base = opf_growth_save(growth);
    take(growth, plan_steps, OPF_COUNT(plan_steps));
    if (!fuser->options->only_matches && opf_growth_plan(growth, base))
        take(growth, plan_steps, OPF_COUNT(plan_steps)); /* what the programme has left apart for want of a try */
    take(growth, last_steps, OPF_COUNT(last_steps));
    record_attempts(growth);
    compact(growth);
    fuser->policy_data = growth;
    fuser->outcome_of_use = outcome_of_use;
}
