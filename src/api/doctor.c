/* `doctor`: what this machine and this setting offer. */
#include <string.h>

#include "api/context.h"
#include "base/process.h"

/* The first line of what a program says of itself, NULL where it cannot be started. */
static const char *version_of(const char *const *argv, opf_arena *arena) {
    opf_process *process;
    opf_text output = {0}, errors = {0};
    int code = 0;
    if (opf_process_start(&process, argv, NULL) != OPF_OK) return NULL;
    opf_status status = opf_process_wait(process, &code, &output, &errors);
    const char *text = output.length ? output.data : opf_text_string(&errors);
    const char *line = status == OPF_OK && code == 0 ? opf_arena_string_n(arena, text, strcspn(text, "\n")) : NULL;
    opf_text_free(&output);
    opf_text_free(&errors);
    return line;
}

static bool print_compiler(opf_context *context, opf_arena *arena, opf_text *out) {
    opf_compile_options options = opf_context_compile_options(context);
    const char *identity = opf_compiler_identity(&options, arena);
    if (!identity) {
        opf_text_add(out, "compiler:   none can be started; install one (Debian: apt install gcc) or set CC\n");
        return false;
    }
    size_t words = strcspn(identity, "\n");
    const char *version = identity[words] ? identity + words + 1 : "";
    opf_text_printf(out, "compiler:   %.*s (%.*s)\n", (int)words, identity, (int)strcspn(version, "\n"), version);
    return true;
}

static void print_machine(const opf_machine *m, opf_text *out) {
    opf_text_printf(out, "machine:    %s: %d floats a vector, %d vectors, L1 %lld KiB, L2 %lld KiB, L3 %lld KiB, %.0f GFLOP/s, memory %.0f GB/s%s%s\n", m->name,
                    m->lanes, m->vectors, (long long)m->l1_bytes >> 10, (long long)m->l2_bytes >> 10, (long long)m->l3_bytes >> 10, m->flops_per_second / 1e9,
                    m->dram_bandwidth / 1e9, m->flags[0] ? ", flags " : "", m->flags);
    opf_text_add(out, "runs here: ");
    for (size_t i = 0; i < opf_machine_count(); i++)
        if (opf_machine_runs(opf_machine_at(i))) opf_text_printf(out, " %s", opf_machine_at(i)->name);
    opf_text_printf(out, "\ncores:      %d\n", opf_cores());
}

static bool print_cache(opf_context *context, opf_arena *arena, opf_text *out) {
    opf_compile_options options = opf_context_compile_options(context);
    const char *folder = opf_cache_folder(&options, arena);
    if (!folder) {
        opf_text_add(out, "cache:      no folder; set --cache, OPFUSE_CACHE, XDG_CACHE_HOME or HOME\n");
        return false;
    }
    int64_t entries, bytes;
    opf_cache_measure(folder, &entries, &bytes);
    bool writable = opf_cache_writable(folder);
    opf_text_printf(out, "cache:      %s, %lld entries, %.1f MB%s\n", folder, (long long)entries, (double)bytes / 1e6, writable ? "" : ", CANNOT BE WRITTEN");
    return writable;
}

opf_status opf_doctor(opf_context *context, char **out) {
    *out = NULL;
    opf_arena *arena = opf_arena_new();
    opf_text text = {0};
    opf_machine machine;
    opf_status status = opf_machine_choose(&machine, context->options.machine, arena, context->diags);
    if (status == OPF_OK) {
        opf_text_printf(&text, "opfuse:     %s\n", opf_version());
        bool good = print_compiler(context, arena, &text);
        print_machine(&machine, &text);
        good = print_cache(context, arena, &text) && good;
        const char *dot = version_of((const char *const[]){"dot", "-V", NULL}, arena);
        opf_text_printf(&text, "graphviz:   %s\n", dot ? dot : "none; `graph -o FILE.svg` needs it (Debian: apt install graphviz)");
        opf_text_printf(&text, "%s\n", good ? "all is well" : "something is missing");
        *out = opf_text_take(&text);
        if (!good) status = OPF_ERROR_SYSTEM;
    }
    opf_arena_free(arena);
    return status;
}
