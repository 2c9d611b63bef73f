/* Reductions of contiguous elements by a tree that depends on the count alone: four accumulators of one vector each, taken
 * in turns, then (0 + 1) + (2 + 3), then the lanes by halves. Alignment and threads change no bit.
 * Under OPF_EXACT sums and products are taken one element after the other instead, in order; opf_sum_on_f32 … go on from a value.
 * Counts may be 0: sums are 0, products 1, maxima -infinity, minima infinity (integers: the type's extremes). */
#ifndef OPF_REDUCE_H
#define OPF_REDUCE_H

#ifndef OPF_VECTOR_H
#include "opf_vector.h"
#endif
#ifndef OPF_SCALAR_H
#include "opf_scalar.h"
#endif

/* Rows of known length become one long piece of code otherwise, which runs out of registers. */
#define OPF_AS_LOOP _Pragma("GCC unroll 1")

/* `start`: neutral element; FIRST(i): the vector at i; PART(i, n): the n < OPF_LANES last elements, filled with `start`. Three of the
 * accumulators of a row that fills all begin with its elements: less work in short rows. With a3 no sum of zeros is -0. */
#define OPF_REDUCE_F32(step, lanes, start, FIRST, PART)                                                                \
    opf_vf a0 = opf_vsplat(start), a1 = a0, a2 = a0, a3 = a0;                                                          \
    int64_t i = 0;                                                                                                     \
    if (4 * OPF_LANES <= n) {                                                                                          \
        a0 = FIRST(0), a1 = FIRST(OPF_LANES), a2 = FIRST(2 * OPF_LANES), a3 = step(a3, FIRST(3 * OPF_LANES));          \
        i = 4 * OPF_LANES;                                                                                             \
    }                                                                                                                  \
    OPF_AS_LOOP                                                                                                        \
    for (; i + 4 * OPF_LANES <= n; i += 4 * OPF_LANES) {                                                               \
        a0 = step(a0, FIRST(i));                                                                                       \
        a1 = step(a1, FIRST(i + OPF_LANES));                                                                           \
        a2 = step(a2, FIRST(i + 2 * OPF_LANES));                                                                       \
        a3 = step(a3, FIRST(i + 3 * OPF_LANES));                                                                       \
    }                                                                                                                  \
    if (i + OPF_LANES <= n) a0 = step(a0, FIRST(i)), i += OPF_LANES;                                                   \
    if (i + OPF_LANES <= n) a1 = step(a1, FIRST(i)), i += OPF_LANES;                                                   \
    if (i + OPF_LANES <= n) a2 = step(a2, FIRST(i)), i += OPF_LANES;                                                   \
    if (i < n) a3 = step(a3, PART(i, (int)(n - i)));                                                                   \
    a0 = step(step(a0, a1), step(a2, a3));                                                                             \
    return lanes(a0);

static inline opf_vf opf_vload_part_or(const float *p, int n, float otherwise) {
    opf_vf v = opf_vload_part(p, n);
    opf_vi lane;
    for (int i = 0; i < OPF_LANES; i++) lane[i] = i;
    return opf_vselect(lane < n, v, opf_vsplat(otherwise));
}

#define OPF_FIRST(i) opf_vload(x + (i))
#ifdef OPF_EXACT
#define OPF_IN_ORDER(name, T, s, start, step)                                                                          \
    static inline T opf_##name##_on_##s(T r, const T *x, int64_t n) {                                                  \
        for (int64_t i = 0; i < n; i++) r = r step x[i];                                                               \
        return r;                                                                                                      \
    }                                                                                                                  \
    static inline T opf_##name##_##s(const T *x, int64_t n) { return opf_##name##_on_##s(start, x, n); }
OPF_IN_ORDER(sum, float, f32, 0.0f, +)
OPF_IN_ORDER(prod, float, f32, 1.0f, *)
OPF_IN_ORDER(sum, double, f64, 0.0, +)
OPF_IN_ORDER(prod, double, f64, 1.0, *)
static inline float opf_dot_on_f32(float r, const float *x, const float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) r = r + x[i] * y[i];
    return r;
}
static inline float opf_dot_f32(const float *x, const float *y, int64_t n) { return opf_dot_on_f32(0.0f, x, y, n); }
static inline float opf_sumsq_on_f32(float r, const float *x, int64_t n) { return opf_dot_on_f32(r, x, x, n); }
static inline float opf_sumsq_f32(const float *x, int64_t n) { return opf_dot_on_f32(0.0f, x, x, n); }
#else
static inline float opf_sum_f32(const float *x, int64_t n) {
#define OPF_PART(i, k) opf_vload_part(x + (i), k)
    OPF_REDUCE_F32(opf_vadd, opf_vsum_lanes, 0.0f, OPF_FIRST, OPF_PART)
#undef OPF_PART
}
/* The same sum of a row whose elements in front of the n < 4 * OPF_LANES last ones, x, were added to the four vectors in turns. */
static inline float opf_sum_behind_f32(const float *vectors, const float *x, int64_t n) {
    opf_vf a0 = opf_vload(vectors), a1 = opf_vload(vectors + OPF_LANES), a2 = opf_vload(vectors + 2 * OPF_LANES), a3 = opf_vload(vectors + 3 * OPF_LANES);
    int64_t i = 0;
    if (i + OPF_LANES <= n) a0 += opf_vload(x + i), i += OPF_LANES;
    if (i + OPF_LANES <= n) a1 += opf_vload(x + i), i += OPF_LANES;
    if (i + OPF_LANES <= n) a2 += opf_vload(x + i), i += OPF_LANES;
    if (i < n) a3 += opf_vload_part(x + i, (int)(n - i));
    return opf_vsum_lanes((a0 + a1) + (a2 + a3));
}
/* Not as a loop, of which gcc 12 would make a string instruction for 128 bytes. */
static inline void opf_clear_vectors(float *vectors) {
    opf_vf *v = (opf_vf *)(void *)vectors;
    v[0] = v[1] = v[2] = v[3] = (opf_vf){0};
}
static inline float opf_prod_f32(const float *x, int64_t n) {
#define OPF_PART(i, k) opf_vload_part_or(x + (i), k, 1.0f)
    OPF_REDUCE_F32(opf_vmul, opf_vmul_lanes, 1.0f, OPF_FIRST, OPF_PART)
#undef OPF_PART
}
#endif
#ifdef OPF_EXACT
static inline float opf_max_reduce_f32(const float *x, int64_t n) {
#define OPF_PART(i, k) opf_vload_part_or(x + (i), k, -__builtin_inff())
    OPF_REDUCE_F32(opf_vmax, opf_vmax_lanes, -__builtin_inff(), OPF_FIRST, OPF_PART)
#undef OPF_PART
}
static inline float opf_min_reduce_f32(const float *x, int64_t n) {
#define OPF_PART(i, k) opf_vload_part_or(x + (i), k, __builtin_inff())
    OPF_REDUCE_F32(opf_vmin, opf_vmin_lanes, __builtin_inff(), OPF_FIRST, OPF_PART)
#undef OPF_PART
}
#else
/* Extremes of numbers in one instruction a vector, NaNs looked for beside them, two vectors at a time. */
#define OPF_EXTREME_F32(step, lanes, start)                                                                            \
    opf_vf a0 = opf_vsplat(start), a1 = a0, a2 = a0, a3 = a0;                                                          \
    opf_vnans nans = opf_vunordered(a0, a0);                                                                           \
    int64_t i = 0;                                                                                                     \
    if (4 * OPF_LANES <= n) {                                                                                          \
        a0 = OPF_FIRST(0), a1 = OPF_FIRST(OPF_LANES), a2 = OPF_FIRST(2 * OPF_LANES), a3 = OPF_FIRST(3 * OPF_LANES);    \
        nans = opf_vunordered(a0, a1) | opf_vunordered(a2, a3);                                                        \
        i = 4 * OPF_LANES;                                                                                             \
    }                                                                                                                  \
    OPF_AS_LOOP                                                                                                        \
    for (; i + 4 * OPF_LANES <= n; i += 4 * OPF_LANES) {                                                               \
        opf_vf v0 = OPF_FIRST(i), v1 = OPF_FIRST(i + OPF_LANES), v2 = OPF_FIRST(i + 2 * OPF_LANES), v3 = OPF_FIRST(i + 3 * OPF_LANES); \
        a0 = step(a0, v0), a1 = step(a1, v1), a2 = step(a2, v2), a3 = step(a3, v3);                                    \
        nans |= opf_vunordered(v0, v1) | opf_vunordered(v2, v3);                                                       \
    }                                                                                                                  \
    for (; i < n; i += OPF_LANES) {                                                                                    \
        opf_vf v = i + OPF_LANES <= n ? OPF_FIRST(i) : opf_vload_part_or(x + i, (int)(n - i), start);                  \
        a0 = step(a0, v);                                                                                              \
        nans |= opf_vunordered(v, v);                                                                                  \
    }                                                                                                                  \
    return opf_vany_nan(nans) ? __builtin_nanf("") : lanes(step(step(a0, a1), step(a2, a3)));
static inline float opf_max_reduce_f32(const float *x, int64_t n) { OPF_EXTREME_F32(opf_vlarger, opf_vlargest_lane, -__builtin_inff()) }
static inline float opf_min_reduce_f32(const float *x, int64_t n) { OPF_EXTREME_F32(opf_vsmaller, opf_vsmallest_lane, __builtin_inff()) }
#endif
#undef OPF_FIRST
#ifndef OPF_EXACT
/* Sums of products, fused multiply-adds where the instruction set has them. */
static inline float opf_sumsq_f32(const float *x, int64_t n) {
    opf_vf a0 = {0}, a1 = a0, a2 = a0, a3 = a0, v;
    int64_t i = 0;
    OPF_AS_LOOP
    for (; i + 4 * OPF_LANES <= n; i += 4 * OPF_LANES) {
        v = opf_vload(x + i), a0 = opf_vfma(v, v, a0);
        v = opf_vload(x + i + OPF_LANES), a1 = opf_vfma(v, v, a1);
        v = opf_vload(x + i + 2 * OPF_LANES), a2 = opf_vfma(v, v, a2);
        v = opf_vload(x + i + 3 * OPF_LANES), a3 = opf_vfma(v, v, a3);
    }
    if (i + OPF_LANES <= n) v = opf_vload(x + i), a0 = opf_vfma(v, v, a0), i += OPF_LANES;
    if (i + OPF_LANES <= n) v = opf_vload(x + i), a1 = opf_vfma(v, v, a1), i += OPF_LANES;
    if (i + OPF_LANES <= n) v = opf_vload(x + i), a2 = opf_vfma(v, v, a2), i += OPF_LANES;
    if (i < n) v = opf_vload_part(x + i, (int)(n - i)), a3 = opf_vfma(v, v, a3);
    return opf_vsum_lanes((a0 + a1) + (a2 + a3));
}
static inline float opf_dot_f32(const float *x, const float *y, int64_t n) {
    opf_vf a0 = {0}, a1 = a0, a2 = a0, a3 = a0;
    int64_t i = 0;
    OPF_AS_LOOP
    for (; i + 4 * OPF_LANES <= n; i += 4 * OPF_LANES) {
        a0 = opf_vfma(opf_vload(x + i), opf_vload(y + i), a0);
        a1 = opf_vfma(opf_vload(x + i + OPF_LANES), opf_vload(y + i + OPF_LANES), a1);
        a2 = opf_vfma(opf_vload(x + i + 2 * OPF_LANES), opf_vload(y + i + 2 * OPF_LANES), a2);
        a3 = opf_vfma(opf_vload(x + i + 3 * OPF_LANES), opf_vload(y + i + 3 * OPF_LANES), a3);
    }
    if (i + OPF_LANES <= n) a0 = opf_vfma(opf_vload(x + i), opf_vload(y + i), a0), i += OPF_LANES;
    if (i + OPF_LANES <= n) a1 = opf_vfma(opf_vload(x + i), opf_vload(y + i), a1), i += OPF_LANES;
    if (i + OPF_LANES <= n) a2 = opf_vfma(opf_vload(x + i), opf_vload(y + i), a2), i += OPF_LANES;
    if (i < n) a3 = opf_vfma(opf_vload_part(x + i, (int)(n - i)), opf_vload_part(y + i, (int)(n - i)), a3);
    return opf_vsum_lanes((a0 + a1) + (a2 + a3));
}
#endif

/* Doubles: eight running values side by side, joined by halves. */
#define OPF_REDUCE_F64(name, start, step)                                                                              \
    static inline double name(const double *x, int64_t n) {                                                            \
        double a[8] = {start, start, start, start, start, start, start, start};                                        \
        int64_t i = 0;                                                                                                 \
        for (; i + 8 <= n; i += 8)                                                                                     \
            for (int k = 0; k < 8; k++) a[k] = step(a[k], x[i + k]);                                                   \
        for (int k = 0; i + k < n; k++) a[k] = step(a[k], x[i + k]);                                                   \
        for (int half = 4; half; half /= 2)                                                                            \
            for (int k = 0; k < half; k++) a[k] = step(a[k], a[k + half]);                                             \
        return a[0];                                                                                                   \
    }
static inline double opf_add_f64(double a, double b) { return a + b; }
static inline double opf_mul_f64(double a, double b) { return a * b; }
#ifndef OPF_EXACT
OPF_REDUCE_F64(opf_sum_f64, 0.0, opf_add_f64)
OPF_REDUCE_F64(opf_prod_f64, 1.0, opf_mul_f64)
#endif
OPF_REDUCE_F64(opf_max_reduce_f64, -__builtin_inf(), opf_max_f64)
OPF_REDUCE_F64(opf_min_reduce_f64, __builtin_inf(), opf_min_f64)

/* Integers: any order gives the same bits, so that the compiler vectorises plain loops. */
#define OPF_REDUCE_INTEGER(s, T, LOWEST, HIGHEST)                                                                      \
    static inline T opf_sum_##s(const T *x, int64_t n) {                                                               \
        T r = 0;                                                                                                       \
        for (int64_t i = 0; i < n; i++) r = opf_add_##s(r, x[i]);                                                      \
        return r;                                                                                                      \
    }                                                                                                                  \
    static inline T opf_prod_##s(const T *x, int64_t n) {                                                              \
        T r = 1;                                                                                                       \
        for (int64_t i = 0; i < n; i++) r = opf_mul_##s(r, x[i]);                                                      \
        return r;                                                                                                      \
    }                                                                                                                  \
    static inline T opf_max_reduce_##s(const T *x, int64_t n) {                                                        \
        T r = LOWEST;                                                                                                  \
        for (int64_t i = 0; i < n; i++) r = opf_max_##s(r, x[i]);                                                      \
        return r;                                                                                                      \
    }                                                                                                                  \
    static inline T opf_min_reduce_##s(const T *x, int64_t n) {                                                        \
        T r = HIGHEST;                                                                                                 \
        for (int64_t i = 0; i < n; i++) r = opf_min_##s(r, x[i]);                                                      \
        return r;                                                                                                      \
    }
OPF_REDUCE_INTEGER(i8, int8_t, INT8_MIN, INT8_MAX)
OPF_REDUCE_INTEGER(i16, int16_t, INT16_MIN, INT16_MAX)
OPF_REDUCE_INTEGER(i32, int32_t, INT32_MIN, INT32_MAX)
OPF_REDUCE_INTEGER(i64, int64_t, INT64_MIN, INT64_MAX)
OPF_REDUCE_INTEGER(u8, uint8_t, 0, UINT8_MAX)
OPF_REDUCE_INTEGER(u16, uint16_t, 0, UINT16_MAX)
OPF_REDUCE_INTEGER(u32, uint32_t, 0, UINT32_MAX)
OPF_REDUCE_INTEGER(u64, uint64_t, 0, UINT64_MAX)

#endif
