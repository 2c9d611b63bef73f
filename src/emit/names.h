/* Names of a kernel's locals: wished-for names made unique among those in scope. */
#ifndef OPF_EMIT_NAMES_H
#define OPF_EMIT_NAMES_H

#include "base/vec.h"

typedef struct opf_names {
    opf_arena *arena;
    OPF_VEC(const char *) taken; /* in scope, innermost last */
} opf_names;

/* `wish` with a prefix, as an identifier that nothing in scope has; taken from here on. */
const char *opf_names_take(opf_names *names, const char *prefix, const char *wish);
/* Scopes: what was taken since `mark` is free again. */
static inline size_t opf_names_mark(const opf_names *names) { return names->taken.count; }
static inline void opf_names_release(opf_names *names, size_t mark) { names->taken.count = mark; }

#endif
