/* The k largest or smallest elements of each line along an axis, in order, the lower index first among equals.
 * in: X, [K]. out: values, indices (either may be left out). ints: axis, largest, k (-1: K's element, from 0 to the size of the axis).
 * counts: k, where it is K's. scratch: 16 bytes for each element of a line. */
#ifndef OPF_LIB_TOPK_H
#define OPF_LIB_TOPK_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif

typedef struct opf_lib_candidate { uint64_t key; int64_t index; } opf_lib_candidate;

/* Heaps keep the first of the order on top: larger keys, then lower indices. */
static inline int opf_lib_comes_before(opf_lib_candidate a, opf_lib_candidate b) {
    return a.key != b.key ? a.key > b.key : a.index < b.index;
}

static inline void opf_lib_sift(opf_lib_candidate *heap, int64_t at, int64_t n) {
    opf_lib_candidate moved = heap[at];
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && opf_lib_comes_before(heap[child + 1], heap[child])) child++;
        if (!opf_lib_comes_before(heap[child], moved)) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static inline void opf_lib_topk_line(const opf_lib_args *a, int64_t from, int64_t to, int64_t stride, int64_t n, int64_t k) {
    const opf_lib_tensor *x = &a->in[0];
    opf_lib_candidate *heap = (opf_lib_candidate *)a->scratch;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = opf_lib_key(x, from + i * stride);
        heap[i] = (opf_lib_candidate){a->ints[1] ? key : ~key, i};
    }
    for (int64_t i = n / 2 - 1; i >= 0; i--) opf_lib_sift(heap, i, n);
    for (int64_t i = 0; i < k; i++) {
        if (opf_lib_has(&a->out[0])) opf_lib_copy(&a->out[0], to + i * stride, x, from + heap[0].index * stride, 1);
        if (opf_lib_has(&a->out[1])) ((int64_t *)a->out[1].data)[to + i * stride] = heap[0].index;
        heap[0] = heap[--n];
        opf_lib_sift(heap, 0, n);
    }
}

static inline void opf_lib_topk(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0];
    int axis = (int)a->ints[0];
    int64_t n = x->dims[axis], k = a->ints[2];
    if (k < 0) {
        k = opf_lib_int(&a->in[1], 0);
        if (k < 0 || k > n) a->heap->problem = k < 0 ? "k is negative" : "k is larger than the axis that k elements are taken from";
        k = k < 0 ? 0 : k > n ? n : k;
        a->counts[0] = k;
    }
    int64_t outer = opf_lib_product(x->dims, 0, axis), inner = opf_lib_product(x->dims, axis + 1, x->rank);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) opf_lib_topk_line(a, o * n * inner + i, o * k * inner + i, inner, n, k);
}

#endif
