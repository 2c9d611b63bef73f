/* Which value of the graph as read a value of the compiled graph is: passes keep names, and sub-graphs keep their paths. */
#ifndef OPF_CHECK_COUNTERPART_H
#define OPF_CHECK_COUNTERPART_H

#include "eval/eval.h"

typedef struct opf_counterparts {
    const opf_graph *read;                  /* the main graph as read */
    const opf_eval *eval;                   /* has all its values */
    OPF_VEC(const opf_graph *) graphs;      /* it and all its sub-graphs */
} opf_counterparts;

opf_counterparts *opf_counterparts_new(const opf_graph *read, const opf_eval *eval, opf_arena *arena);

/* The graph as read that a graph of the compiled module was; NULL for one that a pass has made. */
const opf_graph *opf_counterpart_graph(const opf_counterparts *c, const opf_graph *compiled);
/* NULL: a pass has made it. A branch that always runs is part of the graph around it, with names made unique. */
const opf_value *opf_counterpart_value(const opf_counterparts *c, const opf_value *compiled);
/* What the evaluator has for a value when a step of `graph` (as read) runs in run number `run` of that graph; NULL where it has none. */
const opf_tensor *opf_counterpart_tensor(const opf_counterparts *c, const opf_value *compiled, const opf_graph *graph, int64_t run);

#endif
