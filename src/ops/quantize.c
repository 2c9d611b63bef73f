/* Quantisation: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. */
#include "ops/quantize.h"

#include "ops/families.h"
#include "ops/index.h"
#include "ops/reduction.h"

static bool is_quantised_integer(opf_dtype dtype) {
    return opf_dtype_is_integer(dtype) && opf_dtype_bits(dtype) <= 16;
}

/* ---- where scale and zero point are read ---- */

/* A scale or zero point at the point of the result: one for all; one an index of `axis`; or (from opset 21 on) one a block
 * of block_size elements along `axis`. */
static const opf_expr *parameter(opf_call *call, int input) {
    opf_pool *pool = call->pool;
    int own = opf_call_rank(call, input), rank = opf_call_rank(call, 0);
    const opf_expr *index[OPF_MAX_RANK] = {opf_int(pool, 0)};
    int64_t block = opf_node_int(call->node, "block_size", 0);
    if (own == 0 || (own == 1 && opf_is_value(opf_call_dim(call, input, 0), 1))) return opf_call_load(call, input, index);
    int axis = opf_call_axis(call, opf_node_int(call->node, "axis", 1), rank);
    if (own == 1 && !call->failed) {
        opf_call_same(call, opf_call_dim(call, input, 0), opf_call_dim(call, 0, axis), "one scale an index of the axis");
        index[0] = opf_var(pool, axis);
        return opf_call_load(call, input, index);
    }
    if (own != rank || block < 1) opf_call_error(call, "shape", "input %d of rank %d fits neither an axis nor blocks of %lld elements", input, own, (long long)block);
    if (call->failed) return NULL;
    for (int k = 0; k < rank; k++) {
        opf_dim blocks = k == axis ? opf_ceildiv(pool, opf_call_dim(call, 0, k), opf_int(pool, block)) : opf_call_dim(call, 0, k);
        opf_call_same(call, opf_call_dim(call, input, k), blocks, "one scale a block");
        index[k] = k == axis ? opf_floordiv(pool, opf_var(pool, k), opf_int(pool, block)) : opf_var(pool, k);
    }
    return opf_call_load(call, input, index);
}

/* ---- QuantizeLinear ---- */

typedef struct limits { double low, high; } limits;

static limits limits_of(opf_dtype dtype) {
    double half = (double)(1ll << (opf_dtype_bits(dtype) - 1));
    return opf_dtype_is_signed(dtype) ? (limits){-half, half - 1} : (limits){0, 2 * half - 1};
}

const opf_expr *opf_call_quantised(opf_call *call, const opf_expr *ratio, const opf_expr *zero_point, opf_dtype to) {
    opf_pool *pool = call->pool;
    opf_dtype compute = (opf_dtype)ratio->dtype;
    const opf_expr *value = opf_unary(pool, OPF_OP_ROUND, ratio);
    if (zero_point) value = opf_binary(pool, OPF_OP_ADD, value, opf_call_convert(call, compute, zero_point));
    limits inside = limits_of(to);
    value = opf_binary(pool, OPF_OP_MIN, opf_binary(pool, OPF_OP_MAX, value, opf_real(pool, compute, inside.low)), opf_real(pool, compute, inside.high));
    return opf_cast(pool, to, value);
}

bool opf_call_check_quantised(opf_call *call, int input) {
    opf_dtype dtype = opf_call_dtype(call, input);
    if (dtype == OPF_INT8 || dtype == OPF_UINT8) return true;
    opf_call_error(call, "type", "input %d of %s is %s, and must be int8 or uint8", input, call->op->name, opf_dtype_name(dtype));
    return false;
}

const opf_expr *opf_call_dequantised(opf_call *call, const opf_expr *x, int scale, int zero_point) {
    opf_pool *pool = call->pool;
    const opf_expr *value = opf_call_convert(call, OPF_INT32, x);
    if (opf_call_input(call, zero_point)) value = opf_binary(pool, OPF_OP_SUB, value, opf_call_convert(call, OPF_INT32, opf_call_load_single(call, zero_point, "the zero point")));
    return opf_binary(pool, OPF_OP_MUL, opf_cast(pool, OPF_FLOAT32, value), opf_call_convert(call, OPF_FLOAT32, opf_call_load_single(call, scale, "the scale")));
}

const opf_expr *opf_call_requantised(opf_call *call, const opf_expr *value, int scale, int zero_point, opf_dtype otherwise) {
    const opf_expr *ratio = opf_binary(call->pool, OPF_OP_DIV, value, opf_call_convert(call, OPF_FLOAT32, opf_call_load_single(call, scale, "the result's scale")));
    bool shifted = opf_call_input(call, zero_point) != NULL;
    if (shifted && !opf_call_check_quantised(call, zero_point)) return opf_cast(call->pool, otherwise, value);
    return opf_call_quantised(call, ratio, shifted ? opf_call_load_single(call, zero_point, "the result's zero point") : NULL, shifted ? opf_call_dtype(call, zero_point) : otherwise);
}

static opf_dtype quantised_type(opf_call *call) {
    int64_t given = opf_node_int(call->node, "output_dtype", 0);
    if (opf_call_input(call, 2)) return opf_call_dtype(call, 2);
    if (given == 0) return OPF_UINT8;
    return given > 0 && given <= INT32_MAX && opf_dtype_valid((int)given) ? (opf_dtype)given : OPF_NO_DTYPE;
}

/* The type that x is divided by its scale in: that of the scale unless an attribute says otherwise (opset 23); x's own, or
 * float32, where the scale's type is none that numbers are divided in. */
static opf_dtype precision_of(opf_call *call) {
    int64_t given = opf_node_int(call->node, "precision", 0);
    const opf_dtype wished[] = {given > 0 && given <= INT32_MAX && opf_dtype_valid((int)given) ? (opf_dtype)given : opf_call_dtype(call, 1), opf_call_dtype(call, 0)};
    for (size_t k = 0; k < OPF_COUNT(wished); k++)
        if (opf_dtype_is_float(wished[k]) && opf_dtype_bits(wished[k]) >= 16) return wished[k];
    return OPF_FLOAT32;
}

static opf_status build_quantize(opf_call *call) {
    opf_pool *pool = call->pool;
    opf_dtype to = quantised_type(call), from = opf_call_dtype(call, 0);
    bool eight_bit_float = opf_dtype_is_float(to) && opf_dtype_bits(to) <= 8;
    if (!is_quantised_integer(to) && !eight_bit_float)
        return opf_call_error(call, "unsupported", "quantising to %s is not supported", opf_dtype_name(to));
    if (!opf_dtype_is_float(from) && from != OPF_INT32) return opf_call_error(call, "type", "quantising %s is not possible", opf_dtype_name(from));
    const opf_expr *scale = parameter(call, 1), *zero_point = opf_call_input(call, 2) ? parameter(call, 2) : NULL;
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dtype precision = precision_of(call), compute = opf_call_compute(precision);
    const opf_expr *x = opf_call_convert(call, precision, opf_call_load_same(call, 0)), *by = opf_call_convert(call, precision, scale);
    const opf_expr *ratio = opf_binary(pool, OPF_OP_DIV, opf_call_convert(call, compute, x), opf_call_convert(call, compute, by));
    ratio = opf_call_convert(call, compute, opf_call_convert(call, precision, ratio)); /* rounded to it where it is a half type */
    const opf_expr *value = eight_bit_float ? opf_call_cast(call, ratio, to) : opf_call_quantised(call, ratio, zero_point, to);
    opf_call_result(call, 0, opf_call_map(call, NULL, opf_call_rank(call, 0), opf_call_input(call, 0)->dims, value));
    return OPF_OK;
}

/* ---- DequantizeLinear ---- */

static opf_status build_dequantize(opf_call *call) {
    opf_pool *pool = call->pool;
    opf_dtype from = opf_call_dtype(call, 0), to = opf_call_dtype(call, 1);
    int64_t given = opf_node_int(call->node, "output_dtype", 0);
    if (given > 0 && given <= INT32_MAX && opf_dtype_valid((int)given)) to = (opf_dtype)given;
    bool integer = is_quantised_integer(from) || from == OPF_INT32;
    if (!integer && !opf_dtype_is_float(from)) return opf_call_error(call, "type", "dequantising %s is not possible", opf_dtype_name(from));
    if (!opf_dtype_is_float(to)) return opf_call_error(call, "type", "the scale is %s, which is no floating type", opf_dtype_name(to));
    const opf_expr *scale = parameter(call, 1), *zero_point = opf_call_input(call, 2) && integer ? parameter(call, 2) : NULL;
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dtype compute = opf_call_compute(to);
    const opf_expr *x = opf_call_load_same(call, 0);
    if (zero_point) x = opf_binary(pool, OPF_OP_SUB, opf_call_convert(call, OPF_INT32, x), opf_call_convert(call, OPF_INT32, zero_point));
    const opf_expr *value = opf_binary(pool, OPF_OP_MUL, opf_call_convert(call, compute, x), opf_call_convert(call, compute, scale));
    opf_call_result(call, 0, opf_call_map(call, NULL, opf_call_rank(call, 0), opf_call_input(call, 0)->dims, opf_call_convert(call, to, value)));
    return OPF_OK;
}

/* ---- DynamicQuantizeLinear: scale and zero point from the extremes, 0 among them ---- */

static const opf_expr *extreme(opf_call *call, const char *role, opf_combiner combiner, opf_scalar_op with_zero) {
    int axes[OPF_MAX_RANK], rank = opf_call_rank(call, 0);
    for (int k = 0; k < rank; k++) axes[k] = k;
    opf_reduction all = opf_reduction_over(call, 0, rank, axes, false);
    int stage = opf_reduction_stage(call, &all, role, combiner, OPF_FLOAT32, OPF_FLOAT32, opf_reduction_load(call, &all, 0));
    return opf_binary(call->pool, with_zero, opf_call_load(call, stage, NULL), opf_real(call->pool, OPF_FLOAT32, 0));
}

opf_dynamic_quantised opf_call_quantise_dynamically(opf_call *call) {
    opf_pool *pool = call->pool;
    const opf_expr *high = extreme(call, "max", OPF_COMBINE_MAX, OPF_OP_MAX), *low = extreme(call, "min", OPF_COMBINE_MIN, OPF_OP_MIN);
    const opf_expr *steps = opf_real(pool, OPF_FLOAT32, 255), *zero = opf_real(pool, OPF_FLOAT32, 0);
    opf_dynamic_quantised made;
    made.scale = opf_call_map(call, "scale", 0, NULL, opf_binary(pool, OPF_OP_DIV, opf_binary(pool, OPF_OP_SUB, high, low), steps));
    const opf_expr *s = opf_call_load(call, made.scale, NULL);
    const opf_expr *offset = opf_binary(pool, OPF_OP_SUB, zero, opf_binary(pool, OPF_OP_DIV, low, s));
    made.zero_point = opf_call_map(call, "zero_point", 0, NULL, opf_call_quantised(call, offset, NULL, OPF_UINT8));
    const opf_expr *ratio = opf_binary(pool, OPF_OP_DIV, opf_call_load_same(call, 0), s);
    const opf_expr *value = opf_call_quantised(call, ratio, opf_call_load(call, made.zero_point, NULL), OPF_UINT8);
    made.values = opf_call_map(call, NULL, opf_call_rank(call, 0), opf_call_input(call, 0)->dims, value);
    return made;
}

static opf_status build_dynamic_quantize(opf_call *call) {
    if (opf_call_dtype(call, 0) != OPF_FLOAT32) return opf_call_error(call, "type", "DynamicQuantizeLinear takes float32");
    opf_dynamic_quantised made = opf_call_quantise_dynamically(call);
    opf_call_result(call, 0, made.values);
    opf_call_result(call, 1, made.scale);
    opf_call_result(call, 2, made.zero_point);
    return OPF_OK;
}

const opf_op opf_ops_quantize[] = {
    {"", "QuantizeLinear", 10, 2, 3, 1, OPF_KIND_ELEMWISE, 0, build_quantize, NULL},
    {"com.microsoft", "QuantizeLinear", 1, 2, 3, 1, OPF_KIND_ELEMWISE, 0, build_quantize, NULL},
    {"", "DequantizeLinear", 10, 2, 3, 1, OPF_KIND_ELEMWISE, 0, build_dequantize, NULL},
    {"com.microsoft", "DequantizeLinear", 1, 2, 3, 1, OPF_KIND_ELEMWISE, 0, build_dequantize, NULL},
    {"", "DynamicQuantizeLinear", 11, 1, 1, 3, OPF_KIND_OPAQUE, 0, build_dynamic_quantize, NULL},
};
const size_t opf_ops_quantize_count = OPF_COUNT(opf_ops_quantize);
