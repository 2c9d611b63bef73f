/* The prelude as it is under --accuracy=exact: nothing is fused, sums run in order, zeros have a place. */
#define OPF_EXACT 1
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "opf_reduce.h"

static int same_bits(float a, float b) { return opf_bits_of_f32(a) == opf_bits_of_f32(b); }

/* 2^24 + 1 rounds back to 2^24: in order nothing of the ones is left, by any tree something is. */
static void sums_run_in_order(void **state) {
    (void)state;
    float x[100];
    double y[100];
    for (int i = 0; i < 100; i++) x[i] = i ? 1 : 0x1p24f, y[i] = i ? 1 : 0x1p53;
    assert_true(opf_sum_f32(x, 100) == 0x1p24f);
    assert_true(opf_sum_on_f32(0x1p24f, x + 1, 99) == 0x1p24f);
    assert_true(opf_sum_on_f32(0, x + 1, 99) == 99);
    assert_true(opf_sum_f64(y, 100) == 0x1p53);
    assert_true(opf_sum_f32(x, 0) == 0 && opf_prod_f32(x, 0) == 1);
    float large[3] = {0x1p100f, 0x1p100f, 0x1p-100f};
    assert_true(isinf(opf_prod_f32(large, 3)));
}

/* (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, whose last term float32 rounds away: fused, it would stay. */
static void products_round_before_they_are_added(void **state) {
    (void)state;
    float a = 1 + 0x1p-12f, x[2] = {1 + 0x1p-11f, a}, y[2] = {-1, a};
    assert_true(opf_fma_f32(a, a, -(1 + 0x1p-11f)) == 0);
    assert_true(opf_dot_f32(x, y, 2) == 0);
    assert_true(opf_sumsq_on_f32(-(1 + 0x1p-11f), &a, 1) == 0);
    opf_vf sum = opf_vfma(opf_vsplat(a), opf_vsplat(a), opf_vsplat(-(1 + 0x1p-11f)));
    for (int i = 0; i < OPF_LANES; i++) assert_true(sum[i] == 0);
    double b = 1 + 0x1p-27;
    assert_true(opf_fma_f64(b, b, -(1 + 0x1p-26)) == 0);
}

static void extremes_know_the_signs_of_zero(void **state) {
    (void)state;
    assert_true(same_bits(opf_max_f32(0.0f, -0.0f), 0.0f) && same_bits(opf_max_f32(-0.0f, 0.0f), 0.0f));
    assert_true(same_bits(opf_min_f32(0.0f, -0.0f), -0.0f) && same_bits(opf_min_f32(-0.0f, 0.0f), -0.0f));
    assert_true(same_bits(opf_max_f32(-0.0f, -0.0f), -0.0f) && same_bits(opf_max_f32(-3, -3), -3));
    assert_true(isnan(opf_max_f32(NAN, 1)) && isnan(opf_max_f32(1, NAN)) && isnan(opf_min_f32(NAN, 1)) && isnan(opf_min_f32(1, NAN)));
    assert_true(!signbit(opf_max_f64(-0.0, 0.0)) && signbit(opf_min_f64(0.0, -0.0)) && isnan(opf_max_f64(1, (double)NAN)));
    for (int at = 0; at < 37; at++) { /* every lane and place of the tree */
        float x[37];
        for (int i = 0; i < 37; i++) x[i] = i == at ? 0.0f : -0.0f;
        assert_true(same_bits(opf_max_reduce_f32(x, 37), 0.0f));
        for (int i = 0; i < 37; i++) x[i] = -x[i];
        assert_true(same_bits(opf_min_reduce_f32(x, 37), -0.0f));
        x[at] = NAN;
        assert_true(isnan(opf_max_reduce_f32(x, 37)) && isnan(opf_min_reduce_f32(x, 37)));
    }
}

/* One way on every machine: powers do not go to the C library. */
static void powers_are_the_polynomial(void **state) {
    (void)state;
    assert_true(opf_pow_f32(2, 10) == 1024 && opf_pow_f32(-2, 3) == -8 && isnan(opf_pow_f32(-2, 0.5f)) && opf_pow_f32(0, 0) == 1);
    for (float x = 0.01f; x < 90; x *= 1.37f)
        for (float y = -5; y < 5; y += 0.77f) assert_true(fabs((double)opf_pow_f32(x, y) / pow((double)x, (double)y) - 1) < 1e-7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_run_in_order),
        cmocka_unit_test(products_round_before_they_are_added),
        cmocka_unit_test(extremes_know_the_signs_of_zero),
        cmocka_unit_test(powers_are_the_polynomial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
