/* Nests as text, and what can be read off their statements. */
#include <string.h>

#include "loop/scheduler.h"

/* ---- walking ---- */

static void visit_expr(const opf_nest *nest, const opf_expr *e, opf_expr_visitor visit, void *data) {
    if (e) opf_expr_visit(nest->pool, e, visit, data);
}

static void visit_block(const opf_nest *nest, const opf_block *block, opf_expr_visitor visit, void *data) {
    for (size_t i = 0; i < block->list.count; i++) {
        const opf_code *code = block->list.data[i];
        const opf_expr *all[] = {code->from, code->to, code->limit, code->offset, code->value, code->operands[0].offset, code->operands[1].offset,
                                 code->columns, code->depth};
        for (size_t k = 0; k < OPF_COUNT(all); k++) visit_expr(nest, all[k], visit, data);
        visit_block(nest, &code->body, visit, data);
    }
}

static bool note_symbol(const opf_expr *e, void *data) {
    bool *used = data;
    if (e->kind == OPF_EXPR_SYMBOL) used[e->symbol->index] = true;
    return true;
}

/* All that the group's own expressions hold, for nests that another emitter prints. */
static void visit_group(const opf_nest *nest, opf_expr_visitor visit, void *data) {
    const opf_group *group = nest->group;
    for (size_t i = 0; i < group->stages.list.count; i++) {
        const opf_stage *stage = group->stages.list.data[i];
        for (int k = 0; k < stage->n_axes + stage->n_reduce; k++) visit_expr(nest, stage->extents[k], visit, data);
        visit_expr(nest, stage->body, visit, data);
        visit_expr(nest, stage->second, visit, data);
    }
    for (size_t i = 0; i < group->stages.inputs.count; i++)
        for (int k = 0; k < group->stages.inputs.data[i]->rank; k++) visit_expr(nest, group->stages.inputs.data[i]->dims[k], visit, data);
}

int opf_nest_symbols(const opf_nest *nest, const opf_symbol *const **out) {
    opf_arena *arena = opf_pool_arena(nest->pool);
    int all = opf_pool_symbols(nest->pool), count = 0;
    bool *used = OPF_ARRAY(arena, bool, all + 1);
    if (nest->tile) visit_group(nest, note_symbol, used);
    visit_block(nest, &nest->code, note_symbol, used);
    for (size_t i = 0; i < nest->buffers.count; i++)
        if (nest->buffers.data[i].memory == OPF_MEMORY_SCRATCH) visit_expr(nest, nest->buffers.data[i].offset, note_symbol, used);
    const opf_symbol **list = OPF_ARRAY(arena, const opf_symbol *, all + 1);
    for (int i = 0; i < all; i++)
        if (used[i]) list[count++] = opf_pool_symbol(nest->pool, i);
    *out = list;
    return count;
}

/* ---- one line ---- */

enum { MOST_LINE = 160 };

static void add_loops(const opf_nest *nest, const opf_block *block, opf_text *out) {
    bool first = true;
    for (size_t i = 0; i < block->list.count && out->length < MOST_LINE; i++) {
        const opf_code *code = block->list.data[i];
        bool loop = code->kind == OPF_CODE_LOOP || code->kind == OPF_CODE_SHARE;
        if (code->kind == OPF_CODE_REDUCE || code->kind == OPF_CODE_TRANSPOSE || code->kind == OPF_CODE_PRODUCT) {
            const char *what = code->kind == OPF_CODE_REDUCE ? "reduce" : code->kind == OPF_CODE_PRODUCT ? "product" : "transpose";
            opf_text_printf(out, "%s%s", first ? "" : ", ", what);
            first = false;
        }
        if (!loop && code->kind != OPF_CODE_IF && code->kind != OPF_CODE_FRESH) continue;
        if (!first) opf_text_add(out, ", ");
        first = false;
        if (loop && code->variable >= 0) opf_text_printf(out, "%si_%s", code->kind == OPF_CODE_SHARE ? "parts share " : "", nest->variables.data[code->variable].name);
        if (loop && code->step > 1) opf_text_printf(out, " by %lld", (long long)code->step);
        opf_text inner = {0};
        add_loops(nest, &code->body, &inner);
        if (inner.length) opf_text_printf(out, "%s%s%s", loop && code->variable >= 0 ? " { " : "{ ", inner.data, " }");
        opf_text_free(&inner);
    }
}

const char *opf_schedule_line(const opf_nest *nest) {
    opf_text text = {0};
    add_loops(nest, &nest->code, &text);
    if (text.length > MOST_LINE) {
        text.length = MOST_LINE;
        while (text.length && text.data[text.length - 1] != ' ') text.length--; /* no half words */
        text.data[text.length] = '\0';
        opf_text_add(&text, "…");
    }
    const char *line = opf_arena_string(opf_pool_arena(nest->pool), text.length ? opf_text_string(&text) : "single value");
    opf_text_free(&text);
    return line;
}

/* ---- the tree ---- */

typedef struct printer { const opf_nest *nest; opf_text *out; opf_expr_names names; } printer;

static void print_e(const printer *p, const opf_expr *e) { opf_expr_print(e, &p->names, p->out); }

static void print_run(const printer *p, int buffer, const opf_expr *offset) {
    opf_text_add(p->out, p->nest->buffers.data[buffer].name);
    if (!offset) return;
    opf_text_add(p->out, "[");
    print_e(p, offset);
    opf_text_add(p->out, "]");
}

static const char *const combiner_names[OPF_COMBINE_COUNT] = {"", "sum", "prod", "min", "max", "and", "or"};

static void print_reduce(const printer *p, const opf_code *code) {
    print_run(p, code->buffer, NULL);
    opf_text_printf(p->out, " %s %s(", code->first ? "=" : "with", combiner_names[code->combiner]);
    if (code->running >= 0) opf_text_printf(p->out, "%s, ", p->nest->buffers.data[code->running].name);
    for (int i = 0; i < code->n_operands; i++) {
        if (i) opf_text_add(p->out, " * ");
        print_run(p, code->operands[i].buffer, code->operands[i].offset);
    }
    opf_text_add(p->out, ", ");
    print_e(p, code->to);
    opf_text_add(p->out, ")");
}

static void print_head(const printer *p, const opf_code *code) {
    const char *variable = code->variable >= 0 ? p->nest->variables.data[code->variable].name : "";
    switch (code->kind) {
    case OPF_CODE_NOTE: opf_text_printf(p->out, "# %s", code->text ? code->text : ""); break;
    case OPF_CODE_SHARE:
        opf_text_printf(p->out, "share %s of ", variable);
        print_e(p, code->to);
        if (code->step > 1) opf_text_printf(p->out, " by %lld", (long long)code->step);
        break;
    case OPF_CODE_LOOP:
        opf_text_printf(p->out, "for %s from ", variable);
        print_e(p, code->from);
        opf_text_add(p->out, " to ");
        print_e(p, code->to);
        if (code->step > 1) opf_text_printf(p->out, " by %lld", (long long)code->step);
        break;
    case OPF_CODE_IF:
        opf_text_add(p->out, "if ");
        print_e(p, code->value);
        break;
    case OPF_CODE_INDEX:
        opf_text_printf(p->out, "%s = ", variable);
        print_e(p, code->value);
        break;
    case OPF_CODE_ARRAY:
        opf_text_printf(p->out, "array %s of ", p->nest->buffers.data[code->buffer].name);
        print_e(p, p->nest->buffers.data[code->buffer].elements);
        break;
    case OPF_CODE_CLEAR: opf_text_printf(p->out, "clear %s", p->nest->buffers.data[code->buffer].name); break;
    case OPF_CODE_STORE:
        print_run(p, code->buffer, code->offset);
        opf_text_add(p->out, " = ");
        print_e(p, code->value);
        break;
    case OPF_CODE_REDUCE: print_reduce(p, code); break;
    case OPF_CODE_FRESH:
        opf_text_add(p->out, "first");
        if (!code->value) break;
        opf_text_add(p->out, " or ");
        print_e(p, code->value);
        break;
    case OPF_CODE_PRODUCT:
        print_run(p, code->buffer, code->offset);
        opf_text_printf(p->out, " = product %d x %d of ", code->height, code->width);
        print_run(p, code->operands[0].buffer, code->operands[0].offset);
        opf_text_add(p->out, " and ");
        print_run(p, code->operands[1].buffer, code->operands[1].offset);
        opf_text_add(p->out, ", columns ");
        print_e(p, code->columns);
        opf_text_add(p->out, ", depth ");
        print_e(p, code->depth);
        if (!code->zeros) break;
        opf_text_add(p->out, ", zeros up to ");
        print_e(p, code->zeros);
        break;
    case OPF_CODE_TRANSPOSE:
        print_run(p, code->buffer, code->offset);
        opf_text_printf(p->out, " = transposed %s%s", code->gathered ? "by lines " : "", code->past ? "past the caches " : "");
        print_run(p, code->operands[0].buffer, code->operands[0].offset);
        break;
    case OPF_CODE_PAST:
        print_run(p, code->buffer, code->offset);
        opf_text_add(p->out, " = past the caches ");
        print_run(p, code->operands[0].buffer, code->operands[0].offset);
        opf_text_add(p->out, ", ");
        print_e(p, code->to);
        break;
    case OPF_CODE_APART:
        print_run(p, code->buffer, code->offset);
        opf_text_add(p->out, " and ");
        print_run(p, code->operands[1].buffer, code->operands[1].offset);
        opf_text_add(p->out, " = in turns ");
        print_run(p, code->operands[0].buffer, code->operands[0].offset);
        opf_text_add(p->out, ", ");
        print_e(p, code->to);
        break;
    case OPF_CODE_ASK:
        opf_text_add(p->out, "asks ahead of ");
        print_run(p, code->operands[0].buffer, code->operands[0].offset);
        break;
    }
}

static void print_block(const printer *p, const opf_block *block, int depth) {
    for (size_t i = 0; i < block->list.count; i++) {
        opf_text_printf(p->out, "%*s", 4 * depth, "");
        print_head(p, block->list.data[i]);
        opf_text_add(p->out, "\n");
        print_block(p, &block->list.data[i]->body, depth + 1);
    }
}

void opf_nest_print(const opf_nest *nest, opf_text *out) {
    opf_arena *arena = opf_pool_arena(nest->pool);
    const char **variables = OPF_ARRAY(arena, const char *, nest->variables.count + 1), **buffers = OPF_ARRAY(arena, const char *, nest->buffers.count + 1);
    for (size_t i = 0; i < nest->variables.count; i++) variables[i] = nest->variables.data[i].name;
    for (size_t i = 0; i < nest->buffers.count; i++) buffers[i] = nest->buffers.data[i].name;
    printer p = {nest, out, {(int)nest->variables.count, (int)nest->buffers.count, variables, buffers}};
    opf_text_printf(out, "nest of group %d: %s\n", nest->group->id, nest->schedule);
    opf_text_printf(out, "    kernel %s: ", opf_hash_print(opf_schedule_key(nest->group, nest->machine)).text);
    opf_schedule_print(&nest->chosen, "=", " ", out);
    opf_text_add(out, "\n");
    print_block(&p, &nest->code, 1);
}
