/* Between race.c (processes, texts) and race_child.c (runs). Private to src/tune. */
#ifndef OPF_TUNE_RACE_INTERNAL_H
#define OPF_TUNE_RACE_INTERNAL_H

#include "tune/race.h"

/* What a child tells; lies in memory that it shares with its parent. */
typedef struct opf_race_result {
    opf_race_verdict verdict;
    bool differs;              /* other bits, and no bounds at hand to judge them: to be run again with bounds */
    bool same_bits;
    double ratio;
} opf_race_result;

/* The bounds of each result's elements, of one way to sum; NULL entries: none can be stated. */
typedef struct opf_race_bounds { const opf_tensor **base, **own; } opf_race_bounds;

typedef struct opf_race_call {
    const opf_tunable *tunable;
    const opf_race_options *options;
    const char *base_object, *object; /* shared objects */
    const opf_candidate *base, *candidate;
    int number;                /* of the candidate in its object */
    const opf_race_bounds *bounds; /* NULL: not at hand */
    int turns;
    int64_t most_nanoseconds;
} opf_race_call;

/* In the child. */
void opf_race_measure(const opf_race_call *call, opf_race_result *out);
/* Name of the table of functions in an object. (arena) */
const char *opf_race_table(int number, opf_arena *arena);

#endif
