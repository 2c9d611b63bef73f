# status 1
opfuse run $root/test/cli/models/by_value.onnx --input axes=ones --shape repeats=2
