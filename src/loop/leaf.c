/* Map nests: every target is stored once for each point of the axes. */
#include "loop/scheduler.h"

enum {
    ENOUGH_UNITS = 64, /* pieces of work that let any number of threads share evenly */
    FEW_UNITS = 16,
    SHORT = 8          /* a loop so short is not worth cutting up */
};

static opf_slots slots_of(opf_scheduler *s, opf_targets *targets) {
    opf_slots slots = {0};
    for (size_t i = 0; i < targets->list.count; i++) {
        OPF_PUSH(s->arena, &slots.list, &targets->list.data[i].offset);
        OPF_PUSH(s->arena, &slots.list, &targets->list.data[i].value);
    }
    return slots;
}

static opf_targets copied(opf_scheduler *s, const opf_targets *targets) {
    opf_targets copy = {0};
    for (size_t i = 0; i < targets->list.count; i++) OPF_PUSH(s->arena, &copy.list, targets->list.data[i]);
    return copy;
}

static opf_targets decided(opf_scheduler *s, const opf_targets *targets, const opf_expr *condition, bool holds) {
    opf_targets copy = copied(s, targets);
    for (size_t i = 0; i < copy.list.count; i++) copy.list.data[i].value = opf_decide(s, copy.list.data[i].value, condition, holds);
    return copy;
}

/* `at` brought into from … to, where it is not known to lie there. What is known holds where there are elements. */
static const opf_expr *clamped(opf_scheduler *s, int variable, const opf_expr *at, const opf_expr *from, const opf_expr *to) {
    if (!opf_surely_positive(s, opf_extent(s, variable))) return opf_min(s->pool, opf_max(s->pool, at, from), to);
    if (!opf_proves_le(s, from, at)) at = opf_max(s->pool, at, from);
    if (!opf_proves_le(s, at, to)) at = opf_min(s->pool, at, to);
    return at;
}

static bool is_empty(opf_scheduler *s, const opf_expr *from, const opf_expr *to) {
    int64_t count;
    return from == to || (opf_is_int(opf_sub(s->pool, to, from), &count) && count <= 0);
}

/* ---- loops that stand, and the innermost one ---- */

typedef struct nest {
    opf_scheduler *s;
    opf_axes outer;           /* loops around, outermost first */
    opf_block *before, *inside; /* before the shared loops; within them */
    int shared;               /* how many of `outer` stand already */
    const opf_expr *guard;    /* under which `before` may be computed */
} nest;

static opf_ranges with_outer(const nest *n, const opf_range *innermost) {
    opf_ranges ranges = opf_whole_ranges(n->s, &n->outer);
    if (innermost) ranges.at[ranges.count++] = *innermost;
    return ranges;
}

static void plain_nest(nest *n, const opf_range *innermost, const opf_targets *targets) {
    opf_ranges ranges = with_outer(n, innermost);
    if (n->shared == 0) {
        opf_body(n->s, n->inside, &ranges, targets);
        return;
    }
    const opf_expr *guard = opf_body_in(n->s, n->before, n->inside, n->shared, &ranges, targets);
    if (guard) n->guard = n->guard ? opf_binary(n->s->pool, OPF_OP_AND, n->guard, guard) : guard;
}

/* Opens the loops of `outer` that do not stand yet. */
static opf_block *open_outer(nest *n) {
    opf_block *block = n->inside;
    for (int i = n->shared; i < n->outer.count; i++)
        block = opf_code_loop(n->s, block, n->outer.at[i], opf_int(n->s->pool, 0), opf_extent(n->s, n->outer.at[i]), 1);
    return block;
}

static void lanes(opf_scheduler *s, opf_block *block, int lane, const opf_expr *from, const opf_expr *to, const opf_targets *targets) {
    opf_ranges ranges = {.count = 1, .at = {{.variable = lane, .from = from, .to = to}}};
    opf_body(s, block, &ranges, targets);
}

/* A chunk in whole pieces, each past the caches; what is left of the chunk is stored the usual way. */
static void past_pieces(opf_scheduler *s, opf_block *block, const opf_chunk *chunk, const opf_targets *targets) {
    opf_targets own = copied(s, targets);
    opf_slots slots = slots_of(s, &own);
    opf_chunk piece = opf_chunk_new(s, chunk->lane, OPF_PAST_PIECE);
    const opf_expr *size = opf_int(s->pool, piece.size), *whole = opf_mul(s->pool, opf_floordiv(s->pool, chunk->count, size), size);
    opf_block *inside = opf_code_loop(s, block, piece.base, opf_int(s->pool, 0), whole, piece.size);
    piece.count = size;
    opf_substitute_all(s, &slots, chunk->lane, piece.value);
    opf_targets results = opf_past_arrays(s, inside, &piece, &own);
    lanes(s, inside, piece.lane, opf_int(s->pool, 0), size, &own);
    opf_past_store(s, inside, &piece, &results);
    if (!is_empty(s, whole, chunk->count)) lanes(s, block, chunk->lane, whole, chunk->count, targets);
}

/* All lanes of a chunk: a loop a function, or one for all; results past the caches where that is chosen. */
static void over_lanes(opf_scheduler *s, opf_block *block, const opf_chunk *chunk, opf_targets *targets) {
    opf_targets own = copied(s, targets), past = {0};
    bool stored_past = opf_stores_past(s, targets, chunk->lane), phases = opf_phases_apply(s, &own, chunk->lane);
    if (stored_past) opf_past_ask(s, block, chunk, &own);
    if (stored_past && !phases && chunk->size > OPF_PAST_PIECE) {
        past_pieces(s, block, chunk, &own);
        return;
    }
    if (stored_past) past = opf_past_arrays(s, block, chunk, &own);
    if (phases) opf_phases(s, block, chunk, &own);
    else lanes(s, block, chunk->lane, opf_int(s->pool, 0), chunk->count, &own);
    opf_past_store(s, block, chunk, &past);
}

static void in_chunks(opf_scheduler *s, opf_block *block, const opf_range *innermost, opf_targets *targets) {
    opf_block hoisted = {0};
    const opf_expr *guard = opf_hoist(s, &hoisted, innermost, targets);
    if (guard) block = opf_code_if(s, block, guard);
    opf_block_append(s, block, &hoisted);
    opf_slots slots = slots_of(s, targets);
    opf_chunk chunk = opf_chunk_new(s, innermost->variable, opf_chunk_size(s));
    bool whole = opf_is_value(innermost->from, 0) && innermost->to == opf_extent(s, innermost->variable);
    if (chunk.base < 0 && !whole) { /* short, with bounds of its own: as it is */
        opf_ranges ranges = {.count = 1, .at = {*innermost}};
        opf_body(s, block, &ranges, targets);
        return;
    }
    opf_substitute_all(s, &slots, innermost->variable, chunk.value);
    block = opf_chunk_loop(s, block, &chunk, innermost->from, innermost->to);
    over_lanes(s, block, &chunk, targets);
}

static bool goes_in_chunks(opf_scheduler *s, const opf_targets *targets, int innermost) {
    bool functions = opf_phases_apply(s, targets, innermost), past = opf_stores_past(s, targets, innermost);
    return functions || past;
}

static void innermost_loop(nest *n, const opf_range *innermost, opf_targets *targets) {
    opf_block whole = {0};
    if (innermost && n->shared == 0 && opf_take_apart(n->s, &whole, innermost, targets)) opf_block_append(n->s, open_outer(n), &whole);
    else if (innermost && goes_in_chunks(n->s, targets, innermost->variable)) in_chunks(n->s, open_outer(n), innermost, targets);
    else plain_nest(n, innermost, targets);
}

/* ---- pieces of the innermost loop ---- */

/* Leaves out what is there already; false where nothing is left. */
static bool drop_borders(const opf_scheduler *s, opf_targets *targets) {
    size_t count = 0;
    for (size_t i = 0; i < targets->list.count; i++)
        if (!s->border || targets->list.data[i].value != s->border) targets->list.data[count++] = targets->list.data[i];
    targets->list.count = count;
    return count > 0;
}

static bool find_piece(opf_scheduler *s, opf_targets *targets, const opf_range *range, opf_break *found) {
    opf_axes none = {0};
    opf_slots slots = slots_of(s, targets);
    return s->boxes < OPF_MOST_BOXES && opf_dim_nominal(opf_extent(s, range->variable)) >= SHORT &&
           opf_break_find(s, &slots, range->variable, &none, found);
}

static void pieces(opf_scheduler *s, opf_block *block, opf_range range, opf_targets *targets) {
    opf_break found;
    if (!drop_borders(s, targets)) return;
    if (!find_piece(s, targets, &range, &found)) {
        nest n = {.s = s, .inside = block};
        innermost_loop(&n, &range, targets);
        return;
    }
    s->boxes++;
    const opf_expr *at = clamped(s, found.variable, found.at, range.from, range.to);
    opf_range low = {.variable = range.variable, .from = range.from, .to = at}, high = {.variable = range.variable, .from = at, .to = range.to};
    opf_targets below = decided(s, targets, found.condition, found.below), above = decided(s, targets, found.condition, !found.below);
    if (!is_empty(s, low.from, low.to)) pieces(s, block, low, &below);
    if (!is_empty(s, high.from, high.to)) pieces(s, block, high, &above);
}

/* ---- how the parts share it ---- */

static int64_t nominal(const opf_scheduler *s, int variable) { return opf_dim_nominal(opf_extent(s, variable)); }

/* The outermost loops that make enough units together; the innermost stays whole. */
static int shared_loops(const opf_scheduler *s, const opf_axes *outer) {
    double units = 1;
    int count = 0;
    while (count < outer->count && (units < ENOUGH_UNITS || count == 0)) units *= (double)nominal(s, outer->at[count++]);
    return count;
}

/* The innermost axis in blocks that the parts share together with the outer loops: variable = base + lane. */
static void shared_blocks(opf_scheduler *s, opf_block *block, opf_axes *outer, int innermost, opf_targets *targets, int64_t size) {
    opf_slots slots = slots_of(s, targets);
    opf_dim extent = opf_extent(s, innermost);
    opf_chunk chunk = opf_chunk_new(s, innermost, size);
    opf_axes shared = *outer;
    opf_block *inside;
    if (chunk.base >= 0) {
        const char *name = opf_arena_printf(s->arena, "%s_block", s->nest->variables.data[innermost].name);
        int number = opf_variable_new(s, name, opf_ceildiv(s->pool, extent, opf_int(s->pool, size)));
        opf_axes_add(&shared, number);
        inside = opf_code_share(s, block, &shared, shared.count);
        opf_code_index(s, inside, chunk.base, opf_mul(s->pool, opf_variable(s, number), opf_int(s->pool, size)));
        opf_chunk_count(s, inside, &chunk, opf_int(s->pool, 0), extent);
    } else {
        inside = opf_code_share(s, block, &shared, shared.count);
    }
    opf_substitute_all(s, &slots, innermost, chunk.value);
    over_lanes(s, inside, &chunk, targets);
}

static void guarded_append(opf_scheduler *s, opf_block *block, const nest *n, const opf_block *before, const opf_block *share) {
    if (n->guard) block = opf_code_if(s, block, n->guard);
    opf_block_append(s, block, before);
    opf_block_append(s, block, share);
}

static void emit_transposed(opf_scheduler *s, opf_block *block, const opf_axes *outer, const opf_transpose *transpose, opf_targets *targets, bool parallel) {
    nest n = {.s = s, .outer = *outer, .inside = block};
    if (parallel) {
        n.shared = shared_loops(s, outer);
        n.inside = opf_code_share(s, block, outer, n.shared);
    }
    opf_transpose_blocks(s, open_outer(&n), transpose, targets);
}

static void emit_shared(opf_scheduler *s, opf_block *block, const opf_axes *axes, opf_targets *targets) {
    nest n = {.s = s, .outer = *axes};
    opf_block before = {0}, share = {0};
    n.before = &before;
    if (axes->count == 0) {
        n.inside = opf_code_share(s, block, axes, 0);
        plain_nest(&n, NULL, targets);
        return;
    }
    int innermost = axes->at[axes->count - 1];
    n.outer.count--;
    opf_range range = {.variable = innermost, .from = opf_int(s->pool, 0), .to = opf_extent(s, innermost)};
    bool chunks = goes_in_chunks(s, targets, innermost);
    opf_break found;
    bool cut = n.outer.count > 0 && find_piece(s, targets, &range, &found);
    bool few = opf_nominal_product(s, &n.outer) < FEW_UNITS && nominal(s, innermost) >= 2 * opf_share_size(s);
    if (!cut && ((n.outer.count == 0 && chunks) || (n.outer.count > 0 && few))) {
        shared_blocks(s, block, &n.outer, innermost, targets, chunks ? opf_chunk_size(s) : opf_share_size(s));
        return;
    }
    int64_t whole;
    if (n.outer.count == 0 && opf_is_int(range.to, &whole) && whole <= opf_share_size(s)) {
        n.inside = opf_code_share(s, block, axes, 0);
        plain_nest(&n, &range, targets);
        return;
    }
    if (n.outer.count == 0) {
        n.outer = *axes;
        n.shared = 1;
        n.inside = opf_code_share_blocks(s, &share, innermost, opf_share_size(s));
        plain_nest(&n, NULL, targets);
        guarded_append(s, block, &n, &before, &share);
        return;
    }
    n.shared = shared_loops(s, &n.outer);
    n.inside = opf_code_share(s, &share, &n.outer, n.shared);
    if (cut) pieces(s, open_outer(&n), range, targets);
    else innermost_loop(&n, &range, targets);
    guarded_append(s, block, &n, &before, &share);
}

static void emit_serial(opf_scheduler *s, opf_block *block, const opf_axes *axes, const opf_chunk *chunk, opf_targets *targets) {
    nest n = {.s = s, .outer = *axes, .inside = block};
    if (chunk) {
        opf_range lanes = {.variable = chunk->lane, .from = opf_int(s->pool, 0), .to = chunk->count};
        if (goes_in_chunks(s, targets, chunk->lane)) over_lanes(s, open_outer(&n), chunk, targets);
        else plain_nest(&n, &lanes, targets);
        return;
    }
    if (axes->count == 0) {
        plain_nest(&n, NULL, targets);
        return;
    }
    int innermost = axes->at[axes->count - 1];
    n.outer.count--;
    opf_range range = {.variable = innermost, .from = opf_int(s->pool, 0), .to = opf_extent(s, innermost)};
    opf_break found;
    if (find_piece(s, targets, &range, &found)) pieces(s, open_outer(&n), range, targets);
    else innermost_loop(&n, &range, targets);
}

/* ---- boxes ---- */

/* The axes as two boxes, on both sides of `found`; each is a nest of its own. */
static void two_boxes(opf_scheduler *s, opf_block *block, const opf_axes *axes, const opf_chunk *chunk, opf_targets *targets, bool parallel,
                      const opf_break *found) {
    opf_pool *pool = s->pool;
    opf_dim extent = opf_extent(s, found->variable);
    const opf_expr *at = clamped(s, found->variable, found->at, opf_int(pool, 0), extent);
    const opf_expr *starts[2] = {opf_int(pool, 0), at}, *ends[2] = {at, extent};
    for (int half = 0; half < 2; half++) {
        if (is_empty(s, starts[half], ends[half])) continue;
        opf_targets part = decided(s, targets, found->condition, (half == 0) == found->below);
        opf_slots slots = slots_of(s, &part);
        int variable = opf_variable_new(s, s->nest->variables.data[found->variable].name, opf_sub(pool, ends[half], starts[half]));
        opf_axes own = *axes;
        own.at[opf_axes_find(axes, found->variable)] = variable;
        opf_substitute_all(s, &slots, found->variable, opf_add(pool, opf_variable(s, variable), starts[half]));
        opf_leaf_over(s, block, own, chunk, &part, parallel);
    }
}

/* A break along an axis other than the innermost, always at the same place: the extents of boxes are sizes. */
static bool find_box(opf_scheduler *s, const opf_axes *axes, bool chunk, const opf_slots *slots, opf_break *found) {
    int last = chunk || axes->count == 1 ? axes->count : axes->count - 1;
    for (int i = 0; i < last && s->boxes < OPF_MOST_BOXES; i++)
        if (nominal(s, axes->at[i]) > 1 && opf_break_find(s, slots, axes->at[i], NULL, found)) return true;
    return false;
}

void opf_leaf_over(opf_scheduler *s, opf_block *block, opf_axes axes, const opf_chunk *chunk, opf_targets *targets, bool parallel) {
    if (!drop_borders(s, targets)) return;
    opf_slots slots = slots_of(s, targets);
    opf_axes_drop_units(s, &axes, &slots);
    opf_break found;
    if (find_box(s, &axes, chunk != NULL, &slots, &found)) {
        s->boxes++;
        two_boxes(s, block, &axes, chunk, targets, parallel, &found);
        return;
    }
    opf_axes_simplify(s, &axes, &slots);
    if (!chunk) {
        opf_put_together(s, &axes, targets);
        opf_take_periods(s, &axes, targets);
    }
    opf_axes outer = axes;
    opf_transpose transpose;
    if (!chunk && opf_transpose_axes(s, &outer, targets, &transpose) && opf_transposes(s)) emit_transposed(s, block, &outer, &transpose, targets, parallel);
    else if (parallel) {
        opf_order_loops(s, &axes);
        emit_shared(s, block, &axes, targets);
    } else emit_serial(s, block, &axes, chunk, targets);
}

void opf_leaf(opf_scheduler *s, opf_block *block, opf_axes axes, opf_targets *targets, bool parallel) {
    opf_targets own = copied(s, targets);
    opf_leaf_over(s, block, axes, NULL, &own, parallel);
}
