/* Grouping on plain arrays: TVM's operator fusion (apache/tvm, src/relax/analysis/graph_partitioner.cc, version 0.27),
 * described in docs/fusion.md. Knows kinds, edges and which results leave the graph; no node, shape or size.
 *
 * Elements are the nodes of the indexed forward graph in topological order. A node with several results is one element
 * plus a selector element (kind injective) for each used result. */
#ifndef OPF_FUSE_PARTITION_H
#define OPF_FUSE_PARTITION_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"
#include "fuse/settings.h"
#include "ops/op.h"

typedef struct opf_forward_edge {
    int from, to;
    opf_kind kind; /* the consumer's kind */
} opf_forward_edge;

/* Out-edges of element i are first[i] … first[i+1]-1 of targets and edge_kinds. */
typedef struct opf_forward {
    int count;
    const opf_kind *kinds;
    const bool *leaves; /* the result is a model output (TVM: extern) */
    const int *first, *targets;
    const opf_kind *edge_kinds;
} opf_forward;

/* kinds and leaves are kept, edges are copied; edges[i].from < edges[i].to. */
opf_forward opf_forward_make(int count, const opf_kind *kinds, const bool *leaves, int n_edges,
                             const opf_forward_edge *edges, opf_arena *arena);

typedef struct opf_postdom {
    int parent;     /* immediate post-dominator, -1: none */
    int depth;      /* in the tree, roots 1 */
    opf_kind worst; /* largest kind of an edge on the ways to the parent */
} opf_postdom;

/* One entry an element. */
opf_postdom *opf_postdom_tree(const opf_forward *graph, opf_arena *arena);

/* What became of an element: it joined a group by `rule` with the fusion of `source` into `sink`, or the attempt to fuse
 * it into its post-dominator failed by `rule`. */
typedef struct opf_decision {
    opf_rule_number rule;
    int source, sink; /* sink: the post-dominator, -1 where there is none */
    int blocker;      /* element that made the rule fail, -1: none */
    opf_kind met;     /* kind found at the blocker */
    opf_rule_number off; /* of OPF_RULE_SWITCHED_OFF: the rule that is off */
} opf_decision;

/* An attempt to fuse an element into its post-dominator, in the order in which they were made. */
typedef struct opf_partition_trial {
    int phase;
    opf_decision decision;
    const int *elements; /* that were fused into the sink: the source and all between; none where it failed */
    int n_elements;
} opf_partition_trial;

typedef struct opf_partition {
    opf_postdom *tree;
    int *root;               /* per element: last element of its group */
    opf_kind *kind;          /* per element; of the group, at its root */
    opf_rule_number *formed; /* at roots: the rule that made the group, OPF_RULE_SINGLE for one element */
    opf_decision *decisions;
    OPF_VEC(opf_partition_trial) trials;
} opf_partition;

/* May these elements be one group? */
typedef struct opf_partition_filter {
    bool (*allows)(void *data, const int *elements, int n);
    void *data;
} opf_partition_filter;

/* max_depth: TVM's limit on the elements of a group. filter: NULL, or asked before each fusion; what it forbids is refused as
 * OPF_RULE_SINGLE. */
opf_partition opf_partition_make(const opf_forward *graph, int max_depth, const opf_rule_settings *settings, const opf_partition_filter *filter, opf_arena *arena);

#endif
