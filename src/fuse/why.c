/* The log: one verdict for each use of a node's result by a node, and for pairs of nodes that read the same value. */
#include "fuse/matched.h"

enum { MOST_SIBLINGS = 8, MOST_USERS_NAMED = 4 };

static const opf_group *group_of(const opf_fuser *fuser, const opf_node *node) {
    return fuser->fusion->groups.data[fuser->group_of[node->id]];
}

static const char *name_of(const opf_node *node) { return node ? node->name : NULL; }

/* "'a', 'b' and 3 more": those who use the node's results. */
static const char *users_of(const opf_fuser *fuser, const opf_node *node) {
    opf_text text = {0};
    size_t count = 0;
    for (int k = 0; k < node->n_outputs; k++) {
        const opf_value *value = node->outputs[k];
        for (size_t u = 0; value && u < value->uses.count; u++, count++)
            if (count < MOST_USERS_NAMED)
                opf_text_printf(&text, "%s'%s'", count ? ", " : "", opf_node_within(value->uses.data[u].node, fuser->graph)->name);
    }
    if (count > MOST_USERS_NAMED)
        opf_text_printf(&text, " and %zu more", count - MOST_USERS_NAMED);
    const char *users = opf_arena_string(fuser->arena, opf_text_string(&text));
    opf_text_free(&text);
    return users;
}

static const char *printed(opf_fuser *fuser, const char *sentence, const opf_rule_words *words, const char *end) {
    opf_text text = {0};
    opf_words_print(sentence, words, &text);
    opf_text_add(&text, end);
    const char *string = opf_arena_string(fuser->arena, opf_text_string(&text));
    opf_text_free(&text);
    return string;
}

/* Where the rule is switched off; of one that only hangs on others, where the first of those is. */
static const char *switched_at(const opf_fuser *fuser, opf_rule_number rule) {
    const char *const *off = fuser->settings->off;
    for (int r = 0; !off[rule] && r < OPF_RULE_COUNT; r++)
        if (off[r])
            return off[r];
    return off[rule];
}

static opf_rule_words words_of(opf_fuser *fuser, const opf_outcome *outcome, const opf_node *from, const opf_node *to, const opf_value *value) {
    opf_rule_words words = {
        .from = name_of(from), .from_kind = opf_kind_name(fuser->kinds[from->id]), .from_op = from->op,
        .to = name_of(to), .to_kind = opf_kind_name(fuser->kinds[to->id]),
        .value = value->name, .limit = fuser->max_depth,
        .source = name_of(outcome->source), .sink = name_of(outcome->sink),
        .blocker = name_of(outcome->blocker), .met = opf_kind_name(outcome->met),
        .blocker_op = outcome->blocker ? outcome->blocker->op : NULL,
        .bytes = outcome->bytes,
    };
    if (outcome->matched) {
        words.pattern = outcome->matched->match->pattern->name;
        words.place = outcome->matched->match->pattern->source;
        words.why = outcome->matched->reason;
    }
    if (outcome->rule == OPF_RULE_SWITCHED_OFF) {
        words.off = opf_rules[outcome->off].id;
        words.place = switched_at(fuser, outcome->off);
    }
    if (outcome->rule == OPF_RULE_NO_MEETING || outcome->rule == OPF_RULE_PROLOGUE_SHARED || outcome->rule == OPF_RULE_COPY_DEAR)
        words.users = users_of(fuser, from);
    return words;
}

/* A use that is refused only because a rule is off: which one would have joined it. */
static opf_outcome as_switched(const opf_fuser *fuser, opf_outcome outcome, size_t edge) {
    const opf_fusion *unrestricted = fuser->unrestricted;
    if (!unrestricted || outcome.matched || edge >= unrestricted->edges.count || opf_rules[outcome.rule].verdict != OPF_REFUSED)
        return outcome;
    const opf_edge *before = &unrestricted->edges.data[edge];
    for (int r = OPF_RULE_SINGLE + 1; before->verdict != OPF_REFUSED && r < OPF_RULE_COUNT; r++)
        if (opf_rules[r].id == before->rule)
            return (opf_outcome){.rule = OPF_RULE_SWITCHED_OFF, .off = (opf_rule_number)r};
    return outcome;
}

/* The smallest change that would allow it; NULL where nothing is refused. */
static const char *remedy(opf_fuser *fuser, opf_rule_number rule, const opf_rule_words *words) {
    const opf_remedy *remedy = &opf_remedies[rule];
    if (!remedy->sentence)
        return NULL;
    bool lift = remedy->only_tvm && fuser->fusion->policy == OPF_POLICY_TVM;
    return printed(fuser, remedy->sentence, words, lift ? "; or --fuse=best, which this rule does not bind" : "");
}

/* The rule that settles the use, and what it speaks of. */
static opf_outcome settle(opf_fuser *fuser, const opf_node *from, const opf_node *to, const opf_value *value) {
    if (fuser->folded[to->id])
        return (opf_outcome){.rule = opf_node_is_folded(to) ? OPF_RULE_FOLDED_USE : OPF_RULE_SHAPE_ONLY};
    if (fuser->folded[from->id])
        return (opf_outcome){.rule = OPF_RULE_FOLDED_VALUE};
    if (fuser->in_place[to->id])
        return (opf_outcome){.rule = fuser->in_front[to->id] ? OPF_RULE_JOIN_AT_ONE : OPF_RULE_JOIN};
    if (group_of(fuser, to)->step == OPF_STEP_VIEW && to->inputs[0] == value)
        return (opf_outcome){.rule = OPF_RULE_VIEW};
    opf_outcome own = opf_matched_use(fuser, from, to, fuser->group_of[from->id] == fuser->group_of[to->id]);
    if (own.matched)
        return own;
    return fuser->outcome_of_use ? fuser->outcome_of_use(fuser, from, to, value) : fuser->outcomes[from->id];
}

static void add_edge(opf_fuser *fuser, const opf_node *from, const opf_node *to, const opf_value *value) {
    opf_outcome outcome = as_switched(fuser, settle(fuser, from, to, value), fuser->fusion->edges.count);
    opf_rule_words words = words_of(fuser, &outcome, from, to, value);
    opf_edge edge = {
        .from = from, .to = to, .value = value,
        .verdict = opf_rules[outcome.rule].verdict,
        .rule = outcome.matched ? opf_matched_rule(fuser, outcome.matched) : opf_rules[outcome.rule].id,
        .reason = printed(fuser, opf_rules[outcome.rule].sentence, &words, ""),
        .remedy = remedy(fuser, outcome.rule, &words),
        .blocker = outcome.blocker,
        .source = outcome.source,
        .sink = outcome.sink,
        .buffer_bytes = opf_value_nominal_bytes(value),
    };
    OPF_PUSH(fuser->arena, &fuser->fusion->edges, edge);
}

/* Distinct nodes of the graph that use the value, in graph order. */
static int users(opf_fuser *fuser, const opf_value *value, opf_node **out) {
    int count = 0;
    for (size_t u = 0; u < value->uses.count; u++) {
        opf_node *user = opf_node_within(value->uses.data[u].node, fuser->graph);
        int at = count;
        while (at > 0 && out[at - 1]->id > user->id)
            at--;
        if (at > 0 && out[at - 1] == user)
            continue;
        for (int k = count++; k > at; k--)
            out[k] = out[k - 1];
        out[at] = user;
    }
    return count;
}

/* A pair that is apart only because rules are off. */
static opf_sibling switched_pair(opf_fuser *fuser, opf_sibling pair) {
    size_t at = fuser->fusion->siblings.count;
    if (!fuser->unrestricted || at >= fuser->unrestricted->siblings.count || pair.verdict != OPF_REFUSED || fuser->unrestricted->siblings.data[at].verdict != OPF_FUSED)
        return pair;
    opf_rule_words words = {.from = pair.a->name, .to = pair.b->name, .off = opf_rules[OPF_RULE_SIBLINGS].id, .place = switched_at(fuser, OPF_RULE_SIBLINGS)};
    pair.rule = opf_rules[OPF_RULE_SWITCHED_OFF].id;
    pair.reason = printed(fuser, opf_rules[OPF_RULE_SWITCHED_OFF].sentence, &words, "");
    pair.remedy = printed(fuser, opf_remedies[OPF_RULE_SWITCHED_OFF].sentence, &words, "");
    return pair;
}

/* Pairs among the first users of a value. Single numbers are in the code of each, and constants are shared by chance. */
static void add_siblings(opf_fuser *fuser, const opf_value *value) {
    if (value->constant || value->content || value->uses.count < 2)
        return;
    opf_node **list = OPF_ARRAY(fuser->arena, opf_node *, value->uses.count);
    int count = users(fuser, value, list), kept = 0;
    for (int k = 0; k < count && kept < MOST_SIBLINGS; k++)
        if (!fuser->folded[list[k]->id])
            list[kept++] = list[k];
    for (int a = 0; a < kept; a++)
        for (int b = a + 1; b < kept; b++)
            OPF_PUSH(fuser->arena, &fuser->fusion->siblings, switched_pair(fuser, opf_siblings_compare(fuser, list[a], list[b], value)));
}

void opf_fusion_explain(opf_fuser *fuser) {
    for (size_t i = 0; i < fuser->graph->inputs.count; i++)
        add_siblings(fuser, fuser->graph->inputs.data[i]);
    for (int i = 0; i < fuser->n_nodes; i++) {
        const opf_node *node = fuser->graph->nodes.data[i];
        for (int k = 0; k < node->n_outputs; k++) {
            const opf_value *value = node->outputs[k];
            if (!value)
                continue;
            opf_node **list = OPF_ARRAY(fuser->arena, opf_node *, value->uses.count + 1);
            int count = users(fuser, value, list);
            for (int u = 0; u < count; u++)
                add_edge(fuser, node, list[u], value);
            add_siblings(fuser, value);
        }
    }
}
