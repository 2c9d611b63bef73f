/* Inside of a runner, for the files of this folder. */
#ifndef OPF_RUN_RUNNER_H
#define OPF_RUN_RUNNER_H

#include "base/file.h"
#include "opf_threads.h"
#include "run/heap.h"
#include "run/image.h"
#include "run/session.h"

struct opf_runner {
    const opf_program *program; /* NULL: loaded from an image, nobody has asked for more */
    opf_image image;            /* what it was loaded from; blank where it was not */
    void *handle;
    const opf_entry_table *entry;
    opf_threads *threads;
    opf_hook hook;
    const void **weights;   /* as the entry wants them */
    void **copies;          /* own copies of weights whose bytes in the file are not aligned; NULL entries for the others */
    void *packed;           /* in `packed_file`, or of its own */
    opf_mapping packed_file;
    opf_hash_text packed_name;
    int64_t *symbols;
    void *workspace;
    size_t workspace_room, workspace_bytes;
    bool prepared;
    opf_runner_heap heap;
    const opf_frame *frame; /* of the run that is under way */
};

/* A runner without program: its threads are there. */
opf_runner *opf_runner_blank(int threads);
/* Loads the shared object and finds its entry; false, with dlerror or a NULL entry to tell why, where that fails. */
bool opf_runner_open(opf_runner *runner, const char *object, const char *entry);

/* packed.c: maps packed/NAME of the cache, where every byte is checked; false, quietly, where there is none that is whole. */
bool opf_packed_map(opf_mapping *out, const char *cache, const opf_hash_text *name, opf_arena *arena);
size_t opf_packed_size(const opf_mapping *file); /* of the constants in it; 0 where nothing is mapped */
/* packed.c: maps the packed constants from the cache, or makes them and stores them there. */
opf_status opf_runner_pack(opf_runner *runner, const opf_compile_options *options);

/* weights.c */
void opf_runner_room_for_weights(opf_runner *runner, size_t count);
opf_status opf_runner_bind_weights(opf_runner *runner);
/* A weight that a step of `prepare` reads, aligned for its sake; its memory is given back by the second call unless steps of
 * the run read it too. */
opf_status opf_runner_lend_weight(opf_runner *runner, size_t index);
void opf_runner_return_weight(opf_runner *runner, size_t index);

/* Memory aligned to 64, for large blocks to what huge pages need; NULL where there is none. Freed by free(). */
void *opf_runner_memory(size_t bytes);

#endif
