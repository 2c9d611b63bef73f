/* Operators written out in smaller ones, as their specifications in ONNX (operators.md) define them. */
#include "pass/decompose.h"

#include <string.h>

#include "pass/edit.h"

/* Versions at which the operators used here take what is given to them: reductions their axes as attribute. */
enum { VERSION = 13, VERSION_OF_REDUCTIONS = 11 };

typedef struct opf_maker {
    opf_node *node;    /* that is replaced */
    opf_graph *graph;
    opf_dtype dtype;   /* of its first result */
} opf_maker;

/* ---- making nodes ---- */

static opf_node *new_node(const opf_maker *maker, const char *op, int version, int n_inputs, opf_value *const *inputs) {
    const char *name = opf_arena_printf(maker->graph->module->arena, "%s/%s", maker->node->name, op);
    opf_node *node = opf_node_new(maker->graph, name, op, "", version, n_inputs, 1);
    for (int i = 0; i < n_inputs; i++)
        opf_node_set_input(node, i, inputs[i]);
    opf_node_set_output(node, 0, opf_value_new(maker->graph, NULL));
    opf_node_origins_add(node, maker->node);
    return node;
}

static opf_value *apply(const opf_maker *maker, const char *op, opf_value *a, opf_value *b) {
    opf_value *const inputs[] = {a, b};
    return new_node(maker, op, VERSION, b ? 2 : 1, inputs)->outputs[0];
}

static opf_value *number(const opf_maker *maker, double value) { return opf_constant_like(maker->graph, maker->dtype, 0, NULL, &value); }

/* Over axes from `first` to the last one, which stay as axes of one element. */
static opf_value *reduce(const opf_maker *maker, const char *op, opf_value *x, int first, int last) {
    int64_t axes[64], keep = 1;
    for (int k = first; k <= last; k++)
        axes[k - first] = k;
    opf_node *node = new_node(maker, op, VERSION_OF_REDUCTIONS, 1, &x);
    opf_node_attr_add(node, "axes", OPF_ATTR_INTS, (size_t)(last - first + 1), axes);
    opf_node_attr_add(node, "keepdims", OPF_ATTR_INT, 1, &keep);
    return node->outputs[0];
}

/* A vector along axis 1 of a tensor of this rank. */
static opf_value *per_channel(const opf_maker *maker, opf_value *vector, int rank) {
    int64_t shape[64];
    for (int k = 0; k < rank; k++)
        shape[k] = k ? 1 : -1;
    return apply(maker, "Reshape", vector, opf_constant_ints(maker->graph, rank - 1, shape));
}

static opf_value *transposed(const opf_maker *maker, opf_value *x) {
    static const int64_t order[] = {1, 0};
    opf_node *node = new_node(maker, "Transpose", VERSION, 1, &x);
    opf_node_attr_add(node, "perm", OPF_ATTR_INTS, 2, order);
    return node->outputs[0];
}

static opf_value *input(const opf_maker *maker, int k) { return k < maker->node->n_inputs ? maker->node->inputs[k] : NULL; }

static int axis_of(const opf_maker *maker, int64_t otherwise) {
    int64_t axis = opf_node_int(maker->node, "axis", otherwise);
    return (int)(axis < 0 ? axis + input(maker, 0)->rank : axis);
}

/* ---- the forms; each gives the value that becomes the node's result, NULL where it has none for this node ---- */

/* Before version 13 an axis stood for itself and all behind it. */
static int last_axis(const opf_maker *maker, int axis) { return maker->node->opset >= 13 ? axis : input(maker, 0)->rank - 1; }

static opf_value *shifted(const opf_maker *maker, int axis) {
    opf_value *x = input(maker, 0);
    return apply(maker, "Sub", x, reduce(maker, "ReduceMax", x, axis, last_axis(maker, axis)));
}

static opf_value *softmax(const opf_maker *maker) {
    int axis = axis_of(maker, maker->node->opset >= 13 ? -1 : 1);
    opf_value *e = apply(maker, "Exp", shifted(maker, axis), NULL);
    return apply(maker, "Div", e, reduce(maker, "ReduceSum", e, axis, last_axis(maker, axis)));
}

static opf_value *log_softmax(const opf_maker *maker) {
    int axis = axis_of(maker, maker->node->opset >= 13 ? -1 : 1);
    opf_value *d = shifted(maker, axis), *sum = reduce(maker, "ReduceSum", apply(maker, "Exp", d, NULL), axis, last_axis(maker, axis));
    return apply(maker, "Sub", d, apply(maker, "Log", sum, NULL));
}

/* (x - mean) / sqrt(variance + epsilon), both over axes first … last. */
static opf_value *standardised(const opf_maker *maker, int first, int last) {
    opf_value *x = input(maker, 0), *d = apply(maker, "Sub", x, reduce(maker, "ReduceMean", x, first, last));
    opf_value *variance = reduce(maker, "ReduceMean", apply(maker, "Mul", d, d), first, last);
    opf_value *epsilon = number(maker, opf_node_float(maker->node, "epsilon", 1e-5));
    return apply(maker, "Div", d, apply(maker, "Sqrt", apply(maker, "Add", variance, epsilon), NULL));
}

static opf_value *scaled(const opf_maker *maker, opf_value *x, opf_value *scale, opf_value *bias) {
    if (scale)
        x = apply(maker, "Mul", x, scale);
    return bias ? apply(maker, "Add", x, bias) : x;
}

static opf_value *layer_norm(const opf_maker *maker) {
    return scaled(maker, standardised(maker, axis_of(maker, -1), input(maker, 0)->rank - 1), input(maker, 1), input(maker, 2));
}

static opf_value *rms_norm(const opf_maker *maker) {
    opf_value *x = input(maker, 0), *epsilon = number(maker, opf_node_float(maker->node, "epsilon", 1e-5));
    opf_value *mean = reduce(maker, "ReduceMean", apply(maker, "Mul", x, x), axis_of(maker, -1), x->rank - 1);
    return scaled(maker, apply(maker, "Div", x, apply(maker, "Sqrt", apply(maker, "Add", mean, epsilon), NULL)), input(maker, 1), NULL);
}

static opf_value *instance_norm(const opf_maker *maker) {
    int rank = input(maker, 0)->rank;
    if (rank < 3)
        return NULL;
    return scaled(maker, standardised(maker, 2, rank - 1), per_channel(maker, input(maker, 1), rank), per_channel(maker, input(maker, 2), rank));
}

static opf_value *batch_norm(const opf_maker *maker) {
    int rank = input(maker, 0)->rank;
    if (rank < 2 || opf_node_int(maker->node, "training_mode", 0) != 0)
        return NULL;
    opf_value *epsilon = number(maker, opf_node_float(maker->node, "epsilon", 1e-5));
    opf_value *root = apply(maker, "Sqrt", apply(maker, "Add", input(maker, 4), epsilon), NULL);
    opf_value *d = apply(maker, "Sub", input(maker, 0), per_channel(maker, input(maker, 3), rank));
    opf_value *factor = per_channel(maker, apply(maker, "Div", input(maker, 1), root), rank);
    return scaled(maker, d, factor, per_channel(maker, input(maker, 2), rank));
}

static opf_value *global_pool(const opf_maker *maker) {
    int rank = input(maker, 0)->rank;
    const char *op = strcmp(maker->node->op, "GlobalMaxPool") == 0 ? "ReduceMax" : "ReduceMean";
    return rank < 3 ? NULL : reduce(maker, op, input(maker, 0), 2, rank - 1);
}

static opf_value *gemm(const opf_maker *maker) {
    const opf_node *node = maker->node;
    opf_value *a = input(maker, 0), *b = input(maker, 1), *c = input(maker, 2);
    double alpha = opf_node_float(node, "alpha", 1), beta = opf_node_float(node, "beta", 1);
    a = opf_node_int(node, "transA", 0) ? transposed(maker, a) : a;
    b = opf_node_int(node, "transB", 0) ? transposed(maker, b) : b;
    opf_value *product = apply(maker, "MatMul", a, b);
    product = alpha != 1 ? apply(maker, "Mul", product, number(maker, alpha)) : product;
    c = c && beta != 1 ? apply(maker, "Mul", c, number(maker, beta)) : c;
    return c ? apply(maker, "Add", product, c) : product;
}

/* The reduction of another operand over the same axes, given in whatever way this version gives them. */
static opf_value *sum_of(const opf_maker *maker, opf_value *x) {
    const opf_node *node = maker->node;
    opf_value *const inputs[] = {x, input(maker, 1)};
    opf_node *sum = new_node(maker, "ReduceSum", inputs[1] ? VERSION : VERSION_OF_REDUCTIONS, inputs[1] ? 2 : 1, inputs);
    sum->attrs = node->attrs;
    sum->n_attrs = node->n_attrs;
    return sum->outputs[0];
}

static opf_value *reduction(const opf_maker *maker) {
    static const struct { const char *op, *before, *after; } forms[] = {
        {"ReduceL1", "Abs", NULL}, {"ReduceL2", "square", "Sqrt"}, {"ReduceSumSquare", "square", NULL}, {"ReduceLogSum", NULL, "Log"}, {"ReduceLogSumExp", "Exp", "Log"}};
    opf_value *x = input(maker, 0);
    for (size_t f = 0; f < OPF_COUNT(forms); f++) {
        if (strcmp(maker->node->op, forms[f].op) != 0)
            continue;
        bool square = forms[f].before && strcmp(forms[f].before, "square") == 0;
        opf_value *sum = sum_of(maker, square ? apply(maker, "Mul", x, x) : forms[f].before ? apply(maker, forms[f].before, x, NULL) : x);
        return forms[f].after ? apply(maker, forms[f].after, sum, NULL) : sum;
    }
    return NULL;
}

static opf_value *dequantized(const opf_maker *maker, int value, int64_t axis) {
    opf_value *const inputs[] = {input(maker, value), input(maker, value + 1), input(maker, value + 2)};
    opf_node *node = new_node(maker, "DequantizeLinear", VERSION, 3, inputs);
    if (inputs[1]->rank > 0)
        opf_node_attr_add(node, "axis", OPF_ATTR_INT, 1, &axis);
    return node->outputs[0];
}

static opf_value *quantized(const opf_maker *maker, opf_value *x, int scale) {
    opf_value *const inputs[] = {x, input(maker, scale), input(maker, scale + 1)};
    return new_node(maker, "QuantizeLinear", VERSION, 3, inputs)->outputs[0];
}

/* The bias of a quantized convolution counts in steps of the operands' scales. */
static opf_value *bias_of(const opf_maker *maker) {
    int64_t to = OPF_FLOAT32;
    opf_value *bias = input(maker, 8);
    opf_node *cast = new_node(maker, "Cast", VERSION, 1, &bias);
    opf_node_attr_add(cast, "to", OPF_ATTR_INT, 1, &to);
    return apply(maker, "Mul", cast->outputs[0], apply(maker, "Mul", input(maker, 1), input(maker, 4)));
}

static opf_value *qlinear_conv(const opf_maker *maker) {
    opf_value *const inputs[] = {dequantized(maker, 0, 1), dequantized(maker, 3, 0), input(maker, 8) ? bias_of(maker) : NULL};
    opf_node *conv = new_node(maker, "Conv", 11, inputs[2] ? 3 : 2, inputs);
    conv->attrs = maker->node->attrs;
    conv->n_attrs = maker->node->n_attrs;
    return quantized(maker, conv->outputs[0], 6);
}

static opf_value *qlinear_matmul(const opf_maker *maker) {
    if (input(maker, 1)->rank > 0 || input(maker, 4)->rank > 0)
        return NULL; /* scales a row or a column */
    return quantized(maker, apply(maker, "MatMul", dequantized(maker, 0, 0), dequantized(maker, 3, 0)), 6);
}

static const struct {
    const char *op;
    bool any_type; /* else float32 only: other types are computed in another one on the way */
    opf_value *(*make)(const opf_maker *maker);
} forms[] = {
    {"Softmax", false, softmax}, {"LogSoftmax", false, log_softmax}, {"LayerNormalization", false, layer_norm}, {"RMSNormalization", false, rms_norm},
    {"InstanceNormalization", false, instance_norm}, {"BatchNormalization", false, batch_norm}, {"GlobalAveragePool", false, global_pool},
    {"GlobalMaxPool", false, global_pool}, {"Gemm", false, gemm}, {"ReduceL1", false, reduction}, {"ReduceL2", false, reduction},
    {"ReduceSumSquare", false, reduction}, {"ReduceLogSum", false, reduction}, {"ReduceLogSumExp", false, reduction},
    {"QLinearConv", true, qlinear_conv}, {"QLinearMatMul", true, qlinear_matmul},
};

static int form_of(const opf_node *node) {
    for (size_t f = 0; f < OPF_COUNT(forms); f++)
        if (node->domain[0] == '\0' && strcmp(node->op, forms[f].op) == 0)
            return (int)f;
    return -1;
}

bool opf_has_decomposition(const opf_node *node) { return form_of(node) >= 0; }

static bool has_one_result(const opf_node *node) {
    for (int k = 1; k < node->n_outputs; k++)
        if (node->outputs[k] && (node->outputs[k]->uses.count > 0 || node->outputs[k]->is_output))
            return false;
    return node->n_outputs > 0 && node->outputs[0];
}

bool opf_decompose(opf_node *node) {
    int form = form_of(node);
    if (form < 0 || !has_one_result(node) || !opf_value_is_typed(node->outputs[0]) || !node->inputs[0] || node->inputs[0]->rank < 0)
        return false;
    if (!forms[form].any_type && node->outputs[0]->dtype != OPF_FLOAT32)
        return false;
    opf_maker maker = {node, node->graph, node->outputs[0]->dtype};
    opf_value *result = node->outputs[0], *made = forms[form].make(&maker);
    if (!made)
        return false;
    opf_value_replace(result, made);
    opf_node_remove(node);
    return true;
}
