/* Attentions of ONNX Runtime: Attention, QAttention, MultiHeadAttention, GroupQueryAttention; and EmbedLayerNormalization,
 * which goes before them. */
#include <math.h>

#include "ops/content.h"
#include "ops/facts.h"
#include "ops/families.h"
#include "ops/product.h"
#include "ops/reduction.h"
#include "ops/rotary.h"

/* ---- masks: a large negative number is added where a key is not to be seen ---- */

static bool same_dim(const opf_call *call, opf_dim a, opf_dim b) { return opf_dim_canonical(call->module, a) == opf_dim_canonical(call->module, b); }

/* May key v3 be seen? Lengths [b], ends and starts [2 b], or numbers that are not 0: [b, keys], [b, queries, keys]. */
static const opf_expr *unpadded(opf_call *call, int input, const opf_attention *attention) {
    opf_pool *pool = call->pool;
    int rank = opf_call_rank(call, input);
    const opf_expr *batch = opf_var(pool, 0), *key = opf_var(pool, 3), *at[] = {batch, opf_var(pool, 2), key}, *zero = opf_int(pool, 0);
    if (!opf_call_check_rank(call, input, 1, 3, "the mask") || !opf_call_check_integer(call, input, "the mask")) return NULL;
    opf_dim first = opf_call_dim(call, input, 0), keys = opf_heads_total(call, &attention->k);
    if (rank == 1) {
        const opf_expr *seen = opf_call_less(call, key, opf_call_convert(call, OPF_INT64, opf_call_load(call, input, &batch)));
        opf_dim two = opf_mul(pool, attention->q.batch, opf_int(pool, 2));
        if (!same_dim(call, first, attention->q.batch) && same_dim(call, first, two)) {
            const opf_expr *start = opf_add(pool, batch, attention->q.batch);
            return opf_call_and(call, seen, opf_call_at_most(call, opf_call_convert(call, OPF_INT64, opf_call_load(call, input, &start)), key));
        }
        opf_call_same(call, first, attention->q.batch, "one length each of the batch");
        return seen;
    }
    opf_call_same(call, first, attention->q.batch, "mask and queries have the same batch");
    opf_call_same(call, opf_call_dim(call, input, rank - 1), keys, "the mask has one number a key");
    if (rank == 3) opf_call_same(call, opf_call_dim(call, input, 1), attention->q.length, "the mask has one row a query");
    const opf_expr *two_axes[] = {batch, key};
    return opf_binary(pool, OPF_OP_GT, opf_call_convert(call, OPF_INT64, opf_call_load(call, input, rank == 2 ? two_axes : at)), zero);
}

/* Sets what is added and allowed: padding, order, and a bias; each input -1 where the operator has none. */
static void apply_masks(opf_call *call, opf_attention *attention, int mask, int bias, opf_dtype compute) {
    opf_pool *pool = call->pool;
    double filter = opf_node_float(call->node, "mask_filter_value", -10000);
    attention->masked = -INFINITY;
    if (mask >= 0 && opf_call_input(call, mask)) {
        const opf_expr *seen = unpadded(call, mask, attention);
        if (call->failed) return;
        attention->added = opf_select(pool, seen, opf_real(pool, compute, 0), opf_real(pool, compute, filter));
    }
    if (bias >= 0 && opf_call_input(call, bias)) {
        opf_dim extents[] = {attention->q.batch, attention->q.heads, attention->q.length, opf_heads_total(call, &attention->k)};
        const opf_expr *inside = NULL, *value = opf_call_convert(call, compute, opf_attend_mask(call, bias, extents, &inside));
        value = opf_call_choose(call, inside, value, opf_real(pool, compute, 0));
        attention->added = attention->added ? opf_binary(pool, OPF_OP_ADD, attention->added, value) : value;
    }
    if (opf_node_int(call->node, "unidirectional", 0) != 0) {
        opf_dim earlier = opf_sub(pool, opf_heads_total(call, &attention->k), attention->q.length);
        attention->allowed = opf_call_at_most(call, opf_var(pool, 3), opf_add(pool, opf_var(pool, 2), earlier));
    }
}

static bool check_half_or_single(opf_call *call, opf_dtype dtype) {
    if (opf_dtype_is_float(dtype)) return true;
    opf_call_error(call, "type", "%s of %s is not supported", call->op->name, opf_dtype_name(dtype));
    return false;
}

static int64_t number_of_heads(opf_call *call, const char *name) {
    int64_t heads = opf_node_int(call->node, name, 0);
    if (heads < 1 || heads > INT32_MAX) opf_call_error(call, "attribute", "%s is %lld, and must be at least 1", name, (long long)heads);
    return heads < 1 ? 1 : heads;
}

/* Inputs that the operator needs behind others that may be left out. */
static bool check_given(opf_call *call, int count, const int *inputs) {
    for (int k = 0; k < count; k++)
        if (!opf_call_input(call, inputs[k])) opf_call_error(call, "arity", "%s needs input %d, which is missing", call->op->name, inputs[k]);
    return !call->failed;
}

/* ---- Attention, QAttention: queries, keys and values are one product of the input ---- */

/* Heads in channels first … first + hidden - 1 of a tensor [b, s, channels]. */
static opf_heads heads_within(opf_call *call, int tensor, int64_t heads, opf_dim first, opf_dim hidden) {
    opf_heads made = {.tensor = tensor, .form = OPF_HEADS_MINOR, .batch = opf_call_dim(call, tensor, 0), .length = opf_call_dim(call, tensor, 1), .first = first,
                      .bias = -1, .bias_first = opf_int(call->pool, 0), .past = -1, .past_length = opf_int(call->pool, 0)};
    made.heads = opf_int(call->pool, heads);
    made.size = opf_floordiv(call->pool, hidden, made.heads);
    opf_call_same(call, opf_mul(call->pool, made.size, made.heads), hidden, "the heads share the channels evenly");
    return made;
}

static void split_heads(opf_call *call, int projected, int64_t heads, opf_attention *attention) {
    opf_pool *pool = call->pool;
    const int64_t *given;
    opf_dim all = opf_call_dim(call, projected, 2), sizes[3];
    int count = opf_node_ints(call->node, "qkv_hidden_sizes", &given);
    for (int k = 0; k < 3; k++) sizes[k] = count == 3 ? opf_int(pool, given[k]) : opf_floordiv(pool, all, opf_int(pool, 3));
    opf_dim second = opf_add(pool, sizes[0], sizes[1]);
    opf_call_same(call, opf_add(pool, second, sizes[2]), all, "queries, keys and values make up the product");
    attention->q = heads_within(call, projected, heads, opf_int(pool, 0), sizes[0]);
    attention->k = heads_within(call, projected, heads, sizes[0], sizes[1]);
    attention->v = heads_within(call, projected, heads, second, sizes[2]);
}

/* past and present are [2, b, heads, positions, size]: keys, then values. */
static void keep_both(opf_call *call, int past, opf_attention *attention) {
    opf_pool *pool = call->pool;
    opf_heads *both[] = {&attention->k, &attention->v};
    if (opf_call_input(call, past)) {
        if (!opf_call_check_rank(call, past, 5, 5, "the past")) return;
        opf_call_same(call, opf_call_dim(call, past, 0), opf_int(pool, 2), "the past holds keys and values");
        for (int k = 0; k < 2; k++) {
            opf_dim extents[5];
            opf_call_dims(call, past, extents);
            const opf_expr *at[5] = {opf_int(pool, k)};
            opf_call_vars(call, 0, 4, at + 1);
            opf_heads_after(call, both[k], opf_call_map(call, k == 0 ? "past_keys" : "past_values", 4, extents + 1, opf_call_load(call, past, at)));
        }
    }
    if (call->failed || !(opf_call_wants(call, 1) || attention->k.past >= 0)) return;
    opf_heads_whole(call, &attention->k, "keys");
    opf_heads_whole(call, &attention->v, "values");
    if (!opf_call_wants(call, 1)) return;
    opf_call_same(call, attention->k.size, attention->v.size, "keys and values that are kept have the same channels");
    opf_dim extents[] = {opf_int(pool, 2), attention->k.batch, attention->k.heads, attention->k.length, attention->k.size};
    const opf_expr *at[4], *is_key = opf_binary(pool, OPF_OP_EQ, opf_var(pool, 0), opf_int(pool, 0));
    opf_call_vars(call, 1, 4, at);
    opf_call_result(call, 1, opf_call_map(call, "present", 5, extents, opf_select(pool, is_key, opf_call_load(call, attention->k.tensor, at), opf_call_load(call, attention->v.tensor, at))));
}

static opf_status self_attention(opf_call *call, int projected, int mask, int past, int bias) {
    opf_attention attention = {.dtype = opf_call_dtype(call, projected)};
    opf_dtype compute = opf_call_compute(attention.dtype);
    attention.softmax = compute;
    if (opf_node_int(call->node, "do_rotary", 0) != 0) opf_call_error(call, "unsupported", "do_rotary is not supported");
    split_heads(call, projected, number_of_heads(call, "num_heads"), &attention);
    if (!call->failed) keep_both(call, past, &attention);
    if (!call->failed) apply_masks(call, &attention, mask, bias, compute);
    attention.scale = opf_attend_scale(call, "scale", attention.q.size, compute);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_attend_merge(call, opf_attend(call, &attention).result));
    return OPF_OK;
}

/* A stage: value (at v0 … v2 of the product's domain) plus the bias of channel v2, rounded to dtype. */
static int projected(opf_call *call, int product, const opf_expr *value, int bias, opf_dtype dtype) {
    opf_pool *pool = call->pool;
    opf_dim extents[3];
    opf_call_dims(call, product, extents);
    if (bias >= 0 && opf_call_input(call, bias)) {
        const opf_expr *channel = opf_var(pool, 2);
        if (!opf_call_check_rank(call, bias, 1, 1, "the bias")) return product;
        opf_call_same(call, opf_call_dim(call, bias, 0), extents[2], "one bias a channel");
        value = opf_binary(pool, OPF_OP_ADD, value, opf_call_convert(call, (opf_dtype)value->dtype, opf_call_load(call, bias, &channel)));
    }
    return opf_call_map(call, "projected", 3, extents, opf_call_convert(call, dtype, value));
}

static opf_status build_attention(opf_call *call) {
    opf_dtype dtype = opf_call_dtype(call, 0);
    if (!opf_call_check_rank(call, 0, 3, 3, "the input") || !opf_call_check_rank(call, 1, 2, 2, "the weights") || !opf_call_check_same_type(call, 0, 1) || !check_half_or_single(call, dtype)) return OPF_ERROR_INPUT;
    opf_operand a = opf_call_operand(call, 0, true), b = opf_call_operand(call, 1, false);
    int product = opf_call_product(call, &a, &b, opf_call_compute(dtype), opf_call_accumulator(dtype));
    int stage = projected(call, product, opf_call_load_same(call, product), 2, dtype);
    return call->failed ? OPF_ERROR_INPUT : self_attention(call, stage, 3, 4, 5);
}

/* input, weight, bias, input_scale, weight_scale, mask_index, input_zero_point, weight_zero_point, past */
static opf_status build_qattention(opf_call *call) {
    opf_pool *pool = call->pool;
    if (!opf_call_check_rank(call, 0, 3, 3, "the input") || !opf_call_check_rank(call, 1, 2, 2, "the weight")) return OPF_ERROR_INPUT;
    for (int k = 0; k < 2; k++)
        if (opf_call_dtype(call, k) != OPF_INT8 && opf_call_dtype(call, k) != OPF_UINT8) return opf_call_error(call, "type", "input %d must be int8 or uint8", k);
    opf_operand a = opf_call_operand(call, 0, true), b = opf_call_operand(call, 1, false);
    if (opf_call_input(call, 6)) a.zero_point = 6;
    if (opf_call_input(call, 7)) b.zero_point = 7;
    int product = opf_call_product(call, &a, &b, OPF_INT32, OPF_INT32);
    const opf_expr *channel = opf_var(pool, 2), *left = opf_call_load_single(call, 3, "the input's scale"), *right;
    bool several = opf_call_rank(call, 4) == 1 && !opf_is_value(opf_call_dim(call, 4, 0), 1);
    if (several) opf_call_same(call, opf_call_dim(call, 4, 0), opf_call_dim(call, product, 2), "one scale a channel");
    right = several ? opf_call_load(call, 4, &channel) : opf_call_load_single(call, 4, "the weight's scale");
    const opf_expr *factor = opf_binary(pool, OPF_OP_MUL, opf_call_convert(call, OPF_FLOAT32, left), opf_call_convert(call, OPF_FLOAT32, right));
    const opf_expr *value = opf_binary(pool, OPF_OP_MUL, opf_cast(pool, OPF_FLOAT32, opf_call_load_same(call, product)), factor);
    int stage = projected(call, product, value, 2, opf_call_dtype(call, 3));
    return call->failed ? OPF_ERROR_INPUT : self_attention(call, stage, 5, 8, -1);
}

/* ---- MultiHeadAttention ---- */

/* query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value. Packed: [b, s, heads, parts, size]. */
static opf_heads packed_heads(opf_call *call, int tensor, int part) {
    return (opf_heads){.tensor = tensor, .form = OPF_HEADS_PACKED, .batch = opf_call_dim(call, tensor, 0), .length = opf_call_dim(call, tensor, 1), .heads = opf_call_dim(call, tensor, 2),
                       .size = opf_call_dim(call, tensor, 4), .first = opf_int(call->pool, 0), .part = part, .bias = -1, .bias_first = opf_int(call->pool, 0), .past = -1,
                       .past_length = opf_int(call->pool, 0)};
}

static bool read_operands(opf_call *call, int64_t heads, opf_attention *attention) {
    bool has_key = opf_call_input(call, 1) != NULL, has_value = opf_call_input(call, 2) != NULL;
    if (!has_key) {
        if (!opf_call_check_rank(call, 0, 5, 5, "the query without a key")) return false;
        attention->q = packed_heads(call, 0, 0);
        attention->k = packed_heads(call, 0, 1);
        attention->v = packed_heads(call, 0, 2);
        opf_call_same(call, opf_call_dim(call, 0, 3), opf_call_int(call, 3), "query, key and value are packed");
        return !call->failed;
    }
    if (!opf_call_check_rank(call, 0, 3, 3, "the query")) return false;
    attention->q = opf_heads_of(call, 0, heads);
    if (!has_value) {
        if (!opf_call_check_rank(call, 1, 5, 5, "the key without a value")) return false;
        attention->k = packed_heads(call, 1, 0);
        attention->v = packed_heads(call, 1, 1);
        opf_call_same(call, opf_call_dim(call, 1, 3), opf_call_int(call, 2), "key and value are packed");
        return !call->failed;
    }
    if (!opf_call_check_rank(call, 1, 3, 4, "the key") || !opf_call_check_rank(call, 2, opf_call_rank(call, 1), opf_call_rank(call, 1), "the value")) return false;
    attention->k = opf_heads_of(call, 1, heads);
    attention->v = opf_heads_of(call, 2, heads);
    return !call->failed;
}

/* One vector: what is added to queries, then to keys, then to values; not to keys that come with their heads apart. */
static void add_bias(opf_call *call, opf_attention *attention) {
    opf_pool *pool = call->pool;
    if (!opf_call_input(call, 3) || !opf_call_check_rank(call, 3, 1, 1, "the bias")) return;
    opf_dim hidden = opf_mul(pool, attention->q.heads, attention->q.size), twice = opf_add(pool, hidden, hidden);
    opf_call_same(call, opf_add(pool, twice, opf_mul(pool, attention->v.heads, attention->v.size)), opf_call_dim(call, 3, 0), "one bias a channel of query, key and value");
    attention->q.bias = 3;
    if (attention->k.form == OPF_HEADS_MAJOR) return;
    attention->k.bias = attention->v.bias = 3;
    attention->k.bias_first = hidden;
    attention->v.bias_first = twice;
}

static void keep_one(opf_call *call, opf_heads *heads, int past, int output, const char *role) {
    if (opf_call_input(call, past)) opf_heads_after(call, heads, past);
    if (call->failed || !(opf_call_wants(call, output) || heads->past >= 0)) return;
    opf_heads_whole(call, heads, role);
    opf_call_result(call, output, heads->tensor);
}

static opf_status build_multi_head(opf_call *call) {
    opf_attention attention = {.dtype = opf_call_dtype(call, 0)};
    opf_dtype compute = opf_call_compute(attention.dtype);
    attention.softmax = compute;
    if (!check_half_or_single(call, attention.dtype)) return OPF_ERROR_INPUT;
    if (opf_call_input(call, 8) || opf_call_input(call, 9)) return opf_call_error(call, "unsupported", "past_sequence_length and cache_indirection are not supported");
    if (!read_operands(call, number_of_heads(call, "num_heads"), &attention)) return OPF_ERROR_INPUT;
    add_bias(call, &attention);
    if (!call->failed) keep_one(call, &attention.k, 6, 1, "present_key");
    if (!call->failed) keep_one(call, &attention.v, 7, 2, "present_value");
    if (!call->failed) apply_masks(call, &attention, 4, 5, compute);
    attention.scale = opf_attend_scale(call, "scale", attention.q.size, compute);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_attend_merge(call, opf_attend(call, &attention).result));
    return OPF_OK;
}

/* ---- GroupQueryAttention ---- */

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COSINE, SINE, POSITIONS, BIAS, SINK, FIRST_UNSUPPORTED };

typedef struct grouped {
    opf_heads q, k, v;
    opf_dim total;               /* positions of the longest sequence */
    opf_dim kept;                /* positions of past_key and past_value */
    opf_dim present;             /* of present_key and present_value */
    bool rotates;
    opf_dtype dtype;
} grouped;

/* Valid past positions of batch v0: what the sequence's length leaves beside the new ones; none for a prompt. */
static const opf_expr *past_of(opf_call *call, const grouped *g) {
    opf_pool *pool = call->pool;
    const opf_expr *batch = opf_var(pool, 0), *last = opf_call_convert(call, OPF_INT64, opf_call_load(call, LENGTHS, &batch));
    const opf_expr *before = opf_sub(pool, opf_add(pool, last, opf_int(pool, 1)), g->q.length);
    const opf_expr *prompt = opf_binary(pool, OPF_OP_EQ, g->q.length, g->total);
    return opf_select(pool, prompt, opf_int(pool, 0), before);
}

/* The element of new position `position` (inside the operand), rotated where the operator does that. */
static const opf_expr *fresh(opf_call *call, const grouped *g, const opf_heads *heads, bool rotates, const opf_expr *position, const opf_expr *absolute) {
    opf_pool *pool = call->pool;
    const opf_expr *batch = opf_var(pool, 0), *head = opf_var(pool, 1), *channel = opf_var(pool, 3);
    if (!rotates) return opf_heads_load(call, heads, batch, head, position, channel);
    const opf_expr *at[] = {batch, position}, *row = absolute;
    if (opf_call_input(call, POSITIONS)) row = opf_call_convert(call, OPF_INT64, opf_call_load(call, POSITIONS, at));
    opf_rotation rotation = {.cosine = COSINE, .sine = SINE, .row = opf_call_clamp(call, row, opf_call_dim(call, COSINE, 0)), .size = opf_mul(pool, opf_call_dim(call, COSINE, 1), opf_int(pool, 2)),
                             .interleaved = opf_node_int(call->node, "rotary_interleaved", 0) != 0};
    return opf_call_convert(call, g->dtype, opf_rotated(call, heads, &rotation, batch, head, position, channel));
}

/* Past positions, then the new ones, then zeros: [b, heads, present, size]. */
static void present(opf_call *call, const grouped *g, opf_heads *heads, int past, int output, bool rotates, const char *role) {
    opf_pool *pool = call->pool;
    const opf_expr *position = opf_var(pool, 2), *before = past_of(call, g), *zero = opf_int(pool, 0), *at[4];
    const opf_expr *own = opf_sub(pool, position, before), *inside = opf_call_and(call, opf_call_at_most(call, zero, own), opf_call_less(call, own, heads->length));
    const opf_expr *value = opf_select(pool, inside, fresh(call, g, heads, rotates, own, position), opf_real(pool, g->dtype, 0));
    if (opf_call_input(call, past)) {
        opf_call_vars(call, 0, 4, at);
        const opf_expr *old = opf_call_and(call, opf_call_less(call, position, before), opf_call_less(call, position, g->kept));
        value = opf_select(pool, old, opf_call_load(call, past, at), value);
    }
    opf_dim extents[] = {heads->batch, heads->heads, g->present, heads->size};
    int whole = opf_call_map(call, role, 4, extents, value);
    *heads = opf_heads_of(call, whole, 0);
    opf_call_result(call, output, whole);
}

static bool read_grouped(opf_call *call, grouped *g) {
    opf_pool *pool = call->pool;
    int64_t heads = number_of_heads(call, "num_heads"), kv = number_of_heads(call, "kv_num_heads");
    static const int needed[] = {LENGTHS, TOTAL};
    const opf_expr *const *total;
    if (!check_given(call, 2, needed)) return false;
    g->dtype = opf_call_dtype(call, QUERY);
    g->rotates = opf_node_int(call->node, "do_rotary", 0) != 0;
    for (int k = FIRST_UNSUPPORTED; k < call->node->n_inputs; k++)
        if (opf_call_input(call, k)) opf_call_error(call, "unsupported", "quantised caches and normalised heads are not supported");
    if (opf_node_int(call->node, "sliding_window_cache", 0) != 0) opf_call_error(call, "unsupported", "sliding_window_cache is not supported");
    if (call->failed || !check_half_or_single(call, g->dtype) || !opf_call_check_rank(call, QUERY, 3, 3, "the query") || !opf_call_check_integer(call, LENGTHS, "seqlens_k")) return false;
    if (heads % kv != 0) opf_call_error(call, "attribute", "num_heads %lld is no multiple of kv_num_heads %lld", (long long)heads, (long long)kv);
    if (!opf_call_input(call, KEY)) {
        opf_dim size = opf_floordiv(pool, opf_call_dim(call, QUERY, 2), opf_int(pool, heads + 2 * kv)), wide = opf_mul(pool, size, opf_int(pool, heads)), narrow = opf_mul(pool, size, opf_int(pool, kv));
        opf_call_same(call, opf_mul(pool, size, opf_int(pool, heads + 2 * kv)), opf_call_dim(call, QUERY, 2), "query, key and value are packed");
        g->q = heads_within(call, QUERY, heads, opf_int(pool, 0), wide);
        g->k = heads_within(call, QUERY, kv, wide, narrow);
        g->v = heads_within(call, QUERY, kv, opf_add(pool, wide, narrow), narrow);
    } else {
        if (!opf_call_input(call, VALUE) || !opf_call_check_rank(call, KEY, 3, 3, "the key") || !opf_call_check_rank(call, VALUE, 3, 3, "the value")) return !opf_call_error(call, "shape", "key and value must be of rank 3");
        g->q = opf_heads_of(call, QUERY, heads);
        g->k = opf_heads_of(call, KEY, kv);
        g->v = opf_heads_of(call, VALUE, kv);
    }
    if (g->rotates && (!opf_call_input(call, COSINE) || !opf_call_input(call, SINE))) opf_call_error(call, "arity", "do_rotary needs cos_cache and sin_cache");
    opf_call_same(call, opf_call_dim(call, LENGTHS, 0), g->q.batch, "one length each of the batch");
    int count = opf_call_content(call, TOTAL, &total);
    if (count != 1) return count >= 0 ? !opf_call_error(call, "shape", "total_sequence_length must be one element") : false;
    g->total = total[0];
    g->kept = opf_call_input(call, PAST_KEY) ? opf_call_dim(call, PAST_KEY, 2) : opf_int(pool, 0);
    g->present = opf_call_at_least(call, g->total, g->kept, "the present holds the past");
    return !call->failed;
}

static const opf_expr *grouped_order(opf_call *call, const grouped *g) {
    opf_pool *pool = call->pool;
    const opf_expr *key = opf_var(pool, 3), *position = opf_add(pool, opf_var(pool, 2), past_of(call, g)), *allowed = NULL;
    int64_t window = opf_node_int(call->node, "local_window_size", -1);
    if (opf_node_int(call->node, "causal", 1) != 0) allowed = opf_call_at_most(call, key, position);
    else allowed = opf_call_less(call, key, opf_add(pool, past_of(call, g), g->q.length));
    if (window > 0) allowed = opf_call_and(call, allowed, opf_call_less(call, position, opf_add(pool, key, opf_int(pool, window))));
    return allowed;
}

static opf_status build_grouped(opf_call *call) {
    opf_pool *pool = call->pool;
    grouped g;
    if (!read_grouped(call, &g)) return call->failed ? OPF_ERROR_INPUT : OPF_ERROR_UNSUPPORTED;
    opf_dtype compute = opf_call_compute(g.dtype);
    present(call, &g, &g.k, PAST_KEY, 1, g.rotates, "present_key");
    present(call, &g, &g.v, PAST_VALUE, 2, false, "present_value");
    if (g.rotates) {
        opf_dim extents[] = {g.q.batch, g.q.heads, g.q.length, g.q.size};
        const opf_expr *position = opf_var(pool, 2);
        int rotated = opf_call_map(call, "rotated_query", 4, extents, fresh(call, &g, &g.q, true, position, opf_add(pool, position, past_of(call, &g))));
        g.q = opf_heads_of(call, rotated, 0);
    }
    opf_attention attention = {.q = g.q, .k = g.k, .v = g.v, .dtype = g.dtype, .softmax = compute, .softcap = opf_node_float(call->node, "softcap", 0), .masked = -INFINITY};
    attention.scale = opf_attend_scale(call, "scale", g.q.size, compute);
    apply_masks(call, &attention, -1, BIAS, compute);
    attention.allowed = grouped_order(call, &g);
    const opf_expr *head = opf_var(pool, 1);
    if (opf_call_input(call, SINK)) attention.sink = opf_call_convert(call, compute, opf_call_load(call, SINK, &head));
    else if (opf_node_int(call->node, "smooth_softmax", 0) > 0) attention.sink = opf_real(pool, compute, 0);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_attend_merge(call, opf_attend(call, &attention).result));
    return OPF_OK;
}

/* ---- EmbedLayerNormalization ---- */

/* input_ids, segment_ids, word_embedding, position_embedding, segment_embedding, gamma, beta, mask, position_ids */
static const opf_expr *embedding(opf_call *call, int table, const opf_expr *row, opf_dtype compute) {
    const opf_expr *at[] = {opf_call_clamp(call, opf_call_convert(call, OPF_INT64, row), opf_call_dim(call, table, 0)), opf_call_var(call, 2)};
    return opf_call_convert(call, compute, opf_call_load(call, table, at));
}

static int embedded(opf_call *call, opf_dim *extents, opf_dtype compute) {
    opf_pool *pool = call->pool;
    const opf_expr *at[] = {opf_var(pool, 0), opf_var(pool, 1)}, *alone[] = {opf_int(pool, 0), opf_var(pool, 1)};
    const opf_expr *sum = embedding(call, 2, opf_call_load(call, 0, at), compute), *position = opf_var(pool, 1);
    if (opf_call_input(call, 8)) position = opf_call_load(call, 8, opf_is_value(opf_call_dim(call, 8, 0), 1) ? alone : at);
    sum = opf_binary(pool, OPF_OP_ADD, sum, embedding(call, 3, position, compute));
    if (opf_call_input(call, 1) && opf_call_input(call, 4)) sum = opf_binary(pool, OPF_OP_ADD, sum, embedding(call, 4, opf_call_load(call, 1, at), compute));
    return opf_call_map(call, "embedding_sum", 3, extents, sum);
}

static int mean_of_row(opf_call *call, const opf_reduction *rows, const char *role, const opf_expr *term) {
    int total = opf_reduction_stage(call, rows, role, OPF_COMBINE_SUM, (opf_dtype)term->dtype, (opf_dtype)term->dtype, term);
    const opf_expr *size = opf_cast(call->pool, (opf_dtype)term->dtype, opf_reduction_size(call, rows));
    return opf_call_map(call, "mean", rows->n_axes, rows->extents, opf_binary(call->pool, OPF_OP_DIV, opf_call_load_same(call, total), size));
}

static void count_mask(opf_call *call, opf_dim *extents) {
    opf_pool *pool = call->pool;
    const opf_expr *zero = opf_int_of(pool, OPF_INT32, 0), *one = opf_int_of(pool, OPF_INT32, 1), *at[] = {opf_var(pool, 0), opf_var(pool, 1)};
    if (!opf_call_wants(call, 1)) return;
    if (!opf_call_input(call, 7)) {
        opf_call_result(call, 1, opf_call_map(call, "mask_index", 1, extents, zero));
        return;
    }
    const opf_expr *seen = opf_binary(pool, OPF_OP_EQ, opf_call_convert(call, OPF_INT32, opf_call_load(call, 7, at)), one);
    opf_call_result(call, 1, opf_call_stage(call, "mask_index", 1, 1, extents, NULL, OPF_COMBINE_SUM, OPF_INT32, OPF_INT32, opf_select(pool, seen, one, zero), NULL));
}

static opf_status build_embed(opf_call *call) {
    opf_pool *pool = call->pool;
    static const int tables[] = {2, 3, 4}, vectors[] = {5, 6}, needed[] = {2, 3, 5, 6};
    if (!check_given(call, 4, needed)) return OPF_ERROR_INPUT;
    opf_dtype T = opf_call_dtype(call, 2), compute = opf_call_compute(T);
    if (!opf_call_check_rank(call, 0, 2, 2, "input_ids") || !check_half_or_single(call, T)) return OPF_ERROR_INPUT;
    opf_dim extents[] = {opf_call_dim(call, 0, 0), opf_call_dim(call, 0, 1), opf_call_dim(call, 2, opf_call_rank(call, 2) - 1)};
    for (int k = 0; k < 3; k++) {
        if (!opf_call_input(call, tables[k])) continue;
        if (!opf_call_check_rank(call, tables[k], 2, 2, "an embedding")) return OPF_ERROR_INPUT;
        opf_call_same(call, opf_call_dim(call, tables[k], 1), extents[2], "all embeddings have the same channels");
        opf_call_require_ge_always(call, opf_call_dim(call, tables[k], 0), opf_int(pool, 1), "nothing can be picked from an empty embedding");
    }
    for (int k = 0; k < 2; k++) {
        if (!opf_call_check_rank(call, vectors[k], 1, 1, "gamma and beta")) return OPF_ERROR_INPUT;
        opf_call_same(call, opf_call_dim(call, vectors[k], 0), extents[2], "one gamma and beta a channel");
    }
    if (call->failed) return OPF_ERROR_INPUT;
    int sum = embedded(call, extents, compute), last = 2;
    opf_reduction rows = opf_reduction_over(call, sum, 1, &last, true);
    const opf_expr *x = opf_reduction_load(call, &rows, sum), *channel = opf_var(pool, 2);
    int mean = mean_of_row(call, &rows, "sum", x);
    const opf_expr *deviation = opf_binary(pool, OPF_OP_SUB, x, opf_call_load_same(call, mean));
    int variance = mean_of_row(call, &rows, "squares", opf_binary(pool, OPF_OP_MUL, deviation, deviation));
    const opf_expr *shifted = opf_binary(pool, OPF_OP_ADD, opf_call_load_same(call, variance), opf_real(pool, compute, opf_node_float(call->node, "epsilon", (float)1e-12)));
    int inverse = opf_call_map(call, "inv_std", rows.n_axes, rows.extents, opf_binary(pool, OPF_OP_DIV, opf_real(pool, compute, 1), opf_unary(pool, OPF_OP_SQRT, shifted)));
    const opf_expr *centred = opf_binary(pool, OPF_OP_SUB, opf_call_load_same(call, sum), opf_reduction_spread(call, &rows, mean));
    const opf_expr *value = opf_binary(pool, OPF_OP_MUL, centred, opf_reduction_spread(call, &rows, inverse));
    value = opf_binary(pool, OPF_OP_MUL, value, opf_call_convert(call, compute, opf_call_load(call, 5, &channel)));
    value = opf_binary(pool, OPF_OP_ADD, value, opf_call_convert(call, compute, opf_call_load(call, 6, &channel)));
    opf_call_result(call, 0, opf_call_map(call, NULL, 3, extents, opf_call_convert(call, T, value)));
    count_mask(call, extents);
    if (opf_call_wants(call, 2)) opf_call_result(call, 2, T == compute ? sum : opf_call_map(call, "rounded_sum", 3, extents, opf_cast(pool, T, opf_call_load_same(call, sum))));
    return OPF_OK;
}

const opf_op opf_ops_attention_contrib[] = {
    {"com.microsoft", "Attention", 1, 2, 6, 2, OPF_KIND_OPAQUE, 0, build_attention, NULL},
    {"com.microsoft", "QAttention", 1, 5, 9, 2, OPF_KIND_OPAQUE, 0, build_qattention, NULL},
    {"com.microsoft", "MultiHeadAttention", 1, 1, 10, 4, OPF_KIND_OPAQUE, 0, build_multi_head, NULL},
    {"com.microsoft", "GroupQueryAttention", 1, 1, 17, 4, OPF_KIND_OPAQUE, 0, build_grouped, NULL},
    {"com.microsoft", "EmbedLayerNormalization", 1, 1, 9, 3, OPF_KIND_OPAQUE, 0, build_embed, NULL},
};
const size_t opf_ops_attention_contrib_count = OPF_COUNT(opf_ops_attention_contrib);
