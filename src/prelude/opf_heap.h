/* What a run hands over besides tensors, and the memory that it takes as it goes. Freestanding C11. */
#ifndef OPF_HEAP_H
#define OPF_HEAP_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define OPF_HEAP_FUNCTION __attribute__((unused)) static inline /* a file may use none of them */
#else
#define OPF_HEAP_FUNCTION static inline
#endif

/* A tensor that stands in a sequence or an optional: its own shape, and bytes that nobody changes any more. Strings are
 * pointers to terminated text. dtype: ONNX's number. */
typedef struct opf_element {
    const void *data;
    const int64_t *dims;
    int dtype, rank;
} opf_element;

/* A sequence: `length` tensors. An optional: -1 where it is absent; a tensor that is there is the one element. */
typedef struct opf_list {
    int64_t length;
    const opf_element *elements;
} opf_list;

/* Memory that a run takes as it goes, for what no size describes beforehand: texts, sequences and their elements, tensors
 * whose size has no bound. It is given back as a whole, before the next run. */
typedef struct opf_heap {
    char *at, *end;              /* what is left of the block in use */
    void *(*more)(struct opf_heap *heap, size_t bytes); /* goes on to a block of at least so many bytes; NULL: there is none */
    const char *problem;         /* why a step could not be done, the end of a sentence; NULL: it could */
} opf_heap;

/* A heap that has this memory and no more; to be made anew before each run. */
OPF_HEAP_FUNCTION opf_heap opf_heap_over(void *memory, size_t bytes) {
    opf_heap heap = {(char *)memory, (char *)memory + bytes, 0, 0};
    return heap;
}

/* So many bytes at a multiple of `align`, a power of two. NULL, with `problem` set, where there is no memory. */
OPF_HEAP_FUNCTION void *opf_heap_take(opf_heap *heap, int64_t bytes, int64_t align) {
    uintptr_t at = ((uintptr_t)heap->at + (uintptr_t)align - 1) & ~((uintptr_t)align - 1);
    if (bytes < 0 || bytes > (int64_t)1 << 48) {
        heap->problem = "a size overflows";
        return NULL;
    }
    if (!heap->at || at > (uintptr_t)heap->end || (uintptr_t)heap->end - at < (uintptr_t)bytes) {
        if (!heap->more || !heap->more(heap, (size_t)bytes + (size_t)align)) {
            heap->problem = "it needs more memory than there is";
            return NULL;
        }
        at = ((uintptr_t)heap->at + (uintptr_t)align - 1) & ~((uintptr_t)align - 1);
    }
    heap->at = (char *)at + bytes;
    return (void *)at;
}

#endif
