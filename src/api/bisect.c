/* Localisation: from the model to the group, from the group to the operator. Every group runs on the evaluator's own inputs, so
 * what a group gets wrong is its own. Within a group: each of its nodes as a kernel of its own; where each is right alone, the
 * group as it is, but with what each node makes of it stored too: the first of these values beyond its bound was made of values within
 * theirs, so that its node is at fault. Where the fault is gone then, the group with one node after the other taken out of it, until the
 * rest is right. */
#include "api/bisect.h"

#include <jansson.h>
#include <string.h>

#include "check/arithmetic.h"
#include "check/counterpart.h"
#include "check/recurrent.h"

opf_status opf_bisect_groups(const opf_bisection *b, bool all, opf_replay *out) {
    opf_status status = opf_session_replay(out, NULL, b->session, b->inputs, b->graph, b->eval, b->arena);
    if (status == OPF_OK) opf_replay_print(out, all, b->text);
    return status;
}

static bool is_bad(const opf_group_check *c) { return c->verdict == OPF_GROUP_BEYOND || (c->verdict == OPF_GROUP_UNBOUNDED && !opf_dtype_is_float(c->value->dtype)); }

static const opf_group_check *first_bad(const opf_replay *r) {
    for (size_t i = 0; i < r->checks.count; i++)
        if (is_bad(&r->checks.data[i])) return &r->checks.data[i];
    return NULL;
}

/* ---- within a group ---- */

/* Another reading of the same model, for pipelines of its own: the one at hand is what the evaluator speaks of. */
typedef struct second_reading { opf_model *loaded, *bound; } second_reading;

static opf_status read_again(const opf_bisection *b, second_reading *out) {
    const opf_source *source = &b->model->source;
    *out = (second_reading){0};
    opf_status status = source->data ? opf_model_load_memory(&out->loaded, b->model->context, source->data, source->size, source->path)
                                     : opf_model_load(&out->loaded, b->model->context, source->path);
    out->bound = out->loaded;
    return status == OPF_OK && out->loaded->needs_values ? opf_model_bind(&out->bound, out->loaded, b->inputs) : status;
}

static void forget(second_reading *reading) {
    if (reading->bound != reading->loaded) opf_model_free(reading->bound);
    opf_model_free(reading->loaded);
}

static bool has_node(const opf_group *group, const char *name) {
    for (size_t i = 0; i < group->nodes.count; i++)
        if (opf_node_stands_for(group->nodes.data[i], name)) return true;
    return false;
}

/* Does a step of another program compute nodes of the group at fault? */
static bool is_part_of(void *data, const opf_step *step) {
    const opf_group *group = data;
    for (size_t k = 0; step->kind == OPF_RUN_KERNEL && k < step->nest->group->nodes.count; k++)
        if (has_node(group, step->nest->group->nodes.data[k]->name)) return true;
    return false;
}

/* What is looked at of a program. */
typedef struct part { const opf_bisection *bisection; const opf_group *group; } part;

/* Does the evaluator know all that the step reads, so that it is right whatever ran before it? */
static bool reads_known(const opf_step *step, const opf_counterparts *counterparts) {
    const opf_stages *stages = &step->nest->group->stages;
    for (size_t i = 0; i < stages->inputs.count; i++)
        if (!stages->inputs.data[i]->constant && !opf_counterpart_value(counterparts, stages->inputs.data[i])) return false;
    return true;
}

/* May a step run on whatever lies in its operands? What finds sizes, decides what runs, or follows pointers may not. */
static bool takes_anything(const opf_step *step) {
    return step->kind == OPF_RUN_KERNEL || step->kind == OPF_RUN_COPY || step->kind == OPF_RUN_FILL || (step->kind == OPF_RUN_LIBRARY && opf_is_recurrent(step->library));
}

/* Are positions that a kernel reads in its operands? */
static bool reads_where_told(const opf_group *group) {
    for (size_t i = 0; i < group->stages.list.count; i++)
        if (opf_expr_picks(group->stages.list.data[i]->body)) return true;
    return false;
}

/* Kernels that are not looked at need no code, which takes the compiler most of the time: all but those of the group, and those that
 * pack constants. */
static void leave_out(void *data, opf_program *program) {
    const part *p = data;
    const opf_counterparts *counterparts = opf_counterparts_new(p->bisection->graph, p->bisection->eval, p->bisection->arena);
    for (size_t i = 0; i < program->steps.count; i++) {
        const opf_step *step = &program->steps.data[i];
        bool wanted = is_part_of((void *)(uintptr_t)p->group, step);
        /* equal kernels are one: what is wanted may run elsewhere in the program too */
        if (!takes_anything(step) || (wanted && (!reads_known(step, counterparts) || reads_where_told(step->nest->group)))) return;
    }
    for (size_t i = 0; i < program->kernels.count; i++) program->kernels.data[i].left_out = true;
    for (size_t i = 0; i < program->prepare.count; i++)
        if (program->prepare.data[i].kind == OPF_RUN_KERNEL) program->kernels.data[program->prepare.data[i].kernel].left_out = false;
    for (size_t i = 0; i < program->steps.count; i++)
        if (is_part_of((void *)(uintptr_t)p->group, &program->steps.data[i])) program->kernels.data[program->steps.data[i].kernel].left_out = false;
}

static opf_status replay_part(const opf_bisection *b, opf_replay *out, opf_session *session, const opf_group *group) {
    opf_replay_options options = {.wanted = is_part_of, .data = (void *)(uintptr_t)group};
    return opf_session_replay(out, &options, session, b->inputs, b->graph, b->eval, b->arena);
}

/* The model with these groups, and every other node alone: which results of the group's nodes are beyond their bounds?
 * *node: the node that makes the first such result, NULL where there is none. The passes are those of the program at hand. Takes over `groups`. */
static opf_status try_groups(const opf_bisection *b, const opf_group *group, json_t *groups, const char **node) {
    opf_session *session = NULL;
    opf_replay replayed = {0};
    second_reading reading;
    *node = NULL;
    part looked_at = {b, group};
    opf_status status = read_again(b, &reading);
    if (status == OPF_OK) status = opf_session_pinned(&session, reading.bound, b->session->pipeline.policy, groups, leave_out, &looked_at);
    else json_decref(groups);
    if (status == OPF_OK && session) status = replay_part(b, &replayed, session, group);
    const opf_group_check *c = status == OPF_OK ? first_bad(&replayed) : NULL;
    if (c) *node = opf_arena_string(b->arena, c->value->producer ? c->value->producer->name : c->value->name);
    opf_session_free(session);
    forget(&reading);
    return status;
}

/* The first node of the group whose own kernel is beyond its bound; NULL where each is right alone. */
static opf_status find_alone(const opf_bisection *b, const opf_group *group, const char **out) {
    return try_groups(b, group, json_pack("{s:i, s:[]}", "schema", 1, "groups"), out);
}

/* ---- several nodes ---- */

static json_t *names_of(const opf_node *const *nodes, size_t count) {
    json_t *names = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(names, json_string(nodes[i]->name));
    return names;
}

/* The node whose value is the first beyond its bound where the group stores all of them; NULL where none is. Its bound allows for what the
 * values that it is made of are off by, and these are within theirs. */
static opf_status find_stored(const opf_bisection *b, const opf_group *group, const char **out) {
    const opf_node *const *nodes = (const opf_node *const *)group->nodes.data, *const *copied = (const opf_node *const *)group->copied.data;
    size_t n = group->nodes.count;
    json_t *whole = json_pack("{s:o, s:o, s:o}", "nodes", names_of(nodes, n), "copied", names_of(copied, group->copied.count), "stored", names_of(nodes, n));
    return try_groups(b, group, json_pack("{s:i, s:[o]}", "schema", 1, "groups", whole), out);
}

typedef OPF_VEC(const opf_node *) node_list;

/* The nodes that are at home in the group. Those that it computes again are stored by none, and would close cycles. */
static node_list nodes_at_home(const opf_bisection *b, const opf_group *group) {
    node_list list = {0};
    for (size_t i = 0; i < group->nodes.count; i++) {
        bool copied = false;
        for (size_t k = 0; k < group->copied.count; k++) copied = copied || group->copied.data[k] == group->nodes.data[i];
        if (!copied) OPF_PUSH(b->arena, &list, group->nodes.data[i]);
    }
    return list;
}

/* What stands before node `but` of the group together, and what stands behind it (`but` beyond the last: all of them together); all
 * others alone. Heads and tails of a group in the order of the graph are as free of cycles as the group is. */
static json_t *groups_without(const node_list *nodes, size_t but) {
    json_t *head = json_array(), *tail = json_array();
    for (size_t i = 0; i < nodes->count; i++)
        if (i != but) json_array_append_new(i < but ? head : tail, json_string(nodes->data[i]->name));
    return json_pack("{s:i, s:[{s:o}, {s:o}]}", "schema", 1, "groups", "nodes", head, "nodes", tail);
}

/* Would another node than `but` stand alone? Then it is right as it is on its own, and tells nothing. */
static bool leaves_single(const node_list *nodes, size_t but) { return but == 1 || but + 2 == nodes->count; }

static const char either_word[] = " or ";
static const char *either(const opf_bisection *b, const char *before, const char *name) { return before ? opf_arena_printf(b->arena, "%s%s%s", before, either_word, name) : name; }

/* The nodes without which the rest is right, "A or B" where it may be either; NULL where it takes more than one. Of a pair both are
 * named, of more those that leave no other node alone. Where the group is right without what it computes again, those are. */
static opf_status find_joined(const opf_bisection *b, const opf_group *group, const char **out) {
    const node_list nodes = nodes_at_home(b, group);
    const char *sure = NULL, *unsure = NULL, *bad = NULL;
    opf_status status = group->copied.count ? try_groups(b, group, groups_without(&nodes, nodes.count), &bad) : OPF_OK;
    if (group->copied.count && status == OPF_OK && !bad) {
        for (size_t k = 0; k < group->copied.count; k++) sure = either(b, sure, group->copied.data[k]->name);
        *out = sure;
        return OPF_OK;
    }
    for (size_t i = 0; status == OPF_OK && i < nodes.count; i++) {
        const char **which = leaves_single(&nodes, i) ? &unsure : &sure;
        status = try_groups(b, group, groups_without(&nodes, i), &bad);
        if (status == OPF_OK && !bad) *which = either(b, *which, nodes.data[i]->name);
    }
    *out = sure ? sure : unsure;
    return status;
}

/* ---- the property ---- */

static bool is_group(void *data, const opf_step *step) { return step->kind == OPF_RUN_KERNEL && step->nest->group == data; }

/* How sure a property is: one that is known to give the program's numbers, one that the operator's stages allow, none. */
typedef enum sureness { NO_PROPERTY, UNLIKELY, LIKELY, SURE } sureness;

/* What is behind the worst result of the group, if this is the operator: its arithmetic, else what its stages allow. */
static opf_status find_property(const opf_bisection *b, const opf_group *group, const char *node, const char **out, sureness *sure) {
    opf_replay replayed;
    opf_replay_options options = {.wanted = is_group, .data = (void *)(uintptr_t)group, .suspect = node};
    opf_status status = opf_session_replay(&replayed, &options, b->session, b->inputs, b->graph, b->eval, b->arena);
    const opf_group_check *c = status == OPF_OK ? first_bad(&replayed) : NULL;
    *sure = NO_PROPERTY;
    if (!c) return status;
    *out = c->arithmetic ? c->arithmetic : c->cause;
    *sure = c->arithmetic ? SURE : strncmp(*out, "none", 4) == 0 ? UNLIKELY : LIKELY;
    return status;
}

/* Of "A or B" the property that is surest, and that operator. */
static opf_status find_property_of(const opf_bisection *b, const opf_group *group, const char *names, const char **node, const char **out) {
    sureness best = NO_PROPERTY, sure;
    opf_status status = OPF_OK;
    for (const char *at = names, *end; at && best < SURE && status == OPF_OK; at = end ? end + strlen(either_word) : NULL) {
        end = strstr(at, either_word);
        const char *name = end ? opf_arena_string_n(b->arena, at, (size_t)(end - at)) : at, *property = NULL;
        status = find_property(b, group, name, &property, &sure);
        if (sure <= best) continue;
        best = sure;
        *node = name;
        *out = property;
    }
    return status;
}

/* ---- words ---- */

/* %s: the operator. */
static const char *remedy_of(const opf_bisection *b, const char *cause, const char *node) {
    static const char too_large[] = "float32 in this place of the model (a Cast in front of '%s'), or a smaller scale; `ranges` names the values that float16 cannot hold";
    static const struct { const char *sign, *remedy; } remedies[] = {
        {"cancellation", "--wide-sums '%s' sums in float64; where the terms are rounded themselves, a form of the model that does not subtract near equals"},
        {"Winograd", "--accuracy=tight allows no form that is less accurate than the sum itself, --accuracy=exact none; --wide-sums '%s' turns it off for this sum"},
        {"order", "--wide-sums '%s' sums in float64, --accuracy=exact in the order of the axes; or a tolerance that a sum of this length allows"},
        {"overflow of a half type", too_large},
        {"past what a half type holds", too_large},
        {"half type", "float32 in this place of the model (a Cast in front of '%s')"},
        {"NaN", "the rule is in docs/numerics.md; a guard in the model where the value can be absent"},
        {"integer", "--accuracy=exact computes what is rounded as the evaluator does; else compare with a step of one"},
        {"approximated", "the stated errors of functions are in docs/numerics.md; float64 in this place of the model (a Cast in front of '%s') is nearer"},
    };
    for (size_t i = 0; i < OPF_COUNT(remedies); i++) {
        if (!strstr(cause, remedies[i].sign)) continue;
        const char *remedy = remedies[i].remedy, *at = strstr(remedy, "%s");
        return at ? opf_arena_printf(b->arena, "%.*s%s%s", (int)(at - remedy), remedy, node, at + 2) : remedy;
    }
    return "--fuse=none, or --fuse=FILE with this group taken apart, which `build --check` does by itself; and a report, for the kernel is wrong";
}

static void print_group(const opf_group *group, opf_text *out) {
    for (size_t i = 0; i < group->nodes.count; i++) opf_text_printf(out, "%s%s (%s)", i ? " + " : "", group->nodes.data[i]->name, group->nodes.data[i]->op);
}

opf_status opf_bisect_fault(const opf_bisection *b, const opf_replay *r) {
    const opf_group_check *c = first_bad(r);
    if (!c) {
        opf_text_add(b->text, "no group is at fault: each stays within its bound on the evaluator's inputs\n");
        return OPF_OK;
    }
    opf_text_printf(b->text, "first at fault: step %d, value '%s'", c->step, c->value->name);
    if (!c->group || !c->group->nodes.count) {
        opf_text_printf(b->text, ", a library kernel: %s\n", c->cause);
        return OPF_OK;
    }
    opf_text_add(b->text, ", the group ");
    print_group(c->group, b->text);
    opf_text_add(b->text, "\n");
    const char *alone = NULL, *stored = NULL, *joined = NULL;
    opf_status status = c->group->nodes.count > 1 ? find_alone(b, c->group, &alone) : OPF_OK;
    if (c->group->nodes.count == 1) alone = c->group->nodes.data[0]->name;
    if (status == OPF_OK && !alone) status = find_stored(b, c->group, &stored);
    if (status == OPF_OK && !alone && !stored) status = find_joined(b, c->group, &joined);
    if (alone) opf_text_printf(b->text, "  operator: %s, which is beyond its bound as a kernel of its own too\n", alone);
    if (stored) opf_text_printf(b->text, "  operator: %s; each is right alone, and in the group its value is the first beyond its bound\n", stored);
    if (joined) opf_text_printf(b->text, "  operator: %s; each is right alone, and the others are right without it\n", joined);
    if (!alone && !stored && !joined) opf_text_add(b->text, "  operator: each is right alone, and no single one of them makes the rest right by leaving\n");
    const char *names = alone ? alone : stored ? stored : joined ? joined : c->group->nodes.data[0]->name, *property = c->cause, *node = names;
    if (status == OPF_OK) status = find_property_of(b, c->group, names, &node, &property);
    opf_text_printf(b->text, "  property: %s\n  remedy: %s\n", property, remedy_of(b, property, node));
    return status;
}
