/* The writer: every small model that the tests have is read, written, read and written again. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onnx/onnx.h"

enum { LARGEST_MODEL = 4 << 20 };

static char *text_of(const opf_module *module) {
    opf_text text = {0};
    opf_graph_print(module->graph, &text);
    return text.data; /* the caller frees it */
}

static void print_problems(const char *path, const opf_diags *diags) {
    opf_text text = {0};
    for (size_t i = 0; i < opf_diags_count(diags); i++) opf_diag_print(opf_diags_at(diags, i), &text);
    print_message("%s: %s\n", path, opf_text_string(&text));
    opf_text_free(&text);
}

static void expect_ok(const char *path, const opf_diags *diags, opf_status status) {
    if (status != OPF_OK) print_problems(path, diags);
    assert_int_equal(status, OPF_OK);
}

static opf_module *reread(const opf_text *bytes, const char *path, opf_diags *diags) {
    opf_module *module = NULL;
    expect_ok(path, diags, opf_onnx_read_memory(&module, bytes->data, bytes->length, path, diags));
    expect_ok(path, diags, opf_graph_check(module->graph, "read"));
    return module;
}

static void expect_same_constants(const opf_module *a, const opf_module *b) {
    for (size_t i = 0; i < a->graph->values.count; i++) {
        const opf_value *value = a->graph->values.data[i];
        if (!value->constant || value->dtype == OPF_STRING) continue;
        const opf_tensor *other = opf_value_find(b->graph, value->name)->constant;
        assert_int_equal(other->bytes, value->constant->bytes);
        if (other->bytes) assert_memory_equal(other->data, value->constant->data, other->bytes);
    }
}

/* ---- all models ---- */

static int models;

static bool is_one_of(const char *path, size_t count, const char *const *names) {
    for (size_t i = 0; i < count; i++)
        if (strstr(path, names[i])) return true;
    return false;
}

/* Sub-graphs of these have names of the graphs around them, which change. */
static const char *const hiding[] = {"/onnx/unsorted.onnx"};
/* Functions of these import another version of the standard operators than the model. */
static const char *const mixed[] = {"/onnx/function_names.onnx", "/onnx/functions.onnx", "/onnx/function_graph.onnx"};

static void expect_round_trip(const char *path, const opf_module *first, opf_diags *diags) {
    opf_text bytes = {0}, again = {0};
    expect_ok(path, diags, opf_onnx_write(first, NULL, 0, &bytes));
    opf_module *second = reread(&bytes, path, diags);
    char *before = text_of(first), *after = text_of(second);
    if (!is_one_of(path, OPF_COUNT(hiding), hiding) && strcmp(before, after) != 0) fail_msg("%s:\n%s--- is written as:\n%s", path, before, after);
    expect_same_constants(first, second);
    expect_ok(path, diags, opf_onnx_write(second, NULL, 0, &again));
    assert_int_equal(again.length, bytes.length);
    assert_memory_equal(again.data, bytes.data, bytes.length);
    free(before);
    free(after);
    opf_module_free(second);
    opf_text_free(&bytes);
    opf_text_free(&again);
}

/* "g0/x" → "x" */
static const char *plain(const char *name) { return name[0] == 'g' && name[1] >= '0' && name[1] <= '2' && name[2] == '/' ? name + 3 : name; }

static void expect_same_nodes(const char *path, const opf_graph *a, const opf_graph *b) {
    if (a->nodes.count != b->nodes.count) fail_msg("%s: %zu nodes became %zu", path, a->nodes.count, b->nodes.count);
    for (size_t i = 0; i < a->nodes.count; i++) {
        const opf_node *x = a->nodes.data[i], *y = b->nodes.data[i];
        assert_string_equal(x->op, y->op);
        assert_string_equal(x->name, plain(y->name));
        assert_int_equal(x->opset, y->opset);
        assert_int_equal(x->n_inputs, y->n_inputs);
        assert_int_equal(x->n_attrs, y->n_attrs);
        for (int k = 0; k < x->n_inputs; k++) assert_string_equal(x->inputs[k] ? x->inputs[k]->name : "", y->inputs[k] ? plain(y->inputs[k]->name) : "");
    }
}

static bool ends_in(const char *text, const char *ending) { return strlen(text) >= strlen(ending) && strcmp(text + strlen(text) - strlen(ending), ending) == 0; }

/* What stands in functions for the sake of its version comes back as it was, under a longer name. */
static void expect_versions(const char *path, const opf_module *module, opf_diags *diags) {
    opf_text bytes = {0};
    expect_ok(path, diags, opf_onnx_write(module, NULL, 0, &bytes));
    opf_module *read = reread(&bytes, path, diags);
    assert_int_equal(read->graph->nodes.count, module->graph->nodes.count);
    for (size_t i = 0; i < read->graph->nodes.count; i++) {
        const opf_node *x = module->graph->nodes.data[i], *y = read->graph->nodes.data[i];
        assert_string_equal(x->op, y->op);
        assert_int_equal(x->opset, y->opset);
        assert_true(ends_in(y->name, x->name));
        for (int k = 0; k < x->n_inputs; k++) assert_string_equal(x->inputs[k] ? x->inputs[k]->name : "", y->inputs[k] ? y->inputs[k]->name : "");
    }
    opf_module_free(read);
    opf_text_free(&bytes);
}

/* Three runs of nodes become functions; read again, their nodes stand where they stood. */
static void expect_functions(const char *path, const opf_module *module, opf_diags *diags) {
    static const char *const names[] = {"g0", "g1", "g2"};
    const opf_graph *graph = module->graph;
    opf_onnx_function functions[OPF_COUNT(names)];
    size_t n = graph->nodes.count, each = (n + OPF_COUNT(names) - 1) / OPF_COUNT(names), count = 0;
    for (size_t at = 0; at < n; at += each, count++)
        functions[count] = (opf_onnx_function){"test.groups", names[count], graph->nodes.data + at, n - at < each ? n - at : each};
    opf_text bytes = {0};
    expect_ok(path, diags, opf_onnx_write(module, functions, count, &bytes));
    opf_module *read = reread(&bytes, path, diags);
    expect_same_nodes(path, graph, read->graph);
    opf_module_free(read);
    opf_text_free(&bytes);
}

static int visit(const char *path, const struct stat *about, int type, struct FTW *place) {
    (void)place;
    size_t length = strlen(path);
    if (type != FTW_F || length < 5 || strcmp(path + length - 5, ".onnx") != 0 || about->st_size > LARGEST_MODEL) return 0;
    opf_diags *diags = opf_diags_new();
    opf_module *module = NULL;
    if (opf_onnx_read(&module, path, diags) == OPF_OK) {
        if (is_one_of(path, OPF_COUNT(mixed), mixed)) expect_versions(path, module, diags);
        else expect_round_trip(path, module, diags), expect_functions(path, module, diags);
        opf_module_free(module);
        models++;
    }
    opf_diags_free(diags);
    return 0;
}

static void models_survive(void **state) {
    (void)state;
    static const char *const folders[] = {OPF_TEST_DATA, OPF_TEST_DATA "/../bugs", OPF_TEST_DATA "/../cli", OPF_TEST_DATA "/../../examples"};
    for (size_t i = 0; i < OPF_COUNT(folders); i++) assert_int_equal(nftw(folders[i], visit, 16, FTW_PHYS), 0);
    print_message("%d models\n", models);
    assert_true(models >= 100);
}

/* ---- graphs made here ---- */

typedef struct opf_bench {
    opf_diags *diags;
    opf_module *module;
    opf_graph *graph;
} opf_bench;

static opf_bench new_bench(void) {
    opf_bench bench = {.diags = opf_diags_new()};
    bench.module = opf_module_new(bench.diags, "test.onnx");
    bench.graph = bench.module->graph ? bench.module->graph : (bench.module->graph = opf_graph_new(bench.module, "main", NULL));
    return bench;
}

static void free_bench(opf_bench *bench) {
    opf_module_free(bench->module);
    opf_diags_free(bench->diags);
}

static opf_value *input(opf_bench *bench, const char *name) {
    static int64_t dims[] = {-1};
    static const char *names[] = {"N"};
    static const opf_type type = {.kind = OPF_VALUE_TENSOR, .dtype = OPF_FLOAT32, .rank = 1, .dims = dims, .names = names};
    opf_value *value = opf_value_new(bench->graph, name);
    value->declared = &type;
    value->declared_dtype = type.dtype;
    value->declared_rank = type.rank;
    value->declared_dims = type.dims;
    value->declared_names = type.names;
    opf_graph_add_input(bench->graph, value);
    return value;
}

static opf_node *node(opf_graph *graph, const char *op, int opset, const char *output, opf_value *a, opf_value *b) {
    opf_node *made = opf_node_new(graph, NULL, op, "", opset, b ? 2 : 1, 1);
    opf_node_set_input(made, 0, a);
    if (b) opf_node_set_input(made, 1, b);
    opf_node_set_output(made, 0, opf_value_new(graph, output));
    return made;
}

/* Relu and Exp are one function, Neg between them reads the one's result: the call goes in front of Neg. */
static void calls_stand_in_front_of_their_readers(void **state) {
    (void)state;
    opf_bench bench = new_bench();
    opf_value *x = input(&bench, "x");
    opf_node *relu = node(bench.graph, "Relu", 17, "r", x, NULL), *neg = node(bench.graph, "Neg", 17, "n", relu->outputs[0], NULL);
    opf_node *e = node(bench.graph, "Exp", 17, "e", relu->outputs[0], NULL), *add = node(bench.graph, "Add", 17, "y", neg->outputs[0], e->outputs[0]);
    opf_graph_add_output(bench.graph, add->outputs[0], NULL);
    opf_text bytes = {0};
    opf_node *pair[] = {relu, e}, *around[] = {relu, add};
    opf_onnx_function function = {"groups", "pair", pair, 2};
    expect_ok("pair", bench.diags, opf_onnx_write(bench.module, &function, 1, &bytes));
    opf_module *read = reread(&bytes, "pair", bench.diags);
    assert_int_equal(read->graph->nodes.count, 4);
    assert_string_equal(read->graph->nodes.data[0]->name, "pair/Relu_0");
    assert_string_equal(read->graph->nodes.data[1]->name, "pair/Exp_2");
    assert_string_equal(read->graph->nodes.data[2]->name, "Neg_1");
    assert_string_equal(read->graph->nodes.data[1]->inputs[0]->name, "r"); /* an output, since Neg reads it */
    opf_module_free(read);

    /* Neg lies between Relu and Add: no call can stand for the two. */
    size_t before = bytes.length;
    function.nodes = around;
    assert_int_equal(opf_onnx_write(bench.module, &function, 1, &bytes), OPF_ERROR_INTERNAL);
    assert_int_equal(bytes.length, before);
    opf_text_free(&bytes);
    free_bench(&bench);
}

static void what_no_file_holds_is_refused(void **state) {
    (void)state;
    opf_bench bench = new_bench();
    opf_node *relu = node(bench.graph, "Relu", 17, "r", input(&bench, "x"), NULL), *neg = node(bench.graph, "Neg", 13, "y", relu->outputs[0], NULL);
    opf_graph_add_output(bench.graph, neg->outputs[0], NULL);
    opf_text bytes = {0};
    opf_onnx_function both = {"groups", "both", (opf_node *[]){relu, neg}, 2};
    assert_int_equal(opf_onnx_write(bench.module, &both, 1, &bytes), OPF_ERROR_UNSUPPORTED);
    assert_string_equal(opf_diags_at(bench.diags, 0)->message, "node 'Neg_1' (Neg) of function 'both' is of version 13, others are of version 17; a function has one");
    neg->opset = 17;
    const int64_t dims[] = {INT64_C(3) << 30};
    opf_value_constant(bench.graph, "w", opf_tensor_new(bench.module->arena, OPF_UINT8, 1, dims, "", NULL));
    assert_int_equal(opf_onnx_write(bench.module, NULL, 0, &bytes), OPF_ERROR_UNSUPPORTED);
    assert_string_equal(opf_diags_at(bench.diags, 1)->message, "its constants have 3221225472 bytes; an ONNX file holds at most 2 GiB");
    assert_int_equal(bytes.length, 0);
    opf_text_free(&bytes);
    free_bench(&bench);
}

/* A pass put another value where the file promises 'y'; a copy bears the name. */
static void promised_names_are_kept(void **state) {
    (void)state;
    opf_bench bench = new_bench();
    opf_node *relu = node(bench.graph, "Relu", 17, "r", input(&bench, "x"), NULL);
    opf_graph_add_output(bench.graph, relu->outputs[0], "y");
    opf_text bytes = {0};
    expect_ok("promise", bench.diags, opf_onnx_write(bench.module, NULL, 0, &bytes));
    opf_module *read = reread(&bytes, "promise", bench.diags);
    assert_int_equal(read->graph->nodes.count, 2);
    assert_string_equal(read->graph->nodes.data[1]->op, "Identity");
    assert_string_equal(read->graph->outputs.data[0]->name, "y");
    opf_module_free(read);
    opf_text_free(&bytes);
    free_bench(&bench);
}

/* A sub-graph's own 'r' beside the outer one, which it reads: as names they would be one. */
static void hidden_names_change(void **state) {
    (void)state;
    opf_bench bench = new_bench();
    opf_node *relu = node(bench.graph, "Relu", 17, "r", input(&bench, "x"), NULL), *branch = node(bench.graph, "If", 17, "y", input(&bench, "c"), NULL);
    opf_graph *body = opf_graph_new(bench.module, "body", branch);
    opf_node *inner = node(body, "Neg", 17, "r", relu->outputs[0], NULL);
    opf_graph_add_output(body, inner->outputs[0], NULL);
    opf_node_attr_add(branch, "then_branch", OPF_ATTR_GRAPH, 1, &body);
    opf_node_attr_add(branch, "else_branch", OPF_ATTR_GRAPH, 1, &body);
    opf_graph_add_output(bench.graph, branch->outputs[0], NULL);
    opf_text bytes = {0};
    expect_ok("hidden", bench.diags, opf_onnx_write(bench.module, NULL, 0, &bytes));
    opf_module *read = reread(&bytes, "hidden", bench.diags);
    const opf_node *neg = opf_node_attr(read->graph->nodes.data[1], "then_branch")->graphs[0]->nodes.data[0];
    assert_string_equal(neg->outputs[0]->name, "r#1");
    assert_ptr_equal(neg->inputs[0], opf_value_find(read->graph, "r"));
    opf_module_free(read);
    opf_text_free(&bytes);
    free_bench(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_survive),
        cmocka_unit_test(calls_stand_in_front_of_their_readers),
        cmocka_unit_test(what_no_file_holds_is_refused),
        cmocka_unit_test(promised_names_are_kept),
        cmocka_unit_test(hidden_names_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
