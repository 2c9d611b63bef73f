/* A match as one call of the user's kernel: its operands, results and parameters. */
#include "ops/counts.h"
#include "pattern/internal.h"

/* ---- ports ---- */

/* Chains: operands that no step computes, step by step; every result of the steps that are results. */
static void chain_ports(opf_match *match) {
    const opf_pattern *pattern = match->pattern;
    for (int k = 0; k < match->n_nodes; k++) {
        opf_node *node = match->nodes[k];
        for (int i = 0; i < node->n_inputs - node->n_tables; i++)
            if (!node->inputs[i] || !opf_match_holds(match, node->inputs[i]->producer)) match->inputs[match->n_inputs++] = (opf_match_port){node, i};
    }
    for (size_t r = 0; r < pattern->results.count; r++) {
        opf_node *node = match->places[pattern->results.data[r]];
        for (int k = 0; k < node->n_outputs; k++)
            if (node->outputs[k]) match->outputs[match->n_outputs++] = (opf_match_port){node, k};
    }
}

static opf_match_port reader_of(const opf_match *match, const opf_value *value) {
    for (int k = 0; value && k < match->n_nodes; k++)
        for (int i = 0; i < match->nodes[k]->n_inputs; i++)
            if (match->nodes[k]->inputs[i] == value) return (opf_match_port){match->nodes[k], i};
    return (opf_match_port){0};
}

/* Functions: inputs and results as it names them. */
static void function_ports(opf_match *match) {
    const opf_pattern *pattern = match->pattern;
    for (size_t i = 0; i < pattern->inputs.count; i++) match->inputs[match->n_inputs++] = reader_of(match, match->bound[pattern->inputs.data[i]]);
    for (size_t r = 0; r < pattern->results.count; r++) {
        const opf_value *value = match->bound[pattern->results.data[r]];
        match->outputs[match->n_outputs++] = (opf_match_port){value->producer, value->producer_output};
    }
}

static int most_ports(const opf_match *match) {
    int most = (int)match->pattern->inputs.count + (int)match->pattern->results.count;
    for (int k = 0; k < match->n_nodes; k++) most += match->nodes[k]->n_inputs + match->nodes[k]->n_outputs;
    return most;
}

/* ---- what a kernel can be given ---- */

static const char *wrong_value(const opf_match *match, const opf_value *value) {
    opf_module *module = match->graph->module;
    if (!opf_value_is_typed(value) || value->kind != OPF_VALUE_TENSOR || value->list) return opf_arena_printf(module->arena, "'%s' is no tensor of a known type", value->name);
    if (value->dtype == OPF_STRING || opf_dtype_is_packed(value->dtype) || value->dtype == OPF_COMPLEX64 || value->dtype == OPF_COMPLEX128)
        return opf_arena_printf(module->arena, "'%s' is of type %s, which kernels are not given", value->name, opf_dtype_name(value->dtype));
    for (int k = 0; k < value->rank; k++)
        if (opf_dim_is_unbounded(module, value->dims[k])) return opf_arena_printf(module->arena, "the size of '%s' has no bound before the model runs", value->name);
    return NULL;
}

static const char *wrong_node(const opf_match *match, const opf_node *node) {
    opf_module *module = match->graph->module;
    if (node->control) return opf_arena_printf(module->arena, "'%s' holds graphs of its own", node->name);
    for (size_t c = 0; c < module->counts.count; c++)
        if (module->counts.data[c].node == node) return opf_arena_printf(module->arena, "'%s' finds a size as it runs, which a kernel cannot tell", node->name);
    return NULL;
}

static const char *wrong_result(const opf_match *match, const opf_value *value) {
    if (value->content) return opf_arena_printf(match->graph->module->arena, "'%s' is known before the model runs", value->name);
    return wrong_value(match, value);
}

/* ---- parameters ---- */

static const char *add_parameter(opf_match *match, const opf_pattern_parameter *parameter) {
    opf_arena *arena = match->graph->module->arena;
    const opf_node *node = match->places[parameter->node];
    const opf_attr *attr = opf_node_attr(node, parameter->name);
    double value = parameter->otherwise;
    if (!attr && !parameter->has_default) return opf_arena_printf(arena, "'%s' has no attribute %s, and the parameter has no default", node->name, parameter->name);
    if (attr && attr->kind == OPF_ATTR_INT) value = (double)attr->ints[0];
    else if (attr && attr->kind == OPF_ATTR_FLOAT) value = attr->floats[0];
    else if (attr) return opf_arena_printf(arena, "attribute %s of '%s' is %s: a parameter is one number", parameter->name, node->name, opf_attr_kind_name(attr->kind));
    OPF_PUSH(arena, &match->call->floats, value);
    return NULL;
}

/* ---- the call ---- */

static void add_results(opf_match *match) {
    for (int k = 0; k < match->n_outputs; k++) {
        const opf_value *value = match->outputs[k].node->outputs[match->outputs[k].index];
        opf_library_output *output = &match->call->outputs[k];
        output->dtype = value->dtype;
        output->rank = value->rank;
        for (int axis = 0; axis < value->rank; axis++) output->dims[axis] = value->dims[axis];
    }
}

static const char *check_ports(const opf_match *match) {
    const char *wrong = NULL;
    if (match->n_inputs > OPF_PATTERN_INPUTS) return "a kernel takes at most 64 operands";
    if (match->n_outputs > OPF_LIBRARY_OUTPUTS) return "a kernel has at most 8 results";
    for (int k = 0; !wrong && k < match->n_nodes; k++) wrong = wrong_node(match, match->nodes[k]);
    for (int k = 0; !wrong && k < match->n_inputs; k++) {
        const opf_node *node = match->inputs[k].node;
        if (node && node->inputs[match->inputs[k].index]) wrong = wrong_value(match, node->inputs[match->inputs[k].index]);
    }
    for (int k = 0; !wrong && k < match->n_outputs; k++) wrong = wrong_result(match, match->outputs[k].node->outputs[match->outputs[k].index]);
    return wrong;
}

const char *opf_match_bind(opf_match *match) {
    opf_module *module = match->graph->module;
    int most = most_ports(match);
    match->n_inputs = match->n_outputs = 0;
    match->inputs = OPF_ARRAY(module->arena, opf_match_port, most + 1);
    match->outputs = OPF_ARRAY(module->arena, opf_match_port, most + 1);
    if (match->pattern->chain) chain_ports(match);
    else function_ports(match);
    const char *wrong = check_ports(match);
    if (wrong) return wrong;
    opf_library_call *call = match->call = OPF_NEW(module->arena, opf_library_call);
    *call = (opf_library_call){.kernel = match->pattern->kernel, .n_inputs = match->n_inputs, .n_outputs = match->n_outputs, .scratch_bytes = opf_int(module->pool, 0)};
    add_results(match);
    for (size_t k = 0; !wrong && k < match->pattern->parameters.count; k++) wrong = add_parameter(match, &match->pattern->parameters.data[k]);
    return wrong;
}

opf_node *opf_match_caller(const opf_match *match) {
    opf_arena *arena = match->graph->module->arena;
    opf_node *caller = OPF_NEW(arena, opf_node);
    opf_text name = {0};
    for (int k = 0; k < match->n_nodes; k++) opf_text_printf(&name, "%s%s", k ? " + " : "", match->nodes[k]->name);
    *caller = (opf_node){.name = opf_arena_string(arena, opf_text_string(&name)), .op = match->pattern->kernel->name, .domain = "opfuse.patterns", .opset = 1, .index = -1,
                         .graph = match->graph, .n_inputs = match->n_inputs, .n_outputs = match->n_outputs};
    opf_text_free(&name);
    caller->inputs = OPF_ARRAY(arena, opf_value *, match->n_inputs + 1);
    caller->outputs = OPF_ARRAY(arena, opf_value *, match->n_outputs + 1);
    for (int k = 0; k < match->n_inputs; k++)
        if (match->inputs[k].node) caller->inputs[k] = match->inputs[k].node->inputs[match->inputs[k].index];
    for (int k = 0; k < match->n_outputs; k++) caller->outputs[k] = match->outputs[k].node->outputs[match->outputs[k].index];
    return caller;
}
