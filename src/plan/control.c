/* Control flow as steps in a row, with marks where branches and loops begin and end. Carried values have a place of their
 * own, which the body's results are copied to; what a loop stacks up is written where it belongs. */
#include "ops/control.h"
#include "ops/counts.h"
#include "plan/planner.h"

static int add_mark(opf_planner *planner, opf_step step) {
    step.kernel = -1;
    OPF_PUSH(planner->arena, &planner->program->steps, step);
    return (int)planner->program->steps.count - 1;
}

static int workspace_for(opf_planner *planner, const opf_value *value) {
    return opf_planner_add_buffer(planner, (opf_buffer){.kind = OPF_BUFFER_WORKSPACE, .index = -1, .value = value,
                                                        .bytes = opf_dim_most(planner->program->module, opf_planner_bytes(planner, value))});
}

/* ---- before a branch or body ---- */

/* What is read inside and known, or a view, comes into being in front: inside, a branch might not run. */
static bool hoist(opf_planner *planner, const opf_group *group) {
    for (size_t i = 0; i < group->stages.inputs.count; i++) {
        const opf_value *value = group->stages.inputs.data[i];
        bool read = value->constant || value->content || opf_map_has(&planner->buffers, value) || opf_map_has(&planner->sources, value) || !value->producer;
        if (!value->constant && read && opf_planner_operand(planner, value, true) < 0) return false;
    }
    return true;
}

static void set_sizes(opf_planner *planner, const opf_control *control, int which) {
    if (!control->sizes.count) return;
    add_mark(planner, (opf_step){.kind = OPF_RUN_SET, .control = control, .which = which});
}

static void sizes_are_found(opf_planner *planner, const opf_control *control) {
    for (size_t i = 0; i < control->sizes.count; i++) opf_planner_found(planner, control->sizes.data[i].symbol);
}

/* ---- If ---- */

/* A result of a branch that one of its own steps computes is computed in the If's result. */
static void place_result(opf_planner *planner, const opf_graph *branch, const opf_value *result, int to) {
    const opf_value *root = opf_planner_root(planner, result);
    bool own = root->graph == branch && root->producer && !root->content;
    if (own && !opf_map_has(&planner->buffers, root) && !opf_map_has(&planner->placed, root)) opf_map_set(&planner->placed, root, (void *)((size_t)to + 1));
}

static opf_status plan_branch(opf_planner *planner, const opf_group *group, int which, const int *results) {
    const opf_node *node = group->nodes.data[0];
    const opf_graph *branch = group->control->graphs[which];
    opf_planner_views(planner, group->bodies[which]);
    for (int k = 0; k < node->n_outputs; k++)
        if (results[k] >= 0) place_result(planner, branch, branch->outputs.data[k], results[k]);
    opf_planner_enter(planner, branch);
    opf_status status = opf_planner_groups(planner, group->bodies[which]);
    for (int k = 0; k < node->n_outputs && status == OPF_OK; k++) {
        if (results[k] < 0) continue;
        int from = opf_planner_operand(planner, branch->outputs.data[k], true);
        if (from < 0) return OPF_ERROR_INTERNAL;
        if (opf_program_storage(planner->program, from) != opf_program_storage(planner->program, results[k])) opf_planner_copy(planner, results[k], from, branch->outputs.data[k]);
    }
    set_sizes(planner, group->control, which);
    return status;
}

static bool is_result(const opf_group *group, const opf_value *value) {
    for (size_t i = 0; i < group->results.count; i++)
        if (group->results.data[i].value == value) return true;
    return false;
}

static opf_status plan_if(opf_planner *planner, const opf_group *group) {
    const opf_node *node = group->nodes.data[0];
    int *results = OPF_ARRAY(planner->arena, int, node->n_outputs + 1), *condition = OPF_ARRAY(planner->arena, int, 1);
    if (group->control->taken >= 0) {
        opf_node_error(node, "internal", "a branch that always runs was left in its If");
        return OPF_ERROR_INTERNAL;
    }
    condition[0] = opf_planner_operand(planner, node->inputs[0], true);
    if (condition[0] < 0) return OPF_ERROR_INTERNAL;
    for (int k = 0; k < node->n_outputs; k++) results[k] = is_result(group, node->outputs[k]) ? opf_planner_result(planner, node->outputs[k]) : -1;
    add_mark(planner, (opf_step){.kind = OPF_RUN_IF, .control = group->control, .node = node, .n_buffers = 1, .buffers = condition});
    opf_status status = plan_branch(planner, group, 0, results);
    if (status != OPF_OK) return status;
    add_mark(planner, (opf_step){.kind = OPF_RUN_ELSE, .control = group->control, .node = node});
    status = plan_branch(planner, group, 1, results);
    add_mark(planner, (opf_step){.kind = OPF_RUN_END, .control = group->control, .node = node});
    if (status == OPF_OK) sizes_are_found(planner, group->control);
    return status;
}

/* ---- loops ---- */

typedef struct looping {
    opf_planner *planner;
    const opf_group *group;
    const opf_node *node;
    const opf_control *control;
    const opf_graph *body;
    int first_out, begin;  /* position of the carried values among the body's outputs; the step that opens the loop */
    int *carried, *stacked; /* buffers */
} looping;

static const opf_value *inside(const looping *l, int k) { return l->body->inputs.data[l->control->first + k]; }
static const opf_value *next(const looping *l, int k) { return l->body->outputs.data[l->first_out + k]; }

static opf_status begin_values(looping *l) {
    opf_planner *planner = l->planner;
    for (int k = 0; k < l->control->n_carried; k++) {
        const opf_value *start = l->node->inputs[l->control->first + k];
        int from = opf_planner_operand(planner, start, true);
        if (from < 0) return OPF_ERROR_INTERNAL;
        l->carried[k] = workspace_for(planner, inside(l, k));
        opf_planner_know(planner, inside(l, k), l->carried[k]);
        opf_planner_copy(planner, l->carried[k], from, start);
    }
    for (int k = 0; k < l->control->n_out; k++) {
        int position = l->control->n_carried + k;
        const opf_value *result = position < l->node->n_outputs ? l->node->outputs[position] : NULL;
        l->stacked[k] = result && is_result(l->group, result) ? opf_planner_result(planner, result) : -1;
    }
    return OPF_OK;
}

/* Buffers of the mark: trip count, condition, number of the iteration (each -1 where there is none), then results. */
static opf_status begin_loop(looping *l) {
    opf_planner *planner = l->planner;
    int n = 3 + l->control->n_out, *buffers = OPF_ARRAY(planner->arena, int, n);
    const opf_value *trip = l->control->first && !l->control->trip ? l->node->inputs[0] : NULL;
    const opf_value *condition = l->control->first && l->node->n_inputs > 1 ? l->node->inputs[1] : NULL;
    buffers[0] = trip ? opf_planner_operand(planner, trip, true) : -1;
    buffers[1] = condition ? opf_planner_operand(planner, condition, true) : -1;
    buffers[2] = -1;
    if ((trip && buffers[0] < 0) || (condition && buffers[1] < 0)) return OPF_ERROR_INTERNAL;
    if (l->control->first && !l->control->iteration) {
        buffers[2] = workspace_for(planner, l->body->inputs.data[0]);
        opf_planner_know(planner, l->body->inputs.data[0], buffers[2]);
    }
    for (int k = 0; k < l->control->n_out; k++) buffers[3 + k] = l->stacked[k];
    set_sizes(planner, l->control, 0);
    l->begin = add_mark(planner, (opf_step){.kind = OPF_RUN_LOOP, .control = l->control, .node = l->node, .n_buffers = n, .buffers = buffers});
    planner->program->steps.data[l->begin].loop = l->begin;
    sizes_are_found(planner, l->control);
    if (l->control->iteration) opf_planner_found(planner, l->control->iteration);
    return OPF_OK;
}

static opf_status cut_slices(looping *l) {
    opf_planner *planner = l->planner;
    for (int k = 0; k < l->control->n_in; k++) {
        int at = l->control->n_carried + k, *buffers = OPF_ARRAY(planner->arena, int, 2);
        const opf_value *whole = l->node->inputs[l->control->first + at];
        buffers[0] = workspace_for(planner, inside(l, at));
        buffers[1] = opf_planner_operand(planner, whole, true);
        if (buffers[1] < 0) return OPF_ERROR_INTERNAL;
        opf_planner_know(planner, inside(l, at), buffers[0]);
        add_mark(planner, (opf_step){.kind = OPF_RUN_SLICE, .control = l->control, .slices = l->control->in[k], .loop = l->begin, .value = inside(l, at), .n_buffers = 2, .buffers = buffers});
    }
    return OPF_OK;
}

static opf_status stack_results(looping *l) {
    opf_planner *planner = l->planner;
    for (int k = 0; k < l->control->n_out; k++) {
        const opf_value *part = next(l, l->control->n_carried + k);
        int *buffers = OPF_ARRAY(planner->arena, int, 2);
        if (l->stacked[k] < 0) continue;
        buffers[0] = l->stacked[k];
        buffers[1] = opf_planner_operand(planner, part, true);
        if (buffers[1] < 0) return OPF_ERROR_INTERNAL;
        add_mark(planner, (opf_step){.kind = OPF_RUN_STACK, .control = l->control, .slices = l->control->out[k], .loop = l->begin, .value = part, .n_buffers = 2, .buffers = buffers});
    }
    return OPF_OK;
}

/* All values go on at once: one that another carried value's place holds is copied aside first. */
static opf_status carry(looping *l) {
    opf_planner *planner = l->planner;
    int n = l->control->n_carried, *from = OPF_ARRAY(planner->arena, int, n + 1);
    for (int k = 0; k < n; k++) {
        from[k] = opf_planner_operand(planner, next(l, k), true);
        if (from[k] < 0) return OPF_ERROR_INTERNAL;
    }
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) {
            if (j == k || opf_program_storage(planner->program, from[k]) != &planner->program->buffers.data[l->carried[j]]) continue;
            int aside = workspace_for(planner, next(l, k));
            opf_planner_copy(planner, aside, from[k], next(l, k));
            from[k] = aside;
            break;
        }
    for (int k = 0; k < n; k++)
        if (opf_program_storage(planner->program, from[k]) != &planner->program->buffers.data[l->carried[k]]) opf_planner_copy(planner, l->carried[k], from[k], next(l, k));
    return OPF_OK;
}

static opf_status end_loop(looping *l) {
    opf_planner *planner = l->planner;
    int *condition = OPF_ARRAY(planner->arena, int, 1);
    condition[0] = l->control->first ? opf_planner_operand(planner, l->body->outputs.data[0], true) : -1;
    if (l->control->first && condition[0] < 0) return OPF_ERROR_INTERNAL;
    opf_status status = stack_results(l);
    if (status == OPF_OK && l->control->first) add_mark(planner, (opf_step){.kind = OPF_RUN_GOES_ON, .loop = l->begin, .n_buffers = 1, .buffers = condition});
    if (status == OPF_OK) status = carry(l);
    set_sizes(planner, l->control, 1);
    add_mark(planner, (opf_step){.kind = OPF_RUN_END, .control = l->control, .node = l->node, .loop = l->begin});
    if (l->control->trips) opf_planner_found(planner, l->control->trips);
    for (int k = 0; k < l->control->n_carried && k < l->node->n_outputs; k++)
        if (l->node->outputs[k]) opf_map_set(&planner->sources, l->node->outputs[k], (void *)inside(l, k));
    return status;
}

static opf_status plan_loop(opf_planner *planner, const opf_group *group) {
    const opf_control *control = group->control;
    looping l = {.planner = planner, .group = group, .node = group->nodes.data[0], .control = control, .body = control->graphs[0], .first_out = control->kind == OPF_CONTROL_LOOP};
    l.carried = OPF_ARRAY(planner->arena, int, control->n_carried + 1);
    l.stacked = OPF_ARRAY(planner->arena, int, control->n_out + 1);
    opf_planner_views(planner, group->bodies[0]);
    opf_status status = begin_values(&l);
    if (status == OPF_OK) status = begin_loop(&l);
    if (status == OPF_OK) status = cut_slices(&l);
    if (status == OPF_OK) status = opf_planner_groups(planner, group->bodies[0]);
    if (status == OPF_OK) status = end_loop(&l);
    return status;
}

opf_status opf_planner_control(opf_planner *planner, const opf_group *group) {
    if (!hoist(planner, group)) return OPF_ERROR_INTERNAL;
    return group->control->kind == OPF_CONTROL_IF ? plan_if(planner, group) : plan_loop(planner, group);
}
