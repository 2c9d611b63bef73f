/* SVMClassifier (ai.onnx.ml): support vectors of all classes, a score a pair of classes. */
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"
#include "ops/library.h"
#include "ops/text.h"

#include "opf_lib_svm.h"

#define ML "ai.onnx.ml"

static int choice(opf_call *call, const char *name, const char *otherwise, const char *const *names, int count) {
    const char *given = opf_node_string(call->node, name, otherwise);
    for (int k = 0; k < count; k++)
        if (strcmp(given, names[k]) == 0) return k;
    opf_call_error(call, "attribute", "%s '%s' is not supported", name, given);
    return 0;
}

static int64_t add_floats(opf_call *call, const char *name, int64_t want) {
    static const float nothing[1];
    const opf_attr *attr = opf_node_attr(call->node, name);
    int64_t count = attr && attr->kind == OPF_ATTR_FLOATS ? (int64_t)attr->count : 0;
    const char *why;
    if (want >= 0 && count != want) opf_call_error(call, "attribute", "%s has %lld entries and must have %lld", name, (long long)count, (long long)want);
    opf_library_constant(call, opf_tensor_new(call->arena, OPF_FLOAT32, 1, &count, count ? attr->floats : nothing, &why));
    return count;
}

/* The labels, strings or numbers. */
static const opf_tensor *labels_of(opf_call *call) {
    const opf_attr *texts = opf_node_attr(call->node, "classlabels_strings"), *numbers = opf_node_attr(call->node, "classlabels_ints");
    const char *why;
    if (texts && texts->kind == OPF_ATTR_STRINGS && texts->count) return opf_text_table(call, texts->count, texts->strings);
    int64_t count = numbers && numbers->kind == OPF_ATTR_INTS ? (int64_t)numbers->count : 0;
    return count ? opf_tensor_new(call->arena, OPF_INT64, 1, &count, numbers->ints, &why) : NULL;
}

static void add_parameters(opf_call *call, int64_t columns) {
    static const char *const kernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID"}, *const transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"};
    const opf_attr *given = opf_node_attr(call->node, "kernel_params");
    opf_library_int(call, choice(call, "kernel_type", "LINEAR", kernels, (int)OPF_COUNT(kernels)));
    opf_library_int(call, choice(call, "post_transform", "NONE", transforms, (int)OPF_COUNT(transforms)));
    opf_library_int(call, columns);
    for (size_t k = 0; k < 3; k++) opf_library_float(call, given && given->kind == OPF_ATTR_FLOATS && k < given->count ? given->floats[k] : 0);
}

/* Vectors of all classes in a row; -1, reported, where the numbers do not fit. */
static int64_t vectors_of(opf_call *call, const opf_tensor *labels, const int64_t **sizes) {
    int count = opf_node_ints(call->node, "vectors_per_class", sizes);
    int64_t vectors = 0;
    if (!labels || labels->elements < 2 || labels->elements > 1000) opf_call_error(call, "attribute", "there must be labels of 2 to 1000 classes");
    else if (count < 1) opf_call_error(call, "unsupported", "a classifier without support vectors is not supported");
    else if (count != labels->elements) opf_call_error(call, "attribute", "vectors_per_class has %d entries for %lld classes", count, (long long)labels->elements);
    for (int k = 0; k < count && !call->failed; k++) {
        if ((*sizes)[k] < 0 || (*sizes)[k] > INT32_MAX) opf_call_error(call, "attribute", "vectors_per_class holds %lld", (long long)(*sizes)[k]);
        vectors += (*sizes)[k];
    }
    return call->failed ? -1 : vectors;
}

static opf_status build_svm_classifier(opf_call *call) {
    const int64_t *sizes;
    const opf_tensor *labels = labels_of(call);
    int rank = opf_call_rank(call, 0);
    opf_dtype dtype = opf_call_dtype(call, 0);
    const char *why;
    if (!opf_dtype_is_float(dtype) && !opf_dtype_is_integer(dtype)) return opf_call_error(call, "type", "the input is %s, which is no number", opf_dtype_name(dtype));
    if (!opf_call_check_rank(call, 0, 1, 2, "the input")) return OPF_ERROR_INPUT;
    int64_t vectors = vectors_of(call, labels, &sizes), features;
    if (vectors < 0) return OPF_ERROR_INPUT;
    const opf_attr *table = opf_node_attr(call->node, "support_vectors"), *probabilities = opf_node_attr(call->node, "prob_a");
    int64_t n = labels->elements, pairs = n * (n - 1) / 2, numbers = table && table->kind == OPF_ATTR_FLOATS ? (int64_t)table->count : 0;
    features = vectors ? numbers / vectors : 0;
    if (!vectors || !numbers || numbers % vectors) return opf_call_error(call, "attribute", "support_vectors has %lld entries for %lld vectors", (long long)numbers, (long long)vectors);
    opf_call_same(call, opf_call_dim(call, 0, rank - 1), opf_call_int(call, features), "one number a vector and feature");
    opf_call_library(call, "svm", 1, 2);
    opf_library_constant(call, opf_tensor_new(call->arena, OPF_FLOAT32, 2, (int64_t[]){vectors, features}, table->floats, &why));
    add_floats(call, "coefficients", (n - 1) * vectors);
    add_floats(call, "rho", pairs);
    bool coupled = probabilities && probabilities->kind == OPF_ATTR_FLOATS && probabilities->count > 0;
    add_floats(call, "prob_a", coupled ? pairs : 0);
    add_floats(call, "prob_b", coupled ? pairs : 0);
    opf_library_constant(call, opf_tensor_new(call->arena, OPF_INT64, 1, &n, sizes, &why));
    opf_library_constant(call, labels);
    int64_t columns = coupled ? n : n == 2 ? 2 : pairs;
    add_parameters(call, columns);
    opf_library_scratch(call, opf_call_int(call, 8 * opf_lib_svm_room(vectors, n)));
    opf_dim dims[] = {rank == 2 ? opf_call_dim(call, 0, 0) : opf_call_int(call, 1), opf_call_int(call, columns)};
    opf_library_result(call, 0, labels->dtype, 1, dims);
    opf_library_result(call, 1, OPF_FLOAT32, 2, dims);
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

const opf_op opf_ops_svm[] = {
    {ML, "SVMClassifier", 1, 1, 1, 2, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_svm_classifier, NULL},
};
const size_t opf_ops_svm_count = OPF_COUNT(opf_ops_svm);
