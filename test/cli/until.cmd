# status 0
# A loop whose end nobody knows beforehand carries a tensor that grows, and a sequence.
m=$root/test/cli/models
opfuse run $m/until.onnx --input x=ones --dim N=3 --input limit=uniform:40:40 -q
for policy in none tvm best; do opfuse verify $m/until.onnx --all --fuse=$policy --input x=ones --input limit=uniform:1000:1000 -q | tail -n 1; done
