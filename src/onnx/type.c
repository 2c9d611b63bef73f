/* Declared types. */
#include "onnx/reader.h"
#include "schema.pb.h"

static opf_type *read_type(opf_reader *reader, opf_span bytes, int depth);

static bool read_dtype(opf_reader *reader, int number, opf_dtype *out) {
    *out = OPF_NO_DTYPE;
    if (number == 0) return true;
    if (!opf_dtype_valid(number)) return opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "type", "%s has element type %d, which opfuse does not know", reader->what, number);
    *out = (opf_dtype)number;
    return true;
}

static bool read_dimension(opf_reader *reader, opf_span bytes, int axis, opf_type *type) {
    const opf_schema_Dimension *message = OPF_DECODE(reader, Dimension, bytes, "dimension");
    if (!message) return false;
    type->dims[axis] = -1;
    if (message->has_dim_value) {
        /* Old exporters write -1 for a size that they do not know. */
        if (message->dim_value < -1)
            return opf_reader_error(reader, OPF_ERROR_INPUT, "shape", "%s has size %lld on axis %d; sizes are at least 0 (-1 stands for an unknown one)", reader->what,
                                    (long long)message->dim_value, axis);
        type->dims[axis] = message->dim_value;
        return true;
    }
    opf_span name = opf_spans_last(&message->dim_param);
    if (name.size == 0) return true;
    type->names[axis] = opf_reader_name(reader, name, "name of a dimension");
    return type->names[axis] != NULL;
}

static bool read_shape(opf_reader *reader, opf_span bytes, opf_type *type) {
    const opf_schema_Shape *message = OPF_DECODE(reader, Shape, bytes, "shape");
    if (!message) return false;
    if (message->dim.count > OPF_MAX_RANK) return opf_reader_error(reader, OPF_ERROR_UNSUPPORTED, "shape", "%s has %zu dimensions; opfuse knows up to %d", reader->what, message->dim.count, OPF_MAX_RANK);
    type->rank = (int)message->dim.count;
    type->dims = OPF_ARRAY(reader->arena, int64_t, type->rank);
    type->names = OPF_ARRAY(reader->arena, const char *, type->rank);
    bool good = true;
    int64_t product = 1;
    for (int i = 0; i < type->rank; i++) {
        good = read_dimension(reader, message->dim.data[i], i, type) && good;
        if (type->dims[i] > 0 && __builtin_mul_overflow(product, type->dims[i], &product))
            return opf_reader_error(reader, OPF_ERROR_INPUT, "shape", "%s has more elements than 64 bits can count", reader->what);
    }
    if (product > INT64_MAX / 16) return opf_reader_error(reader, OPF_ERROR_INPUT, "shape", "%s has more bytes than 64 bits can count", reader->what);
    return good;
}

static bool read_tensor_type(opf_reader *reader, opf_span bytes, opf_type *type) {
    const opf_schema_TensorType *message = OPF_DECODE(reader, TensorType, bytes, "tensor type");
    if (!message || !read_dtype(reader, message->elem_type, &type->dtype)) return false;
    return message->shape.count == 0 || read_shape(reader, opf_spans_last(&message->shape), type);
}

static bool read_inner(opf_reader *reader, opf_value_kind kind, opf_span bytes, int depth, opf_type *type) {
    type->kind = kind;
    opf_span inner;
    if (kind == OPF_VALUE_MAP) {
        const opf_schema_MapType *message = OPF_DECODE(reader, MapType, bytes, "map type");
        if (!message || !read_dtype(reader, message->key_type, &type->dtype)) return false;
        inner = opf_spans_last(&message->value_type);
    } else {
        const opf_schema_ElementType *message = OPF_DECODE(reader, ElementType, bytes, "element type");
        if (!message) return false;
        inner = opf_spans_last(&message->elem_type);
    }
    type->inner = read_type(reader, inner, depth + 1);
    return type->inner != NULL;
}

static opf_type *read_type(opf_reader *reader, opf_span bytes, int depth) {
    if (depth > OPF_MAX_TYPE_DEPTH) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "type", "%s has a type that is nested more than %d deep", reader->what, OPF_MAX_TYPE_DEPTH);
        return NULL;
    }
    const opf_schema_Type *message = OPF_DECODE(reader, Type, bytes, "type");
    if (!message) return NULL;
    opf_type *type = OPF_NEW(reader->arena, opf_type);
    type->rank = -1;
    bool good = true;
    if (message->tensor_type.count) good = read_tensor_type(reader, opf_spans_last(&message->tensor_type), type);
    else if (message->sequence_type.count) good = read_inner(reader, OPF_VALUE_SEQUENCE, opf_spans_last(&message->sequence_type), depth, type);
    else if (message->optional_type.count) good = read_inner(reader, OPF_VALUE_OPTIONAL, opf_spans_last(&message->optional_type), depth, type);
    else if (message->map_type.count) good = read_inner(reader, OPF_VALUE_MAP, opf_spans_last(&message->map_type), depth, type);
    else if (message->sparse_tensor_type.count) good = read_tensor_type(reader, opf_spans_last(&message->sparse_tensor_type), type);
    return good ? type : NULL;
}

opf_type *opf_read_type(opf_reader *reader, opf_span bytes) { return read_type(reader, bytes, 0); }

void opf_declare_type(opf_value *value, const opf_type *type) {
    value->declared = type;
    value->kind = type->kind;
    const opf_type *element = type;
    while (element->inner) element = element->inner;
    value->declared_dtype = element->dtype;
    if (type->kind != OPF_VALUE_TENSOR) return;
    value->declared_rank = type->rank;
    value->declared_dims = type->dims;
    value->declared_names = type->names;
}
