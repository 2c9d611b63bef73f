/* Tensors made from sizes and numbers alone: Shape, Size, ConstantOfShape, Range, EyeLike. */
#include <math.h>

#include "ops/content.h"
#include "ops/families.h"
#include "ops/index.h"

static opf_status generated(opf_call *call, int rank, const opf_dim *extents, const opf_expr *body) {
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, body));
    return OPF_OK;
}

/* start and end, since opset 15, pick a part of the shape; they count from the end where negative and are clamped. */
static int shape_bound(const opf_call *call, const char *name, int otherwise) {
    int rank = opf_call_rank(call, 0);
    int64_t bound = opf_node_int(call->node, name, otherwise);
    if (bound < 0) bound += rank;
    return (int)(bound < 0 ? 0 : bound > rank ? rank : bound);
}

static opf_status build_shape(opf_call *call) {
    int start = shape_bound(call, "start", 0), end = shape_bound(call, "end", opf_call_rank(call, 0));
    int count = end > start ? end - start : 0;
    const opf_expr *body = count ? opf_call_dim(call, 0, end - 1) : opf_call_int(call, 0);
    for (int k = count - 2; k >= 0; k--) {
        const opf_expr *here = opf_binary(call->pool, OPF_OP_EQ, opf_call_var(call, 0), opf_call_int(call, k));
        body = opf_select(call->pool, here, opf_call_dim(call, 0, start + k), body);
    }
    opf_dim extent = opf_call_int(call, count);
    return generated(call, 1, &extent, body);
}

static opf_status build_size(opf_call *call) { return generated(call, 0, NULL, opf_call_dim_product(call, 0, 0, opf_call_rank(call, 0))); }

/* The element of a constant as an expression of its type. */
static const opf_expr *literal(opf_call *call, const opf_tensor *tensor, int64_t index) {
    if (opf_dtype_is_float(tensor->dtype)) return opf_real(call->pool, tensor->dtype, opf_tensor_get(tensor, index));
    return opf_int_of(call->pool, tensor->dtype, opf_tensor_get_int(tensor, index));
}

static opf_status build_constant_of_shape(opf_call *call) {
    const opf_expr *const *shape;
    int rank = opf_call_content(call, 0, &shape);
    if (rank < 0) return OPF_ERROR_UNSUPPORTED;
    if (rank > OPF_MAX_RANK) return opf_call_error(call, "shape", "the shape has %d entries; at most %d are supported", rank, OPF_MAX_RANK);
    for (int k = 0; k < rank; k++) opf_call_require_ge(call, shape[k], opf_call_int(call, 0), "the shape must not be negative");
    const opf_attr *value = opf_node_attr(call->node, "value");
    if (!value) return generated(call, rank, shape, opf_real(call->pool, OPF_FLOAT32, 0));
    if (value->kind != OPF_ATTR_TENSOR || value->tensors[0]->elements != 1 || value->tensors[0]->dtype == OPF_STRING)
        return opf_call_error(call, "attribute", "value must be a tensor of one number");
    return generated(call, rank, shape, literal(call, value->tensors[0], 0));
}

/* ---- Range ---- */

static bool real_of(const opf_expr *e, double *value) {
    int64_t integer;
    if (e->kind == OPF_EXPR_FLOAT) *value = e->real;
    else if (opf_is_int(e, &integer)) *value = (double)integer;
    else return false;
    return true;
}

/* The length of a range whose bounds are numbers; -1 where int64 has none such. */
static int64_t whole_length(int64_t start, int64_t limit, int64_t delta) {
    if (delta > 0 ? limit <= start : limit >= start) return 0;
    uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta, length = span / step + (span % step != 0);
    return length > INT64_MAX ? -1 : (int64_t)length;
}

/* max(ceil((limit - start) / delta), 0). NULL, reported, where it cannot be said before the model runs. */
static opf_dim range_length(opf_call *call, const opf_expr *const *bounds) {
    opf_pool *pool = call->pool;
    double start, limit, delta;
    if (!real_of(bounds[2], &delta)) {
        opf_call_error(call, "unsupported", "delta must be a constant");
        return NULL;
    }
    if (delta == 0 || isnan(delta)) {
        opf_call_error(call, "shape", "delta must not be 0");
        return NULL;
    }
    if (opf_dtype_is_float((opf_dtype)bounds[0]->dtype)) {
        if (!real_of(bounds[0], &start) || !real_of(bounds[1], &limit)) {
            opf_call_error(call, "unsupported", "start and limit of a floating range must be constants");
            return NULL;
        }
        double length = ceil((limit - start) / delta);
        if (isnan(length) || length > (double)INT32_MAX) {
            opf_call_error(call, "shape", "a range of %g elements is too long", length);
            return NULL;
        }
        return opf_call_int(call, length > 0 ? (int64_t)length : 0);
    }
    int64_t step = 0, first, last;
    opf_is_int(bounds[2], &step);
    if (opf_is_int(bounds[0], &first) && opf_is_int(bounds[1], &last)) {
        int64_t length = whole_length(first, last, step);
        if (length < 0) opf_call_error(call, "shape", "a range from %lld to %lld in steps of %lld is too long", (long long)first, (long long)last, (long long)step);
        return length < 0 ? NULL : opf_call_int(call, length);
    }
    const opf_expr *from = opf_call_convert(call, OPF_INT64, bounds[step > 0 ? 0 : 1]), *to = opf_call_convert(call, OPF_INT64, bounds[step > 0 ? 1 : 0]);
    const opf_expr *zero = opf_call_int(call, 0), *span = opf_sub(pool, to, from);
    if (!opf_call_proves_le(call, zero, span)) span = opf_max(pool, span, zero);
    return opf_ceildiv(pool, span, opf_call_int(call, step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step));
}

static opf_status build_range(opf_call *call) {
    const opf_expr *bounds[3];
    for (int k = 0; k < 3; k++) {
        const opf_value *value = opf_call_input(call, k);
        if (!value) { /* ONNX Runtime's own Range may leave delta out */
            bounds[k] = opf_number(call->pool, opf_call_dtype(call, 0), 1);
            continue;
        }
        if (!opf_call_check_same_type(call, 0, k)) return OPF_ERROR_INPUT;
        opf_call_same(call, opf_value_elements(value), opf_call_int(call, 1), "start, limit and delta are single elements");
        bounds[k] = opf_value_element(value, 0);
        if (!bounds[k]) return opf_call_unknown(call, k);
    }
    opf_dim length = range_length(call, bounds);
    if (!length || call->failed) return OPF_ERROR_INPUT;
    opf_dtype dtype = (opf_dtype)bounds[0]->dtype, compute = opf_call_compute(dtype);
    const opf_expr *position = opf_call_convert(call, compute, opf_call_var(call, 0));
    const opf_expr *distance = opf_binary(call->pool, OPF_OP_MUL, position, opf_call_convert(call, compute, bounds[2]));
    const opf_expr *body = opf_binary(call->pool, OPF_OP_ADD, opf_call_convert(call, compute, bounds[0]), distance);
    return generated(call, 1, &length, opf_call_convert(call, dtype, body));
}

static opf_status build_eye_like(opf_call *call) {
    if (!opf_call_check_rank(call, 0, 2, 2, "the input")) return OPF_ERROR_INPUT;
    int64_t dtype = opf_node_int(call->node, "dtype", opf_call_dtype(call, 0)), k = opf_node_int(call->node, "k", 0);
    bool valid = dtype > 0 && dtype <= INT32_MAX && opf_dtype_valid((int)dtype);
    if (!valid || !(opf_dtype_is_float((opf_dtype)dtype) || opf_dtype_is_integer((opf_dtype)dtype) || dtype == OPF_BOOL))
        return opf_call_error(call, "attribute", "dtype %lld is no numeric type", (long long)dtype);
    if (k < INT32_MIN || k > INT32_MAX) return opf_call_error(call, "attribute", "k is %lld", (long long)k);
    opf_dim extents[2];
    opf_call_dims(call, 0, extents);
    const opf_expr *diagonal = opf_add(call->pool, opf_call_var(call, 0), opf_call_int(call, k));
    const opf_expr *on = opf_binary(call->pool, OPF_OP_EQ, opf_call_var(call, 1), diagonal);
    const opf_expr *one = opf_number(call->pool, (opf_dtype)dtype, 1), *zero = opf_number(call->pool, (opf_dtype)dtype, 0);
    return generated(call, 2, extents, opf_select(call->pool, on, one, zero));
}

const opf_op opf_ops_generate[] = {
    {"", "Shape", 1, 1, 1, 1, OPF_KIND_OPAQUE, 0, build_shape, NULL},
    {"", "Size", 1, 1, 1, 1, OPF_KIND_OPAQUE, 0, build_size, NULL},
    {"", "ConstantOfShape", 9, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_constant_of_shape, NULL},
    {"", "Range", 11, 3, 3, 1, OPF_KIND_INJECTIVE, 0, build_range, NULL},
    {"com.microsoft", "Range", 1, 2, 3, 1, OPF_KIND_INJECTIVE, 0, build_range, NULL},
    {"", "EyeLike", 9, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_eye_like, NULL},
};
const size_t opf_ops_generate_count = OPF_COUNT(opf_ops_generate);
