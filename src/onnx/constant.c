/* Constant nodes: one of eight attributes is the value (ONNX operator Constant, opsets 1 to 13 and later). */
#include <string.h>

#include "onnx/reader.h"
#include "schema.pb.h"

static opf_tensor *numbers(opf_reader *reader, opf_dtype dtype, int rank, const void *data, size_t count, size_t width) {
    int64_t dims[1] = {(int64_t)count};
    const char *why = "";
    if (!opf_reader_spend(reader, count * width)) return NULL;
    return opf_tensor_new(reader->arena, dtype, rank, dims, opf_arena_copy(reader->arena, data, count * width), &why);
}

static opf_tensor *read_list(opf_reader *reader, const opf_schema_Attribute *message, int kind) {
    const void *data = NULL;
    int64_t *ints = NULL;
    size_t count = 0;
    bool good = kind == OPF_ATTR_INTS ? opf_spans_varints(&message->ints, &ints, &count) : opf_spans_fixed(&message->floats, sizeof(float), &data, &count);
    if (!good) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s is malformed", reader->what);
        return NULL;
    }
    return kind == OPF_ATTR_INTS ? numbers(reader, OPF_INT64, 1, ints, count, sizeof(int64_t)) : numbers(reader, OPF_FLOAT32, 1, data, count, sizeof(float));
}

static opf_tensor *read_strings(opf_reader *reader, const opf_spans *list, int rank) {
    size_t count = rank ? list->count : 1;
    const char **strings = OPF_ARRAY(reader->scratch, const char *, count);
    for (size_t i = 0; i < count; i++) {
        opf_span text = rank ? list->data[i] : opf_spans_last(list);
        if (!opf_reader_spend(reader, text.size)) return NULL;
        strings[i] = opf_arena_string_n(reader->arena, (const char *)text.data, text.size);
    }
    return numbers(reader, OPF_STRING, rank, strings, count, sizeof(char *));
}

static opf_tensor *read_value(opf_reader *reader, const opf_schema_Attribute *message) {
    int kind = opf_attribute_kind(message);
    const opf_schema_Tensor *dense;
    const opf_schema_SparseTensor *sparse;
    switch (kind) {
    case OPF_ATTR_TENSOR:
        dense = OPF_DECODE(reader, Tensor, opf_spans_last(&message->t), "tensor");
        return dense ? opf_read_tensor(reader, dense) : NULL;
    case OPF_ATTR_SPARSE_TENSOR:
        sparse = OPF_DECODE(reader, SparseTensor, opf_spans_last(&message->sparse_tensor), "sparse tensor");
        return sparse ? opf_read_sparse(reader, sparse, NULL) : NULL;
    case OPF_ATTR_INT: return numbers(reader, OPF_INT64, 0, &message->i, 1, sizeof(int64_t));
    case OPF_ATTR_FLOAT: return numbers(reader, OPF_FLOAT32, 0, &message->f, 1, sizeof(float));
    case OPF_ATTR_INTS: case OPF_ATTR_FLOATS: return read_list(reader, message, kind);
    case OPF_ATTR_STRING: return read_strings(reader, &message->s, 0);
    case OPF_ATTR_STRINGS: return read_strings(reader, &message->strings, 1);
    default:
        opf_reader_error(reader, OPF_ERROR_INPUT, "read", "%s has no value of a kind that a constant can have", reader->what);
        return NULL;
    }
}

static bool is_value(const char *name) {
    static const char *const names[] = {"value", "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings", "sparse_value"};
    for (size_t i = 0; i < OPF_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

opf_tensor *opf_read_constant(opf_reader *reader, opf_scope *scope, const opf_schema_Node *node) {
    for (size_t i = 0; i < node->attribute.count; i++) {
        const opf_schema_Attribute *message = OPF_DECODE(reader, Attribute, node->attribute.data[i], "attribute");
        if (!message) return NULL;
        const char *name = opf_reader_name(reader, opf_spans_last(&message->name), "name of an attribute");
        if (!name) return NULL;
        if (!is_value(name)) continue;
        opf_scope *where;
        message = opf_resolve_attribute(reader, scope, message, &where);
        if (!message) continue;
        reader->what = opf_arena_printf(reader->scratch, "attribute '%s'", name);
        return read_value(reader, message);
    }
    opf_reader_error(reader, OPF_ERROR_INPUT, "read", "the constant has no value");
    return NULL;
}
