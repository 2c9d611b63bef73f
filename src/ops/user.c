/* The operators that a user gives: checked as they come, looked up before the built-in ones. */
#include "ops/user.h"

#include <stdlib.h>
#include <string.h>

#include "ops/scalar.h"

struct opf_user_ops {
    opf_arena *arena;
    OPF_VEC(const opf_scalar_op_entry *) list;
    opf_hash key;
};

opf_user_ops *opf_user_ops_new(opf_arena *arena) {
    opf_user_ops *ops = OPF_NEW(arena, opf_user_ops);
    ops->arena = arena;
    return ops;
}

/* ---- adding ---- */

static bool is_named(const opf_op *op, const char *domain, const char *name) {
    return strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0;
}

static const char *full_name(opf_arena *arena, const opf_op *op) {
    return op->domain[0] ? opf_arena_printf(arena, "%s::%s", op->domain, op->name) : op->name;
}

/* What speaks against an entry beside its own text; text NULL for nothing. */
static opf_scalar_problem clash(const opf_user_ops *ops, const opf_scalar_op_entry *entry) {
    opf_arena *arena = ops->arena;
    const char *name = full_name(arena, &entry->op);
    int line = entry->cases[0].line;
    for (size_t k = 0; k < ops->list.count; k++) {
        const opf_scalar_op_entry *other = ops->list.data[k];
        if (is_named(&other->op, entry->op.domain, entry->op.name) && other->op.since == entry->op.since)
            return (opf_scalar_problem){line, opf_arena_printf(arena, "line %d: version %d of %s is there already, by %s", line, entry->op.since, name, other->source), NULL};
    }
    const opf_op *own = opf_op_first(entry->op.domain, entry->op.name);
    if (own && !own->scalar)
        return (opf_scalar_problem){line, opf_arena_printf(arena, "line %d: %s is built in and more than a line can say; it cannot be replaced", line, name),
                                    "give it another name or a domain of its own"};
    if (own && !entry->replaces)
        return (opf_scalar_problem){line, opf_arena_printf(arena, "line %d: %s is built in", line, name),
                                    "write `replaces` behind the name if the line shall take its place, or give it a domain of its own"};
    if (!own && entry->replaces) return (opf_scalar_problem){line, opf_arena_printf(arena, "line %d: there is no built-in %s that could be replaced", line, name), NULL};
    return (opf_scalar_problem){0, NULL, NULL};
}

static int compare_problems(const void *left, const void *right) {
    int a = ((const opf_scalar_problem *)left)->line, b = ((const opf_scalar_problem *)right)->line;
    return (a > b) - (a < b);
}

static opf_status report(opf_scalar_lines *lines, const char *source, opf_diags *diags) {
    if (!lines->problems.count) return OPF_OK;
    qsort(lines->problems.data, lines->problems.count, sizeof *lines->problems.data, compare_problems); /* one a line: no ties */
    for (size_t k = 0; k < lines->problems.count; k++) {
        const opf_scalar_problem *problem = &lines->problems.data[k];
        opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "operators", (opf_place){.file = source, .index = -1}, "%s", problem->text);
        if (problem->hint) opf_diag_hint(diags, diag, "%s", problem->hint);
    }
    return OPF_ERROR_INPUT;
}

opf_status opf_user_ops_add(opf_user_ops *ops, const char *text, const char *source, opf_diags *diags) {
    source = opf_arena_string(ops->arena, source);
    opf_scalar_lines lines = opf_scalar_parse(opf_arena_string(ops->arena, text), ops->arena);
    for (size_t k = 0; k < lines.entries.count; k++) {
        opf_scalar_op_entry *entry = &lines.entries.data[k];
        entry->source = source;
        opf_scalar_problem problem = clash(ops, entry);
        if (!problem.text) problem = opf_scalar_check(entry, ops->arena);
        if (problem.text) OPF_PUSH(ops->arena, &lines.problems, problem);
    }
    opf_status status = report(&lines, source, diags);
    if (status != OPF_OK) return status;
    for (size_t k = 0; k < lines.entries.count; k++) OPF_PUSH(ops->arena, &ops->list, &lines.entries.data[k]);
    ops->key = opf_hash_combine(ops->key, opf_hash_bytes(source, strlen(source)));
    ops->key = opf_hash_combine(ops->key, opf_hash_bytes(text, strlen(text)));
    return OPF_OK;
}

opf_hash opf_user_ops_key(const opf_user_ops *ops) { return ops->key; }

/* ---- looking up ---- */

const opf_op *opf_user_ops_find(const opf_user_ops *ops, const char *domain, const char *name, int opset) {
    const opf_op *found = NULL;
    for (size_t k = 0; ops && k < ops->list.count; k++) {
        const opf_op *op = &ops->list.data[k]->op;
        if (is_named(op, domain, name) && op->since <= opset && (!found || op->since > found->since)) found = op;
    }
    return found;
}

const opf_op *opf_user_ops_first(const opf_user_ops *ops, const char *domain, const char *name) {
    const opf_op *found = NULL;
    for (size_t k = 0; ops && k < ops->list.count; k++) {
        const opf_op *op = &ops->list.data[k]->op;
        if (is_named(op, domain, name) && (!found || op->since < found->since)) found = op;
    }
    return found;
}

size_t opf_user_ops_count(const opf_user_ops *ops) { return ops ? ops->list.count : 0; }
const opf_op *opf_user_ops_at(const opf_user_ops *ops, size_t index) { return &ops->list.data[index]->op; }
const char *opf_op_source(const opf_op *op) { return op->scalar ? ((const opf_scalar_op_entry *)op)->source : NULL; }

/* ---- the operator of a node ---- */

const opf_op *opf_node_op(const opf_node *node) {
    const opf_op *own = opf_user_ops_find(node->graph->module->operators, node->domain, node->op, node->opset);
    return own ? own : opf_op_find(node->domain, node->op, node->opset);
}
