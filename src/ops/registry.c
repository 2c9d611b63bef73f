/* The table of operators: the families' entries and those of scalar.ops, sorted by domain, name and version. It is made
 * once, when it is first asked for, and never changes afterwards. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ops/families.h"

typedef struct family {
    const opf_op *entries;
    const size_t *count;
} family;

#define FAMILY_ROW(name) {opf_ops_##name, &opf_ops_##name##_count},
static const family families[] = {OPF_OP_FAMILIES(FAMILY_ROW)};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const opf_op **sorted;
static size_t n_sorted;

static int compare_names(const char *domain, const char *name, const opf_op *op) {
    int order = strcmp(domain, op->domain);
    return order ? order : strcmp(name, op->name);
}

static int compare_entries(const void *left, const void *right) {
    const opf_op *a = *(const opf_op *const *)left, *b = *(const opf_op *const *)right;
    int order = compare_names(a->domain, a->name, b);
    return order ? order : (a->since > b->since) - (a->since < b->since);
}

static void make_table(void) {
    size_t total = 0;
    for (size_t f = 0; f < OPF_COUNT(families); f++) total += *families[f].count;
    size_t n_scalar = 0;
    while (opf_scalar_entry(n_scalar)) n_scalar++;
    sorted = malloc((total + n_scalar) * sizeof *sorted);
    if (!sorted) opf_out_of_memory();
    for (size_t f = 0; f < OPF_COUNT(families); f++)
        for (size_t k = 0; k < *families[f].count; k++) sorted[n_sorted++] = &families[f].entries[k];
    for (size_t k = 0; k < n_scalar; k++) sorted[n_sorted++] = opf_scalar_entry(k);
    qsort(sorted, n_sorted, sizeof *sorted, compare_entries);
}

size_t opf_op_count(void) {
    pthread_once(&once, make_table);
    return n_sorted;
}

const opf_op *opf_op_at(size_t index) {
    return index < opf_op_count() ? sorted[index] : NULL;
}

/* The first entry that is not before (domain, name). */
static size_t lower_bound(const char *domain, const char *name) {
    size_t low = 0, high = opf_op_count();
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_names(domain, name, sorted[middle]) > 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static const char *plain_domain(const char *domain) {
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

const opf_op *opf_op_find(const char *domain, const char *name, int opset) {
    domain = plain_domain(domain);
    const opf_op *found = NULL;
    for (size_t k = lower_bound(domain, name); k < n_sorted && compare_names(domain, name, sorted[k]) == 0; k++)
        if (sorted[k]->since <= opset) found = sorted[k];
    return found;
}

const opf_op *opf_op_first(const char *domain, const char *name) {
    domain = plain_domain(domain);
    size_t k = lower_bound(domain, name);
    return k < n_sorted && compare_names(domain, name, sorted[k]) == 0 ? sorted[k] : NULL;
}
