/* Regular expressions, in the syntax of RE2 (github.com/google/re2/wiki/Syntax), as programs for the kernel text_match. */
#ifndef OPF_OPS_PATTERN_H
#define OPF_OPS_PATTERN_H

#include "ir/tensor.h"

typedef struct opf_pattern {
    const opf_tensor *code;   /* int32 [n, 3]: opf_lib_match.h */
    const opf_tensor *ranges; /* int32 [m, 2]: first and last character */
} opf_pattern;

/* All in the arena. False, and a reason in `why`, for what is no pattern or not known here: classes of Unicode (\p), flags
 * other than i, s and m, programs of more than a hundred thousand instructions. */
bool opf_pattern_compile(opf_pattern *out, const char *text, opf_arena *arena, const char **why);

#endif
