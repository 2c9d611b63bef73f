/* `explain --json`: the log as JSON, schema 1 (docs/cli.md). */
#include <string.h>

#include "fuse/explain_json.h"

json_t *opf_json_text(const char *string) {
    if (!string)
        return json_null();
    json_t *json = json_string(string);
    if (json)
        return json;
    opf_text clean = {0};
    for (const char *c = string; *c; c++)
        opf_text_add_n(&clean, (unsigned char)*c < 0x80 ? c : "?", 1);
    json = json_string(opf_text_string(&clean));
    opf_text_free(&clean);
    return json;
}

static json_t *name_of(const opf_node *node) { return opf_json_text(node ? node->name : NULL); }

/* The model's own nodes that several of the graph stand for, pieces of one. */
static opf_map shared_origins(const opf_graph *graph) {
    opf_map seen = opf_map_new(graph->module->arena), shared = opf_map_new(graph->module->arena);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        for (int k = 0; k < node->n_origins; k++) {
            const char *name = opf_intern(graph->module->names, node->origins[k]);
            opf_map_set(opf_map_has(&seen, name) ? &shared : &seen, name, (void *)(uintptr_t)node);
        }
    }
    return shared;
}

/* The model's own nodes that these stand for; a piece of one by its own name, for a file of groups is to tell it from the others. */
static json_t *node_names(opf_node *const *nodes, size_t count, const opf_map *shared) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const opf_node *node = nodes[i];
        bool piece = node->n_origins == 0;
        for (int k = 0; k < node->n_origins; k++)
            if (opf_map_has(shared, opf_intern(node->graph->module->names, node->origins[k]))) piece = true;
            else json_array_append_new(list, opf_json_text(node->origins[k]));
        if (piece)
            json_array_append_new(list, name_of(node));
    }
    return list;
}

static json_t *operators(const opf_group *group) {
    json_t *list = json_array();
    for (size_t i = 0; i < group->nodes.count; i++)
        json_array_append_new(list, opf_json_text(group->nodes.data[i]->op));
    return list;
}

static json_t *input_names(const opf_group *group) {
    json_t *list = json_array();
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        json_array_append_new(list, opf_json_text(group->stages.inputs.data[i]->name));
    return list;
}

static json_t *output_names(const opf_group *group) {
    json_t *list = json_array();
    for (size_t r = 0; r < group->results.count; r++)
        json_array_append_new(list, opf_json_text(group->results.data[r].value->name));
    const opf_node *node = group->nodes.data[0];
    for (int k = 0; group->step == OPF_STEP_FOLDED && k < node->n_outputs; k++)
        if (node->outputs[k])
            json_array_append_new(list, opf_json_text(node->outputs[k]->name));
    return list;
}

static void add_groups(json_t *list, const opf_part *part) {
    const opf_map shared = shared_origins(part->fusion->graph);
    for (size_t g = 0; g < part->fusion->groups.count; g++) {
        const opf_group *group = part->fusion->groups.data[g];
        json_array_append_new(list, json_pack("{s:i,s:s,s:o,s:o,s:o,s:o,s:o,s:s,s:s,s:I,s:I,s:f,s:o}",
            "id", part->first_id + group->id, "kind", opf_kind_name(group->kind), "nodes", node_names(group->nodes.data, group->nodes.count, &shared),
            "copied", node_names(group->copied.data, group->copied.count, &shared), "ops", operators(group),
            "inputs", input_names(group), "outputs", output_names(group), "step", opf_step_kind_name(group->step), "rule", group->rule,
            "bytes_before", (json_int_t)group->bytes_before, "bytes_after", (json_int_t)group->bytes_after,
            "flops", group->flops, "graph", opf_json_text(part->fusion->graph->path)));
    }
}

json_t *opf_edge_object(const opf_fusion *fusion, const opf_edge *edge) {
    return json_pack("{s:o,s:o,s:o,s:s,s:s,s:o,s:o,s:o,s:I,s:I,s:o}",
        "from", name_of(edge->from), "to", name_of(edge->to), "value", opf_json_text(edge->value->name),
        "verdict", opf_verdict_name(edge->verdict), "rule", edge->rule, "reason", opf_json_text(edge->reason),
        "blocker", name_of(edge->blocker), "remedy", opf_json_text(edge->remedy),
        "buffer_bytes", (json_int_t)edge->buffer_bytes, "bytes_lost", (json_int_t)opf_edge_bytes_lost(fusion, edge),
        "graph", opf_json_text(fusion->graph->path));
}

static void add_edges(json_t *list, const opf_part *part) {
    for (size_t e = 0; e < part->fusion->edges.count; e++)
        json_array_append_new(list, opf_edge_object(part->fusion, &part->fusion->edges.data[e]));
}

static void add_siblings(json_t *list, const opf_part *part) {
    for (size_t s = 0; s < part->fusion->siblings.count; s++) {
        const opf_sibling *pair = &part->fusion->siblings.data[s];
        json_array_append_new(list, json_pack("{s:o,s:o,s:o,s:s,s:s,s:o,s:o,s:I,s:o}", "a", name_of(pair->a), "b", name_of(pair->b),
            "shared", opf_json_text(pair->shared->name), "verdict", opf_verdict_name(pair->verdict), "rule", pair->rule,
            "reason", opf_json_text(pair->reason), "remedy", opf_json_text(pair->remedy), "bytes_lost", (json_int_t)pair->bytes_lost,
            "graph", opf_json_text(part->fusion->graph->path)));
    }
}

static void add_quantised(json_t *list, const opf_part *part) {
    for (size_t q = 0; q < part->fusion->quantised.count; q++) {
        const opf_quantised *one = &part->fusion->quantised.data[q];
        json_array_append_new(list, json_pack("{s:o,s:s,s:o,s:s,s:o,s:o}", "node", name_of(one->node), "op", one->node->op, "to", name_of(one->quantize),
            "rule", one->rule, "reason", opf_json_text(one->reason), "graph", opf_json_text(part->fusion->graph->path)));
    }
}

static void add_plans(json_t *list, const opf_part *part) {
    const opf_plans *plans = &part->fusion->plans;
    if (!plans->ran && !plans->why)
        return;
    json_array_append_new(list, json_pack("{s:f,s:o,s:i,s:i,s:s,s:o,s:o}", "greedy_ms", plans->greedy_seconds * 1e3,
        "programme_ms", plans->ran ? json_real(plans->seconds * 1e3) : json_null(), "down_sets", plans->down_sets, "possible_groups", plans->groups,
        "taken", plans->taken ? "programme" : "greedy", "why", opf_json_text(plans->why), "graph", opf_json_text(part->fusion->graph->path)));
}

static json_t *of_all(const opf_parts *parts, void (*add)(json_t *list, const opf_part *part)) {
    json_t *list = json_array();
    for (size_t p = 0; p < parts->list.count; p++)
        add(list, &parts->list.data[p]);
    return list;
}

static json_t *removed(const opf_fusion *fusion) {
    json_t *list = json_array();
    for (size_t r = 0; r < fusion->module->removed.count; r++) {
        const opf_removed *node = &fusion->module->removed.data[r];
        json_array_append_new(list, json_pack("{s:o,s:o,s:o}", "node", opf_json_text(node->node), "why", opf_json_text(node->why),
            "into", opf_json_text(node->into)));
    }
    return list;
}

json_t *opf_explain_object(const opf_fusion *fusion) {
    opf_parts parts = opf_fusion_parts(fusion, fusion->module->arena);
    opf_totals totals = opf_fusion_totals(&parts);
    json_t *report = json_pack("{s:i,s:o,s:s,s:s,s:i,s:i,s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o}",
        "schema", 1, "model", opf_json_text(fusion->module->path), "policy", opf_policy_name(fusion->policy), "passes", opf_policy_name(fusion->passes),
        "nodes", totals.nodes, "kernels", totals.kernels, "bytes_before", (json_int_t)totals.bytes_before,
        "bytes_after", (json_int_t)totals.bytes_after, "bytes_least", (json_int_t)totals.bytes_least,
        "plans", of_all(&parts, add_plans), "groups", of_all(&parts, add_groups), "edges", of_all(&parts, add_edges),
        "siblings", of_all(&parts, add_siblings), "quantised", of_all(&parts, add_quantised), "removed", removed(fusion));
    if (!report)
        opf_out_of_memory();
    return report;
}

void opf_json_print(json_t *value, size_t flags, opf_text *out) {
    char *printed = json_dumps(value, flags | JSON_PRESERVE_ORDER);
    json_decref(value);
    if (!printed)
        opf_out_of_memory();
    opf_text_add(out, printed);
    opf_text_add(out, "\n");
    free(printed);
}

opf_status opf_explain_json(const opf_fusion *fusion, opf_text *out) {
    opf_json_print(opf_explain_object(fusion), JSON_INDENT(1), out);
    return OPF_OK;
}
