/* Reductions of one kept stage, at the place where it stands.
 *
 *   rows     the innermost loop runs over a reduce axis that lies in memory: the prelude's fixed-tree functions, on the
 *            elements themselves or on a chunk of the term; sums of cheap terms run in four vectors, as those functions' do, and
 *            no chunk is stored
 *   lanes    the innermost loop runs over a kept axis: accumulators in an array, reduce loops outside
 *   scalar   anything else: one running value
 *
 * Conditions whose failing makes the term neutral (borders) become bounds of the loops.
 *
 * Exactly (--accuracy=exact) terms are taken in the order of the reduce axes: rows only along the last of them, and the
 * prelude's functions go on from the running value. */
#include <math.h>

#include "loop/scheduler.h"

/* ---- which axis is the innermost ---- */

enum {
    SHORT = 8,
    MODEST = 16,
    MOST_RUNNING = 12 /* operations of a term that is added in registers: four vectors of each are alive at once */
};

static bool is_pair(opf_combiner combiner) { return combiner >= OPF_COMBINE_ARGMIN; }

/* Does the prelude reduce contiguous elements of the type? */
static bool in_prelude(opf_combiner combiner, opf_dtype dtype) {
    bool type = dtype == OPF_FLOAT32 || dtype == OPF_FLOAT64 || opf_dtype_is_integer(dtype);
    return type && combiner >= OPF_COMBINE_SUM && combiner <= OPF_COMBINE_MAX;
}

typedef struct scoring { opf_scheduler *s; int variable; int score, unit; } scoring; /* unit: loads that walk along it by single steps */

static bool score_load(const opf_expr *e, void *data) {
    scoring *score = data;
    const opf_expr *coefficient, *rest;
    int64_t stride;
    if (e->kind != OPF_EXPR_LOAD || e->n_args == 0 || !opf_expr_has_var(e->args[0], score->variable)) return true;
    if (!opf_expr_affine(score->s->pool, e->args[0], score->variable, &coefficient, &rest)) score->score -= 4;
    else if (opf_is_int(coefficient, &stride) && stride == 1) score->unit++;
    else if (opf_is_int(coefficient, &stride) && (stride == 2 || stride == -1)) score->score -= 1;
    else score->score -= 3;
    return true;
}

static int score_of(opf_scheduler *s, const opf_item *item, int variable, bool kept) {
    const opf_stage *stage = s->stages[item->stage];
    scoring score = {s, variable, 0, 0};
    int64_t extent = opf_dim_nominal(opf_extent(s, variable));
    opf_expr_visit(s->pool, item->term, score_load, &score);
    if (score.unit) score.score += 4; /* further ones are no gain: along another axis they may not change at all */
    if (kept) score.score += 1;
    else if (!in_prelude(stage->combiner, stage->accumulator)) score.score -= 3;
    else if (score.unit == 0) score.score -= 2;
    bool known = opf_is_int(opf_extent(s, variable), NULL); /* what is short at nominal sizes may well be long */
    if (known && extent < SHORT) score.score -= 6;
    else if (known && extent < MODEST) score.score -= 2;
    return score.score;
}

int opf_reduce_vector(opf_scheduler *s, const opf_item *item, const opf_axes *bound) {
    int best = -1, best_score = 0;
    const opf_axes *lists[3] = {bound, &item->free, &item->reduce};
    for (int l = 0; l < 3; l++) {
        for (int i = lists[l]->count; i-- > 0;) {
            int score = score_of(s, item, lists[l]->at[i], l < 2);
            if (best >= 0 && score <= best_score) continue;
            best = lists[l]->at[i];
            best_score = score;
        }
    }
    return best;
}

/* ---- one reduction ---- */

typedef struct reduction {
    opf_scheduler *s;
    const opf_item *item;
    const opf_stage *stage;
    const opf_chunk *chunk;    /* lanes to compute, NULL: none */
    opf_conditions conditions;
    const opf_expr *term, *second;
} reduction;

static const opf_expr *neutral(const reduction *r) { return opf_neutral(r->s->pool, r->stage->combiner, r->stage->accumulator); }

/* The value that readers see, from the accumulator. */
static const opf_expr *finished(const reduction *r, const opf_expr *accumulator) {
    return accumulator->dtype == r->stage->dtype ? accumulator : opf_cast(r->s->pool, r->stage->dtype, accumulator);
}

/* Narrows the innermost loop, among those from `first` on, that a condition speaks of. */
static bool bound_by(reduction *r, opf_ranges *ranges, int first, const opf_expr *condition) {
    opf_pool *pool = r->s->pool;
    opf_break found;
    int j = ranges->count - 1;
    while (j >= 0 && !opf_expr_has_var(condition, ranges->at[j].variable)) j--;
    if (j < first || !opf_break_solve(r->s, condition, ranges->at[j].variable, &found)) return false;
    opf_range *range = &ranges->at[j];
    if (found.below && !opf_proves_le(r->s, range->to, found.at)) range->to = opf_min(pool, range->to, found.at);
    if (!found.below && !opf_proves_le(r->s, found.at, range->from)) range->from = opf_max(pool, range->from, found.at);
    return true;
}

static void apply_conditions(reduction *r, opf_ranges *ranges, int first) {
    for (size_t i = 0; i < r->conditions.list.count; i++) {
        const opf_expr *condition = r->conditions.list.data[i];
        if (bound_by(r, ranges, first, condition)) r->term = opf_decide(r->s, r->term, condition, true);
    }
}

/* Bounds that are more than a number or a variable get names in `block` before their loop: done where loops are made. */
static void add_axes(const reduction *r, opf_ranges *ranges, const opf_axes *axes, int except) {
    for (int i = 0; i < axes->count; i++)
        if (axes->at[i] != except) ranges->at[ranges->count++] = (opf_range){.variable = axes->at[i], .from = opf_int(r->s->pool, 0), .to = opf_extent(r->s, axes->at[i])};
}

static opf_range lanes_of(const reduction *r) { return (opf_range){.variable = r->chunk->lane, .from = opf_int(r->s->pool, 0), .to = r->chunk->count}; }

static opf_targets one_target(opf_scheduler *s, int buffer, const opf_expr *offset, const opf_expr *value) {
    opf_targets targets = {0};
    OPF_PUSH(s->arena, &targets.list, (opf_target){buffer, offset, value});
    return targets;
}

/* accumulator = accumulator combined with the term; pairs: the index first, which needs the old extreme. */
static opf_targets accumulating(const reduction *r, int accumulator, int index, const opf_expr *offset) {
    opf_scheduler *s = r->s;
    opf_pool *pool = s->pool;
    const opf_expr *old = opf_buffer_load(s, accumulator, offset);
    if (!is_pair(r->stage->combiner)) return one_target(s, accumulator, offset, opf_accumulate(pool, r->stage->combiner, old, r->term));
    opf_combiner combiner = r->stage->combiner;
    bool highest = combiner == OPF_COMBINE_ARGMAX || combiner == OPF_COMBINE_ARGMAX_LAST;
    bool last = combiner == OPF_COMBINE_ARGMAX_LAST || combiner == OPF_COMBINE_ARGMIN_LAST;
    const opf_expr *low = highest ? old : r->term, *high = highest ? r->term : old;
    const opf_expr *better = opf_binary(pool, last ? OPF_OP_LE : OPF_OP_LT, low, high);
    if (opf_dtype_is_float((opf_dtype)r->term->dtype)) { /* a NaN is the extreme */
        const opf_expr *is_nan = opf_binary(pool, OPF_OP_NE, r->term, r->term);
        if (!last) is_nan = opf_binary(pool, OPF_OP_AND, is_nan, opf_binary(pool, OPF_OP_EQ, old, old));
        better = opf_binary(pool, OPF_OP_OR, better, is_nan);
    }
    opf_targets targets = one_target(s, index, offset, opf_select(pool, better, r->second, opf_buffer_load(s, index, offset)));
    OPF_PUSH(s->arena, &targets.list, (opf_target){accumulator, offset, opf_select(pool, better, r->term, old)});
    return targets;
}

/* The index that stands where nothing was reduced: that of the first element. */
static const opf_expr *first_index(const reduction *r) {
    const opf_expr *second = r->second;
    for (int i = 0; i < r->item->reduce.count; i++) second = opf_substitute(r->s, second, r->item->reduce.at[i], opf_int(r->s->pool, 0));
    return opf_expr_has_load(second) ? opf_int(r->s->pool, 0) : second;
}

/* ---- lanes ---- */

static void fill(const reduction *r, opf_block *block, int buffer, const opf_expr *value) {
    opf_targets targets = one_target(r->s, buffer, r->item->offset, value);
    opf_leaf_over(r->s, block, r->item->free, r->chunk, &targets, false);
}

/* An array like the item's own, of another type. */
static int array_like(const reduction *r, opf_block *block, opf_dtype dtype, const char *name) {
    opf_scheduler *s = r->s;
    opf_nest_buffer own = *opf_buffer_at(s, r->item->buffer);
    int buffer = opf_buffer_new(s, own.memory, dtype, name, own.elements);
    opf_place_array(s, block, buffer);
    return buffer;
}

static void reduce_lanes(reduction *r, opf_block *block, int vector) {
    opf_scheduler *s = r->s;
    const opf_item *item = r->item;
    bool pair = is_pair(r->stage->combiner), own = !pair && r->stage->dtype == r->stage->accumulator;
    int accumulator = own ? item->buffer : array_like(r, block, r->stage->accumulator, pair ? "extreme" : "sum");
    opf_ranges ranges = {0};
    bool lanes = r->chunk && vector == r->chunk->lane;
    add_axes(r, &ranges, &item->free, vector);
    if (r->chunk && !lanes) ranges.at[ranges.count++] = lanes_of(r);
    add_axes(r, &ranges, &item->reduce, -1);
    if (lanes) ranges.at[ranges.count++] = lanes_of(r);
    else ranges.at[ranges.count++] = (opf_range){.variable = vector, .from = opf_int(s->pool, 0), .to = opf_extent(s, vector)};
    apply_conditions(r, &ranges, 0);
    fill(r, block, accumulator, neutral(r));
    if (pair) fill(r, block, item->buffer, first_index(r));
    opf_targets targets = accumulating(r, accumulator, item->buffer, item->offset);
    opf_body(s, block, &ranges, &targets);
    if (!own && !pair) fill(r, block, item->buffer, finished(r, opf_buffer_load(s, accumulator, item->offset)));
}

/* ---- rows and single values ---- */

/* Offset of a run that starts where the variable is 0; NULL where the load does not walk by single steps. */
static const opf_expr *unit_stride(const reduction *r, const opf_expr *load, int variable) {
    const opf_expr *coefficient, *rest;
    if (load->kind != OPF_EXPR_LOAD || load->n_args == 0) return NULL;
    if (!opf_expr_affine(r->s->pool, load->args[0], variable, &coefficient, &rest)) return NULL;
    return opf_is_value(coefficient, 1) ? rest : NULL;
}

/* The term as runs of elements in memory: one, or two whose products are summed; 0 where it is no such thing. */
static int runs_of(const reduction *r, int variable, opf_run *runs) {
    const opf_expr *term = r->term, *offset = unit_stride(r, term, variable);
    opf_dtype dtype = r->stage->accumulator;
    if (offset && term->dtype == dtype && opf_dtype_held(dtype) == dtype) {
        runs[0] = (opf_run){term->index, offset};
        return 1;
    }
    bool product = term->kind == OPF_EXPR_BINARY && term->op == OPF_OP_MUL && dtype == OPF_FLOAT32 && r->stage->combiner == OPF_COMBINE_SUM;
    if (!product) return 0;
    for (int i = 0; i < 2; i++) {
        offset = unit_stride(r, term->args[i], variable);
        if (!offset) return 0;
        runs[i] = (opf_run){term->args[i]->index, offset};
    }
    return 2;
}

static void combine_runs(const reduction *r, opf_block *block, int accumulator, bool first, const opf_run *runs, int n, const opf_range *range) {
    opf_scheduler *s = r->s;
    opf_code *code = opf_code_add(s, block, OPF_CODE_REDUCE);
    code->buffer = accumulator;
    code->first = code->declares = first;
    code->combiner = r->stage->combiner;
    code->n_operands = n;
    for (int i = 0; i < n; i++) code->operands[i] = (opf_run){runs[i].buffer, opf_add(s->pool, runs[i].offset, range->from)};
    code->to = opf_sub(s->pool, range->to, range->from);
}

/* ---- sums that run in four vectors ---- */

typedef struct walking { opf_scheduler *s; int variable; int operations; } walking;

/* Vectors of it are arithmetic on what lies together: no functions, nothing that is read only where a condition holds. */
static bool walks_on(const opf_expr *e, void *data) {
    walking *w = data;
    const opf_expr *step, *rest;
    if (e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY) return ++w->operations <= MOST_RUNNING && !opf_scalar_ops[e->op].transcendental;
    if (e->kind == OPF_EXPR_SELECT)
        for (int i = 1; i < 3; i++)
            if (e->args[i]->kind == OPF_EXPR_LOAD && e->args[i]->n_args && !opf_is_safe(w->s, e->args[i], OPF_SAFE)) return false;
    if (e->kind != OPF_EXPR_LOAD || e->n_args == 0) return true;
    bool still = !opf_expr_has_var(e->args[0], w->variable), narrow = e->dtype == OPF_FLOAT32 || (opf_dtype_is_integer((opf_dtype)e->dtype) && e->dtype != OPF_INT64 && e->dtype != OPF_UINT64);
    return still || (narrow && opf_expr_affine(w->s->pool, e->args[0], w->variable, &step, &rest) && opf_is_value(step, 1));
}

/* Elements of the four vectors. */
static int64_t running_elements(const reduction *r) { return 4 * r->s->nest->machine->lanes; }

static bool runs_in_vectors(const reduction *r, const opf_range *range) {
    walking w = {r->s, range->variable, 0};
    int64_t length;
    bool sum = r->stage->combiner == OPF_COMBINE_SUM && r->stage->accumulator == OPF_FLOAT32 && r->term->dtype == OPF_FLOAT32 && !opf_group_is_exact(r->s->group);
    if (!sum || (opf_is_int(opf_extent(r->s, range->variable), &length) && length < 2 * running_elements(r))) return false;
    return opf_expr_visit(r->s->pool, r->term, walks_on, &w);
}

/* Whole rounds of four vectors, added lane by lane. */
static void add_rounds(const reduction *r, opf_block *block, int sums, const opf_range *range) {
    opf_scheduler *s = r->s;
    opf_pool *pool = s->pool;
    const char *name = s->nest->variables.data[range->variable].name;
    int64_t all = running_elements(r);
    int base = opf_variable_new(s, opf_arena_printf(s->arena, "%s_base", name), opf_extent(s, range->variable)), lane = opf_variable_new(s, name, opf_int(pool, all));
    const opf_expr *at = opf_variable(s, lane), *term = opf_simple(s, opf_substitute_safely(s, r->term, range->variable, opf_add(pool, opf_variable(s, base), at)));
    opf_targets targets = one_target(s, sums, at, opf_accumulate(pool, OPF_COMBINE_SUM, opf_buffer_load(s, sums, at), term));
    opf_range rounds = {.variable = base, .from = range->from, .to = opf_sub(pool, range->to, opf_int(pool, all - 1)), .step = all, .start = base};
    opf_ranges ranges = {.count = 2, .at = {rounds, {.variable = lane, .from = opf_int(pool, 0), .to = opf_int(pool, all)}}};
    opf_body(s, block, &ranges, &targets);
}

/* The row's last `count` elements into an array. */
static void store_rest(const reduction *r, opf_block *block, int array, const opf_range *range, const opf_expr *count) {
    opf_scheduler *s = r->s;
    int lane = opf_variable_new(s, s->nest->variables.data[range->variable].name, opf_int(s->pool, running_elements(r)));
    const opf_expr *at = opf_variable(s, lane), *place = opf_add(s->pool, opf_sub(s->pool, range->to, count), at);
    opf_targets targets = one_target(s, array, at, opf_simple(s, opf_substitute_safely(s, r->term, range->variable, place)));
    opf_ranges ranges = {.count = 1, .at = {{.variable = lane, .from = opf_int(s->pool, 0), .to = count}}};
    opf_body(s, block, &ranges, &targets);
}

static void combine_running(const reduction *r, opf_block *block, int accumulator, const opf_range *range) {
    opf_scheduler *s = r->s;
    opf_pool *pool = s->pool;
    const opf_expr *all = opf_int(pool, running_elements(r)), *length = opf_sub(pool, range->to, range->from);
    if (!opf_proves_le(s, range->from, range->to)) length = opf_max(pool, length, opf_int(pool, 0)); /* bounds of conditions may cross */
    const opf_expr *rest = opf_simple(s, opf_floormod(pool, length, all));
    int sums = opf_buffer_new(s, OPF_MEMORY_STACK, OPF_FLOAT32, "running", all), array = sums;
    opf_code_array(s, block, sums);
    opf_code_add(s, block, OPF_CODE_CLEAR)->buffer = sums;
    add_rounds(r, block, sums, range);
    if (!opf_is_value(rest, 0)) {
        if (!opf_is_int(rest, NULL)) {
            int count = opf_variable_new(s, opf_arena_printf(s->arena, "%s_rest", s->nest->variables.data[range->variable].name), all);
            opf_code_index(s, block, count, rest);
            rest = opf_variable(s, count);
        }
        array = opf_buffer_new(s, OPF_MEMORY_STACK, OPF_FLOAT32, "rest", all);
        opf_code_array(s, block, array);
        store_rest(r, block, array, range, rest);
    }
    opf_run run = {array, opf_int(pool, 0)};
    combine_runs(r, block, accumulator, false, &run, 1, &(opf_range){.variable = range->variable, .from = opf_int(pool, 0), .to = rest});
    block->list.data[block->list.count - 1]->running = sums;
}

/* The term of a chunk into an array, the array into the accumulator. */
static void combine_chunks(const reduction *r, opf_block *block, int accumulator, const opf_range *range) {
    opf_scheduler *s = r->s;
    opf_chunk chunk = opf_chunk_new(s, range->variable, opf_chunk_size(s));
    int array = opf_buffer_new(s, OPF_MEMORY_STACK, r->stage->accumulator, "term", opf_int(s->pool, chunk.size));
    opf_code_array(s, block, array);
    opf_block *body = opf_chunk_loop(s, block, &chunk, range->from, range->to);
    opf_targets targets = one_target(s, array, opf_variable(s, chunk.lane), opf_simple(s, opf_substitute_safely(s, r->term, range->variable, chunk.value)));
    opf_range lanes = {.variable = chunk.lane, .from = opf_int(s->pool, 0), .to = chunk.count};
    if (chunk.base < 0) lanes = (opf_range){.variable = chunk.lane, .from = range->from, .to = range->to};
    bool whole = opf_is_value(lanes.from, 0) && lanes.to == chunk.count;
    if (whole && opf_phases_apply(s, &targets, chunk.lane)) {
        opf_phases(s, body, &chunk, &targets);
    } else {
        opf_ranges ranges = {.count = 1, .at = {lanes}};
        opf_body(s, body, &ranges, &targets);
    }
    opf_run run = {array, opf_int(s->pool, 0)};
    combine_runs(r, body, accumulator, false, &run, 1, &lanes);
}

static int new_accumulator(const reduction *r, opf_dtype dtype, const char *name) {
    int buffer = opf_buffer_new(r->s, OPF_MEMORY_REGISTER, dtype, name, NULL);
    opf_buffer_at(r->s, buffer)->changes = true;
    return buffer;
}

/* Loops over the reduce axes but the innermost, with their bounds. */
static opf_block *open_loops(opf_scheduler *s, opf_block *block, const opf_ranges *ranges, int count) {
    for (int i = 0; i < count; i++) block = opf_code_loop(s, block, ranges->at[i].variable, ranges->at[i].from, ranges->at[i].to, 1);
    return block;
}

static void reduce_rows(reduction *r, opf_block *block, int vector, int accumulator) {
    opf_scheduler *s = r->s;
    opf_ranges ranges = {0};
    add_axes(r, &ranges, &r->item->reduce, vector);
    ranges.at[ranges.count++] = (opf_range){.variable = vector, .from = opf_int(s->pool, 0), .to = opf_extent(s, vector)};
    apply_conditions(r, &ranges, 0);
    opf_run runs[2];
    int n = runs_of(r, vector, runs);
    const opf_range *innermost = &ranges.at[ranges.count - 1];
    if (n && ranges.count == 1) {
        combine_runs(r, block, accumulator, true, runs, n, innermost);
        return;
    }
    opf_code_define(s, block, accumulator, neutral(r));
    block = open_loops(s, block, &ranges, ranges.count - 1);
    if (n) combine_runs(r, block, accumulator, false, runs, n, innermost);
    else if (runs_in_vectors(r, innermost)) combine_running(r, block, accumulator, innermost);
    else combine_chunks(r, block, accumulator, innermost);
}

static void reduce_scalar(reduction *r, opf_block *block, int accumulator, int index) {
    opf_scheduler *s = r->s;
    opf_ranges ranges = {0};
    add_axes(r, &ranges, &r->item->reduce, -1);
    apply_conditions(r, &ranges, 0);
    opf_code_define(s, block, accumulator, neutral(r));
    if (index >= 0) opf_code_define(s, block, index, first_index(r));
    opf_targets targets = accumulating(r, accumulator, index, NULL);
    opf_body(s, block, &ranges, &targets);
}

/* Would rows along this axis take terms in another order than that of the definition? Extremes and integers do not mind. */
static bool changes_order(const reduction *r, int vector) {
    bool ordered = (r->stage->combiner == OPF_COMBINE_SUM || r->stage->combiner == OPF_COMBINE_PROD) && opf_dtype_is_float(r->stage->accumulator);
    return ordered && opf_group_is_exact(r->s->group) && vector != r->item->reduce.at[r->item->reduce.count - 1];
}

static bool by_rows(const reduction *r, int vector) {
    const opf_stage *stage = r->stage;
    if (vector < 0 || !in_prelude(stage->combiner, stage->accumulator) || changes_order(r, vector)) return false;
    opf_run runs[2];
    return opf_dtype_is_float(stage->accumulator) || runs_of(r, vector, runs) == 1;
}

/* max(c * x) is c * max(x) where c is a positive number, and so is the smallest: rounding keeps order, and what is no number stays so. Then the elements
 * are reduced as they lie, and no product is stored. Takes c out of the term; NULL: there is none. */
static const opf_expr *take_factor(reduction *r, int vector) {
    const opf_expr *term = r->term, *factor = NULL, *of = NULL;
    bool extreme = r->stage->combiner == OPF_COMBINE_MIN || r->stage->combiner == OPF_COMBINE_MAX;
    bool floats = term->dtype == OPF_FLOAT32 && r->stage->accumulator == OPF_FLOAT32 && r->stage->dtype == OPF_FLOAT32;
    if (!extreme || !floats || r->conditions.list.count || opf_group_is_exact(r->s->group)) return NULL;
    if (term->kind != OPF_EXPR_BINARY || term->op != OPF_OP_MUL) return NULL;
    for (int i = 0; i < 2; i++)
        if (term->args[i]->kind == OPF_EXPR_FLOAT) factor = term->args[i], of = term->args[!i];
    if (!factor || !(factor->real > 0) || !isfinite(factor->real) || of->dtype != OPF_FLOAT32 || !unit_stride(r, of, vector)) return NULL;
    r->term = of;
    return factor;
}

static void reduce_single(reduction *r, opf_block *block, int vector) {
    opf_scheduler *s = r->s;
    const opf_item *item = r->item;
    for (int i = 0; i < item->free.count; i++)
        block = opf_code_loop(s, block, item->free.at[i], opf_int(s->pool, 0), opf_extent(s, item->free.at[i]), 1);
    if (r->chunk) block = opf_code_loop(s, block, r->chunk->lane, opf_int(s->pool, 0), r->chunk->count, 1);
    bool single = opf_buffer_at(s, item->buffer)->memory == OPF_MEMORY_REGISTER, pair = is_pair(r->stage->combiner);
    bool rows = by_rows(r, vector);
    const opf_expr *factor = rows ? take_factor(r, vector) : NULL;
    bool own = single && !pair && !factor && r->stage->dtype == r->stage->accumulator;
    int accumulator = own ? item->buffer : new_accumulator(r, r->stage->accumulator, pair || factor ? "extreme" : "sum");
    int index = !pair ? -1 : single ? item->buffer : new_accumulator(r, OPF_INT64, "at");
    if (own || (pair && single)) opf_buffer_at(s, item->buffer)->changes = true;
    if (rows) reduce_rows(r, block, vector, accumulator);
    else reduce_scalar(r, block, accumulator, index);
    if (own || (pair && single)) return;
    const opf_expr *value = pair ? opf_buffer_load(s, index, NULL) : finished(r, opf_buffer_load(s, accumulator, NULL));
    if (factor) value = opf_binary(s->pool, OPF_OP_MUL, value, factor);
    if (single) opf_code_define(s, block, item->buffer, value);
    else opf_code_store(s, block, item->buffer, item->offset, value);
}

void opf_reduce(opf_scheduler *s, opf_block *block, opf_item *item, const opf_chunk *chunk) {
    reduction r = {.s = s, .item = item, .stage = s->stages[item->stage], .chunk = chunk, .term = item->term, .second = item->second};
    opf_axes lanes = {0};
    if (chunk) opf_axes_add(&lanes, chunk->lane);
    int vector = opf_reduce_vector(s, item, &lanes);
    opf_find_conditions(s, item->term, r.stage->combiner, &r.conditions);
    bool reduced = vector < 0 || opf_axes_has(&item->reduce, vector);
    if (reduced) reduce_single(&r, block, vector);
    else reduce_lanes(&r, block, vector);
}
