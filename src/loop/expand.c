/* Which stages are kept (computed on their own) and which are substituted into their readers.
 *
 * A reduction over a few points (a 3x3 window) is written out and becomes a map; its borders are conditions like any others.
 * All other reductions are kept. A map is kept where it is dear and its readers would compute it more often than it has elements: the
 * exponentials of a softmax, read by the sum and by the quotient; a factor per channel, read per pixel. */
#include "loop/scheduler.h"

enum {
    DEAR = 12,        /* operations; one transcendental function is twice that */
    DEAR_OFTEN = 8,   /* the same of what would be computed OFTEN times an element */
    DEAR_WINDOW = 4,
    MOST_POINTS = 9,  /* of a reduction that is written out */
    MOST_PADDED_POINTS = 25, /* the same where no borders are in the way */
    UNKNOWN_POINTS = 1000
};
static const double RECOMPUTED = 1.5; /* evaluations an element from which keeping pays */
static const double OFTEN = 3;         /* a line between two lines that are interpolated, read by those on both sides */
static const double SUMMED = 8;       /* the same of what is cheap, but stands in the way of a plain sum */

const opf_expr *opf_rebuild(opf_pool *pool, const opf_expr *e, const opf_expr *const *args) {
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_LOAD: return opf_load(pool, (opf_dtype)e->dtype, e->index, e->n_args, args);
    case OPF_EXPR_UNARY: return opf_unary(pool, (opf_scalar_op)e->op, args[0]);
    case OPF_EXPR_BINARY: return opf_binary(pool, (opf_scalar_op)e->op, args[0], args[1]);
    case OPF_EXPR_SELECT: return opf_select(pool, args[0], args[1], args[2]);
    case OPF_EXPR_CAST: return opf_cast(pool, (opf_dtype)e->dtype, args[0]);
    default: return e;
    }
}

static bool add_price(const opf_expr *e, void *data) {
    double *price = data;
    bool operation = e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY;
    if (operation && (opf_expr_has_load(e) || e->dtype != OPF_INT64)) *price += opf_scalar_ops[e->op].flops;
    if (e->kind == OPF_EXPR_SELECT || e->kind == OPF_EXPR_CAST) *price += 1;
    return true;
}

double opf_expr_price(const opf_scheduler *s, const opf_expr *e) {
    double price = 0;
    opf_expr_visit(s->pool, e, add_price, &price);
    return price;
}

/* ---- how often a stage would be evaluated ---- */

static double elements(const opf_stage *stage, int axes) {
    double count = 1;
    for (int i = 0; i < axes; i++) count *= (double)opf_dim_nominal(stage->extents[i]);
    return count;
}

/* Points that one element reduces, a large number where they are many or their number is not known. */
static int64_t points_of(const opf_stage *stage) {
    int64_t points = 1, extent;
    for (int i = stage->n_axes; i < stage->n_axes + stage->n_reduce; i++) {
        if (!opf_is_int(stage->extents[i], &extent) || extent < 1 || extent > UNKNOWN_POINTS) return UNKNOWN_POINTS;
        points *= extent;
        if (points > UNKNOWN_POINTS) return UNKNOWN_POINTS;
    }
    return points;
}

static bool is_reduced(const opf_scheduler *s, int number) {
    const opf_stage *stage = s->stages[number];
    if (stage->combiner == OPF_COMBINE_NONE) return false;
    bool padded = s->padding[number] >= 0 && !s->never_kept[s->padding[number]];
    return points_of(stage) > (stage->combiner > OPF_COMBINE_OR ? 1 : padded ? MOST_PADDED_POINTS : MOST_POINTS);
}

bool opf_is_padding(const opf_scheduler *s, int number) { return number + 1 < s->n_stages && s->padding[number + 1] == number; }

typedef struct reading { opf_scheduler *s; double *reads; double times; } reading;

static bool add_reads(const opf_expr *e, void *data) {
    reading *r = data;
    if (e->kind == OPF_EXPR_LOAD && e->index >= r->s->n_inputs) r->reads[e->index - r->s->n_inputs] += r->times;
    return true;
}

static bool is_result(const opf_scheduler *s, int stage) {
    for (size_t r = 0; r < s->group->results.count; r++)
        if (s->result_stage[r] == stage) return true;
    return false;
}

/* Operations of one element of stage i with everything that is inlined into it: what is not in `stored`. */
static double price_of(opf_scheduler *s, int i, const bool *stored, const double *price) {
    const opf_stage *stage = s->stages[i];
    double *reads = OPF_ARRAY(s->arena, double, s->n_stages + 1), own = opf_expr_price(s, stage->body);
    opf_expr_visit(s->pool, stage->body, add_reads, &(reading){s, reads, 1});
    for (int j = 0; j < i; j++)
        if (reads[j] > 0 && !stored[j]) own += reads[j] * price[j];
    return stage->combiner != OPF_COMBINE_NONE && !s->reduced[i] ? (own + 1) * (double)points_of(stage) : own;
}

static double *prices(opf_scheduler *s) {
    double *price = OPF_ARRAY(s->arena, double, s->n_stages + 1);
    for (int i = 0; i < s->n_stages; i++) price[i] = price_of(s, i, s->reduced, price);
    return price;
}

/* ---- what finishes a sum and is summed up again ---- */

typedef struct finishing { const opf_scheduler *s; const opf_stage *stage; bool *along, *of_sums, found; } finishing;

static bool meet_sum(const opf_expr *e, void *data) {
    finishing *f = data;
    int read = e->kind == OPF_EXPR_LOAD ? e->index - f->s->n_inputs : -1;
    if (read >= 0 && (f->s->reduced[read] || f->of_sums[read])) f->found = true;
    return !f->found;
}

/* Notes the stages that a reduction reads along an axis that it reduces. */
static bool meet_along(const opf_expr *e, void *data) {
    finishing *f = data;
    if (e->kind != OPF_EXPR_LOAD || e->index < f->s->n_inputs) return true;
    for (int k = 0; k < e->n_args; k++)
        if (opf_expr_vars(e->args[k]) >> f->stage->n_axes) f->along[e->index - f->s->n_inputs] = true;
    return true;
}

/* By stage: a few elements made of sums (an activation of a gate), that another sum reads over and over: computed again for
 * each of its terms, they would keep it from reading plain memory. Or a result made of sums, that others read (a scale of
 * quantised elements): stored on the way to those, it needs no sums of its own. */
static bool *find_finished(opf_scheduler *s) {
    enum { FEW = 4096 };
    bool *along = OPF_ARRAY(s->arena, bool, s->n_stages + 1), *of_sums = OPF_ARRAY(s->arena, bool, s->n_stages + 1);
    bool *finished = OPF_ARRAY(s->arena, bool, s->n_stages + 1);
    for (int i = 0; i < s->n_stages; i++) {
        finishing f = {s, s->stages[i], along, of_sums, false};
        if (s->reduced[i]) opf_expr_visit(s->pool, s->stages[i]->body, meet_along, &f);
    }
    for (int i = 0; i < s->n_stages; i++) {
        finishing f = {s, s->stages[i], along, of_sums, false};
        if (s->reduced[i]) continue;
        opf_expr_visit(s->pool, s->stages[i]->body, meet_sum, &f);
        of_sums[i] = f.found;
        finished[i] = f.found && (is_result(s, i) || (along[i] && elements(s->stages[i], s->stages[i]->n_axes) <= FEW));
    }
    return finished;
}

/* `times`: evaluations an element of the stage. */
static double dear_from(const opf_stage *stage, double times) {
    if (stage->combiner != OPF_COMBINE_NONE && points_of(stage) > 1) return DEAR_WINDOW;
    return times >= OFTEN ? DEAR_OFTEN : DEAR;
}

static double times_of(const opf_scheduler *s, int i, const double *reads) {
    double size = elements(s->stages[i], s->stages[i]->n_axes);
    return size > 0 ? reads[i] / size : 0;
}

/* What is dear only by what it reads is not, once that is kept. */
static void drop_cheap(opf_scheduler *s, const bool *finished, const double *reads) {
    double *price = OPF_ARRAY(s->arena, double, s->n_stages + 1);
    for (int i = 0; i < s->n_stages; i++) {
        price[i] = price_of(s, i, s->kept, price);
        if (!s->reduced[i] && !opf_is_padding(s, i) && !finished[i] && price[i] < dear_from(s->stages[i], times_of(s, i, reads))) s->kept[i] = false;
    }
}

static void choose_kept(opf_scheduler *s) {
    const bool *finished = find_finished(s);
    double *reads = OPF_ARRAY(s->arena, double, s->n_stages + 1), *price = prices(s);
    for (int i = s->n_stages; i-- > 0;) {
        const opf_stage *stage = s->stages[i];
        double size = elements(stage, stage->n_axes);
        if (is_result(s, i)) reads[i] += size;
        bool pays = opf_is_padding(s, i) || (price[i] >= dear_from(stage, times_of(s, i, reads)) && reads[i] > RECOMPUTED * size) || (finished[i] && reads[i] >= SUMMED * size);
        s->kept[i] = s->reduced[i] || (pays && !s->never_kept[i]);
        double points = elements(stage, stage->n_axes + stage->n_reduce) / (size > 0 ? size : 1);
        double times = (s->kept[i] ? size : reads[i]) * points;
        reading r = {s, reads, times};
        opf_expr_visit(s->pool, stage->body, add_reads, &r);
        if (stage->second) opf_expr_visit(s->pool, stage->second, add_reads, &r);
    }
    drop_cheap(s, finished, reads);
}

/* ---- substitution ---- */

typedef struct expansion { opf_scheduler *s; const opf_stage *stage; } expansion;

static const opf_expr *expand_leaf(opf_pool *pool, const opf_expr *leaf, void *data) {
    expansion *x = data;
    if (leaf->kind == OPF_EXPR_VAR) return opf_is_value(x->stage->extents[leaf->index], 1) ? opf_int(pool, 0) : NULL;
    if (leaf->kind != OPF_EXPR_LOAD || leaf->index < x->s->n_inputs) return NULL;
    int stage = leaf->index - x->s->n_inputs;
    return x->s->kept[stage] ? NULL : opf_expr_bind(pool, x->s->bodies[stage], leaf->n_args, leaf->args);
}

static const opf_expr *expanded(opf_scheduler *s, const opf_stage *stage, const opf_expr *e) {
    e = opf_expr_map(s->pool, e, expand_leaf, &(expansion){s, stage});
    return opf_expr_simplify(s->pool, e, opf_stage_domain(stage));
}

/* ---- windows written out ---- */

/* The term at one point of the reduction. */
static const opf_expr *at_point(opf_scheduler *s, const opf_stage *stage, const opf_expr *term, int64_t point) {
    const opf_expr *variables[OPF_MOST_AXES] = {NULL};
    for (int i = stage->n_axes + stage->n_reduce; i-- > stage->n_axes;) {
        int64_t extent = 1;
        opf_is_int(stage->extents[i], &extent);
        variables[i] = opf_int(s->pool, point % extent);
        point /= extent;
    }
    return opf_expr_bind(s->pool, term, stage->n_axes + stage->n_reduce, variables);
}

static bool divides(const opf_expr *e, void *data) {
    bool division = e->kind == OPF_EXPR_BINARY && (e->op == OPF_OP_FLOORDIV || e->op == OPF_OP_FLOORMOD);
    *(bool *)data = *(bool *)data || division;
    return !division;
}

/* Conditions of which loops can be cut free. Others stay inside the term: around it, each would repeat all that came before. */
static bool can_be_cut(const opf_scheduler *s, const opf_expr *condition) {
    bool division = false;
    opf_expr_visit(s->pool, condition, divides, &division);
    return !division;
}

/* Points combined one after the other; where a point's conditions fail, the value stays as it is. Exactly, a sum starts at 0:
 * -0 alone is no sum. */
static const opf_expr *written_out(opf_scheduler *s, const opf_stage *stage, const opf_expr *term) {
    opf_pool *pool = s->pool;
    bool starts = opf_group_is_exact(s->group) && stage->combiner == OPF_COMBINE_SUM;
    const opf_expr *value = starts ? opf_neutral(pool, stage->combiner, stage->accumulator) : NULL;
    for (int64_t k = 0; k < points_of(stage); k++) {
        const opf_expr *point = opf_expr_simplify(pool, at_point(s, stage, term, k), opf_stage_domain(stage));
        opf_conditions found = {0}, conditions = {0};
        opf_find_conditions(s, point, stage->combiner, &found);
        for (size_t i = 0; i < found.list.count; i++)
            if (can_be_cut(s, found.list.data[i])) OPF_PUSH(s->arena, &conditions.list, found.list.data[i]);
        for (size_t i = 0; i < conditions.list.count; i++) point = opf_decide(s, point, conditions.list.data[i], true);
        const opf_expr *otherwise = value ? value : opf_neutral(pool, stage->combiner, stage->accumulator);
        const opf_expr *next = value ? opf_accumulate(pool, stage->combiner, value, point) : point;
        for (size_t i = conditions.list.count; i-- > 0;) next = opf_select(pool, conditions.list.data[i], next, otherwise);
        value = next;
    }
    return value->dtype == stage->dtype ? value : opf_cast(pool, stage->dtype, value);
}

void opf_expand(opf_scheduler *s) {
    for (int i = 0; i < s->n_stages; i++) s->reduced[i] = is_reduced(s, i);
    choose_kept(s);
    for (int i = 0; i < s->n_stages; i++) {
        const opf_stage *stage = s->stages[i];
        s->bodies[i] = expanded(s, stage, stage->body);
        s->seconds[i] = stage->second ? expanded(s, stage, stage->second) : NULL;
        if (stage->combiner == OPF_COMBINE_NONE || s->reduced[i]) continue;
        s->bodies[i] = s->seconds[i] ? s->seconds[i] : written_out(s, stage, s->bodies[i]);
    }
}
