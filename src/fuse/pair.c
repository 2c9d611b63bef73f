/* `explain --why A B`: finds two nodes and the way between them in the log. */
#include "fuse/pair.h"

#include <string.h>

#include "fuse/explain_json.h"

/* ---- finding nodes ---- */

static bool stands_for(const opf_node *node, const char *name) {
    if (strcmp(node->name, name) == 0)
        return true;
    for (int k = 0; k < node->n_origins; k++)
        if (strcmp(node->origins[k], name) == 0)
            return true;
    return false;
}

static const opf_node *find_in(const opf_graph *graph, const char *name) {
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (stands_for(graph->nodes.data[i], name))
            return graph->nodes.data[i];
    return NULL;
}

/* In the graph `inside`, else (NULL) in the first that has it. */
static const opf_node *find_node(const opf_parts *parts, const opf_graph *inside, const char *name) {
    for (size_t p = 0; p < parts->list.count; p++) {
        const opf_graph *graph = parts->list.data[p].fusion->graph;
        const opf_node *node = !inside || graph == inside ? find_in(graph, name) : NULL;
        if (node)
            return node;
    }
    return NULL;
}

static const opf_removed *find_removed(const opf_module *module, const char *name) {
    for (size_t r = 0; r < module->removed.count; r++)
        if (strcmp(module->removed.data[r].node, name) == 0)
            return &module->removed.data[r];
    return NULL;
}

static opf_status report_missing(const opf_module *module, const char *name, const opf_removed *removed) {
    opf_place place = OPF_NO_PLACE;
    place.file = module->path;
    opf_diag *diag = removed ? opf_diag_add(module->diags, OPF_ERROR, "input", place, "node '%.200s' is gone: %s", name, removed->why)
                             : opf_diag_add(module->diags, OPF_ERROR, "input", place, "the model has no node '%.200s'", name);
    opf_diag_hint(module->diags, diag, "names are those that `opfuse explain` prints");
    return OPF_ERROR_INPUT;
}

/* The node, or what it went into when a pass took it out. */
static opf_status look_up(const opf_parts *parts, const opf_graph *inside, const char *name, const opf_node **node, const opf_removed **removed) {
    const opf_module *module = parts->list.data[0].fusion->module;
    *node = find_node(parts, inside, name);
    *removed = NULL;
    const opf_removed *at = *node ? NULL : find_removed(module, name);
    for (size_t steps = 0; at && !*node && steps <= module->removed.count; steps++) {
        *removed = *removed ? *removed : at;
        *node = at->into ? find_node(parts, inside, at->into) : NULL;
        at = *node || !at->into ? at : find_removed(module, at->into);
    }
    return *node ? OPF_OK : report_missing(module, name, *removed);
}

static bool is_among(opf_node *const *nodes, size_t n, const opf_node *node) {
    for (size_t i = 0; i < n; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static bool holds(const opf_group *group, const opf_node *node) { return is_among(group->nodes.data, group->nodes.count, node); }

/* The group that the node is at home in; others may compute it again. */
static const opf_group *home_of(const opf_fusion *fusion, const opf_node *node) {
    const opf_group *any = NULL;
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        if (!holds(group, node))
            continue;
        any = group;
        if (!is_among(group->copied.data, group->copied.count, node))
            return group;
    }
    return any;
}

/* The groups of both; one group where it holds both, be it by a copy. */
static void take_groups(opf_pair *pair) {
    pair->group_a = home_of(pair->fusion, pair->a);
    pair->group_b = home_of(pair->fusion, pair->b);
    if (holds(pair->group_b, pair->a))
        pair->group_a = pair->group_b;
    else if (holds(pair->group_a, pair->b))
        pair->group_b = pair->group_a;
}

/* ---- the way ---- */

/* Breadth first along the log's edges; only those inside `group` where it is not NULL. Sets pair->way. */
static bool find_way(opf_pair *pair, const opf_node *from, const opf_node *to, const opf_group *group, opf_arena *arena) {
    const opf_fusion *fusion = pair->fusion;
    size_t n = fusion->graph->nodes.count;
    const opf_edge **by = OPF_ARRAY(arena, const opf_edge *, n + 1);
    const opf_node **queue = OPF_ARRAY(arena, const opf_node *, n + 1);
    size_t count = 0;
    queue[count++] = from;
    for (size_t at = 0; at < count && !by[to->id]; at++)
        for (size_t e = 0; e < fusion->edges.count; e++) {
            const opf_edge *edge = &fusion->edges.data[e];
            if (edge->from != queue[at] || by[edge->to->id] || edge->to == from || (group && !holds(group, edge->to)))
                continue;
            by[edge->to->id] = edge;
            queue[count++] = edge->to;
        }
    if (!by[to->id])
        return false;
    for (const opf_node *node = to; node != from; node = by[node->id]->from) {
        OPF_PUSH(arena, &pair->way, by[node->id]);
        for (size_t k = pair->way.count - 1; k > 0; k--)
            pair->way.data[k] = pair->way.data[k - 1];
        pair->way.data[0] = by[node->id];
    }
    return true;
}

static void swap_ends(opf_pair *pair) {
    opf_pair old = *pair;
    pair->a = old.b, pair->b = old.a;
    pair->removed_a = old.removed_b, pair->removed_b = old.removed_a;
    pair->group_a = old.group_b, pair->group_b = old.group_a;
    pair->id_a = old.id_b, pair->id_b = old.id_a;
}

static bool take_way(opf_pair *pair, opf_arena *arena) {
    const opf_group *inside = opf_pair_together(pair) ? pair->group_a : NULL;
    if (!find_way(pair, pair->a, pair->b, inside, arena)) {
        if (!find_way(pair, pair->b, pair->a, inside, arena))
            return false;
        swap_ends(pair);
    }
    pair->relation = OPF_RELATION_WAY;
    for (size_t e = 0; e < pair->way.count && !pair->cut; e++)
        if (pair->way.data[e]->verdict == OPF_REFUSED)
            pair->cut = pair->way.data[e];
    return true;
}

/* ---- siblings ---- */

static const opf_value *largest_shared(const opf_node *a, const opf_node *b) {
    const opf_value *best = NULL;
    for (int i = 0; i < a->n_inputs; i++)
        for (int k = 0; k < b->n_inputs; k++)
            if (a->inputs[i] && a->inputs[i] == b->inputs[k] &&
                (!best || opf_value_nominal_bytes(a->inputs[i]) > opf_value_nominal_bytes(best)))
                best = a->inputs[i];
    return best;
}

static bool take_siblings(opf_pair *pair) {
    pair->shared = largest_shared(pair->a, pair->b);
    if (!pair->shared)
        return false;
    pair->relation = OPF_RELATION_SIBLINGS;
    for (size_t s = 0; s < pair->fusion->siblings.count; s++) {
        const opf_sibling *known = &pair->fusion->siblings.data[s];
        if (known->shared == pair->shared && ((known->a == pair->a && known->b == pair->b) || (known->a == pair->b && known->b == pair->a)))
            pair->siblings = known;
    }
    pair->reason = pair->siblings ? pair->siblings->reason : NULL;
    if (!pair->reason)
        pair->reason = pair->shared->constant ? "all that they share is a constant, which each kernel reads for itself"
                                              : "the rules did not look at this pair: only the first users of a value are compared";
    return true;
}

opf_status opf_pair_find(opf_pair *pair, const opf_parts *parts, const char *a, const char *b, opf_arena *arena) {
    *pair = (opf_pair){.relation = OPF_RELATION_NONE};
    opf_status status = look_up(parts, NULL, a, &pair->a, &pair->removed_a);
    if (status == OPF_OK)
        status = look_up(parts, pair->a->graph, b, &pair->b, &pair->removed_b);
    if (status != OPF_OK)
        return status;
    for (size_t p = 0; p < parts->list.count; p++) {
        if (parts->list.data[p].fusion->graph != pair->a->graph)
            continue;
        pair->fusion = parts->list.data[p].fusion;
        take_groups(pair);
        pair->id_a = parts->list.data[p].first_id + pair->group_a->id;
        pair->id_b = parts->list.data[p].first_id + pair->group_b->id;
    }
    if (pair->a == pair->b)
        pair->relation = OPF_RELATION_SAME;
    else if (!take_way(pair, arena) && !take_siblings(pair))
        pair->reason = opf_pair_together(pair) ? "no value leads from one to the other: both were joined with others of the group"
                     : "no value leads from one to the other, and they read no value in common: there is nothing that one kernel would save";
    return OPF_OK;
}

/* ---- printing ---- */

static const char *const relations[] = {"same", "way", "siblings", "none"};

static void print_removed(const opf_removed *removed, const opf_node *node, opf_text *out) {
    if (removed)
        opf_text_printf(out, "'%s' was taken out before fusion: %s; '%s' stands for it\n", removed->node, removed->why, node->name);
}

static void print_edge(const opf_pair *pair, const opf_edge *edge, opf_text *out) {
    opf_text_printf(out, "  '%s' (%s) -> '%s' (%s)  '%s' ", edge->from->name, edge->from->op, edge->to->name, edge->to->op, edge->value->name);
    opf_value_print_type(edge->value, out);
    opf_text_add(out, " ");
    opf_print_bytes(edge->buffer_bytes, out);
    opf_text_printf(out, "\n    %s [%s] %s\n", opf_verdict_name(edge->verdict), edge->rule, edge->reason);
    if (edge->verdict != OPF_REFUSED)
        return;
    if (edge->blocker)
        opf_text_printf(out, "    blocked by '%s' (%s)\n", edge->blocker->name, edge->blocker->op);
    opf_text_add(out, "    lost: up to ");
    opf_print_bytes(opf_edge_bytes_lost(pair->fusion, edge), out);
    opf_text_printf(out, "\n    would be allowed by: %s\n", edge->remedy ? edge->remedy : "no change that is known");
}

void opf_pair_text(const opf_pair *pair, opf_text *out) {
    print_removed(pair->removed_a, pair->a, out);
    print_removed(pair->removed_b, pair->b, out);
    const char *step = opf_step_kind_name(pair->group_a->step);
    if (pair->relation == OPF_RELATION_SAME)
        opf_text_printf(out, "'%s' stands for both, in %s %d\n", pair->a->name, step, pair->id_a);
    else if (opf_pair_together(pair))
        opf_text_printf(out, "'%s' and '%s' are in one %s, number %d [%s]\n", pair->a->name, pair->b->name, step, pair->id_a, pair->group_a->rule);
    else
        opf_text_printf(out, "'%s' (%s %d) and '%s' (%s %d) are apart\n", pair->a->name, step, pair->id_a, pair->b->name,
                        opf_step_kind_name(pair->group_b->step), pair->id_b);
    for (size_t e = 0; e < pair->way.count; e++)
        print_edge(pair, pair->way.data[e], out);
    if (pair->shared) {
        opf_text_printf(out, "  both read '%s' ", pair->shared->name);
        opf_value_print_type(pair->shared, out);
        opf_text_add(out, " ");
        opf_print_bytes(opf_value_nominal_bytes(pair->shared), out);
        opf_text_add(out, "\n");
    }
    if (pair->reason)
        opf_text_printf(out, pair->siblings ? "    %s [%s] %s\n" : "  %s%s%s\n", pair->siblings ? opf_verdict_name(pair->siblings->verdict) : "",
                        pair->siblings ? pair->siblings->rule : "", pair->reason);
    if (!pair->siblings || pair->siblings->verdict != OPF_REFUSED)
        return;
    opf_text_add(out, "    lost: up to ");
    opf_print_bytes(pair->siblings->bytes_lost, out);
    opf_text_printf(out, "\n    would be allowed by: %s\n", pair->siblings->remedy);
}

json_t *opf_pair_object(const opf_pair *pair) {
    json_t *way = json_array();
    for (size_t e = 0; e < pair->way.count; e++)
        json_array_append_new(way, opf_edge_object(pair->fusion, pair->way.data[e]));
    const opf_sibling *siblings = pair->siblings;
    return json_pack("{s:o,s:o,s:o,s:b,s:i,s:i,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:I}", "a", opf_json_text(pair->a->name), "b", opf_json_text(pair->b->name), "graph",
        opf_json_text(pair->fusion->graph->path), "together", opf_pair_together(pair), "group_a", pair->id_a, "group_b", pair->id_b, "relation",
        relations[pair->relation], "way", way, "cut", pair->cut ? opf_edge_object(pair->fusion, pair->cut) : json_null(), "shared",
        opf_json_text(pair->shared ? pair->shared->name : NULL), "rule", opf_json_text(siblings ? siblings->rule : NULL),
        "reason", opf_json_text(pair->reason), "remedy", opf_json_text(siblings ? siblings->remedy : NULL), "bytes_lost",
        (json_int_t)(siblings ? siblings->bytes_lost : 0));
}
