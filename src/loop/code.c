/* Statements of a nest. */
#include <string.h>

#include "loop/scheduler.h"

opf_code *opf_code_add(opf_scheduler *s, opf_block *block, opf_code_kind kind) {
    opf_code *code = OPF_NEW(s->arena, opf_code);
    code->kind = kind;
    code->variable = code->buffer = code->running = -1;
    OPF_PUSH(s->arena, &block->list, code);
    return code;
}

void opf_block_append(opf_scheduler *s, opf_block *block, const opf_block *more) {
    for (size_t i = 0; i < more->list.count; i++) OPF_PUSH(s->arena, &block->list, more->list.data[i]);
}

void opf_code_note(opf_scheduler *s, opf_block *block, const char *text) { opf_code_add(s, block, OPF_CODE_NOTE)->text = text; }

opf_block *opf_code_loop(opf_scheduler *s, opf_block *block, int variable, const opf_expr *from, const opf_expr *to, int64_t step) {
    opf_code *code = opf_code_add(s, block, OPF_CODE_LOOP);
    code->variable = variable;
    code->from = from;
    code->to = to;
    code->step = step;
    return &code->body;
}

void opf_code_index(opf_scheduler *s, opf_block *block, int variable, const opf_expr *value) {
    opf_code *code = opf_code_add(s, block, OPF_CODE_INDEX);
    code->variable = variable;
    code->value = value;
}

void opf_code_store(opf_scheduler *s, opf_block *block, int buffer, const opf_expr *offset, const opf_expr *value) {
    opf_code *code = opf_code_add(s, block, OPF_CODE_STORE);
    code->buffer = buffer;
    code->offset = offset;
    code->value = value;
}

void opf_code_define(opf_scheduler *s, opf_block *block, int buffer, const opf_expr *value) {
    opf_code_store(s, block, buffer, NULL, value);
    block->list.data[block->list.count - 1]->declares = true;
}

void opf_code_array(opf_scheduler *s, opf_block *block, int buffer) { opf_code_add(s, block, OPF_CODE_ARRAY)->buffer = buffer; }

void opf_place_array(opf_scheduler *s, opf_block *block, int buffer) {
    opf_pool *pool = s->pool;
    opf_nest_buffer *array = opf_buffer_at(s, buffer);
    int64_t elements;
    if (opf_is_int(array->elements, &elements) && elements <= OPF_STACK_ELEMENTS) {
        array->memory = OPF_MEMORY_STACK;
        opf_code_array(s, block, buffer);
        return;
    }
    int64_t size = (int64_t)opf_dtype_bytes(opf_dtype_held(array->dtype), 1), line = 64 / size;
    array->memory = OPF_MEMORY_SCRATCH;
    array->offset = s->scratch_bytes;
    opf_dim lines = opf_ceildiv(pool, array->elements, opf_int(pool, line));
    s->scratch_bytes = opf_add(pool, s->scratch_bytes, opf_mul(pool, lines, opf_int(pool, 64)));
}

opf_block *opf_code_if(opf_scheduler *s, opf_block *block, const opf_expr *condition) {
    opf_code *code = opf_code_add(s, block, OPF_CODE_IF);
    code->value = condition;
    return &code->body;
}

opf_ranges opf_whole_ranges(opf_scheduler *s, const opf_axes *axes) {
    opf_ranges ranges = {.count = axes->count};
    for (int i = 0; i < axes->count; i++) ranges.at[i] = (opf_range){.variable = axes->at[i], .from = opf_int(s->pool, 0), .to = opf_extent(s, axes->at[i])};
    return ranges;
}

/* ---- shares of the parts ---- */

static void note_units(opf_scheduler *s, opf_dim units) { s->units = s->units ? opf_max(s->pool, s->units, units) : units; }

opf_block *opf_code_share(opf_scheduler *s, opf_block *block, const opf_axes *axes, int count) {
    opf_dim units = opf_extent_product(s, axes, 0, count);
    opf_code *code = opf_code_add(s, block, OPF_CODE_SHARE);
    note_units(s, units);
    code->to = units;
    code->step = 1;
    if (count == 1) {
        code->variable = axes->at[0];
        return &code->body;
    }
    if (count == 0) return &code->body; /* one part does it all */
    code->variable = opf_variable_new(s, "unit", units);
    const opf_expr *rest = opf_variable(s, code->variable);
    for (int i = 0; i < count; i++) {
        opf_dim inner = opf_extent_product(s, axes, i + 1, count);
        const opf_expr *value = opf_floordiv(s->pool, rest, inner);
        if (i > 0) value = opf_floormod(s->pool, value, opf_extent(s, axes->at[i]));
        opf_code_index(s, &code->body, axes->at[i], opf_simple(s, value));
    }
    return &code->body;
}

opf_block *opf_code_share_blocks(opf_scheduler *s, opf_block *block, int variable, int64_t step) {
    opf_code *code = opf_code_add(s, block, OPF_CODE_SHARE);
    opf_dim extent = opf_extent(s, variable);
    note_units(s, opf_ceildiv(s->pool, extent, opf_int(s->pool, step)));
    code->variable = variable;
    code->to = extent;
    code->step = step;
    return &code->body;
}

/* ---- chunks ---- */

opf_chunk opf_chunk_new(opf_scheduler *s, int variable, int64_t size) {
    opf_dim extent = opf_extent(s, variable);
    const char *name = s->nest->variables.data[variable].name;
    int64_t whole;
    opf_chunk chunk = {.base = -1, .size = size};
    if (opf_is_int(extent, &whole) && whole <= size) {
        chunk.size = whole;
        chunk.lane = opf_variable_new(s, name, extent);
        chunk.count = extent;
        chunk.value = opf_variable(s, chunk.lane);
        return chunk;
    }
    chunk.base = opf_variable_new(s, opf_arena_printf(s->arena, "%s_base", name), extent);
    chunk.lane = opf_variable_new(s, name, opf_int(s->pool, size));
    chunk.count = opf_variable(s, opf_variable_new(s, opf_arena_printf(s->arena, "%s_count", name), opf_int(s->pool, size + 1)));
    chunk.value = opf_add(s->pool, opf_variable(s, chunk.base), opf_variable(s, chunk.lane));
    return chunk;
}

void opf_chunk_count(opf_scheduler *s, opf_block *body, opf_chunk *chunk, const opf_expr *from, const opf_expr *to) {
    const opf_expr *left = opf_sub(s->pool, to, opf_variable(s, chunk->base)), *size = opf_int(s->pool, chunk->size);
    int64_t whole;
    if (opf_is_value(from, 0) && opf_is_int(to, &whole) && whole % chunk->size == 0) chunk->count = size;
    else opf_code_index(s, body, chunk->count->index, opf_min(s->pool, left, size));
}

opf_block *opf_chunk_loop(opf_scheduler *s, opf_block *block, opf_chunk *chunk, const opf_expr *from, const opf_expr *to) {
    if (chunk->base < 0) return block;
    opf_block *body = opf_code_loop(s, block, chunk->base, from, to, chunk->size);
    opf_chunk_count(s, body, chunk, from, to);
    return body;
}
