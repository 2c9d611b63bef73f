/* Rounding to quantised types, as all quantising operators do it. */
#ifndef OPF_OPS_QUANTIZE_H
#define OPF_OPS_QUANTIZE_H

#include "ops/build.h"

/* The integer nearest to `ratio` (floating), even at halves, shifted by the zero point (NULL: 0) and kept inside the
 * integer type `to`, of at most 16 bits. */
const opf_expr *opf_call_quantised(opf_call *call, const opf_expr *ratio, const opf_expr *zero_point, opf_dtype to);

/* The value as Cast gives it, by the node's attributes `saturate` and `round_mode`. */
const opf_expr *opf_call_cast(opf_call *call, const opf_expr *value, opf_dtype to);

/* Is the input int8 or uint8? Reported where not. */
bool opf_call_check_quantised(opf_call *call, int input);
/* (x - zero_point) * scale in float32; both inputs of one element, a zero point that is left out is 0. */
const opf_expr *opf_call_dequantised(opf_call *call, const opf_expr *x, int scale, int zero_point);
/* value / scale rounded and shifted by the zero point, in its type or, where it is left out, in `otherwise`. */
const opf_expr *opf_call_requantised(opf_call *call, const opf_expr *value, int scale, int zero_point, opf_dtype otherwise);

/* Stages of input 0 (float32) as uint8 by scale and zero point of its extremes, 0 among them; DynamicQuantizeLinear's. */
typedef struct opf_dynamic_quantised { int values, scale, zero_point; } opf_dynamic_quantised;
opf_dynamic_quantised opf_call_quantise_dynamically(opf_call *call);

#endif
