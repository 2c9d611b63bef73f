/* Hash map in an arena, from a pointer (identity; use interned strings for names) to a pointer. */
#ifndef OPF_BASE_MAP_H
#define OPF_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

typedef struct opf_map {
    opf_arena *arena;
    struct opf_map_slot *slots;
    size_t count, capacity;
} opf_map;

opf_map opf_map_new(opf_arena *arena);
void opf_map_set(opf_map *map, const void *key, void *value);
void *opf_map_get(const opf_map *map, const void *key); /* NULL where absent */
bool opf_map_has(const opf_map *map, const void *key);

#endif
