/* Small windows over padded operands: the padding becomes a stage of its own, select(inside, x[…], 0) over the positions
 * u = stride * output + dilation * tap, kept in the part's scratch. Then the window's taps are plain loads at every point:
 * no borders to cut off, and each element of the operand is copied once but read by many taps. Along the last axis positions
 * lie by phase u % stride, then by place u / stride, so that neighbouring outputs read neighbours whatever the stride.
 *
 * Without borders a copy is worth it where taps overlap along a last axis with a stride: a line is then taken apart once, and not
 * once a tap (largest of 3 x 3 at stride 2: 0.4 of the time). */
#include "loop/divide.h"
#include "loop/power.h"
#include "loop/window.h"

enum {
    MOST_TAPS = 25,
    FEWEST_TAPS = 4,
    FEW_TAPS = 9,            /* all at once; more are taken line by line where they can be */
    MOST_PHASES = 4,
    MOST_POSITIONS = 16384   /* of a padded plane: 64 KiB of float32 */
};

static bool constant_coefficient(opf_scheduler *s, const opf_expr *e, int variable, int64_t *value) {
    const opf_expr *coefficient, *rest;
    return opf_expr_affine(s->pool, e, variable, &coefficient, &rest) && opf_is_int(coefficient, value);
}

/* The one plain variable that stands beside the tap in an index. */
static bool read_position(const opf_window *w, const opf_expr *index, int tap, opf_position *out) {
    *out = (opf_position){-1, tap, 0, 0};
    if (!constant_coefficient(w->s, index, tap, &out->dilation) || out->dilation < 1) return false;
    for (int v = w->s->fill ? w->s->fill->n_given : 0; v < w->stage->n_axes; v++) { /* what is given is an offset */
        int64_t stride;
        if (!opf_expr_has_var(index, v)) continue;
        if (out->plain >= 0 || !constant_coefficient(w->s, index, v, &stride) || stride < 1) return false;
        out->plain = v;
        out->stride = stride;
    }
    return out->plain >= 0;
}

typedef struct index_search { const opf_window *w; int tap; opf_position *out; bool found; } index_search;

static bool find_index(const opf_expr *e, void *data) {
    index_search *f = data;
    for (int i = 0; e->kind == OPF_EXPR_LOAD && i < e->n_args && !f->found; i++)
        f->found = !opf_expr_has_load(e->args[i]) && opf_expr_has_var(e->args[i], f->tap) && read_position(f->w, e->args[i], f->tap, f->out);
    return !f->found;
}

/* Replaces the tap (or the output) by the position; false where something else depends on the two. */
static bool substitute_position(opf_window *w, const opf_position *p) {
    opf_pool *pool = w->s->pool;
    const opf_expr *u = opf_var(pool, opf_window_variables(w->stage) + w->n_positions);
    bool by_tap = p->dilation == 1;
    if (!by_tap && p->stride != 1) return false;
    int replaced = by_tap ? p->tap : p->plain, other = by_tap ? p->plain : p->tap;
    const opf_expr *value = opf_sub(pool, u, opf_mul(pool, opf_var(pool, other), opf_int(pool, by_tap ? p->stride : p->dilation)));
    const opf_expr *body = opf_substitute(w->s, w->body, replaced, value);
    if (opf_expr_has_var(body, p->plain) || opf_expr_has_var(body, p->tap)) return false;
    w->body = body;
    w->positions[w->n_positions++] = *p;
    return true;
}

static bool read_window(opf_window *w) {
    const opf_stage *stage = w->stage;
    for (int r = stage->n_axes; r < opf_window_variables(stage); r++) {
        if (!opf_expr_has_var(w->guarded, r)) continue;
        opf_position p;
        index_search f = {w, r, &p, false};
        opf_expr_visit(w->s->pool, w->guarded, find_index, &f);
        if (!f.found || !substitute_position(w, &p)) return false;
    }
    return w->n_positions > 0;
}

static const opf_position *position_of(const opf_window *w, int plain, int *number) {
    for (*number = 0; *number < w->n_positions; ++*number)
        if (w->positions[*number].plain == plain) return &w->positions[*number];
    return NULL;
}

opf_dim opf_window_extent(const opf_window *w, const opf_position *p) {
    opf_pool *pool = w->s->pool;
    opf_dim last = opf_sub(pool, w->stage->extents[p->plain], opf_int(pool, 1)), taps = opf_sub(pool, w->stage->extents[p->tap], opf_int(pool, 1));
    opf_dim extent = opf_add(pool, opf_mul(pool, last, opf_int(pool, p->stride)), opf_mul(pool, taps, opf_int(pool, p->dilation)));
    return opf_add(pool, extent, opf_int(pool, 1));
}

/* ---- the padded operand ---- */

const opf_expr *opf_window_axis(const opf_window *w, opf_window_axes *a, const char *name, opf_dim extent, const opf_expr *index) {
    int axis = a->stage->n_axes++;
    a->stage->extents[axis] = extent;
    a->stage->axis_names[axis] = name;
    a->indices[axis] = index;
    return opf_var(w->s->pool, axis);
}

opf_stage *opf_window_stage(const opf_window *w, const char *what, opf_dtype dtype) {
    opf_arena *arena = w->s->arena;
    opf_stage *stage = OPF_NEW(arena, opf_stage);
    const char *name = opf_arena_printf(arena, "%s, %s", w->stage->name ? w->stage->name : "window", what);
    *stage = (opf_stage){.name = name, .dtype = dtype, .accumulator = dtype, .origin = w->stage->origin};
    stage->extents = OPF_ARRAY(arena, opf_dim, OPF_MOST_AXES);
    stage->axis_names = OPF_ARRAY(arena, const char *, OPF_MOST_AXES);
    return stage;
}

/* The first position that is inside, as far as it is known; else 0. */
static int64_t start_of(const opf_window *w, const opf_expr *condition, int position) {
    opf_break found;
    int64_t at, left, right;
    if (condition->kind == OPF_EXPR_BINARY && condition->op == OPF_OP_AND) {
        left = start_of(w, condition->args[0], position);
        right = start_of(w, condition->args[1], position);
        return left > right ? left : right;
    }
    bool starts = opf_break_solve(w->s, condition, position, &found) && !found.below && opf_is_int(found.at, &at) && at > 0;
    return starts ? at : 0;
}

/* How far positions are moved so that the first one inside has phase 0: then all phases of a place are inside, or none is. */
static int64_t shift_of(const opf_window *w, const opf_position *p, int number) {
    int64_t start = w->body->kind == OPF_EXPR_SELECT ? start_of(w, w->body->args[0], opf_window_variables(w->stage) + number) : 0;
    return (p->stride - start % p->stride) % p->stride;
}

/* u = place * stride + phase - shift: two axes. What lies beyond the first and the last position is as what lies outside. */
static void add_phases(const opf_window *w, opf_window_axes *a, const opf_position *p, int number) {
    opf_pool *pool = w->s->pool;
    const opf_expr *stride = opf_int(pool, p->stride), *shift = opf_int(pool, shift_of(w, p, number));
    const opf_expr *reach = opf_add(pool, opf_mul(pool, opf_var(pool, p->tap), opf_int(pool, p->dilation)), shift);
    opf_dim taps = opf_add(pool, opf_mul(pool, opf_sub(pool, w->stage->extents[p->tap], opf_int(pool, 1)), opf_int(pool, p->dilation)), shift);
    opf_dim places = opf_add(pool, w->stage->extents[p->plain], opf_floordiv(pool, taps, stride));
    const opf_expr *phase = opf_window_axis(w, a, "phase", stride, opf_floormod(pool, reach, stride));
    const opf_expr *place = opf_window_axis(w, a, opf_window_name(w, p->plain), places, opf_add(pool, opf_var(pool, p->plain), opf_floordiv(pool, reach, stride)));
    a->bind[opf_window_variables(w->stage) + number] = opf_sub(pool, opf_add(pool, opf_mul(pool, place, stride), phase), shift);
}

static void add_position(const opf_window *w, opf_window_axes *a, const opf_position *p, int number) {
    opf_pool *pool = w->s->pool;
    const opf_expr *start = opf_mul(pool, opf_var(pool, p->plain), opf_int(pool, p->stride));
    const opf_expr *index = opf_add(pool, start, opf_mul(pool, opf_var(pool, p->tap), opf_int(pool, p->dilation)));
    a->bind[opf_window_variables(w->stage) + number] = opf_window_axis(w, a, opf_window_name(w, p->plain), opf_window_extent(w, p), index);
}

/* Is it the last axis, with strides that the taps step over? */
static bool by_phases(const opf_window *w, const opf_position *p) {
    for (int v = p->plain + 1; v < w->stage->n_axes; v++)
        if (!opf_is_value(w->stage->extents[v], 1)) return false;
    return p->stride > 1 && p->stride <= MOST_PHASES;
}

/* Body of the padded stage: the operand where there is such a position. */
static const opf_expr *padded_body(const opf_window *w, const opf_window_axes *a) {
    opf_pool *pool = w->s->pool;
    const opf_expr *body = opf_expr_bind(pool, w->body, opf_window_variables(w->stage) + w->n_positions, a->bind);
    for (int k = 0; k < w->n_positions; k++) {
        if (!by_phases(w, &w->positions[k])) continue;
        const opf_expr *there = opf_binary(pool, OPF_OP_LT, a->bind[opf_window_variables(w->stage) + k], opf_window_extent(w, &w->positions[k]));
        body = opf_select(pool, there, body, w->outside);
    }
    return body;
}

/* The stage of the padded operand, and the load of it that takes the place of `guarded`. */
static opf_stage *padded_stage(const opf_window *w, int number, const opf_expr **load) {
    opf_scheduler *s = w->s;
    opf_pool *pool = s->pool;
    const opf_stage *stage = w->stage;
    opf_dtype dtype = (opf_dtype)w->guarded->dtype;
    opf_stage *padded = opf_window_stage(w, "padded", dtype);
    opf_window_axes axes = {.stage = padded};
    for (int v = 0; v < stage->n_axes; v++) {
        int k;
        const opf_position *p = position_of(w, v, &k);
        if (p && by_phases(w, p)) add_phases(w, &axes, p, k);
        else if (p) add_position(w, &axes, p, k);
        else if (opf_expr_has_var(w->body, v)) axes.bind[v] = opf_window_axis(w, &axes, opf_window_name(w, v), stage->extents[v], opf_var(pool, v));
    }
    padded->body = padded_body(w, &axes);
    *load = opf_load(pool, dtype, OPF_WINDOW_STAGE + number, padded->n_axes, axes.indices);
    return padded;
}

/* ---- which stages ---- */

typedef struct guard_search { const opf_expr *found; } guard_search;

static bool find_guarded(const opf_expr *e, void *data) {
    guard_search *f = data;
    bool guarded = e->kind == OPF_EXPR_SELECT && !opf_expr_has_load(e->args[0]) && opf_expr_has_load(e->args[1]) && e->args[2]->n_args == 0 &&
                   e->args[2]->kind != OPF_EXPR_LOAD;
    if (guarded) f->found = e; /* operands come first: the last is the outermost */
    return true;
}

typedef struct overlap_search { opf_scheduler *s; const opf_stage *stage; int last; const opf_expr *found; int loads; } overlap_search;

/* Is it read along the last axis at stride * output + tap, by more taps than the stride has phases? */
static bool overlaps(const overlap_search *f, const opf_expr *index) {
    int64_t stride, dilation, taps;
    if (!constant_coefficient(f->s, index, f->last, &stride) || stride < 2 || stride > MOST_PHASES) return false;
    for (int r = f->stage->n_axes; r < opf_window_variables(f->stage); r++)
        if (opf_expr_has_var(index, r)) return constant_coefficient(f->s, index, r, &dilation) && dilation == 1 && opf_is_int(f->stage->extents[r], &taps) && taps > stride;
    return false;
}

static bool find_overlap(const opf_expr *e, void *data) {
    overlap_search *f = data;
    if (e->kind != OPF_EXPR_LOAD || e->n_args == 0 || !overlaps(f, e->args[e->n_args - 1])) return true;
    f->found = e;
    f->loads++;
    return true;
}

/* The operand of a window: in its select, or where copying pays without one. */
static bool find_operand(opf_scheduler *s, const opf_stage *stage, opf_window *out) {
    guard_search guarded = {NULL};
    overlap_search open = {.s = s, .stage = stage, .last = stage->n_axes - 1};
    opf_expr_visit(s->pool, stage->body, find_guarded, &guarded);
    while (open.last > 0 && opf_is_value(stage->extents[open.last], 1)) open.last--;
    if (!guarded.found && open.last >= 0) opf_expr_visit(s->pool, stage->body, find_overlap, &open);
    const opf_expr *found = guarded.found ? guarded.found : open.loads == 1 ? open.found : NULL;
    *out = (opf_window){.s = s, .stage = stage, .guarded = found, .body = found};
    if (found) out->outside = guarded.found ? found->args[2] : opf_number(s->pool, (opf_dtype)found->dtype, 0);
    return found != NULL;
}

/* Taps of all axes together; 0 where they are not known or one axis has too many. */
static int64_t taps_of(const opf_stage *stage) {
    int64_t points = 1, extent;
    for (int i = stage->n_axes; i < opf_window_variables(stage); i++) {
        if (!opf_is_int(stage->extents[i], &extent) || extent < 1 || extent > MOST_TAPS) return 0;
        points *= extent;
    }
    return points;
}

/* The extreme, or the sum, of the operand itself: line by line, then over the lines. */
static bool is_separable(const opf_scheduler *s, const opf_stage *stage, const opf_expr *operand) {
    bool sum = stage->combiner == OPF_COMBINE_SUM && !opf_group_is_exact(s->group); /* another order */
    bool combiner = stage->combiner == OPF_COMBINE_MAX || stage->combiner == OPF_COMBINE_MIN || sum;
    return combiner && stage->body == operand && stage->n_reduce == 2 && stage->dtype == stage->accumulator && taps_of(stage) > FEW_TAPS &&
           !opf_is_value(stage->extents[stage->n_axes], 1) && !opf_is_value(stage->extents[stage->n_axes + 1], 1);
}

static bool small_enough(const opf_window *w) {
    double positions = 1;
    for (int k = 0; k < w->n_positions; k++) positions *= (double)opf_dim_nominal(opf_window_extent(w, &w->positions[k]));
    return positions <= MOST_POSITIONS;
}

static bool find_window(opf_scheduler *s, const opf_stage *stage, opf_window *out) {
    if (stage->combiner == OPF_COMBINE_NONE || stage->combiner > OPF_COMBINE_OR || taps_of(stage) < FEWEST_TAPS) return false;
    if (!find_operand(s, stage, out) || (taps_of(stage) > MOST_TAPS && !is_separable(s, stage, out->guarded))) return false;
    if (stage->n_axes + 2 > OPF_MAX_RANK || opf_window_variables(stage) + OPF_MAX_RANK > OPF_MOST_AXES || !read_window(out) || !small_enough(out)) return false;
    opf_conditions left = {.any_factor = true}; /* all that the window's borders ask for must stand in that one select */
    const opf_expr *rest = opf_replace(s, stage->body, out->guarded, opf_number(s->pool, (opf_dtype)out->guarded->dtype, 1));
    opf_find_conditions(s, rest, stage->combiner, &left);
    return left.list.count == 0;
}

/* ---- lines first ---- */

/* Splits a reduction of `load` over two taps: the stage returned reduces the second one, for every position of the first;
 * `stage` then reduces that over the first. */
static opf_stage *lines_stage(opf_scheduler *s, opf_stage *stage, const opf_stage *padded, int number) {
    opf_pool *pool = s->pool;
    const opf_expr *load = stage->body, *bind[OPF_MOST_AXES] = {NULL}, *inner[OPF_MAX_RANK], *outer[OPF_MAX_RANK];
    int tap = opf_window_variables(stage) - 1;
    opf_stage *lines = opf_arena_copy(s->arena, stage, sizeof *stage);
    lines->name = opf_arena_printf(s->arena, "%s of lines", stage->name ? stage->name : "window");
    lines->extents = OPF_ARRAY(s->arena, opf_dim, OPF_MOST_AXES);
    lines->axis_names = OPF_ARRAY(s->arena, const char *, OPF_MOST_AXES);
    lines->n_axes = 0;
    lines->n_reduce = 1;
    for (int i = 0; i < load->n_args; i++) { /* axes of the padded operand stay, but those that the second tap walks along */
        int axis = lines->n_axes;
        inner[i] = NULL;
        if (!opf_expr_has_var(load->args[i], tap)) {
            lines->extents[axis] = padded->extents[i];
            lines->axis_names[axis] = padded->axis_names[i];
            inner[i] = opf_var(pool, axis);
            outer[lines->n_axes++] = load->args[i];
            continue;
        }
        for (int v = 0; v < stage->n_axes; v++) {
            if (bind[v] || !opf_expr_has_var(load->args[i], v)) continue;
            lines->extents[lines->n_axes] = stage->extents[v];
            lines->axis_names[lines->n_axes] = stage->axis_names ? stage->axis_names[v] : NULL;
            bind[v] = opf_var(pool, lines->n_axes);
            outer[lines->n_axes++] = opf_var(pool, v);
        }
    }
    lines->extents[lines->n_axes] = stage->extents[tap];
    lines->axis_names[lines->n_axes] = stage->axis_names ? stage->axis_names[tap] : NULL;
    bind[tap] = opf_var(pool, lines->n_axes);
    for (int i = 0; i < load->n_args; i++)
        if (!inner[i]) inner[i] = opf_expr_bind(pool, load->args[i], tap + 1, bind);
    lines->body = opf_load(pool, (opf_dtype)load->dtype, load->index, load->n_args, inner);
    stage->body = opf_load(pool, lines->dtype, OPF_WINDOW_STAGE + number, lines->n_axes, outer);
    stage->n_reduce--;
    return lines;
}

/* ---- the list anew ---- */

/* Positions of stages: of the group's by their own number, of new ones by OPF_WINDOW_STAGE's. */
typedef struct listing {
    opf_scheduler *s;
    int *stages, *made;
    opf_window_part **parts; /* by stage of the group: as part of the plane just in front of it; NULL */
} listing;

static const opf_expr *numbered(opf_pool *pool, const opf_expr *leaf, void *data) {
    const listing *l = data;
    int n_inputs = l->s->n_inputs;
    if (leaf->kind != OPF_EXPR_LOAD || leaf->index < n_inputs) return NULL;
    int tensor = n_inputs + (leaf->index >= OPF_WINDOW_STAGE ? l->made[leaf->index - OPF_WINDOW_STAGE] : l->stages[leaf->index - n_inputs]);
    return opf_load(pool, (opf_dtype)leaf->dtype, tensor, leaf->n_args, leaf->args);
}

/* Appends; `padding` is the position of the stage that pads its operand. */
static int add_stage(const listing *l, opf_stage *stage, int padding) {
    opf_scheduler *s = l->s;
    stage->body = opf_expr_map(s->pool, stage->body, numbered, (void *)(uintptr_t)l);
    if (stage->second) stage->second = opf_expr_map(s->pool, stage->second, numbered, (void *)(uintptr_t)l);
    s->padding[s->n_stages] = padding;
    s->stages[s->n_stages] = stage;
    return s->n_stages++;
}

/* Puts planes in front of a window, or of what stands behind one. */
static bool add_planes(const listing *l, opf_stage *stage, int number, const opf_window *w) {
    opf_scheduler *s = l->s;
    opf_window_part part;
    opf_stage *padded = NULL;
    if (w ? !opf_window_take_plane(w, 2 * number, &padded, &part) : !opf_window_take_behind(s, stage, l->parts, 2 * number + 1, &part)) return false;
    if (padded) l->made[2 * number] = add_stage(l, padded, -1);
    l->made[2 * number + 1] = add_stage(l, part.plane, padded ? l->made[2 * number] : -1);
    l->parts[number] = opf_arena_copy(s->arena, &part, sizeof part);
    stage->combiner = OPF_COMBINE_NONE;
    stage->n_reduce = 0;
    stage->body = part.body;
    return true;
}

/* Puts stages in front of a window; the last one's position, -1 where it is no window. */
static int add_window(const listing *l, opf_stage *stage, int number) {
    opf_scheduler *s = l->s;
    opf_window w;
    const opf_expr *load;
    if (!find_window(s, stage, &w)) return add_planes(l, stage, number, NULL) ? l->made[2 * number + 1] : -1;
    bool separable = is_separable(s, stage, w.guarded);
    if (!separable && add_planes(l, stage, number, &w)) return l->made[2 * number + 1];
    opf_stage *padded = padded_stage(&w, 2 * number, &load);
    stage->body = opf_replace(s, stage->body, w.guarded, load);
    l->made[2 * number] = add_stage(l, padded, -1);
    if (!separable) return l->made[2 * number];
    opf_stage *lines = lines_stage(s, stage, padded, 2 * number + 1);
    return l->made[2 * number + 1] = add_stage(l, lines, l->made[2 * number]);
}

/* ---- which planes are kept ---- */

typedef struct plane_reading { const opf_scheduler *s; bool *read; } plane_reading;

static bool note_read(const opf_expr *e, void *data) {
    plane_reading *r = data;
    if (e->kind == OPF_EXPR_LOAD && e->index >= r->s->n_inputs) r->read[e->index - r->s->n_inputs] = true;
    return true;
}

/* Planes are kept of which parts are taken, and those that functions read; others are inlined into the planes behind them. */
static void keep_planes(const listing *l, int count) {
    opf_scheduler *s = l->s;
    bool *read = OPF_ARRAY(s->arena, bool, s->n_stages + 1), *plain = OPF_ARRAY(s->arena, bool, s->n_stages + 1);
    for (int i = 0; i < count; i++) {
        if (!l->parts[i]) continue;
        plain[l->stages[i]] = true; /* a part is nobody's reader until it is read itself */
        plain[l->made[2 * i + 1]] = !l->parts[i]->apart;
    }
    for (int i = 0; i < s->n_stages; i++) {
        if (plain[i]) continue;
        opf_expr_visit(s->pool, s->stages[i]->body, note_read, &(plane_reading){s, read});
        if (s->stages[i]->second) opf_expr_visit(s->pool, s->stages[i]->second, note_read, &(plane_reading){s, read});
    }
    for (size_t k = 0; k < s->group->results.count; k++) read[l->stages[s->group->results.data[k].stage]] = true;
    for (int i = 0; i < count; i++) {
        if (!l->parts[i]) continue;
        int plane = l->made[2 * i + 1], part = l->stages[i];
        bool kept = read[part] || read[plane];
        s->plane[plane] = kept ? l->parts[i]->lead : 0;
        s->never_kept[plane] = !kept;
        if (!kept) s->padding[part] = -1;
    }
}

void opf_take_stages(opf_scheduler *s) {
    const opf_group *group = s->group;
    int count = (int)group->stages.list.count, most = 3 * count + (int)group->results.count + 1;
    listing l = {s, OPF_ARRAY(s->arena, int, count + 1), OPF_ARRAY(s->arena, int, 2 * count + 1), OPF_ARRAY(s->arena, opf_window_part *, count + 1)};
    s->stages = OPF_ARRAY(s->arena, const opf_stage *, most);
    s->padding = OPF_ARRAY(s->arena, int, most);
    s->plane = OPF_ARRAY(s->arena, int, most);
    s->never_kept = OPF_ARRAY(s->arena, bool, most);
    for (int i = 0; i < count; i++) {
        opf_stage *stage = opf_arena_copy(s->arena, group->stages.list.data[i], sizeof *stage);
        stage->body = opf_powers_below(s->pool, group, i, opf_divisions_out(s->pool, group, stage, stage->body));
        int padding = add_window(&l, stage, i);
        l.stages[i] = add_stage(&l, stage, padding);
    }
    keep_planes(&l, count);
    s->result_stage = OPF_ARRAY(s->arena, int, group->results.count + 1);
    for (size_t k = 0; k < group->results.count; k++) {
        int number = l.stages[group->results.data[k].stage];
        s->result_stage[k] = opf_dtype_is_packed(s->stages[number]->dtype) ? opf_add_bytes(s, number) : number;
    }
}
