/* The log's word on two nodes that read the same value: do they share one pass over it, and if not, why not. */
#include <string.h>

#include "fuse/fuser.h"

typedef enum opf_sibling_rule {
    TOGETHER, ONE_VIEW, POLICY_NONE, POLICY_FILE, POLICY_TVM, STEP_OF_ITS_OWN, BEHIND, OTHER_OPERANDS, OTHER_WORK, SIBLING_RULES
} opf_sibling_rule;

/* %1$s: a, %2$s: b, %3$s: the value, %4$s: what stands in the way. */
static const struct {
    const char *id;
    opf_verdict verdict;
    const char *sentence, *remedy;
} rules[SIBLING_RULES] = {
    [TOGETHER] = {"siblings-together", OPF_FUSED, "both are in one group, which reads '%3$s' for both", NULL},
    [ONE_VIEW] = {"siblings-view", OPF_VIEWED, "'%4$s' only gives '%3$s' another shape and reads nothing", NULL},
    [POLICY_NONE] = {"policy-none", OPF_REFUSED, "policy none: each node is a kernel of its own", "choose another policy: --fuse=best"},
    [POLICY_FILE] = {"pinned-apart", OPF_REFUSED, "the groups file puts '%1$s' and '%2$s' in different groups", "name both in one group of the groups file"},
    [POLICY_TVM] = {"siblings-tvm", OPF_REFUSED, "TVM's rules join a node with those that use its result, never two that only share an operand: '%3$s' is read twice",
                    "--fuse=best, which joins groups that read the same values"},
    [STEP_OF_ITS_OWN] = {"siblings-opaque", OPF_REFUSED, "'%4$s' is a step of its own: nothing joins it", "write '%4$s' out in smaller operators"},
    [BEHIND] = {"siblings-behind", OPF_REFUSED, "one waits for the other: the kernel of '%2$s' reads '%4$s', which hangs on the kernel of '%1$s'",
                "keep '%2$s' out of the kernel that waits for '%4$s'"},
    [OTHER_OPERANDS] = {"siblings-operands", OPF_REFUSED, "their kernels do not read the same computed values: only one of them reads '%4$s', for which the other would have to wait",
                        "compute '%4$s' where it is read, or let both read it"},
    [OTHER_WORK] = {"siblings-work", OPF_REFUSED, "they read the same values, but what they compute with '%3$s' has no loops in common",
                    "the same sizes, layout and order of axes in both; for products: one product with both weights side by side, and a Split behind it"},
};

static const opf_group *group_of(const opf_fuser *fuser, const opf_node *node) { return fuser->fusion->groups.data[fuser->group_of[node->id]]; }

static bool reads(const opf_group *group, const opf_value *value) {
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        if (group->stages.inputs.data[i] == value)
            return true;
    return false;
}

/* A computed value that one of them reads and the other does not. */
static const opf_value *difference(const opf_group *a, const opf_group *b) {
    for (size_t i = 0; i < a->stages.inputs.count; i++)
        if (!a->stages.inputs.data[i]->constant && !reads(b, a->stages.inputs.data[i]))
            return a->stages.inputs.data[i];
    return NULL;
}

/* What `to` reads that hangs on the results of `from`; NULL where nothing does. Groups stand in execution order. */
static const opf_value *awaited(const opf_fuser *fuser, const opf_group *from, const opf_group *to) {
    const opf_value *last = NULL;
    opf_arena *scratch = opf_arena_new();
    bool *reached = OPF_ARRAY(scratch, bool, fuser->fusion->groups.count + 1);
    reached[from->id] = true;
    for (int g = from->id + 1; g <= to->id; g++) {
        const opf_group *group = fuser->fusion->groups.data[g];
        for (size_t i = 0; i < group->stages.inputs.count && !reached[g]; i++) {
            const opf_node *producer = group->stages.inputs.data[i]->producer;
            if (!producer || producer->graph != fuser->graph || !reached[fuser->group_of[producer->id]])
                continue;
            reached[g] = true;
            last = g == to->id ? group->stages.inputs.data[i] : last;
        }
    }
    opf_arena_free(scratch);
    return last;
}

static bool is_step_of_its_own(const opf_group *group) { return group->step == OPF_STEP_LIBRARY || group->step == OPF_STEP_CONTROL; }

static opf_sibling_rule judge(const opf_fuser *fuser, const opf_node *a, const opf_node *b, const char **blocker) {
    const opf_group *group_a = group_of(fuser, a), *group_b = group_of(fuser, b);
    opf_policy policy = fuser->fusion->policy;
    if (group_a == group_b)
        return TOGETHER;
    if (group_a->step == OPF_STEP_VIEW || group_b->step == OPF_STEP_VIEW) {
        *blocker = group_a->step == OPF_STEP_VIEW ? a->name : b->name;
        return ONE_VIEW;
    }
    if (policy != OPF_POLICY_BEST)
        return policy == OPF_POLICY_NONE ? POLICY_NONE : policy == OPF_POLICY_FILE ? POLICY_FILE : POLICY_TVM;
    if (is_step_of_its_own(group_a) || is_step_of_its_own(group_b)) {
        *blocker = is_step_of_its_own(group_a) ? a->name : b->name;
        return STEP_OF_ITS_OWN;
    }
    const opf_value *between = group_a->id < group_b->id ? awaited(fuser, group_a, group_b) : awaited(fuser, group_b, group_a);
    if (between) {
        *blocker = between->name;
        return BEHIND;
    }
    const opf_value *other = difference(group_a, group_b);
    other = other ? other : difference(group_b, group_a);
    *blocker = other ? other->name : NULL;
    return other ? OTHER_OPERANDS : OTHER_WORK;
}

/* A sentence of the table; its fields have numbers, which arguments fill in any order. */
static const char *filled(opf_arena *arena, const char *sentence, const opf_sibling *pair, const char *blocker) {
    const char *const words[] = {pair->a->name, pair->b->name, pair->shared->name, blocker ? blocker : "?"};
    opf_text text = {0};
    for (const char *at = sentence, *field; *at; at = field + 4) {
        field = strchr(at, '%');
        opf_text_add_n(&text, at, field ? (size_t)(field - at) : strlen(at));
        if (!field)
            break;
        opf_text_add(&text, words[field[1] - '1']);
    }
    const char *string = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return string;
}

opf_sibling opf_siblings_compare(const opf_fuser *fuser, const opf_node *a, const opf_node *b, const opf_value *shared) {
    const char *blocker = NULL;
    opf_sibling_rule rule = judge(fuser, a, b, &blocker);
    bool turned = rule == BEHIND && group_of(fuser, a)->id > group_of(fuser, b)->id;
    opf_sibling pair = {.a = turned ? b : a, .b = turned ? a : b, .shared = shared, .verdict = rules[rule].verdict, .rule = rules[rule].id};
    pair.reason = filled(fuser->arena, rules[rule].sentence, &pair, blocker);
    pair.remedy = rules[rule].remedy ? filled(fuser->arena, rules[rule].remedy, &pair, blocker) : NULL;
    pair.a = a;
    pair.b = b;
    pair.bytes_lost = pair.verdict == OPF_REFUSED ? opf_value_nominal_bytes(shared) : 0;
    return pair;
}
