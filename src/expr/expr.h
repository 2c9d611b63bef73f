/* The scalar expression language. One language says what an operator computes for one output element, where it reads
 * (index expressions, int64) and how large tensors are (dims: int64 expressions of symbols).
 *
 * Expressions are immutable and hash-consed in a pool: equal expressions are one pointer, so `==` compares them.
 * Every constructor simplifies: int64 arithmetic is kept as a canonical polynomial (sum of products, terms ordered by
 * id, integer coefficients), constants fold, identities vanish. Floating arithmetic is never reordered and folds only
 * where the result is exactly that of the operation in the expression's own type (so x*1, x+0 stay: x+0 changes -0).
 *
 * Text form (printed and parsed): infix C-like; variables v0, v1, … or given names; symbols by name; loads as
 * t3[v0, v1]; floordiv(a, b), floormod(a, b); select as c ? a : b; casts as float32(x). */
#ifndef OPF_EXPR_EXPR_H
#define OPF_EXPR_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "expr/dtype.h"

typedef enum opf_expr_kind {
    OPF_EXPR_INT,    /* integer or bool constant: `integer` */
    OPF_EXPR_FLOAT,  /* floating constant: `real`, already rounded to dtype */
    OPF_EXPR_VAR,    /* axis of the enclosing stage by position: `index` (reduce axes follow the plain ones); int64 */
    OPF_EXPR_SYMBOL, /* dim symbol: `symbol`; int64 */
    OPF_EXPR_LOAD,   /* element of tensor `index`, args = one int64 index per axis */
    OPF_EXPR_UNARY,
    OPF_EXPR_BINARY,
    OPF_EXPR_SELECT, /* args: condition (bool), then, else. Only the chosen side is evaluated: guards out-of-range loads */
    OPF_EXPR_CAST    /* args: value; to dtype, ONNX Cast semantics (float→int toward zero, ints wrap, →bool is != 0) */
} opf_expr_kind;

typedef enum opf_scalar_op {
    /* unary */
    OPF_OP_NEG, OPF_OP_ABS, OPF_OP_SIGN, OPF_OP_NOT, OPF_OP_BITNOT,
    OPF_OP_SQRT, OPF_OP_EXP, OPF_OP_LOG, OPF_OP_LOG1P, OPF_OP_EXPM1, OPF_OP_ERF,
    OPF_OP_SIN, OPF_OP_COS, OPF_OP_TAN, OPF_OP_ASIN, OPF_OP_ACOS, OPF_OP_ATAN,
    OPF_OP_SINH, OPF_OP_COSH, OPF_OP_TANH, OPF_OP_ASINH, OPF_OP_ACOSH, OPF_OP_ATANH,
    OPF_OP_FLOOR, OPF_OP_CEIL, OPF_OP_ROUND /* half to even */, OPF_OP_TRUNC,
    OPF_OP_ISNAN, OPF_OP_ISINF,
    OPF_OP_EXP_BELOW, /* float32: exp of what is at most 0, or NaN; schedules write it */
    OPF_OP_EXP_RAISED, /* float32: 2^24 times that, of what is then divided by a sum of the same; schedules write it */
    OPF_OP_EXP_BESIDE, /* float32: exp of what a number from 1 up is added to; below 2^-100 it may be anything as small; schedules write it */
    OPF_OP_CODE,     /* the bits that store a value of a type of at most 8 bits, as uint8; schedules write it */
    /* binary; arithmetic needs equal operand types and keeps them, comparisons give bool */
    OPF_OP_ADD, OPF_OP_SUB, OPF_OP_MUL,
    OPF_OP_DIV,      /* floats: /; integers: toward zero, x/0 = 0 and MIN/-1 = MIN so that nothing traps (docs/numerics.md) */
    OPF_OP_FLOORDIV, /* integers, divisor > 0 in index expressions; x//0 = 0 */
    OPF_OP_FLOORMOD, /* integers: sign of the divisor (ONNX Mod, fmod=0); x%0 = 0 */
    OPF_OP_FMOD,     /* C's fmod / % (ONNX Mod, fmod=1): sign of the dividend */
    OPF_OP_POW, OPF_OP_ATAN2,
    OPF_OP_MIN, OPF_OP_MAX, /* NaN in either operand gives NaN */
    OPF_OP_LT, OPF_OP_LE, OPF_OP_GT, OPF_OP_GE, OPF_OP_EQ, OPF_OP_NE,
    OPF_OP_AND, OPF_OP_OR, OPF_OP_XOR,             /* bool */
    OPF_OP_BITAND, OPF_OP_BITOR, OPF_OP_BITXOR, OPF_OP_SHL, OPF_OP_SHR, /* integers; shift >= width gives 0 */
    OPF_OP_ACCUMULATE, /* floats: a + b, where b may be a product that is not rounded by itself; schedules write it */
    OPF_OP_COUNT
} opf_scalar_op;

static inline bool opf_op_is_exp(unsigned op) { return op == OPF_OP_EXP || op == OPF_OP_EXP_BELOW || op == OPF_OP_EXP_RAISED; }

/* One row per operation: its spelling in the text form and what the cost model and the emitter need to know. */
typedef struct opf_scalar_op_info {
    const char *name;    /* "exp", "+", "floordiv" */
    uint8_t arity;       /* 1 or 2 */
    uint8_t flops;       /* price of one float32 evaluation in units of an add (research: add 1, div 6, exp 24, tanh 34…) */
    bool transcendental; /* at most one of these per emitted loop */
    bool compares;       /* result is bool */
} opf_scalar_op_info;
extern const opf_scalar_op_info opf_scalar_ops[OPF_OP_COUNT];

/* A dim symbol: an unknown size or small integer known only when the program runs. */
typedef struct opf_symbol {
    const char *name;  /* unique in the pool, a C identifier */
    int index;         /* dense, in order of creation */
    int64_t low, high; /* what is known of it, inclusive; sizes: low = 0. Index simplification assumes sizes >= 1,
                          since no index is ever evaluated in an empty domain */
    int64_t nominal;   /* size used by cost decisions only */
    bool plain;        /* a number, no size: it may be 0 where something is computed */
} opf_symbol;

typedef struct opf_expr {
    uint8_t kind;   /* opf_expr_kind */
    uint8_t op;     /* opf_scalar_op for unary and binary */
    uint8_t dtype;  /* opf_dtype of the result */
    uint8_t n_args; /* loads: rank of the tensor */
    uint32_t id;    /* dense, in order of creation: a deterministic order and an index for side tables */
    union {
        int64_t integer;
        double real;
        int index; /* variable position, or tensor number of a load */
        const opf_symbol *symbol;
    };
    const struct opf_expr *args[];
} opf_expr;

typedef const opf_expr *opf_dim; /* an int64 expression without variables and loads */

typedef struct opf_pool opf_pool;

opf_pool *opf_pool_new(opf_arena *arena); /* lives and dies with the arena */
opf_arena *opf_pool_arena(const opf_pool *pool);
uint32_t opf_pool_count(const opf_pool *pool); /* all ids are below */

/* Symbols. A taken name gets a suffix. */
const opf_symbol *opf_symbol_new(opf_pool *pool, const char *name, int64_t low, int64_t high, int64_t nominal);
const opf_symbol *opf_symbol_number(opf_pool *pool, const char *name, int64_t low, int64_t high, int64_t nominal); /* plain */
int opf_pool_symbols(const opf_pool *pool);
const opf_symbol *opf_pool_symbol(const opf_pool *pool, int index);

/* Constructors; operands must have the types that the operation needs (asserted). */
const opf_expr *opf_int(opf_pool *pool, int64_t value);                         /* int64 */
const opf_expr *opf_int_of(opf_pool *pool, opf_dtype dtype, int64_t value);     /* any integer type or bool, wrapped */
const opf_expr *opf_real(opf_pool *pool, opf_dtype dtype, double value);        /* rounded to dtype */
const opf_expr *opf_number(opf_pool *pool, opf_dtype dtype, double value);      /* integer or floating by dtype */
const opf_expr *opf_var(opf_pool *pool, int position);
const opf_expr *opf_sym(opf_pool *pool, const opf_symbol *symbol);
const opf_expr *opf_load(opf_pool *pool, opf_dtype dtype, int tensor, int rank, const opf_expr *const *indices);
const opf_expr *opf_unary(opf_pool *pool, opf_scalar_op op, const opf_expr *a);
const opf_expr *opf_binary(opf_pool *pool, opf_scalar_op op, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_select(opf_pool *pool, const opf_expr *condition, const opf_expr *then, const opf_expr *otherwise);
const opf_expr *opf_cast(opf_pool *pool, opf_dtype dtype, const opf_expr *a);

/* Shorthands on int64 (indices and dims). */
const opf_expr *opf_add(opf_pool *pool, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_sub(opf_pool *pool, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_mul(opf_pool *pool, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_floordiv(opf_pool *pool, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_floormod(opf_pool *pool, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_ceildiv(opf_pool *pool, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_min(opf_pool *pool, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_max(opf_pool *pool, const opf_expr *a, const opf_expr *b);
const opf_expr *opf_product(opf_pool *pool, int count, const opf_expr *const *factors); /* 1 for none */

bool opf_is_int(const opf_expr *e, int64_t *value); /* integer constant? value may be NULL */
bool opf_is_value(const opf_expr *e, int64_t value); /* the integer constant `value`? */
int64_t opf_greatest_divisor(int64_t a, int64_t b); /* of both, at least 0; 0 of two zeros */

/* Rebuilding. `map` is called on leaves (var, symbol, load with mapped indices) and returns the replacement or NULL to
 * keep; results are simplified. Shared sub-expressions are visited once. */
typedef const opf_expr *(*opf_expr_mapper)(opf_pool *pool, const opf_expr *leaf, void *data);
const opf_expr *opf_expr_map(opf_pool *pool, const opf_expr *e, opf_expr_mapper map, void *data);
/* Variables replaced by position; entries beyond `count`, and NULL ones, stay. */
const opf_expr *opf_expr_bind(opf_pool *pool, const opf_expr *e, int count, const opf_expr *const *variables);
/* Symbols replaced by index; NULL entries stay. */
const opf_expr *opf_expr_bind_symbols(opf_pool *pool, const opf_expr *e, int count, const opf_expr *const *symbols);

/* Domain of variables: variable k runs over 0 … extents[k]-1. */
typedef struct opf_domain {
    int count;
    const opf_expr *const *extents;
} opf_domain;

/* Simplifies with knowledge of the variables' ranges: floordiv and floormod by known or symbolic extents
 * ((a*c + b) // c → a where 0 <= b < c), min/max, comparisons, and selects that they decide. */
const opf_expr *opf_expr_simplify(opf_pool *pool, const opf_expr *e, opf_domain domain);
/* True only if provable for every point of the domain and every value of the symbols (sizes >= 1). */
bool opf_expr_prove_le(opf_pool *pool, const opf_expr *a, const opf_expr *b, opf_domain domain);
bool opf_expr_prove_lt(opf_pool *pool, const opf_expr *a, const opf_expr *b, opf_domain domain);
bool opf_expr_prove_eq(opf_pool *pool, const opf_expr *a, const opf_expr *b);

/* e = coefficient * variable + rest, where neither holds the variable. False where e is not affine in it. */
bool opf_expr_affine(opf_pool *pool, const opf_expr *e, int variable, const opf_expr **coefficient, const opf_expr **rest);

bool opf_expr_has_var(const opf_expr *e, int variable);
bool opf_expr_has_load(const opf_expr *e);
bool opf_expr_picks(const opf_expr *e); /* reads it an element at a position that another load tells? */
uint64_t opf_expr_vars(const opf_expr *e); /* set of variables (positions < 64) */
/* Floating: is its integer part always within this type of at most 32 bits, where it is no NaN? As far as limits written into it tell. */
bool opf_expr_fits(const opf_expr *e, opf_dtype dtype);

/* Visits each distinct sub-expression once, operands before users; false stops. */
typedef bool (*opf_expr_visitor)(const opf_expr *e, void *data);
bool opf_expr_visit(const opf_pool *pool, const opf_expr *e, opf_expr_visitor visit, void *data);

/* Value of an int64 expression of symbols only; `values` by symbol index. Overflow and division by zero give false. */
bool opf_dim_eval(opf_dim dim, const int64_t *values, int64_t *out);
int64_t opf_dim_nominal(opf_dim dim); /* with every symbol at its nominal size; for cost decisions */

/* Text. `names` may be NULL (v0, v1, …, t0, t1, …). */
typedef struct opf_expr_names {
    int n_vars, n_tensors;
    const char *const *vars, *const *tensors;
} opf_expr_names;
void opf_expr_print(const opf_expr *e, const opf_expr_names *names, opf_text *out);

/* Parser of the same language. Identifiers are looked up by the caller; NULL: unknown. Numbers take `dtype` (the
 * operator's T) unless the other operand says otherwise. Returns NULL and a message (arena) with the column on error. */
typedef struct opf_expr_scope {
    const opf_expr *(*lookup)(void *data, const char *name); /* names of operands, attributes, variables */
    void *data;
    opf_dtype dtype;
    int column; /* of the text's first character in what the user wrote; 0: 1 */
} opf_expr_scope;
const opf_expr *opf_expr_parse(opf_pool *pool, const char *text, const opf_expr_scope *scope, const char **error);

/* Scalar semantics in double (long double where exactness of int64 asks for it): the one definition that the evaluator
 * and the constant folder use. Integers go through opf_scalar_eval_int. */
double opf_scalar_eval(opf_scalar_op op, double a, double b);
int64_t opf_scalar_eval_int(opf_scalar_op op, opf_dtype dtype, int64_t a, int64_t b);

#endif
