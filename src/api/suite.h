/* Conformance suites: folders of cases, each a model with stored inputs and outputs. */
#ifndef OPF_API_SUITE_H
#define OPF_API_SUITE_H

#include "api/context.h"

enum { OPF_SUITE_POLICIES = 2 }; /* none, best */
extern const opf_policy opf_suite_policies[OPF_SUITE_POLICIES];
extern const char *const opf_suite_policy_names[OPF_SUITE_POLICIES];

typedef struct opf_suite_case {
    const char *name, *folder;
    int n_sets;
    const char **sets;         /* folders */
    const char *exception;     /* why it is known to fail; NULL: it must hold */
} opf_suite_case;

/* One run to be: a case under a policy on one of its data sets. */
typedef struct opf_trial {
    int number;
    const opf_suite_case *of;
    int policy, set;
    /* found */
    bool done;
    const char *code;          /* NULL: right; "differs", "crash", "hang", or the class of the first error */
    const char *reason;
    double seconds;            /* to read, emit and run; the shared compiler call is not in it */
} opf_trial;

typedef struct opf_suite {
    opf_context *context;
    opf_arena *arena;
    const char *folder;
    const opf_suite_options *options;
    const char *scratch;       /* folder for compiled programs */
    OPF_VEC(opf_suite_case) cases;
    OPF_VEC(opf_trial) trials;
} opf_suite;

/* suite_cases.c: the cases below the folder in order of their names, their exceptions, the trials. */
opf_status opf_suite_find(opf_suite *suite);

/* suite_batch.c: the trials of one batch, in a process of its own. Tells the pipe, a line each:
 *   build N · run N      trial N is begun
 *   compile              all that could be built goes to the compiler
 *   done N S CODE TEXT   trial N took S seconds; CODE is `-` where it is right */
void opf_suite_run_batch(const opf_suite *suite, opf_trial *const *trials, int count, int pipe);

/* suite_jobs.c: all trials, in batches, in several processes at once; a batch that dies or hangs costs the trial that it was
 * at, and the others are tried again. */
opf_status opf_suite_run(opf_suite *suite);

/* suite_types.c: bit k: an input or output is stored with element type k; bit 0: one is no tensor that can be read. */
uint64_t opf_suite_types(const opf_suite *suite, const opf_suite_case *of);

/* suite_report.c: a line a failure and the table; the file of JUnit. *failures: cases that fail and should not, or hold and
 * should not. */
void opf_suite_print(const opf_suite *suite, opf_text *out, int *failures);
opf_status opf_suite_write_junit(const opf_suite *suite, const char *path);

/* What became of a case: all of its trials. */
typedef enum opf_suite_verdict { OPF_SUITE_RIGHT, OPF_SUITE_FAILED, OPF_SUITE_EXCEPTED, OPF_SUITE_EXCEPTION_HOLDS } opf_suite_verdict;
opf_suite_verdict opf_suite_verdict_of(const opf_suite *suite, const opf_suite_case *of);

#endif
