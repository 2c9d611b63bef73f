/* Proofs about integer expressions over a domain. Private to src/expr. */
#ifndef OPF_EXPR_PROVE_H
#define OPF_EXPR_PROVE_H

#include "expr/poly.h"

typedef struct opf_prover {
    opf_pool *pool;
    opf_domain_facts *facts;
    bool sizes;   /* symbols of unknown size are at least 1 */
    int budget;   /* steps left of the question asked; none left: not proved */
} opf_prover;

opf_prover opf_prover_new(opf_pool *pool, opf_domain domain, bool sizes);
bool opf_prove_natural(opf_prover *prover, const opf_expr *e); /* e >= 0 */
bool opf_prove_below(opf_prover *prover, const opf_expr *e, const opf_expr *limit); /* 0 <= e < limit */
/* Bounds as numbers; the extremes mean unbounded. */
opf_interval opf_prove_interval(opf_prover *prover, const opf_expr *e);

/* floor(n / divisor) or its remainder, simplified. prover NULL: by rules that hold for every n. */
const opf_expr *opf_divide(opf_pool *pool, opf_prover *prover, const opf_expr *n, const opf_expr *divisor, bool remainder);

#endif
