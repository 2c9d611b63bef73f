/* opfuse bench: fused against unfused, in turns. */
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct spread { double least, median, most; } spread;

static spread spread_of(const double *ms, int n) {
    double *sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted) return (spread){0, 0, 0};
    memcpy(sorted, ms, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    spread s = {sorted[0], n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2, sorted[n - 1]};
    free(sorted);
    return s;
}

static json_t *times_json(const double *ms, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(list, json_real(ms[i]));
    return list;
}

static void show(const tool *t, const double *fused, const double *unfused) {
    if (t->json) {
        print_json(json_pack("{s:i, s:s, s:o, s:{s:s, s:o}}", "schema", 1, "model", t->model, "ms", times_json(fused, t->runs), "baseline", "fuse", "none", "ms",
                             times_json(unfused, t->runs)));
        return;
    }
    spread a = spread_of(fused, t->runs), b = spread_of(unfused, t->runs);
    printf_out("fused    %10.4f ms  median %10.4f  slowest %10.4f\n", a.least, a.median, a.most);
    printf_out("unfused  %10.4f ms  median %10.4f  slowest %10.4f\n", b.least, b.median, b.most);
    printf_out("unfused / fused: %.2f (fastest), %.2f (median), %d runs in turns\n", b.least / a.least, b.median / a.median, t->runs);
}

int cmd_bench(tool *t) {
    opf_model *model;
    feed f = {0};
    opf_status status = model_open(t, &model);
    if (status != OPF_OK) return exit_status(status);
    double *fused = calloc((size_t)t->runs, sizeof *fused), *unfused = calloc((size_t)t->runs, sizeof *unfused);
    if (!fused || !unfused) status = OPF_ERROR_SYSTEM;
    if (status == OPF_OK) status = feed_first(t, &f, model, false);
    if (status == OPF_OK) status = opf_model_bench(model, f.inputs, t->warmup, t->runs, fused, unfused);
    tell(t);
    if (status == OPF_OK && fused[0] >= 0) show(t, fused, unfused);
    feed_free(&f);
    free(fused);
    free(unfused);
    opf_model_free(model);
    return exit_status(status);
}
