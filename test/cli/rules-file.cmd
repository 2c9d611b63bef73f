# status 1
# a rule file: what is off joins nothing and says so; a threshold moves; nothing becomes wrong
model=$root/examples/ppocr_cls_v2/model.onnx
printf 'off gate # each its own\noff elemwise\noff anchor-epilogue\n' >off.rules
printf 'set bands-cached.bytes = 0\nset gate.elements = 16\noff long-row\n' >set.rules
opfuse explain $model | sed -n '1s/.*: //p'
opfuse explain $model --rules off.rules --rules set.rules | sed -n '1s/.*: //p'
opfuse explain $model --rules off.rules --json | python3 -c 'import json, sys; edges = json.load(sys.stdin)["edges"]; off = [e for e in edges if e["rule"] == "switched-off"]; print(len(off) > 9, all("off.rules:" in e["reason"] and "off.rules:" in e["remedy"] for e in off))'
for file in off set; do opfuse verify $model --rules $file.rules --data $root/examples/ppocr_cls_v2/test_data_set_0 | tail -n 1; done
opfuse rules --rules set.rules | grep -A 4 -E '^(long-row|gate) '
printf 'of gate\n\noff gates\nset gate.elements = many\noff domains\n' >bad.rules
opfuse explain $model --rules bad.rules 2>&1 >nothing
