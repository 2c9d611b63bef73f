/* Between the files of the tile emitter. Private to src/emit/tile*.c. */
#ifndef OPF_EMIT_TILE_INTERNAL_H
#define OPF_EMIT_TILE_INTERNAL_H

#include "emit/spelling.h"
#include "emit/tile.h"

enum { OPF_TILE_EXTRA = 4 }; /* variables of the emitter's own, behind the axes */
enum { OPF_TILE_HOISTED = 1 << 24 }; /* a load of tensor OPF_TILE_HOISTED + k stands for the local h<k> */

enum { OPF_TILE_ROUNDED = 1 << 25 }; /* of tensor OPF_TILE_ROUNDED: for the rounded sum; OPF_TILE_ROUNDED + k: for the element of line k */

/* Sizes that are not known now get a local each. */
enum { OPF_TILE_ROWS, OPF_TILE_COLUMNS, OPF_TILE_DEPTH, OPF_TILE_PITCH, OPF_TILE_PLANE, OPF_TILE_SIZES };

typedef struct opf_tile_printer {
    const opf_nest *nest;
    const opf_tile *tile;
    const opf_group *group;
    opf_pool *pool;
    opf_text *out;
    int indent;
    int n_inputs, panel;       /* panel: columns of a panel */
    const char *names[3 * OPF_MAX_RANK + OPF_TILE_EXTRA]; /* of the variables, "i_oc" */
    const opf_tile_operand *b; /* the second operand that is being printed: the tile's, or a sibling's … */
    const char *mark;          /* … and what its names end in: "", "_2", … */
    const char *sums;          /* how the anchor's value is spelled, in the epilogue */
    bool flat_columns;         /* the epilogue walks the columns as one loop */
    bool stores_line;          /* its last result is written to the sums, and from there line by line */
    int *part_of, part;        /* the epilogue in several loops: of the group's stages, and the one that is being printed; NULL: one loop */
    bool used_sizes[OPF_TILE_SIZES];
} opf_tile_printer;

/* A line of code: indentation, text, end of line. */
void opf_tile_line(opf_tile_printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void opf_tile_open(opf_tile_printer *p, const char *format, ...) __attribute__((format(printf, 2, 3))); /* "… {", one level deeper */
void opf_tile_close(opf_tile_printer *p);

/* Text of an expression over the axes' variables; lives until the nest's arena goes. `_operand` in brackets where needed. */
const char *opf_tile_text(opf_tile_printer *p, const opf_expr *e);
const char *opf_tile_operand_text(opf_tile_printer *p, const opf_expr *e);
const char *opf_tile_code_text(opf_tile_printer *p, const opf_expr *e); /* what stores a value of a narrow floating type */

/* A walk of the epilogue along flat columns: the inner column's variable is the flat index, the outer one's is 0. */
const opf_expr *opf_tile_flattened(opf_tile_printer *p, const opf_expr *offset);
const char *opf_tile_place(opf_tile_printer *p, const char *base, const opf_expr *offset); /* "base + offset", or "base" */

/* What panels, windows and blocks are made of. */
static inline const char *opf_tile_word(const opf_tile *tile) { return tile->words ? "int32_t" : "float"; }
static inline const char *opf_tile_word_of_b(const opf_tile *tile) { return tile->half ? "uint16_t" : opf_tile_word(tile); } /* its panels */
static inline const char *opf_tile_zero(const opf_tile *tile) { return tile->words ? "0" : "0.0f"; }
/* The second operand of sum k: the tile's own (0), then those of the siblings. */
void opf_tile_choose_sum(opf_tile_printer *p, size_t k);
static inline size_t opf_tile_sums(const opf_tile_printer *p) { return 1 + p->tile->siblings.count; }

/* Row-major offset of element `indices` of a tensor. */
const opf_expr *opf_tile_offset(opf_tile_printer *p, const opf_value *value, const opf_expr *const *indices);

/* The argument of a call of the register tile that says where B goes on, ", …"; "" where it takes none. */
const char *opf_tile_beside(opf_tile_printer *p);
/* The function for so many rows of a panel of A (all: tile->height), vectors, and columns behind: its name. */
const char *opf_tile_function(const opf_tile *tile, int rows, int width, int extra, opf_arena *arena);
/* Where the number of rows is not known, the last panel may hold few: so many rows at most have a function of their own, the k-th; 0: no k-th. */
int opf_tile_few_rows(const opf_tile *tile, int k);
bool opf_tile_has_whole_panels(const opf_nest *nest); /* beside the one with extra columns */
void opf_tile_print_tables(opf_tile_printer *p);   /* before the units: offsets of the depth steps in a window */
void opf_tile_print_window_clear(opf_tile_printer *p); /* before the units: what no unit writes of a window's copy */
void opf_tile_print_pack_a(opf_tile_printer *p);   /* in a unit: panels of A */
void opf_tile_print_pack_b(opf_tile_printer *p);   /* in a unit: panels, window or last panel of B */
void opf_tile_print_epilogue(opf_tile_printer *p); /* in a block: what follows the sums */
void opf_tile_print_row_epilogue(opf_tile_printer *p); /* the same for row r of a unit of whole lines, one behind the other in `block` */
/* One line of a window's copy: `to`, `length` long, of the line that the outer column's variable names. */
void opf_tile_print_line_copy(opf_tile_printer *p, const char *length);

/* Winograd: the parts of the scratch; zeros in spare lanes; the body of a unit; the functions that it calls. */
void opf_winograd_print_scratch(opf_tile_printer *p);
void opf_winograd_print_clear(opf_tile_printer *p);
void opf_winograd_print_unit(opf_tile_printer *p);
void opf_emit_winograd_functions(int outputs, opf_text *out);

/* Turned tiles: the functions; their calls for a block and a pass; the block from what they leave. */
void opf_emit_turned_functions(const opf_nest *nest, opf_text *out);
void opf_turned_print_tiles(opf_tile_printer *p);
void opf_turned_print_sums(opf_tile_printer *p);
bool opf_tile_columns_are_flat(opf_tile_printer *p);

#endif
