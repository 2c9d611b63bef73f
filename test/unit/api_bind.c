/* Inputs that decide sizes or axes: bound by value, a variant of the program for each set of values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/file.h"
#include "opfuse/opfuse.h"

#define MODEL OPF_TEST_DATA "/../cli/models/by_value.onnx" /* y = Tile(ReduceSum(x, -axes), repeats) */

static char *cache;
static opf_arena *arena;
static opf_context *context;
static opf_model *model;
static int compiled; /* how often a compiler was called on */

static void count_compilers(void *data, const char *what, int done, int total) {
    (void)data;
    (void)total;
    if (done == 0 && strcmp(what, "compiling") == 0) compiled++;
}

static int set_up(void **state) {
    (void)state;
    arena = opf_arena_new();
    opf_diags *diags = opf_diags_new();
    opf_status status = opf_folder_temporary(&cache, arena, diags);
    compiled = 0;
    opf_diags_free(diags);
    context = opf_context_new();
    opf_context_set(context, "cache", cache);
    opf_context_set(context, "threads", "1");
    opf_context_on_progress(context, count_compilers, NULL);
    return status == OPF_OK && opf_model_load(&model, context, MODEL) == OPF_OK ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    opf_model_free(model);
    opf_context_free(context);
    opf_folder_remove(cache);
    opf_arena_free(arena);
    return 0;
}

/* x is 2 by 4: 1 … 8 */
static float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static int64_t x_dims[] = {2, 4}, one[] = {1}, two[] = {2};

static void fill(opf_array *inputs, const int64_t *axes, const int64_t *repeats) {
    inputs[0] = (opf_array){.name = "x", .dtype = 1, .rank = 2, .dims = x_dims, .data = x};
    inputs[1] = (opf_array){.name = "axes", .dtype = 7, .rank = 1, .dims = one, .data = axes};
    inputs[2] = (opf_array){.name = "repeats", .dtype = 7, .rank = 1, .dims = two, .data = repeats};
}

static const float *run(opf_session *session, int64_t axis, int64_t down, int64_t across, int64_t *dims) {
    int64_t axes[] = {axis}, repeats[] = {down, across};
    opf_array inputs[3], output;
    fill(inputs, axes, repeats);
    assert_int_equal(opf_session_run(session, inputs, &output), OPF_OK);
    assert_int_equal(output.rank, 2);
    memcpy(dims, output.dims, 2 * sizeof *dims);
    return output.data;
}

static void ports_tell(void **state) {
    (void)state;
    assert_int_equal(opf_model_inputs(model), 3);
    assert_false(opf_model_input(model, 0).by_value);
    assert_true(opf_model_input(model, 1).by_value);
    opf_array made;
    assert_int_equal(opf_model_make_input(&made, model, 1, NULL), OPF_ERROR_INPUT);
    assert_int_equal(opf_model_make_input(&made, model, 1, "ones"), OPF_OK);
}

static void variants_are_kept(void **state) {
    (void)state;
    opf_session *session;
    int64_t dims[2];
    assert_int_equal(opf_session_new(&session, model), OPF_OK);
    const float *y = run(session, 1, 1, 1, dims); /* over axis -1 */
    assert_int_equal(dims[0], 2);
    assert_int_equal(dims[1], 1);
    assert_true(y[0] == 10 && y[1] == 26);
    y = run(session, 2, 2, 1, dims);
    assert_int_equal(dims[0], 2);
    assert_int_equal(dims[1], 4);
    assert_true(y[0] == 6 && y[3] == 12 && y[4] == 6);
    int so_far = compiled;
    assert_int_equal(so_far, 2);
    y = run(session, 1, 1, 1, dims);
    assert_true(y[1] == 26);
    assert_int_equal(compiled, so_far);
    opf_session_free(session);
}

static void bound_models_hold_their_values(void **state) {
    (void)state;
    int64_t axes[] = {1}, other[] = {2}, repeats[] = {1, 3};
    opf_array inputs[3], output;
    opf_model *bound;
    opf_session *session;
    fill(inputs, axes, repeats);
    inputs[0] = (opf_array){.name = "x", .dtype = 0, .rank = 0, .dims = NULL, .data = NULL}; /* not looked at */
    assert_int_equal(opf_model_bind(&bound, model, inputs), OPF_OK);
    assert_true(opf_model_input(bound, 1).by_value && opf_model_input(bound, 2).by_value);
    assert_int_equal(opf_model_output(bound, 0).dims[1], 3);
    assert_int_equal(opf_session_new(&session, bound), OPF_OK);
    fill(inputs, axes, repeats);
    assert_int_equal(opf_session_run(session, inputs, &output), OPF_OK);
    inputs[1].data = other;
    assert_int_equal(opf_session_run(session, inputs, &output), OPF_ERROR_INPUT);
    opf_session_free(session);
    opf_model_free(bound);
}

static void missing_values_are_named(void **state) {
    (void)state;
    int64_t axes[] = {1};
    opf_array inputs[3];
    opf_model *bound;
    opf_context_clear_messages(context);
    fill(inputs, axes, NULL);
    assert_int_equal(opf_model_bind(&bound, model, inputs), OPF_ERROR_INPUT);
    assert_null(bound);
    assert_non_null(strstr(opf_context_message(context, 0).text, "input 'repeats' decides"));
    char *report;
    assert_int_equal(opf_model_explain(model, "text", &report), OPF_ERROR_INPUT);
    assert_null(report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ports_tell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(variants_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bound_models_hold_their_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_values_are_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
