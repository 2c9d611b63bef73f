/* Files of maps, as data sets store what ZipMap makes: a SequenceProto of MapProtos. */
#include <string.h>

#include "base/file.h"
#include "onnx/onnx.h"
#include "onnx/reader.h"
#include "schema.pb.h"

enum { HOLDS_MAPS = 4 }; /* SequenceProto.DataType */

/* The numbers of a map: a sequence of tensors, of one number each or of all. They are noted in `values` in the file's order. */
static bool read_values(opf_reader *reader, opf_span bytes, size_t count, float *values) {
    const opf_schema_Sequence *message = OPF_DECODE(reader, Sequence, bytes, "values of a map");
    size_t found = 0;
    for (size_t k = 0; message && k < message->tensor_values.count; k++) {
        const opf_schema_Tensor *item = OPF_DECODE(reader, Tensor, message->tensor_values.data[k], "tensor");
        const opf_tensor *tensor = item ? opf_read_tensor(reader, item) : NULL;
        if (!tensor) return false;
        if (tensor->dtype != OPF_FLOAT32) return opf_reader_error(reader, OPF_ERROR_INPUT, "type", "the values of a map are %s, and must be float32", opf_dtype_name(tensor->dtype));
        for (int64_t i = 0; i < tensor->elements && found <= count; i++, found++)
            if (found < count) values[found] = (float)opf_tensor_get(tensor, i);
    }
    if (!message) return false;
    return found == count || opf_reader_error(reader, OPF_ERROR_INPUT, "shape", "a map has not one value for each of the %zu classes", count);
}

static bool is_text(opf_span span, const char *text) { return strlen(text) == span.size && (span.size == 0 || memcmp(span.data, text, span.size) == 0); }

/* Where in the file's order the key of a column stands; `n` where it is missing. */
static size_t place_of(const opf_map_keys *keys, size_t column, const int64_t *numbers, const opf_span *texts, size_t n) {
    size_t k = 0;
    while (k < n && !(keys->numbers ? numbers[k] == keys->numbers[column] : is_text(texts[k], keys->texts[column]))) k++;
    return k;
}

static bool read_map(opf_reader *reader, opf_span bytes, const opf_map_keys *keys, float *row) {
    const opf_schema_Map *message = OPF_DECODE(reader, Map, bytes, "map");
    if (!message) return false;
    int64_t *numbers = NULL;
    size_t n = message->string_keys.count;
    if (keys->numbers && !opf_spans_varints(&message->keys, &numbers, &n)) return opf_reader_error(reader, OPF_ERROR_INPUT, "format", "the keys of a map are malformed");
    if (n != keys->count) return opf_reader_error(reader, OPF_ERROR_INPUT, "shape", "a map has %zu keys, and the model %zu classes", n, keys->count);
    float *values = OPF_ARRAY(reader->scratch, float, n + 1);
    if (!read_values(reader, opf_spans_last(&message->values), n, values)) return false;
    for (size_t column = 0; column < n; column++) {
        size_t k = place_of(keys, column, numbers, message->string_keys.data, n);
        if (k == n) return opf_reader_error(reader, OPF_ERROR_INPUT, "input", "a map lacks class number %zu of the model", column);
        row[column] = values[k];
    }
    return true;
}

static opf_tensor *read_rows(opf_reader *reader, const opf_spans *maps, const opf_map_keys *keys) {
    int64_t dims[] = {(int64_t)maps->count, (int64_t)keys->count};
    const char *why;
    opf_tensor *rows = opf_tensor_zeros(reader->arena, OPF_FLOAT32, 2, dims, &why);
    if (!rows) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "shape", "%s", why);
        return NULL;
    }
    for (size_t k = 0; k < maps->count; k++)
        if (!read_map(reader, maps->data[k], keys, (float *)rows->data + k * keys->count)) return NULL;
    return rows;
}

opf_status opf_onnx_read_maps(opf_tensor **out, const char **name, const opf_map_keys *keys, const char *path, opf_arena *arena, opf_diags *diags) {
    *out = NULL;
    opf_mapping file;
    opf_status status = opf_file_map(&file, path, diags);
    if (status != OPF_OK) return status;
    opf_reader reader = {.arena = arena, .scratch = opf_arena_new(), .diags = diags, .copies = true, .allowance = INT64_MAX, .what = "the maps"};
    reader.place = (opf_place){.file = path, .index = -1};
    reader.file = (opf_span){file.data, file.size};
    const char *why;
    const opf_schema_Sequence *message = opf_wire_decode(reader.scratch, &opf_schema_Sequence_msg, sizeof *message, reader.file, &why);
    bool maps = message && message->elem_type == HOLDS_MAPS;
    if (maps) *out = read_rows(&reader, &message->map_values, keys);
    opf_arena_free(reader.scratch);
    opf_file_unmap(&file);
    if (!maps) return opf_onnx_read_tensor(out, name, path, arena, diags);
    return *out ? OPF_OK : reader.status;
}
