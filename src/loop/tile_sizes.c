/* How large: the register tile, the blocks of sums, the units of work, the scratch. */
#include "loop/tile_internal.h"

enum { DEPTH_BLOCK = 384, MANY_ROWS = 840 /* a multiple of every height */ };
enum { COPIED_LINE = 14, COPIED_VECTOR = 2, COPIED_ELEMENT = 2 }; /* cycles of a window's line that is copied, and of what it consists of; measured */

static int64_t nominal(opf_dim dim) {
    int64_t value = opf_dim_nominal(dim);
    return value < 1 ? 1 : value;
}
static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static opf_dim product_of(const opf_tiler *tiler, int first, int count) {
    opf_dim product = opf_int(tiler->pool, 1);
    for (int k = first; k < first + count; k++) product = opf_mul(tiler->pool, product, tiler->tile->axes[k].extent);
    return product;
}

static opf_dim rounded(opf_pool *pool, opf_dim dim, int64_t to) { return opf_mul(pool, opf_ceildiv(pool, dim, opf_int(pool, to)), opf_int(pool, to)); }

static bool few_registers(const opf_tiler *tiler) { return opf_machine_has_few_vectors(tiler->nest->machine); }

/* ---- flat extents ---- */

/* Between lines of a window stand as many columns as taps reach beyond a line, computed for nothing: an eighth of 5x5 taps over 28. A copy of the
 * lines for each tap along them has none. Worth it where the products saved take longer than these copies. */
static void choose_apart(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    opf_tile_window *above = &tile->windows[0], *w = &tile->windows[1];
    int64_t rows, depth, lines, width, taps, all, between, lanes = tiler->nest->machine->lanes;
    if (tile->b.source != OPF_SOURCE_WINDOW || tiler->bands || tile->words || tile->n_column != 2 || w->tap < 0 || w->tap == above->tap) return;
    /* Two steps are picked out of two vectors; more of them one by one. */
    int64_t copied_vector = w->stride > 2 && few_registers(tiler) ? COPIED_ELEMENT * lanes : COPIED_VECTOR;
    const opf_dim known[] = {tile->rows, tile->depth, tile->axes[above->column].extent, tile->axes[w->column].extent, w->taps, w->extra, above->taps};
    int64_t *const numbers[] = {&rows, &depth, &lines, &width, &taps, &between, &all};
    for (int k = 0; k < 7; k++)
        if (!opf_is_int(known[k], numbers[k])) return;
    int64_t vectors = ceil_div(lines * (width + between) - between, lanes) - ceil_div(lines * width, lanes), copied = depth / (taps * all) * above->phases;
    double saved = (double)(vectors * rows * depth) / 2;
    double copies = (double)(copied * (lines + opf_dim_nominal(above->extra)) * (taps - w->phases) * (COPIED_LINE + copied_vector * ceil_div(width, lanes)));
    if (saved < 1.25 * copies) return;
    w->apart = true;
    w->phases = taps;
    w->extra = opf_int(tiler->pool, 0);
}

static void measure(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    bool window = tile->b.source == OPF_SOURCE_WINDOW;
    tile->rows = product_of(tiler, opf_tile_first_row(tile), tile->n_row);
    tile->depth = product_of(tiler, opf_tile_first_depth(tile), tile->n_depth);
    tile->columns = product_of(tiler, opf_tile_first_column(tile), tile->n_column);
    choose_apart(tiler);
    tile->pitch = tile->axes[opf_tile_first_depth(tile) - 1].extent;
    if (window && tile->n_column == 2) tile->pitch = opf_add(pool, tile->pitch, tile->windows[1].extra);
}

/* ---- the register tile ---- */

/* Cycles of one depth step: two multiply-adds a cycle, two loads a cycle, and no sum twice within four cycles (four and a bit, as measured). */
static double most_cycles(double sums, double loads) {
    double cycles = sums > loads ? sums : loads;
    return cycles > 4.7 ? cycles : 4.7;
}
static double step_cycles(int height, int width) { return most_cycles(height * width / 2.0, (height + width) / 2.0); }

/* Of pairs of int16 a product is a multiplication and an addition that does not wait for the one before. Where additions are given to the multipliers'
 * units as often as to others, three quarters of a cycle each, and some for what is read and spread; measured. */
static double pairs_step_cycles(int height, int width) { return 0.75 * height * width + 1.5; }

static double cycles_of(int64_t rows, int64_t vectors, int height, int width, double (*step)(int height, int width)) {
    int64_t full = vectors / width;
    int tail = (int)(vectors % width);
    double panels = (double)full * step(height, width) + (tail ? step(height, tail) : 0);
    return (double)ceil_div(rows, height) * panels;
}

double opf_tile_cycles(int64_t rows, int64_t vectors, int height, int width) { return cycles_of(rows, vectors, height, width, step_cycles); }

/* Row-major offset of a sum in a result. */
static const opf_expr *result_offset(const opf_tiler *tiler) {
    const opf_expr *offset = opf_int(tiler->pool, 0);
    for (int k = 0; k < tiler->anchor->n_axes; k++) offset = opf_add(tiler->pool, opf_mul(tiler->pool, offset, tiler->anchor->extents[k]), tiler->tile->point[k]);
    return offset;
}

/* Phases: the last row axis steps by one element where columns step by as many as it has. */
static int interleaved_rows(const opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    const opf_expr *row, *column, *rest;
    int64_t extent;
    if (tile->siblings.count || !tile->n_row || !opf_is_int(tile->axes[opf_tile_first_column(tile) - 1].extent, &extent) || extent > 4) return 1;
    if (!opf_expr_affine(tiler->pool, result_offset(tiler), opf_tile_first_column(tile) - 1, &row, &rest)) return 1;
    if (!opf_expr_affine(tiler->pool, rest, opf_tile_first_depth(tile) - 1, &column, &rest)) return 1;
    return opf_is_value(row, 1) && opf_is_value(column, extent) ? (int)extent : 1;
}

/* Of 16 registers a tile of one vector takes up to twelve rows, but asks ahead for as many lines as one of two vectors: what it reads is then more than
 * the load units keep up with (AVX2: 0.8 of the rate of 6 x 2). */
static double tile_cycles(const opf_machine *machine, bool pairs, int64_t rows, int64_t vectors, int height, int width) {
    bool few = opf_machine_has_few_vectors(machine);
    return cycles_of(rows, vectors, height, width, few && pairs ? pairs_step_cycles : step_cycles) * (few && width == 1 ? 1.2 : 1);
}

/* The sums, the vectors of B, one of A's elements in all lanes, and of pairs their products before they are added. */
static int registers_of(bool pairs, int height, int width) { return height * width + width + 1 + pairs; }

/* Of equals the one with most sums. `pairs`: of int16; `whole`: of those that cover the rows; 0 where there is none. */
static double search_tile(const opf_machine *machine, bool pairs, int64_t rows, bool rows_known, int64_t vectors, int interleave, bool whole, int *out_height, int *out_width) {
    bool many = !opf_machine_has_few_vectors(machine);
    int most_sums = many ? 28 : 12, highest = many ? 14 : 12, best_sums = 0, lowest = (int)least(many ? 8 : 4, rows_known ? rows : INT64_MAX);
    double best = 0;
    if (!rows_known) rows = MANY_ROWS;
    for (int height = lowest; height <= least(rows, highest); height++)
        for (int width = 1; width <= (height >= 4 ? 3 : height >= 2 ? 5 : 8) && height * width <= most_sums; width++) {
            if (registers_of(pairs, height, width) > machine->vectors || (width > 1 && width > vectors) || height % interleave || (whole && rows % height)) continue;
            double cost = tile_cycles(machine, pairs, rows, vectors, height, width);
            bool better = best_sums == 0 || cost < best * 0.995 || (cost < best * 1.005 && height * width > best_sums);
            if (!better) continue;
            best = cost;
            best_sums = height * width;
            *out_height = height;
            *out_width = width;
        }
    return best;
}

double opf_tiler_tile(const opf_machine *machine, int64_t rows, bool rows_known, int64_t vectors, int interleave, int *out_height, int *out_width) {
    return search_tile(machine, false, rows, rows_known, vectors, interleave, false, out_height, out_width);
}

bool opf_tiler_wanted_tile(const opf_tiler *tiler, int64_t vectors, int *out_height, int *out_width) {
    int64_t height = opf_nest_wants(tiler->nest, OPF_KNOB_TILE_ROWS), width = opf_nest_wants(tiler->nest, OPF_KNOB_TILE_VECTORS);
    if (!height || !width || height > 28 || (tiler->tile->interleave > 1 && height % tiler->tile->interleave) || (width > 1 && width > vectors)) return false;
    if (height * width + width + 1 > tiler->nest->machine->vectors) return false;
    *out_height = (int)height;
    *out_width = (int)width;
    return true;
}

int64_t opf_tiler_wanted(const opf_tiler *tiler, opf_knob choice, int64_t of, int64_t chosen) {
    int64_t wanted = opf_nest_wants(tiler->nest, choice);
    return wanted > 0 && wanted % of == 0 ? wanted : chosen;
}

/* The sums are the only result, whole vectors cover its columns, and these are contiguous in memory: whole tiles may store into it. */
static bool may_store_direct(const opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    int64_t columns;
    if (tile->siblings.count || tile->epilogue.count != 1 || tile->epilogue.data[0].stage != tile->anchor) return false;
    if (tile->n_row > 1 || tile->b.source == OPF_SOURCE_WINDOW || tiler->anchor->dtype != (tile->words ? OPF_INT32 : OPF_FLOAT32)) return false;
    if (tile->words && tile->epilogue.data[0].body->kind != OPF_EXPR_LOAD) return false; /* something is taken off */
    const opf_expr *stride, *base;
    if (!opf_tiler_flat(tiler, result_offset(tiler), opf_tile_first_column(tile), tile->n_column, &stride, &base) || !opf_is_value(stride, 1)) return false;
    return opf_is_int(tile->columns, &columns) && columns % tiler->nest->machine->lanes == 0;
}

static bool covers_rows(const opf_tile *tile, int height) {
    int64_t rows;
    return opf_is_int(tile->rows, &rows) && rows % height == 0;
}

/* ---- columns behind the last whole vector ---- */

/* 49 columns are three vectors of 16 and one more. A fourth vector would be a quarter of the work for one column: it can do with one
 * multiply-add a step and tile instead, whose lanes are the tile's rows. Where a copy of the last columns would be needed, none is. */
enum { MOST_BLOCK_COLUMNS = 256 };
static const double WORTH_IT = 0.98; /* of the cycles without */

static int extra_columns(const opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    int64_t columns, lanes = tiler->nest->machine->lanes;
    if (tile->words) return 0; /* in the lanes of the rows stand sums of floats */
    if (!opf_tile_reads_rows(tile) || !opf_is_int(tile->columns, &columns) || columns < lanes || columns > MOST_BLOCK_COLUMNS - lanes) return 0;
    if (tile->b.source == OPF_SOURCE_COPY && tiler->nest->machine->l2_bytes / 4 / nominal(tile->depth) < columns) return 0; /* a copy so large is cut */
    return columns % lanes <= OPF_TILE_MOST_EXTRA ? (int)(columns % lanes) : 0;
}

/* A vector of A, one of B's columns in all lanes, and the extra sums beside those of the panel. */
static bool extra_fits(const opf_machine *machine, int64_t vectors, int height, int width, int extra) {
    int last = vectors % width ? (int)(vectors % width) : width;
    return width <= vectors && height <= machine->lanes && height * last + last + 1 + extra <= machine->vectors && height * width + width + 1 <= machine->vectors;
}

static double extra_cycles(int64_t rows, int64_t vectors, int height, int width, int extra) {
    int last = vectors % width ? (int)(vectors % width) : width;
    double sums = (height * last + extra) / 2.0, loads = (height + last + 1 + extra) / 2.0;
    double panels = (double)((vectors - last) / width) * step_cycles(height, width) + most_cycles(sums, loads);
    return (double)ceil_div(rows, height) * panels;
}

/* Whether a tile takes the extra columns depends on nothing but its size, so that a size that is asked for gives the same code. */
static int extra_of(const opf_tiler *tiler, int64_t rows, int height, int width) {
    const opf_machine *machine = tiler->nest->machine;
    int extra = extra_columns(tiler);
    int64_t vectors = nominal(tiler->tile->columns) / machine->lanes;
    if (!extra || !extra_fits(machine, vectors, height, width, extra)) return 0;
    return extra_cycles(rows, vectors, height, width, extra) < WORTH_IT * opf_tile_cycles(rows, vectors + 1, height, width) ? extra : 0;
}

/* The best tile that takes them, where it is faster than `cycles`. */
static void search_extra(const opf_tiler *tiler, int64_t rows, double cycles, int *out_height, int *out_width) {
    const opf_machine *machine = tiler->nest->machine;
    int extra = extra_columns(tiler), interleave = tiler->tile->interleave;
    int64_t vectors = nominal(tiler->tile->columns) / machine->lanes;
    double best = WORTH_IT * cycles;
    for (int height = 4; extra && height <= least(rows, machine->lanes); height++)
        for (int width = 1; width <= 3; width++) {
            if (height % interleave || !extra_of(tiler, rows, height, width)) continue;
            double cost = extra_cycles(rows, vectors, height, width, extra);
            if (cost >= best) continue;
            best = cost;
            *out_height = height;
            *out_width = width;
        }
}

/* A tile that covers the rows where sums may then be stored from registers: without it each vector of them lies in a block for a while, some eight
 * cycles as measured. */
static void prefer_direct(const opf_tiler *tiler, int64_t rows, int64_t vectors, double cycles, int *out_height, int *out_width) {
    enum { BLOCK_VECTOR = 8 };
    int height = *out_height, width = *out_width;
    if (!may_store_direct(tiler) || covers_rows(tiler->tile, *out_height)) return;
    double direct = search_tile(tiler->nest->machine, tiler->tile->words == 2, rows, true, vectors, tiler->tile->interleave, true, &height, &width);
    if (direct == 0 || (direct - cycles) * (double)nominal(tiler->tile->depth) > BLOCK_VECTOR * (double)(rows * vectors)) return;
    *out_height = height;
    *out_width = width;
}

static void choose_tile(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    const opf_machine *machine = tiler->nest->machine;
    int64_t columns = nominal(tile->columns), rows = 0;
    if (tile->b.source == OPF_SOURCE_WINDOW && tile->n_column == 2) columns += (nominal(tile->axes[opf_tile_first_column(tile)].extent) - 1) * nominal(tile->windows[1].extra);
    bool rows_known = opf_is_int(tile->rows, &rows);
    int64_t vectors = ceil_div(columns, machine->lanes);
    if (!rows_known) rows = MANY_ROWS;
    if (!opf_tiler_wanted_tile(tiler, vectors, &tile->height, &tile->width)) {
        double cycles = search_tile(machine, tile->words == 2, rows, rows_known, vectors, tile->interleave, false, &tile->height, &tile->width);
        search_extra(tiler, rows, cycles, &tile->height, &tile->width);
        if (rows_known && !extra_of(tiler, rows, tile->height, tile->width)) prefer_direct(tiler, rows, vectors, cycles, &tile->height, &tile->width);
    }
    tile->extra = extra_of(tiler, rows, tile->height, tile->width);
}

/* The last panel of a unit's columns is narrower where they do not fill it. */
static void choose_tail(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    int64_t columns, lines;
    tile->tail = 0;
    if (tile->b.source == OPF_SOURCE_WINDOW) {
        if (!opf_is_int(tile->column_chunk, &lines) || !opf_is_int(tile->pitch, &columns)) return;
        columns = tile->n_column == 2 ? (lines - 1) * columns + nominal(tile->axes[opf_tile_first_depth(tile) - 1].extent) : lines;
    } else if (!opf_is_int(tile->columns, &columns)) {
        return;
    }
    int64_t lanes = tiler->nest->machine->lanes, rest = (tile->extra ? columns / lanes : ceil_div(columns, lanes)) % tile->width;
    tile->tail = rest ? (int)rest : tile->width;
}

/* ---- blocks ---- */

/* Floats of a window that one panel of columns reads in one depth step, on the average: taps share what they read. */
static double window_step(const opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    int64_t panel = (int64_t)tile->width * tiler->nest->machine->lanes, pitch = nominal(tile->pitch), planes = 1, taps = 1, line = 16;
    for (int k = 0; k < tile->n_column; k++) {
        planes *= tile->windows[k].phases;
        taps *= nominal(tile->windows[k].taps);
    }
    int64_t below = tile->n_column == 2 ? opf_dim_nominal(tile->windows[0].extra) : 0, right = opf_dim_nominal(tile->windows[tile->n_column - 1].extra);
    int64_t apart = (1 + below) * (panel + right + line), together = panel + below * pitch + right + line; /* lines of their own, or overlapping */
    return (double)(planes * least(apart, together)) / (double)taps;
}

/* Bytes of the first cache that a step of B takes where its rows are read in place and begin anywhere in a line; 0: elsewhere, or they begin with lines. */
static int64_t step_across_lines(const opf_tiler *tiler) {
    enum { LINE = 16 /* floats */ };
    const opf_tile *tile = tiler->tile;
    int64_t apart;
    if (tile->b.source != OPF_SOURCE_ROWS || !opf_is_int(tile->b.step, &apart) || apart % LINE == 0) return 0;
    return 4 * ((int64_t)tile->width * tiler->nest->machine->lanes + LINE);
}

/* Steps of a pass: the part of B that a panel reads, and A's panel beside it, stay in L1; with low tiles, A's panels of the whole block: each is read
 * by so few multiply-adds that fetching it from L2 again for the next columns would show. */
static int64_t steps_in_cache(const opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    double bytes = 0;
    if (tile->b.source == OPF_SOURCE_WINDOW) bytes = 4 * (window_step(tiler) + (double)(few_registers(tiler) ? tile->block_rows : tile->height));
    else if (few_registers(tiler) && step_across_lines(tiler)) bytes = (double)(step_across_lines(tiler) + 4 * tile->height);
    return bytes == 0 ? DEPTH_BLOCK : least(DEPTH_BLOCK, most(64, (int64_t)(0.8 * (double)tiler->nest->machine->l1_bytes / bytes)));
}

/* Is the depth worth passes of so many steps? Each reads and stores the block's sums again. */
static bool goes_in_passes(const opf_tiler *tiler, int64_t depth, int64_t steps) {
    if (tiler->tile->b.source != OPF_SOURCE_WINDOW) steps = DEPTH_BLOCK;
    return depth > steps + (few_registers(tiler) ? steps : steps / 3);
}

/* Rows of a block of sums, which takes a sixteenth of L2. */
static void set_block_rows(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    int64_t floats = tiler->nest->machine->l2_bytes / 16 / 4, known;
    tile->block_rows = most(1, floats / tile->block_columns / tile->height) * tile->height;
    if (opf_is_int(tile->rows, &known)) tile->block_rows = least(tile->block_rows, round_up(known, tile->height));
    tile->block_rows = opf_tiler_wanted(tiler, OPF_KNOB_BLOCK_ROWS, tile->height, tile->block_rows);
}

static void choose_blocks(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    int64_t panel = (int64_t)tile->width * tiler->nest->machine->lanes;
    int64_t columns = round_up(nominal(tile->columns), panel), depth, known;
    tile->block_columns = most(1, 256 / panel) * panel;
    if (opf_is_int(tile->columns, &known) && tile->b.source != OPF_SOURCE_WINDOW) tile->block_columns = least(tile->block_columns, columns);
    int64_t wanted = opf_tiler_wanted(tiler, OPF_KNOB_BLOCK_COLUMNS, panel, tile->block_columns);
    tile->block_columns = tile->extra ? columns : wanted; /* extra columns stay with their panel */
    set_block_rows(tiler);
    bool depth_known = opf_is_int(tile->depth, &depth);
    int64_t steps = steps_in_cache(tiler);
    if (opf_is_int(tile->rows, &known) && known <= tile->height) tile->depth_block = 0; /* B is read once anyway */
    else if (!depth_known) tile->depth_block = steps;
    else if (goes_in_passes(tiler, depth, steps)) tile->depth_block = round_up(ceil_div(depth, ceil_div(depth, steps)), 4);
    if (opf_nest_wants(tiler->nest, OPF_KNOB_DEPTH_PASS) == OPF_KNOB_ALL) tile->depth_block = 0;
    else tile->depth_block = opf_tiler_wanted(tiler, OPF_KNOB_DEPTH_PASS, 4, tile->depth_block);
}

/* ---- units of work ---- */

/* `extent` cut into chunks of about `about`, equal ones where the extent is known, multiples of `of`. */
static opf_dim even_chunk(const opf_tiler *tiler, opf_dim extent, int64_t about, int64_t of) {
    int64_t known;
    about = most(about / of, 1) * of;
    if (!opf_is_int(extent, &known)) return opf_int(tiler->pool, about);
    if (known <= about) return opf_int(tiler->pool, round_up(most(known, 1), of));
    return opf_int(tiler->pool, round_up(ceil_div(known, ceil_div(known, about)), of));
}

static int64_t chunks(opf_dim extent, opf_dim chunk) { return ceil_div(nominal(extent), nominal(chunk)); }

/* Lines (one column axis: columns) of a window copied at once: half of L2, and enough units for a few threads where the
 * rows cannot give them. */
static int64_t window_lines(const opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    int64_t floats = nominal(tile->depth);
    for (int k = 0; k < tile->n_column; k++) {
        const opf_tile_window *w = &tile->windows[k];
        floats = floats / nominal(w->taps) * w->phases;
    }
    if (tile->n_column == 2) floats *= nominal(tile->pitch);
    int64_t fitting = tiler->nest->machine->l2_bytes / 2 / 4 / most(floats, 1) - nominal(tile->windows[0].extra);
    int64_t extent = nominal(tile->axes[opf_tile_first_column(tile)].extent);
    int64_t others = nominal(product_of(tiler, 0, tile->n_outer)) * ceil_div(nominal(tile->rows), 2 * tile->height);
    int64_t shared = ceil_div(extent, ceil_div(OPF_TILE_FEW_UNITS, least(others, OPF_TILE_FEW_UNITS)));
    return most(1, least(fitting, shared));
}

/* Each cut copies the window: where units were made as large as is cheapest, more than half as many as that are enough. */
int64_t opf_tiler_row_cuts(const opf_tiler *tiler, int64_t others) {
    bool nearly = few_registers(tiler) && tiler->tile->b.source == OPF_SOURCE_WINDOW && others > OPF_TILE_FEW_UNITS / 2;
    return nearly ? 1 : ceil_div(OPF_TILE_FEW_UNITS, others);
}

/* Cycles of all units of so many lines. The last panel of a unit, narrower than the others, takes more than its share in a low tile; lines that taps
 * read below a unit's own are copied once more; so is all, where too few units are cut through the rows. */
static double cycles_of_lines(const opf_tiler *tiler, int64_t lines, int64_t copied_line) {
    const opf_tile *tile = tiler->tile;
    int64_t extent = nominal(tile->axes[opf_tile_first_column(tile)].extent), pitch = nominal(tile->pitch), rows = nominal(tile->rows), below = nominal(tile->windows[0].extra);
    int64_t units = ceil_div(extent, lines), cuts = least(opf_tiler_row_cuts(tiler, units * nominal(product_of(tiler, 0, tile->n_outer))), ceil_div(rows, tile->height));
    double cycles = (double)(cuts * (extent + units * below) * copied_line);
    for (int64_t done = 0; done < extent; done += lines) {
        int64_t columns = least(lines, extent - done) * pitch - opf_dim_nominal(tile->windows[1].extra);
        cycles += (double)nominal(tile->depth) * opf_tile_cycles(rows, ceil_div(columns, tiler->nest->machine->lanes), tile->height, tile->width);
    }
    return cycles;
}

static int64_t planes_of(const opf_tile *tile) {
    int64_t planes = nominal(tile->depth);
    for (int k = 0; k < 2; k++) planes = planes / nominal(tile->windows[k].taps) * tile->windows[k].phases;
    return planes;
}

static int64_t copied_line_cycles(const opf_tiler *tiler) {
    return planes_of(tiler->tile) * (COPIED_LINE + COPIED_VECTOR * ceil_div(nominal(tiler->tile->pitch), tiler->nest->machine->lanes));
}

/* Other lines a unit than `usual`, where the tile is low and they cost clearly less: half of L2 is then no bound. */
static int64_t cheapest_lines(const opf_tiler *tiler, int64_t usual) {
    const opf_tile *tile = tiler->tile;
    int64_t extent, known, pitch, planes = planes_of(tile), below = opf_dim_nominal(tile->windows[0].extra), best = usual;
    if (!opf_is_int(tile->axes[opf_tile_first_column(tile)].extent, &extent) || !opf_is_int(tile->pitch, &pitch) || !opf_is_int(tile->depth, &known)) return usual;
    int64_t copied_line = copied_line_cycles(tiler), most_floats = tiler->nest->machine->l2_bytes / 16 * 15 / 4;
    double least_cycles = WORTH_IT * cycles_of_lines(tiler, usual, copied_line);
    for (int64_t lines = 1; lines <= extent && (lines + below) * pitch * planes <= most_floats; lines++) {
        double cycles = cycles_of_lines(tiler, lines, copied_line);
        if (cycles >= least_cycles) continue;
        least_cycles = cycles;
        best = lines;
    }
    return best;
}

/* Bands are all of one size, a divisor of the lines: enough units for a few threads, half of L2, but columns for the tiles. */
static opf_dim band_lines(const opf_tiler *tiler) {
    enum { FEWEST_COLUMNS = 64, ENOUGH_LINES = 8 }; /* so many lines share what windows read beyond them */
    const opf_tile *tile = tiler->tile;
    opf_dim extent = tile->axes[opf_tile_first_column(tile)].extent;
    int64_t known, lines = 1, width = nominal(tile->pitch);
    int64_t shared = ceil_div(nominal(extent), ceil_div(OPF_TILE_FEW_UNITS, least(nominal(product_of(tiler, 0, tile->n_outer)), OPF_TILE_FEW_UNITS)));
    if (!opf_is_int(extent, &known)) return opf_int(tiler->pool, 1);
    for (int64_t k = 2; k <= known; k++)
        if (known % k == 0 && (k <= least(window_lines(tiler), most(shared, ENOUGH_LINES)) || lines * width < FEWEST_COLUMNS)) lines = k;
    return opf_int(tiler->pool, lines);
}

static void choose_column_chunk(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    if (tiler->bands) {
        tile->column_chunk = band_lines(tiler);
        return;
    }
    int64_t panel = (int64_t)tile->width * tiler->nest->machine->lanes;
    if (tile->extra) {
        tile->column_chunk = opf_int(tiler->pool, tile->block_columns); /* all: each tile stores the extra sums at one place, behind its panel */
    } else if (tile->b.source == OPF_SOURCE_WINDOW) {
        opf_dim extent = tile->axes[opf_tile_first_column(tile)].extent;
        tile->column_chunk = even_chunk(tiler, extent, window_lines(tiler), tile->n_column == 2 ? 1 : panel);
        if (few_registers(tiler) && tile->n_column == 2) tile->column_chunk = opf_int(tiler->pool, cheapest_lines(tiler, nominal(tile->column_chunk)));
    } else if (tile->b.source == OPF_SOURCE_PANELS) {
        int64_t fitting = tiler->nest->machine->l2_bytes / 4 / nominal(tile->depth);
        tile->column_chunk = even_chunk(tiler, tile->columns, most(fitting, tile->block_columns), panel);
    } else {
        /* Where an operand is packed or copied by the kernel, columns are cut into enough units for a few threads: a cut through the
         * rows would read B, the larger operand as a rule, once more. */
        int64_t others = nominal(product_of(tiler, 0, tile->n_outer)), about = tile->block_columns;
        bool copies = tile->b.source == OPF_SOURCE_COPY;
        if (copies) about = least(about, most(panel, tiler->nest->machine->l2_bytes / 4 / nominal(tile->depth)));
        int64_t shared = ceil_div(nominal(tile->columns), ceil_div(OPF_TILE_FEW_UNITS, least(others, OPF_TILE_FEW_UNITS)));
        if (copies || tile->a.source == OPF_SOURCE_PANELS) about = least(about, round_up(shared, panel));
        tile->column_chunk = even_chunk(tiler, tile->columns, about, panel);
    }
}

/* Columns (lines) of a unit that are asked for: bands are all of one size. */
static void take_column_chunk(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    bool window = tile->b.source == OPF_SOURCE_WINDOW, lines = window && tile->n_column == 2;
    int64_t chosen = 0, known, panel = lines ? 1 : (int64_t)tile->width * tiler->nest->machine->lanes;
    int64_t wanted = opf_tiler_wanted(tiler, OPF_KNOB_UNIT_COLUMNS, panel, 0);
    if (!wanted || !opf_is_int(tile->column_chunk, &chosen) || (tile->extra && wanted < chosen)) return;
    if (lines && opf_is_int(tile->axes[opf_tile_first_column(tile)].extent, &known) && (wanted > known || (tiler->bands && known % wanted))) return;
    tile->column_chunk = opf_int(tiler->pool, wanted);
}

void opf_tiler_share_units(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    take_column_chunk(tiler);
    int64_t chunk;
    if (tile->b.source != OPF_SOURCE_WINDOW && opf_is_int(tile->column_chunk, &chunk) && chunk < tile->block_columns) {
        tile->block_columns = chunk;
        set_block_rows(tiler);
    }
    bool lines = tile->b.source == OPF_SOURCE_WINDOW && tile->n_column == 2;
    opf_dim walked = lines ? tile->axes[opf_tile_first_column(tile)].extent : tile->columns;
    opf_dim outer = product_of(tiler, 0, tile->n_outer);
    bool packs_a = tile->a.source == OPF_SOURCE_PANELS, copies_b = tile->b.source != OPF_SOURCE_ROWS && tile->b.source != OPF_SOURCE_CONSTANT;
    tile->rows_first = packs_a && !copies_b;
    if (!copies_b && opf_nest_wants(tiler->nest, OPF_KNOB_ORDER)) tile->rows_first = opf_nest_wants(tiler->nest, OPF_KNOB_ORDER) == OPF_COLUMNS_FASTEST;
    int64_t rows = INT64_MAX / 2;
    /* A cut through the rows reads B once more; packed rows beyond L2 are read again for each chunk of columns instead. */
    if (packs_a) rows = most(tiler->nest->machine->l3_bytes / 8 / 4 / nominal(tile->depth), tile->block_rows);
    int64_t others = nominal(outer) * chunks(walked, tile->column_chunk);
    if (others < OPF_TILE_FEW_UNITS) rows = least(rows, most(tile->height, ceil_div(nominal(tile->rows), opf_tiler_row_cuts(tiler, others))));
    tile->row_chunk = even_chunk(tiler, tile->rows, rows, tile->height);
    int64_t known;
    if (!opf_is_int(tile->rows, &known) && !packs_a && rows == INT64_MAX / 2) tile->row_chunk = rounded(pool, tile->rows, tile->height);
    if (opf_is_int(tile->row_chunk, &known)) tile->row_chunk = opf_int(pool, opf_tiler_wanted(tiler, OPF_KNOB_UNIT_ROWS, tile->height, known));
    opf_dim units = opf_mul(pool, opf_ceildiv(pool, tile->rows, tile->row_chunk), opf_ceildiv(pool, walked, tile->column_chunk));
    tiler->nest->units = opf_mul(pool, outer, units);
}

static void choose_units(opf_tiler *tiler) {
    choose_column_chunk(tiler);
    opf_tiler_share_units(tiler);
}

/* ---- turned ---- */

/* Vectors across two cache lines, every other one of a window's, are not counted: turned tiles take 0.95 of what they count in comparison. */
static const double WORTH_TURNING = 1.03;

/* Cycles of a window's copies and sums. */
static double window_cycles(const opf_tiler *tiler) { return cycles_of_lines(tiler, nominal(tiler->tile->column_chunk), copied_line_cycles(tiler)); }

static bool is_turned(const opf_tiler *tiler) {
    double cycles = opf_tiler_turned_cycles(tiler);
    int64_t wanted = opf_nest_wants(tiler->nest, OPF_KNOB_ALGORITHM);
    if (cycles == 0 || wanted) return cycles != 0 && wanted == OPF_BY_TURNED;
    bool tile_asked = opf_nest_wants(tiler->nest, OPF_KNOB_TILE_ROWS) || opf_nest_wants(tiler->nest, OPF_KNOB_TILE_VECTORS);
    return !tile_asked && cycles < WORTH_TURNING * window_cycles(tiler);
}

/* ---- scratch ---- */

opf_dim opf_tile_odd_lines(opf_pool *pool, opf_dim floats) {
    opf_dim pairs = opf_floordiv(pool, opf_add(pool, floats, opf_int(pool, 15)), opf_int(pool, 32));
    return opf_add(pool, opf_mul(pool, pairs, opf_int(pool, 32)), opf_int(pool, 16));
}

static void size_window(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    opf_dim planes = tile->depth, line = opf_int(pool, 1);
    for (int k = 0; k < tile->n_column; k++) {
        const opf_tile_window *w = &tile->windows[k];
        opf_dim taken = opf_int(pool, w->phases);
        if (w->tap >= 0) planes = opf_floordiv(pool, planes, tile->axes[w->tap].extent);
        planes = opf_mul(pool, planes, taken);
    }
    if (tile->n_column == 2) line = tile->turned ? tile->copied_line : tile->pitch;
    opf_dim lines = opf_add(pool, opf_mul(pool, tile->column_chunk, opf_int(pool, tile->turned ? tile->windows[0].stride : 1)), tile->windows[0].extra);
    tile->plane = opf_tile_odd_lines(pool, opf_mul(pool, lines, line));
    int64_t panel = (int64_t)tile->width * tiler->nest->machine->lanes;
    tile->b_floats = opf_add(pool, opf_mul(pool, planes, tile->plane), opf_int(pool, round_up(panel, 16)));
    tile->at_floats = rounded(pool, tile->depth, 16);
}

/* Rows of whole vectors, an odd number of cache lines apart. */
static void size_copy(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    opf_dim columns = chunks(tile->columns, tile->column_chunk) == 1 && opf_is_int(tile->columns, NULL) ? tile->columns : tile->column_chunk;
    tile->b.step = opf_tile_odd_lines(pool, rounded(pool, columns, 16));
    tile->b_floats = opf_mul(pool, tile->depth, tile->b.step);
}

/* Rows that a unit packs: of an open number no more than there are. */
static opf_dim packed_rows(const opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    return opf_is_int(tile->rows, NULL) ? tile->row_chunk : opf_min(tiler->pool, tile->row_chunk, rounded(tiler->pool, tile->rows, tile->height));
}

static void size_scratch(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    int64_t panel = (int64_t)tile->width * tiler->nest->machine->lanes;
    opf_dim none = opf_int(pool, 0);
    tile->a_floats = tile->b_floats = tile->at_floats = tile->turned_floats = tile->tail_floats = tile->block_floats = tile->plane = none;
    if (tile->a.source == OPF_SOURCE_PANELS) tile->a_floats = rounded(pool, opf_add(pool, opf_mul(pool, packed_rows(tiler), tile->depth), opf_int(pool, 16)), 16);
    if (tile->b.source == OPF_SOURCE_PANELS) tile->b_floats = rounded(pool, opf_add(pool, opf_mul(pool, tile->column_chunk, tile->depth), opf_int(pool, 16)), 16);
    if (tile->b.source == OPF_SOURCE_WINDOW) size_window(tiler);
    if (tile->b.source == OPF_SOURCE_COPY) size_copy(tiler);
    if (tile->packs_tail) tile->tail_floats = rounded(pool, opf_mul(pool, tile->depth, opf_int(pool, panel)), 16);
    if (tile->turned) tile->turned_floats = opf_int(pool, round_up(tile->block_rows * tile->block_columns, 16));
    if (!tile->stores_direct) tile->block_floats = opf_int(pool, round_up(tile->block_rows * tile->block_columns, 16));
    opf_dim each = opf_mul(pool, opf_int(pool, 1 + (int64_t)tile->siblings.count), opf_add(pool, tile->tail_floats, tile->block_floats));
    opf_dim floats = opf_add(pool, opf_add(pool, tile->a_floats, tile->b_floats), opf_add(pool, opf_add(pool, tile->at_floats, tile->turned_floats), each));
    tiler->nest->scratch_bytes = opf_mul(pool, floats, opf_int(pool, 4));
}

/* ---- whole ---- */

void opf_tiler_tell(opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    int64_t *at = tiler->nest->chosen.at, known;
    at[OPF_KNOB_ALGORITHM] = tile->winograd == 2 ? OPF_BY_WINOGRAD_2 : tile->winograd ? OPF_BY_WINOGRAD_4 : tile->fill ? OPF_BY_BANDS : tile->turned ? OPF_BY_TURNED : OPF_BY_TILE;
    at[OPF_KNOB_TILE_ROWS] = tile->turned ? tile->turned : tile->height;
    at[OPF_KNOB_TILE_VECTORS] = tile->turned ? tile->height / tiler->nest->machine->lanes : tile->width;
    at[OPF_KNOB_BLOCK_ROWS] = tile->block_rows;
    if (opf_is_int(tile->row_chunk, &known)) at[OPF_KNOB_UNIT_ROWS] = known;
    if (opf_is_int(tile->column_chunk, &known)) at[OPF_KNOB_UNIT_COLUMNS] = known;
    at[OPF_KNOB_UNROLL] = tile->unroll;
    at[OPF_KNOB_PREFETCH] = tile->prefetch ? tile->prefetch : OPF_KNOB_NONE;
    at[OPF_KNOB_AHEAD] = tile->ahead;
    if (tile->winograd) return;
    bool rows = tile->b.base && opf_is_value(tile->b.stride, 1);
    if (tile->b.source == OPF_SOURCE_ROWS) at[OPF_KNOB_SECOND] = OPF_SECOND_IN_PLACE;
    if (tile->b.source == OPF_SOURCE_PANELS && rows) at[OPF_KNOB_SECOND] = OPF_SECOND_PACKED;
    at[OPF_KNOB_DEPTH_PASS] = tile->depth_block ? tile->depth_block : OPF_KNOB_ALL;
    at[OPF_KNOB_BLOCK_COLUMNS] = tile->block_columns;
    at[OPF_KNOB_ORDER] = tile->rows_first ? OPF_COLUMNS_FASTEST : OPF_ROWS_FASTEST;
}

bool opf_tiler_sizes(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    int lanes = tiler->nest->machine->lanes;
    int64_t columns;
    measure(tiler);
    if (nominal(tile->columns) < 4) return opf_tiler_refuse(tiler, "too few columns for a vector");
    if (nominal(tile->depth) * most(tile->words, 1) < 4) return opf_tiler_refuse(tiler, "too few terms in the sum");
    if (opf_is_value(tile->rows, 1) && tile->b.source != OPF_SOURCE_CONSTANT) return opf_tiler_refuse(tiler, "a single row would read each packed element once");
    tile->interleave = interleaved_rows(tiler);
    choose_tile(tiler);
    choose_blocks(tiler);
    choose_units(tiler);
    choose_tail(tiler);
    if (is_turned(tiler)) opf_tiler_turn(tiler);
    tile->stores_direct = may_store_direct(tiler) && covers_rows(tile, tile->height);
    bool exact = opf_is_int(tile->columns, &columns) && columns % lanes == 0;
    tile->packs_tail = tile->b.source == OPF_SOURCE_ROWS && !exact && !tile->extra;
    size_scratch(tiler);
    return true;
}
