/* Programs: what runs, in which order, on which bytes.
 *
 * plan  = fusion → nests (scheduled, equal ones shared) → steps, buffers with offsets as expressions of dims.
 * Buffers never move while a program runs; two values share bytes only when their lives do not overlap. */
#ifndef OPF_PLAN_PROGRAM_H
#define OPF_PLAN_PROGRAM_H

#include "loop/nest.h"
#include "ops/control.h"

/* Below this much work (opf_step.work times points) a kernel is not worth a second thread: what opf_abi.h calls OPF_WORK_OF_PART. */
enum { OPF_LITTLE_WORK = 30000 };
enum { OPF_WORKSPACE_ALIGN = 64 }; /* every value of the workspace and every packed constant starts at a multiple */

typedef enum opf_buffer_kind {
    OPF_BUFFER_INPUT,     /* graph input `index` */
    OPF_BUFFER_OUTPUT,    /* program output `index` */
    OPF_BUFFER_WEIGHT,    /* program->weights[index] */
    OPF_BUFFER_PACKED,    /* `offset` bytes into the packed block */
    OPF_BUFFER_WORKSPACE, /* `offset` bytes into slot `index` of the workspace */
    OPF_BUFFER_ALIAS      /* the bytes of buffer `index` from `within` on (views, parts of a concatenation); never a chain */
} opf_buffer_kind;

typedef struct opf_buffer {
    opf_buffer_kind kind;
    int index;
    int64_t offset;            /* packed and workspace */
    opf_dim within;            /* aliases: bytes, of sizes that are known when the run begins; NULL: 0 */
    const opf_value *value;    /* NULL for packed constants */
    opf_dim bytes;
    /* Parts of a concatenation that lie whole in it only where `in_front`, the sizes in front of its axis, is 1: there the bytes are those of
     * buffer `whole` (no alias, none of these) from `within_whole` on (NULL: the first), and its own place is empty. NULL: none such. */
    opf_dim in_front, within_whole;
    int whole;
    /* Its size has no bound: its place, of workspace or an output, holds a pointer to memory that the step which writes it
     * takes from the run's heap. */
    bool found;
    int first_step, last_step; /* life, first_step writes; -1 where it is there before the run */
} opf_buffer;

/* Workspace is a row of slots; a slot is as large as the largest of its sizes, rounded up to OPF_WORKSPACE_ALIGN. Values
 * of constant size are packed at exact offsets into slot 0, whose single size covers them all. Scratch of the parts
 * follows the last slot. */
typedef struct opf_slot { OPF_VEC(opf_dim) sizes; } opf_slot;

/* A constant that the program reads: handed over by its caller in this order. */
typedef struct opf_weight {
    const opf_value *value;    /* for names */
    const opf_tensor *tensor;
    bool read_by_steps;        /* false: only `prepare` reads it */
} opf_weight;

typedef struct opf_program_kernel {
    const opf_nest *nest;      /* of the first group that uses it */
    const char *name;          /* C identifier from operator names and content hash */
    const char *body;          /* text that equal kernels share */
    int n_symbols;
    const opf_symbol *const *symbols;
    bool left_out;             /* its code is empty: nobody looks at what the program computes with it */
} opf_program_kernel;

typedef struct opf_step {
    enum {
        OPF_RUN_KERNEL, OPF_RUN_COPY, OPF_RUN_FILL,
        OPF_RUN_LIBRARY,       /* a kernel of the prelude; sets the symbols that it counts */
        OPF_RUN_CHECK,         /* the run ends here where program->checks[check] does not hold */
        OPF_RUN_IF, OPF_RUN_ELSE, /* what follows runs where the condition (does not) hold; up to OPF_RUN_END */
        OPF_RUN_LOOP,          /* what follows, up to OPF_RUN_END, is repeated */
        OPF_RUN_GOES_ON,       /* takes over the condition for the next iteration */
        OPF_RUN_END,
        OPF_RUN_SET,           /* sizes of control->sizes take their values number `which`, all at once */
        OPF_RUN_SLICE,         /* to = this iteration's slice of from */
        OPF_RUN_STACK          /* this iteration's slice of to = from */
    } kind;
    int kernel;                /* index into program->kernels */
    const opf_nest *nest;      /* of this step's own group; NULL for all but kernels */
    const struct opf_library_call *library; /* library: with the node's name in `node` */
    const opf_node *node;
    const struct opf_control *control; /* marks, sizes, slices */
    opf_control_slices slices; /* slice, stack */
    int which;                 /* set */
    int loop;                  /* all within a loop that speak of it: the step that opens it */
    size_t check;
    int n_buffers;
    const int *buffers;        /* kernel: in argument order; copy: to, from; fill: to; library: operands, constants, results
                                  (-1 for those left out), scratch where it wants some; if, goes-on: condition; loop: trip
                                  count, condition, iteration, results (-1 for those left out); slice, stack: to, from */
    opf_dim unless;            /* kernels: the step is left out where this is 1; NULL: never */
    opf_dim bytes;             /* copies: how much of the buffers is in use */
    opf_dim units;             /* kernels: independent pieces of work */
    opf_dim points;            /* kernels: elements of the first result */
    double work;               /* kernels: about the float additions and bytes moved for each, at nominal sizes: decides how many
                                  parts are worth it */
    int beside;                /* kernels: n > 1: this and the n - 1 steps behind it depend on none of each other and may run at once, each
                                  on a thread of its own; -k: one of these, k behind their first; 0: alone */
    const opf_value *value;    /* copy and fill: what is written; fill takes its content; slice, stack: the slice */
} opf_step;

/* What must hold of the inputs' dims. input >= 0: dim `axis` of graph input `input` equals `want`. Else `guard`; where it is
 * of sizes that steps find, or of a branch, a step checks it (`counted`). */
typedef struct opf_condition {
    int input, axis;
    opf_dim want;
    const opf_guard *guard;
    bool counted;
} opf_condition;

typedef struct opf_program {
    opf_module *module;
    const opf_fusion *fusion;
    const opf_machine *machine;
    size_t n_symbols;
    opf_symbol_source *sources;          /* one a symbol, in the program's order of symbols; counts have input -1 */
    OPF_VEC(opf_condition) checks;       /* `solve` gives 1 + the number of the first that fails */
    OPF_VEC(const opf_value *) outputs;  /* the graph's, then the taps */
    OPF_VEC(opf_weight) weights;
    OPF_VEC(opf_buffer) buffers;
    OPF_VEC(opf_slot) slots;
    OPF_VEC(opf_program_kernel) kernels;
    OPF_VEC(opf_step) prepare;           /* run once: packs constants */
    OPF_VEC(opf_step) steps;
    int64_t packed_bytes;
} opf_program;

typedef struct opf_plan_options {
    const opf_machine *machine;
    const opf_schedule_source *schedules; /* of sub-graphs; NULL: the heuristic */
    /* Text of a nest's kernel without name and banner (opf_emit_kernel_body): nests of equal text are one kernel. */
    opf_status (*kernel_body)(const opf_nest *nest, opf_text *out);
    /* Every value that a kernel stores is an output too, behind the graph's own, in step order: for `verify --all`. The
     * kernels are those of the plain program. */
    bool tap_all;
} opf_plan_options;

/* Schedules of all kernel groups, by `schedules` where that has one (NULL: by the heuristic alone), in group order: nests[group->id], NULL for groups that need no code. (arena) */
opf_status opf_plan_nests(const opf_nest *const **out, const opf_fusion *fusion, const opf_machine *machine, const opf_schedule_source *schedules);
opf_status opf_plan(opf_program **out, const opf_fusion *fusion, const opf_nest *const *nests, const opf_plan_options *options);
void opf_program_print(const opf_program *program, opf_text *out);

/* The buffer that holds the bytes of `buffer`: itself, or what it is an alias of. */
const opf_buffer *opf_program_storage(const opf_program *program, int buffer);
/* The one that holds them at sizes where a part lies in its whole; NULL: `buffer` is of no such part. */
const opf_buffer *opf_program_whole(const opf_program *program, int buffer);

#endif
