/* Elements that lie interleaved along the innermost axis (x[2 * place + phase]): all phases are computed side by side, in one loop over
 * places, so that whole vectors are loaded, taken apart or put together, and stored.
 *
 *   taken apart     read interleaved, stored apart: phases of a window with a stride. A loop a phase would pick single elements.
 *   put together    stored interleaved, some of what is read is the same for all phases: nearest neighbours of a resize. A loop over
 *                   the phases of one place would be too short for a vector.
 *   periods         read at places that are quotients of the position, (2 x + 1) / 4, weighted by what remains: interpolation. After a few
 *                   elements the remainders come again; in a loop over periods they are numbers, and the places lie in a line. */
#include "expr/node.h"
#include "loop/scheduler.h"

enum { MOST_PHASES = 4 };

/* ---- an axis of phases ---- */

typedef struct phase_search { opf_scheduler *s; int place, phase; int64_t phases; bool found; } phase_search;

static bool walks_by(opf_scheduler *s, const opf_expr *index, int variable, int64_t stride) {
    const opf_expr *coefficient, *rest;
    return opf_expr_affine(s->pool, index, variable, &coefficient, &rest) && opf_is_value(coefficient, stride);
}

static bool find_interleaved(const opf_expr *e, void *data) {
    phase_search *f = data;
    f->found = e->kind == OPF_EXPR_LOAD && e->n_args == 1 && opf_expr_has_var(e->args[0], f->place) && walks_by(f->s, e->args[0], f->place, f->phases) &&
               walks_by(f->s, e->args[0], f->phase, 1);
    return !f->found;
}

static bool few_phases(opf_scheduler *s, int variable, int64_t *phases) {
    return opf_is_int(opf_extent(s, variable), phases) && *phases >= 2 && *phases <= MOST_PHASES;
}

/* A target of each phase. */
static void side_by_side(opf_scheduler *s, opf_axes *axes, opf_targets *targets, int phase, int64_t phases) {
    opf_targets all = {0};
    for (int64_t k = 0; k < phases; k++) {
        for (size_t i = 0; i < targets->list.count; i++) {
            opf_target target = targets->list.data[i];
            target.offset = opf_substitute(s, target.offset, phase, opf_int(s->pool, k));
            target.value = opf_simple(s, opf_substitute_safely(s, target.value, phase, opf_int(s->pool, k)));
            OPF_PUSH(s->arena, &all.list, target);
        }
    }
    *targets = all;
    opf_axes_remove(axes, opf_axes_find(axes, phase));
}

void opf_interleave(opf_scheduler *s, opf_axes *axes, opf_targets *targets) {
    if (axes->count < 2) return;
    phase_search f = {.s = s, .place = axes->at[axes->count - 1], .phase = axes->at[axes->count - 2]};
    if (!few_phases(s, f.phase, &f.phases)) return;
    for (size_t i = 0; i < targets->list.count && !f.found; i++) opf_expr_visit(s->pool, targets->list.data[i].value, find_interleaved, &f);
    if (f.found) side_by_side(s, axes, targets, f.phase, f.phases);
}

/* ---- a short innermost axis ---- */

/* Is it read at one place for all phases, or, like what is stored, at neighbouring ones? */
static bool check_neighbours(const opf_expr *e, void *data) {
    phase_search *f = data;
    if (e->kind != OPF_EXPR_LOAD || e->n_args == 0 || !opf_expr_has_var(e->args[0], f->phase)) return true;
    f->found = walks_by(f->s, e->args[0], f->phase, 1) && walks_by(f->s, e->args[0], f->place, f->phases);
    return f->found;
}

void opf_put_together(opf_scheduler *s, opf_axes *axes, opf_targets *targets) {
    if (axes->count < 2) return;
    phase_search f = {.s = s, .place = axes->at[axes->count - 2], .phase = axes->at[axes->count - 1], .found = true};
    if (!few_phases(s, f.phase, &f.phases)) return;
    for (size_t i = 0; i < targets->list.count && f.found; i++) {
        const opf_target *target = &targets->list.data[i];
        f.found = target->offset && walks_by(s, target->offset, f.phase, 1) && walks_by(s, target->offset, f.place, f.phases);
        if (f.found) opf_expr_visit(s->pool, target->value, check_neighbours, &f);
    }
    if (f.found) side_by_side(s, axes, targets, f.phase, f.phases);
}

/* ---- periods ---- */

typedef struct period_search { opf_scheduler *s; int variable; bool in_load; int64_t period; } period_search;

/* After how many elements the quotient has moved by a whole number; 0: not known. */
static int64_t period_of(opf_scheduler *s, const opf_expr *quotient, int variable) {
    const opf_expr *coefficient, *rest;
    int64_t step, divisor;
    if (!opf_is_int(quotient->args[1], &divisor) || divisor < 2) return 0;
    if (!opf_expr_affine(s->pool, quotient->args[0], variable, &coefficient, &rest) || !opf_is_int(coefficient, &step)) return 0;
    return divisor / opf_greatest_divisor(step % divisor, divisor);
}

static bool find_period(const opf_expr *e, void *data) {
    period_search *f = data;
    bool quotient = opf_is_op(e, OPF_OP_FLOORDIV) || opf_is_op(e, OPF_OP_FLOORMOD);
    if (!quotient || e->dtype != OPF_INT64 || !opf_expr_has_var(e, f->variable)) return true;
    int64_t own = period_of(f->s, e, f->variable);
    if (own == 0 || (f->period % own != 0 && own % f->period != 0)) {
        f->period = 0;
        return false;
    }
    if (own > f->period) f->period = own;
    return true;
}

static bool find_quotient_in_load(const opf_expr *e, void *data) {
    period_search *f = data;
    if (e->kind != OPF_EXPR_LOAD || e->n_args == 0) return true;
    period_search inner = {f->s, f->variable, false, 1};
    opf_expr_visit(f->s->pool, e->args[0], find_period, &inner);
    f->in_load |= inner.period > 1;
    return !f->in_load;
}

typedef struct limit_search { int variable; const opf_expr *found; } limit_search;

static bool find_limit(const opf_expr *e, void *data) {
    limit_search *f = data;
    bool extreme = (opf_is_op(e, OPF_OP_MIN) || opf_is_op(e, OPF_OP_MAX)) && e->dtype == OPF_INT64;
    if (extreme && opf_expr_has_var(e, f->variable) && !opf_expr_has_load(e)) f->found = e;
    return !f->found;
}

/* The smaller or larger of two positions as a choice, so that loops are cut where it changes (ranges.c). */
static const opf_expr *with_choices(opf_scheduler *s, const opf_expr *value, int variable) {
    enum { MOST_LIMITS = 16 };
    for (int i = 0; i < MOST_LIMITS; i++) {
        limit_search f = {variable, NULL};
        opf_expr_visit(s->pool, value, find_limit, &f);
        if (!f.found) break;
        const opf_expr *a = f.found->args[0], *b = f.found->args[1], *below = opf_binary(s->pool, OPF_OP_LT, a, b);
        value = opf_replace(s, value, f.found, f.found->op == OPF_OP_MIN ? opf_select(s->pool, below, a, b) : opf_select(s->pool, below, b, a));
    }
    return value;
}

void opf_take_periods(opf_scheduler *s, opf_axes *axes, opf_targets *targets) {
    enum { FEWEST = 8 };
    if (axes->count == 0) return;
    int variable = axes->at[axes->count - 1];
    period_search f = {s, variable, false, 1};
    int64_t extent;
    for (size_t i = 0; i < targets->list.count && f.period; i++) {
        const opf_target *target = &targets->list.data[i];
        if (!target->offset || !walks_by(s, target->offset, variable, 1)) return;
        opf_expr_visit(s->pool, target->value, find_period, &f);
        opf_expr_visit(s->pool, target->value, find_quotient_in_load, &f);
    }
    if (!f.in_load || f.period < 2 || f.period > MOST_PHASES || !opf_is_int(opf_extent(s, variable), &extent)) return;
    if (extent % f.period || extent / f.period < FEWEST) return;
    const char *name = s->nest->variables.data[variable].name;
    int place = opf_variable_new(s, name, opf_int(s->pool, extent / f.period));
    int phase = opf_variable_new(s, opf_arena_printf(s->arena, "%s_phase", name), opf_int(s->pool, f.period));
    const opf_expr *position = opf_add(s->pool, opf_mul(s->pool, opf_variable(s, place), opf_int(s->pool, f.period)), opf_variable(s, phase));
    for (size_t i = 0; i < targets->list.count; i++) {
        opf_target *target = &targets->list.data[i];
        target->offset = opf_substitute(s, target->offset, variable, position);
        target->value = opf_substitute_safely(s, target->value, variable, position);
    }
    axes->at[axes->count - 1] = place;
    opf_axes_add(axes, phase);
    side_by_side(s, axes, targets, phase, f.period);
    for (size_t i = 0; i < targets->list.count; i++) targets->list.data[i].value = with_choices(s, targets->list.data[i].value, place);
}

/* ---- loads that are whole together ---- */

typedef struct wholeness { opf_scheduler *s; int variable; opf_map loads; bool whole; } wholeness;

static bool gather(const opf_expr *e, void *data) {
    wholeness *w = data;
    if (e->kind == OPF_EXPR_LOAD && e->n_args == 1) opf_map_set(&w->loads, e, w);
    return true;
}

static bool reads(const wholeness *w, const opf_expr *load, int64_t by) {
    const opf_expr *index = opf_add(w->s->pool, load->args[0], opf_int(w->s->pool, by));
    return opf_map_has(&w->loads, opf_load(w->s->pool, (opf_dtype)load->dtype, load->index, 1, &index));
}

static bool check_load(const opf_expr *e, void *data) {
    wholeness *w = data;
    const opf_expr *coefficient, *rest;
    int64_t stride = 0;
    if (e->kind != OPF_EXPR_LOAD || e->n_args == 0 || !opf_expr_has_var(e->args[0], w->variable)) return true;
    if (opf_expr_has_load(e->args[0])) return true; /* picked one by one, by what other loads read */
    w->whole = opf_expr_affine(w->s->pool, e->args[0], w->variable, &coefficient, &rest) && opf_is_int(coefficient, &stride) && stride >= 1 && stride <= MOST_PHASES;
    for (int64_t k = 1; k < stride && w->whole; k++) w->whole = reads(w, e, k) || reads(w, e, k - stride);
    return w->whole;
}

bool opf_reads_whole(opf_scheduler *s, const opf_targets *targets, int variable) {
    wholeness w = {s, variable, opf_map_new(s->arena), true};
    for (size_t i = 0; i < targets->list.count; i++) opf_expr_visit(s->pool, targets->list.data[i].value, gather, &w);
    for (size_t i = 0; i < targets->list.count && w.whole; i++) opf_expr_visit(s->pool, targets->list.data[i].value, check_load, &w);
    return w.whole;
}

/* ---- taken apart by the prelude ---- */

/* The line of the operand, as both targets read it: under a condition that is the same for all elements (NULL: none). */
typedef struct apart { const opf_expr *condition, *first; int source, even; } apart;

static const opf_expr *load_under(const opf_expr *value, const opf_expr **condition) {
    *condition = value->kind == OPF_EXPR_SELECT ? value->args[0] : NULL;
    return value->kind == OPF_EXPR_SELECT ? value->args[1] : value;
}

static bool find_apart(opf_scheduler *s, const opf_targets *targets, int variable, apart *out) {
    const opf_expr *loads[2], *conditions[2];
    if (targets->list.count != 2) return false;
    for (int k = 0; k < 2; k++) {
        const opf_target *target = &targets->list.data[k];
        loads[k] = load_under(target->value, &conditions[k]);
        bool plain = loads[k]->kind == OPF_EXPR_LOAD && loads[k]->n_args == 1 && loads[k]->dtype == OPF_FLOAT32 && opf_buffer_at(s, loads[k]->index)->memory == OPF_MEMORY_INPUT;
        if (!plain || !target->offset || !walks_by(s, target->offset, variable, 1) || !walks_by(s, loads[k]->args[0], variable, 2)) return false;
    }
    if (conditions[0] != conditions[1] || loads[0]->index != loads[1]->index) return false;
    if (conditions[0] && (opf_expr_has_var(conditions[0], variable) || opf_expr_has_load(conditions[0]))) return false;
    const opf_expr *between = opf_sub(s->pool, loads[1]->args[0], loads[0]->args[0]);
    if (!opf_is_value(between, 1) && !opf_is_value(between, -1)) return false;
    int even = opf_is_value(between, 1) ? 0 : 1;
    *out = (apart){conditions[0], loads[even]->args[0], loads[0]->index, even};
    return true;
}

static void what_is_outside(opf_scheduler *s, opf_block *block, const opf_range *innermost, const opf_targets *targets, const opf_expr *condition) {
    opf_targets outside = {0};
    opf_ranges ranges = {.count = 1, .at = {*innermost}};
    for (size_t i = 0; i < targets->list.count; i++) {
        opf_target target = targets->list.data[i];
        target.value = opf_decide(s, target.value, condition, false);
        OPF_PUSH(s->arena, &outside.list, target);
    }
    opf_body(s, opf_code_if(s, block, opf_unary(s->pool, OPF_OP_NOT, condition)), &ranges, &outside);
}

bool opf_take_apart(opf_scheduler *s, opf_block *block, const opf_range *innermost, const opf_targets *targets) {
    apart found;
    if (!opf_machine_has_halves(s->nest->machine) || !find_apart(s, targets, innermost->variable, &found)) return false;
    const opf_target *even = &targets->list.data[found.even], *odd = &targets->list.data[1 - found.even];
    const opf_expr *offsets[3] = {even->offset, odd->offset, found.first};
    for (int k = 0; k < 3; k++) offsets[k] = opf_substitute(s, offsets[k], innermost->variable, innermost->from);
    opf_code *code = opf_code_add(s, found.condition ? opf_code_if(s, block, found.condition) : block, OPF_CODE_APART);
    code->buffer = even->buffer;
    code->offset = offsets[0];
    code->operands[0] = (opf_run){found.source, offsets[2]};
    code->operands[1] = (opf_run){odd->buffer, offsets[1]};
    code->to = opf_sub(s->pool, innermost->to, innermost->from);
    if (found.condition) what_is_outside(s, block, innermost, targets, found.condition);
    return true;
}
