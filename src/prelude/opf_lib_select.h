/* Results whose size depends on data.
 *   opf_lib_nonzero   in: X. out: positions [rank, n]. counts: n
 *   opf_lib_compress  in: X, condition. out: the slices where it holds. ints: axis (-1: X is flat). counts: n */
#ifndef OPF_LIB_SELECT_H
#define OPF_LIB_SELECT_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif

static inline void opf_lib_nonzero(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0];
    int64_t elements = opf_lib_elements(x), n = 0, found = 0, *out = (int64_t *)a->out[0].data;
    for (int64_t i = 0; i < elements; i++) n += opf_lib_true(x, i);
    a->counts[0] = n;
    for (int64_t i = 0; i < elements; i++) {
        if (!opf_lib_true(x, i)) continue;
        int64_t rest = i;
        for (int k = x->rank - 1; k >= 0; k--) {
            out[k * n + found] = rest % x->dims[k];
            rest /= x->dims[k];
        }
        found++;
    }
}

static inline void opf_lib_compress(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0], *condition = &a->in[1];
    int axis = (int)a->ints[0];
    int64_t outer = axis < 0 ? 1 : opf_lib_product(x->dims, 0, axis), extent = axis < 0 ? opf_lib_elements(x) : x->dims[axis];
    int64_t inner = axis < 0 ? 1 : opf_lib_product(x->dims, axis + 1, x->rank), given = condition->dims[0], at = 0;
    int64_t used = given < extent ? given : extent;
    a->counts[0] = 0;
    for (int64_t i = 0; i < used; i++) a->counts[0] += opf_lib_true(condition, i);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < used; i++) {
            if (!opf_lib_true(condition, i)) continue;
            opf_lib_copy(&a->out[0], at, x, (o * extent + i) * inner, inner);
            at += inner;
        }
}

#endif
