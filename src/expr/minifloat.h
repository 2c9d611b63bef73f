/* Floating types narrower than float32, described by their layout; conversion to and from double. Private to src/expr. */
#ifndef OPF_EXPR_MINIFLOAT_H
#define OPF_EXPR_MINIFLOAT_H

#include <stdint.h>

#include "expr/dtype.h"

/* Exactly the value of the code. */
double opf_minifloat_decode(opf_dtype dtype, uint32_t code);
/* Half to even from the exact double; overflow as the type wants it (infinity, or its largest value). */
uint32_t opf_minifloat_encode(opf_dtype dtype, double value);

#endif
