/* ONNX files in and out: protobuf to module and back. Nothing else in opfuse knows protobuf.
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
/* One model-local function of the file as a module: its main graph has the function's inputs and outputs, of types that mean nothing, and its nodes.
 * `name` NULL: the only function that there is. Attributes without a default are left out. */
opf_status opf_onnx_read_function(opf_module **out, const char *path, const char *name, opf_diags *diags);
/* One TensorProto file (test data: input_0.pb). Bytes are copied into the arena. Sequences and optionals are refused
 * with OPF_ERROR_UNSUPPORTED. */
opf_status opf_onnx_read_tensor(opf_tensor **out, const char **name, const char *path, opf_arena *arena, opf_diags *diags);
/* One file of a SequenceProto (`sequence`), an OptionalProto of a tensor (`optional`) or of a sequence (both): opf_tensor.is_list.
 * Sequences of anything but tensors are refused. A file whose first field is an OptionalProto's tensor may also be that tensor. */
opf_status opf_onnx_read_list(opf_tensor **out, const char **name, bool sequence, bool optional, const char *path, opf_arena *arena, opf_diags *diags);
void opf_onnx_write_list(const opf_tensor *list, bool sequence, bool optional, const char *name, opf_text *out);

/* The keys of maps in the order of the columns that stand for them: numbers, or texts where `numbers` is NULL. */
typedef struct opf_map_keys {
    const int64_t *numbers;
    const char *const *texts;
    size_t count;
} opf_map_keys;

/* One file of a SequenceProto of maps from these keys to float32: the tensor of their values, a row a map, a column a key. A file that
 * is no such sequence is read as a TensorProto. Each map must hold each key once and no other. */
opf_status opf_onnx_read_maps(opf_tensor **out, const char **name, const opf_map_keys *keys, const char *path, opf_arena *arena, opf_diags *diags);
/* TensorProto bytes of a tensor, raw_data form. */
void opf_onnx_write_tensor(const opf_tensor *tensor, const char *name, opf_text *out);

/* Some nodes of a module's main graph that a written file has as a model-local function of this domain and name, called
 * once. What it takes and gives follows from the nodes. No path between two of its nodes may leave it. */
typedef struct opf_onnx_function {
    const char *domain, *name; /* together unique; the domain is no other operator's */
    opf_node *const *nodes;    /* in topological order; no node is in two functions */
    size_t n_nodes;
} opf_onnx_function;

/* ModelProto bytes of the module's main graph, behind what `out` holds: nodes under their names, sub-graphs, constants as
 * initializers, types as declared or found. Reading them gives the same graph. What the reader does not keep (documentation,
 * metadata, the functions that it inlined) is not written; names of a sub-graph that would hide one around it become
 * name#k; a node whose version is not the one that the model imports, as inlined functions may bring it along, becomes a
 * function. Refused with OPF_ERROR_UNSUPPORTED, and reported: more than the 2 GiB that a file can hold; a function of nodes
 * whose versions differ. On failure `out` is as before. */
opf_status opf_onnx_write(const opf_module *module, const opf_onnx_function *functions, size_t n_functions, opf_text *out);

#endif
