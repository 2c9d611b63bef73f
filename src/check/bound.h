/* How far a group's result may be from what its stages mean in exact arithmetic: running error analysis, derived from the stages
 * themselves (docs/numerics.md, "Bounds"). */
#ifndef OPF_CHECK_BOUND_H
#define OPF_CHECK_BOUND_H

#include "fuse/fuse.h"
#include "loop/nest.h"

typedef struct opf_error_bound {
    opf_tensor **errors;       /* per result of the group: float32, the bound of each element; NULL where none can be stated */
    opf_tensor **choices;      /* per result that is the position of an extreme, where several may be: for each element, a row each, the positions
                                  (int64) and NULL for all other results … */
    opf_tensor **candidates;   /* … and in the same order whether each may be that of the extreme (bool) */
} opf_error_bound;

/* May element `index` of result `result` be the position `got`? True where nothing but its bound is known of it. */
bool opf_bound_admits(const opf_error_bound *bound, int result, int64_t index, int64_t got);

/* What a schedule does in another way than its stages say. */
typedef struct opf_bound_schedule {
    int winograd;              /* stage whose sum goes by Winograd's products, -1 for none */
    int64_t rescaled_columns;  /* as of opf_nest: stage `rescaled` is computed relative to the largest of blocks so far; 0: none is */
    int rescaled;
} opf_bound_schedule;

/* inputs[i]: tensor of stages.inputs[i], exact but for those with inexact[i] (constants that a pass has rounded anew). anew[s]: so are
 * numbers that stand in stage s itself, where constants of one element are written out; NULL: nowhere.
 * symbols: by symbol index. Memory of `out` is the arena's. Problems of the evaluation are reported. */
opf_status opf_bound_group(opf_error_bound *out, const opf_group *group, opf_pool *pool, const opf_tensor *const *inputs, const bool *inexact, const bool *anew,
                           const opf_bound_schedule *schedule, const int64_t *symbols, opf_arena *arena);

/* How the nest sums. */
opf_bound_schedule opf_bound_schedule_of(const opf_nest *nest);

#endif
