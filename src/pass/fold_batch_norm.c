/* Batch normalisation with constant statistics, and sums and products with constants (pass/affine.h), behind Conv, ConvTranspose or Gemm:
 *
 *   s (W x + b) + t  =  (s W) x + (s b + t)
 *
 * for each output channel. New weights and bias are computed in double and rounded once; the weights when they are read
 * (opf_scaling), so that they stay in the model's file. */
#include "pass/affine.h"
#include "pass/edit.h"

#include <math.h>
#include <string.h>

typedef struct opf_folding {
    opf_node *producer, *norm; /* norm: the first of the run */
    opf_affine_run run;
    const opf_tensor *weight;
    int axis;                 /* of the weight, that runs over output channels (of a group, where there are groups) */
    int64_t groups;           /* that the weight's axis 0 is cut into; 1 where axis 0 runs over all output channels itself */
    int64_t channels;
    opf_unrounded unrounded;
    double *factor, *shift, *sizes; /* per output channel: s, t, and the magnitudes of what t is made of */
} opf_folding;

/* The weight's axis of output channels, per operator. */
static bool find_axis(opf_folding *folding) {
    const opf_node *node = folding->producer;
    folding->groups = 1;
    if (node->domain[0])
        return false;
    if (strcmp(node->op, "Conv") == 0) {
        folding->axis = 0;
    } else if (strcmp(node->op, "Gemm") == 0) {
        folding->axis = opf_node_int(node, "transB", 0) ? 0 : 1;
    } else if (strcmp(node->op, "ConvTranspose") == 0) {
        folding->axis = 1;
        folding->groups = opf_node_int(node, "group", 1);
    } else {
        return false;
    }
    return true;
}

/* Reads the weight; NULL, or why it cannot be changed. */
static const char *read_weight(opf_folding *folding) {
    const opf_value *value = folding->producer->inputs[1];
    const opf_tensor *weight = folding->weight = value ? value->constant : NULL;
    if (!weight)
        return "the weight is not constant";
    if (weight->dtype != OPF_FLOAT32 && weight->dtype != OPF_FLOAT64)
        return "the weight's type is too coarse to take in the factors without a loss that shows";
    if (weight->elements == 0 || weight->rank < 2)
        return "the weight has no elements or too few axes";
    if (folding->groups < 1 || weight->dims[0] % folding->groups != 0)
        return "the groups do not divide the channels";
    folding->channels = weight->dims[folding->axis] * folding->groups;
    return NULL;
}

/* NULL where a number does not fit the type. */
static opf_value *new_constant(const opf_folding *folding, int rank, const int64_t *dims, int64_t count, const double *numbers) {
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(opf_dtype_round(folding->weight->dtype, numbers[i])))
            return NULL;
    return opf_constant_like(folding->producer->graph, folding->weight->dtype, rank, dims, numbers);
}

static inline void keep_greater(int lanes, int32_t *most, const int32_t *bits) {
    for (int lane = 0; lane < lanes; lane++)
        most[lane] = (bits[lane] & INT32_MAX) > most[lane] ? bits[lane] & INT32_MAX : most[lane];
}

/* The greatest |x| of float32 elements at any address, not less than any that is infinite or no number: bit patterns of
 * magnitudes are ordered as the magnitudes are. */
static double greatest_float(const unsigned char *from, int64_t count) {
    enum { LANES = 16 };
    int32_t most[LANES] = {0}, bits[LANES] = {0};
    int64_t whole = count / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES) {
        memcpy(bits, from + (size_t)i * sizeof *bits, sizeof bits);
        keep_greater(LANES, most, bits);
    }
    memset(bits, 0, sizeof bits);
    memcpy(bits, from + (size_t)whole * sizeof *bits, (size_t)(count - whole) * sizeof *bits);
    keep_greater(LANES, most, bits);
    for (int lane = 1; lane < LANES; lane++)
        most[0] = most[lane] > most[0] ? most[lane] : most[0];
    return opf_dtype_load(OPF_FLOAT32, most, 0);
}

static bool products_fit(const opf_tensor *weight, int64_t first, int64_t count, double factor) {
    if (fabs(factor) <= 1)
        return true;
    if (weight->dtype == OPF_FLOAT32)
        return isfinite((float)(factor * greatest_float((const unsigned char *)weight->data + (size_t)first * sizeof(float), count)));
    for (int64_t i = first; i < first + count; i++)
        if (!isfinite(opf_dtype_round(weight->dtype, factor * opf_dtype_load(weight->dtype, weight->data, (size_t)i))))
            return false;
    return true;
}

static bool same_layout(const opf_scaling *a, const opf_scaling *b) {
    return a->channels == b->channels && a->stride == b->stride && a->group == b->group;
}

static bool only_shifts(const opf_folding *folding) {
    for (int64_t c = 0; c < folding->channels; c++)
        if (folding->factor[c] != 1)
            return false;
    return true;
}

/* The weight with the factors, which are applied when it is read; NULL where a product does not fit its type. */
static opf_value *new_weight(const opf_folding *folding) {
    const opf_tensor *weight = folding->weight;
    if (only_shifts(folding))
        return folding->producer->inputs[1];
    opf_graph *graph = folding->producer->graph;
    opf_arena *arena = graph->module->arena;
    double *factors = opf_arena_copy(arena, folding->factor, (size_t)folding->channels * sizeof *factors);
    opf_scaling scaling = {factors, folding->channels / folding->groups, 1, weight->elements / folding->groups};
    for (int axis = folding->axis + 1; axis < weight->rank; axis++)
        scaling.stride *= weight->dims[axis];
    if (weight->scaling && !same_layout(weight->scaling, &scaling))
        return NULL;
    for (int64_t c = 0; weight->scaling && c < folding->channels; c++)
        factors[c] *= weight->scaling->factors[c];
    for (int64_t at = 0; at < weight->elements; at += scaling.stride)
        if (!products_fit(weight, at, scaling.stride, factors[at / scaling.group * scaling.channels + at / scaling.stride % scaling.channels]))
            return NULL;
    opf_tensor_release(weight);
    opf_tensor *scaled = opf_arena_copy(arena, weight, sizeof *weight);
    scaled->scaling = opf_arena_copy(arena, &scaling, sizeof scaling);
    return opf_value_constant(graph, NULL, scaled);
}

/* The producer's bias, one number a channel (Gemm may give one for all, and weighs it); NULL where it is of another form. */
static double *old_bias(const opf_folding *folding) {
    const opf_node *node = folding->producer;
    opf_arena *arena = node->graph->module->arena;
    const opf_value *value = node->n_inputs > 2 ? node->inputs[2] : NULL;
    double *bias = OPF_ARRAY(arena, double, folding->channels);
    if (!value)
        return bias;
    const opf_tensor *tensor = value->constant;
    bool gemm = strcmp(node->op, "Gemm") == 0;
    bool single = gemm && tensor && tensor->elements == 1;
    bool row = tensor && tensor->elements == folding->channels && tensor->rank > 0 && tensor->dims[tensor->rank - 1] == folding->channels;
    if (!single && !row)
        return NULL;
    double beta = gemm ? opf_node_float(node, "beta", 1) : 1;
    for (int64_t c = 0; c < folding->channels; c++)
        bias[c] = beta * opf_tensor_get(tensor, single ? 0 : c);
    return bias;
}

/* Notes what is not rounded any more, that of an earlier fold too. */
static opf_value *new_bias(opf_folding *folding) {
    double *bias = old_bias(folding), most = 0;
    if (!bias)
        return NULL;
    for (int64_t c = 0; c < folding->channels; c++) {
        double scaled = folding->factor[c] * bias[c];
        folding->sizes[c] += fabs(scaled);
        bias[c] = scaled + folding->shift[c];
        most = fmax(most, fabs(folding->factor[c]));
    }
    opf_unrounded before = folding->producer->unrounded;
    opf_unrounded here = opf_affine_unrounded(folding->channels, bias, folding->sizes, folding->weight->dtype, folding->run.nodes.count);
    folding->unrounded = (opf_unrounded){before.roundings + here.roundings, most * before.off + here.off};
    return new_constant(folding, 1, &folding->channels, folding->channels, bias);
}

static void grow_inputs(opf_node *node, int count) {
    if (node->n_inputs >= count)
        return;
    opf_value **inputs = OPF_ARRAY(node->graph->module->arena, opf_value *, count);
    memcpy(inputs, node->inputs, (size_t)node->n_inputs * sizeof *inputs);
    node->inputs = inputs;
    node->n_inputs = count;
}

/* What the producer computes from now on is the last result of the run, and it bears its name. */
static void take_run(const opf_folding *folding) {
    opf_node *producer = folding->producer, *const *nodes = folding->run.nodes.data;
    size_t count = folding->run.nodes.count;
    for (size_t k = 0; k < count; k++) {
        opf_node_origins_add(producer, nodes[k]);
        for (int i = 0; i < nodes[k]->n_inputs; i++)
            opf_node_set_input(nodes[k], i, NULL);
    }
    opf_value *before = producer->outputs[0], *result = nodes[count - 1]->outputs[0];
    opf_node_set_output(nodes[count - 1], 0, before);
    opf_node_set_output(producer, 0, result);
    for (size_t k = count; k-- > 0;)
        opf_pass_remove(nodes[k], "its numbers are constants: folded into the weights and the bias in front of it", producer);
}

static const char *fold(opf_folding *folding) {
    opf_node *producer = folding->producer;
    opf_value *weight = new_weight(folding), *bias = new_bias(folding);
    if (!weight || !bias)
        return "the new weights or the new bias do not fit their type, or the old bias is not one constant a channel";
    producer->unrounded = folding->unrounded;
    grow_inputs(producer, 3);
    opf_node_set_input(producer, 1, weight);
    opf_node_set_input(producer, 2, bias);
    if (opf_node_attr(producer, "beta"))
        opf_node_attr_add(producer, "beta", OPF_ATTR_FLOAT, 1, &(float){1});
    if (producer->n_origins == 0)
        opf_node_origins_add(producer, producer);
    take_run(folding);
    return NULL;
}

/* Nothing to fold, or nothing to fold into: no matter for a note. */
static const char NOTHING[] = "";

/* The producer of what the node scales and shifts: a Conv, ConvTranspose or Gemm. False where it is none. */
static bool find_producer(opf_folding *folding) {
    const opf_node *norm = folding->norm;
    for (int k = 0; k < norm->n_inputs && k < 2; k++) {
        opf_node *producer = folding->producer = norm->inputs[k] ? norm->inputs[k]->producer : NULL;
        if (producer && producer->n_inputs >= 2 && producer->inputs[1] && find_axis(folding))
            return true;
    }
    return false;
}

/* The numbers of the node, one a channel. */
static const char *read_numbers(opf_folding *folding) {
    opf_affine affine;
    const opf_node *norm = folding->norm;
    const char *problem = opf_affine_read(&affine, norm);
    if (problem)
        return opf_affine_is_norm(norm) ? problem : NOTHING;
    if (norm->inputs[affine.input] != folding->producer->outputs[0])
        return NOTHING;
    problem = read_weight(folding);
    if (problem)
        return problem;
    if (affine.axis >= 0 && (affine.axis != 1 || affine.channels != folding->channels))
        return "it does not have one number a channel";
    opf_affine_spread(&affine, 1, folding->channels, norm->graph->module->arena);
    opf_affine_gather(&folding->run, folding->norm, &affine);
    affine = folding->run.whole;
    folding->factor = affine.factor;
    folding->shift = affine.shift;
    folding->sizes = affine.sizes;
    return NULL;
}

/* NULL where the node is folded, else why it is not. */
static const char *visit(opf_node *norm) {
    opf_folding folding = {.norm = norm};
    if (!find_producer(&folding))
        return NOTHING;
    if (norm->held || folding.producer->held)
        return "it belongs to a kernel of the user's";
    if (!opf_value_has_single_use(folding.producer->outputs[0]))
        return "the result in front of it is used elsewhere too";
    if (opf_module_is_exact(norm->graph->module))
        return "it would round the weights anew, which --accuracy=exact does not allow";
    const char *problem = read_numbers(&folding);
    return problem ? problem : fold(&folding);
}

opf_status opf_pass_fold_batch_norm(opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count;) {
        opf_node *node = graph->nodes.data[i];
        const char *problem = visit(node);
        if (problem && problem[0] && opf_affine_is_norm(node))
            opf_pass_note(node, "not folded: %s", problem);
        i += node->graph != NULL;
    }
    opf_graph_renumber(graph);
    return OPF_OK;
}
