/* Neighbours of the best schedule so far. */
#include "tune/space.h"

#include <stdlib.h>
#include <string.h>

#include "loop/tile_internal.h"
#include "tune/code.h"

struct opf_space {
    const opf_tunable *tunable;
    const opf_machine *machine;
    int threads;
    const char *const *compilers;
    opf_arena *arena;
    opf_schedule centre;       /* what the next ones are near to */
    opf_candidate *best;
    OPF_VEC(opf_candidate *) queue; /* the heuristic's, those handed out, those that wait */
    size_t next;
    bool fresh;                /* the centre is new */
    OPF_VEC(opf_schedule) suggested;
};

/* Beyond this share of the best that the cost model expects, a tile is not tried; what of a better candidate moves the centre. */
static const double WORST_TILE = 1.3, MOVES = 0.97;

/* ---- candidates ---- */

static bool is_new(const opf_space *space, opf_hash code) {
    for (size_t i = 0; i < space->queue.count; i++)
        if (memcmp(&space->queue.data[i]->code, &code, sizeof code) == 0) return false;
    return true;
}

static void add(opf_space *space, const opf_schedule *wanted, double predicted) {
    opf_nest *nest;
    const char *why;
    if (!opf_nest_schedule_as(&nest, space->tunable->group, space->machine, wanted, &why)) return;
    opf_candidate candidate = {.schedule = nest->chosen, .n_nests = 1, .nests = {nest}, .predicted = predicted};
    candidate.code = opf_code_of(candidate.nests, 1, &candidate.schedule);
    if (is_new(space, candidate.code)) OPF_PUSH(space->arena, &space->queue, opf_arena_copy(space->arena, &candidate, sizeof candidate));
}

/* ---- neighbours ---- */

/* Choices that follow from the tile, unless they are asked for. */
static void clear_sizes(opf_schedule *schedule) {
    static const opf_knob sizes[] = {OPF_KNOB_BLOCK_ROWS, OPF_KNOB_BLOCK_COLUMNS, OPF_KNOB_UNIT_ROWS, OPF_KNOB_UNIT_COLUMNS};
    for (size_t i = 0; i < OPF_COUNT(sizes); i++) schedule->at[sizes[i]] = 0;
}

static void add_with(opf_space *space, opf_knob knob, int64_t value, double predicted) {
    opf_schedule wanted = space->centre;
    if (!value || wanted.at[knob] == value) return;
    wanted.at[knob] = value;
    if (knob == OPF_KNOB_LANES) wanted.at[OPF_KNOB_TILE_ROWS] = wanted.at[OPF_KNOB_TILE_VECTORS] = 0;
    if (knob == OPF_KNOB_LANES) clear_sizes(&wanted);
    if (knob == OPF_KNOB_BLOCK_COLUMNS) wanted.at[OPF_KNOB_BLOCK_ROWS] = 0;
    if (knob == OPF_KNOB_UNIT_COLUMNS) wanted.at[OPF_KNOB_UNIT_ROWS] = wanted.at[OPF_KNOB_BLOCK_ROWS] = 0;
    add(space, &wanted, predicted);
}

static void add_algorithms(opf_space *space) {
    for (int64_t algorithm = OPF_BY_TILE; algorithm <= OPF_BY_LOOPS; algorithm++) {
        if (algorithm == space->centre.at[OPF_KNOB_ALGORITHM]) continue;
        opf_schedule wanted = {{[OPF_KNOB_ALGORITHM] = algorithm, [OPF_KNOB_COMPILER] = space->centre.at[OPF_KNOB_COMPILER]}};
        bool loops = algorithm == OPF_BY_LOOPS && space->tunable->milliseconds / space->tunable->calls > 0.2; /* large sums in plain loops: hopeless */
        add(space, &wanted, loops ? 1.5 : 0.9);
    }
}

/* Vectors of columns that the tiles run over. */
static int64_t vectors_of(const opf_space *space, const opf_tile *tile) {
    int64_t columns = opf_dim_nominal(tile->winograd ? tile->tile_columns : tile->columns);
    if (tile->winograd) columns *= space->centre.at[OPF_KNOB_UNIT_COLUMNS] / tile->winograd;
    return (columns + space->machine->lanes - 1) / space->machine->lanes;
}

/* Register tiles whose cycles are near to the fewest. */
static void add_tiles(opf_space *space, const opf_nest *nest) {
    const opf_tile *tile = nest->tile;
    int64_t rows = tile ? opf_dim_nominal(tile->rows) : 32, vectors = tile ? vectors_of(space, tile) : 8;
    double best = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int height = 1; height <= 28; height++)
            for (int width = 1; width <= 8 && height * width + width + 1 <= space->machine->vectors; width++) {
                double cycles = opf_tile_cycles(rows, vectors, height, width);
                if (pass == 0 && (best == 0 || cycles < best)) best = cycles;
                if (pass == 0 || cycles > WORST_TILE * best) continue;
                opf_schedule wanted = space->centre;
                wanted.at[OPF_KNOB_TILE_ROWS] = height;
                wanted.at[OPF_KNOB_TILE_VECTORS] = width;
                clear_sizes(&wanted);
                add(space, &wanted, 0.95 * cycles / best);
            }
}

/* Multiples of what is chosen now. */
static void add_scaled(opf_space *space, opf_knob knob, double predicted) {
    int64_t now = space->centre.at[knob];
    if (now <= 0) return;
    add_with(space, knob, now * 2, predicted);
    if (now % 2 == 0) add_with(space, knob, now / 2, predicted);
    add_with(space, knob, now * 4, predicted + 0.1);
    if (now > 1) add_with(space, knob, now - 1, predicted + 0.1); /* lines */
    add_with(space, knob, now + 1, predicted + 0.1);
}

static void add_values(opf_space *space, opf_knob knob, const int64_t *values, double predicted) {
    if (!space->centre.at[knob]) return; /* no such choice */
    for (; *values; values++) add_with(space, knob, *values, predicted);
}

static void add_switch(opf_space *space, opf_knob knob, double predicted) {
    if (space->centre.at[knob]) add_with(space, knob, 3 - space->centre.at[knob], predicted); /* the other one of two */
}

/* What follows the sums at each tile, while it is in the first cache; at whole rows, so that columns of B are walked through once. */
static void add_epilogues(opf_space *space, const opf_nest *nest) {
    const opf_tile *tile = nest->tile;
    int64_t columns;
    if (!tile || tile->winograd) return;
    opf_schedule at_tile = space->centre;
    at_tile.at[OPF_KNOB_BLOCK_ROWS] = tile->height;
    at_tile.at[OPF_KNOB_BLOCK_COLUMNS] = (int64_t)tile->width * nest->machine->lanes;
    add(space, &at_tile, 1.02);
    if (!opf_is_int(tile->columns, &columns)) return;
    int64_t panel = at_tile.at[OPF_KNOB_BLOCK_COLUMNS];
    opf_schedule at_row = space->centre;
    at_row.at[OPF_KNOB_BLOCK_ROWS] = tile->height;
    at_row.at[OPF_KNOB_UNIT_ROWS] = 0;
    at_row.at[OPF_KNOB_BLOCK_COLUMNS] = at_row.at[OPF_KNOB_UNIT_COLUMNS] = (columns + panel - 1) / panel * panel;
    add(space, &at_row, 1.03);
}

static void add_compilers(opf_space *space) {
    for (const char *const *name = space->compilers; *name; name++) {
        opf_schedule one = {0};
        if (opf_schedule_set(&one, opf_knob_name(OPF_KNOB_COMPILER), *name, space->arena) == NULL) add_with(space, OPF_KNOB_COMPILER, one.at[OPF_KNOB_COMPILER], 0.98);
    }
}

static int by_prediction(const void *a, const void *b) {
    const opf_candidate *x = *(opf_candidate *const *)a, *y = *(opf_candidate *const *)b;
    if (x->predicted != y->predicted) return x->predicted < y->predicted ? -1 : 1;
    return memcmp(&x->code, &y->code, sizeof x->code);
}

static void expand(opf_space *space) {
    static const int64_t passes[] = {OPF_KNOB_ALL, 64, 128, 256, 384, 512, 0}, unrolls[] = {1, 4, 2, 0}, aheads[] = {OPF_KNOB_NONE, 128, 512, 1024, 0},
                         rows[] = {4, 8, 16, 32, 64, 0}, chunks[] = {128, 256, 512, 1024, 2048, 0}, lanes[] = {4, 8, 16, 0},
                         asked[] = {OPF_AHEAD_NONE, OPF_AHEAD_PANEL, OPF_AHEAD_STEPS, 0}, loops[] = {1, 2, 3, 0};
    bool moved = space->best && space->best->n_nests == 1;
    const opf_nest *nest = moved ? space->best->nests[0] : space->tunable->nest;
    size_t before = space->queue.count;
    for (size_t i = 0; !moved && i < space->suggested.count; i++) add(space, &space->suggested.data[i], 0);
    if (!moved) add_algorithms(space);
    add_compilers(space);
    if (nest->tile || space->centre.at[OPF_KNOB_TILE_ROWS]) add_tiles(space, nest);
    add_values(space, OPF_KNOB_LANES, lanes, 1);
    add_scaled(space, OPF_KNOB_UNIT_COLUMNS, 1.01);
    add_values(space, OPF_KNOB_DEPTH_PASS, passes, 1.02);
    add_values(space, OPF_KNOB_ROWS, rows, 1.02);
    add_values(space, OPF_KNOB_CHUNK, chunks, 1.02);
    add_switch(space, OPF_KNOB_SPLIT, 1);
    add_switch(space, OPF_KNOB_TRANSPOSE, 1);
    add_switch(space, OPF_KNOB_STORES, 1);
    add_switch(space, OPF_KNOB_SECOND, 1.02);
    add_epilogues(space, nest);
    add_values(space, OPF_KNOB_ATTACH, loops, 1.03);
    add_values(space, OPF_KNOB_OUTERMOST, loops, 1.04);
    add_values(space, OPF_KNOB_INNERMOST, loops, 1.05);
    add_scaled(space, OPF_KNOB_BLOCK_ROWS, 1.03);
    add_scaled(space, OPF_KNOB_BLOCK_COLUMNS, 1.03);
    add_scaled(space, OPF_KNOB_UNIT_ROWS, 1.03);
    add_values(space, OPF_KNOB_UNROLL, unrolls, 1.04);
    add_values(space, OPF_KNOB_PREFETCH, aheads, 1.04);
    add_values(space, OPF_KNOB_AHEAD, asked, 1.03);
    add_switch(space, OPF_KNOB_ORDER, 1.05);
    if (space->threads > 1) add_scaled(space, OPF_KNOB_SHARE, 1.05);
    qsort(space->queue.data + before, space->queue.count - before, sizeof *space->queue.data, by_prediction);
}

/* ---- public ---- */

opf_space *opf_space_new(const opf_tunable *tunable, const opf_machine *machine, int threads, const char *const *compilers, opf_arena *arena) {
    opf_space *space = OPF_NEW(arena, opf_space);
    *space = (opf_space){.tunable = tunable, .machine = machine, .threads = threads, .compilers = compilers, .arena = arena, .centre = tunable->nest->chosen, .fresh = true};
    /* the heuristic's own code is known */
    opf_candidate *base = OPF_NEW(arena, opf_candidate);
    *base = (opf_candidate){.schedule = tunable->nest->chosen, .n_nests = 1, .nests = {tunable->nest}};
    base->code = opf_code_of(base->nests, 1, &base->schedule);
    OPF_PUSH(arena, &space->queue, base);
    space->next = 1;
    return space;
}

int opf_space_next(opf_space *space, opf_candidate **out, int most) {
    if (space->fresh) {
        /* what waits around the centre before comes behind what is around the new one */
        size_t waiting = space->queue.count - space->next;
        opf_candidate **old = opf_arena_copy(space->arena, space->queue.data + space->next, waiting * sizeof *old);
        space->queue.count = space->next;
        space->fresh = false;
        expand(space);
        for (size_t i = 0; i < waiting; i++)
            if (is_new(space, old[i]->code)) OPF_PUSH(space->arena, &space->queue, old[i]);
    }
    int count = 0;
    while (count < most && space->next < space->queue.count) out[count++] = space->queue.data[space->next++];
    return count;
}

void opf_space_suggest(opf_space *space, const opf_schedule *schedule) { OPF_PUSH(space->arena, &space->suggested, *schedule); }

void opf_space_push(opf_space *space, const opf_candidate *candidate) {
    if (is_new(space, candidate->code)) OPF_PUSH(space->arena, &space->queue, opf_arena_copy(space->arena, candidate, sizeof *candidate));
}

void opf_space_tell(opf_space *space, opf_candidate *candidate) {
    double best = space->best ? space->best->ratio : 1;
    if (candidate->verdict != OPF_RACE_DONE || !(candidate->ratio < best * (space->best ? 1 : MOVES))) return;
    space->best = candidate;
    if (candidate->n_nests > 1) return;
    space->fresh = space->fresh || candidate->ratio < best * MOVES;
    space->centre = candidate->schedule;
}

void opf_space_correct(opf_space *space, double ratio) { space->best->ratio = ratio; }
const opf_candidate *opf_space_best(const opf_space *space) { return space->best; }
