/* Values → buffers. A value lives in the caller's bytes where it can: an input, a weight, an output that its kernel
 * writes in place. A view has the bytes of what it views. The rest is workspace. */
#include "base/checked.h"
#include "ops/counts.h"
#include "plan/planner.h"

const opf_value *opf_planner_root(const opf_planner *planner, const opf_value *value) {
    const opf_value *source;
    while ((source = opf_map_get(&planner->sources, value))) value = source;
    return value;
}

opf_dim opf_planner_bytes(opf_planner *planner, const opf_value *value) {
    if (value->list) return opf_int(planner->pool, OPF_LIST_BYTES);
    opf_dim bits = opf_mul(planner->pool, opf_value_elements(value), opf_int(planner->pool, opf_dtype_bits(value->dtype)));
    return opf_ceildiv(planner->pool, bits, opf_int(planner->pool, 8));
}

static opf_dim value_bytes(opf_planner *planner, const opf_value *value) { return opf_dim_most(planner->program->module, opf_planner_bytes(planner, value)); }

int opf_planner_add_buffer(opf_planner *planner, opf_buffer buffer) {
    buffer.first_step = buffer.last_step = -1;
    bool own = buffer.kind == OPF_BUFFER_WORKSPACE || buffer.kind == OPF_BUFFER_OUTPUT;
    buffer.found = own && opf_dim_is_unbounded(planner->program->module, buffer.bytes);
    OPF_PUSH(planner->arena, &planner->program->buffers, buffer);
    return (int)planner->program->buffers.count - 1;
}

static int remember(opf_planner *planner, const opf_value *value, opf_buffer_kind kind, int index) {
    int buffer = opf_planner_add_buffer(planner, (opf_buffer){.kind = kind, .index = index, .value = value, .bytes = value_bytes(planner, value)});
    opf_map_set(&planner->buffers, value, (void *)((size_t)buffer + 1));
    return buffer;
}

void opf_planner_know(opf_planner *planner, const opf_value *value, int buffer) { opf_map_set(&planner->buffers, value, (void *)((size_t)buffer + 1)); }

void opf_planner_copy(opf_planner *planner, int to, int from, const opf_value *value) {
    int *buffers = OPF_ARRAY(planner->arena, int, 2);
    buffers[0] = to;
    buffers[1] = from;
    OPF_PUSH(planner->arena, &planner->program->steps,
             (opf_step){.kind = OPF_RUN_COPY, .kernel = -1, .value = value, .n_buffers = 2, .buffers = buffers, .bytes = opf_planner_bytes(planner, value)});
}

static void add_step(opf_planner *planner, int kind, const opf_value *value, int n, const int *buffers) {
    opf_step step = {.kind = kind, .kernel = -1, .value = value, .n_buffers = n};
    step.buffers = opf_arena_copy(planner->arena, buffers, (size_t)n * sizeof *buffers);
    OPF_PUSH(planner->arena, &planner->program->steps, step);
}

/* ---- parts of a concatenation ---- */

void opf_planner_parts(opf_planner *planner, const opf_group *group) {
    const opf_node *node = group->nodes.data[0];
    opf_dim offset = opf_int(planner->pool, 0);
    for (int i = 0; i < node->n_inputs; i++) {
        opf_part *part = OPF_NEW(planner->arena, opf_part);
        *part = (opf_part){node->outputs[0], offset, group->in_front};
        opf_map_set(&planner->parts, opf_planner_root(planner, node->inputs[i]), part);
        offset = opf_add(planner->pool, offset, opf_planner_bytes(planner, node->inputs[i]));
    }
}

/* ---- constants ---- */

static int weight_of(opf_planner *planner, const opf_value *value, const opf_tensor *tensor, bool read_by_steps) {
    size_t known = (size_t)opf_map_get(&planner->weights, tensor);
    if (!known) {
        OPF_PUSH(planner->arena, &planner->program->weights, (opf_weight){value, tensor, false});
        known = planner->program->weights.count;
        opf_map_set(&planner->weights, tensor, (void *)known);
    }
    planner->program->weights.data[known - 1].read_by_steps |= read_by_steps;
    return (int)known - 1;
}

int opf_planner_constant(opf_planner *planner, const opf_value *named, const opf_tensor *tensor) {
    int weight = weight_of(planner, named, tensor, true);
    return opf_planner_add_buffer(planner, (opf_buffer){.kind = OPF_BUFFER_WEIGHT, .index = weight, .bytes = opf_int(planner->pool, (int64_t)tensor->bytes)});
}

int opf_planner_scratch(opf_planner *planner, opf_dim bytes) {
    return opf_planner_add_buffer(planner, (opf_buffer){.kind = OPF_BUFFER_WORKSPACE, .index = -1, .bytes = opf_dim_most(planner->program->module, bytes)});
}

/* Content without symbols as a tensor; NULL where the size of a run decides it. */
static const opf_tensor *content_tensor(opf_planner *planner, const opf_value *value) {
    int64_t dims[OPF_MAX_RANK];
    for (int k = 0; k < value->rank; k++)
        if (!opf_is_int(value->dims[k], &dims[k])) return NULL;
    for (int64_t i = 0; i < value->content_count; i++)
        if (value->content[i]->kind != OPF_EXPR_INT && value->content[i]->kind != OPF_EXPR_FLOAT) return NULL;
    const char *why;
    opf_tensor *tensor = opf_tensor_zeros(planner->arena, value->dtype, value->rank, dims, &why);
    if (!tensor) return NULL;
    for (int64_t i = 0; i < value->content_count; i++) {
        const opf_expr *e = value->content[i];
        if (e->kind == OPF_EXPR_INT) opf_dtype_store_int(value->dtype, (void *)tensor->data, (size_t)i, e->integer);
        else opf_dtype_store(value->dtype, (void *)tensor->data, (size_t)i, e->real);
    }
    return tensor;
}

/* ---- outputs ---- */

static int bound_output(const opf_planner *planner, const opf_value *value) {
    const opf_value **place = opf_map_get(&planner->bound, value);
    return place ? (int)(place - planner->program->outputs.data) : -1;
}

/* An output's root value is computed in the output's own bytes; the first output that asks gets it. */
void opf_planner_bind_outputs(opf_planner *planner) {
    opf_program *program = planner->program;
    for (size_t i = 0; i < program->outputs.count; i++) {
        const opf_value *root = opf_planner_root(planner, program->outputs.data[i]);
        if (root->constant || root->input_index >= 0 || opf_map_has(&planner->bound, root)) continue;
        opf_map_set(&planner->bound, root, &program->outputs.data[i]);
    }
}

/* What no kernel has written in place: known values, and copies of inputs, constants and values that are output twice. */
void opf_planner_finish_outputs(opf_planner *planner) {
    for (size_t i = 0; i < planner->program->outputs.count; i++) {
        const opf_value *value = planner->program->outputs.data[i];
        int from = opf_planner_operand(planner, value, true);
        if (from < 0) return;
        const opf_buffer *storage = opf_program_storage(planner->program, from);
        if (storage->kind == OPF_BUFFER_OUTPUT && storage->index == (int)i) continue;
        int to = opf_planner_add_buffer(planner, (opf_buffer){.kind = OPF_BUFFER_OUTPUT, .index = (int)i, .value = value,
                                                              .bytes = value_bytes(planner, value)});
        opf_planner_copy(planner, to, from, value);
    }
}

/* ---- operands and results ---- */

/* Aliases never form chains. */
static int storage_of(const opf_planner *planner, int buffer) {
    const opf_buffer *b = &planner->program->buffers.data[buffer];
    return b->kind == OPF_BUFFER_ALIAS ? b->index : buffer;
}

/* `value` has the bytes of `buffer`, from `offset` on (NULL: from the first). */
static int alias_of(opf_planner *planner, const opf_value *value, int buffer, opf_dim offset) {
    opf_dim within = planner->program->buffers.data[buffer].within;
    if (offset) within = within ? opf_add(planner->pool, within, offset) : offset;
    int alias = remember(planner, value, OPF_BUFFER_ALIAS, storage_of(planner, buffer));
    planner->program->buffers.data[alias].within = within && opf_is_value(within, 0) ? NULL : within;
    return alias;
}

/* A place of its own where more than one lies in front of the axis, none where it is one: then the place is in the whole. */
static int part_at_one(opf_planner *planner, const opf_value *value, int whole, const opf_part *part) {
    opf_pool *pool = planner->pool;
    const opf_buffer around = planner->program->buffers.data[whole], storage = planner->program->buffers.data[storage_of(planner, whole)];
    opf_dim within = around.within ? opf_add(pool, around.within, part->offset) : part->offset;
    int buffer = remember(planner, value, OPF_BUFFER_WORKSPACE, -1);
    opf_buffer *own = &planner->program->buffers.data[buffer];
    own->in_front = part->in_front;
    own->whole = storage.in_front ? storage.whole : storage_of(planner, whole);
    if (storage.in_front && storage.within_whole) within = opf_add(pool, within, storage.within_whole);
    own->within_whole = opf_is_value(within, 0) ? NULL : within;
    own->bytes = opf_mul(pool, own->bytes, opf_min(pool, opf_sub(pool, part->in_front, opf_int(pool, 1)), opf_int(pool, 1)));
    return buffer;
}

static int known_value(opf_planner *planner, const opf_value *value, bool read_by_steps) {
    int output = bound_output(planner, value);
    const opf_tensor *tensor = output < 0 ? content_tensor(planner, value) : NULL;
    if (tensor) return remember(planner, value, OPF_BUFFER_WEIGHT, weight_of(planner, value, tensor, read_by_steps));
    int buffer = remember(planner, value, output < 0 ? OPF_BUFFER_WORKSPACE : OPF_BUFFER_OUTPUT, output);
    add_step(planner, OPF_RUN_FILL, value, 1, &buffer);
    return buffer;
}

int opf_planner_operand(opf_planner *planner, const opf_value *value, bool read_by_steps) {
    size_t known = (size_t)opf_map_get(&planner->buffers, value);
    if (value->constant) { /* asked again for the sake of `read_by_steps` */
        int weight = weight_of(planner, value, value->constant, read_by_steps);
        return known ? (int)known - 1 : remember(planner, value, OPF_BUFFER_WEIGHT, weight);
    }
    if (known) return (int)known - 1;
    if (value->input_index >= 0 && !value->graph->parent) return remember(planner, value, OPF_BUFFER_INPUT, value->input_index);
    const opf_value *root = opf_planner_root(planner, value);
    if (root != value) {
        int storage = opf_planner_operand(planner, root, read_by_steps);
        return storage < 0 ? -1 : alias_of(planner, value, storage, NULL);
    }
    if (value->content) return known_value(planner, value, read_by_steps);
    opf_diag_add(planner->program->module->diags, OPF_ERROR, "internal", OPF_NO_PLACE, "no step computes value '%s' before it is read", value->name);
    planner->failed = true;
    return -1;
}

int opf_planner_result(opf_planner *planner, const opf_value *value) {
    int output = bound_output(planner, value);
    size_t placed = (size_t)opf_map_get(&planner->placed, value);
    size_t known = (size_t)opf_map_get(&planner->buffers, value);
    const opf_part *part = opf_map_get(&planner->parts, value);
    if (known) return (int)known - 1; /* a concatenation: the first of its parts has made room for all */
    if (part) {
        int whole = opf_planner_result(planner, part->whole);
        return part->in_front ? part_at_one(planner, value, whole, part) : alias_of(planner, value, whole, part->offset);
    }
    if (placed) return alias_of(planner, value, (int)placed - 1, NULL);
    return remember(planner, value, output < 0 ? OPF_BUFFER_WORKSPACE : OPF_BUFFER_OUTPUT, output);
}

int opf_planner_packed(opf_planner *planner, int64_t bytes) {
    opf_program *program = planner->program;
    int64_t padded;
    if (bytes < 0 || !opf_checked_add(bytes, OPF_WORKSPACE_ALIGN - 1, &padded)) opf_out_of_memory();
    padded -= padded % OPF_WORKSPACE_ALIGN;
    int buffer = opf_planner_add_buffer(planner, (opf_buffer){.kind = OPF_BUFFER_PACKED, .index = -1, .offset = program->packed_bytes,
                                                              .bytes = opf_int(planner->pool, bytes)});
    if (!opf_checked_add(program->packed_bytes, padded, &program->packed_bytes)) opf_out_of_memory();
    return buffer;
}
