/* Transposes, and axes of one element that come and go, around element-wise work: what the pass leaves of them in the models of test/data/transposes,
 * look-alikes among them. Numbers: test/cli/verify-transposes. */
#include "fusion.h"

static int count_turns(const opf_graph *graph) {
    static const char *const turns[] = {"Transpose", "Squeeze", "Unsqueeze", "Reshape"};
    int count = 0;
    for (size_t i = 0; i < graph->nodes.count; i++)
        for (size_t k = 0; k < OPF_COUNT(turns); k++)
            count += strcmp(graph->nodes.data[i]->op, turns[k]) == 0;
    return count;
}

static void check_model(const char *name, const json_t *left) {
    char file[128];
    snprintf(file, sizeof file, "%s.onnx", name);
    opf_diags *diags = opf_diags_new();
    opf_module *module = load("transposes", file, OPF_POLICY_BEST, diags);
    if (count_turns(module->graph) != json_integer_value(left))
        fail_msg("%s: %d nodes that move or change axes", name, count_turns(module->graph));
    check_order(fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST}, diags));
    opf_module_free(module);
    opf_diags_free(diags);
}

static void transposes_meet(void **unused) {
    (void)unused;
    each_expected("transposes", 20, check_model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(transposes_meet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
