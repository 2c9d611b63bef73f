# status 1
opfuse check $root/test/cli/models/unknown.onnx
