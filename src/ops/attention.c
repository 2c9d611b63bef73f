/* Attention of ONNX, opsets 23 to 25, and FlexAttention (ai.onnx.preview). */
#include "ops/attend.h"
#include "ops/families.h"

#include <math.h>

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, NONPAD };

/* Absolute position of query 0: what goes before it. */
static const opf_expr *first_position(opf_call *call, const opf_attention *attention, const opf_expr *nonpad) {
    if (opf_call_input(call, PAST_KEY)) return opf_call_dim(call, PAST_KEY, 2);
    if (nonpad) return opf_sub(call->pool, nonpad, attention->q.length);
    return opf_call_int(call, 0);
}

/* May query v2 see key v3? NULL: always. */
static const opf_expr *visible(opf_call *call, const opf_attention *attention) {
    opf_pool *pool = call->pool;
    const opf_expr *batch = opf_var(pool, 0), *key = opf_var(pool, 3), *nonpad = NULL, *allowed = NULL;
    int64_t left = opf_node_int(call->node, "left_window_size", -1), right = opf_node_int(call->node, "right_window_size", -1);
    if (opf_call_input(call, NONPAD)) {
        if (!opf_call_check_rank(call, NONPAD, 1, 1, "nonpad_kv_seqlen") || !opf_call_check_integer(call, NONPAD, "nonpad_kv_seqlen")) return NULL;
        opf_call_same(call, opf_call_dim(call, NONPAD, 0), attention->q.batch, "one length each of the batch");
        nonpad = opf_call_convert(call, OPF_INT64, opf_call_load(call, NONPAD, &batch));
        allowed = opf_call_less(call, key, nonpad);
    }
    const opf_expr *position = opf_add(pool, opf_var(pool, 2), first_position(call, attention, nonpad));
    if (opf_node_int(call->node, "is_causal", 0) != 0) allowed = opf_call_and(call, allowed, opf_call_at_most(call, key, position));
    if (left >= 0) allowed = opf_call_and(call, allowed, opf_call_at_most(call, position, opf_add(pool, key, opf_call_int(call, left))));
    if (right >= 0) allowed = opf_call_and(call, allowed, opf_call_at_most(call, key, opf_add(pool, position, opf_call_int(call, right))));
    return allowed;
}

static void apply_mask(opf_call *call, opf_attention *attention, opf_dtype compute) {
    opf_pool *pool = call->pool;
    attention->masked = -INFINITY;
    attention->allowed = visible(call, attention);
    if (!opf_call_input(call, MASK) || call->failed) return;
    opf_dim extents[] = {attention->q.batch, attention->q.heads, attention->q.length, opf_heads_total(call, &attention->k)};
    const opf_expr *inside = NULL, *mask = opf_attend_mask(call, MASK, extents, &inside);
    if (mask->dtype == OPF_BOOL) {
        attention->allowed = opf_call_and(call, attention->allowed, inside ? opf_select(pool, inside, mask, opf_int_of(pool, OPF_BOOL, 0)) : mask);
        return;
    }
    if (!opf_dtype_is_float((opf_dtype)mask->dtype)) opf_call_error(call, "type", "the mask must be bool or of the queries' type, and is %s", opf_dtype_name((opf_dtype)mask->dtype));
    mask = opf_call_convert(call, compute, mask);
    attention->added = opf_call_choose(call, inside, mask, opf_real(pool, compute, -INFINITY));
}

/* The kept keys or values: the result `output`, and what is read from then on. */
static void keep(opf_call *call, opf_heads *heads, int past, int output, const char *role) {
    if (opf_call_input(call, past)) opf_heads_after(call, heads, past);
    if (call->failed || !(opf_call_wants(call, output) || heads->past >= 0)) return;
    opf_heads_whole(call, heads, role);
    opf_call_result(call, output, heads->tensor);
}

static void scores_result(opf_call *call, const opf_attention_stages *stages, opf_dtype dtype) {
    const int by_mode[] = {stages->scores, stages->capped, stages->biased, stages->weights};
    int64_t mode = opf_node_int(call->node, "qk_matmul_output_mode", 0);
    if (!opf_call_wants(call, 3)) return;
    if (mode < 0 || mode > 3) {
        opf_call_error(call, "attribute", "qk_matmul_output_mode is %lld, and must be 0, 1, 2 or 3", (long long)mode);
        return;
    }
    opf_dim extents[4];
    opf_call_dims(call, by_mode[mode], extents);
    opf_call_result(call, 3, opf_call_map(call, "qk", 4, extents, opf_call_convert(call, dtype, opf_call_load_same(call, by_mode[mode]))));
}

static opf_status build_attention(opf_call *call) {
    int rank = opf_call_rank(call, QUERY);
    opf_dtype dtype = opf_call_dtype(call, QUERY), compute = opf_call_compute(dtype);
    if (!opf_call_check_rank(call, QUERY, 3, 4, "the query") || !opf_call_check_rank(call, KEY, rank, rank, "the key") || !opf_call_check_rank(call, VALUE, rank, rank, "the value"))
        return OPF_ERROR_INPUT;
    if (!opf_dtype_is_float(dtype) || opf_call_dtype(call, KEY) != dtype) return opf_call_error(call, "type", "query and key must have one floating type");
    if (!opf_call_input(call, PAST_KEY) != !opf_call_input(call, PAST_VALUE)) return opf_call_error(call, "arity", "past_key and past_value go together");
    int64_t q_heads = opf_node_int(call->node, "q_num_heads", 0), kv_heads = opf_node_int(call->node, "kv_num_heads", 0);
    opf_attention attention = {.dtype = dtype, .q = opf_heads_of(call, QUERY, q_heads), .k = opf_heads_of(call, KEY, kv_heads), .v = opf_heads_of(call, VALUE, kv_heads)};
    keep(call, &attention.k, PAST_KEY, 1, "present_key");
    keep(call, &attention.v, PAST_VALUE, 2, "present_value");
    int64_t precision = opf_node_int(call->node, "softmax_precision", dtype);
    attention.softmax = precision > 0 && precision <= INT32_MAX && opf_dtype_valid((int)precision) ? (opf_dtype)precision : dtype;
    /* Half types: what an operator computes is rounded at its end alone. */
    if (opf_call_compute(attention.softmax) == compute) attention.softmax = compute;
    attention.softcap = opf_node_float(call->node, "softcap", 0);
    attention.scale = opf_attend_scale(call, "scale", attention.q.size, compute);
    if (!call->failed) apply_mask(call, &attention, compute);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_attention_stages stages = opf_attend(call, &attention);
    scores_result(call, &stages, dtype);
    opf_call_result(call, 0, rank == 4 ? stages.result : opf_attend_merge(call, stages.result));
    return OPF_OK;
}

/* ---- FlexAttention: query, key and value by head, nothing masked ---- */

opf_dtype opf_flex_precision(const opf_node *node) {
    opf_dtype own = node->inputs[0]->dtype;
    int64_t given = opf_node_int(node, "softmax_precision", own == OPF_FLOAT64 ? OPF_FLOAT64 : OPF_FLOAT32);
    bool floating = given > 0 && given <= INT32_MAX && opf_dtype_valid((int)given) && opf_dtype_is_float((opf_dtype)given) && opf_dtype_bits((opf_dtype)given) >= 16;
    return floating ? (opf_dtype)given : OPF_NO_DTYPE;
}

/* Can the node be written out with its sub-graphs? */
static bool check_modifier(opf_call *call, const char *name) {
    const opf_attr *attr = opf_node_attr(call->node, name);
    if (!attr) return true;
    if (attr->kind != OPF_ATTR_GRAPH || attr->graphs[0]->inputs.count != 1 || attr->graphs[0]->outputs.count != 1)
        return opf_call_error(call, "attribute", "%s must be a graph of one input and one output", name), false;
    for (int k = QUERY; k <= VALUE; k++) {
        bool heads = opf_call_dim(call, k, 1) == opf_call_dim(call, QUERY, 1) || (opf_is_int(opf_call_dim(call, k, 1), NULL) && opf_is_int(opf_call_dim(call, QUERY, 1), NULL));
        if (heads && opf_is_int(opf_call_dim(call, k, 3), NULL)) continue;
        opf_call_error(call, "unsupported", "%s needs numbers of heads and channels that are known before the model runs", name);
        opf_call_hint(call, "give the input's sizes by --shape or --dim");
        return false;
    }
    return true;
}

static opf_status build_flex_attention(opf_call *call) {
    opf_dtype dtype = opf_call_dtype(call, QUERY), compute = opf_call_compute(dtype);
    for (int k = QUERY; k <= VALUE; k++)
        if (!opf_call_check_rank(call, k, 4, 4, "query, key and value") || !opf_call_check_same_type(call, QUERY, k)) return OPF_ERROR_INPUT;
    if (!opf_dtype_is_float(dtype)) return opf_call_error(call, "type", "%s of %s is not supported", call->op->name, opf_dtype_name(dtype));
    if (opf_flex_precision(call->node) == OPF_NO_DTYPE) return opf_call_error(call, "attribute", "softmax_precision names no floating type to compute in");
    if (!check_modifier(call, "score_mod") || !check_modifier(call, "prob_mod")) return OPF_ERROR_INPUT;
    opf_attention attention = {.q = opf_heads_of(call, QUERY, 0), .k = opf_heads_of(call, KEY, 0), .v = opf_heads_of(call, VALUE, 0), .dtype = dtype, .softmax = compute};
    attention.scale = opf_attend_scale(call, "scale", attention.q.size, compute);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_attend(call, &attention).result);
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

const opf_op opf_ops_attention[] = {
    {"ai.onnx.preview", "FlexAttention", 1, 3, 3, 1, OPF_KIND_OPAQUE, 0, build_flex_attention, NULL},
    {"", "Attention", 23, 3, 7, 4, OPF_KIND_OPAQUE, 0, build_attention, NULL},
};
const size_t opf_ops_attention_count = OPF_COUNT(opf_ops_attention);
