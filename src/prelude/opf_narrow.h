/* Element types that are stored otherwise than they are computed: floating types narrower than float32 (computed as float),
 * and types of four and two bits, several of which share a byte, the first in its low bits, as ONNX packs them.
 *
 *   opf_<type>_to_f32(code)      value of a code          opf_f32_to_<type>(x), opf_f64_to_<type>(x)   code of a value
 *   opf_round_<type>(x)          the nearest value of the type (f16, bf16)
 *   opf_load_<type>(p, i)        value of packed element i      opf_code_<type>(x)    bits of a packed integer
 *   opf_wrap_<type>(x)           low bits of an integer, as a value of the type
 *
 * f16 bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 f4e2m1 i4 u4 i2 u2. Codes round half to even, from double too in one
 * step; nothing here branches. The layouts are those of IEEE 754 and of ONNX's float8 and float4 pages. */
#ifndef OPF_NARROW_H
#define OPF_NARROW_H

#ifndef OPF_SCALAR_H
#include "opf_scalar.h"
#endif

/* double to float with the last bit set where inexact (round to odd), so that the next rounding is the only one. */
static inline float opf_f64_to_odd_f32(double x) {
    float f = (float)x;
    uint32_t bits = opf_bits_of_f32(f);
    double back = (double)f, a = __builtin_fabs(x), b = __builtin_fabs(back);
    bits -= b > a;
    return b == a || x != x ? f : opf_f32_of_bits(bits | 1u);
}

/* ---- 16 bits ---- */

#if defined(__clang__) && defined(__F16C__) /* gcc 12 makes no vectors of such conversions, but does of those below */
static inline float opf_f16_to_f32(uint16_t h) {
    union { uint16_t bits; __fp16 half; } u = {h};
    return u.half;
}
static inline uint16_t opf_f32_to_f16(float x) {
    union { __fp16 half; uint16_t bits; } u;
    u.half = (__fp16)x;
    return u.bits;
}
#else
static inline float opf_f16_to_f32(uint16_t h) {
    uint32_t rest = h & 0x7fffu;
    uint32_t normal = (rest << 13) + (rest < 0x7c00u ? 0x38000000u : 0x70000000u); /* exponent bias 15 to 127 */
    uint32_t small = opf_bits_of_f32((float)(int32_t)rest * 0x1p-24f), quiet = rest > 0x7c00u ? 0x400000u : 0u;
    return opf_f32_of_bits((rest < 0x400u ? small : normal | quiet) | (uint32_t)(h & 0x8000u) << 16);
}
static inline uint16_t opf_f32_to_f16(float x) {
    uint32_t bits = opf_bits_of_f32(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    uint32_t normal = (rest + 0xfffu + (rest >> 13 & 1u) - 0x38000000u) >> 13;
    /* below 2^-14 the addition rounds to multiples of 2^-24 */
    uint32_t small = opf_bits_of_f32(opf_f32_of_bits(rest) + 0.5f) - 0x3f000000u;
    uint32_t half = rest < 0x38800000u ? small : rest >= 0x477ff000u ? 0x7c00u : normal;
    half = rest > 0x7f800000u ? 0x7e00u | (rest >> 13 & 0x3ffu) : half;
    return (uint16_t)(sign | half);
}
#endif
static inline float opf_bf16_to_f32(uint16_t h) { return opf_f32_of_bits((uint32_t)h << 16); }
static inline uint16_t opf_f32_to_bf16(float x) {
    uint32_t bits = opf_bits_of_f32(x);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)(x == x ? rounded : bits >> 16 | 0x40u);
}
/* The nearest float16, as a float: what the two conversions make of x, in a third of the operations. `ruler` is so large that a sum with it
 * is rounded where float16 ends; the product makes infinity of what is too large. */
#if defined(__clang__) && defined(__F16C__)
static inline float opf_round_f16(float x) { return opf_f16_to_f32(opf_f32_to_f16(x)); }
#else
static inline float opf_round_f16(float x) {
    uint32_t bits = opf_bits_of_f32(x);
    int32_t power = (int32_t)(bits & 0x7f800000u); /* the bits of the power of two that is not above |x|, … */
    power = power < 0x38800000 ? 0x38800000 : power;
    power = power > 0x47000000 ? 0x47000000 : power; /* … of 2^-14 at least and 2^15 at most */
    float ruler = opf_f32_of_bits((uint32_t)power + 0x06c00000u); /* 1.5 * 2^13 of it */
    float y = (x + ruler - ruler) * 0x1p112f * 0x1p-112f;
    return opf_f32_of_bits(opf_bits_of_f32(y) | (bits & 0x80000000u));
}
#endif
static inline float opf_round_bf16(float x) { return opf_bf16_to_f32(opf_f32_to_bf16(x)); }
static inline uint16_t opf_f64_to_f16(double x) { return opf_f32_to_f16(opf_f64_to_odd_f32(x)); }
static inline uint16_t opf_f64_to_bf16(double x) { return opf_f32_to_bf16(opf_f64_to_odd_f32(x)); }

/* ---- floating types of up to 8 bits ---- */

/* A code without its sign: `mantissa` bits below an exponent of the given bias; no code is special. */
static inline float opf_small_to_f32(uint32_t code, int mantissa, int bias) {
    float small = (float)(int32_t)code * opf_f32_of_bits((uint32_t)(128 - bias - mantissa) << 23);
    uint32_t normal = (code << (23 - mantissa)) + ((uint32_t)(127 - bias) << 23);
    return code >> mantissa ? opf_f32_of_bits(normal) : small;
}
/* The code of |x|, as if exponents went on for ever; infinity and NaN come out larger than any other. */
static inline uint32_t opf_f32_to_small(float x, int mantissa, int bias) {
    uint32_t rest = opf_bits_of_f32(x) & 0x7fffffffu;
    int drop = 23 - mantissa;
    uint32_t normal = (rest + (1u << (drop - 1)) - 1u + (rest >> drop & 1u) - ((uint32_t)(127 - bias) << 23)) >> drop;
    uint32_t one_step = (uint32_t)(151 - bias - mantissa) << 23; /* bits of the float whose last place is the type's smallest number */
    uint32_t small = opf_bits_of_f32(opf_f32_of_bits(rest) + opf_f32_of_bits(one_step)) - one_step;
    return rest < (uint32_t)(128 - bias) << 23 ? small : normal;
}
/* Codes of the largest number, of infinity (the largest number where the type has none) and of NaN; finite numbers beyond
 * the largest become that. */
static inline uint8_t opf_f32_to_signed_small(float x, int mantissa, int bias, uint32_t sign, uint32_t largest, uint32_t infinity, uint32_t nan) {
    uint32_t code = opf_f32_to_small(x, mantissa, bias);
    code = code <= largest ? code : __builtin_fabsf(x) == __builtin_inff() ? infinity : largest;
    code |= opf_bits_of_f32(x) >> 31 ? sign : 0u;
    return (uint8_t)(x == x ? code : nan);
}

static inline float opf_f8e4m3fn_to_f32(uint8_t c) {
    float x = (c & 0x7fu) == 0x7fu ? __builtin_nanf("") : opf_small_to_f32(c & 0x7fu, 3, 7);
    return c & 0x80u ? -x : x;
}
static inline uint8_t opf_f32_to_f8e4m3fn(float x) { return opf_f32_to_signed_small(x, 3, 7, 0x80u, 0x7eu, 0x7eu, 0x7fu); }

/* FNUZ: no -0, whose code is the only NaN */
static inline float opf_fnuz_to_f32(uint8_t c, int mantissa, int bias) {
    float x = opf_small_to_f32(c & 0x7fu, mantissa, bias);
    return c == 0x80u ? __builtin_nanf("") : c & 0x80u ? -x : x;
}
static inline uint8_t opf_f32_to_fnuz(float x, int mantissa, int bias) {
    uint8_t code = opf_f32_to_signed_small(x, mantissa, bias, 0x80u, 0x7fu, 0x7fu, 0x80u);
    return code == 0x80u && x == x ? 0 : code;
}
static inline float opf_f8e4m3fnuz_to_f32(uint8_t c) { return opf_fnuz_to_f32(c, 3, 8); }
static inline uint8_t opf_f32_to_f8e4m3fnuz(float x) { return opf_f32_to_fnuz(x, 3, 8); }

static inline float opf_f8e5m2_to_f32(uint8_t c) { return opf_f16_to_f32((uint16_t)(c << 8)); } /* the upper half of a float16 */
static inline uint8_t opf_f32_to_f8e5m2(float x) { return opf_f32_to_signed_small(x, 2, 15, 0x80u, 0x7bu, 0x7cu, 0x7eu); }

static inline float opf_f8e5m2fnuz_to_f32(uint8_t c) { return opf_fnuz_to_f32(c, 2, 16); }
static inline uint8_t opf_f32_to_f8e5m2fnuz(float x) { return opf_f32_to_fnuz(x, 2, 16); }

/* Powers of two from 2^-127 on, and NaN; codes round up, negative numbers have none. */
static inline float opf_f8e8m0_to_f32(uint8_t c) {
    uint32_t power = c ? (uint32_t)c << 23 : 0x400000u;
    return opf_f32_of_bits(c == 0xffu ? 0x7fc00000u : power);
}
static inline uint8_t opf_f32_to_f8e8m0(float x) {
    uint32_t bits = opf_bits_of_f32(x), part = bits & 0x7fffffu, exponent = bits >> 23;
    uint32_t code = exponent ? exponent + (part != 0u) : (part > 0x400000u);
    code = code < 0xfeu ? code : 0xfeu;
    return (uint8_t)(x != x || x < 0.0f ? 0xffu : x == 0.0f ? 0u : code);
}

static inline float opf_f4e2m1_to_f32(uint8_t c) {
    float x = opf_small_to_f32(c & 7u, 1, 1);
    return c & 8u ? -x : x;
}
static inline uint8_t opf_f32_to_f4e2m1(float x) { return opf_f32_to_signed_small(x, 1, 1, 8u, 7u, 7u, 0u); }

static inline uint8_t opf_f64_to_f8e4m3fn(double x) { return opf_f32_to_f8e4m3fn(opf_f64_to_odd_f32(x)); }
static inline uint8_t opf_f64_to_f8e4m3fnuz(double x) { return opf_f32_to_f8e4m3fnuz(opf_f64_to_odd_f32(x)); }
static inline uint8_t opf_f64_to_f8e5m2(double x) { return opf_f32_to_f8e5m2(opf_f64_to_odd_f32(x)); }
static inline uint8_t opf_f64_to_f8e5m2fnuz(double x) { return opf_f32_to_f8e5m2fnuz(opf_f64_to_odd_f32(x)); }
static inline uint8_t opf_f64_to_f8e8m0(double x) { return opf_f32_to_f8e8m0(opf_f64_to_odd_f32(x)); }
static inline uint8_t opf_f64_to_f4e2m1(double x) { return opf_f32_to_f4e2m1(opf_f64_to_odd_f32(x)); }

/* ONNX's Cast lets infinity saturate like any number that is too large. */
static inline float opf_finite_f32(float x) { return x > 0x1.fffffep127f ? 0x1.fffffep127f : x < -0x1.fffffep127f ? -0x1.fffffep127f : x; }
static inline double opf_finite_f64(double x) { return x > 0x1.fffffep127 ? 0x1.fffffep127 : x < -0x1.fffffep127 ? -0x1.fffffep127 : x; }

/* ---- elements that share a byte ---- */

static inline uint8_t opf_load_bits4(const uint8_t *p, int64_t i) { return p[i >> 1] >> (i & 1) * 4 & 15; }
static inline uint8_t opf_load_bits2(const uint8_t *p, int64_t i) { return p[i >> 2] >> (i & 3) * 2 & 3; }

static inline int8_t opf_wrap_i4(int8_t x) { return (int8_t)(((x & 15) ^ 8) - 8); }
static inline int8_t opf_wrap_i2(int8_t x) { return (int8_t)(((x & 3) ^ 2) - 2); }
static inline uint8_t opf_wrap_u4(uint8_t x) { return x & 15; }
static inline uint8_t opf_wrap_u2(uint8_t x) { return x & 3; }

static inline float opf_load_f4e2m1(const uint8_t *p, int64_t i) { return opf_f4e2m1_to_f32(opf_load_bits4(p, i)); }
static inline int8_t opf_load_i4(const uint8_t *p, int64_t i) { return opf_wrap_i4((int8_t)opf_load_bits4(p, i)); }
static inline uint8_t opf_load_u4(const uint8_t *p, int64_t i) { return opf_load_bits4(p, i); }
static inline int8_t opf_load_i2(const uint8_t *p, int64_t i) { return opf_wrap_i2((int8_t)opf_load_bits2(p, i)); }
static inline uint8_t opf_load_u2(const uint8_t *p, int64_t i) { return opf_load_bits2(p, i); }

static inline uint8_t opf_code_i4(int8_t x) { return x & 15; }
static inline uint8_t opf_code_u4(uint8_t x) { return x & 15; }
static inline uint8_t opf_code_i2(int8_t x) { return x & 3; }
static inline uint8_t opf_code_u2(uint8_t x) { return x & 3; }

static inline int8_t opf_f32_to_i4(float x) { return opf_wrap_i4(opf_f32_to_i8(x)); }
static inline int8_t opf_f32_to_i2(float x) { return opf_wrap_i2(opf_f32_to_i8(x)); }
static inline uint8_t opf_f32_to_u4(float x) { return opf_wrap_u4(opf_f32_to_u8(x)); }
static inline uint8_t opf_f32_to_u2(float x) { return opf_wrap_u2(opf_f32_to_u8(x)); }
static inline int8_t opf_f64_to_i4(double x) { return opf_wrap_i4(opf_f64_to_i8(x)); }
static inline int8_t opf_f64_to_i2(double x) { return opf_wrap_i2(opf_f64_to_i8(x)); }
static inline uint8_t opf_f64_to_u4(double x) { return opf_wrap_u4(opf_f64_to_u8(x)); }
static inline uint8_t opf_f64_to_u2(double x) { return opf_wrap_u2(opf_f64_to_u8(x)); }

#endif
