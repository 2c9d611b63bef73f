/* The prelude's conversions of narrow types against src/expr, which says what the types are: every code, many floats and
 * doubles, all ties and their neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "expr/dtype.h"
#include "opf_half.h"

typedef struct narrow_row {
    opf_dtype dtype;
    float (*load)(uint8_t code);
    uint8_t (*from_float)(float x);
    uint8_t (*from_double)(double x);
} narrow_row;

#define ROW(dtype, name) {dtype, opf_##name##_to_f32, opf_f32_to_##name, opf_f64_to_##name}
static const narrow_row rows[] = {
    ROW(OPF_FLOAT8E4M3FN, f8e4m3fn), ROW(OPF_FLOAT8E4M3FNUZ, f8e4m3fnuz), ROW(OPF_FLOAT8E5M2, f8e5m2),
    ROW(OPF_FLOAT8E5M2FNUZ, f8e5m2fnuz), ROW(OPF_FLOAT8E8M0, f8e8m0), ROW(OPF_FLOAT4E2M1, f4e2m1),
};

static uint8_t stored(opf_dtype dtype, double value) {
    uint8_t code = 0;
    opf_dtype_store(dtype, &code, 0, value);
    return code;
}

static void check_float(const narrow_row *row, float x) {
    uint8_t code = row->from_float(x), expected = stored(row->dtype, (double)x);
    if (code != expected) fail_msg("%s of %a is %#x and not %#x", opf_dtype_name(row->dtype), (double)x, code, expected);
    assert_int_equal(row->from_double((double)x), expected);
}

static void codes_read_as_what_they_are(void **state) {
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int c = 0; c < 1 << opf_dtype_bits(rows[r].dtype); c++) {
            uint8_t code = (uint8_t)c;
            double expected = opf_dtype_load(rows[r].dtype, &code, 0);
            float got = rows[r].load(code);
            assert_true(isnan(expected) ? isnan(got) : (double)got == expected && !signbit(got) == !signbit(expected));
        }
}

static void numbers_round_as_stores_do(void **state) {
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 9973) check_float(&rows[r], opf_f32_of_bits((uint32_t)bits));
        static const float extremes[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1.fffffep127f, -0x1.fffffep127f, 0x1p-149f, 0x1p-127f, 0x1p-126f, 0x1.000002p-127f};
        for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) check_float(&rows[r], extremes[i]);
    }
}

/* Between neighbouring numbers: the tie and what lies just beside it, as float and as double. */
static void ties_go_to_even(void **state) {
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int c = 0; c + 1 < 1 << opf_dtype_bits(rows[r].dtype); c++) {
            double low = (double)rows[r].load((uint8_t)c), high = (double)rows[r].load((uint8_t)(c + 1)), middle = (low + high) / 2;
            if (!isfinite(middle)) continue;
            const double around[] = {middle, nextafter(middle, -INFINITY), nextafter(middle, INFINITY), low, nextafter(low, INFINITY)};
            for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
                assert_int_equal(rows[r].from_double(around[i]), stored(rows[r].dtype, around[i]));
                check_float(&rows[r], (float)around[i]);
            }
            check_float(&rows[r], nextafterf((float)middle, INFINITY));
            check_float(&rows[r], nextafterf((float)middle, -INFINITY));
        }
}

static void half_types_round_as_stores_do(void **state) {
    (void)state;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 9973) {
        float x = opf_f32_of_bits((uint32_t)bits);
        uint16_t half = 0, brain = 0;
        opf_dtype_store(OPF_FLOAT16, &half, 0, (double)x);
        opf_dtype_store(OPF_BFLOAT16, &brain, 0, (double)x);
        if (isnan(x)) continue; /* payloads differ */
        assert_int_equal(opf_f32_to_f16(x), half);
        assert_int_equal(opf_f32_to_bf16(x), brain);
        assert_int_equal(opf_f64_to_f16((double)x), half);
        assert_int_equal(opf_f64_to_bf16((double)x), brain);
        assert_int_equal(opf_bits_of_f32(opf_round_f16(x)), opf_bits_of_f32(opf_f16_to_f32(half)));
        assert_int_equal(opf_bits_of_f32(opf_round_bf16(x)), opf_bits_of_f32(opf_bf16_to_f32(brain)));
    }
}

/* Between all neighbours, and at the two ends: what is rounded in place is what the code says. */
static void rounding_in_place_takes_the_code_s_side(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float low = opf_f16_to_f32((uint16_t)h), high = h == 0x7bff ? 65536.0f : opf_f16_to_f32((uint16_t)(h + 1)), middle = (low + high) / 2;
        const float around[] = {low, middle, nextafterf(middle, 0), nextafterf(middle, INFINITY)};
        for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
            assert_int_equal(opf_bits_of_f32(opf_round_f16(around[i])), opf_bits_of_f32(opf_f16_to_f32(opf_f32_to_f16(around[i]))));
            assert_int_equal(opf_bits_of_f32(opf_round_f16(-around[i])), opf_bits_of_f32(opf_f16_to_f32(opf_f32_to_f16(-around[i]))));
        }
    }
    const float ends[] = {INFINITY, -INFINITY, 0x1p115f, -0x1.fffffep127f, 0x1p-149f, -0x1p-126f, 0.0f, -0.0f};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        assert_int_equal(opf_bits_of_f32(opf_round_f16(ends[i])), opf_bits_of_f32(opf_f16_to_f32(opf_f32_to_f16(ends[i]))));
    assert_true(isnan(opf_round_f16(NAN)) && isnan(opf_round_bf16(NAN)));
}

/* Lines of every length: the elements of the scalar functions, and nothing in front or behind. */
static void lines_of_float16(void **state) {
    (void)state;
    enum { MOST = 70, ROOM = 2 * MOST + 8 };
    const float mark = -7.0f;
    for (int n = 0; n < MOST; n++) {
        uint16_t codes[ROOM], back[ROOM];
        float numbers[ROOM], line[ROOM];
        for (int i = 0; i < ROOM; i++) codes[i] = (uint16_t)(i * 977 + n * 31) & 0xfbff, numbers[i] = line[i] = mark, back[i] = 0xabcd; /* no NaN */
        opf_load_line_f16(numbers + 1, codes, n);
        for (int i = 0; i < n; i++) assert_true(numbers[i + 1] == opf_f16_to_f32(codes[i]));
        assert_true(numbers[0] == mark && numbers[n + 1] == mark);
        for (int i = 1; i <= n; i++) numbers[i] *= 1.001f;
        opf_store_line_f16(back + 1, numbers + 1, n);
        for (int i = 1; i <= n; i++) assert_int_equal(back[i], opf_f32_to_f16(numbers[i]));
        assert_true(back[0] == 0xabcd && back[n + 1] == 0xabcd);
        for (int step = 1; step <= 2; step++) {
            opf_copy_line_f16(line, 2, 2 + n, n + 5, codes, step);
            for (int i = 0; i < n + 5; i++) assert_true(line[i] == (i < 2 || i >= n + 2 ? 0.0f : opf_f16_to_f32(codes[(i - 2) * step])));
            assert_true(line[n + 5] == mark);
        }
    }
}

/* A line is rounded as each of its elements is: between all neighbours of the least and of the largest, at the ends, and of every length. */
static void lines_round_as_elements_do(void **state) {
    (void)state;
    enum { MOST = 70 };
    const float ends[] = {INFINITY, -INFINITY, NAN, 65519.996f, 65520.0f, -65520.0f, 0x1p115f, -0x1.fffffep127f, 0x1p-149f, -0x1p-25f, 0x1.000002p-25f, 0.0f, -0.0f};
    const int n_ends = (int)(sizeof ends / sizeof *ends);
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float line[MOST + 2], from[MOST + 2];
        int n = (int)(h % MOST);
        for (int i = 0; i < n + 2; i++) {
            uint32_t bits = (uint32_t)opf_bits_of_f32(opf_f16_to_f32((uint16_t)h)) + (uint32_t)i * UINT32_C(409); /* 8192 from one float16 to the next */
            from[i] = line[i] = i % 17 == 5 ? ends[(h + (uint32_t)i) % (uint32_t)n_ends] : opf_f32_of_bits(bits | (i % 2 ? UINT32_C(0x80000000) : 0));
        }
        opf_round_line_f16(line + 1, n);
        assert_int_equal(opf_bits_of_f32(line[0]), opf_bits_of_f32(from[0]));
        assert_int_equal(opf_bits_of_f32(line[n + 1]), opf_bits_of_f32(from[n + 1]));
        for (int i = 1; i <= n; i++) {
            float rounded = opf_round_f16(from[i]);
            if (isnan(rounded)) assert_true(isnan(line[i]));
            else assert_int_equal(opf_bits_of_f32(line[i]), opf_bits_of_f32(rounded));
        }
    }
}

static void infinities_saturate_in_casts(void **state) {
    (void)state;
    assert_true(opf_finite_f32(INFINITY) == 0x1.fffffep127f && opf_finite_f32(-INFINITY) == -0x1.fffffep127f);
    assert_true(opf_finite_f64(-INFINITY) == -0x1.fffffep127 && opf_finite_f64(2.0) == 2.0);
    assert_true(isnan(opf_finite_f32(NAN)) && isnan(opf_finite_f64(NAN)));
    assert_int_equal(opf_f32_to_f8e5m2(opf_finite_f32(-INFINITY)), 0xfb);
    assert_int_equal(opf_f32_to_f8e5m2(-INFINITY), 0xfc);
}

static void packed_elements(void **state) {
    (void)state;
    uint8_t bytes[16];
    for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)(i * 37 + 11);
    for (int64_t i = 0; i < 32; i++) {
        assert_int_equal(opf_load_i4(bytes, i), opf_dtype_load_int(OPF_INT4, bytes, (size_t)i));
        assert_int_equal(opf_load_u4(bytes, i), opf_dtype_load_int(OPF_UINT4, bytes, (size_t)i));
        assert_true((double)opf_load_f4e2m1(bytes, i) == opf_dtype_load(OPF_FLOAT4E2M1, bytes, (size_t)i));
    }
    for (int64_t i = 0; i < 64; i++) {
        assert_int_equal(opf_load_i2(bytes, i), opf_dtype_load_int(OPF_INT2, bytes, (size_t)i));
        assert_int_equal(opf_load_u2(bytes, i), opf_dtype_load_int(OPF_UINT2, bytes, (size_t)i));
    }
    for (int v = -128; v < 128; v++) {
        uint8_t code = 0;
        opf_dtype_store_int(OPF_INT4, &code, 0, v);
        assert_int_equal(opf_wrap_i4((int8_t)v), opf_dtype_load_int(OPF_INT4, &code, 0));
        assert_int_equal(opf_code_i4((int8_t)v), code);
        code = 0;
        opf_dtype_store_int(OPF_INT2, &code, 0, v);
        assert_int_equal(opf_wrap_i2((int8_t)v), opf_dtype_load_int(OPF_INT2, &code, 0));
        assert_int_equal(opf_code_i2((int8_t)v), code);
    }
    assert_int_equal(opf_f32_to_i4(-9.7f), 7);
    assert_int_equal(opf_f64_to_u4(17.9), 1);
    assert_int_equal(opf_f32_to_i2(2.0f), -2);
    assert_int_equal(opf_f32_to_u2(5.0f), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_read_as_what_they_are), cmocka_unit_test(numbers_round_as_stores_do), cmocka_unit_test(ties_go_to_even),
        cmocka_unit_test(half_types_round_as_stores_do), cmocka_unit_test(rounding_in_place_takes_the_code_s_side), cmocka_unit_test(lines_of_float16), cmocka_unit_test(lines_round_as_elements_do),
        cmocka_unit_test(infinities_saturate_in_casts), cmocka_unit_test(packed_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
