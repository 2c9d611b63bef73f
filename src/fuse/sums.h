/* Sums of products that share an operand: may one kernel compute them side by side? */
#ifndef OPF_FUSE_SUMS_H
#define OPF_FUSE_SUMS_H

#include "fuse/fuser.h"

/* The group, composed: OPF_RULE_SHARED_OPERAND, or the rule that forbids it. */
opf_rule_number opf_sums_fit(const opf_group *group, opf_pool *pool, opf_arena *scratch);

#endif
