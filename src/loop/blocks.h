/* Nests in blocks of rows. Private to src/loop: blocks.c, product.c, stream.c. */
#ifndef OPF_LOOP_BLOCKS_H
#define OPF_LOOP_BLOCKS_H

#include "fuse/masked.h"
#include "fuse/stream.h"
#include "loop/scheduler.h"

typedef struct opf_rows_nest {
    opf_scheduler *s;
    opf_root *root;
    const opf_block_plan *plan;
    int depth, row;               /* root loops outside of the rows' elements; the last of them */
    bool *product;                /* by stage: computed by the register tile */
    int *step, n_steps;           /* by stage, from 1: the step of a block that computes it; results belong to the last */
    int stream;                   /* the step that goes by blocks of columns; 0: none */
    int64_t columns;              /* of such a block */
    opf_dim *pitch;               /* by stage: elements from row to row of the block; NULL: it does not outlive its row */
    int64_t rows;                 /* of a block, at most */
    int number, begin, lane, count; /* variables: of the block, its first row, the row in it, how many it has */
    opf_axes units;               /* what the parts share: outer loops, blocks */
    opf_block_mask mask;          /* what is masked, whatever the values */
    int reach;                    /* variable: columns that a row of the block looks at; of a known mask */
    bool tiles_differ;            /* of the products that are there so far */
    int *copy;                    /* by stage: buffer that holds a copy of its second factor */
} opf_rows_nest;

/* Results of one domain as such a nest (positions in the group's results); false where they are none, with nothing emitted. */
bool opf_blocks_emit(opf_scheduler *s, int n_results, const int *results);

/* ---- product.c ---- */
/* The factors of a product as the statement reads them. */
typedef struct opf_block_factors { opf_run a, b; const opf_expr *a_pitch, *b_pitch; } opf_block_factors;

/* Is the item's term still a product of a factor with rows and one without? */
bool opf_block_product_fits(const opf_rows_nest *n, int stage);
/* Copies of operands, which outlive a unit, get their places in `block`. */
void opf_block_product_place(opf_rows_nest *n, opf_block *block, int stage);
/* Cycles of a depth step of the product for so many rows, by the tile that needs the fewest. */
double opf_block_product_cycles(const opf_rows_nest *n, const opf_item *item, int64_t rows);
/* Copies what is not read in place. */
opf_block_factors opf_block_product_factors(opf_rows_nest *n, opf_block *block, int stage);
/* The sums for all rows of the block into `buffer`, rows n->pitch[stage] apart. */
opf_code *opf_block_product(opf_rows_nest *n, opf_block *block, int stage, const opf_block_factors *factors, int buffer, const opf_expr *columns, const opf_expr *depth);

/* ---- stream.c ---- */
/* The stages of the stream, for the rows of the block. */
void opf_block_stream(opf_rows_nest *n, opf_block *block);

#endif
