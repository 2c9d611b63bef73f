/* The parts of a program's main file. */
#ifndef OPF_EMIT_MAIN_H
#define OPF_EMIT_MAIN_H

#include "emit/emit.h"

/* Symbols that a function of the main file mentions, printed as `const int64_t NAME = from[k];` at its top. */
typedef struct opf_mentions {
    const opf_program *program;
    bool *used; /* by position in the program's symbols */
} opf_mentions;

opf_mentions opf_mentions_new(const opf_program *program, opf_arena *arena);
void opf_mentions_add(opf_mentions *mentions, const opf_expr *e); /* NULL is fine */
void opf_mentions_print(const opf_mentions *mentions, const char *from, opf_text *out);

/* A dim in arithmetic that saturates (opf_main.h). */
void opf_emit_size(opf_dim dim, opf_text *out);

/* `if (!(…)) return N;` for one of the program's checks. */
void opf_emit_guard(const opf_program *program, size_t check, opf_text *out);

void opf_emit_main_sizes(const opf_program *program, opf_text *out); /* solve, output_dims, slots, workspace_bytes */
void opf_emit_main_prepare(const opf_program *program, opf_text *out);
void opf_emit_main_run(const opf_program *program, opf_text *out);
/* What a generated file starts with; is_main: it holds the program's run, and so what that needs. */
void opf_emit_prelude(const opf_program *program, bool is_main, opf_text *out);
/* The same of a file that holds the whole program and stands alone behind `header` (its text): only what `needing`, the rest of the file,
 * needs. */
void opf_emit_prelude_for(const opf_program *program, const char *header, const char *needing, opf_text *out);
void opf_emit_lanes(int lanes, opf_text *out); /* before the prelude of a file whose vectors are narrower than the machine's */
/* Takes the memory of a buffer whose size has no bound, `bytes` of it, in step `index`; nothing for other buffers. */
void opf_emit_take(const opf_program *program, int buffer, opf_dim bytes, int index, opf_text *out);
/* Ends the run where step `index` could not be done. */
void opf_emit_step_failed(int index, opf_text *out);
/* The address of a buffer's bytes, and what it is. */
void opf_emit_buffer(const opf_program *program, int buffer, opf_text *out);
void opf_emit_place(const opf_program *program, int buffer, opf_text *out); /* without following the pointer of one that is found */
void opf_emit_buffer_comment(const opf_program *program, int buffer, opf_text *out);

/* What a step computes, as a comment; the arrays p and d of its kernel's arguments, `number` behind their names. */
void opf_emit_step_banner(const opf_program *program, const opf_step *step, opf_text *out);
void opf_emit_arguments(const opf_program *program, const opf_step *step, const char *number, opf_text *out);
/* The steps side by side from step `first` on. */
void opf_emit_beside(const opf_program *program, int first, opf_text *out);

/* The library kernels that the program calls, and one call. */
void opf_emit_library_kernels(const opf_program *program, opf_text *out);
void opf_emit_library_call(const opf_program *program, const opf_step *step, int index, const opf_mentions *mentions, opf_text *out);
void opf_emit_library_mentions(const opf_program *program, const opf_step *step, opf_mentions *mentions);

/* Steps of control flow, printed at the depth of `run`; false for other steps. */
bool opf_emit_control(const opf_program *program, const opf_step *step, int index, const opf_mentions *mentions, opf_text *out);
bool opf_emit_control_mentions(const opf_program *program, const opf_step *step, opf_mentions *mentions);
/* `frame->symbols[k] = NAME = value;`: a size that a run finds. */
void opf_emit_symbol_set(const opf_program *program, const opf_symbol *symbol, const char *value, const opf_mentions *mentions, opf_text *out);

/* True where slot `slot` holds anything. */
static inline bool opf_slot_used(const opf_program *program, size_t slot) { return program->slots.data[slot].sizes.count > 0; }
/* True where steps find sizes as the program runs. */
bool opf_program_has_counts(const opf_program *program);
/* True where some step needs scratch for its parts. */
bool opf_program_has_scratch(const opf_program *program);
/* The scratch of the step's parts comes from the heap: its size has no bound. */
bool opf_step_finds_scratch(const opf_program *program, const opf_step *step);

#endif
