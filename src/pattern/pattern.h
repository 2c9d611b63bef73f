/* Patterns: shapes of graphs that a user names, and what becomes of the nodes that match (docs/patterns.md).
 *
 * read.c           the text of a pattern file; chain.c its chains, function_text.c functions written as ONNX's text
 * function.c       a model-local function of an .onnx file
 * match.c          where in a graph a pattern is; test.c the conditions on single nodes
 * take.c           which matches count: priorities, overlaps, what is impossible
 * bind.c           a match as one call of the user's kernel
 *
 * A pattern in either form is a graph of nodes over numbered values. Knows no group: fuse reads the matches. */
#ifndef OPF_PATTERN_PATTERN_H
#define OPF_PATTERN_PATTERN_H

#include "base/hash.h"
#include "ops/library.h"

typedef enum opf_pattern_action { OPF_PATTERN_FORCE, OPF_PATTERN_FORBID, OPF_PATTERN_PREFER, OPF_PATTERN_BIND } opf_pattern_action;
const char *opf_pattern_action_name(opf_pattern_action action); /* "force", "forbid", "prefer", "bind" */

enum { OPF_PATTERN_NODES = 64, OPF_PATTERN_INPUTS = 64, OPF_PATTERN_RESULTS = 8, OPF_PATTERN_PARAMETERS = 16 };

/* A condition on a node; `text` is how the file writes it. */
typedef struct opf_pattern_test {
    enum { OPF_TEST_ATTRIBUTE, OPF_TEST_ABSENT, OPF_TEST_TYPE, OPF_TEST_RANK, OPF_TEST_DIM, OPF_TEST_CONSTANT, OPF_TEST_NUMBER } what;
    int input;               /* whose type, rank … it is; -1: the first result's */
    int axis;                /* dims; negative ones count from the end */
    enum { OPF_TEST_EQ, OPF_TEST_NE, OPF_TEST_LT, OPF_TEST_LE, OPF_TEST_GT, OPF_TEST_GE } compare;
    double number;           /* rank, dim, element */
    uint32_t types;          /* bits by opf_dtype */
    const char *name;        /* of the attribute */
    const opf_attr *value;   /* of the attribute; numbers are of kind FLOATS here, and count */
    const char *text;
} opf_pattern_test;

typedef struct opf_pattern_operator { const char *domain, *name; } opf_pattern_operator;

/* What a value of the pattern must be. */
typedef struct opf_pattern_value {
    const char *name;
    int producer;            /* node, -1: it comes from outside, or is a constant */
    const opf_tensor *constant; /* the value in the model must be a constant of these elements; NULL: any */
} opf_pattern_value;

typedef struct opf_pattern_node {
    const char *label;       /* NULL: none */
    OPF_VEC(opf_pattern_operator) operators; /* one of them; none: any operator */
    bool optional;           /* chains */
    OPF_VEC(opf_pattern_test) tests;
    /* Chains: reads the result of the node before, at operand `at` (-1: any). */
    int at;
    /* Functions: every operand and result by the number of its value, -1: left out; attributes are these and no others. */
    bool whole;
    int n_inputs, n_outputs;
    const int *inputs, *outputs;
    int n_attrs;
    const opf_attr *attrs;
} opf_pattern_node;

/* A parameter of a kernel: an attribute of a node. */
typedef struct opf_pattern_parameter {
    int node;
    const char *name;
    bool has_default;
    double otherwise;
} opf_pattern_parameter;

typedef struct opf_pattern {
    const char *name, *source; /* source: "FILE:LINE" */
    opf_pattern_action action;
    int priority, place;     /* place: its number among all patterns */
    OPF_VEC(opf_pattern_node) nodes;
    OPF_VEC(opf_pattern_value) values; /* functions */
    bool chain;
    OPF_VEC(int) inputs;     /* functions: values */
    OPF_VEC(int) results;    /* chains: nodes; functions: values */
    /* bind */
    opf_library_kernel *kernel;
    OPF_VEC(opf_pattern_parameter) parameters;
} opf_pattern;

typedef struct opf_patterns {
    opf_arena *arena;
    OPF_VEC(opf_pattern *) list;
    opf_hash key;            /* of all that was read for them, with the names it came under: the same key, the same patterns */
} opf_patterns;

opf_patterns *opf_patterns_new(opf_arena *arena);
/* Adds the patterns of a text. Files that it names lie beside `source`. Every mistake is reported ("patterns", with line and column),
 * and nothing is added then: OPF_ERROR_INPUT. */
opf_status opf_patterns_add(opf_patterns *patterns, const char *text, const char *source, opf_diags *diags);

/* ---- matches ---- */

typedef enum opf_match_state { OPF_MATCH_TAKEN, OPF_MATCH_OVERLAPPED, OPF_MATCH_REFUSED } opf_match_state;

/* Operand or result `index` of a node; node NULL: there is none. */
typedef struct opf_match_port { opf_node *node; int index; } opf_match_port;

typedef struct opf_match {
    const opf_pattern *pattern;
    opf_graph *graph;
    int found;               /* its number in the order of patterns, graphs and places */
    int n_nodes;
    opf_node **nodes;        /* of the graph as read and typed, in the pattern's order; optional ones that are not there left out */
    int n_places;
    opf_node **places;       /* per node of the pattern, NULL where an optional one is not there */
    opf_value **bound;       /* per value of the pattern (functions) */
    opf_match_state state;
    const char *reason;      /* of those that are not taken */
    /* bind: which operands and results of the nodes the kernel's are, and the call. */
    int n_inputs, n_outputs;
    opf_match_port *inputs, *outputs;
    opf_library_call *call;
} opf_match;

/* A place where a pattern began to match and did not go on. */
typedef struct opf_near_miss {
    const opf_pattern *pattern;
    const opf_graph *graph;
    int n_nodes;
    opf_node **nodes;        /* that did match */
    const char *wanted;      /* the pattern's node that was not found: its operators */
    const opf_node *at;      /* the node that was tried for it; NULL: there was none to try */
    const char *reason;
} opf_near_miss;

typedef struct opf_matches {
    OPF_VEC(opf_match *) list; /* the taken ones first of each pattern, by graph and place */
    OPF_VEC(opf_near_miss) misses;
} opf_matches;

/* All matches in the main graph and its sub-graphs, which must be typed as read; in the module's arena. `misses`: notes near misses. Nodes of
 * bound matches are held (opf_node.held). */
opf_matches *opf_patterns_match(const opf_patterns *patterns, opf_module *module, bool misses);

/* A node that is in no graph, and whose operands and results are those of the bound kernel, as passes have left them. */
opf_node *opf_match_caller(const opf_match *match);

/* "Add|Sub", "com.microsoft::Gelu?", "any operator" (arena) */
const char *opf_pattern_node_text(const opf_pattern_node *node, opf_arena *arena);

#endif
