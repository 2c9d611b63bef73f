/* Conditions on single nodes of a model. */
#include <math.h>
#include <string.h>

#include "ops/build.h"
#include "pattern/internal.h"

static bool no(opf_arena *arena, const char **why, const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool no(opf_arena *arena, const char **why, const char *format, ...) {
    if (!why) return false;
    opf_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    opf_text_vprintf(&text, format, arguments);
    va_end(arguments);
    *why = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return false;
}

static bool compares(const opf_pattern_test *test, double number) {
    switch (test->compare) {
    case OPF_TEST_EQ: return number == test->number;
    case OPF_TEST_NE: return number != test->number;
    case OPF_TEST_LT: return number < test->number;
    case OPF_TEST_LE: return number <= test->number;
    case OPF_TEST_GT: return number > test->number;
    default: return number >= test->number;
    }
}

/* ---- attributes ---- */

static bool same_numbers(const opf_attr *wanted, const opf_attr *attr) {
    bool ints = attr->kind == OPF_ATTR_INT || attr->kind == OPF_ATTR_INTS, floats = attr->kind == OPF_ATTR_FLOAT || attr->kind == OPF_ATTR_FLOATS;
    if (!(ints || floats) || attr->count != wanted->count) return false;
    for (size_t k = 0; k < attr->count; k++)
        if ((ints ? (float)attr->ints[k] : attr->floats[k]) != wanted->floats[k]) return false;
    return true;
}

static bool attribute_holds(const opf_pattern_test *test, const opf_node *node, opf_arena *arena, const char **why) {
    const opf_attr *attr = opf_node_attr(node, test->name);
    if (test->what == OPF_TEST_ABSENT) return !attr || no(arena, why, "it has an attribute %s", test->name);
    if (!attr) return no(arena, why, "it has no attribute %s: `%s` does not hold", test->name, test->text);
    bool holds = test->value->kind == OPF_ATTR_STRING ? attr->kind == OPF_ATTR_STRING && strcmp(attr->strings[0], test->value->strings[0]) == 0 : same_numbers(test->value, attr);
    return holds || no(arena, why, "its attribute %s is another: `%s` does not hold", test->name, test->text);
}

/* ---- values ---- */

static bool type_holds(const opf_pattern_test *test, const opf_value *value, opf_arena *arena, const char **why) {
    return (test->types >> value->dtype & 1) || no(arena, why, "'%s' is of type %s: `%s` does not hold", value->name, opf_dtype_name(value->dtype), test->text);
}

static bool rank_holds(const opf_pattern_test *test, const opf_value *value, opf_arena *arena, const char **why) {
    return (value->rank >= 0 && compares(test, value->rank)) || no(arena, why, "'%s' has %d axes: `%s` does not hold", value->name, value->rank, test->text);
}

static bool dim_holds(const opf_pattern_test *test, const opf_value *value, opf_arena *arena, const char **why) {
    int axis = test->axis + (test->axis < 0 ? value->rank : 0);
    if (value->rank < 0 || !value->dims || axis < 0 || axis >= value->rank) return no(arena, why, "'%s' has no axis %d: `%s` does not hold", value->name, test->axis, test->text);
    int64_t size;
    if (opf_is_int(value->dims[axis], &size)) return compares(test, (double)size) || no(arena, why, "axis %d of '%s' is %lld: `%s` does not hold", test->axis, value->name, (long long)size, test->text);
    opf_text text = {0};
    opf_expr_print(value->dims[axis], NULL, &text);
    no(arena, why, "axis %d of '%s' is %s, known only when the model runs: `%s` cannot be decided", test->axis, value->name, opf_text_string(&text), test->text);
    opf_text_free(&text);
    return false;
}

/* Every element is the number. Content is what shape arithmetic knows. */
static bool number_holds(const opf_pattern_test *test, const opf_value *value, opf_arena *arena, const char **why) {
    if (!value->constant || value->constant->is_list || value->constant->dtype == OPF_STRING) return no(arena, why, "'%s' is no constant: `%s` does not hold", value->name, test->text);
    for (int64_t i = 0; i < value->constant->elements; i++) {
        double element = opf_tensor_get(value->constant, i), wanted = value->constant->dtype == OPF_FLOAT32 ? (double)(float)test->number : test->number;
        if (element != wanted && !(isnan(element) && isnan(wanted))) return no(arena, why, "element %lld of '%s' is %.9g: `%s` does not hold", (long long)i, value->name, element, test->text);
    }
    return value->constant->elements > 0 || no(arena, why, "'%s' is empty: `%s` does not hold", value->name, test->text);
}

bool opf_pattern_test_holds(const opf_pattern_test *test, opf_node *node, opf_arena *arena, const char **why) {
    if (test->what == OPF_TEST_ATTRIBUTE || test->what == OPF_TEST_ABSENT) return attribute_holds(test, node, arena, why);
    const opf_value *value = NULL;
    for (int k = 0; test->input < 0 && !value && k < node->n_outputs; k++) value = node->outputs[k];
    if (test->input >= 0 && test->input < node->n_inputs - node->n_tables) value = node->inputs[test->input];
    if (!value) return no(arena, why, "it has no operand %d: `%s` does not hold", test->input, test->text);
    switch (test->what) {
    case OPF_TEST_TYPE: return type_holds(test, value, arena, why);
    case OPF_TEST_RANK: return rank_holds(test, value, arena, why);
    case OPF_TEST_DIM: return dim_holds(test, value, arena, why);
    case OPF_TEST_CONSTANT: return value->constant || no(arena, why, "'%s' is no constant: `%s` does not hold", value->name, test->text);
    default: return number_holds(test, value, arena, why);
    }
}

/* ---- functions: all attributes ---- */

static bool same_tensor(const opf_tensor *a, const opf_tensor *b) {
    if (a->dtype != b->dtype || a->rank != b->rank || a->elements != b->elements || a->dtype == OPF_STRING) return false;
    for (int k = 0; k < a->rank; k++)
        if (a->dims[k] != b->dims[k]) return false;
    for (int64_t i = 0; i < a->elements; i++)
        if (opf_tensor_get(a, i) != opf_tensor_get(b, i)) return false;
    return true;
}

static bool same_attr(const opf_attr *a, const opf_attr *b) {
    if (a->kind != b->kind || a->count != b->count) return false;
    for (size_t k = 0; k < a->count; k++)
        switch (a->kind) {
        case OPF_ATTR_FLOAT: case OPF_ATTR_FLOATS:
            if (a->floats[k] != b->floats[k]) return false;
            break;
        case OPF_ATTR_INT: case OPF_ATTR_INTS:
            if (a->ints[k] != b->ints[k]) return false;
            break;
        case OPF_ATTR_STRING: case OPF_ATTR_STRINGS:
            if (strcmp(a->strings[k], b->strings[k]) != 0) return false;
            break;
        case OPF_ATTR_TENSOR:
            if (!same_tensor(a->tensors[k], b->tensors[k])) return false;
            break;
        default: return false; /* graphs and types are never the same */
        }
    return true;
}

static const opf_attr *find(const opf_attr *attrs, int n, const char *name) {
    for (int k = 0; k < n; k++)
        if (strcmp(attrs[k].name, name) == 0) return &attrs[k];
    return NULL;
}

static bool same_stage(const opf_stage *a, const opf_stage *b) {
    if (a->n_axes != b->n_axes || a->n_reduce != b->n_reduce || a->combiner != b->combiner || a->dtype != b->dtype || a->accumulator != b->accumulator || a->body != b->body || a->second != b->second) return false;
    for (int k = 0; k < a->n_axes + a->n_reduce; k++)
        if (a->extents[k] != b->extents[k]) return false;
    return true;
}

static bool same_library(const opf_library_call *a, const opf_library_call *b) {
    bool same = a->kernel == b->kernel && a->ints.count == b->ints.count && a->floats.count == b->floats.count && !a->constants.count && !b->constants.count;
    for (size_t k = 0; same && k < a->ints.count; k++) same = a->ints.data[k] == b->ints.data[k];
    for (size_t k = 0; same && k < a->floats.count; k++) same = a->floats.data[k] == b->floats.data[k];
    return same;
}

static bool same_call(const opf_call *a, const opf_call *b, int n_outputs) {
    if (a->control || b->control || !a->library != !b->library) return false;
    if (a->library) return same_library(a->library, b->library);
    bool same = a->stages.list.count == b->stages.list.count && a->stages.inputs.count == b->stages.inputs.count;
    for (size_t s = 0; same && s < a->stages.list.count; s++) same = same_stage(a->stages.list.data[s], b->stages.list.data[s]);
    for (int k = 0; same && k < n_outputs; k++) same = a->results[k] == b->results[k];
    return same;
}

/* Does the node compute the same with the pattern's attributes in place of its own? Defaults, written out or not, are then the same.
 * The trial leaves no guard and no size behind. */
static bool same_meaning(const opf_pattern_node *pattern, opf_node *node) {
    opf_module *module = node->graph->module;
    if (node->n_tables || node->control || !opf_node_op(node)) return false;
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && !opf_value_is_typed(node->inputs[k])) return false;
    opf_node changed = *node;
    changed.attrs = opf_arena_copy(module->arena, pattern->attrs ? pattern->attrs : node->attrs, (size_t)pattern->n_attrs * sizeof *changed.attrs);
    changed.n_attrs = pattern->n_attrs;
    size_t guards = module->guards.count, counts = module->counts.count, by_value = module->by_value.count;
    opf_call *own = opf_call_new(node, true), *other = opf_call_new(&changed, true);
    bool same = opf_call_run(own) == OPF_OK && opf_call_run(other) == OPF_OK && same_call(own, other, node->n_outputs);
    module->guards.count = guards;
    module->counts.count = counts;
    module->by_value.count = by_value;
    return same;
}

bool opf_pattern_attrs_hold(const opf_pattern_node *pattern, opf_node *node, opf_arena *arena, const char **why) {
    const char *differs = NULL;
    for (int k = 0; !differs && k < pattern->n_attrs; k++) {
        const opf_attr *own = find(node->attrs, node->n_attrs, pattern->attrs[k].name);
        if (!own || !same_attr(&pattern->attrs[k], own)) differs = pattern->attrs[k].name;
    }
    for (int k = 0; !differs && k < node->n_attrs; k++)
        if (!find(pattern->attrs, pattern->n_attrs, node->attrs[k].name)) differs = node->attrs[k].name;
    return !differs || same_meaning(pattern, node) || no(arena, why, "its attribute %s is not that of the function, and means something else", differs);
}

bool opf_pattern_constant_holds(const opf_tensor *wanted, const opf_value *value) {
    const opf_tensor *own = value->constant;
    if (!own || own->is_list || own->dtype != wanted->dtype || own->elements != wanted->elements || own->dtype == OPF_STRING) return false;
    bool shape = own->elements == 1 || own->rank == wanted->rank;
    for (int k = 0; shape && own->elements != 1 && k < own->rank; k++) shape = own->dims[k] == wanted->dims[k];
    for (int64_t i = 0; shape && i < own->elements; i++) {
        double a = opf_tensor_get(own, i), b = opf_tensor_get(wanted, i);
        if (a != b && !(isnan(a) && isnan(b))) return false;
    }
    return shape;
}
