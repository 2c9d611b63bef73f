/* One model-local function of a file as a graph of its own: the file is read with another main graph, which calls the function
 * once. Protobuf lets a later field of a message stand for an earlier one, so the bytes of that graph follow those of the file. */
#include <string.h>

#include "onnx/onnx.h"
#include "onnx/reader.h"
#include "schema.pb.h"

/* ---- bytes ---- */

static void put_varint(opf_text *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) opf_text_add_n(out, &(const char){(char)(value | 0x80)}, 1);
    opf_text_add_n(out, &(const char){(char)value}, 1);
}

static void put_bytes(opf_text *out, int field, const void *data, size_t size) {
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, size);
    opf_text_add_n(out, data, size);
}

static void put_text(opf_text *out, int field, const opf_text *text) { put_bytes(out, field, opf_text_string(text), text->length); }

/* ValueInfo of this name. A graph's inputs have an element type; what it is does not matter to who reads a function.
 * Type: tensor_type 1; Tensor: elem_type 1. */
static void put_value(opf_text *graph, int field, opf_span name) {
    opf_text value = {0};
    put_bytes(&value, 1, name.data, name.size);
    put_bytes(&value, 2, "\x0a\x02\x08\x01", 4);
    put_text(graph, field, &value);
    opf_text_free(&value);
}

/* Graph: node 1, name 2, input 11, output 12. Node: input 1, output 2, op_type 4, domain 7, overload 8. */
static void put_call(opf_text *out, const opf_schema_Function *function, opf_span domain, opf_span name, opf_span overload) {
    opf_text graph = {0}, node = {0};
    for (size_t i = 0; i < function->input.count; i++) put_bytes(&node, 1, function->input.data[i].data, function->input.data[i].size);
    for (size_t i = 0; i < function->output.count; i++) put_bytes(&node, 2, function->output.data[i].data, function->output.data[i].size);
    put_bytes(&node, 4, name.data, name.size);
    put_bytes(&node, 7, domain.data, domain.size);
    if (overload.size) put_bytes(&node, 8, overload.data, overload.size);
    put_text(&graph, 1, &node);
    put_bytes(&graph, 2, name.data, name.size);
    for (size_t i = 0; i < function->input.count; i++) put_value(&graph, 11, function->input.data[i]);
    for (size_t i = 0; i < function->output.count; i++) put_value(&graph, 12, function->output.data[i]);
    put_text(out, 7, &graph);
    opf_text_free(&node);
    opf_text_free(&graph);
}

/* OperatorSet: domain 1, version 2. */
static void put_opset(opf_text *out, opf_span domain) {
    opf_text set = {0};
    put_bytes(&set, 1, domain.data, domain.size);
    opf_text_add_n(&set, "\x10\x01", 2);
    put_text(out, 8, &set);
    opf_text_free(&set);
}

/* ---- the function ---- */

static bool is_called(opf_span span, const char *name) { return strlen(name) == span.size && memcmp(span.data, name, span.size) == 0; }

/* NULL: reported. */
static const opf_schema_Function *find(opf_reader *reader, const opf_schema_Model *model, const char *name) {
    const opf_schema_Function *found = NULL;
    for (size_t i = 0; i < model->functions.count; i++) {
        const opf_schema_Function *function = OPF_DECODE(reader, Function, model->functions.data[i], "function");
        if (!function || (name && !is_called(opf_spans_last(&function->name), name))) continue;
        if (found) {
            opf_reader_error(reader, OPF_ERROR_INPUT, "read", name ? "the file has several functions of this name" : "the file has several functions; name one of them");
            return NULL;
        }
        found = function;
    }
    if (!found && reader->status == OPF_OK) opf_reader_error(reader, OPF_ERROR_INPUT, "read", name ? "the file has no function of this name" : "the file has no model-local function");
    return found;
}

/* The file's bytes and behind them the call; false: reported. */
static bool extend(opf_reader *reader, const char *name, opf_text *out) {
    const opf_schema_Model *model = OPF_DECODE(reader, Model, reader->file, "model");
    const opf_schema_Function *function = model ? find(reader, model, name) : NULL;
    if (!function) return false;
    opf_text_add_n(out, (const char *)reader->file.data, reader->file.size);
    opf_span domain = opf_spans_last(&function->domain);
    put_opset(out, domain);
    put_call(out, function, domain, opf_spans_last(&function->name), opf_spans_last(&function->overload));
    return true;
}

opf_status opf_onnx_read_function(opf_module **out, const char *path, const char *name, opf_diags *diags) {
    *out = NULL;
    opf_mapping file;
    opf_status status = opf_file_map(&file, path, diags);
    if (status != OPF_OK) return status;
    opf_arena *scratch = opf_arena_new();
    opf_reader reader = {.arena = scratch, .scratch = scratch, .diags = diags, .file = {file.data, file.size}, .allowance = INT64_MAX, .what = "the model"};
    reader.place = (opf_place){.file = path, .index = -1};
    opf_text bytes = {0};
    if (!file.size) opf_reader_error(&reader, OPF_ERROR_INPUT, "read", "the file is empty");
    else if (extend(&reader, name, &bytes)) reader.status = opf_onnx_read_memory(out, opf_text_string(&bytes), bytes.length, path, diags);
    if (reader.status == OPF_OK && !*out) reader.status = OPF_ERROR_INPUT;
    opf_text_free(&bytes);
    opf_arena_free(scratch);
    opf_file_unmap(&file);
    return reader.status;
}
