/* A program as plain C to take away: one file that compiles alone, everything in it private but the interface. */
#include "emit/library.h"
#include "emit/main.h"

/* The file of a version is empty where the compiler makes code for a machine that lacks what it asks for. */
static void begin_version(const opf_machine *machine, opf_text *out) {
    if (!opf_machine_architecture(machine)) return;
    if (*machine->flags) opf_text_printf(out, "/* Without these (compiler flags: %s)", machine->flags);
    else opf_text_printf(out, "/* Compiled for anything else than %s", machine->name);
    opf_text_add(out, " there is nothing here, and another version is chosen. */\n#if ");
    opf_emit_version_condition(machine, out);
    opf_text_add(out, "\n\n");
}

static void end_version(const opf_library *library, opf_text *out) {
    if (!library->version) return;
    opf_emit_version_table(library, true, out);
    if (!opf_machine_architecture(library->version->machine)) return;
    opf_text_add(out, "\n#else\n");
    opf_emit_version_table(library, false, out);
    opf_text_add(out, "\n#endif\n");
}

static void emit_head(const opf_program *program, const opf_library *library, const char *header, opf_text *out) {
    opf_text_add(out, "/* ");
    opf_emit_comment(library->model, out);
    opf_text_printf(out, ", written by opfuse as plain C11 for %s (%d floats a vector). %s is its manual.\n *\n"
                         " * From here to the first kernel: the helpers that it calls, no more. Then one function a kernel, behind the register tiles that it is the first to\n"
                         " * call; then `run`, which calls them step by step. The banner of a kernel names the operators of the model that it computes, its buffers p0, p1, …\n"
                         " * with their types and shapes, what it computes in formulas s0, s1, … over axes v0, v1, …, how much work that is, and its loops or how it is tiled:\n"
                         " * `parts share i_0 { i_1, reduce }` is a loop over i_0, of which each part of a call takes a share; in it a loop over i_1, then a reduction. */\n",
                    program->machine->name, program->machine->lanes, header);
    opf_text_printf(out, "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n"
                         "#pragma clang diagnostic ignored \"-Wunknown-warning-option\"\n#pragma clang diagnostic ignored \"-Wbitwise-instead-of-logical\"\n"
                         "/* Loops whose iterations are independent say so; which of them become vectors is the compiler's choice. */\n"
                         "#pragma clang diagnostic ignored \"-Wpass-failed\"\n"
                         "/* Conditions of the model's own may never hold. */\n#pragma clang diagnostic ignored \"-Wtautological-overlap-compare\"\n#endif\n"
                         "/* Functions that take vectors are all private: no other file depends on how they are passed. */\n"
                         "#ifdef __GNUC__\n#pragma GCC diagnostic ignored \"-Wpsabi\"\n#endif\n"
                         "/* gcc 12 takes rows of a panel behind its last one for read: their number is known at run time. */\n"
                         "#if defined(__GNUC__) && !defined(__clang__)\n#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"\n#endif\n#include \"%s\"\n%s\n", header, library->version ? "#include \"versions.h\"\n" : "");
    if (library->version) begin_version(library->version->machine, out);
    opf_text_printf(out, "/* Elements of float in a vector: the kernels and the packed constants below are laid out for it. */\n#undef OPF_LANES\n#define OPF_LANES %d\n",
                    program->machine->lanes);
    for (size_t k = 0; opf_emit_own_at(program, k); k++) /* so that several models go into one program */
        opf_text_printf(out, "#define opf_own_%s %s_%s\n", opf_emit_own_at(program, k)->name, library->name, opf_emit_own_at(program, k)->name);
}

/* Kernels that the steps call: those that pack constants have done their work. */
static bool *called(const opf_program *program) {
    bool *used = OPF_ARRAY(program->module->arena, bool, program->kernels.count + 1);
    for (size_t i = 0; i < program->steps.count; i++)
        if (program->steps.data[i].kind == OPF_RUN_KERNEL) used[program->steps.data[i].kernel] = true;
    return used;
}

/* All that stands behind the prelude. */
static opf_status emit_body(const opf_program *program, const opf_library *library, opf_text *out) {
    const bool *used = called(program);
    opf_map printed = opf_map_new(program->module->arena);
    for (size_t i = 0; i < program->kernels.count; i++) {
        if (!used[i]) continue;
        opf_text kernel = {0};
        opf_status status = opf_emit_private_kernel(program->kernels.data[i].nest, program->kernels.data[i].name, &kernel);
        opf_text_add(out, "\n");
        opf_emit_shared_once(program->module->names, &printed, opf_text_string(&kernel), out);
        opf_text_free(&kernel);
        if (status != OPF_OK) return status;
    }
    opf_text_add(out, "\n/* ---- the program ---- */\n\n");
    opf_emit_main_sizes(program, out);
    opf_emit_main_run(program, out);
    opf_text_add(out, "\n/* ---- the interface ---- */\n\n");
    opf_emit_library_functions(program, library, out);
    end_version(library, out);
    return OPF_OK;
}

opf_status opf_emit_plain(const opf_program *program, const opf_library *given, const char *header, opf_text *out) {
    opf_text body = {0}, interface = {0};
    opf_library own = *given, *library = &own;
    own.one_file = true;
    opf_status status = emit_body(program, library, &body);
    opf_library whole = own;
    whole.version = NULL;
    opf_emit_library_header(program, &whole, &interface);
    emit_head(program, library, header, out);
    opf_emit_prelude_for(program, opf_text_string(&interface), opf_text_string(&body), out);
    opf_text_add(out, opf_text_string(&body));
    opf_text_free(&body);
    opf_text_free(&interface);
    return status;
}
