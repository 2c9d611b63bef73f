# status 0
# Strings: made, moved, looked up, written and read.
m=$root/test/cli/models
opfuse run $m/texts.onnx --dim N=3 --input x=uniform:1:99 -o out -q
ls out
opfuse run $m/texts.onnx --input x=out/marked.npy -q
for policy in none tvm best; do opfuse verify $m/texts.onnx --all --fuse=$policy --input x=out/marked.npy -q | tail -n 1; done
