/* The interpreter of stages against plain loops: windows with padding, rows, pairs, indices from data, integers, floor
 * division in indices, more lanes than a block holds, empty domains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/lanes.h"

typedef struct fixture {
    opf_arena *arena;
    opf_pool *pool;
    opf_operand tensors[8];
    int n_tensors;
    uint64_t seed;
} fixture;

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->arena = opf_arena_new();
    f->pool = opf_pool_new(f->arena);
    f->seed = 1;
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    opf_arena_free(f->arena);
    free(f);
    return 0;
}

static uint64_t draw(fixture *f, uint64_t below) {
    f->seed = f->seed * UINT64_C(6364136223846793005) + 1;
    return (f->seed >> 33) % below;
}

static int add_tensor(fixture *f, opf_dtype dtype, int rank, const int64_t *dims, const void *data) {
    int64_t elements = 1;
    for (int i = 0; i < rank; i++) elements *= dims[i];
    f->tensors[f->n_tensors] = (opf_operand){dtype, false, rank, opf_arena_copy(f->arena, dims, (size_t)rank * sizeof *dims), elements, data};
    return f->n_tensors++;
}

static float *random_floats(fixture *f, int64_t count) {
    float *data = OPF_ARRAY(f->arena, float, count + 1);
    for (int64_t i = 0; i < count; i++) data[i] = ((float)draw(f, 2001) - 1000) / 256;
    return data;
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define EXPRS(...) ((const opf_expr *const[]){__VA_ARGS__})

/* Compiles and runs; the result has 8 bytes an element. NULL: a fault, or a reason in *why. */
static void *run(fixture *f, opf_stage stage, const int64_t *extents, opf_lanes_fault *fault) {
    const char *why = NULL;
    opf_stage *kept = opf_arena_copy(f->arena, &stage, sizeof stage);
    int64_t symbols[1] = {0};
    opf_lanes *lanes = opf_lanes_compile(f->arena, kept, f->tensors, extents, symbols, false, &why);
    if (!lanes) fail_msg("%s", why);
    void *result = OPF_ARRAY(f->arena, int64_t, lanes->elements + 1);
    return opf_lanes_run(lanes, result, fault) ? result : NULL;
}

static opf_stage map_stage(int n_axes, const opf_expr *body) {
    return (opf_stage){.n_axes = n_axes, .dtype = (opf_dtype)body->dtype, .accumulator = (opf_dtype)body->dtype, .body = body};
}

static opf_stage reduce_stage(int n_axes, int n_reduce, opf_combiner combiner, const opf_expr *body) {
    opf_stage stage = map_stage(n_axes, body);
    stage.n_reduce = n_reduce;
    stage.combiner = combiner;
    return stage;
}

static const opf_expr *v(fixture *f, int k) { return opf_var(f->pool, k); }
static const opf_expr *num(fixture *f, int64_t value) { return opf_int(f->pool, value); }
static const opf_expr *op(fixture *f, opf_scalar_op which, const opf_expr *a, const opf_expr *b) { return opf_binary(f->pool, which, a, b); }

/* How the factors of a convolution are given. */
typedef struct factors { bool magnitudes, wide; } factors;

static const opf_expr *factor(fixture *f, factors how, const opf_expr *load) { return how.magnitudes ? opf_unary(f->pool, OPF_OP_ABS, load) : load; }

/* A float32 tensor, in doubles where the factors are wide. */
static int add_factor(fixture *f, factors how, int rank, const int64_t *dims, const float *data) {
    int tensor = add_tensor(f, OPF_FLOAT32, rank, dims, data);
    int64_t elements = f->tensors[tensor].elements;
    double *wide = OPF_ARRAY(f->arena, double, elements + 1);
    for (int64_t i = 0; i < elements; i++) wide[i] = data[i];
    if (how.wide) f->tensors[tensor].wide = true, f->tensors[tensor].data = wide;
    return tensor;
}

/* Convolution 3x3, stride 2, padding 1 and groups, whose index expressions and border predicate are those of the operator; or the sum of
 * its products' magnitudes. */
static void check_convolution_of(fixture *f, factors how, int64_t n, int64_t c, int64_t m, int64_t h, int64_t w, int64_t stride) {
    int64_t oh = (h - 1) / stride + 1, ow = (w - 1) / stride + 1;
    const float *x = random_floats(f, n * c * h * w), *k = random_floats(f, m * c * 9);
    int tx = add_factor(f, how, 4, DIMS(n, c, h, w), x), tk = add_factor(f, how, 4, DIMS(m, c, 3, 3), k);
    const opf_expr *ih = opf_sub(f->pool, opf_add(f->pool, opf_mul(f->pool, v(f, 2), num(f, stride)), v(f, 5)), num(f, 1));
    const opf_expr *iw = opf_sub(f->pool, opf_add(f->pool, opf_mul(f->pool, v(f, 3), num(f, stride)), v(f, 6)), num(f, 1));
    const opf_expr *rows = op(f, OPF_OP_AND, op(f, OPF_OP_LE, num(f, 0), ih), op(f, OPF_OP_LT, ih, num(f, h)));
    const opf_expr *columns = op(f, OPF_OP_AND, op(f, OPF_OP_LE, num(f, 0), iw), op(f, OPF_OP_LT, iw, num(f, w)));
    const opf_expr *read = factor(f, how, opf_load(f->pool, OPF_FLOAT32, tx, 4, EXPRS(v(f, 0), v(f, 4), ih, iw)));
    const opf_expr *padded = opf_select(f->pool, op(f, OPF_OP_AND, rows, columns), read, opf_real(f->pool, OPF_FLOAT32, 0));
    const opf_expr *body = op(f, OPF_OP_MUL, padded, factor(f, how, opf_load(f->pool, OPF_FLOAT32, tk, 4, EXPRS(v(f, 1), v(f, 4), v(f, 5), v(f, 6)))));
    opf_lanes_fault fault;
    const double *y = run(f, reduce_stage(4, 3, OPF_COMBINE_SUM, body), DIMS(n, m, oh, ow, c, 3, 3), &fault);
    assert_non_null(y);
    for (int64_t i = 0; i < n * m * oh * ow; i++) {
        int64_t a = i / (m * oh * ow), b = i / (oh * ow) % m, p = i / ow % oh, q = i % ow;
        double sum = 0;
        for (int64_t e = 0; e < c; e++)
            for (int64_t r = 0; r < 9; r++) {
                int64_t row = p * stride + r / 3 - 1, column = q * stride + r % 3 - 1;
                if (row < 0 || row >= h || column < 0 || column >= w) continue;
                double term = (double)x[((a * c + e) * h + row) * w + column] * k[(b * c + e) * 9 + r];
                sum += how.magnitudes ? fabs(term) : term;
            }
        assert_true(fabs(y[i] - sum) <= 1e-12 * (1 + fabs(sum)));
    }
    f->n_tensors = 0;
}

static void check_convolution(fixture *f, int64_t n, int64_t c, int64_t m, int64_t h, int64_t w, int64_t stride) {
    for (int way = 0; way < 4; way++) check_convolution_of(f, (factors){way & 1, way & 2}, n, c, m, h, w, stride);
}

static void convolution_with_borders(void **state) {
    fixture *f = *state;
    check_convolution(f, 2, 3, 5, 7, 7, 1);
    check_convolution(f, 1, 4, 3, 9, 11, 2);
    check_convolution(f, 1, 1, 2, 1, 1, 1);
    check_convolution(f, 1, 2, 2, 3, 700, 1);
    check_convolution(f, 3, 2, 70, 2, 2, 1);
    check_convolution(f, 1, 9, 70, 7, 7, 1);
    check_convolution(f, 2, 9, 3, 20, 20, 1);
    check_convolution(f, 1, 8, 2, 5, 40, 2);
    check_convolution(f, 1, 6, 2, 1, 600, 1);
}

/* Whole rows of padding: one condition for all lanes, and a factor that is left out for a run of terms. */
static void padding_of_rows_only(void **state) {
    fixture *f = *state;
    enum { CHANNELS = 9, ROWS = 5, COLUMNS = 70 };
    const float *x = random_floats(f, CHANNELS * ROWS * COLUMNS), *k = random_floats(f, CHANNELS * 3);
    int tx = add_tensor(f, OPF_FLOAT32, 3, DIMS(CHANNELS, ROWS, COLUMNS), x), tk = add_tensor(f, OPF_FLOAT32, 2, DIMS(CHANNELS, 3), k);
    const opf_expr *row = opf_sub(f->pool, opf_add(f->pool, v(f, 0), v(f, 3)), num(f, 1)), *zero = opf_real(f->pool, OPF_FLOAT32, 0);
    const opf_expr *within = op(f, OPF_OP_AND, op(f, OPF_OP_LE, num(f, 0), row), op(f, OPF_OP_LT, row, num(f, ROWS)));
    const opf_expr *padded = opf_select(f->pool, within, opf_load(f->pool, OPF_FLOAT32, tx, 3, EXPRS(v(f, 2), row, v(f, 1))), zero);
    const opf_expr *weight = opf_select(f->pool, within, opf_load(f->pool, OPF_FLOAT32, tk, 2, EXPRS(v(f, 2), v(f, 3))), zero);
    for (int both = 0; both < 2; both++) {
        const opf_expr *body = op(f, OPF_OP_MUL, padded, both ? weight : opf_load(f->pool, OPF_FLOAT32, tk, 2, EXPRS(v(f, 2), v(f, 3))));
        opf_lanes_fault fault;
        const double *y = run(f, reduce_stage(2, 2, OPF_COMBINE_SUM, body), DIMS(ROWS, COLUMNS, CHANNELS, 3), &fault);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            double sum = 0;
            for (int c = 0; c < CHANNELS; c++)
                for (int r = 0; r < 3; r++) {
                    int at = i / COLUMNS + r - 1;
                    if (at >= 0 && at < ROWS) sum += (double)x[(c * ROWS + at) * COLUMNS + i % COLUMNS] * k[c * 3 + r];
                }
            assert_true(fabs(y[i] - sum) < 1e-12);
        }
    }
}

/* What is masked out is 0, and 0 times infinity is NaN in the interpreter's fast ways too. */
static void zeros_meet_infinity(void **state) {
    fixture *f = *state;
    enum { CHANNELS = 8, SIZE = 70 };
    float *x = random_floats(f, CHANNELS * SIZE), k[CHANNELS] = {1, 2, 3, INFINITY, 5, 6, 7, 8};
    int tx = add_tensor(f, OPF_FLOAT32, 2, DIMS(CHANNELS, SIZE), x), tk = add_tensor(f, OPF_FLOAT32, 1, DIMS(CHANNELS), k);
    for (int stride = 1; stride <= 2; stride++) {
        const opf_expr *at = opf_sub(f->pool, opf_mul(f->pool, v(f, 0), num(f, stride)), num(f, 10)), *channel = v(f, 1);
        const opf_expr *within = op(f, OPF_OP_AND, op(f, OPF_OP_LE, num(f, 0), at), op(f, OPF_OP_LT, at, num(f, SIZE)));
        const opf_expr *padded = opf_select(f->pool, within, opf_load(f->pool, OPF_FLOAT32, tx, 2, EXPRS(channel, at)), opf_real(f->pool, OPF_FLOAT32, 0));
        opf_lanes_fault fault;
        double *y = run(f, reduce_stage(1, 1, OPF_COMBINE_SUM, op(f, OPF_OP_MUL, padded, opf_load(f->pool, OPF_FLOAT32, tk, 1, &channel))), DIMS(SIZE + 20, CHANNELS), &fault);
        for (int i = 0; i < SIZE + 20; i++) {
            int position = i * stride - 10;
            bool outside = position < 0 || position >= SIZE;
            double value = outside ? 0 : x[3 * SIZE + position];
            assert_true(value == 0 ? isnan(y[i]) : isinf(y[i]) && (y[i] > 0) == (value > 0));
        }
    }
}

static void softmax_in_three_stages(void **state) {
    fixture *f = *state;
    enum { ROWS = 37, COLUMNS = 53 };
    float *x = random_floats(f, ROWS * COLUMNS);
    int t = add_tensor(f, OPF_FLOAT32, 2, DIMS(ROWS, COLUMNS), x);
    opf_lanes_fault fault;
    const opf_expr *read = opf_load(f->pool, OPF_FLOAT32, t, 2, EXPRS(v(f, 0), v(f, 1)));
    double *max = run(f, reduce_stage(1, 1, OPF_COMBINE_MAX, read), DIMS(ROWS, COLUMNS), &fault);
    int tm = add_tensor(f, OPF_FLOAT32, 1, DIMS(ROWS), max);
    f->tensors[tm].wide = true;
    const opf_expr *row = v(f, 0), *shifted = op(f, OPF_OP_SUB, read, opf_load(f->pool, OPF_FLOAT32, tm, 1, &row));
    const opf_expr *power = opf_unary(f->pool, OPF_OP_EXP, shifted);
    double *sum = run(f, reduce_stage(1, 1, OPF_COMBINE_SUM, power), DIMS(ROWS, COLUMNS), &fault);
    int ts = add_tensor(f, OPF_FLOAT32, 1, DIMS(ROWS), sum);
    f->tensors[ts].wide = true;
    double *y = run(f, map_stage(2, op(f, OPF_OP_DIV, power, opf_load(f->pool, OPF_FLOAT32, ts, 1, &row))), DIMS(ROWS, COLUMNS), &fault);
    for (int i = 0; i < ROWS; i++) {
        double top = -INFINITY, total = 0;
        for (int k = 0; k < COLUMNS; k++) top = fmax(top, x[i * COLUMNS + k]);
        for (int k = 0; k < COLUMNS; k++) total += exp(x[i * COLUMNS + k] - top);
        for (int k = 0; k < COLUMNS; k++) assert_true(fabs(y[i * COLUMNS + k] - exp(x[i * COLUMNS + k] - top) / total) < 1e-15);
    }
}

static void maxima_spread_nan(void **state) {
    fixture *f = *state;
    float x[] = {1, NAN, 3, -1, -2, -3};
    int t = add_tensor(f, OPF_FLOAT32, 2, DIMS(2, 3), x);
    const opf_expr *read = opf_load(f->pool, OPF_FLOAT32, t, 2, EXPRS(v(f, 0), v(f, 1)));
    opf_lanes_fault fault;
    double *max = run(f, reduce_stage(1, 1, OPF_COMBINE_MAX, read), DIMS(2, 3), &fault);
    double *min = run(f, reduce_stage(1, 1, OPF_COMBINE_MIN, read), DIMS(2, 3), &fault);
    assert_true(isnan(max[0]) && max[1] == -1);
    assert_true(isnan(min[0]) && min[1] == -3);
    double *none = run(f, reduce_stage(1, 1, OPF_COMBINE_MAX, read), DIMS(2, 0), &fault);
    assert_true(none[0] == -INFINITY && none[1] == -INFINITY);
    double *product = run(f, reduce_stage(1, 1, OPF_COMBINE_PROD, read), DIMS(2, 0), &fault);
    assert_true(product[0] == 1 && product[1] == 1);
}

static void extremes_name_first_or_last(void **state) {
    fixture *f = *state;
    static const float rows[4][6] = {{1, 5, 5, 2, 5, -1}, {NAN, 1, NAN, 9, 2, 3}, {3, 3, 3, 3, 3, 3}, {0, -7, 4, -7, 4, 0}};
    static const struct { opf_combiner combiner; int64_t wanted[4]; } cases[] = {
        {OPF_COMBINE_ARGMAX, {1, 0, 0, 2}}, {OPF_COMBINE_ARGMAX_LAST, {4, 2, 5, 4}}, {OPF_COMBINE_ARGMIN, {5, 0, 0, 1}}, {OPF_COMBINE_ARGMIN_LAST, {5, 2, 5, 3}}};
    int t = add_tensor(f, OPF_FLOAT32, 2, DIMS(4, 6), rows);
    for (int i = 0; i < 4; i++) {
        opf_stage stage = reduce_stage(1, 1, cases[i].combiner, opf_load(f->pool, OPF_FLOAT32, t, 2, EXPRS(v(f, 0), v(f, 1))));
        stage.second = v(f, 1);
        stage.dtype = OPF_INT64;
        opf_lanes_fault fault;
        int64_t *found = run(f, stage, DIMS(4, 6), &fault);
        for (int k = 0; k < 4; k++) assert_int_equal(found[k], cases[i].wanted[k]);
    }
}

/* Gather: the index comes from data; one that is out of range is named, not read. */
static void indices_from_data(void **state) {
    fixture *f = *state;
    enum { TABLE = 50, WIDTH = 9, COUNT = 200 };
    float *table = random_floats(f, TABLE * WIDTH);
    int64_t *ids = OPF_ARRAY(f->arena, int64_t, COUNT);
    for (int i = 0; i < COUNT; i++) ids[i] = (int64_t)draw(f, TABLE * 2) - TABLE;
    int tt = add_tensor(f, OPF_FLOAT32, 2, DIMS(TABLE, WIDTH), table), ti = add_tensor(f, OPF_INT64, 1, DIMS(COUNT), ids);
    const opf_expr *first = v(f, 0), *id = opf_load(f->pool, OPF_INT64, ti, 1, &first), *zero = num(f, 0);
    const opf_expr *row = opf_select(f->pool, op(f, OPF_OP_LT, id, zero), opf_add(f->pool, id, num(f, TABLE)), id);
    const opf_expr *body = opf_load(f->pool, OPF_FLOAT32, tt, 2, EXPRS(row, v(f, 1)));
    opf_lanes_fault fault;
    double *y = run(f, map_stage(2, body), DIMS(COUNT, WIDTH), &fault);
    assert_non_null(y);
    for (int i = 0; i < COUNT * WIDTH; i++) {
        int64_t at = ids[i / WIDTH] < 0 ? ids[i / WIDTH] + TABLE : ids[i / WIDTH];
        assert_true(y[i] == table[at * WIDTH + i % WIDTH]);
    }
    ids[150] = TABLE;
    assert_null(run(f, map_stage(2, body), DIMS(COUNT, WIDTH), &fault));
    assert_true(fault.found);
    assert_int_equal(fault.tensor, tt);
    assert_int_equal(fault.axis, 0);
    assert_int_equal(fault.index, TABLE);
    assert_int_equal(fault.extent, TABLE);
    ids[150] = INT64_MIN;
    assert_null(run(f, map_stage(2, body), DIMS(COUNT, WIDTH), &fault));
    assert_true(fault.found);
}

/* A select's side that is not taken is not read, in lanes and as a whole. */
static void only_the_chosen_side_is_read(void **state) {
    fixture *f = *state;
    float left[300], right[100];
    for (int i = 0; i < 300; i++) left[i] = (float)i;
    for (int i = 0; i < 100; i++) right[i] = (float)(1000 + i);
    int a = add_tensor(f, OPF_FLOAT32, 1, DIMS(300), left), b = add_tensor(f, OPF_FLOAT32, 1, DIMS(100), right);
    const opf_expr *at = v(f, 0), *shifted = opf_sub(f->pool, v(f, 0), num(f, 300));
    const opf_expr *body = opf_select(f->pool, op(f, OPF_OP_LT, at, num(f, 300)), opf_load(f->pool, OPF_FLOAT32, a, 1, &at), opf_load(f->pool, OPF_FLOAT32, b, 1, &shifted));
    opf_lanes_fault fault;
    double *y = run(f, map_stage(1, body), DIMS(400), &fault);
    assert_non_null(y);
    for (int i = 0; i < 400; i++) assert_true(y[i] == (i < 300 ? i : 1000 + i - 300));
    /* the same along an outer axis, where the condition is one for all lanes */
    const opf_expr *wide = opf_select(f->pool, op(f, OPF_OP_LT, at, num(f, 300)), opf_load(f->pool, OPF_FLOAT32, a, 1, &at), opf_load(f->pool, OPF_FLOAT32, b, 1, &shifted));
    const opf_expr *with_lane = op(f, OPF_OP_ADD, wide, opf_cast(f->pool, OPF_FLOAT32, v(f, 1)));
    y = run(f, map_stage(2, with_lane), DIMS(400, 600), &fault);
    assert_non_null(y);
    for (int i = 0; i < 400 * 600; i += 7) assert_true(y[i] == (i / 600 < 300 ? i / 600 : 1000 + i / 600 - 300) + i % 600);
    /* a load that is out of range for good is an internal fault */
    assert_null(run(f, map_stage(1, opf_load(f->pool, OPF_FLOAT32, b, 1, &at)), DIMS(101), &fault));
    assert_int_equal(fault.axis, -1);
    assert_int_equal(fault.index, 100);
}

static void integers_are_exact(void **state) {
    fixture *f = *state;
    int64_t x[] = {INT64_MAX, INT64_MIN, 7, -7}, y[] = {2, -1, -2, 2};
    int8_t small[] = {100, -100, 127, -128};
    int tx = add_tensor(f, OPF_INT64, 1, DIMS(4), x), ty = add_tensor(f, OPF_INT64, 1, DIMS(4), y), ts = add_tensor(f, OPF_INT8, 1, DIMS(4), small);
    const opf_expr *at = v(f, 0), *a = opf_load(f->pool, OPF_INT64, tx, 1, &at), *b = opf_load(f->pool, OPF_INT64, ty, 1, &at), *c = opf_load(f->pool, OPF_INT8, ts, 1, &at);
    opf_lanes_fault fault;
    int64_t *sum = run(f, map_stage(1, op(f, OPF_OP_ADD, a, b)), DIMS(4), &fault);
    assert_true(sum[0] == INT64_MIN + 1 && sum[1] == INT64_MAX);
    int64_t *quotient = run(f, map_stage(1, op(f, OPF_OP_DIV, a, b)), DIMS(4), &fault);
    assert_true(quotient[0] == INT64_MAX / 2 && quotient[1] == INT64_MIN && quotient[2] == -3 && quotient[3] == -3);
    int64_t *doubled = run(f, map_stage(1, op(f, OPF_OP_ADD, c, c)), DIMS(4), &fault);
    assert_true(doubled[0] == -56 && doubled[1] == 56 && doubled[2] == -2 && doubled[3] == 0);
    opf_stage total = reduce_stage(0, 1, OPF_COMBINE_SUM, opf_cast(f->pool, OPF_INT32, c));
    int64_t *sum_small = run(f, total, DIMS(4), &fault);
    assert_int_equal(sum_small[0], -1);
    opf_stage least = reduce_stage(0, 1, OPF_COMBINE_MIN, c);
    assert_int_equal(((int64_t *)run(f, least, DIMS(4), &fault))[0], -128);
    assert_int_equal(((int64_t *)run(f, least, DIMS(0), &fault))[0], 127);
    least.combiner = OPF_COMBINE_MAX;
    assert_int_equal(((int64_t *)run(f, least, DIMS(0), &fault))[0], -128);
    opf_stage any = reduce_stage(0, 1, OPF_COMBINE_OR, op(f, OPF_OP_LT, c, opf_int_of(f->pool, OPF_INT8, -120)));
    assert_int_equal(((int64_t *)run(f, any, DIMS(4), &fault))[0], 1);
    any.combiner = OPF_COMBINE_AND;
    assert_int_equal(((int64_t *)run(f, any, DIMS(4), &fault))[0], 0);
    int64_t *cast = run(f, map_stage(1, opf_cast(f->pool, OPF_UINT8, c)), DIMS(4), &fault);
    assert_true(cast[0] == 100 && cast[1] == 156 && cast[3] == 128);
}

static void divided_indices(void **state) {
    fixture *f = *state;
    enum { CHANNELS = 24, SIZE = 35 };
    float *x = random_floats(f, CHANNELS * SIZE);
    int t = add_tensor(f, OPF_FLOAT32, 2, DIMS(CHANNELS, SIZE), x);
    const opf_expr *channel = opf_add(f->pool, opf_mul(f->pool, opf_floormod(f->pool, v(f, 0), num(f, 4)), num(f, 6)), opf_floordiv(f->pool, v(f, 0), num(f, 4)));
    opf_lanes_fault fault;
    double *y = run(f, map_stage(2, opf_load(f->pool, OPF_FLOAT32, t, 2, EXPRS(channel, opf_floormod(f->pool, opf_add(f->pool, v(f, 1), num(f, 3)), num(f, SIZE))))),
                    DIMS(CHANNELS, SIZE), &fault);
    for (int i = 0; i < CHANNELS * SIZE; i++) {
        int c = i / SIZE, s = i % SIZE;
        assert_true(y[i] == x[(c % 4 * 6 + c / 4) * SIZE + (s + 3) % SIZE]);
    }
}

static void double_sums_keep_what_rounding_loses(void **state) {
    fixture *f = *state;
    double x[] = {1e16, 1, 1, 1, 1, -1e16};
    int t = add_tensor(f, OPF_FLOAT64, 1, DIMS(6), x);
    const opf_expr *at = v(f, 0);
    opf_lanes_fault fault;
    double *sum = run(f, reduce_stage(0, 1, OPF_COMBINE_SUM, opf_load(f->pool, OPF_FLOAT64, t, 1, &at)), DIMS(6), &fault);
    assert_true(sum[0] == 4);
    x[2] = INFINITY;
    sum = run(f, reduce_stage(0, 1, OPF_COMBINE_SUM, opf_load(f->pool, OPF_FLOAT64, t, 1, &at)), DIMS(6), &fault);
    assert_true(isinf(sum[0]));
}

static void casts_round_where_they_narrow(void **state) {
    fixture *f = *state;
    float x[] = {1.0f / 3, 70000, 2.5f, -1.5f};
    int t = add_tensor(f, OPF_FLOAT32, 1, DIMS(4), x);
    const opf_expr *at = v(f, 0), *read = opf_load(f->pool, OPF_FLOAT32, t, 1, &at);
    opf_lanes_fault fault;
    double *half = run(f, map_stage(1, opf_cast(f->pool, OPF_FLOAT16, read)), DIMS(4), &fault);
    assert_true(half[0] == opf_dtype_round(OPF_FLOAT16, x[0]) && isinf(half[1]));
    int64_t *whole = run(f, map_stage(1, opf_cast(f->pool, OPF_INT32, read)), DIMS(4), &fault);
    assert_true(whole[2] == 2 && whole[3] == -1);
}

/* Blocks of every shape: axes shorter and longer than the lanes, in front of and behind each other, and sizes of 0 and 1. */
static void every_cut_of_the_axes(void **state) {
    fixture *f = *state;
    static const int64_t shapes[][3] = {{1, 1, 1}, {3, 5, 7}, {2, 1, 513}, {1, 600, 1}, {700, 1, 2}, {5, 64, 8}, {9, 9, 63}, {2, 300, 3}, {4, 0, 5}, {0, 7, 7}, {3, 512, 1}, {1, 1, 1025}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int64_t *d = shapes[s];
        const opf_expr *sum = opf_add(f->pool, opf_mul(f->pool, v(f, 0), num(f, 1000000)), opf_add(f->pool, opf_mul(f->pool, v(f, 1), num(f, 1000)), v(f, 2)));
        const opf_expr *swapped = opf_add(f->pool, opf_mul(f->pool, v(f, 2), num(f, 3)), v(f, 3));
        opf_lanes_fault fault;
        int64_t *y = run(f, map_stage(3, sum), d, &fault), *z = run(f, reduce_stage(3, 1, OPF_COMBINE_SUM, swapped), DIMS(d[0], d[1], d[2], 4), &fault);
        assert_non_null(y);
        for (int64_t i = 0; i < d[0] * d[1] * d[2]; i++) {
            int64_t a = i / (d[1] * d[2]), b = i / d[2] % d[1], c = i % d[2];
            assert_true(y[i] == a * 1000000 + b * 1000 + c);
            assert_true(z[i] == c * 12 + 6);
        }
    }
}

/* Enough work for several threads: the same bits as one would give, in order. */
static void threads_share_the_work(void **state) {
    fixture *f = *state;
    enum { M = 96, K = 130, N = 700 };
    float *a = random_floats(f, M * K), *b = random_floats(f, K * N);
    int ta = add_tensor(f, OPF_FLOAT32, 2, DIMS(M, K), a), tb = add_tensor(f, OPF_FLOAT32, 2, DIMS(K, N), b);
    const opf_expr *body = op(f, OPF_OP_MUL, opf_load(f->pool, OPF_FLOAT32, ta, 2, EXPRS(v(f, 0), v(f, 2))), opf_load(f->pool, OPF_FLOAT32, tb, 2, EXPRS(v(f, 2), v(f, 1))));
    opf_lanes_fault fault;
    double *y = run(f, reduce_stage(2, 1, OPF_COMBINE_SUM, body), DIMS(M, N, K), &fault);
    for (int i = 0; i < M * N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++) sum += (double)a[i / N * K + k] * b[k * N + i % N];
        assert_true(y[i] == sum);
    }
}

/* Loads that lie inside need no condition: what conditions upon conditions lead to is computed once, not once for each way to it. */
static void conditions_share_what_is_safe(void **state) {
    fixture *f = *state;
    enum { COUNT = 40, DEPTH = 24 };
    const float *x = random_floats(f, COUNT);
    int tensor = add_tensor(f, OPF_FLOAT32, 1, DIMS(COUNT), x);
    const opf_expr *load = opf_load(f->pool, OPF_FLOAT32, tensor, 1, EXPRS(v(f, 0))), *zero = opf_real(f->pool, OPF_FLOAT32, 0), *e = load;
    for (int k = 0; k < DEPTH; k++) e = opf_select(f->pool, op(f, OPF_OP_GT, e, zero), op(f, OPF_OP_SUB, e, load), op(f, OPF_OP_ADD, e, opf_real(f->pool, OPF_FLOAT32, 1)));
    opf_stage stage = map_stage(1, e);
    const char *why = NULL;
    opf_lanes *lanes = opf_lanes_compile(f->arena, &stage, f->tensors, DIMS(COUNT), (const int64_t[]){0}, false, &why);
    assert_non_null(lanes);
    assert_true(lanes->code.count < 8 * DEPTH);
    opf_lanes_fault fault;
    const double *y = run(f, stage, DIMS(COUNT), &fault);
    for (int i = 0; i < COUNT; i++) {
        double value = x[i];
        for (int k = 0; k < DEPTH; k++) value = value > 0 ? value - x[i] : value + 1;
        assert_true(y[i] == value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(convolution_with_borders, setup, teardown),
        cmocka_unit_test_setup_teardown(padding_of_rows_only, setup, teardown),
        cmocka_unit_test_setup_teardown(zeros_meet_infinity, setup, teardown),
        cmocka_unit_test_setup_teardown(softmax_in_three_stages, setup, teardown),
        cmocka_unit_test_setup_teardown(maxima_spread_nan, setup, teardown),
        cmocka_unit_test_setup_teardown(extremes_name_first_or_last, setup, teardown),
        cmocka_unit_test_setup_teardown(indices_from_data, setup, teardown),
        cmocka_unit_test_setup_teardown(only_the_chosen_side_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(conditions_share_what_is_safe, setup, teardown),
        cmocka_unit_test_setup_teardown(integers_are_exact, setup, teardown),
        cmocka_unit_test_setup_teardown(divided_indices, setup, teardown),
        cmocka_unit_test_setup_teardown(double_sums_keep_what_rounding_loses, setup, teardown),
        cmocka_unit_test_setup_teardown(casts_round_where_they_narrow, setup, teardown),
        cmocka_unit_test_setup_teardown(every_cut_of_the_axes, setup, teardown),
        cmocka_unit_test_setup_teardown(threads_share_the_work, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
