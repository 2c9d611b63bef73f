/* Execution of one instruction for all lanes of a block. */
#include <math.h>
#include <string.h>

#include "eval/exact.h"

typedef union opf_cell opf_cell;

static int lanes_of(const opf_lanes_state *state, int index) { return state->lanes->registers.data[index].uniform ? 1 : state->count; }
static bool is_uniform(const opf_lanes_state *state, int index) { return state->lanes->registers.data[index].uniform; }

/* Positions wrap around like any integer; one that leaves the tensor on the way is found out of range or is in it. */
static int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static int64_t base_of(const opf_lanes_state *state, const opf_linear *linear) {
    int64_t base = linear->constant;
    for (int i = 0; i < linear->count; i++) base = plus(base, times(linear->terms[i].factor, state->registers[linear->terms[i].reg][0].integer));
    return base;
}

/* ---- positions ---- */

static void execute_linear(opf_lanes_state *state, const opf_instruction *in) {
    opf_cell *out = state->registers[in->out];
    int count = state->count;
    for (int k = 0; k < in->linear.count; k++) {
        const opf_cell *from = state->registers[in->linear.terms[k].reg];
        int64_t factor = in->linear.terms[k].factor;
        if (k == 0) for (int i = 0; i < count; i++) out[i].integer = times(factor, from[i].integer);
        else for (int i = 0; i < count; i++) out[i].integer = plus(out[i].integer, times(factor, from[i].integer));
    }
    struct opf_span *span = &state->spans[in->out];
    *span = (struct opf_span){out[0].integer, out[0].integer, true};
    for (int i = 0; i < count; i++) {
        int64_t value = out[i].integer;
        if (value < span->low) span->low = value;
        if (value > span->high) span->high = value;
        span->contiguous = span->contiguous && value == plus(out[0].integer, i);
    }
}

static void fault(opf_lanes_state *state, const opf_instruction *in, int64_t index) {
    if (state->fault.found) return;
    state->fault = (opf_lanes_fault){true, in->tensor, in->axis, index, in->limit};
}

/* The first masked-in position outside 0 … limit - 1 is a fault; false then. */
static bool check_positions(opf_lanes_state *state, const opf_instruction *in, int64_t base) {
    const opf_cell *mask = in->mask < 0 ? NULL : state->registers[in->mask];
    bool mask_varies = mask && !is_uniform(state, in->mask);
    if (mask && !mask_varies && !mask[0].integer) return true;
    int count = in->a < 0 ? 1 : state->count;
    if (in->a < 0 && mask_varies) { /* one position, read by some lanes only */
        bool used = false;
        for (int i = 0; i < state->count; i++) used = used || mask[i].integer;
        if (!used) return true;
    }
    for (int i = 0; i < count; i++) {
        if (mask_varies && in->a >= 0 && !mask[i].integer) continue;
        int64_t at = plus(base, in->a < 0 ? 0 : state->registers[in->a][i].integer);
        if ((uint64_t)at < (uint64_t)in->limit) continue;
        fault(state, in, at);
        return false;
    }
    return true;
}

/* ---- loads: one loop for each way of storage ---- */

#define LOAD_LOOPS(TYPE, FIELD, CONVERT)                                                                                 \
    {                                                                                                                    \
        const TYPE *from = data;                                                                                         \
        int64_t first = contiguous ? base + offsets[0].integer : base;                                                    \
        if (!offsets) out[0].FIELD = CONVERT(from[base]);                                                                \
        else if (contiguous && mask) for (int i = 0; i < count; i++) out[i].FIELD = mask[i].integer ? CONVERT(from[first + i]) : 0; \
        else if (contiguous) for (int i = 0; i < count; i++) out[i].FIELD = CONVERT(from[first + i]);                    \
        else if (mask) for (int i = 0; i < count; i++) out[i].FIELD = mask[i].integer ? CONVERT(from[plus(base, offsets[i].integer)]) : 0; \
        else for (int i = 0; i < count; i++) out[i].FIELD = CONVERT(from[plus(base, offsets[i].integer)]);                    \
        break;                                                                                                           \
    }

#define AS_IT_IS(x) (x)
#define AS_TRUTH(x) ((x) != 0)

/* Positions are in range for every lane, or for every lane of the mask. */
static void load_lanes(opf_cell *out, const opf_operand *tensor, int64_t base, const opf_cell *offsets, bool contiguous, const opf_cell *mask, int count) {
    const void *data = tensor->data;
    bool real = opf_dtype_is_float(tensor->dtype);
    if (tensor->wide) {
        do {
            if (real) LOAD_LOOPS(double, real, AS_IT_IS)
            else LOAD_LOOPS(int64_t, integer, AS_IT_IS)
        } while (0);
        return;
    }
    switch (tensor->dtype) {
    case OPF_FLOAT32: LOAD_LOOPS(float, real, AS_IT_IS)
    case OPF_FLOAT64: LOAD_LOOPS(double, real, AS_IT_IS)
    case OPF_INT64: case OPF_UINT64: case OPF_STRING: LOAD_LOOPS(int64_t, integer, AS_IT_IS)
    case OPF_INT32: LOAD_LOOPS(int32_t, integer, AS_IT_IS)
    case OPF_UINT32: LOAD_LOOPS(uint32_t, integer, AS_IT_IS)
    case OPF_INT8: LOAD_LOOPS(int8_t, integer, AS_IT_IS)
    case OPF_UINT8: LOAD_LOOPS(uint8_t, integer, AS_IT_IS)
    default: LOAD_LOOPS(uint8_t, integer, AS_TRUTH) /* bool */
    }
}

static void take_magnitudes(opf_cell *out, const opf_cell *a, int count) {
    for (int i = 0; i < count; i++) out[i].real = fabs(a[i].real);
}

static void fill_zero(opf_cell *out, int count) { memset(out, 0, (size_t)count * sizeof *out); }

static void execute_load(opf_lanes_state *state, const opf_instruction *in) {
    const opf_operand *tensor = &state->lanes->tensors[in->tensor];
    opf_cell *out = state->registers[in->out];
    const opf_cell *mask = in->mask < 0 ? NULL : state->registers[in->mask];
    int count = lanes_of(state, in->out);
    if (mask && is_uniform(state, in->mask)) {
        if (!mask[0].integer) return fill_zero(out, count);
        mask = NULL;
    }
    int64_t base = base_of(state, &in->linear);
    const opf_cell *offsets = in->a < 0 ? NULL : state->registers[in->a];
    struct opf_span span = {0, 0, false};
    if (offsets) span = state->spans[in->a];
    int64_t low, high;
    bool overflows = __builtin_add_overflow(base, span.low, &low) || __builtin_add_overflow(base, span.high, &high);
    bool inside = !overflows && low >= 0 && high < in->limit;
    if (!inside) {
        if (!check_positions(state, in, base)) return fill_zero(out, count);
        if (!offsets) return fill_zero(out, count); /* read by no lane */
        span.contiguous = false;
    }
    if (!offsets && mask) { /* one element for the lanes of the mask */
        load_lanes(out, tensor, base, NULL, false, NULL, 1);
        if (in->magnitude) take_magnitudes(out, out, 1);
        opf_cell value = out[0];
        for (int i = 0; i < count; i++) out[i].integer = mask[i].integer ? value.integer : 0;
        return;
    }
    load_lanes(out, tensor, base, offsets, span.contiguous, mask, count);
    if (in->magnitude) take_magnitudes(out, out, count);
}

/* ---- arithmetic ---- */

#define LOOP(OUT, A, B, EXPRESSION)                                                                                      \
    {                                                                                                                    \
        if (same_a && same_b) { const int i = 0; OUT[0] EXPRESSION(A[0], B[0]); (void)i; }                               \
        else if (same_b) for (int i = 0; i < count; i++) OUT[i] EXPRESSION(A[i], B[0]);                                  \
        else if (same_a) for (int i = 0; i < count; i++) OUT[i] EXPRESSION(A[0], B[i]);                                  \
        else for (int i = 0; i < count; i++) OUT[i] EXPRESSION(A[i], B[i]);                                              \
        return;                                                                                                          \
    }

#define REAL_ADD(x, y) .real = (x).real + (y).real
#define REAL_SUB(x, y) .real = (x).real - (y).real
#define REAL_MUL(x, y) .real = (x).real * (y).real
#define REAL_DIV(x, y) .real = (x).real / (y).real
#define REAL_LT(x, y) .integer = (x).real < (y).real
#define REAL_LE(x, y) .integer = (x).real <= (y).real
#define REAL_GT(x, y) .integer = (x).real > (y).real
#define REAL_GE(x, y) .integer = (x).real >= (y).real
#define REAL_EQ(x, y) .integer = (x).real == (y).real
#define REAL_NE(x, y) .integer = (x).real != (y).real
#define WHOLE_ADD(x, y) .integer = (int64_t)((uint64_t)(x).integer + (uint64_t)(y).integer)
#define WHOLE_SUB(x, y) .integer = (int64_t)((uint64_t)(x).integer - (uint64_t)(y).integer)
#define WHOLE_MUL(x, y) .integer = (int64_t)((uint64_t)(x).integer * (uint64_t)(y).integer)
#define WHOLE_LT(x, y) .integer = (x).integer < (y).integer
#define WHOLE_LE(x, y) .integer = (x).integer <= (y).integer
#define WHOLE_EQ(x, y) .integer = (x).integer == (y).integer
#define WHOLE_NE(x, y) .integer = (x).integer != (y).integer
#define WHOLE_AND(x, y) .integer = (x).integer & (y).integer
#define WHOLE_OR(x, y) .integer = (x).integer | (y).integer

static void real_binary(opf_scalar_op op, opf_cell *restrict out, const opf_cell *a, const opf_cell *b, bool same_a, bool same_b, int count) {
    switch (op) {
    case OPF_OP_ADD: LOOP(out, a, b, REAL_ADD)
    case OPF_OP_SUB: LOOP(out, a, b, REAL_SUB)
    case OPF_OP_MUL: LOOP(out, a, b, REAL_MUL)
    case OPF_OP_DIV: LOOP(out, a, b, REAL_DIV)
    case OPF_OP_LT: LOOP(out, a, b, REAL_LT)
    case OPF_OP_LE: LOOP(out, a, b, REAL_LE)
    case OPF_OP_GT: LOOP(out, a, b, REAL_GT)
    case OPF_OP_GE: LOOP(out, a, b, REAL_GE)
    case OPF_OP_EQ: LOOP(out, a, b, REAL_EQ)
    case OPF_OP_NE: LOOP(out, a, b, REAL_NE)
    default: break;
    }
    int step_a = !same_a, step_b = !same_b;
    if (opf_scalar_ops[op].compares) for (int i = 0; i < count; i++) out[i].integer = opf_scalar_eval(op, a[i * step_a].real, b[i * step_b].real) != 0;
    else for (int i = 0; i < count; i++) out[i].real = opf_scalar_eval(op, a[i * step_a].real, b[i * step_b].real);
}

static void whole_binary(opf_scalar_op op, opf_dtype dtype, opf_cell *restrict out, const opf_cell *a, const opf_cell *b, bool same_a, bool same_b, int count) {
    if (dtype == OPF_INT64 || dtype == OPF_BOOL) {
        switch (op) {
        case OPF_OP_ADD: LOOP(out, a, b, WHOLE_ADD)
        case OPF_OP_SUB: LOOP(out, a, b, WHOLE_SUB)
        case OPF_OP_MUL: LOOP(out, a, b, WHOLE_MUL)
        case OPF_OP_LT: LOOP(out, a, b, WHOLE_LT)
        case OPF_OP_LE: LOOP(out, a, b, WHOLE_LE)
        case OPF_OP_EQ: LOOP(out, a, b, WHOLE_EQ)
        case OPF_OP_NE: LOOP(out, a, b, WHOLE_NE)
        case OPF_OP_AND: LOOP(out, a, b, WHOLE_AND)
        case OPF_OP_OR: LOOP(out, a, b, WHOLE_OR)
        default: break;
        }
    }
    int step_a = !same_a, step_b = !same_b;
    for (int i = 0; i < count; i++) out[i].integer = opf_scalar_eval_int(op, dtype, a[i * step_a].integer, b[i * step_b].integer);
}

static void execute_binary(opf_lanes_state *state, const opf_instruction *in) {
    opf_cell *out = state->registers[in->out];
    const opf_cell *a = state->registers[in->a], *b = state->registers[in->b];
    bool same_a = is_uniform(state, in->a), same_b = is_uniform(state, in->b);
    int count = lanes_of(state, in->out);
    opf_scalar_op op = (opf_scalar_op)in->op;
    bool real = opf_dtype_is_float((opf_dtype)in->dtype);
    if (real && state->lanes->exact) opf_exact_binary(op, (opf_dtype)in->dtype, out, a, !same_a, b, !same_b, count);
    else if (real) real_binary(op, out, a, b, same_a, same_b, count);
    else whole_binary(op, (opf_dtype)in->dtype, out, a, b, same_a, same_b, count);
}

static void execute_unary(opf_lanes_state *state, const opf_instruction *in) {
    opf_cell *out = state->registers[in->out];
    const opf_cell *a = state->registers[in->a];
    int count = lanes_of(state, in->out);
    opf_scalar_op op = (opf_scalar_op)in->op;
    bool real = opf_dtype_is_float((opf_dtype)in->dtype);
    if (!real) for (int i = 0; i < count; i++) out[i].integer = opf_scalar_eval_int(op, (opf_dtype)in->dtype, a[i].integer, 0);
    else if (state->lanes->exact) opf_exact_unary(op, (opf_dtype)in->dtype, out, a, count);
    else if (op == OPF_OP_ISNAN) for (int i = 0; i < count; i++) out[i].integer = isnan(a[i].real) != 0;
    else if (op == OPF_OP_ISINF) for (int i = 0; i < count; i++) out[i].integer = isinf(a[i].real) != 0;
    else if (opf_scalar_ops[op].compares) for (int i = 0; i < count; i++) out[i].integer = opf_scalar_eval(op, a[i].real, 0) != 0;
    else if (op == OPF_OP_ABS) take_magnitudes(out, a, count);
    else if (op == OPF_OP_EXP) for (int i = 0; i < count; i++) out[i].real = exp(a[i].real);
    else if (op == OPF_OP_TANH) for (int i = 0; i < count; i++) out[i].real = tanh(a[i].real);
    else if (op == OPF_OP_ERF) for (int i = 0; i < count; i++) out[i].real = erf(a[i].real);
    else if (op == OPF_OP_SQRT) for (int i = 0; i < count; i++) out[i].real = sqrt(a[i].real);
    else if (op == OPF_OP_NEG) for (int i = 0; i < count; i++) out[i].real = -a[i].real;
    else for (int i = 0; i < count; i++) out[i].real = opf_scalar_eval(op, a[i].real, 0);
}

static void execute_select(opf_lanes_state *state, const opf_instruction *in) {
    opf_cell *out = state->registers[in->out];
    const opf_cell *condition = state->registers[in->a], *b = state->registers[in->b], *c = state->registers[in->c];
    int step_b = !is_uniform(state, in->b), step_c = !is_uniform(state, in->c), count = lanes_of(state, in->out);
    if (is_uniform(state, in->a)) {
        if (!condition[0].integer) b = c, step_b = step_c;
        for (int i = 0; i < count; i++) out[i] = b[i * step_b];
        return;
    }
    for (int i = 0; i < count; i++) out[i] = condition[i].integer ? b[i * step_b] : c[i * step_c];
}

/* ---- casts ---- */

static int64_t to_integer(opf_dtype dtype, double value) {
    unsigned char bytes[8] = {0};
    opf_dtype_store(dtype, bytes, 0, value);
    return opf_dtype_load_int(dtype, bytes, 0);
}

static void execute_cast(opf_lanes_state *state, const opf_instruction *in) {
    opf_cell *out = state->registers[in->out];
    const opf_cell *a = state->registers[in->a];
    opf_dtype to = (opf_dtype)in->dtype, from = (opf_dtype)in->from;
    bool to_real = opf_dtype_is_float(to), from_real = opf_dtype_is_float(from);
    int count = lanes_of(state, in->out);
    /* Values in between are kept in double; a cast to a wider type has nothing to round. */
    bool rounds = !from_real || opf_dtype_bits(from) >= opf_dtype_bits(to);
    if (to_real && from_real && !rounds) memcpy(out, a, (size_t)count * sizeof *out);
    else if (to_real && from_real) for (int i = 0; i < count; i++) out[i].real = opf_dtype_cast(to, a[i].real);
    else if (to == OPF_FLOAT32 && state->lanes->exact && from == OPF_UINT64) for (int i = 0; i < count; i++) out[i].real = (float)(uint64_t)a[i].integer; /* rounds once */
    else if (to == OPF_FLOAT32 && state->lanes->exact) for (int i = 0; i < count; i++) out[i].real = (float)a[i].integer;
    else if (to_real && from == OPF_UINT64) for (int i = 0; i < count; i++) out[i].real = opf_dtype_round(to, (double)(uint64_t)a[i].integer);
    else if (to_real) for (int i = 0; i < count; i++) out[i].real = opf_dtype_round(to, (double)a[i].integer);
    else if (from_real) for (int i = 0; i < count; i++) out[i].integer = to_integer(to, a[i].real);
    else if (to == OPF_INT64) memcpy(out, a, (size_t)count * sizeof *out);
    else for (int i = 0; i < count; i++) out[i].integer = opf_scalar_eval_int(OPF_OP_TRUNC, to, a[i].integer, 0);
}

static void execute_and_not(opf_lanes_state *state, const opf_instruction *in) {
    opf_cell *out = state->registers[in->out];
    const opf_cell *a = state->registers[in->a], *b = state->registers[in->b];
    int step_a = !is_uniform(state, in->a), step_b = !is_uniform(state, in->b), count = lanes_of(state, in->out);
    for (int i = 0; i < count; i++) out[i].integer = a[i * step_a].integer && !b[i * step_b].integer;
}

void opf_lanes_execute(opf_lanes_state *state, const opf_instruction *in) {
    switch ((opf_lanes_code)in->code) {
    case OPF_LANES_LINEAR: execute_linear(state, in); break;
    case OPF_LANES_CHECK: check_positions(state, in, base_of(state, &in->linear)); break;
    case OPF_LANES_LOAD: execute_load(state, in); break;
    case OPF_LANES_UNARY: execute_unary(state, in); break;
    case OPF_LANES_BINARY: execute_binary(state, in); break;
    case OPF_LANES_SELECT: execute_select(state, in); break;
    case OPF_LANES_CAST: execute_cast(state, in); break;
    case OPF_LANES_AND_NOT: execute_and_not(state, in); break;
    }
}
