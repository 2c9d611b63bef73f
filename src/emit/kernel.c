/* A nest as a C function. */
#include <ctype.h>
#include <string.h>

#include "emit/statements.h"
#include "emit/tile.h"

/* ---- the body ---- */

static bool is_identifier_part(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Does `word` stand in the text as a whole word? */
static bool mentions(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || !is_identifier_part(at[-1])) && !is_identifier_part(at[length])) return true;
    return false;
}

static const char *symbol_name(const opf_nest *nest, const opf_symbol *symbol) {
    opf_text text = {0};
    opf_emit_symbol(symbol, &text);
    const char *name = opf_arena_string(opf_pool_arena(nest->pool), opf_text_string(&text));
    opf_text_free(&text);
    return name;
}

/* Locals for those symbols that the statements mention. */
static void print_symbols(const opf_nest *nest, const char *statements, opf_text *out) {
    const opf_symbol *const *symbols;
    int count = opf_nest_symbols(nest, &symbols);
    for (int i = 0; i < count; i++) {
        const char *name = symbol_name(nest, symbols[i]);
        if (mentions(statements, name)) opf_text_printf(out, "    const int64_t %s = args->d[%d];\n", name, i);
    }
}

static opf_statements new_statements(const opf_nest *nest, opf_text *out) {
    opf_arena *arena = opf_pool_arena(nest->pool);
    size_t n_variables = nest->variables.count;
    opf_statements s = {.nest = nest, .names = {.arena = arena}, .indent = 1, .out = out};
    s.variables = OPF_ARRAY(arena, const char *, n_variables + 1);
    s.buffers = OPF_ARRAY(arena, const char *, nest->buffers.count + 1);
    s.used = OPF_ARRAY(arena, bool, nest->buffers.count + 1);
    const opf_symbol *const *symbols;
    int count = opf_nest_symbols(nest, &symbols);
    for (int i = 0; i < count; i++) OPF_PUSH(arena, &s.names.taken, symbol_name(nest, symbols[i]));
    for (size_t i = 0; i < nest->buffers.count; i++) {
        const opf_nest_buffer *buffer = &nest->buffers.data[i];
        bool whole = buffer->memory == OPF_MEMORY_INPUT || buffer->memory == OPF_MEMORY_RESULT || buffer->memory == OPF_MEMORY_SCRATCH;
        if (whole) s.buffers[i] = opf_names_take(&s.names, "", buffer->name);
    }
    return s;
}

static void print_loops(const opf_nest *nest, opf_text *out) {
    opf_text statements = {0}, declarations = {0};
    opf_statements s = new_statements(nest, &statements);
    opf_emit_block(&s, &nest->code);
    if (s.stores_past) opf_text_add(&statements, "    opf_past_done();\n");
    opf_emit_declarations(&s, &declarations);
    opf_text_add(&declarations, opf_text_string(&statements));
    print_symbols(nest, opf_text_string(&declarations), out);
    if (!mentions(opf_text_string(&declarations), "args")) opf_text_add(out, "    (void)args;\n");
    if (!mentions(opf_text_string(&declarations), "part")) opf_text_add(out, "    (void)part;\n");
    if (!s.uses_parts) opf_text_add(out, "    (void)parts;\n");
    opf_emit_limits(opf_text_string(&statements), out);
    opf_text_add(out, opf_text_string(&declarations));
    opf_text_free(&statements);
    opf_text_free(&declarations);
}

void opf_emit_tile_statements(const opf_nest *nest, opf_text *out) {
    opf_text statements = {0};
    opf_emit_tile(nest, &statements);
    print_symbols(nest, opf_text_string(&statements), out);
    opf_text_add(out, opf_text_string(&statements));
    opf_text_free(&statements);
}

/* ---- types that kernels cannot hold ---- */

static opf_status check_types(const opf_nest *nest) {
    const opf_group *group = nest->group;
    opf_dtype wrong = OPF_NO_DTYPE;
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        if (!opf_emit_can_type(group->stages.inputs.data[i]->dtype)) wrong = group->stages.inputs.data[i]->dtype;
    for (size_t i = 0; i < group->stages.list.count; i++)
        if (!opf_emit_can_type(group->stages.list.data[i]->dtype)) wrong = group->stages.list.data[i]->dtype;
    if (wrong == OPF_NO_DTYPE) return OPF_OK;
    const opf_node *node = group->nodes.count ? group->nodes.data[0] : NULL;
    if (node) opf_node_error(node, "unsupported", "generated code has no element type %s", opf_dtype_name(wrong));
    return OPF_ERROR_UNSUPPORTED;
}

/* ---- public ---- */

static opf_status print_functions(const opf_nest *nest, opf_text *out) {
    opf_emit_product_functions(nest, out);
    if (nest->relay) return opf_emit_relay_functions(nest, out);
    if (nest->tile) opf_emit_tile_functions(nest, out);
    return OPF_OK;
}

static opf_status print_body(const opf_nest *nest, opf_text *out) {
    if (nest->relay) return opf_emit_relay(nest, out);
    if (nest->tile) opf_emit_tile_statements(nest, out);
    else print_loops(nest, out);
    return OPF_OK;
}

opf_status opf_emit_kernel_body(const opf_nest *nest, opf_text *out) {
    opf_status status = check_types(nest);
    if (status != OPF_OK) return status;
    status = print_functions(nest, out);
    return status == OPF_OK ? print_body(nest, out) : status;
}

static opf_status emit_function(const opf_nest *nest, const char *name, bool private, opf_text *out) {
    opf_status status = check_types(nest);
    if (status != OPF_OK) return status;
    status = print_functions(nest, out);
    if (status != OPF_OK) return status;
    opf_emit_banner(nest, out);
    if (!private) opf_text_printf(out, "void %s(const opf_args *args, int part, int parts);\n", name);
    opf_text_printf(out, private ? "static void %s(const opf_args *args, int part, int parts) {\n" : "void %s(const opf_args *args, int part, int parts) {\n", name);
    status = print_body(nest, out);
    opf_text_add(out, "}\n");
    return status;
}

opf_status opf_emit_kernel(const opf_nest *nest, const char *name, opf_text *out) { return emit_function(nest, name, false, out); }
opf_status opf_emit_private_kernel(const opf_nest *nest, const char *name, opf_text *out) { return emit_function(nest, name, true, out); }
