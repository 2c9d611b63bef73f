/* Reads lines of operators:
 *
 *   Name(operands) since N [domain D] T = types [clauses] y = expression
 *
 * into entries. The expressions themselves stay text until a node is built, when the types are known. */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/families.h"
#include "ops/scalar.h"

extern const char opf_embedded_scalar_ops[];

typedef struct reader {
    opf_arena *arena;
    const char *line;   /* one line, terminated, without its comment */
    const char *at, *mark; /* within the line: what comes next; where the last word or number began */
    const char *error;  /* the first, NULL while all is well */
} reader;

/* Where in the line a problem is: at the word that was read last, or at what comes next. */
static int column_of(const reader *reader, const char *place) { return (int)(place - reader->line) + 1; }

__attribute__((format(printf, 3, 4))) static void fail(reader *reader, const char *place, const char *format, ...) {
    if (reader->error) return;
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    reader->error = opf_arena_printf(reader->arena, "column %d: %s", column_of(reader, place), message);
}

static void skip_blanks(reader *reader) {
    while (isspace((unsigned char)*reader->at)) reader->at++;
}

static bool accept(reader *reader, char c) {
    skip_blanks(reader);
    if (*reader->at != c) return false;
    reader->at++;
    return true;
}

static void expect(reader *reader, char c) {
    if (!accept(reader, c)) fail(reader, reader->at, "'%c' expected", c);
}

/* A word of letters, digits, '_' and '.'; "" where none stands here. */
static const char *word(reader *reader) {
    skip_blanks(reader);
    reader->mark = reader->at;
    while (isalnum((unsigned char)*reader->at) || *reader->at == '_' || *reader->at == '.') reader->at++;
    return opf_arena_string_n(reader->arena, reader->mark, (size_t)(reader->at - reader->mark));
}

/* A word that expressions can name. */
static const char *name(reader *reader, const char *what) {
    skip_blanks(reader);
    reader->mark = reader->at;
    if (!isalpha((unsigned char)*reader->at) && *reader->at != '_') fail(reader, reader->mark, "a name of %s expected", what);
    while (isalnum((unsigned char)*reader->at) || *reader->at == '_') reader->at++;
    return opf_arena_string_n(reader->arena, reader->mark, (size_t)(reader->at - reader->mark));
}

static double number(reader *reader) {
    skip_blanks(reader);
    char *end;
    double value = strtod(reader->at, &end);
    if (end == reader->at) fail(reader, reader->at, "a number expected");
    reader->mark = reader->at;
    reader->at = end;
    return value;
}

static int whole_number(reader *reader, int least) {
    double value = number(reader);
    if (value >= least && value <= 1000000 && value == (int)value) return (int)value;
    fail(reader, reader->mark, "a whole number from %d on expected", least);
    return least;
}

/* Text up to `end` (which is taken), or to the end of the line where `end` is 0. */
static opf_scalar_text text_until(reader *reader, char end) {
    skip_blanks(reader);
    const char *start = reader->at, *stop = end ? strchr(start, end) : start + strlen(start);
    if (!stop) fail(reader, start + strlen(start), "'%c' expected at the end of the expression", end);
    else if (stop == start) fail(reader, start, "an expression expected");
    if (reader->error) return (opf_scalar_text){"0", 1};
    reader->at = end ? stop + 1 : stop;
    return (opf_scalar_text){opf_arena_string_n(reader->arena, start, (size_t)(stop - start)), column_of(reader, start)};
}

/* ---- types ---- */

#define BIT(dtype) (1u << (dtype))
#define FLOATS (BIT(OPF_FLOAT32) | BIT(OPF_FLOAT64) | BIT(OPF_FLOAT16) | BIT(OPF_BFLOAT16))
#define SIGNED_INTEGERS (BIT(OPF_INT8) | BIT(OPF_INT16) | BIT(OPF_INT32) | BIT(OPF_INT64))
#define UNSIGNED_INTEGERS (BIT(OPF_UINT8) | BIT(OPF_UINT16) | BIT(OPF_UINT32) | BIT(OPF_UINT64))

static const struct { const char *name; uint32_t types; } classes[] = {
    {"float", FLOATS},
    {"signed", FLOATS | SIGNED_INTEGERS},
    {"signed_integer", SIGNED_INTEGERS},
    {"unsigned", UNSIGNED_INTEGERS},
    {"integer", SIGNED_INTEGERS | UNSIGNED_INTEGERS},
    {"numeric", FLOATS | SIGNED_INTEGERS | UNSIGNED_INTEGERS},
    {"bool", BIT(OPF_BOOL)},
    {"any", FLOATS | SIGNED_INTEGERS | UNSIGNED_INTEGERS | BIT(OPF_BOOL) | BIT(OPF_STRING)},
};

#define ANY (classes[OPF_COUNT(classes) - 1].types)

/* A class, or one element type. */
static uint32_t one_type(reader *reader) {
    const char *text = word(reader);
    for (size_t k = 0; k < OPF_COUNT(classes); k++)
        if (strcmp(classes[k].name, text) == 0) return classes[k].types;
    opf_dtype dtype = opf_dtype_parse(text);
    if (dtype != OPF_NO_DTYPE && ANY & BIT(dtype)) return BIT(dtype);
    fail(reader, reader->mark, "'%s' is no class of types and no element type that expressions have", text);
    return 0;
}

void opf_scalar_types_print(uint32_t types, opf_text *out) {
    for (size_t k = 0; k < OPF_COUNT(classes); k++)
        if (classes[k].types == types) {
            opf_text_add(out, classes[k].name);
            return;
        }
    for (int dtype = 1, several = 0; dtype < OPF_DTYPE_COUNT; dtype++)
        if (types & BIT(dtype)) opf_text_printf(out, "%s%s", several++ ? "|" : "", opf_dtype_name((opf_dtype)dtype));
}

static uint32_t types(reader *reader) {
    uint32_t all = 0;
    do all |= one_type(reader);
    while (accept(reader, '|'));
    return all;
}

/* ---- one line ---- */

static void operand(reader *reader, opf_scalar_op_entry *entry) {
    if (entry->n_operands == OPF_SCALAR_OPERANDS) fail(reader, reader->at, "more than %d operands", OPF_SCALAR_OPERANDS);
    if (entry->variadic) fail(reader, reader->at, "'...' belongs to the last operand");
    if (reader->error) return;
    opf_scalar_operand *operand = &entry->operands[entry->n_operands];
    operand->name = name(reader, "an operand");
    for (int k = 0; k < entry->n_operands; k++)
        if (strcmp(entry->operands[k].name, operand->name) == 0) fail(reader, reader->mark, "two operands are called '%s'", operand->name);
    entry->n_operands++;
    operand->optional = accept(reader, '?');
    if (accept(reader, ':')) operand->types = entry->cases[0].own[entry->n_operands - 1] = types(reader);
}

/* `...` is no part of the name before it. */
static void dots(reader *reader, opf_scalar_op_entry *entry) {
    if (strncmp(reader->at, "...", 3) != 0) return;
    entry->variadic = true;
    reader->at += 3;
}

static void operands(reader *reader, opf_scalar_op_entry *entry) {
    if (!accept(reader, '(')) {
        entry->operands[entry->n_operands++] = (opf_scalar_operand){.name = "x"};
        return;
    }
    do {
        operand(reader, entry);
        dots(reader, entry);
    } while (!reader->error && accept(reader, ','));
    expect(reader, ')');
}

static const struct { const char *name; opf_kind kind; } kinds[] = {
    {"elemwise", OPF_KIND_ELEMWISE}, {"broadcast", OPF_KIND_BROADCAST}, {"injective", OPF_KIND_INJECTIVE},
};

static void set_kind(reader *reader, opf_op *op) {
    const char *text = word(reader);
    for (size_t k = 0; k < OPF_COUNT(kinds); k++)
        if (strcmp(kinds[k].name, text) == 0) {
            op->kind = kinds[k].kind;
            return;
        }
    fail(reader, reader->mark, "'%s' is no kind; elemwise, broadcast and injective are", text);
}

static void compute_clause(reader *reader, opf_scalar_case *one) {
    const char *text = word(reader);
    one->compute = opf_dtype_parse(text);
    if (one->compute == OPF_NO_DTYPE || !((FLOATS | SIGNED_INTEGERS | UNSIGNED_INTEGERS) & BIT(one->compute)) || opf_call_compute(one->compute) != one->compute)
        fail(reader, reader->mark, "'%s' is no type to compute in", text);
}

static void aligned_clause(reader *reader, opf_scalar_op_entry *entry) {
    skip_blanks(reader);
    entry->aligned = true;
    entry->aligned_axis = isdigit((unsigned char)*reader->at) ? whole_number(reader, 0) : -1;
}

static void when_clause(reader *reader, opf_scalar_case *one) {
    one->when = name(reader, "an attribute");
    expect(reader, '=');
    one->is = word(reader);
    one->otherwise = accept(reader, '/') ? word(reader) : "";
}

static opf_scalar_let *new_let(reader *reader, opf_scalar_case *one) {
    if (one->n_lets == OPF_SCALAR_CLAUSES) fail(reader, reader->mark, "more than %d named parts", OPF_SCALAR_CLAUSES);
    opf_scalar_let *let = &one->lets[reader->error ? 0 : one->n_lets++];
    let->name = name(reader, "a part");
    expect(reader, '=');
    return let;
}

static void let_clause(reader *reader, opf_scalar_case *one) {
    opf_scalar_let *let = new_let(reader, one);
    let->value = text_until(reader, ';');
}

static const struct { const char *name; opf_combiner combiner; } reductions[] = {
    {"sum", OPF_COMBINE_SUM}, {"prod", OPF_COMBINE_PROD}, {"max", OPF_COMBINE_MAX}, {"min", OPF_COMBINE_MIN},
};

/* row NAME = sum(EXPRESSION); */
static void row_clause(reader *reader, opf_scalar_op_entry *entry, opf_scalar_case *one) {
    opf_scalar_let *let = new_let(reader, one);
    const char *text = word(reader);
    entry->rows = true;
    for (size_t k = 0; k < OPF_COUNT(reductions); k++)
        if (strcmp(reductions[k].name, text) == 0) let->combiner = reductions[k].combiner;
    if (let->combiner == OPF_COMBINE_NONE) fail(reader, reader->mark, "'%s' is no reduction; sum, prod, max and min are", text);
    skip_blanks(reader);
    if (*reader->at != '(') fail(reader, reader->at, "'(' expected");
    let->value = text_until(reader, ';'); /* with its parentheses, which must be around all of it */
    const char *start = let->value.text, *last = start + strlen(start);
    while (last > start && isspace((unsigned char)last[-1])) last--;
    int depth = 0;
    for (const char *c = start; c < last; c++) {
        depth += *c == '(' ? 1 : *c == ')' ? -1 : 0;
        if (depth == 0 && c + 1 < last) {
            fail(reader, reader->line + let->value.column + (c - start), "';' expected; what follows a reduction is a `let` or `y`");
            return;
        }
    }
}

static void attribute_clause(reader *reader, opf_scalar_case *one, const char *text) {
    if (!text[0]) fail(reader, reader->mark, *reader->mark ? "a clause expected" : "`y = EXPRESSION` is missing");
    else if (strchr(text, '.') || isdigit((unsigned char)*text)) fail(reader, reader->mark, "'%s' is no clause", text);
    else if (one->n_attrs == OPF_SCALAR_CLAUSES) fail(reader, reader->mark, "more than %d attributes", OPF_SCALAR_CLAUSES);
    skip_blanks(reader);
    if (*reader->at != '=') fail(reader, reader->mark, "'%s' is no clause, and no attribute with a default", text);
    expect(reader, '=');
    if (!reader->error) one->attrs[one->n_attrs++] = (opf_scalar_attr){text, number(reader)};
}

/* The clauses between the operands and the end of the line. */
static void clauses(reader *reader, opf_scalar_op_entry *entry, opf_scalar_case *one) {
    while (!reader->error && !one->result.text) {
        const char *text = word(reader);
        if (strcmp(text, "since") == 0) entry->op.since = whole_number(reader, 1);
        else if (strcmp(text, "domain") == 0) entry->op.domain = word(reader);
        else if (strcmp(text, "kind") == 0) set_kind(reader, &entry->op);
        else if (strcmp(text, "view") == 0) entry->op.flags |= OPF_OP_VIEW;
        else if (strcmp(text, "replaces") == 0) entry->replaces = true;
        else if (strcmp(text, "aligned") == 0) aligned_clause(reader, entry);
        else if (strcmp(text, "in") == 0) compute_clause(reader, one);
        else if (strcmp(text, "when") == 0) when_clause(reader, one);
        else if (strcmp(text, "let") == 0) let_clause(reader, one);
        else if (strcmp(text, "row") == 0) row_clause(reader, entry, one);
        else if (strcmp(text, "fold") == 0) one->fold = text_until(reader, ';');
        else if (strcmp(text, "T") == 0) {
            expect(reader, '=');
            one->types = types(reader);
        } else if (strcmp(text, "y") == 0) {
            expect(reader, '=');
            one->result = text_until(reader, 0);
        } else attribute_clause(reader, one, text);
    }
}

static void check_line(reader *reader, const opf_scalar_op_entry *entry, const opf_scalar_case *one) {
    const char *end = reader->at;
    if (!one->types || entry->op.since < 1) fail(reader, end, "the line needs `since N` and `T = types`");
    if (entry->variadic != (one->fold.text != NULL)) fail(reader, end, "`...` and `fold` go together");
    if (entry->op.flags & OPF_OP_VIEW && strcmp(one->result.text, entry->operands[0].name) != 0) fail(reader, end, "a view is `y = %s`", entry->operands[0].name);
    if (entry->aligned && entry->n_operands != 2) fail(reader, end, "`aligned` places the second of two operands");
    if (entry->aligned && entry->rows) fail(reader, end, "`aligned` and `row` both want the attribute `axis`");
}

static void finish_op(opf_scalar_op_entry *entry, const char *line) {
    opf_op *op = &entry->op;
    op->scalar = line;
    op->max_outputs = 1;
    op->max_inputs = entry->variadic ? -1 : entry->n_operands;
    for (int k = 0; k < entry->n_operands; k++)
        if (!entry->operands[k].optional) op->min_inputs = k + 1;
    if (entry->variadic) op->min_inputs = 1;
}

static void parse_line(reader *reader, opf_scalar_op_entry *entry) {
    *entry = (opf_scalar_op_entry){.op = {.domain = "", .kind = OPF_KIND_ELEMWISE}, .n_cases = 1};
    entry->op.name = name(reader, "an operator");
    operands(reader, entry);
    if (reader->error) return;
    if (entry->n_operands > 1 || entry->variadic) entry->op.kind = OPF_KIND_BROADCAST;
    clauses(reader, entry, &entry->cases[0]);
    if (reader->error) return;
    check_line(reader, entry, &entry->cases[0]);
    if (strcmp(entry->op.domain, "ai.onnx") == 0) entry->op.domain = "";
    if (entry->rows) entry->op.kind = OPF_KIND_OUT_ELEMWISE_FUSABLE;
    finish_op(entry, reader->line);
}

/* ---- lines of one operator ---- */

static bool same_entry(const opf_scalar_op_entry *a, const opf_scalar_op_entry *b) {
    return a->op.since == b->op.since && strcmp(a->op.name, b->op.name) == 0 && strcmp(a->op.domain, b->op.domain) == 0;
}

static bool same_operands(const opf_scalar_op_entry *a, const opf_scalar_op_entry *b) {
    bool same = a->n_operands == b->n_operands && a->variadic == b->variadic && a->aligned == b->aligned && a->op.flags == b->op.flags;
    for (int k = 0; same && k < a->n_operands; k++) {
        const opf_scalar_operand *left = &a->operands[k], *right = &b->operands[k];
        same = strcmp(left->name, right->name) == 0 && !left->types == !right->types && left->optional == right->optional;
    }
    return same;
}

static bool takes_operands_of(const opf_scalar_case *earlier, const opf_scalar_case *later) {
    for (int k = 0; k < OPF_SCALAR_OPERANDS; k++)
        if (later->own[k] & ~earlier->own[k]) return false;
    return true;
}

/* A further line of an operator: another case. */
static void add_case(reader *reader, opf_scalar_op_entry *entry, const opf_scalar_op_entry *line) {
    const char *start = reader->line, *op = entry->op.name;
    uint32_t taken = 0;
    for (int k = 0; k < entry->n_cases; k++)
        if (!entry->cases[k].when && takes_operands_of(&entry->cases[k], &line->cases[0])) taken |= entry->cases[k].types;
    if (entry->n_cases == OPF_SCALAR_CASES) fail(reader, start, "more than %d lines of one version of %s", OPF_SCALAR_CASES, op);
    else if (!same_operands(entry, line)) fail(reader, start, "the lines of one version of %s have the same operands and clauses", op);
    else if (!(line->cases[0].types & ~taken)) fail(reader, start, "earlier lines of %s take all of these types", op);
    if (reader->error) return;
    entry->cases[entry->n_cases++] = line->cases[0];
    for (int k = 0; k < entry->n_operands; k++) entry->operands[k].types |= line->operands[k].types;
    entry->rows = entry->rows || line->rows;
    entry->replaces = entry->replaces || line->replaces;
    if (line->rows) entry->op.kind = line->op.kind;
}

static void add_line(opf_scalar_lines *lines, reader *reader, int line_number) {
    opf_scalar_op_entry entry;
    parse_line(reader, &entry);
    entry.cases[0].line = line_number;
    size_t count = lines->entries.count;
    opf_scalar_op_entry *same = NULL;
    for (size_t k = 0; k < count && !reader->error; k++)
        if (same_entry(&lines->entries.data[k], &entry)) same = &lines->entries.data[k];
    if (same) add_case(reader, same, &entry);
    else if (!reader->error) OPF_PUSH(reader->arena, &lines->entries, entry);
    if (reader->error) OPF_PUSH(reader->arena, &lines->problems, (opf_scalar_problem){line_number, opf_arena_printf(reader->arena, "line %d, %s", line_number, reader->error), NULL});
}

opf_scalar_lines opf_scalar_parse(const char *text, opf_arena *arena) {
    opf_scalar_lines lines = {0};
    for (int line_number = 1; *text; line_number++) {
        size_t length = strcspn(text, "\n"), until = strcspn(text, "\n#");
        reader reader = {.arena = arena, .line = opf_arena_string_n(arena, text, until)};
        reader.at = reader.mark = reader.line;
        skip_blanks(&reader);
        if (*reader.at) add_line(&lines, &reader, line_number);
        text += length + (text[length] == '\n');
    }
    return lines;
}

/* ---- the built-in text, read once ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static opf_arena *volatile built_in_arena; /* lives as long as the process; volatile, so that it is kept and no leak */
static opf_scalar_lines built_in;

static void read_built_in(void) {
    built_in_arena = opf_arena_new();
    built_in = opf_scalar_parse(opf_embedded_scalar_ops, built_in_arena);
    if (!built_in.problems.count) return;
    fprintf(stderr, "opfuse: error[internal]: scalar.ops: %s\n", built_in.problems.data[0].text);
    abort();
}

const opf_op *opf_scalar_entry(size_t index) {
    pthread_once(&once, read_built_in);
    return index < built_in.entries.count ? &built_in.entries.data[index].op : NULL;
}
