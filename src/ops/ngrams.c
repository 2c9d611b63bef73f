/* TfIdfVectorizer over integers: how often each n-gram of a pool occurs in a row, with up to max_skip_count elements left out
 * between two of its own. Pool and indexes are operands (tables.h). */
#include <string.h>

#include "ops/families.h"
#include "ops/index.h"
#include "ops/tables.h"

enum { MOST_GRAM = 16 };

typedef struct vectorizer {
    int pool, indexes, weights;      /* inputs; weights -1: none */
    bool matrix;                     /* rows [b, c]; else one of [c] */
    opf_dim rows, columns;
    int64_t shortest, longest, skips;
    const int64_t *starts;           /* where the 1-grams, 2-grams… stand in the pool */
    int n_starts;
    int64_t pooled, outputs;         /* elements of the pool, of one row of the result */
} vectorizer;

static bool read_vectorizer(opf_call *call, vectorizer *v) {
    const int64_t *indexes;
    int count = opf_node_ints(call->node, "ngram_indexes", &indexes), rank = opf_call_rank(call, 0);
    v->pool = opf_table_input(call->node, "pool_int64s");
    v->indexes = opf_table_input(call->node, "ngram_indexes");
    v->weights = opf_table_input(call->node, "weights");
    v->n_starts = opf_node_ints(call->node, "ngram_counts", &v->starts);
    v->shortest = opf_node_int(call->node, "min_gram_length", 1);
    v->longest = opf_node_int(call->node, "max_gram_length", 1);
    v->skips = opf_node_int(call->node, "max_skip_count", 0);
    if (v->pool < 0) return opf_call_error(call, "unsupported", "pools of strings are not supported; pool_int64s is"), false;
    if (count < 1 || v->n_starts < 1) return opf_call_error(call, "attribute", "ngram_indexes and ngram_counts must not be empty"), false;
    if (v->shortest < 1 || v->longest < v->shortest || v->longest > MOST_GRAM || v->skips < 0 || v->skips > INT32_MAX)
        return opf_call_error(call, "attribute", "n-grams of %lld to %lld with %lld skips are not supported", (long long)v->shortest, (long long)v->longest, (long long)v->skips), false;
    if (!opf_call_check_rank(call, 0, 1, 2, "the input") || !opf_call_check_integer(call, 0, "the input")) return false;
    v->pooled = call->node->inputs[v->pool]->constant->elements;
    for (int k = 0; k < count; k++) {
        if (indexes[k] < 0 || indexes[k] >= INT32_MAX) return opf_call_error(call, "attribute", "ngram_indexes holds %lld", (long long)indexes[k]), false;
        if (indexes[k] >= v->outputs) v->outputs = indexes[k] + 1;
    }
    v->matrix = rank == 2;
    v->rows = v->matrix ? opf_call_dim(call, 0, 0) : opf_call_int(call, 1);
    v->columns = opf_call_dim(call, 0, rank - 1);
    return true;
}

static const opf_expr *element(opf_call *call, const vectorizer *v, const opf_expr *position) {
    const opf_expr *at[] = {opf_call_var(call, 0), position};
    return opf_call_convert(call, OPF_INT64, opf_call_load(call, 0, v->matrix ? at : at + 1));
}

/* Appends "count" [rows, grams] of the n-grams that stand in the pool from `start` on: the sum over distances and positions.
 * Distances make no difference to 1-grams, which are counted once. */
static int counts_of(opf_call *call, const vectorizer *v, int64_t n, int64_t start, int64_t grams) {
    opf_pool *pool = call->pool;
    const opf_expr *gram = opf_var(pool, 1), *step = opf_add(pool, opf_var(pool, 2), opf_int(pool, 1)), *position = opf_var(pool, 3), *all = NULL;
    opf_dim extents[] = {v->rows, opf_int(pool, grams), opf_int(pool, n == 1 ? 1 : v->skips + 1), v->columns};
    const opf_expr *last = opf_add(pool, position, opf_mul(pool, step, opf_int(pool, n - 1))), *zero = opf_real(pool, OPF_FLOAT32, 0);
    for (int64_t i = 0; i < n; i++) {
        const opf_expr *at = opf_add(pool, opf_add(pool, opf_mul(pool, gram, opf_int(pool, n)), opf_int(pool, start)), opf_int(pool, i));
        const opf_expr *here = element(call, v, opf_add(pool, position, opf_mul(pool, step, opf_int(pool, i))));
        all = opf_call_and(call, all, opf_binary(pool, OPF_OP_EQ, here, opf_call_load(call, v->pool, &at)));
    }
    const opf_expr *found = opf_select(pool, all, opf_real(pool, OPF_FLOAT32, 1), zero);
    if (n > 1) found = opf_select(pool, opf_call_less(call, last, v->columns), found, zero);
    return opf_call_stage(call, opf_arena_printf(call->arena, "count%lld", (long long)n), 2, 2, extents, NULL, OPF_COMBINE_SUM, OPF_FLOAT32, OPF_FLOAT32, found, NULL);
}

/* What the n-grams from number `first` on add to each element of the result: [rows, outputs]. */
static int placed(opf_call *call, const vectorizer *v, int counts, int64_t first, int64_t grams) {
    opf_pool *pool = call->pool;
    const opf_expr *row = opf_var(pool, 0), *gram = opf_var(pool, 2), *count_at[] = {row, gram}, *at = opf_add(pool, gram, opf_int(pool, first));
    opf_dim extents[] = {v->rows, opf_int(pool, v->outputs), opf_int(pool, grams)};
    const opf_expr *here = opf_binary(pool, OPF_OP_EQ, opf_call_load(call, v->indexes, &at), opf_var(pool, 1));
    return opf_call_stage(call, "placed", 2, 1, extents, NULL, OPF_COMBINE_SUM, OPF_FLOAT32, OPF_FLOAT32, opf_select(pool, here, opf_call_load(call, counts, count_at), opf_real(pool, OPF_FLOAT32, 0)), NULL);
}

static const opf_expr *weighed(opf_call *call, const vectorizer *v, const opf_expr *count, const opf_expr *output) {
    opf_pool *pool = call->pool;
    const char *mode = opf_node_string(call->node, "mode", "TF");
    const opf_expr *zero = opf_real(pool, OPF_FLOAT32, 0), *weight = opf_real(pool, OPF_FLOAT32, 1);
    if (strcmp(mode, "TF") == 0) return count;
    if (v->weights >= 0) {
        opf_call_require_ge(call, opf_call_dim(call, v->weights, 0), opf_int(pool, v->outputs), "one weight an element of the result");
        weight = opf_call_load(call, v->weights, &output);
    }
    if (strcmp(mode, "TFIDF") == 0) return opf_binary(pool, OPF_OP_MUL, weight, count);
    if (strcmp(mode, "IDF") != 0) opf_call_error(call, "attribute", "mode '%s' is none of TF, IDF, TFIDF", mode);
    return opf_select(pool, opf_binary(pool, OPF_OP_GT, count, zero), weight, zero);
}

static opf_status build_tfidf(opf_call *call) {
    opf_pool *pool = call->pool;
    vectorizer v = {0};
    if (!read_vectorizer(call, &v)) return OPF_ERROR_UNSUPPORTED;
    const opf_expr *total = NULL, *output = opf_var(pool, v.matrix), *at[] = {v.matrix ? opf_var(pool, 0) : opf_int(pool, 0), output};
    int64_t first = 0, known = call->node->inputs[v.indexes]->constant->elements;
    for (int k = 0; k < v.n_starts; k++) {
        int64_t n = k + 1, start = v.starts[k], end = k + 1 < v.n_starts ? v.starts[k + 1] : v.pooled, grams = start >= 0 && end > start ? (end - start) / n : 0;
        if (start < 0 || end > v.pooled || first + grams > known) return opf_call_error(call, "attribute", "ngram_counts, ngram_indexes and the pool do not fit together");
        if (grams > 0 && n >= v.shortest && n <= v.longest) {
            const opf_expr *part = opf_call_load(call, placed(call, &v, counts_of(call, &v, n, start, grams), first, grams), at);
            total = total ? opf_binary(pool, OPF_OP_ADD, total, part) : part;
        }
        first += grams;
    }
    opf_dim extents[] = {v.rows, opf_int(pool, v.outputs)};
    const opf_expr *value = weighed(call, &v, total ? total : opf_real(pool, OPF_FLOAT32, 0), output);
    if (call->failed) return OPF_ERROR_INPUT;
    opf_call_result(call, 0, opf_call_map(call, NULL, v.matrix ? 2 : 1, v.matrix ? extents : extents + 1, value));
    return OPF_OK;
}

const opf_op opf_ops_ngrams[] = {
    {"", "TfIdfVectorizer", 9, 1, 1, 1, OPF_KIND_OPAQUE, 0, build_tfidf, NULL},
};
const size_t opf_ops_ngrams_count = OPF_COUNT(opf_ops_ngrams);
