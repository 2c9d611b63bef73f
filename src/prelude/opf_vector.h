/* Vectors of OPF_LANES floats in the compilers' vector extension (gcc 12, clang 14). The names are those that generated
 * code uses; the few builtins stand here, under #if, so that kernels hold none. */
#ifndef OPF_VECTOR_H
#define OPF_VECTOR_H

#include <stdint.h>

#ifndef OPF_SCALAR_H
#include "opf_scalar.h"
#endif
#ifndef OPF_NARROW_H
#include "opf_narrow.h"
#endif

#ifndef OPF_LANES
#if defined(__AVX512F__)
#define OPF_LANES 16
#elif defined(__AVX__)
#define OPF_LANES 8
#else
#define OPF_LANES 4
#endif
#endif

typedef float opf_vf __attribute__((vector_size(4 * OPF_LANES), may_alias));
typedef int32_t opf_vi __attribute__((vector_size(4 * OPF_LANES), may_alias)); /* comparisons give -1 or 0 a lane */
typedef float opf_vf_any __attribute__((vector_size(4 * OPF_LANES), aligned(4), may_alias)); /* at any float's address */

static inline opf_vf opf_vload(const float *p) { return *(const opf_vf_any *)p; }
static inline void opf_vstore(float *p, opf_vf v) { *(opf_vf_any *)p = v; }
static inline opf_vf opf_vsplat(float x) { return x - (opf_vf){0}; }
static inline opf_vf opf_vselect(opf_vi mask, opf_vf then, opf_vf otherwise) {
    return (opf_vf)(((opf_vi)then & mask) | ((opf_vi)otherwise & ~mask));
}
#ifdef OPF_EXACT
/* A NaN in either operand comes through; +0 is above -0, so that the order of the operands is of no matter. */
static inline opf_vf opf_vmax(opf_vf a, opf_vf b) { return opf_vselect(a == b, (opf_vf)((opf_vi)a & (opf_vi)b), opf_vselect((a > b) | (a != a), a, b)); }
static inline opf_vf opf_vmin(opf_vf a, opf_vf b) { return opf_vselect(a == b, (opf_vf)((opf_vi)a | (opf_vi)b), opf_vselect((a < b) | (a != a), a, b)); }
#endif

/* The larger or smaller of numbers, b where either is a NaN: one instruction, which gcc has to be told. */
#if defined(__clang__)
#define OPF_VEXTREME(name, order) opf_vselect(a order b, a, b)
#elif OPF_LANES == 16 && defined(__AVX512F__)
#define OPF_VEXTREME(name, order) (opf_vf)__builtin_ia32_##name##ps512_mask(a, b, a, (unsigned short)-1, 4)
#elif OPF_LANES == 8 && defined(__AVX__)
#define OPF_VEXTREME(name, order) (opf_vf)__builtin_ia32_##name##ps256(a, b)
#elif OPF_LANES == 4 && defined(__SSE__)
#define OPF_VEXTREME(name, order) (opf_vf)__builtin_ia32_##name##ps(a, b)
#else
#define OPF_VEXTREME(name, order) opf_vselect(a order b, a, b)
#endif
static inline opf_vf opf_vlarger(opf_vf a, opf_vf b) { return OPF_VEXTREME(max, >); }
static inline opf_vf opf_vsmaller(opf_vf a, opf_vf b) { return OPF_VEXTREME(min, <); }
#undef OPF_VEXTREME

/* Where a NaN is in either: to be joined by |, and asked once. */
#if OPF_LANES == 16 && defined(__AVX512F__)
typedef unsigned short opf_vnans;
static inline opf_vnans opf_vunordered(opf_vf a, opf_vf b) { return (opf_vnans)__builtin_ia32_cmpps512_mask(a, b, 3, (unsigned short)-1, 4); }
static inline int opf_vany_nan(opf_vnans nans) { return nans != 0; }
#elif OPF_LANES == 8 && defined(__AVX__)
typedef opf_vi opf_vnans;
static inline opf_vnans opf_vunordered(opf_vf a, opf_vf b) { return (opf_vi)__builtin_ia32_cmpps256(a, b, 3); }
static inline int opf_vany_nan(opf_vnans nans) { return __builtin_ia32_movmskps256((opf_vf)nans) != 0; }
#else
typedef opf_vi opf_vnans;
static inline opf_vnans opf_vunordered(opf_vf a, opf_vf b) { return (a != a) | (b != b); }
static inline int opf_vany_nan(opf_vnans nans) {
    int any = 0;
    for (int i = 0; i < OPF_LANES; i++) any |= nans[i];
    return any != 0;
}
#endif

/* a * b + c, rounded once where the instruction set has it: the only place where products and sums contract, so that
 * both compilers give the same bits for one instruction set. Under OPF_EXACT they do not contract even here. */
static inline opf_vf opf_vfma(opf_vf a, opf_vf b, opf_vf c) {
#if defined(OPF_EXACT)
    return a * b + c;
#elif OPF_LANES == 16 && defined(__AVX512F__)
    return (opf_vf)__builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4); /* all lanes, default rounding */
#elif OPF_LANES == 8 && defined(__FMA__)
    return (opf_vf)__builtin_ia32_vfmaddps256(a, b, c);
#elif OPF_LANES == 4 && defined(__FMA__)
    return (opf_vf)__builtin_ia32_vfmaddps(a, b, c);
#elif defined(__aarch64__)
    opf_vf r;
    for (int i = 0; i < OPF_LANES; i++) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return r;
#else
    return a * b + c;
#endif
}

/* Elements of 16 bits as floats, exactly. */
typedef uint16_t opf_vh_any __attribute__((vector_size(2 * OPF_LANES), aligned(2), may_alias));
typedef short opf_vh __attribute__((vector_size(2 * OPF_LANES), may_alias));
static inline opf_vf opf_vload_f16(const uint16_t *p) {
#if OPF_LANES == 16 && defined(__AVX512F__)
    return (opf_vf)__builtin_ia32_vcvtph2ps512_mask((opf_vh) * (const opf_vh_any *)p, (opf_vf){0}, (unsigned short)-1, 4);
#elif OPF_LANES == 8 && defined(__F16C__)
    return (opf_vf)__builtin_ia32_vcvtph2ps256((opf_vh) * (const opf_vh_any *)p);
#else
    opf_vf v = {0};
    for (int i = 0; i < OPF_LANES; i++) v[i] = opf_f16_to_f32(p[i]);
    return v;
#endif
}
static inline opf_vf opf_vload_bf16(const uint16_t *p) {
    typedef uint32_t bits __attribute__((vector_size(4 * OPF_LANES), may_alias));
    return (opf_vf)(__builtin_convertvector(*(const opf_vh_any *)p, bits) << 16);
}

/* The first n lanes (0 <= n <= OPF_LANES) from memory, zeros behind; nothing else is read. */
static inline opf_vf opf_vload_part(const float *p, int n) {
#if OPF_LANES == 16 && defined(__AVX512F__)
    return (opf_vf)__builtin_ia32_loadups512_mask((const void *)p, (opf_vf){0}, (unsigned short)((1u << n) - 1));
#elif OPF_LANES == 8 && defined(__AVX__)
    return (opf_vf)__builtin_ia32_maskloadps256((const void *)p, (opf_vi){0, 1, 2, 3, 4, 5, 6, 7} < n);
#else
    opf_vf v = {0};
    for (int i = 0; i < OPF_LANES && i < n; i++) v[i] = p[i]; /* n says so too; compilers do not see it */
    return v;
#endif
}
/* The first n lanes to memory; nothing else is written. Stores by a mask of AVX2 are microcode on some processors, a dozen cycles each: halves, quarters, … in its place. */
static inline void opf_vstore_part(float *p, opf_vf v, int n) {
#if OPF_LANES == 16 && defined(__AVX512F__)
    __builtin_ia32_storeups512_mask((void *)p, v, (unsigned short)((1u << n) - 1));
#elif OPF_LANES == 8 && defined(__AVX__)
    typedef float four __attribute__((vector_size(16)));
    typedef float four_any __attribute__((vector_size(16), aligned(4), may_alias));
    typedef float two_any __attribute__((vector_size(8), aligned(4), may_alias));
    if (n >= OPF_LANES) {
        opf_vstore(p, v);
        return;
    }
    if (n < 1) return;
    four rest = __builtin_shufflevector(v, v, 0, 1, 2, 3);
    if (n & 4) {
        *(four_any *)p = rest;
        rest = __builtin_shufflevector(v, v, 4, 5, 6, 7);
        p += 4;
    }
    if (n & 2) {
        *(two_any *)p = __builtin_shufflevector(rest, rest, 0, 1);
        rest = __builtin_shufflevector(rest, rest, 2, 3, 2, 3);
        p += 2;
    }
    if (n & 1) *p = rest[0];
#else
    for (int i = 0; i < OPF_LANES && i < n; i++) p[i] = v[i];
#endif
}

/* Lanes of one vector added, or their extreme, in a fixed tree: halves, quarters, … */
#if OPF_LANES == 16
#define OPF_HALVES(v, op)                                                                                              \
    v = op(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));                      \
    v = op(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));                      \
    v = op(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
#elif OPF_LANES == 8
#define OPF_HALVES(v, op)                                                                                              \
    v = op(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));                                                   \
    v = op(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
#else
#define OPF_HALVES(v, op) v = op(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
#endif
static inline opf_vf opf_vadd(opf_vf a, opf_vf b) { return a + b; }
static inline opf_vf opf_vmul(opf_vf a, opf_vf b) { return a * b; }
static inline float opf_vsum_lanes(opf_vf v) {
    OPF_HALVES(v, opf_vadd)
    return v[0] + v[1];
}
static inline float opf_vmul_lanes(opf_vf v) {
    OPF_HALVES(v, opf_vmul)
    return v[0] * v[1];
}
#ifdef OPF_EXACT
static inline float opf_vmax_lanes(opf_vf v) {
    OPF_HALVES(v, opf_vmax)
    return opf_max_f32(v[0], v[1]);
}
static inline float opf_vmin_lanes(opf_vf v) {
    OPF_HALVES(v, opf_vmin)
    return opf_min_f32(v[0], v[1]);
}
#else
/* No NaN among them. */
static inline float opf_vlargest_lane(opf_vf v) {
    OPF_HALVES(v, opf_vlarger)
    return v[0] > v[1] ? v[0] : v[1];
}
static inline float opf_vsmallest_lane(opf_vf v) {
    OPF_HALVES(v, opf_vsmaller)
    return v[0] < v[1] ? v[0] : v[1];
}
#endif

/* Transpose of OPF_LANES rows in place: pairs of rows interleave by 1, 2 (within 128 bits), then 128-bit blocks move. */
#if OPF_LANES == 16
#define OPF_LANE_EVENS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define OPF_LANE_ODDS 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define OPF_LANE_ZIP_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define OPF_LANE_ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define OPF_LANE_NEXT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
#define OPF_LANE_EVEN_ODD 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31
#define OPF_LANE_PAIRS_LOW 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define OPF_LANE_PAIRS_HIGH 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define OPF_LANE_QUADS_LOW 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define OPF_LANE_QUADS_HIGH 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#elif OPF_LANES == 8
#define OPF_LANE_EVENS 0, 2, 8, 10, 4, 6, 12, 14
#define OPF_LANE_ODDS 1, 3, 9, 11, 5, 7, 13, 15
#define OPF_LANE_ZIP_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define OPF_LANE_ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#define OPF_LANE_NEXT 1, 2, 3, 4, 5, 6, 7, 8
#define OPF_LANE_EVEN_ODD 0, 2, 9, 11, 4, 6, 13, 15
#define OPF_LANE_PAIRS_LOW 0, 8, 1, 9, 4, 12, 5, 13
#define OPF_LANE_PAIRS_HIGH 2, 10, 3, 11, 6, 14, 7, 15
#define OPF_LANE_QUADS_LOW 0, 1, 8, 9, 4, 5, 12, 13
#define OPF_LANE_QUADS_HIGH 2, 3, 10, 11, 6, 7, 14, 15
#else
#define OPF_LANE_EVENS 0, 2, 4, 6
#define OPF_LANE_ODDS 1, 3, 5, 7
#define OPF_LANE_ZIP_LOW 0, 4, 1, 5
#define OPF_LANE_ZIP_HIGH 2, 6, 3, 7
#define OPF_LANE_NEXT 1, 2, 3, 4
#define OPF_LANE_EVEN_ODD 0, 2, 5, 7
#define OPF_LANE_PAIRS_LOW 0, 4, 1, 5
#define OPF_LANE_PAIRS_HIGH 2, 6, 3, 7
#define OPF_LANE_QUADS_LOW 0, 1, 4, 5
#define OPF_LANE_QUADS_HIGH 2, 3, 6, 7
#endif
/* What the three masks above pick, in the order of memory. With eight lanes they pick within halves, one instruction, and the quarters are put in order by another:
 * asked for at once, gcc moves each operand across the vector and joins the two, twice as many operations. */
#if OPF_LANES == 8
typedef double opf_vquarters __attribute__((vector_size(4 * OPF_LANES), may_alias));
static inline opf_vf opf_vpicked(opf_vf v) { return (opf_vf)__builtin_shufflevector((opf_vquarters)v, (opf_vquarters)v, 0, 2, 1, 3); }
#else
static inline opf_vf opf_vpicked(opf_vf v) { return v; }
#endif
/* Two vectors as one run of elements: those at even places, at odd ones, of the first at even and of the second at odd ones; and the reverse, the two taken in turns. */
static inline opf_vf opf_veven(opf_vf a, opf_vf b) { return opf_vpicked(__builtin_shufflevector(a, b, OPF_LANE_EVENS)); }
static inline opf_vf opf_vodd(opf_vf a, opf_vf b) { return opf_vpicked(__builtin_shufflevector(a, b, OPF_LANE_ODDS)); }
static inline opf_vf opf_veven_odd(opf_vf a, opf_vf b) { return opf_vpicked(__builtin_shufflevector(a, b, OPF_LANE_EVEN_ODD)); }
static inline opf_vf opf_vzip_low(opf_vf a, opf_vf b) { return __builtin_shufflevector(a, b, OPF_LANE_ZIP_LOW); }
static inline opf_vf opf_vzip_high(opf_vf a, opf_vf b) { return __builtin_shufflevector(a, b, OPF_LANE_ZIP_HIGH); }
/* The lanes moved down by one, x behind the last. */
static inline opf_vf opf_vnext(opf_vf v, float x) { return __builtin_shufflevector(v, opf_vsplat(x), OPF_LANE_NEXT); }
/* How many of the lanes `left` elements fill. */
static inline int opf_lanes_left(int64_t left) { return left < OPF_LANES ? (int)left : OPF_LANES; }

/* Four rows: afterwards row q holds, in each block of four lanes, column 4 * block + q of the four. */
static inline void opf_vtranspose_blocks(opf_vf *r) {
    opf_vf a = __builtin_shufflevector(r[0], r[1], OPF_LANE_PAIRS_LOW), b = __builtin_shufflevector(r[0], r[1], OPF_LANE_PAIRS_HIGH);
    opf_vf c = __builtin_shufflevector(r[2], r[3], OPF_LANE_PAIRS_LOW), d = __builtin_shufflevector(r[2], r[3], OPF_LANE_PAIRS_HIGH);
    r[0] = __builtin_shufflevector(a, c, OPF_LANE_QUADS_LOW), r[1] = __builtin_shufflevector(a, c, OPF_LANE_QUADS_HIGH);
    r[2] = __builtin_shufflevector(b, d, OPF_LANE_QUADS_LOW), r[3] = __builtin_shufflevector(b, d, OPF_LANE_QUADS_HIGH);
}
#if OPF_LANES == 16
/* Blocks of four lanes of four rows that are four apart, transposed as a 4 x 4 matrix of blocks. */
static inline void opf_vtranspose_far(opf_vf *r) {
    opf_vf a = __builtin_shufflevector(r[0], r[4], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    opf_vf b = __builtin_shufflevector(r[0], r[4], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    opf_vf c = __builtin_shufflevector(r[8], r[12], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    opf_vf d = __builtin_shufflevector(r[8], r[12], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    r[0] = __builtin_shufflevector(a, c, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    r[4] = __builtin_shufflevector(b, d, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    r[8] = __builtin_shufflevector(a, c, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    r[12] = __builtin_shufflevector(b, d, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}
#elif OPF_LANES == 8
static inline void opf_vtranspose_far(opf_vf *r) {
    opf_vf a = r[0];
    r[0] = __builtin_shufflevector(a, r[4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[4] = __builtin_shufflevector(a, r[4], 4, 5, 6, 7, 12, 13, 14, 15);
}
#endif
static inline void opf_vtranspose(opf_vf *r) {
    opf_vtranspose_blocks(r);
#if OPF_LANES >= 8
    opf_vtranspose_blocks(r + 4);
#endif
#if OPF_LANES == 16
    opf_vtranspose_blocks(r + 8);
    opf_vtranspose_blocks(r + 12);
#endif
#if OPF_LANES >= 8
    opf_vtranspose_far(r);
    opf_vtranspose_far(r + 1);
    opf_vtranspose_far(r + 2);
    opf_vtranspose_far(r + 3);
#endif
}

/* Packs `count` rows of `depth` steps, `stride` and `step` apart, into a panel [depth][width]; zeros behind the last row.
 * Writes up to OPF_LANES floats behind the panel. */
static inline void opf_pack_panel(float *restrict to, int width, const float *restrict from, int64_t stride, int64_t step, int64_t count, int64_t depth) {
    const float *end = to + depth * width;
    if (stride == 1 && count >= width) {
        for (; to < end; to += width, from += step)
            for (int i = 0; i < width; i++) to[i] = from[i];
        return;
    }
    if (step == 1)
        for (; end - to >= (int64_t)OPF_LANES * width; to += OPF_LANES * width, from += OPF_LANES)
            for (int i = 0; i < width; i += OPF_LANES) {
                opf_vf rows[OPF_LANES];
                for (int r = 0; r < OPF_LANES; r++) rows[r] = i + r < count ? opf_vload(from + (i + r) * stride) : (opf_vf){0};
                opf_vtranspose(rows);
                if (width - i >= OPF_LANES || i == 0)
                    for (int r = 0; r < OPF_LANES; r++) opf_vstore(to + r * width + i, rows[r]); /* the next store mends what is too long */
                else
                    for (int r = 0; r < OPF_LANES; r++) opf_vstore_part(to + r * width + i, rows[r], width - i);
            }
    for (; to < end; to += width, from += step)
        for (int i = 0; i < width; i++) to[i] = i < count ? from[i * stride] : 0.0f;
}

/* Zeros at to[begin] … to[end-1], and perhaps at any other place of to[0] … to[length-1]. */
static inline void opf_zeros_around(float *restrict to, int64_t begin, int64_t end, int64_t length) {
    if (length < OPF_LANES) opf_vstore_part(to, (opf_vf){0}, (int)length);
    else
        for (int64_t i = begin; i < end; i += OPF_LANES) opf_vstore(to + (i + OPF_LANES > length ? length - OPF_LANES : i), (opf_vf){0});
}

/* Every second element: n of them, fewer than a vector. */
static inline opf_vf opf_vload_even(const float *from, int n) {
    const int all = 2 * n - 1;
    const opf_vf first = opf_vload_part(from, all < OPF_LANES ? all : OPF_LANES);
    if (all < OPF_LANES) return opf_veven_odd(first, (opf_vf){0});
    return opf_veven_odd(first, opf_vload_part(from + OPF_LANES - 1, all - OPF_LANES + 1));
}

/* A line of a copy with borders: to[i] = from[(i - low) * step] for low <= i < high, zeros before and behind up to length. Where a vector fits, the last
 * one overlaps the one before: a store of some lanes alone takes several times as long. */
static inline void opf_copy_line(float *restrict to, int64_t low, int64_t high, int64_t length, const float *restrict from, int64_t step) {
    int64_t i = low;
    if (low > 0) opf_zeros_around(to, 0, low, length);
    if (high < length) opf_zeros_around(to, high, length, length);
    const int64_t n = high - low;
    if (n >= OPF_LANES && step <= 2)
        for (;; i += OPF_LANES, from += step * OPF_LANES) {
            if (i + OPF_LANES > high) from -= step * (i + OPF_LANES - high), i = high - OPF_LANES;
            if (step == 1) opf_vstore(to + i, opf_vload(from));
            else opf_vstore(to + i, opf_veven_odd(opf_vload(from), opf_vload(from + OPF_LANES - 1))); /* ends with the last element */
            if (i + OPF_LANES == high) return;
        }
    if (n > 0 && step == 1) opf_vstore_part(to + i, opf_vload_part(from, (int)n), (int)n);
    else if (n > 0 && step == 2) opf_vstore_part(to + i, opf_vload_even(from, (int)n), (int)n);
    else
        for (; i < high; i++, from += step) to[i] = *from;
}

/* even[i] = from[2 * i] and odd[i] = from[2 * i + 1], i below count. The last vector overlaps the one before. */
static inline void opf_take_apart(float *restrict even, float *restrict odd, const float *restrict from, int64_t count) {
    int64_t i = 0;
    if (count >= OPF_LANES)
        for (; i < count; i += OPF_LANES) {
            if (i + OPF_LANES > count) i = count - OPF_LANES;
            const opf_vf first = opf_vload(from + 2 * i), second = opf_vload(from + 2 * i + OPF_LANES);
            opf_vstore(even + i, opf_veven(first, second)), opf_vstore(odd + i, opf_vodd(first, second));
        }
    else
        for (; i < count; i++) even[i] = from[2 * i], odd[i] = from[2 * i + 1];
}

#endif
