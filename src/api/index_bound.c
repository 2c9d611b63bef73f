/* What an integer input may hold: where its elements are used as indices, the extent of the axis that they index. Read off
 * the operators' stages: a load whose index holds a load of the value, or a comparison of the value with an axis. */
#include "api/model.h"

enum { MOST_NODES = 10000 };

typedef struct search {
    int64_t bound;       /* the smallest found, 0 for none */
    opf_map seen;        /* values that were followed */
    int nodes;           /* followed so far */
} search;

/* One node while its stages are studied. */
typedef struct study {
    search *search;
    const opf_stages *stages;
    bool *carries;       /* per tensor number: its elements come from the value */
    const opf_stage *stage;
} study;

static void offer(search *s, opf_dim extent) {
    int64_t size = opf_dim_nominal(extent);
    if (size > 0 && (!s->bound || size < s->bound)) s->bound = size;
}

typedef struct finding { const study *study; bool found; } finding;

static bool is_carrier(const opf_expr *e, void *data) {
    finding *f = data;
    if (e->kind == OPF_EXPR_LOAD && f->study->carries[e->index]) f->found = true;
    return !f->found;
}

static bool holds_value(const study *st, const opf_pool *pool, const opf_expr *e) {
    finding f = {st, false};
    opf_expr_visit(pool, e, is_carrier, &f);
    return f.found;
}

static opf_dim extent_of(const study *st, int tensor, int axis) {
    size_t n = st->stages->inputs.count;
    return (size_t)tensor < n ? st->stages->inputs.data[tensor]->dims[axis] : st->stages->list.data[(size_t)tensor - n]->extents[axis];
}

typedef struct visit { study *study; const opf_pool *pool; } visit;

static bool note_indexing(const opf_expr *e, void *data) {
    visit *v = data;
    if (e->kind == OPF_EXPR_LOAD)
        for (int k = 0; k < e->n_args; k++)
            if (holds_value(v->study, v->pool, e->args[k])) offer(v->study->search, extent_of(v->study, e->index, k));
    if (e->kind == OPF_EXPR_BINARY && e->op == OPF_OP_EQ)
        for (int side = 0; side < 2; side++) { /* one-hot: value == axis, both perhaps under casts */
            const opf_expr *axis = e->args[side];
            while (axis->kind == OPF_EXPR_CAST) axis = axis->args[0];
            if (axis->kind == OPF_EXPR_VAR && holds_value(v->study, v->pool, e->args[1 - side])) offer(v->study->search, v->study->stage->extents[axis->index]);
        }
    return true;
}

static void follow(search *s, opf_value *value);

/* Nodes may be untyped where inputs are needed by value. */
static bool is_typed(const opf_node *node) {
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && !opf_value_is_typed(node->inputs[k])) return false;
    for (int k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] && !opf_value_is_typed(node->outputs[k])) return false;
    return true;
}

static void study_node(search *s, opf_node *node, const opf_value *value) {
    opf_call *call = NULL;
    if (++s->nodes > MOST_NODES || !is_typed(node) || opf_op_stages(&call, node) != OPF_OK) return;
    const opf_stages *stages = &call->stages;
    const opf_pool *pool = node->graph->module->pool;
    bool *carries = OPF_ARRAY(node->graph->module->arena, bool, stages->inputs.count + stages->list.count + 1);
    for (size_t i = 0; i < stages->inputs.count; i++) carries[i] = stages->inputs.data[i] == value;
    for (size_t i = 0; i < stages->list.count; i++) {
        study st = {s, stages, carries, stages->list.data[i]};
        visit v = {&st, pool};
        opf_expr_visit(pool, st.stage->body, note_indexing, &v);
        carries[stages->inputs.count + i] = opf_dtype_is_integer(st.stage->dtype) && holds_value(&st, pool, st.stage->body);
    }
    for (int k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] && call->results[k] >= 0 && carries[stages->inputs.count + (size_t)call->results[k]]) follow(s, node->outputs[k]);
}

static void follow(search *s, opf_value *value) {
    if (opf_map_has(&s->seen, value)) return;
    opf_map_set(&s->seen, value, s);
    for (size_t u = 0; u < value->uses.count; u++) study_node(s, value->uses.data[u].node, value);
}

int64_t opf_index_bound(opf_value *input) {
    search s = {.seen = opf_map_new(input->graph->module->arena)};
    follow(&s, input);
    return s.bound;
}
