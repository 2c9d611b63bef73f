/* Softmax in blocks of columns, inside a block of rows (fuse/stream.h).
 *
 * For each row the largest x so far, and the sums over e^(x - largest so far). A block of columns computes x and its
 * powers; where it moves the largest, the sums of earlier blocks are multiplied by e^(old - new) before its own are added.
 *
 * -inf - -inf is NaN, and a row of nothing but -inf must end as NaN, as it does where it is computed whole. Blocks before the last
 * one take 0 for a largest of -inf, so that a row that only begins with -inf does not; the last one takes it as it is. */
#include "loop/blocks.h"

typedef struct stream {
    opf_rows_nest *n;
    opf_scheduler *s;
    int power, largest;        /* stages */
    int shift, factor;         /* buffers, by row: what is subtracted from x; what earlier sums are multiplied with */
    int *part;                 /* by stage: buffer of a block's own sums; -1: none */
    opf_block_factors *factors;/* by stage, of products: for the first block */
} stream;

/* Columns begin … begin + count - 1. `is_last`: whether it is the last block; NULL: it is. */
typedef struct pass { const opf_expr *begin, *is_last; opf_dim count; } pass;

static const opf_item *item_at(const stream *t, int stage) { return t->n->root->items[stage]; }
static bool is_streamed(const stream *t, int stage) { return item_at(t, stage) && item_at(t, stage)->streams; }
static bool is_wide(const opf_item *item) { return item->streams && opf_axes_has(&item->free, item->streamed); }

static const opf_expr *of_row(const stream *t, int buffer) {
    const opf_expr *load = opf_buffer_load(t->s, buffer, opf_variable(t->s, t->n->lane));
    opf_note_safe(t->s, load, OPF_SAFE_ANYWHERE);
    return load;
}

static int per_row(const stream *t, opf_block *block, const char *name) {
    int buffer = opf_buffer_new(t->s, OPF_MEMORY_SCRATCH, OPF_FLOAT32, name, opf_int(t->s->pool, t->n->rows));
    opf_place_array(t->s, block, buffer);
    return buffer;
}

static opf_block *row_loop(const stream *t, opf_block *block) {
    return opf_code_loop(t->s, block, t->n->lane, opf_int(t->s->pool, 0), opf_variable(t->s, t->n->count), 1);
}

/* Stores a value in a buffer at each element that a row has of the item. */
static void store_row(const stream *t, opf_block *row, const opf_item *item, int buffer, const opf_expr *value) {
    opf_targets targets = {0};
    OPF_PUSH(t->s->arena, &targets.list, (opf_target){buffer, item->offset, value});
    opf_leaf_over(t->s, row, item->free, NULL, &targets, false);
}

static const opf_expr *element_of(const stream *t, const opf_item *item, int buffer) {
    const opf_expr *load = opf_buffer_load(t->s, buffer, item->offset);
    opf_note_safe(t->s, load, OPF_SAFE);
    return load;
}

/* ---- one block of columns: items over its own columns ---- */

typedef struct moving { const stream *t; int streamed; const opf_expr *lane; } moving;

/* Wide items have the block's columns only; the largest is what is subtracted from x in this block. */
static const opf_expr *in_block(opf_pool *pool, const opf_expr *leaf, void *data) {
    const moving *m = data;
    opf_scheduler *s = m->t->s;
    if (leaf->kind != OPF_EXPR_LOAD) return NULL;
    if (leaf->index == item_at(m->t, m->t->largest)->buffer) return of_row(m->t, m->t->shift);
    for (int i = 0; i < s->n_stages; i++) {
        if (!is_streamed(m->t, i) || !is_wide(item_at(m->t, i)) || item_at(m->t, i)->buffer != leaf->index) continue;
        const opf_expr *offset = opf_substitute(s, leaf->args[0], m->streamed, m->lane);
        const opf_expr *load = opf_load(pool, (opf_dtype)leaf->dtype, leaf->index, 1, &offset);
        opf_note_safe(s, load, opf_is_safe(s, leaf, OPF_SAFE_ANYWHERE) ? OPF_SAFE_ANYWHERE : OPF_SAFE);
        return load;
    }
    return NULL;
}

/* The item for the columns of a block, its result in `buffer`. */
static opf_item *item_of_block(const stream *t, const pass *p, int stage, int buffer) {
    opf_scheduler *s = t->s;
    opf_item *item = OPF_NEW(s->arena, opf_item);
    *item = *item_at(t, stage);
    int lane = opf_variable_new(s, s->nest->variables.data[item->streamed].name, p->count);
    for (int k = 0; k < item->free.count; k++)
        if (item->free.at[k] == item->streamed) item->free.at[k] = lane;
    for (int k = 0; k < item->reduce.count; k++)
        if (item->reduce.at[k] == item->streamed) item->reduce.at[k] = lane;
    moving m = {t, item->streamed, opf_variable(s, lane)};
    const opf_expr *term = opf_expr_map(s->pool, item->term, in_block, &m);
    item->term = opf_simple(s, opf_substitute_safely(s, term, item->streamed, opf_add(s->pool, p->begin, m.lane)));
    item->offset = opf_substitute(s, item->offset, item->streamed, m.lane);
    item->buffer = buffer;
    return item;
}

/* The largest of the block into the largest so far; what follows from it. */
static void emit_largest(const stream *t, opf_block *row, const pass *p) {
    opf_scheduler *s = t->s;
    opf_pool *pool = s->pool;
    const opf_expr *lane = opf_variable(s, t->n->lane), *least = opf_neutral(pool, OPF_COMBINE_MAX, OPF_FLOAT32), *zero = opf_real(pool, OPF_FLOAT32, 0);
    int running = item_at(t, t->largest)->buffer, block = opf_buffer_new(s, OPF_MEMORY_REGISTER, OPF_FLOAT32, "largest", NULL);
    opf_item *item = item_of_block(t, p, t->largest, block);
    item->offset = NULL;
    opf_reduce(s, row, item, NULL);
    int before = opf_buffer_temporary(s, OPF_FLOAT32), after = opf_buffer_temporary(s, OPF_FLOAT32);
    opf_code_define(s, row, before, of_row(t, running));
    const opf_expr *old = opf_buffer_load(s, before, NULL), *new = opf_buffer_load(s, after, NULL);
    opf_code_define(s, row, after, opf_binary(pool, OPF_OP_MAX, old, opf_buffer_load(s, block, NULL)));
    opf_code_store(s, row, running, lane, new);
    const opf_expr *none = opf_binary(pool, OPF_OP_EQ, new, least);
    if (p->is_last) none = opf_binary(pool, OPF_OP_AND, none, opf_unary(pool, OPF_OP_NOT, p->is_last));
    opf_code_store(s, row, t->shift, lane, p->is_last ? opf_select(pool, none, zero, new) : new);
    const opf_expr *same = opf_binary(pool, OPF_OP_EQ, old, new), *one = opf_real(pool, OPF_FLOAT32, 1);
    opf_code_store(s, row, t->factor, lane, opf_select(pool, same, one, opf_unary(pool, OPF_OP_EXP_BELOW, opf_binary(pool, OPF_OP_SUB, old, new))));
}

/* sum so far = sum so far * factor + sum of the block */
static void emit_rescaled(const stream *t, opf_block *row, int stage, const opf_expr *own) {
    const opf_item *item = item_at(t, stage);
    opf_pool *pool = t->s->pool;
    const opf_expr *scaled = opf_binary(pool, OPF_OP_MUL, element_of(t, item, item->buffer), of_row(t, t->factor));
    store_row(t, row, item, item->buffer, opf_binary(pool, OPF_OP_ADD, scaled, own));
}

static void emit_sum(const stream *t, opf_block *row, const pass *p, int stage) {
    opf_scheduler *s = t->s;
    opf_item *item;
    if (t->part[stage] >= 0) {
        opf_reduce(s, row, item_of_block(t, p, stage, t->part[stage]), NULL);
        emit_rescaled(t, row, stage, element_of(t, item_at(t, stage), t->part[stage]));
        return;
    }
    item = item_of_block(t, p, stage, opf_buffer_new(s, OPF_MEMORY_REGISTER, OPF_FLOAT32, "part", NULL));
    item->offset = NULL;
    opf_reduce(s, row, item, NULL);
    emit_rescaled(t, row, stage, opf_buffer_load(s, item->buffer, NULL));
}

static void emit_in_row(const stream *t, opf_block *row, const pass *p, int stage) {
    opf_scheduler *s = t->s;
    const opf_item *item = item_at(t, stage);
    opf_code_note(s, row, s->stages[stage]->name);
    if (stage == t->largest) {
        emit_largest(t, row, p);
    } else if (!is_wide(item)) {
        emit_sum(t, row, p, stage);
    } else {
        opf_item *own = item_of_block(t, p, stage, item->buffer);
        if (s->stages[stage]->combiner != OPF_COMBINE_NONE) opf_reduce(s, row, own, NULL);
        else store_row(t, row, own, own->buffer, own->term);
    }
}

/* Products are computed for all rows of the block at once. */
static void emit_product(const stream *t, opf_block *block, const pass *p, int stage) {
    opf_scheduler *s = t->s;
    opf_pool *pool = s->pool;
    const opf_item *item = item_at(t, stage);
    bool wide = is_wide(item);
    opf_block_factors factors = t->factors[stage];
    const opf_expr *stride = wide ? opf_int(pool, 1) : factors.b_pitch;
    factors.b.offset = opf_add(pool, factors.b.offset, opf_mul(pool, p->begin, stride));
    const opf_expr *columns = wide ? p->count : opf_extent_product(s, &item->free, 0, item->free.count);
    const opf_expr *depth = wide ? opf_extent_product(s, &item->reduce, 0, item->reduce.count) : p->count;
    opf_code_note(s, block, s->stages[stage]->name);
    opf_block_product(t->n, block, stage, &factors, wide ? item->buffer : t->part[stage], columns, depth);
    if (!wide) emit_rescaled(t, row_loop(t, block), stage, element_of(t, item, t->part[stage]));
}

static void emit_pass(const stream *t, opf_block *block, const pass *p) {
    opf_block *row = NULL;
    for (int i = 0; i < t->s->n_stages; i++) {
        if (!is_streamed(t, i)) continue;
        if (t->n->product[i]) {
            emit_product(t, block, p, i);
            row = NULL;
        } else {
            if (!row) row = row_loop(t, block);
            emit_in_row(t, row, p, i);
        }
    }
}

/* ---- the whole ---- */

/* Sums begin with 0, the largest with the least there is. */
static void emit_start(const stream *t, opf_block *block) {
    opf_block *row = row_loop(t, block);
    for (int i = 0; i < t->s->n_stages; i++) {
        if (!is_streamed(t, i) || is_wide(item_at(t, i))) continue;
        const opf_expr *first = i == t->largest ? opf_neutral(t->s->pool, OPF_COMBINE_MAX, OPF_FLOAT32) : opf_real(t->s->pool, OPF_FLOAT32, 0);
        store_row(t, row, item_at(t, i), item_at(t, i)->buffer, first);
    }
}

static void place(stream *t, opf_block *block) {
    opf_scheduler *s = t->s;
    t->shift = per_row(t, block, "shift");
    t->factor = per_row(t, block, "factor");
    t->part = OPF_ARRAY(s->arena, int, s->n_stages + 1);
    t->factors = OPF_ARRAY(s->arena, opf_block_factors, s->n_stages + 1);
    for (int i = 0; i < s->n_stages; i++) {
        t->part[i] = -1;
        if (!is_streamed(t, i)) continue;
        const opf_item *item = item_at(t, i);
        if (t->n->product[i]) t->factors[i] = opf_block_product_factors(t->n, block, i);
        if (is_wide(item) || item->free.count == 0) continue;
        t->part[i] = opf_buffer_new(s, OPF_MEMORY_SCRATCH, OPF_FLOAT32, "part", opf_mul(s->pool, opf_int(s->pool, t->n->rows), t->n->pitch[i]));
        opf_place_array(s, block, t->part[i]);
    }
}

void opf_block_stream(opf_rows_nest *n, opf_block *block) {
    opf_scheduler *s = n->s;
    opf_pool *pool = s->pool;
    stream t = {.n = n, .s = s, .power = n->plan->power, .largest = n->plan->largest};
    s->nest->rescaled = t.power;
    s->nest->rescaled_columns = n->columns;
    place(&t, block);
    emit_start(&t, block);
    const opf_item *power = item_at(&t, t.power);
    opf_dim extent = opf_extent(s, power->streamed), size = opf_int(pool, n->columns), rest = opf_floormod(pool, extent, size), whole = opf_sub(pool, extent, rest);
    const char *name = opf_arena_printf(s->arena, "%s_begin", s->nest->variables.data[power->streamed].name);
    if (!opf_is_value(whole, 0)) {
        int begin = opf_variable_new(s, name, extent);
        const opf_expr *end = opf_add(pool, opf_variable(s, begin), size);
        pass full = {opf_variable(s, begin), opf_binary(pool, OPF_OP_GE, end, extent), size};
        emit_pass(&t, opf_code_loop(s, block, begin, opf_int(pool, 0), whole, n->columns), &full);
    }
    if (opf_is_value(rest, 0)) return;
    if (!opf_is_int(rest, NULL)) block = opf_code_if(s, block, opf_binary(pool, OPF_OP_LT, opf_int(pool, 0), rest));
    pass last = {whole, NULL, rest};
    emit_pass(&t, block, &last);
}
