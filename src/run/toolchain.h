/* The C compiler as a process. */
#ifndef OPF_RUN_TOOLCHAIN_H
#define OPF_RUN_TOOLCHAIN_H

#include "run/session.h"

typedef struct opf_toolchain {
    opf_arena *arena;
    OPF_VEC(const char *) words; /* the compiler's own words, then all flags of a compilation */
    size_t n_compiler;           /* how many of them are the compiler's */
    const char *identity;        /* words and `--version`, for cache keys */
    const char *command;         /* identity and flags, as stored beside the object */
} opf_toolchain;

/* Finds the compiler and asks its version. Reports "compiler" where it cannot be started. */
opf_status opf_toolchain_find(opf_toolchain *out, const opf_machine *machine, const opf_compile_options *options, opf_arena *arena, opf_diags *diags);

/* Other compilers for some of the files (NULL entries: the usual one): who they are goes into `command`. Reports "compiler" where one
 * cannot be started. */
opf_status opf_toolchain_add(opf_toolchain *toolchain, const char *const *compilers, int count, opf_diags *diags);

/* Compiles what lies in `folder`: names[i] becomes <i>.o, up to `jobs` compilers at once; then, unless only objects are wanted,
 * links these and those of `linked` to folder/program.so. */
typedef struct opf_compilation {
    const opf_toolchain *toolchain;
    const char *folder;
    int count;
    const char *const *names;
    const char *const *compilers; /* of each of them; NULL, or NULL entries: the toolchain's own */
    const char *const *own;    /* opf_sources.own */
    int n_linked;
    const char *const *linked; /* paths of objects that are there already */
    bool objects_only;
    const opf_compile_options *options;
    opf_diags *diags;
} opf_compilation;
opf_status opf_toolchain_compile(const opf_compilation *compilation);

#endif
