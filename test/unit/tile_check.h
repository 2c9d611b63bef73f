/* Checks a compiled contraction against a naive evaluation, for any number of parts. */
#ifndef OPF_TEST_TILE_CHECK_H
#define OPF_TEST_TILE_CHECK_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tile_case.h"

/* Errors as a share of the largest value. */
static inline void check_result(const char *name, const float *got, const float *expected, size_t count, double tolerance) {
    double largest = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
        if (fabs((double)expected[i]) > largest) largest = fabs((double)expected[i]);
        double error = fabs((double)got[i] - (double)expected[i]);
        if (!(error <= worst)) worst = error; /* NaN too */
    }
    if (!(worst <= tolerance * largest)) fail_msg("%s: error %g, largest value %g", name, worst, largest);
}

/* `expected`: all tensors of the case, as tile_evaluate gives them. */
static inline void check_results(const char *name, tile_case *c, float *const *expected, double tolerance) {
    tile_buffers b = tile_buffers_new(c, 5, false);
    void *first[8] = {NULL};
    for (int parts = 1; parts <= 5; parts++) {
        for (int k = 0; k < b.n_results; k++) memset(b.p[b.first_result + k], 0xff, b.result_bytes[k]);
        tile_run(c, &b, parts);
        for (int k = 0; k < b.n_results; k++) {
            const void *got = b.p[b.first_result + k];
            int tensor = (int)c->group.stages.inputs.count + c->group.results.data[k].stage;
            if (parts == 1) {
                check_result(name, got, expected[tensor], b.result_bytes[k] / 4, tolerance);
                first[k] = memcpy(malloc(b.result_bytes[k]), got, b.result_bytes[k]);
            } else if (memcmp(first[k], got, b.result_bytes[k])) {
                fail_msg("%s: %d parts give other bits than one", name, parts);
            }
        }
    }
    for (int k = 0; k < b.n_results; k++) free(first[k]);
    tile_buffers_free(&b);
}

static inline void free_expected(const tile_case *c, float **expected) {
    for (size_t i = 0; i < c->group.stages.list.count; i++) free(expected[c->group.stages.inputs.count + i]);
    free(expected);
}

static inline void check_case(const char *name, tile_case *c, double tolerance) {
    float **expected = tile_evaluate(c, &c->group.stages, c->inputs);
    check_results(name, c, expected, tolerance);
    free_expected(c, expected);
}

#endif
