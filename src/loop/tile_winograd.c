/* Contractions that slide a 3x3 window: by Winograd's products where that is faster and accurate enough. */
#include "loop/tile_internal.h"
#include "loop/winograd.h"

#include <math.h>

/* ---- the forms ---- */

static const opf_winograd_form forms[] = {
    {2, 4, {0, 1, -1}},
    {4, 6, {0, 0.75, -0.75, 1.5, -1.5}},
};

const opf_winograd_form *opf_winograd_form_of(int outputs) {
    for (size_t i = 0; i < OPF_COUNT(forms); i++)
        if (forms[i].outputs == outputs) return &forms[i];
    return NULL;
}

double opf_winograd_filter(const opf_winograd_form *form, int i, int tap) {
    int finite = form->inputs - 1;
    if (i == finite) return tap == 2 ? 1 : 0;
    double power = 1, factor = 1;
    for (int k = 0; k < tap; k++) power *= form->points[i];
    for (int j = 0; j < finite; j++)
        if (j != i) factor *= form->points[i] - form->points[j];
    return power / factor;
}

double opf_winograd_error(const opf_winograd_form *form, int64_t channels) {
    double growth = form->outputs == 2 ? 2 : 6; /* in roundings, for one channel */
    return growth * ldexp(1, -24) * sqrt((double)channels);
}

/* ---- is it one? ---- */

bool opf_tiler_may_be_winograd(opf_tiler *tiler) {
    const opf_stage *anchor = tiler->anchor;
    int64_t taps[2];
    if (anchor->n_reduce != 3 || tiler->tile->siblings.count || opf_tiler_sums_integers(tiler)) return false;
    for (int k = 0; k < 2; k++)
        if (!opf_is_int(anchor->extents[anchor->n_axes + 1 + k], &taps[k])) return false;
    return taps[0] == 3 && taps[1] == 3;
}

static bool is_window(const opf_tile_window *window) { return window->tap >= 0 && opf_is_value(window->taps, 3); }

static bool has_form(opf_tiler *tiler) {
    opf_tile *tile = tiler->tile;
    if (tile->n_depth != 3) return opf_tiler_refuse(tiler, "one channel a group");
    if (opf_tiler_constant(tiler, &tile->a) < 0) return opf_tiler_refuse(tiler, "weights that are no constant");
    if (tile->n_row != 1 || tile->n_column != 2) return opf_tiler_refuse(tiler, "one dimension");
    if (!opf_tiler_windows(tiler)) return opf_tiler_refuse(tiler, "no sliding window");
    for (int k = 0; k < 2; k++) {
        const opf_tile_window *w = &tile->windows[k];
        if (!is_window(w)) return opf_tiler_refuse(tiler, "no window of 3 x 3");
        if (w->stride != 1) return opf_tiler_refuse(tiler, opf_arena_printf(tiler->arena, "stride %lld", (long long)w->stride));
        if (w->dilation != 1) return opf_tiler_refuse(tiler, opf_arena_printf(tiler->arena, "dilation %lld", (long long)w->dilation));
    }
    if (tile->windows[0].tap == tile->windows[1].tap || tile->windows[0].tap == opf_tile_first_depth(tile) || tile->windows[1].tap == opf_tile_first_depth(tile))
        return opf_tiler_refuse(tiler, "channels are not the first axis of the sum");
    return true;
}

/* ---- how long does it take? ---- */

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t nominal(opf_dim dim) {
    int64_t value = opf_dim_nominal(dim);
    return value < 1 ? 1 : value;
}

typedef struct plan {
    const opf_winograd_form *form;
    int64_t lines;             /* lines of tiles in a unit */
    int height, width;
    double seconds;
} plan;

typedef struct sizes { int64_t channels, rows, lines, columns, tile_lines, tile_columns, images; } sizes;

/* Cycles, measured on maps of 5x5 to 28x28 with 16 to 256 channels (decision 0156). What transforms take is mostly the way to the next cache: it goes
 * by the floats that are written to it and read from it. */
enum { LINE = 8, VECTOR = 6, /* of a line that is copied, or stored with what follows */ LARGE_TRANSFORM = 40 /* of a vector of tiles, there or back */ };
static const double TRANSFORMED_FLOAT = 0.4, PRODUCT_FLOAT = 0.4, PACKED_FLOAT = 2.2, EFFICIENCY = 0.95;

static double cycles_a_second(const opf_machine *machine) { return machine->flops_per_second / 4 / machine->lanes; }

/* Constants are read once a run: the others of the model have swept the nearer caches since. */
static double first_bandwidth(const opf_tiler *tiler) {
    const opf_machine *machine = tiler->nest->machine;
    double all = (double)opf_graph_constant_bytes(tiler->nest->group->results.data[0].value->graph);
    return all < 0.5 * (double)machine->l3_bytes ? machine->l3_bandwidth : machine->dram_bandwidth;
}

/* What was just read, `between` bytes ago. */
static double next_bandwidth(const opf_machine *machine, double between) {
    if (between < 0.75 * (double)machine->l2_bytes) return machine->l2_bandwidth;
    return between < 0.5 * (double)machine->l3_bytes ? machine->l3_bandwidth : machine->dram_bandwidth;
}

static double filter_bytes(const plan *p, const sizes *s) { return 4.0 * p->form->inputs * p->form->inputs * (double)(s->channels * s->rows); }

/* Floats of the transformed input of a unit. */
static double input_floats(const plan *p, const sizes *s, int lanes) {
    return (double)(p->form->inputs * p->form->inputs * s->channels * ceil_div(p->lines * s->tile_columns, lanes) * lanes);
}

/* Transformed, a unit's lines stay in L2 beside what is multiplied. */
static double input_room(const opf_machine *machine) { return 0.6 * (double)machine->l2_bytes; }

/* Panels of rows whose products take an eighth of L2. */
static int64_t panels_of_block(const opf_machine *machine, const plan *p, int64_t tile_columns) {
    int64_t floats = machine->l2_bytes / 8 / 4, columns = ceil_div(p->lines * tile_columns, 16) * 16;
    int64_t fitting = floats / columns / (p->form->inputs * p->form->inputs) / p->height;
    return fitting < 1 ? 1 : fitting;
}

/* Each block of rows reads the unit's transformed input. */
static int64_t row_blocks(const opf_machine *machine, const plan *p, const sizes *s) {
    return ceil_div(ceil_div(s->rows, p->height), panels_of_block(machine, p, s->tile_columns));
}

static double line_cycles(int64_t lines, int64_t columns, int lanes) { return (double)(lines * (LINE + VECTOR * ceil_div(columns, lanes))); }
static double result_cycles(const sizes *s, int lanes) { return line_cycles(s->rows * s->lines, s->columns, lanes); }

/* All but the products: lines are copied and taken apart, products put together, results stored. */
static double transform_cycles(const plan *p, const sizes *s, int lanes) {
    int m = p->form->outputs, products = p->form->inputs * p->form->inputs;
    int64_t units = ceil_div(s->tile_lines, p->lines), tiles = s->tile_lines * s->tile_columns;
    double copied = line_cycles(s->channels * (s->tile_lines * m + 2 * units), s->columns + 2, lanes);
    double floats = (double)products * (double)tiles * (TRANSFORMED_FLOAT * (double)s->channels + PRODUCT_FLOAT * (double)s->rows);
    double vectors = (double)((s->channels + s->rows) * s->tile_lines * ceil_div(s->tile_columns, lanes));
    return copied + floats + (m == 2 ? 0 : LARGE_TRANSFORM) * vectors + result_cycles(s, lanes);
}

static void estimate(const opf_tiler *tiler, plan *p, const sizes *s) {
    const opf_machine *machine = tiler->nest->machine;
    int lanes = machine->lanes, products = p->form->inputs * p->form->inputs;
    int64_t units = ceil_div(s->tile_lines, p->lines), last = s->tile_lines - (units - 1) * p->lines;
    double clock = cycles_a_second(machine);
    double cycles = opf_tiler_tile(machine, s->rows, true, ceil_div(p->lines * s->tile_columns, lanes), 1, &p->height, &p->width) * (double)(units - 1);
    bool given = opf_tiler_wanted_tile(tiler, ceil_div(p->lines * s->tile_columns, lanes), &p->height, &p->width);
    if (given) cycles = opf_tile_cycles(s->rows, ceil_div(p->lines * s->tile_columns, lanes), p->height, p->width) * (double)(units - 1);
    cycles += opf_tile_cycles(s->rows, ceil_div(last * s->tile_columns, lanes), p->height, p->width);
    double multiply = cycles * products * (double)s->channels / EFFICIENCY / clock;
    double filters = filter_bytes(p, s), again = filters * (double)(units - 1) / next_bandwidth(machine, filters + 4 * input_floats(p, s, lanes));
    double input = 4 * input_floats(p, s, lanes), stream = filters / first_bandwidth(tiler) + again;
    if (input > input_room(machine)) stream += input * (double)row_blocks(machine, p, s) / next_bandwidth(machine, input);
    p->seconds = (double)s->images * (fmax(multiply, stream) + transform_cycles(p, s, lanes) / clock);
}

/* Is one vector of tiles to become two? With 16 registers a tile of one vector loads more than it multiplies, 12 rows in 6.5 cycles for 6 cycles of
 * products, and reads the filters once more: both cost more than input that comes from behind L2. */
static bool widens(const opf_machine *machine, const plan *before, const plan *p, int64_t tile_columns) {
    return opf_machine_has_few_vectors(machine) && before->lines * tile_columns <= machine->lanes && p->lines * tile_columns <= 2 * machine->lanes;
}

/* The best number of lines a unit. */
static plan best_plan(const opf_tiler *tiler, const opf_winograd_form *form, sizes s) {
    plan best = {.form = form, .seconds = INFINITY};
    const opf_machine *machine = tiler->nest->machine;
    int64_t asked = opf_nest_wants(tiler->nest, OPF_KNOB_UNIT_COLUMNS);
    for (int64_t lines = 1; lines <= s.tile_lines && lines <= 64; lines++) {
        if (asked && asked != lines * form->outputs) continue;
        plan p = {.form = form, .lines = ceil_div(s.tile_lines, ceil_div(s.tile_lines, lines))};
        if (asked) p.lines = lines;
        else if (p.lines != lines || (lines > 1 && 4 * input_floats(&p, &s, machine->lanes) > input_room(machine) && !widens(machine, &best, &p, s.tile_columns))) continue;
        estimate(tiler, &p, &s);
        if (p.seconds < best.seconds) best = p;
    }
    return best;
}

/* Without, by windows: columns are as wide as the copied lines, which are copied by units (tile_sizes.c). */
static double window_cycles(const opf_tiler *tiler, const sizes *s) {
    const opf_machine *machine = tiler->nest->machine;
    int height = 1, width = 1, lanes = machine->lanes;
    double cycles = opf_tiler_tile(machine, s->rows, true, ceil_div(s->lines * (s->columns + 2) - 2, lanes), 1, &height, &width);
    int64_t others = s->images * ceil_div(s->rows, 2 * height), units = others < OPF_TILE_FEW_UNITS ? ceil_div(OPF_TILE_FEW_UNITS, others) : 1;
    double copied = line_cycles(s->channels * (s->lines + 2 * units), s->columns + 2, lanes);
    return 9 * cycles * (double)s->channels / EFFICIENCY + copied;
}

/* Without, the columns being those of the weights: points of the picture are packed. */
static double points_cycles(const opf_tiler *tiler, const sizes *s) {
    int height = 1, width = 1;
    int64_t points = s->lines * s->columns;
    double cycles = opf_tiler_tile(tiler->nest->machine, points, true, ceil_div(s->rows, tiler->nest->machine->lanes), 1, &height, &width);
    return 9 * cycles * (double)s->channels / EFFICIENCY + 9 * PACKED_FLOAT * (double)(points * s->channels);
}

static double direct_seconds(const opf_tiler *tiler, const sizes *s) {
    bool points = s->columns < OPF_TILE_SHORT && s->rows > s->columns;
    double cycles = points ? points_cycles(tiler, s) : window_cycles(tiler, s), clock = cycles_a_second(tiler->nest->machine);
    double stream = 36.0 * (double)(s->channels * s->rows) / first_bandwidth(tiler);
    return (double)s->images * (fmax(cycles / clock, stream) + result_cycles(s, tiler->nest->machine->lanes) / clock);
}

static bool choose(opf_tiler *tiler, plan *out) {
    opf_tile *tile = tiler->tile;
    int first = opf_tile_first_column(tile);
    int64_t lines = nominal(tile->axes[first].extent), columns = nominal(tile->axes[first + 1].extent), channels, rows, images = 1;
    opf_accuracy accuracy = tiler->nest->group->results.data[0].value->graph->module->accuracy;
    if (!opf_is_int(tile->axes[opf_tile_first_depth(tile)].extent, &channels) || !opf_is_int(tile->axes[opf_tile_first_row(tile)].extent, &rows))
        return opf_tiler_refuse(tiler, "channels that are not known");
    if (accuracy == OPF_ACCURACY_EXACT) return opf_tiler_refuse(tiler, "--accuracy=exact");
    for (int k = 0; k < tile->n_outer; k++) images *= nominal(tile->axes[k].extent);
    *out = (plan){.seconds = INFINITY};
    int64_t asked = opf_nest_wants(tiler->nest, OPF_KNOB_ALGORITHM);
    for (size_t i = 0; i < OPF_COUNT(forms); i++) {
        const opf_winograd_form *form = &forms[i];
        if (form->outputs > 2 && (accuracy != OPF_ACCURACY_NORMAL || opf_winograd_error(form, channels) > 1e-4)) continue;
        if (asked && asked != (form->outputs == 2 ? OPF_BY_WINOGRAD_2 : OPF_BY_WINOGRAD_4)) continue;
        sizes s = {channels, rows, lines, columns, ceil_div(lines, form->outputs), ceil_div(columns, form->outputs), images};
        plan p = best_plan(tiler, form, s);
        if (p.seconds < out->seconds) *out = p;
    }
    double direct = direct_seconds(tiler, &(sizes){.channels = channels, .rows = rows, .lines = lines, .columns = columns, .images = images});
    if (asked && out->form) return true;
    if (asked) return opf_tiler_refuse(tiler, "the accuracy, or the lines of a unit, leave no form of it");
    double margin = out->form && out->form->outputs > 2 ? 0.95 : 1; /* the small form is no less accurate than the sum itself */
    if (!(out->seconds < margin * direct)) return opf_tiler_refuse(tiler, opf_arena_printf(tiler->arena, "%.3f ms expected, %.3f without", out->seconds * 1e3, direct * 1e3));
    return true;
}

/* ---- sizes ---- */

static opf_dim rounded(opf_pool *pool, opf_dim dim, int64_t to) { return opf_mul(pool, opf_ceildiv(pool, dim, opf_int(pool, to)), opf_int(pool, to)); }

static void set_units(opf_tiler *tiler, const plan *p) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    opf_dim outer = opf_int(pool, 1);
    int64_t rows = nominal(tile->rows), others;
    for (int k = 0; k < tile->n_outer; k++) outer = opf_mul(pool, outer, tile->axes[k].extent);
    outer = opf_mul(pool, outer, opf_ceildiv(pool, tile->tile_lines, opf_int(pool, p->lines)));
    others = nominal(outer);
    /* Each part that takes rows of the same tiles transforms the input anew: only where there are few tiles. */
    int64_t cuts = others < OPF_TILE_FEW_UNITS ? ceil_div(OPF_TILE_FEW_UNITS, others) : 1, panels = ceil_div(rows, p->height);
    if (cuts > panels) cuts = panels;
    int64_t blocks = ceil_div(panels, panels_of_block(tiler->nest->machine, p, nominal(tile->tile_columns)));
    if (blocks < cuts) blocks = cuts;
    tile->block_rows = opf_tiler_wanted(tiler, OPF_KNOB_BLOCK_ROWS, p->height, ceil_div(panels, blocks) * p->height);
    blocks = ceil_div(rows, tile->block_rows);
    tile->row_chunk = opf_int(pool, opf_tiler_wanted(tiler, OPF_KNOB_UNIT_ROWS, tile->block_rows, ceil_div(blocks, cuts) * tile->block_rows));
    tiler->nest->units = opf_mul(pool, outer, opf_ceildiv(pool, tile->rows, tile->row_chunk));
}

/* Does the last panel of so many lines of tiles fill one vector of two? */
static bool fills_one(int64_t lines, int64_t columns, int lanes) {
    int64_t behind = lines * columns % (2 * lanes);
    return behind > 0 && behind <= lanes;
}

/* The way back goes by vectors from each line's first tile: does it read behind the last vector that has tiles? */
static bool reads_behind(int64_t lines, int64_t columns, int lanes) {
    return (lines - 1) * columns + ceil_div(columns, lanes) * lanes > ceil_div(lines * columns, lanes) * lanes;
}

/* One vector by one panel of rows waits for its sums and loads more than it multiplies; by two panels it does neither. */
static bool pairs_panels(const opf_tiler *tiler, const plan *p) {
    enum { BESIDES = 2 }; /* registers of a step: B, and a row of A */
    const opf_machine *machine = tiler->nest->machine;
    const opf_tile *tile = tiler->tile;
    int64_t all, columns;
    if (!opf_machine_has_few_vectors(machine) || p->width != 2 || 2 * p->height + BESIDES > machine->vectors || tile->block_rows < 2 * p->height) return false;
    if (!opf_is_int(tile->tile_lines, &all) || !opf_is_int(tile->tile_columns, &columns)) return false;
    const int64_t lines[] = {all < p->lines ? all : p->lines, all % p->lines}; /* of units */
    bool any = false;
    for (int k = 0; k < 2; k++) {
        if (!lines[k] || !fills_one(lines[k], columns, machine->lanes)) continue;
        if (reads_behind(lines[k], columns, machine->lanes)) return false;
        any = true;
    }
    return any;
}

static void set_sizes(opf_tiler *tiler, const plan *p) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    int lanes = tiler->nest->machine->lanes, m = p->form->outputs, n = p->form->inputs, first = opf_tile_first_column(tile);
    opf_dim lines = opf_int(pool, p->lines), outputs = opf_int(pool, m), vector = opf_int(pool, lanes);
    tile->winograd = m;
    tile->height = p->height;
    tile->width = tile->tail = p->width;
    tile->interleave = 1;
    tile->rows = tile->axes[opf_tile_first_row(tile)].extent;
    tile->depth = tile->axes[opf_tile_first_depth(tile)].extent;
    tile->columns = opf_mul(pool, tile->axes[first].extent, tile->axes[first + 1].extent);
    tile->tile_lines = opf_ceildiv(pool, tile->axes[first].extent, outputs);
    tile->tile_columns = opf_ceildiv(pool, tile->axes[first + 1].extent, outputs);
    tile->column_chunk = opf_int(pool, p->lines * m);
    tile->pitch = rounded(pool, opf_add(pool, opf_mul(pool, tile->tile_columns, outputs), opf_int(pool, 2)), lanes);
    tile->tile_pitch = rounded(pool, opf_mul(pool, lines, tile->tile_columns), (int64_t)lanes * p->width);
    set_units(tiler, p);
    tile->pairs_panels = pairs_panels(tiler, p);
    opf_dim products = opf_int(pool, n * n);
    tile->a_floats = tile->at_floats = tile->tail_floats = opf_int(pool, 0);
    tile->plane = opf_tile_odd_lines(pool, opf_mul(pool, tile->depth, tile->tile_pitch));
    /* Behind the last line as much as the last vectors of tiles read. */
    opf_dim behind = opf_mul(pool, rounded(pool, tile->tile_columns, lanes), outputs);
    opf_dim window = opf_mul(pool, opf_int(pool, p->lines * m + 2), tile->pitch);
    int64_t fitting = tiler->nest->machine->l1_bytes / 3 / 4 / nominal(window);
    tile->batch = fitting < 1 ? 1 : fitting > 8 ? 8 : fitting;
    window = opf_mul(pool, window, opf_int(pool, tile->batch));
    tile->window_floats = rounded(pool, opf_add(pool, opf_add(pool, window, behind), vector), 16);
    tile->b_floats = opf_mul(pool, products, tile->plane);
    tile->product_floats = rounded(pool, opf_mul(pool, opf_int(pool, n * n * tile->block_rows), tile->tile_pitch), 16);
    tile->block_floats = rounded(pool, opf_mul(pool, opf_int(pool, p->lines * m), tile->axes[first + 1].extent), 16);
    opf_dim floats = opf_add(pool, opf_add(pool, tile->window_floats, tile->b_floats), opf_add(pool, tile->product_floats, tile->block_floats));
    tiler->nest->scratch_bytes = opf_mul(pool, floats, opf_int(pool, 4));
}

/* ---- the filters ---- */

/* The coefficient of a tap as an expression over variable `position`. */
static const opf_expr *coefficient(opf_pool *pool, const opf_winograd_form *form, int position, int tap) {
    const opf_expr *value = opf_real(pool, OPF_FLOAT64, opf_winograd_filter(form, form->inputs - 1, tap));
    for (int i = form->inputs - 2; i >= 0; i--) {
        const opf_expr *here = opf_binary(pool, OPF_OP_EQ, opf_var(pool, position), opf_int(pool, i));
        value = opf_select(pool, here, opf_real(pool, OPF_FLOAT64, opf_winograd_filter(form, i, tap)), value);
    }
    return value;
}

/* The weights with their taps' variables replaced by products over all taps: in double, rounded once. */
static const opf_expr *filtered(opf_tiler *tiler, int i, int j) {
    opf_tile *tile = tiler->tile;
    opf_pool *pool = tiler->pool;
    const opf_winograd_form *form = opf_winograd_form_of(tile->winograd);
    const opf_expr *sum = NULL;
    for (int a = 0; a < 3; a++) {
        const opf_expr *line = NULL;
        for (int b = 0; b < 3; b++) {
            const opf_expr *bind[3 * OPF_MAX_RANK] = {NULL};
            bind[tile->windows[0].tap] = opf_int(pool, tile->windows[0].backwards ? 2 - a : a);
            bind[tile->windows[1].tap] = opf_int(pool, tile->windows[1].backwards ? 2 - b : b);
            const opf_expr *weight = opf_cast(pool, OPF_FLOAT64, opf_expr_bind(pool, tile->a.value, tile->n_axes, bind));
            const opf_expr *term = opf_binary(pool, OPF_OP_MUL, coefficient(pool, form, j, b), weight);
            line = line ? opf_binary(pool, OPF_OP_ADD, line, term) : term;
        }
        const opf_expr *term = opf_binary(pool, OPF_OP_MUL, coefficient(pool, form, i, a), line);
        sum = sum ? opf_binary(pool, OPF_OP_ADD, sum, term) : term;
    }
    return opf_cast(pool, OPF_FLOAT32, sum);
}

bool opf_tiler_winograd(opf_tiler *tiler) {
    plan p;
    if (!has_form(tiler) || !choose(tiler, &p)) return false;
    set_sizes(tiler, &p);
    int i = tiler->tile->n_axes, j = i + 1; /* fresh variables: line and column of the product */
    tiler->tile->a.source = OPF_SOURCE_CONSTANT;
    tiler->tile->b.source = OPF_SOURCE_WINDOW;
    return opf_tiler_pack_filters(tiler, filtered(tiler, i, j), p.form->inputs);
}
