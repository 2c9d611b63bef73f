/* A pool or a depth-wise convolution behind a contraction (a convolution and what follows it on its own elements), computed a few lines at a
 * time: the lines that a band of the pool's lines takes its windows from are computed into a part's scratch, and no more of them exists at once. */
#ifndef OPF_FUSE_POOLS_H
#define OPF_FUSE_POOLS_H

#include "ir/stage.h"

/* Stages of a group over [batch of 1, channel, line, column]. */
typedef struct opf_pooling {
    int sum;                   /* the contraction */
    int front;                 /* the last stage on its elements, the only one that the pool reads */
    int pool;                  /* the window; all stages behind it stand on its elements, the last is the result */
    bool *chain;               /* per stage: the sum, or on its elements and behind it up to `front` */
    int64_t stride, before;    /* a window's first line: line * stride - before */
    int64_t taps;              /* lines of a window */
    int64_t lines;             /* of the pool in a band; a divisor of all */
    int64_t bands;
    bool clipped;              /* windows reach beyond the contraction's lines */
    bool weighted;             /* the elements of a window have weights: a depth-wise convolution */
} opf_pooling;

/* False where the stages have another form, the result is not one, or sizes are not known. `chain` has an element a stage. */
bool opf_pooling_find(opf_pooling *out, const opf_stages *stages, int result, opf_pool *pool, bool *chain);
/* Lines of the contraction that a band needs. */
static inline int64_t opf_pooling_rows(const opf_pooling *p) { return (p->lines - 1) * p->stride + p->taps; }

#endif
