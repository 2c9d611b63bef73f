/* What is known of a tensor's elements before the program runs: expressions of symbols. */
#ifndef OPF_OPS_CONTENT_H
#define OPF_OPS_CONTENT_H

#include "ops/op.h"

enum {
    OPF_CONTENT_ELEMENTS = 1024, /* larger tensors have no content */
    OPF_CONTENT_DATA = 64,       /* nor those of types in which no sizes are kept: scales are known, weights are not */
    OPF_CONTENT_TERMS = 4096     /* most elements and terms of reductions that one result may take */
};

/* The elements in row-major order, in the value's own type; NULL where they are unknown. Those of a small constant are
 * made when they are first asked for. */
const opf_expr *const *opf_value_content(opf_value *value);
/* One element, of a constant of any size too; NULL where it is unknown or out of range. */
const opf_expr *opf_value_element(const opf_value *value, int64_t index);

/* Sets the content of the node's typed outputs, as far as the content of the inputs tells it. */
void opf_call_content_results(opf_call *call);

#endif
