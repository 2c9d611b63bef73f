/* Which stages of a plan in blocks of rows work on a block of columns at a time (stream.h).
 *
 * The powers P and the largest M are found by their form. *Wide* stages have the columns as a free axis: P, and what x is made of
 * (scores). *Narrow* ones reduce over them: M, and the sums that are linear in P. Wide stages are read by stages of the stream
 * alone, at their own column; narrow ones are known behind the stream only, but for M, which P reads. */
#include "fuse/stream.h"

typedef struct streaming {
    const opf_stages *stages;
    opf_pool *pool;
    opf_block_plan *plan;
    int n_inputs, n_stages, n_results;
    opf_dim extent;            /* columns */
} streaming;

static opf_block_stage *placed_at(const streaming *t, int s) { return s >= 0 && s < t->n_stages ? t->plan->stages[s] : NULL; }

/* The kept stage that the expression loads; NULL where it is no such load. */
static opf_block_stage *kept_of(const streaming *t, const opf_expr *e) { return e->kind == OPF_EXPR_LOAD ? placed_at(t, e->index - t->n_inputs) : NULL; }

static bool is_streamed(const opf_block_stage *placed) { return placed->part == OPF_BLOCK_STREAM; }
static bool is_wide(const opf_block_stage *placed) { return is_streamed(placed) && placed->n_free == 1 && placed->free[0] == placed->streamed; }

static void mark(opf_block_stage *placed, int variable) {
    placed->part = OPF_BLOCK_STREAM;
    placed->streamed = variable;
}

static bool is_float(const streaming *t, const opf_block_stage *placed) {
    const opf_stage *stage = t->stages->list.data[placed->stage];
    return stage->dtype == OPF_FLOAT32 && (stage->combiner == OPF_COMBINE_NONE || stage->accumulator == OPF_FLOAT32);
}

static bool has_columns(const streaming *t, int variable) { return opf_expr_prove_eq(t->pool, t->plan->extents.data[variable], t->extent); }

/* Is the load's index along the axis that stands for the stage's streamed variable the variable `column`? */
static bool is_read_at(const streaming *t, const opf_expr *load, const opf_block_stage *placed, int column) {
    for (int k = 0; k < t->stages->list.data[placed->stage]->n_axes; k++)
        if (placed->axis[k] == placed->streamed) return load->args[k]->kind == OPF_EXPR_VAR && load->args[k]->index == column;
    return false;
}

/* ---- the powers and the largest ---- */

static const opf_expr *shifted(const opf_block_stage *placed) {
    const opf_expr *e = placed->term;
    bool power = e->kind == OPF_EXPR_UNARY && opf_op_is_exp(e->op) && e->args[0]->kind == OPF_EXPR_BINARY && e->args[0]->op == OPF_OP_SUB;
    return power ? e->args[0] : NULL;
}

/* e^(x - M) over one free axis, M the largest of the same x. */
static bool is_power(streaming *t, const opf_block_stage *power) {
    const opf_expr *difference = shifted(power);
    const opf_block_stage *largest = difference ? kept_of(t, difference->args[1]) : NULL;
    if (!largest || t->stages->list.data[largest->stage]->combiner != OPF_COMBINE_MAX || !is_float(t, largest) || !is_float(t, power)) return false;
    if (power->n_free != 1 || power->n_reduce || largest->n_free || largest->n_reduce != 1) return false;
    t->extent = t->plan->extents.data[power->free[0]];
    if (!has_columns(t, largest->reduce[0])) return false;
    const opf_expr *bind[64] = {NULL};
    bind[largest->reduce[0]] = opf_var(t->pool, power->free[0]);
    return opf_expr_bind(t->pool, largest->term, largest->reduce[0] + 1, bind) == difference->args[0];
}

static bool find_power(streaming *t) {
    t->plan->power = -1;
    for (int s = 0; s < t->n_stages; s++) {
        if (!t->plan->stages[s] || !is_power(t, t->plan->stages[s])) continue;
        if (t->plan->power >= 0) return false;
        t->plan->power = s;
    }
    if (t->plan->power < 0) return false;
    opf_block_stage *power = t->plan->stages[t->plan->power], *largest = kept_of(t, shifted(power)->args[1]);
    t->plan->largest = largest->stage;
    is_power(t, power); /* the extent is that of the one found */
    mark(power, power->free[0]);
    mark(largest, largest->reduce[0]);
    return true;
}

/* ---- what x is made of ---- */

typedef struct sources { streaming *t; const opf_block_stage *reader; bool failed; } sources;

static bool mark_source(const opf_expr *e, void *data) {
    sources *of = data;
    opf_block_stage *source = kept_of(of->t, e);
    if (!source || is_streamed(source) || source->n_free == 0) return true;
    bool wide = source->n_free == 1 && has_columns(of->t, source->free[0]) && is_float(of->t, source);
    if (wide) mark(source, source->free[0]);
    if (wide && is_read_at(of->t, e, source, of->reader->streamed)) return true;
    if (wide) source->part = OPF_BLOCK_BEFORE;
    of->failed = opf_expr_has_var(e, of->reader->streamed); /* read at other columns than its own */
    return !of->failed;
}

/* From the powers backwards. */
static bool mark_sources(streaming *t) {
    for (int s = t->plan->power; s >= 0; s--) {
        opf_block_stage *placed = t->plan->stages[s];
        if (!placed || !is_wide(placed)) continue;
        sources of = {t, placed, false};
        opf_expr_visit(t->pool, placed->term, mark_source, &of);
        if (of.failed) return false;
    }
    return true;
}

/* ---- sums of powers ---- */

typedef struct reads { const streaming *t; const opf_block_stage *of; bool found; } reads;

static bool meet_read(const opf_expr *e, void *data) {
    reads *r = data;
    r->found = r->found || kept_of(r->t, e) == r->of;
    return !r->found;
}

static bool reads_stage(const streaming *t, const opf_expr *e, const opf_block_stage *of) {
    reads r = {t, of, false};
    opf_expr_visit(t->pool, e, meet_read, &r);
    return r.found;
}

/* The powers, or a product of them with something else. */
static bool is_linear(const streaming *t, const opf_expr *term, const opf_block_stage *power, int column) {
    if (kept_of(t, term) == power) return is_read_at(t, term, power, column);
    if (term->kind != OPF_EXPR_BINARY || term->op != OPF_OP_MUL) return false;
    for (int side = 0; side < 2; side++)
        if (kept_of(t, term->args[side]) == power) return is_read_at(t, term->args[side], power, column) && !reads_stage(t, term->args[1 - side], power);
    return false;
}

static bool mark_sums(streaming *t) {
    const opf_block_stage *power = t->plan->stages[t->plan->power];
    for (int s = power->stage + 1; s < t->n_stages; s++) {
        opf_block_stage *placed = t->plan->stages[s];
        if (!placed || !reads_stage(t, placed->term, power)) continue;
        bool sum = t->stages->list.data[s]->combiner == OPF_COMBINE_SUM && placed->n_reduce == 1 && is_float(t, placed) && has_columns(t, placed->reduce[0]);
        if (!sum || !is_linear(t, placed->term, power, placed->reduce[0])) return false;
        mark(placed, placed->reduce[0]);
    }
    return true;
}

/* ---- the order of things ---- */

typedef struct ordering { streaming *t; opf_block_stage *reader; bool failed; } ordering; /* reader NULL: a result */

/* Wide stages are read in the stream, the largest by the powers and behind, sums and what is behind only behind. */
static bool meet_order(const opf_expr *e, void *data) {
    ordering *o = data;
    const opf_block_stage *source = kept_of(o->t, e);
    if (!source || source->part == OPF_BLOCK_BEFORE) return true;
    bool inside = o->reader && is_streamed(o->reader);
    bool early = is_wide(source) || (source->stage == o->t->plan->largest && o->reader && o->reader->stage == o->t->plan->power);
    if (inside) o->failed = o->failed || !early || (is_wide(source) && !is_read_at(o->t, e, source, o->reader->streamed));
    else o->failed = o->failed || is_wide(source);
    if (!inside && o->reader) o->reader->part = OPF_BLOCK_BEHIND;
    return !o->failed;
}

static bool find_order(streaming *t) {
    for (int s = 0; s < t->n_stages; s++) {
        opf_block_stage *placed = t->plan->stages[s];
        ordering o = {t, placed, false};
        if (!placed) continue;
        opf_expr_visit(t->pool, placed->term, meet_order, &o);
        if (placed->second) opf_expr_visit(t->pool, placed->second, meet_order, &o);
        if (o.failed || (placed->second && is_streamed(placed))) return false;
    }
    ordering o = {t, NULL, false};
    for (int r = 0; r < t->n_results; r++) opf_expr_visit(t->pool, t->plan->values[r], meet_order, &o);
    return !o.failed;
}

bool opf_blocks_stream(const opf_stages *stages, int n_results, opf_pool *pool, opf_block_plan *plan) {
    streaming t = {stages, pool, plan, (int)stages->inputs.count, (int)stages->list.count, n_results, NULL};
    if (find_power(&t) && mark_sources(&t) && mark_sums(&t) && find_order(&t)) return true;
    for (int s = 0; s < t.n_stages; s++)
        if (plan->stages[s]) plan->stages[s]->part = OPF_BLOCK_BEFORE;
    plan->power = plan->largest = -1;
    return false;
}

double opf_block_row_bytes(const opf_stages *stages, const opf_block_plan *plan, const opf_block_stage *placed) {
    double elements = 1;
    for (int k = 0; k < placed->n_free; k++) {
        double extent = (double)opf_dim_nominal(plan->extents.data[placed->free[k]]);
        bool part = is_streamed(placed) && placed->free[k] == placed->streamed && extent > OPF_BLOCK_COLUMNS;
        elements *= part ? OPF_BLOCK_COLUMNS : extent;
    }
    return elements * opf_dtype_bits(stages->list.data[placed->stage]->dtype) / 8;
}
