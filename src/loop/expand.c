/* Which stages are kept (computed on their own) and which are substituted into their readers.
 *
 * Reductions are kept. A map is kept where it is dear and its readers would compute it more often than it has elements: the
 * exponentials of a softmax, read by the sum and by the quotient; a factor per channel, read per pixel. */
#include "loop/scheduler.h"

enum { DEAR = 12 /* operations; one transcendental function is twice that */ };
static const double RECOMPUTED = 1.5; /* evaluations an element from which keeping pays */

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

static bool is_trivial_reduction(const opf_stage *stage) {
    for (int i = stage->n_axes; i < stage->n_axes + stage->n_reduce; i++)
        if (!opf_is_value(stage->extents[i], 1)) return false;
    return true;
}

static bool reduces(const opf_stage *stage) { return stage->combiner != OPF_COMBINE_NONE && !is_trivial_reduction(stage); }

typedef struct reading { opf_scheduler *s; double *reads; double times; } reading;

static bool add_reads(const opf_expr *e, void *data) {
    reading *r = data;
    if (e->kind == OPF_EXPR_LOAD && e->index >= r->s->n_inputs) r->reads[e->index - r->s->n_inputs] += r->times;
    return true;
}

static bool is_result(const opf_scheduler *s, int stage) {
    for (size_t r = 0; r < s->group->results.count; r++)
        if (s->group->results.data[r].stage == stage) return true;
    return false;
}

/* Operations of one element with everything that is inlined into it. */
static double *prices(opf_scheduler *s) {
    double *price = OPF_ARRAY(s->arena, double, s->n_stages + 1);
    for (int i = 0; i < s->n_stages; i++) {
        const opf_stage *stage = s->group->stages.list.data[i];
        double *reads = OPF_ARRAY(s->arena, double, s->n_stages + 1);
        price[i] = opf_expr_price(s, stage->body);
        opf_expr_visit(s->pool, stage->body, add_reads, &(reading){s, reads, 1});
        for (int j = 0; j < i; j++)
            if (reads[j] > 0 && !reduces(s->group->stages.list.data[j])) price[i] += reads[j] * price[j];
    }
    return price;
}

static void choose_kept(opf_scheduler *s) {
    double *reads = OPF_ARRAY(s->arena, double, s->n_stages + 1), *price = prices(s);
    for (int i = s->n_stages; i-- > 0;) {
        const opf_stage *stage = s->group->stages.list.data[i];
        double size = elements(stage, stage->n_axes);
        if (is_result(s, i)) reads[i] += size;
        s->kept[i] = reduces(stage) || (price[i] >= DEAR && reads[i] > RECOMPUTED * size && !s->never_kept[i]);
        double times = s->kept[i] ? elements(stage, stage->n_axes + stage->n_reduce) : reads[i];
        reading r = {s, reads, times};
        opf_expr_visit(s->pool, stage->body, add_reads, &r);
        if (stage->second) opf_expr_visit(s->pool, stage->second, add_reads, &r);
    }
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

void opf_expand(opf_scheduler *s) {
    choose_kept(s);
    for (int i = 0; i < s->n_stages; i++) {
        const opf_stage *stage = s->group->stages.list.data[i];
        s->bodies[i] = expanded(s, stage, stage->body);
        s->seconds[i] = stage->second ? expanded(s, stage, stage->second) : NULL;
        if (stage->combiner == OPF_COMBINE_NONE || s->kept[i]) continue;
        /* a reduction over single points: its value, or the index of it */
        if (s->seconds[i]) s->bodies[i] = s->seconds[i];
        else if (s->bodies[i]->dtype != stage->dtype) s->bodies[i] = opf_cast(s->pool, stage->dtype, s->bodies[i]);
    }
}
