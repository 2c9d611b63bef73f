/* A built model in several versions, each for a row of the machine table. A version's files end in a table of its functions; the
 * interface looks at the processor, without keeping what it saw, and calls by the table. */
#include <ctype.h>
#include <string.h>

#include "emit/library.h"
#include "emit/main.h"

/* ---- what the files share ---- */

void opf_emit_versions_header(const opf_library *library, opf_text *out) {
    opf_text upper = {0};
    opf_emit_upper(library->name, &upper);
    opf_text_printf(out, "#ifndef %s_VERSIONS_H\n#define %s_VERSIONS_H\n\n", upper.data, upper.data);
    opf_text_free(&upper);
    opf_text_printf(out, "/* The functions of one version; none (0) where its file was compiled for a machine that it is not for. */\n"
                         "typedef struct %s_version_table {\n    const char *name;\n    int (*run_on)(", library->name);
    opf_emit_run_parameters(library, OPF_ENTRY_RUN_ON, out);
    opf_text_printf(out, ");\n    size_t (*workspace_bytes_on)(const int64_t *const *input_dims, int threads);\n"
                         "    int (*output_dims)(const int64_t *const *input_dims, int output, int64_t *dims);\n    const char *(*problem)(int number);\n} %s_version_table;\n\n",
                    library->name);
    for (size_t v = 0; v < library->n_versions; v++) opf_text_printf(out, "extern const %s_version_table %s;\n", library->name, library->versions[v].table);
    opf_text_add(out, "\n#endif\n\n");
}

void opf_emit_version_table(const opf_library *library, bool there, opf_text *out) {
    const char *table = library->version->table;
    opf_text_printf(out, "\nconst %s_version_table %s = {\"%s\"", library->name, table, library->version->machine->name);
    if (there) opf_text_printf(out, ", %s_run_on, %s_workspace_bytes_on, %s_output_dims, %s_problem};\n", table, table, table, table);
    else opf_text_add(out, ", 0, 0, 0, 0};\n");
}

/* ---- the header of the whole ---- */

void opf_emit_versions_interface(const opf_program *program, const opf_library *library, opf_text *out) {
    const char *name = library->name;
    if (!library->n_versions) return;
    opf_text upper = {0};
    opf_emit_upper(name, &upper);
    opf_text_printf(out, "\n/* The program is here in several versions, best first:");
    for (size_t v = 0; v < library->n_versions; v++) opf_text_printf(out, "%s %zu is for %s", v ? "," : "", v, library->versions[v].machine->name);
    opf_text_printf(out, ". The functions above take the\n * first that the processor can run; those below take the one that is named, whose results may differ in their last digits. */\n"
                         "enum { %s_VERSIONS = %zu };\n", upper.data, library->n_versions);
    opf_text_printf(out, "int %s_version(void); /* that first one; -1: none */\n", name);
    opf_text_printf(out, "int %s_version_runs(int version); /* 1: the processor can run it */\n", name);
    opf_text_printf(out, "const char *%s_version_name(int version);\n", name);
    opf_text_printf(out, "size_t %s_workspace_bytes_as(int version, const int64_t *const *input_dims, int threads);\n", name);
    opf_emit_library_head(library, OPF_ENTRY_RUN_AS, out);
    opf_text_printf(out, ";\n/* Number %zu of %s_problem: the processor cannot run the version that is asked for, or none of them. */\n", opf_library_most_problem(program) + 1, name);
    opf_text_free(&upper);
}

/* ---- choosing ---- */

/* The part of a condition that one version asks of the processor; false: it asks nothing. */
static bool emit_features(const opf_machine *machine, opf_text *out) {
    const char *const *features = opf_machine_features(machine);
    for (const char *const *f = features; *f; f++)
        opf_text_printf(out, "%s__builtin_cpu_supports(\"%s\")", f == features ? "" : (f - features) % 4 ? " && " : " &&\n            ", *f);
    return *features != NULL;
}

void opf_emit_version_condition(const opf_machine *machine, opf_text *out) {
    opf_text_printf(out, "defined(__GNUC__) && defined(%s)", opf_machine_architecture(machine));
    for (const char *const *f = opf_machine_features(machine); *f; f++) {
        opf_text upper = {0};
        opf_emit_upper(*f, &upper);
        opf_text_printf(out, " && defined(__%s__)", upper.data);
        opf_text_free(&upper);
    }
}

static void emit_support(const opf_library *library, opf_text *out) {
    opf_text_printf(out, "int %s_version_runs(int version) {\n    if (version < 0 || version >= %zu || !versions[version]->run_on) return 0;\n", library->name, library->n_versions);
    opf_text_add(out, "#if defined(__GNUC__) && defined(__x86_64__)\n    __builtin_cpu_init();\n");
    for (size_t v = 0; v < library->n_versions; v++) {
        opf_text features = {0};
        if (emit_features(library->versions[v].machine, &features)) opf_text_printf(out, "    if (version == %zu)\n        return %s;\n", v, features.data);
        opf_text_free(&features);
    }
    opf_text_add(out, "#endif\n    return 1;\n}\n\n");
}

static void emit_choice(const opf_library *library, opf_text *out) {
    const char *name = library->name;
    opf_text_printf(out, "static const %s_version_table *const versions[] = {", name);
    for (size_t v = 0; v < library->n_versions; v++) opf_text_printf(out, "%s&%s", v ? ", " : "", library->versions[v].table);
    opf_text_add(out, "};\n\n");
    emit_support(library, out);
    opf_text_printf(out, "int %s_version(void) {\n    for (int version = 0; version < %zu; version++)\n        if (%s_version_runs(version)) return version;\n    return -1;\n}\n\n", name,
                    library->n_versions, name);
    opf_text_printf(out, "const char *%s_version_name(int version) { return version < 0 || version >= %zu ? \"unknown version\" : versions[version]->name; }\n\n", name, library->n_versions);
}

/* ---- calls by the table ---- */

static void emit_sizes(const opf_library *library, size_t none, opf_text *out) {
    const char *name = library->name;
    opf_text_printf(out, "int %s_output_dims(const int64_t *const *input_dims, int output, int64_t *dims) {\n    int version = %s_version();\n"
                         "    return version < 0 ? %zu : versions[version]->output_dims(input_dims, output, dims);\n}\n\n", name, name, none);
    opf_text_printf(out, "size_t %s_workspace_bytes_as(int version, const int64_t *const *input_dims, int threads) {\n"
                         "    return %s_version_runs(version) ? versions[version]->workspace_bytes_on(input_dims, threads) : 0;\n}\n\n", name, name);
    opf_text_printf(out, "size_t %s_workspace_bytes_on(const int64_t *const *input_dims, int threads) { return %s_workspace_bytes_as(%s_version(), input_dims, threads); }\n\n", name,
                    name, name);
    opf_text_printf(out, "size_t %s_workspace_bytes(const int64_t *const *input_dims) { return %s_workspace_bytes_on(input_dims, 1); }\n\n", name, name);
}

static void emit_runs(const opf_program *program, const opf_library *library, size_t none, opf_text *out) {
    const char *name = library->name;
    opf_emit_library_head(library, OPF_ENTRY_RUN_AS, out);
    opf_text_printf(out, " {\n    return %s_version_runs(version) ? versions[version]->run_on(", name);
    opf_emit_run_arguments(library, out);
    opf_text_printf(out, ") : %zu;\n}\n\n", none);
    opf_emit_library_head(library, OPF_ENTRY_RUN_ON, out);
    opf_text_printf(out, " {\n    return %s_run_as(%s_version(), ", name, name);
    opf_emit_run_arguments(library, out);
    opf_text_add(out, ");\n}\n\n");
    opf_emit_library_run(library, OPF_ENTRY_RUN, out);
    if (opf_program_has_counts(program)) opf_emit_library_run(library, OPF_ENTRY_RUN_DIMS, out);
}

/* All versions have the same checks: the words are those of the first that is there. */
static void emit_problem(const opf_library *library, size_t none, opf_text *out) {
    opf_text_printf(out, "const char *%s_problem(int number) {\n    if (number == %zu) return \"the processor cannot run this version, or none of them\";\n"
                         "    int version = %s_version();\n    return version < 0 ? \"unknown problem\" : versions[version]->problem(number);\n}\n",
                    library->name, none, library->name);
}

void opf_emit_versions_source(const opf_program *program, const opf_library *library, const char *header, opf_text *out) {
    size_t none = opf_library_most_problem(program) + 1;
    opf_text_add(out, "/* The interface of a model in several versions: it chooses one and calls it. */\n");
    if (header) {
        opf_text_printf(out, "#include \"%s\"\n#include \"versions.h\"\n\n", header);
    } else {
        opf_text_add(out, "#pragma GCC visibility push(default)\n");
        opf_emit_library_header(program, library, out);
        opf_text_add(out, "#pragma GCC visibility pop\n\n");
        opf_emit_versions_header(library, out);
    }
    if (!library->constants_given) opf_emit_library_data(library, out);
    emit_choice(library, out);
    emit_sizes(library, none, out);
    emit_runs(program, library, none, out);
    emit_problem(library, none, out);
}
