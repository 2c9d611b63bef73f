/* If nodes of which one branch always runs: its nodes take the place of the If. */
#include "pass/edit.h"

#include "ops/control.h"

static opf_value *unused_name(opf_graph *graph, opf_value *value)
{
    opf_module *module = graph->module;
    for (int k = 1; opf_map_get(&graph->by_name, value->name); k++)
        value->name = opf_intern(module->names, opf_arena_printf(module->arena, "%s_%d", value->name, k));
    return value;
}

/* The list of a graph's values ascends by id. */
static void insert_value(opf_graph *graph, opf_value *value)
{
    OPF_PUSH(graph->module->arena, &graph->values, value);
    for (size_t at = graph->values.count - 1; at > 0 && graph->values.data[at - 1]->id > value->id; at--) {
        graph->values.data[at] = graph->values.data[at - 1];
        graph->values.data[at - 1] = value;
    }
}

static void move_values(opf_graph *from, opf_graph *to)
{
    for (size_t i = 0; i < from->values.count; i++) {
        opf_value *value = unused_name(to, from->values.data[i]);
        value->graph = to;
        value->is_output = false;
        value->input_index = -1;
        opf_map_set(&to->by_name, value->name, value);
        insert_value(to, value);
    }
    from->values.count = 0;
}

/* The nodes of `from` in front of node `at` of `to`. */
static void move_nodes(opf_graph *from, opf_graph *to, size_t at)
{
    size_t more = from->nodes.count, count = to->nodes.count;
    for (size_t i = 0; i < more; i++) {
        opf_node *node = from->nodes.data[i];
        node->name = opf_node_name_free(to, node->name, node->op, node->index);
        node->graph = to;
        opf_map_set(&to->nodes_by_name, node->name, node);
        OPF_PUSH(to->module->arena, &to->nodes, node);
    }
    opf_node **list = OPF_ARRAY(to->module->arena, opf_node *, count + more + 1);
    for (size_t i = 0; i < count + more; i++)
        list[i] = i < at ? to->nodes.data[i] : i < at + more ? to->nodes.data[count + i - at] : to->nodes.data[i - more];
    for (size_t i = 0; i < count + more; i++)
        to->nodes.data[i] = list[i];
    from->nodes.count = 0;
}

static void replace_by_branch(opf_node *node, size_t at)
{
    opf_graph *graph = node->graph, *branch = node->control->graphs[node->control->taken];
    move_values(branch, graph);
    move_nodes(branch, graph, at);
    for (int k = 0; k < node->n_outputs; k++)
        if (node->outputs[k])
            opf_value_replace(node->outputs[k], branch->outputs.data[k]);
    opf_graph_renumber(graph);
    opf_pass_remove(node, "its condition is known: one branch always runs", NULL);
    opf_graph_renumber(graph);
}

opf_status opf_pass_branches(opf_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count;) {
        opf_node *node = graph->nodes.data[i];
        if (node->control && node->control->kind == OPF_CONTROL_IF && node->control->taken >= 0)
            replace_by_branch(node, i);
        else
            i++;
    }
    return OPF_OK;
}
