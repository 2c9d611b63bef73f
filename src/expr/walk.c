/* Iterative walks and what is built on them: visiting, mapping, binding. */
#include "expr/walk.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 128 }; /* a power of two, within inline_slots */

typedef struct opf_walk_frame { const opf_expr *e; bool operands_done; } opf_walk_frame;

void opf_walk_init(opf_walk *walk) {
    walk->by_atoms = false;
    walk->vars = 0;
    walk->flags = 0;
    walk->known = NULL;
    walk->entries = walk->inline_entries;
    walk->order = walk->inline_order;
    walk->slots = walk->inline_slots;
    walk->count = walk->n_ordered = 0;
    walk->capacity = OPF_WALK_INLINE;
    walk->n_slots = 0;
    walk->stack = NULL;
    walk->depth = walk->stack_capacity = 0;
}

void opf_walk_free(opf_walk *walk) {
    if (walk->entries != walk->inline_entries) free(walk->entries);
    if (walk->order != walk->inline_order) free(walk->order);
    if (walk->slots != walk->inline_slots) free(walk->slots);
    free(walk->stack);
}

static void *grown(void *data, const void *fixed, size_t old_bytes, size_t bytes) {
    void *out = data == fixed ? malloc(bytes) : realloc(data, bytes);
    if (!out) opf_out_of_memory();
    if (data == fixed && fixed) memcpy(out, data, old_bytes);
    return out;
}

static size_t slot_of(const opf_walk *walk, const opf_expr *e) {
    size_t at = (e->id * UINT32_C(0x9E3779B1) >> 7) & (walk->n_slots - 1);
    while (walk->slots[at] && walk->entries[walk->slots[at] - 1].e != e) at = (at + 1) & (walk->n_slots - 1);
    return at;
}

opf_walk_entry *opf_walk_find(const opf_walk *walk, const opf_expr *e) {
    if (!walk->n_slots) return NULL;
    size_t at = slot_of(walk, e);
    return walk->slots[at] ? &walk->entries[walk->slots[at] - 1] : NULL;
}

static void rehash(opf_walk *walk, size_t n_slots) {
    if (n_slots <= FIRST_SLOTS) walk->slots = walk->inline_slots;
    else walk->slots = grown(walk->slots, walk->inline_slots, 0, n_slots * sizeof *walk->slots);
    memset(walk->slots, 0, n_slots * sizeof *walk->slots);
    walk->n_slots = n_slots;
    for (size_t i = 0; i < walk->count; i++) walk->slots[slot_of(walk, walk->entries[i].e)] = (uint32_t)i + 1;
}

static bool enters(const opf_walk *walk, const opf_expr *e) {
    if (walk->known && opf_map_has(walk->known, e)) return false;
    if (!walk->vars && !walk->flags) return true;
    return (opf_meta(e)->vars & walk->vars) || (opf_meta(e)->flags & walk->flags);
}

static void push(opf_walk *walk, const opf_expr *e, bool operands_done) {
    if (walk->depth == walk->stack_capacity) {
        walk->stack_capacity = walk->stack_capacity ? walk->stack_capacity * 2 : 32;
        walk->stack = grown(walk->stack, NULL, 0, walk->stack_capacity * sizeof *walk->stack);
    }
    walk->stack[walk->depth++] = (opf_walk_frame){e, operands_done};
}

static void push_operand(const opf_expr *e, void *data) {
    opf_walk *walk = data;
    if (enters(walk, e) && !opf_walk_find(walk, e)) push(walk, e, false);
}

/* Is e one step of the walk by its atoms? A sum that is an atom of itself (too long) is not. */
static void not_itself(const opf_expr *atom, void *data) {
    const opf_expr **e = data;
    if (atom == *e) *e = NULL;
}

static bool is_step(const opf_walk *walk, const opf_expr *e) {
    if (!walk->by_atoms || !opf_is_poly(e)) return false;
    opf_poly_atoms(e, not_itself, &e);
    return e != NULL;
}

static void discover(opf_walk *walk, const opf_expr *e) {
    if (walk->count == walk->capacity) {
        size_t old = walk->capacity;
        walk->capacity *= 2;
        walk->entries = grown(walk->entries, walk->inline_entries, old * sizeof *walk->entries, walk->capacity * sizeof *walk->entries);
        walk->order = grown(walk->order, walk->inline_order, old * sizeof *walk->order, walk->capacity * sizeof *walk->order);
    }
    if ((walk->count + 1) * 2 > walk->n_slots) rehash(walk, walk->n_slots ? walk->n_slots * 2 : FIRST_SLOTS);
    walk->entries[walk->count] = (opf_walk_entry){e, NULL};
    walk->slots[slot_of(walk, e)] = (uint32_t)++walk->count;
    push(walk, e, true);
    if (is_step(walk, e)) {
        opf_poly_atoms(e, push_operand, walk);
        return;
    }
    for (int i = e->n_args - 1; i >= 0; i--) push_operand(e->args[i], walk);
}

void opf_walk_from(opf_walk *walk, const opf_expr *root) {
    push_operand(root, walk);
    while (walk->depth) {
        opf_walk_frame frame = walk->stack[--walk->depth];
        if (frame.operands_done) walk->order[walk->n_ordered++] = (uint32_t)(opf_walk_find(walk, frame.e) - walk->entries);
        else if (!opf_walk_find(walk, frame.e)) discover(walk, frame.e);
    }
}

/* ---- rebuilding ---- */

const opf_expr *opf_walk_result(const opf_walk *walk, const opf_expr *e) {
    if (walk->known) {
        const opf_expr *known = opf_map_get(walk->known, e);
        if (known) return known;
    }
    const opf_walk_entry *entry = opf_walk_find(walk, e);
    return entry && entry->result ? entry->result : e;
}

static const opf_expr *rebuild_poly(const opf_walk *walk, opf_pool *pool, const opf_expr *e) {
    opf_poly poly, total;
    const opf_expr *factors[OPF_MONOMIAL_MAX];
    bool changed = false;
    opf_poly_from(&poly, e);
    opf_poly_init(&total, poly.dtype);
    opf_poly_add_term(&total, NULL, poly.constant);
    for (int i = 0; i < poly.count; i++) {
        int count = opf_monomial_factors(poly.terms[i].monomial, factors);
        const opf_expr *product = NULL;
        bool same = true;
        for (int k = 0; k < count; k++) same = same && opf_walk_result(walk, factors[k]) == factors[k];
        changed = changed || !same;
        if (same) {
            opf_poly_add_term(&total, poly.terms[i].monomial, poly.terms[i].coefficient);
            continue;
        }
        for (int k = 0; k < count; k++) {
            const opf_expr *factor = opf_walk_result(walk, factors[k]);
            product = product ? opf_mul(pool, product, factor) : factor;
        }
        opf_poly_add_expr(&total, product, poly.terms[i].coefficient);
    }
    const opf_expr *result = changed ? opf_poly_build(pool, &total) : e;
    opf_poly_free(&poly);
    opf_poly_free(&total);
    return result;
}

const opf_expr *opf_walk_rebuild(const opf_walk *walk, opf_pool *pool, const opf_expr *e) {
    if (e->n_args == 0) return e;
    if (is_step(walk, e)) return rebuild_poly(walk, pool, e);
    const opf_expr *args[UINT8_MAX];
    bool changed = false;
    for (int i = 0; i < e->n_args; i++) {
        args[i] = opf_walk_result(walk, e->args[i]);
        changed |= args[i] != e->args[i];
    }
    if (!changed) return e;
    switch (e->kind) {
    case OPF_EXPR_LOAD: return opf_load(pool, (opf_dtype)e->dtype, e->index, e->n_args, args);
    case OPF_EXPR_UNARY: return opf_unary(pool, (opf_scalar_op)e->op, args[0]);
    case OPF_EXPR_BINARY: return opf_binary(pool, (opf_scalar_op)e->op, args[0], args[1]);
    case OPF_EXPR_SELECT: return opf_select(pool, args[0], args[1], args[2]);
    default: return opf_cast(pool, (opf_dtype)e->dtype, args[0]);
    }
}

/* ---- visiting ---- */

bool opf_expr_visit(const opf_pool *pool, const opf_expr *e, opf_expr_visitor visit, void *data) {
    (void)pool;
    opf_walk walk;
    opf_walk_init(&walk);
    opf_walk_from(&walk, e);
    bool go_on = true;
    for (size_t i = 0; go_on && i < walk.n_ordered; i++) go_on = visit(walk.entries[walk.order[i]].e, data);
    opf_walk_free(&walk);
    return go_on;
}

/* ---- mapping ---- */

static const opf_expr *run_map(opf_walk *walk, opf_pool *pool, const opf_expr *e, opf_expr_mapper map, void *data) {
    walk->by_atoms = true;
    opf_walk_from(walk, e);
    for (size_t i = 0; i < walk->n_ordered; i++) {
        opf_walk_entry *entry = &walk->entries[walk->order[i]];
        const opf_expr *rebuilt = opf_walk_rebuild(walk, pool, entry->e);
        bool leaf = entry->e->kind == OPF_EXPR_VAR || entry->e->kind == OPF_EXPR_SYMBOL || entry->e->kind == OPF_EXPR_LOAD;
        const opf_expr *replacement = leaf ? map(pool, rebuilt, data) : NULL;
        assert(!replacement || replacement->dtype == entry->e->dtype);
        entry->result = replacement ? replacement : rebuilt;
    }
    const opf_expr *result = opf_walk_result(walk, e);
    opf_walk_free(walk);
    return result;
}

const opf_expr *opf_expr_map(opf_pool *pool, const opf_expr *e, opf_expr_mapper map, void *data) {
    opf_walk walk;
    opf_walk_init(&walk);
    walk.vars = UINT64_MAX;
    walk.flags = OPF_NODE_HAS_LOAD | OPF_NODE_HAS_SYMBOL;
    return run_map(&walk, pool, e, map, data);
}

typedef struct opf_binding { int count; const opf_expr *const *values; } opf_binding;

static const opf_expr *bind_variable(opf_pool *pool, const opf_expr *leaf, void *data) {
    const opf_binding *binding = data;
    (void)pool;
    return leaf->kind == OPF_EXPR_VAR && leaf->index < binding->count ? binding->values[leaf->index] : NULL;
}

static const opf_expr *bind_symbol(opf_pool *pool, const opf_expr *leaf, void *data) {
    const opf_binding *binding = data;
    (void)pool;
    return leaf->kind == OPF_EXPR_SYMBOL && leaf->symbol->index < binding->count ? binding->values[leaf->symbol->index] : NULL;
}

const opf_expr *opf_expr_bind(opf_pool *pool, const opf_expr *e, int count, const opf_expr *const *variables) {
    opf_walk walk;
    opf_walk_init(&walk);
    for (int i = 0; i < count; i++)
        if (variables[i]) walk.vars |= UINT64_C(1) << (i < 63 ? i : 63);
    if (!walk.vars) return e;
    return run_map(&walk, pool, e, bind_variable, &(opf_binding){count, variables});
}

const opf_expr *opf_expr_bind_symbols(opf_pool *pool, const opf_expr *e, int count, const opf_expr *const *symbols) {
    opf_walk walk;
    opf_walk_init(&walk);
    walk.flags = OPF_NODE_HAS_SYMBOL;
    return run_map(&walk, pool, e, bind_symbol, &(opf_binding){count, symbols});
}

/* ---- questions ---- */

bool opf_expr_has_load(const opf_expr *e) { return opf_expr_is_data(e); }

static bool is_direct(const opf_expr *e, void *data) {
    (void)data;
    for (int k = 0; e->kind == OPF_EXPR_LOAD && k < e->n_args; k++)
        if (opf_expr_has_load(e->args[k])) return false;
    return true;
}

bool opf_expr_picks(const opf_expr *e) { return !opf_expr_visit(NULL, e, is_direct, NULL); }
uint64_t opf_expr_vars(const opf_expr *e) { return opf_meta(e)->vars; }

static bool other_variable(const opf_expr *e, void *data) { return e->kind != OPF_EXPR_VAR || e->index != *(int *)data; }

bool opf_expr_has_var(const opf_expr *e, int variable) {
    if (variable < 63) return opf_meta(e)->vars >> variable & 1;
    return opf_meta(e)->vars >> 63 && !opf_expr_visit(NULL, e, other_variable, &variable);
}
