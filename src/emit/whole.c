/* A kernel's whole text: what a change of the generator shows in. */
#include <ctype.h>
#include <string.h>

#include "emit/needed.h"
#include "emit/spelling.h"

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The text with the names of symbols replaced by their positions: models call the same size by different names. */
static void print_numbered(const char *text, const char *const *names, int count, opf_text *out) {
    while (*text) {
        size_t length = 0;
        int symbol = -1;
        while (in_name(text[length])) length++;
        for (int i = 0; i < count && length; i++)
            if (strlen(names[i]) == length && strncmp(text, names[i], length) == 0) symbol = i;
        if (symbol >= 0) opf_text_printf(out, "$%d", symbol);
        else opf_text_add_n(out, text, length ? length : 1);
        text += length ? length : 1;
    }
}

static const char *symbol_name(const opf_symbol *symbol, opf_arena *arena) {
    opf_text text = {0};
    opf_emit_symbol(symbol, &text);
    const char *name = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return name;
}

opf_status opf_emit_whole_kernel(const opf_nest *nest, opf_text *out) {
    opf_arena *arena = opf_arena_new();
    opf_text body = {0}, resolved = {0};
    opf_known known = {.lanes = nest->machine->lanes, .exact = opf_module_is_exact(nest->group->results.data[0].value->graph->module), .included = ""};
    const opf_symbol *const *symbols;
    int count = opf_nest_symbols(nest, &symbols);
    const char **names = OPF_ARRAY(arena, const char *, count + 1);
    for (int i = 0; i < count; i++) names[i] = symbol_name(symbols[i], arena);
    opf_status status = opf_emit_kernel_body(nest, &body);
    opf_emit_resolved(opf_prelude_kernels(), &known, &resolved);
    opf_emit_needed(opf_text_string(&resolved), opf_text_string(&body), out);
    print_numbered(opf_text_string(&body), names, count, out);
    opf_text_free(&body);
    opf_text_free(&resolved);
    opf_arena_free(arena);
    return status;
}
