/* Two nodes, and why they are or are not in one kernel: `explain --why A B`. */
#ifndef OPF_FUSE_PAIR_H
#define OPF_FUSE_PAIR_H

#include <jansson.h>

#include "fuse/explain.h"

typedef enum opf_relation {
    OPF_RELATION_SAME,       /* one node of the fused graph stands for both */
    OPF_RELATION_WAY,        /* uses of values lead from one to the other */
    OPF_RELATION_SIBLINGS,   /* they read the same value */
    OPF_RELATION_NONE
} opf_relation;

typedef struct opf_pair {
    const opf_fusion *fusion;       /* of the graph that holds both */
    const opf_node *a, *b;          /* a in front of b where there is a way */
    const opf_removed *removed_a, *removed_b; /* the asked-for node is gone: a or b is what it went into */
    const opf_group *group_a, *group_b;
    int id_a, id_b;                 /* of the groups, in reports */
    opf_relation relation;
    OPF_VEC(const opf_edge *) way;  /* the shortest one; inside the group where they are together */
    const opf_edge *cut;            /* the first refused use on it; NULL */
    const opf_value *shared;        /* siblings: the largest value that both read */
    const opf_sibling *siblings;    /* the log's word on them; NULL where it has none */
    const char *reason;             /* siblings, or no relation */
} opf_pair;

/* What the log says about nodes of these names (of the model or of what is left of it). OPF_ERROR_INPUT, reported, where one is
 * not there or they are in different graphs. */
opf_status opf_pair_find(opf_pair *pair, const opf_parts *parts, const char *a, const char *b, opf_arena *arena);
static inline bool opf_pair_together(const opf_pair *pair) { return pair->group_a == pair->group_b; }

void opf_pair_text(const opf_pair *pair, opf_text *out);
/* {"a", "b", "graph", "together", "group_a", "group_b", "relation", "way": [edges], "cut": edge or null, "shared", "rule", "reason",
 * "remedy", "bytes_lost"}; the last four of siblings */
json_t *opf_pair_object(const opf_pair *pair);

#endif
