/* Bounds of groups: which positions of an extreme are right, and what a node that stands for several is off by. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check/bound.h"
#include "kernel_case.h"

static opf_error_bound bound_of(kernel_case *c, const char *text, int rows, int columns, const float *x) {
    static const bool inexact[1] = {false};
    static const int64_t symbols[1] = {0};
    const char *why;
    int64_t dims[2] = {rows, columns};
    case_read(c, "bounds", text);
    const opf_tensor *input = opf_tensor_new(c->arena, OPF_FLOAT32, 2, dims, x, &why);
    const opf_bound_schedule schedule = {.winograd = -1};
    opf_error_bound bound;
    assert_int_equal(opf_bound_group(&bound, &c->group, c->pool, &input, inexact, NULL, &schedule, symbols, c->arena), OPF_OK);
    return bound;
}

/* erf is 1 to the last place from 4 on; NaN counts as the extreme; exact numbers have one. */
static void positions_of_near_ties_are_right(void **state) {
    (void)state;
    enum { ROWS = 3, COLUMNS = 5 };
    static const float x[ROWS * COLUMNS] = {3, 5, 6, 0, 5.5f, 1, 5, NAN, 6, 2, -1, -2, 0, -3, 0.5f};
    static const struct { const char *combiner, *sign; bool right[ROWS][COLUMNS]; double distance[ROWS]; } cases[] = {
        {"argmax", "", {{false, true, true, false, true}, {false, false, true, false, false}, {false, false, false, false, true}}, {3, 0, 0}}, /* from the first of equals, or back */
        {"argmin", "-", {{false, true, true, false, true}, {false, false, true, false, false}, {false, false, false, false, true}}, {3, 0, 0}},
    };
    for (size_t k = 0; k < OPF_COUNT(cases); k++) {
        kernel_case c;
        char text[256];
        snprintf(text, sizeof text, "in x float32 [3, 5]\nstage e float32 [r=3, i=5] : erf(x[r, i])\nstage p int64 [r=3] %s [i=5] : %se[r, i]\nsecond : i\nout p\n", cases[k].combiner, cases[k].sign);
        opf_error_bound bound = bound_of(&c, text, ROWS, COLUMNS, x);
        assert_non_null(bound.errors[0]);
        for (int64_t r = 0; r < ROWS; r++) {
            for (int64_t i = 0; i < COLUMNS; i++)
                if (opf_bound_admits(&bound, 0, r, i) != cases[k].right[r][i]) fail_msg("%s, row %d, position %d", cases[k].combiner, (int)r, (int)i);
            double distance = opf_tensor_get(bound.errors[0], r);
            if (distance > cases[k].distance[r] || (distance > 0) != (cases[k].distance[r] > 0)) fail_msg("%s, row %d: bound %g", cases[k].combiner, (int)r, distance);
        }
        case_free(&c);
    }
}

static void exact_terms_have_one_extreme(void **state) {
    (void)state;
    kernel_case c;
    opf_error_bound bound = bound_of(&c, "in x float32 [1, 4]\nstage p int64 [r=1] argmax [i=4] : x[r, i]\nsecond : i\nout p\n", 1, 4, (const float[]){1, 2, 2, 0});
    assert_true(opf_tensor_get(bound.errors[0], 0) == 0);
    case_free(&c);
}

/* Of the last stage of a node: what the model rounds in between. */
static void a_node_for_several_is_off_by_more(void **state) {
    (void)state;
    static const char text[] = "in x float32 [1, 2]\nstage s float32 [r=1, i=2] : x[r, i] * 3\nstage y float32 [r=1, i=2] : s[r, i] + 0\nout s\nout y\n";
    const float x[] = {1, -2};
    double plain[2], more[2];
    for (int with = 0; with < 2; with++) {
        kernel_case c;
        case_read(&c, "bounds", text);
        const opf_tensor *input = opf_tensor_new(c.arena, OPF_FLOAT32, 2, (const int64_t[]){1, 2}, x, &(const char *){NULL});
        opf_node *node = OPF_NEW(c.arena, opf_node);
        if (with) node->unrounded = (opf_unrounded){2, 0.5};
        for (size_t s = 0; s < c.group.stages.list.count; s++) c.group.stages.list.data[s]->origin = node;
        opf_error_bound bound;
        assert_int_equal(opf_bound_group(&bound, &c.group, c.pool, &input, &(bool){false}, NULL, &(opf_bound_schedule){.winograd = -1}, &(int64_t){0}, c.arena), OPF_OK);
        for (int k = 0; k < 2; k++) (with ? more : plain)[k] = opf_tensor_get(bound.errors[k], 1);
        case_free(&c);
    }
    assert_true(more[0] == plain[0]);                                   /* the product is no result of the node's */
    assert_float_equal(more[1], plain[1] + 2 * 0x1p-24 * 6 + 0.5, 1e-6); /* y = -6 */
}

/* A number is picked by a sum rounded to an integer: exact where the sum is far from half a step, a neighbour of what is picked near it. */
static void what_a_near_tie_picks_is_a_neighbour(void **state) {
    (void)state;
    static const char text[] = "in x float32 [3]\nin row float32 [4]\nstage s float32 [i=3] : x[i] * 0.1\n"
                               "stage q uint8 [i=3] : uint8(min(max(round(s[i]), 0.0), 3.0))\nstage y float32 [i=3] : row[int64(q[i])]\nout y\n";
    const float x[] = {10, 25, 31}, row[] = {-4, 7, 9, 14};
    for (int finite = 0; finite < 2; finite++) {
        kernel_case c;
        case_read(&c, "bounds", text);
        const float numbers[] = {row[0], row[1], row[2], finite ? row[3] : INFINITY};
        const opf_tensor *inputs[] = {opf_tensor_new(c.arena, OPF_FLOAT32, 1, (const int64_t[]){3}, x, &(const char *){NULL}),
                                      opf_tensor_new(c.arena, OPF_FLOAT32, 1, (const int64_t[]){4}, numbers, &(const char *){NULL})};
        c.group.stages.inputs.data[1]->constant = inputs[1];
        opf_error_bound bound;
        assert_int_equal(opf_bound_group(&bound, &c.group, c.pool, inputs, (const bool[]){false, false}, NULL, &(opf_bound_schedule){.winograd = -1}, &(int64_t){0}, c.arena), OPF_OK);
        if (!finite) {
            assert_null(bound.errors[0]);
        } else {
            static const double expected[] = {0, 5, 0}; /* 2.5 gives 2, which picks 9; its neighbours are 7 and 14. And the rounding of what is stored */
            for (int i = 0; i < 3; i++) assert_float_equal(opf_tensor_get(bound.errors[0], i), expected[i], 2e-6);
        }
        case_free(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_near_tie_picks_is_a_neighbour), cmocka_unit_test(positions_of_near_ties_are_right), cmocka_unit_test(exact_terms_have_one_extreme), cmocka_unit_test(a_node_for_several_is_off_by_more)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
