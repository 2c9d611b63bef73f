# status 0
# A quotient by zero of either sign, a divisor and sums beyond float32, a product of many terms: what no bound can hold is open, not wrong.
for policy in none tvm best; do
  opfuse verify $root/test/cli/models/edges.onnx --bounds -q --fuse=$policy | grep 'results of groups'
  opfuse verify $root/test/cli/models/edges_gelu.onnx --bounds -q --fuse=$policy | grep 'results of groups'
done
