/* Error bounds as stages: beside each stage of a group one that computes how far it may be off, from the same operands.
 *
 * For an expression e with operands off by at most ea, eb, and u the unit roundoff of its type:
 *   a + b   ea + eb + u|e|              a * b   |a| eb + |b| ea + ea eb + u|e|
 *   a / b   (ea + |e| eb) / (|b| - eb) + u|e|
 *           + |e| where b + eb is beyond the largest number: the program's b may be infinite
 *   f(a)    growth of f over the interval + k u|e|, k the stated error of the prelude's function in ULP
 *   sum     the terms' bounds + c(n) u times the sum of the terms' magnitudes
 * The order of a sum is a schedule's choice: any order stays below n - 1 roundings; where n is large, roundings are taken as
 * independent and 6 sqrt(n) of them as the most (Higham and Mary 2019: exceeded with a chance below 3e-8 a sum).
 * A softmax that goes by blocks of its columns multiplies what earlier blocks left by e^(old - new largest): k + 1 more roundings of
 * its powers a block. */
#include "check/bounding.h"

#include <float.h>
#include <math.h>

#include "eval/eval.h"
#include "loop/tile.h"

/* ---- stages ---- */

double opf_bound_terms(const opf_bounding *b, const opf_stage *stage) {
    double n = 1;
    int64_t extent;
    for (int k = stage->n_axes; k < stage->n_axes + stage->n_reduce; k++)
        if (opf_dim_eval(stage->extents[k], b->symbols, &extent)) n *= (double)extent;
    return n;
}

int opf_bound_add_stage(opf_bounding *b, const opf_stage *like, opf_combiner combiner, const opf_expr *body) {
    opf_stage *made = OPF_NEW(b->arena, opf_stage);
    *made = *like;
    made->combiner = combiner;
    made->dtype = made->accumulator = OPF_FLOAT32;
    made->body = body;
    made->second = NULL;
    made->note = NULL;
    made->name = opf_arena_printf(b->arena, "bound of %s", like->name ? like->name : "?");
    if (combiner == OPF_COMBINE_NONE) made->n_reduce = 0;
    OPF_PUSH(b->arena, &b->stages.list, made);
    return (int)b->stages.list.count - 1;
}

const opf_expr *opf_bound_load_stage(opf_bounding *b, const opf_stage *stage, int number, opf_dtype dtype) {
    const opf_expr *at[OPF_MAX_RANK];
    for (int k = 0; k < stage->n_axes; k++) at[k] = opf_var(b->pool, k);
    return opf_load(b->pool, dtype, (int)b->group->stages.inputs.count + number, stage->n_axes, at);
}

/* A sum that goes by Winograd's products: the rounding errors of a tile's largest outputs reach all of it. The largest of the map
 * stands for that of the tile. */
static int spread(opf_bounding *b, const opf_stage *stage, int sum) {
    const opf_expr *at[OPF_MAX_RANK];
    for (int k = 0; k < stage->n_axes; k++) at[k] = opf_var(b->pool, k); /* plain axes, then the last two as reduce axes */
    const opf_expr *term = opf_load(b->pool, OPF_FLOAT32, (int)b->group->stages.inputs.count + sum, stage->n_axes, at);
    opf_stage like = *stage;
    like.n_axes = stage->n_axes - 2;
    like.n_reduce = 2;
    return opf_bound_add_stage(b, &like, OPF_COMBINE_MAX, term);
}

/* A product in parts, which may leave what float32 holds though all of it does not: past its largest number anything may come; where a
 * part is lost in denormals, what follows it multiplies the loss. */
static int bound_partial_products(opf_bounding *b, const opf_stage *stage, const opf_expr *most) {
    int large = opf_bound_add_stage(b, stage, OPF_COMBINE_PROD, larger(b, most, number(b, 1)));
    const opf_expr *largest = opf_bound_load_stage(b, stage, large, OPF_FLOAT32), *lost = scaled(b, OPF_BOUND_UNDERFLOW * opf_bound_terms(b, stage), largest);
    return opf_bound_add_stage(b, stage, OPF_COMBINE_NONE, opf_select(b->pool, opf_binary(b->pool, OPF_OP_GT, largest, number(b, FLT_MAX)), number(b, INFINITY), lost));
}

/* |product of a| - |product of what they may be| <= product of (|a| + ea), times the sum of the shares ea / (|a| + ea). */
static int bound_product(opf_bounding *b, const opf_stage *stage, const opf_expr *term) {
    bool partial = stage->accumulator == OPF_FLOAT32;
    if (!term) return partial ? bound_partial_products(b, stage, magnitude(b, stage->body)) : -1;
    const opf_expr *most = plus(b, magnitude(b, stage->body), term), *zero = number(b, 0);
    const opf_expr *share = opf_select(b->pool, opf_binary(b->pool, OPF_OP_GT, term, zero), over(b, term, most), zero);
    int product = opf_bound_add_stage(b, stage, OPF_COMBINE_PROD, most), shares = opf_bound_add_stage(b, stage, OPF_COMBINE_SUM, share);
    const opf_expr *grown = times(b, opf_bound_load_stage(b, stage, product, OPF_FLOAT32), opf_bound_load_stage(b, stage, shares, OPF_FLOAT32));
    const opf_expr *parts = partial ? opf_bound_load_stage(b, stage, bound_partial_products(b, stage, most), OPF_FLOAT32) : NULL;
    return opf_bound_add_stage(b, stage, OPF_COMBINE_NONE, plus(b, grown, parts));
}

/* Of a reduction: the combined bounds of its terms, in stages of their own. */
static int bound_reduction(opf_bounding *b, int number, const opf_expr *term) {
    const opf_stage *stage = b->group->stages.list.data[number];
    switch (stage->combiner) {
    case OPF_COMBINE_SUM: return opf_bound_sum(b, stage, term);
    case OPF_COMBINE_MIN: case OPF_COMBINE_MAX: return term ? opf_bound_extreme(b, stage, number, term) : -1;
    case OPF_COMBINE_AND: case OPF_COMBINE_OR: return term ? opf_bound_add_stage(b, stage, OPF_COMBINE_MAX, term) : -1;
    case OPF_COMBINE_PROD: return bound_product(b, stage, term);
    default: return term ? opf_bound_position(b, stage, number, term) : -1;
    }
}

/* A narrow type is rounded to from a wider one, by the program and by the evaluator: near the middle between two numbers each takes
 * another one. In wide types the roundings on the way hold that. */
static double stored_roundings(opf_dtype dtype) { return opf_dtype_bits(dtype) <= 16 ? 2 : 1; }

/* Powers relative to the largest of blocks so far: each block behind may multiply by another power. The subtractions altogether
 * round no more than one would, for the largest only grows. */
static double rescalings(const opf_bounding *b, int number) {
    const opf_bound_schedule *schedule = b->schedule;
    const opf_stage *stage = b->group->stages.list.data[number];
    int64_t extent;
    double most = 0;
    if (schedule->rescaled_columns == 0 || number != schedule->rescaled) return 0;
    for (int k = 0; k < stage->n_axes; k++) /* the columns are one of the axes */
        if (opf_dim_eval(stage->extents[k], b->symbols, &extent)) most = fmax(most, ceil((double)extent / (double)schedule->rescaled_columns));
    return most * (OPF_BOUND_FUNCTION_ERROR + 1);
}

/* The last stage of a node that a pass has made of several: what the model rounds in between. NULL: of all others. */
static const opf_expr *unrounded(opf_bounding *b, int index) {
    const opf_stage *stage = b->group->stages.list.data[index];
    opf_unrounded by = stage->origin ? stage->origin->unrounded : (opf_unrounded){0};
    for (size_t i = (size_t)index + 1; i < b->group->stages.list.count; i++)
        if (b->group->stages.list.data[i]->origin == stage->origin) return NULL;
    if (by.roundings <= 0 && by.off <= 0) return NULL;
    return plus(b, rounded(b, opf_bound_load_stage(b, stage, index, stage->dtype), by.roundings), number(b, by.off));
}

static void bound_stage(opf_bounding *b, int number) {
    const opf_stage *stage = b->group->stages.list.data[number];
    b->known = opf_map_new(b->arena);
    b->lost = false;
    b->literals_anew = b->anew && b->anew[number];
    const opf_expr *error = opf_bound_of(b, stage->body);
    if (b->lost || stage->n_axes > OPF_MAX_RANK) {
        b->bound_of[number] = -2;
        return;
    }
    if (stage->combiner == OPF_COMBINE_NONE) {
        /* a value that is stored in a narrower type than it was computed in; the evaluator's own rounding of each node */
        error = plus(b, error, rounded(b, opf_bound_load_stage(b, stage, number, stage->dtype), stored_roundings(stage->dtype) + rescalings(b, number)));
        error = plus(b, error, unrounded(b, number));
        b->bound_of[number] = error ? opf_bound_add_stage(b, stage, OPF_COMBINE_NONE, error) : -1;
        return;
    }
    int sum = bound_reduction(b, number, error);
    const opf_expr *own = rounded(b, opf_bound_load_stage(b, stage, number, stage->dtype), stage->combiner == OPF_COMBINE_PROD ? opf_bound_terms(b, stage) : stored_roundings(stage->dtype));
    own = plus(b, own, unrounded(b, number));
    if (sum == -2 || (sum == -1 && !own)) b->bound_of[number] = sum;
    else if (sum >= 0 && number == b->schedule->winograd) {
        opf_stage map = *stage;
        map.n_axes -= 2;
        const opf_expr *most = opf_bound_load_stage(b, &map, spread(b, stage, sum), OPF_FLOAT32);
        b->bound_of[number] = opf_bound_add_stage(b, stage, OPF_COMBINE_NONE, plus(b, own, most));
    } else b->bound_of[number] = opf_bound_add_stage(b, stage, OPF_COMBINE_NONE, plus(b, own, sum >= 0 ? opf_bound_load_stage(b, stage, sum, OPF_FLOAT32) : NULL));
}

/* Of a number that is stored, and compared: where an infinity may be in its place, anything may come. */
static int bound_stored(opf_bounding *b, int number) {
    const opf_stage *stage = b->group->stages.list.data[number];
    if (stage->dtype != OPF_FLOAT32) return b->bound_of[number];
    const opf_expr *error = opf_bound_load_stage(b, stage, b->bound_of[number], OPF_FLOAT32);
    return opf_bound_add_stage(b, stage, OPF_COMBINE_NONE, opf_bound_open_beyond(b, opf_bound_load_stage(b, stage, number, OPF_FLOAT32), error, error));
}

/* ---- the group ---- */

opf_bound_schedule opf_bound_schedule_of(const opf_nest *nest) {
    return (opf_bound_schedule){nest->tile && nest->tile->winograd ? nest->tile->anchor : -1, nest->rescaled_columns, nest->rescaled};
}

opf_status opf_bound_group(opf_error_bound *out, const opf_group *group, opf_pool *pool, const opf_tensor *const *inputs, const bool *inexact, const bool *anew,
                           const opf_bound_schedule *schedule, const int64_t *symbols, opf_arena *arena) {
    int n = (int)group->stages.list.count, n_results = (int)group->results.count;
    opf_tensor **tensors = OPF_ARRAY(arena, opf_tensor *, 3 * n_results + 1);
    *out = (opf_error_bound){tensors, tensors + n_results, tensors + 2 * n_results};
    opf_bounding b = {.pool = pool, .arena = arena, .group = group, .inputs = inputs, .inexact = inexact, .anew = anew, .schedule = schedule, .symbols = symbols, .bound_of = OPF_ARRAY(arena, int, n + 1), .choices = OPF_ARRAY(arena, int, n + 1), .candidates = OPF_ARRAY(arena, int, n + 1), .out = out};
    for (size_t i = 0; i < group->stages.inputs.count; i++) OPF_PUSH(arena, &b.stages.inputs, group->stages.inputs.data[i]);
    for (int i = 0; i < n; i++) OPF_PUSH(arena, &b.stages.list, group->stages.list.data[i]);
    for (int i = 0; i < n; i++) {
        b.choices[i] = b.candidates[i] = -1;
        bound_stage(&b, i);
    }
    int *results = OPF_ARRAY(arena, int, 3 * n_results + 1);
    for (int k = 0; k < n_results; k++) {
        int stage = group->results.data[k].stage;
        results[k] = stage < 0 ? -1 : b.bound_of[stage] >= 0 ? bound_stored(&b, stage) : -1;
        if (stage >= 0 && b.bound_of[stage] == -1) { /* exact: zeros of the stage's shape */
            int zeros = opf_bound_add_stage(&b, group->stages.list.data[stage], OPF_COMBINE_NONE, number(&b, 0));
            results[k] = zeros;
        }
        results[n_results + k] = stage < 0 ? -1 : b.choices[stage];
        results[2 * n_results + k] = stage < 0 ? -1 : b.candidates[stage];
    }
    return opf_eval_stage_list(group->nodes.count ? group->nodes.data[0] : NULL, &b.stages, results, 3 * n_results, inputs, symbols, out->errors, arena);
}
