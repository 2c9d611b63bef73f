/* Many programs in one C file: for test suites, where a compiler's start-up costs more than a program. */
#ifndef OPF_RUN_UNIT_H
#define OPF_RUN_UNIT_H

#include "run/session.h"

typedef struct opf_unit opf_unit;

opf_unit *opf_unit_new(void);
void opf_unit_free(opf_unit *unit);
/* Adds a program's sources under names of their own: its entry is `opf_entry_<number>`. Equal preludes stand once. */
void opf_unit_add(opf_unit *unit, const opf_sources *sources, int number);
size_t opf_unit_length(const opf_sources *sources); /* bytes of a program without the preludes */
const opf_text *opf_unit_text(const opf_unit *unit);
/* Compiles what was added into `folder`/program.so with the flags of the machine; the path in `out` (arena). */
opf_status opf_unit_compile(const char **out, const opf_unit *unit, const char *folder, const opf_machine *machine,
                            const opf_compile_options *options, opf_arena *arena, opf_diags *diags);

#endif
