/* Text form of a graph: one value or node a line.
 *
 *   graph "main" {
 *     %x: float32[1,N] = input
 *     %w: float32[2] = constant {0.5, 2}
 *     %y: float32[1,N] = Add "add" (%x, %w)
 *     %z: float32[1,N] = Gelu(com.microsoft) "gelu" (%y) {approximate = "tanh"}
 *     output %z
 *   }
 */
#include <ctype.h>
#include <string.h>

#include "ir/graph.h"

enum { SHOWN_ELEMENTS = 8, INDENT = 2 };

static void print_graph(const opf_graph *graph, int indent, opf_text *out);

static void print_quoted(const char *text, size_t length, opf_text *out) {
    opf_text_add(out, "\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') opf_text_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f) opf_text_printf(out, "\\x%02x", c);
        else opf_text_add_n(out, text + i, 1);
    }
    opf_text_add(out, "\"");
}

/* %name, quoted where the name holds anything that could be taken for the syntax around it. */
static void print_value(const opf_value *value, opf_text *out) {
    if (!value) {
        opf_text_add(out, "none");
        return;
    }
    opf_text_add(out, "%");
    bool plain = *value->name != '\0';
    for (const char *c = value->name; *c && plain; c++) plain = isalnum((unsigned char)*c) || strchr("_./:#-", *c) || (unsigned char)*c >= 0x80;
    if (plain) opf_text_add(out, value->name);
    else print_quoted(value->name, strlen(value->name), out);
}

static void print_typed(const opf_value *value, opf_text *out) {
    print_value(value, out);
    if (!value) return;
    opf_text_add(out, ": ");
    opf_value_print_type(value, out);
}

static void print_element(const opf_tensor *tensor, int64_t index, opf_text *out) {
    if (tensor->dtype == OPF_STRING) {
        const char *text = ((const char *const *)tensor->data)[index];
        print_quoted(text, strlen(text), out);
    } else if (opf_dtype_is_float(tensor->dtype)) {
        opf_text_printf(out, "%.9g", opf_tensor_get(tensor, index));
    } else if (tensor->dtype == OPF_UINT64) {
        opf_text_printf(out, "%llu", (unsigned long long)opf_tensor_get_int(tensor, index));
    } else if (opf_dtype_is_integer(tensor->dtype) || tensor->dtype == OPF_BOOL) {
        opf_text_printf(out, "%lld", (long long)opf_tensor_get_int(tensor, index));
    } else {
        opf_text_add(out, "?");
    }
}

static void print_tensor(const opf_tensor *tensor, opf_text *out) {
    if (tensor->elements > SHOWN_ELEMENTS) {
        opf_text_printf(out, "%zu bytes", tensor->bytes);
        return;
    }
    opf_text_add(out, "{");
    for (int64_t i = 0; i < tensor->elements; i++) {
        if (i) opf_text_add(out, ", ");
        print_element(tensor, i, out);
    }
    opf_text_add(out, "}");
}

static void print_item(const opf_attr *attr, size_t i, int indent, opf_text *out) {
    switch (attr->kind) {
    case OPF_ATTR_FLOAT: case OPF_ATTR_FLOATS: opf_text_printf(out, "%.9g", (double)attr->floats[i]); break;
    case OPF_ATTR_INT: case OPF_ATTR_INTS: opf_text_printf(out, "%lld", (long long)attr->ints[i]); break;
    case OPF_ATTR_STRING: case OPF_ATTR_STRINGS: print_quoted(attr->strings[i], attr->string_sizes[i], out); break;
    case OPF_ATTR_TENSOR: case OPF_ATTR_TENSORS: case OPF_ATTR_SPARSE_TENSOR: case OPF_ATTR_SPARSE_TENSORS:
        opf_text_printf(out, "%s ", opf_dtype_name(attr->tensors[i]->dtype));
        print_tensor(attr->tensors[i], out);
        break;
    case OPF_ATTR_GRAPH: case OPF_ATTR_GRAPHS: print_graph(attr->graphs[i], indent, out); break;
    case OPF_ATTR_TYPE_PROTO: case OPF_ATTR_TYPE_PROTOS: opf_text_add(out, "type"); break;
    }
}

static bool is_list(opf_attr_kind kind) {
    return kind != OPF_ATTR_SPARSE_TENSOR && kind != OPF_ATTR_TYPE_PROTO && kind > OPF_ATTR_GRAPH;
}

static void print_attrs(const opf_node *node, int indent, opf_text *out) {
    if (node->n_attrs == 0) return;
    opf_text_add(out, " {");
    for (int a = 0; a < node->n_attrs; a++) {
        const opf_attr *attr = &node->attrs[a];
        opf_text_printf(out, "%s%s = ", a ? ", " : "", attr->name);
        if (is_list(attr->kind)) opf_text_add(out, "[");
        for (size_t i = 0; i < attr->count; i++) {
            if (i) opf_text_add(out, ", ");
            print_item(attr, i, indent + INDENT, out);
        }
        if (is_list(attr->kind)) opf_text_add(out, "]");
    }
    opf_text_add(out, "}");
}

static void print_node(const opf_node *node, int indent, opf_text *out) {
    opf_text_printf(out, "%*s", indent, "");
    for (int i = 0; i < node->n_outputs; i++) {
        if (i) opf_text_add(out, ", ");
        print_typed(node->outputs[i], out);
    }
    opf_text_printf(out, " = %s", node->op);
    if (*node->domain) opf_text_printf(out, "(%s)", node->domain);
    opf_text_add(out, " ");
    print_quoted(node->name, strlen(node->name), out);
    opf_text_add(out, " (");
    for (int i = 0; i < node->n_inputs; i++) {
        if (i) opf_text_add(out, ", ");
        print_value(node->inputs[i], out);
    }
    opf_text_add(out, ")");
    print_attrs(node, indent, out);
    opf_text_add(out, "\n");
}

static void print_graph(const opf_graph *graph, int indent, opf_text *out) {
    opf_text_add(out, "graph ");
    print_quoted(graph->name, strlen(graph->name), out);
    opf_text_add(out, " {\n");
    for (size_t i = 0; i < graph->inputs.count; i++) {
        opf_text_printf(out, "%*s", indent + INDENT, "");
        print_typed(graph->inputs.data[i], out);
        opf_text_add(out, " = input\n");
    }
    for (size_t i = 0; i < graph->values.count; i++) {
        const opf_value *value = graph->values.data[i];
        if (!value->constant) continue;
        opf_text_printf(out, "%*s", indent + INDENT, "");
        print_typed(value, out);
        opf_text_add(out, " = constant ");
        print_tensor(value->constant, out);
        opf_text_add(out, "\n");
    }
    for (size_t i = 0; i < graph->nodes.count; i++) print_node(graph->nodes.data[i], indent + INDENT, out);
    opf_text_printf(out, "%*soutput ", indent + INDENT, "");
    for (size_t i = 0; i < graph->outputs.count; i++) {
        if (i) opf_text_add(out, ", ");
        print_value(graph->outputs.data[i], out);
    }
    opf_text_printf(out, "\n%*s}", indent, "");
}

void opf_graph_print(const opf_graph *graph, opf_text *out) {
    print_graph(graph, 0, out);
    opf_text_add(out, "\n");
}
