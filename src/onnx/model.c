/* ModelProto: versions, imported operator sets, functions, the main graph. */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"
#include "onnx/reader.h"
#include "schema.pb.h"

enum { OLDEST_IR = 3, NEWEST_IR = 14 };

/* The newest versions of ONNX's own domains whose operators are known. */
static const opf_opset newest_opsets[] = {{"", 28}, {"ai.onnx.ml", 5}};

static void warn_of_newer(opf_reader *reader, const opf_opset *opset) {
    for (size_t i = 0; i < OPF_COUNT(newest_opsets); i++)
        if (strcmp(opset->domain, newest_opsets[i].domain) == 0 && opset->version > newest_opsets[i].version)
            opf_diag_add(reader->diags, OPF_WARNING, "read", reader->place, "opset %d of %s is newer than %d, the newest that opfuse knows; its operators are taken to mean what they mean there",
                         opset->version, *opset->domain ? opset->domain : "ai.onnx", newest_opsets[i].version);
}

static void read_opsets(opf_reader *reader, const opf_spans *messages, const opf_opset **out, size_t *count) {
    opf_opset *opsets = OPF_ARRAY(reader->arena, opf_opset, messages->count);
    *count = 0;
    for (size_t i = 0; i < messages->count; i++) {
        const opf_schema_OperatorSet *message = OPF_DECODE(reader, OperatorSet, messages->data[i], "operator set");
        if (!message) continue;
        opf_span span = opf_spans_last(&message->domain);
        if (span.size == 7 && memcmp(span.data, "ai.onnx", 7) == 0) span.size = 0;
        const char *domain = opf_reader_name(reader, span, "domain of an operator set");
        if (!domain) continue;
        if (message->version < 1 || message->version > INT32_MAX) {
            opf_reader_error(reader, OPF_ERROR_INPUT, "read", "version %lld of operator set '%s' is imported, which cannot be", (long long)message->version, *domain ? domain : "ai.onnx");
            continue;
        }
        size_t at = 0;
        while (at < *count && opsets[at].domain != domain) at++;
        if (at == *count) opsets[(*count)++] = (opf_opset){domain, 0};
        if (opsets[at].version < (int)message->version) opsets[at].version = (int)message->version;
    }
    *out = opsets;
}

static void read_functions(opf_reader *reader, const opf_schema_Model *model) {
    reader->functions = opf_map_new(reader->scratch);
    for (size_t i = 0; i < model->functions.count; i++) {
        const opf_schema_Function *message = OPF_DECODE(reader, Function, model->functions.data[i], "function");
        if (!message) continue;
        opf_span span = opf_spans_last(&message->domain), overload = opf_spans_last(&message->overload);
        if (span.size == 7 && memcmp(span.data, "ai.onnx", 7) == 0) span.size = 0;
        const char *domain = opf_reader_name(reader, span, "domain of a function"), *name = opf_reader_name(reader, opf_spans_last(&message->name), "name of a function");
        if (!domain || !name) continue;
        opf_text key = {0};
        opf_text_printf(&key, "%s:%s:", domain, name);
        opf_text_add_n(&key, (const char *)overload.data, overload.size);
        opf_function *function = OPF_NEW(reader->scratch, opf_function);
        function->key = opf_intern_n(reader->module->names, key.data, key.length);
        function->message = message;
        function->nodes = OPF_ARRAY(reader->scratch, const opf_schema_Node *, message->node.count);
        opf_text_free(&key);
        read_opsets(reader, &message->opset_import, &function->opsets, &function->n_opsets);
        if (opf_map_has(&reader->functions, function->key)) opf_reader_error(reader, OPF_ERROR_INPUT, "read", "function '%s' of domain '%s' is defined twice", name, domain);
        opf_map_set(&reader->functions, function->key, function);
        OPF_PUSH(reader->module->arena, &reader->module->functions, (opf_function_name){domain, name});
    }
}

static bool check_version(opf_reader *reader, const opf_schema_Model *model) {
    if (!model->has_ir_version && model->graph.count == 0) return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "this is no ONNX model: it has neither a version nor a graph");
    if (model->ir_version < OLDEST_IR)
        return opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "read", "IR version %lld is older than %d, the first that ONNX settled on; convert the model with a newer exporter",
                                (long long)model->ir_version, OLDEST_IR);
    if (model->ir_version > NEWEST_IR)
        opf_diag_add(reader->diags, OPF_WARNING, "read", reader->place, "IR version %lld is newer than %d, the newest that opfuse knows; it is read as that", (long long)model->ir_version, NEWEST_IR);
    if (model->graph.count == 0) return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "the model has no graph");
    return true;
}

static void read_model(opf_reader *reader) {
    if (reader->file.size == 0) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "read", "the file is empty");
        return;
    }
    const opf_schema_Model *model = OPF_DECODE(reader, Model, reader->file, "model");
    if (!model || !check_version(reader, model)) return;
    opf_module *module = reader->module;
    module->ir_version = model->ir_version;
    opf_span producer = opf_spans_last(&model->producer_name);
    module->producer = opf_arena_string_n(module->arena, (const char *)producer.data, opf_span_is_text(producer) ? producer.size : 0);
    const opf_opset *opsets;
    size_t n_opsets;
    read_opsets(reader, &model->opset_import, &opsets, &n_opsets);
    for (size_t i = 0; i < n_opsets; i++) {
        OPF_PUSH(module->arena, &module->opsets, opsets[i]);
        warn_of_newer(reader, &opsets[i]);
    }
    read_functions(reader, model);
    module->graph = opf_read_graph(reader, opf_spans_last(&model->graph), NULL, NULL, NULL, opsets, n_opsets);
    if (module->graph && module->graph->outputs.count == 0 && reader->status == OPF_OK) opf_reader_error(reader, OPF_ERROR_INPUT, "graph", "the graph has no outputs");
    if (!module->graph || reader->allowance < 0) return;
    opf_status sorted = opf_graph_sort(module->graph);
    if (sorted != OPF_OK) opf_reader_failed(reader, sorted);
}

/* Finds the folders whose files may be external data: the one that the path names, and, where the model is a symbolic
 * link, the one that it really lies in (caches of downloads link each file into a common store). */
static void find_folders(opf_reader *reader, const char *path) {
    char *copy = opf_arena_string(reader->scratch, path), *slash = strrchr(copy, '/');
    if (slash) slash[slash == copy] = '\0';
    char *named = realpath(slash ? copy : ".", NULL), *model = realpath(path, NULL);
    reader->folder = named ? opf_arena_string(reader->scratch, named) : NULL;
    if (model) {
        reader->link_folder = opf_arena_string(reader->scratch, model);
        slash = strrchr(reader->link_folder, '/');
        slash[slash == reader->link_folder] = '\0';
    }
    free(named);
    free(model);
}

/* Takes the module, and gives it back only where all went well. */
static opf_status read_into(opf_module **out, opf_module *module, opf_span file, const char *path) {
    opf_reader reader = {.module = module, .arena = module->arena, .scratch = opf_arena_new(), .diags = module->diags, .file = file};
    /* Generous for every honest model: what is decoded is at most a few times what the file holds, and functions of a
     * small file make some ten thousand nodes. */
    reader.allowance = (int64_t)(64 * 1024 * 1024) + (file.size < INT64_MAX / 512 ? (int64_t)file.size * 256 : INT64_MAX / 2);
    reader.place = (opf_place){.file = module->path, .index = -1};
    reader.what = "the model";
    if (path) find_folders(&reader, path);
    read_model(&reader);
    opf_arena_free(reader.scratch);
    if (reader.status == OPF_OK) *out = module;
    else opf_module_free(module);
    return reader.status;
}

opf_status opf_onnx_read(opf_module **out, const char *path, opf_diags *diags) {
    *out = NULL;
    opf_mapping file;
    opf_status status = opf_file_map(&file, path, diags);
    if (status != OPF_OK) return status;
    opf_module *module = opf_module_new(diags, path);
    OPF_PUSH(module->arena, &module->files, file);
    OPF_PUSH(module->arena, &module->file_paths, module->path);
    return read_into(out, module, (opf_span){file.data, file.size}, path);
}

opf_status opf_onnx_read_memory(opf_module **out, const void *data, size_t size, const char *name, opf_diags *diags) {
    *out = NULL;
    return read_into(out, opf_module_new(diags, name), (opf_span){data, size}, NULL);
}
