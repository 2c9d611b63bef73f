/* The innermost loop of a sum of products of two loads, which is where nearly all time of a network goes: several terms a
 * pass over the accumulators, with the same additions in the same order as one term a pass. */
#include <math.h>
#include <string.h>

#include "eval/exact.h"

typedef union opf_cell opf_cell;

enum { TERMS = 4, WIDTH = 4 };
typedef double wide_double __attribute__((vector_size(WIDTH * sizeof(double))));
typedef float wide_float __attribute__((vector_size(WIDTH * sizeof(float))));
typedef int64_t wide_mask __attribute__((vector_size(WIDTH * sizeof(int64_t))));

/* One factor along the innermost axis: element `term` of lane i is data[base + term * step + offsets[i]]. */
typedef struct opf_factor {
    const void *data;
    bool is_float;           /* float32, else double */
    int64_t base, step;
    const opf_cell *offsets; /* NULL: one element for all lanes */
    bool contiguous;         /* offsets are offsets[0] + i */
    const opf_cell *mask;    /* lanes that are 0 where it is 0; NULL: none */
    bool absent;             /* masked out for all lanes */
    bool magnitude;          /* of the absolute values */
} opf_factor;

static double element(const opf_factor *f, int64_t at) {
    double value = f->is_float ? ((const float *)f->data)[at] : ((const double *)f->data)[at];
    return f->magnitude ? fabs(value) : value;
}

/* ---- compiling ---- */

static bool readable(const opf_operand *tensor) { return tensor->dtype == OPF_FLOAT32 || (tensor->wide && opf_dtype_is_float(tensor->dtype)); }

static const opf_instruction *load_of(const opf_lanes *lanes, int index) {
    for (size_t i = 0; i < lanes->code.count; i++)
        if (lanes->code.data[i].out == index && lanes->code.data[i].code == OPF_LANES_LOAD) return &lanes->code.data[i];
    return NULL;
}

/* Does the load walk along the axis by a constant step, all else being the same? */
static bool walks(const opf_lanes *lanes, const opf_instruction *load, int axis, int level) {
    if (!load || !readable(&lanes->tensors[load->tensor])) return false;
    if (load->mask >= 0 && lanes->registers.data[load->mask].level >= level) return false;
    if (load->a >= 0 && lanes->registers.data[load->a].level >= level) return false;
    if (load->a < 0 && load->mask >= 0 && !lanes->registers.data[load->mask].uniform) return false;
    for (int i = 0; i < load->linear.count; i++) {
        int reg = load->linear.terms[i].reg;
        if (reg != axis && lanes->registers.data[reg].level >= level) return false;
    }
    return true;
}

void opf_lanes_find_dot(opf_lanes *lanes) {
    lanes->dot[0] = lanes->dot[1] = NULL;
    if (lanes->exact && lanes->stage->body->dtype != OPF_FLOAT32) return;
    if (lanes->value >= 0 || lanes->n_reduce == 0) return;
    int axis = lanes->order[lanes->n_reduce - 1], level = lanes->level_of[axis];
    const opf_instruction *a = load_of(lanes, lanes->factors[0]), *b = load_of(lanes, lanes->factors[1]);
    if (!walks(lanes, a, axis, level) || !walks(lanes, b, axis, level) || a->magnitude != b->magnitude) return;
    for (int i = 0; i < lanes->levels[level].count; i++) {
        const opf_instruction *other = &lanes->code.data[lanes->levels[level].list[i]];
        if (other != a && other != b) return;
    }
    lanes->dot[0] = a;
    lanes->dot[1] = b;
}

/* ---- one run of terms ---- */

/* Positions wrap around; no part of one that is in the tensor is larger than this. */
static const int64_t largest = INT64_C(1) << 60;
static bool moderate(int64_t a) { return a < largest && a > -largest; }
static int64_t plus_times(int64_t a, int64_t b, int64_t c) { return (int64_t)((uint64_t)a + (uint64_t)b * (uint64_t)c); }

static opf_factor factor_of(const opf_lanes_state *state, const opf_instruction *load, int axis) {
    const opf_lanes *lanes = state->lanes;
    const opf_operand *tensor = &lanes->tensors[load->tensor];
    opf_factor f = {.data = tensor->data, .is_float = !tensor->wide, .base = load->linear.constant, .magnitude = load->magnitude};
    for (int i = 0; i < load->linear.count; i++) {
        const struct opf_linear_term *term = &load->linear.terms[i];
        if (term->reg == axis) f.step = plus_times(f.step, term->factor, 1);
        else f.base = plus_times(f.base, term->factor, state->registers[term->reg][0].integer);
    }
    if (load->a >= 0) {
        f.offsets = state->registers[load->a];
        f.contiguous = state->spans[load->a].contiguous;
    }
    if (load->mask >= 0) {
        bool uniform = lanes->registers.data[load->mask].uniform;
        f.absent = uniform && !state->registers[load->mask][0].integer;
        if (!uniform) f.mask = state->registers[load->mask];
    }
    return f;
}

/* Are all positions of terms first … last inside the tensor, for masked lanes too? */
static bool inside(const opf_lanes_state *state, const opf_instruction *load, const opf_factor *f, int64_t first, int64_t last) {
    if (f->absent) return true;
    int64_t low = 0, high = 0;
    if (load->a >= 0) low = state->spans[load->a].low, high = state->spans[load->a].high;
    int64_t walk_first, walk_last;
    if (__builtin_mul_overflow(first, f->step, &walk_first) || __builtin_mul_overflow(last, f->step, &walk_last)) return false;
    if (!moderate(f->base) || !moderate(walk_first) || !moderate(walk_last) || !moderate(low) || !moderate(high)) return false;
    int64_t from = f->base + walk_first, to = f->base + walk_last;
    return (from < to ? from : to) + low >= 0 && (from < to ? to : from) + high < load->limit;
}

/* Macros, not functions: passing vectors by value depends on the machine's registers. */
#define WIDEN(wide, x)                                                                                                   \
    do {                                                                                                                 \
        wide_float narrow;                                                                                               \
        memcpy(&narrow, (x), sizeof narrow);                                                                             \
        wide = __builtin_convertvector(narrow, wide_double);                                                             \
    } while (0)
#define KEEP(wide, bits) wide = (wide_double)((wide_mask)wide & (bits))

/* TERMS terms of scalar times contiguous elements, or their magnitudes. Written out, since compilers do not unroll at every level;
 * made once for each way. */
static inline __attribute__((always_inline)) void scalar_by_run_of(bool magnitude, opf_cell *out, const double *s, const float *x, int64_t step, int count) {
    const double s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
    const float *x0 = x, *x1 = x + step, *x2 = x + 2 * step, *x3 = x + 3 * step;
    const wide_mask unsign = (wide_mask){0} + INT64_MAX;
    int i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        wide_double sum, a, b, c, d;
        memcpy(&sum, out + i, sizeof sum);
        WIDEN(a, x0 + i);
        WIDEN(b, x1 + i);
        WIDEN(c, x2 + i);
        WIDEN(d, x3 + i);
        if (magnitude) {
            KEEP(a, unsign);
            KEEP(b, unsign);
            KEEP(c, unsign);
            KEEP(d, unsign);
        }
        sum = (((sum + s0 * a) + s1 * b) + s2 * c) + s3 * d;
        memcpy(out + i, &sum, sizeof sum);
    }
    for (; i < count; i++)
        for (int t = 0; t < TERMS; t++) out[i].real += s[t] * (magnitude ? fabs((double)x[t * step + i]) : (double)x[t * step + i]);
}

static void scalar_by_run(const opf_factor *f, opf_cell *out, const double *s, const float *x, int count) {
    if (f->magnitude) scalar_by_run_of(true, out, s, x, f->step, count);
    else scalar_by_run_of(false, out, s, x, f->step, count);
}

static void scalar_by_masked_run(const opf_factor *f, opf_cell *out, const double *s, const float *x, int count) {
    const double s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
    const int64_t step = f->step;
    const float *x0 = x, *x1 = x + step, *x2 = x + 2 * step, *x3 = x + 3 * step;
    const int64_t kept = f->magnitude ? INT64_MAX : -1;
    int i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        wide_double sum, a, b, c, d;
        wide_mask keep;
        memcpy(&sum, out + i, sizeof sum);
        memcpy(&keep, f->mask + i, sizeof keep);
        keep = -keep & kept;
        WIDEN(a, x0 + i);
        WIDEN(b, x1 + i);
        WIDEN(c, x2 + i);
        WIDEN(d, x3 + i);
        KEEP(a, keep);
        KEEP(b, keep);
        KEEP(c, keep);
        KEEP(d, keep);
        sum = sum + s0 * a;
        sum = sum + s1 * b;
        sum = sum + s2 * c;
        sum = sum + s3 * d;
        memcpy(out + i, &sum, sizeof sum);
    }
    for (; i < count; i++)
        for (int t = 0; t < TERMS; t++) {
            double value = f->mask[i].integer ? x[t * step + i] : 0;
            out[i].real += s[t] * (f->magnitude ? fabs(value) : value);
        }
}

/* The same with every product and every sum rounded to float32. */
static void scalar_by_run_exactly(const opf_factor *f, opf_cell *out, const double *s, const float *x, int count) {
    int i = 0;
    for (; i + WIDTH <= count && !f->mask && !f->magnitude; i += WIDTH) {
        wide_double wide;
        wide_float sum, term;
        memcpy(&wide, out + i, sizeof wide);
        sum = __builtin_convertvector(wide, wide_float);
        for (int t = 0; t < TERMS; t++) {
            memcpy(&term, x + t * f->step + i, sizeof term);
            sum = sum + (float)s[t] * term;
        }
        wide = __builtin_convertvector(sum, wide_double);
        memcpy(out + i, &wide, sizeof wide);
    }
    for (; i < count; i++)
        for (int t = 0; t < TERMS; t++) {
            double value = f->mask && !f->mask[i].integer ? 0 : x[t * f->step + i];
            out[i].real = opf_exact_multiply_add(out[i].real, s[t], f->magnitude ? fabs(value) : value);
        }
}

static double add_product(bool exact, double sum, double a, double b) { return exact ? opf_exact_multiply_add(sum, a, b) : sum + a * b; }

static void scalar_by_run_double(bool exact, const opf_factor *f, opf_cell *out, const double *s, const double *x, int count) {
    const double s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
    const double *x1 = x + f->step, *x2 = x + 2 * f->step, *x3 = x + 3 * f->step;
    if (!exact && !f->mask && !f->magnitude)
        for (int i = 0; i < count; i++) out[i].real = (((out[i].real + s0 * x[i]) + s1 * x1[i]) + s2 * x2[i]) + s3 * x3[i];
    else if (!exact && !f->mask)
        for (int i = 0; i < count; i++) out[i].real = (((out[i].real + s0 * fabs(x[i])) + s1 * fabs(x1[i])) + s2 * fabs(x2[i])) + s3 * fabs(x3[i]);
    else
        for (int i = 0; i < count; i++)
            for (int t = 0; t < TERMS; t++) {
                double value = f->mask && !f->mask[i].integer ? 0 : x[t * f->step + i];
                out[i].real = add_product(exact, out[i].real, s[t], f->magnitude ? fabs(value) : value);
            }
}

#define SCATTERED(TYPE)                                                                                                  \
    {                                                                                                                    \
        const TYPE *x = (const TYPE *)f->data + base;                                                                    \
        for (int i = 0; i < count; i++) {                                                                                \
            if (f->mask && !f->mask[i].integer) continue;                                                                \
            const TYPE *at = x + f->offsets[i].integer;                                                                  \
            double sum = out[i].real;                                                                                    \
            if (f->magnitude) for (int t = 0; t < TERMS; t++) sum = add_product(exact, sum, s[t], fabs((double)at[t * f->step])); \
            else for (int t = 0; t < TERMS; t++) sum = add_product(exact, sum, s[t], at[t * f->step]);                   \
            out[i].real = sum;                                                                                           \
        }                                                                                                                \
    }

static bool all_finite(const double *s) {
    bool finite = true;
    for (int t = 0; t < TERMS; t++) finite = finite && isfinite(s[t]);
    return finite;
}

/* TERMS terms from `first`, of a factor that is one for all lanes and one that differs. False: not by this way. */
static bool scalar_by_lanes(bool exact, opf_cell *out, const opf_factor *one, const opf_factor *f, int64_t first, int count) {
    double s[TERMS];
    for (int t = 0; t < TERMS; t++) s[t] = one->absent ? 0 : element(one, one->base + (first + t) * one->step);
    /* What is masked out counts as 0, and 0 times infinity is not 0. */
    if ((f->absent || (f->mask && !f->contiguous)) && !all_finite(s)) return false;
    if (f->absent) return true;
    int64_t base = f->base + first * f->step;
    const float *run = f->is_float && f->contiguous ? (const float *)f->data + base + f->offsets[0].integer : NULL;
    if (run && exact) scalar_by_run_exactly(f, out, s, run, count);
    else if (run && f->mask) scalar_by_masked_run(f, out, s, run, count);
    else if (run) scalar_by_run(f, out, s, run, count);
    else if (f->contiguous) scalar_by_run_double(exact, f, out, s, (const double *)f->data + base + f->offsets[0].integer, count);
    else if (f->is_float) SCATTERED(float)
    else SCATTERED(double)
    return true;
}

static double lane_element(const opf_factor *f, int64_t term, int lane) {
    if (f->absent || (f->mask && !f->mask[lane].integer)) return 0;
    return element(f, f->base + term * f->step + (f->offsets ? f->offsets[lane].integer : 0));
}

static void lanes_by_lanes(bool exact, opf_cell *out, const opf_factor *a, const opf_factor *b, int64_t first, int count) {
    for (int i = 0; i < count; i++) {
        double sum = out[i].real;
        for (int t = 0; t < TERMS; t++) sum = add_product(exact, sum, lane_element(a, first + t, i), lane_element(b, first + t, i));
        out[i].real = sum;
    }
}

int64_t opf_lanes_dot(opf_lanes_state *state, int64_t first) {
    const opf_lanes *lanes = state->lanes;
    int axis = lanes->order[lanes->n_reduce - 1];
    int64_t extent = lanes->extents[axis], term = first;
    opf_factor a = factor_of(state, lanes->dot[0], axis), b = factor_of(state, lanes->dot[1], axis);
    bool whole = inside(state, lanes->dot[0], &a, first, extent - 1) && inside(state, lanes->dot[1], &b, first, extent - 1);
    for (; term + TERMS <= extent; term += TERMS) {
        if (!whole && !(inside(state, lanes->dot[0], &a, term, term + TERMS - 1) && inside(state, lanes->dot[1], &b, term, term + TERMS - 1))) break;
        if (a.offsets && b.offsets) lanes_by_lanes(lanes->exact, state->accumulator, &a, &b, term, state->count);
        else if (!a.offsets && !b.offsets) break;
        else if (!scalar_by_lanes(lanes->exact, state->accumulator, a.offsets ? &b : &a, a.offsets ? &a : &b, term, state->count)) break;
    }
    return term;
}
