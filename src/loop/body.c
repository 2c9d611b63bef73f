/* The statements inside a nest of loops: what is used more than once, or does not change in an inner loop, gets a name.
 *
 * Level 0 stands before the loops, level j inside the first j of them. */
#include "loop/scheduler.h"

enum { BLOCK = 16, FEWEST_BLOCK = 4, MOST_IN_BLOCKS = 1024, DEAR_ENDS = 40 /* operations an element from which scalar ends are */ };

typedef struct node { int uses, level, temporary; } node;

typedef struct body {
    opf_scheduler *s;
    const opf_ranges *ranges;
    const opf_targets *targets;
    opf_map nodes;
    bool hoist_only;                          /* name nothing that changes in the innermost loop */
    opf_block level[OPF_MOST_AXES + 1];       /* what stands at each level before the next loop */
    const opf_expr *guard[OPF_MOST_AXES + 1]; /* what must hold for the names at a level, NULL: nothing */
} body;

static node *node_of(body *b, const opf_expr *e) {
    node *n = opf_map_get(&b->nodes, e);
    if (!n) {
        n = OPF_NEW(b->s->arena, node);
        *n = (node){0, -1, -1};
        opf_map_set(&b->nodes, e, n);
    }
    return n;
}

/* Constants, sizes and indices are left to the compiler. */
static bool is_value(const opf_expr *e) {
    if (e->n_args == 0) return e->kind == OPF_EXPR_LOAD;
    return opf_expr_has_load(e) || (e->dtype != OPF_INT64 && e->dtype != OPF_BOOL) || e->kind == OPF_EXPR_CAST;
}

/* A side of a select that must not be read where the other is taken. */
static bool is_guarded(const body *b, const opf_expr *select, int arg) {
    const opf_expr *e = select->args[arg];
    return select->kind == OPF_EXPR_SELECT && arg > 0 && e->kind == OPF_EXPR_LOAD && e->n_args && !opf_is_safe(b->s, e, OPF_SAFE);
}

static void count_uses(body *b, const opf_expr *e) {
    if (!is_value(e)) return;
    if (node_of(b, e)->uses++ > 0) return;
    for (int i = 0; i < e->n_args; i++)
        if (!is_guarded(b, e, i)) count_uses(b, e->args[i]);
}

/* ---- levels ---- */

static bool reads_target(const opf_expr *e, void *data) {
    const opf_targets *targets = data;
    if (e->kind != OPF_EXPR_LOAD) return true;
    for (size_t i = 0; i < targets->list.count; i++)
        if (targets->list.data[i].buffer == e->index) return false;
    return true;
}

/* Can it be told, before loop `from` + 1 is entered, whether loop j runs at all? */
static bool known_before(const body *b, int from, int j) {
    for (int k = from; k < j; k++) {
        const opf_range *range = &b->ranges->at[j];
        if (opf_expr_has_var(range->from, b->ranges->at[k].variable) || opf_expr_has_var(range->to, b->ranges->at[k].variable)) return false;
    }
    return true;
}

static bool runs_surely(const body *b, int j) {
    const opf_range *range = &b->ranges->at[j];
    return opf_surely_positive(b->s, opf_sub(b->s->pool, range->to, range->from));
}

static bool reads_safely(const opf_expr *e, void *data) {
    return e->kind != OPF_EXPR_LOAD || e->n_args == 0 || opf_is_safe(data, e, OPF_SAFE_ANYWHERE);
}

/* Does it read what may not be there where a loop does not run? */
static bool needs_guard(const body *b, const opf_expr *e) { return !opf_expr_visit(b->s->pool, e, reads_safely, b->s); }

/* A load that stands outside of a loop must not be read where the loop does not run. */
static int safe_level(const body *b, const opf_expr *e, int level) {
    if (!needs_guard(b, e)) return level;
    for (int j = b->ranges->count - 1; j >= level; j--)
        if (!known_before(b, level, j) && !runs_surely(b, j)) return j + 1;
    return level;
}

static bool varies_in(const opf_expr *e, const opf_range *range) {
    return opf_expr_has_var(e, range->variable) || (range->step > 1 && opf_expr_has_var(e, range->start));
}

static int level_of(body *b, const opf_expr *e) {
    node *n = node_of(b, e);
    if (n->level >= 0) return n->level;
    int level = b->ranges->count;
    if (!opf_expr_visit(b->s->pool, e, reads_target, (void *)(uintptr_t)b->targets)) return n->level = level;
    while (level > 0 && !varies_in(e, &b->ranges->at[level - 1])) level--;
    return n->level = safe_level(b, e, level);
}

static bool is_register_only(const opf_expr *e, void *data) {
    (void)data;
    return e->kind != OPF_EXPR_LOAD || e->n_args == 0;
}

static void guard_level(body *b, const opf_expr *e, int level) {
    opf_pool *pool = b->s->pool;
    if (opf_expr_visit(pool, e, is_register_only, NULL)) return;
    if (!needs_guard(b, e)) { /* its tensor has elements, if the root has */
        for (int j = level; j < b->ranges->count; j++) runs_surely(b, j);
        return;
    }
    for (int j = level; j < b->ranges->count; j++) {
        if (runs_surely(b, j)) continue;
        const opf_expr *runs = opf_binary(pool, OPF_OP_LT, b->ranges->at[j].from, b->ranges->at[j].to);
        b->guard[level] = b->guard[level] ? opf_binary(pool, OPF_OP_AND, b->guard[level], runs) : runs;
    }
}

/* ---- names ---- */

/* Sums and products of an element's index are written where they are used; what they are made of may get a name. */
static bool is_index_arithmetic(const opf_expr *e) {
    bool arithmetic = e->kind == OPF_EXPR_BINARY && (e->op == OPF_OP_ADD || e->op == OPF_OP_SUB || e->op == OPF_OP_MUL);
    return arithmetic && e->dtype == OPF_INT64;
}

static const opf_expr *named(body *b, const opf_expr *e, int reader, bool index) {
    if (!is_value(e)) return e;
    node *n = node_of(b, e);
    if (n->temporary >= 0) return opf_buffer_load(b->s, n->temporary, NULL);
    int level = level_of(b, e), innermost = b->ranges->count;
    bool in_register = e->kind == OPF_EXPR_LOAD && e->n_args == 0;
    bool repeated = n->uses > 1 && !(b->hoist_only && level == innermost);
    bool name = !in_register && (repeated || level < reader) && !(index && is_index_arithmetic(e));
    index = e->kind == OPF_EXPR_LOAD || (index && is_index_arithmetic(e));
    const opf_expr *args[OPF_MAX_RANK];
    for (int i = 0; i < e->n_args; i++) args[i] = is_guarded(b, e, i) ? e->args[i] : named(b, e->args[i], name ? level : reader, index);
    const opf_expr *value = opf_rebuild(b->s->pool, e, args);
    if (!name || !is_value(value) || value->n_args == 0) return value;
    guard_level(b, e, level);
    n->temporary = opf_buffer_temporary(b->s, (opf_dtype)e->dtype);
    opf_code_define(b->s, &b->level[level], n->temporary, value);
    return opf_buffer_load(b->s, n->temporary, NULL);
}

static void store(body *b, const opf_target *target) {
    const opf_expr *value = named(b, target->value, b->ranges->count, false);
    const opf_nest_buffer *buffer = opf_buffer_at(b->s, target->buffer);
    opf_block *innermost = &b->level[b->ranges->count];
    if (buffer->memory == OPF_MEMORY_REGISTER && !buffer->changes) opf_code_define(b->s, innermost, target->buffer, value);
    else opf_code_store(b->s, innermost, target->buffer, target->offset, value);
}

/* A loop of open length: in overlapping blocks of 16, of 8 or 4 where it is shorter; shorter still, as it is. */
static void open_loop(body *b, opf_block *into, const opf_range *range, const opf_block *inner) {
    static const int64_t sizes[] = {BLOCK, BLOCK / 2, FEWEST_BLOCK};
    opf_scheduler *s = b->s;
    opf_pool *pool = s->pool;
    const opf_expr *count = opf_sub(pool, range->to, range->from), *shorter = NULL;
    const char *name = s->nest->variables.data[range->variable].name;
    for (size_t k = 0; k < OPF_COUNT(sizes); k++) {
        const opf_expr *size = opf_int(pool, sizes[k]), *enough = opf_binary(pool, OPF_OP_LE, size, count);
        opf_block *block = opf_code_if(s, into, shorter ? opf_binary(pool, OPF_OP_AND, shorter, enough) : enough);
        int base = opf_variable_new(s, opf_arena_printf(s->arena, "%s_block", name), opf_extent(s, range->variable));
        int lane = opf_variable_new(s, "lane", size);
        block = opf_code_loop(s, block, base, range->from, range->to, sizes[k]);
        const opf_expr *start = opf_min(pool, opf_variable(s, base), opf_sub(pool, range->to, size));
        int first = opf_variable_new(s, opf_arena_printf(s->arena, "%s_start", name), opf_extent(s, range->variable));
        opf_code_index(s, block, first, start);
        opf_block *lanes = opf_code_loop(s, block, lane, opf_int(pool, 0), size, 1);
        block->list.data[block->list.count - 1]->independent = true;
        opf_code_index(s, lanes, range->variable, opf_add(pool, opf_variable(s, first), opf_variable(s, lane)));
        opf_block_append(s, lanes, inner);
        shorter = opf_binary(pool, OPF_OP_LT, count, size);
    }
    opf_block *rest = opf_code_if(s, into, shorter), *inside = opf_code_loop(s, rest, range->variable, range->from, range->to, 1);
    rest->list.data[rest->list.count - 1]->independent = range->independent;
    opf_block_append(s, inside, inner);
}

/* Puts levels `outermost` … into one block, loops between them. */
static opf_block joined(body *b, int outermost) {
    opf_scheduler *s = b->s;
    opf_block inner = b->level[b->ranges->count];
    for (int j = b->ranges->count - 1; j >= outermost; j--) {
        const opf_range *range = &b->ranges->at[j];
        opf_block block = {0}, *into = b->guard[j] ? opf_code_if(s, &block, b->guard[j]) : &block;
        opf_block_append(s, into, &b->level[j]);
        if (range->open) {
            open_loop(b, into, range, &inner);
            inner = block;
            continue;
        }
        opf_block *inside = opf_code_loop(s, into, range->variable, range->from, range->to, range->step > 1 ? range->step : 1);
        into->list.data[into->list.count - 1]->independent = range->independent;
        if (range->step > 1 && range->start != range->variable) opf_code_index(s, inside, range->start, range->at);
        opf_block_append(s, inside, &inner);
        inner = block;
    }
    return inner;
}

static body prepared(opf_scheduler *s, const opf_ranges *ranges, const opf_targets *targets) {
    body b = {.s = s, .ranges = ranges, .targets = targets, .nodes = opf_map_new(s->arena)};
    for (size_t i = 0; i < targets->list.count; i++) count_uses(&b, targets->list.data[i].value);
    return b;
}

/* ---- the innermost loop ---- */

static bool reads_any(opf_scheduler *s, const opf_targets *targets) {
    for (size_t i = 0; i < targets->list.count; i++)
        if (!opf_expr_visit(s->pool, targets->list.data[i].value, reads_target, (void *)(uintptr_t)targets)) return true;
    return false;
}

/* Every store goes to an element of its own. */
static bool stores_apart(opf_scheduler *s, const opf_targets *targets, int variable) {
    for (size_t i = 0; i < targets->list.count; i++) {
        const opf_expr *offset = targets->list.data[i].offset, *coefficient, *rest;
        if (!offset || !opf_expr_has_var(offset, variable) || !opf_expr_affine(s->pool, offset, variable, &coefficient, &rest)) return false;
    }
    return true;
}

static bool is_float(const opf_expr *e, void *data) {
    (void)data;
    return e->kind != OPF_EXPR_LOAD || e->dtype == OPF_FLOAT32;
}

/* Vectors of floats divide it, as the compiler finds by itself; those of smaller types have more lanes. */
static bool is_whole_vectors(opf_scheduler *s, const opf_targets *targets, int64_t count) {
    for (size_t i = 0; i < targets->list.count; i++) {
        const opf_target *target = &targets->list.data[i];
        if (opf_buffer_at(s, target->buffer)->dtype != OPF_FLOAT32 || !opf_expr_visit(s->pool, target->value, is_float, NULL)) return false;
    }
    return count % s->nest->machine->lanes == 0;
}

/* A loop of known length that vectors do not divide: in blocks, the last of which overlaps the one before. What is computed
 * twice is stored twice; no element is left for a slow scalar tail. */
static bool in_blocks(opf_scheduler *s, opf_ranges *ranges, opf_targets *targets) {
    opf_range *last = &ranges->at[ranges->count - 1];
    int64_t count, block = BLOCK;
    if (ranges->count == OPF_MOST_AXES || !opf_is_int(opf_sub(s->pool, last->to, last->from), &count)) return false;
    while (block > count) block /= 2;
    if (is_whole_vectors(s, targets, count)) return false;
    if (block < FEWEST_BLOCK || count % block == 0 || count > MOST_IN_BLOCKS) return false;
    const char *name = s->nest->variables.data[last->variable].name;
    int base = opf_variable_new(s, opf_arena_printf(s->arena, "%s_block", name), opf_extent(s, last->variable));
    int start = opf_variable_new(s, opf_arena_printf(s->arena, "%s_start", name), opf_extent(s, last->variable));
    int lane = opf_variable_new(s, name, opf_int(s->pool, block));
    const opf_expr *value = opf_add(s->pool, opf_variable(s, start), opf_variable(s, lane));
    for (size_t i = 0; i < targets->list.count; i++) {
        opf_target *target = &targets->list.data[i];
        target->offset = opf_substitute(s, target->offset, last->variable, value);
        target->value = opf_substitute_safely(s, target->value, last->variable, value);
    }
    const opf_expr *at = opf_min(s->pool, opf_variable(s, base), opf_sub(s->pool, last->to, opf_int(s->pool, block)));
    *last = (opf_range){.variable = base, .from = last->from, .to = last->to, .step = block, .start = start, .at = at};
    ranges->at[ranges->count++] = (opf_range){.variable = lane, .from = opf_int(s->pool, 0), .to = opf_int(s->pool, block)};
    return true;
}

typedef struct pricing { int variable; double price; } pricing;

static bool add_price(const opf_expr *e, void *data) {
    pricing *p = data;
    bool works = (e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY) && opf_dtype_is_float((opf_dtype)e->dtype) && opf_expr_has_var(e, p->variable);
    if (works) p->price += opf_scalar_ops[e->op].flops;
    return true;
}

/* A loop over all of an axis of open length, of which scalar code at its end would be a large part: it may be short, and is dear. */
static bool has_dear_ends(opf_scheduler *s, const opf_range *range, const opf_targets *targets) {
    pricing p = {range->variable, 0};
    opf_dim count = opf_sub(s->pool, range->to, range->from);
    if (range->step > 1 || opf_is_int(count, NULL) || opf_expr_vars(count) || opf_expr_has_load(count) || opf_dim_nominal(count) > MOST_IN_BLOCKS) return false;
    for (size_t i = 0; i < targets->list.count; i++) opf_expr_visit(s->pool, targets->list.data[i].value, add_price, &p);
    return p.price >= DEAR_ENDS;
}

/* Loops of one iteration are none. */
static void drop_single(opf_scheduler *s, opf_ranges *ranges, opf_targets *targets, int first) {
    for (int j = ranges->count; j-- > first;) {
        const opf_range *range = &ranges->at[j];
        if (!opf_is_value(opf_sub(s->pool, range->to, range->from), 1)) continue;
        for (size_t i = 0; i < targets->list.count; i++) {
            opf_target *target = &targets->list.data[i];
            if (target->offset) target->offset = opf_substitute(s, target->offset, range->variable, range->from);
            target->value = opf_substitute_safely(s, target->value, range->variable, range->from);
        }
        for (int k = j + 1; k < ranges->count; k++) {
            ranges->at[k].from = opf_substitute(s, ranges->at[k].from, range->variable, range->from);
            ranges->at[k].to = opf_substitute(s, ranges->at[k].to, range->variable, range->from);
        }
        for (int k = j; k + 1 < ranges->count; k++) ranges->at[k] = ranges->at[k + 1];
        ranges->count--;
    }
}

/* Readies the innermost loop for the compiler's vectoriser. */
static void shape_innermost(opf_scheduler *s, opf_ranges *ranges, opf_targets *targets) {
    if (ranges->count == 0 || !stores_apart(s, targets, ranges->at[ranges->count - 1].variable)) return;
    /* strided vectors read beyond their last element, which compilers avoid at the end of a loop: better one end than many */
    bool may_overlap = !reads_any(s, targets) && opf_reads_whole(s, targets, ranges->at[ranges->count - 1].variable);
    if (may_overlap && !in_blocks(s, ranges, targets)) ranges->at[ranges->count - 1].open = has_dear_ends(s, &ranges->at[ranges->count - 1], targets);
    ranges->at[ranges->count - 1].independent = true;
}

static opf_targets copy_of(opf_scheduler *s, const opf_targets *targets) {
    opf_targets copy = {0};
    for (size_t i = 0; i < targets->list.count; i++) OPF_PUSH(s->arena, &copy.list, targets->list.data[i]);
    return copy;
}

/* The loops with all statements; `order` is named first. */
static void loops_of(opf_scheduler *s, opf_block *block, const opf_ranges *ranges, const opf_targets *targets, const opf_naming *order) {
    body b = prepared(s, ranges, targets);
    for (size_t i = 0; i < order->list.count; i++) node_of(&b, order->list.data[i])->uses = 2;
    for (size_t i = 0; i < order->list.count; i++) named(&b, order->list.data[i], ranges->count, false);
    for (size_t i = 0; i < targets->list.count; i++) store(&b, &targets->list.data[i]);
    opf_block all = joined(&b, 0);
    opf_block_append(s, block, &all);
}

/* ---- public ---- */

void opf_body(opf_scheduler *s, opf_block *block, const opf_ranges *loops, const opf_targets *given) {
    opf_ranges ranges = *loops, together;
    opf_targets targets = copy_of(s, given), more;
    opf_naming order = {0}, none = {0};
    const opf_expr *enough = NULL;
    drop_single(s, &ranges, &targets, 0);
    shape_innermost(s, &ranges, &targets);
    together = ranges;
    if (together.count > 0) together.at[together.count - 1].open = false; /* code of many lines */
    more = copy_of(s, &targets);
    bool apart = ranges.count > 0 && ranges.at[ranges.count - 1].independent && !reads_any(s, &targets);
    if (!apart || !opf_take_in_step(s, &together, &more, &order, &enough)) {
        loops_of(s, block, &ranges, &targets, &none);
        return;
    }
    loops_of(s, enough ? opf_code_if(s, block, enough) : block, &together, &more, &order);
    if (enough) loops_of(s, opf_code_if(s, block, opf_unary(s->pool, OPF_OP_NOT, enough)), &ranges, &targets, &none);
}

const opf_expr *opf_body_in(opf_scheduler *s, opf_block *before, opf_block *inside, int shared, const opf_ranges *loops, const opf_targets *given) {
    opf_ranges shaped = *loops, *ranges = &shaped;
    opf_targets copy = copy_of(s, given), *targets = &copy;
    drop_single(s, ranges, targets, shared);
    if (shared < ranges->count) shape_innermost(s, ranges, targets);
    body b = prepared(s, ranges, targets);
    for (size_t i = 0; i < targets->list.count; i++) store(&b, &targets->list.data[i]);
    opf_block_append(s, before, &b.level[0]);
    for (int j = 1; j < shared; j++) opf_block_append(s, inside, &b.level[j]);
    opf_block rest = joined(&b, shared);
    opf_block_append(s, inside, &rest);
    const opf_expr *guard = NULL;
    for (int j = 0; j < shared; j++)
        if (b.guard[j]) guard = guard ? opf_binary(s->pool, OPF_OP_AND, guard, b.guard[j]) : b.guard[j];
    return guard;
}

const opf_expr *opf_hoist(opf_scheduler *s, opf_block *block, const opf_range *range, opf_targets *targets) {
    opf_ranges ranges = {.count = 1, .at = {*range}};
    body b = prepared(s, &ranges, targets);
    b.hoist_only = true;
    for (size_t i = 0; i < targets->list.count; i++) targets->list.data[i].value = named(&b, targets->list.data[i].value, 1, false);
    opf_block_append(s, block, &b.level[0]);
    return b.guard[0];
}
