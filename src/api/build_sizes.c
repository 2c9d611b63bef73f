/* What a build takes: memory at the sizes of its inputs, code, stack. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/build.h"
#include "api/lists.h"
#include "base/checked.h"
#include "run/sizes.h"

enum { MOST_LISTED = 8 };

/* ---- inputs ---- */

static opf_status take_inputs(opf_building *b) {
    size_t n = opf_model_inputs(b->model);
    opf_array *inputs = OPF_ARRAY(b->arena, opf_array, n + 1);
    opf_status status = OPF_OK;
    for (size_t i = 0; i < n && status == OPF_OK; i++) {
        bool bound = b->model->values && b->model->values[i];
        if (b->options->inputs) inputs[i] = b->options->inputs[i];
        else if (bound) inputs[i] = opf_array_of(b->model->values[i], opf_model_input(b->model, i).name);
        else status = opf_model_make_input(&inputs[i], b->model, i, NULL);
    }
    b->inputs = inputs;
    return status;
}

/* ---- memory ---- */

static int64_t bytes_of(opf_dtype dtype, int rank, const int64_t *dims) {
    int64_t elements = 1;
    for (int k = 0; k < rank; k++)
        if (!opf_checked_mul(elements, dims[k], &elements)) return INT64_MAX / 2;
    return (int64_t)opf_dtype_bytes(dtype, elements);
}

static int64_t port_bytes(const opf_building *b, const opf_entry_table *entry, const int64_t *symbols) {
    const opf_graph *graph = opf_build_program(b)->fusion->graph;
    int64_t total = 0, dims[OPF_MAX_RANK];
    for (size_t i = 0; i < graph->inputs.count; i++) /* elements of lists lie where the caller has them */
        if (!graph->inputs.data[i]->list) total += bytes_of((opf_dtype)b->inputs[i].dtype, b->inputs[i].rank, b->inputs[i].dims);
    for (size_t k = 0; k < graph->outputs.count; k++) {
        if (graph->outputs.data[k]->list) continue;
        entry->output_most(symbols, (int)k, dims);
        total += bytes_of(graph->outputs.data[k]->dtype, graph->outputs.data[k]->rank, dims);
    }
    return total;
}

typedef struct large { const opf_buffer *buffer; int64_t bytes; } large;

static int larger_first(const void *a, const void *b) {
    const large *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

/* The values that take most of the workspace, with their lives. */
static void list_largest(const opf_building *b, const opf_build_version *version, const int64_t *symbols, opf_diag *diag) {
    const opf_program *program = version->session->pipeline.program;
    large *all = OPF_ARRAY(b->arena, large, program->buffers.count + 1);
    int64_t *values = OPF_ARRAY(b->arena, int64_t, opf_pool_symbols(program->module->pool) + 1);
    for (size_t i = 0; i < program->n_symbols; i++) values[program->sources[i].symbol->index] = symbols[i];
    size_t n = 0;
    for (size_t i = 0; i < program->buffers.count; i++) {
        const opf_buffer *buffer = &program->buffers.data[i];
        int64_t bytes;
        if (buffer->kind != OPF_BUFFER_WORKSPACE || !buffer->value || !opf_dim_eval(buffer->bytes, values, &bytes)) continue;
        all[n++] = (large){buffer, bytes};
    }
    qsort(all, n, sizeof *all, larger_first);
    for (size_t i = 0; i < n && i < MOST_LISTED; i++)
        opf_diag_detail(b->model->context->diags, diag, "%" PRId64 " bytes, steps %d to %d: '%s'", all[i].bytes, all[i].buffer->first_step, all[i].buffer->last_step,
                        all[i].buffer->value->name);
}

static opf_status refuse(const opf_building *b, const opf_build_version *version, const int64_t *symbols) {
    opf_diags *diags = b->model->context->diags;
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "memory", (opf_place){b->model->source.path, NULL, NULL, -1},
                                  "a run takes %" PRId64 " bytes (workspace %" PRId64 ", inputs and outputs %" PRId64 "), more than the %" PRId64 " of --max-ram",
                                  version->workspace + b->ports, version->workspace, b->ports, b->options->max_ram);
    list_largest(b, version, symbols, diag);
    opf_diag_hint(diags, diag, "smaller inputs (--shape, --dim) or another policy (--fuse) may fit");
    return OPF_ERROR_INPUT;
}

static opf_status measure_version(opf_building *b, opf_build_version *version, const int64_t *const *dims) {
    const opf_program *program = version->session->pipeline.program;
    const opf_entry_table *entry = opf_runner_entry(version->session->runner);
    int64_t *symbols = OPF_ARRAY(b->arena, int64_t, program->n_symbols + 1);
    if (entry->solve(dims, symbols)) return opf_runner_prepare(version->session->runner, dims); /* says why */
    version->workspace = (int64_t)entry->workspace_bytes(symbols, 1);
    b->ports = port_bytes(b, entry, symbols);
    if (!program->n_symbols && (size_t)version->workspace > b->library.workspace_bytes) b->library.workspace_bytes = (size_t)version->workspace;
    if (!version->workspace) {
        opf_diag_add(b->model->context->diags, OPF_ERROR, "memory", (opf_place){b->model->source.path, NULL, NULL, -1}, "sizes overflow for these inputs");
        return OPF_ERROR_INPUT;
    }
    return b->options->max_ram > 0 && version->workspace + b->ports > b->options->max_ram ? refuse(b, version, symbols) : OPF_OK;
}

opf_status opf_build_measure(opf_building *b) {
    opf_status status = take_inputs(b);
    if (status != OPF_OK) return status;
    const opf_graph *graph = opf_build_program(b)->fusion->graph;
    size_t n = graph->inputs.count;
    const int64_t **dims = OPF_ARRAY(b->arena, const int64_t *, n + 1);
    int64_t *lengths = OPF_ARRAY(b->arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (graph->inputs.data[i]->list) lengths[i] = (int64_t)opf_array_items(&b->inputs[i]);
        dims[i] = graph->inputs.data[i]->list ? &lengths[i] : b->inputs[i].dims;
    }
    b->library.workspace_bytes = 0;
    for (size_t v = 0; v < b->n_versions && status == OPF_OK; v++) status = measure_version(b, &b->versions[v], dims);
    return status;
}

/* ---- report ---- */

static void print_bytes(opf_text *out, const char *what, int64_t bytes, const char *remark) {
    if (bytes < 0) opf_text_printf(out, "  %-10s        unknown%s\n", what, remark);
    else opf_text_printf(out, "  %-10s %14" PRId64 " bytes%s\n", what, bytes, remark);
}

static void print_shapes(const opf_building *b, opf_text *out) {
    opf_text_add(out, ", at");
    const opf_graph *graph = opf_build_program(b)->fusion->graph;
    for (size_t i = 0; i < graph->inputs.count; i++) {
        opf_text_printf(out, " %s[", b->inputs[i].name ? b->inputs[i].name : "");
        if (graph->inputs.data[i]->list) opf_text_printf(out, "%zu elements", opf_array_items(&b->inputs[i]));
        for (int k = 0; k < b->inputs[i].rank && !graph->inputs.data[i]->list; k++) opf_text_printf(out, "%s%" PRId64, k ? "," : "", b->inputs[i].dims[k]);
        opf_text_add(out, "]");
    }
}

static void print_version(const opf_building *b, const opf_build_version *version, const char *shapes, opf_text *out) {
    opf_object_sizes sizes = opf_object_measure(version->session->pipeline.object, b->arena);
    bool several = b->n_versions > 1;
    if (several) opf_text_printf(out, " for %s:\n", version->named.machine->name);
    print_bytes(out, "code", sizes.text, "");
    print_bytes(out, "data", sizes.data, "");
    print_bytes(out, "constants", several ? version->own_bytes : b->library.data_bytes, several && version > b->versions ? ", beside those of the versions above" : "");
    print_bytes(out, "workspace", version->workspace, shapes);
    print_bytes(out, "stack", sizes.stack, ", about");
}

void opf_build_report(const opf_building *b, opf_text *out) {
    opf_text shapes = {0};
    if (opf_build_program(b)->n_symbols) print_shapes(b, &shapes);
    opf_text_printf(out, "%s: functions %s_*\n", b->path, b->library.name);
    for (size_t v = 0; v < b->n_versions; v++) print_version(b, &b->versions[v], opf_text_string(&shapes), out);
    opf_text_add_n(out, opf_text_string(&b->remarks), b->remarks.length);
    opf_text_free(&shapes);
}
