/* Loops over float16 numbers, taken apart where an operator's result is rounded (docs/decisions/0184-roundings-line-by-line.md). */
#ifndef OPF_EMIT_ROUNDINGS_H
#define OPF_EMIT_ROUNDINGS_H

#include "emit/spelling.h"

enum { OPF_ELEMENTS_OF_PIECE = 128 }; /* of lines between two roundings: in the first cache, whatever their number */

typedef struct opf_roundings {
    opf_pool *pool;
    int first;                         /* a load of tensor first + k stands for the rounded values[k] */
    OPF_VEC(const opf_expr *) casts;   /* the roundings, each behind those that it needs … */
    OPF_VEC(const opf_expr *) values;  /* … and what they round */
} opf_roundings;

/* A line of values in front of `e`, which the load that comes back stands for. */
const opf_expr *opf_roundings_add(opf_roundings *r, const opf_expr *cast, const opf_expr *value);
/* `e` with its roundings to float16 taken out. What only one side of a select needs stays. */
const opf_expr *opf_roundings_take(opf_roundings *r, const opf_expr *e);

#endif
