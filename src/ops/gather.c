/* Elements picked by an index tensor: Gather, GatherElements, GatherND, OneHot, ArrayFeatureExtractor.
 *
 * A negative index counts from the end. Indices that are constants are checked here and read as they are. Others are
 * clamped into the axis, so that generated code and the evaluator never read outside the tensor: an index that ONNX
 * calls an error takes the nearest element. */
#include <string.h>

#include "expr/node.h"
#include "ops/content.h"
#include "ops/families.h"
#include "ops/index.h"

/* Smallest and largest of elements first, first + stride, … of a constant. */
typedef struct index_range { int64_t low, high; } index_range;

static index_range range_of(const opf_tensor *tensor, int64_t first, int64_t stride) {
    index_range range = {INT64_MAX, INT64_MIN};
    for (int64_t k = first; k < tensor->elements; k += stride) {
        int64_t value = opf_tensor_get_int(tensor, k);
        if (value < range.low) range.low = value;
        if (value > range.high) range.high = value;
    }
    return range;
}

/* `index` into an axis whose elements are known to lie in `range`: checked, and wrapped where some are negative. */
static const opf_expr *known_index(opf_call *call, const opf_expr *index, index_range range, opf_dim extent) {
    if (range.low > range.high) return index; /* no elements */
    if (range.high >= 0) opf_call_require_ge_always(call, extent, opf_call_int(call, range.high < INT64_MAX ? range.high + 1 : range.high), "an index is beyond the axis");
    if (range.low >= 0) return index;
    opf_call_require_ge_always(call, extent, opf_call_int(call, range.low == INT64_MIN ? INT64_MAX : -range.low), "a negative index is before the axis");
    const opf_expr *wrapped = opf_add(call->pool, index, extent);
    if (range.high < 0) return wrapped;
    return opf_select(call->pool, opf_call_less(call, index, opf_call_int(call, 0)), wrapped, index);
}

/* Numbers that are cast from a narrower type keep its range. */
static index_range range_of_type(const opf_value *value) {
    const opf_node *producer = value->producer;
    bool widened = producer && strcmp(producer->op, "Cast") == 0 && producer->domain[0] == 0 && producer->inputs[0]->dtype != OPF_BOOL &&
                   opf_dtype_is_integer(producer->inputs[0]->dtype) && opf_dtype_bits(producer->inputs[0]->dtype) < opf_dtype_bits(value->dtype);
    opf_dtype dtype = widened ? producer->inputs[0]->dtype : value->dtype;
    index_range range = {INT64_MIN, INT64_MAX};
    if (opf_dtype_bits(dtype) < 64) opf_dtype_range(dtype, &range.low, &range.high);
    return range;
}

/* The element of index tensor `input` at `at`, as a position in an axis of `extent`. Elements first, first + stride, … of
 * the tensor are those that `at` can reach. */
static const opf_expr *position(opf_call *call, int input, const opf_expr *const *at, opf_dim extent, int64_t first, int64_t stride) {
    const opf_value *value = opf_call_input(call, input);
    const opf_expr *zero = opf_call_int(call, 0);
    opf_dim elements = opf_value_elements(value);
    const opf_expr *index = opf_is_value(elements, 1) ? opf_value_element(value, 0) : NULL;
    index = opf_call_convert(call, OPF_INT64, index ? index : opf_call_load(call, input, at));
    int64_t constant;
    if (opf_is_int(index, &constant)) return known_index(call, index, (index_range){constant, constant}, extent);
    if (value->constant) return known_index(call, index, range_of(value->constant, first, stride), extent);
    opf_call_require_ge_always(call, extent, opf_min(call->pool, elements, opf_call_int(call, 1)), "nothing can be picked from an axis without elements");
    index_range range = range_of_type(value);
    int64_t size;
    if (opf_is_int(extent, &size) && range.high < size && range.low >= -size) return known_index(call, index, range, extent); /* none is outside */
    const opf_expr *wrapped = index;
    if (opf_expr_has_load(index) || !opf_call_proves_le(call, zero, index))
        wrapped = opf_select(call->pool, opf_call_less(call, index, zero), opf_add(call->pool, index, extent), index);
    return opf_call_clamp(call, wrapped, extent);
}

static opf_status gathered(opf_call *call, int rank, const opf_dim *extents, const opf_expr *const *indices) {
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, opf_call_load(call, 0, indices)));
    return OPF_OK;
}

static opf_status gather(opf_call *call, int axis) {
    int rank = opf_call_rank(call, 0), own = opf_call_rank(call, 1), result = rank - 1 + own;
    if (!opf_call_check_integer(call, 1, "indices") || call->failed) return OPF_ERROR_INPUT;
    if (result > OPF_MAX_RANK) return opf_call_error(call, "shape", "the result would have rank %d; at most %d is supported", result, OPF_MAX_RANK);
    opf_dim extents[OPF_MAX_RANK];
    const opf_expr *indices[OPF_MAX_RANK], *at[OPF_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        int to = k < axis ? k : k - 1 + own;
        if (k == axis) continue;
        extents[to] = opf_call_dim(call, 0, k);
        indices[k] = opf_call_var(call, to);
    }
    for (int k = 0; k < own; k++) extents[axis + k] = opf_call_dim(call, 1, k);
    opf_call_vars(call, axis, own, at);
    indices[axis] = position(call, 1, at, opf_call_dim(call, 0, axis), 0, 1);
    return gathered(call, result, extents, indices);
}

static opf_status build_gather(opf_call *call) {
    if (!opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the data")) return OPF_ERROR_INPUT;
    return gather(call, opf_call_axis(call, opf_node_int(call->node, "axis", 0), opf_call_rank(call, 0)));
}

static opf_status build_gather_elements(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    if (!opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the data") || !opf_call_check_rank(call, 1, rank, rank, "indices") || !opf_call_check_integer(call, 1, "indices"))
        return OPF_ERROR_INPUT;
    int axis = opf_call_axis(call, opf_node_int(call->node, "axis", 0), rank);
    opf_dim extents[OPF_MAX_RANK];
    const opf_expr *indices[OPF_MAX_RANK], *at[OPF_MAX_RANK];
    opf_call_dims(call, 1, extents);
    opf_call_vars(call, 0, rank, indices);
    opf_call_vars(call, 0, rank, at);
    for (int k = 0; k < rank; k++)
        if (k != axis) opf_call_require_ge(call, opf_call_dim(call, 0, k), extents[k], "indices may not exceed the data along the other axes");
    indices[axis] = position(call, 1, at, opf_call_dim(call, 0, axis), 0, 1);
    return gathered(call, rank, extents, indices);
}

/* indices [batch…, rows…, depth]: each row of `depth` numbers names an element or a sub-tensor of data. */
static opf_status build_gather_nd(opf_call *call) {
    int rank = opf_call_rank(call, 0), own = opf_call_rank(call, 1);
    int64_t batch = opf_node_int(call->node, "batch_dims", 0), depth;
    if (!opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the data") || !opf_call_check_rank(call, 1, 1, OPF_MAX_RANK, "indices") || !opf_call_check_integer(call, 1, "indices"))
        return OPF_ERROR_INPUT;
    if (!opf_is_int(opf_call_dim(call, 1, own - 1), &depth)) return opf_call_error(call, "unsupported", "the last axis of indices must have a constant size");
    if (batch < 0 || batch >= own || depth < 1 || depth > rank - batch)
        return opf_call_error(call, "shape", "batch_dims %lld and indices of %lld numbers do not fit data of rank %d", (long long)batch, (long long)depth, rank);
    int named = (int)(batch + depth), result = own - 1 + rank - named;
    if (result > OPF_MAX_RANK) return opf_call_error(call, "shape", "the result would have rank %d; at most %d is supported", result, OPF_MAX_RANK);
    opf_dim extents[OPF_MAX_RANK];
    const opf_expr *indices[OPF_MAX_RANK], *at[OPF_MAX_RANK];
    opf_call_vars(call, 0, own - 1, at);
    for (int k = 0; k < own - 1; k++) extents[k] = opf_call_dim(call, 1, k);
    for (int k = 0; k < batch; k++) {
        extents[k] = opf_call_same(call, opf_call_dim(call, 0, k), extents[k], "data and indices share the batch axes");
        indices[k] = opf_call_var(call, k);
    }
    for (int k = 0; k < depth; k++) {
        at[own - 1] = opf_call_int(call, k);
        indices[batch + k] = position(call, 1, at, opf_call_dim(call, 0, (int)batch + k), k, depth);
    }
    for (int k = named; k < rank; k++) {
        extents[own - 1 + k - named] = opf_call_dim(call, 0, k);
        indices[k] = opf_call_var(call, own - 1 + k - named);
    }
    return gathered(call, result, extents, indices);
}

/* ai.onnx.ml: columns of the last axis, named by all elements of the indices in order; a vector counts as one row. */
static opf_status build_array_feature_extractor(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    if (!opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the input") || !opf_call_check_integer(call, 1, "the indices")) return OPF_ERROR_INPUT;
    opf_dim extents[OPF_MAX_RANK], stride = opf_call_int(call, 1);
    int result = rank == 1 ? 2 : rank, own = opf_call_rank(call, 1);
    const opf_expr *indices[OPF_MAX_RANK], *at[OPF_MAX_RANK], *column = opf_call_var(call, result - 1);
    if (rank == 1) extents[0] = opf_call_int(call, 1);
    else opf_call_dims(call, 0, extents);
    extents[result - 1] = opf_value_elements(opf_call_input(call, 1));
    opf_call_vars(call, 0, rank, indices);
    for (int k = own - 1; k >= 0; k--) {
        opf_dim extent = opf_call_dim(call, 1, k);
        at[k] = opf_floormod(call->pool, opf_floordiv(call->pool, column, stride), extent);
        at[k] = opf_expr_simplify(call->pool, at[k], (opf_domain){result, extents});
        stride = opf_mul(call->pool, stride, extent);
    }
    indices[rank - 1] = position(call, 1, at, opf_call_dim(call, 0, rank - 1), 0, 1);
    return gathered(call, result, extents, indices);
}

/* ---- OneHot ---- */

/* depth may be of any numeric type, a scalar or of one element. */
static opf_dim one_hot_depth(opf_call *call) {
    const opf_expr *const *depth;
    int count = opf_call_content(call, 1, &depth);
    if (count == 1) return depth[0];
    if (count >= 0) opf_call_error(call, "shape", "depth must be one element and has %d", count);
    return opf_call_int(call, 0);
}

static opf_status build_one_hot(opf_call *call) {
    int own = opf_call_rank(call, 0), rank = own + 1;
    if (!opf_call_check_rank(call, 0, 0, OPF_MAX_RANK - 1, "indices") || !opf_call_check_rank(call, 2, 1, 1, "values")) return OPF_ERROR_INPUT;
    opf_dim depth = one_hot_depth(call);
    int axis = opf_call_axis(call, opf_node_int(call->node, "axis", -1), rank);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_require_ge(call, depth, opf_call_int(call, 1), "depth must be at least 1");
    opf_call_same(call, opf_call_dim(call, 2, 0), opf_call_int(call, 2), "values holds the off and the on value");
    opf_dim extents[OPF_MAX_RANK];
    const opf_expr *at[OPF_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        if (k != axis) at[k < axis ? k : k - 1] = opf_call_var(call, k);
        extents[k] = k == axis ? depth : opf_call_dim(call, 0, k < axis ? k : k - 1);
    }
    const opf_expr *zero = opf_call_int(call, 0), *index = opf_call_convert(call, OPF_INT64, opf_call_load(call, 0, at));
    index = opf_select(call->pool, opf_call_less(call, index, zero), opf_add(call->pool, index, depth), index);
    const opf_expr *one = opf_call_int(call, 1), *hot = opf_binary(call->pool, OPF_OP_EQ, index, opf_call_var(call, axis));
    const opf_expr *body = opf_select(call->pool, hot, opf_call_load(call, 2, &one), opf_call_load(call, 2, &zero));
    if (!call->failed) opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, body));
    return OPF_OK;
}

const opf_op opf_ops_gather[] = {
    {"", "Gather", 1, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_gather, NULL},
    {"", "GatherElements", 11, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_gather_elements, NULL},
    {"", "GatherND", 11, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_gather_nd, NULL},
    {"com.microsoft", "GatherND", 1, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_gather_nd, NULL},
    {"", "OneHot", 9, 3, 3, 1, OPF_KIND_INJECTIVE, 0, build_one_hot, NULL},
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_array_feature_extractor, NULL},
};
const size_t opf_ops_gather_count = OPF_COUNT(opf_ops_gather);
