/* Evaluation of stages on concrete tensors. Private to src/eval. */
#ifndef OPF_EVAL_STAGE_H
#define OPF_EVAL_STAGE_H

#include "eval/lanes.h"
#include "opf_abi.h"

/* The tensor as the interpreter reads it. *owned: memory to free, or NULL. */
opf_operand opf_eval_operand(const opf_tensor *tensor, void **owned);

typedef struct opf_eval_stages {
    const opf_node *node;                /* for reports */
    opf_arena *arena;                    /* of the result tensors' descriptions */
    void *(*allocate)(void *data, size_t bytes); /* memory of a result */
    void *data;
    const opf_tensor *const *inputs;     /* by number; NULL where left out */
    const int64_t *symbols;              /* values by symbol index */
    int n_results;
    opf_heap *heap;                      /* of library kernels */
    bool exact;                          /* every operation in its own type */
} opf_eval_stages;

/* Runs all stages; out[k] becomes the tensor of stage results[k], rounded to its type (NULL where results[k] < 0).
 * Problems are reported at the node. */
opf_status opf_eval_run_stages(const opf_eval_stages *job, const opf_stages *stages, const int *results, opf_tensor **out);

#endif
