/* Reads scalar.ops: lines of the form
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
    const char *at;     /* within one line, terminated */
    const char *error;  /* the first, NULL while all is well */
} reader;

static void fail(reader *reader, const char *message) {
    if (!reader->error) reader->error = opf_arena_printf(reader->arena, "%s at '%.20s'", message, reader->at);
}

static void skip_blanks(reader *reader) {
    while (*reader->at == ' ' || *reader->at == '\t') reader->at++;
}

static bool accept(reader *reader, char c) {
    skip_blanks(reader);
    if (*reader->at != c) return false;
    reader->at++;
    return true;
}

static void expect(reader *reader, char c) {
    if (!accept(reader, c)) fail(reader, opf_arena_printf(reader->arena, "expected '%c'", c));
}

/* A word of letters, digits, '_' and '.'; "" where none stands here. */
static const char *word(reader *reader) {
    skip_blanks(reader);
    const char *start = reader->at;
    while (isalnum((unsigned char)*reader->at) || *reader->at == '_' || *reader->at == '.') reader->at++;
    return opf_arena_string_n(reader->arena, start, (size_t)(reader->at - start));
}

static double number(reader *reader) {
    skip_blanks(reader);
    char *end;
    double value = strtod(reader->at, &end);
    if (end == reader->at) fail(reader, "expected a number");
    reader->at = end;
    return value;
}

/* Text up to `end` (which is taken), or to the end of the line where `end` is 0. */
static const char *text_until(reader *reader, char end) {
    skip_blanks(reader);
    const char *start = reader->at, *stop = end ? strchr(start, end) : start + strlen(start);
    if (!stop || stop == start) {
        fail(reader, "expected an expression");
        return "0";
    }
    reader->at = end ? stop + 1 : stop;
    return opf_arena_string_n(reader->arena, start, (size_t)(stop - start));
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
    {"any", FLOATS | SIGNED_INTEGERS | UNSIGNED_INTEGERS | BIT(OPF_BOOL)},
};

static uint32_t types(reader *reader) {
    const char *name = word(reader);
    for (size_t k = 0; k < OPF_COUNT(classes); k++)
        if (strcmp(classes[k].name, name) == 0) return classes[k].types;
    fail(reader, opf_arena_printf(reader->arena, "'%s' is no class of types", name));
    return 0;
}

/* ---- one line ---- */

static void operands(reader *reader, opf_scalar_op_entry *entry) {
    if (!accept(reader, '(')) {
        entry->operands[entry->n_operands++] = (opf_scalar_operand){.name = "x"};
        return;
    }
    do {
        if (entry->n_operands == OPF_SCALAR_OPERANDS) {
            fail(reader, "too many operands");
            return;
        }
        opf_scalar_operand *operand = &entry->operands[entry->n_operands++];
        operand->name = word(reader);
        size_t length = strlen(operand->name);
        if (length > 3 && strcmp(operand->name + length - 3, "...") == 0) {
            entry->variadic = true;
            operand->name = opf_arena_string_n(reader->arena, operand->name, length - 3);
        }
        operand->optional = accept(reader, '?');
        if (accept(reader, ':')) operand->types = types(reader);
    } while (accept(reader, ','));
    expect(reader, ')');
}

static const struct { const char *name; opf_kind kind; } kinds[] = {
    {"elemwise", OPF_KIND_ELEMWISE}, {"broadcast", OPF_KIND_BROADCAST}, {"injective", OPF_KIND_INJECTIVE},
};

static void set_kind(reader *reader, opf_op *op) {
    const char *name = word(reader);
    for (size_t k = 0; k < OPF_COUNT(kinds); k++)
        if (strcmp(kinds[k].name, name) == 0) {
            op->kind = kinds[k].kind;
            return;
        }
    fail(reader, "unknown kind");
}

static void aligned_clause(reader *reader, opf_scalar_op_entry *entry) {
    skip_blanks(reader);
    entry->aligned = true;
    entry->aligned_axis = isdigit((unsigned char)*reader->at) ? (int)number(reader) : -1;
}

static void when_clause(reader *reader, opf_scalar_case *one) {
    one->when = word(reader);
    expect(reader, '=');
    one->is = word(reader);
    one->otherwise = accept(reader, '/') ? word(reader) : "";
}

static void let_clause(reader *reader, opf_scalar_case *one) {
    if (one->n_lets == OPF_SCALAR_CLAUSES) {
        fail(reader, "too many lets");
        return;
    }
    opf_scalar_let *let = &one->lets[one->n_lets++];
    let->name = word(reader);
    expect(reader, '=');
    let->text = text_until(reader, ';');
}

static void attribute_clause(reader *reader, opf_scalar_case *one, const char *name) {
    if (!name[0]) fail(reader, "expected a clause");
    else if (one->n_attrs == OPF_SCALAR_CLAUSES) fail(reader, "too many attributes");
    expect(reader, '=');
    if (!reader->error) one->attrs[one->n_attrs++] = (opf_scalar_attr){name, number(reader)};
}

/* The clauses between the operands and the end of the line. */
static void clauses(reader *reader, opf_scalar_op_entry *entry, opf_scalar_case *one) {
    while (!reader->error && !one->result) {
        const char *name = word(reader);
        if (strcmp(name, "since") == 0) entry->op.since = (int)number(reader);
        else if (strcmp(name, "domain") == 0) entry->op.domain = word(reader);
        else if (strcmp(name, "kind") == 0) set_kind(reader, &entry->op);
        else if (strcmp(name, "view") == 0) entry->op.flags |= OPF_OP_VIEW;
        else if (strcmp(name, "aligned") == 0) aligned_clause(reader, entry);
        else if (strcmp(name, "in") == 0) one->compute = opf_dtype_parse(word(reader));
        else if (strcmp(name, "when") == 0) when_clause(reader, one);
        else if (strcmp(name, "let") == 0) let_clause(reader, one);
        else if (strcmp(name, "fold") == 0) one->fold = text_until(reader, ';');
        else if (strcmp(name, "T") == 0) {
            expect(reader, '=');
            one->types = types(reader);
        } else if (strcmp(name, "y") == 0) {
            expect(reader, '=');
            one->result = text_until(reader, 0);
        } else attribute_clause(reader, one, name);
    }
    if (reader->error) return;
    if (!one->types || entry->op.since < 1) fail(reader, "the line needs `since` and `T`");
    if (entry->variadic != (one->fold != NULL)) fail(reader, "`...` and `fold` go together");
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
    const char *line = reader->at;
    *entry = (opf_scalar_op_entry){.op = {.domain = "", .kind = OPF_KIND_ELEMWISE}, .n_cases = 1};
    entry->op.name = word(reader);
    operands(reader, entry);
    if (entry->n_operands > 1 || entry->variadic) entry->op.kind = OPF_KIND_BROADCAST;
    clauses(reader, entry, &entry->cases[0]);
    finish_op(entry, line);
}

static bool same_entry(const opf_scalar_op_entry *a, const opf_scalar_op_entry *b) {
    return a->op.since == b->op.since && strcmp(a->op.name, b->op.name) == 0 && strcmp(a->op.domain, b->op.domain) == 0;
}

const char *opf_scalar_parse(opf_scalar_op_entry **out, size_t *count, const char *text, opf_arena *arena) {
    OPF_VEC(opf_scalar_op_entry) entries = {0};
    int line_number = 0;
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t length = end ? (size_t)(end - text) : strlen(text);
        line_number++;
        if (length && text[0] != '#') {
            reader reader = {.arena = arena, .at = opf_arena_string_n(arena, text, length)};
            opf_scalar_op_entry entry;
            parse_line(&reader, &entry);
            opf_scalar_op_entry *last = entries.count ? &entries.data[entries.count - 1] : NULL;
            if (last && same_entry(last, &entry) && last->n_cases == OPF_SCALAR_CASES) fail(&reader, "too many lines for one operator");
            if (reader.error) return opf_arena_printf(arena, "line %d: %s", line_number, reader.error);
            if (last && same_entry(last, &entry)) last->cases[last->n_cases++] = entry.cases[0];
            else OPF_PUSH(arena, &entries, entry);
        }
        text += length + (end != NULL);
    }
    *out = entries.data;
    *count = entries.count;
    return NULL;
}

/* ---- the built-in text, read once ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static opf_arena *volatile built_in_arena; /* lives as long as the process; volatile, so that it is kept and no leak */
static opf_scalar_op_entry *built_in;
static size_t n_built_in;

static void read_built_in(void) {
    built_in_arena = opf_arena_new();
    const char *error = opf_scalar_parse(&built_in, &n_built_in, opf_embedded_scalar_ops, built_in_arena);
    if (!error) return;
    fprintf(stderr, "opfuse: error[internal]: scalar.ops: %s\n", error);
    abort();
}

const opf_op *opf_scalar_entry(size_t index) {
    pthread_once(&once, read_built_in);
    return index < n_built_in ? &built_in[index].op : NULL;
}
