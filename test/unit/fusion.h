/* What tests of fusion share: models of test/data, and what must hold of any fusion. */
#ifndef OPF_TEST_FUSION_H
#define OPF_TEST_FUSION_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "fuse/fuse.h"
#include "onnx/onnx.h"
#include "pass/pass.h"

static inline void print_diags(const opf_diags *diags)
{
    opf_text text = {0};
    for (size_t i = 0; i < opf_diags_count(diags); i++)
        opf_diag_print(opf_diags_at(diags, i), &text);
    fputs(opf_text_string(&text), stderr);
    opf_text_free(&text);
}

/* Kernels, those of branches and loops included. */
static inline int count_kernels(const opf_fusion *fusion)
{
    int kernels = 0;
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        kernels += group->step == OPF_STEP_KERNEL;
        for (size_t b = 0; b < OPF_COUNT(group->bodies); b++)
            kernels += group->bodies[b] ? count_kernels(group->bodies[b]) : 0;
    }
    return kernels;
}

/* Each model of a folder of test/data with what its expected.json says of it, which speaks of at least so many. */
static inline void each_expected(const char *folder, size_t least, void (*check)(const char *name, const json_t *expected))
{
    opf_text path = {0};
    opf_text_printf(&path, OPF_TEST_DATA "/%s/expected.json", folder);
    json_t *all = json_load_file(opf_text_string(&path), 0, NULL), *expected;
    opf_text_free(&path);
    assert_true(json_object_size(all) >= least);
    const char *name;
    json_object_foreach(all, name, expected)
        check(name, expected);
    json_decref(all);
}

static int group_of[4096];

static inline void check_order(const opf_fusion *fusion)
{
    size_t nodes = 0;
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        assert_int_equal(group->id, g);
        for (size_t i = 0; i < group->nodes.count; i++) {
            bool again = false;
            for (size_t c = 0; c < group->copied.count; c++)
                again = again || group->copied.data[c] == group->nodes.data[i];
            if (again)
                continue;
            group_of[group->nodes.data[i]->id] = (int)g;
            nodes++;
        }
    }
    assert_int_equal(nodes, fusion->graph->nodes.count);
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        assert_true(group->step == OPF_STEP_FOLDED || group->results.count > 0);
        for (size_t i = 0; i < group->stages.inputs.count; i++) {
            const opf_node *producer = group->stages.inputs.data[i]->producer;
            assert_true(!producer || group_of[producer->id] < (int)g);
        }
        assert_true(group->bytes_after <= group->bytes_before);
    }
}

static inline void check_edges(const opf_fusion *fusion)
{
    size_t uses = 0;
    for (size_t i = 0; i < fusion->graph->nodes.count; i++) {
        const opf_node *node = fusion->graph->nodes.data[i];
        for (int k = 0; k < node->n_inputs; k++) {
            bool again = false;
            for (int j = 0; j < k; j++)
                again = again || node->inputs[j] == node->inputs[k];
            uses += !again && node->inputs[k] && node->inputs[k]->producer;
        }
    }
    assert_int_equal(fusion->edges.count, uses);
    for (size_t e = 0; e < fusion->edges.count; e++) {
        const opf_edge *edge = &fusion->edges.data[e];
        bool together = group_of[edge->from->id] == group_of[edge->to->id];
        assert_true(edge->verdict != OPF_FUSED || together);
        assert_true(edge->verdict != OPF_REFUSED || !together);
        assert_non_null(edge->rule);
        assert_true(strlen(edge->reason) > 10);
        assert_null(strchr(edge->reason, '{'));
        assert_null(strchr(edge->reason, '?'));
        for (size_t f = 0; f < e; f++)
            assert_false(fusion->edges.data[f].to == edge->to && fusion->edges.data[f].value == edge->value);
    }
}

static inline void check_json(const opf_fusion *fusion)
{
    opf_text text = {0};
    assert_int_equal(opf_explain_json(fusion, &text), OPF_OK);
    json_t *report = json_loads(opf_text_string(&text), 0, NULL);
    assert_non_null(report);
    assert_int_equal(json_integer_value(json_object_get(report, "schema")), 1);
    assert_int_equal(json_array_size(json_object_get(report, "groups")), fusion->groups.count);
    assert_int_equal(json_array_size(json_object_get(report, "edges")), fusion->edges.count);
    size_t g;
    json_t *group;
    int kernels = 0;
    json_array_foreach(json_object_get(report, "groups"), g, group)
        kernels += strcmp(json_string_value(json_object_get(group, "step")), "kernel") == 0;
    assert_int_equal(json_integer_value(json_object_get(report, "kernels")), kernels);
    json_decref(report);
    opf_text_free(&text);
}

/* OPF_TEST_DATA/folder/file, typed and passed through the policy's passes. */
static inline opf_module *load(const char *folder, const char *file, opf_policy policy, opf_diags *diags)
{
    opf_text path = {0};
    opf_text_printf(&path, OPF_TEST_DATA "/%s/%s", folder, file);
    opf_module *module = NULL;
    opf_status status = opf_onnx_read(&module, opf_text_string(&path), diags);
    if (status == OPF_OK)
        status = opf_graph_type(module, NULL, 0);
    if (status == OPF_OK)
        status = opf_passes_run(module, policy);
    if (status != OPF_OK)
        print_diags(diags);
    assert_int_equal(status, OPF_OK);
    opf_text_free(&path);
    return module;
}

/* Fuses and checks what holds of any fusion. */
static inline opf_fusion *fuse(opf_module *module, const opf_fuse_options *options, const opf_diags *diags)
{
    opf_fusion *fusion = NULL;
    opf_status status = opf_fuse(&fusion, module->graph, options);
    if (status != OPF_OK)
        print_diags(diags);
    assert_int_equal(status, OPF_OK);
    check_order(fusion);
    check_edges(fusion);
    check_json(fusion);
    return fusion;
}

#endif
