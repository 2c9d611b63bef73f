/* Cells of LSTM and GRU that are written out: kernels a step in every form of test/data/gates, for one row, many and an open number; and
 * what looks alike, which the pass `gates` leaves as it is. Numbers: test/cli/verify-gates. */
#include "fusion.h"

enum { OPEN = -1 };

static opf_module *load_rows(const char *name, int64_t rows, opf_diags *diags) {
    opf_text path = {0};
    opf_text_printf(&path, OPF_TEST_DATA "/gates/%s.onnx", name);
    opf_module *module = NULL;
    const opf_pin pin = {.symbol = "n", .size = rows};
    assert_int_equal(opf_onnx_read(&module, opf_text_string(&path), diags), OPF_OK);
    assert_int_equal(opf_graph_type(module, &pin, rows != OPEN), OPF_OK);
    opf_text_free(&path);
    return module;
}

static int count_products(const opf_graph *graph) {
    int products = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        products += strcmp(node->op, "MatMul") == 0 || strcmp(node->op, "Gemm") == 0;
        for (int a = 0; a < node->n_attrs; a++)
            for (size_t k = 0; node->attrs[a].kind == OPF_ATTR_GRAPH && k < node->attrs[a].count; k++)
                products += count_products(node->attrs[a].graphs[k]);
    }
    return products;
}

static int64_t about(const json_t *expected, const char *what) { return json_integer_value(json_object_get(expected, what)); }

static bool says(const opf_diags *diags, const char *words) {
    for (size_t i = 0; i < opf_diags_count(diags); i++)
        if (strstr(opf_diags_at(diags, i)->message, words))
            return true;
    return false;
}

/* A model with so many rows: products behind the pass, kernels, what is said. */
static void check_model(const char *name, const json_t *expected, int64_t rows) {
    opf_diags *diags = opf_diags_new();
    opf_module *module = load_rows(name, rows, diags);
    int before = count_products(module->graph);
    assert_int_equal(opf_passes_run(module, OPF_POLICY_BEST), OPF_OK);
    if (count_products(module->graph) != about(expected, "products"))
        fail_msg("%s, %lld rows: %d products of %d", name, (long long)rows, count_products(module->graph), before);
    opf_fusion *fusion = NULL;
    assert_int_equal(opf_fuse(&fusion, module->graph, &(opf_fuse_options){.policy = OPF_POLICY_BEST}), OPF_OK);
    check_order(fusion);
    check_edges(fusion);
    int64_t most = about(expected, "kernels");
    if (most && count_kernels(fusion) > most) {
        opf_text text = {0};
        opf_explain_text(fusion, &text);
        fail_msg("%s, %lld rows: more than %lld kernels\n%s", name, (long long)rows, (long long)most, opf_text_string(&text));
    }
    const char *note = json_string_value(json_object_get(expected, "note")); /* every look-alike has one, no cell has */
    if (note ? !says(diags, note) || !says(diags, "would be allowed by") : most == 0 || says(diags, "[gates-"))
        fail_msg("%s: %s", name, note ? note : "a note that it is no cell");
    opf_module_free(module);
    opf_diags_free(diags);
}

static void steps_take_few_kernels(void **unused) {
    (void)unused;
    json_t *all = json_load_file(OPF_TEST_DATA "/gates/expected.json", 0, NULL), *expected;
    static const int64_t rows[] = {OPEN, 1, 2, 16, 64};
    const char *name;
    size_t cells = 0, look_alikes = 0;
    json_object_foreach(all, name, expected) {
        bool cell = about(expected, "kernels") > 0;
        *(cell ? &cells : &look_alikes) += 1;
        for (size_t r = 0; r < (cell ? OPF_COUNT(rows) : 1); r++)
            check_model(name, expected, rows[r]);
    }
    assert_true(cells >= 20 && look_alikes >= 9);
    json_decref(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_take_few_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
