/* Scalar operators: one line each in scalar.ops. docs/adding-an-operator.md gives the language. */
#ifndef OPF_OPS_SCALAR_H
#define OPF_OPS_SCALAR_H

#include "ops/build.h"

enum { OPF_SCALAR_OPERANDS = 4, OPF_SCALAR_CASES = 4, OPF_SCALAR_CLAUSES = 4 };

typedef struct opf_scalar_operand {
    const char *name;
    uint32_t types;        /* set of element types, bit = number; 0: of the operator's T */
    bool optional;
} opf_scalar_operand;

typedef struct opf_scalar_attr { const char *name; double value; } opf_scalar_attr;
typedef struct opf_scalar_let { const char *name, *text; } opf_scalar_let;

/* One line: what the operator means for some types T and one value of an attribute. */
typedef struct opf_scalar_case {
    uint32_t types;        /* T is one of these */
    const char *when, *is; /* applies only where attribute `when` has this text; NULL: always */
    const char *otherwise; /* the attribute's default */
    opf_dtype compute;     /* operands are cast to this type and the result back to T; OPF_NO_DTYPE: opf_call_compute(T) */
    int n_attrs, n_lets;
    opf_scalar_attr attrs[OPF_SCALAR_CLAUSES]; /* with their defaults */
    opf_scalar_let lets[OPF_SCALAR_CLAUSES];   /* names for parts of the expressions */
    const char *fold;      /* of the two operands, left to right over all inputs; NULL where not variadic */
    const char *result;
} opf_scalar_case;

/* All lines of one name and version. */
typedef struct opf_scalar_op_entry {
    opf_op op;             /* first, so that the table's pointer leads back here */
    int n_operands, n_cases;
    bool variadic;         /* the last operand stands for any number of inputs */
    bool aligned;          /* attributes `axis` and `broadcast` place the second operand (before opset 7) */
    int aligned_axis;      /* where it starts without `axis`; -1: both operands end together */
    opf_scalar_operand operands[OPF_SCALAR_OPERANDS];
    opf_scalar_case cases[OPF_SCALAR_CASES];
} opf_scalar_op_entry;

/* Reads a text of such lines. Entries in `*out` (arena). Returns NULL, or what is wrong and in which line (arena). */
const char *opf_scalar_parse(opf_scalar_op_entry **out, size_t *count, const char *text, opf_arena *arena);

/* Build function of an entry of scalar.ops: call->op is one that opf_scalar_entry returned. */
opf_status opf_scalar_build(opf_call *call);

#endif
