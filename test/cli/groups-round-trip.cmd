# status 0
for model in test/cli/models/join.onnx test/data/gates/gru_chunks.onnx test/data/gates/every_other.onnx examples/tour/tour.onnx examples/ppocr_cls_v2/model.onnx; do
  for policy in none tvm best; do
    opfuse explain $root/$model --fuse=$policy --json >groups.json
    opfuse explain $root/$model --fuse=groups.json --json >again.json
    python3 - $policy <<'PY'
import json, sys
first, again = ([(g["nodes"], g["step"], g.get("copied")) for g in json.load(open(name))["groups"]] for name in ("groups.json", "again.json"))
kernels = [sum(step == "kernel" for _, step, _ in groups) for groups in (first, again)]
print(sys.argv[1], "kernels", kernels[0], "again" if {str(g) for g in first} <= {str(g) for g in again} and kernels[0] == kernels[1] else "DIFFER")
PY
  done
done
opfuse explain $root/test/cli/models/join.onnx --json >groups.json
opfuse verify $root/test/cli/models/join.onnx --fuse=groups.json --bounds | tail -n 1
