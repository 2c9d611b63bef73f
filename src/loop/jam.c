/* Short rows side by side. A row with a sum or an extreme is a chain: what the row holds, its lanes joined, a quotient, a broadcast. The
 * processor looks some hundred instructions ahead, two rows at most; where rows are short most of their time is waiting. Several rows are
 * computed together, each statement for all of them before the next, so that chains run beside each other. Each row is computed as ever. */
#include "loop/scheduler.h"

enum {
    MOST_ROWS = 4,
    SHORT = 8,        /* vectors of a row of which MOST_ROWS go together */
    LONG = 64,        /* of which two do; longer rows overlap as it is */
    ENOUGH_UNITS = 16 /* are left for the parts to share */
};

typedef struct jamming {
    opf_scheduler *s;
    int variable;              /* counts the rows */
    int rows;
    bool *written, *declared;  /* by buffer: in a row */
    int row;                   /* the copy at hand … */
    int *buffers, *variables;  /* … and what stands in it for buffers and variables; -1: themselves */
} jamming;

/* ---- may rows be copied? ---- */

static bool look_at(jamming *j, const opf_block *block, int *reductions) {
    for (size_t i = 0; i < block->list.count; i++) {
        const opf_code *code = block->list.data[i];
        switch (code->kind) {
        case OPF_CODE_NOTE: case OPF_CODE_INDEX: case OPF_CODE_LOOP: case OPF_CODE_CLEAR: break;
        case OPF_CODE_ARRAY: j->declared[code->buffer] = true; break;
        case OPF_CODE_REDUCE: ++*reductions; /* fall through */
        case OPF_CODE_STORE:
            j->written[code->buffer] = true;
            j->declared[code->buffer] |= code->declares;
            break;
        default: return false;
        }
        if (!look_at(j, &code->body, reductions)) return false;
    }
    return true;
}

/* What a row writes is its own: declared in it, or of the part's scratch. */
static bool is_own(const jamming *j) {
    for (size_t b = 0; b < j->s->nest->buffers.count; b++) {
        opf_memory memory = opf_buffer_at(j->s, (int)b)->memory;
        if (j->written[b] && !j->declared[b] && memory != OPF_MEMORY_RESULT && memory != OPF_MEMORY_SCRATCH) return false;
    }
    return true;
}

/* Rows that go together; 1: none do. */
static int rows_of(opf_scheduler *s, opf_dim count, int64_t elements) {
    int64_t vectors = (elements + s->nest->machine->lanes - 1) / s->nest->machine->lanes, n = opf_dim_nominal(count);
    int rows = vectors <= SHORT ? MOST_ROWS : vectors <= LONG ? 2 : 1;
    while (rows > 1 && n < ENOUGH_UNITS * rows) rows /= 2;
    return rows;
}

/* ---- copies ---- */

static const opf_expr *copied_leaf(opf_pool *pool, const opf_expr *leaf, void *data) {
    const jamming *j = data;
    if (leaf->kind == OPF_EXPR_VAR && leaf->index == j->variable) return opf_add(pool, leaf, opf_int(pool, j->row));
    if (leaf->kind == OPF_EXPR_VAR) return j->variables[leaf->index] < 0 ? NULL : opf_variable(j->s, j->variables[leaf->index]);
    if (leaf->kind != OPF_EXPR_LOAD || j->buffers[leaf->index] < 0) return NULL;
    return opf_load(pool, (opf_dtype)leaf->dtype, j->buffers[leaf->index], leaf->n_args, leaf->args);
}

static const opf_expr *copied(jamming *j, const opf_expr *e) { return e ? opf_expr_map(j->s->pool, e, copied_leaf, j) : NULL; }

static int copied_buffer(const jamming *j, int buffer) { return buffer < 0 || j->buffers[buffer] < 0 ? buffer : j->buffers[buffer]; }

static opf_code *copied_code(jamming *j, const opf_code *code, bool outermost) {
    opf_scheduler *s = j->s;
    opf_code *copy = opf_arena_copy(s->arena, code, sizeof *code);
    copy->buffer = copied_buffer(j, code->buffer);
    copy->running = copied_buffer(j, code->running);
    copy->from = copied(j, code->from);
    copy->to = copied(j, code->to);
    copy->limit = copied(j, code->limit);
    copy->offset = copied(j, code->offset);
    copy->value = copied(j, code->value);
    for (int i = 0; i < code->n_operands; i++) copy->operands[i] = (opf_run){copied_buffer(j, code->operands[i].buffer), copied(j, code->operands[i].offset)};
    if (code->kind == OPF_CODE_INDEX && outermost) { /* stands beside that of the first row */
        const opf_nest_variable *variable = &s->nest->variables.data[code->variable];
        j->variables[code->variable] = copy->variable = opf_variable_new(s, variable->name, variable->extent);
    }
    copy->body = (opf_block){0};
    for (size_t i = 0; i < code->body.list.count; i++) OPF_PUSH(s->arena, &copy->body.list, copied_code(j, code->body.list.data[i], false));
    return copy;
}

/* Buffers of a further row: those that rows write, but for results. */
static void take_buffers(jamming *j, int n_buffers, int *buffers) {
    opf_scheduler *s = j->s;
    for (int b = 0; b < n_buffers; b++) {
        opf_nest_buffer own = *opf_buffer_at(s, b);
        if (!j->written[b] || own.memory == OPF_MEMORY_RESULT) continue;
        buffers[b] = opf_buffer_new(s, own.memory, own.dtype, own.name, own.elements);
        opf_buffer_at(s, buffers[b])->changes = own.changes;
        if (own.memory == OPF_MEMORY_SCRATCH) opf_place_array(s, NULL, buffers[b]);
    }
}

/* Rows that no block is left for, one by one. */
static void add_rest(jamming *j, opf_block *around, const opf_block *row, opf_dim count) {
    opf_scheduler *s = j->s;
    opf_dim rest = opf_floormod(s->pool, count, opf_int(s->pool, j->rows));
    if (opf_is_value(rest, 0)) return;
    opf_code *share = opf_code_add(s, around, OPF_CODE_SHARE);
    share->variable = opf_variable_new(s, opf_arena_printf(s->arena, "%s_rest", s->nest->variables.data[j->variable].name), rest);
    share->to = rest;
    share->step = 1;
    opf_code_index(s, &share->body, j->variable, opf_add(s->pool, opf_sub(s->pool, count, rest), opf_variable(s, share->variable)));
    opf_block_append(s, &share->body, row);
}

static void jam(jamming *j, opf_block *around, opf_code *share) {
    opf_scheduler *s = j->s;
    int n_buffers = (int)s->nest->buffers.count, n_variables = (int)s->nest->variables.count + MOST_ROWS * OPF_MOST_AXES;
    int *buffers[MOST_ROWS], *variables[MOST_ROWS];
    opf_block body = {0}, rows = share->body;
    int block = opf_variable_new(s, opf_arena_printf(s->arena, "%s_block", s->nest->variables.data[j->variable].name), opf_floordiv(s->pool, share->to, opf_int(s->pool, j->rows)));
    opf_code_index(s, &body, j->variable, opf_mul(s->pool, opf_variable(s, block), opf_int(s->pool, j->rows)));
    for (int k = 1; k < j->rows; k++) {
        buffers[k] = OPF_ARRAY(s->arena, int, n_buffers + 1);
        variables[k] = OPF_ARRAY(s->arena, int, n_variables + 1);
        for (int i = 0; i < n_buffers; i++) buffers[k][i] = -1;
        for (int i = 0; i < n_variables; i++) variables[k][i] = -1;
        take_buffers(j, n_buffers, buffers[k]);
    }
    for (size_t i = 0; i < rows.list.count; i++) {
        opf_code *code = rows.list.data[i];
        OPF_PUSH(s->arena, &body.list, code);
        for (j->row = 1; j->row < j->rows && code->kind != OPF_CODE_NOTE; j->row++) {
            j->buffers = buffers[j->row];
            j->variables = variables[j->row];
            OPF_PUSH(s->arena, &body.list, copied_code(j, code, true));
        }
    }
    add_rest(j, around, &rows, share->to);
    share->body = body;
    share->to = opf_extent(s, block);
    share->variable = block;
}

void opf_jam_rows(opf_scheduler *s, opf_block *around, int64_t elements) {
    opf_code *share = around->list.data[around->list.count - 1];
    int n = (int)s->nest->buffers.count, reductions = 0;
    jamming j = {.s = s, .variable = share->variable, .written = OPF_ARRAY(s->arena, bool, n + 1), .declared = OPF_ARRAY(s->arena, bool, n + 1)};
    if (share->kind != OPF_CODE_SHARE || share->variable < 0 || share->step != 1) return;
    j.rows = rows_of(s, share->to, elements);
    if (j.rows > 1 && look_at(&j, &share->body, &reductions) && reductions > 0 && is_own(&j)) jam(&j, around, share);
}
