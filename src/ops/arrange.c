/* Operators that put the same elements elsewhere: Transpose, Expand, Tile, DepthToSpace, SpaceToDepth, Trilu,
 * ReverseSequence. One load each, through an index map. */
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"

static opf_status arranged(opf_call *call, int rank, const opf_dim *extents, const opf_expr *body) {
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, body));
    return OPF_OK;
}

static opf_status build_transpose(opf_call *call) {
    const int64_t *perm;
    int rank = opf_call_rank(call, 0), count = opf_node_ints(call->node, "perm", &perm);
    if (count >= 0 && count != rank) return opf_call_error(call, "attribute", "perm has %d entries for an input of rank %d", count, rank);
    opf_dim extents[OPF_MAX_RANK];
    const opf_expr *indices[OPF_MAX_RANK];
    unsigned seen = 0;
    for (int k = 0; k < rank; k++) {
        int64_t from = count >= 0 ? perm[k] : rank - 1 - k;
        if (from < 0 || from >= rank || (seen & 1u << from)) return opf_call_error(call, "attribute", "perm is no permutation of 0 … %d", rank - 1);
        seen |= 1u << from;
        extents[k] = opf_call_dim(call, 0, (int)from);
        indices[from] = opf_call_var(call, k);
    }
    return arranged(call, rank, extents, opf_call_load(call, 0, indices));
}

static opf_status build_expand(opf_call *call) {
    const opf_expr *const *shape;
    int count = opf_call_content(call, 1, &shape), own = opf_call_rank(call, 0);
    if (count < 0) return OPF_ERROR_UNSUPPORTED;
    if (count > OPF_MAX_RANK) return opf_call_error(call, "shape", "the shape has %d entries; at most %d are supported", count, OPF_MAX_RANK);
    int rank = count > own ? count : own;
    opf_dim extents[OPF_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        opf_dim dim = k < rank - own ? opf_call_int(call, 1) : opf_call_dim(call, 0, k - (rank - own));
        opf_dim asked = k < rank - count ? opf_call_int(call, 1) : shape[k - (rank - count)];
        int64_t value;
        if (opf_is_int(asked, &value) && value < 0) return opf_call_error(call, "shape", "the shape holds %lld", (long long)value);
        if (opf_is_value(asked, 1)) extents[k] = dim;
        else if (opf_is_value(dim, 1)) extents[k] = asked;
        else extents[k] = opf_call_same(call, dim, asked, "an axis that is not 1 keeps its size");
    }
    return arranged(call, rank, extents, opf_call_load_broadcast(call, 0, rank, extents));
}

static opf_status build_tile(opf_call *call) {
    const opf_expr *const *repeats;
    int count = opf_call_content(call, 1, &repeats), rank = opf_call_rank(call, 0);
    if (count < 0) return OPF_ERROR_UNSUPPORTED;
    if (count != rank) return opf_call_error(call, "shape", "repeats has %d entries for an input of rank %d", count, rank);
    opf_dim extents[OPF_MAX_RANK];
    const opf_expr *indices[OPF_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        opf_dim own = opf_call_dim(call, 0, k);
        int64_t value;
        if (opf_is_int(repeats[k], &value) && value < 0) return opf_call_error(call, "shape", "repeats holds %lld", (long long)value);
        extents[k] = opf_mul(call->pool, own, repeats[k]);
        bool once = opf_is_value(repeats[k], 1);
        indices[k] = opf_is_value(own, 1) ? opf_call_int(call, 0) : once ? opf_call_var(call, k) : opf_floormod(call->pool, opf_call_var(call, k), own);
    }
    return arranged(call, rank, extents, opf_call_load(call, 0, indices));
}

/* ---- blocks of channels against blocks of pixels ---- */

static bool read_block(opf_call *call, int64_t *block) {
    if (!opf_call_check_rank(call, 0, 4, 4, "the input")) return false;
    *block = opf_node_int(call->node, "blocksize", 0);
    if (*block >= 1 && *block <= INT16_MAX) return true;
    opf_call_error(call, "attribute", "blocksize is %lld; it must be at least 1", (long long)*block);
    return false;
}

/* dim / part, which must leave no remainder. */
static opf_dim divided(opf_call *call, opf_dim dim, int64_t part, const char *what) {
    opf_dim quotient = opf_floordiv(call->pool, dim, opf_call_int(call, part));
    opf_call_same(call, opf_mul(call->pool, quotient, opf_call_int(call, part)), dim, what);
    return quotient;
}

/* Are the channels of a block ordered column, row, depth (CRD) rather than depth, column, row (DCR)? */
static bool read_channel_order(opf_call *call, bool *depth_last) {
    const char *mode = opf_node_string(call->node, "mode", "DCR");
    *depth_last = strcmp(mode, "DCR") == 0;
    if (*depth_last || strcmp(mode, "CRD") == 0) return true;
    opf_call_error(call, "attribute", "mode '%s' is neither DCR nor CRD", mode);
    return false;
}

static opf_status build_depth_to_space(opf_call *call) {
    int64_t size;
    bool depth_last;
    if (!read_block(call, &size) || !read_channel_order(call, &depth_last)) return OPF_ERROR_INPUT;
    opf_pool *pool = call->pool;
    const opf_expr *block = opf_call_int(call, size), *c = opf_call_var(call, 1), *h = opf_call_var(call, 2), *w = opf_call_var(call, 3);
    opf_dim channels = divided(call, opf_call_dim(call, 0, 1), size * size, "blocksize squared must divide the channels");
    opf_dim extents[] = {opf_call_dim(call, 0, 0), channels, opf_mul(pool, opf_call_dim(call, 0, 2), block), opf_mul(pool, opf_call_dim(call, 0, 3), block)};
    const opf_expr *inner = opf_add(pool, opf_mul(pool, opf_floormod(pool, h, block), block), opf_floormod(pool, w, block));
    const opf_expr *channel = depth_last ? opf_add(pool, opf_mul(pool, inner, channels), c) : opf_add(pool, opf_mul(pool, c, opf_call_int(call, size * size)), inner);
    const opf_expr *indices[] = {opf_call_var(call, 0), channel, opf_floordiv(pool, h, block), opf_floordiv(pool, w, block)};
    return arranged(call, 4, extents, opf_call_load(call, 0, indices));
}

static opf_status build_space_to_depth(opf_call *call) {
    int64_t size;
    bool depth_last;
    if (!read_block(call, &size) || !read_channel_order(call, &depth_last)) return OPF_ERROR_INPUT;
    opf_pool *pool = call->pool;
    const opf_expr *block = opf_call_int(call, size), *area = opf_call_int(call, size * size), *c = opf_call_var(call, 1);
    opf_dim channels = opf_call_dim(call, 0, 1);
    opf_dim height = divided(call, opf_call_dim(call, 0, 2), size, "blocksize must divide the height");
    opf_dim width = divided(call, opf_call_dim(call, 0, 3), size, "blocksize must divide the width");
    opf_dim extents[] = {opf_call_dim(call, 0, 0), opf_mul(pool, channels, area), height, width};
    const opf_expr *inner = depth_last ? opf_floordiv(pool, c, channels) : opf_floormod(pool, c, area); /* row and column in the block */
    const opf_expr *channel = depth_last ? opf_floormod(pool, c, channels) : opf_floordiv(pool, c, area);
    const opf_expr *row = opf_floordiv(pool, inner, block), *column = opf_floormod(pool, inner, block);
    const opf_expr *indices[] = {opf_call_var(call, 0), channel, opf_add(pool, opf_mul(pool, opf_call_var(call, 2), block), row),
                                 opf_add(pool, opf_mul(pool, opf_call_var(call, 3), block), column)};
    return arranged(call, 4, extents, opf_call_load(call, 0, indices));
}

/* ---- Trilu, ReverseSequence ---- */

/* The diagonal: constant or symbolic where it is known, else read when the kernel runs. A number that is no size is kept below any
 * that memory can hold, so that sums with it do not overflow. */
static const opf_expr *diagonal(opf_call *call) {
    if (!opf_call_input(call, 1)) return opf_call_int(call, 0);
    const opf_expr *k = opf_call_convert(call, OPF_INT64, opf_call_load_single(call, 1, "k is a single element"));
    if (!opf_is_int(k, NULL) && !opf_expr_has_load(k)) return k;
    return opf_min(call->pool, opf_max(call->pool, k, opf_call_int(call, -OPF_MOST_ELEMENTS)), opf_call_int(call, OPF_MOST_ELEMENTS));
}

static opf_status build_trilu(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    if (!opf_call_check_rank(call, 0, 2, OPF_MAX_RANK, "the input")) return OPF_ERROR_INPUT;
    opf_dim extents[OPF_MAX_RANK];
    opf_call_dims(call, 0, extents);
    const opf_expr *edge = opf_add(call->pool, opf_call_var(call, rank - 2), diagonal(call)), *column = opf_call_var(call, rank - 1);
    bool upper = opf_node_int(call->node, "upper", 1) != 0;
    const opf_expr *keeps = upper ? opf_call_at_most(call, edge, column) : opf_call_at_most(call, column, edge);
    const opf_expr *zero = opf_number(call->pool, opf_call_dtype(call, 0), 0);
    return arranged(call, rank, extents, opf_select(call->pool, keeps, opf_call_load_same(call, 0), zero));
}

static opf_status build_reverse_sequence(opf_call *call) {
    int rank = opf_call_rank(call, 0);
    if (!opf_call_check_rank(call, 0, 2, OPF_MAX_RANK, "the input") || !opf_call_check_rank(call, 1, 1, 1, "sequence_lens") || !opf_call_check_integer(call, 1, "sequence_lens"))
        return OPF_ERROR_INPUT;
    int batch = opf_call_axis(call, opf_node_int(call->node, "batch_axis", 1), rank), time = opf_call_axis(call, opf_node_int(call->node, "time_axis", 0), rank);
    if (batch == time) return opf_call_error(call, "attribute", "batch_axis and time_axis are both %d", time);
    opf_dim extents[OPF_MAX_RANK];
    opf_call_dims(call, 0, extents);
    opf_call_same(call, opf_call_dim(call, 1, 0), extents[batch], "sequence_lens has one entry for each batch element");
    const opf_expr *indices[OPF_MAX_RANK], *b = opf_call_var(call, batch), *t = opf_call_var(call, time);
    opf_call_vars(call, 0, rank, indices);
    /* A length beyond the axis counts as the whole axis. */
    const opf_expr *length = opf_min(call->pool, opf_call_convert(call, OPF_INT64, opf_call_load(call, 1, &b)), extents[time]);
    const opf_expr *mirrored = opf_sub(call->pool, opf_sub(call->pool, length, opf_call_int(call, 1)), t);
    indices[time] = opf_select(call->pool, opf_call_less(call, t, length), mirrored, t);
    return arranged(call, rank, extents, opf_call_load(call, 0, indices));
}

const opf_op opf_ops_arrange[] = {
    {"", "Transpose", 1, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_transpose, NULL},
    {"", "Expand", 8, 2, 2, 1, OPF_KIND_BROADCAST, 0, build_expand, NULL},
    {"", "Tile", 6, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_tile, NULL},
    {"", "DepthToSpace", 1, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_depth_to_space, NULL},
    {"", "SpaceToDepth", 1, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_space_to_depth, NULL},
    {"", "Trilu", 14, 1, 2, 1, OPF_KIND_INJECTIVE, 0, build_trilu, NULL},
    {"com.microsoft", "Trilu", 1, 1, 2, 1, OPF_KIND_INJECTIVE, 0, build_trilu, NULL},
    {"", "ReverseSequence", 10, 2, 2, 1, OPF_KIND_INJECTIVE, 0, build_reverse_sequence, NULL},
};
const size_t opf_ops_arrange_count = OPF_COUNT(opf_ops_arrange);
