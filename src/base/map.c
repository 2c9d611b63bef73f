/* Hash map from pointer to pointer: open addressing, linear probing, at most half full. */
#include "base/map.h"

#include <stdint.h>

struct opf_map_slot {
    const void *key;
    void *value;
    bool used; /* NULL is a key like any other */
};

opf_map opf_map_new(opf_arena *arena) { return (opf_map){arena, NULL, 0, 0}; }

static size_t start(const void *key, size_t capacity) {
    uint64_t bits = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u; /* Knuth's multiplicative hashing, 2^64 / golden ratio */
    return (size_t)(bits >> 32) & (capacity - 1);
}

/* The slot that holds `key`, or the free one where it belongs. */
static struct opf_map_slot *find(struct opf_map_slot *slots, size_t capacity, const void *key) {
    for (size_t i = start(key, capacity);; i = (i + 1) & (capacity - 1))
        if (!slots[i].used || slots[i].key == key) return &slots[i];
}

static void grow(opf_map *map) {
    size_t capacity = map->capacity ? map->capacity * 2 : 16;
    struct opf_map_slot *slots = OPF_ARRAY(map->arena, struct opf_map_slot, capacity);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].used) *find(slots, capacity, map->slots[i].key) = map->slots[i];
    map->slots = slots;
    map->capacity = capacity;
}

void opf_map_set(opf_map *map, const void *key, void *value) {
    if ((map->count + 1) * 2 > map->capacity) grow(map);
    struct opf_map_slot *slot = find(map->slots, map->capacity, key);
    if (!slot->used) map->count++;
    *slot = (struct opf_map_slot){key, value, true};
}

void *opf_map_get(const opf_map *map, const void *key) {
    return map->count ? find(map->slots, map->capacity, key)->value : NULL;
}

bool opf_map_has(const opf_map *map, const void *key) {
    return map->count && find(map->slots, map->capacity, key)->used;
}
