/* A schedule: the choices by which one kernel is computed, as numbers that can be named, stored and pinned.
 *
 * The heuristic makes every choice that is not asked for; what it made is told the same way (opf_nest.chosen), so that asking for
 * what was chosen gives the same code. A choice that a kernel does not have, or that does not fit its sizes, is refused with a
 * reason; nothing is ever silently left out. Text form: key=value, separated by white space (docs/tuning.md has the keys). */
#ifndef OPF_LOOP_SCHEDULE_H
#define OPF_LOOP_SCHEDULE_H

#include "base/hash.h"
#include "base/text.h"
#include "fuse/fuse.h"
#include "loop/machine.h"

typedef enum opf_knob {
    OPF_KNOB_ALGORITHM,      /* opf_algorithm */
    OPF_KNOB_CUT,            /* fusion: the first so many nodes of the group are a kernel of their own, the others another */
    OPF_KNOB_TILE_ROWS,      /* of the register tile */
    OPF_KNOB_TILE_VECTORS,
    OPF_KNOB_DEPTH_PASS,     /* depth steps a pass over the tiles; OPF_KNOB_ALL: one pass */
    OPF_KNOB_BLOCK_ROWS,     /* of a block of sums */
    OPF_KNOB_BLOCK_COLUMNS,
    OPF_KNOB_UNIT_ROWS,      /* of a unit of work, what parts share */
    OPF_KNOB_UNIT_COLUMNS,   /* columns; of windows over two axes: lines */
    OPF_KNOB_ORDER,          /* opf_order */
    OPF_KNOB_UNROLL,         /* depth steps of the tile written one behind the other */
    OPF_KNOB_PREFETCH,       /* floats of the first operand asked for ahead; OPF_KNOB_NONE */
    OPF_KNOB_AHEAD,          /* opf_ahead: what of the second operand is asked for ahead */
    OPF_KNOB_SECOND,         /* opf_second: how the second operand is read where it lies in rows */
    OPF_KNOB_ROWS,           /* of a block of rows */
    OPF_KNOB_ATTACH,         /* loops around the deepest of the values that are computed on their own */
    OPF_KNOB_OUTERMOST,      /* of a map's loops, from the outside: which one runs outermost */
    OPF_KNOB_INNERMOST,      /* from the inside: which one runs innermost */
    OPF_KNOB_CHUNK,          /* elements of a chunk */
    OPF_KNOB_SHARE,          /* elements of one long loop that a part takes at once */
    OPF_KNOB_TRANSPOSE,      /* opf_switch: what is read crosswise is transposed in blocks */
    OPF_KNOB_SPLIT,          /* opf_switch: one transcendental function, or a few operands, a loop */
    OPF_KNOB_STORES,         /* opf_stores_kind: of results that are larger than the last cache */
    OPF_KNOB_LANES,          /* floats of a vector, at most the machine's */
    OPF_KNOB_COMPILER,       /* opf_compiler */
    OPF_KNOBS
} opf_knob;

typedef enum opf_algorithm { OPF_BY_TILE = 1, OPF_BY_BANDS, OPF_BY_WINOGRAD_2, OPF_BY_WINOGRAD_4, OPF_BY_ROWS, OPF_BY_TURNED, OPF_BY_LOOPS } opf_algorithm;
typedef enum opf_order { OPF_ROWS_FASTEST = 1, OPF_COLUMNS_FASTEST } opf_order;
typedef enum opf_ahead { OPF_AHEAD_NONE = 1, OPF_AHEAD_PANEL, OPF_AHEAD_STEPS } opf_ahead;
typedef enum opf_second { OPF_SECOND_IN_PLACE = 1, OPF_SECOND_PACKED } opf_second;
typedef enum opf_switch { OPF_SWITCH_ON = 1, OPF_SWITCH_OFF } opf_switch;
typedef enum opf_stores_kind { OPF_STORES_CACHED = 1, OPF_STORES_PAST } opf_stores_kind;
typedef enum opf_compiler { OPF_COMPILER_GCC = 1, OPF_COMPILER_CLANG } opf_compiler;
enum { OPF_KNOB_ALL = -1, OPF_KNOB_NONE = -1 };

typedef struct opf_schedule { int64_t at[OPF_KNOBS]; } opf_schedule; /* 0: left to the heuristic; told: there is no such choice */

const char *opf_schedule_compiler(const opf_schedule *schedule); /* "gcc", "clang"; NULL: none is asked for */
const char *opf_knob_name(opf_knob choice);
/* Do they agree in the choices that decide the bits of results? */
bool opf_schedule_same_bits(const opf_schedule *a, const opf_schedule *b);
bool opf_schedule_is_empty(const opf_schedule *schedule);

/* "key<between>value" for each choice that is made, <end> behind each. */
void opf_schedule_print(const opf_schedule *schedule, const char *between, const char *end, opf_text *out);
void opf_knob_print(opf_knob choice, int64_t value, opf_text *out);
/* Sets one choice from its text. NULL, or what is wrong with it (arena). */
const char *opf_schedule_set(opf_schedule *schedule, const char *key, const char *value, opf_arena *arena);
/* The text form. NULL, or what is wrong with it (arena). */
const char *opf_schedule_parse(opf_schedule *out, const char *text, opf_arena *arena);

/* The first choice of `wanted` that `chosen` has not got; -1: all are met. */
int opf_schedule_unmet(const opf_schedule *wanted, const opf_schedule *chosen);

/* What a group computes, as a hash: operators, types, sizes (nominal ones where they are open) and stages, without names of
 * values; with the machine row and the accuracy that its code is made for. Equal groups have equal schedules. */
opf_hash opf_schedule_key(const opf_group *group, const opf_machine *machine);
/* "Conv Relu": the group's operators in order, for people. (arena of the module) */
const char *opf_schedule_operators(const opf_group *group);

/* Where schedules come from when a program is planned. */
typedef struct opf_schedule_source {
    /* NULL: the heuristic. */
    const opf_schedule *(*find)(void *data, const opf_group *group, const opf_machine *machine);
    /* It does not apply: an error (then that is returned), or the heuristic does instead (OPF_OK). */
    opf_status (*refuse)(void *data, const opf_group *group, const opf_machine *machine, const char *why);
    void *data;
} opf_schedule_source;

#endif
