/* Losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. Deterministic tensor arithmetic like any other; x is
 * [N, C, d…], the target [N, d…]. */
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"

typedef enum loss_reduction { LOSS_EACH, LOSS_SUM, LOSS_MEAN } loss_reduction;

typedef struct loss {
    int rank;                       /* of x */
    opf_dtype dtype, compute;
    loss_reduction reduction;
    opf_dim extents[OPF_MAX_RANK];  /* of the target */
    const opf_expr *target;         /* element of the target, int64 */
    const opf_expr *counts;         /* is it not the one to ignore? NULL: always */
} loss;

static bool read_reduction(opf_call *call, loss_reduction *out) {
    static const char *const names[] = {[LOSS_EACH] = "none", [LOSS_SUM] = "sum", [LOSS_MEAN] = "mean"};
    const char *given = opf_node_string(call->node, "reduction", "mean");
    for (size_t k = 0; k < OPF_COUNT(names); k++) {
        if (strcmp(given, names[k]) != 0) continue;
        *out = (loss_reduction)k;
        return true;
    }
    opf_call_error(call, "attribute", "reduction '%s' is none of none, sum and mean", given);
    return false;
}

static bool read_loss(opf_call *call, loss *l) {
    *l = (loss){.rank = opf_call_rank(call, 0), .dtype = opf_call_dtype(call, 0)};
    l->compute = opf_call_compute(l->dtype);
    if (!opf_dtype_is_float(l->dtype)) return opf_call_error(call, "type", "the input must be of a floating type, and is %s", opf_dtype_name(l->dtype)), false;
    if (!opf_call_check_rank(call, 0, 2, OPF_MAX_RANK, "the input") || !opf_call_check_rank(call, 1, l->rank - 1, l->rank - 1, "the target")) return false;
    if (!opf_call_check_integer(call, 1, "the target") || !opf_call_check_same_type(call, 0, 2) || !read_reduction(call, &l->reduction)) return false;
    if (opf_call_input(call, 2)) {
        if (!opf_call_check_rank(call, 2, 1, 1, "the weights")) return false;
        opf_call_same(call, opf_call_dim(call, 2, 0), opf_call_dim(call, 0, 1), "the weights and the classes");
    }
    for (int k = 0; k < l->rank - 1; k++) l->extents[k] = opf_call_same(call, opf_call_dim(call, 1, k), opf_call_dim(call, 0, k ? k + 1 : 0), "the sizes of input and target");
    opf_call_require_ge_always(call, opf_call_dim(call, 0, 1), opf_call_int(call, 1), "there must be a class");
    l->target = opf_call_convert(call, OPF_INT64, opf_call_load_same(call, 1));
    if (opf_node_attr(call->node, "ignore_index")) l->counts = opf_binary(call->pool, OPF_OP_NE, l->target, opf_call_int(call, opf_node_int(call->node, "ignore_index", 0)));
    return !call->failed;
}

/* The result from the log-probabilities of tensor `scores`, which has x's extents. */
static void add_loss(opf_call *call, const loss *l, int scores) {
    opf_pool *pool = call->pool;
    const opf_expr *zero = opf_real(pool, l->compute, 0), *class = opf_call_clamp(call, l->target, opf_call_dim(call, 0, 1)), *indices[OPF_MAX_RANK];
    for (int k = 0; k < l->rank; k++) indices[k] = k == 1 ? class : opf_call_var(call, k ? k - 1 : 0);
    const opf_expr *weight = opf_call_input(call, 2) ? opf_call_convert(call, l->compute, opf_call_load(call, 2, &class)) : opf_real(pool, l->compute, 1);
    const opf_expr *each = opf_unary(pool, OPF_OP_NEG, opf_call_convert(call, l->compute, opf_call_load(call, scores, indices)));
    if (opf_call_input(call, 2)) each = opf_binary(pool, OPF_OP_MUL, each, weight);
    each = opf_call_choose(call, l->counts, each, zero);
    weight = opf_call_choose(call, l->counts, weight, zero);
    int n = l->rank - 1;
    if (l->reduction == LOSS_EACH) {
        opf_call_result(call, 0, opf_call_map(call, "each", n, l->extents, opf_call_convert(call, l->dtype, each)));
        return;
    }
    bool mean = l->reduction == LOSS_MEAN;
    int sum = opf_call_stage(call, "sum", 0, n, l->extents, NULL, OPF_COMBINE_SUM, mean ? l->compute : l->dtype, l->compute, each, NULL);
    if (mean) {
        int weights = opf_call_stage(call, "weights", 0, n, l->extents, NULL, OPF_COMBINE_SUM, l->compute, l->compute, weight, NULL);
        const opf_expr *quotient = opf_binary(pool, OPF_OP_DIV, opf_call_load_same(call, sum), opf_call_load_same(call, weights));
        sum = opf_call_map(call, "mean", 0, NULL, opf_call_convert(call, l->dtype, quotient));
    }
    opf_call_result(call, 0, sum);
}

static opf_status build_negative_log_likelihood(opf_call *call) {
    loss l;
    if (!read_loss(call, &l)) return OPF_ERROR_INPUT;
    add_loss(call, &l, 0);
    return OPF_OK;
}

/* x - max - log(sum of exp(x - max)) over the classes, in the type that is computed in. */
static int log_probabilities(opf_call *call, const loss *l) {
    opf_pool *pool = call->pool;
    int rank = l->rank;
    opf_dim extents[OPF_MAX_RANK], own[OPF_MAX_RANK];
    const opf_expr *inner[OPF_MAX_RANK], *outer[OPF_MAX_RANK];
    opf_call_dims(call, 0, own);
    for (int k = 0; k < rank - 1; k++) extents[k] = l->extents[k];
    extents[rank - 1] = own[1];
    for (int k = 0; k < rank; k++) inner[k] = opf_call_var(call, k == 0 ? 0 : k == 1 ? rank - 1 : k - 1);
    for (int k = 0; k < rank - 1; k++) outer[k] = opf_call_var(call, k ? k + 1 : 0);
    const opf_expr *x = opf_call_convert(call, l->compute, opf_call_load(call, 0, inner));
    int max = opf_call_stage(call, "max", rank - 1, 1, extents, NULL, OPF_COMBINE_MAX, l->compute, l->compute, x, NULL);
    const opf_expr *exponential = opf_unary(pool, OPF_OP_EXP, opf_binary(pool, OPF_OP_SUB, x, opf_call_load_same(call, max)));
    int sum = opf_call_stage(call, "sum", rank - 1, 1, extents, NULL, OPF_COMBINE_SUM, l->compute, l->compute, exponential, NULL);
    const opf_expr *shifted = opf_binary(pool, OPF_OP_SUB, opf_call_convert(call, l->compute, opf_call_load_same(call, 0)), opf_call_load(call, max, outer));
    const opf_expr *body = opf_binary(pool, OPF_OP_SUB, shifted, opf_unary(pool, OPF_OP_LOG, opf_call_load(call, sum, outer)));
    return opf_call_map(call, "log_probability", rank, own, body);
}

static opf_status build_softmax_cross_entropy(opf_call *call) {
    loss l;
    if (!read_loss(call, &l)) return OPF_ERROR_INPUT;
    int scores = log_probabilities(call, &l);
    add_loss(call, &l, scores);
    if (opf_call_wants(call, 1)) {
        opf_dim extents[OPF_MAX_RANK];
        opf_call_dims(call, 0, extents);
        bool narrow = l.compute != l.dtype;
        int result = narrow ? opf_call_map(call, "rounded", l.rank, extents, opf_cast(call->pool, l.dtype, opf_call_load_same(call, scores))) : scores;
        opf_call_result(call, 1, result);
    }
    return OPF_OK;
}

const opf_op opf_ops_loss[] = {
    {"", "NegativeLogLikelihoodLoss", 12, 2, 3, 1, OPF_KIND_OPAQUE, 0, build_negative_log_likelihood, NULL},
    {"", "SoftmaxCrossEntropyLoss", 12, 2, 3, 2, OPF_KIND_OPAQUE, 0, build_softmax_cross_entropy, NULL},
};
const size_t opf_ops_loss_count = OPF_COUNT(opf_ops_loss);
