/* Modules and graphs: creation, inputs and outputs, guards. */
#include <stdlib.h>

#include "ir/graph.h"

opf_module *opf_module_new(opf_diags *diags, const char *path) {
    opf_arena *arena = opf_arena_new();
    opf_module *module = OPF_NEW(arena, opf_module);
    module->arena = arena;
    module->names = opf_interner_new();
    module->pool = opf_pool_new(arena);
    module->diags = diags;
    module->path = opf_arena_string(arena, path ? path : "");
    return module;
}

void opf_module_free(opf_module *module) {
    if (!module) return;
    for (size_t i = 0; i < module->files.count; i++) opf_file_unmap(&module->files.data[i]);
    opf_interner_free(module->names);
    opf_arena_free(module->arena); /* the module itself lives there */
}

opf_graph *opf_graph_new(opf_module *module, const char *name, opf_node *parent) {
    opf_graph *graph = OPF_NEW(module->arena, opf_graph);
    graph->name = opf_intern(module->names, name ? name : "");
    graph->module = module;
    graph->parent = parent;
    graph->path = "";
    if (parent) {
        const char *outer = parent->graph->path;
        graph->path = *outer ? opf_arena_printf(module->arena, "%s/%s", outer, parent->name) : parent->name;
    }
    graph->by_name = opf_map_new(module->arena);
    graph->nodes_by_name = opf_map_new(module->arena);
    return graph;
}

void opf_graph_add_input(opf_graph *graph, opf_value *value) {
    value->input_index = (int)graph->inputs.count;
    OPF_PUSH(graph->module->arena, &graph->inputs, value);
}

void opf_graph_add_output(opf_graph *graph, opf_value *value, const char *name) {
    value->is_output = true;
    OPF_PUSH(graph->module->arena, &graph->outputs, value);
    OPF_PUSH(graph->module->arena, &graph->output_names, name ? opf_intern(graph->module->names, name) : value->name);
}

static bool follows(opf_module *module, int kind, opf_dim left, opf_dim right) {
    if (left == right) return true;
    opf_domain none = {0, NULL};
    return kind == OPF_GUARD_GE && opf_expr_prove_le(module->pool, right, left, none);
}

void opf_module_guard(opf_module *module, int kind, opf_dim left, opf_dim right, const char *why) {
    if (follows(module, kind, left, right)) return;
    for (size_t i = 0; i < module->guards.count; i++) {
        const opf_guard *known = &module->guards.data[i];
        if ((int)known->kind != kind || (known->inside && known->inside != module->inside)) continue;
        if (known->left == left && known->right == right) return;
        if (kind == OPF_GUARD_EQ && known->left == right && known->right == left) return;
    }
    opf_guard guard = {.left = left, .right = right, .why = opf_arena_string(module->arena, why), .inside = module->inside};
    if (kind == OPF_GUARD_GE) guard.kind = OPF_GUARD_GE;
    else guard.kind = OPF_GUARD_EQ;
    OPF_PUSH(module->arena, &module->guards, guard);
}
