/* Groups from a file: what explain printed gives the same groups again; mistakes are said one by one. */
#include "fusion.h"

#include <unistd.h>

static const char *write_file(const char *text) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/opfuse_groups_XXXXXX");
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
    close(descriptor);
    return path;
}

static void explain_is_read_back(void **unused) {
    (void)unused;
    static const char *const models[] = {"resnet_basic_block.onnx", "split_gates.onnx", "concat_of_concats.onnx", "softmax_decomposed.onnx",
        "resnet_basic_block.onnx", "squeeze_excite.onnx"}; /* the last ones by policy best: with nodes that are computed again */
    for (size_t m = 0; m < OPF_COUNT(models); m++) {
        opf_policy policy = m < 4 ? OPF_POLICY_TVM : OPF_POLICY_BEST;
        opf_diags *diags = opf_diags_new();
        opf_module *module = load("grouping", models[m], OPF_POLICY_TVM, diags);
        const opf_fusion *first = fuse(module, &(opf_fuse_options){.policy = policy}, diags);
        opf_text text = {0};
        assert_int_equal(opf_explain_json(first, &text), OPF_OK);
        const char *path = write_file(opf_text_string(&text));
        const opf_fusion *again = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_TVM, .groups_file = path}, diags);
        assert_int_equal(again->groups.count, first->groups.count);
        for (size_t g = 0; g < first->groups.count; g++) {
            assert_int_equal(again->groups.data[g]->nodes.count, first->groups.data[g]->nodes.count);
            assert_int_equal(again->groups.data[g]->copied.count, first->groups.data[g]->copied.count);
            assert_int_equal(again->groups.data[g]->step, first->groups.data[g]->step);
            assert_int_equal(again->groups.data[g]->results.count, first->groups.data[g]->results.count);
            assert_ptr_equal(again->groups.data[g]->nodes.data[0], first->groups.data[g]->nodes.data[0]);
        }
        unlink(path);
        opf_text_free(&text);
        opf_module_free(module);
        opf_diags_free(diags);
    }
}

/* The nodes that explain names are those that policy best's passes have left: pinned, they give the same kernels. */
static void best_is_pinned_under_its_own_passes(void **unused) {
    (void)unused;
    static const struct { const char *folder, *file; } models[] = {
        {"grouping", "resnet_basic_block.onnx"}, {"grouping", "squeeze_excite.onnx"}, {"grouping", "concat_of_concats.onnx"},
        {"rows", "attention_plain.onnx"}, {"../../examples/ppocr_cls_v2", "model.onnx"}};
    for (size_t m = 0; m < OPF_COUNT(models); m++) {
        opf_diags *diags = opf_diags_new();
        opf_module *module = load(models[m].folder, models[m].file, OPF_POLICY_BEST, diags);
        const opf_fusion *first = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST}, diags);
        opf_text text = {0};
        assert_int_equal(opf_explain_json(first, &text), OPF_OK);
        const char *path = write_file(opf_text_string(&text));
        assert_int_equal(opf_groups_file_passes(path, OPF_POLICY_TVM), OPF_POLICY_BEST);
        const opf_fusion *again = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST, .groups_file = path}, diags);
        assert_int_equal(again->groups.count, first->groups.count);
        int64_t bytes[2] = {0};
        for (size_t g = 0; g < first->groups.count; g++) {
            bytes[0] += first->groups.data[g]->bytes_after;
            bytes[1] += again->groups.data[g]->bytes_after;
            assert_int_equal(again->groups.data[g]->nodes.count, first->groups.data[g]->nodes.count);
            assert_int_equal(again->groups.data[g]->step, first->groups.data[g]->step);
        }
        assert_int_equal(bytes[0], bytes[1]);
        unlink(path);
        opf_text_free(&text);
        opf_module_free(module);
        opf_diags_free(diags);
    }
}

static const struct { const char *text; size_t errors; const char *message; } mistakes[] = {
    {"{", 1, "line 1"},
    {"[]", 1, "no list of groups"},
    {"{\"groups\": [{}]}", 1, "group 0 has no list of nodes"},
    {"{\"groups\": [{\"nodes\": [\"max\", 3]}]}", 1, "entry 1 of the nodes of group 0"},
    {"{\"groups\": [{\"nodes\": [\"max\", \"maxx\"]}]}", 1, "'maxx' that the model does not have"},
    {"{\"groups\": [{\"nodes\": [\"max\"], \"stored\": [\"maxx\"]}]}", 1, "'maxx' that the model does not have"},
    {"{\"groups\": [{\"nodes\": [\"max\", \"sub\"]}, {\"nodes\": [\"sub\", \"exp\"]}]}", 1, "in group 0 and in group 1"},
    {"{\"groups\": [{\"nodes\": [\"max\", \"div\"]}]}", 1, "in a cycle"},
};

static void mistakes_are_said(void **unused) {
    (void)unused;
    for (size_t m = 0; m < OPF_COUNT(mistakes); m++) {
        opf_diags *diags = opf_diags_new();
        opf_module *module = load("grouping", "softmax_decomposed.onnx", OPF_POLICY_TVM, diags);
        const char *path = write_file(mistakes[m].text);
        opf_fusion *fusion = NULL;
        assert_int_equal(opf_fuse(&fusion, module->graph, &(opf_fuse_options){.policy = OPF_POLICY_TVM, .groups_file = path}), OPF_ERROR_INPUT);
        assert_null(fusion);
        assert_int_equal(opf_diags_errors(diags), mistakes[m].errors);
        assert_non_null(strstr(opf_diags_at(diags, 0)->message, mistakes[m].message));
        unlink(path);
        opf_module_free(module);
        opf_diags_free(diags);
    }
}

/* What nobody outside reads is stored where the file asks for it: at home, and in a place of its own where it is computed again. */
static void what_is_asked_for_is_stored(void **unused) {
    (void)unused;
    static const struct { const char *text; size_t results; } cases[] = {
        {"{\"groups\": [{\"nodes\": [\"max\", \"sub\", \"exp\"]}]}", 1},
        {"{\"groups\": [{\"nodes\": [\"max\", \"sub\", \"exp\"], \"stored\": [\"sub\"]}]}", 2},
        {"{\"groups\": [{\"nodes\": [\"max\", \"sub\", \"exp\"], \"stored\": [\"max\", \"sub\", \"exp\"]}]}", 3},
        {"{\"groups\": [{\"nodes\": [\"max\", \"sub\", \"exp\"], \"copied\": [\"max\"], \"stored\": [\"max\"]}]}", 2},
    };
    for (size_t k = 0; k < OPF_COUNT(cases); k++) {
        opf_diags *diags = opf_diags_new();
        opf_module *module = load("grouping", "softmax_decomposed.onnx", OPF_POLICY_TVM, diags);
        const char *path = write_file(cases[k].text);
        const opf_fusion *fusion = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_TVM, .groups_file = path}, diags);
        const opf_group *group = NULL;
        for (size_t g = 0; g < fusion->groups.count; g++)
            if (fusion->groups.data[g]->nodes.count == 3) group = fusion->groups.data[g];
        assert_non_null(group);
        assert_int_equal(group->results.count, cases[k].results);
        const opf_value *first = group->nodes.data[0]->outputs[0];
        if (group->copied.count) assert_true(group->results.data[0].value != first && strcmp(group->results.data[0].value->name, first->name) == 0);
        unlink(path);
        opf_module_free(module);
        opf_diags_free(diags);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_asked_for_is_stored), cmocka_unit_test(explain_is_read_back), cmocka_unit_test(best_is_pinned_under_its_own_passes), cmocka_unit_test(mistakes_are_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
