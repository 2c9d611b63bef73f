/* External data: bytes of a tensor in another file of the model's folder. A model must not reach anything else on the
 * machine: no absolute path, no "..", and no symbolic link that leads outside. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/reader.h"
#include "schema.pb.h"

typedef struct location {
    const char *path; /* as in the model */
    uint64_t offset, length;
    bool has_length;
} location;

static bool equals(opf_span span, const char *text) { return span.size == strlen(text) && (span.size == 0 || memcmp(span.data, text, span.size) == 0); }

static bool parse_number(opf_reader *reader, opf_span span, const char *key, uint64_t *out) {
    uint64_t value = 0;
    for (size_t i = 0; i < span.size; i++) {
        unsigned digit = (unsigned)span.data[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) span.size = 0;
    }
    *out = value;
    return span.size > 0 || opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: the %s of its external data is no number of bytes", reader->what, key);
}

static bool read_location(opf_reader *reader, const opf_spans *entries, location *out) {
    *out = (location){0};
    for (size_t i = 0; i < entries->count; i++) {
        const opf_schema_Entry *entry = OPF_DECODE(reader, Entry, entries->data[i], "entry of external data");
        if (!entry) return false;
        opf_span key = opf_spans_last(&entry->key), value = opf_spans_last(&entry->value);
        if (equals(key, "location")) {
            if (!(out->path = opf_reader_name(reader, value, "location of external data"))) return false;
        } else if (equals(key, "offset")) {
            if (!parse_number(reader, value, "offset", &out->offset)) return false;
        } else if (equals(key, "length")) {
            if (!parse_number(reader, value, "length", &out->length)) return false;
            out->has_length = true;
        }
    }
    if (out->path && *out->path) return true;
    return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: its external data has no location", reader->what);
}

static bool leaves_folder(const char *path) {
    if (*path == '/') return true;
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/\\");
        if (length == 2 && part[0] == '.' && part[1] == '.') return true;
        part += length;
        if (!*part) return false;
    }
}

static bool lies_in(const char *path, const char *folder) {
    size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* The file's real path, which must lie below the real path of the model's folder. */
static const char *resolve(opf_reader *reader, const char *path) {
    if (leaves_folder(path)) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: its external data '%s' lies outside the model's folder, where opfuse does not read", reader->what, path);
        return NULL;
    }
    char *real = realpath(opf_arena_printf(reader->scratch, "%s/%s", reader->folder, path), NULL);
    if (!real) {
        opf_reader_error(reader, OPF_ERROR_SYSTEM, "io", "%s: its external data '%s' is not in the model's folder", reader->what, path);
        return NULL;
    }
    const char *copy = opf_arena_string(reader->arena, real);
    free(real);
    if (lies_in(copy, reader->folder) || (reader->link_folder && lies_in(copy, reader->link_folder))) return copy;
    opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: its external data '%s' is a link that leads outside the model's folder", reader->what, path);
    return NULL;
}

/* Number of the mapped file, mapped on first use; -1 where it cannot be. */
static int map_file(opf_reader *reader, const char *real) {
    opf_module *module = reader->module;
    for (size_t i = 1; i < module->files.count; i++)
        if (strcmp(module->file_paths.data[i], real) == 0) return (int)i;
    opf_mapping mapping;
    if (opf_file_map(&mapping, real, reader->diags) != OPF_OK) {
        opf_reader_failed(reader, OPF_ERROR_SYSTEM);
        return -1;
    }
    /* What is to be copied: booleans that are neither 0 nor 1. */
    reader->allowance += mapping.size < INT64_MAX / 128 ? (int64_t)mapping.size * 4 : 0;
    OPF_PUSH(reader->arena, &module->files, mapping);
    OPF_PUSH(reader->arena, &module->file_paths, real);
    return (int)module->files.count - 1;
}

bool opf_read_external(opf_reader *reader, opf_tensor *tensor, const opf_spans *entries) {
    if (!reader->folder || !reader->module) return opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "read", "%s has external data, which only a model in a file can have", reader->what);
    if (tensor->dtype == OPF_STRING) return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: strings cannot stand in external data", reader->what);
    location where;
    if (!read_location(reader, entries, &where)) return false;
    const char *real = resolve(reader, where.path);
    int file = real ? map_file(reader, real) : -1;
    if (file < 0) return false;
    if (where.has_length && where.length != tensor->bytes)
        return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: its external data has %llu bytes where its shape needs %zu", reader->what, (unsigned long long)where.length, tensor->bytes);
    const opf_mapping *mapping = &reader->module->files.data[file];
    if (where.offset > mapping->size || mapping->size - where.offset < tensor->bytes)
        return opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s: its external data is to be %zu bytes at offset %llu of '%s', which has only %zu", reader->what,
                                tensor->bytes, (unsigned long long)where.offset, where.path, mapping->size);
    if (tensor->bytes == 0) return true;
    opf_span bytes = {mapping->data + where.offset, tensor->bytes};
    return opf_tensor_take_bytes(reader, tensor, bytes, file, where.offset);
}
