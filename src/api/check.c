/* `check`: every problem of a model at once, without compiling anything. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/model.h"

/* Nodes of one operator that opfuse cannot handle. */
typedef struct missing {
    const char *op, *domain;
    int opset;
    OPF_VEC(const char *) nodes;
} missing;

typedef struct checking {
    opf_context *context;
    opf_arena *arena;
    opf_module *module;        /* NULL where the file cannot be read */
    bool typed;
    size_t first_message;      /* messages before belong to earlier calls */
    OPF_VEC(missing) missing;
} checking;

/* ---- operators ---- */

static void note_missing(checking *c, const opf_node *node) {
    missing *found = NULL;
    for (size_t i = 0; i < c->missing.count; i++) {
        missing *m = &c->missing.data[i];
        if (strcmp(m->op, node->op) == 0 && strcmp(m->domain, node->domain) == 0 && m->opset == node->opset) found = m;
    }
    if (!found) {
        OPF_PUSH(c->arena, &c->missing, (missing){.op = node->op, .domain = node->domain, .opset = node->opset});
        found = &c->missing.data[c->missing.count - 1];
    }
    OPF_PUSH(c->arena, &found->nodes, node->name);
}

static void find_missing(checking *c, const opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        if (!opf_node_op(node)) note_missing(c, node);
        for (int a = 0; a < node->n_attrs; a++) {
            const opf_attr *attr = &node->attrs[a];
            if (attr->kind != OPF_ATTR_GRAPH && attr->kind != OPF_ATTR_GRAPHS) continue;
            for (size_t k = 0; k < attr->count; k++) find_missing(c, attr->graphs[k]);
        }
    }
}

static size_t count_nodes(const opf_graph *graph) {
    size_t n = graph->nodes.count;
    for (size_t i = 0; i < graph->nodes.count; i++)
        for (int a = 0; a < graph->nodes.data[i]->n_attrs; a++) {
            const opf_attr *attr = &graph->nodes.data[i]->attrs[a];
            bool graphs = attr->kind == OPF_ATTR_GRAPH || attr->kind == OPF_ATTR_GRAPHS;
            for (size_t k = 0; graphs && k < attr->count; k++) n += count_nodes(attr->graphs[k]);
        }
    return n;
}

/* ---- pieces of text ---- */

static const char *type_text(const checking *c, const opf_value *value) {
    opf_text text = {0};
    opf_value_print_type(value, &text);
    const char *string = opf_arena_string(c->arena, opf_text_string(&text));
    opf_text_free(&text);
    return string;
}

static const char *guard_text(const checking *c, const opf_guard *guard) {
    opf_text text = {0};
    opf_expr_print(guard->left, NULL, &text);
    opf_text_add(&text, guard->kind == OPF_GUARD_EQ ? " = " : " >= ");
    opf_expr_print(guard->right, NULL, &text);
    const char *string = opf_arena_string(c->arena, opf_text_string(&text));
    opf_text_free(&text);
    return string;
}

static const char *operator_text(const checking *c, const missing *m) {
    return m->domain[0] ? opf_arena_printf(c->arena, "%s::%s", m->domain, m->op) : m->op;
}

static size_t errors_of(const checking *c) {
    size_t n = 0;
    for (size_t i = c->first_message; i < opf_diags_count(c->context->diags); i++) n += opf_diags_at(c->context->diags, i)->severity == OPF_ERROR;
    return n;
}

/* ---- report as text ---- */

static void print_ports(const checking *c, opf_text *out) {
    const opf_graph *graph = c->module->graph;
    for (size_t i = 0; i < graph->inputs.count; i++) opf_text_printf(out, "input   %s  %s\n", graph->inputs.data[i]->name, type_text(c, graph->inputs.data[i]));
    for (size_t i = 0; i < graph->outputs.count; i++) opf_text_printf(out, "output  %s  %s\n", graph->output_names.data[i], type_text(c, graph->outputs.data[i]));
}

static void print_by_value(const checking *c, opf_text *out) {
    for (size_t i = 0; i < c->module->by_value.count; i++)
        opf_text_printf(out, "value   %s  decides a size, an axis or an order: the program is made for its value\n", c->module->by_value.data[i]->name);
}

static void print_sizes(const checking *c, opf_text *out) {
    opf_symbol_source *sources = NULL;
    size_t n = opf_module_symbol_sources(c->module, &sources);
    for (size_t i = 0; i < n; i++) {
        const opf_symbol *symbol = sources[i].symbol;
        opf_text_printf(out, "size    %s  ", symbol->name);
        if (sources[i].input < 0) opf_text_printf(out, "is found by '%s' as it runs", c->module->counts.data[sources[i].axis].node->name);
        else opf_text_printf(out, "is axis %d of input '%s'", sources[i].axis, c->module->graph->inputs.data[sources[i].input]->name);
        opf_text_printf(out, "; costs assume %lld\n", (long long)symbol->nominal);
    }
    for (size_t i = 0; i < c->module->guards.count; i++)
        opf_text_printf(out, "guard   %s  %s\n", guard_text(c, &c->module->guards.data[i]), c->module->guards.data[i].why ? c->module->guards.data[i].why : "");
}

static void print_missing(const checking *c, opf_text *out) {
    for (size_t i = 0; i < c->missing.count; i++) {
        const missing *m = &c->missing.data[i];
        opf_text_printf(out, "unsupported operator %s (opset %d), %zu node%s:", operator_text(c, m), m->opset, m->nodes.count, m->nodes.count == 1 ? "" : "s");
        for (size_t k = 0; k < m->nodes.count; k++) opf_text_printf(out, "%s '%s'", k ? "," : "", m->nodes.data[k]);
        opf_text_add(out, "\n");
    }
}

static void print_report(const checking *c, const char *path, opf_text *out) {
    if (c->module) {
        opf_text_printf(out, "%s: IR version %lld, %zu nodes", path, (long long)c->module->ir_version, count_nodes(c->module->graph));
        for (size_t i = 0; i < c->module->opsets.count; i++) {
            const opf_opset *opset = &c->module->opsets.data[i];
            opf_text_printf(out, ", opset %s%s%d", opset->domain, opset->domain[0] ? " " : "", opset->version);
        }
        opf_text_add(out, "\n");
        print_ports(c, out);
        if (c->typed) print_by_value(c, out);
        if (c->typed) print_sizes(c, out);
        print_missing(c, out);
    }
    size_t errors = errors_of(c);
    if (errors) opf_text_printf(out, "%zu problem%s\n", errors, errors == 1 ? "" : "s");
    else opf_text_add(out, "no problems\n");
}

/* ---- report as JSON ---- */

/* Names that are no UTF-8 cannot be JSON. */
static json_t *string_or_null(const char *text) {
    json_t *string = text ? json_string(text) : json_null();
    return string ? string : json_string("(no UTF-8)");
}

static json_t *port_json(const checking *c, const opf_value *value, const char *name) {
    json_t *dims = json_array();
    for (int k = 0; k < value->rank; k++) {
        int64_t size;
        opf_text text = {0};
        if (value->dims && value->dims[k]) opf_expr_print(value->dims[k], NULL, &text);
        if (value->dims && value->dims[k] && opf_is_int(value->dims[k], &size)) json_array_append_new(dims, json_integer(size));
        else json_array_append_new(dims, json_string(text.length ? text.data : "?"));
        opf_text_free(&text);
    }
    return json_pack("{s:o, s:s, s:s, s:o}", "name", string_or_null(name), "dtype", opf_array_dtype_name((int)value->dtype), "type", type_text(c, value), "dims", dims);
}

static json_t *problems_json(const checking *c) {
    json_t *list = json_array();
    for (size_t i = c->first_message; i < opf_diags_count(c->context->diags); i++) {
        const opf_diag *d = opf_diags_at(c->context->diags, i);
        if (d->severity != OPF_ERROR) continue;
        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:i, s:o, s:i}", "code", d->code, "message", string_or_null(d->message), "node",
                                              string_or_null(d->place.node), "op", string_or_null(d->place.op), "index", d->place.index, "hint",
                                              string_or_null(d->hint), "count", d->count));
    }
    return list;
}

static json_t *missing_json(const checking *c) {
    json_t *list = json_array();
    for (size_t i = 0; i < c->missing.count; i++) {
        const missing *m = &c->missing.data[i];
        json_t *nodes = json_array();
        for (size_t k = 0; k < m->nodes.count; k++) json_array_append_new(nodes, string_or_null(m->nodes.data[k]));
        json_array_append_new(list, json_pack("{s:o, s:o, s:i, s:i, s:o}", "op", string_or_null(m->op), "domain", string_or_null(m->domain), "opset", m->opset,
                                              "count", (int)m->nodes.count, "nodes", nodes));
    }
    return list;
}

static json_t *by_value_json(const checking *c) {
    json_t *list = json_array();
    for (size_t i = 0; c->typed && i < c->module->by_value.count; i++) json_array_append_new(list, string_or_null(c->module->by_value.data[i]->name));
    return list;
}

static json_t *symbols_json(const checking *c) {
    json_t *list = json_array();
    opf_symbol_source *sources = NULL;
    size_t n = c->typed ? opf_module_symbol_sources(c->module, &sources) : 0;
    for (size_t i = 0; i < n; i++) {
        const opf_symbol_source *source = &sources[i];
        json_t *entry = json_pack("{s:s, s:I}", "name", source->symbol->name, "nominal", (json_int_t)source->symbol->nominal);
        if (source->input < 0) json_object_set_new(entry, "node", string_or_null(c->module->counts.data[source->axis].node->name));
        else json_object_set_new(entry, "input", string_or_null(c->module->graph->inputs.data[source->input]->name));
        if (source->input >= 0) json_object_set_new(entry, "axis", json_integer(source->axis));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *guards_json(const checking *c) {
    json_t *list = json_array();
    for (size_t i = 0; c->typed && i < c->module->guards.count; i++)
        json_array_append_new(list, json_pack("{s:s, s:o}", "condition", guard_text(c, &c->module->guards.data[i]), "why", string_or_null(c->module->guards.data[i].why)));
    return list;
}

static void print_json(const checking *c, const char *path, opf_text *out) {
    json_t *inputs = json_array(), *outputs = json_array();
    for (size_t i = 0; c->module && i < c->module->graph->inputs.count; i++) json_array_append_new(inputs, port_json(c, c->module->graph->inputs.data[i], c->module->graph->inputs.data[i]->name));
    for (size_t i = 0; c->module && i < c->module->graph->outputs.count; i++) json_array_append_new(outputs, port_json(c, c->module->graph->outputs.data[i], c->module->graph->output_names.data[i]));
    json_t *root = json_pack("{s:i, s:o, s:b, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", 1, "model", string_or_null(path), "ok", errors_of(c) == 0, "nodes",
                             (json_int_t)(c->module ? count_nodes(c->module->graph) : 0), "inputs", inputs, "outputs", outputs, "by_value", by_value_json(c), "symbols", symbols_json(c),
                             "guards", guards_json(c), "unsupported", missing_json(c), "problems", problems_json(c));
    char *text = json_dumps(root, JSON_INDENT(1));
    if (!text) opf_out_of_memory();
    opf_text_printf(out, "%s\n", text);
    free(text);
    json_decref(root);
}

/* ---- whole ---- */

opf_status opf_check(opf_context *context, const char *path, const char *format, char **out) {
    *out = NULL;
    bool json;
    if (opf_context_format(context, format, &json) != OPF_OK) return OPF_ERROR_USAGE;
    checking c = {.context = context, .arena = opf_arena_new(), .first_message = opf_diags_count(context->diags)};
    opf_source source = {.path = path};
    opf_status status = opf_source_read(&c.module, &source, context);
    if (status != OPF_OK) c.module = NULL;
    if (c.module) {
        find_missing(&c, c.module->graph);
        status = opf_context_type(context, c.module);
        c.typed = status == OPF_OK;
        if (c.typed) status = opf_check_declared(c.module, context->diags);
    }
    opf_text text = {0};
    if (json) print_json(&c, path, &text);
    else print_report(&c, path, &text);
    *out = opf_text_take(&text);
    if (c.module) opf_module_free(c.module);
    opf_arena_free(c.arena);
    return status;
}
