/* Concatenations that copy nothing: each producer writes its result where it belongs in the whole.
 *
 * The parts must lie whole one behind the other, that is, nothing varies in front of the axis; their places must be known
 * when the program is made; and each part must be the result of a kernel that is free to write it anywhere: no input,
 * constant or model output, and no part of another concatenation. */
#include "fuse/growth.h"

#include <string.h>

typedef struct joining {
    opf_fuser *fuser;
    const bool *closed, *view; /* per group: nothing joins it; it only gives other shapes */
    bool *taken;               /* per node: its result is a part already */
} joining;

static opf_outcome refused(opf_rule_number rule, const opf_node *blocker) { return (opf_outcome){.rule = rule, .blocker = blocker}; }

static bool has_known_size(const opf_value *value) {
    for (int k = 0; k < value->rank; k++)
        if (!opf_is_int(value->dims[k], NULL))
            return false;
    return true;
}

/* Nothing varies in front of the axis along which the operands are laid. */
static bool lies_whole(const opf_node *node) {
    const opf_value *whole = node->outputs[0];
    int axis = (int)opf_node_int(node, "axis", 0);
    axis += axis < 0 ? whole->rank : 0;
    for (int k = 0; k < axis; k++)
        if (!opf_is_value(whole->dims[k], 1))
            return false;
    return true;
}

/* Could the value's producer write it anywhere? */
static bool is_free(const joining *j, const opf_value *value) {
    const opf_fuser *fuser = j->fuser;
    if (!value || !value->producer || value->is_output || value->constant || value->content || value->producer->graph != fuser->graph)
        return false;
    const opf_node *producer = value->producer;
    int group = fuser->group_of[producer->id];
    if (fuser->in_place[producer->id]) /* a concatenation in the place of its own: its parts go along */
        return !j->taken[producer->id];
    return !j->closed[group] && !j->view[group] && !j->taken[producer->id];
}

static opf_outcome judge(const joining *joining, const opf_node *node) {
    if (!lies_whole(node))
        return refused(OPF_RULE_JOIN_APART, node);
    for (int k = 0; k < node->n_inputs; k++) {
        const opf_value *part = node->inputs[k];
        if (part && !has_known_size(part))
            return refused(OPF_RULE_JOIN_UNKNOWN, node);
        for (int j = 0; j < k; j++)
            if (node->inputs[j] == part)
                return refused(OPF_RULE_JOIN_COPIES, part ? part->producer : NULL);
        if (!is_free(joining, part))
            return refused(OPF_RULE_JOIN_COPIES, part ? part->producer : NULL);
    }
    return (opf_outcome){.rule = OPF_RULE_JOIN};
}

static bool is_concatenation(const opf_node *node) {
    return strcmp(node->op, "Concat") == 0 && (!node->domain || !node->domain[0] || strcmp(node->domain, "ai.onnx") == 0) && node->n_inputs > 1;
}

/* Of concatenations that are groups of their own. */
static bool may_be_in_place(const opf_fuser *fuser, const opf_node *node) {
    return !fuser->folded[node->id] && is_concatenation(node) && !fuser->graph->parent && !opf_dtype_is_packed(node->outputs[0]->dtype);
}

static void take(const joining *j, const opf_node *node) {
    j->fuser->in_place[node->id] = true;
    for (int k = 0; k < node->n_inputs; k++)
        j->taken[node->inputs[k]->producer->id] = true;
}

void opf_grow_joins(opf_growth *growth) {
    opf_fuser *fuser = growth->fuser;
    joining j = {fuser, growth->closed, growth->view, OPF_ARRAY(fuser->arena, bool, fuser->n_nodes + 1)};
    for (int i = 0; i < fuser->n_nodes; i++) {
        const opf_node *node = fuser->graph->nodes.data[i];
        int group = fuser->group_of[i];
        if (growth->members[group].count > 1 || !may_be_in_place(fuser, node))
            continue;
        growth->joins[i] = judge(&j, node);
        if (growth->joins[i].rule != OPF_RULE_JOIN)
            continue;
        take(&j, node);
        growth->closed[group] = true;
        growth->light[group] = false;
    }
}

void opf_pinned_joins(opf_fuser *fuser, const bool *wanted) {
    bool *closed = OPF_ARRAY(fuser->arena, bool, fuser->n_groups + 1), *view = OPF_ARRAY(fuser->arena, bool, fuser->n_groups + 1);
    joining j = {fuser, closed, view, OPF_ARRAY(fuser->arena, bool, fuser->n_nodes + 1)};
    for (int g = 0; g < fuser->n_groups; g++)
        view[g] = true;
    for (int i = 0; i < fuser->n_nodes; i++) {
        const opf_op *op = opf_node_op(fuser->graph->nodes.data[i]);
        int group = fuser->group_of[i];
        closed[group] = closed[group] || fuser->folded[i] || fuser->kinds[i] == OPF_KIND_OPAQUE;
        view[group] = view[group] && op && (op->flags & OPF_OP_VIEW);
    }
    for (int i = 0; i < fuser->n_nodes; i++) {
        const opf_node *node = fuser->graph->nodes.data[i];
        if (!wanted[i] || !may_be_in_place(fuser, node) || judge(&j, node).rule != OPF_RULE_JOIN)
            continue;
        take(&j, node);
        closed[fuser->group_of[i]] = true;
    }
}
