# status 1
opfuse verify $root/test/cli/models/chain.onnx --data nowhere
