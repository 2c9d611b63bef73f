/* Names of a kernel's locals. */
#include "emit/names.h"

#include <string.h>

#include "emit/spelling.h"

static bool is_taken(const opf_names *names, const char *name) {
    for (size_t i = 0; i < names->taken.count; i++)
        if (strcmp(names->taken.data[i], name) == 0) return true;
    return opf_emit_is_word(name);
}

const char *opf_names_take(opf_names *names, const char *prefix, const char *wish) {
    const char *name = opf_arena_printf(names->arena, "%s%s", prefix, wish);
    for (int i = 2; is_taken(names, name); i++) name = opf_arena_printf(names->arena, "%s%s_%d", prefix, wish, i);
    OPF_PUSH(names->arena, &names->taken, name);
    return name;
}
