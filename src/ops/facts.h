/* Equalities of dims that a guard assures: one of the two sides stands for both from then on. */
#ifndef OPF_OPS_FACTS_H
#define OPF_OPS_FACTS_H

#include "ops/op.h"

/* `from`, which is no sum, product or number, equals `to`. Remembered for the module, with the guard that assures it. */
void opf_facts_add(opf_module *module, opf_dim from, opf_dim to, const char *why);
/* Symbols were replaced: says the same of the remaining ones. `symbols` as for opf_expr_bind_symbols. */
void opf_facts_bind(opf_module *module, int count, const opf_expr *const *symbols);
/* Records the guards of all facts in the module. */
void opf_facts_guard(opf_module *module);

/* The dim with all that is known to be equal replaced; equal dims that facts speak of become one pointer. */
opf_dim opf_dim_canonical(opf_module *module, opf_dim dim);
/* Does `whole` hold `part`? */
bool opf_dim_holds(opf_module *module, opf_dim whole, opf_dim part);
/* Neither sum, product nor number: a symbol, quotient, minimum… */
bool opf_dim_is_atom(opf_dim dim);

#endif
