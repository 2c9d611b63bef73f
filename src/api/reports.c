/* Reports about a model: explain, graph, report. */
#include <string.h>

#include "api/pipeline.h"
#include "report/graph.h"
#include "report/memory.h"
#include "report/page.h"

static opf_status unknown_format(opf_context *context, const char *format) {
    opf_diag_add(context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "there is no format '%s'", format);
    return OPF_ERROR_USAGE;
}

static opf_pipeline pipeline_of(opf_model *model) {
    return (opf_pipeline){.model = model, .context = model->context, .policy = model->context->options.policy};
}

opf_status opf_model_explain(opf_model *model, const char *format, char **out) {
    *out = NULL;
    bool json = strcmp(format, "json") == 0;
    if (!json && strcmp(format, "text") != 0) return unknown_format(model->context, format);
    opf_pipeline pipeline = pipeline_of(model);
    opf_text text = {0};
    opf_status status = opf_pipeline_run(&pipeline, OPF_TO_GROUPS);
    if (status == OPF_OK && !pipeline.stopped) {
        if (json) status = opf_explain_json(pipeline.fusion, &text);
        else opf_explain_text(pipeline.fusion, &text);
        if (status == OPF_OK) *out = opf_text_take(&text);
    }
    opf_text_free(&text);
    opf_pipeline_free(&pipeline);
    return status;
}

opf_status opf_model_graph(opf_model *model, const char *format, int after, char **out) {
    *out = NULL;
    opf_text text = {0};
    if (!after) {
        opf_module *module;
        opf_status status = opf_model_as_read(&module, model);
        if (status == OPF_OK) status = opf_report_graph(module->graph, NULL, format, &text);
        if (status == OPF_ERROR_USAGE) return unknown_format(model->context, format);
        if (status == OPF_OK) *out = opf_text_take(&text);
        opf_text_free(&text);
        return status;
    }
    opf_pipeline pipeline = pipeline_of(model);
    opf_status status = opf_pipeline_run(&pipeline, OPF_TO_GROUPS);
    if (status == OPF_OK && !pipeline.stopped) {
        status = opf_report_graph(pipeline.module->graph, pipeline.fusion, format, &text);
        if (status == OPF_ERROR_USAGE) status = unknown_format(model->context, format);
        if (status == OPF_OK) *out = opf_text_take(&text);
    }
    opf_text_free(&text);
    opf_pipeline_free(&pipeline);
    return status;
}

/* The workspace of the unfused program at nominal sizes. */
static opf_status unfused_workspace(opf_model *model, int64_t *bytes) {
    opf_pipeline pipeline = pipeline_of(model);
    pipeline.policy = OPF_POLICY_NONE;
    pipeline.silent = true;
    opf_status status = opf_pipeline_run(&pipeline, OPF_TO_PROGRAM);
    if (status == OPF_OK) *bytes = opf_memory_of(pipeline.program, pipeline.module->arena).bytes;
    opf_pipeline_free(&pipeline);
    return status;
}

opf_status opf_model_report(opf_model *model, char **out) {
    *out = NULL;
    opf_module *module;
    bool laid_out;
    int64_t unfused = -1;
    opf_status status = opf_model_as_read(&module, model);
    if (status != OPF_OK) return status;
    json_t *before = opf_page_before(module, &laid_out);
    opf_pipeline pipeline = pipeline_of(model);
    status = opf_pipeline_run(&pipeline, OPF_TO_PROGRAM);
    if (status == OPF_OK && !pipeline.stopped) status = unfused_workspace(model, &unfused);
    opf_text text = {0};
    if (status == OPF_OK && !pipeline.stopped) status = opf_page_print(pipeline.program, before, laid_out, unfused, opf_version(), &text);
    else json_decref(before);
    if (status == OPF_OK && !pipeline.stopped) *out = opf_text_take(&text);
    opf_text_free(&text);
    opf_pipeline_free(&pipeline);
    return status;
}
