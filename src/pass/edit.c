/* What passes share: notes, removal, constants. */
#include "pass/edit.h"

#include <stdio.h>

int opf_pass_version(const opf_graph *graph, int least) {
    enum { USUAL = 13 };
    const opf_module *module = graph->module;
    for (size_t i = 0; i < module->opsets.count; i++)
        if (!*module->opsets.data[i].domain && module->opsets.data[i].version >= least) return module->opsets.data[i].version;
    return USUAL;
}

void opf_pass_note(const opf_node *node, const char *format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    opf_diag_add(node->graph->module->diags, OPF_NOTE, "pass", opf_node_place(node), "%s", message);
}

void opf_pass_remove(opf_node *node, const char *why, const opf_node *into) {
    opf_module *module = node->graph->module;
    OPF_PUSH(module->arena, &module->removed, (opf_removed){node->name, why, into ? into->name : NULL});
    opf_node_remove(node);
}

bool opf_value_has_single_use(const opf_value *value) {
    return !value->is_output && value->uses.count == 1 && value->uses.data[0].node->graph == value->graph;
}

bool opf_value_same_shape(const opf_value *a, const opf_value *b) {
    for (int k = 0; k < a->rank; k++)
        if (a->rank != b->rank || a->dims[k] != b->dims[k])
            return false;
    return a->rank == b->rank;
}

const opf_tensor *opf_known_tensor(const opf_value *value) {
    if (value->constant)
        return value->constant;
    int64_t dims[OPF_MAX_RANK];
    if (!value->content || value->rank < 0)
        return NULL;
    for (int k = 0; k < value->rank; k++)
        if (!opf_is_int(value->dims[k], &dims[k]))
            return NULL;
    opf_tensor *tensor = opf_tensor_zeros(value->graph->module->arena, value->dtype, value->rank, dims, NULL);
    if (!tensor || tensor->elements != value->content_count)
        return NULL;
    for (int64_t i = 0; i < tensor->elements; i++) {
        const opf_expr *element = value->content[i];
        if (element->kind == OPF_EXPR_INT)
            opf_dtype_store_int(value->dtype, (void *)tensor->data, (size_t)i, element->integer);
        else if (element->kind == OPF_EXPR_FLOAT)
            opf_dtype_store(value->dtype, (void *)tensor->data, (size_t)i, element->real);
        else
            return NULL;
    }
    return tensor;
}

double *opf_constant_numbers(const opf_value *value, int64_t elements) {
    const opf_tensor *tensor = value ? opf_known_tensor(value) : NULL;
    if (!tensor || tensor->elements != elements || !opf_dtype_is_float(tensor->dtype))
        return NULL;
    double *numbers = OPF_ARRAY(value->graph->module->arena, double, elements);
    for (int64_t i = 0; i < elements; i++)
        numbers[i] = opf_tensor_get(tensor, i);
    return numbers;
}

opf_value *opf_constant_like(opf_graph *graph, opf_dtype dtype, int rank, const int64_t *dims, const double *numbers) {
    opf_tensor *tensor = opf_tensor_zeros(graph->module->arena, dtype, rank, dims, NULL);
    for (int64_t i = 0; i < tensor->elements; i++)
        opf_dtype_store(dtype, (void *)tensor->data, (size_t)i, numbers[i]);
    return opf_value_constant(graph, NULL, tensor);
}

opf_value *opf_constant_ints(opf_graph *graph, int64_t count, const int64_t *numbers) {
    opf_tensor *tensor = opf_tensor_zeros(graph->module->arena, OPF_INT64, 1, &count, NULL);
    for (int64_t i = 0; i < count; i++)
        opf_dtype_store_int(OPF_INT64, (void *)tensor->data, (size_t)i, numbers[i]);
    return opf_value_constant(graph, NULL, tensor);
}
