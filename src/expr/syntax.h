/* Infix operators of the text form: one table for printer and parser. Private to src/expr. */
#ifndef OPF_EXPR_SYNTAX_H
#define OPF_EXPR_SYNTAX_H

#include "expr/expr.h"

enum { OPF_LEVEL_TERNARY = 0, OPF_LEVEL_FIRST = 1, OPF_LEVEL_LAST = 11, OPF_LEVEL_UNARY = 12, OPF_LEVEL_PRIMARY = 13 };

/* Precedence as in C, higher binds tighter; 0: no infix operator. ^^ stands between || and &&. */
int opf_infix_level(opf_scalar_op op);

#endif
