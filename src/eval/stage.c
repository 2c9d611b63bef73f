/* The stages of one node, in order, at concrete sizes. */
#include "eval/stage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/lanes.h"
#include "ops/op.h"

/* Types that loads read as they are stored; others are widened first. */
static bool loads_directly(opf_dtype dtype) {
    switch (dtype) {
    case OPF_FLOAT32: case OPF_FLOAT64: case OPF_INT64: case OPF_UINT64: case OPF_STRING: case OPF_INT32: case OPF_UINT32: case OPF_INT8: case OPF_UINT8:
    case OPF_BOOL: return true;
    default: return false;
    }
}

static void *cells(int64_t elements) {
    void *data = calloc((size_t)elements + 1, sizeof(int64_t));
    if (!data) opf_out_of_memory();
    return data;
}

static void *widened(const opf_tensor *tensor) {
    void *data = cells(tensor->elements);
    if (opf_dtype_is_float(tensor->dtype)) for (int64_t i = 0; i < tensor->elements; i++) ((double *)data)[i] = opf_tensor_get(tensor, i);
    else for (int64_t i = 0; i < tensor->elements; i++) ((int64_t *)data)[i] = opf_tensor_get_int(tensor, i);
    return data;
}

static void *copied(const opf_tensor *tensor) {
    void *data = malloc(tensor->bytes + 1);
    if (!data) opf_out_of_memory();
    opf_tensor_copy(tensor, data);
    return data;
}

opf_operand opf_eval_operand(const opf_tensor *tensor, void **owned) {
    opf_operand operand = {tensor->dtype, false, tensor->rank, tensor->dims, tensor->elements, tensor->data};
    *owned = NULL;
    if (!loads_directly(tensor->dtype)) operand.data = *owned = widened(tensor), operand.wide = true;
    else if (!opf_tensor_is_plain(tensor)) operand.data = *owned = copied(tensor);
    return operand;
}

/* ---- problems ---- */

static opf_status report(const opf_eval_stages *job, const opf_stage *stage, const char *code, const char *message) {
    opf_node_error(job->node, code, "evaluating %s: %s", stage->name ? stage->name : job->node->op, message);
    return strcmp(code, "internal") == 0 ? OPF_ERROR_INTERNAL : OPF_ERROR_INPUT;
}

static opf_status report_fault(const opf_eval_stages *job, const opf_stage *stage, const opf_lanes_fault *fault) {
    char message[160];
    if (fault->axis < 0) {
        snprintf(message, sizeof message, "a load of operand %d at position %" PRId64 " is outside its %" PRId64 " elements", fault->tensor, fault->index, fault->extent);
        return report(job, stage, "internal", message);
    }
    snprintf(message, sizeof message, "index %" PRId64 " is out of range for axis %d of operand %d, which has %" PRId64 " elements", fault->index, fault->axis, fault->tensor,
             fault->extent);
    return report(job, stage, "range", message);
}

/* ---- one stage ---- */

static bool numeric(opf_dtype dtype) { return opf_dtype_is_float(dtype) || opf_dtype_is_integer(dtype) || dtype == OPF_BOOL; }

static opf_status run_stage(const opf_eval_stages *job, const opf_stage *stage, opf_operand *operands, int number) {
    int64_t extents[OPF_LANES_AXES], elements = 1;
    char message[160];
    if (!numeric(stage->dtype) && stage->dtype != OPF_STRING) return report(job, stage, "internal", "its type has no arithmetic");
    for (int i = 0; i < stage->n_axes + stage->n_reduce && i < OPF_LANES_AXES; i++) {
        if (!opf_dim_eval(stage->extents[i], job->symbols, &extents[i])) return report(job, stage, "shape", "a size overflows, divides by zero or is unknown");
        if (extents[i] < 0) {
            snprintf(message, sizeof message, "axis %d has size %" PRId64, i, extents[i]);
            return report(job, stage, "shape", message);
        }
        if (i < stage->n_axes && __builtin_mul_overflow(elements, extents[i], &elements)) return report(job, stage, "shape", "the result's size overflows");
    }
    const char *why = NULL;
    opf_arena *arena = opf_arena_new();
    opf_operand *result = &operands[number];
    opf_lanes *lanes = opf_lanes_compile(arena, stage, operands, extents, job->symbols, job->exact, &why);
    opf_lanes_fault fault = {0};
    opf_status status = OPF_OK;
    if (!lanes) status = report(job, stage, "shape", why);
    else {
        int64_t *dims = OPF_ARRAY(job->arena, int64_t, stage->n_axes);
        memcpy(dims, extents, (size_t)stage->n_axes * sizeof *dims);
        void *data = cells(lanes->elements);
        *result = (opf_operand){stage->dtype, true, stage->n_axes, dims, lanes->elements, data};
        if (!opf_lanes_run(lanes, data, &fault)) status = report_fault(job, stage, &fault);
    }
    opf_arena_free(arena);
    return status;
}

/* ---- results ---- */

static void store_results(opf_tensor *tensor, const opf_operand *from) {
    void *data = (void *)(uintptr_t)tensor->data;
    opf_dtype dtype = tensor->dtype;
    if (dtype == OPF_FLOAT32) for (int64_t i = 0; i < tensor->elements; i++) ((float *)data)[i] = (float)((const double *)from->data)[i];
    else if (dtype == OPF_INT64 || dtype == OPF_STRING) memcpy(data, from->data, tensor->bytes);
    else if (opf_dtype_is_float(dtype)) for (int64_t i = 0; i < tensor->elements; i++) opf_dtype_store(dtype, data, (size_t)i, ((const double *)from->data)[i]);
    else for (int64_t i = 0; i < tensor->elements; i++) opf_dtype_store_int(dtype, data, (size_t)i, ((const int64_t *)from->data)[i]);
}

static opf_status make_result(const opf_eval_stages *job, const opf_operand *from, opf_tensor **out) {
    const char *why = NULL;
    opf_tensor *tensor = opf_tensor_new(job->arena, from->dtype, from->rank, from->dims, NULL, &why);
    if (!tensor) {
        opf_node_error(job->node, "shape", "the result is impossible: %s", why);
        return OPF_ERROR_INPUT;
    }
    if (tensor->bytes) tensor->data = job->allocate(job->data, tensor->bytes);
    store_results(tensor, from);
    *out = tensor;
    return OPF_OK;
}

/* A stage that is a result of the node is a value: later stages of the node read it rounded, as other nodes do. */
static void round_result(const opf_eval_stages *job, const int *results, size_t stage, const opf_operand *operand) {
    bool is_result = false;
    for (int k = 0; k < job->n_results; k++) is_result = is_result || results[k] == (int)stage;
    if (!is_result || !opf_dtype_is_float(operand->dtype)) return;
    double *data = (double *)(uintptr_t)operand->data;
    for (int64_t i = 0; i < operand->elements; i++) data[i] = opf_dtype_round(operand->dtype, data[i]);
}

/* ---- the node ---- */

opf_status opf_eval_run_stages(const opf_eval_stages *job, const opf_stages *stages, const int *results, opf_tensor **out) {
    size_t n_inputs = stages->inputs.count, n = n_inputs + stages->list.count;
    opf_operand *operands = calloc(n + 1, sizeof *operands);
    void **owned = calloc(n + 1, sizeof *owned);
    if (!operands || !owned) opf_out_of_memory();
    opf_status status = OPF_OK;
    for (size_t i = 0; i < n_inputs; i++)
        if (job->inputs[i]) operands[i] = opf_eval_operand(job->inputs[i], &owned[i]);
    for (size_t i = 0; status == OPF_OK && i < stages->list.count; i++) {
        status = run_stage(job, stages->list.data[i], operands, (int)(n_inputs + i));
        owned[n_inputs + i] = (void *)(uintptr_t)operands[n_inputs + i].data;
        if (status == OPF_OK && i + 1 < stages->list.count) round_result(job, results, i, &operands[n_inputs + i]);
    }
    for (int k = 0; status == OPF_OK && k < job->n_results; k++) {
        out[k] = NULL;
        if (results[k] >= 0) status = make_result(job, &operands[n_inputs + (size_t)results[k]], &out[k]);
    }
    for (size_t i = 0; i < n; i++) free(owned[i]);
    free(owned);
    free(operands);
    return status;
}
