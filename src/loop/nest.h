/* Loop nests: how a group of stages is computed. A nest is data: the heuristic proposes it, emit prints it.
 *
 * Results with one domain share a *root*: their loops. Every other stage is inlined into its readers, or *kept*: computed on
 * its own at a depth of the root's loops, into a register, a stack array or the part's scratch. The depth follows from the
 * readers' index maps: the stage's axes that are exactly the root's variables above that depth are bound to them, all others
 * are free and computed whole. Reductions are computed as
 *   - over a contiguous axis: the prelude's fixed-tree sum, max … of the elements or of chunks of the term; cheap terms are summed in four
 *     vectors, that tree's, as they are computed;
 *   - otherwise: accumulators over a chunk of a kept axis, reduce loops outside, chunk loop inside;
 *   - contractions whose operands separate (A[m,k] * B[k,n]): the register tile (loop/tile.h).
 *
 * The outcome is a tree of statements. Its expressions are those of expr/expr.h with two readings: a variable is
 * `variables[position]`, and a load has the number of one of the nest's buffers and one index, the element's offset (none
 * for registers). */
#ifndef OPF_LOOP_NEST_H
#define OPF_LOOP_NEST_H

#include "fuse/fuse.h"
#include "loop/machine.h"
#include "loop/schedule.h"

typedef enum opf_memory {
    OPF_MEMORY_INPUT,          /* argument: input `index` of the group */
    OPF_MEMORY_RESULT,         /* argument: result `index` of the group */
    OPF_MEMORY_SCRATCH,        /* of the part */
    OPF_MEMORY_STACK,
    OPF_MEMORY_REGISTER        /* one value */
} opf_memory;

typedef struct opf_nest_buffer {
    opf_memory memory;
    int index;
    opf_dtype dtype;
    const char *name;          /* wished for in generated code; the emitter makes it unique */
    opf_dim elements;          /* scratch; stack (a constant) */
    opf_dim offset;            /* scratch: bytes before it, a multiple of 64 */
    bool changes;              /* registers: assigned more than once */
} opf_nest_buffer;

typedef struct opf_nest_variable {
    const char *name;          /* wished for in generated code */
    opf_dim extent;            /* runs over 0 … extent-1 or part of it; free of variables */
} opf_nest_variable;

typedef enum opf_code_kind {
    OPF_CODE_NOTE,             /* a comment: `text` */
    OPF_CODE_SHARE,            /* `body` for each `variable` of this part's share of 0 … to-1, cut at multiples of step */
    OPF_CODE_LOOP,             /* `body` for `variable` = from, from + step … below to */
    OPF_CODE_IF,               /* `body` where `value` holds */
    OPF_CODE_INDEX,            /* variable = value, from here on */
    OPF_CODE_ARRAY,            /* stack array `buffer` exists from here on */
    OPF_CODE_CLEAR,            /* array `buffer` of four vectors of floats is zero from here on */
    OPF_CODE_STORE,            /* buffer[offset] = value; registers (offset NULL) come into being with their first store */
    OPF_CODE_REDUCE,           /* register buffer = [buffer combined with] the reduction of `to` contiguous elements */
    OPF_CODE_FRESH,            /* `body` where the unit is the part's first, or `value` holds (NULL: the first alone) */
    OPF_CODE_PRODUCT,          /* rows r below `to` and columns c of buffer[offset + r * value + c] = sum over k below depth of
                                  operand 0 [r * from + k] * operand 1 [k * limit + c], by a register tile; whole vectors are
                                  read and written behind the last column */
    OPF_CODE_TRANSPOSE,        /* buffer[offset + r * value + c] = operand 0 [c * from + r], r below limit, c below to; `past`: past
                                  the caches where lines are aligned to vectors; `gathered`: through an array */
    OPF_CODE_PAST,             /* buffer[offset + i] = operand 0 [i], i below to, past the caches */
    OPF_CODE_APART,            /* buffer[offset + i] = operand 0 [2 * i], operand 1 [i] = operand 0 [2 * i + 1], i below to; operand 1 is stored */
    OPF_CODE_ASK               /* nothing changes: asks for operand 0 [i], i below to, some such runs further on */
} opf_code_kind;

typedef struct opf_code opf_code;
typedef struct opf_block { OPF_VEC(opf_code *) list; } opf_block;

/* A run of elements in memory. */
typedef struct opf_run { int buffer; const opf_expr *offset; } opf_run;

struct opf_code {
    opf_code_kind kind;
    const char *text;
    int variable, buffer;
    int running;               /* reduce: array of the four vectors in which the rows' elements in front of the run were summed, -1: none */
    int64_t step;
    const opf_expr *from, *to, *limit, *offset, *value;
    opf_combiner combiner;     /* reduce: SUM … MAX */
    bool first;                /* reduce: the register takes the value, nothing is combined */
    bool declares;             /* store, reduce: the register comes into being here */
    bool past, gathered;       /* transpose */
    bool independent;          /* loop: its iterations do not touch what others of them write */
    int n_operands;            /* reduce: 1; 2: SUM of products */
    opf_run operands[2];
    const opf_expr *columns, *depth; /* product */
    const opf_expr *zeros;     /* product: NULL, or terms depth … zeros-1 have a first factor of 0: only what is NaN then counts */
    int height, width;         /* product: of the tile, in rows and vectors */
    opf_block body;
};

/* A constant operand in a layout of the schedule's own, computed once at build time by a kernel like any other:
 * `group` has the constant as its single input and the packed tensor as its single result. */
typedef struct opf_packed {
    int input;                 /* which input of the nest's group it replaces */
    opf_group *group;
    int64_t bytes;
} opf_packed;

/* The group that computes `stage` from the constant, its input 0: a packed constant. (arena) */
opf_group *opf_packing_group(opf_arena *arena, const opf_value *constant, opf_stage *stage);

/* Schedule of a contraction by register tiles, src/loop/tile.h. NULL for other nests. */
struct opf_tile;

/* A contraction and the pool behind it by bands of lines, src/loop/relay.h. NULL for other nests. */
struct opf_relay;

typedef struct opf_nest {
    const opf_group *group;
    const opf_machine *machine;
    opf_pool *pool;
    OPF_VEC(opf_nest_buffer) buffers;     /* the group's inputs, its results, then what the schedule adds */
    OPF_VEC(opf_nest_variable) variables;
    OPF_VEC(int) given;        /* of a fill (loop/band.h): variables that what stands around it has set; -1: extent 1 */
    opf_block code;
    struct opf_tile *tile;     /* not NULL: printed by the tile emitter, `code` is empty */
    struct opf_relay *relay;   /* not NULL: `code` is empty and there is no tile */
    OPF_VEC(opf_packed) packed;/* packed[i] is handed to the kernel behind inputs and results */
    opf_dim units;             /* independent pieces of work: no use for more parts than this */
    opf_dim scratch_bytes;     /* per part, multiple of 64; 0 for none */
    int64_t rescaled_columns;  /* not 0: a softmax goes by blocks of so many columns (loop/stream.c) … */
    int rescaled;              /* … and this stage, its powers, is computed relative to the largest of the blocks so far */
    double flops;
    int64_t bytes;
    const char *schedule;      /* one line for banners, logs and --dump-after=loop */
    const opf_schedule *wanted;/* choices asked for; NULL: none */
    opf_schedule chosen;       /* every choice that was there to be made */
} opf_nest;

/* Kernel arguments, in this order: the group's inputs, its results, then the packed constants.
 * Symbols: those that the nest uses, ascending by symbol index. (arena; count returned) */
int opf_nest_symbols(const opf_nest *nest, const opf_symbol *const **out);

/* Where an expression (or two) is evaluated: the ranges of its own variables. Nothing may be concluded from other
 * variables: their loops may be empty. */
opf_domain opf_nest_domain(const opf_nest *nest, const opf_expr *a, const opf_expr *b);

opf_status opf_nest_schedule(opf_nest **out, const opf_group *group, const opf_machine *machine);
/* The same with choices asked for. False, with one sentence (arena of the module) and no nest, where one of them does not apply. */
bool opf_nest_schedule_as(opf_nest **out, const opf_group *group, const opf_machine *machine, const opf_schedule *wanted, const char **why_not);
/* Compiled as the rest of a program for `machine`: with its lanes, by the usual compiler. */
static inline bool opf_nest_is_usual(const opf_nest *nest, const opf_machine *machine) {
    return nest->machine->lanes == machine->lanes && !nest->chosen.at[OPF_KNOB_COMPILER];
}
/* What is asked for; 0: nothing. */
static inline int64_t opf_nest_wants(const opf_nest *nest, opf_knob choice) { return nest->wanted ? nest->wanted->at[choice] : 0; }
void opf_nest_print(const opf_nest *nest, opf_text *out);

#endif
