# status 0
for model in attention_long_causal attention_long_masked; do
  opfuse verify $root/test/data/rows/$model.onnx --bounds -q | tail -n 3
done
