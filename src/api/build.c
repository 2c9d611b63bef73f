/* `build`: a shared object that needs nothing of opfuse, and its header. */
#include <ctype.h>
#include <string.h>

#include "api/session.h"
#include "base/checked.h"

typedef struct library {
    opf_session *session;
    opf_arena *arena;
    const char *path, *header_path, *folder;
    opf_library emitted;
    opf_text data;             /* constants in the order of the program's weights, then the packed ones */
} library;

/* "models/net v2.so" → net_v2 */
static const char *identifier_of(const char *path, opf_arena *arena) {
    const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path, *dot = strrchr(stem, '.');
    size_t length = dot && dot > stem ? (size_t)(dot - stem) : strlen(stem);
    char *name = opf_arena_printf(arena, "%s%.*s", isdigit((unsigned char)stem[0]) || !length ? "model_" : "", (int)length, stem);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    return name;
}

static const char *header_of(const char *path, opf_arena *arena) {
    size_t length = strlen(path);
    bool so = length > 3 && strcmp(path + length - 3, ".so") == 0;
    return opf_arena_printf(arena, "%.*s.h", (int)(so ? length - 3 : length), path);
}

static void align_data(opf_text *data) {
    static const char zeros[OPF_WORKSPACE_ALIGN];
    opf_text_add_n(data, zeros, (OPF_WORKSPACE_ALIGN - data->length % OPF_WORKSPACE_ALIGN) % OPF_WORKSPACE_ALIGN);
}

static opf_status write_data(library *l) {
    const opf_program *program = l->session->pipeline.program;
    int64_t *offsets = OPF_ARRAY(l->arena, int64_t, program->weights.count + 1);
    for (size_t i = 0; i < program->weights.count; i++) {
        const opf_weight *weight = &program->weights.data[i];
        offsets[i] = -1;
        if (!weight->read_by_steps) continue;
        align_data(&l->data);
        offsets[i] = (int64_t)l->data.length;
        opf_tensor_copy(weight->tensor, opf_text_add_room(&l->data, weight->tensor->bytes));
    }
    align_data(&l->data);
    l->emitted.data_offsets = offsets;
    l->emitted.packed_offset = (int64_t)l->data.length;
    const void *packed = opf_runner_packed(l->session->runner);
    if (packed) opf_text_add_n(&l->data, packed, (size_t)program->packed_bytes);
    l->emitted.data = opf_arena_printf(l->arena, "%s/constants", l->folder);
    return opf_file_write(l->emitted.data, opf_text_string(&l->data), l->data.length, program->module->diags);
}

static opf_status write_library(library *l) {
    const opf_pipeline *pipeline = &l->session->pipeline;
    static const char *names[] = {"library.c"};
    opf_text source = {0}, header = {0};
    opf_emit_library_source(pipeline->program, &l->emitted, &source);
    opf_emit_library_header(pipeline->program, &l->emitted, &header);
    opf_sources more = {.count = 1, .names = names, .texts = &source};
    opf_compile_options options = opf_context_compile_options(pipeline->context);
    opf_status status = opf_compile_library(l->path, l->folder, pipeline->program, pipeline->object, &more, &options);
    if (status == OPF_OK) status = opf_file_write(l->header_path, header.data, header.length, pipeline->context->diags);
    opf_text_free(&source);
    opf_text_free(&header);
    return status;
}

opf_status opf_model_build(opf_model *model, const char *path) {
    opf_context *context = model->context;
    library l = {.arena = opf_arena_new(), .path = path};
    opf_module *module;
    opf_status status = opf_model_as_read(&module, model);
    if (status == OPF_OK) status = opf_model_refuse_unbound(model, module);
    if (status == OPF_OK) status = opf_session_make(&l.session, model, context->options.policy, false, false);
    char *folder = NULL;
    if (status == OPF_OK && l.session) status = opf_folder_temporary(&folder, l.arena, context->diags);
    if (status == OPF_OK && l.session) {
        l.folder = folder;
        l.header_path = header_of(path, l.arena);
        l.emitted.name = identifier_of(path, l.arena);
        const char *slash = strrchr(model->source.path, '/');
        l.emitted.model = slash ? slash + 1 : model->source.path;
        status = write_data(&l);
        if (status == OPF_OK) status = write_library(&l);
        opf_folder_remove(folder);
    }
    opf_text_free(&l.data);
    opf_session_free(l.session);
    opf_arena_free(l.arena);
    return status;
}
