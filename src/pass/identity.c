/* Nodes that hand on an input unchanged: Identity, Dropout, transposes, slices, pads, casts and reshapes that change
 * nothing. Known by their stages, not by their names: the result's stage loads one input at the very point (a Dropout has another
 * for its mask, which nobody reads). */
#include "pass/edit.h"

/* The input that the node's result equals element for element, NULL where it computes something. */
static opf_value *handed_on(const opf_call *call) {
    if (call->node->n_outputs == 0 || call->results[0] < 0 || (size_t)call->results[0] >= call->stages.list.count)
        return NULL;
    const opf_stage *stage = call->stages.list.data[call->results[0]];
    const opf_expr *load = stage->body;
    if (stage->combiner != OPF_COMBINE_NONE || load->kind != OPF_EXPR_LOAD || load->dtype != stage->dtype ||
        (size_t)load->index >= call->stages.inputs.count)
        return NULL;
    opf_value *input = call->stages.inputs.data[load->index];
    if (input->rank != stage->n_axes)
        return NULL;
    for (int k = 0; k < stage->n_axes; k++) {
        bool here = load->args[k]->kind == OPF_EXPR_VAR && load->args[k]->index == k;
        bool only = opf_is_value(load->args[k], 0) && opf_is_value(stage->extents[k], 1);
        if ((!here && !only) || stage->extents[k] != input->dims[k])
            return NULL;
    }
    return input;
}

/* A model output must be made by something: a value that is an input, a constant or another output is no substitute. */
static bool may_replace(const opf_value *output, const opf_value *input) {
    return !output->is_output || (input->producer && !input->is_output && input->graph == output->graph);
}

static bool others_unused(const opf_node *node) {
    for (int k = 1; k < node->n_outputs; k++)
        if (node->outputs[k] && (node->outputs[k]->uses.count > 0 || node->outputs[k]->is_output))
            return false;
    return true;
}

static opf_status visit(opf_node *node) {
    const opf_op *op = opf_node_op(node);
    if (!op || node->held || (op->flags & OPF_OP_STATEFUL) || opf_node_is_folded(node) || node->n_outputs == 0 || !others_unused(node))
        return OPF_OK;
    opf_call *call;
    opf_status status = opf_op_stages(&call, node);
    opf_value *input = status == OPF_OK ? handed_on(call) : NULL;
    if (!input || !may_replace(node->outputs[0], input))
        return status;
    opf_value_replace(node->outputs[0], input);
    opf_pass_remove(node, "it hands on its input unchanged", input->producer);
    return OPF_OK;
}

opf_status opf_pass_identity(opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count;) {
        opf_node *node = graph->nodes.data[i];
        opf_status status = visit(node);
        if (status != OPF_OK)
            return status;
        i += node->graph != NULL; /* a node taken out belongs to no graph */
    }
    opf_graph_renumber(graph);
    return OPF_OK;
}
