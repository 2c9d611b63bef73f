/* A list of stages in blocks of rows: contractions by register tiles and row-wise work between them, in one nest.
 *
 * All stages share the nest's *outer* loops and one *row* loop, which is taken in blocks. Per block, each kept stage is
 * computed in order for all rows of the block: a *product* (a sum of products, one operand of which walks along the rows
 * and the other does not) by a register tile, anything else row by row. A kept stage's other axes are *free*: whole in the
 * block's scratch. Attention is the case scores (product), maximum, exponentials, sum (rows), values (product).
 *
 * The plan is made from the stages alone: fuse asks whether it is worthwhile, loop makes a nest of it. */
#ifndef OPF_FUSE_BLOCKS_H
#define OPF_FUSE_BLOCKS_H

#include "fuse/fuser.h"

enum { OPF_BLOCK_AXES = 2 * OPF_MAX_RANK };
enum { OPF_BLOCK_LEAST_ROWS = 8, OPF_BLOCK_ROWS = 32, OPF_BLOCK_STREAMED_ROWS = 64 }; /* of a block; the last where columns go by blocks too (stream.h) */

/* Where a kept stage stands in plans that stream (stream.h); all of them before, in others. */
typedef enum opf_block_part { OPF_BLOCK_BEFORE, OPF_BLOCK_STREAM, OPF_BLOCK_BEHIND } opf_block_part;

typedef struct opf_block_stage {
    int stage;                    /* position in the list */
    bool product;
    int axis[OPF_MAX_RANK];       /* per plain axis the variable that stands for it, -1: one element */
    int n_free, free[OPF_MAX_RANK], n_reduce, reduce[OPF_MAX_RANK]; /* variables, in the stage's order; units left out */
    opf_block_part part;
    int streamed;                 /* in the stream: the variable, free or reduced, of which a block exists at a time */
    const opf_expr *term, *second;/* over the plan's variables; loads name the list's inputs and kept stages */
} opf_block_stage;

/* Variable k has extents[k] and names[k]. */
typedef struct opf_block_plan {
    OPF_VEC(opf_dim) extents;
    OPF_VEC(const char *) names;
    int n_outer, outer[OPF_BLOCK_AXES];
    int row;
    int n_inner, inner[OPF_BLOCK_AXES]; /* what the results have besides */
    opf_block_stage **stages;     /* by stage; NULL: computed where it is read, or not needed */
    int power, largest;           /* stages e^(x - largest x) and the largest x, of plans that stream; -1 */
    const opf_expr **values;      /* by result, as `term` */
    const opf_expr *(*points)[OPF_MAX_RANK]; /* by result: its index on each axis */
} opf_block_plan;

/* `results`: stages that are stored. exact: no bit may change, so divisions stay where they stand and rows are whole. False where
 * the list is no such nest; all else is then undefined. */
bool opf_blocks_plan(const opf_stages *stages, int n_results, const int *results, bool exact, opf_pool *pool, opf_arena *arena, opf_block_plan *plan);

/* Rows of a block: as many as leave no more than `bytes` from one step to the next (`row_bytes` each), fewer where the threads would want
 * for blocks. `outer`: positions of the loops outside. */
int64_t opf_block_rows(bool streams, double bytes, double row_bytes, double rows, double outer);
/* What rows may leave of a core's own cache: an eighth of it. */
static inline double opf_block_bytes(double cache_bytes) { return cache_bytes / 8; }

typedef struct opf_block_verdict {
    opf_rule_number rule;         /* OPF_RULE_BLOCKS, or why not */
    const opf_node *blocker;
    int64_t bytes;                /* of the row that is too long; else those that are read once more for each block, in all */
} opf_block_verdict;

/* May the group, composed, be one nest in blocks of rows, and does that pay? */
opf_block_verdict opf_blocks_fit(const opf_group *group, const opf_rule_settings *settings, opf_pool *pool, opf_arena *scratch);

/* Is the sum of products one that a plan may hold? Windows are not. */
bool opf_stage_is_product(const opf_stage *stage, opf_pool *pool);

#endif
