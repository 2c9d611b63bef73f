/* The machine table: what schedules and cost decisions know of a CPU. A row is chosen by CPU features or read from a file
 * (--machine FILE, JSON with these field names); never measured live, so that the same input gives the same code. */
#ifndef OPF_LOOP_MACHINE_H
#define OPF_LOOP_MACHINE_H

#include <stdint.h>

#include "base/diag.h"

typedef struct opf_machine {
    const char *name;          /* "generic", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "aarch64" */
    const char *flags;         /* compiler flags of the instruction set, space-separated; "" for generic */
    int lanes;                 /* float32 per vector: 4, 8 or 16; also defined as OPF_LANES in generated code */
    int vectors;               /* vector registers: 16 or 32 */
    int products;              /* of 8-bit integers that one lane multiplies and adds at once: 4 bytes, 2 of int16, or 1, as floats */
    int64_t l1_bytes, l2_bytes, l3_bytes;
    double flops_per_second;   /* one core, float32 FMA peak */
    double l1_bandwidth, l2_bandwidth, l3_bandwidth, dram_bandwidth; /* bytes per second, one core */
} opf_machine;

/* Tiles have a dozen sums then, so that each load and instruction beside their multiply-adds counts (docs/decisions/0163-windows-on-sixteen-registers.md). */
static inline bool opf_machine_has_few_vectors(const opf_machine *machine) { return machine->vectors < 32; }

/* Vectors of two halves of 128 bits: what moves within halves takes one instruction, gcc moves lanes across them one operand at a time. */
static inline bool opf_machine_has_halves(const opf_machine *machine) { return machine->lanes == 8; }

/* The row of the CPU that runs this (NULL, "" or "native"), or the named row, or the file: a JSON object with these field
 * names, "base" naming the row that fills the fields left out (default "generic"). Reports "machine" or "io". */
opf_status opf_machine_choose(opf_machine *out, const char *name_or_file, opf_arena *arena, opf_diags *diags);

/* The row of this name; NULL: there is none. */
const opf_machine *opf_machine_named(const char *name);
/* What a row of the table asks of an x86-64 CPU beyond the first of its kind, by the names of __builtin_cpu_supports; ended by NULL. In upper
 * case between underscores they are the compilers' macros. */
const char *const *opf_machine_features(const opf_machine *machine);
const char *opf_machine_architecture(const opf_machine *machine); /* the compilers' macro of what a row is for; NULL: any machine */

/* The table, best row first; whether this CPU can run code of a row. */
size_t opf_machine_count(void);
const opf_machine *opf_machine_at(size_t index);
bool opf_machine_runs(const opf_machine *machine);
/* A row of the table that this CPU cannot run. A machine from a file is its writer's business. */
bool opf_machine_is_foreign(const opf_machine *machine);

#endif
