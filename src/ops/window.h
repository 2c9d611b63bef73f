/* Windows that slide over the spatial axes (all after batch and channel): convolutions and pools. */
#ifndef OPF_OPS_WINDOW_H
#define OPF_OPS_WINDOW_H

#include "ops/index.h"

enum { OPF_WINDOW_AXES = 6 }; /* most spatial axes; with batch, channels and the taps well inside OPF_MAX_RANK */

/* One spatial axis. Tap t of output position o reads input position o * stride - pad_begin + t * dilation. */
typedef struct opf_window_axis {
    opf_dim input, output; /* extents */
    opf_dim kernel;        /* number of taps */
    opf_dim reach;         /* (kernel - 1) * dilation + 1: input positions that one window spans */
    int64_t stride, dilation;
    opf_dim pad_begin, pad_end;
    bool leaves_low, leaves_high; /* may a tap fall before the first, behind the last position? */
} opf_window_axis;

typedef enum opf_auto_pad { OPF_PAD_EXPLICIT, OPF_PAD_SAME_UPPER, OPF_PAD_SAME_LOWER, OPF_PAD_VALID } opf_auto_pad;

typedef struct opf_window {
    int n_axes;
    opf_auto_pad auto_pad;
    opf_window_axis axes[OPF_WINDOW_AXES];
} opf_window;

/* Reads strides, dilations, pads, auto_pad and kernel_shape for the spatial axes of input 0. `kernel`: the taps a weight
 * has, which kernel_shape must agree with, or NULL where kernel_shape gives them. Output extents are left NULL. */
bool opf_call_window(opf_call *call, const opf_dim *kernel, opf_window *out);
/* Output extents and paddings of a window that slides over the input (Conv and pools, not ConvTranspose).
 * ceil_mode: the last window may reach beyond the padded input, if it starts inside it. */
bool opf_call_window_outputs(opf_call *call, opf_window *window, bool ceil_mode);

/* Input position of tap `tap` (an expression) at output position `out`. */
const opf_expr *opf_window_position(opf_call *call, const opf_window_axis *axis, const opf_expr *out, const opf_expr *tap);
/* Does that position exist? NULL: always. */
const opf_expr *opf_window_inside(opf_call *call, const opf_window_axis *axis, const opf_expr *position);
/* The variable of an axis of `extent` positions: 0 where there is only one. */
const opf_expr *opf_window_variable(opf_call *call, opf_dim extent, int variable);
/* "oh", "kw" …: name of spatial axis k of n with a prefix ("" for none). */
const char *opf_window_axis_name(opf_call *call, const char *prefix, int k, int n);

#endif
