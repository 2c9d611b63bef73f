/* What random graphs are made of. */
#include "maker.h"

#include <string.h>

/* ---- chance ---- */

static uint64_t next(uint64_t *state) { /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int pick(maker *m, int count) { return (int)(next(&m->state) % (uint64_t)count); }
bool chance(maker *m, int in_100) { return pick(m, 100) < in_100; }

opf_value *pick_value(maker *m) {
    int count = (int)m->values.count, last = chance(m, 60) ? 1 : chance(m, 60) ? 4 : count;
    return m->values.data[count - 1 - pick(m, last < count ? last : count)];
}

/* ---- values ---- */

int64_t size_of(const maker *m, opf_dim dim) {
    int64_t size = 0;
    return opf_dim_eval(dim, m->symbols, &size) ? size : 0;
}

int64_t elements_of(const maker *m, const opf_value *value) {
    int64_t elements = 1;
    for (int k = 0; k < value->rank; k++) elements *= size_of(m, value->dims[k]);
    return elements;
}

static void declare(maker *m, opf_value *value) {
    value->declared_dtype = value->dtype;
    value->declared_rank = value->rank;
    value->declared_dims = OPF_ARRAY(m->arena, int64_t, value->rank + 1);
    value->declared_names = OPF_ARRAY(m->arena, const char *, value->rank + 1);
    for (int k = 0; k < value->rank; k++) {
        bool named = value->dims[k]->kind == OPF_EXPR_SYMBOL;
        value->declared_dims[k] = named ? OPEN : size_of(m, value->dims[k]);
        if (named) value->declared_names[k] = value->dims[k]->symbol->name;
    }
}

static opf_value *typed(maker *m, const char *letter, opf_dtype dtype, int rank, const opf_dim *dims) {
    opf_value *value = opf_value_new(m->graph, opf_arena_printf(m->arena, "%s%d", letter, m->module->n_values));
    value->dtype = dtype;
    value->rank = rank;
    value->dims = OPF_ARRAY(m->arena, opf_dim, rank + 1);
    memcpy(value->dims, dims, (size_t)rank * sizeof *dims);
    return value;
}

opf_value *new_input(maker *m, opf_dtype dtype, int rank, const opf_dim *dims) {
    opf_value *value = typed(m, "x", dtype, rank, dims);
    declare(m, value);
    opf_graph_add_input(m->graph, value);
    OPF_PUSH(m->arena, &m->values, value);
    return value;
}

/* Small numbers: whole ones, so that comparisons meet equals, and others between. */
static double number_of(uint64_t *state, opf_dtype dtype) {
    uint64_t r = next(state);
    if (dtype == OPF_BOOL) return (double)(r & 1);
    if (opf_dtype_is_integer(dtype)) return opf_dtype_is_signed(dtype) ? (double)(r % 11) - 5 : (double)(r % 11);
    if (r % 10 == 0) return (double)((r >> 8) % 7) - 3;
    return (double)(r >> 11) * 0x1p-53 * 4 - 2;
}

static opf_tensor *random_tensor(maker *m, opf_dtype dtype, int rank, const int64_t *dims, uint64_t state) {
    const char *why;
    opf_tensor *tensor = opf_tensor_zeros(m->arena, dtype, rank, dims, &why);
    for (int64_t i = 0; i < tensor->elements; i++) opf_dtype_store(dtype, (void *)(uintptr_t)tensor->data, (size_t)i, number_of(&state, dtype));
    return tensor;
}

opf_value *new_constant(maker *m, opf_dtype dtype, int rank, const int64_t *dims) {
    uint64_t state = next(&m->state);
    return opf_value_constant(m->graph, opf_arena_printf(m->arena, "c%d", m->module->n_values), random_tensor(m, dtype, rank, dims, state));
}

opf_value *constant_ints(maker *m, const int64_t *values, int count) {
    const char *why;
    int64_t dims[] = {count};
    opf_tensor *tensor = opf_tensor_new(m->arena, OPF_INT64, 1, dims, opf_arena_copy(m->arena, values, (size_t)count * sizeof *values), &why);
    return opf_value_constant(m->graph, opf_arena_printf(m->arena, "i%d", m->module->n_values), tensor);
}

opf_value *constant_number(maker *m, opf_dtype dtype, double number) {
    const char *why;
    opf_tensor *tensor = opf_tensor_zeros(m->arena, dtype, 0, NULL, &why);
    opf_dtype_store(dtype, (void *)(uintptr_t)tensor->data, 0, number);
    return opf_value_constant(m->graph, opf_arena_printf(m->arena, "k%d", m->module->n_values), tensor);
}

static bool same_dims(const opf_value *a, const opf_value *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

opf_value *find_like(maker *m, const opf_value *value, opf_dtype dtype) {
    opf_value *found = NULL;
    for (size_t i = 0; i < m->values.count; i++) {
        opf_value *other = m->values.data[i];
        if (other != value && other->dtype == dtype && same_dims(other, value) && (!found || chance(m, 50))) found = other;
    }
    return found;
}

opf_value *operand_for(maker *m, const opf_value *value, opf_dtype dtype) {
    opf_value *found = chance(m, 60) ? find_like(m, value, dtype) : NULL;
    if (found) return found;
    opf_dim dims[OPF_MAX_RANK];
    int64_t sizes[OPF_MAX_RANK];
    int skip = value->rank && chance(m, 25) ? pick(m, value->rank) : 0, rank = value->rank - skip;
    bool known = true;
    for (int k = 0; k < rank; k++) {
        opf_dim dim = value->dims[skip + k];
        bool one = chance(m, 30) || (dim->kind != OPF_EXPR_SYMBOL && !opf_is_int(dim, NULL));
        dims[k] = one ? opf_int(m->module->pool, 1) : dim;
        sizes[k] = size_of(m, dims[k]);
        known = known && opf_is_int(dims[k], NULL);
    }
    return known && chance(m, 50) ? new_constant(m, dtype, rank, sizes) : new_input(m, dtype, rank, dims);
}

opf_tensor *data_of(const maker *m, const opf_value *input) {
    uint64_t state = m->seed * 0x2545f4914f6cdd1du;
    int64_t dims[OPF_MAX_RANK];
    for (const char *c = input->name; *c; c++) state = state * 31 + (unsigned char)*c;
    for (int k = 0; k < input->rank; k++) dims[k] = size_of(m, input->dims[k]);
    return random_tensor((maker *)(uintptr_t)m, input->dtype, input->rank, dims, state);
}

/* ---- nodes ---- */

opf_node *begin(maker *m, const char *op, int n_inputs, opf_value *const *inputs, int n_outputs) {
    opf_node *node = opf_node_new(m->graph, opf_arena_printf(m->arena, "%s_%d", op, m->made), op, "", m->opset, n_inputs, n_outputs);
    for (int k = 0; k < n_inputs; k++)
        if (inputs[k]) opf_node_set_input(node, k, inputs[k]);
    return node;
}

void set_int(opf_node *node, const char *name, int64_t value) { opf_node_attr_add(node, name, OPF_ATTR_INT, 1, &value); }
void set_ints(opf_node *node, const char *name, const int64_t *values, int count) { opf_node_attr_add(node, name, OPF_ATTR_INTS, (size_t)count, values); }
void set_string(opf_node *node, const char *name, const char *value) { opf_node_attr_add(node, name, OPF_ATTR_STRING, 1, &value); }

void set_float(opf_node *node, const char *name, double value) {
    float number = (float)value;
    opf_node_attr_add(node, name, OPF_ATTR_FLOAT, 1, &number);
}

static bool is_welcome(const maker *m, const opf_value *value) {
    return opf_value_is_typed(value) && value->kind == OPF_VALUE_TENSOR && value->rank <= 6 && elements_of(m, value) <= MOST_ELEMENTS;
}

/* Do the sizes of this run satisfy what the latest node asks of them? */
static bool guards_hold(const maker *m, size_t first) {
    bool hold = true;
    for (size_t g = first; g < m->module->guards.count; g++) {
        const opf_guard *guard = &m->module->guards.data[g];
        int64_t left = size_of(m, guard->left), right = size_of(m, guard->right);
        hold = hold && (guard->kind == OPF_GUARD_GE ? left >= right : left == right);
    }
    return hold;
}

opf_value *finish(maker *m, opf_node *node) {
    if (!node) return NULL;
    size_t guards = m->module->guards.count;
    for (int k = 0; k < node->n_outputs; k++) opf_node_set_output(node, k, opf_value_new(m->graph, opf_arena_printf(m->arena, "v%d", m->module->n_values)));
    bool fits = opf_node_type(node) == OPF_OK && guards_hold(m, guards);
    for (int k = 0; k < node->n_outputs; k++) fits = fits && is_welcome(m, node->outputs[k]);
    if (!fits) {
        opf_node_remove(node);
        m->module->guards.count = guards;
        m->refused++;
        return NULL;
    }
    for (int k = 0; k < node->n_outputs; k++) OPF_PUSH(m->arena, &m->values, node->outputs[k]);
    m->made++;
    return node->outputs[0];
}

opf_value *apply(maker *m, const char *op, opf_value *a, opf_value *b) {
    opf_value *inputs[] = {a, b};
    return a ? finish(m, begin(m, op, b ? 2 : 1, inputs, 1)) : NULL;
}

/* ---- a graph ---- */

static void add_opset(maker *m, const char *domain, int version) { OPF_PUSH(m->arena, &m->module->opsets, (opf_opset){domain, version}); }

maker *maker_new(uint64_t seed) {
    static const int opsets[] = {13, 15, 17, 18, 19, 20, 21, 22, 23};
    static const int64_t sizes[] = {1, 1, 2, 3, 5, 7, 8, 9, 16, 17, 33};
    static const char *const names[SYMBOLS] = {"N", "M"};
    opf_diags *diags = opf_diags_new();
    opf_module *module = opf_module_new(diags, "random");
    maker *m = OPF_NEW(module->arena, maker);
    *m = (maker){.seed = seed, .state = seed * 0x9e3779b97f4a7c15u + 1, .diags = diags, .module = module, .arena = module->arena};
    m->graph = module->graph = opf_graph_new(module, opf_arena_printf(m->arena, "random_%llu", (unsigned long long)seed), NULL);
    m->opset = opsets[pick(m, OPF_COUNT(opsets))];
    module->ir_version = m->opset > 20 ? 10 : 8;
    add_opset(m, "", m->opset);
    add_opset(m, "com.microsoft", 1);
    m->symbols = OPF_ARRAY(m->arena, int64_t, 4096); /* nodes may make symbols of their own */
    for (int k = 0; k < SYMBOLS; k++) m->symbols[opf_symbol_new(module->pool, names[k], 0, INT32_MAX, 64)->index] = sizes[pick(m, OPF_COUNT(sizes))];
    return m;
}

void maker_free(maker *m) {
    opf_diags *diags = m->diags;
    opf_module_free(m->module);
    opf_diags_free(diags);
}

static opf_dim random_dim(maker *m) {
    static const int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 33};
    return chance(m, 25) ? opf_sym(m->module->pool, opf_pool_symbol(m->module->pool, pick(m, SYMBOLS))) : opf_int(m->module->pool, sizes[pick(m, OPF_COUNT(sizes))]);
}

static opf_dtype random_dtype(maker *m) {
    static const opf_dtype others[] = {OPF_FLOAT16, OPF_FLOAT64, OPF_INT32, OPF_INT64, OPF_INT8, OPF_UINT8, OPF_BOOL, OPF_BFLOAT16, OPF_FLOAT16};
    return chance(m, 85) ? OPF_FLOAT32 : others[pick(m, OPF_COUNT(others))];
}

static void first_input(maker *m) {
    opf_dim dims[4];
    int rank = 1 + pick(m, 4);
    for (int k = 0; k < rank; k++) dims[k] = random_dim(m);
    if (rank == 4) dims[0] = opf_int(m->module->pool, 1 + pick(m, 2));
    int64_t elements = 1;
    for (int k = 0; k < rank; k++) elements *= size_of(m, dims[k]);
    if (elements > MOST_ELEMENTS) dims[rank - 1] = opf_int(m->module->pool, 1 + pick(m, 3));
    new_input(m, random_dtype(m), rank, dims);
}

/* What nobody reads leaves the graph, and now and then what somebody does. */
static void choose_outputs(maker *m) {
    for (size_t i = 0; i < m->values.count; i++) {
        opf_value *value = m->values.data[i];
        if (value->producer && (!value->uses.count || chance(m, 8))) opf_graph_add_output(m->graph, value, NULL);
    }
}

static void keep_output(maker *m, int output) {
    opf_value *kept = m->graph->outputs.data[output];
    for (size_t i = 0; i < m->graph->outputs.count; i++) m->graph->outputs.data[i]->is_output = false;
    m->graph->outputs.count = m->graph->output_names.count = 0;
    opf_graph_add_output(m->graph, kept, NULL);
}

/* The node's results become inputs; sizes that are no symbols take the value that they have in the run. */
static void cut_node(maker *m, opf_node *node) {
    for (int k = 0; k < node->n_outputs; k++) {
        opf_value *value = node->outputs[k];
        opf_dim dims[OPF_MAX_RANK];
        for (int d = 0; d < value->rank; d++)
            dims[d] = value->dims[d]->kind == OPF_EXPR_SYMBOL ? value->dims[d] : opf_int(m->module->pool, size_of(m, value->dims[d]));
        if (value->uses.count || value->is_output) opf_value_replace(value, new_input(m, value->dtype, value->rank, dims));
    }
}

maker *make_graph(uint64_t seed, const int *cut, int output) {
    maker *m = maker_new(seed);
    int steps = 3 + pick(m, 10);
    for (int i = 1 + pick(m, 2); i-- > 0;) first_input(m);
    for (int i = 0; i < steps; i++) grow(m);
    if (!m->made) apply(m, "Identity", m->values.data[0], NULL);
    choose_outputs(m);
    opf_graph_renumber(m->graph);
    if (output >= 0 && (size_t)output < m->graph->outputs.count) keep_output(m, output);
    opf_node **nodes = opf_arena_copy(m->arena, m->graph->nodes.data, m->graph->nodes.count * sizeof *m->graph->nodes.data);
    for (const int *c = cut; c && *c >= 0; c++) cut_node(m, nodes[*c]);
    opf_graph_remove_dead(m->graph);
    return m;
}
