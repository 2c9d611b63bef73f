/* How large compiled code is, and how much stack it takes. */
#ifndef OPF_RUN_SIZES_H
#define OPF_RUN_SIZES_H

#include "emit/emit.h"

/* Bytes; -1 where it cannot be told. */
typedef struct opf_object_sizes {
    int64_t text, data;        /* sections of code and read-only data; of initialised data */
    int64_t stack;             /* of the deepest chain of calls: run, a kernel, what it calls; about, since compilers inline */
} opf_object_sizes;

/* Of the objects that lie beside a compiled program (opf_compile), told by binutils' `size` and the compiler's stack
 * reports. */
opf_object_sizes opf_object_measure(const char *object, opf_arena *arena);
/* The objects that lie beside it, in order. (arena) */
const char **opf_objects_beside(const char *object, opf_arena *arena, int *n);

#endif
