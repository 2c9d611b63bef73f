/* A model's fusion beside an earlier one. */
#include <string.h>

#include "api/pipeline.h"
#include "fuse/compare.h"
#include "fuse/explain_json.h"

static opf_status refuse(opf_context *context, const char *path, const char *what) {
    opf_place place = OPF_NO_PLACE;
    place.file = path;
    opf_diag *diag = opf_diag_add(context->diags, OPF_ERROR, "input", place, "%s", what);
    opf_diag_hint(context->diags, diag, "`opfuse explain MODEL --json` writes such a file");
    return OPF_ERROR_INPUT;
}

static opf_status read_old(json_t **out, opf_context *context, const char *path) {
    json_error_t error;
    char message[320];
    *out = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!*out) {
        if (error.line > 0) snprintf(message, sizeof message, "line %d: %.200s", error.line, error.text);
        else snprintf(message, sizeof message, "it cannot be read: %.200s", error.text);
        return refuse(context, path, message);
    }
    const char *wrong = opf_explanation_wrong(*out);
    return wrong ? refuse(context, path, wrong) : OPF_OK;
}

static opf_status print_comparison(const opf_pipeline *pipeline, const json_t *old, const char *old_name, bool json, opf_text *out) {
    json_t *now = opf_explain_object(pipeline->fusion);
    opf_comparison comparison = opf_compare_explanations(old, now, pipeline->module->arena);
    if (json) opf_json_print(opf_comparison_object(&comparison), JSON_INDENT(1), out);
    else opf_comparison_text(&comparison, old_name, out);
    bool lost = json_array_size(comparison.lost) > 0;
    opf_comparison_free(&comparison);
    json_decref(now);
    return lost ? OPF_ERROR_MISMATCH : OPF_OK;
}

opf_status opf_model_compare(opf_model *model, const char *old, const char *format, char **out) {
    *out = NULL;
    opf_context *context = model->context;
    bool json = strcmp(format, "json") == 0;
    if (!json && strcmp(format, "text") != 0) {
        opf_diag_add(context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "there is no format '%s'", format);
        return OPF_ERROR_USAGE;
    }
    json_t *earlier;
    opf_status status = read_old(&earlier, context, old);
    opf_pipeline pipeline = {.model = model, .context = context, .policy = context->options.policy};
    if (status == OPF_OK) status = opf_pipeline_run(&pipeline, OPF_TO_GROUPS);
    if (status == OPF_OK && !pipeline.stopped) {
        opf_text text = {0};
        status = print_comparison(&pipeline, earlier, old, json, &text);
        *out = opf_text_take(&text);
        opf_text_free(&text);
    }
    json_decref(earlier);
    opf_pipeline_free(&pipeline);
    return status;
}
