/* Inside of a runner, for the files of this folder. */
#ifndef OPF_RUN_RUNNER_H
#define OPF_RUN_RUNNER_H

#include "base/file.h"
#include "opf_threads.h"
#include "run/heap.h"
#include "run/session.h"

struct opf_runner {
    const opf_program *program;
    void *handle;
    const opf_entry_table *entry;
    opf_threads *threads;
    opf_hook hook;
    const void **weights;   /* as the entry wants them */
    void **copies;          /* own copies of weights whose bytes in the file are not aligned; NULL entries for the others */
    void *packed;           /* in `packed_file`, or of its own */
    opf_mapping packed_file;
    int64_t *symbols;
    void *workspace;
    size_t workspace_room, workspace_bytes;
    bool prepared;
    opf_runner_heap heap;
    const opf_frame *frame; /* of the run that is under way */
};

/* packed.c: maps the packed constants from the cache, or makes them and stores them there. */
opf_status opf_runner_pack(opf_runner *runner, const opf_compile_options *options);

/* weights.c */
opf_status opf_runner_bind_weights(opf_runner *runner);
/* Weights that only `prepare` reads, aligned for its sake; released by the second call. */
opf_status opf_runner_lend_weights(opf_runner *runner);
void opf_runner_return_weights(opf_runner *runner);

/* Memory aligned to 64, for large blocks to what huge pages need; NULL where there is none. Freed by free(). */
void *opf_runner_memory(size_t bytes);

#endif
