/* How the operands of a contraction are read. */
#include <float.h>

#include "loop/tile_internal.h"

const opf_expr *opf_tiler_offset(const opf_tiler *tiler, const opf_expr *load) {
    const opf_value *value = tiler->stages->inputs.data[load->index];
    const opf_expr *offset = opf_int(tiler->pool, 0);
    for (int k = 0; k < load->n_args; k++) offset = opf_add(tiler->pool, opf_mul(tiler->pool, offset, value->dims[k]), load->args[k]);
    return offset;
}

bool opf_tiler_flat(const opf_tiler *tiler, const opf_expr *offset, int first, int count, const opf_expr **stride, const opf_expr **base) {
    *stride = opf_int(tiler->pool, 0);
    *base = offset;
    const opf_expr *expected = NULL;
    for (int k = first + count - 1; k >= first; k--) {
        const opf_expr *coefficient, *rest;
        if (!opf_expr_affine(tiler->pool, *base, k, &coefficient, &rest) || opf_expr_vars(coefficient)) return false;
        if (expected && coefficient != expected) return false;
        if (!expected) *stride = coefficient;
        expected = opf_mul(tiler->pool, coefficient, tiler->tile->axes[k].extent);
        *base = rest;
    }
    return true;
}

typedef struct walk { const opf_tiler *tiler; int outer, inner; opf_dim extent; } walk;

static bool visit_walk(const opf_expr *e, void *data) {
    const walk *w = data;
    const opf_expr *a, *b, *rest;
    if (e->kind != OPF_EXPR_LOAD) return true;
    if (e->index >= w->tiler->n_inputs) return false;
    const opf_expr *offset = opf_tiler_offset(w->tiler, e);
    if (!opf_expr_affine(w->tiler->pool, offset, w->inner, &b, &rest) || opf_expr_vars(b)) return false;
    return w->outer == w->inner || (opf_expr_affine(w->tiler->pool, rest, w->outer, &a, &rest) && a == opf_mul(w->tiler->pool, b, w->extent));
}

/* Outside of loads. */
static bool depends(const opf_expr *e, int variable) {
    if (!opf_expr_has_var(e, variable) || e->kind == OPF_EXPR_LOAD) return false;
    for (int i = 0; i < e->n_args; i++)
        if (depends(e->args[i], variable)) return true;
    return e->kind == OPF_EXPR_VAR;
}

bool opf_tiler_walks_evenly(const opf_tiler *tiler, const opf_expr *value, int outer, int inner, opf_dim extent) {
    walk w = {tiler, outer, inner, extent};
    return opf_expr_visit(tiler->pool, value, visit_walk, &w) && !depends(value, outer) && !depends(value, inner);
}

/* ---- constants ---- */

typedef struct loads { const opf_tiler *tiler; int input, count; bool others; } loads;

static bool visit_loads(const opf_expr *e, void *data) {
    loads *l = data;
    if (e->kind != OPF_EXPR_LOAD || e->index >= l->tiler->n_inputs) return true;
    if (e->index == l->input) l->count++;
    else l->others = true;
    return true;
}

static loads loads_of(const opf_tiler *tiler, const opf_expr *e, int input) {
    loads l = {tiler, input, 0, false};
    opf_expr_visit(tiler->pool, e, visit_loads, &l);
    return l;
}

static bool visit_first(const opf_expr *e, void *data) {
    if (e->kind == OPF_EXPR_LOAD) *(int *)data = e->index;
    return e->kind != OPF_EXPR_LOAD;
}

static bool sizes_are_known(const opf_tiler *tiler, const opf_expr *value) {
    int64_t size;
    for (int k = 0; k < tiler->tile->n_axes; k++)
        if (opf_expr_has_var(value, k) && !opf_is_int(tiler->tile->axes[k].extent, &size)) return false;
    return true;
}

int opf_tiler_constant(const opf_tiler *tiler, const opf_tile_operand *operand) {
    const opf_tile *tile = tiler->tile;
    int input = -1;
    opf_expr_visit(tiler->pool, operand->value, visit_first, &input);
    if (input < 0 || input >= tiler->n_inputs || !tiler->stages->inputs.data[input]->constant) return -1;
    if (loads_of(tiler, operand->value, input).others || !sizes_are_known(tiler, operand->value)) return -1;
    if (operand != &tile->a && loads_of(tiler, tile->a.value, input).count) return -1;
    if (operand != &tile->b && loads_of(tiler, tile->b.value, input).count) return -1;
    for (size_t k = 0; k < tile->siblings.count; k++)
        if (operand != &tile->siblings.data[k].b && loads_of(tiler, tile->siblings.data[k].b.value, input).count) return -1;
    for (size_t i = 0; i < tile->epilogue.count; i++)
        if (loads_of(tiler, tile->epilogue.data[i].body, input).count) return -1;
    return input;
}

/* ---- plain loads ---- */

/* Offset, stride and step of a load that is walked evenly along `count` axes from `first` and along the depth axes. */
static bool plain_form(const opf_tiler *tiler, opf_tile_operand *operand, int first, int count) {
    if (operand->value->kind != OPF_EXPR_LOAD || operand->value->index >= tiler->n_inputs) return false;
    const opf_tile *tile = tiler->tile;
    const opf_expr *rest;
    if (!opf_tiler_flat(tiler, opf_tiler_offset(tiler, operand->value), opf_tile_first_depth(tile), tile->n_depth, &operand->step, &rest) ||
        !opf_tiler_flat(tiler, rest, first, count, &operand->stride, &operand->base)) {
        operand->base = operand->stride = operand->step = NULL;
        return false;
    }
    operand->input = operand->value->index;
    return true;
}

typedef struct contiguity { const opf_tiler *tiler; int variable; bool found; } contiguity;

static bool visit_contiguous(const opf_expr *e, void *data) {
    contiguity *c = data;
    const opf_expr *coefficient, *rest;
    if (e->kind != OPF_EXPR_LOAD || e->index >= c->tiler->n_inputs) return true;
    if (opf_expr_affine(c->tiler->pool, opf_tiler_offset(c->tiler, e), c->variable, &coefficient, &rest) && opf_is_value(coefficient, 1)) c->found = true;
    return !c->found;
}

/* Does some load of the operand step by one element along the variable? */
static bool is_contiguous(const opf_tiler *tiler, const opf_expr *value, int variable) {
    contiguity c = {tiler, variable, false};
    opf_expr_visit(tiler->pool, value, visit_contiguous, &c);
    return c.found;
}

/* ---- windows ---- */

typedef struct pairing {
    const opf_tiler *tiler;
    int column;
    int tap;                   /* -1: none seen */
    const opf_expr *stride, *dilation;
    bool clash;
} pairing;

/* Index expressions of loads that hold the column variable: which depth variable stands beside it, with which factors? */
static bool visit_pair(const opf_expr *e, void *data) {
    pairing *p = data;
    const opf_tile *tile = p->tiler->tile;
    const opf_expr *coefficient, *rest;
    if (e->kind != OPF_EXPR_LOAD) return true;
    for (int i = 0; i < e->n_args; i++) {
        if (!opf_expr_affine(p->tiler->pool, e->args[i], p->column, &coefficient, &rest) || opf_is_value(coefficient, 0)) continue;
        p->stride = coefficient;
        for (int k = opf_tile_first_depth(tile); k < tile->n_axes; k++) {
            const opf_expr *factor, *ignored;
            if (!opf_expr_affine(p->tiler->pool, rest, k, &factor, &ignored) || opf_is_value(factor, 0)) continue;
            if (p->tap >= 0 && p->tap != k) p->clash = true;
            p->tap = k;
            p->dilation = factor;
        }
    }
    return !p->clash;
}

/* Rewrites *value so that the column's variable stands for the position u and the tap is gone. False where the value is no function of u. */
static bool take_window(const opf_tiler *tiler, opf_tile_window *window, const opf_expr **value) {
    pairing p = {tiler, window->column, -1, NULL, NULL, false};
    opf_pool *pool = tiler->pool;
    opf_expr_visit(pool, *value, visit_pair, &p);
    int64_t stride = 0, dilation = 0;
    if (p.clash || p.tap < 0 || !opf_is_int(p.stride, &stride) || !opf_is_int(p.dilation, &dilation) || stride < 1 || dilation == 0) return false;
    const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL};
    const opf_expr *column = opf_var(pool, window->column), *u = opf_var(pool, tiler->tile->n_axes); /* a fresh one */
    const opf_expr *last = opf_sub(pool, tiler->tile->axes[p.tap].extent, opf_int(pool, 1));
    const opf_expr *first = dilation < 0 ? opf_add(pool, u, opf_mul(pool, last, p.dilation)) : u; /* what tap 0 reads is at the last position */
    if (stride == 1) bind[window->column] = opf_sub(pool, first, opf_mul(pool, opf_var(pool, p.tap), p.dilation));
    else if (dilation == 1) bind[p.tap] = opf_sub(pool, u, opf_mul(pool, column, p.stride));
    else return false;
    const opf_expr *rewritten = opf_expr_bind(pool, *value, tiler->tile->n_axes, bind);
    if (opf_expr_has_var(rewritten, p.tap) || opf_expr_has_var(rewritten, window->column)) return false;
    bind[window->column] = bind[p.tap] = NULL;
    bind[tiler->tile->n_axes] = column;
    rewritten = opf_expr_bind(pool, rewritten, tiler->tile->n_axes + 1, bind);
    *value = rewritten;
    window->tap = p.tap;
    window->stride = stride;
    window->dilation = dilation < 0 ? -dilation : dilation;
    window->backwards = dilation < 0;
    window->taps = tiler->tile->axes[p.tap].extent;
    return true;
}

bool opf_tiler_windows(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    bool any = false;
    tile->window_value = tile->b.value;
    for (int k = 0; k < tile->n_column; k++) {
        opf_tile_window *w = &tile->windows[k];
        *w = (opf_tile_window){.column = opf_tile_first_column(tile) + k, .tap = -1, .stride = 1, .dilation = 1, .taps = opf_int(pool, 1)};
        bool taken = take_window(tiler, w, &tile->window_value);
        int64_t taps;
        w->phases = 1;
        w->extra = opf_int(pool, 0);
        if (!taken) continue;
        bool known = opf_is_int(w->taps, &taps);
        w->phases = w->dilation == 1 && known && taps < w->stride ? taps : w->stride;
        const opf_expr *reach = opf_mul(pool, opf_sub(pool, w->taps, opf_int(pool, 1)), opf_int(pool, w->dilation));
        w->extra = opf_floordiv(pool, reach, opf_int(pool, w->stride));
        any = true;
    }
    return any;
}

/* ---- choice ---- */

static void choose_a(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    plain_form(tiler, &tile->a, opf_tile_first_row(tile), tile->n_row);
    tile->a.source = opf_tiler_constant(tiler, &tile->a) >= 0 ? OPF_SOURCE_CONSTANT : OPF_SOURCE_PANELS;
    bool rows_contiguous = tile->n_row && is_contiguous(tiler, tile->a.value, opf_tile_first_column(tile) - 1);
    tile->a.depth_is_contiguous = !rows_contiguous;
}

/* Computed alike for all columns: rows are then computed without asking where a line of a picture ends. */
static bool is_computed_in_rows(const opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    const opf_expr *value = tile->b.value;
    int last = opf_tile_first_depth(tile) - 1;
    return tile->siblings.count == 0 && value->kind != OPF_EXPR_LOAD && is_contiguous(tiler, value, last) &&
           opf_tiler_walks_evenly(tiler, value, tile->n_column > 1 ? last - 1 : last, last, tile->axes[last].extent);
}

static void choose_b(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    int last_column = opf_tile_first_depth(tile) - 1, last_depth = tile->n_axes - 1;
    bool plain = plain_form(tiler, &tile->b, opf_tile_first_column(tile), tile->n_column);
    if (opf_tiler_constant(tiler, &tile->b) >= 0) {
        tile->b.source = OPF_SOURCE_CONSTANT;
    } else if (plain && opf_is_value(tile->b.stride, 1)) {
        bool packed = !tile->siblings.count && opf_nest_wants(tiler->nest, OPF_KNOB_SECOND) == OPF_SECOND_PACKED;
        tile->b.source = packed ? OPF_SOURCE_PANELS : OPF_SOURCE_ROWS;
    } else if (is_computed_in_rows(tiler)) {
        tile->b.source = OPF_SOURCE_COPY;
    } else if (!opf_tiler_windows(tiler) && is_contiguous(tiler, tile->b.value, last_depth) && !is_contiguous(tiler, tile->b.value, last_column)) {
        tile->b.source = OPF_SOURCE_PANELS;
        tile->b.depth_is_contiguous = true;
    } else {
        tile->b.source = OPF_SOURCE_WINDOW;
    }
}

/* Siblings are read as B is: from panels of a constant, or in place. */
static bool choose_siblings(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    for (size_t k = 0; k < tile->siblings.count; k++) {
        opf_tile_operand *b = &tile->siblings.data[k].b;
        bool plain = plain_form(tiler, b, opf_tile_first_column(tile), tile->n_column);
        b->source = tile->b.source;
        bool same = b->source == OPF_SOURCE_CONSTANT ? opf_tiler_constant(tiler, b) >= 0
                                                     : b->source == OPF_SOURCE_ROWS && plain && opf_is_value(b->stride, 1);
        if (!same) return opf_tiler_refuse(tiler, "the second operands of the sums lie differently");
    }
    return true;
}

/* The operand of bands is computed where a window's copy would be. */
static bool choose_band(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    const opf_expr *value = tile->b.value;
    bool band = value->kind == OPF_EXPR_LOAD && value->index == tiler->n_inputs + tiler->band;
    if (!band || tile->n_column != 2 || tile->n_depth != 1 || tile->n_outer > 1) return opf_tiler_refuse(tiler, "the window in front is no operand of lines and columns");
    if (tile->n_outer && !(value->args[0]->kind == OPF_EXPR_VAR && value->args[0]->index == 0)) return opf_tiler_refuse(tiler, "the window in front has other outer axes");
    opf_tiler_windows(tiler);
    tile->b.source = OPF_SOURCE_WINDOW;
    return true;
}

bool opf_tiler_operands(opf_tiler *tiler) {
    if (tiler->bands) {
        choose_a(tiler);
        return choose_band(tiler);
    }
    choose_a(tiler);
    choose_b(tiler);
    return choose_siblings(tiler);
}

/* ---- packing constants ---- */

/* A flat index taken apart into `count` axes' indices, all but the first by the axes' extents. */
static void take_apart(const opf_tiler *tiler, const opf_expr *flat, int first, int count, const opf_expr **bind) {
    for (int k = first + count - 1; k > first; k--) {
        bind[k] = opf_floormod(tiler->pool, flat, tiler->tile->axes[k].extent);
        flat = opf_floordiv(tiler->pool, flat, tiler->tile->axes[k].extent);
    }
    if (count) bind[first] = flat;
}

static const opf_expr *renumber(opf_pool *pool, const opf_expr *leaf, void *data) {
    (void)data;
    return leaf->kind == OPF_EXPR_LOAD ? opf_load(pool, (opf_dtype)leaf->dtype, 0, leaf->n_args, leaf->args) : NULL;
}

/* The group that computes `body` over the axes from the constant, its input 0. */
static opf_group *packing_group(opf_tiler *tiler, const opf_value *constant, const opf_expr *body, int n, const opf_dim *extents, const char *const *names) {
    opf_stage *stage = OPF_NEW(tiler->arena, opf_stage);
    opf_dtype dtype = (opf_dtype)body->dtype;
    *stage = (opf_stage){.name = "packed", .n_axes = n, .combiner = OPF_COMBINE_NONE, .dtype = dtype, .accumulator = dtype, .body = body,
                         .extents = opf_arena_copy(tiler->arena, extents, (size_t)n * sizeof *extents),
                         .axis_names = opf_arena_copy(tiler->arena, names, (size_t)n * sizeof *names),
                         .origin = tiler->anchor->origin};
    return opf_packing_group(tiler->arena, constant, stage);
}

/* Trained weights that have decayed are denormal numbers in hundreds, each of which costs the multiplier a hundred cycles: 18 times the
 * time of a layer. Zeros in their place (docs/numerics.md). */
static const opf_expr *without_denormals(const opf_tiler *tiler, const opf_expr *value) {
    opf_pool *pool = tiler->pool;
    if (opf_group_is_exact(tiler->nest->group)) return value;
    const opf_expr *small = opf_binary(pool, OPF_OP_LT, opf_unary(pool, OPF_OP_ABS, value), opf_real(pool, OPF_FLOAT32, (double)FLT_MIN));
    return opf_select(pool, small, opf_real(pool, OPF_FLOAT32, 0), value);
}

static bool is_tap(const opf_tile *tile, int axis) { return axis == tile->windows[0].tap || axis == tile->windows[1].tap; }

/* What a packed element is, as a part of a word: bytes, int16; or a float. */
static const opf_expr *packed_part(const opf_tiler *tiler, const opf_tile_operand *operand, const opf_expr *value) {
    const opf_tile *tile = tiler->tile;
    if (tile->half && operand != &tile->a) return opf_tiler_half_of(tiler, value);
    if (!tile->words) return without_denormals(tiler, value);
    opf_dtype dtype = tile->words == 2 ? OPF_INT16 : (operand == &tile->a) == tile->a_is_signed ? OPF_INT8 : OPF_UINT8;
    return opf_cast(tiler->pool, dtype, value);
}

static const opf_expr *zero_of(opf_pool *pool, const opf_expr *e) { return opf_number(pool, (opf_dtype)e->dtype, 0); }

/* The stage [outer axes that the operand walks along][panel][depth axes][panel_width]: `value`, zeros beyond `extent`. Words: and
 * [part of the word], zeros beyond the depth.
 * `side` not 0: [outer axes][block of rows][side][side][panel of the block][depth axes without taps][panel_width], where the sides' axes
 * are the variables behind the tile's own: in the order in which they are read. */
static bool pack_constant(opf_tiler *tiler, opf_tile_operand *operand, const opf_expr *value, int first, int count, opf_dim extent, int64_t panel_width,
                          int side) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    int input = opf_tiler_constant(tiler, operand);
    const opf_expr *bind[3 * OPF_MAX_RANK + 2] = {NULL};
    opf_dim extents[3 * OPF_MAX_RANK];
    const char *names[3 * OPF_MAX_RANK];
    int n = 0;
    for (int k = 0; k < tile->n_outer; k++) {
        if (!opf_expr_has_var(operand->value, k)) continue;
        names[n] = tile->axes[k].name;
        extents[n] = tile->axes[k].extent;
        bind[k] = opf_var(pool, n++);
    }
    opf_dim panels = opf_ceildiv(pool, extent, opf_int(pool, panel_width));
    const opf_expr *before = opf_int(pool, 0);
    if (side) {
        names[n] = "block";
        extents[n] = opf_ceildiv(pool, extent, opf_int(pool, tile->block_rows));
        panels = opf_int(pool, tile->block_rows / panel_width);
        before = opf_mul(pool, opf_var(pool, n++), panels);
    }
    for (int k = 0; side && k < 2; k++) {
        names[n] = k ? "column" : "line";
        extents[n] = opf_int(pool, side);
        bind[tile->n_axes + k] = opf_var(pool, n++);
    }
    int panel = n++;
    extents[panel] = panels;
    names[panel] = "panel";
    for (int k = opf_tile_first_depth(tile); k < tile->n_axes; k++) {
        if (side && is_tap(tile, k)) continue;
        names[n] = tile->axes[k].name;
        extents[n] = tile->axes[k].extent;
        bind[k] = opf_var(pool, n++);
    }
    int lane = n++;
    extents[lane] = opf_int(pool, panel_width);
    names[lane] = "lane";
    const opf_expr *step = NULL;
    if (tile->words) {
        names[n] = "part";
        extents[n] = opf_int(pool, tile->words);
        step = opf_add(pool, opf_mul(pool, bind[tile->word_axis], extents[n]), opf_var(pool, n));
        bind[tile->word_axis] = step;
        n++;
    }
    if (n > OPF_MAX_RANK) return opf_tiler_refuse(tiler, "too many axes");
    const opf_expr *flat = opf_add(pool, opf_mul(pool, opf_add(pool, before, opf_var(pool, panel)), opf_int(pool, panel_width)), opf_var(pool, lane));
    take_apart(tiler, flat, first, count, bind);
    const opf_expr *body = opf_expr_bind(pool, value, tile->n_axes + 2, bind);
    body = packed_part(tiler, operand, opf_expr_map(pool, body, renumber, NULL));
    const opf_expr *inside = opf_binary(pool, OPF_OP_LT, flat, extent);
    if (step) inside = opf_binary(pool, OPF_OP_AND, inside, opf_binary(pool, OPF_OP_LT, step, tile->word_extent));
    body = opf_expr_simplify(pool, opf_select(pool, inside, body, zero_of(pool, body)), (opf_domain){n, extents});
    int64_t bytes = opf_dtype_bits((opf_dtype)body->dtype) / 8, size;
    for (int k = 0; k < n; k++)
        if (!opf_is_int(extents[k], &size) || __builtin_mul_overflow(bytes, size, &bytes)) return opf_tiler_refuse(tiler, "a constant operand is too large");
    operand->packed = (int)tiler->nest->packed.count;
    opf_group *group = packing_group(tiler, tiler->stages->inputs.data[input], body, n, extents, names);
    OPF_PUSH(tiler->arena, &tiler->nest->packed, (opf_packed){input, group, bytes});
    return true;
}

bool opf_tiler_pack(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    if (tile->a.source == OPF_SOURCE_CONSTANT &&
        !pack_constant(tiler, &tile->a, tile->a.value, opf_tile_first_row(tile), tile->n_row, tile->rows, tile->height, 0))
        return false;
    int64_t panel = (int64_t)tile->width * tiler->nest->machine->lanes;
    if (tile->b.source != OPF_SOURCE_CONSTANT) return true;
    if (!pack_constant(tiler, &tile->b, tile->b.value, opf_tile_first_column(tile), tile->n_column, tile->columns, panel, 0)) return false;
    for (size_t k = 0; k < tile->siblings.count; k++) {
        opf_tile_operand *b = &tile->siblings.data[k].b;
        if (!pack_constant(tiler, b, b->value, opf_tile_first_column(tile), tile->n_column, tile->columns, panel, 0)) return false;
    }
    return true;
}

bool opf_tiler_pack_sums(opf_tiler *tiler, const opf_tile_operand *operand, const opf_expr *value, int first, int count, opf_dim extent, int *packed) {
    const opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL};
    opf_dim extents[3 * OPF_MAX_RANK];
    const char *names[3 * OPF_MAX_RANK];
    int input = opf_tiler_constant(tiler, operand), n = 0;
    for (int k = 0; k < tile->n_outer; k++) {
        if (!opf_expr_has_var(value, k)) continue;
        names[n] = tile->axes[k].name;
        extents[n] = tile->axes[k].extent;
        bind[k] = opf_var(pool, n++);
    }
    names[n] = "row";
    extents[n] = extent;
    take_apart(tiler, opf_var(pool, n++), first, count, bind);
    int axes = n;
    for (int k = opf_tile_first_depth(tile); k < tile->n_axes; k++) {
        names[n] = tile->axes[k].name;
        extents[n] = tile->axes[k].extent;
        bind[k] = opf_var(pool, n++);
    }
    int64_t bytes = 4, size;
    for (int k = 0; k < axes; k++)
        if (!opf_is_int(extents[k], &size) || __builtin_mul_overflow(bytes, size, &bytes)) return opf_tiler_refuse(tiler, "a constant operand is too large");
    const opf_expr *body = opf_expr_map(pool, opf_expr_bind(pool, value, tile->n_axes, bind), renumber, NULL);
    opf_group *group = packing_group(tiler, tiler->stages->inputs.data[input], body, n, extents, names);
    opf_stage *stage = group->stages.list.data[0];
    stage->n_axes = group->results.data[0].value->rank = axes;
    stage->n_reduce = n - axes;
    stage->combiner = OPF_COMBINE_SUM;
    *packed = (int)tiler->nest->packed.count;
    OPF_PUSH(tiler->arena, &tiler->nest->packed, (opf_packed){input, group, bytes});
    return true;
}

bool opf_tiler_pack_filters(opf_tiler *tiler, const opf_expr *filters, int side) {
    opf_tile *tile = tiler->tile;
    return pack_constant(tiler, &tile->a, filters, opf_tile_first_row(tile), tile->n_row, tile->rows, tile->height, side);
}
