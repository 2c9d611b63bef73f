/* Library kernels for exact evaluation: compiled as programs under --accuracy=exact have them. Private to src/eval. */
#ifndef OPF_EVAL_LIBRARY_EXACT_H
#define OPF_EVAL_LIBRARY_EXACT_H

#include "ops/library.h"

/* The kernel's function, every operation and sum of which rounds in order. */
void (*opf_library_exact(const opf_library_kernel *kernel))(const struct opf_lib_args *args);

#endif
