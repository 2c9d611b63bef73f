/* Typed growing vectors whose storage lives in an arena.
 *
 *   OPF_VEC(opf_node *) nodes = {0};
 *   OPF_PUSH(arena, &nodes, node);
 *   for (size_t i = 0; i < nodes.count; i++) use(nodes.data[i]);
 */
#ifndef OPF_BASE_VEC_H
#define OPF_BASE_VEC_H

#include "base/arena.h"

#define OPF_VEC(type) struct { type *data; size_t count, capacity; }

/* Returns the storage grown to hold one more element of `size` bytes; old storage stays in the arena. */
void *opf_vec_grow(opf_arena *arena, void *data, size_t count, size_t *capacity, size_t size);

#define OPF_PUSH(arena, vec, ...)                                                                                      \
    do {                                                                                                               \
        if ((vec)->count == (vec)->capacity)                                                                           \
            (vec)->data = opf_vec_grow((arena), (vec)->data, (vec)->count, &(vec)->capacity, sizeof *(vec)->data);     \
        (vec)->data[(vec)->count++] = (__VA_ARGS__);                                                                   \
    } while (0)

#define OPF_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
