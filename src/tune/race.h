/* Candidates against the heuristic's kernel: compiled, run on what the kernel reads in the model, compared, timed in turns.
 *
 * Each candidate runs in a process of its own (fork): one that crashes or hangs costs a candidate. A time is told as a share of the
 * heuristic's, the median over turns: what else the machine does meets both. Before each turn memory is walked through as the rest
 * of the model does, and what the kernel reads from its neighbours is read once: constants come from where they will come from. */
#ifndef OPF_TUNE_RACE_H
#define OPF_TUNE_RACE_H

#include "run/session.h"
#include "tune/capture.h"

enum { OPF_MOST_CHAIN = 2 };

typedef enum opf_race_verdict {
    OPF_RACE_UNTRIED,
    OPF_RACE_DONE,             /* measured, and its numbers hold */
    OPF_RACE_WRONG,            /* numbers beyond the bound */
    OPF_RACE_FAILED            /* not compiled, crashed, or out of time */
} opf_race_verdict;

/* One way to compute a kernel's results: one nest, or, where the group is cut, one after the other. */
typedef struct opf_candidate {
    opf_schedule schedule;     /* all that was chosen */
    int n_nests;
    const opf_nest *nests[OPF_MOST_CHAIN];
    opf_hash code;             /* tune/code.h: equal code is not tried twice */
    double predicted;          /* rank by the cost model, less is better */
    opf_race_verdict verdict;
    double ratio;              /* of the heuristic's time */
    bool same_bits;
} opf_candidate;

typedef struct opf_race opf_race;

typedef struct opf_race_options {
    const opf_compile_options *compiling;
    const opf_program *program; /* that the kernel is of */
    const opf_machine *machine;
    int threads;
    size_t bytes;              /* that a run walks through */
    bool (*stop)(void *data);  /* asked between measurements; may be NULL */
    void *stop_data;
} opf_race_options;

/* For one kernel; compiles the heuristic's. Diagnostics are quiet: OPF_ERROR_SYSTEM where there is no compiler or no folder. */
opf_status opf_race_new(opf_race **out, const opf_tunable *tunable, const opf_race_options *options, opf_diags *diags);
void opf_race_free(opf_race *race); /* NULL is fine */
/* Compiles `count` candidates at once and measures each; `longer`: with more turns. */
opf_status opf_race_run(opf_race *race, opf_candidate **candidates, int count, bool longer);

#endif
