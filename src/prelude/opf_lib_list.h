/* Sequences and optionals. Their elements never change: what makes a new sequence copies the descriptions of elements, and
 * the bytes only of tensors that it takes in. */
#ifndef OPF_LIB_LIST_H
#define OPF_LIB_LIST_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif

static inline const opf_list *opf_lib_list(const opf_lib_tensor *t) { return (const opf_list *)t->data; }

static inline int64_t opf_lib_element_elements(const opf_element *e) { return opf_lib_product(e->dims, 0, e->rank); }

/* Room for a tensor of this shape, as an element; NULL in `data` where there is no memory. */
static inline opf_element opf_lib_new_element(opf_heap *heap, int dtype, int rank, const int64_t *dims) {
    int64_t *own = (int64_t *)opf_heap_take(heap, (int64_t)rank * 8 + 8, 8), bytes = opf_lib_size(dtype);
    opf_element element = {0, own, dtype, rank};
    for (int k = 0; own && k < rank; k++) {
        own[k] = dims[k];
        if (__builtin_mul_overflow(bytes, dims[k], &bytes)) bytes = -1;
    }
    if (own) element.data = opf_heap_take(heap, bytes, 64);
    return element;
}

static inline opf_element opf_lib_element_of(opf_heap *heap, const opf_lib_tensor *t) {
    opf_element element = opf_lib_new_element(heap, t->dtype, t->rank, t->dims);
    opf_lib_tensor to = {(void *)(uintptr_t)element.data, t->dtype, t->rank, t->dims};
    if (element.data) opf_lib_copy(&to, 0, t, 0, opf_lib_elements(t));
    return element;
}

/* A sequence of `length` elements that are yet to be filled in; NULL where there is no memory. */
static inline opf_element *opf_lib_new_list(const opf_lib_args *a, int64_t length) {
    opf_element *elements = (opf_element *)opf_heap_take(a->heap, length * (int64_t)sizeof(opf_element) + 16, 16);
    opf_list list = {length, elements};
    memcpy(a->out[0].data, &list, sizeof list);
    return elements;
}

/* in: any number of tensors. ints: how many. out: a sequence of them; an optional that holds one. */
static inline void opf_lib_list_construct(const opf_lib_args *a) {
    opf_element *elements = opf_lib_new_list(a, a->ints[0]);
    for (int64_t k = 0; elements && k < a->ints[0]; k++) elements[k] = opf_lib_element_of(a->heap, &a->in[k]);
}

/* ints: the length: 0 of an empty sequence, -1 of an absent optional. */
static inline void opf_lib_list_empty(const opf_lib_args *a) {
    opf_list list = {a->ints[0], 0};
    memcpy(a->out[0].data, &list, sizeof list);
}

/* in: a sequence or optional. ints: must it be there. out: the same. counts: its length. Can fail. */
static inline void opf_lib_list_copy(const opf_lib_args *a) {
    opf_list list = *opf_lib_list(&a->in[0]);
    if (a->ints[0] && list.length < 0) a->heap->problem = "the optional is absent";
    memcpy(a->out[0].data, &list, sizeof list);
    if (a->counts) a->counts[0] = list.length < 0 ? 0 : list.length;
}

/* in: an optional. out: bool, is it there? */
static inline void opf_lib_list_has(const opf_lib_args *a) { *(unsigned char *)a->out[0].data = opf_lib_list(&a->in[0])->length >= 0; }

/* A position given by an operand, or `otherwise`; among `count`, counted from the end where negative. -1: out of range. */
static inline int64_t opf_lib_position(const opf_lib_args *a, int operand, int64_t count, int64_t otherwise) {
    int64_t at = opf_lib_index(opf_lib_has(&a->in[operand]) ? opf_lib_int(&a->in[operand], 0) : otherwise, count);
    if (at < 0) a->heap->problem = "the position is outside the sequence";
    return at;
}

/* in: a sequence, a tensor, a position (left out: behind all others). out: the sequence with the tensor there. */
static inline void opf_lib_list_insert(const opf_lib_args *a) {
    opf_list list = *opf_lib_list(&a->in[0]);
    int64_t given = opf_lib_has(&a->in[2]) ? opf_lib_int(&a->in[2], 0) : list.length, at = given < 0 ? given + list.length : given;
    if (at < 0 || at > list.length) {
        a->heap->problem = "the position is outside the sequence";
        return;
    }
    opf_element *elements = opf_lib_new_list(a, list.length + 1);
    if (!elements) return;
    if (at) memcpy(elements, list.elements, (size_t)at * sizeof *elements);
    if (list.length - at) memcpy(elements + at + 1, list.elements + at, (size_t)(list.length - at) * sizeof *elements);
    elements[at] = opf_lib_element_of(a->heap, &a->in[1]);
}

/* in: a sequence, a position (left out: the last). out: the sequence without that element. */
static inline void opf_lib_list_erase(const opf_lib_args *a) {
    opf_list list = *opf_lib_list(&a->in[0]);
    int64_t at = opf_lib_position(a, 1, list.length, list.length - 1);
    opf_element *elements = at < 0 ? (opf_element *)0 : opf_lib_new_list(a, list.length - 1);
    if (!elements) return;
    if (at) memcpy(elements, list.elements, (size_t)at * sizeof *elements);
    if (list.length - 1 - at) memcpy(elements + at, list.elements + at + 1, (size_t)(list.length - 1 - at) * sizeof *elements);
}

/* Result 0 is this element: its bytes where they lie, or a copy of them where the result has a place of its own. ints from
 * `known` on: for each axis its known size, or -1 for one that is a count. */
static inline void opf_lib_hand_out(const opf_lib_args *a, const opf_element *e, int known) {
    opf_lib_tensor *out = &a->out[0];
    if (e->rank != out->rank || e->dtype != out->dtype) {
        a->heap->problem = "the element is not of the type that was expected";
        return;
    }
    for (int k = 0, count = 0; k < e->rank; k++) {
        if (a->ints[known + k] < 0) a->counts[count++] = e->dims[k];
        else if (a->ints[known + k] != e->dims[k]) a->heap->problem = "the element is not of the shape that was expected";
    }
    opf_lib_tensor from = {(void *)(uintptr_t)e->data, e->dtype, e->rank, e->dims};
    if (!out->data) out->data = from.data;
    else if (!a->heap->problem) opf_lib_copy(out, 0, &from, 0, opf_lib_elements(&from));
}

/* in: a sequence, a position. out: that element. ints, counts: opf_lib_hand_out. Can fail. */
static inline void opf_lib_list_at(const opf_lib_args *a) {
    const opf_list *list = opf_lib_list(&a->in[0]);
    int64_t at = opf_lib_position(a, 1, list->length, 0);
    if (at >= 0) opf_lib_hand_out(a, &list->elements[at], 0);
}

/* in: an optional. out: the tensor in it. ints, counts: opf_lib_hand_out. Can fail. */
static inline void opf_lib_list_get(const opf_lib_args *a) {
    const opf_list *list = opf_lib_list(&a->in[0]);
    if (list->length < 1) a->heap->problem = "the optional is absent";
    else opf_lib_hand_out(a, &list->elements[0], 0);
}

/* ---- joining and splitting ---- */

/* Copies between a whole of [outer, extent, inner] and a part of [outer, size, inner] that stands at `at` in it. */
static inline void opf_lib_part(char *whole, int64_t extent, int64_t at, char *part, int64_t size, int64_t outer, int64_t inner, int into_whole) {
    for (int64_t o = 0; o < outer && size * inner > 0; o++) {
        char *there = whole + (o * extent + at) * inner, *here = part + o * size * inner;
        if (into_whole) memcpy(there, here, (size_t)(size * inner));
        else memcpy(here, there, (size_t)(size * inner));
    }
}

/* in: a sequence. ints: axis, is the axis a new one. out: the elements joined along the axis. counts: its shape. */
static inline void opf_lib_list_concat(const opf_lib_args *a) {
    const opf_list *list = opf_lib_list(&a->in[0]);
    opf_lib_tensor *out = &a->out[0];
    int axis = (int)a->ints[0], stacks = (int)a->ints[1], rank = out->rank - stacks;
    int64_t total = 0, offset = 0, dims[64];
    if (list->length < 1) {
        a->heap->problem = "the sequence is empty";
        return;
    }
    const opf_element *first = &list->elements[0];
    for (int64_t k = 0; k < list->length; k++) {
        const opf_element *e = &list->elements[k];
        int same = e->rank == rank && e->dtype == out->dtype;
        for (int i = 0; same && i < rank; i++) same = e->dims[i] == first->dims[i] || (i == axis && !stacks);
        if (!same) {
            a->heap->problem = "the elements of the sequence do not fit each other";
            return;
        }
        total += stacks ? 1 : e->dims[axis];
    }
    for (int i = 0; i < out->rank; i++) dims[i] = i == axis ? total : first->dims[stacks && i > axis ? i - 1 : i];
    for (int i = 0; i < out->rank; i++) a->counts[i] = dims[i];
    int64_t outer = opf_lib_product(dims, 0, axis), inner = opf_lib_product(dims, axis + 1, out->rank) * opf_lib_size(out->dtype);
    out->data = opf_heap_take(a->heap, outer * total * inner, 64);
    for (int64_t k = 0; out->data && k < list->length; k++) {
        int64_t size = stacks ? 1 : list->elements[k].dims[axis];
        opf_lib_part((char *)out->data, total, offset, (char *)(uintptr_t)list->elements[k].data, size, outer, inner, 1);
        offset += size;
    }
}

/* in: X, sizes of the parts (one for all, or each; left out: 1). ints: axis, is the axis kept, how many parts. out: a sequence
 * of the parts. */
static inline void opf_lib_list_split(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0], *sizes = &a->in[1];
    int axis = (int)a->ints[0], keeps = (int)a->ints[1], each = opf_lib_has(sizes) && sizes->rank > 0;
    int64_t outer = opf_lib_product(x->dims, 0, axis), inner = opf_lib_product(x->dims, axis + 1, x->rank) * opf_lib_size(x->dtype), at = 0, dims[64];
    opf_element *elements = opf_lib_new_list(a, a->ints[2]);
    for (int64_t k = 0; elements && k < a->ints[2]; k++) {
        int64_t size = opf_lib_has(sizes) ? opf_lib_int(sizes, each ? k : 0) : 1, left = x->dims[axis] - at;
        if (!each && size > left) size = left;
        if (size < 0 || size > left) {
            a->heap->problem = "the sizes of the parts do not add up to the axis";
            return;
        }
        for (int i = 0, to = 0; i < x->rank; i++)
            if (i != axis || keeps) dims[to++] = i == axis ? size : x->dims[i];
        elements[k] = opf_lib_new_element(a->heap, x->dtype, x->rank - !keeps, dims);
        if (!elements[k].data) return;
        opf_lib_part((char *)x->data, x->dims[axis], at, (char *)(uintptr_t)elements[k].data, size, outer, inner, 0);
        at += size;
    }
    if (each && at != x->dims[axis]) a->heap->problem = "the sizes of the parts do not add up to the axis";
}

#endif
