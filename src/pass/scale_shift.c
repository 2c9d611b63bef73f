/* Batch normalisation with constant statistics that stands behind no weights, with the sums and products with constants around it, becomes
 * one product and one sum: y = factor * x + shift, two operations an element instead of six, a division and a root among them. So
 * little is done while the next contraction copies its operand (fuse/prologue.c). */
#include "pass/affine.h"
#include "pass/edit.h"

#include <math.h>
#include <string.h>

/* Of the channel's own scale and bias: what is taken off again costs at most so many of the last bits. */
static const double MOST_CANCELLED = 1024;

static bool holds_norm(const opf_affine_run *run) {
    for (size_t k = 0; k < run->nodes.count; k++)
        if (opf_affine_is_norm(run->nodes.data[k]))
            return true;
    return false;
}

/* Each is rounded once: none becomes infinite, and no factor loses its last bits by being next to zero. */
static bool fit(opf_dtype dtype, const opf_affine *affine) {
    for (int64_t c = 0; c < affine->channels; c++) {
        double factor = opf_dtype_round(dtype, affine->factor[c]);
        bool small = dtype == OPF_FLOAT32 && fabs(affine->factor[c]) < (double)0x1p-126;
        if (!isfinite(factor) || !isfinite(opf_dtype_round(dtype, affine->shift[c])) || (small && factor != affine->factor[c]))
            return false;
    }
    return true;
}

static opf_value *numbers_of(const opf_node *node, const opf_affine *affine, const double *numbers) {
    const opf_value *result = node->outputs[0];
    int64_t dims[OPF_MAX_RANK];
    int rank = affine->axis < 0 ? 0 : result->rank - affine->axis;
    for (int k = 0; k < rank; k++)
        dims[k] = k ? 1 : affine->channels;
    return opf_constant_like(node->graph, result->dtype, rank, dims, numbers);
}

enum { BROADCASTS = 7 }; /* version of Mul and Add from which on operands are broadcast */

/* The node computes `op` of two operands and nothing else. */
static opf_status become(opf_node *node, const char *op, opf_value *x, opf_value *constant) {
    for (int i = 0; i < node->n_inputs; i++)
        opf_node_set_input(node, i, NULL);
    node->op = opf_intern(node->graph->module->names, op);
    node->opset = opf_pass_version(node->graph, BROADCASTS);
    node->n_attrs = 0;
    node->n_inputs = 2;
    node->n_outputs = 1;
    opf_node_set_input(node, 0, x);
    opf_node_set_input(node, 1, constant);
    return opf_node_type(node);
}

/* The first of several nodes scales; in front of one alone a new node does. */
static opf_node *scaling_node(const opf_affine_run *run) {
    opf_node *first = run->nodes.data[0];
    if (run->nodes.count > 1)
        return first;
    opf_node *made = opf_node_new(first->graph, opf_arena_printf(first->graph->module->arena, "%s/scale", first->name), "Mul", "", opf_pass_version(first->graph, BROADCASTS), 2, 1);
    made->index = first->index;
    opf_node_set_output(made, 0, opf_value_new(first->graph, NULL));
    return made;
}

/* Training outputs that nobody reads would keep the node from being anything else. */
static void drop_other_results(opf_node *node) {
    for (int k = 1; k < node->n_outputs; k++)
        opf_node_set_output(node, k, NULL);
}

static opf_status rewrite(const opf_affine_run *run) {
    size_t count = run->nodes.count;
    opf_node *first = run->nodes.data[0], *last = run->nodes.data[count - 1];
    opf_value *x = first->inputs[run->whole.input];
    opf_value *factor = numbers_of(last, &run->whole, run->whole.factor), *shift = numbers_of(last, &run->whole, run->whole.shift);
    for (size_t k = 0; k < count; k++)
        drop_other_results(run->nodes.data[k]);
    opf_node *scale = scaling_node(run);
    opf_status status = become(scale, "Mul", x, factor);
    if (status == OPF_OK)
        status = become(last, "Add", scale->outputs[0], shift);
    last->unrounded = opf_affine_unrounded(run->whole.channels, run->whole.shift, run->whole.sizes, last->outputs[0]->dtype, count);
    for (size_t k = count; k-- > 1;) {
        opf_node *node = run->nodes.data[k];
        if (node == last)
            continue;
        opf_node_origins_add(scale, node);
        opf_pass_remove(node, "its numbers are constants: made part of one scale and one shift", scale);
    }
    return status;
}

static opf_status visit(opf_node *node) {
    opf_affine affine;
    opf_affine_run run;
    if (node->held || opf_affine_read(&affine, node))
        return OPF_OK;
    opf_affine_gather(&run, node, &affine);
    if (!holds_norm(&run) || !fit(node->outputs[0]->dtype, &run.whole) || run.whole.cancels > MOST_CANCELLED)
        return OPF_OK;
    return rewrite(&run);
}

/* Steps that are found from the numbers of a run make a last bit into another integer, and that into another step further on. */
static bool quantises_as_it_runs(const opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (strcmp(graph->nodes.data[i]->op, "DynamicQuantizeLinear") == 0)
            return true;
    return false;
}

opf_status opf_pass_scale_shift(opf_graph *graph) {
    opf_status status = OPF_OK;
    if (opf_module_is_exact(graph->module) || quantises_as_it_runs(graph))
        return OPF_OK;
    for (size_t i = 0; status == OPF_OK && i < graph->nodes.count; i++)
        status = visit(graph->nodes.data[i]);
    if (status == OPF_OK)
        status = opf_graph_sort(graph);
    if (status == OPF_OK)
        opf_graph_remove_dead(graph); /* what has given its constants another shape */
    return status;
}
