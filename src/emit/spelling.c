/* Names that generated code may have, and places in panels. */
#include <string.h>
#include <strings.h>

#include "emit/spelling.h"

bool opf_emit_is_word(const char *name) {
    static const char *const words[] = {
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
        "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static",
        "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "args", "part", "parts", "asm",
        "linux", "unix", "main", "NULL", "bool", "true", "false", "errno", "stdin", "stdout", "stderr", "EOF", "I",
    };
    for (size_t i = 0; i < OPF_COUNT(words); i++)
        if (strcmp(words[i], name) == 0) return true;
    return false;
}

/* Locals and functions of generated code hold no capital and end in no '_'. A symbol keeps its name where it holds a capital
 * and is no macro; every other, and those that end in '_' themselves, get a '_' behind: so no symbol can hide a local,
 * whatever the emitters call theirs, and different symbols stay different. */
void opf_emit_symbol(const opf_symbol *symbol, opf_text *out) {
    const char *name = symbol->name;
    size_t length = strlen(name);
    bool small = strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == NULL;
    bool reserved = name[0] == '_' || strncmp(name, "i_", 2) == 0 || strncasecmp(name, "opf_", 4) == 0;
    bool limit = length > 4 && (strcmp(name + length - 4, "_MAX") == 0 || strcmp(name + length - 4, "_MIN") == 0);
    if (name[0] == '_') opf_text_add(out, "s");
    opf_text_add(out, name);
    if (small || reserved || limit || opf_emit_is_word(name) || name[length - 1] == '_') opf_text_add(out, "_");
}

/* ---- places in panels ---- */

static const char *times(int n, const char *unit, opf_arena *arena) {
    return n == 0 ? "" : n == 1 ? opf_arena_printf(arena, " + %s", unit) : opf_arena_printf(arena, " + %d * %s", n, unit);
}

const char *opf_emit_vector_at(const char *base, int rows, const char *pitch, int vectors, opf_arena *arena) {
    return opf_arena_printf(arena, "%s%s%s", base, rows ? times(rows, pitch, arena) : "", times(vectors, "OPF_LANES", arena));
}
