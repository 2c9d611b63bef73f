/* The graph as read, node by node. */
#include "eval/evaluator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/library.h"
#include "eval/stage.h"
#include "ops/counts.h"

static opf_diags *diags_of(const opf_eval *eval) { return eval->module->diags; }
static opf_place place_of(const opf_eval *eval) { return (opf_place){eval->module->path, NULL, NULL, -1}; }

/* ---- inputs and symbols ---- */

static const char *shape_text(opf_arena *arena, int rank, const int64_t *dims) {
    const char *text = "[";
    for (int i = 0; i < rank; i++) text = opf_arena_printf(arena, "%s%s%" PRId64, text, i ? "," : "", dims[i]);
    return opf_arena_printf(arena, "%s]", text);
}

static opf_status check_input(opf_eval *eval, const opf_value *value, const opf_tensor *tensor) {
    opf_text wanted = {0};
    opf_value_print_type(value, &wanted);
    const char *given = tensor ? opf_arena_printf(eval->arena, "%s%s", opf_dtype_name(tensor->dtype), shape_text(eval->arena, tensor->rank, tensor->dims)) : "nothing";
    bool fits = tensor && tensor->dtype == value->dtype && (value->list ? tensor->is_list : !tensor->is_list && tensor->rank == value->rank);
    for (int i = 0; fits && !value->list && i < value->rank; i++) {
        int64_t size;
        if (opf_is_int(value->dims[i], &size)) fits = size == tensor->dims[i];
    }
    if (!fits) opf_diag_add(diags_of(eval), OPF_ERROR, "shape", place_of(eval), "input '%s' is %s, and %s is given", value->name, opf_text_string(&wanted), given);
    opf_text_free(&wanted);
    return fits ? OPF_OK : OPF_ERROR_INPUT;
}

/* The size of an axis; of a sequence its length. */
static int64_t given_size(const opf_tensor *tensor, int axis) {
    if (!tensor->is_list) return tensor->dims[axis];
    int64_t length = ((const opf_list *)tensor->data)->length;
    return length < 0 ? 0 : length;
}

static void solve_symbols(opf_eval *eval) {
    opf_symbol_source *sources;
    size_t count = opf_module_symbol_sources(eval->module, &sources);
    int symbols = opf_pool_symbols(eval->module->pool);
    eval->symbols = OPF_ARRAY(eval->arena, int64_t, symbols + 1);
    for (int i = 0; i < symbols; i++) eval->symbols[i] = opf_pool_symbol(eval->module->pool, i)->nominal;
    for (size_t i = 0; i < count; i++)
        if (sources[i].input >= 0) eval->symbols[sources[i].symbol->index] = given_size(eval->inputs[sources[i].input], sources[i].axis);
}

/* Dims of inputs that repeat a symbol, or are expressions, must agree with what the symbols came to. */
static opf_status check_dims(const opf_eval *eval) {
    opf_status status = OPF_OK;
    for (size_t k = 0; k < eval->graph->inputs.count; k++) {
        const opf_value *value = eval->graph->inputs.data[k];
        for (int axis = 0; axis < value->rank; axis++) {
            int64_t size = -1, given = given_size(eval->inputs[k], axis);
            if (opf_dim_eval(value->dims[axis], eval->symbols, &size) && size == given) continue;
            opf_text dim = {0};
            opf_expr_print(value->dims[axis], NULL, &dim);
            opf_diag_add(diags_of(eval), OPF_ERROR, "shape", place_of(eval), "axis %d of input '%s' has size %" PRId64 " and must be %s, which is %" PRId64, axis, value->name,
                         given, opf_text_string(&dim), size);
            opf_text_free(&dim);
            status = OPF_ERROR_INPUT;
        }
    }
    return status;
}

/* Those of the branch that is entered (NULL: of the whole) that speak of sizes known by then. Where sizes that nodes find do not fit, a load
 * goes astray and is reported. */
static opf_status check_guards(const opf_eval *eval, const opf_graph *inside) {
    opf_status status = OPF_OK;
    for (size_t i = 0; i < eval->module->guards.count; i++) {
        const opf_guard *guard = &eval->module->guards.data[i];
        if (guard->inside != inside || opf_dim_is_counted(eval->module, guard->left) || opf_dim_is_counted(eval->module, guard->right)) continue;
        int64_t left = 0, right = 0;
        bool known = opf_dim_eval(guard->left, eval->symbols, &left) && opf_dim_eval(guard->right, eval->symbols, &right);
        if (inside && !known) continue; /* a size of this turn of a loop */
        if (known && (guard->kind == OPF_GUARD_EQ ? left == right : left >= right)) continue;
        opf_diag_add(diags_of(eval), OPF_ERROR, "shape", place_of(eval), "the inputs' sizes do not fit: %s (%" PRId64 " and %" PRId64 ")", guard->why, left, right);
        status = OPF_ERROR_INPUT;
    }
    return status;
}

/* ---- life of values ---- */

void opf_eval_release(opf_eval *eval, const opf_value *value) {
    opf_eval_slot *slot = &eval->slots[value->id];
    free(slot->owned);
    *slot = (opf_eval_slot){0};
}

void opf_eval_release_graph(opf_eval *eval, const opf_graph *graph) {
    for (size_t k = 0; k < graph->values.count; k++)
        if (!graph->values.data[k]->constant) opf_eval_release(eval, graph->values.data[k]);
}

static bool is_kept(const opf_eval *eval, const opf_value *value) { return eval->keep_all || value->is_output; }

static void used(opf_eval *eval, const opf_value *value) {
    opf_eval_slot *slot = &eval->slots[value->id];
    if (slot->uses > 0) slot->uses--;
    if (slot->uses == 0 && slot->owned && !is_kept(eval, value)) opf_eval_release(eval, value);
}

void *opf_eval_memory(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes) != 0) opf_out_of_memory();
    memset(memory, 0, bytes);
    return memory;
}

static void *allocate(void *data, size_t bytes) {
    (void)data;
    return opf_eval_memory(bytes);
}

const opf_tensor *opf_eval_tensor(const opf_eval *eval, const opf_value *value) {
    return value->constant ? value->constant : eval->slots[value->id].tensor;
}

void opf_eval_set(opf_eval *eval, const opf_value *value, const opf_tensor *tensor) {
    opf_eval_release(eval, value);
    eval->slots[value->id] = (opf_eval_slot){tensor, (void *)(uintptr_t)tensor->data, value->uses.count};
    if (value->uses.count == 0 && !is_kept(eval, value) && value->producer) opf_eval_release(eval, value);
}

/* ---- nodes ---- */

enum { HEAP_BLOCK = 64 << 10 };
typedef struct heap_of_arena { opf_heap heap; opf_arena *arena; } heap_of_arena;

/* A block of the arena, which takes back nothing. */
static void *more(opf_heap *heap, size_t bytes) {
    heap_of_arena *own = (heap_of_arena *)heap;
    size_t size = bytes > HEAP_BLOCK ? bytes : HEAP_BLOCK;
    heap->at = opf_arena_alloc(own->arena, size);
    heap->end = heap->at + size;
    return heap->at;
}

static opf_heap *new_heap(opf_arena *arena) {
    heap_of_arena *heap = OPF_NEW(arena, heap_of_arena);
    *heap = (heap_of_arena){{.more = more}, arena};
    return &heap->heap;
}

/* What a node means, on the given tensors. */
static opf_status run_node(opf_node *node, opf_eval_stages *job, int64_t *symbols, opf_tensor **out) {
    opf_call *call;
    opf_status status = opf_op_stages(&call, node);
    if (status != OPF_OK) return status;
    job->node = node;
    job->exact = opf_module_is_exact(node->graph->module);
    job->n_results = node->n_outputs;
    job->symbols = symbols;
    if (call->library) return opf_eval_run_library(job, call->library, symbols, out);
    return opf_eval_run_stages(job, &call->stages, call->results, out);
}

/* What a graph captures is read as often as the graph runs, and so stays. */
static void use_inputs(opf_eval *eval, const opf_node *node) {
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && node->inputs[k]->graph == node->graph) used(eval, node->inputs[k]);
}

static opf_status evaluate_node(opf_eval *eval, opf_node *node) {
    if (node->control) {
        opf_status status = opf_eval_control(eval, node, node->control);
        if (status == OPF_OK) use_inputs(eval, node);
        return status;
    }
    const opf_tensor **inputs = OPF_ARRAY(eval->arena, const opf_tensor *, node->n_inputs + 1);
    opf_tensor **outputs = OPF_ARRAY(eval->arena, opf_tensor *, node->n_outputs + 1);
    for (int k = 0; k < node->n_inputs; k++) {
        if (!node->inputs[k]) continue;
        inputs[k] = opf_eval_tensor(eval, node->inputs[k]);
        if (inputs[k]) continue;
        opf_node_error(node, "internal", "'%s' was not computed", node->inputs[k]->name);
        return OPF_ERROR_INTERNAL;
    }
    opf_eval_stages job = {.arena = eval->arena, .allocate = allocate, .inputs = inputs, .heap = eval->heap};
    opf_status status = run_node(node, &job, eval->symbols, outputs);
    if (status != OPF_OK) return status;
    for (int k = 0; k < node->n_outputs; k++) {
        const opf_value *value = node->outputs[k];
        if (!value || !outputs[k]) continue;
        opf_eval_set(eval, value, outputs[k]);
    }
    use_inputs(eval, node);
    return OPF_OK;
}

opf_status opf_eval_nodes(opf_eval *eval, const opf_graph *graph) {
    opf_status fits = graph == eval->graph ? OPF_OK : check_guards(eval, graph);
    if (fits != OPF_OK) return fits;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        opf_status status = evaluate_node(eval, graph->nodes.data[i]);
        if (status != OPF_OK) return status;
    }
    return OPF_OK;
}

/* ---- public ---- */

opf_status opf_eval_new(opf_eval **out, opf_graph *graph, const opf_tensor *const *inputs, bool keep_all) {
    opf_arena *arena = opf_arena_new();
    opf_eval *eval = OPF_NEW(arena, opf_eval);
    *eval = (opf_eval){.arena = arena, .graph = graph, .module = graph->module, .keep_all = keep_all};
    *out = NULL;
    size_t n_inputs = graph->inputs.count;
    eval->inputs = n_inputs ? opf_arena_copy(arena, inputs, n_inputs * sizeof *inputs) : NULL;
    eval->heap = new_heap(arena);
    eval->runs = opf_map_new(arena);
    eval->slots = OPF_ARRAY(arena, opf_eval_slot, graph->module->n_values + 1);
    opf_status status = OPF_OK;
    for (size_t k = 0; k < n_inputs; k++) {
        opf_status fits = check_input(eval, graph->inputs.data[k], inputs[k]);
        if (fits != OPF_OK) status = fits;
        eval->slots[graph->inputs.data[k]->id].tensor = inputs[k];
    }
    if (status == OPF_OK) {
        solve_symbols(eval);
        status = check_dims(eval);
        opf_status guards = check_guards(eval, NULL);
        if (status == OPF_OK) status = guards;
    }
    if (status == OPF_OK) *out = eval;
    else opf_eval_free(eval);
    return status;
}

opf_status opf_eval_run(opf_eval *eval) {
    return opf_eval_nodes(eval, eval->graph);
}

const opf_tensor *opf_eval_value(const opf_eval *eval, const opf_value *value) { return opf_eval_tensor(eval, value); }

void opf_eval_free(opf_eval *eval) {
    if (!eval) return;
    for (int i = 0; eval->slots && i < eval->module->n_values; i++) free(eval->slots[i].owned);
    opf_eval_free_history(eval);
    opf_arena_free(eval->arena);
}

static void *allocate_in_arena(void *data, size_t bytes) {
    uintptr_t memory = (uintptr_t)opf_arena_alloc(data, bytes + 64);
    return (void *)((memory + 63) / 64 * 64);
}

opf_status opf_eval_node(opf_node *node, const opf_tensor *const *inputs, opf_tensor **out, opf_arena *arena) {
    const opf_pool *pool = node->graph->module->pool;
    int symbols = opf_pool_symbols(pool);
    int64_t *values = OPF_ARRAY(arena, int64_t, symbols + 1);
    for (int i = 0; i < symbols; i++) values[i] = opf_pool_symbol(pool, i)->nominal;
    opf_eval_stages job = {.arena = arena, .allocate = allocate_in_arena, .data = arena, .inputs = inputs, .heap = new_heap(arena)};
    return run_node(node, &job, values, out);
}

opf_status opf_eval_stage_list(const opf_node *node, const opf_stages *stages, const int *results, int n_results, const opf_tensor *const *inputs, const int64_t *symbols,
                           opf_tensor **out, opf_arena *arena) {
    opf_eval_stages job = {.node = node, .arena = arena, .allocate = allocate_in_arena, .data = arena, .inputs = inputs, .symbols = symbols, .n_results = n_results};
    return opf_eval_run_stages(&job, stages, results, out);
}
