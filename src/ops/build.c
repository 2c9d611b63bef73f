/* Parts of a build function: tensors by number, loads, stages, results. */
#include "ops/build.h"
#include "ops/facts.h"

static const opf_stage *stage_of(const opf_call *call, int tensor) {
    size_t inputs = call->stages.inputs.count;
    return (size_t)tensor < inputs ? NULL : call->stages.list.data[(size_t)tensor - inputs];
}

opf_dim opf_call_dim(const opf_call *call, int tensor, int axis) {
    const opf_stage *stage = stage_of(call, tensor);
    return stage ? stage->extents[axis] : call->stages.inputs.data[tensor]->dims[axis];
}

int opf_call_rank(const opf_call *call, int tensor) {
    const opf_stage *stage = stage_of(call, tensor);
    return stage ? stage->n_axes : call->stages.inputs.data[tensor]->rank;
}

opf_dtype opf_call_dtype(const opf_call *call, int tensor) {
    const opf_stage *stage = stage_of(call, tensor);
    return stage ? stage->dtype : call->stages.inputs.data[tensor]->dtype;
}

const opf_expr *opf_call_load(opf_call *call, int tensor, const opf_expr *const *indices) {
    return opf_load(call->pool, opf_call_dtype(call, tensor), tensor, opf_call_rank(call, tensor), indices);
}

const opf_expr *opf_call_load_same(opf_call *call, int tensor) {
    const opf_expr *indices[OPF_MAX_RANK];
    int rank = opf_call_rank(call, tensor);
    for (int k = 0; k < rank; k++) indices[k] = opf_var(call->pool, k);
    return opf_call_load(call, tensor, indices);
}

/* The term of a sum in float64: a product of exact factors, so that no rounding comes before the sum. */
static const opf_expr *widened(opf_pool *pool, const opf_expr *term) {
    bool product = term->kind == OPF_EXPR_BINARY && term->op == OPF_OP_MUL;
    return product ? opf_binary(pool, OPF_OP_MUL, opf_cast(pool, OPF_FLOAT64, term->args[0]), opf_cast(pool, OPF_FLOAT64, term->args[1])) : opf_cast(pool, OPF_FLOAT64, term);
}

int opf_call_stage(opf_call *call, const char *role, int n_axes, int n_reduce, const opf_dim *extents, const char *const *axis_names,
                   opf_combiner combiner, opf_dtype dtype, opf_dtype accumulator, const opf_expr *body, const opf_expr *second) {
    opf_stage *stage = OPF_NEW(call->arena, opf_stage);
    if (combiner == OPF_COMBINE_SUM && accumulator == OPF_FLOAT32 && opf_node_has_wide_sums(call->node)) {
        accumulator = OPF_FLOAT64;
        body = widened(call->pool, body);
    }
    size_t count = (size_t)(n_axes + n_reduce);
    *stage = (opf_stage){
        .name = role ? opf_arena_printf(call->arena, "%s.%s", call->op->name, role) : call->op->name,
        .n_axes = n_axes, .n_reduce = n_reduce, .combiner = combiner, .dtype = dtype, .accumulator = accumulator,
        .body = body, .second = second, .origin = call->node,
    };
    stage->extents = opf_arena_copy(call->arena, extents, count * sizeof *extents);
    for (size_t k = 0; k < count; k++) stage->extents[k] = opf_dim_canonical(call->module, stage->extents[k]);
    if (axis_names) stage->axis_names = opf_arena_copy(call->arena, axis_names, count * sizeof *axis_names);
    OPF_PUSH(call->arena, &call->stages.list, stage);
    return (int)(call->stages.inputs.count + call->stages.list.count) - 1;
}

int opf_call_map(opf_call *call, const char *role, int n_axes, const opf_dim *extents, const opf_expr *body) {
    return opf_call_stage(call, role, n_axes, 0, extents, NULL, OPF_COMBINE_NONE, (opf_dtype)body->dtype, (opf_dtype)body->dtype, body, NULL);
}

void opf_call_note(opf_call *call, int tensor, const char *note) {
    call->stages.list.data[(size_t)tensor - call->stages.inputs.count]->note = note;
}

void opf_call_result(opf_call *call, int output, int tensor) {
    if (output < call->node->n_outputs && call->node->outputs[output]) call->results[output] = tensor - (int)call->stages.inputs.count;
}

opf_dtype opf_call_accumulator(opf_dtype dtype) {
    switch (opf_call_compute(dtype)) {
    case OPF_INT8: case OPF_INT16: case OPF_INT4: case OPF_INT2: return OPF_INT32;
    case OPF_UINT8: case OPF_UINT16: case OPF_UINT4: case OPF_UINT2: return OPF_UINT32;
    case OPF_BOOL: return OPF_INT32;
    default: return opf_call_compute(dtype);
    }
}

opf_dtype opf_call_compute(opf_dtype dtype) {
    bool narrow = opf_dtype_is_float(dtype) && dtype != OPF_FLOAT32 && dtype != OPF_FLOAT64;
    return narrow ? OPF_FLOAT32 : dtype;
}

/* ---- views ---- */

/* Axes [in, in_end) of the input hold the same elements, in the same order, as [out, out_end) of the result. */
typedef struct segment { int in, in_end, out, out_end; } segment;

/* The shortest segment from (in, out) on: axes are added to the side with the smaller product until both are equal. Where
 * products of symbols cannot be ordered, all axes that are left form the segment. */
static segment next_segment(opf_call *call, int tensor, int in, int rank, const opf_dim *extents, int out) {
    int in_rank = opf_call_rank(call, tensor);
    opf_pool *pool = call->pool;
    if (in == in_rank || out == rank) return (segment){in, in_rank, out, rank};
    segment s = {in, in + 1, out, out + 1};
    opf_dim left = opf_call_dim(call, tensor, in), right = extents[out];
    while (left != right) {
        bool take_in = opf_expr_prove_le(pool, left, right, (opf_domain){0, NULL});
        bool take_out = !take_in && opf_expr_prove_le(pool, right, left, (opf_domain){0, NULL});
        if (take_in && s.in_end < in_rank) left = opf_mul(pool, left, opf_call_dim(call, tensor, s.in_end++));
        else if (take_out && s.out_end < rank) right = opf_mul(pool, right, extents[s.out_end++]);
        else return (segment){in, in_rank, out, rank};
    }
    return s;
}

/* Indices of the input's axes of one segment, from the variables of the result's axes. */
static void segment_indices(opf_call *call, int tensor, segment s, const opf_dim *extents, opf_domain domain, const opf_expr **indices) {
    opf_pool *pool = call->pool;
    if (s.in_end - s.in == 1 && s.out_end - s.out == 1) {
        indices[s.in] = opf_var(pool, s.out);
        return;
    }
    const opf_expr *linear = opf_int(pool, 0);
    for (int k = s.out; k < s.out_end; k++) linear = opf_add(pool, opf_mul(pool, linear, extents[k]), opf_var(pool, k));
    opf_dim stride = opf_int(pool, 1);
    for (int k = s.in_end - 1; k >= s.in; k--) {
        opf_dim extent = opf_call_dim(call, tensor, k);
        const opf_expr *index = opf_floordiv(pool, linear, stride);
        if (k > s.in) index = opf_floormod(pool, index, extent);
        indices[k] = opf_expr_simplify(pool, index, domain);
        stride = opf_mul(pool, stride, extent);
    }
}

const opf_expr *opf_call_load_reshaped(opf_call *call, int tensor, int rank, const opf_dim *extents) {
    const opf_expr *indices[OPF_MAX_RANK];
    int in_rank = opf_call_rank(call, tensor);
    opf_domain domain = {rank, extents};
    for (int in = 0, out = 0; in < in_rank || out < rank;) {
        segment s = next_segment(call, tensor, in, rank, extents, out);
        segment_indices(call, tensor, s, extents, domain, indices);
        in = s.in_end;
        out = s.out_end;
    }
    return opf_call_load(call, tensor, indices);
}

opf_status opf_call_reshape(opf_call *call, int rank, const opf_dim *extents) {
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, opf_call_load_reshaped(call, 0, rank, extents)));
    return OPF_OK;
}
