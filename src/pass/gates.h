/* Between the files of the pass `gates`: gates_find.c, gates_edit.c, gates.c. */
#ifndef OPF_PASS_GATES_H
#define OPF_PASS_GATES_H

#include "pass/edit.h"

enum {
    OPF_GATES_MOST = 4,   /* pieces: what one register tile computes side by side */
    OPF_GATES_TERMS = 6   /* products of one sum */
};

/* Why pieces are no gates. */
typedef enum opf_gate_refusal {
    OPF_GATES_FIT, OPF_GATES_CONSTANTS, OPF_GATES_WIDTHS, OPF_GATES_NARROW, OPF_GATES_MANY, OPF_GATES_OVERLAP, OPF_GATES_COLUMNS, OPF_GATES_REST,
    OPF_GATES_WHOLE, OPF_GATES_OUTPUT, OPF_GATES_READERS, OPF_GATES_ADDED
} opf_gate_refusal;

/* Products of one operand with constant weights whose results are read element by element: one whose columns are cut into equal
 * pieces, or several of equal widths. */
typedef struct opf_gate_set {
    opf_graph *graph;
    opf_value *whole;          /* what is cut along its last axis; NULL: the products stand apart, a piece each */
    int count;
    int64_t width;             /* columns of a piece */
    opf_value *pieces[OPF_GATES_MOST];
    opf_node *products[OPF_GATES_TERMS]; /* that the whole is the sum of; or those that stand apart, piece by piece */
    int n_products;
    opf_node *last;            /* of the products the one whose operand is known last: the one that is cut */
    OPF_VEC(opf_node *) nodes; /* from the products to the pieces: unread once these are replaced */
    OPF_VEC(const opf_node *) readers; /* element-wise work on pieces, as far as is looked at */
    opf_gate_refusal refusal;  /* where there is none such */
    const opf_node *blocker;   /* the node in the way */
} opf_gate_set;

static inline bool opf_gates_has_bias(const opf_node *product) { return product->n_inputs > 2 && product->inputs[2]; }

/* ---- gates_find.c ---- */
/* The product with a constant matrix, its second operand, that the node is; nothing is added to it but a constant row. */
bool opf_gates_is_product(const opf_node *node);
/* The set of the value's pieces; of the value's readers that are products. False where there is none; nodes that come close are
 * noted. */
bool opf_gates_find_cut(opf_graph *graph, opf_value *whole, opf_gate_set *set);
bool opf_gates_find_apart(opf_graph *graph, opf_value *operand, opf_gate_set *set);
/* Is the value a term that is summed up on the way to `set->whole`, and read by nothing else? */
bool opf_gates_is_sum(const opf_gate_set *set, const opf_value *value);
/* Is the operand of `a` known later than that of `b`? */
bool opf_gates_is_later(const opf_node *a, const opf_node *b);

/* ---- gates_refusals.c ---- */
/* The product's result is cut into pieces that are no gates: says why, and what would make them such. */
void opf_gates_note(const opf_node *product, const opf_gate_set *set);

/* ---- gates_edit.c ---- */
/* Parts of constants, and constants side by side, that were made in this graph: steps that are written one behind the other share
 * their weights. */
typedef struct opf_gate_part { const opf_value *from[OPF_GATES_MOST]; int count, axis, piece; opf_value *made; } opf_gate_part;
typedef struct opf_gate_parts { OPF_VEC(opf_gate_part) list; } opf_gate_parts;

/* Each piece from a product of its own. */
opf_status opf_gates_cut(const opf_gate_set *set, opf_gate_parts *parts);
/* Each piece read where it lies in the whole; products that stand apart become one first. */
opf_status opf_gates_slice(const opf_gate_set *set, opf_gate_parts *parts);
/* Takes out what nothing reads any more. */
void opf_gates_remove_unread(const opf_gate_set *set);

#endif
