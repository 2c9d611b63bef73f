/* Parts of tensors and tensors of parts: Slice, Split, Concat. */
#include <limits.h>

#include "ops/families.h"
#include "ops/index.h"

/* ---- Slice ---- */

/* One axis of a slice: element v of the result is element first + v * step of the input. */
typedef struct slice_axis {
    const opf_expr *first;
    opf_dim length;
} slice_axis;

/* Exporters write the largest integer of 32 or 64 bits for "to the end", the smallest for "from before the start". */
static bool is_far(const opf_expr *bound, bool high) {
    int64_t value;
    return opf_is_int(bound, &value) && (high ? value >= INT32_MAX : value <= INT32_MIN);
}

/* As the end of a backward slice these two alone are read as "to the end": other numbers beyond the axis take nothing. */
static bool is_largest(const opf_expr *bound) {
    int64_t value;
    return opf_is_int(bound, &value) && (value == INT32_MAX || value == INT64_MAX);
}

/* A bound counted from the end where it is negative, not yet clamped. */
static const opf_expr *from_start(opf_call *call, const opf_expr *bound, opf_dim extent) {
    int64_t value;
    opf_pool *pool = call->pool;
    const opf_expr *zero = opf_call_int(call, 0);
    if (opf_is_int(bound, &value)) return value < 0 ? opf_add(pool, extent, bound) : bound;
    if (opf_call_proves_le(call, zero, bound)) return bound;
    return opf_select(pool, opf_call_less(call, bound, zero), opf_add(pool, extent, bound), bound);
}

static const char *const short_axis = "the axis is too short for the slice";

/* Only bounds that matter are clamped: where the result has an element at all, first < end and both lie in the input, so
 * that a non-negative start of a forward slice needs no clamp, nor does an end below its start. */
static slice_axis forward(opf_call *call, opf_dim extent, const opf_expr *start, const opf_expr *end, int64_t step) {
    opf_pool *pool = call->pool;
    const opf_expr *zero = opf_call_int(call, 0);
    int64_t from;
    slice_axis out;
    bool from_end = opf_is_int(start, &from) && from < 0 && !is_far(start, false);
    if (is_far(start, false)) out.first = zero;
    else if (is_far(start, true)) out.first = extent;
    else out.first = opf_call_at_least(call, from_start(call, start, extent), zero, short_axis);
    opf_dim last, span;
    if (is_far(end, true)) last = extent;
    else last = is_far(end, false) ? zero : opf_call_at_most_dim(call, from_start(call, end, extent), extent, short_axis);
    if (from_end && last == extent) span = opf_call_at_most_dim(call, opf_call_int(call, -from), extent, short_axis);
    else span = opf_call_at_least(call, opf_sub(pool, last, out.first), zero, short_axis);
    out.length = opf_ceildiv(pool, span, opf_call_int(call, step));
    return out;
}

/* ONNX clamps the start of a backward slice to the first element, where numpy takes nothing. The largest integer as its end
 * is read as "to the end" here too, as exporters mean it. */
static slice_axis backward(opf_call *call, opf_dim extent, const opf_expr *start, const opf_expr *end, int64_t step) {
    opf_pool *pool = call->pool;
    const opf_expr *zero = opf_call_int(call, 0), *before = opf_call_int(call, -1);
    opf_dim top = opf_sub(pool, extent, opf_call_int(call, 1)), last;
    slice_axis out = {.first = top};
    if (is_far(start, false)) start = zero;
    bool from_last = is_far(start, true) || opf_is_value(start, -1); /* where there is none, the result is empty, too */
    if (!from_last) out.first = opf_call_at_most_dim(call, opf_call_at_least(call, from_start(call, start, extent), zero, short_axis), top, short_axis);
    if (is_far(end, false) || is_largest(end)) last = before;
    else last = opf_call_at_least(call, from_start(call, end, extent), before, short_axis);
    opf_dim span = opf_call_at_least(call, opf_sub(pool, out.first, last), zero, short_axis);
    out.length = opf_ceildiv(pool, span, opf_call_int(call, -step));
    return out;
}

/* starts and ends of `count` axes; axes NULL: the first ones; steps NULL: 1. */
static opf_status slice(opf_call *call, int count, const opf_expr *const *starts, const opf_expr *const *ends, const int *axes, const int64_t *steps) {
    int rank = opf_call_rank(call, 0);
    opf_dim extents[OPF_MAX_RANK];
    const opf_expr *indices[OPF_MAX_RANK];
    opf_call_dims(call, 0, extents);
    opf_call_vars(call, 0, rank, indices);
    for (int k = 0; k < count; k++) {
        int axis = axes ? axes[k] : k;
        int64_t step = steps ? steps[k] : 1;
        if (step == 0) return opf_call_error(call, "shape", "the step of axis %d is 0", axis);
        step = step < -OPF_MOST_ELEMENTS ? -OPF_MOST_ELEMENTS : step > OPF_MOST_ELEMENTS ? OPF_MOST_ELEMENTS : step; /* one element all the same */
        slice_axis part = step > 0 ? forward(call, extents[axis], starts[k], ends[k], step) : backward(call, extents[axis], starts[k], ends[k], step);
        indices[axis] = opf_add(call->pool, part.first, opf_mul(call->pool, opf_call_var(call, axis), opf_call_int(call, step)));
        extents[axis] = part.length;
    }
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, opf_call_load(call, 0, indices)));
    return OPF_OK;
}

static opf_status check_counts(opf_call *call, int starts, int ends, int axes, int steps) {
    int rank = opf_call_rank(call, 0);
    if (starts > rank) return opf_call_error(call, "shape", "starts has %d entries for an input of rank %d", starts, rank);
    if (starts == ends && (axes < 0 || axes == starts) && (steps < 0 || steps == starts)) return OPF_OK;
    return opf_call_error(call, "shape", "starts, ends, axes and steps must have one length");
}

static const opf_expr **integers(opf_call *call, int count, const int64_t *values) {
    const opf_expr **list = OPF_ARRAY(call->arena, const opf_expr *, count > 0 ? count : 1);
    for (int k = 0; k < count; k++) list[k] = opf_call_int(call, values[k]);
    return list;
}

static opf_status build_slice_1(opf_call *call) {
    const int64_t *starts, *ends;
    int axes[OPF_MAX_RANK];
    int n_starts = opf_node_ints(call->node, "starts", &starts), n_ends = opf_node_ints(call->node, "ends", &ends);
    if (n_starts < 0 || n_ends < 0) return opf_call_error(call, "attribute", "starts or ends are missing");
    int n_axes = opf_call_axes(call, "axes", -1, opf_call_rank(call, 0), axes);
    if (call->failed || check_counts(call, n_starts, n_ends, n_axes, -1) != OPF_OK) return OPF_ERROR_INPUT;
    return slice(call, n_starts, integers(call, n_starts, starts), integers(call, n_ends, ends), n_axes < 0 ? NULL : axes, NULL);
}

static opf_status build_slice_10(opf_call *call) {
    const opf_expr *const *starts, *const *ends;
    const int64_t *steps = NULL;
    int axes[OPF_MAX_RANK];
    int n_starts = opf_call_content(call, 1, &starts), n_ends = call->failed ? -1 : opf_call_content(call, 2, &ends);
    if (call->failed) return OPF_ERROR_UNSUPPORTED;
    int n_axes = opf_call_axes(call, NULL, 3, opf_call_rank(call, 0), axes);
    int n_steps = !call->failed && opf_call_input(call, 4) ? opf_call_ints(call, 4, &steps) : -1;
    if (call->failed || check_counts(call, n_starts, n_ends, n_axes, n_steps) != OPF_OK) return OPF_ERROR_INPUT;
    return slice(call, n_starts, starts, ends, n_axes < 0 ? NULL : axes, steps);
}

/* ---- Split ---- */

/* Sizes of the parts: given, or equal. From opset 18 on equal parts may leave a smaller last one. */
static bool split_sizes(opf_call *call, opf_dim extent, const opf_expr *const *given, int n_given, bool uneven, opf_dim *sizes) {
    opf_pool *pool = call->pool;
    int parts = call->node->n_outputs;
    if (n_given >= 0) {
        if (n_given != parts) {
            opf_call_error(call, "shape", "split has %d entries for %d outputs", n_given, parts);
            return false;
        }
        opf_dim sum = opf_call_int(call, 0);
        for (int k = 0; k < parts; k++) {
            int64_t value;
            if (opf_is_int(given[k], &value) && value < 0) opf_call_error(call, "shape", "split holds %lld", (long long)value);
            sum = opf_add(pool, sum, sizes[k] = given[k]);
        }
        opf_call_same(call, sum, extent, "the parts must add up to the axis");
        return !call->failed;
    }
    opf_dim count = opf_call_int(call, parts), even = uneven ? opf_ceildiv(pool, extent, count) : opf_floordiv(pool, extent, count);
    opf_dim rest = opf_sub(pool, extent, opf_mul(pool, even, opf_call_int(call, parts - 1)));
    for (int k = 0; k < parts; k++) sizes[k] = even;
    if (uneven) sizes[parts - 1] = rest;
    else opf_call_same(call, rest, even, "the outputs must divide the axis into equal parts");
    return !call->failed && opf_call_require_ge(call, rest, opf_call_int(call, 0), "there are more outputs than the axis can fill");
}

static opf_status split(opf_call *call, const opf_expr *const *given, int n_given, bool uneven) {
    int rank = opf_call_rank(call, 0), axis = opf_call_axis(call, opf_node_int(call->node, "axis", 0), rank), parts = call->node->n_outputs;
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim *sizes = OPF_ARRAY(call->arena, opf_dim, parts > 0 ? parts : 1);
    opf_dim extents[OPF_MAX_RANK];
    opf_call_dims(call, 0, extents);
    if (parts == 0 || !split_sizes(call, extents[axis], given, n_given, uneven, sizes)) return OPF_ERROR_INPUT;
    const opf_expr *indices[OPF_MAX_RANK], *offset = opf_call_int(call, 0);
    opf_call_vars(call, 0, rank, indices);
    for (int k = 0; k < parts; k++) {
        indices[axis] = opf_add(call->pool, opf_call_var(call, axis), offset);
        extents[axis] = sizes[k];
        if (call->node->outputs[k]) opf_call_result(call, k, opf_call_map(call, "part", rank, extents, opf_call_load(call, 0, indices)));
        offset = opf_add(call->pool, offset, sizes[k]);
    }
    return OPF_OK;
}

static opf_status build_split_2(opf_call *call) {
    const int64_t *given;
    int count = opf_node_ints(call->node, "split", &given);
    return split(call, count < 0 ? NULL : integers(call, count, given), count, false);
}

static opf_status split_by_input(opf_call *call, bool uneven) {
    const opf_expr *const *given = NULL;
    int count = opf_call_input(call, 1) ? opf_call_content(call, 1, &given) : -1;
    return call->failed ? OPF_ERROR_UNSUPPORTED : split(call, given, count, uneven);
}

static opf_status build_split_13(opf_call *call) { return split_by_input(call, false); }

static opf_status build_split_18(opf_call *call) {
    int64_t parts = opf_node_int(call->node, "num_outputs", call->node->n_outputs);
    if (parts != call->node->n_outputs) return opf_call_error(call, "attribute", "num_outputs is %lld and the node has %d outputs", (long long)parts, call->node->n_outputs);
    return split_by_input(call, true);
}

/* ---- Concat ---- */

/* Extents of all inputs but along the axis agree; returns their sum along it, each one's start in offsets. */
static opf_dim concat_extents(opf_call *call, int axis, opf_dim *extents, const opf_expr **offsets) {
    int rank = opf_call_rank(call, 0), inputs = call->node->n_inputs;
    opf_call_dims(call, 0, extents);
    opf_dim total = opf_call_int(call, 0);
    for (int k = 0; k < inputs; k++) {
        if (!opf_call_check_same_type(call, 0, k) || !opf_call_check_rank(call, k, rank, rank, "an operand")) return total;
        for (int a = 0; a < rank; a++)
            if (a != axis) extents[a] = opf_call_same(call, extents[a], opf_call_dim(call, k, a), "the operands' sizes along an axis that is not joined");
        offsets[k] = total;
        total = opf_add(call->pool, total, opf_call_dim(call, k, axis));
    }
    return total;
}

/* v < offset 1 ? first : v < offset 2 ? second : … ; operands without elements are left out. */
static const opf_expr *joined(opf_call *call, int axis, const opf_expr *const *offsets) {
    const opf_expr *indices[OPF_MAX_RANK], *body = NULL, *end = NULL;
    opf_call_vars(call, 0, opf_call_rank(call, 0), indices);
    for (int k = call->node->n_inputs - 1; k >= 0; k--) {
        bool empty = opf_is_value(opf_call_dim(call, k, axis), 0);
        if (empty && (body || k > 0)) continue;
        indices[axis] = opf_sub(call->pool, opf_call_var(call, axis), offsets[k]);
        const opf_expr *part = opf_call_load(call, k, indices);
        body = body ? opf_select(call->pool, opf_call_less(call, opf_call_var(call, axis), end), part, body) : part;
        end = offsets[k];
    }
    return body;
}

static opf_status build_concat(opf_call *call) {
    int rank = opf_call_rank(call, 0), inputs = call->node->n_inputs;
    for (int k = 0; k < inputs; k++)
        if (!opf_call_input(call, k)) return opf_call_error(call, "arity", "input %d is missing", k);
    if (!opf_node_attr(call->node, "axis")) return opf_call_error(call, "attribute", "axis is missing");
    int axis = opf_call_axis(call, opf_node_int(call->node, "axis", 0), rank);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim extents[OPF_MAX_RANK];
    const opf_expr **offsets = OPF_ARRAY(call->arena, const opf_expr *, inputs);
    opf_dim total = concat_extents(call, axis, extents, offsets);
    if (call->failed) return OPF_ERROR_INPUT;
    extents[axis] = total;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, joined(call, axis, offsets)));
    return OPF_OK;
}

const opf_op opf_ops_slice[] = {
    {"", "Slice", 1, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_slice_1, NULL},
    {"", "Slice", 10, 3, 5, 1, OPF_KIND_INJECTIVE, 0, build_slice_10, NULL},
    {"", "Split", 2, 1, 1, INT_MAX, OPF_KIND_INJECTIVE, 0, build_split_2, NULL},
    {"", "Split", 13, 1, 2, INT_MAX, OPF_KIND_INJECTIVE, 0, build_split_13, NULL},
    {"", "Split", 18, 1, 2, INT_MAX, OPF_KIND_INJECTIVE, 0, build_split_18, NULL},
    {"", "Concat", 4, 1, -1, 1, OPF_KIND_INJECTIVE, 0, build_concat, NULL},
};
const size_t opf_ops_slice_count = OPF_COUNT(opf_ops_slice);
