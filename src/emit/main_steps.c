/* The functions of a program's main file that do the work: prepare and run. Each step is a block of its own. */
#include <ctype.h>
#include <string.h>

#include "emit/main.h"
#include "emit/spelling.h"

enum { STEPS_OF_PART = 50, MOST_STEPS_OF_ONE = 150 };

/* ---- buffers ---- */

/* `bytes`: something is added to the address. */
static void emit_storage(const opf_buffer *b, bool bytes, opf_text *out) {
    if (bytes && (b->kind == OPF_BUFFER_OUTPUT || b->kind == OPF_BUFFER_INPUT || b->kind == OPF_BUFFER_WEIGHT)) opf_text_add(out, "(char *)");
    switch (b->kind) {
    case OPF_BUFFER_INPUT: opf_text_printf(out, "(void *)frame->inputs[%d]", b->index); break;
    case OPF_BUFFER_OUTPUT: opf_text_printf(out, "frame->outputs[%d]", b->index); break;
    case OPF_BUFFER_WEIGHT: opf_text_printf(out, "(void *)frame->weights[%d]", b->index); break;
    case OPF_BUFFER_PACKED: opf_text_printf(out, b->offset ? "(char *)frame->packed + %lld" : "frame->packed", (long long)b->offset); break;
    default:
        if (b->index == 0) opf_text_printf(out, b->offset ? "base + %lld" : "base", (long long)b->offset);
        else opf_text_printf(out, "base + at[%d]", b->index);
        break;
    }
}

static void emit_offset(opf_dim within, opf_text *out) {
    if (!within) return;
    opf_text_add(out, " + ");
    opf_emit_size(within, out);
}

void opf_emit_place(const opf_program *program, int index, opf_text *out) {
    const opf_buffer *b = opf_program_storage(program, index), *own = &program->buffers.data[index], *whole = opf_program_whole(program, index);
    if (!whole) {
        emit_storage(b, own->within, out);
    } else {
        opf_text_add(out, "(");
        opf_emit_dim(b->in_front, out);
        opf_text_add(out, " == 1 ? ");
        emit_storage(whole, true, out);
        emit_offset(b->within_whole, out);
        opf_text_add(out, " : ");
        emit_storage(b, true, out);
        opf_text_add(out, ")");
    }
    emit_offset(own->within, out);
}

void opf_emit_buffer(const opf_program *program, int index, opf_text *out) {
    bool found = opf_program_storage(program, index)->found;
    if (found) opf_text_add(out, "*(void **)(");
    opf_emit_place(program, index, out);
    if (found) opf_text_add(out, ")");
}

void opf_emit_step_failed(int index, opf_text *out) { opf_text_printf(out, "return %d;\n", -1 - index); }

void opf_emit_take(const opf_program *program, int buffer, opf_dim bytes, int index, opf_text *out) {
    if (buffer < 0 || !opf_program_storage(program, buffer)->found) return;
    opf_text_add(out, "        if (!(");
    opf_emit_buffer(program, buffer, out);
    opf_text_add(out, " = opf_heap_take(frame->heap, ");
    opf_emit_size(bytes, out);
    opf_text_add(out, ", 64))) ");
    opf_emit_step_failed(index, out);
}

void opf_emit_buffer_comment(const opf_program *program, int index, opf_text *out) {
    const opf_buffer *b = &program->buffers.data[index];
    opf_text_add(out, ", // ");
    if (b->value) {
        opf_emit_comment(b->value->name, out);
        opf_text_add(out, "  ");
        opf_text type = {0};
        opf_value_print_type(b->value, &type);
        opf_emit_comment(opf_text_string(&type), out);
        opf_text_free(&type);
    } else {
        opf_text_add(out, b->kind == OPF_BUFFER_PACKED ? "packed constant" : b->kind == OPF_BUFFER_WEIGHT ? "constant" : "scratch");
    }
    opf_text_add(out, "\n");
}

/* ---- kernels ---- */

void opf_emit_step_banner(const opf_program *program, const opf_step *step, opf_text *out) {
    opf_text_add(out, "    // ");
    if (step->kind == OPF_RUN_LIBRARY) {
        opf_emit_comment(step->node->name, out);
    } else if (step->kind == OPF_RUN_CHECK) {
        opf_text_add(out, "sizes that were found");
    } else if (step->kind != OPF_RUN_KERNEL) {
        opf_text_add(out, step->kind == OPF_RUN_COPY ? "copy " : "fill ");
        opf_emit_comment(step->value->name, out);
    } else {
        const opf_group *group = step->nest->group;
        for (size_t i = 0; i < group->nodes.count; i++) {
            if (i) opf_text_add(out, " + ");
            opf_emit_comment(group->nodes.data[i]->name, out);
        }
        if (!group->nodes.count) opf_emit_comment(program->kernels.data[step->kernel].name, out);
    }
    opf_text_add(out, "\n");
}

void opf_emit_arguments(const opf_program *program, const opf_step *step, const char *number, opf_text *out) {
    opf_text_printf(out, "        void *const p%s[] = {\n", number);
    for (int k = 0; k < step->n_buffers; k++) {
        opf_text_add(out, "            ");
        opf_emit_buffer(program, step->buffers[k], out);
        opf_emit_buffer_comment(program, step->buffers[k], out);
    }
    opf_text_add(out, "        };\n");
    const opf_program_kernel *kernel = &program->kernels.data[step->kernel];
    if (kernel->n_symbols) {
        opf_text_printf(out, "        const int64_t d%s[] = {", number);
        for (int k = 0; k < kernel->n_symbols; k++) {
            if (k) opf_text_add(out, ", ");
            opf_emit_symbol(kernel->symbols[k], out);
        }
        opf_text_add(out, "};\n");
    }
}

static void emit_scratch_of_step(const opf_step *step, int index, opf_text *out) {
    opf_text_add(out, "        const int64_t own_stride = opf_pad64(");
    opf_emit_size(step->nest->scratch_bytes, out);
    opf_text_add(out, ");\n        char *const own_scratch = (char *)opf_heap_take(frame->heap, opf_times(own_stride, opf_threads_of(frame->hook)), 64);\n        if (!own_scratch) ");
    opf_emit_step_failed(index, out);
}

/* Work of a point times points: a number where they are known. */
static void emit_work(const opf_step *step, opf_text *out) {
    int64_t points;
    if (opf_is_int(step->points, &points)) {
        opf_text_printf(out, ", %.0f.0", step->work * (double)points);
        return;
    }
    opf_text_printf(out, ", %.0f.0 * (", step->work);
    opf_emit_dim(step->points, out);
    opf_text_add(out, ")");
}

static void emit_kernel_call(const opf_program *program, const opf_step *step, int index, opf_text *out) {
    const opf_program_kernel *kernel = &program->kernels.data[step->kernel];
    bool scratch = !opf_is_value(step->nest->scratch_bytes, 0), found = opf_step_finds_scratch(program, step);
    const opf_group *group = step->nest->group;
    for (size_t k = 0; k < group->results.count && index >= 0; k++) {
        int result = step->buffers[group->stages.inputs.count + k];
        opf_emit_take(program, result, program->buffers.data[result].bytes, index, out);
    }
    if (found) emit_scratch_of_step(step, index, out);
    opf_emit_arguments(program, step, "", out);
    opf_text_printf(out, "        const opf_args args = {p, %s, %s, %s};\n", kernel->n_symbols ? "d" : "0",
                    found ? "own_scratch" : scratch ? "scratch" : "0", found ? "own_stride" : scratch ? "stride" : "0");
    opf_text_printf(out, "        opf_call(frame->hook, %d, %s, &args, ", index, kernel->name);
    opf_emit_dim(step->units, out);
    emit_work(step, out);
    opf_text_add(out, ");\n");
}

/* ---- copies and fills ---- */

static void emit_copy(const opf_program *program, const opf_step *step, int index, opf_text *out) {
    opf_emit_take(program, step->buffers[0], step->bytes, index, out);
    opf_text_add(out, "        memcpy(");
    opf_emit_buffer(program, step->buffers[0], out);
    opf_text_add(out, ", ");
    opf_emit_buffer(program, step->buffers[1], out);
    opf_text_add(out, ", (size_t)");
    opf_emit_size(step->bytes, out);
    opf_text_add(out, ");\n");
}

/* The element as bytes of its type: content is integers, bools and floats; narrow floating types are stored as their code. */
static void emit_element(opf_dtype dtype, const opf_expr *e, opf_text *out) {
    const opf_emit_scope scope = {0};
    if (e->kind == OPF_EXPR_FLOAT && opf_emit_is_narrow(dtype)) opf_emit_code(e, &scope, out);
    else opf_emit_expr(e, &scope, out);
}

/* Elements that share the byte with the one at `first`, low bits first. */
static void emit_shared(const opf_value *value, int64_t first, opf_text *out) {
    int bits = opf_dtype_bits(value->dtype), each = 8 / bits;
    for (int k = 0; k < each && first + k < value->content_count; k++) {
        opf_text_add(out, k ? " | (" : "(");
        emit_element(value->dtype, value->content[first + k], out);
        opf_text_printf(out, " & %d) << %d", (1 << bits) - 1, k * bits);
    }
}

static void emit_fill(const opf_program *program, const opf_step *step, opf_text *out) {
    const opf_value *value = step->value;
    const char *type = opf_emit_ctype(value->dtype);
    opf_text_printf(out, "        %s *const to = (%s *)(", type, type);
    opf_emit_buffer(program, step->buffers[0], out);
    opf_text_add(out, ");\n");
    if (!value->content_count) opf_text_add(out, "        (void)to;\n");
    int64_t each = opf_dtype_is_packed(value->dtype) ? 8 / opf_dtype_bits(value->dtype) : 1;
    for (int64_t i = 0; i < value->content_count; i += each) {
        opf_text_printf(out, "        to[%lld] = (%s)(", (long long)(i / each), type);
        if (each > 1) emit_shared(value, i, out);
        else emit_element(value->dtype, value->content[i], out);
        opf_text_add(out, ");\n");
    }
}

/* ---- functions ---- */

static void mention_place(opf_mentions *mentions, const opf_program *program, int buffer) {
    const opf_buffer *own = &program->buffers.data[buffer], *storage = opf_program_storage(program, buffer);
    const opf_dim dims[] = {own->within, storage->in_front, storage->within_whole};
    for (size_t i = 0; i < OPF_COUNT(dims); i++)
        if (dims[i]) opf_mentions_add(mentions, dims[i]);
}

static void mention_step(opf_mentions *mentions, const opf_step *step, const opf_program *program) {
    for (int k = 0; k < step->n_buffers; k++)
        if (step->buffers[k] >= 0) mention_place(mentions, program, step->buffers[k]);
    if (step->unless) opf_mentions_add(mentions, step->unless);
    if (step->kind == OPF_RUN_KERNEL) {
        const opf_program_kernel *kernel = &program->kernels.data[step->kernel];
        opf_mentions_add(mentions, step->units);
        opf_mentions_add(mentions, step->points);
        const opf_group *group = step->nest->group;
        for (size_t k = 0; k < group->results.count; k++)
            if (opf_program_storage(program, step->buffers[group->stages.inputs.count + k])->found) opf_mentions_add(mentions, program->buffers.data[step->buffers[group->stages.inputs.count + k]].bytes);
        if (opf_step_finds_scratch(program, step)) opf_mentions_add(mentions, step->nest->scratch_bytes);
        for (int k = 0; k < kernel->n_symbols; k++) opf_mentions_add(mentions, opf_sym(program->module->pool, kernel->symbols[k]));
    } else if (step->kind == OPF_RUN_COPY) {
        opf_mentions_add(mentions, step->bytes);
    } else if (opf_emit_control_mentions(program, step, mentions)) {
        return;
    } else if (step->kind == OPF_RUN_LIBRARY) {
        opf_emit_library_mentions(program, step, mentions);
    } else if (step->kind == OPF_RUN_CHECK) {
        opf_mentions_add(mentions, program->checks.data[step->check].guard->left);
        opf_mentions_add(mentions, program->checks.data[step->check].guard->right);
    } else {
        for (int64_t i = 0; i < step->value->content_count; i++) opf_mentions_add(mentions, step->value->content[i]);
    }
}

static void emit_check(const opf_program *program, const opf_step *step, opf_text *out) {
    opf_text_add(out, "        ");
    opf_emit_guard(program, step->check, out);
}

static void emit_block(const opf_program *program, const opf_step *step, int index, const opf_mentions *mentions, opf_text *out) {
    if (index >= 0 && step->beside < 0) return; /* printed with the first of its companions */
    if (index >= 0 && step->beside > 1) {
        opf_emit_beside(program, index, out);
        return;
    }
    if (opf_emit_control(program, step, index, mentions, out)) return;
    opf_emit_step_banner(program, step, out);
    opf_text_add(out, "    ");
    if (step->unless) {
        opf_text_add(out, "if (");
        opf_emit_dim(step->unless, out);
        opf_text_add(out, " != 1) ");
    }
    opf_text_add(out, "{\n");
    bool called = step->kind == OPF_RUN_KERNEL || (step->kind == OPF_RUN_LIBRARY && step->library->kernel->own), traced = index >= 0 && !called; /* by opf_call */
    if (traced) opf_text_printf(out, "        opf_step_begins(frame->hook, %d);\n", index);
    if (step->kind == OPF_RUN_KERNEL) emit_kernel_call(program, step, index, out);
    else if (step->kind == OPF_RUN_COPY) emit_copy(program, step, index, out);
    else if (step->kind == OPF_RUN_LIBRARY) opf_emit_library_call(program, step, index, mentions, out);
    else if (step->kind == OPF_RUN_CHECK) emit_check(program, step, out);
    else emit_fill(program, step, out);
    if (traced) opf_text_printf(out, "        opf_step_ends(frame->hook, %d);\n", index);
    opf_text_add(out, "    }\n");
}

/* The step's lines, moved in by its depth within branches and loops. */
static void emit_step(const opf_program *program, const opf_step *step, int index, int depth, const opf_mentions *mentions, opf_text *out) {
    opf_text block = {0};
    emit_block(program, step, index, mentions, &block);
    for (const char *line = opf_text_string(&block); *line;) {
        size_t length = strcspn(line, "\n");
        for (int k = 0; k < depth; k++) opf_text_add(out, "    ");
        opf_text_add_n(out, line, length + (line[length] == '\n'));
        line += length + (line[length] == '\n');
    }
    opf_text_free(&block);
}

static int depth_after(const opf_step *step, int depth) {
    return depth + (step->kind == OPF_RUN_IF || step->kind == OPF_RUN_LOOP) - (step->kind == OPF_RUN_END);
}

static void emit_steps(const opf_program *program, size_t first, size_t end, const opf_mentions *mentions, opf_text *out) {
    int depth = 0;
    for (size_t i = first; i < end; i++) {
        const opf_step *step = &program->steps.data[i];
        bool outdented = step->kind == OPF_RUN_ELSE || step->kind == OPF_RUN_END;
        emit_step(program, step, (int)i, depth - outdented, mentions, out);
        depth = depth_after(step, depth);
    }
}

/* Packing needs no scratch and no symbols: constants have constant sizes. */
void opf_emit_main_prepare(const opf_program *program, opf_text *out) {
    opf_text_add(out, "static void prepare(const opf_frame *frame, int step) {\n");
    if (!program->prepare.count) opf_text_add(out, "    (void)frame, (void)step;\n");
    for (size_t i = 0; i < program->prepare.count; i++) {
        opf_text_printf(out, "    if (step == %zu)\n", i);
        emit_block(program, &program->prepare.data[i], -1, NULL, out);
    }
    opf_text_add(out, "}\n\n");
}

static bool has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length) {
        bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (starts && !(isalnum((unsigned char)at[length]) || at[length] == '_')) return true;
    }
    return false;
}

/* The steps first … end-1 as a function: their lines, behind declarations of what they use. */
static void emit_function(const opf_program *program, const char *head, size_t first, size_t end, opf_text *out) {
    opf_mentions mentions = opf_mentions_new(program, program->module->arena);
    for (size_t i = first; i < end; i++) mention_step(&mentions, &program->steps.data[i], program);
    opf_text steps = {0};
    emit_steps(program, first, end, &mentions, &steps);
    const char *text = opf_text_string(&steps);
    bool scratch = has_word(text, "scratch"), offsets = scratch || has_word(text, "at");
    opf_text_printf(out, "%s(const opf_frame *frame) {\n", head);
    if (first == end) opf_text_add(out, "    (void)frame;\n");
    opf_mentions_print(&mentions, "frame->symbols", out);
    if (scratch || has_word(text, "base")) opf_text_add(out, "    char *const base = frame->workspace;\n");
    if (offsets) opf_text_printf(out, "    int64_t at[%zu];\n    slots(frame->symbols, at);\n", program->slots.count + 1);
    if (scratch)
        opf_text_printf(out, "    char *const scratch = base + at[%zu];\n    const size_t stride = (size_t)scratch_bytes(frame->symbols);\n", program->slots.count);
    opf_text_add_n(out, text, steps.length);
    opf_text_add(out, "    return 0;\n}\n\n");
    opf_text_free(&steps);
}

/* The end of the part that begins at step `first`: some steps further, outside of branches and loops, and between steps side by side. */
static size_t part_end(const opf_program *program, size_t first) {
    int depth = 0;
    for (size_t i = first; i < program->steps.count; i++) {
        depth = depth_after(&program->steps.data[i], depth);
        bool apart = i + 1 == program->steps.count || program->steps.data[i + 1].beside >= 0;
        if (i + 1 - first >= STEPS_OF_PART && depth == 0 && apart) return i + 1;
    }
    return program->steps.count;
}

/* Compilers take time quadratic in the length of a function: a long program is a chain of short ones. */
void opf_emit_main_run(const opf_program *program, opf_text *out) {
    if (program->steps.count <= MOST_STEPS_OF_ONE) {
        emit_function(program, "static int run", 0, program->steps.count, out);
        return;
    }
    opf_text run = {0};
    opf_text_add(&run, "static int run(const opf_frame *frame) {\n    int problem = 0;\n");
    for (size_t first = 0, end; first < program->steps.count; first = end) {
        end = part_end(program, first);
        opf_text head = {0};
        opf_text_printf(&head, "OPF_APART int steps_from_%zu", first);
        emit_function(program, head.data, first, end, out);
        opf_text_printf(&run, "    if (!problem) problem = steps_from_%zu(frame);\n", first);
        opf_text_free(&head);
    }
    opf_text_add(&run, "    return problem;\n}\n\n");
    opf_text_add_n(out, run.data, run.length);
    opf_text_free(&run);
}
