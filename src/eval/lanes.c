/* The loops around a program over lanes, on one or more threads. */
#include "eval/lanes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef union opf_cell opf_cell;

enum { MAX_THREADS = 8 };
static const int64_t work_for_threads = 200000; /* lane operations below which a thread is not worth its start */

static void set_variable(opf_lanes_state *state, int axis, int64_t value) { state->registers[axis][0].integer = value; }

static void execute_list(opf_lanes_state *state, const struct opf_lanes_level *level) {
    for (int i = 0; i < level->count; i++) opf_lanes_execute(state, &state->lanes->code.data[level->list[i]]);
}

static void execute_level(opf_lanes_state *state, int level) { execute_list(state, &state->lanes->levels[level]); }

/* Values first … first + extent - 1 in turns, each `period` times. */
static void fill_cycle(opf_cell *cells, int count, int64_t first, int64_t extent, int64_t period) {
    int64_t value = 0, run = 0;
    for (int i = 0; i < count; i++) {
        cells[i].integer = first + value;
        if (++run < period) continue;
        run = 0;
        if (++value == extent) value = 0;
    }
}

/* The indices of the block's lanes along its axes, and what follows from them alone. */
static void set_block(opf_lanes_state *state, int64_t block) {
    const opf_lanes *lanes = state->lanes;
    if (state->block == block) return;
    state->block = block;
    state->count = 1;
    if (lanes->outer < lanes->n_axes) {
        int64_t start = block * lanes->chunk, length = lanes->extents[lanes->outer] - start;
        if (length > lanes->chunk) length = lanes->chunk;
        state->count = (int)(length * lanes->inner);
        int64_t period = state->count;
        for (int axis = lanes->outer; axis < lanes->n_axes; axis++) {
            int64_t extent = axis == lanes->outer ? length : lanes->extents[axis];
            period /= extent;
            fill_cycle(state->registers[axis], state->count, axis == lanes->outer ? start : 0, extent, period);
        }
    }
    execute_list(state, &lanes->layout);
}

static void reduce(opf_lanes_state *state, int depth) {
    const opf_lanes *lanes = state->lanes;
    if (depth == lanes->n_reduce) return opf_lanes_accumulate(state);
    int axis = lanes->order[depth], level = lanes->level_of[axis];
    bool dot = lanes->dot[0] && depth == lanes->n_reduce - 1;
    for (int64_t i = 0; i < lanes->extents[axis] && !state->fault.found; i++) {
        if (dot) i = opf_lanes_dot(state, i);
        if (i == lanes->extents[axis]) break;
        set_variable(state, axis, i);
        execute_level(state, level);
        reduce(state, depth + 1);
    }
}

static void run_block(opf_lanes_state *state, int64_t block) {
    const opf_lanes *lanes = state->lanes;
    set_block(state, block);
    execute_level(state, lanes->outer + 1);
    if (lanes->n_reduce == 0) return;
    opf_lanes_reset(state);
    reduce(state, 0);
}

/* ---- threads ---- */

typedef struct opf_lanes_part {
    const opf_lanes *lanes;
    int64_t first, last;      /* tiles: points of the outer axes, then blocks */
    opf_cell *result;
    opf_lanes_fault fault;
} opf_lanes_part;

static opf_lanes_state *state_new(const opf_lanes *lanes) {
    size_t n = lanes->registers.count, cells = 0;
    for (size_t i = 0; i < n; i++) cells += lanes->registers.data[i].uniform ? 1 : OPF_LANES;
    opf_lanes_state *state = calloc(1, sizeof *state);
    opf_cell *storage = calloc(cells + 1, sizeof *storage);
    if (!state || !storage) opf_out_of_memory();
    state->registers = calloc(n + 1, sizeof *state->registers);
    state->spans = calloc(n + 1, sizeof *state->spans);
    if (!state->registers || !state->spans) opf_out_of_memory();
    state->lanes = lanes;
    state->block = -1;
    state->registers[n] = storage; /* one more, for freeing */
    for (size_t i = 0; i < n; i++) {
        state->registers[i] = storage;
        storage += lanes->registers.data[i].uniform ? 1 : OPF_LANES;
    }
    for (size_t i = 0; i < lanes->constants.count; i++) {
        const opf_constant *constant = &lanes->constants.data[i];
        if (lanes->registers.data[constant->reg].real) state->registers[constant->reg][0].real = constant->real;
        else state->registers[constant->reg][0].integer = constant->integer;
    }
    return state;
}

static void state_free(opf_lanes_state *state) {
    free(state->registers[state->lanes->registers.count]);
    free(state->registers);
    free(state->spans);
    free(state);
}

static void *run_part(void *data) {
    opf_lanes_part *part = data;
    const opf_lanes *lanes = part->lanes;
    opf_lanes_state *state = state_new(lanes);
    int64_t extent = lanes->outer < lanes->n_axes ? lanes->extents[lanes->outer] : 1;
    execute_level(state, 0);
    for (int64_t tile = part->first; tile < part->last && !state->fault.found; tile++) {
        int64_t block = tile % lanes->blocks, point = tile / lanes->blocks, rest = point;
        int changed = lanes->outer;
        for (int axis = lanes->outer - 1; axis >= 0; axis--) {
            int64_t value = rest % lanes->extents[axis];
            rest /= lanes->extents[axis];
            if (tile == part->first || state->registers[axis][0].integer != value) changed = axis;
            set_variable(state, axis, value);
        }
        for (int axis = changed; axis < lanes->outer; axis++) execute_level(state, axis + 1);
        run_block(state, block);
        opf_lanes_finish(state);
        int64_t at = (point * extent + block * lanes->chunk) * lanes->inner;
        memcpy(part->result + at, state->accumulator, (size_t)state->count * sizeof(opf_cell));
    }
    part->fault = state->fault;
    state_free(state);
    return NULL;
}

static double work_of(const opf_lanes *lanes) {
    double work = (double)lanes->elements;
    for (int i = 0; i < lanes->n_reduce; i++) work *= (double)lanes->extents[lanes->n_axes + i];
    return work * (double)(lanes->code.count + 1);
}

static int threads_for(const opf_lanes *lanes, int64_t tiles) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    double worth = work_of(lanes) / (double)work_for_threads;
    int64_t threads = online < MAX_THREADS ? online : MAX_THREADS;
    if (threads > tiles) threads = tiles;
    if (threads > worth) threads = (int64_t)worth;
    return threads < 1 ? 1 : (int)threads;
}

bool opf_lanes_run(const opf_lanes *lanes, void *result, opf_lanes_fault *fault) {
    *fault = (opf_lanes_fault){0};
    if (lanes->elements == 0) return true;
    int64_t tiles = lanes->blocks;
    for (int i = 0; i < lanes->outer; i++) tiles *= lanes->extents[i];
    int threads = threads_for(lanes, tiles);
    opf_lanes_part parts[MAX_THREADS];
    pthread_t handles[MAX_THREADS];
    bool started[MAX_THREADS] = {false};
    for (int i = 0; i < threads; i++) parts[i] = (opf_lanes_part){lanes, tiles * i / threads, tiles * (i + 1) / threads, result, {0}};
    for (int i = 1; i < threads; i++) started[i] = pthread_create(&handles[i], NULL, run_part, &parts[i]) == 0;
    for (int i = 0; i < threads; i++)
        if (!started[i]) run_part(&parts[i]);
    for (int i = 1; i < threads; i++)
        if (started[i]) pthread_join(handles[i], NULL);
    for (int i = threads - 1; i >= 0; i--)
        if (parts[i].fault.found) *fault = parts[i].fault;
    return !fault->found;
}
