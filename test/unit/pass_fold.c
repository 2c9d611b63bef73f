/* Passes against the evaluator: a graph made here is evaluated, passed through policy best and evaluated again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "eval/eval.h"
#include "pass/pass.h"

typedef struct opf_bench {
    opf_diags *diags;
    opf_module *module;
    opf_graph *graph;
    uint32_t state;
} opf_bench;

static opf_bench new_bench(void) {
    opf_bench bench = {.diags = opf_diags_new(), .state = 7};
    bench.module = opf_module_new(bench.diags, "test.onnx");
    bench.graph = bench.module->graph ? bench.module->graph : (bench.module->graph = opf_graph_new(bench.module, "test", NULL));
    return bench;
}

static void free_bench(opf_bench *bench) {
    opf_module_free(bench->module);
    opf_diags_free(bench->diags);
}

static double draw(opf_bench *bench) {
    bench->state = bench->state * 1664525u + 1013904223u;
    return (double)(bench->state >> 8) / (1 << 24) * 2 - 1;
}

static opf_tensor *random_tensor(opf_bench *bench, int rank, const int64_t *dims, double low) {
    opf_tensor *tensor = opf_tensor_zeros(bench->module->arena, OPF_FLOAT32, rank, dims, NULL);
    for (int64_t i = 0; i < tensor->elements; i++) {
        double number = draw(bench);
        opf_dtype_store(OPF_FLOAT32, (void *)tensor->data, (size_t)i, number < low ? low - number : number);
    }
    return tensor;
}

static opf_value *input(opf_bench *bench, const char *name, int rank, const int64_t *dims) {
    opf_value *value = opf_value_new(bench->graph, name);
    value->declared_rank = rank;
    value->declared_dtype = OPF_FLOAT32;
    value->declared_dims = opf_arena_copy(bench->module->arena, dims, (size_t)rank * sizeof *dims);
    value->declared_names = OPF_ARRAY(bench->module->arena, const char *, rank);
    opf_graph_add_input(bench->graph, value);
    return value;
}

static opf_value *constant(opf_bench *bench, const char *name, int rank, const int64_t *dims, double low) {
    return opf_value_constant(bench->graph, name, random_tensor(bench, rank, dims, low));
}

static opf_node *node(opf_bench *bench, const char *name, const char *op, int n_inputs, opf_value *const *inputs) {
    opf_node *made = opf_node_new(bench->graph, name, op, "", 17, n_inputs, 1);
    for (int k = 0; k < n_inputs; k++)
        opf_node_set_input(made, k, inputs[k]);
    char output[64];
    snprintf(output, sizeof output, "%s_out", name);
    opf_node_set_output(made, 0, opf_value_new(bench->graph, output));
    return made;
}

static void print_diags(const opf_diags *diags) {
    opf_text text = {0};
    for (size_t i = 0; i < opf_diags_count(diags); i++)
        opf_diag_print(opf_diags_at(diags, i), &text);
    fputs(opf_text_string(&text), stderr);
    opf_text_free(&text);
}

static void expect_ok(const opf_bench *bench, opf_status status) {
    if (status != OPF_OK)
        print_diags(bench->diags);
    assert_int_equal(status, OPF_OK);
}

/* The single output's numbers. */
static double *evaluate(opf_bench *bench, const opf_tensor *const *inputs, int64_t *count) {
    opf_eval *eval;
    expect_ok(bench, opf_eval_new(&eval, bench->graph, inputs, false));
    expect_ok(bench, opf_eval_run(eval));
    const opf_tensor *result = opf_eval_value(eval, bench->graph->outputs.data[0]);
    *count = result->elements;
    double *numbers = OPF_ARRAY(bench->module->arena, double, result->elements);
    for (int64_t i = 0; i < result->elements; i++)
        numbers[i] = opf_tensor_get(result, i);
    opf_eval_free(eval);
    return numbers;
}

/* Evaluates, runs the passes of policy best, evaluates again: equal but for rounding, with `left` nodes. */
static void check_passes(opf_bench *bench, opf_value *output, const opf_tensor *const *inputs, size_t left) {
    int64_t count, after;
    output->is_output = false;
    opf_graph_add_output(bench->graph, output, NULL);
    expect_ok(bench, opf_graph_type(bench->module, NULL, 0));
    double *before = evaluate(bench, inputs, &count);
    expect_ok(bench, opf_passes_run(bench->module, 2));
    assert_int_equal(bench->graph->nodes.count, left);
    double *behind = evaluate(bench, inputs, &after);
    assert_int_equal(after, count);
    for (int64_t i = 0; i < count; i++)
        assert_true(fabs(before[i] - behind[i]) <= 1e-5 * (1 + fabs(before[i])));
}

static opf_node *named_norm(opf_bench *bench, const char *name, opf_value *x, int64_t channels) {
    const int64_t dims[] = {channels};
    return node(bench, name, "BatchNormalization", 5,
                (opf_value *[]){x, constant(bench, NULL, 1, dims, -2), constant(bench, NULL, 1, dims, -2),
                                constant(bench, NULL, 1, dims, -2), constant(bench, NULL, 1, dims, 0.05)});
}

static opf_node *norm(opf_bench *bench, opf_value *x, int64_t channels) { return named_norm(bench, "bn", x, channels); }

static void batch_norm_moves_into_conv(void **unused) {
    (void)unused;
    for (int has_bias = 0; has_bias < 2; has_bias++) {
        opf_bench bench = new_bench();
        const int64_t x_dims[] = {2, 4, 5, 6}, w_dims[] = {6, 2, 3, 3}, b_dims[] = {6};
        opf_value *x = input(&bench, "x", 4, x_dims);
        opf_node *conv = node(&bench, "conv", "Conv", has_bias ? 3 : 2,
                              (opf_value *[]){x, constant(&bench, "w", 4, w_dims, -2), has_bias ? constant(&bench, "b", 1, b_dims, -2) : NULL});
        opf_node_attr_add(conv, "group", OPF_ATTR_INT, 1, &(int64_t){2});
        opf_node *relu = node(&bench, "relu", "Relu", 1, (opf_value *[]){norm(&bench, conv->outputs[0], 6)->outputs[0]});
        const opf_tensor *inputs[] = {random_tensor(&bench, 4, x_dims, -2)};
        check_passes(&bench, relu->outputs[0], inputs, 2);
        assert_int_equal(bench.module->removed.count, 1);
        assert_string_equal(bench.module->removed.data[0].node, "bn");
        assert_string_equal(bench.module->removed.data[0].into, "conv");
        assert_int_equal(conv->n_origins, 2);
        assert_string_equal(conv->origins[0], "conv");
        assert_string_equal(conv->origins[1], "bn");
        free_bench(&bench);
    }
}

static void batch_norm_moves_into_transposed_conv_with_groups(void **unused) {
    (void)unused;
    opf_bench bench = new_bench();
    const int64_t x_dims[] = {1, 4, 3, 3}, w_dims[] = {4, 3, 2, 2};
    opf_value *x = input(&bench, "x", 4, x_dims);
    opf_node *conv = node(&bench, "conv", "ConvTranspose", 2, (opf_value *[]){x, constant(&bench, "w", 4, w_dims, -2)});
    opf_node_attr_add(conv, "group", OPF_ATTR_INT, 1, &(int64_t){2});
    opf_node *bn = norm(&bench, conv->outputs[0], 6);
    const opf_tensor *inputs[] = {random_tensor(&bench, 4, x_dims, -2)};
    check_passes(&bench, bn->outputs[0], inputs, 1);
    free_bench(&bench);
}

static void batch_norm_moves_into_gemm(void **unused) {
    (void)unused;
    for (int transposed = 0; transposed < 2; transposed++) {
        opf_bench bench = new_bench();
        const int64_t x_dims[] = {3, 5}, w_dims[] = {transposed ? 4 : 5, transposed ? 5 : 4}, c_dims[] = {1, 4};
        opf_value *x = input(&bench, "x", 2, x_dims);
        opf_node *gemm = node(&bench, "gemm", "Gemm", 3,
                              (opf_value *[]){x, constant(&bench, "w", 2, w_dims, -2), constant(&bench, "c", 2, c_dims, -2)});
        opf_node_attr_add(gemm, "transB", OPF_ATTR_INT, 1, &(int64_t){transposed});
        opf_node_attr_add(gemm, "alpha", OPF_ATTR_FLOAT, 1, &(float){0.5f});
        opf_node_attr_add(gemm, "beta", OPF_ATTR_FLOAT, 1, &(float){0.25f});
        opf_node *bn = norm(&bench, gemm->outputs[0], 4);
        const opf_tensor *inputs[] = {random_tensor(&bench, 2, x_dims, -2)};
        check_passes(&bench, bn->outputs[0], inputs, 1);
        free_bench(&bench);
    }
}

/* Two norms, one behind the other, and a weight at an odd address: its bytes stay where they are, each element is rounded
 * once, read alone or copied with all. */
static void folded_weights_stay_views(void **unused) {
    (void)unused;
    opf_bench bench = new_bench();
    const int64_t x_dims[] = {1, 2, 4, 4}, w_dims[] = {3, 2, 3, 3};
    opf_tensor *weight = random_tensor(&bench, 4, w_dims, -2);
    unsigned char *odd = opf_arena_alloc(bench.module->arena, weight->bytes + 1);
    memcpy(odd + 1, weight->data, weight->bytes);
    weight->data = odd + 1;
    assert_false(opf_tensor_is_plain(weight));
    opf_node *conv = node(&bench, "conv", "Conv", 2, (opf_value *[]){input(&bench, "x", 4, x_dims), opf_value_constant(bench.graph, "w", weight)});
    opf_node *first = norm(&bench, conv->outputs[0], 3), *second = named_norm(&bench, "bn_behind", first->outputs[0], 3);
    double factors[3];
    for (int c = 0; c < 3; c++) {
        factors[c] = 1;
        for (int k = 0; k < 2; k++) {
            const opf_node *bn = k ? second : first;
            factors[c] *= opf_tensor_get(bn->inputs[1]->constant, c) / sqrt(opf_tensor_get(bn->inputs[4]->constant, c) + (double)1e-5f);
        }
    }
    const opf_tensor *inputs[] = {random_tensor(&bench, 4, x_dims, -2)};
    check_passes(&bench, second->outputs[0], inputs, 1);
    const opf_tensor *folded = conv->inputs[1]->constant;
    assert_ptr_equal(folded->data, odd + 1);
    assert_false(opf_tensor_is_plain(folded));
    float copy[54];
    assert_int_equal(folded->bytes, sizeof copy);
    opf_tensor_copy(folded, copy);
    for (int i = 0; i < 54; i++) {
        double element = opf_tensor_get(folded, i);
        assert_true((double)copy[i] == element);
        assert_true(element == (double)(float)(opf_tensor_get(weight, i) * factors[i / 18]));
    }
    free_bench(&bench);
}

/* A weight whose product with its factor is infinite stays as it is. */
static void batch_norm_stays_where_weights_overflow(void **unused) {
    (void)unused;
    opf_bench bench = new_bench();
    const int64_t x_dims[] = {1, 2, 4, 4}, w_dims[] = {3, 2, 3, 3};
    opf_value *w = constant(&bench, "w", 4, w_dims, -2);
    opf_dtype_store(OPF_FLOAT32, (void *)w->constant->data, 53, -1e38);
    opf_node *conv = node(&bench, "conv", "Conv", 2, (opf_value *[]){input(&bench, "x", 4, x_dims), w});
    opf_node *bn = norm(&bench, conv->outputs[0], 3);
    opf_dtype_store(OPF_FLOAT32, (void *)bn->inputs[1]->constant->data, 2, 1e6);
    expect_ok(&bench, opf_graph_type(bench.module, NULL, 0));
    bn->outputs[0]->is_output = false;
    opf_graph_add_output(bench.graph, bn->outputs[0], NULL);
    expect_ok(&bench, opf_passes_run(bench.module, 2));
    assert_int_equal(bench.graph->nodes.count, 3); /* a product and a sum behind it */
    assert_ptr_equal(conv->inputs[1], w);
    assert_int_equal(opf_diags_count(bench.diags), 1);
    free_bench(&bench);
}

/* The unnormalised result is read twice: nothing may change, and a note says why. */
static void batch_norm_stays_where_the_result_is_shared(void **unused) {
    (void)unused;
    opf_bench bench = new_bench();
    const int64_t x_dims[] = {1, 2, 4, 4}, w_dims[] = {3, 2, 1, 1};
    opf_value *x = input(&bench, "x", 4, x_dims);
    opf_node *conv = node(&bench, "conv", "Conv", 2, (opf_value *[]){x, constant(&bench, "w", 4, w_dims, -2)});
    opf_node *bn = norm(&bench, conv->outputs[0], 3);
    opf_node *add = node(&bench, "add", "Add", 2, (opf_value *[]){bn->outputs[0], conv->outputs[0]});
    const opf_tensor *inputs[] = {random_tensor(&bench, 4, x_dims, -2)};
    check_passes(&bench, add->outputs[0], inputs, 4); /* a product and a sum behind it */
    assert_int_equal(opf_diags_count(bench.diags), 1);
    assert_non_null(strstr(opf_diags_at(bench.diags, 0)->message, "used elsewhere"));
    free_bench(&bench);
}

/* ---- scale and shift ---- */

static opf_node *with_constant(opf_bench *bench, const char *name, const char *op, opf_value *x, bool constant_first, int64_t channels) {
    const int64_t dims[] = {channels, 1, 1};
    opf_value *c = constant(bench, NULL, 3, dims, 0.5);
    return node(bench, name, op, 2, constant_first ? (opf_value *[]){c, x} : (opf_value *[]){x, c});
}

/* Normalisation, product, quotient, sum and difference behind a Conv are its weights and bias. */
static void runs_of_constants_move_into_conv(void **unused) {
    (void)unused;
    opf_bench bench = new_bench();
    const int64_t x_dims[] = {2, 4, 5, 6}, w_dims[] = {6, 4, 3, 3};
    opf_node *conv = node(&bench, "conv", "Conv", 2, (opf_value *[]){input(&bench, "x", 4, x_dims), constant(&bench, "w", 4, w_dims, -2)});
    opf_value *y = norm(&bench, conv->outputs[0], 6)->outputs[0];
    y = with_constant(&bench, "mul", "Mul", y, true, 6)->outputs[0];
    y = with_constant(&bench, "add", "Add", y, false, 1)->outputs[0];
    y = with_constant(&bench, "from", "Sub", y, true, 6)->outputs[0];
    y = with_constant(&bench, "by", "Div", y, false, 6)->outputs[0];
    y = with_constant(&bench, "less", "Sub", y, false, 6)->outputs[0];
    const opf_tensor *inputs[] = {random_tensor(&bench, 4, x_dims, -2)};
    check_passes(&bench, y, inputs, 1);
    assert_int_equal(conv->n_origins, 7);
    assert_true(conv->unrounded.roundings == 5); /* six nodes are one: the model rounds five values between them */
    free_bench(&bench);
}

/* What is added and taken off again: the shift of the whole is less than its parts, and what the model rounds is not. */
static void shifts_that_cancel_are_noted(void **unused) {
    (void)unused;
    const int64_t x_dims[] = {1, 2, 3, 3}, w_dims[] = {2, 2, 1, 1};
    double off[2];
    for (int cancels = 0; cancels < 2; cancels++) {
        opf_bench bench = new_bench();
        opf_node *conv = node(&bench, "conv", "Conv", 2, (opf_value *[]){input(&bench, "x", 4, x_dims), constant(&bench, "w", 4, w_dims, -2)});
        const float sizes[] = {8};
        opf_value *number = opf_value_constant(bench.graph, "number", opf_tensor_new(bench.module->arena, OPF_FLOAT32, 0, NULL, sizes, &(const char *){NULL}));
        opf_value *y = node(&bench, "add", "Add", 2, (opf_value *[]){conv->outputs[0], number})->outputs[0];
        y = node(&bench, "then", cancels ? "Sub" : "Add", 2, (opf_value *[]){y, number})->outputs[0];
        const opf_tensor *inputs[] = {random_tensor(&bench, 4, x_dims, -2)};
        check_passes(&bench, y, inputs, 1);
        off[cancels] = conv->unrounded.off;
        free_bench(&bench);
    }
    assert_true(off[0] == 32 * 0x1p-24); /* one value between: its shift of 16, once as part and once as a whole */
    assert_true(off[1] == (16 + 2 * 16) * 0x1p-24);
}

/* A normalisation behind no weights, and what stands around it, is one product and one sum. */
static void norm_becomes_scale_and_shift(void **unused) {
    (void)unused;
    for (int more = 0; more < 4; more++) {
        opf_bench bench = new_bench();
        const int64_t x_dims[] = {2, 5, 3, 4};
        opf_node *front = node(&bench, "front", "Tanh", 1, (opf_value *[]){input(&bench, "x", 4, x_dims)});
        opf_value *y = front->outputs[0];
        if (more & 1)
            y = with_constant(&bench, "mul", "Mul", y, false, 5)->outputs[0];
        y = norm(&bench, y, 5)->outputs[0];
        if (more & 2)
            y = with_constant(&bench, "add", "Add", with_constant(&bench, "mul_2", "Mul", y, false, 5)->outputs[0], true, 5)->outputs[0];
        opf_node *relu = node(&bench, "relu", "Relu", 1, (opf_value *[]){y});
        const opf_tensor *inputs[] = {random_tensor(&bench, 4, x_dims, -2)};
        check_passes(&bench, relu->outputs[0], inputs, 4);
        assert_string_equal(bench.graph->nodes.data[1]->op, "Mul");
        assert_string_equal(bench.graph->nodes.data[2]->op, "Add");
        assert_ptr_equal(bench.graph->nodes.data[1]->inputs[0], front->outputs[0]);
        assert_ptr_equal(relu->inputs[0], y);
        free_bench(&bench);
    }
}

/* What has another reader, or is a model output, ends a run. */
static void runs_end_where_results_are_shared(void **unused) {
    (void)unused;
    opf_bench bench = new_bench();
    const int64_t x_dims[] = {2, 5, 3, 4};
    opf_node *bn = norm(&bench, input(&bench, "x", 4, x_dims), 5), *mul = with_constant(&bench, "mul", "Mul", bn->outputs[0], false, 5);
    opf_node *both = node(&bench, "both", "Add", 2, (opf_value *[]){mul->outputs[0], bn->outputs[0]});
    const opf_tensor *inputs[] = {random_tensor(&bench, 4, x_dims, -2)};
    check_passes(&bench, both->outputs[0], inputs, 4);
    assert_string_equal(mul->op, "Mul");
    assert_ptr_equal(mul->inputs[0], bn->outputs[0]);
    free_bench(&bench);
}

/* (x + a) * b without a normalisation keeps its order: x may be next to -a. Nor is a normalisation changed whose mean is a thousand
 * times its own numbers, or any of them where each bit counts. */
static void look_alikes_stay(void **unused) {
    (void)unused;
    const int64_t x_dims[] = {2, 5, 3, 4};
    for (int form = 0; form < 3; form++) {
        opf_bench bench = new_bench();
        opf_value *x = input(&bench, "x", 4, x_dims);
        opf_node *last = form ? norm(&bench, x, 5) : with_constant(&bench, "mul", "Mul", with_constant(&bench, "add", "Add", x, false, 5)->outputs[0], false, 5);
        if (form == 1)
            opf_dtype_store(OPF_FLOAT32, (void *)last->inputs[3]->constant->data, 2, 1e6);
        bench.module->accuracy = form == 2 ? OPF_ACCURACY_EXACT : OPF_ACCURACY_NORMAL;
        const opf_tensor *inputs[] = {random_tensor(&bench, 4, x_dims, -2)};
        check_passes(&bench, last->outputs[0], inputs, form ? 1 : 2);
        assert_string_equal(last->op, form ? "BatchNormalization" : "Mul");
        free_bench(&bench);
    }
}

static void constants_are_computed(void **unused) {
    (void)unused;
    opf_bench bench = new_bench();
    const int64_t x_dims[] = {8, 40}, w_dims[] = {40, 40};
    opf_value *x = input(&bench, "x", 2, x_dims);
    opf_node *exp = node(&bench, "exp", "Exp", 1, (opf_value *[]){constant(&bench, "w", 2, w_dims, -2)});
    opf_node *turn = node(&bench, "turn", "Transpose", 1, (opf_value *[]){exp->outputs[0]});
    opf_node *product = node(&bench, "mm", "MatMul", 2, (opf_value *[]){x, turn->outputs[0]});
    const opf_tensor *inputs[] = {random_tensor(&bench, 2, x_dims, -2)};
    check_passes(&bench, product->outputs[0], inputs, 1);
    assert_int_equal(bench.module->removed.count, 2);
    assert_non_null(product->inputs[1]->constant);
    free_bench(&bench);
}

static void identities_go_and_outputs_keep_a_producer(void **unused) {
    (void)unused;
    opf_bench bench = new_bench();
    const int64_t x_dims[] = {3, 4};
    opf_value *x = input(&bench, "x", 2, x_dims);
    opf_node *first = node(&bench, "first", "Identity", 1, (opf_value *[]){x});
    opf_node *relu = node(&bench, "relu", "Relu", 1, (opf_value *[]){first->outputs[0]});
    opf_node *turn = node(&bench, "turn", "Transpose", 1, (opf_value *[]){relu->outputs[0]});
    opf_node_attr_add(turn, "perm", OPF_ATTR_INTS, 2, (int64_t[]){0, 1});
    opf_node *back = node(&bench, "back", "Transpose", 1, (opf_value *[]){turn->outputs[0]});
    opf_node *last = node(&bench, "last", "Identity", 1, (opf_value *[]){back->outputs[0]});
    const opf_tensor *inputs[] = {random_tensor(&bench, 2, x_dims, -2)};
    check_passes(&bench, last->outputs[0], inputs, 2); /* relu and the transpose that turns */
    assert_ptr_equal(relu->inputs[0], x);
    assert_ptr_equal(bench.graph->outputs.data[0], back->outputs[0]);
    assert_string_equal(bench.graph->output_names.data[0], "last_out");
    free_bench(&bench);
}

/* Old exporters name a Dropout's mask that nobody reads. */
static void dropout_goes_whose_mask_nobody_reads(void **unused) {
    (void)unused;
    opf_bench bench = new_bench();
    const int64_t x_dims[] = {3, 4};
    opf_node *relu = node(&bench, "relu", "Relu", 1, (opf_value *[]){input(&bench, "x", 2, x_dims)});
    opf_node *dropout = opf_node_new(bench.graph, "dropout", "Dropout", "", 17, 1, 2);
    opf_node_set_input(dropout, 0, relu->outputs[0]);
    opf_node_set_output(dropout, 0, opf_value_new(bench.graph, "dropped"));
    opf_node_set_output(dropout, 1, opf_value_new(bench.graph, "mask"));
    opf_node *last = node(&bench, "last", "Tanh", 1, (opf_value *[]){dropout->outputs[0]});
    const opf_tensor *inputs[] = {random_tensor(&bench, 2, x_dims, -2)};
    check_passes(&bench, last->outputs[0], inputs, 2);
    assert_ptr_equal(last->inputs[0], relu->outputs[0]);
    free_bench(&bench);
}

/* An Identity from a graph input to an output has something to do. */
static void identity_of_an_input_stays(void **unused) {
    (void)unused;
    opf_bench bench = new_bench();
    const int64_t x_dims[] = {3};
    opf_node *only = node(&bench, "only", "Identity", 1, (opf_value *[]){input(&bench, "x", 1, x_dims)});
    const opf_tensor *inputs[] = {random_tensor(&bench, 1, x_dims, -2)};
    check_passes(&bench, only->outputs[0], inputs, 1);
    free_bench(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_norm_moves_into_conv),
        cmocka_unit_test(batch_norm_moves_into_transposed_conv_with_groups),
        cmocka_unit_test(batch_norm_moves_into_gemm),
        cmocka_unit_test(folded_weights_stay_views),
        cmocka_unit_test(batch_norm_stays_where_weights_overflow),
        cmocka_unit_test(batch_norm_stays_where_the_result_is_shared),
        cmocka_unit_test(runs_of_constants_move_into_conv), cmocka_unit_test(shifts_that_cancel_are_noted),
        cmocka_unit_test(norm_becomes_scale_and_shift),
        cmocka_unit_test(runs_end_where_results_are_shared),
        cmocka_unit_test(look_alikes_stay),
        cmocka_unit_test(constants_are_computed),
        cmocka_unit_test(identities_go_and_outputs_keep_a_producer),
        cmocka_unit_test(dropout_goes_whose_mask_nobody_reads),
        cmocka_unit_test(identity_of_an_input_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
