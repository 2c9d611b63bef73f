/* A stage: one tensor definition. It says for each point of its domain which scalar it holds:
 *
 *   out[v0, …, v(n-1)] = body                                     no reduction
 *   out[v0, …, v(n-1)] = combine over v(n) … v(n+r-1) of body     with r reduce axes
 *
 * Loads in the body name a tensor by number in the list that the stage belongs to: first the list's inputs, then its
 * stages in order (number n_inputs + i is stage i). A load of a stage always names an earlier one.
 * What follows a reduction (the 1/n of a mean) is a stage of its own. */
#ifndef OPF_IR_STAGE_H
#define OPF_IR_STAGE_H

#include "ir/graph.h"

typedef enum opf_combiner {
    OPF_COMBINE_NONE,
    OPF_COMBINE_SUM, OPF_COMBINE_PROD, OPF_COMBINE_MIN, OPF_COMBINE_MAX, /* min and max spread NaN */
    OPF_COMBINE_AND, OPF_COMBINE_OR,
    /* pairs: body is the value, `second` the index (int64); the stage's value is the index of the extreme */
    OPF_COMBINE_ARGMIN, OPF_COMBINE_ARGMAX,           /* first of equals; a NaN counts as the extreme */
    OPF_COMBINE_ARGMIN_LAST, OPF_COMBINE_ARGMAX_LAST, /* last of equals */
    OPF_COMBINE_COUNT
} opf_combiner;

typedef struct opf_stage {
    const char *name;              /* operator and role, "Softmax.max"; for text and banners */
    int n_axes, n_reduce;
    const opf_expr **extents;      /* n_axes + n_reduce dims; variable k runs over extents[k] */
    const char **axis_names;       /* same count, short C identifiers ("n", "c", "h", "w", "k"); NULL: i0, i1, … */
    opf_combiner combiner;
    opf_dtype dtype;               /* of the value (ARG*: int64) */
    opf_dtype accumulator;         /* type of the running value; = dtype where there is no reduction */
    const opf_expr *body;          /* of type `accumulator` with a reduction (the term), else of type dtype */
    const opf_expr *second;        /* pairs only */
    const opf_node *origin;        /* the node that it comes from */
    const char *note;              /* NULL, or what an emitter may use: "mean", "variance" … never meaning */
} opf_stage;

/* Stages over inputs; what an operator means, or what a group holds. */
typedef struct opf_stages {
    OPF_VEC(opf_value *) inputs;   /* tensor numbers 0 … */
    OPF_VEC(opf_stage *) list;     /* tensor numbers inputs.count … */
} opf_stages;

static inline opf_dim opf_stage_extent(const opf_stage *stage, int axis) { return stage->extents[axis]; }
static inline opf_domain opf_stage_domain(const opf_stage *stage) { return (opf_domain){stage->n_axes + stage->n_reduce, stage->extents}; }
opf_dim opf_stage_elements(const opf_stage *stage, opf_pool *pool); /* plain axes only */
double opf_stage_flops(const opf_stage *stage);                     /* of the whole stage at nominal sizes */
void opf_stages_print(const opf_stages *stages, opf_text *out);
/* Every load in range, types consistent, extents free of variables; the first violation as text (arena), else NULL. */
const char *opf_stages_check(const opf_stages *stages, opf_arena *arena);

#endif
