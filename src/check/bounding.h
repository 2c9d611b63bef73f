/* What the files that make bounds share: the state, and how expressions of bounds are built (bound.c). Private to src/check. */
#ifndef OPF_CHECK_BOUNDING_H
#define OPF_CHECK_BOUNDING_H

#include <math.h>

#include "base/map.h"
#include "check/bound.h"
#include "expr/node.h"

/* Beyond what normal numbers allow: a step of the denormals, and what a product of two small ones loses. */
#define OPF_BOUND_UNDERFLOW 1.5e-44

typedef struct opf_bounding {
    opf_pool *pool;
    opf_arena *arena;
    const opf_group *group;
    const opf_tensor *const *inputs; /* of the group */
    const bool *inexact;
    const bool *anew;          /* per stage of the group */
    bool literals_anew;        /* of the stage at hand */
    const int64_t *symbols;
    opf_stages stages;         /* the group's, then those of bounds */
    int *bound_of;             /* per stage of the group: its bound's index in stages.list, -1: exact, -2: none can be stated */
    opf_map known;             /* expression → its bound; of the stage at hand */
    bool lost;                 /* no bound can be stated for the stage at hand */
    const opf_bound_schedule *schedule;
    int *choices, *candidates; /* per stage of the group that is the position of an extreme: the stages of opf_error_bound; -1 */
    opf_error_bound *out;
} opf_bounding;

/* ---- building; NULL stands for an exact zero ---- */

static inline const opf_expr *number(opf_bounding *b, double value) { return opf_real(b->pool, OPF_FLOAT32, value); }

/* |e| as float32: bounds are float32 throughout, which the evaluator holds in double. */
static inline const opf_expr *magnitude(opf_bounding *b, const opf_expr *e) {
    const opf_expr *real = e->dtype == OPF_FLOAT32 ? e : opf_cast(b->pool, OPF_FLOAT32, e);
    return opf_unary(b->pool, OPF_OP_ABS, real);
}

static inline const opf_expr *plus(opf_bounding *b, const opf_expr *x, const opf_expr *y) { return !x ? y : !y ? x : opf_binary(b->pool, OPF_OP_ADD, x, y); }
static inline const opf_expr *times(opf_bounding *b, const opf_expr *x, const opf_expr *y) { return !x || !y ? NULL : opf_binary(b->pool, OPF_OP_MUL, x, y); }
static inline const opf_expr *scaled(opf_bounding *b, double factor, const opf_expr *x) { return x ? opf_binary(b->pool, OPF_OP_MUL, number(b, factor), x) : NULL; }
static inline const opf_expr *over(opf_bounding *b, const opf_expr *x, const opf_expr *y) { return x ? opf_binary(b->pool, OPF_OP_DIV, x, y) : NULL; }
/* x over how far an operand is from where the function has no bound any more: there, anything may come. */
static inline const opf_expr *over_gap(opf_bounding *b, const opf_expr *x, const opf_expr *gap) {
    if (!x) return NULL;
    return opf_select(b->pool, opf_binary(b->pool, OPF_OP_GT, gap, number(b, 0)), over(b, x, gap), number(b, INFINITY));
}
static inline const opf_expr *less(opf_bounding *b, const opf_expr *x, const opf_expr *y) { return y ? opf_binary(b->pool, OPF_OP_SUB, x, y) : x; }
static inline const opf_expr *larger(opf_bounding *b, const opf_expr *x, const opf_expr *y) { return !x ? y : !y ? x : opf_binary(b->pool, OPF_OP_MAX, x, y); }
static inline const opf_expr *unary(opf_bounding *b, opf_scalar_op op, const opf_expr *x) { return opf_unary(b->pool, op, x); }

static inline const opf_expr *lose(opf_bounding *b) {
    b->lost = true;
    return NULL;
}

/* Half the distance of neighbours of the type, relative; 0 for integers. */
static inline double roundoff(opf_dtype dtype) {
    switch (dtype) {
    case OPF_FLOAT64: return 0x1p-53;
    case OPF_FLOAT32: return 0x1p-24;
    case OPF_FLOAT16: return 0x1p-11;
    case OPF_BFLOAT16: return 0x1p-8;
    case OPF_FLOAT8E4M3FN: case OPF_FLOAT8E4M3FNUZ: return 0x1p-4;
    case OPF_FLOAT8E5M2: case OPF_FLOAT8E5M2FNUZ: return 0x1p-3;
    case OPF_FLOAT4E2M1: return 0x1p-2;
    case OPF_FLOAT8E8M0: return 0x1p-1;
    default: return 0;
    }
}

/* Roundings of a constant that a pass has made. Passes compute in double (a root, a sum and a quotient, products with what was taken
 * together, a difference): float64 is rounded at each step, other types once, and once more by whoever takes such constants together. */
static inline double anew_roundings(opf_dtype dtype) { return dtype == OPF_FLOAT64 ? 8 : 2; }

/* k roundings of the size of e; an infinity is exact, and so is a NaN: whether it may be something else, its operands' bounds say. */
static inline const opf_expr *rounded(opf_bounding *b, const opf_expr *e, double k) {
    double u = roundoff((opf_dtype)e->dtype);
    if (u <= 0) return NULL;
    const opf_expr *special = opf_binary(b->pool, OPF_OP_OR, unary(b, OPF_OP_ISINF, e), unary(b, OPF_OP_ISNAN, e));
    return opf_select(b->pool, special, number(b, 0), plus(b, scaled(b, k * u, magnitude(b, e)), number(b, OPF_BOUND_UNDERFLOW)));
}

/* ---- bound_expr.c ---- */

/* How far an expression of the stage at hand may be off; NULL: exact, or lost. */
const opf_expr *opf_bound_of(opf_bounding *b, const opf_expr *e);
/* Of an operation that makes something else of an infinity than of a number as large: `error`, infinite where the operand, off by ea, may
 * be beyond float32. */
const opf_expr *opf_bound_open_beyond(opf_bounding *b, const opf_expr *operand, const opf_expr *ea, const opf_expr *error);
/* ULP of the prelude's functions, in roundoffs. */
enum { OPF_BOUND_FUNCTION_ERROR = 8 };

/* ---- bound.c ---- */

/* A stage of bounds with the domain of `like`; its number. */
int opf_bound_add_stage(opf_bounding *b, const opf_stage *like, opf_combiner combiner, const opf_expr *body);
/* Element by element of a stage of that domain. */
const opf_expr *opf_bound_load_stage(opf_bounding *b, const opf_stage *stage, int number, opf_dtype dtype);
double opf_bound_terms(const opf_bounding *b, const opf_stage *stage); /* of a reduction */

/* ---- bound_extreme.c ---- */

/* The extreme of terms off by `term` (not exact), stage `index` of the group: the stage that holds its bound without its own rounding. */
int opf_bound_extreme(opf_bounding *b, const opf_stage *stage, int index, const opf_expr *term);
/* The same of the position of an extreme; fills choices and candidates. */
int opf_bound_position(opf_bounding *b, const opf_stage *stage, int index, const opf_expr *term);

/* ---- bound_sum.c ---- */

/* A sum whose terms are off by `term`: the stage that holds its bound without the result's own rounding, -1: exact. */
int opf_bound_sum(opf_bounding *b, const opf_stage *stage, const opf_expr *term);

#endif
