/* TVM's groups on the cases of test/data/grouping: with the kinds that a case gives (the algorithm alone) and with the
 * operators' own. Every case also holds what must be true of any fusion: order, one group a node, one verdict a use. */
#include "fusion.h"

#include <dirent.h>

static const char folder[] = OPF_TEST_DATA "/grouping";

static int kind_of(void *data, const char *node) {
    const char *name = json_string_value(json_object_get(data, node));
    for (int kind = 0; name && kind <= OPF_KIND_OPAQUE; kind++)
        if (strcmp(opf_kind_name((opf_kind)kind), name) == 0)
            return kind;
    return -1;
}

/* Which expected group names the node; -1: none. */
static int expected_group(const json_t *groups, const char *node) {
    size_t g, n;
    json_t *group, *name;
    json_array_foreach(groups, g, group)
        json_array_foreach(group, n, name)
            if (strcmp(json_string_value(name), node) == 0)
                return (int)g;
    return -1;
}

static void check_groups(const char *name, const opf_fusion *fusion, const json_t *groups) {
    if (fusion->groups.count != json_array_size(groups)) {
        opf_text text = {0};
        opf_explain_text(fusion, &text);
        fail_msg("%s: %zu groups, expected %zu\n%s", name, fusion->groups.count, json_array_size(groups), opf_text_string(&text));
    }
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        int expected = expected_group(groups, group->nodes.data[0]->name);
        assert_true(expected >= 0);
        if (group->nodes.count != json_array_size(json_array_get(groups, (size_t)expected)))
            fail_msg("%s: the group of '%s' has %zu nodes", name, group->nodes.data[0]->name, group->nodes.count);
        for (size_t i = 0; i < group->nodes.count; i++)
            if (expected_group(groups, group->nodes.data[i]->name) != expected)
                fail_msg("%s: '%s' and '%s' are in one group", name, group->nodes.data[0]->name, group->nodes.data[i]->name);
    }
}

/* ---- the cases ---- */

static void run_case(const char *name, const json_t *expected) {
    opf_diags *diags = opf_diags_new();
    opf_module *module = load("grouping", json_string_value(json_object_get(expected, "onnx")), OPF_POLICY_TVM, diags);
    const json_t *groups = json_object_get(expected, "groups"), *dead = json_object_get(expected, "dead");
    assert_int_equal(module->removed.count, json_array_size(dead));
    for (size_t i = 0; i < module->removed.count; i++)
        assert_string_equal(module->removed.data[i].node, json_string_value(json_array_get(dead, i)));

    opf_fuse_options options = {.policy = OPF_POLICY_TVM, .kind_override = kind_of, .kind_data = json_object_get(expected, "kinds")};
    options.max_depth = (int)json_integer_value(json_object_get(json_object_get(expected, "config"), "max_depth"));
    check_groups(name, fuse(module, &options, diags), groups);
    options.kind_override = NULL;
    check_groups(name, fuse(module, &options, diags), groups);

    options.policy = OPF_POLICY_NONE;
    assert_int_equal(fuse(module, &options, diags)->groups.count, module->graph->nodes.count);
    opf_module_free(module);
    opf_diags_free(diags);
}

static int is_case(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

static void all_cases_are_exact(void **unused) {
    (void)unused;
    struct dirent **entries;
    int count = scandir(folder, &entries, is_case, alphasort);
    assert_true(count >= 28);
    for (int i = 0; i < count; i++) {
        opf_text path = {0};
        opf_text_printf(&path, "%s/%s", folder, entries[i]->d_name);
        json_t *expected = json_load_file(opf_text_string(&path), 0, NULL);
        assert_non_null(expected);
        run_case(entries[i]->d_name, expected);
        json_decref(expected);
        opf_text_free(&path);
        free(entries[i]);
    }
    free(entries);
}

/* ---- the log ---- */

static const struct { const char *model, *from, *to; opf_verdict verdict; const char *rule, *blocker; } expected_edges[] = {
    {"conv_bn_relu.onnx", "conv", "bn", OPF_FUSED, "anchor-epilogue", NULL},
    {"conv_bn_relu.onnx", "bn", "relu", OPF_FUSED, "anchor-epilogue", NULL},
    {"elemwise_before_anchor.onnx", "relu", "conv", OPF_REFUSED, "before-anchor", "conv"},
    {"elemwise_reduce_elemwise.onnx", "exp", "sum", OPF_FUSED, "elemwise", NULL},
    {"elemwise_reduce_elemwise.onnx", "sum", "log", OPF_REFUSED, "reduction-ends-group", NULL},
    {"fanout_to_two_outputs.onnx", "relu", "exp", OPF_REFUSED, "no-meeting", NULL},
    {"output_used_inside.onnx", "relu", "exp", OPF_REFUSED, "model-output", NULL},
    {"opaque_barrier.onnx", "r1", "cs", OPF_REFUSED, "opaque-consumer", "cs"},
    {"opaque_barrier.onnx", "cs", "r2", OPF_REFUSED, "opaque-producer", NULL},
    {"parallel_injective.onnx", "rs", "mul", OPF_FUSED, "elemwise", NULL},
    {"injective_into_anchor_group.onnx", "t", "add", OPF_REFUSED, "injective-sink", "add"},
    {"conv_diamond_two_anchors.onnx", "conv3", "add3", OPF_REFUSED, "anchor-sink", "add3"},
    {"resnet_basic_block.onnx", "r0", "add", OPF_REFUSED, "anchor-between", "c1"},
    {"resnet_basic_block.onnx", "r1", "c2", OPF_REFUSED, "anchor-edge", "c2"},
    {"max_depth_chain.onnx", "e9", "e10", OPF_REFUSED, "max-depth", "e10"},
    {"softmax_decomposed.onnx", "exp", "sum", OPF_REFUSED, "elemwise-path", "sum"},
    {"split_before_anchor.onnx", "split", "mm", OPF_REFUSED, "injective-sink", "mm"},
};

static void edges_say_why(void **unused) {
    (void)unused;
    for (size_t i = 0; i < OPF_COUNT(expected_edges); i++) {
        opf_diags *diags = opf_diags_new();
        opf_module *module = load("grouping", expected_edges[i].model, OPF_POLICY_TVM, diags);
        int limit = strncmp(expected_edges[i].model, "max_depth_chain", 15) == 0 ? 10 : 0;
        const opf_fusion *fusion = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_TVM, .max_depth = limit}, diags);
        bool found = false;
        for (size_t e = 0; e < fusion->edges.count; e++) {
            const opf_edge *edge = &fusion->edges.data[e];
            if (strcmp(edge->from->name, expected_edges[i].from) || strcmp(edge->to->name, expected_edges[i].to))
                continue;
            found = true;
            assert_int_equal(edge->verdict, expected_edges[i].verdict);
            assert_string_equal(edge->rule, expected_edges[i].rule);
            if (expected_edges[i].blocker)
                assert_string_equal(edge->blocker->name, expected_edges[i].blocker);
            else
                assert_null(edge->blocker);
        }
        assert_true(found);
        opf_module_free(module);
        opf_diags_free(diags);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_cases_are_exact), cmocka_unit_test(edges_say_why)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
