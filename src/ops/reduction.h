/* Reductions over whole axes, for the families that are built from them. */
#ifndef OPF_OPS_REDUCTION_H
#define OPF_OPS_REDUCTION_H

#include "ops/build.h"

/* Which axes of a tensor are reduced, and the domain of the stage that does it: its plain axes, then the reduced ones. */
typedef struct opf_reduction {
    int rank;                                 /* of the tensor */
    int n_reduced, n_axes;                    /* n_axes: of the result */
    bool keep;                                /* reduced axes stay with extent 1 */
    bool reduced[OPF_MAX_RANK];
    opf_dim extents[2 * OPF_MAX_RANK];
    const opf_expr *index[OPF_MAX_RANK];      /* of the tensor, at a point of the domain */
} opf_reduction;

opf_reduction opf_reduction_over(opf_call *call, int tensor, int count, const int *axes, bool keep);
/* The tensor's element at the point of the domain. */
const opf_expr *opf_reduction_load(opf_call *call, const opf_reduction *reduction, int tensor);
/* A reducing stage; a plain one where no axis is reduced. `body` has type `accumulator`. */
int opf_reduction_stage(opf_call *call, const opf_reduction *reduction, const char *role, opf_combiner combiner, opf_dtype dtype,
                        opf_dtype accumulator, const opf_expr *body);
/* A stage's element at the tensor's own point v0 … v(rank-1); the stage has the reduction's result axes. */
const opf_expr *opf_reduction_spread(opf_call *call, const opf_reduction *reduction, int stage);
/* How many elements one result is made of. */
opf_dim opf_reduction_size(opf_call *call, const opf_reduction *reduction);

#endif
