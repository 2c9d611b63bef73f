/* `build -o FILE.so` and `FILE.a`. A version of several is one object of which nothing but its table is seen; the interface, compiled for
 * any machine, chooses among the tables. */
#include <string.h>

#include "api/build.h"
#include "run/sizes.h"

typedef struct linking {
    opf_building *b;
    opf_compile_options options;
    opf_linking base;
} linking;

static const char *header_of(const opf_building *b) {
    size_t tail = opf_build_ends_in(b->path, ".so") ? strlen(".so") : opf_build_ends_in(b->path, ".a") ? strlen(".a") : 0;
    return opf_arena_printf(b->arena, "%.*s.h", (int)(strlen(b->path) - tail), b->path);
}

static opf_status write_constants(opf_building *b) {
    b->library.data = opf_arena_printf(b->arena, "%s/constants", b->folder);
    return opf_file_write(b->library.data, opf_text_string(&b->data), b->data.length, b->model->context->diags);
}

/* Names of the interface; those that a build does not have do no harm. */
static const char *const *interface(const opf_building *b) {
    static const char *const functions[] = {"output_dims", "workspace_bytes", "workspace_bytes_on", "workspace_bytes_as", "run", "run_dims", "run_on", "run_as", "problem",
                                            "version", "version_runs", "version_name"};
    const char **seen = OPF_ARRAY(b->arena, const char *, OPF_COUNT(functions) + 1);
    for (size_t i = 0; i < OPF_COUNT(functions); i++) seen[i] = opf_arena_printf(b->arena, "%s_%s", b->library.name, functions[i]);
    return seen;
}

/* One version's objects and its part of the interface, as one object. */
static opf_status link_version(const linking *l, const opf_build_version *version, const char **object) {
    static const char *names[] = {"version.c"};
    const opf_pipeline *pipeline = &version->session->pipeline;
    opf_library library = opf_build_library(l->b, version);
    const char *seen[] = {library.version->table, NULL};
    opf_text source = {0};
    opf_emit_library_source(pipeline->program, &library, &source);
    opf_linking one = l->base;
    one.machine = pipeline->program->machine;
    one.folder = opf_arena_printf(l->b->arena, "%s/%s", l->b->folder, library.version->table);
    one.texts = &(opf_sources){.count = 1, .names = names, .texts = &source};
    one.objects = opf_objects_beside(pipeline->object, l->b->arena, &one.n_objects);
    opf_status status = opf_folder_make(one.folder, one.diags);
    if (status == OPF_OK) status = opf_link_object(&one, object, seen);
    opf_text_free(&source);
    return status;
}

/* The objects around which the interface is compiled, and the interface. */
static opf_status gather_objects(linking *l, opf_text *source) {
    opf_building *b = l->b;
    const opf_build_version *first = &b->versions[0];
    if (b->n_versions == 1) {
        opf_library library = opf_build_library(b, first);
        opf_emit_library_source(opf_build_program(b), &library, source);
        l->base.machine = opf_build_program(b)->machine;
        l->base.objects = opf_objects_beside(first->session->pipeline.object, b->arena, &l->base.n_objects);
        return OPF_OK;
    }
    opf_status status = OPF_OK;
    const char **objects = OPF_ARRAY(b->arena, const char *, b->n_versions);
    for (size_t v = 0; v < b->n_versions && status == OPF_OK; v++) status = link_version(l, &b->versions[v], &objects[v]);
    opf_emit_versions_source(opf_build_program(b), &b->library, NULL, source);
    l->base.machine = opf_machine_named("generic");
    l->base.objects = objects;
    l->base.n_objects = (int)b->n_versions;
    return status;
}

opf_status opf_build_object(opf_building *b, bool archive) {
    static const char *names[] = {"library.c"};
    opf_context *context = b->model->context;
    linking l = {.b = b, .options = opf_context_compile_options(context)};
    l.base = (opf_linking){.folder = b->folder, .options = &l.options, .arena = b->arena, .diags = context->diags};
    opf_text source = {0}, header = {0};
    opf_status status = write_constants(b);
    if (status == OPF_OK) status = gather_objects(&l, &source);
    l.base.texts = &(opf_sources){.count = 1, .names = names, .texts = &source};
    if (status == OPF_OK) status = archive ? opf_link_archive(&l.base, b->path, interface(b)) : opf_link_shared(&l.base, b->path);
    opf_emit_library_header(opf_build_program(b), &b->library, &header);
    if (status == OPF_OK) status = opf_file_write(header_of(b), header.data, header.length, context->diags);
    opf_text_free(&source);
    opf_text_free(&header);
    return status;
}
