/* A program as a library with a plain C interface: header and source. The constants are in the object, put there by the
 * assembler's .incbin, so that no C text grows with them. */
#include <ctype.h>

#include "emit/main.h"

/* ---- header ---- */

static void print_port(const opf_value *value, const char *name, size_t index, opf_text *out) {
    opf_text type = {0};
    opf_value_print_type(value, &type);
    opf_text_printf(out, " *   %zu  ", index);
    opf_emit_comment(opf_text_string(&type), out);
    opf_text_printf(out, "  %s  ", opf_emit_ctype(value->dtype));
    opf_emit_comment(name, out);
    opf_text_add(out, "\n");
    opf_text_free(&type);
}

static void print_ports(const opf_program *program, opf_text *out) {
    const opf_graph *graph = program->fusion->graph;
    opf_text_add(out, " * Inputs (row-major; shape, C type of an element, name):\n");
    for (size_t i = 0; i < graph->inputs.count; i++) print_port(graph->inputs.data[i], graph->inputs.data[i]->name, i, out);
    opf_text_add(out, " * Outputs:\n");
    for (size_t i = 0; i < graph->outputs.count; i++) print_port(graph->outputs.data[i], graph->output_names.data[i], i, out);
}

static void print_bound(const opf_module *module, opf_text *out) {
    for (size_t i = 0; i < module->bound.count; i++) {
        const opf_tensor *value = module->bound.data[i].value;
        opf_text_add(out, " * Made for one value of input ");
        opf_emit_comment(module->bound.data[i].input->name, out);
        opf_text_add(out, ", which a run compares:");
        for (int64_t k = 0; k < value->elements; k++) {
            if (opf_dtype_is_float(value->dtype)) opf_text_printf(out, " %.9g", opf_tensor_get(value, k));
            else opf_text_printf(out, " %lld", (long long)opf_tensor_get_int(value, k));
        }
        opf_text_add(out, "\n");
    }
}

static void print_upper(const char *name, opf_text *out) {
    for (; *name; name++) {
        char c = (char)toupper((unsigned char)*name);
        opf_text_add_n(out, &c, 1);
    }
}

static void print_run_dims(const char *name, opf_text *out) {
    opf_text_printf(out, "int %s_run_dims(const void *const *inputs, const int64_t *const *input_dims, void *const *outputs, int64_t *const *output_dims, void *workspace)", name);
}

void opf_emit_library_header(const opf_program *program, const opf_library *library, opf_text *out) {
    const opf_graph *graph = program->fusion->graph;
    const char *name = library->name;
    opf_text guard = {0};
    print_upper(name, &guard);
    opf_text_add(out, "/* ");
    opf_emit_comment(library->model, out);
    opf_text_add(out, ", compiled by opfuse.\n *\n");
    print_ports(program, out);
    print_bound(program->module, out);
    opf_text_printf(out, " *\n * The functions keep no state and call no allocator; any number of threads may run at once, each with its own workspace. */\n"
                         "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                    guard.data, guard.data);
    opf_text_printf(out, "enum { %s_INPUTS = %zu, %s_OUTPUTS = %zu };\n\n", guard.data, graph->inputs.count, guard.data, graph->outputs.count);
    opf_text_printf(out, "/* input_dims[i] is the shape of input i. All functions that return int give 0, or the number of a condition on\n"
                         " * the inputs that does not hold; %s_problem(number) says it in words. */\n", name);
    if (opf_program_has_counts(program)) opf_text_printf(out, "/* The largest shape that the output can have; %s_run_dims gives the one that it has. */\n", name);
    opf_text_printf(out, "int %s_output_dims(const int64_t *const *input_dims, int output, int64_t *dims);\n", name);
    opf_text_add(out, "/* Bytes of workspace that a run on these shapes needs; 0 where a condition does not hold or sizes overflow. */\n");
    opf_text_printf(out, "size_t %s_workspace_bytes(const int64_t *const *input_dims);\n", name);
    opf_text_add(out, "/* workspace: aligned to 64 bytes. outputs[k] has room for the whole of output k. */\n");
    opf_text_printf(out, "int %s_run(const void *const *inputs, const int64_t *const *input_dims, void *const *outputs, void *workspace);\n", name);
    if (opf_program_has_counts(program)) {
        opf_text_add(out, "/* The same; output_dims[k] gets the shape of output k, or is NULL. */\n");
        print_run_dims(name, out);
        opf_text_add(out, ";\n");
    }
    opf_text_printf(out, "const char *%s_problem(int number);\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n", name);
    opf_text_free(&guard);
}

/* ---- source ---- */

/* Text as the inside of a C string literal. */
static void emit_quoted(const char *text, opf_text *out) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == '"' || c == '\\' || c == '?' || c >= 0x7f) opf_text_printf(out, "\\%03o", c);
        else opf_text_add_n(out, text, 1);
    }
}

static void emit_data(const opf_program *program, const opf_library *library, opf_text *out) {
    opf_text_add(out, "__asm__(\".section .rodata\\n\\t.balign 64\\n\\t.hidden opf_library_data\\n\\t.globl opf_library_data\\n\"\n"
                      "        \"opf_library_data:\\n\\t.incbin \\\"");
    for (const char *c = library->data; *c; c++) opf_text_printf(out, *c == '"' || *c == '\\' ? "\\\\\\%c" : "%c", *c);
    opf_text_add(out, "\\\"\\n\\t.byte 0\\n\\t.text\\n\");\n"
                      "extern const char opf_library_data[] __attribute__((visibility(\"hidden\")));\n"
                      "static const void *const weights[] = {\n");
    for (size_t i = 0; i < program->weights.count; i++) {
        if (library->data_offsets[i] < 0) opf_text_add(out, "    0, // only the packed form is used: ");
        else opf_text_printf(out, "    opf_library_data + %lld, // ", (long long)library->data_offsets[i]);
        opf_emit_comment(program->weights.data[i].value->name, out);
        opf_text_add(out, "\n");
    }
    if (!program->weights.count) opf_text_add(out, "    0,\n");
    opf_text_add(out, "};\n\n");
}

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
    opf_text_printf(out, "const char *%s_problem(int number) {\n    static const char *const problems[] = {\n        \"no problem\",\n", library->name);
    for (size_t i = 0; i < program->checks.count; i++) {
        opf_text text = {0};
        emit_condition(program, &program->checks.data[i], &text);
        opf_text_add(out, "        \"");
        emit_quoted(opf_text_string(&text), out);
        opf_text_add(out, "\",\n");
        opf_text_free(&text);
    }
    const opf_module *module = program->module;
    for (size_t i = 0; i < module->bound.count; i++) {
        opf_text_add(out, "        \"input '");
        emit_quoted(module->bound.data[i].input->name, out);
        opf_text_add(out, "' must hold the value that the program was made for\",\n");
    }
    opf_text_printf(out, "    };\n    return number >= 0 && number <= %zu ? problems[number] : \"unknown problem\";\n}\n\n", program->checks.count + module->bound.count);
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

void opf_emit_library_source(const opf_program *program, const opf_library *library, opf_text *out) {
    const char *name = library->name;
    size_t symbols = program->n_symbols ? program->n_symbols : 1;
    opf_text_add(out, "/* The library's interface around the program. */\n");
    opf_text_add(out, opf_prelude_abi());
    opf_text_add(out, "extern const opf_entry_table opf_entry;\n#define API __attribute__((visibility(\"default\"))) extern\n\n");
    opf_text_printf(out, "API int %s_output_dims(const int64_t *const *input_dims, int output, int64_t *dims);\n"
                         "API size_t %s_workspace_bytes(const int64_t *const *input_dims);\n"
                         "API int %s_run(const void *const *inputs, const int64_t *const *input_dims, void *const *outputs, void *workspace);\n"
                         "API const char *%s_problem(int number);\n\n",
                    name, name, name, name);
    emit_data(program, library, out);
    emit_bound(program->module, out);
    opf_text_printf(out, "int %s_output_dims(const int64_t *const *input_dims, int output, int64_t *dims) {\n    int64_t symbols[%zu];\n"
                         "    int problem = opf_entry.solve(input_dims, symbols);\n    if (!problem) opf_entry.output_most(symbols, output, dims);\n    return problem;\n}\n\n",
                    name, symbols);
    opf_text_printf(out, "size_t %s_workspace_bytes(const int64_t *const *input_dims) {\n    int64_t symbols[%zu];\n"
                         "    return opf_entry.solve(input_dims, symbols) ? 0 : opf_entry.workspace_bytes(symbols, 1);\n}\n\n",
                    name, symbols);
    bool counts = opf_program_has_counts(program);
    if (counts) opf_text_add(out, "API ");
    if (counts) print_run_dims(name, out);
    else opf_text_printf(out, "int %s_run(const void *const *inputs, const int64_t *const *input_dims, void *const *outputs, void *workspace)", name);
    opf_text_printf(out, " {\n    int64_t symbols[%zu];\n    int problem = opf_entry.solve(input_dims, symbols);\n    if (problem) return problem;\n", symbols);
    if (program->module->bound.count)
        opf_text_printf(out, "    if ((problem = find_other(inputs))) return %zu + problem;\n", program->checks.count);
    opf_text_printf(out, "    const opf_frame frame = {.inputs = inputs, .outputs = outputs, .weights = weights, .packed = (void *)(opf_library_data + %lld),\n"
                         "                             .symbols = symbols, .workspace = workspace};\n    problem = opf_entry.run(&frame);\n",
                    (long long)library->packed_offset);
    if (counts) opf_text_printf(out, "    for (int k = 0; k < %zu && !problem; k++)\n        if (output_dims[k]) opf_entry.output_dims(symbols, k, output_dims[k]);\n", program->fusion->graph->outputs.count);
    opf_text_add(out, "    return problem;\n}\n\n");
    if (counts)
        opf_text_printf(out, "int %s_run(const void *const *inputs, const int64_t *const *input_dims, void *const *outputs, void *workspace) {\n"
                             "    int64_t *const dims[%zu] = {0};\n    return %s_run_dims(inputs, input_dims, outputs, dims, workspace);\n}\n\n",
                        name, program->fusion->graph->outputs.count, name);
    emit_problems(program, library, out);
}
