/* Softmax in blocks of columns: rows of scores that are too long for a block of rows.
 *
 * Of stages P = e^(x - M), M the largest x of the row, and sums over the row that are linear in P, no more than a block of the
 * columns needs to exist at a time. The largest so far takes the place of M; where a block finds a larger one, the sums
 * so far are multiplied by e^(old - new) (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"). */
#ifndef OPF_FUSE_STREAM_H
#define OPF_FUSE_STREAM_H

#include "fuse/blocks.h"

enum { OPF_BLOCK_COLUMNS = 256 /* of a block, at most */ };

/* Marks the stages of the plan that work on a block of columns at a time; false where there are none such, with nothing marked. */
bool opf_blocks_stream(const opf_stages *stages, int n_results, opf_pool *pool, opf_block_plan *plan);

/* Bytes that one row leaves of the stage for later ones, at nominal sizes. */
double opf_block_row_bytes(const opf_stages *stages, const opf_block_plan *plan, const opf_block_stage *placed);

#endif
