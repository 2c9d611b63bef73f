/* `explain --json`: the log as JSON, schema 1 (docs/cli.md). */
#include <jansson.h>
#include <string.h>

#include "fuse/fuse.h"

/* Names come from files and need not be UTF-8; JSON must be. */
static json_t *text(const char *string)
{
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

/* The model's own nodes that the group stands for. */
static json_t *node_names(const opf_group *group)
{
    json_t *list = json_array();
    for (size_t i = 0; i < group->nodes.count; i++) {
        const opf_node *node = group->nodes.data[i];
        for (int k = 0; k < node->n_origins; k++)
            json_array_append_new(list, text(node->origins[k]));
        if (node->n_origins == 0)
            json_array_append_new(list, text(node->name));
    }
    return list;
}

static json_t *input_names(const opf_group *group)
{
    json_t *list = json_array();
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        json_array_append_new(list, text(group->stages.inputs.data[i]->name));
    return list;
}

static json_t *output_names(const opf_group *group)
{
    json_t *list = json_array();
    for (size_t r = 0; r < group->results.count; r++)
        json_array_append_new(list, text(group->results.data[r].value->name));
    const opf_node *node = group->nodes.data[0];
    for (int k = 0; group->step == OPF_STEP_FOLDED && k < node->n_outputs; k++)
        if (node->outputs[k])
            json_array_append_new(list, text(node->outputs[k]->name));
    return list;
}

static json_t *groups(const opf_fusion *fusion)
{
    json_t *list = json_array();
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        json_array_append_new(list, json_pack("{s:i,s:s,s:o,s:o,s:o,s:s,s:s,s:I,s:I,s:f,s:o}",
            "id", group->id, "kind", opf_kind_name(group->kind), "nodes", node_names(group), "inputs", input_names(group),
            "outputs", output_names(group), "step", opf_step_kind_name(group->step), "rule", group->rule,
            "bytes_before", (json_int_t)group->bytes_before, "bytes_after", (json_int_t)group->bytes_after,
            "flops", group->flops, "graph", text(fusion->graph->path)));
    }
    return list;
}

static json_t *edges(const opf_fusion *fusion)
{
    json_t *list = json_array();
    for (size_t e = 0; e < fusion->edges.count; e++) {
        const opf_edge *edge = &fusion->edges.data[e];
        json_array_append_new(list, json_pack("{s:o,s:o,s:o,s:s,s:s,s:o,s:o,s:I}",
            "from", text(edge->from->name), "to", text(edge->to->name), "value", text(edge->value->name),
            "verdict", opf_verdict_name(edge->verdict), "rule", edge->rule, "reason", text(edge->reason),
            "blocker", text(edge->blocker ? edge->blocker->name : NULL), "buffer_bytes", (json_int_t)edge->buffer_bytes));
    }
    return list;
}

static json_t *siblings(const opf_fusion *fusion)
{
    json_t *list = json_array();
    for (size_t s = 0; s < fusion->siblings.count; s++) {
        const opf_sibling *pair = &fusion->siblings.data[s];
        json_array_append_new(list, json_pack("{s:o,s:o,s:o,s:s,s:o}", "a", text(pair->a->name), "b", text(pair->b->name),
            "shared", text(pair->shared->name), "verdict", opf_verdict_name(pair->verdict), "reason", text(pair->reason)));
    }
    return list;
}

static json_t *removed(const opf_fusion *fusion)
{
    json_t *list = json_array();
    for (size_t r = 0; r < fusion->module->removed.count; r++) {
        const opf_removed *node = &fusion->module->removed.data[r];
        json_array_append_new(list, json_pack("{s:o,s:o,s:o}", "node", text(node->node), "why", text(node->why), "into", text(node->into)));
    }
    return list;
}

opf_status opf_explain_json(const opf_fusion *fusion, opf_text *out)
{
    int kernels = 0;
    for (size_t g = 0; g < fusion->groups.count; g++)
        kernels += fusion->groups.data[g]->step == OPF_STEP_KERNEL;
    json_t *report = json_pack("{s:i,s:o,s:s,s:i,s:i,s:o,s:o,s:o,s:o}",
        "schema", 1, "model", text(fusion->module->path), "policy", opf_policy_name(fusion->policy),
        "nodes", (int)fusion->graph->nodes.count, "kernels", kernels, "groups", groups(fusion), "edges", edges(fusion),
        "siblings", siblings(fusion), "removed", removed(fusion));
    char *printed = report ? json_dumps(report, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
    json_decref(report);
    if (!printed)
        opf_out_of_memory();
    opf_text_add(out, printed);
    opf_text_add(out, "\n");
    free(printed);
    return OPF_OK;
}
