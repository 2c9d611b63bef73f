/* Matrix products over batches: what MatMul, Gemm and their quantised kin share. */
#ifndef OPF_OPS_PRODUCT_H
#define OPF_OPS_PRODUCT_H

#include "ops/index.h"

/* One operand of a product: the roles of its axes. */
typedef struct opf_operand {
    int tensor;
    int n_batch;
    int batch[OPF_MAX_RANK]; /* axes that both operands and the result share, outermost first */
    int kept;                /* the axis that the result keeps (m or n), -1 for a vector */
    int summed;              /* k */
    int zero_point;          /* input to subtract first, -1: none; one element, or one for each index of `kept` */
} opf_operand;

/* An operand as MatMul reads it: [batch…, m, k] on the left, [batch…, k, n] on the right, [k] for a vector. */
opf_operand opf_call_operand(const opf_call *call, int tensor, bool is_left);
/* The same, its last two axes swapped where attribute `trans` is set; where `trans_batch` is, the first axis stands behind
 * the batch. */
opf_operand opf_call_operand_as(const opf_call *call, int tensor, bool is_left, const char *trans, const char *trans_batch);
/* Appends stage "sum", [batch…, m, n] = sum over k of a * b in type `accumulator`; axes b (or b0, b1, …), m, n, k. Batch
 * axes broadcast. Returns the stage's tensor. */
int opf_call_product(opf_call *call, const opf_operand *a, const opf_operand *b, opf_dtype dtype, opf_dtype accumulator);

#endif
