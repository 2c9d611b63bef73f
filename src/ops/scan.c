/* Running sums and products along one axis: CumSum, CumProd. Along a short axis said as a reduction over the elements before each
 * one, which fuses and is known for shape arithmetic, but costs the square of the axis; else a library kernel, which
 * passes over the elements once. */
#include "ops/families.h"
#include "ops/index.h"
#include "ops/library.h"

enum { SHORT_AXIS = 16 };

static bool is_short(opf_dim extent) {
    int64_t length;
    return opf_is_int(extent, &length) && length <= SHORT_AXIS;
}

static opf_status build_pass(opf_call *call, int axis, bool exclusive, bool reverse, bool product) {
    opf_dim dims[OPF_MAX_RANK], bytes = opf_int(call->pool, 8);
    int rank = opf_call_rank(call, 0);
    opf_call_dims(call, 0, dims);
    for (int k = axis + 1; k < rank; k++) bytes = opf_mul(call->pool, bytes, dims[k]);
    opf_call_library(call, "running", 2, 1);
    opf_library_int(call, axis);
    opf_library_int(call, exclusive);
    opf_library_int(call, reverse);
    opf_library_int(call, product);
    opf_library_scratch(call, bytes);
    opf_library_result(call, 0, opf_call_dtype(call, 0), rank, dims);
    return OPF_OK;
}

static opf_status build_running(opf_call *call, const char *role, opf_combiner combiner, double neutral) {
    const int64_t *given;
    int rank = opf_call_rank(call, 0), count = opf_call_ints(call, 1, &given);
    if (count < 0) return OPF_ERROR_UNSUPPORTED;
    if (count != 1) return opf_call_error(call, "shape", "axis must be one element and has %d", count);
    if (opf_call_dtype(call, 0) == OPF_BOOL) return opf_call_error(call, "type", "bool values have no running sum or product; cast them to an integer type");
    int axis = opf_call_axis(call, given[0], rank);
    if (call->failed) return OPF_ERROR_INPUT;
    bool exclusive = opf_node_int(call->node, "exclusive", 0) != 0, reverse = opf_node_int(call->node, "reverse", 0) != 0;
    opf_dim extents[OPF_MAX_RANK + 1];
    const opf_expr *indices[OPF_MAX_RANK];
    opf_call_dims(call, 0, extents);
    if (!is_short(extents[axis])) return build_pass(call, axis, exclusive, reverse, combiner == OPF_COMBINE_PROD);
    opf_call_vars(call, 0, rank, indices);
    extents[rank] = extents[axis];
    const opf_expr *here = indices[axis], *other = indices[axis] = opf_call_var(call, rank);
    const opf_expr *first = reverse ? here : other, *second = reverse ? other : here;
    const opf_expr *counts = exclusive ? opf_call_less(call, first, second) : opf_call_at_most(call, first, second);
    opf_dtype dtype = opf_call_dtype(call, 0), accumulator = opf_call_accumulator(dtype);
    const opf_expr *element = opf_call_convert(call, accumulator, opf_call_load(call, 0, indices));
    const opf_expr *body = opf_select(call->pool, counts, element, opf_number(call->pool, accumulator, neutral));
    opf_call_result(call, 0, opf_call_stage(call, role, rank, 1, extents, NULL, combiner, dtype, accumulator, body, NULL));
    return OPF_OK;
}

static opf_status build_cum_sum(opf_call *call) { return build_running(call, "sum", OPF_COMBINE_SUM, 0); }
static opf_status build_cum_prod(opf_call *call) { return build_running(call, "product", OPF_COMBINE_PROD, 1); }

const opf_op opf_ops_scan[] = {
    {"", "CumSum", 11, 2, 2, 1, OPF_KIND_OPAQUE, 0, build_cum_sum, NULL},
    {"", "CumProd", 26, 2, 2, 1, OPF_KIND_OPAQUE, 0, build_cum_prod, NULL},
};
const size_t opf_ops_scan_count = OPF_COUNT(opf_ops_scan);
