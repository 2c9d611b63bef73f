/* A sub-graph's nodes in the place of the node that holds it. */
#include "ir/graph.h"

static opf_value *unused_name(opf_graph *graph, opf_value *value) {
    opf_module *module = graph->module;
    for (int k = 1; opf_map_get(&graph->by_name, value->name); k++) value->name = opf_intern(module->names, opf_arena_printf(module->arena, "%s_%d", value->name, k));
    return value;
}

/* The list of a graph's values ascends by id. */
static void insert_value(opf_graph *graph, opf_value *value) {
    OPF_PUSH(graph->module->arena, &graph->values, value);
    for (size_t at = graph->values.count - 1; at > 0 && graph->values.data[at - 1]->id > value->id; at--) {
        graph->values.data[at] = graph->values.data[at - 1];
        graph->values.data[at - 1] = value;
    }
}

static void move_values(opf_graph *from, opf_graph *to) {
    for (size_t i = 0; i < from->values.count; i++) {
        opf_value *value = from->values.data[i];
        if (!value->producer && !value->constant) continue; /* an input, or its stand-in: nobody reads it any more */
        unused_name(to, value);
        value->graph = to;
        value->is_output = false;
        value->input_index = -1;
        opf_map_set(&to->by_name, value->name, value);
        insert_value(to, value);
    }
    from->values.count = 0;
}

static void move_nodes(opf_graph *from, opf_graph *to, size_t at) {
    size_t more = from->nodes.count, count = to->nodes.count;
    for (size_t i = 0; i < more; i++) {
        opf_node *node = from->nodes.data[i];
        node->name = opf_node_name_free(to, node->name, node->op, node->index);
        node->graph = to;
        opf_map_set(&to->nodes_by_name, node->name, node);
        OPF_PUSH(to->module->arena, &to->nodes, node);
    }
    opf_node **list = OPF_ARRAY(to->module->arena, opf_node *, count + more + 1);
    for (size_t i = 0; i < count + more; i++) list[i] = i < at ? to->nodes.data[i] : i < at + more ? to->nodes.data[count + i - at] : to->nodes.data[i - more];
    for (size_t i = 0; i < count + more; i++) to->nodes.data[i] = list[i];
    from->nodes.count = 0;
}

void opf_graph_splice(opf_graph *from, opf_graph *to, size_t at) {
    move_values(from, to);
    move_nodes(from, to, at);
}
