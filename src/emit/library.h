/* A program as a library with a plain C interface. Private to src/emit. */
#ifndef OPF_EMIT_LIBRARY_H
#define OPF_EMIT_LIBRARY_H

#include "base/map.h"
#include "emit/emit.h"

/* The functions of the interface that run the program. */
typedef enum opf_entry_form {
    OPF_ENTRY_RUN,       /* NAME_run */
    OPF_ENTRY_RUN_DIMS,  /* NAME_run_dims: gives the shapes of the outputs too */
    OPF_ENTRY_RUN_ON,    /* NAME_run_on: both, and the caller's threads */
    OPF_ENTRY_RUN_AS     /* NAME_run_as: the same, by the version that the caller names */
} opf_entry_form;

/* "int NAME_run(…)", without what follows. */
void opf_emit_library_head(const opf_library *library, opf_entry_form form, opf_text *out);
/* The parameters and arguments of NAME_run_on, without parentheses. */
void opf_emit_run_parameters(const opf_library *library, opf_entry_form form, opf_text *out);
void opf_emit_run_arguments(const opf_library *library, opf_text *out);
/* The name that functions of what is emitted start with: the library's, or that of the version at hand; how they are linked. */
const char *opf_library_prefix(const opf_library *library);
const char *opf_library_linkage(const opf_library *library); /* "" or "static " */
/* NAME_run or NAME_run_dims, which call NAME_run_on. */
void opf_emit_library_run(const opf_library *library, opf_entry_form form, opf_text *out);
/* The block of constants, put into the object by the assembler; what declares it elsewhere. */
void opf_emit_library_data(const opf_library *library, opf_text *out);
/* The table of a version's functions; `there` false: without them. */
void opf_emit_version_table(const opf_library *library, bool there, opf_text *out);
/* What the compiler must define for the file of a version that is not for any machine to hold anything, as an expression of #if. */
void opf_emit_version_condition(const opf_machine *machine, opf_text *out);
/* What the header of several versions says more. */
void opf_emit_versions_interface(const opf_program *program, const opf_library *library, opf_text *out);
/* The program's functions as the interface calls them: by the entry table `opf_entry`, which has been declared, or by their own names. */
typedef enum opf_program_function { OPF_PROGRAM_SOLVE, OPF_PROGRAM_OUTPUT_DIMS, OPF_PROGRAM_OUTPUT_MOST, OPF_PROGRAM_WORKSPACE, OPF_PROGRAM_RUN } opf_program_function;
const char *opf_library_calls(const opf_library *library, opf_program_function function);
/* All functions behind the program's own. */
void opf_emit_library_functions(const opf_program *program, const opf_library *library, opf_text *out);

/* Of these, those that deal in sizes. What the solver refuses has numbers behind those of the program's checks and of the inputs bound
 * by value; the problems' texts, in order; the largest number. (library_sizes.c) */
void opf_emit_library_sizes(const opf_program *program, const opf_library *library, opf_text *out);
const char *opf_library_solver(const opf_program *program, const opf_library *library); /* the name of the function that gives symbols or a problem */
void opf_emit_size_problems(const opf_program *program, opf_text *out);
size_t opf_library_most_problem(const opf_program *program);

/* A kernel's text without guards and without helpers of names that `printed` holds; what it prints is noted there (shared.c). */
void opf_emit_shared_once(opf_interner *names, opf_map *printed, const char *kernel, opf_text *out);

/* Text as the inside of a C string literal; NAME as the inside of a macro's name. */
void opf_emit_quoted(const char *text, opf_text *out);
void opf_emit_upper(const char *name, opf_text *out);

#endif
