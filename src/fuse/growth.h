/* The groups of policy best while they grow: shared by the files that join them. Private to src/fuse. */
#ifndef OPF_FUSE_GROWTH_H
#define OPF_FUSE_GROWTH_H

#include "fuse/matched.h"

/* What came of the attempt to join a node with one that uses its result. */
typedef struct opf_attempt {
    const opf_node *to;
    opf_outcome outcome;
} opf_attempt;
typedef OPF_VEC(opf_attempt) opf_attempts;

/* The latest attempt to join a group with one in front of it. */
typedef struct opf_latest {
    int source;             /* -1: none yet */
    int join_count;         /* growth->join_count at that time */
    opf_outcome outcome;
} opf_latest;

/* A group that could be joined with none of so many others is given up: values with thousands of readers would take a time that
 * grows with the square of these. */
enum { OPF_MOST_FAILED_PAIRS = 16 };

typedef struct opf_growth {
    opf_fuser *fuser;
    opf_node_list *members; /* per group number, in graph order; empty for groups that were joined to others */
    bool *light;            /* per group: may grow by rows */
    bool *closed;           /* per group: folded or opaque */
    bool *view;             /* per group: only views */
    bool *prologue;         /* per node: joined as work in front of another group */
    bool *copy_dear;        /* per node: its readers could compute it again, which would take longer */
    opf_outcome *joins;     /* per node: of opf_best_joins */
    int64_t *band_bytes;    /* per node: of its group's result, which bands would keep too small a thing from being stored; 0 */
    bool *band;             /* per node: computed in bands in front of a product */
    bool *gate;             /* per node: joined as a small value of another group */
    opf_node_list *users, *producers; /* per node, those that run, each once */
    int *order, *place;     /* groups in topological order; where each stands in it (reach.c) */
    /* The set of groups that is being looked at. */
    int *ahead, *behind;    /* stamp per group: can be reached from the source, reaches the sink */
    int stamp;
    int *queue;
    OPF_VEC(int) set;
    opf_latest *latest;     /* per group */
    int join_count;         /* groups joined so far */
    opf_attempts *attempts; /* per node; of uses that lead out of its group */
    struct opf_sibling_facts *sibling_facts; /* per group (siblings.c) */
} opf_growth;

/* Puts the groups in order; once, when members and links are there. */
void opf_growth_order(opf_growth *growth);
/* To be called before the set's groups become one: puts them side by side in the order. */
void opf_growth_reorder(opf_growth *growth);
/* growth->set becomes source, sink and every group on a way from one to the other. */
void opf_growth_between(opf_growth *growth, int source, int sink);
/* Is there a way from one group to another? */
bool opf_growth_leads(opf_growth *growth, int from, int to);
/* Does a user's pattern keep two of the set's groups apart? `outcome`: the refusal; NULL: nobody asks. */
bool opf_growth_apart(const opf_growth *growth, opf_outcome *outcome);
/* The same of two groups. */
bool opf_growth_pair_apart(const opf_growth *growth, int a, int b);
/* The nodes of the set's groups, in graph order. */
opf_node_list opf_growth_united(opf_growth *growth);
/* Composes the set's groups as one and asks `judge`; `kind` becomes that of the whole. */
typedef opf_outcome (*opf_growth_judge)(opf_growth *growth, const opf_group *group, opf_arena *scratch);
opf_outcome opf_growth_judge_set(opf_growth *growth, opf_node_list nodes, opf_kind *kind, opf_growth_judge judge);
/* What growth asks of a set that is to work row by row, in blocks of rows (all of whose groups may join such), in bands. */
opf_outcome opf_growth_judge_rows(opf_growth *growth, const opf_group *group, opf_arena *scratch);
opf_outcome opf_growth_judge_blocks(opf_growth *growth, const opf_group *group, opf_arena *scratch);
bool opf_growth_may_join_blocks(const opf_growth *growth, int group);
opf_outcome opf_growth_judge_band(opf_growth *growth, const opf_group *group, opf_arena *scratch);
/* Calls `join` on every value that nodes may share: the graph's inputs, then the nodes' results, in order. */
void opf_growth_each_value(opf_growth *growth, void (*join)(opf_growth *growth, const opf_value *value));
/* The group that reads a value at its use number `use`, in its own graph or in a sub-graph of it. */
int opf_growth_reader(const opf_growth *growth, const opf_value *value, size_t use);
/* Makes the set's groups one, with these nodes, under the number of the set's first. */
void opf_growth_join(opf_growth *growth, opf_node_list nodes, opf_kind kind, opf_rule_number rule);
/* The one group that reads the results of `group`; -1 where there are none or several, or a result is a model output. */
int opf_growth_only_user(const opf_growth *growth, int group);
/* Has the group a form that is planned as it is, and would be lost with anything more in it? */
static inline bool opf_growth_is_planned(const opf_growth *growth, int group) {
    opf_rule_number formed = growth->fuser->formed[group];
    return formed == OPF_RULE_BLOCKS || formed == OPF_RULE_BAND || formed == OPF_RULE_POOL || formed == OPF_RULE_SHARED_OPERAND;
}
/* Stages and results of a group as it is now (in the fuser's arena). */
bool opf_growth_compose(opf_growth *growth, int number, opf_group *group);

/* Scales of large tensors move from behind the contraction that finds their factor to in front of the one that reads them (grow_scales.c). */
void opf_grow_scales(opf_growth *growth);

/* Groups with contractions become nests in blocks of rows (grow_blocks.c). */
void opf_grow_blocks(opf_growth *growth);
/* What comes of joining two groups, with all between, into one; `do_join` false: they stay as they are. */
opf_outcome opf_growth_try_blocks(opf_growth *growth, int source, int sink, bool do_join);

/* Cheap groups with several readers are computed by each of them (copies.c). */
void opf_grow_copies(opf_growth *growth);
/* Element-wise work behind what is stored anyway becomes one more result of its kernel (passing.c). */
void opf_grow_passing(opf_growth *growth);
/* Would the reader be one more result of the source's kernel, but that it does not take the value element for element? */
bool opf_growth_passes_apart(opf_growth *growth, int source, int reader, const opf_value *value);
/* Windows join the product at single points that reads them (grow_bands.c). */
void opf_grow_bands(opf_growth *growth);
/* Small values that only one group reads are computed whole by each part of it (gates.c). */
void opf_grow_gates(opf_growth *growth);
/* Would two groups together still be contractions that share an operand (grow_sums.c)? */
bool opf_growth_stay_sums(opf_growth *growth, int source, int sink);
/* Groups whose contractions share an operand become one kernel (grow_sums.c). */
void opf_grow_sums(opf_growth *growth);

/* Groups that read the same and nothing else become one kernel (siblings.c). */
void opf_grow_siblings(opf_growth *growth);

#endif
