/* `ops`: the table of operators, opfuse's own and a user's. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "ops/library.h"
#include "ops/scalar.h"

typedef struct listing {
    const opf_user_ops *own;
    opf_text *out;
} listing;

static size_t count_of(const listing *list) { return opf_op_count() + opf_user_ops_count(list->own); }

static const opf_op *op_at(const listing *list, size_t index) {
    return index < opf_op_count() ? opf_op_at(index) : opf_user_ops_at(list->own, index - opf_op_count());
}

/* What an entry's meaning is made of. */
static const char *form_of(const opf_op *op) { return op->scalar ? "scalar" : op->flags & OPF_OP_LIBRARY ? "library" : op->flags & OPF_OP_CONTROL ? "control" : "stages"; }

/* "Relu", "com.microsoft::Gelu" */
static void print_name(opf_text *out, const opf_op *op) { opf_text_printf(out, "%s%s%s", op->domain, op->domain[0] ? "::" : "", op->name); }

static void print_text(listing *list) {
    opf_text_printf(list->out, "%-28s %6s  %-7s %s\n", "operator", "since", "form", "kind");
    for (size_t i = 0; i < count_of(list); i++) {
        const opf_op *op = op_at(list, i);
        opf_text name = {0};
        print_name(&name, op);
        opf_text_printf(list->out, "%-28s %6d  %-7s %s", name.data, op->since, form_of(op), opf_kind_name(op->kind));
        if (opf_op_source(op)) opf_text_printf(list->out, "  from %s", opf_op_source(op));
        opf_text_add(list->out, "\n");
        opf_text_free(&name);
    }
}

static json_t *json_of(const opf_op *op) {
    json_t *object = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:s, s:s}", "domain", op->domain, "name", op->name, "since", op->since, "min_inputs", op->min_inputs,
                               "max_inputs", op->max_inputs, "max_outputs", op->max_outputs, "form", form_of(op), "kind", opf_kind_name(op->kind));
    if (opf_op_source(op)) json_object_set_new(object, "source", json_string(opf_op_source(op)));
    return object;
}

static void print_json(listing *list) {
    json_t *operators = json_array();
    for (size_t i = 0; i < count_of(list); i++) json_array_append_new(operators, json_of(op_at(list, i)));
    json_t *root = json_pack("{s:i, s:o}", "schema", 1, "operators", operators);
    char *text = json_dumps(root, JSON_INDENT(1));
    if (!text) opf_out_of_memory();
    opf_text_printf(list->out, "%s\n", text);
    free(text);
    json_decref(root);
}

/* ---- docs/operators.md ---- */

static bool same_operator(const opf_op *a, const opf_op *b) { return strcmp(a->name, b->name) == 0 && strcmp(a->domain, b->domain) == 0; }

/* In a table's cell `|` is written `\|`. */
static void print_cell(opf_text *out, const char *text) {
    for (; *text; text++) opf_text_printf(out, *text == '|' ? "\\|" : "%c", *text);
}

static void print_meaning(opf_text *out, const opf_op *op) {
    const opf_scalar_op_entry *entry = (const opf_scalar_op_entry *)op;
    if (!op->scalar) return;
    for (int c = 0; c < entry->n_cases; c++) {
        const opf_scalar_case *one = &entry->cases[c];
        if (c) opf_text_add(out, "; ");
        opf_text types = {0};
        opf_scalar_types_print(one->types, &types);
        opf_text_printf(out, "%s%s%s%s%s: `", opf_text_string(&types), one->when ? ", " : "", one->when ? one->when : "", one->when ? " = " : "", one->when ? one->is : "");
        opf_text_free(&types);
        for (int k = 0; k < one->n_lets; k++) {
            opf_text_printf(out, "%s = ", one->lets[k].name);
            print_cell(out, one->lets[k].value.text);
            opf_text_add(out, "; ");
        }
        if (one->fold.text) opf_text_printf(out, "fold = %s; ", one->fold.text);
        print_cell(out, one->result.text);
        opf_text_add(out, "`");
    }
}

static void print_markdown(listing *list) {
    opf_text *out = list->out;
    opf_text_add(out, "| operator | versions | inputs | outputs | form | kind | meaning |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0, next; i < count_of(list); i = next) {
        const opf_op *newest = op_at(list, i);
        opf_text_add(out, "| ");
        print_name(out, newest);
        for (next = i; next < count_of(list) && same_operator(op_at(list, next), newest); next++)
            opf_text_printf(out, "%s%d", next == i ? " | " : ", ", op_at(list, next)->since);
        newest = op_at(list, next - 1);
        opf_text_printf(out, newest->min_inputs == newest->max_inputs ? " | %d" : newest->max_inputs < 0 ? " | %d …" : " | %d – %d", newest->min_inputs, newest->max_inputs);
        opf_text_printf(out, " | %d | %s | %s | ", newest->max_outputs, form_of(newest), opf_kind_name(newest->kind));
        print_meaning(out, newest);
        opf_text_add(out, " |\n");
    }
    opf_text_add(out, "\n## Library kernels\n\n| kernel | why it is no list of stages |\n|---|---|\n");
    for (size_t i = 0; i < opf_library_count(); i++) opf_text_printf(out, "| %s | %s |\n", opf_library_at(i)->name, opf_library_at(i)->why);
}

opf_status opf_operators(opf_context *context, const char *format, char **out) {
    static const struct { const char *name; void (*print)(listing *list); } formats[] = {{"text", print_text}, {"json", print_json}, {"markdown", print_markdown}};
    opf_text text = {0};
    listing list = {.own = context ? context->operators : NULL, .out = &text};
    *out = NULL;
    for (size_t k = 0; k < OPF_COUNT(formats); k++) {
        if (strcmp(formats[k].name, format) != 0) continue;
        formats[k].print(&list);
        *out = opf_text_take(&text);
        return OPF_OK;
    }
    return OPF_ERROR_USAGE;
}
