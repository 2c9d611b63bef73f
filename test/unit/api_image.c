/* Warm starts from images: the same bytes as cold ones, whatever has become of the files of the cache; and everything that needs
 * the program after all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/session.h"
#include "own_cache.h"

#define TOUR OPF_TEST_DATA "/../../examples/tour/tour.onnx"
#define CHAIN OPF_TEST_DATA "/../cli/models/chain.onnx"

typedef struct running {
    opf_context *context;
    opf_model *model;
    opf_session *session;
} running;

/* `option` = `value` beside the usual ones; NULL: none. */
static running start_with(const char *path, const char *option, const char *value) {
    running r = {.context = opf_context_new()};
    assert_int_equal(opf_context_set(r.context, "cache", cache), OPF_OK);
    assert_int_equal(opf_context_set(r.context, "threads", "1"), OPF_OK);
    if (option) assert_int_equal(opf_context_set(r.context, option, value), OPF_OK);
    assert_int_equal(opf_model_load(&r.model, r.context, path), OPF_OK);
    assert_int_equal(opf_session_new(&r.session, r.model), OPF_OK);
    return r;
}

static running start(const char *path) { return start_with(path, NULL, NULL); }

static void stop(running *r) {
    opf_session_free(r->session);
    opf_model_free(r->model);
    opf_context_free(r->context);
}

static bool is_from_image(const running *r) { return r->session->pipeline.program == NULL; }

/* Result of a run on made-up inputs; malloc. */
static float *result_of(running *r, size_t *bytes) {
    opf_array inputs[4], outputs[4];
    assert_true(opf_model_inputs(r->model) <= 4 && opf_model_outputs(r->model) <= 4);
    for (size_t i = 0; i < opf_model_inputs(r->model); i++) assert_int_equal(opf_model_make_input(&inputs[i], r->model, i, NULL), OPF_OK);
    assert_int_equal(opf_session_run(r->session, inputs, outputs), OPF_OK);
    *bytes = (size_t)opf_array_elements(&outputs[0]) * sizeof(float);
    float *copy = malloc(*bytes);
    assert_non_null(copy);
    return memcpy(copy, outputs[0].data, *bytes);
}

static void expect_same(const char *path, const float *want, size_t bytes, bool from_image) {
    running r = start(path);
    assert_int_equal(is_from_image(&r), from_image);
    size_t size;
    float *got = result_of(&r, &size);
    assert_int_equal(size, bytes);
    assert_memory_equal(got, want, bytes);
    free(got);
    stop(&r);
}

static float *cold(const char *path, size_t *bytes) {
    opf_folder_remove(cache);
    running r = start(path);
    assert_false(is_from_image(&r));
    float *want = result_of(&r, bytes);
    stop(&r);
    return want;
}

static void a_warm_start_gives_the_same_bytes(void **state) {
    (void)state;
    size_t bytes;
    float *want = cold(TOUR, &bytes);
    expect_same(TOUR, want, bytes, true);
    free(want);
}

static void other_options_are_another_image(void **state) {
    (void)state;
    size_t bytes;
    free(cold(TOUR, &bytes));
    char *rules = opf_arena_printf(arena, "%s/rules", cache);
    opf_diags *diags = opf_diags_new();
    assert_int_equal(opf_file_write(rules, "set gate.elements = 17\n", 23, diags), OPF_OK);
    opf_diags_free(diags);
    const char *const options[][2] = {{"accuracy", "exact"}, {"fuse", "none"}, {"machine", "generic"}, {"dim", "N=3"}, {"max-depth", "2"}, {"rules", rules}};
    for (size_t i = 0; i < OPF_COUNT(options); i++)
        for (int warm = 0; warm < 2; warm++) {
            running r = start_with(TOUR, options[i][0], options[i][1]);
            assert_int_equal(is_from_image(&r), warm);
            stop(&r);
        }
    running same = start_with(TOUR, "seed", "7"); /* of made-up inputs */
    assert_true(is_from_image(&same));
    stop(&same);
}

static void write_text(const char *path, const char *text) {
    opf_diags *diags = opf_diags_new();
    assert_int_equal(opf_file_write(path, text, strlen(text), diags), OPF_OK);
    opf_diags_free(diags);
}

/* Two starts: the first makes the program where `known` is false, the second never does. The first element of the result. */
static float expect_twice(const char *path, const char *option, const char *value, bool known) {
    float first = 0;
    for (int again = 0; again < 2; again++) {
        running r = start_with(path, option, value);
        assert_int_equal(is_from_image(&r), known || again);
        size_t bytes;
        float *result = result_of(&r, &bytes);
        if (again) assert_true(result[0] == first);
        first = result[0];
        free(result);
        stop(&r);
    }
    return first;
}

/* Patterns, the C behind them, and groups: every byte counts, and so does the name that it came under. */
static void what_the_user_gives_is_part_of_the_key(void **state) {
    (void)state;
    size_t bytes;
    free(cold(CHAIN, &bytes));
    char *patterns = opf_arena_printf(arena, "%s/own.patterns", cache), *kernel = opf_arena_printf(arena, "%s/own.c", cache), *groups = opf_arena_printf(arena, "%s/groups", cache);
    const char *copies = "static void own(const opf_kernel_call *call, int part, int parts) {\n"
                         "    (void)part, (void)parts;\n"
                         "    for (int64_t i = 0; i < call->outputs[0].dims[0]; i++) ((float *)call->outputs[0].data)[i] = %s;\n}\n";
    write_text(patterns, "pattern own bind chain Relu kernel own.c own");
    write_text(kernel, opf_arena_printf(arena, copies, "17"));
    assert_true(expect_twice(CHAIN, "patterns", patterns, false) == 17);
    write_text(kernel, opf_arena_printf(arena, copies, "18"));
    assert_true(expect_twice(CHAIN, "patterns", patterns, false) == 18);
    write_text(patterns, "pattern other bind chain Relu kernel own.c own");
    assert_true(expect_twice(CHAIN, "patterns", patterns, false) == 18);
    write_text(groups, "{\"groups\": [{\"nodes\": [\"Mul_0\", \"Sigmoid_1\"]}, {\"nodes\": [\"Add_2\", \"Relu_3\"]}]}");
    expect_twice(CHAIN, "fuse", groups, false);
    write_text(groups, "{\"groups\": [{\"nodes\": [\"Mul_0\", \"Sigmoid_1\", \"Add_2\", \"Relu_3\"]}]}");
    expect_twice(CHAIN, "fuse", groups, false);
    write_text(groups, "{\"groups\": [{\"nodes\": [\"Mul_0\", \"Sigmoid_1\"]}, {\"nodes\": [\"Add_2\", \"Relu_3\"]}]}");
    expect_twice(CHAIN, "fuse", groups, true);
}

/* The model in memory, with a weight changed: what is stored for the one must not serve the other. */
static void another_file_is_another_image(void **state) {
    (void)state;
    size_t bytes;
    free(cold(TOUR, &bytes));
    opf_diags *diags = opf_diags_new();
    opf_mapping file;
    assert_int_equal(opf_file_map(&file, TOUR, diags), OPF_OK);
    unsigned char *copy = malloc(file.size);
    memcpy(copy, file.data, file.size);
    unsigned char *weight = memmem(copy, file.size, &(float){1.5f}, sizeof(float)); /* the last of the scales */
    assert_non_null(weight);
    for (int change = 0; change < 2; change++) {
        running r = start(CHAIN);
        opf_session_free(r.session);
        opf_model_free(r.model);
        weight[0] ^= (unsigned char)change;
        assert_int_equal(opf_model_load_memory(&r.model, r.context, copy, file.size, "memory"), OPF_OK);
        assert_int_equal(opf_session_new(&r.session, r.model), OPF_OK);
        assert_false(is_from_image(&r));
        stop(&r);
    }
    free(copy);
    opf_file_unmap(&file);
    opf_diags_free(diags);
}

/* ---- damage ---- */

enum { MOST_FILES = 64 };
static char *files[MOST_FILES];
static int n_files;

static int note_file(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)where;
    if (kind == FTW_F && about->st_size > 0 && n_files < MOST_FILES) files[n_files++] = strdup(path);
    return 0;
}

/* Half of the file is lost, or a byte in its middle is another. */
static void damage(const char *path, bool cut) {
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long middle = ftell(file) / 2;
    fseek(file, middle, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, middle, SEEK_SET);
    if (!cut) fputc(byte ^ 0x55, file);
    fclose(file);
    if (cut) assert_int_equal(truncate(path, middle), 0);
}

static void damaged_files_are_made_again(void **state) {
    (void)state;
    size_t bytes;
    float *want = cold(TOUR, &bytes);
    n_files = 0;
    nftw(cache, note_file, 16, FTW_PHYS);
    assert_true(n_files > 5);
    for (int i = 0; i < n_files; i++)
        for (int cut = 0; cut < 2; cut++) {
            bool source = strstr(files[i], ".c") || strstr(files[i], ".su") || strstr(files[i], "/command");
            damage(files[i], cut);
            expect_same(TOUR, want, bytes, source); /* what is not run is not read */
            expect_same(TOUR, want, bytes, true);
        }
    for (int i = 0; i < n_files; i++) free(files[i]);
    free(want);
}

/* ---- the program after all ---- */

static void failures_are_told_in_the_models_words(void **state) {
    (void)state;
    size_t bytes;
    free(cold(CHAIN, &bytes));
    running r = start(CHAIN);
    assert_true(is_from_image(&r));
    int64_t four = 4, five = 5;
    float data[8] = {0};
    opf_array inputs[] = {{.dtype = 1, .rank = 1, .dims = &four, .data = data}, {.dtype = 1, .rank = 1, .dims = &five, .data = data}}, output;
    assert_int_equal(opf_session_run(r.session, inputs, &output), OPF_ERROR_INPUT);
    assert_int_equal(opf_context_messages(r.context), 1);
    assert_non_null(strstr(opf_context_message(r.context, 0).message, "input 'y': axis 0 is 5 and must be 4"));
    assert_false(is_from_image(&r));
    inputs[1].dims = &four;
    assert_int_equal(opf_session_run(r.session, inputs, &output), OPF_OK);
    stop(&r);
}

static void count_steps(void *data, int step, const char *name, int begin) {
    (void)step;
    assert_true(strlen(name) > 0);
    *(int *)data += begin;
}

static void steps_have_their_names(void **state) {
    (void)state;
    size_t bytes;
    free(cold(TOUR, &bytes));
    running r = start(TOUR);
    assert_true(is_from_image(&r));
    int steps = 0;
    opf_session_on_step(r.session, count_steps, &steps);
    free(result_of(&r, &bytes));
    assert_true(steps > 0);
    stop(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warm_start_gives_the_same_bytes),
        cmocka_unit_test(other_options_are_another_image),
        cmocka_unit_test(what_the_user_gives_is_part_of_the_key),
        cmocka_unit_test(another_file_is_another_image),
        cmocka_unit_test(damaged_files_are_made_again),
        cmocka_unit_test(failures_are_told_in_the_models_words),
        cmocka_unit_test(steps_have_their_names),
    };
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
