/* Which products are gates: what is cut into pieces, and who reads these. Pieces are known by the stages of what cuts them, so that a
 * Split, Slices, a Reshape and Gathers are all the same. */
#include <string.h>

#include "pass/gates.h"

enum {
    NARROWEST = 8,        /* columns of a piece that fill a vector */
    FURTHEST = 24,        /* operators from a piece that are looked at */
    MOST_READERS = 96,
    MOST_MOVES = 4,       /* operators between the whole and a piece */
    MOST_WEIGHTS = 1 << 22
};

/* ---- the pieces ---- */

static bool refuse(opf_gate_set *set, opf_gate_refusal why, const opf_node *blocker) {
    if (set->refusal == OPF_GATES_FIT) {
        set->refusal = why;
        set->blocker = blocker;
    }
    return false;
}

static int64_t last_size(const opf_value *value) {
    int64_t size = 0;
    return value->rank > 0 && opf_is_int(value->dims[value->rank - 1], &size) ? size : 0;
}

/* Where a value that is moved out of the whole lies in it: per axis of the whole, over the value's own axes. */
typedef struct opf_position { const opf_expr *index[OPF_MAX_RANK]; } opf_position;

static bool is_mover(const opf_node *node) {
    const opf_op *op = opf_node_op(node);
    return op && !node->held && !op->scalar && !(op->flags & (OPF_OP_STATEFUL | OPF_OP_LIBRARY | OPF_OP_CONTROL | OPF_OP_LISTS));
}

/* The position of a result whose every element is one of `value`, which lies at `from`. */
static bool moved(const opf_gate_set *set, const opf_call *call, int output, const opf_value *value, const opf_position *from, opf_position *to) {
    const opf_stage *stage = call->stages.list.data[call->results[output]];
    const opf_expr *load = stage->body;
    if (stage->combiner != OPF_COMBINE_NONE || load->kind != OPF_EXPR_LOAD || (size_t)load->index >= call->stages.inputs.count ||
        call->stages.inputs.data[load->index] != value || stage->dtype != OPF_FLOAT32)
        return false;
    for (int k = 0; k < set->whole->rank; k++)
        to->index[k] = opf_expr_simplify(call->pool, opf_expr_bind(call->pool, from->index[k], load->n_args, load->args), opf_stage_domain(stage));
    return true;
}

/* Columns of the whole, in their order and with all its rows: from which one on? -1: it is no piece. */
static int64_t piece_begin(const opf_gate_set *set, const opf_value *value, const opf_position *at) {
    opf_pool *pool = set->graph->module->pool;
    int last = set->whole->rank - 1;
    int64_t begin;
    if (value->rank != set->whole->rank)
        return -1;
    for (int k = 0; k < last; k++) {
        bool here = at->index[k] == opf_var(pool, k) || (opf_is_value(at->index[k], 0) && opf_is_value(value->dims[k], 1));
        if (!here || value->dims[k] != set->whole->dims[k])
            return -1;
    }
    return opf_is_int(opf_sub(pool, at->index[last], opf_var(pool, last)), &begin) ? begin : -1;
}

static bool add_piece(opf_gate_set *set, int64_t begin, opf_value *piece) {
    int64_t width = last_size(piece);
    if (width < NARROWEST)
        return refuse(set, OPF_GATES_NARROW, piece->producer);
    if (set->width && set->width != width)
        return refuse(set, OPF_GATES_WIDTHS, piece->producer);
    if (begin % width)
        return refuse(set, OPF_GATES_OVERLAP, piece->producer);
    if (begin / width >= OPF_GATES_MOST)
        return refuse(set, OPF_GATES_MANY, piece->producer);
    opf_value **place = &set->pieces[begin / width];
    if (*place)
        return refuse(set, OPF_GATES_OVERLAP, piece->producer);
    if (piece->is_output)
        return refuse(set, OPF_GATES_OUTPUT, piece->producer);
    set->width = width;
    *place = piece;
    set->count++;
    return true;
}

/* A node whose result is known from the sizes alone, such as Shape, reads no element. */
static bool asks_shape(const opf_node *node) {
    for (int k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] && !node->outputs[k]->content)
            return false;
    return true;
}

/* Follows all uses of a value that was moved out of the whole; false where one leads to anything but pieces. */
static bool follow(opf_gate_set *set, opf_value *value, const opf_position *at, int moves) {
    opf_arena *arena = set->graph->module->arena;
    bool any = false;
    for (size_t u = 0; u < value->uses.count; u++) {
        opf_node *user = value->uses.data[u].node;
        opf_call *call;
        if (asks_shape(user))
            continue;
        any = true;
        if (user->graph != set->graph || !is_mover(user) || opf_op_stages(&call, user) != OPF_OK)
            return refuse(set, moves > 1 ? OPF_GATES_COLUMNS : OPF_GATES_WHOLE, moves > 1 ? value->producer : user);
        OPF_PUSH(arena, &set->nodes, user);
        for (int k = 0; k < user->n_outputs; k++) {
            opf_value *output = user->outputs[k];
            opf_position to;
            if (!output || call->results[k] < 0 || !moved(set, call, k, value, at, &to))
                return refuse(set, moves > 1 ? OPF_GATES_COLUMNS : OPF_GATES_WHOLE, moves > 1 ? value->producer : user);
            int64_t begin = piece_begin(set, output, &to);
            if (begin >= 0 ? !add_piece(set, begin, output) : moves == MOST_MOVES || output->is_output || !follow(set, output, &to, moves + 1))
                return refuse(set, OPF_GATES_COLUMNS, user);
        }
    }
    return any;
}

static bool find_pieces(opf_gate_set *set) {
    opf_position whole;
    for (int k = 0; k < set->whole->rank; k++)
        whole.index[k] = opf_var(set->graph->module->pool, k);
    if (set->whole->is_output)
        return refuse(set, OPF_GATES_OUTPUT, set->whole->producer);
    bool all = follow(set, set->whole, &whole, 1) && set->count > 1 && set->count * set->width == last_size(set->whole);
    return all || refuse(set, OPF_GATES_REST, set->whole->uses.count ? set->whole->uses.data[0].node : NULL);
}

/* ---- the products ---- */

static bool is_product(const opf_node *node) {
    bool matmul = strcmp(node->op, "MatMul") == 0, gemm = strcmp(node->op, "Gemm") == 0;
    if (node->domain[0] || node->held || (!matmul && !gemm) || node->inputs[0]->rank < 2 || node->inputs[1]->rank != 2)
        return false;
    const opf_value *bias = node->n_inputs > 2 ? node->inputs[2] : NULL;
    return !bias || (bias->constant && bias->rank == 1);
}

bool opf_gates_is_product(const opf_node *node) {
    if (!is_product(node))
        return false;
    const opf_tensor *weights = node->inputs[1]->constant;
    return weights && weights->elements <= MOST_WEIGHTS && !weights->scaling && weights->dtype == OPF_FLOAT32;
}

bool opf_gates_is_later(const opf_node *a, const opf_node *b) {
    const opf_node *first = a->inputs[0]->producer, *second = b->inputs[0]->producer;
    int known = first && first->graph == a->graph ? first->id : -1, then = second && second->graph == b->graph ? second->id : -1;
    return known != then ? known > then : a->id > b->id;
}

bool opf_gates_is_sum(const opf_gate_set *set, const opf_value *value) {
    const opf_node *node = value->producer;
    return node && node->graph == set->graph && strcmp(node->op, "Add") == 0 && !node->domain[0] && !node->held &&
           (value == set->whole || opf_value_has_single_use(value));
}

static void add_product(opf_gate_set *set, opf_node *node) {
    if (set->n_products == OPF_GATES_TERMS)
        return;
    set->products[set->n_products++] = node;
    OPF_PUSH(set->graph->module->arena, &set->nodes, node);
    if (!set->last || opf_gates_is_later(node, set->last))
        set->last = node;
}

/* Whatever is added has all the columns, or one for all. */
static bool find_products(opf_gate_set *set, opf_value *value) {
    opf_node *node = value->producer;
    if (opf_gates_is_sum(set, value)) {
        OPF_PUSH(set->graph->module->arena, &set->nodes, node);
        return find_products(set, node->inputs[0]) && find_products(set, node->inputs[1]);
    }
    bool all = last_size(value) == last_size(set->whole), own = value == set->whole || opf_value_has_single_use(value);
    if (all && own && node && node->graph == set->graph && opf_gates_is_product(node))
        add_product(set, node);
    return all || value->rank == 0 || last_size(value) == 1;
}

/* ---- who reads the pieces ---- */

static bool is_element_wise(const opf_node *node, const opf_value *like) {
    const opf_op *op = opf_node_op(node);
    return op && op->scalar && !node->held && node->graph == like->graph && node->n_outputs == 1 && node->outputs[0] && opf_value_same_shape(node->outputs[0], like);
}

static void add_readers(opf_gate_set *set, const opf_value *value, int further) {
    for (size_t u = 0; u < value->uses.count && further > 0; u++) {
        const opf_node *user = value->uses.data[u].node;
        bool known = !is_element_wise(user, value) || set->readers.count == MOST_READERS;
        for (size_t k = 0; !known && k < set->readers.count; k++)
            known = set->readers.data[k] == user;
        if (known)
            continue;
        OPF_PUSH(set->graph->module->arena, &set->readers, user);
        add_readers(set, user->outputs[0], further - 1);
    }
}

/* Nothing but element-wise work of their own shape reads the pieces. */
static bool find_readers(opf_gate_set *set) {
    for (int k = 0; k < set->count; k++) {
        const opf_value *piece = set->pieces[k];
        for (size_t u = 0; u < piece->uses.count; u++)
            if (!is_element_wise(piece->uses.data[u].node, piece))
                return refuse(set, OPF_GATES_READERS, piece->uses.data[u].node);
        if (piece->uses.count == 0)
            return refuse(set, OPF_GATES_REST, piece->producer);
        if (piece->is_output)
            return refuse(set, OPF_GATES_OUTPUT, piece->producer);
        add_readers(set, piece, FURTHEST);
    }
    return true;
}

/* ---- sets ---- */

/* The first product of the sum, known or not; NULL: there is none. */
static const opf_node *product_in(const opf_gate_set *set, const opf_value *value) {
    const opf_node *node = value->producer;
    if (opf_gates_is_sum(set, value)) {
        const opf_node *first = product_in(set, node->inputs[0]);
        return first ? first : product_in(set, node->inputs[1]);
    }
    return node && node->graph == set->graph && is_product(node) ? node : NULL;
}

/* Values that are some of the elements, through operators that only give all of them another shape or order; how many of these are
 * worked on as they are. */
typedef struct opf_gate_cuts { int cuts, used; } opf_gate_cuts;

static bool is_worked_on(const opf_value *value) {
    for (size_t u = 0; u < value->uses.count; u++) {
        const opf_op *op = opf_node_op(value->uses.data[u].node);
        if ((op && op->scalar) || is_product(value->uses.data[u].node))
            return true;
    }
    return value->is_output;
}

static void count_cuts(const opf_value *value, int moves, opf_gate_cuts *counted) {
    for (size_t u = 0; u < value->uses.count; u++) {
        opf_node *user = value->uses.data[u].node;
        opf_call *call;
        if (user->graph != value->graph || !is_mover(user) || user->inputs[0] != value || opf_op_stages(&call, user) != OPF_OK)
            continue;
        for (int k = 0; k < user->n_outputs; k++) {
            const opf_value *output = user->outputs[k];
            const opf_stage *stage = output && call->results[k] >= 0 ? call->stages.list.data[call->results[k]] : NULL;
            if (!stage || stage->combiner != OPF_COMBINE_NONE || stage->body->kind != OPF_EXPR_LOAD)
                continue;
            if (opf_value_elements(output) != opf_value_elements(value)) {
                counted->cuts++;
                counted->used += is_worked_on(output);
            } else if (moves < MOST_MOVES) {
                count_cuts(output, moves + 1, counted);
            }
        }
    }
}

/* Cut into pieces that are worked on, unlike the queries, keys and values of an attention, whose heads are taken apart first. */
static bool looks_like_gates(const opf_gate_set *set) {
    opf_gate_cuts counted = {0};
    count_cuts(set->whole, 1, &counted);
    return counted.cuts > 1 && counted.used > 0;
}

bool opf_gates_find_cut(opf_graph *graph, opf_value *whole, opf_gate_set *set) {
    *set = (opf_gate_set){.graph = graph, .whole = whole};
    const opf_node *product = whole->dtype == OPF_FLOAT32 && whole->rank >= 2 ? product_in(set, whole) : NULL;
    if (!product)
        return false;
    if (find_pieces(set) && find_readers(set)) {
        if (!find_products(set, whole))
            refuse(set, OPF_GATES_ADDED, whole->producer);
        else if (set->n_products == 0)
            refuse(set, OPF_GATES_CONSTANTS, product);
    }
    if (set->refusal != OPF_GATES_FIT && looks_like_gates(set))
        opf_gates_note(product, set);
    return set->refusal == OPF_GATES_FIT;
}

static bool same_attributes(const opf_node *a, const opf_node *b) {
    return opf_node_int(a, "transA", 0) == opf_node_int(b, "transA", 0) && opf_node_int(a, "transB", 0) == opf_node_int(b, "transB", 0) &&
           opf_node_float(a, "alpha", 1) == opf_node_float(b, "alpha", 1) && opf_node_float(a, "beta", 1) == opf_node_float(b, "beta", 1);
}

static bool are_alike(const opf_node *a, const opf_node *b) {
    const opf_tensor *first = a->inputs[1]->constant, *second = b->inputs[1]->constant;
    return a->op == b->op && same_attributes(a, b) && opf_gates_has_bias(a) == opf_gates_has_bias(b) && first->dims[0] == second->dims[0] && first->dims[1] == second->dims[1];
}

bool opf_gates_find_apart(opf_graph *graph, opf_value *operand, opf_gate_set *set) {
    *set = (opf_gate_set){.graph = graph};
    for (size_t u = 0; u < operand->uses.count; u++) {
        opf_node *node = operand->uses.data[u].node;
        if (node->graph != graph || operand->uses.data[u].input != 0 || !opf_gates_is_product(node) || node->outputs[0]->dtype != OPF_FLOAT32)
            continue;
        if (set->count == OPF_GATES_MOST || (set->count && !are_alike(node, set->products[0])))
            return false;
        set->pieces[set->count++] = node->outputs[0];
        add_product(set, node);
    }
    set->width = set->count ? last_size(set->pieces[0]) : 0;
    return set->count > 1 && set->width >= NARROWEST && find_readers(set);
}
