/* What a kernel's code is, as a hash. Times are true of a code: where another version of the generator writes other code for the same
 * kernel and schedule, they are not believed. */
#ifndef OPF_TUNE_CODE_H
#define OPF_TUNE_CODE_H

#include "emit/emit.h"

enum { OPF_CODE_DIGITS = 16 };

/* Of one nest, or of those that follow each other where a group is cut; with the compiler that the schedule asks for. */
opf_hash opf_code_of(const opf_nest *const *nests, int count, const opf_schedule *schedule);
/* By the heuristic, and by this schedule; false where there is no such kernel. */
bool opf_code_of_default(opf_hash *out, const opf_group *group, const opf_machine *machine);
bool opf_code_of_schedule(opf_hash *out, const opf_group *group, const opf_machine *machine, const opf_schedule *schedule);

/* OPF_CODE_DIGITS hexadecimal digits. (arena) */
const char *opf_code_print(opf_hash code, opf_arena *arena);

#endif
