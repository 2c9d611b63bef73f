/* Equalities of dims, applied by rewriting. */
#include "ops/facts.h"

typedef struct fact { opf_dim from, to; const char *why; } fact;

struct opf_facts {
    OPF_VEC(fact) list;
    opf_map equal;      /* from → to */
    opf_map rewritten;  /* dims that were asked for → their canonical form */
};

static struct opf_facts *facts_of(opf_module *module) {
    if (module->facts) return module->facts;
    module->facts = OPF_NEW(module->arena, struct opf_facts);
    module->facts->equal = module->facts->rewritten = opf_map_new(module->arena);
    return module->facts;
}

bool opf_dim_is_atom(opf_dim dim) {
    if (dim->kind == OPF_EXPR_INT) return false;
    return dim->kind != OPF_EXPR_BINARY || (dim->op != OPF_OP_ADD && dim->op != OPF_OP_SUB && dim->op != OPF_OP_MUL);
}

typedef struct search { opf_dim part; bool found; } search;

static bool meet(const opf_expr *e, void *data) {
    search *search = data;
    search->found = search->found || e == search->part;
    return !search->found;
}

bool opf_dim_holds(opf_module *module, opf_dim whole, opf_dim part) {
    search search = {part, false};
    opf_expr_visit(module->pool, whole, meet, &search);
    return search.found;
}

/* ---- rewriting ---- */

static const opf_expr *rewrite(opf_module *module, const opf_expr *e);

static const opf_expr *rebuilt(opf_module *module, const opf_expr *e) {
    opf_pool *pool = module->pool;
    const opf_expr *args[3] = {NULL, NULL, NULL};
    if (e->kind == OPF_EXPR_LOAD || e->n_args > 3) return e;
    for (int k = 0; k < e->n_args; k++) args[k] = rewrite(module, e->args[k]);
    switch (e->kind) {
    case OPF_EXPR_UNARY: return opf_unary(pool, (opf_scalar_op)e->op, args[0]);
    case OPF_EXPR_BINARY: return opf_binary(pool, (opf_scalar_op)e->op, args[0], args[1]);
    case OPF_EXPR_SELECT: return opf_select(pool, args[0], args[1], args[2]);
    case OPF_EXPR_CAST: return opf_cast(pool, (opf_dtype)e->dtype, args[0]);
    default: return e;
    }
}

static const opf_expr *rewrite(opf_module *module, const opf_expr *e) {
    struct opf_facts *facts = module->facts;
    const opf_expr *known = opf_map_get(&facts->rewritten, e);
    if (known) return known;
    opf_map_set(&facts->rewritten, e, (void *)e); /* ends a circle, should the facts make one */
    const opf_expr *result = rebuilt(module, e), *equal = opf_map_get(&facts->equal, result);
    if (equal) result = rewrite(module, equal);
    opf_map_set(&facts->rewritten, e, (void *)result);
    return result;
}

opf_dim opf_dim_canonical(opf_module *module, opf_dim dim) {
    return module->facts && module->facts->list.count ? rewrite(module, dim) : dim;
}

/* ---- the list ---- */

/* Makes the fact a rewriting rule. One side may have changed by earlier facts. */
static void apply(opf_module *module, const fact *fact) {
    struct opf_facts *facts = module->facts;
    opf_dim from = rewrite(module, fact->from), to = rewrite(module, fact->to);
    if (from == to || !opf_dim_is_atom(from) || opf_dim_holds(module, to, from)) return;
    opf_map_set(&facts->equal, from, (void *)to);
    facts->rewritten = opf_map_new(module->arena);
}

void opf_facts_add(opf_module *module, opf_dim from, opf_dim to, const char *why) {
    fact fact = {from, to, why};
    OPF_PUSH(module->arena, &facts_of(module)->list, fact);
    apply(module, &fact);
}

void opf_facts_bind(opf_module *module, int count, const opf_expr *const *symbols) {
    struct opf_facts *facts = facts_of(module);
    facts->equal = facts->rewritten = opf_map_new(module->arena);
    for (size_t k = 0; k < facts->list.count; k++) {
        fact *fact = &facts->list.data[k];
        fact->from = opf_expr_bind_symbols(module->pool, fact->from, count, symbols);
        fact->to = opf_expr_bind_symbols(module->pool, fact->to, count, symbols);
        apply(module, fact);
    }
}

void opf_facts_guard(opf_module *module) {
    struct opf_facts *facts = facts_of(module);
    for (size_t k = 0; k < facts->list.count; k++)
        opf_module_guard(module, OPF_GUARD_EQ, facts->list.data[k].from, facts->list.data[k].to, facts->list.data[k].why);
}
