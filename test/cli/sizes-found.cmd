# status 0
# sizes that depend on data: outputs have the size that a run finds, and what must fit is checked then
for size in 0 1 8; do opfuse verify $root/test/cli/models/found.onnx --shape x=$size -q | tail -1; done
opfuse check $root/test/cli/models/found.onnx | grep ^size
opfuse run $root/test/cli/models/found_twice.onnx --input x=ones --input y=zeros --shape x=4 --shape y=4 -q
opfuse run $root/test/cli/models/found_twice.onnx --input x=ones --input y=ones --shape x=4 --shape y=4 -q || echo "status $?"
opfuse build $root/test/cli/models/found.onnx -o net.so -q >build.txt
cat >use.c <<END
#include "net.h"
#include <stdio.h>
int main(void) {
    static _Alignas(64) char workspace[1 << 16];
    float x[5] = {1, 0, 2, 0.25, 3}, square[5], sum;
    int64_t where[5], count, x_dims[] = {5}, most[1], square_dims[1], where_dims[2], count_dims[1];
    const int64_t *const dims[] = {x_dims};
    int64_t *const found[] = {square_dims, where_dims, count_dims, NULL};
    void *const outputs[] = {square, where, &count, &sum};
    const void *const inputs[] = {x};
    net_output_dims(dims, 0, most);
    int problem = net_run_dims(inputs, dims, outputs, found, workspace);
    printf("%d: at most %d, %d found, %d %d %d at %d %d %d, sum %g\n", problem, (int)most[0], (int)square_dims[0], (int)where_dims[0], (int)where_dims[1], (int)count,
           (int)where[0], (int)where[1], (int)where[2], sum);
    return 0;
}
END
cc -std=c11 -Wall -Wextra -Werror use.c ./net.so -lm -o use
./use
