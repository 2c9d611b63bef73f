/* Localisation: from the model to the group, from the group to the operator. Every group runs on the evaluator's own inputs, so
 * what a group gets wrong is its own. Within a group: each of its nodes as a kernel of its own; where each is right alone, the
 * group with one node after the other taken out of it, until the rest is right. */
#include "api/bisect.h"

#include <jansson.h>
#include <string.h>

opf_status opf_bisect_groups(const opf_bisection *b, bool all, opf_replay *out) {
    opf_status status = opf_session_replay(out, b->session, b->inputs, b->graph, b->eval, b->arena);
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
        for (int k = 0; k < group->nodes.data[i]->n_origins; k++)
            if (strcmp(group->nodes.data[i]->origins[k], name) == 0) return true;
    return false;
}

/* The first node of the group whose own kernel is beyond its bound; NULL where each is right alone. */
static opf_status find_alone(const opf_bisection *b, const opf_group *group, const char **out) {
    opf_session *session = NULL;
    opf_replay replayed;
    second_reading reading;
    *out = NULL;
    opf_status status = read_again(b, &reading);
    if (status == OPF_OK) status = opf_session_make(&session, reading.bound, OPF_POLICY_NONE, false, true);
    if (status == OPF_OK && session) status = opf_session_replay(&replayed, session, b->inputs, b->graph, b->eval, b->arena);
    for (size_t i = 0; status == OPF_OK && session && i < replayed.checks.count && !*out; i++) {
        const opf_group_check *c = &replayed.checks.data[i];
        if (is_bad(c) && c->group && c->group->nodes.count && has_node(group, c->group->nodes.data[0]->name)) *out = opf_arena_string(b->arena, c->group->nodes.data[0]->name);
    }
    opf_session_free(session);
    forget(&reading);
    return status;
}

/* What stands before node `but` of the group together, and what stands behind it; all others alone. Heads and tails of a group in
 * the order of the graph are as free of cycles as the group is. */
static json_t *groups_without(const opf_group *group, size_t but) {
    json_t *head = json_array(), *tail = json_array();
    for (size_t i = 0; i < group->nodes.count; i++)
        if (i != but) json_array_append_new(i < but ? head : tail, json_string(group->nodes.data[i]->name));
    return json_pack("{s:i, s:[{s:o}, {s:o}]}", "schema", 1, "groups", "nodes", head, "nodes", tail);
}

/* Is any result of the group's nodes beyond its bound with node `but` taken out of it? */
static opf_status fails_without(const opf_bisection *b, const opf_group *group, size_t but, bool *fails) {
    opf_session *session = NULL;
    opf_replay replayed;
    second_reading reading;
    *fails = false;
    opf_status status = read_again(b, &reading);
    if (status == OPF_OK) status = opf_session_pinned(&session, reading.bound, b->session->pipeline.policy, groups_without(group, but), true);
    if (status == OPF_OK && session) status = opf_session_replay(&replayed, session, b->inputs, b->graph, b->eval, b->arena);
    for (size_t i = 0; status == OPF_OK && session && i < replayed.checks.count; i++) {
        const opf_group_check *c = &replayed.checks.data[i];
        bool ours = false;
        for (size_t k = 0; c->group && k < c->group->nodes.count; k++) ours = ours || has_node(group, c->group->nodes.data[k]->name);
        *fails = *fails || (ours && is_bad(c));
    }
    opf_session_free(session);
    forget(&reading);
    return status;
}

/* Would another node than `but` stand alone? Then it is right as it is on its own, and tells nothing. */
static bool leaves_single(const opf_group *group, size_t but) { return but == 1 || but + 2 == group->nodes.count; }

/* The nodes without which the rest is right, "A or B" where it may be either; NULL where it takes more than one. Of a pair both are
 * named, of more those that leave no other node alone. */
static opf_status find_joined(const opf_bisection *b, const opf_group *group, const char **out) {
    opf_status status = OPF_OK;
    const char *sure = NULL, *unsure = NULL;
    for (size_t i = 0; status == OPF_OK && i < group->nodes.count; i++) {
        bool fails;
        const char **which = leaves_single(group, i) ? &unsure : &sure;
        status = fails_without(b, group, i, &fails);
        if (status == OPF_OK && !fails) *which = *which ? opf_arena_printf(b->arena, "%s or %s", *which, group->nodes.data[i]->name) : group->nodes.data[i]->name;
    }
    *out = sure ? sure : unsure;
    return status;
}

/* ---- words ---- */

/* %s: the operator. */
static const char *remedy_of(const opf_bisection *b, const char *cause, const char *node) {
    static const struct { const char *sign, *remedy; } remedies[] = {
        {"cancellation", "--wide-sums '%s' sums in float64; where the terms are rounded themselves, a form of the model that does not subtract near equals"},
        {"Winograd", "--accuracy=tight allows no form that is less accurate than the sum itself, --accuracy=exact none; --wide-sums '%s' turns it off for this sum"},
        {"order", "--wide-sums '%s' sums in float64, --accuracy=exact in the order of the axes; or a tolerance that a sum of this length allows"},
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
    const char *alone = NULL, *joined = NULL;
    opf_status status = c->group->nodes.count > 1 ? find_alone(b, c->group, &alone) : OPF_OK;
    if (c->group->nodes.count == 1) alone = c->group->nodes.data[0]->name;
    if (status == OPF_OK && !alone) status = find_joined(b, c->group, &joined);
    if (alone) opf_text_printf(b->text, "  operator: %s, which is beyond its bound as a kernel of its own too\n", alone);
    if (joined) opf_text_printf(b->text, "  operator: %s; each is right alone, and the others are right without it\n", joined);
    if (!alone && !joined) opf_text_add(b->text, "  operator: each is right alone, and no single one of them makes the rest right by leaving\n");
    opf_text_printf(b->text, "  property: %s\n  remedy: %s\n", c->cause, remedy_of(b, c->cause, alone ? alone : joined ? joined : c->group->nodes.data[0]->name));
    return status;
}
