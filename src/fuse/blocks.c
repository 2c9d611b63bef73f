/* Plans in blocks of rows: which stages are kept, what stands for their axes, which loop is the rows'. */
#include <math.h>

#include "fuse/blocks.h"
#include "fuse/stream.h"

enum {
    DEAR = 12,     /* operations an element from which a map is not computed twice; one exp is twice that */
    FEWEST = 4,    /* rows, columns and terms from which a register tile pays */
    ENOUGH_UNITS = 16, /* blocks that occupy all threads */
    STREAM_FROM = 32 << 10 /* bytes that a row leaves from which a softmax goes by blocks of its columns: a block of rows then fills L2 */
};
static const double REPEATED = 1.5; /* evaluations an element from which a dear map is kept */

typedef struct planner {
    const opf_stages *stages;
    int n_inputs, n_stages, n_results;
    const int *results;
    opf_pool *pool;
    opf_arena *arena;
    opf_block_plan *plan;
    bool *kept;
    const opf_expr **bodies, **seconds; /* by stage: maps that are not kept are written in */
    int n_root, root[OPF_BLOCK_AXES];   /* variables of the results' domain, in order */
    bool allowed[64];                   /* by variable: stages may be bound to it */
} planner;

static double nominal(opf_dim dim) { return (double)opf_dim_nominal(dim); }

static double points(const opf_stage *stage, int from, int to) {
    double product = 1;
    for (int k = from; k < to; k++) product *= nominal(stage->extents[k]);
    return product;
}

static int new_variable(planner *p, const char *name, opf_dim extent) {
    OPF_PUSH(p->arena, &p->plan->extents, extent);
    OPF_PUSH(p->arena, &p->plan->names, name);
    return (int)p->plan->extents.count - 1;
}

static opf_domain domain_of(const planner *p) { return (opf_domain){(int)p->plan->extents.count, p->plan->extents.data}; }

static const opf_expr *simple(const planner *p, const opf_expr *e) { return opf_expr_simplify(p->pool, e, domain_of(p)); }

static const char *axis_name(const planner *p, const opf_stage *stage, int axis) {
    if (stage->axis_names && stage->axis_names[axis]) return stage->axis_names[axis];
    return opf_arena_printf(p->arena, "%d", axis);
}

/* ---- products ---- */

static const opf_expr *without_casts(const opf_expr *e) {
    while (e->kind == OPF_EXPR_CAST) e = e->args[0];
    return e;
}

typedef struct index_check { const opf_stage *stage; opf_pool *pool; bool window; } index_check;

/* How far the reduced axes move the index; NULL where that is not known. */
static const opf_expr *reach_of_sum(const index_check *check, const opf_expr *index) {
    const opf_stage *stage = check->stage;
    const opf_expr *reach = opf_int(check->pool, 0), *coefficient, *rest;
    for (int v = stage->n_axes; v < stage->n_axes + stage->n_reduce; v++) {
        if (!opf_expr_affine(check->pool, index, v, &coefficient, &rest) || opf_expr_vars(coefficient)) return NULL;
        reach = opf_add(check->pool, reach, opf_mul(check->pool, coefficient, opf_sub(check->pool, stage->extents[v], opf_int(check->pool, 1))));
    }
    return reach;
}

/* Do neighbours along plain axes share what the sum walks over? Heads that lie side by side, h * size + k, do not: which of
 * them an index falls into does not depend on k. */
static bool overlaps(const index_check *check, const opf_expr *index) {
    const opf_stage *stage = check->stage;
    const opf_expr *reach = reach_of_sum(check, index);
    if (!reach) return true;
    const opf_expr *which = opf_floordiv(check->pool, index, opf_add(check->pool, reach, opf_int(check->pool, 1)));
    which = opf_expr_simplify(check->pool, which, opf_stage_domain(stage));
    for (int v = stage->n_axes; v < stage->n_axes + stage->n_reduce; v++)
        if (opf_expr_has_var(which, v)) return true;
    return false;
}

static bool moves(const opf_stage *stage, const opf_expr *index, int v) { return !opf_is_value(stage->extents[v], 1) && opf_expr_has_var(index, v); }

/* Does an index join an axis of the result and a reduced one, so that elements are read several times? */
static bool meet_window(const opf_expr *e, void *data) {
    index_check *check = data;
    const opf_stage *stage = check->stage;
    if (e->kind != OPF_EXPR_LOAD) return true;
    for (int k = 0; k < e->n_args; k++) {
        bool plain = false, reduced = false;
        for (int v = 0; v < stage->n_axes + stage->n_reduce; v++)
            if (moves(stage, e->args[k], v)) *(v < stage->n_axes ? &plain : &reduced) = true;
        check->window = check->window || (plain && reduced && overlaps(check, e->args[k]));
    }
    return !check->window;
}

bool opf_stage_is_product(const opf_stage *stage, opf_pool *pool) {
    const opf_expr *body = without_casts(stage->body);
    if (stage->combiner != OPF_COMBINE_SUM || stage->accumulator != OPF_FLOAT32) return false;
    if (body->kind != OPF_EXPR_BINARY || body->op != OPF_OP_MUL) return false;
    index_check check = {stage, pool, false};
    opf_expr_visit(pool, body, meet_window, &check);
    return !check.window;
}

/* ---- which stages are kept ---- */

typedef struct reading { const planner *p; double *reads; double times, price; const double *prices; } reading;

static bool add_reads(const opf_expr *e, void *data) {
    reading *r = data;
    if (e->kind == OPF_EXPR_LOAD && e->index >= r->p->n_inputs) r->reads[e->index - r->p->n_inputs] += r->times;
    return true;
}

static bool add_price(const opf_expr *e, void *data) {
    reading *r = data;
    bool operation = e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY;
    if (operation && (e->dtype != OPF_INT64 || opf_expr_has_load(e))) r->price += opf_scalar_ops[e->op].flops;
    if (e->kind == OPF_EXPR_LOAD && e->index >= r->p->n_inputs && !r->p->kept[e->index - r->p->n_inputs]) r->price += r->prices[e->index - r->p->n_inputs];
    return true;
}

/* What is kept makes its readers cheap: to be done twice, with reductions kept at first. */
static void choose_kept(planner *p) {
    double *reads = OPF_ARRAY(p->arena, double, p->n_stages + 1), *prices = OPF_ARRAY(p->arena, double, p->n_stages + 1);
    for (int s = 0; s < p->n_stages; s++) {
        reading r = {.p = p, .prices = prices};
        opf_expr_visit(p->pool, p->stages->list.data[s]->body, add_price, &r);
        prices[s] = r.price;
    }
    for (int r = 0; r < p->n_results; r++) reads[p->results[r]] += points(p->stages->list.data[p->results[r]], 0, p->stages->list.data[p->results[r]]->n_axes);
    for (int s = p->n_stages; s-- > 0;) {
        const opf_stage *stage = p->stages->list.data[s];
        double elements = points(stage, 0, stage->n_axes);
        p->kept[s] = stage->combiner != OPF_COMBINE_NONE || (prices[s] >= DEAR && reads[s] > REPEATED * elements);
        reading r = {.p = p, .reads = reads, .times = (p->kept[s] ? elements : reads[s]) * points(stage, stage->n_axes, stage->n_axes + stage->n_reduce)};
        opf_expr_visit(p->pool, stage->body, add_reads, &r);
        if (stage->second) opf_expr_visit(p->pool, stage->second, add_reads, &r);
    }
}

static const opf_expr *write_in(opf_pool *pool, const opf_expr *leaf, void *data) {
    const planner *p = data;
    if (leaf->kind != OPF_EXPR_LOAD || leaf->index < p->n_inputs || p->kept[leaf->index - p->n_inputs]) return NULL;
    return opf_expr_bind(pool, p->bodies[leaf->index - p->n_inputs], leaf->n_args, leaf->args);
}

static void write_maps_in(planner *p) {
    p->bodies = OPF_ARRAY(p->arena, const opf_expr *, p->n_stages + 1);
    p->seconds = OPF_ARRAY(p->arena, const opf_expr *, p->n_stages + 1);
    for (int s = 0; s < p->n_stages; s++) {
        const opf_stage *stage = p->stages->list.data[s];
        p->bodies[s] = opf_expr_simplify(p->pool, opf_expr_map(p->pool, stage->body, write_in, p), opf_stage_domain(stage));
        if (stage->second) p->seconds[s] = opf_expr_simplify(p->pool, opf_expr_map(p->pool, stage->second, write_in, p), opf_stage_domain(stage));
    }
}

/* ---- the results' domain ---- */

static bool same_domain(const opf_stage *a, const opf_stage *b) {
    if (a->n_axes != b->n_axes) return false;
    for (int k = 0; k < a->n_axes; k++)
        if (a->extents[k] != b->extents[k]) return false;
    return true;
}

static bool take_results(planner *p) {
    opf_block_plan *plan = p->plan;
    const opf_stage *first = p->stages->list.data[p->results[0]];
    const opf_expr *variables[OPF_MAX_RANK];
    for (int k = 0; k < first->n_axes; k++) {
        variables[k] = opf_int(p->pool, 0);
        if (opf_is_value(first->extents[k], 1)) continue;
        p->root[p->n_root] = new_variable(p, axis_name(p, first, k), first->extents[k]);
        variables[k] = opf_var(p->pool, p->root[p->n_root++]);
    }
    plan->values = OPF_ARRAY(p->arena, const opf_expr *, p->n_results);
    plan->points = (void *)OPF_ARRAY(p->arena, const opf_expr *, (size_t)p->n_results * OPF_MAX_RANK);
    for (int r = 0; r < p->n_results; r++) {
        int s = p->results[r];
        const opf_stage *stage = p->stages->list.data[s];
        if (!same_domain(first, stage)) return false;
        plan->values[r] = p->kept[s] ? opf_load(p->pool, stage->dtype, p->n_inputs + s, stage->n_axes, variables)
                                     : opf_expr_bind(p->pool, p->bodies[s], stage->n_axes, variables);
        for (int k = 0; k < stage->n_axes; k++) plan->points[r][k] = variables[k];
    }
    return p->n_root > 0;
}

typedef struct division { const planner *p; int at; const opf_expr *factor; } division;

/* A root variable divided by what divides its extent: heads that were merged into channels. */
static bool meet_division(const opf_expr *e, void *data) {
    division *d = data;
    const planner *p = d->p;
    bool divides = e->kind == OPF_EXPR_BINARY && (e->op == OPF_OP_FLOORDIV || e->op == OPF_OP_FLOORMOD);
    if (!divides || e->args[0]->kind != OPF_EXPR_VAR || opf_is_value(e->args[1], 1)) return true;
    const opf_expr *factor = e->args[1];
    opf_dim extent = p->plan->extents.data[e->args[0]->index];
    if (factor == extent || opf_expr_has_load(factor) || opf_expr_vars(factor)) return true;
    if (opf_mul(p->pool, opf_floordiv(p->pool, extent, factor), factor) != extent) return true;
    for (int k = 0; k < p->n_root; k++)
        if (p->root[k] == e->args[0]->index) d->at = k;
    d->factor = factor;
    return d->at < 0;
}

static bool split_root(planner *p) {
    division d = {p, -1, NULL};
    for (int r = 0; r < p->n_results && d.at < 0; r++) opf_expr_visit(p->pool, p->plan->values[r], meet_division, &d);
    if (d.at < 0 || p->n_root == OPF_BLOCK_AXES) return false;
    int variable = p->root[d.at];
    const char *name = p->plan->names.data[variable];
    int outer = new_variable(p, opf_arena_printf(p->arena, "%s_outer", name), opf_floordiv(p->pool, p->plan->extents.data[variable], d.factor));
    int inner = new_variable(p, opf_arena_printf(p->arena, "%s_inner", name), d.factor);
    const opf_expr *bind[64] = {NULL};
    bind[variable] = opf_add(p->pool, opf_mul(p->pool, opf_var(p->pool, outer), d.factor), opf_var(p->pool, inner));
    for (int r = 0; r < p->n_results; r++) {
        p->plan->values[r] = simple(p, opf_expr_bind(p->pool, p->plan->values[r], variable + 1, bind));
        for (int k = 0; k < p->stages->list.data[p->results[r]]->n_axes; k++)
            p->plan->points[r][k] = opf_expr_bind(p->pool, p->plan->points[r][k], variable + 1, bind);
    }
    for (int k = p->n_root++; k > d.at + 1; k--) p->root[k] = p->root[k - 1];
    p->root[d.at] = outer;
    p->root[d.at + 1] = inner;
    return true;
}

/* ---- kept stages over the plan's variables ---- */

typedef struct loads { int tensor; OPF_VEC(const opf_expr *) list; opf_arena *arena; } loads;

static bool gather(const opf_expr *e, void *data) {
    loads *l = data;
    if (e->kind == OPF_EXPR_LOAD && e->index == l->tensor) OPF_PUSH(l->arena, &l->list, e);
    return true;
}

static loads loads_of(const planner *p, int stage) {
    loads l = {.tensor = p->n_inputs + stage, .arena = p->arena};
    for (int r = 0; r < p->n_results; r++) opf_expr_visit(p->pool, p->plan->values[r], gather, &l);
    for (int s = stage + 1; s < p->n_stages; s++) {
        if (!p->plan->stages[s]) continue;
        opf_expr_visit(p->pool, p->plan->stages[s]->term, gather, &l);
        if (p->plan->stages[s]->second) opf_expr_visit(p->pool, p->plan->stages[s]->second, gather, &l);
    }
    return l;
}

/* The root variable at which every reader reads the axis, -1: none. */
static int bound_variable(const planner *p, const loads *l, int axis, opf_dim extent) {
    const opf_expr *index = l->list.data[0]->args[axis];
    if (index->kind != OPF_EXPR_VAR || index->index >= 64 || !p->allowed[index->index]) return -1;
    if (!opf_expr_prove_eq(p->pool, p->plan->extents.data[index->index], extent)) return -1;
    for (size_t i = 1; i < l->list.count; i++)
        if (l->list.data[i]->args[axis] != index) return -1;
    return index->index;
}

static opf_block_stage *place_stage(planner *p, int s, const loads *l) {
    const opf_stage *stage = p->stages->list.data[s];
    opf_block_stage *placed = OPF_NEW(p->arena, opf_block_stage);
    const opf_expr *variables[2 * OPF_MAX_RANK];
    placed->stage = s;
    for (int k = 0; k < stage->n_axes + stage->n_reduce; k++) {
        variables[k] = opf_int(p->pool, 0);
        if (k < stage->n_axes) placed->axis[k] = -1;
        if (opf_is_value(stage->extents[k], 1)) continue;
        int variable = k < stage->n_axes ? bound_variable(p, l, k, stage->extents[k]) : -1;
        if (variable < 0) {
            variable = new_variable(p, axis_name(p, stage, k), stage->extents[k]);
            if (k < stage->n_axes) placed->free[placed->n_free++] = variable;
            else placed->reduce[placed->n_reduce++] = variable;
        }
        if (k < stage->n_axes) placed->axis[k] = variable;
        variables[k] = opf_var(p->pool, variable);
    }
    placed->term = simple(p, opf_expr_bind(p->pool, p->bodies[s], stage->n_axes + stage->n_reduce, variables));
    if (p->seconds[s]) placed->second = simple(p, opf_expr_bind(p->pool, p->seconds[s], stage->n_axes + stage->n_reduce, variables));
    return placed;
}

static bool is_bound(const planner *p, const opf_block_stage *placed, int variable) {
    for (int k = 0; k < p->stages->list.data[placed->stage]->n_axes; k++)
        if (placed->axis[k] == variable) return true;
    return false;
}

static bool place_stages(planner *p) {
    p->plan->stages = OPF_ARRAY(p->arena, opf_block_stage *, p->n_stages + 1);
    for (int s = p->n_stages; s-- > 0;) {
        if (!p->kept[s]) continue;
        if (p->plan->extents.count > 48) return false;
        loads l = loads_of(p, s);
        if (l.list.count) p->plan->stages[s] = place_stage(p, s, &l);
    }
    return true;
}

/* Variables of the root to which not every kept stage is bound are free for all. */
static void allow_common(planner *p) {
    for (int s = 0; s < p->n_stages; s++)
        for (int k = 0; p->plan->stages[s] && k < p->n_root; k++)
            if (!is_bound(p, p->plan->stages[s], p->root[k])) p->allowed[p->root[k]] = false;
}

/* ---- the rows ---- */

/* The factor of a sum of products that walks along `row`: 0, 1, or -1 where both or none do. */
static int row_factor(const planner *p, const opf_block_stage *placed, int row) {
    const opf_stage *stage = p->stages->list.data[placed->stage];
    const opf_expr *term = placed->term;
    if (!opf_stage_is_product(stage, p->pool) || stage->dtype != OPF_FLOAT32) return -1;
    if (term->kind != OPF_EXPR_BINARY || term->op != OPF_OP_MUL) return -1;
    bool left = opf_expr_has_var(term->args[0], row), right = opf_expr_has_var(term->args[1], row);
    return left == right ? -1 : left ? 0 : 1;
}

static double work_of(const planner *p, const opf_block_stage *placed) {
    const opf_stage *stage = p->stages->list.data[placed->stage];
    return points(stage, 0, stage->n_axes + stage->n_reduce);
}

/* Of the first `count` root variables the one that serves most work. */
static bool choose_row(planner *p, int count) {
    double best = 0;
    p->plan->row = -1;
    for (int k = 0; k < count; k++) {
        double work = 0, rows = nominal(p->plan->extents.data[p->root[k]]);
        if (!p->allowed[p->root[k]] || rows < FEWEST) continue;
        for (int s = 0; s < p->n_stages; s++)
            if (p->plan->stages[s] && row_factor(p, p->plan->stages[s], p->root[k]) >= 0) work += work_of(p, p->plan->stages[s]);
        if (work * rows < best || work == 0) continue;
        best = work * rows;
        p->plan->row = p->root[k];
    }
    return p->plan->row >= 0;
}

/* Columns of a product are no loops: variables that only the factor without rows walks along. */
static void free_columns(planner *p) {
    for (int s = 0; s < p->n_stages; s++) {
        const opf_block_stage *placed = p->plan->stages[s];
        int a = placed ? row_factor(p, placed, p->plan->row) : -1;
        for (int k = 0; a >= 0 && k < p->n_root; k++)
            if (opf_expr_has_var(placed->term->args[1 - a], p->root[k]) && !opf_expr_has_var(placed->term->args[a], p->root[k])) p->allowed[p->root[k]] = false;
    }
}

static bool reads_kept(const opf_expr *e, void *data) { return e->kind != OPF_EXPR_LOAD || e->index < ((const planner *)data)->n_inputs; }

static double product_of(const planner *p, int n, const int *variables) {
    double product = 1;
    for (int k = 0; k < n; k++) product *= nominal(p->plan->extents.data[variables[k]]);
    return product;
}

/* One factor walks along rows and depth, the other along depth and columns and is known before the rows are. */
static bool is_product(const planner *p, const opf_block_stage *placed) {
    int a = row_factor(p, placed, p->plan->row);
    if (a < 0 || product_of(p, placed->n_free, placed->free) < FEWEST || product_of(p, placed->n_reduce, placed->reduce) < FEWEST) return false;
    for (int k = 0; k < placed->n_free; k++)
        if (opf_expr_has_var(placed->term->args[a], placed->free[k])) return false;
    return opf_expr_visit(p->pool, placed->term->args[1 - a], reads_kept, (void *)(uintptr_t)p);
}

/* ---- factors of a whole row ---- */

typedef struct finishing { const planner *p; const opf_block_stage *placed; const opf_expr *factor; opf_scalar_op op; } finishing;

static const opf_expr *finished(opf_pool *pool, const opf_expr *leaf, void *data) {
    const finishing *f = data;
    if (leaf->kind != OPF_EXPR_LOAD || leaf->index != f->p->n_inputs + f->placed->stage) return NULL;
    return opf_binary(pool, f->op, opf_load(pool, (opf_dtype)leaf->dtype, leaf->index, leaf->n_args, leaf->args), f->factor);
}

static const opf_stage *stage_of(const planner *p, const opf_expr *e) {
    return e->kind == OPF_EXPR_LOAD && e->index >= p->n_inputs ? p->stages->list.data[e->index - p->n_inputs] : NULL;
}

static bool is_power(const planner *p, const opf_expr *e) {
    const opf_stage *stage = stage_of(p, e);
    return stage && stage->body->kind == OPF_EXPR_UNARY && opf_op_is_exp(stage->body->op);
}

/* x - m, m the largest of something; written out or a stage of its own? */
static bool is_shifted(const planner *p, const opf_expr *e) {
    const opf_stage *stage = stage_of(p, e);
    if (stage && stage->combiner == OPF_COMBINE_NONE) e = stage->body;
    if (e->kind != OPF_EXPR_BINARY || e->op != OPF_OP_SUB) return false;
    const opf_stage *largest = stage_of(p, e->args[1]);
    return largest && largest->combiner == OPF_COMBINE_MAX;
}

/* Is `sum` that of the powers e^(x - m)? Then it is 1 or more, or NaN, where a row has elements at all. */
static bool is_sum_of_powers(const planner *p, const opf_expr *sum, const opf_expr *power) {
    const opf_stage *stage = stage_of(p, sum);
    return stage && stage->combiner == OPF_COMBINE_SUM && stage_of(p, stage->body) == stage_of(p, power) && is_shifted(p, stage_of(p, power)->body->args[0]);
}

static bool may_be_empty(const planner *p, const opf_block_stage *placed) {
    int64_t extent;
    for (int k = 0; k < placed->n_reduce; k++)
        if (!opf_is_int(p->plan->extents.data[placed->reduce[k]], &extent) || extent < 1) return true;
    return false;
}

/* What a sum over the row is multiplied with or divided by later, in place of each of its terms. A row without elements has the
 * sum 0 and must keep it, whatever the factor of no term would have been. NULL: that cannot be had. */
static const opf_expr *later_factor(const planner *p, const opf_block_stage *placed, const opf_expr *weight) {
    const opf_expr *factor = weight->args[1], *one = opf_real(p->pool, OPF_FLOAT32, 1);
    if (!may_be_empty(p, placed)) return factor;
    bool inverse = weight->op == OPF_OP_MUL && factor->kind == OPF_EXPR_BINARY && factor->op == OPF_OP_DIV && factor->args[0] == one;
    const opf_expr *sum = inverse ? factor->args[1] : factor;
    if ((!inverse && weight->op != OPF_OP_DIV) || !is_sum_of_powers(p, sum, weight->args[0])) return NULL;
    sum = opf_binary(p->pool, OPF_OP_MAX, one, sum);
    return inverse ? opf_binary(p->pool, OPF_OP_DIV, one, sum) : sum;
}

static bool varies(const opf_block_stage *placed, const opf_expr *e) {
    for (int k = 0; k < placed->n_free; k++)
        if (opf_expr_has_var(e, placed->free[k])) return true;
    for (int k = 0; k < placed->n_reduce; k++)
        if (opf_expr_has_var(e, placed->reduce[k])) return true;
    return false;
}

/* The weights of a softmax are powers over their sum: sum_k (e_k / s) * v_k is computed as (sum_k e_k * v_k) / s. Powers
 * e^(x - m), m the largest x, lie between 0 and 1 and s is at least 1, so nothing overflows that did not before; others stay. */
static void divide_later(planner *p, opf_block_stage *placed) {
    int a = row_factor(p, placed, p->plan->row);
    const opf_expr *weight = placed->term->args[a];
    bool scaled = weight->kind == OPF_EXPR_BINARY && (weight->op == OPF_OP_DIV || weight->op == OPF_OP_MUL);
    if (!scaled || !is_power(p, weight->args[0]) || !is_shifted(p, stage_of(p, weight->args[0])->body->args[0]) || varies(placed, weight->args[1])) return;
    const opf_expr *factor = later_factor(p, placed, weight);
    if (!factor) return;
    finishing f = {p, placed, factor, (opf_scalar_op)weight->op};
    const opf_expr *factors[2] = {placed->term->args[0], placed->term->args[1]};
    factors[a] = weight->args[0];
    placed->term = opf_binary(p->pool, OPF_OP_MUL, factors[0], factors[1]);
    for (int r = 0; r < p->n_results; r++) p->plan->values[r] = opf_expr_map(p->pool, p->plan->values[r], finished, &f);
    for (int s = placed->stage + 1; s < p->n_stages; s++)
        if (p->plan->stages[s]) p->plan->stages[s]->term = opf_expr_map(p->pool, p->plan->stages[s]->term, finished, &f);
}

/* ---- the plan ---- */

int64_t opf_block_rows(bool streams, double bytes, double row_bytes, double rows, double outer) {
    double fitting = floor(bytes / fmax(row_bytes, 1));
    int64_t count = (int64_t)fmin(fitting, streams ? OPF_BLOCK_STREAMED_ROWS : OPF_BLOCK_ROWS);
    while (count > OPF_BLOCK_LEAST_ROWS && outer * ceil(rows / (double)count) < ENOUGH_UNITS) count /= 2;
    return count < OPF_BLOCK_LEAST_ROWS ? OPF_BLOCK_LEAST_ROWS : count;
}

static void order_loops(planner *p) {
    opf_block_plan *plan = p->plan;
    for (int k = 0; k < p->n_root; k++) {
        if (p->root[k] == plan->row) continue;
        if (p->allowed[p->root[k]]) plan->outer[plan->n_outer++] = p->root[k];
        else plan->inner[plan->n_inner++] = p->root[k];
    }
}

static bool all_bound_alike(const planner *p) {
    for (int s = 0; s < p->n_stages; s++)
        for (int k = 0; p->plan->stages[s] && k < p->n_root; k++)
            if (p->allowed[p->root[k]] != is_bound(p, p->plan->stages[s], p->root[k])) return false;
    return true;
}

static void stream_long_rows(planner *p) {
    double bytes = 0;
    for (int s = 0; s < p->n_stages; s++)
        if (p->plan->stages[s]) bytes += opf_block_row_bytes(p->stages, p->plan, p->plan->stages[s]);
    if (bytes > STREAM_FROM) opf_blocks_stream(p->stages, p->n_results, p->pool, p->plan);
}

bool opf_blocks_plan(const opf_stages *stages, int n_results, const int *results, bool exact, opf_pool *pool, opf_arena *arena, opf_block_plan *plan) {
    planner p = {.stages = stages, .n_inputs = (int)stages->inputs.count, .n_stages = (int)stages->list.count, .n_results = n_results,
                 .results = results, .pool = pool, .arena = arena, .plan = plan};
    *plan = (opf_block_plan){.row = -1, .power = -1, .largest = -1};
    p.kept = OPF_ARRAY(arena, bool, p.n_stages + 1);
    for (int s = 0; s < p.n_stages; s++) p.kept[s] = stages->list.data[s]->combiner != OPF_COMBINE_NONE;
    choose_kept(&p);
    choose_kept(&p);
    write_maps_in(&p);
    if (!take_results(&p)) return false;
    while (split_root(&p)) {}
    if (p.plan->extents.count > 48) return false;
    for (int k = 0; k < p.n_root; k++) p.allowed[p.root[k]] = true;
    if (!place_stages(&p)) return false;
    allow_common(&p);
    /* Results are written along their last axis: it makes poor rows where another one will do. */
    if (!choose_row(&p, p.n_root - 1) && !choose_row(&p, p.n_root)) return false;
    free_columns(&p);
    if (!p.allowed[plan->row] || !place_stages(&p) || !all_bound_alike(&p)) return false;
    order_loops(&p);
    bool any = false;
    for (int s = p.n_stages; s-- > 0;) {
        opf_block_stage *placed = plan->stages[s];
        if (!placed || !is_product(&p, placed)) continue;
        any = placed->product = true;
        if (!exact) divide_later(&p, placed);
    }
    if (!exact) stream_long_rows(&p);
    return any;
}
