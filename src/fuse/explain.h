/* What the forms of `explain` share: a walk over the main graph and its sub-graphs, totals, lookup of nodes by name. */
#ifndef OPF_FUSE_EXPLAIN_H
#define OPF_FUSE_EXPLAIN_H

#include "fuse/fuse.h"

/* The fusion of the main graph and of all sub-graphs that may run, outer ones first. first_id: the number that group 0 of
 * this one has in reports, where every group has a number of its own (those of the main graph keep theirs). */
typedef struct opf_part { const opf_fusion *fusion; int first_id; } opf_part;
typedef struct opf_parts { OPF_VEC(opf_part) list; } opf_parts;
opf_parts opf_fusion_parts(const opf_fusion *fusion, opf_arena *arena);

/* Sums over all parts; a sub-graph counts once, however often it runs. Bytes at nominal sizes. */
typedef struct opf_totals {
    int nodes, groups, kernels;
    int64_t bytes_before, bytes_after;
    /* What no fusion can avoid: every input and constant of the main graph that is read is read once, as far as it is asked
     * for, and every output written once. */
    int64_t bytes_least;
} opf_totals;
opf_totals opf_fusion_totals(const opf_parts *parts);

/* Most bytes that fusing this use alone could save: the value is not read there, and not written where nobody else needs it. */
int64_t opf_edge_bytes_lost(const opf_fusion *fusion, const opf_edge *edge);

/* 1536 → "1.5 KiB" */
void opf_print_bytes(int64_t bytes, opf_text *out);

#endif
