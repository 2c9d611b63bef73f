/* May a list of stages be one loop nest over its results' domain, row by row? */
#ifndef OPF_FUSE_ROWS_H
#define OPF_FUSE_ROWS_H

#include "fuse/fuser.h"

typedef struct opf_row_verdict {
    bool fits;
    opf_rule_number rule;     /* why not */
    const opf_node *blocker;  /* the node whose stage stands in the way */
    int64_t bytes;            /* of the row that was found too long */
} opf_row_verdict;

/* Is a node's own list of stages free of contractions and windows, whose schedules are of another kind? */
bool opf_stages_are_light(const opf_stages *stages);

/* The group's stages and results must be set; no stage is a contraction or a window. */
opf_row_verdict opf_rows_fit(const opf_group *group, const opf_rule_settings *settings, opf_pool *pool, opf_arena *scratch);

#endif
