/* Reports about a model: explain in its forms, graph, report. */
#include "api/pipeline.h"
#include "fuse/explain_json.h"
#include "fuse/trace.h"
#include "report/graph.h"
#include "report/memory.h"
#include "report/page.h"

static opf_pipeline pipeline_of(opf_model *model) {
    return (opf_pipeline){.model = model, .context = model->context, .policy = model->context->options.policy};
}

opf_status opf_pipeline_report(opf_model *model, enum opf_pipeline_end end, const char *format, opf_pipeline_printer print, void *data, char **out) {
    *out = NULL;
    bool json;
    opf_status status = opf_context_format(model->context, format, &json);
    if (status != OPF_OK) return status;
    opf_pipeline pipeline = pipeline_of(model);
    opf_text text = {0};
    status = opf_pipeline_run(&pipeline, end);
    if (status == OPF_OK && !pipeline.stopped) {
        status = print(&pipeline, json, data, &text);
        if (status == OPF_OK || status == OPF_ERROR_MISMATCH) *out = opf_text_take(&text);
    }
    opf_text_free(&text);
    opf_pipeline_free(&pipeline);
    return status;
}

static opf_status print_explanation(const opf_pipeline *pipeline, bool json, void *data, opf_text *out) {
    (void)data;
    if (json) return opf_explain_json(pipeline->fusion, out);
    opf_explain_text(pipeline->fusion, out);
    return OPF_OK;
}

static opf_status print_trace(const opf_pipeline *pipeline, bool json, void *data, opf_text *out) {
    (void)data;
    opf_parts parts = opf_fusion_parts(pipeline->fusion, pipeline->module->arena);
    if (json) opf_json_print(opf_trace_object(&parts), JSON_INDENT(1), out);
    else opf_trace_text(&parts, out);
    return OPF_OK;
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

static opf_status print_memory(const opf_pipeline *pipeline, bool json, void *data, opf_text *out) {
    (void)data;
    int64_t unfused = -1;
    opf_status status = unfused_workspace(pipeline->model, &unfused);
    if (status != OPF_OK) return status;
    if (!json) opf_memory_text(pipeline->program, unfused, out);
    else opf_json_print(json_pack("{s:i,s:o,s:s,s:o}", "schema", 1, "model", opf_json_text(pipeline->module->path), "policy",
                                  opf_policy_name(pipeline->fusion->policy), "memory", opf_memory_object(pipeline->program, unfused)), JSON_INDENT(1), out);
    return OPF_OK;
}

opf_status opf_model_explain(opf_model *model, const char *format, char **out) { return opf_pipeline_report(model, OPF_TO_GROUPS, format, print_explanation, NULL, out); }
opf_status opf_model_trace(opf_model *model, const char *format, char **out) { return opf_pipeline_report(model, OPF_TO_GROUPS, format, print_trace, NULL, out); }
opf_status opf_model_memory(opf_model *model, const char *format, char **out) { return opf_pipeline_report(model, OPF_TO_PROGRAM, format, print_memory, NULL, out); }

opf_status opf_model_graph(opf_model *model, const char *format, int after, char **out) {
    *out = NULL;
    opf_text text = {0};
    if (!after) {
        opf_module *module;
        opf_status status = opf_model_as_read(&module, model);
        if (status == OPF_OK) status = opf_report_graph(module->graph, NULL, format, &text);
        if (status == OPF_ERROR_USAGE) return opf_context_no_format(model->context, format);
        if (status == OPF_OK) *out = opf_text_take(&text);
        opf_text_free(&text);
        return status;
    }
    opf_pipeline pipeline = pipeline_of(model);
    opf_status status = opf_pipeline_run(&pipeline, OPF_TO_GROUPS);
    if (status == OPF_OK && !pipeline.stopped) {
        status = opf_report_graph(pipeline.module->graph, pipeline.fusion, format, &text);
        if (status == OPF_ERROR_USAGE) status = opf_context_no_format(model->context, format);
        if (status == OPF_OK) *out = opf_text_take(&text);
    }
    opf_text_free(&text);
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
