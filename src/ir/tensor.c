/* Concrete tensors. */
#include "ir/tensor.h"

#include <string.h>

#include "base/checked.h"
#include "base/file.h"
#include "base/memory.h"

enum { DATA_ALIGNMENT = 64 };

static const char *shape_problem(opf_dtype dtype, int rank, const int64_t *dims, int64_t *elements) {
    if (!opf_dtype_valid(dtype)) return "the element type is unknown";
    if (rank < 0 || rank > OPF_MAX_RANK) return "there are more than 16 dimensions";
    bool empty = false;
    int64_t product = 1;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) return "a dimension is negative";
        if (dims[i] == 0) empty = true;
        else if (!opf_checked_mul(product, dims[i], &product)) return "the number of elements overflows 64 bits";
    }
    /* Room for any element type and for offsets in bytes. */
    if (product > INT64_MAX / 16) return "the number of bytes overflows 64 bits";
    *elements = empty ? 0 : product;
    return NULL;
}

opf_tensor *opf_tensor_new(opf_arena *arena, opf_dtype dtype, int rank, const int64_t *dims, const void *data, const char **why) {
    int64_t elements = 0;
    const char *problem = shape_problem(dtype, rank, dims, &elements);
    if (problem) {
        if (why) *why = problem;
        return NULL;
    }
    opf_tensor *tensor = OPF_NEW(arena, opf_tensor);
    tensor->dtype = dtype;
    tensor->rank = rank;
    tensor->dims = OPF_ARRAY(arena, int64_t, rank);
    if (rank) memcpy(tensor->dims, dims, (size_t)rank * sizeof *dims);
    tensor->elements = elements;
    tensor->bytes = opf_dtype_bytes(dtype, (size_t)elements);
    tensor->data = data;
    tensor->file = -1;
    return tensor;
}

opf_tensor *opf_tensor_zeros(opf_arena *arena, opf_dtype dtype, int rank, const int64_t *dims, const char **why) {
    opf_tensor *tensor = opf_tensor_new(arena, dtype, rank, dims, NULL, why);
    if (!tensor || !tensor->bytes) return tensor;
    if (!opf_memory_fits(tensor->bytes)) {
        if (why) *why = "this machine has not enough memory for it";
        return NULL;
    }
    uintptr_t bytes = (uintptr_t)opf_arena_alloc(arena, tensor->bytes + DATA_ALIGNMENT);
    tensor->data = (void *)((bytes + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT);
    return tensor;
}

opf_tensor *opf_tensor_of_list(opf_arena *arena, opf_dtype dtype, const void *list) {
    opf_tensor *tensor = OPF_NEW(arena, opf_tensor);
    *tensor = (opf_tensor){.dtype = dtype, .elements = 1, .bytes = OPF_LIST_BYTES, .file = -1, .is_list = true};
    tensor->data = opf_arena_copy(arena, list, OPF_LIST_BYTES);
    return tensor;
}

static size_t alignment_of(opf_dtype dtype) {
    int bits = opf_dtype_bits(dtype);
    if (dtype == OPF_STRING) return _Alignof(char *);
    if (dtype == OPF_COMPLEX64 || dtype == OPF_COMPLEX128) bits /= 2;
    return bits > 8 ? (size_t)bits / 8 : 1;
}

bool opf_tensor_is_plain(const opf_tensor *tensor) { return !tensor->scaling && (uintptr_t)tensor->data % alignment_of(tensor->dtype) == 0; }

/* Elements first … first + count - 1, which share a factor; `from` may stand at any address. */
static void scale_floats(float *to, const unsigned char *from, int64_t first, int64_t count, double factor) {
    for (int64_t i = first; i < first + count; i++) {
        float value;
        memcpy(&value, from + (size_t)i * sizeof value, sizeof value);
        to[i] = (float)(factor * (double)value);
    }
}

static const double *factor_at(const opf_scaling *scaling, int64_t index) {
    return &scaling->factors[index / scaling->group * scaling->channels + index / scaling->stride % scaling->channels];
}

void opf_tensor_copy(const opf_tensor *tensor, void *out) {
    const opf_scaling *scaling = tensor->scaling;
    if (!tensor->bytes) return;
    if (!scaling) memcpy(out, tensor->data, tensor->bytes);
    else if (tensor->dtype != OPF_FLOAT32)
        for (int64_t i = 0; i < tensor->elements; i++) opf_dtype_store(tensor->dtype, out, (size_t)i, opf_tensor_get(tensor, i));
    else
        for (int64_t i = 0; i < tensor->elements; i += scaling->stride) scale_floats(out, tensor->data, i, scaling->stride, *factor_at(scaling, i));
}

void opf_tensor_release(const opf_tensor *tensor) {
    if (tensor->file >= 0) opf_file_release(tensor->data, tensor->bytes);
}

double opf_tensor_get(const opf_tensor *tensor, int64_t index) {
    double value = opf_dtype_load(tensor->dtype, tensor->data, (size_t)index);
    return tensor->scaling ? opf_dtype_round(tensor->dtype, value * *factor_at(tensor->scaling, index)) : value;
}

int64_t opf_tensor_get_int(const opf_tensor *tensor, int64_t index) {
    if (tensor->scaling) return opf_dtype_load_int(OPF_FLOAT64, &(double){opf_tensor_get(tensor, index)}, 0);
    return opf_dtype_load_int(tensor->dtype, tensor->data, (size_t)index);
}
