# status 0
# docs/numerics.md: generated code and the evaluator agree where a number does not fit its new type
for policy in none best; do for machine in generic native; do
  opfuse verify $root/test/cli/models/casts.onnx --input x=zeros --fuse=$policy --machine=$machine -q | tail -1
done; done
