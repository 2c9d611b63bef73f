/* Reductions over whole axes: domains and indices. */
#include "ops/reduction.h"

opf_reduction opf_reduction_over(opf_call *call, int tensor, int count, const int *axes, bool keep) {
    opf_reduction reduction = {.rank = opf_call_rank(call, tensor), .keep = keep};
    for (int k = 0; k < count; k++) reduction.reduced[axes[k]] = true;
    for (int k = 0; k < reduction.rank; k++) {
        if (!reduction.reduced[k]) {
            reduction.index[k] = opf_var(call->pool, reduction.n_axes);
            reduction.extents[reduction.n_axes++] = opf_call_dim(call, tensor, k);
        } else if (keep) {
            reduction.extents[reduction.n_axes++] = opf_int(call->pool, 1);
        }
    }
    for (int k = 0; k < reduction.rank; k++) {
        if (!reduction.reduced[k]) continue;
        int position = reduction.n_axes + reduction.n_reduced++;
        reduction.index[k] = opf_var(call->pool, position);
        reduction.extents[position] = opf_call_dim(call, tensor, k);
    }
    return reduction;
}

const opf_expr *opf_reduction_load(opf_call *call, const opf_reduction *reduction, int tensor) {
    return opf_call_load(call, tensor, reduction->index);
}

int opf_reduction_stage(opf_call *call, const opf_reduction *reduction, const char *role, opf_combiner combiner, opf_dtype dtype,
                        opf_dtype accumulator, const opf_expr *body) {
    if (reduction->n_reduced == 0) {
        if (dtype != accumulator) body = opf_cast(call->pool, dtype, body);
        return opf_call_map(call, role, reduction->n_axes, reduction->extents, body);
    }
    return opf_call_stage(call, role, reduction->n_axes, reduction->n_reduced, reduction->extents, NULL, combiner, dtype, accumulator, body, NULL);
}

const opf_expr *opf_reduction_spread(opf_call *call, const opf_reduction *reduction, int stage) {
    const opf_expr *indices[OPF_MAX_RANK];
    int count = 0;
    for (int k = 0; k < reduction->rank; k++) {
        if (!reduction->reduced[k]) indices[count++] = opf_var(call->pool, k);
        else if (reduction->keep) indices[count++] = opf_int(call->pool, 0);
    }
    return opf_call_load(call, stage, indices);
}

opf_dim opf_reduction_size(opf_call *call, const opf_reduction *reduction) {
    return opf_product(call->pool, reduction->n_reduced, reduction->extents + reduction->n_axes);
}
