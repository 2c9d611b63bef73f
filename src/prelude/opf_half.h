/* Lines of float16 made lines of floats, and back, by whole vectors: one instruction each where the instruction set has it, which gcc 12 makes no
 * use of in loops of its own. */
#ifndef OPF_HALF_H
#define OPF_HALF_H

#ifndef OPF_VECTOR_H
#include "opf_vector.h"
#endif

/* The first n lanes (0 <= n <= OPF_LANES) from memory, zeros behind; nothing else is read. */
static inline opf_vf opf_vload_f16_part(const uint16_t *p, int n) {
#if OPF_LANES == 16 && defined(__AVX512BW__) && defined(__AVX512VL__)
    opf_vh codes = (opf_vh)__builtin_ia32_loaddquhi256_mask((const void *)p, (opf_vh){0}, (unsigned short)((1u << n) - 1));
    return (opf_vf)__builtin_ia32_vcvtph2ps512_mask(codes, (opf_vf){0}, (unsigned short)-1, 4);
#else
    uint16_t codes[OPF_LANES] = {0};
    for (int i = 0; i < OPF_LANES && i < n; i++) codes[i] = p[i];
    return opf_vload_f16(codes);
#endif
}

static inline void opf_vstore_f16(uint16_t *p, opf_vf v) {
#if OPF_LANES == 16 && defined(__AVX512F__)
    *(opf_vh_any *)p = (opf_vh_any)__builtin_ia32_vcvtps2ph512_mask(v, 0, (opf_vh){0}, (unsigned short)-1);
#elif OPF_LANES == 8 && defined(__F16C__)
    *(opf_vh_any *)p = (opf_vh_any)__builtin_ia32_vcvtps2ph256(v, 0);
#else
    for (int i = 0; i < OPF_LANES; i++) p[i] = opf_f32_to_f16(v[i]);
#endif
}
/* The first n lanes to memory; nothing else is written. */
static inline void opf_vstore_f16_part(uint16_t *p, opf_vf v, int n) {
#if OPF_LANES == 16 && defined(__AVX512BW__) && defined(__AVX512VL__)
    opf_vh codes = (opf_vh)__builtin_ia32_vcvtps2ph512_mask(v, 0, (opf_vh){0}, (unsigned short)-1);
    __builtin_ia32_storedquhi256_mask((void *)p, codes, (unsigned short)((1u << n) - 1));
#else
    uint16_t codes[OPF_LANES];
    opf_vstore_f16(codes, v);
    for (int i = 0; i < OPF_LANES && i < n; i++) p[i] = codes[i];
#endif
}

/* n elements from one to the other; nothing else is read or written. */
static inline void opf_load_line_f16(float *restrict to, const uint16_t *restrict from, int64_t n) {
    for (; n >= OPF_LANES; n -= OPF_LANES, to += OPF_LANES, from += OPF_LANES) opf_vstore(to, opf_vload_f16(from));
    if (n > 0) opf_vstore_part(to, opf_vload_f16_part(from, (int)n), (int)n);
}
static inline void opf_store_line_f16(uint16_t *restrict to, const float *restrict from, int64_t n) {
    for (; n >= OPF_LANES; n -= OPF_LANES, to += OPF_LANES, from += OPF_LANES) opf_vstore_f16(to, opf_vload(from));
    if (n > 0) opf_vstore_f16_part(to, opf_vload_part(from, (int)n), (int)n);
}
/* n elements rounded where they stand, as opf_round_f16 rounds them. */
static inline void opf_round_line_f16(float *x, int64_t n) {
#if OPF_LANES == 16 && defined(__AVX512F__) || OPF_LANES == 8 && defined(__F16C__)
    for (; n >= OPF_LANES; n -= OPF_LANES, x += OPF_LANES) {
        uint16_t codes[OPF_LANES];
        opf_vstore_f16(codes, opf_vload(x));
        opf_vstore(x, opf_vload_f16(codes));
    }
#endif
    for (int64_t i = 0; i < n; i++) x[i] = opf_round_f16(x[i]);
}

/* As opf_copy_line: elements low … high-1 of a line of a window, `step` apart in the operand; zeros in front of them and behind. */
static inline void opf_copy_line_f16(float *restrict to, int64_t low, int64_t high, int64_t length, const uint16_t *restrict from, int64_t step) {
    if (low > 0) opf_zeros_around(to, 0, low, length);
    if (high < length) opf_zeros_around(to, high, length, length);
    int64_t i = low;
    if (step == 1) opf_load_line_f16(to + low, from, high - low);
    else if (step == 2 && high - low >= OPF_LANES)
        for (;; i += OPF_LANES, from += 2 * OPF_LANES) {
            if (i + OPF_LANES > high) from -= 2 * (i + OPF_LANES - high), i = high - OPF_LANES;
            const opf_vf first = opf_vload_f16(from), second = opf_vload_f16(from + OPF_LANES - 1); /* ends with the last element */
            opf_vstore(to + i, opf_veven_odd(first, second));
            if (i + OPF_LANES == high) return;
        }
    else
        for (; i < high; i++, from += step) to[i] = opf_f16_to_f32(*from);
}

#endif
