/* Pooling over regions that data decide: RoiAlign, MaxRoiPool. */
#include <math.h>
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"

/* Variables of all stages: region, channel, row and column of the result; then the reduced ones, rows before columns. */
enum { REGION, CHANNEL, ROW, COLUMN, INNER_ROW, INNER_COLUMN };

static const char *const names[] = {"r", "c", "h", "w", "y", "x"};

/* A positive size from an attribute. */
static opf_dim pooled_size(opf_call *call, int64_t given, const char *name) {
    if (given < 1 || given > INT32_MAX) opf_call_error(call, "attribute", "%s is %lld, and must be at least 1", name, (long long)given);
    return opf_call_int(call, given < 1 ? 1 : given);
}

/* ---- RoiAlign: X [n, c, h, w], rois [r, 4] as x1, y1, x2, y2, batch_indices [r] ---- */

typedef struct alignment {
    opf_dtype compute;
    bool half_pixel, largest;
    int64_t ratio;      /* samples along one side of a bin, 0: as many as the bin has elements */
    double scale;
    opf_dim pooled[2];  /* rows, columns */
    int first, bin;     /* stages [r, 2]: where the region starts, how large a bin is; rows before columns */
    int samples;        /* stage [r, 2], int64 */
} alignment;

static bool read_alignment(opf_call *call, alignment *a) {
    const char *mode = opf_node_string(call->node, "mode", "avg");
    const char *transform = opf_node_string(call->node, "coordinate_transformation_mode", call->op->since >= 16 ? "half_pixel" : "output_half_pixel");
    a->compute = opf_call_compute(opf_call_dtype(call, 0));
    a->largest = strcmp(mode, "max") == 0;
    a->half_pixel = strcmp(transform, "half_pixel") == 0;
    a->ratio = opf_node_int(call->node, "sampling_ratio", 0);
    a->scale = opf_node_float(call->node, "spatial_scale", 1);
    a->pooled[0] = pooled_size(call, opf_node_int(call->node, "output_height", 1), "output_height");
    a->pooled[1] = pooled_size(call, opf_node_int(call->node, "output_width", 1), "output_width");
    if (!a->largest && strcmp(mode, "avg") != 0) opf_call_error(call, "attribute", "mode '%s' is not supported", mode);
    if (!a->half_pixel && strcmp(transform, "output_half_pixel") != 0) opf_call_error(call, "attribute", "coordinate_transformation_mode '%s' is not supported", transform);
    if (a->ratio < 0 || a->ratio > INT32_MAX) opf_call_error(call, "attribute", "sampling_ratio is %lld", (long long)a->ratio);
    return !call->failed;
}

/* Corner `corner` (0: first, 1: last) of the region at v0, along v1 (0: rows, 1: columns), in the input's elements. */
static const opf_expr *corner(opf_call *call, const alignment *a, int corner) {
    opf_pool *pool = call->pool;
    const opf_expr *at[] = {opf_var(pool, 0), opf_sub(pool, opf_int(pool, 2 * corner + 1), opf_var(pool, 1))};
    const opf_expr *given = opf_call_convert(call, a->compute, opf_call_load(call, 1, at));
    const opf_expr *scaled = opf_binary(pool, OPF_OP_MUL, given, opf_real(pool, a->compute, a->scale));
    return opf_binary(pool, OPF_OP_SUB, scaled, opf_real(pool, a->compute, a->half_pixel ? 0.5 : 0));
}

static void regions(opf_call *call, alignment *a) {
    opf_pool *pool = call->pool;
    opf_dim extents[] = {opf_call_dim(call, 1, 0), opf_int(pool, 2)};
    const opf_expr *span = opf_binary(pool, OPF_OP_SUB, corner(call, a, 1), corner(call, a, 0)), *one = opf_real(pool, a->compute, 1);
    if (!a->half_pixel) span = opf_binary(pool, OPF_OP_MAX, span, one);
    const opf_expr *bins = opf_select(pool, opf_binary(pool, OPF_OP_EQ, opf_var(pool, 1), opf_int(pool, 0)), opf_cast(pool, a->compute, a->pooled[0]), opf_cast(pool, a->compute, a->pooled[1]));
    a->first = opf_call_map(call, "first", 2, extents, corner(call, a, 0));
    a->bin = opf_call_map(call, "bin", 2, extents, opf_binary(pool, OPF_OP_DIV, span, bins));
    const opf_expr *number = a->ratio ? opf_int(pool, a->ratio) : opf_cast(pool, OPF_INT64, opf_unary(pool, OPF_OP_CEIL, opf_call_load_same(call, a->bin)));
    a->samples = opf_call_map(call, "samples", 2, extents, number);
}

static const opf_expr *of_side(opf_call *call, int stage, int side) {
    const opf_expr *at[] = {opf_var(call->pool, REGION), opf_int(call->pool, side)};
    return opf_call_load(call, stage, at);
}

/* The coordinate of sample number `sample` (floating) of the result's row (side 0) or column (1). */
static const opf_expr *coordinate(opf_call *call, const alignment *a, int side, const opf_expr *sample) {
    opf_pool *pool = call->pool;
    const opf_expr *bin = of_side(call, a->bin, side), *start = of_side(call, a->first, side), *position = opf_cast(pool, a->compute, opf_var(pool, ROW + side));
    const opf_expr *step = opf_binary(pool, OPF_OP_DIV, bin, opf_cast(pool, a->compute, of_side(call, a->samples, side)));
    const opf_expr *middle = opf_binary(pool, OPF_OP_ADD, sample, opf_real(pool, a->compute, 0.5));
    start = opf_binary(pool, OPF_OP_ADD, start, opf_binary(pool, OPF_OP_MUL, position, bin));
    return opf_binary(pool, OPF_OP_ADD, start, opf_binary(pool, OPF_OP_MUL, middle, step));
}

/* One side of a sample: does it lie on the input, which two elements is it between, with which weights. */
typedef struct side { const opf_expr *counts, *inside, *low, *high, *weight_low, *weight_high; } side;

/* Samples are numbered from the first that can lie on the input: a bin may hold more of them than the reduction's extent. */
static const opf_expr *sample_number(opf_call *call, const alignment *a, int k) {
    opf_pool *pool = call->pool;
    const opf_expr *variable = opf_var(pool, INNER_ROW + k), *zero = opf_int(pool, 0);
    if (a->ratio) return variable;
    const opf_expr *bin = of_side(call, a->bin, k), *number = opf_cast(pool, a->compute, of_side(call, a->samples, k));
    const opf_expr *before = opf_binary(pool, OPF_OP_SUB, opf_real(pool, a->compute, -2), coordinate(call, a, k, opf_real(pool, a->compute, -0.5)));
    const opf_expr *skipped = opf_cast(pool, OPF_INT64, opf_unary(pool, OPF_OP_FLOOR, opf_binary(pool, OPF_OP_DIV, opf_binary(pool, OPF_OP_MUL, before, number), bin)));
    return opf_add(pool, variable, opf_max(pool, opf_min(pool, skipped, opf_int(pool, INT32_MAX)), zero));
}

static side side_of(opf_call *call, const alignment *a, int k) {
    opf_pool *pool = call->pool;
    opf_dim extent = opf_call_dim(call, 0, 2 + k), last = opf_sub(pool, extent, opf_int(pool, 1));
    const opf_expr *sample = sample_number(call, a, k), *zero = opf_real(pool, a->compute, 0), *one = opf_real(pool, a->compute, 1);
    const opf_expr *x = coordinate(call, a, k, opf_cast(pool, a->compute, sample));
    side s = {.counts = a->ratio ? NULL : opf_binary(pool, OPF_OP_LT, sample, of_side(call, a->samples, k))};
    const opf_expr *after = opf_binary(pool, OPF_OP_GE, x, opf_real(pool, a->compute, -1)), *before = opf_binary(pool, OPF_OP_LE, x, opf_cast(pool, a->compute, extent));
    s.inside = opf_binary(pool, OPF_OP_AND, after, before);
    x = opf_binary(pool, OPF_OP_MIN, opf_binary(pool, OPF_OP_MAX, x, zero), opf_cast(pool, a->compute, last));
    const opf_expr *base = opf_unary(pool, OPF_OP_FLOOR, x);
    s.low = opf_call_clamp(call, opf_cast(pool, OPF_INT64, base), extent);
    s.high = opf_min(pool, opf_add(pool, s.low, opf_int(pool, 1)), last);
    s.weight_high = opf_binary(pool, OPF_OP_SUB, x, base);
    s.weight_low = opf_binary(pool, OPF_OP_SUB, one, s.weight_high);
    return s;
}

/* The four weighted elements around a sample, summed or, as the operator's text has it, the largest of them. */
static const opf_expr *sampled(opf_call *call, const alignment *a, const side *y, const side *x) {
    opf_pool *pool = call->pool;
    const opf_expr *region = opf_var(pool, REGION), *result = NULL, *zero = opf_real(pool, a->compute, 0);
    const opf_expr *batch = opf_call_clamp(call, opf_call_convert(call, OPF_INT64, opf_call_load(call, 2, &region)), opf_call_dim(call, 0, 0));
    for (int k = 0; k < 4; k++) {
        const opf_expr *at[] = {batch, opf_var(pool, CHANNEL), k < 2 ? y->low : y->high, k % 2 == 0 ? x->low : x->high};
        const opf_expr *weight = opf_binary(pool, OPF_OP_MUL, k < 2 ? y->weight_low : y->weight_high, k % 2 == 0 ? x->weight_low : x->weight_high);
        const opf_expr *term = opf_binary(pool, OPF_OP_MUL, weight, opf_call_convert(call, a->compute, opf_call_load(call, 0, at)));
        result = result ? opf_binary(pool, a->largest ? OPF_OP_MAX : OPF_OP_ADD, result, term) : term;
    }
    return opf_select(pool, opf_binary(pool, OPF_OP_AND, y->inside, x->inside), result, zero);
}

/* Samples of one side that can lie on the input: they are more than half an element apart, or there is one a bin. */
static opf_dim most_samples(opf_call *call, const alignment *a, int k) {
    opf_pool *pool = call->pool;
    if (a->ratio) return opf_int(pool, a->ratio);
    return opf_add(pool, opf_mul(pool, opf_call_dim(call, 0, 2 + k), opf_int(pool, 2)), opf_int(pool, 6));
}

/* The mean of the samples' sum, or their maximum, which is 0 where a sample lies off the input and for no samples at all. */
static const opf_expr *pooled(opf_call *call, const alignment *a, int reduced) {
    opf_pool *pool = call->pool;
    const opf_expr *value = opf_call_load_same(call, reduced), *zero = opf_real(pool, a->compute, 0);
    if (!a->largest) {
        const opf_expr *count = opf_mul(pool, of_side(call, a->samples, 0), of_side(call, a->samples, 1));
        return opf_binary(pool, OPF_OP_DIV, value, opf_cast(pool, a->compute, opf_max(pool, count, opf_int(pool, 1))));
    }
    if (a->ratio) return value;
    const opf_expr *off = NULL;
    for (int k = 0; k < 2; k++) {
        const opf_expr *first = coordinate(call, a, k, zero), *number = opf_cast(pool, a->compute, of_side(call, a->samples, k));
        const opf_expr *last = coordinate(call, a, k, opf_binary(pool, OPF_OP_SUB, number, opf_real(pool, a->compute, 1)));
        const opf_expr *here = opf_binary(pool, OPF_OP_OR, opf_binary(pool, OPF_OP_LT, first, opf_real(pool, a->compute, -1)), opf_binary(pool, OPF_OP_GT, last, opf_cast(pool, a->compute, opf_call_dim(call, 0, 2 + k))));
        here = opf_binary(pool, OPF_OP_OR, here, opf_binary(pool, OPF_OP_LE, of_side(call, a->samples, k), opf_int(pool, 0)));
        off = off ? opf_binary(pool, OPF_OP_OR, off, here) : here;
    }
    const opf_expr *none = opf_binary(pool, OPF_OP_EQ, value, opf_real(pool, a->compute, -INFINITY));
    return opf_select(pool, off, opf_select(pool, none, zero, opf_binary(pool, OPF_OP_MAX, value, zero)), value);
}

static opf_status build_roi_align(opf_call *call) {
    opf_pool *pool = call->pool;
    alignment a;
    opf_dtype T = opf_call_dtype(call, 0);
    if (!opf_call_check_rank(call, 0, 4, 4, "the input") || !opf_call_check_rank(call, 1, 2, 2, "rois") || !opf_call_check_rank(call, 2, 1, 1, "batch_indices") ||
        !opf_call_check_integer(call, 2, "batch_indices") || !opf_call_check_same_type(call, 0, 1) || !read_alignment(call, &a))
        return OPF_ERROR_INPUT;
    if (!opf_dtype_is_float(T)) return opf_call_error(call, "type", "%s of %s is not supported", call->op->name, opf_dtype_name(T));
    opf_call_same(call, opf_call_dim(call, 1, 1), opf_int(pool, 4), "a region is four numbers");
    opf_call_same(call, opf_call_dim(call, 2, 0), opf_call_dim(call, 1, 0), "one batch index a region");
    for (int k = 0; k < 4; k++)
        if (k != 1) opf_call_require_ge_always(call, opf_call_dim(call, 0, k), opf_int(pool, 1), "nothing can be sampled from an input without elements");
    if (call->failed) return OPF_ERROR_INPUT;
    regions(call, &a);
    opf_dim extents[] = {opf_call_dim(call, 1, 0), opf_call_dim(call, 0, 1), a.pooled[0], a.pooled[1], most_samples(call, &a, 0), most_samples(call, &a, 1)};
    side y = side_of(call, &a, 0), x = side_of(call, &a, 1);
    const opf_expr *counts = opf_call_and(call, y.counts, x.counts);
    const opf_expr *term = opf_call_choose(call, counts, sampled(call, &a, &y, &x), opf_real(pool, a.compute, a.largest ? -INFINITY : 0));
    int reduced = opf_call_stage(call, a.largest ? "max" : "sum", 4, 2, extents, names, a.largest ? OPF_COMBINE_MAX : OPF_COMBINE_SUM, a.compute, a.compute, term, NULL);
    opf_call_result(call, 0, opf_call_map(call, NULL, 4, extents, opf_call_convert(call, T, pooled(call, &a, reduced))));
    return OPF_OK;
}

/* ---- MaxRoiPool: X [n, c, h, w], rois [r, 5] as batch, x1, y1, x2, y2 ---- */

/* Halves away from 0, as C's round does it. */
static const opf_expr *rounded(opf_call *call, const opf_expr *x) {
    opf_pool *pool = call->pool;
    const opf_expr *half = opf_real(pool, (opf_dtype)x->dtype, 0.5), *size = opf_unary(pool, OPF_OP_FLOOR, opf_binary(pool, OPF_OP_ADD, opf_unary(pool, OPF_OP_ABS, x), half));
    return opf_binary(pool, OPF_OP_MUL, opf_unary(pool, OPF_OP_SIGN, x), size);
}

static const opf_expr *roi_corner(opf_call *call, int column, double scale, opf_dtype compute) {
    const opf_expr *at[] = {opf_var(call->pool, REGION), opf_int(call->pool, column)};
    const opf_expr *given = opf_call_convert(call, compute, opf_call_load(call, 1, at));
    return rounded(call, opf_binary(call->pool, OPF_OP_MUL, given, opf_real(call->pool, compute, scale)));
}

/* Does element v(INNER_ROW + k) belong to the bin v(ROW + k)? */
static const opf_expr *in_bin(opf_call *call, int k, opf_dim pooled, double scale, opf_dtype compute) {
    opf_pool *pool = call->pool;
    const opf_expr *first = roi_corner(call, 2 - k, scale, compute), *last = roi_corner(call, 4 - k, scale, compute), *one = opf_real(pool, compute, 1);
    const opf_expr *span = opf_binary(pool, OPF_OP_MAX, opf_binary(pool, OPF_OP_ADD, opf_binary(pool, OPF_OP_SUB, last, first), one), one);
    const opf_expr *bin = opf_binary(pool, OPF_OP_DIV, span, opf_cast(pool, compute, pooled)), *position = opf_cast(pool, compute, opf_var(pool, ROW + k));
    const opf_expr *start = opf_unary(pool, OPF_OP_FLOOR, opf_binary(pool, OPF_OP_MUL, position, bin));
    const opf_expr *end = opf_unary(pool, OPF_OP_CEIL, opf_binary(pool, OPF_OP_MUL, opf_binary(pool, OPF_OP_ADD, position, one), bin));
    const opf_expr *element = opf_cast(pool, compute, opf_var(pool, INNER_ROW + k));
    const opf_expr *after = opf_binary(pool, OPF_OP_GE, element, opf_binary(pool, OPF_OP_ADD, start, first));
    return opf_binary(pool, OPF_OP_AND, after, opf_binary(pool, OPF_OP_LT, element, opf_binary(pool, OPF_OP_ADD, end, first)));
}

static opf_status build_max_roi_pool(opf_call *call) {
    opf_pool *pool = call->pool;
    const int64_t *shape;
    opf_dtype T = opf_call_dtype(call, 0), compute = opf_call_compute(T);
    double scale = opf_node_float(call->node, "spatial_scale", 1);
    if (!opf_call_check_rank(call, 0, 4, 4, "the input") || !opf_call_check_rank(call, 1, 2, 2, "rois") || !opf_call_check_same_type(call, 0, 1)) return OPF_ERROR_INPUT;
    if (!opf_dtype_is_float(T)) return opf_call_error(call, "type", "%s of %s is not supported", call->op->name, opf_dtype_name(T));
    if (opf_node_ints(call->node, "pooled_shape", &shape) != 2) return opf_call_error(call, "attribute", "pooled_shape must hold two sizes");
    opf_call_same(call, opf_call_dim(call, 1, 1), opf_int(pool, 5), "a region is five numbers");
    opf_call_require_ge_always(call, opf_call_dim(call, 0, 0), opf_int(pool, 1), "nothing can be pooled from an empty batch");
    opf_dim extents[] = {opf_call_dim(call, 1, 0), opf_call_dim(call, 0, 1), pooled_size(call, shape[0], "pooled_shape"), pooled_size(call, shape[1], "pooled_shape"),
                         opf_call_dim(call, 0, 2), opf_call_dim(call, 0, 3)};
    if (call->failed) return OPF_ERROR_INPUT;
    const opf_expr *batch_at[] = {opf_var(pool, REGION), opf_int(pool, 0)}, *lowest = opf_real(pool, compute, -INFINITY);
    const opf_expr *batch = opf_cast(pool, OPF_INT64, opf_call_convert(call, compute, opf_call_load(call, 1, batch_at)));
    const opf_expr *at[] = {opf_call_clamp(call, batch, opf_call_dim(call, 0, 0)), opf_var(pool, CHANNEL), opf_var(pool, INNER_ROW), opf_var(pool, INNER_COLUMN)};
    const opf_expr *inside = opf_binary(pool, OPF_OP_AND, in_bin(call, 0, extents[ROW], scale, compute), in_bin(call, 1, extents[COLUMN], scale, compute));
    const opf_expr *term = opf_select(pool, inside, opf_call_convert(call, compute, opf_call_load(call, 0, at)), lowest);
    int largest = opf_call_stage(call, "max", 4, 2, extents, names, OPF_COMBINE_MAX, compute, compute, term, NULL);
    const opf_expr *found = opf_call_load_same(call, largest), *empty = opf_binary(pool, OPF_OP_EQ, found, lowest);
    opf_call_result(call, 0, opf_call_map(call, NULL, 4, extents, opf_call_convert(call, T, opf_select(pool, empty, opf_real(pool, compute, 0), found))));
    return OPF_OK;
}

const opf_op opf_ops_roi[] = {
    {"", "RoiAlign", 10, 3, 3, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_roi_align, NULL},
    {"", "RoiAlign", 16, 3, 3, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_roi_align, NULL},
    {"", "MaxRoiPool", 1, 2, 2, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_max_roi_pool, NULL},
};
const size_t opf_ops_roi_count = OPF_COUNT(opf_ops_roi);
