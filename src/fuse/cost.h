/* What work and bytes cost, for decisions about groups (docs/cost-model.md). Seconds of one core, at nominal sizes. */
#ifndef OPF_FUSE_COST_H
#define OPF_FUSE_COST_H

#include "fuse/fuser.h"

enum { OPF_OWN_CACHE_BYTES = 1 << 20 }; /* of a core */

/* Operations on floats; transcendental functions count as they are priced in the scalar table. */
double opf_seconds_of_work(double operations);
/* Moving `bytes` where altogether `footprint` bytes are in play, which tells the level of memory that holds them. */
double opf_seconds_of_bytes(double bytes, double footprint);

/* What the group's results cost where each element is computed once, with all that is computed inside. */
typedef struct opf_work_price {
    double operations; /* of all elements of all results */
    bool reduces;      /* a reduction is among its stages: nothing is said of the price then */
} opf_work_price;
opf_work_price opf_price_of(const opf_group *group, opf_pool *pool, opf_arena *scratch);

#endif
