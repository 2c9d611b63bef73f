/* Graphs through the evaluator: sizes solved from inputs, values kept or freed, guards, problems told at their node. */
#include "ops_support.h"

#include <math.h>

#include "eval/eval.h"
#include "eval/stage.h"

static opf_tensor *tensor(opf_module *module, opf_dtype dtype, int rank, const int64_t *dims, double first, double step) {
    opf_tensor *made = opf_tensor_zeros(module->arena, dtype, rank, dims, NULL);
    for (int64_t i = 0; i < made->elements; i++) opf_dtype_store(dtype, (void *)(uintptr_t)made->data, (size_t)i, first + step * (double)i);
    return made;
}

#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__}
#define INPUTS(...) ((const opf_tensor *const[]){__VA_ARGS__})

static void sizes_follow_the_inputs(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "N,3"), *y = input(module, "y", OPF_FLOAT32, "3,M");
    opf_node *product = NODE(module, "MatMul", 13, x, y), *shifted = NODE(module, "Add", 13, product->outputs[0], product->outputs[0]);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    for (int64_t n = 1; n <= 3; n++) {
        opf_eval *eval;
        const opf_tensor *a = tensor(module, OPF_FLOAT32, DIMS(n, 3), 0, 1), *b = tensor(module, OPF_FLOAT32, DIMS(3, 2 * n), 1, 1);
        assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(a, b), false), OPF_OK);
        assert_int_equal(opf_eval_run(eval), OPF_OK);
        const opf_tensor *out = opf_eval_value(eval, shifted->outputs[0]);
        assert_int_equal(out->dtype, OPF_FLOAT32);
        assert_int_equal(out->dims[0], n);
        assert_int_equal(out->dims[1], 2 * n);
        for (int64_t i = 0; i < out->elements; i++) {
            double sum = 0;
            for (int64_t k = 0; k < 3; k++) sum += opf_tensor_get(a, i / (2 * n) * 3 + k) * opf_tensor_get(b, k * 2 * n + i % (2 * n));
            assert_true(opf_tensor_get(out, i) == 2 * sum);
        }
        opf_eval_free(eval);
    }
    free_module(module);
}

/* Each node rounds its result: 2048 + 1 is 2048 in float16, twice. */
static void every_node_rounds(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT16, "1");
    opf_value *one = constant(module, OPF_FLOAT16, 0, NULL, (double[]){1});
    opf_node *first = NODE(module, "Add", 13, x, one), *second = NODE(module, "Add", 13, first->outputs[0], one);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    opf_eval *eval;
    assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(tensor(module, OPF_FLOAT16, DIMS(1), 2048, 0)), false), OPF_OK);
    assert_int_equal(opf_eval_run(eval), OPF_OK);
    assert_true(opf_tensor_get(opf_eval_value(eval, second->outputs[0]), 0) == 2048);
    opf_eval_free(eval);
    free_module(module);
}

static void values_are_kept_on_demand(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "4");
    opf_node *inner = opf_node_new(module->graph, NULL, "Neg", opf_intern(module->names, ""), 13, 1, 1);
    opf_node_set_input(inner, 0, x);
    opf_node_set_output(inner, 0, opf_value_new(module->graph, NULL));
    opf_node *outer = NODE(module, "Abs", 13, inner->outputs[0]);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    const opf_tensor *given = tensor(module, OPF_FLOAT32, DIMS(4), 1, 1);
    for (int keep = 0; keep < 2; keep++) {
        opf_eval *eval;
        assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(given), keep), OPF_OK);
        assert_int_equal(opf_eval_run(eval), OPF_OK);
        const opf_tensor *between = opf_eval_value(eval, inner->outputs[0]);
        assert_int_equal(between != NULL, keep);
        if (keep) assert_true(opf_tensor_get(between, 3) == -4);
        assert_true(opf_tensor_get(opf_eval_value(eval, outer->outputs[0]), 3) == 4);
        opf_eval_free(eval);
    }
    free_module(module);
}

static void wrong_inputs_are_refused(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "N,3"), *y = input(module, "y", OPF_FLOAT32, "N,3");
    NODE(module, "Add", 13, x, y);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    const opf_tensor *good = tensor(module, OPF_FLOAT32, DIMS(2, 3), 0, 1), *other = tensor(module, OPF_FLOAT32, DIMS(4, 3), 0, 1);
    const opf_tensor *whole = tensor(module, OPF_INT32, DIMS(2, 3), 0, 1), *narrow = tensor(module, OPF_FLOAT32, DIMS(2, 2), 0, 1);
    opf_eval *eval;
    assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(good, whole), false), OPF_ERROR_INPUT);
    assert_null(eval);
    assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(narrow, good), false), OPF_ERROR_INPUT);
    assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(good, other), false), OPF_ERROR_INPUT);
    assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(good, NULL), false), OPF_ERROR_INPUT);
    assert_string_equal(diagnostics(module),
                        "test.onnx: error[shape]: input 'y' is float32[N,3], and int32[2,3] is given\n"
                        "test.onnx: error[shape]: input 'x' is float32[N,3], and float32[2,2] is given\n"
                        "test.onnx: error[shape]: axis 0 of input 'y' has size 4 and must be N, which is 2\n"
                        "test.onnx: error[shape]: input 'y' is float32[N,3], and nothing is given\n");
    free_module(module);
}

static void guards_are_checked(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "N"), *y = input(module, "y", OPF_FLOAT32, "M");
    opf_value *twice = NODE(module, "Concat", 13, x, x)->outputs[0];
    set_int(module->graph->nodes.data[0], "axis", 0);
    NODE(module, "Add", 13, twice, y); /* taken to need M == 2*N */
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    opf_eval *eval;
    const opf_tensor *two = tensor(module, OPF_FLOAT32, DIMS(2), 0, 1), *four = tensor(module, OPF_FLOAT32, DIMS(4), 0, 1), *five = tensor(module, OPF_FLOAT32, DIMS(5), 0, 1);
    assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(two, four), false), OPF_OK);
    assert_int_equal(opf_eval_run(eval), OPF_OK);
    opf_eval_free(eval);
    assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(two, five), false), OPF_ERROR_INPUT);
    assert_int_equal(opf_diags_errors(module->diags), 1);
    free_module(module);
}

static void *allocate_somewhere(void *data, size_t bytes) { return opf_arena_alloc(data, bytes); }

/* Operators clamp the indices that data give; a stage that does not is stopped, and what it did is told at its node. */
static void an_index_out_of_range_is_named(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_pool *pool = module->pool;
    opf_value *table = input(module, "table", OPF_FLOAT32, "5"), *ids = input(module, "ids", OPF_INT64, "2");
    opf_node *node = NODE(module, "Gather", 13, table, ids);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    const opf_expr *at = opf_var(pool, 0), *id = opf_load(pool, OPF_INT64, 1, 1, &at), *extent = opf_int(pool, 2);
    opf_stage stage = {.name = "Gather", .n_axes = 1, .extents = &extent, .dtype = OPF_FLOAT32, .accumulator = OPF_FLOAT32, .body = opf_load(pool, OPF_FLOAT32, 0, 1, &id), .origin = node};
    opf_stages stages = {0};
    OPF_PUSH(module->arena, &stages.inputs, table);
    OPF_PUSH(module->arena, &stages.inputs, ids);
    OPF_PUSH(module->arena, &stages.list, &stage);
    const opf_tensor *values = tensor(module, OPF_FLOAT32, DIMS(5), 0, 1);
    opf_tensor *out[1];
    opf_eval_stages job = {.node = node, .arena = module->arena, .allocate = allocate_somewhere, .data = module->arena, .n_results = 1};
    job.inputs = INPUTS(values, tensor(module, OPF_INT64, DIMS(2), 3, 1));
    assert_int_equal(opf_eval_run_stages(&job, &stages, (int[]){0}, out), OPF_OK);
    assert_true(opf_tensor_get(out[0], 1) == 4);
    job.inputs = INPUTS(values, tensor(module, OPF_INT64, DIMS(2), 4, 1));
    assert_int_equal(opf_eval_run_stages(&job, &stages, (int[]){0}, out), OPF_ERROR_INPUT);
    assert_non_null(strstr(diagnostics(module), "evaluating Gather: index 5 is out of range for axis 0 of operand 0, which has 5 elements"));
    stage.body = opf_load(pool, OPF_FLOAT32, 0, 1, (const opf_expr *[]){opf_add(pool, at, opf_int(pool, 9))});
    assert_int_equal(opf_eval_run_stages(&job, &stages, (int[]){0}, out), OPF_ERROR_INTERNAL);
    extent = opf_int(pool, -1);
    assert_int_equal(opf_eval_run_stages(&job, &stages, (int[]){0}, out), OPF_ERROR_INPUT);
    assert_non_null(strstr(diagnostics(module), "axis 0 has size -1"));
    free_module(module);
}

static void strings_are_moved(void **state) {
    (void)state;
    static const char *const words[] = {"a", "b"};
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_STRING, "2");
    opf_node *node = NODE(module, "Identity", 13, x);
    opf_graph_add_output(module->graph, node->outputs[0], "y");
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    opf_eval *eval;
    const opf_tensor *given = opf_tensor_new(module->arena, OPF_STRING, 1, (int64_t[]){2}, words, NULL);
    assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(given), false), OPF_OK);
    assert_int_equal(opf_eval_run(eval), OPF_OK);
    const opf_tensor *got = opf_eval_value(eval, node->outputs[0]);
    assert_non_null(got);
    for (int i = 0; i < 2; i++) assert_string_equal(((const char *const *)got->data)[i], words[i]);
    opf_eval_free(eval);
    free_module(module);
}

static void single_nodes_fold(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *a = constant(module, OPF_FLOAT32, 1, (int64_t[]){3}, (double[]){1, 4, 9});
    opf_node *node = NODE(module, "Sqrt", 13, a);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    opf_tensor *out[1];
    assert_int_equal(opf_eval_node(node, INPUTS(a->constant), out, module->arena), OPF_OK);
    for (int i = 0; i < 3; i++) assert_true(opf_tensor_get(out[0], i) == i + 1);
    free_module(module);
}

static double cast_of(double value, opf_dtype from, opf_dtype to, const char *round_mode, int64_t saturate) {
    opf_module *module = new_module();
    opf_value *x = constant(module, from, 1, (int64_t[]){1}, &value);
    opf_node *node = NODE(module, "Cast", 24, x);
    set_int(node, "to", to);
    set_int(node, "saturate", saturate);
    if (round_mode) set_string(node, "round_mode", round_mode);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    opf_tensor *out[1];
    assert_int_equal(opf_eval_node(node, INPUTS(x->constant), out, module->arena), OPF_OK);
    double got = opf_tensor_get(out[0], 0);
    free_module(module);
    return got;
}

/* ONNX's tables of Cast: beyond the range the largest number, or infinity or NaN; powers of two up, down or to the nearest. */
static void casts_saturate_and_round_as_asked(void **state) {
    (void)state;
    static const struct { opf_dtype to; const char *mode; double value, saturated, not; } rows[] = {
        {OPF_FLOAT8E4M3FN, NULL, 1e4, 448, NAN},        {OPF_FLOAT8E4M3FN, NULL, 464, 448, 448},       {OPF_FLOAT8E4M3FN, NULL, -INFINITY, -448, NAN},
        {OPF_FLOAT8E4M3FNUZ, NULL, 1e4, 240, NAN},      {OPF_FLOAT8E5M2, NULL, 1e6, 57344, INFINITY},  {OPF_FLOAT8E5M2, NULL, -INFINITY, -57344, -INFINITY},
        {OPF_FLOAT8E5M2, NULL, 61439, 57344, 57344},    {OPF_FLOAT8E5M2FNUZ, NULL, INFINITY, 57344, NAN}, {OPF_FLOAT8E8M0, NULL, 5, 8, 8},
        {OPF_FLOAT8E8M0, "up", 4.01, 8, 8},             {OPF_FLOAT8E8M0, "down", 7.9, 4, 4},           {OPF_FLOAT8E8M0, "down", 8, 8, 8},
        {OPF_FLOAT8E8M0, "nearest", 5.9, 4, 4},         {OPF_FLOAT8E8M0, "nearest", 6, 8, 8},          {OPF_FLOAT8E8M0, "nearest", 8, 8, 8},
        {OPF_FLOAT8E8M0, "nearest", 0, 0x1p-127, NAN},  {OPF_FLOAT8E8M0, "down", 3e38, 0x1p127, NAN},  {OPF_FLOAT8E8M0, "up", INFINITY, 0x1p127, NAN},
        {OPF_FLOAT8E8M0, "down", 1e-45, 0x1p-127, NAN}, {OPF_FLOAT8E8M0, "nearest", NAN, NAN, NAN},
    };
    for (size_t i = 0; i < OPF_COUNT(rows); i++)
        for (int wide = 0; wide < 2; wide++) {
            opf_dtype from = wide ? OPF_FLOAT64 : OPF_FLOAT32;
            double a = cast_of(rows[i].value, from, rows[i].to, rows[i].mode, 1), b = cast_of(rows[i].value, from, rows[i].to, rows[i].mode, 0);
            assert_true(a == rows[i].saturated || (isnan(a) && isnan(rows[i].saturated)));
            assert_true(b == rows[i].not || (isnan(b) && isnan(rows[i].not)));
        }
}

/* 3.4995 in float16 is 3.5, which goes to 4: the scale's type decides where the quotient is rounded. */
static void quotients_are_rounded_to_the_type_of_the_scale(void **state) {
    (void)state;
    for (int half = 0; half < 2; half++) {
        opf_module *module = new_module();
        opf_value *x = constant(module, OPF_FLOAT32, 1, (int64_t[]){1}, (double[]){3.4995}), *scale = constant(module, half ? OPF_FLOAT16 : OPF_FLOAT32, 0, NULL, (double[]){1});
        opf_node *node = NODE(module, "QuantizeLinear", 23, x, scale);
        assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
        opf_tensor *out[1];
        assert_int_equal(opf_eval_node(node, INPUTS(x->constant, scale->constant), out, module->arena), OPF_OK);
        assert_true(opf_tensor_get(out[0], 0) == (half ? 4 : 3));
        free_module(module);
    }
}

/* A graph output may be an input or a constant. */
static void outputs_without_a_producer(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "2"), *c = constant(module, OPF_FLOAT32, 1, (int64_t[]){2}, (double[]){5, 6});
    opf_graph_add_output(module->graph, x, NULL);
    opf_graph_add_output(module->graph, c, NULL);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    opf_eval *eval;
    const opf_tensor *given = tensor(module, OPF_FLOAT32, DIMS(2), 1, 1);
    assert_int_equal(opf_eval_new(&eval, module->graph, INPUTS(given), false), OPF_OK);
    assert_int_equal(opf_eval_run(eval), OPF_OK);
    assert_ptr_equal(opf_eval_value(eval, x), given);
    assert_true(opf_tensor_get(opf_eval_value(eval, c), 1) == 6);
    opf_eval_free(eval);
    free_module(module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_follow_the_inputs), cmocka_unit_test(every_node_rounds), cmocka_unit_test(values_are_kept_on_demand),
        cmocka_unit_test(wrong_inputs_are_refused), cmocka_unit_test(guards_are_checked), cmocka_unit_test(an_index_out_of_range_is_named),
        cmocka_unit_test(strings_are_moved), cmocka_unit_test(single_nodes_fold), cmocka_unit_test(outputs_without_a_producer),
        cmocka_unit_test(casts_saturate_and_round_as_asked), cmocka_unit_test(quotients_are_rounded_to_the_type_of_the_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
