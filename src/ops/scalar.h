/* Scalar operators: one line each, in scalar.ops or in a text that a user gives. docs/adding-an-operator.md gives the language. */
#ifndef OPF_OPS_SCALAR_H
#define OPF_OPS_SCALAR_H

#include "ops/build.h"

enum { OPF_SCALAR_OPERANDS = 8, OPF_SCALAR_CASES = 4, OPF_SCALAR_CLAUSES = 8 };

typedef struct opf_scalar_operand {
    const char *name;
    uint32_t types;        /* of all lines: set of element types, bit = number; 0: of the operator's T */
    bool optional;
} opf_scalar_operand;

/* An expression, as text: it is read when a node is built, since types decide how. */
typedef struct opf_scalar_text {
    const char *text;      /* NULL: not given */
    int column;            /* in its line, from 1; for messages */
} opf_scalar_text;

typedef struct opf_scalar_attr { const char *name; double value; } opf_scalar_attr;

/* A name for a part of the expression, or (a combiner is given) for a reduction along the operator's row. */
typedef struct opf_scalar_let {
    const char *name;
    opf_scalar_text value;
    opf_combiner combiner; /* OPF_COMBINE_NONE: `let` */
} opf_scalar_let;

/* One line: what the operator means for some types T and one value of an attribute. */
typedef struct opf_scalar_case {
    int line;              /* in its file, from 1 */
    uint32_t types;        /* T is one of these */
    uint32_t own[OPF_SCALAR_OPERANDS]; /* the types of operands that have their own */
    const char *when, *is; /* applies only where attribute `when` has this text; NULL: always */
    const char *otherwise; /* the attribute's default */
    opf_dtype compute;     /* operands are cast to this type and the result back to T; OPF_NO_DTYPE: opf_call_compute(T) */
    int n_attrs, n_lets;
    opf_scalar_attr attrs[OPF_SCALAR_CLAUSES]; /* with their defaults */
    opf_scalar_let lets[OPF_SCALAR_CLAUSES];
    opf_scalar_text fold;  /* of the two operands, left to right over all inputs; NULL where not variadic */
    opf_scalar_text result;
} opf_scalar_case;

/* All lines of one name and version. */
typedef struct opf_scalar_op_entry {
    opf_op op;             /* first, so that the table's pointer leads back here */
    const char *source;    /* the user's file or text; NULL: scalar.ops */
    bool replaces;         /* a user's that stands before a built-in one of this name */
    int n_operands, n_cases;
    bool variadic;         /* the last operand stands for any number of inputs */
    bool rows;             /* some line reduces: over the axis that the attribute `axis` names, the last without it */
    bool aligned;          /* attributes `axis` and `broadcast` place the second operand (before opset 7) */
    int aligned_axis;      /* where it starts without `axis`; -1: both operands end together */
    opf_scalar_operand operands[OPF_SCALAR_OPERANDS];
    opf_scalar_case cases[OPF_SCALAR_CASES];
} opf_scalar_op_entry;

/* What is wrong with a line. */
typedef struct opf_scalar_problem {
    int line;
    const char *text;      /* "line 2, column 17: 'colour' is no class of types" */
    const char *hint;      /* or NULL */
} opf_scalar_problem;

/* What a text of lines holds. */
typedef struct opf_scalar_lines {
    OPF_VEC(opf_scalar_op_entry) entries;
    OPF_VEC(opf_scalar_problem) problems; /* at most one a line */
} opf_scalar_lines;

/* Reads a text of such lines; all in the arena. The expressions are only looked at by opf_scalar_check. */
opf_scalar_lines opf_scalar_parse(const char *text, opf_arena *arena);

/* Builds each line of an entry for all of its types, with and without its optional operands, on a graph of its own. Returns
 * the first problem; its text is NULL where there is none (arena). */
opf_scalar_problem opf_scalar_check(const opf_scalar_op_entry *entry, opf_arena *arena);

/* A set of element types: the name of its class, or the names of the types with `|` between them. */
void opf_scalar_types_print(uint32_t types, opf_text *out);

/* Build function of an entry: call->op is that of an opf_scalar_op_entry. */
opf_status opf_scalar_build(opf_call *call);
/* The same by one of its lines, for operands of type T. */
opf_status opf_scalar_build_case(opf_call *call, const opf_scalar_case *one, opf_dtype T);

#endif
