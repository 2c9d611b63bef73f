/* Diagnostics at nodes. */
#include "ir/graph.h"

static const char *op_text(const opf_node *node) {
    return *node->domain ? opf_arena_printf(node->graph->module->arena, "%s::%s", node->domain, node->op) : node->op;
}

opf_place opf_node_place(const opf_node *node) {
    return (opf_place){node->graph->module->path, node->name, op_text(node), node->index};
}

static void describe_input(opf_diags *diags, opf_diag *diag, int position, const opf_value *value) {
    if (!value) {
        opf_diag_detail(diags, diag, "input %d  left out", position);
        return;
    }
    opf_text type = {0};
    opf_value_print_type(value, &type);
    const char *text = opf_text_string(&type);
    if (value->producer) opf_diag_detail(diags, diag, "input %d  '%s'  %s  from '%s' (%s)", position, value->name, text, value->producer->name, op_text(value->producer));
    else opf_diag_detail(diags, diag, "input %d  '%s'  %s  %s", position, value->name, text, value->constant ? "constant" : "graph input");
    opf_text_free(&type);
}

opf_diag *opf_node_error(const opf_node *node, const char *code, const char *format, ...) {
    opf_diags *diags = node->graph->module->diags;
    opf_text message = {0};
    va_list arguments;
    va_start(arguments, format);
    opf_text_vprintf(&message, format, arguments);
    va_end(arguments);
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, code, opf_node_place(node), "%s", opf_text_string(&message));
    opf_text_free(&message);
    if (*node->graph->path) opf_diag_detail(diags, diag, "in sub-graph '%s'", node->graph->path);
    for (int i = 0; i < node->n_inputs; i++) describe_input(diags, diag, i, node->inputs[i]);
    return diag;
}
