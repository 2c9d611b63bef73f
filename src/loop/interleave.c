/* Elements that lie interleaved along the innermost axis (x[2 * place + phase], the phases of a window with a stride) and are stored
 * apart: the phases are computed side by side, in one loop over places. What it reads is then contiguous: whole vectors are
 * loaded and taken apart, where a loop a phase would pick single elements. */
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

void opf_interleave(opf_scheduler *s, opf_axes *axes, opf_targets *targets) {
    int64_t phases;
    if (axes->count < 2) return;
    phase_search f = {.s = s, .place = axes->at[axes->count - 1], .phase = axes->at[axes->count - 2]};
    if (!opf_is_int(opf_extent(s, f.phase), &phases) || phases < 2 || phases > MOST_PHASES) return;
    f.phases = phases;
    for (size_t i = 0; i < targets->list.count && !f.found; i++) opf_expr_visit(s->pool, targets->list.data[i].value, find_interleaved, &f);
    if (!f.found) return;
    opf_targets all = {0};
    for (int64_t k = 0; k < phases; k++) {
        for (size_t i = 0; i < targets->list.count; i++) {
            opf_target target = targets->list.data[i];
            target.offset = opf_substitute(s, target.offset, f.phase, opf_int(s->pool, k));
            target.value = opf_simple(s, opf_substitute_safely(s, target.value, f.phase, opf_int(s->pool, k)));
            OPF_PUSH(s->arena, &all.list, target);
        }
    }
    *targets = all;
    opf_axes_remove(axes, axes->count - 2);
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
