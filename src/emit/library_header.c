/* The C header of a built model: the manual of its interface. */
#include <ctype.h>

#include "emit/library.h"
#include "emit/main.h"
#include "ops/counts.h"

void opf_emit_upper(const char *name, opf_text *out) {
    for (; *name; name++) {
        char c = (char)toupper((unsigned char)*name);
        opf_text_add_n(out, &c, 1);
    }
}

/* ---- what goes in and out ---- */

static void print_port(const opf_value *value, const char *name, size_t index, opf_text *out) {
    opf_text type = {0};
    opf_value_print_type(value, &type);
    opf_text_printf(out, " *   %zu  ", index);
    opf_emit_comment(opf_text_string(&type), out);
    opf_text_printf(out, "  %s  ", value->list ? "opf_list" : value->dtype == OPF_STRING ? "const char *" : opf_emit_ctype(value->dtype));
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

static bool has_lists(const opf_graph *graph) {
    for (size_t i = 0; i < graph->inputs.count; i++)
        if (graph->inputs.data[i]->list) return true;
    for (size_t i = 0; i < graph->outputs.count; i++)
        if (graph->outputs.data[i]->list) return true;
    return false;
}

/* What is no tensor with memory of the caller's, and who owns it. */
static void print_memory(const opf_program *program, const opf_library *library, opf_text *out) {
    const opf_graph *graph = program->fusion->graph;
    bool found = false;
    if (has_lists(graph))
        opf_text_add(out, " * A sequence or optional is one opf_list, its shape in input_dims its length (0 where it is absent). Its elements, and those of\n"
                          " * the lists that come out, may be the caller's own: they stay there until the results have been read.\n");
    for (size_t i = 0; i < graph->outputs.count; i++) {
        const opf_value *value = graph->outputs.data[i];
        for (int k = 0; k < value->rank && !value->list; k++) found = found || opf_dim_is_unbounded(program->module, value->dims[k]);
        if (!found) continue;
        opf_text_printf(out, " * The size of output %zu has no bound: outputs[%zu] points to a pointer, which the run sets.\n", i, i);
        found = false;
    }
    if (library->takes_memory)
        opf_text_add(out, " * Texts, lists and what else has no bound lie in `heap`, which the caller gives and keeps until the results have been read: memory\n"
                          " * of a fixed size (opf_heap_over) or, with `more`, memory that grows.\n");
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

/* ---- functions ---- */

const char *opf_library_prefix(const opf_library *library) { return library->version ? library->version->table : library->name; }
const char *opf_library_linkage(const opf_library *library) { return library->version ? "static " : ""; }

void opf_emit_run_parameters(const opf_library *library, opf_entry_form form, opf_text *out) {
    opf_text_add(out, "const void *const *inputs, const int64_t *const *input_dims, void *const *outputs, ");
    if (form != OPF_ENTRY_RUN) opf_text_add(out, "int64_t *const *output_dims, ");
    opf_text_add(out, library->constants_given ? "void *workspace, const void *weights" : "void *workspace");
    if (library->takes_memory) opf_text_add(out, ", opf_heap *heap");
    if (form >= OPF_ENTRY_RUN_ON) opf_text_add(out, ", const opf_hook *hook");
}

void opf_emit_run_arguments(const opf_library *library, opf_text *out) {
    opf_text_printf(out, "inputs, input_dims, outputs, output_dims, workspace%s%s, hook", library->constants_given ? ", weights" : "", library->takes_memory ? ", heap" : "");
}

void opf_emit_library_head(const opf_library *library, opf_entry_form form, opf_text *out) {
    static const char *const names[] = {"run", "run_dims", "run_on", "run_as"};
    opf_text_printf(out, "%sint %s_%s(%s", opf_library_linkage(library), opf_library_prefix(library), names[form], form == OPF_ENTRY_RUN_AS ? "int version, " : "");
    opf_emit_run_parameters(library, form, out);
    opf_text_add(out, ")");
}

static void print_fixed_sizes(const opf_library *library, const char *upper, opf_text *out) {
    if (library->workspace_bytes) {
        opf_text_printf(out, "/* All sizes are fixed: bytes of workspace of a run in one thread%s. */\n#define %s_WORKSPACE_BYTES %zu\n\n", library->n_versions ? ", by any version" : "", upper, library->workspace_bytes);
    }
    if (library->constants_given)
        opf_text_printf(out, "/* The file of weights, to be mapped or read into memory aligned to 64 bytes, and its FNV-1a checksum. */\n"
                             "#define %s_WEIGHTS_BYTES %lld\n#define %s_WEIGHTS_CHECKSUM 0x%016llxull\n\n",
                        upper, (long long)library->data_bytes, upper, (unsigned long long)library->data_checksum);
    opf_text_printf(out, "/* XXH3-128 of the ONNX file that this was made from. */\n#define %s_MODEL_CHECKSUM \"%s\"\n\n", upper, library->checksum);
}

static void print_sizes(const opf_program *program, const opf_library *library, opf_text *out) {
    const char *name = library->name;
    opf_text_printf(out, "/* input_dims[i] is the shape of input i. All functions that return int give 0, or the number of a condition on\n"
                         " * the inputs that does not hold: sizes that do not fit each other%s; %s_problem(number)\n"
                         " * says it in words. */\n", program->n_symbols ? ", that are negative, or that no memory holds" : "", name);
    if (library->takes_memory) opf_text_add(out, "/* Runs also give a negative number where a step could not be done: heap->problem says why. */\n");
    if (opf_program_has_counts(program)) opf_text_printf(out, "/* The largest shape that the output can have; %s_run_dims gives the one that it has. */\n", name);
    opf_text_printf(out, "int %s_output_dims(const int64_t *const *input_dims, int output, int64_t *dims);\n", name);
    opf_text_add(out, "/* Bytes of workspace that a run on these shapes needs; 0 where a condition does not hold or sizes overflow. */\n");
    opf_text_printf(out, "size_t %s_workspace_bytes(const int64_t *const *input_dims);\n", name);
    opf_text_printf(out, "size_t %s_workspace_bytes_on(const int64_t *const *input_dims, int threads);\n", name);
}

static void print_runs(const opf_program *program, const opf_library *library, opf_text *out) {
    opf_text_add(out, "/* workspace: aligned to 64 bytes. outputs[k] has room for the whole of output k. */\n");
    opf_emit_library_head(library, OPF_ENTRY_RUN, out);
    opf_text_add(out, ";\n");
    if (opf_program_has_counts(program)) {
        opf_text_add(out, "/* The same; output_dims[k] gets the shape of output k, or is NULL. */\n");
        opf_emit_library_head(library, OPF_ENTRY_RUN_DIMS, out);
        opf_text_add(out, ";\n");
    }
    opf_text_printf(out, "/* The same on the caller's threads: hook->parallel runs the parts of each kernel, in any order or at once, and returns when\n"
                         " * all are done; results are the same bits for any number. The workspace is that of %s_workspace_bytes_on for hook->threads.\n"
                         " * hook->trace, where there, is called around each step. output_dims and hook may be NULL. */\n", library->name);
    opf_emit_library_head(library, OPF_ENTRY_RUN_ON, out);
    opf_text_add(out, ";\n");
}

void opf_emit_library_header(const opf_program *program, const opf_library *library, opf_text *out) {
    const opf_graph *graph = program->fusion->graph;
    opf_text upper = {0};
    opf_emit_upper(library->name, &upper);
    opf_text_add(out, "/* ");
    opf_emit_comment(library->model, out);
    opf_text_add(out, ", compiled by opfuse.\n *\n");
    print_ports(program, out);
    print_bound(program->module, out);
    print_memory(program, library, out);
    opf_text_printf(out, " *\n * The functions keep no state and call no allocator; any number of threads may run at once, each with its own workspace. */\n"
                         "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                    upper.data, upper.data);
    if (library->takes_memory || has_lists(graph)) opf_text_add(out, opf_prelude_heap());
    opf_text_add(out, opf_prelude_hook());
    opf_text_printf(out, "\nenum { %s_INPUTS = %zu, %s_OUTPUTS = %zu };\n\n", upper.data, graph->inputs.count, upper.data, graph->outputs.count);
    print_fixed_sizes(library, upper.data, out);
    print_sizes(program, library, out);
    print_runs(program, library, out);
    opf_emit_versions_interface(program, library, out);
    opf_text_printf(out, "const char *%s_problem(int number);\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n", library->name);
    opf_text_free(&upper);
}
