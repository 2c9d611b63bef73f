/* Scales of large tensors leave the gate that TVM's rules make them the end of, and go in front of the contraction that alone reads them.
 *
 * A gate (squeeze and excite) multiplies each channel of a picture by a factor that it has just found. Where TVM joins the factor's contraction with
 * that product, the picture is read and written once more, to be read by a convolution at single points, which copies it anyway. Measured
 * (docs/cost-model.md), moving the product pays from pictures of about 640 KiB on; smaller ones are in the core's own cache when they are read back. */
#include "fuse/growth.h"
#include "fuse/prologue.h"

enum { LEAST_BYTES = 640 << 10, LEAST_SHARE = 16 /* elements that share a factor */ };

typedef struct scaling {
    opf_node *node;   /* the product, in group `from` */
    opf_node *factor; /* the node there that makes what it multiplies by, for it alone */
    int from, to;     /* to: the group that alone reads the product */
} scaling;

static int64_t nominal_elements(const opf_value *value) { return opf_dim_nominal(opf_value_elements(value)); }

/* The one operand that is computed in the node's group, small and for the node alone; NULL: there is none, or another one. */
static opf_node *factor_of(const opf_fuser *fuser, const opf_node *node) {
    opf_node *factor = NULL;
    for (int k = 0; k < node->n_inputs; k++) {
        const opf_value *operand = node->inputs[k];
        opf_node *maker = operand ? operand->producer : NULL;
        if (!maker || maker->graph != fuser->graph || fuser->folded[maker->id] || fuser->group_of[maker->id] != fuser->group_of[node->id])
            continue;
        bool small = nominal_elements(operand) * LEAST_SHARE <= nominal_elements(node->outputs[0]);
        if (factor || !small || operand->is_output || operand->uses.count != 1)
            return NULL;
        factor = maker;
    }
    return factor;
}

/* Read at single points: nothing of it is read twice by one row of the result, and there are no borders. */
static bool reads_points(const opf_expr *e, void *data) {
    const int *input = data;
    if (e->kind != OPF_EXPR_LOAD || e->index != *input)
        return true;
    for (int k = 0; k < e->n_args; k++)
        if (e->args[k]->kind != OPF_EXPR_VAR && !opf_is_int(e->args[k], NULL))
            return false;
    return true;
}

static bool reads_at_points(const opf_group *user, const opf_value *value, opf_pool *pool) {
    int input = 0;
    while (input < (int)user->stages.inputs.count && user->stages.inputs.data[input] != value)
        input++;
    for (size_t s = 0; s < user->stages.list.count; s++)
        if (!opf_expr_visit(pool, user->stages.list.data[s]->body, reads_points, &input))
            return false;
    return true;
}

static bool compose_alone(opf_fuser *fuser, opf_node *node, opf_group *group) {
    int home = fuser->group_of[node->id];
    *group = (opf_group){.id = -1, .kind = fuser->kinds[node->id]};
    OPF_PUSH(fuser->arena, &group->nodes, node);
    fuser->group_of[node->id] = group->id;
    bool good = opf_compose(fuser, group) == OPF_OK;
    fuser->group_of[node->id] = home;
    return good;
}

static bool fits(opf_growth *growth, const scaling *s) {
    opf_fuser *fuser = growth->fuser;
    opf_arena *scratch = opf_arena_new(), *kept = fuser->arena;
    opf_group alone, user;
    fuser->arena = scratch;
    bool good = compose_alone(fuser, s->node, &alone) && opf_growth_compose(growth, s->to, &user) && reads_at_points(&user, s->node->outputs[0], fuser->pool) &&
                opf_prologue_fits(&alone, &user, fuser->settings, fuser->pool, scratch) == OPF_RULE_PROLOGUE;
    fuser->arena = kept;
    opf_arena_free(scratch);
    return good;
}

/* Nothing but the product leaves its group, and one group that holds a contraction reads it. */
static bool is_scale(opf_growth *growth, opf_node *node, scaling *s) {
    opf_fuser *fuser = growth->fuser;
    int from = fuser->group_of[node->id];
    if (fuser->folded[node->id] || node->n_outputs != 1 || fuser->kinds[node->id] > OPF_KIND_BROADCAST || fuser->joined[node->id])
        return false;
    if (growth->members[from].count < 2 || growth->light[from] || growth->closed[from] || opf_value_nominal_bytes(node->outputs[0]) < LEAST_BYTES)
        return false;
    *s = (scaling){node, factor_of(fuser, node), from, opf_growth_only_user(growth, from)};
    if (!s->factor || s->to < 0 || growth->users[node->id].count != 1 || fuser->group_of[growth->users[node->id].data[0]->id] != s->to)
        return false;
    return !growth->light[s->to] && !growth->closed[s->to] && !opf_growth_pair_apart(growth, from, s->to) && fits(growth, s);
}

static void move(opf_growth *growth, const scaling *s) {
    opf_fuser *fuser = growth->fuser;
    opf_node_list rest = {0}, all = {0};
    for (size_t m = 0; m < growth->members[s->from].count; m++)
        if (growth->members[s->from].data[m] != s->node)
            OPF_PUSH(fuser->arena, &rest, growth->members[s->from].data[m]);
    bool placed = false; /* in the graph's order */
    for (size_t m = 0; m < growth->members[s->to].count; m++) {
        opf_node *member = growth->members[s->to].data[m];
        if (!placed && member->id > s->node->id) {
            OPF_PUSH(fuser->arena, &all, s->node);
            placed = true;
        }
        OPF_PUSH(fuser->arena, &all, member);
    }
    growth->members[s->from] = rest;
    growth->members[s->to] = all;
    growth->prologue[s->node->id] = true;
    fuser->group_of[s->node->id] = s->to;
    fuser->outcomes[s->factor->id] = (opf_outcome){.rule = OPF_RULE_SCALE_AHEAD, .bytes = opf_value_nominal_bytes(s->node->outputs[0])};
    if (rest.count == 1)
        fuser->formed[s->from] = OPF_RULE_SINGLE;
    if (fuser->formed[s->to] == OPF_RULE_SINGLE)
        fuser->formed[s->to] = OPF_RULE_PROLOGUE;
}

void opf_grow_scales(opf_growth *growth) {
    scaling s;
    for (int i = 0; i < growth->fuser->n_nodes; i++)
        if (is_scale(growth, growth->fuser->graph->nodes.data[i], &s))
            move(growth, &s);
}
