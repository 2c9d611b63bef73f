/* Stores past the caches. A result that is larger than the last cache is gone from it before anything reads it, and an ordinary store
 * fetches each line from memory before it is overwritten: a third of what a copy moves. A chunk of the result goes into an array
 * that the first cache holds, and from there to memory in non-temporal stores (opf_store_past of the prelude).
 *
 * What the chunk some chunks further on reads is asked for meanwhile: the machine's own prefetchers stop at the end of each page. */
#include <math.h>

#include "loop/scheduler.h"

enum {
    FEWEST_ELEMENTS = 64, /* of a line: its ends are stored the usual way */
    MOST_STREAMS = 4      /* operands that are asked for ahead; more keep the memory busy by themselves */
};

static double nominal_elements(const opf_value *value) {
    double elements = 1;
    for (int k = 0; k < value->rank; k++) elements *= (double)opf_dim_nominal(value->dims[k]);
    return elements;
}

static bool goes_past(const opf_scheduler *s, const opf_target *target, int variable) {
    const opf_nest_buffer *buffer = opf_buffer_at(s, target->buffer);
    const opf_expr *step, *rest;
    if (buffer->memory != OPF_MEMORY_RESULT || buffer->dtype != opf_dtype_held(buffer->dtype)) return false;
    const opf_value *value = s->group->results.data[buffer->index].value;
    if (value->dtype != buffer->dtype || (double)opf_value_nominal_bytes(value) < (double)s->nest->machine->l3_bytes) return false;
    return opf_expr_affine(s->pool, target->offset, variable, &step, &rest) && opf_is_value(step, 1);
}

static bool is_no_result(const opf_expr *e, void *data) {
    const opf_scheduler *s = data;
    return e->kind != OPF_EXPR_LOAD || opf_buffer_at(s, e->index)->memory != OPF_MEMORY_RESULT;
}

/* Operations of all elements of the targets, by what is left of them. */
static double operations(const opf_scheduler *s, const opf_targets *targets) {
    double most = 0, price = 0;
    for (size_t i = 0; i < targets->list.count; i++) {
        const opf_nest_buffer *buffer = opf_buffer_at(s, targets->list.data[i].buffer);
        price += opf_expr_price(s, targets->list.data[i].value);
        if (buffer->memory == OPF_MEMORY_RESULT) most = fmax(most, nominal_elements(s->group->results.data[buffer->index].value));
    }
    return most * price;
}

/* One choice a kernel, by what is asked about first. Where it waits for its operations and not for memory, lines that are computed together (step.c) are worth more. */
static bool chooses_past(opf_scheduler *s, const opf_targets *targets) {
    const opf_nest *nest = s->nest;
    const double share = nest->machine->lanes / 2.0; /* of the peak: what plain loops reach, about eight operations a cycle whatever the width */
    int64_t wanted = opf_nest_wants(nest, OPF_KNOB_STORES), *told = &s->nest->chosen.at[OPF_KNOB_STORES];
    if (*told) return *told == OPF_STORES_PAST;
    double computing = operations(s, targets) * share / nest->machine->flops_per_second, moving = (double)nest->bytes / nest->machine->dram_bandwidth;
    bool past = wanted ? wanted == OPF_STORES_PAST : computing <= moving;
    *told = past ? OPF_STORES_PAST : OPF_STORES_CACHED;
    return past;
}

bool opf_stores_past(opf_scheduler *s, const opf_targets *targets, int variable) {
    bool any = false;
    if (s->fill || opf_dim_nominal(opf_extent(s, variable)) < FEWEST_ELEMENTS) return false;
    for (size_t i = 0; i < targets->list.count; i++) {
        if (!opf_expr_visit(s->pool, targets->list.data[i].value, is_no_result, s)) return false;
        any |= goes_past(s, &targets->list.data[i], variable);
    }
    return any && chooses_past(s, targets);
}

opf_targets opf_past_arrays(opf_scheduler *s, opf_block *block, const opf_chunk *chunk, opf_targets *targets) {
    opf_targets results = {0};
    for (size_t i = 0; i < targets->list.count; i++) {
        opf_target *target = &targets->list.data[i];
        if (!goes_past(s, target, chunk->lane)) continue;
        int line = opf_buffer_new(s, OPF_MEMORY_STACK, opf_buffer_at(s, target->buffer)->dtype, "line", opf_int(s->pool, chunk->size));
        opf_code_array(s, block, line);
        const opf_expr *first = opf_simple(s, opf_substitute(s, target->offset, chunk->lane, opf_int(s->pool, 0)));
        OPF_PUSH(s->arena, &results.list, (opf_target){target->buffer, first, opf_buffer_load(s, line, opf_int(s->pool, 0))});
        target->buffer = line;
        target->offset = opf_variable(s, chunk->lane);
    }
    return results;
}

void opf_past_store(opf_scheduler *s, opf_block *block, const opf_chunk *chunk, const opf_targets *results) {
    for (size_t i = 0; i < results->list.count; i++) {
        const opf_target *result = &results->list.data[i];
        opf_code *code = opf_code_add(s, block, OPF_CODE_PAST);
        code->buffer = result->buffer;
        code->offset = result->offset;
        code->operands[0] = (opf_run){result->value->index, opf_int(s->pool, 0)};
        code->to = chunk->count;
    }
}

/* ---- asking ahead ---- */

typedef struct asking { opf_scheduler *s; opf_block *block; const opf_chunk *chunk; opf_map asked; int count; } asking;

/* What is read along whole, again for each line of the result: it comes from the second cache, and asking four runs on leads behind its end. */
static bool stays_near(const opf_scheduler *s, const opf_nest_buffer *buffer) {
    return opf_value_nominal_bytes(s->group->stages.inputs.data[buffer->index]) <= s->nest->machine->l2_bytes / 4;
}

/* A buffer's first load that walks along the lanes; those of others of its elements share lines with it, or follow as closely. */
static bool ask_for(const opf_expr *e, void *data) {
    asking *a = data;
    opf_scheduler *s = a->s;
    const opf_expr *step, *rest;
    const void *buffer = (const void *)(uintptr_t)(e->index + 1);
    if (e->kind != OPF_EXPR_LOAD || e->n_args != 1 || opf_buffer_at(s, e->index)->memory != OPF_MEMORY_INPUT || opf_map_has(&a->asked, buffer)) return true;
    if (opf_expr_has_load(e->args[0]) || !opf_expr_affine(s->pool, e->args[0], a->chunk->lane, &step, &rest) || !opf_is_value(step, 1)) return true;
    if (stays_near(s, opf_buffer_at(s, e->index))) return true;
    opf_map_set(&a->asked, buffer, a);
    if (a->count++ >= MOST_STREAMS) return true;
    opf_code *code = opf_code_add(s, a->block, OPF_CODE_ASK);
    code->operands[0] = (opf_run){e->index, rest};
    code->to = a->chunk->count;
    return true;
}

void opf_past_ask(opf_scheduler *s, opf_block *block, const opf_chunk *chunk, const opf_targets *targets) {
    asking a = {.s = s, .block = block, .chunk = chunk, .asked = opf_map_new(s->arena)};
    for (size_t i = 0; i < targets->list.count; i++) opf_expr_visit(s->pool, targets->list.data[i].value, ask_for, &a);
}
