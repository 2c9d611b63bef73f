/* `build --check`: every group runs once on seeded and once on special values beside the evaluator; one that is beyond its bound is
 * taken apart into its nodes, and the report says so. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/build.h"
#include "check/replay.h"
#include "eval/eval.h"

enum { MOST_ROUNDS = 3, SPECIAL_EVERY = 29 };

typedef struct checking {
    opf_building *b;
    opf_map apart;             /* names of nodes whose groups have failed */
    size_t groups, failed;
} checking;

/* ---- values ---- */

static const opf_tensor *with_specials(const opf_tensor *tensor, opf_arena *arena) {
    static const double specials[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -3e38, 65520, 1, -1};
    opf_tensor *made = OPF_NEW(arena, opf_tensor);
    *made = *tensor;
    made->data = opf_arena_copy(arena, tensor->data, tensor->bytes);
    if (!opf_dtype_is_float(tensor->dtype)) return made;
    for (int64_t i = 0; i * SPECIAL_EVERY < tensor->elements; i++)
        opf_dtype_store(tensor->dtype, (void *)(uintptr_t)made->data, (size_t)(i * SPECIAL_EVERY), specials[(size_t)i % OPF_COUNT(specials)]);
    return made;
}

/* ---- one round ---- */

static void note_failures(checking *c, const opf_replay *replay) {
    opf_building *b = c->b;
    c->groups = replay->checks.count;
    for (size_t i = 0; i < replay->checks.count; i++) {
        const opf_group_check *check = &replay->checks.data[i];
        if (check->verdict != OPF_GROUP_BEYOND || !check->group || check->group->nodes.count < 2) continue;
        c->failed++;
        opf_text_printf(&b->remarks, "  kept apart: ");
        for (size_t k = 0; k < check->group->nodes.count; k++) {
            const char *name = opf_arena_string(b->arena, check->group->nodes.data[k]->name);
            opf_map_set(&c->apart, opf_intern(b->names, name), (void *)name);
            opf_text_printf(&b->remarks, "%s%s", k ? " + " : "", name);
        }
        opf_text_printf(&b->remarks, ", whose '%s' is beyond its bound: %s\n", check->value->name, check->cause);
    }
}

static opf_status run_on(checking *c, opf_module *module, bool special) {
    opf_building *b = c->b;
    const opf_graph *graph = module->graph;
    size_t n = graph->inputs.count;
    const opf_tensor **tensors = OPF_ARRAY(b->arena, const opf_tensor *, n + 1);
    opf_array *inputs = OPF_ARRAY(b->arena, opf_array, n + 1);
    opf_eval *eval = NULL;
    opf_replay replay;
    opf_status status = OPF_OK;
    for (size_t i = 0; i < n && status == OPF_OK; i++) {
        status = opf_array_value(&tensors[i], &b->inputs[i], graph->inputs.data[i]->list, b->arena, b->model->context->diags);
        inputs[i] = b->inputs[i];
        bool plain = status == OPF_OK && special && inputs[i].kind == OPF_ARRAY_TENSOR && inputs[i].dtype != OPF_STRING && !(b->model->values && b->model->values[i]);
        if (!plain) continue;
        tensors[i] = with_specials(tensors[i], b->arena);
        inputs[i].data = tensors[i]->data;
    }
    if (status == OPF_OK) status = opf_eval_new(&eval, module->graph, tensors, true);
    if (status == OPF_OK) status = opf_eval_run(eval);
    if (status == OPF_OK) status = opf_session_prepare(b->session, inputs);
    if (status == OPF_OK) status = opf_check_replay(&replay, b->session->runner, b->session->pipeline.program, graph, eval, b->session->inputs, b->session->outputs, b->arena);
    if (status == OPF_OK) note_failures(c, &replay);
    if (eval) opf_eval_free(eval);
    return status;
}

static opf_status run_round(checking *c) {
    opf_module *module = NULL;
    opf_status status = opf_model_as_read(&module, c->b->model);
    if (status == OPF_OK) status = run_on(c, module, false);
    return status == OPF_OK ? run_on(c, module, true) : status;
}

/* ---- taken apart ---- */

/* The groups as they are, but for those that have failed. */
static char *remaining_groups(checking *c) {
    const opf_fusion *fusion = c->b->session->pipeline.fusion;
    json_t *groups = json_array();
    for (size_t g = 0; g < fusion->groups.count; g++) {
        const opf_group *group = fusion->groups.data[g];
        bool good = group->nodes.count > 1;
        json_t *names = json_array();
        for (size_t k = 0; k < group->nodes.count; k++) {
            good = good && !opf_map_has(&c->apart, opf_intern(c->b->names, group->nodes.data[k]->name));
            json_array_append_new(names, json_string(group->nodes.data[k]->name));
        }
        if (good) json_array_append_new(groups, json_pack("{s:o}", "nodes", names));
        else json_decref(names);
    }
    json_t *file = json_pack("{s:i, s:o}", "schema", 1, "groups", groups);
    char *text = json_dumps(file, 0);
    json_decref(file);
    return text;
}

static opf_status take_apart(checking *c) {
    opf_building *b = c->b;
    opf_context *context = b->model->context;
    char *text = remaining_groups(c), *folder;
    if (!text) opf_out_of_memory();
    opf_status status = opf_folder_temporary(&folder, b->arena, context->diags);
    const char *path = status == OPF_OK ? opf_arena_printf(b->arena, "%s/groups.json", folder) : "", *before = context->options.groups_file;
    if (status == OPF_OK) status = opf_file_save(context, path, text, strlen(text));
    opf_policy policy = b->session->pipeline.policy;
    opf_session_free(b->session);
    b->session = NULL;
    context->options.groups_file = path;
    if (status == OPF_OK) status = opf_session_make(&b->session, b->model, policy, false, false);
    context->options.groups_file = before;
    opf_folder_remove(folder);
    free(text);
    return status;
}

opf_status opf_build_check(opf_building *b) {
    checking c = {.b = b, .apart = opf_map_new(b->arena)};
    opf_status status = OPF_OK;
    for (int round = 0; round < MOST_ROUNDS && status == OPF_OK; round++) {
        c.failed = 0;
        status = run_round(&c);
        if (status != OPF_OK || !c.failed) break;
        status = take_apart(&c);
    }
    if (status == OPF_OK && c.failed) {
        opf_diag_add(b->model->context->diags, OPF_ERROR, "check", (opf_place){b->model->source.path, NULL, NULL, -1}, "groups stay beyond their bounds after %d rounds", MOST_ROUNDS);
        return OPF_ERROR_MISMATCH;
    }
    if (status == OPF_OK) opf_text_printf(&b->remarks, "  checked: %zu results of groups, on seeded and on special values\n", c.groups);
    return status;
}
