/* Counts: dim symbols whose values steps find while a program runs. */
#ifndef OPF_OPS_COUNTS_H
#define OPF_OPS_COUNTS_H

#include "ops/op.h"

/* Count `number` of the node, made when it is first asked for; `most` replaces its bound, NULL: there is none. `plain`: it is no
 * size. */
const opf_symbol *opf_count_symbol(opf_node *node, int number, const char *name, bool plain, opf_dim most);
void opf_count_bound(opf_module *module, const opf_symbol *symbol, opf_dim most);

/* The count that a symbol is; NULL for sizes of inputs. */
const opf_count *opf_count_of(const opf_module *module, const opf_symbol *symbol);
/* Does the dim depend on a count? */
bool opf_dim_is_counted(const opf_module *module, opf_dim dim);
/* Does the dim depend on a count without a bound? Then memory for it is taken as the program runs. */
bool opf_dim_is_unbounded(const opf_module *module, opf_dim dim);
/* An upper bound of a size, free of counts but for those without a bound: the size itself where it has none. Sub-expressions are taken to be sizes
 * (not negative) unless a negative factor says otherwise. */
opf_dim opf_dim_most(const opf_module *module, opf_dim dim);

#endif
