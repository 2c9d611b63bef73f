/* `build`: a compiled model that needs nothing of opfuse: shared object, static library, or plain C. */
#include "api/build.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"

/* ---- names ---- */

/* "models/net v2.so" → net_v2 */
static const char *identifier_of(const char *path, opf_arena *arena) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin && path[begin - 1] != '/') begin--;
    const char *stem = path + begin, *dot = NULL;
    for (size_t i = 1; begin + i < end; i++)
        if (stem[i] == '.') dot = stem + i;
    size_t length = dot ? (size_t)(dot - stem) : end - begin;
    bool plain = length && !isdigit((unsigned char)stem[0]) && stem[0] != '.';
    char *name = opf_arena_printf(arena, "%s%.*s", plain ? "" : "model_", (int)length, stem);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) || (unsigned char)*c >= 0x80) *c = '_';
    return name;
}

bool opf_build_ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_plain(const char *path) { return path[strlen(path) - 1] == '/' || is_folder(path); }

/* ---- the model's file ---- */

/* Of the model's file, as a user can compute it with xxhsum -H2. */
static opf_status describe_model(opf_building *b) {
    const opf_source *source = &b->model->source;
    const char *slash = strrchr(source->path, '/');
    b->library.model = slash ? slash + 1 : source->path;
    opf_mapping file = {source->data, source->size};
    if (!source->data) {
        opf_status status = opf_file_map(&file, source->path, b->model->context->diags);
        if (status != OPF_OK) return status;
    }
    b->library.checksum = opf_arena_string(b->arena, opf_hash_print(opf_hash_bytes(file.data, file.size)).text);
    if (!source->data) opf_file_unmap(&file);
    return OPF_OK;
}

/* ---- all of it ---- */

const opf_program *opf_build_program(const opf_building *b) { return b->versions[0].session->pipeline.program; }

opf_library opf_build_library(const opf_building *b, const opf_build_version *version) {
    opf_library library = b->library;
    library.data_offsets = version->data_offsets;
    library.packed_offset = version->packed_offset;
    if (b->n_versions > 1) library.version = &version->named;
    return library;
}

/* What callers of the whole see of its versions. */
static opf_status describe_versions(opf_building *b) {
    opf_library_version *versions = OPF_ARRAY(b->arena, opf_library_version, b->n_versions);
    size_t checks = opf_build_program(b)->checks.count;
    for (size_t v = 0; v < b->n_versions; v++) {
        const opf_program *program = b->versions[v].session->pipeline.program;
        versions[v] = b->versions[v].named;
        b->library.takes_memory = b->library.takes_memory || opf_program_takes_memory(program);
        if (program->checks.count == checks && program->n_symbols == opf_build_program(b)->n_symbols) continue;
        opf_diag_add(b->model->context->diags, OPF_ERROR, "internal", (opf_place){b->model->source.path, NULL, NULL, -1}, "the versions ask different things of the inputs");
        return OPF_ERROR_INTERNAL;
    }
    if (b->n_versions > 1) b->library.versions = versions, b->library.n_versions = b->n_versions;
    return OPF_OK;
}

static opf_status check_versions(opf_building *b) {
    opf_status status = OPF_OK;
    for (size_t v = 0; v < b->n_versions && status == OPF_OK; v++) status = opf_build_check(b, &b->versions[v]);
    return status == OPF_OK ? opf_build_measure(b) : status; /* of what may be another program now */
}

static opf_status make(opf_building *b) {
    opf_diags *diags = b->model->context->diags;
    opf_status status = describe_model(b);
    if (status == OPF_OK) status = opf_build_measure(b);
    if (status == OPF_OK && b->options->check) status = check_versions(b);
    if (status == OPF_OK) status = describe_versions(b);
    if (status != OPF_OK) return status;
    opf_build_gather(b);
    char *folder;
    status = opf_folder_temporary(&folder, b->arena, diags);
    if (status != OPF_OK) return status;
    b->folder = folder;
    status = is_plain(b->path) ? opf_build_plain(b) : opf_build_object(b, opf_build_ends_in(b->path, ".a"));
    opf_folder_remove(folder);
    return status;
}

opf_status opf_model_build_as(opf_model *model, const char *path, const opf_build_options *options, char **report) {
    opf_building b = {.model = model, .arena = opf_arena_new(), .path = path, .options = options};
    opf_module *module;
    if (report) *report = NULL;
    b.library.name = identifier_of(path, b.arena);
    bool *one_file = &model->context->options.one_file, before = *one_file;
    *one_file = is_plain(path);
    opf_status status = opf_model_as_read(&module, model);
    if (status == OPF_OK) status = opf_model_refuse_unbound(model, module);
    if (status == OPF_OK) status = opf_build_versions(&b, options->targets);
    if (status == OPF_OK && b.n_versions) status = make(&b);
    if (status == OPF_OK && b.n_versions && report) {
        opf_text text = {0};
        opf_build_report(&b, &text);
        *report = opf_text_take(&text);
    }
    *one_file = before;
    opf_text_free(&b.data);
    opf_text_free(&b.remarks);
    opf_build_versions_free(&b);
    opf_arena_free(b.arena);
    return status;
}

opf_status opf_model_build(opf_model *model, const char *path) { return opf_model_build_as(model, path, &(opf_build_options){0}, NULL); }
