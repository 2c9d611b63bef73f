/* Shorthands of the families that mostly rearrange: index arithmetic, predicates and checks. */
#ifndef OPF_OPS_INDEX_H
#define OPF_OPS_INDEX_H

#include "ops/build.h"

/* More than any axis can have: bounds for numbers of a model that are added to indices. */
#define OPF_MOST_ELEMENTS ((int64_t)1 << 47)

static inline const opf_expr *opf_call_int(const opf_call *call, int64_t value) { return opf_int(call->pool, value); }
static inline const opf_expr *opf_call_var(const opf_call *call, int axis) { return opf_var(call->pool, axis); }

/* a < b and a <= b as bool expressions, and their conjunction; NULL stands for "always" and is absorbed. */
const opf_expr *opf_call_less(opf_call *call, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_call_at_most(opf_call *call, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_call_and(opf_call *call, const opf_expr *a, const opf_expr *b);
/* condition ? then : otherwise, where a NULL condition always holds. */
const opf_expr *opf_call_choose(opf_call *call, const opf_expr *condition, const opf_expr *then, const opf_expr *otherwise);
/* min(max(index, 0), extent - 1) */
const opf_expr *opf_call_clamp(opf_call *call, const opf_expr *index, opf_dim extent);

/* Do two dims compare so for every size of the inputs, as far as can be proved? */
bool opf_call_proves_le(const opf_call *call, opf_dim a, opf_dim b);

/* Fills indices with v(first), v(first + 1), … */
void opf_call_vars(const opf_call *call, int first, int count, const opf_expr **indices);
/* The input's extents, all of them. */
void opf_call_dims(const opf_call *call, int tensor, opf_dim *out);
/* Product of the extents first … last - 1 of an input or stage. */
opf_dim opf_call_dim_product(const opf_call *call, int tensor, int first, int last);

/* The element of a tensor of one element: rank 0, or all axes of size 1; its content where that is known. Reported where
 * the tensor holds another number of elements. */
const opf_expr *opf_call_load_single(opf_call *call, int input, const char *what);
/* `e` in type `dtype`; itself where it has it already. */
const opf_expr *opf_call_convert(opf_call *call, opf_dtype dtype, const opf_expr *e);

/* Checks; each reports and returns false. */
bool opf_call_check_rank(opf_call *call, int input, int low, int high, const char *what);
bool opf_call_check_same_type(opf_call *call, int first, int second);
bool opf_call_check_integer(opf_call *call, int input, const char *what); /* int32 or int64 */
/* A condition of the sizes that must hold: left >= right. Provable: nothing; two constants that break it: an error;
 * else a guard. `what` completes "Operator 'node': ". */
bool opf_call_require_ge(opf_call *call, opf_dim left, opf_dim right, const char *what);
/* The same where sizes of 0 matter too. Proofs take every size to be at least 1, since nothing is read in an empty domain;
 * but an element that is read whatever the sizes needs an axis that has it. */
bool opf_call_require_ge_always(opf_call *call, opf_dim left, opf_dim right, const char *what);
/* max(e, low) and min(e, high) of sizes; where they would decide themselves if no size were 0, that becomes a guard, unless a step finds a size of them.
 * A session has a program of its own for inputs that are refused for being empty (opf_model_bind_empty). */
opf_dim opf_call_at_least(opf_call *call, opf_dim e, opf_dim low, const char *what);
opf_dim opf_call_at_most_dim(opf_call *call, opf_dim e, opf_dim high, const char *what);

#endif
