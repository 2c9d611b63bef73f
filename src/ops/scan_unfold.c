/* Scan of opset 8 runs over a batch: each member's sequence by itself. Written as a Scan of opset 9 over the batch, whose body
 * holds a Scan of opset 9 over the sequence. */
#include <string.h>

#include "ops/control.h"

static opf_value *input_of(opf_graph *graph) {
    opf_value *value = opf_value_new(graph, NULL);
    opf_graph_add_input(graph, value);
    return value;
}

/* The body of the Scan over the batch: one member. */
static opf_graph *member_graph(opf_node *node, int64_t n_scanned) {
    opf_module *module = node->graph->module;
    opf_graph *member = opf_graph_new(module, "member", node), *body = opf_node_attr(node, "body")->graphs[0];
    opf_node *scan = opf_node_new(member, node->name, "Scan", "", 9, node->n_inputs - 1, node->n_outputs);
    const int64_t *directions;
    int count = opf_node_ints(node, "directions", &directions);
    scan->index = node->index;
    opf_node_origins_add(scan, node);
    member->path = body->path;
    body->parent = scan;
    opf_node_attr_add(scan, "body", OPF_ATTR_GRAPH, 1, &body);
    opf_node_attr_add(scan, "num_scan_inputs", OPF_ATTR_INT, 1, &n_scanned);
    if (count > 0) opf_node_attr_add(scan, "scan_input_directions", OPF_ATTR_INTS, (size_t)count, directions);
    for (int k = 0; k < scan->n_inputs; k++) opf_node_set_input(scan, k, input_of(member));
    for (int k = 0; k < scan->n_outputs; k++) {
        opf_node_set_output(scan, k, opf_value_new(member, NULL));
        opf_graph_add_output(member, scan->outputs[k], NULL);
    }
    return member;
}

/* A file that is written must import the version in which its Scan has this meaning. */
static void raise_version(opf_module *module) {
    for (size_t i = 0; i < module->opsets.count; i++)
        if (!*module->opsets.data[i].domain && module->opsets.data[i].version < 9) module->opsets.data[i].version = 9;
}

static void unfold(opf_node *node) {
    opf_arena *arena = node->graph->module->arena;
    opf_graph *member = member_graph(node, opf_node_int(node, "num_scan_inputs", 0));
    int n = node->n_inputs - 1;
    opf_value **inputs = OPF_ARRAY(arena, opf_value *, n + 1), **new_inputs = OPF_ARRAY(arena, opf_value *, n + 1);
    for (int k = 0; k < n; k++) inputs[k] = node->inputs[k + 1];
    for (int k = 0; k <= n; k++) opf_node_set_input(node, k, NULL);
    node->inputs = new_inputs;
    node->n_inputs = n;
    node->opset = 9;
    raise_version(node->graph->module);
    for (int k = 0; k < n; k++) opf_node_set_input(node, k, inputs[k]);
    int64_t all = n;
    opf_node_attr_add(node, "body", OPF_ATTR_GRAPH, 1, &member);
    opf_node_attr_add(node, "num_scan_inputs", OPF_ATTR_INT, 1, &all);
}

/* With lengths of their own, or badly formed: typing says that there is no such Scan. */
static bool unfolds(const opf_node *node) {
    bool old = strcmp(node->op, "Scan") == 0 && !node->domain[0] && node->opset == 8;
    if (!old || node->n_inputs < 2 || node->inputs[0]) return false;
    for (int k = 1; k < node->n_inputs; k++)
        if (!node->inputs[k]) return false;
    const opf_attr *body = opf_node_attr(node, "body");
    int64_t scanned = opf_node_int(node, "num_scan_inputs", 0);
    return body && body->kind == OPF_ATTR_GRAPH && scanned >= 1 && scanned < node->n_inputs && body->graphs[0]->outputs.count == (size_t)node->n_outputs;
}

void opf_scans_unfold(opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        opf_node *node = graph->nodes.data[i];
        if (unfolds(node)) unfold(node);
        for (int k = 0; k < node->n_attrs; k++)
            for (size_t g = 0; (node->attrs[k].kind == OPF_ATTR_GRAPH || node->attrs[k].kind == OPF_ATTR_GRAPHS) && g < node->attrs[k].count; g++) opf_scans_unfold(node->attrs[k].graphs[g]);
    }
}
