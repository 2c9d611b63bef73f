/* Which schedules of a kernel are worth a try. */
#ifndef OPF_TUNE_SPACE_H
#define OPF_TUNE_SPACE_H

#include "tune/race.h"

typedef struct opf_space opf_space;

/* The space of one kernel; `compilers`: names of others than the usual one that can be started, ended by NULL. */
opf_space *opf_space_new(const opf_tunable *tunable, const opf_machine *machine, int threads, const char *const *compilers, opf_arena *arena);
/* The next candidates: what is one choice away from the best so far, or another algorithm, in the order in which the cost model
 * expects them to be fast; never the same code twice. Fills at most `most`; 0: there is nothing left around this one. */
int opf_space_next(opf_space *space, opf_candidate **out, int most);
/* Comes first, where it applies. */
void opf_space_suggest(opf_space *space, const opf_schedule *schedule);
/* A candidate of another kind: two kernels in place of one. Nothing is near to it. */
void opf_space_push(opf_space *space, const opf_candidate *candidate);
/* What is known of a candidate is told; the best one so far is what the next ones are near to. */
void opf_space_tell(opf_space *space, opf_candidate *candidate);
void opf_space_correct(opf_space *space, double ratio); /* of the best one, measured better */
const opf_candidate *opf_space_best(const opf_space *space); /* NULL: the heuristic's */

#endif
