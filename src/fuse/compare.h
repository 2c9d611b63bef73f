/* Two explanations of fusions: what was lost and what was won between them. */
#ifndef OPF_FUSE_COMPARE_H
#define OPF_FUSE_COMPARE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/text.h"

typedef struct opf_comparison {
    const json_t *old, *now;       /* as of explain --json */
    json_t *lost, *won;            /* [{"old", "now": [groups], "nodes": [names], "edges": [refused edges]}]; won without edges */
    int only_old, only_now;        /* nodes of kernels that only one of them has */
    bool by_operators;             /* most names are new: kernels were counted by their operators instead */
} opf_comparison;

/* Both must be explanations (opf_explanation_wrong gives NULL). A fusion is lost where nodes that were one kernel are in
 * several now; nodes that are gone, folded or views do not count. Where less than half of the old names are left (another
 * exporter), kernels of equal operators are matched, and what is lost are those that have become fewer, provided that there are
 * more kernels than before. The caller frees with opf_comparison_free. */
opf_comparison opf_compare_explanations(const json_t *old, const json_t *now, opf_arena *arena);
void opf_comparison_free(opf_comparison *comparison);

/* What keeps this from being what `explain --json` writes; NULL: nothing. */
const char *opf_explanation_wrong(const json_t *explanation);

void opf_comparison_text(const opf_comparison *comparison, const char *old_name, opf_text *out);
/* {"schema", "old": {"model", "policy", "kernels", "bytes_after"}, "now": {…}, "by", "lost", "won", "only_old", "only_now"} */
json_t *opf_comparison_object(const opf_comparison *comparison);

#endif
