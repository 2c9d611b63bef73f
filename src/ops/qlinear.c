/* Products of quantised operands: QLinearMatMul, QLinearConv, MatMulIntegerToFloat.
 *
 * The sum is exact in int32; what follows it, scale by scale, is a stage of its own in float32. */
#include "ops/convolution.h"
#include "ops/families.h"
#include "ops/product.h"
#include "ops/quantize.h"

static bool is_eight_bits(opf_call *call, int input) {
    opf_dtype dtype = opf_call_dtype(call, input);
    if (dtype == OPF_INT8 || dtype == OPF_UINT8) return true;
    opf_call_error(call, "unsupported", "input %d of %s is not supported; int8 and uint8 are", input, opf_dtype_name(dtype));
    return false;
}

/* A scale as float32: one for all, or one for each index of axis `axis` of the result, which has `extent` of them. */
static const opf_expr *scale_at(opf_call *call, int input, int axis, opf_dim extent) {
    if (!opf_dtype_is_float(opf_call_dtype(call, input))) {
        opf_call_error(call, "type", "scale %d is %s, which is no floating type", input, opf_dtype_name(opf_call_dtype(call, input)));
        return opf_real(call->pool, OPF_FLOAT32, 1);
    }
    bool several = opf_call_rank(call, input) == 1 && !opf_is_value(opf_call_dim(call, input, 0), 1);
    const opf_expr *index = opf_call_var(call, axis >= 0 ? axis : 0);
    if (several && axis >= 0) opf_call_same(call, opf_call_dim(call, input, 0), extent, "the scales and what they scale");
    const opf_expr *scale = several && axis >= 0 ? opf_call_load(call, input, &index) : opf_call_load_single(call, input, "the scale");
    return opf_call_convert(call, OPF_FLOAT32, scale);
}

/* sum * (left * right / result), rounded to the type of the zero point. */
static const opf_expr *requantised(opf_call *call, int sum, const opf_expr *left, const opf_expr *right, int scale, int zero_point, opf_dtype otherwise) {
    opf_pool *pool = call->pool;
    const opf_expr *factor = opf_binary(pool, OPF_OP_DIV, opf_binary(pool, OPF_OP_MUL, left, right), scale_at(call, scale, -1, NULL));
    const opf_expr *value = opf_binary(pool, OPF_OP_MUL, opf_cast(pool, OPF_FLOAT32, opf_call_load_same(call, sum)), factor);
    bool shifted = opf_call_input(call, zero_point) != NULL;
    if (shifted && !is_eight_bits(call, zero_point)) return opf_cast(pool, otherwise, value);
    const opf_expr *shift = shifted ? opf_call_load_single(call, zero_point, "the result's zero point") : NULL;
    return opf_call_quantised(call, value, shift, shifted ? opf_call_dtype(call, zero_point) : otherwise);
}

/* The last stage, over all axes of `sum`. */
static opf_status finish(opf_call *call, int sum, const opf_expr *body) {
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim extents[OPF_MAX_RANK];
    opf_call_dims(call, sum, extents);
    opf_call_result(call, 0, opf_call_map(call, "scaled", opf_call_rank(call, sum), extents, body));
    return OPF_OK;
}

/* Inputs a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point. Scales of b may be one a column. */
static opf_status build_qlinear_matmul(opf_call *call) {
    if (!is_eight_bits(call, 0) || !is_eight_bits(call, 3)) return OPF_ERROR_UNSUPPORTED;
    if (!opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the left operand") || !opf_call_check_rank(call, 3, 1, OPF_MAX_RANK, "the right operand")) return OPF_ERROR_INPUT;
    opf_operand a = opf_call_operand(call, 0, true), b = opf_call_operand(call, 3, false);
    if (opf_call_input(call, 2)) a.zero_point = 2;
    if (opf_call_input(call, 5)) b.zero_point = 5;
    int sum = opf_call_product(call, &a, &b, OPF_INT32, OPF_INT32), rank = opf_call_rank(call, sum);
    int row = a.kept < 0 ? -1 : rank - (b.kept < 0 ? 1 : 2), column = b.kept < 0 ? -1 : rank - 1;
    const opf_expr *left = scale_at(call, 1, row, row < 0 ? NULL : opf_call_dim(call, sum, row));
    const opf_expr *right = scale_at(call, 4, column, column < 0 ? NULL : opf_call_dim(call, sum, column));
    return finish(call, sum, requantised(call, sum, left, right, 6, 7, opf_call_dtype(call, 0)));
}

/* Inputs x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias (int32, in units of
 * x_scale * w_scale). Scales of w may be one an output channel. */
static opf_status build_qlinear_conv(opf_call *call) {
    opf_convolution conv;
    if (!is_eight_bits(call, 0) || !is_eight_bits(call, 3)) return OPF_ERROR_UNSUPPORTED;
    if (opf_node_int(call->node, "channels_last", 0) != 0) return opf_call_error(call, "unsupported", "channels_last is not supported");
    if (!opf_call_convolution(call, 3, &conv) || !opf_call_window_outputs(call, &conv.window, false)) return OPF_ERROR_INPUT;
    if (opf_call_input(call, 2)) conv.input_zero_point = 2;
    if (opf_call_input(call, 5)) conv.weight_zero_point = 5;
    bool has_bias = opf_call_input(call, 8) != NULL;
    if (has_bias && (!opf_call_check_rank(call, 8, 1, 1, "the bias") || opf_call_dtype(call, 8) != OPF_INT32)) return opf_call_error(call, "type", "the bias must be a vector of int32");
    int sum = opf_convolution_sum(call, &conv, OPF_INT32, OPF_INT32);
    if (has_bias) sum = opf_convolution_bias(call, &conv, sum, 8, OPF_INT32);
    const opf_expr *left = scale_at(call, 1, -1, NULL), *right = scale_at(call, 4, 1, conv.extents[1]);
    const opf_expr *body = requantised(call, sum, left, right, 6, 7, opf_call_dtype(call, 0));
    if (!call->failed) opf_call_result(call, 0, opf_convolution_map(call, &conv, "scaled", body));
    return OPF_OK;
}

/* com.microsoft MatMulIntegerToFloat: a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias. */
static opf_status build_matmul_integer_to_float(opf_call *call) {
    if (!is_eight_bits(call, 0) || !is_eight_bits(call, 1)) return OPF_ERROR_UNSUPPORTED;
    if (!opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the left operand") || !opf_call_check_rank(call, 1, 2, OPF_MAX_RANK, "the right operand")) return OPF_ERROR_INPUT;
    opf_operand a = opf_call_operand(call, 0, true), b = opf_call_operand(call, 1, false);
    if (opf_call_input(call, 4)) a.zero_point = 4;
    if (opf_call_input(call, 5)) b.zero_point = 5;
    int sum = opf_call_product(call, &a, &b, OPF_INT32, OPF_INT32), column = opf_call_rank(call, sum) - 1;
    opf_dim columns = opf_call_dim(call, sum, column);
    const opf_expr *factor = opf_binary(call->pool, OPF_OP_MUL, scale_at(call, 2, -1, NULL), scale_at(call, 3, column, columns));
    const opf_expr *value = opf_binary(call->pool, OPF_OP_MUL, opf_cast(call->pool, OPF_FLOAT32, opf_call_load_same(call, sum)), factor);
    if (opf_call_input(call, 6)) {
        const opf_expr *index = opf_call_var(call, column);
        if (!opf_call_check_rank(call, 6, 1, 1, "the bias")) return OPF_ERROR_INPUT;
        opf_call_same(call, opf_call_dim(call, 6, 0), columns, "the bias and the columns");
        value = opf_binary(call->pool, OPF_OP_ADD, value, opf_call_convert(call, OPF_FLOAT32, opf_call_load(call, 6, &index)));
    }
    return finish(call, sum, opf_call_convert(call, opf_call_dtype(call, 2), value));
}

const opf_op opf_ops_qlinear[] = {
    {"", "QLinearMatMul", 10, 8, 8, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_qlinear_matmul, NULL},
    {"", "QLinearConv", 10, 8, 9, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_qlinear_conv, NULL},
    {"com.microsoft", "QLinearConv", 1, 8, 9, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_qlinear_conv, NULL},
    {"com.microsoft", "MatMulIntegerToFloat", 1, 4, 7, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_matmul_integer_to_float, NULL},
};
const size_t opf_ops_qlinear_count = OPF_COUNT(opf_ops_qlinear);
