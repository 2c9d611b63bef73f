/* A concrete tensor: type, shape and bytes. Weights are views of the mapped model file. */
#ifndef OPF_IR_TENSOR_H
#define OPF_IR_TENSOR_H

#include <stdint.h>

#include "base/diag.h"
#include "expr/dtype.h"

enum { OPF_MAX_RANK = 16 };

typedef struct opf_tensor {
    opf_dtype dtype;
    int rank;
    int64_t *dims;         /* rank entries, each >= 0 */
    int64_t elements;      /* product of dims */
    size_t bytes;          /* opf_dtype_bytes(dtype, elements); strings: elements * sizeof(char *) */
    const void *data;      /* little endian, row-major; NULL only where bytes == 0. Strings: const char *const * */
    /* Where the bytes are, for weights that stay in the model's mapped files; file -1: memory of the arena */
    int file;
    uint64_t offset;
} opf_tensor;

/* Shape checked (rank, signs, overflow); the data is the caller's. NULL and a reason in `*why` on failure. */
opf_tensor *opf_tensor_new(opf_arena *arena, opf_dtype dtype, int rank, const int64_t *dims, const void *data, const char **why);
/* Zeroed bytes of its own, aligned to 64, in the arena. */
opf_tensor *opf_tensor_zeros(opf_arena *arena, opf_dtype dtype, int rank, const int64_t *dims, const char **why);
double opf_tensor_get(const opf_tensor *tensor, int64_t index);
int64_t opf_tensor_get_int(const opf_tensor *tensor, int64_t index);

#endif
