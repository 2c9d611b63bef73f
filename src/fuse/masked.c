/* Which columns a block of rows may leave out. */
#include <math.h>

#include "fuse/masked.h"

enum { MOST_PLACES = 1 << 20 /* of a constant mask: more take too long to be looked at */ };

typedef struct masking {
    const opf_stages *stages;
    int n_inputs, n_stages, n_results;
    opf_pool *pool;
    const opf_block_plan *plan;
} masking;

/* ---- conditions ---- */

/* A condition over row and column; `when`: the truth of it for which the score counts. */
typedef struct condition { const masking *m; const opf_expr *e; bool when; int column; } condition;

static bool is_comparison(const opf_expr *e) {
    return e->kind == OPF_EXPR_BINARY && (e->op == OPF_OP_LT || e->op == OPF_OP_LE || e->op == OPF_OP_GT || e->op == OPF_OP_GE) &&
           e->args[0]->dtype == OPF_INT64;
}

/* Where "counts" means column - row <= t: t. The comparison is of whole numbers: left - right <= 0 or -1, or the other way round. */
static opf_dim by_comparison(const condition *c) {
    opf_pool *pool = c->m->pool;
    if (!is_comparison(c->e))
        return NULL;
    bool less = c->e->op == OPF_OP_LT || c->e->op == OPF_OP_LE, equal = c->e->op == OPF_OP_LE || c->e->op == OPF_OP_GE;
    const opf_expr *left = c->e->args[less ? 0 : 1], *right = c->e->args[less ? 1 : 0], *of_column, *of_row, *rest;
    if (!c->when) { /* not left <= right is right <= left - 1 */
        const opf_expr *kept = left;
        left = right;
        right = kept;
        equal = !equal;
    }
    if (!opf_expr_affine(pool, opf_sub(pool, left, right), c->column, &of_column, &rest) || !opf_is_value(of_column, 1))
        return NULL;
    if (!opf_expr_affine(pool, rest, c->m->plan->row, &of_row, &rest) || !opf_is_value(of_row, -1) || opf_expr_vars(rest) || opf_expr_has_load(rest))
        return NULL;
    return opf_sub(pool, opf_int(pool, equal ? 0 : -1), rest);
}

typedef struct place { const condition *c; int64_t row, column; } place;

static bool value_at(const place *p, const opf_expr *e, double *value);

/* Of a constant, or of what is known of a value's elements. */
static bool element_at(const opf_value *value, int64_t at, double *number) {
    const opf_expr *known = value->content ? value->content[at] : NULL;
    if (value->constant)
        *number = opf_tensor_get(value->constant, at);
    else if (known && known->kind == OPF_EXPR_INT)
        *number = (double)known->integer;
    return value->constant ? !value->constant->scaling : known && known->kind == OPF_EXPR_INT;
}

static bool load_at(const place *p, const opf_expr *e, double *number) {
    const masking *m = p->c->m;
    const opf_value *value = e->index < m->n_inputs ? m->stages->inputs.data[e->index] : NULL;
    int64_t at = 0;
    if (!value || (!value->constant && !value->content) || value->rank != e->n_args)
        return false;
    for (int k = 0; k < e->n_args; k++) {
        double index;
        int64_t size;
        if (!opf_is_int(value->dims[k], &size) || !value_at(p, e->args[k], &index) || index < 0 || index >= (double)size)
            return false;
        at = at * size + (int64_t)index;
    }
    return element_at(value, at, number);
}

/* What the expression is there, if it hangs on nothing but constants, row and column. */
static bool value_at(const place *p, const opf_expr *e, double *value) {
    double a = 0, b = 0;
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_INT: *value = (double)e->integer; return true;
    case OPF_EXPR_FLOAT: *value = e->real; return true;
    case OPF_EXPR_VAR:
        *value = (double)(e->index == p->c->column ? p->column : p->row);
        return e->index == p->c->column || e->index == p->c->m->plan->row;
    case OPF_EXPR_LOAD: return load_at(p, e, value);
    case OPF_EXPR_CAST:
        if (e->dtype != OPF_BOOL || !value_at(p, e->args[0], &a))
            return false;
        *value = a != 0;
        return true;
    case OPF_EXPR_UNARY:
    case OPF_EXPR_BINARY:
        if (!value_at(p, e->args[0], &a) || (e->kind == OPF_EXPR_BINARY && !value_at(p, e->args[1], &b)))
            return false;
        *value = opf_scalar_eval((opf_scalar_op)e->op, a, b);
        return e->dtype == OPF_BOOL || e->dtype == OPF_INT64;
    default: return false;
    }
}

/* The most that a column that counts is ahead of its row, by looking at all. NULL: not known, or nothing is left out. */
static opf_dim by_values(const condition *c) {
    const masking *m = c->m;
    int64_t rows, columns, most = INT64_MIN;
    if (!opf_is_int(m->plan->extents.data[m->plan->row], &rows) || !opf_is_int(m->plan->extents.data[c->column], &columns) || rows < 1 || columns < 1 ||
        rows > MOST_PLACES / columns)
        return NULL;
    for (int64_t row = 0; row < rows && most < columns - 1; row++) {
        double value = 0;
        int64_t column = columns;
        do {
            if (!value_at(&(place){c, row, --column}, c->e, &value))
                return NULL;
        } while (column > 0 && (value != 0) != c->when);
        if ((value != 0) == c->when && column - row > most)
            most = column - row;
    }
    return most < columns - 1 && most > INT64_MIN ? opf_int(m->pool, most) : NULL;
}

/* ---- stages ---- */

static const opf_expr *load_of(const masking *m, const opf_expr *e, int *stage) {
    *stage = e->kind == OPF_EXPR_LOAD ? e->index - m->n_inputs : -1;
    return *stage >= 0 && m->plan->stages[*stage] ? e : NULL;
}

static bool is_infinite(const opf_expr *e) { return e->kind == OPF_EXPR_FLOAT && e->real == -INFINITY; }

/* x of a power e^x or e^(x - largest x); `largest`: that stage, or -1. NULL: the stage is no such thing over one axis. */
static const opf_expr *exponent_of(const masking *m, const opf_block_stage *power, int *largest) {
    const opf_expr *term = power->term, *x;
    *largest = -1;
    if (power->n_reduce || power->n_free != 1 || term->kind != OPF_EXPR_UNARY || !opf_op_is_exp(term->op))
        return NULL;
    x = term->args[0];
    if (x->kind != OPF_EXPR_BINARY || x->op != OPF_OP_SUB || !load_of(m, x->args[1], largest))
        return x;
    const opf_block_stage *placed = m->plan->stages[*largest];
    if (m->stages->list.data[*largest]->combiner != OPF_COMBINE_MAX || placed->n_reduce != 1 || placed->n_free)
        return NULL;
    const opf_expr *bind[64] = {NULL};
    bind[placed->reduce[0]] = opf_var(m->pool, power->free[0]);
    return opf_expr_bind(m->pool, placed->term, placed->reduce[0] + 1, bind) == x->args[0] ? x->args[0] : NULL;
}

/* How far ahead of their rows columns count: x = (condition ? score : -inf), or the other way round. `score`: the score. */
static opf_dim ahead_of(const masking *m, const opf_expr *x, int column, const opf_expr **score) {
    if (x->kind != OPF_EXPR_SELECT || (!is_infinite(x->args[1]) && !is_infinite(x->args[2])))
        return NULL;
    condition c = {m, x->args[0], !is_infinite(x->args[1]), column};
    *score = x->args[c.when ? 1 : 2];
    for (; c.e->kind == OPF_EXPR_UNARY && c.e->op == OPF_OP_NOT; c.when = !c.when)
        c.e = c.e->args[0];
    opf_dim ahead = by_comparison(&c);
    return ahead ? ahead : opf_expr_has_load(c.e) ? by_values(&c) : NULL;
}

typedef struct reading { int tensor, axis, column; bool found, elsewhere; } reading;

static bool meet_reading(const opf_expr *e, void *data) {
    reading *r = data;
    if (e->kind != OPF_EXPR_LOAD || e->index != r->tensor)
        return true;
    r->found = true;
    r->elsewhere = r->elsewhere || e->args[r->axis]->kind != OPF_EXPR_VAR || e->args[r->axis]->index != r->column;
    return true;
}

/* The axis of the stage that is this variable. */
static int axis_of(const masking *m, const opf_block_stage *placed, int variable) {
    int axis = m->stages->list.data[placed->stage]->n_axes - 1;
    while (axis > 0 && placed->axis[axis] != variable)
        axis--;
    return axis;
}

/* Is the stage read by nobody but these two? */
static bool read_by_these(const masking *m, int stage, int power, int largest) {
    reading r = {.tensor = m->n_inputs + stage};
    for (int s = 0; s < m->n_stages; s++) {
        const opf_block_stage *placed = m->plan->stages[s];
        if (!placed || s == power || s == largest)
            continue;
        opf_expr_visit(m->pool, placed->term, meet_reading, &r);
        if (placed->second)
            opf_expr_visit(m->pool, placed->second, meet_reading, &r);
    }
    for (int k = 0; k < m->n_results; k++)
        opf_expr_visit(m->pool, m->plan->values[k], meet_reading, &r);
    return !r.found;
}

/* The product whose columns are the scores, read at their own column where they count and nowhere else. */
static int scores_in(const masking *m, const opf_expr *x, const opf_expr *score, int power, int largest) {
    for (int s = 0; s < m->n_stages; s++) {
        const opf_block_stage *placed = m->plan->stages[s];
        if (!placed || !placed->product || placed->n_free != 1)
            continue;
        reading inside = {m->n_inputs + s, axis_of(m, placed, placed->free[0]), m->plan->stages[power]->free[0], false, false}, condition = inside;
        opf_expr_visit(m->pool, score, meet_reading, &inside);
        opf_expr_visit(m->pool, x->args[0], meet_reading, &condition);
        if (inside.found && !inside.elsewhere && !condition.found && read_by_these(m, s, power, largest))
            return s;
    }
    return -1;
}

/* The product that sums the powers times something over their columns. */
static int sums_of(const masking *m, int power) {
    for (int s = power + 1; s < m->n_stages; s++) {
        const opf_block_stage *placed = m->plan->stages[s];
        if (!placed || !placed->product || placed->n_reduce != 1)
            continue;
        for (int a = 0; a < 2; a++) {
            const opf_expr *factor = placed->term->args[a];
            int axis = axis_of(m, m->plan->stages[power], m->plan->stages[power]->free[0]);
            if (factor->kind == OPF_EXPR_LOAD && factor->index == m->n_inputs + power && factor->args[axis]->kind == OPF_EXPR_VAR &&
                factor->args[axis]->index == placed->reduce[0])
                return s;
        }
    }
    return -1;
}

opf_block_mask opf_blocks_mask(const opf_stages *stages, int n_results, opf_pool *pool, const opf_block_plan *plan) {
    masking m = {stages, (int)stages->inputs.count, (int)stages->list.count, n_results, pool, plan};
    for (int s = 0; s < m.n_stages; s++) {
        int largest;
        const opf_expr *score, *x = plan->stages[s] ? exponent_of(&m, plan->stages[s], &largest) : NULL;
        opf_dim ahead = x ? ahead_of(&m, x, plan->stages[s]->free[0], &score) : NULL;
        if (!ahead)
            continue;
        opf_block_mask mask = {ahead, scores_in(&m, x, score, s, largest), sums_of(&m, s)};
        if (mask.scores >= 0 || mask.sums >= 0)
            return mask;
    }
    return (opf_block_mask){NULL, -1, -1};
}
