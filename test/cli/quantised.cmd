# status 0
# why operators between DequantizeLinear and QuantizeLinear compute with floating numbers; which move integers instead
model=$root/test/data/quantised/regions.onnx
opfuse explain $model | sed -n '/^between/,$p'
opfuse explain $model --json | python3 -c 'import json, sys; report = json.load(sys.stdin); print(*[(q["node"], q["op"], q["to"], q["rule"]) for q in report["quantised"]], sep="\n")'
opfuse explain $model --fuse=none | sed -n '/^between/,/^$/p' | grep moved
# to the last bit, whatever is fused
for policy in none tvm best; do
  opfuse verify $model --dim H=9 --dim W=11 --rtol 0 --atol 0 --fuse=$policy 2>errors | tail -n 1
done
