/* Running: C text → shared object (compiler, cache) → runner. */
#ifndef OPF_RUN_SESSION_H
#define OPF_RUN_SESSION_H

#include "base/hash.h"
#include "emit/emit.h"
#include "opf_abi.h"

typedef struct opf_compile_options {
    const char *cache;         /* folder; NULL: $OPFUSE_CACHE, else $XDG_CACHE_HOME/opfuse, else ~/.cache/opfuse */
    const char *compiler;      /* NULL: $CC, else cc; may hold arguments, separated by spaces */
    const char *level;         /* how much the compiler optimises; NULL: -O3 */
    int jobs;                  /* compilers at once; 0: the cores that the process may use */
    void (*progress)(void *data, const char *what, int done, int total); /* from the calling thread; may be NULL */
    void *progress_data;
} opf_compile_options;

/* A program's C files, as emitted. */
typedef struct opf_sources {
    int count;                 /* kernel files, then main */
    const char **names;        /* "kernels_0.c", …, "main.c" */
    const char **compilers;    /* of each file, where a schedule asks for one; NULL entries, or NULL: the usual one */
    opf_text *texts;
    const char **own;          /* per file: the path of a user's kernel that it holds; NULL: generated. NULL: all are */
    bool warm;                 /* set by opf_compile: the cache had their objects */
    opf_hash_text key;         /* set by opf_compile: the name of their entry in the cache */
} opf_sources;

opf_status opf_sources_emit(opf_sources **out, const opf_program *program); /* arena of the module */
void opf_sources_free(opf_sources *sources);                                /* the texts; NULL is fine */

/* Compiles the sources, or finds their object in the cache, which compares the stored sources; the object's path in `out`
 * (arena of the module). Safe against other processes, a full disk and a kill at any moment: an entry is made whole in a
 * folder of its own and renamed. Problems are reported ("compiler", "cache"). */
opf_status opf_compile(const char **out, const opf_program *program, opf_sources *sources, const opf_compile_options *options);
/* Objects that are there, and texts that are compiled around them. Nothing in `folder`, a scratch folder (opf_folder_temporary), outlives it. */
typedef struct opf_linking {
    const opf_machine *machine;  /* whose flags the texts are compiled with */
    const char *folder;
    const opf_sources *texts;    /* names and texts alone */
    const char *const *objects;
    int n_objects;
    const opf_compile_options *options;
    opf_arena *arena;
    opf_diags *diags;
} opf_linking;
/* A shared object, written whole or not at all. */
opf_status opf_link_shared(const opf_linking *linking, const char *path);
/* A static library of one object in which only the functions of `seen` (ended by NULL) are global; that object alone, in the folder. */
opf_status opf_link_archive(const opf_linking *linking, const char *path, const char *const *seen);
opf_status opf_link_object(const opf_linking *linking, const char **path, const char *const *seen);

/* What `doctor` tells. Text in the arena; NULL where there is none. */
const char *opf_compiler_identity(const opf_compile_options *options, opf_arena *arena); /* its words and version */
const char *opf_cache_folder(const opf_compile_options *options, opf_arena *arena);
bool opf_cache_writable(const char *folder);
/* Entries and bytes below the folder. */
void opf_cache_measure(const char *folder, int64_t *entries, int64_t *bytes);

typedef struct opf_runner opf_runner;

/* Loads a shared object and readies it: weights bound, packed constants mapped from the cache or made. Program and module
 * must outlive the runner. */
opf_status opf_runner_new(opf_runner **out, const opf_program *program, const char *object, const opf_compile_options *options, int threads);
/* The same for an object that holds several programs: `entry` names this one's (run/unit.h). */
opf_status opf_runner_new_named(opf_runner **out, const opf_program *program, const char *object, const char *entry, const opf_compile_options *options,
                                int threads);
void opf_runner_free(opf_runner *runner); /* NULL is fine */
const opf_entry_table *opf_runner_entry(const opf_runner *runner);
/* The packed constants, program->packed_bytes of them; NULL where there are none. */
const void *opf_runner_packed(const opf_runner *runner);

/* Solves the symbols for these input shapes, checks guards, sizes the workspace. Reports a failing guard in the terms of
 * the model. Allocates only when a larger workspace than ever before is needed. */
opf_status opf_runner_prepare(opf_runner *runner, const int64_t *const *input_dims);
/* Would it? Tells nothing. To be prepared again before the next run. */
bool opf_runner_takes(opf_runner *runner, const int64_t *const *input_dims);
/* Exact before a run too, unless sizes depend on data: those are exact after it. */
void opf_runner_output_dims(const opf_runner *runner, int output, int64_t *dims);
/* The largest shape that the output can have with the prepared sizes. */
void opf_runner_output_most(const opf_runner *runner, int output, int64_t *dims);
size_t opf_runner_workspace_bytes(const opf_runner *runner); /* of the prepared sizes */
/* Runs on the prepared sizes. Allocates nothing but what its steps take as they go: blocks that later runs use again. Reports
 * sizes found that do not fit each other, and steps that cannot be done. Outputs: an opf_list of a sequence or optional, a
 * pointer where the size has no bound (opf_buffer.found); what these lead to, and texts, hold until the next run. */
opf_status opf_runner_run(opf_runner *runner, const void *const *inputs, void *const *outputs);
/* Memory until the next run; NULL: there is none. Is this address of such memory? */
void *opf_runner_take(opf_runner *runner, size_t bytes);
bool opf_runner_holds(const opf_runner *runner, const void *address);
void opf_runner_trace(opf_runner *runner, void (*trace)(void *data, int step, int begin), void *data);

/* ---- replay.c: from within a trace ---- */

/* Values of the module's symbols by symbol index, as prepared, and as found so far by the run. (arena) */
int64_t *opf_runner_symbols(const opf_runner *runner, opf_arena *arena);
/* The bytes of a buffer of the program while it runs. */
void *opf_runner_bytes(const opf_runner *runner, int buffer, const int64_t *symbols);

int opf_cores(void); /* the cores that this process may use: affinity and cgroup quota */

#endif
