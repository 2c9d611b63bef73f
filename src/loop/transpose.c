/* Map nests whose innermost loop strides through an operand that lies contiguously along an outer loop: in blocks, the operand's block
 * transposed into a small array first (or straight into the result, where that is all there is to do).
 *
 * The operand's lines are read along, several of them side by side, each cache line once; of the result so many lines are written one
 * behind the other as the block has along its innermost axis. A vector that is shorter than a cache line leaves the rest of it for later: where so
 * many lines do not stay in the first cache, for they lie a power of two apart and share its sets, the block goes through an array, a few
 * whole lines at a time. */
#include "loop/scheduler.h"

enum {
    BLOCK = 16,   /* elements along the outer axis: a cache line of float32 */
    LONGEST = 64, /* the most along the innermost axis, and along the outer one through an array */
    STRIP = 256   /* elements along the outer axis in one piece of the work that the parts share */
};

typedef struct transposing {
    opf_scheduler *s;
    int outer, inner;           /* the two axes */
    int64_t outer_stop, inner_stop; /* known extents; -1: not known */
    int64_t size, length;       /* of a block along the innermost and the outer axis */
    bool gathered;              /* through an array */
    bool past;                  /* into the result past the caches */
    const opf_expr *outer_start, *outer_count, *inner_start, *inner_count;
    int outer_lane, inner_lane; /* variables inside a block */
} transposing;

/* ---- finding ---- */

static const opf_expr *coefficient_of(opf_scheduler *s, const opf_expr *offset, int variable) {
    const opf_expr *coefficient, *rest;
    return opf_expr_affine(s->pool, offset, variable, &coefficient, &rest) ? coefficient : NULL;
}

static bool has_unit_stride(opf_scheduler *s, const opf_expr *offset, int variable) {
    const opf_expr *coefficient = coefficient_of(s, offset, variable);
    return coefficient && opf_is_value(coefficient, 1);
}

static bool is_crosswise(opf_scheduler *s, const opf_expr *load, int outer, int inner) {
    if (load->kind != OPF_EXPR_LOAD || load->n_args == 0 || load->dtype != OPF_FLOAT32 || opf_expr_has_load(load->args[0])) return false;
    const opf_expr *pitch = coefficient_of(s, load->args[0], inner);
    if (!pitch || opf_is_value(pitch, 0) || opf_is_value(pitch, 1) || opf_expr_has_var(pitch, outer)) return false;
    return has_unit_stride(s, load->args[0], outer);
}

typedef struct search { opf_scheduler *s; const opf_axes *axes; int inner, outer; bool guarded; } search;

static bool find_load(const opf_expr *e, void *data) {
    search *f = data;
    if (e->kind == OPF_EXPR_SELECT && opf_expr_has_load(e)) f->guarded = true; /* its loads may not be read in bulk */
    for (int i = 0; i + 1 < f->axes->count && f->outer < 0; i++)
        if (is_crosswise(f->s, e, f->axes->at[i], f->inner)) f->outer = f->axes->at[i];
    return true;
}

static bool is_other_buffer(const opf_expr *e, void *data) {
    const opf_targets *targets = data;
    for (size_t i = 0; i < targets->list.count; i++)
        if (e->kind == OPF_EXPR_LOAD && targets->list.data[i].buffer == e->index) return false;
    return true;
}

static bool find_axes(opf_scheduler *s, const opf_axes *axes, const opf_targets *targets, transposing *t) {
    if (axes->count < 2) return false;
    search f = {s, axes, axes->at[axes->count - 1], -1, false};
    for (size_t i = 0; i < targets->list.count; i++) {
        const opf_target *target = &targets->list.data[i];
        opf_expr_visit(s->pool, target->value, find_load, &f);
        if (!target->offset || !has_unit_stride(s, target->offset, f.inner)) return false;
    }
    if (f.outer < 0 || f.guarded) return false;
    for (size_t i = 0; i < targets->list.count; i++) {
        if (!coefficient_of(s, targets->list.data[i].offset, f.outer)) return false;
        if (!opf_expr_visit(s->pool, targets->list.data[i].value, is_other_buffer, (void *)(uintptr_t)targets)) return false;
    }
    *t = (transposing){.s = s, .outer = f.outer, .inner = f.inner, .outer_stop = -1, .inner_stop = -1};
    opf_is_int(opf_extent(s, f.outer), &t->outer_stop);
    opf_is_int(opf_extent(s, f.inner), &t->inner_stop);
    return opf_dim_nominal(opf_extent(s, f.outer)) >= BLOCK && opf_dim_nominal(opf_extent(s, f.inner)) >= BLOCK;
}

/* ---- blocks ---- */

/* The size up to LONGEST whose blocks take the least: the last one overlaps, and each asks for a line of the operand anew, as dear as moving
 * LINE elements of it. */
static int64_t block_size(int64_t stop) {
    enum { LINE = 8 };
    int64_t best = LONGEST;
    double least = 0;
    for (int64_t size = LONGEST; stop >= 0 && size >= BLOCK; size -= BLOCK) {
        double time = (double)((stop + size - 1) / size) * (double)(size + LINE);
        if (size > stop || (least > 0 && time >= least)) continue;
        best = size;
        least = time;
    }
    return best;
}

/* The same along the outer axis through an array: the largest that a strip has several of and that computes little twice. */
static int64_t gathered_length(int64_t stop) {
    int64_t length = LONGEST;
    while (stop >= 0 && length > BLOCK && (stop + length - 1) / length * length > stop + stop / 16) length /= 2;
    return length;
}

/* Start and count of the block of so many elements that begins at `base`: of known extents the last block overlaps the one before and is whole. */
static void block_of(opf_scheduler *s, opf_block *block, int variable, int64_t stop, int64_t elements, const opf_expr *base, const opf_expr **start, const opf_expr **count) {
    opf_pool *pool = s->pool;
    const char *name = s->nest->variables.data[variable].name;
    opf_dim extent = opf_extent(s, variable);
    const opf_expr *size = opf_int(pool, elements);
    *count = size;
    *start = base;
    if (stop >= elements && stop % elements == 0) return;
    if (stop >= elements) {
        int number = opf_variable_new(s, opf_arena_printf(s->arena, "%s_start", name), extent);
        opf_code_index(s, block, number, opf_min(pool, base, opf_int(pool, stop - elements)));
        *start = opf_variable(s, number);
        return;
    }
    int number = opf_variable_new(s, opf_arena_printf(s->arena, "%s_count", name), opf_int(pool, elements + 1));
    opf_code_index(s, block, number, opf_min(pool, opf_sub(pool, extent, base), size));
    *count = opf_variable(s, number);
}

static const opf_expr *at_start(const transposing *t, const opf_expr *offset) {
    offset = opf_substitute(t->s, offset, t->outer, t->outer_start);
    return opf_substitute(t->s, offset, t->inner, t->inner_start);
}

/* Where a line of the operand is asked for again when the block has been walked through once, or a store past the caches is less than a line. */
static bool goes_through_array(const transposing *t, const opf_expr *load) {
    enum { LINE = 64, WAY = 4096, ELEMENT = 4 }; /* bytes; a way of the first cache is a page */
    const opf_machine *machine = t->s->nest->machine;
    int64_t pitch;
    if (machine->lanes * ELEMENT >= LINE) return false;
    if (t->past) return true;
    if (!opf_is_int(coefficient_of(t->s, load->args[0], t->inner), &pitch)) return false;
    int64_t apart = pitch * ELEMENT & -(pitch * ELEMENT), sets = WAY / (apart < LINE ? LINE : apart > WAY ? WAY : apart);
    return sets * (machine->l1_bytes / WAY) < t->size;
}

static bool is_all(const transposing *t, const opf_targets *targets) {
    return targets->list.count == 1 && is_crosswise(t->s, targets->list.data[0].value, t->outer, t->inner);
}

/* Transposes the block of `load` to `to`, lines `pitch` apart. */
static void add_transpose(const transposing *t, opf_block *block, const opf_expr *load, opf_run to, const opf_expr *pitch) {
    opf_code *code = opf_code_add(t->s, block, OPF_CODE_TRANSPOSE);
    code->buffer = to.buffer;
    code->offset = to.offset;
    code->value = pitch;
    code->operands[0] = (opf_run){load->index, at_start(t, load->args[0])};
    code->from = coefficient_of(t->s, load->args[0], t->inner);
    code->limit = t->outer_count;
    code->to = t->inner_count;
    code->past = t->past && opf_buffer_at(t->s, to.buffer)->memory == OPF_MEMORY_RESULT;
    code->gathered = t->gathered;
}

typedef struct replacing { const transposing *t; opf_block *block; opf_map arrays; } replacing;

/* Crosswise loads become loads of arrays that hold the transposed block. */
static const opf_expr *with_arrays(opf_pool *pool, const opf_expr *leaf, void *data) {
    replacing *r = data;
    opf_scheduler *s = r->t->s;
    if (!is_crosswise(s, leaf, r->t->outer, r->t->inner)) return NULL;
    uintptr_t array = (uintptr_t)opf_map_get(&r->arrays, leaf);
    if (!array) {
        int buffer = opf_buffer_new(s, OPF_MEMORY_STACK, (opf_dtype)leaf->dtype, "block", opf_int(pool, BLOCK * r->t->size));
        opf_code_array(s, r->block, buffer);
        add_transpose(r->t, r->block, leaf, (opf_run){buffer, opf_int(pool, 0)}, opf_int(pool, r->t->size));
        array = (uintptr_t)buffer + 1;
        opf_map_set(&r->arrays, leaf, (void *)array);
    }
    const opf_expr *line = opf_mul(pool, opf_variable(s, r->t->outer_lane), opf_int(pool, r->t->size));
    return opf_buffer_load(s, (int)array - 1, opf_add(pool, line, opf_variable(s, r->t->inner_lane)));
}

static void emit_block(transposing *t, opf_block *block, const opf_targets *targets) {
    opf_scheduler *s = t->s;
    opf_pool *pool = s->pool;
    const opf_target *first = &targets->list.data[0];
    if (is_all(t, targets)) {
        opf_run to = {first->buffer, at_start(t, first->offset)};
        add_transpose(t, block, first->value, to, coefficient_of(s, first->offset, t->outer));
        return;
    }
    t->outer_lane = opf_variable_new(s, s->nest->variables.data[t->outer].name, opf_int(pool, BLOCK));
    t->inner_lane = opf_variable_new(s, s->nest->variables.data[t->inner].name, opf_int(pool, t->size));
    const opf_expr *outer = opf_add(pool, t->outer_start, opf_variable(s, t->outer_lane)), *inner = opf_add(pool, t->inner_start, opf_variable(s, t->inner_lane));
    replacing r = {t, block, opf_map_new(s->arena)};
    opf_targets inside = {0};
    for (size_t i = 0; i < targets->list.count; i++) {
        opf_target target = targets->list.data[i];
        target.value = opf_expr_map(pool, target.value, with_arrays, &r);
        target.value = opf_substitute_safely(s, opf_substitute_safely(s, target.value, t->outer, outer), t->inner, inner);
        target.offset = opf_substitute(s, opf_substitute(s, target.offset, t->outer, outer), t->inner, inner);
        OPF_PUSH(s->arena, &inside.list, target);
    }
    opf_ranges ranges = {.count = 2};
    ranges.at[0] = (opf_range){.variable = t->outer_lane, .from = opf_int(pool, 0), .to = t->outer_count};
    ranges.at[1] = (opf_range){.variable = t->inner_lane, .from = opf_int(pool, 0), .to = t->inner_count};
    opf_body(s, block, &ranges, &inside);
}

bool opf_transpose_axes(opf_scheduler *s, opf_axes *axes, const opf_targets *targets, opf_transpose *out) {
    transposing t;
    opf_pool *pool = s->pool;
    if (!find_axes(s, axes, targets, &t)) return false;
    *out = (opf_transpose){.outer = t.outer, .inner = t.inner, .strip = -1, .size = block_size(t.inner_stop)};
    out->number = opf_variable_new(s, opf_arena_printf(s->arena, "%s_block", s->nest->variables.data[t.inner].name), opf_ceildiv(pool, opf_extent(s, t.inner), opf_int(pool, out->size)));
    opf_axes_remove(axes, axes->count - 1);
    opf_axes_remove(axes, opf_axes_find(axes, t.outer));
    opf_axes_add(axes, out->number);
    if (t.outer_stop >= 0 && t.outer_stop <= STRIP) return true;
    out->strip = opf_variable_new(s, opf_arena_printf(s->arena, "%s_strip", s->nest->variables.data[t.outer].name), opf_ceildiv(pool, opf_extent(s, t.outer), opf_int(pool, STRIP)));
    opf_axes_add(axes, out->strip);
    return true;
}

/* The loop over the blocks of a strip, or of the whole outer axis. */
static opf_block *loop_of_strip(opf_scheduler *s, opf_block *block, const opf_transpose *transpose, int base, int64_t length) {
    opf_pool *pool = s->pool;
    const opf_expr *from = opf_int(pool, 0), *to = opf_extent(s, transpose->outer);
    int64_t stop;
    if (transpose->strip >= 0) {
        from = opf_mul(pool, opf_variable(s, transpose->strip), opf_int(pool, STRIP));
        const opf_expr *end = opf_add(pool, from, opf_int(pool, STRIP));
        to = opf_is_int(to, &stop) && stop % STRIP == 0 ? end : opf_min(pool, end, to);
    }
    return opf_code_loop(s, block, base, from, to, length);
}

void opf_transpose_blocks(opf_scheduler *s, opf_block *block, const opf_transpose *transpose, const opf_targets *targets) {
    opf_pool *pool = s->pool;
    transposing t = {.s = s, .outer = transpose->outer, .inner = transpose->inner, .outer_stop = -1, .inner_stop = -1, .size = transpose->size, .length = BLOCK};
    opf_is_int(opf_extent(s, t.outer), &t.outer_stop);
    opf_is_int(opf_extent(s, t.inner), &t.inner_stop);
    if (is_all(&t, targets)) {
        t.past = opf_stores_past(s, targets, t.inner);
        t.gathered = goes_through_array(&t, targets->list.data[0].value);
        if (t.gathered) t.length = gathered_length(t.outer_stop);
    }
    const opf_expr *base = opf_mul(pool, opf_variable(s, transpose->number), opf_int(pool, t.size));
    block_of(s, block, t.inner, t.inner_stop, t.size, base, &t.inner_start, &t.inner_count);
    int outer = opf_variable_new(s, opf_arena_printf(s->arena, "%s_base", s->nest->variables.data[t.outer].name), opf_extent(s, t.outer));
    block = loop_of_strip(s, block, transpose, outer, t.length);
    block_of(s, block, t.outer, t.outer_stop, t.length, opf_variable(s, outer), &t.outer_start, &t.outer_count);
    emit_block(&t, block, targets);
}
