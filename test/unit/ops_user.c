/* Operators that a user gives as lines of text: what is taken, what is refused and where, what they come to. */
#include "ops_support.h"

#include "ops/user.h"

typedef struct setting {
    opf_arena *arena;
    opf_diags *diags;
    opf_user_ops *ops;
} setting;

static int set_up(void **state) {
    setting *s = malloc(sizeof *s);
    s->arena = opf_arena_new();
    s->diags = opf_diags_new();
    s->ops = opf_user_ops_new(s->arena);
    *state = s;
    return 0;
}

static int take_down(void **state) {
    setting *s = *state;
    opf_diags_free(s->diags);
    opf_arena_free(s->arena);
    free(s);
    return 0;
}

/* ---- what is refused ---- */

static const struct { const char *line, *message; } mistakes[] = {
    {"A since 1 T = float y = exp(z)", "line 1, column 29: unknown name 'z'"},
    {"A since 1 T = float let q = 2 * z; y = q", "line 1, column 33: unknown name 'z'"},
    {"A(a...) since 1 T = float fold a + z; y = fold", "line 1, column 36: unknown name 'z'"},
    {"A since 1 T = numeric y = 1 + exp(x)", "line 1, column 31: 'exp' does not take uint8"},
    {"A since 1 T = float|int32 y = x + 0.5", "line 1, column 38: 0.5 is no int32"},
    {"A since 1 T = int8 y = x * 300", "line 1, column 31: 300 is no int8"},
    {"A since 1 T = bool y = x * x", "line 1, column 29: '*' does not take bool"},
    {"A since 1 T = float y = x +", "line 1, column 28: the text ends too early"},
    {"A since 1 T = float y = x \xc2\xa7 2", "line 1, column 27: a character beyond ASCII not expected"},
    {"A since 1 T = float y = hypot(x, x)", "line 1, column 25: no function 'hypot'"},
    {"A(a, a) since 1 T = float y = a", "line 1, column 6: two operands are called 'a'"},
    {"A(a..., b) since 1 T = float fold a; y = fold", "line 1, column 8: '...' belongs to the last operand"},
    {"A view since 1 T = float y = -x", "line 1, column 32: a view is `y = x`"},
    {"A since 0 T = float y = x", "line 1, column 9: a whole number from 1 on expected"},
    {"A since 1 T = float in float16 y = x", "line 1, column 24: 'float16' is no type to compute in"},
    {"A since 1 T = float kind wide y = x", "line 1, column 26: 'wide' is no kind; elemwise, broadcast and injective are"},
    {"A since 1 T = float row s = mean(x); y = s", "line 1, column 29: 'mean' is no reduction; sum, prod, max and min are"},
    {"A since 1 T = float row s = sum(x) + 1; y = s", "line 1, column 35: ';' expected; what follows a reduction is a `let` or `y`"},
    {"A since 1 T = float row s = sum(x < 0); y = s", "line 1, column 32: a reduction takes numbers, and this is a bool"},
    {"A(a, b) aligned since 1 T = float row s = sum(a); y = s", "line 1, column 56: `aligned` and `row` both want the attribute `axis`"},
    {"A since 1 T = float let q = 3 y = x", "line 1, column 36: ';' expected at the end of the expression"},
    {"A since 1 T = float fast y = x", "line 1, column 21: 'fast' is no clause, and no attribute with a default"},
    {"A since 1 T = int32 alpha = 0.5 y = alpha * x", "line 1: attribute 'alpha' is 0.5, and A of int32 is computed in int32"},
    {"Relu since 1 T = float y = x", "line 1: Relu is built in"},
    {"Conv replaces since 1 T = float y = x", "line 1: Conv is built in and more than a line can say; it cannot be replaced"},
    {"Frob replaces since 1 T = float y = x", "line 1: there is no built-in Frob that could be replaced"},
    {"A since 1 T = float y = x\nB since 1 T = float y = x\nA since 1 T = float16 y = 2 * x", "line 3, column 1: earlier lines of A take all of these types"},
    {"A since 1 T = float y = x\nA(a, b) since 1 T = int32 y = a", "line 2, column 1: the lines of one version of A have the same operands and clauses"},
};

static void test_mistakes(void **state) {
    setting *s = *state;
    for (size_t k = 0; k < OPF_COUNT(mistakes); k++) {
        opf_diags_clear(s->diags);
        assert_int_equal(opf_user_ops_add(s->ops, mistakes[k].line, "mine.txt", s->diags), OPF_ERROR_INPUT);
        assert_int_equal(opf_diags_count(s->diags), 1);
        assert_string_equal(opf_diags_at(s->diags, 0)->message, mistakes[k].message);
        assert_string_equal(opf_diags_at(s->diags, 0)->place.file, "mine.txt");
        assert_string_equal(opf_diags_at(s->diags, 0)->code, "operators");
    }
    assert_int_equal(opf_user_ops_count(s->ops), 0);
}

static void test_all_mistakes_in_order_and_nothing_taken(void **state) {
    setting *s = *state;
    const char *text = "Good since 1 T = float y = x\n\nBad since 1 T = float y = q\nWorse since\nRelu since 1 T = float y = x\n";
    assert_int_equal(opf_user_ops_add(s->ops, text, "mine.txt", s->diags), OPF_ERROR_INPUT);
    assert_int_equal(opf_diags_count(s->diags), 3);
    assert_string_equal(opf_diags_at(s->diags, 0)->message, "line 3, column 27: unknown name 'q'");
    assert_string_equal(opf_diags_at(s->diags, 1)->message, "line 4, column 12: a number expected");
    assert_string_equal(opf_diags_at(s->diags, 2)->message, "line 5: Relu is built in");
    assert_non_null(opf_diags_at(s->diags, 2)->hint);
    assert_null(opf_user_ops_find(s->ops, "", "Good", 1));
}

static void test_twice(void **state) {
    setting *s = *state;
    assert_int_equal(opf_user_ops_add(s->ops, "A since 2 T = float y = x", "one.txt", s->diags), OPF_OK);
    assert_int_equal(opf_user_ops_add(s->ops, "A since 3 T = float y = 2 * x", "two.txt", s->diags), OPF_OK);
    assert_int_equal(opf_user_ops_add(s->ops, "A since 2 T = int32 y = x", "two.txt", s->diags), OPF_ERROR_INPUT);
    assert_string_equal(opf_diags_at(s->diags, 0)->message, "line 1: version 2 of A is there already, by one.txt");
    assert_null(opf_user_ops_find(s->ops, "", "A", 1));
    assert_int_equal(opf_user_ops_find(s->ops, "", "A", 2)->since, 2);
    assert_int_equal(opf_user_ops_find(s->ops, "", "A", 9)->since, 3);
    assert_int_equal(opf_user_ops_first(s->ops, "", "A")->since, 2);
    assert_string_equal(opf_op_source(opf_user_ops_at(s->ops, 1)), "two.txt");
}

/* ---- what they come to ---- */

static opf_module *module_with(setting *s, const char *text) {
    assert_int_equal(opf_user_ops_add(s->ops, text, "mine.txt", s->diags), OPF_OK);
    opf_module *module = new_module();
    module->operators = s->ops;
    return module;
}

static void test_stages_of_a_row(void **state) {
    opf_module *module = module_with(*state, "Share(x, w) domain d since 1 T = float row s = sum(x * w); y = x / s * length\r\n");
    opf_node *node = NODE(module, "d::Share", 1, input(module, "x", OPF_FLOAT16, "N,4"), input(module, "w", OPF_FLOAT16, "N,1"));
    set_int(node, "axis", 0);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_string_equal(type_of(node->outputs[0]), "float16[N,4]");
    assert_string_equal(stages_of(node), "t0: float16[N,4] = input x\nt1: float16[N,1] = input w\n"
                                         "t2: float32 Share.s [i0 = 4] = sum[i1 = N] float32 of float32(t0[i1, i0])*float32(t1[i1, 0])\n"
                                         "t3: float16 Share [i0 = N, i1 = 4] = float16(float32(t0[i0, i1]) / t2[i1]*float32(N))\n");
    free_module(module);
}

static void test_replacing(void **state) {
    opf_module *module = module_with(*state, "Gelu replaces since 20 T = float y = x / (1 + exp(-1.702 * x))");
    opf_node *node = NODE(module, "Gelu", 20, input(module, "x", OPF_FLOAT32, "N"));
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_non_null(strstr(stages_of(node), "1.702"));
    free_module(module);
}

static void test_attributes(void **state) {
    opf_module *module = module_with(*state, "A domain d since 1 T = float alpha = 2 y = alpha * x");
    opf_value *x = input(module, "x", OPF_FLOAT32, "N");
    set_float(NODE(module, "d::A", 1, x), "beta", 1);
    set_string(NODE(module, "d::A", 1, x), "alpha", "two");
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_ERROR_INPUT);
    assert_string_equal(opf_diags_at(module->diags, 0)->message, "the operator's text does not speak of the node's attribute 'beta'");
    assert_string_equal(opf_diags_at(module->diags, 1)->message, "attribute 'alpha' of A must be one number");
    free_module(module);
}

static void test_no_row_to_reduce(void **state) {
    opf_module *module = module_with(*state, "A domain d since 2 T = float row s = sum(x); y = s");
    NODE(module, "d::A", 2, input(module, "x", OPF_FLOAT32, ""));
    NODE(module, "d::A", 1, opf_value_find(module->graph, "x"));
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_ERROR_UNSUPPORTED);
    assert_string_equal(opf_diags_at(module->diags, 0)->message, "A reduces along an axis, and its operands have none");
    assert_string_equal(opf_diags_at(module->diags, 1)->hint, "the operator that mine.txt gives holds from opset 2 on");
    free_module(module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_mistakes, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_all_mistakes_in_order_and_nothing_taken, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_twice, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_stages_of_a_row, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_replacing, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_attributes, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_no_row_to_reduce, set_up, take_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
