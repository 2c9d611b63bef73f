/* Nodes that take each element times a number and add another, where these are constants along at most one axis: batch normalisation
 * with known statistics, sums and products with constants. */
#ifndef OPF_PASS_AFFINE_H
#define OPF_PASS_AFFINE_H

#include "pass/pass.h"

/* y = factor * x + shift, in double. */
typedef struct opf_affine {
    int input;                 /* of the node: x */
    int axis;                  /* along which the numbers run; -1: one for all */
    int64_t channels;          /* of that axis; 1 */
    double *factor, *shift;    /* one a channel (module's arena) */
    double *sizes;             /* one a channel: the magnitudes of all that adds up to `shift`, which may be less by cancellation */
    double cancels;            /* the greatest |factor * mean| of a batch normalisation over |scale| + |bias|: what y = factor * x + shift
                                  takes off again, and rounds by; 0 */
} opf_affine;

bool opf_affine_is_norm(const opf_node *node); /* a BatchNormalization, whatever its form */
/* NULL where the node is of this form, in float32 or float64; else a sentence why it is not. Node and inputs are typed. */
const char *opf_affine_read(opf_affine *out, const opf_node *node);
/* `first`, then `second`, as one; false where the axes differ or a number is not finite. */
bool opf_affine_chain(opf_affine *out, const opf_affine *first, const opf_affine *second, opf_arena *arena);
/* Nodes of this form, one behind the other, each the only reader of the one in front. */
typedef struct opf_affine_run {
    OPF_VEC(opf_node *) nodes;
    opf_affine whole;          /* all of them as one; input: of the first */
} opf_affine_run;
/* As many as there are from `first` on, which is one (opf_affine_read gave `of_first`); none that a user's kernel stands for. */
void opf_affine_gather(opf_affine_run *out, opf_node *first, const opf_affine *of_first);
/* What the model rounds in between where `nodes` nodes become one that computes the whole. The whole's shift is `shift`, of parts of `sizes`. */
opf_unrounded opf_affine_unrounded(int64_t channels, const double *shift, const double *sizes, opf_dtype dtype, size_t nodes);
/* Spreads numbers that hold for all over the channels of an axis. */
void opf_affine_spread(opf_affine *affine, int axis, int64_t channels, opf_arena *arena);

#endif
