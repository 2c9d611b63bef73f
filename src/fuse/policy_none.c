/* Policy none: each node is a group of its own. */
#include "fuse/fuser.h"

void opf_policy_none(opf_fuser *fuser) {
    fuser->n_groups = fuser->n_nodes;
    for (int i = 0; i < fuser->n_nodes; i++) {
        fuser->group_of[i] = i;
        fuser->group_kinds[i] = fuser->kinds[i];
        fuser->formed[i] = OPF_RULE_SINGLE;
        fuser->outcomes[i] = (opf_outcome){.rule = OPF_RULE_POLICY_NONE, .source = fuser->graph->nodes.data[i]};
    }
}
