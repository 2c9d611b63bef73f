/* What a better fuser than TVM may do with the models of test/data/grouping (`a_better_fuser_may` of each): the kernels of
 * policy best, and the verdict on the use that it is about. */
#include "fusion.h"

static const struct {
    const char *model;
    int kernels;
    const char *from, *to; /* the use; NULL: the number of kernels says it */
    opf_verdict verdict;
    const char *rule;
} better[] = {
    {"attention_core", 1, "sm", "mm2", OPF_FUSED, "row-blocks"},
    {"broadcast_before_anchor", 1, "add", "mm", OPF_FUSED, "prologue"},
    {"concat_of_concats", 2, "out1", "out2", OPF_FUSED, "in-passing"}, /* a model output in mid-chain */
    {"elemwise_before_anchor", 1, "relu", "conv", OPF_FUSED, "prologue"},
    {"elemwise_reduce_elemwise", 1, "sum", "log", OPF_FUSED, "rows"},
    {"embedding_add_norm", 1, "add", "ln", OPF_FUSED, "rows"},
    {"fanout_to_two_outputs", 1, "relu", "exp", OPF_FUSED, NULL},
    {"inception_like", 4, "r0", "cat1", OPF_VIEWED, "join"},
    {"injective_into_anchor_group", 1, "t", "add", OPF_FUSED, NULL},
    {"layernorm_decomposed", 1, "mean", "sub", OPF_FUSED, "rows"},
    {"output_used_inside", 1, "relu", "exp", OPF_FUSED, "in-passing"},
    {"resnet_basic_block", 2, "r0", "add", OPF_COPIED, "copied"}, /* its producer is an input: computed again by both readers */
    {"softmax_decomposed", 1, "exp", "div", OPF_FUSED, "rows"},
    {"split_before_anchor", 1, "split", "mm", OPF_FUSED, "prologue"},
    {"squeeze_excite", 2, "r", "fc2", OPF_COPIED, "gate"},
    /* A second, turned result of a pool: 2 KiB once more would be read, but the pool's nest would write across memory. */
    {"two_outputs_root", 2, "relu", "t", OPF_REFUSED, "passing-apart"},
    {"transposes_between_convs", 2, "t2", "c2", OPF_FUSED, "prologue"},
};

static const opf_edge *find_edge(const opf_fusion *fusion, const char *from, const char *to) {
    for (size_t e = 0; e < fusion->edges.count; e++)
        if (!strcmp(fusion->edges.data[e].from->name, from) && !strcmp(fusion->edges.data[e].to->name, to))
            return &fusion->edges.data[e];
    return NULL;
}

static void fail_with(const opf_fusion *fusion, const char *model, const char *what) {
    opf_text text = {0};
    opf_explain_text(fusion, &text);
    fail_msg("%s: %s\n%s", model, what, opf_text_string(&text));
}

static void what_a_better_fuser_may(void **unused) {
    (void)unused;
    for (size_t i = 0; i < OPF_COUNT(better); i++) {
        char file[128];
        snprintf(file, sizeof file, "%s.onnx", better[i].model);
        opf_diags *diags = opf_diags_new();
        opf_module *module = load("grouping", file, OPF_POLICY_BEST, diags);
        const opf_fusion *fusion = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST}, diags);
        if (count_kernels(fusion) != better[i].kernels)
            fail_with(fusion, better[i].model, "another number of kernels");
        const opf_edge *edge = better[i].from ? find_edge(fusion, better[i].from, better[i].to) : NULL;
        bool holds = !better[i].from || (edge && edge->verdict == better[i].verdict && (!better[i].rule || !strcmp(edge->rule, better[i].rule)));
        if (!holds)
            fail_with(fusion, better[i].model, edge ? edge->rule : "no such use");
        opf_module_free(module);
        opf_diags_free(diags);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_better_fuser_may)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
