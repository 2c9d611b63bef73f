/* TVM's pattern kind of a node: that of its operator's entry, refined by shapes as TVM's analysis of loops would. */
#include "fuse/fuser.h"

/* Does some operand provably have the output's shape? */
static bool reads_whole_operand(const opf_node *node) {
    const opf_value *output = node->outputs[0];
    for (int k = 0; output && k < node->n_inputs; k++) {
        const opf_value *input = node->inputs[k];
        if (!input || input->rank != output->rank)
            continue;
        int axis = 0;
        while (axis < input->rank && input->dims[axis] == output->dims[axis])
            axis++;
        if (axis == input->rank)
            return true;
    }
    return false;
}

opf_kind opf_node_kind(const opf_node *node) {
    const opf_op *op = opf_node_op(node);
    if (!op || (op->flags & OPF_OP_STATEFUL))
        return OPF_KIND_OPAQUE;
    if (op->kind == OPF_KIND_BROADCAST && node->n_outputs > 0 && reads_whole_operand(node))
        return OPF_KIND_ELEMWISE;
    return op->kind;
}
