/* The kernels of a program as they run: what each gets, what it costs. */
#ifndef OPF_TUNE_CAPTURE_H
#define OPF_TUNE_CAPTURE_H

#include "run/session.h"
#include "tune/tuning.h"

typedef struct opf_operand { const void *data; size_t bytes; bool constant; } opf_operand;

/* One distinct kernel: the first step that runs it, with copies of what that step read. */
typedef struct opf_tunable {
    const char *kernel;        /* opf_schedule_key as text */
    const char *operators, *first; /* for people: its operators, the first node of the first step */
    const opf_nest *nest;      /* by the heuristic */
    const opf_group *group;
    int calls;                 /* of one run */
    double milliseconds;       /* of one run, all calls */
    opf_operand *inputs;       /* as stages.inputs of the group */
    size_t *result_bytes;
    const int64_t *symbols;    /* by symbol index */
} opf_tunable;

typedef struct opf_tunables {
    OPF_VEC(opf_tunable) list; /* dearest first */
    double run_ms;             /* of the whole program */
    size_t bytes;              /* what a run walks through: workspace and constants */
} opf_tunables;

/* Runs the prepared program a few times. While the tunables live, so do program and runner, whose constants are lent. (arena) */
opf_status opf_capture(opf_tunables *out, opf_runner *runner, const opf_program *program, const void *const *inputs, void *const *outputs, opf_arena *arena);
void opf_capture_end(opf_runner *runner);

#endif
