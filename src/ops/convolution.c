/* The sum behind every convolution: its domain, its operands, padding and zero points. */
#include "ops/convolution.h"

static bool read_group(opf_call *call, opf_convolution *conv) {
    conv->group = opf_node_int(call->node, "group", 1);
    if (conv->group >= 1 && conv->group <= INT32_MAX) return true;
    opf_call_error(call, "attribute", "group is %lld; it must be at least 1", (long long)conv->group);
    return false;
}

opf_dim opf_convolution_channels(opf_call *call, const opf_convolution *conv, opf_dim dim, const char *what) {
    if (conv->group == 1) return dim;
    opf_dim part = opf_floordiv(call->pool, dim, opf_call_int(call, conv->group));
    opf_call_same(call, opf_mul(call->pool, part, opf_call_int(call, conv->group)), dim, what);
    return part;
}

void opf_convolution_domain(opf_call *call, opf_convolution *conv, opf_dim outputs) {
    int n = conv->window.n_axes;
    conv->n_axes = 2 + n;
    conv->n_reduce = 1 + n;
    conv->extents[0] = opf_call_dim(call, 0, 0);
    conv->names[0] = "n";
    conv->extents[1] = outputs;
    conv->names[1] = "oc";
    conv->extents[2 + n] = conv->group_inputs;
    conv->names[2 + n] = "ic";
    for (int k = 0; k < n; k++) {
        conv->extents[2 + k] = conv->window.axes[k].output;
        conv->names[2 + k] = opf_window_axis_name(call, "o", k, n);
        conv->extents[3 + n + k] = conv->window.axes[k].kernel;
        conv->names[3 + n + k] = opf_window_axis_name(call, "k", k, n);
    }
}

/* Variables of the input channel and of tap k. */
static const opf_expr *inner_channel(opf_call *call, const opf_convolution *conv) { return opf_window_variable(call, conv->group_inputs, 2 + conv->window.n_axes); }
static const opf_expr *tap(opf_call *call, const opf_convolution *conv, int k) { return opf_window_variable(call, conv->window.axes[k].kernel, 3 + conv->window.n_axes + k); }

const opf_expr *opf_convolution_input_channel(opf_call *call, const opf_convolution *conv) {
    opf_pool *pool = call->pool;
    const opf_expr *inner = inner_channel(call, conv);
    if (conv->group == 1) return inner;
    const opf_expr *group = opf_floordiv(pool, opf_call_var(call, 1), conv->group_outputs);
    return opf_add(pool, opf_mul(pool, group, conv->group_inputs), inner);
}

/* `value` less the zero point that `input` holds, -1: none; `channel` picks one of several, which are `outputs`. */
static const opf_expr *less_zero_point(opf_call *call, const opf_expr *value, int input, const opf_expr *channel, opf_dim outputs) {
    if (input < 0) return value;
    int rank = opf_call_rank(call, input);
    const opf_expr *zero_point;
    if (channel && rank == 1 && !opf_is_value(opf_call_dim(call, input, 0), 1)) {
        opf_call_same(call, opf_call_dim(call, input, 0), outputs, "the zero points and the output channels");
        zero_point = opf_call_load(call, input, &channel);
    } else {
        zero_point = opf_call_load_single(call, input, "the zero point");
    }
    return opf_binary(call->pool, OPF_OP_SUB, value, opf_call_convert(call, (opf_dtype)value->dtype, zero_point));
}

bool opf_call_convolution(opf_call *call, int weight, opf_convolution *conv) {
    *conv = (opf_convolution){.weight = weight, .input_zero_point = -1, .weight_zero_point = -1};
    if (!opf_call_check_rank(call, 0, 3, OPF_CONVOLUTION_AXES, "the input") || !opf_call_check_rank(call, weight, opf_call_rank(call, 0), opf_call_rank(call, 0), "the weight")) return false;
    opf_dim kernel[OPF_WINDOW_AXES];
    for (int k = 0; k < opf_call_rank(call, 0) - 2; k++) kernel[k] = opf_call_dim(call, weight, 2 + k);
    return read_group(call, conv) && opf_call_window(call, kernel, &conv->window);
}

int opf_convolution_sum(opf_call *call, opf_convolution *conv, opf_dtype dtype, opf_dtype accumulator) {
    int n = conv->window.n_axes, weight = conv->weight;
    opf_dim outputs = opf_call_dim(call, weight, 0);
    conv->group_outputs = opf_convolution_channels(call, conv, outputs, "the groups must divide the output channels");
    opf_dim grouped = opf_mul(call->pool, opf_call_dim(call, weight, 1), opf_call_int(call, conv->group));
    opf_call_same(call, grouped, opf_call_dim(call, 0, 1), "the channels of the input, and those of the weight times group");
    conv->group_inputs = opf_call_dim(call, weight, 1);
    opf_convolution_domain(call, conv, outputs);
    const opf_expr *x_indices[OPF_CONVOLUTION_AXES], *w_indices[OPF_CONVOLUTION_AXES], *inside = NULL;
    x_indices[0] = opf_call_var(call, 0);
    x_indices[1] = opf_convolution_input_channel(call, conv);
    w_indices[0] = opf_call_var(call, 1);
    w_indices[1] = inner_channel(call, conv);
    for (int k = 0; k < n; k++) {
        w_indices[2 + k] = tap(call, conv, k);
        x_indices[2 + k] = opf_window_position(call, &conv->window.axes[k], opf_call_var(call, 2 + k), w_indices[2 + k]);
        inside = opf_call_and(call, inside, opf_window_inside(call, &conv->window.axes[k], x_indices[2 + k]));
    }
    const opf_expr *x = opf_call_convert(call, accumulator, opf_call_load(call, 0, x_indices));
    const opf_expr *w = opf_call_convert(call, accumulator, opf_call_load(call, weight, w_indices));
    x = less_zero_point(call, x, conv->input_zero_point, NULL, NULL);
    w = less_zero_point(call, w, conv->weight_zero_point, w_indices[0], outputs);
    x = opf_call_choose(call, inside, x, opf_number(call->pool, accumulator, 0));
    return opf_call_stage(call, "sum", conv->n_axes, conv->n_reduce, conv->extents, conv->names, OPF_COMBINE_SUM, dtype, accumulator,
                          opf_binary(call->pool, OPF_OP_MUL, x, w), NULL);
}

int opf_convolution_map(opf_call *call, const opf_convolution *conv, const char *role, const opf_expr *body) {
    return opf_call_stage(call, role, conv->n_axes, 0, conv->extents, conv->names, OPF_COMBINE_NONE, (opf_dtype)body->dtype, (opf_dtype)body->dtype, body, NULL);
}

int opf_convolution_bias(opf_call *call, const opf_convolution *conv, int tensor, int bias_input, opf_dtype dtype) {
    const opf_expr *channel = opf_call_var(call, 1), *sum = opf_call_load_same(call, tensor);
    opf_call_same(call, opf_call_dim(call, bias_input, 0), conv->extents[1], "the bias and the output channels");
    const opf_expr *bias = opf_call_convert(call, (opf_dtype)sum->dtype, opf_call_load(call, bias_input, &channel));
    return opf_convolution_map(call, conv, "bias", opf_call_convert(call, dtype, opf_binary(call->pool, OPF_OP_ADD, sum, bias)));
}
