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

/* What the CPU has of the features that rows of the machine table ask for, and a few that later kernels may use. */
static void print_features(opf_text *out) {
    opf_text_add(out, "cpu:        ");
#if defined(__x86_64__)
#define FEATURE(name) if (__builtin_cpu_supports(name)) opf_text_add(out, name " ");
    FEATURE("sse4.1") FEATURE("sse4.2") FEATURE("popcnt") FEATURE("avx") FEATURE("avx2") FEATURE("fma") FEATURE("bmi") FEATURE("bmi2")
    FEATURE("avx512f") FEATURE("avx512bw") FEATURE("avx512cd") FEATURE("avx512dq") FEATURE("avx512vl") FEATURE("avx512vnni")
#undef FEATURE
#elif defined(__aarch64__)
    opf_text_add(out, "aarch64 asimd ");
#endif
    opf_text_printf(out, "(%d cores for this process)\n", opf_cores());
}

static void print_row(const opf_machine *m, bool chosen, opf_text *out) {
    opf_text_printf(out, "  %c %-10s %2d floats a vector, %2d vectors, L1 %lld KiB, L2 %lld KiB, L3 %lld KiB, %.0f GFLOP/s, memory %.0f GB/s%s%s\n", chosen ? '*' : ' ',
                    m->name, m->lanes, m->vectors, (long long)m->l1_bytes >> 10, (long long)m->l2_bytes >> 10, (long long)m->l3_bytes >> 10,
                    m->flops_per_second / 1e9, m->dram_bandwidth / 1e9, m->flags[0] ? ", " : "", m->flags);
}

static void print_machines(const opf_machine *chosen, opf_text *out) {
    bool listed = false;
    opf_text_add(out, "machines:   (* is used)\n");
    for (size_t i = 0; i < opf_machine_count(); i++) {
        bool same = strcmp(opf_machine_at(i)->name, chosen->name) == 0;
        print_row(opf_machine_at(i), same, out);
        listed = listed || same;
    }
    if (!listed) print_row(chosen, true, out); /* from a file */
    opf_text_add(out, "runs here: ");
    for (size_t i = 0; i < opf_machine_count(); i++)
        if (opf_machine_runs(opf_machine_at(i))) opf_text_printf(out, " %s", opf_machine_at(i)->name);
    opf_text_add(out, "\n");
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
        print_features(&text);
        print_machines(&machine, &text);
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
