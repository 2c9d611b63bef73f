/* A stage as a program over lanes: the last plain axes are cut into blocks of lanes, and each instruction computes one
 * sub-expression for all lanes of a block. Private to src/eval.
 *
 * Every register has a level, the deepest loop that it depends on:
 *
 *   0            constants and symbols, once
 *   1 … outer    plain axes outside the block, one loop each
 *   outer + 1    the block
 *   …            reduce axes, one loop each, in the order that leaves least work to the innermost
 *
 * A register is uniform where all lanes have the same value; then it has one element. Integers and truth values are
 * exact int64, all floating types are double; in a program that is `exact` these hold numbers of their own type. */
#ifndef OPF_EVAL_LANES_H
#define OPF_EVAL_LANES_H

#include "ir/stage.h"

enum { OPF_LANES = 512, OPF_LANES_AXES = 2 * OPF_MAX_RANK, OPF_LANES_LEVELS = OPF_LANES_AXES + 3 };

/* A tensor that a stage reads. */
typedef struct opf_operand {
    opf_dtype dtype;
    bool wide;             /* elements are double (floating types) or int64 (all others), not stored as dtype says */
    int rank;
    const int64_t *dims;
    int64_t elements;
    const void *data;
} opf_operand;

/* Problem of one load; kept until the evaluation is over. */
typedef struct opf_lanes_fault {
    bool found;
    int tensor, axis;      /* axis -1: the position as a whole */
    int64_t index, extent;
} opf_lanes_fault;

/* constant + sum of factor * register */
typedef struct opf_linear {
    int64_t constant;
    int count;
    struct opf_linear_term { int reg; int64_t factor; } *terms;
} opf_linear;

typedef enum opf_lanes_code {
    OPF_LANES_LINEAR,      /* out = linear; integers */
    OPF_LANES_CHECK,       /* fault where linear + a is not in 0 … limit - 1 */
    OPF_LANES_LOAD,        /* out = tensor[linear + a], or its magnitude; 0 where masked out; a: register of lane offsets, or -1 */
    OPF_LANES_UNARY, OPF_LANES_BINARY,
    OPF_LANES_SELECT,      /* out = a ? b : c */
    OPF_LANES_CAST,
    OPF_LANES_AND_NOT      /* out = a && !b; masks */
} opf_lanes_code;

typedef struct opf_instruction {
    uint8_t code, op;
    uint8_t dtype;         /* of the operands; CAST: of the result */
    uint8_t from;          /* CAST: of the operand */
    bool magnitude;        /* LOAD: of the absolute value */
    int out, a, b, c;
    int mask;              /* lanes that may be read; -1: all */
    int tensor, axis;
    int64_t limit;
    opf_linear linear;     /* uniform registers only, but for LINEAR */
} opf_instruction;

typedef struct opf_register {
    bool uniform, real;
    bool lanes_only;       /* depends on nothing but the variables of the block */
    int level;
} opf_register;

typedef struct opf_constant { int reg; int64_t integer; double real; } opf_constant;

typedef struct opf_lanes {
    const opf_stage *stage;
    const opf_operand *tensors;
    bool exact;            /* every operation rounds to its own type, sums run in the order of their axes (exact.h) */
    int n_axes, n_reduce;
    int64_t extents[OPF_LANES_AXES];
    int64_t elements;      /* of the result */
    int outer;             /* plain axes outside the block: their extents beyond the chunked one */
    int64_t chunk;         /* values of axis `outer` in a full block; lanes = chunk * inner */
    int64_t inner;         /* product of the plain extents behind axis `outer` */
    int64_t blocks;        /* along axis `outer` */
    int order[OPF_LANES_AXES]; /* reduce axes, outermost first */
    int level_of[OPF_LANES_AXES], n_levels;
    OPF_VEC(opf_register) registers; /* 0 … n_axes + n_reduce - 1 are the variables */
    OPF_VEC(opf_instruction) code;
    struct opf_lanes_level { int *list; int count; } levels[OPF_LANES_LEVELS]; /* positions in code */
    struct opf_lanes_level layout; /* of the block's level, what is the same for every point of the outer axes */
    OPF_VEC(opf_constant) constants;
    int value, second;     /* registers of the stage's body; value -1: the product of factors below */
    int factors[2];        /* sum of products: accumulated without a register between */
    const opf_instruction *dot[2]; /* the factors' loads where the innermost loop is nothing but them; else NULL */
} opf_lanes;

/* Compiles the stage for concrete sizes. extents and symbols are numbers; NULL and a reason where it cannot. */
opf_lanes *opf_lanes_compile(opf_arena *arena, const opf_stage *stage, const opf_operand *tensors, const int64_t *extents,
                             const int64_t *symbols, bool exact, const char **why);
/* Computes the stage: double or int64 elements by its dtype, row-major. False: see fault. */
bool opf_lanes_run(const opf_lanes *lanes, void *result, opf_lanes_fault *fault);

/* Fills lanes->dot. */
void opf_lanes_find_dot(opf_lanes *lanes);

/* State of one thread: registers and accumulators. */
typedef struct opf_lanes_state {
    const opf_lanes *lanes;
    int count;             /* lanes of this block */
    int64_t block;         /* that the lanes' variables stand for; -1: none yet */
    union opf_cell { int64_t integer; double real; } **registers;
    struct opf_span { int64_t low, high; bool contiguous; } *spans; /* of LINEAR results */
    union opf_cell accumulator[OPF_LANES], companion[OPF_LANES]; /* companion: lost digits, or indices of extremes */
    bool started;          /* an extreme was seen */
    opf_lanes_fault fault;
} opf_lanes_state;

void opf_lanes_execute(opf_lanes_state *state, const opf_instruction *instruction);
void opf_lanes_reset(opf_lanes_state *state);      /* accumulators to the combiner's identity */
void opf_lanes_accumulate(opf_lanes_state *state); /* one more term */
/* Accumulates terms of the innermost reduce axis from `first` on by a way of its own; returns the first that is left. */
int64_t opf_lanes_dot(opf_lanes_state *state, int64_t first);
void opf_lanes_finish(opf_lanes_state *state);     /* the block's values into the accumulator */

#endif
