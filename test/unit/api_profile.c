/* Profiles: figures that belong together, and calls around steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "opfuse/opfuse.h"
#include "own_cache.h"

#define MODEL OPF_TEST_DATA "/../cli/models/loop.onnx"
#define EXAMPLE OPF_TEST_DATA "/../../examples/ppocr_cls_v2/model.onnx"

static opf_context *open_model(opf_model **model, opf_array *inputs, const char *path, const char *threads) {
    opf_context *context = opf_context_new();
    assert_int_equal(opf_context_set(context, "cache", cache), OPF_OK);
    assert_int_equal(opf_context_set(context, "threads", threads), OPF_OK);
    assert_int_equal(opf_model_load(model, context, path), OPF_OK);
    for (size_t i = 0; i < opf_model_inputs(*model); i++) assert_int_equal(opf_model_make_input(&inputs[i], *model, i, NULL), OPF_OK);
    return context;
}

static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }

static void figures_belong_together(void **state) {
    (void)state;
    opf_model *model;
    opf_array inputs[4];
    opf_context *context = open_model(&model, inputs, EXAMPLE, "2");
    const char *const formats[] = {"json", "trace", "folded", "text", NULL};
    char *texts[4];
    assert_int_equal(opf_model_profile(model, inputs, 1, 5, formats, texts), OPF_OK);
    json_t *o = json_loads(texts[0], 0, NULL), *trace = json_loads(texts[1], 0, NULL);
    assert_non_null(o);
    json_t *steps = json_object_get(o, "steps"), *events = json_object_get(trace, "traceEvents");
    double share = 0, before = 1e30;
    size_t lines = 0;
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *s = json_array_get(steps, i);
        share += number(s, "share");
        assert_true(number(s, "ms") <= before && number(s, "least_ms") <= number(s, "ms") && number(s, "ms") <= number(s, "most_ms"));
        assert_true(number(s, "calls") == 1 && number(s, "bytes") > 0 && number(s, "balance") >= 1);
        before = number(s, "ms");
    }
    assert_true(share > 0.999 && share < 1.001);
    assert_true(json_array_size(events) >= json_array_size(steps)); /* a step of two parts has two */
    for (const char *c = texts[2]; *c; c++) lines += *c == '\n';
    assert_int_equal(lines, json_array_size(steps));
    assert_non_null(strstr(texts[3], "threads"));
    json_decref(o);
    json_decref(trace);
    for (int i = 0; i < 4; i++) opf_string_free(texts[i]);
    const char *const unknown[] = {"song", NULL};
    assert_int_equal(opf_model_profile(model, inputs, 0, 1, unknown, texts), OPF_ERROR_USAGE);
    opf_string_free(texts[0]);
    opf_model_free(model);
    opf_context_free(context);
}

typedef struct seen { int begun, ended, open, named; } seen;

static void count(void *data, int step, const char *name, int begin) {
    seen *s = data;
    (void)step;
    s->named += name && *name;
    if (begin) {
        s->begun++;
        s->open++;
    } else {
        s->ended++;
        s->open--;
    }
    assert_true(s->open == 0 || s->open == 1);
}

static void steps_are_told(void **state) {
    (void)state;
    opf_model *model;
    opf_session *session;
    opf_array inputs[4], outputs[8];
    opf_context *context = open_model(&model, inputs, MODEL, "1");
    seen s = {0}, before;
    assert_int_equal(opf_session_new(&session, model), OPF_OK);
    opf_session_on_step(session, count, &s);
    assert_int_equal(opf_session_run(session, inputs, outputs), OPF_OK);
    assert_true(s.begun > 0 && s.begun == s.ended && s.named == s.begun + s.ended);
    before = s;
    assert_int_equal(opf_session_run(session, inputs, outputs), OPF_OK);
    assert_int_equal(s.begun, 2 * before.begun);
    opf_session_on_step(session, NULL, NULL);
    before = s;
    assert_int_equal(opf_session_run(session, inputs, outputs), OPF_OK);
    assert_int_equal(s.begun, before.begun);
    opf_session_free(session);
    opf_model_free(model);
    opf_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(figures_belong_together), cmocka_unit_test(steps_are_told)};
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
