/* The database of schedules: one SQLite file, shared by processes.
 *
 *   schedules  kernel, cpu, threads, code of the heuristic's kernel → the best schedule so far, its code and time, the heuristic's, the date
 *   trials     kernel, cpu, threads, schedule, both codes → its share of the heuristic's time, < 0 where it failed: nothing is measured twice
 *
 * Codes (tune/code.h) keep apart what was measured on kernels that the generator writes otherwise by now, or in another version. "" stands
 * for a code that is not told.
 *
 * Each finding is a transaction of its own: a kill at any moment leaves the file whole and all findings before it. */
#ifndef OPF_TUNE_DATABASE_H
#define OPF_TUNE_DATABASE_H

#include "tune/tuning.h"

typedef struct opf_database opf_database;

/* The file that serves where none is named: schedules.db in the cache's folder. (arena) */
const char *opf_database_default(const char *cache, opf_arena *arena);

/* For reading (NULL where there is no such file), or for writing, made where it is not there. Reports "schedule" where the file is
 * damaged or something else. */
opf_status opf_database_open(opf_database **out, const char *path, bool write, opf_diags *diags);
void opf_database_close(opf_database *database); /* NULL is fine */

/* All of one kernel on this CPU, by threads, ascending (kernel NULL: of all kernels; cpu NULL: of all CPUs). (arena) */
opf_status opf_database_find(opf_database *database, const char *kernel, const char *cpu, opf_tunings *out, opf_arena *arena);
/* Keeps the better one where there is one for this kernel, CPU, number of threads and code of the heuristic's. *taken: this one it is. */
opf_status opf_database_merge(opf_database *database, const opf_tuning *tuning, bool *taken);
/* It does not hold: what was found beside the same code of the heuristic's goes. */
opf_status opf_database_forget(opf_database *database, const opf_tuning *tuning);

/* A schedule that was tried, and its share of the heuristic's time; < 0: it failed. */
opf_status opf_database_note(opf_database *database, const opf_tuning *tried, double share);
bool opf_database_tried(opf_database *database, const opf_tuning *tried, double *share);

#endif
