/* Growth of arena vectors: doubled, so that pushing n elements copies less than n. */
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

void *opf_vec_grow(opf_arena *arena, void *data, size_t count, size_t *capacity, size_t size) {
    if (*capacity > SIZE_MAX / 4) opf_out_of_memory();
    size_t grown = *capacity ? *capacity * 2 : 4;
    void *copy = opf_arena_array(arena, grown, size);
    if (count) memcpy(copy, data, count * size);
    *capacity = grown;
    return copy;
}
