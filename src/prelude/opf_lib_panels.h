/* Products of a few rows with a panel of columns [depth][OPF_LIB_PANEL], which recurrent layers ask for again in each step: of floats, and of bytes, whose
 * panels are [depth / 4][OPF_LIB_PANEL][4], words of four along the depth. */
#ifndef OPF_LIB_PANELS_H
#define OPF_LIB_PANELS_H
#ifndef OPF_KERNEL_H
#include "opf_kernel.h"
#endif
#ifndef OPF_VECTOR_H
#include "opf_vector.h"
#endif
#ifndef OPF_WORDS_H
#include "opf_words.h"
#endif

enum {
    OPF_LIB_PANEL = 64, /* columns of a panel */
    OPF_LIB_TILE = OPF_LANES == 16 ? 8 : 6, /* rows that are multiplied together by a panel, at most */
    OPF_LIB_QUADS_TILE = 4,                 /* the same of quantised rows */
    OPF_LIB_PIECE = OPF_LANES == 16 ? 0 : 96 /* depth steps of a panel that stay in the first cache; 0: panels are not cut */
};

/* ---- bytes ---- */

static inline int64_t opf_lib_words(int64_t depth) { return (depth + 3) / 4; }

/* sums_i[0 … PANEL) = row i of bytes · panel for `count` rows, `vectors` of the panel's vectors at a time. flip: 0x80808080 where weights have no sign. */
#define OPF_LIB_QUADS_OF(count, vectors)                                                                               \
    static inline void opf_lib_quads_##count(int32_t *sums, const unsigned char *x, const unsigned char *panel, int64_t words, int32_t flip) { \
        const int32_t *weights = (const int32_t *)(const void *)panel;                                                 \
        for (int64_t at = 0; at < OPF_LIB_PANEL; at += vectors * OPF_LANES) {                                          \
            opf_vi s[count][vectors] = {{{0}}};                                                                        \
            for (int64_t k = 0; k < words; k++)                                                                        \
                for (int v = 0; v < vectors; v++) {                                                                    \
                    const opf_vi w = opf_viload(weights + k * OPF_LIB_PANEL + at + v * OPF_LANES) ^ opf_visplat(flip);  \
                    for (int i = 0; i < count; i++) s[i][v] = opf_vquads(opf_visplat(((const opf_word *)(const void *)(x + i * 4 * words))[k]), w, s[i][v]); \
                }                                                                                                      \
            for (int i = 0; i < count; i++)                                                                            \
                for (int v = 0; v < vectors; v++) opf_vistore(sums + i * OPF_LIB_PANEL + at + v * OPF_LANES, s[i][v]);  \
        }                                                                                                              \
    }
#if OPF_LANES == 16
OPF_LIB_QUADS_OF(1, 4) OPF_LIB_QUADS_OF(2, 4) OPF_LIB_QUADS_OF(3, 4) OPF_LIB_QUADS_OF(4, 4)
#else
OPF_LIB_QUADS_OF(1, 4) OPF_LIB_QUADS_OF(2, 2) OPF_LIB_QUADS_OF(3, 2) OPF_LIB_QUADS_OF(4, 2)
#endif
static inline void opf_lib_quads_tile(int count, int32_t *sums, const unsigned char *x, const unsigned char *panel, int64_t words, int32_t flip) {
    switch (count) {
    case 1: opf_lib_quads_1(sums, x, panel, words, flip); break;
    case 2: opf_lib_quads_2(sums, x, panel, words, flip); break;
    case 3: opf_lib_quads_3(sums, x, panel, words, flip); break;
    default: opf_lib_quads_4(sums, x, panel, words, flip); break;
    }
}

#if OPF_SIGNED_QUADS
/* The same of rows' bytes with sign, and weights with sign that are none of them -128. */
#define OPF_LIB_SIGNED_QUADS_OF(count, vectors)                                                                        \
    OPF_APART void opf_lib_signed_quads_##count(int32_t *sums, const unsigned char *x, const unsigned char *panel, int64_t words) { \
        const int32_t *weights = (const int32_t *)(const void *)panel;                                                 \
        for (int64_t at = 0; at < OPF_LIB_PANEL; at += vectors * OPF_LANES) {                                          \
            opf_vi s[count][vectors] = {{{0}}};                                                                        \
            for (int64_t k = 0; k < words; k++)                                                                        \
                for (int i = 0; i < count; i++) {                                                                      \
                    const opf_vi row = opf_visplat(((const opf_word *)(const void *)(x + i * 4 * words))[k]), size = opf_vsizes(row); \
                    for (int v = 0; v < vectors; v++) s[i][v] = opf_vquads_signed(size, row, opf_viload(weights + k * OPF_LIB_PANEL + at + v * OPF_LANES), s[i][v]); \
                }                                                                                                      \
            for (int i = 0; i < count; i++)                                                                            \
                for (int v = 0; v < vectors; v++) opf_vistore(sums + i * OPF_LIB_PANEL + at + v * OPF_LANES, s[i][v]);  \
        }                                                                                                              \
    }
OPF_LIB_SIGNED_QUADS_OF(1, 8) OPF_LIB_SIGNED_QUADS_OF(2, 4) OPF_LIB_SIGNED_QUADS_OF(3, 2) OPF_LIB_SIGNED_QUADS_OF(4, 2)
static inline void opf_lib_signed_quads_tile(int count, int32_t *sums, const unsigned char *x, const unsigned char *panel, int64_t words) {
    switch (count) {
    case 1: opf_lib_signed_quads_1(sums, x, panel, words); break;
    case 2: opf_lib_signed_quads_2(sums, x, panel, words); break;
    case 3: opf_lib_signed_quads_3(sums, x, panel, words); break;
    default: opf_lib_signed_quads_4(sums, x, panel, words); break;
    }
}

#endif

static inline int opf_lib_has_lowest(const unsigned char *bytes, int64_t n) { /* -128 */
    unsigned char found = 0;
    for (int64_t i = 0; i < n; i++) found |= bytes[i] == 128;
    return found;
}

/* ---- floats ---- */

/* out_i[at … at + vectors) += x_i[0 … depth) · those columns of the panel, for `count` rows; both are known numbers. Vectors of the panel are
 * read first and rows spread one by one: the sums and those fill the registers, more would be spilled. */
#define OPF_LIB_STRIP_OF(count, vectors, at)                                                                           \
    {                                                                                                                  \
        opf_vf sums[count][vectors];                                                                                   \
        for (int i = 0; i < count; i++)                                                                                \
            for (int v = 0; v < vectors; v++) sums[i][v] = opf_vload(out + i * pitch + at + v * OPF_LANES);             \
        for (int64_t k = 0; k < depth; k++) {                                                                          \
            const float *line = panel + k * OPF_LIB_PANEL + at;                                                        \
            opf_vf w[vectors];                                                                                         \
            for (int v = 0; v < vectors; v++) w[v] = opf_vload(line + v * OPF_LANES);                                   \
            if (OPF_LIB_PIECE > 0 && count > 1) __builtin_prefetch(line + OPF_LIB_PIECE * OPF_LIB_PANEL); /* the next piece */ \
            for (int i = 0; i < count; i++)                                                                            \
                for (int v = 0; v < vectors; v++) sums[i][v] = opf_vfma(opf_vsplat(x[i][from + k]), w[v], sums[i][v]);  \
        }                                                                                                              \
        for (int i = 0; i < count; i++)                                                                                \
            for (int v = 0; v < vectors; v++) opf_vstore(out + i * pitch + at + v * OPF_LANES, sums[i][v]);             \
    }

/* out_i[0 … PANEL) += x_i[from … from + depth) · panel for `count` rows, `vectors` of the panel's vectors at a time and then those that are left.
 * Each sum is one chain over the depth: how many rows stand side by side, and where the depth is cut, changes no bit. */
#define OPF_LIB_TILE_OF(count, vectors)                                                                                \
    OPF_APART void opf_lib_tile_##count(float *out, int64_t pitch, const float *const *x, int64_t from, const float *panel, int64_t depth) { \
        enum { ALL = OPF_LIB_PANEL / OPF_LANES, LEFT = ALL % (vectors), WHOLE = (ALL - LEFT) * OPF_LANES };             \
        for (int64_t at = 0; at < WHOLE; at += (vectors) * OPF_LANES) OPF_LIB_STRIP_OF(count, vectors, at)             \
        if (LEFT > 0) OPF_LIB_STRIP_OF(count, (LEFT > 0 ? LEFT : 1), WHOLE)                                            \
    }
#if OPF_LANES == 16
OPF_LIB_TILE_OF(1, 4) OPF_LIB_TILE_OF(2, 4) OPF_LIB_TILE_OF(3, 4) OPF_LIB_TILE_OF(4, 4) OPF_LIB_TILE_OF(5, 4) OPF_LIB_TILE_OF(6, 4)
OPF_LIB_TILE_OF(7, 2) OPF_LIB_TILE_OF(8, 2)
#else /* 16 registers */
OPF_LIB_TILE_OF(1, 8) OPF_LIB_TILE_OF(2, 4) OPF_LIB_TILE_OF(3, 3) OPF_LIB_TILE_OF(4, 3) OPF_LIB_TILE_OF(5, 2) OPF_LIB_TILE_OF(6, 2)
#endif

/* out_i[0 … PANEL) += x_i[from … from + depth) · panel for n rows, in tiles of about the same height. */
static inline void opf_lib_add_panel(float *out, int64_t pitch, const float *const *x, int64_t n, int64_t from, const float *panel, int64_t depth) {
    int64_t tiles = (n + OPF_LIB_TILE - 1) / OPF_LIB_TILE;
    for (int64_t tile = 0; tile < tiles; tile++) {
        int64_t i = tile * n / tiles;
        float *to = out + i * pitch;
        switch ((tile + 1) * n / tiles - i) {
        case 1: opf_lib_tile_1(to, pitch, x + i, from, panel, depth); break;
        case 2: opf_lib_tile_2(to, pitch, x + i, from, panel, depth); break;
        case 3: opf_lib_tile_3(to, pitch, x + i, from, panel, depth); break;
        case 4: opf_lib_tile_4(to, pitch, x + i, from, panel, depth); break;
        case 5: opf_lib_tile_5(to, pitch, x + i, from, panel, depth); break;
        case 6: opf_lib_tile_6(to, pitch, x + i, from, panel, depth); break;
#if OPF_LANES == 16
        case 7: opf_lib_tile_7(to, pitch, x + i, from, panel, depth); break;
        default: opf_lib_tile_8(to, pitch, x + i, from, panel, depth); break;
#endif
        }
    }
}

/* out_i[0 … columns) += x_i · panels for n rows. columns: whole panels. A panel is multiplied in pieces of its depth that stay in the first cache
 * while all rows pass; one row passes but once. */
static inline void opf_lib_add_products(float *out, int64_t pitch, const float *const *x, int64_t n, const float *panels, int64_t columns, int64_t depth) {
    const int64_t piece = n > 1 && OPF_LIB_PIECE > 0 && OPF_LIB_PIECE < depth ? OPF_LIB_PIECE : depth;
    for (int64_t column = 0; column < columns; column += OPF_LIB_PANEL, panels += depth * OPF_LIB_PANEL)
        for (int64_t from = 0; from < depth; from += piece)
            opf_lib_add_panel(out + column, pitch, x, n, from, panels + from * OPF_LIB_PANEL, depth - from < piece ? depth - from : piece);
}

#endif
