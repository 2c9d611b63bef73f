/* Sessions through the public interface: sizes that change, wrong inputs, several sessions, contexts in several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "opfuse/opfuse.h"
#include "own_cache.h"

#define MODEL(name) OPF_TEST_DATA "/../cli/models/" name ".onnx"

static opf_context *new_context(const char *fuse, const char *threads) {
    opf_context *context = opf_context_new();
    assert_int_equal(opf_context_set(context, "cache", cache), OPF_OK);
    assert_int_equal(opf_context_set(context, "fuse", fuse), OPF_OK);
    assert_int_equal(opf_context_set(context, "threads", threads), OPF_OK);
    return context;
}

typedef struct running {
    opf_context *context;
    opf_model *model;
    opf_session *session;
} running;

static running started(const char *path, const char *fuse, const char *threads) {
    running r = {.context = new_context(fuse, threads)};
    assert_int_equal(opf_model_load(&r.model, r.context, path), OPF_OK);
    assert_int_equal(opf_session_new(&r.session, r.model), OPF_OK);
    return r;
}

static void stop(running *r) {
    opf_session_free(r->session);
    opf_model_free(r->model);
    opf_context_free(r->context);
}

/* z = relu(sigmoid(x * x) + y) */
static float chain_of(float x, float y) {
    float z = (float)(1 / (1 + exp(-(double)x * (double)x))) + y;
    return z > 0 ? z : 0;
}

static void run_chain(running *r, int64_t n) {
    float *x = malloc((size_t)(n + 1) * sizeof *x), *y = malloc((size_t)(n + 1) * sizeof *y);
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(i % 17) / 8 - 1;
        y[i] = (float)(i % 5) / 2 - 1;
    }
    opf_array inputs[] = {{.dtype = 1, .rank = 1, .dims = &n, .data = x}, {.dtype = 1, .rank = 1, .dims = &n, .data = y}}, output;
    assert_int_equal(opf_session_run(r->session, inputs, &output), OPF_OK);
    assert_string_equal(output.name, "z");
    assert_int_equal(output.dtype, 1);
    assert_int_equal(output.rank, 1);
    assert_int_equal(output.dims[0], n);
    for (int64_t i = 0; i < n; i++) assert_true(fabsf(((const float *)output.data)[i] - chain_of(x[i], y[i])) < 1e-6f);
    free(x);
    free(y);
}

static void one_build_serves_all_sizes(void **state) {
    (void)state;
    static const int64_t sizes[] = {5, 0, 1, 100000, 64, 100001, 3};
    static const char *const policies[] = {"none", "tvm", "best"};
    for (int p = 0; p < 3; p++) {
        running r = started(MODEL("chain"), policies[p], "2");
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) run_chain(&r, sizes[i]);
        stop(&r);
    }
}

static void runs_of_one_size_allocate_nothing(void **state) {
    (void)state;
    running r = started(MODEL("chain"), "none", "1");
    int64_t n = 5000;
    float *x = calloc((size_t)n, sizeof *x);
    opf_array inputs[] = {{.dtype = 1, .rank = 1, .dims = &n, .data = x}, {.dtype = 1, .rank = 1, .dims = &n, .data = x}}, output;
    assert_int_equal(opf_session_run(r.session, inputs, &output), OPF_OK);
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 100; i++) assert_int_equal(opf_session_run(r.session, inputs, &output), OPF_OK);
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(before.uordblks, after.uordblks);
    assert_int_equal(before.hblkhd, after.hblkhd);
    free(x);
    stop(&r);
}

static void fails_with(running *r, opf_array x, opf_array y, const char *words) {
    opf_array inputs[] = {x, y}, output;
    opf_context_clear_messages(r->context);
    assert_int_equal(opf_session_run(r->session, inputs, &output), OPF_ERROR_INPUT);
    assert_int_equal(opf_context_messages(r->context), 1);
    assert_non_null(strstr(opf_context_message(r->context, 0).message, words));
}

static void wrong_inputs_are_told_and_the_session_lives_on(void **state) {
    (void)state;
    running r = started(MODEL("chain"), "best", "1");
    int64_t four[] = {4, 1}, five = 5, negative = -1, huge[] = {INT64_MAX, 2};
    float data[8] = {0};
    opf_array good = {.dtype = 1, .rank = 1, .dims = four, .data = data};
    fails_with(&r, good, (opf_array){.dtype = 11, .rank = 1, .dims = four, .data = data}, "input 'y': its element type is float64");
    fails_with(&r, good, (opf_array){.dtype = 1, .rank = 2, .dims = four, .data = data}, "input 'y': it has 2 axes");
    fails_with(&r, good, (opf_array){.dtype = 1, .rank = 1, .dims = &five, .data = data}, "input 'y': axis 0 is 5 and must be 4");
    fails_with(&r, (opf_array){.dtype = 1, .rank = 1, .dims = &negative, .data = data}, good, "input 'x': its shape is impossible");
    fails_with(&r, (opf_array){.dtype = 1, .rank = 2, .dims = huge, .data = data}, good, "input 'x'");
    fails_with(&r, (opf_array){.dtype = 1, .rank = 1, .dims = four}, good, "input 'x': it has no data");
    fails_with(&r, good, (opf_array){.dtype = 1, .rank = 1, .dims = four, .data = (char *)data + 1}, "input 'y': its data is not aligned");
    run_chain(&r, 7);
    stop(&r);
}

static void sessions_of_one_model_stand_side_by_side(void **state) {
    (void)state;
    running r = started(MODEL("chain"), "best", "1");
    opf_session *first = r.session, *second;
    assert_int_equal(opf_session_new(&second, r.model), OPF_OK);
    run_chain(&r, 10);
    r.session = second;
    run_chain(&r, 20);
    r.session = first;
    run_chain(&r, 10);
    opf_session_free(second);
    run_chain(&r, 30);
    stop(&r);
}

/* x[1:], x[-1:], x[:1] … of N rows: guarded for the sake of all other sizes, right for none at all. */
static void empty_inputs_have_a_program_of_their_own(void **state) {
    (void)state;
    static const int64_t rows[] = {4, 0, 4, 1, 0};
    running r = started(OPF_TEST_DATA "/sizes/slice_ends.onnx", "best", "1");
    const float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        int64_t n = rows[k], dims[] = {n, 3};
        opf_array input = {.dtype = 1, .rank = 2, .dims = dims, .data = x}, outputs[9];
        assert_int_equal(opf_session_run(r.session, &input, outputs), OPF_OK);
        assert_int_equal(outputs[0].dims[0], n);           /* y = (first, tail) + x */
        for (int64_t i = 0; i < 3 * n; i++) assert_true(((const float *)outputs[0].data)[i] == 2 * x[i]);
        assert_true(((const float *)outputs[1].data)[2] == (n ? x[3 * n - 1] : 0)); /* z, the sum of the last */
        assert_int_equal(outputs[2].dims[0], n ? n - 1 : 0); /* the tail */
    }
    assert_int_equal(opf_context_messages(r.context), 0);
    stop(&r);
}

static void *in_a_thread(void *data) {
    (void)data;
    for (int i = 0; i < 3; i++) {
        running r = started(MODEL("chain"), i % 2 ? "best" : "none", "2");
        run_chain(&r, 1000 + i);
        stop(&r);
    }
    return NULL;
}

static void contexts_live_in_several_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, in_a_thread, NULL), 0);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void a_model_in_memory_runs_too(void **state) {
    (void)state;
    opf_context *context = new_context("best", "1");
    opf_diags *diags = opf_diags_new();
    opf_mapping file;
    assert_int_equal(opf_file_map(&file, MODEL("chain"), diags), OPF_OK);
    running r = {.context = context};
    assert_int_equal(opf_model_load_memory(&r.model, context, file.data, file.size, "in memory"), OPF_OK);
    assert_int_equal(opf_session_new(&r.session, r.model), OPF_OK);
    run_chain(&r, 12);
    stop(&r);
    opf_file_unmap(&file);
    opf_diags_free(diags);
}

static void ports_tell_types_and_sizes(void **state) {
    (void)state;
    opf_context *context = new_context("best", "1");
    opf_model *model;
    assert_int_equal(opf_model_load(&model, context, MODEL("gather")), OPF_OK);
    assert_int_equal(opf_model_inputs(model), 1);
    opf_port in = opf_model_input(model, 0), out = opf_model_output(model, 0);
    assert_string_equal(in.name, "ids");
    assert_int_equal(in.dtype, 7);
    assert_int_equal(in.rank, 2);
    assert_int_equal(in.dims[0], -1);
    assert_string_equal(in.dim_names[1], "length");
    assert_int_equal(out.dims[2], 8);
    assert_string_equal(out.dim_names[2], "8");
    opf_model_free(model);
    opf_context_free(context);
}

static void made_indices_stay_inside(void **state) {
    (void)state;
    opf_context *context = new_context("best", "1");
    assert_int_equal(opf_context_set(context, "hint", "length=5000"), OPF_OK);
    opf_model *model;
    opf_array ids;
    assert_int_equal(opf_model_load(&model, context, MODEL("gather")), OPF_OK);
    assert_int_equal(opf_model_make_input(&ids, model, 0, NULL), OPF_OK);
    assert_int_equal(opf_array_elements(&ids), 5000);
    bool seen[11] = {false};
    for (int64_t i = 0; i < 5000; i++) {
        int64_t id = ((const int64_t *)ids.data)[i];
        assert_in_range(id, 0, 10);
        seen[id] = true;
    }
    for (int id = 0; id < 11; id++) assert_true(seen[id]);
    assert_int_equal(opf_model_make_input(&ids, model, 0, "uniform:3:3"), OPF_OK);
    assert_true(opf_array_get(&ids, 17) == 3);
    assert_int_equal(opf_model_make_input(&ids, model, 0, "uniform:3"), OPF_ERROR_USAGE);
    opf_model_free(model);
    opf_context_free(context);
}

static void verify_tells_what_differs(void **state) {
    (void)state;
    opf_context *context = new_context("best", "1");
    opf_model *model;
    opf_array inputs[2];
    char *report;
    assert_int_equal(opf_model_load(&model, context, MODEL("chain")), OPF_OK);
    for (size_t i = 0; i < 2; i++) assert_int_equal(opf_model_make_input(&inputs[i], model, i, "ones"), OPF_OK);
    float wrong = 7;
    opf_array expected = {.name = "z", .dtype = 1, .rank = 1, .dims = inputs[0].dims, .data = &wrong};
    opf_verify_options options = {.rtol = -1, .atol = -1};
    assert_int_equal(opf_model_verify(model, inputs, &options, &report), OPF_OK);
    assert_non_null(strstr(report, "right: 1 of 1"));
    opf_string_free(report);
    options.expected = &expected;
    assert_int_equal(opf_model_verify(model, inputs, &options, &report), OPF_ERROR_MISMATCH);
    assert_non_null(strstr(report, "DIFFERS  'z' against the expected output"));
    opf_string_free(report);
    opf_model_free(model);
    opf_context_free(context);
}

static void stop_after_gives_nothing(void **state) {
    (void)state;
    opf_context *context = new_context("best", "1");
    assert_int_equal(opf_context_set(context, "stop-after", "plan"), OPF_OK);
    opf_model *model;
    opf_session *session;
    assert_int_equal(opf_model_load(&model, context, MODEL("chain")), OPF_OK);
    assert_int_equal(opf_session_new(&session, model), OPF_OK);
    assert_null(session);
    opf_model_free(model);
    opf_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_build_serves_all_sizes), cmocka_unit_test(runs_of_one_size_allocate_nothing),
        cmocka_unit_test(wrong_inputs_are_told_and_the_session_lives_on), cmocka_unit_test(sessions_of_one_model_stand_side_by_side),
        cmocka_unit_test(contexts_live_in_several_threads), cmocka_unit_test(a_model_in_memory_runs_too),
        cmocka_unit_test(ports_tell_types_and_sizes), cmocka_unit_test(made_indices_stay_inside),
        cmocka_unit_test(verify_tells_what_differs), cmocka_unit_test(stop_after_gives_nothing),
        cmocka_unit_test(empty_inputs_have_a_program_of_their_own),
    };
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
