/* Convolutions: Conv, ConvInteger, ConvTranspose, FusedConv. A bias and what follows it are stages of their own. */
#include "ops/activation.h"
#include "ops/convolution.h"
#include "ops/families.h"

static bool check_float_operands(opf_call *call) {
    if (!opf_call_check_same_type(call, 0, 1) || !opf_call_check_same_type(call, 0, 2)) return false;
    if (opf_call_input(call, 2) && !opf_call_check_rank(call, 2, 1, 1, "the bias")) return false;
    if (opf_dtype_is_float(opf_call_dtype(call, 0))) return true;
    opf_call_error(call, "type", "the input must be of a floating type, and is %s", opf_dtype_name(opf_call_dtype(call, 0)));
    return false;
}

static opf_status build_conv(opf_call *call) {
    opf_convolution conv;
    if (!opf_call_convolution(call, 1, &conv) || !check_float_operands(call) || !opf_call_window_outputs(call, &conv.window, false)) return OPF_ERROR_INPUT;
    bool has_bias = opf_call_input(call, 2) != NULL;
    opf_dtype dtype = opf_call_dtype(call, 0), accumulator = opf_call_accumulator(dtype);
    int tensor = opf_convolution_sum(call, &conv, has_bias ? accumulator : dtype, accumulator);
    if (has_bias) tensor = opf_convolution_bias(call, &conv, tensor, 2, dtype);
    opf_call_result(call, 0, tensor);
    return OPF_OK;
}

static opf_status build_conv_integer(opf_call *call) {
    opf_convolution conv;
    if (!opf_call_convolution(call, 1, &conv) || !opf_call_window_outputs(call, &conv.window, false)) return OPF_ERROR_INPUT;
    if (opf_call_input(call, 2)) conv.input_zero_point = 2;
    if (opf_call_input(call, 3)) conv.weight_zero_point = 3;
    opf_call_result(call, 0, opf_convolution_sum(call, &conv, OPF_INT32, OPF_INT32));
    return OPF_OK;
}

/* ---- ConvTranspose ---- */

/* Output extents and paddings. Without output_shape: what the last tap of the last input position reaches, less the
 * paddings; with it (or SAME, which asks for input * stride) the paddings follow, none of them negative. */
static bool transposed_outputs(opf_call *call, opf_window *window) {
    const int64_t *extra = NULL, *shape = NULL;
    int n = window->n_axes, n_extra = opf_node_ints(call->node, "output_padding", &extra), n_shape = opf_node_ints(call->node, "output_shape", &shape);
    if (n_shape == 2 + n) { /* some exporters give batch and channels too */
        shape += 2;
        n_shape = n;
    }
    if ((n_extra >= 0 && n_extra != n) || (n_shape >= 0 && n_shape != n)) {
        opf_call_error(call, "attribute", "output_padding and output_shape need one entry for each of the %d spatial axes", n);
        return false;
    }
    opf_pool *pool = call->pool;
    for (int k = 0; k < n; k++) {
        opf_window_axis *axis = &window->axes[k];
        if ((n_extra >= 0 && (extra[k] < 0 || extra[k] > INT32_MAX)) || (n_shape >= 0 && (shape[k] < 1 || shape[k] > INT32_MAX))) {
            opf_call_error(call, "attribute", "output_padding must not be negative and output_shape must be at least 1");
            return false;
        }
        opf_dim stride = opf_call_int(call, axis->stride), zero = opf_call_int(call, 0);
        opf_dim full = opf_add(pool, opf_mul(pool, opf_sub(pool, axis->input, opf_call_int(call, 1)), stride), axis->reach);
        full = opf_add(pool, full, opf_call_int(call, n_extra >= 0 ? extra[k] : 0));
        bool same = window->auto_pad == OPF_PAD_SAME_UPPER || window->auto_pad == OPF_PAD_SAME_LOWER;
        if (n_shape < 0 && !same) {
            opf_dim pads = opf_add(pool, axis->pad_begin, axis->pad_end);
            opf_call_require_ge(call, full, opf_add(pool, pads, opf_call_int(call, 1)), opf_arena_printf(call->arena, "the pads leave nothing of spatial axis %d", k));
            axis->output = opf_sub(pool, full, pads);
            continue;
        }
        axis->output = n_shape >= 0 ? opf_call_int(call, shape[k]) : opf_mul(pool, axis->input, stride);
        opf_dim total = opf_max(pool, opf_sub(pool, full, axis->output), zero), half = opf_floordiv(pool, total, opf_call_int(call, 2));
        bool upper = window->auto_pad == OPF_PAD_SAME_UPPER;
        axis->pad_begin = upper ? half : opf_sub(pool, total, half);
    }
    return !call->failed;
}

/* What reaches one output position along one spatial axis, for the reduce variable t: tap `tap` of the kernel from input
 * position `position`. The predicates say whether they exist; NULL: always. */
typedef struct contribution {
    const opf_expr *tap, *position, *tap_exists, *position_exists;
} contribution;

/* Output position o takes tap k from input position i where i * stride + k * dilation = o + pad_begin. Without dilation every
 * stride-th tap does, from the remainder of o + pad_begin on, so t counts these alone; with it, t is the tap and those that
 * meet no input position count as absent. Sets the extent of t. */
static contribution contribution_of(opf_call *call, opf_convolution *conv, int k) {
    opf_pool *pool = call->pool;
    const opf_window_axis *axis = &conv->window.axes[k];
    int variable = 3 + conv->window.n_axes + k;
    const opf_expr *zero = opf_call_int(call, 0), *stride = opf_call_int(call, axis->stride), *shifted = opf_add(pool, opf_call_var(call, 2 + k), axis->pad_begin);
    bool strides_alone = axis->dilation == 1;
    conv->extents[variable] = strides_alone ? opf_ceildiv(pool, axis->kernel, stride) : axis->kernel;
    const opf_expr *t = opf_window_variable(call, conv->extents[variable], variable);
    contribution c;
    if (strides_alone) {
        c.tap = opf_add(pool, opf_floormod(pool, shifted, stride), opf_mul(pool, t, stride));
        c.position = opf_sub(pool, opf_floordiv(pool, shifted, stride), t);
        c.tap_exists = opf_call_less(call, c.tap, axis->kernel);
        if (opf_is_value(opf_floormod(pool, axis->kernel, stride), 0)) c.tap_exists = NULL;
        c.position_exists = opf_call_and(call, opf_call_at_most(call, zero, c.position), opf_call_less(call, c.position, axis->input));
    } else {
        const opf_expr *spread = opf_sub(pool, shifted, opf_mul(pool, t, opf_call_int(call, axis->dilation)));
        c.tap = t;
        c.tap_exists = NULL;
        c.position = opf_floordiv(pool, spread, stride);
        c.position_exists = opf_call_and(call, opf_call_at_most(call, zero, spread), opf_call_less(call, spread, opf_mul(pool, axis->input, stride)));
        if (axis->stride > 1) c.position_exists = opf_call_and(call, c.position_exists, opf_binary(pool, OPF_OP_EQ, opf_floormod(pool, spread, stride), zero));
    }
    c.position_exists = opf_expr_simplify(pool, c.position_exists, (opf_domain){conv->n_axes + conv->n_reduce, conv->extents});
    if (opf_is_value(c.position_exists, 1)) c.position_exists = NULL;
    return c;
}

/* sum over (ic, t…) of x[n, g + ic, position] * w[g + ic, oc in the group, tap]; w is [C, M / group, taps]. */
static int transposed_sum(opf_call *call, opf_convolution *conv, opf_dtype dtype, opf_dtype accumulator) {
    int n = conv->window.n_axes;
    conv->group_outputs = opf_call_dim(call, 1, 1);
    opf_call_same(call, opf_call_dim(call, 0, 1), opf_call_dim(call, 1, 0), "the channels of the input and of the weight");
    conv->group_inputs = opf_convolution_channels(call, conv, opf_call_dim(call, 0, 1), "the groups must divide the input channels");
    opf_convolution_domain(call, conv, opf_mul(call->pool, conv->group_outputs, opf_call_int(call, conv->group)));
    const opf_expr *x_indices[OPF_CONVOLUTION_AXES], *w_indices[OPF_CONVOLUTION_AXES], *x_exists = NULL, *w_exists = NULL;
    x_indices[0] = opf_call_var(call, 0);
    x_indices[1] = w_indices[0] = opf_convolution_input_channel(call, conv);
    w_indices[1] = conv->group == 1 ? opf_call_var(call, 1) : opf_floormod(call->pool, opf_call_var(call, 1), conv->group_outputs);
    for (int k = 0; k < n; k++) {
        contribution c = contribution_of(call, conv, k);
        x_indices[2 + k] = c.position;
        w_indices[2 + k] = c.tap;
        x_exists = opf_call_and(call, x_exists, c.position_exists);
        w_exists = opf_call_and(call, w_exists, c.tap_exists);
    }
    const opf_expr *zero = opf_number(call->pool, accumulator, 0);
    const opf_expr *x = opf_call_choose(call, x_exists, opf_call_convert(call, accumulator, opf_call_load(call, 0, x_indices)), zero);
    const opf_expr *w = opf_call_choose(call, w_exists, opf_call_convert(call, accumulator, opf_call_load(call, 1, w_indices)), zero);
    return opf_call_stage(call, "sum", conv->n_axes, conv->n_reduce, conv->extents, conv->names, OPF_COMBINE_SUM, dtype, accumulator,
                          opf_binary(call->pool, OPF_OP_MUL, x, w), NULL);
}

static opf_status build_conv_transpose(opf_call *call) {
    opf_convolution conv;
    if (!opf_call_convolution(call, 1, &conv) || !check_float_operands(call) || !transposed_outputs(call, &conv.window)) return OPF_ERROR_INPUT;
    bool has_bias = opf_call_input(call, 2) != NULL;
    opf_dtype dtype = opf_call_dtype(call, 0), accumulator = opf_call_accumulator(dtype);
    int tensor = transposed_sum(call, &conv, has_bias ? accumulator : dtype, accumulator);
    if (has_bias) tensor = opf_convolution_bias(call, &conv, tensor, 2, dtype);
    opf_call_result(call, 0, tensor);
    return OPF_OK;
}

/* ---- com.microsoft FusedConv: Conv, then + Z, then an activation ---- */

static const opf_expr *activated(opf_call *call, const opf_expr *x) {
    const opf_attr *given = opf_node_attr(call->node, "activation_params");
    bool floats = given && given->kind == OPF_ATTR_FLOATS;
    return opf_call_activated(call, opf_node_string(call->node, "activation", ""), x, floats ? given->count : 0, floats ? given->floats : NULL);
}

static opf_status build_fused_conv(opf_call *call) {
    opf_convolution conv;
    if (!opf_call_convolution(call, 1, &conv) || !check_float_operands(call) || !opf_call_check_same_type(call, 0, 3) || !opf_call_window_outputs(call, &conv.window, false))
        return OPF_ERROR_INPUT;
    opf_dtype dtype = opf_call_dtype(call, 0), accumulator = opf_call_accumulator(dtype);
    int tensor = opf_convolution_sum(call, &conv, accumulator, accumulator);
    if (opf_call_input(call, 2)) tensor = opf_convolution_bias(call, &conv, tensor, 2, accumulator);
    const opf_expr *value = opf_call_load_same(call, tensor);
    if (opf_call_input(call, 3)) {
        if (!opf_call_check_rank(call, 3, conv.n_axes, conv.n_axes, "input Z")) return OPF_ERROR_INPUT;
        for (int k = 0; k < conv.n_axes; k++) opf_call_same(call, conv.extents[k], opf_call_dim(call, 3, k), "the sizes of Z and of the result");
        value = opf_binary(call->pool, OPF_OP_ADD, value, opf_call_convert(call, accumulator, opf_call_load_same(call, 3)));
    }
    value = opf_call_convert(call, dtype, activated(call, value));
    if (!call->failed) opf_call_result(call, 0, opf_convolution_map(call, &conv, "activation", value));
    return OPF_OK;
}

const opf_op opf_ops_conv[] = {
    {"", "Conv", 1, 2, 3, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_conv, NULL},
    {"", "ConvInteger", 10, 2, 4, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_conv_integer, NULL},
    {"", "ConvTranspose", 1, 2, 3, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_conv_transpose, NULL},
    {"com.microsoft", "FusedConv", 1, 2, 4, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_fused_conv, NULL},
};
const size_t opf_ops_conv_count = OPF_COUNT(opf_ops_conv);
