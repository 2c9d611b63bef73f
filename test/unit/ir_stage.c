/* Stages: text form, costs, and what the checker refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/stage.h"

typedef struct fixture {
    opf_diags *diags;
    opf_module *module;
    opf_arena *arena;
    opf_pool *pool;
    opf_stages stages; /* softmax over the last axis of x[N,64]: max, then sum of exp(x - max) */
    opf_stage *max, *sum;
} fixture;

static opf_stage *add_stage(fixture *f, const char *name, int n_axes, int n_reduce, const opf_dim *extents, opf_combiner combiner, const opf_expr *body) {
    opf_stage *stage = OPF_NEW(f->arena, opf_stage);
    *stage = (opf_stage){.name = name, .n_axes = n_axes, .n_reduce = n_reduce, .combiner = combiner, .body = body};
    stage->extents = opf_arena_copy(f->arena, extents, (size_t)(n_axes + n_reduce) * sizeof *extents);
    stage->dtype = stage->accumulator = (opf_dtype)body->dtype;
    OPF_PUSH(f->arena, &f->stages.list, stage);
    return stage;
}

static int setup(void **state) {
    static fixture f;
    memset(&f, 0, sizeof f);
    f.diags = opf_diags_new();
    f.module = opf_module_new(f.diags, "test.onnx");
    f.arena = f.module->arena;
    f.pool = f.module->pool;
    opf_graph *graph = opf_graph_new(f.module, "main", NULL);
    opf_value *x = opf_value_new(graph, "x");
    opf_graph_add_input(graph, x);
    opf_dim n = opf_sym(f.pool, opf_symbol_new(f.pool, "N", 0, INT64_MAX, 10)), extents[] = {n, opf_int(f.pool, 64)};
    x->dtype = OPF_FLOAT32;
    x->rank = 2;
    x->dims = opf_arena_copy(f.arena, extents, sizeof extents);
    OPF_PUSH(f.arena, &f.stages.inputs, x);
    const opf_expr *at[] = {opf_var(f.pool, 0), opf_var(f.pool, 1)};
    const opf_expr *load = opf_load(f.pool, OPF_FLOAT32, 0, 2, at);
    f.max = add_stage(&f, "Softmax.max", 1, 1, extents, OPF_COMBINE_MAX, load);
    const opf_expr *shifted = opf_binary(f.pool, OPF_OP_SUB, load, opf_load(f.pool, OPF_FLOAT32, 1, 1, at));
    f.sum = add_stage(&f, "Softmax.sum", 1, 1, extents, OPF_COMBINE_SUM, opf_unary(f.pool, OPF_OP_EXP, shifted));
    static const char *const names[] = {"n", "c"};
    f.sum->axis_names = (const char **)opf_arena_copy(f.arena, names, sizeof names);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    opf_module_free(f->module);
    opf_diags_free(f->diags);
    return 0;
}

static void stages_print(void **state) {
    fixture *f = *state;
    opf_text text = {0};
    opf_stages_print(&f->stages, &text);
    assert_string_equal(text.data, "t0: float32[N,64] = input x\n"
                                   "t1: float32 Softmax.max [i0 = N] = max[i1 = 64] float32 of t0[i0, i1]\n"
                                   "t2: float32 Softmax.sum [n = N] = sum[c = 64] float32 of exp(t0[n, c] - t1[n])\n");
    opf_text_free(&text);
}

static void costs_count_values_only(void **state) {
    fixture *f = *state;
    double exp_price = opf_scalar_ops[OPF_OP_EXP].flops, sub_price = opf_scalar_ops[OPF_OP_SUB].flops;
    assert_true(opf_stage_flops(f->max) == 10 * 64);
    assert_true(opf_stage_flops(f->sum) == 10 * 64 * (exp_price + sub_price + 1));
    assert_true(opf_stage_elements(f->sum, f->pool) == f->sum->extents[0]);
    /* Arithmetic of indices is no work on values; what stands twice is computed once. */
    const opf_expr *at[] = {opf_var(f->pool, 0), opf_floormod(f->pool, opf_add(f->pool, opf_var(f->pool, 1), opf_int(f->pool, 3)), opf_int(f->pool, 64))};
    const opf_expr *load = opf_load(f->pool, OPF_FLOAT32, 0, 2, at), *e = opf_unary(f->pool, OPF_OP_EXP, load);
    opf_stage *twice = add_stage(f, "twice", 2, 0, f->max->extents, OPF_COMBINE_NONE, opf_binary(f->pool, OPF_OP_MUL, e, e));
    assert_true(opf_stage_flops(twice) == 10 * 64 * (exp_price + opf_scalar_ops[OPF_OP_MUL].flops));
}

static void expect_problem(fixture *f, const char *expected) {
    const char *problem = opf_stages_check(&f->stages, f->arena);
    if (!expected) {
        assert_null(problem);
        return;
    }
    assert_non_null(problem);
    assert_string_equal(problem, expected);
}

static void the_checker_refuses_what_does_not_fit(void **state) {
    fixture *f = *state;
    opf_pool *pool = f->pool;
    expect_problem(f, NULL);
    const opf_expr *body = f->max->body, *at[] = {opf_var(pool, 0), opf_var(pool, 5)};

    f->max->body = opf_load(pool, OPF_FLOAT32, 2, 1, at);
    expect_problem(f, "stage t1 (Softmax.max): a load names t2, which is not an earlier tensor");
    f->max->body = opf_load(pool, OPF_FLOAT32, 0, 1, at);
    expect_problem(f, "stage t1 (Softmax.max): a load of t0 has 1 indices for 2 axes");
    f->max->body = opf_load(pool, OPF_FLOAT32, 0, 2, at);
    expect_problem(f, "stage t1 (Softmax.max): the body names variable 5 of 2");
    at[1] = opf_var(pool, 1);
    f->max->body = opf_load(pool, OPF_FLOAT64, 0, 2, at);
    expect_problem(f, "stage t1 (Softmax.max): the body is float64, the accumulator float32");
    f->max->body = body;

    f->max->combiner = OPF_COMBINE_NONE;
    expect_problem(f, "stage t1 (Softmax.max): a combiner and reduce axes come together or not at all");
    f->max->combiner = OPF_COMBINE_AND;
    expect_problem(f, "stage t1 (Softmax.max): and/or of float32");
    f->max->combiner = OPF_COMBINE_ARGMAX;
    expect_problem(f, "stage t1 (Softmax.max): a second term belongs to argmin and argmax, and they need one");
    f->max->second = opf_var(pool, 1);
    expect_problem(f, "stage t1 (Softmax.max): an index of type float32");
    f->max->combiner = OPF_COMBINE_MAX;
    f->max->second = NULL;

    const opf_expr *extent = f->max->extents[1];
    f->max->extents[1] = opf_var(pool, 0);
    expect_problem(f, "stage t1 (Softmax.max): an extent names variable 0 of 0");
    f->max->extents[1] = extent;
    f->stages.inputs.data[0] = NULL;
    expect_problem(f, "stage t1 (Softmax.max): a load names t0, an input that was left out");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(stages_print), TEST(costs_count_values_only), TEST(the_checker_refuses_what_does_not_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
