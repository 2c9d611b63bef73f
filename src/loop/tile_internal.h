/* Between the files of the tile schedule. Private to src/loop/tile*.c. */
#ifndef OPF_LOOP_TILE_INTERNAL_H
#define OPF_LOOP_TILE_INTERNAL_H

#include "loop/band.h"
#include "loop/tile.h"

typedef struct opf_tiler {
    opf_nest *nest;
    opf_tile *tile;
    opf_pool *pool;
    opf_arena *arena;
    const opf_stages *stages;
    int n_inputs;
    const opf_stage *anchor;
    bool *depends;             /* by stage: on the anchor (itself included) */
    const opf_expr **root;     /* the anchor's variables over the tile's axes */
    bool bands;                /* a window stands in front of the anchor: stage `band` is its operand, computed in bands */
    int band;
    bool words;                /* operands are kept as integers */
    bool winograd;             /* columns are the window's, whatever their number */
    const char *why;           /* why not */
} opf_tiler;

static inline bool opf_tiler_refuse(opf_tiler *tiler, const char *why) {
    tiler->why = why;
    return false;
}

/* `e` with every load of a stage that does not depend on the anchor replaced by that stage's body. NULL where a reduction
 * stands in the way. */
const opf_expr *opf_tiler_inline(opf_tiler *tiler, const opf_expr *e);

/* Row-major offset of a load of a group input. */
const opf_expr *opf_tiler_offset(const opf_tiler *tiler, const opf_expr *load);
/* offset = stride * flat + base over the axes first … first+count-1 taken as one flat index; false where they are not
 * walked evenly. No axis: stride 0. */
bool opf_tiler_flat(const opf_tiler *tiler, const opf_expr *offset, int first, int count, const opf_expr **stride, const opf_expr **base);

/* Do all loads of the operand walk along axis `outer` and then `inner`, of that extent, as one flat index, if at all, and does nothing else
 * depend on these? */
bool opf_tiler_walks_evenly(const opf_tiler *tiler, const opf_expr *value, int outer, int inner, opf_dim extent);

/* The steps, in order; each false with tiler->why. */
bool opf_tiler_match(opf_tiler *tiler);     /* anchor, axes and their roles, both operands over them */
bool opf_tiler_epilogue(opf_tiler *tiler);  /* what follows the anchor */
bool opf_tiler_operands(opf_tiler *tiler);  /* how each operand is read; needs no sizes */
bool opf_tiler_sizes(opf_tiler *tiler);     /* tile, blocks, units, scratch */
const opf_expr *opf_tiler_half_of(const opf_tiler *tiler, const opf_expr *value); /* an element of such panels, by its value as a float */
void opf_tiler_half(opf_tiler *tiler);      /* may B's panels stay in 16 bits? (tile_half.c) */
bool opf_tiler_pack(opf_tiler *tiler);      /* constants: the groups that pack them */

bool opf_tiler_fill(opf_tiler *tiler);      /* of bands: the nest that computes the operand's lines (bands.c) */

enum { OPF_TILE_FEW_UNITS = 8 };  /* of work, for a few threads, if they cost little */
enum { OPF_TILE_SHORT = 8 };      /* shorter columns than that are too short for vectors: the other operand's are taken, if longer */
enum { OPF_TILE_MOST_EXTRA = 4 }; /* columns behind the last whole vector that need none of their own (opf_tile.extra) */

/* Sums of integers (tile_integers.c): is each, and every part of it, a whole number that float32 holds? True for sums of floats.
 * Behind opf_tiler_operands. */
bool opf_tiler_integers(opf_tiler *tiler);
bool opf_tiler_sums_integers(const opf_tiler *tiler); /* needs the anchor only */
const opf_expr *opf_tiler_as_float(opf_pool *pool, const opf_expr *e); /* the same number as float32 */

/* Instead of opf_tiler_operands and _integers: by words (tile_words.c). `_fits`: every element of the constant gives the operand a value
 * between low and high. */
bool opf_tiler_words(opf_tiler *tiler);
bool opf_tiler_is_short(const opf_expr *value); /* whole numbers that int16 holds */
bool opf_tiler_fits(const opf_tiler *tiler, const opf_tile_operand *operand, double low, double high);
/* The sums over the depth of a constant operand of whole numbers, over its outer axes and flat rows (columns): index into nest->packed. */
bool opf_tiler_pack_sums(opf_tiler *tiler, const opf_tile_operand *operand, const opf_expr *value, int first, int count, opf_dim extent, int *packed);

/* Instead of the last three: by Winograd's products. */
bool opf_tiler_may_be_winograd(opf_tiler *tiler); /* needs the anchor only */
bool opf_tiler_winograd(opf_tiler *tiler);
/* Packs A once for each product of a tile: `filters` is A with its taps gone, over variables n_axes and n_axes + 1 below `side`. */
bool opf_tiler_pack_filters(opf_tiler *tiler, const opf_expr *filters, int side);

bool opf_tiler_anchor(opf_tiler *tiler);    /* the first part of opf_tiler_match */
bool opf_tiler_is_anchor(const opf_tiler *tiler, int stage); /* the anchor or a sibling */

/* ---- siblings (tile_siblings.c) ---- */
bool opf_tiler_take_sibling(opf_tiler *tiler, int stage); /* a further sum: may it be one? */
/* Its operands over the anchor's own axes become those over the tile's by `axes_of`; one of them must be A. */
typedef const opf_expr *(*opf_axes_of)(const opf_tiler *tiler, const opf_expr *e, void *data);
bool opf_tiler_sibling_operands(opf_tiler *tiler, opf_axes_of axes_of, void *data);
/* Takes B's taps into windows of the columns; false where no depth axis slides along a column axis. */
bool opf_tiler_windows(opf_tiler *tiler);

/* An odd number of cache lines: planes then spread over the cache's sets. */
opf_dim opf_tile_odd_lines(opf_pool *pool, opf_dim floats);

/* ---- turned tiles (tile_turned.c) ---- */
double opf_tiler_turned_cycles(const opf_tiler *tiler); /* all of a window's sums, copies and transposes; 0: the form does not fit. Behind the usual sizes */
void opf_tiler_turn(opf_tiler *tiler);
void opf_tiler_share_units(opf_tiler *tiler); /* cuts rows where columns give too few units: behind the choice of column_chunk */
/* So many cuts through the rows make `others` units enough for a few threads. */
int64_t opf_tiler_row_cuts(const opf_tiler *tiler, int64_t others);

/* The tile that computes rows x vectors of columns in the fewest cycles a depth step, which are returned. */
double opf_tiler_tile(const opf_machine *machine, int64_t rows, bool rows_known, int64_t vectors, int interleave, int *height, int *width);
/* The tile that is asked for, where it fits; false: none is. */
bool opf_tiler_wanted_tile(const opf_tiler *tiler, int64_t vectors, int *height, int *width);
/* What is asked for, where it is a multiple of `of`; else `chosen`. */
int64_t opf_tiler_wanted(const opf_tiler *tiler, opf_knob choice, int64_t of, int64_t chosen);
void opf_tiler_tell(opf_tiler *tiler);      /* what was chosen, into the nest */
double opf_tile_cycles(int64_t rows, int64_t vectors, int height, int width);

/* The one constant that the operand is computed from, if nothing else of the group reads it: an input, or -1. */
int opf_tiler_constant(const opf_tiler *tiler, const opf_tile_operand *operand);

#endif
