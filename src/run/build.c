/* Program → sources → shared object, through the cache. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "run/cache.h"
#include "run/sizes.h"
#include "run/toolchain.h"

/* ---- sources ---- */

opf_status opf_sources_emit(opf_sources **out, const opf_program *program) {
    opf_arena *arena = program->module->arena;
    int files = opf_emit_files(program), own = (int)opf_emit_own_files(program);
    opf_sources *sources = OPF_NEW(arena, opf_sources);
    sources->count = files + 1 + own;
    sources->texts = OPF_ARRAY(arena, opf_text, sources->count);
    sources->names = OPF_ARRAY(arena, const char *, sources->count);
    sources->own = OPF_ARRAY(arena, const char *, sources->count);
    sources->compilers = OPF_ARRAY(arena, const char *, sources->count);
    for (int i = 0; i < files; i++) sources->compilers[i] = opf_emit_compiler(program, i);
    for (int i = 0; i < files; i++) sources->names[i] = opf_arena_printf(arena, "kernels_%d.c", i);
    sources->names[files] = "main.c";
    for (int k = 0; k < own; k++) {
        sources->names[files + 1 + k] = opf_arena_printf(arena, "own_%d.c", k);
        sources->own[files + 1 + k] = opf_emit_own_path(program, (size_t)k);
        opf_emit_own_file(program, (size_t)k, NULL, &sources->texts[files + 1 + k]);
    }
    *out = sources;
    return opf_emit_program(program, files, sources->texts);
}

void opf_sources_free(opf_sources *sources) {
    for (int i = 0; sources && i < sources->count; i++) opf_text_free(&sources->texts[i]);
}

/* ---- key ---- */

static opf_hash hash_text(const char *text, size_t length) { return opf_hash_bytes(text, length); }

static opf_hash key_of(const opf_sources *sources, const opf_toolchain *toolchain) {
    opf_hash key = hash_text(toolchain->command, strlen(toolchain->command));
    for (int i = 0; i < sources->count; i++)
        key = opf_hash_combine(key, hash_text(opf_text_string(&sources->texts[i]), sources->texts[i].length));
    return key;
}

/* ---- entries ---- */

/* Is this entry whole and made from these very sources? */
static bool entry_fits(const char *entry, const opf_sources *sources, const opf_toolchain *toolchain, opf_arena *arena) {
    if (!opf_cache_is_sealed(entry)) return false;
    if (!opf_cache_holds(opf_arena_printf(arena, "%s/command", entry), toolchain->command, strlen(toolchain->command))) return false;
    for (int i = 0; i < sources->count; i++)
        if (!opf_cache_holds(opf_arena_printf(arena, "%s/%s", entry, sources->names[i]), opf_text_string(&sources->texts[i]), sources->texts[i].length))
            return false;
    return true;
}

static opf_status write_sources(const char *folder, const opf_sources *sources, const opf_toolchain *toolchain, opf_arena *arena, opf_diags *diags) {
    opf_status status = opf_cache_write(opf_arena_printf(arena, "%s/command", folder), toolchain->command, strlen(toolchain->command), diags);
    for (int i = 0; i < sources->count && status == OPF_OK; i++)
        status = opf_cache_write(opf_arena_printf(arena, "%s/%s", folder, sources->names[i]), opf_text_string(&sources->texts[i]), sources->texts[i].length, diags);
    return status;
}

/* What the compiler has written is sealed; OPF_OK although it reported success and wrote nothing: then there is no seal. */
static opf_status seal(const char *folder, const opf_sources *sources, opf_arena *arena, opf_diags *diags) {
    const char **names = OPF_ARRAY(arena, const char *, sources->count + 1);
    names[0] = "program.so";
    for (int i = 0; i < sources->count; i++) names[i + 1] = opf_arena_printf(arena, "%d.o", i);
    for (int i = 0; i <= sources->count; i++)
        if (!opf_file_exists(opf_arena_printf(arena, "%s/%s", folder, names[i]))) return OPF_OK;
    return opf_cache_seal(folder, names, (size_t)sources->count + 1, diags);
}

static opf_status make_entry(const char *entry, const char *cache, const opf_compilation *plan, const opf_sources *sources) {
    opf_arena *arena = plan->toolchain->arena;
    opf_compilation c = *plan;
    int lock = -1;
    opf_status status = opf_cache_begin(&c.folder, &lock, cache, arena, c.diags);
    if (status != OPF_OK) return status;
    status = write_sources(c.folder, sources, c.toolchain, arena, c.diags);
    if (status == OPF_OK) status = opf_toolchain_compile(&c);
    if (status == OPF_OK) status = seal(c.folder, sources, arena, c.diags);
    if (status == OPF_OK && !entry_fits(c.folder, sources, c.toolchain, arena)) {
        opf_diag_add(c.diags, OPF_ERROR, "compiler", OPF_NO_PLACE, "the C compiler '%s' reports success but has written no program", c.toolchain->words.data[0]);
        status = OPF_ERROR_SYSTEM;
    }
    if (status == OPF_OK) {
        unlink(opf_arena_printf(arena, "%s/lock", c.folder)); /* held on, all the same */
        if (opf_file_exists(entry) && !entry_fits(entry, sources, c.toolchain, arena)) opf_folder_remove(entry); /* damaged */
        status = opf_cache_publish(c.folder, entry, c.diags);
    }
    if (status != OPF_OK) opf_folder_remove(c.folder);
    close(lock);
    return status;
}

opf_status opf_compile(const char **out, const opf_program *program, opf_sources *sources, const opf_compile_options *options) {
    opf_arena *arena = program->module->arena;
    opf_diags *diags = program->module->diags;
    const char *cache;
    opf_toolchain toolchain;
    opf_status status = opf_cache_open(&cache, options, arena, diags);
    if (status == OPF_OK) status = opf_toolchain_find(&toolchain, program->machine, options, arena, diags);
    if (status != OPF_OK) return status;
    status = opf_toolchain_add(&toolchain, sources->compilers, sources->count, diags);
    if (status != OPF_OK) return status;
    sources->key = opf_hash_print(key_of(sources, &toolchain));
    const char *entry = opf_arena_printf(arena, "%s/programs/%s", cache, sources->key.text);
    sources->warm = entry_fits(entry, sources, &toolchain, arena);
    if (!sources->warm) {
        opf_compilation c = {.toolchain = &toolchain, .count = sources->count, .names = sources->names, .own = sources->own, .compilers = sources->compilers, .options = options, .diags = diags};
        status = make_entry(entry, cache, &c, sources);
    }
    *out = opf_arena_printf(arena, "%s/program.so", entry);
    return status;
}
