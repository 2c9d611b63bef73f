# status 0
# found, used, and not measured twice
model=$root/test/cli/models/matmul.onnx
opfuse tune $model --budget 3s --threads 1 -q --db db | sed -n '1p; $p'
opfuse tune $model --budget 3s --threads 1 -q --db db > second
grep -c 'kernels looked at' second
opfuse verify $model -q --db db >/dev/null && echo right
opfuse run $model -q --db db --threads 1 -o one >/dev/null
opfuse run $model -q --db db --threads 3 -o three >/dev/null
cmp one/*.npy three/*.npy && echo same bits
