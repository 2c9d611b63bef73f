/* Arena: objects that live and die together. Nothing is freed singly. */
#ifndef OPF_BASE_ARENA_H
#define OPF_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct opf_arena opf_arena;

opf_arena *opf_arena_new(void);
void opf_arena_free(opf_arena *arena); /* NULL is fine */

/* `size` zeroed bytes aligned to 16; never NULL (out of memory ends the process with one sentence and status 1). */
void *opf_arena_alloc(opf_arena *arena, size_t size);
/* A zeroed array; the product is checked for overflow. */
void *opf_arena_array(opf_arena *arena, size_t count, size_t size);
void *opf_arena_copy(opf_arena *arena, const void *data, size_t size);
char *opf_arena_string(opf_arena *arena, const char *text);
char *opf_arena_string_n(opf_arena *arena, const char *text, size_t length);
char *opf_arena_printf(opf_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t opf_arena_bytes(const opf_arena *arena);

#define OPF_NEW(arena, type) ((type *)opf_arena_alloc((arena), sizeof(type)))
#define OPF_ARRAY(arena, type, count) ((type *)opf_arena_array((arena), (size_t)(count), sizeof(type)))

/* The end of the process when memory is gone: one sentence on standard error, exit status 1. */
_Noreturn void opf_out_of_memory(void);

#endif
