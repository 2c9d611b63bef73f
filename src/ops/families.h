/* The families of operators that are written as build functions, one line each. The family's file, <name>.c, defines
 *
 *   const opf_op opf_ops_<name>[] = { {"", "Conv", 1, 2, 3, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_conv, NULL}, … };
 *   const size_t opf_ops_<name>_count = OPF_COUNT(opf_ops_<name>);
 *
 * and nothing else is needed: the registry sorts all entries, and an operator is found by domain, name and the highest
 * `since` that is not above the model's opset. Scalar operators stand in scalar.ops instead. */
#ifndef OPF_OPS_FAMILIES_H
#define OPF_OPS_FAMILIES_H

#include "ops/op.h"

#define OPF_OP_FAMILIES(X)                                                                                             \
    X(special)                                                                                                         \
    X(quantize)                                                                                                        \
    X(reduce)                                                                                                          \
    X(norm)                                                                                                            \
    X(matmul)                                                                                                          \
    X(conv)                                                                                                            \
    X(pool)                                                                                                            \
    X(reshape)                                                                                                         \
    X(arrange)                                                                                                         \
    X(slice)                                                                                                           \
    X(pad)                                                                                                             \
    X(gather)                                                                                                          \
    X(random)                                                                                                          \
    X(generate)                                                                                                        \
    X(resize)                                                                                                          \
    X(attention)                                                                                                       \
    X(rotary)                                                                                                          \
    X(state)                                                                                                           \
    X(sample)                                                                                                          \
    X(roi)                                                                                                             \
    X(blocks)                                                                                                          \
    X(spectral)                                                                                                        \
    X(attention_contrib)                                                                                               \
    X(qlinear_contrib)                                                                                                 \
    X(ml)                                                                                                              \
    X(ngrams)                                                                                                          \
    X(einsum)                                                                                                          \
    X(select)                                                                                                          \
    X(scatter)                                                                                                          \
    X(recurrent)                                                                                                       \
    X(trees)                                                                                                           \
    X(control)                                                                                                         \
    X(scan)                                                                                                            \
    X(qlinear)                                                                                                         \
    X(svm)                                                                                                             \
    X(text)                                                                                                            \
    X(sequence)                                                                                                        \
    X(loss)                                                                                                            \
    X(optimizer)

#define OPF_DECLARE_FAMILY(name)                                                                                       \
    extern const opf_op opf_ops_##name[];                                                                              \
    extern const size_t opf_ops_##name##_count;
OPF_OP_FAMILIES(OPF_DECLARE_FAMILY)
#undef OPF_DECLARE_FAMILY

/* The entries that scalar.ops describes. */
const opf_op *opf_scalar_entry(size_t index); /* NULL beyond the last */

#endif
