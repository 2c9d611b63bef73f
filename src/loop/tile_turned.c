/* Turned tiles: vectors lie along the rows, which are constants packed for it, and a window's columns are read one by one, each into all lanes of a
 * vector. They may then lie any stride apart: one copy of the window serves all taps, in order, and no vector lies across two cache lines. The sums of
 * a block are transposed before what follows them (docs/decisions/0178-turned-tiles.md). */
#include "loop/tile_internal.h"

enum { MOST_SUMS = 12 };
enum { COPIED_LINE = 14, COPIED_VECTOR = 2 };  /* cycles of a line that is copied, and of its vectors; as in tile_sizes.c */
static const double TRANSPOSED_VECTOR = 3;     /* cycles of a vector of sums on its way to the block */

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* What the form needs to know, all of it known numbers. */
typedef struct turned { int64_t outer, rows, depth, lines, width, planes, step[2], below, line_floats; int vectors, columns; } turned;

static int64_t reach_of(const opf_tile_window *w) { return (opf_dim_nominal(w->taps) - 1) * w->dilation; }

static bool read_sizes(const opf_tiler *tiler, turned *t) {
    const opf_tile *tile = tiler->tile;
    int first = opf_tile_first_column(tile);
    const opf_dim known[] = {tile->rows, tile->depth, tile->axes[first].extent, tile->axes[first + 1].extent};
    int64_t *const numbers[] = {&t->rows, &t->depth, &t->lines, &t->width};
    for (int k = 0; k < 4; k++)
        if (!opf_is_int(known[k], numbers[k])) return false;
    t->outer = 1;
    for (int k = 0; k < tile->n_outer; k++) t->outer *= most(opf_dim_nominal(tile->axes[k].extent), 1);
    t->planes = t->depth;
    for (int k = 0; k < 2; k++) {
        const opf_tile_window *w = &tile->windows[k];
        if (!opf_is_int(w->taps, NULL) || reach_of(w) + 1 < w->stride) return false;
        t->planes /= opf_dim_nominal(w->taps);
        t->step[k] = w->stride;
    }
    t->below = reach_of(&tile->windows[0]) + 1 - t->step[0];
    t->line_floats = t->width * t->step[1] + reach_of(&tile->windows[1]) + 1 - t->step[1];
    return t->width >= 4;
}

/* Few registers, so that each load counts, and loads that spread what they read over all lanes, which vectors of four have not got. Without taps no
 * vector of the usual tile lies across cache lines. */
static bool may_turn(const opf_tiler *tiler) {
    const opf_tile *tile = tiler->tile;
    const opf_machine *machine = tiler->nest->machine;
    if (!opf_machine_has_few_vectors(machine) || machine->lanes < 8 || tiler->bands || tile->words || tile->siblings.count || tile->interleave > 1) return false;
    if (tile->b.source != OPF_SOURCE_WINDOW || tile->a.source != OPF_SOURCE_CONSTANT || tile->n_column != 2) return false;
    return tile->windows[0].tap >= 0 || tile->windows[1].tap >= 0;
}

/* A line is cut into as many tiles as it needs, as even as may be. */
static int64_t tiles_of_line(int64_t width, int columns) { return ceil_div(width, columns); }

/* Cycles of a depth step, as those of tile_sizes.c. */
static double step_cycles(int64_t columns, int vectors) {
    double sums = (double)(columns * vectors) / 2, loads = (double)(columns + vectors) / 2;
    double cycles = sums > loads ? sums : loads;
    return cycles > 4.7 ? cycles : 4.7;
}

static double line_cycles(const turned *t, int vectors, int columns, int lanes) {
    int64_t tiles = tiles_of_line(t->width, columns), wide = ceil_div(t->width, tiles), narrow = tiles * wide - t->width;
    double cycles = (double)(tiles - narrow) * step_cycles(wide, vectors) + (double)narrow * step_cycles(wide - 1, vectors);
    return cycles * (double)ceil_div(t->rows, (int64_t)vectors * lanes);
}

/* The tile of fewest cycles, or the one that is asked for: 6 x 2 or 4 x 3. Of one vector each pixel that is loaded is multiplied once: 0.8 of the rate. */
static bool choose_tile(const opf_tiler *tiler, turned *t) {
    int lanes = tiler->nest->machine->lanes;
    int64_t asked_columns = opf_nest_wants(tiler->nest, OPF_KNOB_TILE_ROWS), asked_vectors = opf_nest_wants(tiler->nest, OPF_KNOB_TILE_VECTORS);
    t->vectors = 0;
    for (int vectors = 2; vectors <= 3; vectors++) {
        int columns = MOST_SUMS / vectors;
        bool asked = (!asked_columns || asked_columns == columns) && (!asked_vectors || asked_vectors == vectors);
        if (!asked || (t->vectors && line_cycles(t, vectors, columns, lanes) >= line_cycles(t, t->vectors, t->columns, lanes))) continue;
        t->vectors = vectors;
        t->columns = columns;
    }
    return t->vectors > 0;
}

/* Rows that do not stay in L2 come from beyond it again for each unit. */
static double row_cycles(const opf_tiler *tiler, const turned *t, int64_t units) {
    const opf_machine *machine = tiler->nest->machine;
    double bytes = 4 * (double)(t->rows * t->depth), cycles_per_second = machine->flops_per_second / (4 * machine->lanes);
    return bytes > (double)machine->l2_bytes ? (double)units * bytes / machine->l3_bandwidth * cycles_per_second : 0;
}

/* Cycles of the copies, and of rows that are read again, where units are of so many lines. */
static double unit_cycles(const opf_tiler *tiler, const turned *t, int64_t lines) {
    int64_t units = ceil_div(t->lines, lines), cuts = least(opf_tiler_row_cuts(tiler, units * t->outer), ceil_div(t->rows, (int64_t)t->vectors * tiler->nest->machine->lanes));
    int64_t copied_line = t->planes * (COPIED_LINE + COPIED_VECTOR * ceil_div(t->line_floats, tiler->nest->machine->lanes));
    return (double)(cuts * (t->lines * t->step[0] + units * t->below) * copied_line) + row_cycles(tiler, t, units);
}

/* Lines of a unit: the cheapest of those whose copy leaves 7/16 of L2. */
static int64_t choose_lines(const opf_tiler *tiler, const turned *t) {
    int64_t best = 1, most_floats = tiler->nest->machine->l2_bytes / 16 * 9 / 4;
    for (int64_t lines = 2; lines <= t->lines && (lines * t->step[0] + t->below) * t->line_floats * t->planes <= most_floats; lines++)
        if (unit_cycles(tiler, t, lines) < unit_cycles(tiler, t, best)) best = lines;
    return best;
}

static double cycles_of(const opf_tiler *tiler, const turned *t) {
    int lanes = tiler->nest->machine->lanes;
    double sums = (double)(t->lines * t->depth) * line_cycles(t, t->vectors, t->columns, lanes);
    return sums + unit_cycles(tiler, t, choose_lines(tiler, t)) + TRANSPOSED_VECTOR * (double)(t->rows * t->lines * t->width) / lanes;
}

/* Steps of a pass: a panel of rows and the lines of the window that tiles along one line read stay in L1. */
static int64_t steps_of_pass(const opf_tiler *tiler, const turned *t) {
    const opf_tile_window *windows = tiler->tile->windows;
    int64_t taps = opf_dim_nominal(windows[0].taps) * opf_dim_nominal(windows[1].taps);
    double lines = (double)((reach_of(&windows[0]) + 1) * t->line_floats) / (double)taps;
    int64_t steps = most(64, (int64_t)(0.8 * (double)tiler->nest->machine->l1_bytes / 4 / (lines + t->vectors * tiler->nest->machine->lanes)));
    return t->depth > steps + steps / 3 ? ceil_div(ceil_div(t->depth, ceil_div(t->depth, steps)), 4) * 4 : 0;
}

static void set_windows(opf_tiler *tiler, const turned *t) {
    opf_tile *tile = tiler->tile;
    for (int k = 0; k < 2; k++) {
        opf_tile_window *w = &tile->windows[k];
        w->apart = false;
        w->phases = 1;
        w->extra = opf_int(tiler->pool, reach_of(w) + 1 - w->stride);
    }
    tile->pitch = opf_int(tiler->pool, t->width);
    tile->copied_line = opf_int(tiler->pool, t->line_floats);
}

/* Blocks are whole lines of a unit, and a sixteenth of L2. */
static void set_blocks(opf_tiler *tiler, const turned *t, int64_t unit) {
    enum { BLOCK_COLUMNS = 256 };
    opf_tile *tile = tiler->tile;
    int64_t lines = most(1, least(unit, BLOCK_COLUMNS / t->width)), floats = tiler->nest->machine->l2_bytes / 16 / 4;
    lines = ceil_div(unit, ceil_div(unit, lines));
    tile->block_columns = opf_tiler_wanted(tiler, OPF_KNOB_BLOCK_COLUMNS, t->width, lines * t->width);
    int64_t rows = most(1, floats / tile->block_columns / tile->height) * tile->height;
    tile->block_rows = opf_tiler_wanted(tiler, OPF_KNOB_BLOCK_ROWS, tile->height, least(rows, ceil_div(t->rows, tile->height) * tile->height));
    tile->depth_block = steps_of_pass(tiler, t);
    if (opf_nest_wants(tiler->nest, OPF_KNOB_DEPTH_PASS) == OPF_KNOB_ALL) tile->depth_block = 0;
    else tile->depth_block = opf_tiler_wanted(tiler, OPF_KNOB_DEPTH_PASS, 4, tile->depth_block);
}

double opf_tiler_turned_cycles(const opf_tiler *tiler) {
    turned t;
    return may_turn(tiler) && read_sizes(tiler, &t) && choose_tile(tiler, &t) ? cycles_of(tiler, &t) : 0;
}

void opf_tiler_turn(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    turned t;
    read_sizes(tiler, &t);
    choose_tile(tiler, &t);
    set_windows(tiler, &t);
    tile->turned = t.columns;
    tile->height = t.vectors * tiler->nest->machine->lanes;
    tile->width = 1;
    tile->tail = tile->extra = 0;
    tile->column_chunk = opf_int(tiler->pool, choose_lines(tiler, &t));
    opf_tiler_share_units(tiler);
    set_blocks(tiler, &t, opf_dim_nominal(tile->column_chunk));
}
