/* Protobuf out, through nanopb's encoder, to the end of a text. Nothing fails: memory grows or the process ends. */
#ifndef OPF_ONNX_ENCODE_H
#define OPF_ONNX_ENCODE_H

#include <stdint.h>

#include "base/text.h"

void opf_encode_int(opf_text *out, uint32_t field, int64_t value);
void opf_encode_float(opf_text *out, uint32_t field, float value);
void opf_encode_bytes(opf_text *out, uint32_t field, const void *data, size_t size);
void opf_encode_string(opf_text *out, uint32_t field, const char *string);
/* `size` bytes for the caller to fill at once. */
void *opf_encode_room(opf_text *out, uint32_t field, size_t size);

/* A message inside another: what is encoded between the two calls is its content. */
size_t opf_encode_open(opf_text *out, uint32_t field);
void opf_encode_close(opf_text *out, size_t opened);

#endif
