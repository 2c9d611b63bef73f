/* What was found for one kernel: a schedule that was measured on one kind of CPU, with one number of threads.
 *
 * As text, a section a kernel; what stands behind a # is not read. `--schedule FILE` needs the kernel and its choices alone:
 *
 *   [kernel 4d1605c924e14ad00db6195f66477d6f]
 *   operators = Conv Add Relu
 *   cpu = Intel(R) Xeon(R) Processor
 *   threads = 1
 *   default_ms = 0.4310
 *   best_ms = 0.3720
 *   date = 2026-11-30T00:40:11Z
 *   code = 18f3a8a01b2c6d55/90c1e7d2a4471b3e
 *   algorithm = winograd-4
 *   tile_rows = 8 */
#ifndef OPF_TUNE_TUNING_H
#define OPF_TUNE_TUNING_H

#include "base/diag.h"
#include "loop/schedule.h"

typedef struct opf_tuning {
    const char *kernel;        /* opf_schedule_key as text */
    const char *operators;     /* for people */
    const char *cpu;           /* opf_cpu_identity; NULL in a file of pins */
    int threads;
    double default_ms, best_ms;/* of one call: the heuristic's schedule, this one */
    const char *default_code, *best_code; /* what was measured (tune/code.h), the heuristic's kernel and this one; NULL: it is not told */
    int64_t date;              /* seconds since 1970 */
    opf_schedule schedule;
} opf_tuning;
typedef struct opf_tunings { OPF_VEC(opf_tuning) list; } opf_tunings;

/* The kind of CPU that runs this: what /proc/cpuinfo calls it. (arena) */
const char *opf_cpu_identity(opf_arena *arena);

void opf_tuning_print(const opf_tuning *tuning, opf_text *out);
/* Reads such a file. Reports "schedule" with the line where it is none. (arena) */
opf_status opf_tunings_read(opf_tunings *out, const char *path, opf_arena *arena, opf_diags *diags);

#endif
