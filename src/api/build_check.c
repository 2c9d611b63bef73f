/* `build --check`: every group runs once on seeded and once on special values beside the evaluator; one that is beyond its bound is
 * taken apart into its nodes, and the report says so. */
#include <math.h>

#include "api/build.h"
#include "api/reference.h"
#include "fuse/explain_json.h"

enum { MOST_ROUNDS = 3, SPECIAL_EVERY = 29 };

typedef struct checking {
    opf_building *b;
    opf_build_version *version;
    bool *failed;              /* per group of the session at hand */
    size_t checks, failures;
} checking;

/* ---- values ---- */

/* The tensor's elements, every so many of them a special value. */
static const void *with_specials(const opf_tensor *tensor, opf_arena *arena) {
    static const double specials[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -3e38, 65520, 1, -1};
    void *data = opf_arena_copy(arena, tensor->data, tensor->bytes);
    for (int64_t i = 0; opf_dtype_is_float(tensor->dtype) && i * SPECIAL_EVERY < tensor->elements; i++)
        opf_dtype_store(tensor->dtype, data, (size_t)(i * SPECIAL_EVERY), specials[(size_t)i % OPF_COUNT(specials)]);
    return data;
}

/* ---- one round ---- */

static const char *target_of(const checking *c) { return c->b->n_versions > 1 ? opf_arena_printf(c->b->arena, "%s: ", c->version->named.machine->name) : ""; }

static void note_failures(checking *c, const opf_replay *replay) {
    opf_text *remarks = &c->b->remarks;
    c->checks = replay->checks.count;
    for (size_t i = 0; i < replay->checks.count; i++) {
        const opf_group_check *check = &replay->checks.data[i];
        if (check->verdict != OPF_GROUP_BEYOND || !check->group || check->group->nodes.count < 2) continue;
        c->failures++;
        c->failed[check->group->id] = true;
        opf_text_printf(remarks, "  %skept apart: ", target_of(c));
        for (size_t k = 0; k < check->group->nodes.count; k++) opf_text_printf(remarks, "%s%s", k ? " + " : "", check->group->nodes.data[k]->name);
        opf_text_printf(remarks, ", whose '%s' is beyond its bound: %s\n", check->value->name, check->cause);
    }
}

/* The build's inputs, with special values in them. */
static const opf_array *special_inputs(const opf_building *b, size_t n) {
    opf_array *inputs = OPF_ARRAY(b->arena, opf_array, n + 1);
    const opf_tensor *tensor;
    for (size_t i = 0; i < n; i++) {
        inputs[i] = b->inputs[i];
        bool numbers = inputs[i].kind == OPF_ARRAY_TENSOR && inputs[i].dtype != OPF_STRING && !(b->model->values && b->model->values[i]);
        if (numbers && opf_array_tensor(&tensor, &inputs[i], b->arena, b->model->context->diags) == OPF_OK) inputs[i].data = with_specials(tensor, b->arena);
    }
    return inputs;
}

static opf_status run_on(checking *c, opf_graph *graph, const opf_array *inputs) {
    opf_building *b = c->b;
    opf_eval *eval;
    opf_replay replay;
    opf_status status = opf_reference_run(&eval, graph, inputs, true, NULL, b->arena, b->model->context->diags);
    if (status == OPF_OK) status = opf_session_replay(&replay, NULL, c->version->session, inputs, graph, eval, b->arena);
    if (status == OPF_OK) note_failures(c, &replay);
    if (eval) opf_eval_free(eval);
    return status;
}

static opf_status run_round(checking *c) {
    opf_building *b = c->b;
    opf_module *module = NULL;
    c->failures = 0;
    c->failed = OPF_ARRAY(b->arena, bool, c->version->session->pipeline.fusion->groups.count + 1);
    opf_status status = opf_model_as_read(&module, b->model);
    if (status == OPF_OK) status = run_on(c, module->graph, b->inputs);
    return status == OPF_OK ? run_on(c, module->graph, special_inputs(b, module->graph->inputs.count)) : status;
}

/* ---- taken apart ---- */

/* The explanation of the groups as they are, without those that have failed: what `--fuse=FILE` reads. */
static json_t *remaining_groups(const checking *c) {
    json_t *explanation = opf_explain_object(c->version->session->pipeline.fusion), *groups = json_object_get(explanation, "groups");
    for (size_t g = json_array_size(groups); g-- > 0;) {
        const json_t *group = json_array_get(groups, g);
        json_int_t id = json_integer_value(json_object_get(group, "id"));
        bool inner = json_string_length(json_object_get(group, "graph")) > 0; /* of a sub-graph: numbered on */
        if (!inner && c->failed[id]) json_array_remove(groups, g);
    }
    return explanation;
}

static opf_status take_apart(checking *c) {
    opf_building *b = c->b;
    opf_options *options = &b->model->context->options;
    const char *machine = options->machine;
    opf_policy policy = c->version->session->pipeline.policy;
    json_t *groups = remaining_groups(c);
    opf_session_free(c->version->session);
    c->version->session = NULL;
    if (c->version->target) options->machine = c->version->target;
    opf_status status = opf_session_pinned(&c->version->session, b->model, policy, groups, NULL, NULL);
    options->machine = machine;
    return status;
}

opf_status opf_build_check(opf_building *b, opf_build_version *version) {
    checking c = {.b = b, .version = version};
    opf_status status = run_round(&c);
    for (int round = 1; round < MOST_ROUNDS && status == OPF_OK && c.failures; round++) {
        status = take_apart(&c);
        if (status == OPF_OK) status = run_round(&c);
    }
    if (status != OPF_OK) return status;
    if (c.failures) {
        opf_diag_add(b->model->context->diags, OPF_ERROR, "check", (opf_place){b->model->source.path, NULL, NULL, -1}, "groups stay beyond their bounds after %d rounds", MOST_ROUNDS);
        return OPF_ERROR_MISMATCH;
    }
    opf_text_printf(&b->remarks, "  %schecked: %zu results of groups, on seeded and on special values\n", target_of(&c), c.checks);
    return OPF_OK;
}
