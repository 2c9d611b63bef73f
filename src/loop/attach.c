/* Where kept stages are computed.
 *
 * An axis of a stage is bound to a variable of the root where every reader reads it at exactly that variable; else it is
 * free. Loops to which most stages are bound go outwards. A stage stands as deep as the loops outside are all bound to it,
 * so that nothing is computed twice; what else it was bound to is freed again. */
#include "loop/scheduler.h"

enum { LARGE_MAP = 32768 /* elements of a buffer from which computing again is better */ };

typedef struct readers { int tensor; OPF_VEC(const opf_expr *) loads; } readers;
typedef struct gathering { opf_scheduler *s; readers *readers; } gathering;

static bool gather(const opf_expr *e, void *data) {
    gathering *g = data;
    if (e->kind == OPF_EXPR_LOAD && e->index == g->readers->tensor) OPF_PUSH(g->s->arena, &g->readers->loads, e);
    return true;
}

static readers readers_of(opf_scheduler *s, const opf_root *root, int stage) {
    readers r = {.tensor = s->n_inputs + stage};
    gathering g = {s, &r};
    for (size_t i = 0; i < root->outputs.list.count; i++) opf_expr_visit(s->pool, root->outputs.list.data[i].value, gather, &g);
    for (int i = stage + 1; i < s->n_stages; i++) {
        const opf_item *item = root->items[i];
        if (!item) continue;
        opf_expr_visit(s->pool, item->term, gather, &g);
        if (item->second) opf_expr_visit(s->pool, item->second, gather, &g);
    }
    return r;
}

/* The root variable at which every reader reads the axis, -1 where there is none. */
static int bound_variable(opf_scheduler *s, const opf_root *root, const readers *r, int axis, opf_dim extent) {
    const opf_expr *index = r->loads.data[0]->args[axis];
    if (index->kind != OPF_EXPR_VAR || (!opf_axes_has(&root->order, index->index) && !opf_axes_has(&s->given, index->index))) return -1;
    if (!opf_expr_prove_eq(s->pool, opf_extent(s, index->index), extent)) return -1;
    for (size_t i = 1; i < r->loads.count; i++)
        if (r->loads.data[i]->args[axis] != index) return -1;
    return index->index;
}

static const char *axis_name(opf_scheduler *s, const opf_stage *stage, int axis) {
    if (stage->axis_names && stage->axis_names[axis]) return stage->axis_names[axis];
    return opf_arena_printf(s->arena, "%d", axis);
}

static opf_item *make_item(opf_scheduler *s, const opf_root *root, int number, const readers *r, const opf_axes *allowed) {
    const opf_stage *stage = s->stages[number];
    opf_item *item = OPF_NEW(s->arena, opf_item);
    const opf_expr *variables[OPF_MOST_AXES] = {NULL};
    item->stage = number;
    item->buffer = -1;
    for (int i = 0; i < stage->n_axes; i++) {
        item->axis[i] = -1;
        if (opf_is_value(stage->extents[i], 1)) continue;
        int variable = bound_variable(s, root, r, i, stage->extents[i]);
        if (variable >= 0 && opf_axes_has(&s->given, variable)) { /* one value of it is all there is */
            item->axis[i] = variable;
            variables[i] = opf_variable(s, variable);
            continue;
        }
        bool bound = variable >= 0 && opf_axes_has(allowed, variable);
        if (item->free.count && opf_is_padding(s, number)) bound = false; /* lines of a window stay whole … */
        if (item->free.count && !s->reduced[number] && variable == root->order.at[root->order.count - 1]) bound = false; /* … as do those of maps … */
        if (s->plane[number] && i >= s->plane[number]) bound = false; /* … and so do planes */
        if (!bound) variable = opf_variable_new(s, axis_name(s, stage, i), stage->extents[i]);
        if (!opf_axes_has(bound ? &item->bound : &item->free, variable)) opf_axes_add(bound ? &item->bound : &item->free, variable);
        item->axis[i] = variable;
        variables[i] = opf_variable(s, variable);
    }
    int reduce = s->reduced[number] ? stage->n_reduce : 0;
    for (int i = stage->n_axes; i < stage->n_axes + reduce; i++) {
        if (opf_is_value(stage->extents[i], 1)) continue;
        opf_axes_add(&item->reduce, opf_variable_new(s, axis_name(s, stage, i), stage->extents[i]));
        variables[i] = opf_variable(s, item->reduce.at[item->reduce.count - 1]);
    }
    item->term = opf_simple(s, opf_expr_bind(s->pool, s->bodies[number], stage->n_axes + reduce, variables));
    if (s->reduced[number] && s->seconds[number]) item->second = opf_simple(s, opf_expr_bind(s->pool, s->seconds[number], stage->n_axes + reduce, variables));
    return item;
}

static void find_items(opf_scheduler *s, opf_root *root, const opf_axes *allowed) {
    for (int i = 0; i < s->n_stages; i++) root->items[i] = NULL;
    for (int i = s->n_stages; i-- > 0;) {
        if (!s->kept[i]) continue;
        readers r = readers_of(s, root, i);
        if (r.loads.count) root->items[i] = make_item(s, root, i, &r, &allowed[i]);
    }
}

/* ---- order and depth ---- */

static int items_bound_to(const opf_scheduler *s, const opf_root *root, int variable) {
    int count = 0;
    for (int i = 0; i < s->n_stages; i++) count += root->items[i] && opf_axes_has(&root->items[i]->bound, variable);
    return count;
}

static void choose_order(const opf_scheduler *s, opf_root *root) {
    for (int i = 1; i < root->order.count; i++) { /* insertion keeps the order of equals */
        int variable = root->order.at[i], weight = items_bound_to(s, root, variable), j = i;
        for (; j > 0 && items_bound_to(s, root, root->order.at[j - 1]) < weight; j--) root->order.at[j] = root->order.at[j - 1];
        root->order.at[j] = variable;
    }
}

/* Nothing is computed inside more loops than asked for: what it is bound to besides is computed whole. */
static int most_loops(const opf_scheduler *s, const opf_root *root) {
    int64_t wanted = opf_nest_wants(s->nest, OPF_KNOB_ATTACH);
    return wanted && wanted < root->order.count ? (int)wanted : root->order.count;
}

/* The deepest of all roots: where it is one loop, or none, there is no choice. */
static void tell_attached(const opf_scheduler *s, const opf_root *root) {
    int64_t *told = &s->nest->chosen.at[OPF_KNOB_ATTACH];
    for (int i = 0; i < s->n_stages; i++) {
        const opf_item *item = root->items[i];
        bool choice = item && (item->depth > 1 || opf_nest_wants(s->nest, OPF_KNOB_ATTACH));
        if (choice && item->depth > *told) *told = item->depth;
    }
}

/* False where an item must be bound to less than it is. */
static bool choose_depths(const opf_scheduler *s, opf_root *root, opf_axes *allowed) {
    bool settled = true;
    for (int i = 0; i < s->n_stages; i++) {
        opf_item *item = root->items[i];
        if (!item) continue;
        item->depth = 0;
        while (item->depth < most_loops(s, root) && opf_axes_has(&item->bound, root->order.at[item->depth])) item->depth++;
        if (item->depth == item->bound.count) continue;
        settled = false;
        allowed[i].count = 0;
        for (int k = 0; k < item->depth; k++) opf_axes_add(&allowed[i], root->order.at[k]);
    }
    return settled;
}

/* A map that would be computed once a point of the root, that needs a large buffer, or that leaves no loop to share. */
static bool maps_are_worth_it(opf_scheduler *s, const opf_root *root) {
    bool worth = true;
    for (int i = 0; i < s->n_stages; i++) {
        const opf_item *item = root->items[i];
        if (!item || s->reduced[i]) continue;
        bool everywhere = item->depth == root->order.count && item->free.count == 0;
        int64_t free = opf_nominal_product(s, &item->free), whole = opf_nominal_product(s, &root->order);
        bool alone = item->depth == 0 && root->order.count > 0 && free * 8 > whole;
        if (!everywhere && free <= LARGE_MAP && !alone) continue;
        s->never_kept[i] = true;
        worth = false;
    }
    return worth;
}

bool opf_attach(opf_scheduler *s, opf_root *root) {
    opf_axes *allowed = OPF_ARRAY(s->arena, opf_axes, s->n_stages + 1), original = root->order;
    root->items = OPF_ARRAY(s->arena, opf_item *, s->n_stages + 1);
    for (int i = 0; i < s->n_stages; i++) allowed[i] = root->order;
    do {
        root->order = original;
        find_items(s, root, allowed);
        choose_order(s, root);
    } while (!choose_depths(s, root, allowed));
    tell_attached(s, root);
    return maps_are_worth_it(s, root);
}
