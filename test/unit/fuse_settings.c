/* Rule files: what they say is taken or nothing of it, rules that are off join nothing, and the log says so. */
#include "fusion.h"

#include "fuse/settings.h"

static opf_status read_rules(opf_rule_settings *settings, const char *text, opf_arena *arena, opf_diags *diags) {
    return opf_rule_settings_read(settings, text, "my.rules", arena, diags);
}

static void lines_are_taken(void **unused) {
    (void)unused;
    opf_arena *arena = opf_arena_new();
    opf_diags *diags = opf_diags_new();
    opf_rule_settings settings;
    opf_rule_settings_init(&settings);
    assert_false(settings.any_off);
    assert_int_equal(read_rules(&settings, "# a comment\n\n  off siblings # and one behind\nset long-row.bytes = 64 KiB\nset copied.readers=2\r\noff few-rows", arena, diags), OPF_OK);
    assert_true(settings.any_off);
    assert_string_equal(settings.off[OPF_RULE_SIBLINGS], "my.rules:3");
    assert_null(settings.off[OPF_RULE_ROWS]);
    assert_true(opf_threshold_of(&settings, OPF_THRESHOLD_ROW_BYTES) == 65536);
    assert_true(opf_threshold_of(&settings, OPF_THRESHOLD_COPY_READERS) == 2);
    assert_true(opf_threshold_of(&settings, OPF_THRESHOLD_ROWS) == 0);
    opf_arena_free(arena);
    opf_diags_free(diags);
}

static const struct { const char *text, *message; } mistakes[] = {
    {"off sibling", "line 1: there is no rule 'sibling'"},
    {"\noff domains", "line 2: rule 'domains' says what is possible"},
    {"off view", "cannot be switched off"},
    {"off", "`off RULE` or `set THRESHOLD = NUMBER` expected"},
    {"on siblings", "expected, not 'on siblings'"},
    {"off siblings rows", "one rule a line"},
    {"set long-row.bytes 4", "'=' and a number expected"},
    {"set long-row.bytes = much", "'much' is no number"},
    {"set long-row.bytes = nan", "'nan' is no number"},
    {"set long-row.bytes = -1", "long-row.bytes is from 0"},
    {"set copied.readers = 17", "copied.readers is from 2 to 16"},
    {"set copied.readers = inf", "copied.readers is from 2 to 16"},
    {"set long-row = 4", "there is no threshold 'long-row'"},
    {"set long-row.bytes = 4 GiB", "'4 GiB' is no number"},
};

static void mistakes_are_said_and_nothing_taken(void **unused) {
    (void)unused;
    for (size_t m = 0; m < OPF_COUNT(mistakes); m++) {
        opf_arena *arena = opf_arena_new();
        opf_diags *diags = opf_diags_new();
        opf_rule_settings settings, before;
        opf_rule_settings_init(&settings);
        before = settings;
        opf_text text = {0};
        opf_text_printf(&text, "%s\noff rows\n", mistakes[m].text);
        assert_int_equal(read_rules(&settings, opf_text_string(&text), arena, diags), OPF_ERROR_INPUT);
        assert_memory_equal(&settings, &before, sizeof settings);
        assert_int_equal(opf_diags_errors(diags), 1);
        if (!strstr(opf_diags_at(diags, 0)->message, mistakes[m].message))
            fail_msg("'%s' does not say '%s'", opf_diags_at(diags, 0)->message, mistakes[m].message);
        opf_text_free(&text);
        opf_arena_free(arena);
        opf_diags_free(diags);
    }
}

static int count_rule(const opf_fusion *fusion, const char *rule) {
    int count = 0;
    for (size_t e = 0; e < fusion->edges.count; e++)
        count += strcmp(fusion->edges.data[e].rule, rule) == 0;
    return count;
}

/* Each rule that joins, off: it joins nothing, and what hangs on it is refused as switched off, with the place in the file. */
static void rules_that_are_off_join_nothing(void **unused) {
    (void)unused;
    static const struct { const char *rule, *folder, *file; opf_policy policy; } cases[] = {
        {"anchor-epilogue", "grouping", "resnet_basic_block.onnx", OPF_POLICY_TVM},
        {"elemwise", "grouping", "softmax_decomposed.onnx", OPF_POLICY_TVM},
        {"rows", "grouping", "softmax_decomposed.onnx", OPF_POLICY_BEST},
        {"gate", "../../examples/ppocr_cls_v2", "model.onnx", OPF_POLICY_BEST}};
    for (size_t c = 0; c < OPF_COUNT(cases); c++) {
        opf_diags *diags = opf_diags_new();
        opf_module *module = load(cases[c].folder, cases[c].file, cases[c].policy, diags);
        const opf_fusion *with = fuse(module, &(opf_fuse_options){.policy = cases[c].policy}, diags);
        assert_true(count_rule(with, cases[c].rule) > 0);
        assert_int_equal(count_rule(with, "switched-off"), 0);
        opf_rule_settings settings;
        opf_rule_settings_init(&settings);
        opf_text text = {0};
        opf_text_printf(&text, "off %s", cases[c].rule);
        assert_int_equal(read_rules(&settings, opf_text_string(&text), module->arena, diags), OPF_OK);
        const opf_fusion *without = fuse(module, &(opf_fuse_options){.policy = cases[c].policy, .settings = &settings}, diags);
        assert_int_equal(count_rule(without, cases[c].rule), 0);
        assert_true(count_rule(without, "switched-off") > 0);
        for (size_t e = 0; e < without->edges.count; e++) {
            const opf_edge *edge = &without->edges.data[e];
            if (strcmp(edge->rule, "switched-off") != 0)
                continue;
            assert_int_equal(edge->verdict, OPF_REFUSED);
            assert_non_null(strstr(edge->reason, "(my.rules:1)"));
            assert_non_null(edge->remedy);
        }
        opf_text_free(&text);
        opf_module_free(module);
        opf_diags_free(diags);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_are_taken), cmocka_unit_test(mistakes_are_said_and_nothing_taken),
                                       cmocka_unit_test(rules_that_are_off_join_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
