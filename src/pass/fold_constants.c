/* Nodes whose inputs are all constants are computed by the evaluator. What only grows is left to the program: a constant
 * repeated into a large tensor costs more to read than to make. */
#include "pass/edit.h"

#include "eval/eval.h"

enum { LARGEST = 16 << 20, SMALL = 64 << 10, MOST_GROWTH = 4 };

/* Bytes of all results, -1 where one has no fixed size or no plain type. */
static int64_t result_bytes(const opf_node *node) {
    int64_t total = 0;
    for (int k = 0; k < node->n_outputs; k++) {
        const opf_value *value = node->outputs[k];
        if (!value)
            continue;
        if (value->kind != OPF_VALUE_TENSOR || !opf_value_is_typed(value) || value->dtype == OPF_STRING)
            return -1;
        for (int axis = 0; axis < value->rank; axis++)
            if (!opf_is_int(value->dims[axis], NULL))
                return -1;
        total += opf_value_nominal_bytes(value) / 2 < LARGEST ? opf_value_nominal_bytes(value) : 2 * (int64_t)LARGEST;
    }
    return total;
}

static bool holds_graphs(const opf_node *node) {
    for (int a = 0; a < node->n_attrs; a++)
        if (node->attrs[a].kind == OPF_ATTR_GRAPH || node->attrs[a].kind == OPF_ATTR_GRAPHS)
            return true;
    return false;
}

static bool is_candidate(const opf_node *node) {
    const opf_op *op = opf_node_op(node);
    if (!op || (op->flags & OPF_OP_STATEFUL) || opf_node_is_folded(node) || holds_graphs(node))
        return false;
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && !node->inputs[k]->constant && !node->inputs[k]->content)
            return false;
    return true;
}

/* The inputs as tensors, NULL where one is not known in numbers; `*bytes` is their sum. */
static const opf_tensor **input_tensors(const opf_node *node, int64_t *bytes) {
    const opf_tensor **tensors = OPF_ARRAY(node->graph->module->arena, const opf_tensor *, node->n_inputs + 1);
    *bytes = 0;
    for (int k = 0; k < node->n_inputs; k++) {
        if (!node->inputs[k])
            continue;
        tensors[k] = opf_known_tensor(node->inputs[k]);
        if (!tensors[k] || tensors[k]->dtype == OPF_STRING)
            return NULL;
        *bytes += (int64_t)tensors[k]->bytes;
    }
    return tensors;
}

/* The node's results become constants and keep their names. */
static void replace_by(opf_node *node, opf_tensor *const *results) {
    for (int k = 0; k < node->n_outputs; k++) {
        opf_value *value = node->outputs[k];
        if (!value || !results[k])
            continue;
        opf_node_set_output(node, k, NULL);
        value->constant = results[k];
    }
    opf_pass_remove(node, "its inputs are constants: it was computed beforehand", NULL);
}

static opf_status visit(opf_node *node) {
    int64_t in_bytes, out_bytes = result_bytes(node);
    if (node->held || !is_candidate(node) || out_bytes < 0)
        return OPF_OK;
    const opf_tensor **inputs = input_tensors(node, &in_bytes);
    if (!inputs)
        return OPF_OK;
    if (out_bytes > LARGEST || (out_bytes > SMALL && out_bytes > MOST_GROWTH * in_bytes)) {
        opf_pass_note(node, "not computed beforehand: its result has %lld bytes, its constant inputs %lld", (long long)out_bytes, (long long)in_bytes);
        return OPF_OK;
    }
    opf_tensor **results = OPF_ARRAY(node->graph->module->arena, opf_tensor *, node->n_outputs + 1);
    opf_status status = opf_eval_node(node, inputs, results, node->graph->module->arena);
    if (status != OPF_OK)
        return status;
    replace_by(node, results);
    return OPF_OK;
}

opf_status opf_pass_fold_constants(opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count;) {
        opf_node *node = graph->nodes.data[i];
        opf_status status = visit(node);
        if (status != OPF_OK)
            return status;
        i += node->graph != NULL;
    }
    opf_graph_renumber(graph);
    return OPF_OK;
}
