# status 0
# Independent branches in a built library: the caller's hook gets them together, in any order, and no bit changes.
opfuse build $root/test/cli/models/beside.onnx -o net.so -q >/dev/null
cat >use.c <<END
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int calls, steps, under_way;
static void backwards(void *pool, opf_kernel kernel, const opf_args *args, int parts) {
    (void)pool;
    calls += parts > 1;
    for (int part = parts - 1; part >= 0; part--) kernel(args, part, parts);
}
static void count(void *data, int step, int begin) { (void)data; (void)step; steps += begin; under_way += begin ? 1 : -1; }
static float x[4][3003], q[2][4][3003], r[2][4];
int main(void) {
    int64_t x_dims[4][2];
    const int64_t *dims[4];
    const void *in[4];
    void *out[2][8];
    for (int k = 0; k < 4; k++) {
        x_dims[k][0] = 1, x_dims[k][1] = 3000 + k, dims[k] = x_dims[k], in[k] = x[k];
        for (int i = 0; i < 3003; i++) x[k][i] = (float)((i + k) % 17) / 17;
        for (int way = 0; way < 2; way++) out[way][2 * k] = q[way][k], out[way][2 * k + 1] = &r[way][k];
    }
    const opf_hook hook = {.parallel = backwards, .threads = 3, .trace = count, .trace_at_once = 1};
    void *workspace = aligned_alloc(64, (net_workspace_bytes_on(dims, 3) + 63) / 64 * 64);
    if (net_run(in, dims, out[0], workspace) || net_run_on(in, dims, out[1], 0, workspace, &hook)) return 1;
    puts(memcmp(q[0], q[1], sizeof q[0]) == 0 && memcmp(r[0], r[1], sizeof r[0]) == 0 ? "same bits" : "differs");
    printf("%d calls for %d steps, %d under way\n", calls, steps, under_way);
    free(workspace);
    return 0;
}
END
cc -std=c11 -Wall -Wextra -Werror use.c ./net.so -lm -o use
./use
