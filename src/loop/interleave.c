/* Elements that lie interleaved along the innermost axis (x[2 * place + phase]): all phases are computed side by side, in one loop over
 * places, so that whole vectors are loaded, taken apart or put together, and stored.
 *
 *   taken apart     read interleaved, stored apart: phases of a window with a stride. A loop a phase would pick single elements.
 *   put together    stored interleaved, some of what is read is the same for all phases: nearest neighbours of a resize. A loop over
 *                   the phases of one place would be too short for a vector. */
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
