/* Bands (band.h): the nest that fills the product's operand. */
#include "loop/tile_internal.h"

enum { RANK = 4, LINES = 2 /* the axis that is cut into bands */, GIVEN = 2 };

/* ---- the fill ---- */

/* Stages of the chain over (band, n, channel, line, column): what they read besides each other is read at line band * lines + line. */
typedef struct shifting {
    opf_tiler *tiler;
    const bool *chain;
    const opf_expr *line;      /* in the new variables */
} shifting;

static const opf_expr *shift_leaf(opf_pool *pool, const opf_expr *leaf, void *data) {
    const shifting *s = data;
    if (leaf->kind == OPF_EXPR_VAR) return leaf->index == LINES ? s->line : opf_var(pool, leaf->index + 1);
    if (leaf->kind != OPF_EXPR_LOAD || leaf->index < s->tiler->n_inputs || !s->chain[leaf->index - s->tiler->n_inputs]) return NULL;
    const opf_expr *indices[RANK + 1];
    for (int k = 0; k <= RANK; k++) indices[k] = opf_var(pool, k);
    return opf_load(pool, (opf_dtype)leaf->dtype, leaf->index, RANK + 1, indices);
}

static opf_stage *shifted(const shifting *s, const opf_stage *stage, opf_dim bands, opf_dim lines) {
    opf_arena *arena = s->tiler->arena;
    opf_stage *copy = opf_arena_copy(arena, stage, sizeof *stage);
    int n = stage->n_axes + stage->n_reduce;
    copy->n_axes = RANK + 1;
    copy->extents = OPF_ARRAY(arena, opf_dim, n + 1);
    copy->axis_names = OPF_ARRAY(arena, const char *, n + 1);
    copy->extents[0] = bands;
    copy->axis_names[0] = "band";
    for (int k = 0; k < n; k++) {
        copy->extents[k + 1] = k == LINES ? lines : stage->extents[k];
        copy->axis_names[k + 1] = k == LINES ? "line" : stage->axis_names ? stage->axis_names[k] : NULL;
    }
    copy->body = opf_expr_map(s->tiler->pool, stage->body, shift_leaf, (void *)(uintptr_t)s);
    return copy;
}

static opf_group *fill_group(opf_tiler *tiler, const bool *chain, opf_dim bands, opf_dim lines) {
    opf_pool *pool = tiler->pool;
    opf_group *group = OPF_NEW(tiler->arena, opf_group);
    opf_value *value = OPF_NEW(tiler->arena, opf_value);
    const opf_expr *line = opf_add(pool, opf_mul(pool, opf_var(pool, 0), lines), opf_var(pool, LINES + 1));
    shifting s = {tiler, chain, line};
    *group = (opf_group){.kind = OPF_KIND_OUT_ELEMWISE_FUSABLE, .step = OPF_STEP_KERNEL, .rule = "fill", .stages.inputs = tiler->stages->inputs};
    for (int k = 0; k <= tiler->band; k++) {
        opf_stage *stage = tiler->stages->list.data[k];
        OPF_PUSH(tiler->arena, &group->stages.list, chain[k] ? shifted(&s, stage, bands, lines) : stage);
    }
    value->name = "band";
    value->graph = tiler->nest->group->results.data[0].value->graph;
    value->dtype = OPF_FLOAT32;
    value->rank = RANK + 1;
    value->dims = opf_arena_copy(tiler->arena, group->stages.list.data[tiler->band]->extents, (RANK + 1) * sizeof(opf_dim));
    value->declared_rank = value->input_index = -1;
    OPF_PUSH(tiler->arena, &group->results, (opf_result){value, tiler->band});
    return group;
}

/* Scratch of the fill lies behind the tile's own. */
static void move_scratch(opf_tiler *tiler, opf_nest *fill) {
    for (size_t b = 0; b < fill->buffers.count; b++)
        if (fill->buffers.data[b].memory == OPF_MEMORY_SCRATCH) fill->buffers.data[b].offset = opf_add(tiler->pool, fill->buffers.data[b].offset, tiler->nest->scratch_bytes);
    tiler->nest->scratch_bytes = opf_add(tiler->pool, tiler->nest->scratch_bytes, fill->scratch_bytes);
}

bool opf_tiler_fill(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    opf_dim extent = tile->axes[opf_tile_first_column(tile)].extent, lines = tile->column_chunk;
    bool *chain = OPF_ARRAY(tiler->arena, bool, tiler->stages->list.count);
    if (opf_band_stage(tiler->stages, tile->anchor, pool, chain) != tiler->band) return opf_tiler_refuse(tiler, "no chain from the window to the product");
    opf_dim *strides = OPF_ARRAY(tiler->arena, opf_dim, RANK + 1);
    strides[0] = strides[1] = opf_int(pool, 0);
    strides[2] = tile->plane;
    strides[3] = tile->pitch;
    strides[4] = opf_int(pool, 1);
    opf_fill *fill = OPF_NEW(tiler->arena, opf_fill);
    *fill = (opf_fill){GIVEN, strides};
    opf_nest *nest = opf_nest_fill(fill_group(tiler, chain, opf_floordiv(pool, extent, lines), lines), tiler->nest->machine, fill);
    move_scratch(tiler, nest);
    tile->fill = nest;
    return true;
}
