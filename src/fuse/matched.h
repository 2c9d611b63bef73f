/* A user's patterns among the groups: which matches become kernels, and which nodes are kept apart (docs/patterns.md).
 *
 * Whether the nodes of a match that is forced or preferred can be one kernel at all is found by a trial: the graph is fused by
 * the rules of policy best, with those that refuse for a price off, and nothing may join but the nodes of one match. What the
 * trial joins starts as one group; what it does not join is refused with the reason of the trial's log. */
#ifndef OPF_FUSE_MATCHED_H
#define OPF_FUSE_MATCHED_H

#include "fuse/fuser.h"

typedef struct opf_matched {
    const opf_match *match;
    size_t number_of_match;  /* in the options' list */
    int number;              /* among fuser->matched, from 1 on: its club */
    opf_node_list nodes;     /* that passes have left and that compute something, in graph order */
    const char *reason;      /* why it is no kernel; NULL: it is one, or it forbids */
    opf_rule_number formed;  /* force, prefer: by which rule the trial joined the nodes */
    opf_kind kind;
    bool planned;            /* force, bind: the kernel holds these nodes and no others */
    opf_node *caller;        /* bind */
} opf_matched;

/* Fills fuser->matched, joined and club. Stages and kinds of the nodes are there. */
opf_status opf_fusion_match(opf_fuser *fuser);

/* May these nodes not be one kernel? `by`: the pattern that forbids it, NULL where their clubs differ. */
bool opf_matched_apart(const opf_fuser *fuser, opf_node *const *nodes, size_t n, const opf_matched **by);

/* What a pattern has to say of a use; rule OPF_RULE_SINGLE: nothing. `together`: both are in one group. */
opf_outcome opf_matched_use(const opf_fuser *fuser, const opf_node *from, const opf_node *to, bool together);

/* "pattern:NAME" (arena) */
const char *opf_matched_rule(const opf_fuser *fuser, const opf_matched *matched);

#endif
