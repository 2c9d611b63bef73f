/* Columns that no row of a block looks at: the blocks beyond the diagonal of causal attention.
 *
 * A softmax x = (unmasked ? scores : -inf), P = e^(x - largest x), sums of P times values. Where it is known that column c of row r is
 * masked for all c > r + ahead, rows up to r need scores up to column r + ahead only: the others are replaced by -inf and their
 * powers are 0, whatever they were. What sums of values lose is 0 times a value, which is 0 or, of a value that is not finite,
 * NaN (the sum's maker adds that); rows that are nothing but -inf, or hold a NaN, are NaN at every column, the first as well.
 *
 * Not known this way: a mask that is added, for scores that are NaN or infinite must come through; a large finite number in the place
 * of -inf, for unmasked scores may be smaller still. */
#ifndef OPF_FUSE_MASKED_H
#define OPF_FUSE_MASKED_H

#include "fuse/blocks.h"

typedef struct opf_block_mask {
    opf_dim ahead;   /* NULL: no such mask is known */
    int scores;      /* stage, a product of the plan whose columns from r + ahead + 1 on nobody looks at; -1: none */
    int sums;        /* stage, a product of the plan that sums powers times values over the columns; -1: none */
} opf_block_mask;

/* What is known of a plan's masks. `n_results`: as the plan was made with. Takes time where a mask is a constant: to be asked once. */
opf_block_mask opf_blocks_mask(const opf_stages *stages, int n_results, opf_pool *pool, const opf_block_plan *plan);

#endif
