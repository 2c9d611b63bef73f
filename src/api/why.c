/* Why two nodes are or are not in one kernel, and what of the changes that suggest themselves would help: each is tried. */
#include <string.h>

#include "api/pipeline.h"
#include "api/trial.h"
#include "fuse/explain_json.h"
#include "fuse/pair.h"
#include "pass/decompose.h"

enum { MOST_TRIALS = 4, NO_LIMIT = 1 << 20 };

typedef struct question {
    opf_model *model;
    const char *a, *b;
    opf_pair pair;
    opf_totals totals;         /* of the model as it is fused */
    opf_trial trials[MOST_TRIALS];
    int n_trials;
} question;

static void add_trial(question *q, opf_trial trial) {
    if (q->n_trials < MOST_TRIALS) q->trials[q->n_trials++] = trial;
}

static bool has_rule(const opf_edge *edge, const char *rule) { return strcmp(edge->rule, rule) == 0; }

static const opf_value *output_of(const opf_node *node) {
    for (int k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] && node->outputs[k]->is_output) return node->outputs[k];
    return NULL;
}

static bool has_other_users(const opf_edge *edge, const opf_graph *graph) {
    for (int k = 0; k < edge->from->n_outputs; k++)
        for (size_t u = 0; edge->from->outputs[k] && u < edge->from->outputs[k]->uses.count; u++)
            if (opf_node_within(edge->from->outputs[k]->uses.data[u].node, graph) != edge->to) return true;
    return output_of(edge->from) != NULL;
}

/* What could lead from here to one kernel. Only nodes of the main graph can be changed. */
static void choose_trials(question *q, opf_arena *arena) {
    const opf_options *options = &q->model->context->options;
    opf_policy policy = q->pair.fusion->policy;
    opf_trial plain = {.policy = policy, .max_depth = options->max_depth};
    const opf_edge *cut = q->pair.cut;
    if (q->pair.relation == OPF_RELATION_WAY && !cut) return; /* views and folded nodes: nothing is lost */
    if (policy != OPF_POLICY_BEST) add_trial(q, (opf_trial){.what = "--fuse=best", .policy = OPF_POLICY_BEST, .max_depth = options->max_depth});
    if (!cut || policy == OPF_POLICY_NONE || policy == OPF_POLICY_FILE) return;
    if (has_rule(cut, "max-depth") || has_rule(cut, "too-large")) add_trial(q, (opf_trial){.what = "no --max-depth", .policy = policy, .max_depth = NO_LIMIT});
    if (q->pair.fusion->graph->parent) return;
    const opf_value *output = output_of(cut->from);
    if (output) {
        plain.what = opf_arena_printf(arena, "'%s' no model output", output->name);
        plain.value = output->name;
        plain.change = opf_change_drop_output;
        add_trial(q, plain);
    }
    if (opf_has_decomposition(cut->to)) {
        plain.what = opf_arena_printf(arena, "'%s' (%s) written out", cut->to->name, cut->to->op);
        plain.node = cut->to->name;
        plain.change = opf_change_write_out;
        add_trial(q, plain);
    }
    if (has_other_users(cut, q->pair.fusion->graph)) {
        plain.what = opf_arena_printf(arena, "a copy of '%s' for '%s' alone", cut->from->name, cut->to->name);
        plain.node = cut->from->name;
        plain.user = cut->to->name;
        plain.change = opf_change_copy;
        add_trial(q, plain);
    }
}

/* ---- trying ---- */

static void print_trial(const question *q, const opf_trial *trial, const opf_pair *pair, const opf_totals *totals, opf_text *out) {
    opf_text_printf(out, "  tried: with %s they are %s", trial->what, opf_pair_together(pair) ? "one kernel" : "still apart");
    if (!opf_pair_together(pair) && pair->cut) opf_text_printf(out, " [%s]", pair->cut->rule);
    opf_text_printf(out, "; %d kernels instead of %d, ", totals->kernels, q->totals.kernels);
    opf_print_bytes(totals->bytes_after, out);
    opf_text_add(out, " moved instead of ");
    opf_print_bytes(q->totals.bytes_after, out);
    opf_text_add(out, "\n");
}

static json_t *trial_object(const opf_trial *trial, const opf_pair *pair, const opf_totals *totals) {
    return json_pack("{s:o,s:b,s:o,s:i,s:I}", "with", opf_json_text(trial->what), "together", opf_pair_together(pair), "rule",
                     pair->cut ? opf_json_text(pair->cut->rule) : json_null(), "kernels", totals->kernels, "bytes_after", (json_int_t)totals->bytes_after);
}

/* `list` NULL: as text. A copy is called NODE#1 by the graph: the pair that is asked about then is that of the copy. */
static void try_one(const question *q, const opf_trial *trial, json_t *list, opf_text *out) {
    opf_tried tried;
    if (opf_try(&tried, q->model, trial) != OPF_OK) return;
    opf_pair pair;
    opf_diags *kept = tried.module->diags, *aside = opf_diags_new();
    tried.module->diags = aside;
    opf_status status = opf_pair_find(&pair, &tried.parts, q->a, q->b, tried.module->arena);
    if (status == OPF_OK && trial->change == opf_change_copy) {
        const opf_value *made = NULL;
        for (int i = 0; i < pair.b->n_inputs && !made; i++)
            if (pair.b->inputs[i] && pair.b->inputs[i]->producer && strcmp(pair.b->inputs[i]->producer->op, pair.a->op) == 0) made = pair.b->inputs[i];
        if (made) status = opf_pair_find(&pair, &tried.parts, made->producer->name, q->b, tried.module->arena);
    }
    tried.module->diags = kept;
    opf_diags_free(aside);
    if (status == OPF_OK && list) json_array_append_new(list, trial_object(trial, &pair, &tried.totals));
    else if (status == OPF_OK) print_trial(q, trial, &pair, &tried.totals, out);
    opf_module_free(tried.module);
}

static void answer(question *q, bool json, opf_text *out) {
    json_t *object = json ? opf_pair_object(&q->pair) : NULL, *list = json ? json_array() : NULL;
    if (!json) opf_pair_text(&q->pair, out);
    for (int t = 0; t < q->n_trials; t++) try_one(q, &q->trials[t], list, out);
    if (!json) return;
    json_object_set_new(object, "tried", list);
    opf_json_print(json_pack("{s:i,s:o,s:s,s:o}", "schema", 1, "model", opf_json_text(q->model->source.path), "policy", opf_policy_name(q->pair.fusion->policy), "why", object),
                   JSON_INDENT(1), out);
}

static opf_status print(const opf_pipeline *pipeline, bool json, void *data, opf_text *out) {
    question *q = data;
    opf_arena *arena = pipeline->module->arena;
    opf_parts parts = opf_fusion_parts(pipeline->fusion, arena);
    q->totals = opf_fusion_totals(&parts);
    opf_status status = opf_pair_find(&q->pair, &parts, q->a, q->b, arena);
    if (status != OPF_OK) return status;
    if (!opf_pair_together(&q->pair)) choose_trials(q, arena);
    answer(q, json, out);
    return OPF_OK;
}

opf_status opf_model_why(opf_model *model, const char *a, const char *b, const char *format, char **out) {
    question q = {.model = model, .a = a, .b = b};
    return opf_pipeline_report(model, OPF_TO_GROUPS, format, print, &q, out);
}
