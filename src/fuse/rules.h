/* The rules that decide about a use of a value, each with the sentence that `explain` prints. */
#ifndef OPF_FUSE_RULES_H
#define OPF_FUSE_RULES_H

#include "fuse/fuse.h"

typedef enum opf_rule_number {
    OPF_RULE_SINGLE, /* of groups: one node */
    /* fused */
    OPF_RULE_ANCHOR_EPILOGUE, OPF_RULE_ELEMWISE, OPF_RULE_INJECTIVE, OPF_RULE_ROWS, OPF_RULE_IN_PASSING, OPF_RULE_PROLOGUE,
    OPF_RULE_SIBLINGS, OPF_RULE_COPIED, OPF_RULE_GATE, OPF_RULE_BAND, OPF_RULE_POOL, OPF_RULE_BLOCKS, OPF_RULE_SHARED_OPERAND, OPF_RULE_PINNED, OPF_RULE_PATTERN, OPF_RULE_OWN_KERNEL,
    /* refused: what the producer is, or where its result goes */
    OPF_RULE_POLICY_NONE, OPF_RULE_PINNED_APART, OPF_RULE_SWITCHED_OFF,
    OPF_RULE_PATTERN_APART, OPF_RULE_PATTERN_BORDER, OPF_RULE_PATTERN_REFUSED, OPF_RULE_MODEL_OUTPUT, OPF_RULE_NO_MEETING, OPF_RULE_OPAQUE_PRODUCER, OPF_RULE_OPAQUE_CONSUMER,
    OPF_RULE_REDUCTION_ENDS, OPF_RULE_DEPTH,
    /* refused: an anchor and what follows it */
    OPF_RULE_ANCHOR_EDGE, OPF_RULE_ANCHOR_PATH, OPF_RULE_ANCHOR_SINK,
    /* refused: element-wise work and what follows it */
    OPF_RULE_BEFORE_ANCHOR, OPF_RULE_ANCHOR_BETWEEN, OPF_RULE_ELEMWISE_PATH,
    /* refused: index maps and what follows them */
    OPF_RULE_INJECTIVE_PATH, OPF_RULE_INJECTIVE_SINK,
    /* refused: row by row (policy best) */
    OPF_RULE_DOMAINS, OPF_RULE_NOT_ROWS, OPF_RULE_LONG_ROW, OPF_RULE_FEW_ROWS, OPF_RULE_AGAINST_GRAIN, OPF_RULE_VIEW_STAYS, OPF_RULE_TOO_LARGE,
    OPF_RULE_HEAVY_BETWEEN,
    /* refused: in blocks of rows (policy best) */
    OPF_RULE_NOT_BLOCKS, OPF_RULE_BLOCKS_AGAIN,
    /* refused: in front of a contraction or a window (policy best) */
    OPF_RULE_PROLOGUE_SHARED, OPF_RULE_PROLOGUE_DEAR, OPF_RULE_PROLOGUE_REPEATED, OPF_RULE_PROLOGUE_JOINS, OPF_RULE_PROLOGUE_IN_PLACE, OPF_RULE_SCALE_AHEAD,
    OPF_RULE_COPY_DEAR, OPF_RULE_PASSING_APART, OPF_RULE_BAND_CACHED, OPF_RULE_BAND_EXPANDED,
    /* refused: parts of a concatenation (policy best) */
    OPF_RULE_JOIN_APART, OPF_RULE_JOIN_UNKNOWN, OPF_RULE_JOIN_COPIES, OPF_RULE_JOIN_STAYS,
    /* nothing is computed */
    OPF_RULE_VIEW, OPF_RULE_JOIN, OPF_RULE_JOIN_AT_ONE, OPF_RULE_FOLDED_USE, OPF_RULE_FOLDED_VALUE, OPF_RULE_SHAPE_ONLY,
    OPF_RULE_COUNT
} opf_rule_number;

typedef struct opf_rule {
    const char *id;
    int phase;            /* TVM's phase in which it is met first, -1 where it belongs to none */
    opf_verdict verdict;
    const char *sentence; /* with fields in braces: "'{to}' ({to_kind}) …" */
} opf_rule;

extern const opf_rule opf_rules[OPF_RULE_COUNT];

/* What would have to change for a refused use to be fused (remedies.c); NULL for rules that refuse nothing. */
typedef struct opf_remedy {
    const char *sentence; /* with the same fields */
    bool only_tvm;        /* a rule that policy best is not bound by */
} opf_remedy;
extern const opf_remedy opf_remedies[OPF_RULE_COUNT];

/* Words for a sentence; NULL ones print as "?". */
typedef struct opf_rule_words {
    const char *from, *from_kind, *from_op; /* producer of the value */
    const char *to, *to_kind;     /* its user */
    const char *value;
    const char *source, *sink;    /* the fusion that was made or tried: source into its post-dominator */
    const char *blocker, *met;    /* the node that made the rule fail, and the kind met there */
    const char *blocker_op;
    const char *users;            /* all users of the value */
    const char *pattern, *why;    /* a user's pattern, and why it is refused */
    const char *off, *place;      /* the rule that would join them, or has; where a file speaks of it */
    int limit;                    /* on the nodes of a group */
    int64_t bytes;                /* of the row that is too long */
} opf_rule_words;

void opf_words_print(const char *sentence, const opf_rule_words *words, opf_text *out);

#endif
