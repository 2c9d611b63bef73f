/* Programs one after the other in one C file. What a program defines at file scope gets its number as an ending; functions
 * whose names start with opf_ belong to the prelude, or are guarded like it and shared. */
#include "run/unit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "run/toolchain.h"

static const char end_of_prelude[] = "#pragma clang diagnostic pop\n#endif\n", entry[] = "opf_entry";

typedef struct span { const char *text; size_t length; } span;

struct opf_unit {
    opf_arena *arena;
    opf_text text;
    OPF_VEC(span) preludes; /* that stand in the text */
};

opf_unit *opf_unit_new(void) {
    opf_unit *unit = calloc(1, sizeof *unit);
    if (!unit) opf_out_of_memory();
    unit->arena = opf_arena_new();
    return unit;
}

void opf_unit_free(opf_unit *unit) {
    if (!unit) return;
    opf_text_free(&unit->text);
    opf_arena_free(unit->arena);
    free(unit);
}

const opf_text *opf_unit_text(const opf_unit *unit) { return &unit->text; }

/* ---- names ---- */

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

typedef struct names { OPF_VEC(span) list; } names;

static bool is_renamed(const names *n, span name) {
    for (size_t i = 0; i < n->list.count; i++)
        if (n->list.data[i].length == name.length && memcmp(n->list.data[i].text, name.text, name.length) == 0) return true;
    return false;
}

/* The name in front of the first parenthesis of a line that starts with a word: a function's. */
static span function_of(const char *line, size_t length) {
    const char *open = isalpha((unsigned char)line[0]) ? memchr(line, '(', length) : NULL;
    if (!open) return (span){NULL, 0};
    const char *from = open;
    while (from > line && in_name(from[-1])) from--;
    return (span){from, (size_t)(open - from)};
}

static void find_names(opf_unit *unit, const char *text, names *found) {
    while (*text) {
        size_t length = strcspn(text, "\n");
        span name = function_of(text, length);
        bool own = name.length && strncmp(name.text, "opf_", 4) != 0 && strncmp(name.text, "__", 2) != 0;
        if (own && !is_renamed(found, name)) OPF_PUSH(unit->arena, &found->list, name);
        text += length + (text[length] == '\n');
    }
}

/* A member of a structure has a name of another kind. */
static bool is_member(const char *start, const char *at) {
    return at > start && (at[-1] == '.' || (at[-1] == '>' && at - 1 > start && at[-2] == '-'));
}

static void add_renamed(opf_unit *unit, const char *text, const names *renamed, int number) {
    const char *start = text;
    while (*text) {
        const char *at = text;
        while (*at && !(in_name(*at) && (at == start || !in_name(at[-1])))) at++;
        opf_text_add_n(&unit->text, text, (size_t)(at - text));
        size_t length = 0;
        while (in_name(at[length])) length++;
        opf_text_add_n(&unit->text, at, length);
        if (length && !is_member(start, at) && is_renamed(renamed, (span){at, length})) opf_text_printf(&unit->text, "_%d", number);
        text = at + length;
    }
}

/* ---- programs ---- */

static void add_prelude(opf_unit *unit, span prelude) {
    for (size_t i = 0; i < unit->preludes.count; i++)
        if (unit->preludes.data[i].length == prelude.length && memcmp(unit->preludes.data[i].text, prelude.text, prelude.length) == 0) return;
    OPF_PUSH(unit->arena, &unit->preludes, (span){opf_arena_string_n(unit->arena, prelude.text, prelude.length), prelude.length});
    opf_text_add_n(&unit->text, prelude.text, prelude.length);
}

static const char *behind_prelude(const opf_text *text) {
    const char *end = strstr(opf_text_string(text), end_of_prelude);
    return end ? end + sizeof end_of_prelude - 1 : opf_text_string(text);
}

size_t opf_unit_length(const opf_sources *sources) {
    size_t length = 0;
    for (int i = 0; i < sources->count; i++) length += strlen(behind_prelude(&sources->texts[i]));
    return length;
}

void opf_unit_add(opf_unit *unit, const opf_sources *sources, int number) {
    names renamed = {0};
    OPF_PUSH(unit->arena, &renamed.list, (span){entry, sizeof entry - 1});
    for (int i = 0; i < sources->count; i++) find_names(unit, behind_prelude(&sources->texts[i]), &renamed);
    for (int i = 0; i < sources->count; i++) {
        const char *text = opf_text_string(&sources->texts[i]), *own = behind_prelude(&sources->texts[i]);
        const char *prelude = strstr(text, "#ifdef __clang__"); /* behind the banner, which differs */
        if (prelude && prelude < own) add_prelude(unit, (span){prelude, (size_t)(own - prelude)});
        add_renamed(unit, own, &renamed, number);
    }
}

opf_status opf_unit_compile(const char **out, const opf_unit *unit, const char *folder, const opf_machine *machine,
                            const opf_compile_options *options, opf_arena *arena, opf_diags *diags) {
    static const char *const names[] = {"programs.c"};
    opf_toolchain toolchain;
    opf_status status = opf_toolchain_find(&toolchain, machine, options, arena, diags);
    opf_compilation c = {.toolchain = &toolchain, .folder = folder, .count = 1, .names = names, .options = options, .diags = diags};
    if (status == OPF_OK) status = opf_file_write(opf_arena_printf(arena, "%s/%s", folder, names[0]), opf_text_string(&unit->text), unit->text.length, diags);
    if (status == OPF_OK) status = opf_toolchain_compile(&c);
    *out = opf_arena_printf(arena, "%s/program.so", folder);
    return status;
}
