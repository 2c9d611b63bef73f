/* Model-local functions out: some nodes of a graph become the body of a function, and one call stands for them. */
#include <string.h>

#include "onnx/writer.h"
#include "schema.pb.h"

/* ---- what goes in and out ---- */

typedef OPF_VEC(const opf_value *) opf_value_list;

static void add_once(opf_writer *writer, opf_map *seen, opf_value_list *list, const opf_value *value) {
    if (opf_map_has(seen, value)) return;
    opf_map_set(seen, value, (void *)value);
    OPF_PUSH(writer->scratch, list, value);
}

static bool is_inside(const opf_writer *writer, const opf_onnx_function *function, const opf_node *node) {
    return node && opf_map_get(&writer->function_of, node) == function;
}

/* Is the value of this graph or of one around it? */
static bool is_visible(const opf_graph *graph, const opf_value *value) {
    while (graph && graph != value->graph) graph = graph->parent ? graph->parent->graph : NULL;
    return graph != NULL;
}

/* Calls `visit` for every value of the graph or of those around it that the node, or one in its sub-graphs, reads, in order. */
static void each_read(const opf_node *node, const opf_graph *graph, void (*visit)(void *data, const opf_value *value), void *data) {
    for (int i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] && is_visible(graph, node->inputs[i])) visit(data, node->inputs[i]);
    for (int a = 0; a < node->n_attrs; a++) {
        const opf_attr *attr = &node->attrs[a];
        if (attr->kind != OPF_ATTR_GRAPH && attr->kind != OPF_ATTR_GRAPHS) continue;
        for (size_t g = 0; g < attr->count; g++)
            for (size_t i = 0; i < attr->graphs[g]->nodes.count; i++) each_read(attr->graphs[g]->nodes.data[i], graph, visit, data);
    }
}

typedef struct opf_border {
    opf_writer *writer;
    const opf_onnx_function *function;
    opf_map seen;
    opf_value_list inputs, outputs;
} opf_border;

static void add_input(void *data, const opf_value *value) {
    opf_border *border = data;
    if (!is_inside(border->writer, border->function, value->producer)) add_once(border->writer, &border->seen, &border->inputs, value);
}

static bool is_read_outside(const opf_border *border, const opf_value *value) {
    for (size_t i = 0; i < value->uses.count; i++)
        if (!is_inside(border->writer, border->function, opf_node_within(value->uses.data[i].node, value->graph))) return true;
    return value->is_output;
}

static opf_border border_of(opf_writer *writer, const opf_onnx_function *function) {
    opf_border border = {.writer = writer, .function = function, .seen = opf_map_new(writer->scratch)};
    for (size_t n = 0; n < function->n_nodes; n++) {
        const opf_node *node = function->nodes[n];
        each_read(node, node->graph, add_input, &border);
        for (int i = 0; i < node->n_outputs; i++)
            if (node->outputs[i] && is_read_outside(&border, node->outputs[i])) add_once(writer, &border.seen, &border.outputs, node->outputs[i]);
    }
    return border;
}

/* ---- bodies ---- */

int opf_function_version(const opf_writer *writer, const opf_onnx_function *function, const char *domain) {
    for (size_t i = 0; i < function->n_nodes; i++)
        if (strcmp(function->nodes[i]->domain, domain) == 0) return function->nodes[i]->opset;
    const opf_opset *opset = opf_writer_opset(writer, domain);
    return opset ? opset->version : 1;
}

static void write_opsets(opf_writer *writer, const opf_onnx_function *function) {
    for (size_t i = 0; i < writer->opsets.count; i++) {
        const char *domain = writer->opsets.data[i].domain;
        size_t message = opf_encode_open(writer->out, opf_schema_Function_opset_import_tag);
        if (*domain) opf_encode_string(writer->out, opf_schema_OperatorSet_domain_tag, domain);
        opf_encode_int(writer->out, opf_schema_OperatorSet_version_tag, opf_function_version(writer, function, domain));
        opf_encode_close(writer->out, message);
    }
}

/* Inside, values keep the names that they have outside: sub-graphs in the body find them under these, too. */
void opf_write_functions(opf_writer *writer) {
    for (size_t f = 0; f < writer->functions.count; f++) {
        const opf_onnx_function *function = writer->functions.data[f];
        opf_border border = border_of(writer, function);
        size_t message = opf_encode_open(writer->out, opf_schema_Model_functions_tag);
        opf_encode_string(writer->out, opf_schema_Function_name_tag, function->name);
        for (size_t i = 0; i < border.inputs.count; i++) opf_encode_string(writer->out, opf_schema_Function_input_tag, opf_writer_name(writer, border.inputs.data[i]));
        for (size_t i = 0; i < border.outputs.count; i++) opf_encode_string(writer->out, opf_schema_Function_output_tag, opf_writer_name(writer, border.outputs.data[i]));
        for (size_t i = 0; i < function->n_nodes; i++) opf_write_node(writer, opf_schema_Function_node_tag, function->nodes[i]);
        write_opsets(writer, function);
        opf_encode_string(writer->out, opf_schema_Function_domain_tag, function->domain);
        opf_encode_close(writer->out, message);
    }
}

/* ---- calls ---- */

void opf_write_call(opf_writer *writer, const opf_onnx_function *function) {
    opf_border border = border_of(writer, function);
    size_t message = opf_encode_open(writer->out, opf_schema_Graph_node_tag);
    for (size_t i = 0; i < border.inputs.count; i++) opf_encode_string(writer->out, opf_schema_Node_input_tag, opf_writer_name(writer, border.inputs.data[i]));
    for (size_t i = 0; i < border.outputs.count; i++) opf_encode_string(writer->out, opf_schema_Node_output_tag, opf_writer_name(writer, border.outputs.data[i]));
    opf_encode_string(writer->out, opf_schema_Node_name_tag, function->name);
    opf_encode_string(writer->out, opf_schema_Node_op_type_tag, function->name);
    opf_encode_string(writer->out, opf_schema_Node_domain_tag, function->domain);
    opf_encode_close(writer->out, message);
}

/* Marks of nodes and functions: what they read is being written; they are written. */
static char waiting, done;

typedef struct opf_needs {
    opf_writer *writer;
    const opf_onnx_function *inside; /* whose own results are no matter; NULL for a node of none */
    bool good;
} opf_needs;

static bool write_item(opf_writer *writer, const opf_node *node);

static void write_producer(void *data, const opf_value *value) {
    opf_needs *needs = data;
    if (!needs->good || !value->producer || (needs->inside && is_inside(needs->writer, needs->inside, value->producer))) return;
    needs->good = write_item(needs->writer, value->producer);
}

static bool write_needs(opf_writer *writer, const opf_node *node, const opf_onnx_function *inside) {
    opf_needs needs = {writer, inside, true};
    each_read(node, node->graph, write_producer, &needs);
    return needs.good;
}

/* The node, or the call that stands for it, behind everything that it reads. */
static bool write_item(opf_writer *writer, const opf_node *node) {
    const opf_onnx_function *function = opf_map_get(&writer->function_of, node);
    const void *item = function ? (const void *)function : node;
    const char *mark = opf_map_get(&writer->written, item);
    if (mark) return mark == &done;
    opf_map_set(&writer->written, item, &waiting);
    bool good = true;
    for (size_t i = 0; function && i < function->n_nodes && good; i++) good = write_needs(writer, function->nodes[i], function);
    if (!function) good = write_needs(writer, node, NULL);
    if (!good) return false;
    if (function) opf_write_call(writer, function);
    else opf_write_node(writer, opf_schema_Graph_node_tag, node);
    opf_map_set(&writer->written, item, &done);
    return true;
}

bool opf_write_main_nodes(opf_writer *writer, const opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (!write_item(writer, graph->nodes.data[i])) return false;
    return true;
}
