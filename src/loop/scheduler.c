/* Variables, buffers and lists of axes of the scheduler. */
#include "loop/scheduler.h"

/* ---- variables ---- */

int opf_variable_new(opf_scheduler *s, const char *name, opf_dim extent) {
    OPF_PUSH(s->arena, &s->nest->variables, (opf_nest_variable){name, extent});
    return (int)s->nest->variables.count - 1;
}

/* ---- what is known where an expression is evaluated ---- */

typedef struct extent_list { const opf_nest *nest; const opf_expr **extents; int count; } extent_list;

static bool take_extent(const opf_expr *e, void *data) {
    extent_list *list = data;
    if (e->kind != OPF_EXPR_VAR) return true;
    list->extents[e->index] = list->nest->variables.data[e->index].extent;
    if (e->index >= list->count) list->count = e->index + 1;
    return true;
}

opf_domain opf_nest_domain(const opf_nest *nest, const opf_expr *a, const opf_expr *b) {
    size_t count = nest->variables.count;
    extent_list list = {nest, OPF_ARRAY(opf_pool_arena(nest->pool), const opf_expr *, count + 1), 0};
    for (size_t i = 0; i < count; i++) list.extents[i] = opf_int(nest->pool, 1);
    opf_expr_visit(nest->pool, a, take_extent, &list);
    if (b) opf_expr_visit(nest->pool, b, take_extent, &list);
    return (opf_domain){list.count, list.extents};
}

const opf_expr *opf_simple(opf_scheduler *s, const opf_expr *e) { return opf_expr_simplify(s->pool, e, opf_nest_domain(s->nest, e, NULL)); }

bool opf_proves_le(opf_scheduler *s, const opf_expr *a, const opf_expr *b) { return opf_expr_prove_le(s->pool, a, b, opf_nest_domain(s->nest, a, b)); }
bool opf_proves_lt(opf_scheduler *s, const opf_expr *a, const opf_expr *b) { return opf_expr_prove_lt(s->pool, a, b, opf_nest_domain(s->nest, a, b)); }

const opf_expr *opf_substitute(opf_scheduler *s, const opf_expr *e, int variable, const opf_expr *by) {
    const opf_expr **list = OPF_ARRAY(s->arena, const opf_expr *, variable + 1);
    list[variable] = by;
    return opf_expr_bind(s->pool, e, variable + 1, list);
}

bool opf_is_safe(const opf_scheduler *s, const opf_expr *load, opf_safety at_least) {
    return (uintptr_t)opf_map_get(&s->safe, load) >= (uintptr_t)at_least;
}

void opf_note_safe(opf_scheduler *s, const opf_expr *load, opf_safety safety) {
    if (!opf_is_safe(s, load, safety)) opf_map_set(&s->safe, load, (void *)(uintptr_t)safety);
}

typedef struct carrying { opf_scheduler *s; int variable; const opf_expr *by; bool simplify; } carrying;

static bool carry_safety(const opf_expr *e, void *data) {
    carrying *c = data;
    uintptr_t safety = e->kind == OPF_EXPR_LOAD && e->n_args ? (uintptr_t)opf_map_get(&c->s->safe, e) : 0;
    if (!safety || !opf_expr_has_var(e, c->variable)) return true;
    const opf_expr *now = opf_substitute(c->s, e, c->variable, c->by);
    opf_note_safe(c->s, c->simplify ? opf_simple(c->s, now) : now, (opf_safety)safety);
    return true;
}

const opf_expr *opf_substitute_safely(opf_scheduler *s, const opf_expr *e, int variable, const opf_expr *by) {
    opf_expr_visit(s->pool, e, carry_safety, &(carrying){s, variable, by, false});
    return opf_substitute(s, e, variable, by);
}

void opf_substitute_all(opf_scheduler *s, opf_slots *slots, int variable, const opf_expr *by) {
    for (size_t i = 0; i < slots->list.count; i++) {
        const opf_expr **slot = slots->list.data[i];
        if (!*slot || !opf_expr_has_var(*slot, variable)) continue;
        opf_expr_visit(s->pool, *slot, carry_safety, &(carrying){s, variable, by, true});
        *slot = opf_simple(s, opf_substitute(s, *slot, variable, by));
    }
}

/* ---- buffers ---- */

int opf_buffer_new(opf_scheduler *s, opf_memory memory, opf_dtype dtype, const char *name, opf_dim elements) {
    opf_nest_buffer buffer = {.memory = memory, .dtype = dtype, .name = name, .elements = elements};
    OPF_PUSH(s->arena, &s->nest->buffers, buffer);
    return (int)s->nest->buffers.count - 1;
}

int opf_buffer_temporary(opf_scheduler *s, opf_dtype dtype) {
    return opf_buffer_new(s, OPF_MEMORY_REGISTER, dtype, opf_arena_printf(s->arena, "t%d", s->n_temporaries++), NULL);
}

const opf_expr *opf_buffer_load(opf_scheduler *s, int buffer, const opf_expr *offset) {
    return opf_load(s->pool, opf_buffer_at(s, buffer)->dtype, buffer, offset ? 1 : 0, &offset);
}

/* ---- axes ---- */

int opf_axes_find(const opf_axes *axes, int variable) {
    for (int i = 0; i < axes->count; i++)
        if (axes->at[i] == variable) return i;
    return -1;
}

bool opf_axes_has(const opf_axes *axes, int variable) { return opf_axes_find(axes, variable) >= 0; }

void opf_axes_add(opf_axes *axes, int variable) {
    if (axes->count < OPF_MOST_AXES) axes->at[axes->count++] = variable;
}

void opf_axes_remove(opf_axes *axes, int position) {
    for (int i = position; i + 1 < axes->count; i++) axes->at[i] = axes->at[i + 1];
    axes->count--;
}

bool opf_depends(const opf_expr *e, const opf_axes *axes) {
    for (int i = 0; i < axes->count; i++)
        if (opf_expr_has_var(e, axes->at[i])) return true;
    return false;
}

int64_t opf_nominal_product(const opf_scheduler *s, const opf_axes *axes) {
    double product = 1;
    for (int i = 0; i < axes->count; i++) product *= (double)opf_dim_nominal(opf_extent(s, axes->at[i]));
    return product > 1e15 ? INT64_C(1000000000000000) : (int64_t)product;
}

opf_dim opf_extent_product(opf_scheduler *s, const opf_axes *axes, int from, int to) {
    opf_dim product = opf_int(s->pool, 1);
    for (int i = from; i < to; i++) product = opf_mul(s->pool, product, opf_extent(s, axes->at[i]));
    return product;
}

bool opf_is_factor(const opf_expr *e, const opf_expr *product) {
    if (e == product) return true;
    bool times = product->kind == OPF_EXPR_BINARY && product->op == OPF_OP_MUL;
    return times && (opf_is_factor(e, product->args[0]) || opf_is_factor(e, product->args[1]));
}

/* A root without elements is never entered: inside, every factor of its extents is at least 1. */
static bool only_root_symbols(const opf_expr *e, void *data) {
    const opf_scheduler *s = data;
    if (e->kind != OPF_EXPR_SYMBOL) return true;
    for (int i = 0; i < s->root.count; i++)
        if (opf_is_factor(e, opf_extent(s, s->root.at[i]))) return true;
    return false;
}

bool opf_is_positive(opf_scheduler *s, opf_dim extent) {
    int64_t value;
    if (opf_is_int(extent, &value)) return value > 0;
    opf_domain none = {0, NULL};
    return opf_expr_prove_lt(s->pool, opf_int(s->pool, 0), extent, none) && opf_expr_visit(s->pool, extent, only_root_symbols, s);
}

bool opf_surely_positive(opf_scheduler *s, opf_dim extent) {
    bool positive = opf_is_positive(s, extent);
    if (positive && !opf_is_int(extent, NULL)) s->relies_on_root = true;
    return positive;
}
