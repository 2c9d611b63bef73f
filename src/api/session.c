/* Sessions: inputs checked, sizes prepared when they change, outputs in memory that the session keeps. */
#include "api/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"

static opf_place place_of(const opf_session *session) { return (opf_place){session->model->source.path, NULL, NULL, -1}; }
static opf_diags *diags_of(const opf_session *session) { return session->model->context->diags; }

/* ---- making ---- */

static void *blank(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory) opf_out_of_memory();
    return memory;
}

static void make_room(opf_session *session) {
    size_t inputs = session->pipeline.program->fusion->graph->inputs.count, outputs = session->pipeline.program->outputs.count;
    session->input_dims = blank(inputs * OPF_MAX_RANK, sizeof *session->input_dims);
    session->dims_of_input = blank(inputs, sizeof *session->dims_of_input);
    session->inputs = blank(inputs, sizeof *session->inputs);
    session->output_dims = blank(outputs * OPF_MAX_RANK, sizeof *session->output_dims);
    session->outputs = blank(outputs, sizeof *session->outputs);
    session->output_room = blank(outputs, sizeof *session->output_room);
    for (size_t i = 0; i < inputs; i++) session->dims_of_input[i] = session->input_dims + i * OPF_MAX_RANK;
}

static void remark(const opf_session *session) {
    const opf_program *program = session->pipeline.program;
    opf_text text = {0};
    opf_text_printf(&text, "%s: %zu kernels in %zu steps, %s: %s\n", session->model->source.path, program->kernels.count, program->steps.count,
                    session->pipeline.sources->warm ? "from the cache" : "compiled", session->pipeline.object);
    opf_context_say(session->model->context, OPF_TEXT_REMARK, opf_text_string(&text));
    opf_text_free(&text);
}

opf_status opf_session_make(opf_session **out, opf_model *model, opf_policy policy, bool tap_all, bool silent) {
    *out = NULL;
    opf_session *session = blank(1, sizeof *session);
    session->model = model;
    if (model->needs_values) {
        session->variants = opf_variants_new(model, policy, tap_all, silent);
        *out = session;
        return OPF_OK;
    }
    session->pipeline = (opf_pipeline){.model = model, .context = model->context, .policy = policy, .tap_all = tap_all, .silent = silent};
    opf_status status = opf_pipeline_run(&session->pipeline, OPF_TO_OBJECT);
    if (status == OPF_OK && !session->pipeline.stopped) {
        opf_compile_options options = opf_context_compile_options(model->context);
        make_room(session);
        if (model->context->options.verbose) remark(session);
        status = opf_runner_new(&session->runner, session->pipeline.program, session->pipeline.object, &options, opf_context_threads(model->context));
    }
    if (status != OPF_OK || session->pipeline.stopped) opf_session_free(session);
    else *out = session;
    return status;
}

opf_status opf_session_emit(opf_session **out, opf_model *model, opf_policy policy) {
    opf_session *session = blank(1, sizeof *session);
    session->model = model;
    session->pipeline = (opf_pipeline){.model = model, .context = model->context, .policy = policy, .silent = true};
    opf_status status = opf_pipeline_run(&session->pipeline, OPF_TO_SOURCES);
    if (status != OPF_OK) opf_session_free(session);
    *out = status == OPF_OK ? session : NULL;
    return status;
}

opf_status opf_session_open(opf_session *session, const char *object, const char *entry) {
    opf_context *context = session->model->context;
    opf_compile_options options = opf_context_compile_options(context);
    make_room(session);
    return opf_runner_new_named(&session->runner, session->pipeline.program, object, entry, &options, opf_context_threads(context));
}

opf_status opf_session_new(opf_session **out, opf_model *model) {
    return opf_session_make(out, model, model->context->options.policy, false, false);
}

void opf_session_free(opf_session *session) {
    if (!session) return;
    opf_variants_free(session->variants);
    opf_runner_free(session->runner);
    for (size_t i = 0; session->outputs && i < session->pipeline.program->outputs.count; i++) free(session->outputs[i]);
    free(session->input_dims);
    free(session->dims_of_input);
    free(session->inputs);
    free(session->output_dims);
    free(session->outputs);
    free(session->output_room);
    opf_pipeline_free(&session->pipeline);
    free(session);
}

/* ---- inputs ---- */

static opf_status wrong_input(const opf_session *session, const opf_value *input, const char *what) {
    opf_text type = {0};
    opf_value_print_type(input, &type);
    opf_diag *diag = opf_diag_add(diags_of(session), OPF_ERROR, "input", place_of(session), "input '%s': %s", input->name, what);
    opf_diag_detail(diags_of(session), diag, "the model wants %s", opf_text_string(&type));
    opf_text_free(&type);
    return OPF_ERROR_INPUT;
}

static opf_status check_input(const opf_session *session, const opf_value *input, const opf_array *array) {
    char what[96];
    if (array->dtype != (int)input->dtype) {
        snprintf(what, sizeof what, "its element type is %s", opf_array_dtype_name(array->dtype));
        return wrong_input(session, input, what);
    }
    if (array->rank != input->rank) {
        snprintf(what, sizeof what, "it has %d axes", array->rank);
        return wrong_input(session, input, what);
    }
    int64_t elements = 1;
    for (int k = 0; k < array->rank; k++)
        if (array->dims[k] < 0 || !opf_checked_mul(elements, array->dims[k], &elements)) return wrong_input(session, input, "its shape is impossible");
    if (elements && !array->data) return wrong_input(session, input, "it has no data");
    size_t size = opf_dtype_bytes(input->dtype, 1) > 8 ? 8 : opf_dtype_bytes(input->dtype, 1);
    if (size > 1 && (uintptr_t)array->data % size) return wrong_input(session, input, "its data is not aligned to its elements");
    return OPF_OK;
}

/* Takes over data and dims; true in `*changed` where the dims are not those of the last run. */
static opf_status take_inputs(opf_session *session, const opf_array *arrays, bool *changed) {
    const opf_graph *graph = session->pipeline.program->fusion->graph;
    for (size_t i = 0; i < graph->inputs.count; i++) {
        opf_status status = check_input(session, graph->inputs.data[i], &arrays[i]);
        if (status == OPF_OK && !opf_model_holds(session->model, i, &arrays[i]))
            status = wrong_input(session, graph->inputs.data[i], "it is bound to another value in this model");
        if (status != OPF_OK) return status;
        int64_t *dims = session->input_dims + i * OPF_MAX_RANK;
        size_t bytes = (size_t)arrays[i].rank * sizeof *dims;
        if (bytes && memcmp(dims, arrays[i].dims, bytes) != 0) {
            memcpy(dims, arrays[i].dims, bytes);
            *changed = true;
        }
        session->inputs[i] = arrays[i].data;
    }
    return OPF_OK;
}

/* ---- outputs ---- */

static opf_status make_output(opf_session *session, size_t index) {
    const opf_value *value = session->pipeline.program->outputs.data[index];
    int64_t *dims = session->output_dims + index * OPF_MAX_RANK, elements = 1, bits;
    opf_runner_output_most(session->runner, (int)index, dims);
    bool fits = true;
    for (int k = 0; k < value->rank; k++) fits = fits && dims[k] >= 0 && opf_checked_mul(elements, dims[k], &elements);
    if (!fits || !opf_checked_mul(elements, 64, &bits)) {
        opf_diag_add(diags_of(session), OPF_ERROR, "shape", place_of(session), "the size of output '%s' overflows", value->name);
        return OPF_ERROR_INPUT;
    }
    size_t bytes = opf_dtype_bytes(value->dtype, (size_t)elements);
    if (session->outputs[index] && bytes <= session->output_room[index]) return OPF_OK;
    free(session->outputs[index]);
    session->outputs[index] = opf_memory_fits(bytes) ? aligned_alloc(64, (bytes + 64) / 64 * 64) : NULL;
    session->output_room[index] = session->outputs[index] ? bytes : 0;
    if (session->outputs[index]) return OPF_OK;
    opf_diag_add(diags_of(session), OPF_ERROR, "memory", place_of(session), "no memory for output '%s' (%zu bytes)", value->name, bytes);
    return OPF_ERROR_SYSTEM;
}

static opf_status prepare(opf_session *session) {
    session->prepared = false;
    opf_status status = opf_runner_prepare(session->runner, session->dims_of_input);
    for (size_t i = 0; i < session->pipeline.program->outputs.count && status == OPF_OK; i++) status = make_output(session, i);
    session->prepared = status == OPF_OK;
    return status;
}

static void show_outputs(const opf_session *session, size_t count, opf_array *outputs) {
    const opf_program *program = session->pipeline.program;
    const opf_graph *graph = program->fusion->graph;
    for (size_t i = 0; i < count; i++) {
        const opf_value *value = program->outputs.data[i];
        opf_runner_output_dims(session->runner, (int)i, session->output_dims + i * OPF_MAX_RANK);
        const char *name = i < graph->outputs.count ? graph->output_names.data[i] : value->name;
        outputs[i] = (opf_array){.name = name, .dtype = (int)value->dtype, .rank = value->rank, .dims = session->output_dims + i * OPF_MAX_RANK, .data = session->outputs[i]};
    }
}

/* ---- running ---- */

opf_status opf_session_prepare(opf_session *session, const opf_array *inputs) {
    bool changed = !session->prepared;
    opf_status status = take_inputs(session, inputs, &changed);
    if (status == OPF_OK && changed) status = prepare(session);
    if (status != OPF_OK) session->prepared = false; /* dims may have been taken over half */
    return status;
}

static opf_status run(opf_session *session, const opf_array *inputs, size_t count, opf_array *outputs) {
    opf_status status = opf_session_prepare(session, inputs);
    if (status != OPF_OK) return status;
    status = opf_runner_run(session->runner, session->inputs, session->outputs);
    if (status == OPF_OK) show_outputs(session, count, outputs);
    return status;
}

opf_status opf_session_run(opf_session *session, const opf_array *inputs, opf_array *outputs) {
    if (session->variants) {
        void (*on_step)(void *, int, const char *, int) = session->on_step;
        void *data = session->on_step_data;
        opf_status status = opf_variants_find(&session, session->variants, inputs);
        if (status == OPF_OK && session && (on_step || session->on_step)) opf_session_on_step(session, on_step, data);
        return status == OPF_OK && session ? opf_session_run(session, inputs, outputs) : status;
    }
    return run(session, inputs, session->pipeline.program->fusion->graph->outputs.count, outputs);
}

opf_status opf_session_run_all(opf_session *session, const opf_array *inputs, opf_array *outputs) {
    return run(session, inputs, session->pipeline.program->outputs.count, outputs);
}
