/* Pass byte-tables against the evaluator: graphs made here are evaluated for all 256 bytes, passed through, and evaluated again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "eval/eval.h"
#include "pass/pass.h"

enum { BYTES = 256 };

typedef struct opf_bench {
    opf_diags *diags;
    opf_module *module;
    opf_graph *graph;
    opf_value *x; /* the bytes, [2, 128] */
} opf_bench;

static const int64_t x_dims[] = {2, BYTES / 2};

static opf_bench new_bench(opf_dtype dtype) {
    opf_bench bench = {.diags = opf_diags_new()};
    bench.module = opf_module_new(bench.diags, "test.onnx");
    bench.graph = bench.module->graph = opf_graph_new(bench.module, "test", NULL);
    bench.x = opf_value_new(bench.graph, "x");
    bench.x->declared_rank = 2;
    bench.x->declared_dtype = dtype;
    bench.x->declared_dims = opf_arena_copy(bench.module->arena, x_dims, sizeof x_dims);
    bench.x->declared_names = OPF_ARRAY(bench.module->arena, const char *, 2);
    opf_graph_add_input(bench.graph, bench.x);
    return bench;
}

static void free_bench(opf_bench *bench) {
    opf_module_free(bench->module);
    opf_diags_free(bench->diags);
}

static opf_value *constant(opf_bench *bench, opf_dtype dtype, int rank, int64_t elements, double number) {
    const int64_t dims[] = {elements, 1};
    opf_tensor *tensor = opf_tensor_zeros(bench->module->arena, dtype, rank, dims, NULL);
    for (int64_t i = 0; i < tensor->elements; i++)
        opf_dtype_store(dtype, (void *)(uintptr_t)tensor->data, (size_t)i, number + (double)i);
    return opf_value_constant(bench->graph, NULL, tensor);
}

static opf_value *node(opf_bench *bench, const char *op, int n_inputs, opf_value *const *inputs) {
    opf_node *made = opf_node_new(bench->graph, op, op, "", 17, n_inputs, 1);
    for (int k = 0; k < n_inputs; k++)
        opf_node_set_input(made, k, inputs[k]);
    opf_node_set_output(made, 0, opf_value_new(bench->graph, NULL));
    return made->outputs[0];
}

static opf_value *dequantised(opf_bench *bench, opf_value *x, opf_dtype dtype, double scale) {
    return node(bench, "DequantizeLinear", 3, (opf_value *[]){x, constant(bench, OPF_FLOAT32, 0, 1, scale), constant(bench, dtype, 0, 1, 3)});
}

static opf_value *quantised(opf_bench *bench, opf_value *x, opf_dtype dtype, double scale) {
    return node(bench, "QuantizeLinear", 3, (opf_value *[]){x, constant(bench, OPF_FLOAT32, 0, 1, scale), constant(bench, dtype, 0, 1, 3)});
}

/* x * tanh(x), a constant with axes of its own in between. */
static opf_value *gated(opf_bench *bench, opf_value *x) {
    opf_value *scaled = node(bench, "Mul", 2, (opf_value *[]){constant(bench, OPF_FLOAT32, 2, 1, 1.5), x});
    return node(bench, "Mul", 2, (opf_value *[]){scaled, node(bench, "Tanh", 1, &scaled)});
}

static const opf_tensor *evaluate(opf_bench *bench) {
    opf_tensor *bytes = opf_tensor_zeros(bench->module->arena, bench->x->dtype, 2, x_dims, NULL), *kept = OPF_NEW(bench->module->arena, opf_tensor);
    for (int k = 0; k < BYTES; k++)
        ((uint8_t *)(uintptr_t)bytes->data)[k] = (uint8_t)k;
    opf_eval *eval;
    assert_int_equal(opf_eval_new(&eval, bench->graph, (const opf_tensor *[]){bytes}, false), OPF_OK);
    assert_int_equal(opf_eval_run(eval), OPF_OK);
    *kept = *opf_eval_value(eval, bench->graph->outputs.data[0]);
    kept->data = opf_arena_copy(bench->module->arena, kept->data, kept->bytes);
    opf_eval_free(eval);
    return kept;
}

/* The same bits behind the pass, and as many nodes of `op` as said. */
static void check(opf_bench *bench, opf_value *output, int gathers) {
    opf_graph_add_output(bench->graph, output, NULL);
    assert_int_equal(opf_graph_type(bench->module, NULL, 0), OPF_OK);
    const opf_tensor *before = evaluate(bench);
    const char *name = bench->graph->outputs.data[0]->name;
    for (size_t i = 0; i < opf_pass_count(); i++)
        if (strcmp(opf_pass_at(i)->name, "byte-tables") == 0)
            assert_int_equal(opf_pass_run(opf_pass_at(i), bench->module), OPF_OK);
    const opf_tensor *behind = evaluate(bench);
    assert_int_equal(behind->bytes, before->bytes);
    assert_memory_equal(behind->data, before->data, before->bytes);
    assert_string_equal(bench->graph->outputs.data[0]->name, name);
    int met = 0;
    for (size_t i = 0; i < bench->graph->nodes.count; i++)
        met += strcmp(bench->graph->nodes.data[i]->op, "Gather") == 0;
    assert_int_equal(met, gathers);
}

static const opf_dtype dtypes[] = {OPF_UINT8, OPF_INT8};

static void all_bytes_to_numbers(void **unused) {
    (void)unused;
    for (int d = 0; d < 2; d++) {
        opf_bench bench = new_bench(dtypes[d]);
        opf_value *y = gated(&bench, dequantised(&bench, bench.x, dtypes[d], 0.07));
        check(&bench, y, 1);
        assert_int_equal(bench.graph->nodes.count, 2);
        assert_int_equal(bench.module->removed.count, 4);
        assert_string_equal(bench.module->removed.data[0].into, "Mul#3/table");
        assert_int_equal(y->producer->n_origins, 4);
        assert_string_equal(y->producer->origins[0], "DequantizeLinear");
        free_bench(&bench);
    }
}

static void all_bytes_to_bytes(void **unused) {
    (void)unused;
    for (int from = 0; from < 2; from++)
        for (int to = 0; to < 2; to++) {
            opf_bench bench = new_bench(dtypes[from]);
            check(&bench, quantised(&bench, gated(&bench, dequantised(&bench, bench.x, dtypes[from], 0.02)), dtypes[to], 0.01), 1);
            assert_int_equal(bench.graph->nodes.count, 3);
            free_bench(&bench);
        }
}

/* What is looked up and read by others is the byte for what goes on from there. */
static void from_byte_to_byte(void **unused) {
    (void)unused;
    opf_bench bench = new_bench(OPF_UINT8);
    opf_value *between = quantised(&bench, gated(&bench, dequantised(&bench, bench.x, OPF_UINT8, 0.02)), OPF_UINT8, 0.01);
    opf_value *on = gated(&bench, dequantised(&bench, between, OPF_UINT8, 0.01));
    opf_graph_add_output(bench.graph, on, NULL);
    check(&bench, between, 2);
    assert_ptr_equal(on->producer->inputs[1]->producer->inputs[0], between);
    free_bench(&bench);
}

static void too_short(void **unused) {
    (void)unused;
    opf_bench bench = new_bench(OPF_UINT8);
    opf_value *x = dequantised(&bench, bench.x, OPF_UINT8, 0.07);
    check(&bench, node(&bench, "Relu", 1, &x), 0);
    free_bench(&bench);
}

/* A scale for each row; positions; another byte: none of these is decided by one byte alone. What comes before may be. */
static void more_than_a_byte(void **unused) {
    (void)unused;
    for (int what = 0; what < 3; what++) {
        opf_bench bench = new_bench(OPF_UINT8);
        opf_value *x = dequantised(&bench, bench.x, OPF_UINT8, 0.02), *other = constant(&bench, OPF_FLOAT32, 2, 2, 0.25);
        if (what == 1) {
            opf_value *row = node(&bench, "CumSum", 2, (opf_value *[]){x, constant(&bench, OPF_INT64, 0, 1, 1)});
            x = row;
        } else if (what == 2) {
            opf_value *floats = node(&bench, "Softmax", 1, &x);
            other = dequantised(&bench, quantised(&bench, floats, OPF_UINT8, 0.001), OPF_UINT8, 0.001);
        }
        opf_value *y = node(&bench, "Add", 2, (opf_value *[]){x, other});
        check(&bench, gated(&bench, y), 0);
        free_bench(&bench);
    }
}

static void held_nodes_stay(void **unused) {
    (void)unused;
    opf_bench bench = new_bench(OPF_UINT8);
    opf_value *y = gated(&bench, dequantised(&bench, bench.x, OPF_UINT8, 0.07));
    y->producer->held = true;
    opf_value *again = node(&bench, "Neg", 1, &y);
    check(&bench, again, 1); /* one of its operands; the other is too short */
    assert_true(y->producer->held);
    free_bench(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_to_numbers), cmocka_unit_test(all_bytes_to_bytes), cmocka_unit_test(from_byte_to_byte),
        cmocka_unit_test(too_short),            cmocka_unit_test(more_than_a_byte),   cmocka_unit_test(held_nodes_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
