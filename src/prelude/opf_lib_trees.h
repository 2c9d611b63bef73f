/* Decision trees over rows of features.
 * in: X [n, features] or [features], then constants: nodes int32 [count, 6] (feature, mode, true, false, first, number),
 * splits float64 [count], targets int32, weights float64 (of leaves), roots int32, base float64 or absent, members float64
 * (of sets), labels (classifiers).
 * out: regressors: Y [n, targets]; classifiers: label [n], scores [n, targets].
 * ints: targets, aggregate (0 sum, 1 average, 2 min, 3 max), transform (0 none, 1 softmax, 2 logistic, 3 softmax of all but
 * zeros, 4 probit), classifier (0 no, 1 yes, 2 of two classes by the weights of one, 3 as 2 with weights that are all
 * positive). scratch: 16 bytes a target. */
#ifndef OPF_LIB_TREES_H
#define OPF_LIB_TREES_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif

enum {
    OPF_LIB_LEQ, OPF_LIB_LT, OPF_LIB_GTE, OPF_LIB_GT, OPF_LIB_EQ, OPF_LIB_NEQ, OPF_LIB_MEMBER, OPF_LIB_LEAF,
    OPF_LIB_MISSING = 16 /* added to a mode: NaN takes the true side */
};
enum { OPF_LIB_TREE_NODES = 1, OPF_LIB_TREE_SPLITS, OPF_LIB_TREE_TARGETS, OPF_LIB_TREE_WEIGHTS, OPF_LIB_TREE_ROOTS, OPF_LIB_TREE_BASE, OPF_LIB_TREE_MEMBERS, OPF_LIB_TREE_LABELS };

typedef struct opf_lib_tree_node { int32_t feature, mode, yes, no, first, number; } opf_lib_tree_node;

static inline int opf_lib_takes_yes(const opf_lib_args *a, const opf_lib_tree_node *node, double split, double x) {
    if (x != x && node->mode & OPF_LIB_MISSING) return 1;
    const double *members = (const double *)a->in[OPF_LIB_TREE_MEMBERS].data + node->first;
    switch (node->mode & ~OPF_LIB_MISSING) {
    case OPF_LIB_LEQ: return x <= split;
    case OPF_LIB_LT: return x < split;
    case OPF_LIB_GTE: return x >= split;
    case OPF_LIB_GT: return x > split;
    case OPF_LIB_EQ: return x == split;
    case OPF_LIB_NEQ: return x != split;
    default:
        for (int32_t k = 0; k < node->number; k++)
            if (members[k] == x) return 1;
        return 0;
    }
}

static inline const opf_lib_tree_node *opf_lib_leaf(const opf_lib_args *a, int32_t at, int64_t row) {
    const opf_lib_tree_node *nodes = (const opf_lib_tree_node *)a->in[OPF_LIB_TREE_NODES].data;
    const double *splits = (const double *)a->in[OPF_LIB_TREE_SPLITS].data;
    while ((nodes[at].mode & ~OPF_LIB_MISSING) != OPF_LIB_LEAF) {
        double x = opf_lib_real(&a->in[0], row + nodes[at].feature);
        at = opf_lib_takes_yes(a, &nodes[at], splits[at], x) ? nodes[at].yes : nodes[at].no;
    }
    return &nodes[at];
}

/* Sums (least, largest) of each target over the trees; seen[t] tells whether any leaf has spoken of target t. */
static inline void opf_lib_score(const opf_lib_args *a, int64_t row, double *scores, double *seen) {
    int64_t targets = a->ints[0], aggregate = a->ints[1], trees = opf_lib_elements(&a->in[OPF_LIB_TREE_ROOTS]);
    const int32_t *ids = (const int32_t *)a->in[OPF_LIB_TREE_TARGETS].data;
    const double *weights = (const double *)a->in[OPF_LIB_TREE_WEIGHTS].data, *base = (const double *)a->in[OPF_LIB_TREE_BASE].data;
    for (int64_t t = 0; t < targets; t++) scores[t] = seen[t] = 0;
    for (int64_t tree = 0; tree < trees; tree++) {
        const opf_lib_tree_node *leaf = opf_lib_leaf(a, ((const int32_t *)a->in[OPF_LIB_TREE_ROOTS].data)[tree], row);
        for (int32_t k = leaf->first; k < leaf->first + leaf->number; k++) {
            double *score = &scores[ids[k]], w = weights[k];
            if (aggregate <= 1) *score += w;
            else if (seen[ids[k]] == 0) *score = w;
            else *score = aggregate == 2 ? (w < *score ? w : *score) : (w > *score ? w : *score);
            seen[ids[k]] = 1;
        }
    }
    for (int64_t t = 0; t < targets; t++) {
        if (aggregate == 1 && trees > 0) scores[t] /= (double)trees;
        if (opf_lib_has(&a->in[OPF_LIB_TREE_BASE])) scores[t] += base[t];
    }
}

/* The inverse of the normal distribution at (x + 1) / 2, in the approximation of Winitzki. */
static inline double opf_lib_probit(double x) {
    double y = 2 * x - 1, log = opf_log_f64((1 - y) * (1 + y)), v = 2 / (3.14159 * 0.147) + 0.5 * log;
    double root = opf_sqrt_f64(-v + opf_sqrt_f64(v * v - log / 0.147));
    return 1.41421356 * (y < 0 ? -root : root);
}

static inline void opf_lib_transform(int64_t transform, double *scores, int64_t n) {
    double largest = scores[0], sum = 0;
    if (transform == 2) for (int64_t t = 0; t < n; t++) scores[t] = 1 / (1 + opf_exp_f64(-scores[t]));
    if (transform == 4) for (int64_t t = 0; t < n; t++) scores[t] = opf_lib_probit(scores[t]);
    if (transform != 1 && transform != 3) return;
    for (int64_t t = 1; t < n; t++) largest = scores[t] > largest ? scores[t] : largest;
    for (int64_t t = 0; t < n; t++) {
        if (transform == 3 && __builtin_fabs(scores[t]) <= 1e-7) continue; /* zeros stay */
        scores[t] = opf_exp_f64(scores[t] - largest);
        sum += scores[t];
    }
    for (int64_t t = 0; t < n && sum > 0; t++) scores[t] /= sum;
}

/* Two classes told apart by the weights of one: the score of the other follows. */
static inline int64_t opf_lib_second_class(const opf_lib_args *a, double *scores, const double *seen) {
    int64_t transform = a->ints[2], positive = a->ints[3] == 3;
    double score = seen[1] != 0 ? scores[1] : scores[0];
    scores[0] = positive && transform != 2 ? 1 - score : -score;
    scores[1] = score;
    if (transform == 2) opf_lib_transform(transform, scores, 2);
    if (transform == 4) opf_lib_transform(transform, scores, 2);
    return positive ? score > 0.5 : score > 0;
}

static inline void opf_lib_trees(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[0], *labels = &a->in[OPF_LIB_TREE_LABELS];
    int64_t targets = a->ints[0], classifier = a->ints[3], features = x->dims[x->rank - 1], rows = x->rank < 2 ? 1 : x->dims[0];
    double *scores = (double *)a->scratch, *seen = scores + targets;
    for (int64_t r = 0; r < rows; r++) {
        int64_t best = 0;
        opf_lib_score(a, r * features, scores, seen);
        if (classifier >= 2) {
            best = opf_lib_second_class(a, scores, seen);
        } else {
            for (int64_t t = 1; t < targets; t++) best = scores[t] > scores[best] ? t : best;
            opf_lib_transform(a->ints[2], scores, targets);
        }
        if (classifier && opf_lib_has(&a->out[0])) opf_lib_copy(&a->out[0], r, labels, best, 1);
        const opf_lib_tensor *out = &a->out[classifier != 0];
        for (int64_t t = 0; t < targets && opf_lib_has(out); t++) opf_lib_set_real(out, r * targets + t, scores[t]);
    }
}

#endif
