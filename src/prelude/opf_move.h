/* Moving elements: transposes of small blocks. */
#ifndef OPF_MOVE_H
#define OPF_MOVE_H

#ifndef OPF_VECTOR_H
#include "opf_vector.h"
#endif

/* to[r][c] = from[c][r] for r < rows, c < columns; the pitches are the distances of lines. */
static inline void opf_transpose_any_f32(float *restrict to, int64_t to_pitch, const float *restrict from, int64_t from_pitch, int64_t rows,
                                         int64_t columns) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) to[r * to_pitch + c] = from[c * from_pitch + r];
}

/* Blocks of one vector by one vector through registers; what is left over element by element. */
static inline void opf_transpose_f32(float *restrict to, int64_t to_pitch, const float *restrict from, int64_t from_pitch, int64_t rows,
                                     int64_t columns) {
    int64_t r = 0;
    for (; r + OPF_LANES <= rows; r += OPF_LANES) {
        int64_t c = 0;
        for (; c + OPF_LANES <= columns; c += OPF_LANES) {
            opf_vf block[OPF_LANES];
            for (int i = 0; i < OPF_LANES; i++) block[i] = opf_vload(from + (c + i) * from_pitch + r);
            opf_vtranspose(block);
            for (int i = 0; i < OPF_LANES; i++) opf_vstore(to + (r + i) * to_pitch + c, block[i]);
        }
        opf_transpose_any_f32(to + r * to_pitch + c, to_pitch, from + c * from_pitch + r, from_pitch, OPF_LANES, columns - c);
    }
    opf_transpose_any_f32(to + r * to_pitch, to_pitch, from + r, from_pitch, rows - r, columns);
}

#endif
