/* Recurrent layers step by step beside the prelude's kernels: every kind, direction, layout and activation, with and without the
 * results that the steps are read from; and what is off by more than rounding is seen, at its own step and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "check/recurrent.h"
#include "opf_lib_recurrent.h"

enum { STEPS = 19, BATCH = 3, INPUT = 5, HIDDEN = 7, OPERANDS = 12, RESULTS = 3 }; /* more steps than a block of the kernel has */

typedef struct layer_case {
    const char *kernel;
    int gates, activations, direction, by_batch, special, activation;
    bool bias, lengths, state, peepholes, y;
    double clip;
} layer_case;

static opf_arena *arena;
static uint64_t seed;

static double drawn(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)seed * 0x1p-63;
}

static opf_tensor *made(opf_dtype dtype, int rank, const int64_t *dims, double scale) {
    opf_tensor *tensor = opf_tensor_zeros(arena, dtype, rank, dims, NULL);
    for (int64_t i = 0; i < tensor->elements; i++) opf_dtype_store(dtype, (void *)(uintptr_t)tensor->data, (size_t)i, opf_dtype_is_float(dtype) ? scale * drawn() : rint(scale * drawn()));
    return tensor;
}
#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}

static const opf_library_kernel *kernel_named(const char *name) {
    for (size_t i = 0; i < opf_library_count(); i++)
        if (strcmp(opf_library_at(i)->name, name) == 0) return opf_library_at(i);
    return NULL;
}

static void make_operands(const layer_case *c, bool quantized, int64_t directions, const opf_tensor **in) {
    int64_t rows = c->gates * HIDDEN;
    in[0] = made(OPF_FLOAT32, c->by_batch ? 3 : 3, c->by_batch ? (int64_t[]){BATCH, STEPS, INPUT} : (int64_t[]){STEPS, BATCH, INPUT}, 2);
    in[1] = quantized ? made(OPF_INT8, DIMS(directions, INPUT, rows), 100) : made(OPF_FLOAT32, DIMS(directions, rows, INPUT), 1);
    in[2] = quantized ? made(OPF_INT8, DIMS(directions, HIDDEN, rows), 100) : made(OPF_FLOAT32, DIMS(directions, rows, HIDDEN), 1);
    if (c->bias) in[3] = made(OPF_FLOAT32, DIMS(directions, 2 * rows), 1);
    if (c->lengths) {
        in[4] = made(OPF_INT32, DIMS(BATCH), 0);
        memcpy((void *)(uintptr_t)in[4]->data, (int32_t[]){4, STEPS, 0}, 3 * sizeof(int32_t));
    }
    if (c->state) in[5] = made(OPF_FLOAT32, 3, c->by_batch ? (int64_t[]){BATCH, directions, HIDDEN} : (int64_t[]){directions, BATCH, HIDDEN}, 1);
    if (c->state && c->gates == 4) in[6] = made(OPF_FLOAT32, 3, c->by_batch ? (int64_t[]){BATCH, directions, HIDDEN} : (int64_t[]){directions, BATCH, HIDDEN}, 1);
    if (c->peepholes) in[7] = made(OPF_FLOAT32, DIMS(directions, 3 * HIDDEN), 1);
    for (int k = 8; quantized && k < OPERANDS; k++) in[k] = k % 2 == 0 ? made(OPF_FLOAT32, DIMS(directions), 0) : made(OPF_INT8, DIMS(directions), 3);
    for (int k = 8; quantized && k < OPERANDS; k += 2)
        for (int64_t d = 0; d < directions; d++) ((float *)(uintptr_t)in[k]->data)[d] = 0.01f;
}

static opf_lib_tensor described(const opf_tensor *t) { return t ? (opf_lib_tensor){(void *)(uintptr_t)t->data, (int)t->dtype, t->rank, t->dims} : (opf_lib_tensor){0}; }

typedef struct outcome { opf_library_call call; int64_t *ints; const opf_tensor *in[OPERANDS], *got[RESULTS]; } outcome;

static void run_kernel(const layer_case *c, outcome *o) {
    int64_t directions = c->direction == 2 ? 2 : 1;
    *o = (outcome){.call = {.kernel = kernel_named(c->kernel), .n_outputs = c->gates == 4 ? 3 : 2}};
    bool quantized = strcmp(c->kernel, "lstm_quantized") == 0;
    o->call.n_inputs = quantized ? 12 : c->gates == 4 ? 8 : 6;
    make_operands(c, quantized, directions, o->in);
    if (c->y) o->got[0] = made(OPF_FLOAT32, 4, c->by_batch ? (int64_t[]){BATCH, STEPS, directions, HIDDEN} : (int64_t[]){STEPS, directions, BATCH, HIDDEN}, 1);
    for (int k = 1; k < o->call.n_outputs; k++) o->got[k] = made(OPF_FLOAT32, 3, c->by_batch ? (int64_t[]){BATCH, directions, HIDDEN} : (int64_t[]){directions, BATCH, HIDDEN}, 1);
    int count = (int)directions * c->activations;
    o->ints = OPF_ARRAY(arena, int64_t, 4 + count);
    memcpy(o->ints, (int64_t[]){c->direction, c->by_batch, c->special, HIDDEN}, 4 * sizeof(int64_t));
    OPF_PUSH(arena, &o->call.floats, c->clip);
    for (int k = 0; k < count; k++) {
        o->ints[4 + k] = c->activation >= 0 ? c->activation : k % c->activations == 0 && c->gates > 1 ? OPF_LIB_SIGMOID : OPF_LIB_TANH;
        OPF_PUSH(arena, &o->call.floats, 0.3);
        OPF_PUSH(arena, &o->call.floats, 0.4);
    }
    opf_lib_tensor in[OPERANDS], out[RESULTS];
    for (int k = 0; k < OPERANDS; k++) in[k] = described(o->in[k]);
    for (int k = 0; k < RESULTS; k++) out[k] = described(o->got[k]);
    void *scratch = opf_arena_alloc(arena, 1 << 20);
    opf_lib_args args = {in, out, o->ints, o->call.floats.data, (void *)(((uintptr_t)scratch + 63) / 64 * 64), NULL, NULL};
    o->call.kernel->run(&args);
}

/* How many elements of result k are beyond their bound, and the largest bound. */
static int beyond(const outcome *o, const opf_recurrent_reference *r, int k, double *most) {
    int count = 0;
    for (int64_t i = 0; o->got[k] && i < o->got[k]->elements; i++) {
        double bound = opf_tensor_get(r->bounds[k], i);
        count += !(fabs(opf_tensor_get(o->got[k], i) - opf_tensor_get(r->expected[k], i)) <= bound);
        *most = fmax(*most, bound);
    }
    return count;
}

static void holds(const layer_case *c) {
    outcome o;
    opf_recurrent_reference r = {{NULL}, {NULL}};
    double most = 0;
    run_kernel(c, &o);
    assert_true(opf_is_recurrent(&o.call));
    opf_recurrent_bound(&r, &o.call, o.ints, o.in, o.got, arena);
    for (int k = 0; k < o.call.n_outputs; k++) assert_int_equal(beyond(&o, &r, k, &most), 0);
    if (c->y && c->activation < 0) assert_true(most < 2e-4); /* with Y no step adds to the one before; c of an LSTM forgets */
}

static int setup(void **state) {
    (void)state;
    arena = opf_arena_new();
    seed = 1;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    opf_arena_free(arena);
    return 0;
}

static const struct { const char *name; int gates, activations; } kernels[] = {{"rnn", 1, 1}, {"gru", 3, 2}, {"lstm", 4, 3}, {"lstm_quantized", 4, 3}};

static void every_form_is_within_its_bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < OPF_COUNT(kernels); i++)
        for (int form = 0; form < 3 * 64; form++) {
            layer_case c = {.kernel = kernels[i].name, .gates = kernels[i].gates, .activations = kernels[i].activations, .direction = form / 64, .activation = -1,
                            .by_batch = form & 1, .special = form >> 1 & 1, .bias = form >> 2 & 1, .lengths = form >> 3 & 1, .state = form >> 4 & 1, .y = form >> 5 & 1,
                            .clip = form & 4 ? 0.9 : 0};
            c.peepholes = c.gates == 4 && (form >> 2 & 1);
            holds(&c);
        }
}

static void every_activation_is_within_its_bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < OPF_COUNT(kernels); i++)
        for (int activation = OPF_LIB_SIGMOID; activation <= OPF_LIB_SOFTPLUS; activation++) {
            layer_case c = {.kernel = kernels[i].name, .gates = kernels[i].gates, .activations = kernels[i].activations, .activation = activation, .bias = true, .y = true, .clip = 2};
            holds(&c);
        }
}

/* One number of Y changed by 1e-3: that step is beyond its bound; the next begins with it and is not what the kernel computed either,
 * those behind are right. */
static void a_wrong_step_is_seen(void **state) {
    (void)state;
    for (size_t i = 0; i < OPF_COUNT(kernels); i++) {
        layer_case c = {.kernel = kernels[i].name, .gates = kernels[i].gates, .activations = kernels[i].activations, .activation = -1, .bias = true, .y = true};
        outcome o;
        opf_recurrent_reference r = {{NULL}, {NULL}};
        double most = 0;
        run_kernel(&c, &o);
        int64_t row = BATCH * HIDDEN, at = 9 * row + HIDDEN + 2;
        ((float *)(uintptr_t)o.got[0]->data)[at] += 1e-3f;
        opf_recurrent_bound(&r, &o.call, o.ints, o.in, o.got, arena);
        int count = beyond(&o, &r, 0, &most);
        assert_true(count >= 1 && count <= 2 * (int)row);
        assert_true(fabs(opf_tensor_get(o.got[0], at) - opf_tensor_get(r.expected[0], at)) > 100 * opf_tensor_get(r.bounds[0], at));
        for (int64_t k = 0; k < 9 * row; k++) assert_true(fabs(opf_tensor_get(o.got[0], k) - opf_tensor_get(r.expected[0], k)) <= opf_tensor_get(r.bounds[0], k));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_form_is_within_its_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(every_activation_is_within_its_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrong_step_is_seen, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
