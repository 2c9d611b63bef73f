/* Recurrent layers: RNN, GRU, LSTM and its dynamically quantised form. Each step needs the state of the one before.
 *
 * in: X, W, R, [B], [sequence_lens], [initial_h], LSTM: [initial_c], [P]; quantised: W_scale, W_zero_point, R_scale,
 * R_zero_point behind those, with W and R transposed (input by gate). out: [Y], [Y_h], LSTM: [Y_c].
 * ints: direction (0 forward, 1 reverse, 2 both), layout, special (GRU: linear_before_reset, LSTM: input_forget), then a
 * number (below) for each activation. floats: clip (0: none), then alpha and beta of each activation.
 * scratch: floats, for (steps of a block + 1) * batch gates, 2 * batch states, 1 state, 1 row of gates. All float32. */
#ifndef OPF_LIB_RECURRENT_H
#define OPF_LIB_RECURRENT_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif
#ifndef OPF_REDUCE_H
#include "opf_reduce.h"
#endif

enum {
    OPF_LIB_SIGMOID, OPF_LIB_TANH, OPF_LIB_RELU, OPF_LIB_AFFINE, OPF_LIB_LEAKY_RELU, OPF_LIB_THRESHOLDED_RELU,
    OPF_LIB_SCALED_TANH, OPF_LIB_HARD_SIGMOID, OPF_LIB_ELU, OPF_LIB_SOFTSIGN, OPF_LIB_SOFTPLUS
};

enum { OPF_LIB_STEPS = 16 }; /* steps whose input products are computed together, so that W is read once for all of them */

typedef struct opf_lib_layer {
    const opf_lib_args *a;
    int64_t steps, batch, input, hidden, gates, directions, direction;
    int reverse, quantized, lstm;
    const int64_t *activations; /* of this direction */
    const float *bias;          /* [2 * gates * hidden] of this direction, or NULL */
    float *products;            /* [OPF_LIB_STEPS, batch, gates * hidden] */
    float *gate;                /* [batch, gates * hidden] */
    float *h, *c;               /* [batch, hidden] */
    float *row;                 /* [hidden] */
    int32_t *sums;              /* quantised: [gates * hidden] */
    float scale_x;              /* quantised: of the whole input */
    int zero_x;
} opf_lib_layer;

/* v[i] = activation(v[i]) for n elements. */
static inline void opf_lib_activate(const opf_lib_layer *l, int which, float *v, int64_t n) {
    int64_t activations = l->activations - (l->a->ints + 3);
    const float clip = (float)l->a->floats[0], alpha = (float)l->a->floats[1 + 2 * (activations + which)], beta = (float)l->a->floats[2 + 2 * (activations + which)];
    if (clip > 0)
        for (int64_t i = 0; i < n; i++) v[i] = opf_min_f32(opf_max_f32(v[i], -clip), clip);
    switch (l->activations[which]) {
    case OPF_LIB_SIGMOID: for (int64_t i = 0; i < n; i++) v[i] = 1.0f / (1.0f + opf_exp_f32(-v[i])); break;
    case OPF_LIB_TANH: for (int64_t i = 0; i < n; i++) v[i] = opf_tanh_f32(v[i]); break;
    case OPF_LIB_RELU: for (int64_t i = 0; i < n; i++) v[i] = opf_max_f32(v[i], 0); break;
    case OPF_LIB_AFFINE: for (int64_t i = 0; i < n; i++) v[i] = alpha * v[i] + beta; break;
    case OPF_LIB_LEAKY_RELU: for (int64_t i = 0; i < n; i++) v[i] = v[i] < 0 ? alpha * v[i] : v[i]; break;
    case OPF_LIB_THRESHOLDED_RELU: for (int64_t i = 0; i < n; i++) v[i] = v[i] > alpha ? v[i] : 0; break;
    case OPF_LIB_SCALED_TANH: for (int64_t i = 0; i < n; i++) v[i] = alpha * opf_tanh_f32(beta * v[i]); break;
    case OPF_LIB_HARD_SIGMOID: for (int64_t i = 0; i < n; i++) v[i] = opf_min_f32(opf_max_f32(alpha * v[i] + beta, 0), 1); break;
    case OPF_LIB_ELU: for (int64_t i = 0; i < n; i++) v[i] = v[i] < 0 ? alpha * opf_expm1_f32(v[i]) : v[i]; break;
    case OPF_LIB_SOFTSIGN: for (int64_t i = 0; i < n; i++) v[i] = v[i] / (1 + opf_abs_f32(v[i])); break;
    default: for (int64_t i = 0; i < n; i++) v[i] = opf_max_f32(v[i], 0) + opf_log1p_f32(opf_exp_f32(-opf_abs_f32(v[i]))); break;
    }
}

/* How many steps row b of the batch has, and which time its step s is; -1 beyond the last. */
static inline int64_t opf_lib_length(const opf_lib_layer *l, int64_t b) {
    if (!opf_lib_has(&l->a->in[4])) return l->steps;
    int64_t given = opf_lib_int(&l->a->in[4], b);
    return given < 0 ? 0 : given < l->steps ? given : l->steps;
}
static inline int64_t opf_lib_time(const opf_lib_layer *l, int64_t b, int64_t step) {
    int64_t length = opf_lib_length(l, b);
    return step >= length ? -1 : l->reverse ? length - 1 - step : step;
}

static inline const float *opf_lib_input_row(const opf_lib_layer *l, int64_t time, int64_t b) {
    int64_t row = l->a->ints[1] ? b * l->steps + time : time * l->batch + b;
    return (const float *)l->a->in[0].data + row * l->input;
}
/* Of a state operand or result [directions, batch, hidden], or [batch, directions, hidden] under layout 1. */
static inline float *opf_lib_state(const opf_lib_layer *l, const opf_lib_tensor *t, int64_t b) {
    int64_t row = l->a->ints[1] ? b * l->directions + l->direction : l->direction * l->batch + b;
    return (float *)t->data + row * l->hidden;
}

/* ---- products with quantised weights ---- */

static inline void opf_lib_quantization(const float *x, int64_t n, float *scale, int *zero) {
    float low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    *scale = high > low ? (high - low) / 255.0f : 1.0f;
    *zero = (int)opf_round_f32(opf_min_f32(opf_max_f32(-low / *scale, 0), 255));
}

/* out[j] += x · column j, with x quantised to 8 bits. operand: 1 W, 2 R. */
static inline void opf_lib_quantized_product(const opf_lib_layer *l, const float *x, float scale, int zero, int operand, float *out) {
    const opf_lib_tensor *w = &l->a->in[operand], *scales = &l->a->in[operand == 1 ? 8 : 10], *zeros = &l->a->in[operand == 1 ? 9 : 11];
    int64_t columns = l->gates * l->hidden, rows = operand == 1 ? l->input : l->hidden, first = l->direction * rows * columns;
    int64_t each = opf_lib_elements(scales) / l->directions, each_zero = opf_lib_has(zeros) ? opf_lib_elements(zeros) / l->directions : 0;
    int32_t total = 0;
    memset(l->sums, 0, (size_t)columns * sizeof *l->sums);
    for (int64_t k = 0; k < rows; k++) {
        int q = (int)opf_min_f32(opf_max_f32(opf_round_f32(x[k] / scale) + (float)zero, 0), 255) - zero;
        total += q;
        if (w->dtype == OPF_LIB_I8) {
            const int8_t *row = (const int8_t *)w->data + first + k * columns;
            for (int64_t j = 0; j < columns; j++) l->sums[j] += q * row[j];
        } else {
            const uint8_t *row = (const uint8_t *)w->data + first + k * columns;
            for (int64_t j = 0; j < columns; j++) l->sums[j] += q * row[j];
        }
    }
    for (int64_t j = 0; j < columns; j++) {
        int32_t offset = each_zero ? (int32_t)opf_lib_int(zeros, l->direction * each_zero + (each_zero > 1 ? j : 0)) : 0;
        float factor = scale * ((const float *)scales->data)[l->direction * each + (each > 1 ? j : 0)];
        out[j] += (float)(l->sums[j] - total * offset) * factor;
    }
}

/* ---- products ---- */

enum { OPF_LIB_ROWS = 4 }; /* of weights that are multiplied side by side */

/* sums[v][r] = row r of w · x_v, for `rows` rows of n elements. Each sum has one accumulator of its own, so that what stands beside it
 * changes no bit. Under OPF_EXACT the products of each are added in their order. */
#ifdef OPF_EXACT
static inline void opf_lib_dots(const float *w, int64_t rows, const float *x0, const float *x1, int64_t n, float sums[2][OPF_LIB_ROWS]) {
    for (int64_t r = 0; r < rows; r++) {
        sums[0][r] = opf_dot_f32(w + r * n, x0, n);
        sums[1][r] = x1 == x0 ? sums[0][r] : opf_dot_f32(w + r * n, x1, n);
    }
}
#else
static inline void opf_lib_dots(const float *w, int64_t rows, const float *x0, const float *x1, int64_t n, float sums[2][OPF_LIB_ROWS]) {
    const float *w0 = w, *w1 = w + (rows > 1 ? n : 0), *w2 = w + (rows > 2 ? 2 * n : 0), *w3 = w + (rows > 3 ? 3 * n : 0);
    opf_vf a0 = {0}, a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (int64_t k = 0; k < n; k += OPF_LANES) {
        int left = n - k < OPF_LANES ? (int)(n - k) : OPF_LANES, whole = left == OPF_LANES;
        opf_vf u = whole ? opf_vload(x0 + k) : opf_vload_part(x0 + k, left), v = whole ? opf_vload(x1 + k) : opf_vload_part(x1 + k, left);
        opf_vf m0 = whole ? opf_vload(w0 + k) : opf_vload_part(w0 + k, left), m1 = whole ? opf_vload(w1 + k) : opf_vload_part(w1 + k, left);
        opf_vf m2 = whole ? opf_vload(w2 + k) : opf_vload_part(w2 + k, left), m3 = whole ? opf_vload(w3 + k) : opf_vload_part(w3 + k, left);
        a0 = opf_vfma(m0, u, a0), b0 = opf_vfma(m0, v, b0);
        a1 = opf_vfma(m1, u, a1), b1 = opf_vfma(m1, v, b1);
        a2 = opf_vfma(m2, u, a2), b2 = opf_vfma(m2, v, b2);
        a3 = opf_vfma(m3, u, a3), b3 = opf_vfma(m3, v, b3);
    }
    sums[0][0] = opf_vsum_lanes(a0), sums[0][1] = opf_vsum_lanes(a1), sums[0][2] = opf_vsum_lanes(a2), sums[0][3] = opf_vsum_lanes(a3);
    sums[1][0] = opf_vsum_lanes(b0), sums[1][1] = opf_vsum_lanes(b1), sums[1][2] = opf_vsum_lanes(b2), sums[1][3] = opf_vsum_lanes(b3);
}
#endif

/* out_v[r] += row r of w · x_v + bias[r]; one vector alone stands in both places with out1 NULL. */
static inline void opf_lib_add_dots(const float *w, int64_t rows, const float *x0, const float *x1, int64_t n, const float *bias, float *out0, float *out1) {
    float sums[2][OPF_LIB_ROWS];
    opf_lib_dots(w, rows, x0, x1, n, sums);
    for (int64_t r = 0; r < rows; r++) out0[r] += sums[0][r] + (bias ? bias[r] : 0);
    for (int64_t r = 0; out1 && r < rows; r++) out1[r] += sums[1][r] + (bias ? bias[r] : 0);
}

/* The input's share of gates j … j + rows - 1 for steps first … first + count - 1, two rows of the input at a time. */
static inline void opf_lib_input_rows(const opf_lib_layer *l, int64_t first, int64_t count, int64_t j, int64_t rows) {
    const float *w = (const float *)l->a->in[1].data + (l->direction * l->gates * l->hidden + j) * l->input, *bias = l->bias ? l->bias + j : 0, *x = 0;
    float *out = 0;
    for (int64_t i = 0; i < count * l->batch; i++) {
        int64_t b = i % l->batch, time = opf_lib_time(l, b, first + i / l->batch);
        if (time < 0) continue;
        const float *row = opf_lib_input_row(l, time, b);
        float *to = l->products + i * l->gates * l->hidden + j;
        memset(to, 0, (size_t)rows * sizeof *to);
        if (x) opf_lib_add_dots(w, rows, x, row, l->input, bias, out, to);
        x = x ? 0 : row;
        out = to;
    }
    if (x) opf_lib_add_dots(w, rows, x, x, l->input, bias, out, 0);
}

/* The input's share of all gates for these steps. */
static inline void opf_lib_input_products(const opf_lib_layer *l, int64_t first, int64_t count) {
    int64_t columns = l->gates * l->hidden;
    for (int64_t j = 0; j < columns && !l->quantized; j += OPF_LIB_ROWS)
        opf_lib_input_rows(l, first, count, j, columns - j < OPF_LIB_ROWS ? columns - j : OPF_LIB_ROWS);
    for (int64_t s = 0; s < count && l->quantized; s++)
        for (int64_t b = 0; b < l->batch; b++) {
            int64_t time = opf_lib_time(l, b, first + s);
            float *out = l->products + (s * l->batch + b) * columns;
            if (time < 0) continue;
            for (int64_t j = 0; j < columns; j++) out[j] = l->bias ? l->bias[j] : 0;
            opf_lib_quantized_product(l, opf_lib_input_row(l, time, b), l->scale_x, l->zero_x, 1, out);
        }
}

/* gate[b] gets the input's share; then += R · h and the second bias for gates from … to-1. `h`: state rows. */
static inline void opf_lib_state_products(const opf_lib_layer *l, const float *h, int64_t from, int64_t to) {
    int64_t columns = l->gates * l->hidden;
    const float *r = (const float *)l->a->in[2].data + l->direction * columns * l->hidden;
    if (l->quantized) {
        float scale;
        int zero;
        opf_lib_quantization(h, l->batch * l->hidden, &scale, &zero);
        for (int64_t b = 0; b < l->batch; b++) opf_lib_quantized_product(l, h + b * l->hidden, scale, zero, 2, l->gate + b * columns);
    }
    int64_t first = from * l->hidden, end = to * l->hidden;
    for (int64_t b = 0; b < l->batch && l->quantized && l->bias; b++)
        for (int64_t j = first; j < end; j++) l->gate[b * columns + j] += l->bias[columns + j];
    for (int64_t j = first; j < end && !l->quantized; j += OPF_LIB_ROWS) {
        const float *w = r + j * l->hidden, *bias = l->bias ? l->bias + columns + j : 0;
        int64_t rows = end - j < OPF_LIB_ROWS ? end - j : OPF_LIB_ROWS;
        for (int64_t b = 0; b < l->batch; b += 2) {
            const float *x0 = h + b * l->hidden, *x1 = b + 1 < l->batch ? x0 + l->hidden : x0;
            float *out = l->gate + b * columns + j;
            opf_lib_add_dots(w, rows, x0, x1, l->hidden, bias, out, b + 1 < l->batch ? out + columns : 0);
        }
    }
}

/* ---- cells: one step of row b; gate holds the sums ---- */

static inline void opf_lib_rnn_cell(const opf_lib_layer *l, int64_t b) {
    float *g = l->gate + b * l->hidden;
    opf_lib_activate(l, 0, g, l->hidden);
    memcpy(l->h + b * l->hidden, g, (size_t)l->hidden * sizeof *g);
}

static inline void opf_lib_lstm_cell(const opf_lib_layer *l, int64_t b) {
    int64_t n = l->hidden;
    float *i = l->gate + b * 4 * n, *o = i + n, *f = o + n, *g = f + n, *c = l->c + b * n, *h = l->h + b * n;
    const opf_lib_tensor *peep = &l->a->in[7];
    const float *p = opf_lib_has(peep) ? (const float *)peep->data + l->direction * 3 * n : 0;
    if (p)
        for (int64_t k = 0; k < n; k++) {
            i[k] += p[k] * c[k];
            f[k] += p[2 * n + k] * c[k];
        }
    opf_lib_activate(l, 0, i, n);
    if (l->a->ints[2]) for (int64_t k = 0; k < n; k++) f[k] = 1 - i[k];
    else opf_lib_activate(l, 0, f, n);
    opf_lib_activate(l, 1, g, n);
    for (int64_t k = 0; k < n; k++) c[k] = f[k] * c[k] + i[k] * g[k];
    if (p)
        for (int64_t k = 0; k < n; k++) o[k] += p[n + k] * c[k];
    opf_lib_activate(l, 0, o, n);
    memcpy(l->row, c, (size_t)n * sizeof *c);
    opf_lib_activate(l, 2, l->row, n);
    for (int64_t k = 0; k < n; k++) h[k] = o[k] * l->row[k];
}

static inline void opf_lib_gru_cell(const opf_lib_layer *l, int64_t b, const float *x) {
    int64_t n = l->hidden;
    float *z = l->gate + b * 3 * n, *r = z + n, *g = r + n, *h = l->h + b * n;
    const float *weights = (const float *)l->a->in[2].data + (l->direction * 3 + 2) * n * n, *bias = l->bias ? l->bias + 5 * n : 0;
    opf_lib_activate(l, 0, z, 2 * n);
    for (int64_t k = 0; k < n; k++) l->row[k] = l->a->ints[2] ? h[k] : r[k] * h[k];
    for (int64_t k = 0; k < n; k += OPF_LIB_ROWS) {
        float products[OPF_LIB_ROWS] = {0};
        int64_t rows = n - k < OPF_LIB_ROWS ? n - k : OPF_LIB_ROWS;
        opf_lib_add_dots(weights + k * n, rows, l->row, l->row, n, bias ? bias + k : 0, products, 0);
        for (int64_t i = 0; i < rows; i++) g[k + i] = x[2 * n + k + i] + (l->a->ints[2] ? r[k + i] * products[i] : products[i]);
    }
    opf_lib_activate(l, 1, g, n);
    for (int64_t k = 0; k < n; k++) h[k] = (1 - z[k]) * g[k] + z[k] * h[k];
}

/* ---- the layer ---- */

static inline void opf_lib_store_step(const opf_lib_layer *l, int64_t time, int64_t b, const float *h) {
    const opf_lib_tensor *y = &l->a->out[0];
    if (!opf_lib_has(y)) return;
    int64_t row = l->a->ints[1] ? (b * l->steps + time) * l->directions + l->direction : (time * l->directions + l->direction) * l->batch + b;
    float *to = (float *)y->data + row * l->hidden;
    if (h) memcpy(to, h, (size_t)l->hidden * sizeof *h);
    else memset(to, 0, (size_t)l->hidden * sizeof *to);
}

static inline void opf_lib_run_step(const opf_lib_layer *l, int64_t step, const float *products) {
    int64_t columns = l->gates * l->hidden;
    memcpy(l->gate, products, (size_t)(l->batch * columns) * sizeof *products);
    opf_lib_state_products(l, l->h, 0, l->gates == 3 ? 2 : l->gates);
    for (int64_t b = 0; b < l->batch; b++) {
        int64_t time = opf_lib_time(l, b, step);
        if (time < 0) {
            opf_lib_store_step(l, step, b, 0); /* times beyond the row's length are step numbers in both directions */
            continue;
        }
        if (l->gates == 4) opf_lib_lstm_cell(l, b);
        else if (l->gates == 3) opf_lib_gru_cell(l, b, products + b * columns);
        else opf_lib_rnn_cell(l, b);
        opf_lib_store_step(l, time, b, l->h + b * l->hidden);
    }
}

static inline void opf_lib_load_state(const opf_lib_layer *l, const opf_lib_tensor *from, float *to) {
    for (int64_t b = 0; b < l->batch; b++)
        if (opf_lib_has(from)) memcpy(to + b * l->hidden, opf_lib_state(l, from, b), (size_t)l->hidden * sizeof *to);
        else memset(to + b * l->hidden, 0, (size_t)l->hidden * sizeof *to);
}

static inline void opf_lib_save_state(const opf_lib_layer *l, const float *from, const opf_lib_tensor *to) {
    for (int64_t b = 0; b < l->batch && opf_lib_has(to); b++) memcpy(opf_lib_state(l, to, b), from + b * l->hidden, (size_t)l->hidden * sizeof *from);
}

static inline void opf_lib_run_direction(opf_lib_layer *l) {
    const opf_lib_args *a = l->a;
    int64_t columns = l->gates * l->hidden;
    l->bias = opf_lib_has(&a->in[3]) ? (const float *)a->in[3].data + l->direction * 2 * columns : 0;
    opf_lib_load_state(l, &a->in[5], l->h);
    if (l->lstm) opf_lib_load_state(l, &a->in[6], l->c);
    if (l->quantized) opf_lib_quantization((const float *)a->in[0].data, opf_lib_elements(&a->in[0]), &l->scale_x, &l->zero_x);
    for (int64_t first = 0; first < l->steps; first += OPF_LIB_STEPS) {
        int64_t count = l->steps - first < OPF_LIB_STEPS ? l->steps - first : OPF_LIB_STEPS;
        opf_lib_input_products(l, first, count);
        for (int64_t s = 0; s < count; s++) opf_lib_run_step(l, first + s, l->products + s * l->batch * columns);
    }
    opf_lib_save_state(l, l->h, &a->out[1]);
    if (l->lstm) opf_lib_save_state(l, l->c, &a->out[2]);
}

static inline void opf_lib_recurrent(const opf_lib_args *a, int64_t gates, int activations, int quantized) {
    const int64_t *x = a->in[0].dims;
    int layout = a->ints[1] != 0;
    opf_lib_layer l = {.a = a, .steps = x[layout], .batch = x[!layout], .input = x[2], .gates = gates, .quantized = quantized, .lstm = gates == 4};
    l.hidden = quantized ? a->in[2].dims[1] : a->in[2].dims[2];
    l.directions = a->ints[0] == 2 ? 2 : 1;
    int64_t columns = gates * l.hidden;
    l.products = (float *)a->scratch;
    l.gate = l.products + OPF_LIB_STEPS * l.batch * columns;
    l.h = l.gate + l.batch * columns;
    l.c = l.h + l.batch * l.hidden;
    l.row = l.c + l.batch * l.hidden;
    l.sums = (int32_t *)(l.row + l.hidden);
    for (l.direction = 0; l.direction < l.directions; l.direction++) {
        l.reverse = a->ints[0] == 1 || l.direction == 1;
        l.activations = a->ints + 3 + l.direction * activations;
        opf_lib_run_direction(&l);
    }
}

static inline void opf_lib_rnn(const opf_lib_args *a) { opf_lib_recurrent(a, 1, 1, 0); }
static inline void opf_lib_gru(const opf_lib_args *a) { opf_lib_recurrent(a, 3, 2, 0); }
static inline void opf_lib_lstm(const opf_lib_args *a) { opf_lib_recurrent(a, 4, 3, 0); }
static inline void opf_lib_lstm_quantized(const opf_lib_args *a) { opf_lib_recurrent(a, 4, 3, 1); }

#endif
