/* Tries the lines of a scalar operator before any model asks for them: each is built on a small graph for every type that it
 * takes, with and without optional operands, so that mistakes in expressions are found where they were written. */
#include "ops/scalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which operands are there and of which types: one bit an optional operand; `bools` gives operands with a choice of their
 * own a bool where they take one. */
typedef struct trial {
    const opf_scalar_op_entry *entry;
    const opf_scalar_case *one;
    opf_dtype T;
    unsigned given;
    bool bools;
} trial;

static opf_dtype type_of_operand(const trial *trial, int position) {
    uint32_t own = trial->one->own[position];
    if (!own) return trial->T;
    if (trial->bools && own >> OPF_BOOL & 1) return OPF_BOOL;
    opf_dtype first = OPF_NO_DTYPE;
    for (int dtype = 1; dtype < OPF_DTYPE_COUNT; dtype++)
        if (own >> dtype & 1 && (first == OPF_NO_DTYPE || first == OPF_BOOL)) first = (opf_dtype)dtype;
    return first;
}

static opf_value *operand_value(const trial *trial, opf_graph *graph, int position) {
    opf_pool *pool = graph->module->pool;
    opf_value *value = opf_value_new(graph, NULL);
    value->dtype = type_of_operand(trial, position);
    value->rank = 2;
    value->dims = OPF_ARRAY(graph->module->arena, opf_dim, 2);
    value->dims[0] = opf_int(pool, 2);
    value->dims[1] = opf_int(pool, 3);
    return value;
}

static opf_call *new_call(const trial *trial, opf_graph *graph) {
    const opf_scalar_op_entry *entry = trial->entry;
    int n_inputs = entry->n_operands + entry->variadic;
    opf_node *node = opf_node_new(graph, NULL, entry->op.name, entry->op.domain, entry->op.since, n_inputs, 1);
    for (int k = 0, optional = 0; k < n_inputs; k++) {
        int position = k < entry->n_operands ? k : entry->n_operands - 1;
        if (!entry->operands[position].optional || trial->given >> optional++ & 1) opf_node_set_input(node, k, operand_value(trial, graph, position));
    }
    opf_node_set_output(node, 0, opf_value_new(graph, NULL));
    opf_graph_add_output(graph, node->outputs[0], NULL);
    opf_call *call = opf_call_new(node, false);
    call->op = &entry->op;
    return call;
}

/* NULL, or the problem (arena). */
static const char *try_one(const trial *trial, opf_arena *arena) {
    opf_diags *diags = opf_diags_new();
    opf_module *module = opf_module_new(diags, "");
    module->graph = opf_graph_new(module, "", NULL);
    opf_call *call = new_call(trial, module->graph);
    opf_status status = opf_scalar_build_case(call, trial->one, trial->T);
    const char *problem = opf_diags_count(diags) ? opf_arena_string(arena, opf_diags_at(diags, 0)->message) : NULL;
    if (status == OPF_OK && !problem) {
        const char *wrong = opf_stages_check(&call->stages, call->arena);
        if (wrong) problem = opf_arena_printf(arena, "line %d, column 1: %s", trial->one->line, wrong);
    }
    if (problem && strncmp(problem, "line ", 5) != 0) problem = opf_arena_printf(arena, "line %d: %s", trial->one->line, problem);
    opf_module_free(module);
    opf_diags_free(diags);
    return problem;
}

static const char *try_operands(trial trial, opf_arena *arena) {
    int optional = 0;
    const char *problem = NULL;
    for (int k = 0; k < trial.entry->n_operands; k++) optional += trial.entry->operands[k].optional;
    for (trial.given = 0; trial.given < 1u << optional && !problem; trial.given++)
        for (int bools = 0; bools < 2 && !problem; bools++) {
            trial.bools = bools;
            problem = try_one(&trial, arena);
        }
    return problem;
}

opf_scalar_problem opf_scalar_check(const opf_scalar_op_entry *entry, opf_arena *arena) {
    for (int c = 0; c < entry->n_cases; c++)
        for (int dtype = 1; dtype < OPF_DTYPE_COUNT; dtype++) {
            if (!(entry->cases[c].types >> dtype & 1)) continue;
            const char *problem = try_operands((trial){.entry = entry, .one = &entry->cases[c], .T = (opf_dtype)dtype}, arena);
            if (problem) return (opf_scalar_problem){entry->cases[c].line, problem, NULL};
        }
    return (opf_scalar_problem){0, NULL, NULL};
}
