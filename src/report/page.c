/* The report's page: its data as JSON, between the embedded parts page.html, page.css, page_words.js, page_roofline.js and page.js. */
#include "report/page.h"

#include <string.h>

#include "emit/emit.h"
#include "fuse/explain_json.h"
#include "report/expression.h"
#include "report/memory.h"
#include "report/picture.h"
#include "report/roofline.h"

extern const char opf_embedded_page_html[], opf_embedded_page_css[], opf_embedded_page_js[];

enum { LAYOUT_DIGITS = 6 };

/* ---- pictures ---- */

static void add_before(json_t *list, const opf_graph *graph, bool *laid_out) {
    bool good;
    json_array_append_new(list, json_pack("{s:o,s:o}", "path", opf_json_text(graph->path ? graph->path : ""), "before", opf_picture_of_nodes(graph, &good)));
    *laid_out = *laid_out && good;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        for (int a = 0; a < node->n_attrs; a++) {
            const opf_attr *attr = &node->attrs[a];
            for (size_t g = 0; (attr->kind == OPF_ATTR_GRAPH || attr->kind == OPF_ATTR_GRAPHS) && g < attr->count; g++)
                add_before(list, attr->graphs[g], laid_out);
        }
    }
}

json_t *opf_page_before(const opf_module *module, bool *laid_out) {
    json_t *list = json_array();
    *laid_out = true;
    add_before(list, module->graph, laid_out);
    return list;
}

/* The entry of a path in the list of graphs, a new one where it has none. */
static json_t *graph_entry(json_t *graphs, const char *path) {
    size_t i;
    json_t *entry;
    json_array_foreach(graphs, i, entry)
        if (strcmp(json_string_value(json_object_get(entry, "path")), path) == 0)
            return entry;
    entry = json_pack("{s:s,s:n}", "path", path, "before");
    json_array_append_new(graphs, entry);
    return entry;
}

static void add_after(json_t *graphs, const opf_parts *parts, bool *laid_out) {
    for (size_t p = 0; p < parts->list.count; p++) {
        const opf_part *part = &parts->list.data[p];
        json_t *path = opf_json_text(part->fusion->graph->path ? part->fusion->graph->path : "");
        bool good;
        json_object_set_new(graph_entry(graphs, json_string_value(path)), "after", opf_picture_of_groups(part->fusion, part->first_id, &good));
        *laid_out = *laid_out && good;
        json_decref(path);
    }
}

/* ---- kernels ---- */

static json_t *argument(const char *role, const opf_value *value) {
    opf_text type = {0};
    opf_value_print_type(value, &type);
    json_t *json = json_pack("{s:s,s:o,s:o,s:I,s:b}", "role", role, "name", opf_json_text(value->name), "type", opf_json_text(opf_text_string(&type)),
                             "bytes", (json_int_t)opf_value_nominal_bytes(value), "constant", value->constant != NULL);
    opf_text_free(&type);
    return json;
}

/* {"expression", "arguments", "never_stored"} */
static json_t *group_object(const opf_group *group, opf_pool *pool) {
    opf_text expression = {0};
    json_t *arguments = json_array();
    if (group->stages.list.count > 0)
        opf_print_expression(group, pool, &expression);
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        json_array_append_new(arguments, argument("in", group->stages.inputs.data[i]));
    for (size_t r = 0; r < group->results.count; r++)
        json_array_append_new(arguments, argument("out", group->results.data[r].value));
    json_t *json = json_pack("{s:o,s:o,s:I}", "expression", opf_json_text(opf_text_string(&expression)), "arguments", arguments,
                             "never_stored", (json_int_t)opf_group_never_stored(group));
    opf_text_free(&expression);
    return json;
}

/* In the order of report numbers. */
static json_t *group_objects(const opf_parts *parts) {
    json_t *list = json_array();
    for (size_t p = 0; p < parts->list.count; p++) {
        const opf_fusion *fusion = parts->list.data[p].fusion;
        for (size_t g = 0; g < fusion->groups.count; g++)
            json_array_append_new(list, group_object(fusion->groups.data[g], fusion->module->pool));
    }
    return list;
}

/* {NAME: C text}: groups of equal code share a kernel, whose banner is that of the first. */
static opf_status kernel_texts(const opf_program *program, json_t **out) {
    *out = json_object();
    for (size_t k = 0; k < program->kernels.count; k++) {
        const opf_program_kernel *kernel = &program->kernels.data[k];
        opf_text code = {0};
        opf_status status = opf_emit_kernel(kernel->nest, kernel->name, &code);
        if (status == OPF_OK)
            json_object_set_new(*out, kernel->name, opf_json_text(opf_text_string(&code)));
        opf_text_free(&code);
        if (status != OPF_OK)
            return status;
    }
    return OPF_OK;
}

/* ---- the page ---- */

/* JSON inside a script element: what would end it is written otherwise. */
static void print_data(json_t *data, opf_text *out) {
    opf_text text = {0};
    opf_json_print(data, JSON_COMPACT | JSON_REAL_PRECISION(LAYOUT_DIGITS), &text);
    const char *at = opf_text_string(&text);
    for (const char *less; (less = strchr(at, '<')); at = less + 1) {
        opf_text_add_n(out, at, (size_t)(less - at));
        opf_text_add(out, "\\u003c");
    }
    opf_text_add(out, at);
    opf_text_free(&text);
}

static void print_title(const char *model, opf_text *out) {
    const char *slash = strrchr(model, '/');
    for (const char *c = slash ? slash + 1 : model; *c; c++)
        opf_text_printf(out, *c == '<' || *c == '&' || (unsigned char)*c < 0x20 ? "&#%d;" : "%c", (unsigned char)*c);
}

/* page.html with its marks {{style}}, {{script}}, {{data}} and {{title}} filled in. */
static void print_page(json_t *data, const char *model, opf_text *out) {
    for (const char *at = opf_embedded_page_html; *at;) {
        const char *mark = strstr(at, "{{");
        opf_text_add_n(out, at, mark ? (size_t)(mark - at) : strlen(at));
        if (!mark)
            break;
        if (strncmp(mark, "{{style}}", 9) == 0)
            opf_text_add(out, opf_embedded_page_css);
        else if (strncmp(mark, "{{script}}", 10) == 0)
            opf_text_add(out, opf_embedded_page_js);
        else if (strncmp(mark, "{{data}}", 8) == 0)
            print_data(json_incref(data), out);
        else
            print_title(model, out);
        at = strstr(mark, "}}") + 2;
    }
}

opf_status opf_page_print(const opf_program *program, json_t *before, bool laid_out, int64_t unfused_bytes, const opf_profile *profile, const char *version, opf_text *out) {
    opf_parts parts = opf_fusion_parts(program->fusion, program->module->arena);
    json_t *texts;
    opf_status status = kernel_texts(program, &texts);
    if (status != OPF_OK) {
        json_decref(before);
        json_decref(texts);
        return status;
    }
    add_after(before, &parts, &laid_out);
    json_t *data = json_pack("{s:i,s:s,s:b,s:o,s:o,s:o,s:o,s:o}", "schema", 1, "version", version, "laid_out", laid_out, "explain",
                             opf_explain_object(program->fusion), "graphs", before, "groups", group_objects(&parts), "kernels", texts, "memory",
                             opf_memory_object(program, unfused_bytes));
    if (!data)
        opf_out_of_memory();
    if (profile)
        json_object_set_new(data, "roofline", opf_roofline_object(profile));
    print_page(data, program->module->path ? program->module->path : "", out);
    json_decref(data);
    return OPF_OK;
}
