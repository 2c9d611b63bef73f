/* Steps side by side: a table of their kernels, which one call hands to the threads (opf_main.h). */
#include "emit/main.h"
#include "opf_abi.h"

_Static_assert((int)OPF_LITTLE_WORK == (int)OPF_WORK_OF_PART, "the planner and the program that runs have one measure of what is worth a thread");

static void emit_row(const opf_program *program, const opf_step *step, int index, opf_text *out) {
    const opf_program_kernel *kernel = &program->kernels.data[step->kernel];
    bool scratch = !opf_is_value(step->nest->scratch_bytes, 0);
    opf_text_printf(out, "            {%d, %s, {p%d, ", index, kernel->name, index);
    if (kernel->n_symbols) opf_text_printf(out, "d%d, ", index);
    else opf_text_add(out, "0, ");
    opf_text_printf(out, "%s}, ", scratch ? "scratch, stride" : "0, 0");
    opf_emit_dim(step->units, out);
    opf_text_printf(out, ", %.0f.0 * (", step->work);
    opf_emit_dim(step->points, out);
    opf_text_add(out, "), 0},\n");
}

void opf_emit_beside(const opf_program *program, int first, opf_text *out) {
    int n = program->steps.data[first].beside;
    opf_text_printf(out, "    // %d kernels side by side\n    {\n", n);
    for (int k = 0; k < n; k++) {
        opf_text_add(out, "    ");
        opf_emit_step_banner(program, &program->steps.data[first + k], out);
        opf_emit_arguments(program, &program->steps.data[first + k], opf_arena_printf(program->module->arena, "%d", first + k), out);
    }
    opf_text_add(out, "        opf_beside beside[] = {\n");
    for (int k = 0; k < n; k++) emit_row(program, &program->steps.data[first + k], first + k, out);
    opf_text_printf(out, "        };\n        opf_call_beside(frame->hook, beside, %d);\n    }\n", n);
}
