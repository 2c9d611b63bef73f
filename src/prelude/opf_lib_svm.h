/* Support vector classification: a vote of each pair of classes. */
#ifndef OPF_LIB_SVM_H
#define OPF_LIB_SVM_H
#ifndef OPF_LIB_H
#include "opf_lib.h"
#endif
#ifndef OPF_MATH_H
#include "opf_math.h"
#endif

enum { OPF_SVM_LINEAR, OPF_SVM_POLY, OPF_SVM_RBF, OPF_SVM_SIGMOID };

/* Operands: X, vectors [v, features], coefficients [classes - 1, v], rho (a pair each), prob_a, prob_b (a pair each, or none),
 * how many vectors each class has, labels. ints: kernel, post_transform (0: none, 1: softmax, 2: logistic, 3: softmax_zero),
 * columns of the scores. floats: gamma, coef0, degree. out: labels, scores. scratch: see opf_lib_svm_room. */
enum { OPF_SVM_X, OPF_SVM_VECTORS, OPF_SVM_COEFFICIENTS, OPF_SVM_RHO, OPF_SVM_PROB_A, OPF_SVM_PROB_B, OPF_SVM_SIZES, OPF_SVM_LABELS };

/* Doubles of scratch for so many vectors and classes. */
static inline int64_t opf_lib_svm_room(int64_t vectors, int64_t classes) { return vectors + 3 * classes * classes + 4 * classes; }

static inline double opf_lib_logistic(double x) { return 1 / (1 + opf_exp_f64(-x)); }

static inline double opf_lib_svm_kernel(const opf_lib_args *a, int64_t x, int64_t v, int64_t features) {
    const opf_lib_tensor *vectors = &a->in[OPF_SVM_VECTORS];
    double sum = 0;
    for (int64_t k = 0; k < features; k++) {
        double p = opf_lib_real(&a->in[OPF_SVM_X], x + k), q = opf_lib_real(vectors, v * features + k);
        sum += a->ints[0] == OPF_SVM_RBF ? (p - q) * (p - q) : p * q;
    }
    switch (a->ints[0]) {
    case OPF_SVM_POLY: return opf_pow_f64(a->floats[0] * sum + a->floats[1], a->floats[2]);
    case OPF_SVM_RBF: return opf_exp_f64(-a->floats[0] * sum);
    case OPF_SVM_SIGMOID: return opf_tanh_f64(a->floats[0] * sum + a->floats[1]);
    default: return sum;
    }
}

/* Probabilities of the classes from those of the pairs: Wu, Lin and Weng 2004, as in LIBSVM. r[i * n + j]: i against j. */
static inline void opf_lib_svm_couple(const double *r, int64_t n, double *q, double *qp, double *p) {
    for (int64_t t = 0; t < n; t++) {
        p[t] = 1 / (double)n;
        q[t * n + t] = 0;
        for (int64_t j = 0; j < n; j++) {
            if (j != t) q[t * n + t] += r[j * n + t] * r[j * n + t];
            if (j != t) q[t * n + j] = j < t ? q[j * n + t] : -r[j * n + t] * r[t * n + j];
        }
    }
    for (int round = 0; round < 100; round++) {
        double all = 0, worst = 0;
        for (int64_t t = 0; t < n; t++) {
            qp[t] = 0;
            for (int64_t j = 0; j < n; j++) qp[t] += q[t * n + j] * p[j];
            all += p[t] * qp[t];
        }
        for (int64_t t = 0; t < n; t++) worst = __builtin_fabs(qp[t] - all) > worst ? __builtin_fabs(qp[t] - all) : worst;
        if (worst < 0.005 / (double)n) return;
        for (int64_t t = 0; t < n; t++) {
            double step = (all - qp[t]) / q[t * n + t];
            p[t] += step;
            all = (all + step * (step * q[t * n + t] + 2 * qp[t])) / (1 + step) / (1 + step);
            for (int64_t j = 0; j < n; j++) {
                qp[j] = (qp[j] + step * q[t * n + j]) / (1 + step);
                p[j] /= 1 + step;
            }
        }
    }
}

static inline void opf_lib_svm_probabilities(const opf_lib_args *a, double *scores, int64_t n, double *room) {
    double *r = room, *q = r + n * n, *qp = q + n * n, *p = qp + n;
    for (int64_t i = 0, pair = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++, pair++) {
            double x = 1 - opf_lib_logistic(scores[pair] * opf_lib_real(&a->in[OPF_SVM_PROB_A], pair) + opf_lib_real(&a->in[OPF_SVM_PROB_B], pair));
            x = x < 1e-7 ? 1e-7 : x > 1 - 1e-7 ? 1 - 1e-7 : x;
            r[i * n + j] = x;
            r[j * n + i] = 1 - x;
        }
    opf_lib_svm_couple(r, n, q, qp, p);
    for (int64_t t = 0; t < n; t++) scores[t] = p[t];
}

static inline void opf_lib_svm_transform(int64_t transform, double *scores, int64_t n) {
    double largest = scores[0], sum = 0;
    if (transform == 2) for (int64_t t = 0; t < n; t++) scores[t] = opf_lib_logistic(scores[t]);
    if (transform != 1 && transform != 3) return;
    for (int64_t t = 1; t < n; t++) largest = scores[t] > largest ? scores[t] : largest;
    for (int64_t t = 0; t < n; t++) {
        if (transform == 3 && __builtin_fabs(scores[t]) <= 1e-7) continue; /* zeros stay */
        scores[t] = opf_exp_f64(scores[t] - largest);
        sum += scores[t];
    }
    for (int64_t t = 0; t < n && sum > 0; t++) scores[t] /= sum;
}

/* Two classes told apart by one score: both columns follow from it. */
static inline void opf_lib_svm_two(int64_t transform, double *scores) {
    double score = scores[0];
    scores[1] = score;
    scores[0] = transform == 0 || transform == 2 ? -score : 1 - score;
    if (transform == 2) opf_lib_svm_transform(transform, scores, 2);
}

/* Scores of the pairs of classes in turn; each gives one of the two a vote. */
static inline int64_t opf_lib_svm_vote(const opf_lib_args *a, const double *kernels, double *scores, double *votes, int64_t n) {
    const int64_t *sizes = (const int64_t *)a->in[OPF_SVM_SIZES].data;
    int64_t vectors = a->in[OPF_SVM_VECTORS].dims[0], pair = 0, best = 0;
    for (int64_t t = 0; t < n; t++) votes[t] = 0;
    for (int64_t i = 0, first_i = 0; i < n; first_i += sizes[i++])
        for (int64_t j = i + 1, first_j = first_i + sizes[i]; j < n; first_j += sizes[j++]) {
            double sum = opf_lib_real(&a->in[OPF_SVM_RHO], pair);
            for (int64_t m = first_i; m < first_i + sizes[i]; m++) sum += opf_lib_real(&a->in[OPF_SVM_COEFFICIENTS], (j - 1) * vectors + m) * kernels[m];
            for (int64_t m = first_j; m < first_j + sizes[j]; m++) sum += opf_lib_real(&a->in[OPF_SVM_COEFFICIENTS], i * vectors + m) * kernels[m];
            scores[pair++] = sum;
            votes[sum > 0 ? i : j]++;
        }
    for (int64_t t = 1; t < n; t++) best = votes[t] > votes[best] ? t : best;
    return best;
}

static inline void opf_lib_svm(const opf_lib_args *a) {
    const opf_lib_tensor *x = &a->in[OPF_SVM_X], *labels = &a->in[OPF_SVM_LABELS];
    int64_t features = x->dims[x->rank - 1], rows = x->rank < 2 ? 1 : x->dims[0], n = opf_lib_elements(labels), columns = a->ints[2];
    int64_t vectors = a->in[OPF_SVM_VECTORS].dims[0], coupled = opf_lib_elements(&a->in[OPF_SVM_PROB_A]) > 0;
    double *kernels = (double *)a->scratch, *scores = kernels + vectors, *votes = scores + n * n, *room = votes + n;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t v = 0; v < vectors; v++) kernels[v] = opf_lib_svm_kernel(a, row * features, v, features);
        int64_t best = opf_lib_svm_vote(a, kernels, scores, votes, n);
        if (coupled) opf_lib_svm_probabilities(a, scores, n, room); /* the label stays the one that was voted for */
        if (opf_lib_has(&a->out[0])) opf_lib_copy(&a->out[0], row, labels, best, 1);
        if (!opf_lib_has(&a->out[1])) continue;
        if (coupled || n > 2) opf_lib_svm_transform(a->ints[1], scores, columns);
        else opf_lib_svm_two(a->ints[1], scores);
        for (int64_t t = 0; t < columns; t++) opf_lib_set_real(&a->out[1], row * columns + t, scores[t]);
    }
}

#endif
