/* A user's operators through the public interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "opfuse/opfuse.h"

#define EXAMPLE OPF_TEST_DATA "/../../examples/own_operators/"

static void test_registered_by_text(void **state) {
    (void)state;
    opf_context *context = opf_context_new();
    opf_model *model;
    assert_int_equal(opf_model_load(&model, context, EXAMPLE "model.onnx"), OPF_ERROR_UNSUPPORTED);
    assert_int_equal(opf_register_operator(context, "Swoosh domain org.example since 1 T = float y = z"), OPF_ERROR_INPUT);
    opf_message last = opf_context_message(context, opf_context_messages(context) - 1);
    assert_string_equal(last.text, "operator text: error[operators]: line 1, column 49: unknown name 'z'\n");
    assert_int_equal(opf_register_operator(context, "Swoosh domain org.example since 1 T = float shift = 4 y = x - shift\n"
                                                    "RMSScale(x, w?) domain org.example since 1 T = float y = has_w ? x * w : x"), OPF_OK);
    assert_int_equal(opf_register_operator(context, "SoftmaxOne domain org.example since 1 T = float row s = sum(x); y = x / s"), OPF_OK);
    assert_int_equal(opf_model_load(&model, context, EXAMPLE "model.onnx"), OPF_OK);
    opf_port port = opf_model_output(model, 0);
    assert_int_equal(port.rank, 2);
    assert_int_equal(port.dims[1], 16);
    opf_model_free(model);
    opf_context_free(context);
}

static int count_lines(opf_context *context) {
    char *text;
    int lines = 0;
    assert_int_equal(opf_operators(context, "text", &text), OPF_OK);
    for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
    opf_string_free(text);
    return lines;
}

static void test_the_table_has_them(void **state) {
    (void)state;
    opf_context *context = opf_context_new(), *other = opf_context_new();
    assert_int_equal(opf_context_set(context, "operators", EXAMPLE "operators.txt"), OPF_OK);
    assert_int_equal(count_lines(context), count_lines(NULL) + 3);
    assert_int_equal(count_lines(other), count_lines(NULL)); /* no context sees another's */
    assert_int_equal(opf_context_set(context, "operators", EXAMPLE "nothing.txt"), OPF_ERROR_SYSTEM);
    assert_int_equal(opf_context_set(context, "operators", EXAMPLE "model.onnx"), OPF_ERROR_INPUT);
    opf_context_free(other);
    opf_context_free(context);
}

static void test_functions_of_the_model_come_first(void **state) {
    (void)state;
    opf_context *context = opf_context_new();
    opf_model *model;
    assert_int_equal(opf_register_operator(context, "Inner domain test since 1 T = float y = 0 * x"), OPF_OK);
    assert_int_equal(opf_model_load(&model, context, OPF_TEST_DATA "/onnx/functions.onnx"), OPF_OK);
    assert_int_equal(opf_context_messages(context), 1);
    assert_string_equal(opf_context_message(context, 0).message, "the model defines the function test::Inner itself; the operator of operator text is not used");
    opf_model_free(model);
    opf_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registered_by_text),
        cmocka_unit_test(test_the_table_has_them),
        cmocka_unit_test(test_functions_of_the_model_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
