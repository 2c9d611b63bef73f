/* The kind derived from an operator's stages against the kind of its table entry (TVM's). Each difference stands here with
 * its reason. */
#include "ops_support.h"

#include <stdio.h>
#include <string.h>

/* Node: Operator/opset, then inputs and attributes. f:DIMS, b:DIMS, u:DIMS are float32, bool and uint8 inputs, i:… an int64
 * constant, name=… an integer attribute, a list where it holds a comma. */
typedef struct row {
    const char *node;
    opf_kind derived;
    const char *reason; /* NULL: as in the table */
} row;

#define ELEMWISE OPF_KIND_ELEMWISE
#define BROADCAST OPF_KIND_BROADCAST
#define INJECTIVE OPF_KIND_INJECTIVE
#define REDUCE OPF_KIND_COMM_REDUCE
#define OUT OPF_KIND_OUT_ELEMWISE_FUSABLE

static const char full[] = "an operand has the result's shape";
static const char behind[] = "something is computed behind the reduction";
static const char pure[] = "a pure reduction over whole axes";
static const char units[] = "only axes of size 1 come or go";
static const char made[] = "it reads no tensor";

static const row rows[] = {
    {"Relu/14 f:N,8", ELEMWISE, NULL},
    {"Cast/13 f:N,8 to=7", ELEMWISE, NULL},
    {"Clip/13 f:N,8", ELEMWISE, NULL},
    {"Identity/13 f:N,8", ELEMWISE, NULL},
    {"Dropout/13 f:N,8", ELEMWISE, NULL},
    {"BatchNormalization/15 f:N,8,4,4 f:8 f:8 f:8 f:8", ELEMWISE, NULL},
    {"QuantizeLinear/13 f:N,8 f: u:", ELEMWISE, NULL},
    {"DequantizeLinear/13 u:N,8 f: u:", ELEMWISE, NULL},
    {"Add/13 f:N,8 f:N,8", ELEMWISE, full},
    {"Add/13 f:N,8 f:8", ELEMWISE, full},
    {"Add/13 f:N,1 f:8", BROADCAST, NULL},
    {"Where/13 b:N,1 f:8 f:8", BROADCAST, NULL},
    {"Max/13 f:N,8 f:8 f:8", ELEMWISE, full},
    {"PRelu/13 f:N,8,4 f:8,1", ELEMWISE, full},
    {"ReduceSum/13 f:N,8,4 i:-1", REDUCE, NULL},
    {"ReduceMax/13 f:N,8,4 axes=1,2", REDUCE, NULL},
    {"ReduceMean/13 f:N,8,4 axes=-1,", OUT, behind},
    {"ReduceL2/13 f:N,8,4 axes=-1,", OUT, behind},
    {"ReduceLogSumExp/13 f:N,8,4 axes=-1,", OUT, behind},
    {"ArgMax/13 f:N,8 axis=1", REDUCE, NULL},
    {"GlobalAveragePool/1 f:N,8,4,4", OUT, NULL},
    {"GlobalMaxPool/1 f:N,8,4,4", REDUCE, pure},
    {"GlobalLpPool/2 f:N,8,4,4", OUT, NULL},
    {"Softmax/13 f:N,8", OUT, NULL},
    {"LogSoftmax/13 f:N,8", OUT, NULL},
    {"Hardmax/13 f:N,8", OUT, NULL},
    {"LayerNormalization/17 f:N,8 f:8 f:8", OUT, NULL},
    {"RMSNormalization/23 f:N,8 f:8", OUT, NULL},
    {"InstanceNormalization/6 f:N,8,4,4 f:8 f:8", OUT, NULL},
    {"GroupNormalization/21 f:N,8,4,4 f:8 f:8 num_groups=2", OUT, NULL},
    {"MeanVarianceNormalization/13 f:N,8,4,4", OUT, NULL},
    {"LpNormalization/1 f:N,8", OUT, NULL},
    {"LRN/13 f:N,8,4,4 size=3", OUT, NULL},
    {"MatMul/13 f:N,8,4 f:4,16", OUT, NULL},
    {"Gemm/13 f:N,4 f:4,16 f:16", OUT, NULL},
    {"Conv/11 f:N,4,8,8 f:16,4,3,3 f:16", OUT, NULL},
    {"Conv/11 f:N,4,8,8 f:4,1,3,3 group=4", OUT, NULL},
    {"MaxPool/12 f:N,4,8,8 kernel_shape=2,2", OUT, NULL},
    {"AveragePool/11 f:N,4,8,8 kernel_shape=2,2", OUT, NULL},
    {"Transpose/13 f:N,8,4 perm=0,2,1", INJECTIVE, NULL},
    {"Transpose/13 f:N,8,4 perm=0,1,2", ELEMWISE, "every element stays where it is"},
    {"Reshape/13 f:N,8,4 i:0,32", INJECTIVE, NULL},
    {"Flatten/13 f:N,8,1,1", ELEMWISE, units},
    {"Unsqueeze/13 f:N,8 i:1", ELEMWISE, units},
    {"Squeeze/13 f:N,1,8 i:1", ELEMWISE, units},
    {"Expand/13 f:N,1 i:1,8", BROADCAST, NULL},
    {"Slice/13 f:N,8 i:2 i:6 i:1", INJECTIVE, NULL},
    {"Concat/13 f:N,8 f:N,4 axis=1", INJECTIVE, NULL},
    {"Gather/13 f:N,8 i:1,3 axis=1", INJECTIVE, NULL},
    {"Pad/13 f:N,8 i:0,1,0,1", INJECTIVE, NULL},
    {"Shape/13 f:N,8", ELEMWISE, made},
};

static opf_value *parse_value(opf_module *module, char type, const char *text, int number) {
    if (type == 'i') {
        double elements[8];
        int count = 0;
        for (const char *at = text; *at; count++) {
            char *end;
            elements[count] = strtod(at, &end);
            at = *end ? end + 1 : end;
        }
        return ints(module, count, elements);
    }
    opf_dtype dtype = type == 'b' ? OPF_BOOL : type == 'u' ? OPF_UINT8 : OPF_FLOAT32;
    return input(module, opf_arena_printf(module->arena, "x%d", number), dtype, text);
}

static void parse_attr(opf_node *node, char *text) {
    char *value = strchr(text, '=');
    *value++ = '\0';
    int64_t numbers[8];
    size_t count = 0;
    for (char *at = value; *at; count++) {
        numbers[count] = strtoll(at, &at, 10);
        at += *at == ',';
    }
    opf_node_attr_add(node, text, strchr(value, ',') ? OPF_ATTR_INTS : OPF_ATTR_INT, count, numbers);
}

static opf_node *parse_node(opf_module *module, const char *text) {
    char *copy = opf_arena_string(module->arena, text), *rest = NULL, *attrs[4];
    char *name = strtok_r(copy, "/", &rest), *opset = strtok_r(NULL, " ", &rest);
    opf_value *values[8];
    int n_values = 0, n_attrs = 0;
    for (char *part = strtok_r(NULL, " ", &rest); part; part = strtok_r(NULL, " ", &rest)) {
        if (part[1] != ':') attrs[n_attrs++] = part;
        else {
            values[n_values] = parse_value(module, part[0], part + 2, n_values);
            n_values++;
        }
    }
    opf_node *node = node_of(module, name, atoi(opset), 1, n_values, values);
    for (int k = 0; k < n_attrs; k++) parse_attr(node, attrs[k]);
    return node;
}

static void test_kinds(void **state) {
    (void)state;
    for (size_t k = 0; k < OPF_COUNT(rows); k++) {
        opf_module *module = new_module();
        opf_node *node = parse_node(module, rows[k].node);
        opf_call *call = NULL;
        if (opf_graph_type(module, NULL, 0) != OPF_OK || opf_op_stages(&call, node) != OPF_OK) fail_msg("%s: %s", rows[k].node, diagnostics(module));
        opf_kind derived = opf_stages_kind(&call->stages);
        if (derived != rows[k].derived) fail_msg("%s is %s, not %s", rows[k].node, opf_kind_name(derived), opf_kind_name(rows[k].derived));
        if ((derived == call->op->kind) != (rows[k].reason == NULL)) fail_msg("%s: the table says %s", rows[k].node, opf_kind_name(call->op->kind));
        free_module(module);
    }
}

/* One entry an operator and version: of two, only one would ever be found. Scalar lines may be several, for several types. */
static void test_entries_are_one_each(void **state) {
    (void)state;
    for (size_t i = 0; i < opf_op_count(); i++)
        for (size_t k = i + 1; k < opf_op_count(); k++) {
            const opf_op *a = opf_op_at(i), *b = opf_op_at(k);
            bool same = strcmp(a->domain, b->domain) == 0 && strcmp(a->name, b->name) == 0 && a->since == b->since;
            if (same && (a->build || b->build)) fail_msg("%s::%s of opset %d has two entries", a->domain, a->name, a->since);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_entries_are_one_each)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
