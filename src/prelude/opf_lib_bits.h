/* The same bits under another type of the same width. in: X. out: Y of X's dims. */
#ifndef OPF_LIB_BITS_H
#define OPF_LIB_BITS_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif

static inline void opf_lib_bits(const opf_lib_args *a) { opf_lib_copy(&a->out[0], 0, &a->in[0], 0, opf_lib_elements(&a->in[0])); }

#endif
