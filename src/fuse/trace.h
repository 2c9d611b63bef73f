/* How the groups came to be: recorded by the policies while they work, printed by `explain --trace`. */
#ifndef OPF_FUSE_TRACE_H
#define OPF_FUSE_TRACE_H

#include <jansson.h>

#include "fuse/explain.h"

/* A fusion made or tried: `source` into `sink` with all between. */
typedef struct opf_event {
    const char *phase;             /* "phase 0", "phase 1" of TVM's rules; "growth" of policy best */
    const char *rule;
    bool joined;
    const opf_node *source, *sink; /* NULL where it was no matter of one node and another */
    const opf_node *blocker;       /* of refused ones; may be NULL */
    opf_node *const *nodes;        /* joined ones: those that became one group with it, or with the sink */
    int n_nodes;
} opf_event;

/* A node in the tree of post-dominators: where all ways of its results meet again. */
typedef struct opf_meeting {
    const opf_node *node, *parent; /* parent NULL: they never do */
    int depth;                     /* roots 1 */
    opf_kind worst;                /* largest kind of an edge on the ways to the parent */
} opf_meeting;

typedef struct opf_trace {
    OPF_VEC(opf_meeting) tree;     /* nodes in the graph's order; folded ones are left out */
    OPF_VEC(opf_event) events;     /* in the order in which they happened */
} opf_trace;

void opf_trace_text(const opf_parts *parts, opf_text *out);
/* {"schema", "model", "policy", "tree": [{"node", "parent", "depth", "worst", "graph"}], "events": [{"phase", "rule", "joined",
 * "source", "sink", "blocker", "nodes", "graph"}]}. The caller owns the reference. */
json_t *opf_trace_object(const opf_parts *parts);

#endif
