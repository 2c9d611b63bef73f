/* The checker between passes: what graph.h promises, held against every node and value. */
#include "ir/graph.h"

typedef struct checker {
    const char *after;
    opf_module *module;
    opf_arena *arena;  /* scratch */
    opf_map slots;     /* address of an input slot that a use names → the value */
    opf_map placed;    /* nodes before the one being looked at, and those that hold it */
    opf_status status;
} checker;

static void __attribute__((format(printf, 3, 4))) violation(checker *c, opf_place place, const char *format, ...) {
    opf_text message = {0};
    va_list arguments;
    va_start(arguments, format);
    opf_text_vprintf(&message, format, arguments);
    va_end(arguments);
    if (!place.file) place.file = c->module->path;
    opf_diag *diag = opf_diag_add(c->module->diags, OPF_ERROR, "internal", place, "after %s: %s", c->after, opf_text_string(&message));
    opf_diag_hint(c->module->diags, diag, "this is a defect of opfuse; please report it with the model");
    opf_text_free(&message);
    c->status = OPF_ERROR_INTERNAL;
}

static void check_origin(checker *c, const opf_graph *graph, const opf_value *value) {
    bool is_input = value->input_index >= 0;
    if (is_input && ((size_t)value->input_index >= graph->inputs.count || graph->inputs.data[value->input_index] != value))
        violation(c, OPF_NO_PLACE, "value '%s' is not the input that it says it is", value->name);
    int origins = (value->producer != NULL) + (value->constant != NULL) + is_input;
    if (origins > 1) violation(c, OPF_NO_PLACE, "value '%s' has %d origins", value->name, origins);
    if (origins == 0 && (value->uses.count || value->is_output)) violation(c, OPF_NO_PLACE, "value '%s' is used but nothing makes it", value->name);
    const opf_node *producer = value->producer;
    if (producer && (producer->graph != graph || value->producer_output >= producer->n_outputs || producer->outputs[value->producer_output] != value))
        violation(c, OPF_NO_PLACE, "value '%s' is not the result that it says it is", value->name);
}

static void check_value(checker *c, const opf_graph *graph, const opf_value *value) {
    if (value->graph != graph) violation(c, OPF_NO_PLACE, "value '%s' stands in another graph than it says", value->name);
    if (opf_map_get(&graph->by_name, value->name) != value) violation(c, OPF_NO_PLACE, "value name '%s' is taken twice", value->name);
    check_origin(c, graph, value);
    bool is_output = false;
    for (size_t i = 0; i < graph->outputs.count && !is_output && value->is_output; i++) is_output = graph->outputs.data[i] == value;
    if (value->is_output != is_output) violation(c, OPF_NO_PLACE, "value '%s' says that it is an output", value->name);
    for (size_t i = 0; i < value->uses.count; i++) {
        opf_use use = value->uses.data[i];
        if (use.input >= use.node->n_inputs || use.node->inputs[use.input] != value)
            violation(c, OPF_NO_PLACE, "value '%s' has a use by '%s' that does not read it", value->name, use.node->name);
        else if (opf_map_has(&c->slots, &use.node->inputs[use.input]))
            violation(c, OPF_NO_PLACE, "value '%s' counts a use by '%s' twice", value->name, use.node->name);
        else
            opf_map_set(&c->slots, &use.node->inputs[use.input], (void *)value);
    }
}

static void check_graph(checker *c, const opf_graph *graph);

static void check_node(checker *c, const opf_graph *graph, opf_node *node) {
    opf_place place = node->graph ? opf_node_place(node) : OPF_NO_PLACE;
    if (node->graph != graph) violation(c, place, "node '%s' stands in another graph than it says", node->name);
    if (opf_map_get(&graph->nodes_by_name, node->name) != node) violation(c, place, "node name '%s' is taken twice", node->name);
    for (int i = 0; i < node->n_inputs; i++) {
        const opf_value *value = node->inputs[i];
        if (!value) continue;
        if (opf_map_get(&c->slots, &node->inputs[i]) != value) violation(c, place, "input %d ('%s') is no use of its value", i, value->name);
        if (value->producer && !opf_map_has(&c->placed, value->producer)) violation(c, place, "input %d ('%s') is made by a later node", i, value->name);
    }
    for (int i = 0; i < node->n_outputs; i++) {
        const opf_value *value = node->outputs[i];
        if (value && (value->producer != node || value->producer_output != i)) violation(c, place, "output %d ('%s') names another producer", i, value->name);
    }
    for (int a = 0; a < node->n_attrs; a++) {
        const opf_attr *attr = &node->attrs[a];
        if (attr->kind != OPF_ATTR_GRAPH && attr->kind != OPF_ATTR_GRAPHS) continue;
        for (size_t k = 0; k < attr->count; k++) {
            if (attr->graphs[k]->parent != node) violation(c, place, "sub-graph '%s' names another parent", attr->name);
            check_graph(c, attr->graphs[k]);
        }
    }
    opf_map_set(&c->placed, node, node);
}

static void check_graph(checker *c, const opf_graph *graph) {
    for (size_t i = 0; i < graph->values.count; i++) check_value(c, graph, graph->values.data[i]);
    for (size_t i = 0; i < graph->outputs.count; i++)
        if (!graph->outputs.data[i]->is_output) violation(c, OPF_NO_PLACE, "output '%s' does not know that it is one", graph->outputs.data[i]->name);
    for (size_t i = 0; i < graph->nodes.count; i++) check_node(c, graph, graph->nodes.data[i]);
}

opf_status opf_graph_check(const opf_graph *graph, const char *after) {
    opf_arena *arena = opf_arena_new();
    checker c = {after, graph->module, arena, opf_map_new(arena), opf_map_new(arena), OPF_OK};
    check_graph(&c, graph);
    opf_arena_free(arena);
    return c.status;
}
