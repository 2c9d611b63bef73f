/* Recurrent layers: RNN, GRU, LSTM and its dynamically quantised form. Each step needs the state of the one before.
 *
 * in: X, W, R, [B], [sequence_lens], [initial_h], LSTM: [initial_c], [P]; quantised: W_scale, W_zero_point, R_scale,
 * R_zero_point behind those, with W and R transposed (input by gate). out: [Y], [Y_h], LSTM: [Y_c].
 * ints: direction (0 forward, 1 reverse, 2 both), layout, special (GRU: linear_before_reset, LSTM: input_forget), hidden size, then a
 * number (below) for each activation. floats: clip (0: none), then alpha and beta of each activation. All float32.
 *
 * W and R are multiplied from panels [direction][panel][depth][OPF_LIB_PANEL]: columns are the gates' elements, gate by gate, zeros
 * behind the last; GRU's third gate begins a panel of its own. Quantised ones: [direction][panel][depth / 4][OPF_LIB_PANEL][4], words
 * of four bytes along the depth. An operand of rank 4 (5) is in that form already; one of rank 3 is brought into it in the scratch
 * first. scratch: 4 bytes times opf_lib_recurrent_floats and, quantised, opf_lib_quantized_floats, and as much again as operands to
 * be packed take. */
#ifndef OPF_LIB_RECURRENT_H
#define OPF_LIB_RECURRENT_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif
#ifndef OPF_LIB_PANELS_H
#include "opf_lib_panels.h"
#endif

enum {
    OPF_LIB_SIGMOID, OPF_LIB_TANH, OPF_LIB_RELU, OPF_LIB_AFFINE, OPF_LIB_LEAKY_RELU, OPF_LIB_THRESHOLDED_RELU,
    OPF_LIB_SCALED_TANH, OPF_LIB_HARD_SIGMOID, OPF_LIB_ELU, OPF_LIB_SOFTSIGN, OPF_LIB_SOFTPLUS
};

enum { OPF_LIB_STEPS = 16 /* whose input products are computed together, so that W is read once for all of them */ };

/* A quantised operand, in panels. */
typedef struct opf_lib_quads {
    const unsigned char *panels; /* of this direction */
    int64_t depth;
    int unsigned_weights;        /* 128 is taken off each while it is multiplied */
    int less;                    /* taken off rows' bytes: 128 where they are multiplied as bytes with sign, else 0 */
    int32_t *column_sums;        /* [columns]: of the weights as they are multiplied, their zero points, and their scales */
    int32_t *zeros;
    float *scales;
} opf_lib_quads;

typedef struct opf_lib_layer {
    const opf_lib_args *a;
    int64_t steps, batch, input, hidden, gates, directions, direction;
    int reverse, quantized, lstm;
    const int64_t *activations; /* of this direction */
    const float *bias;          /* [2 * gates * hidden] of this direction, or NULL */
    int64_t third, columns;     /* of a row of gates: where GRU's third gate begins, and the whole, both with what fills panels */
    const float *w, *r;         /* panels of this direction; quantised: NULL */
    opf_lib_quads quads[2];     /* quantised: W and R */
    unsigned char *bytes;       /* quantised: [OPF_LIB_STEPS * batch, whole words of the larger depth]: rows as they are multiplied */
    int32_t *row_sums;          /* quantised: [OPF_LIB_STEPS * batch]: of the rows, less their zero points */
    const float **rows;         /* [OPF_LIB_STEPS * batch]: what is multiplied */
    float *products;            /* [OPF_LIB_STEPS, batch, columns] */
    float *first;               /* [columns]: what the sums of a step begin with, the biases */
    float *candidate;           /* GRU: [batch, columns - third], the state's share of the third gate */
    float *h, *c;               /* [batch, hidden] */
    float *row;                 /* [batch, hidden] */
    float scale_x;              /* quantised: of the whole input */
    int zero_x;
} opf_lib_layer;

static inline int64_t opf_lib_whole_panels(int64_t columns) { return (columns + OPF_LIB_PANEL - 1) / OPF_LIB_PANEL * OPF_LIB_PANEL; }
static inline int64_t opf_lib_third_gate(int64_t gates, int64_t hidden) { return gates == 3 ? opf_lib_whole_panels(2 * hidden) : 0; }
static inline int64_t opf_lib_gate_columns(int64_t gates, int64_t hidden) {
    return gates == 3 ? opf_lib_whole_panels(2 * hidden) + opf_lib_whole_panels(hidden) : opf_lib_whole_panels(gates * hidden);
}
static inline int64_t opf_lib_gate_at(const opf_lib_layer *l, int64_t gate) { return gate == 2 && l->gates == 3 ? l->third : gate * l->hidden; }

/* v[i] = activation(v[i]) for n elements. */
static inline void opf_lib_activate(const opf_lib_layer *l, int which, float *v, int64_t n) {
    int64_t activations = l->activations - (l->a->ints + 4);
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

static inline void opf_lib_extend_range(const float *x, int64_t n, float *low, float *high) {
    opf_vf least = opf_vsplat(*low), most = opf_vsplat(*high);
    int64_t i = 0;
    for (; i + OPF_LANES <= n; i += OPF_LANES) {
        const opf_vf v = opf_vload(x + i);
        least = opf_vsmaller(v, least);
        most = opf_vlarger(v, most);
    }
    for (int lane = 0; lane < OPF_LANES; lane++) {
        *low = least[lane] < *low ? least[lane] : *low;
        *high = most[lane] > *high ? most[lane] : *high;
    }
    for (; i < n; i++) {
        *low = x[i] < *low ? x[i] : *low;
        *high = x[i] > *high ? x[i] : *high;
    }
}

static inline void opf_lib_quantization(float low, float high, float *scale, int *zero) {
    *scale = high > low ? (high - low) / 255.0f : 1.0f;
    *zero = (int)opf_round_f32(opf_min_f32(opf_max_f32(-low / *scale, 0), 255));
}

/* Of the whole input, but for the steps behind the end of the longest sequence. */
static inline void opf_lib_input_quantization(opf_lib_layer *l) {
    int64_t longest = 0;
    for (int64_t b = 0; b < l->batch; b++) longest = opf_lib_length(l, b) > longest ? opf_lib_length(l, b) : longest;
    float low = 0, high = 0;
    for (int64_t time = 0; time < longest; time++)
        for (int64_t b = 0; b < l->batch; b++) opf_lib_extend_range(opf_lib_input_row(l, time, b), l->input, &low, &high);
    opf_lib_quantization(low, high, &l->scale_x, &l->zero_x);
}

/* Row `row` of what these weights multiply, quantised, with zeros behind its end. */
static inline void opf_lib_quantize_row(const opf_lib_layer *l, const opf_lib_quads *w, int64_t row, const float *x, float scale, int zero) {
    const int64_t depth = w->depth;
    const int less = w->less;
    unsigned char *to = l->bytes + row * 4 * opf_lib_words(depth);
    int32_t total = 0;
    for (int64_t k = 0; k < depth; k++) {
        int q = (int)opf_min_f32(opf_max_f32(opf_round_f32(x[k] / scale) + (float)zero, 0), 255);
        to[k] = (unsigned char)(q - less);
        total += q - zero;
    }
    for (int64_t k = depth; k < 4 * opf_lib_words(depth); k++) to[k] = 0;
    l->row_sums[row] = total;
}

static inline int32_t opf_lib_flip(const opf_lib_quads *w) { return w->unsigned_weights ? (int32_t)0x80808080u : 0; }

/* What a product needs to know of each column; of `scales` and `zeros` there is one a direction, or one a column. What a zero point of the
 * rows takes off a column is told by a row of ones. */
static inline void opf_lib_describe_columns(const opf_lib_layer *l, opf_lib_quads *w, const opf_lib_tensor *scales, const opf_lib_tensor *zeros) {
    int64_t words = opf_lib_words(w->depth), columns = l->gates * l->hidden, of_scales = opf_lib_elements(scales) / l->directions;
    int64_t of_zeros = opf_lib_has(zeros) ? opf_lib_elements(zeros) / l->directions : 0;
    for (int64_t j = 0; j < l->columns; j++) {
        int64_t at = j < columns ? j : 0; /* behind the last: any number */
        w->scales[j] = ((const float *)scales->data)[l->direction * of_scales + (of_scales > 1 ? at : 0)];
        w->zeros[j] = of_zeros ? (int32_t)opf_lib_int(zeros, l->direction * of_zeros + (of_zeros > 1 ? at : 0)) : 0;
        w->zeros[j] -= w->unsigned_weights ? 128 : 0;
    }
    for (int64_t k = 0; k < 4 * words; k++) l->bytes[k] = k < w->depth;
    w->less = OPF_SIGNED_QUADS && !w->unsigned_weights ? 128 : 0;
    for (int64_t column = 0; column < l->columns; column += OPF_LIB_PANEL) {
        const unsigned char *panel = w->panels + column * 4 * words;
#if OPF_SIGNED_QUADS
        if (!w->unsigned_weights) {
            opf_lib_signed_quads_1(w->column_sums + column, l->bytes, panel, words); /* times one -128 is right, too */
            if (opf_lib_has_lowest(panel, OPF_LIB_PANEL * 4 * words)) w->less = 0;
            continue;
        }
#endif
        opf_lib_quads_1(w->column_sums + column, l->bytes, panel, words, opf_lib_flip(w));
    }
}

/* out[0 … PANEL) += row `row` of bytes · the columns from `column` on; sums: the bytes' products. */
static inline void opf_lib_add_quantized(const opf_lib_layer *l, const opf_lib_quads *w, int64_t row, int64_t column, const int32_t *sums, float scale, int zero,
                                         float *restrict out) {
    const int32_t *of_columns = w->column_sums + column, *zeros = w->zeros + column;
    const float *scales = w->scales + column;
    const uint32_t total = (uint32_t)l->row_sums[row], less = (uint32_t)zero;
    for (int j = 0; j < OPF_LIB_PANEL; j++) {
        uint32_t sum = (uint32_t)sums[j] - less * (uint32_t)of_columns[j] - total * (uint32_t)zeros[j];
        out[j] += (float)(int32_t)sum * (scale * scales[j]);
    }
}

/* out_i[0 … columns) += row i of bytes · the panels for n rows. */
static inline void opf_lib_add_quantized_products(const opf_lib_layer *l, const opf_lib_quads *w, int64_t n, float scale, int zero, float *out) {
    int64_t words = opf_lib_words(w->depth);
    int32_t sums[OPF_LIB_QUADS_TILE * OPF_LIB_PANEL];
    for (int64_t column = 0; column < l->columns; column += OPF_LIB_PANEL)
        for (int64_t row = 0; row < n; row += OPF_LIB_QUADS_TILE) {
            int count = n - row < OPF_LIB_QUADS_TILE ? (int)(n - row) : OPF_LIB_QUADS_TILE;
            const unsigned char *rows = l->bytes + row * 4 * words, *panel = w->panels + column * 4 * words;
#if OPF_SIGNED_QUADS
            if (w->less) opf_lib_signed_quads_tile(count, sums, rows, panel, words);
            else
#endif
                opf_lib_quads_tile(count, sums, rows, panel, words, opf_lib_flip(w));
            for (int i = 0; i < count; i++)
                opf_lib_add_quantized(l, w, row + i, column, sums + i * OPF_LIB_PANEL, scale, zero - w->less, out + (row + i) * l->columns + column);
        }
}

/* ---- products ---- */

/* What the gates' sums begin with: both biases; of GRU's third gate that of the input alone. */
static inline void opf_lib_first_sums(const opf_lib_layer *l) {
    memset(l->first, 0, (size_t)l->columns * sizeof *l->first);
    for (int64_t gate = 0; gate < l->gates && l->bias; gate++) {
        const float *of_x = l->bias + gate * l->hidden, *of_h = of_x + l->gates * l->hidden;
        float *to = l->first + opf_lib_gate_at(l, gate);
        for (int64_t k = 0; k < l->hidden; k++) to[k] = of_x[k] + (gate == 2 && l->gates == 3 ? 0 : of_h[k]);
    }
}

/* The input's share of all gates for steps first … first + count - 1; rows beyond the end of their sequence get numbers that nobody reads. */
static inline void opf_lib_input_products(const opf_lib_layer *l, int64_t first, int64_t count) {
    int64_t n = count * l->batch;
    for (int64_t i = 0; i < n; i++) {
        int64_t time = opf_lib_time(l, i % l->batch, first + i / l->batch);
        l->rows[i] = opf_lib_input_row(l, time < 0 ? 0 : time, i % l->batch);
        memcpy(l->products + i * l->columns, l->first, (size_t)l->columns * sizeof *l->first);
        if (l->quantized) opf_lib_quantize_row(l, &l->quads[0], i, l->rows[i], l->scale_x, l->zero_x);
    }
    if (l->quantized) opf_lib_add_quantized_products(l, &l->quads[0], n, l->scale_x, l->zero_x, l->products);
    else opf_lib_add_products(l->products, l->columns, l->rows, n, l->w, l->columns, l->input);
}

/* gate_b[0 … columns) += `states` · the columns of R from `from` on; quantised: all of them. */
static inline void opf_lib_state_products(const opf_lib_layer *l, const float *states, float *gate, int64_t pitch, int64_t from, int64_t columns) {
    if (l->quantized) {
        float scale;
        int zero;
        float low = 0, high = 0;
        opf_lib_extend_range(states, l->batch * l->hidden, &low, &high);
        opf_lib_quantization(low, high, &scale, &zero);
        for (int64_t b = 0; b < l->batch; b++) opf_lib_quantize_row(l, &l->quads[1], b, states + b * l->hidden, scale, zero);
        opf_lib_add_quantized_products(l, &l->quads[1], l->batch, scale, zero, gate);
        return;
    }
    for (int64_t b = 0; b < l->batch; b++) l->rows[b] = states + b * l->hidden;
    opf_lib_add_products(gate, pitch, l->rows, l->batch, l->r + from * l->hidden, columns, l->hidden);
}

/* ---- cells: one step of row b, whose sums are given ---- */

static inline void opf_lib_rnn_cell(const opf_lib_layer *l, int64_t b, float *g) {
    opf_lib_activate(l, 0, g, l->hidden);
    memcpy(l->h + b * l->hidden, g, (size_t)l->hidden * sizeof *g);
}

static inline void opf_lib_lstm_cell(const opf_lib_layer *l, int64_t b, float *i) {
    int64_t n = l->hidden;
    float *o = i + n, *f = o + n, *g = f + n, *c = l->c + b * n, *h = l->h + b * n;
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

static inline void opf_lib_gru_cell(const opf_lib_layer *l, int64_t b, float *z) {
    int64_t n = l->hidden;
    const float *r = z + n, *of_h = l->candidate + b * (l->columns - l->third);
    float *g = z + l->third, *h = l->h + b * n;
    for (int64_t k = 0; k < n; k++) g[k] += l->a->ints[2] ? r[k] * of_h[k] : of_h[k];
    opf_lib_activate(l, 1, g, n);
    for (int64_t k = 0; k < n; k++) h[k] = (1 - z[k]) * g[k] + z[k] * h[k];
}

/* The update and reset gates of all rows, and the state's share of the third gate. */
static inline void opf_lib_gru_gates(const opf_lib_layer *l, float *gate) {
    int64_t n = l->hidden, pitch = l->columns - l->third;
    const float *bias = l->bias ? l->bias + 5 * n : 0;
    opf_lib_state_products(l, l->h, gate, l->columns, 0, l->third);
    for (int64_t b = 0; b < l->batch; b++) {
        float *z = gate + b * l->columns, *r = z + n, *h = l->h + b * n;
        opf_lib_activate(l, 0, z, 2 * n);
        for (int64_t k = 0; k < n; k++) l->row[b * n + k] = l->a->ints[2] ? h[k] : r[k] * h[k];
        memset(l->candidate + b * pitch, 0, (size_t)pitch * sizeof *z);
        if (bias) memcpy(l->candidate + b * pitch, bias, (size_t)n * sizeof *bias);
    }
    opf_lib_state_products(l, l->row, l->candidate, pitch, l->third, pitch);
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

static inline void opf_lib_run_step(const opf_lib_layer *l, int64_t step, float *gate) {
    if (l->gates == 3) opf_lib_gru_gates(l, gate);
    else opf_lib_state_products(l, l->h, gate, l->columns, 0, l->columns);
    for (int64_t b = 0; b < l->batch; b++, gate += l->columns) {
        int64_t time = opf_lib_time(l, b, step);
        if (time < 0) {
            opf_lib_store_step(l, step, b, 0); /* times beyond the row's length are step numbers in both directions */
            continue;
        }
        if (l->gates == 4) opf_lib_lstm_cell(l, b, gate);
        else if (l->gates == 3) opf_lib_gru_cell(l, b, gate);
        else opf_lib_rnn_cell(l, b, gate);
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
    l->bias = opf_lib_has(&a->in[3]) ? (const float *)a->in[3].data + l->direction * 2 * l->gates * l->hidden : 0;
    opf_lib_first_sums(l);
    opf_lib_load_state(l, &a->in[5], l->h);
    if (l->lstm) opf_lib_load_state(l, &a->in[6], l->c);
    if (l->quantized) {
        opf_lib_input_quantization(l);
        for (int k = 0; k < 2; k++) opf_lib_describe_columns(l, &l->quads[k], &a->in[8 + 2 * k], &a->in[9 + 2 * k]);
    }
    for (int64_t first = 0; first < l->steps; first += OPF_LIB_STEPS) {
        int64_t count = l->steps - first < OPF_LIB_STEPS ? l->steps - first : OPF_LIB_STEPS;
        opf_lib_input_products(l, first, count);
        for (int64_t s = 0; s < count; s++) opf_lib_run_step(l, first + s, l->products + s * l->batch * l->columns);
    }
    opf_lib_save_state(l, l->h, &a->out[1]);
    if (l->lstm) opf_lib_save_state(l, l->c, &a->out[2]);
}

/* The panels of a weight of `depth` columns: as given, or made at `room`, which is then moved on. */
static inline const float *opf_lib_panels(const opf_lib_layer *l, const opf_lib_tensor *given, int64_t depth, float **room) {
    if (given->rank == 4) return (const float *)given->data;
    float *panels = *room;
    *room += l->directions * l->columns * depth;
    memset(panels, 0, (size_t)(l->directions * l->columns * depth) * sizeof *panels);
    for (int64_t d = 0; d < l->directions; d++)
        for (int64_t gate = 0; gate < l->gates; gate++)
            for (int64_t i = 0; i < l->hidden; i++) {
                const float *from = (const float *)given->data + ((d * l->gates + gate) * l->hidden + i) * depth;
                int64_t column = opf_lib_gate_at(l, gate) + i;
                float *to = panels + (d * l->columns + column / OPF_LIB_PANEL * OPF_LIB_PANEL) * depth + column % OPF_LIB_PANEL;
                for (int64_t k = 0; k < depth; k++) to[k * OPF_LIB_PANEL] = from[k];
            }
    return panels;
}

/* The same of quantised weights [directions][depth][gates * hidden]. */
static inline const unsigned char *opf_lib_quantized_panels(const opf_lib_layer *l, const opf_lib_tensor *given, int64_t depth, float **room) {
    if (given->rank == 5) return (const unsigned char *)given->data;
    int64_t words = opf_lib_words(depth), columns = l->gates * l->hidden;
    unsigned char *panels = (unsigned char *)*room;
    *room += l->directions * l->columns * words;
    memset(panels, 0, (size_t)(4 * l->directions * l->columns * words));
    for (int64_t d = 0; d < l->directions; d++)
        for (int64_t k = 0; k < depth; k++) {
            const unsigned char *from = (const unsigned char *)given->data + (d * depth + k) * columns;
            unsigned char *to = panels + 4 * (d * l->columns * words + k / 4 * OPF_LIB_PANEL) + k % 4;
            for (int64_t j = 0; j < columns; j++) to[4 * (j / OPF_LIB_PANEL * OPF_LIB_PANEL * words + j % OPF_LIB_PANEL)] = from[j];
        }
    return panels;
}

/* Floats of scratch beside panels. */
static inline int64_t opf_lib_recurrent_floats(int64_t gates, int64_t hidden, int64_t batch) {
    int64_t columns = opf_lib_gate_columns(gates, hidden);
    return batch * OPF_LIB_STEPS * (2 + columns) + columns * (batch + 1) + 3 * batch * hidden;
}
/* And of quantised layers beside those. */
static inline int64_t opf_lib_quantized_floats(int64_t gates, int64_t hidden, int64_t batch, int64_t input) {
    int64_t words = opf_lib_words(input > hidden ? input : hidden);
    return batch * OPF_LIB_STEPS * (words + 1) + words + 6 * opf_lib_gate_columns(gates, hidden); /* a row of ones needs room where there is no batch, too */
}

static inline void opf_lib_divide_scratch(opf_lib_layer *l) {
    l->rows = (const float **)l->a->scratch;
    l->products = (float *)l->a->scratch + 2 * OPF_LIB_STEPS * l->batch; /* a pointer is two floats at most */
    l->first = l->products + OPF_LIB_STEPS * l->batch * l->columns;
    l->candidate = l->first + l->columns;
    l->h = l->candidate + l->batch * l->columns;
    l->c = l->h + l->batch * l->hidden;
    l->row = l->c + l->batch * l->hidden;
    int32_t *at = (int32_t *)(l->row + l->batch * l->hidden); /* from here on: quantised */
    for (int k = 0; k < 2; k++, at += 3 * l->columns) {
        l->quads[k].column_sums = at;
        l->quads[k].zeros = at + l->columns;
        l->quads[k].scales = (float *)(at + 2 * l->columns);
    }
    l->row_sums = at;
    l->bytes = (unsigned char *)(l->row_sums + OPF_LIB_STEPS * l->batch);
}

static inline void opf_lib_recurrent_quads(opf_lib_layer *l, int k, const unsigned char *panels) {
    opf_lib_quads *w = &l->quads[k];
    w->depth = k ? l->hidden : l->input;
    w->panels = panels + 4 * l->direction * l->columns * opf_lib_words(w->depth);
    w->unsigned_weights = l->a->in[1 + k].dtype != OPF_LIB_I8;
}

static inline void opf_lib_recurrent(const opf_lib_args *a, int64_t gates, int activations, int quantized) {
    const int64_t *x = a->in[0].dims;
    int layout = a->ints[1] != 0;
    opf_lib_layer l = {.a = a, .steps = x[layout], .batch = x[!layout], .input = x[2], .gates = gates, .quantized = quantized, .lstm = gates == 4};
    l.directions = a->ints[0] == 2 ? 2 : 1;
    l.hidden = a->ints[3];
    l.third = opf_lib_third_gate(gates, l.hidden);
    l.columns = opf_lib_gate_columns(gates, l.hidden);
    opf_lib_divide_scratch(&l);
    float *room = (float *)a->scratch + opf_lib_recurrent_floats(gates, l.hidden, l.batch);
    const float *w = 0, *r = 0;
    const unsigned char *panels[2] = {0};
    if (quantized) {
        room += opf_lib_quantized_floats(gates, l.hidden, l.batch, l.input);
        for (int k = 0; k < 2; k++) panels[k] = opf_lib_quantized_panels(&l, &a->in[1 + k], k ? l.hidden : l.input, &room);
    } else {
        w = opf_lib_panels(&l, &a->in[1], l.input, &room);
        r = opf_lib_panels(&l, &a->in[2], l.hidden, &room);
    }
    for (l.direction = 0; l.direction < l.directions; l.direction++) {
        l.reverse = a->ints[0] == 1 || l.direction == 1;
        l.activations = a->ints + 4 + l.direction * activations;
        l.w = w ? w + l.direction * l.columns * l.input : 0;
        l.r = r ? r + l.direction * l.columns * l.hidden : 0;
        for (int k = 0; k < 2 && quantized; k++) opf_lib_recurrent_quads(&l, k, panels[k]);
        opf_lib_run_direction(&l);
    }
}

static inline void opf_lib_rnn(const opf_lib_args *a) { opf_lib_recurrent(a, 1, 1, 0); }
static inline void opf_lib_gru(const opf_lib_args *a) { opf_lib_recurrent(a, 3, 2, 0); }
static inline void opf_lib_lstm(const opf_lib_args *a) { opf_lib_recurrent(a, 4, 3, 0); }
static inline void opf_lib_lstm_quantized(const opf_lib_args *a) { opf_lib_recurrent(a, 4, 3, 1); }

#endif
