/* Bounds of sums: what the terms are off by, and what adding them in any order may lose. Sums of products of two loads (matrix
 * products, convolutions) are most of a network's work, and their bounds would be many times that; so they are made of sums of
 * products of loads again, which the evaluator does at its best. */
#include "check/bounding.h"

#include <float.h>
#include <math.h>

/* ---- of any terms ---- */

static bool visit_constant(const opf_expr *e, void *data) {
    const opf_bounding *b = data;
    int inputs = (int)b->group->stages.inputs.count;
    return e->kind != OPF_EXPR_LOAD || e->index >= inputs || !b->group->stages.inputs.data[e->index]->constant;
}

/* The other operand of a product with a constant that a contraction may hold without its denormals (loop/tile_operand.c). */
static const opf_expr *beside_constant(opf_bounding *b, const opf_stage *stage, int k) {
    const opf_expr *body = stage->body;
    bool product = body->kind == OPF_EXPR_BINARY && body->op == OPF_OP_MUL && stage->accumulator == OPF_FLOAT32;
    return product && !opf_group_is_exact(b->group) && !opf_expr_visit(b->pool, body->args[k], visit_constant, b) ? body->args[1 - k] : NULL;
}

/* What a term loses where denormal constants are taken as zeros. */
static const opf_expr *without_denormals(opf_bounding *b, const opf_stage *stage) {
    const opf_expr *lost = NULL;
    for (int k = 0; k < 2; k++) {
        const opf_expr *other = beside_constant(b, stage, k);
        if (other) lost = plus(b, lost, scaled(b, (double)FLT_MIN, magnitude(b, other)));
    }
    return lost;
}

static int add_sum_of(opf_bounding *b, const opf_stage *stage, const opf_expr *term, double roundings) {
    double u = roundoff(stage->accumulator);
    const opf_expr *error = term;
    if (u > 0) term = plus(b, term, scaled(b, roundings * u, magnitude(b, stage->body)));
    term = plus(b, term, without_denormals(b, stage));
    if (stage->accumulator == OPF_FLOAT32) term = opf_bound_open_beyond(b, stage->body, error, term);
    return term ? opf_bound_add_stage(b, stage, OPF_COMBINE_SUM, term) : -1;
}

/* ---- of products of loads ---- */

/* A load, which may be made float32 of a half type, or one where a condition holds and else 0, that is off by at most relative |x| + error. */
typedef struct factor {
    const opf_expr *load;
    const opf_expr *size;      /* |x| */
    const opf_expr *error;     /* a load of bounds under the same condition; NULL: none */
    double relative;
    bool is_input;             /* of the group */
} factor;

static bool is_masked(const opf_expr *x) { return x->kind == OPF_EXPR_SELECT && x->args[2]->kind == OPF_EXPR_FLOAT && x->args[2]->real == 0; }

/* x with `load` in its load's place. */
static const opf_expr *in_place(opf_bounding *b, const opf_expr *x, const opf_expr *load) {
    return is_masked(x) ? opf_select(b->pool, x->args[0], load, x->args[2]) : load;
}

static bool is_real(opf_dtype dtype) { return dtype == OPF_FLOAT32 || dtype == OPF_FLOAT16 || dtype == OPF_BFLOAT16; }

static bool take_factor(opf_bounding *b, const opf_expr *x, factor *out) {
    bool masked = is_masked(x);
    const opf_expr *load = masked ? x->args[1] : x;
    if (load->kind == OPF_EXPR_CAST) load = load->args[0];
    if (load->kind != OPF_EXPR_LOAD || !is_real((opf_dtype)load->dtype) || (masked && opf_bound_of(b, x->args[0]))) return false;
    int n = (int)b->group->stages.inputs.count;
    *out = (factor){.load = load, .size = in_place(b, x, magnitude(b, load)), .is_input = load->index < n};
    if (out->is_input) out->relative = b->inexact[load->index] ? anew_roundings((opf_dtype)load->dtype) * roundoff((opf_dtype)load->dtype) : 0;
    else if (b->bound_of[load->index - n] >= 0) out->error = in_place(b, x, opf_load(b->pool, OPF_FLOAT32, n + b->bound_of[load->index - n], load->n_args, load->args));
    return true;
}

/* One number of all elements of an operand, stage or input, or of its bounds: the largest of `body`, which reads them at every point. */
static const opf_expr *largest_of(opf_bounding *b, const opf_stage *like, const factor *f, const opf_expr *(*body)(opf_bounding *b, const opf_expr *x, const opf_expr *error)) {
    const opf_expr *at[OPF_MAX_RANK];
    int n = (int)b->group->stages.inputs.count;
    opf_stage all = *like;
    const opf_value *input = f->is_input ? b->group->stages.inputs.data[f->load->index] : NULL;
    const opf_stage *stage = input ? NULL : b->group->stages.list.data[f->load->index - n];
    all.n_axes = 0;
    all.n_reduce = input ? input->rank : stage->n_axes;
    all.extents = input ? input->dims : stage->extents;
    for (int k = 0; k < all.n_reduce; k++) at[k] = opf_var(b->pool, k);
    const opf_expr *x = opf_load(b->pool, (opf_dtype)f->load->dtype, f->load->index, all.n_reduce, at);
    const opf_expr *error = f->error ? opf_load(b->pool, OPF_FLOAT32, n + b->bound_of[f->load->index - n], all.n_reduce, at) : NULL;
    int made = opf_bound_add_stage(b, &all, OPF_COMBINE_MAX, body(b, x, error));
    return opf_load(b->pool, OPF_FLOAT32, n + made, 0, at);
}

static const opf_expr *if_finite(opf_bounding *b, const opf_expr *x, const opf_expr *error) {
    const opf_expr *most = plus(b, magnitude(b, x), error);
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_LT, most, number(b, INFINITY)), most, number(b, 0));
}

static const opf_expr *is_unbounded(opf_bounding *b, const opf_expr *x, const opf_expr *error) {
    (void)x;
    return opf_select(b->pool, unary(b, OPF_OP_ISINF, error), number(b, 1), number(b, 0));
}

/* What denormals may be lost by: of the products themselves, and of a factor that was rounded anew, times the other's largest number. */
static const opf_expr *lost_below(opf_bounding *b, const opf_stage *stage, const factor *f, double n) {
    const opf_expr *lost = number(b, n * OPF_BOUND_UNDERFLOW);
    for (int k = 0; k < 2; k++)
        if (f[k].relative > 0) lost = plus(b, lost, scaled(b, n * OPF_BOUND_UNDERFLOW, largest_of(b, stage, &f[1 - k], if_finite)));
    return lost;
}

static const opf_expr *sum_of(opf_bounding *b, const opf_stage *stage, const opf_expr *x, const opf_expr *y) {
    return x && y ? opf_bound_load_stage(b, stage, opf_bound_add_stage(b, stage, OPF_COMBINE_SUM, times(b, x, y)), OPF_FLOAT32) : NULL;
}

/* Does an operand's bound reach infinity, so that 0 times it says nothing? NULL: neither. */
static const opf_expr *any_unbounded(opf_bounding *b, const opf_stage *stage, const factor *f) {
    const opf_expr *any = NULL;
    for (int k = 0; k < 2; k++)
        if (f[k].error) any = larger(b, any, largest_of(b, stage, &f[k], is_unbounded));
    return any ? opf_binary(b->pool, OPF_OP_GT, any, number(b, 0)) : NULL;
}

/* Does a constant have numbers that a contraction may take as zeros? */
static bool has_denormals(const opf_bounding *b, const factor *f) {
    if (!f->is_input) return true;
    const opf_tensor *tensor = b->inputs[f->load->index];
    bool plain = tensor->dtype == OPF_FLOAT32 && opf_tensor_is_plain(tensor);
    for (int64_t i = 0; i < tensor->elements; i++) {
        double x = fabs(plain ? (double)((const float *)tensor->data)[i] : opf_tensor_get(tensor, i));
        if (x > 0 && x < (double)FLT_MIN) return true;
    }
    return false;
}

/* Sum of |x y| u (1 + roundings) and of what each factor is off by times the other; in sums of products of loads. -1: not so. */
static int add_sum_of_products(opf_bounding *b, const opf_stage *stage, double n, double roundings) {
    const opf_expr *body = stage->body;
    factor f[2];
    if (body->kind != OPF_EXPR_BINARY || body->op != OPF_OP_MUL || body->dtype != OPF_FLOAT32 || n < 2) return -1;
    for (int k = 0; k < 2; k++)
        if (!take_factor(b, body->args[k], &f[k])) return -1;
    for (int k = 0; k < 2; k++)
        if (beside_constant(b, stage, k) && has_denormals(b, &f[k])) return -1;
    double share = roundoff(OPF_FLOAT32) + roundings * roundoff(stage->accumulator) + f[0].relative + f[1].relative + f[0].relative * f[1].relative;
    const opf_expr *all = sum_of(b, stage, f[0].size, f[1].size), *whole = plus(b, scaled(b, share, all), lost_below(b, stage, f, n));
    for (int k = 0; k < 2; k++) whole = plus(b, whole, scaled(b, 1 + f[k].relative, sum_of(b, stage, f[k].size, f[1 - k].error)));
    whole = plus(b, whole, sum_of(b, stage, f[0].error, f[1].error));
    const opf_expr *unbounded = any_unbounded(b, stage, f), *open = unary(b, OPF_OP_ISINF, all);
    if (unbounded) open = opf_binary(b->pool, OPF_OP_OR, open, opf_binary(b->pool, OPF_OP_AND, unbounded, unary(b, OPF_OP_ISNAN, whole)));
    return opf_bound_add_stage(b, stage, OPF_COMBINE_NONE, opf_select(b->pool, open, number(b, INFINITY), whole));
}

/* ---- both ---- */

/* Infinite where a term, or the terms' magnitudes together, may be more than a float32 accumulator holds. */
int opf_bound_sum(opf_bounding *b, const opf_stage *stage, const opf_expr *term) {
    double u = roundoff(stage->accumulator), n = opf_bound_terms(b, stage), roundings = n - 1 < 6 * sqrt(n) ? n - 1 : 6 * sqrt(n);
    if (term && roundings < 1) roundings = 1; /* of one term that is off: the evaluator's and the program's are rounded apart */
    int sum = u > 0 ? add_sum_of_products(b, stage, n, roundings) : -1;
    if (sum < 0) sum = add_sum_of(b, stage, term, roundings);
    if (sum < 0 || stage->accumulator != OPF_FLOAT32 || roundings <= 0) return sum;
    const opf_expr *whole = opf_bound_load_stage(b, stage, sum, OPF_FLOAT32), *most = number(b, roundings * u * FLT_MAX);
    return opf_bound_add_stage(b, stage, OPF_COMBINE_NONE, opf_select(b->pool, opf_binary(b->pool, OPF_OP_GT, whole, most), number(b, INFINITY), whole));
}
