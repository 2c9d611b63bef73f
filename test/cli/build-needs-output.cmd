# status 2
opfuse build $root/test/cli/models/matmul.onnx
