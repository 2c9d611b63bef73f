/* Rounding to quantised types, as all quantising operators do it. */
#ifndef OPF_OPS_QUANTIZE_H
#define OPF_OPS_QUANTIZE_H

#include "ops/build.h"

/* The integer nearest to `ratio` (floating), even at halves, shifted by the zero point (NULL: 0) and kept inside the
 * integer type `to`, of at most 16 bits. */
const opf_expr *opf_call_quantised(opf_call *call, const opf_expr *ratio, const opf_expr *zero_point, opf_dtype to);

#endif
