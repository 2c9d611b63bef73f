/* The steps of recurrent layers in double, with running error analysis (docs/numerics.md, "Bounds"). */
#include "check/recurrent.h"

#include <math.h>
#include <string.h>

#include "opf_lib_recurrent.h"

static const double U = 0x1p-24, UNDERFLOW = 1.2e-38; /* roundoff of float32; a normal number that a function may lose */

/* A number and how far the program's may be from it. */
typedef struct approx { double v, e; } approx;

static approx exactly(double v) { return (approx){v, 0}; }
static approx sum(approx a, approx b) { return (approx){a.v + b.v, a.e + b.e + U * fabs(a.v + b.v)}; }
static approx product(approx a, approx b) { return (approx){a.v * b.v, fabs(a.v) * b.e + fabs(b.v) * a.e + a.e * b.e + U * fabs(a.v * b.v)}; }

/* Roundings of a sum of n terms: docs/numerics.md. */
static double roundings(double n) { return n < 6 * sqrt(n) ? n : 6 * sqrt(n); }

typedef struct layer {
    opf_arena *arena;
    const int64_t *ints;
    const double *floats;
    int64_t steps, batch, input, hidden, gates, directions, direction, n_activations;
    bool by_batch, reverse, quantized, lstm;
    const opf_tensor *const *in;
    const opf_tensor *y;          /* the program's, or NULL */
    const double *w, *r;          /* of this direction, [gates * hidden, input] and [gates * hidden, hidden]; scaled */
    const double *r_off;          /* quantised: what the state off by one is worth in each gate: the sum of its weights' magnitudes */
    float scale_x;
    int zero_x;
    approx *h, *c;                /* [batch, hidden] */
    approx *gate;                 /* of a row: [gates * hidden], the input's share and the first bias */
    opf_recurrent_reference *out;
} layer;

/* ---- activations ---- */

typedef struct activation_row {
    double (*value)(double x, double alpha, double beta);
    double (*slope)(double alpha, double beta); /* the largest */
    double range;                               /* two results are never further apart */
    double own;                                 /* roundoffs of the result */
    double inside;                              /* roundoffs of alpha x and beta, which may cancel */
} activation_row;

static double sigmoid(double x, double alpha, double beta) { (void)alpha; (void)beta; return 1 / (1 + exp(-x)); }
static double tangent(double x, double alpha, double beta) { (void)alpha; (void)beta; return tanh(x); }
static double relu(double x, double alpha, double beta) { (void)alpha; (void)beta; return x > 0 || isnan(x) ? x : 0; }
static double affine(double x, double alpha, double beta) { return alpha * x + beta; }
static double leaky(double x, double alpha, double beta) { (void)beta; return x < 0 ? alpha * x : x; }
static double thresholded(double x, double alpha, double beta) { (void)beta; return x > alpha ? x : 0; }
static double scaled_tangent(double x, double alpha, double beta) { return alpha * tanh(beta * x); }
static double hard_sigmoid(double x, double alpha, double beta) { double v = alpha * x + beta; return isnan(v) ? v : fmin(fmax(v, 0), 1); }
static double elu(double x, double alpha, double beta) { (void)beta; return x < 0 ? alpha * expm1(x) : x; }
static double softsign(double x, double alpha, double beta) { (void)alpha; (void)beta; return x / (1 + fabs(x)); }
static double softplus(double x, double alpha, double beta) { (void)alpha; (void)beta; return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }

static double quarter(double alpha, double beta) { (void)alpha; (void)beta; return 0.25; }
static double one(double alpha, double beta) { (void)alpha; (void)beta; return 1; }
static double of_alpha(double alpha, double beta) { (void)beta; return fabs(alpha); }
static double one_or_alpha(double alpha, double beta) { (void)beta; return fmax(1, fabs(alpha)); }
static double both(double alpha, double beta) { return fabs(alpha * beta); }

static const activation_row activations[] = {
    [OPF_LIB_SIGMOID] = {sigmoid, quarter, 1, 12, 0},
    [OPF_LIB_TANH] = {tangent, one, 2, 8, 0},
    [OPF_LIB_RELU] = {relu, one, INFINITY, 0, 0},
    [OPF_LIB_AFFINE] = {affine, of_alpha, INFINITY, 1, 2},
    [OPF_LIB_LEAKY_RELU] = {leaky, one_or_alpha, INFINITY, 1, 0},
    [OPF_LIB_THRESHOLDED_RELU] = {thresholded, one, INFINITY, 0, 0},
    [OPF_LIB_SCALED_TANH] = {scaled_tangent, both, INFINITY, 12, 0},
    [OPF_LIB_HARD_SIGMOID] = {hard_sigmoid, of_alpha, 1, 1, 2},
    [OPF_LIB_ELU] = {elu, one_or_alpha, INFINITY, 10, 0},
    [OPF_LIB_SOFTSIGN] = {softsign, one, 2, 4, 0},
    [OPF_LIB_SOFTPLUS] = {softplus, one, INFINITY, 20, 0},
};

static approx activate(const layer *l, int which, approx x) {
    int64_t number = l->direction * l->n_activations + which;
    double clip = l->floats[0], alpha = (float)l->floats[1 + 2 * number], beta = (float)l->floats[2 + 2 * number];
    const activation_row *row = &activations[l->ints[4 + number]];
    if (clip > 0 && !isnan(x.v)) x = (approx){fmin(fmax(x.v, -clip), clip), fmin(x.e, 2 * clip)};
    approx y = {row->value(x.v, alpha, beta), 0};
    y.e = fmin(row->slope(alpha, beta) * x.e, row->range) + row->own * U * fabs(y.v) + row->inside * U * (fabs(alpha * x.v) + fabs(beta)) + UNDERFLOW;
    if (row->value == thresholded && fabs(x.v - alpha) <= x.e) y.e = fabs(x.v) + x.e; /* either side of the step */
    return y;
}

/* ---- operands ---- */

static double *numbers(const layer *l, const opf_tensor *tensor, int64_t first, int64_t count) {
    double *out = OPF_ARRAY(l->arena, double, count + 1);
    for (int64_t i = 0; i < count; i++) out[i] = opf_tensor_get(tensor, first + i);
    return out;
}

/* Row j of the quantised weights [direction, rows, columns], turned and scaled; `off` gets the sums of magnitudes. */
static const double *turned(const layer *l, int operand, int64_t rows, const double **off) {
    const opf_tensor *w = l->in[operand], *scales = l->in[operand == 1 ? 8 : 10], *zeros = l->in[operand == 1 ? 9 : 11];
    int64_t columns = l->gates * l->hidden, each = scales->elements / l->directions, each_zero = zeros ? zeros->elements / l->directions : 0;
    double *out = OPF_ARRAY(l->arena, double, rows * columns + 1), *sums = OPF_ARRAY(l->arena, double, columns + 1);
    for (int64_t j = 0; j < columns; j++) {
        double scale = opf_tensor_get(scales, l->direction * each + (each > 1 ? j : 0)), zero = each_zero ? opf_tensor_get(zeros, l->direction * each_zero + (each_zero > 1 ? j : 0)) : 0;
        for (int64_t k = 0; k < rows; k++) {
            out[j * rows + k] = (opf_tensor_get(w, (l->direction * rows + k) * columns + j) - zero) * scale;
            sums[j] += fabs(out[j * rows + k]);
        }
    }
    if (off) *off = sums;
    return out;
}

/* What the program's own arithmetic makes of x: the nearest of 256 steps. */
static double on_steps(double x, float scale, int zero) {
    float q = rintf((float)x / scale) + (float)zero;
    return ((int)(q < 0 ? 0 : q > 255 ? 255 : q) - zero) * (double)scale;
}

static void steps_of(double low, double high, float *scale, int *zero) {
    *scale = high > low ? ((float)high - (float)low) / 255.0f : 1.0f;
    *zero = (int)rintf(fminf(fmaxf(-(float)low / *scale, 0), 255));
}

static void find_scale(const approx *x, int64_t n, float *scale, int *zero, double *error) {
    double low = 0, high = 0;
    *error = 0;
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, x[i].v);
        high = fmax(high, x[i].v);
        *error = fmax(*error, x[i].e);
    }
    steps_of(low, high, scale, zero);
    if (*error > 0) *error += *scale; /* another step, of another size */
}

/* ---- products ---- */

/* a += row · x: errors of the terms, and those of the sum; `sums` is of magnitudes. */
static void add_products(approx *a, double *magnitudes, const double *row, const approx *x, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        double term = row[k] * x[k].v;
        a->v += term;
        a->e += fabs(row[k]) * x[k].e;
        *magnitudes += fabs(term);
    }
}

static void add_bias(const layer *l, approx *a, double *magnitudes, int64_t at) {
    if (!l->in[3]) return;
    double bias = opf_tensor_get(l->in[3], l->direction * 2 * l->gates * l->hidden + at);
    a->v += bias;
    *magnitudes += fabs(bias);
}

/* The share of `x` (n numbers) in gate j; `second`: of the state, with the second bias. */
static approx share(const layer *l, int64_t j, const double *rows, const approx *x, int64_t n, bool second) {
    approx a = {0, 0};
    double magnitudes = 0;
    add_products(&a, &magnitudes, rows + j * n, x, n);
    add_bias(l, &a, &magnitudes, (second ? l->gates * l->hidden : 0) + j);
    a.e += (roundings((double)n) + 4) * U * magnitudes;
    return a;
}

static int64_t input_row(const layer *l, int64_t time, int64_t b) { return (l->by_batch ? b * l->steps + time : time * l->batch + b) * l->input; }
static int64_t state_row(const layer *l, int64_t b) { return (l->by_batch ? b * l->directions + l->direction : l->direction * l->batch + b) * l->hidden; }
static int64_t result_row(const layer *l, int64_t time, int64_t b) {
    return (l->by_batch ? (b * l->steps + time) * l->directions + l->direction : (time * l->directions + l->direction) * l->batch + b) * l->hidden;
}

static const approx *input_at(const layer *l, int64_t time, int64_t b) {
    approx *x = OPF_ARRAY(l->arena, approx, l->input + 1);
    for (int64_t k = 0; k < l->input; k++) {
        x[k] = exactly(opf_tensor_get(l->in[0], input_row(l, time, b) + k));
        if (l->quantized) x[k].v = on_steps(x[k].v, l->scale_x, l->zero_x);
    }
    return x;
}

/* ---- cells ---- */

static approx state_share(const layer *l, int64_t j, const approx *h, double off) {
    approx a = share(l, j, l->r, h, l->hidden, true);
    if (l->quantized) a.e += off * l->r_off[j];
    return a;
}

static void lstm_cell(const layer *l, approx *gate, approx *h, approx *c) {
    int64_t n = l->hidden;
    const opf_tensor *peep = l->in[7];
    for (int64_t k = 0; k < n; k++) {
        approx i = gate[k], o = gate[n + k], f = gate[2 * n + k], g = gate[3 * n + k], p[3] = {{0, 0}};
        for (int q = 0; peep && q < 3; q++) p[q] = exactly(opf_tensor_get(peep, (l->direction * 3 + q) * n + k));
        if (peep) i = sum(i, product(p[0], c[k])), f = sum(f, product(p[2], c[k]));
        i = activate(l, 0, i);
        f = l->ints[2] ? sum(exactly(1), (approx){-i.v, i.e}) : activate(l, 0, f);
        g = activate(l, 1, g);
        c[k] = sum(product(f, c[k]), product(i, g));
        if (peep) o = sum(o, product(p[1], c[k]));
        h[k] = product(activate(l, 0, o), activate(l, 2, c[k]));
    }
}

/* gate: sums of z and r; of the third the input's share alone. */
static void gru_cell(const layer *l, const approx *gate, approx *h) {
    int64_t n = l->hidden;
    approx *z = OPF_ARRAY(l->arena, approx, n + 1), *r = OPF_ARRAY(l->arena, approx, n + 1), *row = OPF_ARRAY(l->arena, approx, n + 1);
    for (int64_t k = 0; k < n; k++) {
        z[k] = activate(l, 0, gate[k]);
        r[k] = activate(l, 0, gate[n + k]);
        row[k] = l->ints[2] ? h[k] : product(r[k], h[k]);
    }
    for (int64_t k = 0; k < n; k++) {
        approx state = share(l, 2 * n + k, l->r, row, n, true), g = activate(l, 1, sum(gate[2 * n + k], l->ints[2] ? product(r[k], state) : state));
        h[k] = sum(product(sum(exactly(1), (approx){-z[k].v, z[k].e}), g), product(z[k], h[k]));
    }
}

static void run_row(const layer *l, int64_t time, int64_t b, const approx *state, double off) {
    int64_t columns = l->gates * l->hidden;
    const approx *x = input_at(l, time, b);
    approx *h = l->h + b * l->hidden;
    for (int64_t j = 0; j < columns; j++) {
        l->gate[j] = share(l, j, l->w, x, l->input, false);
        if (l->gates != 3 || j < 2 * l->hidden) l->gate[j] = sum(l->gate[j], state_share(l, j, state + b * l->hidden, off));
    }
    if (l->gates == 4) lstm_cell(l, l->gate, h, l->c + b * l->hidden);
    else if (l->gates == 3) gru_cell(l, l->gate, h);
    for (int64_t k = 0; l->gates == 1 && k < l->hidden; k++) h[k] = activate(l, 0, l->gate[k]);
}

/* ---- the layer ---- */

static void put(const layer *l, int result, int64_t at, approx x) {
    if (!l->out->expected[result]) return;
    ((double *)(uintptr_t)l->out->expected[result]->data)[at] = x.v;
    ((double *)(uintptr_t)l->out->bounds[result]->data)[at] = x.e;
}

static int64_t time_of(const layer *l, int64_t b, int64_t step) {
    int64_t length = l->in[4] ? opf_tensor_get_int(l->in[4], b) : l->steps;
    length = length < 0 ? 0 : length < l->steps ? length : l->steps;
    return step >= length ? -1 : l->reverse ? length - 1 - step : step;
}

/* The state as the program's product reads it: on steps of its own where it is quantised. */
static const approx *read_state(const layer *l, double *off) {
    int64_t n = l->batch * l->hidden;
    *off = 0;
    if (!l->quantized) return l->h;
    float scale;
    int zero;
    find_scale(l->h, n, &scale, &zero, off);
    approx *state = OPF_ARRAY(l->arena, approx, n + 1);
    for (int64_t i = 0; i < n; i++) state[i] = exactly(on_steps(l->h[i].v, scale, zero));
    return state;
}

static void run_step(const layer *l, int64_t step) {
    double off;
    const approx *state = read_state(l, &off);
    for (int64_t b = 0; b < l->batch; b++) {
        int64_t time = time_of(l, b, step);
        if (time >= 0) run_row(l, time, b, state, off);
        for (int64_t k = 0; k < l->hidden; k++) {
            approx *h = &l->h[b * l->hidden + k];
            int64_t at = result_row(l, time < 0 ? step : time, b) + k;
            put(l, 0, at, time < 0 ? exactly(0) : *h);
            if (time >= 0 && l->y) *h = exactly(opf_tensor_get(l->y, at)); /* the next step's is the program's */
        }
    }
}

static void load_state(const layer *l, const opf_tensor *from, approx *to) {
    for (int64_t b = 0; b < l->batch; b++)
        for (int64_t k = 0; k < l->hidden; k++) to[b * l->hidden + k] = exactly(from ? opf_tensor_get(from, state_row(l, b) + k) : 0);
}

static void run_direction(layer *l) {
    int64_t columns = l->gates * l->hidden;
    opf_arena *scratch = l->arena;
    if (l->quantized) {
        l->w = turned(l, 1, l->input, NULL);
        l->r = turned(l, 2, l->hidden, &l->r_off);
    } else {
        l->w = numbers(l, l->in[1], l->direction * columns * l->input, columns * l->input);
        l->r = numbers(l, l->in[2], l->direction * columns * l->hidden, columns * l->hidden);
    }
    load_state(l, l->in[5], l->h);
    if (l->lstm) load_state(l, l->in[6], l->c);
    for (int64_t step = 0; step < l->steps; step++) {
        l->arena = opf_arena_new();
        run_step(l, step);
        opf_arena_free(l->arena);
        l->arena = scratch;
    }
    for (int64_t b = 0; b < l->batch; b++)
        for (int64_t k = 0; k < l->hidden; k++) {
            put(l, 1, state_row(l, b) + k, l->h[b * l->hidden + k]);
            if (l->lstm) put(l, 2, state_row(l, b) + k, l->c[b * l->hidden + k]);
        }
}

static const struct { const char *name; int gates, activations; bool quantized; } kinds[] = {
    {"rnn", 1, 1, false}, {"gru", 3, 2, false}, {"lstm", 4, 3, false}, {"lstm_quantized", 4, 3, true}};

static int kind_of(const opf_library_call *library) {
    for (size_t i = 0; i < OPF_COUNT(kinds); i++)
        if (!library->kernel->own && strcmp(kinds[i].name, library->kernel->name) == 0) return (int)i;
    return -1;
}

bool opf_is_recurrent(const opf_library_call *library) { return kind_of(library) >= 0; }

static opf_tensor *like(const opf_tensor *got, opf_arena *arena) {
    const char *why;
    return got ? opf_tensor_zeros(arena, OPF_FLOAT64, got->rank, got->dims, &why) : NULL;
}

void opf_recurrent_bound(opf_recurrent_reference *out, const opf_library_call *library, const int64_t *ints, const opf_tensor *const *in, const opf_tensor *const *got, opf_arena *arena) {
    int kind = kind_of(library);
    bool quantized = kinds[kind].quantized, by_batch = ints[1] != 0;
    const opf_tensor *operands[12] = {NULL};
    for (int k = 0; k < library->n_inputs; k++) operands[k] = in[k];
    for (int k = 0; k < library->n_outputs; k++) {
        out->expected[k] = like(got[k], arena);
        out->bounds[k] = like(got[k], arena);
    }
    layer l = {.arena = arena, .ints = ints, .floats = library->floats.data, .steps = in[0]->dims[by_batch], .batch = in[0]->dims[!by_batch], .input = in[0]->dims[2],
               .hidden = in[2]->dims[quantized ? 1 : 2], .gates = kinds[kind].gates, .directions = ints[0] == 2 ? 2 : 1, .n_activations = kinds[kind].activations, .by_batch = by_batch,
               .quantized = quantized, .lstm = kinds[kind].gates == 4, .in = operands, .y = got[0], .out = out};
    l.h = OPF_ARRAY(arena, approx, l.batch * l.hidden + 1);
    l.c = OPF_ARRAY(arena, approx, l.batch * l.hidden + 1);
    l.gate = OPF_ARRAY(arena, approx, l.gates * l.hidden + 1);
    if (quantized) {
        double low = 0, high = 0;
        for (int64_t i = 0; i < in[0]->elements; i++) {
            low = fmin(low, opf_tensor_get(in[0], i));
            high = fmax(high, opf_tensor_get(in[0], i));
        }
        steps_of(low, high, &l.scale_x, &l.zero_x);
    }
    for (l.direction = 0; l.direction < l.directions; l.direction++) {
        l.reverse = ints[0] == 1 || l.direction == 1;
        run_direction(&l);
    }
}
