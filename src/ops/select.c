/* Selection by value: TopK, NonZero, Compress, Unique, NonMaxSuppression; and Det. */
#include "ops/content.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/library.h"

static opf_dim bytes_each(opf_call *call, opf_dim count, int64_t bytes) { return opf_mul(call->pool, count, opf_call_int(call, bytes)); }

/* ---- TopK ---- */

static opf_status top(opf_call *call, opf_dim k) {
    int rank = opf_call_rank(call, 0), axis = opf_call_axis(call, opf_node_int(call->node, "axis", -1), rank);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim dims[OPF_MAX_RANK];
    opf_call_dims(call, 0, dims);
    opf_call_library(call, "topk", 2, 2)->takes_memory = !k; /* it may fail */
    opf_library_int(call, axis);
    opf_library_int(call, opf_node_int(call->node, "largest", 1) != 0);
    opf_library_dim(call, k ? k : opf_call_int(call, -1));
    opf_library_scratch(call, bytes_each(call, dims[axis], 16));
    if (k) opf_call_require_ge(call, dims[axis], k, "k elements are taken from an axis");
    dims[axis] = k ? k : opf_library_count_symbol(call, "k", dims[axis]);
    opf_library_result(call, 0, opf_call_dtype(call, 0), rank, dims);
    opf_library_result(call, 1, OPF_INT64, rank, dims);
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

static opf_status build_topk(opf_call *call) {
    if (!opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the data")) return OPF_ERROR_INPUT;
    if (call->op->since < 10) {
        int64_t k = opf_node_int(call->node, "k", -1);
        return k < 0 ? opf_call_error(call, "attribute", "attribute 'k' is missing or negative") : top(call, opf_call_int(call, k));
    }
    if (!opf_value_content(opf_call_input(call, 1))) return top(call, NULL);
    const opf_expr *const *content;
    int count = opf_call_content(call, 1, &content);
    if (count == 1 && content[0]->kind == OPF_EXPR_INT && content[0]->integer < 0) return opf_call_error(call, "shape", "k is %lld", (long long)content[0]->integer);
    return count == 1 ? top(call, content[0]) : opf_call_error(call, "shape", "k must be one element and has %d", count);
}

/* ---- NonZero, Compress, Unique ---- */

static opf_status build_nonzero(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    opf_call_library(call, "nonzero", 1, 1)->reads_strings = true;
    opf_dim dims[] = {opf_call_int(call, rank), opf_library_count_symbol(call, "nonzero", opf_value_elements(opf_call_input(call, 0)))};
    opf_library_result(call, 0, OPF_INT64, 2, dims);
    return OPF_OK;
}

/* The axis that slices are taken along; -1 where the input is flat. */
static int axis_of_slices(opf_call *call) {
    if (!opf_node_attr(call->node, "axis")) return -1;
    return opf_call_axis(call, opf_node_int(call->node, "axis", 0), opf_call_rank(call, 0));
}

static opf_dim slices(opf_call *call, int axis) {
    return axis < 0 ? opf_value_elements(opf_call_input(call, 0)) : opf_call_dim(call, 0, axis);
}

/* The input's dims with `count` slices along the axis; flat: [count]. */
static void result_of_slices(opf_call *call, int axis, opf_dim count) {
    opf_dim dims[OPF_MAX_RANK];
    opf_call_dims(call, 0, dims);
    dims[axis < 0 ? 0 : axis] = count;
    opf_library_result(call, 0, opf_call_dtype(call, 0), axis < 0 ? 1 : opf_call_rank(call, 0), dims);
}

static opf_status build_compress(opf_call *call) {
    int axis = axis_of_slices(call);
    if (!opf_call_check_rank(call, 1, 1, 1, "the condition")) return OPF_ERROR_INPUT;
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_library(call, "compress", 2, 1)->reads_strings = true;
    opf_library_int(call, axis);
    result_of_slices(call, axis, opf_library_count_symbol(call, "compressed", opf_min(call->pool, slices(call, axis), opf_call_dim(call, 1, 0))));
    return OPF_OK;
}

static opf_status build_unique(opf_call *call) {
    int axis = axis_of_slices(call);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim given = slices(call, axis);
    opf_call_library(call, "unique", 1, 4)->reads_strings = true;
    opf_library_int(call, axis);
    opf_library_int(call, opf_node_int(call->node, "sorted", 1) != 0);
    opf_library_scratch(call, bytes_each(call, given, 24));
    opf_dim count = opf_library_count_symbol(call, "unique", given);
    result_of_slices(call, axis, count);
    opf_library_result(call, 1, OPF_INT64, 1, &count);
    opf_library_result(call, 2, OPF_INT64, 1, &given);
    opf_library_result(call, 3, OPF_INT64, 1, &count);
    return OPF_OK;
}

/* ---- NonMaxSuppression ---- */

static opf_status build_nms(opf_call *call) {
    if (!opf_call_check_rank(call, 0, 3, 3, "boxes") || !opf_call_check_rank(call, 1, 3, 3, "scores")) return OPF_ERROR_INPUT;
    opf_dim batches = opf_call_same(call, opf_call_dim(call, 0, 0), opf_call_dim(call, 1, 0), "batches of boxes and scores");
    opf_dim boxes = opf_call_same(call, opf_call_dim(call, 0, 1), opf_call_dim(call, 1, 2), "boxes and scores");
    opf_call_same(call, opf_call_dim(call, 0, 2), opf_call_int(call, 4), "coordinates of a box");
    if (opf_call_dtype(call, 0) != OPF_FLOAT32 || opf_call_dtype(call, 1) != OPF_FLOAT32)
        return opf_call_error(call, "unsupported", "boxes and scores must be float32");
    const opf_expr *most = opf_call_input(call, 2) ? opf_value_element(opf_call_input(call, 2), 0) : opf_call_int(call, 0);
    opf_dim each = most && most->kind == OPF_EXPR_INT && most->integer >= 0 ? opf_min(call->pool, boxes, most) : boxes;
    opf_call_library(call, "nms", 5, 1);
    opf_library_int(call, opf_node_int(call->node, "center_point_box", 0) != 0);
    opf_library_scratch(call, bytes_each(call, boxes, 24));
    opf_dim bound = opf_mul(call->pool, opf_mul(call->pool, batches, opf_call_dim(call, 1, 1)), each);
    opf_dim dims[] = {opf_library_count_symbol(call, "selected", bound), opf_call_int(call, 3)};
    opf_library_result(call, 0, OPF_INT64, 2, dims);
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

/* ---- Det ---- */

static opf_status build_det(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    if (!opf_call_check_rank(call, 0, 2, OPF_MAX_RANK, "the matrices")) return OPF_ERROR_INPUT;
    opf_dim dims[OPF_MAX_RANK], n = opf_call_same(call, opf_call_dim(call, 0, rank - 2), opf_call_dim(call, 0, rank - 1), "rows and columns of a square matrix");
    opf_call_dims(call, 0, dims);
    opf_call_library(call, "det", 1, 1);
    opf_library_scratch(call, bytes_each(call, opf_mul(call->pool, n, n), 8));
    opf_library_result(call, 0, opf_call_dtype(call, 0), rank - 2, dims);
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

const opf_op opf_ops_select[] = {
    {"", "TopK", 1, 1, 1, 2, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_topk, NULL},
    {"", "TopK", 10, 2, 2, 2, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_topk, NULL},
    {"", "NonZero", 9, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_nonzero, NULL},
    {"", "Compress", 9, 2, 2, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_compress, NULL},
    {"", "Unique", 11, 1, 1, 4, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_unique, NULL},
    {"", "NonMaxSuppression", 10, 2, 5, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_nms, NULL},
    {"", "Det", 11, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_det, NULL},
};
const size_t opf_ops_select_count = OPF_COUNT(opf_ops_select);
