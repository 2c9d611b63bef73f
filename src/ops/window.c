/* Sliding windows: attributes, output extents, positions. */
#include <string.h>

#include "ops/window.h"

enum { WINDOW_LIMIT = 1 << 30 }; /* strides, dilations, kernels and pads beyond this are errors of the file */

/* `count` entries of an attribute, each in [low, WINDOW_LIMIT]; `otherwise` where it is absent. */
static bool read_sizes(opf_call *call, const char *name, int count, int64_t low, int64_t otherwise, int64_t *out) {
    const int64_t *given;
    int n = opf_node_ints(call->node, name, &given);
    for (int k = 0; k < count; k++) out[k] = otherwise;
    if (n < 0) return true;
    if (n != count) {
        opf_call_error(call, "attribute", "%s has %d of the %d entries that it needs", name, n, count);
        return false;
    }
    for (int k = 0; k < count; k++) {
        if (given[k] < low || given[k] > WINDOW_LIMIT) {
            opf_call_error(call, "attribute", "%s holds %lld; it must be from %lld to %d", name, (long long)given[k], (long long)low, WINDOW_LIMIT);
            return false;
        }
        out[k] = given[k];
    }
    return true;
}

static bool read_auto_pad(opf_call *call, opf_auto_pad *out) {
    static const struct { const char *name; opf_auto_pad mode; } modes[] = {
        {"NOTSET", OPF_PAD_EXPLICIT}, {"", OPF_PAD_EXPLICIT}, {"SAME_UPPER", OPF_PAD_SAME_UPPER}, {"SAME_LOWER", OPF_PAD_SAME_LOWER}, {"VALID", OPF_PAD_VALID},
    };
    const char *name = opf_node_string(call->node, "auto_pad", "NOTSET");
    for (size_t k = 0; k < OPF_COUNT(modes); k++) {
        if (strcmp(modes[k].name, name) != 0) continue;
        *out = modes[k].mode;
        return true;
    }
    opf_call_error(call, "attribute", "auto_pad '%s' is none of NOTSET, SAME_UPPER, SAME_LOWER and VALID", name);
    return false;
}

static bool read_kernel(opf_call *call, const opf_dim *kernel, opf_window *window) {
    const int64_t *given;
    int n = window->n_axes;
    int count = opf_node_ints(call->node, "kernel_shape", &given);
    if (count < 0 && !kernel) {
        opf_call_error(call, "attribute", "kernel_shape is missing");
        return false;
    }
    int64_t sizes[OPF_WINDOW_AXES];
    if (!read_sizes(call, "kernel_shape", n, 1, 1, sizes)) return false;
    for (int k = 0; k < n; k++) {
        opf_dim size = count < 0 ? kernel[k] : opf_call_int(call, sizes[k]);
        if (kernel) size = opf_call_same(call, size, kernel[k], "kernel_shape and the sizes of the weight");
        if (opf_is_value(size, 0)) opf_call_error(call, "shape", "the kernel has size 0 along spatial axis %d", k);
        window->axes[k].kernel = size;
    }
    return !call->failed;
}

bool opf_call_window(opf_call *call, const opf_dim *kernel, opf_window *out) {
    if (!opf_call_check_rank(call, 0, 3, 2 + OPF_WINDOW_AXES, "the input")) return false;
    int n = opf_call_rank(call, 0) - 2;
    *out = (opf_window){.n_axes = n};
    int64_t strides[OPF_WINDOW_AXES], dilations[OPF_WINDOW_AXES], pads[2 * OPF_WINDOW_AXES];
    if (!read_auto_pad(call, &out->auto_pad) || !read_kernel(call, kernel, out) || !read_sizes(call, "strides", n, 1, 1, strides) ||
        !read_sizes(call, "dilations", n, 1, 1, dilations) || !read_sizes(call, "pads", 2 * n, 0, 0, pads))
        return false;
    for (int k = 0; k < n; k++) {
        opf_window_axis *axis = &out->axes[k];
        bool explicit_pads = out->auto_pad == OPF_PAD_EXPLICIT;
        axis->input = opf_call_dim(call, 0, 2 + k);
        axis->stride = strides[k];
        axis->dilation = dilations[k];
        axis->pad_begin = opf_call_int(call, explicit_pads ? pads[k] : 0);
        axis->pad_end = opf_call_int(call, explicit_pads ? pads[n + k] : 0);
        opf_dim one = opf_call_int(call, 1);
        axis->reach = opf_add(call->pool, opf_mul(call->pool, opf_sub(call->pool, axis->kernel, one), opf_call_int(call, axis->dilation)), one);
    }
    return true;
}

/* SAME: one output position for each started stride; what the windows need beyond the input is split on both sides. */
static void same_outputs(opf_call *call, opf_window_axis *axis, bool upper) {
    opf_pool *pool = call->pool;
    opf_dim stride = opf_call_int(call, axis->stride), one = opf_call_int(call, 1), two = opf_call_int(call, 2);
    axis->output = opf_ceildiv(pool, axis->input, stride);
    opf_dim needed = opf_add(pool, opf_mul(pool, opf_sub(pool, axis->output, one), stride), axis->reach);
    opf_dim total = opf_max(pool, opf_sub(pool, needed, axis->input), opf_call_int(call, 0));
    opf_dim smaller = opf_floordiv(pool, total, two), larger = opf_sub(pool, total, smaller);
    axis->pad_begin = upper ? smaller : larger;
    axis->pad_end = upper ? larger : smaller;
}

/* floor or ceil((input + pads - reach) / stride + 1), as ONNX's text says. */
static void plain_outputs(opf_call *call, opf_window_axis *axis, bool ceil_mode, int k) {
    opf_pool *pool = call->pool;
    opf_dim stride = opf_call_int(call, axis->stride), one = opf_call_int(call, 1);
    opf_dim padded = opf_add(pool, axis->input, opf_add(pool, axis->pad_begin, axis->pad_end));
    /* ceil_mode lets the only window of a short input reach beyond it, by less than a stride: else ceil(slack / stride + 1) is 0 */
    opf_dim least = ceil_mode ? opf_add(pool, opf_sub(pool, axis->reach, stride), one) : axis->reach;
    const char *beyond = ceil_mode && axis->stride > 1 ? ", or reach beyond it by less than a stride (ceil_mode)" : "";
    opf_call_require_ge(call, padded, least, opf_arena_printf(call->arena, "the kernel must fit into spatial axis %d with its padding%s", k, beyond));
    opf_dim slack = opf_sub(pool, padded, axis->reach);
    if (!ceil_mode) {
        axis->output = opf_add(pool, opf_floordiv(pool, slack, stride), one);
        return;
    }
    axis->output = opf_add(pool, opf_ceildiv(pool, slack, stride), one);
    /* A window must not start in the padding behind the input, which a stride can reach only if pad_end + stride > reach. */
    opf_dim starts = opf_add(pool, opf_floordiv(pool, opf_sub(pool, opf_add(pool, axis->input, axis->pad_begin), one), stride), one);
    if (!opf_call_proves_le(call, opf_add(pool, axis->pad_end, stride), axis->reach)) axis->output = opf_min(pool, axis->output, starts);
}

bool opf_call_window_outputs(opf_call *call, opf_window *window, bool ceil_mode) {
    for (int k = 0; k < window->n_axes; k++) {
        opf_window_axis *axis = &window->axes[k];
        bool same = window->auto_pad == OPF_PAD_SAME_UPPER || window->auto_pad == OPF_PAD_SAME_LOWER;
        if (same) same_outputs(call, axis, window->auto_pad == OPF_PAD_SAME_UPPER);
        else plain_outputs(call, axis, ceil_mode, k);
        opf_dim zero = opf_call_int(call, 0);
        axis->leaves_low = !opf_call_proves_le(call, axis->pad_begin, zero);
        axis->leaves_high = !opf_call_proves_le(call, axis->pad_end, zero) || (ceil_mode && !same && axis->stride > 1);
    }
    return !call->failed;
}

const opf_expr *opf_window_position(opf_call *call, const opf_window_axis *axis, const opf_expr *out, const opf_expr *tap) {
    opf_pool *pool = call->pool;
    const opf_expr *start = opf_sub(pool, opf_mul(pool, out, opf_call_int(call, axis->stride)), axis->pad_begin);
    return opf_add(pool, start, opf_mul(pool, tap, opf_call_int(call, axis->dilation)));
}

const opf_expr *opf_window_inside(opf_call *call, const opf_window_axis *axis, const opf_expr *position) {
    const opf_expr *low = axis->leaves_low ? opf_call_at_most(call, opf_call_int(call, 0), position) : NULL;
    const opf_expr *high = axis->leaves_high ? opf_call_less(call, position, axis->input) : NULL;
    return opf_call_and(call, low, high);
}

const opf_expr *opf_window_variable(opf_call *call, opf_dim extent, int variable) {
    return opf_is_value(extent, 1) ? opf_call_int(call, 0) : opf_call_var(call, variable);
}

const char *opf_window_axis_name(opf_call *call, const char *prefix, int k, int n) {
    static const char *const names[] = {"d", "h", "w"};
    if (n <= 3) return opf_arena_printf(call->arena, "%s%s", prefix, names[3 - n + k]);
    return opf_arena_printf(call->arena, "%sx%d", prefix, k);
}
