/* Values: creation, lookup, replacement, what their types say. */
#include <string.h>

#include "ir/graph.h"

/* A name that no value of the graph has. */
static const char *fresh_name(const opf_graph *graph, int id) {
    opf_module *module = graph->module;
    for (int attempt = 0;; attempt++) {
        const char *name = opf_intern(module->names, opf_arena_printf(module->arena, attempt ? "value_%d_%d" : "value_%d", id, attempt));
        if (!opf_map_get(&graph->by_name, name)) return name;
    }
}

opf_value *opf_value_new(opf_graph *graph, const char *name) {
    opf_module *module = graph->module;
    const char *interned = name ? opf_intern(module->names, name) : fresh_name(graph, module->n_values);
    if (opf_map_get(&graph->by_name, interned)) return NULL;
    opf_value *value = OPF_NEW(module->arena, opf_value);
    value->name = interned;
    value->id = module->n_values++;
    value->graph = graph;
    value->rank = value->declared_rank = value->input_index = -1;
    opf_map_set(&graph->by_name, interned, value);
    OPF_PUSH(module->arena, &graph->values, value);
    return value;
}

opf_value *opf_value_find(const opf_graph *graph, const char *name) {
    return opf_map_get(&graph->by_name, opf_intern(graph->module->names, name));
}

opf_value *opf_value_resolve(const opf_graph *graph, const char *name) {
    const char *interned = opf_intern(graph->module->names, name);
    for (; graph; graph = graph->parent ? graph->parent->graph : NULL) {
        opf_value *value = opf_map_get(&graph->by_name, interned);
        if (value) return value;
    }
    return NULL;
}

static bool has_content(const opf_tensor *tensor) {
    if (tensor->elements > OPF_CONTENT_LIMIT) return false;
    return tensor->dtype == OPF_BOOL || opf_dtype_is_integer(tensor->dtype) || opf_dtype_is_float(tensor->dtype);
}

static void fill_content(opf_value *value, const opf_tensor *tensor) {
    opf_module *module = value->graph->module;
    value->content_count = tensor->elements;
    value->content = OPF_ARRAY(module->arena, const opf_expr *, tensor->elements);
    for (int64_t i = 0; i < tensor->elements; i++) {
        value->content[i] = opf_dtype_is_float(tensor->dtype) ? opf_real(module->pool, tensor->dtype, opf_tensor_get(tensor, i))
                                                              : opf_int_of(module->pool, tensor->dtype, opf_tensor_get_int(tensor, i));
    }
}

void opf_value_set_constant(opf_value *value, const opf_tensor *tensor) {
    opf_module *module = value->graph->module;
    value->constant = tensor;
    value->dtype = tensor->dtype;
    value->rank = tensor->rank;
    value->dims = OPF_ARRAY(module->arena, opf_dim, tensor->rank);
    for (int i = 0; i < tensor->rank; i++) value->dims[i] = opf_int(module->pool, tensor->dims[i]);
    if (has_content(tensor)) fill_content(value, tensor);
}

opf_value *opf_value_constant(opf_graph *graph, const char *name, const opf_tensor *tensor) {
    opf_value *value = opf_value_new(graph, name);
    if (value) opf_value_set_constant(value, tensor);
    return value;
}

void opf_value_replace(opf_value *from, opf_value *to) {
    if (from == to) return;
    opf_graph *graph = from->graph;
    for (size_t i = 0; i < from->uses.count; i++) {
        opf_use use = from->uses.data[i];
        use.node->inputs[use.input] = to;
        OPF_PUSH(graph->module->arena, &to->uses, use);
    }
    from->uses.count = 0;
    for (size_t i = 0; i < graph->outputs.count; i++) {
        if (graph->outputs.data[i] != from) continue;
        graph->outputs.data[i] = to;
        to->is_output = true;
    }
    from->is_output = false;
}

bool opf_value_is_typed(const opf_value *value) { return value->dtype != OPF_NO_DTYPE && value->rank >= 0; }

opf_dim opf_value_elements(const opf_value *value) {
    return opf_product(value->graph->module->pool, value->rank, value->dims);
}

int64_t opf_value_nominal_bytes(const opf_value *value) {
    double bits = opf_dtype_bits(value->dtype);
    for (int i = 0; i < value->rank; i++) bits *= (double)opf_dim_nominal(value->dims[i]);
    double bytes = (bits + 7) / 8;
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

int64_t opf_graph_constant_bytes(const opf_graph *graph) {
    int64_t bytes = 0;
    for (size_t i = 0; i < graph->values.count; i++) {
        const opf_value *value = graph->values.data[i];
        if (value->constant && value->uses.count) bytes += (int64_t)value->constant->bytes;
    }
    return bytes;
}

bool opf_type_holds_map(const opf_type *type) {
    while (type && type->kind != OPF_VALUE_MAP) type = type->inner;
    return type != NULL;
}

static void print_declared(const opf_type *type, opf_text *out) {
    static const char *const kinds[] = {[OPF_VALUE_SEQUENCE] = "sequence", [OPF_VALUE_OPTIONAL] = "optional", [OPF_VALUE_MAP] = "map"};
    if (type->kind != OPF_VALUE_TENSOR) {
        opf_text_printf(out, "%s(", kinds[type->kind]);
        if (type->kind == OPF_VALUE_MAP) opf_text_printf(out, "%s, ", opf_dtype_name(type->dtype));
        if (type->inner) print_declared(type->inner, out);
        else opf_text_add(out, "?");
        opf_text_add(out, ")");
        return;
    }
    opf_text_add(out, type->dtype ? opf_dtype_name(type->dtype) : "?");
    if (type->rank < 0) {
        opf_text_add(out, "[*]");
        return;
    }
    opf_text_add(out, "[");
    for (int i = 0; i < type->rank; i++) {
        if (i) opf_text_add(out, ",");
        if (type->dims[i] >= 0) opf_text_printf(out, "%lld", (long long)type->dims[i]);
        else opf_text_add(out, type->names[i] ? type->names[i] : "?");
    }
    opf_text_add(out, "]");
}

static void print_list(const opf_value *value, opf_text *out) {
    const opf_list_type *list = value->list;
    opf_text_printf(out, "%s%s%s", list->optional ? "optional(" : "", list->sequence ? "sequence(" : "", opf_dtype_name(value->dtype));
    if (list->rank >= 0) opf_text_add(out, "[");
    for (int k = 0; k < list->rank; k++) {
        if (k) opf_text_add(out, ",");
        if (list->dims[k]) opf_expr_print(list->dims[k], NULL, out);
        else opf_text_add(out, "?");
    }
    opf_text_printf(out, "%s%s%s", list->rank >= 0 ? "]" : list->rank == OPF_RANK_MIXED ? "[*]" : "", list->sequence ? ")" : "", list->optional ? ")" : "");
}

void opf_value_print_type(const opf_value *value, opf_text *out) {
    if (value->list) {
        print_list(value, out);
        return;
    }
    if (value->kind != OPF_VALUE_TENSOR || value->rank < 0) {
        opf_type guess = {.kind = OPF_VALUE_TENSOR, .dtype = value->dtype, .rank = -1};
        if (value->declared && (value->declared->dtype || value->declared->inner || value->declared->rank >= 0)) print_declared(value->declared, out);
        else if (value->kind == OPF_VALUE_TENSOR && !value->dtype) opf_text_add(out, "?");
        else {
            guess.kind = value->kind;
            print_declared(&guess, out);
        }
        return;
    }
    opf_text_add(out, value->dtype ? opf_dtype_name(value->dtype) : "?");
    opf_text_add(out, "[");
    for (int i = 0; i < value->rank; i++) {
        if (i) opf_text_add(out, ",");
        opf_expr_print(value->dims[i], NULL, out);
    }
    opf_text_add(out, "]");
}
