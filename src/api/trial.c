/* A model fused under changed conditions. */
#include "api/trial.h"

#include <string.h>

#include "pass/decompose.h"
#include "pass/pass.h"

static opf_status fuse_changed(opf_tried *out, opf_model *model, const opf_trial *trial) {
    opf_status status = opf_model_read(&out->module, model);
    if (status == OPF_OK) status = opf_model_type(model, out->module);
    if (status == OPF_OK) status = opf_model_refuse_unbound(model, out->module);
    if (status == OPF_OK && trial->change) {
        status = trial->change(out->module, trial) ? opf_graph_sort(out->module->graph) : OPF_ERROR_UNSUPPORTED;
        if (status == OPF_OK) status = opf_model_type(model, out->module);
    }
    opf_matches *matches = NULL;
    if (status == OPF_OK && trial->policy != OPF_POLICY_NONE && model->context->patterns->list.count) matches = opf_patterns_match(model->context->patterns, out->module, false);
    if (status == OPF_OK) status = opf_passes_run(out->module, trial->policy);
    opf_fuse_options options = {.policy = trial->policy, .max_depth = trial->max_depth, .settings = &model->context->options.rules, .matches = matches};
    if (status == OPF_OK) status = opf_fuse(&out->fusion, out->module->graph, &options);
    return status;
}

opf_status opf_try(opf_tried *out, opf_model *model, const opf_trial *trial) {
    opf_context *context = model->context;
    opf_diags *kept = context->diags, *aside = opf_diags_new();
    *out = (opf_tried){0};
    context->diags = aside;
    opf_status status = fuse_changed(out, model, trial);
    context->diags = kept;
    if (out->module) out->module->diags = kept;
    opf_diags_free(aside);
    if (status == OPF_OK) {
        out->parts = opf_fusion_parts(out->fusion, out->module->arena);
        out->totals = opf_fusion_totals(&out->parts);
        return OPF_OK;
    }
    if (out->module) opf_module_free(out->module);
    *out = (opf_tried){0};
    return status;
}

/* ---- changes ---- */

static opf_node *find_node(const opf_graph *graph, const char *name) {
    for (size_t i = 0; name && i < graph->nodes.count; i++)
        if (strcmp(graph->nodes.data[i]->name, name) == 0) return graph->nodes.data[i];
    return NULL;
}

bool opf_change_drop_output(opf_module *module, const opf_trial *trial) {
    opf_graph *graph = module->graph;
    size_t kept = 0, n = graph->outputs.count;
    opf_value *dropped = NULL;
    for (size_t o = 0; o < n; o++) {
        opf_value *value = graph->outputs.data[o];
        if (strcmp(value->name, trial->value) == 0) {
            dropped = value;
            continue;
        }
        graph->outputs.data[kept] = value;
        graph->output_names.data[kept++] = graph->output_names.data[o];
    }
    if (!dropped || kept == 0) return false;
    graph->outputs.count = graph->output_names.count = kept;
    dropped->is_output = false;
    return true;
}

bool opf_change_copy(opf_module *module, const opf_trial *trial) {
    opf_graph *graph = module->graph;
    const opf_node *node = find_node(graph, trial->node);
    opf_node *user = find_node(graph, trial->user);
    if (!node || !user || node->control || node->n_tables) return false;
    opf_node *copy = opf_node_new(graph, node->name, node->op, node->domain, node->opset, node->n_inputs, node->n_outputs);
    copy->attrs = node->attrs;
    copy->n_attrs = node->n_attrs;
    copy->index = node->index;
    for (int i = 0; i < node->n_inputs; i++) opf_node_set_input(copy, i, node->inputs[i]);
    for (int k = 0; k < node->n_outputs; k++) {
        if (!node->outputs[k]) continue;
        opf_value *value = opf_value_new(graph, NULL);
        opf_node_set_output(copy, k, value);
        for (int i = 0; i < user->n_inputs; i++)
            if (user->inputs[i] == node->outputs[k]) opf_node_set_input(user, i, value);
    }
    return true;
}

bool opf_change_write_out(opf_module *module, const opf_trial *trial) {
    opf_node *node = find_node(module->graph, trial->node);
    return node && opf_decompose(node);
}
