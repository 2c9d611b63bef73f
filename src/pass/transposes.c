/* Transposes around element-wise work meet and vanish: exports from a framework with channels last put each convolution between two of
 * them, with normalisation and activation in the other layout in between. So do axes of one element that come and go: a convolution along one axis is exported as
 * one along two, with bias and activation between a Squeeze and an Unsqueeze.
 *
 * Work whose operands are all turned alike, constants apart, is done in the layout in front of the transposes (its *twin*), and what others
 * read of it is turned behind it. Nodes that read each other's results are moved together, and only where fewer bytes are turned then; axes of one element cost
 * nothing, and work moves in front of where they change if it then stands right behind sums. No number changes. Transposes and element-wise work are known
 * by their stages. */
#include <string.h>

#include "base/map.h"
#include "pass/edit.h"

enum { MOST_NUMBERS = 1 << 16 /* of a constant that is turned beforehand */ };

/* Axis j of a value is axis[j] of its twin; -1: of one element, and not there. So are those of the twin that none is. */
typedef struct opf_layout { int rank, twin_rank, axis[OPF_MAX_RANK]; } opf_layout;

typedef struct opf_turning {
    enum { OTHER, TURNS, WORKS } what; /* a transpose; element-wise work on values of one layout */
    opf_layout layout;                 /* of its result */
    int leader;                        /* another node of those that are moved together, or itself */
    double saved;                      /* of the leader: bytes that need not be turned any more, less those that have to be */
} opf_turning;

/* Work that has been done in its twin's layout, and the transpose from there to its result. */
typedef struct opf_moved { opf_node *node; opf_value *result, *twin; opf_node *turn; } opf_moved;

typedef struct opf_turnings {
    opf_graph *graph;
    opf_arena *arena;
    size_t n_nodes;
    opf_turning *at; /* by node of the graph as it was */
    opf_map twins;   /* value → what it turns */
    OPF_VEC(opf_moved *) moved;
} opf_turnings;

/* ---- what a node does ---- */

static bool is_plain(const opf_node *node) {
    const opf_op *op = opf_node_op(node);
    return op && !node->held && !(op->flags & (OPF_OP_STATEFUL | OPF_OP_LIBRARY | OPF_OP_CONTROL | OPF_OP_LISTS)) && node->n_outputs == 1 && node->outputs[0] &&
           node->outputs[0]->rank > 0 && !opf_node_is_folded(node);
}

/* The load walks along each axis of its operand by a variable of its own. Of as many axes, units may stand for any unit. */
static bool read_layout(const opf_stage *stage, const opf_expr *load, const opf_value *operand, opf_layout *out) {
    *out = (opf_layout){.rank = stage->n_axes, .twin_rank = load->n_args};
    for (int j = 0; j < stage->n_axes; j++)
        out->axis[j] = -1;
    for (int k = 0; k < load->n_args; k++) {
        const opf_expr *index = load->args[k];
        bool unit = opf_is_value(index, 0) && opf_is_value(operand->dims[k], 1);
        int j = index->kind == OPF_EXPR_VAR ? index->index : 0;
        while (unit && j < stage->n_axes && (out->axis[j] >= 0 || !opf_is_value(stage->extents[j], 1)))
            j++;
        if (unit && out->twin_rank != out->rank)
            continue;
        if (j >= stage->n_axes || out->axis[j] >= 0 || (index->kind != OPF_EXPR_VAR && !unit) || stage->extents[j] != operand->dims[k])
            return false;
        out->axis[j] = k;
    }
    for (int j = 0; j < stage->n_axes; j++)
        if (out->axis[j] < 0 && !opf_is_value(stage->extents[j], 1))
            return false;
    return true;
}

/* Do axes of one element come or go, and nothing else? */
static bool changes_units(const opf_layout *layout) {
    int before = -1, missing = 0;
    for (int j = 0; j < layout->rank; j++) {
        missing += layout->axis[j] < 0;
        if (layout->axis[j] >= 0 && layout->axis[j] <= before)
            return false;
        before = layout->axis[j] < 0 ? before : layout->axis[j];
    }
    return layout->rank != layout->twin_rank && missing == (layout->rank > layout->twin_rank ? layout->rank - layout->twin_rank : 0);
}

static bool turns(const opf_call *call, opf_layout *layout) {
    if (call->stages.list.count != 1 || call->results[0] != 0)
        return false;
    const opf_stage *stage = call->stages.list.data[0];
    const opf_expr *load = stage->body;
    const opf_value *operand = call->stages.inputs.data[0];
    bool moves = stage->combiner == OPF_COMBINE_NONE && load->kind == OPF_EXPR_LOAD && load->index == 0 && call->node->inputs[0] == operand;
    if (!moves || operand->rank == 0 || operand->dtype != stage->dtype || !read_layout(stage, load, operand, layout))
        return false;
    if (layout->rank != layout->twin_rank)
        return changes_units(layout);
    for (int j = 0; j < layout->rank; j++)
        if (layout->axis[j] != j)
            return true;
    return false;
}

/* Is everything read at the very point, aligned at the last axis, and no index a number? */
static bool reads_here(const opf_call *call, const opf_stage *stage, const opf_expr *e) {
    if (e->kind == OPF_EXPR_VAR)
        return false;
    if (e->kind != OPF_EXPR_LOAD) {
        for (int k = 0; k < e->n_args; k++)
            if (!reads_here(call, stage, e->args[k]))
                return false;
        return true;
    }
    size_t n_inputs = call->stages.inputs.count;
    const opf_stage *own = (size_t)e->index < n_inputs ? NULL : call->stages.list.data[(size_t)e->index - n_inputs];
    for (int k = 0; k < e->n_args; k++) {
        int axis = stage->n_axes - e->n_args + k;
        opf_dim extent = own ? own->extents[k] : call->stages.inputs.data[e->index]->dims[k];
        bool here = axis >= 0 && e->args[k] == opf_var(call->pool, axis);
        if (!here && !(opf_is_value(e->args[k], 0) && opf_is_value(extent, 1)))
            return false;
    }
    return true;
}

/* An axis may be spoken of though nothing depends on it here, for it has one element. */
static bool names_axis(const opf_node *node) {
    static const char *const names[] = {"axis", "axes", "broadcast"};
    for (size_t n = 0; n < OPF_COUNT(names); n++)
        if (opf_node_attr(node, names[n]))
            return true;
    bool numbers_only = !opf_node_op(node)->scalar; /* others may take an operand along an axis of their own */
    for (int k = 1; k < node->n_inputs && numbers_only; k++)
        if (node->inputs[k] && node->inputs[k]->rank != 0)
            return true;
    return false;
}

static bool is_element_wise(const opf_call *call) {
    if (names_axis(call->node))
        return false;
    for (size_t s = 0; s < call->stages.list.count; s++) {
        const opf_stage *stage = call->stages.list.data[s];
        if (stage->combiner != OPF_COMBINE_NONE || !reads_here(call, stage, stage->body))
            return false;
    }
    return call->stages.list.count > 0 && call->results[0] >= 0;
}

/* ---- which nodes ---- */

static bool is_constant(const opf_value *value) {
    const opf_tensor *tensor = opf_known_tensor(value);
    return tensor && (tensor->elements == 1 || (tensor->elements <= MOST_NUMBERS && opf_dtype_is_float(tensor->dtype)));
}

static opf_turning *turning_of(const opf_turnings *t, const opf_value *value) {
    const opf_node *producer = value->producer;
    return producer && producer->graph == t->graph ? &t->at[producer->id] : NULL;
}

static bool same_layout(const opf_layout *a, const opf_layout *b) {
    return a->rank == b->rank && a->twin_rank == b->twin_rank && memcmp(a->axis, b->axis, sizeof *a->axis * (size_t)a->rank) == 0;
}

/* Have all operands, constants apart, one layout and the result's rank? */
static bool one_layout(const opf_turnings *t, const opf_node *node, opf_layout *layout) {
    layout->rank = 0;
    for (int k = 0; k < node->n_inputs; k++) {
        const opf_value *operand = node->inputs[k];
        if (!operand || is_constant(operand))
            continue;
        const opf_turning *from = turning_of(t, operand);
        if (!from || from->what == OTHER || from->layout.rank != node->outputs[0]->rank || (layout->rank && !same_layout(layout, &from->layout)))
            return false;
        *layout = from->layout;
    }
    return layout->rank > 0;
}

static int leader_of(const opf_turnings *t, int node) {
    while (t->at[node].leader != node)
        node = t->at[node].leader;
    return node;
}

static opf_status study(const opf_turnings *t) {
    for (size_t i = 0; i < t->graph->nodes.count; i++) {
        opf_node *node = t->graph->nodes.data[i];
        opf_turning *own = &t->at[i];
        opf_call *call;
        own->leader = (int)i;
        if (!is_plain(node))
            continue;
        opf_status status = opf_op_stages(&call, node);
        if (status != OPF_OK)
            return status;
        if (turns(call, &own->layout))
            own->what = TURNS;
        else if (one_layout(t, node, &own->layout) && is_element_wise(call))
            own->what = WORKS;
        for (int k = 0; own->what == WORKS && k < node->n_inputs; k++)
            if (node->inputs[k] && !is_constant(node->inputs[k]))
                t->at[leader_of(t, node->inputs[k]->producer->id)].leader = (int)i;
    }
    return OPF_OK;
}

/* ---- what it saves ---- */

/* Does the node turn a value of this layout back? */
static bool turns_back(const opf_turnings *t, const opf_node *node, const opf_layout *layout) {
    const opf_turning *own = node->graph == t->graph && (size_t)node->id < t->n_nodes ? &t->at[node->id] : NULL;
    if (!own || own->what != TURNS || own->layout.rank != layout->twin_rank || own->layout.twin_rank != layout->rank)
        return false;
    for (int j = 0; j < own->layout.rank; j++)
        if (own->layout.axis[j] >= 0 && layout->axis[own->layout.axis[j]] != j)
            return false;
    for (int j = 0; j < layout->rank; j++)
        if (layout->axis[j] >= 0 && own->layout.axis[layout->axis[j]] != j)
            return false;
    return true;
}

static bool works(const opf_turnings *t, const opf_node *node) { return node->graph == t->graph && t->at[node->id].what == WORKS; }

/* Is it the result of sums, which element-wise work may join? */
static bool is_of_sums(const opf_value *value) {
    const opf_node *producer = value->producer;
    const opf_op *op = producer ? opf_node_op(producer) : NULL;
    return op && op->kind == OPF_KIND_OUT_ELEMWISE_FUSABLE;
}

static void price(const opf_turnings *t) {
    for (size_t i = 0; i < t->graph->nodes.count; i++) {
        const opf_turning *own = &t->at[i];
        if (own->what == OTHER)
            continue;
        const opf_value *value = t->graph->nodes.data[i]->outputs[0];
        double bytes = (double)opf_value_nominal_bytes(value), *saved = &t->at[leader_of(t, (int)i)].saved;
        bool rest = value->is_output;
        for (size_t u = 0; u < value->uses.count; u++) {
            const opf_node *user = value->uses.data[u].node;
            bool back = own->what == WORKS && turns_back(t, user, &own->layout) && !user->outputs[0]->is_output;
            rest = rest || (!works(t, user) && !back);
            *saved += back && own->layout.rank == own->layout.twin_rank ? bytes : 0;
        }
        if (own->layout.rank != own->layout.twin_rank)
            *saved = *saved > 0 || (own->what == TURNS && is_of_sums(t->graph->nodes.data[i]->inputs[0]));
        else if (own->what == TURNS)
            *saved += rest || value->uses.count == 0 ? 0 : bytes;
        else
            *saved -= rest ? bytes : 0;
    }
}

/* ---- the change ---- */

/* The constant in the layout of the twin. */
static opf_value *turned_constant(opf_turnings *t, opf_value *value, const opf_layout *layout) {
    const opf_tensor *tensor = opf_known_tensor(value);
    if (tensor->elements == 1 && tensor->rank <= layout->twin_rank)
        return value;
    int64_t dims[OPF_MAX_RANK], stride[OPF_MAX_RANK], step = 1;
    for (int place = 0; place < layout->twin_rank; place++)
        dims[place] = stride[place] = 1;
    for (int j = layout->rank - 1; j >= 0; j--) { /* axis j of the result, by its place in the twin */
        int k = j - (layout->rank - tensor->rank), place = layout->axis[j];
        if (k < 0 || place < 0)
            continue;
        dims[place] = tensor->dims[k];
        stride[place] = step;
        step *= dims[place];
    }
    double *numbers = OPF_ARRAY(t->arena, double, tensor->elements);
    for (int64_t i = 0; i < tensor->elements; i++) {
        int64_t rest = i, from = 0;
        for (int k = layout->twin_rank - 1; k >= 0; k--) {
            from += rest % dims[k] * stride[k];
            rest /= dims[k];
        }
        numbers[i] = opf_tensor_get(tensor, from);
    }
    return opf_constant_like(t->graph, tensor->dtype, layout->twin_rank, dims, numbers);
}

static opf_value *twin_of(opf_turnings *t, opf_value *operand, const opf_layout *layout) {
    return is_constant(operand) ? turned_constant(t, operand, layout) : opf_map_get(&t->twins, operand);
}

enum { AXES_ARE_AN_OPERAND = 13 }; /* of Squeeze and Unsqueeze from this version on */

/* A node that makes a value of its twin. */
static opf_node *turn_of(opf_turnings *t, const opf_layout *layout) {
    bool found[OPF_MAX_RANK] = {false};
    int64_t axes[OPF_MAX_RANK];
    size_t count = 0;
    bool squeezes = layout->rank < layout->twin_rank, permutes = layout->rank == layout->twin_rank;
    for (int j = 0; j < layout->rank; j++) {
        if (permutes || (!squeezes && layout->axis[j] < 0))
            axes[count++] = permutes ? layout->axis[j] : j;
        if (layout->axis[j] >= 0)
            found[layout->axis[j]] = true;
    }
    for (int k = 0; squeezes && k < layout->twin_rank; k++)
        if (!found[k])
            axes[count++] = k;
    int version = opf_pass_version(t->graph, 1);
    bool operand = !permutes && version >= AXES_ARE_AN_OPERAND;
    opf_node *turn = opf_node_new(t->graph, NULL, permutes ? "Transpose" : squeezes ? "Squeeze" : "Unsqueeze", "", version, 1 + operand, 1);
    if (operand) opf_node_set_input(turn, 1, opf_constant_ints(t->graph, (int64_t)count, axes));
    else opf_node_attr_add(turn, permutes ? "perm" : "axes", OPF_ATTR_INTS, count, axes);
    return turn;
}

/* The work goes to its twin's layout; what still reads its result reads it turned. */
static opf_status move(opf_turnings *t, opf_node *node) {
    const opf_layout *layout = &t->at[node->id].layout;
    opf_moved *moved = OPF_NEW(t->arena, opf_moved);
    *moved = (opf_moved){node, node->outputs[0], opf_value_new(t->graph, NULL), turn_of(t, layout)};
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k])
            opf_node_set_input(node, k, twin_of(t, node->inputs[k], layout));
    opf_node_set_output(node, 0, moved->twin);
    opf_map_set(&t->twins, moved->result, moved->twin);
    opf_node_set_input(moved->turn, 0, moved->twin);
    opf_node_set_output(moved->turn, 0, moved->result);
    opf_node_origins_add(moved->turn, node);
    OPF_PUSH(t->arena, &t->moved, moved);
    opf_status status = opf_node_type(node);
    return status == OPF_OK ? opf_node_type(moved->turn) : status;
}

/* A reader that turns the result back reads the twin itself. */
static bool take_back(const opf_turnings *t, const opf_moved *moved) {
    for (size_t u = 0; u < moved->result->uses.count; u++) {
        opf_node *user = moved->result->uses.data[u].node;
        if (!turns_back(t, user, &t->at[moved->node->id].layout) || user->outputs[0]->is_output)
            continue;
        opf_value_replace(user->outputs[0], moved->twin);
        opf_pass_remove(user, "turns back what need not be turned", moved->node);
        return true;
    }
    return false;
}

static opf_status finish(opf_turnings *t, size_t n_nodes, opf_node *const *nodes) {
    for (size_t m = 0; m < t->moved.count; m++) {
        const opf_moved *moved = t->moved.data[m];
        while (take_back(t, moved)) {}
        if (moved->result->uses.count == 0 && !moved->result->is_output)
            opf_node_remove(moved->turn);
    }
    for (size_t i = 0; i < n_nodes; i++)
        if (t->at[i].what == TURNS && nodes[i]->graph && nodes[i]->outputs[0]->uses.count == 0 && !nodes[i]->outputs[0]->is_output && t->at[leader_of(t, (int)i)].saved > 0)
            opf_pass_remove(nodes[i], "what it turned is worked on as it lies", nodes[i]->inputs[0]->producer);
    return opf_graph_sort(t->graph);
}

/* What turns a turned value back right behind it hands on what was there before: true where there was such. */
static bool cancel(const opf_turnings *t) {
    bool found = false;
    for (size_t i = 0; i < t->graph->nodes.count; i++) {
        opf_node *node = t->graph->nodes.data[i], *before = t->at[i].what == TURNS ? node->inputs[0]->producer : NULL;
        bool back = before && before->graph == t->graph && t->at[before->id].what == TURNS && turns_back(t, node, &t->at[before->id].layout);
        if (!back || node->outputs[0]->is_output || node->outputs[0]->uses.count == 0)
            continue;
        opf_value_replace(node->outputs[0], before->inputs[0]);
        found = true;
    }
    return found;
}

/* Nodes that turn what nobody reads, latest first. */
static void remove_unread(const opf_turnings *t) {
    for (size_t i = t->graph->nodes.count; i-- > 0;) {
        opf_node *node = t->graph->nodes.data[i];
        if (t->at[node->id].what == TURNS && node->outputs[0]->uses.count == 0 && !node->outputs[0]->is_output)
            opf_pass_remove(node, "it is turned back right behind", node->inputs[0]->producer);
    }
}

static opf_status meet(opf_graph *graph) {
    opf_arena *arena = graph->module->arena;
    opf_turnings t = {.graph = graph, .arena = arena, .n_nodes = graph->nodes.count, .at = OPF_ARRAY(arena, opf_turning, graph->nodes.count + 1)};
    opf_graph_renumber(graph);
    opf_status status = study(&t);
    if (status == OPF_OK && cancel(&t))
        remove_unread(&t);
    opf_graph_renumber(graph);
    return status;
}

opf_status opf_pass_transposes(opf_graph *graph) {
    opf_status met = meet(graph);
    if (met != OPF_OK)
        return met;
    opf_arena *arena = graph->module->arena;
    size_t n_nodes = graph->nodes.count;
    opf_turnings t = {.graph = graph, .arena = arena, .n_nodes = n_nodes, .at = OPF_ARRAY(arena, opf_turning, n_nodes + 1), .twins = opf_map_new(arena)};
    opf_graph_renumber(graph);
    opf_node **nodes = opf_arena_copy(arena, graph->nodes.data, n_nodes * sizeof *nodes);
    opf_status status = study(&t);
    if (status == OPF_OK)
        price(&t);
    for (size_t i = 0; i < n_nodes && status == OPF_OK; i++) {
        bool pays = t.at[leader_of(&t, (int)i)].saved > 0;
        if (t.at[i].what == TURNS)
            opf_map_set(&t.twins, nodes[i]->outputs[0], nodes[i]->inputs[0]);
        else if (t.at[i].what == WORKS && pays)
            status = move(&t, nodes[i]);
    }
    if (status == OPF_OK && t.moved.count > 0)
        status = finish(&t, n_nodes, nodes);
    opf_graph_renumber(graph);
    return status;
}
