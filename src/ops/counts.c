/* Counts and bounds of sizes that depend on them. */
#include "ops/counts.h"

enum { NOMINAL_UNBOUNDED = 64 };

const opf_count *opf_count_of(const opf_module *module, const opf_symbol *symbol) {
    for (size_t k = 0; k < module->counts.count; k++)
        if (module->counts.data[k].symbol == symbol) return &module->counts.data[k];
    return NULL;
}

void opf_count_bound(opf_module *module, const opf_symbol *symbol, opf_dim most) {
    for (size_t k = 0; k < module->counts.count; k++)
        if (module->counts.data[k].symbol == symbol) module->counts.data[k].most = most;
}

const opf_symbol *opf_count_symbol(opf_node *node, int number, const char *name, bool plain, opf_dim most) {
    opf_module *module = node->graph->module;
    for (size_t k = 0; k < module->counts.count; k++) {
        opf_count *count = &module->counts.data[k];
        if (count->node != node || count->number != number) continue;
        count->most = most;
        return count->symbol;
    }
    int64_t high = INT64_MAX;
    if (!plain || !most || !opf_is_int(most, &high) || high < 0) high = INT64_MAX;
    const opf_symbol *symbol = (plain ? opf_symbol_number : opf_symbol_new)(module->pool, name, 0, high, most ? opf_dim_nominal(most) : NOMINAL_UNBOUNDED);
    OPF_PUSH(module->arena, &module->counts, (opf_count){symbol, node, number, most});
    return symbol;
}

/* ---- bounds ---- */

typedef struct search { const opf_module *module; bool found; } search;

static bool meet(const opf_expr *e, void *data) {
    search *search = data;
    if (e->kind == OPF_EXPR_SYMBOL && opf_count_of(search->module, e->symbol)) search->found = true;
    return !search->found;
}

bool opf_dim_is_counted(const opf_module *module, opf_dim dim) {
    search search = {module, false};
    if (module->counts.count) opf_expr_visit(module->pool, dim, meet, &search);
    return search.found;
}

static bool meet_unbounded(const opf_expr *e, void *data) {
    search *search = data;
    const opf_count *count = e->kind == OPF_EXPR_SYMBOL ? opf_count_of(search->module, e->symbol) : NULL;
    if (count && (!count->most || opf_dim_is_unbounded(search->module, count->most))) search->found = true;
    return !search->found;
}

bool opf_dim_is_unbounded(const opf_module *module, opf_dim dim) {
    search search = {module, false};
    if (module->counts.count) opf_expr_visit(module->pool, dim, meet_unbounded, &search);
    return search.found;
}

/* The largest (up) or smallest value that `e` takes as its counts run from 0 to their bounds. */
static opf_dim bound(const opf_module *module, opf_dim e, bool up);

static opf_dim bound_product(const opf_module *module, opf_dim e, bool up) {
    int64_t factor;
    int number = opf_is_int(e->args[0], &factor) ? 0 : opf_is_int(e->args[1], &factor) ? 1 : -1;
    bool turned = number >= 0 && factor < 0;
    return opf_mul(module->pool, bound(module, e->args[0], turned && number != 0 ? !up : up), bound(module, e->args[1], turned && number != 1 ? !up : up));
}

static opf_dim bound_binary(const opf_module *module, opf_dim e, bool up) {
    opf_pool *pool = module->pool;
    switch (e->op) {
    case OPF_OP_MUL: return bound_product(module, e, up);
    case OPF_OP_SUB: return opf_sub(pool, bound(module, e->args[0], up), bound(module, e->args[1], !up));
    case OPF_OP_FLOORDIV: return opf_floordiv(pool, bound(module, e->args[0], up), opf_max(pool, bound(module, e->args[1], !up), opf_int(pool, 1)));
    case OPF_OP_FLOORMOD: return up ? bound(module, e->args[1], true) : opf_int(pool, 0);
    default: return opf_binary(pool, (opf_scalar_op)e->op, bound(module, e->args[0], up), bound(module, e->args[1], up));
    }
}

static opf_dim bound(const opf_module *module, opf_dim e, bool up) {
    opf_pool *pool = module->pool;
    if (!opf_dim_is_counted(module, e)) return e;
    switch (e->kind) {
    case OPF_EXPR_SYMBOL: {
        opf_dim most = opf_count_of(module, e->symbol)->most;
        return !up ? opf_int(pool, 0) : most ? bound(module, most, true) : e;
    }
    case OPF_EXPR_BINARY: return bound_binary(module, e, up);
    case OPF_EXPR_SELECT: {
        opf_dim a = bound(module, e->args[1], up), b = bound(module, e->args[2], up);
        return up ? opf_max(pool, a, b) : opf_min(pool, a, b);
    }
    case OPF_EXPR_UNARY: /* -x */
        return e->op == OPF_OP_NEG ? opf_sub(pool, opf_int(pool, 0), bound(module, e->args[0], !up)) : e;
    case OPF_EXPR_CAST: return bound(module, e->args[0], up);
    default: return e;
    }
}

opf_dim opf_dim_most(const opf_module *module, opf_dim dim) { return bound(module, dim, true); }
