/* Every group on the evaluator's own inputs: what a kernel gets wrong is seen at that kernel, and nowhere else. */
#ifndef OPF_CHECK_REPLAY_H
#define OPF_CHECK_REPLAY_H

#include "eval/eval.h"
#include "plan/program.h"
#include "run/session.h"

typedef enum opf_group_verdict {
    OPF_GROUP_EXACT,       /* the same bits as the evaluator */
    OPF_GROUP_WITHIN,      /* every element within its bound */
    OPF_GROUP_BEYOND,
    OPF_GROUP_UNBOUNDED,   /* differs, and no bound can be stated: positions or extremes that rounding decides, sums beyond the type, kernels without stages */
    OPF_GROUP_UNSEEN       /* the evaluator has no such value: a pass has made it, or an iteration beyond what it keeps */
} opf_group_verdict;
const char *opf_group_verdict_name(opf_group_verdict verdict);

/* One result of one step; of a step that runs several times the worst of them. */
typedef struct opf_group_check {
    int step;
    int64_t runs;
    const opf_group *group;    /* NULL for library steps */
    const opf_value *value;
    opf_group_verdict verdict;
    int64_t elements, beyond;  /* how many are beyond their bound */
    int64_t open;              /* how many differ where no finite bound can be stated */
    int64_t worst;             /* element furthest from its reference in units of its bound; -1: none differs */
    double got, expected, bound; /* there */
    double error, most;        /* largest error and largest finite bound of all elements */
    bool spreads;              /* a NaN may reach its neighbours (docs/numerics.md, Winograd) */
    const char *arithmetic;    /* of options.suspect: the way to compute that gives the program's numbers; NULL: none, or not asked for */
    const char *cause;         /* which mathematical property is behind the worst element; of what has no bound: why not. NULL where exact */
} opf_group_check;

typedef struct opf_replay {
    OPF_VEC(opf_group_check) checks; /* in the order of steps */
    double median_ratio, worst_ratio; /* bound over error of groups that differ within their bounds */
} opf_replay;

/* What of a program is looked at. */
typedef struct opf_replay_options {
    bool (*wanted)(void *data, const opf_step *step); /* NULL: every step */
    void *data;
    const char *suspect;       /* the operator that is at fault in what is beyond its bound: its arithmetic is looked for; NULL */
} opf_replay_options;

/* Runs the prepared program once; before each kernel the evaluator's values take the place of its inputs. `eval` keeps all
 * values of `graph`, which is the model as read. options: NULL for all of it. */
opf_status opf_check_replay(opf_replay *out, const opf_replay_options *options, opf_runner *runner, const opf_program *program, const opf_graph *graph, const opf_eval *eval, const void *const *inputs,
                            void *const *outputs, opf_arena *arena);
/* The table for people, and a line of counts. `all`: exact groups too. */
void opf_replay_print(const opf_replay *replay, bool all, opf_text *out);

#endif
