/* Contractions by register tiles: out[o…, m…, n…] = sum over k… of A(o, m, k) * B(o, n, k) in float32.
 *
 * The anchor is the group's one reduction. Its axes fall into four roles:
 *   outer  both operands walk along it, or none, or it does not fit a role below: loops outside
 *   row    m: only A walks along it
 *   column n: only B walks along it; the last of these, and the one before it where the two lie beside each other or B
 *          walks along both as one. What the output has behind its columns makes stores strided
 *   depth  k: the reduction
 * Rows, columns and depth are each walked as one flat index. Columns are the vector's lanes; a tile is `height` rows by
 * `width` vectors, its accumulators named variables.
 *
 * A is read from panels [row / height][depth][height]; zeros fill the last panel. B is read in one of these ways:
 *   panels   [column / (width * lanes)][depth][width * lanes], zeros behind the last column
 *   rows     in place: depth steps are `step` apart, columns contiguous
 *   copy     the same in a copy of the unit's columns, where B is computed from what walks along all columns evenly
 *   window   from a copy of what the block's columns need, [plane][row][column] with zeros where the operand is padded;
 *            the depth step k reads the copy at[k] further on, so that neighbouring outputs share what they read.
 *            Rows of the copy are `pitch` wide, and so are the flat columns: what falls between rows is computed and dropped. Where
 *            that is much, each tap along the row has a copy of its own, and nothing falls between them (opf_tile_window.apart).
 * Constants are packed when the program is built.
 *
 * With few registers a window may be read by turned tiles: vectors along the rows, columns one by one (loop/tile_turned.c).
 * A window of 3 x 3 taps at stride 1 may go through Winograd's products instead (loop/winograd.h): tiles are then the columns.
 *
 * Sums of 8-bit integers go by words: four steps along one depth axis are a word of bytes, or two a word of int16, which a lane multiplies and
 * adds at once, exactly modulo 2^32 (prelude, opf_words.h). Depth, panels and blocks are then counted in words. Bytes: one operand's are without
 * sign, so its values are bytes less `zero`, which is taken off the sums behind them (loop/tile_words.c).
 *
 * Sums that share A are computed side by side: A is packed and read from memory once.
 *
 * What follows the anchor runs on blocks of the sums while these are in the cache: the epilogue. */
#ifndef OPF_LOOP_TILE_H
#define OPF_LOOP_TILE_H

#include "loop/nest.h"

typedef enum opf_axis_role { OPF_AXIS_OUTER, OPF_AXIS_ROW, OPF_AXIS_COLUMN, OPF_AXIS_DEPTH } opf_axis_role;

/* Axis k is variable k of all expressions below. */
typedef struct opf_tile_axis {
    opf_axis_role role;
    opf_dim extent;
    const char *name;          /* C identifier without the prefix i_ */
} opf_tile_axis;

typedef enum opf_operand_source {
    OPF_SOURCE_CONSTANT,       /* panels, packed at build time: nest->packed[packed] */
    OPF_SOURCE_PANELS,         /* panels, packed by the kernel */
    OPF_SOURCE_ROWS,           /* B in place */
    OPF_SOURCE_COPY,           /* B from a copy of its rows: [depth][step] */
    OPF_SOURCE_WINDOW          /* B from a copy with borders */
} opf_operand_source;

typedef struct opf_tile_operand {
    const opf_expr *value;     /* over the axes' variables; loads name the group's inputs */
    opf_operand_source source;
    int packed;                /* index into nest->packed */
    bool depth_is_contiguous;  /* panels are made by transposing rows of depth steps, else by copying */
    const opf_expr *base, *stride, *step; /* rows, and panels of a plain load: offset at the origin of rows (columns) and
                                  depth, distance of rows (A) or columns (B), and of depth steps; NULL: no such form. Copies have a step only */
    int input;                 /* of a plain load: which input */
} opf_tile_operand;

/* One column axis of a window. Position u = stride * column + dilation * t; taps t are the depth axis `tap` (-1: only one), in their order or, as in
 * transposed convolutions, from the last one to the first. The copy holds positions by phase u % stride and place u / stride. */
typedef struct opf_tile_window {
    int column, tap;
    int64_t stride, dilation;
    bool backwards;            /* t = taps - 1 - the axis's variable */
    bool apart;                /* a copy for each tap, in place of the phases: position stride * place + dilation * phase. Then nothing lies between lines */
    opf_dim taps;
    int64_t phases;            /* of `stride`, those that occur */
    opf_dim extra;             /* places beyond the block's own columns */
} opf_tile_window;

/* Another sum of the group over the same axes with the same A: gate and up, queries, keys and values. */
typedef struct opf_tile_sibling {
    int anchor;                /* stage of the group */
    opf_tile_operand b;        /* read in the same way as the tile's B: packed at build time, or rows in place */
} opf_tile_sibling;

/* A stage of the epilogue, in order. Loads of tensor n_inputs + s name the group's stage s: the anchor or an earlier stage here.
 * The anchor itself is one where it is a result. */
typedef struct opf_tile_stage {
    int stage;
    opf_dtype dtype;
    const opf_expr *body;
    int result;                /* index into group->results, -1: a local */
} opf_tile_stage;

typedef struct opf_tile {
    int anchor;                /* stage of the group */
    int n_axes;
    opf_tile_axis *axes;       /* outer, row, column, depth: in this order */
    int n_outer, n_row, n_column, n_depth;
    opf_tile_operand a, b;
    OPF_VEC(opf_tile_sibling) siblings; /* each with a block of sums of its own */
    opf_tile_window windows[2];/* of the column axes, outermost first; n_column of them, for OPF_SOURCE_WINDOW */
    const opf_expr *window_value; /* B over the outer and depth variables, with u in the place of each column variable */
    const opf_expr *const *point;      /* the anchor's plain variables over the axes: where a sum stands in results */
    OPF_VEC(opf_tile_stage) epilogue;
    int winograd;              /* outputs a side of Winograd's tiles; 0: the sum as it stands. Then the depth is the first depth
                                  axis alone, the others being taps, and A's panels come once for each product of a tile */
    bool pairs_panels;         /* Winograd: a unit's last panel of columns, where it fills one vector of two, is multiplied by two panels of rows at once */
    opf_dim tile_lines, tile_columns; /* Winograd: the tiles */
    int64_t batch;             /* Winograd: so many channels are copied before they are transformed: what was just stored in pieces is slow
                                  to load as a whole */
    opf_dim tile_pitch;        /* Winograd: distance of the depth steps in the transformed input, and of rows of products */
    struct opf_nest *fill;     /* not NULL: computes the window's copy (loop/band.h) */
    opf_dtype half;            /* of B's panels, float16 or bfloat16, made floats as the tile reads them (tile_half.c); OPF_NO_DTYPE: floats */
    int words;                 /* depth steps in a word: 4 bytes, 2 of int16; 0: floats */
    int word_axis;             /* the depth axis that they follow each other on; its extent is in words … */
    opf_dim word_extent;       /* … and was this */
    bool a_is_signed;          /* bytes: A's have a sign, B's have none; false: the reverse */
    const opf_expr *outside;   /* what a window holds outside the operand, as a part of a word */
    int interleave;            /* so many rows, the last row axis, lie between each other in the result; 1: none do */
    int height, width;         /* of the tile, in rows and vectors */
    int turned;                /* not 0: vectors lie along the rows, and a tile is `height` rows of them by so many columns of a window's line at most
                                  (loop/tile_turned.c). Blocks are whole lines then, and `width` is 1 */
    opf_dim copied_line;       /* turned: floats of a line of the window's copy, which holds each position once, in order */
    int unroll, prefetch;      /* depth steps written one behind the other; floats of A asked for ahead, 0: none */
    int ahead;                 /* opf_ahead: what of B, where it lies in rows, each step asks for; 0: there is no such choice */
    int tail;                  /* vectors of a unit's last panel of columns; 0: any number up to `width`, found at run time */
    int extra;                 /* B in place: so many columns behind the last whole vector belong to its panel; their sums lie across
                                  the rows of a tile, a vector each. 0: they are a vector that is not full */
    int64_t depth_block;       /* depth steps a pass; sums of a pass wait in the block. 0: all at once */
    int64_t block_rows, block_columns; /* of a block of sums, multiples of height and of width * lanes */
    opf_dim rows, columns, depth;      /* flat extents */
    opf_dim pitch;             /* distance of lines in the flat columns; = the inner column axis's extent without a window */
    opf_dim row_chunk;         /* rows of one unit of work, a multiple of height */
    opf_dim column_chunk;      /* columns of one unit, a multiple of width * lanes; windows over two axes: lines */
    bool rows_first;           /* units walk along columns first, so that A is packed once for all of them */
    bool stores_direct;        /* sums go straight into the result: no block */
    bool packs_tail;           /* B in place: a last panel that is not full is read from a packed copy */
    opf_dim plane;             /* window: floats of one plane of the copy; Winograd: of one element of the transformed tiles */
    opf_dim window_floats, product_floats; /* Winograd's scratch: window, transformed input (b_floats), products, block */
    opf_dim a_floats, b_floats, at_floats, turned_floats, tail_floats, block_floats; /* scratch of a part, in this order, each a multiple of 16;
                                  siblings' tails and blocks come behind, each of the same size */
} opf_tile;

/* In the epilogue a load of tensor OPF_TILE_PACKED + k is one of nest->packed[k]. */
enum { OPF_TILE_PACKED = 1 << 23 };

static inline int opf_tile_first_row(const opf_tile *tile) { return tile->n_outer; }
static inline int opf_tile_first_column(const opf_tile *tile) { return tile->n_outer + tile->n_row; }
static inline int opf_tile_first_depth(const opf_tile *tile) { return tile->n_outer + tile->n_row + tile->n_column; }

/* B's depth steps lie `step` apart, columns contiguous. */
static inline bool opf_tile_reads_rows(const opf_tile *tile) { return tile->b.source == OPF_SOURCE_ROWS || tile->b.source == OPF_SOURCE_COPY; }

/* B's panels come from beyond the caches, each read by several panels of rows: all of these together ask for the next one. Else
 * the first would wait for memory that the others leave idle. */
static inline bool opf_tile_asks_ahead(const opf_tile *tile) { return tile->b.source == OPF_SOURCE_CONSTANT && opf_dim_nominal(tile->rows) > tile->height; }

/* How the depth loop is written unless something else is asked for. Packed weights come from beyond L2 once: a line or two ahead of
 * each step. Where they are B, A was packed just now and is in L2: to ask for it too costs one or two per cent. With few registers a step is some twenty
 * instructions for a dozen multiply-adds: one more is not worth it for what stays in L2 (docs/decisions/0163-windows-on-sixteen-registers.md). */
enum { OPF_TILE_UNROLL = 2, OPF_TILE_AHEAD = 512 };
static inline int opf_tile_full_prefetch(const opf_tile *tile) { return opf_tile_asks_ahead(tile) || tile->turned ? 0 : OPF_TILE_AHEAD; }
static inline int opf_tile_usual_prefetch(const opf_tile *tile, const opf_machine *machine) {
    int64_t products = tile->winograd ? (tile->winograd + 2) * (tile->winograd + 2) : 1;
    bool in_l2 = opf_dim_nominal(tile->rows) * opf_dim_nominal(tile->depth) * products * 4 <= machine->l2_bytes;
    return in_l2 && opf_machine_has_few_vectors(machine) ? 0 : opf_tile_full_prefetch(tile);
}

/* B in place, or Winograd's transformed input: several panels of rows read one panel of columns. Each step asks for what lies OPF_TILE_STEPS_AHEAD
 * depth steps further on; behind the last step, for the first ones of what the next call reads. Rows of a picture lie pages apart: no prefetcher of
 * the machine's follows them, and all but few sums are longer than what L1 keeps of such rows. Where a panel is a handful of steps, or a tile
 * of few rows, asking costs more than waiting. */
enum { OPF_TILE_STEPS_AHEAD = 24, OPF_TILE_ROWS_THAT_SHARE = 4 };
static inline bool opf_tile_may_ask_ahead(const opf_tile *tile) { return !opf_tile_asks_ahead(tile) && (tile->b.source != OPF_SOURCE_WINDOW || tile->winograd); }
static inline bool opf_tile_may_ask_for_panel(const opf_tile *tile) { return opf_tile_may_ask_ahead(tile) && (opf_tile_reads_rows(tile) || tile->winograd); }
static inline bool opf_tile_asks_for_steps(const opf_tile *tile) { return opf_tile_may_ask_ahead(tile) && tile->ahead == OPF_AHEAD_STEPS; }
static inline opf_ahead opf_tile_usual_ahead(const opf_tile *tile) {
    bool handful = opf_tile_reads_rows(tile) && opf_dim_nominal(tile->depth) <= OPF_TILE_STEPS_AHEAD;
    return handful || tile->height < OPF_TILE_ROWS_THAT_SHARE ? OPF_AHEAD_NONE : OPF_AHEAD_STEPS;
}

/* Schedules the group as a contraction: fills nest->tile, packed, units, scratch_bytes and schedule. nest->group and
 * nest->machine must be set. False, with one sentence, where it is none or a plain loop nest serves better. */
bool opf_tile_schedule(opf_nest *nest, const char **why_not);

#endif
