/* If, Loop, Scan: types of what goes in and out of sub-graphs. */
#include "ops/control.h"

#include "ops/content.h"
#include "ops/counts.h"
#include "ops/facts.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/lists.h"

enum { ITERATION, TRIPS, FIRST_SIZE, MOST_ATTEMPTS = 8 }; /* numbers of the node's counts */

static opf_graph *graph_of(opf_call *call, const char *name) {
    const opf_attr *attr = opf_node_attr(call->node, name);
    if (attr && attr->kind == OPF_ATTR_GRAPH) return attr->graphs[0];
    opf_call_error(call, "attribute", "attribute '%s', a graph, is missing", name);
    return NULL;
}

static opf_control *new_control(opf_call *call, opf_control_kind kind) {
    opf_control *control = OPF_NEW(call->arena, opf_control);
    control->kind = kind;
    control->taken = -1;
    control->n_outputs = call->node->n_outputs;
    control->outputs = OPF_ARRAY(call->arena, opf_library_output, control->n_outputs + 1);
    return control;
}

/* The sub-graph reported what is wrong with it. */
static opf_status failed_inside(opf_call *call, opf_status status) {
    call->failed = true;
    return status;
}

static opf_status done(opf_call *call, opf_control *control) {
    if (call->failed) return OPF_ERROR_INPUT;
    call->control = call->node->control = control;
    return OPF_OK;
}

static bool type_known(opf_call *call, const opf_value *value, const char *what) {
    if (opf_value_is_typed(value)) return true;
    if (call->module->by_value.count) { /* typed once these inputs are given by value */
        call->deferred = call->failed = true;
        return false;
    }
    opf_call_error(call, "unsupported", "%s '%s' is of no known type", what, value->name);
    return false;
}

static void set_type(opf_value *value, opf_dtype dtype, int rank, const opf_dim *dims, const opf_list_type *list) {
    value->list = list;
    value->kind = !list ? OPF_VALUE_TENSOR : list->optional ? OPF_VALUE_OPTIONAL : OPF_VALUE_SEQUENCE;
    value->dtype = dtype;
    value->rank = rank;
    value->dims = OPF_ARRAY(value->graph->module->arena, opf_dim, rank + 1);
    for (int k = 0; k < rank; k++) value->dims[k] = dims[k];
    value->content = NULL;
    value->content_count = 0;
}

/* ---- If ---- */

/* 1, 0, or -1 where it is not known before the model runs. */
static int known_truth(opf_value *value) {
    const opf_expr *const *content = opf_value_content(value);
    int64_t truth;
    return content && value->content_count == 1 && opf_is_int(content[0], &truth) ? truth != 0 : -1;
}

static bool same_ranks(const opf_control *control) {
    for (int k = 0; k < control->n_outputs; k++) {
        const opf_value *a = control->graphs[0]->outputs.data[k], *b = control->graphs[1]->outputs.data[k];
        if (opf_value_is_typed(a) && opf_value_is_typed(b) && a->rank != b->rank) return false;
    }
    return true;
}

/* The truth of a comparison of sizes at nominal sizes; -1 where the condition is none. */
static int nominal_truth(const opf_expr *e) {
    while (e->kind == OPF_EXPR_CAST) e = e->args[0];
    if (e->kind == OPF_EXPR_UNARY && e->op == OPF_OP_NOT) return nominal_truth(e->args[0]) < 0 ? -1 : !nominal_truth(e->args[0]);
    if (e->kind != OPF_EXPR_BINARY || e->args[0]->dtype != OPF_INT64) return -1;
    int64_t a = opf_dim_nominal(e->args[0]), b = opf_dim_nominal(e->args[1]);
    switch (e->op) {
    case OPF_OP_EQ: return a == b;
    case OPF_OP_NE: return a != b;
    case OPF_OP_LT: return a < b;
    case OPF_OP_LE: return a <= b;
    default: return -1;
    }
}

static void guard_at_least(opf_call *call, opf_dim high, opf_dim low, bool strict) {
    const char *why = opf_arena_printf(call->arena, "%s '%s': the branch that is compiled", call->node->op, call->node->name);
    opf_module_guard(call->module, OPF_GUARD_GE, high, strict ? opf_add(call->pool, low, opf_call_int(call, 1)) : low, why);
}

/* Guards that a comparison for which nominal_truth has an answer comes out as `truth`. */
static void guard_truth(opf_call *call, const opf_expr *e, bool truth) {
    for (; e->kind == OPF_EXPR_CAST || e->kind == OPF_EXPR_UNARY; e = e->args[0])
        if (e->kind == OPF_EXPR_UNARY) truth = !truth;
    opf_dim a = e->args[0], b = e->args[1];
    bool equality = e->op == OPF_OP_EQ || e->op == OPF_OP_NE, up = opf_dim_nominal(a) > opf_dim_nominal(b) || opf_is_int(b, NULL);
    const char *why = opf_arena_printf(call->arena, "%s '%s': the branch that is compiled", call->node->op, call->node->name);
    if (equality && truth == (e->op == OPF_OP_EQ)) opf_module_guard(call->module, OPF_GUARD_EQ, a, b, why);
    else if (equality) guard_at_least(call, up ? a : b, up ? b : a, true);
    else guard_at_least(call, truth ? b : a, truth ? a : b, truth == (e->op == OPF_OP_LT));
}

/* The branches have no common type: one program cannot hold both, so the sizes must decide. Their truth at nominal sizes
 * is the first choice; type.c tries the other one where that leads to problems. -1: they have no say. */
static int decide_by_sizes(opf_call *call) {
    opf_module *module = call->module;
    const opf_expr *const *content = opf_value_content(opf_call_input(call, 0));
    if (!content || opf_call_input(call, 0)->content_count != 1) return -1;
    int truth = nominal_truth(content[0]);
    if (truth < 0) return -1;
    size_t at = 0;
    while (at < module->choices.count && module->choices.data[at].node != call->node) at++;
    if (at == module->choices.count) OPF_PUSH(module->arena, &module->choices, (opf_choice){call->node, truth != 0});
    truth = module->choices.data[at].truth;
    guard_truth(call, content[0], truth);
    return truth;
}

static opf_status type_branches(const opf_control *control, bool quiet) {
    opf_status status = OPF_OK;
    for (int g = 0; g < 2; g++) {
        if (control->taken >= 0 && control->taken != g) continue;
        control->graphs[g]->conditional = control->taken < 0;
        opf_status one = opf_graph_retype(control->graphs[g], quiet);
        if (one != OPF_OK) status = one;
    }
    return status;
}

/* The size of an output's axis: that of both branches, or one that the branch taken sets. */
static opf_dim joined_dim(opf_call *call, opf_control *control, opf_dim a, opf_dim b, int axis) {
    opf_module *module = call->module;
    a = opf_dim_canonical(module, a);
    b = opf_dim_canonical(module, b);
    if (a == b && !opf_dim_is_counted(module, a)) return a;
    bool unbounded = opf_dim_is_unbounded(module, a) || opf_dim_is_unbounded(module, b);
    opf_dim most = unbounded ? NULL : opf_max(call->pool, opf_dim_most(module, a), opf_dim_most(module, b));
    const opf_symbol *symbol = opf_count_symbol(call->node, FIRST_SIZE + (int)control->sizes.count, opf_arena_printf(call->arena, "%s_%d", call->node->name, axis), false, most);
    OPF_PUSH(call->arena, &control->sizes, (opf_control_size){symbol, {a, b}});
    return opf_sym(call->pool, symbol);
}

static void join_output(opf_call *call, opf_control *control, int k) {
    const opf_value *a = control->graphs[0]->outputs.data[k], *b = control->graphs[1]->outputs.data[k];
    opf_library_output *out = &control->outputs[k];
    if (!type_known(call, a, "result of the then-branch") || !type_known(call, b, "result of the else-branch")) return;
    if (!a->list != !b->list) {
        opf_call_error(call, "type", "output %d is a tensor in one branch and a sequence or optional in the other", k);
        return;
    }
    if (a->dtype != b->dtype || a->rank != b->rank) {
        if (a->dtype == b->dtype) opf_call_unknown(call, 0); /* of different ranks: there is no program for both */
        else opf_call_error(call, "type", "output %d is %s in one branch and %s in the other", k, opf_dtype_name(a->dtype), opf_dtype_name(b->dtype));
        return;
    }
    out->dtype = a->dtype;
    out->rank = a->rank;
    if (a->list) out->list = opf_list_join(call->module, a->list, b->list);
    for (int axis = 0; axis < a->rank; axis++) out->dims[axis] = joined_dim(call, control, a->dims[axis], b->dims[axis], axis);
}

static void take_output(opf_call *call, opf_control *control, int k) {
    const opf_value *from = control->graphs[control->taken]->outputs.data[k];
    if (!type_known(call, from, "the branch's result")) return;
    control->outputs[k].dtype = from->dtype;
    control->outputs[k].rank = from->rank;
    control->outputs[k].list = from->list;
    for (int axis = 0; axis < from->rank; axis++) control->outputs[k].dims[axis] = from->dims[axis];
}

/* Types what can run. Where the two branches have no common type, sizes may decide which one it is. */
static opf_status choose_branches(opf_call *call, opf_control *control) {
    opf_module *module = call->module;
    size_t guards = module->guards.count;
    if (control->taken < 0) {
        opf_status status = type_branches(control, true);
        module->guards.count = guards;
        int truth = status == OPF_OK && same_ranks(control) ? -1 : decide_by_sizes(call);
        if (truth >= 0) control->taken = !truth;
    }
    return type_branches(control, call->quiet);
}

static opf_status build_if(opf_call *call) {
    call->control = call->node->control;
    if (call->control) return OPF_OK;
    opf_control *control = new_control(call, OPF_CONTROL_IF);
    control->graphs[0] = graph_of(call, "then_branch");
    control->graphs[1] = graph_of(call, "else_branch");
    if (call->failed) return OPF_ERROR_INPUT;
    for (int g = 0; g < 2; g++)
        if ((int)control->graphs[g]->outputs.count < control->n_outputs) return opf_call_error(call, "graph", "a branch has fewer outputs than the node");
    control->taken = known_truth(opf_call_input(call, 0)) < 0 ? -1 : !known_truth(opf_call_input(call, 0));
    opf_status status = choose_branches(call, control);
    if (status != OPF_OK) return failed_inside(call, status);
    for (int k = 0; k < control->n_outputs; k++) {
        if (!call->node->outputs[k]) continue;
        if (control->taken >= 0) take_output(call, control, k);
        else join_output(call, control, k);
    }
    return done(call, control);
}

/* ---- loops ---- */

/* A carried value's axes whose sizes change; of a sequence or optional, what holds before any iteration. */
typedef struct carried { bool varies[OPF_MAX_RANK]; opf_dim size[OPF_MAX_RANK]; const opf_list_type *list; } carried;

typedef struct looping {
    opf_call *call;
    opf_control *control;
    opf_graph *body;
    carried *carried;
    int first_out;            /* position of the carried values among the body's outputs */
} looping;

static opf_value *initial(const looping *l, int k) { return l->call->node->inputs[l->control->first + k]; }
static opf_value *inside(const looping *l, int k) { return l->body->inputs.data[l->control->first + k]; }
static opf_value *next(const looping *l, int k) { return l->body->outputs.data[l->first_out + k]; }

static int size_number(int k, int axis) { return FIRST_SIZE + k * OPF_MAX_RANK + axis; }

static opf_dim size_inside(const looping *l, int k, int axis) {
    if (!l->carried[k].varies[axis]) return initial(l, k)->dims[axis];
    return l->carried[k].size[axis];
}

static void set_scalar(opf_call *call, opf_value *value, opf_dtype dtype, const opf_expr *content) {
    set_type(value, dtype, 0, NULL, NULL);
    if (!content) return;
    value->content = OPF_ARRAY(call->arena, const opf_expr *, 1);
    value->content[0] = content;
    value->content_count = 1;
}

/* Types of the body's inputs. The body only runs while the condition holds. */
static void set_inputs(const looping *l) {
    opf_call *call = l->call;
    const opf_control *control = l->control;
    if (control->kind == OPF_CONTROL_LOOP) {
        set_scalar(call, l->body->inputs.data[0], OPF_INT64, control->iteration ? opf_sym(call->pool, control->iteration) : NULL);
        set_scalar(call, l->body->inputs.data[1], OPF_BOOL, opf_int_of(call->pool, OPF_BOOL, 1));
    }
    for (int k = 0; k < control->n_carried; k++) {
        opf_dim dims[OPF_MAX_RANK];
        for (int axis = 0; axis < initial(l, k)->rank; axis++) dims[axis] = size_inside(l, k, axis);
        set_type(inside(l, k), initial(l, k)->dtype, initial(l, k)->rank, dims, l->carried[k].list ? l->carried[k].list : initial(l, k)->list);
    }
    for (int k = 0; k < control->n_in; k++) {
        const opf_value *whole = initial(l, control->n_carried + k);
        opf_dim dims[OPF_MAX_RANK];
        for (int axis = 0, at = 0; axis < whole->rank; axis++)
            if (axis != control->in[k].axis) dims[at++] = whole->dims[axis];
        set_type(inside(l, control->n_carried + k), whole->dtype, whole->rank - 1, dims, NULL);
    }
}

/* Marks sizes that the body changes; false where there are no new ones. */
static bool find_varying(looping *l) {
    bool found = false;
    for (int k = 0; k < l->control->n_carried; k++) {
        const opf_value *out = next(l, k), *in = inside(l, k);
        if (!opf_value_is_typed(out) || out->rank != in->rank) continue;
        if (in->list && out->list) {
            const opf_list_type *joined = opf_list_join(l->call->module, in->list, out->list);
            found = found || !opf_list_same(l->call->module, joined, in->list);
            l->carried[k].list = joined;
        }
        for (int axis = 0; axis < in->rank; axis++) {
            bool same = opf_dim_canonical(l->call->module, out->dims[axis]) == opf_dim_canonical(l->call->module, in->dims[axis]);
            if (same || l->carried[k].varies[axis]) continue;
            const char *name = opf_arena_printf(l->call->arena, "%s_%d", inside(l, k)->name, axis);
            const opf_symbol *symbol = opf_count_symbol(l->call->node, size_number(k, axis), name, false, initial(l, k)->dims[axis]);
            l->carried[k].varies[axis] = found = true;
            l->carried[k].size[axis] = opf_sym(l->call->pool, symbol);
        }
    }
    return found;
}

static opf_status type_body(looping *l) {
    opf_module *module = l->call->module;
    size_t guards = module->guards.count;
    opf_status status = OPF_OK;
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        module->guards.count = guards; /* of an attempt with wrong sizes */
        set_inputs(l);
        status = opf_graph_retype(l->body, true);
        if (!find_varying(l)) break;
    }
    module->guards.count = guards;
    if (status != OPF_OK && l->control->first && !l->control->trip && opf_call_input(l->call, 0)) {
        bool quiet = l->call->quiet; /* perhaps it can be typed once the trip count, and so the iteration, is known */
        l->call->quiet = true;
        opf_call_unknown(l->call, 0);
        l->call->quiet = quiet;
        if (l->call->deferred) return OPF_ERROR_UNSUPPORTED;
        l->call->failed = false;
    }
    set_inputs(l);
    return opf_graph_retype(l->body, l->call->quiet);
}

/* ---- bounds of what changes ---- */

static bool holds_unbounded(const looping *l, opf_dim e, const bool *bounded) {
    for (size_t i = 0; i < l->control->sizes.count; i++)
        if (!bounded[i] && opf_dim_holds(l->call->module, e, opf_sym(l->call->pool, l->control->sizes.data[i].symbol))) return true;
    return false;
}

/* A bound for a size that goes from `start` to `then` in an iteration; NULL where none is seen yet. */
static opf_dim bound_of(const looping *l, size_t i, const bool *bounded) {
    const opf_control_size *size = &l->control->sizes.data[i];
    opf_pool *pool = l->call->pool;
    opf_module *module = l->call->module;
    opf_dim here = opf_sym(pool, size->symbol), start = opf_dim_most(module, size->values[0]), zero = opf_int(pool, 0);
    if (!opf_dim_holds(module, size->values[1], here))
        return holds_unbounded(l, size->values[1], bounded) ? NULL : opf_max(pool, start, opf_dim_most(module, size->values[1]));
    opf_dim growth = opf_sub(pool, size->values[1], here);
    if (opf_dim_holds(module, growth, here) || holds_unbounded(l, growth, bounded)) return NULL;
    growth = opf_max(pool, opf_dim_most(module, growth), zero);
    if (opf_is_value(growth, 0)) return start;
    return l->control->trip ? opf_add(pool, start, opf_mul(pool, opf_max(pool, opf_dim_most(module, l->control->trip), zero), growth)) : NULL;
}

static void bound_sizes(looping *l) {
    opf_control *control = l->control;
    bool *bounded = OPF_ARRAY(l->call->arena, bool, control->sizes.count + 1);
    for (size_t round = 0; round < control->sizes.count; round++)
        for (size_t i = 0; i < control->sizes.count; i++) {
            opf_dim most = bounded[i] ? NULL : bound_of(l, i, bounded);
            if (!most) continue;
            opf_count_bound(l->call->module, control->sizes.data[i].symbol, most);
            bounded[i] = true;
        }
    for (size_t i = 0; i < control->sizes.count; i++)
        if (!bounded[i]) opf_count_bound(l->call->module, control->sizes.data[i].symbol, NULL);
}

static void collect_sizes(looping *l) {
    for (int k = 0; k < l->control->n_carried; k++)
        for (int axis = 0; axis < inside(l, k)->rank; axis++) {
            if (!l->carried[k].varies[axis]) continue;
            opf_control_size size = {l->carried[k].size[axis]->symbol, {initial(l, k)->dims[axis], opf_dim_canonical(l->call->module, next(l, k)->dims[axis])}};
            OPF_PUSH(l->call->arena, &l->control->sizes, size);
        }
}

/* ---- results of loops ---- */

static void carried_results(looping *l) {
    for (int k = 0; k < l->control->n_carried && !l->call->failed; k++) {
        const opf_value *in = inside(l, k), *out = next(l, k);
        if (!type_known(l->call, out, "the body's result")) return;
        if (!out->list != !in->list) {
            opf_call_error(l->call, "type", "carried value %d begins as %s and becomes %s", k, in->list ? "a sequence or optional" : "a tensor", out->list ? "one" : "a tensor");
            return;
        }
        if (out->dtype != in->dtype || out->rank != in->rank) {
            opf_call_error(l->call, "type", "carried value %d begins as %s of rank %d and becomes %s of rank %d", k, opf_dtype_name(in->dtype), in->rank,
                           opf_dtype_name(out->dtype), out->rank);
            return;
        }
        if (k >= l->control->n_outputs || !l->call->node->outputs[k]) continue;
        opf_library_output *result = &l->control->outputs[k];
        result->dtype = in->dtype;
        result->rank = in->rank;
        result->list = in->list;
        for (int axis = 0; axis < in->rank; axis++) result->dims[axis] = in->dims[axis];
    }
}

typedef struct search { const looping *l; bool found; } search;

/* Sizes that this loop sets or that its body finds. */
static bool meet_changing(const opf_expr *e, void *data) {
    search *search = data;
    const opf_call *call = search->l->call;
    const opf_count *count = e->kind == OPF_EXPR_SYMBOL ? opf_count_of(call->module, e->symbol) : NULL;
    if (count && opf_node_within((opf_node *)(uintptr_t)count->node, call->node->graph) == call->node) search->found = true;
    return !search->found;
}

/* Slices are copied as bytes. */
static bool can_be_cut(opf_call *call, opf_dtype dtype) {
    if (opf_dtype_is_packed(dtype)) opf_call_error(call, "unsupported", "slices of %s, several elements of which share a byte, are not supported", opf_dtype_name(dtype));
    return !opf_dtype_is_packed(dtype);
}

static void stacked_results(looping *l, opf_dim trips) {
    opf_control *control = l->control;
    for (int k = 0; k < control->n_out && !l->call->failed; k++) {
        const opf_value *out = next(l, control->n_carried + k);
        int position = control->n_carried + k, axis = control->out[k].axis;
        if (!type_known(l->call, out, "the body's result")) return;
        if (out->list) {
            opf_call_error(l->call, "type", "output %d would stack up sequences or optionals", position);
            return;
        }
        if (!can_be_cut(l->call, out->dtype)) return;
        if (position >= control->n_outputs || !l->call->node->outputs[position]) continue;
        if (out->rank + 1 > OPF_MAX_RANK) {
            opf_call_error(l->call, "shape", "output %d has more than %d axes", position, OPF_MAX_RANK);
            return;
        }
        axis = control->out[k].axis = opf_call_axis(l->call, axis, out->rank + 1);
        opf_library_output *result = &control->outputs[position];
        result->dtype = out->dtype;
        result->rank = out->rank + 1;
        for (int i = 0; i < out->rank; i++) {
            search search = {l, false};
            opf_expr_visit(l->call->pool, out->dims[i], meet_changing, &search);
            if (search.found) opf_call_error(l->call, "unsupported", "output %d stacks up values whose size changes from iteration to iteration", position);
            result->dims[i < axis ? i : i + 1] = out->dims[i];
        }
        result->dims[axis] = trips;
    }
}

static bool check_ports(looping *l) {
    opf_call *call = l->call;
    const opf_control *control = l->control;
    int ins = control->first + control->n_carried + control->n_in, outs = l->first_out + control->n_carried + control->n_out;
    if ((int)l->body->inputs.count != ins || (int)l->body->outputs.count != outs) {
        opf_call_error(call, "graph", "the body has %zu inputs and %zu outputs and must have %d and %d", l->body->inputs.count, l->body->outputs.count, ins, outs);
        return false;
    }
    for (int k = 0; k < control->n_carried + control->n_in; k++)
        if (!initial(l, k)) {
            opf_call_error(call, "arity", "input %d is missing", control->first + k);
            return false;
        }
    return true;
}

static looping new_looping(opf_call *call, opf_control *control, int first_out) {
    int n = control->n_carried > 0 ? control->n_carried : 1;
    return (looping){call, control, control->graphs[0], OPF_ARRAY(call->arena, carried, n), first_out};
}

static opf_status finish_loop(looping *l, opf_dim trips) {
    collect_sizes(l);
    bound_sizes(l);
    carried_results(l);
    stacked_results(l, trips);
    return done(l->call, l->control);
}

/* ---- Loop ---- */

/* The trip count as a size: at least 0. NULL where it is known only at run time. */
static opf_dim trip_count(opf_call *call) {
    opf_value *value = opf_call_input(call, 0);
    const opf_expr *const *content;
    if (!value || !opf_value_content(value) || opf_call_content(call, 0, &content) != 1) return NULL;
    return opf_max(call->pool, content[0], opf_int(call->pool, 0));
}

static opf_status build_loop(opf_call *call) {
    call->control = call->node->control;
    if (call->control) return OPF_OK;
    opf_control *control = new_control(call, OPF_CONTROL_LOOP);
    opf_graph *body = control->graphs[0] = graph_of(call, "body");
    if (!body) return OPF_ERROR_INPUT;
    control->first = 2;
    control->n_carried = call->node->n_inputs > 2 ? call->node->n_inputs - 2 : 0;
    control->n_out = (int)body->outputs.count - 1 - control->n_carried;
    if (control->n_out < 0) return opf_call_error(call, "graph", "the body has fewer outputs than carried values");
    control->out = OPF_ARRAY(call->arena, opf_control_slices, control->n_out + 1);
    looping l = new_looping(call, control, 1);
    if (!check_ports(&l)) return OPF_ERROR_INPUT;
    control->trip = trip_count(call);
    if (call->failed) return OPF_ERROR_INPUT;
    if (control->trip) control->iteration = opf_count_symbol(call->node, ITERATION, "iteration", true, opf_sub(call->pool, control->trip, opf_int(call->pool, 1)));
    opf_status status = type_body(&l);
    if (status != OPF_OK) return failed_inside(call, status);
    bool begins = !opf_call_input(call, 1) || known_truth(opf_call_input(call, 1)) == 1;
    opf_dim trips = begins && known_truth(body->outputs.data[0]) == 1 ? control->trip : NULL;
    if (!trips && control->n_out) {
        if (!control->trip) {
            if (opf_call_input(call, 0)) return opf_call_unknown(call, 0);
            return opf_call_error(call, "unsupported", "values are stacked up for a number of iterations without a limit");
        }
        control->trips = opf_count_symbol(call->node, TRIPS, "trips", false, control->trip);
        trips = opf_sym(call->pool, control->trips);
    }
    return finish_loop(&l, trips);
}

/* ---- Scan ---- */

/* Element k of a list attribute, 0 where there is none. */
static int64_t listed(opf_call *call, const char *name, int k) {
    const int64_t *list;
    int count = opf_node_ints(call->node, name, &list);
    return k < count ? list[k] : 0;
}

static opf_status build_scan(opf_call *call) {
    call->control = call->node->control;
    if (call->control) return OPF_OK;
    opf_control *control = new_control(call, OPF_CONTROL_SCAN);
    opf_graph *body = control->graphs[0] = graph_of(call, "body");
    int64_t n_in = opf_node_int(call->node, "num_scan_inputs", 0);
    if (!body) return OPF_ERROR_INPUT;
    if (n_in < 1 || n_in > call->node->n_inputs) return opf_call_error(call, "attribute", "num_scan_inputs is %lld of %d inputs", (long long)n_in, call->node->n_inputs);
    control->n_in = (int)n_in;
    control->n_carried = call->node->n_inputs - control->n_in;
    control->n_out = (int)body->outputs.count - control->n_carried;
    if (control->n_out < 0) return opf_call_error(call, "graph", "the body has fewer outputs than state variables");
    control->in = OPF_ARRAY(call->arena, opf_control_slices, control->n_in + 1);
    control->out = OPF_ARRAY(call->arena, opf_control_slices, control->n_out + 1);
    looping l = new_looping(call, control, 0);
    if (!check_ports(&l)) return OPF_ERROR_INPUT;
    for (int k = 0; k < control->n_in; k++) {
        const opf_value *whole = initial(&l, control->n_carried + k);
        int axis = opf_call_axis(call, listed(call, "scan_input_axes", k), whole->rank);
        if (call->failed || !can_be_cut(call, whole->dtype)) return OPF_ERROR_INPUT;
        control->in[k] = (opf_control_slices){axis, listed(call, "scan_input_directions", k) != 0};
        control->trip = k ? opf_call_same(call, control->trip, whole->dims[axis], "the axes that are walked along") : whole->dims[axis];
    }
    for (int k = 0; k < control->n_out; k++)
        control->out[k] = (opf_control_slices){(int)listed(call, "scan_output_axes", k), listed(call, "scan_output_directions", k) != 0};
    opf_status status = call->failed ? OPF_ERROR_INPUT : type_body(&l);
    if (status != OPF_OK) return failed_inside(call, status);
    return finish_loop(&l, control->trip);
}

const opf_op opf_ops_control[] = {
    {"", "If", 1, 1, 1, INT16_MAX, OPF_KIND_OPAQUE, OPF_OP_CONTROL, build_if, NULL},
    {"", "Loop", 1, 0, -1, INT16_MAX, OPF_KIND_OPAQUE, OPF_OP_CONTROL, build_loop, NULL},
    {"", "Scan", 9, 1, -1, INT16_MAX, OPF_KIND_OPAQUE, OPF_OP_CONTROL, build_scan, NULL},
};
const size_t opf_ops_control_count = OPF_COUNT(opf_ops_control);
