/* Scaled dot-product attention: products of queries and keys, weights by softmax, sums of values. */
#include "ops/attend.h"

#include <math.h>

#include "ops/facts.h"

/* ---- operands by head ---- */

opf_heads opf_heads_of(opf_call *call, int tensor, int64_t heads) {
    opf_pool *pool = call->pool;
    opf_dim zero = opf_int(pool, 0);
    opf_heads made = {.tensor = tensor, .first = zero, .bias = -1, .bias_first = zero, .past = -1, .past_length = zero};
    if (opf_call_rank(call, tensor) == 4) {
        made.form = OPF_HEADS_MAJOR;
        made.batch = opf_call_dim(call, tensor, 0);
        made.heads = opf_call_dim(call, tensor, 1);
        made.length = opf_call_dim(call, tensor, 2);
        made.size = opf_call_dim(call, tensor, 3);
        return made;
    }
    made.form = OPF_HEADS_MINOR;
    made.batch = opf_call_dim(call, tensor, 0);
    made.length = opf_call_dim(call, tensor, 1);
    made.heads = opf_int(pool, heads < 1 ? 1 : heads);
    made.size = opf_floordiv(pool, opf_call_dim(call, tensor, 2), made.heads);
    if (heads < 1) opf_call_error(call, "attribute", "an operand of rank 3 needs its number of heads, and it is %lld", (long long)heads);
    else opf_call_same(call, opf_mul(pool, made.heads, made.size), opf_call_dim(call, tensor, 2), "the heads share the channels evenly");
    return made;
}

void opf_heads_after(opf_call *call, opf_heads *heads, int past) {
    if (!opf_call_check_rank(call, past, 4, 4, "the past")) return;
    opf_call_same(call, opf_call_dim(call, past, 0), heads->batch, "past and present have the same batch");
    opf_call_same(call, opf_call_dim(call, past, 1), heads->heads, "past and present have the same heads");
    opf_call_same(call, opf_call_dim(call, past, 3), heads->size, "past and present have the same channels");
    if (opf_call_dtype(call, past) != opf_call_dtype(call, heads->tensor)) opf_call_error(call, "type", "past and present must have the same type");
    heads->past = past;
    heads->past_length = opf_call_dim(call, past, 2);
}

opf_dim opf_heads_total(opf_call *call, const opf_heads *heads) { return opf_add(call->pool, heads->past_length, heads->length); }

/* Of the tensor itself. */
static const opf_expr *own(opf_call *call, const opf_heads *heads, const opf_expr *batch, const opf_expr *head, const opf_expr *position, const opf_expr *channel) {
    opf_pool *pool = call->pool;
    const opf_expr *feature = opf_add(pool, opf_mul(pool, head, heads->size), channel);
    const opf_expr *major[] = {batch, head, position, channel}, *minor[] = {batch, position, opf_add(pool, feature, heads->first)};
    const opf_expr *packed[] = {batch, position, head, opf_int(pool, heads->part), channel};
    const opf_expr *const *index = heads->form == OPF_HEADS_MAJOR ? major : heads->form == OPF_HEADS_MINOR ? minor : packed;
    const opf_expr *value = opf_call_load(call, heads->tensor, index);
    if (heads->bias < 0) return value;
    feature = opf_add(pool, feature, heads->bias_first);
    opf_dtype dtype = (opf_dtype)value->dtype, compute = opf_call_compute(dtype);
    const opf_expr *bias = opf_call_convert(call, compute, opf_call_load(call, heads->bias, &feature));
    return opf_call_convert(call, dtype, opf_binary(pool, OPF_OP_ADD, opf_call_convert(call, compute, value), bias));
}

const opf_expr *opf_heads_load(opf_call *call, const opf_heads *heads, const opf_expr *batch, const opf_expr *head, const opf_expr *position, const opf_expr *channel) {
    if (heads->past < 0) return own(call, heads, batch, head, position, channel);
    const opf_expr *before[] = {batch, head, position, channel};
    const opf_expr *here = own(call, heads, batch, head, opf_sub(call->pool, position, heads->past_length), channel);
    return opf_select(call->pool, opf_call_less(call, position, heads->past_length), opf_call_load(call, heads->past, before), here);
}

void opf_heads_whole(opf_call *call, opf_heads *heads, const char *role) {
    const opf_expr *at[4];
    opf_call_vars(call, 0, 4, at);
    opf_dim extents[] = {heads->batch, heads->heads, opf_heads_total(call, heads), heads->size};
    int whole = opf_call_stage(call, role, 4, 0, extents, (const char *const[]){"b", "h", "s", "c"}, OPF_COMBINE_NONE, opf_call_dtype(call, heads->tensor),
                               opf_call_dtype(call, heads->tensor), opf_heads_load(call, heads, at[0], at[1], at[2], at[3]), NULL);
    *heads = opf_heads_of(call, whole, 0);
}

/* ---- scores ---- */

static const char *const score_names[] = {"b", "h", "m", "n", "k"};

static void score_extents(opf_call *call, const opf_attention *attention, opf_dim *extents) {
    extents[0] = attention->q.batch;
    extents[1] = attention->q.heads;
    extents[2] = opf_heads_total(call, &attention->q);
    extents[3] = opf_heads_total(call, &attention->k);
}

static int score_map(opf_call *call, const opf_attention *attention, const char *role, const opf_expr *body) {
    opf_dim extents[4];
    score_extents(call, attention, extents);
    return opf_call_stage(call, role, 4, 0, extents, score_names, OPF_COMBINE_NONE, (opf_dtype)body->dtype, (opf_dtype)body->dtype, body, NULL);
}

/* The head of keys and values that head v1 of the queries uses: several in a row share one. */
static const opf_expr *shared_head(opf_call *call, const opf_attention *attention, opf_dim heads) {
    opf_pool *pool = call->pool;
    if (heads == attention->q.heads) return opf_var(pool, 1);
    opf_dim group = opf_floordiv(pool, attention->q.heads, heads);
    opf_call_same(call, opf_mul(pool, group, heads), attention->q.heads, "heads of keys divide the heads of queries");
    return opf_floordiv(pool, opf_var(pool, 1), group);
}

static int scores(opf_call *call, const opf_attention *attention, opf_dtype compute) {
    opf_pool *pool = call->pool;
    const opf_expr *v[5];
    opf_dim extents[5];
    opf_call_vars(call, 0, 5, v);
    score_extents(call, attention, extents);
    extents[4] = opf_call_same(call, attention->q.size, attention->k.size, "queries and keys have the same channels");
    opf_call_same(call, attention->q.batch, attention->k.batch, "queries and keys have the same batch");
    opf_call_same(call, attention->q.batch, attention->v.batch, "queries and values have the same batch");
    const opf_expr *q = opf_call_convert(call, compute, opf_heads_load(call, &attention->q, v[0], v[1], v[2], v[4]));
    const opf_expr *k = opf_call_convert(call, compute, opf_heads_load(call, &attention->k, v[0], shared_head(call, attention, attention->k.heads), v[3], v[4]));
    int sum = opf_call_stage(call, "products", 4, 1, extents, score_names, OPF_COMBINE_SUM, compute, compute, opf_binary(pool, OPF_OP_MUL, q, k), NULL);
    return score_map(call, attention, "scores", opf_binary(pool, OPF_OP_MUL, opf_call_load_same(call, sum), attention->scale));
}

static int capped(opf_call *call, const opf_attention *attention, int scores, opf_dtype compute) {
    opf_pool *pool = call->pool;
    if (!(attention->softcap > 0)) return scores;
    const opf_expr *cap = opf_real(pool, compute, attention->softcap);
    const opf_expr *squashed = opf_unary(pool, OPF_OP_TANH, opf_binary(pool, OPF_OP_DIV, opf_call_load_same(call, scores), cap));
    return score_map(call, attention, "capped", opf_binary(pool, OPF_OP_MUL, squashed, cap));
}

static int biased(opf_call *call, const opf_attention *attention, int capped, opf_dtype compute) {
    opf_pool *pool = call->pool;
    if (!attention->added && !attention->allowed) return capped;
    const opf_expr *value = opf_call_load_same(call, capped);
    if (attention->added) value = opf_binary(pool, OPF_OP_ADD, value, attention->added);
    const opf_expr *masked = opf_real(pool, compute, attention->masked);
    if (attention->allowed) value = opf_select(pool, attention->allowed, value, attention->adds_masked ? opf_binary(pool, OPF_OP_ADD, value, masked) : masked);
    return score_map(call, attention, "biased", value);
}

/* ---- weights ---- */

static int over_keys(opf_call *call, const opf_attention *attention, const char *role, opf_combiner combiner, const opf_expr *term) {
    opf_dim extents[4];
    score_extents(call, attention, extents);
    return opf_call_stage(call, role, 3, 1, extents, score_names, combiner, (opf_dtype)term->dtype, (opf_dtype)term->dtype, term, NULL);
}

static int row_map(opf_call *call, const opf_attention *attention, const char *role, const opf_expr *body) {
    opf_dim extents[4];
    score_extents(call, attention, extents);
    return opf_call_stage(call, role, 3, 0, extents, score_names, OPF_COMBINE_NONE, (opf_dtype)body->dtype, (opf_dtype)body->dtype, body, NULL);
}

/* Softmax over the keys. Where nothing is allowed the largest score is -infinity: 0 is subtracted instead, all powers are
 * 0, and so are the weights. */
static int weights(opf_call *call, const opf_attention *attention, int biased) {
    opf_pool *pool = call->pool;
    opf_dtype type = attention->softmax, compute = opf_call_compute(type);
    const opf_expr *score = opf_call_convert(call, compute, opf_call_convert(call, type, opf_call_load_same(call, biased)));
    int largest = over_keys(call, attention, "max", OPF_COMBINE_MAX, score);
    const opf_expr *zero = opf_real(pool, compute, 0), *sink = attention->sink ? opf_call_convert(call, compute, attention->sink) : NULL;
    const opf_expr *top = opf_call_load_same(call, largest);
    if (sink) top = opf_binary(pool, OPF_OP_MAX, top, sink);
    const opf_expr *nothing = opf_binary(pool, OPF_OP_EQ, top, opf_real(pool, compute, -INFINITY));
    int shift = row_map(call, attention, "shift", opf_select(pool, nothing, zero, top));
    const opf_expr *shifted = opf_binary(pool, OPF_OP_SUB, score, opf_call_load_same(call, shift));
    int power = score_map(call, attention, "exp", opf_unary(pool, OPF_OP_EXP, shifted));
    int total = over_keys(call, attention, "sum", OPF_COMBINE_SUM, opf_call_load_same(call, power));
    const opf_expr *sum = opf_call_load_same(call, total);
    if (sink) sum = opf_binary(pool, OPF_OP_ADD, sum, opf_unary(pool, OPF_OP_EXP, opf_binary(pool, OPF_OP_SUB, sink, opf_call_load_same(call, shift))));
    sum = opf_select(pool, opf_binary(pool, OPF_OP_EQ, sum, zero), opf_real(pool, compute, 1), sum);
    int divisor = row_map(call, attention, "divisor", sum);
    const opf_expr *weight = opf_binary(pool, OPF_OP_DIV, opf_call_load_same(call, power), opf_call_load_same(call, divisor));
    return score_map(call, attention, "weights", opf_call_convert(call, type, weight));
}

opf_attention_stages opf_attend(opf_call *call, const opf_attention *attention) {
    opf_pool *pool = call->pool;
    opf_attention_stages made;
    opf_dtype compute = opf_call_compute(attention->dtype);
    made.scores = scores(call, attention, compute);
    made.capped = capped(call, attention, made.scores, compute);
    made.biased = biased(call, attention, made.capped, compute);
    made.weights = weights(call, attention, made.biased);
    const opf_expr *v[5];
    opf_call_vars(call, 0, 5, v);
    opf_dim extents[5];
    score_extents(call, attention, extents);
    extents[4] = opf_call_same(call, extents[3], opf_heads_total(call, &attention->v), "keys and values have the same positions");
    extents[3] = attention->v.size;
    const opf_expr *at[] = {v[0], v[1], v[2], v[4]};
    const opf_expr *weight = opf_call_convert(call, compute, opf_call_load(call, made.weights, at));
    const opf_expr *value = opf_call_convert(call, compute, opf_heads_load(call, &attention->v, v[0], shared_head(call, attention, attention->v.heads), v[4], v[3]));
    made.result = opf_call_stage(call, "values", 4, 1, extents, (const char *const[]){"b", "h", "m", "c", "n"}, OPF_COMBINE_SUM, attention->dtype, compute,
                                 opf_binary(pool, OPF_OP_MUL, weight, value), NULL);
    return made;
}

int opf_attend_merge(opf_call *call, int result) {
    opf_pool *pool = call->pool;
    opf_dim size = opf_call_dim(call, result, 3);
    opf_dim extents[] = {opf_call_dim(call, result, 0), opf_call_dim(call, result, 2), opf_mul(pool, opf_call_dim(call, result, 1), size)};
    const opf_expr *channel = opf_var(pool, 2);
    const opf_expr *at[] = {opf_var(pool, 0), opf_floordiv(pool, channel, size), opf_var(pool, 1), opf_floormod(pool, channel, size)};
    return opf_call_map(call, "merged", 3, extents, opf_call_load(call, result, at));
}

/* ---- attributes and masks ---- */

const opf_expr *opf_attend_scale(opf_call *call, const char *name, opf_dim size, opf_dtype compute) {
    opf_pool *pool = call->pool;
    double given = opf_node_float(call->node, name, 0);
    if (given != 0) return opf_real(pool, compute, given);
    const opf_expr *root = opf_unary(pool, OPF_OP_SQRT, opf_cast(pool, compute, size));
    return opf_binary(pool, OPF_OP_DIV, opf_real(pool, compute, 1), root);
}

const opf_expr *opf_attend_mask(opf_call *call, int input, const opf_dim *extents, const opf_expr **inside) {
    opf_pool *pool = call->pool;
    int rank = opf_call_rank(call, input);
    const opf_expr *index[4];
    if (!opf_call_check_rank(call, input, 0, 4, "the mask")) return opf_number(pool, opf_call_dtype(call, input), 0);
    for (int k = 0; k < rank; k++) {
        int axis = 4 - rank + k;
        opf_dim dim = opf_call_dim(call, input, k);
        index[k] = opf_var(pool, axis);
        if (axis == 3) {
            opf_call_require_ge(call, extents[3], dim, "the mask is no longer than the keys");
            if (opf_dim_canonical(call->module, dim) != opf_dim_canonical(call->module, extents[3])) *inside = opf_call_less(call, index[k], dim);
        } else if (opf_is_value(dim, 1)) {
            index[k] = opf_int(pool, 0);
        } else {
            opf_call_same(call, dim, extents[axis], "the mask and the scores");
        }
    }
    return opf_call_load(call, input, index);
}
