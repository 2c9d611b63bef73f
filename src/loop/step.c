/* Lines in step: where neighbouring iterations of the loop outside the innermost one read the same elements (the lines of a
 * window), several of them are computed together, so that an element is loaded once for all taps that meet it. Misaligned vector
 * loads, and not multiply-adds, are what such loops wait for.
 *
 * Sums are taken on tap by tap in the order in which the elements lie in memory, all lines in turn; each sum keeps its own order. */
#include <stdlib.h>

#include "loop/scheduler.h"

enum { FEWEST_TAPS = 12 /* a 3x3 window's loads keep up with its sums */, MOST_TOGETHER = 8, FEWEST_TOGETHER = 4, MOST_SUMS = 256 };

/* ---- what neighbouring lines share ---- */

typedef struct sharing {
    opf_scheduler *s;
    int line, lane;            /* variables */
    opf_map loads;             /* those that walk along both */
    int count, shared;
    bool simple;               /* every index is evenly walked along the lines */
} sharing;

static bool line_step(const sharing *x, const opf_expr *load, const opf_expr **step) {
    const opf_expr *rest;
    return opf_expr_affine(x->s->pool, load->args[0], x->line, step, &rest) && opf_expr_vars(*step) == 0;
}

static bool walks(const sharing *x, const opf_expr *e) {
    return e->kind == OPF_EXPR_LOAD && e->n_args == 1 && opf_expr_has_var(e->args[0], x->line) && opf_expr_has_var(e->args[0], x->lane);
}

static bool gather(const opf_expr *e, void *data) {
    sharing *x = data;
    const opf_expr *step;
    if (!walks(x, e)) return true;
    if (!line_step(x, e, &step)) x->simple = false;
    else opf_map_set(&x->loads, e, x);
    return true;
}

static bool count_shared(const opf_expr *e, void *data) {
    sharing *x = data;
    const opf_expr *step;
    if (!walks(x, e) || !line_step(x, e, &step)) return true;
    const opf_expr *next = opf_add(x->s->pool, e->args[0], step);
    x->count++;
    x->shared += opf_map_has(&x->loads, opf_load(x->s->pool, (opf_dtype)e->dtype, e->index, 1, &next));
    return true;
}

static bool lines_share(opf_scheduler *s, const opf_targets *targets, int line, int lane) {
    sharing x = {s, line, lane, opf_map_new(s->arena), 0, 0, true};
    for (size_t i = 0; i < targets->list.count; i++) opf_expr_visit(s->pool, targets->list.data[i].value, gather, &x);
    for (size_t i = 0; i < targets->list.count; i++) opf_expr_visit(s->pool, targets->list.data[i].value, count_shared, &x);
    return x.simple && x.count >= FEWEST_TAPS && 2 * x.shared >= x.count;
}

/* ---- the order of sums ---- */

typedef struct tap { const opf_expr *sum; int64_t at; size_t number; } tap;
typedef struct taps {
    opf_scheduler *s;
    int lane;
    const opf_expr *first, *load;  /* index of the first element met; the load of the sum at hand */
    OPF_VEC(tap) list;
    bool ordered;
} taps;

static bool find_element(const opf_expr *e, void *data) {
    taps *t = data;
    if (e->kind == OPF_EXPR_LOAD && e->n_args == 1 && opf_expr_has_var(e->args[0], t->lane)) t->load = e;
    return true;
}

static bool gather_sum(const opf_expr *e, void *data) {
    taps *t = data;
    if (e->kind != OPF_EXPR_BINARY || e->op != OPF_OP_ACCUMULATE) return true;
    tap next = {e, 0, t->list.count};
    t->load = NULL;
    opf_expr_visit(t->s->pool, e->args[1], find_element, t);
    if (!t->load) return true;
    if (!t->first) t->first = t->load->args[0];
    opf_dim apart = opf_sub(t->s->pool, t->load->args[0], t->first);
    t->ordered = t->ordered && opf_expr_vars(apart) == 0;
    if (t->ordered) next.at = opf_dim_nominal(apart); /* where lines are not known to be long, any order will do */
    OPF_PUSH(t->s->arena, &t->list, next);
    return true;
}

static int by_place(const void *a, const void *b) {
    const tap *x = a, *y = b;
    return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->number < y->number ? -1 : 1;
}

static void order_sums(opf_scheduler *s, const opf_targets *targets, int lane, opf_naming *order) {
    taps t = {.s = s, .lane = lane, .ordered = true};
    for (size_t i = 0; i < targets->list.count; i++) opf_expr_visit(s->pool, targets->list.data[i].value, gather_sum, &t);
    if (!t.ordered || t.list.count > MOST_SUMS) return;
    qsort(t.list.data, t.list.count, sizeof *t.list.data, by_place);
    for (size_t i = 0; i < t.list.count; i++) OPF_PUSH(s->arena, &order->list, t.list.data[i].sum);
}

/* ---- together ---- */

/* How many lines at once: those that leave the fewest to be computed twice, of these the most. */
static int64_t lines_together(const opf_range *range, opf_pool *pool) {
    int64_t lines, best = FEWEST_TOGETHER, least = INT64_MAX;
    if (!opf_is_int(opf_sub(pool, range->to, range->from), &lines)) return FEWEST_TOGETHER;
    if (lines <= MOST_TOGETHER) return lines;
    for (int64_t n = MOST_TOGETHER; n >= FEWEST_TOGETHER; n--) {
        int64_t computed = (lines + n - 1) / n * n;
        if (computed < least) {
            least = computed;
            best = n;
        }
    }
    return best;
}

/* The loop over lines as one over blocks of `together`, the last of which begins where it still fits; or none. */
static const opf_expr *block_loop(opf_scheduler *s, opf_ranges *ranges, int at, int64_t together) {
    opf_pool *pool = s->pool;
    opf_range *range = &ranges->at[at];
    const opf_expr *from = range->from;
    if (opf_is_value(opf_sub(pool, range->to, from), together)) {
        for (int k = at; k + 1 < ranges->count; k++) ranges->at[k] = ranges->at[k + 1];
        ranges->count--;
        return from;
    }
    const char *name = s->nest->variables.data[range->variable].name;
    opf_dim extent = opf_extent(s, range->variable);
    int base = opf_variable_new(s, opf_arena_printf(s->arena, "%s_block", name), extent);
    int start = opf_variable_new(s, opf_arena_printf(s->arena, "%s_start", name), extent);
    const opf_expr *first = opf_min(pool, opf_variable(s, base), opf_sub(pool, range->to, opf_int(pool, together)));
    *range = (opf_range){.variable = base, .from = from, .to = range->to, .step = together, .start = start, .at = first};
    return opf_variable(s, start);
}

bool opf_take_in_step(opf_scheduler *s, opf_ranges *ranges, opf_targets *targets, opf_naming *order, const opf_expr **enough) {
    opf_pool *pool = s->pool;
    int innermost = ranges->count - 1, at = innermost - 1;
    if (at >= 0 && ranges->at[at].step > 1) at--; /* the innermost loop stands in blocks */
    if (at < 0 || ranges->at[at].step > 1) return false;
    const opf_range line = ranges->at[at];
    int lane = ranges->at[innermost].variable;
    if (!lines_share(s, targets, line.variable, lane)) return false;
    int64_t together = lines_together(&line, pool), known;
    opf_dim lines = opf_sub(pool, line.to, line.from);
    *enough = opf_is_int(lines, &known) ? NULL : opf_binary(pool, OPF_OP_LE, opf_int(pool, together), lines);
    if (together < 2) return false;
    const opf_expr *first = block_loop(s, ranges, at, together);
    opf_targets all = {0};
    for (int64_t k = 0; k < together; k++) {
        const opf_expr *value = opf_add(pool, first, opf_int(pool, k));
        for (size_t i = 0; i < targets->list.count; i++) {
            opf_target target = targets->list.data[i];
            target.offset = opf_substitute(s, target.offset, line.variable, value);
            target.value = opf_substitute_safely(s, target.value, line.variable, value);
            OPF_PUSH(s->arena, &all.list, target);
        }
    }
    *targets = all;
    order_sums(s, targets, lane, order);
    return true;
}
