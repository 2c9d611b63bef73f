/* Pools: MaxPool, AveragePool, LpPool. Windows as in window.h; the reduction runs over the taps. */
#include "ops/families.h"
#include "ops/quantize.h"
#include "ops/window.h"

enum { POOL_AXES = 2 + OPF_WINDOW_AXES, POOL_DOMAIN = POOL_AXES + OPF_WINDOW_AXES };

/* Domain n, c, output positions; then the taps. */
typedef struct pool_window {
    opf_window window;
    int n_axes;
    opf_dim extents[POOL_DOMAIN];
    const char *names[POOL_DOMAIN];
    const opf_expr *indices[POOL_AXES]; /* of the input element under a tap */
    const opf_expr *inside;             /* does it exist? NULL: always */
} pool_window;

/* A window that lies in padding alone has no elements. */
static bool check_pads(opf_call *call, const opf_window *window) {
    for (int k = 0; k < window->n_axes && window->auto_pad == OPF_PAD_EXPLICIT; k++) {
        const opf_window_axis *axis = &window->axes[k];
        if (opf_call_proves_le(call, axis->reach, axis->pad_begin) || opf_call_proves_le(call, axis->reach, axis->pad_end)) {
            opf_call_error(call, "attribute", "the pads of spatial axis %d must be smaller than the kernel", k);
            return false;
        }
    }
    return true;
}

static bool read_pool(opf_call *call, pool_window *pool) {
    bool ceil_mode = opf_node_int(call->node, "ceil_mode", 0) != 0;
    opf_window *window = &pool->window;
    if (!opf_call_window(call, NULL, window) || !check_pads(call, window) || !opf_call_window_outputs(call, window, ceil_mode)) return false;
    int n = window->n_axes;
    pool->n_axes = 2 + n;
    pool->inside = NULL;
    for (int k = 0; k < 2; k++) {
        pool->extents[k] = opf_call_dim(call, 0, k);
        pool->names[k] = k ? "c" : "n";
        pool->indices[k] = opf_call_var(call, k);
    }
    for (int k = 0; k < n; k++) {
        const opf_window_axis *axis = &window->axes[k];
        pool->extents[2 + k] = axis->output;
        pool->names[2 + k] = opf_window_axis_name(call, "o", k, n);
        pool->extents[2 + n + k] = axis->kernel;
        pool->names[2 + n + k] = opf_window_axis_name(call, "k", k, n);
        const opf_expr *position = opf_window_position(call, axis, opf_call_var(call, 2 + k), opf_window_variable(call, axis->kernel, 2 + n + k));
        pool->indices[2 + k] = position;
        pool->inside = opf_call_and(call, pool->inside, opf_window_inside(call, axis, position));
    }
    return true;
}

static int pool_reduction(opf_call *call, const pool_window *pool, const char *role, opf_combiner combiner, opf_dtype dtype, opf_dtype accumulator,
                          const opf_expr *body, const opf_expr *second) {
    return opf_call_stage(call, role, pool->n_axes, pool->window.n_axes, pool->extents, pool->names, combiner, dtype, accumulator, body, second);
}

static int pool_map(opf_call *call, const pool_window *pool, const char *role, const opf_expr *body) {
    return opf_call_stage(call, role, pool->n_axes, 0, pool->extents, pool->names, OPF_COMBINE_NONE, (opf_dtype)body->dtype, (opf_dtype)body->dtype, body, NULL);
}

static bool check_float(opf_call *call) {
    opf_dtype dtype = opf_call_dtype(call, 0);
    if (opf_dtype_is_float(dtype)) return true;
    opf_call_error(call, "type", "the input must be of a floating type, and is %s", opf_dtype_name(dtype));
    return false;
}

/* ---- MaxPool ---- */

/* The number that every other one of the type beats. */
static const opf_expr *lowest(opf_call *call, opf_dtype dtype) {
    if (opf_dtype_is_float(dtype)) return opf_real(call->pool, dtype, -__builtin_inf());
    if (!opf_dtype_is_signed(dtype)) return opf_int_of(call->pool, dtype, 0);
    return opf_int_of(call->pool, dtype, INT64_MIN >> (64 - opf_dtype_bits(dtype)));
}

/* Position of the input element under a tap in the flattened input; storage_order 1 counts the last two spatial axes
 * column by column. Taps in the padding count as the border's element, which comes first of equals or is never chosen. */
static const opf_expr *flat_index(opf_call *call, const pool_window *pool) {
    opf_pool *expressions = call->pool;
    int n = pool->window.n_axes;
    bool columns_first = opf_node_int(call->node, "storage_order", 0) != 0;
    const opf_expr *flat = opf_add(expressions, opf_mul(expressions, pool->indices[0], opf_call_dim(call, 0, 1)), pool->indices[1]);
    const opf_expr *spatial = opf_call_int(call, 0);
    for (int k = 0; k < n; k++) {
        int axis = columns_first ? n - 1 - k : k;
        const opf_window_axis *window = &pool->window.axes[axis];
        const opf_expr *position = pool->indices[2 + axis];
        if (window->leaves_low) position = opf_max(expressions, position, opf_call_int(call, 0));
        if (window->leaves_high) position = opf_min(expressions, position, opf_sub(expressions, window->input, opf_call_int(call, 1)));
        spatial = opf_add(expressions, opf_mul(expressions, spatial, window->input), position);
        flat = opf_mul(expressions, flat, window->input);
    }
    return opf_add(expressions, flat, spatial);
}

static opf_status build_max_pool(opf_call *call) {
    pool_window pool;
    opf_dtype dtype = opf_call_dtype(call, 0), accumulator = opf_call_compute(dtype);
    if (!opf_dtype_is_float(dtype) && !opf_dtype_is_integer(dtype)) return opf_call_error(call, "type", "the input must be a number, and is %s", opf_dtype_name(dtype));
    if (!read_pool(call, &pool)) return OPF_ERROR_INPUT;
    const opf_expr *element = opf_call_convert(call, accumulator, opf_call_load(call, 0, pool.indices));
    element = opf_call_choose(call, pool.inside, element, lowest(call, accumulator));
    opf_call_result(call, 0, pool_reduction(call, &pool, "max", OPF_COMBINE_MAX, dtype, accumulator, element, NULL));
    if (opf_call_wants(call, 1)) {
        const opf_expr *flat = flat_index(call, &pool);
        opf_call_result(call, 1, pool_reduction(call, &pool, "argmax", OPF_COMBINE_ARGMAX, OPF_INT64, accumulator, element, flat));
    }
    return OPF_OK;
}

/* ---- AveragePool ---- */

/* How many taps of one axis count at output position v(2 + k): all; those in the input; or, with count_include_pad, those
 * in the padded input. */
static const opf_expr *axis_count(opf_call *call, const pool_window *pool, int k, bool include_pad) {
    opf_pool *e = call->pool;
    const opf_window_axis *axis = &pool->window.axes[k];
    const opf_expr *zero = opf_call_int(call, 0), *dilation = opf_call_int(call, axis->dilation);
    const opf_expr *start = opf_window_position(call, axis, opf_call_var(call, 2 + k), zero);
    opf_dim end = include_pad ? opf_add(e, axis->input, axis->pad_end) : axis->input;
    bool cut_high = axis->leaves_high, cut_low = axis->leaves_low && !include_pad;
    if (include_pad) { /* only the windows that ceil_mode adds reach beyond the padding */
        opf_dim last = opf_window_position(call, axis, opf_sub(e, axis->output, opf_call_int(call, 1)), opf_sub(e, axis->kernel, opf_call_int(call, 1)));
        cut_high = cut_high && !opf_call_proves_le(call, opf_add(e, last, opf_call_int(call, 1)), end);
    }
    const opf_expr *above = axis->kernel, *below = zero;
    if (cut_high) above = opf_min(e, above, opf_ceildiv(e, opf_sub(e, end, start), dilation));
    if (cut_low) below = opf_max(e, below, opf_ceildiv(e, opf_sub(e, zero, start), dilation));
    return opf_sub(e, above, below);
}

/* The mean of `element` (0 where there is none) over each window, in the element's type. */
static const opf_expr *averaged(opf_call *call, const pool_window *pool, const opf_expr *element) {
    bool include_pad = opf_node_int(call->node, "count_include_pad", 0) != 0;
    opf_dtype accumulator = (opf_dtype)element->dtype;
    element = opf_call_choose(call, pool->inside, element, opf_real(call->pool, accumulator, 0));
    int sum = pool_reduction(call, pool, "sum", OPF_COMBINE_SUM, accumulator, accumulator, element, NULL);
    const opf_expr *count = NULL;
    for (int k = 0; k < pool->window.n_axes; k++) {
        const opf_expr *factor = opf_cast(call->pool, accumulator, axis_count(call, pool, k, include_pad));
        count = count ? opf_binary(call->pool, OPF_OP_MUL, count, factor) : factor;
    }
    return opf_binary(call->pool, OPF_OP_DIV, opf_call_load_same(call, sum), count);
}

static opf_status build_average_pool(opf_call *call) {
    pool_window pool;
    if (!check_float(call) || !read_pool(call, &pool)) return OPF_ERROR_INPUT;
    opf_dtype dtype = opf_call_dtype(call, 0);
    const opf_expr *mean = averaged(call, &pool, opf_call_convert(call, opf_call_accumulator(dtype), opf_call_load(call, 0, pool.indices)));
    opf_call_result(call, 0, pool_map(call, &pool, "mean", opf_call_convert(call, dtype, mean)));
    return OPF_OK;
}

/* com.microsoft QLinearAveragePool: x, x_scale, x_zero_point, y_scale, y_zero_point */
static opf_status build_qlinear_average_pool(opf_call *call) {
    pool_window pool;
    if (opf_node_int(call->node, "channels_last", 0) != 0) return opf_call_error(call, "unsupported", "channels_last is not supported");
    if (!opf_call_check_quantised(call, 0) || !read_pool(call, &pool)) return OPF_ERROR_INPUT;
    const opf_expr *mean = averaged(call, &pool, opf_call_dequantised(call, opf_call_load(call, 0, pool.indices), 1, 2));
    const opf_expr *value = opf_call_requantised(call, mean, 3, 4, opf_call_dtype(call, 0));
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, pool_map(call, &pool, "mean", value));
    return OPF_OK;
}

/* ---- LpPool ---- */

static opf_status build_lp_pool(opf_call *call) {
    pool_window pool;
    if (!check_float(call) || !read_pool(call, &pool)) return OPF_ERROR_INPUT;
    int64_t p = opf_node_int(call->node, "p", 2);
    if (p < 1 || p > INT32_MAX) return opf_call_error(call, "attribute", "p is %lld; it must be at least 1", (long long)p);
    opf_pool *e = call->pool;
    opf_dtype dtype = opf_call_dtype(call, 0), accumulator = opf_call_accumulator(dtype);
    const opf_expr *element = opf_call_convert(call, accumulator, opf_call_load(call, 0, pool.indices));
    const opf_expr *power = p == 2 ? opf_binary(e, OPF_OP_MUL, element, element) : opf_unary(e, OPF_OP_ABS, element);
    if (p > 2) power = opf_binary(e, OPF_OP_POW, power, opf_real(e, accumulator, (double)p));
    power = opf_call_choose(call, pool.inside, power, opf_real(e, accumulator, 0));
    int sum = pool_reduction(call, &pool, "sum", OPF_COMBINE_SUM, accumulator, accumulator, power, NULL);
    const opf_expr *root = opf_call_load_same(call, sum);
    if (p == 2) root = opf_unary(e, OPF_OP_SQRT, root);
    if (p > 2) root = opf_binary(e, OPF_OP_POW, root, opf_real(e, accumulator, 1.0 / (double)p));
    opf_call_result(call, 0, pool_map(call, &pool, "root", opf_call_convert(call, dtype, root)));
    return OPF_OK;
}

const opf_op opf_ops_pool[] = {
    {"", "MaxPool", 1, 1, 1, 2, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_max_pool, NULL},
    {"", "AveragePool", 1, 1, 1, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_average_pool, NULL},
    {"com.microsoft", "QLinearAveragePool", 1, 4, 5, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_qlinear_average_pool, NULL},
    {"", "LpPool", 2, 1, 1, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_lp_pool, NULL},
};
const size_t opf_ops_pool_count = OPF_COUNT(opf_ops_pool);
