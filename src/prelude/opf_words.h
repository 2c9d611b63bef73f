/* Words of four bytes or two int16 in a vector's lanes, for sums of integer products: four (two) products are added to a lane at once,
 * exactly, modulo 2^32. */
#ifndef OPF_WORDS_H
#define OPF_WORDS_H

#ifndef OPF_VECTOR_H
#include "opf_vector.h"
#endif

typedef int32_t opf_vi_any __attribute__((vector_size(4 * OPF_LANES), aligned(4), may_alias)); /* at any word's address */
typedef uint32_t opf_vu __attribute__((vector_size(4 * OPF_LANES), may_alias));
typedef int32_t opf_word __attribute__((aligned(1), may_alias)); /* at any address */

static inline opf_vi opf_viload(const int32_t *p) { return *(const opf_vi_any *)p; }
static inline void opf_vistore(int32_t *p, opf_vi v) { *(opf_vi_any *)p = v; }
static inline opf_vi opf_visplat(int32_t x) { return x - (opf_vi){0}; }

static inline int32_t opf_quad(uint8_t a, uint8_t b, uint8_t c, uint8_t d) { return (int32_t)((uint32_t)a | (uint32_t)b << 8 | (uint32_t)c << 16 | (uint32_t)d << 24); }
static inline int32_t opf_pair(int16_t a, int16_t b) { return (int32_t)((uint32_t)(uint16_t)a | (uint32_t)(uint16_t)b << 16); }

/* sum + the two products of int16 in each lane. */
#if OPF_LANES == 16 && defined(__AVX512BW__)
typedef short opf_vs __attribute__((vector_size(64), may_alias));
#elif OPF_LANES == 8 && defined(__AVX2__)
typedef short opf_vs __attribute__((vector_size(32), may_alias));
#elif OPF_LANES == 4 && defined(__SSE2__)
typedef short opf_vs __attribute__((vector_size(16), may_alias));
#endif
static inline opf_vi opf_vpairs(opf_vi a, opf_vi b, opf_vi sum) {
#if OPF_LANES == 16 && defined(__AVX512VNNI__) && defined(__clang__)
    return (opf_vi)__builtin_ia32_vpdpwssd512(sum, a, b);
#elif OPF_LANES == 16 && defined(__AVX512VNNI__)
    return (opf_vi)__builtin_ia32_vpdpwssd_v16si(sum, a, b);
#elif OPF_LANES == 16 && defined(__AVX512BW__) && defined(__clang__)
    return (opf_vi)((opf_vu)sum + (opf_vu)__builtin_ia32_pmaddwd512((opf_vs)a, (opf_vs)b));
#elif OPF_LANES == 16 && defined(__AVX512BW__)
    return (opf_vi)((opf_vu)sum + (opf_vu)__builtin_ia32_pmaddwd512_mask((opf_vs)a, (opf_vs)b, (opf_vi){0}, (unsigned short)-1));
#elif OPF_LANES == 8 && defined(__AVX2__)
    return (opf_vi)((opf_vu)sum + (opf_vu)__builtin_ia32_pmaddwd256((opf_vs)a, (opf_vs)b));
#elif OPF_LANES == 4 && defined(__SSE2__)
    return (opf_vi)((opf_vu)sum + (opf_vu)__builtin_ia32_pmaddwd128((opf_vs)a, (opf_vs)b));
#else
    opf_vu low = (opf_vu)((opf_vi)((opf_vu)a << 16) >> 16) * (opf_vu)((opf_vi)((opf_vu)b << 16) >> 16);
    return (opf_vi)((opf_vu)sum + low + (opf_vu)(a >> 16) * (opf_vu)(b >> 16));
#endif
}

/* sum + the four products of u's bytes without sign and s's bytes with sign, in each lane. */
static inline opf_vi opf_vquads(opf_vi u, opf_vi s, opf_vi sum) {
#if OPF_LANES == 16 && defined(__AVX512VNNI__) && defined(__clang__)
    return (opf_vi)__builtin_ia32_vpdpbusd512(sum, u, s);
#elif OPF_LANES == 16 && defined(__AVX512VNNI__)
    return (opf_vi)__builtin_ia32_vpdpbusd_v16si(sum, u, s);
#elif OPF_LANES == 8 && defined(__AVX512VNNI__) && defined(__AVX512VL__) && defined(__clang__)
    return (opf_vi)__builtin_ia32_vpdpbusd256(sum, u, s);
#elif OPF_LANES == 8 && defined(__AVX512VNNI__) && defined(__AVX512VL__)
    return (opf_vi)__builtin_ia32_vpdpbusd_v8si(sum, u, s);
#elif OPF_LANES == 16 && defined(__AVX512BW__) || OPF_LANES == 8 && defined(__AVX2__) || OPF_LANES == 4 && defined(__SSE2__)
    const opf_vi even = (opf_vi)((opf_vs)s << 8 >> 8), odd = (opf_vi)((opf_vs)s >> 8);
    return opf_vpairs((opf_vi)((opf_vu)u & 0xff00ffu), even, opf_vpairs((opf_vi)((opf_vu)u >> 8 & 0xff00ffu), odd, sum));
#else
    opf_vu total = (opf_vu)sum;
    for (int k = 0; k < 4; k++) total += ((opf_vu)u >> 8 * k & 255) * (opf_vu)((opf_vi)((opf_vu)s << (24 - 8 * k)) >> 24);
    return (opf_vi)total;
#endif
}

/* sum + the four products of x's and s's bytes with sign, in each lane; size: opf_vsizes(x). No byte of s may be -128: two products are then
 * within 2 * 128 * 127 < 2^15, where vpmaddubsw does not saturate. For processors that take bytes apart for opf_vquads, which is dearer. */
#if OPF_LANES == 8 && defined(__AVX2__) && !(defined(__AVX512VNNI__) && defined(__AVX512VL__))
#define OPF_SIGNED_QUADS 1
typedef char opf_vb __attribute__((vector_size(32), may_alias));
static inline opf_vi opf_vsizes(opf_vi x) { return (opf_vi)__builtin_ia32_psignb256((opf_vb)x, (opf_vb)x); }
static inline opf_vi opf_vquads_signed(opf_vi size, opf_vi x, opf_vi s, opf_vi sum) {
    return opf_vpairs((opf_vi)__builtin_ia32_pmaddubsw256((opf_vb)size, __builtin_ia32_psignb256((opf_vb)s, (opf_vb)x)), opf_visplat(0x10001), sum);
}
#else
#define OPF_SIGNED_QUADS 0
#endif

/* Packs `count` rows of `depth` words, `stride` bytes apart, into a panel [depth][width]; zeros behind the last row. Writes up to
 * OPF_LANES words behind the panel. */
static inline void opf_pack_words(int32_t *restrict to, int width, const void *restrict from, int64_t stride, int64_t count, int64_t depth) {
    const unsigned char *row = from;
    const int32_t *end = to + depth * width;
    for (; end - to >= (int64_t)OPF_LANES * width; to += OPF_LANES * width, row += 4 * OPF_LANES)
        for (int i = 0; i < width; i += OPF_LANES) {
            opf_vf rows[OPF_LANES];
            for (int r = 0; r < OPF_LANES; r++) {
                rows[r] = (opf_vf){0};
                if (i + r < count) __builtin_memcpy(&rows[r], row + (i + r) * stride, sizeof rows[r]);
            }
            opf_vtranspose(rows);
            for (int r = 0; r < OPF_LANES; r++) {
                if (width - i >= OPF_LANES || i == 0) opf_vistore(to + r * width + i, (opf_vi)rows[r]); /* the next store mends what is too long */
                else
                    for (int k = i; k < width; k++) to[r * width + k] = ((opf_vi)rows[r])[k - i];
            }
        }
    for (; to < end; to += width, row += 4)
        for (int i = 0; i < width; i++) to[i] = i < count ? *(const opf_word *)(const void *)(row + i * stride) : 0;
}

#endif
