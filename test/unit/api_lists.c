/* Strings, sequences and optionals through the C API: given, run, read back, given again. */
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "opfuse/opfuse.h"

#define MODELS OPF_TEST_DATA "/../cli/models/"

typedef struct opened {
    opf_context *context;
    opf_model *model;
    opf_session *session;
    char folder[64];
} opened;

static opened open_model(const char *path) {
    opened o = {.context = opf_context_new()};
    strcpy(o.folder, "/tmp/opfuse-lists-XXXXXX");
    assert_non_null(mkdtemp(o.folder));
    opf_context_set(o.context, "cache", o.folder);
    opf_context_set(o.context, "threads", "1");
    assert_int_equal(opf_model_load(&o.model, o.context, path), OPF_OK);
    assert_int_equal(opf_session_new(&o.session, o.model), OPF_OK);
    return o;
}

static void close_model(opened *o) {
    char command[96];
    opf_session_free(o->session);
    opf_model_free(o->model);
    opf_context_free(o->context);
    snprintf(command, sizeof command, "rm -rf %s", o->folder);
    assert_int_equal(system(command), 0);
}

static const char *last_message(opf_context *context) { return opf_context_message(context, opf_context_messages(context) - 1).text; }

/* ---- strings ---- */

static void test_strings(void **state) {
    (void)state;
    opened o = open_model(MODELS "texts.onnx");
    opf_array outputs[5];
    for (int round = 0; round < 3; round++) { /* sizes change, memory is used again */
        char first[] = "The quick fox", second[] = "a dog";
        const char *words[] = {first, second, ""};
        int64_t dims[] = {round == 1 ? 3 : 2};
        opf_array x = {.dtype = 8, .rank = 1, .dims = dims, .data = words};
        assert_int_equal(opf_session_run(o.session, &x, outputs), OPF_OK);
        memset(first, 'z', sizeof first - 1); /* outputs are the session's own */
        words[1] = NULL;
        const char *const *parts = outputs[0].data, *const *marked = outputs[2].data;
        assert_int_equal(outputs[0].dims[0], dims[0]);
        assert_int_equal(outputs[0].dims[1], 3);
        assert_string_equal(parts[0], "The");
        assert_string_equal(parts[4], "dog");
        assert_string_equal(parts[5], "");
        assert_string_equal(marked[1], "a dog!");
        assert_int_equal(((const int64_t *)outputs[4].data)[0], 2);
        assert_int_equal(((const unsigned char *)outputs[3].data)[1], 0);
    }
    close_model(&o);
}

/* ---- sequences and optionals ---- */

static float one_row[3] = {1, 2, 3}, two_rows[6] = {1, 1, 1, 2, 2, 2}, pair[2] = {5, 6};
static const int64_t one_three[] = {1, 3}, two_three[] = {2, 3}, two[] = {2}, three[] = {3};

static void fill(opf_array *inputs, opf_array *items, const int64_t *k, opf_array_kind optional) {
    items[0] = (opf_array){.dtype = 1, .rank = 2, .dims = one_three, .data = one_row};
    items[1] = (opf_array){.dtype = 1, .rank = 2, .dims = two_three, .data = two_rows};
    inputs[0] = (opf_array){.dtype = 1, .kind = OPF_ARRAY_SEQUENCE, .n_items = 2, .items = items};
    inputs[1] = items[0];
    inputs[2] = (opf_array){.dtype = 7, .data = k};
    inputs[3] = (opf_array){.dtype = 1, .rank = 1, .dims = two, .data = pair, .kind = optional};
}

static void test_lists(void **state) {
    (void)state;
    opened o = open_model(MODELS "lists.onnx");
    opf_array inputs[4], items[2], outputs[6];
    opf_port s = opf_model_input(o.model, 0), maybe = opf_model_input(o.model, 3);
    assert_true(s.sequence && !s.optional && s.rank == 2 && s.dims[0] == -1 && s.dims[1] == 3);
    assert_true(!maybe.sequence && maybe.optional && maybe.rank == 1);
    for (int64_t k = -3; k < 3; k++) {
        bool there = k % 2 == 0;
        fill(inputs, items, &k, there ? OPF_ARRAY_TENSOR : OPF_ARRAY_ABSENT);
        assert_int_equal(opf_session_run(o.session, inputs, outputs), OPF_OK);
        int64_t at = k < 0 ? k + 3 : k;
        assert_int_equal(outputs[0].kind, OPF_ARRAY_SEQUENCE);
        assert_int_equal(outputs[0].n_items, 3);
        assert_memory_equal(outputs[0].items[1].data, two_rows, sizeof two_rows);
        assert_true(outputs[0].items[1].data != two_rows); /* the session's own */
        assert_int_equal(outputs[1].dims[0], at == 1 ? 2 : 1);
        assert_memory_equal(outputs[1].data, at == 1 ? two_rows : one_row, sizeof one_row);
        assert_true(((const float *)outputs[2].data)[2] == 3 + 1 + 2 + 3);
        assert_int_equal(*(const int64_t *)outputs[3].data, 3);
        assert_int_equal(*(const unsigned char *)outputs[4].data, there);
        assert_int_equal(outputs[5].kind, there ? OPF_ARRAY_TENSOR : OPF_ARRAY_ABSENT);
        if (there) assert_memory_equal(outputs[5].data, pair, sizeof pair);
    }
    close_model(&o);
}

/* What one run gives, the next can take. */
static void test_again(void **state) {
    (void)state;
    opened o = open_model(MODELS "lists.onnx"), other = open_model(MODELS "lists.onnx");
    opf_array inputs[4], items[2], first[6], second[6];
    int64_t k = 0;
    fill(inputs, items, &k, OPF_ARRAY_ABSENT);
    assert_int_equal(opf_session_run(o.session, inputs, first), OPF_OK);
    inputs[0] = first[0];
    inputs[3] = first[5];
    assert_int_equal(opf_session_run(other.session, inputs, second), OPF_OK);
    assert_int_equal(second[0].n_items, 4);
    inputs[0].n_items = 0;
    assert_int_equal(opf_session_run(other.session, inputs, second), OPF_OK);
    assert_int_equal(second[0].n_items, 1);
    close_model(&o);
    close_model(&other);
}

static void fails_with(opened *o, const opf_array *inputs, const char *message) {
    opf_array outputs[6];
    opf_context_clear_messages(o->context);
    assert_int_equal(opf_session_run(o->session, inputs, outputs), OPF_ERROR_INPUT);
    if (!strstr(last_message(o->context), message)) fail_msg("'%s' is not in: %s", message, last_message(o->context));
}

static void test_wrong(void **state) {
    (void)state;
    opened o = open_model(MODELS "lists.onnx");
    opf_array inputs[4], items[2], outputs[6];
    int64_t k = 0, far = 3, odd[] = {1, 2};
    fill(inputs, items, &far, OPF_ARRAY_TENSOR);
    fails_with(&o, inputs, "the position is outside the sequence");
    fill(inputs, items, &k, OPF_ARRAY_SEQUENCE);
    fails_with(&o, inputs, "input 'o': it is a sequence and must be a tensor");
    fill(inputs, items, &k, OPF_ARRAY_TENSOR);
    inputs[0].kind = OPF_ARRAY_ABSENT;
    fails_with(&o, inputs, "input 's': it is absent and is no optional");
    fill(inputs, items, &k, OPF_ARRAY_TENSOR);
    inputs[0] = items[0];
    fails_with(&o, inputs, "input 's': it is a tensor and must be a sequence");
    fill(inputs, items, &k, OPF_ARRAY_TENSOR);
    items[1].dims = odd;
    fails_with(&o, inputs, "input 's': an element of it has another shape");
    fill(inputs, items, &k, OPF_ARRAY_TENSOR);
    items[1] = (opf_array){.dtype = 1, .rank = 1, .dims = three, .data = one_row};
    fails_with(&o, inputs, "input 's': an element of it has another number of axes");
    fill(inputs, items, &k, OPF_ARRAY_TENSOR);
    items[1].dtype = 6;
    fails_with(&o, inputs, "input 's': an element of it is of another element type");
    fill(inputs, items, &k, OPF_ARRAY_TENSOR);
    inputs[1].kind = OPF_ARRAY_SEQUENCE;
    fails_with(&o, inputs, "input 'x': it is no tensor");
    fill(inputs, items, &k, OPF_ARRAY_TENSOR);
    assert_int_equal(opf_session_run(o.session, inputs, outputs), OPF_OK);
    close_model(&o);
}

/* ---- sizes without a bound ---- */

static void test_unbounded(void **state) {
    (void)state;
    opened o = open_model(MODELS "until.onnx");
    float x[2] = {1, 1};
    opf_array outputs[2];
    for (int round = 0; round < 12; round++) {
        float limit = (float)(1 << round);
        opf_array inputs[] = {{.dtype = 1, .rank = 1, .dims = two, .data = x}, {.dtype = 1, .data = &limit}};
        assert_int_equal(opf_session_run(o.session, inputs, outputs), OPF_OK);
        int64_t length = limit < 4 ? 4 : (int64_t)limit; /* doubled at least once, until the sum is no less than the limit */
        assert_int_equal(outputs[0].dims[0], length);
        assert_int_equal(1 << (outputs[1].n_items + 1), length);
        assert_true(*(const float *)outputs[1].items[outputs[1].n_items - 1].data == (float)length);
    }
    close_model(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings), cmocka_unit_test(test_lists), cmocka_unit_test(test_again), cmocka_unit_test(test_wrong), cmocka_unit_test(test_unbounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
