/* Files of sequences and optionals: SequenceProto, OptionalProto. */
#include <string.h>

#include "onnx/reader.h"
#include "onnx/writer.h"
#include "opf_heap.h"
#include "schema.pb.h"

enum { HOLDS_TENSOR = 1, HOLDS_SEQUENCE = 3 }; /* SequenceProto.DataType and OptionalProto.DataType */

static const char *text_of(opf_reader *reader, const opf_spans *spans) {
    opf_span span = opf_spans_last(spans);
    return opf_arena_string_n(reader->arena, (const char *)span.data, opf_span_is_text(span) ? span.size : 0);
}

static bool read_element(opf_reader *reader, opf_span bytes, opf_element *out) {
    const opf_schema_Tensor *message = OPF_DECODE(reader, Tensor, bytes, "tensor");
    const opf_tensor *tensor = message ? opf_read_tensor(reader, message) : NULL;
    if (tensor) *out = (opf_element){tensor->data, tensor->dims, (int)tensor->dtype, tensor->rank};
    return tensor != NULL;
}

static bool read_elements(opf_reader *reader, const opf_spans *values, opf_list *out) {
    opf_element *elements = OPF_ARRAY(reader->arena, opf_element, values->count + 1);
    for (size_t k = 0; k < values->count; k++) {
        if (!read_element(reader, values->data[k], &elements[k])) return false;
        if (elements[k].dtype != elements[0].dtype) return opf_reader_error(reader, OPF_ERROR_INPUT, "type", "the elements of the sequence are of different types");
    }
    *out = (opf_list){(int64_t)values->count, elements};
    return true;
}

static bool read_sequence(opf_reader *reader, opf_span bytes, const char **name, opf_list *out) {
    const opf_schema_Sequence *message = OPF_DECODE(reader, Sequence, bytes, "sequence");
    if (!message) return false;
    if (name) *name = text_of(reader, &message->name);
    if (message->elem_type > HOLDS_TENSOR) return opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "type", "the file holds a sequence of what is no tensor");
    return read_elements(reader, &message->tensor_values, out);
}

static bool read_optional(opf_reader *reader, bool sequence, const char **name, opf_list *out) {
    const opf_schema_Optional *message = OPF_DECODE(reader, Optional, reader->file, "optional");
    if (!message) return false;
    if (name) *name = text_of(reader, &message->name);
    *out = (opf_list){-1, NULL};
    if (message->elem_type == 0) return true;
    if (message->elem_type != (sequence ? HOLDS_SEQUENCE : HOLDS_TENSOR)) return opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "type", "the file holds an optional of what is no %s", sequence ? "sequence" : "tensor");
    if (sequence) return message->sequence_value.count == 0 || read_sequence(reader, opf_spans_last(&message->sequence_value), NULL, out);
    return message->tensor_value.count == 0 || read_elements(reader, &message->tensor_value, out);
}

static opf_dtype dtype_of(const opf_list *list) { return list->length > 0 ? (opf_dtype)list->elements[0].dtype : OPF_FLOAT32; }

opf_status opf_onnx_read_list(opf_tensor **out, const char **name, bool sequence, bool optional, const char *path, opf_arena *arena, opf_diags *diags) {
    *out = NULL;
    opf_mapping file;
    opf_status status = opf_file_map(&file, path, diags);
    if (status != OPF_OK) return status;
    opf_reader reader = {.arena = arena, .scratch = opf_arena_new(), .diags = diags, .copies = true, .allowance = INT64_MAX, .what = sequence ? "the sequence" : "the optional"};
    reader.place = (opf_place){.file = path, .index = -1};
    reader.file = (opf_span){file.data, file.size};
    opf_list list;
    bool good = optional ? read_optional(&reader, sequence, name, &list) : read_sequence(&reader, reader.file, name, &list);
    if (good) *out = opf_tensor_of_list(arena, dtype_of(&list), &list);
    opf_arena_free(reader.scratch);
    opf_file_unmap(&file);
    return good ? OPF_OK : reader.status;
}

/* ---- writing ---- */

static void write_element(const opf_element *element, uint32_t field, opf_text *out) {
    opf_arena *arena = opf_arena_new();
    const char *why;
    const opf_tensor *tensor = opf_tensor_new(arena, (opf_dtype)element->dtype, element->rank, element->dims, element->data, &why);
    size_t opened = opf_encode_open(out, field);
    if (tensor) opf_encode_tensor(out, tensor, NULL);
    opf_encode_close(out, opened);
    opf_arena_free(arena);
}

static void write_sequence(const opf_list *list, const char *name, opf_text *out) {
    if (name) opf_encode_string(out, opf_schema_Sequence_name_tag, name);
    opf_encode_int(out, opf_schema_Sequence_elem_type_tag, HOLDS_TENSOR);
    for (int64_t k = 0; k < list->length; k++) write_element(&list->elements[k], opf_schema_Sequence_tensor_values_tag, out);
}

void opf_onnx_write_list(const opf_tensor *list, bool sequence, bool optional, const char *name, opf_text *out) {
    const opf_list *elements = list->data;
    if (!optional) {
        write_sequence(elements, name, out);
        return;
    }
    if (name) opf_encode_string(out, opf_schema_Optional_name_tag, name);
    opf_encode_int(out, opf_schema_Optional_elem_type_tag, elements->length < 0 ? 0 : sequence ? HOLDS_SEQUENCE : HOLDS_TENSOR);
    if (elements->length < 0) return;
    if (!sequence) {
        write_element(&elements->elements[0], opf_schema_Optional_tensor_value_tag, out);
        return;
    }
    size_t opened = opf_encode_open(out, opf_schema_Optional_sequence_value_tag);
    write_sequence(elements, NULL, out);
    opf_encode_close(out, opened);
}
