/* What a group computes, as formulas. */
#ifndef OPF_REPORT_EXPRESSION_H
#define OPF_REPORT_EXPRESSION_H

#include "fuse/fuse.h"

/* A line for each result and each reduction: `p2[i0, i1] = max(p0[i0, i1]*p1[i1], 0.0)`; p0 … are the group's inputs and then
 * its results, as in its kernel; s0 … what is computed on the way. Everything that reduces nothing is written where it is
 * read, unless the line became too long. */
void opf_print_expression(const opf_group *group, opf_pool *pool, opf_text *out);

#endif
