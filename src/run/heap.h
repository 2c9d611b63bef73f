/* The heap of a runner: blocks that runs use one after the other, in the order in which they were first needed. A run of the
 * same sizes as an earlier one meets the same blocks and allocates nothing. */
#ifndef OPF_RUN_HEAP_H
#define OPF_RUN_HEAP_H

#include <stdbool.h>

#include "opf_abi.h"

typedef struct opf_heap_block {
    struct opf_heap_block *next;
    char *data;
    size_t size;
} opf_heap_block;

typedef struct opf_runner_heap {
    opf_heap heap;             /* first: what generated code sees */
    opf_heap_block *first, *current;
} opf_runner_heap;

void opf_runner_heap_begin(opf_runner_heap *heap); /* gives everything back, keeps the blocks */
void opf_runner_heap_free(opf_runner_heap *heap);
bool opf_runner_heap_holds(const opf_runner_heap *heap, const void *address);

#endif
