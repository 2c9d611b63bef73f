/* Where conditions on loop variables change, and what remains of expressions once they are decided. */
#include <math.h>

#include "loop/scheduler.h"

bool opf_break_solve(opf_scheduler *s, const opf_expr *condition, int variable, opf_break *out) {
    opf_pool *pool = s->pool;
    bool strict = condition->op == OPF_OP_LT;
    if (condition->kind != OPF_EXPR_BINARY || (!strict && condition->op != OPF_OP_LE)) return false;
    if (condition->args[0]->dtype != OPF_INT64 || opf_expr_has_load(condition) || !opf_expr_has_var(condition, variable)) return false;
    /* coefficient * variable + rest >= 0 */
    const opf_expr *difference = opf_sub(pool, condition->args[1], condition->args[0]), *coefficient, *rest;
    if (strict) difference = opf_sub(pool, difference, opf_int(pool, 1));
    int64_t factor;
    if (!opf_expr_affine(pool, difference, variable, &coefficient, &rest) || !opf_is_int(coefficient, &factor) || factor == 0) return false;
    if (factor == INT64_MIN) return false;
    *out = (opf_break){.condition = condition, .variable = variable, .below = factor < 0};
    if (factor > 0) out->at = opf_ceildiv(pool, opf_sub(pool, opf_int(pool, 0), rest), opf_int(pool, factor));
    else out->at = opf_add(pool, opf_floordiv(pool, rest, opf_int(pool, -factor)), opf_int(pool, 1));
    return true;
}

typedef struct search { opf_scheduler *s; int variable; const opf_axes *inner; opf_break *out; bool found; } search;

static bool find_break(const opf_expr *e, void *data) {
    search *f = data;
    if (e->dtype != OPF_BOOL || !opf_break_solve(f->s, e, f->variable, f->out)) return true;
    if (f->inner ? opf_depends(f->out->at, f->inner) : opf_expr_vars(f->out->at) != 0) return true;
    f->found = true;
    return false;
}

bool opf_break_find(opf_scheduler *s, const opf_slots *slots, int variable, const opf_axes *inner, opf_break *out) {
    search f = {s, variable, inner, out, false};
    for (size_t i = 0; i < slots->list.count && !f.found; i++)
        if (*slots->list.data[i]) opf_expr_visit(s->pool, *slots->list.data[i], find_break, &f);
    return f.found;
}

/* ---- deciding ---- */

static const opf_expr *replaced(opf_scheduler *s, opf_map *memo, const opf_expr *e, const opf_expr *part, const opf_expr *by) {
    if (e == part) return by;
    if (e->n_args == 0) return e;
    const opf_expr *known = opf_map_get(memo, e);
    if (known) return known;
    const opf_expr *args[OPF_MAX_RANK];
    bool changed = false;
    for (int i = 0; i < e->n_args; i++) {
        args[i] = replaced(s, memo, e->args[i], part, by);
        changed |= args[i] != e->args[i];
    }
    known = changed ? opf_rebuild(s->pool, e, args) : e;
    opf_map_set(memo, e, (void *)(uintptr_t)known);
    return known;
}

const opf_expr *opf_replace(opf_scheduler *s, const opf_expr *e, const opf_expr *part, const opf_expr *by) {
    opf_map memo = opf_map_new(s->arena);
    return replaced(s, &memo, e, part, by);
}

const opf_expr *opf_decide(opf_scheduler *s, const opf_expr *e, const opf_expr *condition, bool holds) {
    return opf_replace(s, e, condition, opf_int_of(s->pool, OPF_BOOL, holds));
}

/* ---- conditions of a reduction's term ---- */

typedef struct combiner_row { opf_scalar_op op; int neutral; /* 0, 1, or the type's extreme: -2 lowest, 2 highest */ } combiner_row;
static const combiner_row combiners[OPF_COMBINE_COUNT] = {
    [OPF_COMBINE_SUM] = {OPF_OP_ADD, 0}, [OPF_COMBINE_PROD] = {OPF_OP_MUL, 1},
    [OPF_COMBINE_MIN] = {OPF_OP_MIN, 2}, [OPF_COMBINE_MAX] = {OPF_OP_MAX, -2},
    [OPF_COMBINE_AND] = {OPF_OP_AND, 1}, [OPF_COMBINE_OR] = {OPF_OP_OR, 0},
    [OPF_COMBINE_ARGMIN] = {OPF_OP_MIN, 2}, [OPF_COMBINE_ARGMAX] = {OPF_OP_MAX, -2},
    [OPF_COMBINE_ARGMIN_LAST] = {OPF_OP_MIN, 2}, [OPF_COMBINE_ARGMAX_LAST] = {OPF_OP_MAX, -2},
};

static int64_t extreme(opf_dtype dtype, bool highest) {
    int bits = opf_dtype_bits(dtype);
    if (dtype == OPF_BOOL) return highest;
    if (!opf_dtype_is_signed(dtype)) return !highest ? 0 : bits == 64 ? -1 : (INT64_C(1) << bits) - 1;
    int64_t high = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
    return highest ? high : -high - 1;
}

const opf_expr *opf_neutral(opf_pool *pool, opf_combiner combiner, opf_dtype dtype) {
    int neutral = combiners[combiner].neutral;
    if (neutral == 0 || neutral == 1) return opf_number(pool, dtype, neutral);
    if (opf_dtype_is_float(dtype)) return opf_real(pool, dtype, neutral > 0 ? __builtin_inf() : -__builtin_inf());
    return opf_int_of(pool, dtype, extreme(dtype, neutral > 0));
}

const opf_expr *opf_combine(opf_pool *pool, opf_combiner combiner, const opf_expr *a, const opf_expr *b) {
    opf_scalar_op op = combiners[combiner].op;
    if (a->dtype == OPF_BOOL && (op == OPF_OP_MIN || op == OPF_OP_MUL)) op = OPF_OP_AND;
    if (a->dtype == OPF_BOOL && (op == OPF_OP_MAX || op == OPF_OP_ADD)) op = OPF_OP_OR;
    return opf_binary(pool, op, a, b);
}

enum { MOST_VISITS = 200 }; /* a term of a window is small; where it is not, conditions stay conditions */

const opf_expr *opf_accumulate(opf_pool *pool, opf_combiner combiner, const opf_expr *sum, const opf_expr *term) {
    bool product = term->kind == OPF_EXPR_BINARY && term->op == OPF_OP_MUL && term->dtype == OPF_FLOAT32;
    if (combiner == OPF_COMBINE_SUM && product) return opf_binary(pool, OPF_OP_ACCUMULATE, sum, term);
    return opf_combine(pool, combiner, sum, term);
}

static bool has_member(const opf_conditions *conditions, const opf_expr *condition) {
    for (size_t i = 0; i < conditions->list.count; i++)
        if (conditions->list.data[i] == condition) return true;
    return false;
}

static void add_members(opf_scheduler *s, const opf_expr *condition, opf_conditions *out) {
    if (condition->kind == OPF_EXPR_BINARY && condition->op == OPF_OP_AND) {
        add_members(s, condition->args[0], out);
        add_members(s, condition->args[1], out);
    } else if (!has_member(out, condition)) {
        OPF_PUSH(s->arena, &out->list, condition);
    }
}

static bool is_number(const opf_expr *e, double value) {
    return e->kind == OPF_EXPR_INT ? (double)e->integer == value : e->kind == OPF_EXPR_FLOAT && e->real == value;
}

static void find(opf_scheduler *s, const opf_expr *term, const opf_expr *neutral, opf_conditions *out);

static void find_zero(opf_scheduler *s, const opf_expr *e, opf_conditions *out) {
    if (e->dtype != OPF_BOOL) find(s, e, opf_number(s->pool, (opf_dtype)e->dtype, 0), out);
}

/* ---- factors that are finite for sure ---- */

static bool holds_finite_numbers(const opf_tensor *tensor) {
    if (!opf_dtype_is_float(tensor->dtype)) return true;
    for (int64_t i = 0; i < tensor->elements; i++)
        if (!isfinite(opf_tensor_get(tensor, i))) return false;
    return true;
}

static bool is_finite(const opf_scheduler *s, const opf_expr *e) {
    if (!opf_dtype_is_float((opf_dtype)e->dtype)) return true;
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_FLOAT: return isfinite(e->real);
    case OPF_EXPR_LOAD: {
        size_t input = (size_t)e->index;
        const opf_value *value = input < s->group->stages.inputs.count ? s->group->stages.inputs.data[input] : NULL;
        return value && value->constant && holds_finite_numbers(value->constant);
    }
    case OPF_EXPR_SELECT: return is_finite(s, e->args[1]) && is_finite(s, e->args[2]);
    case OPF_EXPR_CAST: return is_finite(s, e->args[0]);
    case OPF_EXPR_UNARY: return e->op == OPF_OP_NEG && is_finite(s, e->args[0]);
    case OPF_EXPR_BINARY: return (e->op == OPF_OP_ADD || e->op == OPF_OP_SUB || e->op == OPF_OP_MUL) && is_finite(s, e->args[0]) && is_finite(s, e->args[1]);
    default: return false;
    }
}

/* A product vanishes with either factor, where the other one is finite. */
static void find_in_product(opf_scheduler *s, const opf_expr *product, opf_conditions *out) {
    for (int i = 0; i < 2; i++) {
        opf_conditions of_factor = {.visits = out->visits, .any_factor = out->any_factor};
        find_zero(s, product->args[i], &of_factor);
        out->visits = of_factor.visits;
        if (of_factor.list.count == 0 || !(out->any_factor || is_finite(s, product->args[1 - i]))) continue;
        for (size_t k = 0; k < of_factor.list.count; k++) add_members(s, of_factor.list.data[k], out);
    }
}

/* Both summands vanish where a condition that both have fails. */
static void find_common(opf_scheduler *s, const opf_expr *a, const opf_expr *b, opf_conditions *out) {
    opf_conditions of_a = {.visits = out->visits, .any_factor = out->any_factor}, of_b = of_a;
    find_zero(s, a, &of_a);
    if (of_a.list.count == 0) return;
    find_zero(s, b, &of_b);
    for (size_t i = 0; i < of_a.list.count; i++)
        if (has_member(&of_b, of_a.list.data[i])) add_members(s, of_a.list.data[i], out);
}

static void find(opf_scheduler *s, const opf_expr *term, const opf_expr *neutral, opf_conditions *out) {
    if (out->visits++ > MOST_VISITS) return;
    bool zero = is_number(neutral, 0);
    if (term->kind == OPF_EXPR_SELECT && !opf_expr_has_load(term->args[0]) && (term->args[2] == neutral || (zero && is_number(term->args[2], 0)))) {
        add_members(s, term->args[0], out);
        find(s, term->args[1], neutral, out);
        return;
    }
    if (!zero) return;
    bool binary = term->kind == OPF_EXPR_BINARY;
    if (binary && (term->op == OPF_OP_ADD || term->op == OPF_OP_SUB)) {
        find_common(s, term->args[0], term->args[1], out);
    } else if (binary && term->op == OPF_OP_MUL) {
        find_in_product(s, term, out);
    } else if (term->kind == OPF_EXPR_CAST || (term->kind == OPF_EXPR_UNARY && term->op == OPF_OP_NEG)) {
        find_zero(s, term->args[0], out);
    }
}

void opf_find_conditions(opf_scheduler *s, const opf_expr *term, opf_combiner combiner, opf_conditions *out) {
    if (combiner <= OPF_COMBINE_OR) find(s, term, opf_neutral(s->pool, combiner, (opf_dtype)term->dtype), out);
}
