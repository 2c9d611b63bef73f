/* Col2Im: an image as the sum of overlapping blocks. */
#include "ops/families.h"
#include "ops/window.h"

typedef struct block_axis {
    opf_dim image, taps, blocks; /* blocks: positions of the block along the axis */
    int64_t stride, dilation, pad_begin, pad_end;
} block_axis;

static int64_t per_axis(opf_call *call, const char *name, int k, int count, int64_t otherwise, int64_t lowest) {
    const int64_t *values;
    int given = opf_node_ints(call->node, name, &values);
    if (given < 0) return otherwise;
    if (given != count) opf_call_error(call, "attribute", "%s has %d elements, and must have %d", name, given, count);
    else if (values[k] < lowest || values[k] > INT32_MAX) opf_call_error(call, "attribute", "%s holds %lld", name, (long long)values[k]);
    return call->failed ? otherwise : values[k];
}

static bool read_axes(opf_call *call, int *n, block_axis *axes) {
    opf_pool *pool = call->pool;
    const opf_expr *const *image, *const *block, *one = opf_int(pool, 1);
    *n = opf_call_content(call, 1, &image);
    int blocks = opf_call_content(call, 2, &block);
    if (*n < 0 || blocks < 0) return false;
    if (*n != blocks || *n < 1 || *n > OPF_WINDOW_AXES) opf_call_error(call, "shape", "image_shape has %d and block_shape %d elements; both must have one for each of at most %d axes", *n, blocks, OPF_WINDOW_AXES);
    for (int k = 0; k < *n && !call->failed; k++) {
        block_axis *axis = &axes[k];
        axis->image = image[k];
        axis->taps = block[k];
        opf_call_require_ge(call, axis->image, opf_int(pool, 0), "image_shape must not be negative");
        opf_call_require_ge_always(call, axis->taps, one, "block_shape must be positive");
        axis->stride = per_axis(call, "strides", k, *n, 1, 1);
        axis->dilation = per_axis(call, "dilations", k, *n, 1, 1);
        axis->pad_begin = per_axis(call, "pads", k, 2 * *n, 0, 0);
        axis->pad_end = per_axis(call, "pads", *n + k, 2 * *n, 0, 0);
        opf_dim reach = opf_add(pool, opf_mul(pool, opf_sub(pool, axis->taps, one), opf_int(pool, axis->dilation)), one);
        opf_dim room = opf_sub(pool, opf_add(pool, axis->image, opf_int(pool, axis->pad_begin + axis->pad_end)), reach);
        axis->blocks = opf_add(pool, opf_floordiv(pool, room, opf_int(pool, axis->stride)), one);
    }
    return !call->failed;
}

/* Which block lays which tap on position v(2 + k), for the reduce variable v(2 + n + k): where blocks lie dense over the taps
 * of their stride, one tap each; else every tap is asked whether its position falls on it. */
typedef struct placement { const opf_expr *tap, *block, *exists; opf_dim count; } placement;

static placement placement_of(opf_call *call, const block_axis *axis, int n, int k) {
    opf_pool *pool = call->pool;
    const opf_expr *zero = opf_int(pool, 0), *stride = opf_int(pool, axis->stride), *t = opf_var(pool, 2 + n + k);
    const opf_expr *shifted = opf_add(pool, opf_var(pool, 2 + k), opf_int(pool, axis->pad_begin));
    placement p;
    if (axis->dilation == 1) {
        p.count = opf_ceildiv(pool, axis->taps, stride);
        p.tap = opf_add(pool, opf_floormod(pool, shifted, stride), opf_mul(pool, t, stride));
        p.block = opf_sub(pool, opf_floordiv(pool, shifted, stride), t);
        p.exists = opf_call_and(call, opf_call_at_most(call, zero, p.block), opf_call_less(call, p.block, axis->blocks));
        if (!opf_is_value(opf_floormod(pool, axis->taps, stride), 0)) p.exists = opf_call_and(call, p.exists, opf_call_less(call, p.tap, axis->taps));
        return p;
    }
    const opf_expr *spread = opf_sub(pool, shifted, opf_mul(pool, t, opf_int(pool, axis->dilation)));
    p.count = axis->taps;
    p.tap = t;
    p.block = opf_floordiv(pool, spread, stride);
    p.exists = opf_call_and(call, opf_call_at_most(call, zero, spread), opf_call_less(call, spread, opf_mul(pool, axis->blocks, stride)));
    if (axis->stride > 1) p.exists = opf_call_and(call, p.exists, opf_binary(pool, OPF_OP_EQ, opf_floormod(pool, spread, stride), zero));
    return p;
}

/* Input [n, channels * taps, blocks]; the result is [n, channels, image…]. The element at a position is the sum over the
 * taps of the blocks that lie so that the tap falls on it. */
static opf_status build_col2im(opf_call *call) {
    opf_pool *pool = call->pool;
    int n;
    block_axis axes[OPF_WINDOW_AXES];
    opf_dtype T = opf_call_dtype(call, 0), accumulator = opf_call_accumulator(T);
    if (!opf_call_check_rank(call, 0, 3, 3, "the input")) return OPF_ERROR_INPUT;
    if (!read_axes(call, &n, axes)) return call->failed ? OPF_ERROR_INPUT : OPF_ERROR_UNSUPPORTED;
    opf_dim taps = opf_int(pool, 1), blocks = taps, extents[2 + 2 * OPF_WINDOW_AXES] = {opf_call_dim(call, 0, 0)};
    for (int k = 0; k < n; k++) taps = opf_mul(pool, taps, axes[k].taps), blocks = opf_mul(pool, blocks, axes[k].blocks);
    extents[1] = opf_floordiv(pool, opf_call_dim(call, 0, 1), taps);
    opf_call_same(call, opf_mul(pool, extents[1], taps), opf_call_dim(call, 0, 1), "the block's size divides the rows");
    opf_call_same(call, blocks, opf_call_dim(call, 0, 2), "the columns are the blocks that fit into the image");
    const opf_expr *tap = opf_int(pool, 0), *block = tap, *exists = NULL;
    for (int k = 0; k < n; k++) {
        placement p = placement_of(call, &axes[k], n, k);
        extents[2 + k] = axes[k].image;
        extents[2 + n + k] = p.count;
        exists = opf_call_and(call, exists, p.exists);
        tap = opf_add(pool, opf_mul(pool, tap, axes[k].taps), p.tap);
        block = opf_add(pool, opf_mul(pool, block, axes[k].blocks), p.block);
    }
    if (call->failed) return OPF_ERROR_INPUT;
    const opf_expr *at[] = {opf_var(pool, 0), opf_add(pool, opf_mul(pool, opf_var(pool, 1), taps), tap), block};
    const opf_expr *value = opf_call_convert(call, accumulator, opf_call_load(call, 0, at));
    const opf_expr *term = opf_call_choose(call, exists, value, opf_number(pool, accumulator, 0));
    opf_call_result(call, 0, opf_call_stage(call, NULL, 2 + n, n, extents, NULL, OPF_COMBINE_SUM, T, accumulator, term, NULL));
    return OPF_OK;
}

const opf_op opf_ops_blocks[] = {
    {"", "Col2Im", 18, 3, 3, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_col2im, NULL},
};
const size_t opf_ops_blocks_count = OPF_COUNT(opf_ops_blocks);
