/* A program at work: its shared object, its constants, its workspace, its threads. */
#include "run/runner.h"

#include <dlfcn.h>
#include <stdlib.h>

static opf_diags *diags_of(const opf_runner *runner) { return runner->program->module->diags; }

/* ---- loading ---- */

static bool entry_fits(const opf_entry_table *entry, const opf_program *program) {
    return entry && entry->abi == OPF_ABI_VERSION && entry->n_inputs == (int)program->fusion->graph->inputs.count &&
           entry->n_outputs == (int)program->outputs.count && entry->n_symbols == (int)program->n_symbols &&
           entry->n_weights == (int)program->weights.count && entry->n_guards == (int)program->checks.count && entry->n_prepare == (int)program->prepare.count &&
           entry->packed_bytes == (size_t)program->packed_bytes;
}

bool opf_runner_open(opf_runner *runner, const char *object, const char *entry) {
    runner->handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    runner->entry = runner->handle ? dlsym(runner->handle, entry) : NULL;
    if (!runner->entry || runner->entry->abi != OPF_ABI_VERSION) return false;
    runner->symbols = calloc((size_t)runner->entry->n_symbols + 1, sizeof *runner->symbols);
    if (!runner->symbols) opf_out_of_memory();
    return true;
}

static opf_status load(opf_runner *runner, const char *object, const char *entry) {
    const opf_machine *machine = runner->program->machine;
    if (opf_machine_is_foreign(machine)) {
        opf_diag *diag = opf_diag_add(diags_of(runner), OPF_ERROR, "machine", OPF_NO_PLACE, "this CPU does not run code for '%s'", machine->name);
        opf_diag_hint(diags_of(runner), diag, "`opfuse doctor` lists the rows that run here; libraries are made on a machine of their own kind too");
        return OPF_ERROR_INPUT;
    }
    bool opened = opf_runner_open(runner, object, entry);
    if (!runner->handle) {
        opf_diag *diag = opf_diag_add(diags_of(runner), OPF_ERROR, "cache", (opf_place){object, NULL, NULL, -1}, "the compiled program cannot be loaded: %s", dlerror());
        opf_diag_hint(diags_of(runner), diag, "remove this file's folder; it will be made again");
        return OPF_ERROR_SYSTEM;
    }
    if (opened && entry_fits(runner->entry, runner->program)) return OPF_OK;
    opf_diag_add(diags_of(runner), OPF_ERROR, "cache", (opf_place){object, NULL, NULL, -1}, "the compiled program does not belong to this model");
    return OPF_ERROR_SYSTEM;
}

opf_runner *opf_runner_blank(int threads) {
    opf_runner *runner = calloc(1, sizeof *runner);
    if (!runner) opf_out_of_memory();
    runner->threads = opf_threads_new(threads);
    runner->hook = (opf_hook){.parallel = opf_threads_parallel, .pool = runner->threads, .threads = opf_threads_count(runner->threads)};
    return runner;
}

opf_status opf_runner_new(opf_runner **out, const opf_program *program, const char *object, const opf_compile_options *options, int threads) {
    return opf_runner_new_named(out, program, object, "opf_entry", options, threads);
}

opf_status opf_runner_new_named(opf_runner **out, const opf_program *program, const char *object, const char *entry, const opf_compile_options *options,
                                int threads) {
    opf_runner *runner = opf_runner_blank(threads);
    runner->program = program;
    opf_status status = load(runner, object, entry);
    if (status == OPF_OK) status = opf_runner_bind_weights(runner);
    if (status == OPF_OK) status = opf_runner_pack(runner, options);
    if (status != OPF_OK) {
        opf_runner_free(runner);
        return status;
    }
    *out = runner;
    return OPF_OK;
}

bool opf_runner_attach(opf_runner *runner, const opf_program *program) {
    if (!entry_fits(runner->entry, program)) return false;
    runner->program = program;
    return true;
}

void opf_runner_free(opf_runner *runner) {
    if (!runner) return;
    opf_threads_free(runner->threads);
    for (int i = 0; runner->copies && i < runner->entry->n_weights; i++) free(runner->copies[i]);
    if (!runner->packed_file.data && !runner->image.packed.data) free(runner->packed);
    opf_file_unmap(&runner->packed_file);
    opf_image_close(&runner->image);
    free(runner->copies);
    free(runner->weights);
    free(runner->symbols);
    free(runner->workspace);
    opf_runner_heap_free(&runner->heap);
    if (runner->handle) dlclose(runner->handle);
    free(runner);
}

const opf_entry_table *opf_runner_entry(const opf_runner *runner) { return runner->entry; }
const void *opf_runner_packed(const opf_runner *runner) { return runner->packed; }

/* ---- sizes ---- */

/* Values of the module's symbols by index, for opf_dim_eval. */
static int64_t value_of(const opf_runner *runner, opf_dim dim) {
    const opf_program *program = runner->program;
    int64_t *values = calloc((size_t)opf_pool_symbols(program->module->pool) + 1, sizeof *values), result = -1;
    if (!values) opf_out_of_memory();
    for (size_t i = 0; i < program->n_symbols; i++) values[program->sources[i].symbol->index] = runner->symbols[i];
    if (!opf_dim_eval(dim, values, &result)) result = -1;
    free(values);
    return result;
}

/* An axis of open size is not broadcast (ops/build.h); one that the file or the caller gives as 1 is. */
static void suggest_pin(const opf_runner *runner, opf_diag *diag) {
    opf_diag_detail(diags_of(runner), diag, "operands whose sizes are open are taken to be of one size; for a size of 1 that is broadcast, pin it: --shape INPUT=…,1,…");
}

static void report_check(const opf_runner *runner, int index, const int64_t *const *input_dims) {
    if (!runner->program) return;
    const opf_condition *check = &runner->program->checks.data[index];
    opf_place place = {runner->program->module->path, NULL, NULL, -1};
    if (!check->guard) {
        const opf_value *input = runner->program->fusion->graph->inputs.data[check->input];
        opf_text type = {0};
        opf_value_print_type(input, &type);
        opf_diag *diag = opf_diag_add(diags_of(runner), OPF_ERROR, "shape", place, "input '%s': axis %d is %lld and must be %lld", input->name,
                                      check->axis, (long long)input_dims[check->input][check->axis], (long long)value_of(runner, check->want));
        opf_diag_detail(diags_of(runner), diag, "the input is %s", opf_text_string(&type));
        opf_text_free(&type);
        if (input_dims[check->input][check->axis] == 1) suggest_pin(runner, diag);
        return;
    }
    opf_text text = {0};
    opf_expr_print(check->guard->left, NULL, &text);
    opf_text_printf(&text, " (%lld) %s ", (long long)value_of(runner, check->guard->left), check->guard->kind == OPF_GUARD_EQ ? "must equal" : "must be at least");
    opf_expr_print(check->guard->right, NULL, &text);
    opf_text_printf(&text, " (%lld)", (long long)value_of(runner, check->guard->right));
    opf_diag *diag = opf_diag_add(diags_of(runner), OPF_ERROR, "shape", place, "%s sizes do not fit each other: %s", check->counted ? "found" : "the inputs'", opf_text_string(&text));
    if (check->guard->why) opf_diag_detail(diags_of(runner), diag, "%s", check->guard->why);
    if (check->guard->kind == OPF_GUARD_EQ && (value_of(runner, check->guard->left) == 1 || value_of(runner, check->guard->right) == 1)) suggest_pin(runner, diag);
    opf_text_free(&text);
}

static opf_status grow(opf_runner *runner, size_t bytes) {
    runner->workspace_bytes = bytes;
    if (bytes <= runner->workspace_room) return OPF_OK;
    free(runner->workspace);
    runner->workspace = opf_runner_memory(bytes);
    runner->workspace_room = runner->workspace ? bytes : 0;
    if (runner->workspace) return OPF_OK;
    if (runner->program) opf_diag_add(diags_of(runner), OPF_ERROR, "memory", (opf_place){runner->program->module->path, NULL, NULL, -1},
                 "no memory for a workspace of %zu bytes", bytes);
    return OPF_ERROR_SYSTEM;
}

bool opf_runner_takes(opf_runner *runner, const int64_t *const *input_dims) { return runner->entry->solve(input_dims, runner->symbols) == 0; }

opf_status opf_runner_prepare(opf_runner *runner, const int64_t *const *input_dims) {
    runner->prepared = false;
    int failing = runner->entry->solve(input_dims, runner->symbols);
    if (failing) {
        report_check(runner, failing - 1, input_dims);
        return OPF_ERROR_INPUT;
    }
    size_t bytes = runner->entry->workspace_bytes(runner->symbols, runner->hook.threads);
    if (!bytes) {
        if (runner->program) opf_diag_add(diags_of(runner), OPF_ERROR, "shape", (opf_place){runner->program->module->path, NULL, NULL, -1},
                     "with these inputs the sizes of inner values overflow");
        return OPF_ERROR_INPUT;
    }
    opf_status status = grow(runner, bytes);
    runner->prepared = status == OPF_OK;
    return status;
}

void opf_runner_output_dims(const opf_runner *runner, int output, int64_t *dims) { runner->entry->output_dims(runner->symbols, output, dims); }
void opf_runner_output_most(const opf_runner *runner, int output, int64_t *dims) { runner->entry->output_most(runner->symbols, output, dims); }
size_t opf_runner_workspace_bytes(const opf_runner *runner) { return runner->workspace_bytes; }

/* ---- running ---- */

/* The node that a step belongs to: its own, the first of its group, else the one that makes what it moves. NULL: none. */
static const opf_node *node_of(const opf_runner *runner, const opf_step *step) {
    if (step->node) return step->node;
    if (step->nest && step->nest->group) return step->nest->group->nodes.data[0];
    for (int k = 0; k < step->n_buffers; k++) {
        const opf_value *value = step->buffers[k] >= 0 ? runner->program->buffers.data[step->buffers[k]].value : NULL;
        if (value && value->producer) return value->producer;
    }
    return NULL;
}

static void report_step(const opf_runner *runner, int index) {
    if (!runner->program) return;
    const opf_step *step = &runner->program->steps.data[index];
    const char *problem = runner->heap.heap.problem ? runner->heap.heap.problem : "it failed";
    const opf_node *node = node_of(runner, step);
    if (node) opf_node_error(node, "run", "%s", problem);
    else opf_diag_add(diags_of(runner), OPF_ERROR, "run", (opf_place){runner->program->module->path, NULL, NULL, -1}, "step %d could not be done: %s", index, problem);
}

void *opf_runner_take(opf_runner *runner, size_t bytes) { return opf_heap_take(&runner->heap.heap, (int64_t)bytes, 64); }
bool opf_runner_holds(const opf_runner *runner, const void *address) { return opf_runner_heap_holds(&runner->heap, address); }

opf_status opf_runner_run(opf_runner *runner, const void *const *inputs, void *const *outputs) {
    if (!runner->prepared) {
        if (runner->program) opf_diag_add(diags_of(runner), OPF_ERROR, "internal", OPF_NO_PLACE, "a run without prepared sizes");
        return OPF_ERROR_INTERNAL;
    }
    opf_frame frame = {.inputs = inputs, .outputs = outputs, .weights = runner->weights, .packed = runner->packed,
                       .symbols = runner->symbols, .workspace = runner->workspace, .hook = &runner->hook, .heap = &runner->heap.heap};
    opf_runner_heap_begin(&runner->heap);
    runner->frame = &frame;
    int failing = runner->entry->run(&frame);
    runner->frame = NULL;
    if (failing > 0) report_check(runner, failing - 1, NULL);
    if (failing < 0) report_step(runner, -1 - failing);
    return failing ? OPF_ERROR_INPUT : OPF_OK;
}

void opf_runner_trace(opf_runner *runner, void (*trace)(void *data, int step, int begin), void *data) {
    runner->hook.trace = trace;
    runner->hook.trace_data = data;
}
