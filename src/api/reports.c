/* Reports about a model: explain in its forms, graph, report. */
#include "api/profile.h"
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

/* ---- the page ---- */

/* What the page shows of the model itself; `before` is NULL once the page has taken it over. */
typedef struct page_parts {
    json_t *before;
    bool laid_out;
    int64_t unfused_bytes;
} page_parts;

static opf_status begin_page(page_parts *parts, opf_model *model) {
    *parts = (page_parts){.unfused_bytes = -1};
    opf_module *module;
    opf_status status = opf_model_as_read(&module, model);
    if (status == OPF_OK) parts->before = opf_page_before(module, &parts->laid_out);
    return status;
}

static opf_status print_page(page_parts *parts, opf_model *model, const opf_program *program, const opf_profile *profile, char **out) {
    opf_status status = unfused_workspace(model, &parts->unfused_bytes);
    if (status != OPF_OK) return status;
    opf_text text = {0};
    status = opf_page_print(program, parts->before, parts->laid_out, parts->unfused_bytes, profile, opf_version(), &text);
    parts->before = NULL;
    if (status == OPF_OK) *out = opf_text_take(&text);
    opf_text_free(&text);
    return status;
}

opf_status opf_model_report(opf_model *model, char **out) {
    *out = NULL;
    page_parts parts;
    opf_status status = begin_page(&parts, model);
    if (status != OPF_OK) return status;
    opf_pipeline pipeline = pipeline_of(model);
    status = opf_pipeline_run(&pipeline, OPF_TO_PROGRAM);
    if (status == OPF_OK && !pipeline.stopped) status = print_page(&parts, model, pipeline.program, NULL, out);
    json_decref(parts.before);
    opf_pipeline_free(&pipeline);
    return status;
}

opf_status opf_model_report_profile(opf_model *model, const opf_array *inputs, int warmup, int runs, char **out) {
    *out = NULL;
    opf_arena *arena = opf_arena_new();
    opf_session *session = NULL;
    opf_model *bound = NULL;
    opf_profile profile;
    page_parts parts = {0};
    opf_status status = model->needs_values ? opf_model_bind(&bound, model, inputs) : OPF_OK;
    if (bound) model = bound;
    if (status == OPF_OK) status = begin_page(&parts, model);
    if (status == OPF_OK) status = opf_session_make(&session, model, model->context->options.policy, false, false);
    if (status == OPF_OK && session) {
        status = opf_session_profile(&profile, session, inputs, warmup, runs, arena);
        if (status == OPF_OK) status = print_page(&parts, model, session->pipeline.program, &profile, out);
    }
    json_decref(parts.before);
    opf_session_free(session);
    opf_model_free(bound);
    opf_arena_free(arena);
    return status;
}
