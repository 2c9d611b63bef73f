/* TensorProto, TypeProto and ValueInfoProto out. */
#include <string.h>

#include "onnx/writer.h"
#include "schema.pb.h"

/* ---- tensors ---- */

static void encode_strings(opf_text *out, const opf_tensor *tensor) {
    const char *const *strings = tensor->data;
    for (int64_t i = 0; i < tensor->elements; i++) opf_encode_string(out, opf_schema_Tensor_string_data_tag, strings[i]);
}

void opf_encode_tensor(opf_text *out, const opf_tensor *tensor, const char *name) {
    for (int i = 0; i < tensor->rank; i++) opf_encode_int(out, opf_schema_Tensor_dims_tag, tensor->dims[i]);
    opf_encode_int(out, opf_schema_Tensor_data_type_tag, tensor->dtype);
    if (name) opf_encode_string(out, opf_schema_Tensor_name_tag, name);
    if (tensor->dtype == OPF_STRING) encode_strings(out, tensor);
    else opf_tensor_copy(tensor, opf_encode_room(out, opf_schema_Tensor_raw_data_tag, tensor->bytes));
}

void opf_onnx_write_tensor(const opf_tensor *tensor, const char *name, opf_text *out) { opf_encode_tensor(out, tensor, name); }

/* A dense tensor where a sparse one must stand: every element with its position. */
void opf_encode_sparse(opf_text *out, const opf_tensor *tensor) {
    opf_tensor flat = *tensor;
    flat.rank = 1;
    flat.dims = &flat.elements;
    size_t values = opf_encode_open(out, opf_schema_SparseTensor_values_tag);
    opf_encode_tensor(out, &flat, NULL);
    opf_encode_close(out, values);
    size_t indices = opf_encode_open(out, opf_schema_SparseTensor_indices_tag);
    opf_encode_int(out, opf_schema_Tensor_dims_tag, tensor->elements);
    opf_encode_int(out, opf_schema_Tensor_data_type_tag, OPF_INT64);
    unsigned char *room = opf_encode_room(out, opf_schema_Tensor_raw_data_tag, (size_t)tensor->elements * sizeof(int64_t));
    for (int64_t i = 0; i < tensor->elements; i++) memcpy(room + (size_t)i * sizeof i, &i, sizeof i);
    opf_encode_close(out, indices);
    for (int i = 0; i < tensor->rank; i++) opf_encode_int(out, opf_schema_SparseTensor_dims_tag, tensor->dims[i]);
}

/* ---- types ---- */

/* size -1 and no name: nothing is said about the axis. */
static void encode_dimension(opf_text *out, int64_t size, const char *name) {
    size_t dimension = opf_encode_open(out, opf_schema_Shape_dim_tag);
    if (size >= 0) opf_encode_int(out, opf_schema_Dimension_dim_value_tag, size);
    else if (name) opf_encode_string(out, opf_schema_Dimension_dim_param_tag, name);
    opf_encode_close(out, dimension);
}

static void encode_tensor_type(opf_text *out, const opf_type *type) {
    if (!type->dtype && type->rank < 0) return; /* declared, but as nothing */
    size_t tensor = opf_encode_open(out, opf_schema_Type_tensor_type_tag);
    if (type->dtype) opf_encode_int(out, opf_schema_TensorType_elem_type_tag, type->dtype);
    if (type->rank >= 0) {
        size_t shape = opf_encode_open(out, opf_schema_TensorType_shape_tag);
        for (int i = 0; i < type->rank; i++) encode_dimension(out, type->dims[i], type->names[i]);
        opf_encode_close(out, shape);
    }
    opf_encode_close(out, tensor);
}

static void encode_inner(opf_text *out, uint32_t field, const opf_type *type) {
    size_t inner = opf_encode_open(out, field);
    opf_encode_type(out, type);
    opf_encode_close(out, inner);
}

void opf_encode_type(opf_text *out, const opf_type *type) {
    if (type->kind == OPF_VALUE_TENSOR) {
        encode_tensor_type(out, type);
        return;
    }
    bool map = type->kind == OPF_VALUE_MAP;
    uint32_t field = map ? opf_schema_Type_map_type_tag : type->kind == OPF_VALUE_SEQUENCE ? opf_schema_Type_sequence_type_tag : opf_schema_Type_optional_type_tag;
    size_t holder = opf_encode_open(out, field);
    if (map) opf_encode_int(out, opf_schema_MapType_key_type_tag, type->dtype);
    encode_inner(out, map ? opf_schema_MapType_value_type_tag : opf_schema_ElementType_elem_type_tag, type->inner);
    opf_encode_close(out, holder);
}

/* ---- values ---- */

static bool is_typed_tensor(const opf_value *value) { return value->kind == OPF_VALUE_TENSOR && opf_value_is_typed(value); }

bool opf_has_type(const opf_value *value) { return value->declared || is_typed_tensor(value); }

/* A typed tensor's type as files declare them; a size that is an expression of symbols is left open. */
static void encode_found_type(opf_text *out, const opf_value *value) {
    int64_t dims[OPF_MAX_RANK];
    const char *names[OPF_MAX_RANK];
    for (int i = 0; i < value->rank; i++) {
        if (!opf_is_int(value->dims[i], &dims[i])) dims[i] = -1;
        names[i] = value->dims[i]->kind == OPF_EXPR_SYMBOL ? value->dims[i]->symbol->name : NULL;
    }
    opf_encode_type(out, &(opf_type){.kind = OPF_VALUE_TENSOR, .dtype = value->dtype, .rank = value->rank, .dims = dims, .names = names});
}

void opf_encode_value_info(opf_text *out, const opf_value *value, const char *name) {
    opf_encode_string(out, opf_schema_ValueInfo_name_tag, name);
    if (!opf_has_type(value)) return;
    size_t type = opf_encode_open(out, opf_schema_ValueInfo_type_tag);
    if (value->declared && (value->input_index >= 0 || !is_typed_tensor(value) || opf_type_holds_map(value->declared))) opf_encode_type(out, value->declared);
    else encode_found_type(out, value);
    opf_encode_close(out, type);
}
