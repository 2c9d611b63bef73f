/* Concatenations that copy nothing: each producer writes its result where it belongs in the whole.
 *
 * The parts must lie whole one behind the other, that is, nothing varies in front of the axis; their places must be known
 * when the program is made; and each part must be the result of a kernel that is free to write it anywhere: no input,
 * constant or model output, and no part of another concatenation. */
#include "fuse/growth.h"

#include <string.h>

static opf_outcome refused(opf_rule_number rule, const opf_node *blocker) { return (opf_outcome){.rule = rule, .blocker = blocker}; }

static bool has_known_size(const opf_value *value)
{
    for (int k = 0; k < value->rank; k++)
        if (!opf_is_int(value->dims[k], NULL))
            return false;
    return true;
}

/* Nothing varies in front of the axis along which the operands are laid. */
static bool lies_whole(const opf_node *node)
{
    const opf_value *whole = node->outputs[0];
    int axis = (int)opf_node_int(node, "axis", 0);
    axis += axis < 0 ? whole->rank : 0;
    for (int k = 0; k < axis; k++)
        if (!opf_is_value(whole->dims[k], 1))
            return false;
    return true;
}

/* Could the value's producer write it anywhere? */
static bool is_free(const opf_growth *growth, const opf_value *value, const bool *taken)
{
    const opf_fuser *fuser = growth->fuser;
    if (!value || !value->producer || value->is_output || value->constant || value->content || value->producer->graph != fuser->graph)
        return false;
    const opf_node *producer = value->producer;
    int group = fuser->group_of[producer->id];
    if (fuser->in_place[producer->id]) /* a concatenation in the place of its own: its parts go along */
        return !taken[producer->id];
    return !growth->closed[group] && !growth->view[group] && !taken[producer->id];
}

static opf_outcome judge(const opf_growth *growth, const opf_node *node, const bool *taken)
{
    if (!lies_whole(node))
        return refused(OPF_RULE_JOIN_APART, node);
    for (int k = 0; k < node->n_inputs; k++) {
        const opf_value *part = node->inputs[k];
        if (part && !has_known_size(part))
            return refused(OPF_RULE_JOIN_UNKNOWN, node);
        for (int j = 0; j < k; j++)
            if (node->inputs[j] == part)
                return refused(OPF_RULE_JOIN_COPIES, part ? part->producer : NULL);
        if (!is_free(growth, part, taken))
            return refused(OPF_RULE_JOIN_COPIES, part ? part->producer : NULL);
    }
    return (opf_outcome){.rule = OPF_RULE_JOIN};
}

static bool is_concatenation(const opf_node *node)
{
    return strcmp(node->op, "Concat") == 0 && (!node->domain || !node->domain[0] || strcmp(node->domain, "ai.onnx") == 0) && node->n_inputs > 1;
}

void opf_grow_joins(opf_growth *growth)
{
    opf_fuser *fuser = growth->fuser;
    bool *taken = OPF_ARRAY(fuser->arena, bool, fuser->n_nodes + 1); /* per node: its result is a part already */
    for (int i = 0; i < fuser->n_nodes; i++) {
        const opf_node *node = fuser->graph->nodes.data[i];
        int group = fuser->group_of[i];
        if (fuser->folded[i] || !is_concatenation(node) || growth->members[group].count > 1 || fuser->graph->parent)
            continue;
        if (opf_dtype_is_packed(node->outputs[0]->dtype))
            continue;
        growth->joins[i] = judge(growth, node, taken);
        if (growth->joins[i].rule != OPF_RULE_JOIN)
            continue;
        fuser->in_place[i] = true;
        growth->closed[group] = true;
        growth->light[group] = false;
        for (int k = 0; k < node->n_inputs; k++)
            taken[node->inputs[k]->producer->id] = true;
    }
}
