/* May work in front of a contraction or a window be done while its operand is read? */
#ifndef OPF_FUSE_PROLOGUE_H
#define OPF_FUSE_PROLOGUE_H

#include "fuse/fuser.h"

/* `producer` and `user` are composed alone; every result of the producer is read by the user only. OPF_RULE_PROLOGUE, or
 * the rule that forbids it. */
opf_rule_number opf_prologue_fits(const opf_group *producer, const opf_group *user, const opf_rule_settings *settings, opf_pool *pool, opf_arena *scratch);

#endif
