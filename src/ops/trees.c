/* Decision trees (ai.onnx.ml): TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor. Their attributes become one
 * table of nodes, whose leaves point at weights. */
#include <stdlib.h>
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"
#include "ops/library.h"

#include "opf_lib_trees.h"

typedef struct forest {
    opf_call *call;
    int64_t n_nodes, n_weights;
    opf_lib_tree_node *nodes;
    double *splits, *weights, *members;
    int32_t *targets, *roots;
    bool roots_given; /* else every node that no other points at is one */
    int64_t n_roots, n_members;
    int64_t n_targets;
} forest;

/* ---- attributes ---- */

static int64_t ints_of(opf_call *call, const char *name, const int64_t **out) {
    int count = opf_node_ints(call->node, name, out);
    return count < 0 ? 0 : count;
}

/* Numbers of a list of floats, or of a tensor attribute of that name (or NAME_as_tensor); count, 0 where absent. */
static int64_t reals_of(opf_call *call, const char *name, double **out) {
    const opf_attr *attr = opf_node_attr(call->node, name);
    if (!attr) attr = opf_node_attr(call->node, opf_arena_printf(call->arena, "%s_as_tensor", name));
    if (!attr) return 0;
    bool tensor = attr->kind == OPF_ATTR_TENSOR;
    int64_t count = tensor ? attr->tensors[0]->elements : attr->kind == OPF_ATTR_FLOATS ? (int64_t)attr->count : 0;
    *out = OPF_ARRAY(call->arena, double, count + 1);
    for (int64_t k = 0; k < count; k++) (*out)[k] = tensor ? opf_tensor_get(attr->tensors[0], k) : (double)attr->floats[k];
    return count;
}

static bool check_count(forest *f, const char *name, int64_t count, int64_t want) {
    if (count == want) return true;
    opf_call_error(f->call, "attribute", "%s has %lld entries and must have %lld", name, (long long)count, (long long)want);
    return false;
}

/* ---- the old form: nodes by (tree, node), weights by the same ---- */

typedef struct place { int64_t tree, node; int32_t index; } place;

static int compare_places(const void *left, const void *right) {
    const place *a = left, *b = right;
    if (a->tree != b->tree) return a->tree < b->tree ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static int32_t find_place(const place *places, int64_t count, int64_t tree, int64_t node) {
    place key = {tree, node, 0};
    const place *found = count ? bsearch(&key, places, (size_t)count, sizeof key, compare_places) : NULL;
    return found ? found->index : -1;
}

static int mode_of(const char *text) {
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "", "LEAF"};
    for (int k = 0; k < (int)OPF_COUNT(names); k++)
        if (strcmp(names[k], text) == 0) return k;
    return -1;
}

static void broken(forest *f, const char *what) {
    if (!f->call->failed) opf_call_error(f->call, "attribute", "the trees are broken: %s", what);
}

static place *read_nodes(forest *f) {
    opf_call *call = f->call;
    const int64_t *trees, *ids, *features, *yes, *no, *missing;
    const opf_attr *modes = opf_node_attr(call->node, "nodes_modes");
    int64_t n = f->n_nodes = ints_of(call, "nodes_nodeids", &ids), n_missing = ints_of(call, "nodes_missing_value_tracks_true", &missing);
    bool whole = check_count(f, "nodes_treeids", ints_of(call, "nodes_treeids", &trees), n) && check_count(f, "nodes_featureids", ints_of(call, "nodes_featureids", &features), n) &&
                 check_count(f, "nodes_truenodeids", ints_of(call, "nodes_truenodeids", &yes), n) && check_count(f, "nodes_falsenodeids", ints_of(call, "nodes_falsenodeids", &no), n) &&
                 check_count(f, "nodes_values", reals_of(call, "nodes_values", &f->splits), n) && check_count(f, "nodes_modes", modes && modes->kind == OPF_ATTR_STRINGS ? (int64_t)modes->count : 0, n);
    if (!whole) return NULL;
    f->nodes = OPF_ARRAY(call->arena, opf_lib_tree_node, n + 1);
    place *places = OPF_ARRAY(call->arena, place, n + 1);
    for (int64_t k = 0; k < n; k++) places[k] = (place){trees[k], ids[k], (int32_t)k};
    qsort(places, (size_t)n, sizeof *places, compare_places);
    for (int64_t k = 0; k < n; k++) {
        int mode = mode_of(modes->strings[k]);
        if (mode < 0) broken(f, "a mode is unknown");
        if (features[k] < 0 || features[k] > INT32_MAX) broken(f, "a feature is out of range");
        f->nodes[k] = (opf_lib_tree_node){.feature = (int32_t)features[k], .mode = mode, .yes = -1, .no = -1};
        if (k < n_missing && missing[k] && mode != OPF_LIB_LEAF) f->nodes[k].mode += OPF_LIB_MISSING;
        if (mode == OPF_LIB_LEAF) continue;
        f->nodes[k].yes = find_place(places, n, trees[k], yes[k]);
        f->nodes[k].no = find_place(places, n, trees[k], no[k]);
    }
    return places;
}

/* Nodes that no other points at, in order. */
static void find_roots(forest *f) {
    bool *pointed = OPF_ARRAY(f->call->arena, bool, f->n_nodes + 1);
    f->roots = OPF_ARRAY(f->call->arena, int32_t, f->n_nodes + 1);
    for (int64_t k = 0; k < f->n_nodes; k++) {
        if (f->nodes[k].yes >= 0) pointed[f->nodes[k].yes] = true;
        if (f->nodes[k].no >= 0) pointed[f->nodes[k].no] = true;
    }
    for (int64_t k = 0; k < f->n_nodes; k++)
        if (!pointed[k]) f->roots[f->n_roots++] = (int32_t)k;
    if (f->n_roots == 0 && f->n_nodes > 0) broken(f, "a branch leads back to itself");
}

/* Weights of leaves: attributes PREFIX_treeids, PREFIX_nodeids, PREFIX_ids, PREFIX_weights; those of one node side by side. */
static void read_weights(forest *f, const char *prefix, const place *places) {
    opf_call *call = f->call;
    const int64_t *trees, *nodes, *ids;
    double *weights = NULL;
    int64_t n = f->n_weights = ints_of(call, opf_arena_printf(call->arena, "%s_ids", prefix), &ids);
    bool whole = check_count(f, "the list of trees", ints_of(call, opf_arena_printf(call->arena, "%s_treeids", prefix), &trees), n) &&
                 check_count(f, "the list of nodes", ints_of(call, opf_arena_printf(call->arena, "%s_nodeids", prefix), &nodes), n) &&
                 check_count(f, "the list of weights", reals_of(call, opf_arena_printf(call->arena, "%s_weights", prefix), &weights), n);
    if (!whole) return;
    int32_t *owner = OPF_ARRAY(call->arena, int32_t, n + 1), next = 0;
    for (int64_t k = 0; k < n; k++) {
        owner[k] = find_place(places, f->n_nodes, trees[k], nodes[k]);
        if (owner[k] < 0 || f->nodes[owner[k]].mode != OPF_LIB_LEAF) {
            broken(f, "a weight belongs to no leaf");
            return;
        }
        if (ids[k] < 0 || ids[k] >= f->n_targets) broken(f, "a weight is of no target");
        f->nodes[owner[k]].number++;
    }
    for (int64_t k = 0; k < f->n_nodes; k++) {
        f->nodes[k].first = next;
        next += f->nodes[k].number;
        f->nodes[k].number = 0;
    }
    f->targets = OPF_ARRAY(call->arena, int32_t, n + 1);
    f->weights = OPF_ARRAY(call->arena, double, n + 1);
    for (int64_t k = 0; k < n; k++) {
        int32_t at = f->nodes[owner[k]].first + f->nodes[owner[k]].number++;
        f->targets[at] = (int32_t)ids[k];
        f->weights[at] = weights[k];
    }
}

/* ---- the new form: leaves in a list of their own, put behind the nodes ---- */

static int32_t child(int64_t inner, int64_t leaves, int64_t id, bool leaf) {
    if (id < 0 || id >= (leaf ? leaves : inner)) return -1;
    return (int32_t)(leaf ? inner + id : id);
}

static void read_members(forest *f, int64_t inner) {
    double *given = NULL;
    int64_t n = reals_of(f->call, "membership_values", &given), at = 0;
    f->members = given;
    f->n_members = n;
    for (int64_t k = 0; k < inner; k++) {
        if (f->nodes[k].mode != OPF_LIB_MEMBER) continue;
        f->nodes[k].first = (int32_t)at;
        while (at < n && given[at] == given[at]) at++;
        f->nodes[k].number = (int32_t)(at - f->nodes[k].first);
        at++; /* a NaN ends a set */
    }
}

static void read_leaves(forest *f, int64_t inner) {
    const int64_t *ids;
    double *weights = NULL;
    int64_t n = f->n_weights = ints_of(f->call, "leaf_targetids", &ids);
    if (!check_count(f, "leaf_weights", reals_of(f->call, "leaf_weights", &weights), n)) return;
    f->weights = weights;
    f->targets = OPF_ARRAY(f->call->arena, int32_t, n + 1);
    for (int64_t k = 0; k < n; k++) {
        if (ids[k] < 0 || ids[k] >= f->n_targets) broken(f, "a leaf is of no target");
        f->targets[k] = (int32_t)ids[k];
        f->nodes[inner + k] = (opf_lib_tree_node){.mode = OPF_LIB_LEAF, .yes = -1, .no = -1, .first = (int32_t)k, .number = 1};
    }
}

static void read_new_form(forest *f) {
    opf_call *call = f->call;
    const int64_t *features, *yes, *no, *yes_leaf, *no_leaf, *roots, *missing, *leaves;
    double *modes = NULL, *splits = NULL;
    int64_t n = ints_of(call, "nodes_featureids", &features), n_leaves = ints_of(call, "leaf_targetids", &leaves), n_missing = ints_of(call, "nodes_missing_value_tracks_true", &missing);
    bool whole = check_count(f, "nodes_truenodeids", ints_of(call, "nodes_truenodeids", &yes), n) && check_count(f, "nodes_falsenodeids", ints_of(call, "nodes_falsenodeids", &no), n) &&
                 check_count(f, "nodes_trueleafs", ints_of(call, "nodes_trueleafs", &yes_leaf), n) && check_count(f, "nodes_falseleafs", ints_of(call, "nodes_falseleafs", &no_leaf), n) &&
                 check_count(f, "nodes_splits", reals_of(call, "nodes_splits", &splits), n) && check_count(f, "nodes_modes", reals_of(call, "nodes_modes", &modes), n);
    if (!whole) return;
    f->n_nodes = n + n_leaves;
    f->nodes = OPF_ARRAY(call->arena, opf_lib_tree_node, f->n_nodes + 1);
    f->splits = OPF_ARRAY(call->arena, double, f->n_nodes + 1);
    if (n) memcpy(f->splits, splits, (size_t)n * sizeof *splits);
    for (int64_t k = 0; k < n; k++) {
        if (!(modes[k] >= 0 && modes[k] <= OPF_LIB_MEMBER)) broken(f, "a mode is unknown");
        if (features[k] < 0 || features[k] > INT32_MAX) broken(f, "a feature is out of range");
        f->nodes[k] = (opf_lib_tree_node){.feature = (int32_t)features[k], .mode = call->failed ? 0 : (int32_t)modes[k],
                                          .yes = child(n, n_leaves, yes[k], yes_leaf[k] != 0), .no = child(n, n_leaves, no[k], no_leaf[k] != 0)};
    }
    read_members(f, n);
    for (int64_t k = 0; k < n && k < n_missing; k++)
        if (missing[k]) f->nodes[k].mode += OPF_LIB_MISSING;
    read_leaves(f, n);
    f->roots_given = true;
    f->n_roots = ints_of(call, "tree_roots", &roots);
    f->roots = OPF_ARRAY(call->arena, int32_t, f->n_roots + 1);
    for (int64_t k = 0; k < f->n_roots; k++) /* a tree that is one leaf is a node whose sides both lead to it */
        if ((f->roots[k] = child(n, 0, roots[k], false)) < 0) broken(f, "a root is out of range");
}

/* ---- the call ---- */

/* Every way down must end: children exist, and numbers of nodes on a way never repeat. Depth first with marks. */
static void check_ways(forest *f) {
    char *state = OPF_ARRAY(f->call->arena, char, f->n_nodes + 1); /* 0 new, 1 on the way, 2 done */
    int32_t *way = OPF_ARRAY(f->call->arena, int32_t, f->n_nodes + 1);
    for (int64_t r = 0; r < f->n_roots && !f->call->failed; r++) {
        int64_t depth = 0;
        if (state[f->roots[r]] == 0) way[depth++] = f->roots[r];
        while (depth > 0) {
            opf_lib_tree_node *node = &f->nodes[way[depth - 1]];
            bool leaf = (node->mode & ~OPF_LIB_MISSING) == OPF_LIB_LEAF;
            if (!leaf && (node->yes < 0 || node->no < 0)) {
                broken(f, "a branch leads nowhere");
                return;
            }
            state[way[depth - 1]] = 1;
            int32_t next = leaf ? -1 : state[node->yes] != 2 ? node->yes : state[node->no] != 2 ? node->no : -1;
            if (next < 0) {
                state[way[--depth]] = 2;
            } else if (state[next] == 1) {
                broken(f, "a branch leads back to itself");
                return;
            } else {
                way[depth++] = next;
            }
        }
    }
    for (int64_t k = 0; !f->roots_given && k < f->n_nodes && !f->call->failed; k++) /* roots lead to all that is on no circle */
        if (state[k] == 0) broken(f, "a branch leads back to itself");
}

static void check_features(forest *f, opf_dim features) {
    int64_t most = -1;
    for (int64_t k = 0; k < f->n_nodes; k++)
        if ((f->nodes[k].mode & ~OPF_LIB_MISSING) != OPF_LIB_LEAF && f->nodes[k].feature > most) most = f->nodes[k].feature;
    if (most >= 0) opf_call_require_ge(f->call, features, opf_call_int(f->call, most + 1), "the trees' features exist");
}

static void add_constant(opf_call *call, opf_dtype dtype, int64_t count, const void *data) {
    const char *why = NULL;
    static const char nothing[8] = {0};
    opf_tensor *tensor = opf_tensor_new(call->arena, dtype, 1, &count, data ? data : nothing, &why);
    if (tensor) opf_library_constant(call, tensor);
    else opf_call_error(call, "shape", "a list of the trees is too long: %s", why);
}

/* What a kind of ensemble adds: its numbers as in opf_lib_trees.h, base values and labels. */
typedef struct ending {
    int aggregate, transform, classifier;
    int64_t n_base, n_labels;
    const double *base;
    const void *labels;
    opf_dtype label_type;
} ending;

static opf_status call_trees(forest *f, const ending *end, opf_dtype dtype) {
    opf_call *call = f->call;
    if (call->failed) return OPF_ERROR_INPUT;
    int rank = opf_call_rank(call, 0);
    if (!opf_call_check_rank(call, 0, 1, 2, "the features")) return OPF_ERROR_INPUT;
    check_ways(f);
    check_features(f, opf_call_dim(call, 0, rank - 1));
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_library(call, "trees", 1, 2);
    add_constant(call, OPF_INT32, 6 * f->n_nodes, f->nodes);
    add_constant(call, OPF_FLOAT64, f->n_nodes, f->splits);
    add_constant(call, OPF_INT32, f->n_weights, f->targets);
    add_constant(call, OPF_FLOAT64, f->n_weights, f->weights);
    add_constant(call, OPF_INT32, f->n_roots, f->roots);
    double *base = OPF_ARRAY(call->arena, double, f->n_targets + 1); /* one for each target, 0 where none is given */
    for (int64_t k = 0; k < f->n_targets && k < end->n_base; k++) base[k] = end->base[k];
    add_constant(call, OPF_FLOAT64, f->n_targets, base);
    add_constant(call, OPF_FLOAT64, f->n_members, f->members);
    if (end->classifier) add_constant(call, end->label_type, end->n_labels, end->labels);
    opf_library_int(call, f->n_targets);
    opf_library_int(call, end->aggregate);
    opf_library_int(call, end->transform);
    opf_library_int(call, end->classifier);
    opf_library_scratch(call, opf_call_int(call, 16 * f->n_targets));
    opf_dim dims[] = {rank < 2 ? opf_call_int(call, 1) : opf_call_dim(call, 0, 0), opf_call_int(call, f->n_targets)};
    if (end->classifier) opf_library_result(call, 0, end->label_type, 1, dims);
    opf_library_result(call, end->classifier ? 1 : 0, dtype, 2, dims);
    return call->failed ? OPF_ERROR_INPUT : OPF_OK;
}

static int transform_of(opf_call *call) {
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const char *text = opf_node_string(call->node, "post_transform", "NONE");
    for (int k = 0; k < (int)OPF_COUNT(names); k++)
        if (strcmp(names[k], text) == 0) return k;
    opf_call_error(call, "attribute", "post_transform '%s' is unknown", text);
    return 0;
}

/* ---- classifier ---- */

/* Do all weights speak of one class? */
static bool one_class(const forest *f) {
    for (int64_t k = 1; k < f->n_weights; k++)
        if (f->targets[k] != f->targets[0]) return false;
    return true;
}

static bool all_positive(const forest *f) {
    for (int64_t k = 0; k < f->n_weights; k++)
        if (f->weights[k] < 0) return false;
    return true;
}

static opf_status build_classifier(opf_call *call) {
    forest f = {.call = call};
    const int64_t *labels = NULL;
    double *base = NULL;
    const opf_attr *texts = opf_node_attr(call->node, "classlabels_strings");
    bool text = texts && texts->kind == OPF_ATTR_STRINGS && texts->count;
    f.n_targets = text ? (int64_t)texts->count : ints_of(call, "classlabels_int64s", &labels);
    if (f.n_targets < 1) return opf_call_error(call, "attribute", "the classifier has no class labels");
    ending end = {.transform = transform_of(call), .classifier = 1, .n_labels = f.n_targets, .labels = text ? (const void *)texts->strings : labels, .label_type = text ? OPF_STRING : OPF_INT64};
    place *places = read_nodes(&f);
    if (places) find_roots(&f);
    if (places) read_weights(&f, "class", places);
    if (call->failed) return OPF_ERROR_INPUT;
    end.n_base = reals_of(call, "base_values", &base);
    end.base = base;
    if (f.n_targets == 2 && one_class(&f)) end.classifier = all_positive(&f) ? 3 : 2;
    return call_trees(&f, &end, OPF_FLOAT32);
}

/* ---- regressors ---- */

static opf_status build_regressor(opf_call *call) {
    static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    forest f = {.call = call, .n_targets = opf_node_int(call->node, "n_targets", 1)};
    double *base = NULL;
    ending end = {.transform = transform_of(call), .aggregate = -1};
    const char *text = opf_node_string(call->node, "aggregate_function", "SUM");
    for (int k = 0; k < (int)OPF_COUNT(names); k++)
        if (strcmp(names[k], text) == 0) end.aggregate = k;
    if (end.aggregate < 0 || f.n_targets < 1 || f.n_targets > INT32_MAX) return opf_call_error(call, "attribute", "aggregate_function or n_targets is none of ONNX's");
    place *places = read_nodes(&f);
    if (places) find_roots(&f);
    if (places) read_weights(&f, "target", places);
    end.n_base = reals_of(call, "base_values", &base);
    end.base = base;
    return call_trees(&f, &end, OPF_FLOAT32);
}

static opf_status build_ensemble(opf_call *call) {
    static const int aggregates[] = {1, 0, 2, 3}; /* AVERAGE, SUM, MIN, MAX */
    int64_t aggregate = opf_node_int(call->node, "aggregate_function", 1), transform = opf_node_int(call->node, "post_transform", 0);
    forest f = {.call = call, .n_targets = opf_node_int(call->node, "n_targets", 1)};
    if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4 || f.n_targets < 1 || f.n_targets > INT32_MAX)
        return opf_call_error(call, "attribute", "aggregate_function, post_transform or n_targets is none of ONNX's");
    ending end = {.aggregate = aggregates[aggregate], .transform = (int)transform};
    read_new_form(&f);
    return call_trees(&f, &end, opf_call_dtype(call, 0));
}

const opf_op opf_ops_trees[] = {
    {"ai.onnx.ml", "TreeEnsembleClassifier", 1, 1, 1, 2, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_classifier, NULL},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 1, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_regressor, NULL},
    {"ai.onnx.ml", "TreeEnsemble", 5, 1, 1, 1, OPF_KIND_OPAQUE, OPF_OP_LIBRARY, build_ensemble, NULL},
};
const size_t opf_ops_trees_count = OPF_COUNT(opf_ops_trees);
