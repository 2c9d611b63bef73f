/* Fusion: graph → groups of stages, and the log that says why. Knows no schedule.
 *
 * kind.c     pattern kind of each node (table under tvm, derived from stages under best)
 * postdom.c  post-dominator tree over the indexed forward graph
 * partition.c union-find groups, three phases, path check (policy tvm)
 * rules.c    the table of rules, each with an id and the sentence that `explain` prints; settings.c: what a user changes about them
 * matched.c  a user's patterns: which nodes are one kernel, which are kept apart
 * programme.c the dynamic programme beside policy best's greedy plan (programme_groups.c: the groups it may choose from)
 * cost.c     bytes and FLOPs of a group at nominal sizes
 * compose.c  a set of nodes → one list of stages
 * why.c      the log (why_siblings.c: pairs that read one value; quantised.c: operators between dequantised and quantised numbers); remedies.c: what would allow a refused use; explain*.c: the log as text and JSON */
#ifndef OPF_FUSE_FUSE_H
#define OPF_FUSE_FUSE_H

#include "pattern/pattern.h"

typedef enum opf_policy { OPF_POLICY_NONE, OPF_POLICY_TVM, OPF_POLICY_BEST, OPF_POLICY_FILE } opf_policy;
const char *opf_policy_name(opf_policy policy); /* "none", "tvm", "best", "file" */

typedef enum opf_step_kind {
    OPF_STEP_KERNEL,  /* generated code */
    OPF_STEP_LIBRARY, /* a C kernel of the prelude */
    OPF_STEP_CONTROL, /* If, Loop, Scan: sub-graphs with groups of their own */
    OPF_STEP_VIEW,    /* other extents over the same bytes; several parts that lie one behind the other */
    OPF_STEP_FOLDED   /* known before the program runs (shape arithmetic), or a constant */
} opf_step_kind;
const char *opf_step_kind_name(opf_step_kind kind); /* "kernel", "library", "control", "view", "folded" */

/* A value that a group stores: stage `stage` (index into stages.list) is `value`. */
typedef struct opf_result { opf_value *value; int stage; /* -1 in library and control steps */ } opf_result;

typedef struct opf_group {
    int id;                         /* position in fusion->groups, which is execution order */
    opf_kind kind;
    opf_step_kind step;
    OPF_VEC(opf_node *) nodes;      /* in graph order */
    OPF_VEC(opf_node *) copied;     /* those of them that it computes again: at home in another group, never stored */
    opf_stages stages;              /* inputs: distinct values from outside; empty for folded groups */
    const struct opf_library_call *library; /* library steps: what is called, no stages; NULL for all others */
    opf_node *caller;               /* a user's kernel: its operands and results (opf_match_caller); NULL for all others */
    const struct opf_control *control;      /* control steps; NULL for all others */
    struct opf_fusion *bodies[2];           /* of control steps: the groups of each sub-graph that may run */
    OPF_VEC(opf_result) results;
    opf_dim in_front;               /* of views: where this is not 1, the parts are computed elsewhere, and a kernel joins them; NULL: never */
    const char *rule;               /* id of the rule that made the group what it is; "single" for one node */
    double flops;                   /* at nominal sizes */
    int64_t bytes_before;           /* read + written when each node is a kernel of its own */
    int64_t bytes_after;            /* each outside value read once, each result written once */
} opf_group;

/* May no bit differ from what its operators compute one by one (--accuracy=exact)? The group has results. */
static inline bool opf_group_is_exact(const opf_group *group) { return opf_module_is_exact(group->results.data[0].value->graph->module); }

typedef enum opf_verdict { OPF_FUSED, OPF_VIEWED, OPF_FOLDED, OPF_COPIED, OPF_REFUSED } opf_verdict;
const char *opf_verdict_name(opf_verdict verdict);

/* One use of a value by a node: exactly one verdict. */
typedef struct opf_edge {
    const opf_node *from, *to;
    const opf_value *value;
    opf_verdict verdict;
    const char *rule;               /* id in the rule table */
    const char *reason;             /* the sentence, with the values behind it */
    const char *remedy;             /* of refused uses: the smallest change that would allow it */
    const opf_node *blocker;        /* node on the path that forbids it, or NULL */
    const opf_node *source, *sink;  /* the fusion made or tried: this node into that one, with all between; NULL: none */
    int64_t buffer_bytes;           /* of the value at nominal sizes */
} opf_edge;

/* Two nodes that read the same value and could share one pass over it. */
typedef struct opf_sibling {
    const opf_node *a, *b;
    const opf_value *shared;
    opf_verdict verdict;
    const char *rule, *reason;      /* "siblings-…" */
    const char *remedy;             /* of refused pairs */
    int64_t bytes_lost;             /* a second reading of the value */
} opf_sibling;

/* A node that reads dequantised numbers and whose result is quantised again: why it computes with floating numbers and not with
 * integers (docs/numerics.md). */
typedef struct opf_quantised {
    const opf_node *node, *quantize; /* the first QuantizeLinear behind it */
    const char *rule, *reason;       /* the reason with its figures */
} opf_quantised;

/* The greedy plan and the dynamic programme beside it (docs/fusion.md, section 12), before values are computed again, in passing and
 * side by side. Seconds of one core at nominal sizes beyond the operations that every plan needs. */
typedef struct opf_plans {
    double greedy_seconds, seconds; /* of the greedy plan and of the programme's; seconds: 0 where it has not run */
    int down_sets, groups;          /* looked at; groups: possible ones */
    bool ran, taken;                /* taken: the programme's plan is the better, else the greedy one stays */
    const char *why;                /* why it has not run; NULL: it has, or the policy has no plan */
} opf_plans;

typedef struct opf_fusion {
    opf_module *module;
    opf_graph *graph;
    opf_policy policy, passes;      /* passes: the policy whose passes the graph has gone through */
    OPF_VEC(opf_group *) groups;
    OPF_VEC(opf_edge) edges;
    OPF_VEC(opf_sibling) siblings;
    OPF_VEC(opf_quantised) quantised; /* in graph order */
    opf_plans plans;                 /* of policy best */
    struct opf_trace *trace;        /* how the groups came to be (trace.h) */
} opf_fusion;

/* Rules that are off, and thresholds (settings.h). */
typedef struct opf_rule_settings opf_rule_settings;

typedef struct opf_fuse_options {
    opf_policy policy;
    const opf_rule_settings *settings; /* NULL: every rule is on, thresholds are those of the table */
    const char *groups_file;        /* groups given by a file (JSON as of explain), whatever the policy; NULL: none */
    const opf_matches *matches;     /* of a user's patterns; NULL: none. Policy none knows no patterns, a groups file bound ones only */
    bool aside;                     /* what is found is told elsewhere: no warnings */
    bool only_matches;              /* a trial: each match, and nothing else, may become a group, whatever it costs */
    int max_depth;                  /* TVM's limit on nodes of a group; 0: 256 */
    /* Kinds given from outside, by node name, for tests of the algorithm alone; NULL: none. Returns -1 for "no word". */
    int (*kind_override)(void *data, const char *node);
    void *kind_data;
} opf_fuse_options;

/* Under which policy's passes the groups of a file were made (explain's JSON says so); `otherwise` where it does not say. */
opf_policy opf_groups_file_passes(const char *path, opf_policy otherwise);

/* TVM's kind of a typed node: that of its operator's entry, refined by shapes. */
opf_kind opf_node_kind(const opf_node *node);

/* The graph must be typed. */
opf_status opf_fuse(opf_fusion **out, opf_graph *graph, const opf_fuse_options *options);

/* The log as text for people and as JSON (docs/cli.md): groups, uses, removed nodes; sub-graphs too. */
void opf_explain_text(const opf_fusion *fusion, opf_text *out);
opf_status opf_explain_json(const opf_fusion *fusion, opf_text *out);
void opf_fusion_print(const opf_fusion *fusion, opf_text *out); /* groups with their stages: --dump-after=fuse */

#endif
