/* Where the values of a running program lie: for whoever looks at them, or puts others in their place, between two steps. */
#include "run/runner.h"

int64_t *opf_runner_symbols(const opf_runner *runner, opf_arena *arena) {
    const opf_program *program = runner->program;
    int64_t *values = OPF_ARRAY(arena, int64_t, opf_pool_symbols(program->module->pool) + 1);
    for (size_t i = 0; i < program->n_symbols; i++) values[program->sources[i].symbol->index] = runner->symbols[i];
    return values;
}

static int64_t padded(int64_t bytes) { return (bytes + OPF_WORKSPACE_ALIGN - 1) / OPF_WORKSPACE_ALIGN * OPF_WORKSPACE_ALIGN; }

/* As the program's own `slots` computes it. */
static int64_t slot_offset(const opf_program *program, int slot, const int64_t *symbols) {
    int64_t at = 0;
    for (int s = 0; s < slot; s++) {
        int64_t most = 0, size;
        for (size_t i = 0; i < program->slots.data[s].sizes.count; i++)
            if (opf_dim_eval(program->slots.data[s].sizes.data[i], symbols, &size) && size > most) most = size;
        at += padded(most);
    }
    return at;
}

static char *storage_of(const opf_runner *runner, const opf_buffer *b, const int64_t *symbols) {
    switch (b->kind) {
    case OPF_BUFFER_INPUT: return (char *)(uintptr_t)runner->frame->inputs[b->index];
    case OPF_BUFFER_OUTPUT: return runner->frame->outputs[b->index];
    case OPF_BUFFER_WEIGHT: return (char *)(uintptr_t)runner->weights[b->index];
    case OPF_BUFFER_PACKED: return (char *)runner->packed + b->offset;
    default: return (char *)runner->workspace + (b->index == 0 ? b->offset : slot_offset(runner->program, b->index, symbols));
    }
}

void *opf_runner_bytes(const opf_runner *runner, int buffer, const int64_t *symbols) {
    const opf_buffer *b = &runner->program->buffers.data[buffer];
    int64_t within = 0; /* of a part of a concatenation */
    if (b->within && !opf_dim_eval(b->within, symbols, &within)) return NULL;
    const opf_buffer *storage = opf_program_storage(runner->program, buffer), *whole = opf_program_whole(runner->program, buffer);
    int64_t in_front, before = 0;
    if (whole && !(opf_dim_eval(storage->in_front, symbols, &in_front) && (!storage->within_whole || opf_dim_eval(storage->within_whole, symbols, &before)))) return NULL;
    if (whole && in_front == 1) {
        storage = whole;
        within += before;
    }
    char *at = storage_of(runner, storage, symbols);
    if (storage->found) at = *(char **)(void *)at;
    return at ? at + within : NULL;
}
