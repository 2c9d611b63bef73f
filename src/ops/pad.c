/* Pad and CenterCropPad: the input inside a larger or smaller frame.
 *
 * The frame's border is a predicate on the index, so that loops split there. edge, reflect and wrap choose another index of
 * the input; where a pad may exceed what one reflection or turn covers, the index is taken modulo the period instead. */
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"

typedef enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP } pad_mode;

typedef struct padding {
    pad_mode mode;
    opf_dim begin[OPF_MAX_RANK], end[OPF_MAX_RANK]; /* negative: cut off */
} padding;

static bool read_mode(opf_call *call, pad_mode *out) {
    static const char *const names[] = {[PAD_CONSTANT] = "constant", [PAD_EDGE] = "edge", [PAD_REFLECT] = "reflect", [PAD_WRAP] = "wrap"};
    const char *name = opf_node_string(call->node, "mode", "constant");
    for (size_t k = 0; k < OPF_COUNT(names); k++) {
        if (strcmp(names[k], name) != 0) continue;
        *out = (pad_mode)k;
        return true;
    }
    opf_call_error(call, "attribute", "mode '%s' is none of constant, edge, reflect and wrap", name);
    return false;
}

/* Does no pad exceed `most`, so that one reflection or turn is enough? Constant pads of an axis of unknown size must not. */
static bool turns_once(opf_call *call, const padding *pads, int axis, opf_dim most) {
    opf_dim begin = pads->begin[axis], end = pads->end[axis];
    if (opf_call_proves_le(call, begin, most) && opf_call_proves_le(call, end, most)) return true;
    if (opf_is_int(most, NULL) || !opf_is_int(begin, NULL) || !opf_is_int(end, NULL)) return false;
    opf_call_require_ge(call, most, opf_max(call->pool, begin, end), "the axis is too short for its padding");
    return true;
}

/* Index along one axis for position v of the result, v - begin of the input. The sides that need no care are those where
 * nothing is added. Constant mode: *inside says whether the element exists. */
static const opf_expr *axis_index(opf_call *call, const padding *pads, int axis, opf_dim extent, const opf_expr **inside) {
    opf_pool *pool = call->pool;
    const opf_expr *zero = opf_call_int(call, 0), *one = opf_call_int(call, 1);
    const opf_expr *index = opf_sub(pool, opf_call_var(call, axis), pads->begin[axis]), *last = opf_sub(pool, extent, one);
    bool low = !opf_call_proves_le(call, pads->begin[axis], zero), high = !opf_call_proves_le(call, pads->end[axis], zero);
    if (!low && !high) return index;
    if (pads->mode == PAD_CONSTANT) {
        if (low) *inside = opf_call_and(call, *inside, opf_call_at_most(call, zero, index));
        if (high) *inside = opf_call_and(call, *inside, opf_call_less(call, index, extent));
        return index;
    }
    opf_call_require_ge_always(call, extent, one, "an axis without elements can only be padded with a constant");
    if (pads->mode == PAD_EDGE) {
        if (low) index = opf_max(pool, index, zero);
        return high ? opf_min(pool, index, last) : index;
    }
    bool reflects = pads->mode == PAD_REFLECT;
    opf_dim most = reflects ? last : extent;
    if (turns_once(call, pads, axis, most)) {
        const opf_expr *beyond = reflects ? opf_sub(pool, opf_mul(pool, last, opf_call_int(call, 2)), index) : opf_sub(pool, index, extent);
        const opf_expr *inner = high ? opf_select(pool, opf_call_less(call, index, extent), index, beyond) : index;
        const opf_expr *before = reflects ? opf_sub(pool, zero, index) : opf_add(pool, index, extent);
        return low ? opf_select(pool, opf_call_less(call, index, zero), before, inner) : inner;
    }
    if (!reflects) return opf_floormod(pool, index, extent);
    opf_dim period = opf_max(pool, opf_mul(pool, last, opf_call_int(call, 2)), one);
    const opf_expr *turned = opf_floormod(pool, index, period);
    return opf_min(pool, turned, opf_sub(pool, period, turned));
}

static opf_status padded(opf_call *call, const padding *pads, const opf_expr *fill) {
    int rank = opf_call_rank(call, 0);
    opf_dim extents[OPF_MAX_RANK];
    const opf_expr *indices[OPF_MAX_RANK], *inside = NULL;
    for (int k = 0; k < rank; k++) {
        opf_dim own = opf_call_dim(call, 0, k);
        extents[k] = opf_add(call->pool, opf_add(call->pool, own, pads->begin[k]), pads->end[k]);
        opf_call_require_ge(call, extents[k], opf_call_int(call, 0), "the axis with its pads must have a size of at least 0");
        indices[k] = axis_index(call, pads, k, own, &inside);
    }
    if (call->failed) return OPF_ERROR_INPUT;
    const opf_expr *element = opf_call_load(call, 0, indices);
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, opf_call_choose(call, inside, element, fill)));
    return OPF_OK;
}

static opf_status build_pad_2(opf_call *call) {
    padding pads;
    const int64_t *given;
    int rank = opf_call_rank(call, 0), count = opf_node_ints(call->node, "pads", &given);
    if (!read_mode(call, &pads.mode)) return OPF_ERROR_INPUT;
    if (count != 2 * rank) return opf_call_error(call, "attribute", "pads has %d entries for an input of rank %d", count < 0 ? 0 : count, rank);
    for (int k = 0; k < rank; k++) {
        pads.begin[k] = opf_call_int(call, given[k]);
        pads.end[k] = opf_call_int(call, given[rank + k]);
    }
    return padded(call, &pads, opf_number(call->pool, opf_call_dtype(call, 0), opf_node_float(call->node, "value", 0)));
}

static opf_status build_pad_11(opf_call *call) {
    padding pads;
    const opf_expr *const *given;
    int axes[OPF_MAX_RANK], rank = opf_call_rank(call, 0);
    if (!read_mode(call, &pads.mode) || !opf_call_check_same_type(call, 0, 2)) return OPF_ERROR_INPUT;
    int count = opf_call_content(call, 1, &given);
    if (count < 0) return OPF_ERROR_UNSUPPORTED;
    int n_axes = opf_call_axes(call, NULL, 3, rank, axes);
    if (call->failed) return OPF_ERROR_INPUT;
    if (n_axes < 0) {
        n_axes = rank;
        for (int k = 0; k < rank; k++) axes[k] = k;
    }
    if (count != 2 * n_axes) return opf_call_error(call, "shape", "pads has %d entries for %d axes", count, n_axes);
    for (int k = 0; k < rank; k++) pads.begin[k] = pads.end[k] = opf_call_int(call, 0);
    for (int k = 0; k < n_axes; k++) {
        pads.begin[axes[k]] = given[k];
        pads.end[axes[k]] = given[n_axes + k];
    }
    bool has_value = opf_call_input(call, 2) != NULL;
    const opf_expr *fill = has_value ? opf_call_load_single(call, 2, "constant_value is a single element") : opf_number(call->pool, opf_call_dtype(call, 0), 0);
    return padded(call, &pads, fill);
}

/* The centre of the input in a frame of the given size: both sides lose or gain half of the difference, rounded down at
 * the front. */
static opf_status build_center_crop_pad(opf_call *call) {
    const opf_expr *const *shape;
    int axes[OPF_MAX_RANK], rank = opf_call_rank(call, 0), count = opf_call_content(call, 1, &shape);
    if (count < 0) return OPF_ERROR_UNSUPPORTED;
    int n_axes = opf_call_axes(call, "axes", -1, rank, axes);
    if (call->failed) return OPF_ERROR_INPUT;
    if (n_axes < 0) {
        n_axes = rank;
        for (int k = 0; k < rank; k++) axes[k] = k;
    }
    if (count != n_axes) return opf_call_error(call, "shape", "the shape has %d entries for %d axes", count, n_axes);
    padding pads = {.mode = PAD_CONSTANT};
    opf_pool *pool = call->pool;
    const opf_expr *zero = opf_call_int(call, 0), *two = opf_call_int(call, 2);
    for (int k = 0; k < rank; k++) pads.begin[k] = pads.end[k] = zero;
    for (int k = 0; k < n_axes; k++) {
        opf_dim own = opf_call_dim(call, 0, axes[k]), gained = opf_sub(pool, shape[k], own);
        opf_call_require_ge(call, shape[k], zero, "the shape must not be negative");
        opf_dim grown = opf_floordiv(pool, opf_max(pool, gained, zero), two), cut = opf_floordiv(pool, opf_max(pool, opf_sub(pool, zero, gained), zero), two);
        pads.begin[axes[k]] = opf_sub(pool, grown, cut);
        pads.end[axes[k]] = opf_sub(pool, gained, pads.begin[axes[k]]);
    }
    return padded(call, &pads, opf_number(pool, opf_call_dtype(call, 0), 0));
}

const opf_op opf_ops_pad[] = {
    {"", "Pad", 2, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_pad_2, NULL},
    {"", "Pad", 11, 2, 4, 1, OPF_KIND_INJECTIVE, 0, build_pad_11, NULL},
    {"com.microsoft", "Pad", 1, 2, 3, 1, OPF_KIND_INJECTIVE, 0, build_pad_11, NULL},
    {"", "CenterCropPad", 18, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_center_crop_pad, NULL},
};
const size_t opf_ops_pad_count = OPF_COUNT(opf_ops_pad);
