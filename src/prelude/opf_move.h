/* Moving elements: transposes of small blocks, stores past the caches. */
#ifndef OPF_MOVE_H
#define OPF_MOVE_H

#include <stddef.h>

#ifndef OPF_VECTOR_H
#include "opf_vector.h"
#endif

/* to[r][c] = from[c][r] for r < rows, c < columns; the pitches are the distances of lines. */
static inline void opf_transpose_any_f32(float *restrict to, int64_t to_pitch, const float *restrict from, int64_t from_pitch, int64_t rows,
                                         int64_t columns) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) to[r * to_pitch + c] = from[c * from_pitch + r];
}

/* A vector to an address that it is aligned to, without fetching the line there: for what is not read again soon. */
static inline void opf_vstore_past(char *p, opf_vf v) {
#if defined(__clang__)
    __builtin_nontemporal_store(v, (opf_vf *)(void *)p);
#elif OPF_LANES == 16 && defined(__AVX512F__)
    __builtin_ia32_movntps512((float *)(void *)p, v);
#elif OPF_LANES == 8 && defined(__AVX__)
    __builtin_ia32_movntps256((float *)(void *)p, v);
#elif OPF_LANES == 4 && defined(__SSE__)
    __builtin_ia32_movntps((float *)(void *)p, v);
#else
    *(opf_vf *)(void *)p = v;
#endif
}

/* Blocks of one vector by one vector through registers; what is left over element by element. `past`: stores past the caches, to addresses
 * that vectors are aligned to. */
static inline void opf_transpose_vectors_f32(float *restrict to, int64_t to_pitch, const float *restrict from, int64_t from_pitch, int64_t rows,
                                             int64_t columns, int past) {
    int64_t r = 0;
    for (; r + OPF_LANES <= rows; r += OPF_LANES) {
        int64_t c = 0;
        for (; c + OPF_LANES <= columns; c += OPF_LANES) {
            opf_vf block[OPF_LANES];
            for (int i = 0; i < OPF_LANES; i++) block[i] = opf_vload(from + (c + i) * from_pitch + r);
            opf_vtranspose(block);
            for (int i = 0; i < OPF_LANES; i++) {
                if (past) opf_vstore_past((char *)(to + (r + i) * to_pitch + c), block[i]);
                else opf_vstore(to + (r + i) * to_pitch + c, block[i]);
            }
        }
        opf_transpose_any_f32(to + r * to_pitch + c, to_pitch, from + c * from_pitch + r, from_pitch, OPF_LANES, columns - c);
    }
    opf_transpose_any_f32(to + r * to_pitch, to_pitch, from + r, from_pitch, rows - r, columns);
}
static inline void opf_transpose_f32(float *restrict to, int64_t to_pitch, const float *restrict from, int64_t from_pitch, int64_t rows,
                                     int64_t columns) {
    opf_transpose_vectors_f32(to, to_pitch, from, from_pitch, rows, columns, 0);
}
/* The same past the caches, where all lines begin at a vector's address. */
static inline void opf_transpose_past_f32(float *restrict to, int64_t to_pitch, const float *restrict from, int64_t from_pitch, int64_t rows,
                                          int64_t columns) {
    if ((uintptr_t)to % sizeof(opf_vf) == 0 && to_pitch % OPF_LANES == 0) opf_transpose_vectors_f32(to, to_pitch, from, from_pitch, rows, columns, 1);
    else opf_transpose_vectors_f32(to, to_pitch, from, from_pitch, rows, columns, 0);
}

/* Asks for what lies behind lines of this length, as much again of each, into the second cache: pieces first … end-1, line by line. Addresses behind an
 * array's end are asked for in vain. */
enum { OPF_PIECE = 16 };
static inline void opf_ask_behind(const float *lines, int64_t pitch, int64_t length, int64_t first, int64_t end) {
    const int64_t each = (length + OPF_PIECE - 1) / OPF_PIECE;
    for (int64_t i = first; i < end; i++)
        __builtin_prefetch((const void *)((uintptr_t)lines + (uintptr_t)(i / each * pitch + length + i % each * OPF_PIECE) * sizeof(float)), 0, 2);
}

/* The same through an array of at most 64 by 64: each line of the operand is read to its end before the next ones, where 64 of them would not stay in
 * the first cache, and each line of the result is written at once. Past the caches what the next block reads is asked for meanwhile,
 * a little at a time: the memory is read all along, and no more is asked for at once than can be on its way. */
static inline void opf_transpose_gather_f32(float *restrict to, int64_t to_pitch, const float *restrict from, int64_t from_pitch, int64_t rows,
                                            int64_t columns, int past) {
    enum { SIDE = 64, PITCH = SIDE + OPF_LANES }; /* lines of the array that lie in different sets */
    _Alignas(64) float block[SIDE * PITCH];
    const int aligned = past && (uintptr_t)to % sizeof(opf_vf) == 0 && to_pitch % OPF_LANES == 0;
    const int64_t pieces = past ? (rows + OPF_PIECE - 1) / OPF_PIECE * columns : 0, early = pieces / 4;
    for (int64_t c = 0; c < columns; c += OPF_LANES) {
        const int64_t lines = columns - c < OPF_LANES ? columns - c : OPF_LANES;
        opf_transpose_vectors_f32(block + c, PITCH, from + c * from_pitch, from_pitch, rows, lines, 0);
        opf_ask_behind(from, from_pitch, rows, early * c / columns, early * (c + lines) / columns);
    }
    for (int64_t r = 0; r < rows; r++) {
        int64_t c = 0;
        for (; c + OPF_LANES <= columns; c += OPF_LANES) {
            const opf_vf v = opf_vload(block + r * PITCH + c);
            if (aligned) opf_vstore_past((char *)(to + r * to_pitch + c), v);
            else opf_vstore(to + r * to_pitch + c, v);
        }
        for (; c < columns; c++) to[r * to_pitch + c] = block[r * PITCH + c];
        opf_ask_behind(from, from_pitch, rows, early + (pieces - early) * r / rows, early + (pieces - early) * (r + 1) / rows);
    }
}
static inline void opf_transpose_gathered_f32(float *restrict to, int64_t to_pitch, const float *restrict from, int64_t from_pitch, int64_t rows,
                                              int64_t columns) {
    opf_transpose_gather_f32(to, to_pitch, from, from_pitch, rows, columns, 0);
}
static inline void opf_transpose_gathered_past_f32(float *restrict to, int64_t to_pitch, const float *restrict from, int64_t from_pitch, int64_t rows,
                                                   int64_t columns) {
    opf_transpose_gather_f32(to, to_pitch, from, from_pitch, rows, columns, 1);
}

typedef float opf_vf_bytes __attribute__((vector_size(4 * OPF_LANES), aligned(1), may_alias)); /* at any address */

/* to[0 … bytes-1] = from[0 … bytes-1] past the caches, all but the ends that are no whole vector. Of short runs that begin inside a vector the
 * ends would cost more than the rest gains. */
static inline void opf_store_past(void *restrict to, const void *restrict from, int64_t bytes) {
    enum { SHORT = 16 }; /* vectors */
    char *target = to;
    const char *source = from;
    int64_t vector = sizeof(opf_vf), at = (int64_t)(-(uintptr_t)target % sizeof(opf_vf));
    if (at > bytes || (at > 0 && bytes <= SHORT * vector)) at = bytes;
    __builtin_memcpy(target, source, (size_t)at);
    for (; at + vector <= bytes; at += vector) opf_vstore_past(target + at, *(const opf_vf_bytes *)(const void *)(source + at));
    __builtin_memcpy(target + at, source + at, (size_t)(bytes - at));
}

/* Asks for the bytes that lie four runs of this length behind `from`: into the second cache. Addresses behind an array's end are asked for in
 * vain. */
static inline void opf_ask_ahead(const void *from, int64_t bytes) {
    enum { RUNS = 4, LINE = 64 };
    uintptr_t first = (uintptr_t)from + (uintptr_t)(RUNS * bytes);
    for (int64_t at = 0; at < bytes; at += LINE) __builtin_prefetch((const void *)(first + (uintptr_t)at), 0, 2);
}

/* Behind the last of them: other threads see them before what is stored next. */
static inline void opf_past_done(void) {
#if defined(__SSE__)
    __builtin_ia32_sfence();
#endif
}

#endif
