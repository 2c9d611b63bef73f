/* TensorProto: every element type, and every way to store it. */
#include "onnx/onnx.h"

#include <string.h>

#include "onnx/reader.h"
#include "schema.pb.h"

/* The typed field that holds elements of each type where they are not raw (onnx.proto, TensorProto). */
typedef enum field { FIELD_INT32, FIELD_FLOAT, FIELD_DOUBLE, FIELD_INT64, FIELD_UINT64, FIELD_STRING } field;

static field field_of(opf_dtype dtype) {
    switch (dtype) {
    case OPF_FLOAT32: case OPF_COMPLEX64: return FIELD_FLOAT;
    case OPF_FLOAT64: case OPF_COMPLEX128: return FIELD_DOUBLE;
    case OPF_INT64: return FIELD_INT64;
    case OPF_UINT32: case OPF_UINT64: return FIELD_UINT64;
    case OPF_STRING: return FIELD_STRING;
    default: return FIELD_INT32;
    }
}

/* Bytes of an element; of types below a byte, of the packed ones that share it; of a complex number, of a part. */
static size_t width_of(opf_dtype dtype) {
    int bits = opf_dtype_bits(dtype);
    if (dtype == OPF_COMPLEX64 || dtype == OPF_COMPLEX128) bits /= 2;
    return bits > 8 ? (size_t)bits / 8 : 1;
}

static const char *shape_text(opf_reader *reader, const opf_tensor *tensor) {
    opf_text text = {0};
    opf_text_printf(&text, "%s[", opf_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++) opf_text_printf(&text, "%s%lld", i ? "," : "", (long long)tensor->dims[i]);
    opf_text_add(&text, "]");
    const char *result = opf_arena_string(reader->scratch, text.data);
    opf_text_free(&text);
    return result;
}

/* A byte of a bool is 0 or 1: C code that reads it as such must not meet anything else. */
static bool holds_odd_bools(const opf_tensor *tensor, const unsigned char *data) {
    if (tensor->dtype != OPF_BOOL) return false;
    unsigned char all = 0;
    for (size_t i = 0; i < tensor->bytes; i++) all |= data[i];
    return all > 1;
}

bool opf_tensor_take_bytes(opf_reader *reader, opf_tensor *tensor, opf_span bytes, int file, uint64_t offset) {
    if (tensor->bytes == 0) return true;
    bool odd = holds_odd_bools(tensor, bytes.data);
    if (!reader->copies && !odd) {
        tensor->data = bytes.data;
        tensor->file = file;
        tensor->offset = offset;
        return true;
    }
    if (!opf_reader_spend(reader, tensor->bytes)) return false;
    unsigned char *copy = opf_arena_copy(reader->arena, bytes.data, tensor->bytes);
    for (size_t i = 0; odd && i < tensor->bytes; i++) copy[i] = copy[i] != 0;
    tensor->data = copy;
    return true;
}

/* Bytes that stand in the model's own file. */
static bool take_own_bytes(opf_reader *reader, opf_tensor *tensor, opf_span bytes) {
    bool mapped = reader->module && reader->module->files.count && reader->module->files.data[0].data == reader->file.data;
    return opf_tensor_take_bytes(reader, tensor, bytes, mapped ? 0 : -1, mapped ? (uint64_t)(bytes.data - reader->file.data) : 0);
}

static bool wrong_count(opf_reader *reader, const opf_tensor *tensor, const char *name, size_t has, size_t needs) {
    return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: %s holds %zu values where %s needs %zu", reader->what, name, has, shape_text(reader, tensor), needs);
}

static bool malformed(opf_reader *reader, const char *name) {
    return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: %s is malformed", reader->what, name);
}

/* Floats and doubles: on the wire as in memory. */
static bool read_fixed(opf_reader *reader, opf_tensor *tensor, const opf_spans *spans, size_t width, const char *name) {
    const void *data;
    size_t count, needed = tensor->bytes / width;
    if (spans->count == 1 && spans->data[0].size == tensor->bytes) return take_own_bytes(reader, tensor, spans->data[0]);
    if (!opf_spans_fixed(spans, width, &data, &count)) return malformed(reader, name);
    if (count != needed) return wrong_count(reader, tensor, name, count, needed);
    if (tensor->bytes && !opf_reader_spend(reader, tensor->bytes)) return false;
    tensor->data = opf_arena_copy(reader->arena, data, tensor->bytes);
    return true;
}

/* Varints, each the low bytes of one element; of types below a byte, of one byte of packed elements. */
static bool read_varints(opf_reader *reader, opf_tensor *tensor, const opf_spans *spans, const char *name) {
    int64_t *values;
    size_t count, width = width_of(tensor->dtype), needed = tensor->bytes / width;
    if (!opf_spans_varints(spans, &values, &count)) return malformed(reader, name);
    if (count != needed) return wrong_count(reader, tensor, name, count, needed);
    if (!opf_reader_spend(reader, tensor->bytes)) return false;
    unsigned char *data = opf_arena_alloc(reader->arena, tensor->bytes);
    for (size_t i = 0; i < count; i++) {
        int64_t value = tensor->dtype == OPF_BOOL ? values[i] != 0 : values[i];
        memcpy(data + i * width, &value, width);
    }
    tensor->data = data;
    return true;
}

static bool read_strings(opf_reader *reader, opf_tensor *tensor, const opf_spans *spans) {
    if (spans->count != (size_t)tensor->elements) return wrong_count(reader, tensor, "string_data", spans->count, (size_t)tensor->elements);
    const char **strings = OPF_ARRAY(reader->arena, const char *, spans->count);
    for (size_t i = 0; i < spans->count; i++) {
        opf_span text = spans->data[i];
        if (!opf_reader_spend(reader, text.size + sizeof(char *))) return false;
        strings[i] = opf_arena_string_n(reader->arena, (const char *)text.data, text.size);
    }
    tensor->data = strings;
    return true;
}

static bool read_raw(opf_reader *reader, opf_tensor *tensor, opf_span raw) {
    if (tensor->dtype == OPF_STRING) return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: strings cannot stand in raw_data", reader->what);
    if (raw.size != tensor->bytes)
        return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: raw_data holds %zu bytes where %s needs %zu", reader->what, raw.size, shape_text(reader, tensor), tensor->bytes);
    return take_own_bytes(reader, tensor, raw);
}

static bool read_elements(opf_reader *reader, opf_tensor *tensor, const opf_schema_Tensor *message) {
    enum { EXTERNAL = 1 };
    if (message->data_location == EXTERNAL) return opf_read_external(reader, tensor, &message->external_data);
    if (message->segment.count) return opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "read", "%s is one segment of a tensor, which opfuse does not put together", reader->what);
    if (message->raw_data.count && (opf_spans_last(&message->raw_data).size || tensor->bytes == 0)) return read_raw(reader, tensor, opf_spans_last(&message->raw_data));
    switch (field_of(tensor->dtype)) {
    case FIELD_FLOAT: return read_fixed(reader, tensor, &message->float_data, sizeof(float), "float_data");
    case FIELD_DOUBLE: return read_fixed(reader, tensor, &message->double_data, sizeof(double), "double_data");
    case FIELD_INT64: return read_varints(reader, tensor, &message->int64_data, "int64_data");
    case FIELD_UINT64: return read_varints(reader, tensor, &message->uint64_data, "uint64_data");
    case FIELD_STRING: return read_strings(reader, tensor, &message->string_data);
    case FIELD_INT32: break;
    }
    return read_varints(reader, tensor, &message->int32_data, "int32_data");
}

opf_tensor *opf_read_tensor(opf_reader *reader, const opf_schema_Tensor *message) {
    int64_t *dims;
    size_t rank;
    if (!opf_spans_varints(&message->dims, &dims, &rank)) {
        malformed(reader, "the list of dimensions");
        return NULL;
    }
    if (message->data_type == 0) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "type", "%s has no element type", reader->what);
        return NULL;
    }
    if (!opf_dtype_valid(message->data_type)) {
        opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "type", "%s has element type %d, which opfuse does not know", reader->what, message->data_type);
        return NULL;
    }
    const char *why = "";
    opf_tensor *tensor = opf_tensor_new(reader->arena, (opf_dtype)message->data_type, rank > OPF_MAX_RANK ? OPF_MAX_RANK + 1 : (int)rank, dims, NULL, &why);
    if (!tensor) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "shape", "%s has no possible shape: %s", reader->what, why);
        return NULL;
    }
    return read_elements(reader, tensor, message) ? tensor : NULL;
}

/* A file of test data does not say what message it holds. SequenceProto, OptionalProto and MapProto keep their name in
 * field 1, where a TensorProto has its dimensions, and what they hold in field 3 and later. */
static bool looks_like_no_tensor(const opf_schema_Tensor *message) {
    if (message->segment.count && !message->raw_data.count) return true;
    opf_span name = opf_spans_last(&message->dims);
    bool named = message->dims.count == 1 && name.size > 1 && message->name.count == 0;
    for (size_t i = 0; i < name.size && named; i++) named = name.data[i] >= '.' && name.data[i] <= 'z';
    return named;
}

static opf_status read_lone(opf_tensor **out, const char **name, opf_reader *reader) {
    const opf_schema_Tensor *message = OPF_DECODE(reader, Tensor, reader->file, "tensor");
    if (!message) return reader->status;
    if (name) {
        opf_span span = opf_spans_last(&message->name);
        *name = opf_arena_string_n(reader->arena, (const char *)span.data, opf_span_is_text(span) ? span.size : 0);
    }
    if (looks_like_no_tensor(message)) {
        opf_reader trial = *reader; /* dimensions may look like a name, too: then the rest fits them */
        trial.diags = opf_diags_new();
        *out = opf_read_tensor(&trial, message);
        opf_diags_free(trial.diags);
        if (!*out) opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "read", "the file holds a sequence, an optional or a map; opfuse reads single tensors");
    } else {
        *out = opf_read_tensor(reader, message);
    }
    return *out ? OPF_OK : reader->status;
}

opf_status opf_onnx_read_tensor(opf_tensor **out, const char **name, const char *path, opf_arena *arena, opf_diags *diags) {
    *out = NULL;
    opf_mapping file;
    opf_status status = opf_file_map(&file, path, diags);
    if (status != OPF_OK) return status;
    opf_reader reader = {.arena = arena, .scratch = opf_arena_new(), .diags = diags, .copies = true, .allowance = INT64_MAX, .what = "the tensor"};
    reader.place = (opf_place){.file = path, .index = -1};
    reader.file = (opf_span){file.data, file.size};
    status = read_lone(out, name, &reader);
    opf_arena_free(reader.scratch);
    opf_file_unmap(&file);
    return status;
}
