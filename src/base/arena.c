/* Arena: a list of zeroed blocks, filled from the front. */
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { ALIGNMENT = 16, FIRST_BLOCK = 16 * 1024, LARGEST_BLOCK = 1024 * 1024 };

typedef struct block {
    struct block *next;
    size_t size, used; /* of the bytes behind this header */
} block;

struct opf_arena {
    block *blocks;     /* the one being filled first */
    size_t next_size, bytes;
};

/* The header's size rounded up, so that the bytes behind it keep calloc's alignment. */
static size_t header_size(void) { return (sizeof(block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

_Noreturn void opf_out_of_memory(void) {
    fputs("opfuse: error[memory]: this machine has no more memory to give\n", stderr);
    exit(1);
}

opf_arena *opf_arena_new(void) {
    opf_arena *arena = calloc(1, sizeof *arena);
    if (!arena) opf_out_of_memory();
    arena->next_size = FIRST_BLOCK;
    return arena;
}

void opf_arena_free(opf_arena *arena) {
    if (!arena) return;
    for (block *b = arena->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(arena);
}

static block *block_new(size_t size) {
    block *b = size > SIZE_MAX - header_size() || !opf_memory_fits(size) ? NULL : calloc(1, header_size() + size);
    if (!b) opf_out_of_memory();
    b->size = size;
    return b;
}

/* A large object gets a block of its own behind the one being filled, so that the rest of that one is not lost. */
static void *alloc_alone(opf_arena *arena, size_t size) {
    block *b = block_new(size);
    b->used = size;
    if (arena->blocks) {
        b->next = arena->blocks->next;
        arena->blocks->next = b;
    } else {
        arena->blocks = b;
    }
    return (char *)b + header_size();
}

void *opf_arena_alloc(opf_arena *arena, size_t size) {
    if (size > SIZE_MAX / 2) opf_out_of_memory();
    size = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    arena->bytes += size;
    block *b = arena->blocks;
    if (!b || b->size - b->used < size) {
        if (size > arena->next_size / 4) return alloc_alone(arena, size);
        b = block_new(arena->next_size);
        b->next = arena->blocks;
        arena->blocks = b;
        if (arena->next_size < LARGEST_BLOCK) arena->next_size *= 2;
    }
    void *result = (char *)b + header_size() + b->used;
    b->used += size;
    return result;
}

void *opf_arena_array(opf_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) opf_out_of_memory();
    return opf_arena_alloc(arena, bytes);
}

void *opf_arena_copy(opf_arena *arena, const void *data, size_t size) {
    void *copy = opf_arena_alloc(arena, size);
    if (size) memcpy(copy, data, size);
    return copy;
}

char *opf_arena_string_n(opf_arena *arena, const char *text, size_t length) {
    char *copy = opf_arena_array(arena, length + 1, 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

char *opf_arena_string(opf_arena *arena, const char *text) { return opf_arena_string_n(arena, text, strlen(text)); }

char *opf_arena_printf(opf_arena *arena, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) opf_out_of_memory();
    char *text = opf_arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

size_t opf_arena_bytes(const opf_arena *arena) { return arena->bytes; }
