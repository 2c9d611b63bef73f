/* Control flow: If, Loop, Scan as typed. The node's sub-graphs are graphs like any other; they read values of the graphs
 * around them. What differs between branches or changes from one iteration to the next is a size of its own (counts.h),
 * set as the program runs. */
#ifndef OPF_OPS_CONTROL_H
#define OPF_OPS_CONTROL_H

#include "ops/library.h"

typedef enum opf_control_kind { OPF_CONTROL_IF, OPF_CONTROL_LOOP, OPF_CONTROL_SCAN } opf_control_kind;

/* A size that control flow sets. If: values[b] at the end of branch b. Loops: values[0] before the first iteration,
 * values[1], which speaks of the sizes before it, at the end of each. */
typedef struct opf_control_size { const opf_symbol *symbol; opf_dim values[2]; } opf_control_size;

/* An operand that a Scan cuts into slices, or a result that a loop stacks up: along `axis`, from the end where `reverse`. */
typedef struct opf_control_slices { int axis; bool reverse; } opf_control_slices;

typedef struct opf_control {
    opf_control_kind kind;
    opf_graph *graphs[2];          /* If: then, else; loops: the body */
    int taken;                     /* If: the only branch that runs, known beforehand; -1: the condition decides */
    OPF_VEC(opf_control_size) sizes;
    int n_outputs;
    opf_library_output *outputs;   /* types of the node's outputs */
    /* Loops. Body inputs: [iteration, condition,] carried values, slices; body outputs: [condition,] carried values, then
     * what is stacked up. The node's inputs: [trip count, condition,] initial values, what is cut into slices. */
    int first;                     /* carried values begin here in the node's and the body's inputs: Loop 2, Scan 0 */
    int n_carried, n_in, n_out;
    opf_control_slices *in, *out;
    opf_dim trip;                  /* most iterations; NULL: not known beforehand (input 0, or no limit) */
    const opf_symbol *iteration;   /* the number of the iteration, where `trip` is known; NULL for Scan */
    const opf_symbol *trips;       /* how many there were; NULL where that is `trip` */
} opf_control;

/* Scans of opset 8, which run over a batch, become Scans of opset 9 (scan_unfold.c). Before typing. */
void opf_scans_unfold(opf_graph *graph);

static inline int opf_control_graphs(const opf_control *control) { return control->kind == OPF_CONTROL_IF ? 2 : 1; }

#endif
