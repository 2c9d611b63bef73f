# status 0
printf '\x93NUMPY\x01\x00\x76\x00' >axes.npy
printf "%-117s\n" "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }" >>axes.npy
cp axes.npy other.npy
printf '\x01\0\0\0\0\0\0\0' >>axes.npy
printf '\x02\0\0\0\0\0\0\0' >>other.npy
model=$root/test/cli/models/by_value.onnx
opfuse check $model
opfuse run $model --input x=ones --shape x=3,4 --input axes=axes.npy --input repeats=ones --shape repeats=2
opfuse run $model --input x=ones --shape x=3,4 --input axes=other.npy --input repeats=ones --shape repeats=2
opfuse verify $model --shape x=3,4 --input axes=axes.npy --input repeats=ones --shape repeats=2 --fuse=none
opfuse explain $model --shape x=3,4 --input axes=axes.npy --input repeats=ones --shape repeats=2
opfuse build $model --input axes=axes.npy --input repeats=ones --shape repeats=2 -o net.so >build.txt
grep Made net.h
cat >use.c <<END
#include "net.h"
#include <stdio.h>
int main(void) {
    static _Alignas(64) char workspace[1 << 16];
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    int64_t axes[] = {1}, repeats[] = {1, 1}, x_dims[] = {2, 4}, axes_dims[] = {1}, repeats_dims[] = {2};
    const int64_t *const dims[] = {x_dims, axes_dims, repeats_dims};
    const void *const inputs[] = {x, axes, repeats};
    void *const outputs[] = {y};
    int problem = net_run(inputs, dims, outputs, workspace);
    printf("%d: %g %g\n", problem, y[0], y[1]);
    axes[0] = 2;
    puts(net_problem(net_run(inputs, dims, outputs, workspace)));
    return 0;
}
END
cc -std=c11 -Wall -Wextra -Werror use.c ./net.so -lm -o use
./use
