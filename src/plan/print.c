/* Text form of programs, for --dump-after=plan. */
#include "ops/library.h"
#include "plan/program.h"

static void print_dim(opf_dim dim, opf_text *out) { opf_expr_print(dim, NULL, out); }

static const char *input_name(const opf_program *program, int input) { return program->fusion->graph->inputs.data[input]->name; }

static void print_place(const opf_program *program, int index, opf_text *out) {
    const opf_buffer *b = opf_program_storage(program, index), *own = &program->buffers.data[index];
    switch (b->kind) {
    case OPF_BUFFER_INPUT: opf_text_printf(out, "input %d", b->index); break;
    case OPF_BUFFER_OUTPUT: opf_text_printf(out, "output %d", b->index); break;
    case OPF_BUFFER_WEIGHT: opf_text_printf(out, "weight %d", b->index); break;
    case OPF_BUFFER_PACKED: opf_text_printf(out, "packed +%lld", (long long)b->offset); break;
    default: opf_text_printf(out, "slot %d +%lld", b->index, (long long)b->offset); break;
    }
    if (own->within) {
        opf_text_add(out, " +");
        print_dim(own->within, out);
    }
    if (!b->in_front) return;
    opf_text_printf(out, ", buffer %d +", b->whole);
    if (b->within_whole) print_dim(b->within_whole, out);
    else opf_text_add(out, "0");
    opf_text_add(out, " where 1 is ");
    print_dim(b->in_front, out);
}

static void print_buffer(const opf_program *program, int index, opf_text *out) {
    const opf_buffer *b = &program->buffers.data[index];
    if (b->value) opf_text_printf(out, "'%s' ", b->value->name);
    opf_text_add(out, "(");
    print_place(program, index, out);
    opf_text_add(out, ")");
}

static void print_buffers(const opf_program *program, const opf_step *step, opf_text *out) {
    for (int k = 0; k < step->n_buffers; k++) {
        opf_text_add(out, k ? ", " : " ");
        if (step->buffers[k] < 0) opf_text_add(out, "-");
        else print_buffer(program, step->buffers[k], out);
    }
    opf_text_add(out, "\n");
}

static void print_steps(const opf_program *program, const opf_step *steps, size_t n, opf_text *out) {
    static const char *const names[] = {
        [OPF_RUN_COPY] = "copy", [OPF_RUN_FILL] = "fill", [OPF_RUN_IF] = "if", [OPF_RUN_ELSE] = "else", [OPF_RUN_LOOP] = "loop",
        [OPF_RUN_GOES_ON] = "goes on", [OPF_RUN_END] = "end", [OPF_RUN_SET] = "set", [OPF_RUN_SLICE] = "slice", [OPF_RUN_STACK] = "stack"};
    for (size_t i = 0; i < n; i++) {
        const opf_step *step = &steps[i];
        opf_text_printf(out, "  %zu ", i);
        if (step->kind == OPF_RUN_KERNEL) {
            opf_text_printf(out, "%s units=", program->kernels.data[step->kernel].name);
            print_dim(step->units, out);
            if (step->unless) opf_text_add(out, " unless 1 is "), print_dim(step->unless, out);
            if (step->beside > 1) opf_text_printf(out, " beside=%d", step->beside);
            else if (step->beside < 0) opf_text_printf(out, " beside %zu", i + (size_t)step->beside);
        } else if (step->kind == OPF_RUN_LIBRARY) {
            opf_text_printf(out, "library %s", step->library->kernel->name);
        } else if (step->kind == OPF_RUN_CHECK) {
            opf_text_printf(out, "check %zu", step->check);
        } else {
            opf_text_add(out, names[step->kind]);
        }
        print_buffers(program, step, out);
    }
}

static void print_symbols(const opf_program *program, opf_text *out) {
    for (size_t i = 0; i < program->n_symbols; i++) {
        const opf_symbol_source *source = &program->sources[i];
        if (source->input < 0) opf_text_printf(out, "symbol %s found by '%s'\n", source->symbol->name, program->module->counts.data[source->axis].node->name);
        else opf_text_printf(out, "symbol %s = axis %d of '%s'\n", source->symbol->name, source->axis, input_name(program, source->input));
    }
    for (size_t i = 0; i < program->checks.count; i++) {
        const opf_condition *check = &program->checks.data[i];
        opf_text_add(out, "check ");
        if (check->guard) {
            print_dim(check->guard->left, out);
            opf_text_add(out, check->guard->kind == OPF_GUARD_EQ ? " = " : " >= ");
            print_dim(check->guard->right, out);
            opf_text_printf(out, "  (%s)\n", check->guard->why ? check->guard->why : "");
        } else {
            opf_text_printf(out, "axis %d of '%s' = ", check->axis, input_name(program, check->input));
            print_dim(check->want, out);
            opf_text_add(out, "\n");
        }
    }
}

static void print_workspace(const opf_program *program, opf_text *out) {
    for (size_t s = 0; s < program->slots.count; s++) {
        const opf_slot *slot = &program->slots.data[s];
        if (!slot->sizes.count) continue;
        opf_text_printf(out, "slot %zu: bytes", s);
        for (size_t i = 0; i < slot->sizes.count; i++) {
            opf_text_add(out, i ? " or " : " ");
            print_dim(slot->sizes.data[i], out);
        }
        opf_text_add(out, "\n");
    }
    for (size_t i = 0; i < program->buffers.count; i++) {
        const opf_buffer *b = &program->buffers.data[i];
        if (b->kind != OPF_BUFFER_WORKSPACE) continue;
        opf_text_printf(out, "  slot %d +%lld '%s' ", b->index, (long long)b->offset, b->value ? b->value->name : "scratch");
        print_dim(b->bytes, out);
        opf_text_printf(out, " bytes, steps %d to %d\n", b->first_step, b->last_step);
    }
}

void opf_program_print(const opf_program *program, opf_text *out) {
    opf_text_printf(out, "program: %zu kernels, %zu steps, %zu weights, %lld packed bytes\n", program->kernels.count,
                    program->steps.count, program->weights.count, (long long)program->packed_bytes);
    print_symbols(program, out);
    print_workspace(program, out);
    if (program->prepare.count) opf_text_add(out, "prepare:\n");
    print_steps(program, program->prepare.data, program->prepare.count, out);
    opf_text_add(out, "steps:\n");
    print_steps(program, program->steps.data, program->steps.count, out);
}
