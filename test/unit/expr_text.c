/* The text form: what is printed reads back as the same expression; errors name the column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "expr/expr.h"

typedef struct fixture { opf_arena *arena; opf_pool *pool; } fixture;

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->arena = opf_arena_new();
    f->pool = opf_pool_new(f->arena);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    opf_arena_free(f->arena);
    free(f);
    return 0;
}

/* v<k>: variable; x, y: float32 scalars; n, m: int64; t<k>: float32 tensors; b: bool; N: a size. */
static const opf_expr *lookup(void *data, const char *name) {
    opf_pool *pool = data;
    if (name[0] == 'v' && name[1]) return opf_var(pool, atoi(name + 1));
    if (name[0] == 't' && name[1]) return opf_load(pool, OPF_FLOAT32, atoi(name + 1), 0, NULL);
    static const struct { const char *name; opf_dtype dtype; } scalars[] = {{"x", OPF_FLOAT32}, {"y", OPF_FLOAT32}, {"n", OPF_INT64}, {"m", OPF_INT64}, {"b", OPF_BOOL}, {"i", OPF_INT32}};
    for (int k = 0; k < 6; k++)
        if (strcmp(scalars[k].name, name) == 0) return opf_load(pool, scalars[k].dtype, 50 + k, 0, NULL);
    if (strcmp(name, "N") != 0) return NULL;
    if (opf_pool_symbols(pool) == 0) opf_symbol_new(pool, "N", 0, INT64_MAX, 8);
    return opf_sym(pool, opf_pool_symbol(pool, 0));
}

static const opf_expr *parse(fixture *f, const char *text, opf_dtype dtype) {
    const char *error = NULL;
    const opf_expr *e = opf_expr_parse(f->pool, text, &(opf_expr_scope){.lookup = lookup, .data = f->pool, .dtype = dtype}, &error);
    if (!e) fail_msg("'%s': %s", text, error);
    return e;
}

static void texts_read_back(void **state) {
    fixture *f = *state;
    static const struct { opf_dtype dtype; const char *text; } rows[] = {
        {OPF_FLOAT32, "1.0 / (1.0 + exp(-t0[v0, v1]))"},
        {OPF_FLOAT32, "t0[v0] < 0.0 ? 0.01*t0[v0] : t0[v0]"},
        {OPF_FLOAT32, "t0[v0] - (t1[v0] - t2[v0])"},
        {OPF_FLOAT32, "t0[v0] / (t1[v0]*t2[v0])"},
        {OPF_FLOAT32, "-(t0[v0] + t1[v0])"},
        {OPF_FLOAT32, "max(t0[v0*2 + v1 - 1, 0], -inf)"},
        {OPF_FLOAT32, "pow(t0[0], 2.0) + atan2(t0[0], 1e+10)"},
        {OPF_FLOAT32, "1 <= v0 && v0 < N + 1 ? t0[v0 - 1] : 0.0"},
        {OPF_FLOAT32, "isnan(t0[v0]) || !isinf(t0[v0]) ? 1.5 : t0[v0]"},
        {OPF_FLOAT32, "(t0[v0] < 1.0 ? t0[v0] : t1[v0]) + 2.0"},
        {OPF_FLOAT32, "float32(float16(t0[v0]))"},
        {OPF_FLOAT32, "float32(uint8(t0[v0]) + 3)"},
        {OPF_INT64, "v0*N + floordiv(v1, 4)*3 - floormod(v1, N) + 5"},
        {OPF_INT64, "5 - v0 - v1*2"},
        {OPF_INT64, "-v0*3"},
        {OPF_INT64, "min(v0, N - 1)"},
        {OPF_INT64, "v0 < 3 ? v0 : v1 < 3 ? v1 : 7"},
        {OPF_BOOL, "v0 < N ^^ v1 == N"},
        {OPF_INT32, "int32(v0) << 3 & int32(255) | int32(v1)"},
        {OPF_INT32, "~int32(v0) ^ int32(v1)"},
        {OPF_FLOAT64, "float64(0.1) + float64(t0[v0])"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        opf_text text = {0};
        const opf_expr *e = parse(f, rows[i].text, rows[i].dtype);
        opf_expr_print(e, NULL, &text);
        assert_ptr_equal(parse(f, opf_text_string(&text), rows[i].dtype), e);
        opf_text_free(&text);
    }
    opf_text text = {0};
    opf_expr_print(parse(f, rows[0].text, OPF_FLOAT32), NULL, &text);
    assert_string_equal(opf_text_string(&text), "1.0 / (1.0 + exp(-t0[v0, v1]))");
    opf_text_clear(&text);
    opf_expr_print(parse(f, rows[7].text, OPF_FLOAT32), &(opf_expr_names){1, 1, (const char *[]){"h"}, (const char *[]){"x"}}, &text);
    assert_string_equal(opf_text_string(&text), "1 <= h && h <= N ? x[h - 1] : 0.0");
    opf_text_free(&text);
}

static void numbers_take_the_type_beside_them(void **state) {
    fixture *f = *state;
    assert_int_equal(parse(f, "1 / (1 + exp(-x))", OPF_FLOAT64)->dtype, OPF_FLOAT32);
    assert_int_equal(parse(f, "1 + 2", OPF_FLOAT16)->dtype, OPF_FLOAT16);
    assert_int_equal(parse(f, "b ? 1 : 0", OPF_INT32)->dtype, OPF_INT32);
    assert_int_equal(parse(f, "n < 3 ? 1 : x", OPF_INT64)->dtype, OPF_FLOAT32);
    assert_true(parse(f, "0.1", OPF_FLOAT32)->real == (double)0.1f);
    assert_true(opf_is_value(parse(f, "9223372036854775807", OPF_INT64), INT64_MAX));
    assert_true(opf_is_value(parse(f, "1e3", OPF_INT64), 1000));
    assert_true(opf_is_value(parse(f, "-7 / 2", OPF_INT64), -3));
    assert_true(opf_is_value(parse(f, "2 + 3 * 4 == 14", OPF_INT64), 1));
    assert_true(opf_is_value(parse(f, "1 < 2 && !(3 < 2)", OPF_INT64), 1));
}

static void errors_name_the_column(void **state) {
    fixture *f = *state;
    static const struct { const char *text, *error; } rows[] = {
        {"x + q", "column 5: unknown name 'q'"},
        {"x + n", "column 6: float32 and int64 do not mix; write a cast such as float32(x)"},
        {"x +", "column 4: the text ends too early"},
        {"(x", "column 3: ')' expected"},
        {"x x", "column 3: 'x' not expected"},
        {"x ? 1 : 2", "column 10: what stands before '?' must be a comparison or a bool"},
        {"foo(x)", "column 1: no function 'foo'"},
        {"max(x)", "column 1: 'max' takes 2 arguments"},
        {"n + 1.5", "column 8: 1.5 is no int64"},
        {"x & x", "column 6: '&' does not take float32"},
        {"!x", "column 3: '!' does not take float32"},
        {"n[1]", NULL},
        {"v0[1]", "column 6: 'v0' is no tensor"},
        {"t0[x]", "column 6: an index must be int64"},
        {"x @ y", "column 3: '@' not expected"},
        {"", "column 1: the text ends too early"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *error = NULL;
        const opf_expr *e = opf_expr_parse(f->pool, rows[i].text, &(opf_expr_scope){.lookup = lookup, .data = f->pool, .dtype = OPF_FLOAT32}, &error);
        if (!rows[i].error) {
            assert_non_null(e);
            continue;
        }
        assert_null(e);
        assert_string_equal(error, rows[i].error);
    }
    char deep[4096];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    const char *error = NULL;
    assert_null(opf_expr_parse(f->pool, deep, &(opf_expr_scope){.lookup = lookup, .data = f->pool, .dtype = OPF_FLOAT32}, &error));
    assert_non_null(strstr(error, "nested too deeply"));
    memset(deep, '-', sizeof deep - 1);
    assert_null(opf_expr_parse(f->pool, deep, &(opf_expr_scope){.lookup = lookup, .data = f->pool, .dtype = OPF_FLOAT32}, &error));
    for (size_t i = 0; i + 1 < sizeof deep; i++) deep[i] = "x+"[i % 2]; /* a chain is as deep as it is long */
    assert_null(opf_expr_parse(f->pool, deep, &(opf_expr_scope){.lookup = lookup, .data = f->pool, .dtype = OPF_FLOAT32}, &error));
    assert_non_null(strstr(error, "more than 1000 operations"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts_read_back, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_take_the_type_beside_them, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_name_the_column, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
