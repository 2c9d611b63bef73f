/* Parser of the text form: precedence climbing over C's operators. A number has no type until something beside it has. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr/node.h"
#include "expr/syntax.h"

/* Chains of operators are deep trees, too: what walks them later may recurse, and compilers do. */
enum { MAX_DEPTH = 200, MAX_OPERATIONS = 1000, MAX_NAME = 64, MAX_ARGUMENTS = 16 };

/* A parsed part: an expression, or a number whose type is open. */
typedef struct opf_part {
    const opf_expr *e; /* NULL: a number, or an error */
    double number;
    int64_t integer;   /* the number, where it is whole */
    bool whole;
} opf_part;

typedef struct opf_parser {
    opf_pool *pool;
    const char *text, *at;
    const opf_expr_scope *scope;
    const char *error;
    int depth, operations;
} opf_parser;

static const opf_part nothing = {NULL, 0, 0, false};

static opf_part parse_ternary(opf_parser *parser);

__attribute__((format(printf, 2, 3))) static opf_part fail(opf_parser *parser, const char *format, ...) {
    if (parser->error) return nothing;
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    parser->error = opf_arena_printf(parser->pool->arena, "column %d: %s", (int)(parser->at - parser->text) + (parser->scope->column ? parser->scope->column : 1), message);
    return nothing;
}

static void skip_space(opf_parser *parser) {
    while (isspace((unsigned char)*parser->at)) parser->at++;
}

static bool accept(opf_parser *parser, const char *token) {
    skip_space(parser);
    size_t length = strlen(token);
    if (strncmp(parser->at, token, length) != 0) return false;
    parser->at += length;
    return true;
}

static void expect(opf_parser *parser, const char *token) {
    if (!accept(parser, token)) fail(parser, "'%s' expected", token);
}

/* ---- types ---- */

static const opf_expr *typed(opf_parser *parser, opf_part part, opf_dtype dtype) {
    if (parser->error) return NULL;
    if (part.e) return part.e;
    if (opf_dtype_is_float(dtype)) return opf_real(parser->pool, dtype, part.number);
    if (!opf_dtype_is_integer(dtype)) return fail(parser, "a number cannot be of type %s", opf_dtype_name(dtype)).e;
    if (!part.whole) return fail(parser, "%g is no %s", part.number, opf_dtype_name(dtype)).e;
    const opf_expr *e = opf_int_of(parser->pool, dtype, part.integer);
    if (e->integer != part.integer || (dtype == OPF_UINT64 && part.number < 0)) return fail(parser, "%g is no %s", part.number, opf_dtype_name(dtype)).e;
    return e;
}

/* Brings both to one type; false where they do not mix. */
static bool unify(opf_parser *parser, opf_part a, opf_part b, const opf_expr **x, const opf_expr **y) {
    opf_dtype dtype = a.e ? (opf_dtype)a.e->dtype : b.e ? (opf_dtype)b.e->dtype : parser->scope->dtype;
    *x = typed(parser, a, dtype);
    *y = typed(parser, b, dtype);
    if (parser->error) return false;
    if ((*x)->dtype == (*y)->dtype) return true;
    fail(parser, "%s and %s do not mix; write a cast such as %s(x)", opf_dtype_name((opf_dtype)(*x)->dtype), opf_dtype_name((opf_dtype)(*y)->dtype),
         opf_dtype_name((opf_dtype)(*x)->dtype));
    return false;
}

static bool takes(opf_scalar_op op, opf_dtype dtype) {
    bool logic = op == OPF_OP_NOT || (op >= OPF_OP_AND && op <= OPF_OP_XOR);
    if (op == OPF_OP_CODE || op == OPF_OP_ACCUMULATE) return false; /* for schedules alone */
    bool bits = op == OPF_OP_BITNOT || (op >= OPF_OP_BITAND && op <= OPF_OP_SHR);
    bool real = (op >= OPF_OP_SQRT && op <= OPF_OP_ISINF) || op == OPF_OP_ATAN2;
    if (dtype == OPF_BOOL) return logic || op == OPF_OP_EQ || op == OPF_OP_NE;
    if (opf_dtype_is_integer(dtype)) return !logic && !real;
    return opf_dtype_is_float(dtype) && !logic && !bits;
}

static opf_part operate(opf_parser *parser, opf_scalar_op op, opf_part a, opf_part b) {
    const opf_expr *x, *y;
    if (parser->error) return nothing;
    if (++parser->operations > MAX_OPERATIONS) return fail(parser, "more than %d operations", MAX_OPERATIONS);
    bool binary = opf_scalar_ops[op].arity == 2;
    if (!binary) x = y = typed(parser, a, parser->scope->dtype);
    else if (!unify(parser, a, b, &x, &y)) return nothing;
    if (parser->error) return nothing;
    if (!takes(op, (opf_dtype)x->dtype)) return fail(parser, "'%s' does not take %s", opf_scalar_ops[op].name, opf_dtype_name((opf_dtype)x->dtype));
    return (opf_part){binary ? opf_binary(parser->pool, op, x, y) : opf_unary(parser->pool, op, x), 0, 0, false};
}

/* ---- primaries ---- */

static opf_part parse_number(opf_parser *parser) {
    char *end_real, *end_whole;
    errno = 0;
    double number = strtod(parser->at, &end_real);
    errno = 0;
    unsigned long long whole = strtoull(parser->at, &end_whole, 10);
    bool is_whole = end_whole == end_real && errno == 0;
    parser->at = end_real;
    if (!is_whole && number == rint(number) && fabs(number) < 0x1p53) is_whole = true, whole = (unsigned long long)(int64_t)number;
    return (opf_part){NULL, number, (int64_t)whole, is_whole};
}

static int parse_arguments(opf_parser *parser, const char *close, opf_part *parts) {
    int count = 0;
    if (accept(parser, close)) return 0;
    do {
        if (count == MAX_ARGUMENTS) return fail(parser, "too many arguments"), 0;
        parts[count++] = parse_ternary(parser);
    } while (!parser->error && accept(parser, ","));
    expect(parser, close);
    return count;
}

static opf_part cast_part(opf_parser *parser, opf_dtype dtype, opf_part part) {
    if (parser->error) return nothing;
    const opf_expr *e = part.e;
    if (!e && opf_dtype_is_float(dtype)) return (opf_part){opf_real(parser->pool, dtype, part.number), 0, 0, false};
    if (!e) e = part.whole ? opf_int_of(parser->pool, OPF_INT64, part.integer) : opf_real(parser->pool, OPF_FLOAT64, part.number);
    return (opf_part){opf_cast(parser->pool, dtype, e), 0, 0, false};
}

static opf_part call(opf_parser *parser, const char *name, int count, opf_part *parts) {
    opf_dtype dtype = opf_dtype_parse(name);
    if (dtype == OPF_BOOL || opf_dtype_is_float(dtype) || opf_dtype_is_integer(dtype))
        return count == 1 ? cast_part(parser, dtype, parts[0]) : fail(parser, "a cast takes one argument");
    for (int op = 0; op < OPF_OP_COUNT; op++) {
        if (strcmp(opf_scalar_ops[op].name, name) != 0) continue;
        if (count != opf_scalar_ops[op].arity) return fail(parser, "'%s' takes %d argument%s", name, opf_scalar_ops[op].arity, opf_scalar_ops[op].arity == 1 ? "" : "s");
        return operate(parser, (opf_scalar_op)op, parts[0], parts[count - 1]);
    }
    return fail(parser, "no function '%s'", name);
}

static opf_part parse_call(opf_parser *parser, const char *name, const char *start) {
    opf_part parts[MAX_ARGUMENTS];
    int count = parse_arguments(parser, ")", parts);
    if (parser->error) return nothing;
    const char *end = parser->at;
    parser->at = start; /* where messages about the call point to */
    opf_part part = call(parser, name, count, parts);
    parser->at = end;
    return part;
}

static opf_part parse_load(opf_parser *parser, const char *name, const opf_expr *tensor) {
    opf_part parts[MAX_ARGUMENTS];
    const opf_expr *indices[MAX_ARGUMENTS];
    int rank = parse_arguments(parser, "]", parts);
    for (int i = 0; i < rank && !parser->error; i++) {
        indices[i] = typed(parser, parts[i], OPF_INT64);
        if (indices[i] && indices[i]->dtype != OPF_INT64) fail(parser, "an index must be int64");
    }
    if (!parser->error && tensor->kind != OPF_EXPR_LOAD) fail(parser, "'%s' is no tensor", name);
    if (parser->error) return nothing;
    return (opf_part){opf_load(parser->pool, (opf_dtype)tensor->dtype, tensor->index, rank, indices), 0, 0, false};
}

static opf_part parse_name(opf_parser *parser) {
    char name[MAX_NAME];
    size_t length = 0;
    const char *start = parser->at;
    while (isalnum((unsigned char)parser->at[length]) || parser->at[length] == '_') length++;
    if (length >= sizeof name) return fail(parser, "name too long");
    memcpy(name, start, length);
    name[length] = '\0';
    parser->at += length;
    if (accept(parser, "(")) return parse_call(parser, name, start);
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) return (opf_part){opf_int_of(parser->pool, OPF_BOOL, name[0] == 't'), 0, 0, false};
    if (strcmp(name, "inf") == 0) return (opf_part){NULL, INFINITY, 0, false};
    if (strcmp(name, "nan") == 0) return (opf_part){NULL, NAN, 0, false};
    const opf_expr *e = parser->scope->lookup ? parser->scope->lookup(parser->scope->data, name) : NULL;
    if (!e) {
        parser->at = start;
        return fail(parser, "unknown name '%s'", name);
    }
    return accept(parser, "[") ? parse_load(parser, name, e) : (opf_part){e, 0, 0, false};
}

static opf_part unexpected(opf_parser *parser, unsigned char c) {
    if (!c) return fail(parser, "the text ends too early");
    return c < 128 ? fail(parser, "'%c' not expected", c) : fail(parser, "a character beyond ASCII not expected");
}

static opf_part parse_primary(opf_parser *parser) {
    skip_space(parser);
    unsigned char c = (unsigned char)*parser->at;
    if (accept(parser, "(")) {
        opf_part part = parse_ternary(parser);
        expect(parser, ")");
        return part;
    }
    if (isdigit(c) || (c == '.' && isdigit((unsigned char)parser->at[1]))) return parse_number(parser);
    if (isalpha(c) || c == '_') return parse_name(parser);
    return unexpected(parser, c);
}

static opf_part parse_unary(opf_parser *parser) {
    if (++parser->depth > MAX_DEPTH) return fail(parser, "nested too deeply");
    skip_space(parser);
    opf_part part;
    if (accept(parser, "-")) {
        part = parse_unary(parser);
        if (part.e) part = operate(parser, OPF_OP_NEG, part, part);
        else part = (opf_part){NULL, -part.number, (int64_t)(0 - (uint64_t)part.integer), part.whole};
    } else if (*parser->at == '!' && parser->at[1] != '=') {
        parser->at++;
        part = parse_unary(parser);
        part = operate(parser, OPF_OP_NOT, part, part);
    } else if (accept(parser, "~")) {
        part = parse_unary(parser);
        part = operate(parser, OPF_OP_BITNOT, part, part);
    } else part = parse_primary(parser);
    parser->depth--;
    return part;
}

/* ---- infix ---- */

/* The longest operator here of at least `level`; -1 for none. */
static int peek_infix(opf_parser *parser, int level) {
    skip_space(parser);
    int best = -1;
    size_t longest = 0;
    for (int op = 0; op < OPF_OP_COUNT; op++) {
        size_t length = strlen(opf_scalar_ops[op].name);
        if (opf_scalar_ops[op].arity != 2 || !opf_infix_level((opf_scalar_op)op) || length <= longest) continue;
        if (strncmp(parser->at, opf_scalar_ops[op].name, length) == 0) best = op, longest = length;
    }
    return best >= 0 && opf_infix_level((opf_scalar_op)best) >= level ? best : -1;
}

static opf_part parse_infix(opf_parser *parser, int level) {
    opf_part left = parse_unary(parser);
    for (int op; !parser->error && (op = peek_infix(parser, level)) >= 0;) {
        parser->at += strlen(opf_scalar_ops[op].name);
        opf_part right = parse_infix(parser, opf_infix_level((opf_scalar_op)op) + 1);
        left = operate(parser, (opf_scalar_op)op, left, right);
    }
    return left;
}

static opf_part parse_ternary(opf_parser *parser) {
    if (++parser->depth > MAX_DEPTH) return fail(parser, "nested too deeply");
    opf_part condition = parse_infix(parser, OPF_LEVEL_FIRST);
    if (!parser->error && accept(parser, "?")) {
        opf_part then = parse_ternary(parser);
        expect(parser, ":");
        opf_part otherwise = parse_ternary(parser);
        const opf_expr *x, *y;
        if (!parser->error && (!condition.e || condition.e->dtype != OPF_BOOL)) fail(parser, "what stands before '?' must be a comparison or a bool");
        if (parser->error || !unify(parser, then, otherwise, &x, &y)) condition = nothing;
        else condition = (opf_part){opf_select(parser->pool, condition.e, x, y), 0, 0, false};
    }
    parser->depth--;
    return condition;
}

const opf_expr *opf_expr_parse(opf_pool *pool, const char *text, const opf_expr_scope *scope, const char **error) {
    opf_parser parser = {.pool = pool, .text = text, .at = text, .scope = scope};
    opf_part part = parse_ternary(&parser);
    skip_space(&parser);
    if (!parser.error && *parser.at) unexpected(&parser, (unsigned char)*parser.at);
    const opf_expr *e = typed(&parser, part, scope->dtype);
    if (error) *error = parser.error;
    return parser.error ? NULL : e;
}
