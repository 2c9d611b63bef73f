/* A program as C files: kernels spread over some of them, then main with the entry table. */
#include <stdlib.h>
#include <string.h>

#include "emit/needed.h"
#include "emit/own.h"

enum { KERNELS_OF_FILE = 3, MOST_KERNEL_FILES = 64 };

extern const char opf_embedded_opf_main[];

void opf_emit_comment(const char *text, opf_text *out) {
    for (; *text; text++) {
        char c = (unsigned char)*text < ' ' || strchr("\\?*", *text) ? '_' : *text; /* no line splice, trigraph or end */
        opf_text_add_n(out, &c, 1);
    }
}

static void emit_prelude_text(const opf_program *program, bool is_main, opf_text *out) {
    opf_text_add(out, opf_prelude_abi());
    opf_text_add(out, opf_prelude_kernels());
    if (is_main) opf_text_add(out, opf_embedded_opf_main);
    if (is_main) opf_emit_library_kernels(program, out);
}

/* Clang, unlike gcc, minds inline functions that a file does not use when they stand in the file itself. */
static void begin_prelude(const opf_program *program, opf_text *out) {
    opf_text_add(out, "#ifdef __clang__\n#pragma clang diagnostic push\n#pragma clang diagnostic ignored \"-Wunused-function\"\n#endif\n");
    if (opf_module_is_exact(program->module)) opf_text_add(out, "/* --accuracy=exact: no multiply-add is fused, sums are taken in order. */\n#define OPF_EXACT 1\n");
}

static void end_prelude(opf_text *out) { opf_text_add(out, "#ifdef __clang__\n#pragma clang diagnostic pop\n#endif\n"); }

void opf_emit_prelude(const opf_program *program, bool is_main, opf_text *out) {
    begin_prelude(program, out);
    emit_prelude_text(program, is_main, out);
    if (is_main) opf_emit_own_declarations(program, out);
    end_prelude(out);
}

void opf_emit_prelude_for(const opf_program *program, const char *header, const char *needing, opf_text *out) {
    opf_text whole = {0}, resolved = {0}, own = {0};
    opf_known known = {.lanes = program->machine->lanes, .exact = opf_module_is_exact(program->module), .included = header};
    emit_prelude_text(program, true, &whole);
    opf_emit_resolved(opf_text_string(&whole), &known, &resolved);
    opf_emit_own_declarations(program, &own);
    opf_text all = {0};
    opf_text_printf(&all, "%s%s", opf_text_string(&own), needing);
    begin_prelude(program, out);
    opf_emit_needed(opf_text_string(&resolved), opf_text_string(&all), out);
    opf_text_add(out, opf_text_string(&own));
    end_prelude(out);
    opf_text_free(&whole);
    opf_text_free(&resolved);
    opf_text_free(&own);
    opf_text_free(&all);
}

/* ---- files ---- */

/* Which kernels share a file: those of one number of lanes and one compiler. */
typedef struct layout {
    int n_files;
    int *file;                 /* by kernel */
    const opf_nest **first;    /* by file: the nest of one of its kernels; NULL: it has none */
} layout;

typedef struct weighted { size_t kernel, length; } weighted;

static int longer_first(const void *a, const void *b) {
    const weighted *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? 1 : -1;
    return x->kernel < y->kernel ? -1 : 1;
}

static int files_for(size_t kernels) {
    size_t files = (kernels + KERNELS_OF_FILE - 1) / KERNELS_OF_FILE;
    return files < 1 ? 1 : files > MOST_KERNEL_FILES ? MOST_KERNEL_FILES : (int)files;
}

/* Longest first, each into the file that is shortest so far. */
static void spread(const opf_program *program, layout *out, weighted *order, size_t n) {
    size_t lengths[MOST_KERNEL_FILES] = {0};
    int n_files = files_for(n), from = out->n_files;
    qsort(order, n, sizeof *order, longer_first);
    for (size_t i = 0; i < n; i++) {
        int shortest = 0;
        for (int f = 1; f < n_files; f++)
            if (lengths[f] < lengths[shortest]) shortest = f;
        out->file[order[i].kernel] = from + shortest;
        out->first[from + shortest] = program->kernels.data[order[i].kernel].nest;
        lengths[shortest] += order[i].length;
    }
    out->n_files += n_files;
}

static bool same_class(const opf_nest *a, const opf_nest *b) {
    return a->machine->lanes == b->machine->lanes && a->chosen.at[OPF_KNOB_COMPILER] == b->chosen.at[OPF_KNOB_COMPILER];
}

/* The usual class first, then the others as they come; what is left out takes no place. */
static layout lay_out(const opf_program *program) {
    opf_arena *arena = program->module->arena;
    size_t n = program->kernels.count;
    layout out = {.file = OPF_ARRAY(arena, int, n + 1), .first = OPF_ARRAY(arena, const opf_nest *, n + MOST_KERNEL_FILES + 1)};
    weighted *order = OPF_ARRAY(arena, weighted, n + 1);
    bool *placed = OPF_ARRAY(arena, bool, n + 1);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        bool left_out = program->kernels.data[i].left_out;
        placed[i] = left_out || opf_nest_is_usual(program->kernels.data[i].nest, program->machine);
        if (placed[i] && !left_out) order[count++] = (weighted){i, strlen(program->kernels.data[i].body)};
    }
    spread(program, &out, order, count);
    for (size_t i = 0; i < n; i++) {
        count = 0;
        for (size_t k = i; k < n && !placed[i]; k++)
            if (!placed[k] && same_class(program->kernels.data[i].nest, program->kernels.data[k].nest)) order[count++] = (weighted){k, strlen(program->kernels.data[k].body)};
        for (size_t k = 0; k < count; k++) placed[order[k].kernel] = true;
        if (count) spread(program, &out, order, count);
    }
    return out;
}

int opf_emit_files(const opf_program *program) { return lay_out(program).n_files; }

const char *opf_emit_compiler(const opf_program *program, int file) {
    layout files = lay_out(program);
    const opf_nest *first = file < files.n_files ? files.first[file] : NULL;
    return first ? opf_schedule_compiler(&first->chosen) : NULL;
}

/* ---- kernels ---- */

/* Vectors narrower than the machine's: for the compiler's own choices too. */
void opf_emit_lanes(int lanes, opf_text *out) {
    opf_text_printf(out, "#undef OPF_LANES\n#define OPF_LANES %d\n#if defined(__AVX512F__) && !defined(__clang__)\n#pragma GCC target(\"prefer-vector-width=%d\")\n#endif\n", lanes, 32 * lanes);
}

static opf_status emit_kernels(const opf_program *program, opf_text *texts) {
    layout files = lay_out(program);
    for (int f = 0; f < files.n_files; f++) {
        opf_text_add(&texts[f], "/* Kernels, generated by opfuse. */\n");
        if (files.first[f] && files.first[f]->machine->lanes != program->machine->lanes) opf_emit_lanes(files.first[f]->machine->lanes, &texts[f]);
        opf_emit_prelude(program, false, &texts[f]);
    }
    for (size_t i = 0; i < program->kernels.count; i++) {
        opf_text *file = &texts[files.file[i]];
        const opf_program_kernel *kernel = &program->kernels.data[i];
        opf_text_add(file, "\n");
        if (kernel->left_out) {
            opf_text_printf(file, "void %s(const opf_args *args, int part, int parts) { (void)args, (void)part, (void)parts; }\n", kernel->name);
            continue;
        }
        opf_status status = opf_emit_kernel(kernel->nest, kernel->name, file);
        if (status != OPF_OK) return status;
    }
    return OPF_OK;
}

/* ---- main ---- */

static void emit_declarations(const opf_program *program, opf_text *out) {
    for (size_t i = 0; i < program->kernels.count; i++)
        opf_text_printf(out, "void %s(const opf_args *args, int part, int parts);\n", program->kernels.data[i].name);
    opf_text_add(out, "\n");
}

static void emit_entry(const opf_program *program, opf_text *out) {
    opf_text_add(out, "#if defined(__GNUC__)\n__attribute__((visibility(\"default\")))\n#endif\nextern const opf_entry_table opf_entry;\nconst opf_entry_table opf_entry = {\n");
    opf_text_printf(out, "    .abi = OPF_ABI_VERSION,\n    .n_inputs = %zu,\n    .n_outputs = %zu,\n    .n_symbols = %zu,\n",
                    program->fusion->graph->inputs.count, program->outputs.count, program->n_symbols);
    opf_text_printf(out, "    .n_weights = %zu,\n    .n_prepare = %zu,\n    .n_steps = %zu,\n    .n_guards = %zu,\n    .takes_memory = %d,\n    .packed_bytes = %lld,\n",
                    program->weights.count, program->prepare.count, program->steps.count, program->checks.count, opf_program_takes_memory(program), (long long)program->packed_bytes);
    opf_text_add(out, "    .solve = solve,\n    .output_dims = dims_of_output,\n    .output_most = most_of_output,\n    .workspace_bytes = workspace_bytes,\n"
                      "    .run = run,\n    .prepare = prepare,\n};\n");
}

static void emit_main(const opf_program *program, opf_text *out) {
    opf_text_add(out, "/* The program, generated by opfuse.\n");
    for (size_t i = 0; i < program->weights.count; i++) {
        opf_text_printf(out, " * weight %zu: ", i);
        opf_emit_comment(program->weights.data[i].value->name, out);
        opf_text_add(out, "\n");
    }
    opf_text_add(out, " */\n");
    opf_emit_prelude(program, true, out);
    opf_text_add(out, "\n");
    emit_declarations(program, out);
    opf_emit_main_sizes(program, out);
    opf_emit_main_prepare(program, out);
    opf_emit_main_run(program, out);
    emit_entry(program, out);
}

opf_status opf_emit_program(const opf_program *program, int n_kernel_files, opf_text *files) {
    opf_status status = emit_kernels(program, files);
    if (status != OPF_OK) return status;
    emit_main(program, &files[n_kernel_files]);
    return OPF_OK;
}
