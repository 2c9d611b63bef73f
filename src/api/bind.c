/* Models whose inputs decide ranks, sizes or permutations: the same model with the values of these inputs put in. */
#include <stdlib.h>
#include <string.h>

#include "api/model.h"

static opf_place place_of(const opf_model *model) { return (opf_place){model->source.path, NULL, NULL, -1}; }

static opf_status refuse(opf_model *model, const opf_value *input, const char *what) {
    opf_diags *diags = model->context->diags;
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "input", place_of(model), "input '%s' decides a size, an axis or an order, and %s", input->name, what);
    opf_diag_hint(diags, diag, "--input %s=FILE gives its value", input->name);
    return OPF_ERROR_INPUT;
}

opf_status opf_model_refuse_unbound(opf_model *model, const opf_module *module) {
    opf_status status = OPF_OK;
    for (size_t i = 0; i < module->by_value.count; i++) status = refuse(model, module->by_value.data[i], "its value is not given");
    return status;
}

/* ---- taking values ---- */

/* Does the shape suit what the file declares? Sizes that it leaves open are the value's. */
static bool suits(const opf_value *input, const opf_array *array) {
    if (array->dtype != (int)input->dtype || array->rank != input->rank) return false;
    int64_t size;
    for (int k = 0; k < array->rank; k++)
        if (opf_is_int(input->dims[k], &size) && size != array->dims[k]) return false;
    return true;
}

static opf_status take_value(opf_model *bound, const opf_value *input, const opf_array *array) {
    const opf_tensor *given = NULL;
    if (!suits(input, array)) return refuse(bound, input, "the value given is of another type or shape");
    opf_status status = opf_array_tensor(&given, array, bound->arena, bound->context->diags);
    if (status != OPF_OK) return status;
    opf_tensor *own = OPF_NEW(bound->arena, opf_tensor);
    *own = *given;
    own->dims = opf_arena_copy(bound->arena, given->dims, (size_t)given->rank * sizeof *given->dims);
    own->data = opf_arena_copy(bound->arena, given->data, given->bytes);
    bound->values[input->input_index] = own;
    return OPF_OK;
}

/* Reads and types the model until no further input is needed: what hangs on a value is typed once the value is there. */
static opf_status bind(opf_model *bound, const opf_array *inputs) {
    for (;;) {
        opf_module *module;
        opf_status status = opf_model_as_read(&module, bound);
        if (status == OPF_OK && !module->by_value.count) return opf_check_declared(module, bound->context->diags);
        if (status != OPF_OK) return status;
        for (size_t i = 0; i < module->by_value.count && status == OPF_OK; i++) {
            const opf_value *input = module->by_value.data[i];
            const opf_array *array = &inputs[input->input_index];
            bool there = array->data || opf_array_elements(array) == 0;
            status = there ? take_value(bound, input, array) : refuse(bound, input, "its value is not given");
        }
        if (status != OPF_OK) return status;
        opf_module_free(opf_model_take(bound));
    }
}

/* The same source, with what is bound already: `model` outlives it. */
static opf_model *copy_of(const opf_model *model) {
    opf_model *copy = opf_model_new(model->context, model->source);
    copy->n_inputs = model->n_inputs;
    copy->values = OPF_ARRAY(copy->arena, const opf_tensor *, model->n_inputs + 1);
    for (size_t i = 0; i < model->n_inputs; i++) copy->values[i] = model->values ? model->values[i] : NULL;
    copy->empty = model->empty;
    copy->n_empty = model->n_empty;
    return copy;
}

/* Binds what is needed, describes and hands over. */
static opf_status finish(opf_model **out, opf_model *bound, const opf_array *inputs) {
    opf_status status = bind(bound, inputs);
    if (status != OPF_OK) {
        opf_model_free(bound);
        return status;
    }
    opf_model_describe(bound);
    *out = bound;
    return OPF_OK;
}

opf_status opf_model_bind(opf_model **out, opf_model *model, const opf_array *inputs) {
    *out = NULL;
    return finish(out, copy_of(model), inputs);
}

/* ---- empty axes ---- */

static bool is_empty_here(const opf_port *port, const opf_array *array, int axis) {
    return array->kind == OPF_ARRAY_TENSOR && axis < array->rank && port->dims[axis] < 0 && array->dims[axis] == 0;
}

bool opf_model_is_open_for_empty(const opf_model *model, const opf_array *inputs) {
    for (size_t i = 0; i < model->n_inputs; i++)
        for (int k = 0; k < model->inputs[i].rank; k++)
            if (is_empty_here(&model->inputs[i], &inputs[i], k)) return true;
    return false;
}

opf_status opf_model_bind_empty(opf_model **out, opf_model *model, const opf_array *inputs) {
    opf_model *bound = copy_of(model);
    OPF_VEC(opf_pin) pins = {0};
    *out = NULL;
    for (size_t i = 0; i < model->n_empty; i++) OPF_PUSH(bound->arena, &pins, model->empty[i]);
    for (size_t i = 0; i < model->n_inputs; i++)
        for (int k = 0; k < model->inputs[i].rank; k++)
            if (is_empty_here(&model->inputs[i], &inputs[i], k)) OPF_PUSH(bound->arena, &pins, (opf_pin){.input = model->inputs[i].name, .axis = k});
    bound->empty = pins.data;
    bound->n_empty = pins.count;
    return finish(out, bound, inputs);
}

/* ---- comparing ---- */

bool opf_model_holds(const opf_model *bound, size_t index, const opf_array *array) {
    const opf_tensor *value = bound->values ? bound->values[index] : NULL;
    if (!value) return true;
    if (array->dtype != (int)value->dtype || array->rank != value->rank) return false;
    if (value->rank && memcmp(array->dims, value->dims, (size_t)value->rank * sizeof *value->dims) != 0) return false;
    return !value->bytes || memcmp(array->data, value->data, value->bytes) == 0;
}

/* Is an axis that is empty in the model empty here, too? Others of it have the size 0 by typing. */
static bool are_empty(const opf_model *bound, const opf_array *inputs) {
    for (size_t i = 0; i < bound->n_inputs && bound->n_empty; i++)
        for (int k = 0; k < bound->inputs[i].rank; k++)
            if (bound->inputs[i].dims[k] == 0 && (inputs[i].kind != OPF_ARRAY_TENSOR || k >= inputs[i].rank || inputs[i].dims[k] != 0)) return false;
    return !bound->n_empty || !opf_model_is_open_for_empty(bound, inputs);
}

bool opf_model_holds_all(const opf_model *bound, const opf_array *inputs) {
    for (size_t i = 0; i < bound->n_inputs; i++)
        if (!opf_model_holds(bound, i, &inputs[i])) return false;
    return are_empty(bound, inputs);
}
