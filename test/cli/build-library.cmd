# status 0
opfuse build $root/test/cli/models/matmul.onnx -o my-net.so -q >/dev/null
ls
cat >use.c <<END
#include "my-net.h"
#include <stdio.h>
int main(void) {
    static _Alignas(64) char workspace[1 << 20];
    float a[6] = {1, 2, 3, 4, 5, 6}, b[3] = {1, 10, 100}, y[2];
    int64_t a_dims[] = {2, 3}, b_dims[] = {3, 1}, y_dims[2];
    const int64_t *const dims[] = {a_dims, b_dims};
    const void *const inputs[] = {a, b};
    void *const outputs[] = {y};
    if (my_net_workspace_bytes(dims) > sizeof workspace) return 1;
    printf("%d\n", my_net_run(inputs, dims, outputs, workspace));
    my_net_output_dims(dims, 0, y_dims);
    printf("%d %d: %g %g\n", (int)y_dims[0], (int)y_dims[1], y[0], y[1]);
    b_dims[0] = 4;
    puts(my_net_problem(my_net_run(inputs, dims, outputs, workspace)));
    int64_t refused[][3] = {{-2, 3, 1}, {2, -3, 1}, {INT64_MIN, INT64_MIN, INT64_MIN}, {INT64_MAX, INT64_MAX, 1}, {1 << 30, 1, 1 << 30}};
    for (int k = 0; k < 5; k++) {
        a_dims[0] = refused[k][0], a_dims[1] = b_dims[0] = refused[k][1], b_dims[1] = refused[k][2];
        int problem = my_net_run(inputs, dims, outputs, workspace);
        printf("%d %d, %zu bytes: %s\n", problem, my_net_output_dims(dims, 0, y_dims), my_net_workspace_bytes(dims), my_net_problem(problem));
    }
    a_dims[0] = 0, a_dims[1] = b_dims[0] = 3, b_dims[1] = 1;
    printf("%d\n", my_net_run(inputs, dims, outputs, workspace));
    return 0;
}
END
cc -std=c11 -Wall -Wextra -Werror use.c ./my-net.so -lm -o use
./use
nm -D --undefined-only my-net.so | grep -E "malloc|calloc|realloc|free" || echo "no allocator"
