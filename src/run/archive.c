/* A compiled program as a static library: one object in which nothing but the interface is seen from outside, so that several
 * models go into one program. By the compiler's linker, objcopy and ar. */
#include <string.h>

#include "base/file.h"
#include "base/process.h"
#include "run/sizes.h"
#include "run/toolchain.h"

/* Runs a tool; reports what it said where it fails. */
static opf_status call(const char *const *argv, opf_diags *diags) {
    opf_process *process;
    opf_text said = {0};
    int code = 0;
    opf_status status = opf_process_start(&process, argv, NULL);
    if (status != OPF_OK) {
        opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "compiler", OPF_NO_PLACE, "'%s' cannot be started", argv[0]);
        opf_diag_hint(diags, diag, "a static library needs binutils (Debian: apt install binutils)");
        return status;
    }
    status = opf_process_wait(process, &code, NULL, &said);
    if (status == OPF_OK && code != 0) {
        opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "compiler", OPF_NO_PLACE, "'%s' failed (exit status %d)", argv[0], code);
        opf_diag_detail(diags, diag, "%.*s", (int)strcspn(opf_text_string(&said), "\n"), opf_text_string(&said));
        status = OPF_ERROR_SYSTEM;
    }
    opf_text_free(&said);
    return status;
}

/* All objects as one. */
static opf_status join(const opf_toolchain *toolchain, const char *own, const char *const *objects, int n, const char *out, opf_diags *diags) {
    OPF_VEC(const char *) words = {0};
    for (size_t i = 0; i < toolchain->n_compiler; i++) OPF_PUSH(toolchain->arena, &words, toolchain->words.data[i]);
    const char *const head[] = {"-r", "-nostdlib", "-o", out, own};
    for (size_t i = 0; i < OPF_COUNT(head); i++) OPF_PUSH(toolchain->arena, &words, head[i]);
    for (int i = 0; i < n; i++) OPF_PUSH(toolchain->arena, &words, objects[i]);
    OPF_PUSH(toolchain->arena, &words, NULL);
    return call(words.data, diags);
}

static opf_status hide(const char *object, const char *const *seen, opf_arena *arena, opf_diags *diags) {
    OPF_VEC(const char *) words = {0};
    OPF_PUSH(arena, &words, "objcopy");
    for (; *seen; seen++) OPF_PUSH(arena, &words, opf_arena_printf(arena, "--keep-global-symbol=%s", *seen));
    OPF_PUSH(arena, &words, object);
    OPF_PUSH(arena, &words, NULL);
    return call(words.data, diags);
}

opf_status opf_compile_archive(const char *path, const char *folder, const opf_program *program, const char *object, const opf_sources *more,
                               const char *const *seen, const opf_compile_options *options) {
    opf_arena *arena = program->module->arena;
    opf_diags *diags = program->module->diags;
    opf_toolchain toolchain;
    opf_status status = opf_toolchain_find(&toolchain, program->machine, options, arena, diags);
    opf_compilation c = {.toolchain = &toolchain, .folder = folder, .count = more->count, .names = more->names, .objects_only = true, .options = options, .diags = diags};
    for (int i = 0; i < more->count && status == OPF_OK; i++)
        status = opf_file_write(opf_arena_printf(arena, "%s/%s", folder, more->names[i]), opf_text_string(&more->texts[i]), more->texts[i].length, diags);
    if (status == OPF_OK) status = opf_toolchain_compile(&c);
    if (status != OPF_OK) return status;
    int n;
    const char **objects = opf_objects_beside(object, arena, &n);
    const char *whole = opf_arena_printf(arena, "%s/model.o", folder), *archive = opf_arena_printf(arena, "%s/model.a", folder);
    status = join(&toolchain, opf_arena_printf(arena, "%s/0.o", folder), objects, n, whole, diags);
    if (status == OPF_OK) status = hide(whole, seen, arena, diags);
    if (status == OPF_OK) status = call((const char *const[]){"ar", "rcsD", archive, whole, NULL}, diags);
    opf_mapping file = {0};
    if (status == OPF_OK) status = opf_file_map(&file, archive, diags);
    if (status == OPF_OK) status = opf_file_write(path, file.data, file.size, diags);
    opf_file_unmap(&file);
    return status;
}
