/* Operators against text: each case of test/data/ops/families/<family>.txt is a node in one line, and below it what the node
 * becomes: types of the outputs, guards, stages; or the error.
 *
 *   = Conv:13 float32[N,3,H,W] float32[8,3,3,3] - pads=1,1,1,1
 *
 * operator:opset, inputs ("-" is absent, int64[2]{0,-1} a constant), attributes: integers 1 or 1,2; floats 1.5 (with a
 * point; a list ends in ';'); text "SAME_UPPER"; number of outputs >2. With OPF_UPDATE=1 in the environment the files are
 * written anew; read the difference before it is committed. */
#include <stdio.h>

#include "ops_support.h"

typedef struct one_case {
    opf_module *module;
    const char *op;
    int opset, n_inputs, n_outputs;
    opf_value *inputs[16];
    int n_attrs;
    char *attrs[16];
} one_case;

/* "float32[2,N]" is a graph input, "int64[2]{1,2}" a constant, "-" nothing. */
static opf_value *read_operand(one_case *one, char *text) {
    if (strcmp(text, "-") == 0) return NULL;
    char *open = strchr(text, '['), *close = strchr(text, ']'), *brace = strchr(text, '{');
    assert_non_null(open);
    assert_non_null(close);
    *open = *close = 0;
    opf_dtype dtype = opf_dtype_parse(text);
    assert_int_not_equal(dtype, OPF_NO_DTYPE);
    if (!brace) return input(one->module, opf_arena_printf(one->module->arena, "x%d", one->n_inputs), dtype, open + 1);
    int64_t dims[8], count = 1;
    int rank = 0;
    char *rest = NULL;
    for (char *part = strtok_r(open + 1, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) count *= dims[rank++] = strtoll(part, NULL, 10);
    opf_tensor *tensor = opf_tensor_zeros(one->module->arena, dtype, rank, dims, NULL);
    brace[strlen(brace) - 1] = 0;
    char *next = brace + 1, *end;
    for (int64_t k = 0; k < count; k++) {
        double real = strtod(next, &end);
        if (opf_dtype_is_float(dtype)) opf_dtype_store(dtype, (void *)tensor->data, (size_t)k, real);
        else opf_dtype_store_int(dtype, (void *)tensor->data, (size_t)k, strtoll(next, NULL, 10));
        next = *end == ',' ? end + 1 : end;
    }
    return opf_value_constant(one->module->graph, NULL, tensor);
}

static void set_attribute(opf_node *node, char *text) {
    char *value = strchr(text, '=') + 1, *end;
    value[-1] = 0;
    size_t length = strlen(value);
    if (value[0] == '"') {
        value[length - 1] = 0;
        set_string(node, text, value + 1);
        return;
    }
    int64_t integers[32];
    float reals[32];
    size_t count = 0;
    bool is_float = strchr(value, '.') != NULL, is_list = strchr(value, ',') != NULL || value[length - 1] == ';';
    for (char *next = value; *next && *next != ';'; next = *end == ',' ? end + 1 : end) {
        integers[count] = strtoll(next, &end, 10);
        if (is_float) reals[count] = strtof(next, &end);
        count++;
    }
    opf_attr_kind kind = is_float ? (is_list ? OPF_ATTR_FLOATS : OPF_ATTR_FLOAT) : (is_list ? OPF_ATTR_INTS : OPF_ATTR_INT);
    opf_node_attr_add(node, text, kind, count, is_float ? (void *)reals : (void *)integers);
}

static opf_node *read_node(one_case *one, char *line) {
    char *rest = NULL, *colon;
    char *op = strtok_r(line, " ", &rest);
    colon = strrchr(op, ':');
    *colon = 0;
    one->op = op;
    one->opset = atoi(colon + 1);
    one->n_outputs = 1;
    for (char *part = strtok_r(NULL, " ", &rest); part; part = strtok_r(NULL, " ", &rest)) {
        if (part[0] == '>') one->n_outputs = atoi(part + 1);
        else if (strchr(part, '=')) one->attrs[one->n_attrs++] = part;
        else one->inputs[one->n_inputs] = read_operand(one, part), one->n_inputs++;
    }
    opf_node *node = node_of(one->module, one->op, one->opset, one->n_outputs, one->n_inputs, one->inputs);
    for (int k = 0; k < one->n_attrs; k++) set_attribute(node, one->attrs[k]);
    return node;
}

/* What the line's node becomes. */
static void describe(const char *line, opf_text *out) {
    one_case one = {.module = new_module()};
    opf_node *node = read_node(&one, opf_arena_string(one.module->arena, line));
    if (opf_graph_type(one.module, NULL, 0) != OPF_OK) {
        opf_text_add(out, diagnostics(one.module));
        free_module(one.module);
        return;
    }
    for (int k = 0; k < node->n_outputs; k++) {
        opf_text_printf(out, "%s%s", k ? ", " : "", type_of(node->outputs[k]));
        if (node->outputs[k]->content) opf_text_printf(out, " {%s}", content_of(node->outputs[k]));
    }
    opf_text_add(out, "\n");
    for (size_t k = 0; k < one.module->guards.count; k++) {
        const opf_guard *guard = &one.module->guards.data[k];
        opf_text_add(out, "guard ");
        opf_expr_print(guard->left, NULL, out);
        opf_text_add(out, guard->kind == OPF_GUARD_EQ ? " == " : " >= ");
        opf_expr_print(guard->right, NULL, out);
        opf_text_printf(out, "  (%s)\n", guard->why);
    }
    opf_text_add(out, stages_of(node));
    free_module(one.module);
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static char text[1 << 18];
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = 0;
    fclose(file);
    return text;
}

/* The file with each case's description as it is now. */
static void refresh(char *text, opf_text *out) {
    bool in_case = false;
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n');
        end = end ? end + 1 : line + strlen(line);
        char *copy = strndup(line, (size_t)(end - line) - 1);
        bool is_case = strncmp(copy, "= ", 2) == 0, is_comment = copy[0] == '#', is_blank = copy[0] == 0;
        if (is_case || is_comment || is_blank || !in_case) opf_text_printf(out, "%s\n", copy);
        if (is_case) describe(copy + 2, out);
        in_case = is_case || (in_case && !is_comment && !is_blank);
        free(copy);
    }
}

static void test_family(void **state) {
    char path[512];
    snprintf(path, sizeof path, "%s/ops/families/%s.txt", OPF_TEST_DATA, (const char *)*state);
    opf_text now = {0};
    char *text = read_file(path);
    char *before = strdup(text);
    refresh(text, &now);
    if (getenv("OPF_UPDATE")) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fputs(opf_text_string(&now), file);
        fclose(file);
    } else {
        assert_string_equal(opf_text_string(&now), before);
    }
    free(before);
    opf_text_free(&now);
}

int main(void) {
    static char *const families[] = {"special", "quantize", "reduce", "norm", "matmul", "einsum", "conv", "pool", "reshape", "arrange", "slice", "pad", "gather", "generate", "resize", "scan", "qlinear", "loss"};
    enum { COUNT = sizeof families / sizeof *families };
    struct CMUnitTest tests[COUNT];
    for (size_t k = 0; k < COUNT; k++) tests[k] = (struct CMUnitTest){.name = families[k], .test_func = test_family, .initial_state = families[k]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
