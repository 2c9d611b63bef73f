/* ONNX Runtime's operators on quantised numbers that are no convolutions and no plain products: QLinearAdd and its kin,
 * QGemm, DynamicQuantizeMatMul, MatMulNBits. Elements are computed in float32 and rounded once. */
#include <string.h>

#include "ops/families.h"
#include "ops/product.h"
#include "ops/quantize.h"
#include "ops/reduction.h"

/* ---- element by element ---- */

/* a, a_scale, a_zero_point, b, b_scale, b_zero_point, c_scale, c_zero_point */
static opf_status combined(opf_call *call, opf_scalar_op op) {
    opf_value *operands[] = {opf_call_input(call, 0), opf_call_input(call, 3)};
    opf_dim extents[OPF_MAX_RANK];
    if (!opf_call_check_quantised(call, 0) || !opf_call_check_quantised(call, 3)) return OPF_ERROR_INPUT;
    int rank = opf_call_broadcast(call, 2, operands, extents);
    if (call->failed) return OPF_ERROR_INPUT;
    const opf_expr *a = opf_call_dequantised(call, opf_call_load_broadcast(call, 0, rank, extents), 1, 2);
    const opf_expr *b = opf_call_dequantised(call, opf_call_load_broadcast(call, 3, rank, extents), 4, 5);
    const opf_expr *value = opf_call_requantised(call, opf_binary(call->pool, op, a, b), 6, 7, opf_call_dtype(call, 0));
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, value));
    return OPF_OK;
}

static opf_status build_add(opf_call *call) { return combined(call, OPF_OP_ADD); }
static opf_status build_mul(opf_call *call) { return combined(call, OPF_OP_MUL); }

/* x, x_scale, x_zero_point, y_scale, y_zero_point */
static opf_status finish_map(opf_call *call, const opf_expr *value) {
    value = opf_call_requantised(call, value, 3, 4, opf_call_dtype(call, 0));
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, opf_call_rank(call, 0), opf_call_input(call, 0)->dims, value));
    return OPF_OK;
}

static opf_status build_leaky_relu(opf_call *call) {
    opf_pool *pool = call->pool;
    if (!opf_call_check_quantised(call, 0)) return OPF_ERROR_INPUT;
    const opf_expr *x = opf_call_dequantised(call, opf_call_load_same(call, 0), 1, 2), *alpha = opf_real(pool, OPF_FLOAT32, opf_node_float(call->node, "alpha", (float)0.01));
    const opf_expr *negative = opf_binary(pool, OPF_OP_LT, x, opf_real(pool, OPF_FLOAT32, 0));
    return finish_map(call, opf_select(pool, negative, opf_binary(pool, OPF_OP_MUL, alpha, x), x));
}

static opf_status build_sigmoid(opf_call *call) {
    opf_pool *pool = call->pool;
    if (!opf_call_check_quantised(call, 0)) return OPF_ERROR_INPUT;
    const opf_expr *x = opf_call_dequantised(call, opf_call_load_same(call, 0), 1, 2), *one = opf_real(pool, OPF_FLOAT32, 1);
    const opf_expr *power = opf_unary(pool, OPF_OP_EXP, opf_unary(pool, OPF_OP_NEG, x));
    return finish_map(call, opf_binary(pool, OPF_OP_DIV, one, opf_binary(pool, OPF_OP_ADD, one, power)));
}

/* Before opset 13 (attribute `opset`) over all axes from `axis` on, since then along it alone. */
static opf_status build_softmax(opf_call *call) {
    opf_pool *pool = call->pool;
    int rank = opf_call_rank(call, 0), axes[OPF_MAX_RANK], count = 0;
    bool single = opf_node_int(call->node, "opset", 13) >= 13;
    if (!opf_call_check_quantised(call, 0)) return OPF_ERROR_INPUT;
    int first = opf_call_axis(call, opf_node_int(call->node, "axis", single ? -1 : 1), rank);
    for (int k = first; k < (single ? first + 1 : rank); k++) axes[count++] = k;
    if (call->failed) return OPF_ERROR_INPUT;
    opf_reduction rows = opf_reduction_over(call, 0, count, axes, true);
    const opf_expr *term = opf_call_dequantised(call, opf_reduction_load(call, &rows, 0), 1, 2), *x = opf_call_dequantised(call, opf_call_load_same(call, 0), 1, 2);
    int largest = opf_reduction_stage(call, &rows, "max", OPF_COMBINE_MAX, OPF_FLOAT32, OPF_FLOAT32, term);
    const opf_expr *power = opf_unary(pool, OPF_OP_EXP, opf_binary(pool, OPF_OP_SUB, x, opf_reduction_spread(call, &rows, largest)));
    int powers = opf_call_map(call, "exp", rank, opf_call_input(call, 0)->dims, power);
    int total = opf_reduction_stage(call, &rows, "sum", OPF_COMBINE_SUM, OPF_FLOAT32, OPF_FLOAT32, opf_reduction_load(call, &rows, powers));
    return finish_map(call, opf_binary(pool, OPF_OP_DIV, opf_call_load_same(call, powers), opf_reduction_spread(call, &rows, total)));
}

/* The mean over the spatial axes: all but batch and channels, which stand second or, with channels_last, at the end. */
static opf_status build_global_average(opf_call *call) {
    opf_pool *pool = call->pool;
    int rank = opf_call_rank(call, 0), axes[OPF_MAX_RANK], count = 0;
    bool last = opf_node_int(call->node, "channels_last", 0) != 0;
    if (!opf_call_check_quantised(call, 0) || !opf_call_check_rank(call, 0, 3, OPF_MAX_RANK, "the input")) return OPF_ERROR_INPUT;
    for (int k = last ? 1 : 2; k < (last ? rank - 1 : rank); k++) axes[count++] = k;
    opf_reduction spatial = opf_reduction_over(call, 0, count, axes, true);
    int sum = opf_reduction_stage(call, &spatial, "sum", OPF_COMBINE_SUM, OPF_FLOAT32, OPF_FLOAT32, opf_call_dequantised(call, opf_reduction_load(call, &spatial, 0), 1, 2));
    const opf_expr *mean = opf_binary(pool, OPF_OP_DIV, opf_call_load_same(call, sum), opf_cast(pool, OPF_FLOAT32, opf_reduction_size(call, &spatial)));
    const opf_expr *value = opf_call_requantised(call, mean, 3, 4, opf_call_dtype(call, 0));
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, spatial.n_axes, spatial.extents, value));
    return OPF_OK;
}

/* y_scale, y_zero_point, then x, x_scale, x_zero_point for each operand */
static opf_status build_concat(opf_call *call) {
    opf_pool *pool = call->pool;
    int n = (call->node->n_inputs - 2) / 3;
    if (n < 1 || call->node->n_inputs != 2 + 3 * n) return opf_call_error(call, "arity", "QLinearConcat has %d inputs; operands come with scale and zero point", call->node->n_inputs);
    for (int k = 0; k < n; k++)
        if (!opf_call_input(call, 2 + 3 * k) || !opf_call_input(call, 3 + 3 * k) || !opf_call_check_quantised(call, 2 + 3 * k)) return opf_call_error(call, "arity", "operand %d of QLinearConcat is missing or not quantised", k);
    int rank = opf_call_rank(call, 2), axis = opf_call_axis(call, opf_node_int(call->node, "axis", 0), rank);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim extents[OPF_MAX_RANK], end = opf_int(pool, 0);
    const opf_expr *indices[OPF_MAX_RANK], *value = NULL;
    opf_call_dims(call, 2, extents);
    for (int k = 0; k < n; k++) {
        int x = 2 + 3 * k;
        if (!opf_call_check_rank(call, x, rank, rank, "each operand")) return OPF_ERROR_INPUT;
        for (int i = 0; i < rank; i++)
            if (i != axis) opf_call_same(call, extents[i], opf_call_dim(call, x, i), "the operands agree along the other axes");
        opf_call_vars(call, 0, rank, indices);
        indices[axis] = opf_sub(pool, indices[axis], end);
        const opf_expr *own = opf_call_requantised(call, opf_call_dequantised(call, opf_call_load(call, x, indices), x + 1, x + 2), 0, 1, opf_call_dtype(call, x));
        value = value ? opf_select(pool, opf_call_less(call, opf_var(pool, axis), end), value, own) : own;
        end = opf_add(pool, end, opf_call_dim(call, x, axis));
        if (call->failed) return OPF_ERROR_INPUT;
    }
    extents[axis] = end;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, value));
    return OPF_OK;
}

/* ---- products ---- */

/* One scale, or one for each column of the result, whose last axis is the columns. */
static const opf_expr *column_scale(opf_call *call, int input, int product) {
    int last = opf_call_rank(call, product) - 1;
    const opf_expr *column = opf_call_var(call, last);
    bool several = opf_call_rank(call, input) == 1 && !opf_is_value(opf_call_dim(call, input, 0), 1);
    if (several) opf_call_same(call, opf_call_dim(call, input, 0), opf_call_dim(call, product, last), "one scale a column");
    return opf_call_convert(call, OPF_FLOAT32, several ? opf_call_load(call, input, &column) : opf_call_load_single(call, input, "the scale"));
}

static const opf_expr *plus_bias(opf_call *call, const opf_expr *value, int input, int product) {
    int last = opf_call_rank(call, product) - 1;
    const opf_expr *column = opf_call_var(call, last);
    if (!opf_call_input(call, input) || !opf_call_check_rank(call, input, 1, 1, "the bias")) return value;
    opf_call_same(call, opf_call_dim(call, input, 0), opf_call_dim(call, product, last), "one bias a column");
    return opf_binary(call->pool, OPF_OP_ADD, value, opf_call_convert(call, (opf_dtype)value->dtype, opf_call_load(call, input, &column)));
}

static opf_status finish_product(opf_call *call, int product, const opf_expr *value) {
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim extents[OPF_MAX_RANK];
    opf_call_dims(call, product, extents);
    opf_call_result(call, 0, opf_call_map(call, "scaled", opf_call_rank(call, product), extents, value));
    return OPF_OK;
}

/* a, b, b_scale, b_zero_point, bias: a is quantised as DynamicQuantizeLinear does it. */
static opf_status build_dynamic_matmul(opf_call *call) {
    opf_pool *pool = call->pool;
    if (opf_call_dtype(call, 0) != OPF_FLOAT32) return opf_call_error(call, "type", "DynamicQuantizeMatMul takes float32");
    if (!opf_call_check_quantised(call, 1) || !opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the left operand") || !opf_call_check_rank(call, 1, 2, OPF_MAX_RANK, "the right operand")) return OPF_ERROR_INPUT;
    opf_dynamic_quantised left = opf_call_quantise_dynamically(call);
    opf_operand a = opf_call_operand(call, left.values, true), b = opf_call_operand(call, 1, false);
    a.zero_point = left.zero_point;
    if (opf_call_input(call, 3)) b.zero_point = 3;
    int product = opf_call_product(call, &a, &b, OPF_INT32, OPF_INT32);
    const opf_expr *factor = opf_binary(pool, OPF_OP_MUL, opf_call_load(call, left.scale, NULL), column_scale(call, 2, product));
    const opf_expr *value = opf_binary(pool, OPF_OP_MUL, opf_cast(pool, OPF_FLOAT32, opf_call_load_same(call, product)), factor);
    return finish_product(call, product, plus_bias(call, value, 4, product));
}

/* a, a_scale, a_zero_point, b, b_scale, b_zero_point, c (int32, in units of alpha * a_scale * b_scale), y_scale, y_zero_point;
 * without y_scale the result is float32. */
static opf_status build_qgemm(opf_call *call) {
    opf_pool *pool = call->pool;
    if (!opf_call_check_quantised(call, 0) || !opf_call_check_quantised(call, 3) || !opf_call_check_rank(call, 0, 2, 2, "input a") || !opf_call_check_rank(call, 3, 2, 2, "input b")) return OPF_ERROR_INPUT;
    opf_operand a = opf_call_operand_as(call, 0, true, "transA", ""), b = opf_call_operand_as(call, 3, false, "transB", "");
    if (opf_call_input(call, 2)) a.zero_point = 2;
    if (opf_call_input(call, 5)) b.zero_point = 5;
    int product = opf_call_product(call, &a, &b, OPF_INT32, OPF_INT32);
    const opf_expr *sum = opf_call_load_same(call, product);
    opf_dim extents[2];
    opf_call_dims(call, product, extents);
    if (opf_call_input(call, 6)) {
        if (opf_call_dtype(call, 6) != OPF_INT32 || !opf_call_check_rank(call, 6, 0, 2, "input c")) return opf_call_error(call, "type", "c must be int32, of at most two axes");
        int rank = opf_call_rank(call, 6);
        for (int k = 0; k < rank; k++)
            if (!opf_is_value(opf_call_dim(call, 6, k), 1)) opf_call_same(call, extents[2 - rank + k], opf_call_dim(call, 6, k), "the sizes of c and of the product");
        if (call->failed) return OPF_ERROR_INPUT;
        sum = opf_binary(pool, OPF_OP_ADD, sum, opf_call_load_broadcast(call, 6, 2, extents));
    }
    const opf_expr *factor = opf_binary(pool, OPF_OP_MUL, column_scale(call, 1, product), column_scale(call, 4, product));
    factor = opf_binary(pool, OPF_OP_MUL, factor, opf_real(pool, OPF_FLOAT32, opf_node_float(call->node, "alpha", 1)));
    const opf_expr *value = opf_binary(pool, OPF_OP_MUL, opf_cast(pool, OPF_FLOAT32, sum), factor);
    if (opf_call_input(call, 7)) value = opf_call_requantised(call, value, 7, 8, opf_call_dtype(call, 0));
    return finish_product(call, product, value);
}

/* ---- MatMulNBits: a, b [n, blocks, bytes], scales, zero_points, g_idx, bias ---- */

typedef struct packed_weight {
    int64_t bits, block;
    opf_dim rows, columns, blocks; /* n, k, blocks of a row */
    opf_dtype compute;
} packed_weight;

/* Number `index` of a row of `bits`-wide numbers that are packed into bytes, low ones first; as int32. */
static const opf_expr *unpacked(opf_call *call, const packed_weight *w, int input, const opf_expr *const *byte_at, const opf_expr *index) {
    opf_pool *pool = call->pool;
    const opf_expr *byte = opf_call_convert(call, OPF_INT32, opf_call_load(call, input, byte_at));
    if (w->bits == 8) return byte;
    const opf_expr *place = opf_floormod(pool, index, opf_int(pool, 8 / w->bits));
    const opf_expr *shift = opf_cast(pool, OPF_INT32, opf_mul(pool, place, opf_int(pool, w->bits)));
    return opf_binary(pool, OPF_OP_BITAND, opf_binary(pool, OPF_OP_SHR, byte, shift), opf_int_of(pool, OPF_INT32, (1 << w->bits) - 1));
}

/* Indices into [rows, per_row] or the same flat. */
static void row_index(opf_call *call, int input, const opf_expr *row, const opf_expr *column, opf_dim per_row, const opf_expr **at) {
    at[0] = row;
    at[1] = column;
    if (opf_call_rank(call, input) == 1) at[0] = opf_add(call->pool, opf_mul(call->pool, row, per_row), column);
}

static bool check_per_row(opf_call *call, int input, const packed_weight *w, opf_dim per_row, const char *what) {
    if (!opf_call_check_rank(call, input, 1, 2, what)) return false;
    if (opf_call_rank(call, input) == 2) {
        opf_call_same(call, opf_call_dim(call, input, 0), w->rows, what);
        opf_call_same(call, opf_call_dim(call, input, 1), per_row, what);
    } else {
        opf_call_same(call, opf_call_dim(call, input, 0), opf_mul(call->pool, w->rows, per_row), what);
    }
    return !call->failed;
}

/* Appends "weight" [n, k]: (number - zero point) * scale. */
static int unpacked_weight(opf_call *call, const packed_weight *w) {
    opf_pool *pool = call->pool;
    const opf_expr *row = opf_var(pool, 0), *column = opf_var(pool, 1), *block = opf_floordiv(pool, column, opf_int(pool, w->block)), *inner = opf_floormod(pool, column, opf_int(pool, w->block));
    opf_dim a_byte = opf_int(pool, 8 / w->bits), point_bytes = opf_ceildiv(pool, w->blocks, a_byte), extents[] = {w->rows, w->columns};
    const opf_expr *at[3] = {row, block, opf_floordiv(pool, inner, a_byte)}, *number = unpacked(call, w, 1, at, inner), *value;
    if (!check_per_row(call, 2, w, w->blocks, "one scale a block")) return 0;
    bool given = opf_call_input(call, 3) != NULL, packed = given && opf_call_dtype(call, 3) == OPF_UINT8;
    if (given && !check_per_row(call, 3, w, packed ? point_bytes : w->blocks, "one zero point a block")) return 0;
    if (given && !packed) {
        row_index(call, 3, row, block, w->blocks, at);
        value = opf_binary(pool, OPF_OP_SUB, opf_cast(pool, w->compute, number), opf_call_convert(call, w->compute, opf_call_load(call, 3, at)));
    } else {
        const opf_expr *point = opf_int_of(pool, OPF_INT32, 1 << (w->bits - 1));
        if (packed) {
            row_index(call, 3, row, opf_floordiv(pool, block, a_byte), point_bytes, at);
            point = unpacked(call, w, 3, at, block);
        }
        value = opf_cast(pool, w->compute, opf_binary(pool, OPF_OP_SUB, number, point));
    }
    row_index(call, 2, row, block, w->blocks, at);
    value = opf_binary(pool, OPF_OP_MUL, value, opf_call_convert(call, w->compute, opf_call_load(call, 2, at)));
    return opf_call_stage(call, "weight", 2, 0, extents, (const char *const[]){"n", "k"}, OPF_COMBINE_NONE, w->compute, w->compute, value, NULL);
}

static opf_status build_nbits(opf_call *call) {
    opf_pool *pool = call->pool;
    int64_t n = opf_node_int(call->node, "N", 0), k = opf_node_int(call->node, "K", 0);
    packed_weight w = {.bits = opf_node_int(call->node, "bits", 4), .block = opf_node_int(call->node, "block_size", 0)};
    opf_dtype dtype = opf_call_dtype(call, 0);
    if (w.bits != 2 && w.bits != 4 && w.bits != 8) return opf_call_error(call, "unsupported", "%lld bits are not supported; 2, 4 and 8 are", (long long)w.bits);
    if (n < 1 || k < 1 || n > INT32_MAX || k > INT32_MAX || w.block < 8 || w.block > INT32_MAX || w.block % 8 != 0) return opf_call_error(call, "attribute", "N is %lld, K %lld, block_size %lld", (long long)n, (long long)k, (long long)w.block);
    if (opf_call_input(call, 4)) return opf_call_error(call, "unsupported", "g_idx is not supported");
    if (opf_node_int(call->node, "weight_prepacked", 0) != 0) return opf_call_error(call, "unsupported", "prepacked weights are not supported");
    if (!opf_dtype_is_float(dtype) || opf_call_dtype(call, 1) != OPF_UINT8) return opf_call_error(call, "type", "the left operand must be floating and the right one uint8");
    if (!opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the left operand") || !opf_call_check_rank(call, 1, 3, 3, "the right operand")) return OPF_ERROR_INPUT;
    w.rows = opf_int(pool, n);
    w.columns = opf_int(pool, k);
    w.blocks = opf_int(pool, (k + w.block - 1) / w.block);
    w.compute = opf_call_compute(dtype);
    opf_dim expected[] = {w.rows, w.blocks, opf_int(pool, w.block * w.bits / 8)};
    for (int axis = 0; axis < 3; axis++) opf_call_same(call, opf_call_dim(call, 1, axis), expected[axis], "the right operand is [N, blocks, bytes of a block]");
    if (call->failed) return OPF_ERROR_INPUT;
    int weight = unpacked_weight(call, &w);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_operand a = opf_call_operand(call, 0, true), b = {.tensor = weight, .kept = 0, .summed = 1, .zero_point = -1};
    bool biased = opf_call_input(call, 5) != NULL;
    int product = opf_call_product(call, &a, &b, biased ? w.compute : dtype, w.compute);
    if (biased) return finish_product(call, product, opf_call_convert(call, dtype, plus_bias(call, opf_call_load_same(call, product), 5, product)));
    opf_call_result(call, 0, product);
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

const opf_op opf_ops_qlinear_contrib[] = {
    {"com.microsoft", "QLinearAdd", 1, 7, 8, 1, OPF_KIND_BROADCAST, 0, build_add, NULL},
    {"com.microsoft", "QLinearMul", 1, 7, 8, 1, OPF_KIND_BROADCAST, 0, build_mul, NULL},
    {"com.microsoft", "QLinearConcat", 1, 3, -1, 1, OPF_KIND_INJECTIVE, 0, build_concat, NULL},
    {"com.microsoft", "QLinearLeakyRelu", 1, 4, 5, 1, OPF_KIND_ELEMWISE, 0, build_leaky_relu, NULL},
    {"com.microsoft", "QLinearSigmoid", 1, 4, 5, 1, OPF_KIND_ELEMWISE, 0, build_sigmoid, NULL},
    {"com.microsoft", "QLinearSoftmax", 1, 4, 5, 1, OPF_KIND_OPAQUE, 0, build_softmax, NULL},
    {"com.microsoft", "QLinearGlobalAveragePool", 1, 4, 5, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_global_average, NULL},
    {"com.microsoft", "DynamicQuantizeMatMul", 1, 3, 5, 1, OPF_KIND_OPAQUE, 0, build_dynamic_matmul, NULL},
    {"com.microsoft", "QGemm", 1, 6, 9, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_qgemm, NULL},
    {"com.microsoft", "MatMulNBits", 1, 3, 6, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_nbits, NULL},
};
const size_t opf_ops_qlinear_contrib_count = OPF_COUNT(opf_ops_qlinear_contrib);
