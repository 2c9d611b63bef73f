# status 1
opfuse build $root/test/cli/models/matmul.onnx -o nowhere/net.so -q
