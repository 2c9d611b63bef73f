/* Elements or slices of a tensor replaced by, or combined with, updates at indices; one after the other, in order. Indices
 * out of range touch nothing.
 *   opf_lib_scatter_elements  in: data, indices, updates; ints: axis, reduction
 *   opf_lib_scatter_nd        in: data, indices, updates; ints: 0, reduction
 *   opf_lib_unpool            in: X, indices; ints: the dims whose flat positions the indices are, each at most the
 *                             result's; the result is zero elsewhere
 * reduction: 0 none, 1 add, 2 mul, 3 max, 4 min. */
#ifndef OPF_LIB_SCATTER_H
#define OPF_LIB_SCATTER_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif

static inline double opf_lib_combine_real(int64_t reduction, double a, double b) {
    switch (reduction) {
    case 1: return a + b;
    case 2: return a * b;
    case 3: return opf_max_f64(a, b);
    default: return opf_min_f64(a, b);
    }
}
static inline int64_t opf_lib_combine_int(int dtype, int64_t reduction, int64_t a, int64_t b) {
    int less = dtype == OPF_LIB_U64 ? (uint64_t)a < (uint64_t)b : a < b;
    switch (reduction) {
    case 1: return dtype == OPF_LIB_BOOL ? a | b : (int64_t)((uint64_t)a + (uint64_t)b);
    case 2: return (int64_t)((uint64_t)a * (uint64_t)b);
    case 3: return less ? b : a;
    default: return less ? a : b;
    }
}

/* `count` elements from `i` of the result take, or are combined with, those from `j` of the updates. */
static inline void opf_lib_update(const opf_lib_tensor *to, int64_t i, const opf_lib_tensor *from, int64_t j, int64_t count, int64_t reduction) {
    if (!reduction) {
        opf_lib_copy(to, i, from, j, count);
        return;
    }
    if (opf_lib_is_float(to->dtype))
        for (int64_t k = 0; k < count; k++)
            opf_lib_set_real(to, i + k, opf_lib_combine_real(reduction, opf_lib_real(to, i + k), opf_lib_real(from, j + k)));
    else
        for (int64_t k = 0; k < count; k++)
            opf_lib_set_int(to, i + k, opf_lib_combine_int(to->dtype, reduction, opf_lib_int(to, i + k), opf_lib_int(from, j + k)));
}

static inline void opf_lib_scatter_elements(const opf_lib_args *a) {
    const opf_lib_tensor *data = &a->in[0], *indices = &a->in[1], *out = &a->out[0];
    int axis = (int)a->ints[0];
    int64_t count = opf_lib_elements(indices), inner = opf_lib_product(data->dims, axis + 1, data->rank);
    opf_lib_copy(out, 0, data, 0, opf_lib_elements(data));
    for (int64_t u = 0; u < count; u++) {
        int64_t index = opf_lib_index(opf_lib_int(indices, u), data->dims[axis]), at = 0, rest = u, stride = 1;
        if (index < 0) continue;
        for (int k = data->rank - 1; k >= 0; k--) {
            int64_t here = rest % indices->dims[k];
            rest /= indices->dims[k];
            at += (k == axis ? 0 : here) * stride;
            stride *= data->dims[k];
        }
        opf_lib_update(out, at + index * inner, &a->in[2], u, 1, a->ints[1]);
    }
}

static inline void opf_lib_scatter_nd(const opf_lib_args *a) {
    const opf_lib_tensor *data = &a->in[0], *indices = &a->in[1], *out = &a->out[0];
    int depth = (int)indices->dims[indices->rank - 1];
    int64_t tuples = opf_lib_product(indices->dims, 0, indices->rank - 1), slice = opf_lib_product(data->dims, depth, data->rank);
    opf_lib_copy(out, 0, data, 0, opf_lib_elements(data));
    for (int64_t u = 0; u < tuples; u++) {
        int64_t at = 0;
        for (int k = 0; k < depth && at >= 0; k++) {
            int64_t index = opf_lib_index(opf_lib_int(indices, u * depth + k), data->dims[k]);
            at = index < 0 ? -1 : at * data->dims[k] + index;
        }
        if (at >= 0) opf_lib_update(out, at * slice, &a->in[2], u * slice, slice, a->ints[1]);
    }
}

static inline void opf_lib_unpool(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0], *out = &a->out[0];
    int64_t count = opf_lib_elements(x), pooled = opf_lib_product(a->ints, 0, out->rank);
    memset(out->data, 0, (size_t)(opf_lib_elements(out) * opf_lib_size(out->dtype)));
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = opf_lib_int(&a->in[1], i), at = 0, stride = 1;
        if (rest < 0 || rest >= pooled) continue;
        for (int k = out->rank - 1; k >= 0; k--) {
            int64_t here = rest % a->ints[k];
            at = here < out->dims[k] && at >= 0 ? at + here * stride : -1;
            stride *= out->dims[k];
            rest /= a->ints[k];
        }
        if (at >= 0) opf_lib_copy(out, at, x, i, 1);
    }
}

#endif
