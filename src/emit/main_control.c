/* Marks of control flow: branches and loops as C's own, sizes that they set, slices of what loops walk along. */
#include <stdio.h>

#include "emit/main.h"
#include "ops/control.h"
#include "ops/counts.h"

static size_t position_of(const opf_program *program, const opf_symbol *symbol) {
    size_t at = 0;
    while (program->sources[at].symbol != symbol) at++;
    return at;
}

void opf_emit_symbol_set(const opf_program *program, const opf_symbol *symbol, const char *value, const opf_mentions *mentions, opf_text *out) {
    size_t at = position_of(program, symbol);
    opf_text_printf(out, "frame->symbols[%zu] = ", at);
    if (mentions->used[at]) opf_emit_symbol(symbol, out);
    opf_text_printf(out, "%s%s;\n", mentions->used[at] ? " = " : "", value);
}

static void emit_condition(const opf_program *program, int buffer, opf_text *out) {
    opf_text_add(out, "*(const unsigned char *)(");
    opf_emit_buffer(program, buffer, out);
    opf_text_add(out, ")");
}

static void emit_if(const opf_program *program, const opf_step *step, opf_text *out) {
    opf_text_add(out, "    if (");
    emit_condition(program, step->buffers[0], out);
    opf_text_add(out, ") {\n");
}

static void emit_trip(const opf_program *program, const opf_step *step, opf_text *out) {
    if (step->control->trip) {
        opf_emit_size(step->control->trip, out);
    } else if (step->buffers[0] >= 0) {
        const opf_value *value = program->buffers.data[step->buffers[0]].value;
        opf_text_printf(out, "*(const %s *)(", opf_emit_ctype(value->dtype));
        opf_emit_buffer(program, step->buffers[0], out);
        opf_text_add(out, ")");
    } else {
        opf_text_add(out, "INT64_MAX");
    }
}

/* Memory of what the loop stacks up, as far as its size has no bound. */
static void emit_stack_memory(const opf_program *program, const opf_step *step, int index, opf_text *out) {
    for (int k = 3; k < step->n_buffers; k++)
        if (step->buffers[k] >= 0) opf_emit_take(program, step->buffers[k], program->buffers.data[step->buffers[k]].bytes, index, out);
}

static void emit_loop(const opf_program *program, const opf_step *step, const opf_mentions *mentions, opf_text *out) {
    int n = step->loop;
    opf_text_printf(out, "    int64_t at_%d = 0;\n    const int64_t trip_%d = ", n, n);
    emit_trip(program, step, out);
    opf_text_add(out, ";\n");
    if (step->control->kind == OPF_CONTROL_LOOP) {
        opf_text_printf(out, "    int on_%d = ", n);
        if (step->buffers[1] >= 0) emit_condition(program, step->buffers[1], out);
        else opf_text_add(out, "1");
        opf_text_add(out, ";\n");
        opf_text_printf(out, "    for (; at_%d < trip_%d && on_%d; at_%d++) {\n", n, n, n, n);
    } else {
        opf_text_printf(out, "    for (; at_%d < trip_%d; at_%d++) {\n", n, n, n);
    }
    char value[32];
    snprintf(value, sizeof value, "at_%d", n);
    if (step->control->iteration) {
        opf_text_add(out, "        ");
        opf_emit_symbol_set(program, step->control->iteration, value, mentions, out);
    }
    if (step->buffers[2] >= 0) {
        opf_text_add(out, "        *(int64_t *)(");
        opf_emit_buffer(program, step->buffers[2], out);
        opf_text_printf(out, ") = %s;\n", value);
    }
}

static void emit_end(const opf_program *program, const opf_step *step, const opf_mentions *mentions, opf_text *out) {
    opf_text_add(out, "    }\n");
    if (step->control->kind == OPF_CONTROL_IF || !step->control->trips) return;
    char value[32];
    snprintf(value, sizeof value, "at_%d", step->loop);
    opf_text_add(out, "    ");
    opf_emit_symbol_set(program, step->control->trips, value, mentions, out);
}

static void emit_set(const opf_program *program, const opf_step *step, const opf_mentions *mentions, opf_text *out) {
    const opf_control *control = step->control;
    opf_text_add(out, "    {\n        const int64_t next[] = {");
    for (size_t i = 0; i < control->sizes.count; i++) {
        if (i) opf_text_add(out, ", ");
        opf_emit_size(control->sizes.data[i].values[step->which], out);
    }
    opf_text_add(out, "};\n");
    for (size_t i = 0; i < control->sizes.count; i++) {
        char value[32];
        snprintf(value, sizeof value, "next[%zu]", i);
        opf_text_add(out, "        ");
        opf_emit_symbol_set(program, control->sizes.data[i].symbol, value, mentions, out);
    }
    opf_text_add(out, "    }\n");
}

/* opf_slices(slice, whole, into whole, outer, extent, inner bytes, at) */
static void emit_slices(const opf_program *program, const opf_step *step, int index, opf_text *out) {
    const opf_value *part = step->value;
    opf_pool *pool = program->module->pool;
    int axis = step->slices.axis;
    bool stack = step->kind == OPF_RUN_STACK;
    opf_dim outer = opf_product(pool, axis, part->dims), inner = opf_product(pool, part->rank - axis, part->dims + axis);
    if (!stack) opf_emit_take(program, step->buffers[0], program->buffers.data[step->buffers[0]].bytes, index, out);
    opf_text_add(out, "    opf_slices(");
    opf_emit_buffer(program, step->buffers[stack], out);
    opf_text_add(out, ", ");
    opf_emit_buffer(program, step->buffers[!stack], out);
    opf_text_printf(out, ", %d, ", stack);
    opf_emit_size(outer, out);
    opf_text_printf(out, ", trip_%d, ", step->loop);
    opf_emit_size(opf_mul(pool, inner, opf_int(pool, opf_dtype_bits(part->dtype) / 8)), out);
    if (step->slices.reverse) opf_text_printf(out, ", trip_%d - 1 - at_%d);\n", step->loop, step->loop);
    else opf_text_printf(out, ", at_%d);\n", step->loop);
}

bool opf_emit_control(const opf_program *program, const opf_step *step, int index, const opf_mentions *mentions, opf_text *out) {
    switch (step->kind) {
    case OPF_RUN_IF: emit_if(program, step, out); return true;
    case OPF_RUN_ELSE: opf_text_add(out, "    } else {\n"); return true;
    case OPF_RUN_LOOP: emit_stack_memory(program, step, index, out); emit_loop(program, step, mentions, out); return true;
    case OPF_RUN_GOES_ON:
        opf_text_printf(out, "    on_%d = ", step->loop);
        emit_condition(program, step->buffers[0], out);
        opf_text_add(out, ";\n");
        return true;
    case OPF_RUN_END: emit_end(program, step, mentions, out); return true;
    case OPF_RUN_SET: emit_set(program, step, mentions, out); return true;
    case OPF_RUN_SLICE: case OPF_RUN_STACK: emit_slices(program, step, index, out); return true;
    default: return false;
    }
}

bool opf_emit_control_mentions(const opf_program *program, const opf_step *step, opf_mentions *mentions) {
    switch (step->kind) {
    case OPF_RUN_LOOP:
        opf_mentions_add(mentions, step->control->trip);
        for (int k = 3; k < step->n_buffers; k++)
            if (step->buffers[k] >= 0 && opf_program_storage(program, step->buffers[k])->found) opf_mentions_add(mentions, program->buffers.data[step->buffers[k]].bytes);
        return true;
    case OPF_RUN_SET:
        for (size_t i = 0; i < step->control->sizes.count; i++) opf_mentions_add(mentions, step->control->sizes.data[i].values[step->which]);
        return true;
    case OPF_RUN_SLICE: case OPF_RUN_STACK:
        for (int axis = 0; axis < step->value->rank; axis++) opf_mentions_add(mentions, step->value->dims[axis]);
        return true;
    case OPF_RUN_IF: case OPF_RUN_ELSE: case OPF_RUN_GOES_ON: case OPF_RUN_END: return true;
    default: return false;
    }
}
