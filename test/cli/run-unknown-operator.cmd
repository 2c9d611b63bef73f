# status 1
opfuse run $root/test/cli/models/unknown.onnx
