# status 0
opfuse verify $root/test/cli/models/sums_for_nothing.onnx --bounds | tail -n 1
