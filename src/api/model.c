/* Models: read, typed, and described by their ports. */
#include "api/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "onnx/onnx.h"
#include "ops/lists.h"

/* A model's own function comes before any operator of its name, as ONNX has it. */
static void note_functions(const opf_module *module, const opf_context *context) {
    for (size_t k = 0; k < module->functions.count; k++) {
        const char *domain = module->functions.data[k].domain, *name = module->functions.data[k].name;
        const opf_op *own = opf_user_ops_first(context->operators, domain, name);
        if (own) opf_diag_add(context->diags, OPF_WARNING, "operators", (opf_place){.file = module->path, .index = -1},
                              "the model defines the function %s%s%s itself; the operator of %s is not used", domain, *domain ? "::" : "", name, opf_op_source(own));
    }
}

/* The caller of a model whose file promises maps must know what comes instead. */
static void note_maps(const opf_module *module, const opf_context *context) {
    for (size_t k = 0; k < module->graph->outputs.count; k++) {
        const opf_value *output = module->graph->outputs.data[k];
        if (output->producer && opf_type_holds_map(output->declared))
            opf_diag_add(context->diags, OPF_NOTE, "type", (opf_place){.file = module->path, .index = -1},
                         "output '%s' is made of maps; it is given as the tensor of their values: a row a map, a column a class, in the order of the classes", output->name);
    }
}

static bool has_node(const opf_graph *graph, const char *name) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        if (strcmp(node->name, name) == 0) return true;
        for (int k = 0; k < node->n_attrs; k++)
            for (size_t g = 0; (node->attrs[k].kind == OPF_ATTR_GRAPH || node->attrs[k].kind == OPF_ATTR_GRAPHS) && g < node->attrs[k].count; g++)
                if (has_node(node->attrs[k].graphs[g], name)) return true;
    }
    return false;
}

static void note_wide_sums(const opf_module *module, const opf_context *context) {
    const opf_wide_sums *wide = &context->options.wide_sums;
    for (size_t i = 0; i < wide->nodes.count; i++)
        if (!has_node(module->graph, wide->nodes.data[i]))
            opf_diag_add(context->diags, OPF_WARNING, "usage", (opf_place){.file = module->path, .index = -1}, "the model has no node '%s', which --wide-sums names", wide->nodes.data[i]);
}

opf_status opf_source_read(opf_module **out, const opf_source *source, const opf_context *context) {
    opf_diags *diags = context->diags;
    opf_status status = source->data ? opf_onnx_read_memory(out, source->data, source->size, source->path, diags) : opf_onnx_read(out, source->path, diags);
    if (status != OPF_OK) return status;
    (*out)->operators = context->operators;
    const opf_wide_sums *wide = &context->options.wide_sums;
    (*out)->wide_sums = wide->all || wide->nodes.count ? wide : NULL;
    note_wide_sums(*out, context);
    note_functions(*out, context);
    note_maps(*out, context);
    return OPF_OK;
}

opf_status opf_context_type(const opf_context *context, opf_module *module) {
    return opf_graph_type(module, context->options.pins.data, context->options.pins.count);
}

opf_status opf_model_read(opf_module **out, const opf_model *model) {
    opf_status status = opf_source_read(out, &model->source, model->context);
    for (size_t i = 0; model->values && i < model->n_inputs && status == OPF_OK; i++)
        if (model->values[i]) opf_input_bind((*out)->graph->inputs.data[i], model->values[i]);
    return status;
}

/* The sizes of bound inputs are pinned beside those that the context pins. */
opf_status opf_model_type(const opf_model *model, opf_module *module) {
    const opf_options *options = &model->context->options;
    OPF_VEC(opf_pin) pins = {0};
    for (size_t i = 0; i < options->pins.count; i++) OPF_PUSH(module->arena, &pins, options->pins.data[i]);
    for (size_t i = 0; model->values && i < model->n_inputs; i++)
        for (int k = 0; model->values[i] && k < model->values[i]->rank; k++)
            OPF_PUSH(module->arena, &pins, (opf_pin){.input = module->graph->inputs.data[i]->name, .axis = k, .size = model->values[i]->dims[k]});
    for (size_t i = 0; i < model->n_empty; i++) OPF_PUSH(module->arena, &pins, model->empty[i]);
    return opf_graph_type(module, pins.data, pins.count);
}

/* ---- ports ---- */

static const char *dim_text(opf_arena *arena, opf_dim dim) {
    opf_text text = {0};
    if (dim) opf_expr_print(dim, NULL, &text);
    else opf_text_add(&text, "?");
    const char *string = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return string;
}

/* The axes are those of the elements. */
static opf_port list_port_of(opf_arena *arena, const opf_value *value, const char *name) {
    const opf_list_type *list = value->list;
    int rank = list->rank > 0 ? list->rank : 0;
    int64_t *dims = OPF_ARRAY(arena, int64_t, rank + 1);
    const char **names = OPF_ARRAY(arena, const char *, rank + 1);
    for (int k = 0; k < rank; k++) {
        if (!list->dims[k] || !opf_is_int(list->dims[k], &dims[k])) dims[k] = -1;
        names[k] = dim_text(arena, list->dims[k]);
    }
    return (opf_port){.name = opf_arena_string(arena, name), .dtype = (int)value->dtype, .rank = list->rank >= 0 ? list->rank : -1, .dims = dims, .dim_names = names,
                      .sequence = list->sequence, .optional = list->optional};
}

static opf_port port_of(opf_arena *arena, const opf_value *value, const char *name) {
    if (value->list) return list_port_of(arena, value, name);
    const opf_list_type *declared = value->kind != OPF_VALUE_TENSOR && value->declared ? opf_list_declared(value->graph->module, value->declared) : NULL;
    if (declared) return (opf_port){.name = opf_arena_string(arena, name), .dtype = (int)value->declared_dtype, .rank = -1, .sequence = declared->sequence, .optional = declared->optional};
    int rank = value->rank > 0 ? value->rank : 0;
    int64_t *dims = OPF_ARRAY(arena, int64_t, rank + 1);
    const char **names = OPF_ARRAY(arena, const char *, rank + 1);
    for (int k = 0; k < rank; k++) {
        if (!value->dims || !value->dims[k] || !opf_is_int(value->dims[k], &dims[k])) dims[k] = -1;
        names[k] = dim_text(arena, value->dims ? value->dims[k] : NULL);
    }
    return (opf_port){.name = opf_arena_string(arena, name), .dtype = (int)value->dtype, .rank = value->rank, .dims = dims, .dim_names = names};
}

/* Of an output that the file declares as maps: the classes of the ZipMap that makes it. */
static const opf_map_keys *map_keys_of(opf_arena *arena, const opf_value *output) {
    if (!output->producer || !opf_type_holds_map(output->declared)) return NULL;
    const opf_attr *numbers = opf_node_attr(output->producer, "classlabels_int64s"), *texts = opf_node_attr(output->producer, "classlabels_strings");
    opf_map_keys *keys = OPF_ARRAY(arena, opf_map_keys, 1);
    if (numbers && numbers->kind == OPF_ATTR_INTS && numbers->count > 0) {
        int64_t *copy = OPF_ARRAY(arena, int64_t, numbers->count);
        memcpy(copy, numbers->ints, numbers->count * sizeof *copy);
        *keys = (opf_map_keys){.numbers = copy, .count = numbers->count};
        return keys;
    }
    if (!texts || texts->kind != OPF_ATTR_STRINGS) return NULL;
    const char **copy = OPF_ARRAY(arena, const char *, texts->count + 1);
    for (size_t i = 0; i < texts->count; i++) copy[i] = opf_arena_string(arena, texts->strings[i]);
    *keys = (opf_map_keys){.texts = copy, .count = texts->count};
    return keys;
}

void opf_model_describe(opf_model *model) {
    const opf_module *module = model->module;
    const opf_graph *graph = module->graph;
    model->needs_values = module->by_value.count > 0;
    model->n_inputs = graph->inputs.count;
    model->n_outputs = graph->outputs.count;
    model->inputs = OPF_ARRAY(model->arena, opf_port, model->n_inputs + 1);
    model->outputs = OPF_ARRAY(model->arena, opf_port, model->n_outputs + 1);
    for (size_t i = 0; i < model->n_inputs; i++) model->inputs[i] = port_of(model->arena, graph->inputs.data[i], graph->inputs.data[i]->name);
    for (size_t i = 0; i < model->n_outputs; i++) model->outputs[i] = port_of(model->arena, graph->outputs.data[i], graph->output_names.data[i]);
    for (size_t i = 0; i < model->n_outputs; i++) model->outputs[i].map_keys = map_keys_of(model->arena, graph->outputs.data[i]);
    for (size_t i = 0; i < model->n_inputs; i++) model->inputs[i].by_value = model->values && model->values[i];
    for (size_t i = 0; i < module->by_value.count; i++) model->inputs[module->by_value.data[i]->input_index].by_value = 1;
}

/* ---- loading ---- */

opf_status opf_model_as_read(opf_module **out, opf_model *model) {
    opf_status status = OPF_OK;
    int64_t begun = opf_clock_now(), read = begun;
    if (!model->module) {
        status = opf_model_read(&model->module, model);
        read = opf_clock_now();
        if (status == OPF_OK) status = opf_model_type(model, model->module);
        model->read_time = read - begun;
        model->type_time = opf_clock_now() - read;
    }
    if (status == OPF_OK) model->module->accuracy = model->context->options.accuracy;
    *out = model->module;
    return status;
}

opf_module *opf_model_take(opf_model *model) {
    opf_module *module = model->module;
    model->module = NULL;
    return module;
}

opf_model *opf_model_new(opf_context *context, opf_source source) {
    opf_model *model = calloc(1, sizeof *model);
    if (!model) opf_out_of_memory();
    model->context = context;
    model->arena = opf_arena_new();
    model->source = source;
    model->source.path = opf_arena_string(model->arena, source.path);
    return model;
}

static opf_status load(opf_model **out, opf_context *context, opf_source source) {
    *out = NULL;
    opf_model *model = opf_model_new(context, source);
    opf_module *module;
    opf_status status = opf_model_as_read(&module, model);
    if (status == OPF_OK) status = opf_check_declared(module, context->diags);
    if (status != OPF_OK) {
        opf_model_free(model);
        return status;
    }
    opf_model_describe(model);
    *out = model;
    return OPF_OK;
}

opf_status opf_model_load(opf_model **out, opf_context *context, const char *path) {
    return load(out, context, (opf_source){.path = path});
}

opf_status opf_model_load_memory(opf_model **out, opf_context *context, const void *data, size_t size, const char *name) {
    static const char nothing[1];
    return load(out, context, (opf_source){.path = name ? name : "memory", .data = data ? data : nothing, .size = data ? size : 0});
}

void opf_model_free(opf_model *model) {
    if (!model) return;
    opf_session_free(model->checked);
    opf_model_free(model->bound);
    if (model->module) opf_module_free(model->module);
    opf_arena_free(model->arena);
    free(model);
}

size_t opf_model_inputs(const opf_model *model) { return model->n_inputs; }
size_t opf_model_outputs(const opf_model *model) { return model->n_outputs; }
opf_port opf_model_input(const opf_model *model, size_t index) { return model->inputs[index]; }
opf_port opf_model_output(const opf_model *model, size_t index) { return model->outputs[index]; }
