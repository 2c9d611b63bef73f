/* A model-local function of an .onnx file as a pattern. */
#include <string.h>

#include "onnx/onnx.h"
#include "pattern/internal.h"

typedef struct taking {
    opf_pattern_reader *reader;
    opf_arena *arena;
    const char *place;
    opf_map numbers; /* value → its number + 1 */
} taking;

/* The module of the file goes; what stays is copied. */
static const opf_tensor *copy_tensor(opf_arena *arena, const opf_tensor *from) {
    opf_tensor *to = opf_tensor_zeros(arena, from->dtype, from->rank, from->dims, NULL);
    opf_tensor_copy(from, (void *)(uintptr_t)to->data);
    return to;
}

static int number_of(taking *t, const opf_value *value) {
    int number = (int)(intptr_t)opf_map_get(&t->numbers, value) - 1;
    if (number >= 0) return number;
    opf_pattern *pattern = t->reader->pattern;
    opf_pattern_value own = {.name = opf_arena_string(t->arena, value->name), .producer = -1};
    if (value->constant && value->constant->dtype == OPF_STRING) opf_pattern_fail(t->reader, t->place, "value '%.80s' of the function is a constant of strings, which no pattern compares", value->name);
    else if (value->constant) own.constant = copy_tensor(t->arena, value->constant);
    OPF_PUSH(t->arena, &pattern->values, own);
    number = (int)pattern->values.count - 1;
    opf_map_set(&t->numbers, value, (void *)(intptr_t)(number + 1));
    return number;
}

static const int *numbers_of(taking *t, opf_value *const *values, int n) {
    int *numbers = OPF_ARRAY(t->arena, int, n + 1);
    for (int k = 0; k < n; k++) numbers[k] = values[k] ? number_of(t, values[k]) : -1;
    return numbers;
}

static bool copy_attr(taking *t, opf_attr *to, const opf_attr *from) {
    *to = (opf_attr){.name = opf_arena_string(t->arena, from->name), .kind = from->kind, .count = from->count};
    const char **strings = OPF_ARRAY(t->arena, const char *, from->count + 1);
    const opf_tensor **tensors = OPF_ARRAY(t->arena, const opf_tensor *, from->count + 1);
    switch (from->kind) {
    case OPF_ATTR_FLOAT: case OPF_ATTR_FLOATS: to->floats = opf_arena_copy(t->arena, from->floats, from->count * sizeof *from->floats); return true;
    case OPF_ATTR_INT: case OPF_ATTR_INTS: to->ints = opf_arena_copy(t->arena, from->ints, from->count * sizeof *from->ints); return true;
    case OPF_ATTR_STRING: case OPF_ATTR_STRINGS:
        for (size_t k = 0; k < from->count; k++) strings[k] = opf_arena_string(t->arena, from->strings[k]);
        to->strings = strings;
        return true;
    case OPF_ATTR_TENSOR: case OPF_ATTR_TENSORS:
        for (size_t k = 0; k < from->count; k++) tensors[k] = copy_tensor(t->arena, from->tensors[k]);
        to->tensors = tensors;
        return true;
    default: return opf_pattern_fail(t->reader, t->place, "attribute '%.80s' of the function is %s, which no pattern compares", from->name, opf_attr_kind_name(from->kind));
    }
}

static bool take_node(taking *t, const opf_node *node) {
    opf_pattern_node *own = opf_pattern_node_add(t->reader);
    if (!own) return false;
    own->whole = true;
    own->label = opf_arena_string(t->arena, node->name);
    OPF_PUSH(t->arena, &own->operators, (opf_pattern_operator){opf_arena_string(t->arena, node->domain), opf_arena_string(t->arena, node->op)});
    opf_attr *attrs = OPF_ARRAY(t->arena, opf_attr, node->n_attrs + 1);
    for (int a = 0; a < node->n_attrs; a++)
        if (!copy_attr(t, &attrs[a], &node->attrs[a])) return false;
    own->attrs = attrs;
    own->n_attrs = node->n_attrs;
    own->n_inputs = node->n_inputs;
    own->n_outputs = node->n_outputs;
    int number = (int)t->reader->pattern->nodes.count - 1;
    const int *inputs = numbers_of(t, node->inputs, node->n_inputs), *outputs = numbers_of(t, node->outputs, node->n_outputs);
    for (int k = 0; k < node->n_outputs; k++)
        if (outputs[k] >= 0) t->reader->pattern->values.data[outputs[k]].producer = number;
    own->inputs = inputs;
    own->outputs = outputs;
    return !t->reader->failed;
}

static void take_graph(taking *t, const opf_graph *graph) {
    opf_pattern *pattern = t->reader->pattern;
    for (size_t i = 0; i < graph->inputs.count; i++) OPF_PUSH(t->arena, &pattern->inputs, number_of(t, graph->inputs.data[i]));
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (!take_node(t, graph->nodes.data[i])) return;
    for (size_t i = 0; i < graph->outputs.count && !t->reader->failed; i++) {
        if (!graph->outputs.data[i]->producer) opf_pattern_fail(t->reader, t->place, "result '%.80s' of the function is computed by none of its nodes", graph->outputs.data[i]->name);
        OPF_PUSH(t->arena, &pattern->results, number_of(t, graph->outputs.data[i]));
    }
}

void opf_pattern_function_file(opf_pattern_reader *reader, const char *path, const char *name, const char *place) {
    opf_diags *aside = opf_diags_new();
    opf_module *module;
    if (opf_onnx_read_function(&module, path, name, aside) == OPF_OK) {
        taking t = {.reader = reader, .arena = reader->arena, .place = place, .numbers = opf_map_new(reader->arena)};
        take_graph(&t, module->graph);
        for (size_t i = 0; i < module->files.count; i++) opf_pattern_note_read(reader, path, module->files.data[i].data, module->files.data[i].size);
        opf_module_free(module);
    } else {
        const char *why = opf_diags_count(aside) ? opf_diags_at(aside, 0)->message : "cannot be read";
        opf_pattern_fail(reader, place, "function %s%s'%.200s': %.200s", name ? name : "", name ? " of " : "", path, why);
    }
    opf_diags_free(aside);
}
