/* The self-test of a build in plain C: one run on stored inputs, compared with what the evaluator gave for them. */
#include "emit/library.h"

/* How the self-test reads an element as a double; types of less than a byte are compared as bytes. */
static const struct { opf_dtype dtype; const char *kind; } kinds[] = {
    {OPF_FLOAT32, "FLOAT"}, {OPF_FLOAT64, "DOUBLE"}, {OPF_FLOAT16, "HALF"}, {OPF_BFLOAT16, "BRAIN"},
    {OPF_INT8, "INT8"}, {OPF_INT16, "INT16"}, {OPF_INT32, "INT32"}, {OPF_INT64, "INT64"},
};

static const char *kind_of(opf_dtype dtype) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].dtype == dtype) return kinds[i].kind;
    return opf_dtype_bits(dtype) == 64 ? "INT64" : opf_dtype_bits(dtype) == 32 ? "INT32" : opf_dtype_bits(dtype) == 16 ? "INT16" : "BYTE";
}

static void emit_port(const opf_tensor *tensor, const char *name, int64_t offset, opf_text *out) {
    opf_text_add(out, "    {\"");
    opf_emit_quoted(name, out);
    opf_text_printf(out, "\", %s, %d, %zu, %lld, {", kind_of(tensor->dtype), tensor->rank, tensor->bytes, (long long)offset);
    for (int k = 0; k < tensor->rank; k++) opf_text_printf(out, "%s%lld", k ? ", " : "", (long long)tensor->dims[k]);
    opf_text_add(out, tensor->rank ? "}},\n" : "0}},\n");
}

static void emit_ports(const opf_program *program, const opf_self_test *test, opf_text *out) {
    const opf_graph *graph = program->fusion->graph;
    opf_text_add(out, "typedef enum { FLOAT, DOUBLE, HALF, BRAIN, INT8, INT16, INT32, INT64, BYTE } kind;\n"
                      "typedef struct { const char *name; kind kind; int rank; size_t bytes; long offset; int64_t dims[16]; } port;\n\nstatic const port inputs[] = {\n");
    for (size_t i = 0; i < graph->inputs.count; i++) emit_port(test->inputs[i], graph->inputs.data[i]->name, test->offsets[i], out);
    if (!graph->inputs.count) opf_text_add(out, "    {\"\", BYTE, 0, 0, 0, {0}},\n");
    opf_text_add(out, "};\nstatic const port outputs[] = {\n");
    for (size_t i = 0; i < graph->outputs.count; i++) emit_port(test->outputs[i], graph->output_names.data[i], test->offsets[graph->inputs.count + i], out);
    opf_text_add(out, "};\n\n");
}

/* Does a step round floats to 8 bits? Then a last digit that differs may become a step of 8 bits on the way. */
static bool rounds_to_bytes(const opf_graph *graph) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const opf_node *node = graph->nodes.data[i];
        bool floats = false, bytes = false;
        for (int k = 0; k < node->n_inputs; k++) floats |= node->inputs[k] && opf_dtype_is_float(node->inputs[k]->dtype);
        for (int k = 0; k < node->n_outputs; k++) bytes |= node->outputs[k] && (node->outputs[k]->dtype == OPF_INT8 || node->outputs[k]->dtype == OPF_UINT8);
        if (floats && bytes) return true;
    }
    return false;
}

static const char helpers[] =
    "static void *read_file(const char *path, size_t bytes) {\n"
    "    char *data = aligned_alloc(64, (bytes + 64) / 64 * 64);\n"
    "    FILE *file = fopen(path, \"rb\");\n"
    "    if (!data || !file || fread(data, 1, bytes, file) != bytes) {\n"
    "        fprintf(stderr, \"%s: cannot be read\\n\", path);\n"
    "        exit(1);\n"
    "    }\n"
    "    fclose(file);\n"
    "    return data;\n"
    "}\n\n"
    "static const size_t sizes[] = {4, 8, 2, 2, 1, 2, 4, 8, 1}; /* by kind */\n\n"
    "/* Memory for the largest shape that the output can have. */\n"
    "static void *make_room(const port *p, const int64_t *most) {\n"
    "    size_t bytes = sizes[p->kind];\n"
    "    for (int k = 0; k < p->rank; k++) bytes *= (size_t)most[k];\n"
    "    void *room = calloc(1, bytes + 64);\n"
    "    if (!room) {\n        fprintf(stderr, \"no memory\\n\");\n        exit(1);\n    }\n"
    "    return room;\n"
    "}\n\n"
    "static float half(uint16_t bits) {\n"
    "    int exponent = bits >> 10 & 31;\n"
    "    float magnitude = exponent == 31 ? (bits & 1023 ? NAN : INFINITY) : ldexpf((float)((bits & 1023) + (exponent ? 1024 : 0)), (exponent ? exponent : 1) - 25);\n"
    "    return bits & 0x8000 ? -magnitude : magnitude;\n"
    "}\n\n"
    "static double element(kind kind, const char *data, size_t i) {\n"
    "    float f;\n    double d;\n    int16_t h;\n    int32_t w;\n    int64_t l;\n    uint32_t bits;\n"
    "    switch (kind) {\n"
    "    case FLOAT: memcpy(&f, data + 4 * i, 4); return f;\n"
    "    case DOUBLE: memcpy(&d, data + 8 * i, 8); return d;\n"
    "    case HALF: memcpy(&h, data + 2 * i, 2); return half((uint16_t)h);\n"
    "    case BRAIN: memcpy(&h, data + 2 * i, 2); bits = (uint32_t)(uint16_t)h << 16; memcpy(&f, &bits, 4); return f;\n"
    "    case INT8: return (signed char)data[i];\n"
    "    case INT16: memcpy(&h, data + 2 * i, 2); return h;\n"
    "    case INT32: memcpy(&w, data + 4 * i, 4); return w;\n"
    "    case INT64: memcpy(&l, data + 8 * i, 8); return (double)l;\n"
    "    default: return (unsigned char)data[i];\n"
    "    }\n"
    "}\n\n"
    "/* Floats may differ by rounding, as in `opfuse verify --tol`: by a part of themselves and of the largest expected; half types by a\n"
    " * step of theirs, integers by one (a rounding that flips). */\n"
    "static int compare(const port *p, const char *got, const char *expected) {\n"
    "    size_t wrong = 0, elements = p->bytes / sizes[p->kind];\n"
    "    int halves = p->kind == HALF || p->kind == BRAIN;\n"
    "    double largest = 0, scale = 0;\n"
    "    for (size_t i = 0; i < elements; i++) {\n"
    "        double b = fabs(element(p->kind, expected, i));\n"
    "        if (isfinite(b) && b > scale) scale = b;\n"
    "    }\n"
    "    double slack = halves ? 2e-2 : SLACK, least = p->kind >= INT8 ? 1 : (halves ? 4e-3 : LEAST) * scale;\n"
    "    for (size_t i = 0; i < elements; i++) {\n"
    "        double a = element(p->kind, got, i), b = element(p->kind, expected, i), error = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);\n"
    "        if (!(error <= least + slack * fabs(b))) wrong++;\n"
    "        if (error > largest) largest = error;\n"
    "    }\n"
    "    printf(\"%s '%s': %zu elements, largest error %.3g, %zu wrong\\n\", wrong ? \"DIFFERS\" : \"holds  \", p->name, elements, largest, wrong);\n"
    "    return wrong != 0;\n"
    "}\n\n";

static void emit_constants(const opf_self_test *test, const char *upper, opf_text *out) {
    if (!test->constants) return;
    opf_text_printf(out, "    char *weights = read_file(\"%s\", %s_WEIGHTS_BYTES);\n    uint64_t checksum = 0xcbf29ce484222325u;\n"
                         "    for (size_t i = 0, n = %s_WEIGHTS_BYTES; i < n; i++) checksum = (checksum ^ (unsigned char)weights[i]) * 0x100000001b3u;\n"
                         "    if (checksum != %s_WEIGHTS_CHECKSUM) {\n        fprintf(stderr, \"%s is damaged, or belongs to another build\\n\");\n        return 1;\n    }\n",
                    test->constants, upper, upper, upper, test->constants);
}

/* `check`: one run, by the version that is named where there are several. */
static void emit_check(const opf_library *library, const opf_self_test *test, const char *upper, opf_text *out) {
    const char *name = library->name;
    bool several = library->n_versions > 0;
    opf_text_printf(out, "static int check(%sconst void *const *in, const int64_t *const *dims, const char *data%s) {\n    void *out[%s_OUTPUTS];\n    int64_t most[16];\n",
                    several ? "int version, " : "", test->constants ? ", const void *weights" : "", upper);
    opf_text_printf(out, "    for (int k = 0; k < %s_OUTPUTS; k++) {\n        if (%s_output_dims(dims, k, most) != 0) {\n            fprintf(stderr, \"the stored shapes are refused\\n\");\n            return 1;\n        }\n"
                         "        out[k] = make_room(&outputs[k], most);\n    }\n",
                    upper, name);
    opf_text_printf(out, several ? "    size_t bytes = %s_workspace_bytes_as(version, dims, 1);\n" : "    size_t bytes = %s_workspace_bytes(dims);\n", name);
    opf_text_add(out, "    void *workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);\n"
                      "    if (!bytes || !workspace) {\n        fprintf(stderr, \"no workspace of %zu bytes\\n\", bytes);\n        return 1;\n    }\n");
    opf_text_printf(out, several ? "    int problem = %s_run_as(version, in, dims, out, 0, workspace%s, 0);\n" : "    int problem = %s_run(in, dims, out, workspace%s);\n", name,
                    test->constants ? ", weights" : "");
    opf_text_printf(out, "    if (problem) {\n        fprintf(stderr, \"%%s\\n\", %s_problem(problem));\n        return 1;\n    }\n", name);
    if (several) opf_text_printf(out, "    printf(\"model %%s for %%s, workspace of %%zu bytes\\n\", %s_MODEL_CHECKSUM, %s_version_name(version), bytes);\n", upper, name);
    else opf_text_printf(out, "    printf(\"model %%s, workspace of %%zu bytes\\n\", %s_MODEL_CHECKSUM, bytes);\n", upper);
    opf_text_printf(out, "    int wrong = 0;\n    for (int k = 0; k < %s_OUTPUTS; k++) {\n        wrong += compare(&outputs[k], out[k], data + outputs[k].offset);\n        free(out[k]);\n    }\n"
                         "    free(workspace);\n    return wrong;\n}\n\n", upper);
}

static void emit_main(const opf_program *program, const opf_library *library, const opf_self_test *test, const char *upper, opf_text *out) {
    size_t n_inputs = program->fusion->graph->inputs.count;
    const char *given_back = test->constants ? "    free(weights);\n    free(data);\n" : "    free(data);\n";
    const char *arguments = test->constants ? "in, dims, data, weights" : "in, dims, data";
    opf_text_printf(out, "int main(void) {\n    char *data = read_file(\"%s\", %lld);\n", test->data, (long long)test->data_bytes);
    emit_constants(test, upper, out);
    opf_text_printf(out, "    const void *in[%zu] = {0};\n    const int64_t *dims[%zu] = {0};\n", n_inputs + 1, n_inputs + 1);
    if (n_inputs)
        opf_text_printf(out, "    for (int i = 0; i < %s_INPUTS; i++) {\n        in[i] = data + inputs[i].offset;\n        dims[i] = inputs[i].dims;\n    }\n", upper);
    else
        opf_text_add(out, "    (void)inputs;\n");
    if (!library->n_versions) {
        opf_text_printf(out, "    int wrong = check(%s);\n%s    return wrong != 0;\n}\n", arguments, given_back);
        return;
    }
    opf_text_printf(out, "    int wrong = 0, ran = 0;\n    for (int version = 0; version < %s_VERSIONS; version++) {\n        if (%s_version_runs(version)) ran++, wrong += check(version, %s);\n"
                         "        else printf(\"not for this processor, or compiled without its flags: %%s\\n\", %s_version_name(version));\n    }\n%s    return wrong != 0 || !ran;\n}\n",
                    upper, library->name, arguments, library->name, given_back);
}

void opf_emit_self_test(const opf_program *program, const opf_library *library, const opf_self_test *test, opf_text *out) {
    opf_text upper = {0};
    opf_emit_upper(library->name, &upper);
    opf_text_add(out, "/* One run on stored inputs, compared with the outputs that opfuse's evaluator gave for them; exit status 0 where they agree.\n"
                      " * Run it where its files are. */\n"
                      "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n");
    opf_text_printf(out, "#include \"%s\"\n\n", test->header);
    emit_ports(program, test, out);
    bool bytes = rounds_to_bytes(program->fusion->graph);
    opf_text_printf(out, "%s#define SLACK %s\n#define LEAST %s\n\n", bytes ? "/* The model rounds to 8 bits on the way: one rounding that flips moves its results by more than all others. */\n" : "",
                    bytes ? "3e-2" : "1e-3", bytes ? "2e-2" : "1e-4");
    opf_text_add(out, helpers);
    emit_check(library, test, upper.data, out);
    emit_main(program, library, test, upper.data, out);
    opf_text_free(&upper);
}
