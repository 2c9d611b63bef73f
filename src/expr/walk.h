/* Walks over the distinct sub-expressions of one expression, operands before users, without recursion. Private to
 * src/expr. */
#ifndef OPF_EXPR_WALK_H
#define OPF_EXPR_WALK_H

#include "expr/poly.h"

enum { OPF_WALK_INLINE = 48 };

typedef struct opf_walk_entry {
    const opf_expr *e, *result; /* result: for the walk's user */
} opf_walk_entry;

typedef struct opf_walk {
    bool by_atoms;              /* sums and products are one step: their atoms come before them, partial sums do not */
    uint64_t vars;              /* only sub-expressions with one of these variables … */
    uint32_t flags;             /* … or of these flags are entered */
    const opf_map *known;       /* sub-expressions that are keys here are not entered */
    opf_walk_entry *entries;    /* in order of discovery */
    uint32_t *order;            /* positions in entries, operands first */
    size_t count, n_ordered, capacity;
    uint32_t *slots;            /* position + 1, by id */
    size_t n_slots;
    struct opf_walk_frame *stack;
    size_t depth, stack_capacity;
    opf_walk_entry inline_entries[OPF_WALK_INLINE];
    uint32_t inline_order[OPF_WALK_INLINE];
    uint32_t inline_slots[128];
} opf_walk;

void opf_walk_init(opf_walk *walk);  /* enters everything, by plain operands; set fields before opf_walk_from */
void opf_walk_from(opf_walk *walk, const opf_expr *root);
void opf_walk_free(opf_walk *walk);
opf_walk_entry *opf_walk_find(const opf_walk *walk, const opf_expr *e); /* NULL where it was not entered */
/* The result noted for e, or e itself. */
const opf_expr *opf_walk_result(const opf_walk *walk, const opf_expr *e);
/* e over the results of its operands (or atoms), through the constructors; e itself where none changed. */
const opf_expr *opf_walk_rebuild(const opf_walk *walk, opf_pool *pool, const opf_expr *e);

#endif
