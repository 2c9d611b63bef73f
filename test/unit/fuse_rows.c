/* Policy best row by row: the models of test/data/rows (softmax and norms in the forms that exporters give, look-alikes,
 * several results) against the kernels that are expected of them, and the words for what stays apart; those of test/data/forms
 * (layer norm, softmax, Gelu and attention in forms of several opsets), which are one kernel each. */
#include <dirent.h>

#include "fusion.h"

#include "fuse/settings.h"

static void check_kernels(const char *folder, const char *file, int64_t kernels) {
    opf_diags *diags = opf_diags_new();
    opf_module *module = load(folder, file, OPF_POLICY_BEST, diags);
    const opf_fusion *fusion = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST}, diags);
    if (count_kernels(fusion) != kernels) {
        opf_text text = {0};
        opf_explain_text(fusion, &text);
        fail_msg("%s: expected %lld kernels\n%s", file, (long long)kernels, opf_text_string(&text));
    }
    opf_module_free(module);
    opf_diags_free(diags);
}

static void check_model(const char *name, const json_t *kernels) {
    char file[128];
    snprintf(file, sizeof file, "%s.onnx", name);
    check_kernels("rows", file, json_integer_value(kernels));
}

static void forms_do_not_matter(void **unused) {
    (void)unused;
    each_expected("rows", 20, check_model);
}

static void every_form_is_one_kernel(void **unused) {
    (void)unused;
    static const char *const kinds[] = {"norm_", "softmax_", "gelu_", "attention_"};
    int forms[OPF_COUNT(kinds)] = {0};
    DIR *folder = opendir(OPF_TEST_DATA "/forms");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!strstr(entry->d_name, ".onnx"))
            continue;
        for (size_t k = 0; k < OPF_COUNT(kinds); k++)
            forms[k] += strncmp(entry->d_name, kinds[k], strlen(kinds[k])) == 0;
        check_kernels("forms", entry->d_name, 1);
    }
    closedir(folder);
    for (size_t k = 0; k < OPF_COUNT(kinds); k++)
        assert_true(forms[k] >= 15);
}

/* The case's groups never have more kernels under best than under tvm. */
static void best_is_never_worse(void **unused) {
    (void)unused;
    static const char *const models[] = {"attention_core", "concat_of_concats", "conv_diamond_two_anchors", "layernorm_decomposed",
        "softmax_decomposed", "embedding_add_norm", "fanout_to_two_outputs", "output_used_inside", "squeeze_excite", "two_outputs_root"};
    static const int most[] = {3, 3, 4, 1, 1, 1, 1, 1, 4, 2};
    for (size_t m = 0; m < OPF_COUNT(models); m++) {
        char file[128];
        snprintf(file, sizeof file, "%s.onnx", models[m]);
        opf_diags *diags = opf_diags_new();
        opf_module *module = load("grouping", file, OPF_POLICY_BEST, diags);
        assert_true(count_kernels(fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST}, diags)) <= most[m]);
        opf_module_free(module);
        opf_diags_free(diags);
    }
}

static const struct { const char *model, *from, *to; opf_verdict verdict; const char *rule; } expected_edges[] = {
    {"softmax_written.onnx", "Exp_3", "Div_6", OPF_FUSED, "rows"},
    {"siblings_of_one_shape.onnx", "Relu_1", "Exp_2", OPF_FUSED, "in-passing"},
    {"results_of_two_shapes.onnx", "Exp_1", "ReduceSum_3", OPF_REFUSED, "domains"},
    {"long_row_alone.onnx", "ReduceMean_2", "Sqrt_3", OPF_REFUSED, "few-rows"},
    {"front_heads.onnx", "Transpose_3", "MatMul_5", OPF_FUSED, "prologue"},
    {"front_relu_conv_1.onnx", "Relu_1", "Conv_3", OPF_FUSED, "prologue"},
    {"front_columns_conv_1.onnx", "Mul_1", "Conv_3", OPF_REFUSED, "prologue-in-place"},
    {"front_relu_depthwise.onnx", "Relu_1", "Conv_3", OPF_REFUSED, "prologue-repeated"},
    {"front_concat_conv.onnx", "Concat_1", "Conv_3", OPF_REFUSED, "prologue-joins"},
    {"front_exp_product.onnx", "Exp_1", "MatMul_3", OPF_FUSED, "row-blocks"},
    {"attention_scaled_after.onnx", "Softmax_5", "MatMul_6", OPF_FUSED, "row-blocks"},
    {"large_product_normalised.onnx", "MatMul_1", "Softmax_2", OPF_REFUSED, "blocks-again"},
    {"product_of_few_rows_normalised.onnx", "MatMul_1", "Softmax_2", OPF_REFUSED, "blocks-again"},
    {"batches_of_one_weight.onnx", "MatMul_1", "Softmax_2", OPF_REFUSED, "blocks-again"},
    {"front_shared.onnx", "Transpose_1", "MatMul_3", OPF_COPIED, "copied"},
    {"front_shared_dear.onnx", "Exp_1", "MatMul_3", OPF_REFUSED, "prologue-shared"},
    {"gate_of_channels.onnx", "HardSwish_1", "GlobalAveragePool_2", OPF_COPIED, "copied"},
    {"bottleneck_large.onnx", "Clip_5", "Conv_7", OPF_REFUSED, "bands-expanded"},
    {"bottleneck_large.onnx", "Relu_8", "Conv_10", OPF_FUSED, "bands"},
    {"bottleneck_small.onnx", "Clip_5", "Conv_7", OPF_REFUSED, "bands-expanded"},
    {"bottleneck_strided.onnx", "Clip_5", "Conv_7", OPF_FUSED, "pool-behind"},
    {"bottleneck_strided.onnx", "Clip_10", "Conv_12", OPF_REFUSED, "anchor-edge"},
    {"bottleneck_strided_small.onnx", "Clip_5", "Conv_7", OPF_REFUSED, "bands-expanded"},
    {"pool_behind_large.onnx", "Relu_4", "MaxPool_5", OPF_FUSED, "pool-behind"},
    {"pool_behind_small.onnx", "Relu_4", "MaxPool_5", OPF_REFUSED, "bands-cached"},
    {"pool_behind_winograd.onnx", "Relu_4", "MaxPool_5", OPF_REFUSED, "anchor-edge"},
    {"depthwise_pair_large.onnx", "Clip_5", "Conv_7", OPF_FUSED, "bands"},
    {"depthwise_pair_small.onnx", "Clip_5", "Conv_7", OPF_REFUSED, "bands-cached"},
    {"gate_of_channels.onnx", "Relu_5", "Conv_7", OPF_COPIED, "gate"},
    {"softmax_then_transpose.onnx", "Softmax_1", "Transpose_2", OPF_REFUSED, "against-grain"},
    {"sums_crossed.onnx", "ReduceSum_2", "Add_4", OPF_REFUSED, "not-rows"},
};

static void uses_say_why(void **unused) {
    (void)unused;
    for (size_t i = 0; i < OPF_COUNT(expected_edges); i++) {
        opf_diags *diags = opf_diags_new();
        opf_module *module = load("rows", expected_edges[i].model, OPF_POLICY_BEST, diags);
        const opf_fusion *fusion = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST}, diags);
        const opf_edge *found = NULL;
        for (size_t e = 0; e < fusion->edges.count; e++)
            if (!strcmp(fusion->edges.data[e].from->name, expected_edges[i].from) && !strcmp(fusion->edges.data[e].to->name, expected_edges[i].to))
                found = &fusion->edges.data[e];
        assert_non_null(found);
        assert_string_equal(found->rule, expected_edges[i].rule);
        assert_int_equal(found->verdict, expected_edges[i].verdict);
        opf_module_free(module);
        opf_diags_free(diags);
    }
}

/* Weights that stay in no cache are read again for each block, and copied first where their columns fill no whole vectors. */
static void copies_of_weights_count(void **unused) {
    (void)unused;
    static const char *const models[] = {"weight_of_whole_vectors.onnx", "weight_copied_first.onnx"};
    for (int m = 0; m < 2; m++) {
        opf_diags *diags = opf_diags_new();
        opf_module *module = load("rows", models[m], OPF_POLICY_BEST, diags);
        opf_rule_settings settings;
        opf_rule_settings_init(&settings);
        settings.thresholds[OPF_THRESHOLD_FACTOR_BYTES] = 4096;
        assert_int_equal(count_kernels(fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST, .settings = &settings}, diags)), 1 + m);
        opf_module_free(module);
        opf_diags_free(diags);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms_do_not_matter), cmocka_unit_test(every_form_is_one_kernel), cmocka_unit_test(best_is_never_worse), cmocka_unit_test(uses_say_why), cmocka_unit_test(copies_of_weights_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
