/* Sparse tensors are read as dense ones: every element that is not listed is zero. */
#include <string.h>

#include "onnx/reader.h"
#include "schema.pb.h"

/* Position of listed element i among all, -1 where its index is out of range. Indices: [n] linear or [n, rank]. */
static int64_t position(const opf_tensor *dense, const opf_tensor *indices, int64_t i) {
    if (indices->rank == 1) {
        int64_t index = opf_tensor_get_int(indices, i);
        return index >= 0 && index < dense->elements ? index : -1;
    }
    int64_t linear = 0;
    for (int k = 0; k < dense->rank; k++) {
        int64_t index = opf_tensor_get_int(indices, i * dense->rank + k);
        if (index < 0 || index >= dense->dims[k]) return -1;
        linear = linear * dense->dims[k] + index;
    }
    return linear;
}

static bool fits(const opf_tensor *dense, const opf_tensor *values, const opf_tensor *indices) {
    if (values->rank != 1 || indices->dtype != OPF_INT64 || indices->rank < 1 || indices->rank > 2) return false;
    return indices->dims[0] == values->dims[0] && (indices->rank == 1 || indices->dims[1] == dense->rank);
}

static bool fill(opf_reader *reader, opf_tensor *dense, const opf_tensor *values, const opf_tensor *indices) {
    size_t width = (size_t)opf_dtype_bits(dense->dtype) / 8;
    for (int64_t i = 0; i < values->elements; i++) {
        int64_t at = position(dense, indices, i);
        if (at < 0) return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: index %lld of the sparse tensor is out of range", reader->what, (long long)i);
        memcpy((char *)dense->data + (size_t)at * width, (const char *)values->data + (size_t)i * width, width);
    }
    return true;
}

static opf_tensor *densify(opf_reader *reader, const opf_tensor *values, const opf_tensor *indices, const opf_spans *shape) {
    int64_t *dims;
    size_t rank;
    const char *why = "its dimensions are malformed";
    opf_tensor *dense = NULL;
    if (values->dtype == OPF_STRING || opf_dtype_bits(values->dtype) < 8) {
        opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "read", "%s is a sparse tensor of type %s, which opfuse does not read", reader->what, opf_dtype_name(values->dtype));
        return NULL;
    }
    if (opf_spans_varints(shape, &dims, &rank))
        dense = opf_tensor_new(reader->arena, values->dtype, rank > OPF_MAX_RANK ? OPF_MAX_RANK + 1 : (int)rank, dims, NULL, &why);
    if (!dense) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "shape", "%s has no possible shape: %s", reader->what, why);
        return NULL;
    }
    if (!fits(dense, values, indices)) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: values and indices of the sparse tensor do not fit together", reader->what);
        return NULL;
    }
    if (!opf_reader_spend(reader, dense->bytes)) return NULL;
    dense = opf_tensor_zeros(reader->arena, values->dtype, (int)rank, dims, &why);
    return fill(reader, dense, values, indices) ? dense : NULL;
}

opf_tensor *opf_read_sparse(opf_reader *reader, const opf_schema_SparseTensor *message, const char **name) {
    const opf_schema_Tensor *values = OPF_DECODE(reader, Tensor, opf_spans_last(&message->values), "sparse tensor");
    const opf_schema_Tensor *indices = OPF_DECODE(reader, Tensor, opf_spans_last(&message->indices), "sparse tensor");
    if (!values || !indices) return NULL;
    if (name) {
        *name = opf_reader_name(reader, opf_spans_last(&values->name), "name of a sparse initializer");
        if (!*name) return NULL;
        reader->what = opf_arena_printf(reader->scratch, "initializer '%s'", *name);
    }
    const opf_tensor *dense_values = opf_read_tensor(reader, values);
    const opf_tensor *dense_indices = dense_values ? opf_read_tensor(reader, indices) : NULL;
    return dense_indices ? densify(reader, dense_values, dense_indices, &message->dims) : NULL;
}
