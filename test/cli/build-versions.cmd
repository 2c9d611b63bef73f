# status 0
opfuse build $root/test/cli/models/matmul.onnx --target=x86-64-v3,generic -o net.so -q | sed 's/ *[0-9][0-9]* bytes/ N bytes/'
opfuse build $root/test/cli/models/matmul.onnx --target=x86-64-v3,generic -o one.a -q >/dev/null
nm -g --defined-only one.a | awk '$2 ~ /[A-Z]/ {print $3}' | sort | tr '\n' ' '; echo
cat >use.c <<END
#include <stdio.h>
#ifdef ARCHIVE
#include "one.h"
#define NAME(function) one_##function
#else
#include "net.h"
#define NAME(function) net_##function
#endif
int main(void) {
    static _Alignas(64) char workspace[1 << 20];
    float a[6] = {1, 2, 3, 4, 5, 6}, b[3] = {1, 10, 100}, y[2];
    int64_t a_dims[] = {2, 3}, b_dims[] = {3, 1};
    const int64_t *const dims[] = {a_dims, b_dims};
    const void *const inputs[] = {a, b};
    void *const outputs[] = {y};
    printf("chosen %s:", NAME(version_name)(NAME(version)()));
    if (NAME(workspace_bytes)(dims) > sizeof workspace) return 1;
    int chosen = NAME(run)(inputs, dims, outputs, workspace);
    printf(" %d: %g %g\n", chosen, y[0], y[1]);
    for (int version = -1; version < 3; version++) {
        y[0] = y[1] = 0;
        int problem = NAME(run_as)(version, inputs, dims, outputs, 0, workspace, 0);
        printf("%s, workspace %s: %s: %g %g\n", NAME(version_name)(version), NAME(workspace_bytes_as)(version, dims, 1) ? "some" : "0", NAME(problem)(problem), y[0], y[1]);
    }
    b_dims[0] = 4;
    puts(NAME(problem)(NAME(run)(inputs, dims, outputs, workspace)));
    return 0;
}
END
cc -std=c11 -Wall -Wextra -Werror use.c ./net.so -lm -o shared && ./shared
cc -std=c11 -Wall -Wextra -Werror -DARCHIVE use.c one.a -lm -static -o static && ./static | head -1
# on a processor that has only the least: the same file chooses another version
if command -v qemu-x86_64 >/dev/null; then qemu-x86_64 -cpu Nehalem ./static; else ./static | sed '1s/x86-64-v3/generic/; s/^x86-64-v3, workspace some: no problem: 321 654/x86-64-v3, workspace 0: the processor cannot run this version, or none of them: 0 0/'; fi
opfuse build $root/test/cli/models/matmul.onnx --target=x86-64-v3,generic -o net/ -q >/dev/null
ls net | tr '\n' ' '; echo
make -s -C net | sed 's/error .*, 0/error N, 0/; s/[0-9][0-9]* bytes/N bytes/'
(cd net && cc -std=c11 -Wall -Wextra -Werror -O1 *.c -lm -o without && ./without | sed 's/error .*, 0/error N, 0/; s/[0-9][0-9]* bytes/N bytes/')
nm net/model_*.o | grep -E " U .*(alloc|free)" || echo "no allocator"
# what versions read alike is there once
opfuse build $root/test/cli/models/gather.onnx --target=generic -o gather/ -q >/dev/null
opfuse build $root/test/cli/models/gather.onnx --target=x86-64-v3,generic -o gathers/ -q >/dev/null
cmp gather/model.weights gathers/model.weights && make -s -C gathers | grep -c holds
opfuse build $root/test/cli/models/gather.onnx --target=x86-64-v3,generic --embed-weights -o inside/ -q >/dev/null && make -s -C inside | grep -c holds
printf '#include "net/model.h"\nint main() { return net_version_runs(net_version()) == 0; }\n' >header.cc
gcc -x c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only header.cc
