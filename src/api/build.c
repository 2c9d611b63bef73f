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

static bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_plain(const char *path) { return path[strlen(path) - 1] == '/' || is_folder(path); }

static const char *header_of(const opf_building *b) {
    size_t length = strlen(b->path), tail = ends_in(b->path, ".so") ? 3 : ends_in(b->path, ".a") ? 2 : 0;
    return opf_arena_printf(b->arena, "%.*s.h", (int)(length - tail), b->path);
}

/* ---- constants ---- */

static void align_data(opf_text *data) {
    static const char zeros[OPF_WORKSPACE_ALIGN];
    opf_text_add_n(data, zeros, (OPF_WORKSPACE_ALIGN - data->length % OPF_WORKSPACE_ALIGN) % OPF_WORKSPACE_ALIGN);
}

static void gather_constants(opf_building *b) {
    const opf_program *program = b->session->pipeline.program;
    int64_t *offsets = OPF_ARRAY(b->arena, int64_t, program->weights.count + 1);
    for (size_t i = 0; i < program->weights.count; i++) {
        const opf_weight *weight = &program->weights.data[i];
        offsets[i] = -1;
        if (!weight->read_by_steps || weight->tensor->dtype == OPF_STRING) continue;
        align_data(&b->data);
        offsets[i] = (int64_t)b->data.length;
        opf_tensor_copy(weight->tensor, opf_text_add_room(&b->data, weight->tensor->bytes));
    }
    align_data(&b->data);
    b->library.data_offsets = offsets;
    b->library.packed_offset = (int64_t)b->data.length;
    const void *packed = opf_runner_packed(b->session->runner);
    if (packed) opf_text_add_n(&b->data, packed, (size_t)program->packed_bytes);
    b->library.data_bytes = (int64_t)b->data.length;
}

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

/* ---- shared object and static library ---- */

static opf_status write_constants(opf_building *b) {
    b->library.data = opf_arena_printf(b->arena, "%s/constants", b->folder);
    return opf_file_write(b->library.data, opf_text_string(&b->data), b->data.length, b->model->context->diags);
}

static const char *const *interface(const opf_building *b) {
    static const char *const functions[] = {"output_dims", "workspace_bytes", "workspace_bytes_on", "run", "run_dims", "run_on", "problem"};
    const char **seen = OPF_ARRAY(b->arena, const char *, OPF_COUNT(functions) + 1);
    for (size_t i = 0; i < OPF_COUNT(functions); i++) seen[i] = opf_arena_printf(b->arena, "%s_%s", b->library.name, functions[i]);
    return seen;
}

static opf_status write_object(opf_building *b, bool archive) {
    const opf_pipeline *pipeline = &b->session->pipeline;
    static const char *names[] = {"library.c"};
    opf_text source = {0}, header = {0};
    opf_status status = write_constants(b);
    if (status != OPF_OK) return status;
    opf_emit_library_source(pipeline->program, &b->library, &source);
    opf_emit_library_header(pipeline->program, &b->library, &header);
    opf_sources more = {.count = 1, .names = names, .texts = &source};
    opf_compile_options options = opf_context_compile_options(pipeline->context);
    if (archive) status = opf_compile_archive(b->path, b->folder, pipeline->program, pipeline->object, &more, interface(b), &options);
    else status = opf_compile_library(b->path, b->folder, pipeline->program, pipeline->object, &more, &options);
    if (status == OPF_OK) status = opf_file_write(header_of(b), header.data, header.length, pipeline->context->diags);
    opf_text_free(&source);
    opf_text_free(&header);
    return status;
}

opf_status opf_build_shared(opf_building *b) { return write_object(b, false); }
opf_status opf_build_archive(opf_building *b) { return write_object(b, true); }

/* ---- all of it ---- */

static opf_status make(opf_building *b) {
    opf_diags *diags = b->model->context->diags;
    opf_status status = describe_model(b);
    if (status == OPF_OK) status = opf_build_measure(b);
    if (status == OPF_OK && b->options->check) status = opf_build_check(b);
    if (status == OPF_OK && b->options->check && b->session) status = opf_build_measure(b); /* of what may be another program now */
    if (status != OPF_OK || !b->session) return status;
    b->library.takes_memory = opf_program_takes_memory(b->session->pipeline.program);
    gather_constants(b);
    char *folder;
    status = opf_folder_temporary(&folder, b->arena, diags);
    if (status != OPF_OK) return status;
    b->folder = folder;
    if (is_plain(b->path)) status = opf_build_plain(b);
    else if (ends_in(b->path, ".a")) status = opf_build_archive(b);
    else status = opf_build_shared(b);
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
    if (status == OPF_OK) status = opf_session_make(&b.session, model, model->context->options.policy, false, false);
    if (status == OPF_OK && b.session) status = make(&b);
    if (status == OPF_OK && b.session && report) {
        opf_text text = {0};
        opf_build_report(&b, &text);
        *report = opf_text_take(&text);
    }
    *one_file = before;
    opf_text_free(&b.data);
    opf_text_free(&b.remarks);
    opf_session_free(b.session);
    opf_arena_free(b.arena);
    return status;
}

opf_status opf_model_build(opf_model *model, const char *path) { return opf_model_build_as(model, path, &(opf_build_options){0}, NULL); }
