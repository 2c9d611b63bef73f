/* Text of expressions. Parentheses only where precedence asks for them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr/node.h"
#include "expr/syntax.h"

/* Shared sub-expressions are printed each time; beyond this size the text would serve nobody. */
enum { MAX_SIZE = 10000 };

static const uint8_t levels[OPF_OP_COUNT] = {
    [OPF_OP_OR] = 1, [OPF_OP_XOR] = 2, [OPF_OP_AND] = 3, [OPF_OP_BITOR] = 4, [OPF_OP_BITXOR] = 5, [OPF_OP_BITAND] = 6,
    [OPF_OP_EQ] = 7, [OPF_OP_NE] = 7, [OPF_OP_LT] = 8, [OPF_OP_LE] = 8, [OPF_OP_GT] = 8, [OPF_OP_GE] = 8,
    [OPF_OP_SHL] = 9, [OPF_OP_SHR] = 9, [OPF_OP_ADD] = 10, [OPF_OP_SUB] = 10, [OPF_OP_MUL] = 11, [OPF_OP_DIV] = 11,
};

int opf_infix_level(opf_scalar_op op) { return levels[op]; }

typedef struct opf_printer { const opf_expr_names *names; opf_text *out; } opf_printer;

static void print(const opf_printer *printer, const opf_expr *e, int level, bool typed);

/* The shortest decimal that reads back as the same value of its type. */
static void print_real(opf_text *out, opf_dtype dtype, double value) {
    if (isnan(value)) return opf_text_add(out, "nan");
    if (isinf(value)) return opf_text_add(out, value < 0 ? "-inf" : "inf");
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (opf_dtype_round(dtype, strtod(digits, NULL)) == value) break;
    }
    opf_text_add(out, digits);
    if (!strpbrk(digits, ".e")) opf_text_add(out, ".0");
}

static bool is_literal(const opf_expr *e) { return e->kind == OPF_EXPR_INT || e->kind == OPF_EXPR_FLOAT; }

/* typed: the place says which type a number has. */
static void print_literal(const opf_printer *printer, const opf_expr *e, int level, bool typed) {
    if (e->dtype == OPF_BOOL) return opf_text_add(printer->out, e->integer ? "true" : "false");
    typed = typed || e->dtype == OPF_INT64;
    bool negative = e->kind == OPF_EXPR_INT ? e->integer < 0 : signbit(e->real) && !isnan(e->real);
    if (!typed) opf_text_printf(printer->out, "%s(", opf_dtype_name((opf_dtype)e->dtype));
    else if (negative && level > OPF_LEVEL_UNARY) opf_text_add(printer->out, "(");
    if (e->kind == OPF_EXPR_FLOAT) print_real(printer->out, (opf_dtype)e->dtype, e->real);
    else if (e->dtype == OPF_UINT64) opf_text_printf(printer->out, "%" PRIu64, (uint64_t)e->integer);
    else opf_text_printf(printer->out, "%" PRId64, e->integer);
    if (!typed || (negative && level > OPF_LEVEL_UNARY)) opf_text_add(printer->out, ")");
}

static void print_name(const opf_printer *printer, int n_names, const char *const *names, char letter, int index) {
    if (names && index < n_names && names[index]) opf_text_add(printer->out, names[index]);
    else opf_text_printf(printer->out, "%c%d", letter, index);
}

static void print_list(const opf_printer *printer, const opf_expr *e, const char *open, const char *close, bool typed) {
    opf_text_add(printer->out, open);
    for (int i = 0; i < e->n_args; i++) {
        if (i) opf_text_add(printer->out, ", ");
        print(printer, e->args[i], OPF_LEVEL_TERNARY, typed);
    }
    opf_text_add(printer->out, close);
}

static void print_binary(const opf_printer *printer, const opf_expr *e, int level) {
    const opf_scalar_op_info *info = &opf_scalar_ops[e->op];
    const opf_expr *a = e->args[0], *b = e->args[1];
    int own = levels[e->op];
    /* The other operand says the type of a number, unless it is one too. */
    bool typed_a = !is_literal(b), typed_b = !is_literal(a);
    if (!own) {
        opf_text_printf(printer->out, "%s(", info->name);
        print(printer, a, OPF_LEVEL_TERNARY, typed_a);
        opf_text_add(printer->out, ", ");
        print(printer, b, OPF_LEVEL_TERNARY, typed_b);
        opf_text_add(printer->out, ")");
        return;
    }
    if (own < level) opf_text_add(printer->out, "(");
    print(printer, a, own, typed_a);
    opf_text_printf(printer->out, e->op == OPF_OP_MUL ? "%s" : " %s ", info->name);
    print(printer, b, own + 1, typed_b);
    if (own < level) opf_text_add(printer->out, ")");
}

static void print_unary(const opf_printer *printer, const opf_expr *e, int level) {
    const char *name = opf_scalar_ops[e->op].name;
    bool prefix = e->op == OPF_OP_NEG || e->op == OPF_OP_NOT || e->op == OPF_OP_BITNOT;
    if (!prefix) {
        opf_text_add(printer->out, name);
        return print_list(printer, e, "(", ")", false);
    }
    if (level > OPF_LEVEL_UNARY) opf_text_add(printer->out, "(");
    opf_text_add(printer->out, name);
    print(printer, e->args[0], OPF_LEVEL_PRIMARY, false);
    if (level > OPF_LEVEL_UNARY) opf_text_add(printer->out, ")");
}

static void print_select(const opf_printer *printer, const opf_expr *e, int level, bool typed) {
    if (level > OPF_LEVEL_TERNARY) opf_text_add(printer->out, "(");
    print(printer, e->args[0], OPF_LEVEL_FIRST, false);
    opf_text_add(printer->out, " ? ");
    print(printer, e->args[1], OPF_LEVEL_TERNARY, typed || !is_literal(e->args[2]));
    opf_text_add(printer->out, " : ");
    print(printer, e->args[2], OPF_LEVEL_TERNARY, typed || !is_literal(e->args[1]));
    if (level > OPF_LEVEL_TERNARY) opf_text_add(printer->out, ")");
}

static void print(const opf_printer *printer, const opf_expr *e, int level, bool typed) {
    const opf_expr_names *names = printer->names;
    switch (e->kind) {
    case OPF_EXPR_INT:
    case OPF_EXPR_FLOAT: print_literal(printer, e, level, typed); break;
    case OPF_EXPR_VAR: print_name(printer, names ? names->n_vars : 0, names ? names->vars : NULL, 'v', e->index); break;
    case OPF_EXPR_SYMBOL: opf_text_add(printer->out, e->symbol->name); break;
    case OPF_EXPR_LOAD:
        print_name(printer, names ? names->n_tensors : 0, names ? names->tensors : NULL, 't', e->index);
        print_list(printer, e, "[", "]", true);
        break;
    case OPF_EXPR_UNARY: print_unary(printer, e, level); break;
    case OPF_EXPR_BINARY: print_binary(printer, e, level); break;
    case OPF_EXPR_SELECT: print_select(printer, e, level, typed); break;
    default:
        opf_text_add(printer->out, opf_dtype_name((opf_dtype)e->dtype));
        print_list(printer, e, "(", ")", false);
    }
}

void opf_expr_print(const opf_expr *e, const opf_expr_names *names, opf_text *out) {
    if (opf_meta(e)->size > MAX_SIZE) return opf_text_printf(out, "<%s expression of %u nodes>", opf_dtype_name((opf_dtype)e->dtype), opf_meta(e)->size);
    print(&(opf_printer){names, out}, e, OPF_LEVEL_TERNARY, false);
}
