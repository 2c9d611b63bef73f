/* GraphProto and function calls to a graph, in two steps: first every value and node is made, in the file's order, then
 * names are looked up. So a file need not be sorted, and a sub-graph sees values that later nodes make. A call of a
 * model-local function is replaced by the function's nodes where it stands. */
#include <stdlib.h>
#include <string.h>

#include "onnx/reader.h"
#include "schema.pb.h"

/* What the second step does, in this order. */
typedef struct task {
    enum { LINK_NODE, BIND_CALL, PASS_THROUGH } kind;
    opf_scope *scope;
    opf_place place;
    const opf_schema_Node *message;
    opf_node *node;            /* LINK_NODE, PASS_THROUGH */
    const opf_call_site *call; /* BIND_CALL: inputs of the body get the caller's values */
    const char *name;          /* PASS_THROUGH: what the node's only input is called */
} task;

typedef struct tasks {
    opf_arena *arena;
    OPF_VEC(task) list;
} tasks;

static void declare_nodes(opf_reader *reader, opf_scope *scope, const opf_spans *nodes, tasks *later, const opf_call_site *inside);

/* ---- names ---- */

static bool lookup(const opf_scope *scope, const char *name, opf_value **out) {
    for (; scope; scope = scope->outer) {
        if (!opf_map_has(&scope->names, name)) continue;
        *out = opf_map_get(&scope->names, name);
        return true;
    }
    return false;
}

static bool is_defined(const opf_value *value) { return value->producer || value->constant || value->input_index >= 0; }

/* A value of the scope under a name that the graph has free. */
static opf_value *new_value(opf_reader *reader, opf_scope *scope, const char *name) {
    const char *full = *scope->prefix ? opf_arena_printf(reader->scratch, "%s%s", scope->prefix, name) : name;
    opf_reader_spend(reader, sizeof(opf_value) + strlen(full));
    opf_value *value = opf_value_new(scope->graph, full);
    for (int k = 1; !value; k++) value = opf_value_new(scope->graph, opf_arena_printf(reader->scratch, "%s#%d", full, k));
    opf_map_set(&scope->names, name, value);
    return value;
}

/* The value that something in the scope defines now: made, or promised before as a result of a function. */
static opf_value *define(opf_reader *reader, opf_scope *scope, const char *name) {
    if (!opf_map_has(&scope->names, name)) return new_value(reader, scope, name);
    opf_value *value = opf_map_get(&scope->names, name);
    if (value && !is_defined(value)) return value;
    opf_reader_error(reader, OPF_ERROR_INPUT, "graph", "%s: the name '%s' is taken already; names must be unique", reader->what, name);
    return NULL;
}

static int opset_of(opf_reader *reader, const opf_scope *scope, const char *domain) {
    for (size_t i = 0; i < scope->n_opsets; i++)
        if (scope->opsets[i].domain == domain) return scope->opsets[i].version;
    const opf_module *module = reader->module;
    for (size_t i = 0; i < module->opsets.count; i++)
        if (module->opsets.data[i].domain == domain) return module->opsets.data[i].version;
    if (*domain == '\0') {
        opf_place place = reader->place;
        reader->place = (opf_place){.file = module->path, .index = -1}; /* one message for all nodes */
        opf_reader_error(reader, OPF_ERROR_INPUT, "read", "the model imports no version of the standard operators, but has nodes with them");
        reader->place = place;
    }
    return 1; /* of other domains there is only one version that anybody uses */
}

/* What stands for a value after an error, so that those who read it are not reported, too. */
static const opf_tensor unreadable = {.dtype = OPF_FLOAT32, .file = -1};

static void define_unreadable(opf_reader *reader, opf_scope *scope, const opf_spans *outputs) {
    for (size_t k = 0; k < outputs->count; k++) {
        const char *name = outputs->data[k].size ? opf_reader_name(reader, outputs->data[k], "name of an output") : NULL;
        opf_value *value = name ? define(reader, scope, name) : NULL;
        if (value) opf_value_set_constant(value, &unreadable);
    }
}

/* ---- first step: values and nodes ---- */

static const char *domain_name(opf_reader *reader, opf_span span) {
    if (span.size == 7 && memcmp(span.data, "ai.onnx", 7) == 0) span.size = 0;
    return opf_reader_name(reader, span, "domain of a node");
}

static opf_node *new_node(opf_reader *reader, opf_scope *scope, const char *name, const char *op, const char *domain, int n_inputs, int n_outputs) {
    if (!opf_reader_spend(reader, sizeof(opf_node) + (size_t)(n_inputs + n_outputs) * 4 * sizeof(void *) + strlen(name))) return NULL;
    opf_node *node = opf_node_new(scope->graph, name, op, domain, opset_of(reader, scope, domain), n_inputs, n_outputs);
    node->index = reader->place.index;
    opf_node_origins_add(node, node);
    return node;
}

static void declare_outputs(opf_reader *reader, opf_scope *scope, const opf_schema_Node *message, opf_node *node) {
    for (int k = 0; k < node->n_outputs; k++) {
        opf_span span = message->output.data[k];
        const char *name = span.size ? opf_reader_name(reader, span, "name of an output") : NULL;
        reader->what = opf_arena_printf(reader->scratch, "output %d", k);
        opf_value *value = name ? define(reader, scope, name) : NULL;
        if (value) opf_node_set_output(node, k, value);
    }
}

static void declare_node(opf_reader *reader, opf_scope *scope, const opf_schema_Node *message, const char *op, const char *domain, tasks *later) {
    if (message->input.count > INT32_MAX / 2 || message->output.count > INT32_MAX / 2) return;
    opf_node *node = new_node(reader, scope, reader->place.node, op, domain, (int)message->input.count, (int)message->output.count);
    if (!node) return;
    declare_outputs(reader, scope, message, node);
    task link = {.kind = LINK_NODE, .scope = scope, .place = reader->place, .message = message, .node = node};
    OPF_PUSH(later->arena, &later->list, link);
}

static void declare_constant(opf_reader *reader, opf_scope *scope, const opf_schema_Node *message) {
    opf_span span = message->output.count ? message->output.data[0] : (opf_span){NULL, 0};
    const char *name = span.size ? opf_reader_name(reader, span, "name of an output") : NULL;
    opf_value *value = name ? define(reader, scope, name) : NULL;
    if (!value) return;
    opf_tensor *tensor = opf_read_constant(reader, scope, message);
    opf_value_set_constant(value, tensor ? tensor : &unreadable);
}

/* ---- calls of functions ---- */

static const opf_function *find_function(opf_reader *reader, const char *domain, const char *op, opf_span overload) {
    if (reader->functions.count == 0) return NULL;
    opf_text key = {0};
    opf_text_printf(&key, "%s:%s:", domain, op);
    opf_text_add_n(&key, (const char *)overload.data, overload.size);
    const opf_function *function = opf_map_get(&reader->functions, opf_intern_n(reader->module->names, key.data, key.length));
    opf_text_free(&key);
    return function;
}

static bool may_call(opf_reader *reader, const opf_scope *scope, const opf_function *function, const opf_schema_Node *message) {
    for (const opf_call_site *call = scope->call; call; call = call->scope->call)
        if (call->function == function) return opf_reader_error(reader, OPF_ERROR_INPUT, "graph", "function '%s' calls itself, which ONNX does not allow", reader->place.op);
    if (scope->depth >= OPF_MAX_DEPTH) return opf_reader_error(reader, OPF_ERROR_INPUT, "graph", "sub-graphs and functions are nested more than %d deep", OPF_MAX_DEPTH);
    size_t takes = function->message->input.count, gives = function->message->output.count;
    if (message->input.count > takes || message->output.count > gives)
        return opf_reader_error(reader, OPF_ERROR_INPUT, "graph", "the call has %zu inputs and %zu outputs; the function takes %zu and gives %zu", message->input.count, message->output.count, takes, gives);
    return true;
}

/* A result that is an input of the function, or the same as another result: a node that copies it. */
static void pass_through(opf_reader *reader, opf_scope *caller, opf_scope *body, const char *name, opf_value *output, tasks *later) {
    const char *node_name = opf_node_name_free(caller->graph, opf_arena_printf(reader->scratch, "%s%s", body->prefix, name), "Identity", reader->place.index);
    opf_node *node = new_node(reader, body, node_name, "Identity", opf_intern(reader->module->names, ""), 1, 1);
    if (!node) return;
    opf_node_set_output(node, 0, output);
    task copy = {.kind = PASS_THROUGH, .scope = body, .place = reader->place, .node = node, .name = name};
    OPF_PUSH(later->arena, &later->list, copy);
}

static void promise_results(opf_reader *reader, opf_scope *caller, opf_scope *body, const opf_call_site *call, tasks *later) {
    for (size_t k = 0; k < call->function->message->output.count; k++) {
        const char *formal = opf_reader_name(reader, call->function->message->output.data[k], "name of an output");
        opf_span span = k < call->node->output.count ? call->node->output.data[k] : (opf_span){NULL, 0};
        reader->what = opf_arena_printf(reader->scratch, "output %zu", k);
        const char *actual = formal && span.size ? opf_reader_name(reader, span, "name of an output") : NULL;
        opf_value *value = actual ? define(reader, caller, actual) : NULL;
        if (!value) continue;
        if (opf_map_has(&body->names, formal)) pass_through(reader, caller, body, formal, value, later);
        else opf_map_set(&body->names, formal, value);
    }
}

static void check_results(opf_reader *reader, opf_scope *body, const opf_call_site *call) {
    if (reader->allowance < 0) return;
    for (size_t k = 0; k < call->function->message->output.count && k < call->node->output.count; k++) {
        opf_span span = call->function->message->output.data[k];
        const char *formal = opf_span_is_text(span) ? opf_intern_n(reader->module->names, (const char *)span.data, span.size) : NULL;
        const opf_value *value = formal ? opf_map_get(&body->names, formal) : NULL;
        if (value && value->graph == body->graph && !is_defined(value)) opf_reader_error(reader, OPF_ERROR_INPUT, "graph", "the function never computes its output '%s'", formal);
    }
}

static void declare_value_info(opf_reader *reader, opf_scope *scope, const opf_spans *messages);

static void declare_call(opf_reader *reader, opf_scope *scope, const opf_function *function, const opf_schema_Node *message, tasks *later) {
    if (!may_call(reader, scope, function, message)) {
        define_unreadable(reader, scope, &message->output);
        return;
    }
    opf_scope *body = OPF_NEW(reader->scratch, opf_scope);
    opf_call_site *call = OPF_NEW(reader->scratch, opf_call_site);
    *call = (opf_call_site){function, message, scope, body};
    *body = (opf_scope){.graph = scope->graph, .names = opf_map_new(reader->scratch), .call = call, .opsets = function->opsets, .n_opsets = function->n_opsets, .depth = scope->depth + 1};
    body->prefix = opf_arena_printf(reader->scratch, "%s/", reader->place.node);
    opf_map_set(&scope->graph->nodes_by_name, reader->place.node, NULL); /* no node, but the name is taken */
    for (size_t k = 0; k < function->message->input.count; k++) {
        const char *formal = opf_reader_name(reader, function->message->input.data[k], "name of an input");
        if (formal) opf_map_set(&body->names, formal, NULL);
    }
    task bind = {.kind = BIND_CALL, .scope = scope, .place = reader->place, .message = message, .call = call};
    OPF_PUSH(later->arena, &later->list, bind);
    promise_results(reader, scope, body, call, later);
    opf_place place = reader->place;
    declare_nodes(reader, body, &function->message->node, later, call);
    reader->place = place;
    declare_value_info(reader, body, &function->message->value_info);
    check_results(reader, body, call);
}

/* Name of a node in messages and in the graph. */
static const char *node_name(opf_reader *reader, const opf_scope *scope, const opf_schema_Node *message, const char *op, int index) {
    const char *own = opf_reader_name(reader, opf_spans_last(&message->name), "name of a node");
    if (!own) own = "";
    if (*scope->prefix) own = *own ? opf_arena_printf(reader->scratch, "%s%s", scope->prefix, own) : opf_arena_printf(reader->scratch, "%s%s_%d", scope->prefix, op, index);
    return opf_node_name_free(scope->graph, own, op, index);
}

static void declare_one(opf_reader *reader, opf_scope *scope, const opf_schema_Node *message, int index, int place_index, tasks *later) {
    opf_span op_span = opf_spans_last(&message->op_type);
    reader->place = (opf_place){.file = reader->module->path, .index = place_index};
    reader->what = "output 0";
    const char *op = opf_reader_name(reader, op_span, "operator of a node"), *domain = domain_name(reader, opf_spans_last(&message->domain));
    if (!op || !domain) return;
    if (!*op) {
        reader->place.node = opf_reader_name(reader, opf_spans_last(&message->name), "name of a node");
        opf_reader_error(reader, OPF_ERROR_INPUT, "read", "the node has no operator");
        define_unreadable(reader, scope, &message->output);
        return;
    }
    reader->place.node = node_name(reader, scope, message, op, index);
    reader->place.op = *domain ? opf_arena_printf(reader->scratch, "%s::%s", domain, op) : op;
    const opf_function *function = find_function(reader, domain, op, opf_spans_last(&message->overload));
    if (function) declare_call(reader, scope, function, message, later);
    else if (*domain == '\0' && strcmp(op, "Constant") == 0) declare_constant(reader, scope, message);
    else declare_node(reader, scope, message, op, domain, later);
}

static const opf_schema_Node *decode_node(opf_reader *reader, const opf_spans *nodes, size_t i, const opf_call_site *inside) {
    const opf_schema_Node **known = inside ? &inside->function->nodes[i] : NULL; /* bodies are decoded once for all calls */
    if (known && *known) return *known;
    const opf_schema_Node *message = OPF_DECODE(reader, Node, nodes->data[i], "node");
    if (known) *known = message;
    return message;
}

/* `inside`: the call whose body this is. Its nodes stand in the file where the call stands. */
static void declare_nodes(opf_reader *reader, opf_scope *scope, const opf_spans *nodes, tasks *later, const opf_call_site *inside) {
    enum { INLINED_NODE = 1024 }; /* bytes that one takes all in all, about */
    int call_index = reader->place.index;
    for (size_t i = 0; i < nodes->count; i++) {
        if (inside) opf_reader_spend(reader, INLINED_NODE + 4 * strlen(scope->prefix));
        if (reader->allowance < 0) return;
        reader->place = (opf_place){.file = reader->module->path, .index = inside ? call_index : (int)i};
        const opf_schema_Node *message = decode_node(reader, nodes, i, inside);
        if (message) declare_one(reader, scope, message, (int)i, reader->place.index, later);
    }
}

/* ---- second step: names to values, attributes ---- */

/* The value that a node reads; reports where there is none. */
static opf_value *resolve(opf_reader *reader, const opf_scope *scope, opf_span span, int input) {
    if (span.size == 0) return NULL;
    const char *name = opf_reader_name(reader, span, "name of an input");
    opf_value *value = NULL;
    if (name && !lookup(scope, name, &value))
        opf_reader_error(reader, OPF_ERROR_INPUT, "graph", "input %d ('%s') is produced by no node and is neither an input nor an initializer", input, name);
    return value;
}

static void bind_call(opf_reader *reader, const task *t) {
    const opf_schema_Function *function = t->call->function->message;
    for (size_t k = 0; k < function->input.count && k < t->message->input.count; k++) {
        opf_value *value = resolve(reader, t->scope, t->message->input.data[k], (int)k);
        opf_span formal = function->input.data[k];
        if (opf_span_is_text(formal)) opf_map_set(&t->call->body->names, opf_intern_n(reader->module->names, (const char *)formal.data, formal.size), value);
    }
}

static void run_task(opf_reader *reader, const task *t) {
    reader->place = t->place;
    reader->what = "the node";
    opf_value *value = NULL;
    switch (t->kind) {
    case LINK_NODE:
        for (int k = 0; k < t->node->n_inputs; k++) opf_node_set_input(t->node, k, resolve(reader, t->scope, t->message->input.data[k], k));
        t->node->attrs = opf_read_attributes(reader, t->scope, t->node, &t->message->attribute, &t->node->n_attrs);
        break;
    case BIND_CALL: bind_call(reader, t); break;
    case PASS_THROUGH:
        lookup(t->scope, t->name, &value);
        opf_node_set_input(t->node, 0, value);
        break;
    }
}

/* ---- inputs, initializers, outputs ---- */

static void declare_value_info(opf_reader *reader, opf_scope *scope, const opf_spans *messages) {
    for (size_t i = 0; i < messages->count; i++) {
        const opf_schema_ValueInfo *message = OPF_DECODE(reader, ValueInfo, messages->data[i], "declaration of a value");
        const char *name = message ? opf_reader_name(reader, opf_spans_last(&message->name), "name of a value") : NULL;
        opf_value *value = name ? opf_map_get(&scope->names, name) : NULL;
        if (!value || value->declared || message->type.count == 0) continue;
        reader->what = opf_arena_printf(reader->scratch, "the declared type of '%s'", name);
        const opf_type *type = opf_read_type(reader, opf_spans_last(&message->type));
        if (type) opf_declare_type(value, type);
    }
}

static bool same_tensor(const opf_tensor *a, const opf_tensor *b) {
    if (a->dtype != b->dtype || a->rank != b->rank || a->bytes != b->bytes || a->dtype == OPF_STRING) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0;
}

static void add_initializer(opf_reader *reader, opf_scope *scope, const char *name, const opf_tensor *tensor) {
    const opf_value *known = opf_map_get(&scope->names, name);
    if (known && known->constant && same_tensor(known->constant, tensor)) return; /* exporters repeat shared ones */
    opf_value *value = define(reader, scope, name);
    if (value) opf_value_set_constant(value, tensor);
}

static void read_initializers(opf_reader *reader, opf_scope *scope, const opf_schema_Graph *message) {
    for (size_t i = 0; i < message->initializer.count; i++) {
        const opf_schema_Tensor *tensor = OPF_DECODE(reader, Tensor, message->initializer.data[i], "initializer");
        const char *name = tensor ? opf_reader_name(reader, opf_spans_last(&tensor->name), "name of an initializer") : NULL;
        if (!name) continue;
        reader->what = opf_arena_printf(reader->scratch, "initializer '%s'", name);
        if (!*name) {
            opf_reader_error(reader, OPF_ERROR_INPUT, "read", "an initializer has no name");
            continue;
        }
        /* A sub-graph's inputs are always given; an initializer of the same name is a default that never serves. */
        const opf_value *taken = opf_map_get(&scope->names, name);
        if (taken && taken->input_index >= 0 && scope->outer) continue;
        const opf_tensor *read = opf_read_tensor(reader, tensor);
        add_initializer(reader, scope, name, read ? read : &unreadable);
    }
    for (size_t i = 0; i < message->sparse_initializer.count; i++) {
        const opf_schema_SparseTensor *sparse = OPF_DECODE(reader, SparseTensor, message->sparse_initializer.data[i], "sparse initializer");
        const char *name = NULL;
        const opf_tensor *tensor = sparse ? opf_read_sparse(reader, sparse, &name) : NULL;
        if (tensor) add_initializer(reader, scope, name, tensor);
    }
}

/* Names of the initializers: what is one is no input, whatever the IR version. */
static opf_map initializer_names(opf_reader *reader, const opf_schema_Graph *message) {
    opf_map names = opf_map_new(reader->scratch);
    const char *ignored = "";
    for (size_t i = 0; i < message->initializer.count + message->sparse_initializer.count; i++) {
        bool sparse = i >= message->initializer.count;
        opf_span bytes = sparse ? message->sparse_initializer.data[i - message->initializer.count] : message->initializer.data[i];
        if (sparse) {
            const opf_schema_SparseTensor *holder = opf_wire_decode(reader->scratch, &opf_schema_SparseTensor_msg, sizeof *holder, bytes, &ignored);
            bytes = holder ? opf_spans_last(&holder->values) : (opf_span){NULL, 0};
        }
        const opf_schema_Tensor *tensor = opf_wire_decode(reader->scratch, &opf_schema_Tensor_msg, sizeof *tensor, bytes, &ignored);
        opf_span name = tensor ? opf_spans_last(&tensor->name) : (opf_span){NULL, 0};
        if (opf_span_is_text(name)) opf_map_set(&names, opf_intern_n(reader->module->names, (const char *)name.data, name.size), (void *)tensor);
    }
    return names;
}

static void check_input_type(opf_reader *reader, const opf_scope *scope, const opf_value *value) {
    if (scope->outer || !value || (value->declared && (value->declared_dtype || value->kind != OPF_VALUE_TENSOR))) return;
    opf_reader_error(reader, OPF_ERROR_INPUT, "type", "input '%s' has no element type", value->name);
}

static void read_inputs(opf_reader *reader, opf_scope *scope, const opf_schema_Graph *message) {
    opf_map initializers = scope->outer ? opf_map_new(reader->scratch) : initializer_names(reader, message);
    for (size_t i = 0; i < message->input.count; i++) {
        const opf_schema_ValueInfo *info = OPF_DECODE(reader, ValueInfo, message->input.data[i], "input");
        const char *name = info ? opf_reader_name(reader, opf_spans_last(&info->name), "name of an input") : NULL;
        if (!name || opf_map_has(&initializers, name)) continue;
        reader->what = opf_arena_printf(reader->scratch, "input %zu", i);
        opf_value *value = define(reader, scope, name);
        if (!value) continue;
        opf_graph_add_input(scope->graph, value);
        reader->what = opf_arena_printf(reader->scratch, "input '%s'", name);
        const opf_type *type = info->type.count ? opf_read_type(reader, opf_spans_last(&info->type)) : NULL;
        if (type) opf_declare_type(value, type);
        if (type || info->type.count == 0) check_input_type(reader, scope, value);
    }
}

/* A sub-graph that gives back an outer value gets a node that copies it: results of a graph are its own. */
static opf_value *own_value(opf_reader *reader, opf_scope *scope, opf_value *outer, const char *name) {
    opf_node *node = new_node(reader, scope, opf_node_name_free(scope->graph, NULL, "Identity", (int)scope->graph->nodes.count), "Identity", opf_intern(reader->module->names, ""), 1, 1);
    if (!node) return NULL;
    node->index = -1;
    opf_node_set_input(node, 0, outer);
    opf_value *copy = new_value(reader, scope, name);
    opf_node_set_output(node, 0, copy);
    return copy;
}

static void read_outputs(opf_reader *reader, opf_scope *scope, const opf_schema_Graph *message) {
    for (size_t i = 0; i < message->output.count; i++) {
        const opf_schema_ValueInfo *info = OPF_DECODE(reader, ValueInfo, message->output.data[i], "output");
        const char *name = info ? opf_reader_name(reader, opf_spans_last(&info->name), "name of an output") : NULL;
        if (!name) continue;
        opf_value *value = NULL;
        if (!lookup(scope, name, &value) || !value) {
            opf_reader_error(reader, OPF_ERROR_INPUT, "graph", "output '%s' is produced by no node and is neither an input nor an initializer", name);
            continue;
        }
        if (!opf_map_has(&scope->names, name)) value = own_value(reader, scope, value, name);
        if (value) opf_graph_add_output(scope->graph, value, name);
    }
    declare_value_info(reader, scope, &message->output);
}

static opf_scope *open_scope(opf_reader *reader, opf_graph *graph, opf_scope *outer, const opf_opset *opsets, size_t n_opsets) {
    opf_scope *scope = OPF_NEW(reader->scratch, opf_scope);
    *scope = (opf_scope){.outer = outer, .graph = graph, .names = opf_map_new(reader->scratch), .prefix = "", .opsets = opsets, .n_opsets = n_opsets};
    if (outer) {
        scope->call = outer->call;
        scope->depth = outer->depth + 1;
    }
    return scope;
}

static opf_graph *make_graph(opf_reader *reader, const opf_schema_Graph *message, opf_node *parent, const char *attribute) {
    opf_span name = opf_spans_last(&message->name);
    const char *text = opf_span_is_text(name) ? opf_arena_string_n(reader->scratch, (const char *)name.data, name.size) : "";
    opf_graph *graph = opf_graph_new(reader->module, text, parent);
    if (parent) graph->path = opf_arena_printf(reader->arena, "%s.%s", graph->path, attribute);
    return graph;
}

opf_graph *opf_read_graph(opf_reader *reader, opf_span bytes, opf_node *parent, const char *attribute, opf_scope *outer, const opf_opset *opsets, size_t n_opsets) {
    if (outer && outer->depth >= OPF_MAX_DEPTH) {
        opf_reader_error(reader, OPF_ERROR_INPUT, "graph", "sub-graphs and functions are nested more than %d deep", OPF_MAX_DEPTH);
        return NULL;
    }
    const opf_schema_Graph *message = OPF_DECODE(reader, Graph, bytes, "graph");
    if (!message) return NULL;
    opf_graph *graph = make_graph(reader, message, parent, attribute);
    opf_scope *scope = open_scope(reader, graph, outer, opsets, n_opsets);
    opf_place place = reader->place;
    tasks later = {.arena = reader->scratch};
    read_inputs(reader, scope, message);
    read_initializers(reader, scope, message);
    declare_nodes(reader, scope, &message->node, &later, NULL);
    reader->place = place;
    if (reader->allowance < 0) return NULL;
    read_outputs(reader, scope, message);
    declare_value_info(reader, scope, &message->value_info);
    for (size_t i = 0; i < later.list.count && reader->allowance >= 0; i++) run_task(reader, &later.list.data[i]);
    reader->place = place;
    return graph;
}
