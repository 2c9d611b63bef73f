/* A concrete tensor: type, shape and bytes. Weights are views of the mapped model file, wherever they stand in it. */
#ifndef OPF_IR_TENSOR_H
#define OPF_IR_TENSOR_H

#include <stdint.h>

#include "base/diag.h"
#include "expr/dtype.h"

enum { OPF_MAX_RANK = 16, OPF_LIST_BYTES = 16 /* of an opf_list */ };

/* Factors of a tensor of floating type that are applied whenever it is read, so that weights with another operator's
 * scale folded in stay views of the file: element i is data[i] * factors[i / group * channels + i / stride % channels],
 * computed in double and rounded once to the tensor's type. */
typedef struct opf_scaling {
    const double *factors;
    int64_t channels;      /* of the axis that the factors run over */
    int64_t stride;        /* of that axis */
    int64_t group;         /* elements of one group of channels with factors of its own; all where there is one */
} opf_scaling;

typedef struct opf_tensor {
    opf_dtype dtype;
    int rank;
    int64_t *dims;         /* rank entries, each >= 0 */
    int64_t elements;      /* product of dims */
    size_t bytes;          /* opf_dtype_bytes(dtype, elements); strings: elements * sizeof(char *) */
    /* Little endian, row-major; NULL only where bytes == 0. Strings: const char *const *. May stand at any address,
     * aligned for the type or not: read by memcpy, opf_dtype_load or what is declared below. */
    const void *data;
    const opf_scaling *scaling; /* of `data`; NULL: the elements as they stand there */
    bool is_list;          /* no tensor: data is one opf_list of the prelude, whose elements are of `dtype`; rank 0 */
    /* Where the bytes are, for weights that stay in the model's mapped files; file -1: other memory */
    int file;
    uint64_t offset;
} opf_tensor;

/* Shape checked (rank, signs, overflow); the data is the caller's. NULL and a reason in `*why` on failure. */
opf_tensor *opf_tensor_new(opf_arena *arena, opf_dtype dtype, int rank, const int64_t *dims, const void *data, const char **why);
/* Zeroed bytes of its own, aligned to 64, in the arena. */
opf_tensor *opf_tensor_zeros(opf_arena *arena, opf_dtype dtype, int rank, const int64_t *dims, const char **why);
/* Are the elements those at `data`, aligned for loads of their type? */
bool opf_tensor_is_plain(const opf_tensor *tensor);
/* A sequence or optional as a value: a copy of the opf_list at `list`, its elements where they are. */
opf_tensor *opf_tensor_of_list(opf_arena *arena, opf_dtype dtype, const void *list);
/* Writes all elements, tensor->bytes in all, scaled where they are to be. */
void opf_tensor_copy(const opf_tensor *tensor, void *out);
/* Lets the system take the pages of a mapped file that hold nothing but these bytes; reading brings them back. */
void opf_tensor_release(const opf_tensor *tensor);
double opf_tensor_get(const opf_tensor *tensor, int64_t index);
int64_t opf_tensor_get_int(const opf_tensor *tensor, int64_t index);

#endif
