# status 0
opfuse build $root/examples/ppocr_cls_v2/model.onnx --shape x=1,3,48,192 -o net.so -q >/dev/null
cat >use.c <<END
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int calls, steps;
static void backwards(void *pool, opf_kernel kernel, const opf_args *args, int parts) {
    (void)pool;
    calls++;
    for (int part = parts - 1; part >= 0; part--) kernel(args, part, parts);
}
static void count(void *data, int step, int begin) { (void)data; (void)step; steps += begin; }
int main(void) {
    static float x[3 * 48 * 192], y[2], z[2];
    int64_t x_dims[] = {1, 3, 48, 192};
    const int64_t *const dims[] = {x_dims};
    const void *const inputs[] = {x};
    void *const first[] = {y}, *const second[] = {z};
    for (int i = 0; i < 3 * 48 * 192; i++) x[i] = (float)(i % 17) / 17;
    const opf_hook hook = {.parallel = backwards, .threads = 3, .trace = count};
    void *workspace = aligned_alloc(64, (net_workspace_bytes_on(dims, 3) + 63) / 64 * 64);
    if (net_run(inputs, dims, first, workspace) || net_run_on(inputs, dims, second, 0, workspace, &hook)) return 1;
    puts(calls > 10 && steps > 10 && memcmp(y, z, sizeof y) == 0 ? "same bits" : "differs");
    free(workspace);
    return 0;
}
END
cc -std=c11 -Wall -Wextra -Werror use.c ./net.so -lm -o use
./use
