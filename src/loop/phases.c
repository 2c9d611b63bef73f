/* Loops with several transcendental functions are cut into loops over a chunk with one function each: one long loop is a
 * dependency chain that outgrows the processor's window (measured: half the speed). Loops that walk along many operands at once are cut into
 * loops that walk along a few: the caches have as many places as there are for lines at like addresses, and prefetchers follow so many lines.
 *
 * Each function (or part of the value that has walked along its share of the operands) but the last goes into a stack array. What is dear and used by several of the loops is kept in an array
 * too; the rest is computed again. */
#include "expr/node.h"
#include "loop/scheduler.h"

enum {
    MOST_ARRAYS = 20, /* 2 KiB each: 40 KiB of stack */
    DEAR = 4,         /* operations from which keeping beats computing again */
    MOST_STREAMS = 8, /* operands walked along that one loop may have */
    STREAMS = 4       /* those of each loop where it is cut for having more */
};

typedef struct phases {
    opf_scheduler *s;
    int innermost;
    OPF_VEC(const opf_expr *) cuts;     /* a loop each, operands before users */
    bool counts_streams;                /* cut where STREAMS operands have come together */
    int streams;                        /* operands walked along */
    opf_map walked;                     /* number of their buffers + 1 */
    opf_map seen;
    opf_map arrays;                     /* expression → number of its buffer + 1 */
    opf_map masks;                      /* expression → set of phases that use it */
    opf_map visited;                    /* by the walk at hand: expression → what became of it */
} phases;

static bool is_function(const opf_expr *e) {
    return (e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY) && opf_scalar_ops[e->op].transcendental &&
           (opf_dtype_is_float((opf_dtype)e->dtype));
}

/* Read along the innermost loop, element after element, and of a buffer that nothing else of it was seen of: neighbours share lines. */
static bool is_stream(phases *p, const opf_expr *e) {
    const opf_expr *step, *rest;
    const void *buffer = (const void *)(uintptr_t)(e->index + 1);
    if (e->kind != OPF_EXPR_LOAD || e->n_args != 1 || opf_buffer_at(p->s, e->index)->memory == OPF_MEMORY_STACK || opf_map_has(&p->walked, buffer)) return false;
    if (!opf_expr_affine(p->s->pool, e->args[0], p->innermost, &step, &rest) || !opf_is_value(step, 1)) return false;
    opf_map_set(&p->walked, buffer, p);
    return true;
}

/* May a loop end with e for the operands that it has walked along? Not within what is only read where a condition holds, nor
 * between a product and its sum, which round once together. */
static bool ends_walk(const phases *p, const opf_expr *e, int streams, bool whole) {
    return p->counts_streams && whole && streams >= STREAMS && (e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY) && opf_dtype_is_float((opf_dtype)e->dtype);
}

/* Where loops are cut, operands before users; returns how many streams e itself walks along: those behind no cut. */
static int find_cuts(phases *p, const opf_expr *e, bool whole) {
    if (e->n_args == 0 || opf_map_has(&p->seen, e) || !opf_expr_has_var(e, p->innermost)) return 0;
    opf_map_set(&p->seen, e, p);
    int streams = 0;
    if (is_stream(p, e)) {
        p->streams++;
        return 1;
    }
    bool inside = whole && e->kind != OPF_EXPR_SELECT && !opf_is_op(e, OPF_OP_ACCUMULATE);
    for (int i = 0; i < e->n_args; i++) streams += find_cuts(p, e->args[i], inside);
    if (!is_function(e) && !ends_walk(p, e, streams, whole)) return streams;
    OPF_PUSH(p->s->arena, &p->cuts, e);
    return 0;
}

static phases find_all(opf_scheduler *s, const opf_targets *targets, int innermost, bool counts_streams) {
    phases p = {.s = s, .innermost = innermost, .counts_streams = counts_streams, .seen = opf_map_new(s->arena), .arrays = opf_map_new(s->arena), .masks = opf_map_new(s->arena), .walked = opf_map_new(s->arena)};
    for (size_t i = 0; i < targets->list.count; i++) find_cuts(&p, targets->list.data[i].value, true);
    return p;
}

static phases found_in(opf_scheduler *s, const opf_targets *targets, int innermost) {
    phases p = find_all(s, targets, innermost, false);
    return p.streams > MOST_STREAMS ? find_all(s, targets, innermost, true) : p;
}

bool opf_phases_apply(opf_scheduler *s, const opf_targets *targets, int innermost) {
    if (found_in(s, targets, innermost).cuts.count < 2) return false;
    bool apart = opf_nest_wants(s->nest, OPF_KNOB_SPLIT) != OPF_SWITCH_OFF;
    s->nest->chosen.at[OPF_KNOB_SPLIT] = apart ? OPF_SWITCH_ON : OPF_SWITCH_OFF;
    return apart;
}

/* ---- what several phases use ---- */

static bool has_array(const phases *p, const opf_expr *e) { return opf_map_has(&p->arrays, e); }

/* What phase k computes, or whatever the targets still need. */
static void mark(phases *p, const opf_expr *e, int phase, bool root) {
    if (e->n_args == 0 || !opf_expr_has_var(e, p->innermost) || (!root && has_array(p, e))) return;
    uintptr_t mask = (uintptr_t)opf_map_get(&p->masks, e), bit = (uintptr_t)1 << phase;
    if (mask & bit) return;
    opf_map_set(&p->masks, e, (void *)(mask | bit));
    for (int i = 0; i < e->n_args; i++) mark(p, e->args[i], phase, false);
}

static double price_to_arrays(const phases *p, const opf_expr *e) {
    if (e->n_args == 0 || has_array(p, e) || e->kind == OPF_EXPR_LOAD) return 0;
    double price = e->kind == OPF_EXPR_UNARY || e->kind == OPF_EXPR_BINARY ? opf_scalar_ops[e->op].flops : 1;
    for (int i = 0; i < e->n_args && price < DEAR; i++) price += price_to_arrays(p, e->args[i]);
    return price;
}

static int new_array(phases *p, const opf_expr *e, const opf_chunk *chunk, opf_block *block) {
    opf_scheduler *s = p->s;
    int buffer = opf_buffer_new(s, OPF_MEMORY_STACK, (opf_dtype)e->dtype, opf_arena_printf(s->arena, "t%d", s->n_temporaries++),
                                opf_int(s->pool, chunk->size));
    opf_code_array(s, block, buffer);
    opf_map_set(&p->arrays, e, (void *)(uintptr_t)(buffer + 1));
    return buffer;
}

/* Dear expressions used by phase `phase` and a later one, outermost first: they get arrays, filled in this phase. */
static void keep_shared(phases *p, const opf_expr *e, int phase, bool root, const opf_chunk *chunk, opf_block *block, opf_targets *targets) {
    if (e->n_args == 0 || !opf_expr_has_var(e, p->innermost) || (!root && has_array(p, e)) || opf_map_has(&p->visited, e)) return;
    opf_map_set(&p->visited, e, p);
    uintptr_t mask = (uintptr_t)opf_map_get(&p->masks, e);
    bool later = (mask >> phase >> 1) != 0 && (e->dtype != OPF_INT64 || opf_expr_has_load(e));
    if (!root && later && e->dtype != OPF_BOOL && e->kind != OPF_EXPR_LOAD && price_to_arrays(p, e) >= DEAR && p->arrays.count < MOST_ARRAYS) {
        int buffer = new_array(p, e, chunk, block);
        opf_target target = {buffer, opf_variable(p->s, chunk->lane), e};
        OPF_PUSH(p->s->arena, &targets->list, target);
        return;
    }
    for (int i = 0; i < e->n_args; i++) keep_shared(p, e->args[i], phase, false, chunk, block, targets);
}

/* ---- replacing ---- */

/* Arrays that the loop at hand fills, those from `first_own` on, are not read in it: what is stored there is at hand. */
static const opf_expr *with_arrays(phases *p, const opf_expr *e, size_t first_own, const opf_expr *lane) {
    uintptr_t buffer = (uintptr_t)opf_map_get(&p->arrays, e);
    if (buffer && buffer - 1 < first_own) return opf_buffer_load(p->s, (int)buffer - 1, lane);
    if (e->n_args == 0 || !opf_expr_has_var(e, p->innermost)) return e;
    const opf_expr *known = opf_map_get(&p->visited, e);
    if (known) return known;
    const opf_expr *args[OPF_MAX_RANK];
    bool changed = false;
    for (int i = 0; i < e->n_args; i++) {
        args[i] = with_arrays(p, e->args[i], first_own, lane);
        changed |= args[i] != e->args[i];
    }
    known = changed ? opf_rebuild(p->s->pool, e, args) : e;
    opf_map_set(&p->visited, e, (void *)(uintptr_t)known);
    return known;
}

static void emit(phases *p, opf_block *block, const opf_chunk *chunk, const opf_targets *targets, size_t first_own) {
    opf_scheduler *s = p->s;
    opf_targets replaced = {0};
    for (size_t i = 0; i < targets->list.count; i++) {
        opf_target target = targets->list.data[i];
        p->visited = opf_map_new(s->arena);
        target.value = with_arrays(p, target.value, first_own, opf_variable(s, chunk->lane));
        OPF_PUSH(s->arena, &replaced.list, target);
    }
    opf_ranges ranges = {.count = 1, .at = {{.variable = chunk->lane, .from = opf_int(s->pool, 0), .to = chunk->count}}};
    opf_body(s, block, &ranges, &replaced);
}

void opf_phases(opf_scheduler *s, opf_block *block, const opf_chunk *chunk, const opf_targets *targets) {
    phases p = found_in(s, targets, chunk->lane);
    int last = (int)p.cuts.count - 1; /* stays in the loop of the targets */
    if (last > MOST_ARRAYS - 4) last = MOST_ARRAYS - 4;
    if (last < 0) last = 0;
    const opf_expr **of = OPF_ARRAY(s->arena, const opf_expr *, last + 1);
    for (int k = 0; k < last; k++) {
        of[k] = p.cuts.data[k];
        opf_map_set(&p.arrays, of[k], (void *)(uintptr_t)1); /* a boundary for now; its number comes with its phase */
    }
    for (int k = 0; k < last; k++) mark(&p, of[k], k, true);
    for (size_t i = 0; i < targets->list.count; i++) mark(&p, targets->list.data[i].value, last, false);
    for (int k = 0; k < last; k++) {
        opf_targets phase = {0};
        size_t first_own = s->nest->buffers.count;
        p.visited = opf_map_new(s->arena);
        keep_shared(&p, of[k], k, true, chunk, block, &phase);
        opf_target target = {new_array(&p, of[k], chunk, block), opf_variable(s, chunk->lane), of[k]};
        OPF_PUSH(s->arena, &phase.list, target);
        emit(&p, block, chunk, &phase, first_own);
    }
    emit(&p, block, chunk, targets, s->nest->buffers.count);
}
