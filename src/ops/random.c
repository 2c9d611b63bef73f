/* Random operators: RandomUniform, RandomNormal, their Like forms, Bernoulli, Multinomial. At inference they are functions: draw e of
 * a node is a hash of e and of the node's seed (docs/numerics.md), so that the evaluator, fused code, any number of threads and
 * every run give the same numbers. */
#include <string.h>

#include "base/hash.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/reduction.h"

/* The attribute's bits; without it the hash of the name of the node's result, so that no two nodes draw the same numbers. */
static uint64_t seed_of(const opf_call *call) {
    const opf_attr *attribute = opf_node_attr(call->node, "seed");
    const opf_value *result = call->node->n_outputs > 0 ? call->node->outputs[0] : NULL;
    if (!attribute) return result && result->name ? opf_hash_bytes(result->name, strlen(result->name)).low : 0;
    double seed = opf_node_float(call->node, "seed", 0);
    uint64_t bits;
    memcpy(&bits, &seed, sizeof bits);
    return bits;
}

static const opf_expr *constant(const opf_call *call, uint64_t value) { return opf_int_of(call->pool, OPF_UINT64, (int64_t)value); }
static const opf_expr *real(const opf_call *call, double value) { return opf_real(call->pool, OPF_FLOAT64, value); }

/* (z ^ z >> shift) * factor */
static const opf_expr *mixed(const opf_call *call, const opf_expr *z, int shift, uint64_t factor) {
    const opf_expr *high = opf_binary(call->pool, OPF_OP_SHR, z, constant(call, (uint64_t)shift));
    return opf_binary(call->pool, OPF_OP_MUL, opf_binary(call->pool, OPF_OP_BITXOR, z, high), constant(call, factor));
}

/* Draw number `draw` (int64) of the node: a float64 in the open interval (0, 1), any of 2^52 values at equal distances. SplitMix64
 * (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014), entered at any place of its sequence. */
static const opf_expr *uniform(const opf_call *call, const opf_expr *draw) {
    opf_pool *pool = call->pool;
    const opf_expr *z = opf_binary(pool, OPF_OP_MUL, opf_cast(pool, OPF_UINT64, opf_add(pool, draw, opf_call_int(call, 1))), constant(call, 0x9E3779B97F4A7C15u));
    z = opf_binary(pool, OPF_OP_ADD, z, constant(call, seed_of(call)));
    z = mixed(call, mixed(call, z, 30, 0xBF58476D1CE4E5B9u), 27, 0x94D049BB133111EBu);
    z = opf_binary(pool, OPF_OP_BITXOR, z, opf_binary(pool, OPF_OP_SHR, z, constant(call, 31)));
    const opf_expr *whole = opf_cast(pool, OPF_FLOAT64, opf_binary(pool, OPF_OP_SHR, z, constant(call, 12)));
    return opf_binary(pool, OPF_OP_MUL, opf_binary(pool, OPF_OP_ADD, whole, real(call, 0.5)), real(call, 0x1p-52));
}

/* Two draws make one number of the standard normal distribution (Box and Muller). */
static const opf_expr *normal(const opf_call *call, const opf_expr *element) {
    opf_pool *pool = call->pool;
    const opf_expr *first = opf_mul(pool, element, opf_call_int(call, 2)), *second = opf_add(pool, first, opf_call_int(call, 1));
    const opf_expr *logarithm = opf_unary(pool, OPF_OP_LOG, uniform(call, first));
    const opf_expr *radius = opf_unary(pool, OPF_OP_SQRT, opf_binary(pool, OPF_OP_MUL, real(call, -2), logarithm));
    const opf_expr *angle = opf_binary(pool, OPF_OP_MUL, real(call, 6.283185307179586), uniform(call, second));
    return opf_binary(pool, OPF_OP_MUL, radius, opf_unary(pool, OPF_OP_COS, angle));
}

/* The position of v0 … v(rank-1) among the elements of these extents. */
static const opf_expr *position(const opf_call *call, int rank, const opf_dim *extents) {
    const opf_expr *at = opf_call_int(call, 0);
    for (int k = 0; k < rank; k++) at = opf_add(call->pool, opf_mul(call->pool, at, extents[k]), opf_call_var(call, k));
    return at;
}

/* The element type of the result: the attribute, or `otherwise`. Reported, and false, where it is none that the operator has. */
static bool result_type(opf_call *call, opf_dtype otherwise, bool floats_only, opf_dtype *out) {
    int64_t dtype = opf_node_int(call->node, "dtype", otherwise);
    bool valid = dtype > 0 && dtype <= INT32_MAX && opf_dtype_valid((int)dtype);
    *out = valid ? (opf_dtype)dtype : otherwise;
    valid = valid && (opf_dtype_is_float(*out) || (!floats_only && (opf_dtype_is_integer(*out) || *out == OPF_BOOL)));
    if (!valid) opf_call_error(call, "type", "%s makes no %s", call->op->name, valid || opf_dtype_valid((int)dtype) ? opf_dtype_name(*out) : "elements of an unknown type");
    return valid;
}

static opf_status random_tensor(opf_call *call, int rank, const opf_dim *extents, opf_dtype otherwise) {
    opf_dtype dtype;
    if (!result_type(call, otherwise, true, &dtype) || call->failed) return OPF_ERROR_INPUT;
    opf_pool *pool = call->pool;
    bool is_normal = strncmp(call->op->name, "RandomNormal", 12) == 0;
    const char *const names[2] = {is_normal ? "mean" : "low", is_normal ? "scale" : "high"};
    double base = opf_node_float(call->node, names[0], 0), span = opf_node_float(call->node, names[1], 1) - (is_normal ? 0 : base);
    const opf_expr *at = position(call, rank, extents), *draw = is_normal ? normal(call, at) : uniform(call, at);
    const opf_expr *body = opf_binary(pool, OPF_OP_ADD, real(call, base), opf_binary(pool, OPF_OP_MUL, real(call, span), draw));
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, opf_call_convert(call, dtype, body)));
    return OPF_OK;
}

static opf_status build_random(opf_call *call) {
    const int64_t *shape;
    int rank = opf_node_ints(call->node, "shape", &shape);
    if (rank < 0) return opf_call_error(call, "attribute", "attribute 'shape' is missing");
    if (rank > OPF_MAX_RANK) return opf_call_error(call, "shape", "the shape has %d entries; at most %d are supported", rank, OPF_MAX_RANK);
    opf_dim extents[OPF_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        if (shape[k] < 0) return opf_call_error(call, "shape", "the shape holds %lld", (long long)shape[k]);
        extents[k] = opf_call_int(call, shape[k]);
    }
    return random_tensor(call, rank, extents, OPF_FLOAT32);
}

static opf_status build_random_like(opf_call *call) {
    opf_dim extents[OPF_MAX_RANK];
    opf_call_dims(call, 0, extents);
    return random_tensor(call, opf_call_rank(call, 0), extents, opf_call_dtype(call, 0));
}

/* 1 with the probability that the input holds. */
static opf_status build_bernoulli(opf_call *call) {
    opf_dtype dtype;
    if (!opf_dtype_is_float(opf_call_dtype(call, 0))) return opf_call_error(call, "type", "probabilities of %s are not supported", opf_dtype_name(opf_call_dtype(call, 0)));
    if (!result_type(call, opf_call_dtype(call, 0), false, &dtype)) return OPF_ERROR_INPUT;
    int rank = opf_call_rank(call, 0);
    opf_dim extents[OPF_MAX_RANK];
    opf_call_dims(call, 0, extents);
    const opf_expr *probability = opf_call_convert(call, OPF_FLOAT64, opf_call_load_same(call, 0));
    const opf_expr *hit = opf_binary(call->pool, OPF_OP_LT, uniform(call, position(call, rank, extents)), probability);
    const opf_expr *body = opf_select(call->pool, hit, opf_number(call->pool, dtype, 1), opf_number(call->pool, dtype, 0));
    opf_call_result(call, 0, opf_call_map(call, NULL, rank, extents, body));
    return OPF_OK;
}

/* Classes drawn by logarithms of weights: the class whose logarithm, with noise of Gumbel's distribution added, is the largest. */
static opf_status build_multinomial(opf_call *call) {
    if (!opf_call_check_rank(call, 0, 2, 2, "the input")) return OPF_ERROR_INPUT;
    int64_t samples = opf_node_int(call->node, "sample_size", 1), dtype = opf_node_int(call->node, "dtype", OPF_INT32);
    if (samples < 0) return opf_call_error(call, "attribute", "sample_size is %lld", (long long)samples);
    if (dtype != OPF_INT32 && dtype != OPF_INT64) return opf_call_error(call, "attribute", "dtype must be int32 or int64");
    if (!opf_dtype_is_float(opf_call_dtype(call, 0))) return opf_call_error(call, "type", "logarithms of %s are not supported", opf_dtype_name(opf_call_dtype(call, 0)));
    opf_pool *pool = call->pool;
    opf_dim classes = opf_call_dim(call, 0, 1), extents[] = {opf_call_dim(call, 0, 0), opf_call_int(call, samples), classes};
    opf_call_require_ge_always(call, classes, opf_call_int(call, 1), "there must be a class to draw");
    if (call->failed) return OPF_ERROR_INPUT;
    const opf_expr *index[] = {opf_call_var(call, 0), opf_call_var(call, 2)};
    const opf_expr *waiting = opf_unary(pool, OPF_OP_NEG, opf_unary(pool, OPF_OP_LOG, uniform(call, position(call, 3, extents))));
    const opf_expr *weight = opf_call_convert(call, OPF_FLOAT64, opf_call_load(call, 0, index));
    const opf_expr *score = opf_binary(pool, OPF_OP_SUB, weight, opf_unary(pool, OPF_OP_LOG, waiting));
    int chosen = opf_call_stage(call, "class", 2, 1, extents, NULL, OPF_COMBINE_ARGMAX, OPF_INT64, OPF_FLOAT64, score, opf_call_var(call, 2));
    if (dtype == OPF_INT32) chosen = opf_call_map(call, NULL, 2, extents, opf_cast(pool, OPF_INT32, opf_call_load_same(call, chosen)));
    opf_call_result(call, 0, chosen);
    return OPF_OK;
}

const opf_op opf_ops_random[] = {
    {"", "RandomUniform", 1, 0, 0, 1, OPF_KIND_OPAQUE, OPF_OP_STATEFUL, build_random, NULL},
    {"", "RandomNormal", 1, 0, 0, 1, OPF_KIND_OPAQUE, OPF_OP_STATEFUL, build_random, NULL},
    {"", "RandomUniformLike", 1, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_STATEFUL, build_random_like, NULL},
    {"", "RandomNormalLike", 1, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_STATEFUL, build_random_like, NULL},
    {"", "Bernoulli", 15, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_STATEFUL, build_bernoulli, NULL},
    {"", "Multinomial", 7, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_STATEFUL, build_multinomial, NULL},
};
const size_t opf_ops_random_count = OPF_COUNT(opf_ops_random);
