/* ModelProto out. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "onnx/writer.h"
#include "schema.pb.h"

/* IR versions (onnx.proto): initializers need not be inputs; functions exist. */
enum { IR_FREE_INITIALIZERS = 4, IR_FUNCTIONS = 8 };

static opf_status refuse(const opf_writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static opf_status refuse(const opf_writer *writer, const char *format, ...) {
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    opf_diag_add(writer->module->diags, OPF_ERROR, "write", (opf_place){.file = writer->module->path, .index = -1}, "%s", message);
    return OPF_ERROR_UNSUPPORTED;
}

/* Calls `visit` for the graph and all graphs inside it. */
static opf_status each_graph(opf_writer *writer, const opf_graph *graph, opf_status (*visit)(opf_writer *writer, const opf_graph *graph)) {
    opf_status status = visit(writer, graph);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        for (int a = 0; a < node->n_attrs; a++) {
            const opf_attr *attr = &node->attrs[a];
            bool holds = attr->kind == OPF_ATTR_GRAPH || attr->kind == OPF_ATTR_GRAPHS;
            for (size_t g = 0; holds && g < attr->count && status == OPF_OK; g++) status = each_graph(writer, attr->graphs[g], visit);
        }
    }
    return status;
}

/* ---- names ---- */

static opf_status take_names(opf_writer *writer, const opf_graph *graph) {
    for (size_t i = 0; i < graph->values.count; i++) opf_map_set(&writer->taken, graph->values.data[i]->name, graph->values.data[i]);
    return OPF_OK;
}

static bool hides(const opf_graph *graph, const char *name) {
    for (const opf_node *parent = graph->parent; parent; parent = parent->graph->parent)
        if (opf_map_has(&parent->graph->by_name, name)) return true;
    return false;
}

/* A value of a sub-graph must not bear a name of the graphs around it: a node that reads the other one would get it. */
static opf_status rename_hiding(opf_writer *writer, const opf_graph *graph) {
    for (size_t i = 0; graph->parent && i < graph->values.count; i++) {
        const opf_value *value = graph->values.data[i];
        if (!hides(graph, value->name) || opf_map_has(&writer->names, value)) continue;
        const char *name = value->name;
        for (int k = 1; opf_map_has(&writer->taken, name); k++) name = opf_intern(writer->module->names, opf_arena_printf(writer->scratch, "%s#%d", value->name, k));
        opf_map_set(&writer->taken, name, (void *)value);
        opf_map_set(&writer->names, value, (void *)name);
    }
    return OPF_OK;
}

static opf_status check_promised_names(const opf_writer *writer, const opf_graph *graph) {
    for (size_t i = 0; i < graph->outputs.count; i++) {
        const char *name = graph->output_names.data[i];
        const opf_value *other = name ? opf_map_get(&graph->by_name, name) : NULL;
        if (!other || other == graph->outputs.data[i] || !(other->producer || other->constant || other->input_index >= 0)) continue;
        return refuse(writer, "output %zu is to be called '%s', but so is another value", i, name);
    }
    return OPF_OK;
}

/* ---- versions ---- */

opf_opset *opf_writer_opset(const opf_writer *writer, const char *domain) {
    for (size_t i = 0; i < writer->opsets.count; i++)
        if (strcmp(writer->opsets.data[i].domain, domain) == 0) return &writer->opsets.data[i];
    return NULL;
}

static void import(opf_writer *writer, const char *domain, int version) {
    if (!opf_writer_opset(writer, domain)) OPF_PUSH(writer->scratch, &writer->opsets, (opf_opset){domain, version});
}

static void add_function(opf_writer *writer, const opf_onnx_function *function) {
    for (size_t i = 0; i < function->n_nodes; i++) opf_map_set(&writer->function_of, function->nodes[i], (void *)function);
    OPF_PUSH(writer->scratch, &writer->functions, function);
    import(writer, function->domain, 1);
}

/* The version that a node of the graph has where it stands: that of a function around it, else the file's. */
static int version_at(const opf_writer *writer, const opf_graph *graph, const char *domain) {
    for (const opf_node *parent = graph->parent; parent; parent = parent->graph->parent) {
        const opf_onnx_function *function = opf_map_get(&writer->function_of, parent);
        if (function) return opf_function_version(writer, function, domain);
    }
    return opf_writer_opset(writer, domain)->version;
}

/* Inlined functions may bring nodes of another version along, which a graph cannot hold: each becomes a function again. */
static opf_status take_versions(opf_writer *writer, const opf_graph *graph) {
    static const char domain[] = "opfuse.versions";
    for (size_t i = 0; i < graph->nodes.count; i++) {
        opf_node *node = graph->nodes.data[i];
        import(writer, node->domain, node->opset);
        const opf_onnx_function *given = opf_map_get(&writer->function_of, node);
        int version = given ? opf_function_version(writer, given, node->domain) : version_at(writer, graph, node->domain);
        if (node->opset == version) continue;
        if (given) return refuse(writer, "node '%s' (%s) of function '%s' is of version %d, others are of version %d; a function has one", node->name, node->op, given->name, node->opset, version);
        opf_onnx_function made = {domain, opf_arena_printf(writer->scratch, "%s_%d_%zu", node->op, node->opset, writer->functions.count), opf_arena_copy(writer->scratch, &node, sizeof(opf_node *)), 1};
        add_function(writer, opf_arena_copy(writer->scratch, &made, sizeof made));
    }
    return OPF_OK;
}

/* ---- size ---- */

static opf_status check_size(opf_writer *writer, const opf_graph *graph) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < graph->values.count; i++)
        if (graph->values.data[i]->constant) bytes += graph->values.data[i]->constant->bytes;
    return bytes <= INT32_MAX ? OPF_OK : refuse(writer, "its constants have %" PRIu64 " bytes; an ONNX file holds at most 2 GiB", bytes);
}

/* ---- the model ---- */

static void write_opsets(opf_writer *writer) {
    for (size_t i = 0; i < writer->opsets.count; i++) {
        size_t message = opf_encode_open(writer->out, opf_schema_Model_opset_import_tag);
        if (*writer->opsets.data[i].domain) opf_encode_string(writer->out, opf_schema_OperatorSet_domain_tag, writer->opsets.data[i].domain);
        opf_encode_int(writer->out, opf_schema_OperatorSet_version_tag, writer->opsets.data[i].version);
        opf_encode_close(writer->out, message);
    }
}

static opf_status write_model(opf_writer *writer) {
    const opf_module *module = writer->module;
    int64_t oldest = writer->functions.count ? IR_FUNCTIONS : IR_FREE_INITIALIZERS;
    opf_encode_int(writer->out, opf_schema_Model_ir_version_tag, module->ir_version > oldest ? module->ir_version : oldest);
    opf_encode_string(writer->out, opf_schema_Model_producer_name_tag, "opfuse");
    write_opsets(writer);
    size_t graph = opf_encode_open(writer->out, opf_schema_Model_graph_tag);
    if (!opf_write_main_nodes(writer, module->graph)) {
        opf_diag_add(module->diags, OPF_ERROR, "internal", (opf_place){.file = module->path, .index = -1}, "functions to be written need each other's results");
        return OPF_ERROR_INTERNAL;
    }
    opf_write_values(writer, module->graph);
    opf_encode_close(writer->out, graph);
    opf_write_functions(writer);
    return OPF_OK;
}

static opf_status write_checked(opf_writer *writer, size_t before) {
    const opf_graph *graph = writer->module->graph;
    each_graph(writer, graph, take_names);
    each_graph(writer, graph, rename_hiding);
    opf_status status = check_promised_names(writer, graph);
    if (status == OPF_OK) status = each_graph(writer, graph, take_versions);
    if (status == OPF_OK) status = each_graph(writer, graph, check_size);
    if (status == OPF_OK) status = write_model(writer);
    if (status == OPF_OK && writer->out->length - before > INT32_MAX)
        status = refuse(writer, "it would have %zu bytes; an ONNX file holds at most 2 GiB", writer->out->length - before);
    return status;
}

opf_status opf_onnx_write(const opf_module *module, const opf_onnx_function *functions, size_t n_functions, opf_text *out) {
    opf_arena *scratch = opf_arena_new();
    opf_writer writer = {.module = module, .scratch = scratch, .out = out};
    writer.taken = opf_map_new(scratch);
    writer.names = opf_map_new(scratch);
    writer.function_of = opf_map_new(scratch);
    writer.written = opf_map_new(scratch);
    for (size_t i = 0; i < module->opsets.count; i++) import(&writer, module->opsets.data[i].domain, module->opsets.data[i].version);
    for (size_t f = 0; f < n_functions; f++) add_function(&writer, &functions[f]);
    size_t before = out->length;
    opf_status status = write_checked(&writer, before);
    if (status != OPF_OK && out->data) out->data[out->length = before] = '\0';
    opf_arena_free(scratch);
    return status;
}
