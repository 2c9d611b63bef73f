# status 2
opfuse run $root/test/cli/models/chain.onnx --input x=
