/* Resize and Upsample: sizes, scales and coordinates of each axis. */
#include "ops/resize.h"

#include <math.h>
#include <string.h>

#include "ops/content.h"
#include "ops/families.h"

typedef enum coordinate_mode {
    HALF_PIXEL, HALF_PIXEL_SYMMETRIC, PYTORCH_HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, TF_HALF_PIXEL_FOR_NN, TF_CROP_AND_RESIZE
} coordinate_mode;

typedef enum aspect_policy { STRETCH, NOT_LARGER, NOT_SMALLER } aspect_policy;

static const char *const coordinate_names[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
static const char *const nearest_names[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
static const char *const mode_names[] = {"nearest", "linear", "cubic", NULL};
static const char *const policy_names[] = {"stretch", "not_larger", "not_smaller", NULL};

/* The position of the attribute's text in a list; 0, which is the default of each, where it is absent. */
static int choice(opf_call *call, const char *attribute, const char *const *names) {
    const char *given = opf_node_string(call->node, attribute, names[0]);
    for (int k = 0; names[k]; k++)
        if (strcmp(given, names[k]) == 0) return k;
    opf_call_error(call, "attribute", "%s '%s' is not supported", attribute, given);
    return 0;
}

/* ---- fractions ---- */

enum { LARGEST_TERM = 1 << 24 }; /* of a fraction that stands for a float32 */

static opf_fraction fraction(const opf_expr *numerator, const opf_expr *denominator) { return (opf_fraction){numerator, denominator}; }

static opf_fraction fraction_mul(opf_call *call, opf_fraction a, opf_fraction b) {
    return fraction(opf_mul(call->pool, a.numerator, b.numerator), opf_mul(call->pool, a.denominator, b.denominator));
}

static opf_fraction reduced(opf_call *call, opf_fraction f) {
    int64_t numerator, denominator;
    if (!opf_is_int(f.numerator, &numerator) || !opf_is_int(f.denominator, &denominator) || denominator == 0) return f;
    int64_t divisor = opf_greatest_divisor(numerator, denominator);
    return divisor > 1 ? fraction(opf_call_int(call, numerator / divisor), opf_call_int(call, denominator / divisor)) : f;
}

/* The first convergent of the value's continued fraction that rounds to it in float32. */
static bool simplest_fraction(opf_call *call, double value, opf_fraction *out) {
    if (!isfinite(value) || fabs(value) >= LARGEST_TERM) return false;
    int64_t p[2] = {1, (int64_t)floor(value)}, q[2] = {0, 1};
    double rest = value - floor(value);
    for (int step = 0; step < 64 && (float)((double)p[1] / (double)q[1]) != (float)value; step++) {
        double inverse = 1 / rest, term = floor(inverse);
        if (!isfinite(inverse) || term >= LARGEST_TERM) return false;
        int64_t next_p = (int64_t)term * p[1] + p[0], next_q = (int64_t)term * q[1] + q[0];
        if (next_q > LARGEST_TERM) return false;
        p[0] = p[1], q[0] = q[1], p[1] = next_p, q[1] = next_q;
        rest = inverse - term;
    }
    *out = fraction(opf_call_int(call, p[1]), opf_call_int(call, q[1]));
    return true;
}

/* A floating expression of sizes as a fraction of integers: constants, casts, products, quotients. */
static bool fraction_of(opf_call *call, const opf_expr *e, opf_fraction *out) {
    opf_fraction a, b;
    const opf_expr *one = opf_call_int(call, 1);
    if (e->kind == OPF_EXPR_FLOAT) return simplest_fraction(call, e->real, out);
    if (opf_dtype_is_integer((opf_dtype)e->dtype)) {
        *out = fraction(opf_call_convert(call, OPF_INT64, e), one);
        return true;
    }
    if (e->kind == OPF_EXPR_CAST) return e->args[0]->dtype != OPF_BOOL && fraction_of(call, e->args[0], out);
    if (e->kind != OPF_EXPR_BINARY || (e->op != OPF_OP_MUL && e->op != OPF_OP_DIV)) return false;
    if (!fraction_of(call, e->args[0], &a) || !fraction_of(call, e->args[1], &b)) return false;
    if (e->op == OPF_OP_DIV) b = fraction(b.denominator, b.numerator);
    *out = reduced(call, fraction_mul(call, a, b));
    return true;
}

/* ---- what the node gives: axes, sizes or scales, region ---- */

/* The elements of an input as fractions; -1 where it is absent or empty, -2 where that was an error. */
static int read_fractions(opf_call *call, int input, const char *what, opf_fraction **out) {
    opf_value *value = opf_call_input(call, input);
    if (!value || (value->rank == 1 && opf_is_value(value->dims[0], 0))) return -1;
    const opf_expr *const *content = opf_value_content(value);
    *out = OPF_ARRAY(call->arena, opf_fraction, value->content_count + 1);
    for (int64_t k = 0; content && k < value->content_count; k++) {
        if (fraction_of(call, content[k], &(*out)[k])) continue;
        opf_call_error(call, "unsupported", "element %lld of %s is no ratio of sizes", (long long)k, what);
        return -2;
    }
    if (content) return (int)value->content_count;
    opf_call_unknown(call, input);
    return -2;
}

/* The axes that sizes, scales and region speak of. */
static int read_axes(opf_call *call, int rank, int *axes) {
    int count = opf_call_axes(call, "axes", -1, rank, axes);
    if (count >= 0) return count;
    for (int k = 0; k < rank; k++) axes[k] = k;
    return rank;
}

static bool set_scale(opf_call *call, opf_resize_axis *axis, opf_fraction scale) {
    int64_t numerator, denominator;
    bool constant = opf_is_int(scale.numerator, &numerator) && opf_is_int(scale.denominator, &denominator);
    if (constant && (numerator <= 0 || denominator <= 0)) {
        opf_call_error(call, "shape", "a scale must be positive");
        return false;
    }
    axis->scale = scale;
    axis->output = opf_floordiv(call->pool, opf_mul(call->pool, axis->input, scale.numerator), scale.denominator);
    return true;
}

/* One scale for all axes, the smallest or the largest that the sizes ask for; sizes are rounded half up. */
static void keep_aspect(opf_call *call, opf_resize *resize, const int *axes, int count, aspect_policy policy) {
    opf_pool *pool = call->pool;
    opf_fraction scale = resize->axes[axes[0]].scale;
    for (int k = 1; k < count; k++) {
        opf_fraction other = resize->axes[axes[k]].scale;
        const opf_expr *left = opf_mul(pool, other.numerator, scale.denominator), *right = opf_mul(pool, scale.numerator, other.denominator);
        const opf_expr *better = policy == NOT_LARGER ? opf_call_less(call, left, right) : opf_call_less(call, right, left);
        scale = fraction(opf_select(pool, better, other.numerator, scale.numerator), opf_select(pool, better, other.denominator, scale.denominator));
    }
    const opf_expr *two = opf_call_int(call, 2);
    for (int k = 0; k < count; k++) {
        opf_resize_axis *axis = &resize->axes[axes[k]];
        const opf_expr *doubled = opf_mul(pool, two, opf_mul(pool, axis->input, scale.numerator));
        axis->scale = scale;
        axis->output = opf_floordiv(pool, opf_add(pool, doubled, scale.denominator), opf_mul(pool, two, scale.denominator));
    }
}

static bool read_sizes(opf_call *call, opf_resize *resize, const int *axes, int count, int input) {
    const opf_expr *const *sizes;
    int given = opf_call_content(call, input, &sizes);
    if (given < 0) return false;
    if (given != count) {
        opf_call_error(call, "shape", "sizes has %d entries for %d axes", given, count);
        return false;
    }
    for (int k = 0; k < count; k++) {
        opf_resize_axis *axis = &resize->axes[axes[k]];
        if (!opf_call_require_ge(call, sizes[k], opf_call_int(call, 1), "a size must be positive")) return false;
        opf_call_require_ge_always(call, axis->input, opf_call_int(call, 1), "an axis without elements cannot be resized");
        axis->output = sizes[k];
        axis->scale = reduced(call, fraction(sizes[k], axis->input));
    }
    aspect_policy policy = (aspect_policy)choice(call, "keep_aspect_ratio_policy", policy_names);
    if (policy != STRETCH && count > 0) keep_aspect(call, resize, axes, count, policy);
    return !call->failed;
}

static bool apply_scales(opf_call *call, opf_resize *resize, const int *axes, int count, const opf_fraction *scales, int given) {
    if (given != count) {
        opf_call_error(call, "shape", "scales has %d entries for %d axes", given, count);
        return false;
    }
    for (int k = 0; k < count; k++)
        if (!set_scale(call, &resize->axes[axes[k]], scales[k])) return false;
    return true;
}

/* ---- coordinates ---- */

/* Does the output have exactly the size that the scale asks for, before rounding? */
static bool is_exact(opf_call *call, const opf_resize_axis *axis) {
    return opf_expr_prove_eq(call->pool, opf_mul(call->pool, axis->input, axis->scale.numerator), opf_mul(call->pool, axis->output, axis->scale.denominator));
}

/* `several` where the output has more than one position, else `single`. */
static opf_fraction by_positions(opf_call *call, opf_dim output, opf_fraction several, opf_fraction single) {
    if (opf_is_value(output, 1)) return single;
    if (opf_is_int(output, NULL)) return several;
    const opf_expr *many = opf_call_less(call, opf_call_int(call, 1), output);
    return fraction(opf_select(call->pool, many, several.numerator, single.numerator), opf_select(call->pool, many, several.denominator, single.denominator));
}

/* (2 i + 1) / (2 scale) - 1 / 2, or without the last term. */
static opf_fraction half_pixel(opf_call *call, const opf_resize_axis *axis, const opf_expr *i, bool shifted) {
    opf_pool *pool = call->pool;
    const opf_expr *two = opf_call_int(call, 2);
    const opf_expr *centre = opf_mul(pool, opf_add(pool, opf_mul(pool, two, i), opf_call_int(call, 1)), axis->scale.denominator);
    return fraction(shifted ? opf_sub(pool, centre, axis->scale.numerator) : centre, opf_mul(pool, two, axis->scale.numerator));
}

/* As half_pixel, about the centre of the output as the scale asks for it rather than as it was rounded. */
static opf_fraction half_pixel_symmetric(opf_call *call, const opf_resize_axis *axis, const opf_expr *i) {
    opf_pool *pool = call->pool;
    opf_fraction plain = half_pixel(call, axis, i, true);
    if (is_exact(call, axis)) return plain;
    const opf_expr *asked = opf_mul(pool, axis->input, axis->scale.numerator), *rounded = opf_mul(pool, axis->output, axis->scale.denominator);
    return fraction(opf_add(pool, plain.numerator, opf_sub(pool, asked, rounded)), plain.denominator);
}

/* i * (input - 1) / (asked output - 1), where the size asked for is what the scale says before it is rounded to whole
 * positions: so ONNX's own test data wants it. 0 for an output of one position. */
static opf_fraction align_corners(opf_call *call, const opf_resize_axis *axis, const opf_expr *i) {
    opf_pool *pool = call->pool;
    const opf_expr *one = opf_call_int(call, 1), *along = opf_mul(pool, i, opf_sub(pool, axis->input, one));
    if (opf_is_value(axis->output, 1)) return fraction(opf_call_int(call, 0), one);
    if (is_exact(call, axis)) return fraction(along, opf_max(pool, opf_sub(pool, axis->output, one), one));
    const opf_expr *asked = opf_sub(pool, opf_mul(pool, axis->input, axis->scale.numerator), axis->scale.denominator);
    return fraction(opf_mul(pool, along, axis->scale.denominator), opf_max(pool, asked, one));
}

/* [start, end] of the region, in fractions of input - 1, spread over the output; its centre for one position. */
static opf_fraction crop(opf_call *call, const opf_resize_axis *axis, const opf_expr *i, opf_fraction start, opf_fraction end) {
    opf_pool *pool = call->pool;
    const opf_expr *one = opf_call_int(call, 1), *two = opf_call_int(call, 2);
    opf_dim span = opf_sub(pool, axis->input, one), steps = opf_sub(pool, axis->output, one);
    const opf_expr *from = opf_mul(pool, start.numerator, end.denominator), *to = opf_mul(pool, end.numerator, start.denominator);
    const opf_expr *unit = opf_mul(pool, start.denominator, end.denominator);
    opf_fraction centre = reduced(call, fraction(opf_mul(pool, opf_add(pool, from, to), span), opf_mul(pool, unit, two)));
    const opf_expr *along = opf_add(pool, opf_mul(pool, from, steps), opf_mul(pool, i, opf_sub(pool, to, from)));
    return by_positions(call, axis->output, fraction(opf_mul(pool, along, span), opf_mul(pool, unit, opf_max(pool, steps, one))), centre);
}

static opf_fraction coordinate(opf_call *call, const opf_resize_axis *axis, coordinate_mode mode, int variable) {
    const opf_expr *i = opf_call_var(call, variable);
    switch (mode) {
    case HALF_PIXEL: return half_pixel(call, axis, i, true);
    case HALF_PIXEL_SYMMETRIC: return half_pixel_symmetric(call, axis, i);
    case PYTORCH_HALF_PIXEL: return by_positions(call, axis->output, half_pixel(call, axis, i, true), fraction(opf_call_int(call, 0), opf_call_int(call, 1)));
    case ALIGN_CORNERS: return align_corners(call, axis, i);
    case TF_HALF_PIXEL_FOR_NN: return half_pixel(call, axis, i, false);
    default: return fraction(opf_mul(call->pool, i, axis->scale.denominator), axis->scale.numerator);
    }
}

/* Fills every axis: regions of tf_crop_and_resize from `roi`, starts before ends. */
static bool set_coordinates(opf_call *call, opf_resize *resize, coordinate_mode mode, const int *axes, int count, int roi_input) {
    opf_fraction *roi = NULL;
    bool crops = mode == TF_CROP_AND_RESIZE;
    if (crops && read_fractions(call, roi_input, "roi", &roi) != 2 * count) {
        if (!call->failed) opf_call_error(call, "shape", "roi needs a start and an end for each of %d axes", count);
        return false;
    }
    for (int k = 0; k < count; k++) {
        opf_resize_axis *axis = &resize->axes[axes[k]];
        opf_fraction start = crops ? reduced(call, roi[k]) : axis->scale, end = crops ? reduced(call, roi[count + k]) : axis->scale;
        bool whole = !crops || (opf_is_value(start.numerator, 0) && opf_is_value(end.numerator, 1) && opf_is_value(end.denominator, 1));
        axis->kept = whole && axis->output == axis->input && is_exact(call, axis);
        if (!axis->kept) axis->coordinate = crops ? crop(call, axis, opf_call_var(call, axes[k]), start, end) : coordinate(call, axis, mode, axes[k]);
    }
    return true;
}

static void start_resize(opf_call *call, opf_resize *resize) {
    *resize = (opf_resize){.rank = opf_call_rank(call, 0)};
    for (int k = 0; k < resize->rank; k++) {
        opf_dim extent = opf_call_dim(call, 0, k);
        resize->axes[k] = (opf_resize_axis){.input = extent, .output = extent, .kept = true};
    }
}

/* ---- entries ---- */

/* Before opset 11: scales only, asymmetric coordinates. */
static opf_status resize_by_scales(opf_call *call, const opf_fraction *scales, int count) {
    opf_resize resize;
    int axes[OPF_MAX_RANK];
    start_resize(call, &resize);
    if (strcmp(opf_node_string(call->node, "mode", "nearest"), "bilinear") == 0) resize.mode = OPF_RESIZE_LINEAR;
    else resize.mode = (opf_resize_mode)choice(call, "mode", mode_names);
    resize.nearest = OPF_NEAREST_SIMPLE;
    int n_axes = read_axes(call, resize.rank, axes);
    if (call->failed || !apply_scales(call, &resize, axes, n_axes, scales, count) || !set_coordinates(call, &resize, ASYMMETRIC, axes, n_axes, -1)) return OPF_ERROR_INPUT;
    return opf_call_resample(call, &resize);
}

/* Height and width of four axes. */
static opf_status build_upsample_1(opf_call *call) {
    static const char *const names[] = {"height_scale", "width_scale"};
    opf_fraction scales[4];
    if (!opf_call_check_rank(call, 0, 4, 4, "the input")) return OPF_ERROR_INPUT;
    for (int k = 0; k < 2; k++) {
        double scale = opf_node_float(call->node, names[k], 0);
        scales[k] = fraction(opf_call_int(call, 1), opf_call_int(call, 1));
        if (!(scale >= 1) || !simplest_fraction(call, scale, &scales[2 + k])) return opf_call_error(call, "attribute", "%s must be given, and at least 1", names[k]);
    }
    return resize_by_scales(call, scales, 4);
}

static opf_status build_upsample_7(opf_call *call) {
    const opf_attr *attr = opf_node_attr(call->node, "scales");
    if (!attr || attr->kind != OPF_ATTR_FLOATS) return opf_call_error(call, "attribute", "scales are missing");
    if (attr->count > OPF_MAX_RANK) return opf_call_error(call, "attribute", "scales has %zu entries", attr->count);
    opf_fraction scales[OPF_MAX_RANK];
    for (size_t k = 0; k < attr->count; k++)
        if (!simplest_fraction(call, attr->floats[k], &scales[k])) return opf_call_error(call, "attribute", "scale %g is out of range", (double)attr->floats[k]);
    return resize_by_scales(call, scales, (int)attr->count);
}

static opf_status build_resize_10(opf_call *call) {
    opf_fraction *scales = NULL;
    int count = read_fractions(call, 1, "scales", &scales);
    if (count == -1) return opf_call_error(call, "shape", "scales are empty");
    return count < 0 ? OPF_ERROR_INPUT : resize_by_scales(call, scales, count);
}

static opf_status build_resize_11(opf_call *call) {
    opf_resize resize;
    int axes[OPF_MAX_RANK];
    start_resize(call, &resize);
    coordinate_mode coordinates = (coordinate_mode)choice(call, "coordinate_transformation_mode", coordinate_names);
    resize.mode = (opf_resize_mode)choice(call, "mode", mode_names);
    resize.nearest = (opf_resize_nearest)choice(call, "nearest_mode", nearest_names);
    resize.cubic_coefficient = opf_node_float(call->node, "cubic_coeff_a", -0.75);
    resize.antialias = opf_node_int(call->node, "antialias", 0) != 0 && resize.mode != OPF_RESIZE_NEAREST;
    resize.exclude_outside = opf_node_int(call->node, "exclude_outside", 0) != 0;
    resize.extrapolates = coordinates == TF_CROP_AND_RESIZE;
    resize.extrapolation_value = opf_node_float(call->node, "extrapolation_value", 0);
    int n_axes = read_axes(call, resize.rank, axes);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_fraction *scales = NULL;
    int count = read_fractions(call, 2, "scales", &scales);
    if (count == -2) return OPF_ERROR_INPUT;
    if (count == -1 && !opf_call_input(call, 3)) return opf_call_error(call, "shape", "neither scales nor sizes are given");
    bool read = count >= 0 ? apply_scales(call, &resize, axes, n_axes, scales, count) : read_sizes(call, &resize, axes, n_axes, 3);
    if (!read || !set_coordinates(call, &resize, coordinates, axes, n_axes, 1)) return OPF_ERROR_INPUT;
    return opf_call_resample(call, &resize);
}

const opf_op opf_ops_resize[] = {
    {"", "Upsample", 1, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_upsample_1, NULL},
    {"", "Upsample", 7, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_upsample_7, NULL},
    {"", "Upsample", 9, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_resize_10, NULL},
    {"", "Resize", 10, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_resize_10, NULL},
    {"", "Resize", 11, 1, 4, 1, OPF_KIND_INJECTIVE, 0, build_resize_11, NULL},
};
const size_t opf_ops_resize_count = OPF_COUNT(opf_ops_resize);
