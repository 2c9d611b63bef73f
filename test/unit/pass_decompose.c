/* Written-out forms against the evaluator: a node is evaluated, replaced by its form, and evaluated again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "eval/eval.h"
#include "pass/decompose.h"
#include "pass/pass.h"

enum { MOST_INPUTS = 9, MOST_RANK = 4 };

typedef struct opf_operand { opf_dtype dtype; int rank; int64_t dims[MOST_RANK]; double low, high; } opf_operand;

typedef struct opf_case {
    const char *op;
    int opset, n_inputs;
    opf_operand inputs[MOST_INPUTS]; /* the first is a graph input, others are constants; rank -1: left out */
    const char *attr;                /* an integer attribute, or NULL */
    int64_t value;
    double tolerance;                /* relative to the largest result; quantized results may be one step apart */
} opf_case;

#define REAL(...) {OPF_FLOAT32, sizeof((int64_t[]){__VA_ARGS__}) / 8, {__VA_ARGS__}, -1, 1}
#define POSITIVE(...) {OPF_FLOAT32, sizeof((int64_t[]){__VA_ARGS__}) / 8, {__VA_ARGS__}, 0.25, 2}
#define BYTES(...) {OPF_UINT8, sizeof((int64_t[]){__VA_ARGS__}) / 8, {__VA_ARGS__}, 0, 255}
#define SCALE(x) {OPF_FLOAT32, 0, {0}, x, x}
#define ZERO(x) {OPF_UINT8, 0, {0}, x, x}

static const opf_case cases[] = {
    {"Softmax", 13, 1, {REAL(2, 3, 5)}, NULL, 0, 1e-6},
    {"Softmax", 13, 1, {REAL(2, 3, 5)}, "axis", 1, 1e-6},
    {"Softmax", 11, 1, {REAL(2, 3, 5)}, NULL, 0, 1e-6}, /* axis 1 and all behind it */
    {"LogSoftmax", 13, 1, {REAL(2, 3, 5)}, "axis", -1, 1e-6},
    {"LayerNormalization", 17, 3, {REAL(2, 3, 5), REAL(5), REAL(5)}, NULL, 0, 1e-5},
    {"LayerNormalization", 17, 2, {REAL(2, 3, 5), REAL(3, 5)}, "axis", 1, 1e-5},
    {"RMSNormalization", 23, 2, {REAL(2, 3, 5), REAL(5)}, NULL, 0, 1e-5},
    {"InstanceNormalization", 6, 3, {REAL(2, 3, 4, 5), REAL(3), REAL(3)}, NULL, 0, 1e-5},
    {"BatchNormalization", 15, 5, {REAL(2, 3, 4, 5), REAL(3), REAL(3), REAL(3), POSITIVE(3)}, NULL, 0, 1e-5},
    {"GlobalAveragePool", 1, 1, {REAL(2, 3, 4, 5)}, NULL, 0, 1e-6},
    {"GlobalMaxPool", 1, 1, {REAL(2, 3, 4, 5)}, NULL, 0, 1e-6},
    {"Gemm", 13, 3, {REAL(3, 4), REAL(4, 5), REAL(5)}, NULL, 0, 1e-6},
    {"Gemm", 13, 2, {REAL(4, 3), REAL(4, 5)}, "transA", 1, 1e-6},
    {"ReduceL1", 13, 1, {REAL(2, 3, 5)}, "keepdims", 0, 1e-6},
    {"ReduceL2", 13, 1, {REAL(2, 3, 5)}, "keepdims", 1, 1e-6},
    {"ReduceSumSquare", 18, 1, {REAL(2, 3, 5)}, NULL, 0, 1e-6},
    {"ReduceLogSum", 13, 1, {POSITIVE(2, 3, 5)}, NULL, 0, 1e-6},
    {"ReduceLogSumExp", 13, 1, {REAL(2, 3, 5)}, NULL, 0, 1e-6},
    {"QLinearMatMul", 10, 8, {BYTES(3, 4), SCALE(0.01), ZERO(120), BYTES(4, 5), SCALE(0.02), ZERO(130), SCALE(0.05), ZERO(128)}, NULL, 0, 1.01 / 255},
    {"QLinearConv", 10, 8, {BYTES(1, 2, 6, 6), SCALE(0.01), ZERO(120), BYTES(3, 2, 3, 3), SCALE(0.02), ZERO(130), SCALE(0.05), ZERO(128)}, NULL, 0, 1.01 / 255},
};

static uint32_t state = 11;

static double draw(double low, double high) {
    state = state * 1664525u + 1013904223u;
    return low + (high - low) * (double)(state >> 8) / (1 << 24);
}

static opf_tensor *random_tensor(opf_module *module, const opf_operand *operand) {
    opf_tensor *tensor = opf_tensor_zeros(module->arena, operand->dtype, operand->rank, operand->dims, NULL);
    for (int64_t i = 0; i < tensor->elements; i++) {
        double number = draw(operand->low, operand->high);
        opf_dtype_store(operand->dtype, (void *)tensor->data, (size_t)i, operand->dtype == OPF_UINT8 ? round(number) : number);
    }
    return tensor;
}

static opf_value *add_input(opf_graph *graph, const opf_operand *operand) {
    opf_value *value = opf_value_new(graph, "x");
    value->declared_rank = operand->rank;
    value->declared_dtype = operand->dtype;
    value->declared_dims = opf_arena_copy(graph->module->arena, operand->dims, (size_t)operand->rank * sizeof *operand->dims);
    value->declared_names = OPF_ARRAY(graph->module->arena, const char *, operand->rank);
    opf_graph_add_input(graph, value);
    return value;
}

/* Types and evaluates; the numbers of the only output. */
static double *evaluate(opf_graph *graph, const opf_tensor *input, int64_t *count) {
    assert_int_equal(opf_graph_type(graph->module, NULL, 0), OPF_OK);
    opf_eval *eval;
    assert_int_equal(opf_eval_new(&eval, graph, &input, false), OPF_OK);
    assert_int_equal(opf_eval_run(eval), OPF_OK);
    const opf_tensor *result = opf_eval_value(eval, graph->outputs.data[0]);
    double *numbers = OPF_ARRAY(graph->module->arena, double, result->elements);
    for (int64_t i = 0; i < result->elements; i++)
        numbers[i] = opf_tensor_get(result, i);
    *count = result->elements;
    opf_eval_free(eval);
    return numbers;
}

static void try_case(const opf_case *c) {
    opf_diags *diags = opf_diags_new();
    opf_module *module = opf_module_new(diags, "test.onnx");
    opf_graph *graph = module->graph = module->graph ? module->graph : opf_graph_new(module, "test", NULL);
    opf_node *node = opf_node_new(graph, "node", c->op, "", c->opset, c->n_inputs, 1);
    const opf_tensor *input = random_tensor(module, &c->inputs[0]);
    opf_node_set_input(node, 0, add_input(graph, &c->inputs[0]));
    for (int k = 1; k < c->n_inputs; k++)
        opf_node_set_input(node, k, opf_value_constant(graph, NULL, random_tensor(module, &c->inputs[k])));
    opf_node_set_output(node, 0, opf_value_new(graph, "y"));
    if (c->attr)
        opf_node_attr_add(node, c->attr, OPF_ATTR_INT, 1, &c->value);
    opf_graph_add_output(graph, node->outputs[0], NULL);

    int64_t n_before, n_after;
    double *before = evaluate(graph, input, &n_before), largest = 0;
    assert_true(opf_has_decomposition(node));
    assert_true(opf_decompose(node));
    assert_int_equal(opf_graph_sort(graph), OPF_OK);
    double *after = evaluate(graph, input, &n_after);
    assert_int_equal(opf_graph_check(graph, "decompose"), OPF_OK);
    for (size_t i = 0; i < graph->nodes.count; i++)
        assert_string_not_equal(graph->nodes.data[i]->op, c->op);
    assert_int_equal(n_before, n_after);
    for (int64_t i = 0; i < n_before; i++)
        largest = fmax(largest, fabs(before[i]));
    for (int64_t i = 0; i < n_before; i++)
        if (!(fabs(before[i] - after[i]) <= c->tolerance * largest))
            fail_msg("%s: element %lld is %g, and %g written out", c->op, (long long)i, before[i], after[i]);
    opf_module_free(module);
    opf_diags_free(diags);
}

static void forms_mean_the_same(void **unused) {
    (void)unused;
    for (size_t i = 0; i < OPF_COUNT(cases); i++)
        try_case(&cases[i]);
}

/* What has no form is left as it is. */
static void others_stay(void **unused) {
    (void)unused;
    opf_diags *diags = opf_diags_new();
    opf_module *module = opf_module_new(diags, "test.onnx");
    opf_graph *graph = module->graph = module->graph ? module->graph : opf_graph_new(module, "test", NULL);
    opf_operand operand = REAL(2, 3);
    opf_node *node = opf_node_new(graph, "node", "Relu", "", 13, 1, 1);
    opf_node_set_input(node, 0, add_input(graph, &operand));
    opf_node_set_output(node, 0, opf_value_new(graph, "y"));
    opf_graph_add_output(graph, node->outputs[0], NULL);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_false(opf_has_decomposition(node));
    assert_false(opf_decompose(node));
    assert_int_equal(graph->nodes.count, 1);
    opf_module_free(module);
    opf_diags_free(diags);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms_mean_the_same), cmocka_unit_test(others_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
