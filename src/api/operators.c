/* `ops`: the table of operators. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"

/* What an entry's meaning is made of. */
static const char *form_of(const opf_op *op) { return op->scalar ? "scalar" : op->flags & OPF_OP_LIBRARY ? "library" : op->flags & OPF_OP_CONTROL ? "control" : "stages"; }

static void print_text(opf_text *out) {
    opf_text_printf(out, "%-28s %6s  %-7s %s\n", "operator", "since", "form", "kind");
    for (size_t i = 0; i < opf_op_count(); i++) {
        const opf_op *op = opf_op_at(i);
        opf_text name = {0};
        opf_text_printf(&name, "%s%s%s", op->domain, op->domain[0] ? "::" : "", op->name);
        opf_text_printf(out, "%-28s %6d  %-7s %s\n", name.data, op->since, form_of(op), opf_kind_name(op->kind));
        opf_text_free(&name);
    }
}

static void print_json(opf_text *out) {
    json_t *list = json_array();
    for (size_t i = 0; i < opf_op_count(); i++) {
        const opf_op *op = opf_op_at(i);
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:s, s:s}", "domain", op->domain, "name", op->name, "since", op->since, "min_inputs",
                                              op->min_inputs, "max_inputs", op->max_inputs, "max_outputs", op->max_outputs, "form", form_of(op), "kind", opf_kind_name(op->kind)));
    }
    json_t *root = json_pack("{s:i, s:o}", "schema", 1, "operators", list);
    char *text = json_dumps(root, JSON_INDENT(1));
    if (!text) opf_out_of_memory();
    opf_text_printf(out, "%s\n", text);
    free(text);
    json_decref(root);
}

opf_status opf_operators(const char *format, char **out) {
    *out = NULL;
    opf_text text = {0};
    if (strcmp(format, "json") == 0) print_json(&text);
    else if (strcmp(format, "text") == 0) print_text(&text);
    else return OPF_ERROR_USAGE;
    *out = opf_text_take(&text);
    return OPF_OK;
}
