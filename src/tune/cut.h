/* Groups taken apart in two: what a schedule's choice `cut` means. */
#ifndef OPF_TUNE_CUT_H
#define OPF_TUNE_CUT_H

#include "fuse/fuse.h"

/* The graph fused once more, with those groups in two for which `cut_of` names a number of nodes: so many of the group's nodes, the
 * first ones, are a group of their own, the others another. `out` is `fusion` where none is. */
opf_status opf_fuse_cut(opf_fusion **out, opf_fusion *fusion, const opf_fuse_options *options, int64_t (*cut_of)(void *data, const opf_group *group), void *data);

/* Numbers of nodes at which the group may be cut and where that may pay: in front of sums. Ascending; how many. */
int opf_cut_places(const opf_group *group, int64_t *out, int most);

/* The kernel groups of the two halves; false where one is none, or something else has become of the group. */
bool opf_cut_halves(const opf_fusion *cut, const opf_group *group, int64_t at, const opf_group *out[2]);

#endif
