/* `build --check`: a group that is wrong only where it is fused is taken apart, and the report says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "api/context.h"
#include "own_cache.h"

#define CHAIN OPF_TEST_DATA "/../cli/models/chain.onnx"
#define COPIES OPF_TEST_DATA "/rows/front_shared.onnx" /* one of its groups computes a copy of another's node */

static bool spoil_group(opf_fusion *fusion, opf_group *group) {
    if (group->nodes.count < 2 || !group->stages.list.count) return false;
    opf_stage *stage = group->stages.list.data[group->stages.list.count - 1];
    stage->body = opf_binary(fusion->module->pool, OPF_OP_ADD, stage->body, opf_real(fusion->module->pool, (opf_dtype)stage->body->dtype, 0.25));
    return true;
}

/* Spoils the last stage of every group of several nodes. */
static void spoil(void *data, opf_fusion *fusion) {
    int *spoilt = data;
    for (size_t g = 0; g < fusion->groups.count; g++) *spoilt += spoil_group(fusion, fusion->groups.data[g]);
}

/* Spoils the last of these groups, once. */
static void spoil_last(void *data, opf_fusion *fusion) {
    int *spoilt = data;
    for (size_t g = fusion->groups.count; g-- > 0 && !*spoilt;) *spoilt += spoil_group(fusion, fusion->groups.data[g]);
}

static char *build(const char *path, int check, void (*spoil_some)(void *data, opf_fusion *fusion), int *spoilt) {
    opf_context *context = opf_context_new();
    opf_arena *scratch = opf_arena_new();
    opf_model *model;
    char *report = NULL, *folder;
    assert_int_equal(opf_context_set(context, "cache", cache), OPF_OK);
    context->on_fusion = spoil_some;
    context->fusion_data = spoilt;
    assert_int_equal(opf_folder_temporary(&folder, scratch, context->diags), OPF_OK);
    assert_int_equal(opf_model_load(&model, context, path), OPF_OK);
    opf_build_options options = {.check = check};
    assert_int_equal(opf_model_build_as(model, opf_arena_printf(scratch, "%s/net.so", folder), &options, &report), OPF_OK);
    opf_model_free(model);
    opf_folder_remove(folder);
    opf_arena_free(scratch);
    opf_context_free(context);
    return report;
}

static void wrong_groups_are_taken_apart(void **state) {
    (void)state;
    int spoilt = 0;
    char *report = build(CHAIN, 1, spoil, &spoilt);
    assert_int_equal(spoilt, 1); /* the second program has no such group */
    assert_non_null(strstr(report, "kept apart: Mul_0 + Sigmoid_1 + Add_2 + Relu_3"));
    assert_non_null(strstr(report, "checked: "));
    opf_string_free(report);
}

static void other_groups_stay_as_they_are(void **state) {
    (void)state;
    int spoilt = 0;
    char *report = build(COPIES, 1, spoil_last, &spoilt);
    const char *apart = strstr(report, "kept apart: ");
    assert_int_equal(spoilt, 1);
    assert_non_null(apart);
    assert_non_null(strstr(report, "checked: "));
    opf_string_free(report);
}

static void right_groups_stay(void **state) {
    (void)state;
    char *report = build(CHAIN, 1, NULL, NULL);
    assert_null(strstr(report, "kept apart"));
    assert_non_null(strstr(report, "checked: "));
    opf_string_free(report);
    report = build(CHAIN, 0, NULL, NULL);
    assert_null(strstr(report, "checked: "));
    opf_string_free(report);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_groups_are_taken_apart), cmocka_unit_test(other_groups_stay_as_they_are),
                                       cmocka_unit_test(right_groups_stay)};
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
