/* Element-wise stages behind a window over a plane (window_plane.c): a bias, an activation. What reads nothing else along lines
 * and columns is computed over the whole plane too, in full vectors, before columns are taken; then taking them is a mere copy. */
#include "loop/window.h"

typedef struct search {
    const opf_scheduler *s;
    opf_window_part *const *parts; /* by stage of the group; NULL where it is no part of a plane */
    const opf_stage *stage;
    const opf_window_part *found;  /* NULL: no part is read yet */
    bool even;                     /* all of them at their own elements, from planes alike */
} search;

/* Does it read the element that it stands at? */
static bool reads_own_element(const opf_stage *stage, const opf_expr *load) {
    if (load->n_args != stage->n_axes) return false;
    for (int v = 0; v < stage->n_axes; v++)
        if (!opf_is_value(stage->extents[v], 1) && (load->args[v]->kind != OPF_EXPR_VAR || load->args[v]->index != v)) return false;
    return true;
}

static const opf_window_part *part_read(const search *f, const opf_expr *load) {
    return load->kind == OPF_EXPR_LOAD && load->index >= f->s->n_inputs ? f->parts[load->index - f->s->n_inputs] : NULL;
}

static bool same_extents(const opf_stage *a, const opf_stage *b) {
    for (int v = 0; v < a->n_axes; v++)
        if (a->n_axes != b->n_axes || a->extents[v] != b->extents[v]) return false;
    return true;
}

/* Planes are alike where lines are as long, and taken in the same way. */
static bool alike(const opf_window_part *a, const opf_window_part *b) {
    if (a->body->n_args != b->body->n_args || !same_extents(a->plane, b->plane)) return false;
    for (int i = 0; i < a->body->n_args; i++)
        if (a->body->args[i] != b->body->args[i]) return false;
    return true;
}

static bool find_parts(const opf_expr *e, void *data) {
    search *f = data;
    const opf_window_part *part = part_read(f, e);
    if (!part) return true;
    f->even = reads_own_element(f->stage, e) && (!f->found || alike(part, f->found));
    if (!f->found) f->found = part;
    return f->even;
}

/* Loads of parts as loads of the planes; the stage's own variables in front of lines stay what they are. */
static const opf_expr *over_plane(opf_pool *pool, const opf_expr *leaf, void *data) {
    const search *f = data;
    const opf_window_part *part = part_read(f, leaf);
    if (!part) return NULL;
    const opf_expr *indices[OPF_MAX_RANK];
    for (int v = 0; v < part->plane->n_axes; v++) indices[v] = v < part->lead ? leaf->args[v] : opf_var(pool, v);
    return opf_load(pool, (opf_dtype)leaf->dtype, part->body->index, part->plane->n_axes, indices);
}

/* A plane's worth of a part in its place: nothing that walks along lines and columns may be left then. */
static const opf_expr *without_part(opf_pool *pool, const opf_expr *leaf, void *data) {
    return part_read(data, leaf) ? opf_number(pool, (opf_dtype)leaf->dtype, 1) : NULL;
}

static bool has_function(const opf_expr *e, void *data) {
    (void)data;
    return (e->kind != OPF_EXPR_UNARY && e->kind != OPF_EXPR_BINARY) || !opf_scalar_ops[e->op].transcendental;
}

bool opf_window_take_behind(opf_scheduler *s, const opf_stage *stage, opf_window_part *const *parts, int number, opf_window_part *out) {
    search f = {s, parts, stage, NULL, true};
    if (s->fill || stage->combiner != OPF_COMBINE_NONE || stage->second) return false;
    opf_expr_visit(s->pool, stage->body, find_parts, &f);
    if (!f.found || !f.even) return false;
    int lead = f.found->lead;
    const opf_expr *rest = opf_expr_map(s->pool, stage->body, without_part, &f);
    if (stage->n_axes != lead + 2 || opf_expr_has_var(rest, lead) || opf_expr_has_var(rest, lead + 1)) return false;
    opf_stage *plane = opf_arena_copy(s->arena, f.found->plane, sizeof *plane);
    plane->name = opf_arena_printf(s->arena, "%s, plane", stage->name ? stage->name : "window");
    plane->dtype = plane->accumulator = stage->dtype;
    plane->origin = stage->origin;
    plane->combiner = OPF_COMBINE_NONE;
    plane->n_reduce = 0;
    plane->body = opf_expr_map(s->pool, stage->body, over_plane, &f);
    *out = (opf_window_part){.plane = plane, .lead = lead};
    out->body = opf_load(s->pool, stage->dtype, OPF_WINDOW_STAGE + number, f.found->body->n_args, f.found->body->args);
    out->apart = !opf_expr_visit(s->pool, stage->body, has_function, NULL);
    return true;
}
