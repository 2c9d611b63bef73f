/* Protobuf on the wire. */
#include "onnx/wire.h"

#include <pb_common.h>
#include <pb_decode.h>
#include <stdint.h>
#include <string.h>

/* Where a stream over the file stands. nanopb hands this very object to streams of nested fields, too. */
typedef struct cursor {
    const unsigned char *at;
} cursor;

static bool read_bytes(pb_istream_t *stream, pb_byte_t *buffer, size_t count) {
    cursor *position = stream->state;
    if (buffer && count) memcpy(buffer, position->at, count);
    position->at += count;
    return true;
}

bool opf_take_span(pb_istream_t *input, pb_ostream_t *output, const pb_field_t *field) {
    (void)output;
    opf_spans *list = field->pData;
    opf_span span = {NULL, input->bytes_left};
    if (input->callback == read_bytes) {
        cursor *position = input->state;
        span.data = position->at;
        position->at += span.size;
        input->bytes_left = 0;
    } else {
        /* A single number: nanopb shows a copy of its bytes, which would not last. */
        pb_type_t type = PB_LTYPE(field->type);
        if (type == PB_LTYPE_STRING || type == PB_LTYPE_BYTES || PB_LTYPE_IS_SUBMSG(type)) PB_RETURN_ERROR(input, "wrong wire type");
        unsigned char *copy = opf_arena_alloc(list->arena, span.size);
        if (!pb_read(input, copy, span.size)) return false;
        span.data = copy;
    }
    OPF_PUSH(list->arena, list, span);
    return true;
}

void *opf_wire_decode(opf_arena *arena, const pb_msgdesc_t *type, size_t size, opf_span bytes, const char **why) {
    void *message = opf_arena_alloc(arena, size);
    pb_field_iter_t field;
    if (pb_field_iter_begin(&field, type, message)) do {
        if (PB_ATYPE(field.type) == PB_ATYPE_CALLBACK) ((opf_spans *)field.pData)->arena = arena;
    } while (pb_field_iter_next(&field));
    cursor position = {bytes.data};
    pb_istream_t stream = {.callback = read_bytes, .state = &position, .bytes_left = bytes.size};
    if (pb_decode_ex(&stream, type, message, PB_DECODE_NOINIT)) return message;
    *why = PB_GET_ERROR(&stream);
    return NULL;
}

opf_span opf_spans_last(const opf_spans *spans) { return spans->count ? spans->data[spans->count - 1] : (opf_span){NULL, 0}; }

/* One varint; NULL where it does not end within the span or in ten bytes. */
static const unsigned char *read_varint(const unsigned char *at, const unsigned char *end, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 70 && at < end; shift += 7) {
        unsigned char byte = *at++;
        if (shift < 64) *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return at;
    }
    return NULL;
}

bool opf_spans_varints(const opf_spans *spans, int64_t **out, size_t *count) {
    size_t total = 0, n = 0;
    for (size_t i = 0; i < spans->count; i++)
        for (size_t k = 0; k < spans->data[i].size; k++) total += !(spans->data[i].data[k] & 0x80);
    int64_t *values = OPF_ARRAY(spans->arena, int64_t, total);
    for (size_t i = 0; i < spans->count; i++) {
        const unsigned char *at = spans->data[i].data, *end = at + spans->data[i].size;
        while (at < end) {
            uint64_t value;
            at = read_varint(at, end, &value);
            if (!at) return false;
            values[n++] = (int64_t)value;
        }
    }
    *out = values;
    *count = n;
    return true;
}

bool opf_spans_fixed(const opf_spans *spans, size_t width, const void **out, size_t *count) {
    size_t total = 0;
    for (size_t i = 0; i < spans->count; i++) {
        if (spans->data[i].size % width) return false;
        total += spans->data[i].size;
    }
    *count = total / width;
    if (spans->count == 1 && (uintptr_t)spans->data[0].data % width == 0) {
        *out = spans->data[0].data;
        return true;
    }
    unsigned char *copy = opf_arena_alloc(spans->arena, total);
    *out = copy;
    for (size_t i = 0; i < spans->count; i++) {
        if (spans->data[i].size) memcpy(copy, spans->data[i].data, spans->data[i].size);
        copy += spans->data[i].size;
    }
    return true;
}

/* Length of the UTF-8 sequence at `at`, 0 where there is none (Unicode 15, table 3-7). */
static size_t sequence_length(const unsigned char *at, size_t left) {
    unsigned char lead = at[0], low = 0x80, high = 0xbf;
    if (lead < 0x80) return lead != 0;
    size_t length = lead >= 0xc2 && lead <= 0xdf ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
    if (length == 0 || length > left) return 0;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
    if (at[1] < low || at[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    return length;
}

bool opf_span_is_text(opf_span span) {
    for (size_t i = 0; i < span.size;) {
        size_t length = sequence_length(span.data + i, span.size - i);
        if (length == 0) return false;
        i += length;
    }
    return true;
}
