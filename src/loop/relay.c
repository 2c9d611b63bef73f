/* A pool or a depth-wise convolution behind a contraction: the nests of its two halves. */
#include "loop/relay.h"

#include <string.h>

#include "fuse/pools.h"
#include "loop/band.h"
#include "loop/tile.h"

enum { RANK = 4, LINE = 2, ALIGN = 64 };

typedef struct relaying {
    opf_nest *nest;
    opf_pool *pool;
    opf_arena *arena;
    const opf_group *group;
    opf_pooling p;
    int n_inputs;
    const opf_symbol *band;
} relaying;

static const opf_stage *stage_at(const relaying *r, int s) { return r->group->stages.list.data[s]; }

/* ---- values and groups ---- */

static opf_value *new_value(const relaying *r, const char *name, int rank, const opf_dim *dims) {
    opf_value *value = OPF_NEW(r->arena, opf_value);
    *value = (opf_value){.name = name, .graph = r->group->results.data[0].value->graph, .dtype = OPF_FLOAT32, .rank = rank, .declared_rank = -1, .input_index = -1};
    value->dims = opf_arena_copy(r->arena, dims, (size_t)rank * sizeof *dims);
    return value;
}

static opf_group *new_group(const relaying *r) {
    opf_group *group = OPF_NEW(r->arena, opf_group);
    *group = (opf_group){.kind = OPF_KIND_OUT_ELEMWISE_FUSABLE, .step = OPF_STEP_KERNEL, .rule = "relay"};
    for (size_t i = 0; i < r->group->stages.inputs.count; i++) OPF_PUSH(r->arena, &group->stages.inputs, r->group->stages.inputs.data[i]);
    return group;
}

/* The number that says which band, one for all relays of so many bands. */
static const opf_symbol *band_symbol(opf_pool *pool, opf_arena *arena, int64_t bands) {
    const char *name = opf_arena_printf(arena, "band_of_%lld", (long long)bands);
    for (int i = 0; i < opf_pool_symbols(pool); i++)
        if (strcmp(opf_pool_symbol(pool, i)->name, name) == 0) return opf_pool_symbol(pool, i);
    return opf_symbol_number(pool, name, 0, bands - 1, bands / 2);
}

/* ---- the front ---- */

/* The line of the contraction that stands first in the band. */
static const opf_expr *first_line(const relaying *r, const opf_expr *band) {
    return opf_sub(r->pool, opf_mul(r->pool, band, opf_int(r->pool, r->p.lines * r->p.stride)), opf_int(r->pool, r->p.before));
}

typedef struct shifting { const relaying *r; const opf_expr *line, *band; } shifting;

/* The chain is read at the same place; all else at the line that this one is of the whole. */
static const opf_expr *shift_leaf(opf_pool *pool, const opf_expr *leaf, void *data) {
    const shifting *s = data;
    int stage = leaf->kind == OPF_EXPR_LOAD ? leaf->index - s->r->n_inputs : -1;
    if (leaf->kind == OPF_EXPR_VAR && leaf->index == LINE) return s->line;
    if (stage < 0 || !s->r->p.chain[stage]) return NULL;
    const opf_expr *indices[RANK];
    for (int k = 0; k < RANK; k++) indices[k] = opf_var(pool, k);
    return opf_load(pool, (opf_dtype)leaf->dtype, leaf->index, RANK, indices);
}

/* Lines that the whole does not have are 0; nobody reads them. */
static const opf_expr *clipped(const relaying *r, const opf_expr *factor, const opf_expr *line, opf_dim extent) {
    if (!opf_expr_has_var(factor, LINE)) return factor;
    const opf_expr *inside = opf_binary(r->pool, OPF_OP_AND, opf_binary(r->pool, OPF_OP_LE, opf_int(r->pool, 0), line), opf_binary(r->pool, OPF_OP_LT, line, extent));
    return opf_select(r->pool, inside, factor, opf_real(r->pool, OPF_FLOAT32, 0));
}

static opf_stage *shifted(const relaying *r, int s, const opf_expr *line, opf_dim rows) {
    const opf_stage *stage = stage_at(r, s);
    opf_stage *copy = opf_arena_copy(r->arena, stage, sizeof *stage);
    copy->extents = opf_arena_copy(r->arena, stage->extents, (size_t)(stage->n_axes + stage->n_reduce) * sizeof *stage->extents);
    copy->extents[LINE] = rows;
    copy->body = opf_expr_map(r->pool, stage->body, shift_leaf, &(shifting){r, line, NULL});
    if (s == r->p.sum && r->p.clipped) {
        const opf_expr *a = clipped(r, copy->body->args[0], line, stage->extents[LINE]), *b = clipped(r, copy->body->args[1], line, stage->extents[LINE]);
        copy->body = opf_binary(r->pool, OPF_OP_MUL, a, b);
    }
    copy->body = opf_expr_simplify(r->pool, copy->body, opf_stage_domain(copy));
    return copy;
}

static opf_nest *make_front(const relaying *r) {
    opf_group *group = new_group(r);
    opf_dim rows = opf_int(r->pool, opf_pooling_rows(&r->p));
    const opf_expr *line = opf_add(r->pool, first_line(r, opf_sym(r->pool, r->band)), opf_var(r->pool, LINE));
    for (int s = 0; s <= r->p.front; s++) OPF_PUSH(r->arena, &group->stages.list, r->p.chain[s] ? shifted(r, s, line, rows) : r->group->stages.list.data[s]);
    OPF_PUSH(r->arena, &group->results, (opf_result){new_value(r, "lines", RANK, group->stages.list.data[r->p.front]->extents), r->p.front});
    opf_nest *front = NULL;
    return opf_nest_schedule(&front, group, r->nest->machine) == OPF_OK && front->tile && !front->tile->winograd ? front : NULL;
}

/* ---- the fill ---- */

/* Over (band, n, channel, line, column), of bands from one of them on. */
static const opf_expr *behind_leaf(opf_pool *pool, const opf_expr *leaf, void *data) {
    const shifting *s = data;
    const relaying *r = s->r;
    int stage = leaf->kind == OPF_EXPR_LOAD ? leaf->index - r->n_inputs : -1;
    if (leaf->kind == OPF_EXPR_VAR) return leaf->index == LINE ? s->line : opf_var(pool, leaf->index + 1);
    if (stage < 0) return NULL;
    const opf_expr *indices[RANK + 1];
    if (stage == r->p.front) {
        for (int k = 0; k < RANK; k++) indices[k] = leaf->args[k];
        indices[LINE] = opf_sub(pool, indices[LINE], first_line(r, s->band));
        return opf_load(pool, OPF_FLOAT32, r->n_inputs, RANK, indices);
    }
    for (int k = 0; k <= RANK; k++) indices[k] = opf_var(pool, k);
    return opf_load(pool, (opf_dtype)leaf->dtype, r->n_inputs + 1 + stage - r->p.pool, RANK + 1, indices);
}

static opf_stage *behind(const relaying *r, int s, int64_t begin, int64_t end) {
    const opf_stage *stage = stage_at(r, s);
    opf_stage *copy = opf_arena_copy(r->arena, stage, sizeof *stage);
    int n = stage->n_axes + stage->n_reduce;
    copy->n_axes = RANK + 1;
    copy->extents = OPF_ARRAY(r->arena, opf_dim, n + 1);
    copy->axis_names = OPF_ARRAY(r->arena, const char *, n + 1);
    const opf_expr *lines = opf_int(r->pool, r->p.lines), *band = opf_add(r->pool, opf_var(r->pool, 0), opf_int(r->pool, begin));
    copy->extents[0] = opf_int(r->pool, end - begin);
    copy->axis_names[0] = "band";
    for (int k = 0; k < n; k++) {
        copy->extents[k + 1] = k == LINE ? lines : stage->extents[k];
        copy->axis_names[k + 1] = k == LINE ? "line" : stage->axis_names ? stage->axis_names[k] : NULL;
    }
    const opf_expr *line = opf_add(r->pool, opf_mul(r->pool, band, lines), opf_var(r->pool, LINE + 1));
    copy->body = opf_expr_simplify(r->pool, opf_expr_map(r->pool, stage->body, behind_leaf, &(shifting){r, line, band}), opf_stage_domain(copy));
    return copy;
}

static opf_nest *make_fill(const relaying *r, const opf_value *lines, int64_t begin, int64_t end) {
    opf_group *group = new_group(r);
    OPF_PUSH(r->arena, &group->stages.inputs, (opf_value *)(uintptr_t)lines);
    const opf_stage *result = stage_at(r, (int)r->group->stages.list.count - 1);
    for (int s = r->p.pool; s < (int)r->group->stages.list.count; s++)
        OPF_PUSH(r->arena, &group->stages.list, behind(r, s, begin, end));
    int last = (int)group->stages.list.count - 1;
    opf_value *value = new_value(r, "band", RANK + 1, group->stages.list.data[last]->extents);
    value->dtype = result->dtype;
    OPF_PUSH(r->arena, &group->results, (opf_result){value, last});
    opf_dim *strides = OPF_ARRAY(r->arena, opf_dim, RANK + 1), stride = opf_int(r->pool, 1);
    for (int k = RANK - 1; k >= 0; k--) {
        strides[k + 1] = stride;
        stride = opf_mul(r->pool, stride, result->extents[k]);
    }
    strides[0] = opf_int(r->pool, 0);
    opf_fill *fill = OPF_NEW(r->arena, opf_fill);
    *fill = (opf_fill){1, strides};
    return opf_nest_fill(group, r->nest->machine, fill);
}

/* ---- whole ---- */

static int64_t padded(int64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static void move_scratch(const relaying *r, opf_nest *fill, opf_dim used) {
    for (size_t b = 0; fill && b < fill->buffers.count; b++)
        if (fill->buffers.data[b].memory == OPF_MEMORY_SCRATCH) fill->buffers.data[b].offset = opf_add(r->pool, fill->buffers.data[b].offset, used);
}

static void take_scratch(const relaying *r, const opf_relay *relay) {
    opf_pool *pool = r->pool;
    opf_dim used = opf_add(pool, opf_int(pool, relay->lines_bytes), relay->front->scratch_bytes), own = relay->fill->scratch_bytes;
    move_scratch(r, relay->fill, used);
    move_scratch(r, relay->inner, used);
    r->nest->scratch_bytes = opf_add(pool, used, relay->inner ? opf_max(pool, own, relay->inner->scratch_bytes) : own);
}

/* Bands at the borders ask whether there is a line; those between need not. */
static void make_fills(const relaying *r, opf_relay *relay, const opf_value *lines) {
    int64_t rows = 0;
    opf_is_int(stage_at(r, r->p.sum)->extents[LINE], &rows);
    bool beyond = (r->p.bands * r->p.lines - 1) * r->p.stride + r->p.taps - r->p.before > rows;
    relay->bands = r->p.bands;
    relay->inner_begin = r->p.before > 0;
    relay->inner_end = relay->bands - beyond;
    relay->fill = make_fill(r, lines, 0, relay->bands);
    if (r->p.clipped && relay->inner_begin < relay->inner_end) relay->inner = make_fill(r, lines, relay->inner_begin, relay->inner_end);
}

static bool find(relaying *r) {
    const opf_group *group = r->group;
    bool *chain = OPF_ARRAY(r->arena, bool, group->stages.list.count + 1);
    return group->results.count == 1 && group->stages.list.count >= 2 && group->results.data[0].value->dtype == OPF_FLOAT32 &&
           opf_pooling_find(&r->p, &group->stages, group->results.data[0].stage, r->pool, chain);
}

bool opf_relay_schedule(opf_nest *nest) {
    relaying r = {.nest = nest, .pool = nest->pool, .arena = opf_pool_arena(nest->pool), .group = nest->group, .n_inputs = (int)nest->group->stages.inputs.count};
    if (!find(&r)) return false;
    r.band = band_symbol(r.pool, r.arena, r.p.bands);
    opf_relay *relay = OPF_NEW(r.arena, opf_relay);
    relay->front = make_front(&r);
    if (!relay->front) return false;
    const opf_value *lines = relay->front->group->results.data[0].value;
    make_fills(&r, relay, lines);
    int64_t columns = 1, elements = 1, size;
    for (int k = 0; k < RANK; k++)
        if (opf_is_int(lines->dims[k], &size)) elements *= size;
    relay->lines_bytes = padded(elements * 4);
    opf_is_int(stage_at(&r, r.p.pool)->extents[RANK - 1], &columns);
    relay->step = r.p.lines * columns;
    for (size_t i = 0; i < relay->front->packed.count; i++) OPF_PUSH(r.arena, &nest->packed, relay->front->packed.data[i]);
    nest->relay = relay;
    nest->units = opf_int(r.pool, relay->bands);
    take_scratch(&r, relay);
    nest->schedule = opf_arena_printf(r.arena, "bands of %lld lines: %s; then windows of these", (long long)r.p.lines, relay->front->schedule);
    return true;
}
