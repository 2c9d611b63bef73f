/* The roofline of a made-up profile: roofs where the machine table puts them, every step in its place, nothing outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/roofline.h"

/* 100 GFLOP/s a core; L1 400, L2 200, L3 100 GB/s a core, memory 10 GB/s. */
static const opf_machine machine = {.name = "made-up", .flags = "", .lanes = 8, .vectors = 16, .l1_bytes = 32768, .l2_bytes = 1 << 20, .l3_bytes = 1 << 24,
                                    .flops_per_second = 100e9, .l1_bandwidth = 400e9, .l2_bandwidth = 200e9, .l3_bandwidth = 100e9, .dram_bandwidth = 10e9};

static opf_step_profile steps[] = {
    {.step = 3, .name = "product", .kind = "kernel", .median = 8, .share = .8, .flops = 6.4e8, .bytes = 4e6, .limit = OPF_LIMIT_ARITHMETIC, .least_possible = 3.2},
    {.step = 0, .name = "\"row\" <b>", .kind = "kernel", .median = 1, .share = .1, .flops = 2e6, .bytes = 8e6, .limit = OPF_LIMIT_MEMORY, .least_possible = .8, .diagnosis = "a sentence"},
    {.step = 1, .name = "moved", .kind = "copy", .median = 1, .share = .1, .bytes = 5e6, .limit = OPF_LIMIT_MEMORY, .least_possible = .5},
    {.step = 2, .name = "nothing", .kind = "check"},
};

static json_t *roofline_of(size_t count, int threads) {
    opf_program program = {.machine = &machine};
    opf_measure measure = {.runs = 7, .threads = threads};
    opf_profile profile = {.program = &program, .measure = &measure, .count = count, .steps = steps, .plain = 10.5};
    return opf_roofline_object(&profile);
}

static json_t *get(const json_t *o, const char *key) {
    json_t *value = json_object_get(o, key);
    assert_non_null(value);
    return value;
}
static double number(const json_t *o, const char *key) { return json_number_value(get(o, key)); }
static double at(const json_t *pair, size_t i) { return json_number_value(json_array_get(pair, i)); }
static void same(double a, double b) { assert_true(fabs(a - b) <= 1e-9 * fabs(b)); }

static void holds(const json_t *plot, const json_t *place) {
    assert_true(at(place, 0) >= at(get(plot, "x"), 0) * (1 - 1e-12) && at(place, 0) <= at(get(plot, "x"), 1) * (1 + 1e-12));
    assert_true(at(place, 1) >= at(get(plot, "y"), 0) * (1 - 1e-12) && at(place, 1) <= at(get(plot, "y"), 1) * (1 + 1e-12));
}

static void roofs_are_those_of_the_table(void **state) {
    (void)state;
    static const struct { const char *name; double rate; int threads; } wanted[] = {
        {"arithmetic", 200, 2}, {"arithmetic", 100, 1}, {"L1", 800, 2}, {"L2", 400, 2}, {"L3", 200, 2}, {"memory", 10, 2}};
    json_t *plot = roofline_of(4, 2), *roofs = get(plot, "roofs");
    assert_int_equal(json_array_size(roofs), OPF_COUNT(wanted));
    for (size_t i = 0; i < OPF_COUNT(wanted); i++) {
        const json_t *roof = json_array_get(roofs, i), *from = get(roof, "from"), *to = get(roof, "to");
        assert_string_equal(json_string_value(get(roof, "name")), wanted[i].name);
        assert_int_equal(number(roof, "threads"), wanted[i].threads);
        same(number(roof, "rate"), wanted[i].rate);
        holds(plot, from);
        holds(plot, to);
        assert_true(at(from, 0) < at(to, 0));
        if (i < 2) {
            same(at(from, 1), wanted[i].rate);
            same(at(to, 1), wanted[i].rate);
            same(at(to, 0), at(get(plot, "x"), 1));
        } else { /* a slope: its rate at both ends, and it ends at the peak */
            same(at(from, 1) / at(from, 0), wanted[i].rate);
            same(at(to, 1) / at(to, 0), wanted[i].rate);
            same(at(to, 1), 200);
        }
    }
    json_decref(plot);
    plot = roofline_of(4, 1);
    assert_int_equal(json_array_size(get(plot, "roofs")), OPF_COUNT(wanted) - 1); /* one thread: one peak */
    json_decref(plot);
}

static void steps_have_their_places(void **state) {
    (void)state;
    json_t *plot = roofline_of(4, 2), *list = get(plot, "steps");
    assert_int_equal(json_array_size(list), 4);
    for (size_t i = 0; i < 3; i++) holds(plot, get(json_array_get(list, i), "at"));
    const json_t *product = json_array_get(list, 0), *row = json_array_get(list, 1), *moved = json_array_get(list, 2), *nothing = json_array_get(list, 3);
    same(at(get(product, "at"), 0), 160);
    same(at(get(product, "at"), 1), 80);
    same(number(product, "reached"), .4);
    assert_string_equal(json_string_value(get(product, "limit")), "arithmetic");
    assert_true(json_is_null(get(product, "diagnosis")) && json_is_false(get(product, "edge")));
    same(at(get(row, "at"), 0), .25);
    same(number(row, "gbytes"), 8);
    assert_string_equal(json_string_value(get(row, "diagnosis")), "a sentence");
    assert_string_equal(json_string_value(get(row, "name")), "\"row\" <b>");
    /* no arithmetic: on the left edge, as far below the slope of memory as its bytes a second are below that rate */
    assert_true(json_is_true(get(moved, "edge")));
    same(at(get(moved, "at"), 0), at(get(plot, "x"), 0));
    same(at(get(moved, "at"), 1), 5 * at(get(plot, "x"), 0));
    same(number(moved, "gflops") + 1, 1);
    assert_true(json_is_null(get(nothing, "at")));
    assert_string_equal(json_string_value(get(nothing, "limit")), "none");
    json_decref(plot);
}

static void same_profile_same_text(void **state) {
    (void)state;
    for (size_t count = 0; count <= 4; count += 4) { /* a model may have nothing to run */
        json_t *first = roofline_of(count, 2), *second = roofline_of(count, 2);
        char *a = json_dumps(first, JSON_COMPACT), *b = json_dumps(second, JSON_COMPACT);
        assert_non_null(a);
        assert_string_equal(a, b);
        assert_null(strstr(a, "inf"));
        assert_true(at(get(first, "x"), 0) > 0 && at(get(first, "y"), 0) > 0 && at(get(first, "x"), 0) < at(get(first, "x"), 1) && at(get(first, "y"), 0) < at(get(first, "y"), 1));
        free(a);
        free(b);
        json_decref(first);
        json_decref(second);
    }
}

/* A step a million times slower than the rest: the plot stays readable, and the step stands on its lower edge. */
static void a_very_slow_step_stands_on_the_lower_edge(void **state) {
    (void)state;
    opf_step_profile was = steps[1];
    steps[1].median = 1e9;
    json_t *plot = roofline_of(4, 2);
    same(at(get(plot, "y"), 1) / at(get(plot, "y"), 0), 1e7);
    same(at(get(json_array_get(get(plot, "steps"), 1), "at"), 1), at(get(plot, "y"), 0));
    for (size_t i = 0; i < json_array_size(get(plot, "roofs")); i++) holds(plot, get(json_array_get(get(plot, "roofs"), i), "from"));
    json_decref(plot);
    steps[1] = was;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(roofs_are_those_of_the_table), cmocka_unit_test(steps_have_their_places), cmocka_unit_test(same_profile_same_text),
                                       cmocka_unit_test(a_very_slow_step_stands_on_the_lower_edge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
