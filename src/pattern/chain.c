/* Chains: `[LABEL:] OPERATOR[|OPERATOR…][?][[CONDITION, …]] -> …`, and the conditions of their steps. */
#include <ctype.h>
#include <string.h>

#include "pattern/internal.h"

/* ---- conditions ---- */

static bool read_compare(opf_pattern_reader *reader, opf_pattern_test *test) {
    static const struct { const char *sign; int compare; } signs[] = {
        {"!=", OPF_TEST_NE}, {"<=", OPF_TEST_LE}, {">=", OPF_TEST_GE}, {"=", OPF_TEST_EQ}, {"<", OPF_TEST_LT}, {">", OPF_TEST_GT}};
    for (size_t s = 0; s < OPF_COUNT(signs); s++)
        if (opf_pattern_accept(reader, signs[s].sign)) {
            test->compare = (unsigned)signs[s].compare;
            return true;
        }
    return opf_pattern_fail(reader, reader->at, "one of = != < <= > >= expected");
}

static bool read_whole(opf_pattern_reader *reader, double low, double high, double *out) {
    bool whole;
    if (!opf_pattern_number(reader, out, &whole)) return false;
    return (whole && *out >= low && *out <= high) || opf_pattern_fail(reader, reader->mark, "a whole number from %.0f to %.0f expected", low, high);
}

static bool read_size(opf_pattern_reader *reader, opf_pattern_test *test) { return read_compare(reader, test) && read_whole(reader, -1, 1e15, &test->number); }

static bool read_dim(opf_pattern_reader *reader, opf_pattern_test *test) {
    double axis;
    if (!read_whole(reader, -OPF_MAX_RANK, OPF_MAX_RANK - 1, &axis)) return false;
    test->axis = (int)axis;
    return read_size(reader, test);
}

static bool read_types(opf_pattern_reader *reader, opf_pattern_test *test) {
    if (!opf_pattern_expect(reader, "=")) return false;
    do {
        const char *word = opf_pattern_word(reader, "an element type");
        opf_dtype dtype = word ? opf_dtype_parse(strcmp(word, "float") == 0 ? "float32" : strcmp(word, "double") == 0 ? "float64" : word) : OPF_NO_DTYPE;
        if (word && dtype == OPF_NO_DTYPE) opf_pattern_fail(reader, reader->mark, "'%.80s' is no element type", word);
        test->types |= UINT32_C(1) << dtype;
    } while (!reader->failed && opf_pattern_accept(reader, "|"));
    return !reader->failed;
}

/* The numbers of an attribute: one, or several in parentheses. */
static bool read_numbers(opf_pattern_reader *reader, opf_attr *value) {
    float *numbers = OPF_ARRAY(reader->arena, float, OPF_PATTERN_INPUTS);
    bool list = opf_pattern_accept(reader, "(") || opf_pattern_accept(reader, "[");
    value->kind = OPF_ATTR_FLOATS;
    value->floats = numbers;
    do {
        double number;
        if (value->count == OPF_PATTERN_INPUTS) return opf_pattern_fail(reader, reader->at, "at most %d numbers", OPF_PATTERN_INPUTS);
        if (!opf_pattern_number(reader, &number, NULL)) return false;
        numbers[value->count++] = (float)number;
    } while (list && opf_pattern_accept(reader, ","));
    return !list || opf_pattern_accept(reader, ")") || opf_pattern_expect(reader, "]");
}

static bool read_attribute(opf_pattern_reader *reader, opf_pattern_test *test) {
    const char *after = reader->at, *word = opf_pattern_word(reader, NULL);
    if (word && strcmp(word, "absent") == 0) {
        test->what = OPF_TEST_ABSENT;
        return true;
    }
    reader->at = after;
    opf_attr *value = OPF_NEW(reader->arena, opf_attr);
    test->what = OPF_TEST_ATTRIBUTE;
    test->value = value;
    if (!opf_pattern_expect(reader, "=")) return false;
    const char *text = opf_pattern_quoted(reader);
    if (!text) return !reader->failed && read_numbers(reader, value);
    const char **strings = OPF_NEW(reader->arena, const char *);
    *strings = text;
    value->kind = OPF_ATTR_STRING;
    value->count = 1;
    value->strings = strings;
    return true;
}

/* `attribute NAME = …`, for names that are words of conditions. */
static bool read_named_attribute(opf_pattern_reader *reader, opf_pattern_test *test) {
    test->name = opf_pattern_word(reader, "the attribute's name");
    return test->name && read_attribute(reader, test);
}

/* What may be said of a value: `type = …`, `rank > …`, `dim K = …`, and of an operand that it is a constant. */
static bool read_of_value(opf_pattern_reader *reader, opf_pattern_test *test, const char *word) {
    if (strcmp(word, "type") == 0) return test->what = OPF_TEST_TYPE, read_types(reader, test);
    if (strcmp(word, "rank") == 0) return test->what = OPF_TEST_RANK, read_size(reader, test);
    return test->what = OPF_TEST_DIM, read_dim(reader, test);
}

static bool is_of_value(const char *word) { return strcmp(word, "type") == 0 || strcmp(word, "rank") == 0 || strcmp(word, "dim") == 0; }

static bool read_of_input(opf_pattern_reader *reader, opf_pattern_test *test) {
    double number;
    if (!read_whole(reader, 0, OPF_PATTERN_INPUTS - 1, &number)) return false;
    test->input = (int)number;
    if (opf_pattern_accept(reader, "=")) {
        test->what = OPF_TEST_NUMBER;
        return opf_pattern_number(reader, &test->number, NULL);
    }
    const char *word = opf_pattern_word(reader, "constant, type, rank, dim or '='");
    if (!word) return false;
    if (strcmp(word, "constant") == 0) return test->what = OPF_TEST_CONSTANT, true;
    return is_of_value(word) ? read_of_value(reader, test, word) : opf_pattern_fail(reader, reader->mark, "of an operand one says constant, type, rank, dim or '='");
}

static bool read_condition(opf_pattern_reader *reader, opf_pattern_node *node, bool first) {
    opf_pattern_test test = {.input = -1};
    opf_pattern_blanks(reader);
    const char *from = reader->at, *word = opf_pattern_word(reader, "a condition");
    double number;
    if (!word) return false;
    if (strcmp(word, "at") == 0) {
        if (first) return opf_pattern_fail(reader, from, "no step stands before the first: it has no `at`");
        if (!read_whole(reader, 0, OPF_PATTERN_INPUTS - 1, &number)) return false;
        node->at = (int)number;
        return true;
    }
    test.name = word;
    if (strcmp(word, "input") == 0) read_of_input(reader, &test);
    else if (is_of_value(word)) read_of_value(reader, &test, word);
    else if (strcmp(word, "attribute") == 0) read_named_attribute(reader, &test);
    else read_attribute(reader, &test);
    if (reader->failed) return false;
    test.text = opf_arena_string_n(reader->arena, from, (size_t)(reader->at - from));
    OPF_PUSH(reader->arena, &node->tests, test);
    return true;
}

/* ---- steps ---- */

static bool read_operators(opf_pattern_reader *reader, opf_pattern_node *node) {
    if (opf_pattern_accept(reader, "*")) return true;
    do {
        opf_pattern_operator name = opf_pattern_operator_name(reader);
        if (reader->failed) return false;
        OPF_PUSH(reader->arena, &node->operators, name);
    } while (opf_pattern_accept(reader, "|"));
    return true;
}

static bool read_label(opf_pattern_reader *reader, opf_pattern_node *node) {
    opf_pattern_blanks(reader);
    const char *from = reader->at, *word = opf_pattern_word(reader, NULL);
    opf_pattern_blanks(reader);
    if (!word || reader->at[0] != ':' || reader->at[1] == ':') {
        reader->at = from;
        return true;
    }
    reader->at++;
    const opf_pattern *pattern = reader->pattern;
    for (size_t n = 0; n + 1 < pattern->nodes.count; n++)
        if (pattern->nodes.data[n].label && strcmp(pattern->nodes.data[n].label, word) == 0) return opf_pattern_fail(reader, from, "two steps are called '%.80s'", word);
    node->label = word;
    return true;
}

static bool read_step(opf_pattern_reader *reader) {
    opf_pattern_node *node = opf_pattern_node_add(reader);
    bool first = reader->pattern->nodes.count == 1;
    if (!node || !read_label(reader, node) || !read_operators(reader, node)) return false;
    const char *place = reader->at;
    node->optional = opf_pattern_accept(reader, "?");
    if (node->optional && first) return opf_pattern_fail(reader, place, "the first step of a chain is there in any case: it has no '?'");
    if (!opf_pattern_accept(reader, "[")) return true;
    do {
        if (!read_condition(reader, node, first)) return false;
    } while (opf_pattern_accept(reader, ","));
    return opf_pattern_expect(reader, "]");
}

void opf_pattern_chain(opf_pattern_reader *reader) {
    do {
        if (!read_step(reader)) return;
    } while (opf_pattern_accept(reader, "->"));
}

/* ---- words ---- */

const char *opf_pattern_node_text(const opf_pattern_node *node, opf_arena *arena) {
    opf_text text = {0};
    if (!node->operators.count) opf_text_add(&text, "any operator");
    for (size_t k = 0; k < node->operators.count; k++) {
        const opf_pattern_operator *name = &node->operators.data[k];
        opf_text_printf(&text, "%s%s%s%s", k ? "|" : "", name->domain, *name->domain ? "::" : "", name->name);
    }
    if (node->optional) opf_text_add(&text, "?");
    const char *string = opf_arena_string(arena, opf_text_string(&text));
    opf_text_free(&text);
    return string;
}
