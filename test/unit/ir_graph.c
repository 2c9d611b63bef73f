/* The graph: links both ways, sorting, cycles, removal, the checker, attributes, guards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/graph.h"

typedef struct fixture {
    opf_diags *diags;
    opf_module *module;
    opf_graph *graph;
} fixture;

static int setup(void **state) {
    static fixture f;
    f.diags = opf_diags_new();
    f.module = opf_module_new(f.diags, "test.onnx");
    f.graph = f.module->graph = opf_graph_new(f.module, "main", NULL);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    opf_module_free(f->module);
    opf_diags_free(f->diags);
    return 0;
}

static opf_value *input(opf_graph *graph, const char *name) {
    opf_value *value = opf_value_new(graph, name);
    opf_graph_add_input(graph, value);
    return value;
}

/* A node of one result that is called like the node; inputs up to NULL. */
static opf_value *node(opf_graph *graph, const char *name, opf_value *a, opf_value *b) {
    opf_node *made = opf_node_new(graph, name, "Op", "", 17, (a != NULL) + (b != NULL), 1);
    if (a) opf_node_set_input(made, 0, a);
    if (b) opf_node_set_input(made, 1, b);
    opf_node_set_output(made, 0, opf_value_new(graph, name));
    return made->outputs[0];
}

static void expect_order(const opf_graph *graph, const char *expected) {
    opf_text text = {0};
    for (size_t i = 0; i < graph->nodes.count; i++) {
        assert_int_equal(graph->nodes.data[i]->id, i);
        opf_text_printf(&text, "%s ", graph->nodes.data[i]->name);
    }
    assert_string_equal(opf_text_string(&text), expected);
    opf_text_free(&text);
}

static void expect_printed(const opf_graph *graph, const char *expected) {
    opf_text text = {0};
    opf_graph_print(graph, &text);
    assert_string_equal(text.data, expected);
    opf_text_free(&text);
}

static void uses_mirror_inputs(void **state) {
    fixture *f = *state;
    opf_value *x = input(f->graph, "x"), *y = input(f->graph, "y");
    opf_value *a = node(f->graph, "a", x, x), *b = node(f->graph, "b", a, y);
    opf_graph_add_output(f->graph, b, NULL);
    assert_int_equal(x->uses.count, 2);
    assert_int_equal(opf_graph_check(f->graph, "test"), OPF_OK);
    opf_node_set_input(a->producer, 1, y);
    assert_int_equal(x->uses.count, 1);
    assert_int_equal(x->uses.data[0].input, 0);
    assert_int_equal(y->uses.count, 2);
    opf_value_replace(a, x);
    assert_int_equal(a->uses.count, 0);
    assert_ptr_equal(b->producer->inputs[0], x);
    assert_int_equal(opf_graph_check(f->graph, "test"), OPF_OK);
    opf_node_remove(a->producer);
    assert_null(opf_value_find(f->graph, "a"));
    assert_int_equal(x->uses.count, 1);
    opf_graph_renumber(f->graph);
    expect_order(f->graph, "b ");
    assert_int_equal(opf_graph_check(f->graph, "test"), OPF_OK);
    assert_int_equal(opf_diags_count(f->diags), 0);
}

static void replaced_outputs_keep_their_names(void **state) {
    fixture *f = *state;
    opf_value *x = input(f->graph, "x"), *y = node(f->graph, "y", x, NULL);
    opf_graph_add_output(f->graph, y, "y");
    opf_graph_add_output(f->graph, y, "again");
    opf_value_replace(y, x);
    assert_ptr_equal(f->graph->outputs.data[0], x);
    assert_ptr_equal(f->graph->outputs.data[1], x);
    assert_string_equal(f->graph->output_names.data[0], "y");
    assert_string_equal(f->graph->output_names.data[1], "again");
    assert_true(x->is_output);
    assert_false(y->is_output);
    opf_graph_remove_dead(f->graph);
    assert_int_equal(f->graph->nodes.count, 0);
    assert_int_equal(f->module->removed.count, 1);
    assert_string_equal(f->module->removed.data[0].node, "y");
}

static void names_become_unique(void **state) {
    fixture *f = *state;
    assert_non_null(opf_value_new(f->graph, "v"));
    assert_null(opf_value_new(f->graph, "v"));
    opf_value *fresh = opf_value_new(f->graph, NULL);
    assert_ptr_equal(opf_value_find(f->graph, fresh->name), fresh);
    assert_string_equal(opf_node_new(f->graph, NULL, "Add", "", 17, 0, 0)->name, "Add_0");
    assert_string_equal(opf_node_new(f->graph, "n", "Add", "", 17, 0, 0)->name, "n");
    assert_string_equal(opf_node_new(f->graph, "n", "Add", "", 17, 0, 0)->name, "n#2");
    assert_string_equal(opf_node_name_free(f->graph, "", "Mul", 7), "Mul_7");
    assert_string_equal(opf_node_name_free(f->graph, "n", "Mul", 2), "n#2#2");
}

static void sorted_graphs_keep_their_order(void **state) {
    fixture *f = *state;
    opf_value *x = input(f->graph, "x");
    opf_value *c = node(f->graph, "c", x, NULL), *a = node(f->graph, "a", x, NULL);
    node(f->graph, "b", c, a);
    assert_int_equal(opf_graph_sort(f->graph), OPF_OK);
    expect_order(f->graph, "c a b ");
}

static void unsorted_graphs_stay_near_the_file(void **state) {
    fixture *f = *state;
    opf_value *x = input(f->graph, "x");
    opf_value *last = node(f->graph, "last", x, NULL); /* will read "middle" */
    node(f->graph, "free", x, NULL);
    opf_value *first = node(f->graph, "first", x, NULL);
    opf_value *middle = node(f->graph, "middle", first, NULL);
    opf_node_set_input(last->producer, 0, middle);
    assert_int_equal(opf_graph_sort(f->graph), OPF_OK);
    expect_order(f->graph, "free first middle last ");
    assert_int_equal(opf_graph_check(f->graph, "sort"), OPF_OK);
}

static void sub_graphs_are_dependencies(void **state) {
    fixture *f = *state;
    opf_value *x = input(f->graph, "x");
    opf_value *branch = node(f->graph, "if", x, NULL), *late = node(f->graph, "late", x, NULL);
    opf_graph *inner = opf_graph_new(f->module, "then", branch->producer), *deep;
    opf_value *held = node(inner, "held", x, NULL);
    deep = opf_graph_new(f->module, "deep", held->producer);
    opf_value *result = node(deep, "result", late, NULL);
    opf_graph_add_output(deep, result, NULL);
    opf_graph_add_output(inner, held, NULL);
    opf_node_attr_add(branch->producer, "then_branch", OPF_ATTR_GRAPH, 1, &inner);
    opf_node_attr_add(held->producer, "body", OPF_ATTR_GRAPH, 1, &deep);
    assert_ptr_equal(opf_value_resolve(deep, "x"), x);
    assert_ptr_equal(opf_node_within(result->producer, f->graph), branch->producer);
    assert_int_equal(opf_graph_sort(f->graph), OPF_OK);
    expect_order(f->graph, "late if ");
    assert_int_equal(opf_graph_check(f->graph, "sort"), OPF_OK);
    expect_printed(f->graph, "graph \"main\" {\n"
                             "  %x: ? = input\n"
                             "  %late: ? = Op \"late\" (%x)\n"
                             "  %if: ? = Op \"if\" (%x) {then_branch = graph \"then\" {\n"
                             "      %held: ? = Op \"held\" (%x) {body = graph \"deep\" {\n"
                             "          %result: ? = Op \"result\" (%late)\n"
                             "          output %result\n"
                             "        }}\n"
                             "      output %held\n"
                             "    }}\n"
                             "  output \n"
                             "}\n");
    opf_graph_remove_dead(f->graph); /* takes the captured use away with the node that holds it */
    assert_int_equal(f->graph->nodes.count, 0);
    assert_int_equal(late->uses.count, 0);
    assert_int_equal(x->uses.count, 0);
}

static void cycles_are_named(void **state) {
    fixture *f = *state;
    opf_value *x = input(f->graph, "x");
    opf_value *down = node(f->graph, "down", x, NULL), *a = node(f->graph, "a", x, x), *b = node(f->graph, "b", a, NULL), *c = node(f->graph, "c", b, NULL);
    opf_node_set_input(a->producer, 1, c);
    opf_node_set_input(down->producer, 0, c); /* waits for the cycle without being in it */
    assert_int_equal(opf_graph_sort(f->graph), OPF_ERROR_INPUT);
    assert_int_equal(opf_diags_count(f->diags), 1);
    opf_text text = {0};
    opf_diag_print(opf_diags_at(f->diags, 0), &text);
    assert_string_equal(text.data, "test.onnx: node 'a' (Op): error[graph]: the node needs its own result, through a cycle of 3 nodes\n"
                                   "    'a' (Op) feeds\n"
                                   "    'b' (Op) feeds\n"
                                   "    'c' (Op) feeds the first\n"
                                   "    hint: an ONNX graph has no cycles; recurrences are written with Loop or Scan\n");
    opf_text_free(&text);
}

static void long_chains_sort(void **state) {
    fixture *f = *state;
    enum { COUNT = 50000 };
    opf_value *x = input(f->graph, "x");
    opf_value **chain = OPF_ARRAY(f->module->arena, opf_value *, COUNT);
    for (int i = 0; i < COUNT; i++) chain[i] = node(f->graph, NULL, x, NULL);
    for (int i = 0; i + 1 < COUNT; i++) opf_node_set_input(chain[i]->producer, 0, chain[i + 1]); /* backwards */
    assert_int_equal(opf_graph_sort(f->graph), OPF_OK);
    assert_ptr_equal(f->graph->nodes.data[0]->outputs[0], chain[COUNT - 1]);
    assert_int_equal(opf_graph_check(f->graph, "sort"), OPF_OK);
    opf_graph_add_output(f->graph, chain[COUNT / 2], NULL);
    opf_graph_remove_dead(f->graph);
    assert_int_equal(f->graph->nodes.count, COUNT / 2);
}

static size_t violations(fixture *f) {
    opf_diags_clear(f->diags);
    opf_status status = opf_graph_check(f->graph, "a bad pass");
    size_t count = opf_diags_count(f->diags);
    assert_int_equal(status, count ? OPF_ERROR_INTERNAL : OPF_OK);
    return count;
}

static void the_checker_sees_broken_links(void **state) {
    fixture *f = *state;
    opf_value *x = input(f->graph, "x"), *a = node(f->graph, "a", x, NULL), *b = node(f->graph, "b", a, x);
    opf_graph_add_output(f->graph, b, NULL);
    assert_int_equal(violations(f), 0);

    b->producer->inputs[1] = a; /* behind the use list's back */
    assert_int_equal(violations(f), 2);
    assert_string_equal(opf_diags_at(f->diags, 0)->message, "after a bad pass: value 'x' has a use by 'b' that does not read it");
    b->producer->inputs[1] = x;

    OPF_PUSH(f->module->arena, &a->uses, ((opf_use){b->producer, 0}));
    assert_int_equal(violations(f), 1);
    a->uses.count--;

    opf_node *first = f->graph->nodes.data[0];
    f->graph->nodes.data[0] = f->graph->nodes.data[1];
    f->graph->nodes.data[1] = first;
    assert_int_equal(violations(f), 1);
    assert_string_equal(opf_diags_at(f->diags, 0)->message, "after a bad pass: input 0 ('a') is made by a later node");
    f->graph->nodes.data[1] = f->graph->nodes.data[0];
    f->graph->nodes.data[0] = first;

    a->producer = NULL;
    assert_true(violations(f) > 0);
    a->producer = first;

    b->is_output = false;
    assert_int_equal(violations(f), 1);
    b->is_output = true;

    x->constant = opf_tensor_zeros(f->module->arena, OPF_FLOAT32, 0, NULL, NULL);
    assert_int_equal(violations(f), 1);
    x->constant = NULL;
    assert_int_equal(violations(f), 0);
}

static void attributes_are_found_by_name_and_kind(void **state) {
    fixture *f = *state;
    opf_node *n = opf_node_new(f->graph, "n", "Op", "com.test", 1, 0, 0);
    const int64_t axis = -2, pads[] = {1, 2, 3};
    const float alpha = 0.25f;
    const char *mode = "edge";
    opf_node_attr_add(n, "axis", OPF_ATTR_INT, 1, &axis);
    opf_node_attr_add(n, "alpha", OPF_ATTR_FLOAT, 1, &alpha);
    opf_node_attr_add(n, "mode", OPF_ATTR_STRING, 1, &mode);
    opf_node_attr_add(n, "pads", OPF_ATTR_INTS, 3, pads);
    const int64_t *ints = NULL;
    assert_int_equal(opf_node_int(n, "axis", 9), -2);
    assert_int_equal(opf_node_int(n, "alpha", 9), 9);
    assert_int_equal(opf_node_int(n, "none", 9), 9);
    assert_true(opf_node_float(n, "alpha", 1) == 0.25);
    assert_string_equal(opf_node_string(n, "mode", ""), "edge");
    assert_int_equal(opf_node_attr(n, "mode")->string_sizes[0], 4);
    assert_int_equal(opf_node_ints(n, "pads", &ints), 3);
    assert_int_equal(ints[2], 3);
    assert_int_equal(opf_node_ints(n, "axis", &ints), -1);
    opf_node_attr_add(n, "axis", OPF_ATTR_INT, 1, &pads[1]); /* replaces */
    assert_int_equal(n->n_attrs, 4);
    assert_int_equal(opf_node_int(n, "axis", 9), 2);
}

static void errors_show_the_inputs(void **state) {
    fixture *f = *state;
    const int64_t dims[] = {2, 3};
    opf_value *x = input(f->graph, "x"), *a = node(f->graph, "a", x, NULL);
    opf_value *w = opf_value_constant(f->graph, "w", opf_tensor_zeros(f->module->arena, OPF_INT64, 2, dims, NULL));
    opf_node *n = opf_node_new(f->graph, "n", "Gelu", "com.test", 1, 4, 1);
    opf_node_set_input(n, 0, a);
    opf_node_set_input(n, 1, w);
    opf_node_set_input(n, 3, x);
    n->index = 5;
    opf_text text = {0};
    opf_diag_print(opf_node_error(n, "shape", "axis %d is wrong", 3), &text);
    assert_string_equal(text.data, "test.onnx: node 'n' (com.test::Gelu, #5): error[shape]: axis 3 is wrong\n"
                                   "    input 0  'a'  ?  from 'a' (Op)\n"
                                   "    input 1  'w'  int64[2,3]  constant\n"
                                   "    input 2  left out\n"
                                   "    input 3  'x'  ?  graph input\n");
    opf_text_free(&text);
}

static void constants_are_typed_and_small_ones_known(void **state) {
    fixture *f = *state;
    const int64_t data[] = {1, -1, 64}, dims[] = {3}, large[] = {OPF_CONTENT_LIMIT + 1};
    const char *why = NULL;
    opf_value *shape = opf_value_constant(f->graph, "shape", opf_tensor_new(f->module->arena, OPF_INT64, 1, dims, data, &why));
    assert_true(opf_value_is_typed(shape));
    assert_int_equal(shape->content_count, 3);
    assert_ptr_equal(shape->content[1], opf_int(f->module->pool, -1));
    assert_int_equal(opf_value_nominal_bytes(shape), 24);
    assert_true(opf_is_value(opf_value_elements(shape), 3));
    opf_value *big = opf_value_constant(f->graph, "big", opf_tensor_zeros(f->module->arena, OPF_FLOAT32, 1, large, &why));
    assert_null(big->content);
    assert_null(opf_value_constant(f->graph, "big", big->constant));
}

static void tensors_refuse_impossible_shapes(void **state) {
    fixture *f = *state;
    opf_arena *arena = f->module->arena;
    const char *why = NULL;
    const int64_t negative[] = {2, -1}, huge[] = {1LL << 40, 1LL << 40}, empty_huge[] = {0, 1LL << 40, 1LL << 40}, fits[] = {2, 3};
    assert_null(opf_tensor_new(arena, OPF_FLOAT32, 2, negative, NULL, &why));
    assert_string_equal(why, "a dimension is negative");
    assert_null(opf_tensor_new(arena, OPF_FLOAT32, 2, huge, NULL, &why));
    assert_null(opf_tensor_new(arena, OPF_FLOAT32, 3, empty_huge, NULL, &why));
    assert_string_equal(why, "the number of elements overflows 64 bits");
    assert_null(opf_tensor_new(arena, OPF_FLOAT32, 17, fits, NULL, &why));
    assert_null(opf_tensor_new(arena, OPF_NO_DTYPE, 2, fits, NULL, &why));
    opf_tensor *int4 = opf_tensor_zeros(arena, OPF_INT4, 2, fits, &why);
    assert_int_equal(int4->bytes, 3);
    assert_int_equal((uintptr_t)int4->data % 64, 0);
    assert_int_equal(opf_tensor_zeros(arena, OPF_FLOAT32, 0, NULL, &why)->elements, 1);
}

static void guards_stand_once(void **state) {
    fixture *f = *state;
    opf_pool *pool = f->module->pool;
    opf_dim n = opf_sym(pool, opf_symbol_new(pool, "N", 0, INT64_MAX, 64)), m = opf_sym(pool, opf_symbol_new(pool, "M", 0, INT64_MAX, 64));
    opf_module_guard(f->module, OPF_GUARD_EQ, n, n, "same");
    assert_int_equal(f->module->guards.count, 0);
    opf_module_guard(f->module, OPF_GUARD_EQ, n, m, "first");
    opf_module_guard(f->module, OPF_GUARD_EQ, m, n, "second");
    assert_int_equal(f->module->guards.count, 1);
    assert_string_equal(f->module->guards.data[0].why, "first");
    opf_module_guard(f->module, OPF_GUARD_GE, n, opf_int(pool, 8), "large");
    opf_module_guard(f->module, OPF_GUARD_GE, opf_int(pool, 9), opf_int(pool, 8), "follows");
    assert_int_equal(f->module->guards.count, 2);
}

static void origins_are_kept(void **state) {
    fixture *f = *state;
    opf_node *a = opf_node_new(f->graph, "a", "Op", "", 17, 0, 0), *b = opf_node_new(f->graph, "b", "Op", "", 17, 0, 0), *both = opf_node_new(f->graph, "both", "Op", "", 17, 0, 0);
    opf_node_origins_add(both, a);
    opf_node_origins_add(both, b);
    opf_node_origins_add(both, a);
    assert_int_equal(both->n_origins, 2);
    assert_string_equal(both->origins[0], "a");
    assert_string_equal(both->origins[1], "b");
    opf_node *again = opf_node_new(f->graph, "again", "Op", "", 17, 0, 0);
    opf_node_origins_add(again, both);
    assert_int_equal(again->n_origins, 2);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(uses_mirror_inputs), TEST(replaced_outputs_keep_their_names), TEST(names_become_unique), TEST(sorted_graphs_keep_their_order),
        TEST(unsorted_graphs_stay_near_the_file), TEST(sub_graphs_are_dependencies), TEST(cycles_are_named), TEST(long_chains_sort),
        TEST(the_checker_sees_broken_links), TEST(attributes_are_found_by_name_and_kind), TEST(errors_show_the_inputs),
        TEST(constants_are_typed_and_small_ones_known), TEST(tensors_refuse_impossible_shapes), TEST(guards_stand_once), TEST(origins_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
