/* From a node to its stages: finds the entry, checks arity and input types, runs the build function, checks what it made. */
#include <stdio.h>
#include <string.h>

#include "ops/build.h"
#include "ops/library.h"
#include "ops/scalar.h"
#include "ops/user.h"

opf_status opf_call_error(opf_call *call, const char *code, const char *format, ...) {
    call->failed = true;
    if (!call->quiet && !call->deferred) {
        char message[512];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        call->diag = opf_node_error(call->node, code, "%s", message);
    }
    return strcmp(code, "unsupported") == 0 ? OPF_ERROR_UNSUPPORTED : OPF_ERROR_INPUT;
}

void opf_call_hint(opf_call *call, const char *format, ...) {
    if (call->quiet || !call->diag) return;
    char hint[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(hint, sizeof hint, format, arguments);
    va_end(arguments);
    opf_diag_hint(call->module->diags, call->diag, "%s", hint);
}

bool opf_call_wants(const opf_call *call, int output) {
    if (output >= call->node->n_outputs) return false;
    const opf_value *value = call->node->outputs[output];
    return value && (value->uses.count > 0 || value->is_output);
}

/* Only graph inputs are maps, and these are reported. */
static bool reads_map(const opf_node *node) {
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && node->inputs[k]->kind == OPF_VALUE_MAP) return true;
    return false;
}

static opf_status report_unsupported(opf_call *call) {
    const opf_node *node = call->node;
    call->quiet = call->quiet || reads_map(node);
    const char *separator = node->domain[0] ? "::" : "";
    opf_status status = opf_call_error(call, "unsupported", "operator %s%s%s of opset %d is not supported", node->domain, separator, node->op, node->opset);
    const opf_op *own = opf_user_ops_first(node->graph->module->operators, node->domain, node->op), *first = own ? own : opf_op_first(node->domain, node->op);
    if (own) opf_call_hint(call, "the operator that %s gives holds from opset %d on", opf_op_source(own), own->since);
    else if (first) opf_call_hint(call, "it is supported from opset %d on; convert the model to a newer opset", first->since);
    else opf_call_hint(call, "`opfuse ops` lists the operators that are supported; a line of --operators FILE can give one of your own");
    return status;
}

static opf_status check_arity(opf_call *call) {
    const opf_node *node = call->node;
    const opf_op *op = call->op;
    int given = node->n_inputs - node->n_tables;
    if (op->max_inputs >= 0 && given > op->max_inputs)
        return opf_call_error(call, "arity", "%s takes at most %d input%s and has %d", op->name, op->max_inputs, op->max_inputs == 1 ? "" : "s", given);
    for (int k = 0; k < op->min_inputs; k++)
        if (!opf_call_input(call, k)) return opf_call_error(call, "arity", "%s needs input %d, which is missing", op->name, k);
    for (int k = op->max_outputs; k < node->n_outputs; k++)
        if (node->outputs[k]) return opf_call_error(call, "arity", "%s has at most %d output%s, and the node names %d", op->name, op->max_outputs, op->max_outputs == 1 ? "" : "s", node->n_outputs);
    return OPF_OK;
}

static bool is_complex(opf_dtype dtype) { return dtype == OPF_COMPLEX64 || dtype == OPF_COMPLEX128; }

static bool takes_lists(const opf_op *op) { return op->flags & (OPF_OP_LISTS | OPF_OP_CONTROL); }

static opf_status check_inputs(opf_call *call) {
    for (int k = 0; k < call->node->n_inputs; k++) {
        const opf_value *value = call->node->inputs[k];
        if (!value) continue;
        if (value->kind == OPF_VALUE_MAP || (value->list && !takes_lists(call->op)))
            return opf_call_error(call, "unsupported", "%s of a %s is not supported; input %d '%s' must be a tensor", call->op->name, value->kind == OPF_VALUE_MAP ? "map" : value->list->optional ? "optional" : "sequence", k, value->name);
        if (!opf_value_is_typed(value)) return opf_call_error(call, "type", "the type of input %d '%s' is unknown", k, value->name);
        if (is_complex(value->dtype)) return opf_call_error(call, "unsupported", "%s of %s is not supported", call->op->name, opf_dtype_name(value->dtype));
    }
    return OPF_OK;
}

/* Stages only move strings: load them, choose among them. */
static bool meet_string(const opf_expr *e, void *data) {
    bool moves = e->dtype != OPF_STRING || e->kind == OPF_EXPR_LOAD || e->kind == OPF_EXPR_SELECT;
    for (int k = 0; moves && k < e->n_args; k++) moves = e->args[k]->dtype != OPF_STRING || e->kind == OPF_EXPR_SELECT;
    if (!moves) *(bool *)data = false;
    return moves;
}

static bool moves_strings(const opf_call *call) {
    bool moves = true;
    for (size_t k = 0; moves && k < call->stages.list.count; k++) {
        const opf_stage *stage = call->stages.list.data[k];
        if (stage->combiner != OPF_COMBINE_NONE && (stage->body->dtype == OPF_STRING || (stage->second && stage->second->dtype == OPF_STRING))) moves = false;
        opf_expr_visit(call->pool, stage->body, meet_string, &moves);
        if (stage->second) opf_expr_visit(call->pool, stage->second, meet_string, &moves);
    }
    return moves;
}

static bool has_strings(const opf_call *call) {
    for (int k = 0; k < call->node->n_inputs; k++)
        if (call->node->inputs[k] && call->node->inputs[k]->dtype == OPF_STRING) return true;
    return false;
}

static opf_status check_library(opf_call *call) {
    const opf_library_call *library = call->library;
    const opf_node *node = call->node;
    if (has_strings(call) && !library->reads_strings) return opf_call_error(call, "unsupported", "%s of strings is not supported", call->op->name);
    for (int k = 0; k < node->n_outputs; k++) {
        if (!opf_call_wants(call, k)) continue;
        if (k >= library->n_outputs || library->outputs[k].dtype == OPF_NO_DTYPE)
            return opf_call_error(call, "unsupported", "output %d '%s' of %s is not supported", k, node->outputs[k]->name, node->op);
    }
    return OPF_OK;
}

static opf_status check_results(opf_call *call) {
    const opf_node *node = call->node;
    if (call->library) return check_library(call);
    if (call->control) return OPF_OK; /* build_if and its kin have checked */
    if (has_strings(call) && !moves_strings(call)) return opf_call_error(call, "unsupported", "%s of strings is not supported", call->op->name);
    for (int k = 0; k < node->n_outputs; k++) {
        if (opf_call_wants(call, k) && call->results[k] < 0)
            return opf_call_error(call, "unsupported", "output %d '%s' of %s is not supported", k, node->outputs[k]->name, node->op);
        if (call->results[k] >= 0 && call->stages.list.data[call->results[k]]->n_axes > OPF_MAX_RANK)
            return opf_call_error(call, "shape", "output %d has more than %d axes", k, OPF_MAX_RANK);
    }
    const char *wrong = opf_stages_check(&call->stages, call->arena);
    if (wrong) {
        opf_call_error(call, "internal", "the stages of %s are inconsistent: %s", node->op, wrong);
        return OPF_ERROR_INTERNAL;
    }
    return OPF_OK;
}

opf_call *opf_call_new(opf_node *node, bool quiet) {
    opf_module *module = node->graph->module;
    opf_call *call = OPF_NEW(module->arena, opf_call);
    *call = (opf_call){.node = node, .module = module, .pool = module->pool, .arena = module->arena, .quiet = quiet};
    call->op = opf_node_op(node);
    for (int k = 0; k < node->n_inputs; k++) OPF_PUSH(call->arena, &call->stages.inputs, node->inputs[k]);
    call->results = OPF_ARRAY(call->arena, int, node->n_outputs ? node->n_outputs : 1);
    for (int k = 0; k < node->n_outputs; k++) call->results[k] = -1;
    return call;
}

const opf_graph *opf_call_branch(const opf_call *call) {
    const opf_graph *graph = call->node->graph;
    while (graph && !graph->conditional) graph = graph->parent ? graph->parent->graph : NULL;
    return graph;
}

static opf_status build(opf_call *call) {
    const opf_graph *before = call->module->inside;
    call->module->inside = opf_call_branch(call);
    opf_status status = call->op->build ? call->op->build(call) : opf_scalar_build(call);
    call->module->inside = before;
    return status;
}

/* An attribute of another kind than the operator reads must not pass as one that is absent. */
static opf_status check_attributes(opf_call *call) {
    const opf_attr *attr = opf_node_misread_attr(call->node);
    if (!attr) return OPF_OK;
    return opf_call_error(call, "attribute", "%s is %s; it must be %s", attr->name, opf_attr_kind_name(attr->kind), opf_attr_kind_name(attr->asked));
}

opf_status opf_call_run(opf_call *call) {
    if (!call->op) return report_unsupported(call);
    opf_status status = check_arity(call);
    if (status == OPF_OK) status = check_inputs(call);
    if (status == OPF_OK) status = build(call);
    if (status == OPF_OK) status = check_attributes(call);
    if (status == OPF_OK && call->failed) status = OPF_ERROR_INPUT;
    if (status != OPF_OK) {
        if (!call->failed) opf_call_error(call, "internal", "building the stages of %s failed without a reason", call->op->name);
        return status;
    }
    return check_results(call);
}

opf_status opf_op_stages(opf_call **out, opf_node *node) {
    *out = NULL;
    opf_call *call = opf_call_new(node, false);
    opf_status status = opf_call_run(call);
    if (status == OPF_OK) *out = call;
    return status;
}
