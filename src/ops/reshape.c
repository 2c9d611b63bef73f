/* Views: Reshape, Flatten, Squeeze, Unsqueeze. The result holds the input's elements in the same order. */
#include "ops/families.h"
#include "ops/index.h"

/* ---- Reshape ---- */

/* The extent that -1 stands for: elements / known. Where that is no exact quotient of polynomials, a guard says that it
 * must be one of numbers. */
static opf_dim inferred(opf_call *call, opf_dim elements, opf_dim known) {
    if (opf_is_value(known, 0)) {
        opf_call_error(call, "shape", "-1 cannot be inferred beside an extent of 0");
        return known;
    }
    opf_dim quotient = opf_floordiv(call->pool, elements, known);
    opf_call_same(call, opf_mul(call->pool, quotient, known), elements, "the extents given must divide the number of elements");
    return quotient;
}

static opf_status build_reshape(opf_call *call) {
    const opf_expr *const *shape;
    int rank = opf_call_content(call, 1, &shape), in_rank = opf_call_rank(call, 0), unknown = -1;
    if (rank < 0) return OPF_ERROR_UNSUPPORTED;
    if (rank > OPF_MAX_RANK) return opf_call_error(call, "shape", "the shape has %d entries; at most %d are supported", rank, OPF_MAX_RANK);
    bool allow_zero = opf_node_int(call->node, "allowzero", 0) != 0;
    opf_dim extents[OPF_MAX_RANK], known = opf_call_int(call, 1), elements = opf_call_dim_product(call, 0, 0, in_rank);
    for (int k = 0; k < rank; k++) {
        int64_t value;
        extents[k] = shape[k];
        if (opf_is_int(shape[k], &value)) {
            if (value < -1) return opf_call_error(call, "shape", "the shape holds %lld", (long long)value);
            if (value == -1 && unknown >= 0) return opf_call_error(call, "shape", "the shape holds -1 twice");
            if (value == -1) {
                unknown = k;
                continue;
            }
            if (value == 0 && !allow_zero) {
                if (k >= in_rank) return opf_call_error(call, "shape", "the shape copies axis %d of an input of rank %d", k, in_rank);
                extents[k] = opf_call_dim(call, 0, k);
            }
        }
        known = opf_mul(call->pool, known, extents[k]);
    }
    if (unknown >= 0) extents[unknown] = inferred(call, elements, known);
    else opf_call_same(call, known, elements, "the numbers of elements of the input and of the shape");
    return opf_call_reshape(call, rank, extents);
}

static opf_status build_flatten(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    int64_t axis = opf_node_int(call->node, "axis", 1);
    if (axis < -rank || axis > rank) return opf_call_error(call, "shape", "axis %lld is outside a tensor of rank %d", (long long)axis, rank);
    int first = (int)(axis < 0 ? axis + rank : axis);
    return opf_call_reshape(call, 2, (opf_dim[]){opf_call_dim_product(call, 0, 0, first), opf_call_dim_product(call, 0, first, rank)});
}

/* ---- Squeeze, Unsqueeze: axes in an attribute before opset 13, in input 1 from then on ---- */

/* Without axes every axis of size 1 goes; an axis of unknown size stays, and a guard says that it is not 1. */
static opf_status squeeze_all(opf_call *call) {
    opf_dim extents[OPF_MAX_RANK];
    int rank = opf_call_rank(call, 0), kept = 0;
    for (int k = 0; k < rank; k++) {
        opf_dim dim = opf_call_dim(call, 0, k);
        if (opf_is_value(dim, 1)) continue;
        if (!opf_is_int(dim, NULL)) opf_call_require_ge(call, dim, opf_call_int(call, 2), "without axes, an axis of unknown size must not be 1");
        extents[kept++] = dim;
    }
    return opf_call_reshape(call, kept, extents);
}

static opf_status squeeze(opf_call *call, const char *attribute, int input) {
    int axes[OPF_MAX_RANK], rank = opf_call_rank(call, 0), count = opf_call_axes(call, attribute, input, rank, axes), kept = 0;
    if (count < 0) return squeeze_all(call);
    unsigned gone = 0;
    for (int k = 0; k < count; k++) {
        gone |= 1u << axes[k];
        opf_call_same(call, opf_call_dim(call, 0, axes[k]), opf_call_int(call, 1), "an axis that is squeezed must have size 1");
    }
    opf_dim extents[OPF_MAX_RANK];
    for (int k = 0; k < rank; k++)
        if (!(gone & 1u << k)) extents[kept++] = opf_call_dim(call, 0, k);
    return opf_call_reshape(call, kept, extents);
}

static opf_status unsqueeze(opf_call *call, const char *attribute, int input) {
    const int64_t *given;
    int rank = opf_call_rank(call, 0);
    int count = attribute ? opf_node_ints(call->node, attribute, &given) : opf_call_ints(call, input, &given);
    if (call->failed) return OPF_ERROR_UNSUPPORTED;
    if (count < 0) return opf_call_error(call, "attribute", "axes are missing");
    if (rank + count > OPF_MAX_RANK) return opf_call_error(call, "shape", "the result would have rank %d; at most %d is supported", rank + count, OPF_MAX_RANK);
    int axes[OPF_MAX_RANK];
    count = opf_call_axes(call, attribute, input, rank + count, axes);
    unsigned added = 0;
    for (int k = 0; k < count; k++) added |= 1u << axes[k];
    opf_dim extents[OPF_MAX_RANK];
    for (int k = 0, own = 0; k < rank + count; k++) extents[k] = added & 1u << k ? opf_call_int(call, 1) : opf_call_dim(call, 0, own++);
    return call->failed ? OPF_ERROR_INPUT : opf_call_reshape(call, rank + count, extents);
}

static opf_status build_squeeze_1(opf_call *call) { return squeeze(call, "axes", -1); }
static opf_status build_squeeze_13(opf_call *call) { return squeeze(call, NULL, 1); }
static opf_status build_unsqueeze_1(opf_call *call) { return unsqueeze(call, "axes", -1); }
static opf_status build_unsqueeze_13(opf_call *call) { return unsqueeze(call, NULL, 1); }

const opf_op opf_ops_reshape[] = {
    {"", "Reshape", 5, 2, 2, 1, OPF_KIND_INJECTIVE, OPF_OP_VIEW, build_reshape, NULL},
    {"", "Flatten", 1, 1, 1, 1, OPF_KIND_INJECTIVE, OPF_OP_VIEW, build_flatten, NULL},
    {"", "Squeeze", 1, 1, 1, 1, OPF_KIND_INJECTIVE, OPF_OP_VIEW, build_squeeze_1, NULL},
    {"", "Squeeze", 13, 1, 2, 1, OPF_KIND_INJECTIVE, OPF_OP_VIEW, build_squeeze_13, NULL},
    {"", "Unsqueeze", 1, 1, 1, 1, OPF_KIND_INJECTIVE, OPF_OP_VIEW, build_unsqueeze_1, NULL},
    {"", "Unsqueeze", 13, 2, 2, 1, OPF_KIND_INJECTIVE, OPF_OP_VIEW, build_unsqueeze_13, NULL},
    {"com.microsoft", "ExpandDims", 1, 2, 2, 1, OPF_KIND_INJECTIVE, OPF_OP_VIEW, build_unsqueeze_13, NULL},
};
const size_t opf_ops_reshape_count = OPF_COUNT(opf_ops_reshape);
