/* The functions of a built model's interface that deal in sizes, and what they refuse. A program solves its symbols from any
 * numbers; those of a caller may be negative, or their product beyond any memory. */
#include "emit/library.h"
#include "emit/main.h"
#include "ops/counts.h"

static bool is_open(const opf_value *input) {
    if (input->list) return true;
    for (int k = 0; k < input->rank; k++)
        if (input->dims[k]->kind != OPF_EXPR_INT) return true;
    return false;
}

static size_t first_number(const opf_program *program) { return program->checks.count + program->module->bound.count + 1; }

const char *opf_library_calls(const opf_library *library, opf_program_function function) {
    static const char *const names[][2] = {
        [OPF_PROGRAM_SOLVE] = {"opf_entry.solve", "solve"},
        [OPF_PROGRAM_OUTPUT_DIMS] = {"opf_entry.output_dims", "dims_of_output"},
        [OPF_PROGRAM_OUTPUT_MOST] = {"opf_entry.output_most", "most_of_output"},
        [OPF_PROGRAM_WORKSPACE] = {"opf_entry.workspace_bytes", "workspace_bytes"},
        [OPF_PROGRAM_RUN] = {"opf_entry.run", "run"},
    };
    return names[function][library->one_file];
}

const char *opf_library_solver(const opf_program *program, const opf_library *library) { return program->n_symbols ? "take_sizes" : opf_library_calls(library, OPF_PROGRAM_SOLVE); }

static void emit_inputs(const opf_program *program, opf_text *out) {
    const opf_graph *graph = program->fusion->graph;
    size_t number = first_number(program);
    for (size_t i = 0; i < graph->inputs.count; i++) {
        const opf_value *input = graph->inputs.data[i];
        if (!is_open(input)) continue;
        opf_text_printf(out, "    if (!has_room(input_dims[%zu], %d, %zu)) return %zu; // ", i, input->list ? 1 : input->rank,
                        input->list ? sizeof(void *) : opf_dtype_bytes(input->dtype, 1), number++);
        opf_emit_comment(input->name, out);
        opf_text_add(out, "\n");
    }
}

static size_t last_number(const opf_program *program) {
    size_t number = first_number(program);
    for (size_t i = 0; i < program->fusion->graph->inputs.count; i++) number += is_open(program->fusion->graph->inputs.data[i]);
    return number;
}

size_t opf_library_most_problem(const opf_program *program) { return program->n_symbols ? last_number(program) : first_number(program) - 1; }

void opf_emit_size_problems(const opf_program *program, opf_text *out) {
    const opf_graph *graph = program->fusion->graph;
    if (!program->n_symbols) return;
    for (size_t i = 0; i < graph->inputs.count; i++) {
        if (!is_open(graph->inputs.data[i])) continue;
        opf_text_add(out, "        \"input '");
        opf_emit_quoted(graph->inputs.data[i]->name, out);
        opf_text_add(out, "': a size is negative, or all of it is more than any memory\",\n");
    }
    opf_text_add(out, "        \"with these sizes an output or the workspace is more than any memory\",\n");
}

/* The outputs that the caller makes room for. */
static void emit_outputs(const opf_program *program, const opf_library *library, opf_text *out) {
    for (size_t i = 0; i < program->outputs.count; i++) {
        const opf_value *value = program->outputs.data[i];
        bool found = value->list != NULL;
        for (int k = 0; k < value->rank && !found; k++) found = opf_dim_is_unbounded(program->module, value->dims[k]);
        if (found) continue;
        opf_text_printf(out, "    %s(symbols, %zu, dims);\n    if (!has_room(dims, %d, %zu)) return %zu;\n", opf_library_calls(library, OPF_PROGRAM_OUTPUT_MOST), i, value->rank,
                        opf_dtype_bytes(value->dtype, 1), last_number(program));
    }
}

/* What takes the place of the program's own `solve`. */
static void emit_solver(const opf_program *program, const opf_library *library, opf_text *out) {
    if (!program->n_symbols) return;
    opf_text_add(out, "/* Has an array of these sizes room in any memory? */\n"
                      "static int has_room(const int64_t *dims, int rank, int64_t element_bytes) {\n"
                      "    int64_t bytes = element_bytes;\n"
                      "    for (int k = 0; k < rank; k++) {\n"
                      "        if (dims[k] < 0 || (dims[k] && bytes > ((int64_t)1 << 48) / dims[k])) return 0;\n"
                      "        bytes *= dims[k];\n"
                      "    }\n"
                      "    return 1;\n}\n\n"
                      "/* The sizes that the program calls by names, from the inputs' shapes; gives 0, or the number of the problem. */\n"
                      "static int take_sizes(const int64_t *const *input_dims, int64_t *symbols) {\n");
    emit_inputs(program, out);
    opf_text_printf(out, "    int problem = %s(input_dims, symbols);\n    if (problem) return problem;\n    int64_t dims[%d];\n", opf_library_calls(library, OPF_PROGRAM_SOLVE), OPF_MAX_RANK);
    emit_outputs(program, library, out);
    opf_text_printf(out, "    return %s(symbols, 1) ? 0 : %zu;\n}\n\n", opf_library_calls(library, OPF_PROGRAM_WORKSPACE), last_number(program));
}

void opf_emit_library_sizes(const opf_program *program, const opf_library *library, opf_text *out) {
    const char *solver = opf_library_solver(program, library);
    size_t symbols = program->n_symbols ? program->n_symbols : 1;
    emit_solver(program, library, out);
    const char *linkage = opf_library_linkage(library), *name = opf_library_prefix(library);
    opf_text_printf(out, "%sint %s_output_dims(const int64_t *const *input_dims, int output, int64_t *dims) {\n    int64_t symbols[%zu];\n"
                         "    int problem = %s(input_dims, symbols);\n    if (!problem) %s(symbols, output, dims);\n    return problem;\n}\n\n",
                    linkage, name, symbols, solver, opf_library_calls(library, OPF_PROGRAM_OUTPUT_MOST));
    opf_text_printf(out, "%ssize_t %s_workspace_bytes_on(const int64_t *const *input_dims, int threads) {\n    int64_t symbols[%zu];\n"
                         "    return %s(input_dims, symbols) ? 0 : %s(symbols, threads);\n}\n\n",
                    linkage, name, symbols, solver, opf_library_calls(library, OPF_PROGRAM_WORKSPACE));
    if (library->version) return;
    opf_text_printf(out, "size_t %s_workspace_bytes(const int64_t *const *input_dims) { return %s_workspace_bytes_on(input_dims, 1); }\n\n", name, name);
}
