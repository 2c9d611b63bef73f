/* Element types: sizes, exact decoding, rounding half to even, saturation, packing, wrapping. The values come from the
 * types' definitions (IEEE 754, the OCP float8 and float4 formats as ONNX describes them). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "expr/dtype.h"

static void names_and_sizes(void **state) {
    (void)state;
    for (int i = 1; i < OPF_DTYPE_COUNT; i++) assert_int_equal(opf_dtype_parse(opf_dtype_name((opf_dtype)i)), i);
    assert_int_equal(opf_dtype_parse("double"), OPF_NO_DTYPE);
    assert_false(opf_dtype_valid(0));
    assert_false(opf_dtype_valid(-1));
    assert_false(opf_dtype_valid(OPF_DTYPE_COUNT));
    assert_int_equal(opf_dtype_bytes(OPF_FLOAT32, 3), 12);
    assert_int_equal(opf_dtype_bytes(OPF_INT4, 0), 0);
    assert_int_equal(opf_dtype_bytes(OPF_INT4, 3), 2);
    assert_int_equal(opf_dtype_bytes(OPF_UINT2, 5), 2);
    assert_int_equal(opf_dtype_bytes(OPF_COMPLEX128, 2), 32);
    assert_true(opf_dtype_is_float(OPF_FLOAT8E8M0));
    assert_false(opf_dtype_is_integer(OPF_BOOL));
    assert_true(opf_dtype_is_signed(OPF_INT2));
    assert_false(opf_dtype_is_signed(OPF_UINT8));
}

/* Every code of a narrow type reads as a value that is stored as the same code again. */
static void codes_survive(void **state) {
    (void)state;
    static const opf_dtype types[] = {OPF_FLOAT16, OPF_BFLOAT16, OPF_FLOAT8E4M3FN, OPF_FLOAT8E4M3FNUZ, OPF_FLOAT8E5M2, OPF_FLOAT8E5M2FNUZ, OPF_FLOAT4E2M1, OPF_FLOAT8E8M0};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        int bits = opf_dtype_bits(types[t]), nans = 0;
        for (uint32_t code = 0; code < 1u << bits; code++) {
            unsigned char from[2] = {(unsigned char)code, (unsigned char)(code >> 8)}, to[2] = {0, 0};
            double value = opf_dtype_load(types[t], from, 0);
            bool saturates = isinf(value) && bits <= 8;
            nans += isnan(value) != 0;
            if (isnan(value) || saturates) continue;
            opf_dtype_store(types[t], to, 0, value);
            assert_memory_equal(from, to, (size_t)bits / 8);
        }
        static const int expected_nans[] = {2 * 1023, 2 * 127, 2, 1, 6, 1, 0, 1};
        assert_int_equal(nans, expected_nans[t]);
    }
}

static void extremes_of_each_type(void **state) {
    (void)state;
    static const struct { opf_dtype dtype; double greatest, least_subnormal; } rows[] = {
        {OPF_FLOAT16, 65504, 0x1p-24}, {OPF_BFLOAT16, 0x1.fep127, 0x1p-133}, {OPF_FLOAT8E4M3FN, 448, 0x1p-9},
        {OPF_FLOAT8E4M3FNUZ, 240, 0x1p-10}, {OPF_FLOAT8E5M2, 57344, 0x1p-16}, {OPF_FLOAT8E5M2FNUZ, 57344, 0x1p-17}, {OPF_FLOAT4E2M1, 6, 0.5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        opf_dtype dtype = rows[i].dtype;
        assert_true(opf_dtype_round(dtype, rows[i].greatest) == rows[i].greatest);
        assert_true(opf_dtype_round(dtype, rows[i].least_subnormal) == rows[i].least_subnormal);
        assert_true(opf_dtype_round(dtype, rows[i].least_subnormal * 0.5) == 0); /* the tie goes to even */
        assert_true(opf_dtype_round(dtype, rows[i].least_subnormal * 0.50001) == rows[i].least_subnormal);
        bool infinite = dtype == OPF_FLOAT16 || dtype == OPF_BFLOAT16;
        assert_true(opf_dtype_round(dtype, 1e300) == (infinite ? INFINITY : rows[i].greatest));
        assert_true(opf_dtype_round(dtype, -1e300) == (infinite ? -INFINITY : -rows[i].greatest));
        if (dtype != OPF_FLOAT4E2M1) assert_true(isnan(opf_dtype_round(dtype, NAN)));
    }
}

static void halves_round_to_even(void **state) {
    (void)state;
    assert_true(opf_dtype_round(OPF_FLOAT16, 1 + 0x1p-11) == 1);
    assert_true(opf_dtype_round(OPF_FLOAT16, 1 + 3 * 0x1p-11) == 1 + 0x1p-9);
    assert_true(opf_dtype_round(OPF_FLOAT16, 1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10); /* once, not by way of float32 */
    assert_true(opf_dtype_round(OPF_FLOAT16, 65519.99) == 65504);
    assert_true(isinf(opf_dtype_round(OPF_FLOAT16, 65520)));
    assert_true(opf_dtype_round(OPF_BFLOAT16, 1 + 0x1p-8) == 1);
    assert_true(opf_dtype_round(OPF_FLOAT4E2M1, 2.5) == 2);
    assert_true(opf_dtype_round(OPF_FLOAT4E2M1, 5) == 4);
    assert_true(opf_dtype_round(OPF_FLOAT8E8M0, 5) == 8); /* powers of two, upward */
    assert_true(signbit(opf_dtype_round(OPF_FLOAT16, -0.0)));
    assert_false(signbit(opf_dtype_round(OPF_FLOAT8E4M3FNUZ, -0.0))); /* has no -0 */
    assert_true(opf_dtype_round(OPF_FLOAT32, 1 + 0x1p-30) == 1);
    assert_true(opf_dtype_round(OPF_FLOAT64, 1 + 0x1p-30) == 1 + 0x1p-30);
}

static void small_elements_are_packed(void **state) {
    (void)state;
    unsigned char bytes[3] = {0xff, 0xff, 0xff};
    for (int i = 0; i < 5; i++) opf_dtype_store_int(OPF_INT4, bytes, (size_t)i, i - 2);
    assert_int_equal(bytes[0], 0xfe); /* low bits first: -2 is 0xe, -1 is 0xf */
    assert_int_equal(bytes[1], 0x10);
    assert_int_equal(bytes[2], 0xf2); /* the neighbour stays */
    for (int i = 0; i < 5; i++) assert_int_equal(opf_dtype_load_int(OPF_INT4, bytes, (size_t)i), i - 2);
    assert_int_equal(opf_dtype_load_int(OPF_UINT4, bytes, 0), 14);
    unsigned char pairs = 0;
    for (int i = 0; i < 4; i++) opf_dtype_store_int(OPF_UINT2, &pairs, (size_t)i, i);
    assert_int_equal(pairs, 0xe4);
    assert_int_equal(opf_dtype_load_int(OPF_INT2, &pairs, 3), -1);
    opf_dtype_store(OPF_FLOAT4E2M1, bytes, 1, -1.5);
    assert_true(opf_dtype_load(OPF_FLOAT4E2M1, bytes, 1) == -1.5);
}

static long long converted(opf_dtype dtype, double value) {
    unsigned char bytes[8] = {0};
    opf_dtype_store(dtype, bytes, 0, value);
    return opf_dtype_load_int(dtype, bytes, 0);
}

static void integers_truncate_and_wrap(void **state) {
    (void)state;
    assert_int_equal(converted(OPF_INT8, -3.9), -3);
    assert_int_equal(converted(OPF_INT8, 200), -56);
    assert_int_equal(converted(OPF_UINT8, -1), 255);
    assert_int_equal(converted(OPF_UINT8, 256), 0);
    assert_int_equal(converted(OPF_INT32, 4294967297.0), 1);
    assert_int_equal(converted(OPF_INT64, NAN), 0);
    assert_true(converted(OPF_INT64, INFINITY) == INT64_MAX && converted(OPF_INT64, -INFINITY) == INT64_MIN);
    assert_true(converted(OPF_INT64, 0x1p63) == INT64_MAX && converted(OPF_INT64, -1e30) == INT64_MIN);
    assert_int_equal(converted(OPF_INT32, 1e30), -1); /* the low bits of INT64_MAX */
    assert_int_equal(converted(OPF_INT32, -1e30), 0);
    assert_true((uint64_t)converted(OPF_UINT64, 0x1p64) == UINT64_MAX);
    assert_true((uint64_t)converted(OPF_UINT64, 0x1p63 + 2048) == (UINT64_C(1) << 63) + 2048);
    assert_int_equal(converted(OPF_BOOL, 0.1), 1);
    assert_int_equal(converted(OPF_BOOL, -0.0), 0);
    assert_int_equal(converted(OPF_BOOL, NAN), 1);
    int64_t big = INT64_MAX;
    assert_true(opf_dtype_load_int(OPF_INT64, &big, 0) == INT64_MAX);
    uint64_t all = UINT64_MAX;
    assert_true(opf_dtype_load(OPF_UINT64, &all, 0) == 0x1p64);
    float number = 2.75f;
    assert_int_equal(opf_dtype_load_int(OPF_FLOAT32, &number, 0), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_sizes), cmocka_unit_test(codes_survive), cmocka_unit_test(extremes_of_each_type),
        cmocka_unit_test(halves_round_to_even), cmocka_unit_test(small_elements_are_packed), cmocka_unit_test(integers_truncate_and_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
