/* Convolutions over [n, c, spatial…]: what Conv, ConvTranspose and their quantised kin share.
 *
 * The sum runs over (ic, kh, kw); padding is a select around the load, so that borders are predicates of the index. The
 * group of an output channel is oc / (M / group). */
#ifndef OPF_OPS_CONVOLUTION_H
#define OPF_OPS_CONVOLUTION_H

#include "ops/window.h"

enum { OPF_CONVOLUTION_AXES = 2 + OPF_WINDOW_AXES, OPF_CONVOLUTION_DOMAIN = OPF_CONVOLUTION_AXES + 1 + OPF_WINDOW_AXES };

/* The sum's domain: n, oc, output positions (oh, ow); then ic and the taps (kh, kw). */
typedef struct opf_convolution {
    int weight;                               /* input */
    int input_zero_point, weight_zero_point;  /* inputs to subtract first, -1: none */
    opf_window window;
    int64_t group;
    opf_dim group_inputs, group_outputs;      /* channels of one group */
    int n_axes, n_reduce;
    opf_dim extents[OPF_CONVOLUTION_DOMAIN];
    const char *names[OPF_CONVOLUTION_DOMAIN];
} opf_convolution;

/* Reads attributes and checks ranks; zero points are the caller's to set. Output extents of the window are not set yet. */
bool opf_call_convolution(opf_call *call, int weight, opf_convolution *conv);
/* Appends stage "sum" of x[n, g + ic, position] * w[oc, ic, kh, kw] in type `accumulator`; window outputs are set. */
int opf_convolution_sum(opf_call *call, opf_convolution *conv, opf_dtype dtype, opf_dtype accumulator);
/* Appends a stage over the sum's plain axes. */
int opf_convolution_map(opf_call *call, const opf_convolution *conv, const char *role, const opf_expr *body);
/* Appends stage "bias": tensor + bias[oc], rounded to `dtype`. */
int opf_convolution_bias(opf_call *call, const opf_convolution *conv, int tensor, int bias_input, opf_dtype dtype);

/* Parts, for other sums over the same domain. */
opf_dim opf_convolution_channels(opf_call *call, const opf_convolution *conv, opf_dim dim, const char *what); /* of one group; the groups must divide `dim` */
void opf_convolution_domain(opf_call *call, opf_convolution *conv, opf_dim outputs);
const opf_expr *opf_convolution_input_channel(opf_call *call, const opf_convolution *conv); /* first of the group of output channel v1, plus ic */

#endif
