/* The dynamic programme beside the greedy plan: a graph where it finds the better plan, one where it does not, one that is too
 * wide for it; and it is never dearer than the greedy plan, whatever the model. */
#include <dirent.h>

#include "fuse/settings.h"
#include "fusion.h"

static opf_diags *diags;
static opf_module *module;

static const opf_fusion *best(const char *folder, const char *file) {
    diags = opf_diags_new();
    module = load(folder, file, OPF_POLICY_BEST, diags);
    return fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST}, diags);
}

static void done(void) {
    opf_module_free(module);
    opf_diags_free(diags);
}

static int group_with(const opf_fusion *fusion, const char *node) {
    for (size_t g = 0; g < fusion->groups.count; g++)
        for (size_t i = 0; i < fusion->groups.data[g]->nodes.count; i++)
            if (!strcmp(fusion->groups.data[g]->nodes.data[i]->name, node))
                return (int)g;
    fail_msg("no node '%s'", node);
    return -1;
}

/* Greedily, mean and difference are one nest row by row, and the centred rows are stored. Where the difference is taken while
 * the product reads its operand, only the means are. */
static void the_programme_is_better(void **unused) {
    (void)unused;
    const opf_fusion *fusion = best("plans", "centred_large.onnx");
    assert_true(fusion->plans.ran && fusion->plans.taken);
    assert_true(fusion->plans.seconds < fusion->plans.greedy_seconds * 0.9);
    assert_int_equal(fusion->groups.count, 2);
    assert_int_equal(group_with(fusion, "centre"), group_with(fusion, "product"));
    assert_int_not_equal(group_with(fusion, "mean"), group_with(fusion, "product"));
    /* what is saved: 512 x 512 numbers are neither written nor read, at 1/72 ns a byte; 512 means are, and x is read twice */
    double saved = fusion->plans.greedy_seconds - fusion->plans.seconds;
    assert_true(saved > 0.9 * 1048576 / 72e9 && saved < 1.1 * 1048576 / 72e9);
    opf_text text = {0};
    opf_explain_text(fusion, &text);
    assert_non_null(strstr(opf_text_string(&text), "the programme's is taken"));
    opf_text_free(&text);
    done();
}

static void the_greedy_plan_is_as_good(void **unused) {
    (void)unused;
    const opf_fusion *fusion = best("plans", "centred_small.onnx");
    assert_true(fusion->plans.ran && !fusion->plans.taken);
    assert_int_equal(fusion->groups.count, 1);
    assert_int_equal(fusion->plans.down_sets, 4); /* of a chain of three */
    assert_true(fusion->plans.seconds > fusion->plans.greedy_seconds * 0.99999);
    done();
}

static void a_wide_graph_is_left_alone(void **unused) {
    (void)unused;
    const opf_fusion *fusion = best("plans", "wide.onnx");
    assert_true(!fusion->plans.ran && !fusion->plans.taken && fusion->plans.greedy_seconds > 0);
    assert_non_null(strstr(fusion->plans.why, "too wide"));
    opf_text text = {0};
    assert_int_equal(opf_explain_json(fusion, &text), OPF_OK);
    json_t *report = json_loads(opf_text_string(&text), 0, NULL), *plan = json_array_get(json_object_get(report, "plans"), 0);
    assert_true(json_is_null(json_object_get(plan, "programme_ms")));
    assert_string_equal(json_string_value(json_object_get(plan, "taken")), "greedy");
    json_decref(report);
    opf_text_free(&text);
    done();
}

/* A rule that is off is off for both plans. */
static void rules_bind_the_programme(void **unused) {
    (void)unused;
    opf_rule_settings settings;
    opf_rule_settings_init(&settings);
    settings.off[OPF_RULE_PROLOGUE] = "a test";
    settings.any_off = true;
    diags = opf_diags_new();
    module = load("plans", "centred_large.onnx", OPF_POLICY_BEST, diags);
    const opf_fusion *fusion = fuse(module, &(opf_fuse_options){.policy = OPF_POLICY_BEST, .settings = &settings}, diags);
    assert_false(fusion->plans.taken);
    assert_int_equal(group_with(fusion, "mean"), group_with(fusion, "centre"));
    done();
}

static void never_dearer(void **unused) {
    (void)unused;
    static const char *const folders[] = {"grouping", "rows", "plans"};
    int ran = 0;
    for (size_t f = 0; f < OPF_COUNT(folders); f++) {
        opf_text path = {0};
        opf_text_printf(&path, OPF_TEST_DATA "/%s", folders[f]);
        DIR *folder = opendir(opf_text_string(&path));
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));) {
            if (!strstr(entry->d_name, ".onnx"))
                continue;
            const opf_fusion *fusion = best(folders[f], entry->d_name);
            ran += fusion->plans.ran;
            if (fusion->plans.ran && fusion->plans.seconds > fusion->plans.greedy_seconds * (1 + 1e-9))
                fail_msg("%s: the programme's plan is dearer", entry->d_name);
            done();
        }
        closedir(folder);
        opf_text_free(&path);
    }
    assert_true(ran > 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_programme_is_better),    cmocka_unit_test(the_greedy_plan_is_as_good), cmocka_unit_test(a_wide_graph_is_left_alone),
        cmocka_unit_test(rules_bind_the_programme),   cmocka_unit_test(never_dearer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
