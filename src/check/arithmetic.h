/* Which arithmetic is behind numbers that are beyond their bound: an operator's stages are evaluated once more by each way of
 * computing that is known to go wrong, and the one whose numbers the program has is named (docs/numerics.md, "Properties"). */
#ifndef OPF_CHECK_ARITHMETIC_H
#define OPF_CHECK_ARITHMETIC_H

#include "fuse/fuse.h"

/* What stages do that rounding, or an infinity, may show in. */
typedef struct opf_traits {
    bool sums;          /* a reduction by sums */
    bool approximates;  /* a transcendental function */
    bool rounds;        /* to integers, a sign */
} opf_traits;

/* Of the stages that come from the operator `node` (a name); NULL: of all. */
opf_traits opf_traits_of(const opf_group *group, const char *node);
/* Does this node of a compiled graph stand for the operator of that name in the model as read? */
bool opf_node_stands_for(const opf_node *node, const char *name);

/* One result of a group that is beyond its bound. */
typedef struct opf_suspect {
    const opf_group *group;
    const char *node;                 /* the operator that is at fault */
    int result;                       /* in group->results */
    const opf_tensor *const *inputs;  /* of group->stages.inputs */
    const opf_tensor *got, *expected;
    const opf_tensor *bounds;         /* float32, of each element */
    opf_pool *pool;
    const int64_t *symbols;
} opf_suspect;

/* The property that gives the program's numbers, as a sentence; NULL where none that is known does. */
opf_status opf_suspect_arithmetic(const char **out, const opf_suspect *suspect, opf_arena *arena);

#endif
