/* A measured run, told: where the time goes, which limit binds, what slows each step. */
#ifndef OPF_REPORT_PROFILE_H
#define OPF_REPORT_PROFILE_H

#include "plan/program.h"
#include "run/measure.h"

typedef enum opf_limit { OPF_LIMIT_NONE, OPF_LIMIT_ARITHMETIC, OPF_LIMIT_L1, OPF_LIMIT_L2, OPF_LIMIT_L3, OPF_LIMIT_MEMORY } opf_limit;
const char *opf_limit_name(opf_limit limit); /* "none", "arithmetic", "L1", … */

/* The levels of the memory, fastest first: what each holds and the rate at which `threads` threads read and write it. */
enum { OPF_LEVELS = 4 };
typedef struct opf_level { opf_limit limit; double size, rate; } opf_level; /* bytes (of memory: infinite), bytes a second */
void opf_levels(opf_level *out, const opf_machine *machine, int threads);

/* One step of the program with its figures. Times in milliseconds, of one run. */
typedef struct opf_step_profile {
    int step;
    const char *name, *kind;   /* node names joined by " + "; "kernel", "library", "copy", "fill", … */
    const char *kernel;        /* the C function; NULL for other steps */
    double least, median, most, share; /* share of the sum of medians */
    int calls, parts;
    double balance;            /* slowest part over mean part */
    double flops, bytes;       /* of one run, at nominal sizes; bytes each value once */
    opf_limit limit;           /* what binds by the machine table: the larger of arithmetic and traffic */
    double least_possible;     /* then: milliseconds at that limit, 0 where nothing is known */
    const char *diagnosis;     /* one sentence; NULL: near its limit, or too small a share to matter */
} opf_step_profile;

typedef struct opf_profile {
    const opf_program *program;
    const opf_measure *measure;
    size_t count;
    opf_step_profile *steps;   /* dearest first */
    double run, plain, sum;    /* medians: of runs with clocks and without, of the steps' medians together */
} opf_profile;

/* (arena) */
void opf_profile_make(opf_profile *out, const opf_program *program, const opf_measure *measure, opf_arena *arena);

/* What a step computes, by the names of its nodes, or of the value that it copies or fills. (arena) */
const char *opf_step_text(const opf_program *program, int step, opf_arena *arena);

/* "text": a table, dearest first, and the diagnoses; "json" (docs/profiling.md); "trace": events of the last run for Chrome's and
 * Perfetto's viewers; "folded": stacks for flame graphs. OPF_ERROR_USAGE for another format. */
opf_status opf_profile_print(const opf_profile *profile, const char *format, opf_text *out);

#endif
