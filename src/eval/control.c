/* If, Loop and Scan: their sub-graphs evaluated like any graph, as often as they say. */
#include "eval/evaluator.h"

#include <stdlib.h>
#include <string.h>

typedef struct opf_walk {
    opf_eval *eval;
    opf_node *node;
    const opf_control *control;
    const opf_graph *body;
    int first_out;      /* position of carried values among the body's outputs */
    int64_t trip;       /* iterations at most */
    opf_tensor **stacked; /* results so far, in the end */
} opf_walk;

static const opf_tensor *input(const opf_walk *w, int k) { return k < w->node->n_inputs && w->node->inputs[k] ? opf_eval_tensor(w->eval, w->node->inputs[k]) : NULL; }

static opf_status report(const opf_walk *w, const char *what) {
    opf_node_error(w->node, "shape", "evaluating %s: %s", w->node->op, what);
    return OPF_ERROR_INPUT;
}

/* ---- tensors ---- */

static opf_tensor *new_tensor(opf_eval *eval, opf_dtype dtype, int rank, const int64_t *dims) {
    const char *why = NULL;
    opf_tensor *tensor = opf_tensor_new(eval->arena, dtype, rank, dims, NULL, &why);
    if (tensor) tensor->data = opf_eval_memory(tensor->bytes + 1);
    return tensor;
}

static opf_tensor *copy_of(opf_eval *eval, const opf_tensor *from) {
    if (from->is_list) {
        opf_tensor *list = opf_tensor_of_list(eval->arena, from->dtype, from->data);
        list->data = memcpy(opf_eval_memory(OPF_LIST_BYTES), from->data, OPF_LIST_BYTES);
        return list;
    }
    opf_tensor *tensor = new_tensor(eval, from->dtype, from->rank, from->dims);
    if (from->bytes) opf_tensor_copy(from, (void *)(uintptr_t)tensor->data);
    return tensor;
}

static opf_tensor *scalar(opf_eval *eval, opf_dtype dtype, int64_t value) {
    opf_tensor *tensor = new_tensor(eval, dtype, 0, NULL);
    opf_dtype_store_int(dtype, (void *)(uintptr_t)tensor->data, 0, value);
    return tensor;
}

static size_t element_bytes(opf_dtype dtype) { return opf_dtype_bytes(dtype, 1); }

/* Between a whole tensor and its slice `at` along an axis. */
static void copy_slice(const opf_tensor *whole, const opf_tensor *slice, int axis, int64_t at, bool into_whole) {
    size_t outer = 1, inner = element_bytes(whole->dtype);
    for (int k = 0; k < axis; k++) outer *= (size_t)whole->dims[k];
    for (int k = axis + 1; k < whole->rank; k++) inner *= (size_t)whole->dims[k];
    for (size_t o = 0; o < outer; o++) {
        char *there = (char *)(uintptr_t)whole->data + (o * (size_t)whole->dims[axis] + (size_t)at) * inner, *here = (char *)(uintptr_t)slice->data + o * inner;
        memcpy(into_whole ? there : here, into_whole ? here : there, inner);
    }
}

/* ---- sizes ---- */

static opf_status set_sizes(const opf_walk *w, int which) {
    const opf_control *control = w->control;
    int64_t *values = OPF_ARRAY(w->eval->arena, int64_t, control->sizes.count + 1);
    for (size_t i = 0; i < control->sizes.count; i++)
        if (!opf_dim_eval(control->sizes.data[i].values[which], w->eval->symbols, &values[i])) return report(w, "a size overflows");
    for (size_t i = 0; i < control->sizes.count; i++) w->eval->symbols[control->sizes.data[i].symbol->index] = values[i];
    return OPF_OK;
}

/* ---- If ---- */

static opf_status run_branch(const opf_walk *w) {
    int branch = w->control->taken >= 0 ? w->control->taken : !opf_tensor_get_int(input(w, 0), 0);
    const opf_graph *graph = w->control->graphs[branch];
    opf_status status = opf_eval_nodes(w->eval, graph);
    if (status == OPF_OK) status = set_sizes(w, branch);
    if (status != OPF_OK) return status;
    for (int k = 0; k < w->node->n_outputs; k++)
        if (w->node->outputs[k]) opf_eval_set(w->eval, w->node->outputs[k], copy_of(w->eval, opf_eval_tensor(w->eval, graph->outputs.data[k])));
    opf_eval_end_run(w->eval, graph);
    return OPF_OK;
}

/* ---- loops ---- */

static void hand_in(const opf_walk *w, int64_t iteration) {
    const opf_control *control = w->control;
    if (control->kind == OPF_CONTROL_LOOP) {
        opf_eval_set(w->eval, w->body->inputs.data[0], scalar(w->eval, OPF_INT64, iteration));
        opf_eval_set(w->eval, w->body->inputs.data[1], scalar(w->eval, OPF_BOOL, 1));
    }
    for (int k = 0; k < control->n_in; k++) {
        const opf_tensor *whole = input(w, control->first + control->n_carried + k);
        int axis = control->in[k].axis;
        int64_t dims[OPF_MAX_RANK] = {0};
        for (int i = 0, at = 0; i < whole->rank; i++)
            if (i != axis) dims[at++] = whole->dims[i];
        opf_tensor *slice = new_tensor(w->eval, whole->dtype, whole->rank - 1, dims);
        copy_slice(whole, slice, axis, control->in[k].reverse ? w->trip - 1 - iteration : iteration, false);
        opf_eval_set(w->eval, w->body->inputs.data[control->first + control->n_carried + k], slice);
    }
}

/* A result stacked up so far, with room for `count` iterations. */
static opf_status stack(const opf_walk *w, int k, int64_t iteration, int64_t count) {
    const opf_control *control = w->control;
    const opf_tensor *part = opf_eval_tensor(w->eval, w->body->outputs.data[w->first_out + control->n_carried + k]);
    opf_tensor *before = w->stacked[k];
    int axis = control->out[k].axis;
    bool grows = !before || before->dims[axis] < count;
    if (grows) {
        int64_t dims[OPF_MAX_RANK];
        for (int i = 0; i <= part->rank; i++) dims[i] = i == axis ? count : part->dims[i < axis ? i : i - 1];
        opf_tensor *tensor = w->stacked[k] = new_tensor(w->eval, part->dtype, part->rank + 1, dims);
        if (!tensor) return report(w, "the result is too large");
        if (before && before->bytes) memcpy((void *)(uintptr_t)tensor->data, before->data, before->bytes); /* only along axis 0 */
        if (before) free((void *)(uintptr_t)before->data);
    } else {
        for (int i = 0; i < part->rank; i++)
            if (before->dims[i < axis ? i : i + 1] != part->dims[i]) return report(w, "the sizes of what is stacked up differ");
    }
    copy_slice(w->stacked[k], part, axis, control->out[k].reverse ? count - 1 - iteration : iteration, true);
    return OPF_OK;
}

/* The carried values of the next iteration, all taken before any is replaced. */
static void carry(const opf_walk *w) {
    const opf_control *control = w->control;
    const opf_tensor **next = OPF_ARRAY(w->eval->arena, const opf_tensor *, control->n_carried + 1);
    for (int k = 0; k < control->n_carried; k++) next[k] = copy_of(w->eval, opf_eval_tensor(w->eval, w->body->outputs.data[w->first_out + k]));
    opf_eval_end_run(w->eval, w->body);
    for (int k = 0; k < control->n_carried; k++) opf_eval_set(w->eval, w->body->inputs.data[control->first + k], next[k]);
}

static opf_status iterate(const opf_walk *w, int64_t iteration, bool *goes_on) {
    const opf_control *control = w->control;
    if (control->iteration) w->eval->symbols[control->iteration->index] = iteration;
    hand_in(w, iteration);
    opf_status status = opf_eval_nodes(w->eval, w->body);
    if (status != OPF_OK) return status;
    if (control->kind == OPF_CONTROL_LOOP) *goes_on = opf_tensor_get_int(opf_eval_tensor(w->eval, w->body->outputs.data[0]), 0) != 0;
    for (int k = 0; k < control->n_out && status == OPF_OK; k++) status = stack(w, k, iteration, control->kind == OPF_CONTROL_SCAN ? w->trip : iteration + 1);
    if (status == OPF_OK) status = set_sizes(w, 1);
    if (status == OPF_OK) carry(w);
    return status;
}

/* Without iterations, what is stacked up has an axis of size 0. */
static opf_status empty_results(const opf_walk *w) {
    const opf_control *control = w->control;
    for (int k = 0; k < control->n_out; k++) {
        int position = control->n_carried + k;
        const opf_library_output *output = position < control->n_outputs ? &control->outputs[position] : NULL;
        int64_t dims[OPF_MAX_RANK];
        if (w->stacked[k] || !output || output->dtype == OPF_NO_DTYPE) continue;
        for (int i = 0; i < output->rank; i++) {
            dims[i] = 0;
            if (i != control->out[k].axis && !opf_dim_eval(output->dims[i], w->eval->symbols, &dims[i])) return report(w, "a size overflows");
        }
        w->stacked[k] = new_tensor(w->eval, output->dtype, output->rank, dims);
    }
    return OPF_OK;
}

static void hand_out(const opf_walk *w) {
    const opf_control *control = w->control;
    for (int k = 0; k < w->node->n_outputs; k++) {
        const opf_tensor *tensor = k < control->n_carried ? copy_of(w->eval, opf_eval_tensor(w->eval, w->body->inputs.data[control->first + k])) : w->stacked[k - control->n_carried];
        if (w->node->outputs[k]) opf_eval_set(w->eval, w->node->outputs[k], tensor);
        else free((void *)(uintptr_t)tensor->data);
    }
    opf_eval_release_graph(w->eval, w->body);
}

static opf_status run_loop(opf_walk *w) {
    const opf_control *control = w->control;
    bool scan = control->kind == OPF_CONTROL_SCAN, goes_on = scan || !input(w, 1) || opf_tensor_get_int(input(w, 1), 0) != 0;
    w->trip = scan ? input(w, control->first + control->n_carried)->dims[control->in[0].axis] : input(w, 0) ? opf_tensor_get_int(input(w, 0), 0) : INT64_MAX;
    w->stacked = OPF_ARRAY(w->eval->arena, opf_tensor *, control->n_out + 1);
    opf_status status = set_sizes(w, 0);
    for (int k = 0; k < control->n_carried && status == OPF_OK; k++)
        opf_eval_set(w->eval, w->body->inputs.data[control->first + k], copy_of(w->eval, input(w, control->first + k)));
    int64_t iteration = 0;
    while (status == OPF_OK && iteration < w->trip && goes_on) status = iterate(w, iteration++, &goes_on);
    if (control->trips) w->eval->symbols[control->trips->index] = iteration;
    if (status == OPF_OK) status = empty_results(w);
    if (status == OPF_OK) hand_out(w);
    return status;
}

opf_status opf_eval_control(opf_eval *eval, opf_node *node, const opf_control *control) {
    opf_walk walk = {.eval = eval, .node = node, .control = control, .body = control->graphs[0], .first_out = control->kind == OPF_CONTROL_LOOP};
    return control->kind == OPF_CONTROL_IF ? run_branch(&walk) : run_loop(&walk);
}
