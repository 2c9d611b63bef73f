# status 2
opfuse graph $root/test/cli/models/chain.onnx -o a.onnx
