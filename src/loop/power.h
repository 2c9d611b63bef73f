/* Powers of what cannot be above 0: e^(x - m), m the largest of the same x along some axes, as a softmax, a log-sum-exp and
 * attention have it. A shorter function gives the same bits there (prelude, opf_exp_below_f32). */
#ifndef OPF_LOOP_POWER_H
#define OPF_LOOP_POWER_H

#include "fuse/fuse.h"

/* The body of a stage of the group with such powers replaced. Loads name tensors as in the group. */
const opf_expr *opf_powers_below(opf_pool *pool, const opf_group *group, const opf_stage *stage, const opf_expr *body);

#endif
