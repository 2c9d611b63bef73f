/* The sink of diagnostics and their printed form. A message reported again is counted, not repeated. */
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct opf_diags {
    opf_arena *arena;
    opf_interner *keys; /* whole text of each message, for finding it again */
    opf_map by_key;
    OPF_VEC(opf_diag *) list;
    size_t errors;
};

static void reset(opf_diags *diags) {
    diags->arena = opf_arena_new();
    diags->keys = opf_interner_new();
    diags->by_key = opf_map_new(diags->arena);
    diags->list.data = NULL;
    diags->list.count = diags->list.capacity = 0;
    diags->errors = 0;
}

static void release(opf_diags *diags) {
    opf_arena_free(diags->arena);
    opf_interner_free(diags->keys);
}

opf_diags *opf_diags_new(void) {
    opf_diags *diags = calloc(1, sizeof *diags);
    if (!diags) opf_out_of_memory();
    reset(diags);
    return diags;
}

void opf_diags_free(opf_diags *diags) {
    if (!diags) return;
    release(diags);
    free(diags);
}

void opf_diags_clear(opf_diags *diags) {
    release(diags);
    reset(diags);
}

/* Names come from files: what would break lines or drive a terminal shows as "?". */
static char *printable(char *text, bool lines) {
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if ((*c < 0x20 && !(lines && *c == '\n')) || *c == 0x7f) *c = '?';
    return text;
}

static const char *copy(opf_diags *diags, const char *text) { return text ? printable(opf_arena_string(diags->arena, text), false) : NULL; }

/* `lines`: the text may have several (what a compiler said). */
static char *format_text(opf_arena *arena, bool lines, const char *format, va_list arguments) {
    opf_text text = {0};
    opf_text_vprintf(&text, format, arguments);
    char *result = printable(opf_arena_string(arena, opf_text_string(&text)), lines);
    opf_text_free(&text);
    return result;
}

opf_diag *opf_diag_add(opf_diags *diags, opf_severity severity, const char *code, opf_place place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    opf_diag made = {.severity = severity, .code = copy(diags, code), .count = 1};
    made.place = (opf_place){copy(diags, place.file), copy(diags, place.node), copy(diags, place.op), place.index};
    made.message = format_text(diags->arena, false, format, arguments);
    va_end(arguments);

    if (severity == OPF_ERROR) diags->errors++;
    opf_text printed = {0};
    opf_diag_print(&made, &printed);
    const char *key = opf_intern_n(diags->keys, printed.data, printed.length);
    opf_text_free(&printed);
    opf_diag *diag = opf_map_get(&diags->by_key, key);
    if (diag) {
        diag->count++;
        return diag;
    }
    diag = OPF_NEW(diags->arena, opf_diag);
    *diag = made;
    opf_map_set(&diags->by_key, key, diag);
    OPF_PUSH(diags->arena, &diags->list, diag);
    return diag;
}

/* Details and hint stand after the first report; repeated ones bring none. */
void opf_diag_detail(opf_diags *diags, opf_diag *diag, const char *format, ...) {
    if (diag->count > 1) return;
    va_list arguments;
    va_start(arguments, format);
    const char *line = format_text(diags->arena, true, format, arguments);
    va_end(arguments);
    diag->details = diag->details ? opf_arena_printf(diags->arena, "%s\n%s", diag->details, line) : line;
}

void opf_diag_hint(opf_diags *diags, opf_diag *diag, const char *format, ...) {
    if (diag->count > 1) return;
    va_list arguments;
    va_start(arguments, format);
    diag->hint = format_text(diags->arena, false, format, arguments);
    va_end(arguments);
}

size_t opf_diags_count(const opf_diags *diags) { return diags->list.count; }
size_t opf_diags_errors(const opf_diags *diags) { return diags->errors; }
const opf_diag *opf_diags_at(const opf_diags *diags, size_t index) { return diags->list.data[index]; }

static void print_node(const opf_place *place, opf_text *out) {
    if (!place->node && !place->op && place->index < 0) return;
    opf_text_add(out, "node");
    if (place->node) opf_text_printf(out, " '%s'", place->node);
    if (place->op && place->index >= 0) opf_text_printf(out, " (%s, #%d)", place->op, place->index);
    else if (place->op) opf_text_printf(out, " (%s)", place->op);
    else if (place->index >= 0) opf_text_printf(out, " (#%d)", place->index);
    opf_text_add(out, ": ");
}

static void print_indented(const char *lines, opf_text *out) {
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        opf_text_add(out, "    ");
        opf_text_add_n(out, lines, length);
        opf_text_add(out, "\n");
        lines += length + (lines[length] == '\n');
    }
}

void opf_diag_print(const opf_diag *diag, opf_text *out) {
    static const char *const severities[] = {[OPF_NOTE] = "note", [OPF_WARNING] = "warning", [OPF_ERROR] = "error"};
    if (diag->place.file) opf_text_printf(out, "%s: ", diag->place.file);
    print_node(&diag->place, out);
    opf_text_printf(out, "%s[%s]: %s", severities[diag->severity], diag->code, diag->message);
    if (diag->count > 1) opf_text_printf(out, " (%d times)", diag->count);
    opf_text_add(out, "\n");
    if (diag->details) print_indented(diag->details, out);
    if (diag->hint) opf_text_printf(out, "    hint: %s\n", diag->hint);
}
