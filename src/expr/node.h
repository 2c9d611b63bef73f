/* Inside of the expression pool: interned nodes and what is remembered of each beside its public part. Private to
 * src/expr. */
#ifndef OPF_EXPR_NODE_H
#define OPF_EXPR_NODE_H

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "expr/expr.h"

enum { OPF_NODE_HAS_LOAD = 1, OPF_NODE_HAS_SYMBOL = 2 };

/* Stands in memory just before its opf_expr. */
typedef struct opf_node_meta {
    uint64_t vars;      /* bit k: variable k occurs; bit 63: 63 or any later one */
    int64_t low, high;  /* bounds of an integer expression, from types and symbols alone; the extremes mean unbounded */
    uint32_t hash;
    uint32_t size;      /* nodes, counted as a tree; saturates */
    uint32_t flags;
    uint32_t padding;
} opf_node_meta;

static inline opf_node_meta *opf_meta(const opf_expr *e) { return (opf_node_meta *)(uintptr_t)e - 1; }
static inline bool opf_expr_is_data(const opf_expr *e) { return opf_meta(e)->flags & OPF_NODE_HAS_LOAD; }
static inline bool opf_is_op(const opf_expr *e, opf_scalar_op op) {
    return (e->kind == OPF_EXPR_BINARY || e->kind == OPF_EXPR_UNARY) && e->op == op;
}

/* What is remembered of one domain: results of simplification and of proofs. */
typedef struct opf_domain_facts {
    int count;
    const opf_expr **extents;
    opf_map simplified;        /* expression → expression */
    opf_map proofs[2];         /* expression → opf_proved or opf_unproved; [1]: sizes assumed to be at least 1 */
    bool *positive;            /* by symbol index: at least 1, since the domain would be empty otherwise */
    int positive_count;
} opf_domain_facts;

struct opf_pool {
    opf_arena *arena;
    const opf_expr **slots;    /* open addressing, power of two */
    size_t capacity;
    uint32_t count;
    OPF_VEC(const opf_symbol *) symbols;
    size_t domain_capacity, domain_count; /* open addressing by extents */
    opf_domain_facts **domain_slots;
};

/* The one interned node of this content; nothing is simplified. payload: integer, bits of a real, index or symbol. */
const opf_expr *opf_pool_node(opf_pool *pool, opf_expr_kind kind, int op, opf_dtype dtype, uint64_t payload, int n_args,
                              const opf_expr *const *args);
const opf_expr *opf_pool_unary(opf_pool *pool, opf_scalar_op op, opf_dtype dtype, const opf_expr *a);
const opf_expr *opf_pool_binary(opf_pool *pool, opf_scalar_op op, opf_dtype dtype, const opf_expr *a, const opf_expr *b);
opf_domain_facts *opf_pool_domain(opf_pool *pool, opf_domain domain);

/* `value` wrapped to an integer type (or bool: != 0). */
int64_t opf_wrap(opf_dtype dtype, int64_t value);
/* Bounds of an integer type. uint64 is unbounded here: its values are kept as int64 bits. */
void opf_dtype_range(opf_dtype dtype, int64_t *low, int64_t *high);

typedef struct opf_interval { int64_t low, high; } opf_interval; /* INT64_MIN, INT64_MAX: unbounded */
static inline opf_interval opf_interval_of(const opf_expr *e) { return (opf_interval){opf_meta(e)->low, opf_meta(e)->high}; }
opf_interval opf_interval_op(opf_scalar_op op, opf_interval a, opf_interval b);

#endif
