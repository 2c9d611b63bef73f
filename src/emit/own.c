/* A user's own kernels: one file each, which ends in a function of a name that main knows. */
#include "emit/own.h"

#include <string.h>

#include "ops/library.h"

extern const char opf_embedded_opfuse_kernel[];

/* Kernel `number` among those that differ in what `same` compares, in the order of steps; NULL beyond the last. */
static const opf_library_kernel *find(const opf_program *program, size_t number, bool (*same)(const opf_library_kernel *a, const opf_library_kernel *b)) {
    OPF_VEC(const opf_library_kernel *) seen = {0};
    for (size_t i = 0; i < program->steps.count; i++) {
        const opf_step *step = &program->steps.data[i];
        if (step->kind != OPF_RUN_LIBRARY || !step->library->kernel->own) continue;
        bool known = false;
        for (size_t k = 0; k < seen.count; k++) known = known || same(seen.data[k], step->library->kernel);
        if (known) continue;
        if (seen.count == number) return step->library->kernel;
        OPF_PUSH(program->module->arena, &seen, step->library->kernel);
    }
    return NULL;
}

static bool same_function(const opf_library_kernel *a, const opf_library_kernel *b) { return strcmp(a->name, b->name) == 0; }
static bool same_file(const opf_library_kernel *a, const opf_library_kernel *b) { return strcmp(a->own->text, b->own->text) == 0; }

const opf_library_kernel *opf_emit_own_at(const opf_program *program, size_t number) { return find(program, number, same_function); }

size_t opf_emit_own_files(const opf_program *program) {
    size_t n = 0;
    while (find(program, n, same_file)) n++;
    return n;
}

const char *opf_emit_own_path(const opf_program *program, size_t file) { return find(program, file, same_file)->own->path; }

void opf_emit_own_declarations(const opf_program *program, opf_text *out) {
    const opf_library_kernel *kernel = opf_emit_own_at(program, 0);
    if (kernel) opf_text_add(out, opf_embedded_opfuse_kernel);
    for (size_t k = 0; kernel; kernel = opf_emit_own_at(program, ++k)) {
        opf_text_printf(out, "void opf_own_%s(const opf_kernel_call *call, int part, int parts);\n", kernel->name);
        opf_text_printf(out, "static void opf_part_%s(const opf_args *args, int part, int parts) { opf_own_%s(args->p[0], part, parts); }\n", kernel->name, kernel->name);
    }
}

void opf_emit_own_call(const opf_step *step, int index, opf_text *out) {
    const opf_library_call *library = step->library;
    opf_text_printf(out, "        const opf_kernel_call own = {%d, %d, in, out, %s};\n", library->n_inputs, library->n_outputs, library->floats.count ? "floats" : "0");
    opf_text_add(out, "        void *const p[] = {(void *)&own};\n        const opf_args args = {p, 0, 0, 0};\n");
    opf_text_printf(out, "        opf_call(frame->hook, %d, opf_part_%s, &args, %s);\n", index, library->kernel->name, library->kernel->own->parallel ? "opf_threads_of(frame->hook), 1e18" : "1, 0");
}

/* Text as the inside of a C string: of a path in #line. */
static void quote(const char *text, opf_text *out) {
    for (; *text; text++) opf_text_printf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", (unsigned char)*text < ' ' ? '?' : *text);
}

/* Is of the right kind, and can be called from another file. */
static void emit_entry(const opf_library_kernel *kernel, const char *prefix, opf_text *out) {
    opf_text_printf(out, "_Static_assert(_Generic(&%s, void (*)(const opf_kernel_call *, int, int): 1, default: 0),\n"
                         "               \"the kernel must be: void %s(const opf_kernel_call *call, int part, int parts)\");\n", kernel->name, kernel->name);
    opf_text_printf(out, "void %s_%s(const opf_kernel_call *call, int part, int parts);\nvoid %s_%s(const opf_kernel_call *call, int part, int parts) { %s(call, part, parts); }\n",
                    prefix, kernel->name, prefix, kernel->name, kernel->name);
}

void opf_emit_own_file(const opf_program *program, size_t file, const char *prefix, opf_text *out) {
    const opf_own_kernel *own = find(program, file, same_file)->own;
    opf_text_add(out, "#ifdef __GNUC__\n#pragma GCC diagnostic ignored \"-Wunused-function\"\n#endif\n");
    opf_text_add(out, opf_embedded_opfuse_kernel);
    if (!prefix) {
        opf_text_add(out, "#line 1 \"");
        quote(own->path, out);
        opf_text_add(out, "\"\n");
    }
    opf_text_add(out, own->text);
    opf_text_add(out, "\n");
    if (!prefix) opf_text_add(out, "#line 1 \"what opfuse adds to the file\"\n");
    const opf_library_kernel *kernel;
    for (size_t k = 0; (kernel = opf_emit_own_at(program, k)); k++)
        if (strcmp(kernel->own->text, own->text) == 0) emit_entry(kernel, prefix ? prefix : "opf_own", out);
}
