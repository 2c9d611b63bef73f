/* Elements and slices that go where indices say: ScatterElements, ScatterND, MaxUnpool. */
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"
#include "ops/library.h"
#include "ops/window.h"

/* The kernel's number of the attribute `reduction`; -1, reported, where it is none of ONNX's. */
static int reduction_of(opf_call *call) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char *given = opf_node_string(call->node, "reduction", "none");
    for (int k = 0; k < (int)OPF_COUNT(names); k++)
        if (strcmp(given, names[k]) == 0) return k;
    opf_call_error(call, "attribute", "reduction '%s' is unknown", given);
    return -1;
}

static opf_status scatter(opf_call *call, const char *kernel, int axis) {
    int reduction = reduction_of(call);
    opf_dtype dtype = opf_call_dtype(call, 0);
    opf_call_check_integer(call, 1, "indices");
    opf_call_check_same_type(call, 0, 2);
    if (call->failed) return OPF_ERROR_INPUT;
    if (opf_dtype_bits(dtype) < 8 || (reduction && opf_dtype_is_float(dtype) && opf_dtype_bits(dtype) < 16))
        return opf_call_error(call, "unsupported", "%s of %s is not supported", call->node->op, opf_dtype_name(dtype));
    opf_dim dims[OPF_MAX_RANK];
    opf_call_dims(call, 0, dims);
    opf_call_library(call, kernel, 3, 1)->reads_strings = reduction == 0;
    opf_library_int(call, axis);
    opf_library_int(call, reduction);
    opf_library_result(call, 0, dtype, opf_call_rank(call, 0), dims);
    return OPF_OK;
}

static opf_status build_scatter_elements(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    if (!opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the data") || !opf_call_check_rank(call, 1, rank, rank, "the indices") ||
        !opf_call_check_rank(call, 2, rank, rank, "the updates"))
        return OPF_ERROR_INPUT;
    int axis = opf_call_axis(call, opf_node_int(call->node, "axis", 0), rank);
    for (int k = 0; k < rank && !call->failed; k++) {
        opf_call_same(call, opf_call_dim(call, 1, k), opf_call_dim(call, 2, k), "an axis of indices and updates");
        if (k != axis) opf_call_require_ge(call, opf_call_dim(call, 0, k), opf_call_dim(call, 1, k), "the indices have no more positions than the data");
    }
    return scatter(call, "scatter_elements", axis);
}

static opf_status build_scatter_nd(opf_call *call) {
    int rank = opf_call_rank(call, 0), tuples = opf_call_rank(call, 1) - 1;
    int64_t depth;
    if (!opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the data") || !opf_call_check_rank(call, 1, 1, OPF_MAX_RANK, "the indices")) return OPF_ERROR_INPUT;
    if (!opf_is_int(opf_call_dim(call, 1, tuples), &depth)) return opf_call_error(call, "unsupported", "the length of the index tuples must be known");
    if (depth < 1 || depth > rank) return opf_call_error(call, "shape", "index tuples of %lld numbers cannot index a tensor of rank %d", (long long)depth, rank);
    int updates = tuples + rank - (int)depth;
    if (!opf_call_check_rank(call, 2, updates, updates, "the updates")) return OPF_ERROR_INPUT;
    for (int k = 0; k < updates; k++)
        opf_call_same(call, opf_call_dim(call, 2, k), k < tuples ? opf_call_dim(call, 1, k) : opf_call_dim(call, 0, k - tuples + (int)depth), "an axis of the updates");
    return scatter(call, "scatter_nd", 0);
}

/* ---- MaxUnpool ---- */

/* Dims without output_shape: what a pool with these windows was made from. */
static bool unpooled_dims(opf_call *call, opf_dim *dims) {
    opf_window window;
    if (!opf_call_window(call, NULL, &window)) return false;
    for (int k = 0; k < window.n_axes; k++) {
        const opf_window_axis *axis = &window.axes[k];
        opf_dim padded = opf_add(call->pool, opf_mul(call->pool, opf_sub(call->pool, axis->input, opf_call_int(call, 1)), opf_call_int(call, axis->stride)), axis->reach);
        dims[2 + k] = opf_sub(call->pool, padded, opf_add(call->pool, axis->pad_begin, axis->pad_end));
    }
    return true;
}

/* Indices are flat positions in the tensor that was pooled. A larger output_shape surrounds that tensor at its ends. */
static opf_status build_max_unpool(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    opf_dim dims[OPF_MAX_RANK];
    if (!opf_call_check_rank(call, 0, 3, OPF_MAX_RANK, "the data") || !opf_call_check_rank(call, 1, rank, rank, "the indices")) return OPF_ERROR_INPUT;
    opf_call_dims(call, 0, dims);
    for (int k = 0; k < rank; k++) opf_call_same(call, dims[k], opf_call_dim(call, 1, k), "an axis of data and indices");
    opf_dim pooled[OPF_MAX_RANK];
    memcpy(pooled, dims, sizeof pooled);
    if (!unpooled_dims(call, pooled)) return OPF_ERROR_INPUT;
    memcpy(dims, pooled, sizeof dims);
    if (opf_call_input(call, 2)) {
        const opf_expr *const *content;
        int count = opf_call_content(call, 2, &content);
        if (count >= 0 && count != rank) return opf_call_error(call, "shape", "output_shape has %d elements for a tensor of rank %d", count, rank);
        for (int k = 0; k < count; k++) dims[k] = content[k];
    }
    if (call->failed) return OPF_ERROR_UNSUPPORTED;
    opf_call_library(call, "unpool", 2, 1);
    for (int k = 0; k < rank; k++) opf_library_dim(call, pooled[k]);
    opf_library_result(call, 0, opf_call_dtype(call, 0), rank, dims);
    return OPF_OK;
}

const opf_op opf_ops_scatter[] = {
    {"", "Scatter", 9, 3, 3, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_scatter_elements, NULL},
    {"", "ScatterElements", 11, 3, 3, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_scatter_elements, NULL},
    {"", "ScatterND", 11, 3, 3, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_scatter_nd, NULL},
    {"", "MaxUnpool", 9, 2, 3, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_max_unpool, NULL},
};
const size_t opf_ops_scatter_count = OPF_COUNT(opf_ops_scatter);
