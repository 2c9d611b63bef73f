/* Runs with a clock around each step and each part of it. */
#include "run/measure.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "run/runner.h"

enum { MOST_EVENTS = 200000, MOST_PARTS = 256, MOST_THREADS = 64, RUNS_WITH_COUNTERS = 3 };

/* What the hook sees while it is on. */
typedef struct watch {
    opf_measure *m;
    const opf_runner *runner;
    opf_arena *arena;
    opf_hook inner;             /* the runner's own */
    double *step_ms;            /* of this run */
    double *slowest, *mean;     /* per step: sums over all calls with several parts */
    int64_t run_began, *step_began; /* per step */
    int step;                   /* that is under way alone; -1: none, or several side by side */
    pthread_mutex_t lock;       /* steps side by side are told from several threads */
    pthread_t threads[MOST_THREADS];
    int n_threads;
    bool keep_events, count_calls;
    const opf_counters *counters;
    opf_step_counters before;
} watch;

/* ---- parts ---- */

/* A kernel's arguments with what the clock needs behind them. */
typedef struct timed { opf_args args; opf_kernel kernel; int64_t *begin, *end; } timed;

static void time_part(const opf_args *args, int part, int parts) {
    const timed *t = (const timed *)args;
    t->begin[part] = opf_clock_now();
    t->kernel(args, part, parts);
    t->end[part] = opf_clock_now();
}

static void note_event(watch *w, int step, int part, int64_t begin, int64_t end) {
    if (!w->keep_events || w->m->events.count >= MOST_EVENTS) return;
    opf_step_event event = {step, part, begin - w->run_began, end - w->run_began};
    OPF_PUSH(w->arena, &w->m->events, event);
}

static void run_parts(void *pool, opf_kernel kernel, const opf_args *args, int parts) {
    watch *w = pool;
    int64_t begin[MOST_PARTS], end[MOST_PARTS], slowest = 0, sum = 0;
    if (parts > MOST_PARTS || w->step < 0) {
        w->inner.parallel(w->inner.pool, kernel, args, parts);
        return;
    }
    timed t = {*args, kernel, begin, end};
    w->inner.parallel(w->inner.pool, time_part, &t.args, parts);
    for (int part = 0; part < parts; part++) {
        int64_t taken = end[part] - begin[part];
        slowest = taken > slowest ? taken : slowest;
        sum += taken;
        note_event(w, w->step, part, begin[part], end[part]);
    }
    w->slowest[w->step] += (double)slowest;
    w->mean[w->step] += (double)sum / parts;
    if (parts > w->m->parts[w->step]) w->m->parts[w->step] = parts;
}

/* ---- steps ---- */

/* Of the threads that have told of steps; the first is the caller. */
static int thread_number(watch *w) {
    for (int i = 0; i < w->n_threads; i++)
        if (pthread_equal(w->threads[i], pthread_self())) return i;
    if (w->n_threads == MOST_THREADS) return MOST_THREADS - 1;
    w->threads[w->n_threads] = pthread_self();
    return w->n_threads++;
}

static void note_step(watch *w, int step, int begin, int64_t now) {
    if (begin) {
        w->step = w->runner->program->steps.data[step].beside ? -1 : step;
        w->step_began[step] = now;
        if (w->count_calls) w->m->calls[step]++;
        return;
    }
    size_t before = w->m->events.count;
    int64_t began = w->step_began[step];
    w->step = -1;
    w->step_ms[step] += (double)(now - began) / 1e6;
    if (!before || w->m->events.data[before - 1].step != step || w->m->events.data[before - 1].begin < began - w->run_began)
        note_event(w, step, thread_number(w), began, now); /* one thread did it all */
}

static void trace_time(void *data, int step, int begin) {
    watch *w = data;
    int64_t now = opf_clock_now();
    pthread_mutex_lock(&w->lock);
    note_step(w, step, begin, now);
    pthread_mutex_unlock(&w->lock);
}

static void trace_counters(void *data, int step, int begin) {
    watch *w = data;
    opf_step_counters now;
    opf_counters_read(w->counters, &now);
    if (begin) {
        w->before = now;
        return;
    }
    w->m->counters[step].cycles += now.cycles - w->before.cycles;
    w->m->counters[step].instructions += now.instructions - w->before.instructions;
    w->m->counters[step].cache_misses += now.cache_misses - w->before.cache_misses;
}

/* ---- runs ---- */

static opf_status timed_run(opf_runner *runner, const void *const *inputs, void *const *outputs, double *milliseconds) {
    int64_t begun = opf_clock_now();
    opf_status status = opf_runner_run(runner, inputs, outputs);
    *milliseconds = (double)(opf_clock_now() - begun) / 1e6;
    return status;
}

static opf_status watched_run(opf_runner *runner, watch *w, const void *const *inputs, void *const *outputs, double *milliseconds) {
    runner->hook = (opf_hook){.parallel = w->inner.parallel ? run_parts : NULL, .pool = w, .threads = w->inner.threads, .trace = trace_time, .trace_data = w, .trace_at_once = 1};
    w->run_began = opf_clock_now();
    opf_status status = timed_run(runner, inputs, outputs, milliseconds);
    runner->hook = w->inner;
    return status;
}

static opf_status count(opf_runner *runner, watch *w, const void *const *inputs, void *const *outputs) {
    opf_counters counters;
    opf_measure *m = w->m;
    opf_status status = OPF_OK;
    double ignored;
    m->no_counters = opf_counters_open(&counters);
    if (m->no_counters) return OPF_OK;
    m->counters = OPF_ARRAY(w->arena, opf_step_counters, m->n_steps + 1);
    w->counters = &counters;
    runner->hook.trace = trace_counters;
    runner->hook.trace_data = w;
    for (int i = 0; i < RUNS_WITH_COUNTERS && status == OPF_OK; i++) status = timed_run(runner, inputs, outputs, &ignored);
    runner->hook = w->inner;
    opf_counters_close(&counters);
    for (size_t i = 0; i < m->n_steps; i++) {
        m->counters[i].cycles /= RUNS_WITH_COUNTERS;
        m->counters[i].instructions /= RUNS_WITH_COUNTERS;
        m->counters[i].cache_misses /= RUNS_WITH_COUNTERS;
    }
    return status;
}

opf_status opf_runner_measure(opf_measure *out, opf_runner *runner, const void *const *inputs, void *const *outputs, int warmup, int runs, opf_arena *arena) {
    size_t n = runner->program->steps.count;
    *out = (opf_measure){.runs = runs, .threads = runner->hook.threads > 1 ? runner->hook.threads : 1, .n_steps = n};
    out->run_ms = OPF_ARRAY(arena, double, runs + 1);
    out->plain_ms = OPF_ARRAY(arena, double, runs + 1);
    out->step_ms = OPF_ARRAY(arena, double, (size_t)runs * n + 1);
    out->calls = OPF_ARRAY(arena, int, n + 1);
    out->parts = OPF_ARRAY(arena, int, n + 1);
    out->balance = OPF_ARRAY(arena, double, n + 1);
    watch w = {.m = out, .runner = runner, .step = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .step_began = OPF_ARRAY(arena, int64_t, n + 1), .arena = arena, .inner = runner->hook, .slowest = OPF_ARRAY(arena, double, n + 1), .mean = OPF_ARRAY(arena, double, n + 1)};
    opf_status status = OPF_OK;
    double ignored;
    for (int i = 0; i < warmup && status == OPF_OK; i++) status = timed_run(runner, inputs, outputs, &ignored);
    for (int i = 0; i < runs && status == OPF_OK; i++) {
        w.step_ms = out->step_ms + (size_t)i * n;
        w.keep_events = w.count_calls = i + 1 == runs;
        bool plain_first = i % 2 == 0; /* so that a drifting clock meets both alike */
        if (plain_first) status = timed_run(runner, inputs, outputs, &out->plain_ms[i]);
        if (status == OPF_OK) status = watched_run(runner, &w, inputs, outputs, &out->run_ms[i]);
        if (status == OPF_OK && !plain_first) status = timed_run(runner, inputs, outputs, &out->plain_ms[i]);
    }
    for (size_t i = 0; i < n; i++) {
        out->balance[i] = w.mean[i] > 0 ? w.slowest[i] / w.mean[i] : 1;
        if (!out->parts[i]) out->parts[i] = 1;
    }
    return status == OPF_OK ? count(runner, &w, inputs, outputs) : status;
}
