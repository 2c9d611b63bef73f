/* Inside of the reader: its state and the functions that its files share. All take messages as spans of the file, report
 * what is wrong and return NULL or false then; reading goes on, so that all problems are found at once. */
#ifndef OPF_ONNX_READER_H
#define OPF_ONNX_READER_H

#include "ir/graph.h"
#include "onnx/wire.h"

/* Messages of schema.proto; nanopb generates them into schema.pb.h. */
typedef struct _opf_schema_Attribute opf_schema_Attribute;
typedef struct _opf_schema_Function opf_schema_Function;
typedef struct _opf_schema_Node opf_schema_Node;
typedef struct _opf_schema_SparseTensor opf_schema_SparseTensor;
typedef struct _opf_schema_Tensor opf_schema_Tensor;

enum {
    OPF_MAX_DEPTH = 256,       /* sub-graphs and function calls inside each other; protobuf's own limit ends near 33 */
    OPF_MAX_TYPE_DEPTH = 16,   /* sequences of sequences of … */
    OPF_MAX_PROBLEMS = 1000    /* reported for one file */
};

typedef struct opf_reader {
    opf_module *module;        /* NULL while a lone tensor is read */
    opf_arena *arena;          /* of the results */
    opf_arena *scratch;        /* of decoded messages */
    opf_diags *diags;
    opf_status status;         /* of the worst problem so far */
    int n_problems;
    opf_span file;             /* the model's bytes, for offsets in messages and in tensors */
    bool copies;               /* bytes of tensors must be copied: the file does not stay */
    const char *folder;        /* real path of the model's folder; NULL: external data is refused */
    char *link_folder;         /* and of the folder of the file that the model is a link to */
    opf_place place;           /* where the reader is, */
    const char *what;          /* and what it reads there: "initializer 'w'"; both for messages */
    int64_t allowance;         /* bytes that may still be made beside the file: bounds what functions and sparse tensors expand to */
    opf_map functions;         /* interned key → opf_function */
} opf_reader;

/* A model-local function. */
typedef struct opf_function {
    const char *key;           /* domain, name and overload */
    const opf_schema_Function *message;
    const opf_schema_Node **nodes; /* of the body, decoded when the first call needs them */
    const opf_opset *opsets;
    size_t n_opsets;
} opf_function;

struct opf_scope;

/* An inlined call: where attributes of the function get their values. */
typedef struct opf_call_site {
    const opf_function *function;
    const opf_schema_Node *node;
    struct opf_scope *scope;   /* of the caller */
    struct opf_scope *body;
} opf_call_site;

/* Names that are visible in a graph or in the body of an inlined function. */
typedef struct opf_scope {
    struct opf_scope *outer;   /* of a sub-graph; NULL for the main graph and for functions */
    opf_graph *graph;          /* where its values and nodes go */
    opf_map names;             /* interned name → opf_value; NULL for an input of a function that the call leaves out */
    const char *prefix;        /* of names in the graph: "" or "call/" */
    const opf_call_site *call; /* the innermost inlined call, NULL outside */
    const opf_opset *opsets;
    size_t n_opsets;
    int depth;
} opf_scope;

/* reader.c */
/* Reports at the reader's place. Returns false, so that callers can return it. */
bool opf_reader_error(opf_reader *reader, opf_status status, const char *code, const char *format, ...) __attribute__((format(printf, 4, 5)));
void opf_reader_failed(opf_reader *reader, opf_status status); /* counts a problem reported elsewhere */
bool opf_reader_spend(opf_reader *reader, size_t bytes);      /* takes from the allowance, reports when it is used up */
void *opf_reader_decode(opf_reader *reader, const pb_msgdesc_t *type, size_t size, opf_span bytes, const char *what);
#define OPF_DECODE(reader, message, bytes, what)                                                                       \
    ((opf_schema_##message *)opf_reader_decode((reader), &opf_schema_##message##_msg, sizeof(opf_schema_##message), (bytes), (what)))
const char *opf_reader_name(opf_reader *reader, opf_span span, const char *what); /* interned; NULL where it is no text */

/* type.c */
opf_type *opf_read_type(opf_reader *reader, opf_span bytes);
void opf_declare_type(opf_value *value, const opf_type *type); /* fills the declared fields */

/* tensor.c */
opf_tensor *opf_read_tensor(opf_reader *reader, const opf_schema_Tensor *message);
/* A tensor over bytes of the file or of an external one: a view, or a copy where the file does not stay
 * or holds booleans that are neither 0 nor 1. */
bool opf_tensor_take_bytes(opf_reader *reader, opf_tensor *tensor, opf_span bytes, int file, uint64_t offset);
/* external.c */
bool opf_read_external(opf_reader *reader, opf_tensor *tensor, const opf_spans *entries);
/* sparse.c */
opf_tensor *opf_read_sparse(opf_reader *reader, const opf_schema_SparseTensor *message, const char **name);

/* attribute.c */
opf_attr *opf_read_attributes(opf_reader *reader, opf_scope *scope, opf_node *node, const opf_spans *messages, int *count);
/* The attribute that `message` stands for in the scope: itself, or what ref_attr_name refers to. NULL where the call
 * gives none and there is no default. `where`: the scope that its sub-graphs see. */
const opf_schema_Attribute *opf_resolve_attribute(opf_reader *reader, opf_scope *scope, const opf_schema_Attribute *message, opf_scope **where);
int opf_attribute_kind(const opf_schema_Attribute *message); /* declared, else by what is there; 0: nothing */
/* constant.c: the tensor of a Constant node. */
opf_tensor *opf_read_constant(opf_reader *reader, opf_scope *scope, const opf_schema_Node *message);

/* graph.c */
opf_graph *opf_read_graph(opf_reader *reader, opf_span bytes, opf_node *parent, const char *attribute, opf_scope *outer, const opf_opset *opsets, size_t n_opsets);

#endif
