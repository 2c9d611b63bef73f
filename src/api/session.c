/* Sessions: inputs checked, sizes prepared when they change, outputs in memory that the session keeps. */
#include "api/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/image.h"
#include "base/checked.h"
#include "base/memory.h"
#include "ops/counts.h"
#include "run/image.h"
#include "run/runner.h"

static opf_place place_of(const opf_session *session) { return (opf_place){session->model->source.path, NULL, NULL, -1}; }
static opf_diags *diags_of(const opf_session *session) { return session->model->context->diags; }

/* ---- making ---- */

static void *blank(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory) opf_out_of_memory();
    return memory;
}

/* What the session knows of inputs and outputs: the program's, or without one the graph's as read. */
static void look(opf_session *session) {
    const opf_program *program = session->pipeline.program;
    session->graph = program ? program->fusion->graph : session->pipeline.module->graph;
    session->results = program ? program->outputs.data : (const opf_value *const *)session->graph->outputs.data;
    session->n_outputs = program ? program->outputs.count : session->graph->outputs.count;
}

static void make_room(opf_session *session) {
    look(session);
    size_t inputs = session->graph->inputs.count, outputs = session->n_outputs;
    session->input_dims = blank(inputs * OPF_MAX_RANK, sizeof *session->input_dims);
    session->dims_of_input = blank(inputs, sizeof *session->dims_of_input);
    session->inputs = blank(inputs, sizeof *session->inputs);
    session->lists = blank(inputs, sizeof *session->lists);
    session->output_dims = blank(outputs * OPF_MAX_RANK, sizeof *session->output_dims);
    session->outputs = blank(outputs, sizeof *session->outputs);
    session->output_room = blank(outputs, sizeof *session->output_room);
    for (size_t i = 0; i < inputs; i++) session->dims_of_input[i] = session->input_dims + i * OPF_MAX_RANK;
}

static void remark(const opf_session *session, int64_t kernels, int64_t steps, bool warm, const char *object) {
    if (!session->model->context->options.verbose) return;
    opf_text text = {0};
    opf_text_printf(&text, "%s: %lld kernels in %lld steps, %s: %s\n", session->model->source.path, (long long)kernels, (long long)steps,
                    warm ? "from the cache" : "compiled", object);
    opf_context_say(session->model->context, OPF_TEXT_REMARK, opf_text_string(&text));
    opf_text_free(&text);
}

static opf_session *new_session(opf_model *model, opf_policy policy) {
    opf_session *session = blank(1, sizeof *session);
    session->model = model;
    session->pipeline = (opf_pipeline){.model = model, .context = model->context, .policy = policy, .one_file = model->context->options.one_file};
    return session;
}

/* Runs the pipeline to its end and loads what it has made. Leaves the runner NULL where the pipeline was stopped before. */
static opf_status compile(opf_session *session) {
    opf_pipeline *pipeline = &session->pipeline;
    opf_status status = opf_pipeline_run(pipeline, OPF_TO_OBJECT);
    if (status != OPF_OK || pipeline->stopped) return status;
    opf_compile_options options = opf_context_compile_options(pipeline->context);
    make_room(session);
    remark(session, (int64_t)pipeline->program->kernels.count, (int64_t)pipeline->program->steps.count, pipeline->sources->warm, pipeline->object);
    return opf_runner_new(&session->runner, pipeline->program, pipeline->object, &options, opf_context_threads(pipeline->context));
}

/* Hands over a session that is whole, or frees it. */
static opf_status finish(opf_session **out, opf_session *session, opf_status status) {
    bool whole = status == OPF_OK && (session->runner || session->variants);
    *out = whole ? session : NULL;
    if (!whole) opf_session_free(session);
    return status;
}

opf_status opf_session_make(opf_session **out, opf_model *model, opf_policy policy, bool tap_all, bool silent) {
    opf_session *session = new_session(model, policy);
    session->pipeline.tap_all = tap_all;
    session->pipeline.silent = silent;
    if (model->needs_values) session->variants = opf_variants_new(model, policy, tap_all, silent);
    return finish(out, session, session->variants ? OPF_OK : compile(session));
}

opf_status opf_session_make_part(opf_session **out, opf_model *model, opf_policy policy, void (*leave_out)(void *data, opf_program *program), void *data) {
    opf_session *session = new_session(model, policy);
    session->pipeline.silent = true;
    session->pipeline.on_program = leave_out;
    session->pipeline.program_data = data;
    return finish(out, session, compile(session));
}

opf_status opf_session_emit(opf_session **out, opf_model *model, opf_policy policy) {
    opf_session *session = new_session(model, policy);
    session->pipeline.silent = true;
    session->pipeline.one_file = true;
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

/* ---- warm starts ---- */

/* Loads the image of this key, if there is one, onto the model as read. */
static bool load_image(opf_session *session, opf_hash key) {
    opf_context *context = session->model->context;
    opf_compile_options options = opf_context_compile_options(context);
    opf_image image;
    if (!opf_image_open(&image, key, &options, context->arena)) return false;
    session->pipeline.module = opf_model_take(session->model);
    session->pipeline.typed = true;
    look(session);
    opf_hash types = opf_session_types(session);
    if (memcmp(&types, &image.types, sizeof types) == 0) {
        const opf_module *module = session->pipeline.module;
        remark(session, image.kernels, image.steps, true, image.object);
        session->runner = opf_runner_of_image(&image, module->files.data, module->files.count, opf_context_threads(context));
    }
    opf_image_close(&image);
    if (session->runner) make_room(session);
    return session->runner != NULL;
}

/* Compiles, and stores the image unless passes had something to say: what they say must be said again next time. */
static opf_status compile_and_store(opf_session *session, opf_hash key) {
    opf_context *context = session->model->context;
    size_t said = opf_diags_count(context->diags);
    opf_status status = compile(session);
    if (status != OPF_OK || !session->runner || opf_diags_count(context->diags) != said) return status;
    opf_compile_options options = opf_context_compile_options(context);
    opf_image_write(key, session->runner, session->pipeline.sources, opf_session_types(session), &options);
    return status;
}

opf_status opf_session_new(opf_session **out, opf_model *model) {
    opf_policy policy = model->context->options.policy;
    if (model->needs_values) return opf_session_make(out, model, policy, false, false);
    opf_session *session = new_session(model, policy);
    opf_module *module;
    opf_hash key;
    opf_status status = opf_model_as_read(&module, model);
    if (status == OPF_OK) {
        bool stored = opf_session_image_key(&key, session, module);
        if (!stored) status = compile(session);
        else if (!load_image(session, key)) status = compile_and_store(session, key);
    }
    return finish(out, session, status);
}

opf_status opf_session_demand_program(opf_session *session) {
    opf_pipeline *pipeline = &session->pipeline;
    if (pipeline->program) return OPF_OK;
    pipeline->silent = true;
    opf_status status = opf_pipeline_run(pipeline, OPF_TO_PROGRAM);
    if (status != OPF_OK) return status;
    look(session);
    if (opf_runner_attach(session->runner, pipeline->program)) return OPF_OK;
    opf_diag_add(diags_of(session), OPF_ERROR, "internal", place_of(session), "options were changed while a session was in use");
    return OPF_ERROR_INTERNAL;
}

void opf_session_free(opf_session *session) {
    if (!session) return;
    opf_variants_free(session->variants);
    opf_variants_free(session->empty);
    opf_runner_free(session->runner);
    for (size_t i = 0; session->outputs && i < session->n_outputs; i++) free(session->outputs[i]);
    free(session->input_dims);
    free(session->dims_of_input);
    free(session->inputs);
    free(session->output_dims);
    free(session->outputs);
    free(session->output_room);
    free(session->lists);
    free(session->elements);
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
    if (input->list) {
        const char *problem = opf_array_list_problem(input, array);
        return problem ? wrong_input(session, input, problem) : OPF_OK;
    }
    if (array->kind != OPF_ARRAY_TENSOR) return wrong_input(session, input, "it is no tensor");
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

/* Room for the elements of all inputs that are sequences or optionals. */
static void make_elements(opf_session *session, const opf_array *arrays) {
    const opf_graph *graph = session->graph;
    size_t count = 0;
    for (size_t i = 0; i < graph->inputs.count; i++)
        if (graph->inputs.data[i]->list) count += opf_array_items(&arrays[i]);
    if (count <= session->elements_room) return;
    free(session->elements);
    session->elements = blank(count, sizeof *session->elements);
    session->elements_room = count;
}

/* Takes over data and dims; true in `*changed` where the dims are not those of the last run. */
static opf_status take_inputs(opf_session *session, const opf_array *arrays, bool *changed) {
    const opf_graph *graph = session->graph;
    size_t taken = 0;
    make_elements(session, arrays);
    for (size_t i = 0; i < graph->inputs.count; i++) {
        opf_status status = check_input(session, graph->inputs.data[i], &arrays[i]);
        if (status == OPF_OK && !opf_model_holds(session->model, i, &arrays[i]))
            status = wrong_input(session, graph->inputs.data[i], "it is bound to another value in this model");
        if (status != OPF_OK) return status;
        int64_t *dims = session->input_dims + i * OPF_MAX_RANK;
        int64_t items = (int64_t)opf_array_items(&arrays[i]);
        bool list = graph->inputs.data[i]->list;
        size_t bytes = (list ? 1 : (size_t)arrays[i].rank) * sizeof *dims;
        const int64_t *given = list ? &items : arrays[i].dims;
        if (bytes && memcmp(dims, given, bytes) != 0) {
            memcpy(dims, given, bytes);
            *changed = true;
        }
        session->inputs[i] = list ? (const void *)&session->lists[i] : arrays[i].data;
        if (!list) continue;
        session->lists[i] = opf_array_list(&arrays[i], session->elements + taken);
        taken += (size_t)items;
    }
    return OPF_OK;
}

/* ---- outputs ---- */

/* A run puts a pointer there: no bound of the size is known. */
static bool is_found(const opf_session *session, const opf_value *value) {
    for (int k = 0; k < value->rank; k++)
        if (opf_dim_is_unbounded(session->pipeline.module, value->dims[k])) return true;
    return false;
}

static opf_status place_output(opf_session *session, size_t index, size_t bytes) {
    if (session->outputs[index] && bytes <= session->output_room[index]) return OPF_OK;
    free(session->outputs[index]);
    session->outputs[index] = opf_runner_memory(bytes);
    session->output_room[index] = session->outputs[index] ? bytes : 0;
    if (session->outputs[index]) return OPF_OK;
    opf_diag_add(diags_of(session), OPF_ERROR, "memory", place_of(session), "no memory for output '%s' (%zu bytes)", session->results[index]->name, bytes);
    return OPF_ERROR_SYSTEM;
}

static opf_status make_output(opf_session *session, size_t index) {
    const opf_value *value = session->results[index];
    int64_t *dims = session->output_dims + index * OPF_MAX_RANK, elements = 1, bits;
    if (value->list || is_found(session, value)) return place_output(session, index, OPF_LIST_BYTES);
    opf_runner_output_most(session->runner, (int)index, dims);
    bool fits = true;
    for (int k = 0; k < value->rank; k++) fits = fits && dims[k] >= 0 && opf_checked_mul(elements, dims[k], &elements);
    if (!fits || !opf_checked_mul(elements, 64, &bits)) {
        opf_diag_add(diags_of(session), OPF_ERROR, "shape", place_of(session), "the size of output '%s' overflows", value->name);
        return OPF_ERROR_INPUT;
    }
    return place_output(session, index, opf_dtype_bytes(value->dtype, (size_t)elements));
}

static opf_status prepare(opf_session *session) {
    session->prepared = false;
    opf_status status = opf_runner_prepare(session->runner, session->dims_of_input);
    if (status != OPF_OK && !session->pipeline.program) { /* once more, with the program to tell why */
        opf_status made = opf_session_demand_program(session);
        status = made == OPF_OK ? opf_runner_prepare(session->runner, session->dims_of_input) : made;
    }
    for (size_t i = 0; i < session->n_outputs && status == OPF_OK; i++) status = make_output(session, i);
    session->prepared = status == OPF_OK;
    return status;
}

/* What a run hands on of its inputs becomes the session's own. False: there is no memory. */
static bool keep(opf_session *session, opf_array *array) {
    size_t bytes = opf_dtype_bytes((opf_dtype)array->dtype, (size_t)opf_array_elements(array));
    bool text = array->dtype == OPF_STRING, there = array->kind == OPF_ARRAY_TENSOR && array->data && bytes;
    if (there && !opf_runner_holds(session->runner, array->data)) {
        void *copy = opf_runner_take(session->runner, bytes);
        if (!copy) return false;
        array->data = memcpy(copy, array->data, bytes);
    }
    for (size_t i = 0; there && text && i < bytes / sizeof(char *); i++) {
        const char **element = (const char **)(uintptr_t)array->data + i;
        if (opf_runner_holds(session->runner, *element)) continue;
        char *copy = opf_runner_take(session->runner, strlen(*element) + 1);
        if (!copy) return false;
        *element = strcpy(copy, *element);
    }
    return true;
}

static bool show_list(opf_session *session, const opf_value *value, const opf_list *list, opf_array *out) {
    opf_array *items = opf_runner_take(session->runner, (size_t)(list->length > 0 ? list->length : 0) * sizeof *items + 1);
    if (!items) return false;
    *out = opf_array_of_list(list, value->list->sequence, (int)value->dtype, items);
    for (size_t k = 0; k < out->n_items; k++)
        if (!keep(session, &items[k])) return false;
    return out->kind != OPF_ARRAY_TENSOR || keep(session, out);
}

static bool show_output(opf_session *session, size_t i, opf_array *out) {
    const opf_value *value = session->results[i];
    if (value->list) return show_list(session, value, session->outputs[i], out);
    opf_runner_output_dims(session->runner, (int)i, session->output_dims + i * OPF_MAX_RANK);
    const void *data = is_found(session, value) ? *(void **)session->outputs[i] : session->outputs[i];
    *out = (opf_array){.dtype = (int)value->dtype, .rank = value->rank, .dims = session->output_dims + i * OPF_MAX_RANK, .data = data};
    return value->dtype == OPF_STRING ? keep(session, out) : true;
}

static opf_status show_outputs(opf_session *session, size_t count, opf_array *outputs) {
    const opf_graph *graph = session->graph;
    for (size_t i = 0; i < count; i++) {
        if (!show_output(session, i, &outputs[i])) {
            opf_diag_add(diags_of(session), OPF_ERROR, "memory", place_of(session), "no memory for output '%s'", session->results[i]->name);
            return OPF_ERROR_SYSTEM;
        }
        outputs[i].name = i < graph->outputs.count ? graph->output_names.data[i] : session->results[i]->name;
    }
    return OPF_OK;
}

/* ---- running ---- */

opf_status opf_session_prepare(opf_session *session, const opf_array *inputs) {
    bool changed = !session->prepared;
    opf_status status = take_inputs(session, inputs, &changed);
    if (status == OPF_OK && changed) status = prepare(session);
    if (status != OPF_OK) session->prepared = false; /* dims may have been taken over half */
    return status;
}

bool opf_session_refuses_empty(opf_session *session, const opf_array *inputs) {
    const opf_graph *graph = session->graph;
    if (!opf_model_is_open_for_empty(session->model, inputs)) return false;
    session->prepared = false; /* dims are taken over without the data */
    for (size_t i = 0; i < graph->inputs.count; i++) {
        int64_t *dims = session->input_dims + i * OPF_MAX_RANK;
        bool list = graph->inputs.data[i]->list;
        if (!list && (inputs[i].kind != OPF_ARRAY_TENSOR || inputs[i].rank != graph->inputs.data[i]->rank)) return false; /* told when they are taken */
        if (list) dims[0] = (int64_t)opf_array_items(&inputs[i]);
        else if (inputs[i].rank) memcpy(dims, inputs[i].dims, (size_t)inputs[i].rank * sizeof *dims);
    }
    return !opf_runner_takes(session->runner, session->dims_of_input);
}

/* By the variant for these inputs, which tells its steps to whom this session tells its own. */
static opf_status run_variant(opf_session *session, opf_variants *variants, const opf_array *inputs, opf_array *outputs) {
    opf_session *variant;
    opf_status status = opf_variants_find(&variant, variants, inputs);
    if (status != OPF_OK || !variant) return status;
    if (session->on_step || variant->on_step) opf_session_on_step(variant, session->on_step, session->on_step_data);
    return opf_session_run(variant, inputs, outputs);
}

static opf_status run(opf_session *session, const opf_array *inputs, size_t count, opf_array *outputs) {
    opf_status status = opf_session_prepare(session, inputs);
    if (status != OPF_OK) return status;
    status = opf_runner_run(session->runner, session->inputs, session->outputs);
    if (status != OPF_OK && !session->pipeline.program) {
        opf_status made = opf_session_demand_program(session);
        status = made == OPF_OK ? opf_runner_run(session->runner, session->inputs, session->outputs) : made;
    }
    if (status == OPF_OK) status = show_outputs(session, count, outputs);
    return status;
}

opf_status opf_session_run(opf_session *session, const opf_array *inputs, opf_array *outputs) {
    if (session->variants) return run_variant(session, session->variants, inputs, outputs);
    if (opf_session_refuses_empty(session, inputs)) {
        if (!session->empty) session->empty = opf_variants_new_empty(session->model, session->pipeline.policy, session->pipeline.tap_all);
        return run_variant(session, session->empty, inputs, outputs);
    }
    return run(session, inputs, session->graph->outputs.count, outputs);
}

opf_status opf_session_run_all(opf_session *session, const opf_array *inputs, opf_array *outputs) {
    return run(session, inputs, session->n_outputs, outputs);
}
