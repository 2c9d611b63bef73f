/* Affine parts of index expressions. */
#include "expr/poly.h"

bool opf_expr_affine(opf_pool *pool, const opf_expr *e, int variable, const opf_expr **coefficient, const opf_expr **rest) {
    if (e->dtype != OPF_INT64) return false;
    if (!opf_expr_has_var(e, variable)) {
        *coefficient = opf_int(pool, 0);
        *rest = e;
        return true;
    }
    const opf_expr *v = opf_var(pool, variable);
    opf_poly poly, factor, remainder;
    opf_poly_from(&poly, e);
    opf_poly_init(&factor, OPF_INT64);
    opf_poly_init(&remainder, OPF_INT64);
    opf_poly_add_term(&remainder, NULL, poly.constant);
    bool affine = true;
    for (int i = 0; affine && i < poly.count; i++) {
        const opf_term term = poly.terms[i];
        const opf_expr *others;
        if (!opf_expr_has_var(term.monomial, variable)) opf_poly_add_term(&remainder, term.monomial, term.coefficient);
        else if (!opf_monomial_divide(pool, term.monomial, v, &others) || (others && opf_expr_has_var(others, variable))) affine = false;
        else opf_poly_add_term(&factor, others, term.coefficient);
    }
    if (affine) {
        *coefficient = opf_poly_build(pool, &factor);
        *rest = opf_poly_build(pool, &remainder);
    }
    opf_poly_free(&poly);
    opf_poly_free(&factor);
    opf_poly_free(&remainder);
    return affine;
}
