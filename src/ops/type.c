/* Types a graph, symbolically. Equalities of sizes that turn up unify symbols, and typing starts again; only the last
 * round reports. */
#include "ops/attend.h"
#include "ops/build.h"
#include "ops/content.h"
#include "ops/control.h"
#include "ops/facts.h"
#include "ops/library.h"
#include "ops/lists.h"
#include "ops/symbols.h"
#include "ops/tables.h"

enum { MOST_ROUNDS = 64 }; /* each one makes at least two different sizes one */

static void forget_types(opf_graph *graph) {
    for (size_t k = 0; k < graph->nodes.count; k++) graph->nodes.data[k]->control = NULL;
    for (size_t k = 0; k < graph->values.count; k++) {
        opf_value *value = graph->values.data[k];
        if (value->constant && !value->dims) opf_value_set_constant(value, value->constant);
        if (!value->producer) continue;
        value->dtype = OPF_NO_DTYPE;
        value->rank = -1;
        value->dims = NULL;
        value->list = NULL;
        value->content = NULL;
        value->content_count = 0;
    }
}

/* A value is of the kind that its producer gives it, whatever the file says. */
static void set_kind(opf_value *value, const opf_list_type *list) {
    value->list = list;
    value->kind = !list ? OPF_VALUE_TENSOR : list->optional ? OPF_VALUE_OPTIONAL : OPF_VALUE_SEQUENCE;
}

static void type_given_outputs(opf_call *call, int count, const opf_library_output *outputs) {
    for (int k = 0; k < call->node->n_outputs && k < count; k++) {
        opf_value *value = call->node->outputs[k];
        const opf_library_output *output = &outputs[k];
        if (!value || output->dtype == OPF_NO_DTYPE) continue;
        value->dtype = output->dtype;
        value->rank = output->rank;
        value->dims = opf_arena_copy(call->arena, output->dims, sizeof output->dims);
        set_kind(value, output->list);
    }
}

/* What is known of the elements of the branch that always runs is known of the If's. */
static void take_content(const opf_call *call) {
    const opf_control *control = call->control;
    if (!control || control->kind != OPF_CONTROL_IF || control->taken < 0) return;
    for (int k = 0; k < call->node->n_outputs; k++) {
        opf_value *value = call->node->outputs[k], *from = control->graphs[control->taken]->outputs.data[k];
        if (!value || !opf_value_content(from)) continue;
        value->content = from->content;
        value->content_count = from->content_count;
    }
}

static void type_outputs(opf_call *call) {
    if (call->library || call->control) {
        if (call->library) type_given_outputs(call, call->library->n_outputs, call->library->outputs);
        else type_given_outputs(call, call->control->n_outputs, call->control->outputs);
        take_content(call);
        return;
    }
    for (int k = 0; k < call->node->n_outputs; k++) {
        opf_value *value = call->node->outputs[k];
        if (!value || call->results[k] < 0) continue;
        const opf_stage *stage = call->stages.list.data[call->results[k]];
        value->dtype = stage->dtype;
        value->rank = stage->n_axes;
        set_kind(value, NULL);
        value->dims = OPF_ARRAY(call->arena, opf_dim, stage->n_axes + 1);
        for (int axis = 0; axis < stage->n_axes; axis++) value->dims[axis] = stage->extents[axis];
    }
    opf_call_content_results(call);
}

/* An input is untyped where an earlier node failed: that one was reported. */
static bool inputs_typed(const opf_node *node) {
    for (int k = 0; k < node->n_inputs; k++) {
        const opf_value *value = node->inputs[k];
        if (value && value->kind != OPF_VALUE_MAP && !opf_value_is_typed(value)) return false;
    }
    return true;
}

static opf_status type_node(opf_node *node, bool quiet);

/* The nodes of a sub-graph whose operators have no entry, too, where the node that holds it cannot be typed: all problems
 * of a model are listed at once. */
static void report_inside(const opf_node *node) {
    for (int k = 0; k < node->n_attrs; k++) {
        const opf_attr *attr = &node->attrs[k];
        for (size_t g = 0; g < attr->count && (attr->kind == OPF_ATTR_GRAPH || attr->kind == OPF_ATTR_GRAPHS); g++)
            for (size_t i = 0; i < attr->graphs[g]->nodes.count; i++) {
                opf_node *inner = attr->graphs[g]->nodes.data[i];
                if (!opf_node_op(inner)) type_node(inner, false);
            }
    }
}

static opf_status type_node(opf_node *node, bool quiet) {
    opf_call *call = opf_call_new(node, quiet);
    if (call->op && !inputs_typed(node)) return OPF_OK;
    opf_status status = opf_call_run(call);
    if (status == OPF_OK) {
        const opf_graph *around = call->module->inside;
        call->module->inside = opf_call_branch(call);
        type_outputs(call);
        call->module->inside = around;
    } else if (!call->op && !quiet) {
        report_inside(node);
    }
    if (call->deferred) return OPF_OK;
    node->graph->module->problems += status != OPF_OK;
    return status;
}

opf_status opf_node_type(opf_node *node) {
    return type_node(node, false);
}

/* The graver of two: a defect before what is unsupported before bad input. */
static opf_status worse(opf_status a, opf_status b) {
    return a > b && a != OPF_OK ? a : b;
}

opf_status opf_graph_retype(opf_graph *graph, bool quiet) {
    opf_status status = OPF_OK;
    forget_types(graph);
    for (size_t k = 0; k < graph->nodes.count; k++) status = worse(status, type_node(graph->nodes.data[k], quiet));
    return status;
}

static opf_status type_round(opf_graph *graph, bool quiet) {
    graph->module->guards.count = 0;
    graph->module->by_value.count = 0;
    graph->module->problems = 0;
    opf_facts_guard(graph->module);
    return opf_graph_retype(graph, quiet);
}

/* Where branches were chosen by nominal sizes and problems follow, the other branches are tried, one after the other. */
static opf_status reconsider(opf_module *module, opf_status status) {
    bool changed = true;
    for (int round = 0; status != OPF_OK && changed && round < MOST_ROUNDS; round++) {
        changed = false;
        for (size_t k = 0; k < module->choices.count && status != OPF_OK; k++) {
            int before = module->problems;
            module->choices.data[k].truth = !module->choices.data[k].truth;
            opf_status other = type_round(module->graph, true);
            if (module->problems < before) {
                changed = true;
                status = other;
                continue;
            }
            module->choices.data[k].truth = !module->choices.data[k].truth;
            type_round(module->graph, true);
        }
    }
    return status;
}

opf_status opf_graph_type(opf_module *module, const opf_pin *pins, size_t n_pins) {
    opf_bindings bindings;
    opf_scans_unfold(module->graph);
    opf_sequence_maps_unfold(module->graph);
    opf_tables_attach(module->graph);
    opf_status inputs = opf_symbols_inputs(&bindings, module, pins, n_pins);
    opf_status status = reconsider(module, type_round(module->graph, true));
    if (opf_flex_attention_unfold(module->graph)) status = reconsider(module, type_round(module->graph, true));
    for (int round = 0; round < MOST_ROUNDS && opf_symbols_unify(&bindings); round++) {
        opf_symbols_apply(&bindings);
        status = type_round(module->graph, true);
    }
    if (status != OPF_OK) status = type_round(module->graph, false);
    return worse(inputs, status);
}

size_t opf_module_symbol_sources(opf_module *module, opf_symbol_source **out) {
    int count = opf_pool_symbols(module->pool);
    opf_symbol_source *by_index = OPF_ARRAY(module->arena, opf_symbol_source, count + 1);
    for (size_t k = 0; k < module->graph->inputs.count; k++) {
        const opf_value *value = module->graph->inputs.data[k];
        for (int axis = 0; axis < value->rank; axis++) {
            opf_dim dim = value->dims[axis];
            if (dim->kind != OPF_EXPR_SYMBOL || by_index[dim->symbol->index].symbol) continue;
            by_index[dim->symbol->index] = (opf_symbol_source){dim->symbol, (int)k, axis};
        }
    }
    for (size_t k = 0; k < module->counts.count; k++) {
        const opf_symbol *symbol = module->counts.data[k].symbol;
        by_index[symbol->index] = (opf_symbol_source){symbol, -1, (int)k};
    }
    size_t found = 0;
    for (int k = 0; k < count; k++)
        if (by_index[k].symbol) by_index[found++] = by_index[k];
    *out = by_index;
    return found;
}

bool opf_node_is_folded(const opf_node *node) {
    int outputs = 0;
    for (int k = 0; k < node->n_outputs; k++) {
        if (!node->outputs[k]) continue;
        if (!node->outputs[k]->content) return false;
        outputs++;
    }
    return outputs > 0;
}
