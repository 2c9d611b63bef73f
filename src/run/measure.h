/* Times of a program's steps: runs with and without a clock around each step, in turns. */
#ifndef OPF_RUN_MEASURE_H
#define OPF_RUN_MEASURE_H

#include "run/session.h"

/* One part of one step in the last measured run; nanoseconds since that run began. `part` of a step side by side with others: the
 * number of the thread that it ran on. */
typedef struct opf_step_event { int step, part; int64_t begin, end; } opf_step_event;

/* Hardware counters of a step, a run's sum. Only what the calling thread does. */
typedef struct opf_step_counters { double cycles, instructions, cache_misses; } opf_step_counters;

typedef struct opf_measure {
    int runs, threads;
    size_t n_steps;
    double *run_ms, *plain_ms;   /* per run: with clocks, and without, in turns */
    double *step_ms;             /* [run * n_steps + step]: the sum of the step's calls */
    int *calls;                  /* per step, of one run */
    int *parts;                  /* per step: the most that worked at once */
    double *balance;             /* per step: time of the slowest part over the mean one; 1 where one part does all */
    OPF_VEC(opf_step_event) events;
    opf_step_counters *counters; /* per step; NULL: the system does not let them be read */
    const char *no_counters;     /* then why */
} opf_measure;

/* The runner is prepared for these inputs. Everything is in the arena. */
opf_status opf_runner_measure(opf_measure *out, opf_runner *runner, const void *const *inputs, void *const *outputs, int warmup, int runs, opf_arena *arena);

/* ---- counters.c ---- */

typedef struct opf_counters { int cycles, instructions, cache_misses; } opf_counters; /* file descriptors */
/* NULL, or why there are none. */
const char *opf_counters_open(opf_counters *counters);
void opf_counters_read(const opf_counters *counters, opf_step_counters *out);
void opf_counters_close(opf_counters *counters);

#endif
