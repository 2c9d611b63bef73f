/* Running sums and products against the sum of the elements before each one, for element types, axes and both flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include "opf_lib_running.h"

enum { MOST = 3 * 33 * 5 };

typedef struct test_case {
    int dtype, axis, exclusive, reverse, product;
    int64_t dims[3];
} test_case;

static bool counts(const test_case *c, int64_t other, int64_t here) {
    if (other == here) return !c->exclusive;
    return c->reverse ? other > here : other < here;
}

/* Element `at` of Y, in double or int64, from X alone. */
static double naive_real(const test_case *c, const opf_lib_tensor *x, int64_t at) {
    int64_t inner = opf_lib_product(c->dims, c->axis + 1, 3), length = c->dims[c->axis], here = at / inner % length;
    double sum = c->product;
    for (int64_t step = 0; step < length; step++) {
        int64_t i = c->reverse ? length - 1 - step : step;
        double element = opf_lib_real(x, at + (i - here) * inner);
        if (counts(c, i, here)) sum = c->product ? sum * element : sum + element;
    }
    return sum;
}

static int64_t naive_int(const test_case *c, const opf_lib_tensor *x, int64_t at) {
    int64_t inner = opf_lib_product(c->dims, c->axis + 1, 3), length = c->dims[c->axis], here = at / inner % length;
    uint64_t sum = (uint64_t)c->product;
    for (int64_t i = 0; i < length; i++) {
        uint64_t element = (uint64_t)opf_lib_int(x, at + (i - here) * inner);
        if (counts(c, i, here)) sum = c->product ? sum * element : sum + element;
    }
    return (int64_t)sum;
}

static void check(const test_case *c) {
    static double x_bytes[MOST], y_bytes[MOST], want_bytes[MOST], scratch[MOST];
    opf_lib_tensor x = {x_bytes, c->dtype, 3, c->dims}, y = {y_bytes, c->dtype, 3, c->dims}, want = {want_bytes, c->dtype, 3, c->dims};
    int64_t n = opf_lib_elements(&x), ints[] = {c->axis, c->exclusive, c->reverse, c->product};
    for (int64_t i = 0; i < n; i++) {
        int64_t number = i * 7919 % 13 - 6;
        if (opf_lib_is_float(c->dtype)) opf_lib_set_real(&x, i, c->product ? 1 + (double)number / 64 : (double)number / 3);
        else opf_lib_set_int(&x, i, number);
    }
    opf_lib_running(&(opf_lib_args){.in = &x, .out = &y, .ints = ints, .scratch = scratch});
    for (int64_t i = 0; i < n; i++) {
        if (opf_lib_is_float(c->dtype)) opf_lib_set_real(&want, i, naive_real(c, &x, i));
        else opf_lib_set_int(&want, i, naive_int(c, &x, i));
    }
    assert_memory_equal(y_bytes, want_bytes, (size_t)(n * opf_lib_size(c->dtype)));
}

static void every_type_axis_and_flag(void **state) {
    (void)state;
    static const int types[] = {OPF_LIB_F32, OPF_LIB_F64, OPF_LIB_F16, OPF_LIB_BF16, OPF_LIB_I32, OPF_LIB_I64, OPF_LIB_U32, OPF_LIB_U64, OPF_LIB_I8};
    static const int64_t shapes[][3] = {{3, 33, 5}, {1, 1, 33}, {33, 1, 3}, {0, 4, 5}, {4, 0, 5}, {4, 5, 0}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int flags = 0; flags < 24; flags++) {
                test_case c = {types[t], flags % 3, flags / 3 & 1, flags / 6 & 1, flags / 12 & 1, {shapes[s][0], shapes[s][1], shapes[s][2]}};
                check(&c);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_type_axis_and_flag)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
