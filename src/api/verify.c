/* `verify`: generated code against the evaluator, and against expected outputs. */
#include <string.h>

#include "api/bisect.h"
#include "check/compare.h"
#include "eval/eval.h"

typedef struct verifying {
    opf_model *model;
    opf_arena *arena;
    const opf_verify_options *options;
    opf_tolerance tolerance;
    opf_graph *graph;          /* as read */
    opf_session *session;
    opf_array *outputs;        /* of the program, taps included */
    size_t n_outputs, n_model_outputs;
    opf_eval *eval;
    opf_text text;
    size_t compared, failed, skipped;
    size_t apart, beyond; /* of `failed`: against the evaluator; groups beyond their bounds */
} verifying;

/* ---- tolerances ---- */

static opf_status choose_tolerance(verifying *v) {
    static const struct { const char *name; opf_tolerance_rule rule; } rules[] = {{"fp32", OPF_TOL_FP32}, {"fp16", OPF_TOL_FP16}, {"int8", OPF_TOL_INT8}};
    const opf_verify_options *o = v->options;
    v->tolerance = (opf_tolerance){OPF_TOL_ELEMENT, o->rtol >= 0 ? o->rtol : 1e-3, o->atol >= 0 ? o->atol : 1e-5};
    if (!o->tolerance) return OPF_OK;
    for (size_t i = 0; i < OPF_COUNT(rules); i++) {
        if (strcmp(rules[i].name, o->tolerance) != 0) continue;
        v->tolerance.rule = rules[i].rule;
        return OPF_OK;
    }
    opf_diag_add(v->model->context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "tolerance '%s' is neither fp32, fp16 nor int8", o->tolerance);
    return OPF_ERROR_USAGE;
}

/* ---- one comparison ---- */

static void print_index(verifying *v, const opf_tensor *tensor, int64_t index) {
    int64_t at[OPF_MAX_RANK];
    for (int k = tensor->rank - 1; k >= 0; k--) {
        at[k] = index % tensor->dims[k];
        index /= tensor->dims[k];
    }
    opf_text_add(&v->text, "[");
    for (int k = 0; k < tensor->rank; k++) opf_text_printf(&v->text, "%s%lld", k ? "," : "", (long long)at[k]);
    opf_text_add(&v->text, "]");
}

static void print_comparison(verifying *v, const char *name, const char *against, const opf_tensor *expected, const opf_comparison *c) {
    opf_text_printf(&v->text, "%s  '%s' against %s: ", c->holds ? "holds " : "DIFFERS", name, against);
    if (c->why) {
        opf_text_printf(&v->text, "%s\n", c->why);
        return;
    }
    opf_text_printf(&v->text, "largest error absolute %.3g, relative %.3g, %.4g ULP", c->max_absolute, c->max_relative, c->max_ulp);
    if (c->worst >= 0) {
        opf_text_add(&v->text, ", at ");
        print_index(v, expected, c->worst);
        opf_text_printf(&v->text, " (%.9g for %.9g)", c->got, c->expected);
    }
    if (!c->holds) opf_text_printf(&v->text, ", %lld of %lld elements differ", (long long)c->differing, (long long)expected->elements);
    if (c->argmax_checked) opf_text_add(&v->text, c->argmax_agrees ? ", same arg-max" : ", ANOTHER ARG-MAX");
    opf_text_add(&v->text, "\n");
}

/* Under --accuracy=exact the evaluator computes the same bits. */
static opf_tolerance against_evaluator(const verifying *v) {
    return v->graph->module->accuracy == OPF_ACCURACY_EXACT ? (opf_tolerance){.rule = OPF_TOL_BITS} : v->tolerance;
}

static void compare(verifying *v, const opf_array *got, const char *name, const opf_tensor *expected, opf_tolerance tolerance, const char *against) {
    const opf_tensor *tensor;
    v->compared++;
    if (opf_array_value(&tensor, got, expected->is_list, v->arena, v->model->context->diags) != OPF_OK) {
        v->failed++;
        return;
    }
    opf_comparison c = opf_compare(tensor, expected, tolerance, v->arena);
    c.holds = c.holds && (!c.argmax_checked || c.argmax_agrees);
    v->failed += !c.holds;
    print_comparison(v, name, against, expected, &c);
}

static void compare_with_evaluator(verifying *v, const opf_array *got, const char *name, const opf_tensor *reference) {
    size_t failed = v->failed;
    compare(v, got, name, reference, against_evaluator(v), "the evaluator");
    v->apart += v->failed - failed;
}

/* ---- all of them ---- */

static void compare_outputs(verifying *v) {
    const opf_graph *graph = v->graph;
    for (size_t i = 0; i < v->n_model_outputs; i++) {
        const opf_tensor *reference = opf_eval_value(v->eval, graph->outputs.data[i]);
        if (reference) compare_with_evaluator(v, &v->outputs[i], graph->output_names.data[i], reference);
        const opf_tensor *expected;
        const opf_array *given = v->options->expected ? &v->options->expected[i] : NULL;
        if (given && (given->data || given->kind != OPF_ARRAY_TENSOR) && opf_array_value(&expected, given, graph->outputs.data[i]->list, v->arena, v->model->context->diags) == OPF_OK)
            compare(v, &v->outputs[i], graph->output_names.data[i], expected, v->tolerance, "the expected output");
    }
}

/* Values between kernels, by their names in the graph as read. What a pass has made has no counterpart there. */
static void compare_stored(verifying *v) {
    for (size_t i = v->n_model_outputs; i < v->n_outputs; i++) {
        const opf_value *value = opf_value_find(v->graph, v->outputs[i].name);
        const opf_tensor *reference = value ? opf_eval_value(v->eval, value) : NULL;
        if (reference) compare_with_evaluator(v, &v->outputs[i], value->name, reference);
        else v->skipped++;
    }
}

static opf_status run_both(verifying *v, const opf_array *inputs) {
    bool keep_all = v->options->all || v->options->bounds || v->options->bisect;
    opf_status status = opf_session_run_all(v->session, inputs, v->outputs);
    return status == OPF_OK ? opf_reference_run(&v->eval, v->graph, inputs, keep_all, NULL, v->arena, v->model->context->diags) : status;
}

/* The session of the last call serves this one too where it has the same outputs: data sets come one after the other. */
static opf_status open_session(verifying *v) {
    opf_model *model = v->model;
    opf_status status = OPF_OK;
    if (!model->checked || model->checked_all != (v->options->all != 0)) {
        opf_session_free(model->checked);
        status = opf_session_make(&model->checked, model, model->context->options.policy, v->options->all, false);
        model->checked_all = v->options->all;
    }
    v->session = model->checked;
    return status;
}

/* The variant for these values: that of the last call where it was made for the same ones. */
static opf_status bind(verifying *v, const opf_array *inputs) {
    opf_model *model = v->model;
    if (!model->needs_values) return OPF_OK;
    if (model->bound && opf_model_holds_all(model->bound, inputs)) {
        v->model = model->bound;
        return OPF_OK;
    }
    opf_model_free(model->bound);
    opf_status status = opf_model_bind(&model->bound, model, inputs);
    if (status == OPF_OK) v->model = model->bound;
    return status;
}

/* Another session where the inputs have empty axes that this one's program is not made for. */
static opf_status open_for_empty(verifying *v, const opf_array *inputs) {
    if (!v->session || !opf_session_refuses_empty(v->session, inputs)) return OPF_OK;
    opf_model *model = v->model;
    opf_model_free(model->bound);
    opf_status status = opf_model_bind_empty(&model->bound, model, inputs);
    if (status != OPF_OK) return status;
    v->model = model->bound;
    return open_session(v);
}

/* Group by group on the evaluator's own inputs. A group beyond its bound is a mismatch, whatever the tolerance says. */
static opf_status explain_groups(verifying *v, const opf_array *inputs) {
    opf_replay replay;
    opf_bisection b = {v->model, v->session, v->graph, v->eval, inputs, v->arena, &v->text};
    opf_status status = opf_bisect_groups(&b, v->options->all, &replay);
    size_t open = 0;
    for (size_t i = 0; status == OPF_OK && i < replay.checks.count; i++) {
        opf_group_verdict verdict = replay.checks.data[i].verdict;
        v->compared++;
        v->beyond += verdict == OPF_GROUP_BEYOND;
        open += verdict != OPF_GROUP_BEYOND && verdict != OPF_GROUP_EXACT && verdict != OPF_GROUP_WITHIN;
    }
    if (status == OPF_OK && v->apart && !v->beyond) {
        if (open) opf_text_printf(&v->text, "no group is beyond its bound, and %zu results have none\n", open);
        else opf_text_add(&v->text, "each group is within its bound: what differs from the evaluator is rounding that adds up from group to group\n");
    }
    v->failed += v->beyond;
    return status == OPF_OK && v->options->bisect ? opf_bisect_fault(&b, &replay) : status;
}

static opf_status verify(verifying *v, const opf_array *inputs) {
    opf_status status = choose_tolerance(v);
    if (status == OPF_OK) status = bind(v, inputs);
    if (status == OPF_OK) status = open_session(v);
    if (status == OPF_OK) status = open_for_empty(v, inputs);
    opf_module *module = NULL;
    if (status == OPF_OK) status = opf_model_as_read(&module, v->model);
    if (status != OPF_OK || !v->session) return status;
    v->graph = module->graph;
    v->n_outputs = v->session->pipeline.program->outputs.count;
    v->n_model_outputs = v->graph->outputs.count;
    v->outputs = OPF_ARRAY(v->arena, opf_array, v->n_outputs + 1);
    status = run_both(v, inputs);
    if (status != OPF_OK) return status;
    compare_outputs(v);
    compare_stored(v);
    if (v->options->bounds || v->options->bisect) status = explain_groups(v, inputs);
    if (status != OPF_OK) return status;
    if (v->skipped) opf_text_printf(&v->text, "%zu stored values have no counterpart in the model as read\n", v->skipped);
    /* it may be a fault, or rounding that the model amplifies */
    if (v->apart && !v->options->bounds && !v->options->bisect) opf_text_add(&v->text, "hint: --bounds tells rounding that adds up from a group at fault, --bisect names the operator\n");
    opf_text_printf(&v->text, "%s: %zu of %zu comparisons hold\n", v->failed ? "DIFFERS" : "right", v->compared - v->failed, v->compared);
    return v->failed ? OPF_ERROR_MISMATCH : OPF_OK;
}

opf_status opf_model_verify(opf_model *model, const opf_array *inputs, const opf_verify_options *options, char **report) {
    verifying v = {.model = model, .arena = opf_arena_new(), .options = options};
    *report = NULL;
    opf_status status = verify(&v, inputs);
    if (v.text.length) *report = opf_text_take(&v.text);
    opf_text_free(&v.text);
    if (v.eval) opf_eval_free(v.eval);
    opf_arena_free(v.arena);
    return status;
}
