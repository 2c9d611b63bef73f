/* Functions written as ONNX's text (onnx.parser, onnx.printer), as far as a function needs it:
 *
 *   [<opset_import: […], domain: "…">]
 *   NAME (x, y) => (z)
 *   {
 *     [label] z = domain.Op <axis = -1, value = float {0.5}> (x, y)
 *   }
 *
 * The head in <> and types of values are passed over. */
#include <ctype.h>
#include <string.h>

#include "pattern/internal.h"

/* ---- attributes ---- */

/* Numbers in braces or brackets, up to `close`. */
static bool read_list(opf_pattern_reader *reader, const char *close, double **out, size_t *count, bool *whole) {
    OPF_VEC(double) numbers = {0};
    *whole = true;
    while (!opf_pattern_accept(reader, close)) {
        double number;
        bool own;
        if (numbers.count && !opf_pattern_expect(reader, ",")) return false;
        if (!opf_pattern_number(reader, &number, &own)) return false;
        *whole = *whole && own;
        OPF_PUSH(reader->arena, &numbers, number);
    }
    *out = numbers.data;
    *count = numbers.count;
    return true;
}

/* "float {0.5}", "int64[2] {1, 2}"; the type's name has been read. */
static bool read_tensor(opf_pattern_reader *reader, const char *type, opf_attr *attr) {
    opf_dtype dtype = opf_dtype_parse(strcmp(type, "float") == 0 ? "float32" : strcmp(type, "double") == 0 ? "float64" : type);
    if (dtype == OPF_NO_DTYPE || dtype == OPF_STRING || opf_dtype_is_packed(dtype)) return opf_pattern_fail(reader, reader->mark, "'%.80s' is no element type that a constant of a pattern has", type);
    int64_t dims[OPF_MAX_RANK], elements = 1;
    int rank = 0;
    double *numbers, size;
    size_t count;
    bool whole, shaped = opf_pattern_accept(reader, "[");
    while (shaped && !opf_pattern_accept(reader, "]")) {
        if ((rank && !opf_pattern_expect(reader, ",")) || !opf_pattern_number(reader, &size, &whole)) return false;
        if (!whole || size < 0 || size > 1 << 20 || rank == OPF_MAX_RANK) return opf_pattern_fail(reader, reader->mark, "'%.0f' is no size of a constant", size);
        elements *= dims[rank++] = (int64_t)size;
        if (elements > 1 << 20) return opf_pattern_fail(reader, reader->mark, "a constant of a pattern has at most %d elements", 1 << 20);
    }
    if (!opf_pattern_expect(reader, "{") || !read_list(reader, "}", &numbers, &count, &whole)) return false;
    if ((int64_t)count != elements) return opf_pattern_fail(reader, reader->at, "%zu elements for a shape of %lld", count, (long long)elements);
    const opf_tensor **tensors = OPF_NEW(reader->arena, const opf_tensor *);
    *tensors = opf_pattern_tensor(reader->arena, dtype, rank, dims, numbers);
    *attr = (opf_attr){.name = attr->name, .kind = OPF_ATTR_TENSOR, .count = 1, .tensors = tensors};
    return true;
}

static void set_numbers(opf_pattern_reader *reader, opf_attr *attr, const double *numbers, size_t count, bool ints, bool list) {
    int64_t *as_ints = OPF_ARRAY(reader->arena, int64_t, count + 1);
    float *as_floats = OPF_ARRAY(reader->arena, float, count + 1);
    for (size_t k = 0; k < count; k++) {
        as_floats[k] = (float)numbers[k];
        as_ints[k] = ints && numbers[k] > -9e18 && numbers[k] < 9e18 ? (int64_t)numbers[k] : 0;
    }
    attr->kind = ints ? (list ? OPF_ATTR_INTS : OPF_ATTR_INT) : list ? OPF_ATTR_FLOATS : OPF_ATTR_FLOAT;
    attr->count = count;
    if (ints) attr->ints = as_ints;
    else attr->floats = as_floats;
}

/* What stands behind `name =`; `declared` is the type in `name: type =`, NULL for none. */
static bool read_value(opf_pattern_reader *reader, const char *declared, opf_attr *attr) {
    bool floats = declared && strncmp(declared, "float", 5) == 0, whole;
    const char *text = opf_pattern_quoted(reader);
    if (reader->failed) return false;
    if (text) {
        const char **strings = OPF_NEW(reader->arena, const char *);
        *strings = text;
        *attr = (opf_attr){.name = attr->name, .kind = OPF_ATTR_STRING, .count = 1, .strings = strings};
        return true;
    }
    if (opf_pattern_accept(reader, "@")) return opf_pattern_fail(reader, reader->at, "a pattern's function has no attributes of its own: write the number");
    double *numbers, number;
    size_t count = 0;
    if (opf_pattern_accept(reader, "[")) {
        if (!read_list(reader, "]", &numbers, &count, &whole)) return false;
        set_numbers(reader, attr, numbers, count, whole && !floats, true);
        return true;
    }
    opf_pattern_blanks(reader);
    if (isalpha((unsigned char)*reader->at)) {
        const char *type = opf_pattern_word(reader, "a value");
        return type && read_tensor(reader, type, attr);
    }
    if (!opf_pattern_number(reader, &number, &whole)) return false;
    set_numbers(reader, attr, &number, 1, whole && !floats, false);
    return true;
}

static bool read_attributes(opf_pattern_reader *reader, opf_pattern_node *node) {
    opf_attr *attrs = OPF_ARRAY(reader->arena, opf_attr, OPF_PATTERN_INPUTS);
    node->attrs = attrs;
    if (!opf_pattern_accept(reader, "<")) return true;
    do {
        if (node->n_attrs == OPF_PATTERN_INPUTS) return opf_pattern_fail(reader, reader->at, "at most %d attributes", OPF_PATTERN_INPUTS);
        opf_attr *attr = &attrs[node->n_attrs++];
        attr->name = opf_pattern_word(reader, "an attribute");
        const char *declared = attr->name && opf_pattern_accept(reader, ":") ? opf_pattern_word(reader, "a type") : NULL;
        if (reader->failed || !opf_pattern_expect(reader, "=") || !read_value(reader, declared, attr)) return false;
    } while (opf_pattern_accept(reader, ","));
    return opf_pattern_expect(reader, ">");
}

/* ---- constants ---- */

/* A Constant's tensor from its one attribute; NULL: reported. */
static const opf_tensor *constant_of(opf_pattern_reader *reader, const opf_pattern_node *node) {
    if (node->n_attrs == 1) {
        const opf_attr *attr = &node->attrs[0];
        bool list = strcmp(attr->name, "value_ints") == 0 || strcmp(attr->name, "value_floats") == 0;
        bool single = strcmp(attr->name, "value_int") == 0 || strcmp(attr->name, "value_float") == 0;
        bool floats = strncmp(attr->name, "value_float", 11) == 0, ints = attr->kind == OPF_ATTR_INT || attr->kind == OPF_ATTR_INTS;
        if (strcmp(attr->name, "value") == 0 && attr->kind == OPF_ATTR_TENSOR) return attr->tensors[0];
        if ((list || single) && (ints || attr->kind == OPF_ATTR_FLOAT || attr->kind == OPF_ATTR_FLOATS)) {
            double *numbers = OPF_ARRAY(reader->arena, double, attr->count + 1);
            for (size_t k = 0; k < attr->count; k++) numbers[k] = ints ? (double)attr->ints[k] : attr->floats[k];
            return opf_pattern_tensor(reader->arena, floats ? OPF_FLOAT32 : OPF_INT64, list, &(const int64_t){(int64_t)attr->count}, numbers);
        }
    }
    opf_pattern_fail(reader, reader->at, "a Constant of a pattern has one attribute: value, value_int, value_ints, value_float or value_floats, of numbers");
    return NULL;
}

/* ---- nodes ---- */

/* Names up to `close`, each a value; "" is one that is left out. Types behind a name, or in front of it, are no part of a pattern. */
static bool read_names(opf_pattern_reader *reader, const char *close, bool may_lack, int **out, int *n) {
    int *numbers = OPF_ARRAY(reader->arena, int, OPF_PATTERN_INPUTS);
    *n = 0;
    *out = numbers;
    if (close && opf_pattern_accept(reader, close)) return true;
    do {
        if (*n == OPF_PATTERN_INPUTS) return opf_pattern_fail(reader, reader->at, "at most %d names", OPF_PATTERN_INPUTS);
        const char *quoted = may_lack ? opf_pattern_quoted(reader) : NULL, *name = quoted || reader->failed ? quoted : opf_pattern_word(reader, "the name of a value");
        if (!name) return false;
        numbers[(*n)++] = *name ? opf_pattern_value_of(reader, name) : -1;
    } while (opf_pattern_accept(reader, ","));
    return !close || opf_pattern_expect(reader, close);
}

/* The operands must be there by now, so that no order of nodes is a cycle. */
static bool check_operands(opf_pattern_reader *reader, const char *place, const int *inputs, int n) {
    const opf_pattern *pattern = reader->pattern;
    for (int k = 0; k < n; k++) {
        const opf_pattern_value *value = inputs[k] < 0 ? NULL : &pattern->values.data[inputs[k]];
        bool known = !value || value->producer >= 0 || value->constant;
        for (size_t i = 0; !known && i < pattern->inputs.count; i++) known = pattern->inputs.data[i] == inputs[k];
        if (!known) return opf_pattern_fail(reader, place, "'%.80s' is read before it is computed, and is no input of the function", value->name);
    }
    return true;
}

static bool set_results(opf_pattern_reader *reader, const char *place, int producer, const int *outputs, int n) {
    for (int k = 0; k < n; k++) {
        if (outputs[k] < 0) continue;
        opf_pattern_value *value = &reader->pattern->values.data[outputs[k]];
        bool known = value->producer >= 0 || value->constant;
        for (size_t i = 0; i < reader->pattern->inputs.count; i++) known = known || reader->pattern->inputs.data[i] == outputs[k];
        if (known) return opf_pattern_fail(reader, place, "'%.80s' is there already", value->name);
        value->producer = producer;
    }
    return true;
}

/* "Op", "domain.Op" or "domain::Op". */
static opf_pattern_operator operator_of(opf_pattern_reader *reader) {
    opf_pattern_operator name = opf_pattern_operator_name(reader);
    const char *point = name.name ? strrchr(name.name, '.') : NULL;
    if (!point || *name.domain) return name;
    name.domain = opf_arena_string_n(reader->arena, name.name, (size_t)(point - name.name));
    name.name = point + 1;
    if (strcmp(name.domain, "ai.onnx") == 0) name.domain = "";
    return name;
}

/* A constant is a value, no node. */
static bool read_node(opf_pattern_reader *reader) {
    opf_pattern *pattern = reader->pattern;
    opf_pattern_node *node = opf_pattern_node_add(reader);
    if (!node) return false;
    *node = (opf_pattern_node){.at = -1, .whole = true};
    if (opf_pattern_accept(reader, "[")) {
        node->label = opf_pattern_word(reader, "a label");
        if (reader->failed || !opf_pattern_expect(reader, "]")) return false;
    }
    int *outputs, *inputs, number = (int)pattern->nodes.count - 1;
    opf_pattern_blanks(reader);
    const char *place = reader->at;
    if (!read_names(reader, NULL, true, &outputs, &node->n_outputs) || !opf_pattern_expect(reader, "=")) return false;
    if (!node->n_outputs || outputs[0] < 0) return opf_pattern_fail(reader, place, "the first result of a node has a name");
    opf_pattern_operator name = operator_of(reader);
    if (reader->failed) return false;
    OPF_PUSH(reader->arena, &node->operators, name);
    if (!read_attributes(reader, node) || !opf_pattern_expect(reader, "(")) return false;
    const char *operands = reader->at;
    if (!read_names(reader, ")", true, &inputs, &node->n_inputs) || !check_operands(reader, operands, inputs, node->n_inputs)) return false;
    node->inputs = inputs;
    node->outputs = outputs;
    bool constant = !*name.domain && strcmp(name.name, "Constant") == 0;
    if (!set_results(reader, place, constant ? -1 : number, outputs, node->n_outputs)) return false;
    if (!constant) return true;
    pattern->values.data[outputs[0]].constant = constant_of(reader, node);
    pattern->nodes.count--;
    return !reader->failed;
}

/* ---- the function ---- */

static bool skip_head(opf_pattern_reader *reader) {
    if (!opf_pattern_accept(reader, "<")) return true;
    reader->at += strcspn(reader->at, ">");
    return opf_pattern_expect(reader, ">");
}

static void take_list(opf_pattern_reader *reader, const int *numbers, int n, bool inputs) {
    for (int k = 0; k < n; k++) {
        if (inputs) OPF_PUSH(reader->arena, &reader->pattern->inputs, numbers[k]);
        else OPF_PUSH(reader->arena, &reader->pattern->results, numbers[k]);
    }
}

static bool check_results(opf_pattern_reader *reader, const char *place) {
    const opf_pattern *pattern = reader->pattern;
    if (!pattern->nodes.count) return opf_pattern_fail(reader, place, "the function has no node");
    for (size_t r = 0; r < pattern->results.count; r++)
        if (pattern->values.data[pattern->results.data[r]].producer < 0)
            return opf_pattern_fail(reader, place, "result '%.80s' of the function is computed by none of its nodes", pattern->values.data[pattern->results.data[r]].name);
    return true;
}

void opf_pattern_function_text(opf_pattern_reader *reader) {
    int *numbers, n;
    if (!skip_head(reader)) return;
    opf_pattern_blanks(reader);
    const char *place = reader->at;
    if (*reader->at != '(' && !opf_pattern_word(reader, "the function's name, or a file")) return;
    if (!skip_head(reader) || !opf_pattern_expect(reader, "(") || !read_names(reader, ")", false, &numbers, &n)) return;
    take_list(reader, numbers, n, true);
    if (!opf_pattern_expect(reader, "=>") || !opf_pattern_expect(reader, "(")) return;
    size_t n_values = reader->pattern->values.count;
    if (!read_names(reader, ")", false, &numbers, &n)) return;
    if (!n) opf_pattern_fail(reader, place, "the function has no result");
    for (int k = 0; k < n && !reader->failed; k++)
        if ((size_t)numbers[k] < n_values) opf_pattern_fail(reader, place, "'%.80s' is an input and a result of the function, or twice a result", reader->pattern->values.data[numbers[k]].name);
    take_list(reader, numbers, n, false);
    if (reader->failed || !skip_head(reader) || !opf_pattern_expect(reader, "{")) return;
    while (!opf_pattern_accept(reader, "}"))
        if (!*reader->at ? !opf_pattern_expect(reader, "}") : !read_node(reader)) return;
    check_results(reader, place);
}
