/* The distinct elements, or slices along an axis.
 * in: X. out: Y, first indices, inverse indices, counts (the last three may be left out).
 * ints: axis (-1: X is flat), sorted. counts: n. scratch: 24 bytes for each slice. */
#ifndef OPF_LIB_UNIQUE_H
#define OPF_LIB_UNIQUE_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif

typedef struct opf_lib_slices {
    const opf_lib_tensor *x;
    int64_t count, outer, inner; /* slice i: elements (o * count + i) * inner + j */
} opf_lib_slices;

static inline int opf_lib_compare(const opf_lib_tensor *x, int64_t i, int64_t j) {
    if (x->dtype == OPF_LIB_STRING) return strcmp(((const char *const *)x->data)[i], ((const char *const *)x->data)[j]);
    uint64_t a = opf_lib_key(x, i), b = opf_lib_key(x, j);
    return (a > b) - (a < b);
}

static inline int opf_lib_compare_slices(const opf_lib_slices *s, int64_t i, int64_t j) {
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t k = 0; k < s->inner; k++) {
            int order = opf_lib_compare(s->x, (o * s->count + i) * s->inner + k, (o * s->count + j) * s->inner + k);
            if (order) return order;
        }
    return 0;
}

/* Sorts the slices' numbers, equal ones by number: merges runs of growing length. */
static inline int64_t *opf_lib_sort_slices(const opf_lib_slices *s, int64_t *order, int64_t *other) {
    int64_t n = s->count;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t first = 0; first < n; first += 2 * run) {
            int64_t middle = first + run < n ? first + run : n, end = first + 2 * run < n ? first + 2 * run : n, i = first, j = middle;
            for (int64_t to = first; to < end; to++) {
                int left = j >= end || (i < middle && opf_lib_compare_slices(s, order[i], order[j]) <= 0);
                other[to] = left ? order[i++] : order[j++];
            }
        }
        int64_t *swap = order;
        order = other;
        other = swap;
    }
    return order;
}

/* Marks each slice with the first that equals it, by its sorted neighbours. */
static inline void opf_lib_find_firsts(const opf_lib_slices *s, const int64_t *order, int64_t *first) {
    for (int64_t i = 0; i < s->count; i++) {
        int same = i > 0 && opf_lib_compare_slices(s, order[i - 1], order[i]) == 0;
        first[order[i]] = same ? first[order[i - 1]] : order[i];
    }
}

static inline void opf_lib_unique(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0];
    int axis = (int)a->ints[0];
    opf_lib_slices s = {x, axis < 0 ? opf_lib_elements(x) : x->dims[axis], axis < 0 ? 1 : opf_lib_product(x->dims, 0, axis),
                        axis < 0 ? 1 : opf_lib_product(x->dims, axis + 1, x->rank)};
    int64_t n = s.count, *base = (int64_t *)a->scratch, *order = opf_lib_sort_slices(&s, base, base + n), *first = base + 2 * n;
    int64_t *number = order == base ? base + n : base, found = 0; /* of a first slice: its place in the result */
    opf_lib_find_firsts(&s, order, first);
    int64_t *indices = (int64_t *)a->out[1].data, *inverse = (int64_t *)a->out[2].data, *counts = (int64_t *)a->out[3].data;
    for (int64_t i = 0; i < n; i++) { /* distinct slices in the order that was asked for; their list takes the place of the order */
        int64_t slice = a->ints[1] ? order[i] : i;
        if (first[slice] != slice) continue;
        number[slice] = found;
        order[found++] = slice; /* sorted: found <= i, and order[i] has been read */
    }
    a->counts[0] = found;
    for (int64_t u = 0; u < found; u++) {
        for (int64_t o = 0; o < s.outer; o++) opf_lib_copy(&a->out[0], (o * found + u) * s.inner, x, (o * n + order[u]) * s.inner, s.inner);
        if (opf_lib_has(&a->out[1])) indices[u] = order[u];
        if (opf_lib_has(&a->out[3])) counts[u] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        if (opf_lib_has(&a->out[2])) inverse[i] = number[first[i]];
        if (opf_lib_has(&a->out[3])) counts[number[first[i]]]++;
    }
}

#endif
