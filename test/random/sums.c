/* Reductions, normalisations as operators and written out, products, windows. */
#include <string.h>

#include "maker.h"

typedef opf_value *(*family)(maker *, opf_value *);

/* ---- reductions ---- */

/* From this version on the axes are an input. */
static int axes_are_input_since(const char *op) { return strcmp(op, "ReduceSum") == 0 ? 13 : 18; }

static opf_value *reduce_over(maker *m, opf_value *x, const char *op, const int64_t *axes, int count, bool keeps) {
    if (!x) return NULL;
    bool input = m->opset >= axes_are_input_since(op);
    opf_value *inputs[] = {x, input ? constant_ints(m, axes, count) : NULL};
    opf_node *node = begin(m, op, input ? 2 : 1, inputs, 1);
    if (!input) set_ints(node, "axes", axes, count);
    set_int(node, "keepdims", keeps);
    return finish(m, node);
}

static opf_value *reduce(maker *m, opf_value *x) {
    static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd", "ReduceSum", "ReduceMean"};
    int64_t axes[OPF_MAX_RANK];
    int count = 0;
    for (int k = 0; k < x->rank; k++)
        if (chance(m, k == x->rank - 1 ? 60 : 35)) axes[count++] = chance(m, 30) ? k - x->rank : k;
    return count ? reduce_over(m, x, ops[pick(m, OPF_COUNT(ops))], axes, count, chance(m, 60)) : NULL;
}

static opf_value *position(maker *m, opf_value *x) {
    if (!x->rank) return NULL;
    opf_node *node = begin(m, chance(m, 50) ? "ArgMax" : "ArgMin", 1, &x, 1);
    set_int(node, "axis", pick(m, x->rank));
    set_int(node, "keepdims", pick(m, 2));
    if (chance(m, 30)) set_int(node, "select_last_index", 1);
    return finish(m, node);
}

static opf_value *cumulate(maker *m, opf_value *x) {
    opf_value *inputs[] = {x, constant_number(m, OPF_INT64, x->rank ? pick(m, x->rank) : 0)};
    opf_node *node = begin(m, "CumSum", 2, inputs, 1);
    if (chance(m, 30)) set_int(node, "reverse", 1);
    if (chance(m, 30)) set_int(node, "exclusive", 1);
    return finish(m, node);
}

static opf_value *softmax(maker *m, opf_value *x) {
    opf_node *node = begin(m, chance(m, 70) ? "Softmax" : "LogSoftmax", 1, &x, 1);
    set_int(node, "axis", chance(m, 70) || !x->rank ? -1 : pick(m, x->rank));
    return finish(m, node);
}

static opf_value *softmax_written_out(maker *m, opf_value *x) {
    if (!x->rank || !opf_dtype_is_float(x->dtype)) return NULL;
    int64_t axis = chance(m, 75) ? -1 : pick(m, x->rank);
    opf_value *shifted = chance(m, 80) ? apply(m, "Sub", x, reduce_over(m, x, "ReduceMax", &axis, 1, true)) : x;
    opf_value *grown = apply(m, "Exp", shifted, NULL);
    return grown ? apply(m, "Div", grown, reduce_over(m, grown, "ReduceSum", &axis, 1, true)) : NULL;
}

static opf_value *norm_written_out(maker *m, opf_value *x) {
    if (!x->rank || !opf_dtype_is_float(x->dtype)) return NULL;
    int64_t axis = chance(m, 75) ? -1 : pick(m, x->rank);
    bool centred = chance(m, 70);
    opf_value *deviation = centred ? apply(m, "Sub", x, reduce_over(m, x, "ReduceMean", &axis, 1, true)) : x;
    opf_value *squared = chance(m, 50) ? apply(m, "Mul", deviation, deviation) : deviation ? apply(m, "Pow", deviation, constant_number(m, x->dtype, 2)) : NULL;
    opf_value *variance = reduce_over(m, squared, "ReduceMean", &axis, 1, true);
    opf_value *root = variance ? apply(m, "Sqrt", apply(m, "Add", variance, constant_number(m, x->dtype, 0x1p-10)), NULL) : NULL;
    if (!root) return NULL;
    opf_value *y = chance(m, 60) ? apply(m, "Div", deviation, root) : apply(m, "Mul", deviation, apply(m, "Reciprocal", root, NULL));
    int64_t size;
    if (!y || !opf_is_int(y->dims[y->rank - 1], &size)) return y;
    y = apply(m, "Mul", y, new_constant(m, x->dtype, 1, &size));
    return y ? apply(m, "Add", y, new_constant(m, x->dtype, 1, &size)) : NULL;
}

static opf_value *layer_norm(maker *m, opf_value *x) {
    int64_t size;
    if (!x->rank || !opf_is_int(x->dims[x->rank - 1], &size)) return NULL;
    opf_value *inputs[] = {x, new_constant(m, x->dtype, 1, &size), new_constant(m, x->dtype, 1, &size)};
    return finish(m, begin(m, "LayerNormalization", 2 + pick(m, 2), inputs, 1));
}

opf_value *grow_reduced(maker *m, opf_value *x) {
    static const family families[] = {reduce, reduce, reduce, reduce, position, cumulate, softmax, softmax_written_out, softmax_written_out, norm_written_out, norm_written_out, layer_norm};
    return families[pick(m, OPF_COUNT(families))](m, x);
}

/* ---- products ---- */

/* Behind a product: what fuses there. */
static opf_value *finish_product(maker *m, opf_node *node) {
    opf_value *y = finish(m, node);
    if (y && chance(m, 50)) {
        opf_value *more = apply(m, "Add", y, operand_for(m, y, y->dtype));
        y = more ? more : y;
    }
    if (y && chance(m, 40)) {
        opf_value *more = grow_scalar(m, y);
        y = more ? more : y;
    }
    return y;
}

static opf_value *matmul(maker *m, opf_value *x) {
    static const int64_t widths[] = {1, 2, 5, 8, 16, 17, 33, 48};
    if (!x->rank) return NULL;
    opf_dim depth = x->dims[x->rank - 1], dims[4];
    int64_t known, sizes[4];
    if (depth->kind != OPF_EXPR_SYMBOL && !opf_is_int(depth, NULL)) return NULL;
    int rank = 2;
    if (x->rank == 3 && chance(m, 30)) dims[0] = x->dims[0], rank = 3;
    if (rank == 3 && dims[0]->kind != OPF_EXPR_SYMBOL && !opf_is_int(dims[0], NULL)) return NULL;
    dims[rank - 2] = depth;
    dims[rank - 1] = opf_int(m->module->pool, widths[pick(m, OPF_COUNT(widths))]);
    bool constant = chance(m, 65);
    for (int k = 0; k < rank; k++) constant = constant && opf_is_int(dims[k], &known);
    for (int k = 0; k < rank; k++) sizes[k] = size_of(m, dims[k]);
    opf_value *inputs[] = {x, constant ? new_constant(m, x->dtype, rank, sizes) : new_input(m, x->dtype, rank, dims)};
    return finish_product(m, begin(m, "MatMul", 2, inputs, 1));
}

static opf_value *gemm(maker *m, opf_value *x) {
    int64_t depth, width = 1 + pick(m, 40), bias[] = {width};
    int turned = pick(m, 2);
    if (x->rank != 2 || !opf_is_int(x->dims[1], &depth)) return NULL;
    int64_t sizes[] = {turned ? width : depth, turned ? depth : width};
    opf_value *inputs[] = {x, new_constant(m, x->dtype, 2, sizes), new_constant(m, x->dtype, 1, bias)};
    opf_node *node = begin(m, "Gemm", 2 + pick(m, 2), inputs, 1);
    set_int(node, "transB", turned);
    if (chance(m, 30)) set_float(node, "alpha", 0.5);
    if (chance(m, 30)) set_float(node, "beta", 0.25);
    return finish_product(m, node);
}

/* Scores of a value with itself, soft-maxed, times itself. */
static opf_value *attention(maker *m, opf_value *x) {
    if (x->rank < 2 || x->rank > 4 || !opf_dtype_is_float(x->dtype)) return NULL;
    int64_t order[OPF_MAX_RANK];
    for (int k = 0; k < x->rank; k++) order[k] = k;
    order[x->rank - 2] = x->rank - 1;
    order[x->rank - 1] = x->rank - 2;
    opf_value *keys = chance(m, 50) ? find_like(m, x, x->dtype) : NULL, *read = keys ? keys : x;
    opf_node *node = begin(m, "Transpose", 1, &read, 1);
    set_ints(node, "perm", order, x->rank);
    opf_value *turned = finish(m, node);
    opf_value *scores = turned ? apply(m, "MatMul", x, turned) : NULL;
    if (scores && chance(m, 70)) scores = apply(m, "Mul", scores, constant_number(m, x->dtype, 0.25));
    if (scores && chance(m, 40)) scores = apply(m, "Add", scores, operand_for(m, scores, x->dtype));
    opf_value *weights = !scores ? NULL : chance(m, 50) ? softmax(m, scores) : softmax_written_out(m, scores);
    return weights ? apply(m, "MatMul", weights, read) : NULL;
}

/* ---- windows ---- */

static opf_value *batch_norm(maker *m, opf_value *x) {
    int64_t channels;
    if (!x || x->rank < 2 || !opf_is_int(x->dims[1], &channels)) return NULL;
    opf_value *inputs[] = {x, new_constant(m, x->dtype, 1, &channels), new_constant(m, x->dtype, 1, &channels), new_constant(m, x->dtype, 1, &channels), NULL};
    const char *why;
    opf_tensor *ones = opf_tensor_zeros(m->arena, x->dtype, 1, &channels, &why);
    for (int64_t i = 0; i < channels; i++) opf_dtype_store(x->dtype, (void *)(uintptr_t)ones->data, (size_t)i, 0.5 + (double)(i % 3));
    inputs[4] = opf_value_constant(m->graph, opf_arena_printf(m->arena, "c%d", m->module->n_values), ones);
    return finish(m, begin(m, "BatchNormalization", 5, inputs, 1));
}

static void set_window(maker *m, opf_node *node, int axes, const int64_t *kernel, bool dilates) {
    int64_t values[4];
    set_ints(node, "kernel_shape", kernel, axes);
    for (int k = 0; k < axes; k++) values[k] = 1 + (chance(m, 30) ? 1 : 0);
    set_ints(node, "strides", values, axes);
    for (int k = 0; k < 2 * axes; k++) values[k] = kernel[k % axes] > 1 ? pick(m, (int)(kernel[k % axes] / 2) + 1) : 0;
    set_ints(node, "pads", values, 2 * axes);
    for (int k = 0; k < axes; k++) values[k] = chance(m, 15) ? 2 : 1;
    if (dilates) set_ints(node, "dilations", values, axes);
}

/* None is larger than its axis is in this run. */
static void random_kernel(maker *m, const opf_value *x, int64_t *kernel) {
    static const int64_t sizes[] = {1, 1, 2, 3, 3, 3, 5};
    int64_t square = sizes[pick(m, OPF_COUNT(sizes))];
    for (int k = 0; k < x->rank - 2; k++) {
        int64_t most = size_of(m, x->dims[k + 2]);
        kernel[k] = chance(m, 80) ? square : sizes[pick(m, OPF_COUNT(sizes))];
        if (kernel[k] > most) kernel[k] = most > 0 ? most : 1;
    }
}

static opf_value *conv(maker *m, opf_value *x) {
    static const int64_t outs[] = {1, 2, 3, 8, 16, 17, 32};
    int64_t channels, weight[4], out;
    int axes = x->rank - 2;
    if (axes < 1 || axes > 2 || !opf_is_int(x->dims[1], &channels)) return NULL;
    int64_t group = chance(m, 30) ? channels : chance(m, 20) && channels % 2 == 0 ? 2 : 1;
    out = group > 1 ? group * (1 + pick(m, 2)) : outs[pick(m, OPF_COUNT(outs))];
    weight[0] = out;
    weight[1] = channels / group;
    random_kernel(m, x, weight + 2);
    opf_value *inputs[] = {x, new_constant(m, x->dtype, x->rank, weight), new_constant(m, x->dtype, 1, &out)};
    opf_node *node = begin(m, "Conv", 2 + pick(m, 2), inputs, 1);
    set_window(m, node, axes, weight + 2, true);
    set_int(node, "group", group);
    opf_value *y = chance(m, 40) ? batch_norm(m, finish(m, node)) : finish_product(m, node);
    return y && chance(m, 40) ? apply(m, "Relu", y, NULL) : y;
}

static opf_value *pool(maker *m, opf_value *x) {
    int64_t kernel[2];
    int axes = x->rank - 2;
    if (axes < 1 || axes > 2) return NULL;
    if (chance(m, 30)) return apply(m, chance(m, 70) ? "GlobalAveragePool" : "GlobalMaxPool", x, NULL);
    bool average = chance(m, 50);
    random_kernel(m, x, kernel);
    opf_node *node = begin(m, average ? "AveragePool" : "MaxPool", 1, &x, 1);
    set_window(m, node, axes, kernel, false);
    if (average && chance(m, 30)) set_int(node, "count_include_pad", 1);
    if (chance(m, 30)) set_int(node, "ceil_mode", 1);
    return finish(m, node);
}

opf_value *grow_summed(maker *m, opf_value *x) {
    static const family families[] = {matmul, matmul, matmul, gemm, attention, conv, conv, pool, batch_norm};
    for (int attempt = 0; attempt < 4; attempt++) { /* most of them take one rank alone */
        opf_value *y = families[pick(m, OPF_COUNT(families))](m, x);
        if (y) return y;
    }
    return NULL;
}
