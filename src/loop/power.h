/* Powers of what cannot be above 0: e^(x - m), m the largest of the same x along some axes, as a softmax, a log-sum-exp and
 * attention have it. And powers beside which a number from 1 up stands: 1 / (1 + e^-x), log(1 + e^x). Shorter functions give the same bits there
 * (prelude, opf_exp_below_f32, opf_exp_beside_f32). Powers that nothing but their sum and their quotients with it reads stay 2^24 times as large as
 * they are, as a quotient does not show it (opf_exp_raised_f32). */
#ifndef OPF_LOOP_POWER_H
#define OPF_LOOP_POWER_H

#include "fuse/fuse.h"

/* The body of a stage of the group, by its number, with such powers replaced. Loads name tensors as in the group. */
const opf_expr *opf_powers_below(opf_pool *pool, const opf_group *group, int number, const opf_expr *body);

#endif
