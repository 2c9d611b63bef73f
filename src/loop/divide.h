/* Divisions by what varies along fewer axes than the dividend become products with a reciprocal, which is computed once for
 * many elements. Only where the reciprocal cannot overflow or become denormal when the quotient does not:
 *
 *   x / sqrt(d)      a square root lies between 4e-23 and 2e19 (or is 0, infinite or NaN, where both forms agree)
 *   exp / sum        of one softmax: the sum lies between 1 and the number of elements
 *
 * The rule looks at one operator's own stages alone, so that an operator computes the same bits fused and unfused. */
#ifndef OPF_LOOP_DIVIDE_H
#define OPF_LOOP_DIVIDE_H

#include "fuse/fuse.h"

/* The body of a stage of the group with such divisions replaced; as it is under --accuracy=exact. Loads name tensors as in the group. */
const opf_expr *opf_divisions_out(opf_pool *pool, const opf_group *group, const opf_stage *stage, const opf_expr *body);

#endif
