/* Inside of the writer: what its files share. */
#ifndef OPF_ONNX_WRITER_H
#define OPF_ONNX_WRITER_H

#include "base/map.h"
#include "ir/graph.h"
#include "onnx/encode.h"
#include "onnx/onnx.h"

typedef struct opf_writer {
    const opf_module *module;
    opf_arena *scratch;
    opf_text *out;
    opf_map taken;             /* interned names of all values of all graphs, and names given here */
    opf_map names;             /* opf_value → its name in the file, where that is not its own */
    OPF_VEC(opf_opset) opsets; /* that the file imports */
    OPF_VEC(const opf_onnx_function *) functions; /* given, and made of nodes whose version is not the file's */
    opf_map function_of;       /* opf_node → opf_onnx_function */
    opf_map written;           /* nodes and functions of the main graph that stand in the file; a mark while what they read is written */
} opf_writer;

/* write_value.c: the content of messages. */
void opf_encode_tensor(opf_text *out, const opf_tensor *tensor, const char *name);
void opf_encode_sparse(opf_text *out, const opf_tensor *tensor);
void opf_encode_type(opf_text *out, const opf_type *type);
/* Name and, where it is known, type: of a graph input the declared one, else the one found or declared. */
void opf_encode_value_info(opf_text *out, const opf_value *value, const char *name);
bool opf_has_type(const opf_value *value);

/* write.c */
opf_opset *opf_writer_opset(const opf_writer *writer, const char *domain); /* NULL: none so far */

/* write_graph.c */
const char *opf_writer_name(const opf_writer *writer, const opf_value *value); /* in the file; "" for NULL */
void opf_write_node(opf_writer *writer, uint32_t field, const opf_node *node);
/* Everything of a GraphProto but its nodes. */
void opf_write_values(opf_writer *writer, const opf_graph *graph);

/* write_function.c */
/* The version of a domain's operators in the function's body. */
int opf_function_version(const opf_writer *writer, const opf_onnx_function *function, const char *domain);
void opf_write_call(opf_writer *writer, const opf_onnx_function *function);
bool opf_write_main_nodes(opf_writer *writer, const opf_graph *graph); /* functions as calls; false: they wait for each other */
void opf_write_functions(opf_writer *writer);

#endif
