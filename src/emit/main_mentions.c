/* Which symbols a function mentions: only those are declared in it. */
#include "emit/main.h"

opf_mentions opf_mentions_new(const opf_program *program, opf_arena *arena) {
    return (opf_mentions){program, OPF_ARRAY(arena, bool, program->n_symbols + 1)};
}

static bool mention(const opf_expr *e, void *data) {
    opf_mentions *mentions = data;
    if (e->kind != OPF_EXPR_SYMBOL) return true;
    for (size_t i = 0; i < mentions->program->n_symbols; i++)
        if (mentions->program->sources[i].symbol == e->symbol) mentions->used[i] = true;
    return true;
}

void opf_mentions_add(opf_mentions *mentions, const opf_expr *e) {
    if (e) opf_expr_visit(mentions->program->module->pool, e, mention, mentions);
}

void opf_mentions_print(const opf_mentions *mentions, const char *from, opf_text *out) {
    for (size_t i = 0; i < mentions->program->n_symbols; i++) {
        if (!mentions->used[i]) continue;
        bool counted = mentions->program->sources[i].input < 0; /* set as the program runs */
        opf_text_add(out, counted ? "    int64_t " : "    const int64_t ");
        opf_emit_symbol(mentions->program->sources[i].symbol, out);
        opf_text_printf(out, " = %s[%zu];\n", from, i);
    }
}
