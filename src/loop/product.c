/* A product of a block of rows: how its operands are read, and the statement that computes it.
 *
 * A, the factor with rows, is read row by row where its terms lie one behind the other; else it is copied for each block.
 * B is read in place where columns lie side by side and fill whole vectors; else it is copied to [depth][columns] when the
 * outer loops that it depends on have moved. */
#include "loop/blocks.h"

enum { LINE = 16 };

typedef struct operands { const opf_expr *a, *b; } operands;

static bool knows_no_row(const opf_expr *e, void *data) {
    const opf_rows_nest *n = data;
    if (e->kind == OPF_EXPR_LOAD) return (size_t)e->index < n->s->n_inputs + n->s->group->results.count;
    return e->kind != OPF_EXPR_VAR || !(e->index == n->row || (n->lane && (e->index == n->lane || e->index == n->begin)));
}

/* Rows are walked along, or what was computed for them is read. */
static bool has_rows(const opf_rows_nest *n, const opf_expr *e) { return !opf_expr_visit(n->s->pool, e, knows_no_row, (void *)(uintptr_t)n); }

static operands operands_of(const opf_rows_nest *n, const opf_item *item) {
    bool swapped = has_rows(n, item->term->args[1]);
    return (operands){item->term->args[swapped], item->term->args[!swapped]};
}

bool opf_block_product_fits(const opf_rows_nest *n, int stage) {
    const opf_item *item = n->root->items[stage];
    if (item->term->kind != OPF_EXPR_BINARY || item->term->op != OPF_OP_MUL || item->term->dtype != OPF_FLOAT32) return false;
    return has_rows(n, item->term->args[0]) != has_rows(n, item->term->args[1]);
}

/* offset = stride * flat + base over the axes taken as one flat index. */
static bool flat(opf_scheduler *s, const opf_expr *offset, const opf_axes *axes, const opf_expr **stride, const opf_expr **base) {
    const opf_expr *expected = NULL;
    *stride = opf_int(s->pool, 0);
    *base = offset;
    for (int k = axes->count - 1; k >= 0; k--) {
        const opf_expr *coefficient, *rest;
        if (!opf_expr_affine(s->pool, *base, axes->at[k], &coefficient, &rest) || opf_expr_vars(coefficient)) return false;
        if (expected && coefficient != expected) return false;
        if (!expected) *stride = coefficient;
        expected = opf_mul(s->pool, coefficient, opf_extent(s, axes->at[k]));
        *base = rest;
    }
    return true;
}

static bool is_plain(const opf_rows_nest *n, const opf_expr *e) {
    return e->kind == OPF_EXPR_LOAD && e->n_args == 1 && opf_buffer_at(n->s, e->index)->dtype == OPF_FLOAT32;
}

static opf_dim product(opf_scheduler *s, const opf_axes *axes) { return opf_extent_product(s, axes, 0, axes->count); }

/* The flat index over the axes. */
static const opf_expr *flat_index(opf_scheduler *s, const opf_axes *axes) {
    const opf_expr *index = opf_int(s->pool, 0);
    for (int k = 0; k < axes->count; k++) index = opf_add(s->pool, opf_mul(s->pool, index, opf_extent(s, axes->at[k])), opf_variable(s, axes->at[k]));
    return index;
}

/* ---- A ---- */

typedef struct source { opf_run run; const opf_expr *pitch; } source; /* of rows (A), of depth steps (B) */

static bool a_in_place(const opf_rows_nest *n, const opf_item *item, const opf_expr *a, source *out) {
    const opf_expr *step, *base, *pitch, *rest;
    if (!is_plain(n, a) || !flat(n->s, a->args[0], &item->reduce, &step, &base) || !opf_is_value(step, 1)) return false;
    if (!opf_expr_affine(n->s->pool, base, n->lane, &pitch, &rest) || opf_expr_vars(pitch)) return false;
    *out = (source){{a->index, rest}, pitch};
    return true;
}

static source copy_a(opf_rows_nest *n, opf_block *block, const opf_item *item, const opf_expr *a) {
    opf_scheduler *s = n->s;
    opf_dim pitch = opf_mul(s->pool, opf_ceildiv(s->pool, product(s, &item->reduce), opf_int(s->pool, LINE)), opf_int(s->pool, LINE));
    int buffer = opf_buffer_new(s, OPF_MEMORY_SCRATCH, OPF_FLOAT32, "rows", opf_mul(s->pool, opf_int(s->pool, n->rows), pitch));
    opf_place_array(s, block, buffer);
    opf_block *row = opf_code_loop(s, block, n->lane, opf_int(s->pool, 0), opf_variable(s, n->count), 1);
    opf_targets targets = {0};
    const opf_expr *offset = opf_add(s->pool, opf_mul(s->pool, opf_variable(s, n->lane), pitch), flat_index(s, &item->reduce));
    OPF_PUSH(s->arena, &targets.list, (opf_target){buffer, offset, a});
    opf_leaf_over(s, row, item->reduce, NULL, &targets, false);
    return (source){{buffer, opf_int(s->pool, 0)}, pitch};
}

/* ---- B ---- */

static bool b_can_stay(const opf_rows_nest *n, const opf_item *item, const opf_expr *b, source *out) {
    const opf_expr *stride, *step, *base;
    int64_t columns;
    if (!is_plain(n, b) || !opf_is_int(product(n->s, &item->free), &columns) || columns % n->s->nest->machine->lanes) return false;
    if (!flat(n->s, b->args[0], &item->free, &stride, &base) || !opf_is_value(stride, 1)) return false;
    if (!flat(n->s, base, &item->reduce, &step, &base)) return false;
    *out = (source){{b->index, base}, step};
    return true;
}

/* An operand of the group may be copied all the same. */
static bool b_in_place(const opf_rows_nest *n, const opf_item *item, const opf_expr *b, source *out) {
    if (!b_can_stay(n, item, b, out)) return false;
    if (opf_buffer_at(n->s, b->index)->memory != OPF_MEMORY_INPUT) return true;
    bool packed = opf_nest_wants(n->s->nest, OPF_KNOB_SECOND) == OPF_SECOND_PACKED;
    n->s->nest->chosen.at[OPF_KNOB_SECOND] = packed ? OPF_SECOND_PACKED : OPF_SECOND_IN_PLACE;
    return !packed;
}

/* An odd number of cache lines: depth steps then spread over the cache's sets. */
static opf_dim odd_lines(opf_pool *pool, opf_dim floats) {
    opf_dim pairs = opf_floordiv(pool, opf_add(pool, floats, opf_int(pool, LINE - 1)), opf_int(pool, 2 * LINE));
    return opf_add(pool, opf_mul(pool, pairs, opf_int(pool, 2 * LINE)), opf_int(pool, LINE));
}

void opf_block_product_place(opf_rows_nest *n, opf_block *block, int stage) {
    opf_scheduler *s = n->s;
    const opf_item *item = n->root->items[stage];
    source in_place;
    if (b_in_place(n, item, operands_of(n, item).b, &in_place)) return;
    opf_dim elements = opf_mul(s->pool, product(s, &item->reduce), odd_lines(s->pool, product(s, &item->free)));
    n->copy[stage] = opf_buffer_new(s, OPF_MEMORY_SCRATCH, OPF_FLOAT32, "columns", elements);
    opf_place_array(s, block, n->copy[stage]);
}

/* Where the unit is the part's first, or the last loop that B depends on has moved: the loops behind it are at 0. */
static opf_block *when_moved(opf_rows_nest *n, opf_block *block, const opf_expr *b) {
    opf_scheduler *s = n->s;
    const opf_expr *condition = NULL;
    for (int k = n->units.count - 1; opf_depends(b, &n->units) && !opf_expr_has_var(b, n->units.at[k]); k--) {
        const opf_expr *zero = opf_binary(s->pool, OPF_OP_EQ, opf_variable(s, n->units.at[k]), opf_int(s->pool, 0));
        condition = condition ? opf_binary(s->pool, OPF_OP_AND, zero, condition) : zero;
    }
    opf_code *code = opf_code_add(s, block, OPF_CODE_FRESH);
    code->value = condition;
    return &code->body;
}

static source copy_b(opf_rows_nest *n, opf_block *block, int stage, const opf_expr *b) {
    opf_scheduler *s = n->s;
    opf_pool *pool = s->pool;
    const opf_item *item = n->root->items[stage];
    opf_dim columns = product(s, &item->free), pitch = odd_lines(pool, columns);
    int buffer = n->copy[stage];
    opf_block *fresh = when_moved(n, block, b);
    opf_axes axes = item->reduce;
    for (int k = 0; k < item->free.count; k++) opf_axes_add(&axes, item->free.at[k]);
    opf_targets targets = {0}, zeros = {0};
    const opf_expr *offset = opf_add(pool, opf_mul(pool, flat_index(s, &item->reduce), pitch), flat_index(s, &item->free));
    OPF_PUSH(s->arena, &targets.list, (opf_target){buffer, offset, b});
    opf_leaf_over(s, fresh, axes, NULL, &targets, false);
    opf_dim lanes = opf_int(pool, s->nest->machine->lanes), rest = opf_sub(pool, opf_mul(pool, opf_ceildiv(pool, columns, lanes), lanes), columns);
    if (!opf_is_value(rest, 0)) { /* lanes behind the last column: left-over bits may be numbers that are slow to compute with */
        opf_axes spare = {.count = 2, .at = {opf_variable_new(s, "k", product(s, &item->reduce)), opf_variable_new(s, "spare", rest)}};
        offset = opf_add(pool, opf_mul(pool, opf_variable(s, spare.at[0]), pitch), opf_add(pool, columns, opf_variable(s, spare.at[1])));
        OPF_PUSH(s->arena, &zeros.list, (opf_target){buffer, offset, opf_real(pool, OPF_FLOAT32, 0)});
        opf_leaf_over(s, fresh, spare, NULL, &zeros, false);
    }
    return (source){{buffer, opf_int(pool, 0)}, pitch};
}

/* ---- the tile ---- */

/* Cycles of one depth step: two multiply-adds a cycle, two loads a cycle, and no sum twice within four cycles. */
static double step_cycles(int height, int width) {
    double sums = height * width / 2.0, loads = (height + width) / 2.0, cycles = sums > loads ? sums : loads;
    return cycles > 4.7 ? cycles : 4.7;
}

/* The tile that is asked for, as far as the product has rows and columns for it. */
static bool take_tile(const opf_rows_nest *n, int64_t vectors, opf_code *code) {
    int64_t height = opf_nest_wants(n->s->nest, OPF_KNOB_TILE_ROWS), width = opf_nest_wants(n->s->nest, OPF_KNOB_TILE_VECTORS);
    if (!height || !width || height * width + width + 1 > n->s->nest->machine->vectors) return false;
    code->height = (int)(height < n->rows ? height : n->rows);
    code->width = (int)(width < vectors ? width : vectors < 1 ? 1 : vectors);
    return true;
}

/* A tile that all products share is told; where they differ there is none to tell. */
static void tell_tile(opf_rows_nest *n, bool given, const opf_code *code) {
    opf_nest *nest = n->s->nest;
    int64_t height = given ? opf_nest_wants(nest, OPF_KNOB_TILE_ROWS) : code->height, width = given ? opf_nest_wants(nest, OPF_KNOB_TILE_VECTORS) : code->width;
    int64_t *rows = &nest->chosen.at[OPF_KNOB_TILE_ROWS], *vectors = &nest->chosen.at[OPF_KNOB_TILE_VECTORS];
    n->tiles_differ = n->tiles_differ || (*rows && (*rows != height || *vectors != width));
    *rows = n->tiles_differ ? 0 : height;
    *vectors = n->tiles_differ ? 0 : width;
}

typedef struct tile { int height, width; double cycles, calls; } tile;

/* The one that needs the fewest cycles a depth step; of equals the highest: B is read least often. */
static tile best_tile(const opf_machine *machine, int64_t rows, int64_t vectors) {
    tile best = {0};
    for (int height = 1; height <= 12 && height <= rows; height++)
        for (int width = 1; width <= 8 && (width == 1 || width <= vectors); width++) {
            if (height * width + width + 1 > machine->vectors) break;
            int64_t tail = vectors % width, tiles = (rows + height - 1) / height;
            double cycles = (double)tiles * ((double)(vectors / width) * step_cycles(height, width) + (tail ? step_cycles(height, (int)tail) : 0));
            if (!best.height || cycles <= best.cycles) best = (tile){height, width, cycles, (double)(tiles * ((vectors + width - 1) / width))};
        }
    return best;
}

static int64_t vectors_of(const opf_rows_nest *n, opf_dim columns) {
    int lanes = n->s->nest->machine->lanes;
    return (opf_dim_nominal(columns) + lanes - 1) / lanes;
}

double opf_block_product_cycles(const opf_rows_nest *n, const opf_item *item, int64_t rows) {
    static const double OWN = 0.4; /* of a step, whatever the tile: 5 x 2 vectors take 5.4 cycles, 6 x 2 take 6.4 */
    tile best = best_tile(n->s->nest->machine, rows, vectors_of(n, product(n->s, &item->free)));
    return best.cycles + OWN * best.calls;
}

static void choose_tile(opf_rows_nest *n, opf_dim columns, opf_code *code) {
    int64_t vectors = vectors_of(n, columns);
    bool given = take_tile(n, vectors, code);
    if (!given) {
        tile best = best_tile(n->s->nest->machine, n->rows, vectors);
        code->height = best.height;
        code->width = best.width;
    }
    tell_tile(n, given, code);
}

opf_block_factors opf_block_product_factors(opf_rows_nest *n, opf_block *block, int stage) {
    const opf_item *item = n->root->items[stage];
    operands of = operands_of(n, item);
    source a, b;
    if (!a_in_place(n, item, of.a, &a)) a = copy_a(n, block, item, of.a);
    if (!b_in_place(n, item, of.b, &b)) b = copy_b(n, block, stage, of.b);
    return (opf_block_factors){a.run, b.run, a.pitch, b.pitch};
}

opf_code *opf_block_product(opf_rows_nest *n, opf_block *block, int stage, const opf_block_factors *factors, int buffer, const opf_expr *columns, const opf_expr *depth) {
    opf_scheduler *s = n->s;
    opf_code *code = opf_code_add(s, block, OPF_CODE_PRODUCT);
    code->buffer = buffer;
    code->offset = opf_int(s->pool, 0);
    code->value = n->pitch[stage];
    code->operands[0] = factors->a;
    code->operands[1] = factors->b;
    code->from = factors->a_pitch;
    code->limit = factors->b_pitch;
    code->to = opf_variable(s, n->count);
    code->columns = columns;
    code->depth = depth;
    choose_tile(n, columns, code);
    return code;
}
