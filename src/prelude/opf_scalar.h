/* Scalar operations where C leaves something undefined, traps or rounds otherwise than ONNX: integers that wrap, division
 * that never traps, minima that let NaN through, conversions that are defined for every input.
 * Names end in the element type: f32 f64 i8 i16 i32 i64 u8 u16 u32 u64. */
#ifndef OPF_SCALAR_H
#define OPF_SCALAR_H

#include <stdint.h>

#ifndef OPF_MATH_H
#include "opf_math.h"
#endif

#ifdef OPF_EXACT
/* +0 is above -0: of equal operands the common bits (the bits of either), so that the order of the operands is of no matter. */
#define OPF_EQUAL_MAX(bits) (bits(a) & bits(b))
#define OPF_EQUAL_MIN(bits) (bits(a) | bits(b))
static inline float opf_max_f32(float a, float b) {
    float m = a > b ? a : b;
    m = a == b ? opf_f32_of_bits(OPF_EQUAL_MAX(opf_bits_of_f32)) : m;
    return a != a ? a : m;
}
static inline float opf_min_f32(float a, float b) {
    float m = a < b ? a : b;
    m = a == b ? opf_f32_of_bits(OPF_EQUAL_MIN(opf_bits_of_f32)) : m;
    return a != a ? a : m;
}
static inline double opf_max_f64(double a, double b) {
    double m = a > b ? a : b;
    m = a == b ? opf_f64_of_bits(OPF_EQUAL_MAX(opf_bits_of_f64)) : m;
    return a != a ? a : m;
}
static inline double opf_min_f64(double a, double b) {
    double m = a < b ? a : b;
    m = a == b ? opf_f64_of_bits(OPF_EQUAL_MIN(opf_bits_of_f64)) : m;
    return a != a ? a : m;
}
#else
/* In two steps, so that gcc turns long chains of them into vector code too; a constant is best put first. */
static inline float opf_max_f32(float a, float b) {
    float m = a > b ? a : b; /* b where either is a NaN: one instruction */
    return a != a ? a : m;
}
static inline float opf_min_f32(float a, float b) {
    float m = a < b ? a : b; /* b where either is a NaN: one instruction */
    return a != a ? a : m;
}
static inline double opf_max_f64(double a, double b) {
    double m = a > b ? a : b; /* b where either is a NaN: one instruction */
    return a != a ? a : m;
}
static inline double opf_min_f64(double a, double b) {
    double m = a < b ? a : b; /* b where either is a NaN: one instruction */
    return a != a ? a : m;
}
#endif
/* The larger (smaller) of a constant, no NaN, and x; NaN where x is. The constant comes from opf_hidden_f32: where gcc 12 sees one, its
 * vectors compare and blend instead of taking the one instruction that this is. */
#ifdef OPF_EXACT
static inline float opf_at_least_f32(float limit, float x) { return opf_max_f32(limit, x); }
static inline float opf_at_most_f32(float limit, float x) { return opf_min_f32(limit, x); }
#else
static inline float opf_at_least_f32(float limit, float x) { return limit > x ? limit : x; }
static inline float opf_at_most_f32(float limit, float x) { return limit < x ? limit : x; }
#endif
static inline float opf_hidden_f32(float x) {
    __asm__("" : "+m"(x));
    return x;
}
static inline float opf_sign_f32(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == x ? 0.0f : x; }
static inline double opf_sign_f64(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x == x ? 0.0 : x; }
static inline int opf_isnan_f32(float x) { return x != x; }
static inline int opf_isnan_f64(double x) { return x != x; }
static inline int opf_isinf_f32(float x) { return __builtin_fabsf(x) == __builtin_inff(); }
static inline int opf_isinf_f64(double x) { return __builtin_fabs(x) == __builtin_inf(); }
static inline float opf_fmod_f32(float a, float b) { return __builtin_fmodf(a, b); }
static inline double opf_fmod_f64(double a, double b) { return __builtin_fmod(a, b); }
/* The remainder with the sign of the divisor, and the quotient that goes with it. */
static inline float opf_floormod_f32(float a, float b) {
    float r = __builtin_fmodf(a, b);
    return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}
static inline double opf_floormod_f64(double a, double b) {
    double r = __builtin_fmod(a, b);
    return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}
static inline float opf_floordiv_f32(float a, float b) { return opf_floor_f32(a / b); }
static inline double opf_floordiv_f64(double a, double b) { return opf_floor_f64(a / b); }

/* Integers, T with unsigned counterpart U. Sums and products wrap; x / 0 = x % 0 = 0, MIN / -1 = MIN; a shift by the width
 * or more gives 0; powers wrap, and negative exponents give the truncated quotient. */
#define OPF_ANY_INTEGER(s, T, U)                                                                                       \
    static inline T opf_add_##s(T a, T b) { return (T)((U)a + (U)b); }                                                 \
    static inline T opf_sub_##s(T a, T b) { return (T)((U)a - (U)b); }                                                 \
    static inline T opf_mul_##s(T a, T b) { return (T)(U)(1u * (U)a * (U)b); } /* 1u: narrow types must not become int */ \
    static inline T opf_neg_##s(T a) { return (T)(0u - (U)a); }                                                        \
    static inline T opf_min_##s(T a, T b) { return a < b ? a : b; }                                                    \
    static inline T opf_max_##s(T a, T b) { return a > b ? a : b; }                                                    \
    static inline T opf_shl_##s(T a, T n) {                                                                            \
        return (U)n >= 8 * sizeof(T) ? (T)0 : (T)((U)a << (U)n);                                                       \
    }                                                                                                                  \
    static inline T opf_shr_##s(T a, T n) { return (U)n >= 8 * sizeof(T) ? (T)0 : (T)(a >> n); }
#define OPF_SIGNED_INTEGER(s, T, U)                                                                                    \
    OPF_ANY_INTEGER(s, T, U)                                                                                           \
    static inline T opf_abs_##s(T a) { return a < 0 ? (T)(0u - (U)a) : a; }                                            \
    static inline T opf_sign_##s(T a) { return (T)((a > 0) - (a < 0)); }                                               \
    static inline T opf_div_##s(T a, T b) { return b == 0 ? (T)0 : b == -1 ? (T)(0u - (U)a) : (T)(a / b); }            \
    static inline T opf_fmod_##s(T a, T b) { return b == 0 || b == -1 ? (T)0 : (T)(a % b); }                           \
    static inline T opf_floormod_##s(T a, T b) {                                                                       \
        T r = opf_fmod_##s(a, b);                                                                                      \
        return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;                                                          \
    }                                                                                                                  \
    static inline T opf_floordiv_##s(T a, T b) {                                                                       \
        T r = opf_fmod_##s(a, b);                                                                                      \
        return (T)(opf_div_##s(a, b) - (r != 0 && (r < 0) != (b < 0)));                                                \
    }                                                                                                                  \
    static inline T opf_pow_##s(T a, T n) {                                                                            \
        if (n < 0) return a == 1 ? (T)1 : a == -1 ? (T)(n & 1 ? -1 : 1) : (T)0;                                        \
        T r = 1;                                                                                                       \
        for (; n; n = (T)(n >> 1), a = opf_mul_##s(a, a)) r = n & 1 ? opf_mul_##s(r, a) : r;                           \
        return r;                                                                                                      \
    }
#define OPF_UNSIGNED_INTEGER(s, T)                                                                                     \
    OPF_ANY_INTEGER(s, T, T)                                                                                           \
    static inline T opf_abs_##s(T a) { return a; }                                                                     \
    static inline T opf_sign_##s(T a) { return (T)(a != 0); }                                                          \
    static inline T opf_div_##s(T a, T b) { return b == 0 ? (T)0 : (T)(a / b); }                                       \
    static inline T opf_fmod_##s(T a, T b) { return b == 0 ? (T)0 : (T)(a % b); }                                      \
    static inline T opf_floormod_##s(T a, T b) { return opf_fmod_##s(a, b); }                                          \
    static inline T opf_floordiv_##s(T a, T b) { return opf_div_##s(a, b); }                                           \
    static inline T opf_pow_##s(T a, T n) {                                                                            \
        T r = 1;                                                                                                       \
        for (; n; n = (T)(n >> 1), a = opf_mul_##s(a, a)) r = n & 1 ? opf_mul_##s(r, a) : r;                           \
        return r;                                                                                                      \
    }
OPF_SIGNED_INTEGER(i8, int8_t, uint8_t)
OPF_SIGNED_INTEGER(i16, int16_t, uint16_t)
OPF_SIGNED_INTEGER(i32, int32_t, uint32_t)
OPF_SIGNED_INTEGER(i64, int64_t, uint64_t)
OPF_UNSIGNED_INTEGER(u8, uint8_t)
OPF_UNSIGNED_INTEGER(u16, uint16_t)
OPF_UNSIGNED_INTEGER(u32, uint32_t)
OPF_UNSIGNED_INTEGER(u64, uint64_t)

/* Floating to integer: toward zero; NaN gives 0; what int64 (uint64) cannot hold saturates there; narrower types take the
 * low bits of that int64, as conversions between integers do. */
static inline int64_t opf_f64_to_i64(double x) {
    return x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)x : x == x ? INT64_MIN : 0;
}
static inline uint64_t opf_f64_to_u64(double x) {
    return x >= 0x1p64 ? UINT64_MAX : x >= 0x1p63 ? (uint64_t)x : (uint64_t)opf_f64_to_i64(x);
}
static inline int64_t opf_f32_to_i64(float x) { return opf_f64_to_i64((double)x); }
static inline uint64_t opf_f32_to_u64(float x) { return opf_f64_to_u64((double)x); }
/* The fast way for values that fit, free of branches; the slow one only where some do not. */
static inline int32_t opf_f32_to_i32(float x) {
    return __builtin_fabsf(x) < 0x1p31f ? (int32_t)x : (int32_t)opf_f64_to_i64((double)x);
}
/* Of what is known to fit, or NaN; free of branches, which compilers make of a choice where another follows it. */
static inline int32_t opf_within_f32_to_i32(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits &= (uint32_t)-(int32_t)(x == x);
    __builtin_memcpy(&x, &bits, sizeof x);
    return (int32_t)x;
}
static inline uint32_t opf_f32_to_u32(float x) { return (uint32_t)opf_f32_to_i64(x); }
static inline int16_t opf_f32_to_i16(float x) { return (int16_t)opf_f32_to_i32(x); }
static inline uint16_t opf_f32_to_u16(float x) { return (uint16_t)opf_f32_to_i32(x); }
static inline int8_t opf_f32_to_i8(float x) { return (int8_t)opf_f32_to_i32(x); }
static inline uint8_t opf_f32_to_u8(float x) { return (uint8_t)opf_f32_to_i32(x); }
static inline int32_t opf_f64_to_i32(double x) { return (int32_t)opf_f64_to_i64(x); }
static inline uint32_t opf_f64_to_u32(double x) { return (uint32_t)opf_f64_to_i64(x); }
static inline int16_t opf_f64_to_i16(double x) { return (int16_t)opf_f64_to_i64(x); }
static inline uint16_t opf_f64_to_u16(double x) { return (uint16_t)opf_f64_to_i64(x); }
static inline int8_t opf_f64_to_i8(double x) { return (int8_t)opf_f64_to_i64(x); }
static inline uint8_t opf_f64_to_u8(double x) { return (uint8_t)opf_f64_to_i64(x); }

#endif
