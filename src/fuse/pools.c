/* Pools behind contractions: the form of the stages, and how many lines a band has. */
#include "fuse/pools.h"

enum { RANK = 4, LINE = 2, FEWEST_CHANNELS = 8, FEWEST_COLUMNS = 16, FEWEST_TERMS = 8, MOST_TAPS = 7 };
enum { FEWEST_LINES = 4, MOST_LINES = 16, BAND_BYTES = 512 << 10 /* half of a core's own cache */ };

typedef struct finding {
    const opf_stages *stages;
    opf_pool *pool;
    int n_inputs;
    opf_pooling *p;
} finding;

static const opf_stage *stage_at(const finding *f, int s) { return f->stages->list.data[s]; }

static bool known(opf_dim dim, int64_t least, int64_t *out) { return opf_is_int(dim, out) && *out >= least; }

/* ---- what is read ---- */

typedef struct reading {
    const finding *f;
    const bool *chain;
    const opf_expr *load; /* of a stage of the chain; the last one met */
    int count, others;    /* loads of the chain; of stages that are none of it */
    int inputs;           /* loads of the group's inputs */
    bool line;            /* the line is asked for outside of such loads */
} reading;

static void read_in(reading *r, const opf_expr *e) {
    int s = e->kind == OPF_EXPR_LOAD ? e->index - r->f->n_inputs : -1;
    if (s >= 0 && r->chain[s]) {
        r->count++;
        r->load = e;
        return;
    }
    r->others += s >= 0;
    r->inputs += e->kind == OPF_EXPR_LOAD && s < 0;
    r->line = r->line || (e->kind == OPF_EXPR_VAR && e->index == LINE);
    for (int k = 0; k < e->n_args; k++)
        read_in(r, e->args[k]);
}

static bool at_own_point(const opf_stage *reader, const opf_expr *load) {
    for (int k = 0; k < RANK; k++) {
        bool single = opf_is_value(reader->extents[k], 1) && opf_is_value(load->args[k], 0);
        if (!single && !(load->args[k]->kind == OPF_EXPR_VAR && load->args[k]->index == k))
            return false;
    }
    return true;
}

static bool same_points(const opf_stage *a, const opf_stage *b) {
    for (int k = 0; k < RANK; k++)
        if (a->n_axes != RANK || b->n_axes != RANK || a->extents[k] != b->extents[k])
            return false;
    return true;
}

/* ---- the contraction and what follows it ---- */

static bool is_window_3x3(const opf_stage *sum) {
    int taps = 0;
    for (int k = RANK; k < RANK + sum->n_reduce; k++)
        taps += opf_is_value(sum->extents[k], 3);
    return taps == 2;
}

typedef struct stepping { const finding *f; bool one; } stepping;

/* Is some operand walked line by line? */
static bool visit_step(const opf_expr *e, void *data) {
    stepping *s = data;
    const opf_expr *step, *rest;
    for (int k = 0; e->kind == OPF_EXPR_LOAD && k < e->n_args; k++)
        if (opf_expr_affine(s->f->pool, e->args[k], LINE, &step, &rest) && opf_is_value(step, 1))
            s->one = true;
    return true;
}

/* Winograd's products have tiles of the whole picture, and save more than bands do. */
static bool is_for_winograd(const finding *f, const opf_stage *sum) {
    stepping s = {f, false};
    opf_expr_visit(f->pool, sum->body, visit_step, &s);
    return s.one && is_window_3x3(sum);
}

static bool is_contraction(const finding *f, const opf_stage *sum) {
    int64_t size, terms = 1;
    bool product = sum->combiner == OPF_COMBINE_SUM && sum->body->kind == OPF_EXPR_BINARY && sum->body->op == OPF_OP_MUL && sum->n_axes == RANK &&
                   sum->dtype == OPF_FLOAT32 && sum->accumulator == OPF_FLOAT32;
    if (!product || !opf_is_value(sum->extents[0], 1) || !known(sum->extents[1], FEWEST_CHANNELS, &size) || !known(sum->extents[LINE], 1, &size) ||
        !known(sum->extents[3], FEWEST_COLUMNS, &size))
        return false;
    for (int k = RANK; k < RANK + sum->n_reduce; k++) {
        if (!known(sum->extents[k], 1, &size))
            return false;
        terms *= size < MOST_LINES ? size : MOST_LINES;
    }
    const opf_expr *const *factors = sum->body->args;
    bool one_walks = opf_expr_has_var(factors[0], LINE) != opf_expr_has_var(factors[1], LINE);
    return terms >= FEWEST_TERMS && one_walks && !is_for_winograd(f, sum);
}

/* Stages between the sum and the pool work on its elements, and no other is between. */
static bool find_chain(const finding *f) {
    opf_pooling *p = f->p;
    p->chain[p->sum] = true;
    p->front = p->sum;
    for (int s = p->sum + 1; s < p->pool; s++) {
        const opf_stage *stage = stage_at(f, s);
        reading r = {.f = f, .chain = p->chain};
        read_in(&r, stage->body);
        if (!r.count)
            continue;
        bool alike = stage->n_reduce == 0 && stage->dtype == OPF_FLOAT32 && same_points(stage, stage_at(f, p->sum)) && !r.line && r.others == 0;
        for (int k = 0; alike && k < RANK; k++)
            alike = at_own_point(stage, r.load);
        if (!alike)
            return false;
        p->chain[s] = true;
        p->front = s;
    }
    return true;
}

/* ---- the pool and what follows it ---- */

/* index = line * stride + tap - before, taps of one reduced axis. */
static bool read_lines(const finding *f, const opf_expr *index) {
    const opf_stage *pool = stage_at(f, f->p->pool);
    const opf_expr *stride, *rest, *one, *offset;
    int64_t before;
    if (!opf_expr_affine(f->pool, index, LINE, &stride, &rest) || !opf_is_int(stride, &f->p->stride) || f->p->stride < 1)
        return false;
    for (int k = RANK; k < RANK + pool->n_reduce; k++) {
        if (!opf_expr_affine(f->pool, rest, k, &one, &offset) || !opf_is_value(one, 1) || !opf_is_int(offset, &before))
            continue;
        f->p->before = -before;
        return known(pool->extents[k], 2, &f->p->taps) && f->p->taps <= MOST_TAPS;
    }
    return false;
}

static bool is_pool(const finding *f) {
    const opf_stage *pool = stage_at(f, f->p->pool);
    reading r = {.f = f, .chain = f->p->chain};
    if (pool->n_axes != RANK || pool->second || (pool->combiner != OPF_COMBINE_MAX && pool->combiner != OPF_COMBINE_SUM) || pool->dtype != OPF_FLOAT32)
        return false;
    read_in(&r, pool->body);
    f->p->weighted = r.inputs > 0;
    bool channel = r.count == 1 && r.others == 0 && (!r.inputs || pool->combiner == OPF_COMBINE_SUM) && r.load->index - f->n_inputs == f->p->front && r.load->args[1]->kind == OPF_EXPR_VAR && r.load->args[1]->index == 1;
    return channel && read_lines(f, r.load->args[LINE]);
}

typedef struct following { const finding *f; const opf_stage *reader; } following;

static bool visit_follower(const opf_expr *e, void *data) {
    const following *w = data;
    int s = e->kind == OPF_EXPR_LOAD ? e->index - w->f->n_inputs : -1;
    return s < 0 || (s >= w->f->p->pool && at_own_point(w->reader, e));
}

/* They read the pool at their own point, and nothing that stands before it. */
static bool follow_pool(const finding *f, int result) {
    const opf_stage *pool = stage_at(f, f->p->pool);
    for (int s = f->p->pool + 1; s < (int)f->stages->list.count; s++) {
        following w = {f, stage_at(f, s)};
        if (w.reader->n_reduce || !same_points(pool, w.reader) || !opf_expr_visit(f->pool, w.reader->body, visit_follower, &w))
            return false;
    }
    return result == (int)f->stages->list.count - 1;
}

/* ---- bands ---- */

/* The most lines that divide all and whose operand stays in the cache. */
static bool choose_lines(const finding *f) {
    opf_pooling *p = f->p;
    int64_t all, rows, channels, columns;
    const opf_stage *sum = stage_at(f, p->sum);
    if (!known(stage_at(f, p->pool)->extents[LINE], 1, &all) || !opf_is_int(sum->extents[LINE], &rows) || !opf_is_int(sum->extents[1], &channels) ||
        !opf_is_int(sum->extents[3], &columns))
        return false;
    for (int64_t lines = FEWEST_LINES; lines <= MOST_LINES && lines < all; lines++) {
        bool first = p->lines == 0;
        int64_t band = (lines - 1) * p->stride + p->taps;
        if (all % lines == 0 && (first || band * columns <= BAND_BYTES / 4 / channels))
            p->lines = lines;
    }
    if (!p->lines)
        return false;
    p->bands = all / p->lines;
    p->clipped = p->before > 0 || (all - 1) * p->stride + p->taps - p->before > rows;
    return true;
}

bool opf_pooling_find(opf_pooling *out, const opf_stages *stages, int result, opf_pool *pool, bool *chain) {
    finding f = {stages, pool, (int)stages->inputs.count, out};
    *out = (opf_pooling){.sum = -1, .pool = -1, .chain = chain};
    for (int s = 0; s < (int)stages->list.count; s++) {
        chain[s] = false;
        if (!stages->list.data[s]->n_reduce)
            continue;
        int *place = out->sum < 0 ? &out->sum : &out->pool;
        if (*place >= 0)
            return false;
        *place = s;
    }
    return out->pool >= 0 && is_contraction(&f, stage_at(&f, out->sum)) && find_chain(&f) && is_pool(&f) && follow_pool(&f, result) && choose_lines(&f);
}
