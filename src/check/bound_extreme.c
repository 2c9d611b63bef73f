/* Bounds of extremes, and of where they are. */
#include "check/bounding.h"

#include <float.h>
#include <math.h>

/* The extreme of terms off by `term` lies between those of a - ea and of a + ea: what is far from the extreme may be off by much. */
int opf_bound_extreme(opf_bounding *b, const opf_stage *stage, int index, const opf_expr *term) {
    int most = opf_bound_add_stage(b, stage, OPF_COMBINE_MAX, term);
    if (!opf_dtype_is_float((opf_dtype)stage->body->dtype)) return most;
    const opf_expr *a = opf_cast(b->pool, OPF_FLOAT32, stage->body);
    int low = opf_bound_add_stage(b, stage, stage->combiner, less(b, a, term)), high = opf_bound_add_stage(b, stage, stage->combiner, plus(b, a, term));
    const opf_expr *e = opf_cast(b->pool, OPF_FLOAT32, opf_bound_load_stage(b, stage, index, stage->dtype)), *any = opf_bound_load_stage(b, stage, most, OPF_FLOAT32);
    const opf_expr *below = less(b, e, opf_bound_load_stage(b, stage, low, OPF_FLOAT32)), *above = less(b, opf_bound_load_stage(b, stage, high, OPF_FLOAT32), e);
    const opf_expr *plain = opf_binary(b->pool, OPF_OP_LT, larger(b, any, magnitude(b, e)), number(b, INFINITY));
    return opf_bound_add_stage(b, stage, OPF_COMBINE_NONE, opf_select(b->pool, plain, opf_binary(b->pool, OPF_OP_MIN, any, larger(b, below, above)), any));
}

/* ---- positions ---- */

static bool is_least(opf_combiner combiner) { return combiner == OPF_COMBINE_ARGMIN || combiner == OPF_COMBINE_ARGMIN_LAST; }

/* The term, off by `error`: a NaN, which counts as the extreme, or a number that is certain to be reached. */
static const opf_expr *reached(opf_bounding *b, bool least, const opf_expr *a, const opf_expr *error) {
    const opf_expr *open = unary(b, OPF_OP_ISINF, error), *nothing = number(b, least ? INFINITY : -INFINITY);
    const opf_expr *sure = opf_select(b->pool, open, nothing, least ? plus(b, a, error) : less(b, a, error));
    return opf_select(b->pool, unary(b, OPF_OP_ISNAN, a), a, sure);
}

/* May a term be the extreme? Where one is a NaN, others that are one, or may be anything; else those that `most` does not exclude. */
static const opf_expr *may_be_extreme(opf_bounding *b, bool least, const opf_expr *a, const opf_expr *error, const opf_expr *most) {
    const opf_expr *excluded = least ? opf_binary(b->pool, OPF_OP_GT, less(b, a, error), most) : opf_binary(b->pool, OPF_OP_LT, plus(b, a, error), most);
    const opf_expr *open = opf_binary(b->pool, OPF_OP_OR, unary(b, OPF_OP_ISNAN, a), unary(b, OPF_OP_ISINF, error));
    return opf_select(b->pool, unary(b, OPF_OP_ISNAN, most), open, unary(b, OPF_OP_NOT, excluded));
}

/* A stage of the reduction's whole domain: what it reduces is the last of its axes. */
static int add_whole(opf_bounding *b, const opf_stage *stage, opf_dtype dtype, const opf_expr *body) {
    opf_stage whole = *stage;
    whole.n_axes += stage->n_reduce;
    whole.n_reduce = 0;
    int made = opf_bound_add_stage(b, &whole, OPF_COMBINE_NONE, body);
    b->stages.list.data[made]->dtype = b->stages.list.data[made]->accumulator = dtype;
    return made;
}

int opf_bound_position(opf_bounding *b, const opf_stage *stage, int index, const opf_expr *term) {
    opf_dtype dtype = (opf_dtype)stage->body->dtype;
    bool held = opf_dtype_is_float(dtype) || opf_dtype_bits(dtype) <= 32; /* a double holds all its numbers */
    if (!held || stage->n_axes + stage->n_reduce > OPF_MAX_RANK) return -2;
    bool least = is_least(stage->combiner);
    const opf_expr *a = opf_cast(b->pool, OPF_FLOAT32, stage->body), *any = number(b, INFINITY);
    const opf_expr *error = dtype == OPF_FLOAT32 ? opf_bound_open_beyond(b, stage->body, term, term) : term;
    error = opf_select(b->pool, unary(b, OPF_OP_ISNAN, error), any, error);
    int most = opf_bound_add_stage(b, stage, least ? OPF_COMBINE_MIN : OPF_COMBINE_MAX, reached(b, least, a, error));
    const opf_expr *candidate = may_be_extreme(b, least, a, error, opf_bound_load_stage(b, stage, most, OPF_FLOAT32));
    const opf_expr *apart = opf_binary(b->pool, OPF_OP_SUB, opf_cast(b->pool, OPF_FLOAT32, stage->second), opf_cast(b->pool, OPF_FLOAT32, opf_bound_load_stage(b, stage, index, stage->dtype)));
    b->choices[index] = add_whole(b, stage, OPF_INT64, stage->second);
    b->candidates[index] = add_whole(b, stage, OPF_BOOL, candidate);
    return opf_bound_add_stage(b, stage, OPF_COMBINE_MAX, opf_select(b->pool, candidate, unary(b, OPF_OP_ABS, apart), number(b, 0)));
}

bool opf_bound_admits(const opf_error_bound *bound, int result, int64_t index, int64_t got) {
    const opf_tensor *choices = bound->choices[result], *candidates = bound->candidates[result];
    if (!choices || !candidates) return true;
    int64_t row = choices->elements / bound->errors[result]->elements;
    for (int64_t i = index * row; i < (index + 1) * row; i++)
        if (opf_tensor_get_int(choices, i) == got && opf_tensor_get_int(candidates, i)) return true;
    return false;
}
