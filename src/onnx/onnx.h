/* ONNX files in: protobuf to module. Nothing else in opfuse knows protobuf.
 * Specification: onnx.proto3 (IR version 3 and later) and docs/IR.md of the ONNX project. */
#ifndef OPF_ONNX_ONNX_H
#define OPF_ONNX_ONNX_H

#include "ir/graph.h"

/* Reads a model file: graphs, attributes, initializers as views of the mapping, external data (inside the model's
 * folder only), model-local functions inlined (nested too), Constant nodes turned into constant values, nodes named
 * and sorted. All problems that can be found at once are reported. */
opf_status opf_onnx_read(opf_module **out, const char *path, opf_diags *diags);
/* The same from memory, which must outlive the module; `name` stands for the path in messages. External data is refused. */
opf_status opf_onnx_read_memory(opf_module **out, const void *data, size_t size, const char *name, opf_diags *diags);
/* One TensorProto file (test data: input_0.pb). Bytes are copied into the arena. Sequences and optionals are refused
 * with OPF_ERROR_UNSUPPORTED. */
opf_status opf_onnx_read_tensor(opf_tensor **out, const char **name, const char *path, opf_arena *arena, opf_diags *diags);
/* TensorProto bytes of a tensor, raw_data form. */
void opf_onnx_write_tensor(const opf_tensor *tensor, const char *name, opf_text *out);

#endif
