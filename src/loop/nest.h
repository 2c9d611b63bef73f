/* Loop nests: how a group of stages is computed. A nest is data: the heuristic proposes it, emit prints it.
 *
 * Root domain: the axes of the group's results (all results of a group map onto one root domain). Every other stage is
 * inlined into its readers, or attached at a depth of the root's loops and given a place.
 *
 *   place      meaning
 *   inline     expression substituted into the readers
 *   scalar     one value, in a register, computed when the loops above `attach` stand (rank-0 rest)
 *   chunk      a buffer of one chunk of the innermost loop, on the stack
 *   row        its free axes whole, in the part's scratch (L1/L2), computed when the loops above `attach` stand
 *   tile       the register tile of a contraction
 *   memory     a result buffer
 *
 * The attach depth d of a stage follows from its readers' index maps: its first axes that are exactly the root variables
 * below d are bound, all others are free and computed whole. Reductions are computed as
 *   - over the contiguous innermost axis: chunks of the term, then the prelude's fixed-tree sum / max …
 *   - otherwise: accumulators over a chunk of the innermost kept axis, reduce loops outside, chunk loop inside.
 *   - contractions whose operands separate (A[m,k] * B[k,n]): the register tile. */
#ifndef OPF_LOOP_NEST_H
#define OPF_LOOP_NEST_H

#include "fuse/fuse.h"
#include "loop/machine.h"

typedef enum opf_place_kind { OPF_PLACE_INLINE, OPF_PLACE_SCALAR, OPF_PLACE_CHUNK, OPF_PLACE_ROW, OPF_PLACE_TILE, OPF_PLACE_MEMORY } opf_place_kind;

typedef struct opf_loop {
    opf_dim extent;
    const char *name;          /* C identifier */
    enum { OPF_LOOP_SERIAL, OPF_LOOP_PARALLEL, OPF_LOOP_VECTOR } kind;
    int n_axes;                /* root axes that this loop runs over together (merged), outermost first */
    int axes[OPF_MAX_RANK];
} opf_loop;

typedef struct opf_stage_plan {
    opf_place_kind place;
    int attach;                /* number of root loops that stand outside its computation */
} opf_stage_plan;

/* A constant operand in a layout of the schedule's own, computed once at build time by a kernel like any other:
 * `group` has the constant as its single input and the packed tensor as its single result. */
typedef struct opf_packed {
    int input;                 /* which input of the nest's group it replaces */
    opf_group *group;
    int64_t bytes;
} opf_packed;

/* Schedule of a contraction by register tiles, src/loop/tile.h. NULL for other nests. */
struct opf_tile;

typedef struct opf_nest {
    const opf_group *group;
    const opf_machine *machine;
    OPF_VEC(opf_loop) loops;
    opf_stage_plan *plans;     /* one per stage */
    opf_stages stages;         /* the stages that are emitted: rewritten over the root's loops */
    struct opf_tile *tile;
    OPF_VEC(opf_packed) packed;/* packed[i] is handed to the kernel behind inputs and results */
    opf_dim units;             /* independent pieces of work: no use for more parts than this */
    opf_dim scratch_bytes;     /* per part, multiple of 64; 0 for none */
    double flops;
    int64_t bytes;
    const char *schedule;      /* one line for banners, logs and --dump-after=loop */
} opf_nest;

/* Kernel arguments, in this order: the group's inputs, its results, then the packed constants.
 * Symbols: those that any dim of the nest uses, ascending by symbol index. (arena; count returned) */
int opf_nest_symbols(const opf_nest *nest, const opf_symbol *const **out);

opf_status opf_nest_schedule(opf_nest **out, const opf_group *group, const opf_machine *machine);
void opf_nest_print(const opf_nest *nest, opf_text *out);

#endif
