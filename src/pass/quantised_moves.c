/* Nodes that only move numbers, or choose the largest, between DequantizeLinear and QuantizeLinear of one scale and zero point: they
 * do the same to the integers. To the last bit, for ((q - z) * s) / s differs from q - z by less than 2^-22 of it, which is below a
 * half for 16 bits, and is rounded back to it; and a product with a positive scale keeps the order of integers. Known by their
 * stages, not by their names. */
#include <math.h>
#include <string.h>

#include "ops/build.h"
#include "pass/edit.h"

/* What one QuantizeLinear or DequantizeLinear converts by. */
typedef struct opf_steps { opf_dtype dtype; double scale, zero_point; } opf_steps;

/* Quotients of scales in this range neither overflow nor vanish. */
static const double LEAST_SCALE = 0x1p-100, MOST_SCALE = 0x1p100;

static bool single_number(const opf_value *value, double *number) {
    if (!value->constant || value->constant->elements != 1)
        return false;
    *number = opf_tensor_get(value->constant, 0);
    return true;
}

static bool is_quantised(opf_dtype dtype) { return opf_dtype_is_integer(dtype) && (opf_dtype_bits(dtype) == 8 || opf_dtype_bits(dtype) == 16); }

/* Between the integers of `quantised` and the float32 numbers of `numbers`, by one scale in float32. */
static bool read_steps(const opf_node *node, const char *op, const opf_value *quantised, const opf_value *numbers, opf_steps *out) {
    if (!node || strcmp(node->op, op) != 0 || !is_quantised(quantised->dtype) || numbers->dtype != OPF_FLOAT32 || node->inputs[1]->dtype != OPF_FLOAT32)
        return false;
    if (opf_node_int(node, "precision", OPF_FLOAT32) != OPF_FLOAT32 && opf_node_int(node, "precision", 0) != 0)
        return false;
    *out = (opf_steps){.dtype = quantised->dtype};
    bool shifted = node->n_inputs > 2 && node->inputs[2];
    return single_number(node->inputs[1], &out->scale) && out->scale >= LEAST_SCALE && out->scale <= MOST_SCALE &&
           (!shifted || single_number(node->inputs[2], &out->zero_point));
}

static bool same_steps(const opf_steps *a, const opf_steps *b) {
    return a->dtype == b->dtype && a->scale == b->scale && a->zero_point == b->zero_point;
}

/* ---- what the node does ---- */

typedef struct opf_look { bool moves, takes_largest; } opf_look;

/* Conditions and indices are no numbers that move; what stands outside of a window of a maximum is less than all. */
static bool look(const opf_expr *e, void *data) {
    opf_look *seen = data;
    if (!opf_dtype_is_float((opf_dtype)e->dtype))
        return true;
    bool outside = seen->takes_largest && e->kind == OPF_EXPR_FLOAT && e->real == -INFINITY;
    if (e->kind != OPF_EXPR_LOAD && e->kind != OPF_EXPR_SELECT && !outside)
        seen->moves = false;
    return true;
}

static bool only_moves(const opf_call *call) {
    if (call->library || call->control || call->stages.list.count == 0)
        return false;
    for (size_t s = 0; s < call->stages.list.count; s++) {
        const opf_stage *stage = call->stages.list.data[s];
        opf_look seen = {true, stage->combiner == OPF_COMBINE_MAX};
        if ((stage->combiner != OPF_COMBINE_NONE && !seen.takes_largest) || stage->dtype != OPF_FLOAT32)
            return false;
        opf_expr_visit(call->pool, stage->body, look, &seen);
        if (!seen.moves)
            return false;
    }
    return true;
}

/* ---- the pairs around it ---- */

/* Every floating operand is dequantised by one scale and zero point. */
static bool same_operands(const opf_node *node, opf_steps *steps) {
    bool any = false;
    for (int k = 0; k < node->n_inputs; k++) {
        const opf_value *value = node->inputs[k];
        opf_steps own;
        if (!value || !opf_dtype_is_float(value->dtype))
            continue;
        if (!read_steps(value->producer, "DequantizeLinear", value->producer ? value->producer->inputs[0] : NULL, value, &own) || (any && !same_steps(steps, &own)))
            return false;
        *steps = own;
        any = true;
    }
    return any;
}

/* Every result is quantised by the same, once, and used for nothing else. */
static bool same_results(const opf_node *node, const opf_steps *steps) {
    for (int k = 0; k < node->n_outputs; k++) {
        const opf_value *value = node->outputs[k];
        opf_steps own;
        if (!value)
            continue;
        if (!opf_value_has_single_use(value) || value->uses.data[0].input != 0)
            return false;
        const opf_node *quantize = value->uses.data[0].node;
        if (!read_steps(quantize, "QuantizeLinear", quantize->outputs[0], value, &own) || !same_steps(steps, &own))
            return false;
    }
    return true;
}

/* ---- the change ---- */

static void set_operands(opf_node *node, opf_value *const *values) {
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != values[k])
            opf_node_set_input(node, k, values[k]);
}

/* Does the operator take integers of this type? */
static bool takes_integers(opf_node *node, opf_dtype dtype) {
    opf_call *call = opf_call_new(node, true);
    if (opf_call_run(call) != OPF_OK)
        return false;
    for (int k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] && (call->results[k] < 0 || call->stages.list.data[call->results[k]]->dtype != dtype))
            return false;
    return true;
}

static opf_status move_integers(opf_node *node, opf_dtype dtype) {
    opf_arena *arena = node->graph->module->arena;
    opf_value **numbers = opf_arena_copy(arena, node->inputs, (size_t)node->n_inputs * sizeof *numbers);
    opf_value **integers = opf_arena_copy(arena, node->inputs, (size_t)node->n_inputs * sizeof *integers);
    for (int k = 0; k < node->n_inputs; k++)
        if (integers[k] && opf_dtype_is_float(integers[k]->dtype))
            integers[k] = integers[k]->producer->inputs[0];
    set_operands(node, integers);
    if (!takes_integers(node, dtype)) {
        set_operands(node, numbers);
        return OPF_OK;
    }
    for (int k = 0; k < node->n_outputs; k++) {
        opf_value *number = node->outputs[k];
        if (!number)
            continue;
        opf_node *quantize = number->uses.data[0].node;
        opf_node_set_output(node, k, quantize->outputs[0]);
        opf_node_set_output(quantize, 0, number);
        opf_pass_remove(quantize, "numbers that are only moved keep their integers", node);
    }
    for (int k = 0; k < node->n_inputs; k++)
        if (numbers[k] != integers[k] && numbers[k]->uses.count == 0 && !numbers[k]->is_output && numbers[k]->producer->graph)
            opf_pass_remove(numbers[k]->producer, "its integers are moved as they are", node);
    return opf_node_type(node);
}

/* A user's kernel stands for the node or one beside it. */
static bool is_held(const opf_node *node) {
    bool held = node->held;
    for (int k = 0; k < node->n_inputs; k++)
        held = held || (node->inputs[k] && node->inputs[k]->producer && node->inputs[k]->producer->held);
    for (int k = 0; k < node->n_outputs; k++)
        for (size_t u = 0; node->outputs[k] && u < node->outputs[k]->uses.count; u++)
            held = held || node->outputs[k]->uses.data[u].node->held;
    return held;
}

static opf_status visit(opf_node *node) {
    opf_steps steps = {0};
    opf_call *call;
    const opf_op *op = opf_node_op(node);
    if (!op || is_held(node) || (op->flags & OPF_OP_STATEFUL) || opf_node_is_folded(node) || !same_operands(node, &steps) || !same_results(node, &steps))
        return OPF_OK;
    opf_status status = opf_op_stages(&call, node);
    return status == OPF_OK && only_moves(call) ? move_integers(node, steps.dtype) : status;
}

opf_status opf_pass_quantised_moves(opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        opf_node *node = graph->nodes.data[i];
        size_t before = graph->nodes.count;
        opf_status status = visit(node);
        if (status != OPF_OK)
            return status;
        if (graph->nodes.count != before)
            i = (size_t)-1; /* positions have moved: from the start */
    }
    opf_graph_renumber(graph);
    return OPF_OK;
}
