# status 0
# Sums in float64, rounded once: the evaluator's bits, in a kernel that is fused as before. By node, or all; an image does not answer for it.
model=$root/test/cli/models/matmul.onnx
for sums in "" "--wide-sums all" "--wide-sums no_such_node" "--wide-sums=all"; do
  opfuse verify $model --bounds -q $sums | sed -n 's/^results of groups on the evaluator.s inputs: \([^,]*, [^,]*\),.*/\1/p'
done
opfuse check $model --wide-sums no_such_node 2>&1 >/dev/null | sed 's/.*warning/warning/'
