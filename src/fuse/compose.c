/* The nodes of a group → one list of stages over its outside values.
 *
 * Each node's own stages name tensors by numbers of their own. They are put in a row under provisional numbers (outside
 * values from 0 on, stages from FIRST_STAGE on); then the stages that no result needs are dropped, and with them the
 * values that only they read, and everything is numbered for good. */
#include "fuse/matched.h"
#include "ops/control.h"

enum { FIRST_STAGE = 1 << 28 };

typedef struct opf_composer {
    opf_fuser *fuser;
    opf_group *group;
    opf_map inputs;                /* outside value → its provisional number + 1 */
    OPF_VEC(opf_value *) outside;
    opf_map inside;                /* value made in the group → its stage's provisional number */
    OPF_VEC(opf_stage *) list;
    const opf_call *call;          /* whose bodies are being translated */
    int base;                      /* provisional number of the call's first stage */
    const opf_stage *stage;        /* being translated */
} opf_composer;

static void *number_of(int tensor) { return (void *)(intptr_t)(tensor + 1); }

static int known_number(const opf_map *map, const opf_value *value) { return (int)(intptr_t)opf_map_get(map, value) - 1; }

static int outside_number(opf_composer *composer, opf_value *value) {
    int number = known_number(&composer->inputs, value);
    if (number < 0) {
        number = (int)composer->outside.count;
        opf_map_set(&composer->inputs, value, number_of(number));
        OPF_PUSH(composer->fuser->arena, &composer->outside, value);
    }
    return number;
}

/* Is the index the same at each point of the stage? A variable over a single point is 0. */
static bool fixed_index(const opf_stage *stage, const opf_expr *index, int64_t *at) {
    if (opf_is_int(index, at))
        return true;
    *at = 0;
    return index->kind == OPF_EXPR_VAR && opf_is_value(stage->extents[index->index], 1);
}

/* The element of a content-known value that a load reads, NULL where it depends on the point. */
static const opf_expr *content_element(const opf_stage *stage, const opf_value *value, const opf_expr *load) {
    int64_t flat = 0;
    for (int axis = 0; axis < load->n_args; axis++) {
        int64_t at, extent;
        if (!fixed_index(stage, load->args[axis], &at) || !opf_is_int(value->dims[axis], &extent) || at < 0 || at >= extent)
            return NULL;
        flat = flat * extent + at;
    }
    return flat < value->content_count ? value->content[flat] : NULL;
}

static const opf_expr *literal(opf_pool *pool, const opf_tensor *tensor) {
    if (opf_dtype_is_float(tensor->dtype))
        return opf_real(pool, tensor->dtype, opf_tensor_get(tensor, 0));
    if (opf_dtype_is_integer(tensor->dtype) || tensor->dtype == OPF_BOOL)
        return opf_int_of(pool, tensor->dtype, opf_tensor_get_int(tensor, 0));
    return NULL;
}

/* What a load of one of the node's inputs becomes, where it becomes no load. */
static const opf_expr *known_element(const opf_composer *composer, const opf_value *value, const opf_expr *load) {
    opf_pool *pool = composer->fuser->pool;
    const opf_expr *element = NULL;
    if (value->constant && value->constant->elements == 1)
        element = literal(pool, value->constant);
    else if (value->content)
        element = content_element(composer->stage, value, load);
    return element && element->dtype != load->dtype ? opf_cast(pool, load->dtype, element) : element;
}

static const opf_expr *translate_leaf(opf_pool *pool, const opf_expr *leaf, void *data) {
    opf_composer *composer = data;
    if (leaf->kind != OPF_EXPR_LOAD)
        return NULL;
    int n_inputs = (int)composer->call->stages.inputs.count, tensor;
    if (leaf->index >= n_inputs) {
        tensor = composer->base + leaf->index - n_inputs;
    } else {
        opf_value *value = composer->call->stages.inputs.data[leaf->index];
        const opf_expr *known = known_element(composer, value, leaf);
        if (known)
            return known;
        int inside = known_number(&composer->inside, value);
        tensor = inside >= 0 ? inside : outside_number(composer, value);
    }
    return opf_load(pool, leaf->dtype, tensor, leaf->n_args, leaf->args);
}

static opf_stage *translate(opf_composer *composer, const opf_stage *stage, opf_expr_mapper map) {
    opf_stage *copy = opf_arena_copy(composer->fuser->arena, stage, sizeof *stage);
    composer->stage = stage;
    copy->body = opf_expr_map(composer->fuser->pool, stage->body, map, composer);
    if (stage->second)
        copy->second = opf_expr_map(composer->fuser->pool, stage->second, map, composer);
    return copy;
}

static void add_node(opf_composer *composer, const opf_node *node) {
    const opf_call *call = composer->fuser->calls[node->id];
    composer->call = call;
    composer->base = FIRST_STAGE + (int)composer->list.count;
    for (size_t s = 0; s < call->stages.list.count; s++)
        OPF_PUSH(composer->fuser->arena, &composer->list, translate(composer, call->stages.list.data[s], translate_leaf));
    for (int k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] && call->results[k] >= 0)
            opf_map_set(&composer->inside, node->outputs[k], number_of(composer->base + call->results[k]));
}

bool opf_fuser_holds(const opf_fuser *fuser, int group, const opf_node *node) {
    if (fuser->group_of[node->id] == group)
        return true;
    for (size_t i = 0; group >= 0 && fuser->is_copied[node->id] && i < fuser->copied[group].count; i++)
        if (fuser->copied[group].data[i] == node)
            return true;
    return false;
}

/* A node alone (group -1) stores for all its readers. */
static bool reads_from(const opf_fuser *fuser, int group, const opf_node *producer, int reader) {
    return reader != group && (group < 0 || !opf_fuser_holds(fuser, reader, producer));
}

bool opf_fuser_leaves(const opf_fuser *fuser, int group, const opf_value *value) {
    if (value->is_output)
        return true;
    for (size_t u = 0; u < value->uses.count; u++) {
        const opf_node *user = opf_node_within(value->uses.data[u].node, fuser->graph);
        if (fuser->folded[user->id])
            continue;
        if (reads_from(fuser, group, value->producer, fuser->group_of[user->id]))
            return true;
        for (int g = 0; fuser->is_copied[user->id] && g < fuser->n_groups; g++)
            if (opf_fuser_holds(fuser, g, user) && reads_from(fuser, group, value->producer, g))
                return true;
    }
    return false;
}

/* A place of its own for what the group computes again: the value itself is another group's to store. */
static opf_value *second_place(opf_composer *composer, const opf_value *value) {
    opf_value *copy = opf_arena_copy(composer->fuser->arena, value, sizeof *value);
    copy->uses.count = 0;
    copy->is_output = false;
    return copy;
}

static void take_results(opf_composer *composer) {
    const opf_fuser *fuser = composer->fuser;
    opf_group *group = composer->group;
    for (size_t i = 0; i < group->nodes.count; i++) {
        const opf_node *node = group->nodes.data[i];
        bool at_home = fuser->group_of[node->id] == group->id, stored = fuser->is_stored[node->id];
        for (int k = 0; (at_home || stored) && k < node->n_outputs; k++) {
            opf_value *value = node->outputs[k];
            int stage = value ? known_number(&composer->inside, value) : -1;
            if (stage >= 0 && (stored || opf_fuser_leaves(fuser, group->id, value)))
                OPF_PUSH(fuser->arena, &group->results, (opf_result){at_home ? value : second_place(composer, value), stage - FIRST_STAGE});
        }
    }
}

/* ---- what the results need ---- */

typedef struct opf_marking {
    bool *inputs, *stages;
} opf_marking;

static bool mark_load(const opf_expr *e, void *data) {
    opf_marking *marking = data;
    if (e->kind == OPF_EXPR_LOAD && e->index < FIRST_STAGE)
        marking->inputs[e->index] = true;
    else if (e->kind == OPF_EXPR_LOAD)
        marking->stages[e->index - FIRST_STAGE] = true;
    return true;
}

static opf_marking mark_needed(const opf_composer *composer) {
    opf_arena *arena = composer->fuser->arena;
    opf_marking marking = {OPF_ARRAY(arena, bool, composer->outside.count), OPF_ARRAY(arena, bool, composer->list.count)};
    for (size_t r = 0; r < composer->group->results.count; r++)
        marking.stages[composer->group->results.data[r].stage] = true;
    for (size_t s = composer->list.count; s-- > 0;) { /* stages read earlier ones only */
        const opf_stage *stage = composer->list.data[s];
        if (!marking.stages[s])
            continue;
        opf_expr_visit(composer->fuser->pool, stage->body, mark_load, &marking);
        if (stage->second)
            opf_expr_visit(composer->fuser->pool, stage->second, mark_load, &marking);
    }
    return marking;
}

typedef struct opf_renumbering {
    const int *inputs, *stages;
} opf_renumbering;

static const opf_expr *renumber_leaf(opf_pool *pool, const opf_expr *leaf, void *data) {
    const opf_renumbering *numbers = data;
    if (leaf->kind != OPF_EXPR_LOAD)
        return NULL;
    int tensor = leaf->index < FIRST_STAGE ? numbers->inputs[leaf->index] : numbers->stages[leaf->index - FIRST_STAGE];
    return opf_load(pool, leaf->dtype, tensor, leaf->n_args, leaf->args);
}

/* New numbers for what is marked; the count of it. */
static int number_marked(const bool *marked, size_t count, int first, int *numbers) {
    for (size_t i = 0; i < count; i++)
        if (marked[i])
            numbers[i] = first++;
    return first;
}

static void settle(opf_composer *composer) {
    opf_arena *arena = composer->fuser->arena;
    opf_pool *pool = composer->fuser->pool;
    opf_group *group = composer->group;
    opf_marking marking = mark_needed(composer);
    int *inputs = OPF_ARRAY(arena, int, composer->outside.count), *stages = OPF_ARRAY(arena, int, composer->list.count);
    int n_inputs = number_marked(marking.inputs, composer->outside.count, 0, inputs);
    number_marked(marking.stages, composer->list.count, n_inputs, stages);
    opf_renumbering numbers = {inputs, stages};

    for (size_t i = 0; i < composer->outside.count; i++)
        if (marking.inputs[i])
            OPF_PUSH(arena, &group->stages.inputs, composer->outside.data[i]);
    for (size_t s = 0; s < composer->list.count; s++) {
        opf_stage *stage = composer->list.data[s];
        if (!marking.stages[s])
            continue;
        stage->body = opf_expr_map(pool, stage->body, renumber_leaf, &numbers);
        if (stage->second)
            stage->second = opf_expr_map(pool, stage->second, renumber_leaf, &numbers);
        OPF_PUSH(arena, &group->stages.list, stage);
    }
    for (size_t r = 0; r < group->results.count; r++)
        group->results.data[r].stage = stages[group->results.data[r].stage] - n_inputs;
}

/* Is the graph a sub-graph of the node, at any depth? */
static bool is_within(const opf_graph *graph, const opf_node *node) {
    for (; graph; graph = graph->parent ? graph->parent->graph : NULL)
        if (graph->parent == node)
            return true;
    return false;
}

/* What the sub-graphs of a node read of the graphs around them. */
static void take_captured(opf_composer *composer, const opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        for (int k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] && !is_within(node->inputs[k]->graph, composer->group->nodes.data[0]))
                outside_number(composer, node->inputs[k]);
        for (int g = 0; node->control && g < opf_control_graphs(node->control); g++)
            take_captured(composer, node->control->graphs[g]);
    }
}

/* A library or control node is a step of its own: all its operands, and the results that anything reads. */
static opf_status compose_whole(opf_composer *composer) {
    opf_group *group = composer->group;
    const opf_node *node = group->nodes.data[0];
    if (group->nodes.count > 1) {
        opf_node_error(node, "groups", "a group of several nodes holds one that is a step of its own");
        return OPF_ERROR_INPUT;
    }
    group->library = composer->fuser->calls[node->id]->library;
    group->control = composer->fuser->calls[node->id]->control;
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k])
            outside_number(composer, node->inputs[k]);
    for (int g = 0; group->control && g < opf_control_graphs(group->control); g++)
        take_captured(composer, group->control->graphs[g]);
    for (size_t i = 0; i < composer->outside.count; i++)
        OPF_PUSH(composer->fuser->arena, &group->stages.inputs, composer->outside.data[i]);
    for (int k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] && opf_fuser_leaves(composer->fuser, group->id, node->outputs[k]))
            OPF_PUSH(composer->fuser->arena, &group->results, (opf_result){node->outputs[k], -1});
    return OPF_OK;
}

/* A user's kernel: the operands and results that its pattern names. */
static opf_status compose_own(opf_composer *composer, const opf_matched *matched) {
    opf_group *group = composer->group;
    group->library = matched->match->call;
    group->caller = matched->caller;
    for (int k = 0; k < group->caller->n_inputs; k++)
        if (group->caller->inputs[k])
            outside_number(composer, group->caller->inputs[k]);
    for (size_t i = 0; i < composer->outside.count; i++)
        OPF_PUSH(composer->fuser->arena, &group->stages.inputs, composer->outside.data[i]);
    for (int k = 0; k < group->caller->n_outputs; k++)
        if (opf_fuser_leaves(composer->fuser, group->id, group->caller->outputs[k]))
            OPF_PUSH(composer->fuser->arena, &group->results, (opf_result){group->caller->outputs[k], -1});
    return OPF_OK;
}

static bool holds_whole(const opf_fuser *fuser, const opf_group *group) {
    for (size_t i = 0; i < group->nodes.count; i++)
        if (fuser->calls[group->nodes.data[i]->id]->library || fuser->calls[group->nodes.data[i]->id]->control)
            return true;
    return false;
}

opf_status opf_compose(opf_fuser *fuser, opf_group *group) {
    opf_composer composer = {
        .fuser = fuser, .group = group, .inputs = opf_map_new(fuser->arena), .inside = opf_map_new(fuser->arena)};
    const opf_matched *matched = group->id >= 0 ? fuser->joined[group->nodes.data[0]->id] : NULL;
    if (matched && matched->caller)
        return compose_own(&composer, matched);
    if (holds_whole(fuser, group))
        return compose_whole(&composer);
    for (size_t i = 0; i < group->nodes.count; i++)
        add_node(&composer, group->nodes.data[i]);
    take_results(&composer);
    settle(&composer);
    const char *wrong = opf_stages_check(&group->stages, fuser->arena);
    if (!wrong)
        return OPF_OK;
    opf_node_error(group->nodes.data[0], "internal", "the stages of the group that begins here are inconsistent: %s", wrong);
    return OPF_ERROR_INTERNAL;
}
