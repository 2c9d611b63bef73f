/* Operators that carry a state from one run to the next: CausalConvWithState, LinearAttention (opset 27), TensorScatter (24). */
#include <string.h>

#include "ops/attend.h"
#include "ops/families.h"

/* ---- CausalConvWithState: input [batch, channel, position], weight [channel, 1, tap] ---- */

enum { INPUT, WEIGHT, BIAS, PAST };

/* Element `position` of the sequence that the taps walk over: taps - 1 past elements (0 without a state), then the input. */
static const opf_expr *sequence(opf_call *call, const opf_expr *position, opf_dim before) {
    opf_pool *pool = call->pool;
    const opf_expr *here[] = {opf_var(pool, 0), opf_var(pool, 1), opf_sub(pool, position, before)};
    const opf_expr *earlier[] = {opf_var(pool, 0), opf_var(pool, 1), position};
    const opf_expr *past = opf_call_input(call, PAST) ? opf_call_load(call, PAST, earlier) : opf_real(pool, opf_call_dtype(call, INPUT), 0);
    return opf_select(pool, opf_call_less(call, position, before), past, opf_call_load(call, INPUT, here));
}

static const opf_expr *activated(opf_call *call, const opf_expr *value) {
    opf_pool *pool = call->pool;
    const char *activation = opf_node_string(call->node, "activation", "none");
    if (strcmp(activation, "none") == 0) return value;
    if (strcmp(activation, "silu") != 0 && strcmp(activation, "swish") != 0) {
        opf_call_error(call, "attribute", "activation is '%s', and must be none, silu or swish", activation);
        return value;
    }
    const opf_expr *one = opf_real(pool, (opf_dtype)value->dtype, 1), *power = opf_unary(pool, OPF_OP_EXP, opf_unary(pool, OPF_OP_NEG, value));
    return opf_binary(pool, OPF_OP_MUL, value, opf_binary(pool, OPF_OP_DIV, one, opf_binary(pool, OPF_OP_ADD, one, power)));
}

static bool check_convolution(opf_call *call) {
    if (!opf_call_check_rank(call, INPUT, 3, 3, "the input") || !opf_call_check_rank(call, WEIGHT, 3, 3, "the weight") || !opf_call_check_same_type(call, INPUT, WEIGHT)) return false;
    if (!opf_dtype_is_float(opf_call_dtype(call, INPUT))) opf_call_error(call, "type", "%s of %s is not supported", call->op->name, opf_dtype_name(opf_call_dtype(call, INPUT)));
    opf_dim channels = opf_call_dim(call, INPUT, 1), taps = opf_call_dim(call, WEIGHT, 2);
    opf_call_same(call, opf_call_dim(call, WEIGHT, 0), channels, "one kernel a channel");
    opf_call_same(call, opf_call_dim(call, WEIGHT, 1), opf_call_int(call, 1), "each kernel reads one channel");
    opf_call_require_ge_always(call, taps, opf_call_int(call, 1), "a kernel has a tap");
    if (opf_call_input(call, BIAS)) {
        if (!opf_call_check_rank(call, BIAS, 1, 1, "the bias") || !opf_call_check_same_type(call, INPUT, BIAS)) return false;
        opf_call_same(call, opf_call_dim(call, BIAS, 0), channels, "one bias a channel");
    }
    if (opf_call_input(call, PAST)) {
        if (!opf_call_check_rank(call, PAST, 3, 3, "the past state") || !opf_call_check_same_type(call, INPUT, PAST)) return false;
        opf_call_same(call, opf_call_dim(call, PAST, 0), opf_call_dim(call, INPUT, 0), "state and input have the same batch");
        opf_call_same(call, opf_call_dim(call, PAST, 1), channels, "state and input have the same channels");
        opf_call_same(call, opf_call_dim(call, PAST, 2), opf_sub(call->pool, taps, opf_call_int(call, 1)), "the state holds one element less than a kernel");
    }
    return !call->failed;
}

static opf_status build_causal_conv(opf_call *call) {
    opf_pool *pool = call->pool;
    if (!check_convolution(call)) return OPF_ERROR_INPUT;
    opf_dtype T = opf_call_dtype(call, INPUT), compute = opf_call_compute(T);
    opf_dim extents[] = {opf_call_dim(call, INPUT, 0), opf_call_dim(call, INPUT, 1), opf_call_dim(call, INPUT, 2), opf_call_dim(call, WEIGHT, 2)};
    opf_dim before = opf_sub(pool, extents[3], opf_int(pool, 1));
    const opf_expr *channel = opf_var(pool, 1), *position = opf_var(pool, 2), *tap = opf_var(pool, 3);
    const opf_expr *weight_at[] = {channel, opf_int(pool, 0), tap};
    const opf_expr *weight = opf_call_convert(call, compute, opf_call_load(call, WEIGHT, weight_at));
    const opf_expr *element = opf_call_convert(call, compute, sequence(call, opf_add(pool, position, tap), before));
    int sum = opf_call_stage(call, "sum", 3, 1, extents, (const char *const[]){"b", "c", "s", "k"}, OPF_COMBINE_SUM, compute, compute, opf_binary(pool, OPF_OP_MUL, element, weight), NULL);
    const opf_expr *value = opf_call_load_same(call, sum);
    if (opf_call_input(call, BIAS)) value = opf_binary(pool, OPF_OP_ADD, value, opf_call_convert(call, compute, opf_call_load(call, BIAS, &channel)));
    value = activated(call, value);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, 3, extents, opf_call_convert(call, T, value)));
    opf_dim kept[] = {extents[0], extents[1], before};
    opf_call_result(call, 1, opf_call_map(call, "present_state", 3, kept, sequence(call, opf_add(pool, position, extents[2]), before)));
    return OPF_OK;
}

/* ---- LinearAttention ---- */

enum { QUERY, KEY, VALUE, STATE, DECAY, BETA };
enum { MOST_STEPS = 64 }; /* each token is three stages */

typedef struct recurrence {
    opf_heads q, k, v;
    bool gates, corrects; /* which update rule */
    opf_dtype compute;
    int state;            /* stage [batch, head, key channel, value channel], -1: still all 0 */
} recurrence;

static bool read_rule(opf_call *call, recurrence *r) {
    const char *rule = opf_node_string(call->node, "update_rule", "gated_delta");
    static const struct { const char *name; bool gates, corrects; } rules[] = {{"linear", false, false}, {"gated", true, false}, {"delta", false, true}, {"gated_delta", true, true}};
    for (size_t k = 0; k < OPF_COUNT(rules); k++) {
        if (strcmp(rules[k].name, rule) != 0) continue;
        r->gates = rules[k].gates;
        r->corrects = rules[k].corrects;
        if (r->gates != (opf_call_input(call, DECAY) != NULL)) opf_call_error(call, "arity", "update_rule '%s' %s input 'decay'", rule, r->gates ? "needs" : "has no");
        if (r->corrects != (opf_call_input(call, BETA) != NULL)) opf_call_error(call, "arity", "update_rule '%s' %s input 'beta'", rule, r->corrects ? "needs" : "has no");
        return !call->failed;
    }
    opf_call_error(call, "attribute", "update_rule is '%s', and must be linear, gated, delta or gated_delta", rule);
    return false;
}

/* decay or beta at (v0, v1, token, key channel): one a channel, one a head, or one for all heads. */
static const opf_expr *gate(opf_call *call, int input, const recurrence *r, const opf_expr *token, const opf_expr *channel) {
    opf_pool *pool = call->pool;
    if (!opf_call_check_rank(call, input, 3, 3, input == DECAY ? "the decay" : "beta")) return opf_real(pool, r->compute, 0);
    opf_dim last = opf_call_dim(call, input, 2), all = opf_mul(pool, r->k.heads, r->k.size);
    const opf_expr *head = opf_var(pool, 1), *feature = head;
    if (opf_is_value(last, 1)) feature = opf_int(pool, 0);
    else if (last == all && input == DECAY) feature = opf_add(pool, opf_mul(pool, head, r->k.size), channel);
    else opf_call_same(call, last, r->k.heads, "one gate a head");
    const opf_expr *at[] = {opf_var(pool, 0), token, feature};
    return opf_call_convert(call, r->compute, opf_call_load(call, input, at));
}

/* The state before the update at the point (v0, v1, key, value); NULL where it is 0. */
static const opf_expr *decayed(opf_call *call, const recurrence *r, const opf_expr *token, const opf_expr *key, const opf_expr *value) {
    if (r->state < 0) return NULL;
    const opf_expr *at[] = {opf_var(call->pool, 0), opf_var(call->pool, 1), key, value};
    const opf_expr *state = opf_call_convert(call, r->compute, opf_call_load(call, r->state, at));
    if (!r->gates) return state;
    return opf_binary(call->pool, OPF_OP_MUL, state, opf_unary(call->pool, OPF_OP_EXP, gate(call, DECAY, r, token, key)));
}

static const opf_expr *operand(opf_call *call, const recurrence *r, const opf_heads *heads, const opf_expr *token, const opf_expr *channel) {
    return opf_call_convert(call, r->compute, opf_heads_load(call, heads, opf_var(call->pool, 0), opf_var(call->pool, 1), token, channel));
}

/* Appends the stage of the state after one token. */
static void update(opf_call *call, recurrence *r, int64_t step) {
    opf_pool *pool = call->pool;
    const opf_expr *token = opf_int(pool, step);
    opf_dim extents[] = {r->q.batch, r->k.heads, r->k.size, r->v.size};
    int retrieved = -1;
    if (r->corrects && r->state >= 0) { /* what the state answers to the key, [batch, head, value channel] */
        opf_dim domain[] = {extents[0], extents[1], extents[3], extents[2]};
        const opf_expr *term = opf_binary(pool, OPF_OP_MUL, decayed(call, r, token, opf_var(pool, 3), opf_var(pool, 2)), operand(call, r, &r->k, token, opf_var(pool, 3)));
        retrieved = opf_call_stage(call, opf_arena_printf(call->arena, "retrieved%lld", (long long)step), 3, 1, domain, (const char *const[]){"b", "h", "v", "k"}, OPF_COMBINE_SUM, r->compute, r->compute, term, NULL);
    }
    const opf_expr *key = opf_var(pool, 2), *channel = opf_var(pool, 3), *value = operand(call, r, &r->v, token, channel);
    const opf_expr *at[] = {opf_var(pool, 0), opf_var(pool, 1), channel};
    if (retrieved >= 0) value = opf_binary(pool, OPF_OP_SUB, value, opf_call_load(call, retrieved, at));
    if (r->corrects) value = opf_binary(pool, OPF_OP_MUL, gate(call, BETA, r, token, NULL), value);
    const opf_expr *written = opf_binary(pool, OPF_OP_MUL, operand(call, r, &r->k, token, key), value), *before = decayed(call, r, token, key, channel);
    if (before) written = opf_binary(pool, OPF_OP_ADD, before, written);
    r->state = opf_call_stage(call, opf_arena_printf(call->arena, "state%lld", (long long)step), 4, 0, extents, (const char *const[]){"b", "h", "k", "v"}, OPF_COMBINE_NONE, r->compute, r->compute, written, NULL);
}

/* What the state answers to the query, [batch, query head, value channel]. */
static int answer(opf_call *call, const recurrence *r, int64_t step) {
    opf_pool *pool = call->pool;
    opf_dim extents[] = {r->q.batch, r->q.heads, r->v.size, r->k.size}, group = opf_floordiv(pool, r->q.heads, r->k.heads);
    const opf_expr *at[] = {opf_var(pool, 0), opf_floordiv(pool, opf_var(pool, 1), group), opf_var(pool, 3), opf_var(pool, 2)};
    const opf_expr *term = opf_binary(pool, OPF_OP_MUL, operand(call, r, &r->q, opf_int(pool, step), opf_var(pool, 3)), opf_call_load(call, r->state, at));
    return opf_call_stage(call, opf_arena_printf(call->arena, "answer%lld", (long long)step), 3, 1, extents, (const char *const[]){"b", "h", "v", "k"}, OPF_COMBINE_SUM, r->compute, r->compute, term, NULL);
}

static bool read_recurrence(opf_call *call, recurrence *r, int64_t *steps) {
    opf_pool *pool = call->pool;
    int64_t q_heads = opf_node_int(call->node, "q_num_heads", 0), kv_heads = opf_node_int(call->node, "kv_num_heads", 0);
    for (int k = QUERY; k <= VALUE; k++)
        if (!opf_call_check_rank(call, k, 3, 3, "query, key and value") || !opf_call_check_same_type(call, QUERY, k)) return false;
    if (!opf_dtype_is_float(opf_call_dtype(call, QUERY))) opf_call_error(call, "type", "query, key and value must be floating");
    if (q_heads < 1 || kv_heads < 1 || q_heads % kv_heads != 0) opf_call_error(call, "attribute", "q_num_heads %lld is no multiple of kv_num_heads %lld", (long long)q_heads, (long long)kv_heads);
    if (call->failed || !read_rule(call, r)) return false;
    r->q = opf_heads_of(call, QUERY, q_heads);
    r->k = opf_heads_of(call, KEY, kv_heads);
    r->v = opf_heads_of(call, VALUE, kv_heads);
    r->compute = opf_call_compute(opf_call_dtype(call, QUERY));
    r->state = opf_call_input(call, STATE) ? STATE : -1;
    opf_call_same(call, r->q.size, r->k.size, "queries and keys have the same channels");
    opf_call_same(call, r->q.batch, r->k.batch, "queries and keys have the same batch");
    opf_call_same(call, r->q.batch, r->v.batch, "queries and values have the same batch");
    opf_dim tokens = opf_call_same(call, opf_call_same(call, r->q.length, r->k.length, "queries and keys have the same tokens"), r->v.length, "queries and values have the same tokens");
    opf_dim expected[] = {r->q.batch, opf_int(pool, kv_heads), r->k.size, r->v.size};
    if (r->state >= 0 && !opf_call_check_rank(call, STATE, 4, 4, "the past state")) return false;
    for (int k = 0; r->state >= 0 && k < 4; k++) opf_call_same(call, opf_call_dim(call, STATE, k), expected[k], "the past state is [batch, heads, key channels, value channels]");
    if (!opf_is_int(tokens, steps) || *steps < 1 || *steps > MOST_STEPS) {
        opf_call_error(call, "unsupported", "the number of tokens must be constant, at least 1 and at most %d", MOST_STEPS);
        opf_call_hint(call, "pin it with --dim or --shape, or use the operator's function body");
    }
    return !call->failed;
}

static opf_status build_linear_attention(opf_call *call) {
    opf_pool *pool = call->pool;
    recurrence r;
    int64_t steps;
    if (!read_recurrence(call, &r, &steps)) return OPF_ERROR_INPUT;
    opf_dtype T = opf_call_dtype(call, QUERY), S = r.state >= 0 ? opf_call_dtype(call, STATE) : T;
    const opf_expr *result = NULL, *scale = opf_attend_scale(call, "scale", r.q.size, r.compute);
    opf_dim extents[] = {r.q.batch, r.q.length, opf_mul(pool, r.q.heads, r.v.size)};
    const opf_expr *feature = opf_var(pool, 2), *at[] = {opf_var(pool, 0), opf_floordiv(pool, feature, r.v.size), opf_floormod(pool, feature, r.v.size)};
    for (int64_t step = 0; step < steps && !call->failed; step++) {
        update(call, &r, step);
        const opf_expr *here = opf_call_load(call, answer(call, &r, step), at);
        const opf_expr *later = opf_binary(pool, OPF_OP_GE, opf_var(pool, 1), opf_int(pool, step));
        result = result ? opf_select(pool, later, here, result) : here;
    }
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim kept[4];
    opf_call_dims(call, r.state, kept);
    opf_call_result(call, 0, opf_call_map(call, NULL, 3, extents, opf_call_convert(call, T, opf_binary(pool, OPF_OP_MUL, result, scale))));
    opf_call_result(call, 1, opf_call_map(call, "present_state", 4, kept, opf_call_convert(call, S, opf_call_load_same(call, r.state))));
    return OPF_OK;
}

/* ---- TensorScatter: a cache with some positions of each of the batch replaced ---- */

enum { CACHE, NEW, WHERE };

static opf_status build_tensor_scatter(opf_call *call) {
    opf_pool *pool = call->pool;
    int rank = opf_call_rank(call, CACHE), axis = opf_call_axis(call, opf_node_int(call->node, "axis", -2), rank);
    const char *mode = opf_node_string(call->node, "mode", "linear");
    bool circular = strcmp(mode, "circular") == 0;
    if (!opf_call_check_rank(call, CACHE, 2, OPF_MAX_RANK, "the cache") || !opf_call_check_rank(call, NEW, rank, rank, "the update") || !opf_call_check_same_type(call, CACHE, NEW)) return OPF_ERROR_INPUT;
    if (!circular && strcmp(mode, "linear") != 0) opf_call_error(call, "attribute", "mode '%s' is neither linear nor circular", mode);
    if (!call->failed && axis == 0) opf_call_error(call, "shape", "axis 0 is the batch, which holds no sequence");
    opf_dim extents[OPF_MAX_RANK], updates = opf_call_dim(call, NEW, axis);
    opf_call_dims(call, CACHE, extents);
    for (int k = 0; k < rank; k++)
        if (k != axis) opf_call_same(call, extents[k], opf_call_dim(call, NEW, k), "cache and update agree along the other axes");
    opf_call_require_ge(call, extents[axis], updates, "the cache holds the update");
    const opf_expr *indices[OPF_MAX_RANK], *batch = opf_var(pool, 0), *first = opf_int(pool, 0);
    if (opf_call_input(call, WHERE)) {
        if (!opf_call_check_rank(call, WHERE, 1, 1, "write_indices") || !opf_call_check_integer(call, WHERE, "write_indices")) return OPF_ERROR_INPUT;
        opf_call_same(call, opf_call_dim(call, WHERE, 0), extents[0], "one write index each of the batch");
        first = opf_call_convert(call, OPF_INT64, opf_call_load(call, WHERE, &batch));
    }
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_vars(call, 0, rank, indices);
    const opf_expr *distance = opf_sub(pool, indices[axis], first);
    if (circular) distance = opf_floormod(pool, distance, extents[axis]);
    const opf_expr *replaced = opf_call_less(call, distance, updates), *old = opf_call_load(call, CACHE, indices);
    if (!circular) replaced = opf_call_and(call, opf_call_at_most(call, opf_int(pool, 0), distance), replaced);
    indices[axis] = distance;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, opf_call_choose(call, replaced, opf_call_load(call, NEW, indices), old)));
    return OPF_OK;
}

const opf_op opf_ops_state[] = {
    {"", "TensorScatter", 24, 2, 3, 1, OPF_KIND_INJECTIVE, 0, build_tensor_scatter, NULL},
    {"", "CausalConvWithState", 27, 2, 4, 2, OPF_KIND_OPAQUE, 0, build_causal_conv, NULL},
    {"", "LinearAttention", 27, 3, 6, 2, OPF_KIND_OPAQUE, 0, build_linear_attention, NULL},
};
const size_t opf_ops_state_count = OPF_COUNT(opf_ops_state);
