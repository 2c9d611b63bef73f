/* Emission: program → C text. Kernels and main alike; there is no second executor. */
#ifndef OPF_EMIT_EMIT_H
#define OPF_EMIT_EMIT_H

#include "ops/library.h"
#include "plan/program.h"

/* One function `void NAME(const opf_args *args, int part, int parts)` with its banner, without the prelude.
 * Equal nests give equal text apart from name and banner: callers share kernels by this text. */
opf_status opf_emit_kernel(const opf_nest *nest, const char *name, opf_text *out);
opf_status opf_emit_private_kernel(const opf_nest *nest, const char *name, opf_text *out); /* static: not seen outside its file */
/* The body alone, for sharing: no name, no banner. */
opf_status opf_emit_kernel_body(const opf_nest *nest, opf_text *out);
/* The body and those helpers of the prelude that it needs, symbols by number: the same wherever the same code is compiled. Not C. */
opf_status opf_emit_whole_kernel(const opf_nest *nest, opf_text *out);

/* C text of a scalar expression. Loads are printed by the callback; variables by name. Used by all emitters. */
typedef struct opf_emit_scope {
    void (*load)(void *data, const opf_expr *load, opf_text *out);
    void (*var)(void *data, int position, opf_text *out);
    void *data;
    /* NULL, or tells whether an index expression is known not to be negative: then `/` and `%` stand for floordiv, floormod. */
    bool (*nonnegative)(void *data, const opf_expr *e);
    /* NULL, or prints the code that a load of a narrow floating type reads; false where it is held as a number. */
    bool (*code)(void *data, const opf_expr *load, opf_text *out);
} opf_emit_scope;
void opf_emit_expr(const opf_expr *e, const opf_emit_scope *scope, opf_text *out);
/* A dim as C text over the local names of the symbols (opf_emit_symbol); divisions call the prelude. */
void opf_emit_dim(opf_dim dim, opf_text *out);
void opf_emit_symbol(const opf_symbol *symbol, opf_text *out); /* its name, changed where C or generated code has taken it */
const char *opf_emit_ctype(opf_dtype dtype); /* "float", "int64_t", "unsigned char" for bool, … storage type */

/* Text fit for the inside of any comment. */
void opf_emit_comment(const char *text, opf_text *out);

/* The parts of the prelude that every generated file starts with, and what a file that holds kernels needs. */
const char *opf_prelude_abi(void);
const char *opf_prelude_hook(void); /* of these, what callers of a built model see, */
const char *opf_prelude_heap(void); /* and what those see whose model has strings, sequences or sizes without a bound */
const char *opf_prelude_kernels(void);

/* A program as one or more C files that compile alone: kernels spread over `n_kernel_files` (at least 1), balanced by
 * length, then main. (texts: caller frees; count is n_kernel_files + 1) */
opf_status opf_emit_program(const opf_program *program, int n_kernel_files, opf_text *files);
/* A user's own kernels that the program calls, each once; NULL beyond the last. */
const opf_library_kernel *opf_emit_own_at(const opf_program *program, size_t number);
/* The C files that hold them: what kernels get, the user's text, and for each kernel of it a function PREFIX_NAME that calls it. prefix
 * NULL: as opf_emit_program calls them, with line numbers of the user's file. */
size_t opf_emit_own_files(const opf_program *program);
const char *opf_emit_own_path(const opf_program *program, size_t file); /* of the user's file */
void opf_emit_own_file(const opf_program *program, size_t file, const char *prefix, opf_text *out);

/* One of several versions of a program, each for a row of the machine table: of one model, with the same inputs, outputs and checks. */
typedef struct opf_library_version {
    const opf_machine *machine;
    const char *table;         /* C identifier of its functions' table */
} opf_library_version;

/* A library around a program. `name` is the C identifier that all functions start with. Constants are one block of bytes:
 * weight i, if steps read it, at data_offsets[i] (-1: not there), the packed constants at packed_offset. */
typedef struct opf_library {
    const char *name;
    size_t n_versions;         /* 0: the program is the only one */
    const opf_library_version *versions; /* in order of preference */
    const opf_library_version *version;  /* what is emitted is of this one; NULL: of the whole */
    const char *model;         /* file name of the ONNX model */
    const char *checksum;      /* of that file */
    const char *data;          /* the file with the block, as the assembler is to find it; not read where the caller gives it */
    bool constants_given;      /* the caller of the functions hands over the block */
    bool one_file;             /* set by opf_emit_plain: the program's functions stand in the same file */
    int64_t data_bytes;
    uint64_t data_checksum;    /* FNV-1a of the block */
    const int64_t *data_offsets;
    int64_t packed_offset;
    bool takes_memory;         /* opf_program_takes_memory: the caller gives a heap */
    size_t workspace_bytes;    /* in one thread, where all sizes are fixed; else 0 */
} opf_library;
/* Its header, and its source: a file beside those of opf_emit_program. With library->version the source is that version's part. */
void opf_emit_library_header(const opf_program *program, const opf_library *library, opf_text *out);
void opf_emit_library_source(const opf_program *program, const opf_library *library, opf_text *out);
/* All of it as one C file that includes `header` and nothing else of ours: kernels, program and interface. With library->version that
 * version's part, which is empty where the file is compiled for a machine that lacks what the version asks for. */
opf_status opf_emit_plain(const opf_program *program, const opf_library *library, const char *header, opf_text *out);
/* Of several versions: what their files and the interface share, and the interface, which chooses one. `program`: any version's. `header`: the
 * file to include; NULL: its text stands there. */
void opf_emit_versions_header(const opf_library *library, opf_text *out);
void opf_emit_versions_source(const opf_program *program, const opf_library *library, const char *header, opf_text *out);

/* A program in C that runs such a library once: `data` is the file with what goes in and what must come out, each input and
 * then each output at its offset; `constants` the file of constants, NULL where they are inside. */
typedef struct opf_self_test {
    const char *header, *data, *constants;
    const opf_tensor *const *inputs, *const *outputs; /* of the graph */
    const int64_t *offsets;
    int64_t data_bytes;
} opf_self_test;
void opf_emit_self_test(const opf_program *program, const opf_library *library, const opf_self_test *test, opf_text *out);
/* True where a run takes memory from a heap. */
bool opf_program_takes_memory(const opf_program *program);
/* How many files of kernels suit the program: depends on the program alone, so that the same input gives the same text. */
int opf_emit_files(const opf_program *program);
/* The compiler that a schedule asks for in kernel file `file`: "gcc", "clang"; NULL: the usual one. */
const char *opf_emit_compiler(const opf_program *program, int file);

#endif
