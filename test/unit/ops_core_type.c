/* Typing: symbols, pins, guards, shape arithmetic, messages. */
#include "ops_support.h"

/* The guards, one a line. */
static const char *guards_of(const opf_module *module) {
    opf_text text = {0};
    for (size_t k = 0; k < module->guards.count; k++) {
        opf_expr_print(module->guards.data[k].left, NULL, &text);
        opf_text_add(&text, module->guards.data[k].kind == OPF_GUARD_EQ ? " == " : " >= ");
        opf_expr_print(module->guards.data[k].right, NULL, &text);
        opf_text_add(&text, "\n");
    }
    const char *copy = opf_arena_string(module->arena, opf_text_string(&text));
    opf_text_free(&text);
    return copy;
}

static void test_broadcast_keeps_symbols(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_node *node = NODE(module, "Add", 13, input(module, "x", OPF_FLOAT32, "N,1,4"), input(module, "y", OPF_FLOAT32, "3,1"));
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_string_equal(type_of(node->outputs[0]), "float32[N,3,4]");
    assert_int_equal(module->guards.count, 0);
    free_module(module);
}

static void test_unnamed_sizes_get_symbols_of_their_own(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_node *node = NODE(module, "Relu", 14, input(module, "x:0", OPF_FLOAT32, "?,3,int"));
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_string_equal(type_of(node->outputs[0]), "float32[x_0_0,3,int_]");
    opf_symbol_source *sources;
    assert_int_equal(opf_module_symbol_sources(module, &sources), 2);
    assert_int_equal(sources[0].axis, 0);
    assert_int_equal(sources[1].axis, 2);
    assert_int_equal(sources[0].symbol->nominal, 1);
    assert_int_equal(sources[1].symbol->nominal, 64);
    free_module(module);
}

/* x and y share an axis: M is replaced by N everywhere, in the input's own type too. */
static void test_needed_equality_unifies_symbols(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "N,8"), *y = input(module, "y", OPF_FLOAT32, "M,K");
    opf_node *twice = NODE(module, "Mul", 13, y, y), *sum = NODE(module, "Add", 13, x, twice->outputs[0]);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_string_equal(type_of(y), "float32[N,8]");
    assert_string_equal(type_of(twice->outputs[0]), "float32[N,8]");
    assert_string_equal(type_of(sum->outputs[0]), "float32[N,8]");
    assert_int_equal(module->guards.count, 0);
    opf_symbol_source *sources;
    assert_int_equal(opf_module_symbol_sources(module, &sources), 1);
    free_module(module);
}

static void test_a_declared_name_outlives_a_made_one(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "?"), *y = input(module, "y", OPF_FLOAT32, "N");
    opf_node *sum = NODE(module, "Add", 13, x, y);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_string_equal(type_of(sum->outputs[0]), "float32[N]");
    assert_string_equal(type_of(x), "float32[N]");
    free_module(module);
}

static void test_pins_by_name_and_by_axis(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "N,?"), *y = input(module, "y", OPF_FLOAT32, "N,C");
    NODE(module, "Relu", 14, x);
    NODE(module, "Relu", 14, y);
    opf_pin pins[] = {{.input = "y", .axis = 0, .size = 5}, {.symbol = "x_1", .size = 7}, {.symbol = "C", .size = 9, .nominal_only = true}};
    assert_int_equal(opf_graph_type(module, pins, 3), OPF_OK);
    assert_string_equal(type_of(x), "float32[5,7]");
    assert_string_equal(type_of(y), "float32[5,C]");
    assert_int_equal(y->dims[1]->symbol->nominal, 9);
    free_module(module);
}

static void test_pins_that_do_not_fit(void **state) {
    (void)state;
    opf_module *module = new_module();
    NODE(module, "Relu", 14, input(module, "x", OPF_FLOAT32, "N,3"));
    opf_pin pins[] = {{.symbol = "M", .size = 5}, {.input = "x", .axis = 1, .size = 4}, {.input = "z", .axis = 0, .size = 1}};
    assert_int_equal(opf_graph_type(module, pins, 3), OPF_ERROR_USAGE);
    assert_string_equal(diagnostics(module), "test.onnx: error[usage]: no input of the model has a size named 'M'\n"
                                             "test.onnx: error[usage]: the model has no input 'z' with an axis 0\n"
                                             "test.onnx: error[usage]: axis 1 of input 'x' cannot be both 3 and 4\n");
    free_module(module);
}

static void test_every_problem_is_reported_once(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "1,64"), *y = input(module, "y", OPF_FLOAT32, "1,32");
    opf_node *wrong = NODE(module, "Add", 13, x, y);
    opf_node *unknown = NODE(module, "Blur", 13, x);
    NODE(module, "Relu", 14, wrong->outputs[0]); /* follows from the first: no message */
    NODE(module, "Blur", 13, unknown->outputs[0]);
    NODE(module, "Gelu", 13, x);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_ERROR_UNSUPPORTED);
    assert_int_equal(opf_diags_errors(module->diags), 4);
    const opf_diag *first = opf_diags_at(module->diags, 0);
    assert_string_equal(first->message, "cannot broadcast [1,64] with [1,32]");
    assert_string_equal(first->hint, "axis 1 is 64 and 32; both must match or one be 1");
    assert_string_equal(opf_diags_at(module->diags, 1)->message, "operator Blur of opset 13 is not supported");
    assert_string_equal(opf_diags_at(module->diags, 3)->hint, "it is supported from opset 20 on; convert the model to a newer opset");
    free_module(module);
}

/* Shape → Gather → Concat → Reshape vanishes. */
static void test_shape_arithmetic(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "N,T,12,64");
    opf_node *shape = NODE(module, "Shape", 13, x);
    opf_node *batch = NODE(module, "Gather", 13, shape->outputs[0], INTS(module, 0));
    opf_node *length = NODE(module, "Gather", 13, shape->outputs[0], INTS(module, -3));
    opf_node *joined = NODE(module, "Concat", 13, batch->outputs[0], length->outputs[0], INTS(module, 768));
    set_int(joined, "axis", 0);
    opf_node *reshaped = NODE(module, "Reshape", 13, x, joined->outputs[0]);
    opf_node *doubled = NODE(module, "Mul", 13, length->outputs[0], INTS(module, 2));
    opf_node *real = NODE(module, "Cast", 13, doubled->outputs[0]);
    set_int(real, "to", OPF_INT32);
    opf_node *product = NODE(module, "ReduceProd", 13, shape->outputs[0]);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_string_equal(content_of(shape->outputs[0]), "N, T, 12, 64");
    assert_string_equal(content_of(joined->outputs[0]), "N, T, 768");
    assert_string_equal(type_of(reshaped->outputs[0]), "float32[N,T,768]");
    assert_string_equal(content_of(doubled->outputs[0]), "T*2");
    assert_string_equal(content_of(product->outputs[0]), "N*T*768");
    assert_int_equal(real->outputs[0]->content[0]->dtype, OPF_INT32);
    assert_true(opf_node_is_folded(joined));
    assert_false(opf_node_is_folded(reshaped));
    free_module(module);
}

/* A Where that picks by a known condition does not need the side that it leaves. */
static void test_content_of_a_select(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "N"), *unknown = input(module, "y", OPF_INT64, "1");
    opf_node *shape = NODE(module, "Shape", 13, x);
    opf_node *same = NODE(module, "Equal", 13, INTS(module, 3), INTS(module, 3));
    opf_node *picked = NODE(module, "Where", 13, same->outputs[0], shape->outputs[0], unknown);
    opf_node *depends = NODE(module, "Add", 13, shape->outputs[0], unknown);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_string_equal(content_of(picked->outputs[0]), "N");
    assert_string_equal(content_of(depends->outputs[0]), "unknown");
    free_module(module);
}

/* Exporters compute sizes in int32 and float32. */
static void test_sizes_come_back_from_narrow_types(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_node *shape = NODE(module, "Shape", 13, input(module, "x", OPF_FLOAT32, "N,3"));
    opf_node *narrow = NODE(module, "Cast", 13, shape->outputs[0]), *real = NODE(module, "Cast", 13, shape->outputs[0]);
    set_int(narrow, "to", OPF_INT32);
    set_int(real, "to", OPF_FLOAT32);
    opf_node *doubled = NODE(module, "Add", 13, narrow->outputs[0], narrow->outputs[0]), *wide = NODE(module, "Cast", 13, doubled->outputs[0]);
    set_int(wide, "to", OPF_INT64);
    opf_value *half = constant(module, OPF_FLOAT32, 0, NULL, (double[]){1.5});
    opf_node *scaled = NODE(module, "Mul", 13, real->outputs[0], half), *lower = NODE(module, "Floor", 13, scaled->outputs[0]);
    opf_node *back = NODE(module, "Cast", 13, lower->outputs[0]);
    set_int(back, "to", OPF_INT64);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_string_equal(content_of(narrow->outputs[0]), "int32(N), int32(3)");
    assert_string_equal(content_of(wide->outputs[0]), "N*2, 6");
    assert_string_equal(content_of(back->outputs[0]), "N + floordiv(N, 2), 4");
    assert_string_equal(guards_of(module), "2147483647 >= N\n2147483647 >= N*2\n16777216 >= N\n16777216 >= N*3\n16777216 >= N + floordiv(N, 2)\n");
    free_module(module);
}

/* N and min(N, 512) must be equal: N stands for both, and a guard says so. */
static void test_an_equality_of_expressions_becomes_one_size(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "N"), *table = input(module, "table", OPF_FLOAT32, "512");
    opf_node *shape = NODE(module, "Shape", 13, x);
    opf_node *cut = NODE(module, "Slice", 13, table, INTS(module, 0), shape->outputs[0]);
    opf_node *sum = NODE(module, "Add", 13, cut->outputs[0], x), *after = NODE(module, "Relu", 13, cut->outputs[0]);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_string_equal(type_of(cut->outputs[0]), "float32[N]");
    assert_string_equal(type_of(sum->outputs[0]), "float32[N]");
    assert_string_equal(type_of(after->outputs[0]), "float32[N]");
    assert_string_equal(guards_of(module), "min(N, 512) == N\n");
    free_module(module);
}

/* The largest integer of 32 bits is "to the end" also for a backward slice; any other number behind the axis takes nothing. */
static void test_ends_of_backward_slices(void **state) {
    (void)state;
    static const struct { double end; const char *type; } ends[] = {{INT32_MAX, "float32[5]"}, {0x1p31, "float32[0]"}, {0x1p40, "float32[0]"}, {7, "float32[0]"}, {-0x1p40, "float32[5]"}, {1, "float32[3]"}};
    for (size_t i = 0; i < OPF_COUNT(ends); i++) {
        opf_module *module = new_module();
        opf_value *x = input(module, "x", OPF_FLOAT32, "5");
        opf_node *cut = NODE(module, "Slice", 13, x, INTS(module, -1), INTS(module, ends[i].end), INTS(module, 0), INTS(module, -1));
        assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
        assert_string_equal(type_of(cut->outputs[0]), ends[i].type);
        free_module(module);
    }
}

static void test_input_without_shape(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_value *x = input(module, "x", OPF_FLOAT32, "");
    x->declared_rank = -1;
    opf_node *node = NODE(module, "Relu", 14, x);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_ERROR_INPUT);
    assert_string_equal(diagnostics(module), "test.onnx: error[shape]: graph input 'x' has no declared shape\n    hint: give it one: --shape x=D,D,…\n");
    free_module(module);
    module = new_module();
    x = input(module, "x", OPF_FLOAT32, "");
    x->declared_rank = -1;
    node = NODE(module, "Relu", 14, x);
    opf_pin pins[] = {{.input = "x", .axis = 0, .size = 2}, {.input = "x", .axis = 1, .size = 3}};
    assert_int_equal(opf_graph_type(module, pins, 2), OPF_OK);
    assert_string_equal(type_of(node->outputs[0]), "float32[2,3]");
    free_module(module);
}

static void test_typing_again_keeps_symbols(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_node *node = NODE(module, "Add", 13, input(module, "x", OPF_FLOAT32, "N"), input(module, "y", OPF_FLOAT32, "M"));
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    opf_dim before = node->outputs[0]->dims[0];
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_ptr_equal(node->outputs[0]->dims[0], before);
    free_module(module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broadcast_keeps_symbols),
        cmocka_unit_test(test_unnamed_sizes_get_symbols_of_their_own),
        cmocka_unit_test(test_needed_equality_unifies_symbols),
        cmocka_unit_test(test_a_declared_name_outlives_a_made_one),
        cmocka_unit_test(test_pins_by_name_and_by_axis),
        cmocka_unit_test(test_pins_that_do_not_fit),
        cmocka_unit_test(test_every_problem_is_reported_once),
        cmocka_unit_test(test_shape_arithmetic),
        cmocka_unit_test(test_content_of_a_select),
        cmocka_unit_test(test_sizes_come_back_from_narrow_types),
        cmocka_unit_test(test_an_equality_of_expressions_becomes_one_size),
        cmocka_unit_test(test_ends_of_backward_slices),
        cmocka_unit_test(test_input_without_shape),
        cmocka_unit_test(test_typing_again_keeps_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
