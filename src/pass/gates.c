/* Gates: what a cell of an LSTM or GRU that is written out computes from its input and its state, piece by piece.
 *
 *   i, f, o, g = split(x W + h R + b)   =>   i = split(x W)[0] + h R_0 + b_0, f = split(x W)[1] + h R_1 + b_1, …
 *
 * Of the products whose pieces meet element by element, the one whose operand is known last (the state's) is cut into one a piece.
 * These share their operand, so that the register tile computes them side by side, and all that follows is done on a block of their
 * values: one kernel. The others are one product with all columns, whose pieces are read where they lie: another kernel.
 *
 * No number changes: every column is a sum of its own, whichever columns stand beside it. Nothing is known by the names of values, and
 * nothing of what follows the pieces matters but that it is element by element. */
#include "pass/gates.h"

typedef OPF_VEC(opf_gate_set) opf_gate_sets;

/* ---- which set waits for which ---- */

static bool share_readers(const opf_gate_set *a, const opf_gate_set *b) {
    for (size_t i = 0; i < a->readers.count; i++)
        for (size_t j = 0; j < b->readers.count; j++)
            if (a->readers.data[i] == b->readers.data[j])
                return true;
    return false;
}

/* Does the value depend on one of the set's pieces? Nodes in front of the set's own are not followed. */
static bool depends(const opf_value *value, const opf_gate_set *on, opf_map *seen) {
    const opf_node *node = value->producer;
    for (int k = 0; k < on->count; k++)
        if (value == on->pieces[k])
            return true;
    if (!node || node->graph != on->graph || node->id <= on->last->id || opf_map_get(seen, node))
        return false;
    opf_map_set(seen, node, (void *)(uintptr_t)node);
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && depends(node->inputs[k], on, seen))
            return true;
    return false;
}

/* Does the work on the set's pieces meet that on the pieces of one that is cut, which does not wait for it? In the steps of a
 * recurrence, which meet too, the later one does. */
static bool stands_beside(const opf_gate_set *set, const opf_gate_sets *cut) {
    for (size_t k = 0; k < cut->count; k++) {
        opf_map seen = opf_map_new(set->graph->module->arena);
        if (share_readers(set, &cut->data[k]) && !depends(cut->data[k].last->inputs[0], set, &seen))
            return true;
    }
    return false;
}

/* ---- all sets of a graph ---- */

static bool stands_in(const opf_gate_sets *sets, const opf_node *product) {
    for (size_t k = 0; k < sets->count; k++)
        for (int j = 0; j < sets->data[k].n_products; j++)
            if (sets->data[k].products[j] == product)
                return true;
    return false;
}

static bool any_stands_in(const opf_gate_sets *sets, const opf_gate_set *set) {
    for (int j = 0; j < set->n_products; j++)
        if (stands_in(sets, set->products[j]))
            return true;
    return false;
}

/* In the order in which operands become known, the last first. */
static void insert(opf_arena *arena, opf_gate_sets *sets, opf_gate_set set) {
    OPF_PUSH(arena, sets, set);
    for (size_t at = sets->count - 1; at > 0 && opf_gates_is_later(sets->data[at].last, sets->data[at - 1].last); at--) {
        opf_gate_set earlier = sets->data[at - 1];
        sets->data[at - 1] = sets->data[at];
        sets->data[at] = earlier;
    }
}

static opf_gate_sets find_all(opf_graph *graph) {
    opf_arena *arena = graph->module->arena;
    opf_gate_sets sets = {0};
    opf_gate_set set;
    for (size_t i = 0; i < graph->nodes.count; i++)
        for (int k = 0; k < graph->nodes.data[i]->n_outputs; k++)
            if (graph->nodes.data[i]->outputs[k] && opf_gates_find_cut(graph, graph->nodes.data[i]->outputs[k], &set))
                insert(arena, &sets, set);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        opf_node *node = graph->nodes.data[i];
        bool product = opf_gates_is_product(node) && !stands_in(&sets, node); /* which also keeps a set from being found twice */
        if (product && opf_gates_find_apart(graph, node->inputs[0], &set) && !any_stands_in(&sets, &set))
            insert(arena, &sets, set);
    }
    return sets;
}

opf_status opf_pass_gates(opf_graph *graph) {
    opf_gate_sets sets = find_all(graph), cut = {0};
    opf_gate_parts parts = {0};
    bool changed = false;
    for (size_t k = 0; k < sets.count; k++) {
        const opf_gate_set *set = &sets.data[k];
        bool beside = stands_beside(set, &cut);
        opf_status status = beside ? opf_gates_slice(set, &parts) : set->whole ? opf_gates_cut(set, &parts) : OPF_OK;
        if (status != OPF_OK)
            return status;
        changed = changed || beside || set->whole;
        if (!beside)
            OPF_PUSH(graph->module->arena, &cut, *set);
    }
    for (size_t k = 0; k < sets.count; k++)
        opf_gates_remove_unread(&sets.data[k]);
    opf_status status = changed ? opf_graph_sort(graph) : OPF_OK;
    opf_graph_renumber(graph);
    return status;
}
