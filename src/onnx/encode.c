/* Protobuf out. A message's length stands in front of it and is known behind it: one byte is kept free, and content that
 * is longer than such a length can say is moved. */
#include "onnx/encode.h"

#include <pb_encode.h>
#include <string.h>

static bool append(pb_ostream_t *stream, const pb_byte_t *data, size_t count) {
    opf_text_add_n(stream->state, (const char *)data, count);
    return true;
}

static pb_ostream_t stream_to(opf_text *out) { return (pb_ostream_t){.callback = append, .state = out, .max_size = SIZE_MAX}; }

static void tag(opf_text *out, pb_wire_type_t type, uint32_t field) {
    pb_ostream_t stream = stream_to(out);
    pb_encode_tag(&stream, type, field);
}

static void varint(opf_text *out, uint64_t value) {
    pb_ostream_t stream = stream_to(out);
    pb_encode_varint(&stream, value);
}

void opf_encode_int(opf_text *out, uint32_t field, int64_t value) {
    tag(out, PB_WT_VARINT, field);
    varint(out, (uint64_t)value);
}

void opf_encode_float(opf_text *out, uint32_t field, float value) {
    pb_ostream_t stream = stream_to(out);
    tag(out, PB_WT_32BIT, field);
    pb_encode_fixed32(&stream, &value);
}

void *opf_encode_room(opf_text *out, uint32_t field, size_t size) {
    tag(out, PB_WT_STRING, field);
    varint(out, size);
    return opf_text_add_room(out, size);
}

void opf_encode_bytes(opf_text *out, uint32_t field, const void *data, size_t size) {
    void *room = opf_encode_room(out, field, size);
    if (size) memcpy(room, data, size);
}

void opf_encode_string(opf_text *out, uint32_t field, const char *string) { opf_encode_bytes(out, field, string, strlen(string)); }

size_t opf_encode_open(opf_text *out, uint32_t field) {
    tag(out, PB_WT_STRING, field);
    opf_text_add_room(out, 1);
    return out->length;
}

void opf_encode_close(opf_text *out, size_t opened) {
    enum { LONGEST_VARINT = 10 };
    pb_byte_t length[LONGEST_VARINT];
    pb_ostream_t stream = pb_ostream_from_buffer(length, sizeof length);
    size_t size = out->length - opened;
    pb_encode_varint(&stream, size);
    size_t used = stream.bytes_written;
    opf_text_add_room(out, used - 1);
    memmove(out->data + opened + used - 1, out->data + opened, size);
    memcpy(out->data + opened - 1, length, used);
}
