/* The changes of the pass `gates`: parts of constants, products of their own, slices. */
#include <string.h>

#include "pass/gates.h"

enum { SLICE_VERSION = 10 /* from which on a Slice has its bounds as inputs */ };

/* ---- nodes ---- */

/* NULL: it could not be typed. */
static opf_value *new_node(const opf_gate_set *set, const opf_node *from, const char *op, int version, int n_inputs, opf_value *const *inputs) {
    opf_node *node = opf_node_new(set->graph, from->name, op, "", version, n_inputs, 1);
    for (int k = 0; k < n_inputs; k++)
        opf_node_set_input(node, k, inputs[k]);
    opf_node_set_output(node, 0, opf_value_new(set->graph, NULL));
    opf_node_origins_add(node, from);
    node->attrs = strcmp(op, from->op) == 0 ? from->attrs : NULL;
    node->n_attrs = node->attrs ? from->n_attrs : 0;
    return opf_node_type(node) == OPF_OK ? node->outputs[0] : NULL;
}

static opf_value *int_constant(const opf_gate_set *set, int64_t number) { return opf_constant_ints(set->graph, 1, &number); }

static opf_value *sliced(const opf_gate_set *set, const opf_node *from, opf_value *value, int piece) {
    opf_value *const inputs[] = {value, int_constant(set, piece * set->width), int_constant(set, (piece + 1) * set->width), int_constant(set, value->rank - 1)};
    return new_node(set, from, "Slice", from->opset < SLICE_VERSION ? SLICE_VERSION : from->opset, 4, inputs);
}

/* ---- constants ---- */

static opf_value *known_part(const opf_gate_parts *parts, const opf_gate_part *wanted) {
    for (size_t k = 0; k < parts->list.count; k++) {
        const opf_gate_part *part = &parts->list.data[k];
        if (part->count == wanted->count && part->axis == wanted->axis && part->piece == wanted->piece && memcmp(part->from, wanted->from, sizeof part->from) == 0)
            return part->made;
    }
    return NULL;
}

static opf_value *add_part(const opf_gate_set *set, opf_gate_parts *parts, opf_gate_part part, opf_value *made) {
    part.made = made;
    OPF_PUSH(set->graph->module->arena, &parts->list, part);
    return made;
}

static int64_t elements_behind(const opf_tensor *tensor, int axis) {
    int64_t inner = 1;
    for (int k = axis + 1; k < tensor->rank; k++)
        inner *= tensor->dims[k];
    return inner;
}

/* Elements of a constant whose position along `axis` belongs to the piece. */
static opf_value *part_of(const opf_gate_set *set, opf_gate_parts *parts, const opf_value *value, int axis, int piece) {
    opf_gate_part part = {.from = {value}, .count = 1, .axis = axis, .piece = piece};
    opf_value *known = known_part(parts, &part);
    if (known)
        return known;
    const opf_tensor *tensor = value->constant;
    int64_t dims[OPF_MAX_RANK], inner = elements_behind(tensor, axis), extent = tensor->dims[axis], n = 0;
    for (int k = 0; k < tensor->rank; k++)
        dims[k] = k == axis ? set->width : tensor->dims[k];
    double *numbers = OPF_ARRAY(set->graph->module->arena, double, tensor->elements / extent * set->width + 1);
    for (int64_t i = 0; i < tensor->elements; i++)
        if (i / inner % extent / set->width == piece)
            numbers[n++] = opf_tensor_get(tensor, i);
    return add_part(set, parts, part, opf_constant_like(set->graph, tensor->dtype, tensor->rank, dims, numbers));
}

/* The constants that the products have as this input, one behind the other along `axis`; of one element: that for all columns. */
static opf_value *joined(const opf_gate_set *set, opf_gate_parts *parts, int input, int axis) {
    opf_gate_part part = {.count = set->count, .axis = axis, .piece = -1};
    for (int k = 0; k < set->count; k++)
        part.from[k] = set->products[k]->inputs[input];
    opf_value *known = known_part(parts, &part);
    if (known)
        return known;
    const opf_tensor *first = part.from[0]->constant;
    int64_t dims[OPF_MAX_RANK], elements = set->width, all = set->width * set->count;
    for (int k = 0; k < first->rank; k++) {
        dims[k] = k == axis ? all : first->dims[k];
        elements *= k == axis ? 1 : first->dims[k];
    }
    int64_t inner = elements_behind(first, axis);
    double *numbers = OPF_ARRAY(set->graph->module->arena, double, elements * set->count + 1);
    for (int k = 0; k < set->count; k++) {
        const opf_tensor *tensor = part.from[k]->constant;
        for (int64_t i = 0; i < elements; i++)
            numbers[(i / inner / set->width * all + k * set->width + i / inner % set->width) * inner + i % inner] =
                opf_tensor_get(tensor, tensor->elements == 1 ? 0 : i);
    }
    return add_part(set, parts, part, opf_constant_like(set->graph, first->dtype, first->rank, dims, numbers));
}

/* ---- pieces ---- */

static int column_axis(const opf_node *product) { return opf_node_int(product, "transB", 0) ? 0 : 1; }

static opf_value *product_piece(const opf_gate_set *set, opf_gate_parts *parts, const opf_node *product, int piece) {
    opf_value *inputs[3] = {product->inputs[0], part_of(set, parts, product->inputs[1], column_axis(product), piece), NULL};
    if (opf_gates_has_bias(product))
        inputs[2] = product->inputs[2]->constant->elements == 1 ? product->inputs[2] : part_of(set, parts, product->inputs[2], 0, piece);
    return new_node(set, product, product->op, product->opset, opf_gates_has_bias(product) ? 3 : 2, inputs);
}

static bool holds(const opf_gate_set *set, const opf_value *value, const opf_node *product) {
    if (value->producer == product)
        return true;
    return opf_gates_is_sum(set, value) && (holds(set, value->producer->inputs[0], product) || holds(set, value->producer->inputs[1], product));
}

static bool has_columns(const opf_value *value) { return value->rank > 0 && !opf_is_value(value->dims[value->rank - 1], 1); }

/* The piece of what a term of the sum gives; NULL: it could not be typed. */
static opf_value *piece_of(const opf_gate_set *set, opf_gate_parts *parts, opf_value *value, int piece) {
    if (value->producer && value->producer == set->last)
        return product_piece(set, parts, value->producer, piece);
    if (holds(set, value, set->last)) {
        opf_value *const terms[] = {piece_of(set, parts, value->producer->inputs[0], piece), piece_of(set, parts, value->producer->inputs[1], piece)};
        return terms[0] && terms[1] ? new_node(set, value->producer, "Add", value->producer->opset, 2, terms) : NULL;
    }
    if (!has_columns(value))
        return value;
    return value->constant ? part_of(set, parts, value, value->rank - 1, piece) : sliced(set, set->whole->producer, value, piece);
}

/* The pieces stay the values that they are, with their names, and come from new nodes. */
static opf_status replace_pieces(const opf_gate_set *set, opf_value *const *made) {
    for (int k = 0; k < set->count; k++)
        if (!made[k])
            return OPF_ERROR_INTERNAL;
    for (int k = 0; k < set->count; k++) {
        opf_node *from = set->pieces[k]->producer;
        int output = set->pieces[k]->producer_output;
        opf_node_set_output(made[k]->producer, 0, set->pieces[k]);
        opf_node_set_output(from, output, made[k]);
    }
    return OPF_OK;
}

opf_status opf_gates_cut(const opf_gate_set *set, opf_gate_parts *parts) {
    opf_value *made[OPF_GATES_MOST];
    for (int k = 0; k < set->count; k++)
        made[k] = piece_of(set, parts, set->whole, k);
    return replace_pieces(set, made);
}

static opf_value *join_products(const opf_gate_set *set, opf_gate_parts *parts) {
    const opf_node *first = set->products[0];
    opf_value *inputs[3] = {first->inputs[0], joined(set, parts, 1, column_axis(first)), NULL};
    if (opf_gates_has_bias(first))
        inputs[2] = joined(set, parts, 2, 0);
    opf_value *whole = new_node(set, first, first->op, first->opset, opf_gates_has_bias(first) ? 3 : 2, inputs);
    for (int k = 1; whole && k < set->count; k++)
        opf_node_origins_add(whole->producer, set->products[k]);
    return whole;
}

opf_status opf_gates_slice(const opf_gate_set *set, opf_gate_parts *parts) {
    opf_value *made[OPF_GATES_MOST] = {NULL}, *whole = set->whole ? set->whole : join_products(set, parts);
    for (int k = 0; whole && k < set->count; k++)
        made[k] = sliced(set, set->pieces[k]->producer, whole, k);
    return replace_pieces(set, made);
}

void opf_gates_remove_unread(const opf_gate_set *set) {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < set->nodes.count; i++) {
            opf_node *node = set->nodes.data[i];
            bool read = !node->graph;
            for (int k = 0; k < node->n_outputs; k++)
                read = read || (node->outputs[k] && (node->outputs[k]->uses.count || node->outputs[k]->is_output));
            if (read)
                continue;
            opf_pass_remove(node, "its pieces are computed or read one by one, where they meet", NULL);
            changed = true;
        }
    }
}
