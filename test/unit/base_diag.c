/* The sink of diagnostics and the printed form that docs/errors.md promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/diag.h"

static void expect_printed(const opf_diag *diag, const char *expected) {
    opf_text text = {0};
    opf_diag_print(diag, &text);
    assert_string_equal(text.data, expected);
    opf_text_free(&text);
}

static void whole_form(void **state) {
    (void)state;
    opf_diags *diags = opf_diags_new();
    opf_place place = {"resnet.onnx", "layer1.0/add", "Add", 17};
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "shape", place, "cannot broadcast [1,%d] with [1,%d]", 64, 32);
    opf_diag_detail(diags, diag, "input 0  'conv2_out'  float32[1,64]  from 'layer1.0/conv2' (Conv)");
    opf_diag_detail(diags, diag, "input 1  'w'  float32[1,32]  constant");
    opf_diag_hint(diags, diag, "axis %d is 64 and 32; both must match or one be 1", 1);
    expect_printed(diag, "resnet.onnx: node 'layer1.0/add' (Add, #17): error[shape]: cannot broadcast [1,64] with [1,32]\n"
                         "    input 0  'conv2_out'  float32[1,64]  from 'layer1.0/conv2' (Conv)\n"
                         "    input 1  'w'  float32[1,32]  constant\n"
                         "    hint: axis 1 is 64 and 32; both must match or one be 1\n");
    opf_diags_free(diags);
}

static void parts_may_be_missing(void **state) {
    (void)state;
    opf_diags *diags = opf_diags_new();
    expect_printed(opf_diag_add(diags, OPF_NOTE, "cache", OPF_NO_PLACE, "off"), "note[cache]: off\n");
    expect_printed(opf_diag_add(diags, OPF_WARNING, "io", (opf_place){"f", NULL, NULL, -1}, "w"), "f: warning[io]: w\n");
    expect_printed(opf_diag_add(diags, OPF_ERROR, "type", (opf_place){NULL, "n", NULL, -1}, "e"), "node 'n': error[type]: e\n");
    expect_printed(opf_diag_add(diags, OPF_ERROR, "type", (opf_place){NULL, "n", "Add", -1}, "e"), "node 'n' (Add): error[type]: e\n");
    expect_printed(opf_diag_add(diags, OPF_ERROR, "type", (opf_place){NULL, NULL, "Add", 3}, "e"), "node (Add, #3): error[type]: e\n");
    expect_printed(opf_diag_add(diags, OPF_ERROR, "type", (opf_place){NULL, NULL, NULL, 3}, "e"), "node (#3): error[type]: e\n");
    opf_diags_free(diags);
}

static void repeated_messages_are_counted(void **state) {
    (void)state;
    opf_diags *diags = opf_diags_new();
    opf_diag *first = NULL;
    for (int i = 0; i < 3; i++) {
        opf_diag *diag = opf_diag_add(diags, OPF_WARNING, "cache", OPF_NO_PLACE, "the cache is %s", "full");
        opf_diag_detail(diags, diag, "a detail");
        opf_diag_hint(diags, diag, "a hint");
        if (!first) first = diag;
        assert_ptr_equal(diag, first);
    }
    opf_diag_add(diags, OPF_ERROR, "cache", OPF_NO_PLACE, "the cache is full");
    assert_int_equal(opf_diags_count(diags), 2);
    assert_int_equal(opf_diags_errors(diags), 1);
    expect_printed(opf_diags_at(diags, 0), "warning[cache]: the cache is full (3 times)\n    a detail\n    hint: a hint\n");
    opf_diags_clear(diags);
    assert_int_equal(opf_diags_count(diags), 0);
    assert_int_equal(opf_diags_errors(diags), 0);
    opf_diags_free(diags);
}

static void control_characters_do_not_reach_the_terminal(void **state) {
    (void)state;
    opf_diags *diags = opf_diags_new();
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "graph", (opf_place){NULL, "a\x1b[2J\nb", NULL, -1}, "name 'x\ty\n'");
    opf_diag_hint(diags, diag, "rename\r it");
    expect_printed(diag, "node 'a?[2J?b': error[graph]: name 'x?y?'\n    hint: rename? it\n");
    opf_diags_free(diags);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_form), cmocka_unit_test(parts_may_be_missing), cmocka_unit_test(repeated_messages_are_counted),
        cmocka_unit_test(control_characters_do_not_reach_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
