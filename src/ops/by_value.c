/* Graph inputs whose values decide a rank, a size or a permutation. They are known when the model is about to run: the
 * program is made for them. */
#include "ops/build.h"
#include "ops/content.h"

enum { MOST_NODES = 1000 };

typedef struct search {
    opf_map seen;
    int nodes;
    OPF_VEC(opf_value *) inputs;
} search;

/* Small enough to be known element by element. An axis of unknown size becomes known with the value. */
static bool is_small(const opf_value *value) {
    int64_t elements = 1;
    if (value->kind != OPF_VALUE_TENSOR || !opf_value_is_typed(value) || value->dtype == OPF_STRING) return false;
    if (value->rank == 1 && !opf_is_int(value->dims[0], NULL)) return true;
    return opf_is_int(opf_value_elements(value), &elements) && elements <= OPF_CONTENT_ELEMENTS;
}

static bool find_inputs(search *s, opf_arena *arena, opf_value *value);

/* The results of sub-graphs: those of an If follow from what its branches capture; a body that has inputs of its own is not
 * looked through. */
static bool find_in_graphs(search *s, opf_arena *arena, const opf_node *node) {
    for (int k = 0; k < node->n_attrs; k++) {
        const opf_attr *attr = &node->attrs[k];
        for (size_t g = 0; g < attr->count && (attr->kind == OPF_ATTR_GRAPH || attr->kind == OPF_ATTR_GRAPHS); g++)
            for (size_t i = 0; i < attr->graphs[g]->outputs.count; i++)
                if (attr->graphs[g]->inputs.count || !find_inputs(s, arena, attr->graphs[g]->outputs.data[i])) return false;
    }
    return true;
}

/* Collects the graph inputs that the value follows from; false where it depends on more than small ones. */
static bool find_inputs(search *s, opf_arena *arena, opf_value *value) {
    if (value->constant || value->content || opf_map_has(&s->seen, value)) return true;
    opf_map_set(&s->seen, value, s);
    const opf_node *node = value->producer;
    if (!node) {
        if (value->input_index < 0 || value->graph->parent || !is_small(value)) return false;
        OPF_PUSH(arena, &s->inputs, value);
        return true;
    }
    const opf_op *op = opf_node_op(node);
    if (!op || op->flags & OPF_OP_STATEFUL || ++s->nodes > MOST_NODES) return false;
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && !find_inputs(s, arena, node->inputs[k])) return false;
    return find_in_graphs(s, arena, node);
}

static void note_needed(opf_module *module, opf_value *input) {
    for (size_t k = 0; k < module->by_value.count; k++)
        if (module->by_value.data[k] == input) return;
    OPF_PUSH(module->arena, &module->by_value, input);
}

opf_status opf_call_unknown(opf_call *call, int input) {
    opf_value *value = opf_call_input(call, input);
    search s = {.seen = opf_map_new(call->arena)};
    if (find_inputs(&s, call->arena, value) && s.inputs.count) {
        for (size_t k = 0; k < s.inputs.count; k++) note_needed(call->module, s.inputs.data[k]);
        call->failed = call->deferred = true;
        return OPF_ERROR_UNSUPPORTED;
    }
    opf_status status = opf_call_error(call, "unsupported", "input %d '%s' must be known before the model runs", input, value->name);
    opf_call_hint(call, "it depends on data; make it a constant or compute it from shapes");
    return status;
}

void opf_input_bind(opf_value *input, const opf_tensor *tensor) {
    opf_value *constant = opf_value_constant(input->graph, opf_arena_printf(input->graph->module->arena, "%s.bound", input->name), tensor);
    OPF_PUSH(input->graph->module->arena, &input->graph->module->bound, (opf_bound){input, tensor});
    opf_value_replace(input, constant ? constant : opf_value_constant(input->graph, NULL, tensor)); /* the name may be taken */
}
