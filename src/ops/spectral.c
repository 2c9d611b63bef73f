/* Spectra of signals: DFT, STFT, windows, MelWeightMatrix.
 *
 * A transform is the direct sum over the signal. Cosines and sines of one turn are a stage of their own, as many as the
 * transform is long: element k n mod N serves frequency k at sample n, so that no angle grows. Sums run in
 * float64: frequencies that a signal lacks are differences of large numbers. */
#include <math.h>

#include "ops/content.h"
#include "ops/families.h"
#include "ops/index.h"

/* An input of one element that decides a size; `otherwise` where it is absent. NULL, reported, where it is not known. */
static opf_dim known_size(opf_call *call, int input, opf_dim otherwise) {
    const opf_expr *const *content;
    if (!opf_call_input(call, input)) return otherwise;
    int count = opf_call_content(call, input, &content);
    if (count == 1) return content[0];
    if (count >= 0) opf_call_error(call, "shape", "input %d must be one element and has %d", input, count);
    return NULL;
}

/* ---- one turn ---- */

typedef struct turn {
    opf_dim length;
    int cosine, sine;
    opf_dtype compute;
} turn;

static int circle(opf_call *call, const turn *t, const char *role, opf_scalar_op function) {
    opf_pool *pool = call->pool;
    const opf_expr *share = opf_binary(pool, OPF_OP_DIV, opf_cast(pool, t->compute, opf_var(pool, 0)), opf_cast(pool, t->compute, t->length));
    const opf_expr *angle = opf_binary(pool, OPF_OP_MUL, share, opf_real(pool, t->compute, 2 * acos(-1)));
    return opf_call_map(call, role, 1, &t->length, opf_unary(pool, function, angle));
}

static turn turn_of(opf_call *call, opf_dim length, opf_dtype compute) {
    turn t = {.length = length, .compute = compute};
    t.cosine = circle(call, &t, "cosines", OPF_OP_COS);
    t.sine = circle(call, &t, "sines", OPF_OP_SIN);
    return t;
}

typedef struct complex_expr { const opf_expr *re, *im; } complex_expr; /* im NULL: real */

static complex_expr unit(opf_call *call, const turn *t, const opf_expr *frequency, const opf_expr *sample) {
    const opf_expr *index = opf_floormod(call->pool, opf_mul(call->pool, frequency, sample), t->length);
    return (complex_expr){opf_call_load(call, t->cosine, &index), opf_call_load(call, t->sine, &index)};
}

/* value * (cos ± i sin) of the angle; part 0 is the real, 1 the imaginary one. */
static const opf_expr *rotated(opf_call *call, complex_expr value, complex_expr angle, bool inverse, int part) {
    opf_pool *pool = call->pool;
    const opf_expr *own = part == 0 ? value.re : value.im, *other = part == 0 ? value.im : value.re;
    bool minus = part == 0 ? inverse : !inverse;
    const opf_expr *across = other ? opf_binary(pool, OPF_OP_MUL, other, angle.im) : NULL;
    if (!own) return minus ? opf_unary(pool, OPF_OP_NEG, across) : across;
    const opf_expr *along = opf_binary(pool, OPF_OP_MUL, own, angle.re);
    return across ? opf_binary(pool, minus ? OPF_OP_SUB : OPF_OP_ADD, along, across) : along;
}

/* The element at `indices`, whose last one picks real or imaginary part, of a tensor with 1 or 2 of them. */
static complex_expr complex_load(opf_call *call, int input, int64_t parts, const opf_expr **indices, opf_dtype compute) {
    complex_expr value = {NULL, NULL};
    int last = opf_call_rank(call, input) - 1;
    indices[last] = opf_call_int(call, 0);
    value.re = opf_call_convert(call, compute, opf_call_load(call, input, indices));
    if (parts == 1) return value;
    indices[last] = opf_call_int(call, 1);
    value.im = opf_call_convert(call, compute, opf_call_load(call, input, indices));
    return value;
}

static const opf_expr *pick_part(opf_call *call, int axis, const opf_expr *re, const opf_expr *im) {
    return opf_select(call->pool, opf_binary(call->pool, OPF_OP_EQ, opf_call_var(call, axis), opf_call_int(call, 0)), re, im);
}

static opf_dim half_of(opf_call *call, opf_dim length) {
    return opf_add(call->pool, opf_floordiv(call->pool, length, opf_call_int(call, 2)), opf_call_int(call, 1));
}

/* Number of parts in the last axis: 1 or 2; 0, reported, else. */
static int64_t parts_of(opf_call *call, int input) {
    int64_t parts;
    if (opf_is_int(opf_call_dim(call, input, opf_call_rank(call, input) - 1), &parts) && (parts == 1 || parts == 2)) return parts;
    opf_call_error(call, "shape", "the last axis must be 1 (real) or 2 (real and imaginary part)");
    return 0;
}

/* ---- DFT ---- */

typedef struct transform {
    int axis, rank;
    int64_t parts;
    bool inverse, onesided;
    opf_dim length, terms; /* of the transform; of the sum */
    opf_dtype compute;
} transform;

/* What one sample adds to the real signal that a one-sided spectrum stands for: each frequency but the first, and the
 * middle one of an even length, counts for its mirror image too. */
static const opf_expr *mirrored(opf_call *call, const transform *t, complex_expr value, complex_expr angle, const opf_expr *frequency) {
    opf_pool *pool = call->pool;
    const opf_expr *zero = opf_int(pool, 0), *whole = rotated(call, value, angle, true, 0), *single = opf_binary(pool, OPF_OP_MUL, value.re, angle.re);
    const opf_expr *middle = opf_binary(pool, OPF_OP_EQ, opf_mul(pool, frequency, opf_int(pool, 2)), t->length);
    const opf_expr *alone = opf_binary(pool, OPF_OP_OR, opf_binary(pool, OPF_OP_EQ, frequency, zero), middle);
    return opf_select(pool, alone, single, opf_binary(pool, OPF_OP_MUL, whole, opf_real(pool, t->compute, 2)));
}

static opf_status transformed(opf_call *call, const transform *t) {
    opf_pool *pool = call->pool;
    opf_dtype T = opf_call_dtype(call, 0);
    opf_dim extents[OPF_MAX_RANK + 1];
    const opf_expr *indices[OPF_MAX_RANK], *sample = opf_var(pool, t->rank), *frequency = opf_var(pool, t->axis);
    opf_call_dims(call, 0, extents);
    opf_call_vars(call, 0, t->rank, indices);
    bool to_real = t->inverse && t->onesided;
    extents[t->axis] = t->onesided && !t->inverse ? half_of(call, t->length) : t->length;
    extents[t->rank - 1] = opf_int(pool, to_real ? 1 : 2);
    extents[t->rank] = t->terms;
    turn circle_of = turn_of(call, t->length, t->compute);
    indices[t->axis] = sample;
    complex_expr value = complex_load(call, 0, t->parts, indices, t->compute), angle = unit(call, &circle_of, frequency, sample);
    const opf_expr *term;
    if (to_real) term = mirrored(call, t, value, angle, sample);
    else term = pick_part(call, t->rank - 1, rotated(call, value, angle, t->inverse, 0), rotated(call, value, angle, t->inverse, 1));
    int sum = opf_call_stage(call, "sum", t->rank, 1, extents, NULL, OPF_COMBINE_SUM, t->inverse ? t->compute : T, t->compute, term, NULL);
    if (t->inverse) {
        const opf_expr *mean = opf_binary(pool, OPF_OP_DIV, opf_call_load_same(call, sum), opf_cast(pool, t->compute, t->length));
        sum = opf_call_map(call, NULL, t->rank, extents, opf_call_convert(call, T, mean));
    }
    opf_call_result(call, 0, sum);
    return OPF_OK;
}

static opf_status dft(opf_call *call, int64_t axis) {
    opf_pool *pool = call->pool;
    transform t = {.rank = opf_call_rank(call, 0), .inverse = opf_node_int(call->node, "inverse", 0) != 0, .onesided = opf_node_int(call->node, "onesided", 0) != 0};
    if (!opf_call_check_rank(call, 0, 2, OPF_MAX_RANK - 1, "the input")) return OPF_ERROR_INPUT;
    if (!opf_dtype_is_float(opf_call_dtype(call, 0))) return opf_call_error(call, "type", "DFT of %s is not supported", opf_dtype_name(opf_call_dtype(call, 0)));
    t.compute = OPF_FLOAT64;
    t.axis = opf_call_axis(call, axis, t.rank);
    t.parts = parts_of(call, 0);
    if (!call->failed && t.axis == t.rank - 1) opf_call_error(call, "shape", "axis %lld holds real and imaginary parts", (long long)axis);
    if (!call->failed && t.onesided && !t.inverse && t.parts == 2) opf_call_error(call, "shape", "the spectrum of a complex signal has two sides");
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim extent = opf_call_dim(call, 0, t.axis), otherwise = extent;
    if (t.inverse && t.onesided) otherwise = opf_mul(pool, opf_sub(pool, extent, opf_int(pool, 1)), opf_int(pool, 2));
    t.length = known_size(call, 1, otherwise);
    if (!t.length) return OPF_ERROR_UNSUPPORTED;
    if (!opf_call_require_ge(call, t.length, opf_int(pool, 1), "the transform has a positive length")) return OPF_ERROR_INPUT;
    t.terms = opf_call_at_most_dim(call, extent, t.inverse && t.onesided ? half_of(call, t.length) : t.length, "the signal is cut or filled with zeros");
    return call->failed ? OPF_ERROR_INPUT : transformed(call, &t);
}

static opf_status build_dft_17(opf_call *call) { return dft(call, opf_node_int(call->node, "axis", 1)); }

static opf_status build_dft_20(opf_call *call) {
    const int64_t *axis;
    if (!opf_call_input(call, 2)) return dft(call, -2);
    int count = opf_call_ints(call, 2, &axis);
    if (count < 0) return OPF_ERROR_UNSUPPORTED;
    return count == 1 ? dft(call, axis[0]) : opf_call_error(call, "shape", "axis must be one element and has %d", count);
}

/* ---- STFT: signal [b, samples, parts], frame_step, window, frame_length; result [b, frames, frequencies, 2] ---- */

static opf_status build_stft(opf_call *call) {
    opf_pool *pool = call->pool;
    opf_dtype T = opf_call_dtype(call, 0), compute = OPF_FLOAT64;
    bool onesided = opf_node_int(call->node, "onesided", 1) != 0, windowed = opf_call_input(call, 2) != NULL;
    if (!opf_call_check_rank(call, 0, 3, 3, "the signal") || (windowed && !opf_call_check_rank(call, 2, 1, 1, "the window"))) return OPF_ERROR_INPUT;
    if (!opf_dtype_is_float(T)) return opf_call_error(call, "type", "STFT of %s is not supported", opf_dtype_name(T));
    int64_t parts = parts_of(call, 0);
    if (parts == 2 && onesided) opf_call_error(call, "shape", "the spectrum of a complex signal has two sides");
    opf_dim samples = opf_call_dim(call, 0, 1), step = known_size(call, 1, NULL), length = known_size(call, 3, windowed ? opf_call_dim(call, 2, 0) : samples);
    if (!step || !length || call->failed) return call->failed ? OPF_ERROR_INPUT : OPF_ERROR_UNSUPPORTED;
    opf_call_require_ge(call, step, opf_int(pool, 1), "frame_step is positive");
    opf_call_require_ge(call, length, opf_int(pool, 1), "frame_length is positive");
    opf_call_require_ge(call, samples, length, "the signal is at least one frame long");
    if (windowed) opf_call_same(call, opf_call_dim(call, 2, 0), length, "the window is as long as a frame");
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim frames = opf_add(pool, opf_floordiv(pool, opf_sub(pool, samples, length), step), opf_int(pool, 1));
    opf_dim extents[] = {opf_call_dim(call, 0, 0), frames, onesided ? half_of(call, length) : length, opf_int(pool, 2), length};
    turn t = turn_of(call, length, compute);
    const opf_expr *sample = opf_var(pool, 4), *indices[] = {opf_var(pool, 0), opf_add(pool, opf_mul(pool, opf_var(pool, 1), step), sample), NULL};
    complex_expr value = complex_load(call, 0, parts, indices, compute), angle = unit(call, &t, opf_var(pool, 2), sample);
    if (windowed) {
        const opf_expr *weight = opf_call_convert(call, compute, opf_call_load(call, 2, &sample));
        value.re = opf_binary(pool, OPF_OP_MUL, value.re, weight);
        if (value.im) value.im = opf_binary(pool, OPF_OP_MUL, value.im, weight);
    }
    const opf_expr *term = pick_part(call, 3, rotated(call, value, angle, false, 0), rotated(call, value, angle, false, 1));
    opf_call_result(call, 0, opf_call_stage(call, "sum", 4, 1, extents, (const char *const[]){"b", "f", "k", "part", "s"}, OPF_COMBINE_SUM, T, compute, term, NULL));
    return OPF_OK;
}

/* ---- windows: a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) ---- */

static opf_status window(opf_call *call, double a0, double a1, double a2) {
    opf_pool *pool = call->pool;
    int64_t given = opf_node_int(call->node, "output_datatype", OPF_FLOAT32);
    opf_dim size = known_size(call, 0, NULL);
    if (!size) return call->failed ? OPF_ERROR_UNSUPPORTED : OPF_ERROR_INPUT;
    if (given <= 0 || given > INT32_MAX || !opf_dtype_valid((int)given) || !(opf_dtype_is_float((opf_dtype)given) || opf_dtype_is_integer((opf_dtype)given)))
        return opf_call_error(call, "attribute", "output_datatype %lld is no numeric type", (long long)given);
    opf_call_require_ge(call, size, opf_int(pool, 0), "size must not be negative");
    opf_dtype T = (opf_dtype)given, compute = T == OPF_FLOAT64 || opf_dtype_is_integer(T) ? OPF_FLOAT64 : OPF_FLOAT32;
    opf_dim one = opf_int(pool, 1), span = opf_node_int(call->node, "periodic", 1) != 0 ? size : opf_max(pool, opf_sub(pool, size, one), one);
    const opf_expr *share = opf_binary(pool, OPF_OP_DIV, opf_cast(pool, compute, opf_var(pool, 0)), opf_cast(pool, compute, span)), *value = opf_real(pool, compute, a0);
    const double factors[] = {-a1, a2};
    for (int k = 0; k < 2; k++) {
        if (factors[k] == 0) continue;
        const opf_expr *angle = opf_binary(pool, OPF_OP_MUL, share, opf_real(pool, compute, 2 * (k + 1) * acos(-1)));
        value = opf_binary(pool, OPF_OP_ADD, value, opf_binary(pool, OPF_OP_MUL, opf_real(pool, compute, factors[k]), opf_unary(pool, OPF_OP_COS, angle)));
    }
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, 1, &size, opf_call_convert(call, T, value)));
    return OPF_OK;
}

static opf_status build_hann(opf_call *call) { return window(call, 0.5, 0.5, 0); }
static opf_status build_hamming(opf_call *call) { return window(call, 25.0 / 46, 21.0 / 46, 0); }
static opf_status build_blackman(opf_call *call) { return window(call, 0.42, 0.5, 0.08); }

/* ---- MelWeightMatrix: triangles over the frequencies of a one-sided spectrum, evenly spread on the mel scale ---- */

static bool hertz(opf_call *call, int input, double *value) {
    const opf_expr *e = opf_value_element(opf_call_input(call, input), 0);
    int64_t integer;
    if (e && e->kind == OPF_EXPR_FLOAT) return *value = e->real, true;
    if (e && opf_is_int(e, &integer)) return *value = (double)integer, true;
    opf_call_unknown(call, input);
    return false;
}

static double mel_of(double frequency) { return 2595 * log1p(frequency / 700) / log(10); }

static opf_status build_mel_weights(opf_call *call) {
    opf_pool *pool = call->pool;
    int64_t sizes[3], given = opf_node_int(call->node, "output_datatype", OPF_FLOAT32);
    double low, high;
    for (int k = 0; k < 3; k++) {
        const int64_t *one;
        int count = opf_call_ints(call, k, &one);
        if (count != 1 || one[0] < 1 || one[0] > INT32_MAX) return count < 0 ? OPF_ERROR_UNSUPPORTED : opf_call_error(call, "shape", "input %d must be one positive number", k);
        sizes[k] = one[0];
    }
    if (!hertz(call, 3, &low) || !hertz(call, 4, &high)) return OPF_ERROR_UNSUPPORTED;
    if (given <= 0 || given > INT32_MAX || !opf_dtype_valid((int)given) || !(opf_dtype_is_float((opf_dtype)given) || opf_dtype_is_integer((opf_dtype)given)))
        return opf_call_error(call, "attribute", "output_datatype %lld is no numeric type", (long long)given);
    /* Corners of the triangles, as positions in the spectrum: each is the end of one, the peak of the next, the start of a third. */
    double step = (mel_of(high) - mel_of(low)) / (double)(sizes[0] + 2);
    const opf_expr *mel = opf_binary(pool, OPF_OP_ADD, opf_binary(pool, OPF_OP_MUL, opf_cast(pool, OPF_FLOAT64, opf_var(pool, 0)), opf_real(pool, OPF_FLOAT64, step)), opf_real(pool, OPF_FLOAT64, mel_of(low)));
    const opf_expr *frequency = opf_binary(pool, OPF_OP_MUL, opf_real(pool, OPF_FLOAT64, 700), opf_unary(pool, OPF_OP_EXPM1, opf_binary(pool, OPF_OP_MUL, mel, opf_real(pool, OPF_FLOAT64, log(10) / 2595))));
    const opf_expr *place = opf_binary(pool, OPF_OP_DIV, opf_binary(pool, OPF_OP_MUL, opf_real(pool, OPF_FLOAT64, (double)(sizes[1] + 1)), frequency), opf_real(pool, OPF_FLOAT64, (double)sizes[2]));
    opf_dim corners = opf_int(pool, sizes[0] + 2), extents[] = {opf_int(pool, sizes[1] / 2 + 1), opf_int(pool, sizes[0])};
    int corner = opf_call_map(call, "corners", 1, &corners, opf_cast(pool, OPF_INT64, opf_unary(pool, OPF_OP_FLOOR, place)));
    const opf_expr *at[3], *here = opf_var(pool, 0), *zero = opf_real(pool, OPF_FLOAT64, 0), *one = opf_real(pool, OPF_FLOAT64, 1);
    for (int k = 0; k < 3; k++) {
        const opf_expr *index = opf_add(pool, opf_var(pool, 1), opf_int(pool, k));
        at[k] = opf_call_load(call, corner, &index);
    }
    const opf_expr *rise = opf_sub(pool, at[1], at[0]), *fall = opf_sub(pool, at[2], at[1]);
    const opf_expr *up = opf_binary(pool, OPF_OP_DIV, opf_cast(pool, OPF_FLOAT64, opf_sub(pool, here, at[0])), opf_cast(pool, OPF_FLOAT64, rise));
    const opf_expr *down = opf_binary(pool, OPF_OP_DIV, opf_cast(pool, OPF_FLOAT64, opf_sub(pool, at[2], here)), opf_cast(pool, OPF_FLOAT64, fall));
    const opf_expr *rises = opf_binary(pool, OPF_OP_AND, opf_call_at_most(call, at[0], here), opf_call_less(call, here, at[1]));
    const opf_expr *falls = opf_binary(pool, OPF_OP_AND, opf_call_less(call, at[1], here), opf_call_less(call, here, at[2]));
    const opf_expr *value = opf_select(pool, opf_binary(pool, OPF_OP_EQ, here, at[1]), one, opf_select(pool, rises, up, opf_select(pool, falls, down, zero)));
    opf_call_result(call, 0, opf_call_map(call, NULL, 2, extents, opf_cast(pool, (opf_dtype)given, value)));
    return OPF_OK;
}

const opf_op opf_ops_spectral[] = {
    {"", "DFT", 17, 1, 2, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_dft_17, NULL},
    {"", "DFT", 20, 1, 3, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_dft_20, NULL},
    {"", "STFT", 17, 2, 4, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_stft, NULL},
    {"", "HannWindow", 17, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_hann, NULL},
    {"", "HammingWindow", 17, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_hamming, NULL},
    {"", "BlackmanWindow", 17, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_blackman, NULL},
    {"", "MelWeightMatrix", 17, 5, 5, 1, OPF_KIND_OPAQUE, 0, build_mel_weights, NULL},
};
const size_t opf_ops_spectral_count = OPF_COUNT(opf_ops_spectral);
