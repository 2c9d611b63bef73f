/* Which group is a contraction: its one reduction sums products of two operands whose axes separate. */
#include "loop/divide.h"
#include "loop/tile_internal.h"

enum { MOST_NODES = 400 }; /* of an operand with all that is computed inside it */

/* ---- stages in front of the anchor ---- */

typedef struct inliner { opf_tiler *tiler; bool failed; } inliner;

static const opf_expr *inline_load(opf_pool *pool, const opf_expr *leaf, void *data) {
    inliner *in = data;
    opf_tiler *tiler = in->tiler;
    if (leaf->kind != OPF_EXPR_LOAD || leaf->index < tiler->n_inputs) return NULL;
    int s = leaf->index - tiler->n_inputs;
    if (tiler->depends[s] || (tiler->bands && s == tiler->band)) return NULL;
    const opf_stage *stage = tiler->stages->list.data[s];
    if (stage->n_reduce) {
        in->failed = true;
        return NULL;
    }
    return opf_expr_map(pool, opf_expr_bind(pool, stage->body, stage->n_axes, leaf->args), inline_load, in);
}

const opf_expr *opf_tiler_inline(opf_tiler *tiler, const opf_expr *e) {
    inliner in = {tiler, false};
    const opf_expr *result = opf_expr_map(tiler->pool, e, inline_load, &in);
    return in.failed ? NULL : result;
}

/* ---- the anchor ---- */

bool opf_tiler_anchor(opf_tiler *tiler) {
    tiler->tile->anchor = -1;
    tiler->tile->siblings.count = 0;
    tiler->anchor = NULL;
    for (size_t s = 0; s < tiler->stages->list.count; s++) {
        const opf_stage *stage = tiler->stages->list.data[s];
        if (!stage->n_reduce) continue;
        if (tiler->anchor && !tiler->bands) {
            if (!opf_tiler_take_sibling(tiler, (int)s)) return false;
            continue;
        }
        tiler->anchor = stage;
        tiler->tile->anchor = (int)s;
    }
    if (!tiler->anchor) return opf_tiler_refuse(tiler, "the group holds no reduction");
    const opf_expr *body = tiler->anchor->body;
    opf_dtype dtype = tiler->anchor->dtype; /* of the finished sum */
    bool floats = tiler->anchor->accumulator == OPF_FLOAT32 && opf_dtype_held(dtype) == OPF_FLOAT32, integers = tiler->anchor->accumulator == OPF_INT32 && dtype == OPF_INT32;
    if (tiler->anchor->combiner != OPF_COMBINE_SUM || (!floats && !integers)) return opf_tiler_refuse(tiler, "the reduction is no sum in float32 or int32");
    if (body->kind != OPF_EXPR_BINARY || body->op != OPF_OP_MUL) return opf_tiler_refuse(tiler, "the reduction sums no products");
    return true;
}

typedef struct dependence { const opf_tiler *tiler; bool found; } dependence;

static bool visit_dependence(const opf_expr *e, void *data) {
    dependence *d = data;
    int s = e->index - d->tiler->n_inputs;
    if (e->kind == OPF_EXPR_LOAD && s >= 0 && d->tiler->depends[s]) d->found = true;
    return !d->found;
}

static bool find_dependent(opf_tiler *tiler) {
    tiler->depends = OPF_ARRAY(tiler->arena, bool, tiler->stages->list.count);
    tiler->depends[tiler->tile->anchor] = true;
    for (size_t s = (size_t)tiler->tile->anchor + 1; s < tiler->stages->list.count; s++) {
        dependence d = {tiler, false};
        opf_expr_visit(tiler->pool, tiler->stages->list.data[s]->body, visit_dependence, &d);
        if (opf_tiler_is_anchor(tiler, (int)s) && d.found) return opf_tiler_refuse(tiler, "one sum depends on another");
        tiler->depends[s] = d.found || opf_tiler_is_anchor(tiler, (int)s);
    }
    return true;
}

/* ---- axes ---- */

/* Axes while their roles are looked for: the anchor's own, then pairs that take the place of one that was split. */
typedef struct candidate {
    int n;
    opf_dim extents[3 * OPF_MAX_RANK];
    const char *names[3 * OPF_MAX_RANK];
    const opf_expr *value[3 * OPF_MAX_RANK]; /* of the anchor's own: over the candidates, NULL: itself */
    bool used[3 * OPF_MAX_RANK];
    int parts[3 * OPF_MAX_RANK];             /* of an axis that was split: the outer part, behind which the inner one stands */
    const opf_expr *left, *right;
} candidate;

typedef struct division { opf_pool *pool; const candidate *axes; int variable; int64_t divisor; } division;

/* A variable that stands alone in what is divided, and whose extent the divisor divides. */
static bool visit_division(const opf_expr *e, void *data) {
    division *d = data;
    int64_t divisor;
    bool divides = e->kind == OPF_EXPR_BINARY && (e->op == OPF_OP_FLOORDIV || e->op == OPF_OP_FLOORMOD);
    if (!divides || !opf_is_int(e->args[1], &divisor) || divisor < 2) return true;
    for (int v = 0; v < d->axes->n; v++) {
        const opf_expr *coefficient, *rest;
        if (!d->axes->used[v] || !opf_expr_affine(d->pool, e->args[0], v, &coefficient, &rest) || !opf_is_value(coefficient, 1)) continue;
        opf_dim extent = d->axes->extents[v], by = opf_int(d->pool, divisor);
        if (extent == by) continue; /* a phase that is counted from another place: nothing is left to split */
        if (opf_mul(d->pool, opf_floordiv(d->pool, extent, by), by) != extent) continue;
        d->variable = v;
        d->divisor = divisor;
        return false;
    }
    return true;
}

/* One axis that an operand divides: groups of a convolution, phases of a transposed one, heads of an attention. */
static bool find_division(const opf_tiler *tiler, const candidate *c, const opf_expr *e, division *out) {
    *out = (division){tiler->pool, c, -1, 0};
    opf_expr_visit(tiler->pool, e, visit_division, out);
    return out->variable >= 0;
}

static void bind_candidate(opf_tiler *tiler, candidate *c, int variable, const opf_expr *value) {
    const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL};
    bind[variable] = value;
    opf_domain domain = {c->n, c->extents};
    c->value[variable] = value;
    c->used[variable] = false;
    c->left = opf_expr_simplify(tiler->pool, opf_expr_bind(tiler->pool, c->left, c->n, bind), domain);
    c->right = opf_expr_simplify(tiler->pool, opf_expr_bind(tiler->pool, c->right, c->n, bind), domain);
}

static void split_axis(opf_tiler *tiler, candidate *c, division d) {
    opf_pool *pool = tiler->pool;
    int outer = c->n, inner = c->n + 1;
    opf_dim by = opf_int(pool, d.divisor), count = opf_floordiv(pool, c->extents[d.variable], by);
    c->extents[outer] = count;
    c->extents[inner] = by;
    c->names[outer] = opf_arena_printf(tiler->arena, "%s_outer", c->names[d.variable]);
    c->names[inner] = opf_arena_printf(tiler->arena, "%s_inner", c->names[d.variable]);
    c->used[outer] = !opf_is_value(count, 1);
    c->used[inner] = true;
    c->value[outer] = c->used[outer] ? NULL : opf_int(pool, 0);
    c->parts[d.variable] = outer;
    c->n += 2;
    const opf_expr *high = c->used[outer] ? opf_var(pool, outer) : opf_int(pool, 0);
    bind_candidate(tiler, c, d.variable, opf_add(pool, opf_mul(pool, high, by), opf_var(pool, inner)));
}

static bool find_candidates(opf_tiler *tiler, candidate *c) {
    const opf_stage *anchor = tiler->anchor;
    int n = anchor->n_axes + anchor->n_reduce;
    if (n > OPF_MAX_RANK + OPF_MAX_RANK / 2) return opf_tiler_refuse(tiler, "too many axes");
    c->left = opf_tiler_inline(tiler, anchor->body->args[0]);
    c->right = opf_tiler_inline(tiler, anchor->body->args[1]);
    if (!c->left || !c->right) return opf_tiler_refuse(tiler, "an operand holds a reduction");
    if (!tiler->words) {
        c->left = opf_tiler_as_float(tiler->pool, c->left);
        c->right = opf_tiler_as_float(tiler->pool, c->right);
    }
    c->n = n;
    for (int k = 0; k < n; k++) {
        c->extents[k] = anchor->extents[k];
        c->names[k] = anchor->axis_names && anchor->axis_names[k] ? anchor->axis_names[k] : opf_arena_printf(tiler->arena, "%d", k);
        c->used[k] = true;
    }
    for (int k = 0; k < n; k++)
        if (opf_is_value(c->extents[k], 1)) bind_candidate(tiler, c, k, opf_int(tiler->pool, 0));
    division d;
    for (int splits = 0; splits < 6 && (find_division(tiler, c, c->left, &d) || find_division(tiler, c, c->right, &d)); splits++) split_axis(tiler, c, d);
    return true;
}

/* The axes that stand in the place of axes first … first+count-1, in order. */
static int axes_in_place_of(const candidate *c, int first, int count, int *axes) {
    int n = 0;
    for (int k = first; k < first + count; k++) {
        if (c->used[k]) axes[n++] = k;
        else if (c->parts[k]) n += axes_in_place_of(c, c->parts[k], 2, axes + n);
    }
    return n;
}

static void add_axis(opf_tiler *tiler, const candidate *c, int axis, opf_axis_role role, const opf_expr **bind) {
    opf_tile *tile = tiler->tile;
    bind[axis] = opf_var(tiler->pool, tile->n_axes);
    tile->axes[tile->n_axes++] = (opf_tile_axis){role, c->extents[axis], c->names[axis]};
}

static void count_roles(opf_tile *tile) {
    int *counts[] = {&tile->n_outer, &tile->n_row, &tile->n_column, &tile->n_depth};
    for (int k = 0; k < tile->n_axes; k++) ++*counts[tile->axes[k].role];
}

typedef struct placing { const candidate *c; const opf_expr *const *bind; } placing;

/* An operand of a sibling over the tile's axes: what a split axis was replaced by may hold axes that were split later. */
static const opf_expr *over_axes(const opf_tiler *tiler, const opf_expr *e, void *data) {
    const placing *p = data;
    opf_domain domain = {p->c->n, p->c->extents};
    for (int level = 0; level < 8; level++) e = opf_expr_simplify(tiler->pool, opf_expr_bind(tiler->pool, e, p->c->n, p->c->value), domain);
    return opf_expr_bind(tiler->pool, e, p->c->n, p->bind);
}

/* The anchor's plain variables over the tile's axes: what a split axis was replaced by may hold axes that were split later. */
static void set_point(opf_tiler *tiler, const candidate *c, const opf_expr *const *bind) {
    tiler->root = OPF_ARRAY(tiler->arena, const opf_expr *, tiler->anchor->n_axes);
    for (int k = 0; k < tiler->anchor->n_axes; k++) {
        const opf_expr *value = opf_var(tiler->pool, k);
        for (int level = 0; level < 8; level++) value = opf_expr_bind(tiler->pool, value, c->n, c->value);
        tiler->root[k] = opf_expr_bind(tiler->pool, value, c->n, bind);
    }
    tiler->tile->point = tiler->root;
}

/* Position (in `axes`) of the last axis that only `own` walks along; -1: none. */
static int last_own(const int *axes, int n, const opf_expr *own, const opf_expr *other) {
    for (int k = n - 1; k >= 0; k--)
        if (opf_expr_has_var(own, axes[k]) && !opf_expr_has_var(other, axes[k])) return k;
    return -1;
}

/* How many columns an operand gives whose last own axis is axes[last]: lines that lie behind each other and all but fill vectors
 * together (tile_sizes.c: columns behind the last whole vector) count as one. */
static int64_t columns_of(const opf_tiler *tiler, const candidate *c, const int *axes, int last, const opf_expr *own, const opf_expr *other) {
    if (last < 0) return 0;
    int64_t size = opf_dim_nominal(c->extents[axes[last]]), lines, lanes = tiler->nest->machine->lanes;
    if (last == 0 || !opf_expr_has_var(own, axes[last - 1]) || opf_expr_has_var(other, axes[last - 1])) return size;
    if (!opf_tiler_walks_evenly(tiler, own, axes[last - 1], axes[last], c->extents[axes[last]]) || !opf_is_int(c->extents[axes[last]], &size) || !opf_is_int(c->extents[axes[last - 1]], &lines)) return size;
    return size * lines >= lanes && size * lines % lanes <= OPF_TILE_MOST_EXTRA ? size * lines : size;
}

/* B, and with it the columns: the operand that alone walks along the last such axis, unless that is too short for a vector
 * and the other operand has a longer one. c->right becomes B; its last own axis is returned (position in axes; -1: none). */
static int choose_columns(const opf_tiler *tiler, candidate *c, const int *axes, int n) {
    int left = last_own(axes, n, c->left, c->right), right = last_own(axes, n, c->right, c->left);
    int64_t left_size = columns_of(tiler, c, axes, left, c->left, c->right), right_size = columns_of(tiler, c, axes, right, c->right, c->left);
    bool swap = left > right ? left_size >= OPF_TILE_SHORT || right_size <= left_size : right_size < OPF_TILE_SHORT && left_size > right_size;
    if (swap) {
        const opf_expr *keep = c->left;
        c->left = c->right;
        c->right = keep;
    }
    return swap ? left : right;
}

typedef struct constancy { const opf_tiler *tiler; bool all; } constancy;

static bool visit_constancy(const opf_expr *e, void *data) {
    constancy *c = data;
    if (e->kind == OPF_EXPR_LOAD && (e->index >= c->tiler->n_inputs || !c->tiler->stages->inputs.data[e->index]->constant)) c->all = false;
    return c->all;
}

static bool reads_constants_only(const opf_tiler *tiler, const opf_expr *e) {
    constancy c = {tiler, true};
    opf_expr_visit(tiler->pool, e, visit_constancy, &c);
    return c.all;
}

/* Columns are those of the operand that is no constant. */
static int columns_of_window(const opf_tiler *tiler, candidate *c, const int *axes, int n) {
    if (reads_constants_only(tiler, c->right)) {
        const opf_expr *keep = c->left;
        c->left = c->right;
        c->right = keep;
    }
    return last_own(axes, n, c->right, c->left);
}

/* Columns are those of the operand that is computed in bands. */
static int columns_of_band(const opf_tiler *tiler, candidate *c, const int *axes, int n) {
    if (c->left->kind == OPF_EXPR_LOAD && c->left->index == tiler->n_inputs + tiler->band) {
        const opf_expr *keep = c->left;
        c->left = c->right;
        c->right = keep;
    }
    return last_own(axes, n, c->right, c->left);
}

typedef struct sliding { opf_pool *pool; int column; const int *depth; int n_depth; bool found; } sliding;

static bool visit_sliding(const opf_expr *e, void *data) {
    sliding *s = data;
    if (e->kind != OPF_EXPR_LOAD) return true;
    for (int i = 0; i < e->n_args; i++)
        for (int k = 0; k < s->n_depth; k++) s->found |= opf_expr_has_var(e->args[i], s->column) && opf_expr_has_var(e->args[i], s->depth[k]);
    return !s->found;
}

/* Does an axis of the depth slide along the column axis in the operand? */
static bool slides(const opf_tiler *tiler, const opf_expr *operand, int column, const int *depth, int n_depth) {
    sliding s = {tiler->pool, column, depth, n_depth, false};
    opf_expr_visit(tiler->pool, operand, visit_sliding, &s);
    return s.found;
}

/* The column axis before the last one. With something between them, as phases of a transposed convolution, it is one where B walks along both as one
 * or in windows. */
static int column_before(const opf_tiler *tiler, const candidate *c, const int *axes, int last, const int *depth, int n_depth) {
    int before = last - 1;
    while (before >= 0 && (!opf_expr_has_var(c->right, axes[before]) || opf_expr_has_var(c->left, axes[before]))) before--;
    if (before < 0 || before == last - 1) return before;
    bool windows = slides(tiler, c->right, axes[before], depth, n_depth) && slides(tiler, c->right, axes[last], depth, n_depth);
    return windows || opf_tiler_walks_evenly(tiler, c->right, axes[before], axes[last], c->extents[axes[last]]) ? before : -1;
}

static bool assign_roles(opf_tiler *tiler, candidate *c) {
    int axes[3 * OPF_MAX_RANK], depth[3 * OPF_MAX_RANK];
    int n = axes_in_place_of(c, 0, tiler->anchor->n_axes, axes), n_depth = axes_in_place_of(c, tiler->anchor->n_axes, tiler->anchor->n_reduce, depth);
    if (n == 0) return opf_tiler_refuse(tiler, "the result is a single element");
    if (n_depth == 0) return opf_tiler_refuse(tiler, "the sum has a single term");
    int last = tiler->bands ? columns_of_band(tiler, c, axes, n) : tiler->winograd ? columns_of_window(tiler, c, axes, n) : choose_columns(tiler, c, axes, n);
    if (last < 0) return opf_tiler_refuse(tiler, "no axis belongs to one operand alone");
    int before = column_before(tiler, c, axes, last, depth, n_depth);
    opf_axis_role roles[3 * OPF_MAX_RANK];
    for (int k = 0; k < n; k++) {
        bool in_a = opf_expr_has_var(c->left, axes[k]), in_b = opf_expr_has_var(c->right, axes[k]);
        roles[k] = k == last || k == before ? OPF_AXIS_COLUMN : in_a && !in_b ? OPF_AXIS_ROW : OPF_AXIS_OUTER;
    }
    const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL};
    tiler->tile->axes = OPF_ARRAY(tiler->arena, opf_tile_axis, n + n_depth);
    for (opf_axis_role role = OPF_AXIS_OUTER; role <= OPF_AXIS_COLUMN; role++)
        for (int k = 0; k < n; k++)
            if (roles[k] == role) add_axis(tiler, c, axes[k], role, bind);
    for (int k = 0; k < n_depth; k++) add_axis(tiler, c, depth[k], OPF_AXIS_DEPTH, bind);
    count_roles(tiler->tile);
    tiler->tile->a.value = opf_expr_bind(tiler->pool, c->left, c->n, bind);
    tiler->tile->b.value = opf_expr_bind(tiler->pool, c->right, c->n, bind);
    set_point(tiler, c, bind);
    return opf_tiler_sibling_operands(tiler, over_axes, &(placing){c, bind});
}

static bool count_node(const opf_expr *e, void *data) {
    (void)e;
    return ++*(int *)data <= MOST_NODES;
}

bool opf_tiler_match(opf_tiler *tiler) {
    candidate c = {0};
    if (!opf_tiler_anchor(tiler)) return false;
    for (size_t k = 0; k < tiler->nest->group->results.count; k++)
        if (opf_dtype_is_packed(tiler->nest->group->results.data[k].value->dtype)) return opf_tiler_refuse(tiler, "elements of a result share bytes");
    if (!find_dependent(tiler)) return false;
    if (!find_candidates(tiler, &c)) return false;
    int nodes = 0;
    if (!opf_expr_visit(tiler->pool, c.left, count_node, &nodes) || !opf_expr_visit(tiler->pool, c.right, count_node, &nodes))
        return opf_tiler_refuse(tiler, "an operand is too long an expression");
    return assign_roles(tiler, &c);
}

/* ---- what follows ---- */

typedef struct identity { const opf_tiler *tiler; const opf_stage *reader; bool holds; } identity;

/* Every load of a stage that depends on the anchor is at the reader's own point. */
static bool visit_identity(const opf_expr *e, void *data) {
    identity *id = data;
    int s = e->kind == OPF_EXPR_LOAD ? e->index - id->tiler->n_inputs : -1;
    if (s < 0 || !id->tiler->depends[s]) return true;
    for (int k = 0; k < e->n_args; k++) {
        bool single = opf_is_value(id->reader->extents[k], 1) && opf_is_value(e->args[k], 0);
        if (!single && !(e->args[k]->kind == OPF_EXPR_VAR && e->args[k]->index == k)) id->holds = false;
    }
    return id->holds;
}

static bool same_domain(const opf_stage *a, const opf_stage *b) {
    if (a->n_axes != b->n_axes || b->n_reduce) return false;
    for (int k = 0; k < a->n_axes; k++)
        if (a->extents[k] != b->extents[k]) return false;
    return true;
}

static int result_of(const opf_group *group, int stage) {
    for (size_t r = 0; r < group->results.count; r++)
        if (group->results.data[r].stage == stage) return (int)r;
    return -1;
}

static bool add_stage(opf_tiler *tiler, int s) {
    const opf_stage *stage = tiler->stages->list.data[s];
    identity id = {tiler, stage, true};
    if (!same_domain(tiler->anchor, stage)) return opf_tiler_refuse(tiler, "what follows the sum has another domain");
    opf_expr_visit(tiler->pool, stage->body, visit_identity, &id);
    if (!id.holds) return opf_tiler_refuse(tiler, "what follows the sum reads it at other points");
    const opf_expr *body = opf_tiler_inline(tiler, opf_divisions_out(tiler->pool, tiler->nest->group, stage, stage->body));
    if (!body) return opf_tiler_refuse(tiler, "what follows the sum holds another reduction");
    opf_tile *tile = tiler->tile;
    opf_dim *extents = OPF_ARRAY(tiler->arena, opf_dim, tile->n_axes);
    for (int k = 0; k < tile->n_axes; k++) extents[k] = tile->axes[k].extent;
    body = opf_expr_bind(tiler->pool, body, stage->n_axes, tiler->root);
    body = opf_expr_simplify(tiler->pool, body, (opf_domain){tile->n_axes, extents});
    OPF_PUSH(tiler->arena, &tile->epilogue, (opf_tile_stage){s, stage->dtype, body, result_of(tiler->nest->group, s)});
    return true;
}

bool opf_tiler_epilogue(opf_tiler *tiler) {
    const opf_group *group = tiler->nest->group;
    for (size_t r = 0; r < group->results.count; r++)
        if (!tiler->depends[group->results.data[r].stage]) return opf_tiler_refuse(tiler, "a result does not depend on the sum");
    int anchor = tiler->tile->anchor, result = result_of(group, anchor);
    const opf_expr *sum = opf_load(tiler->pool, tiler->anchor->dtype, tiler->n_inputs + anchor, tiler->anchor->n_axes, tiler->root);
    if (result >= 0) OPF_PUSH(tiler->arena, &tiler->tile->epilogue, (opf_tile_stage){anchor, tiler->anchor->dtype, sum, result});
    for (size_t k = 0; k < tiler->tile->siblings.count; k++) {
        int sibling = tiler->tile->siblings.data[k].anchor;
        sum = opf_load(tiler->pool, tiler->anchor->dtype, tiler->n_inputs + sibling, tiler->anchor->n_axes, tiler->root);
        if (result_of(group, sibling) >= 0) OPF_PUSH(tiler->arena, &tiler->tile->epilogue, (opf_tile_stage){sibling, tiler->anchor->dtype, sum, result_of(group, sibling)});
    }
    for (size_t s = (size_t)tiler->tile->anchor + 1; s < tiler->stages->list.count; s++)
        if (tiler->depends[s] && !opf_tiler_is_anchor(tiler, (int)s) && !add_stage(tiler, (int)s)) return false;
    return true;
}
