/* Steps that call library kernels: operands described in place, sizes taken over. */
#include <stdio.h>
#include <string.h>

#include "emit/own.h"
#include "ops/counts.h"
#include "ops/library.h"

/* ---- the prelude's text ---- */

extern const char opf_embedded_opf_lib[];
#define DECLARE_TEXT(name, needs) extern const char opf_embedded_opf_lib_##name[];
OPF_LIBRARY_FILES(DECLARE_TEXT)

typedef struct file { const char *name, *needs, *text; } file;
#define FILE_ROW(name, needs) {#name, needs, opf_embedded_opf_lib_##name},
static const file files[] = {OPF_LIBRARY_FILES(FILE_ROW)};

static void mark(const char *name, bool *used) {
    for (size_t i = 0; i < OPF_COUNT(files); i++) {
        if (strcmp(files[i].name, name) != 0) continue;
        used[i] = true;
        if (files[i].needs[0]) mark(files[i].needs, used);
    }
}

void opf_emit_library_kernels(const opf_program *program, opf_text *out) {
    bool used[OPF_COUNT(files)] = {false}, any = false;
    for (size_t i = 0; i < program->steps.count; i++) {
        const opf_step *step = &program->steps.data[i];
        bool own = step->kind == OPF_RUN_LIBRARY && step->library->kernel->own;
        if (step->kind != OPF_RUN_LIBRARY || own) continue;
        mark(step->library->kernel->file, used);
        any = true;
    }
    if (any) opf_text_add(out, opf_embedded_opf_lib);
    for (size_t i = 0; i < OPF_COUNT(files); i++)
        if (used[i]) opf_text_add(out, files[i].text);
}

/* ---- the call ---- */

typedef struct printer {
    const opf_program *program;
    const opf_step *step;
    opf_text *out, dims;
    int n_dims;
} printer;

/* {data, type, rank, dims}; the dims go into the list in front. */
static void describe(printer *p, int buffer, int dtype, int rank, const opf_dim *dims) {
    opf_text_add(p->out, "            {");
    if (buffer < 0) opf_text_add(p->out, "0");
    else opf_emit_buffer(p->program, buffer, p->out);
    opf_text_printf(p->out, ", %d, %d, dims + %d}", dtype, rank, p->n_dims);
    for (int k = 0; k < rank; k++) {
        opf_text_add(&p->dims, p->n_dims++ ? ", " : "");
        opf_emit_size(dims[k], &p->dims);
    }
}

static void absent(printer *p) { opf_text_add(p->out, "            {0},\n"); }

static void describe_constant(printer *p, int buffer, const opf_tensor *tensor) {
    opf_dim dims[OPF_MAX_RANK];
    for (int k = 0; k < tensor->rank; k++) dims[k] = opf_int(p->program->module->pool, tensor->dims[k]);
    describe(p, buffer, (int)tensor->dtype, tensor->rank, dims);
    opf_text_add(p->out, ",\n");
}

static void describe_inputs(printer *p) {
    const opf_library_call *library = p->step->library;
    opf_text_printf(p->out, "        const %s in[] = {\n", library->kernel->own ? "opf_kernel_tensor" : "opf_lib_tensor");
    for (int k = 0; k < library->n_inputs; k++) {
        const opf_value *value = k < p->step->node->n_inputs ? p->step->node->inputs[k] : NULL;
        if (!value) {
            absent(p);
            continue;
        }
        const opf_stage *packing = opf_library_packed(library, k);
        if (packing) describe(p, p->step->buffers[k], (int)packing->dtype, packing->n_axes, packing->extents);
        else describe(p, p->step->buffers[k], (int)value->dtype, value->rank, value->dims);
        opf_emit_buffer_comment(p->program, p->step->buffers[k], p->out);
    }
    for (size_t k = 0; k < library->constants.count; k++)
        describe_constant(p, p->step->buffers[(size_t)library->n_inputs + k], library->constants.data[k]);
    if (!library->n_inputs && !library->constants.count) absent(p);
    opf_text_add(p->out, "        };\n");
}

/* The kernel finds the size of this result and takes its memory. */
static bool takes_itself(const opf_program *program, const opf_step *step, int output) {
    const opf_library_call *library = step->library;
    int buffer = step->buffers[(size_t)library->n_inputs + library->constants.count + (size_t)output];
    return buffer >= 0 && opf_program_storage(program, buffer)->found && opf_library_sizes_output(program->module, library, output);
}

/* Memory of results without a bound whose size earlier steps have found. */
static void take_memory(const opf_program *program, const opf_step *step, int index, opf_text *out) {
    const opf_library_call *library = step->library;
    const int *buffers = step->buffers + library->n_inputs + library->constants.count;
    for (int k = 0; k < library->n_outputs; k++)
        if (library->outputs[k].dtype != OPF_NO_DTYPE && !takes_itself(program, step, k)) opf_emit_take(program, buffers[k], program->buffers.data[buffers[k]].bytes, index, out);
    if (opf_is_value(library->scratch_bytes, 0)) return;
    int scratch = step->buffers[step->n_buffers - 1];
    opf_emit_take(program, scratch, program->buffers.data[scratch].bytes, index, out);
}

static void describe_outputs(printer *p) {
    const opf_library_call *library = p->step->library;
    const int *buffers = p->step->buffers + library->n_inputs + library->constants.count;
    opf_text_printf(p->out, "        %s out[] = {\n", library->kernel->own ? "const opf_kernel_tensor" : "opf_lib_tensor");
    for (int k = 0; k < library->n_outputs; k++) {
        const opf_library_output *output = &library->outputs[k];
        opf_dim dims[OPF_MAX_RANK];
        if (output->dtype == OPF_NO_DTYPE) {
            absent(p);
            continue;
        }
        for (int axis = 0; axis < output->rank; axis++) dims[axis] = opf_dim_most(p->program->module, output->dims[axis]);
        describe(p, takes_itself(p->program, p->step, k) ? -1 : buffers[k], (int)output->dtype, output->rank, dims);
        opf_emit_buffer_comment(p->program, buffers[k], p->out);
    }
    opf_text_add(p->out, "        };\n");
}

static void print_parameters(const opf_library_call *library, opf_text *out) {
    if (library->ints.count) opf_text_add(out, "        const int64_t ints[] = {");
    for (size_t k = 0; k < library->ints.count; k++) {
        if (k) opf_text_add(out, ", ");
        opf_emit_size(library->ints.data[k], out);
    }
    if (library->ints.count) opf_text_add(out, "};\n");
    if (library->floats.count) opf_text_add(out, "        const double floats[] = {");
    for (size_t k = 0; k < library->floats.count; k++) opf_text_printf(out, "%s%.17g", k ? ", " : "", library->floats.data[k]);
    if (library->floats.count) opf_text_add(out, "};\n");
}

static void take_counts(const opf_program *program, const opf_library_call *library, const opf_mentions *mentions, opf_text *out) {
    for (int k = 0; k < library->n_counts; k++) {
        char value[32];
        snprintf(value, sizeof value, "counts[%d]", k);
        opf_text_add(out, "        ");
        opf_emit_symbol_set(program, library->counts[k], value, mentions, out);
    }
}

/* Where kernels have put results whose memory they took. */
static void keep_results(const opf_program *program, const opf_step *step, opf_text *out) {
    const opf_library_call *library = step->library;
    const int *buffers = step->buffers + library->n_inputs + library->constants.count;
    for (int k = 0; k < library->n_outputs; k++) {
        if (library->outputs[k].dtype == OPF_NO_DTYPE || !takes_itself(program, step, k)) continue;
        opf_text_add(out, "        ");
        opf_emit_buffer(program, buffers[k], out);
        opf_text_printf(out, " = out[%d].data;\n", k);
    }
}

static void print_call(const opf_program *program, const opf_step *step, int index, opf_text *out) {
    const opf_library_call *library = step->library;
    if (library->n_counts) opf_text_printf(out, "        int64_t counts[%d] = {0};\n", library->n_counts);
    opf_text_printf(out, "        const opf_lib_args args = {in, out, %s, %s, ", library->ints.count ? "ints" : "0", library->floats.count ? "floats" : "0");
    if (opf_is_value(library->scratch_bytes, 0)) opf_text_add(out, "0");
    else opf_emit_buffer(program, step->buffers[step->n_buffers - 1], out);
    opf_text_printf(out, ", %s, %s};\n        opf_lib_%s(&args);\n", library->n_counts ? "counts" : "0", library->takes_memory ? "frame->heap" : "0", library->kernel->name);
    if (library->takes_memory) opf_text_add(out, "        if (frame->heap->problem) ");
    if (library->takes_memory) opf_emit_step_failed(index, out);
}

void opf_emit_library_call(const opf_program *program, const opf_step *step, int index, const opf_mentions *mentions, opf_text *out) {
    const opf_library_call *library = step->library;
    opf_text tensors = {0};
    printer p = {.program = program, .step = step, .out = &tensors};
    take_memory(program, step, index, out);
    describe_inputs(&p);
    describe_outputs(&p);
    opf_text_printf(out, "        const int64_t dims[] = {%s};\n", p.n_dims ? opf_text_string(&p.dims) : "0");
    opf_text_add(out, opf_text_string(&tensors));
    print_parameters(library, out);
    if (library->kernel->own) opf_emit_own_call(step, index, out);
    else print_call(program, step, index, out);
    keep_results(program, step, out);
    take_counts(program, library, mentions, out);
    opf_text_free(&p.dims);
    opf_text_free(&tensors);
}

void opf_emit_library_mentions(const opf_program *program, const opf_step *step, opf_mentions *mentions) {
    const opf_library_call *library = step->library;
    for (int k = 0; k < library->n_inputs && k < step->node->n_inputs; k++)
        for (int axis = 0; step->node->inputs[k] && axis < step->node->inputs[k]->rank; axis++) opf_mentions_add(mentions, step->node->inputs[k]->dims[axis]);
    for (int k = 0; k < library->n_outputs; k++)
        for (int axis = 0; library->outputs[k].dtype != OPF_NO_DTYPE && axis < library->outputs[k].rank; axis++)
            opf_mentions_add(mentions, opf_dim_most(program->module, library->outputs[k].dims[axis]));
    for (size_t k = 0; k < library->ints.count; k++) opf_mentions_add(mentions, library->ints.data[k]);
    for (int k = 0; k < step->n_buffers; k++)
        if (step->buffers[k] >= 0 && opf_program_storage(program, step->buffers[k])->found) opf_mentions_add(mentions, program->buffers.data[step->buffers[k]].bytes);
}
