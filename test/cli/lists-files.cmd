# status 0
# Sequences and optionals as files: what one model writes, another reads, as .pb and as .npy.
m=$root/test/cli/models
opfuse run $m/split.onnx --input x=ones --format=pb -o pb -q
opfuse run $m/split.onnx --input x=ones -o npy -q
ls pb npy
for s in pb/output_0.pb npy/s.npy; do
  for o in pb/output_1.pb pb/output_2.pb; do
    opfuse run $m/lists.onnx --input s=$s --input o=$o --input x=zeros --input k=zeros --dim N=4 -q
  done
done
opfuse run $m/lists.onnx --input s=npy/s.npy --input o=npy/there.npy --input x=ones --input k=zeros --dim N=4 -q --json -o again | grep -E '"(file|kind)"'
for policy in none tvm best; do opfuse verify $m/lists.onnx --all --fuse=$policy --input s=pb/output_0.pb --input o=pb/output_2.pb --input k=zeros -q | tail -n 1; done
