/* The stages of every scalar operator, against test/data/ops/scalar.txt; and the reader of scalar.ops.
 * OPF_UPDATE=1 writes the file anew. */
#include "ops_support.h"

#include <stdio.h>

#include "ops/scalar.h"

static const opf_dtype tried[] = {OPF_FLOAT32, OPF_FLOAT16, OPF_INT32, OPF_UINT8, OPF_BOOL};

static opf_value *operand(opf_module *module, const opf_scalar_operand *operand, opf_dtype T) {
    opf_dtype own = operand->types & 1u << OPF_BOOL ? OPF_BOOL : T;
    return input(module, operand->name, operand->types ? own : T, "N,4");
}

static const char *last_line(opf_module *module, const char *text) {
    size_t length = strlen(text);
    const char *start = text + length - 1;
    while (start > text && start[-1] != '\n') start--;
    return opf_arena_string(module->arena, start);
}

/* The stage for one type T, or the reason why there are none. */
static void print_entry(const opf_op *op, opf_dtype T, opf_text *out) {
    opf_module *module = new_module();
    const opf_scalar_op_entry *entry = (const opf_scalar_op_entry *)op;
    opf_value *values[OPF_SCALAR_OPERANDS + 1];
    int count = 0;
    for (int k = 0; k < entry->n_operands; k++) values[count++] = operand(module, &entry->operands[k], T);
    if (entry->variadic) values[count++] = input(module, "third", T, "4");
    opf_node *node = node_of(module, op->domain[0] ? opf_arena_printf(module->arena, "%s::%s", op->domain, op->name) : op->name, op->since, 1, count, values);
    if (entry->cases[0].when && strcmp(entry->cases[0].when, "direction") == 0) set_string(node, "direction", "LEFT");
    opf_status status = opf_graph_type(module, NULL, 0);
    opf_text_printf(out, "%s %d %s: %s\n", op->name, op->since, opf_dtype_name(T), status == OPF_OK ? type_of(node->outputs[0]) : opf_diags_at(module->diags, 0)->message);
    if (status == OPF_OK) opf_text_printf(out, "  %s", last_line(module, stages_of(node)));
    free_module(module);
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    opf_text text = {0};
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) opf_text_add_n(&text, part, n);
    fclose(file);
    return text.data;
}

static void test_stages_of_every_line(void **state) {
    (void)state;
    opf_text text = {0};
    for (size_t k = 0; k < opf_op_count(); k++) {
        const opf_op *op = opf_op_at(k);
        for (size_t t = 0; t < OPF_COUNT(tried) && op->scalar; t++) print_entry(op, tried[t], &text);
    }
    const char *path = OPF_TEST_DATA "/ops/scalar.txt";
    if (getenv("OPF_UPDATE")) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fputs(opf_text_string(&text), file);
        fclose(file);
    }
    char *expected = read_file(path);
    assert_non_null(expected);
    assert_string_equal(opf_text_string(&text), expected);
    free(expected);
    opf_text_free(&text);
}

/* ---- the language ---- */

static const char *parse_error(opf_arena *arena, const char *text) {
    opf_scalar_lines lines = opf_scalar_parse(text, arena);
    return lines.problems.count ? lines.problems.data[0].text : NULL;
}

static void test_lines_of_one_version_are_cases(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    const char *text = "# a comment\n"
                       "F(a, b?, c: bool) since 3 T = float p = 0.5 let q = a + b; y = q * p\n"
                       "F(a, b?, c: bool) since 3 T = integer when mode = fast / slow y = a\n"
                       "\n"
                       "F(a...) domain my.domain since 3 T = float kind elemwise fold a; y = fold";
    opf_scalar_lines lines = opf_scalar_parse(text, arena);
    const opf_scalar_op_entry *entries = lines.entries.data;
    assert_int_equal(lines.problems.count, 0);
    assert_int_equal(lines.entries.count, 2);
    assert_int_equal(entries[0].n_cases, 2);
    assert_int_equal(entries[0].op.min_inputs, 3);
    assert_int_equal(entries[0].op.max_inputs, 3);
    assert_true(entries[0].operands[1].optional);
    assert_string_equal(entries[0].cases[0].lets[0].value.text, "a + b");
    assert_string_equal(entries[0].cases[0].result.text, "q * p");
    assert_string_equal(entries[0].cases[1].otherwise, "slow");
    assert_string_equal(entries[1].op.domain, "my.domain");
    assert_int_equal(entries[1].op.max_inputs, -1);
    assert_int_equal(entries[1].op.kind, OPF_KIND_ELEMWISE);
    opf_arena_free(arena);
}

static void test_mistakes_name_their_line(void **state) {
    (void)state;
    opf_arena *arena = opf_arena_new();
    assert_string_equal(parse_error(arena, "\nF since 1 T = colour y = x"), "line 2, column 15: 'colour' is no class of types and no element type that expressions have");
    assert_string_equal(parse_error(arena, "F(a since 1 T = float y = a"), "line 1, column 5: ')' expected");
    assert_string_equal(parse_error(arena, "F T = float y = x"), "line 1, column 18: the line needs `since N` and `T = types`");
    assert_string_equal(parse_error(arena, "F since 1 T = float alpha = y = x"), "line 1, column 29: a number expected");
    assert_string_equal(parse_error(arena, "F(a...) since 1 T = float y = a"), "line 1, column 32: `...` and `fold` go together");
    assert_string_equal(parse_error(arena, "F since 1 T = float y ="), "line 1, column 24: an expression expected");
    assert_string_equal(parse_error(arena, "F since 1 T = float"), "line 1, column 20: `y = EXPRESSION` is missing");
    opf_arena_free(arena);
}

static void test_mixed_types_are_refused(void **state) {
    (void)state;
    opf_module *module = new_module();
    NODE(module, "Add", 13, input(module, "x", OPF_FLOAT32, "4"), input(module, "y", OPF_INT64, "4"));
    NODE(module, "Sqrt", 13, input(module, "z", OPF_INT32, "4"));
    NODE(module, "Where", 13, opf_value_find(module->graph, "x"), opf_value_find(module->graph, "x"), opf_value_find(module->graph, "x"));
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_ERROR_UNSUPPORTED);
    assert_string_equal(opf_diags_at(module->diags, 0)->message, "the operands are float32 and int64; Add needs one type");
    assert_string_equal(opf_diags_at(module->diags, 0)->hint, "put a Cast before input 1");
    assert_string_equal(opf_diags_at(module->diags, 1)->message, "Sqrt of int32 is not supported");
    assert_string_equal(opf_diags_at(module->diags, 2)->message, "input 0 'x' of Where cannot be float32");
    free_module(module);
}

/* Opset 6: axis places the second operand inside the first. */
static void test_operands_placed_by_axis(void **state) {
    (void)state;
    opf_module *module = new_module();
    opf_node *node = NODE(module, "Add", 6, input(module, "x", OPF_FLOAT32, "2,3,4,5"), input(module, "y", OPF_FLOAT32, "3,4"));
    set_int(node, "broadcast", 1);
    set_int(node, "axis", 1);
    assert_int_equal(opf_graph_type(module, NULL, 0), OPF_OK);
    assert_string_equal(type_of(node->outputs[0]), "float32[2,3,4,5]");
    assert_non_null(strstr(stages_of(node), "t0[i0, i1, i2, i3] + t1[i1, i2]"));
    free_module(module);
}

static void test_versions(void **state) {
    (void)state;
    assert_null(opf_op_find("", "Gelu", 19));
    assert_int_equal(opf_op_find("ai.onnx", "Clip", 10)->since, 6);
    assert_int_equal(opf_op_find("", "Clip", 11)->since, 11);
    assert_int_equal(opf_op_find(NULL, "Clip", 99)->since, 11);
    assert_null(opf_op_find("com.microsoft", "Clip", 11));
    assert_null(opf_op_find("", "Blur", 11));
    assert_string_equal(opf_op_find("com.microsoft", "Gelu", 1)->domain, "com.microsoft");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages_of_every_line),   cmocka_unit_test(test_lines_of_one_version_are_cases),
        cmocka_unit_test(test_mistakes_name_their_line), cmocka_unit_test(test_mixed_types_are_refused),
        cmocka_unit_test(test_operands_placed_by_axis), cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
