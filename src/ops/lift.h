/* Shape arithmetic that goes through narrower or floating types, brought back to int64. */
#ifndef OPF_OPS_LIFT_H
#define OPF_OPS_LIFT_H

#include "ops/op.h"

/* An integer expression of symbols as one of int64 with the same value, as long as every intermediate result fits its own
 * type: that is recorded as guards, with `why`. Exporters write int64(int32(N)) and int64(floor(float32(N) * 2)); these
 * become N and N*2. What has no such form stays under a cast. */
const opf_expr *opf_lift(opf_module *module, const opf_expr *e, const char *why);

#endif
