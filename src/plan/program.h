/* Programs: what runs, in which order, on which bytes.
 *
 * plan  = fusion → nests (scheduled, equal ones shared) → steps, buffers with offsets as expressions of dims.
 * Buffers never move while a program runs; two values share bytes only when their lives do not overlap. */
#ifndef OPF_PLAN_PROGRAM_H
#define OPF_PLAN_PROGRAM_H

#include "loop/nest.h"

typedef enum opf_buffer_kind {
    OPF_BUFFER_INPUT,     /* graph input `index` */
    OPF_BUFFER_OUTPUT,    /* graph output `index` */
    OPF_BUFFER_WEIGHT,    /* program->weights[index] */
    OPF_BUFFER_PACKED,    /* offset into the packed block */
    OPF_BUFFER_WORKSPACE, /* slot `index` of the workspace */
    OPF_BUFFER_ALIAS      /* the bytes of buffer `index` (views) */
} opf_buffer_kind;

typedef struct opf_buffer {
    opf_buffer_kind kind;
    int index;
    int64_t offset;            /* packed only */
    const opf_value *value;    /* NULL for packed constants */
    opf_dim bytes;
    int first_step, last_step; /* life */
} opf_buffer;

/* Workspace is a row of slots; a slot is as large as the largest of its values. Offset = sum of the slots before it. */
typedef struct opf_slot { OPF_VEC(opf_dim) sizes; } opf_slot;

typedef struct opf_program_kernel {
    const opf_nest *nest;      /* of the first group that uses it */
    const char *name;          /* C identifier from operator names and content hash */
    int n_symbols;
    const opf_symbol *const *symbols; /* of `nest`; other users hand their own in the same order */
} opf_program_kernel;

typedef struct opf_step {
    enum { OPF_RUN_KERNEL, OPF_RUN_COPY, OPF_RUN_FILL } kind;
    int kernel;                /* index into program->kernels */
    const opf_group *group;
    int n_buffers;
    const int *buffers;        /* kernel: in argument order; copy: from, to; fill: to */
    int n_symbols;
    const opf_symbol *const *symbols;
    opf_dim units, scratch_bytes;
    const opf_value *value;    /* fill: whose content is written */
} opf_step;

typedef struct opf_program {
    opf_module *module;
    const opf_fusion *fusion;
    const opf_machine *machine;
    OPF_VEC(const opf_symbol *) symbols; /* of the program, all that any step or output needs */
    opf_symbol_source *sources;          /* one per symbol */
    OPF_VEC(const opf_value *) weights;
    OPF_VEC(opf_buffer) buffers;
    OPF_VEC(opf_slot) slots;
    OPF_VEC(opf_program_kernel) kernels;
    OPF_VEC(opf_step) prepare;           /* run once: packs constants */
    OPF_VEC(opf_step) steps;
    int64_t packed_bytes;
} opf_program;

opf_status opf_plan(opf_program **out, const opf_fusion *fusion, const opf_machine *machine);
void opf_program_print(const opf_program *program, opf_text *out);

#endif
