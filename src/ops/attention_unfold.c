/* FlexAttention with sub-graphs that modify scores or probabilities: written out as the operator's function body says, with the
 * nodes of the sub-graphs where they apply. Then they fuse with what is around them like any others. Needs the types of query, key
 * and value; ops/attention.c has refused what cannot be written out. */
#include <math.h>
#include <string.h>

#include "ops/attend.h"

enum { NEWEST = 21 }; /* a version that all operators below have had since; they mean the same in later ones */

typedef struct unfolding {
    opf_node *node;
    opf_graph *graph;
    opf_dtype dtype, softmax;
} unfolding;

static opf_node *make(const unfolding *u, const char *op, int n, opf_value *const *inputs) {
    opf_node *made = opf_node_new(u->graph, NULL, op, "", NEWEST, n, 1);
    made->index = u->node->index;
    opf_node_origins_add(made, u->node);
    for (int k = 0; k < n; k++) opf_node_set_input(made, k, inputs[k]);
    opf_node_set_output(made, 0, opf_value_new(u->graph, NULL));
    return made;
}

static opf_value *value_of(const unfolding *u, const char *op, opf_value *a, opf_value *b) { return make(u, op, b ? 2 : 1, (opf_value *const[]){a, b})->outputs[0]; }

static opf_value *with_ints(const unfolding *u, const char *op, opf_value *a, const char *attribute, size_t count, const int64_t *ints) {
    opf_node *made = make(u, op, 1, &a);
    opf_node_attr_add(made, attribute, count == 1 ? OPF_ATTR_INT : OPF_ATTR_INTS, count, ints);
    return made->outputs[0];
}

static opf_value *cast(const unfolding *u, opf_value *value, opf_dtype from, opf_dtype to) {
    int64_t type = to;
    return from == to ? value : with_ints(u, "Cast", value, "to", 1, &type);
}

static opf_value *constant(const unfolding *u, opf_dtype dtype, int rank, int64_t count, const double *numbers) {
    const char *why;
    opf_tensor *tensor = opf_tensor_zeros(u->graph->module->arena, dtype, rank, &count, &why);
    if (!tensor) opf_out_of_memory(); /* of a few elements */
    for (int64_t i = 0; i < count; i++) opf_dtype_store(dtype, (void *)(uintptr_t)tensor->data, (size_t)i, numbers[i]);
    return opf_value_constant(u->graph, NULL, tensor);
}

static int64_t size_of(const opf_value *value, int axis) {
    int64_t size = 0;
    opf_is_int(value->dims[axis], &size);
    return size;
}

/* Each head as often as queries share it. */
static opf_value *repeated(const unfolding *u, opf_value *value) {
    const opf_value *query = u->node->inputs[0];
    if (value->dims[1] == query->dims[1]) return value;
    double heads = (double)size_of(query, 1), group = heads / (double)size_of(value, 1);
    opf_value *apart = value_of(u, "Unsqueeze", value, constant(u, OPF_INT64, 1, 1, (const double[]){2}));
    opf_value *several = value_of(u, "Expand", apart, constant(u, OPF_INT64, 1, 5, (const double[]){1, 1, group, 1, 1}));
    return value_of(u, "Reshape", several, constant(u, OPF_INT64, 1, 4, (const double[]){0, heads, -1, (double)size_of(value, 3)}));
}

/* What the sub-graph makes of the value; the value itself where there is none. */
static opf_value *modified(const unfolding *u, const char *name, opf_value *value) {
    const opf_attr *attr = opf_node_attr(u->node, name);
    if (!attr) return value;
    opf_graph *body = attr->graphs[0];
    opf_value *input = body->inputs.data[0], *output = body->outputs.data[0];
    opf_value_replace(input, value);
    opf_graph_splice(body, u->graph, u->graph->nodes.count);
    return output == input ? value : output;
}

static void unfold(opf_node *node) {
    unfolding u = {.node = node, .graph = node->graph, .dtype = node->inputs[0]->dtype};
    u.softmax = opf_flex_precision(node);
    double size = (double)size_of(node->inputs[0], 3), scale = opf_node_float(node, "scale", 0);
    float root = sqrtf(scale != 0 ? (float)scale : 1 / sqrtf((float)size));
    opf_value *factor = constant(&u, u.dtype, 0, 1, (const double[]){(double)root});
    opf_value *queries = value_of(&u, "Mul", node->inputs[0], factor), *keys = value_of(&u, "Mul", repeated(&u, node->inputs[1]), factor);
    keys = with_ints(&u, "Transpose", keys, "perm", 4, (const int64_t[]){0, 1, 3, 2});
    opf_value *scores = modified(&u, "score_mod", cast(&u, value_of(&u, "MatMul", queries, keys), u.dtype, u.softmax));
    opf_value *weights = modified(&u, "prob_mod", with_ints(&u, "Softmax", scores, "axis", 1, (const int64_t[]){3}));
    opf_value *values = cast(&u, repeated(&u, node->inputs[2]), u.dtype, u.softmax);
    opf_value *result = cast(&u, value_of(&u, "MatMul", weights, values), u.softmax, u.dtype);
    opf_value_replace(node->outputs[0], result);
    opf_node_remove(node);
}

static bool unfolds(const opf_node *node) {
    return strcmp(node->op, "FlexAttention") == 0 && (opf_node_attr(node, "score_mod") || opf_node_attr(node, "prob_mod")) && node->outputs[0] && opf_value_is_typed(node->outputs[0]);
}

bool opf_flex_attention_unfold(opf_graph *graph) {
    bool any = false, inside = false;
    size_t count = graph->nodes.count;
    opf_node **nodes = OPF_ARRAY(graph->module->arena, opf_node *, count + 1); /* the list changes on the way */
    for (size_t i = 0; i < count; i++) nodes[i] = graph->nodes.data[i];
    for (size_t i = 0; i < count; i++) {
        opf_node *node = nodes[i];
        if (unfolds(node)) {
            unfold(node);
            any = true;
            continue;
        }
        for (int k = 0; k < node->n_attrs; k++)
            for (size_t g = 0; (node->attrs[k].kind == OPF_ATTR_GRAPH || node->attrs[k].kind == OPF_ATTR_GRAPHS) && g < node->attrs[k].count; g++)
                inside |= opf_flex_attention_unfold(node->attrs[k].graphs[g]);
    }
    if (any) opf_graph_sort(graph);
    return any || inside;
}
