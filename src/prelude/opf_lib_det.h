/* Determinants of square matrices, by elimination with the largest pivot of each column, in double.
 * in: X [..., n, n]. out: [...]. scratch: 8 bytes for each element of a matrix. */
#ifndef OPF_LIB_DET_H
#define OPF_LIB_DET_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif

static inline double opf_lib_det_of(double *m, int64_t n) {
    double det = 1;
    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;
        for (int64_t r = c + 1; r < n; r++)
            if (__builtin_fabs(m[r * n + c]) > __builtin_fabs(m[pivot * n + c])) pivot = r;
        for (int64_t k = 0; k < n && pivot != c; k++) {
            double swap = m[pivot * n + k];
            m[pivot * n + k] = m[c * n + k];
            m[c * n + k] = swap;
        }
        det *= pivot != c ? -m[c * n + c] : m[c * n + c];
        if (m[c * n + c] == 0) return det;
        for (int64_t r = c + 1; r < n; r++) {
            double factor = m[r * n + c] / m[c * n + c];
            for (int64_t k = c; k < n; k++) m[r * n + k] -= factor * m[c * n + k];
        }
    }
    return det;
}

static inline void opf_lib_det(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0];
    int64_t n = x->dims[x->rank - 1], count = opf_lib_product(x->dims, 0, x->rank - 2);
    double *m = (double *)a->scratch;
    for (int64_t b = 0; b < count; b++) {
        for (int64_t i = 0; i < n * n; i++) m[i] = opf_lib_real(x, b * n * n + i);
        opf_lib_set_real(&a->out[0], b, opf_lib_det_of(m, n));
    }
}

#endif
