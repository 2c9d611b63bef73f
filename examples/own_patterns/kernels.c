/* Kernels of our own for my.patterns: docs/patterns.md says what they get. */
#include <math.h>

/* Gelu by the error function, each part a range of the elements. */
static void gelu(const opf_kernel_call *call, int part, int parts) {
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    int64_t n = opf_kernel_elements(&call->outputs[0]), end = n * (part + 1) / parts;
    for (int64_t i = n * part / parts; i < end; i++) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
}

/* x * leaky(x); parameter 0 is the slope below zero. */
static void leaky_gate(const opf_kernel_call *call, int part, int parts) {
    const float *x = call->inputs[0].data, *gate = call->inputs[1].data;
    float *y = call->outputs[0].data, slope = (float)call->parameters[0];
    (void)part, (void)parts;
    for (int64_t i = 0; i < opf_kernel_elements(&call->outputs[0]); i++) y[i] = (x[i] < 0 ? slope * x[i] : x[i]) * gate[i];
}
