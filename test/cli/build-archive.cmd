# status 0
opfuse build $root/test/cli/models/matmul.onnx -o one.a -q >/dev/null
opfuse build $root/test/cli/models/matmul.onnx -o two.a --fuse=none -q >/dev/null
nm -g --defined-only one.a | awk '$2 ~ /[A-Z]/ {print $3}' | sort
cat >use.c <<END
#include "one.h"
#include "two.h"
#include <stdio.h>
int main(void) {
    static _Alignas(64) char workspace[1 << 20];
    float a[6] = {1, 2, 3, 4, 5, 6}, b[3] = {1, 10, 100}, x[2], y[2];
    int64_t a_dims[] = {2, 3}, b_dims[] = {3, 1};
    const int64_t *const dims[] = {a_dims, b_dims};
    const void *const inputs[] = {a, b};
    void *const first[] = {x}, *const second[] = {y};
    if (one_run(inputs, dims, first, workspace) || two_run(inputs, dims, second, workspace)) return 1;
    printf("%g %g, %g %g\n", x[0], x[1], y[0], y[1]);
    return 0;
}
END
cc -std=c11 -Wall -Wextra -Werror use.c one.a two.a -lm -o use
./use
