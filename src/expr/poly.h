/* Integer expressions as polynomials: sums of products of atoms with integer coefficients. An atom is any integer
 * expression that is no sum, difference, product or constant. Private to src/expr.
 *
 * Canonical tree: terms with positive coefficients in reading order (by first variable, then by age), then (where there
 * is none, first) a positive constant, then negative terms behind SUB, then the constant. A monomial is a left-leaning
 * product of atoms in reading order; its coefficient stands to its right: v0*W*64. */
#ifndef OPF_EXPR_POLY_H
#define OPF_EXPR_POLY_H

#include "expr/node.h"

enum {
    OPF_POLY_INLINE = 12,
    OPF_POLY_MAX_TERMS = 256,   /* longer sums, and longer products, are kept as they were written */
    OPF_MONOMIAL_MAX = 32       /* factors */
};

typedef struct opf_term {
    const opf_expr *monomial;   /* a product of atoms without a coefficient */
    int64_t coefficient;        /* never 0 in a finished polynomial */
} opf_term;

typedef struct opf_poly {
    opf_dtype dtype;
    int64_t constant;
    int count, capacity;
    opf_term *terms;            /* ascending by id of the monomial */
    opf_term fixed[OPF_POLY_INLINE];
} opf_poly;

void opf_poly_init(opf_poly *poly, opf_dtype dtype);
void opf_poly_free(opf_poly *poly);
void opf_poly_from(opf_poly *poly, const opf_expr *e);                       /* initialises */
void opf_poly_add(opf_poly *poly, const opf_poly *other, int64_t factor);    /* poly += factor * other */
void opf_poly_add_term(opf_poly *poly, const opf_expr *monomial, int64_t coefficient); /* NULL: constant */
void opf_poly_add_expr(opf_poly *poly, const opf_expr *e, int64_t factor);
/* Initialises out = a * b; false (and out freed) where it would grow beyond the limits. */
bool opf_poly_multiply(opf_pool *pool, opf_poly *out, const opf_poly *a, const opf_poly *b);
/* The canonical expression; merges a*(n // a) + n % a and the like on the way. */
const opf_expr *opf_poly_build(opf_pool *pool, opf_poly *poly);
int64_t opf_poly_coefficient(const opf_poly *poly, const opf_expr *monomial); /* 0 where absent; NULL: constant */
/* Is every term of `part` in `poly` with the same coefficient? */
bool opf_poly_contains(const opf_poly *poly, const opf_poly *part);

/* Monomials. NULL stands for 1. */
int opf_monomial_factors(const opf_expr *monomial, const opf_expr **factors); /* count; in reading order */
const opf_expr *opf_monomial_from(opf_pool *pool, const opf_expr **factors, int count); /* sorts */
/* Product; false where there are too many factors. */
bool opf_monomial_multiply(opf_pool *pool, const opf_expr *a, const opf_expr *b, const opf_expr **out);
/* Quotient; false where b does not divide a. */
bool opf_monomial_divide(opf_pool *pool, const opf_expr *a, const opf_expr *b, const opf_expr **out);
const opf_expr *opf_monomial_common(opf_pool *pool, const opf_expr *a, const opf_expr *b);

/* True for what opf_poly_from takes apart: a sum, difference, negation or product of integers. */
bool opf_is_poly(const opf_expr *e);

/* Merges split axes again: k*c*(n // c) + k*(n % c) → k*n; true where something was merged. */
bool opf_poly_merge_divisions(opf_pool *pool, opf_poly *poly);

/* For walks: calls `visit` on each distinct-position atom of e. */
void opf_poly_atoms(const opf_expr *e, void (*visit)(const opf_expr *atom, void *data), void *data);

#endif
