/* Stages of Resize: nearest is one load; linear and cubic sum 2 or 4 weighted loads, in a pass along each resized axis;
 * antialiasing, whose windows are as wide as the axis shrinks, is a pass of sums along each axis. */
#include "ops/resize.h"

enum { MOST_LINEAR_AXES = 4, MOST_CUBIC_AXES = 3, CUBIC_TAPS = 4 };

/* ---- positions ---- */

static const opf_expr *floor_of(opf_call *call, opf_fraction f) { return opf_floordiv(call->pool, f.numerator, f.denominator); }
static const opf_expr *ceil_of(opf_call *call, opf_fraction f) { return opf_ceildiv(call->pool, f.numerator, f.denominator); }

/* f + sign / 2 */
static opf_fraction shifted_by_half(opf_call *call, opf_fraction f, int sign) {
    opf_pool *pool = call->pool;
    const opf_expr *two = opf_call_int(call, 2), *doubled = opf_mul(pool, two, f.numerator);
    return (opf_fraction){sign > 0 ? opf_add(pool, doubled, f.denominator) : opf_sub(pool, doubled, f.denominator), opf_mul(pool, two, f.denominator)};
}

static const opf_expr *nearest_position(opf_call *call, const opf_resize *resize, const opf_resize_axis *axis) {
    opf_fraction x = axis->coordinate;
    switch (resize->nearest) {
    case OPF_NEAREST_ROUND_PREFER_FLOOR: return ceil_of(call, shifted_by_half(call, x, -1));
    case OPF_NEAREST_ROUND_PREFER_CEIL: return floor_of(call, shifted_by_half(call, x, 1));
    case OPF_NEAREST_FLOOR: return floor_of(call, x);
    case OPF_NEAREST_CEIL: return ceil_of(call, x);
    case OPF_NEAREST_SIMPLE: break;
    }
    if (opf_call_proves_le(call, axis->scale.denominator, axis->scale.numerator)) return floor_of(call, x);
    return opf_select(call->pool, opf_call_less(call, axis->scale.numerator, axis->scale.denominator), ceil_of(call, x), floor_of(call, x));
}

/* numerator / denominator of integers in floating type `dtype` */
static const opf_expr *quotient(opf_call *call, opf_dtype dtype, const opf_expr *numerator, const opf_expr *denominator) {
    if (opf_is_value(denominator, 1)) return opf_cast(call->pool, dtype, numerator);
    return opf_binary(call->pool, OPF_OP_DIV, opf_cast(call->pool, dtype, numerator), opf_cast(call->pool, dtype, denominator));
}

static opf_domain output_domain(opf_call *call, const opf_resize *resize) {
    opf_dim *extents = OPF_ARRAY(call->arena, opf_dim, resize->rank + 1);
    for (int k = 0; k < resize->rank; k++) extents[k] = resize->axes[k].output;
    return (opf_domain){resize->rank, extents};
}

static const char *const *output_names(const opf_resize *resize) {
    static const char *const names[] = {"n", "c", "d", "h", "w"}, *const flat[] = {"n", "c", "h", "w"}, *const line[] = {"n", "c", "w"};
    return resize->rank == 5 ? names : resize->rank == 4 ? flat : resize->rank == 3 ? line : NULL;
}

/* NULL, or whether the position lies in the input along every axis (tf_crop_and_resize). */
static const opf_expr *inside(opf_call *call, const opf_resize *resize) {
    const opf_expr *all = NULL, *zero = opf_call_int(call, 0);
    for (int k = 0; k < resize->rank && resize->extrapolates; k++) {
        const opf_resize_axis *axis = &resize->axes[k];
        if (axis->kept) continue;
        const opf_expr *last = opf_mul(call->pool, opf_sub(call->pool, axis->input, opf_call_int(call, 1)), axis->coordinate.denominator);
        all = opf_call_and(call, all, opf_call_at_most(call, zero, axis->coordinate.numerator));
        all = opf_call_and(call, all, opf_call_at_most(call, axis->coordinate.numerator, last));
    }
    return all;
}

/* The last stage: `value` in the input's type, or the extrapolation value. Interpolated integers are rounded half to even
 * and saturate. */
static opf_status finish(opf_call *call, const opf_resize *resize, const opf_expr *value) {
    opf_pool *pool = call->pool;
    opf_dtype dtype = opf_call_dtype(call, 0);
    opf_domain domain = output_domain(call, resize);
    const opf_expr *exists = inside(call, resize);
    if (exists) exists = opf_expr_simplify(pool, exists, domain);
    value = opf_call_choose(call, exists, value, opf_number(pool, (opf_dtype)value->dtype, resize->extrapolation_value));
    bool rounds = opf_dtype_is_integer(dtype) && opf_dtype_is_float((opf_dtype)value->dtype);
    if (rounds) value = opf_unary(pool, OPF_OP_ROUND, value);
    if (rounds && opf_dtype_bits(dtype) < 32) {
        double span = (double)(INT64_C(1) << opf_dtype_bits(dtype)), low = opf_dtype_is_signed(dtype) ? -span / 2 : 0;
        value = opf_binary(pool, OPF_OP_MAX, value, opf_real(pool, (opf_dtype)value->dtype, low));
        value = opf_binary(pool, OPF_OP_MIN, value, opf_real(pool, (opf_dtype)value->dtype, low + span - 1));
    }
    value = opf_call_convert(call, dtype, value);
    opf_call_result(call, 0, opf_call_stage(call, NULL, resize->rank, 0, domain.extents, output_names(resize), OPF_COMBINE_NONE, dtype, dtype, value, NULL));
    return OPF_OK;
}

/* ---- nearest ---- */

static opf_status nearest(opf_call *call, const opf_resize *resize) {
    const opf_expr *indices[OPF_MAX_RANK];
    opf_domain domain = output_domain(call, resize);
    opf_call_vars(call, 0, resize->rank, indices);
    for (int k = 0; k < resize->rank; k++) {
        const opf_resize_axis *axis = &resize->axes[k];
        if (!axis->kept) indices[k] = opf_expr_simplify(call->pool, opf_call_clamp(call, nearest_position(call, resize, axis), axis->input), domain);
    }
    return finish(call, resize, opf_call_load(call, 0, indices));
}

/* ---- linear and cubic ---- */

const opf_expr *opf_cubic_near(opf_call *call, const opf_expr *x, double a) {
    opf_pool *pool = call->pool;
    opf_dtype dtype = (opf_dtype)x->dtype;
    const opf_expr *inner = opf_binary(pool, OPF_OP_SUB, opf_binary(pool, OPF_OP_MUL, opf_real(pool, dtype, a + 2), x), opf_real(pool, dtype, a + 3));
    return opf_binary(pool, OPF_OP_ADD, opf_binary(pool, OPF_OP_MUL, opf_binary(pool, OPF_OP_MUL, inner, x), x), opf_real(pool, dtype, 1));
}

const opf_expr *opf_cubic_far(opf_call *call, const opf_expr *x, double a) {
    opf_pool *pool = call->pool;
    opf_dtype dtype = (opf_dtype)x->dtype;
    const opf_expr *inner = opf_binary(pool, OPF_OP_SUB, opf_binary(pool, OPF_OP_MUL, opf_real(pool, dtype, a), x), opf_real(pool, dtype, 5 * a));
    inner = opf_binary(pool, OPF_OP_ADD, opf_binary(pool, OPF_OP_MUL, inner, x), opf_real(pool, dtype, 8 * a));
    return opf_binary(pool, OPF_OP_SUB, opf_binary(pool, OPF_OP_MUL, inner, x), opf_real(pool, dtype, 4 * a));
}

/* Taps of one axis: positions, clamped into the input, and their weights. */
typedef struct tap_list {
    int count;
    const opf_expr *positions[CUBIC_TAPS], *weights[CUBIC_TAPS];
} tap_list;

/* Weights of taps outside the input become 0, and the rest is scaled up to a sum of 1. */
static void drop_outside(opf_call *call, tap_list *taps, const opf_resize_axis *axis) {
    opf_pool *pool = call->pool;
    const opf_expr *sum = NULL;
    for (int k = 0; k < taps->count; k++) {
        const opf_expr *exists = opf_call_and(call, opf_call_at_most(call, opf_call_int(call, 0), taps->positions[k]), opf_call_less(call, taps->positions[k], axis->input));
        taps->weights[k] = opf_select(pool, exists, taps->weights[k], opf_real(pool, (opf_dtype)taps->weights[k]->dtype, 0));
        sum = sum ? opf_binary(pool, OPF_OP_ADD, sum, taps->weights[k]) : taps->weights[k];
    }
    for (int k = 0; k < taps->count; k++) taps->weights[k] = opf_binary(pool, OPF_OP_DIV, taps->weights[k], sum);
}

static tap_list taps_of(opf_call *call, const opf_resize *resize, const opf_resize_axis *axis, opf_dtype compute, opf_domain domain) {
    opf_pool *pool = call->pool;
    tap_list taps = {.count = resize->mode == OPF_RESIZE_LINEAR ? 2 : CUBIC_TAPS};
    const opf_expr *base = floor_of(call, axis->coordinate), *one = opf_real(pool, compute, 1);
    const opf_expr *remainder = opf_floormod(pool, axis->coordinate.numerator, axis->coordinate.denominator);
    if (opf_is_value(remainder, 0)) /* every position falls on an element */
        return (tap_list){.count = 1, .positions = {opf_expr_simplify(pool, opf_call_clamp(call, base, axis->input), domain)}, .weights = {one}};
    const opf_expr *ratio = quotient(call, compute, remainder, axis->coordinate.denominator);
    const opf_expr *rest = opf_binary(pool, OPF_OP_SUB, one, ratio);
    double a = resize->cubic_coefficient;
    if (taps.count == 2) {
        taps.weights[0] = rest;
        taps.weights[1] = ratio;
    } else {
        taps.weights[0] = opf_cubic_far(call, opf_binary(pool, OPF_OP_ADD, ratio, one), a);
        taps.weights[1] = opf_cubic_near(call, ratio, a);
        taps.weights[2] = opf_cubic_near(call, rest, a);
        taps.weights[3] = opf_cubic_far(call, opf_binary(pool, OPF_OP_ADD, rest, one), a);
    }
    for (int k = 0; k < taps.count; k++) taps.positions[k] = opf_add(pool, base, opf_call_int(call, k - (taps.count / 2 - 1)));
    if (resize->exclude_outside && taps.count == CUBIC_TAPS) drop_outside(call, &taps, axis);
    for (int k = 0; k < taps.count; k++) taps.positions[k] = opf_expr_simplify(pool, opf_call_clamp(call, taps.positions[k], axis->input), domain);
    return taps;
}

/* The weighted sum of `tensor` over the taps of axis k. */
static const opf_expr *weighted(opf_call *call, int tensor, int rank, const tap_list *taps, int k, opf_dtype compute) {
    const opf_expr *indices[OPF_MAX_RANK], *sum = NULL;
    opf_call_vars(call, 0, rank, indices);
    for (int t = 0; t < taps->count; t++) {
        indices[k] = taps->positions[t];
        const opf_expr *tap = opf_call_convert(call, compute, opf_call_load(call, tensor, indices));
        const opf_expr *term = taps->count == 1 ? tap : opf_binary(call->pool, OPF_OP_MUL, tap, taps->weights[t]);
        sum = sum ? opf_binary(call->pool, OPF_OP_ADD, sum, term) : term;
    }
    return sum;
}

/* A pass along each resized axis, the last axis first: a line of the input that several lines of the output read is interpolated once. */
static const opf_expr *in_passes(opf_call *call, const opf_resize *resize, const tap_list *taps, opf_dtype compute) {
    opf_dim extents[OPF_MAX_RANK];
    const opf_expr *value = NULL;
    int tensor = 0;
    opf_call_dims(call, 0, extents);
    for (int k = resize->rank - 1; k >= 0; k--) {
        if (resize->axes[k].kept) continue;
        if (value) tensor = opf_call_map(call, "pass", resize->rank, extents, value);
        extents[k] = resize->axes[k].output;
        value = weighted(call, tensor, resize->rank, &taps[k], k, compute);
    }
    return value ? value : opf_call_convert(call, compute, opf_call_load_same(call, 0));
}

static opf_status interpolated(opf_call *call, const opf_resize *resize, opf_dtype compute) {
    tap_list taps[OPF_MAX_RANK];
    int resized = 0, most = resize->mode == OPF_RESIZE_LINEAR ? MOST_LINEAR_AXES : MOST_CUBIC_AXES;
    opf_domain domain = output_domain(call, resize);
    for (int k = 0; k < resize->rank; k++) {
        if (resize->axes[k].kept) continue;
        taps[k] = taps_of(call, resize, &resize->axes[k], compute, domain);
        resized++;
    }
    if (resized > most) {
        opf_call_error(call, "unsupported", "at most %d axes can be interpolated at once, and %d are", most, resized);
        opf_call_hint(call, "an axis of open size beside a fixed target counts; pin those that keep their size (--shape, --dim)");
        return OPF_ERROR_INPUT;
    }
    return finish(call, resize, in_passes(call, resize, taps, compute));
}

/* ---- antialias ---- */

/* The weight at distance |position - coordinate| of the filter, stretched where the axis shrinks: `narrow` = min(scale, 1). */
static const opf_expr *filter_weight(opf_call *call, const opf_resize *resize, const opf_resize_axis *axis, const opf_expr *position, opf_fraction narrow, opf_dtype compute) {
    opf_pool *pool = call->pool;
    opf_fraction x = axis->coordinate;
    const opf_expr *distance = opf_sub(pool, opf_mul(pool, position, x.denominator), x.numerator);
    const opf_expr *steps = opf_mul(pool, distance, narrow.numerator), *unit = opf_mul(pool, x.denominator, narrow.denominator);
    const opf_expr *d = opf_unary(pool, OPF_OP_ABS, quotient(call, compute, steps, unit));
    const opf_expr *zero = opf_real(pool, compute, 0), *one = opf_real(pool, compute, 1);
    if (resize->mode == OPF_RESIZE_LINEAR) return opf_binary(pool, OPF_OP_MAX, opf_binary(pool, OPF_OP_SUB, one, d), zero);
    const opf_expr *outer = opf_select(pool, opf_binary(pool, OPF_OP_LT, d, opf_real(pool, compute, 2)), opf_cubic_far(call, d, resize->cubic_coefficient), zero);
    return opf_select(pool, opf_binary(pool, OPF_OP_LE, d, one), opf_cubic_near(call, d, resize->cubic_coefficient), outer);
}

/* One pass: sums `tensor` along `axis` with normalised weights. Stages: the weights' sums, the weighted sums, their quotient. */
static int antialias_pass(opf_call *call, const opf_resize *resize, int k, int tensor, opf_dtype compute) {
    opf_pool *pool = call->pool;
    const opf_resize_axis *axis = &resize->axes[k];
    const opf_expr *one = opf_call_int(call, 1), *support = opf_call_int(call, resize->mode == OPF_RESIZE_LINEAR ? 1 : 2);
    opf_fraction narrow = {opf_min(pool, axis->scale.numerator, axis->scale.denominator), axis->scale.denominator};
    opf_dim half = opf_ceildiv(pool, opf_mul(pool, support, narrow.denominator), narrow.numerator), width = opf_mul(pool, opf_call_int(call, 2), half);
    opf_dim extents[OPF_MAX_RANK + 1];
    opf_call_dims(call, tensor, extents);
    extents[k] = axis->output;
    extents[resize->rank] = width;
    const opf_expr *start = opf_add(pool, floor_of(call, axis->coordinate), opf_sub(pool, one, half));
    const opf_expr *position = opf_add(pool, start, opf_call_var(call, resize->rank));
    const opf_expr *weight = filter_weight(call, resize, axis, position, narrow, compute);
    const opf_expr *exists = opf_call_and(call, opf_call_at_most(call, opf_call_int(call, 0), position), opf_call_less(call, position, axis->input));
    if (resize->exclude_outside) weight = opf_select(pool, exists, weight, opf_real(pool, compute, 0));
    const opf_expr *variables[OPF_MAX_RANK + 1] = {0}; /* the sum of weights knows the axis and the taps alone */
    variables[k] = opf_call_var(call, 0);
    variables[resize->rank] = opf_call_var(call, 1);
    int sums = opf_call_stage(call, "weights", 1, 1, (opf_dim[]){axis->output, width}, NULL, OPF_COMBINE_SUM, compute, compute, opf_expr_bind(pool, weight, resize->rank + 1, variables), NULL);
    const opf_expr *indices[OPF_MAX_RANK];
    opf_call_vars(call, 0, resize->rank, indices);
    indices[k] = opf_call_clamp(call, position, axis->input);
    const opf_expr *term = opf_binary(pool, OPF_OP_MUL, opf_call_convert(call, compute, opf_call_load(call, tensor, indices)), weight);
    int pass = opf_call_stage(call, "pass", resize->rank, 1, extents, NULL, OPF_COMBINE_SUM, compute, compute, term, NULL);
    const opf_expr *along = opf_call_var(call, k);
    return opf_call_map(call, "normalised", resize->rank, extents, opf_binary(pool, OPF_OP_DIV, opf_call_load_same(call, pass), opf_call_load(call, sums, &along)));
}

static opf_status antialiased(opf_call *call, const opf_resize *resize, opf_dtype compute) {
    int tensor = 0;
    for (int k = 0; k < resize->rank; k++)
        if (!resize->axes[k].kept) tensor = antialias_pass(call, resize, k, tensor, compute);
    return finish(call, resize, opf_call_load_same(call, tensor));
}

opf_status opf_call_resample(opf_call *call, const opf_resize *resize) {
    if (call->failed) return OPF_ERROR_INPUT;
    if (resize->rank == 0 || resize->rank >= OPF_MAX_RANK) return opf_call_error(call, "shape", "an input of rank %d cannot be resized", resize->rank);
    opf_dtype dtype = opf_call_dtype(call, 0), compute = opf_dtype_is_float(dtype) ? opf_call_compute(dtype) : OPF_FLOAT32;
    if (resize->mode == OPF_RESIZE_NEAREST) return nearest(call, resize);
    if (!opf_dtype_is_float(dtype) && !opf_dtype_is_integer(dtype)) return opf_call_error(call, "type", "%s cannot be interpolated", opf_dtype_name(dtype));
    return resize->antialias ? antialiased(call, resize, compute) : interpolated(call, resize, compute);
}
