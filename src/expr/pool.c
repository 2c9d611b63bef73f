/* The pool: hash-consing of nodes, symbols, and bounds of each integer node. */
#include "expr/node.h"

enum { FIRST_CAPACITY = 1024 };

opf_pool *opf_pool_new(opf_arena *arena) {
    opf_pool *pool = OPF_NEW(arena, opf_pool);
    pool->arena = arena;
    pool->capacity = FIRST_CAPACITY;
    pool->slots = OPF_ARRAY(arena, const opf_expr *, pool->capacity);
    return pool;
}

opf_arena *opf_pool_arena(const opf_pool *pool) { return pool->arena; }
uint32_t opf_pool_count(const opf_pool *pool) { return pool->count; }

/* ---- symbols ---- */

int opf_pool_symbols(const opf_pool *pool) { return (int)pool->symbols.count; }
const opf_symbol *opf_pool_symbol(const opf_pool *pool, int index) { return pool->symbols.data[index]; }

static bool symbol_exists(const opf_pool *pool, const char *name) {
    for (size_t i = 0; i < pool->symbols.count; i++)
        if (strcmp(pool->symbols.data[i]->name, name) == 0) return true;
    return false;
}

/* `name` as a C identifier. */
static char *identifier(opf_arena *arena, const char *name) {
    size_t length = strlen(name);
    bool lead = length == 0 || (name[0] >= '0' && name[0] <= '9');
    char *out = opf_arena_printf(arena, "%s%s", lead ? "_" : "", name);
    for (char *c = out; *c; c++) {
        bool word = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_';
        if (!word) *c = '_';
    }
    return out;
}

const opf_symbol *opf_symbol_new(opf_pool *pool, const char *name, int64_t low, int64_t high, int64_t nominal) {
    opf_symbol *symbol = OPF_NEW(pool->arena, opf_symbol);
    const char *base = identifier(pool->arena, name);
    symbol->name = base;
    for (int suffix = 1; symbol_exists(pool, symbol->name); suffix++)
        symbol->name = opf_arena_printf(pool->arena, "%s_%d", base, suffix);
    symbol->index = (int)pool->symbols.count;
    symbol->low = low;
    symbol->high = high;
    symbol->nominal = nominal;
    OPF_PUSH(pool->arena, &pool->symbols, symbol);
    return symbol;
}

const opf_symbol *opf_symbol_number(opf_pool *pool, const char *name, int64_t low, int64_t high, int64_t nominal) {
    opf_symbol *symbol = (opf_symbol *)(uintptr_t)opf_symbol_new(pool, name, low, high, nominal);
    symbol->plain = true;
    return symbol;
}

/* ---- what is remembered of a node ---- */

static opf_interval type_interval(opf_dtype dtype) {
    opf_interval range;
    opf_dtype_range(dtype, &range.low, &range.high);
    return range;
}

static bool unbounded(opf_interval a) { return a.low == INT64_MIN || a.high == INT64_MAX; }

static opf_interval operation_interval(const opf_expr *e) {
    opf_interval full = type_interval(e->dtype);
    const opf_expr *a = e->args[0], *b = e->n_args > 1 ? e->args[1] : a;
    if (!opf_dtype_is_integer(a->dtype)) return full;
    opf_interval x = opf_interval_of(a), y = opf_interval_of(b);
    /* Data may wrap around; sizes and indices do not. */
    if (opf_expr_is_data(e) && (unbounded(x) || unbounded(y)) && e->op != OPF_OP_FLOORMOD && e->op != OPF_OP_MIN && e->op != OPF_OP_MAX)
        return full;
    opf_interval range = opf_interval_op((opf_scalar_op)e->op, x, y);
    return range.low < full.low || range.high > full.high ? full : range;
}

static opf_interval node_interval(const opf_expr *e) {
    if (!opf_dtype_is_integer(e->dtype) && e->dtype != OPF_BOOL) return (opf_interval){INT64_MIN, INT64_MAX};
    switch (e->kind) {
    case OPF_EXPR_INT: return e->dtype == OPF_UINT64 ? type_interval(e->dtype) : (opf_interval){e->integer, e->integer};
    case OPF_EXPR_VAR: return (opf_interval){0, INT64_MAX};
    case OPF_EXPR_SYMBOL: return (opf_interval){e->symbol->low, e->symbol->high};
    case OPF_EXPR_UNARY:
    case OPF_EXPR_BINARY: return e->dtype == OPF_BOOL || e->dtype == OPF_UINT64 ? type_interval(e->dtype) : operation_interval(e);
    case OPF_EXPR_SELECT: {
        opf_interval a = opf_interval_of(e->args[1]), b = opf_interval_of(e->args[2]);
        return (opf_interval){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    }
    case OPF_EXPR_CAST: {
        opf_interval full = type_interval(e->dtype), a = opf_interval_of(e->args[0]);
        bool integer = opf_dtype_is_integer(e->args[0]->dtype) || e->args[0]->dtype == OPF_BOOL;
        return integer && a.low >= full.low && a.high <= full.high ? a : full;
    }
    default: return type_interval(e->dtype);
    }
}

static void fill_meta(opf_node_meta *meta, const opf_expr *e) {
    uint64_t size = 1;
    for (int i = 0; i < e->n_args; i++) {
        const opf_node_meta *arg = opf_meta(e->args[i]);
        meta->vars |= arg->vars;
        meta->flags |= arg->flags;
        size += arg->size;
    }
    meta->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    if (e->kind == OPF_EXPR_VAR) meta->vars = UINT64_C(1) << (e->index < 63 ? e->index : 63);
    if (e->kind == OPF_EXPR_LOAD) meta->flags |= OPF_NODE_HAS_LOAD;
    if (e->kind == OPF_EXPR_SYMBOL) meta->flags |= OPF_NODE_HAS_SYMBOL;
    opf_interval range = node_interval(e);
    meta->low = range.low;
    meta->high = range.high;
}

/* ---- interning ---- */

static uint32_t mix(uint32_t hash, uint32_t value) {
    hash ^= value;
    hash *= UINT32_C(0x9E3779B1);
    return hash ^ (hash >> 15);
}

static uint32_t hash_node(opf_expr_kind kind, int op, opf_dtype dtype, uint64_t payload, int n_args, const opf_expr *const *args) {
    uint32_t hash = mix((uint32_t)kind * 131 + (uint32_t)op, (uint32_t)dtype * 64 + (uint32_t)n_args);
    /* Symbols hash by index, not by address, so that a run repeats exactly. */
    if (kind == OPF_EXPR_SYMBOL) payload = (uint64_t)((const opf_symbol *)(uintptr_t)payload)->index;
    hash = mix(mix(hash, (uint32_t)payload), (uint32_t)(payload >> 32));
    for (int i = 0; i < n_args; i++) hash = mix(hash, args[i]->id + 1);
    return hash;
}

static void grow(opf_pool *pool) {
    size_t capacity = pool->capacity * 2;
    const opf_expr **slots = OPF_ARRAY(pool->arena, const opf_expr *, capacity);
    for (size_t i = 0; i < pool->capacity; i++) {
        const opf_expr *e = pool->slots[i];
        if (!e) continue;
        size_t at = opf_meta(e)->hash & (capacity - 1);
        while (slots[at]) at = (at + 1) & (capacity - 1);
        slots[at] = e;
    }
    pool->slots = slots;
    pool->capacity = capacity;
}

static uint64_t payload_of(const opf_expr *e) {
    uint64_t bits;
    memcpy(&bits, &e->integer, sizeof bits);
    return bits;
}

const opf_expr *opf_pool_node(opf_pool *pool, opf_expr_kind kind, int op, opf_dtype dtype, uint64_t payload, int n_args,
                              const opf_expr *const *args) {
    uint32_t hash = hash_node(kind, op, dtype, payload, n_args, args);
    size_t at = hash & (pool->capacity - 1);
    for (const opf_expr *e; (e = pool->slots[at]) != NULL; at = (at + 1) & (pool->capacity - 1)) {
        if (opf_meta(e)->hash != hash || e->kind != kind || e->op != op || e->dtype != dtype || e->n_args != n_args) continue;
        if (payload_of(e) != payload) continue;
        if (n_args == 0 || memcmp(e->args, args, (size_t)n_args * sizeof *args) == 0) return e;
    }
    size_t size = sizeof(opf_node_meta) + sizeof(opf_expr) + (size_t)n_args * sizeof(opf_expr *);
    opf_node_meta *meta = opf_arena_alloc(pool->arena, size);
    opf_expr *e = (opf_expr *)(meta + 1);
    e->kind = (uint8_t)kind;
    e->op = (uint8_t)op;
    e->dtype = (uint8_t)dtype;
    e->n_args = (uint8_t)n_args;
    e->id = pool->count++;
    memcpy(&e->integer, &payload, sizeof payload);
    if (n_args) memcpy(e->args, args, (size_t)n_args * sizeof *args);
    meta->hash = hash;
    fill_meta(meta, e);
    pool->slots[at] = e;
    if ((size_t)pool->count * 2 > pool->capacity) grow(pool);
    return e;
}

const opf_expr *opf_pool_unary(opf_pool *pool, opf_scalar_op op, opf_dtype dtype, const opf_expr *a) {
    return opf_pool_node(pool, OPF_EXPR_UNARY, op, dtype, 0, 1, (const opf_expr *[]){a});
}

const opf_expr *opf_pool_binary(opf_pool *pool, opf_scalar_op op, opf_dtype dtype, const opf_expr *a, const opf_expr *b) {
    return opf_pool_node(pool, OPF_EXPR_BINARY, op, dtype, 0, 2, (const opf_expr *[]){a, b});
}

/* ---- domains ---- */

static uint32_t hash_domain(opf_domain domain) {
    uint32_t hash = mix(17, (uint32_t)domain.count);
    for (int i = 0; i < domain.count; i++) hash = mix(hash, domain.extents[i]->id + 1);
    return hash;
}

static bool same_domain(const opf_domain_facts *facts, opf_domain domain) {
    if (facts->count != domain.count) return false;
    return domain.count == 0 || memcmp(facts->extents, domain.extents, (size_t)domain.count * sizeof *domain.extents) == 0;
}

static void mark_positive(opf_domain_facts *facts, const opf_expr *e) {
    if (e->kind == OPF_EXPR_SYMBOL && e->symbol->low >= 0 && !e->symbol->plain && e->symbol->index < facts->positive_count)
        facts->positive[e->symbol->index] = true;
    if (opf_is_op(e, OPF_OP_MUL) || (opf_is_op(e, OPF_OP_FLOORDIV) && opf_meta(e->args[1])->low > 0)) {
        bool natural = true; /* a product of two negative numbers says nothing */
        for (int i = 0; i < e->n_args; i++) natural &= opf_meta(e->args[i])->low >= 0;
        for (int i = 0; natural && i < e->n_args; i++) mark_positive(facts, e->args[i]);
    }
}

static opf_domain_facts *domain_new(opf_pool *pool, opf_domain domain) {
    opf_domain_facts *facts = OPF_NEW(pool->arena, opf_domain_facts);
    facts->count = domain.count;
    facts->extents = domain.count ? opf_arena_copy(pool->arena, domain.extents, (size_t)domain.count * sizeof *domain.extents) : NULL;
    facts->simplified = opf_map_new(pool->arena);
    facts->proofs[0] = opf_map_new(pool->arena);
    facts->proofs[1] = opf_map_new(pool->arena);
    facts->positive_count = (int)pool->symbols.count;
    facts->positive = OPF_ARRAY(pool->arena, bool, facts->positive_count + 1);
    for (int i = 0; i < domain.count; i++) mark_positive(facts, domain.extents[i]);
    return facts;
}

static void domains_grow(opf_pool *pool) {
    size_t capacity = pool->domain_capacity ? pool->domain_capacity * 2 : 64;
    opf_domain_facts **slots = OPF_ARRAY(pool->arena, opf_domain_facts *, capacity);
    for (size_t i = 0; i < pool->domain_capacity; i++) {
        opf_domain_facts *facts = pool->domain_slots[i];
        if (!facts) continue;
        size_t at = hash_domain((opf_domain){facts->count, facts->extents}) & (capacity - 1);
        while (slots[at]) at = (at + 1) & (capacity - 1);
        slots[at] = facts;
    }
    pool->domain_slots = slots;
    pool->domain_capacity = capacity;
}

opf_domain_facts *opf_pool_domain(opf_pool *pool, opf_domain domain) {
    if (pool->domain_count * 2 >= pool->domain_capacity) domains_grow(pool);
    size_t at = hash_domain(domain) & (pool->domain_capacity - 1);
    for (; pool->domain_slots[at]; at = (at + 1) & (pool->domain_capacity - 1))
        if (same_domain(pool->domain_slots[at], domain)) return pool->domain_slots[at];
    pool->domain_count++;
    return pool->domain_slots[at] = domain_new(pool, domain);
}
