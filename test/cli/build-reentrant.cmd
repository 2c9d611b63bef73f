# status 0
# Plain C under the thread sanitizer: two threads in the same function, each with a workspace of its own, and each of them with parts on threads of
# their own. What they compute is what one thread computes alone, and no two of them touch the same bytes.
opfuse build $root/test/cli/models/beside.onnx -o net/ -q >/dev/null
opfuse build $root/examples/own_patterns/model.onnx -o rows/ -q >/dev/null
cat >use.c <<END
#include "net/model.h"
#include "rows/model.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 8, WIDE = 3003, ROWS = 67 };
typedef struct { opf_kernel kernel; const opf_args *args; int part, parts; } share;
static void *run_share(void *data) {
    const share *s = data;
    s->kernel(s->args, s->part, s->parts);
    return 0;
}
static void on_threads(void *pool, opf_kernel kernel, const opf_args *args, int parts) {
    pthread_t threads[MOST_PARTS];
    share shares[MOST_PARTS];
    (void)pool;
    for (int p = 0; p < parts; p++) shares[p] = (share){kernel, args, p, parts};
    for (int p = 0; p < parts; p++) pthread_create(&threads[p], 0, run_share, &shares[p]);
    for (int p = 0; p < parts; p++) pthread_join(threads[p], 0);
}
static const opf_hook hook = {.parallel = on_threads, .threads = 3};

typedef struct { float x[4][WIDE], q[4][WIDE], r[4], rows[ROWS][32], y[ROWS][32]; int by_hook, problem; } caller;
static char *weights[2];
static void *call(void *data) {
    caller *c = data;
    static const int64_t wide[4][2] = {{1, 3000}, {1, 3001}, {1, 3002}, {1, WIDE}}, row[2] = {ROWS, 32};
    const int64_t *const dims[] = {wide[0], wide[1], wide[2], wide[3]}, *const row_dims[] = {row};
    const void *const in[] = {c->x[0], c->x[1], c->x[2], c->x[3]}, *const row_in[] = {c->rows};
    void *const out[] = {c->q[0], &c->r[0], c->q[1], &c->r[1], c->q[2], &c->r[2], c->q[3], &c->r[3]}, *const row_out[] = {c->y};
    void *workspace = aligned_alloc(64, (net_workspace_bytes_on(dims, 3) + rows_workspace_bytes_on(row_dims, 3) + 63) / 64 * 64);
    c->problem = net_run_on(in, dims, out, 0, workspace, weights[0], c->by_hook ? &hook : 0) || rows_run_on(row_in, row_dims, row_out, 0, workspace, weights[1], c->by_hook ? &hook : 0);
    free(workspace);
    return 0;
}
static char *read_weights(const char *path, size_t bytes) {
    char *data = aligned_alloc(64, (bytes + 64) / 64 * 64);
    FILE *file = fopen(path, "rb");
    if (!data || !file || fread(data, 1, bytes, file) != bytes) exit(1);
    fclose(file);
    return data;
}
static caller callers[2], alone[2];
int main(void) {
    pthread_t threads[2];
    weights[0] = read_weights("net/model.weights", NET_WEIGHTS_BYTES), weights[1] = read_weights("rows/model.weights", ROWS_WEIGHTS_BYTES);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 4 * WIDE; i++) callers[k].x[i / WIDE][i % WIDE] = (float)((i + 5 * k) % 17) / 17;
        for (int i = 0; i < ROWS * 32; i++) callers[k].rows[i / 32][i % 32] = (float)((i + 3 * k) % 13) / 13;
        alone[k] = callers[k];
        callers[k].by_hook = 1;
        call(&alone[k]);
    }
    for (int k = 0; k < 2; k++) pthread_create(&threads[k], 0, call, &callers[k]);
    for (int k = 0; k < 2; k++) pthread_join(threads[k], 0);
    for (int k = 0; k < 2; k++) {
        callers[k].by_hook = 0;
        puts(!alone[k].problem && memcmp(&callers[k], &alone[k], sizeof *alone) == 0 ? "same bits" : "differs");
    }
    return 0;
}
END
cc -std=c11 -Wall -Wextra -Werror -O1 -g -march=native -fsanitize=thread use.c net/model.c rows/model.c -lm -pthread -o use
# the sanitizer wants its memory where it expects it
$(setarch -R true 2>/dev/null && echo setarch -R) ./use
