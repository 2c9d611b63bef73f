/* Elements at coordinates that data decide: GridSample, AffineGrid, DeformConv. */
#include "ops/convolution.h"
#include "ops/families.h"
#include "ops/resize.h"

#include <string.h>

enum { MOST_AXES = 3, MOST_TAPS = 4 };

typedef enum padding { PADDING_ZEROS, PADDING_BORDER, PADDING_REFLECTION } padding;

/* Taps of one axis: positions inside the axis, weights, and under which condition there is an element at all (NULL: always). */
typedef struct axis_taps {
    int count;
    const opf_expr *positions[MOST_TAPS], *weights[MOST_TAPS], *inside[MOST_TAPS];
} axis_taps;

/* ---- coordinates beyond the input ---- */

/* The axis' first and last coordinate: of the outer elements' centres, or half an element further out. */
static const opf_expr *border(opf_call *call, opf_dim extent, bool last, bool corners, opf_dtype compute) {
    opf_pool *pool = call->pool;
    const opf_expr *half = opf_real(pool, compute, 0.5), *end = opf_cast(pool, compute, opf_sub(pool, extent, opf_int(pool, 1)));
    if (!last) return opf_real(pool, compute, corners ? 0 : -0.5);
    return corners ? end : opf_binary(pool, OPF_OP_ADD, end, half);
}

/* x mirrored at both borders until it lies between them. */
static const opf_expr *reflected(opf_call *call, const opf_expr *x, opf_dim extent, bool corners) {
    opf_pool *pool = call->pool;
    opf_dtype compute = (opf_dtype)x->dtype;
    const opf_expr *low = border(call, extent, false, corners, compute), *high = border(call, extent, true, corners, compute);
    const opf_expr *below = opf_binary(pool, OPF_OP_LT, x, low), *above = opf_binary(pool, OPF_OP_GT, x, high);
    const opf_expr *distance = opf_select(pool, below, opf_binary(pool, OPF_OP_SUB, low, x), opf_binary(pool, OPF_OP_SUB, x, high));
    const opf_expr *range = opf_binary(pool, OPF_OP_SUB, high, low);
    const opf_expr *times = opf_unary(pool, OPF_OP_FLOOR, opf_binary(pool, OPF_OP_DIV, distance, range));
    const opf_expr *rest = opf_binary(pool, OPF_OP_SUB, distance, opf_binary(pool, OPF_OP_MUL, times, range));
    const opf_expr *half = opf_binary(pool, OPF_OP_MUL, times, opf_real(pool, compute, 0.5));
    const opf_expr *odd = opf_binary(pool, OPF_OP_NE, half, opf_unary(pool, OPF_OP_FLOOR, half));
    const opf_expr *from_low = opf_binary(pool, OPF_OP_XOR, below, odd);
    const opf_expr *mirrored = opf_select(pool, from_low, opf_binary(pool, OPF_OP_ADD, low, rest), opf_binary(pool, OPF_OP_SUB, high, rest));
    return opf_select(pool, opf_binary(pool, OPF_OP_OR, below, above), mirrored, x);
}

static const opf_expr *padded(opf_call *call, const opf_expr *x, opf_dim extent, padding mode, bool corners) {
    opf_pool *pool = call->pool;
    opf_dtype compute = (opf_dtype)x->dtype;
    if (mode == PADDING_ZEROS) return x;
    if (mode == PADDING_REFLECTION) return reflected(call, x, extent, corners);
    const opf_expr *end = border(call, extent, true, true, compute);
    return opf_binary(pool, OPF_OP_MIN, opf_binary(pool, OPF_OP_MAX, x, opf_real(pool, compute, 0)), end);
}

/* ---- taps ---- */

static void place_tap(opf_call *call, axis_taps *taps, int k, const opf_expr *position, opf_dim extent, padding mode, bool corners) {
    opf_pool *pool = call->pool;
    opf_dtype compute = (opf_dtype)taps->weights[k]->dtype;
    taps->inside[k] = NULL;
    if (mode == PADDING_REFLECTION) position = opf_cast(pool, OPF_INT64, reflected(call, opf_cast(pool, compute, position), extent, corners));
    taps->positions[k] = position;
    if (mode == PADDING_ZEROS) taps->inside[k] = opf_call_and(call, opf_call_at_most(call, opf_int(pool, 0), position), opf_call_less(call, position, extent));
    else taps->positions[k] = opf_call_clamp(call, position, extent);
}

static axis_taps nearest_tap(opf_call *call, const opf_expr *x, opf_dim extent, padding mode, bool corners) {
    axis_taps taps = {.count = 1, .weights = {opf_real(call->pool, (opf_dtype)x->dtype, 1)}};
    place_tap(call, &taps, 0, opf_cast(call->pool, OPF_INT64, x), extent, mode, corners);
    return taps;
}

/* Two taps (linear) or four (cubic, coefficient -0.75) around x. */
static axis_taps weighted_taps(opf_call *call, const opf_expr *x, opf_dim extent, int count, padding mode, bool corners) {
    opf_pool *pool = call->pool;
    opf_dtype compute = (opf_dtype)x->dtype;
    axis_taps taps = {.count = count};
    const opf_expr *base = opf_unary(pool, OPF_OP_FLOOR, x), *one = opf_real(pool, compute, 1);
    const opf_expr *ratio = opf_binary(pool, OPF_OP_SUB, x, base), *rest = opf_binary(pool, OPF_OP_SUB, one, ratio);
    const opf_expr *first = opf_cast(pool, OPF_INT64, base);
    if (count == 2) {
        taps.weights[0] = rest;
        taps.weights[1] = ratio;
    } else {
        taps.weights[0] = opf_cubic_far(call, opf_binary(pool, OPF_OP_ADD, ratio, one), -0.75);
        taps.weights[1] = opf_cubic_near(call, ratio, -0.75);
        taps.weights[2] = opf_cubic_near(call, rest, -0.75);
        taps.weights[3] = opf_cubic_far(call, opf_binary(pool, OPF_OP_ADD, rest, one), -0.75);
    }
    for (int k = 0; k < count; k++) place_tap(call, &taps, k, opf_add(pool, first, opf_int(pool, k - (count / 2 - 1))), extent, mode, corners);
    return taps;
}

/* The weighted sum of input 0 over the taps of the spatial axes from `axis` on; indices[0] and [1] are set. */
static const opf_expr *gathered(opf_call *call, int n_axes, const axis_taps *taps, int axis, const opf_expr **indices, const opf_expr *inside, opf_dtype compute) {
    opf_pool *pool = call->pool;
    if (axis == n_axes) return opf_call_choose(call, inside, opf_call_convert(call, compute, opf_call_load(call, 0, indices)), opf_real(pool, compute, 0));
    const opf_expr *sum = NULL;
    for (int k = 0; k < taps[axis].count; k++) {
        indices[2 + axis] = taps[axis].positions[k];
        const opf_expr *term = gathered(call, n_axes, taps, axis + 1, indices, opf_call_and(call, inside, taps[axis].inside[k]), compute);
        if (taps[axis].count > 1) term = opf_binary(pool, OPF_OP_MUL, term, taps[axis].weights[k]);
        sum = sum ? opf_binary(pool, OPF_OP_ADD, sum, term) : term;
    }
    return sum;
}

/* ---- GridSample: input [n, c, in…], grid [n, out…, axes], the last axis' coordinate first ---- */

typedef struct sampling { int taps; padding mode; bool corners; } sampling;

static bool read_sampling(opf_call *call, sampling *out) {
    static const struct { const char *name; int taps; } modes[] = {{"linear", 2}, {"bilinear", 2}, {"nearest", 1}, {"cubic", 4}, {"bicubic", 4}};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    const char *mode = opf_node_string(call->node, "mode", "linear"), *beyond = opf_node_string(call->node, "padding_mode", "zeros");
    out->corners = opf_node_int(call->node, "align_corners", 0) != 0;
    out->taps = 0;
    for (size_t k = 0; k < OPF_COUNT(modes); k++)
        if (strcmp(mode, modes[k].name) == 0) out->taps = modes[k].taps;
    int found = -1;
    for (int k = 0; k < (int)OPF_COUNT(paddings); k++)
        if (strcmp(beyond, paddings[k]) == 0) found = k;
    out->mode = (padding)(found < 0 ? 0 : found);
    if (!out->taps) opf_call_error(call, "attribute", "mode '%s' is not supported", mode);
    if (found < 0) opf_call_error(call, "attribute", "padding_mode '%s' is not supported", beyond);
    return !call->failed;
}

/* A stage [n, out…, axes]: the grid in units of the input's elements, padded; nearest coordinates are whole numbers. */
static int grid_coordinates(opf_call *call, const sampling *how, int n_axes, opf_dtype compute) {
    opf_pool *pool = call->pool;
    opf_dim extents[OPF_MAX_RANK];
    opf_call_dims(call, 1, extents);
    const opf_expr *normal = opf_call_convert(call, compute, opf_call_load_same(call, 1)), *one = opf_real(pool, compute, 1), *half = opf_real(pool, compute, 0.5);
    const opf_expr *result = NULL;
    for (int axis = 0; axis < n_axes; axis++) {
        opf_dim extent = opf_call_dim(call, 0, 2 + axis);
        const opf_expr *size = opf_cast(pool, compute, extent), *shifted = opf_binary(pool, OPF_OP_ADD, normal, one), *x;
        if (how->corners) x = opf_binary(pool, OPF_OP_MUL, opf_binary(pool, OPF_OP_MUL, shifted, half), border(call, extent, true, true, compute));
        else x = opf_binary(pool, OPF_OP_MUL, opf_binary(pool, OPF_OP_SUB, opf_binary(pool, OPF_OP_MUL, shifted, size), one), half);
        if (how->taps == 1) x = opf_unary(pool, OPF_OP_ROUND, x);
        x = padded(call, x, extent, how->mode, how->corners);
        const opf_expr *here = opf_binary(pool, OPF_OP_EQ, opf_var(pool, n_axes + 1), opf_int(pool, n_axes - 1 - axis));
        result = result ? opf_select(pool, here, x, result) : x;
    }
    return opf_call_map(call, "coordinates", n_axes + 2, extents, result);
}

static opf_status build_grid_sample(opf_call *call) {
    opf_pool *pool = call->pool;
    sampling how;
    int n_axes = opf_call_rank(call, 0) - 2;
    opf_dtype T = opf_call_dtype(call, 0), compute = opf_dtype_is_float(T) ? opf_call_compute(T) : OPF_FLOAT32;
    if (!opf_call_check_rank(call, 0, 3, 2 + MOST_AXES, "the input") || !opf_call_check_rank(call, 1, n_axes + 2, n_axes + 2, "the grid") || !read_sampling(call, &how)) return OPF_ERROR_INPUT;
    if (!opf_dtype_is_float(opf_call_dtype(call, 1))) return opf_call_error(call, "type", "the grid is %s, which is no floating type", opf_dtype_name(opf_call_dtype(call, 1)));
    if (!opf_dtype_is_float(T) && how.taps > 1) return opf_call_error(call, "type", "%s cannot be interpolated", opf_dtype_name(T));
    if (how.taps == 4 && n_axes > 2) return opf_call_error(call, "unsupported", "cubic sampling along %d axes is not supported; along 2 it is", n_axes);
    opf_call_same(call, opf_call_dim(call, 1, n_axes + 1), opf_int(pool, n_axes), "the grid has one coordinate for each axis of the input");
    opf_dim extents[OPF_MAX_RANK] = {opf_call_same(call, opf_call_dim(call, 0, 0), opf_call_dim(call, 1, 0), "input and grid have the same batch"), opf_call_dim(call, 0, 1)};
    for (int k = 0; k < n_axes; k++) {
        extents[2 + k] = opf_call_dim(call, 1, 1 + k);
        if (how.mode != PADDING_ZEROS) opf_call_require_ge_always(call, opf_call_dim(call, 0, 2 + k), opf_int(pool, 1), "nothing can be sampled from an axis without elements");
    }
    if (call->failed) return OPF_ERROR_INPUT;
    int coordinates = grid_coordinates(call, &how, n_axes, opf_call_compute(opf_call_dtype(call, 1)));
    axis_taps taps[MOST_AXES];
    const opf_expr *indices[OPF_MAX_RANK] = {opf_var(pool, 0), opf_var(pool, 1)}, *at[OPF_MAX_RANK] = {opf_var(pool, 0)};
    opf_call_vars(call, 2, n_axes, at + 1);
    for (int axis = 0; axis < n_axes; axis++) {
        at[n_axes + 1] = opf_int(pool, n_axes - 1 - axis);
        const opf_expr *x = opf_call_convert(call, compute, opf_call_load(call, coordinates, at));
        opf_dim extent = opf_call_dim(call, 0, 2 + axis);
        taps[axis] = how.taps == 1 ? nearest_tap(call, x, extent, how.mode, how.corners) : weighted_taps(call, x, extent, how.taps, how.mode, how.corners);
    }
    if (how.taps == 1) { /* the element itself, whatever its type */
        compute = T;
        for (int axis = 0; axis < n_axes; axis++) indices[2 + axis] = taps[axis].positions[0];
        const opf_expr *inside = NULL;
        for (int axis = 0; axis < n_axes; axis++) inside = opf_call_and(call, inside, taps[axis].inside[0]);
        opf_call_result(call, 0, opf_call_map(call, NULL, n_axes + 2, extents, opf_call_choose(call, inside, opf_call_load(call, 0, indices), opf_number(pool, T, 0))));
        return OPF_OK;
    }
    opf_call_result(call, 0, opf_call_map(call, NULL, n_axes + 2, extents, opf_call_convert(call, T, gathered(call, n_axes, taps, 0, indices, NULL, compute))));
    return OPF_OK;
}

/* ---- AffineGrid: theta [n, axes, axes + 1], size [n, c, out…] ---- */

/* Position `variable` of an axis, from -1 to 1: of the outer elements' centres, or of their outer edges. */
static const opf_expr *normal_position(opf_call *call, int variable, opf_dim extent, bool corners, opf_dtype compute) {
    opf_pool *pool = call->pool;
    const opf_expr *two = opf_int(pool, 2), *one = opf_int(pool, 1), *twice = opf_mul(pool, opf_var(pool, variable), two);
    const opf_expr *steps = corners ? twice : opf_add(pool, twice, one);
    opf_dim span = corners ? opf_max(pool, opf_sub(pool, extent, one), one) : extent;
    const opf_expr *share = opf_binary(pool, OPF_OP_DIV, opf_cast(pool, compute, steps), opf_cast(pool, compute, span));
    return opf_binary(pool, OPF_OP_SUB, share, opf_real(pool, compute, 1));
}

static opf_status build_affine_grid(opf_call *call) {
    opf_pool *pool = call->pool;
    const opf_expr *const *size;
    int count = opf_call_content(call, 1, &size), n_axes = count - 2;
    opf_dtype T = opf_call_dtype(call, 0), compute = opf_call_compute(T);
    if (count < 0) return OPF_ERROR_UNSUPPORTED;
    if (!opf_call_check_rank(call, 0, 3, 3, "theta")) return OPF_ERROR_INPUT;
    if (!opf_dtype_is_float(T)) return opf_call_error(call, "type", "theta is %s, which is no floating type", opf_dtype_name(T));
    if (n_axes < 1 || n_axes > MOST_AXES) return opf_call_error(call, "shape", "size has %d elements, and must have 4 or 5", count);
    bool corners = opf_node_int(call->node, "align_corners", 0) != 0;
    opf_call_same(call, opf_call_dim(call, 0, 1), opf_int(pool, n_axes), "theta has one row for each spatial axis");
    opf_call_same(call, opf_call_dim(call, 0, 2), opf_int(pool, n_axes + 1), "theta has one column more than rows");
    opf_dim extents[OPF_MAX_RANK] = {opf_call_same(call, opf_call_dim(call, 0, 0), size[0], "theta and size have the same batch")};
    const opf_expr *sum = NULL;
    for (int column = 0; column <= n_axes; column++) { /* column 0 scales the last axis */
        int axis = n_axes - 1 - column;
        const opf_expr *at[] = {opf_var(pool, 0), opf_var(pool, n_axes + 1), opf_int(pool, column)};
        const opf_expr *term = opf_call_convert(call, compute, opf_call_load(call, 0, at));
        if (axis >= 0) {
            opf_call_require_ge(call, size[2 + axis], opf_int(pool, 0), "size must not be negative");
            term = opf_binary(pool, OPF_OP_MUL, term, normal_position(call, 1 + axis, size[2 + axis], corners, compute));
            extents[1 + axis] = size[2 + axis];
        }
        sum = sum ? opf_binary(pool, OPF_OP_ADD, sum, term) : term;
    }
    extents[n_axes + 1] = opf_int(pool, n_axes);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, n_axes + 2, extents, opf_call_convert(call, T, sum)));
    return OPF_OK;
}

/* ---- DeformConv: X, W, offset, B, mask ---- */

enum { DATA, WEIGHT, OFFSET, BIAS, MASK };

/* Position of a tap among all of the kernel, and an element of offset or mask there. */
static const opf_expr *tap_number(opf_call *call, const opf_convolution *conv, int first) {
    const opf_expr *number = opf_call_int(call, 0);
    for (int k = 0; k < conv->window.n_axes; k++) number = opf_add(call->pool, opf_mul(call->pool, number, conv->window.axes[k].kernel), opf_call_var(call, first + k));
    return number;
}

/* Appends "sampled" [n, ic, taps…, out…]: the input at the moved taps, times the mask. Its group of offsets is ic / (C / groups). */
static int deformed(opf_call *call, const opf_convolution *conv, opf_dim per_group, opf_dtype compute) {
    opf_pool *pool = call->pool;
    int n = conv->window.n_axes;
    opf_dim extents[2 + 2 * MOST_AXES] = {opf_call_dim(call, DATA, 0), opf_call_dim(call, DATA, 1)}, kernel = opf_int(pool, 1);
    axis_taps taps[MOST_AXES];
    for (int k = 0; k < n; k++) {
        extents[2 + k] = conv->window.axes[k].kernel;
        extents[2 + n + k] = conv->window.axes[k].output;
        kernel = opf_mul(pool, kernel, conv->window.axes[k].kernel);
    }
    const opf_expr *group = opf_floordiv(pool, opf_var(pool, 1), per_group), *tap = tap_number(call, conv, 2);
    const opf_expr *place = opf_add(pool, opf_mul(pool, group, kernel), tap), *at[2 + MOST_AXES] = {opf_var(pool, 0)};
    opf_call_vars(call, 2 + n, n, at + 2);
    for (int k = 0; k < n; k++) {
        at[1] = opf_add(pool, opf_mul(pool, place, opf_int(pool, n)), opf_int(pool, k));
        const opf_expr *position = opf_window_position(call, &conv->window.axes[k], opf_var(pool, 2 + n + k), opf_var(pool, 2 + k));
        const opf_expr *x = opf_binary(pool, OPF_OP_ADD, opf_cast(pool, compute, position), opf_call_convert(call, compute, opf_call_load(call, OFFSET, at)));
        taps[k] = weighted_taps(call, x, conv->window.axes[k].input, 2, PADDING_ZEROS, true);
    }
    const opf_expr *indices[2 + MOST_AXES] = {opf_var(pool, 0), opf_var(pool, 1)};
    const opf_expr *value = gathered(call, n, taps, 0, indices, NULL, compute);
    at[1] = place;
    if (opf_call_input(call, MASK)) value = opf_binary(pool, OPF_OP_MUL, value, opf_call_convert(call, compute, opf_call_load(call, MASK, at)));
    return opf_call_map(call, "sampled", 2 + 2 * n, extents, value);
}

static bool check_deform(opf_call *call, opf_convolution *conv, opf_dim *per_group) {
    opf_pool *pool = call->pool;
    int n = conv->window.n_axes, rank = n + 2;
    int64_t groups = opf_node_int(call->node, "offset_group", 1);
    if (!opf_call_check_rank(call, OFFSET, rank, rank, "the offsets") || (opf_call_input(call, MASK) && !opf_call_check_rank(call, MASK, rank, rank, "the mask"))) return false;
    if (n > MOST_AXES) opf_call_error(call, "unsupported", "%d spatial axes are not supported; 3 are", n);
    if (groups < 1) opf_call_error(call, "attribute", "offset_group is %lld", (long long)groups);
    if (call->failed) return false;
    opf_dim places = opf_int(pool, groups);
    *per_group = opf_floordiv(pool, opf_call_dim(call, DATA, 1), places);
    opf_call_same(call, opf_mul(pool, *per_group, places), opf_call_dim(call, DATA, 1), "offset_group divides the input channels");
    for (int k = 0; k < n; k++) places = opf_mul(pool, places, conv->window.axes[k].kernel);
    int inputs[] = {OFFSET, MASK};
    for (int i = 0; i < 2; i++) {
        if (!opf_call_input(call, inputs[i])) continue;
        opf_call_same(call, opf_call_dim(call, inputs[i], 0), opf_call_dim(call, DATA, 0), "all operands have the same batch");
        opf_call_same(call, opf_call_dim(call, inputs[i], 1), i == 0 ? opf_mul(pool, places, opf_int(pool, n)) : places, "each group of offsets has all taps");
        for (int k = 0; k < n; k++) opf_call_same(call, opf_call_dim(call, inputs[i], 2 + k), conv->window.axes[k].output, "offsets and result have the same positions");
    }
    return !call->failed;
}

static opf_status build_deform_conv(opf_call *call) {
    opf_pool *pool = call->pool;
    opf_convolution conv;
    opf_dim per_group;
    opf_dtype T = opf_call_dtype(call, DATA), compute = opf_call_compute(T);
    if (!opf_dtype_is_float(T)) return opf_call_error(call, "type", "%s of %s is not supported", call->op->name, opf_dtype_name(T));
    if (!opf_call_convolution(call, WEIGHT, &conv) || !opf_call_window_outputs(call, &conv.window, false) || !check_deform(call, &conv, &per_group)) return OPF_ERROR_INPUT;
    opf_dim outputs = opf_call_dim(call, WEIGHT, 0);
    conv.group_outputs = opf_convolution_channels(call, &conv, outputs, "the groups must divide the output channels");
    conv.group_inputs = opf_call_dim(call, WEIGHT, 1);
    opf_call_same(call, opf_mul(pool, conv.group_inputs, opf_int(pool, conv.group)), opf_call_dim(call, DATA, 1), "the channels of the input, and those of the weight times group");
    opf_convolution_domain(call, &conv, outputs);
    if (call->failed) return OPF_ERROR_INPUT;
    int n = conv.window.n_axes, sampled = deformed(call, &conv, per_group, compute), reduce = conv.n_axes;
    const opf_expr *indices[2 + 2 * MOST_AXES] = {opf_var(pool, 0), opf_convolution_input_channel(call, &conv)}, *weight_at[2 + MOST_AXES] = {opf_var(pool, 1)};
    weight_at[1] = opf_window_variable(call, conv.group_inputs, reduce);
    for (int k = 0; k < n; k++) {
        indices[2 + k] = weight_at[2 + k] = opf_window_variable(call, conv.window.axes[k].kernel, reduce + 1 + k);
        indices[2 + n + k] = opf_var(pool, 2 + k);
    }
    const opf_expr *weight = opf_call_convert(call, compute, opf_call_load(call, WEIGHT, weight_at));
    const opf_expr *term = opf_binary(pool, OPF_OP_MUL, opf_call_load(call, sampled, indices), weight);
    bool biased = opf_call_input(call, BIAS) != NULL;
    int sum = opf_call_stage(call, "sum", conv.n_axes, conv.n_reduce, conv.extents, conv.names, OPF_COMBINE_SUM, biased ? compute : T, compute, term, NULL);
    if (biased) sum = opf_convolution_bias(call, &conv, sum, BIAS, T);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, sum);
    return OPF_OK;
}

const opf_op opf_ops_sample[] = {
    {"", "GridSample", 16, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_grid_sample, NULL},
    {"com.microsoft", "GridSample", 1, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_grid_sample, NULL},
    {"", "AffineGrid", 20, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_affine_grid, NULL},
    {"", "DeformConv", 19, 3, 5, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_deform_conv, NULL},
};
const size_t opf_ops_sample_count = OPF_COUNT(opf_ops_sample);
