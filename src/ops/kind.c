/* Pattern kinds, derived from what the stages read (docs/design.md, section 2). */
#include "ops/op.h"

const char *opf_kind_name(opf_kind kind) {
    switch (kind) {
    case OPF_KIND_ELEMWISE: return "elemwise";
    case OPF_KIND_BROADCAST: return "broadcast";
    case OPF_KIND_INJECTIVE: return "injective";
    case OPF_KIND_COMM_REDUCE: return "comm_reduce";
    case OPF_KIND_OUT_ELEMWISE_FUSABLE: return "out_elemwise_fusable";
    case OPF_KIND_TUPLE: return "tuple";
    case OPF_KIND_OPAQUE: return "opaque";
    }
    return "unknown";
}

static bool is_unit(const opf_stage *stage, int axis) {
    return opf_is_value(stage->extents[axis], 1);
}

/* The variable that an index is, -1 where it is another expression. */
static int plain_variable(const opf_expr *index) {
    return index->kind == OPF_EXPR_VAR ? index->index : -1;
}

/* Does the expression speak of a variable outside of what it reads? */
static bool speaks_of_variables(const opf_expr *e) {
    if (e->kind == OPF_EXPR_VAR) return true;
    for (int k = 0; k < e->n_args && e->kind != OPF_EXPR_LOAD; k++)
        if (speaks_of_variables(e->args[k])) return true;
    return false;
}

/* A row out of which each point picks, by what other loads read: these tell how the stage walks. */
static bool is_table(const opf_expr *load) { return load->n_args == 1 && opf_expr_has_load(load->args[0]) && !speaks_of_variables(load->args[0]); }

/* How one load walks, against the stage's plain axes: its indices, those over axes of one element skipped, are all of the
 * axes in order (elemwise), some of them in order (broadcast), or something else (injective). */
static opf_kind load_kind(const opf_stage *stage, const opf_expr *load) {
    int last = -1, met = 0, axes = 0;
    if (is_table(load)) return OPF_KIND_BROADCAST;
    for (int k = 0; k < stage->n_axes; k++) axes += !is_unit(stage, k);
    for (int k = 0; k < load->n_args; k++) {
        if (opf_is_value(load->args[k], 0)) continue; /* an operand's axis of size 1 */
        int variable = plain_variable(load->args[k]);
        if (variable < 0 || variable >= stage->n_axes || variable <= last) return OPF_KIND_INJECTIVE;
        last = variable;
        met += !is_unit(stage, variable);
    }
    return met == axes ? OPF_KIND_ELEMWISE : OPF_KIND_BROADCAST;
}

static const opf_pool *pool_of(const opf_stage *stage) {
    return stage->origin->graph->module->pool;
}

typedef struct walk {
    const opf_stage *stage;
    opf_kind worst;
    bool any, elemwise;
} walk;

static bool meet_load(const opf_expr *e, void *data) {
    walk *walk = data;
    if (e->kind != OPF_EXPR_LOAD) return true;
    opf_kind kind = load_kind(walk->stage, e);
    walk->any = true;
    walk->elemwise = walk->elemwise || kind == OPF_KIND_ELEMWISE;
    if (kind > walk->worst) walk->worst = kind;
    return true;
}

static opf_kind map_kind(const opf_stage *stage) {
    walk walk = {.stage = stage, .worst = OPF_KIND_ELEMWISE};
    opf_expr_visit(pool_of(stage), stage->body, meet_load, &walk);
    return walk.worst == OPF_KIND_BROADCAST && walk.elemwise ? OPF_KIND_ELEMWISE : walk.worst;
}

/* ---- reductions ---- */

typedef struct variables {
    uint64_t plain;    /* variables that stand alone as an index */
    uint64_t inside;   /* variables inside a larger index expression */
} variables;

static bool meet_index(const opf_expr *e, void *data) {
    variables *variables = data;
    if (e->kind != OPF_EXPR_LOAD) return true;
    for (int k = 0; k < e->n_args; k++) {
        int variable = plain_variable(e->args[k]);
        if (variable >= 0) variables->plain |= 1ull << variable;
        else variables->inside |= opf_expr_vars(e->args[k]);
    }
    return true;
}

static variables index_variables(const opf_stage *stage, const opf_expr *body) {
    variables result = {0, 0};
    opf_expr_visit(pool_of(stage), body, meet_index, &result);
    return result;
}

static const opf_expr *without_casts(const opf_expr *e) {
    while (e->kind == OPF_EXPR_CAST) e = e->args[0];
    return e;
}

/* A product of two operands that each lack an axis of the result: a contraction. */
static bool is_contraction(const opf_stage *stage) {
    const opf_expr *body = without_casts(stage->body);
    if (stage->combiner != OPF_COMBINE_SUM || body->kind != OPF_EXPR_BINARY || body->op != OPF_OP_MUL) return false;
    for (int side = 0; side < 2; side++) {
        variables v = index_variables(stage, body->args[side]);
        bool lacks = false;
        for (int k = 0; k < stage->n_axes; k++) lacks = lacks || (!is_unit(stage, k) && !((v.plain | v.inside) & 1ull << k));
        if (!lacks || !(v.plain | v.inside)) return false;
    }
    return true;
}

static opf_kind reduce_kind(const opf_stage *stage) {
    if (is_contraction(stage)) return OPF_KIND_OUT_ELEMWISE_FUSABLE;
    variables v = index_variables(stage, stage->body);
    for (int k = stage->n_axes; k < stage->n_axes + stage->n_reduce; k++)
        if (v.inside & 1ull << k) return OPF_KIND_OUT_ELEMWISE_FUSABLE; /* a window */
    return OPF_KIND_COMM_REDUCE;
}

opf_kind opf_stages_kind(const opf_stages *stages) {
    opf_kind worst = OPF_KIND_ELEMWISE;
    bool reduced = false;
    for (size_t k = 0; k < stages->list.count; k++) {
        const opf_stage *stage = stages->list.data[k];
        if (reduced) return OPF_KIND_OUT_ELEMWISE_FUSABLE; /* something is written behind a reduction */
        opf_kind kind = stage->combiner == OPF_COMBINE_NONE ? map_kind(stage) : reduce_kind(stage);
        reduced = stage->combiner != OPF_COMBINE_NONE;
        if (kind > worst) worst = kind;
    }
    return worst;
}
