/* Axes: split by the factors that divisions ask for, so that nothing is divided per element; merged where all loads and
 * stores walk alike, so that loops are long. */
#include "loop/scheduler.h"

void opf_axes_drop_units(opf_scheduler *s, opf_axes *axes, opf_slots *slots) {
    for (int i = axes->count; i-- > 0;) {
        if (!opf_is_value(opf_extent(s, axes->at[i]), 1)) continue;
        opf_substitute_all(s, slots, axes->at[i], opf_int(s->pool, 0));
        opf_axes_remove(axes, i);
    }
}

/* ---- splitting ---- */

typedef struct split { opf_scheduler *s; const opf_axes *axes; int variable; const opf_expr *factor; } split;

static bool divides(opf_scheduler *s, const opf_expr *factor, opf_dim extent) {
    int64_t value;
    if (opf_is_int(factor, &value) && value <= 1) return false;
    if (factor == extent || opf_expr_vars(factor) || opf_expr_has_load(factor)) return false;
    return opf_mul(s->pool, opf_floordiv(s->pool, extent, factor), factor) == extent;
}

static bool find_split(const opf_expr *e, void *data) {
    split *found = data;
    bool division = e->kind == OPF_EXPR_BINARY && (e->op == OPF_OP_FLOORDIV || e->op == OPF_OP_FLOORMOD);
    if (!division || e->dtype != OPF_INT64 || e->args[0]->kind != OPF_EXPR_VAR) return true;
    int variable = e->args[0]->index;
    if (!opf_axes_has(found->axes, variable) || !divides(found->s, e->args[1], opf_extent(found->s, variable))) return true;
    found->variable = variable;
    found->factor = e->args[1];
    return false;
}

bool opf_axes_split(opf_scheduler *s, opf_axes *axes, opf_slots *slots) {
    split found = {s, axes, -1, NULL};
    for (size_t i = 0; i < slots->list.count && found.variable < 0; i++)
        if (*slots->list.data[i]) opf_expr_visit(s->pool, *slots->list.data[i], find_split, &found);
    if (found.variable < 0 || axes->count == OPF_MOST_AXES) return false;
    const char *name = s->nest->variables.data[found.variable].name;
    opf_dim extent = opf_extent(s, found.variable);
    int outer = opf_variable_new(s, opf_arena_printf(s->arena, "%s_outer", name), opf_floordiv(s->pool, extent, found.factor));
    int inner = opf_variable_new(s, opf_arena_printf(s->arena, "%s_inner", name), found.factor);
    const opf_expr *value = opf_add(s->pool, opf_mul(s->pool, opf_variable(s, outer), found.factor), opf_variable(s, inner));
    opf_substitute_all(s, slots, found.variable, value);
    int at = opf_axes_find(axes, found.variable);
    for (int i = axes->count; i > at + 1; i--) axes->at[i] = axes->at[i - 1];
    axes->at[at] = outer;
    axes->at[at + 1] = inner;
    axes->count++;
    return true;
}

/* ---- merging ---- */

typedef struct pair { opf_scheduler *s; int outer, inner; opf_dim inner_extent; opf_map mergeable; /* expressions that stand no merging in the way */ } pair;

/* e = coefficient * (outer * inner_extent + inner) + rest? */
static bool walks_alike(const pair *p, const opf_expr *e) {
    const opf_expr *outer, *inner, *rest, *unused;
    if (!opf_expr_affine(p->s->pool, e, p->outer, &outer, &rest)) return false;
    if (!opf_expr_affine(p->s->pool, rest, p->inner, &inner, &unused)) return false;
    if (opf_expr_has_var(outer, p->inner) || opf_expr_has_var(inner, p->outer)) return false;
    return outer == opf_mul(p->s->pool, inner, p->inner_extent);
}

static bool can_merge(pair *p, const opf_expr *e) {
    if (opf_map_has(&p->mergeable, e)) return true;
    if (!opf_expr_has_var(e, p->outer) && !opf_expr_has_var(e, p->inner)) return true;
    if (e->kind == OPF_EXPR_VAR) return false;
    bool index = e->dtype == OPF_INT64 && !opf_expr_has_load(e);
    if (index && walks_alike(p, e)) return true;
    bool sum = index && e->kind == OPF_EXPR_BINARY && (e->op == OPF_OP_ADD || e->op == OPF_OP_SUB || e->op == OPF_OP_MUL);
    if (sum && e->op == OPF_OP_MUL) return false;
    for (int i = 0; i < e->n_args; i++)
        if (!can_merge(p, e->args[i])) return false;
    opf_map_set(&p->mergeable, e, p);
    return true;
}

static bool all_can_merge(pair *p, const opf_slots *slots) {
    for (size_t i = 0; i < slots->list.count; i++)
        if (*slots->list.data[i] && !can_merge(p, *slots->list.data[i])) return false;
    return true;
}

static const char *joined_name(opf_scheduler *s, const char *a, const char *b) {
    return opf_arena_printf(s->arena, "%s%s%s", a, a[0] && b[0] && a[1] && b[1] ? "_" : "", b);
}

void opf_axes_merge(opf_scheduler *s, opf_axes *axes, opf_slots *slots) {
    for (int i = axes->count - 1; i > 0; i--) {
        pair p = {s, axes->at[i - 1], axes->at[i], opf_extent(s, axes->at[i]), opf_map_new(s->arena)};
        if (!all_can_merge(&p, slots)) continue;
        const opf_nest_variable *variables = s->nest->variables.data;
        const char *name = joined_name(s, variables[p.outer].name, variables[p.inner].name);
        int merged = opf_variable_new(s, name, opf_mul(s->pool, opf_extent(s, p.outer), p.inner_extent));
        /* In this order: with outer 0 while inner still has its old range, comparisons of both would be decided. */
        opf_substitute_all(s, slots, p.inner, opf_variable(s, merged));
        opf_substitute_all(s, slots, p.outer, opf_int(s->pool, 0));
        axes->at[i - 1] = merged;
        opf_axes_remove(axes, i);
    }
}

void opf_axes_simplify(opf_scheduler *s, opf_axes *axes, opf_slots *slots) {
    opf_axes_drop_units(s, axes, slots);
    while (opf_axes_split(s, axes, slots)) {}
    opf_axes_drop_units(s, axes, slots);
    opf_axes_merge(s, axes, slots);
}
