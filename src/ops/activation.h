/* Activations that ONNX Runtime fuses into convolutions and products, by name. */
#ifndef OPF_OPS_ACTIVATION_H
#define OPF_OPS_ACTIVATION_H

#include "ops/build.h"

/* The activation of x; "" is none. `parameters`: alpha, beta… as far as the node gives them; too few are reported. */
const opf_expr *opf_call_activated(opf_call *call, const char *name, const opf_expr *x, size_t n_parameters, const float *parameters);

#endif
