/* opf_fuse: kinds, the policy's groups, their order and stages, their cost, the log. */
#include "fuse/matched.h"
#include "ops/control.h"

enum { DEFAULT_MAX_DEPTH = 256 }; /* TVM's relax.FuseOps.max_depth */

const char *opf_policy_name(opf_policy policy) {
    static const char *const names[] = {"none", "tvm", "best", "file"};
    return names[policy];
}

const char *opf_step_kind_name(opf_step_kind kind) {
    static const char *const names[] = {"kernel", "library", "control", "view", "folded"};
    return names[kind];
}

const char *opf_verdict_name(opf_verdict verdict) {
    static const char *const names[] = {"fused", "view", "folded", "copied", "refused"};
    return names[verdict];
}

/* Does each element pick from a row by an index that is read at the very point? TVM calls that injective, as it does any Gather; it is
 * element-wise work like other functions of one number. */
static bool is_look_up(const opf_call *call) {
    const opf_stage *stage = call->stages.list.count == 1 ? call->stages.list.data[0] : NULL;
    bool picks = stage && stage->combiner == OPF_COMBINE_NONE && stage->body->kind == OPF_EXPR_LOAD && stage->body->n_args == 1;
    return picks && opf_expr_has_load(stage->body->args[0]) && opf_stages_kind(&call->stages) == OPF_KIND_ELEMWISE;
}

static opf_kind kind_of(const opf_fuser *fuser, const opf_node *node) {
    const opf_fuse_options *options = fuser->options;
    int given = options->kind_override ? options->kind_override(options->kind_data, node->name) : -1;
    return given >= 0 ? (opf_kind)given : opf_node_kind(node);
}

/* Is any result used by what runs? Users stand behind the node, so one sweep from the end settles it. */
static bool is_computed(const opf_fuser *fuser, const opf_node *node) {
    for (int k = 0; k < node->n_outputs; k++) {
        const opf_value *value = node->outputs[k];
        if (value && value->is_output)
            return true;
        for (size_t u = 0; value && u < value->uses.count; u++)
            if (!fuser->folded[opf_node_within(value->uses.data[u].node, fuser->graph)->id])
                return true;
    }
    return opf_fusion_is_needed(fuser, node->id);
}

static void find_folded(opf_fuser *fuser) {
    opf_fusion_find_needs(fuser);
    for (int i = fuser->n_nodes - 1; i >= 0; i--) {
        const opf_node *node = fuser->graph->nodes.data[i];
        fuser->folded[i] = opf_node_is_folded(node) || !is_computed(fuser, node);
    }
}

/* Kinds and stages of all nodes. Every node is tried, so that all problems are reported. */
static opf_status study_nodes(opf_fuser *fuser) {
    opf_status status = OPF_OK;
    find_folded(fuser);
    for (int i = 0; i < fuser->n_nodes; i++) {
        opf_node *node = fuser->graph->nodes.data[i];
        fuser->kinds[i] = kind_of(fuser, node);
        if (fuser->folded[i])
            continue;
        opf_status one = opf_op_stages(&fuser->calls[i], node);
        if (one == OPF_OK && (fuser->calls[i]->library || fuser->calls[i]->control))
            fuser->kinds[i] = OPF_KIND_OPAQUE;
        else if (one == OPF_OK && fuser->kinds[i] == OPF_KIND_INJECTIVE && fuser->options->policy == OPF_POLICY_BEST && is_look_up(fuser->calls[i]))
            fuser->kinds[i] = OPF_KIND_ELEMWISE;
        if (status == OPF_OK)
            status = one;
    }
    return status;
}

static const opf_rule_settings *settings_of(const opf_fuse_options *options, opf_arena *arena) {
    if (options->settings)
        return options->settings;
    opf_rule_settings *settings = OPF_NEW(arena, opf_rule_settings);
    opf_rule_settings_init(settings);
    return settings;
}

static opf_fuser *new_fuser(opf_fusion *fusion, const opf_fuse_options *options) {
    opf_arena *arena = fusion->module->arena;
    opf_graph_renumber(fusion->graph);
    int n = (int)fusion->graph->nodes.count;
    opf_fuser *fuser = OPF_NEW(arena, opf_fuser);
    *fuser = (opf_fuser){
        .fusion = fusion,
        .graph = fusion->graph,
        .pool = fusion->module->pool,
        .arena = arena,
        .options = options,
        .settings = settings_of(options, arena),
        .max_depth = options->max_depth > 0 ? options->max_depth : DEFAULT_MAX_DEPTH,
        .n_nodes = n,
        .kinds = OPF_ARRAY(arena, opf_kind, n),
        .folded = OPF_ARRAY(arena, bool, n),
        .calls = OPF_ARRAY(arena, opf_call *, n),
        .group_of = OPF_ARRAY(arena, int, n),
        .copied = OPF_ARRAY(arena, opf_node_list, n + 1),
        .in_place = OPF_ARRAY(arena, bool, n + 1),
        .in_front = OPF_ARRAY(arena, opf_dim, n + 1),
        .is_copied = OPF_ARRAY(arena, bool, n + 1),
        .is_stored = OPF_ARRAY(arena, bool, n + 1),
        .group_kinds = OPF_ARRAY(arena, opf_kind, n),
        .formed = OPF_ARRAY(arena, opf_rule_number, n),
        .outcomes = OPF_ARRAY(arena, opf_outcome, n),
    };
    return fuser;
}

/* The policy's numbers → groups with their nodes in graph order. */
static void make_groups(opf_fuser *fuser) {
    opf_fusion *fusion = fuser->fusion;
    for (int g = 0; g < fuser->n_groups; g++) {
        opf_group *group = OPF_NEW(fuser->arena, opf_group);
        group->id = g;
        group->kind = fuser->group_kinds[g];
        OPF_PUSH(fuser->arena, &fusion->groups, group);
    }
    for (int i = 0; i < fuser->n_nodes; i++) {
        opf_node *node = fuser->graph->nodes.data[i];
        OPF_PUSH(fuser->arena, &fusion->groups.data[fuser->group_of[i]]->nodes, node);
        for (int g = 0; fuser->is_copied[i] && g < fuser->n_groups; g++) {
            if (g == fuser->group_of[i] || !opf_fuser_holds(fuser, g, node))
                continue;
            OPF_PUSH(fuser->arena, &fusion->groups.data[g]->nodes, node);
            OPF_PUSH(fuser->arena, &fusion->groups.data[g]->copied, node);
        }
    }
    for (int g = 0; g < fuser->n_groups; g++) {
        opf_group *group = fusion->groups.data[g];
        const opf_matched *matched = fuser->joined[group->nodes.data[0]->id];
        group->rule = opf_rules[group->nodes.count == 1 ? OPF_RULE_SINGLE : fuser->formed[g]].id;
        if (matched && group->nodes.count == matched->nodes.count) /* what joined it shares its kernel: then the rule that joined it counts */
            group->rule = opf_matched_rule(fuser, matched);
    }
}

static bool is_view(const opf_node *node) {
    const opf_op *op = opf_node_op(node);
    return op && (op->flags & OPF_OP_VIEW);
}

bool opf_fusion_is_view(const opf_fuser *fuser, int node) {
    return is_view(fuser->graph->nodes.data[node]) && !(fuser->joined[node] && fuser->joined[node]->caller);
}

bool opf_fusion_is_closed(const opf_fuser *fuser, int node) {
    bool planned = fuser->joined[node] && fuser->joined[node]->planned;
    return fuser->folded[node] || fuser->in_place[node] || fuser->kinds[node] == OPF_KIND_OPAQUE || planned;
}

static bool only_views(const opf_group *group) {
    for (size_t i = 0; i < group->nodes.count; i++)
        if (!is_view(group->nodes.data[i]))
            return false;
    return true;
}

/* A view needs bytes to look at: what views of a single number have become is a kernel that writes it. */
static opf_step_kind step_of(const opf_fuser *fuser, const opf_group *group) {
    if (fuser->folded[group->nodes.data[0]->id])
        return OPF_STEP_FOLDED;
    if (group->library || group->control)
        return group->library ? OPF_STEP_LIBRARY : OPF_STEP_CONTROL;
    if (group->nodes.count == 1 && fuser->in_place[group->nodes.data[0]->id])
        return OPF_STEP_VIEW;
    return only_views(group) && group->stages.inputs.count == 1 && group->results.count == 1 ? OPF_STEP_VIEW : OPF_STEP_KERNEL;
}

/* What the nodes of a group move when each is a kernel of its own. */
static opf_status price_apart(opf_fuser *fuser, opf_group *group) {
    if (group->nodes.count == 1) {
        group->bytes_before = group->bytes_after;
        return OPF_OK;
    }
    for (size_t i = 0; i < group->nodes.count; i++) {
        opf_node *node = group->nodes.data[i];
        opf_group alone = {.id = -1, .kind = fuser->kinds[node->id]};
        int home = fuser->group_of[node->id];
        OPF_PUSH(fuser->arena, &alone.nodes, node);
        fuser->group_of[node->id] = alone.id;
        opf_status status = opf_compose(fuser, &alone);
        fuser->group_of[node->id] = home;
        if (status != OPF_OK)
            return status;
        if (step_of(fuser, &alone) == OPF_STEP_KERNEL)
            group->bytes_before += opf_group_bytes(&alone, fuser->pool);
    }
    return OPF_OK;
}

/* Sub-graphs are fused by the same policy; groups from a file are those of the main graph. */
static opf_status fuse_bodies(opf_fuser *fuser, opf_group *group) {
    opf_fuse_options options = *fuser->options;
    options.groups_file = NULL;
    for (int g = 0; g < opf_control_graphs(group->control); g++) {
        if (group->control->taken >= 0 && group->control->taken != g)
            continue;
        opf_status status = opf_fuse(&group->bodies[g], group->control->graphs[g], &options);
        if (status != OPF_OK)
            return status;
    }
    return OPF_OK;
}

static opf_status fill_group(opf_fuser *fuser, opf_group *group) {
    group->step = OPF_STEP_FOLDED;
    if (fuser->folded[group->nodes.data[0]->id])
        return OPF_OK;
    opf_status status = opf_compose(fuser, group);
    if (status != OPF_OK)
        return status;
    group->step = step_of(fuser, group);
    if (fuser->in_place[group->nodes.data[0]->id])
        group->in_front = fuser->in_front[group->nodes.data[0]->id];
    if (group->step == OPF_STEP_VIEW)
        return OPF_OK;
    if (group->step == OPF_STEP_CONTROL)
        return fuse_bodies(fuser, group);
    group->bytes_after = opf_group_bytes(group, fuser->pool);
    group->flops = opf_group_flops(group);
    return price_apart(fuser, group);
}

static opf_status choose_groups(opf_fuser *fuser) {
    static void (*const policies[])(opf_fuser *fuser) = {
        [OPF_POLICY_NONE] = opf_policy_none, [OPF_POLICY_TVM] = opf_policy_tvm, [OPF_POLICY_BEST] = opf_policy_best};
    if (fuser->options->groups_file)
        return opf_policy_file(fuser, fuser->options->groups_file);
    policies[fuser->options->policy](fuser);
    return OPF_OK;
}

/* Where rules are off: the groups that there would be otherwise, for the log. */
static opf_status fuse_unrestricted(opf_fuser *fuser) {
    if (!fuser->settings->any_off || fuser->options->groups_file || fuser->options->policy == OPF_POLICY_NONE)
        return OPF_OK;
    opf_rule_settings all_on;
    opf_rule_settings_init(&all_on);
    opf_fuse_options options = *fuser->options;
    options.settings = &all_on;
    options.aside = true;
    opf_fusion *unrestricted;
    opf_status status = opf_fuse(&unrestricted, fuser->graph, &options);
    fuser->unrestricted = unrestricted;
    return status;
}

opf_status opf_fuse(opf_fusion **out, opf_graph *graph, const opf_fuse_options *options) {
    *out = NULL;
    opf_fusion *fusion = OPF_NEW(graph->module->arena, opf_fusion);
    *fusion = (opf_fusion){.module = graph->module, .graph = graph, .policy = options->groups_file ? OPF_POLICY_FILE : options->policy, .passes = options->policy,
                            .trace = OPF_NEW(graph->module->arena, opf_trace)};
    opf_fuser *fuser = new_fuser(fusion, options);
    opf_status status = study_nodes(fuser);
    if (status != OPF_OK)
        return status;
    status = opf_fusion_match(fuser);
    if (status == OPF_OK)
        status = choose_groups(fuser);
    if (status != OPF_OK)
        return status;
    make_groups(fuser);
    status = opf_fusion_order(fuser);
    for (size_t g = 0; status == OPF_OK && g < fusion->groups.count; g++)
        status = fill_group(fuser, fusion->groups.data[g]);
    if (status != OPF_OK)
        return status;
    status = fuse_unrestricted(fuser);
    if (status != OPF_OK)
        return status;
    opf_fusion_explain(fuser);
    opf_fusion_find_quantised(fuser);
    *out = fusion;
    return OPF_OK;
}
