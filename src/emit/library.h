/* A program as a library with a plain C interface. Private to src/emit. */
#ifndef OPF_EMIT_LIBRARY_H
#define OPF_EMIT_LIBRARY_H

#include "base/map.h"
#include "emit/emit.h"

/* The functions of the interface that run the program. */
typedef enum opf_entry_form {
    OPF_ENTRY_RUN,       /* NAME_run */
    OPF_ENTRY_RUN_DIMS,  /* NAME_run_dims: gives the shapes of the outputs too */
    OPF_ENTRY_RUN_ON     /* NAME_run_on: both, and the caller's threads */
} opf_entry_form;

/* "int NAME_run(…)", without what follows. */
void opf_emit_library_head(const opf_library *library, opf_entry_form form, opf_text *out);
/* All functions behind the program's own `opf_entry`, which has been declared. */
void opf_emit_library_functions(const opf_program *program, const opf_library *library, opf_text *out);

/* A kernel's text without guards and without helpers of names that `printed` holds; what it prints is noted there (shared.c). */
void opf_emit_shared_once(opf_interner *names, opf_map *printed, const char *kernel, opf_text *out);

/* Text as the inside of a C string literal; NAME as the inside of a macro's name. */
void opf_emit_quoted(const char *text, opf_text *out);
void opf_emit_upper(const char *name, opf_text *out);

#endif
