/* opfuse: what a kernel of your own gets (docs/patterns.md). opfuse puts this text in front of a kernel's file; include it yourself only
 * to compile the file alone.
 *
 *   static void swoosh(const opf_kernel_call *call, int part, int parts) { … }
 *
 * The kernel reads call->inputs, writes every element of call->outputs, and keeps nothing. Tensors are row-major and whole; their
 * sizes are those of the run at hand. It is called once, with part 0 of 1; a kernel that the pattern calls `parallel` is called for
 * each part 0 … parts-1, in any order or at once, and the parts together do the whole. */
#ifndef OPFUSE_KERNEL_H
#define OPFUSE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

typedef struct opf_kernel_tensor {
    void *data;          /* the type's own bytes: float16 as uint16_t, bool as one byte; inputs are not to be written */
    int dtype;           /* ONNX's TensorProto.DataType: 1 float, 6 int32, 7 int64, 9 bool, 10 float16 …; 0: an operand that is left out */
    int rank;
    const int64_t *dims;
} opf_kernel_tensor;

typedef struct opf_kernel_call {
    int n_inputs, n_outputs;
    const opf_kernel_tensor *inputs, *outputs;
    const double *parameters; /* in the pattern's order */
} opf_kernel_call;

static inline int64_t opf_kernel_elements(const opf_kernel_tensor *tensor) {
    int64_t n = 1;
    for (int k = 0; k < tensor->rank; k++) n *= tensor->dims[k];
    return n;
}

#endif
