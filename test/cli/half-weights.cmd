# status 0
# weights of 16 bits stay so in their panels where a few rows read them: on every instruction set, to the last bit where sums are exact
for machine in native x86-64-v3 generic; do
  opfuse verify $root/test/data/half/weights.onnx --machine $machine --all -q | tail -n 1
  opfuse verify $root/test/data/half/weights.onnx --machine $machine --accuracy exact --rtol 0 --atol 0 -q | tail -n 1
done
opfuse explain $root/test/data/half/weights.onnx --machine x86-64-v3 --dump-after=loop -q | grep -c "as float16\|as bfloat16"
