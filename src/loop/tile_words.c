/* Contractions of 8-bit integers by words of several depth steps.
 *
 * Both operands are whole numbers that int16 holds: pairs of them are words, on every machine. Where the machine multiplies bytes (products
 * = 4), one of the operands must be bytes without sign, the other bytes with sign:
 *   - a constant operand gives the signed bytes: its values, less their zero point, if all of its elements stay within -128 … 127;
 *   - the other one gives bytes without sign: what is stored before its zero point is taken off, and 128 more where that has a sign. Its
 *     values are bytes less `zero`, so that
 *         sum (u - zero) * s = sum u * s - zero * sum s
 *     where the second sum is packed at build time and taken off in the epilogue.
 * Nothing saturates (unlike vpmaddubsw), and all is exact modulo 2^32, as int32 is. */
#include "expr/node.h"
#include "loop/tile_internal.h"

static bool is_byte(const opf_expr *e) { return e->dtype == OPF_INT8 || e->dtype == OPF_UINT8; }
static const opf_expr *number(const opf_tiler *tiler, opf_dtype dtype, int64_t value) { return opf_int_of(tiler->pool, dtype, value); }

/* ---- bytes and what they are above the value ---- */

/* The value is byte - zero. */
typedef struct split { const opf_expr *byte, *zero; } split;

static bool is_steady(const opf_expr *e) { return e->dtype == OPF_INT32 && opf_expr_vars(e) == 0; }

/* x - zero and x + number. */
static bool split_difference(const opf_tiler *tiler, const opf_expr *e, split *out) {
    const opf_expr *a = e->args[0], *b = e->args[1];
    bool sum = e->op == OPF_OP_ADD;
    if (sum && is_steady(a)) a = e->args[1], b = e->args[0];
    if ((!sum && e->op != OPF_OP_SUB) || !is_steady(b) || a->kind != OPF_EXPR_CAST || !is_byte(a->args[0])) return false;
    out->byte = a->args[0];
    out->zero = sum ? opf_binary(tiler->pool, OPF_OP_SUB, number(tiler, OPF_INT32, 0), b) : b;
    return true;
}

/* The zero point as a byte; NULL where it may be none. */
static const opf_expr *zero_byte(const opf_tiler *tiler, const opf_expr *zero, opf_dtype dtype) {
    int64_t value, low, high;
    if (zero->kind == OPF_EXPR_CAST && zero->args[0]->dtype == dtype) return zero->args[0];
    opf_dtype_range(dtype, &low, &high);
    return opf_is_int(zero, &value) && low <= value && value <= high ? number(tiler, dtype, value) : NULL;
}

/* Zeros outside the operand are its zero point's bytes. */
static bool split_value(opf_tiler *tiler, const opf_expr *e, split *out) {
    if (is_byte(e) || (e->kind == OPF_EXPR_CAST && is_byte(e->args[0]))) {
        *out = (split){is_byte(e) ? e : e->args[0], number(tiler, OPF_INT32, 0)};
        return true;
    }
    if (e->kind == OPF_EXPR_BINARY) return split_difference(tiler, e, out);
    if (e->kind != OPF_EXPR_SELECT || !opf_is_value(e->args[2], 0) || !split_value(tiler, e->args[1], out)) return false;
    tiler->tile->outside = zero_byte(tiler, out->zero, (opf_dtype)out->byte->dtype);
    if (!tiler->tile->outside) return false;
    out->byte = opf_select(tiler->pool, e->args[0], out->byte, tiler->tile->outside);
    return true;
}

/* 128 more, without sign. */
static const opf_expr *lifted(opf_tiler *tiler, const opf_expr *byte) {
    opf_pool *pool = tiler->pool;
    if (byte->dtype == OPF_UINT8) return byte;
    if (byte->kind == OPF_EXPR_SELECT) return opf_select(pool, byte->args[0], lifted(tiler, byte->args[1]), lifted(tiler, byte->args[2]));
    return opf_cast(pool, OPF_UINT8, opf_binary(pool, OPF_OP_ADD, opf_cast(pool, OPF_INT32, byte), number(tiler, OPF_INT32, 128)));
}

/* ---- the two forms ---- */

static bool by_bytes(opf_tiler *tiler, split *given) {
    opf_tile *tile = tiler->tile;
    tile->outside = NULL;
    if (tiler->nest->machine->products < 4) return false;
    if (!opf_tiler_is_short(tile->a.value) || !opf_tiler_is_short(tile->b.value)) return false;
    bool a_fits = opf_tiler_fits(tiler, &tile->a, -128, 127), b_fits = !a_fits && opf_tiler_fits(tiler, &tile->b, -128, 127);
    opf_tile_operand *bytes = a_fits ? &tile->b : &tile->a, *constant = a_fits ? &tile->a : &tile->b;
    if ((!a_fits && !b_fits) || (b_fits && tile->n_column > 1) || !split_value(tiler, bytes->value, given)) return false;
    if (given->byte->dtype == OPF_INT8) given->zero = opf_binary(tiler->pool, OPF_OP_ADD, given->zero, number(tiler, OPF_INT32, 128));
    given->byte = lifted(tiler, given->byte);
    if (tile->outside) tile->outside = lifted(tiler, tile->outside);
    bytes->value = given->byte;
    constant->value = opf_cast(tiler->pool, OPF_INT32, constant->value);
    tile->a_is_signed = a_fits;
    tile->words = 4;
    return true;
}

/* Zeros outside the operand are told apart from its elements. */
static const opf_expr *as_pair(opf_tiler *tiler, const opf_expr *e) {
    opf_pool *pool = tiler->pool;
    if (e->kind == OPF_EXPR_SELECT && opf_is_value(e->args[2], 0)) return opf_select(pool, e->args[0], as_pair(tiler, e->args[1]), number(tiler, OPF_INT16, 0));
    return opf_cast(pool, OPF_INT16, e);
}

static bool by_pairs(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    if (!opf_tiler_is_short(tile->a.value) || !opf_tiler_is_short(tile->b.value)) return opf_tiler_refuse(tiler, "integers of more than 16 bits");
    tile->a.value = as_pair(tiler, tile->a.value);
    tile->b.value = as_pair(tiler, tile->b.value);
    tile->outside = number(tiler, OPF_INT16, 0);
    tile->words = 2;
    return true;
}

/* ---- words ---- */

static bool is_not_border(const opf_expr *e, void *axis) {
    return e->kind != OPF_EXPR_SELECT || !opf_expr_has_var(e->args[0], *(int *)axis);
}

/* A window's taps are read apart, and so is what a border is told by: one test cannot stand for the parts of a word. Steps that follow
 * each other in memory are the last. */
static int find_axis(const opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    for (int k = tile->n_axes - 1; k >= opf_tile_first_depth(tile); k--) {
        bool tap = tile->b.source == OPF_SOURCE_WINDOW && (k == tile->windows[0].tap || (tile->n_column == 2 && k == tile->windows[1].tap));
        if (!tap && opf_expr_visit(tiler->pool, tile->a.value, is_not_border, &k) && opf_expr_visit(tiler->pool, tile->b.value, is_not_border, &k)) return k;
    }
    return -1;
}

static bool fold(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    tile->word_axis = find_axis(tiler);
    bool in_lines = tile->a.source == OPF_SOURCE_PANELS || tile->b.source == OPF_SOURCE_PANELS;
    if (tile->word_axis < 0 || (in_lines && tile->word_axis != tile->n_axes - 1)) return opf_tiler_refuse(tiler, "no depth axis holds words");
    tile->word_extent = tile->axes[tile->word_axis].extent;
    tile->axes[tile->word_axis].extent = opf_ceildiv(tiler->pool, tile->word_extent, opf_int(tiler->pool, tile->words));
    return true;
}

typedef struct taking { opf_tiler *tiler; const opf_expr *less; } taking;

static const opf_expr *take_off(opf_pool *pool, const opf_expr *leaf, void *data) {
    const taking *t = data;
    bool anchor = leaf->kind == OPF_EXPR_LOAD && leaf->index == t->tiler->n_inputs + t->tiler->tile->anchor;
    return anchor ? opf_binary(pool, OPF_OP_SUB, leaf, t->less) : NULL;
}

/* Takes zero * the sums of the constant's values off all that reads the anchor. */
static bool correct(opf_tiler *tiler, const opf_expr *zero) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    bool rows = tile->a_is_signed;
    const opf_tile_operand *constant = rows ? &tile->a : &tile->b;
    int first = rows ? opf_tile_first_row(tile) : opf_tile_first_column(tile), count = rows ? tile->n_row : tile->n_column, packed, n = 0;
    const opf_expr *args[OPF_MAX_RANK], *flat = opf_int(pool, 0);
    opf_dim extent = opf_int(pool, 1);
    if (opf_is_value(zero, 0)) return true;
    for (int k = first; k < first + count; k++) {
        flat = opf_add(pool, opf_mul(pool, flat, tile->axes[k].extent), opf_var(pool, k));
        extent = opf_mul(pool, extent, tile->axes[k].extent);
    }
    if (!opf_tiler_pack_sums(tiler, constant, constant->value, first, count, extent, &packed)) return false;
    for (int k = 0; k < tile->n_outer; k++)
        if (opf_expr_has_var(constant->value, k)) args[n++] = opf_var(pool, k);
    args[n++] = flat;
    taking t = {tiler, opf_binary(pool, OPF_OP_MUL, zero, opf_load(pool, OPF_INT32, OPF_TILE_PACKED + packed, n, args))};
    for (size_t i = 0; i < tile->epilogue.count; i++) tile->epilogue.data[i].body = opf_expr_map(pool, tile->epilogue.data[i].body, take_off, &t);
    return true;
}

bool opf_tiler_words(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    split given = {NULL, NULL};
    if (tile->siblings.count) return opf_tiler_refuse(tiler, "several sums of integers");
    bool bytes = by_bytes(tiler, &given);
    if (!bytes && !by_pairs(tiler)) return false;
    if (!opf_tiler_operands(tiler)) return false;
    if (tile->b.source == OPF_SOURCE_ROWS) tile->b.source = OPF_SOURCE_COPY; /* rows of words, each of several rows */
    return (!bytes || correct(tiler, given.zero)) && fold(tiler);
}
