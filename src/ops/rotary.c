/* RotaryEmbedding of ONNX (opset 23) and of ONNX Runtime: pairs of channels are rotated by an angle of the position. */
#include "ops/rotary.h"

#include "ops/families.h"

static const opf_expr *cached(opf_call *call, int cache, const opf_rotation *rotation, const opf_expr *batch, const opf_expr *position, const opf_expr *pair, opf_dtype compute) {
    const opf_expr *by_row[] = {rotation->row, pair}, *by_place[] = {batch, position, pair};
    return opf_call_convert(call, compute, opf_call_load(call, cache, rotation->row ? by_row : by_place));
}

const opf_expr *opf_rotated(opf_call *call, const opf_heads *heads, const opf_rotation *rotation, const opf_expr *batch, const opf_expr *head,
                            const opf_expr *position, const opf_expr *channel) {
    opf_pool *pool = call->pool;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, heads->tensor));
    opf_dim two = opf_int(pool, 2), half = opf_floordiv(pool, rotation->size, two);
    const opf_expr *even = opf_binary(pool, OPF_OP_EQ, opf_floormod(pool, channel, two), opf_int(pool, 0));
    const opf_expr *first = rotation->interleaved ? even : opf_call_less(call, channel, half);
    opf_dim apart = rotation->interleaved ? opf_int(pool, 1) : half;
    const opf_expr *own = opf_call_convert(call, compute, opf_heads_load(call, heads, batch, head, position, channel));
    const opf_expr *values[2]; /* of the pair's first, second element */
    for (int k = 0; k < 2; k++) {
        const opf_expr *other = k == 0 ? opf_add(pool, channel, apart) : opf_sub(pool, channel, apart);
        const opf_expr *pair = rotation->interleaved ? opf_floordiv(pool, channel, two) : k == 0 ? channel : other;
        const opf_expr *partner = opf_call_convert(call, compute, opf_heads_load(call, heads, batch, head, position, other));
        const opf_expr *along = opf_binary(pool, OPF_OP_MUL, cached(call, rotation->cosine, rotation, batch, position, pair, compute), own);
        const opf_expr *across = opf_binary(pool, OPF_OP_MUL, cached(call, rotation->sine, rotation, batch, position, pair, compute), partner);
        values[k] = opf_binary(pool, k == 0 ? OPF_OP_SUB : OPF_OP_ADD, along, across);
    }
    const opf_expr *rotated = opf_select(pool, first, values[0], values[1]);
    if (rotation->size == heads->size) return rotated;
    return opf_select(pool, opf_call_less(call, channel, rotation->size), rotated, own);
}

/* ---- the operator ---- */

/* The row of the caches for v_batch, v_position: position_ids [batch, positions], or one number from which they count. */
static const opf_expr *row_of(opf_call *call, int ids, const opf_heads *heads, int cache, const opf_expr *batch, const opf_expr *position) {
    opf_pool *pool = call->pool;
    if (!opf_call_check_integer(call, ids, "position_ids")) return opf_call_int(call, 0);
    const opf_expr *row;
    if (opf_call_rank(call, ids) == 2) {
        const opf_expr *at[] = {batch, position};
        opf_call_same(call, opf_call_dim(call, ids, 0), heads->batch, "one row of position_ids each of the batch");
        opf_call_same(call, opf_call_dim(call, ids, 1), heads->length, "one of position_ids a position");
        row = opf_call_convert(call, OPF_INT64, opf_call_load(call, ids, at));
    } else {
        row = opf_add(pool, opf_call_convert(call, OPF_INT64, opf_call_load_single(call, ids, "position_ids")), position);
    }
    return opf_call_clamp(call, row, opf_call_dim(call, cache, 0));
}

static opf_status rotary(opf_call *call, int cosine, int ids) {
    opf_pool *pool = call->pool;
    int rank = opf_call_rank(call, 0), sine = cosine + 1;
    bool rows = opf_call_input(call, ids) != NULL;
    if (!opf_call_check_rank(call, 0, 3, 4, "the input") || !opf_call_check_rank(call, cosine, rows ? 2 : 3, rows ? 2 : 3, "cos_cache") ||
        !opf_call_check_rank(call, sine, rows ? 2 : 3, rows ? 2 : 3, "sin_cache") || !opf_call_check_same_type(call, 0, cosine) || !opf_call_check_same_type(call, 0, sine))
        return OPF_ERROR_INPUT;
    if (!opf_dtype_is_float(opf_call_dtype(call, 0))) return opf_call_error(call, "type", "rotating %s is not possible", opf_dtype_name(opf_call_dtype(call, 0)));
    opf_dim pairs = opf_call_dim(call, cosine, rows ? 1 : 2);
    int64_t n_heads = opf_node_int(call->node, "num_heads", 0), part = opf_node_int(call->node, "rotary_embedding_dim", 0), channels, half;
    /* ONNX Runtime's leaves the number of heads out: then the caches tell the size of one. */
    if (rank == 3 && n_heads == 0 && opf_is_int(opf_call_dim(call, 0, 2), &channels) && opf_is_int(pairs, &half) && half > 0) n_heads = channels / (2 * half);
    opf_heads heads = opf_heads_of(call, 0, n_heads);
    opf_rotation rotation = {.cosine = cosine, .sine = sine, .size = part > 0 ? opf_int(pool, part) : heads.size, .interleaved = opf_node_int(call->node, "interleaved", 0) != 0};
    opf_call_same(call, opf_mul(pool, pairs, opf_int(pool, 2)), rotation.size, "the caches hold one number for each pair of channels");
    if (part > 0) opf_call_require_ge(call, heads.size, rotation.size, "no more channels are rotated than there are");
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim extents[4];
    opf_call_dims(call, 0, extents);
    const opf_expr *batch = opf_var(pool, 0), *last = opf_var(pool, rank - 1), *position = opf_var(pool, rank == 4 ? 2 : 1);
    const opf_expr *head = rank == 4 ? opf_var(pool, 1) : opf_floordiv(pool, last, heads.size), *channel = rank == 4 ? last : opf_floormod(pool, last, heads.size);
    if (rows) rotation.row = row_of(call, ids, &heads, cosine, batch, position);
    const opf_expr *value = opf_rotated(call, &heads, &rotation, batch, head, position, channel);
    double scale = opf_node_float(call->node, "scale", 1);
    if (call->op->domain[0] && scale != 1) value = opf_binary(pool, OPF_OP_MUL, value, opf_real(pool, (opf_dtype)value->dtype, scale));
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, opf_call_convert(call, opf_call_dtype(call, 0), value)));
    return OPF_OK;
}

static opf_status build_rotary(opf_call *call) { return rotary(call, 1, 3); }

static opf_status build_rotary_contrib(opf_call *call) {
    if (opf_node_int(call->node, "is_packed_batching", 0) != 0) return opf_call_error(call, "unsupported", "is_packed_batching is not supported");
    return rotary(call, 2, 1);
}

const opf_op opf_ops_rotary[] = {
    {"", "RotaryEmbedding", 23, 3, 4, 1, OPF_KIND_OPAQUE, 0, build_rotary, NULL},
    {"com.microsoft", "RotaryEmbedding", 1, 4, 4, 1, OPF_KIND_OPAQUE, 0, build_rotary_contrib, NULL},
};
const size_t opf_ops_rotary_count = OPF_COUNT(opf_ops_rotary);
