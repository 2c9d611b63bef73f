/* A model's fusion beside an earlier one. */

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

/* The earlier explanation. */
typedef struct earlier { json_t *object; const char *name; } earlier;

static opf_status print(const opf_pipeline *pipeline, bool json, void *data, opf_text *out) {
    const earlier *old = data;
    json_t *now = opf_explain_object(pipeline->fusion);
    opf_comparison comparison = opf_compare_explanations(old->object, now, pipeline->module->arena);
    if (json) opf_json_print(opf_comparison_object(&comparison), JSON_INDENT(1), out);
    else opf_comparison_text(&comparison, old->name, out);
    bool lost = json_array_size(comparison.lost) > 0;
    opf_comparison_free(&comparison);
    json_decref(now);
    return lost ? OPF_ERROR_MISMATCH : OPF_OK;
}

opf_status opf_model_compare(opf_model *model, const char *old, const char *format, char **out) {
    *out = NULL;
    bool json;
    earlier e = {.name = old};
    opf_status status = opf_context_format(model->context, format, &json);
    if (status == OPF_OK) status = read_old(&e.object, model->context, old);
    if (status == OPF_OK) status = opf_pipeline_report(model, OPF_TO_GROUPS, format, print, &e, out);
    json_decref(e.object);
    return status;
}
