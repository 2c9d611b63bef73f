/* The graph: nodes and values, linked both ways, with sub-graphs. A module owns everything read from one model file.
 *
 * Invariants, held by opf_graph_check: nodes are in topological order; every value has one producer (a node, or it is a
 * graph input or a constant); uses mirror inputs exactly; names of values and of nodes are unique within a graph. */
#ifndef OPF_IR_GRAPH_H
#define OPF_IR_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "expr/expr.h"
#include "ir/tensor.h"

typedef struct opf_module opf_module;
typedef struct opf_graph opf_graph;
typedef struct opf_node opf_node;
typedef struct opf_value opf_value;

/* What may be done to sums beside adding them in another order; docs/numerics.md. */
typedef enum opf_accuracy {
    OPF_ACCURACY_NORMAL, /* Winograd's products with an error below 1e-4 of the largest result */
    OPF_ACCURACY_TIGHT,  /* those that are as accurate as the sum itself */
    OPF_ACCURACY_EXACT   /* nothing, not even another order: every operation in its own type, in the order of its definition */
} opf_accuracy;

typedef enum opf_value_kind { OPF_VALUE_TENSOR, OPF_VALUE_SEQUENCE, OPF_VALUE_OPTIONAL, OPF_VALUE_MAP } opf_value_kind;

/* A type as a file declares it. */
typedef struct opf_type {
    opf_value_kind kind;
    opf_dtype dtype;              /* of a tensor's elements, a map's key; OPF_NO_DTYPE where not given */
    int rank;                     /* -1: not given */
    int64_t *dims;                /* -1: unknown */
    const char **names;           /* NULL or symbol name, per axis */
    const struct opf_type *inner; /* element of a sequence or optional, value of a map; NULL for tensors */
} opf_type;

/* What is known of the elements of a sequence or an optional. Its value has one axis: the length, of an optional tensor 0 or
 * 1. All elements have the value's dtype. */
typedef struct opf_list_type {
    bool optional;                /* it may be absent */
    bool sequence;                /* it holds any number of tensors; else one */
    int rank;                     /* of the elements, or one of the two below */
    opf_dim dims[OPF_MAX_RANK];   /* of each element; NULL: they differ, or are not known */
} opf_list_type;
enum { OPF_RANK_MIXED = -1, OPF_RANK_NONE = -2 }; /* not known or not the same; there is no element */

typedef struct opf_use {
    opf_node *node; /* a use from a sub-graph names the node inside the sub-graph */
    int input;      /* position in node->inputs */
} opf_use;

struct opf_value {
    const char *name;      /* interned; unique in the graph */
    int id;                /* dense in the module */
    opf_graph *graph;
    opf_value_kind kind;
    opf_dtype dtype;       /* element type; OPF_NO_DTYPE until typed */
    int rank;              /* -1 until known */
    opf_dim *dims;         /* rank entries once typed */
    const opf_list_type *list; /* of sequences and optionals once typed; NULL for tensors */
    /* Declared type in the file: graph inputs (the truth), outputs and value_info (hints only). rank -1: none given.
     * An entry is a constant >= 0, or NULL with a name in declared_names or without one. */
    int declared_rank;
    opf_dtype declared_dtype;
    int64_t *declared_dims;            /* -1: unknown */
    const char **declared_names;       /* NULL or symbol name, per axis */
    const opf_type *declared;          /* the whole declared type: sequences, optionals, maps; NULL: none given */
    opf_node *producer;    /* NULL for inputs and constants */
    int producer_output;
    OPF_VEC(opf_use) uses;
    const opf_tensor *constant; /* initializer or Constant node's value; NULL otherwise */
    /* What is known of the elements of a small integer, bool or float tensor, in row-major order: expressions of symbols
     * only. Serves shape arithmetic. content_count is the number of elements; content NULL: unknown. */
    const opf_expr **content;
    int64_t content_count;
    int input_index;       /* position among the graph's inputs that are no initializers, else -1 */
    bool is_output;
};

typedef enum opf_attr_kind { /* numbers are ONNX's AttributeProto.AttributeType */
    OPF_ATTR_FLOAT = 1, OPF_ATTR_INT = 2, OPF_ATTR_STRING = 3, OPF_ATTR_TENSOR = 4, OPF_ATTR_GRAPH = 5,
    OPF_ATTR_FLOATS = 6, OPF_ATTR_INTS = 7, OPF_ATTR_STRINGS = 8, OPF_ATTR_TENSORS = 9, OPF_ATTR_GRAPHS = 10,
    OPF_ATTR_SPARSE_TENSOR = 11, OPF_ATTR_SPARSE_TENSORS = 12, OPF_ATTR_TYPE_PROTO = 13, OPF_ATTR_TYPE_PROTOS = 14
} opf_attr_kind;

typedef struct opf_attr {
    const char *name; /* interned */
    opf_attr_kind kind;
    size_t count;     /* of the list kinds; 1 otherwise */
    union {
        const float *floats;
        const int64_t *ints;
        const char *const *strings; /* terminated; lengths in string_sizes */
        const opf_tensor *const *tensors; /* sparse ones are dense here */
        opf_graph *const *graphs;
        const opf_type *const *types;
    };
    const size_t *string_sizes;
    const char *reference; /* ref_attr_name inside a function body, NULL elsewhere */
    bool read;             /* somebody asked for this kind */
    opf_attr_kind asked;   /* the other kind that somebody asked for, 0 for none: opf_node_misread_attr */
} opf_attr;

/* Of a node that a pass has made of several: the model rounds what lies between them, and the node does not. By how much results may
 * differ for it, besides what the constants' own roundings do: `roundings` unit roundoffs of the result, and `off`. */
typedef struct opf_unrounded { double roundings, off; } opf_unrounded;

struct opf_node {
    const char *name;     /* interned, unique in the graph; unnamed nodes get Op_index, taken names name#index */
    const char *op;       /* interned op_type */
    const char *domain;   /* interned; "" for ai.onnx */
    int opset;            /* version of the domain that the model imports */
    int index;            /* node index in the file (of its graph), -1 for made nodes; for messages */
    int id;               /* position in graph->nodes, kept by opf_graph_renumber */
    opf_graph *graph;
    int n_inputs, n_outputs;
    int n_tables;         /* inputs at the end that stand for attributes (src/ops/tables.h); a file does not have them */
    opf_value **inputs;   /* NULL: optional input left out */
    opf_value **outputs;  /* NULL: optional output left out */
    int n_attrs;
    opf_attr *attrs;
    /* Names of the model's own nodes that this one stands for (itself, before any pass). */
    int n_origins;
    const char **origins;
    opf_unrounded unrounded;
    struct opf_control *control; /* If, Loop, Scan once typed (ops/control.h); NULL for all others */
    void *plan;           /* scratch of the stage that runs now */
    bool held;            /* a user's kernel stands for it and others: passes leave it as it is */
};

struct opf_graph {
    const char *name;
    opf_module *module;
    opf_node *parent;     /* the node that holds this sub-graph, NULL for the main graph */
    bool conditional;     /* a branch of an If that a run may not take */
    const char *path;     /* "" for the main graph, "If_3.then_branch" … for messages and reports */
    OPF_VEC(opf_node *) nodes;
    OPF_VEC(opf_value *) inputs;  /* without those that are initializers too */
    OPF_VEC(opf_value *) outputs; /* a value may stand here twice, and may be an input or a constant */
    OPF_VEC(opf_value *) values;  /* all, in order of creation */
    OPF_VEC(const char *) output_names; /* one an output: the names that the file promises, whatever a pass puts there */
    opf_map by_name;              /* interned name → opf_value */
    opf_map nodes_by_name;        /* interned name → opf_node */
};

/* Constants of at most so many elements have their content filled in. */
enum { OPF_CONTENT_LIMIT = 256 };

/* A condition under which the compiled program is right, checked when it runs. */
typedef struct opf_guard {
    enum { OPF_GUARD_EQ, OPF_GUARD_GE } kind;
    opf_dim left, right;
    const char *why;      /* "Add 'x': both operands share axis 1" */
    const opf_graph *inside; /* a branch: it must hold where that branch runs; NULL: always */
} opf_guard;

typedef struct opf_opset { const char *domain; int version; } opf_opset;

struct opf_module {
    opf_arena *arena;     /* owns all that hangs off the module */
    opf_interner *names;
    opf_pool *pool;
    opf_diags *diags;     /* the context's */
    const char *path;     /* as given by the user; for messages */
    OPF_VEC(opf_mapping) files; /* [0] is the model, others external data */
    OPF_VEC(const char *) file_paths;
    int64_t ir_version;
    const char *producer;
    OPF_VEC(opf_opset) opsets;
    OPF_VEC(struct opf_function_name) functions;
    opf_graph *graph;
    int n_values;
    OPF_VEC(opf_guard) guards;
    const opf_graph *inside; /* while a node is built: the branch that its guards belong to, NULL for none */
    OPF_VEC(opf_value *) by_value; /* graph inputs that the last typing needs the values of; what depends on them stayed untyped */
    OPF_VEC(struct opf_bound) bound; /* graph inputs whose value was put in: no other may be given to the program */
    OPF_VEC(struct opf_choice) choices; /* branches that sizes must choose */
    int problems;          /* nodes that the last typing could not type */
    OPF_VEC(struct opf_count) counts; /* sizes that the program finds as it runs */
    opf_accuracy accuracy; /* what may be taken from accuracy for speed; for the evaluator: exact or not */
    const struct opf_wide_sums *wide_sums; /* outlives the module; NULL for none */
    struct opf_facts *facts; /* equalities of dims that the guards assure; src/ops/facts.h */
    OPF_VEC(struct opf_removed) removed; /* nodes that a pass took out, for `explain` */
    const struct opf_user_ops *operators; /* a user's own operators (ops/user.h), NULL for none; outlives the module */
};

/* Nodes whose sums of float32 and half types run in float64, by the names of the model (`--wide-sums`). */
typedef struct opf_wide_sums {
    bool all;
    OPF_VEC(const char *) nodes;
} opf_wide_sums;
bool opf_node_has_wide_sums(const opf_node *node);

static inline bool opf_module_is_exact(const opf_module *module) { return module->accuracy == OPF_ACCURACY_EXACT; }

/* A dim symbol whose value a step finds: output sizes that depend on data. */
typedef struct opf_count {
    const opf_symbol *symbol;
    const opf_node *node; /* that finds it */
    int number;           /* among the node's counts */
    opf_dim most;         /* upper bound; may depend on earlier counts; NULL: none */
} opf_count;

typedef struct opf_bound { const opf_value *input; const opf_tensor *value; } opf_bound;

/* An If whose branches have no common type: the truth that its condition must have, assured by a guard. */
typedef struct opf_choice { const opf_node *node; bool truth; } opf_choice;

/* A function that the model defines; its calls are inlined. */
typedef struct opf_function_name { const char *domain, *name; } opf_function_name;

typedef struct opf_removed { const char *node, *why, *into; } opf_removed;

opf_module *opf_module_new(opf_diags *diags, const char *path);
void opf_module_free(opf_module *module); /* unmaps the files too */

opf_graph *opf_graph_new(opf_module *module, const char *name, opf_node *parent);
/* NULL where a value of this name exists (caller reports); name NULL makes a fresh one. */
opf_value *opf_value_new(opf_graph *graph, const char *name);
opf_value *opf_value_find(const opf_graph *graph, const char *name); /* this graph only */
opf_value *opf_value_resolve(const opf_graph *graph, const char *name); /* outwards through parents */
opf_value *opf_value_constant(opf_graph *graph, const char *name, const opf_tensor *tensor); /* a typed constant */
void opf_value_set_constant(opf_value *value, const opf_tensor *tensor); /* of a value without producer; types it */
/* Appended; inputs and outputs NULL, no origins. `name` becomes unique (opf_node_name_free). */
opf_node *opf_node_new(opf_graph *graph, const char *name, const char *op, const char *domain, int opset, int n_inputs, int n_outputs);
/* The name that a node gets in this graph: `name`, or Op_index where it has none; name#index where that is taken. */
const char *opf_node_name_free(const opf_graph *graph, const char *name, const char *op, int index);
void opf_graph_add_input(opf_graph *graph, opf_value *value);
void opf_graph_add_output(opf_graph *graph, opf_value *value, const char *name); /* name NULL: the value's own */
void opf_node_set_input(opf_node *node, int input, opf_value *value); /* keeps the use lists */
void opf_node_set_output(opf_node *node, int output, opf_value *value);
void opf_node_remove(opf_node *node);                /* unlinks; outputs must be unused and leave the graph too */
void opf_value_replace(opf_value *from, opf_value *to); /* all uses and graph outputs */
void opf_node_origins_add(opf_node *node, const opf_node *from); /* `node` now stands for what `from` stands for, too */
/* Moves the nodes of sub-graph `from` in front of node `at` of `to`, and its values; names that are taken change. Nobody may read
 * its inputs any more. What uses its results is the caller's to change. */
void opf_graph_splice(opf_graph *from, opf_graph *to, size_t at);
/* The node of `graph` that is `node` or holds it in a sub-graph at any depth; NULL where there is none. */
opf_node *opf_node_within(opf_node *node, const opf_graph *graph);
opf_status opf_graph_sort(opf_graph *graph);         /* topological, else as they stand; sub-graphs too; reports a cycle by its nodes */
void opf_graph_renumber(opf_graph *graph);           /* ids = positions */
void opf_graph_remove_dead(opf_graph *graph);        /* nodes whose results nobody uses; recorded in module->removed */

const opf_attr *opf_node_attr(const opf_node *node, const char *name); /* NULL where absent */
/* `otherwise` where the attribute is absent or of another kind; the latter is remembered. */
int64_t opf_node_int(const opf_node *node, const char *name, int64_t otherwise);
double opf_node_float(const opf_node *node, const char *name, double otherwise);
const char *opf_node_string(const opf_node *node, const char *name, const char *otherwise);
/* count, and *ints set; -1 where absent. */
int opf_node_ints(const opf_node *node, const char *name, const int64_t **ints);
/* An attribute that was only ever asked for as another kind than it is; NULL for none. */
const opf_attr *opf_node_misread_attr(const opf_node *node);
const char *opf_attr_kind_name(opf_attr_kind kind); /* with its article */
/* Adds or replaces; `data` is an array of `count` elements of the kind's type (copied; for strings, tensors, graphs and
 * types the pointers are), also for the single kinds. */
opf_attr *opf_node_attr_add(opf_node *node, const char *name, opf_attr_kind kind, size_t count, const void *data);

opf_place opf_node_place(const opf_node *node);
/* A diagnostic at a node, with a line for each input: its name, type and producer. */
opf_diag *opf_node_error(const opf_node *node, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds a guard once; trivially true ones are dropped. */
void opf_module_guard(opf_module *module, int kind, opf_dim left, opf_dim right, const char *why);

bool opf_value_is_typed(const opf_value *value);
bool opf_type_holds_map(const opf_type *type); /* at any depth; where ONNX has maps, opfuse has the tensor of their values */
void opf_value_print_type(const opf_value *value, opf_text *out); /* float32[1,N,64] */
opf_dim opf_value_elements(const opf_value *value);
int64_t opf_value_nominal_bytes(const opf_value *value);
int64_t opf_graph_constant_bytes(const opf_graph *graph); /* of all its constants that are used */

void opf_graph_print(const opf_graph *graph, opf_text *out); /* text form, docs/design.md */
/* Internal consistency; a violation is OPF_ERROR_INTERNAL and names the pass that ran before. */
opf_status opf_graph_check(const opf_graph *graph, const char *after);

#endif
