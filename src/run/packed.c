/* Packed constants: made once by the program's own `prepare`, stored in the cache, mapped from then on.
 * Their name is a hash of what they are made of: the packing kernels with their flags, and the constants' bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "run/cache.h"
#include "run/runner.h"

static opf_hash hash_string(const char *text) { return opf_hash_bytes(text, strlen(text)); }

/* What the elements are made of. Most of them are not needed again: the file's pages need not stay. */
static opf_hash hash_tensor(const opf_tensor *tensor) {
    const opf_scaling *scaling = tensor->scaling;
    opf_hash key = opf_hash_bytes(tensor->data, tensor->bytes);
    opf_tensor_release(tensor);
    if (!scaling) return key;
    int64_t layout[] = {tensor->dtype, scaling->channels, scaling->stride, scaling->group};
    key = opf_hash_combine(key, opf_hash_bytes(layout, sizeof layout));
    return opf_hash_combine(key, opf_hash_bytes(scaling->factors, (size_t)(tensor->elements / scaling->group * scaling->channels) * sizeof *scaling->factors));
}

/* The weight that a step of `prepare` reads. */
static size_t weight_of(const opf_program *program, size_t step) {
    return (size_t)opf_program_storage(program, program->prepare.data[step].buffers[0])->index;
}

/* Of these files: versions of opfuse that write others share the cache, not the names. */
static const char form[] = "packed constants, checked in pieces";

static opf_hash key_of(const opf_program *program) {
    opf_hash key = opf_hash_combine(hash_string(form), hash_string(program->machine->flags));
    for (size_t i = 0; i < program->prepare.count; i++) {
        const opf_step *step = &program->prepare.data[i];
        const opf_tensor *tensor = program->weights.data[weight_of(program, i)].tensor;
        int64_t place[] = {program->machine->lanes, opf_program_storage(program, step->buffers[1])->offset, program->packed_bytes};
        key = opf_hash_combine(key, hash_string(program->kernels.data[step->kernel].body));
        key = opf_hash_combine(key, opf_hash_bytes(place, sizeof place));
        key = opf_hash_combine(key, hash_tensor(tensor));
    }
    return key;
}

/* Behind the constants stand the hash of their bytes and the file's own name: one that was cut or damaged is not taken. */
enum { TAIL = sizeof(opf_hash) + sizeof(opf_hash_text) };

size_t opf_packed_size(const opf_mapping *file) { return file->size > TAIL ? file->size - TAIL : 0; }

static bool is_whole(const opf_mapping *file, const opf_hash_text *name) {
    size_t bytes = opf_packed_size(file);
    if (!bytes || memcmp(file->data + bytes + sizeof(opf_hash), name->text, sizeof name->text) != 0) return false;
    opf_hash check = opf_hash_large(file->data, bytes, OPF_PAGES_KEPT, opf_cores());
    return memcmp(&check, file->data + bytes, sizeof check) == 0;
}

bool opf_packed_map(opf_mapping *out, const char *cache, const opf_hash_text *name, opf_arena *arena) {
    const char *path = opf_arena_printf(arena, "%s/packed/%s", cache, name->text);
    opf_diags *quiet = opf_diags_new();
    bool good = opf_file_map(out, path, quiet) == OPF_OK;
    opf_diags_free(quiet);
    if (!good) return false;
    if (is_whole(out, name)) return true;
    opf_file_unmap(out);
    return false;
}

static bool map(opf_runner *runner, const char *cache, opf_arena *arena) {
    size_t bytes = (size_t)runner->program->packed_bytes;
    if (!opf_packed_map(&runner->packed_file, cache, &runner->packed_name, arena)) return false;
    if (opf_packed_size(&runner->packed_file) == bytes) {
        runner->packed = (void *)(uintptr_t)runner->packed_file.data;
        return true;
    }
    opf_file_unmap(&runner->packed_file);
    return false;
}

/* One constant after the other, so that the originals need not be in memory all at once. */
static opf_status make(opf_runner *runner) {
    size_t bytes = (size_t)runner->program->packed_bytes;
    runner->packed = opf_runner_memory(bytes);
    if (!runner->packed) {
        opf_diag_add(runner->program->module->diags, OPF_ERROR, "memory", OPF_NO_PLACE, "no memory for %zu bytes of packed constants", bytes);
        return OPF_ERROR_SYSTEM;
    }
    memset(runner->packed, 0, bytes); /* no byte of the stored file is left to chance */
    opf_status status = OPF_OK;
    opf_frame frame = {.weights = runner->weights, .packed = runner->packed, .hook = &runner->hook};
    for (size_t i = 0; i < runner->program->prepare.count && status == OPF_OK; i++) {
        size_t weight = weight_of(runner->program, i);
        status = opf_runner_lend_weight(runner, weight);
        if (status == OPF_OK) runner->entry->prepare(&frame, (int)i);
        opf_runner_return_weight(runner, weight);
    }
    return status;
}

/* The copy in memory serves this run whether or not it can be stored: a full disk costs time, not the result. */
static void store(opf_runner *runner, const char *cache, opf_arena *arena) {
    opf_diags *quiet = opf_diags_new();
    const char *folder = opf_arena_printf(arena, "%s/packed", cache);
    size_t bytes = (size_t)runner->program->packed_bytes;
    opf_hash check = opf_hash_large(runner->packed, bytes, OPF_PAGES_OF_MEMORY, opf_cores());
    const opf_bytes parts[] = {{runner->packed, bytes}, {&check, sizeof check}, {runner->packed_name.text, sizeof runner->packed_name.text}};
    if (opf_folder_make(folder, quiet) == OPF_OK &&
        opf_file_write_parts(opf_arena_printf(arena, "%s/%s", folder, runner->packed_name.text), parts, OPF_COUNT(parts), quiet) == OPF_OK) {
        void *made = runner->packed;
        if (map(runner, cache, arena)) free(made);
    }
    opf_diags_free(quiet);
}

opf_status opf_runner_pack(opf_runner *runner, const opf_compile_options *options) {
    const opf_program *program = runner->program;
    if (!program->packed_bytes) return OPF_OK;
    const char *cache;
    opf_arena *arena = opf_arena_new();
    opf_status status = opf_cache_open(&cache, options, arena, program->module->diags);
    if (status == OPF_OK) {
        runner->packed_name = opf_hash_print(key_of(program));
        if (!map(runner, cache, arena)) {
            status = make(runner);
            if (status == OPF_OK) store(runner, cache, arena);
        }
    }
    opf_arena_free(arena);
    return status;
}
