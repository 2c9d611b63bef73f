/* Small graphs for the unit tests of operators, written in a line each. */
#ifndef OPS_SUPPORT_H
#define OPS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op.h"

static inline opf_module *new_module(void) {
    opf_module *module = opf_module_new(opf_diags_new(), "test.onnx");
    module->graph = opf_graph_new(module, "main", NULL);
    return module;
}

static inline void free_module(opf_module *module) {
    opf_diags *diags = module->diags;
    opf_module_free(module);
    opf_diags_free(diags);
}

/* dims: "2,N,?" with numbers, names and unnamed unknown sizes; "" for a scalar. */
static inline opf_value *input(opf_module *module, const char *name, opf_dtype dtype, const char *dims) {
    opf_value *value = opf_value_new(module->graph, name);
    value->declared_dtype = dtype;
    value->declared_dims = OPF_ARRAY(module->arena, int64_t, OPF_MAX_RANK);
    value->declared_names = OPF_ARRAY(module->arena, const char *, OPF_MAX_RANK);
    value->declared_rank = 0;
    char *copy = opf_arena_string(module->arena, dims), *rest = NULL;
    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        int axis = value->declared_rank++;
        char *end;
        value->declared_dims[axis] = strtoll(part, &end, 10);
        if (end != part) continue;
        value->declared_dims[axis] = -1;
        value->declared_names[axis] = strcmp(part, "?") == 0 ? NULL : part;
    }
    opf_graph_add_input(module->graph, value);
    return value;
}

static inline opf_value *constant(opf_module *module, opf_dtype dtype, int rank, const int64_t *dims, const double *elements) {
    opf_tensor *tensor = opf_tensor_zeros(module->arena, dtype, rank, dims, NULL);
    for (int64_t k = 0; k < tensor->elements; k++) opf_dtype_store(dtype, (void *)tensor->data, (size_t)k, elements[k]);
    return opf_value_constant(module->graph, NULL, tensor);
}

static inline opf_value *ints(opf_module *module, int count, const double *elements) {
    return constant(module, OPF_INT64, 1, (int64_t[]){count}, elements);
}
#define INTS(module, ...) ints(module, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

static inline opf_node *node_of(opf_module *module, const char *op, int opset, int n_outputs, int n_inputs, opf_value **inputs) {
    const char *separator = strstr(op, "::");
    const char *domain = separator ? opf_intern_n(module->names, op, (size_t)(separator - op)) : opf_intern(module->names, "");
    opf_node *node = opf_node_new(module->graph, NULL, separator ? separator + 2 : op, domain, opset, n_inputs, n_outputs);
    for (int k = 0; k < n_inputs; k++)
        if (inputs[k]) opf_node_set_input(node, k, inputs[k]);
    for (int k = 0; k < n_outputs; k++) {
        opf_node_set_output(node, k, opf_value_new(module->graph, NULL));
        opf_graph_add_output(module->graph, node->outputs[k], NULL);
    }
    return node;
}
/* NODE(module, "Add", 13, a, b): one output. */
#define NODE(module, op, opset, ...)                                                                                   \
    node_of(module, op, opset, 1, (int)(sizeof((opf_value *[]){__VA_ARGS__}) / sizeof(opf_value *)), (opf_value *[]){__VA_ARGS__})

static inline void set_int(opf_node *node, const char *name, int64_t value) { opf_node_attr_add(node, name, OPF_ATTR_INT, 1, &value); }
static inline void set_float(opf_node *node, const char *name, float value) { opf_node_attr_add(node, name, OPF_ATTR_FLOAT, 1, &value); }
static inline void set_string(opf_node *node, const char *name, const char *value) { opf_node_attr_add(node, name, OPF_ATTR_STRING, 1, &value); }
#define SET_INTS(node, name, ...)                                                                                      \
    opf_node_attr_add(node, name, OPF_ATTR_INTS, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

/* The type as text, "float32[N,3]"; lives in the module. */
static inline const char *type_of(const opf_value *value) {
    opf_text text = {0};
    opf_value_print_type(value, &text);
    const char *copy = opf_arena_string(value->graph->module->arena, opf_text_string(&text));
    opf_text_free(&text);
    return copy;
}

/* The content as text, "N, 3", or "unknown". */
static inline const char *content_of(const opf_value *value) {
    opf_text text = {0};
    if (!value->content) opf_text_add(&text, "unknown");
    for (int64_t k = 0; k < value->content_count && value->content; k++) {
        if (k) opf_text_add(&text, ", ");
        opf_expr_print(value->content[k], NULL, &text);
    }
    const char *copy = opf_arena_string(value->graph->module->arena, opf_text_string(&text));
    opf_text_free(&text);
    return copy;
}

/* All diagnostics, as they are printed. */
static inline const char *diagnostics(const opf_module *module) {
    opf_text text = {0};
    for (size_t k = 0; k < opf_diags_count(module->diags); k++) opf_diag_print(opf_diags_at(module->diags, k), &text);
    const char *copy = opf_arena_string(module->arena, opf_text_string(&text));
    opf_text_free(&text);
    return copy;
}

static inline const char *stages_of(opf_node *node) {
    opf_call *call;
    opf_text text = {0};
    opf_module *module = node->graph->module;
    if (opf_op_stages(&call, node) == OPF_OK) opf_stages_print(&call->stages, &text);
    else opf_text_add(&text, diagnostics(module));
    const char *copy = opf_arena_string(module->arena, opf_text_string(&text));
    opf_text_free(&text);
    return copy;
}

#endif
