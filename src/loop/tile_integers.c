/* Sums of integer products by the tile of floats.
 *
 * float32 holds every whole number up to 2^24. Where no sum over some of the products can be larger, whatever order they are taken in,
 * each partial sum of the tile is exact, so the whole is the integer sum itself, on every machine. That is proven before the program is
 * built: from the ranges of the types and the depth, or from the constant's elements: for each row their absolute sum, times
 * the largest that the other operand can be. */
#include <math.h>

#include "expr/node.h"
#include "loop/tile_internal.h"

enum { LARGEST = 1 << 24, /* whole numbers up to here are floats */ FEWEST_ROWS = 4 /* fewer would read constants that have become four times as large */ };

bool opf_tiler_sums_integers(const opf_tiler *tiler) { return tiler->anchor->accumulator == OPF_INT32; }

const opf_expr *opf_tiler_as_float(opf_pool *pool, const opf_expr *e) {
    if (e->dtype == OPF_FLOAT32) return e;
    if (e->kind == OPF_EXPR_INT) return opf_real(pool, OPF_FLOAT32, (double)e->integer);
    if (e->kind == OPF_EXPR_SELECT) return opf_select(pool, e->args[0], opf_tiler_as_float(pool, e->args[1]), opf_tiler_as_float(pool, e->args[2]));
    return opf_cast(pool, OPF_FLOAT32, e);
}

/* ---- ranges ---- */

typedef struct range { double low, high; } range;

static bool range_of_type(unsigned dtype, range *out) {
    int64_t low, high;
    if (dtype != OPF_INT8 && dtype != OPF_UINT8) return false;
    opf_dtype_range((opf_dtype)dtype, &low, &high);
    *out = (range){(double)low, (double)high};
    return true;
}

static range product(range a, range b) {
    double corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    range r = {corners[0], corners[0]};
    for (int k = 1; k < 4; k++) {
        r.low = fmin(r.low, corners[k]);
        r.high = fmax(r.high, corners[k]);
    }
    return r;
}

/* Whole numbers that the value lies between; false where nothing is known, or a type on the way is too narrow for them. */
static bool range_of(const opf_expr *e, range *out) {
    range a = {0, 0}, b = {0, 0};
    if (range_of_type(e->dtype, out)) return true;
    if (e->dtype != OPF_INT32 && e->dtype != OPF_FLOAT32) return false;
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_INT: *out = (range){(double)e->integer, (double)e->integer}; break;
    case OPF_EXPR_FLOAT: *out = (range){e->real, e->real}; return e->real == floor(e->real) && fabs(e->real) <= LARGEST;
    case OPF_EXPR_CAST: if (opf_dtype_is_float((opf_dtype)e->args[0]->dtype) || !range_of(e->args[0], out)) return false; break;
    case OPF_EXPR_SELECT:
        if (!range_of(e->args[1], &a) || !range_of(e->args[2], &b)) return false;
        *out = (range){fmin(a.low, b.low), fmax(a.high, b.high)};
        break;
    case OPF_EXPR_BINARY:
        if (!range_of(e->args[0], &a) || !range_of(e->args[1], &b)) return false;
        if (e->op == OPF_OP_ADD) *out = (range){a.low + b.low, a.high + b.high};
        else if (e->op == OPF_OP_SUB) *out = (range){a.low - b.high, a.high - b.low};
        else if (e->op == OPF_OP_MUL) *out = product(a, b);
        else return false;
        break;
    default: return false;
    }
    return fmax(fabs(out->low), fabs(out->high)) <= LARGEST;
}

bool opf_tiler_is_short(const opf_expr *value) {
    range r;
    return range_of(value, &r) && r.low >= -32768 && r.high <= 32767;
}

static double largest(range r) { return fmax(fabs(r.low), fabs(r.high)); }

/* ---- the elements of a constant ---- */

typedef struct walk {
    const opf_tiler *tiler;
    const opf_tensor *tensor;
    const opf_expr *load;      /* the operand's only one */
    double value[256];         /* of the operand, by the byte that is loaded */
    int64_t extents[3 * OPF_MAX_RANK], steps[3 * OPF_MAX_RANK];
} walk;

static bool visit_load(const opf_expr *e, void *data) {
    walk *w = data;
    if (e->kind != OPF_EXPR_LOAD) return true;
    bool only = !w->load;
    w->load = e;
    return only;
}

/* The operand where the load is `element`: no type on the way is too narrow (range_of). Selects are left out: zeros outside make nothing larger. */
static bool value_at(const opf_expr *e, double element, double *out) {
    double a, b;
    switch ((opf_expr_kind)e->kind) {
    case OPF_EXPR_LOAD: *out = element; return true;
    case OPF_EXPR_INT: *out = (double)e->integer; return true;
    case OPF_EXPR_FLOAT: *out = e->real; return true;
    case OPF_EXPR_CAST: return value_at(e->args[0], element, out);
    case OPF_EXPR_BINARY:
        if (!value_at(e->args[0], element, &a) || !value_at(e->args[1], element, &b)) return false;
        *out = e->op == OPF_OP_ADD ? a + b : e->op == OPF_OP_SUB ? a - b : a * b;
        return e->op == OPF_OP_ADD || e->op == OPF_OP_SUB || e->op == OPF_OP_MUL;
    default: return false;
    }
}

/* Of all rows, or columns, the largest absolute sum over the depth. */
static double largest_sum(const walk *w, int axis, int64_t offset) {
    const opf_tile *tile = w->tiler->tile;
    if (axis == tile->n_axes) return fabs(w->value[((const uint8_t *)w->tensor->data)[offset]]);
    bool depth = axis >= opf_tile_first_depth(tile);
    double result = 0;
    for (int64_t i = 0; i < (depth || w->steps[axis] ? w->extents[axis] : 1); i++) {
        double part = largest_sum(w, axis + 1, offset + i * w->steps[axis]);
        result = depth ? result + part : fmax(result, part);
    }
    return result;
}

/* The walk's steps; false where the constant is read in another way than evenly along each axis. */
static bool find_steps(walk *w) {
    const opf_expr *offset = opf_tiler_offset(w->tiler, w->load);
    for (int k = 0; k < w->tiler->tile->n_axes; k++) {
        const opf_expr *step;
        if (!opf_expr_affine(w->tiler->pool, offset, k, &step, &offset) || !opf_is_int(step, &w->steps[k])) return false;
        if (!opf_is_int(w->tiler->tile->axes[k].extent, &w->extents[k])) return false;
    }
    return opf_is_value(offset, 0);
}

/* The operand's constant, and its values; false where it is none of bytes. */
static bool read_constant(walk *w, const opf_tile_operand *operand) {
    const opf_tiler *tiler = w->tiler;
    int input = opf_tiler_constant(tiler, operand);
    if (input < 0) return false;
    w->tensor = tiler->stages->inputs.data[input]->constant;
    bool bytes = w->tensor->dtype == OPF_INT8 || w->tensor->dtype == OPF_UINT8;
    if (!bytes || w->tensor->scaling || !w->tensor->data || !opf_expr_visit(tiler->pool, operand->value, visit_load, w)) return false;
    for (int code = 0; code < 256; code++)
        if (!value_at(operand->value, w->tensor->dtype == OPF_INT8 && code > 127 ? code - 256 : code, &w->value[code])) return false;
    return true;
}

static bool sum_of_constant(const opf_tiler *tiler, const opf_tile_operand *operand, double *out) {
    walk w = {.tiler = tiler};
    if (!read_constant(&w, operand) || !find_steps(&w)) return false;
    *out = largest_sum(&w, 0, 0);
    opf_tensor_release(w.tensor);
    return true;
}

bool opf_tiler_fits(const opf_tiler *tiler, const opf_tile_operand *operand, double low, double high) {
    walk w = {.tiler = tiler};
    if (!read_constant(&w, operand)) return false;
    bool all = true, fits[256];
    for (int code = 0; code < 256; code++) fits[code] = low <= w.value[code] && w.value[code] <= high;
    for (int64_t i = 0; i < w.tensor->elements && all; i++) all = fits[((const uint8_t *)w.tensor->data)[i]];
    opf_tensor_release(w.tensor);
    return all;
}

/* ---- the proof ---- */

bool opf_tiler_integers(opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    range a, b;
    double sum;
    int64_t depth = 1, extent;
    if (!opf_tiler_sums_integers(tiler)) return true;
    if (tile->siblings.count || tiler->bands) return opf_tiler_refuse(tiler, "several sums of integers");
    if (!range_of(tile->a.value, &a) || !range_of(tile->b.value, &b)) return opf_tiler_refuse(tiler, "integers of more than eight bits");
    opf_dim rows = opf_int(tiler->pool, 1);
    for (int k = opf_tile_first_row(tile); k < opf_tile_first_column(tile); k++) rows = opf_mul(tiler->pool, rows, tile->axes[k].extent);
    if (opf_dim_nominal(rows) < FEWEST_ROWS) return opf_tiler_refuse(tiler, "a few rows of integers read the constant as it is");
    for (int k = opf_tile_first_depth(tile); k < tile->n_axes; k++)
        if (!opf_is_int(tile->axes[k].extent, &extent) || __builtin_mul_overflow(depth, extent, &depth)) return opf_tiler_refuse(tiler, "a sum of integers of unknown length");
    if (largest(a) * largest(b) * (double)depth <= LARGEST) return true;
    if (sum_of_constant(tiler, &tile->a, &sum) && sum * largest(b) <= LARGEST) return true;
    if (sum_of_constant(tiler, &tile->b, &sum) && sum * largest(a) <= LARGEST) return true;
    return opf_tiler_refuse(tiler, "the sum of integers may be beyond 2^24");
}
