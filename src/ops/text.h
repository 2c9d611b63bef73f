/* Strings as library kernels, for operators that take them among other types. */
#ifndef OPF_OPS_TEXT_H
#define OPF_OPS_TEXT_H

#include "ops/library.h"

/* A constant of strings, one axis; the texts belong to the module. */
const opf_tensor *opf_text_table(opf_call *call, size_t count, const char *const *texts);
/* Cast between strings and numbers. */
opf_status opf_text_cast(opf_call *call, opf_dtype to);
/* Result 0: for each element of input 0, a string or a number, the value of its key, of equal keys the first; `otherwise`, one
 * element, for others. */
opf_status opf_text_lookup(opf_call *call, const opf_tensor *keys, const opf_tensor *values, const opf_tensor *otherwise);
/* Result 0, float32 with one more axis: which category each string of input 0 is. */
opf_status opf_text_one_hot(opf_call *call, size_t count, const char *const *categories);

#endif
