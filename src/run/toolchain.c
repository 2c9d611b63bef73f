/* Which compiler, with which flags, and who it is. */
#include "run/toolchain.h"

#include <stdlib.h>
#include <string.h>

#include "base/process.h"

/* docs/design.md section 5. Never -ffast-math: NaN, infinities and the order of sums are part of the result. -pipe: a
 * compiler that is killed leaves no temporary files. A call of what is not declared is a defect, caught here rather than at load. */
static const char *const flags[] = {
    "-std=c11", "-O3", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-Werror=implicit-function-declaration", "-fstack-usage", "-pipe",
};

static void add_words(opf_toolchain *toolchain, const char *text) {
    while (*(text += strspn(text, " \t"))) {
        size_t length = strcspn(text, " \t");
        OPF_PUSH(toolchain->arena, &toolchain->words, opf_arena_string_n(toolchain->arena, text, length));
        text += length;
    }
}

static const char *join(const opf_toolchain *toolchain, size_t from, size_t to, const char *end) {
    opf_text text = {0};
    for (size_t i = from; i < to; i++) opf_text_printf(&text, "%s%s", i > from ? " " : "", toolchain->words.data[i]);
    opf_text_add(&text, end);
    char *joined = opf_arena_string_n(toolchain->arena, opf_text_string(&text), text.length);
    opf_text_free(&text);
    return joined;
}

static const char *chosen(const opf_compile_options *options) {
    const char *from_environment = getenv("CC");
    if (options->compiler && *options->compiler) return options->compiler;
    return from_environment && from_environment[strspn(from_environment, " \t")] ? from_environment : "cc";
}

/* The compiler's words and what it says of itself; NULL where it cannot be started. */
static const char *ask_identity(opf_toolchain *toolchain) {
    size_t n = toolchain->words.count;
    const char **argv = OPF_ARRAY(toolchain->arena, const char *, n + 2);
    for (size_t i = 0; i < n; i++) argv[i] = toolchain->words.data[i];
    argv[n] = "--version";
    opf_process *process;
    opf_text version = {0};
    int code = 0;
    if (opf_process_start(&process, argv, NULL) != OPF_OK) return NULL;
    opf_status status = opf_process_wait(process, &code, &version, NULL);
    opf_text text = {0};
    opf_text_printf(&text, "\n%s", opf_text_string(&version));
    const char *identity = status == OPF_OK && code == 0 ? join(toolchain, 0, n, opf_text_string(&text)) : NULL;
    opf_text_free(&text);
    opf_text_free(&version);
    return identity;
}

opf_status opf_toolchain_find(opf_toolchain *out, const opf_machine *machine, const opf_compile_options *options, opf_arena *arena, opf_diags *diags) {
    *out = (opf_toolchain){.arena = arena};
    const char *name = chosen(options);
    add_words(out, name);
    out->n_compiler = out->words.count;
    out->identity = ask_identity(out);
    if (!out->identity) {
        opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "compiler", OPF_NO_PLACE, "the C compiler '%s' cannot be started", name);
        opf_diag_hint(diags, diag, "install one (Debian: apt install gcc), or name another in the environment variable CC");
        return OPF_ERROR_SYSTEM;
    }
    for (size_t i = 0; i < OPF_COUNT(flags); i++) OPF_PUSH(arena, &out->words, flags[i]);
    if (options->level) OPF_PUSH(arena, &out->words, options->level); /* the last one counts */
    add_words(out, machine->flags);
    OPF_PUSH(arena, &out->words, opf_arena_printf(arena, "-DOPF_LANES=%d", machine->lanes));
    out->command = opf_arena_printf(arena, "%s\n%s", join(out, out->n_compiler, out->words.count, ""), out->identity);
    return OPF_OK;
}

opf_status opf_toolchain_add(opf_toolchain *toolchain, const char *const *compilers, int count, opf_diags *diags) {
    for (int i = 0; compilers && i < count; i++) {
        bool known = !compilers[i];
        for (int k = 0; k < i && !known; k++) known = compilers[k] && strcmp(compilers[k], compilers[i]) == 0;
        if (!known) {
            opf_toolchain other = {.arena = toolchain->arena};
            OPF_PUSH(toolchain->arena, &other.words, compilers[i]);
            const char *identity = ask_identity(&other);
            if (!identity) {
                opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "compiler", OPF_NO_PLACE, "the C compiler '%s', which a schedule asks for, cannot be started", compilers[i]);
                opf_diag_hint(diags, diag, "install it, or use another schedule: --db none leaves all of them out");
                return OPF_ERROR_SYSTEM;
            }
            toolchain->command = opf_arena_printf(toolchain->arena, "%s\n%s", toolchain->command, identity);
        }
        if (compilers[i]) toolchain->command = opf_arena_printf(toolchain->arena, "%s\nfile %d by %s", toolchain->command, i, compilers[i]);
    }
    return OPF_OK;
}

const char *opf_compiler_identity(const opf_compile_options *options, opf_arena *arena) {
    opf_toolchain toolchain = {.arena = arena};
    add_words(&toolchain, chosen(options));
    return ask_identity(&toolchain);
}
