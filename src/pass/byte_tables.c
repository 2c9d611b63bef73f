/* What element-wise nodes make of one value of 8 bits, and of constants of one element, is decided by that byte: a table of 256 numbers,
 * found by the evaluator, takes the place of them. Models written in QuantizeLinear and DequantizeLinear have such a chain behind each
 * convolution, of up to 22 nodes where an activation is written out. Each entry is what the evaluator makes of that byte node by node,
 * so that results keep their bits. Known by stages, not by names.
 *
 * The byte is cast to int32 and picks from a table of float32 or int32 numbers: processors gather elements of 32 bits. */
#include "base/map.h"
#include "eval/eval.h"
#include "pass/edit.h"

enum {
    BYTES = 256,
    LEAST_VERSION = 9, /* of Cast and Gather, from which on they mean what they do today */
    LEAST_WORK = 20, /* flops (opf_scalar_ops) that a look-up must save: docs/decisions/0153-tables-of-bytes.md has the figures */
};

/* A value that a byte decides. Values of 8 bits that nothing else decides are their own byte. */
typedef struct opf_decided {
    opf_value *byte;
    opf_node *node;          /* that computes it from decided operands; NULL: it is `byte` itself */
    double work;             /* of the node alone, for an element */
    const opf_tensor *table; /* what it is for each byte, where it is to be looked up */
    const opf_value *base;   /* by which byte: `byte`, or another one that is looked up itself */
} opf_decided;

typedef struct opf_tables {
    opf_graph *graph, *aside;    /* where nodes are computed beforehand */
    opf_arena *arena;
    opf_map decided;             /* value → opf_decided */
    OPF_VEC(opf_decided *) ends; /* that become tables, in graph order */
} opf_tables;

/* ---- what a byte decides ---- */

static bool is_byte(const opf_value *value) { return value->kind == OPF_VALUE_TENSOR && (value->dtype == OPF_UINT8 || value->dtype == OPF_INT8) && value->rank > 0 && !opf_known_tensor(value); }

static opf_decided *decided_by(opf_tables *t, opf_value *value) {
    if (!value || value->graph != t->graph)
        return NULL;
    opf_decided *known = opf_map_get(&t->decided, value);
    if (known || !is_byte(value))
        return known;
    known = OPF_NEW(t->arena, opf_decided);
    known->byte = value;
    opf_map_set(&t->decided, value, known);
    return known;
}

typedef struct opf_reading {
    const opf_call *call;
    const opf_stage *stage;
    opf_map seen;
    bool here; /* all operands are read at the very point, or are constants of one element */
} opf_reading;

static bool is_single(const opf_value *value) {
    const opf_tensor *tensor = opf_known_tensor(value);
    return tensor && tensor->elements == 1 && tensor->dtype != OPF_STRING;
}

static bool loads_here(const opf_reading *reading, const opf_expr *load) {
    size_t n_inputs = reading->call->stages.inputs.count;
    const opf_value *operand = (size_t)load->index < n_inputs ? reading->call->stages.inputs.data[load->index] : NULL;
    if (operand && is_single(operand))
        return true;
    for (int k = 0; k < load->n_args && k < reading->stage->n_axes; k++)
        if (load->args[k] != opf_var(reading->call->pool, k) && !opf_is_value(reading->stage->extents[k], 1))
            return false;
    return load->n_args == reading->stage->n_axes;
}

/* Indices are none of its terms. */
static void read_term(opf_reading *reading, const opf_expr *e) {
    if (opf_map_has(&reading->seen, e))
        return;
    opf_map_set(&reading->seen, e, (void *)(uintptr_t)e);
    if (e->kind == OPF_EXPR_VAR || e->kind == OPF_EXPR_SYMBOL || (e->kind == OPF_EXPR_LOAD && !loads_here(reading, e)))
        reading->here = false;
    for (int k = 0; k < e->n_args && reading->here && e->kind != OPF_EXPR_LOAD; k++)
        read_term(reading, e->args[k]);
}

/* Is the node element-wise, with other operands of one element alone? Then what an element costs. */
static bool is_element_wise(opf_node *node, double *work) {
    opf_call *call;
    if (opf_op_stages(&call, node) != OPF_OK || call->library || call->control || call->results[0] < 0)
        return false;
    opf_reading reading = {.call = call, .here = true};
    *work = 0;
    for (size_t s = 0; s < call->stages.list.count && reading.here; s++) {
        reading.stage = call->stages.list.data[s];
        reading.seen = opf_map_new(call->arena);
        if (reading.stage->combiner != OPF_COMBINE_NONE)
            return false;
        read_term(&reading, reading.stage->body);
        *work += opf_stage_flops(reading.stage) / (double)opf_dim_nominal(opf_stage_elements(reading.stage, call->pool));
    }
    return reading.here;
}

static bool is_plain(const opf_node *node) {
    const opf_op *op = opf_node_op(node);
    return op && !node->held && !(op->flags & (OPF_OP_STATEFUL | OPF_OP_LIBRARY | OPF_OP_CONTROL | OPF_OP_LISTS)) && node->n_outputs == 1 && node->outputs[0] &&
           opf_value_is_typed(node->outputs[0]) && node->outputs[0]->kind == OPF_VALUE_TENSOR && !opf_node_is_folded(node);
}

/* The one byte that decides all operands but constants of one element; NULL where there is none. */
static opf_value *common_byte(opf_tables *t, const opf_node *node) {
    opf_value *byte = NULL;
    for (int k = 0; k < node->n_inputs; k++) {
        if (!node->inputs[k] || is_single(node->inputs[k]))
            continue;
        const opf_decided *operand = decided_by(t, node->inputs[k]);
        if (!operand || !opf_value_same_shape(operand->byte, node->outputs[0]) || (byte && byte != operand->byte))
            return NULL;
        byte = operand->byte;
    }
    return byte;
}

static void decide(opf_tables *t, opf_node *node) {
    double work;
    opf_value *byte = is_plain(node) ? common_byte(t, node) : NULL;
    if (!byte || !is_element_wise(node, &work))
        return;
    opf_decided *result = OPF_NEW(t->arena, opf_decided);
    *result = (opf_decided){.byte = byte, .node = node, .work = work};
    opf_map_set(&t->decided, node->outputs[0], result);
}

/* ---- where the chain ends ---- */

static bool has_other_users(opf_tables *t, const opf_value *value, const opf_value *byte) {
    if (value->is_output)
        return true;
    for (size_t u = 0; u < value->uses.count; u++) {
        const opf_node *user = value->uses.data[u].node;
        const opf_decided *result = user->graph == t->graph && user->n_outputs > 0 && user->outputs[0] ? opf_map_get(&t->decided, user->outputs[0]) : NULL;
        if (!result || result->byte != byte)
            return true;
    }
    return false;
}

/* The nodes between an end and what is there without them: its byte, and what is looked up itself. */
typedef struct opf_stretch {
    OPF_VEC(opf_decided *) inside; /* users before operands */
    opf_map seen;
    const opf_decided *from; /* all that it reads, where that is one value */
    bool several;
    double work;
} opf_stretch;

static opf_stretch stretch_of(opf_tables *t, opf_decided *end) {
    opf_stretch stretch = {.seen = opf_map_new(t->arena)};
    OPF_PUSH(t->arena, &stretch.inside, end);
    for (size_t i = 0; i < stretch.inside.count; i++) {
        const opf_node *node = stretch.inside.data[i]->node;
        stretch.work += stretch.inside.data[i]->work;
        for (int k = 0; k < node->n_inputs; k++) {
            opf_decided *operand = node->inputs[k] ? opf_map_get(&t->decided, node->inputs[k]) : NULL;
            if (!operand || is_single(node->inputs[k]) || opf_map_has(&stretch.seen, operand))
                continue;
            opf_map_set(&stretch.seen, operand, operand);
            if (operand->node && !operand->table) {
                OPF_PUSH(t->arena, &stretch.inside, operand);
                continue;
            }
            stretch.several = stretch.several || stretch.from;
            stretch.from = operand;
        }
    }
    return stretch;
}

/* ---- its numbers ---- */

/* The byte's values, as the last axis of a value of its rank: in the order of the bytes without sign, which is how negative indices pick. */
static const opf_tensor *all_bytes(opf_tables *t, const opf_value *byte) {
    int64_t dims[OPF_MAX_RANK];
    for (int k = 0; k < byte->rank; k++)
        dims[k] = k + 1 < byte->rank ? 1 : BYTES;
    opf_tensor *tensor = opf_tensor_zeros(t->arena, byte->dtype, byte->rank, dims, NULL);
    for (int k = 0; k < BYTES; k++)
        ((uint8_t *)(uintptr_t)tensor->data)[k] = (uint8_t)k;
    return tensor;
}

/* What the node makes of `operands`, values that are constants; NULL where that fails. */
static const opf_tensor *computed(opf_tables *t, const opf_node *node, opf_value *const *operands) {
    opf_node *copy = opf_node_new(t->aside, node->name, node->op, node->domain, node->opset, node->n_inputs, 1);
    const opf_tensor **inputs = OPF_ARRAY(t->arena, const opf_tensor *, node->n_inputs + 1);
    opf_tensor *result = NULL;
    copy->attrs = node->attrs;
    copy->n_attrs = node->n_attrs;
    copy->n_tables = node->n_tables;
    for (int k = 0; k < node->n_inputs; k++) {
        opf_node_set_input(copy, k, operands[k]);
        inputs[k] = operands[k] ? opf_known_tensor(operands[k]) : NULL;
    }
    opf_node_set_output(copy, 0, opf_value_new(t->aside, NULL));
    if (opf_node_type(copy) != OPF_OK || opf_eval_node(copy, inputs, &result, t->arena) != OPF_OK)
        result = NULL;
    opf_node_remove(copy);
    return result && result->elements == BYTES && result->dtype == node->outputs[0]->dtype ? result : NULL;
}

/* All that is between the base and the end, node by node, for all 256 numbers. */
static const opf_tensor *evaluate(opf_tables *t, opf_map *numbers, const opf_decided *end, const opf_value *base) {
    const opf_node *node = end->node;
    opf_value **operands = OPF_ARRAY(t->arena, opf_value *, node->n_inputs + 1);
    for (int k = 0; k < node->n_inputs; k++) {
        opf_value *input = node->inputs[k];
        const opf_decided *operand = input && !is_single(input) ? opf_map_get(&t->decided, input) : NULL;
        operands[k] = operand ? opf_map_get(numbers, input) : input;
        if (operands[k] || !operand)
            continue;
        const opf_tensor *tensor = input == base ? all_bytes(t, base) : evaluate(t, numbers, operand, base);
        if (!tensor)
            return NULL;
        operands[k] = opf_value_constant(t->aside, NULL, tensor);
        opf_map_set(numbers, input, operands[k]);
    }
    return computed(t, node, operands);
}

/* ---- the change ---- */

/* Types that a table gives: of 32 bits, or cast from them. */
static bool can_be_picked(opf_dtype dtype) { return dtype == OPF_FLOAT32 || dtype == OPF_INT32 || dtype == OPF_UINT8 || dtype == OPF_INT8; }

static void choose(opf_tables *t, opf_node *node) {
    opf_decided *end = node->n_outputs > 0 && node->outputs[0] ? opf_map_get(&t->decided, node->outputs[0]) : NULL;
    if (!end || !end->node || !can_be_picked(node->outputs[0]->dtype) || !has_other_users(t, node->outputs[0], end->byte))
        return;
    opf_stretch stretch = stretch_of(t, end);
    if (stretch.work < LEAST_WORK)
        return;
    /* what is looked up first decides the rest only where it is a byte, and all of it */
    bool from_byte = !stretch.several && stretch.from && (!stretch.from->node || is_byte(stretch.from->node->outputs[0]));
    end->base = from_byte && stretch.from->node ? stretch.from->node->outputs[0] : end->byte;
    opf_map numbers = opf_map_new(t->arena);
    end->table = evaluate(t, &numbers, end, end->base);
    if (end->table)
        OPF_PUSH(t->arena, &t->ends, end);
}

/* A new node in the place of `like`, with one result. */
static opf_node *new_node(const opf_node *like, const char *role, const char *op, int n_inputs) {
    opf_node *made = opf_node_new(like->graph, opf_arena_printf(like->graph->module->arena, "%s/%s", like->name, role), op, "", opf_pass_version(like->graph, LEAST_VERSION), n_inputs, 1);
    made->index = like->index;
    return made;
}

static opf_node *new_cast(const opf_node *like, const char *role, opf_value *from, opf_dtype to) {
    const int64_t type = to;
    opf_node *cast = new_node(like, role, "Cast", 1);
    opf_node_attr_add(cast, opf_intern(like->graph->module->names, "to"), OPF_ATTR_INT, 1, &type);
    opf_node_set_input(cast, 0, from);
    return cast;
}

static opf_status give_result(opf_node *node) {
    opf_node_set_output(node, 0, opf_value_new(node->graph, NULL));
    return opf_node_type(node);
}

static opf_value *table_of(const opf_tables *t, const opf_decided *end, opf_dtype dtype) {
    const int64_t dims[] = {BYTES};
    opf_tensor *table = opf_tensor_zeros(t->arena, dtype, 1, dims, NULL);
    for (int k = 0; k < BYTES; k++) {
        if (dtype == OPF_FLOAT32)
            ((float *)(uintptr_t)table->data)[k] = ((const float *)end->table->data)[k];
        else
            opf_dtype_store_int(dtype, (void *)(uintptr_t)table->data, (size_t)k, opf_tensor_get_int(end->table, k));
    }
    return opf_value_constant(t->graph, NULL, table);
}

/* Takes out the node, and what it alone read. */
static void remove_unread(opf_tables *t, opf_node *node, opf_node *into, const char *why) {
    OPF_VEC(opf_node *) unread = {0};
    OPF_VEC(const opf_node *) gone = {0};
    OPF_PUSH(t->arena, &unread, node);
    while (unread.count) {
        opf_node *last = unread.data[--unread.count];
        if (!last->graph)
            continue;
        int n = last->n_inputs;
        opf_value **read = opf_arena_copy(t->arena, last->inputs, (size_t)n * sizeof *read);
        opf_pass_remove(last, why, into);
        OPF_PUSH(t->arena, &gone, last);
        for (int k = 0; k < n; k++) {
            const opf_decided *operand = read[k] && !is_single(read[k]) ? opf_map_get(&t->decided, read[k]) : NULL;
            if (operand && operand->node && read[k]->uses.count == 0 && !read[k]->is_output)
                OPF_PUSH(t->arena, &unread, operand->node);
        }
    }
    for (size_t i = gone.count; i-- > 0;)
        opf_node_origins_add(into, gone.data[i]);
}

static opf_status look_up(opf_tables *t, const opf_decided *end) {
    opf_node *node = end->node;
    opf_value *result = node->outputs[0];
    bool narrow = result->dtype == OPF_UINT8 || result->dtype == OPF_INT8;
    opf_node *index = new_cast(node, "byte", (opf_value *)(uintptr_t)end->base, OPF_INT32), *pick = new_node(node, "table", "Gather", 2), *last = pick;
    opf_status status = give_result(index);
    opf_node_set_input(pick, 0, table_of(t, end, narrow ? OPF_INT32 : result->dtype));
    opf_node_set_input(pick, 1, index->outputs[0]);
    if (status == OPF_OK && narrow) {
        status = give_result(pick);
        last = new_cast(node, "narrow", pick->outputs[0], result->dtype);
    }
    opf_node_set_output(node, 0, NULL);
    opf_node_set_output(last, 0, result);
    if (status == OPF_OK)
        status = opf_node_type(last);
    const char *why = opf_arena_printf(t->arena, "'%s', a byte, decides what it gives: looked up in a table of 256 numbers computed beforehand", end->base->name);
    remove_unread(t, node, pick, why);
    return status;
}

opf_status opf_pass_byte_tables(opf_graph *graph) {
    opf_module *module = graph->module;
    opf_tables tables = {.graph = graph, .arena = module->arena, .decided = opf_map_new(module->arena), .aside = opf_graph_new(module, "tables", NULL)};
    for (size_t i = 0; i < graph->nodes.count; i++)
        decide(&tables, graph->nodes.data[i]);
    for (size_t i = 0; i < graph->nodes.count; i++)
        choose(&tables, graph->nodes.data[i]);
    opf_status status = OPF_OK;
    for (size_t i = 0; i < tables.ends.count && status == OPF_OK; i++)
        status = look_up(&tables, tables.ends.data[i]);
    return status == OPF_OK && tables.ends.count ? opf_graph_sort(graph) : status;
}
