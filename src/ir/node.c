/* Nodes: creation, links to values, removal, names and origins. */
#include <assert.h>
#include <string.h>

#include "ir/graph.h"

const char *opf_node_name_free(const opf_graph *graph, const char *name, const char *op, int index) {
    opf_module *module = graph->module;
    const char *text = name && *name ? name : opf_arena_printf(module->arena, "%s_%d", op, index);
    for (;;) {
        const char *interned = opf_intern(module->names, text);
        if (!opf_map_has(&graph->nodes_by_name, interned)) return interned;
        text = opf_arena_printf(module->arena, "%s#%d", text, index);
    }
}

opf_node *opf_node_new(opf_graph *graph, const char *name, const char *op, const char *domain, int opset, int n_inputs, int n_outputs) {
    opf_module *module = graph->module;
    opf_node *node = OPF_NEW(module->arena, opf_node);
    node->op = opf_intern(module->names, op);
    node->domain = opf_intern(module->names, domain ? domain : "");
    node->name = opf_node_name_free(graph, name, op, (int)graph->nodes.count);
    node->opset = opset;
    node->index = -1;
    node->id = (int)graph->nodes.count;
    node->graph = graph;
    node->n_inputs = n_inputs;
    node->n_outputs = n_outputs;
    node->inputs = OPF_ARRAY(module->arena, opf_value *, n_inputs);
    node->outputs = OPF_ARRAY(module->arena, opf_value *, n_outputs);
    opf_map_set(&graph->nodes_by_name, node->name, node);
    OPF_PUSH(module->arena, &graph->nodes, node);
    return node;
}

static void remove_use(opf_value *value, const opf_node *node, int input) {
    for (size_t i = 0; i < value->uses.count; i++) {
        opf_use *use = &value->uses.data[i];
        if (use->node != node || use->input != input) continue;
        memmove(use, use + 1, (value->uses.count - i - 1) * sizeof *use);
        value->uses.count--;
        return;
    }
}

void opf_node_set_input(opf_node *node, int input, opf_value *value) {
    if (node->inputs[input]) remove_use(node->inputs[input], node, input);
    node->inputs[input] = value;
    opf_use use = {node, input};
    if (value) OPF_PUSH(node->graph->module->arena, &value->uses, use);
}

void opf_node_set_output(opf_node *node, int output, opf_value *value) {
    opf_value *before = node->outputs[output];
    if (before && before->producer == node) before->producer = NULL;
    node->outputs[output] = value;
    if (!value) return;
    value->producer = node;
    value->producer_output = output;
}

/* Position of a value in its graph's list, which ascends by id. */
static size_t position_of(const opf_graph *graph, const opf_value *value) {
    size_t low = 0, high = graph->values.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (graph->values.data[middle]->id < value->id) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void remove_value(opf_value *value) {
    opf_graph *graph = value->graph;
    size_t at = position_of(graph, value);
    assert(at < graph->values.count && graph->values.data[at] == value);
    memmove(&graph->values.data[at], &graph->values.data[at + 1], (graph->values.count - at - 1) * sizeof(opf_value *));
    graph->values.count--;
    opf_map_set(&graph->by_name, value->name, NULL);
}

/* Takes the node's uses off the values it reads, those captured by its sub-graphs included. */
static void unlink_inputs(opf_node *node) {
    for (int i = 0; i < node->n_inputs; i++) opf_node_set_input(node, i, NULL);
    for (int i = 0; i < node->n_attrs; i++) {
        const opf_attr *attr = &node->attrs[i];
        if (attr->kind != OPF_ATTR_GRAPH && attr->kind != OPF_ATTR_GRAPHS) continue;
        for (size_t k = 0; k < attr->count; k++)
            for (size_t n = 0; n < attr->graphs[k]->nodes.count; n++) unlink_inputs(attr->graphs[k]->nodes.data[n]);
    }
}

void opf_node_remove(opf_node *node) {
    opf_graph *graph = node->graph;
    unlink_inputs(node);
    for (int i = 0; i < node->n_outputs; i++) {
        opf_value *output = node->outputs[i];
        if (!output) continue;
        assert(output->uses.count == 0 && !output->is_output);
        output->producer = NULL;
        remove_value(output);
    }
    size_t at = (size_t)node->id;
    if (at >= graph->nodes.count || graph->nodes.data[at] != node)
        for (at = 0; at < graph->nodes.count && graph->nodes.data[at] != node;) at++;
    assert(at < graph->nodes.count);
    memmove(&graph->nodes.data[at], &graph->nodes.data[at + 1], (graph->nodes.count - at - 1) * sizeof(opf_node *));
    graph->nodes.count--;
    node->graph = NULL;
}

void opf_node_origins_add(opf_node *node, const opf_node *from) {
    int more = from->n_origins ? from->n_origins : 1;
    const char *const *names = from->n_origins ? from->origins : &from->name;
    const char **all = OPF_ARRAY(node->graph->module->arena, const char *, node->n_origins + more);
    int count = node->n_origins;
    if (count) memcpy(all, node->origins, (size_t)count * sizeof *all);
    for (int i = 0; i < more; i++) {
        bool known = false;
        for (int k = 0; k < count && !known; k++) known = all[k] == names[i];
        if (!known) all[count++] = names[i];
    }
    node->origins = all;
    node->n_origins = count;
}

opf_node *opf_node_within(opf_node *node, const opf_graph *graph) {
    while (node && node->graph != graph) node = node->graph ? node->graph->parent : NULL;
    return node;
}

void opf_graph_renumber(opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; i++) graph->nodes.data[i]->id = (int)i;
}

static bool is_dead(const opf_node *node) {
    for (int i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] && (node->outputs[i]->uses.count || node->outputs[i]->is_output)) return false;
    return true;
}

static void remove_dead_inside(opf_node *node) {
    for (int i = 0; i < node->n_attrs; i++) {
        const opf_attr *attr = &node->attrs[i];
        if (attr->kind != OPF_ATTR_GRAPH && attr->kind != OPF_ATTR_GRAPHS) continue;
        for (size_t k = 0; k < attr->count; k++) opf_graph_remove_dead(attr->graphs[k]);
    }
}

void opf_graph_remove_dead(opf_graph *graph) {
    opf_graph_renumber(graph);
    /* Backwards: when a node's turn comes, its users have gone if they are going to. */
    for (size_t i = graph->nodes.count; i-- > 0;) {
        opf_node *node = graph->nodes.data[i];
        if (!is_dead(node)) {
            remove_dead_inside(node);
            continue;
        }
        opf_removed removed = {node->name, "nothing uses its results", NULL};
        OPF_PUSH(graph->module->arena, &graph->module->removed, removed);
        opf_node_remove(node);
    }
    opf_graph_renumber(graph);
}

bool opf_node_has_wide_sums(const opf_node *node) {
    const opf_wide_sums *wide = node->graph->module->wide_sums;
    if (!wide || wide->all) return wide != NULL;
    for (size_t i = 0; i < wide->nodes.count; i++) {
        if (strcmp(wide->nodes.data[i], node->name) == 0) return true;
        for (int k = 0; k < node->n_origins; k++)
            if (strcmp(wide->nodes.data[i], node->origins[k]) == 0) return true;
    }
    return false;
}
