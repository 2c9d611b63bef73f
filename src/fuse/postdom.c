/* The indexed forward graph and its post-dominator tree. */
#include "fuse/partition.h"

#include "base/vec.h"

static opf_kind worse(opf_kind a, opf_kind b) { return a > b ? a : b; }

opf_forward opf_forward_make(int count, const opf_kind *kinds, const bool *leaves, int n_edges,
                             const opf_forward_edge *edges, opf_arena *arena) {
    int *first = OPF_ARRAY(arena, int, count + 1);
    for (int e = 0; e < n_edges; e++)
        first[edges[e].from + 1]++;
    for (int i = 0; i < count; i++)
        first[i + 1] += first[i];

    int *next = opf_arena_copy(arena, first, (size_t)(count + 1) * sizeof *first);
    int *targets = OPF_ARRAY(arena, int, n_edges);
    opf_kind *edge_kinds = OPF_ARRAY(arena, opf_kind, n_edges);
    for (int e = 0; e < n_edges; e++) {
        int at = next[edges[e].from]++;
        targets[at] = edges[e].to;
        edge_kinds[at] = edges[e].kind;
    }
    return (opf_forward){count, kinds, leaves, first, targets, edge_kinds};
}

/* The lowest common ancestor in the tree built so far, -1 for none; `worst` takes in the edges passed. */
static int common_ancestor(const opf_postdom *tree, int a, int b, opf_kind *worst) {
    while (a != b) {
        if (a < 0 || b < 0)
            return -1;
        int depth_a = tree[a].depth, depth_b = tree[b].depth;
        if (depth_a >= depth_b) {
            *worst = worse(*worst, tree[a].worst);
            a = tree[a].parent;
        }
        if (depth_b >= depth_a) {
            *worst = worse(*worst, tree[b].worst);
            b = tree[b].parent;
        }
    }
    return a;
}

/* One sweep from the last element to the first is enough: the graph has no cycles. */
opf_postdom *opf_postdom_tree(const opf_forward *graph, opf_arena *arena) {
    opf_postdom *tree = OPF_ARRAY(arena, opf_postdom, graph->count);
    for (int i = graph->count - 1; i >= 0; i--) {
        int first = graph->first[i], end = graph->first[i + 1];
        if (graph->leaves[i] || first == end) {
            tree[i] = (opf_postdom){-1, 1, graph->leaves[i] ? OPF_KIND_OPAQUE : OPF_KIND_ELEMWISE};
            continue;
        }
        opf_kind worst = graph->edge_kinds[first];
        int parent = graph->targets[first];
        for (int e = first + 1; e < end; e++) {
            worst = worse(worst, graph->edge_kinds[e]);
            parent = common_ancestor(tree, parent, graph->targets[e], &worst);
        }
        tree[i] = (opf_postdom){parent, parent < 0 ? 1 : tree[parent].depth + 1, worst};
    }
    return tree;
}
