/* Reductions over whole axes: ReduceSum and its kin, ArgMax, ArgMin, global pooling. */
#include "ops/families.h"
#include "ops/index.h"
#include "ops/reduction.h"

#include <string.h>

/* ---- ReduceSum and its kin ---- */

typedef enum before { PLAIN, ABSOLUTE, SQUARE } before;
typedef enum after { NOTHING, DIVIDE, ROOT, LOGARITHM } after;

/* result = after(combine of before(x)) */
static const struct reduce_row {
    const char *name;
    before before;
    opf_combiner combiner;
    after after;
} rows[] = {
    {"ReduceSum", PLAIN, OPF_COMBINE_SUM, NOTHING},      {"ReduceMean", PLAIN, OPF_COMBINE_SUM, DIVIDE},
    {"ReduceMax", PLAIN, OPF_COMBINE_MAX, NOTHING},      {"ReduceMin", PLAIN, OPF_COMBINE_MIN, NOTHING},
    {"ReduceProd", PLAIN, OPF_COMBINE_PROD, NOTHING},    {"ReduceL1", ABSOLUTE, OPF_COMBINE_SUM, NOTHING},
    {"ReduceL2", SQUARE, OPF_COMBINE_SUM, ROOT},         {"ReduceSumSquare", SQUARE, OPF_COMBINE_SUM, NOTHING},
    {"ReduceLogSum", PLAIN, OPF_COMBINE_SUM, LOGARITHM}, {"GlobalAveragePool", PLAIN, OPF_COMBINE_SUM, DIVIDE},
    {"GlobalMaxPool", PLAIN, OPF_COMBINE_MAX, NOTHING},
};

static const struct reduce_row *find_row(const char *name) {
    for (size_t k = 0; k < OPF_COUNT(rows); k++)
        if (strcmp(rows[k].name, name) == 0) return &rows[k];
    return NULL;
}

static const opf_expr *apply_before(opf_pool *pool, before before, const opf_expr *x) {
    switch (before) {
    case ABSOLUTE: return opf_unary(pool, OPF_OP_ABS, x);
    case SQUARE: return opf_binary(pool, OPF_OP_MUL, x, x);
    default: return x;
    }
}

/* Roots and logarithms of integers are taken in float64. */
static const opf_expr *floating(opf_pool *pool, opf_scalar_op op, const opf_expr *x) {
    if (opf_dtype_is_float((opf_dtype)x->dtype)) return opf_unary(pool, op, x);
    return opf_unary(pool, op, opf_cast(pool, OPF_FLOAT64, x));
}

static const opf_expr *apply_after(opf_call *call, after after, const opf_reduction *reduction, const opf_expr *x) {
    switch (after) {
    case DIVIDE: return opf_binary(call->pool, OPF_OP_DIV, x, opf_cast(call->pool, (opf_dtype)x->dtype, opf_reduction_size(call, reduction)));
    case ROOT: return floating(call->pool, OPF_OP_SQRT, x);
    case LOGARITHM: return floating(call->pool, OPF_OP_LOG, x);
    default: return x;
    }
}

/* Sums and products run in the accumulator's type; extremes are exact in the type in which values are computed. */
static opf_dtype accumulator_of(opf_combiner combiner, opf_dtype T) {
    bool extreme = combiner == OPF_COMBINE_MAX || combiner == OPF_COMBINE_MIN;
    return extreme ? opf_call_compute(T) : opf_call_accumulator(T);
}

static opf_status build_reduction(opf_call *call, const struct reduce_row *row, const opf_reduction *reduction) {
    opf_dtype T = opf_call_dtype(call, 0), accumulator = accumulator_of(row->combiner, T);
    opf_combiner combiner = row->combiner;
    if (T == OPF_BOOL) { /* ReduceMax and ReduceMin of bool, from opset 20 on */
        combiner = combiner == OPF_COMBINE_MAX ? OPF_COMBINE_OR : OPF_COMBINE_AND;
        accumulator = OPF_BOOL;
    }
    const opf_expr *term = opf_call_convert(call, accumulator, opf_reduction_load(call, reduction, 0));
    term = apply_before(call->pool, row->before, term);
    if (row->after == NOTHING) {
        opf_call_result(call, 0, opf_reduction_stage(call, reduction, NULL, combiner, T, accumulator, term));
        return OPF_OK;
    }
    int total = opf_reduction_stage(call, reduction, "sum", combiner, accumulator, accumulator, term);
    const opf_expr *value = apply_after(call, row->after, reduction, opf_call_load_same(call, total));
    int result = opf_call_map(call, NULL, reduction->n_axes, reduction->extents, opf_call_convert(call, T, value));
    if (row->after == DIVIDE) opf_call_note(call, result, "mean");
    opf_call_result(call, 0, result);
    return OPF_OK;
}

/* The axes of a Reduce operator: an attribute, from opset 18 on (ReduceSum 13) an input; none: all of them. */
static opf_reduction reduce_axes(opf_call *call) {
    int axes[OPF_MAX_RANK], rank = opf_call_rank(call, 0);
    int count = opf_call_axes(call, "axes", 1, rank, axes);
    if (count <= 0 && opf_node_int(call->node, "noop_with_empty_axes", 0) == 0)
        for (count = 0; count < rank; count++) axes[count] = count;
    bool keep = opf_node_int(call->node, "keepdims", 1) != 0;
    return opf_reduction_over(call, 0, count < 0 ? 0 : count, axes, keep);
}

static opf_status check_type(opf_call *call, bool bool_too) {
    opf_dtype T = opf_call_dtype(call, 0);
    if ((T == OPF_BOOL && bool_too) || opf_dtype_is_integer(T) || opf_dtype_is_float(T)) return OPF_OK;
    return opf_call_error(call, "type", "%s of %s is not supported", call->op->name, opf_dtype_name(T));
}

static opf_status build_reduce(opf_call *call) {
    const struct reduce_row *row = find_row(call->op->name);
    bool extreme = row->combiner == OPF_COMBINE_MAX || row->combiner == OPF_COMBINE_MIN;
    opf_status status = check_type(call, extreme);
    opf_reduction reduction = reduce_axes(call);
    return status != OPF_OK || call->failed ? OPF_ERROR_INPUT : build_reduction(call, row, &reduction);
}

/* log(sum(exp(x))), with the largest element taken out so that no exponential overflows. */
static opf_status build_log_sum_exp(opf_call *call) {
    opf_pool *pool = call->pool;
    opf_reduction reduction = reduce_axes(call);
    if (check_type(call, false) != OPF_OK || call->failed) return OPF_ERROR_INPUT;
    opf_dtype T = opf_call_dtype(call, 0), compute = opf_dtype_is_float(T) ? opf_call_compute(T) : OPF_FLOAT64;
    const opf_expr *x = opf_call_convert(call, compute, opf_reduction_load(call, &reduction, 0));
    int largest = opf_reduction_stage(call, &reduction, "max", OPF_COMBINE_MAX, compute, compute, x);
    const opf_expr *m = opf_call_load_same(call, largest);
    /* An infinite maximum would make inf - inf. */
    int shift = opf_call_map(call, "shift", reduction.n_axes, reduction.extents, opf_select(pool, opf_unary(pool, OPF_OP_ISINF, m), opf_number(pool, compute, 0), m));
    const opf_expr *term = opf_unary(pool, OPF_OP_EXP, opf_binary(pool, OPF_OP_SUB, x, opf_call_load_same(call, shift)));
    int total = opf_reduction_stage(call, &reduction, "sum", OPF_COMBINE_SUM, compute, compute, term);
    const opf_expr *result = opf_binary(pool, OPF_OP_ADD, opf_unary(pool, OPF_OP_LOG, opf_call_load_same(call, total)), opf_call_load_same(call, shift));
    opf_call_result(call, 0, opf_call_map(call, NULL, reduction.n_axes, reduction.extents, opf_call_convert(call, T, result)));
    return OPF_OK;
}

/* ---- ArgMax, ArgMin ---- */

static opf_status build_arg(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    if (check_type(call, false) != OPF_OK) return OPF_ERROR_INPUT;
    int axis = opf_call_axis(call, opf_node_int(call->node, "axis", 0), rank);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_reduction reduction = opf_reduction_over(call, 0, 1, &axis, opf_node_int(call->node, "keepdims", 1) != 0);
    bool last = opf_node_int(call->node, "select_last_index", 0) != 0, largest = strcmp(call->op->name, "ArgMax") == 0;
    opf_combiner first_of = largest ? OPF_COMBINE_ARGMAX : OPF_COMBINE_ARGMIN, last_of = largest ? OPF_COMBINE_ARGMAX_LAST : OPF_COMBINE_ARGMIN_LAST;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    const opf_expr *value = opf_call_convert(call, compute, opf_reduction_load(call, &reduction, 0));
    int stage = opf_call_stage(call, NULL, reduction.n_axes, 1, reduction.extents, NULL, last ? last_of : first_of, OPF_INT64, compute, value,
                               opf_var(call->pool, reduction.n_axes));
    opf_call_result(call, 0, stage);
    return OPF_OK;
}

/* ---- global pooling ---- */

/* Everything behind the batch and the channel axis. */
static opf_reduction spatial_axes(opf_call *call) {
    int axes[OPF_MAX_RANK], count = 0, rank = opf_call_rank(call, 0);
    if (rank < 2) opf_call_error(call, "shape", "%s needs an input of rank 2 or more", call->op->name);
    for (int k = 2; k < rank; k++) axes[count++] = k;
    return opf_reduction_over(call, 0, count, axes, true);
}

static opf_status build_global_pool(opf_call *call) {
    opf_reduction reduction = spatial_axes(call);
    return check_type(call, false) != OPF_OK || call->failed ? OPF_ERROR_INPUT : build_reduction(call, find_row(call->op->name), &reduction);
}

static opf_status build_global_lp_pool(opf_call *call) {
    opf_reduction reduction = spatial_axes(call);
    if (check_type(call, false) != OPF_OK || call->failed) return OPF_ERROR_INPUT;
    opf_pool *pool = call->pool;
    opf_dtype T = opf_call_dtype(call, 0), compute = opf_call_compute(T);
    int64_t p = opf_node_int(call->node, "p", 2);
    const opf_expr *power = opf_number(pool, compute, (double)p), *x = opf_call_convert(call, compute, opf_reduction_load(call, &reduction, 0));
    const opf_expr *term = p == 2 ? opf_binary(pool, OPF_OP_MUL, x, x) : opf_unary(pool, OPF_OP_ABS, x);
    if (p > 2) term = opf_binary(pool, OPF_OP_POW, term, power);
    int total = opf_reduction_stage(call, &reduction, "sum", OPF_COMBINE_SUM, compute, compute, term);
    const opf_expr *sum = opf_call_load_same(call, total);
    const opf_expr *root = p == 1 ? sum : p == 2 ? opf_unary(pool, OPF_OP_SQRT, sum) : opf_binary(pool, OPF_OP_POW, sum, opf_number(pool, compute, 1.0 / (double)p));
    opf_call_result(call, 0, opf_call_map(call, NULL, reduction.n_axes, reduction.extents, opf_call_convert(call, T, root)));
    return OPF_OK;
}

#define REDUCE(name) {"", name, 1, 1, 2, 1, OPF_KIND_COMM_REDUCE, 0, build_reduce, NULL}

const opf_op opf_ops_reduce[] = {
    REDUCE("ReduceSum"),
    REDUCE("ReduceMean"),
    REDUCE("ReduceMax"),
    REDUCE("ReduceMin"),
    REDUCE("ReduceProd"),
    REDUCE("ReduceL1"),
    REDUCE("ReduceL2"),
    REDUCE("ReduceSumSquare"),
    REDUCE("ReduceLogSum"),
    {"", "ReduceLogSumExp", 1, 1, 2, 1, OPF_KIND_COMM_REDUCE, 0, build_log_sum_exp, NULL},
    {"", "ArgMax", 1, 1, 1, 1, OPF_KIND_COMM_REDUCE, 0, build_arg, NULL},
    {"", "ArgMin", 1, 1, 1, 1, OPF_KIND_COMM_REDUCE, 0, build_arg, NULL},
    {"", "GlobalAveragePool", 1, 1, 1, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_global_pool, NULL},
    {"", "GlobalMaxPool", 1, 1, 1, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_global_pool, NULL},
    {"", "GlobalLpPool", 2, 1, 1, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_global_lp_pool, NULL},
};
const size_t opf_ops_reduce_count = OPF_COUNT(opf_ops_reduce);
