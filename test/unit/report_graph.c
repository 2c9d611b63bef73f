/* Pictures: every node, group and use is drawn once; names may hold anything; Graphviz missing is said clearly. */
#include "fusion.h"

#include "report/graph.h"

static size_t count_of(const char *text, const char *needle) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, needle)); at += strlen(needle))
        count++;
    return count;
}

static size_t uses_in(const opf_graph *graph) {
    size_t uses = graph->outputs.count;
    for (size_t i = 0; i < graph->values.count; i++)
        if (!graph->values.data[i]->constant)
            uses += graph->values.data[i]->uses.count;
    return uses;
}

static void dot_draws_all(void **unused) {
    (void)unused;
    opf_diags *diags = opf_diags_new();
    opf_module *module = load("grouping", "concat_of_concats.onnx", OPF_POLICY_TVM, diags);
    const opf_fusion *fusion = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_TVM}, diags);
    opf_text before = {0}, after = {0};
    assert_int_equal(opf_report_graph(module->graph, NULL, "dot", &before), OPF_OK);
    assert_int_equal(opf_report_graph(module->graph, fusion, "dot", &after), OPF_OK);
    assert_int_equal(count_of(opf_text_string(&before), "subgraph"), 0);
    assert_int_equal(count_of(opf_text_string(&after), "subgraph cluster_"), fusion->groups.count);
    assert_int_equal(count_of(opf_text_string(&before), "tooltip="), module->graph->nodes.count);
    assert_int_equal(count_of(opf_text_string(&after), "tooltip="), module->graph->nodes.count);
    assert_int_equal(count_of(opf_text_string(&before), " -> "), uses_in(module->graph));
    assert_int_equal(count_of(opf_text_string(&after), " -> "), uses_in(module->graph));
    assert_int_equal(count_of(opf_text_string(&before), "style=dashed"), 0);
    /* groups of 16, 2 and 1 nodes, each a tree: what stays inside one is dashed */
    assert_int_equal(count_of(opf_text_string(&after), "style=dashed"), 16);
    opf_text_free(&before);
    opf_text_free(&after);
    opf_module_free(module);
    opf_diags_free(diags);
}

static void names_may_hold_anything(void **unused) {
    (void)unused;
    opf_diags *diags = opf_diags_new();
    opf_module *module = load("grouping", "simple_chain.onnx", OPF_POLICY_TVM, diags);
    module->graph->nodes.data[0]->name = "a\"b\\c\n\xff";
    module->graph->nodes.data[1]->name = "one_very_long_name/with/many/parts/that/nobody/wants/to/read/in/a/picture";
    opf_text dot = {0};
    assert_int_equal(opf_report_graph(module->graph, NULL, "dot", &dot), OPF_OK);
    assert_non_null(strstr(opf_text_string(&dot), "label=\"a\\\"b\\\\c??\\nAdd"));
    assert_non_null(strstr(opf_text_string(&dot), "…at/nobody/wants/to/read/in/a/picture"));
    opf_text_clear(&dot);
    assert_int_equal(opf_report_graph(module->graph, NULL, "svg", &dot), OPF_OK);
    assert_non_null(strstr(opf_text_string(&dot), "</svg>"));
    opf_text_free(&dot);
    opf_module_free(module);
    opf_diags_free(diags);
}

static void missing_dot_is_said(void **unused) {
    (void)unused;
    opf_diags *diags = opf_diags_new();
    opf_module *module = load("grouping", "simple_chain.onnx", OPF_POLICY_TVM, diags);
    opf_text out = {0};
    assert_int_equal(opf_report_graph(module->graph, NULL, "png", &out), OPF_ERROR_USAGE);
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(opf_report_graph(module->graph, NULL, "svg", &out), OPF_ERROR_SYSTEM);
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(opf_diags_errors(diags), 2);
    assert_non_null(strstr(opf_diags_at(diags, 1)->message, "Graphviz"));
    assert_non_null(strstr(opf_diags_at(diags, 1)->hint, "apt install graphviz"));
    assert_int_equal(out.length, 0);
    opf_module_free(module);
    opf_diags_free(diags);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(dot_draws_all), cmocka_unit_test(names_may_hold_anything), cmocka_unit_test(missing_dot_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
