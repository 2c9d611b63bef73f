/* Running: C text → shared object (compiler, cache) → session. */
#ifndef OPF_RUN_SESSION_H
#define OPF_RUN_SESSION_H

#include "emit/emit.h"
#include "opf_abi.h"

typedef struct opf_compile_options {
    const char *cache;         /* folder; NULL: $OPFUSE_CACHE, else $XDG_CACHE_HOME/opfuse, else ~/.cache/opfuse */
    const char *compiler;      /* NULL: $CC, else cc */
    int jobs;                  /* compilers at once; 0: the cores that the process may use */
    void (*progress)(void *data, const char *what, int done, int total);
    void *progress_data;
} opf_compile_options;

/* Emits and compiles (or finds in the cache, which compares the stored source) the program's shared object; its path in
 * `out` (arena of the module). Safe against other processes, a full disk and a kill at any moment. */
opf_status opf_compile(const char **out, const opf_program *program, const opf_compile_options *options);

typedef struct opf_runner opf_runner;

/* Loads a shared object and readies it: weights bound, packed constants mapped from the cache or made. */
opf_status opf_runner_new(opf_runner **out, const opf_program *program, const char *object, const opf_compile_options *options, int threads);
void opf_runner_free(opf_runner *runner);
const opf_entry_table *opf_runner_entry(const opf_runner *runner);

/* Solves the symbols for these input shapes, checks guards, sizes the workspace. Reports a failing guard in the terms of
 * the model. Allocates only when a larger workspace than ever before is needed. */
opf_status opf_runner_prepare(opf_runner *runner, const int64_t *const *input_dims);
void opf_runner_output_dims(const opf_runner *runner, int output, int64_t *dims);
/* Runs on the prepared sizes. Allocates nothing. */
opf_status opf_runner_run(opf_runner *runner, const void *const *inputs, void *const *outputs);
void opf_runner_trace(opf_runner *runner, void (*trace)(void *data, int step, int begin), void *data);

int opf_cores(void); /* the cores that this process may use: affinity and cgroup quota */

#endif
