/* The text of a pattern file:
 *
 *   pattern NAME force|forbid|prefer|bind [priority N]
 *       chain STEP -> STEP …  |  function FILE [NAME]  |  function NAME (x) => (y) { … }
 *       [results LABEL, …]  [kernel FILE FUNCTION [parallel]]  [parameters LABEL.ATTRIBUTE [= N], …]
 *
 * Blanks and line ends separate, `#` begins a comment. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern/internal.h"

const char *opf_pattern_action_name(opf_pattern_action action) {
    static const char *const names[] = {"force", "forbid", "prefer", "bind"};
    return names[action];
}

opf_patterns *opf_patterns_new(opf_arena *arena) {
    opf_patterns *patterns = OPF_NEW(arena, opf_patterns);
    patterns->arena = arena;
    return patterns;
}

/* ---- words ---- */

bool opf_pattern_fail(opf_pattern_reader *reader, const char *place, const char *format, ...) {
    if (reader->failed) return false;
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    int line = 1, column = 1;
    for (const char *c = reader->text; c < place; c++) column = *c == '\n' ? (line++, 1) : column + 1;
    opf_diag_add(reader->diags, OPF_ERROR, "patterns", (opf_place){.file = reader->source, .index = -1}, "line %d, column %d: %s", line, column, message);
    reader->failed = true;
    reader->status = OPF_ERROR_INPUT;
    return false;
}

void opf_pattern_blanks(opf_pattern_reader *reader) {
    for (;; reader->at++) {
        if (*reader->at == '#') reader->at += strcspn(reader->at, "\n");
        if (!isspace((unsigned char)*reader->at)) return;
    }
}

bool opf_pattern_accept(opf_pattern_reader *reader, const char *sign) {
    opf_pattern_blanks(reader);
    size_t length = strlen(sign);
    if (strncmp(reader->at, sign, length) != 0) return false;
    reader->at += length;
    return true;
}

bool opf_pattern_expect(opf_pattern_reader *reader, const char *sign) {
    return opf_pattern_accept(reader, sign) || opf_pattern_fail(reader, reader->at, "'%s' expected", sign);
}

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

const char *opf_pattern_word(opf_pattern_reader *reader, const char *what) {
    opf_pattern_blanks(reader);
    reader->mark = reader->at;
    while (in_word(*reader->at)) reader->at++;
    if (reader->at > reader->mark) return opf_arena_string_n(reader->arena, reader->mark, (size_t)(reader->at - reader->mark));
    if (what) opf_pattern_fail(reader, reader->mark, "%s expected", what);
    return NULL;
}

bool opf_pattern_number(opf_pattern_reader *reader, double *out, bool *whole) {
    opf_pattern_blanks(reader);
    char *end;
    reader->mark = reader->at;
    errno = 0;
    *out = strtod(reader->at, &end);
    if (end == reader->at || in_word(*end)) return opf_pattern_fail(reader, reader->mark, "a number expected");
    if (whole) *whole = strcspn(reader->at, ".eEnNxX") >= (size_t)(end - reader->at);
    reader->at = end;
    return true;
}

const char *opf_pattern_quoted(opf_pattern_reader *reader) {
    opf_pattern_blanks(reader);
    if (*reader->at != '"') return NULL;
    const char *from = reader->at + 1;
    size_t length = strcspn(from, "\"\n");
    if (from[length] != '"') return opf_pattern_fail(reader, reader->at, "the text in quotes does not end") ? "" : NULL;
    reader->at = from + length + 1;
    return opf_arena_string_n(reader->arena, from, length);
}

opf_pattern_operator opf_pattern_operator_name(opf_pattern_reader *reader) {
    const char *word = opf_pattern_word(reader, "an operator");
    opf_pattern_operator name = {"", word};
    if (!word || strncmp(reader->at, "::", 2) != 0) return name;
    reader->at += 2;
    name.domain = strcmp(word, "ai.onnx") == 0 ? "" : word;
    name.name = opf_pattern_word(reader, "an operator of the domain");
    return name;
}

opf_pattern_node *opf_pattern_node_add(opf_pattern_reader *reader) {
    if (reader->pattern->nodes.count == OPF_PATTERN_NODES) {
        opf_pattern_fail(reader, reader->at, "a pattern has at most %d nodes", OPF_PATTERN_NODES);
        return NULL;
    }
    OPF_PUSH(reader->arena, &reader->pattern->nodes, (opf_pattern_node){.at = -1});
    return &reader->pattern->nodes.data[reader->pattern->nodes.count - 1];
}

const char *opf_pattern_beside(const opf_pattern_reader *reader, const char *file) {
    const char *slash = strrchr(reader->source, '/');
    return *file == '/' || !slash ? file : opf_arena_printf(reader->arena, "%.*s%s", (int)(slash - reader->source) + 1, reader->source, file);
}

int opf_pattern_value_of(opf_pattern_reader *reader, const char *name) {
    opf_pattern *pattern = reader->pattern;
    for (size_t v = 0; v < pattern->values.count; v++)
        if (strcmp(pattern->values.data[v].name, name) == 0) return (int)v;
    OPF_PUSH(reader->arena, &pattern->values, (opf_pattern_value){.name = name, .producer = -1});
    return (int)pattern->values.count - 1;
}

opf_tensor *opf_pattern_tensor(opf_arena *arena, opf_dtype dtype, int rank, const int64_t *dims, const double *numbers) {
    opf_tensor *tensor = opf_tensor_zeros(arena, dtype, rank, dims, NULL);
    for (int64_t i = 0; i < tensor->elements; i++) opf_dtype_store(dtype, (void *)(uintptr_t)tensor->data, (size_t)i, numbers[i]);
    return tensor;
}

/* ---- files ---- */

/* A word, or text in quotes, up to the next blank. */
static const char *file_name(opf_pattern_reader *reader) {
    const char *quoted = opf_pattern_quoted(reader);
    if (quoted || reader->failed) return quoted;
    reader->mark = reader->at;
    while (*reader->at && !isspace((unsigned char)*reader->at) && *reader->at != '#') reader->at++;
    if (reader->at > reader->mark) return opf_arena_string_n(reader->arena, reader->mark, (size_t)(reader->at - reader->mark));
    opf_pattern_fail(reader, reader->mark, "a file expected");
    return NULL;
}

void opf_pattern_note_read(opf_pattern_reader *reader, const char *path, const void *data, size_t size) {
    reader->key = opf_hash_combine(reader->key, opf_hash_bytes(path, strlen(path)));
    reader->key = opf_hash_combine(reader->key, opf_hash_bytes(data, size));
}

/* The whole text of a file beside the pattern file; NULL: reported. */
static const char *file_text(opf_pattern_reader *reader, const char *file, const char *place) {
    opf_diags *aside = opf_diags_new();
    opf_mapping mapping = {0};
    const char *text = NULL, *path = opf_pattern_beside(reader, file);
    if (opf_file_map(&mapping, path, aside) != OPF_OK) opf_pattern_fail(reader, place, "'%.200s' %.200s", path, opf_diags_at(aside, 0)->message);
    else if (mapping.size && memchr(mapping.data, '\0', mapping.size)) opf_pattern_fail(reader, place, "'%.200s' is no text: it holds a zero byte", path);
    else text = opf_arena_string_n(reader->arena, mapping.size ? (const char *)mapping.data : "", mapping.size);
    if (text) opf_pattern_note_read(reader, path, text, mapping.size);
    opf_file_unmap(&mapping);
    opf_diags_free(aside);
    return text;
}

/* ---- clauses ---- */

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The text of another file in place of the one at hand. */
static void read_function_file(opf_pattern_reader *reader, const char *path, const char *place) {
    const char *text = file_text(reader, path, place);
    if (!text) return;
    opf_pattern_reader inner = *reader;
    inner.source = opf_pattern_beside(reader, path);
    inner.text = inner.at = inner.mark = text;
    opf_pattern_function_text(&inner);
    opf_pattern_blanks(&inner);
    if (!inner.failed && *inner.at) opf_pattern_fail(&inner, inner.at, "one function a file; this is too much");
    reader->failed = inner.failed;
    reader->status = inner.status;
}

/* A file has a point or a slash in its name; a function's own name has none. */
static void read_function(opf_pattern_reader *reader) {
    opf_pattern_blanks(reader);
    const char *place = reader->at;
    size_t length = strcspn(place, " \t\r\n(<");
    bool file = *place == '"' || memchr(place, '.', length) || memchr(place, '/', length);
    if (!file) {
        opf_pattern_function_text(reader);
        return;
    }
    const char *path = file_name(reader), *rest = reader->at;
    if (!path) return;
    if (!ends_with(path, ".onnx")) {
        read_function_file(reader, path, place);
        return;
    }
    rest += strspn(rest, " \t");
    const char *name = *rest && !strchr("\r\n#", *rest) ? opf_pattern_word(reader, "the name of the function") : NULL;
    if (!reader->failed) opf_pattern_function_file(reader, opf_pattern_beside(reader, path), name, place);
}

static int node_called(const opf_pattern *pattern, const char *label, size_t length) {
    for (size_t n = 0; n < pattern->nodes.count; n++) {
        const char *own = pattern->nodes.data[n].label;
        if (own && strlen(own) == length && memcmp(own, label, length) == 0) return (int)n;
    }
    return -1;
}

static void read_results(opf_pattern_reader *reader) {
    opf_pattern *pattern = reader->pattern;
    pattern->results.count = 0;
    do {
        const char *label = opf_pattern_word(reader, "the label of a step");
        int node = label ? node_called(pattern, label, strlen(label)) : -1;
        if (label && !pattern->chain) opf_pattern_fail(reader, reader->mark, "a function has the results that it names; `results` is for chains");
        else if (label && node < 0) opf_pattern_fail(reader, reader->mark, "no step of the chain is called '%.80s'", label);
        else if (pattern->results.count == OPF_PATTERN_RESULTS) opf_pattern_fail(reader, reader->mark, "a pattern has at most %d results", OPF_PATTERN_RESULTS);
        for (size_t r = 0; !reader->failed && r < pattern->results.count; r++)
            if (pattern->results.data[r] == node) opf_pattern_fail(reader, reader->mark, "'%s' is named twice", label);
        if (!reader->failed) OPF_PUSH(reader->arena, &pattern->results, node);
    } while (!reader->failed && opf_pattern_accept(reader, ","));
    bool last = false;
    for (size_t r = 0; r < pattern->results.count; r++) last = last || pattern->results.data[r] == (int)pattern->nodes.count - 1;
    if (!reader->failed && !last) opf_pattern_fail(reader, reader->mark, "the last step of a chain is a result in any case: name it too");
}

static void read_parameters(opf_pattern_reader *reader) {
    opf_pattern *pattern = reader->pattern;
    do {
        const char *word = opf_pattern_word(reader, "LABEL.ATTRIBUTE"), *point = word ? strrchr(word, '.') : NULL;
        opf_pattern_parameter parameter = {.node = point ? node_called(pattern, word, (size_t)(point - word)) : -1};
        if (!word) return;
        if (!point || !point[1]) opf_pattern_fail(reader, reader->mark, "LABEL.ATTRIBUTE expected");
        else if (parameter.node < 0) opf_pattern_fail(reader, reader->mark, "no step of the chain is called '%.*s'", (int)(point - word < 80 ? point - word : 80), word);
        else if (pattern->parameters.count == OPF_PATTERN_PARAMETERS) opf_pattern_fail(reader, reader->mark, "a kernel has at most %d parameters", OPF_PATTERN_PARAMETERS);
        if (reader->failed) return;
        parameter.name = point + 1;
        parameter.has_default = opf_pattern_accept(reader, "=");
        if (parameter.has_default && !opf_pattern_number(reader, &parameter.otherwise, NULL)) return;
        OPF_PUSH(reader->arena, &pattern->parameters, parameter);
    } while (opf_pattern_accept(reader, ","));
}

static bool is_identifier(const char *word) {
    if (!isalpha((unsigned char)*word) && *word != '_') return false;
    for (; *word; word++)
        if (!isalnum((unsigned char)*word) && *word != '_') return false;
    return true;
}

static void read_kernel(opf_pattern_reader *reader) {
    opf_pattern *pattern = reader->pattern;
    opf_pattern_blanks(reader);
    const char *place = reader->at, *file = file_name(reader);
    const char *function = file ? opf_pattern_word(reader, "the kernel's function") : NULL;
    if (!function) return;
    if (!is_identifier(function)) {
        opf_pattern_fail(reader, reader->mark, "'%.80s' is no name of a C function", function);
        return;
    }
    const char *after = reader->at, *word = opf_pattern_word(reader, NULL);
    bool parallel = word && strcmp(word, "parallel") == 0;
    if (!parallel) reader->at = after;
    const char *text = file_text(reader, file, place);
    if (!text) return;
    opf_library_kernel *kernel = OPF_NEW(reader->arena, opf_library_kernel);
    *kernel = (opf_library_kernel){.name = function, .why = "a user's own", .own = OPF_NEW(reader->arena, opf_own_kernel)};
    *kernel->own = (opf_own_kernel){.text = text, .path = opf_pattern_beside(reader, file), .parallel = parallel};
    pattern->kernel = kernel;
}

static void read_chain(opf_pattern_reader *reader) {
    reader->pattern->chain = true;
    opf_pattern_chain(reader);
    if (!reader->failed) OPF_PUSH(reader->arena, &reader->pattern->results, (int)reader->pattern->nodes.count - 1);
}

/* In the order in which they may stand: a clause that speaks of others comes behind them. */
static const struct { const char *word; void (*read)(opf_pattern_reader *reader); bool form; } clauses[] = {
    {"chain", read_chain, true},       {"function", read_function, true},     {"results", read_results, false},
    {"kernel", read_kernel, false},    {"parameters", read_parameters, false},
};

static bool read_clause(opf_pattern_reader *reader) {
    const char *word = opf_pattern_word(reader, "a clause, or the next `pattern`,"), *mark = reader->mark;
    opf_pattern *pattern = reader->pattern;
    for (size_t c = 0; word && c < OPF_COUNT(clauses); c++) {
        if (strcmp(clauses[c].word, word) != 0) continue;
        if (clauses[c].form && pattern->nodes.count) return opf_pattern_fail(reader, mark, "a pattern has one chain or one function");
        if (!clauses[c].form && !pattern->nodes.count) return opf_pattern_fail(reader, mark, "the chain or function comes before `%s`", word);
        clauses[c].read(reader);
        return !reader->failed;
    }
    return word && opf_pattern_fail(reader, mark, "'%.80s' is no clause: chain, function, results, kernel and parameters are", word);
}

/* ---- patterns ---- */

static bool read_head(opf_pattern_reader *reader) {
    opf_pattern *pattern = reader->pattern;
    pattern->name = opf_pattern_word(reader, "the pattern's name");
    const char *action = pattern->name ? opf_pattern_word(reader, "force, forbid, prefer or bind") : NULL;
    if (!action) return false;
    int number = 0;
    while (number <= OPF_PATTERN_BIND && strcmp(opf_pattern_action_name((opf_pattern_action)number), action) != 0) number++;
    if (number > OPF_PATTERN_BIND) return opf_pattern_fail(reader, reader->mark, "'%.80s' is none of force, forbid, prefer and bind", action);
    pattern->action = (opf_pattern_action)number;
    const char *after = reader->at, *word = opf_pattern_word(reader, NULL);
    if (!word || strcmp(word, "priority") != 0) {
        reader->at = after;
        return true;
    }
    double priority;
    bool whole;
    if (!opf_pattern_number(reader, &priority, &whole)) return false;
    if (!whole || priority < -1000000 || priority > 1000000) return opf_pattern_fail(reader, reader->mark, "a priority is a whole number between -1000000 and 1000000");
    pattern->priority = (int)priority;
    return true;
}

static bool check(opf_pattern_reader *reader, const char *head) {
    const opf_pattern *pattern = reader->pattern;
    bool bind = pattern->action == OPF_PATTERN_BIND;
    if (!pattern->nodes.count) return opf_pattern_fail(reader, head, "pattern '%s' has neither chain nor function", pattern->name);
    if (bind && !pattern->kernel) return opf_pattern_fail(reader, head, "pattern '%s' is bound to a kernel that it does not name: `kernel FILE FUNCTION`", pattern->name);
    if (!bind && (pattern->kernel || pattern->parameters.count)) return opf_pattern_fail(reader, head, "only a pattern that binds has a kernel and parameters; '%s' does not", pattern->name);
    if (pattern->action == OPF_PATTERN_PREFER && pattern->nodes.count < 2) return opf_pattern_fail(reader, head, "there is nothing to join in one node");
    for (size_t n = 0; bind && pattern->chain && n < pattern->nodes.count; n++)
        if (pattern->nodes.data[n].optional) return opf_pattern_fail(reader, head, "a kernel computes all steps of its chain: write a pattern for each form in place of '?'");
    return true;
}

/* Are all nodes of a function linked by values? */
static bool check_linked(opf_pattern_reader *reader, const char *head) {
    int order[OPF_PATTERN_NODES];
    return opf_pattern_order(reader->pattern, order) == (int)reader->pattern->nodes.count ||
           opf_pattern_fail(reader, head, "the function of pattern '%s' falls apart: some of its nodes share no value with the others", reader->pattern->name);
}

static bool at_pattern(const char *at) { return strncmp(at, "pattern", 7) == 0 && isspace((unsigned char)at[7]); }

/* To the next line that begins with `pattern`: the next one is told of too. */
static void skip_pattern(opf_pattern_reader *reader) {
    while (*reader->at && !at_pattern(reader->at)) {
        reader->at += strcspn(reader->at, "\n");
        if (*reader->at) reader->at++;
        const char *at = reader->at + strspn(reader->at, " \t");
        if (at_pattern(at)) return;
    }
}

static void read_pattern(opf_pattern_reader *reader) {
    const char *head = reader->at;
    int line = 1;
    for (const char *c = reader->text; c < head; c++) line += *c == '\n';
    reader->failed = false;
    *(reader->pattern = OPF_NEW(reader->arena, opf_pattern)) = (opf_pattern){.source = opf_arena_printf(reader->arena, "%s:%d", reader->source, line)};
    if (!at_pattern(head)) opf_pattern_fail(reader, head, "`pattern NAME force|forbid|prefer|bind` expected");
    else reader->at += 7;
    if (!reader->failed && read_head(reader))
        for (opf_pattern_blanks(reader); !reader->failed && *reader->at && !at_pattern(reader->at); opf_pattern_blanks(reader)) read_clause(reader);
    if (!reader->failed && check(reader, head)) check_linked(reader, head);
    if (reader->failed) skip_pattern(reader);
}

/* What speaks against a pattern beside its own text. */
static void check_against(opf_pattern_reader *reader, const opf_patterns *patterns, const opf_pattern *pattern) {
    for (size_t p = 0; p < patterns->list.count; p++) {
        const opf_pattern *other = patterns->list.data[p];
        bool same_function = pattern->kernel && other->kernel && strcmp(pattern->kernel->name, other->kernel->name) == 0;
        bool same_text = same_function && strcmp(pattern->kernel->own->text, other->kernel->own->text) == 0;
        if (strcmp(other->name, pattern->name) == 0) opf_diag_add(reader->diags, OPF_ERROR, "patterns", (opf_place){.file = reader->source, .index = -1}, "pattern '%s' is there already (%s)", pattern->name, other->source);
        else if (same_function && !same_text) opf_diag_add(reader->diags, OPF_ERROR, "patterns", (opf_place){.file = reader->source, .index = -1}, "patterns '%s' and '%s' name the function %s of different files; give one another name", pattern->name, other->name, pattern->kernel->name);
        else continue;
        reader->status = OPF_ERROR_INPUT;
    }
}

opf_status opf_patterns_add(opf_patterns *patterns, const char *text, const char *source, opf_diags *diags) {
    opf_pattern_reader reader = {.arena = patterns->arena, .diags = diags, .status = OPF_OK};
    reader.source = opf_arena_string(patterns->arena, source);
    reader.text = reader.at = opf_arena_string(patterns->arena, text);
    reader.key = patterns->key;
    opf_pattern_note_read(&reader, source, text, strlen(text));
    size_t before = patterns->list.count;
    for (opf_pattern_blanks(&reader); *reader.at; opf_pattern_blanks(&reader)) {
        read_pattern(&reader);
        if (reader.failed) continue;
        check_against(&reader, patterns, reader.pattern);
        reader.pattern->place = (int)patterns->list.count;
        OPF_PUSH(patterns->arena, &patterns->list, reader.pattern);
    }
    if (reader.status == OPF_OK) patterns->key = reader.key;
    else patterns->list.count = before;
    return reader.status;
}
