/* The state of one opf_fuse call, shared by the files of this folder. Nodes are named by their position in the graph. */
#ifndef OPF_FUSE_FUSER_H
#define OPF_FUSE_FUSER_H

#include "fuse/settings.h"
#include "fuse/trace.h"

typedef OPF_VEC(opf_node *) opf_node_list;

/* What became of a node's results: the group that it joined by `rule`, or why it ends its group. */
typedef struct opf_outcome {
    opf_rule_number rule;
    const opf_node *source, *sink, *blocker; /* of the fusion made or tried (partition.h); NULL where there is none */
    opf_kind met;                            /* kind found at the blocker */
    int64_t bytes;                           /* of a row that is too long */
    const struct opf_matched *matched;       /* a user's pattern that decides (matched.h) */
    opf_rule_number off;                     /* the rule that would join them, and is off or hangs on one that is */
} opf_outcome;

/* Node `speaker`, or with -1 an output, has to do with a size that node `finder` finds. */
typedef struct opf_need { int finder, speaker; } opf_need;

typedef struct opf_fuser {
    opf_fusion *fusion;
    opf_graph *graph;
    opf_pool *pool;
    opf_arena *arena;
    const opf_fuse_options *options;
    const opf_rule_settings *settings;
    /* matched.c */
    OPF_VEC(struct opf_matched *) matched;
    struct opf_matched **joined; /* per node: the match whose kernel holds it, NULL: none */
    int *club;               /* per node: nodes of different clubs are never one kernel; NULL: there are none */
    const opf_fusion *unrestricted; /* what would come of it if no rule were off; NULL: none is */
    int max_depth;
    int n_nodes;
    opf_kind *kinds;         /* per node */
    bool *folded;            /* per node: computes nothing when the program runs (known before, or only its shape is used) */
    OPF_VEC(opf_need) needs; /* counted.c */
    opf_call **calls;        /* per node: its stages; NULL for folded nodes */
    /* The policy's decision. */
    int *group_of;           /* per node: number below n_groups */
    int n_groups;
    opf_node_list *copied;   /* per group number: nodes that it computes again; they are at home in other groups */
    bool *in_place;          /* per node: a concatenation whose parts are written where they belong */
    opf_dim *in_front;       /* per node: in place only where this is 1, the product of the sizes in front of its axis; NULL: always */
    bool *is_copied;         /* per node: some group computes it again */
    bool *is_stored;         /* per node: every group that computes it stores its results, though nobody else reads them (policy_file.c) */
    opf_kind *group_kinds;   /* per group number */
    opf_rule_number *formed; /* per group number */
    opf_outcome *outcomes;   /* per node */
    /* What a policy knows of single uses beyond the producer's outcome; NULL: nothing. */
    void *policy_data;
    opf_outcome (*outcome_of_use)(struct opf_fuser *fuser, const opf_node *from, const opf_node *to, const opf_value *value);
} opf_fuser;

/* Policies: fill group_of, n_groups, group_kinds, formed and outcomes. Folded nodes are groups of their own. */
void opf_policy_none(opf_fuser *fuser);
void opf_policy_tvm(opf_fuser *fuser);
void opf_policy_best(opf_fuser *fuser);
/* The groups that a file gives; problems of the file are reported. */
opf_status opf_policy_file(opf_fuser *fuser, const char *path);
/* joins.c: concatenations whose producers can write each part where it belongs come out of TVM's groups and are marked `in_place`;
 * `outcomes`, per node: what came of each that was tried, OPF_RULE_SINGLE of all other nodes. Before anything grows. */
void opf_best_joins(opf_fuser *fuser, opf_outcome *outcomes);
/* Of the nodes that are wanted (per node, each a group of its own) those that can be so are marked. */
void opf_pinned_joins(opf_fuser *fuser, const bool *wanted);

/* Does nothing join the node's group? Is the node only another shape of its first operand's bytes? */
bool opf_fusion_is_closed(const opf_fuser *fuser, int node);
bool opf_fusion_is_view(const opf_fuser *fuser, int node);

/* Fills `needs`. Does a node that runs, or an output, speak of a size that this node finds? */
void opf_fusion_find_needs(opf_fuser *fuser);
bool opf_fusion_is_needed(const opf_fuser *fuser, int node);

/* Orders fusion->groups so that each group comes behind those it reads from, else by last node; numbers them. A cycle is a
 * defect and reported as such. */
opf_status opf_fusion_order(opf_fuser *fuser);

/* Fills group->stages and group->results from group->nodes (compose.c). `group_of` as above tells which users are inside. */
opf_status opf_compose(opf_fuser *fuser, opf_group *group);

/* Does the group compute the node, at home or again? */
bool opf_fuser_holds(const opf_fuser *fuser, int group, const opf_node *node);
/* Is the value read by anything outside the group that does not compute it itself? Model outputs count. */
bool opf_fuser_leaves(const opf_fuser *fuser, int group, const opf_value *value);

/* Bytes that a kernel with these stages and results moves at nominal sizes, and what it computes (cost.c). */
int64_t opf_group_bytes(const opf_group *group, opf_pool *pool);
void opf_group_bytes_read(const opf_group *group, opf_pool *pool, double *bytes); /* of each of stages.inputs */
double opf_group_flops(const opf_group *group);

/* The log's word on a pair (why_siblings.c). */
opf_sibling opf_siblings_compare(const opf_fuser *fuser, const opf_node *a, const opf_node *b, const opf_value *shared);
/* Fills fusion->edges and fusion->siblings (why.c). */
void opf_fusion_explain(opf_fuser *fuser);
/* Fills fusion->quantised (quantised.c). */
void opf_fusion_find_quantised(opf_fuser *fuser);

#endif
