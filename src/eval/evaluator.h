/* The evaluator's state, for the files that evaluate nodes. Private to src/eval. */
#ifndef OPF_EVAL_EVALUATOR_H
#define OPF_EVAL_EVALUATOR_H

#include "eval/eval.h"
#include "opf_abi.h"
#include "ops/control.h"

/* What is held of one value. */
typedef struct opf_eval_slot {
    const opf_tensor *tensor;
    void *owned;         /* its elements, where they are the evaluator's; NULL for inputs and constants */
    size_t uses;         /* reads still to come */
} opf_eval_slot;

struct opf_eval {
    opf_arena *arena;
    opf_graph *graph;
    opf_module *module;
    const opf_tensor *const *inputs;
    bool keep_all;
    opf_eval_slot *slots; /* by value id */
    int64_t *symbols;     /* by symbol index */
    opf_heap *heap;       /* of library kernels; in the arena */
    opf_map runs;         /* graph → opf_eval_runs; of sub-graphs */
    size_t history_bytes; /* what all of them hold */
    OPF_VEC(void *) put_away; /* elements that they own */
};

/* Of one sub-graph: what its values were, run by run. */
typedef struct opf_eval_runs {
    OPF_VEC(int64_t) around;          /* a run: that of the graph around it */
    OPF_VEC(opf_eval_slot *) values;  /* a run: the graph's values, in the order of graph->values; NULL where not kept */
} opf_eval_runs;

/* Memory of a tensor, zeroed; freed by free(). */
void *opf_eval_memory(size_t bytes);
/* What is known of a value now; NULL: not computed. */
const opf_tensor *opf_eval_tensor(const opf_eval *eval, const opf_value *value);
/* The value is this tensor from now on, whose elements are the evaluator's. */
void opf_eval_set(opf_eval *eval, const opf_value *value, const opf_tensor *tensor);
void opf_eval_release(opf_eval *eval, const opf_value *value);
void opf_eval_release_graph(opf_eval *eval, const opf_graph *graph);
/* All nodes of a graph, in order. */
opf_status opf_eval_nodes(opf_eval *eval, const opf_graph *graph);

/* history.c: the graph has run to its end: its values are put away where all are kept, and forgotten. */
void opf_eval_end_run(opf_eval *eval, const opf_graph *graph);
void opf_eval_free_history(opf_eval *eval);

/* control.c: a node with sub-graphs; its outputs are set. */
opf_status opf_eval_control(opf_eval *eval, opf_node *node, const opf_control *control);

#endif
