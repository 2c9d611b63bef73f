/* If nodes of which one branch always runs: its nodes take the place of the If. */
#include "pass/edit.h"

#include "ops/control.h"

static void replace_by_branch(opf_node *node, size_t at) {
    opf_graph *graph = node->graph, *branch = node->control->graphs[node->control->taken];
    opf_graph_splice(branch, graph, at);
    for (int k = 0; k < node->n_outputs; k++)
        if (node->outputs[k])
            opf_value_replace(node->outputs[k], branch->outputs.data[k]);
    opf_graph_renumber(graph);
    opf_pass_remove(node, "its condition is known: one branch always runs", NULL);
    opf_graph_renumber(graph);
}

opf_status opf_pass_branches(opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count;) {
        opf_node *node = graph->nodes.data[i];
        if (node->control && node->control->kind == OPF_CONTROL_IF && node->control->taken >= 0)
            replace_by_branch(node, i);
        else
            i++;
    }
    return OPF_OK;
}
