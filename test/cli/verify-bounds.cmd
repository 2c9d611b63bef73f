# status 0
opfuse verify $root/test/cli/models/chain.onnx --bounds | tail -n 3
opfuse verify $root/examples/ppocr_cls_v2/model.onnx --data $root/examples/ppocr_cls_v2/test_data_set_0 --bisect -q | grep -E "results of groups|no group" | sed 's/[0-9]* exact, [0-9]* within/N exact, N within/'
# in branches and loops the evaluator has a value for each run; a step is told once
for model in loop scan branches; do opfuse verify $root/test/cli/models/$model.onnx --bounds -q | grep 'results of groups'; done
