/* How far a group's result may be from what its stages mean in exact arithmetic: running error analysis, derived from the stages
 * themselves (docs/numerics.md, "Bounds"). */
#ifndef OPF_CHECK_BOUND_H
#define OPF_CHECK_BOUND_H

#include "fuse/fuse.h"

/* What a bound comes from, for words: the sums of magnitudes beside the sums themselves tell of cancellation. */
typedef struct opf_error_bound {
    opf_tensor **errors;       /* per result of the group: float32, the bound of each element; NULL where none can be stated */
    bool has_sum, has_approximation, has_rounding; /* a reduction; a transcendental function; a rounding to integers */
} opf_error_bound;

/* inputs[i]: tensor of stages.inputs[i], exact but for those with inexact[i] (constants that a pass has rounded anew).
 * winograd:
 * the stage whose sum goes by Winograd's products, -1 for none. symbols: by symbol index. Memory of `out` is the arena's. Problems of the evaluation are reported. */
opf_status opf_bound_group(opf_error_bound *out, const opf_group *group, opf_pool *pool, const opf_tensor *const *inputs, const bool *inexact, int winograd, const int64_t *symbols,
                           opf_arena *arena);

#endif
