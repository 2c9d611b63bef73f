/* Blocks of memory for the steps of a run. */
#include "run/heap.h"

#include <stdlib.h>

#include "base/memory.h"

enum { FIRST_BLOCK = 64 << 10, ALIGNMENT = 64 };

static opf_heap_block *new_block(size_t size) {
    opf_heap_block *block = malloc(sizeof *block);
    char *data = size > SIZE_MAX - ALIGNMENT || !opf_memory_fits(size) ? NULL : aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!block || !data) {
        free(block);
        free(data);
        return NULL;
    }
    *block = (opf_heap_block){NULL, data, size};
    return block;
}

/* The block behind the current one where it is large enough, else a new one between the two. */
static void *more(opf_heap *heap, size_t bytes) {
    opf_runner_heap *own = (opf_runner_heap *)heap;
    opf_heap_block *next = own->current ? own->current->next : own->first;
    if (!next || next->size < bytes) {
        size_t size = own->current && own->current->size < (size_t)1 << 30 ? own->current->size * 2 : FIRST_BLOCK;
        opf_heap_block *block = new_block(size > bytes ? size : bytes);
        if (!block && size > bytes) block = new_block(bytes);
        if (!block) return NULL;
        block->next = next;
        if (own->current) own->current->next = block;
        else own->first = block;
        next = block;
    }
    own->current = next;
    heap->at = next->data;
    heap->end = next->data + next->size;
    return next->data;
}

void opf_runner_heap_begin(opf_runner_heap *heap) {
    heap->current = NULL;
    heap->heap = (opf_heap){.more = more};
}

void opf_runner_heap_free(opf_runner_heap *heap) {
    for (opf_heap_block *block = heap->first, *next; block; block = next) {
        next = block->next;
        free(block->data);
        free(block);
    }
    *heap = (opf_runner_heap){0};
}

bool opf_runner_heap_holds(const opf_runner_heap *heap, const void *address) {
    for (const opf_heap_block *block = heap->first; block; block = block->next)
        if ((uintptr_t)address >= (uintptr_t)block->data && (uintptr_t)address < (uintptr_t)block->data + block->size) return true;
    return false;
}
