/* The functions of a built model's interface, around its program. Constants are in the object, put there by the assembler's
 * .incbin, so that no C text grows with them, or are given by the caller. */
#include "emit/library.h"
#include "emit/main.h"

/* Text as the inside of a C string literal. */
void opf_emit_quoted(const char *text, opf_text *out) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == '"' || c == '\\' || c == '?' || c >= 0x7f) opf_text_printf(out, "\\%03o", c);
        else opf_text_add_n(out, text, 1);
    }
}

/* ---- constants ---- */

void opf_emit_library_data(const opf_library *library, opf_text *out) {
    opf_text_printf(out, "__asm__(\".section .rodata\\n\\t.balign 64\\n\\t.hidden %s_data\\n\\t.globl %s_data\\n\"\n        \"%s_data:\\n\\t.incbin \\\"",
                    library->name, library->name, library->name);
    for (const char *c = library->data; *c; c++) opf_text_printf(out, *c == '"' || *c == '\\' ? "\\\\\\%c" : "%c", *c);
    opf_text_printf(out, "\\\"\\n\\t.byte 0\\n\\t.text\\n\");\n");
}

static void declare_data(const opf_library *library, opf_text *out) {
    opf_text_printf(out, "extern const char %s_data[] __attribute__((visibility(\"hidden\")));\n", library->name);
}

/* Constants that are strings, as C's own. */
static void emit_texts(const opf_program *program, opf_text *out) {
    for (size_t i = 0; i < program->weights.count; i++) {
        const opf_tensor *tensor = program->weights.data[i].tensor;
        if (tensor->dtype != OPF_STRING) continue;
        opf_text_printf(out, "static const char *const texts_%zu[] = {\n", i);
        for (int64_t k = 0; k < tensor->elements; k++) {
            opf_text_add(out, "    \"");
            opf_emit_quoted(((const char *const *)tensor->data)[k], out);
            opf_text_add(out, "\",\n");
        }
        opf_text_add(out, tensor->elements ? "};\n" : "    0,\n};\n");
    }
}

/* weights[] in the object, or offsets of them in what the caller gives. */
static void emit_weights(const opf_program *program, const opf_library *library, opf_text *out) {
    if (!library->constants_given && !library->version) opf_emit_library_data(library, out);
    if (!library->constants_given) declare_data(library, out);
    emit_texts(program, out);
    if (!program->weights.count) return;
    opf_text_add(out, library->constants_given ? "static const int64_t weight_at[] = {\n" : "static const void *const weight[] = {\n");
    for (size_t i = 0; i < program->weights.count; i++) {
        bool text = program->weights.data[i].tensor->dtype == OPF_STRING;
        if (text && !library->constants_given) opf_text_printf(out, "    texts_%zu, // ", i);
        else if (text) opf_text_add(out, "    -1, // strings: ");
        else if (library->data_offsets[i] < 0) opf_text_printf(out, "    %s, // only the packed form is used: ", library->constants_given ? "-1" : "0");
        else if (library->constants_given) opf_text_printf(out, "    %lld, // ", (long long)library->data_offsets[i]);
        else opf_text_printf(out, "    %s_data + %lld, // ", library->name, (long long)library->data_offsets[i]);
        opf_emit_comment(program->weights.data[i].value->name, out);
        opf_text_add(out, "\n");
    }
    opf_text_add(out, "};\n\n");
}

/* ---- conditions in words ---- */

static void emit_condition(const opf_program *program, const opf_condition *check, opf_text *out) {
    if (check->guard) {
        opf_expr_print(check->guard->left, NULL, out);
        opf_text_add(out, check->guard->kind == OPF_GUARD_EQ ? " must equal " : " must be at least ");
        opf_expr_print(check->guard->right, NULL, out);
        if (check->guard->why) opf_text_printf(out, ": %s", check->guard->why);
        return;
    }
    opf_text_printf(out, "input '%s': axis %d must be ", program->fusion->graph->inputs.data[check->input]->name, check->axis);
    opf_expr_print(check->want, NULL, out);
}

static void emit_problems(const opf_program *program, const opf_library *library, opf_text *out) {
    opf_text_printf(out, "%sconst char *%s_problem(int number) {\n    static const char *const problems[] = {\n        \"no problem\",\n", opf_library_linkage(library), opf_library_prefix(library));
    for (size_t i = 0; i < program->checks.count; i++) {
        opf_text text = {0};
        emit_condition(program, &program->checks.data[i], &text);
        opf_text_add(out, "        \"");
        opf_emit_quoted(opf_text_string(&text), out);
        opf_text_add(out, "\",\n");
        opf_text_free(&text);
    }
    const opf_module *module = program->module;
    for (size_t i = 0; i < module->bound.count; i++) {
        opf_text_add(out, "        \"input '");
        opf_emit_quoted(module->bound.data[i].input->name, out);
        opf_text_add(out, "' must hold the value that the program was made for\",\n");
    }
    opf_emit_size_problems(program, out);
    opf_text_printf(out, "    };\n    return number < 0 ? \"a step could not be done%s\" : number <= %zu ? problems[number] : \"unknown problem\";\n}\n",
                    library->takes_memory ? ": heap->problem says why" : "", opf_library_most_problem(program));
}

/* The values of bound inputs, and a function that gives the number of the one that differs, counted from 1. */
static void emit_bound(const opf_module *module, opf_text *out) {
    if (!module->bound.count) return;
    opf_text_add(out, "#include <string.h>\n\n");
    for (size_t i = 0; i < module->bound.count; i++) {
        const opf_tensor *value = module->bound.data[i].value;
        opf_text_printf(out, "static const unsigned char bound_%zu[] = {", i);
        for (size_t k = 0; k < value->bytes; k++) opf_text_printf(out, "%d,", ((const unsigned char *)value->data)[k]);
        opf_text_add(out, "0};\n");
    }
    opf_text_add(out, "static int find_other(const void *const *inputs) {\n");
    for (size_t i = 0; i < module->bound.count; i++)
        opf_text_printf(out, "    if (memcmp(inputs[%d], bound_%zu, sizeof bound_%zu - 1) != 0) return %zu;\n", module->bound.data[i].input->input_index, i, i, i + 1);
    opf_text_add(out, "    return 0;\n}\n\n");
}

/* ---- functions ---- */

/* The constants' addresses in what the caller gives. */
static void emit_given_weights(const opf_program *program, const opf_library *library, opf_text *out) {
    size_t n = program->weights.count;
    if (!library->constants_given) return;
    if (!n && !program->packed_bytes) opf_text_add(out, "    (void)weights; // it has none\n");
    if (!n) return;
    opf_text_printf(out, "    const void *weight[%zu];\n    for (int k = 0; k < %zu; k++) weight[k] = weight_at[k] < 0 ? 0 : (const char *)weights + weight_at[k];\n", n, n);
    for (size_t i = 0; i < n; i++)
        if (program->weights.data[i].tensor->dtype == OPF_STRING) opf_text_printf(out, "    weight[%zu] = texts_%zu;\n", i, i);
}

/* NAME_run_on does the work of all. */
static void emit_run_on(const opf_program *program, const opf_library *library, size_t symbols, opf_text *out) {
    opf_emit_library_head(library, OPF_ENTRY_RUN_ON, out);
    opf_text_printf(out, " {\n    int64_t symbols[%zu];\n    int problem = %s(input_dims, symbols);\n    if (problem) return problem;\n", symbols, opf_library_solver(program, library));
    if (program->module->bound.count) opf_text_printf(out, "    if ((problem = find_other(inputs))) return %zu + problem;\n", program->checks.count);
    emit_given_weights(program, library, out);
    if (library->takes_memory) opf_text_add(out, "    heap->problem = 0;\n");
    opf_text_add(out, "    const opf_frame frame = {.inputs = inputs, .outputs = outputs, .symbols = symbols, .workspace = workspace, .hook = hook");
    if (program->weights.count) opf_text_add(out, ",\n                             .weights = weight");
    if (library->takes_memory) opf_text_add(out, ",\n                             .heap = heap");
    if (program->packed_bytes && library->constants_given) opf_text_printf(out, ",\n                             .packed = (char *)weights + %lld", (long long)library->packed_offset);
    else if (program->packed_bytes) opf_text_printf(out, ",\n                             .packed = (void *)(%s_data + %lld)", library->name, (long long)library->packed_offset);
    opf_text_add(out, "};\n");
    opf_text_printf(out, "    problem = %s(&frame);\n    for (int k = 0; k < %zu && output_dims && !problem; k++)\n"
                         "        if (output_dims[k]) %s(symbols, k, output_dims[k]);\n    return problem;\n}\n\n",
                    opf_library_calls(library, OPF_PROGRAM_RUN), program->fusion->graph->outputs.count, opf_library_calls(library, OPF_PROGRAM_OUTPUT_DIMS));
}

void opf_emit_library_run(const opf_library *library, opf_entry_form form, opf_text *out) {
    opf_emit_library_head(library, form, out);
    opf_text_printf(out, " {\n    return %s_run_on(inputs, input_dims, outputs, %s, workspace, %s%s0);\n}\n\n", library->name, form == OPF_ENTRY_RUN_DIMS ? "output_dims" : "0",
                    library->constants_given ? "weights, " : "", library->takes_memory ? "heap, " : "");
}

void opf_emit_library_functions(const opf_program *program, const opf_library *library, opf_text *out) {
    size_t symbols = program->n_symbols ? program->n_symbols : 1;
    emit_weights(program, library, out);
    emit_bound(program->module, out);
    opf_emit_library_sizes(program, library, out);
    emit_run_on(program, library, symbols, out);
    if (!library->version) opf_emit_library_run(library, OPF_ENTRY_RUN, out);
    if (!library->version && opf_program_has_counts(program)) opf_emit_library_run(library, OPF_ENTRY_RUN_DIMS, out);
    emit_problems(program, library, out);
}

/* A version's part: the program's objects are joined to it, and nothing but the table is seen from outside. */
static void emit_version_source(const opf_program *program, const opf_library *library, opf_text *out) {
    opf_text_printf(out, "/* The interface's part for %s. */\n", library->version->machine->name);
    opf_text_add(out, opf_prelude_abi());
    opf_emit_versions_header(library, out);
    opf_text_add(out, "extern const opf_entry_table opf_entry;\n\n");
    opf_emit_library_functions(program, library, out);
    opf_emit_version_table(library, true, out);
}

void opf_emit_library_source(const opf_program *program, const opf_library *library, opf_text *out) {
    if (library->version) {
        emit_version_source(program, library, out);
        return;
    }
    opf_text_add(out, "/* The library's interface around the program. */\n#pragma GCC visibility push(default)\n");
    opf_emit_library_header(program, library, out);
    opf_text_add(out, "#pragma GCC visibility pop\n\n");
    opf_text_add(out, opf_prelude_abi());
    opf_text_add(out, "extern const opf_entry_table opf_entry;\n\n");
    opf_emit_library_functions(program, library, out);
}
