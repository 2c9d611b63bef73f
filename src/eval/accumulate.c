/* Reductions over a block's lanes. */
#include <math.h>

#include "eval/exact.h"

typedef union opf_cell opf_cell;

typedef struct opf_term { const opf_cell *cells; int step; } opf_term;

static opf_term term_of(const opf_lanes_state *state, int index) {
    return (opf_term){state->registers[index], !state->lanes->registers.data[index].uniform};
}

static bool is_extreme(opf_combiner combiner) { return combiner >= OPF_COMBINE_ARGMIN; }

/* Least and greatest value of an integer type, as int64 bits for uint64. */
static int64_t identity_integer(opf_combiner combiner, opf_dtype dtype) {
    int bits = opf_dtype_bits(dtype);
    bool is_signed = opf_dtype_is_signed(dtype);
    uint64_t all = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    switch (combiner) {
    case OPF_COMBINE_PROD: case OPF_COMBINE_AND: return 1;
    case OPF_COMBINE_MIN: return dtype == OPF_BOOL ? 1 : (int64_t)(is_signed ? all >> 1 : all);
    case OPF_COMBINE_MAX: return is_signed ? -(int64_t)(all >> 1) - 1 : 0;
    default: return 0;
    }
}

static double identity_real(opf_combiner combiner) {
    switch (combiner) {
    case OPF_COMBINE_PROD: return 1;
    case OPF_COMBINE_MIN: return INFINITY;
    case OPF_COMBINE_MAX: return -INFINITY;
    default: return 0;
    }
}

void opf_lanes_reset(opf_lanes_state *state) {
    const opf_stage *stage = state->lanes->stage;
    opf_dtype dtype = (opf_dtype)stage->body->dtype;
    bool real = opf_dtype_is_float(dtype);
    opf_cell start = {.integer = 0};
    if (real) start.real = identity_real(stage->combiner);
    else start.integer = identity_integer(stage->combiner, dtype);
    for (int i = 0; i < state->count; i++) state->accumulator[i] = start, state->companion[i].integer = 0;
    state->started = false;
}

/* Neumaier's sum: the companion collects what rounding lost. */
static void add_exactly(opf_lanes_state *state, opf_term term) {
    for (int i = 0; i < state->count; i++) {
        double sum = state->accumulator[i].real, value = term.cells[i * term.step].real, total = sum + value;
        if (isfinite(total)) state->companion[i].real += fabs(sum) >= fabs(value) ? (sum - total) + value : (value - total) + sum;
        state->accumulator[i].real = total;
    }
}

static void accumulate_real(opf_lanes_state *state, opf_term term) {
    opf_cell *restrict out = state->accumulator;
    int count = state->count;
    switch (state->lanes->stage->combiner) {
    case OPF_COMBINE_SUM:
        if (state->lanes->stage->accumulator == OPF_FLOAT64) add_exactly(state, term);
        else if (term.step) for (int i = 0; i < count; i++) out[i].real += term.cells[i].real;
        else for (int i = 0; i < count; i++) out[i].real += term.cells[0].real;
        break;
    case OPF_COMBINE_PROD:
        for (int i = 0; i < count; i++) out[i].real *= term.cells[i * term.step].real;
        break;
    case OPF_COMBINE_MIN:
        for (int i = 0; i < count; i++) out[i].real = opf_scalar_eval(OPF_OP_MIN, out[i].real, term.cells[i * term.step].real);
        break;
    default:
        for (int i = 0; i < count; i++) out[i].real = opf_scalar_eval(OPF_OP_MAX, out[i].real, term.cells[i * term.step].real);
    }
}

/* Every step rounded to the running value's type. */
static void accumulate_exactly(opf_lanes_state *state, opf_term term) {
    static const opf_scalar_op operations[OPF_COMBINE_COUNT] = {
        [OPF_COMBINE_SUM] = OPF_OP_ADD, [OPF_COMBINE_PROD] = OPF_OP_MUL, [OPF_COMBINE_MIN] = OPF_OP_MIN, [OPF_COMBINE_MAX] = OPF_OP_MAX,
    };
    const opf_stage *stage = state->lanes->stage;
    opf_exact_binary(operations[stage->combiner], stage->accumulator, state->accumulator, state->accumulator, 1, term.cells, term.step, state->count);
}

static void accumulate_integer(opf_lanes_state *state, opf_term term) {
    static const opf_scalar_op operations[OPF_COMBINE_COUNT] = {
        [OPF_COMBINE_SUM] = OPF_OP_ADD, [OPF_COMBINE_PROD] = OPF_OP_MUL, [OPF_COMBINE_MIN] = OPF_OP_MIN,
        [OPF_COMBINE_MAX] = OPF_OP_MAX, [OPF_COMBINE_AND] = OPF_OP_AND, [OPF_COMBINE_OR] = OPF_OP_OR,
    };
    opf_combiner combiner = state->lanes->stage->combiner;
    opf_dtype dtype = state->lanes->stage->accumulator;
    opf_cell *out = state->accumulator;
    if (combiner == OPF_COMBINE_SUM && dtype != OPF_BOOL) { /* wrapped at the end */
        for (int i = 0; i < state->count; i++) out[i].integer = (int64_t)((uint64_t)out[i].integer + (uint64_t)term.cells[i * term.step].integer);
        return;
    }
    for (int i = 0; i < state->count; i++)
        out[i].integer = opf_scalar_eval_int(operations[combiner], dtype, out[i].integer, term.cells[i * term.step].integer);
}

/* Does a new value take the place of the best so far? NaN is the most extreme of all. */
static bool replaces(opf_combiner combiner, bool real, opf_dtype dtype, opf_cell best, opf_cell value) {
    bool last = combiner >= OPF_COMBINE_ARGMIN_LAST;
    bool least = combiner == OPF_COMBINE_ARGMIN || combiner == OPF_COMBINE_ARGMIN_LAST;
    if (real) {
        if (isnan(best.real) || isnan(value.real)) return isnan(value.real) && (last || !isnan(best.real));
        if (best.real == value.real) return last;
        return least ? value.real < best.real : value.real > best.real;
    }
    if (best.integer == value.integer) return last;
    return opf_scalar_eval_int(OPF_OP_LT, dtype, value.integer, best.integer) == least;
}

static void accumulate_extreme(opf_lanes_state *state, opf_term value, opf_term index) {
    const opf_stage *stage = state->lanes->stage;
    bool real = opf_dtype_is_float((opf_dtype)stage->body->dtype);
    for (int i = 0; i < state->count; i++) {
        opf_cell cell = value.cells[i * value.step];
        if (state->started && !replaces(stage->combiner, real, (opf_dtype)stage->body->dtype, state->accumulator[i], cell)) continue;
        state->accumulator[i] = cell;
        state->companion[i] = index.cells[i * index.step];
    }
    state->started = true;
}

static void accumulate_product(opf_lanes_state *state) {
    opf_cell *restrict out = state->accumulator;
    opf_term a = term_of(state, state->lanes->factors[0]), b = term_of(state, state->lanes->factors[1]);
    int count = state->count;
    if (state->lanes->exact) {
        opf_cell product[OPF_LANES];
        opf_exact_binary(OPF_OP_MUL, (opf_dtype)state->lanes->stage->body->dtype, product, a.cells, a.step, b.cells, b.step, count);
        accumulate_exactly(state, (opf_term){product, 1});
    } else if (a.step && b.step) for (int i = 0; i < count; i++) out[i].real += a.cells[i].real * b.cells[i].real;
    else if (a.step) for (int i = 0; i < count; i++) out[i].real += a.cells[i].real * b.cells[0].real;
    else if (b.step) for (int i = 0; i < count; i++) out[i].real += a.cells[0].real * b.cells[i].real;
    else for (int i = 0; i < count; i++) out[i].real += a.cells[0].real * b.cells[0].real;
}

void opf_lanes_accumulate(opf_lanes_state *state) {
    const opf_lanes *lanes = state->lanes;
    if (lanes->value < 0) return accumulate_product(state);
    opf_term term = term_of(state, lanes->value);
    if (is_extreme(lanes->stage->combiner)) accumulate_extreme(state, term, term_of(state, lanes->second));
    else if (opf_dtype_is_float((opf_dtype)lanes->stage->body->dtype)) (lanes->exact ? accumulate_exactly : accumulate_real)(state, term);
    else accumulate_integer(state, term);
}

void opf_lanes_finish(opf_lanes_state *state) {
    const opf_stage *stage = state->lanes->stage;
    if (stage->n_reduce == 0) {
        opf_term term = term_of(state, state->lanes->value);
        for (int i = 0; i < state->count; i++) state->accumulator[i] = term.cells[i * term.step];
        return;
    }
    bool real = opf_dtype_is_float((opf_dtype)stage->body->dtype);
    if (is_extreme(stage->combiner)) {
        for (int i = 0; i < state->count; i++) state->accumulator[i] = state->companion[i];
    } else if (real && state->lanes->exact) {
        for (int i = 0; i < state->count && stage->dtype != stage->accumulator; i++) state->accumulator[i].real = opf_dtype_round(stage->dtype, state->accumulator[i].real);
    } else if (real && stage->accumulator == OPF_FLOAT64 && stage->combiner == OPF_COMBINE_SUM) {
        for (int i = 0; i < state->count; i++)
            if (isfinite(state->accumulator[i].real)) state->accumulator[i].real += state->companion[i].real;
    } else if (!real) {
        for (int i = 0; i < state->count; i++) {
            int64_t value = opf_scalar_eval_int(OPF_OP_TRUNC, stage->accumulator, state->accumulator[i].integer, 0);
            state->accumulator[i].integer = opf_scalar_eval_int(OPF_OP_TRUNC, stage->dtype, value, 0);
        }
    }
}
