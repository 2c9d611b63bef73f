/* Protobuf on the wire, through nanopb, one message at a time: nested messages, strings and lists stay where they are in
 * the file and are decoded when their turn comes. So nothing recurses before its depth is counted, and bytes of weights
 * are never copied to be looked at. */
#ifndef OPF_ONNX_WIRE_H
#define OPF_ONNX_WIRE_H

#include <pb.h>

#include "base/vec.h"

typedef struct opf_span {
    const unsigned char *data;
    size_t size;
} opf_span;

/* Occurrences of a field, in order. Numbers: payloads of packed runs and of single values alike. */
typedef struct opf_spans {
    opf_arena *arena;
    opf_span *data;
    size_t count, capacity;
} opf_spans;

/* The callback that schema.options names for all such fields. */
bool opf_take_span(pb_istream_t *input, pb_ostream_t *output, const pb_field_t *field);

/* A message of `size` bytes in memory, in the arena; NULL and nanopb's reason where the bytes are no such message. Wire
 * types are checked; unknown fields are skipped. */
void *opf_wire_decode(opf_arena *arena, const pb_msgdesc_t *type, size_t size, opf_span bytes, const char **why);

opf_span opf_spans_last(const opf_spans *spans); /* of a field that stands once: the last one wins; empty: {NULL, 0} */
/* All varints of a list, as 64 bits; false where they are malformed. */
bool opf_spans_varints(const opf_spans *spans, int64_t **out, size_t *count);
/* All little-endian values of `width` bytes; one packed run that is aligned to `width` stays where it is. */
bool opf_spans_fixed(const opf_spans *spans, size_t width, const void **out, size_t *count);
bool opf_span_is_text(opf_span span); /* UTF-8 without zero bytes */

#endif
