/* GraphProto, NodeProto and AttributeProto out. */
#include <string.h>

#include "onnx/writer.h"
#include "schema.pb.h"

static void write_graph(opf_writer *writer, const opf_graph *graph);

const char *opf_writer_name(const opf_writer *writer, const opf_value *value) {
    if (!value) return "";
    const char *given = opf_map_get(&writer->names, value);
    return given ? given : value->name;
}

/* ---- attributes ---- */

static const struct { uint32_t field; bool list; } forms[] = {
    [OPF_ATTR_FLOAT] = {opf_schema_Attribute_f_tag, false}, [OPF_ATTR_FLOATS] = {opf_schema_Attribute_floats_tag, true},
    [OPF_ATTR_INT] = {opf_schema_Attribute_i_tag, false}, [OPF_ATTR_INTS] = {opf_schema_Attribute_ints_tag, true},
    [OPF_ATTR_STRING] = {opf_schema_Attribute_s_tag, false}, [OPF_ATTR_STRINGS] = {opf_schema_Attribute_strings_tag, true},
    [OPF_ATTR_TENSOR] = {opf_schema_Attribute_t_tag, false}, [OPF_ATTR_TENSORS] = {opf_schema_Attribute_tensors_tag, true},
    [OPF_ATTR_GRAPH] = {opf_schema_Attribute_g_tag, false}, [OPF_ATTR_GRAPHS] = {opf_schema_Attribute_graphs_tag, true},
    [OPF_ATTR_SPARSE_TENSOR] = {opf_schema_Attribute_sparse_tensor_tag, false}, [OPF_ATTR_SPARSE_TENSORS] = {opf_schema_Attribute_sparse_tensors_tag, true},
    [OPF_ATTR_TYPE_PROTO] = {opf_schema_Attribute_tp_tag, false}, [OPF_ATTR_TYPE_PROTOS] = {opf_schema_Attribute_type_protos_tag, true},
};

static void write_object(opf_writer *writer, uint32_t field, const opf_attr *attr, size_t i) {
    size_t object = opf_encode_open(writer->out, field);
    switch (attr->kind) {
    case OPF_ATTR_TENSOR: case OPF_ATTR_TENSORS: opf_encode_tensor(writer->out, attr->tensors[i], NULL); break;
    case OPF_ATTR_SPARSE_TENSOR: case OPF_ATTR_SPARSE_TENSORS: opf_encode_sparse(writer->out, attr->tensors[i]); break;
    case OPF_ATTR_TYPE_PROTO: case OPF_ATTR_TYPE_PROTOS: opf_encode_type(writer->out, attr->types[i]); break;
    default: write_graph(writer, attr->graphs[i]); break;
    }
    opf_encode_close(writer->out, object);
}

static void write_attribute(opf_writer *writer, const opf_attr *attr) {
    uint32_t field = forms[attr->kind].field;
    size_t count = forms[attr->kind].list ? attr->count : 1;
    opf_encode_string(writer->out, opf_schema_Attribute_name_tag, attr->name);
    for (size_t i = 0; i < count; i++) {
        switch (attr->kind) {
        case OPF_ATTR_FLOAT: case OPF_ATTR_FLOATS: opf_encode_float(writer->out, field, attr->floats[i]); break;
        case OPF_ATTR_INT: case OPF_ATTR_INTS: opf_encode_int(writer->out, field, attr->ints[i]); break;
        case OPF_ATTR_STRING: case OPF_ATTR_STRINGS: opf_encode_bytes(writer->out, field, attr->strings[i], attr->string_sizes ? attr->string_sizes[i] : strlen(attr->strings[i])); break;
        default: write_object(writer, field, attr, i);
        }
    }
    opf_encode_int(writer->out, opf_schema_Attribute_type_tag, attr->kind);
}

/* ---- nodes ---- */

void opf_write_node(opf_writer *writer, uint32_t field, const opf_node *node) {
    opf_text *out = writer->out;
    size_t message = opf_encode_open(out, field);
    for (int i = 0; i < node->n_inputs - node->n_tables; i++) opf_encode_string(out, opf_schema_Node_input_tag, opf_writer_name(writer, node->inputs[i]));
    for (int i = 0; i < node->n_outputs; i++) opf_encode_string(out, opf_schema_Node_output_tag, opf_writer_name(writer, node->outputs[i]));
    opf_encode_string(out, opf_schema_Node_name_tag, node->name);
    opf_encode_string(out, opf_schema_Node_op_type_tag, node->op);
    if (*node->domain) opf_encode_string(out, opf_schema_Node_domain_tag, node->domain);
    for (int i = 0; i < node->n_attrs; i++) {
        size_t attribute = opf_encode_open(out, opf_schema_Node_attribute_tag);
        write_attribute(writer, &node->attrs[i]);
        opf_encode_close(out, attribute);
    }
    opf_encode_close(out, message);
}

/* ---- graphs ---- */

static void write_value_info(opf_writer *writer, uint32_t field, const opf_value *value, const char *name) {
    size_t message = opf_encode_open(writer->out, field);
    opf_encode_value_info(writer->out, value, name);
    opf_encode_close(writer->out, message);
}

/* Made from an attribute (ops/tables.h), which is written as such? */
static bool is_table(const opf_value *value) {
    bool table = value->uses.count > 0 && !value->is_output;
    for (size_t i = 0; table && i < value->uses.count; i++) {
        const opf_node *node = value->uses.data[i].node;
        table = value->uses.data[i].input >= node->n_inputs - node->n_tables;
    }
    return table;
}

static void write_initializers(opf_writer *writer, const opf_graph *graph) {
    for (size_t i = 0; i < graph->values.count; i++) {
        const opf_value *value = graph->values.data[i];
        if (!value->constant || is_table(value)) continue;
        size_t message = opf_encode_open(writer->out, opf_schema_Graph_initializer_tag);
        opf_encode_tensor(writer->out, value->constant, opf_writer_name(writer, value));
        opf_encode_close(writer->out, message);
    }
}

/* The name of an output of the main graph is a promise; where a pass put another value there, a copy bears it. */
static const char *output_name(const opf_writer *writer, const opf_graph *graph, size_t i) {
    const char *own = opf_writer_name(writer, graph->outputs.data[i]), *promised = graph->output_names.data[i];
    return graph->parent || !promised ? own : promised;
}

static void write_outputs(opf_writer *writer, const opf_graph *graph) {
    for (size_t i = 0; i < graph->outputs.count; i++) {
        const opf_value *value = graph->outputs.data[i];
        const char *own = opf_writer_name(writer, value), *name = output_name(writer, graph, i);
        write_value_info(writer, opf_schema_Graph_output_tag, value, name);
        if (strcmp(name, own) == 0) continue;
        size_t copy = opf_encode_open(writer->out, opf_schema_Graph_node_tag);
        opf_encode_string(writer->out, opf_schema_Node_input_tag, own);
        opf_encode_string(writer->out, opf_schema_Node_output_tag, name);
        opf_encode_string(writer->out, opf_schema_Node_op_type_tag, "Identity");
        opf_encode_close(writer->out, copy);
    }
}

static void write_types_between(opf_writer *writer, const opf_node *node) {
    for (int k = 0; k < node->n_outputs; k++) {
        const opf_value *value = node->outputs[k];
        if (!value || value->is_output || !opf_has_type(value)) continue;
        write_value_info(writer, opf_schema_Graph_value_info_tag, value, opf_writer_name(writer, value));
    }
}

void opf_write_values(opf_writer *writer, const opf_graph *graph) {
    opf_encode_string(writer->out, opf_schema_Graph_name_tag, graph->name);
    write_initializers(writer, graph);
    for (size_t i = 0; i < graph->inputs.count; i++)
        write_value_info(writer, opf_schema_Graph_input_tag, graph->inputs.data[i], opf_writer_name(writer, graph->inputs.data[i]));
    write_outputs(writer, graph);
    for (size_t i = 0; i < graph->nodes.count; i++) write_types_between(writer, graph->nodes.data[i]);
}

static void write_graph(opf_writer *writer, const opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_onnx_function *function = opf_map_get(&writer->function_of, graph->nodes.data[i]);
        if (function) opf_write_call(writer, function);
        else opf_write_node(writer, opf_schema_Graph_node_tag, graph->nodes.data[i]);
    }
    opf_write_values(writer, graph);
}
