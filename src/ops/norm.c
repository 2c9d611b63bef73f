/* Normalisations: statistics over some axes, then an element-wise result. */
#include "ops/families.h"
#include "ops/index.h"
#include "ops/reduction.h"

#include <string.h>

static opf_status check_float(opf_call *call) {
    opf_dtype T = opf_call_dtype(call, 0);
    if (opf_dtype_is_float(T)) return OPF_OK;
    return opf_call_error(call, "type", "%s of %s is not supported", call->op->name, opf_dtype_name(T));
}

/* Appends the stage that is the node's first output: over the first input's extents, rounded to its type. */
static opf_status finish(opf_call *call, const opf_expr *value) {
    value = opf_call_convert(call, opf_call_dtype(call, 0), value);
    opf_call_result(call, 0, opf_call_map(call, NULL, opf_call_rank(call, 0), opf_call_input(call, 0)->dims, value));
    return OPF_OK;
}

/* ---- Softmax and its kin ---- */

/* From opset 13 on along one axis (default: the last), before it over all axes from `axis` (default 1) on. */
static opf_reduction softmax_axes(opf_call *call) {
    int axes[OPF_MAX_RANK], count = 0, rank = opf_call_rank(call, 0);
    bool single = call->op->since >= 13;
    int first = rank == 0 ? 0 : opf_call_axis(call, opf_node_int(call->node, "axis", single || rank == 1 ? -1 : 1), rank);
    for (int k = first; k < (single ? first + 1 : rank) && k < rank; k++) axes[count++] = k;
    return opf_reduction_over(call, 0, count, axes, true);
}

/* Stages of the largest element of each row and of exp(x - largest), whose number is returned. */
static int exponentials(opf_call *call, const opf_reduction *reduction, opf_dtype compute, int *largest) {
    opf_pool *pool = call->pool;
    const opf_expr *term = opf_call_convert(call, compute, opf_reduction_load(call, reduction, 0));
    *largest = opf_reduction_stage(call, reduction, "max", OPF_COMBINE_MAX, compute, compute, term);
    const opf_expr *x = opf_call_convert(call, compute, opf_call_load_same(call, 0));
    const opf_expr *shifted = opf_binary(pool, OPF_OP_SUB, x, opf_reduction_spread(call, reduction, *largest));
    return opf_call_map(call, "exp", reduction->rank, opf_call_input(call, 0)->dims, opf_unary(pool, OPF_OP_EXP, shifted));
}

static opf_status build_softmax(opf_call *call) {
    opf_reduction reduction = softmax_axes(call);
    if (check_float(call) != OPF_OK || call->failed) return OPF_ERROR_INPUT;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    int largest, power = exponentials(call, &reduction, compute, &largest);
    int total = opf_reduction_stage(call, &reduction, "sum", OPF_COMBINE_SUM, compute, compute, opf_reduction_load(call, &reduction, power));
    return finish(call, opf_binary(call->pool, OPF_OP_DIV, opf_call_load_same(call, power), opf_reduction_spread(call, &reduction, total)));
}

static opf_status build_log_softmax(opf_call *call) {
    opf_pool *pool = call->pool;
    opf_reduction reduction = softmax_axes(call);
    if (check_float(call) != OPF_OK || call->failed) return OPF_ERROR_INPUT;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    int largest, power = exponentials(call, &reduction, compute, &largest);
    int total = opf_reduction_stage(call, &reduction, "sum", OPF_COMBINE_SUM, compute, compute, opf_reduction_load(call, &reduction, power));
    int logarithm = opf_call_map(call, "log", reduction.n_axes, reduction.extents, opf_unary(pool, OPF_OP_LOG, opf_call_load_same(call, total)));
    const opf_expr *x = opf_call_convert(call, compute, opf_call_load_same(call, 0));
    const opf_expr *shifted = opf_binary(pool, OPF_OP_SUB, x, opf_reduction_spread(call, &reduction, largest));
    return finish(call, opf_binary(pool, OPF_OP_SUB, shifted, opf_reduction_spread(call, &reduction, logarithm)));
}

/* Position of a point among the reduced axes, row-major: of the result's domain or of the reducing one. */
static const opf_expr *reduced_position(opf_call *call, const opf_reduction *reduction, bool at_result) {
    const opf_expr *position = opf_int(call->pool, 0);
    int next = reduction->n_axes;
    for (int k = 0; k < reduction->rank; k++) {
        if (!reduction->reduced[k]) continue;
        const opf_expr *variable = opf_var(call->pool, at_result ? k : next++);
        position = opf_add(call->pool, opf_mul(call->pool, position, opf_call_dim(call, 0, k)), variable);
    }
    return position;
}

static opf_status build_hardmax(opf_call *call) {
    opf_pool *pool = call->pool;
    opf_reduction reduction = softmax_axes(call);
    if (check_float(call) != OPF_OK || call->failed) return OPF_ERROR_INPUT;
    opf_dtype T = opf_call_dtype(call, 0), compute = opf_call_compute(T);
    if (reduction.n_reduced == 0) return finish(call, opf_number(pool, T, 1));
    const opf_expr *term = opf_call_convert(call, compute, opf_reduction_load(call, &reduction, 0));
    int where = opf_call_stage(call, "argmax", reduction.n_axes, reduction.n_reduced, reduction.extents, NULL, OPF_COMBINE_ARGMAX, OPF_INT64, compute,
                               term, reduced_position(call, &reduction, false));
    const opf_expr *here = opf_binary(pool, OPF_OP_EQ, reduced_position(call, &reduction, true), opf_reduction_spread(call, &reduction, where));
    return finish(call, opf_select(pool, here, opf_number(pool, T, 1), opf_number(pool, T, 0)));
}

/* ---- mean and variance ---- */

static const opf_expr *size_of(opf_call *call, const opf_reduction *reduction, opf_dtype compute) {
    return opf_cast(call->pool, compute, opf_reduction_size(call, reduction));
}

/* A stage: the mean of `term` (at a point of the domain) over the reduced axes. */
static int mean_of(opf_call *call, const opf_reduction *reduction, const char *sum_role, const char *role, opf_dtype compute, const opf_expr *term) {
    int total = opf_reduction_stage(call, reduction, sum_role, OPF_COMBINE_SUM, compute, compute, term);
    const opf_expr *mean = opf_binary(call->pool, OPF_OP_DIV, opf_call_load_same(call, total), size_of(call, reduction, compute));
    int stage = opf_call_map(call, role, reduction->n_axes, reduction->extents, mean);
    opf_call_note(call, stage, role);
    return stage;
}

/* The mean stage's element at a point of the reducing domain: its plain axes have the mean's positions. */
static const opf_expr *squared_deviation(opf_call *call, const opf_expr *x, int mean) {
    const opf_expr *deviation = opf_binary(call->pool, OPF_OP_SUB, x, opf_call_load_same(call, mean));
    return opf_binary(call->pool, OPF_OP_MUL, deviation, deviation);
}

/* 1 / sqrt(value + epsilon), as a stage of its own so that it is computed once a row. */
static int inverse_root(opf_call *call, const opf_reduction *reduction, int stage, opf_dtype compute, double epsilon) {
    opf_pool *pool = call->pool;
    const opf_expr *shifted = opf_binary(pool, OPF_OP_ADD, opf_call_load_same(call, stage), opf_real(pool, compute, epsilon));
    const opf_expr *inverse = opf_binary(pool, OPF_OP_DIV, opf_real(pool, compute, 1), opf_unary(pool, OPF_OP_SQRT, shifted));
    return opf_call_map(call, "inv_std", reduction->n_axes, reduction->extents, inverse);
}

typedef struct statistics { int mean, inv_std; } statistics;

/* Of a tensor, in two passes: the mean, then the mean of squared deviations from it. */
static statistics mean_and_inverse_deviation(opf_call *call, const opf_reduction *reduction, int tensor, opf_dtype compute, double epsilon) {
    const opf_expr *x = opf_call_convert(call, compute, opf_reduction_load(call, reduction, tensor));
    int mean = mean_of(call, reduction, "sum", "mean", compute, x);
    int variance = mean_of(call, reduction, "squares", "variance", compute, squared_deviation(call, x, mean));
    return (statistics){mean, inverse_root(call, reduction, variance, compute, epsilon)};
}

/* (x - mean) * inv_std at the point of the result; the statistics are given as expressions there. */
static const opf_expr *normalised(opf_call *call, opf_dtype compute, const opf_expr *mean, const opf_expr *inv_std) {
    opf_pool *pool = call->pool;
    const opf_expr *x = opf_call_convert(call, compute, opf_call_load_same(call, 0));
    return opf_binary(pool, OPF_OP_MUL, opf_binary(pool, OPF_OP_SUB, x, mean), inv_std);
}

/* value * scale + bias, where an input that is absent does nothing; both broadcast to the first input. */
static const opf_expr *scaled(opf_call *call, opf_dtype compute, const opf_expr *value, int scale, int bias) {
    opf_pool *pool = call->pool;
    opf_value *x = opf_call_input(call, 0);
    static const opf_scalar_op operations[] = {OPF_OP_MUL, OPF_OP_ADD};
    int inputs[] = {scale, bias};
    for (int k = 0; k < 2; k++) {
        opf_value *operand = inputs[k] < 0 ? NULL : opf_call_input(call, inputs[k]);
        if (!operand) continue;
        opf_dim out[OPF_MAX_RANK];
        opf_value *both[] = {x, operand};
        if (opf_call_broadcast(call, 2, both, out) != x->rank && !call->failed)
            opf_call_error(call, "shape", "input %d '%s' has more axes than input 0", inputs[k], operand->name);
        if (call->failed) return value;
        const opf_expr *load = opf_call_load_broadcast(call, inputs[k], x->rank, x->dims);
        value = opf_binary(pool, operations[k], value, opf_call_convert(call, compute, load));
    }
    return value;
}

/* All axes from attribute `axis` (default: the last) on. */
static opf_reduction trailing_axes(opf_call *call) {
    int axes[OPF_MAX_RANK], count = 0, rank = opf_call_rank(call, 0);
    int first = opf_call_axis(call, opf_node_int(call->node, "axis", -1), rank);
    for (int k = first; k < rank; k++) axes[count++] = k;
    return opf_reduction_over(call, 0, count, axes, true);
}

/* ---- layer normalisations, of the first input or of a sum ---- */

static opf_status layer_normalise(opf_call *call, const opf_reduction *reduction, int tensor, int scale, int bias, double epsilon) {
    opf_pool *pool = call->pool;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    statistics found = mean_and_inverse_deviation(call, reduction, tensor, compute, epsilon);
    const opf_expr *x = opf_call_convert(call, compute, opf_call_load_same(call, tensor));
    const opf_expr *centred = opf_binary(pool, OPF_OP_SUB, x, opf_reduction_spread(call, reduction, found.mean));
    const opf_expr *value = opf_binary(pool, OPF_OP_MUL, centred, opf_reduction_spread(call, reduction, found.inv_std));
    value = scaled(call, compute, value, scale, bias);
    opf_call_result(call, 1, found.mean);
    opf_call_result(call, 2, found.inv_std);
    return finish(call, value);
}

static opf_status rms_normalise(opf_call *call, const opf_reduction *reduction, int tensor, int scale, int statistic, double epsilon) {
    opf_pool *pool = call->pool;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    const opf_expr *term = opf_call_convert(call, compute, opf_reduction_load(call, reduction, tensor));
    int mean = mean_of(call, reduction, "squares", "mean_square", compute, opf_binary(pool, OPF_OP_MUL, term, term));
    int inverse = inverse_root(call, reduction, mean, compute, epsilon);
    const opf_expr *x = opf_call_convert(call, compute, opf_call_load_same(call, tensor));
    opf_call_result(call, statistic, inverse);
    return finish(call, scaled(call, compute, opf_binary(pool, OPF_OP_MUL, x, opf_reduction_spread(call, reduction, inverse)), scale, -1));
}

static opf_status build_layer_normalization(opf_call *call) {
    opf_reduction reduction = trailing_axes(call);
    if (check_float(call) != OPF_OK || call->failed) return OPF_ERROR_INPUT;
    return layer_normalise(call, &reduction, 0, 1, 2, opf_node_float(call->node, "epsilon", (float)1e-5));
}

static opf_status build_rms_normalization(opf_call *call) {
    opf_reduction reduction = trailing_axes(call);
    if (check_float(call) != OPF_OK || call->failed) return OPF_ERROR_INPUT;
    return rms_normalise(call, &reduction, 0, 1, 1, opf_node_float(call->node, "epsilon", (float)1e-5));
}

/* ONNX Runtime's SkipLayerNormalization: input + skip (+ bias), whose sum is the fourth output, then the normalisation. */
static int skip_sum(opf_call *call, opf_dtype compute, int bias) {
    const opf_expr *sum = opf_call_convert(call, compute, opf_call_load_same(call, 0));
    int inputs[] = {1, bias};
    for (int k = 0; k < 2; k++) {
        opf_value *both[] = {opf_call_input(call, 0), opf_call_input(call, inputs[k])};
        opf_dim out[OPF_MAX_RANK];
        if (!both[1]) continue;
        if (opf_call_broadcast(call, 2, both, out) != both[0]->rank) opf_call_error(call, "shape", "input %d '%s' has more axes than input 0", inputs[k], both[1]->name);
        if (call->failed) return 0;
        const opf_expr *load = opf_call_load_broadcast(call, inputs[k], both[0]->rank, both[0]->dims);
        sum = opf_binary(call->pool, OPF_OP_ADD, sum, opf_call_convert(call, compute, load));
    }
    int rank = opf_call_rank(call, 0), stage = opf_call_map(call, "sum_of_inputs", rank, opf_call_input(call, 0)->dims, sum);
    opf_dtype T = opf_call_dtype(call, 0);
    bool given = call->node->n_outputs > 3 && call->node->outputs[3];
    int rounded = T == compute || !given ? stage : opf_call_map(call, "rounded_sum", rank, opf_call_input(call, 0)->dims, opf_cast(call->pool, T, opf_call_load_same(call, stage)));
    opf_call_result(call, 3, rounded);
    return stage;
}

static opf_status build_skip_normalization(opf_call *call) {
    bool simplified = strcmp(call->op->name, "SkipSimplifiedLayerNormalization") == 0;
    opf_reduction reduction = trailing_axes(call);
    if (check_float(call) != OPF_OK || call->failed) return OPF_ERROR_INPUT;
    int sum = skip_sum(call, opf_call_compute(opf_call_dtype(call, 0)), simplified ? 3 : 4);
    if (call->failed) return OPF_ERROR_INPUT;
    double epsilon = opf_node_float(call->node, "epsilon", (float)1e-12);
    return simplified ? rms_normalise(call, &reduction, sum, 2, 2, epsilon) : layer_normalise(call, &reduction, sum, 2, 3, epsilon);
}

/* ---- normalisations with one scale and bias a channel ---- */

/* An input of one element a channel, at the point of the result; its length is checked against axis 1. */
static const opf_expr *per_channel(opf_call *call, int input, opf_dtype compute) {
    if (opf_call_rank(call, input) != 1) {
        opf_call_error(call, "shape", "input %d of %s must have one axis", input, call->op->name);
        return opf_number(call->pool, compute, 0);
    }
    opf_dim channels = opf_call_rank(call, 0) > 1 ? opf_call_dim(call, 0, 1) : opf_int(call->pool, 1);
    opf_call_same(call, opf_call_dim(call, input, 0), channels, opf_arena_printf(call->arena, "input %d has one element a channel", input));
    const opf_expr *channel = opf_call_rank(call, 0) > 1 ? opf_var(call->pool, 1) : opf_int(call->pool, 0);
    return opf_call_convert(call, compute, opf_call_load(call, input, &channel));
}

/* Before opset 9, spatial = 0 gives one statistic an element: operands of the shape behind the batch axis. */
static const opf_expr *per_element(opf_call *call, int input, opf_dtype compute) {
    const opf_expr *index[OPF_MAX_RANK];
    int rank = opf_call_rank(call, 0);
    if (opf_call_rank(call, input) != rank - 1) opf_call_error(call, "shape", "input %d of %s must have %d axes", input, call->op->name, rank - 1);
    if (call->failed) return opf_number(call->pool, compute, 0);
    for (int k = 1; k < rank; k++) {
        opf_call_same(call, opf_call_dim(call, input, k - 1), opf_call_dim(call, 0, k), "one statistic an element");
        index[k - 1] = opf_var(call->pool, k);
    }
    return opf_call_convert(call, compute, opf_call_load(call, input, index));
}

/* Statistics of the batch itself, as training takes them; results 1 and 2 are the running ones, moved towards them. */
static bool batch_statistics(opf_call *call, opf_dtype compute, const opf_expr **mean, const opf_expr **variance) {
    opf_pool *pool = call->pool;
    int axes[OPF_MAX_RANK], count = 0, rank = opf_call_rank(call, 0);
    for (int k = 0; k < rank; k++)
        if (k != 1) axes[count++] = k;
    if (!opf_call_check_rank(call, 0, 2, OPF_MAX_RANK, "the input")) return false;
    opf_reduction others = opf_reduction_over(call, 0, count, axes, false);
    const opf_expr *x = opf_call_convert(call, compute, opf_reduction_load(call, &others, 0)), *channel = opf_var(pool, 1);
    int found[] = {mean_of(call, &others, "sum", "mean", compute, x), 0};
    found[1] = mean_of(call, &others, "squares", "variance", compute, squared_deviation(call, x, found[0]));
    double momentum = opf_node_float(call->node, "momentum", (float)0.9);
    for (int k = 0; k < 2; k++) {
        const opf_expr *kept = opf_binary(pool, OPF_OP_MUL, opf_call_convert(call, compute, opf_call_load_same(call, 3 + k)), opf_real(pool, compute, momentum));
        const opf_expr *moved = opf_binary(pool, OPF_OP_MUL, opf_call_load_same(call, found[k]), opf_real(pool, compute, 1 - momentum));
        const opf_expr *running = opf_call_convert(call, opf_call_dtype(call, 3 + k), opf_binary(pool, OPF_OP_ADD, kept, moved));
        opf_call_result(call, 1 + k, opf_call_map(call, k ? "running_variance" : "running_mean", 1, others.extents, running));
    }
    *mean = opf_call_load(call, found[0], &channel);
    *variance = opf_call_load(call, found[1], &channel);
    return true;
}

/* (x - mean) * (scale / sqrt(variance + epsilon)) + bias: no division an element. Statistics given or, in training mode, taken from the batch. */
static opf_status build_batch_normalization(opf_call *call) {
    opf_pool *pool = call->pool;
    if (check_float(call) != OPF_OK) return OPF_ERROR_INPUT;
    bool training = opf_node_int(call->node, "training_mode", 0) != 0 && call->node->opset >= 14;
    if (!training && opf_call_wants(call, 1)) {
        opf_call_error(call, "unsupported", "the statistics that BatchNormalization gave in training before opset 14 are not supported");
        opf_call_hint(call, "export the model for inference");
        return OPF_ERROR_UNSUPPORTED;
    }
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    bool spatial = opf_node_int(call->node, "spatial", 1) != 0;
    const opf_expr *operand[5];
    for (int k = 1; k < 5; k++) operand[k] = spatial ? per_channel(call, k, compute) : per_element(call, k, compute);
    if (call->failed || (training && !batch_statistics(call, compute, &operand[3], &operand[4]))) return OPF_ERROR_INPUT;
    const opf_expr *epsilon = opf_real(pool, compute, opf_node_float(call->node, "epsilon", (float)1e-5));
    const opf_expr *deviation = opf_unary(pool, OPF_OP_SQRT, opf_binary(pool, OPF_OP_ADD, operand[4], epsilon));
    const opf_expr *x = opf_call_convert(call, compute, opf_call_load_same(call, 0));
    const opf_expr *factor = opf_binary(pool, OPF_OP_DIV, operand[1], deviation), *centred = opf_binary(pool, OPF_OP_SUB, x, operand[3]);
    return finish(call, opf_binary(pool, OPF_OP_ADD, opf_binary(pool, OPF_OP_MUL, centred, factor), operand[2]));
}

static opf_status build_instance_normalization(opf_call *call) {
    int axes[OPF_MAX_RANK], count = 0, rank = opf_call_rank(call, 0);
    if (rank < 3) return opf_call_error(call, "shape", "InstanceNormalization needs an input of rank 3 or more");
    for (int k = 2; k < rank; k++) axes[count++] = k;
    opf_reduction reduction = opf_reduction_over(call, 0, count, axes, true);
    if (check_float(call) != OPF_OK) return OPF_ERROR_INPUT;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    const opf_expr *scale = per_channel(call, 1, compute), *bias = per_channel(call, 2, compute);
    if (call->failed) return OPF_ERROR_INPUT;
    statistics found = mean_and_inverse_deviation(call, &reduction, 0, compute, opf_node_float(call->node, "epsilon", (float)1e-5));
    const opf_expr *value = normalised(call, compute, opf_reduction_spread(call, &reduction, found.mean), opf_reduction_spread(call, &reduction, found.inv_std));
    return finish(call, opf_binary(call->pool, OPF_OP_ADD, opf_binary(call->pool, OPF_OP_MUL, value, scale), bias));
}

/* The domain of a group's statistics: [n, g], reduced over the group's channels and everything behind them. */
static opf_reduction group_domain(opf_call *call, int64_t groups, opf_dim per_group) {
    opf_pool *pool = call->pool;
    int rank = opf_call_rank(call, 0);
    opf_reduction domain = {.rank = rank, .n_axes = 2, .n_reduced = rank - 1, .keep = false};
    domain.extents[0] = opf_call_dim(call, 0, 0);
    domain.extents[1] = opf_int(pool, groups);
    domain.extents[2] = per_group;
    domain.index[0] = opf_var(pool, 0);
    domain.index[1] = opf_add(pool, opf_mul(pool, opf_var(pool, 1), per_group), opf_var(pool, 2));
    for (int k = 2; k < rank; k++) {
        domain.extents[k + 1] = opf_call_dim(call, 0, k);
        domain.index[k] = opf_var(pool, k + 1);
    }
    return domain;
}

/* Scale and bias of one element a group (opset 18) or a channel (from 21 on). */
static const opf_expr *group_operand(opf_call *call, int input, int64_t groups, const opf_expr *group, opf_dtype compute) {
    if (call->op->since >= 21) return per_channel(call, input, compute);
    if (opf_call_rank(call, input) != 1) opf_call_error(call, "shape", "input %d of %s must have one axis", input, call->op->name);
    else opf_call_same(call, opf_call_dim(call, input, 0), opf_int(call->pool, groups), "one element a group");
    return call->failed ? opf_number(call->pool, compute, 0) : opf_call_convert(call, compute, opf_call_load(call, input, &group));
}

static opf_status build_group_normalization(opf_call *call) {
    opf_pool *pool = call->pool;
    int rank = opf_call_rank(call, 0);
    int64_t groups = opf_node_int(call->node, "num_groups", 0);
    if (rank < 2 || groups < 1) return opf_call_error(call, "shape", "GroupNormalization needs an input of rank 2 or more and a positive num_groups");
    if (check_float(call) != OPF_OK) return OPF_ERROR_INPUT;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    opf_dim channels = opf_call_dim(call, 0, 1), per_group = opf_floordiv(pool, channels, opf_int(pool, groups));
    opf_call_same(call, opf_mul(pool, per_group, opf_int(pool, groups)), channels, "the groups divide the channels");
    const opf_expr *group = opf_floordiv(pool, opf_var(pool, 1), per_group);
    const opf_expr *scale = group_operand(call, 1, groups, group, compute), *bias = group_operand(call, 2, groups, group, compute);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_reduction domain = group_domain(call, groups, per_group);
    statistics found = mean_and_inverse_deviation(call, &domain, 0, compute, opf_node_float(call->node, "epsilon", (float)1e-5));
    const opf_expr *at[] = {opf_var(pool, 0), group};
    const opf_expr *value = normalised(call, compute, opf_call_load(call, found.mean, at), opf_call_load(call, found.inv_std, at));
    return finish(call, opf_binary(pool, OPF_OP_ADD, opf_binary(pool, OPF_OP_MUL, value, scale), bias));
}

/* ---- others ---- */

/* (x - mean) / (sqrt(variance) + 1e-9), as ONNX's function body says. */
static opf_status build_mean_variance_normalization(opf_call *call) {
    opf_pool *pool = call->pool;
    int axes[OPF_MAX_RANK], rank = opf_call_rank(call, 0);
    int count = opf_call_axes(call, "axes", -1, rank, axes);
    if (count < 0) {
        static const int usual[] = {0, 2, 3};
        for (count = 0; count < 3; count++) axes[count] = opf_call_axis(call, usual[count], rank);
    }
    if (check_float(call) != OPF_OK || call->failed) return OPF_ERROR_INPUT;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    opf_reduction reduction = opf_reduction_over(call, 0, count, axes, true);
    const opf_expr *term = opf_call_convert(call, compute, opf_reduction_load(call, &reduction, 0));
    int mean = mean_of(call, &reduction, "sum", "mean", compute, term);
    int variance = mean_of(call, &reduction, "squares", "variance", compute, squared_deviation(call, term, mean));
    const opf_expr *deviation = opf_binary(pool, OPF_OP_ADD, opf_unary(pool, OPF_OP_SQRT, opf_call_load_same(call, variance)), opf_real(pool, compute, 1e-9));
    int std = opf_call_map(call, "std", reduction.n_axes, reduction.extents, deviation);
    const opf_expr *x = opf_call_convert(call, compute, opf_call_load_same(call, 0));
    const opf_expr *centred = opf_binary(pool, OPF_OP_SUB, x, opf_reduction_spread(call, &reduction, mean));
    return finish(call, opf_binary(pool, OPF_OP_DIV, centred, opf_reduction_spread(call, &reduction, std)));
}

/* x / norm; a row of norm 0 stays 0. */
static opf_status build_lp_normalization(opf_call *call) {
    opf_pool *pool = call->pool;
    int axis = opf_call_axis(call, opf_node_int(call->node, "axis", -1), opf_call_rank(call, 0));
    int64_t p = opf_node_int(call->node, "p", 2);
    if (p != 1 && p != 2) opf_call_error(call, "attribute", "LpNormalization has p 1 or 2, not %lld", (long long)p);
    if (check_float(call) != OPF_OK || call->failed) return OPF_ERROR_INPUT;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    opf_reduction reduction = opf_reduction_over(call, 0, 1, &axis, true);
    const opf_expr *x = opf_call_convert(call, compute, opf_reduction_load(call, &reduction, 0));
    const opf_expr *term = p == 1 ? opf_unary(pool, OPF_OP_ABS, x) : opf_binary(pool, OPF_OP_MUL, x, x);
    int norm = opf_reduction_stage(call, &reduction, "sum", OPF_COMBINE_SUM, compute, compute, term);
    if (p == 2) norm = opf_call_map(call, "norm", reduction.n_axes, reduction.extents, opf_unary(pool, OPF_OP_SQRT, opf_call_load_same(call, norm)));
    const opf_expr *divisor = opf_reduction_spread(call, &reduction, norm), *zero = opf_real(pool, compute, 0);
    const opf_expr *value = opf_binary(pool, OPF_OP_DIV, opf_call_convert(call, compute, opf_call_load_same(call, 0)), divisor);
    return finish(call, opf_select(pool, opf_binary(pool, OPF_OP_EQ, divisor, zero), zero, value));
}

/* base^beta. The usual power, 3/4, is two square roots and a product where the base cannot be negative (-inf to that power would be inf): they round less than
 * a power of any exponent, and take a fraction of its time. */
static const opf_expr *lrn_power(opf_call *call, const opf_expr *base, opf_dtype compute, bool negative) {
    double beta = opf_node_float(call->node, "beta", 0.75);
    if (negative || beta != 0.75) return opf_binary(call->pool, OPF_OP_POW, base, opf_real(call->pool, compute, beta));
    const opf_expr *root = opf_unary(call->pool, OPF_OP_SQRT, base);
    return opf_binary(call->pool, OPF_OP_MUL, root, opf_unary(call->pool, OPF_OP_SQRT, root));
}

/* x / (bias + alpha / size * sum of squares over `size` channels around)^beta */
static opf_status build_lrn(opf_call *call) {
    opf_pool *pool = call->pool;
    int rank = opf_call_rank(call, 0);
    int64_t size = opf_node_int(call->node, "size", 0);
    if (rank < 2 || size < 1) return opf_call_error(call, "shape", "LRN needs an input of rank 2 or more and a positive size");
    if (check_float(call) != OPF_OK) return OPF_ERROR_INPUT;
    opf_dtype compute = opf_call_compute(opf_call_dtype(call, 0));
    opf_dim extents[OPF_MAX_RANK + 1];
    const opf_expr *indices[OPF_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        extents[k] = opf_call_dim(call, 0, k);
        indices[k] = opf_var(pool, k);
    }
    if (rank == OPF_MAX_RANK) return opf_call_error(call, "unsupported", "LRN of rank %d is not supported", rank);
    extents[rank] = opf_int(pool, size);
    const opf_expr *channel = opf_sub(pool, opf_add(pool, opf_var(pool, 1), opf_var(pool, rank)), opf_int(pool, (size - 1) / 2));
    indices[1] = channel;
    const opf_expr *x = opf_call_convert(call, compute, opf_call_load(call, 0, indices));
    const opf_expr *inside = opf_binary(pool, OPF_OP_AND, opf_binary(pool, OPF_OP_GE, channel, opf_int(pool, 0)), opf_binary(pool, OPF_OP_LT, channel, extents[1]));
    const opf_expr *term = opf_select(pool, inside, opf_binary(pool, OPF_OP_MUL, x, x), opf_real(pool, compute, 0));
    int squares = opf_call_stage(call, "squares", rank, 1, extents, NULL, OPF_COMBINE_SUM, compute, compute, term, NULL);
    double alpha = opf_node_float(call->node, "alpha", (float)1e-4) / (double)size, bias = opf_node_float(call->node, "bias", 1);
    const opf_expr *scaled_sum = opf_binary(pool, OPF_OP_MUL, opf_real(pool, compute, alpha), opf_call_load_same(call, squares));
    const opf_expr *base = opf_binary(pool, OPF_OP_ADD, opf_real(pool, compute, bias), scaled_sum);
    const opf_expr *power = lrn_power(call, base, compute, !(alpha >= 0 && bias >= 0));
    return finish(call, opf_binary(pool, OPF_OP_DIV, opf_call_convert(call, compute, opf_call_load_same(call, 0)), power));
}

#define NORM(name, since, min_inputs, max_inputs, max_outputs, build)                                                  \
    {"", name, since, min_inputs, max_inputs, max_outputs, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build, NULL}

const opf_op opf_ops_norm[] = {
    NORM("Softmax", 1, 1, 1, 1, build_softmax),
    NORM("Softmax", 13, 1, 1, 1, build_softmax),
    NORM("LogSoftmax", 1, 1, 1, 1, build_log_softmax),
    NORM("LogSoftmax", 13, 1, 1, 1, build_log_softmax),
    NORM("Hardmax", 1, 1, 1, 1, build_hardmax),
    NORM("Hardmax", 13, 1, 1, 1, build_hardmax),
    NORM("LayerNormalization", 1, 2, 3, 3, build_layer_normalization), /* ONNX: 17; exporters wrote it before as ONNX Runtime's */
    NORM("RMSNormalization", 23, 2, 2, 1, build_rms_normalization),
    NORM("SimplifiedLayerNormalization", 1, 2, 2, 2, build_rms_normalization), /* ONNX Runtime's, in ONNX's domain */
    NORM("InstanceNormalization", 1, 3, 3, 1, build_instance_normalization),
    NORM("GroupNormalization", 18, 3, 3, 1, build_group_normalization),
    NORM("GroupNormalization", 21, 3, 3, 1, build_group_normalization),
    NORM("MeanVarianceNormalization", 9, 1, 1, 1, build_mean_variance_normalization),
    NORM("LpNormalization", 1, 1, 1, 1, build_lp_normalization),
    NORM("LRN", 1, 1, 1, 1, build_lrn),
    {"com.microsoft", "SkipLayerNormalization", 1, 3, 5, 4, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_skip_normalization, NULL},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, 3, 4, 4, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_skip_normalization, NULL},
    {"", "BatchNormalization", 1, 5, 5, 5, OPF_KIND_ELEMWISE, 0, build_batch_normalization, NULL},
};
const size_t opf_ops_norm_count = OPF_COUNT(opf_ops_norm);
