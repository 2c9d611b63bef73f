/* The dynamic programme beside the greedy plan of policy best (docs/fusion.md, section 12). Private to src/fuse.
 *
 * An *atom* is a group as it is before anything grows: one of TVM's, or a concatenation in place. Atoms are numbered in a
 * topological order, so a set of them is a row of bits. A *plan* puts each atom into one possible group. */
#ifndef OPF_FUSE_PROGRAMME_H
#define OPF_FUSE_PROGRAMME_H

#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"
#include "fuse/growth.h"

/* What the steps of growth change: OF(owner, type of an element, array, number of elements). */
#define OPF_GROWTH_KEPT(OF)                     \
    OF(growth, opf_node_list, members, groups)  \
    OF(growth, bool, light, groups)             \
    OF(growth, bool, view, groups)              \
    OF(growth, bool, closed, groups)            \
    OF(growth, bool, prologue, nodes)           \
    OF(growth, bool, band, nodes)               \
    OF(growth, int64_t, band_bytes, nodes)      \
    OF(growth, int, order, groups)              \
    OF(growth, int, place, groups)              \
    OF(fuser, int, group_of, nodes)             \
    OF(fuser, opf_kind, group_kinds, groups)    \
    OF(fuser, opf_rule_number, formed, groups)

/* All of it, so that the groups can be as they were. */
typedef struct opf_growth_state {
#define OPF_KEPT_ARRAY(owner, type, array, count) type *array;
    OPF_GROWTH_KEPT(OPF_KEPT_ARRAY)
#undef OPF_KEPT_ARRAY
    size_t n_events;
} opf_growth_state;

opf_growth_state *opf_growth_save(const opf_growth *growth);
void opf_growth_load(opf_growth *growth, const opf_growth_state *state);

/* A set of atoms that may be one kernel by the rules of growth, or may not. */
typedef struct opf_plan_group {
    const uint64_t *atoms, *needs;  /* needs: atoms outside of it that it reads */
    int count, first;               /* atoms; the lowest */
    bool possible, judged;          /* judged: rows and blocks of rows have been tried */
    int head;                       /* atom whose group takes in the others */
    opf_rule_number rule;
    opf_kind kind;
    bool light;                     /* growth->light of the whole */
    const uint64_t *front, *band;   /* atoms done while an operand is read, and in bands; NULL: none */
    double seconds;                 /* what it costs (opf_plan_price) */
} opf_plan_group;

typedef struct opf_plan_search {
    opf_growth *growth;             /* each atom a group of its own */
    opf_arena *arena;
    opf_interner *interner;         /* of sets, as bytes */
    opf_map known;                  /* set → opf_plan_group */
    int n_atoms, n_words;
    int *groups;                    /* per atom: its group's number */
    int *atoms;                     /* per group number: its atom; -1: folded, or none */
    uint64_t **reads, **readers, **before, **behind; /* per atom: direct, and by any way */
    bool *blocks;                   /* per atom: may be in a nest in blocks of rows */
    OPF_VEC(opf_plan_group *) possible; /* in the order in which they were found; single atoms first */
    int n_judged;
} opf_plan_search;

static inline bool opf_bits_has(const uint64_t *bits, int i) { return bits[i / 64] >> (i % 64) & 1; }
static inline void opf_bits_set(uint64_t *bits, int i) { bits[i / 64] |= UINT64_C(1) << (i % 64); }
/* Is a within b? */
static inline bool opf_bits_within(const uint64_t *a, const uint64_t *b, int n_words) {
    for (int w = 0; w < n_words; w++)
        if (a[w] & ~b[w])
            return false;
    return true;
}
static inline bool opf_bits_meet(const uint64_t *a, const uint64_t *b, int n_words) {
    for (int w = 0; w < n_words; w++)
        if (a[w] & b[w])
            return true;
    return false;
}

static inline void opf_bits_add(uint64_t *to, const uint64_t *from, int n_words) {
    for (int w = 0; w < n_words; w++)
        to[w] |= from[w];
}

/* The set as one pointer, equal for equal sets; it lives as long as the planner. */
const uint64_t *opf_plan_set(opf_plan_search *planner, const uint64_t *bits);

/* Fills `possible`: single atoms, the groups of the greedy plan (`greedy`, which grew from `base`), and what grows out of these by
 * one atom at a time. False where more than OPF_PLAN_MOST_JUDGED sets would have to be judged. */
enum { OPF_PLAN_MOST_JUDGED = 2048 };
bool opf_plan_find_groups(opf_plan_search *planner, const opf_growth_state *base, const opf_growth_state *greedy);

/* Seconds that a group costs beyond the operations that every plan needs once: its bytes, what it reads again, a kernel's start. */
double opf_plan_price(const opf_group *group, double again_bytes, opf_pool *pool);

/* The growth as the greedy steps have left it, `base` what it was before these: takes the better of both plans and fills
 * fusion->plans. True where the groups are now those of the programme. */
bool opf_growth_plan(opf_growth *growth, const opf_growth_state *base);

#endif
