/* Operators: one entry each, in one place. An entry's meaning is a list of stages, built from the node, its attributes
 * and the types of its inputs. Everything else follows from the stages: the output types (a result's extents and dtype),
 * shape arithmetic, evaluation, fused code, the pattern kind, bytes and FLOPs.
 *
 * Scalar operators are one line each in scalar.ops; the others one `build` function in the file of their family. */
#ifndef OPF_OPS_OP_H
#define OPF_OPS_OP_H

#include "ir/stage.h"

/* TVM's pattern kinds (relay/op_attr_types.h); the numbers are compared. */
typedef enum opf_kind {
    OPF_KIND_ELEMWISE = 0, OPF_KIND_BROADCAST = 1, OPF_KIND_INJECTIVE = 2, OPF_KIND_COMM_REDUCE = 3,
    OPF_KIND_OUT_ELEMWISE_FUSABLE = 4, OPF_KIND_TUPLE = 7, OPF_KIND_OPAQUE = 8
} opf_kind;
const char *opf_kind_name(opf_kind kind); /* "elemwise", "out_elemwise_fusable", … as in TVM and in `explain` */

enum {
    OPF_OP_VIEW = 1,      /* the result holds the first input's elements in the same order: a view of its bytes */
    OPF_OP_LIBRARY = 4,   /* a library kernel (ops/library.h), for documents */
    OPF_OP_CONTROL = 8,   /* sub-graphs (ops/control.h) */
    OPF_OP_LISTS = 16,    /* it takes sequences and optionals */
    OPF_OP_STATEFUL = 2   /* never duplicated, folded or removed (random operators) */
};

/* The state of one build: what a `build` function reads and fills. */
typedef struct opf_call {
    opf_node *node;
    opf_module *module;
    opf_pool *pool;
    opf_arena *arena;
    const struct opf_op *op;
    opf_stages stages;       /* inputs = the node's inputs in order (absent ones NULL), then what build adds */
    struct opf_library_call *library; /* not NULL: the node is a library kernel (ops/library.h) and has no stages */
    struct opf_control *control; /* not NULL: control flow (ops/control.h), no stages either */
    int *results;            /* per node output: index into stages.list, -1 where the output is left out */
    bool failed;             /* an error was reported */
    opf_diag *diag;          /* the last error that was reported, for its hint */
    bool deferred;           /* it failed because inputs of the model are needed by value; nothing is reported */
    bool quiet;              /* problems are counted, not reported (trial builds) */
} opf_call;

typedef opf_status (*opf_op_build)(opf_call *call);

typedef struct opf_op {
    const char *domain, *name;  /* "" is ai.onnx */
    int since;                  /* this meaning holds from this opset on, until the next entry of the same name */
    int min_inputs, max_inputs; /* max -1: variadic */
    int max_outputs;
    opf_kind kind;              /* the kind that TVM's table gives it, used by policy tvm */
    unsigned flags;
    opf_op_build build;         /* NULL: scalar text */
    const char *scalar;         /* the line of scalar.ops, or of a user's text */
} opf_op;

/* The entry for a node: a user's (ops/user.h), else opfuse's own; NULL for none, or none at its opset. */
const opf_op *opf_node_op(const opf_node *node);

/* opfuse's own. NULL where there is none (or none at this opset). */
const opf_op *opf_op_find(const char *domain, const char *name, int opset);
/* The oldest entry of that name whatever the opset, NULL for none; for hints. */
const opf_op *opf_op_first(const char *domain, const char *name);
/* All entries, in order, for `ops` and documents. */
size_t opf_op_count(void);
const opf_op *opf_op_at(size_t index);

/* The stages of a node whose inputs are typed. Errors are reported at the node. `out` is in the module's arena. */
opf_status opf_op_stages(opf_call **out, opf_node *node);

/* Types every value of the graph and its sub-graphs, symbolically; folds shape arithmetic into value->content.
 * Input dims become symbols (same declared name → same symbol; -1 and unnamed → one each) or the constants given by
 * `pins`. Equalities that do not follow are recorded as guards. All problems are reported. */
enum { OPF_PIN_RANK = -1 };
typedef struct opf_pin {
    const char *input;  /* input name with an axis, or NULL: `symbol` by its declared name */
    int axis;           /* OPF_PIN_RANK: `size` is the number of the input's axes */
    const char *symbol;
    int64_t size;       /* >= 0 */
    bool nominal_only;  /* a hint: sets the nominal size only */
} opf_pin;
/* Where ranks, sizes or permutations hang on the values of graph inputs, these inputs are put into module->by_value and
 * the rest of the graph is typed all the same: OPF_OK, and what hangs on them is untyped. opf_input_bind gives a value. */
opf_status opf_graph_type(opf_module *module, const opf_pin *pins, size_t n_pins);

/* Every use of the graph input becomes one of a constant with this value; the input stays at the border, unused. For a
 * module that is yet to be typed; the tensor fits the input's type. */
void opf_input_bind(opf_value *input, const opf_tensor *tensor);

/* Types the outputs of one node that a pass made; its inputs are typed. */
opf_status opf_node_type(opf_node *node);

/* How a program finds a symbol's value: input `input` (position among graph inputs), axis `axis`; or, where input is -1, a
 * step counts it. */
typedef struct opf_symbol_source { const opf_symbol *symbol; int input, axis; } opf_symbol_source;
/* In module order; every symbol used by any dim has one. (arena) */
size_t opf_module_symbol_sources(opf_module *module, opf_symbol_source **out);

/* True where every output of the node is known as content: it needs no code (its value is filled in where it is read). */
bool opf_node_is_folded(const opf_node *node);

/* Kind derived from the stages of one node (docs/design.md, Kinds). */
opf_kind opf_stages_kind(const opf_stages *stages);

#endif
