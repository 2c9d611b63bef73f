/* SequenceMap → Loop: each iteration takes element i of every sequence, runs the graph on them, and puts its results behind
 * those so far. */
#include <string.h>

#include "ops/lists.h"

static opf_value *result_of(opf_node *node, opf_value *value) {
    if (!value) value = opf_value_new(node->graph, NULL);
    opf_node_set_output(node, 0, value);
    return value;
}

static opf_node *new_node(opf_graph *graph, const opf_node *from, const char *op, int n_inputs) {
    opf_node *node = opf_node_new(graph, NULL, op, "", from->opset, n_inputs, 1);
    node->index = from->index;
    opf_node_origins_add(node, from);
    return node;
}

/* Types are not known yet; but who makes a sequence is. */
static bool is_sequence(const opf_value *value) {
    static const char *const makers[] = {"SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase", "SplitToSequence", "SequenceMap"};
    const opf_node *node = value->producer;
    if (value->kind == OPF_VALUE_SEQUENCE) return true;
    for (size_t k = 0; node && k < OPF_COUNT(makers); k++)
        if (strcmp(node->op, makers[k]) == 0) return true;
    if (!node) return false;
    bool hands_on = strcmp(node->op, "Identity") == 0, carries = strcmp(node->op, "Loop") == 0;
    int from = hands_on ? 0 : carries ? 2 + value->producer_output : node->n_inputs;
    const opf_attr *branch = strcmp(node->op, "If") == 0 ? opf_node_attr(node, "then_branch") : NULL;
    if (branch && branch->kind == OPF_ATTR_GRAPH && (size_t)value->producer_output < branch->graphs[0]->outputs.count) return is_sequence(branch->graphs[0]->outputs.data[value->producer_output]);
    return from < node->n_inputs && node->inputs[from] && is_sequence(node->inputs[from]);
}

/* The body's inputs become results of nodes: elements of sequences, and what is not one as it is. */
static void take_elements(const opf_node *node, opf_graph *body, opf_value *iteration) {
    for (size_t k = 0; k < body->inputs.count; k++) {
        opf_value *inside = body->inputs.data[k], *outside = node->inputs[k];
        inside->input_index = -1;
        bool element = is_sequence(outside);
        opf_node *taken = new_node(body, node, element ? "SequenceAt" : "Identity", element ? 2 : 1);
        opf_node_set_input(taken, 0, outside);
        if (element) opf_node_set_input(taken, 1, iteration);
        result_of(taken, inside);
    }
    body->inputs.count = 0;
}

/* A value of the body, of a name that nothing in it has. */
static opf_value *new_input(opf_graph *body) {
    opf_value *value = opf_value_new(body, NULL);
    opf_graph_add_input(body, value);
    return value;
}

static void put_results(const opf_node *node, opf_graph *body, opf_value *condition) {
    size_t n = body->outputs.count;
    opf_value **results = OPF_ARRAY(body->module->arena, opf_value *, n + 1);
    for (size_t k = 0; k < n; k++) {
        results[k] = body->outputs.data[k];
        results[k]->is_output = false;
    }
    body->outputs.count = body->output_names.count = 0;
    opf_graph_add_output(body, condition, NULL);
    for (size_t k = 0; k < n; k++) {
        opf_node *insert = new_node(body, node, "SequenceInsert", 2);
        opf_node_set_input(insert, 0, new_input(body));
        opf_node_set_input(insert, 1, results[k]);
        opf_graph_add_output(body, result_of(insert, NULL), NULL);
    }
}

/* Results that are empty before the first iteration. */
static opf_value *empty_sequence(opf_graph *graph, const opf_node *node, const opf_value *element) {
    opf_node *empty = new_node(graph, node, "SequenceEmpty", 0);
    int64_t dtype = element->declared_dtype ? element->declared_dtype : OPF_FLOAT32;
    opf_node_attr_add(empty, "dtype", OPF_ATTR_INT, 1, &dtype);
    return result_of(empty, NULL);
}

/* False where typing will say what is wrong. */
static bool can_unfold(const opf_node *node) {
    const opf_attr *attr = opf_node_attr(node, "body");
    if (!attr || attr->kind != OPF_ATTR_GRAPH || node->n_inputs < 1) return false;
    for (int k = 0; k < node->n_inputs; k++)
        if (!node->inputs[k]) return false;
    return attr->graphs[0]->inputs.count == (size_t)node->n_inputs && attr->graphs[0]->outputs.count == (size_t)node->n_outputs;
}

static void unfold(opf_node *node) {
    opf_graph *graph = node->graph, *body = opf_node_attr(node, "body")->graphs[0];
    opf_arena *arena = graph->module->arena;
    int n = node->n_outputs;
    opf_node *length = new_node(graph, node, "SequenceLength", 1);
    opf_node_set_input(length, 0, node->inputs[0]);
    opf_value **inputs = OPF_ARRAY(arena, opf_value *, n + 2), **elements = OPF_ARRAY(arena, opf_value *, n + 1);
    for (int k = 0; k < n; k++) elements[k] = body->outputs.data[k];
    opf_value *iteration = opf_value_new(body, NULL), *condition = opf_value_new(body, NULL);
    take_elements(node, body, iteration);
    opf_graph_add_input(body, iteration);
    opf_graph_add_input(body, condition);
    put_results(node, body, condition);
    for (int k = 0; k < node->n_inputs; k++) opf_node_set_input(node, k, NULL);
    node->op = opf_intern(graph->module->names, "Loop");
    node->inputs = inputs;
    node->n_inputs = n + 2;
    opf_node_set_input(node, 0, result_of(length, NULL));
    for (int k = 0; k < n; k++) opf_node_set_input(node, k + 2, empty_sequence(graph, node, elements[k]));
    opf_graph_sort(graph);
}

void opf_sequence_maps_unfold(opf_graph *graph) {
    size_t count = graph->nodes.count;
    opf_node **nodes = OPF_ARRAY(graph->module->arena, opf_node *, count + 1); /* the list changes on the way */
    for (size_t i = 0; i < count; i++) nodes[i] = graph->nodes.data[i];
    for (size_t i = 0; i < count; i++) {
        opf_node *node = nodes[i];
        if (strcmp(node->op, "SequenceMap") == 0 && !node->domain[0] && can_unfold(node)) unfold(node);
        for (int k = 0; k < node->n_attrs; k++)
            for (size_t g = 0; (node->attrs[k].kind == OPF_ATTR_GRAPH || node->attrs[k].kind == OPF_ATTR_GRAPHS) && g < node->attrs[k].count; g++) opf_sequence_maps_unfold(node->attrs[k].graphs[g]);
    }
}
