/* Nests in blocks of rows: contractions by register tiles with row-wise work between them (fuse/blocks.h).
 *
 * The parts share the outer loops and the blocks of rows. In a block, kept stages are computed in order: products by the
 * register tile for all rows at once, what lies between two products row by row. What a stage leaves for a later of these
 * steps has a place for each row of the block. */
#include "loop/blocks.h"

enum { LINE = 16 /* floats of a cache line */ };

static int64_t nominal(opf_dim dim) { int64_t value = opf_dim_nominal(dim); return value < 1 ? 1 : value; }

/* ---- from the plan to a root ---- */

static opf_item *item_of(opf_scheduler *s, const opf_block_plan *plan, const opf_block_stage *placed) {
    opf_item *item = OPF_NEW(s->arena, opf_item);
    *item = (opf_item){.stage = placed->stage, .term = placed->term, .second = placed->second, .buffer = -1, .depth = plan->n_outer + 1};
    item->streams = placed->part == OPF_BLOCK_STREAM;
    item->streamed = placed->streamed;
    for (int k = 0; k < s->stages[placed->stage]->n_axes; k++) item->axis[k] = placed->axis[k];
    for (int k = 0; k < placed->n_free; k++) opf_axes_add(&item->free, placed->free[k]);
    for (int k = 0; k < placed->n_reduce; k++) opf_axes_add(&item->reduce, placed->reduce[k]);
    for (int k = 0; k < plan->n_outer; k++) opf_axes_add(&item->bound, plan->outer[k]);
    opf_axes_add(&item->bound, plan->row);
    return item;
}

/* Variables of the plan get numbers behind those that the nest has already. */
static void take_variables(opf_scheduler *s, opf_block_plan *plan, int n_results, const int *results) {
    int count = (int)plan->extents.count, base = (int)s->nest->variables.count;
    const opf_expr **bind = OPF_ARRAY(s->arena, const opf_expr *, count + 1);
    for (int k = 0; k < count; k++) bind[k] = opf_var(s->pool, opf_variable_new(s, plan->names.data[k], plan->extents.data[k]));
    if (base == 0) return;
    for (int k = 0; k < plan->n_outer; k++) plan->outer[k] += base;
    for (int k = 0; k < plan->n_inner; k++) plan->inner[k] += base;
    plan->row += base;
    for (int i = 0; i < s->n_stages; i++) {
        opf_block_stage *placed = plan->stages[i];
        if (!placed) continue;
        placed->term = opf_expr_bind(s->pool, placed->term, count, bind);
        if (placed->second) placed->second = opf_expr_bind(s->pool, placed->second, count, bind);
        for (int k = 0; k < s->stages[i]->n_axes; k++) placed->axis[k] += placed->axis[k] < 0 ? 0 : base;
        placed->streamed += base;
        for (int k = 0; k < placed->n_free; k++) placed->free[k] += base;
        for (int k = 0; k < placed->n_reduce; k++) placed->reduce[k] += base;
    }
    for (int r = 0; r < n_results; r++) {
        plan->values[r] = opf_expr_bind(s->pool, plan->values[r], count, bind);
        for (int k = 0; k < s->stages[s->result_stage[results[r]]]->n_axes; k++) plan->points[r][k] = opf_expr_bind(s->pool, plan->points[r][k], count, bind);
    }
}

static opf_root root_of(opf_scheduler *s, const opf_block_plan *plan, int n_results, const int *results) {
    opf_root root = {.items = OPF_ARRAY(s->arena, opf_item *, s->n_stages + 1)};
    for (int k = 0; k < plan->n_outer; k++) opf_axes_add(&root.order, plan->outer[k]);
    opf_axes_add(&root.order, plan->row);
    for (int k = 0; k < plan->n_inner; k++) opf_axes_add(&root.order, plan->inner[k]);
    for (int i = 0; i < s->n_stages; i++)
        if (plan->stages[i]) root.items[i] = item_of(s, plan, plan->stages[i]);
    for (int k = 0; k < n_results; k++) {
        const opf_stage *stage = s->stages[s->result_stage[results[k]]];
        const opf_expr *offset = opf_row_major(s, stage->n_axes, stage->extents, plan->points[k]);
        OPF_PUSH(s->arena, &root.outputs.list, (opf_target){s->n_inputs + results[k], offset, plan->values[k]});
        s->stored[results[k]] = true;
    }
    return root;
}

/* ---- steps of a block ---- */

/* Numbers the items of a part of the plan behind `step`: products have a step of their own, all between two of them share one.
 * The last step; `rows`: it is one of rows. */
static int number_part(opf_rows_nest *n, opf_block_part part, int step, bool *rows) {
    for (int i = 0; i < n->s->n_stages; i++) {
        if (!n->root->items[i] || n->plan->stages[i]->part != part) continue;
        if (n->product[i] || !*rows) step++;
        n->step[i] = step;
        *rows = !n->product[i];
    }
    return step;
}

/* The stream is one step. Results belong to the last. */
static void number_steps(opf_rows_nest *n) {
    n->step = OPF_ARRAY(n->s->arena, int, n->s->n_stages + 1);
    bool rows = false;
    int step = number_part(n, OPF_BLOCK_BEFORE, 0, &rows);
    if (n->plan->power >= 0) {
        n->stream = step += 1;
        for (int i = 0; i < n->s->n_stages; i++)
            if (n->root->items[i] && n->root->items[i]->streams) n->step[i] = step;
        rows = false;
    }
    step = number_part(n, OPF_BLOCK_BEHIND, step, &rows);
    n->n_steps = rows ? step : step + 1;
}

typedef struct search { int buffer; bool found; } search;

static bool meet_buffer(const opf_expr *e, void *data) {
    search *look = data;
    if (e->kind == OPF_EXPR_LOAD && e->index == look->buffer) look->found = true;
    return !look->found;
}

static bool reads(const opf_rows_nest *n, const opf_expr *e, int buffer) {
    search look = {buffer, false};
    if (e) opf_expr_visit(n->s->pool, e, meet_buffer, &look);
    return look.found;
}

/* Is the item read in another step than its own? */
static bool outlives_step(const opf_rows_nest *n, int i) {
    const opf_item *item = n->root->items[i];
    for (int j = i + 1; j < n->s->n_stages; j++) {
        const opf_item *reader = n->root->items[j];
        if (reader && n->step[j] != n->step[i] && (reads(n, reader->term, item->buffer) || reads(n, reader->second, item->buffer))) return true;
    }
    for (size_t r = 0; r < n->root->outputs.list.count && n->step[i] != n->n_steps; r++)
        if (reads(n, n->root->outputs.list.data[r].value, item->buffer)) return true;
    return false;
}

static opf_dim rounded(opf_scheduler *s, opf_dim extent, int64_t to) { return opf_mul(s->pool, opf_ceildiv(s->pool, extent, opf_int(s->pool, to)), opf_int(s->pool, to)); }

static opf_dim free_elements(const opf_rows_nest *n, const opf_item *item) { return opf_extent_product(n->s, &item->free, 0, item->free.count); }
static opf_dim reduced_elements(const opf_rows_nest *n, const opf_item *item) { return opf_extent_product(n->s, &item->reduce, 0, item->reduce.count); }

/* What each row of the block has of the item; NULL: nothing, it is gone with its row. Of an item whose columns are streamed it has
 * a block of these. */
static void choose_pitches(opf_rows_nest *n) {
    n->pitch = OPF_ARRAY(n->s->arena, opf_dim, n->s->n_stages + 1);
    for (int i = 0; i < n->s->n_stages; i++) {
        const opf_item *item = n->root->items[i];
        if (item && item->streams && opf_axes_has(&item->free, item->streamed)) n->pitch[i] = opf_int(n->s->pool, n->columns);
        if (!item || n->pitch[i] || !(item->streams || n->product[i] || outlives_step(n, i))) continue;
        n->pitch[i] = item->free.count ? rounded(n->s, free_elements(n, item), LINE) : opf_int(n->s->pool, 1);
    }
}

/* ---- how many rows ---- */

/* None where a product turns out to have the same factor for all rows (a Gather from an axis of one element): then it is no product. */
static int64_t floats_of_a_row(const opf_rows_nest *n) {
    int64_t floats = 0;
    for (int i = 0; i < n->s->n_stages; i++)
        if (n->pitch[i]) floats += nominal(n->pitch[i]);
    return floats < 1 ? 1 : floats;
}

/* A block of columns: small enough for many rows, whole vectors. */
static void choose_columns(opf_rows_nest *n) {
    int64_t fitting = n->s->nest->machine->l2_bytes / 2048 / LINE * LINE;
    n->columns = fitting < LINE ? LINE : fitting > OPF_BLOCK_COLUMNS ? OPF_BLOCK_COLUMNS : fitting;
}

/* The factors without rows do not stay in L2 beside the rows' eighth: each block reads them from beyond. */
static bool factors_come_from_beyond(const opf_rows_nest *n) {
    double bytes = 0, l2 = (double)n->s->nest->machine->l2_bytes;
    for (int i = 0; i < n->s->n_stages; i++) {
        const opf_item *item = n->root->items[i];
        if (item && n->product[i]) bytes += 4.0 * (double)nominal(free_elements(n, item)) * (double)nominal(reduced_elements(n, item));
    }
    return !n->stream && bytes > l2 - opf_block_bytes(l2);
}

/* Cycles of all products over all rows, in even blocks of at most so many. */
static double cycles_in_blocks(const opf_rows_nest *n, int64_t all, int64_t most) {
    int64_t blocks = (all + most - 1) / most;
    double cycles = 0;
    for (int i = 0; i < n->s->n_stages; i++) {
        const opf_item *item = n->root->items[i];
        if (item && n->product[i]) cycles += opf_block_product_cycles(n, item, (all + blocks - 1) / blocks) * (double)nominal(reduced_elements(n, item));
    }
    return (double)blocks * cycles;
}

/* Of the counts from three quarters of so many rows on, the one whose blocks fill tiles best. */
static int64_t filling_tiles(const opf_rows_nest *n, int64_t all, int64_t most) {
    int64_t best = most;
    double fewest = cycles_in_blocks(n, all, most);
    for (int64_t rows = most - 1; rows >= OPF_BLOCK_LEAST_ROWS && rows >= most - most / 4; rows--) {
        double cycles = cycles_in_blocks(n, all, rows);
        if (cycles >= fewest) continue;
        fewest = cycles;
        best = rows;
    }
    return best;
}

/* An eighth of L2 for what rows leave, and units for all threads; half of it where each block reads the factors from beyond L2. Columns that are
 * streamed are read again for each block of rows: a block has more of these then. */
static void choose_rows(opf_rows_nest *n) {
    opf_scheduler *s = n->s;
    int64_t rows = nominal(opf_extent(s, n->row)), outer = 1, known;
    double l2 = (double)s->nest->machine->l2_bytes;
    bool beyond = factors_come_from_beyond(n);
    for (int k = 0; k < n->depth - 1; k++) outer *= nominal(opf_extent(s, n->root->order.at[k]));
    n->rows = opf_block_rows(n->stream, beyond ? l2 / 2 : opf_block_bytes(l2), 4.0 * (double)floats_of_a_row(n), (double)rows, (double)outer);
    if (beyond || opf_machine_has_few_vectors(s->nest->machine)) n->rows = filling_tiles(n, rows, n->rows);
    if (opf_is_int(opf_extent(s, n->row), &known) && known < n->rows) n->rows = known < 1 ? 1 : known;
    int64_t wanted = opf_nest_wants(s->nest, OPF_KNOB_ROWS);
    if (wanted && wanted <= rows) n->rows = wanted;
    s->nest->chosen.at[OPF_KNOB_ALGORITHM] = OPF_BY_ROWS;
    s->nest->chosen.at[OPF_KNOB_ROWS] = n->rows;
}

/* ---- buffers with a place for each row ---- */

static const opf_expr *with_row(opf_pool *pool, const opf_expr *leaf, void *data) {
    const opf_rows_nest *n = data;
    opf_scheduler *s = n->s;
    if (leaf->kind != OPF_EXPR_LOAD) return NULL;
    for (int i = 0; i < s->n_stages; i++) {
        const opf_item *item = n->root->items[i];
        if (!item || !n->pitch[i] || item->buffer != leaf->index) continue;
        const opf_expr *offset = opf_mul(pool, opf_variable(s, n->lane), n->pitch[i]);
        if (leaf->n_args) offset = opf_add(pool, offset, leaf->args[0]);
        const opf_expr *load = opf_load(pool, (opf_dtype)leaf->dtype, leaf->index, 1, &offset);
        opf_note_safe(s, load, leaf->n_args == 0 || opf_is_safe(s, leaf, OPF_SAFE_ANYWHERE) ? OPF_SAFE_ANYWHERE : OPF_SAFE);
        return load;
    }
    return NULL;
}

static void place_rows(opf_rows_nest *n) {
    opf_scheduler *s = n->s;
    const char *name = s->nest->variables.data[n->row].name;
    n->begin = opf_variable_new(s, opf_arena_printf(s->arena, "%s_begin", name), opf_extent(s, n->row));
    n->lane = opf_variable_new(s, name, opf_int(s->pool, n->rows));
    n->count = opf_variable_new(s, opf_arena_printf(s->arena, "%s_count", name), opf_int(s->pool, n->rows + 1));
    opf_slots slots = opf_root_slots(s, n->root);
    for (size_t i = 0; i < slots.list.count; i++)
        if (*slots.list.data[i]) *slots.list.data[i] = opf_expr_map(s->pool, *slots.list.data[i], with_row, n);
    opf_substitute_all(s, &slots, n->row, opf_add(s->pool, opf_variable(s, n->begin), opf_variable(s, n->lane)));
    for (int i = 0; i < s->n_stages; i++) {
        opf_item *item = n->root->items[i];
        if (!item || !n->pitch[i]) continue;
        const opf_expr *row = opf_mul(s->pool, opf_variable(s, n->lane), n->pitch[i]);
        item->offset = item->offset ? opf_add(s->pool, row, item->offset) : row;
        opf_nest_buffer *buffer = opf_buffer_at(s, item->buffer);
        buffer->memory = OPF_MEMORY_SCRATCH;
        buffer->elements = opf_mul(s->pool, opf_int(s->pool, n->rows), n->pitch[i]);
    }
}

/* ---- statements ---- */

static void emit_row_step(opf_rows_nest *n, opf_block *block, int step) {
    opf_scheduler *s = n->s;
    opf_block *row = opf_code_loop(s, block, n->lane, opf_int(s->pool, 0), opf_variable(s, n->count), 1);
    for (int i = 0; i < s->n_stages; i++) {
        opf_item *item = n->root->items[i];
        if (!item || n->step[i] != step) continue;
        opf_code_note(s, row, s->stages[i]->name);
        if (!n->pitch[i] && opf_buffer_at(s, item->buffer)->memory != OPF_MEMORY_REGISTER) opf_place_array(s, row, item->buffer);
        if (s->stages[i]->combiner != OPF_COMBINE_NONE) {
            opf_reduce(s, row, item, NULL);
        } else {
            opf_targets targets = {0};
            OPF_PUSH(s->arena, &targets.list, (opf_target){item->buffer, item->offset, item->term});
            opf_leaf_over(s, row, item->free, NULL, &targets, false);
        }
    }
    if (step != n->n_steps) return;
    opf_axes inner = {0};
    for (int k = n->depth; k < n->root->order.count; k++) opf_axes_add(&inner, n->root->order.at[k]);
    opf_leaf_over(s, row, inner, NULL, &n->root->outputs, false);
}

static void emit_product(opf_rows_nest *n, opf_block *block, int i) {
    opf_scheduler *s = n->s;
    const opf_item *item = n->root->items[i];
    opf_code_note(s, block, s->stages[i]->name);
    opf_block_factors factors = opf_block_product_factors(n, block, i);
    opf_code *code = opf_block_product(n, block, i, &factors, item->buffer, free_elements(n, item), reduced_elements(n, item));
    if (n->mask.ahead && i == n->mask.scores) code->columns = opf_variable(s, n->reach);
    if (n->mask.ahead && i == n->mask.sums) {
        code->zeros = code->depth;
        code->depth = opf_variable(s, n->reach);
    }
}

/* How many columns the rows of the block look at: those of its last row, and one where that is none, so that rows of NaN stay so. */
static void emit_reach(opf_rows_nest *n, opf_block *block) {
    opf_scheduler *s = n->s;
    opf_pool *pool = s->pool;
    int stage = n->mask.scores >= 0 ? n->mask.scores : n->mask.sums;
    const opf_item *item = n->root->items[stage];
    const opf_axes *axes = stage == n->mask.scores ? &item->free : &item->reduce;
    opf_dim all = opf_extent_product(s, axes, 0, axes->count);
    n->reach = opf_variable_new(s, "reach", opf_add(pool, all, opf_int(pool, 1)));
    const opf_expr *last = opf_add(pool, opf_add(pool, opf_variable(s, n->begin), opf_variable(s, n->count)), n->mask.ahead);
    opf_code_index(s, block, n->reach, opf_min(pool, opf_max(pool, last, opf_int(pool, 1)), all));
}

static void emit_steps(opf_rows_nest *n, opf_block *block) {
    opf_scheduler *s = n->s;
    for (int i = 0; i < s->n_stages; i++)
        if (n->root->items[i] && n->pitch[i]) opf_place_array(s, block, n->root->items[i]->buffer);
    for (int step = 1; step <= n->n_steps; step++) {
        bool rows = step == n->n_steps;
        if (step == n->stream) {
            opf_block_stream(n, block);
            continue;
        }
        for (int i = 0; i < s->n_stages; i++) {
            if (!n->root->items[i] || n->step[i] != step) continue;
            if (n->product[i]) emit_product(n, block, i);
            else rows = true;
        }
        if (rows) emit_row_step(n, block, step);
    }
}

/* Blocks are cut evenly, so that the last one is not a handful of rows. */
static void emit_blocks(opf_rows_nest *n, opf_block *block) {
    opf_scheduler *s = n->s;
    opf_pool *pool = s->pool;
    opf_dim extent = opf_extent(s, n->row), blocks = opf_ceildiv(pool, extent, opf_int(pool, n->rows));
    for (int k = 0; k < n->depth - 1; k++) opf_axes_add(&n->units, n->root->order.at[k]);
    n->number = opf_variable_new(s, opf_arena_printf(s->arena, "%s_block", s->nest->variables.data[n->row].name), blocks);
    opf_axes_add(&n->units, n->number);
    for (int i = 0; i < s->n_stages; i++)
        if (n->root->items[i] && n->product[i]) opf_block_product_place(n, block, i);
    block = opf_code_share(s, block, &n->units, n->units.count);
    const opf_expr *number = opf_variable(s, n->number), *next = opf_add(pool, number, opf_int(pool, 1));
    opf_code_index(s, block, n->begin, opf_simple(s, opf_floordiv(pool, opf_mul(pool, number, extent), blocks)));
    const opf_expr *end = opf_floordiv(pool, opf_mul(pool, next, extent), blocks);
    opf_code_index(s, block, n->count, opf_sub(pool, end, opf_variable(s, n->begin)));
    if (n->mask.ahead) emit_reach(n, block);
    emit_steps(n, block);
}

bool opf_blocks_emit(opf_scheduler *s, int n_results, const int *results) {
    opf_stages stages = {.inputs = s->group->stages.inputs};
    opf_block_plan plan;
    bool exact = opf_group_is_exact(s->group);
    int *stored = OPF_ARRAY(s->arena, int, n_results);
    if ((size_t)s->n_stages != s->group->stages.list.count) return false; /* windows */
    for (int i = 0; i < s->n_stages; i++) OPF_PUSH(s->arena, &stages.list, (opf_stage *)(uintptr_t)s->stages[i]);
    for (int k = 0; k < n_results; k++) stored[k] = s->result_stage[results[k]];
    if (!opf_blocks_plan(&stages, n_results, stored, exact, s->pool, s->arena, &plan)) return false;
    opf_block_mask mask = exact || plan.power >= 0 ? (opf_block_mask){NULL, -1, -1} : opf_blocks_mask(&stages, n_results, s->pool, &plan);
    opf_dim rows = plan.extents.data[plan.row];
    take_variables(s, &plan, n_results, results);
    opf_root root = root_of(s, &plan, n_results, results);
    opf_rows_nest n = {.s = s, .root = &root, .plan = &plan, .product = OPF_ARRAY(s->arena, bool, s->n_stages + 1), .copy = OPF_ARRAY(s->arena, int, s->n_stages + 1)};
    opf_axes domain = root.order;
    opf_block block = {0};
    s->root = domain;
    s->relies_on_root = false;
    opf_root_linear(s, &root); /* what it keeps and another result is, with another domain, a root of its own computes again */
    opf_root_simplify(s, &root);
    for (int i = 0; i < s->n_stages; i++) n.depth = root.items[i] ? root.items[i]->depth : n.depth;
    n.row = root.order.at[n.depth - 1];
    for (int i = 0; i < s->n_stages; i++) n.product[i] = root.items[i] && plan.stages[i]->product && opf_block_product_fits(&n, i);
    if (n.row == plan.row && opf_extent(s, n.row) == rows) n.mask = mask;
    number_steps(&n);
    choose_columns(&n);
    choose_pitches(&n);
    choose_rows(&n);
    place_rows(&n);
    emit_blocks(&n, &block);
    opf_root_append(s, &domain, &block);
    return true;
}
