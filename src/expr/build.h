/* Parts of the constructors. Private to src/expr. */
#ifndef OPF_EXPR_BUILD_H
#define OPF_EXPR_BUILD_H

#include "expr/poly.h"

/* Integer comparison in canonical form: terms with positive coefficients on one side, negative ones on the other,
 * divided by what all have in common; decided where bounds decide. */
const opf_expr *opf_compare_integers(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b);

#endif
