/* Loads at multi-dimensional indices become loads at offsets into the nest's buffers.
 *
 * A load that only one side of a select reads may be out of range elsewhere. Such a load is put directly into a select of
 * its own, select(condition, load, 0), and everything around it is computed at every point: then common sub-expressions and
 * invariants can be taken out freely. Loads that are provably in range everywhere need no such care. */
#include "loop/scheduler.h"

typedef struct linearizer {
    opf_scheduler *s;
    opf_item *const *items;
    opf_map memos; /* condition (or the linearizer, for none) → map of expressions */
} linearizer;

static const opf_expr *linear(linearizer *l, const opf_expr *e, const opf_expr *condition);

const opf_expr *opf_row_major(opf_scheduler *s, int rank, const opf_dim *extents, const opf_expr *const *indices) {
    const opf_expr *offset = opf_int(s->pool, 0);
    for (int i = 0; i < rank; i++) {
        if (opf_is_value(extents[i], 1)) continue;
        offset = opf_add(s->pool, opf_mul(s->pool, offset, extents[i]), indices[i]);
    }
    return offset;
}

/* What a load reads: buffer, extents and indices of the axes that it has there. */
typedef struct access { int buffer, rank; opf_dim extents[OPF_MAX_RANK]; const opf_expr *indices[OPF_MAX_RANK]; bool scalar; } access;

static access input_access(const linearizer *l, const opf_expr *load) {
    const opf_value *value = l->s->group->stages.inputs.data[load->index];
    access a = {.buffer = load->index, .rank = load->n_args};
    for (int i = 0; i < a.rank; i++) {
        a.extents[i] = value->dims[i];
        a.indices[i] = load->args[i];
    }
    return a;
}

static access item_access(const linearizer *l, const opf_expr *load) {
    const opf_item *item = l->items[load->index - l->s->n_inputs];
    const opf_stage *stage = l->s->stages[item->stage];
    access a = {.buffer = item->buffer, .scalar = opf_buffer_at(l->s, item->buffer)->memory == OPF_MEMORY_REGISTER};
    for (int i = 0; i < load->n_args; i++) {
        if (item->axis[i] < 0 || !opf_axes_has(&item->free, item->axis[i])) continue;
        bool placed = item->base && item->axis[i] == item->place;
        a.extents[a.rank] = placed ? opf_extent(l->s, item->place) : stage->extents[i];
        a.indices[a.rank++] = placed ? opf_sub(l->s->pool, load->args[i], item->base) : load->args[i];
    }
    return a;
}

/* In range wherever there are elements at all. A load that not every point reads is so only if the tensor has some. */
static bool in_range(const linearizer *l, const access *a, bool conditional) {
    opf_pool *pool = l->s->pool;
    for (int i = 0; i < a->rank; i++) {
        if (conditional && !opf_is_positive(l->s, a->extents[i])) return false;
        if (opf_is_value(a->indices[i], 0)) continue; /* nothing is evaluated in an empty domain */
        if (!opf_proves_le(l->s, opf_int(pool, 0), a->indices[i])) return false;
        if (!opf_proves_lt(l->s, a->indices[i], a->extents[i])) return false;
    }
    return true;
}

static const opf_expr *zero_of(opf_pool *pool, opf_dtype dtype) { return opf_number(pool, dtype, 0); }

/* The load itself; `safe` tells whether it may be evaluated at every point, also where a condition around it fails. */
static const opf_expr *plain_load(linearizer *l, const opf_expr *load, bool conditional, bool *safe) {
    opf_scheduler *s = l->s;
    access a = load->index < s->n_inputs ? input_access(l, load) : item_access(l, load);
    const opf_expr *indices[OPF_MAX_RANK];
    for (int i = 0; i < a.rank; i++) indices[i] = linear(l, a.indices[i], NULL);
    const opf_expr *offset = opf_simple(s, opf_row_major(s, a.rank, a.extents, indices));
    const opf_expr *e = opf_load(s->pool, (opf_dtype)load->dtype, a.buffer, a.scalar ? 0 : 1, &offset);
    bool anywhere = in_range(l, &a, true);
    *safe = anywhere || (!conditional && in_range(l, &a, false));
    if (conditional && anywhere)
        for (int i = 0; i < a.rank; i++) opf_surely_positive(s, a.extents[i]); /* its condition is left out */
    if (*safe) opf_note_safe(s, e, anywhere ? OPF_SAFE_ANYWHERE : OPF_SAFE);
    return e;
}

static const opf_expr *both(opf_pool *pool, const opf_expr *a, const opf_expr *b) { return a ? opf_binary(pool, OPF_OP_AND, a, b) : b; }

/* A side of a select that is taken where `condition` (of the select) holds inside `outer`. */
static const opf_expr *side(linearizer *l, const opf_expr *e, const opf_expr *outer, const opf_expr *condition) {
    if (!opf_expr_has_load(e)) return e;
    bool safe;
    if (!outer && e->kind == OPF_EXPR_LOAD) return plain_load(l, e, true, &safe);
    return linear(l, e, both(l->s->pool, outer, condition));
}

static const opf_expr *linear_select(linearizer *l, const opf_expr *e, const opf_expr *outer) {
    opf_pool *pool = l->s->pool;
    const opf_expr *condition = linear(l, e->args[0], outer);
    const opf_expr *then = side(l, e->args[1], outer, condition);
    const opf_expr *otherwise = side(l, e->args[2], outer, opf_unary(pool, OPF_OP_NOT, condition));
    return opf_select(pool, condition, then, otherwise);
}

static const opf_expr *linear_new(linearizer *l, const opf_expr *e, const opf_expr *condition) {
    opf_pool *pool = l->s->pool;
    if (e->kind == OPF_EXPR_SELECT) return linear_select(l, e, condition);
    if (e->kind == OPF_EXPR_LOAD) {
        bool safe;
        const opf_expr *load = plain_load(l, e, condition != NULL, &safe);
        return safe || !condition ? load : opf_select(pool, condition, load, zero_of(pool, (opf_dtype)e->dtype));
    }
    const opf_expr *args[3];
    for (int i = 0; i < e->n_args; i++) args[i] = linear(l, e->args[i], condition);
    return opf_rebuild(pool, e, args);
}

static const opf_expr *linear(linearizer *l, const opf_expr *e, const opf_expr *condition) {
    if (!opf_expr_has_load(e)) return e;
    const void *key = condition ? (const void *)condition : l;
    opf_map *memo = opf_map_get(&l->memos, key);
    if (!memo) {
        memo = OPF_NEW(l->s->arena, opf_map);
        *memo = opf_map_new(l->s->arena);
        opf_map_set(&l->memos, key, memo);
    }
    const opf_expr *known = opf_map_get(memo, e);
    if (known) return known;
    known = linear_new(l, e, condition);
    opf_map_set(memo, e, (void *)(uintptr_t)known);
    return known;
}

const opf_expr *opf_linear(opf_scheduler *s, opf_item *const *items, const opf_expr *e) {
    linearizer l = {s, items, opf_map_new(s->arena)};
    return linear(&l, opf_simple(s, e), NULL);
}
