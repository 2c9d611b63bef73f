/* The reference evaluator: the graph as read, node by node, every node computed in double (integers exactly, float64 in
 * long double) from its stages and rounded to the value's own type before the next node. Serves verify and constant
 * folding; never a user's run. No pass, no simplification of the graph comes before it.
 *
 * In a module whose accuracy is exact every operation is computed in its own type instead, by the prelude's functions, and sums
 * run in the order of their axes: the very bits of generated code (docs/numerics.md, "The same bits everywhere"). */
#ifndef OPF_EVAL_EVAL_H
#define OPF_EVAL_EVAL_H

#include "ops/op.h"

typedef struct opf_eval opf_eval;

/* Values of sub-graphs are kept up to so many bytes in all, those of the first iterations. */
#define OPF_EVAL_HISTORY_BYTES ((size_t)512 << 20)

/* Evaluates the typed graph for concrete inputs (graph order, without initializers): `inputs[i]` has the input's dtype.
 * `keep_all`: every value stays readable afterwards, of sub-graphs for each time that they ran; else only graph outputs. */
opf_status opf_eval_new(opf_eval **out, opf_graph *graph, const opf_tensor *const *inputs, bool keep_all);
opf_status opf_eval_run(opf_eval *eval);
const opf_tensor *opf_eval_value(const opf_eval *eval, const opf_value *value); /* NULL where not kept */
/* Sub-graphs run once an iteration or a branch taken; `run` counts all of these from 0. The tensor of a value of the graph in its
 * run number `run`; NULL where not kept. Of the main graph there is run 0 alone. */
const opf_tensor *opf_eval_value_in(const opf_eval *eval, const opf_value *value, int64_t run);
/* The run of the graph around it in which `graph` had its run number `run`; -1 where there was none. */
int64_t opf_eval_run_around(const opf_eval *eval, const opf_graph *graph, int64_t run);
void opf_eval_free(opf_eval *eval);

/* A list of stages on concrete inputs, by the same arithmetic, nothing rounded but the results: out[k] is the tensor of stage
 * results[k], NULL where that is -1 (arena). For bounds. node: for reports. */
opf_status opf_eval_stage_list(const opf_node *node, const opf_stages *stages, const int *results, int n_results, const opf_tensor *const *inputs, const int64_t *symbols,
                           opf_tensor **out, opf_arena *arena);

/* One node with constant inputs: its outputs in `out` (arena). For constant folding. */
opf_status opf_eval_node(opf_node *node, const opf_tensor *const *inputs, opf_tensor **out, opf_arena *arena);

#endif
