# status 1
# a compiler that a schedule asks for, out of one database into another: what is built is built by it; one that is not there is refused
model=$root/test/cli/models/matmul.onnx
cpu=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1)
mkdir with without
printf '#!/bin/sh\necho "$*" >> %s/asked\nexec cc "$@"\n' "$PWD" > with/clang
chmod +x with/clang
for tool in opfuse cc as ld ar objcopy; do ln -s "$(command -v $tool)" without/$tool; done
opfuse explain $model --schedules --db none | sed -n '/^\[kernel/p; $a compiler = clang' > pins
opfuse explain $model --schedules --db none --schedule pins | sed "s/^operators.*/&\ncpu = $cpu\nthreads = 1\ndefault_ms = 2\nbest_ms = 1/" > found
opfuse tune --import found --db one
opfuse tune --export text --db one
grep compiler text
opfuse tune --import text --db two
PATH=$PWD/with:$PATH opfuse build $model --db two --threads 1 -o by.so -q >/dev/null
grep -c ' -c .*kernels_' asked
rm asked
PATH=$PWD/with:$PATH opfuse build $model --db none -o usual.so -q >/dev/null
[ -e asked ] || echo the usual one
PATH=$PWD/without opfuse build $model --db two --threads 1 -o none.so -q || status=$?
[ -e none.so ] || echo nothing is written
exit $status
