/* A root: the loops of results that have one domain, with kept stages computed between them. */
#include "loop/scheduler.h"

enum { ENOUGH_UNITS = 64, CHEAP_SHARE = 16 /* a stage may be computed by each part if it is this small a share of the whole */ };

typedef struct emission {
    opf_scheduler *s;
    opf_root *root;
    int chunked;              /* root variable that is taken in chunks; -1: none */
    opf_chunk chunk;
    int shared;               /* outermost loops that the parts share */
} emission;

static const opf_stage *stage_of(const opf_scheduler *s, const opf_item *item) { return s->stages[item->stage]; }

/* ---- expressions of the whole root ---- */

static void add_targets(opf_scheduler *s, opf_slots *slots, opf_targets *targets) {
    for (size_t i = 0; i < targets->list.count; i++) {
        OPF_PUSH(s->arena, &slots->list, &targets->list.data[i].offset);
        OPF_PUSH(s->arena, &slots->list, &targets->list.data[i].value);
    }
}

static void add_item(opf_scheduler *s, opf_slots *slots, opf_item *item) {
    OPF_PUSH(s->arena, &slots->list, &item->term);
    OPF_PUSH(s->arena, &slots->list, &item->second);
    OPF_PUSH(s->arena, &slots->list, &item->offset);
    add_targets(s, slots, &item->results);
}

opf_slots opf_root_slots(opf_scheduler *s, opf_root *root) {
    opf_slots slots = {0};
    add_targets(s, &slots, &root->outputs);
    for (int i = 0; i < s->n_stages; i++)
        if (root->items[i]) add_item(s, &slots, root->items[i]);
    return slots;
}

/* ---- buffers of items, offsets of everything ---- */

/* "Softmax.max" → "softmax_max" */
static const char *buffer_name(opf_scheduler *s, const opf_stage *stage) {
    char *name = opf_arena_string(s->arena, stage->name && stage->name[0] ? stage->name : "row");
    for (char *c = name; *c; c++) {
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
        else if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9' && c > name))) *c = '_';
    }
    return name;
}

static void make_buffer(opf_scheduler *s, opf_item *item) {
    const opf_stage *stage = stage_of(s, item);
    bool array = item->free.count > 0;
    opf_dim elements = array ? opf_extent_product(s, &item->free, 0, item->free.count) : NULL;
    item->buffer = opf_buffer_new(s, array ? OPF_MEMORY_SCRATCH : OPF_MEMORY_REGISTER, stage->dtype, buffer_name(s, stage), elements);
    if (!array) return;
    item->offset = opf_int(s->pool, 0);
    for (int i = 0; i < item->free.count; i++)
        item->offset = opf_add(s->pool, opf_mul(s->pool, item->offset, opf_extent(s, item->free.at[i])), opf_variable(s, item->free.at[i]));
}

/* The item is results itself where each of their elements is computed exactly once. */
static void take_results(opf_scheduler *s, opf_item *item) {
    const opf_stage *stage = stage_of(s, item);
    for (size_t k = 0; k < s->group->results.count; k++) {
        if (s->result_stage[k] != item->stage || s->stored[k]) continue;
        const opf_expr *indices[OPF_MAX_RANK];
        for (int i = 0; i < stage->n_axes; i++) {
            indices[i] = item->axis[i] < 0 ? opf_int(s->pool, 0) : opf_variable(s, item->axis[i]);
            if (item->base && item->axis[i] == item->place) indices[i] = opf_add(s->pool, item->base, indices[i]);
            for (int j = 0; j < i; j++)
                if (item->axis[i] >= 0 && item->axis[j] == item->axis[i]) return; /* a diagonal only */
        }
        opf_target target = {s->n_inputs + (int)k, opf_row_major(s, stage->n_axes, stage->extents, indices), opf_buffer_load(s, item->buffer, item->offset)};
        OPF_PUSH(s->arena, &item->results.list, target);
        s->stored[k] = true;
        s->root.count = 0; /* it has elements even where the root has none */
    }
}

void opf_root_linear(opf_scheduler *s, opf_root *root) {
    for (int i = 0; i < s->n_stages; i++)
        if (root->items[i]) make_buffer(s, root->items[i]);
    for (int i = 0; i < s->n_stages; i++) {
        opf_item *item = root->items[i];
        if (!item) continue;
        item->term = opf_linear(s, root->items, item->term);
        if (item->second) item->second = opf_linear(s, root->items, item->second);
    }
    for (size_t i = 0; i < root->outputs.list.count; i++)
        root->outputs.list.data[i].value = opf_linear(s, root->items, root->outputs.list.data[i].value);
}

/* ---- axes ---- */

static int deepest(const opf_scheduler *s, const opf_root *root) {
    int depth = 0;
    for (int i = 0; i < s->n_stages; i++)
        if (root->items[i] && root->items[i]->depth > depth) depth = root->items[i]->depth;
    return depth;
}

static bool stands_between(const opf_scheduler *s, const opf_root *root, int position) {
    for (int i = 0; i < s->n_stages; i++)
        if (root->items[i] && root->items[i]->depth == position) return true;
    return false;
}

/* Loops from `position` on have moved by `by`; what is bound follows. */
static void move_depths(const opf_scheduler *s, opf_root *root, int position, int by) {
    for (int i = 0; i < s->n_stages; i++) {
        opf_item *item = root->items[i];
        if (!item) continue;
        if (item->depth > position) item->depth += by;
    }
}

static void rebind(const opf_scheduler *s, opf_root *root) {
    for (int i = 0; i < s->n_stages; i++) {
        opf_item *item = root->items[i];
        if (!item) continue;
        item->bound.count = 0;
        for (int k = 0; k < item->depth; k++) opf_axes_add(&item->bound, root->order.at[k]);
    }
}

static void split_order(opf_scheduler *s, opf_root *root, opf_slots *slots) {
    for (;;) {
        opf_axes before = root->order;
        if (!opf_axes_split(s, &root->order, slots)) return;
        int position = 0;
        while (before.at[position] == root->order.at[position]) position++;
        move_depths(s, root, position, 1);
    }
}

static void merge_order(opf_scheduler *s, opf_root *root, opf_slots *slots) {
    for (int i = root->order.count - 1; i > 0; i--) {
        if (stands_between(s, root, i)) continue;
        opf_axes two = {.count = 2, .at = {root->order.at[i - 1], root->order.at[i]}};
        opf_axes_merge(s, &two, slots);
        if (two.count == 2) continue;
        root->order.at[i - 1] = two.at[0];
        opf_axes_remove(&root->order, i);
        move_depths(s, root, i, -1);
    }
}

void opf_root_simplify(opf_scheduler *s, opf_root *root) {
    opf_slots all = opf_root_slots(s, root);
    split_order(s, root, &all);
    merge_order(s, root, &all);
    rebind(s, root);
    for (int i = 0; i < s->n_stages; i++) {
        opf_item *item = root->items[i];
        if (!item) continue;
        opf_slots own = {0};
        add_item(s, &own, item);
        opf_axes *const axes[2] = {&item->free, &item->reduce};
        for (int k = 0; k < 2; k++)
            if (!item->streams || !opf_axes_has(axes[k], item->streamed)) opf_axes_simplify(s, axes[k], &own); /* others have that axis alone */
    }
}

/* ---- the chunked axis ---- */

static double cost_of(const opf_scheduler *s, const opf_item *item) {
    double points = (double)opf_nominal_product(s, &item->free) * (double)opf_nominal_product(s, &item->reduce);
    return points * (1 + opf_expr_price(s, item->term));
}

static double total_cost(const opf_scheduler *s, const opf_root *root) {
    double element = 1;
    for (size_t i = 0; i < root->outputs.list.count; i++) element += opf_expr_price(s, root->outputs.list.data[i].value);
    double total = element * (double)opf_nominal_product(s, &root->order);
    for (int i = 0; i < s->n_stages; i++) {
        const opf_item *item = root->items[i];
        if (item) total += cost_of(s, item) * (double)opf_nominal_product(s, &item->bound);
    }
    return total;
}

/* The root variable over which the dearest reductions would best run innermost. */
static int choose_chunked(opf_scheduler *s, const opf_root *root) {
    int chosen = -1;
    double dearest = 0;
    for (int i = 0; i < s->n_stages; i++) {
        const opf_item *item = root->items[i];
        if (!item || item->reduce.count == 0) continue;
        int vector = opf_reduce_vector(s, item, &item->bound);
        double cost = cost_of(s, item) * (double)opf_nominal_product(s, &item->bound);
        if (!opf_axes_has(&item->bound, vector) || cost <= dearest) continue;
        chosen = vector;
        dearest = cost;
    }
    return chosen;
}

typedef struct laning { opf_scheduler *s; const opf_root *root; const opf_chunk *chunk; } laning;

/* Loads of items that are computed for a chunk find the lane's element. */
static const opf_expr *with_lane(opf_pool *pool, const opf_expr *leaf, void *data) {
    const laning *l = data;
    if (leaf->kind != OPF_EXPR_LOAD) return NULL;
    for (int i = 0; i < l->s->n_stages; i++) {
        const opf_item *item = l->root->items[i];
        if (!item || !item->lane || item->buffer != leaf->index) continue;
        const opf_expr *lane = opf_variable(l->s, l->chunk->lane), *offset = lane;
        if (leaf->n_args) offset = opf_add(pool, opf_mul(pool, leaf->args[0], opf_int(pool, l->chunk->size)), lane);
        const opf_expr *load = opf_load(pool, (opf_dtype)leaf->dtype, leaf->index, 1, &offset);
        if (leaf->n_args == 0) opf_note_safe(l->s, load, OPF_SAFE_ANYWHERE);
        else if (opf_is_safe(l->s, leaf, OPF_SAFE)) opf_note_safe(l->s, load, opf_is_safe(l->s, leaf, OPF_SAFE_ANYWHERE) ? OPF_SAFE_ANYWHERE : OPF_SAFE);
        return load;
    }
    return NULL;
}

static void make_chunks(emission *e) {
    opf_scheduler *s = e->s;
    opf_root *root = e->root;
    if (e->chunked < 0) return;
    e->chunk = opf_chunk_new(s, e->chunked, opf_chunk_size(s));
    for (int i = 0; i < s->n_stages; i++)
        if (root->items[i]) root->items[i]->lane = opf_axes_has(&root->items[i]->bound, e->chunked);
    opf_slots slots = opf_root_slots(s, root);
    laning lanes = {s, root, &e->chunk};
    for (size_t i = 0; i < slots.list.count; i++)
        if (*slots.list.data[i]) *slots.list.data[i] = opf_expr_map(s->pool, *slots.list.data[i], with_lane, &lanes);
    opf_substitute_all(s, &slots, e->chunked, e->chunk.value);
    for (int i = 0; i < s->n_stages; i++) {
        opf_item *item = root->items[i];
        if (!item || !item->lane) continue;
        opf_nest_buffer *buffer = opf_buffer_at(s, item->buffer);
        const opf_expr *lane = opf_variable(s, e->chunk.lane), *size = opf_int(s->pool, e->chunk.size);
        item->offset = item->offset ? opf_add(s->pool, opf_mul(s->pool, item->offset, size), lane) : lane;
        buffer->elements = buffer->elements ? opf_mul(s->pool, buffer->elements, size) : size;
        buffer->memory = OPF_MEMORY_SCRATCH;
    }
}

/* ---- sharing ---- */

static bool is_chunk_loop(const emission *e, int position) { return e->root->order.at[position] == e->chunked; }

static double steps(const emission *e, int position) {
    double extent = (double)opf_dim_nominal(opf_extent(e->s, e->root->order.at[position]));
    return is_chunk_loop(e, position) ? (extent + (double)e->chunk.size - 1) / (double)e->chunk.size : extent;
}

/* So small that each part may compute it for itself. */
static bool is_copied(const emission *e, const opf_item *item, double total) {
    return item->depth == 0 && item->results.list.count == 0 && cost_of(e->s, item) * CHEAP_SHARE <= total;
}

/* Loops outside of every item that is not copied. */
static int sharable_loops(const emission *e) {
    const opf_scheduler *s = e->s;
    int most = deepest(s, e->root);
    double total = total_cost(s, e->root);
    for (int i = 0; i < s->n_stages; i++) {
        const opf_item *item = e->root->items[i];
        if (item && item->depth < most && !is_copied(e, item, total)) most = item->depth;
    }
    return most;
}

/* Is everything but the results computed by each part for itself? */
static bool all_copied(const emission *e) {
    double total = total_cost(e->s, e->root);
    for (int i = 0; i < e->s->n_stages; i++)
        if (e->root->items[i] && !is_copied(e, e->root->items[i], total)) return false;
    return e->root->order.count > 0;
}

static int shared_loops(const emission *e) {
    int most = sharable_loops(e), count = 0;
    double units = 1;
    while (count < most && (units < ENOUGH_UNITS || count == 0)) units *= steps(e, count++);
    return count;
}

/* ---- statements ---- */

static const opf_chunk *chunk_of(const emission *e, bool lane) { return lane ? &e->chunk : NULL; }

static void emit_item(emission *e, opf_block *block, opf_item *item) {
    opf_scheduler *s = e->s;
    const opf_stage *stage = stage_of(s, item);
    const opf_chunk *chunk = chunk_of(e, item->lane);
    opf_code_note(s, block, stage->name);
    if (opf_buffer_at(s, item->buffer)->memory != OPF_MEMORY_REGISTER && !item->border) opf_place_array(s, block, item->buffer);
    if (s->reduced[item->stage]) {
        opf_reduce(s, block, item, chunk);
    } else {
        opf_targets targets = {0};
        opf_axes free = item->free;
        OPF_PUSH(s->arena, &targets.list, (opf_target){item->buffer, item->offset, item->term});
        if (opf_is_padding(s, item->stage) && !chunk) opf_interleave(s, &free, &targets);
        s->border = item->border;
        opf_leaf_over(s, block, free, chunk, &targets, false);
        s->border = NULL;
    }
    if (item->results.list.count) opf_leaf_over(s, block, item->free, chunk, &item->results, false);
}

/* What stands around a padded operand: the same constant at the same places however often the item is computed. NULL: nothing. */
static const opf_expr *border_of(const opf_scheduler *s, const opf_item *item) {
    const opf_expr *inside = item->term, *border = NULL;
    if (!opf_is_padding(s, item->stage) || s->reduced[item->stage] || item->depth == 0 || item->lane || item->free.count == 0) return NULL;
    for (; inside->kind == OPF_EXPR_SELECT; inside = inside->args[1]) {
        bool same = !opf_expr_has_load(inside->args[0]) && !opf_depends(inside->args[0], &item->bound) && !opf_depends(inside->args[0], &s->given);
        if (!same || (border && inside->args[2] != border)) return NULL;
        border = inside->args[2];
    }
    return border && border->n_args == 0 && border->kind != OPF_EXPR_LOAD && border->kind != OPF_EXPR_VAR ? border : NULL;
}

/* Borders are stored once, before the loops. */
static void emit_borders(emission *e, opf_block *block) {
    opf_scheduler *s = e->s;
    for (int i = 0; i < s->n_stages; i++) {
        opf_item *item = e->root->items[i];
        if (!item || !(item->border = border_of(s, item))) continue;
        opf_targets targets = {0};
        opf_code_note(s, block, opf_arena_printf(s->arena, "borders of %s", stage_of(s, item)->name));
        opf_place_array(s, block, item->buffer);
        OPF_PUSH(s->arena, &targets.list, (opf_target){item->buffer, item->offset, item->border});
        opf_leaf_over(s, block, item->free, NULL, &targets, false);
    }
}

static void emit_items(emission *e, opf_block *block, int depth) {
    for (int i = 0; i < e->s->n_stages; i++)
        if (e->root->items[i] && e->root->items[i]->depth == depth) emit_item(e, block, e->root->items[i]);
}

static void emit_outputs(emission *e, opf_block *block, int depth, bool parallel) {
    opf_axes axes = {0};
    for (int i = depth; i < e->root->order.count; i++) opf_axes_add(&axes, e->root->order.at[i]);
    opf_leaf_over(e->s, block, axes, chunk_of(e, e->chunked >= 0), &e->root->outputs, parallel);
}

static opf_block *emit_shared(emission *e, opf_block *block) {
    opf_scheduler *s = e->s;
    opf_axes axes = {0};
    int number = -1;
    for (int i = 0; i < e->shared; i++) {
        if (!is_chunk_loop(e, i)) {
            opf_axes_add(&axes, e->root->order.at[i]);
        } else if (e->chunk.base >= 0) {
            const char *name = opf_arena_printf(s->arena, "%s_block", s->nest->variables.data[e->chunked].name);
            number = opf_variable_new(s, name, opf_ceildiv(s->pool, opf_extent(s, e->chunked), opf_int(s->pool, e->chunk.size)));
            opf_axes_add(&axes, number);
        }
    }
    block = opf_code_share(s, block, &axes, axes.count);
    if (number < 0) return block;
    const opf_expr *left = opf_sub(s->pool, opf_extent(s, e->chunked), opf_variable(s, e->chunk.base)), *size = opf_int(s->pool, e->chunk.size);
    opf_code_index(s, block, e->chunk.base, opf_mul(s->pool, opf_variable(s, number), size));
    opf_code_index(s, block, e->chunk.count->index, opf_min(s->pool, left, size));
    return block;
}

/* Rows that stand right within the shared loop may go side by side. */
static void join_rows(const emission *e, opf_block *around) {
    const opf_scheduler *s = e->s;
    int64_t elements = 1;
    if (e->chunked >= 0 || e->shared != deepest(s, e->root)) return;
    for (int i = 0; i < s->n_stages; i++)
        if (e->root->items[i] && e->root->items[i]->border) return;
    for (int i = e->shared; i < e->root->order.count; i++) elements *= opf_dim_nominal(opf_extent(s, e->root->order.at[i]));
    opf_jam_rows(e->s, around, elements);
}

static void emit_loops(emission *e, opf_block *block) {
    opf_scheduler *s = e->s;
    opf_block *around = NULL; /* the shared loops */
    int deep = deepest(s, e->root);
    const opf_expr *zero = opf_int(s->pool, 0);
    if (all_copied(e)) {
        emit_items(e, block, 0);
        emit_outputs(e, block, 0, !s->fill);
        return;
    }
    emit_borders(e, block);
    if (e->shared == 0 && !s->fill) block = emit_shared(e, block);
    for (int depth = 0;; depth++) {
        emit_items(e, block, depth);
        if (depth == deep) break;
        if (depth == 0 && e->shared > 0) {
            around = block;
            block = emit_shared(e, block);
            depth = e->shared - 1;
        } else if (is_chunk_loop(e, depth)) {
            block = opf_chunk_loop(s, block, &e->chunk, zero, opf_extent(s, e->chunked));
        } else {
            block = opf_code_loop(s, block, e->root->order.at[depth], zero, opf_extent(s, e->root->order.at[depth]), 1);
        }
    }
    emit_outputs(e, block, deep, false);
    if (around) join_rows(e, around);
}

static void emit_kept(opf_scheduler *s, opf_block *block, opf_root *root) {
    emission e = {.s = s, .root = root};
    opf_root_batch(s, root);
    opf_root_linear(s, root);
    for (int i = 0; i < s->n_stages; i++)
        if (root->items[i]) take_results(s, root->items[i]);
    opf_root_simplify(s, root);
    e.chunked = choose_chunked(s, root);
    make_chunks(&e);
    e.shared = s->fill ? 0 : shared_loops(&e);
    emit_loops(&e, block);
}

/* ---- results → root ---- */

static bool reads_kept(const opf_expr *e, void *data) {
    const opf_scheduler *s = data;
    return e->kind != OPF_EXPR_LOAD || e->index < s->n_inputs; /* all others were inlined */
}

static bool is_map(opf_scheduler *s, const opf_root *root) {
    for (size_t i = 0; i < root->outputs.list.count; i++)
        if (!opf_expr_visit(s->pool, root->outputs.list.data[i].value, reads_kept, s)) return false;
    return true;
}

static const opf_expr *fill_offset(opf_scheduler *s, const opf_stage *stage, const opf_expr *const *variables) {
    const opf_expr *offset = opf_int(s->pool, 0);
    for (int i = s->fill->n_given; i < stage->n_axes; i++) offset = opf_add(s->pool, offset, opf_mul(s->pool, variables[i], s->fill->strides[i]));
    return offset;
}

static void add_output(opf_scheduler *s, opf_root *root, int result, const opf_expr *const *variables) {
    int number = s->result_stage[result];
    const opf_stage *stage = s->stages[number];
        const opf_expr *value = s->reduced[number] ? opf_load(s->pool, stage->dtype, s->n_inputs + number, stage->n_axes, variables)
                                 : opf_expr_bind(s->pool, s->bodies[number], stage->n_axes, variables);
    const opf_expr *offset = s->fill ? fill_offset(s, stage, variables) : opf_row_major(s, stage->n_axes, stage->extents, variables);
    OPF_PUSH(s->arena, &root->outputs.list, (opf_target){s->n_inputs + result, offset, opf_simple(s, value)});
    s->stored[result] = true;
}

static opf_root new_root(opf_scheduler *s, int n_results, const int *results) {
    const opf_stage *stage = s->stages[s->result_stage[results[0]]];
    const opf_expr *variables[OPF_MAX_RANK];
    opf_root root = {0};
    for (int i = 0; i < stage->n_axes; i++) {
        variables[i] = opf_int(s->pool, 0);
        if (opf_is_value(stage->extents[i], 1)) continue;
        const char *name = stage->axis_names && stage->axis_names[i] ? stage->axis_names[i] : opf_arena_printf(s->arena, "%d", i);
        int variable = opf_variable_new(s, name, stage->extents[i]);
        bool given = s->fill && i < s->fill->n_given;
        if (given) s->nest->given.data[i] = variable;
        opf_axes_add(given ? &s->given : &root.order, variable);
        variables[i] = opf_variable(s, variable);
    }
    for (int k = 0; k < n_results; k++) add_output(s, &root, results[k], variables);
    return root;
}

/* Is the code one share of units that are none where the extent is 0? */
static bool shares_none(const opf_block *block, opf_dim extent) {
    const opf_code *only = block->list.count == 1 ? block->list.data[0] : NULL;
    return only && only->kind == OPF_CODE_SHARE && opf_is_factor(extent, only->to);
}

/* Under which condition the root has elements; NULL where its code does nothing otherwise, by itself. */
static const opf_expr *not_empty(opf_scheduler *s, const opf_axes *axes, const opf_block *block) {
    const opf_expr *condition = NULL;
    for (int i = 0; i < axes->count; i++) {
        opf_dim extent = opf_extent(s, axes->at[i]);
        if (opf_is_int(extent, NULL) || shares_none(block, extent)) continue;
        const opf_expr *some = opf_binary(s->pool, OPF_OP_LT, opf_int(s->pool, 0), extent);
        condition = condition ? opf_binary(s->pool, OPF_OP_AND, condition, some) : some;
    }
    return condition;
}

void opf_root_append(opf_scheduler *s, const opf_axes *domain, const opf_block *block) {
    const opf_expr *condition = s->relies_on_root ? not_empty(s, domain, block) : NULL;
    opf_block_append(s, condition ? opf_code_if(s, &s->nest->code, condition) : &s->nest->code, block);
}

bool opf_root_emit(opf_scheduler *s, int n_results, const int *results) {
    opf_root root = new_root(s, n_results, results);
    opf_axes domain = root.order;
    opf_block block = {0};
    s->root = domain;
    s->relies_on_root = false;
    if (is_map(s, &root)) {
        for (size_t i = 0; i < root.outputs.list.count; i++)
            root.outputs.list.data[i].value = opf_linear(s, NULL, root.outputs.list.data[i].value);
        opf_leaf(s, &block, root.order, &root.outputs, !s->fill);
    } else {
        if (!opf_attach(s, &root)) return false;
        emit_kept(s, &block, &root);
    }
    opf_root_append(s, &domain, &block);
    return true;
}
