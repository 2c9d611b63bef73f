/* Between the files of the tile schedule. Private to src/loop/tile*.c. */
#ifndef OPF_LOOP_TILE_INTERNAL_H
#define OPF_LOOP_TILE_INTERNAL_H

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

/* The steps, in order; each false with tiler->why. */
bool opf_tiler_match(opf_tiler *tiler);     /* anchor, axes and their roles, both operands over them */
bool opf_tiler_epilogue(opf_tiler *tiler);  /* what follows the anchor */
bool opf_tiler_operands(opf_tiler *tiler);  /* how each operand is read; needs no sizes */
bool opf_tiler_sizes(opf_tiler *tiler);     /* tile, blocks, units, scratch */
bool opf_tiler_pack(opf_tiler *tiler);      /* constants: the groups that pack them */

/* The one constant that the operand is computed from, if nothing else of the group reads it: an input, or -1. */
int opf_tiler_constant(const opf_tiler *tiler, const opf_tile_operand *operand);

#endif
