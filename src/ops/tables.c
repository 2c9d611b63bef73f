/* Tables of attributes as constant operands. */
#include "ops/tables.h"

#include <string.h>

enum { MOST_TABLES = 6 };

typedef struct table_row {
    const char *domain, *op;
    int inputs; /* that the operator has of its own */
    const char *attributes[MOST_TABLES];
} table_row;

#define ML "ai.onnx.ml"
static const table_row rows[] = {
    {ML, "Scaler", 1, {"offset", "scale"}},
    {ML, "Imputer", 1, {"imputed_value_floats", "imputed_value_int64s"}},
    {ML, "LinearRegressor", 1, {"coefficients", "intercepts"}},
    {ML, "LinearClassifier", 1, {"coefficients", "intercepts", "classlabels_ints", "classlabels_strings"}},
    {ML, "SVMRegressor", 1, {"coefficients", "support_vectors"}},
    {ML, "LabelEncoder", 1, {"keys_int64s", "keys_floats", "keys_tensor", "values_int64s", "values_floats", "values_tensor"}},
    {ML, "OneHotEncoder", 1, {"cats_int64s"}},
    {"", "TfIdfVectorizer", 1, {"pool_int64s", "ngram_indexes", "weights"}},
};

static const table_row *row_of(const opf_node *node) {
    for (size_t k = 0; k < OPF_COUNT(rows); k++)
        if (strcmp(rows[k].op, node->op) == 0 && strcmp(rows[k].domain, node->domain) == 0) return &rows[k];
    return NULL;
}

static const opf_tensor *table_of(opf_arena *arena, const opf_attr *attribute) {
    const char *why = NULL;
    int64_t count = attribute ? (int64_t)attribute->count : 0;
    if (!attribute) return NULL;
    if (attribute->kind == OPF_ATTR_TENSOR) return attribute->tensors[0]->dtype == OPF_STRING ? NULL : attribute->tensors[0];
    if (attribute->kind == OPF_ATTR_STRINGS && count) return opf_tensor_new(arena, OPF_STRING, 1, &count, attribute->strings, &why);
    if (attribute->kind == OPF_ATTR_FLOATS) return opf_tensor_new(arena, OPF_FLOAT32, 1, &count, attribute->floats, &why);
    if (attribute->kind == OPF_ATTR_INTS) return opf_tensor_new(arena, OPF_INT64, 1, &count, attribute->ints, &why);
    return NULL;
}

static int count_of(const table_row *row) {
    int count = 0;
    while (count < MOST_TABLES && row->attributes[count]) count++;
    return count;
}

static void attach(opf_graph *graph, opf_node *node, const table_row *row) {
    opf_arena *arena = graph->module->arena;
    int total = row->inputs + count_of(row), own = node->n_inputs;
    if (own > row->inputs) return; /* too many of its own, which typing reports, or done before */
    opf_value **inputs = OPF_ARRAY(arena, opf_value *, total);
    for (int k = 0; k < own; k++) inputs[k] = node->inputs[k];
    node->inputs = inputs;
    node->n_inputs = total;
    node->n_tables = total - row->inputs;
    for (int k = row->inputs; k < total; k++) {
        const char *name = row->attributes[k - row->inputs];
        const opf_tensor *table = table_of(arena, opf_node_attr(node, name));
        if (!table) continue;
        opf_value *value = opf_value_constant(graph, opf_arena_printf(arena, "%s.%s", node->name, name), table);
        if (!value) value = opf_value_constant(graph, NULL, table);
        opf_node_set_input(node, k, value);
    }
}

void opf_tables_attach(opf_graph *graph) {
    for (size_t k = 0; k < graph->nodes.count; k++) {
        opf_node *node = graph->nodes.data[k];
        const table_row *row = row_of(node);
        if (row) attach(graph, node, row);
        for (int i = 0; i < node->n_attrs; i++)
            for (size_t g = 0; (node->attrs[i].kind == OPF_ATTR_GRAPH || node->attrs[i].kind == OPF_ATTR_GRAPHS) && g < node->attrs[i].count; g++) opf_tables_attach(node->attrs[i].graphs[g]);
    }
}

int opf_table_input(const opf_node *node, const char *name) {
    const table_row *row = node->n_tables ? row_of(node) : NULL;
    for (int k = 0; row && k < count_of(row); k++)
        if (strcmp(row->attributes[k], name) == 0 && row->inputs + k < node->n_inputs && node->inputs[row->inputs + k]) return row->inputs + k;
    return -1;
}
