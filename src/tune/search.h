/* The tuner: for each kernel of a program, the dearest first, candidates are raced while there is time; what is better than the
 * heuristic's goes into the database at once. */
#ifndef OPF_TUNE_SEARCH_H
#define OPF_TUNE_SEARCH_H

#include "tune/database.h"
#include "tune/race.h"

typedef struct opf_search_options {
    double seconds;
    opf_race_options race;
    opf_fusion *fusion;        /* of the program */
    const opf_fuse_options *fusing; /* by which it was made */
    opf_database *database;
    const char *cpu;
    void (*progress)(void *data, const char *what, int done, int total); /* seconds; may be NULL */
    void *progress_data;
} opf_search_options;

/* What became of a kernel. */
typedef struct opf_finding {
    const opf_tunable *tunable;
    int tried, known, wrong, failed; /* candidates: measured now, measured before, of other numbers, not compiled or crashed */
    bool searched, exhausted;  /* looked at; nothing was left to try near the best */
    double ratio;              /* of the best one to the heuristic's; 1: the heuristic's is the best */
    opf_schedule best;
    const char *default_code;  /* of the heuristic's kernel (tune/code.h) */
    OPF_VEC(opf_schedule) old; /* in the database, measured on other code: tried first */
} opf_finding;
typedef struct opf_findings { OPF_VEC(opf_finding) list; double seconds; bool stopped; } opf_findings;

/* A database that cannot be written ends it; all else is in the findings. (arena) */
opf_status opf_search(opf_findings *out, const opf_tunables *tunables, const opf_search_options *options, opf_arena *arena, opf_diags *diags);
/* The findings as a table, and what the schedules differ in from the heuristic's. */
void opf_findings_print(const opf_findings *findings, opf_text *out);

#endif
