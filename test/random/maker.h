/* Random graphs: typed while they grow, so that every node is legal where it stands. The same seed gives the same graph. */
#ifndef OPF_TEST_MAKER_H
#define OPF_TEST_MAKER_H

#include "ops/op.h"

enum { SYMBOLS = 2, MOST_ELEMENTS = 20000, OPEN = -1 };

typedef struct limited { const opf_value *value; int64_t limit; } limited;

typedef struct maker {
    uint64_t seed, state;
    opf_diags *diags;          /* of nodes that turned out to be impossible; nobody reads them */
    opf_module *module;
    opf_graph *graph;
    opf_arena *arena;          /* the module's */
    int opset;
    int64_t *symbols;          /* sizes of this graph's run, by symbol index */
    OPF_VEC(opf_value *) values; /* that nodes may take, in the order in which they were made */
    int made, refused;         /* nodes */
} maker;

/* A graph of its own; released by maker_free. */
maker *maker_new(uint64_t seed);
void maker_free(maker *m);

/* ---- chance ---- */
int pick(maker *m, int count);              /* 0 … count-1 */
bool chance(maker *m, int in_100);
opf_value *pick_value(maker *m);            /* mostly one of the last */

/* ---- values ---- */
int64_t size_of(const maker *m, opf_dim dim); /* in this graph's run */
int64_t elements_of(const maker *m, const opf_value *value);
opf_value *new_input(maker *m, opf_dtype dtype, int rank, const opf_dim *dims); /* a size that is no symbol must be constant */
opf_value *new_constant(maker *m, opf_dtype dtype, int rank, const int64_t *dims); /* random elements */
opf_value *constant_ints(maker *m, const int64_t *values, int count);           /* int64[count] */
opf_value *constant_number(maker *m, opf_dtype dtype, double number);            /* a scalar */
opf_value *find_like(maker *m, const opf_value *value, opf_dtype dtype);         /* another of its dims and that type; NULL */
/* An operand that broadcasts to the value: one that is there, a fresh input or a constant. */
opf_value *operand_for(maker *m, const opf_value *value, opf_dtype dtype);

/* Random elements for an input in its run (arena of the maker). The same name and seed give the same. */
opf_tensor *data_of(const maker *m, const opf_value *input);

/* ---- nodes ---- */
opf_node *begin(maker *m, const char *op, int n_inputs, opf_value *const *inputs, int n_outputs);
void set_int(opf_node *node, const char *name, int64_t value);
void set_ints(opf_node *node, const char *name, const int64_t *values, int count);
void set_float(opf_node *node, const char *name, double value);
void set_string(opf_node *node, const char *name, const char *value);
/* Types it; its first result, or NULL where it cannot be (the node is gone then). NULL is handed on. */
opf_value *finish(maker *m, opf_node *node);
opf_value *apply(maker *m, const char *op, opf_value *a, opf_value *b); /* b may be NULL; NULL for a is handed on */

/* ---- operators ---- */
opf_value *grow(maker *m);                  /* one step: an operator, or a few that belong together, by chance; NULL: none this time */
opf_value *grow_scalar(maker *m, opf_value *x); /* one of the scalar operators */
opf_value *grow_arranged(maker *m, opf_value *x);
opf_value *grow_reduced(maker *m, opf_value *x);
opf_value *grow_summed(maker *m, opf_value *x);

/* ---- the whole ---- */

/* The graph of this seed. The results of the nodes in `cut` (by position, ended by -1) are inputs instead; `output` >= 0: only
 * that one stays. */
maker *make_graph(uint64_t seed, const int *cut, int output);

#endif
