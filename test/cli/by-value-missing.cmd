# status 1
opfuse run $root/test/cli/models/by_value.onnx
