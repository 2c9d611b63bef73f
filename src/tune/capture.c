/* What each kernel of a program reads, and what it costs. */
#include "tune/capture.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#include "run/measure.h"
#include "run/runner.h"

enum { WARMUP = 2, RUNS = 9 };

typedef struct capturing {
    opf_tunables *out;
    opf_runner *runner;
    const opf_program *program;
    opf_arena *arena;
    int *tunable;              /* by step: index into the list, -1: none */
    bool *taken;               /* by tunable */
} capturing;

/* ---- which ---- */

/* Sizes that are found as it runs live in memory of the run: left out. */
static bool can_be_taken(const opf_program *program, const opf_step *step) {
    if (step->kind != OPF_RUN_KERNEL || !step->nest->group->nodes.count) return false;
    for (int k = 0; k < step->n_buffers; k++)
        if (opf_program_storage(program, step->buffers[k])->found) return false;
    const opf_group *group = step->nest->group;
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        if (group->stages.inputs.data[i]->dtype == OPF_STRING) return false;
    return true;
}

static int find(const opf_tunables *list, const char *kernel) {
    for (size_t i = 0; i < list->list.count; i++)
        if (strcmp(list->list.data[i].kernel, kernel) == 0) return (int)i;
    return -1;
}

static void list_kernels(capturing *c) {
    const opf_program *program = c->program;
    c->tunable = OPF_ARRAY(c->arena, int, program->steps.count + 1);
    for (size_t i = 0; i < program->steps.count; i++) {
        const opf_step *step = &program->steps.data[i];
        c->tunable[i] = -1;
        if (!can_be_taken(program, step)) continue;
        const opf_group *group = step->nest->group;
        const char *kernel = opf_arena_string(c->arena, opf_hash_print(opf_schedule_key(group, program->machine)).text);
        int known = find(c->out, kernel);
        if (known < 0) {
            opf_tunable t = {.kernel = kernel, .operators = opf_schedule_operators(group), .first = group->nodes.data[0]->name, .nest = step->nest, .group = group};
            known = (int)c->out->list.count;
            OPF_PUSH(c->arena, &c->out->list, t);
        }
        c->tunable[i] = known;
    }
    c->taken = OPF_ARRAY(c->arena, bool, c->out->list.count + 1);
}

/* ---- what they read ---- */

static size_t bytes_of(const capturing *c, const opf_step *step, size_t at, const int64_t *symbols) {
    int64_t bytes;
    return opf_dim_eval(c->program->buffers.data[step->buffers[at]].bytes, symbols, &bytes) && bytes > 0 ? (size_t)bytes : 0;
}

/* As values of the workspace lie. */
static void *aligned_copy(opf_arena *arena, const void *data, size_t bytes) {
    char *room = opf_arena_alloc(arena, bytes + 2 * OPF_WORKSPACE_ALIGN);
    room += OPF_WORKSPACE_ALIGN - (uintptr_t)room % OPF_WORKSPACE_ALIGN;
    return memcpy(room, data, bytes);
}

static void take(capturing *c, const opf_step *step, opf_tunable *t) {
    const opf_group *group = step->nest->group;
    size_t n = group->stages.inputs.count;
    t->symbols = opf_runner_symbols(c->runner, c->arena);
    t->inputs = OPF_ARRAY(c->arena, opf_operand, n + 1);
    t->result_bytes = OPF_ARRAY(c->arena, size_t, group->results.count + 1);
    for (size_t i = 0; i < n; i++) {
        opf_operand *operand = &t->inputs[i];
        operand->bytes = bytes_of(c, step, i, t->symbols);
        operand->constant = opf_program_storage(c->program, step->buffers[i])->kind == OPF_BUFFER_WEIGHT;
        if (!operand->constant) operand->data = aligned_copy(c->arena, opf_runner_bytes(c->runner, step->buffers[i], t->symbols), operand->bytes);
    }
    for (size_t k = 0; k < group->results.count; k++) t->result_bytes[k] = bytes_of(c, step, n + k, t->symbols);
}

static void watch(void *data, int index, int begin) {
    capturing *c = data;
    int tunable = c->tunable[index];
    if (!begin || tunable < 0 || c->taken[tunable]) return;
    c->taken[tunable] = true;
    take(c, &c->program->steps.data[index], &c->out->list.data[tunable]);
}

/* Also those that the program reads packed only: other schedules may read them as they are. */
static void lend_constants(capturing *c) {
    for (size_t i = 0; i < c->program->steps.count; i++) {
        const opf_step *step = &c->program->steps.data[i];
        opf_tunable *t = c->tunable[i] < 0 ? NULL : &c->out->list.data[c->tunable[i]];
        if (!t || step->nest != t->nest || !t->inputs) continue;
        for (size_t k = 0; k < t->group->stages.inputs.count; k++)
            if (t->inputs[k].constant) t->inputs[k].data = opf_runner_bytes(c->runner, step->buffers[k], t->symbols);
    }
}

/* ---- what they cost ---- */

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, opf_ascending);
    return values[n / 2];
}

static int dearest_first(const void *a, const void *b) {
    const opf_tunable *x = a, *y = b;
    if (x->milliseconds != y->milliseconds) return x->milliseconds < y->milliseconds ? 1 : -1;
    return strcmp(x->kernel, y->kernel);
}

static void add_costs(capturing *c, const opf_measure *m) {
    double *times = OPF_ARRAY(c->arena, double, m->runs + 1);
    for (size_t i = 0; i < m->n_steps; i++) {
        if (c->tunable[i] < 0) continue;
        for (int run = 0; run < m->runs; run++) times[run] = m->step_ms[(size_t)run * m->n_steps + i];
        opf_tunable *t = &c->out->list.data[c->tunable[i]];
        t->milliseconds += median(times, m->runs);
        t->calls += m->calls[i];
    }
    c->out->run_ms = median(m->plain_ms, m->runs);
}

/* Kernels that did not run (of a branch not taken) are not there. */
static void drop_untaken(capturing *c) {
    size_t kept = 0;
    for (size_t i = 0; i < c->out->list.count; i++)
        if (c->taken[i] && c->out->list.data[i].calls) c->out->list.data[kept++] = c->out->list.data[i];
    c->out->list.count = kept;
    qsort(c->out->list.data, kept, sizeof *c->out->list.data, dearest_first);
}

opf_status opf_capture(opf_tunables *out, opf_runner *runner, const opf_program *program, const void *const *inputs, void *const *outputs, opf_arena *arena) {
    capturing c = {.out = out, .runner = runner, .program = program, .arena = arena};
    opf_measure m;
    *out = (opf_tunables){0};
    list_kernels(&c);
    opf_runner_trace(runner, watch, &c);
    opf_status status = opf_runner_run(runner, inputs, outputs);
    opf_runner_trace(runner, NULL, NULL);
    if (status == OPF_OK) status = opf_runner_measure(&m, runner, inputs, outputs, WARMUP, RUNS, arena);
    for (size_t i = 0; i < program->weights.count && status == OPF_OK; i++) status = opf_runner_lend_weight(runner, i);
    if (status != OPF_OK) return status;
    add_costs(&c, &m);
    lend_constants(&c);
    drop_untaken(&c);
    out->bytes = opf_runner_workspace_bytes(runner) + (size_t)program->packed_bytes;
    for (size_t i = 0; i < program->weights.count; i++)
        if (program->weights.data[i].read_by_steps) out->bytes += program->weights.data[i].tensor->bytes;
    return OPF_OK;
}

void opf_capture_end(opf_runner *runner) {
    for (size_t i = 0; i < runner->program->weights.count; i++) opf_runner_return_weight(runner, i);
}
