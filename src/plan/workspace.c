/* Lives of buffers, and their places in the workspace.
 *
 * Values of constant size go to exact offsets in slot 0: largest first, each into the smallest gap that its life leaves
 * (greedy by size with best fit). Values whose size a run decides share slots: largest nominal size first, each into the
 * free slot that is nearest in size. */
#include <stdlib.h>

#include "base/checked.h"
#include "plan/planner.h"

const opf_buffer *opf_program_storage(const opf_program *program, int buffer) {
    const opf_buffer *b = &program->buffers.data[buffer];
    return b->kind == OPF_BUFFER_ALIAS ? &program->buffers.data[b->index] : b;
}

const opf_buffer *opf_program_whole(const opf_program *program, int buffer) {
    const opf_buffer *storage = opf_program_storage(program, buffer);
    return storage->in_front ? &program->buffers.data[storage->whole] : NULL;
}

static void live(const opf_buffer *buffer, int first, int last) {
    opf_buffer *storage = (opf_buffer *)buffer;
    if (storage->first_step < 0) storage->first_step = first;
    if (last > storage->last_step) storage->last_step = last;
}

/* Steps side by side begin together and end together. */
static void measure_lives(opf_program *program) {
    for (size_t i = 0; i < program->steps.count; i++) {
        const opf_step *step = &program->steps.data[i];
        int first = (int)i + (step->beside < 0 ? step->beside : 0), beside = program->steps.data[first].beside, last = beside > 1 ? first + beside - 1 : (int)i;
        for (int k = 0; k < step->n_buffers; k++) {
            if (step->buffers[k] < 0) continue;
            const opf_buffer *whole = opf_program_whole(program, step->buffers[k]);
            live(opf_program_storage(program, step->buffers[k]), first, last);
            if (whole) live(whole, first, last);
        }
    }
}

/* A value that is there before a loop and read in it is needed until the loop ends. Inner loops end first. */
static void stretch_lives(opf_program *program) {
    for (size_t end = 0; end < program->steps.count; end++) {
        const opf_step *step = &program->steps.data[end];
        if (step->kind != OPF_RUN_END || step->control->kind == OPF_CONTROL_IF) continue;
        int begin = step->loop;
        for (size_t i = 0; i < program->buffers.count; i++) {
            opf_buffer *buffer = &program->buffers.data[i];
            if (buffer->first_step < 0) continue;
            if (buffer->first_step <= begin && buffer->last_step > begin && buffer->last_step < (int)end) buffer->last_step = (int)end;
            if (buffer->first_step > begin && buffer->first_step < (int)end && buffer->last_step > (int)end) buffer->first_step = begin;
        }
    }
}

static bool meet(const opf_buffer *a, const opf_buffer *b) { return a->first_step <= b->last_step && b->first_step <= a->last_step; }

static int64_t padded(int64_t bytes) {
    int64_t up;
    if (!opf_checked_add(bytes, OPF_WORKSPACE_ALIGN - 1, &up)) opf_out_of_memory();
    return up - up % OPF_WORKSPACE_ALIGN;
}

/* A buffer with its size; sorted by size, largest first, then by index so that the order never depends on the sort. */
typedef struct sized { opf_buffer *buffer; int64_t bytes; } sized;

static int larger_first(const void *a, const void *b) {
    const sized *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->buffer < y->buffer ? -1 : 1;
}

/* ---- constant sizes ---- */

/* The offset of the tightest gap among the `n` placed buffers (sorted by offset) whose lives meet that of `item`. */
static int64_t best_gap(const sized *placed, size_t n, const sized *item) {
    int64_t end = 0, best = -1, best_room = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        if (!meet(placed[i].buffer, item->buffer)) continue;
        int64_t room = placed[i].buffer->offset - end;
        if (room >= item->bytes && room < best_room) {
            best = end;
            best_room = room;
        }
        int64_t after = placed[i].buffer->offset + placed[i].bytes;
        if (after > end) end = after;
    }
    return best >= 0 ? best : end;
}

static void place_constant_sizes(opf_planner *planner, sized *items, size_t n) {
    if (!n) return;
    qsort(items, n, sizeof *items, larger_first);
    sized *placed = OPF_ARRAY(planner->arena, sized, n);
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        opf_buffer *buffer = items[i].buffer;
        buffer->index = 0;
        buffer->offset = best_gap(placed, i, &items[i]);
        int64_t end;
        if (!opf_checked_add(buffer->offset, items[i].bytes, &end)) opf_out_of_memory();
        if (end > total) total = end;
        size_t at = i; /* insertion keeps `placed` sorted by offset */
        for (; at > 0 && placed[at - 1].buffer->offset > buffer->offset; at--) placed[at] = placed[at - 1];
        placed[at] = items[i];
    }
    OPF_PUSH(planner->arena, &planner->program->slots.data[0].sizes, opf_int(planner->pool, total));
}

/* ---- sizes that a run decides ---- */

/* A free slot for the item: one that already holds this very size, else the one nearest in nominal size. -1: none. */
static int free_slot(const opf_program *program, const sized *items, size_t n, size_t item, const int64_t *nominal) {
    int best = -1;
    for (size_t s = 1; s < program->slots.count; s++) {
        bool same = false, taken = false;
        for (size_t i = 0; i < n && !taken; i++) {
            if (items[i].buffer->index != (int)s) continue;
            taken = meet(items[i].buffer, items[item].buffer);
            same |= items[i].buffer->bytes == items[item].buffer->bytes;
        }
        if (taken) continue;
        if (same) return (int)s;
        if (best < 0 || nominal[s] < nominal[best]) best = (int)s;
    }
    return best;
}

static void add_size(opf_planner *planner, opf_slot *slot, opf_dim bytes) {
    for (size_t i = 0; i < slot->sizes.count; i++)
        if (slot->sizes.data[i] == bytes || opf_expr_prove_le(planner->pool, bytes, slot->sizes.data[i], (opf_domain){0, NULL})) return;
    OPF_PUSH(planner->arena, &slot->sizes, bytes);
}

static void place_other_sizes(opf_planner *planner, sized *items, size_t n) {
    opf_program *program = planner->program;
    qsort(items, n, sizeof *items, larger_first);
    int64_t *nominal = OPF_ARRAY(planner->arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        int slot = free_slot(program, items, i, i, nominal);
        if (slot < 0) {
            slot = (int)program->slots.count;
            nominal[slot] = items[i].bytes;
            OPF_PUSH(planner->arena, &program->slots, (opf_slot){0});
        }
        items[i].buffer->index = slot;
        add_size(planner, &program->slots.data[slot], items[i].buffer->bytes);
    }
}

void opf_planner_place(opf_planner *planner) {
    opf_program *program = planner->program;
    measure_lives(program);
    stretch_lives(program);
    OPF_PUSH(planner->arena, &program->slots, (opf_slot){0});
    sized *constant = OPF_ARRAY(planner->arena, sized, program->buffers.count + 1);
    sized *other = OPF_ARRAY(planner->arena, sized, program->buffers.count + 1);
    size_t n_constant = 0, n_other = 0;
    for (size_t i = 0; i < program->buffers.count; i++) {
        opf_buffer *buffer = &program->buffers.data[i];
        int64_t bytes;
        if (buffer->kind != OPF_BUFFER_WORKSPACE) continue;
        if (buffer->found) constant[n_constant++] = (sized){buffer, padded(sizeof(void *))};
        else if (opf_is_int(buffer->bytes, &bytes)) constant[n_constant++] = (sized){buffer, padded(bytes)};
        else other[n_other++] = (sized){buffer, opf_dim_nominal(buffer->bytes)};
    }
    place_constant_sizes(planner, constant, n_constant);
    place_other_sizes(planner, other, n_other);
}
