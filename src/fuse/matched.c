/* A user's patterns among the groups. */
#include "fuse/matched.h"

#include <string.h>

static bool forbids(const opf_matched *matched) { return matched->match->pattern->action == OPF_PATTERN_FORBID; }
static bool binds(const opf_matched *matched) { return matched->match->pattern->action == OPF_PATTERN_BIND; }

static const char *refuse(opf_matched *matched, const char *reason) { return matched->reason = reason; }

/* ---- which nodes are left ---- */

static bool is_whole_step(const opf_fuser *fuser, const opf_node *node) {
    const opf_call *call = fuser->calls[node->id];
    return call && (call->library || call->control);
}

/* In graph order. Nodes that a pass took out belong to no graph. */
static void take_nodes(opf_fuser *fuser, opf_matched *matched) {
    const opf_match *match = matched->match;
    bool *in = OPF_ARRAY(fuser->arena, bool, fuser->n_nodes + 1);
    for (int k = 0; k < match->n_nodes; k++) {
        opf_node *node = match->nodes[k];
        if (node->graph != fuser->graph) {
            if (binds(matched))
                refuse(matched, opf_arena_printf(fuser->arena, "a pass has taken '%s' out of the graph", node->name));
            continue;
        }
        in[node->id] = !fuser->folded[node->id];
        if (!forbids(matched) && !binds(matched) && is_whole_step(fuser, node))
            refuse(matched, opf_arena_printf(fuser->arena, "'%s' is a step of its own", node->name));
    }
    for (int i = 0; i < fuser->n_nodes; i++)
        if (in[i])
            OPF_PUSH(fuser->arena, &matched->nodes, fuser->graph->nodes.data[i]);
}

static void take_caller(opf_fuser *fuser, opf_matched *matched) {
    matched->caller = opf_match_caller(matched->match);
    for (int k = 0; k < matched->caller->n_outputs; k++)
        if (fuser->folded[matched->caller->outputs[k]->producer->id])
            refuse(matched, opf_arena_printf(fuser->arena, "its result '%s' is never computed: it is known before, or only its shape is used", matched->caller->outputs[k]->name));
}

static bool is_here(const opf_fuser *fuser, const opf_match *match) {
    for (int k = 0; k < match->n_nodes; k++)
        if (match->nodes[k]->graph == fuser->graph)
            return true;
    return false;
}

static bool counts(const opf_fuser *fuser, const opf_match *match) {
    bool pinned = fuser->options->groups_file != NULL;
    return match->state == OPF_MATCH_TAKEN && is_here(fuser, match) && (!pinned || match->pattern->action == OPF_PATTERN_BIND);
}

static void add_match(opf_fuser *fuser, size_t number) {
    const opf_match *match = fuser->options->matches->list.data[number];
    opf_matched *matched = OPF_NEW(fuser->arena, opf_matched);
    opf_pattern_action action = match->pattern->action;
    *matched = (opf_matched){.match = match, .number = (int)fuser->matched.count + 1, .number_of_match = number, .formed = OPF_RULE_SINGLE, .kind = OPF_KIND_OPAQUE};
    matched->planned = action == OPF_PATTERN_FORCE || action == OPF_PATTERN_BIND;
    take_nodes(fuser, matched);
    if (!matched->reason && action == OPF_PATTERN_BIND)
        take_caller(fuser, matched);
    if (matched->nodes.count > (action == OPF_PATTERN_PREFER || action == OPF_PATTERN_FORBID ? 1u : 0u) || action == OPF_PATTERN_FORBID)
        OPF_PUSH(fuser->arena, &fuser->matched, matched);
}

/* ---- ways that leave and come back ---- */

typedef struct opf_circle {
    const opf_fuser *fuser;
    const opf_matched *matched;
    bool *seen;
    int *stack, height;
} opf_circle;

static bool holds(const opf_matched *matched, const opf_node *node) {
    for (size_t k = 0; k < matched->nodes.count; k++)
        if (matched->nodes.data[k] == node)
            return true;
    return false;
}

static void enter(opf_circle *circle, int node) {
    if (circle->seen[node] || circle->fuser->folded[node])
        return;
    circle->seen[node] = true;
    circle->stack[circle->height++] = node;
    const opf_matched *kernel = circle->fuser->joined[node];
    for (size_t k = 0; kernel && kernel != circle->matched && k < kernel->nodes.count; k++)
        if (!circle->seen[kernel->nodes.data[k]->id])
            enter(circle, kernel->nodes.data[k]->id);
}

/* Who waits for the node: readers of its results, and steps that speak of sizes that it finds. */
static void enter_users(opf_circle *circle, int i, bool outside_only) {
    const opf_fuser *fuser = circle->fuser;
    const opf_node *node = fuser->graph->nodes.data[i];
    for (int k = 0; k < node->n_outputs; k++)
        for (size_t u = 0; node->outputs[k] && u < node->outputs[k]->uses.count; u++) {
            const opf_node *user = opf_node_within(node->outputs[k]->uses.data[u].node, fuser->graph);
            if (!outside_only || !holds(circle->matched, user))
                enter(circle, user->id);
        }
    for (size_t k = 0; k < fuser->needs.count; k++)
        if (fuser->needs.data[k].finder == i && fuser->needs.data[k].speaker >= 0 && !(outside_only && holds(circle->matched, fuser->graph->nodes.data[fuser->needs.data[k].speaker])))
            enter(circle, fuser->needs.data[k].speaker);
}

/* A node of the match that waits for something outside that waits for the match; NULL: there is none. */
static const opf_node *find_circle(const opf_fuser *fuser, const opf_matched *matched) {
    opf_circle circle = {fuser, matched, OPF_ARRAY(fuser->arena, bool, fuser->n_nodes + 1), OPF_ARRAY(fuser->arena, int, fuser->n_nodes + 1), 0};
    for (size_t k = 0; k < matched->nodes.count; k++)
        enter_users(&circle, matched->nodes.data[k]->id, true);
    while (circle.height > 0) {
        const opf_node *node = fuser->graph->nodes.data[circle.stack[--circle.height]];
        if (holds(matched, node))
            return node;
        enter_users(&circle, node->id, false);
    }
    return NULL;
}

static void join(opf_fuser *fuser, opf_matched *matched) {
    const opf_node *circle = find_circle(fuser, matched);
    if (circle)
        refuse(matched, opf_arena_printf(fuser->arena, "'%s' waits for something outside that waits for the others", circle->name));
    for (size_t k = 0; !circle && k < matched->nodes.count; k++)
        fuser->joined[matched->nodes.data[k]->id] = matched;
}

/* ---- the trial ---- */

/* Every rule that refuses for a price is off; nothing is computed twice. */
static void make_free(opf_rule_settings *settings, opf_arena *arena) {
    opf_diags *aside = opf_diags_new();
    opf_rule_settings_init(settings);
    opf_rule_settings_read(settings, "off long-row\noff few-rows\noff blocks-again\noff copy-dear\noff bands-cached\noff copied\noff join\n", "", arena, aside);
    settings->any_off = false; /* of what would be without it nobody asks */
    opf_diags_free(aside);
}

static bool wants_trial(const opf_matched *matched) { return !forbids(matched) && !binds(matched) && !matched->reason; }

static const opf_group *group_with(const opf_fusion *trial, const opf_node *node) {
    for (size_t g = 0; g < trial->groups.count; g++)
        for (size_t k = 0; k < trial->groups.data[g]->nodes.count; k++)
            if (trial->groups.data[g]->nodes.data[k] == node)
                return trial->groups.data[g];
    return NULL;
}

static opf_rule_number rule_called(const char *id) {
    for (int r = 0; r < OPF_RULE_COUNT; r++)
        if (strcmp(opf_rules[r].id, id) == 0)
            return (opf_rule_number)r;
    return OPF_RULE_SINGLE;
}

static const char *trial_reason(const opf_fusion *trial, const opf_matched *matched) {
    for (size_t e = 0; e < trial->edges.count; e++) {
        const opf_edge *edge = &trial->edges.data[e];
        if (edge->verdict == OPF_REFUSED && holds(matched, edge->from) && holds(matched, edge->to))
            return edge->reason;
    }
    return "no rule makes one loop nest of them";
}

static void judge(opf_matched *matched, const opf_fusion *trial) {
    const opf_group *group = group_with(trial, matched->nodes.data[0]);
    if (group->nodes.count != matched->nodes.count) {
        refuse(matched, trial_reason(trial, matched));
        return;
    }
    matched->formed = rule_called(group->rule);
    matched->kind = group->kind;
}

static opf_status try_matches(opf_fuser *fuser) {
    opf_rule_settings settings;
    make_free(&settings, fuser->arena);
    opf_fuse_options options = *fuser->options;
    options.policy = OPF_POLICY_BEST;
    options.only_matches = options.aside = true;
    options.settings = &settings;
    options.max_depth = 0;
    opf_fusion *trial;
    opf_status status = opf_fuse(&trial, fuser->graph, &options);
    for (size_t m = 0; status == OPF_OK && m < fuser->matched.count; m++)
        if (wants_trial(fuser->matched.data[m]) && fuser->matched.data[m]->nodes.count > 1)
            judge(fuser->matched.data[m], trial);
    return status;
}

/* ---- clubs ---- */

/* In a trial every node is its own club but those of one match. Else the nodes of closed kernels are one. */
static void set_clubs(opf_fuser *fuser) {
    fuser->club = OPF_ARRAY(fuser->arena, int, fuser->n_nodes + 1);
    for (int i = 0; i < fuser->n_nodes; i++)
        fuser->club[i] = fuser->options->only_matches ? -1 - i : 0;
    for (size_t m = 0; m < fuser->matched.count; m++) {
        const opf_matched *matched = fuser->matched.data[m];
        bool closed = fuser->options->only_matches ? wants_trial(matched) : !forbids(matched) && !matched->reason && matched->planned;
        for (size_t k = 0; closed && k < matched->nodes.count; k++)
            fuser->club[matched->nodes.data[k]->id] = matched->number;
    }
}

/* Refusals that only fusing can find: the match says so from now on, and a warning where a user forced or bound something. */
static void tell(opf_fuser *fuser) {
    for (size_t m = 0; m < fuser->matched.count; m++) {
        const opf_matched *matched = fuser->matched.data[m];
        if (!matched->reason)
            continue;
        fuser->options->matches->list.data[matched->number_of_match]->state = OPF_MATCH_REFUSED;
        fuser->options->matches->list.data[matched->number_of_match]->reason = matched->reason;
        if (!matched->planned || !matched->nodes.count || fuser->options->aside)
            continue;
        opf_diag_add(fuser->fusion->module->diags, OPF_WARNING, "patterns", opf_node_place(matched->nodes.data[0]), "pattern '%s' (%s) is not applied here: %s",
                     matched->match->pattern->name, matched->match->pattern->source, matched->reason);
    }
}

opf_status opf_fusion_match(opf_fuser *fuser) {
    const opf_matches *matches = fuser->options->matches;
    fuser->joined = OPF_ARRAY(fuser->arena, opf_matched *, fuser->n_nodes + 1);
    if (!matches || (fuser->options->policy == OPF_POLICY_NONE && !fuser->options->groups_file))
        return OPF_OK;
    bool any_trial = false;
    for (size_t m = 0; m < matches->list.count; m++)
        if (counts(fuser, matches->list.data[m]))
            add_match(fuser, m);
    if (!fuser->matched.count && !fuser->options->only_matches)
        return OPF_OK;
    for (size_t m = 0; m < fuser->matched.count; m++)
        any_trial = any_trial || (wants_trial(fuser->matched.data[m]) && fuser->matched.data[m]->nodes.count > 1);
    opf_status status = any_trial && !fuser->options->only_matches ? try_matches(fuser) : OPF_OK;
    for (size_t m = 0; m < fuser->matched.count && !fuser->options->only_matches; m++)
        if (!forbids(fuser->matched.data[m]) && !fuser->matched.data[m]->reason)
            join(fuser, fuser->matched.data[m]);
    set_clubs(fuser);
    for (int i = 0; i < fuser->n_nodes; i++)
        if (fuser->joined[i] && binds(fuser->joined[i]))
            fuser->kinds[i] = OPF_KIND_OPAQUE;
    if (!fuser->options->only_matches)
        tell(fuser);
    return status;
}

/* ---- asked by the policies and the log ---- */

bool opf_matched_apart(const opf_fuser *fuser, opf_node *const *nodes, size_t n, const opf_matched **by) {
    *by = NULL;
    for (size_t k = 1; fuser->club && k < n; k++)
        if (fuser->club[nodes[k]->id] != fuser->club[nodes[0]->id])
            return true;
    for (size_t m = 0; !fuser->options->only_matches && m < fuser->matched.count; m++) {
        const opf_matched *matched = fuser->matched.data[m];
        size_t met = 0;
        for (size_t k = 0; forbids(matched) && k < n && met < 2; k++)
            met += holds(matched, nodes[k]);
        if (met < 2 && !(met == 1 && matched->match->n_nodes == 1 && n > 1)) /* a single node is to stand alone */
            continue;
        *by = matched;
        return true;
    }
    return false;
}

opf_outcome opf_matched_use(const opf_fuser *fuser, const opf_node *from, const opf_node *to, bool together) {
    const opf_matched *a = fuser->joined ? fuser->joined[from->id] : NULL, *b = fuser->joined ? fuser->joined[to->id] : NULL;
    if (a && a == b)
        return (opf_outcome){.rule = binds(a) ? OPF_RULE_OWN_KERNEL : OPF_RULE_PATTERN, .matched = a};
    if (together)
        return (opf_outcome){.rule = OPF_RULE_SINGLE};
    if ((a && a->planned) || (b && b->planned))
        return (opf_outcome){.rule = OPF_RULE_PATTERN_BORDER, .matched = a && a->planned ? a : b};
    for (size_t m = 0; m < fuser->matched.count; m++) {
        const opf_matched *matched = fuser->matched.data[m];
        bool both = holds(matched, from) && holds(matched, to), single = matched->match->n_nodes == 1 && (holds(matched, from) || holds(matched, to));
        if (forbids(matched) && (both || single))
            return (opf_outcome){.rule = OPF_RULE_PATTERN_APART, .matched = matched};
        if (matched->reason && both)
            return (opf_outcome){.rule = OPF_RULE_PATTERN_REFUSED, .matched = matched};
    }
    return (opf_outcome){.rule = OPF_RULE_SINGLE};
}

const char *opf_matched_rule(const opf_fuser *fuser, const opf_matched *matched) {
    return opf_arena_printf(fuser->arena, "pattern:%s", matched->match->pattern->name);
}
