/* Arithmetic of exact evaluation: every operation is computed in its operands' own type (types below float32 in float32, and then
 * rounded), functions by the prelude as it is under OPF_EXACT. Generated code does the same, so that the bits agree.
 * Private to src/eval. Cells hold numbers of the type as doubles. */
#ifndef OPF_EVAL_EXACT_H
#define OPF_EVAL_EXACT_H

#include "eval/lanes.h"

/* out[i] = op(a[i]) of `count` cells whose type is the floating type `dtype`. Comparisons give integers. */
void opf_exact_unary(opf_scalar_op op, opf_dtype dtype, union opf_cell *out, const union opf_cell *a, int count);
/* out[i] = op(a[i * step_a], b[i * step_b]); out may be a or b. */
void opf_exact_binary(opf_scalar_op op, opf_dtype dtype, union opf_cell *out, const union opf_cell *a, int step_a, const union opf_cell *b, int step_b, int count);

/* sum + a * b with both steps rounded to float32. The arguments hold float32 numbers, whose product is exact in double; a sum of
 * two of them rounded to double and then to float32 is the sum rounded to float32 (53 >= 2 * 24 + 2). */
static inline double opf_exact_multiply_add(double sum, double a, double b) { return (float)(sum + (double)(float)(a * b)); }

#endif
