# status 2
opfuse verify --jobs 2 $root/test/cli/models/chain.onnx
