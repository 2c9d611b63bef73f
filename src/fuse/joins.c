/* Concatenations that copy nothing: each producer writes its result where it belongs in the whole.
 *
 * The parts must lie whole one behind the other, that is, nothing varies in front of the axis, or nothing at nominal sizes (a batch that is
 * open): where more than that comes, they are computed elsewhere and joined by a kernel. Their places must be known
 * when the run begins; and each part must be the result of a kernel that is free to write it anywhere, or a view of one: no input,
 * constant or model output, and no part of another concatenation. TVM's rules join a concatenation with the index maps and the
 * element-wise work behind it: it leaves them where its operands come from outside. */
#include "fuse/matched.h"
#include "fuse/rows.h"
#include "ops/counts.h"

#include <string.h>

typedef struct joining {
    opf_fuser *fuser;
    bool *closed; /* per group: nothing joins it */
    bool *taken;  /* per node: its result is a part already */
} joining;

static opf_outcome refused(opf_rule_number rule, const opf_node *blocker) { return (opf_outcome){.rule = rule, .blocker = blocker}; }

static joining new_joining(opf_fuser *fuser) {
    joining j = {fuser, OPF_ARRAY(fuser->arena, bool, fuser->n_nodes + 1), OPF_ARRAY(fuser->arena, bool, fuser->n_nodes + 1)}; /* never more groups than nodes */
    for (int i = 0; i < fuser->n_nodes; i++)
        j.closed[fuser->group_of[i]] |= opf_fusion_is_closed(fuser, i);
    return j;
}

/* Is its size known when the run begins? Not where a step finds it. */
static bool has_known_size(const opf_value *value) {
    for (int k = 0; k < value->rank; k++)
        if (opf_dim_is_counted(value->graph->module, value->dims[k]))
            return false;
    return true;
}

/* How often the operands are laid one behind the other: the sizes in front of the axis. */
static opf_dim times_laid(const opf_fuser *fuser, const opf_node *node) {
    const opf_value *whole = node->outputs[0];
    int axis = (int)opf_node_int(node, "axis", 0);
    axis += axis < 0 ? whole->rank : 0;
    opf_dim times = opf_int(fuser->pool, 1);
    for (int k = 0; k < axis; k++)
        times = opf_mul(fuser->pool, times, whole->dims[k]);
    return times;
}

/* Once, or once at nominal sizes: known when the run begins, since every part's size is. */
static bool lies_whole(const opf_fuser *fuser, const opf_node *node) {
    opf_dim times = times_laid(fuser, node);
    return opf_is_value(times, 1) || (opf_dim_nominal(times) == 1 && !opf_rule_is_off(fuser->settings, OPF_RULE_JOIN_AT_ONE));
}

/* NULL where they are laid but once. */
static opf_dim in_front_of(const opf_fuser *fuser, const opf_node *node) {
    opf_dim times = times_laid(fuser, node);
    return opf_is_value(times, 1) ? NULL : times;
}

/* ---- operands ---- */

/* The node of this graph that computes the value, and that alone; NULL: it is stored elsewhere in any case. */
static const opf_node *producer_of(const joining *j, const opf_value *value) {
    bool elsewhere = !value || !value->producer || value->is_output || value->constant || value->content || value->producer->graph != j->fuser->graph;
    return elsewhere ? NULL : value->producer;
}

static bool is_view(const joining *j, const opf_node *node) {
    return opf_fusion_is_view(j->fuser, node->id) && !j->closed[j->fuser->group_of[node->id]];
}

/* The node whose bytes the value shows, through views; NULL: see producer_of. */
static const opf_node *source_of(const joining *j, const opf_value *value) {
    const opf_node *producer = producer_of(j, value);
    while (producer && is_view(j, producer))
        producer = producer_of(j, producer->inputs[0]);
    return producer;
}

/* May it write its result anywhere in the whole? A concatenation in the place of its own may: its parts go along, at the same sizes. */
static bool is_free(const joining *j, const opf_node *source, const opf_node *whole) {
    const opf_fuser *fuser = j->fuser;
    if (!source || j->taken[source->id])
        return false;
    opf_dim own = fuser->in_front[source->id], others = in_front_of(fuser, whole);
    return fuser->in_place[source->id] ? !own || !others || own == others : !j->closed[fuser->group_of[source->id]];
}

/* A branch's result is computed in the If's, for which memory may be taken only as it is written. */
static bool is_result_of_found_size(const opf_node *node) {
    const opf_graph *graph = node->outputs[0]->graph;
    if (!graph->parent || !node->outputs[0]->is_output)
        return false;
    for (int k = 0; k < graph->parent->n_outputs; k++)
        if (graph->parent->outputs[k] && !has_known_size(graph->parent->outputs[k]))
            return true;
    return false;
}

static opf_outcome judge(const joining *joining, const opf_node *node) {
    if (is_result_of_found_size(node))
        return refused(OPF_RULE_JOIN_UNKNOWN, node);
    if (!lies_whole(joining->fuser, node))
        return refused(OPF_RULE_JOIN_APART, node);
    for (int k = 0; k < node->n_inputs; k++) {
        const opf_value *part = node->inputs[k];
        const opf_node *source = source_of(joining, part);
        if (part && !has_known_size(part))
            return refused(OPF_RULE_JOIN_UNKNOWN, node);
        for (int j = 0; j < k; j++)
            if (source_of(joining, node->inputs[j]) == source)
                return refused(OPF_RULE_JOIN_COPIES, part ? part->producer : NULL);
        if (!is_free(joining, source, node))
            return refused(OPF_RULE_JOIN_COPIES, part ? part->producer : NULL);
    }
    return (opf_outcome){.rule = OPF_RULE_JOIN};
}

static bool is_concatenation(const opf_node *node) {
    return strcmp(node->op, "Concat") == 0 && (!node->domain || !node->domain[0] || strcmp(node->domain, "ai.onnx") == 0) && node->n_inputs > 1;
}

static bool may_be_in_place(const opf_fuser *fuser, const opf_node *node) {
    return !fuser->folded[node->id] && is_concatenation(node) && !opf_dtype_is_packed(node->outputs[0]->dtype);
}

static void take(const joining *j, const opf_node *node) {
    for (int k = 0; k < node->n_inputs; k++)
        j->taken[source_of(j, node->inputs[k])->id] = true;
    j->fuser->in_place[node->id] = true;
    j->fuser->in_front[node->id] = in_front_of(j->fuser, node);
    j->closed[j->fuser->group_of[node->id]] = true;
}

/* ---- out of TVM's groups ---- */

/* Of the concatenation's group, the views through which it alone reads an operand. */
static bool is_own_view(const joining *j, const opf_node *node, const opf_value *operand) {
    const opf_node *producer = producer_of(j, operand);
    return producer && j->fuser->group_of[producer->id] == j->fuser->group_of[node->id] && is_view(j, producer) && operand->uses.count == 1;
}

/* The number of the concatenation's own views; -1: an operand is computed in its group. */
static int count_views(const joining *j, const opf_node *node) {
    int count = 0;
    for (int k = 0; k < node->n_inputs; k++) {
        const opf_value *operand = node->inputs[k];
        for (; is_own_view(j, node, operand); count++)
            operand = operand->producer->inputs[0];
        const opf_node *producer = producer_of(j, operand);
        if (producer && j->fuser->group_of[producer->id] == j->fuser->group_of[node->id])
            return -1;
    }
    return count;
}

/* Members of the group whose kind is at least this. */
static int count_members(const opf_fuser *fuser, int group, opf_kind least) {
    int count = 0;
    for (int i = 0; i < fuser->n_nodes; i++)
        count += fuser->group_of[i] == group && fuser->kinds[i] >= least;
    return count;
}

/* Could row-wise work in front become one kernel with what stands behind the concatenation? Then that is left to the rows. */
static bool is_light(const opf_fuser *fuser, const opf_node *source) {
    if (fuser->in_place[source->id])
        return false;
    for (int i = 0; i < fuser->n_nodes; i++)
        if (fuser->group_of[i] == fuser->group_of[source->id] && (!fuser->calls[i] || !opf_stages_are_light(&fuser->calls[i]->stages)))
            return false;
    return true;
}

static bool reads_rows(const joining *j, const opf_node *node) {
    for (int k = 0; k < node->n_inputs; k++)
        if (is_light(j->fuser, source_of(j, node->inputs[k])))
            return true;
    return false;
}

/* Does row-wise work read it? */
static bool is_read_by_rows(const joining *j, const opf_node *node) {
    const opf_value *whole = node->outputs[0];
    for (size_t u = 0; u < whole->uses.count; u++) {
        const opf_node *user = opf_node_within(whole->uses.data[u].node, j->fuser->graph);
        if (!j->closed[j->fuser->group_of[user->id]] && is_light(j->fuser, user))
            return true;
    }
    return false;
}

static void leave_group(opf_fuser *fuser, const opf_node *node) {
    fuser->group_kinds[fuser->n_groups] = fuser->kinds[node->id];
    fuser->formed[fuser->n_groups] = OPF_RULE_SINGLE;
    fuser->group_of[node->id] = fuser->n_groups++;
}

static void leave_with_views(const joining *j, const opf_node *node, bool others) {
    opf_fuser *fuser = j->fuser;
    int group = fuser->group_of[node->id];
    for (int k = 0; k < node->n_inputs; k++)
        for (const opf_value *operand = node->inputs[k], *next; is_own_view(j, node, operand); operand = next) {
            next = operand->producer->inputs[0];
            leave_group(fuser, operand->producer);
        }
    if (!others) {
        fuser->formed[group] = OPF_RULE_SINGLE;
        fuser->group_kinds[group] = fuser->kinds[node->id];
        return;
    }
    leave_group(fuser, node);
    fuser->outcomes[node->id] = (opf_outcome){.rule = OPF_RULE_JOIN_STAYS};
    fuser->group_kinds[group] = OPF_KIND_ELEMWISE;
    for (int i = 0; i < fuser->n_nodes; i++)
        if (fuser->group_of[i] == group && fuser->kinds[i] > fuser->group_kinds[group])
            fuser->group_kinds[group] = fuser->kinds[i];
}

/* ---- all of a graph ---- */

/* What came of the concatenation. It leaves element-wise work behind it, which may then be done while others read its result; index maps
 * behind it, of which one may join several such, read each part once in any case. */
static opf_outcome try_node(const joining *j, const opf_node *node) {
    opf_fuser *fuser = j->fuser;
    int group = fuser->group_of[node->id], views = count_views(j, node);
    int others = count_members(fuser, group, OPF_KIND_ELEMWISE) - 1 - views, maps = count_members(fuser, group, OPF_KIND_INJECTIVE) - 1 - views;
    if (views < 0 || maps > 0)
        return (opf_outcome){0};
    opf_outcome outcome = judge(j, node);
    if (outcome.rule != OPF_RULE_JOIN)
        return others + views > 0 ? (opf_outcome){0} : outcome;
    if (others > 0 && reads_rows(j, node))
        return (opf_outcome){0};
    if (in_front_of(fuser, node) && reads_rows(j, node) && is_read_by_rows(j, node)) /* rows have no need of batch 1 */
        return refused(OPF_RULE_JOIN_APART, node);
    leave_with_views(j, node, others > 0);
    take(j, node);
    return outcome;
}

void opf_best_joins(opf_fuser *fuser, opf_outcome *outcomes) {
    joining j = new_joining(fuser);
    for (int i = 0; i < fuser->n_nodes; i++) {
        const opf_node *node = fuser->graph->nodes.data[i];
        if (may_be_in_place(fuser, node) && !j.closed[fuser->group_of[i]] && !fuser->joined[i])
            outcomes[i] = try_node(&j, node);
    }
}

void opf_pinned_joins(opf_fuser *fuser, const bool *wanted) {
    joining j = new_joining(fuser);
    for (int i = 0; i < fuser->n_nodes; i++) {
        const opf_node *node = fuser->graph->nodes.data[i];
        if (wanted[i] && may_be_in_place(fuser, node) && judge(&j, node).rule == OPF_RULE_JOIN)
            take(&j, node);
    }
}
