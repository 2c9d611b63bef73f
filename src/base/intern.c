/* Interned strings: an open-addressed table over strings in an arena. */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"

typedef struct entry {
    const char *text; /* NULL: free slot */
    size_t length;
    uint64_t hash;
} entry;

struct opf_interner {
    opf_arena *arena; /* the strings, and the tables that were outgrown */
    entry *entries;
    size_t count, capacity; /* capacity: a power of two */
};

opf_interner *opf_interner_new(void) {
    opf_arena *arena = opf_arena_new();
    opf_interner *interner = OPF_NEW(arena, opf_interner);
    interner->arena = arena;
    interner->capacity = 256;
    interner->entries = OPF_ARRAY(arena, entry, interner->capacity);
    return interner;
}

void opf_interner_free(opf_interner *interner) {
    if (interner) opf_arena_free(interner->arena);
}

/* The entry of this text, or the free one where it belongs. */
static entry *find(entry *entries, size_t capacity, uint64_t hash, const char *text, size_t length) {
    for (size_t i = hash & (capacity - 1);; i = (i + 1) & (capacity - 1)) {
        entry *e = &entries[i];
        if (!e->text) return e;
        if (e->hash == hash && e->length == length && memcmp(e->text, text, length) == 0) return e;
    }
}

static void grow(opf_interner *interner) {
    size_t capacity = interner->capacity * 2;
    entry *entries = OPF_ARRAY(interner->arena, entry, capacity);
    for (size_t i = 0; i < interner->capacity; i++) {
        const entry *old = &interner->entries[i];
        if (old->text) *find(entries, capacity, old->hash, old->text, old->length) = *old;
    }
    interner->entries = entries;
    interner->capacity = capacity;
}

const char *opf_intern_n(opf_interner *interner, const char *text, size_t length) {
    if (length == 0) text = ""; /* NULL will do */
    uint64_t hash = opf_hash_bytes(text, length).low;
    entry *e = find(interner->entries, interner->capacity, hash, text, length);
    if (e->text) return e->text;
    const char *copy = opf_arena_string_n(interner->arena, text, length);
    *e = (entry){copy, length, hash};
    if (++interner->count * 2 > interner->capacity) grow(interner);
    return copy;
}

const char *opf_intern(opf_interner *interner, const char *text) { return opf_intern_n(interner, text, strlen(text)); }
