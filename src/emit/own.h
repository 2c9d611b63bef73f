/* A user's own kernels in generated programs (docs/patterns.md): each is a C file beside the program. Private to src/emit. */
#ifndef OPF_EMIT_OWN_H
#define OPF_EMIT_OWN_H

#include "emit/main.h"

/* What main needs to call them; nothing where there are none. */
void opf_emit_own_declarations(const opf_program *program, opf_text *out);
/* Arguments and call of one; `index`: of the step. The operands' description stands in `in`, `out`, `dims` and `floats`. */
void opf_emit_own_call(const opf_step *step, int index, opf_text *out);

#endif
