# status 0
opfuse check $root/test/cli/models/matmul.onnx --json
