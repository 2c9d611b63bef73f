/* TensorProto out. */
#include <pb_encode.h>
#include <string.h>

#include "onnx/onnx.h"
#include "schema.pb.h"

static bool append(pb_ostream_t *stream, const pb_byte_t *data, size_t count) {
    opf_text_add_n(stream->state, (const char *)data, count);
    return true;
}

static void write_bytes(pb_ostream_t *stream, uint32_t field, const void *data, size_t size) {
    pb_encode_tag(stream, PB_WT_STRING, field);
    pb_encode_string(stream, size ? data : (const void *)"", size);
}

void opf_onnx_write_tensor(const opf_tensor *tensor, const char *name, opf_text *out) {
    pb_ostream_t stream = {.callback = append, .state = out, .max_size = SIZE_MAX};
    for (int i = 0; i < tensor->rank; i++) {
        pb_encode_tag(&stream, PB_WT_VARINT, opf_schema_Tensor_dims_tag);
        pb_encode_varint(&stream, (uint64_t)tensor->dims[i]);
    }
    pb_encode_tag(&stream, PB_WT_VARINT, opf_schema_Tensor_data_type_tag);
    pb_encode_varint(&stream, tensor->dtype);
    if (name) write_bytes(&stream, opf_schema_Tensor_name_tag, name, strlen(name));
    if (tensor->dtype != OPF_STRING) {
        write_bytes(&stream, opf_schema_Tensor_raw_data_tag, tensor->data, tensor->bytes);
        return;
    }
    const char *const *strings = tensor->data;
    for (int64_t i = 0; i < tensor->elements; i++) write_bytes(&stream, opf_schema_Tensor_string_data_tag, strings[i], strlen(strings[i]));
}
