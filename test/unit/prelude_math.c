/* The prelude's functions for every instruction set that this CPU runs and both compilers: errors of every 65537-th float
 * (script/check-math checks all of them), and the scalar helpers' corner cases. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/machine.h"
#include "opf_narrow.h"
#include "opf_reduce.h"

static void check_with(const char *compiler, const char *flags) {
    char folder[] = "/tmp/opf-math-XXXXXX", command[1024];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "%s -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math %s "
             "-I%s/../../src/prelude %s/../tools/check_math.c -o %s/check -lm && %s/check -s 65537", compiler, flags, OPF_TEST_DATA, OPF_TEST_DATA, folder, folder);
    int status = system(command);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) fail();
    assert_int_equal(status, 0);
}

static void errors_stay_within_their_limits(void **state) {
    (void)state;
    for (size_t i = 0; i < opf_machine_count(); i++)
        if (opf_machine_runs(opf_machine_at(i))) {
            check_with("cc", opf_machine_at(i)->flags);
            if (system("clang --version > /dev/null 2>&1") == 0) check_with("clang", opf_machine_at(i)->flags);
        }
}

static void integers_never_trap(void **state) {
    (void)state;
    assert_int_equal(opf_div_i32(7, 0), 0);
    assert_int_equal(opf_div_i32(INT32_MIN, -1), INT32_MIN);
    assert_int_equal(opf_div_i8(-128, -1), -128);
    assert_int_equal(opf_div_i64(-7, 2), -3);
    assert_int_equal(opf_floordiv_i64(-7, 2), -4);
    assert_int_equal(opf_floordiv_i64(7, -2), -4);
    assert_int_equal(opf_floordiv_i64(-8, 2), -4);
    assert_int_equal(opf_floormod_i32(-7, 3), 2);
    assert_int_equal(opf_floormod_i32(7, -3), -2);
    assert_int_equal(opf_floormod_i32(5, 0), 0);
    assert_int_equal(opf_fmod_i32(-7, 3), -1);
    assert_int_equal(opf_fmod_i64(INT64_MIN, -1), 0);
    assert_int_equal(opf_div_u8(200, 7), 28);
    assert_int_equal(opf_add_i8(127, 1), -128);
    assert_int_equal(opf_mul_i16(-32768, -1), -32768);
    assert_int_equal(opf_mul_u16(65535, 65535), 1);
    assert_int_equal(opf_neg_i32(INT32_MIN), INT32_MIN);
    assert_int_equal(opf_abs_i64(INT64_MIN), INT64_MIN);
    assert_int_equal(opf_shl_u8(3, 8), 0);
    assert_int_equal(opf_shl_u32(1, 31), 0x80000000u);
    assert_int_equal(opf_shr_u64(5, 64), 0);
    assert_int_equal(opf_pow_i32(-3, 5), -243);
    assert_int_equal(opf_pow_i32(2, -1), 0);
    assert_int_equal(opf_pow_i64(-1, -3), -1);
    assert_int_equal(opf_pow_u8(3, 6), 729 % 256);
}

static void conversions_are_defined(void **state) {
    (void)state;
    assert_int_equal(opf_f32_to_i64(1e30f), INT64_MAX);
    assert_int_equal(opf_f32_to_i64(-1e30f), INT64_MIN);
    assert_int_equal(opf_f32_to_i64(NAN), 0);
    assert_int_equal(opf_f32_to_i32(-2.9f), -2);
    assert_int_equal(opf_f32_to_i32(4294967296.0f * 3 + 4096.0f), 4096);
    assert_int_equal(opf_f32_to_u8(300.7f), 44);
    assert_int_equal(opf_f32_to_u8(-1.0f), 255);
    assert_true(opf_f64_to_u64(1e19) == UINT64_C(10000000000000000000));
    assert_true(opf_f64_to_u64(1e30) == UINT64_MAX);
    assert_true(isnan(opf_max_f32(NAN, 1)) && isnan(opf_max_f32(1, NAN)) && isnan(opf_min_f64(NAN, 1)) && isnan(opf_min_f64(1, NAN)));
    assert_true(opf_max_f32(-INFINITY, 3) == 3 && opf_min_f32(2, 3) == 2);
    assert_true(opf_floormod_f32(-7, 3) == 2 && opf_fmod_f32(-7, 3) == -1);
    assert_true(opf_sign_f32(-2) == -1 && opf_sign_f32(0) == 0 && isnan(opf_sign_f32(NAN)));
}

/* Half precision by its definition: sign, 5 bits of exponent, 10 of mantissa. */
static double half_value(uint16_t h) {
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double value = exponent == 31 ? (mantissa ? NAN : INFINITY) : exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return h >> 15 ? -value : value;
}

static void half_precision(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        double value = half_value((uint16_t)h);
        float f = opf_f16_to_f32((uint16_t)h);
        assert_true(isnan(value) ? isnan(f) : (double)f == value && !signbit(f) == !signbit(value));
        uint16_t back = opf_f32_to_f16(f);
        assert_true(isnan(value) ? isnan(half_value(back)) : back == h);
        float b = opf_bf16_to_f32((uint16_t)h);
        assert_true(isnan(b) ? isnan(opf_bf16_to_f32(opf_f32_to_bf16(b))) : opf_f32_to_bf16(b) == h);
    }
    /* halfway cases go to even, and everything between two halves to the nearer */
    for (uint32_t h = 0; h < 0x7bff; h++) {
        double low = half_value((uint16_t)h), high = half_value((uint16_t)(h + 1)), middle = (low + high) / 2;
        assert_int_equal(opf_f32_to_f16((float)middle), h + (h & 1));
        assert_int_equal(opf_f32_to_f16(nextafterf((float)middle, 0)), h);
        assert_int_equal(opf_f32_to_f16(nextafterf((float)middle, INFINITY)), h + 1);
        assert_int_equal(opf_f64_to_f16(nextafter(middle, 0)), h);
        assert_int_equal(opf_f64_to_f16(nextafter(middle, INFINITY)), h + 1);
    }
    assert_int_equal(opf_f32_to_f16(65519.0f), 0x7bff);
    assert_int_equal(opf_f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(opf_f64_to_f16(-1e300), 0xfc00);
}

static void reductions_of_any_length(void **state) {
    (void)state;
    float x[300];
    for (int i = 0; i < 300; i++) x[i] = (float)((i * 37) % 101) / 8 - 5;
    for (int offset = 0; offset < 3; offset++)
        for (int n = 0; n < 250; n++) {
            double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
            for (int i = 0; i < n; i++) {
                double v = (double)x[offset + i];
                sum += v, squares += v * v, low = fmin(low, v), high = fmax(high, v);
            }
            assert_true(fabs((double)opf_sum_f32(x + offset, n) - sum) <= 1e-3);
            assert_true(fabs((double)opf_sumsq_f32(x + offset, n) - squares) <= 1e-2);
            assert_true(opf_dot_f32(x + offset, x + offset, n) == opf_sumsq_f32(x + offset, n));
            assert_true((double)opf_max_reduce_f32(x + offset, n) == high && (double)opf_min_reduce_f32(x + offset, n) == low);
        }
    for (int i = 0; i < 70; i++) { /* a NaN anywhere comes through */
        float keep = x[i];
        x[i] = NAN;
        assert_true(isnan(opf_max_reduce_f32(x, 70)) && isnan(opf_min_reduce_f32(x, 70)) && isnan(opf_sum_f32(x, 70)));
        x[i] = keep;
    }
    /* the same numbers at another address give the same bits */
    float y[301];
    memcpy(y + 1, x, sizeof x);
    assert_true(opf_sum_f32(x, 299) == opf_sum_f32(y + 1, 299));
    const int64_t wide[] = {INT64_MAX, 1, -3};
    assert_true(opf_sum_i64(wide, 3) == (int64_t)((uint64_t)INT64_MAX + 1u - 3u));
    assert_int_equal(opf_max_reduce_i64(wide, 0), INT64_MIN);
}

/* Rounds of four vectors added as they are computed, the rest behind them: the very sum of the row. */
static void running_sums_are_the_rows_sums(void **state) {
    (void)state;
    enum { ALL = 4 * OPF_LANES };
    float x[8 * ALL];
    for (int i = 0; i < 8 * ALL; i++) x[i] = (float)((i * 37) % 101) / 7 - 5;
    for (int n = 0; n < 8 * ALL; n++) {
        _Alignas(64) float running[ALL];
        opf_clear_vectors(running);
        int base = 0;
        for (; base + ALL <= n; base += ALL)
            for (int k = 0; k < ALL; k++) running[k] += x[base + k];
        assert_true(opf_sum_behind_f32(running, x + base, n - base) == opf_sum_f32(x, n));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_never_trap),      cmocka_unit_test(conversions_are_defined), cmocka_unit_test(half_precision),
        cmocka_unit_test(reductions_of_any_length), cmocka_unit_test(errors_stay_within_their_limits),
        cmocka_unit_test(running_sums_are_the_rows_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
