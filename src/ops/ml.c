/* Operators of ai.onnx.ml: Scaler, Normalizer, Imputer, LinearRegressor, LinearClassifier, SVMRegressor, CategoryMapper, ZipMap,
 * LabelEncoder, OneHotEncoder, FeatureVectorizer. Their tables are operands (tables.h). Results are float32 where the
 * operator's text does not say otherwise. */
#include <math.h>
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"
#include "ops/reduction.h"
#include "ops/tables.h"
#include "ops/text.h"

static bool check_number(opf_call *call, int input) {
    opf_dtype dtype = opf_call_dtype(call, input);
    if (opf_dtype_is_float(dtype) || opf_dtype_is_integer(dtype)) return true;
    opf_call_error(call, "type", "input %d of %s is %s, which is no number", input, call->op->name, opf_dtype_name(dtype));
    return false;
}

static const opf_expr *as_float(opf_call *call, const opf_expr *e) { return opf_call_convert(call, OPF_FLOAT32, e); }

/* One result of the node over the extents of input 0. */
static opf_status mapped(opf_call *call, const opf_expr *value) {
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, opf_call_rank(call, 0), opf_call_input(call, 0)->dims, value));
    return OPF_OK;
}

/* Element of a table that has one entry for all or one for each index of the last axis of input 0. */
static const opf_expr *by_feature(opf_call *call, int table) {
    int last = opf_call_rank(call, 0) - 1;
    const opf_expr *index = opf_call_int(call, 0);
    if (!opf_is_value(opf_call_dim(call, table, 0), 1)) {
        opf_call_same(call, opf_call_dim(call, table, 0), opf_call_dim(call, 0, last), "one entry of the table a feature");
        index = opf_call_var(call, last);
    }
    return opf_call_load(call, table, &index);
}

/* ---- Scaler, Imputer, Normalizer ---- */

static opf_status build_scaler(opf_call *call) {
    if (!check_number(call, 0) || !opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the input")) return OPF_ERROR_INPUT;
    int offset = opf_table_input(call->node, "offset"), scale = opf_table_input(call->node, "scale");
    const opf_expr *value = as_float(call, opf_call_load_same(call, 0));
    if (offset >= 0) value = opf_binary(call->pool, OPF_OP_SUB, value, by_feature(call, offset));
    if (scale >= 0) value = opf_binary(call->pool, OPF_OP_MUL, value, by_feature(call, scale));
    return mapped(call, value);
}

static opf_status build_imputer(opf_call *call) {
    opf_pool *pool = call->pool;
    opf_dtype T = opf_call_dtype(call, 0);
    bool real = opf_dtype_is_float(T);
    if (!check_number(call, 0) || !opf_call_check_rank(call, 0, 1, OPF_MAX_RANK, "the input")) return OPF_ERROR_INPUT;
    int table = opf_table_input(call->node, real ? "imputed_value_floats" : "imputed_value_int64s");
    if (table < 0) return opf_call_error(call, "attribute", "there is nothing to impute: %s is missing", real ? "imputed_value_floats" : "imputed_value_int64s");
    double replaced = opf_node_float(call->node, "replaced_value_float", 0);
    const opf_expr *x = opf_call_load_same(call, 0), *missing;
    if (!real) missing = opf_binary(pool, OPF_OP_EQ, x, opf_int_of(pool, T, opf_node_int(call->node, "replaced_value_int64", 0)));
    else missing = isnan(replaced) ? opf_unary(pool, OPF_OP_ISNAN, x) : opf_binary(pool, OPF_OP_EQ, x, opf_real(pool, T, replaced));
    return mapped(call, opf_select(pool, missing, opf_call_convert(call, T, by_feature(call, table)), x));
}

/* Each row (the last axis) over its maximum, its sum of magnitudes or its length; a row of zeros stays. */
static opf_status build_normalizer(opf_call *call) {
    opf_pool *pool = call->pool;
    const char *norm = opf_node_string(call->node, "norm", "MAX");
    int last = opf_call_rank(call, 0) - 1;
    if (!check_number(call, 0) || !opf_call_check_rank(call, 0, 1, 2, "the input")) return OPF_ERROR_INPUT;
    bool largest = strcmp(norm, "MAX") == 0, squares = strcmp(norm, "L2") == 0;
    if (!largest && !squares && strcmp(norm, "L1") != 0) return opf_call_error(call, "attribute", "norm '%s' is none of MAX, L1, L2", norm);
    opf_reduction rows = opf_reduction_over(call, 0, 1, &last, true);
    const opf_expr *term = as_float(call, opf_reduction_load(call, &rows, 0)), *x = as_float(call, opf_call_load_same(call, 0));
    term = squares ? opf_binary(pool, OPF_OP_MUL, term, term) : largest ? term : opf_unary(pool, OPF_OP_ABS, term);
    int reduced = opf_reduction_stage(call, &rows, largest ? "max" : "sum", largest ? OPF_COMBINE_MAX : OPF_COMBINE_SUM, OPF_FLOAT32, OPF_FLOAT32, term);
    const opf_expr *divisor = opf_reduction_spread(call, &rows, reduced), *empty = opf_binary(pool, OPF_OP_EQ, divisor, opf_real(pool, OPF_FLOAT32, 0));
    if (squares) divisor = opf_unary(pool, OPF_OP_SQRT, divisor);
    return mapped(call, opf_select(pool, empty, x, opf_binary(pool, OPF_OP_DIV, x, divisor)));
}

/* The first of several tables that the node has. */
static int first_table(const opf_node *node, const char *const *names) {
    for (int k = 0; names[k]; k++)
        if (opf_table_input(node, names[k]) >= 0) return opf_table_input(node, names[k]);
    return -1;
}

/* ---- linear models ---- */

typedef enum post_transform { POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT } post_transform;

static bool read_post(opf_call *call, post_transform *out) {
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const char *given = opf_node_string(call->node, "post_transform", "NONE");
    for (int k = 0; k < (int)OPF_COUNT(names); k++)
        if (strcmp(given, names[k]) == 0) return *out = (post_transform)k, true;
    opf_call_error(call, "unsupported", "post_transform '%s' is not supported", given);
    return false;
}

static const opf_expr *logistic(opf_call *call, const opf_expr *x) {
    const opf_expr *one = opf_real(call->pool, OPF_FLOAT32, 1);
    return opf_binary(call->pool, OPF_OP_DIV, one, opf_binary(call->pool, OPF_OP_ADD, one, opf_unary(call->pool, OPF_OP_EXP, opf_unary(call->pool, OPF_OP_NEG, x))));
}

/* The inverse of the normal distribution at x, in the approximation of Winitzki. */
static const opf_expr *probit(opf_call *call, const opf_expr *x) {
    opf_pool *pool = call->pool;
    opf_dtype T = OPF_FLOAT32;
    const opf_expr *one = opf_real(pool, T, 1), *y = opf_binary(pool, OPF_OP_SUB, opf_binary(pool, OPF_OP_MUL, opf_real(pool, T, 2), x), one);
    const opf_expr *log = opf_unary(pool, OPF_OP_LOG, opf_binary(pool, OPF_OP_MUL, opf_binary(pool, OPF_OP_SUB, one, y), opf_binary(pool, OPF_OP_ADD, one, y)));
    const opf_expr *v = opf_binary(pool, OPF_OP_ADD, opf_real(pool, T, 2 / (3.14159 * 0.147)), opf_binary(pool, OPF_OP_MUL, opf_real(pool, T, 0.5), log));
    const opf_expr *inner = opf_binary(pool, OPF_OP_SUB, opf_binary(pool, OPF_OP_MUL, v, v), opf_binary(pool, OPF_OP_DIV, log, opf_real(pool, T, 0.147)));
    const opf_expr *root = opf_unary(pool, OPF_OP_SQRT, opf_binary(pool, OPF_OP_SUB, opf_unary(pool, OPF_OP_SQRT, inner), v));
    const opf_expr *negative = opf_binary(pool, OPF_OP_LT, y, opf_real(pool, T, 0));
    return opf_binary(pool, OPF_OP_MUL, opf_real(pool, T, 1.41421356), opf_select(pool, negative, opf_unary(pool, OPF_OP_NEG, root), root));
}

/* Rows of input 0: [n, features], or one row of features. Appends "scores" [n, targets]: x · coefficients + intercepts. */
static int linear_scores(opf_call *call, opf_dim targets) {
    opf_pool *pool = call->pool;
    int rank = opf_call_rank(call, 0), coefficients = opf_table_input(call->node, "coefficients"), intercepts = opf_table_input(call->node, "intercepts");
    opf_dim features = opf_call_dim(call, 0, rank - 1), extents[] = {rank == 2 ? opf_call_dim(call, 0, 0) : opf_int(pool, 1), targets, features};
    opf_call_same(call, opf_mul(pool, targets, features), opf_call_dim(call, coefficients, 0), "one coefficient a target and feature");
    const opf_expr *row = opf_var(pool, 0), *target = opf_var(pool, 1), *feature = opf_var(pool, 2), *x_at[] = {row, feature}, *at = opf_add(pool, opf_mul(pool, target, features), feature);
    const opf_expr *x = as_float(call, opf_call_load(call, 0, rank == 2 ? x_at : x_at + 1));
    static const char *const names[] = {"m", "n", "k"};
    int sum = opf_call_stage(call, "sum", 2, 1, extents, names, OPF_COMBINE_SUM, OPF_FLOAT32, OPF_FLOAT32, opf_binary(pool, OPF_OP_MUL, x, opf_call_load(call, coefficients, &at)), NULL);
    if (intercepts < 0) return sum;
    opf_call_same(call, opf_call_dim(call, intercepts, 0), targets, "one intercept a target");
    return opf_call_map(call, "scores", 2, extents, opf_binary(pool, OPF_OP_ADD, opf_call_load_same(call, sum), opf_call_load(call, intercepts, &target)));
}

/* A stage [n, m]: the scores after post_transform. SOFTMAX_ZERO leaves scores of 0 as they are. */
static int transformed(opf_call *call, int scores, post_transform post) {
    opf_pool *pool = call->pool;
    opf_dim extents[2];
    int last = 1;
    opf_call_dims(call, scores, extents);
    const opf_expr *x = opf_call_load_same(call, scores), *zero = opf_real(pool, OPF_FLOAT32, 0);
    if (post == POST_NONE) return scores;
    if (post == POST_LOGISTIC) return opf_call_map(call, "logistic", 2, extents, logistic(call, x));
    if (post == POST_PROBIT) return opf_call_map(call, "probit", 2, extents, probit(call, x));
    opf_reduction rows = opf_reduction_over(call, scores, 1, &last, true);
    int largest = opf_reduction_stage(call, &rows, "max", OPF_COMBINE_MAX, OPF_FLOAT32, OPF_FLOAT32, opf_reduction_load(call, &rows, scores));
    const opf_expr *power = opf_unary(pool, OPF_OP_EXP, opf_binary(pool, OPF_OP_SUB, x, opf_reduction_spread(call, &rows, largest)));
    if (post == POST_SOFTMAX_ZERO) power = opf_select(pool, opf_binary(pool, OPF_OP_EQ, x, zero), zero, power);
    int powers = opf_call_map(call, "exp", 2, extents, power);
    int total = opf_reduction_stage(call, &rows, "sum_exp", OPF_COMBINE_SUM, OPF_FLOAT32, OPF_FLOAT32, opf_reduction_load(call, &rows, powers));
    return opf_call_map(call, "softmax", 2, extents, opf_binary(pool, OPF_OP_DIV, opf_call_load_same(call, powers), opf_reduction_spread(call, &rows, total)));
}

static bool check_rows(opf_call *call) {
    if (!check_number(call, 0) || !opf_call_check_rank(call, 0, 1, 2, "the input")) return false;
    if (opf_table_input(call->node, "coefficients") < 0) opf_call_error(call, "attribute", "coefficients is missing");
    return !call->failed;
}

static opf_status build_linear_regressor(opf_call *call) {
    post_transform post;
    int64_t targets = opf_node_int(call->node, "targets", 1);
    if (!check_rows(call) || !read_post(call, &post)) return OPF_ERROR_INPUT;
    if (targets < 1) return opf_call_error(call, "attribute", "targets is %lld", (long long)targets);
    int scores = linear_scores(call, opf_call_int(call, targets));
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, transformed(call, scores, post));
    return OPF_OK;
}

/* One score for two classes: the second class has it; the first has its opposite or, as a result that is not transformed,
 * what is left to 1. */
static int both_classes(opf_call *call, int scores, bool complement) {
    opf_pool *pool = call->pool;
    opf_dim extents[] = {opf_call_dim(call, scores, 0), opf_int(pool, 2)};
    const opf_expr *at[] = {opf_var(pool, 0), opf_int(pool, 0)}, *score = opf_call_load(call, scores, at);
    const opf_expr *second = opf_binary(pool, OPF_OP_EQ, opf_var(pool, 1), opf_int(pool, 1));
    const opf_expr *other = complement ? opf_binary(pool, OPF_OP_SUB, opf_real(pool, OPF_FLOAT32, 1), score) : opf_unary(pool, OPF_OP_NEG, score);
    return opf_call_map(call, complement ? "complements" : "opposites", 2, extents, opf_select(pool, second, score, other));
}

static opf_status build_linear_classifier(opf_call *call) {
    opf_pool *pool = call->pool;
    post_transform post;
    static const char *const label_lists[] = {"classlabels_strings", "classlabels_ints", NULL};
    int labels = first_table(call->node, label_lists), intercepts = opf_table_input(call->node, "intercepts"), last = 1;
    if (!check_rows(call) || !read_post(call, &post)) return OPF_ERROR_INPUT;
    if (labels < 0) return opf_call_error(call, "attribute", "there are no labels of the classes");
    opf_dim classes = opf_call_dim(call, labels, 0), features = opf_call_dim(call, 0, opf_call_rank(call, 0) - 1), targets = classes;
    if (intercepts >= 0) targets = opf_call_dim(call, intercepts, 0);
    else if (opf_is_value(classes, 2) && opf_call_dim(call, opf_table_input(call->node, "coefficients"), 0) == features) targets = opf_int(pool, 1);
    bool single = opf_is_value(targets, 1) && opf_is_value(classes, 2);
    if (single && post == POST_PROBIT) return opf_call_error(call, "unsupported", "post_transform PROBIT of one score for two classes has no agreed meaning and is not supported");
    if (!single) opf_call_same(call, targets, classes, "one score a class");
    int scores = linear_scores(call, targets);
    if (call->failed) return OPF_ERROR_INPUT;
    int own = scores;
    if (single) scores = both_classes(call, own, false);
    opf_reduction rows = opf_reduction_over(call, scores, 1, &last, false);
    int best = opf_call_stage(call, "best", rows.n_axes, 1, rows.extents, NULL, OPF_COMBINE_ARGMAX, OPF_INT64, OPF_FLOAT32, opf_reduction_load(call, &rows, scores), opf_var(pool, rows.n_axes));
    const opf_expr *index = opf_call_load_same(call, best);
    opf_call_result(call, 0, opf_call_map(call, "label", 1, rows.extents, opf_call_load(call, labels, &index)));
    if (opf_call_wants(call, 1)) opf_call_result(call, 1, single && post != POST_LOGISTIC ? both_classes(call, own, true) : transformed(call, scores, post));
    return OPF_OK;
}

/* ---- SVMRegressor ---- */

typedef enum kernel_type { KERNEL_LINEAR, KERNEL_POLY, KERNEL_RBF, KERNEL_SIGMOID } kernel_type;

/* The kernel of a row and a vector from its sum: of products or, for RBF, of squared differences. */
static const opf_expr *kernel_value(opf_call *call, kernel_type type, const opf_expr *sum) {
    opf_pool *pool = call->pool;
    const opf_attr *given = opf_node_attr(call->node, "kernel_params");
    double parameters[3] = {0, 0, 0};
    for (size_t k = 0; k < 3 && given && given->kind == OPF_ATTR_FLOATS && k < given->count; k++) parameters[k] = given->floats[k];
    if (type == KERNEL_LINEAR) return sum;
    const opf_expr *scaled = opf_binary(pool, OPF_OP_MUL, sum, opf_real(pool, OPF_FLOAT32, type == KERNEL_RBF ? -parameters[0] : parameters[0]));
    if (type == KERNEL_RBF) return opf_unary(pool, OPF_OP_EXP, scaled);
    scaled = opf_binary(pool, OPF_OP_ADD, scaled, opf_real(pool, OPF_FLOAT32, parameters[1]));
    return type == KERNEL_SIGMOID ? opf_unary(pool, OPF_OP_TANH, scaled) : opf_binary(pool, OPF_OP_POW, scaled, opf_real(pool, OPF_FLOAT32, parameters[2]));
}

static bool read_kernel(opf_call *call, kernel_type *type) {
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const char *given = opf_node_string(call->node, "kernel_type", "LINEAR");
    for (int k = 0; k < (int)OPF_COUNT(names); k++)
        if (strcmp(given, names[k]) == 0) return *type = (kernel_type)k, true;
    opf_call_error(call, "attribute", "kernel_type '%s' is not supported", given);
    return false;
}

/* rho + sum over the supporting vectors of coefficient * kernel(x, vector); without them the coefficients are the one. */
static opf_status build_svm_regressor(opf_call *call) {
    opf_pool *pool = call->pool;
    kernel_type type;
    int64_t supports = opf_node_int(call->node, "n_supports", 0);
    int rank = opf_call_rank(call, 0), vectors = opf_table_input(call->node, supports > 0 ? "support_vectors" : "coefficients"), coefficients = opf_table_input(call->node, "coefficients");
    if (!check_rows(call) || !read_kernel(call, &type)) return OPF_ERROR_INPUT;
    if (vectors < 0) return opf_call_error(call, "attribute", "support_vectors is missing");
    const opf_attr *rho = opf_node_attr(call->node, "rho");
    double shift = rho && rho->kind == OPF_ATTR_FLOATS && rho->count > 0 ? rho->floats[0] : 0;
    opf_dim features = opf_call_dim(call, 0, rank - 1), count = opf_int(pool, supports > 0 ? supports : 1);
    opf_dim extents[] = {rank == 2 ? opf_call_dim(call, 0, 0) : opf_int(pool, 1), count, features};
    opf_call_same(call, opf_mul(pool, count, features), opf_call_dim(call, vectors, 0), "one number a vector and feature");
    if (supports > 0) opf_call_same(call, opf_call_dim(call, coefficients, 0), count, "one coefficient a vector");
    if (call->failed) return OPF_ERROR_INPUT;
    const opf_expr *row = opf_var(pool, 0), *vector = opf_var(pool, 1), *feature = opf_var(pool, 2), *x_at[] = {row, feature}, *at = opf_add(pool, opf_mul(pool, vector, features), feature);
    const opf_expr *x = as_float(call, opf_call_load(call, 0, rank == 2 ? x_at : x_at + 1)), *y = opf_call_load(call, vectors, &at), *difference = opf_binary(pool, OPF_OP_SUB, x, y);
    const opf_expr *term = type == KERNEL_RBF ? opf_binary(pool, OPF_OP_MUL, difference, difference) : opf_binary(pool, OPF_OP_MUL, x, y);
    int sums = opf_call_stage(call, "products", 2, 1, extents, NULL, OPF_COMBINE_SUM, OPF_FLOAT32, OPF_FLOAT32, term, NULL);
    int kernels = opf_call_map(call, "kernel", 2, extents, kernel_value(call, type, opf_call_load_same(call, sums)));
    opf_dim result[] = {extents[0], opf_int(pool, 1), count};
    const opf_expr *kernel_at[] = {row, opf_var(pool, 2)}, *weighted = opf_call_load(call, kernels, kernel_at), *which = opf_var(pool, 2);
    if (supports > 0) weighted = opf_binary(pool, OPF_OP_MUL, weighted, opf_call_load(call, coefficients, &which));
    int total = opf_call_stage(call, "sum", 2, 1, result, NULL, OPF_COMBINE_SUM, OPF_FLOAT32, OPF_FLOAT32, weighted, NULL);
    const opf_expr *value = opf_binary(pool, OPF_OP_ADD, opf_call_load_same(call, total), opf_real(pool, OPF_FLOAT32, shift));
    const opf_expr *positive = opf_binary(pool, OPF_OP_GT, value, opf_real(pool, OPF_FLOAT32, 0));
    if (opf_node_int(call->node, "one_class", 0) != 0) value = opf_select(pool, positive, opf_real(pool, OPF_FLOAT32, 1), opf_real(pool, OPF_FLOAT32, -1));
    opf_call_result(call, 0, opf_call_map(call, NULL, 2, result, value));
    return OPF_OK;
}

/* ---- encoders ---- */

static const opf_expr *default_value(opf_call *call, opf_dtype dtype) {
    const opf_attr *tensor = opf_node_attr(call->node, "default_tensor");
    if (tensor && tensor->kind == OPF_ATTR_TENSOR && tensor->tensors[0]->elements == 1 && tensor->tensors[0]->dtype == dtype)
        return opf_dtype_is_float(dtype) ? opf_real(call->pool, dtype, opf_tensor_get(tensor->tensors[0], 0)) : opf_int_of(call->pool, dtype, opf_tensor_get_int(tensor->tensors[0], 0));
    if (opf_dtype_is_float(dtype)) return opf_real(call->pool, dtype, opf_node_float(call->node, "default_float", -0.0));
    return opf_int_of(call->pool, dtype, opf_node_int(call->node, "default_int64", -1));
}

/* A list of an attribute as a tensor of one axis; NULL where there is none. */
static const opf_tensor *list_of(opf_call *call, const char *name) {
    const opf_attr *attr = opf_node_attr(call->node, name);
    const char *why;
    if (!attr) return NULL;
    int64_t count = (int64_t)attr->count;
    switch (attr->kind) {
    case OPF_ATTR_TENSOR: return attr->tensors[0];
    case OPF_ATTR_STRINGS: return opf_text_table(call, attr->count, attr->strings);
    case OPF_ATTR_INTS: return opf_tensor_new(call->arena, OPF_INT64, 1, &count, attr->ints, &why);
    case OPF_ATTR_FLOATS: return opf_tensor_new(call->arena, OPF_FLOAT32, 1, &count, attr->floats, &why);
    default: return NULL;
    }
}

static const opf_tensor *first_list(opf_call *call, const char *const *names) {
    for (int k = 0; names[k]; k++)
        if (list_of(call, names[k])) return list_of(call, names[k]);
    return NULL;
}

/* One element: what stands for a key that is not there. */
static const opf_tensor *default_element(opf_call *call, opf_dtype dtype) {
    const opf_attr *given = opf_node_attr(call->node, "default_tensor");
    const char *text = opf_node_string(call->node, "default_string", "_Unused"), *why;
    int64_t one = 1;
    if (given && given->kind == OPF_ATTR_TENSOR && given->tensors[0]->elements == 1 && given->tensors[0]->dtype == dtype) return given->tensors[0];
    if (dtype == OPF_STRING) return opf_text_table(call, 1, opf_arena_copy(call->arena, &text, sizeof text));
    opf_tensor *made = opf_tensor_zeros(call->arena, dtype, 1, &one, &why);
    if (opf_dtype_is_float(dtype)) opf_dtype_store(dtype, (void *)(uintptr_t)made->data, 0, opf_node_float(call->node, "default_float", -0.0));
    else opf_dtype_store_int(dtype, (void *)(uintptr_t)made->data, 0, opf_node_int(call->node, "default_int64", -1));
    return made;
}

/* Strings on either side: by a kernel that knows text. */
static opf_status encode_text(opf_call *call, const opf_tensor *keys, const opf_tensor *values) { return opf_text_lookup(call, keys, values, default_element(call, values->dtype)); }

/* Version 1, and CategoryMapper: names for the numbers 0, 1, … or those given. */
static opf_status build_named(opf_call *call, const char *names, const char *numbers) {
    const opf_tensor *texts = list_of(call, names), *given = numbers ? list_of(call, numbers) : NULL;
    const char *why;
    if (!texts || (numbers && !given)) return opf_call_error(call, "attribute", "%s is missing", !texts ? names : numbers);
    if (!given) {
        opf_tensor *counted = opf_tensor_zeros(call->arena, OPF_INT64, 1, &texts->elements, &why);
        for (int64_t k = 0; k < texts->elements; k++) ((int64_t *)(uintptr_t)counted->data)[k] = k;
        given = counted;
    }
    bool text = opf_call_dtype(call, 0) == OPF_STRING;
    return encode_text(call, text ? texts : given, text ? given : texts);
}

static opf_status build_label_encoder_1(opf_call *call) { return build_named(call, "classes_strings", NULL); }
static opf_status build_category_mapper(opf_call *call) { return build_named(call, "cats_strings", "cats_int64s"); }

/* Each element is looked up among the keys: the first equal one's value, or the default. A NaN equals a NaN. */
static opf_status build_label_encoder(opf_call *call) {
    opf_pool *pool = call->pool;
    static const char *const key_lists[] = {"keys_strings", "keys_int64s", "keys_floats", "keys_tensor", NULL}, *const value_lists[] = {"values_strings", "values_int64s", "values_floats", "values_tensor", NULL};
    const opf_tensor *key_list = first_list(call, key_lists), *value_list = first_list(call, value_lists);
    if (!key_list || !value_list) return opf_call_error(call, "attribute", "the %s are missing", key_list ? "values" : "keys");
    if (key_list->dtype == OPF_STRING || value_list->dtype == OPF_STRING) return encode_text(call, key_list, value_list);
    static const char *const key_names[] = {"keys_int64s", "keys_floats", "keys_tensor", NULL}, *const value_names[] = {"values_int64s", "values_floats", "values_tensor", NULL};
    int keys = first_table(call->node, key_names), values = first_table(call->node, value_names), rank = opf_call_rank(call, 0);
    if (keys < 0 || values < 0) return opf_call_error(call, "attribute", "keys and values must be lists of numbers or strings");
    if (!check_number(call, 0) || !opf_call_check_rank(call, keys, 1, 1, "the keys") || !opf_call_check_rank(call, values, 1, 1, "the values")) return OPF_ERROR_INPUT;
    if (opf_call_dtype(call, keys) != opf_call_dtype(call, 0)) return opf_call_error(call, "type", "keys and input must have the same type");
    opf_call_same(call, opf_call_dim(call, keys, 0), opf_call_dim(call, values, 0), "one value a key");
    opf_call_require_ge_always(call, opf_call_dim(call, keys, 0), opf_int(pool, 1), "there is a key");
    if (call->failed || rank >= OPF_MAX_RANK) return call->failed ? OPF_ERROR_INPUT : opf_call_error(call, "shape", "an input of rank %d is not supported", rank);
    opf_dim extents[OPF_MAX_RANK];
    opf_call_dims(call, 0, extents);
    extents[rank] = opf_call_dim(call, keys, 0);
    const opf_expr *x = opf_call_load_same(call, 0), *number = opf_var(pool, rank), *key = opf_call_load(call, keys, &number), *equal = opf_binary(pool, OPF_OP_EQ, x, key);
    if (opf_dtype_is_float((opf_dtype)x->dtype)) equal = opf_binary(pool, OPF_OP_OR, equal, opf_binary(pool, OPF_OP_AND, opf_unary(pool, OPF_OP_ISNAN, x), opf_unary(pool, OPF_OP_ISNAN, key)));
    const opf_expr *score = opf_select(pool, equal, opf_int_of(pool, OPF_INT32, 1), opf_int_of(pool, OPF_INT32, 0));
    int found = opf_call_stage(call, "found", rank, 1, extents, NULL, OPF_COMBINE_MAX, OPF_INT32, OPF_INT32, score, NULL);
    int where = opf_call_stage(call, "where", rank, 1, extents, NULL, OPF_COMBINE_ARGMAX, OPF_INT64, OPF_INT32, score, number);
    const opf_expr *index = opf_call_load_same(call, where), *known = opf_binary(pool, OPF_OP_NE, opf_call_load_same(call, found), opf_int_of(pool, OPF_INT32, 0));
    return mapped(call, opf_select(pool, known, opf_call_load(call, values, &index), default_value(call, opf_call_dtype(call, values))));
}

/* One more axis: 1 where the element is the category, else 0; an unknown one gives zeros. */
static opf_status build_one_hot(opf_call *call) {
    opf_pool *pool = call->pool;
    int categories = opf_table_input(call->node, "cats_int64s"), rank = opf_call_rank(call, 0);
    const opf_attr *texts = opf_node_attr(call->node, "cats_strings");
    if (opf_call_dtype(call, 0) == OPF_STRING && texts && texts->kind == OPF_ATTR_STRINGS) return opf_text_one_hot(call, texts->count, texts->strings);
    if (categories < 0) return opf_call_error(call, "attribute", "there are no categories for an input of %s", opf_dtype_name(opf_call_dtype(call, 0)));
    if (!check_number(call, 0) || rank >= OPF_MAX_RANK) return call->failed ? OPF_ERROR_INPUT : opf_call_error(call, "shape", "an input of rank %d is not supported", rank);
    opf_dim extents[OPF_MAX_RANK];
    opf_call_dims(call, 0, extents);
    extents[rank] = opf_call_dim(call, categories, 0);
    const opf_expr *number = opf_var(pool, rank), *same = opf_binary(pool, OPF_OP_EQ, opf_call_convert(call, OPF_INT64, opf_call_load_same(call, 0)), opf_call_load(call, categories, &number));
    opf_call_result(call, 0, opf_call_map(call, NULL, rank + 1, extents, opf_select(pool, same, opf_real(pool, OPF_FLOAT32, 1), opf_real(pool, OPF_FLOAT32, 0))));
    return OPF_OK;
}

/* The columns of all inputs side by side, as many of each as inputdimensions says: cut, or filled with zeros. */
static opf_status build_feature_vectorizer(opf_call *call) {
    opf_pool *pool = call->pool;
    const int64_t *columns;
    int count = opf_node_ints(call->node, "inputdimensions", &columns), n = call->node->n_inputs;
    if (count != n) return opf_call_error(call, "attribute", "inputdimensions has %d entries for %d inputs", count < 0 ? 0 : count, n);
    opf_dim rows = NULL, end = opf_int(pool, 0);
    const opf_expr *value = NULL, *column = opf_var(pool, 1);
    for (int k = 0; k < n; k++) {
        if (!opf_call_input(call, k) || !check_number(call, k) || !opf_call_check_rank(call, k, 1, 2, "each input")) return opf_call_error(call, "shape", "input %d must be a vector or a matrix of numbers", k);
        if (columns[k] < 0 || columns[k] > INT32_MAX) return opf_call_error(call, "attribute", "inputdimensions holds %lld", (long long)columns[k]);
        bool matrix = opf_call_rank(call, k) == 2;
        opf_dim own_rows = matrix ? opf_call_dim(call, k, 0) : opf_int(pool, 1), width = opf_call_dim(call, k, matrix);
        rows = rows ? opf_call_same(call, rows, own_rows, "all inputs have the same rows") : own_rows;
        const opf_expr *at[] = {opf_var(pool, 0), opf_sub(pool, column, end)}, *own = as_float(call, opf_call_load(call, k, matrix ? at : at + 1));
        if (!opf_call_proves_le(call, opf_int(pool, columns[k]), width)) own = opf_select(pool, opf_call_less(call, at[1], width), own, opf_real(pool, OPF_FLOAT32, 0));
        value = value ? opf_select(pool, opf_call_less(call, column, end), value, own) : own;
        end = opf_add(pool, end, opf_int(pool, columns[k]));
    }
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim extents[] = {rows, end};
    opf_call_result(call, 0, opf_call_map(call, NULL, 2, extents, value));
    return OPF_OK;
}

/* ---- ZipMap ---- */

/* Where ONNX makes a map of each row, from classes to the row's numbers, the result here is the tensor of the numbers: a row a map,
 * a column a class, in the order of the classes. A vector is one row. */
static opf_status build_zip_map(opf_call *call) {
    if (call->node->n_outputs == 0 || opf_call_dtype(call, 0) != OPF_FLOAT32) return opf_call_error(call, "type", "ZipMap of %s is not supported", opf_dtype_name(opf_call_dtype(call, 0)));
    if (!opf_call_check_rank(call, 0, 1, 2, "the input")) return OPF_ERROR_INPUT;
    const opf_attr *numbers = opf_node_attr(call->node, "classlabels_int64s"), *texts = opf_node_attr(call->node, "classlabels_strings");
    size_t n_numbers = numbers && numbers->kind == OPF_ATTR_INTS ? numbers->count : 0, n_texts = texts && texts->kind == OPF_ATTR_STRINGS ? texts->count : 0;
    if ((n_numbers > 0) == (n_texts > 0)) return opf_call_error(call, "attribute", "one of classlabels_int64s and classlabels_strings must hold the classes");
    int rank = opf_call_rank(call, 0);
    opf_dim columns = opf_call_dim(call, 0, rank - 1);
    columns = opf_call_same(call, columns, opf_int(call->pool, (int64_t)(n_numbers + n_texts)), "a row has one number for each class");
    if (call->failed) return OPF_ERROR_INPUT;
    opf_dim extents[] = {rank == 2 ? opf_call_dim(call, 0, 0) : opf_int(call->pool, 1), columns};
    return opf_call_reshape(call, 2, extents);
}

#define ML "ai.onnx.ml"
const opf_op opf_ops_ml[] = {
    {ML, "Scaler", 1, 1, 1, 1, OPF_KIND_ELEMWISE, 0, build_scaler, NULL},
    {ML, "Imputer", 1, 1, 1, 1, OPF_KIND_ELEMWISE, 0, build_imputer, NULL},
    {ML, "Normalizer", 1, 1, 1, 1, OPF_KIND_OPAQUE, 0, build_normalizer, NULL},
    {ML, "LinearRegressor", 1, 1, 1, 1, OPF_KIND_OUT_ELEMWISE_FUSABLE, 0, build_linear_regressor, NULL},
    {ML, "LinearClassifier", 1, 1, 1, 2, OPF_KIND_OPAQUE, 0, build_linear_classifier, NULL},
    {ML, "SVMRegressor", 1, 1, 1, 1, OPF_KIND_OPAQUE, 0, build_svm_regressor, NULL},
    {ML, "LabelEncoder", 1, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_label_encoder_1, NULL},
    {ML, "CategoryMapper", 1, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_category_mapper, NULL},
    {ML, "LabelEncoder", 2, 1, 1, 1, OPF_KIND_OPAQUE, 0, build_label_encoder, NULL},
    {ML, "OneHotEncoder", 1, 1, 1, 1, OPF_KIND_INJECTIVE, 0, build_one_hot, NULL},
    {ML, "ZipMap", 1, 1, 1, 1, OPF_KIND_INJECTIVE, OPF_OP_VIEW, build_zip_map, NULL},
    {ML, "FeatureVectorizer", 1, 1, -1, 1, OPF_KIND_INJECTIVE, 0, build_feature_vectorizer, NULL},
};
const size_t opf_ops_ml_count = OPF_COUNT(opf_ops_ml);
