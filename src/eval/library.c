/* One library kernel: operands described, results of the largest size they can have, cut to the sizes that it finds. */
#include "eval/library.h"

#include <inttypes.h>
#include <stdlib.h>

#include "opf_lib.h"
#include "eval/library_exact.h"
#include "ops/counts.h"

typedef struct opf_running {
    const opf_eval_stages *job;
    const opf_library_call *library;
    const opf_module *module;
    opf_arena *arena; /* until the kernel is done */
} opf_running;

static opf_status report_size(const opf_running *r) {
    opf_node_error(r->job->node, "shape", "evaluating %s: a size overflows, is negative or unknown", r->job->node->op);
    return OPF_ERROR_INPUT;
}

static bool size_of(const opf_running *r, opf_dim dim, int64_t *size) { return opf_dim_eval(dim, r->job->symbols, size) && *size >= 0; }

static opf_lib_tensor describe(const opf_tensor *tensor) { return (opf_lib_tensor){(void *)(uintptr_t)tensor->data, (int)tensor->dtype, tensor->rank, tensor->dims}; }

/* Kernels read plain elements. */
static opf_lib_tensor describe_input(const opf_running *r, const opf_tensor *tensor) {
    if (!tensor) return (opf_lib_tensor){0};
    opf_lib_tensor described = describe(tensor);
    if (opf_tensor_is_plain(tensor)) return described;
    described.data = opf_arena_alloc(r->arena, tensor->bytes);
    opf_tensor_copy(tensor, described.data);
    return described;
}

static opf_lib_tensor *describe_inputs(const opf_running *r) {
    const opf_library_call *library = r->library;
    size_t n = (size_t)library->n_inputs + library->constants.count;
    opf_lib_tensor *in = OPF_ARRAY(r->arena, opf_lib_tensor, n + 1);
    for (int k = 0; k < library->n_inputs && k < r->job->node->n_inputs; k++) in[k] = describe_input(r, r->job->inputs[k]);
    for (size_t k = 0; k < library->constants.count; k++) in[(size_t)library->n_inputs + k] = describe_input(r, library->constants.data[k]);
    return in;
}

static opf_status result_dims(const opf_running *r, const opf_library_output *output, bool most, int64_t *dims) {
    for (int axis = 0; axis < output->rank; axis++)
        if (!size_of(r, most ? opf_dim_most(r->module, output->dims[axis]) : output->dims[axis], &dims[axis])) return report_size(r);
    return OPF_OK;
}

/* A sequence or optional: its elements are in the heap, or where they were. */
static opf_tensor *make_list(const opf_running *r, const opf_library_output *output) {
    const opf_list none = {0, NULL};
    opf_tensor *tensor = opf_tensor_of_list(r->job->arena, output->dtype, &none);
    tensor->data = r->job->allocate(r->job->data, OPF_LIST_BYTES);
    return tensor;
}

/* A result with the dims that hold now, and room for the largest. */
static opf_status make_result(const opf_running *r, int index, opf_tensor **out) {
    const opf_library_output *output = &r->library->outputs[index];
    int64_t dims[OPF_MAX_RANK];
    const char *why = NULL;
    if (output->list) {
        *out = make_list(r, output);
        return OPF_OK;
    }
    opf_status status = result_dims(r, output, true, dims);
    if (status != OPF_OK) return status;
    *out = opf_tensor_new(r->job->arena, output->dtype, output->rank, dims, NULL, &why);
    if (!*out) {
        opf_node_error(r->job->node, "shape", "the result is impossible: %s", why);
        return OPF_ERROR_INPUT;
    }
    if (opf_library_sizes_output(r->module, r->library, index)) return OPF_OK;
    (*out)->data = r->job->allocate(r->job->data, (*out)->bytes + 1);
    return OPF_OK;
}

static opf_status cut_result(const opf_running *r, const opf_library_output *output, opf_tensor *tensor) {
    opf_status status = result_dims(r, output, false, tensor->dims);
    if (status != OPF_OK) return status;
    tensor->elements = 1;
    for (int axis = 0; axis < tensor->rank; axis++) tensor->elements *= tensor->dims[axis];
    tensor->bytes = opf_dtype_bytes(tensor->dtype, (size_t)tensor->elements);
    return OPF_OK;
}

/* What the kernel took from the heap, or points to, as a tensor that is the evaluator's own. */
static void take_over(const opf_running *r, const opf_lib_tensor *result, opf_tensor *tensor) {
    void *memory = r->job->allocate(r->job->data, tensor->bytes + 1);
    if (tensor->bytes) memcpy(memory, result->data, tensor->bytes);
    tensor->data = memory;
}

static opf_status report_problem(const opf_running *r) {
    opf_node_error(r->job->node, "run", "%s", r->job->heap->problem);
    r->job->heap->problem = NULL;
    return OPF_ERROR_INPUT;
}

/* Bytes of scratch: as the kernel asks, and room for operands that programs pack beforehand. */
static bool scratch_of(const opf_running *r, int64_t *bytes) {
    opf_pool *pool = r->module->pool;
    opf_dim all = opf_dim_most(r->module, r->library->scratch_bytes);
    for (size_t k = 0; k < r->library->packings.count; k++) {
        const opf_stage *stage = r->library->packings.data[k].stage;
        all = opf_add(pool, all, opf_mul(pool, opf_stage_elements(stage, pool), opf_int(pool, opf_dtype_bits(stage->dtype) / 8)));
    }
    return size_of(r, all, bytes);
}

static opf_status run(const opf_running *r, int64_t *symbols, opf_tensor **out) {
    const opf_library_call *library = r->library;
    opf_lib_tensor results[OPF_LIBRARY_OUTPUTS] = {{0}};
    int64_t counts[OPF_LIBRARY_COUNTS] = {0}, *ints = OPF_ARRAY(r->arena, int64_t, library->ints.count + 1), scratch;
    opf_status status = OPF_OK;
    for (int k = 0; k < library->n_outputs && status == OPF_OK; k++) {
        if (library->outputs[k].dtype == OPF_NO_DTYPE) continue;
        status = make_result(r, k, &out[k]);
        if (status == OPF_OK) results[k] = describe(out[k]);
    }
    for (size_t k = 0; k < library->ints.count && status == OPF_OK; k++)
        if (!opf_dim_eval(library->ints.data[k], r->job->symbols, &ints[k])) status = report_size(r);
    if (status == OPF_OK && !scratch_of(r, &scratch)) status = report_size(r);
    if (status != OPF_OK) return status;
    void *room = opf_arena_alloc(r->arena, (size_t)scratch + 64);
    opf_lib_args args = {describe_inputs(r), results, ints, library->floats.data, (void *)(((uintptr_t)room + 63) / 64 * 64), counts, r->job->heap};
    (r->job->exact ? opf_library_exact(library->kernel) : library->kernel->run)(&args);
    if (r->job->heap->problem) return report_problem(r);
    for (int k = 0; k < library->n_counts; k++) symbols[library->counts[k]->index] = counts[k];
    for (int k = 0; k < library->n_outputs && status == OPF_OK; k++)
        if (results[k].dtype != OPF_NO_DTYPE && !library->outputs[k].list) {
            status = cut_result(r, &library->outputs[k], out[k]);
            if (status == OPF_OK && !out[k]->data) take_over(r, &results[k], out[k]);
        }
    return status;
}

opf_status opf_eval_run_library(const opf_eval_stages *job, const opf_library_call *library, int64_t *symbols, opf_tensor **out) {
    opf_running running = {job, library, job->node->graph->module, opf_arena_new()};
    opf_status status = run(&running, symbols, out);
    opf_arena_free(running.arena);
    return status;
}
