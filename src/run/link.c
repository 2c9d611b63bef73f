/* Compiled programs and what is compiled around them as a shared object, or as a static library: one object in which nothing but the
 * interface is seen from outside, so that several models go into one program. By the compiler's linker, objcopy and ar. */
#include <string.h>
#include <sys/stat.h>

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
        opf_diag_hint(diags, diag, "joining objects needs binutils (Debian: apt install binutils)");
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
static opf_status join(const opf_toolchain *toolchain, const char *const *objects, size_t n, const char *out, opf_diags *diags) {
    OPF_VEC(const char *) words = {0};
    for (size_t i = 0; i < toolchain->n_compiler; i++) OPF_PUSH(toolchain->arena, &words, toolchain->words.data[i]);
    const char *const head[] = {"-r", "-nostdlib", "-o", out};
    for (size_t i = 0; i < OPF_COUNT(head); i++) OPF_PUSH(toolchain->arena, &words, head[i]);
    for (size_t i = 0; i < n; i++) OPF_PUSH(toolchain->arena, &words, objects[i]);
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

/* Compiles what is given as text, in the scratch folder: 0.o, 1.o, … */
static opf_status compile_texts(opf_compilation *c, opf_toolchain *toolchain, const opf_linking *l, bool objects_only) {
    opf_status status = opf_toolchain_find(toolchain, l->machine, l->options, l->arena, l->diags);
    *c = (opf_compilation){.toolchain = toolchain, .folder = l->folder, .count = l->texts->count, .names = l->texts->names, .n_linked = l->n_objects, .linked = l->objects,
                           .objects_only = objects_only, .options = l->options, .diags = l->diags};
    for (int i = 0; i < l->texts->count && status == OPF_OK; i++)
        status = opf_file_write(opf_arena_printf(l->arena, "%s/%s", l->folder, l->texts->names[i]), opf_text_string(&l->texts->texts[i]), l->texts->texts[i].length, l->diags);
    return status == OPF_OK ? opf_toolchain_compile(c) : status;
}

static opf_status move(const char *from, const char *to, opf_diags *diags) {
    opf_mapping file = {0};
    opf_status status = opf_file_map(&file, from, diags);
    if (status == OPF_OK) status = opf_file_write(to, file.data, file.size, diags);
    opf_file_unmap(&file);
    return status;
}

opf_status opf_link_shared(const opf_linking *l, const char *path) {
    opf_toolchain toolchain;
    opf_compilation c;
    opf_status status = compile_texts(&c, &toolchain, l, false);
    if (status == OPF_OK) status = move(opf_arena_printf(l->arena, "%s/program.so", l->folder), path, l->diags);
    if (status == OPF_OK) chmod(path, 0755);
    return status;
}

opf_status opf_link_object(const opf_linking *l, const char **path, const char *const *seen) {
    opf_toolchain toolchain;
    opf_compilation c;
    opf_status status = compile_texts(&c, &toolchain, l, true);
    *path = opf_arena_printf(l->arena, "%s/model.o", l->folder);
    OPF_VEC(const char *) objects = {0};
    for (int i = 0; i < l->texts->count; i++) OPF_PUSH(l->arena, &objects, opf_arena_printf(l->arena, "%s/%d.o", l->folder, i));
    for (int i = 0; i < l->n_objects; i++) OPF_PUSH(l->arena, &objects, l->objects[i]);
    if (status == OPF_OK) status = join(&toolchain, objects.data, objects.count, *path, l->diags);
    return status == OPF_OK ? hide(*path, seen, l->arena, l->diags) : status;
}

opf_status opf_link_archive(const opf_linking *l, const char *path, const char *const *seen) {
    const char *object, *archive = opf_arena_printf(l->arena, "%s/model.a", l->folder);
    opf_status status = opf_link_object(l, &object, seen);
    if (status == OPF_OK) status = call((const char *const[]){"ar", "rcsD", archive, object, NULL}, l->diags);
    return status == OPF_OK ? move(archive, path, l->diags) : status;
}
