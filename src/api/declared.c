/* What the file declares of its outputs beside what typing finds. */
#include "api/model.h"

static opf_place place_of(const opf_module *module) { return (opf_place){.file = module->path, .index = -1}; }

static const char *declared_text(const opf_value *output, opf_arena *arena) {
    if (output->declared->kind == OPF_VALUE_SEQUENCE) return "a sequence";
    if (output->declared->kind == OPF_VALUE_OPTIONAL) return "an optional";
    opf_text text = {0};
    opf_text_printf(&text, "%s[", opf_dtype_name(output->declared_dtype));
    for (int k = 0; k < output->declared_rank; k++) {
        const char *name = output->declared_names ? output->declared_names[k] : NULL;
        if (k) opf_text_add(&text, ",");
        if (name) opf_text_add(&text, name);
        else if (output->declared_dims[k] >= 0) opf_text_printf(&text, "%lld", (long long)output->declared_dims[k]);
        else opf_text_add(&text, "?");
    }
    opf_text_add(&text, output->declared_rank < 0 ? "?]" : "]");
    const char *result = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return result;
}

static const char *found_text(const opf_value *output, opf_arena *arena) {
    opf_text text = {0};
    opf_value_print_type(output, &text);
    const char *result = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return result;
}

static bool is_list(const opf_type *declared) { return declared->kind == OPF_VALUE_SEQUENCE || declared->kind == OPF_VALUE_OPTIONAL; }

static bool types_differ(const opf_value *output) {
    if (is_list(output->declared) != (output->list != NULL)) return true;
    return output->declared_dtype && output->dtype != output->declared_dtype;
}

/* Of two numbers alone: what a name stands for may be anything. */
static bool shapes_differ(const opf_value *output) {
    if (output->list || output->declared_rank < 0 || output->rank < 0) return false;
    if (output->rank != output->declared_rank) return true;
    for (int k = 0; k < output->rank; k++) {
        bool named = output->declared_names && output->declared_names[k];
        int64_t size;
        if (!named && output->declared_dims[k] >= 0 && opf_is_int(output->dims[k], &size) && size != output->declared_dims[k]) return true;
    }
    return false;
}

static opf_status compare(const opf_module *module, size_t index, opf_diags *diags) {
    const opf_value *output = module->graph->outputs.data[index];
    if (!output->declared || !output->producer || opf_type_holds_map(output->declared)) return OPF_OK; /* maps have their own note */
    if (!output->list && (!output->dtype || output->rank < 0)) return OPF_OK;                          /* waits for the value of an input */
    const char *name = module->graph->output_names.data[index];
    if (types_differ(output)) {
        opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "type", place_of(module), "output '%s' is declared as %s, but its operators give %s", name,
                                      declared_text(output, module->arena), found_text(output, module->arena));
        opf_diag_hint(diags, diag, "correct the declaration of the output, or convert it with a Cast");
        return OPF_ERROR_INPUT;
    }
    if (shapes_differ(output))
        opf_diag_add(diags, OPF_WARNING, "shape", place_of(module), "output '%s' is declared as %s, but its operators give %s, which is what a run hands out", name,
                     declared_text(output, module->arena), found_text(output, module->arena));
    return OPF_OK;
}

opf_status opf_check_declared(const opf_module *module, opf_diags *diags) {
    opf_status status = OPF_OK;
    for (size_t k = 0; k < module->graph->outputs.count; k++) {
        opf_status one = compare(module, k, diags);
        if (one != OPF_OK) status = one;
    }
    return status;
}
